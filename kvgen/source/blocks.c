/* Reads block-hash traces, one line ahead of the simulator. The lists of blocks are lent to the
 * simulator in buffers that are used again, so memory is that of the requests under way. What
 * happens to the blocks is the simulator's business. */
#include "kvgen/source/blocks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/source/block_line.h"
#include "lib/json/jsonin.h"

enum {
    MAX_LINE = 64 << 20,
    USERS = 1000, /* among whom requests go round */
    NS_PER_MS = 1000000
};
#define MAX_MS           (INT64_C(1) << 42) /* 139 years */
#define MAX_SECONDS      4.4e9
#define MAX_BLOCK_TOKENS (1 << 20)

/* The fields of one kind of trace. */
struct layout {
    const char *wanted[6]; /* that the first line must have */
    const char *context, *generated, *ids;
    const char *block_tokens; /* NULL: always tokens */
    int64_t tokens;
    bool seconds; /* timestamp is in seconds with decimals; else in whole ms */
    bool chats;   /* parent_chat_id below 0 marks the first turn of a conversation */
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

/* The blocks of one request, or a free buffer. */
struct list {
    uint64_t *id;
    size_t cap;
    uint32_t next_free;
};
#define NO_LIST UINT32_MAX

struct blocks {
    struct file_source files; /* first */
    struct jsonin_stream *stream;
    struct block_line flat;
    const struct jsonin_v *tree; /* of a line that flat cannot hold; else NULL */
    const struct layout *layout;
    enum trace_qos qos;
    uint64_t chats, read;
    struct list *list; /* a request's slot is the number of its list */
    uint32_t lists, free;
};

static int bad_field(const struct blocks *s, struct err *e, const char *name, const char *what)
{
    return file_source_bad(&s->files, jsonin_stream_line(s->stream), e, "%s %s", name, what);
}

/* ---- fields of the line, flat or a tree ---- */

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

/* ---- requests ---- */

/* Whole ms, or seconds to the microsecond, which is exact in doubles of the present. */
static int read_time(struct blocks *s, struct err *e)
{
    int64_t ms, ns;
    double seconds;
    if (s->layout->seconds) {
        if (line_f64(s, "timestamp", &seconds) < 0 || seconds < -MAX_SECONDS ||
            seconds > MAX_SECONDS)
            return bad_field(s, e, "timestamp", "is not a number of seconds");
        ns = (int64_t)floor(seconds * 1e6 + 0.5) * 1000;
    } else {
        if (line_i64(s, "timestamp", &ms) < 0 || ms < -MAX_MS || ms > MAX_MS)
            return bad_field(s, e, "timestamp", "is not a whole number of milliseconds");
        ns = ms * NS_PER_MS;
    }
    int rc = file_source_arrival(&s->files, ns, &s->files.next.arrival_ns);
    if (rc < 0)
        return bad_field(s, e, "timestamp",
                         rc == -EINVAL ? FILE_SOURCE_GOES_BACK : FILE_SOURCE_TOO_LATE);
    return 0;
}

static int read_tokens(const struct blocks *s, const char *name, int64_t *tokens, struct err *e)
{
    if (line_i64(s, name, tokens) == 0 && *tokens >= 0 && *tokens <= REQUEST_MAX_TOKENS)
        return 0;
    return bad_field(s, e, name, "is not a number of tokens from 0 to 2^31");
}

/* Takes a free list with room for count blocks. */
static int take_list(struct blocks *s, size_t count, uint32_t *number)
{
    if (s->free == NO_LIST) {
        struct list *grown = realloc(s->list, (s->lists + 1) * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        s->list = grown;
        s->list[s->lists] = (struct list){.next_free = NO_LIST};
        s->free = s->lists++;
    }
    struct list *l = &s->list[s->free];
    if (count > l->cap) {
        uint64_t *id = realloc(l->id, count * sizeof(*id));
        if (!id)
            return -ENOMEM;
        l->id = id;
        l->cap = count;
    }
    *number = s->free;
    s->free = l->next_free;
    return 0;
}

/* Reads the list of blocks, of numbers or of hashes, into a free list. */
static int read_ids(struct blocks *s, struct err *e)
{
    struct request *r = &s->files.next;
    const char *name = s->layout->ids;
    const struct jsonin_v *tree = s->tree ? jsonin_get(s->tree, name) : NULL;
    const struct block_line_member *flat = s->tree ? NULL : block_line_get(&s->flat, name);
    if (!tree && !flat)
        return bad_field(s, e, "no", name);
    if (flat ? flat->kind != BLOCK_LINE_IDS : !jsonin_is_array(tree))
        return bad_field(s, e, name, "is not a list");
    size_t count = flat ? flat->count : jsonin_count(tree);
    if (take_list(s, count, &r->slot) < 0)
        return err_nomem(e, "blocks of a request");
    uint64_t *id = s->list[r->slot].id;
    if (flat && count > 0)
        memcpy(id, s->flat.id + flat->first, count * sizeof(*id));
    for (size_t i = 0; tree && i < count; i++) {
        size_t len;
        const struct jsonin_v *v = jsonin_at(tree, i);
        const char *hash = jsonin_text(v, &len);
        if ((hash ? block_line_hash(hash, len, &id[i]) : jsonin_u64(v, &id[i])) < 0)
            return bad_field(s, e, name,
                             "holds something that is neither a number from 0 on nor hexadecimal");
    }
    r->blocks = id;
    r->block_count = (uint32_t)count;
    return 0;
}

static int read_request(struct blocks *s, struct err *e)
{
    const struct layout *l = s->layout;
    struct request *r = &s->files.next;
    *r = (struct request){.number = s->read + 1,
                          .user = (uint32_t)(s->read % USERS),
                          .qos = (uint8_t)s->qos,
                          .prompt = -1};
    if (read_time(s, e) < 0 || read_tokens(s, l->context, &r->context_tokens, e) < 0 ||
        (l->generated && read_tokens(s, l->generated, &r->generated_tokens, e) < 0))
        return -EINVAL;

    int64_t tokens = l->tokens;
    if (l->block_tokens &&
        (line_i64(s, l->block_tokens, &tokens) < 0 || tokens < 1 || tokens > MAX_BLOCK_TOKENS))
        return bad_field(s, e, l->block_tokens, "is not a number of tokens from 1 to 2^20");
    r->block_tokens = (uint32_t)tokens;
    int rc = read_ids(s, e);
    if (rc < 0)
        return rc;

    int64_t parent = -1;
    if (l->chats && (line_i64(s, "parent_chat_id", &parent) < 0 || parent < 0))
        s->chats++;
    return 0;
}

/* Reads the next line of any file as a request: 1; 0 at the end; negative errno. */
static int read_ahead(struct file_source *files, struct err *e)
{
    struct blocks *s = (struct blocks *)files;
    const char *text;
    size_t len;
    int rc = 0;
    while (!s->stream || (rc = jsonin_stream_cut(s->stream, &text, &len, e)) == 0) {
        rc = file_source_next_file(&s->files, e);
        if (rc <= 0)
            return rc;
        jsonin_stream_close(s->stream);
        s->stream = NULL;
        rc = jsonin_stream_open(&s->stream, s->files.file, MAX_LINE, e);
        if (rc < 0)
            return rc;
        struct jsonin_limit limit = file_source_limit(&s->files);
        jsonin_stream_limit(s->stream, &limit);
    }
    if (rc < 0)
        return rc;

    s->tree = NULL;
    rc = block_line_scan(&s->flat, text, len);
    if (rc < 0)
        return err_nomem(e, "a line of blocks");
    if (rc == 0)
        rc = jsonin_stream_parse(s->stream, &s->tree, e);
    if (rc < 0)
        return rc;

    /* The first line tells whether the file is of the expected kind. */
    for (size_t i = 0; s->read == 0 && s->layout->wanted[i]; i++)
        if (!line_has(s, s->layout->wanted[i]))
            return file_source_bad(&s->files, jsonin_stream_line(s->stream), e,
                                   "not a %s trace: no %s", s->layout->known_as,
                                   s->layout->wanted[i]);
    rc = read_request(s, e);
    if (rc < 0)
        return rc;
    s->read++;
    return 1;
}

/* ---- the table's functions ---- */

static void blocks_release(struct source *base, const struct request *r)
{
    struct blocks *s = (struct blocks *)base;
    s->list[r->slot].next_free = s->free;
    s->free = r->slot;
}

static void blocks_conversations(const struct source *base, uint64_t *count, uint64_t *turns)
{
    const struct blocks *s = (const struct blocks *)base;
    *count = s->chats;
    *turns = s->chats > 0 ? s->read : 0;
}

static void blocks_close(struct source *base)
{
    struct blocks *s = (struct blocks *)base;
    jsonin_stream_close(s->stream);
    block_line_free(&s->flat);
    file_source_release(&s->files);
    for (uint32_t i = 0; i < s->lists; i++)
        free(s->list[i].id);
    free(s->list);
    free(s);
}

#define BLOCKS_OPS(kind_name)                                                                      \
    {                                                                                              \
        .name = (kind_name), .blocks = true, .peek = file_source_peek, .take = file_source_take,   \
        .release = blocks_release, .user_name = file_source_trace_user,                            \
        .conversations = blocks_conversations, .close = blocks_close                               \
    }
static const struct source_ops blocks_ops[INPUTS_KINDS] = {
    [INPUTS_MOONCAKE] = BLOCKS_OPS("mooncake"),
    [INPUTS_BAILIAN] = BLOCKS_OPS("bailian"),
    [INPUTS_LMCACHE] = BLOCKS_OPS("lmcache"),
};

int source_blocks_open(struct source **out, struct inputs *in, const struct source_blocks_opts *o,
                       struct err *e)
{
    struct blocks *s = calloc(1, sizeof(*s));
    if (!s) {
        inputs_close(in);
        return err_nomem(e, "source");
    }
    s->files.read = read_ahead;
    file_source_init(&s->files, &blocks_ops[o->kind], in, &o->files, file_source_again);
    s->layout = &layouts[o->kind];
    s->qos = o->qos;
    s->free = NO_LIST;
    int64_t first_ns;
    int rc = file_source_peek(&s->files.base, &first_ns, e);
    if (rc == 0)
        rc = err_set(e, -EINVAL, ERR_INPUT, inputs_path(in), "holds no request");
    if (rc < 0) {
        blocks_close(&s->files.base);
        return rc;
    }
    *out = &s->files.base;
    return 0;
}
