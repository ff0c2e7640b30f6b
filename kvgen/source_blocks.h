/* source_blocks.h - block-hash traces: Mooncake's JSONL. */
#ifndef KVGEN_SOURCE_BLOCKS_H
#define KVGEN_SOURCE_BLOCKS_H

#include <stdint.h>

#include "kvgen/source.h"
#include "lib/trace.h"

/*
 * Opens a trace ("-": standard input; plain or zstd) and reads its first request. Wanted fields:
 * timestamp (ms, never going back), input_length, output_length (tokens), hash_ids (numbers). A
 * first line without them is not a Mooncake trace: -EINVAL that says so. Times count from that
 * of the first request. Every request has the given qos.
 */
int source_blocks_open(struct source **out, const char *path, enum trace_qos qos, struct err *e);

#endif
