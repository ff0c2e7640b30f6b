/* trace_requests.c - puts the rows of each request together until its Generate row, and gives the
 * requests in the order of their numbers. What a cache makes of them is kvgen/serve's business. */
#include "kvgen/format/trace_requests.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/format/trace_input.h"
#include "kvgen/meaning/block_size.h"
#include "kvgen/meaning/reading.h"
#include "kvgen/source/id_lists.h"
#include "lib/base/hash.h"
#include "lib/base/keymap.h"
#include "lib/base/memory.h"
#include "lib/base/units.h"
#include "lib/json/jsonin.h"
#include "lib/sort/temp_file.h"
#include "lib/sort/time_sort.h"
#include "lib/trace/read.h"

enum {
    PART = 8192,        /* blocks of a record for the sorter */
    NEEDED_COLUMNS = 3, /* beside the core */
    /* Limits for all requests that have begun and not ended; each has buffers of 1 KiB or more. */
    MOST_REQUESTS = 1 << 20,
    MOST_BLOCKS = 1 << 27
};
#define SORT_MEMORY ((size_t)16 << 20)
#define NOBODY      INT64_C(-1)
#define TOO_MANY                                                                                   \
    "is one too many of 2^20 requests, or 2^27 of their blocks, that began and did not end"
#define INSTEAD "give the requests themselves to --input, or leave --cache waterfall"

static const enum trace_column needed[NEEDED_COLUMNS] = {TRACE_COL_REQUEST, TRACE_COL_CLASS,
                                                         TRACE_COL_TOKENS};

/* Blocks in the order in which rows name them. */
struct blocks {
    uint64_t *id;
    size_t count, cap;
};

/* The sorter's record of a request; its blocks follow in records of their own. */
struct head {
    int64_t number, arrival_ns, context_tokens, generated_tokens;
    uint32_t blocks, block_tokens, user;
    uint8_t qos;
};

/* A request whose rows still come. */
struct open_request {
    struct head head;
    /* An engine's cache tells misses before loads: they come behind all that was found. */
    struct blocks found, missed;
    uint64_t looked_up;  /* blocks in both */
    uint64_t last;       /* block looked up last, and its tokens if they are fewer */
    int64_t last_tokens; /* 0: not known, or as all */
    int64_t prefill_tokens;
    bool runs; /* its prefill began: it looks nothing up any more */
    uint32_t next_free;
};

struct trace_requests {
    struct source base; /* first */
    struct trace_reader *reader;
    struct trace_cursor *cursor;
    char *name;
    uint64_t row;           /* number of the present row */
    bool engine, ambiguous; /* who made it: an engine's cache; one whose loads have no order */
    bool known_maker;
    struct keymap *numbers; /* open request of each number */
    struct open_request *open;
    size_t opened, open_cap;
    uint32_t free;        /* 1 + the first free one; those have the number NOBODY */
    uint64_t blocks;      /* that the open ones have looked up */
    int64_t block_tokens; /* of the last block whose row says it; 0: none did */
    struct keymap *user_numbers;
    char (*user)[IDENT_MAX_USER_NAME];
    size_t users, user_cap;
    struct time_sort *sort;
    bool read, ended;
    bool any_block, tails; /* a prompt may have had more than its blocks */
    uint64_t unended;
    int cut; /* -EBADMSG: the trace is */
    struct err cut_err;
    /* The next request. */
    struct request next;
    struct id_lists lists;
    bool ready;
    int64_t zero_ns, last_ns, last_number;
    struct skips skips;
};

static int bad(const struct trace_requests *r, struct err *e, const char *why)
{
    return err_set(e, -EINVAL, ERR_INPUT, r->name,
                   "row %llu %s: no cache of an engine can be asked "
                   "anew; " INSTEAD,
                   (unsigned long long)r->row, why);
}

/* ---- requests under way ---- */

static int append(struct blocks *b, uint64_t id)
{
    if (memory_room(&b->id, &b->cap, b->count, sizeof(*b->id), 64) < 0)
        return -ENOMEM;
    b->id[b->count++] = id;
    return 0;
}

static int find_user(struct trace_requests *r, struct trace_str name, uint32_t *user)
{
    const uint64_t *known =
        keymap_get(r->user_numbers, hash_128(name.p, name.len), (uint64_t)r->users);
    if (!known)
        return -ENOMEM;
    *user = (uint32_t)*known;
    if (*known < r->users)
        return 0;
    if (memory_room(&r->user, &r->user_cap, r->users, sizeof(*r->user), 64) < 0)
        return -ENOMEM;
    char *text = r->user[r->users++];
    memset(text, 0, IDENT_MAX_USER_NAME);
    if (name.len)
        memcpy(text, name.p, name.len < IDENT_MAX_USER_NAME ? name.len : IDENT_MAX_USER_NAME);
    return 0;
}

/* The open request that the row belongs to, which may be its first. 0, or negative errno with *e.
 */
static int request_of(struct trace_requests *r, const struct trace_row *row,
                      struct open_request **out, struct err *e)
{
    const struct hash128 name = hash_128(&row->request, sizeof(row->request));
    const uint64_t *known = keymap_find(r->numbers, name);
    if (known) {
        *out = &r->open[*known];
        return 0;
    }
    if (!r->free && r->opened == MOST_REQUESTS)
        return bad(r, e, TOO_MANY);
    if (!r->free) {
        if (memory_room(&r->open, &r->open_cap, r->opened, sizeof(*r->open), 64) < 0)
            return err_nomem(e, "requests");
        r->open[r->opened] = (struct open_request){.head = {.number = NOBODY}};
        r->free = (uint32_t)++r->opened;
    }
    struct open_request *q = &r->open[r->free - 1];
    if (!keymap_get(r->numbers, name, r->free - 1))
        return err_nomem(e, "requests");
    r->free = q->next_free;
    *q = (struct open_request){
        .head = {.number = row->request,
                 .arrival_ns = row->arrival_ns != TRACE_NONE ? row->arrival_ns : row->time_ns,
                 .qos = row->qos < TRACE_QOSES ? row->qos : (uint8_t)TRACE_INTERACTIVE}};
    *out = q;
    return find_user(r, row->user, &q->head.user) ? err_nomem(e, "users") : 0;
}

static void close_request(struct trace_requests *r, struct open_request *q)
{
    keymap_remove(r->numbers, hash_128(&q->head.number, sizeof(q->head.number)));
    free(q->found.id);
    free(q->missed.id);
    r->blocks -= q->looked_up;
    *q = (struct open_request){.head = {.number = NOBODY}, .next_free = r->free};
    r->free = (uint32_t)(q - r->open) + 1;
}

/* Measures the prompt by what is known of it: whole blocks, and the rest behind them. */
static void measure(struct trace_requests *r, struct open_request *q)
{
    struct head *h = &q->head;
    if (!h->block_tokens)
        h->block_tokens = (uint32_t)r->block_tokens;
    const int64_t size = h->block_tokens;
    struct blocks *last = q->missed.count ? &q->missed : &q->found;
    const bool partial = q->last_tokens > 0 && q->last_tokens < size && last->count > 0 &&
                         last->id[last->count - 1] == q->last;
    if (partial)
        last->count--;
    int64_t tail = partial ? q->last_tokens : 0;
    if (!partial && q->prefill_tokens > (int64_t)q->missed.count * size)
        tail = q->prefill_tokens - (int64_t)q->missed.count * size;
    if (size > 0 && tail >= size)
        tail = size - 1;
    /* A prompt that is found whole computes its last token again. */
    if (tail == 1 && q->missed.count == 0 && q->found.count > 0 && !partial)
        tail = 0;
    h->blocks = (uint32_t)(q->found.count + q->missed.count);
    h->context_tokens = (int64_t)h->blocks * size + tail;
    if (h->context_tokens == 0)
        h->context_tokens = 1;
    r->tails |= !partial && q->prefill_tokens == 0;
}

static int add_blocks(struct trace_requests *r, int64_t number, const struct blocks *b,
                      struct err *e)
{
    int rc = 0;
    for (size_t at = 0; at < b->count && rc == 0; at += PART) {
        const size_t n = b->count - at < PART ? b->count - at : PART;
        rc = time_sort_add(r->sort, number, b->id + at, n * sizeof(*b->id), e);
    }
    return rc;
}

/* All rows of the request have come. */
static int end_request(struct trace_requests *r, struct open_request *q, struct err *e)
{
    measure(r, q);
    r->any_block |= q->head.blocks > 0;
    if (q->head.context_tokens > REQUEST_MAX_TOKENS)
        return bad(r, e, "ends a request of more than 2^31 tokens");
    if (q->head.blocks && !q->head.block_tokens)
        return bad(r, e, "ends a request of whose blocks no row says the tokens");
    int rc = time_sort_add(r->sort, q->head.number, &q->head, sizeof(q->head), e);
    if (rc == 0)
        rc = add_blocks(r, q->head.number, &q->found, e);
    if (rc == 0)
        rc = add_blocks(r, q->head.number, &q->missed, e);
    close_request(r, q);
    return rc;
}

/* ---- rows ---- */

static bool begins(struct trace_str key, const char *with)
{
    const size_t len = strlen(with);
    return key.len > len && memcmp(key.p, with, len) == 0;
}

/* The number behind the word at the begin of the key, all of it. */
static bool number_after(struct trace_str key, const char *word, uint64_t *out)
{
    const size_t skip = strlen(word);
    char digits[24];
    if (!begins(key, word) || key.len - skip >= sizeof(digits) || !isdigit(key.p[skip]))
        return false;
    memcpy(digits, key.p + skip, key.len - skip);
    digits[key.len - skip] = '\0';
    return units_parse_u64(digits, out) == 0;
}

/* Without the engine that has the copy (KEY@eN). */
static struct trace_str without_engine(struct trace_str key)
{
    uint32_t at = key.len;
    while (at > 0 && isdigit(key.p[at - 1]))
        at--;
    if (at > 2 && at < key.len && key.p[at - 1] == 'e' && key.p[at - 2] == '@')
        key.len = at - 2;
    return key;
}

/* The block that the key names: the identifier of the input (block_N) as it was, else a hash. */
static uint64_t block_of(struct trace_str key)
{
    uint64_t id;
    key = without_engine(key);
    return number_after(key, "block_", &id) ? id : hash_64(key.p, key.len);
}

/* Who made the trace, if its keys are those of an engine's cache. */
static int find_maker(struct trace_requests *r, struct err *e)
{
    struct jsonin *d = NULL;
    const char *text = trace_provenance(r->reader), *cache = NULL;
    if (r->known_maker)
        return 0;
    if (text && jsonin_parse(&d, text, strlen(text), "", NULL) == 0)
        cache = jsonin_text(jsonin_get(jsonin_root(d), "cache.name"), NULL);
    r->known_maker = cache;
    r->ambiguous = cache && (strcmp(cache, "copies") == 0 || strcmp(cache, "waterfall") == 0);
    r->engine = true;
    jsonin_free(d);
    return cache ? 0
                 : err_set(e, -EINVAL, ERR_INPUT, r->name,
                           "does not say which cache made it, which its Note or frame tells "
                           "(--no-notes leaves it out): the order of its look-ups is not known; "
                           "" INSTEAD);
}

/* Whether the row is of a block of a chain: 1; 0: it is no look-up; or negative errno. */
static int check_row(struct trace_requests *r, const struct trace_row *row, struct err *e)
{
    const bool chain = begins(row->key, "chain_");
    if (row->op == TRACE_DELETE || row->phase == TRACE_EVICT || row->class == TRACE_STORE ||
        row->class == TRACE_PROMOTE || row->class == TRACE_CLASS_EVICT)
        return 0;
    if (chain && row->request == TRACE_NONE) /* of an answer */
        return 0;
    if (!chain && row->class != TRACE_BLOCK)
        return bad(r, e, "is of an object that is no block of a chain");
    if (row->request == TRACE_NONE)
        return bad(r, e, "names no request");
    if (row->request < 0)
        return bad(r, e, "has a request below 0");
    if (chain && memchr(row->key.p, '@', without_engine(row->key).len))
        return bad(r, e, "is of a group of layers, which do not look at all of the prompt");
    const int rc = chain ? find_maker(r, e) : 0;
    return rc < 0 ? rc : 1;
}

/* The tokens of a block, where its row says them. */
static int note_tokens(struct trace_requests *r, struct open_request *q,
                       const struct trace_row *row, uint64_t id, struct err *e)
{
    const int64_t tokens = row->tokens, size = q->head.block_tokens;
    const bool is_last = q->looked_up > 0 && id == q->last;
    if (tokens == TRACE_NONE)
        return 0;
    if (tokens < 1 || tokens > BLOCK_SIZE_MAX)
        return bad(r, e, "has a block whose tokens are not from 1 to 2^20");
    if (size == 0)
        q->head.block_tokens = (uint32_t)tokens;
    else if (tokens != size && (tokens > size || !is_last))
        return bad(r, e, "has a block of another size than those before it in its request");
    if (is_last)
        q->last_tokens = tokens;
    r->block_tokens = q->head.block_tokens;
    return 0;
}

static int look_up(struct trace_requests *r, struct open_request *q, const struct trace_row *row,
                   struct err *e)
{
    const uint64_t id = block_of(row->key), size = q->head.block_tokens;
    if (q->runs) /* after a preemption */
        return 0;
    if (r->engine && r->ambiguous && row->op == TRACE_READ && row->tier != TRACE_GPU)
        return bad(r, e,
                   "loads a block for --cache copies or an engine's waterfall, whose loads do not "
                   "say their order");
    if (q->looked_up >= (uint64_t)REQUEST_MAX_TOKENS / (size > 0 ? size : 1))
        return bad(r, e, "is of a request of more than 2^31 tokens");
    if (r->blocks >= MOST_BLOCKS)
        return bad(r, e, TOO_MANY);
    q->last = id;
    q->last_tokens = 0;
    /* Rows of a waterfall are in order, found or not. */
    if (append(r->engine && row->op == TRACE_MISS ? &q->missed : &q->found, id))
        return err_nomem(e, "blocks of a request");
    q->looked_up++;
    r->blocks++;
    return note_tokens(r, q, row, id, e);
}

static int take_generate(struct trace_requests *r, const struct trace_row *row, struct err *e)
{
    if (row->request == TRACE_NONE || row->request < 0)
        return bad(r, e, "names no request");
    struct open_request *q;
    const int rc = request_of(r, row, &q, e);
    if (rc < 0)
        return rc;
    const int64_t tokens = row->tokens > 0 && row->tokens <= REQUEST_MAX_TOKENS ? row->tokens : 1;
    if (row->phase == TRACE_PREFILL) {
        q->prefill_tokens = q->runs ? q->prefill_tokens : tokens;
        q->runs = true;
        q->head.generated_tokens = 1;
        return 0;
    }
    q->head.generated_tokens = tokens;
    return end_request(r, q, e);
}

static int take_row(struct trace_requests *r, const struct trace_row *row, struct err *e)
{
    if (row->op == TRACE_GENERATE)
        return take_generate(r, row, e);
    int rc = check_row(r, row, e);
    if (rc <= 0)
        return rc;
    struct open_request *q;
    if ((rc = request_of(r, row, &q, e)) < 0)
        return rc;
    if (row->op != TRACE_WRITE)
        return look_up(r, q, row, e);
    const uint64_t id = block_of(row->key);
    /* A write tells the size of what was missed; an engine's may be of an answer. */
    return id == q->last || !r->engine ? note_tokens(r, q, row, id, e) : 0;
}

/* Requests whose prefill is all that the trace has of them (a node that only computes prompts) end
 * with it. */
static int end_rest(struct trace_requests *r, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; i < r->opened && rc == 0; i++) {
        struct open_request *q = &r->open[i];
        if (q->head.number == NOBODY)
            continue;
        if (q->runs)
            rc = end_request(r, q, e);
        else
            r->unended++;
    }
    return rc;
}

static int read_all(struct trace_requests *r, struct err *e)
{
    const struct trace_row *rows;
    size_t n;
    int rc;
    while ((rc = trace_cursor_next(r->cursor, &rows, &n, e)) > 0)
        for (size_t i = 0; i < n; i++) {
            r->row++;
            if ((rc = take_row(r, &rows[i], e)) < 0)
                return rc;
        }
    if (rc == -EBADMSG) {
        r->cut = rc;
        r->cut_err = *e;
        rc = 0;
    }
    if (rc == 0)
        rc = end_rest(r, e);
    if (rc == 0 && !r->any_block)
        rc =
            err_set(e, -EINVAL, ERR_INPUT, r->name,
                    "has no request that looked up a block and ended: no cache of an engine can be "
                    "asked anew; " INSTEAD);
    return rc < 0 ? rc : time_sort_finish(r->sort, e);
}

/* ---- requests ---- */

static int read_blocks(struct trace_requests *r, uint64_t *id, uint32_t count, struct err *e)
{
    int64_t number;
    const void *part;
    size_t len;
    int rc = 1;
    for (uint32_t at = 0; at < count && rc > 0; at += (uint32_t)(len / sizeof(*id)))
        if ((rc = time_sort_next(r->sort, &number, &part, &len, e)) > 0)
            memcpy(id + at, part, len);
    return rc;
}

/* The next request, in the order of numbers: 1; 0: there is none; negative errno. */
static int next_request(struct trace_requests *r, struct err *e)
{
    struct head h;
    const void *record;
    size_t len;
    int64_t number;
    int rc = time_sort_next(r->sort, &number, &record, &len, e);
    if (rc <= 0)
        return rc;
    memcpy(&h, record, sizeof(h));
    uint32_t slot;
    uint64_t *id = id_lists_take(&r->lists, h.blocks, &slot);
    if (!id)
        return err_nomem(e, "blocks of a request");
    if ((rc = read_blocks(r, id, h.blocks, e)) < 0)
        return rc;
    if (r->last_ns == INT64_MIN)
        r->zero_ns = h.arrival_ns >= TRACE_INPUT_DATES_FROM_NS ? h.arrival_ns : 0;
    if (h.arrival_ns < r->last_ns || h.arrival_ns < 0)
        return err_set(e, -EINVAL, ERR_INPUT, r->name,
                       "request %lld arrives before request %lld (or before time 0): requests are "
                       "served anew in the order of their numbers",
                       (long long)h.number, (long long)r->last_number);
    r->last_ns = h.arrival_ns;
    r->last_number = h.number;
    r->next = (struct request){.number = (uint64_t)h.number,
                               .arrival_ns = h.arrival_ns - r->zero_ns,
                               .user = h.user,
                               .qos = h.qos,
                               .prompt = -1,
                               .context_tokens = h.context_tokens,
                               .generated_tokens = h.generated_tokens,
                               .blocks = id,
                               .block_count = h.blocks,
                               .block_tokens = h.block_tokens ? h.block_tokens : 1,
                               .slot = slot};
    return 1;
}

static int peek(struct source *base, int64_t *arrival_ns, struct err *e)
{
    struct trace_requests *r = (struct trace_requests *)base;
    int rc = 0;
    if (r->ended)
        return 0;
    if (!r->read)
        rc = read_all(r, e);
    r->read = true;
    if (rc == 0 && !r->ready)
        rc = next_request(r, e);
    else if (rc == 0)
        rc = 1;
    r->ready = rc > 0;
    r->ended = rc <= 0;
    if (rc > 0)
        *arrival_ns = r->next.arrival_ns;
    return rc;
}

static void take(struct source *base, struct request *out)
{
    struct trace_requests *r = (struct trace_requests *)base;
    *out = r->next;
    r->ready = false;
}

static void release(struct source *base, const struct request *q)
{
    struct trace_requests *r = (struct trace_requests *)base;
    id_lists_give_back(&r->lists, q->slot);
}

static size_t user_name(const struct source *base, uint32_t user, char *buf)
{
    const struct trace_requests *r = (const struct trace_requests *)base;
    const size_t len = strnlen(r->user[user], IDENT_MAX_USER_NAME);
    memcpy(buf, r->user[user], len);
    return len;
}

static void conversations(const struct source *base, uint64_t *count, uint64_t *turns)
{
    (void)base;
    *count = *turns = 0;
}

static const struct skips *skips(const struct source *base)
{
    return &((const struct trace_requests *)base)->skips;
}

static void reading(const struct source *base, struct source_reading *to)
{
    const struct trace_requests *r = (const struct trace_requests *)base;
    to->format = "the look-ups of a trace";
    to->time_unit = "s";
    to->time_by = "file";
    to->since_1970 = r->zero_ns > 0;
    to->block_tokens = r->block_tokens;
    to->blocks_by = "rows";
    to->full_blocks = true;
    to->tokens_by = "given";
    if (r->tails)
        notes_add(
            &to->remarks,
            "prompts may differ by less than a block: the last block counts as whole unless "
            "its row says fewer tokens (--config partial_blocks), and what fills none has no row");
    if (r->unended)
        notes_add(&to->remarks, "requests left out because the trace ends before they do: %llu",
                  (unsigned long long)r->unended);
}

static void close_source(struct source *base)
{
    struct trace_requests *r = (struct trace_requests *)base;
    trace_cursor_close(r->cursor);
    trace_close(r->reader);
    keymap_free(r->numbers);
    keymap_free(r->user_numbers);
    time_sort_free(r->sort);
    for (size_t i = 0; i < r->opened; i++) {
        free(r->open[i].found.id);
        free(r->open[i].missed.id);
    }
    free(r->open);
    free(r->user);
    free(r->name);
    id_lists_free(&r->lists);
    free(r);
}

static const struct source_ops ops = {.name = "trace",
                                      .blocks = true,
                                      .peek = peek,
                                      .take = take,
                                      .release = release,
                                      .user_name = user_name,
                                      .conversations = conversations,
                                      .skips = skips,
                                      .reading = reading,
                                      .close = close_source};

/* Whether the trace has what its requests are made of. */
static int check_header(const struct trace_requests *r, struct err *e)
{
    const uint32_t columns = trace_columns(r->reader);
    if (columns & TRACE_RESULT)
        return err_set(e, -EINVAL, ERR_INPUT, r->name,
                       "is a result, whose rows are in the order in which they ended: give the "
                       "trace that was replayed");
    for (int i = 0; i < NEEDED_COLUMNS; i++)
        if (!(columns & TRACE_BIT(needed[i])))
            return err_set(e, -EINVAL, ERR_INPUT, r->name,
                           "has no column %s, so its rows are no requests: no cache of an engine "
                           "can be asked anew; " INSTEAD,
                           trace_column_name(needed[i]));
    return 0;
}

int trace_requests_open(struct trace_requests **out, struct inputs *in, enum inputs_kind kind,
                        struct err *e)
{
    struct trace_requests *r = calloc(1, sizeof(*r));
    int rc = 0;
    if (kind != INPUTS_TRACE || inputs_count(in) > 1)
        rc = err_set(e, -EINVAL, ERR_INPUT, inputs_path(in),
                     kind != INPUTS_TRACE
                         ? "a log of another tool says nothing of requests: no cache of an engine "
                           "can be asked anew; " INSTEAD
                         : "several files: one trace is read at a time");
    if (rc == 0 && r) {
        r->base.ops = &ops;
        r->last_ns = INT64_MIN;
        r->name = strdup(inputs_path(in));
        r->numbers = keymap_create();
        r->user_numbers = keymap_create();
    }
    if (rc == 0 && (!r || !r->name || !r->numbers || !r->user_numbers))
        rc = err_nomem(e, "trace");
    if (rc == 0)
        rc = time_sort_create(&r->sort, temp_file_folder(), SORT_MEMORY, e);
    if (rc == 0) {
        const struct trace_read_opts o = {0};
        rc = trace_open_in(&r->reader, inputs_take(in), &o, e);
    }
    inputs_close(in);
    if (rc == 0)
        rc = check_header(r, e);
    if (rc == 0)
        rc = trace_cursor_open(&r->cursor, r->reader, e);
    if (rc < 0 && r)
        close_source(&r->base);
    if (rc == 0)
        *out = r;
    return rc;
}

struct source *trace_requests_source(struct trace_requests *r)
{
    return &r->base;
}

const char *trace_requests_provenance(const struct trace_requests *r)
{
    return trace_provenance(r->reader);
}

int trace_requests_end(const struct trace_requests *r, struct err *e)
{
    if (r->cut < 0)
        *e = r->cut_err;
    return r->cut;
}
