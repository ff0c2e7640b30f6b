/* blocks.h - block-hash traces in JSON lines: Mooncake, Qwen-Bailian, LMCache lookup logs.
 */
#ifndef KVGEN_SOURCE_BLOCKS_H
#define KVGEN_SOURCE_BLOCKS_H

#include <stdint.h>

#include "kvgen/source/arrival_times.h"
#include "kvgen/source/inputs.h"
#include "kvgen/source/source.h"
#include "lib/trace/trace.h"

/*
 * Takes in (closes it, also on failure) and reads the first request. kind gives the fields:
 * INPUTS_MOONCAKE: timestamp (whole ms), input_length, output_length (tokens), hash_ids (numbers);
 * INPUTS_BAILIAN: the same with timestamp in s, and chat_id, parent_chat_id;
 * INPUTS_LMCACHE: timestamp (s), seq_len (tokens), chunk_size, chunk_hashes (hexadecimal texts).
 * Times never go back within a file. A first line without these: -EINVAL that says so. Every
 * request has the given qos.
 */
int source_blocks_open(struct source **out, struct inputs *in, enum inputs_kind kind,
                       const struct pace_opts *pace, enum trace_qos qos, struct err *e);

#endif
