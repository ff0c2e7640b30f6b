/* source_blocks.h - block-hash traces: Mooncake's JSONL. */
#ifndef KVGEN_SOURCE_BLOCKS_H
#define KVGEN_SOURCE_BLOCKS_H

#include <stdint.h>

#include "kvgen/inputs.h"
#include "kvgen/pace.h"
#include "kvgen/source.h"
#include "lib/trace.h"

/*
 * Takes in (closes it, also on failure) and reads the first request. Wanted fields:
 * timestamp (ms, never going back within a file), input_length, output_length (tokens), hash_ids
 * (numbers). A first line without them is not a Mooncake trace: -EINVAL that says so. Every request
 * has the given qos.
 */
int source_blocks_open(struct source **out, struct inputs *in, const struct pace_opts *pace,
                       enum trace_qos qos, struct err *e);

#endif
