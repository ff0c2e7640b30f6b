/* source_blocks.c - requests of a block-hash trace, one line ahead of the simulator. Lists of
 * blocks are lent to it in buffers that are used again, so memory is that of the requests under
 * way. */
#include "kvgen/source_blocks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/frame.h"
#include "lib/jsonin.h"
#include "lib/units.h"

enum {
    MAX_LINE = 64 << 20,
    USERS = 1000,
    NS_PER_MS = 1000000
};
#define MAX_MS (INT64_C(1) << 42) /* 139 years */

struct list {
    uint64_t *id;
    size_t cap;
    uint32_t next_free;
};

struct blocks {
    struct source base;
    struct inputs *in;
    struct frame_in *file;
    struct jsonin_stream *stream;
    struct pace pace;
    enum trace_qos qos;
    bool ready; /* ahead holds the next request */
    bool ended;
    struct request ahead;
    uint64_t read;
    struct list *list;
    uint32_t lists, free;
};

#define NO_LIST UINT32_MAX

static struct blocks *blocks_of(struct source *s)
{
    return (struct blocks *)s;
}

static int bad_line(const struct blocks *s, struct err *e, const char *what)
{
    char where[320];
    snprintf(where, sizeof where, "%s:%llu", frame_in_name(s->file),
             (unsigned long long)jsonin_stream_line(s->stream));
    return err_set(e, -EINVAL, ERR_INPUT, where, "%s", what);
}

static int take_list(struct blocks *s, uint32_t *number)
{
    if (s->free == NO_LIST) {
        struct list *grown = realloc(s->list, (s->lists + 1) * sizeof *grown);
        if (grown == NULL)
            return -ENOMEM;
        s->list = grown;
        s->list[s->lists] = (struct list){.next_free = NO_LIST};
        s->free = s->lists++;
    }
    *number = s->free;
    s->free = s->list[*number].next_free;
    return 0;
}

static void give_list(struct blocks *s, uint32_t number)
{
    s->list[number].next_free = s->free;
    s->free = number;
}

static int list_room(struct list *l, size_t count)
{
    if (count <= l->cap)
        return 0;
    uint64_t *id = realloc(l->id, count * sizeof *id);
    if (id == NULL)
        return -ENOMEM;
    l->id = id;
    l->cap = count;
    return 0;
}

static int read_ids(struct blocks *s, const struct jsonin_v *ids, struct err *e)
{
    size_t count = jsonin_count(ids);
    if (take_list(s, &s->ahead.slot) < 0)
        return err_nomem(e, "blocks of a request");
    struct list *l = &s->list[s->ahead.slot];
    if (list_room(l, count) < 0)
        return err_nomem(e, "blocks of a request");
    for (size_t i = 0; i < count; i++)
        if (jsonin_u64(jsonin_at(ids, i), &l->id[i]) < 0)
            return bad_line(s, e, "hash_ids holds something that is not a number from 0 on");
    s->ahead.blocks = l->id;
    s->ahead.block_count = (uint32_t)count;
    return 0;
}

static int read_tokens(const struct blocks *s, const struct jsonin_v *line, const char *name,
                       int64_t *tokens, struct err *e)
{
    char what[96];
    if (jsonin_i64(jsonin_get(line, name), tokens) == 0 && *tokens >= 0 &&
        *tokens <= REQUEST_MAX_TOKENS)
        return 0;
    snprintf(what, sizeof what, "%s is not a number of tokens from 0 to 2^31", name);
    return bad_line(s, e, what);
}

static int read_time(struct blocks *s, const struct jsonin_v *line, struct err *e)
{
    int64_t ms;
    if (jsonin_i64(jsonin_get(line, "timestamp"), &ms) < 0 || ms < -MAX_MS || ms > MAX_MS)
        return bad_line(s, e, "timestamp is not a whole number of milliseconds");
    int rc = pace_row(&s->pace, ms * NS_PER_MS, &s->ahead.arrival_ns);
    if (rc == -EINVAL)
        return bad_line(s, e, "timestamp goes back; requests must be in order of arrival");
    return rc < 0 ? bad_line(s, e, "timestamp lies after the end of virtual time (146 years)") : 0;
}

static int read_request(struct blocks *s, const struct jsonin_v *line, struct err *e)
{
    s->ahead =
        (struct request){.number = s->read + 1, .user = (uint32_t)(s->read % USERS), .prompt = -1};
    s->ahead.qos = (uint8_t)s->qos;
    int rc = read_time(s, line, e);
    if (rc == 0)
        rc = read_tokens(s, line, "input_length", &s->ahead.context_tokens, e);
    if (rc == 0)
        rc = read_tokens(s, line, "output_length", &s->ahead.generated_tokens, e);
    const struct jsonin_v *ids = jsonin_get(line, "hash_ids");
    if (rc == 0 && ids == NULL)
        rc = bad_line(s, e, "no hash_ids");
    if (rc == 0)
        rc = read_ids(s, ids, e);
    return rc;
}

/* The first line tells what the file is. */
static int check_first(const struct blocks *s, const struct jsonin_v *line, struct err *e)
{
    static const char *const wanted[] = {"timestamp", "input_length", "output_length", "hash_ids"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (jsonin_get(line, wanted[i]) == NULL) {
            char what[160];
            snprintf(what, sizeof what,
                     "not an input that kvgen knows: no %s (known: Mooncake JSONL with timestamp, "
                     "input_length, output_length, hash_ids)",
                     wanted[i]);
            return bad_line(s, e, what);
        }
    return 0;
}

/* The next file, in the next cycle if it must be: 1; 0 at the end; negative errno. */
static int next_file(struct blocks *s, struct err *e)
{
    int rc = inputs_next(s->in, &s->file, e);
    if (rc == 0) {
        rc = pace_again(&s->pace, inputs_path(s->in), e);
        if (rc <= 0)
            return rc;
        inputs_rewind(s->in);
        rc = inputs_next(s->in, &s->file, e);
    }
    if (rc <= 0)
        return rc;
    jsonin_stream_close(s->stream);
    s->stream = NULL;
    pace_new_file(&s->pace);
    rc = jsonin_stream_open(&s->stream, s->file, MAX_LINE, e);
    return rc < 0 ? rc : 1;
}

/* 1 and the next line, of whichever file; 0 at the end; negative errno. */
static int next_line(struct blocks *s, const struct jsonin_v **line, struct err *e)
{
    for (;;) {
        int rc = s->stream == NULL ? 0 : jsonin_stream_next(s->stream, line, e);
        if (rc == 0) {
            rc = next_file(s, e);
            if (rc <= 0)
                return rc;
            continue;
        }
        return rc;
    }
}

static int read_ahead(struct blocks *s, struct err *e)
{
    const struct jsonin_v *line;
    int rc = next_line(s, &line, e);
    if (rc == 0)
        s->ended = true;
    if (rc <= 0)
        return rc;
    rc = s->read == 0 ? check_first(s, line, e) : 0;
    if (rc == 0)
        rc = read_request(s, line, e);
    if (rc < 0)
        return rc;
    s->read++;
    s->ready = true;
    return 1;
}

/* ---- the table's functions ---- */

static int blocks_peek(struct source *base, int64_t *arrival_ns, struct err *e)
{
    struct blocks *s = blocks_of(base);
    int rc = s->ready ? 1 : s->ended ? 0 : read_ahead(s, e);
    if (rc > 0)
        *arrival_ns = s->ahead.arrival_ns;
    return rc;
}

static void blocks_take(struct source *base, struct request *out)
{
    struct blocks *s = blocks_of(base);
    *out = s->ahead;
    s->ready = false;
}

static void blocks_done(struct source *base, const struct request *r, int64_t now_ns)
{
    (void)base;
    (void)r;
    (void)now_ns;
}

static void blocks_release(struct source *base, const struct request *r)
{
    give_list(blocks_of(base), r->slot);
}

static size_t blocks_user_name(const struct source *base, uint32_t user, char *buf)
{
    (void)base;
    memcpy(buf, "trace_user_", 11);
    return 11 + units_put_u64(buf + 11, user);
}

static void blocks_conversations(const struct source *base, uint64_t *count, uint64_t *turns)
{
    (void)base;
    *count = *turns = 0;
}

static void blocks_close(struct source *base)
{
    struct blocks *s = blocks_of(base);
    jsonin_stream_close(s->stream);
    inputs_close(s->in);
    for (uint32_t i = 0; i < s->lists; i++)
        free(s->list[i].id);
    free(s->list);
    free(s);
}

static const struct source_ops blocks_ops = {
    .name = "mooncake",
    .blocks = true,
    .peek = blocks_peek,
    .take = blocks_take,
    .done = blocks_done,
    .release = blocks_release,
    .user_name = blocks_user_name,
    .conversations = blocks_conversations,
    .close = blocks_close,
};

int source_blocks_open(struct source **out, struct inputs *in, const struct pace_opts *pace,
                       enum trace_qos qos, struct err *e)
{
    struct blocks *s = calloc(1, sizeof *s);
    if (s == NULL) {
        inputs_close(in);
        return err_nomem(e, "source");
    }
    s->base.ops = &blocks_ops;
    s->in = in;
    s->pace.o = *pace;
    s->qos = qos;
    s->free = NO_LIST;
    int rc = read_ahead(s, e);
    if (rc == 0)
        rc = err_set(e, -EINVAL, ERR_INPUT, inputs_path(in), "holds no request");
    if (rc < 0) {
        blocks_close(&s->base);
        return rc;
    }
    *out = &s->base;
    return 0;
}
