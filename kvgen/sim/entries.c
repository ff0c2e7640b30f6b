/* entries.c - the verbs of steps: reading, fetching and storing an entry of the cache, which is one
 * object, or with --granularity block:N a series of them. What happens to an object is in verbs.c.
 */
#include <errno.h>

#include "kvgen/sim/serve.h"

/* ---- one object ---- */

/* Of an entry any part may be. */
static void note_absent(struct job *j, enum serve_look found)
{
    j->absent = found == SERVE_MISS || (j->part > 0 && j->absent);
}

/* Stores what was found missing. */
static enum serve_progress fill(struct sim *s, struct job *j, struct ident id, int64_t tokens,
                                enum trace_class class)
{
    uint64_t size;
    if (!serve_size(s, tokens, &size) || !serve_put(s, j, id, size, tokens, class))
        return SERVE_AGAIN;
    j->missed = false;
    return SERVE_ON;
}

static enum serve_progress read_one(struct sim *s, struct job *j, struct ident id, int64_t tokens,
                                    enum trace_class class)
{
    (void)tokens; /* as one_verb */
    enum serve_look found = serve_look(s, j, id, class);
    if (found == SERVE_WAIT)
        return SERVE_AGAIN;
    note_absent(j, found);
    serve_probe_curve(s, id);
    return SERVE_ON;
}

static enum serve_progress fetch_one(struct sim *s, struct job *j, struct ident id, int64_t tokens,
                                     enum trace_class class)
{
    if (!j->missed) {
        enum serve_look found = serve_look(s, j, id, class);
        if (found == SERVE_WAIT)
            return SERVE_AGAIN;
        serve_tell_curve(s, curve_lookup, id, tokens);
        note_absent(j, found);
        if (found == SERVE_HIT)
            return SERVE_ON;
        j->missed = true;
    }
    return fill(s, j, id, tokens, class);
}

static enum serve_progress store_one(struct sim *s, struct job *j, struct ident id, int64_t tokens,
                                     enum trace_class class)
{
    if (serve_has_to_wait(s, j))
        return SERVE_AGAIN;
    if (!j->missed) {
        serve_tell_curve(s, curve_write, id, tokens);
        if (hierarchy_has(s->hierarchy, id))
            return SERVE_ON;
        j->missed = true;
    }
    return fill(s, j, id, tokens, class);
}

/* ---- all objects of an entry ---- */

typedef enum serve_progress (*one_verb)(struct sim *s, struct job *j, struct ident id,
                                        int64_t tokens, enum trace_class class);

/* Parts of an entry; 0: too many, which ends the run. */
static uint32_t parts_of(struct sim *s, int64_t tokens)
{
    int64_t parts = (tokens + s->o.granularity - 1) / s->o.granularity;
    if (parts <= IDENT_MAX_PARTS)
        return (uint32_t)parts;
    serve_fail(s, err_set(s->err, -E2BIG, ERR_INPUT, "--granularity",
                          "an entry of %lld tokens has more than %d blocks of %lld",
                          (long long)tokens, IDENT_MAX_PARTS, (long long)s->o.granularity));
    return 0;
}

static int64_t tokens_of_part(const struct sim *s, int64_t tokens, uint32_t i)
{
    int64_t left = tokens - (int64_t)i * s->o.granularity;
    return s->o.partial_blocks && left < s->o.granularity ? left : s->o.granularity;
}

static enum serve_progress each_part(struct sim *s, struct job *j, struct ident id, int64_t tokens,
                                     enum trace_class class, one_verb verb)
{
    uint32_t parts = parts_of(s, tokens);
    for (; j->part < parts; j->part++) {
        struct ident part = ident_part(id, j->part, j->part + 1 == parts);
        if (verb(s, j, part, tokens_of_part(s, tokens, j->part), class) == SERVE_AGAIN)
            return SERVE_AGAIN;
    }
    j->part = 0;
    return SERVE_ON;
}

/* An entry whose length is not known: part after part until one is missing, or is the last. What
 * lies behind a missing part is of no use. */
static enum serve_progress read_parts(struct sim *s, struct job *j, struct ident id,
                                      enum trace_class class)
{
    for (bool over = false; !over; j->part++) {
        struct ident part = ident_part(id, j->part, false), last = ident_part(id, j->part, true);
        bool at_last = !hierarchy_has(s->hierarchy, part) && hierarchy_has(s->hierarchy, last);
        enum serve_look found = serve_look(s, j, at_last ? last : part, class);
        if (found == SERVE_WAIT)
            return SERVE_AGAIN;
        note_absent(j, found);
        over = at_last || found == SERVE_MISS;
    }
    serve_probe_curve_entry(s, id);
    j->part = 0;
    return SERVE_ON;
}

enum serve_progress serve_read(struct sim *s, struct job *j, struct ident id, int64_t tokens,
                               enum trace_class class)
{
    if (s->o.granularity == 0)
        return read_one(s, j, id, tokens, class);
    return tokens > 0 ? each_part(s, j, id, tokens, class, read_one) : read_parts(s, j, id, class);
}

enum serve_progress serve_fetch(struct sim *s, struct job *j, struct ident id, int64_t tokens,
                                enum trace_class class)
{
    if (s->o.granularity == 0)
        return fetch_one(s, j, id, tokens, class);
    return each_part(s, j, id, tokens, class, fetch_one);
}

enum serve_progress serve_store(struct sim *s, struct job *j, struct ident id, int64_t tokens,
                                enum trace_class class)
{
    if (s->o.granularity == 0)
        return store_one(s, j, id, tokens, class);
    return each_part(s, j, id, tokens, class, store_one);
}

/* ---- before the first request ---- */

static void write_one(struct sim *s, struct ident id, int64_t tokens, enum trace_class class)
{
    uint64_t size;
    s->before = class;
    serve_tell_curve(s, curve_write, id, tokens);
    if (s->status == 0 && serve_size(s, tokens, &size) &&
        hierarchy_write(s->hierarchy, id, size, (uint32_t)tokens, class) < 0)
        serve_fail(s, err_nomem(s->err, "live objects"));
}

void serve_write(struct sim *s, struct ident id, int64_t tokens, enum trace_class class)
{
    if (s->o.granularity == 0) {
        write_one(s, id, tokens, class);
        return;
    }
    uint32_t parts = parts_of(s, tokens);
    for (uint32_t i = 0; i < parts && s->status == 0; i++)
        write_one(s, ident_part(id, i, i + 1 == parts), tokens_of_part(s, tokens, i), class);
}

void serve_drop(struct sim *s, struct ident id, int64_t tokens, enum trace_class class)
{
    s->before = class;
    if (s->o.granularity == 0) {
        hierarchy_delete(s->hierarchy, id);
        return;
    }
    uint32_t parts = parts_of(s, tokens);
    for (uint32_t i = 0; i < parts && s->status == 0; i++)
        hierarchy_delete(s->hierarchy, ident_part(id, i, i + 1 == parts));
}
