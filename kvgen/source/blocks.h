/* blocks.h - requests of block-hash traces in JSON lines: Mooncake, Qwen-Bailian, and LMCache
 * lookup logs. */
#ifndef KVGEN_SOURCE_BLOCKS_H
#define KVGEN_SOURCE_BLOCKS_H

#include "kvgen/source/file_source.h"
#include "kvgen/source/inputs.h"
#include "kvgen/source/source.h"
#include "lib/trace/trace.h"

struct source_blocks_opts {
    enum inputs_kind kind; /* INPUTS_MOONCAKE, INPUTS_BAILIAN or INPUTS_LMCACHE */
    struct file_source_opts files;
    enum trace_qos qos; /* of every request */
};

/*
 * Takes in, also on failure, and reads the first request. The kind decides which fields a line has:
 * INPUTS_MOONCAKE: timestamp (ms), input_length, output_length (tokens), hash_ids (numbers); or
 * created_time, input_tokens, output_tokens in place of the first three. Blocks are of 512 tokens,
 * or of the size that fits the lengths of the rows; -EINVAL if none does;
 * INPUTS_BAILIAN: the names of the former, but timestamp in s, and also chat_id and parent_chat_id;
 * INPUTS_LMCACHE: timestamp (s), seq_len (tokens), chunk_size, chunk_hashes (hexadecimal texts).
 * -EINVAL with *e if the first line lacks one of them, if there is no line, or if a line is bad.
 * Times must not go back within a file.
 */
int source_blocks_open(struct source **out, struct inputs *in, const struct source_blocks_opts *o,
                       struct err *e);

#endif
