/* prompts.h - what a request's prompt and answer are made of, as a chain of tokens (chain.h): the
 * system prompt, the conversation so far, the new tokens, and the answer; or the blocks that its
 * source names. Equal parts of two chains have equal contents, so that engines find them. */
#ifndef KVGEN_SERVE_PROMPTS_H
#define KVGEN_SERVE_PROMPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/cache/chain.h"
#include "kvgen/source/request.h"
#include "kvgen/workload.h"
#include "lib/trace/trace.h"

enum {
    PROMPTS_CONVERSATIONS = 1 << 16 /* that are remembered; the least recently asked goes first */
};

/* One request as a chain. Free it with prompt_free. */
struct prompt {
    struct chain chain; /* the prompt, then the answer */
    uint8_t *class;     /* enum trace_class of each piece */
    uint64_t tokens;    /* of the prompt, at least 1 */
};

struct prompts;

/* w stays the caller's. shared: requests may begin with a shared system prompt. apart: chains of
 * two requests have nothing in common, as if the engine reused nothing. NULL: no memory. */
struct prompts *prompts_create(const struct workload *w, bool shared, bool apart);
void prompts_free(struct prompts *p); /* takes NULL */

/*
 * The chain of a request, whose answer has answer_tokens (at least 1).
 *  - Of a request with blocks: a piece for each whole block, known by its identifier. What does not
 * fill a block is the request's own.
 *  - Of a turn of a conversation: the shared text or system prompt of its first turn, all earlier
 * turns with their answers as far as they are remembered, then context_tokens of its own (without a
 * system prompt that they include).
 *  - Of any other request: a system prompt, then its own tokens.
 * 0 or -ENOMEM.
 */
int prompts_take(struct prompts *p, const struct request *r, uint64_t answer_tokens,
                 struct prompt *out);
void prompt_free(struct prompt *p);

#endif
