/* Merges inputs by time: asks each for its next request, takes the earliest one, and gives it the
 * number, user and object that it has among all. What a row means stays with the sources of the
 * inputs; speed and idle times are those of the merged requests. */
#include "kvgen/source/merged.h"

#include <errno.h>
#include <stdlib.h>

#include "kvgen/meaning/reading.h"

enum {
    USERS = 1000 /* among whom requests go round */
};

struct merged {
    struct file_source files; /* first */
    struct source_ops ops;    /* those that the parts have */
    struct source **part;
    int64_t *first_ns; /* of each part: the time of its first request, on the clock of its files */
    size_t parts;
    bool apart;
    uint64_t read;
};

/* The times of the files count, not those since the first request of each. */
static int next_time(const struct merged *m, size_t i, int64_t *ns, struct err *e)
{
    int rc = m->part[i]->ops->peek(m->part[i], ns, e);
    if (rc > 0 && __builtin_add_overflow(*ns, m->first_ns[i], ns))
        return err_set(e, -ERANGE, ERR_INPUT, "--input", "a time %s", FILE_SOURCE_TOO_LATE);
    return rc;
}

static void add_skips(struct merged *m)
{
    struct skips *all = &m->files.skips;
    all->rows = 0;
    for (size_t i = 0; i < m->parts && m->ops.skips; i++) {
        const struct skips *s = m->part[i]->ops->skips(m->part[i]);
        if (s->rows > 0 && all->rows == 0)
            all->first = s->first;
        all->rows += s->rows;
    }
}

static int read_ahead(struct file_source *files, struct err *e)
{
    struct merged *m = (struct merged *)files;
    struct request *r = &files->next;
    size_t first = m->parts;
    int64_t ns, first_ns = 0;
    for (size_t i = 0; i < m->parts; i++) {
        int rc = next_time(m, i, &ns, e);
        if (rc < 0)
            return rc;
        if (rc > 0 && (first == m->parts || ns < first_ns)) {
            first = i;
            first_ns = ns;
        }
    }
    add_skips(m);
    if (first == m->parts)
        return 0;
    m->part[first]->ops->take(m->part[first], r);
    if (file_source_arrival(files, first_ns, &r->arrival_ns) < 0)
        return err_set(e, -ERANGE, ERR_INPUT, "--input", "a time %s", FILE_SOURCE_TOO_LATE);
    r->user = (uint32_t)(m->read % USERS);
    r->number = ++m->read;
    if (!m->ops.blocks)
        r->object = ident_request(r->user, r->number);
    r->block_scope = m->apart ? (uint32_t)first + 1 : 0;
    r->slot = r->slot * (uint32_t)m->parts + (uint32_t)first;
    return 1;
}

/* ---- the table's functions ---- */

static void merged_release(struct source *base, const struct request *r)
{
    const struct merged *m = (const struct merged *)base;
    size_t i = r->slot % m->parts;
    struct request own = *r;
    own.slot = r->slot / (uint32_t)m->parts;
    m->part[i]->ops->release(m->part[i], &own);
}

static void merged_conversations(const struct source *base, uint64_t *count, uint64_t *turns)
{
    const struct merged *m = (const struct merged *)base;
    *count = *turns = 0;
    for (size_t i = 0; i < m->parts; i++) {
        uint64_t its_count, its_turns;
        m->part[i]->ops->conversations(m->part[i], &its_count, &its_turns);
        *count += its_count;
        *turns += its_turns;
    }
}

/* The first input's, with a remark on each of the others. */
static void merged_reading(const struct source *base, struct source_reading *r)
{
    const struct merged *m = (const struct merged *)base;
    char line[READING_LINE];
    m->part[0]->ops->reading(m->part[0], r);
    for (size_t i = 1; i < m->parts; i++) {
        const char *path = inputs_path(((struct file_source *)m->part[i])->in);
        struct source_reading its = {0};
        m->part[i]->ops->reading(m->part[i], &its);
        notes_add(&r->remarks, "merged by time with %s: %s", path, reading_line(&its, line));
        for (unsigned k = 0; k < its.remarks.count; k++)
            notes_add(&r->remarks, "%s: %s", path, its.remarks.text[k]);
    }
    file_source_note_cuts(&m->files, "requests", &r->remarks);
}

static void merged_close(struct source *base)
{
    struct merged *m = (struct merged *)base;
    for (size_t i = 0; i < m->parts; i++)
        m->part[i]->ops->close(m->part[i]);
    free(m->part);
    free(m->first_ns);
    free(m);
}

/* Two clocks have one origin only if both count from 1970, or both from an origin of their own. */
static int check_clocks(const struct merged *m, struct err *e)
{
    bool since_1970 = false;
    for (size_t i = 0; i < m->parts; i++) {
        struct source_reading its = {0};
        m->part[i]->ops->reading(m->part[i], &its);
        if (i > 0 && its.since_1970 != since_1970)
            return err_set(e, -EINVAL, ERR_INPUT,
                           inputs_path(((struct file_source *)m->part[i])->in),
                           its.since_1970 ? "has times since 1970, and the input before it has not"
                                          : "has no times since 1970, as the input before it has");
        since_1970 = its.since_1970;
    }
    return 0;
}

int source_merged_open(struct source **out, struct source **part, size_t count,
                       const struct source_merged_opts *o, struct err *e)
{
    struct merged *m = calloc(1, sizeof(*m));
    int64_t *first_ns = calloc(count, sizeof(*first_ns));
    if (!m || !first_ns) {
        for (size_t i = 0; i < count; i++)
            part[i]->ops->close(part[i]);
        free(part);
        free(first_ns);
        free(m);
        return err_nomem(e, "source");
    }
    const struct source_ops *its = part[0]->ops;
    m->ops = (struct source_ops){.name = its->name,
                                 .blocks = its->blocks,
                                 .peek = file_source_peek,
                                 .take = file_source_take,
                                 .done = file_source_done,
                                 .release = its->release ? merged_release : NULL,
                                 .user_name = file_source_trace_user,
                                 .conversations = merged_conversations,
                                 .skips = its->skips ? file_source_skips : NULL,
                                 .reading = merged_reading,
                                 .close = merged_close};
    m->files = (struct file_source){.base.ops = &m->ops, .o = o->files, .read = read_ahead};
    m->part = part;
    m->first_ns = first_ns;
    m->parts = count;
    m->apart = o->apart;
    for (size_t i = 0; i < count; i++)
        first_ns[i] = ((struct file_source *)part[i])->first_ns;
    int rc = check_clocks(m, e);
    if (rc < 0) {
        merged_close(&m->files.base);
        return rc;
    }
    *out = &m->files.base;
    return 0;
}
