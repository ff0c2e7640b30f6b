/* The last thing that a row waits for. A thread is taken for exactly as long as an operation is in
 * flight. So a row that waits in a line waits only for operations that end. What a tier removes,
 * looks up or creates takes no thread, and nor do rows before the clock starts: no engine does
 * them. */
#include "kvreplay/wait/threads.h"

#include <stdlib.h>

/* Reads, or writes, of one engine. */
struct engine_line {
    unsigned busy;
    struct row_list waiting;
};

struct threads {
    unsigned most[2];
    uint32_t engines;
    struct engine_line line[][2];
};

struct threads *threads_create(const struct threads_opts *o)
{
    const uint32_t engines = o->engines ? o->engines : 1;
    struct threads *t = calloc(1, sizeof(*t) + engines * sizeof(t->line[0]));
    if (!t)
        return NULL;
    t->most[0] = o->reads;
    t->most[1] = o->writes;
    t->engines = engines;
    return t;
}

void threads_free(struct threads *t)
{
    free(t);
}

static uint32_t engine_of(const struct row *r)
{
    return r->t.engine < 0 ? 0 : (uint32_t)r->t.engine;
}

/* The line of the row's next operation; NULL: it needs no thread. Of a trace's engines that nobody
 * told of nothing is known. */
static struct engine_line *line_of(struct threads *t, const struct row *r)
{
    const bool write = r->t.op == TRACE_WRITE;
    if (!t || r->stage != ROW_MAIN || r->head || r->of_cleaner || r->t.tier != TRACE_STORAGE ||
        (r->t.op != TRACE_READ && !write) || r->t.phase == TRACE_EVICT ||
        engine_of(r) >= t->engines)
        return NULL;
    return t->most[write] ? &t->line[engine_of(r)][write] : NULL;
}

bool threads_take(struct threads *t, struct row *r)
{
    struct engine_line *l = line_of(t, r);
    if (l && l->busy == t->most[r->t.op == TRACE_WRITE])
        return false;
    r->has_thread = l != NULL;
    if (l)
        l->busy++;
    return true;
}

void threads_line(struct threads *t, struct row *r)
{
    row_list_append(&line_of(t, r)->waiting, r);
}

/* The line in which r has a thread, which is free from now on; NULL: r has none. */
static struct engine_line *leave(struct threads *t, struct row *r)
{
    if (!r->has_thread)
        return NULL;
    r->has_thread = false;
    struct engine_line *l = &t->line[engine_of(r)][r->t.op == TRACE_WRITE];
    l->busy--;
    return l;
}

void threads_untake(struct threads *t, struct row *r)
{
    leave(t, r);
}

struct row *threads_give(struct threads *t, struct row *r)
{
    struct engine_line *l = leave(t, r);
    return l && l->waiting.head ? row_list_pop(&l->waiting) : NULL;
}
