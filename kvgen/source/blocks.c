/* Reads block-hash traces, one line ahead of the simulator. The lists of blocks are lent to the
 * simulator in buffers that are used again, so memory is that of the requests under way. What
 * happens to the blocks is the simulator's business. */
#include "kvgen/source/blocks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/source/block_line.h"
#include "kvgen/source/block_size.h"
#include "kvgen/source/id_lists.h"
#include "lib/json/jsonin.h"

enum {
    MAX_LINE = 64 << 20,
    LOOK = 1 << 20, /* bytes of a file that may tell its block size */
    USERS = 1000,   /* among whom requests go round */
    NS_PER_MS = 1000000
};
#define MAX_MS      (INT64_C(1) << 42) /* 139 years */
#define MAX_SECONDS 4.4e9

/* The fields of one kind of trace. A field is known by its name, or by the other name of it. */
struct layout {
    const char *wanted[6]; /* that the first line must have */
    const char *context, *generated, *ids;
    const char *block_tokens; /* NULL: tokens */
    int64_t tokens;
    bool derived; /* the block size is tokens only where that fits the lengths of the rows */
    bool seconds; /* timestamp is in seconds; else in ms */
    bool chats;   /* parent_chat_id below 0 marks the first turn of a conversation */
    const char *known_as;
};

static const struct layout layouts[INPUTS_KINDS] = {
    [INPUTS_MOONCAKE] = {.wanted = {"timestamp", "input_length", "output_length", "hash_ids"},
                         .context = "input_length",
                         .generated = "output_length",
                         .ids = "hash_ids",
                         .tokens = 512,
                         .derived = true,
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

struct blocks {
    struct file_source files; /* first */
    struct jsonin_stream *stream;
    struct block_line flat;
    const struct jsonin_v *tree; /* of a line that flat cannot hold; else NULL */
    const struct layout *layout;
    int64_t tokens; /* of a block of this file */
    enum trace_qos qos;
    uint64_t chats, read;
    struct id_lists lists; /* a request's slot is the number of its list */
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

/* The name under which the line has the field: Dynamo writes either. */
static const char *name_in_line(const struct blocks *s, const char *name)
{
    static const char *const also[][2] = {{"input_length", "input_tokens"},
                                          {"output_length", "output_tokens"},
                                          {"timestamp", "created_time"}};
    for (size_t i = 0; s->layout->derived && i < sizeof(also) / sizeof(*also); i++)
        if (strcmp(name, also[i][0]) == 0 && !line_has(s, name) && line_has(s, also[i][1]))
            return also[i][1];
    return name;
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

/* Whole ms exactly; fractions of ms and seconds to the microsecond, which is exact in doubles of
 * the present. */
static int read_time(struct blocks *s, struct err *e)
{
    const char *name = name_in_line(s, "timestamp");
    int64_t ms, ns;
    double t;
    if (s->layout->seconds) {
        if (line_f64(s, name, &t) < 0 || t < -MAX_SECONDS || t > MAX_SECONDS)
            return bad_field(s, e, name, "is not a number of seconds");
        ns = (int64_t)floor(t * 1e6 + 0.5) * 1000;
    } else if (line_i64(s, name, &ms) == 0 && ms >= -MAX_MS && ms <= MAX_MS) {
        ns = ms * NS_PER_MS;
    } else {
        if (line_f64(s, name, &t) < 0 || t < -(double)MAX_MS || t > (double)MAX_MS)
            return bad_field(s, e, name, "is not a number of milliseconds");
        ns = (int64_t)floor(t * 1e3 + 0.5) * 1000;
    }
    int rc = file_source_arrival(&s->files, ns, &s->files.next.arrival_ns);
    if (rc < 0)
        return bad_field(s, e, name, rc == -EINVAL ? FILE_SOURCE_GOES_BACK : FILE_SOURCE_TOO_LATE);
    return 0;
}

static int read_tokens(const struct blocks *s, const char *field, int64_t *tokens, struct err *e)
{
    const char *name = name_in_line(s, field);
    if (line_i64(s, name, tokens) == 0 && *tokens >= 0 && *tokens <= REQUEST_MAX_TOKENS)
        return 0;
    return bad_field(s, e, name, "is not a number of tokens from 0 to 2^31");
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
    uint64_t *id = id_lists_take(&s->lists, count, &r->slot);
    if (!id)
        return err_nomem(e, "blocks of a request");
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

static int bad_count(const struct blocks *s, struct err *e, int64_t tokens)
{
    const struct request *r = &s->files.next;
    return file_source_bad(&s->files, jsonin_stream_line(s->stream), e,
                           "%u hash_ids for %lld tokens do not fit the block size of the file, "
                           "which is %lld tokens by the rows before",
                           r->block_count, (long long)r->context_tokens, (long long)tokens);
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

    int64_t tokens = s->tokens;
    if (l->block_tokens &&
        (line_i64(s, l->block_tokens, &tokens) < 0 || tokens < 1 || tokens > BLOCK_SIZE_MAX))
        return bad_field(s, e, l->block_tokens, "is not a number of tokens from 1 to 2^20");
    r->block_tokens = (uint32_t)tokens;
    int rc = read_ids(s, e);
    if (rc < 0)
        return rc;
    if (l->derived && !block_size_fits(tokens, r->context_tokens, r->block_count))
        return bad_count(s, e, tokens);

    int64_t parent = -1;
    if (l->chats && (line_i64(s, "parent_chat_id", &parent) < 0 || parent < 0))
        s->chats++;
    return 0;
}

/* ---- the block size of a file ---- */

/* Takes the row of a line in. Lines that are none are left to the reading of requests. */
static bool see_line(struct blocks *s, struct block_size *b, const char *text, size_t len)
{
    const struct block_line_member *ids;
    struct jsonin *d = NULL;
    int64_t tokens = -1;
    size_t count = 0;
    bool row = false;
    s->tree = NULL;
    if (block_line_scan(&s->flat, text, len) > 0) {
        ids = block_line_get(&s->flat, s->layout->ids);
        row = ids && ids->kind == BLOCK_LINE_IDS;
        count = row ? ids->count : 0;
    } else if (jsonin_parse(&d, text, len, "", NULL) == 0) {
        s->tree = jsonin_root(d);
        row = jsonin_is_array(jsonin_get(s->tree, s->layout->ids));
        count = jsonin_count(jsonin_get(s->tree, s->layout->ids));
    }
    row = row && line_i64(s, name_in_line(s, s->layout->context), &tokens) == 0 && tokens >= 0 &&
          tokens <= REQUEST_MAX_TOKENS;
    bool fits = !row || block_size_see(b, tokens, count);
    s->tree = NULL;
    jsonin_free(d);
    return fits;
}

/* Looks at the head of the file until its rows tell the block size, and gives it back. A pipe may
 * give no more than that for a long time. */
static int find_block_size(struct blocks *s, struct err *e)
{
    struct block_size b = BLOCK_SIZE_ANY;
    size_t len = 0, at = 0;
    int64_t n = 1;
    uint64_t line = 0, misfit = 0;
    char *text = malloc(LOOK);
    if (!text)
        return err_nomem(e, "input");
    while (n > 0 && len < LOOK && misfit == 0 && block_size_is_open(&b)) {
        struct err later;
        n = frame_in_read(s->files.file, text + len, LOOK - len, &later);
        len += n > 0 ? (size_t)n : 0;
        const char *end;
        while (misfit == 0 && block_size_is_open(&b) && at < len &&
               ((end = memchr(text + at, '\n', len - at)) || n <= 0)) {
            size_t line_len = end ? (size_t)(end - text) - at : len - at;
            line++;
            if (!see_line(s, &b, text + at, line_len))
                misfit = line;
            at += line_len + 1;
        }
    }
    int rc = len > 0 && frame_in_unread(s->files.file, text, len) < 0 ? err_nomem(e, "input") : 0;
    free(text);
    s->tokens = block_size_choose(&b, s->layout->tokens);
    if (rc == 0 && misfit > 0)
        rc = file_source_bad(&s->files, misfit, e,
                             "the number of hash_ids does not fit the tokens: no block size fits "
                             "this row and those before");
    return rc;
}

/* ---- reading ahead ---- */

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
        if (s->layout->derived && (rc = find_block_size(s, e)) < 0)
            return rc;
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
        if (!line_has(s, name_in_line(s, s->layout->wanted[i])))
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
    id_lists_give_back(&s->lists, r->slot);
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
    id_lists_free(&s->lists);
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
    s->tokens = s->layout->tokens;
    s->qos = o->qos;
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
