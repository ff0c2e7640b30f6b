/* readers.h - the readers of recordings, one format a file. For recording.c. */
#ifndef KVGEN_RECORD_READERS_H
#define KVGEN_RECORD_READERS_H

#include "kvgen/record/batch.h"

/* KV events as ZMQ messages (.zmqrec), and captures of our own (capture.h). */
extern const struct batch_reader_ops zmqrec_reader, capture_reader;
/* Events of TensorRT-LLM and of Dynamo's KV router, as JSON. */
extern const struct batch_reader_ops trtllm_reader, dynamo_kv_reader;
/* LMCache's trace files, of both levels. */
extern const struct batch_reader_ops lct_reader;
/* The system calls of an engine that keeps blocks in files, as strace prints them. */
extern const struct batch_reader_ops strace_reader;

#endif
