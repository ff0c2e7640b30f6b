/* Reads block-hash traces, one line ahead of the simulator. The lists of blocks are lent to the
 * simulator in buffers that are used again, so memory is that of the requests under way. What
 * happens to the blocks is the simulator's business. */
#include "kvgen/source/blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/meaning/block_size.h"
#include "kvgen/meaning/pick.h"
#include "kvgen/meaning/stamps.h"
#include "kvgen/source/id_lists.h"
#include "lib/base/hash.h"
#include "lib/base/keymap.h"
#include "lib/json/jsonin.h"
#include "lib/text/text.h"

enum {
    CHAT_BYTES = 96, /* that the session of a chat takes */
    LOOK = 1 << 20,  /* bytes of a pipe that may tell its block size */
    USERS = 1000     /* among whom requests go round */
};

/* The fields of one kind of trace. A field is known by its name, or by the other name of it. */
struct layout {
    const char *wanted[6]; /* that the first line must have */
    const char *context, *generated, *ids;
    const char *block_tokens; /* NULL: the rows do not say it */
    int64_t tokens;           /* of the format's own blocks */
    bool strict;              /* rows that fit no block size end the run, unless it was stated */
    bool ids_may_miss;        /* rows without ids are requests that share nothing */
    bool other_names;         /* as Dynamo writes them */
    enum stamps_unit unit;    /* of its stamps */
    bool whole;               /* which are whole numbers */
    bool names_no_sessions;   /* unless rows have a session_id */
    bool chats;               /* parent_chat_id below 0 marks the first turn of a conversation */
    const char *known_as;
};

static const struct layout layouts[INPUTS_KINDS] = {
    [INPUTS_MOONCAKE] = {.wanted = {"timestamp", "input_length", "output_length"},
                         .context = "input_length",
                         .generated = "output_length",
                         .ids = "hash_ids",
                         .tokens = 512,
                         .strict = true,
                         .ids_may_miss = true,
                         .other_names = true,
                         .unit = STAMPS_MS,
                         .whole = true,
                         .names_no_sessions = true,
                         .known_as = "Mooncake"},
    [INPUTS_BAILIAN] = {.wanted = {"chat_id", "timestamp", "input_length", "output_length",
                                   "hash_ids"},
                        .context = "input_length",
                        .generated = "output_length",
                        .ids = "hash_ids",
                        .tokens = 16,
                        .unit = STAMPS_S,
                        .chats = true,
                        .known_as = "Qwen-Bailian"},
    [INPUTS_LMCACHE] = {.wanted = {"timestamp", "seq_len", "chunk_size", "chunk_hashes"},
                        .context = "seq_len",
                        .ids = "chunk_hashes",
                        .block_tokens = "chunk_size",
                        .unit = STAMPS_S,
                        .names_no_sessions = true,
                        .known_as = "LMCache lookup log"},
};

struct blocks {
    struct file_source files;    /* first */
    const struct jsonin_v *line; /* that was read last */
    const struct layout *layout;
    struct stamps stamps;
    int64_t stated;                 /* tokens of a block, by --block-size; 0: not given */
    struct block_reading ids;       /* what the ids of this file mean */
    struct block_reading first_ids; /* of the first file */
    bool sizes_differ;              /* files have other meanings */
    bool derived;                   /* the rows of the first file decided, not the format */
    char others[200];               /* what else fits them */
    bool begun;                     /* the first line was seen */
    bool no_ids;                    /* rows have none: every block is a new one */
    uint64_t fresh;                 /* blocks made up */
    uint64_t misfits;               /* rows whose ids do not fit their tokens */
    struct err first_misfit;
    enum trace_qos qos;
    uint64_t chats, read;
    struct keymap *chat;   /* the first chat of the session of each, to sample sessions */
    struct id_lists lists; /* a request's slot is the number of its list */
};

static int bad_field(const struct blocks *s, struct err *e, const char *name, const char *what)
{
    return file_source_bad(&s->files, 0, e, "%s %s", name, what);
}

/* ---- fields of the line ---- */

/* The name under which the line has the field: Dynamo writes either. */
static const char *name_in_line(const struct blocks *s, const char *name)
{
    static const char *const also[][2] = {{"input_length", "input_tokens"},
                                          {"output_length", "output_tokens"},
                                          {"timestamp", "created_time"}};
    for (size_t i = 0; s->layout->other_names && i < sizeof(also) / sizeof(*also); i++)
        if (strcmp(name, also[i][0]) == 0 && !jsonin_get(s->line, name) &&
            jsonin_get(s->line, also[i][1]))
            return also[i][1];
    return name;
}

static int line_i64(const struct blocks *s, const char *name, int64_t *out)
{
    return jsonin_i64(jsonin_get(s->line, name), out);
}

/* ---- requests ---- */

static int read_time(struct blocks *s, struct err *e)
{
    const char *name = name_in_line(s, "timestamp");
    int64_t ns;
    if (stamps_value(&s->stamps, jsonin_get(s->line, name), &ns) < 0)
        return file_source_bad(&s->files, 0, e, "%s is not a number of %s", name,
                               stamps_wanted(&s->stamps));
    int rc = file_source_arrival(&s->files, ns, &s->files.next.arrival_ns);
    if (rc < 0)
        return bad_field(s, e, name, rc == -EINVAL ? FILE_SOURCE_GOES_BACK : FILE_SOURCE_TOO_LATE);
    return 0;
}

static int read_tokens(const struct blocks *s, enum pick_as as, const char *field, int64_t *tokens,
                       struct err *e)
{
    const char *name = name_in_line(s, field);
    const char *what = pick_value(as, jsonin_get(s->line, name), tokens);
    return what ? bad_field(s, e, name, what) : 0;
}

/* The blocks of a row without ids: nobody else has them. */
static int make_ids(struct blocks *s, struct err *e)
{
    struct request *r = &s->files.next;
    int64_t tokens = r->block_tokens;
    size_t count = (size_t)((r->context_tokens + tokens - 1) / tokens);
    uint64_t *id = id_lists_take(&s->lists, count, &r->slot);
    if (!id)
        return err_nomem(e, "blocks of a request");
    for (size_t i = 0; i < count; i++)
        id[i] = s->fresh++;
    r->blocks = id;
    r->block_count = (uint32_t)count;
    return 0;
}

/* The id of a hash in hexadecimal, with or without 0x in front. A hash of more than 64 bits is
 * hashed again. 0 or -EINVAL. */
static int read_hash(const char *text, size_t len, uint64_t *id)
{
    if (len > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        text += 2;
        len -= 2;
    }
    uint64_t n = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned c = (unsigned char)text[i], lower = c | 0x20;
        if (!(c >= '0' && c <= '9') && !(lower >= 'a' && lower <= 'f'))
            return -EINVAL;
        n = n << 4 | (c <= '9' ? c - '0' : lower - 'a' + 10);
    }
    *id = len <= 16 ? n : hash_64(text, len);
    return len > 0 ? 0 : -EINVAL;
}

/* Reads the list of blocks, of numbers or of hashes, into a free list. */
static int read_ids(struct blocks *s, struct err *e)
{
    struct request *r = &s->files.next;
    const char *name = s->layout->ids;
    const struct jsonin_v *list = jsonin_get(s->line, name);
    if (s->no_ids && list)
        return bad_field(s, e, name, "is there, but the first row has none");
    if (s->no_ids)
        return make_ids(s, e);
    if (!list)
        return bad_field(s, e, "no", name);
    if (!jsonin_is_array(list))
        return bad_field(s, e, name, "is not a list");
    size_t count = jsonin_count(list);
    uint64_t *id = id_lists_take(&s->lists, count, &r->slot);
    if (!id)
        return err_nomem(e, "blocks of a request");
    for (size_t i = 0; i < count; i++) {
        size_t len;
        const struct jsonin_v *v = jsonin_at(list, i);
        const char *hash = jsonin_text(v, &len);
        if ((hash ? read_hash(hash, len, &id[i]) : jsonin_u64(v, &id[i])) < 0)
            return bad_field(s, e, name,
                             "holds something that is neither a number from 0 on nor hexadecimal");
    }
    r->blocks = id;
    r->block_count = (uint32_t)count;
    return 0;
}

/* Holds the ids of a row against its length. Where the file or an option says how large blocks are,
 * a row that does not fit is counted; else the rows before said it, and are contradicted. */
static int check_count(struct blocks *s, struct err *e)
{
    const struct request *r = &s->files.next;
    const struct layout *l = s->layout;
    bool fits = l->block_tokens ? block_size_fit(r->block_tokens, r->context_tokens,
                                                 r->block_count) != BLOCK_FIT_NONE
                                : block_size_fits(s->ids, r->context_tokens, r->block_count);
    struct err why;
    if (fits || s->no_ids)
        return 0;
    file_source_bad(&s->files, 0, &why, "%u %s for %lld tokens do not fit blocks of %u tokens%s%s",
                    r->block_count, l->ids, (long long)r->context_tokens, r->block_tokens,
                    l->block_tokens ? ""
                    : s->ids.full   ? ", full ones only"
                                    : ", partial ones with an id, too",
                    l->strict && s->stated == 0
                        ? ", as the rows before have them (--block-size sets another size)"
                        : "");
    if (l->strict && s->stated == 0) {
        *e = why;
        return -EINVAL;
    }
    if (s->misfits++ == 0)
        s->first_misfit = why;
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
    if (read_time(s, e) < 0 || read_tokens(s, PICK_TOKENS, l->context, &r->context_tokens, e) < 0 ||
        (l->generated && read_tokens(s, PICK_TOKENS, l->generated, &r->generated_tokens, e) < 0))
        return -EINVAL;

    int64_t tokens = s->ids.tokens;
    if (l->block_tokens && read_tokens(s, PICK_BLOCK_TOKENS, l->block_tokens, &tokens, e) < 0)
        return -EINVAL;
    r->block_tokens = (uint32_t)tokens;
    int rc = read_ids(s, e);
    if (rc == 0)
        rc = check_count(s, e);
    if (rc < 0)
        return rc;

    r->ranked = line_i64(s, "priority", &r->priority) == 0;
    file_source_cut(&s->files, r);

    int64_t parent = -1;
    if (l->chats && (line_i64(s, "parent_chat_id", &parent) < 0 || parent < 0))
        s->chats++;
    return 0;
}

/* ---- sessions ---- */

/* The chat that began the session of this row; where its parent was not seen, the parent. */
static int first_chat(struct blocks *s, int64_t *first, struct err *e)
{
    int64_t id, parent;
    if (line_i64(s, "chat_id", &id) < 0)
        return bad_field(s, e, "chat_id",
                         "is not a whole number, so --config sample cannot tell sessions");
    *first = id;
    if (line_i64(s, "parent_chat_id", &parent) == 0 && parent >= 0) {
        const uint64_t *known = keymap_find(s->chat, hash_128(&parent, sizeof(parent)));
        *first = known ? (int64_t)*known : parent;
    }
    size_t before = keymap_count(s->chat);
    if (!keymap_get(s->chat, hash_128(&id, sizeof(id)), (uint64_t)*first))
        return err_nomem(e, "sessions");
    return keymap_count(s->chat) > before ? file_source_hold(&s->files, CHAT_BYTES, "sessions", e)
                                          : 0;
}

/* Whether --config sample keeps the row's session: 1 or 0, or negative errno with *e. */
static int keeps_row(struct blocks *s, struct err *e)
{
    const char *text;
    size_t len;
    int64_t number;
    if (!file_source_samples(&s->files))
        return 1;
    if (s->layout->chats) {
        int rc = first_chat(s, &number, e);
        return rc < 0 ? rc : file_source_keeps(&s->files, &number, sizeof(number));
    }
    if (s->no_ids)
        return file_source_keeps(&s->files, NULL, 0);
    if (line_i64(s, "session_id", &number) == 0)
        return file_source_keeps(&s->files, &number, sizeof(number));
    text = jsonin_text(jsonin_get(s->line, "session_id"), &len);
    if (!text)
        return bad_field(s, e, "no session_id:", FILE_SOURCE_TORN);
    return file_source_keeps(&s->files, text, len);
}

/* ---- the block size of a file ---- */

/* Takes the row of a line in. Lines that are none are left to the reading of requests. */
static bool see_line(struct blocks *s, struct block_size *b, const char *text, size_t len)
{
    struct jsonin *d;
    int64_t tokens;
    if (jsonin_parse(&d, text, len, "", NULL) < 0)
        return true;
    s->line = jsonin_root(d);
    const struct jsonin_v *ids = jsonin_get(s->line, s->layout->ids);
    bool row =
        jsonin_is_array(ids) &&
        !pick_value(PICK_TOKENS, jsonin_get(s->line, name_in_line(s, s->layout->context)), &tokens);
    bool fits = !row || block_size_see(b, tokens, jsonin_count(ids));
    s->line = NULL;
    jsonin_free(d);
    return fits;
}

/* The sizes of blocks by the rows at the head of a file, or by all of them. */
struct look {
    struct block_size size;
    uint64_t line;   /* read so far */
    uint64_t misfit; /* line that no reading fits; 0: none */
    uint64_t last;   /* line that ended the last power of two; 0: none did */
};

static void look_at(struct blocks *s, struct look *l, const char *text, size_t len)
{
    bool had_none = l->size.none_since > 0;
    size_t mark = l->line == 0 ? text_mark(text, len) : 0;
    text += mark;
    len -= mark;
    l->line++;
    if (!see_line(s, &l->size, text, len))
        l->misfit = l->line;
    if (!had_none && (l->size.none_since > 0 || l->misfit > 0))
        l->last = l->line;
}

/* Reads until the rows leave one reading: a regular file to its end if need be, then from its start
 * again; of a pipe only its head, for it may give no more for a long time. */
static int look(struct blocks *s, struct look *l, struct err *e)
{
    size_t len = 0, at = 0;
    int64_t n = 1;
    bool passed = false, can_pass = frame_in_can_rewind(s->files.file);
    char *text = malloc(LOOK);
    if (!text)
        return err_nomem(e, "input");
    while (n > 0 && len < LOOK && l->misfit == 0 && block_size_is_open(&l->size)) {
        struct err later;
        const char *end;
        n = frame_in_read(s->files.file, text + len, LOOK - len, &later);
        len += n > 0 ? (size_t)n : 0;
        while (l->misfit == 0 && block_size_is_open(&l->size) && at < len &&
               ((end = memchr(text + at, '\n', len - at)) || n <= 0)) {
            size_t line_len = end ? (size_t)(end - text) - at : len - at;
            look_at(s, l, text + at, line_len);
            at += line_len + 1;
        }
        if (len == LOOK && can_pass && at > 0) {
            at = at < len ? at : len;
            memmove(text, text + at, len - at);
            len -= at;
            at = 0;
            passed = true;
        }
    }
    int rc = passed ? frame_in_rewind(s->files.file, e)
             : len > 0 && frame_in_unread(s->files.file, text, len) < 0 ? err_nomem(e, "input")
                                                                        : 0;
    free(text);
    return rc;
}

static int find_block_size(struct blocks *s, struct err *e)
{
    const struct layout *l = s->layout;
    struct look at = {0};
    block_size_begin(&at.size, s->stated);
    int rc = look(s, &at, e);
    if (rc < 0)
        return rc;
    bool found = at.misfit == 0 && block_size_choose(&at.size, l->tokens, &s->ids);
    if (!found && l->strict && s->stated == 0)
        return file_source_bad(
            &s->files, at.last, e,
            "the number of hash_ids does not fit the tokens: no block size fits this row and those "
            "before, with ids of all blocks or of full ones only (--block-size sets one)");
    if (!found)
        s->ids = (struct block_reading){.tokens = s->stated > 0 ? s->stated : l->tokens};
    if (s->first_ids.tokens == 0) {
        s->first_ids = s->ids;
        s->derived = s->ids.full || s->ids.tokens != l->tokens;
        if (at.size.rows > 0)
            block_size_others(&at.size, s->ids, s->others, sizeof(s->others));
    }
    s->sizes_differ |= s->ids.tokens != s->first_ids.tokens || s->ids.full != s->first_ids.full;
    return 0;
}

/* ---- reading ahead ---- */

static int begin_file(struct file_source *files, struct err *e)
{
    struct blocks *s = (struct blocks *)files;
    stamps_file(&s->stamps);
    return s->layout->block_tokens ? 0 : find_block_size(s, e);
}

static int read_ahead(struct file_source *files, struct err *e)
{
    struct blocks *s = (struct blocks *)files;
    int rc;
    do {
        rc = file_source_next_element(files, &s->line, e);
        if (rc <= 0)
            return rc;
        /* The first line tells whether the file is of the expected kind. */
        for (size_t i = 0; !s->begun && s->layout->wanted[i]; i++)
            if (!jsonin_get(s->line, name_in_line(s, s->layout->wanted[i])))
                return file_source_bad(&s->files, 0, e, "not a %s trace: no %s",
                                       s->layout->known_as, s->layout->wanted[i]);
        if (!s->begun)
            s->no_ids = s->layout->ids_may_miss && !jsonin_get(s->line, s->layout->ids);
        s->begun = true;
        rc = keeps_row(s, e);
    } while (rc == 0);
    if (rc > 0)
        rc = read_request(s, e);
    if (rc < 0)
        return rc;
    s->read++;
    return 1;
}

/* ---- the table's functions ---- */

static size_t blocks_ahead(const struct source *base, struct ident *id)
{
    const struct request *r = &((const struct blocks *)base)->files.next;
    size_t n = r->block_count < SOURCE_AHEAD ? r->block_count : SOURCE_AHEAD;
    for (size_t i = 0; i < n; i++)
        id[i] = ident_scoped_block(r->block_scope, r->blocks[i]);
    return n;
}

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

static void blocks_reading(const struct source *base, struct source_reading *r)
{
    const struct blocks *s = (const struct blocks *)base;
    const struct layout *l = s->layout;
    r->format = l->known_as;
    stamps_reading(&s->stamps, r);
    r->tokens_by = "given";
    r->blocks_by = l->block_tokens ? "row"
                   : s->stated > 0 ? "option"
                   : s->derived    ? "rows"
                                   : "format";
    if (!l->block_tokens) {
        r->block_tokens = s->first_ids.tokens;
        r->full_blocks = s->first_ids.full;
    }
    if (s->no_ids)
        notes_add(&r->remarks, "rows have no %s: every block is a new one, and nothing hits",
                  l->ids);
    else
        block_size_note(s->first_ids, s->others, &r->remarks);
    file_source_note_cuts(&s->files, "requests", &r->remarks);
    if (s->sizes_differ)
        notes_add(&r->remarks, "the files have blocks of different sizes");
    if (s->misfits > 0)
        notes_add(&r->remarks, "rows whose ids do not fit their tokens: %llu, the first: %s: %s",
                  (unsigned long long)s->misfits, s->first_misfit.where, s->first_misfit.what);
}

static void blocks_close(struct source *base)
{
    struct blocks *s = (struct blocks *)base;
    id_lists_free(&s->lists);
    keymap_free(s->chat);
    file_source_release(&s->files);
}

#define BLOCKS_OPS(kind_name)                                                                      \
    {                                                                                              \
        .name = (kind_name), .blocks = true, .peek = file_source_peek, .ahead = blocks_ahead,      \
        .take = file_source_take, .done = file_source_done, .release = blocks_release,             \
        .user_name = file_source_trace_user, .conversations = blocks_conversations,                \
        .reading = blocks_reading, .close = blocks_close                                           \
    }
static const struct source_ops blocks_ops[INPUTS_KINDS] = {
    [INPUTS_MOONCAKE] = BLOCKS_OPS("mooncake"),
    [INPUTS_BAILIAN] = BLOCKS_OPS("bailian"),
    [INPUTS_LMCACHE] = BLOCKS_OPS("lmcache"),
};

int source_blocks_open(struct source **out, struct inputs *in, const struct source_blocks_opts *o,
                       struct err *e)
{
    struct blocks *s =
        file_source_create(sizeof(*s), &blocks_ops[o->kind], in, &o->files, file_source_again, e);
    if (!s)
        return -ENOMEM;
    s->files.read = read_ahead;
    s->files.begin_file = begin_file;
    s->layout = &layouts[o->kind];
    s->stamps = (struct stamps){
        .given = o->files.unit, .usual = s->layout->unit, .whole = s->layout->whole};
    s->stated = o->files.block_tokens;
    s->qos = o->qos;
    int64_t first_ns;
    s->chat = keymap_create();
    int rc = s->chat ? file_source_peek(&s->files.base, &first_ns, e) : err_nomem(e, "source");
    if (rc == 0)
        rc = file_source_none(&s->files, "request", e);
    return file_source_opened(&s->files, rc, out);
}
