/* readers.h - the readers of recordings, one format a file. For recording.c. */
#ifndef KVGEN_RECORD_READERS_H
#define KVGEN_RECORD_READERS_H

#include "kvgen/record/batch.h"
#include "lib/trace/frame.h"

/* Each reads file, from its start; file and o stay the caller's, until the reader is closed. 0 or
 * negative errno with *e. Errors of a message have an empty where; recording.c says the place. */
typedef int (*batch_reader_open)(struct batch_reader **out, struct frame_in *file,
                                 const struct record_opts *o, struct err *e);

/* KV events as ZMQ messages (.zmqrec), and captures of our own (capture.h). */
int zmqrec_open(struct batch_reader **out, struct frame_in *file, const struct record_opts *o,
                struct err *e);
int capture_open(struct batch_reader **out, struct frame_in *file, const struct record_opts *o,
                 struct err *e);

/* Events of TensorRT-LLM and of Dynamo's KV router, as JSON. */
int trtllm_open(struct batch_reader **out, struct frame_in *file, const struct record_opts *o,
                struct err *e);
int dynamo_kv_open(struct batch_reader **out, struct frame_in *file, const struct record_opts *o,
                   struct err *e);

/* LMCache's trace files, of both levels. */
int lct_open(struct batch_reader **out, struct frame_in *file, const struct record_opts *o,
             struct err *e);

/* The system calls of an engine that keeps blocks in files, as strace prints them. */
int strace_open(struct batch_reader **out, struct frame_in *file, const struct record_opts *o,
                struct err *e);

#endif
