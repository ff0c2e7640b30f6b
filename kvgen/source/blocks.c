/* blocks.c - requests of a block-hash trace, one line ahead of the simulator. Lists of
 * blocks are lent to it in buffers that are used again, so memory is that of the requests under
 * way. */
#include "kvgen/source/blocks.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/source/block_line.h"
#include "kvgen/source/lookahead.h"
#include "lib/base/units.h"
#include "lib/json/jsonin.h"
#include "lib/trace/frame.h"

enum {
    MAX_LINE = 64 << 20,
    USERS = 1000,
    NS_PER_MS = 1000000
};
#define MAX_MS           (INT64_C(1) << 42) /* 139 years */
#define MAX_SECONDS      4.4e9
#define MAX_BLOCK_TOKENS (1 << 20)

/* One kind of trace. */
struct layout {
    const char *wanted[6]; /* fields that a first line has */
    const char *context, *generated, *ids;
    const char *block_tokens; /* field, or NULL: always the number below */
    int64_t tokens;
    bool seconds; /* timestamp is one of seconds, with decimals; else whole ms */
    bool chats;   /* parent_chat_id tells first turns */
    const char *known_as;
};

static const struct layout layouts[INPUTS_KINDS] = {
    [INPUTS_MOONCAKE] = {.wanted = {"timestamp", "input_length", "output_length", "hash_ids"},
                         .context = "input_length",
                         .generated = "output_length",
                         .ids = "hash_ids",
                         .tokens = 512,
                         .known_as = "Mooncake"},
    [INPUTS_BAILIAN] = {.wanted = {"chat_id", "timestamp", "input_length", "output_length",
                                   "hash_ids"},
                        .context = "input_length",
                        .generated = "output_length",
                        .ids = "hash_ids",
                        .tokens = 16,
                        .seconds = true,
                        .chats = true,
                        .known_as = "Qwen-Bailian"},
    [INPUTS_LMCACHE] = {.wanted = {"timestamp", "seq_len", "chunk_size", "chunk_hashes"},
                        .context = "seq_len",
                        .ids = "chunk_hashes",
                        .block_tokens = "chunk_size",
                        .seconds = true,
                        .known_as = "LMCache lookup log"},
};

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
    const struct jsonin_v *tree; /* the line, or NULL: flat is */
    struct block_line flat;
    struct pace pace;
    const struct layout *layout;
    enum trace_qos qos;
    uint64_t chats;
    struct lookahead ahead;
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
    snprintf(where, sizeof(where), "%s:%llu", frame_in_name(s->file),
             (unsigned long long)jsonin_stream_line(s->stream));
    return err_set(e, -EINVAL, ERR_INPUT, where, "%s", what);
}

static int take_list(struct blocks *s, uint32_t *number)
{
    if (s->free == NO_LIST) {
        struct list *grown = realloc(s->list, (s->lists + 1) * sizeof(*grown));
        if (!grown)
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
    uint64_t *id = realloc(l->id, count * sizeof(*id));
    if (!id)
        return -ENOMEM;
    l->id = id;
    l->cap = count;
    return 0;
}

/* ---- the line, from wherever it is ---- */

static bool line_has(const struct blocks *s, const char *name)
{
    return s->tree ? jsonin_get(s->tree, name) != NULL : block_line_get(&s->flat, name) != NULL;
}

static int line_i64(const struct blocks *s, const char *name, int64_t *out)
{
    return s->tree ? jsonin_i64(jsonin_get(s->tree, name), out)
                   : block_line_i64(block_line_get(&s->flat, name), out);
}

static int line_f64(const struct blocks *s, const char *name, double *out)
{
    return s->tree ? jsonin_f64(jsonin_get(s->tree, name), out)
                   : block_line_f64(block_line_get(&s->flat, name), out);
}

/* Elements of a list; false: it is none. */
static bool line_count(const struct blocks *s, const char *name, size_t *count)
{
    if (!s->tree) {
        const struct block_line_member *m = block_line_get(&s->flat, name);
        *count = m->count;
        return m->kind == BLOCK_LINE_IDS;
    }
    *count = jsonin_count(jsonin_get(s->tree, name));
    return jsonin_is_array(jsonin_get(s->tree, name));
}

/* A number, or a hash in hexadecimal. */
static int tree_id(const struct jsonin_v *v, uint64_t *id)
{
    size_t len;
    const char *text = jsonin_text(v, &len);
    return !text ? jsonin_u64(v, id) : block_line_hash(text, len, id);
}

static int line_ids(const struct blocks *s, const char *name, uint64_t *id, size_t count)
{
    if (!s->tree) {
        if (count > 0)
            memcpy(id, s->flat.id + block_line_get(&s->flat, name)->first, count * sizeof(*id));
        return 0;
    }
    const struct jsonin_v *ids = jsonin_get(s->tree, name);
    for (size_t i = 0; i < count; i++)
        if (tree_id(jsonin_at(ids, i), &id[i]) < 0)
            return -EINVAL;
    return 0;
}

static int read_ids(struct blocks *s, struct err *e)
{
    char what[96];
    if (!line_has(s, s->layout->ids)) {
        snprintf(what, sizeof(what), "no %s", s->layout->ids);
        return bad_line(s, e, what);
    }
    size_t count;
    if (!line_count(s, s->layout->ids, &count)) {
        snprintf(what, sizeof(what), "%s is not a list", s->layout->ids);
        return bad_line(s, e, what);
    }
    if (take_list(s, &s->ahead.request.slot) < 0)
        return err_nomem(e, "blocks of a request");
    struct list *l = &s->list[s->ahead.request.slot];
    if (list_room(l, count) < 0)
        return err_nomem(e, "blocks of a request");
    if (line_ids(s, s->layout->ids, l->id, count) < 0) {
        snprintf(what, sizeof(what),
                 "%s holds something that is neither a number from 0 on nor hexadecimal",
                 s->layout->ids);
        return bad_line(s, e, what);
    }
    s->ahead.request.blocks = l->id;
    s->ahead.request.block_count = (uint32_t)count;
    return 0;
}

static int read_tokens(const struct blocks *s, const char *name, int64_t *tokens, struct err *e)
{
    char what[96];
    if (line_i64(s, name, tokens) == 0 && *tokens >= 0 && *tokens <= REQUEST_MAX_TOKENS)
        return 0;
    snprintf(what, sizeof(what), "%s is not a number of tokens from 0 to 2^31", name);
    return bad_line(s, e, what);
}

/* Whole ms, or seconds to the microsecond, which doubles of the present have. */
static int parse_time(const struct blocks *s, int64_t *ns)
{
    int64_t ms;
    double seconds;
    if (s->layout->seconds) {
        if (line_f64(s, "timestamp", &seconds) < 0 || seconds < -MAX_SECONDS ||
            seconds > MAX_SECONDS)
            return -EINVAL;
        *ns = (int64_t)floor(seconds * 1e6 + 0.5) * 1000;
        return 0;
    }
    if (line_i64(s, "timestamp", &ms) < 0 || ms < -MAX_MS || ms > MAX_MS)
        return -EINVAL;
    *ns = ms * NS_PER_MS;
    return 0;
}

static int read_time(struct blocks *s, struct err *e)
{
    int64_t ns;
    if (parse_time(s, &ns) < 0)
        return bad_line(s, e,
                        s->layout->seconds ? "timestamp is not a number of seconds"
                                           : "timestamp is not a whole number of milliseconds");
    int rc = pace_row(&s->pace, ns, &s->ahead.request.arrival_ns);
    if (rc == -EINVAL)
        return bad_line(s, e, "timestamp goes back; requests must be in order of arrival");
    return rc < 0 ? bad_line(s, e, "timestamp lies after the end of virtual time (146 years)") : 0;
}

static int read_block_tokens(struct blocks *s, struct err *e)
{
    int64_t tokens = s->layout->tokens;
    if (s->layout->block_tokens && (line_i64(s, s->layout->block_tokens, &tokens) < 0 ||
                                    tokens < 1 || tokens > MAX_BLOCK_TOKENS))
        return bad_line(s, e, "chunk_size is not a number of tokens from 1 to 2^20");
    s->ahead.request.block_tokens = (uint32_t)tokens;
    return 0;
}

static void count_chat(struct blocks *s)
{
    int64_t parent = -1;
    if (s->layout->chats && (line_i64(s, "parent_chat_id", &parent) < 0 || parent < 0))
        s->chats++;
}

static int read_request(struct blocks *s, struct err *e)
{
    const struct layout *l = s->layout;
    s->ahead.request =
        (struct request){.number = s->read + 1, .user = (uint32_t)(s->read % USERS), .prompt = -1};
    s->ahead.request.qos = (uint8_t)s->qos;
    int rc = read_time(s, e);
    if (rc == 0)
        rc = read_tokens(s, l->context, &s->ahead.request.context_tokens, e);
    if (rc == 0 && l->generated)
        rc = read_tokens(s, l->generated, &s->ahead.request.generated_tokens, e);
    if (rc == 0)
        rc = read_block_tokens(s, e);
    if (rc == 0)
        rc = read_ids(s, e);
    if (rc == 0)
        count_chat(s);
    return rc;
}

/* The first line tells what the file is. */
static int check_first(const struct blocks *s, struct err *e)
{
    for (size_t i = 0; s->layout->wanted[i]; i++)
        if (!line_has(s, s->layout->wanted[i])) {
            char what[160];
            snprintf(what, sizeof(what), "not a %s trace: no %s", s->layout->known_as,
                     s->layout->wanted[i]);
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

/* The next line of the present file: 1; 0 at its end; negative errno. */
static int take_line(struct blocks *s, struct err *e)
{
    const char *text;
    size_t len;
    int rc = jsonin_stream_cut(s->stream, &text, &len, e);
    if (rc <= 0)
        return rc;
    s->tree = NULL;
    rc = block_line_scan(&s->flat, text, len);
    if (rc < 0)
        return err_nomem(e, "a line of blocks");
    if (rc == 0)
        rc = jsonin_stream_parse(s->stream, &s->tree, e);
    return rc < 0 ? rc : 1;
}

/* The next line of whichever file: 1; 0 at the end; negative errno. */
static int next_line(struct blocks *s, struct err *e)
{
    for (;;) {
        int rc = !s->stream ? 0 : take_line(s, e);
        if (rc != 0)
            return rc;
        rc = next_file(s, e);
        if (rc <= 0)
            return rc;
    }
}

static int read_ahead(void *source, struct err *e)
{
    struct blocks *s = source;
    int rc = next_line(s, e);
    if (rc <= 0)
        return rc;
    rc = s->read == 0 ? check_first(s, e) : 0;
    if (rc == 0)
        rc = read_request(s, e);
    if (rc < 0)
        return rc;
    s->read++;
    return 1;
}

/* ---- the table's functions ---- */

static int blocks_peek(struct source *base, int64_t *arrival_ns, struct err *e)
{
    struct blocks *s = blocks_of(base);
    return lookahead_peek(&s->ahead, read_ahead, s, arrival_ns, e);
}

static void blocks_take(struct source *base, struct request *out)
{
    lookahead_take(&blocks_of(base)->ahead, out);
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
    const struct blocks *s = (const struct blocks *)base;
    *count = s->chats;
    *turns = s->chats > 0 ? s->read : 0;
}

static void blocks_close(struct source *base)
{
    struct blocks *s = blocks_of(base);
    jsonin_stream_close(s->stream);
    block_line_free(&s->flat);
    inputs_close(s->in);
    for (uint32_t i = 0; i < s->lists; i++)
        free(s->list[i].id);
    free(s->list);
    free(s);
}

#define BLOCKS_OPS(kind_name)                                                                      \
    {                                                                                              \
        .name = (kind_name), .blocks = true, .peek = blocks_peek, .take = blocks_take,             \
        .release = blocks_release, .user_name = blocks_user_name,                                  \
        .conversations = blocks_conversations, .close = blocks_close                               \
    }
static const struct source_ops blocks_ops[INPUTS_KINDS] = {
    [INPUTS_MOONCAKE] = BLOCKS_OPS("mooncake"),
    [INPUTS_BAILIAN] = BLOCKS_OPS("bailian"),
    [INPUTS_LMCACHE] = BLOCKS_OPS("lmcache"),
};

int source_blocks_open(struct source **out, struct inputs *in, enum inputs_kind kind,
                       const struct pace_opts *pace, enum trace_qos qos, struct err *e)
{
    struct blocks *s = calloc(1, sizeof(*s));
    if (!s) {
        inputs_close(in);
        return err_nomem(e, "source");
    }
    s->base.ops = &blocks_ops[kind];
    s->layout = &layouts[kind];
    s->in = in;
    s->pace.o = *pace;
    s->qos = qos;
    s->free = NO_LIST;
    int64_t first_ns;
    int rc = blocks_peek(&s->base, &first_ns, e);
    if (rc == 0)
        rc = err_set(e, -EINVAL, ERR_INPUT, inputs_path(in), "holds no request");
    if (rc < 0) {
        blocks_close(&s->base);
        return rc;
    }
    *out = &s->base;
    return 0;
}
