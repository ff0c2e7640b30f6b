/* Reads Dynamo's request traces, sorts their requests by arrival, and hands them out as requests of
 * blocks. Prompts, token ids and names end here: only lengths, times and keyed hashes go on. */
#include "kvgen/record/dynamo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/meaning/block_size.h"
#include "kvgen/record/batch.h"
#include "kvgen/record/dynamo_line.h"
#include "kvgen/source/id_lists.h"
#include "lib/base/hist.h"
#include "lib/base/keymap.h"
#include "lib/base/memory.h"
#include "lib/json/jsonin.h"
#include "lib/sort/temp_file.h"
#include "lib/sort/time_sort.h"

enum {
    SORT_MEMORY = 64 << 20,
    NO_SESSION_USERS = 1000, /* among whom requests without a session go round */
    PIECE_IDS = 8000         /* ids in one record of the sort */
};
#define MAX_MS    (INT64_C(1) << 41) /* 2039 */
#define NS_PER_MS INT64_C(1000000)

/* A request on its way through the sort. Its ids follow, in as many records as they need. */
struct sorted {
    int64_t context, generated, cached;
    uint32_t user, block_tokens, ids, here; /* all ids, and those in this record */
};
struct piece {
    struct sorted head;
    uint64_t id[PIECE_IDS];
};
_Static_assert(sizeof(struct piece) <= TIME_SORT_RECORD, "a piece is a record");

struct dynamo {
    struct file_source files; /* first */
    struct names names;
    struct dynamo_line line;
    struct time_sort *sort;
    struct piece *piece;
    bool reload; /* inputs_next begins with the first file again */
    enum trace_qos qos;
    bool after_wait;
    uint64_t next_cached; /* of the request in files.next */
    struct id_lists lists;
    /* Sessions: numbers of their users by hash, and the hash of each. */
    struct keymap *sessions;
    uint64_t *session;
    size_t session_count, session_cap;
    uint64_t requests, in_sessions, input_tokens, cached_tokens, rows;
    uint64_t payloads, unhashed, cycle_requests;
    struct batch_unknown unknown;
    struct hist *end_to_end_ns, *first_token_ns; /* as recorded */
};

static int bad(const struct dynamo *s, struct err *e, const char *name, const char *what)
{
    return file_source_bad(&s->files, 0, e, "%s %s", name, what);
}

/* ---- a record ---- */

/* Sets *tokens if the line says how many. */
static int read_tokens(const struct dynamo *s, enum dynamo_count_id which, const char *name,
                       int64_t *tokens, struct err *e)
{
    const struct dynamo_count *c = &s->line.count[which];
    if (c->there && !(c->whole && c->n >= 0 && c->n <= REQUEST_MAX_TOKENS))
        return bad(s, e, name, "is not a number of tokens from 0 to 2^31");
    if (c->there)
        *tokens = c->n;
    return 0;
}

/* The user of the session, a new one if it is new. */
static int find_user(struct dynamo *s, uint32_t *user, struct err *e)
{
    const struct dynamo_text *session = &s->line.text[DYNAMO_SESSION];
    if (!session->p) {
        *user = (uint32_t)(s->requests % NO_SESSION_USERS);
        return 0;
    }
    struct hash128 name = names_hash(&s->names, session->p, session->len);
    uint64_t *number = keymap_get(s->sessions, name, UINT64_MAX);
    if (!number)
        return err_nomem(e, "sessions");
    s->in_sessions++;
    if (*number == UINT64_MAX) {
        if (s->session_count == s->session_cap) {
            size_t cap = s->session_cap * 2 + 256;
            int rc = file_source_hold(&s->files, (cap - s->session_cap) * 64, "sessions", e);
            if (rc < 0)
                return rc;
            if (memory_resize(&s->session, cap, sizeof(*s->session)) < 0)
                return err_nomem(e, "sessions");
            s->session_cap = cap;
        }
        if (s->session_count + NO_SESSION_USERS >= IDENT_MAX_USERS)
            return bad(s, e, "session_id", "is one of more than 2^28");
        *number = s->session_count;
        s->session[s->session_count++] = name.lo;
    }
    *user = (uint32_t)(NO_SESSION_USERS + *number);
    return 0;
}

/* Adds the request with the hashes of the line to the sort. */
static int add(struct dynamo *s, int64_t arrival_ns, const struct sorted *r, struct err *e)
{
    struct piece *p = s->piece;
    uint32_t done = 0;
    if (s->line.hashes_are == DYNAMO_HASHES_NO_NUMBERS)
        return bad(s, e, "input_sequence_hashes", "holds something that is no number of 64 bits");
    do {
        p->head = *r;
        p->head.here = r->ids - done < PIECE_IDS ? r->ids - done : PIECE_IDS;
        for (uint32_t i = 0; i < p->head.here; i++)
            p->id[i] = names_number(&s->names, s->line.hash[done + i]);
        size_t len = sizeof(p->head) + p->head.here * sizeof(*p->id);
        int rc = time_sort_add(s->sort, arrival_ns, p, len, e);
        if (rc < 0)
            return rc;
        done += p->head.here;
    } while (done < r->ids);
    return 0;
}

/* Keeps a time of a request, if it was recorded. 0 or negative errno with *e. */
static int keep_time(struct hist *to, const struct dynamo_time *t, struct err *e)
{
    if (!t->number || !(t->ms >= 0 && t->ms < 1e9))
        return 0;
    return hist_record(to, (int64_t)(t->ms * NS_PER_MS)) < 0 ? err_nomem(e, "times") : 0;
}

static int read_end(struct dynamo *s, struct err *e)
{
    const struct dynamo_line *l = &s->line;
    const struct dynamo_count *received_ms = &l->count[DYNAMO_RECEIVED_MS];
    const struct dynamo_count *block = &l->count[DYNAMO_BLOCK_TOKENS];
    const struct dynamo_time *wait = &l->time[DYNAMO_WAIT_MS];
    struct sorted r = {0};
    if (l->hashes_are == DYNAMO_HASHES_MISSING) {
        s->unhashed++;
        return 0;
    }
    if (!received_ms->whole || received_ms->n < 0 || received_ms->n > MAX_MS)
        return bad(s, e, "request_received_ms", "is not a time in milliseconds");
    if (l->hashes_are == DYNAMO_HASHES_NO_LIST)
        return bad(s, e, "input_sequence_hashes", "is not a list");
    if (!block->whole || block->n < 1 || block->n > BLOCK_SIZE_MAX)
        return bad(s, e, "trace_block_size", "is not a number of tokens from 1 to 2^20");
    if (read_tokens(s, DYNAMO_INPUT_TOKENS, "input_tokens", &r.context, e) < 0 ||
        read_tokens(s, DYNAMO_INPUT_LENGTH, "input_length", &r.context, e) < 0 ||
        read_tokens(s, DYNAMO_OUTPUT_TOKENS, "output_tokens", &r.generated, e) < 0 ||
        read_tokens(s, DYNAMO_CACHED_TOKENS, "cached_tokens", &r.cached, e) < 0)
        return -EINVAL;
    if (!block_size_fits((struct block_reading){.tokens = block->n}, r.context, l->hashes))
        return bad(s, e, "input_sequence_hashes", "does not have one hash for each block of input");
    const struct dynamo_text *session = &l->text[DYNAMO_SESSION];
    if (file_source_samples(&s->files) && !session->p)
        return bad(s, e, "no session_id:", FILE_SOURCE_TORN);
    if (!file_source_keeps(&s->files, session->p, session->len))
        return 0;
    r.ids = (uint32_t)l->hashes;
    r.block_tokens = (uint32_t)block->n;
    int64_t arrival_ns = received_ms->n * NS_PER_MS;
    if (s->after_wait && wait->number && wait->ms > 0 && wait->ms < 1e9)
        arrival_ns += (int64_t)(wait->ms * NS_PER_MS);
    int rc = find_user(s, &r.user, e);
    if (rc == 0)
        rc = add(s, arrival_ns, &r, e);
    if (rc == 0)
        rc = keep_time(s->end_to_end_ns, &l->time[DYNAMO_TOTAL_MS], e);
    if (rc == 0)
        rc = keep_time(s->first_token_ns, &l->time[DYNAMO_FIRST_TOKEN_MS], e);
    s->requests++;
    s->cycle_requests++;
    s->input_tokens += (uint64_t)r.context;
    s->cached_tokens += (uint64_t)r.cached;
    return rc;
}

static bool begins(const struct dynamo_text *text, const char *with)
{
    size_t len = strlen(with);
    return text->p && text->len >= len && memcmp(text->p, with, len) == 0;
}

static bool is(const struct dynamo_text *text, const char *what)
{
    return begins(text, what) && text->len == strlen(what);
}

static int read_line(struct dynamo *s, const char *text, size_t len, struct err *e)
{
    /* Quotes within a text are escaped, so that this is a member and not part of a prompt. */
    static const char payload[] = "\"event_type\":\"request_payload\"";
    const struct dynamo_text *type = &s->line.text[DYNAMO_TYPE];
    const struct jsonin_v *v;
    s->rows++;
    int scanned = dynamo_line_scan(&s->line, text, len);
    if (scanned == 0 && memmem(text, len, payload, sizeof(payload) - 1) && text[len - 1] == '}') {
        s->payloads++;
        return 0;
    }
    int rc = scanned == 0 ? jsonin_stream_parse(s->files.stream, &v, e) : 0;
    if (rc < 0)
        return rc;
    if (scanned < 0 || (scanned == 0 && dynamo_line_read(&s->line, v) < 0))
        return err_nomem(e, "a request");
    if (!begins(&s->line.text[DYNAMO_SCHEMA], "dynamo.request.trace.v"))
        return bad(s, e, "schema", "is not dynamo.request.trace.v1: no request trace of Dynamo");
    if (!type->p)
        return bad(s, e, "no", "event_type");
    s->unknown.fields += s->line.unknown_fields;
    if (is(type, "request_end"))
        return read_end(s, e);
    if (is(type, "request_payload"))
        s->payloads++;
    else if (!begins(type, "tool_"))
        batch_unknown_event(&s->unknown, type->p, type->len);
    return 0;
}

/* ---- all requests of the files, in order ---- */

static int read_file(struct dynamo *s, struct err *e)
{
    const char *text;
    size_t len;
    int rc = file_source_elements(&s->files, e);
    while (rc == 0 && (rc = jsonin_stream_cut(s->files.stream, &text, &len, e)) > 0)
        rc = read_line(s, text, len, e);
    return rc;
}

/* Reads the files once, into the sort. */
static int load(struct dynamo *s, struct err *e)
{
    int rc = time_sort_create(&s->sort, temp_file_folder(), SORT_MEMORY, e);
    if (rc < 0)
        return rc;
    s->cycle_requests = 0;
    while ((rc = file_source_next_file(&s->files, e)) > 0)
        if ((rc = read_file(s, e)) < 0)
            return rc;
    return rc < 0 ? rc : time_sort_finish(s->sort, e);
}

/* The files begin anew only when the requests of the cycle before are over. */
static int begin_again(void *ctx, const char *path, struct err *e)
{
    struct dynamo *s = ctx;
    bool again = s->reload;
    (void)path;
    (void)e;
    s->reload = false;
    return again;
}

/* The next record of the sort, of any cycle: 1; 0 at the end; negative errno. */
static int next_record(struct dynamo *s, int64_t *ns, const struct piece **p, struct err *e)
{
    const void *record;
    size_t len;
    for (;;) {
        int rc = s->sort ? time_sort_next(s->sort, ns, &record, &len, e) : 0;
        if (rc < 0)
            return rc;
        if (rc > 0) {
            *p = record;
            return 1;
        }
        if (s->sort) {
            time_sort_free(s->sort);
            s->sort = NULL;
            rc = file_source_again(s, inputs_path(s->files.in), e);
            if (rc <= 0)
                return rc;
            s->reload = true;
        }
        rc = load(s, e);
        if (rc < 0)
            return rc;
        if (s->cycle_requests == 0)
            return 0;
    }
}

static int read_ahead(struct file_source *files, struct err *e)
{
    struct dynamo *s = (struct dynamo *)files;
    struct request *r = &s->files.next;
    const struct piece *p;
    uint64_t number = r->number + 1;
    int64_t ns;
    int rc = next_record(s, &ns, &p, e);
    if (rc <= 0)
        return rc;
    *r = (struct request){.number = number,
                          .user = p->head.user,
                          .qos = (uint8_t)s->qos,
                          .prompt = -1,
                          .context_tokens = p->head.context,
                          .generated_tokens = p->head.generated,
                          .block_count = p->head.ids,
                          .block_tokens = p->head.block_tokens};
    if (file_source_arrival(&s->files, ns, &r->arrival_ns) < 0)
        return err_set(e, -ERANGE, ERR_INPUT, inputs_path(s->files.in), "request_received_ms %s",
                       FILE_SOURCE_TOO_LATE);
    s->next_cached = (uint64_t)p->head.cached;
    uint64_t *id = id_lists_take(&s->lists, r->block_count, &r->slot);
    if (!id)
        return err_nomem(e, "blocks of a request");
    r->blocks = id;
    for (uint32_t done = 0;; rc = next_record(s, &ns, &p, e)) {
        if (rc <= 0)
            return rc;
        uint64_t here = p->head.here;
        memcpy(id + done, p->id, here * sizeof(*id));
        done += (uint32_t)here;
        if (done == r->block_count)
            break;
    }
    file_source_cut(&s->files, r);
    return 1;
}

/* ---- the table's functions ---- */

static void dynamo_release(struct source *base, const struct request *r)
{
    id_lists_give_back(&((struct dynamo *)base)->lists, r->slot);
}

static size_t dynamo_user_name(const struct source *base, uint32_t user, char *buf)
{
    const struct dynamo *s = (const struct dynamo *)base;
    if (user < NO_SESSION_USERS)
        return file_source_trace_user(base, user, buf);
    uint64_t name = s->session[user - NO_SESSION_USERS];
    memcpy(buf, "session_", 8);
    for (int i = 0; i < 16; i++)
        buf[8 + i] = "0123456789abcdef"[name >> (60 - 4 * i) & 15];
    return 24;
}

static void dynamo_conversations(const struct source *base, uint64_t *count, uint64_t *turns)
{
    const struct dynamo *s = (const struct dynamo *)base;
    *count = s->session_count;
    *turns = s->in_sessions;
}

static void dynamo_recorded(const struct source *base, struct source_recorded *r)
{
    const struct dynamo *s = (const struct dynamo *)base;
    r->input_tokens = s->input_tokens;
    r->cached_tokens = s->cached_tokens;
    r->end_to_end_ns = s->end_to_end_ns;
    r->first_token_ns = s->first_token_ns;
}

static void dynamo_reading(const struct source *base, struct source_reading *r)
{
    *r = (struct source_reading){.format = "Dynamo's requests",
                                 .time_unit = "ms",
                                 .time_by = "file",
                                 .since_1970 = true,
                                 .blocks_by = "row",
                                 .tokens_by = "given"};
    file_source_note_cuts(&((const struct dynamo *)base)->files, "requests", &r->remarks);
}

static void dynamo_close(struct source *base)
{
    struct dynamo *s = (struct dynamo *)base;
    time_sort_free(s->sort);
    keymap_free(s->sessions);
    hist_free(s->end_to_end_ns);
    hist_free(s->first_token_ns);
    id_lists_free(&s->lists);
    dynamo_line_free(&s->line);
    free(s->session);
    free(s->piece);
    file_source_release(&s->files);
}

static const struct source_ops dynamo_ops = {
    .name = "dynamo",
    .blocks = true,
    .peek = file_source_peek,
    .take = file_source_take,
    .release = dynamo_release,
    .user_name = dynamo_user_name,
    .conversations = dynamo_conversations,
    .skips = file_source_skips,
    .reading = dynamo_reading,
    .recorded = dynamo_recorded,
    .close = dynamo_close,
};

int source_dynamo_open(struct source **out, struct inputs *in, const struct source_dynamo_opts *o,
                       struct err *e)
{
    int64_t first_ns;
    struct dynamo *s = file_source_create(sizeof(*s), &dynamo_ops, in, &o->files, begin_again, e);
    if (!s)
        return -ENOMEM;
    s->files.read = read_ahead;
    s->names = *o->names;
    s->qos = o->qos;
    s->after_wait = o->after_wait;
    s->piece = malloc(sizeof(*s->piece));
    s->sessions = keymap_create();
    s->end_to_end_ns = hist_create();
    s->first_token_ns = hist_create();
    int rc = s->piece && s->sessions && s->end_to_end_ns && s->first_token_ns
                 ? file_source_peek(&s->files.base, &first_ns, e)
                 : err_nomem(e, "source");
    if (rc == 0 && s->files.left_out > 0)
        rc = file_source_none(&s->files, "request", e);
    else if (rc == 0)
        rc = err_set(e, -EINVAL, ERR_INPUT, inputs_path(in), "holds no request%s",
                     s->unhashed > 0 ? " with hashes of its blocks (replay.input_sequence_hashes)"
                                     : "");
    if (s->unhashed > 0)
        notes_add(&s->files.skips.remarks,
                  "%llu requests without hashes of their blocks are left out",
                  (unsigned long long)s->unhashed);
    batch_unknown_note(&s->unknown, &s->files.skips.remarks);
    return file_source_opened(&s->files, rc, out);
}

int64_t source_dynamo_start_ns(const struct source *s)
{
    return ((const struct dynamo *)s)->files.first_ns;
}

uint64_t source_dynamo_cached(const struct source *s)
{
    return ((const struct dynamo *)s)->next_cached;
}
