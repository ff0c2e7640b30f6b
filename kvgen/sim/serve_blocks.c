/* serve_blocks.c - the part of the request path of block-hash requests: one step that looks block
 * after block up, hits or writes it, by the verbs of one object (verbs.c). */
#include "kvgen/sim/serve.h"

enum {
    LOOK_AHEAD = 16,
    LOOK_AHEAD_OBJECT = 8
};

static struct ident block(const struct request *r, uint32_t i)
{
    return ident_scoped_block(r->block_scope, r->blocks[i]);
}

/* Tokens of block i: all of a block, unless the last is sized by what is left for it. */
static int64_t tokens_of_block(const struct sim *s, const struct request *r, uint32_t i)
{
    int64_t left = r->context_tokens - (int64_t)i * r->block_tokens;
    bool partial = s->o.partial_blocks && i + 1 == r->block_count;
    return partial && left > 0 && left < r->block_tokens ? left : r->block_tokens;
}

static bool put_block(struct sim *s, struct job *j, uint32_t i)
{
    const struct request *r = &j->r;
    uint64_t size = s->block_size;
    int64_t tokens = tokens_of_block(s, r, i);
    if (tokens < r->block_tokens && !serve_size(s, tokens, &size))
        return false;
    return serve_put(s, j, block(r, i), size, tokens, TRACE_BLOCK);
}

/* All blocks at once: requests that are served side by side do not mix in the curve. */
static void tell_curve_blocks(struct sim *s, const struct request *r)
{
    if (s->o.curve == NULL)
        return;
    curve_request(s->o.curve);
    for (uint32_t i = 0; i < r->block_count && s->status == 0; i++)
        serve_tell_curve(s, curve_lookup, block(r, i), tokens_of_block(s, r, i));
}

static void look_ahead(const struct sim *s, const struct request *r, uint32_t i)
{
    if (r->block_count > i + LOOK_AHEAD)
        hierarchy_prefetch(s->hierarchy, block(r, i + LOOK_AHEAD), 1);
    if (r->block_count > i + LOOK_AHEAD_OBJECT)
        hierarchy_prefetch(s->hierarchy, block(r, i + LOOK_AHEAD_OBJECT), 2);
}

/* Most sources have blocks of one size. */
static void set_block_size(struct sim *s, int64_t tokens)
{
    if (tokens != s->block_tokens && serve_size(s, tokens, &s->block_size))
        s->block_tokens = tokens;
}

/* Looks the block up; one behind another that was not there cannot hit (under prefix reuse): a
 * miss, whatever is there. */
static enum serve_look look_block(struct sim *s, struct job *j, struct ident id)
{
    if (!j->behind)
        return serve_look(s, j, id, TRACE_BLOCK);
    if (serve_has_to_wait(s, j))
        return SERVE_WAIT;
    hierarchy_miss(s->hierarchy, id, TRACE_BLOCK);
    return hierarchy_touch(s->hierarchy, id) ? SERVE_HIT : SERVE_MISS;
}

enum serve_progress serve_step_blocks(struct sim *s, struct job *j)
{
    const struct request *r = &j->r;
    set_block_size(s, r->block_tokens);
    for (; j->round < r->block_count; j->round++) {
        uint32_t i = (uint32_t)j->round;
        if (!j->missed) {
            look_ahead(s, r, i);
            enum serve_look found = look_block(s, j, block(r, i));
            if (found == SERVE_WAIT)
                return SERVE_AGAIN;
            if (i == 0)
                tell_curve_blocks(s, r);
            if (found == SERVE_HIT)
                continue;
            j->missed = true;
        }
        if (!put_block(s, j, i))
            return SERVE_AGAIN;
        j->missed = false;
        j->behind = !s->o.block_any;
    }
    return SERVE_ON;
}
