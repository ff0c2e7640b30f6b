/* Reads the lines of Dynamo's request traces to the values that dynamo.c uses. The scan is kept
 * fast: it walks over a line once, looks only at what is used, and checks the grammar of the rest.
 */
#include "kvgen/record/dynamo_line.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/record/json_fields.h"
#include "kvgen/record/same.h"

enum {
    DEPTH = 16,      /* of a line that is scanned */
    WHOLE = 18,      /* digits that always fit an int64_t */
    ID = 19,         /* digits that always fit a uint64_t; one digit more may fit */
    MOST = 1 << 20,  /* hashes of a line that is scanned */
    FIRST_ROOM = 256 /* hashes */
};

/* Members of a record, of all versions, in the order in which Dynamo writes them. */
enum name {
    TIMESTAMP,
    EVENT,
    SCHEMA,
    EVENT_TYPE,
    EVENT_TIME,
    EVENT_SOURCE,
    AGENT_CONTEXT,
    SESSION_ID,
    PARENT_SESSION_ID,
    SESSION_FINAL,
    INPUT_TRIGGER,
    AGENT_HEADERS,
    REQUEST,
    REQUEST_ID,
    X_REQUEST_ID,
    MODEL,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    CACHED_TOKENS,
    RECEIVED_MS,
    WAIT_MS,
    PREFILL_MS,
    FIRST_TOKEN_MS,
    TOTAL_MS,
    BETWEEN_TOKENS_MS,
    HIT_RATE,
    TRANSFER_MS,
    QUEUE_DEPTH,
    WORKER,
    PREFILL_WORKER,
    PREFILL_RANK,
    DECODE_WORKER,
    DECODE_RANK,
    REPLAY,
    BLOCK_SIZE,
    INPUT_LENGTH,
    HASHES,
    FINISH_REASON,
    TOOL,
    PAYLOAD,
    NAMES
};
static const struct json_field fields[NAMES] = {
    [TIMESTAMP] = {"timestamp", JSON_FIELD_WALKED},
    [EVENT] = {"event", JSON_FIELD_WALKED},
    [SCHEMA] = {"schema", JSON_FIELD_WALKED},
    [EVENT_TYPE] = {"event_type", JSON_FIELD_WALKED},
    [EVENT_TIME] = {"event_time_unix_ms", JSON_FIELD_WALKED},
    [EVENT_SOURCE] = {"event_source", JSON_FIELD_WALKED},
    [AGENT_CONTEXT] = {"agent_context", JSON_FIELD_WALKED},
    [SESSION_ID] = {"session_id", JSON_FIELD_WALKED},
    [PARENT_SESSION_ID] = {"parent_session_id", JSON_FIELD_WALKED},
    [SESSION_FINAL] = {"session_final", JSON_FIELD_WALKED},
    [INPUT_TRIGGER] = {"input_trigger", JSON_FIELD_WALKED},
    [AGENT_HEADERS] = {"agent_headers", JSON_FIELD_WHOLE},
    [REQUEST] = {"request", JSON_FIELD_WALKED},
    [REQUEST_ID] = {"request_id", JSON_FIELD_WALKED},
    [X_REQUEST_ID] = {"x_request_id", JSON_FIELD_WALKED},
    [MODEL] = {"model", JSON_FIELD_WALKED},
    [INPUT_TOKENS] = {"input_tokens", JSON_FIELD_WALKED},
    [OUTPUT_TOKENS] = {"output_tokens", JSON_FIELD_WALKED},
    [CACHED_TOKENS] = {"cached_tokens", JSON_FIELD_WALKED},
    [RECEIVED_MS] = {"request_received_ms", JSON_FIELD_WALKED},
    [WAIT_MS] = {"prefill_wait_time_ms", JSON_FIELD_WALKED},
    [PREFILL_MS] = {"prefill_time_ms", JSON_FIELD_WALKED},
    [FIRST_TOKEN_MS] = {"ttft_ms", JSON_FIELD_WALKED},
    [TOTAL_MS] = {"total_time_ms", JSON_FIELD_WALKED},
    [BETWEEN_TOKENS_MS] = {"avg_itl_ms", JSON_FIELD_WALKED},
    [HIT_RATE] = {"kv_hit_rate", JSON_FIELD_WALKED},
    [TRANSFER_MS] = {"kv_transfer_estimated_latency_ms", JSON_FIELD_WALKED},
    [QUEUE_DEPTH] = {"queue_depth", JSON_FIELD_WALKED},
    [WORKER] = {"worker", JSON_FIELD_WALKED},
    [PREFILL_WORKER] = {"prefill_worker_id", JSON_FIELD_WALKED},
    [PREFILL_RANK] = {"prefill_dp_rank", JSON_FIELD_WALKED},
    [DECODE_WORKER] = {"decode_worker_id", JSON_FIELD_WALKED},
    [DECODE_RANK] = {"decode_dp_rank", JSON_FIELD_WALKED},
    [REPLAY] = {"replay", JSON_FIELD_WALKED},
    [BLOCK_SIZE] = {"trace_block_size", JSON_FIELD_WALKED},
    [INPUT_LENGTH] = {"input_length", JSON_FIELD_WALKED},
    [HASHES] = {"input_sequence_hashes", JSON_FIELD_WHOLE},
    [FINISH_REASON] = {"finish_reason_metadata", JSON_FIELD_WHOLE},
    [TOOL] = {"tool", JSON_FIELD_WHOLE},
    [PAYLOAD] = {"payload", JSON_FIELD_WHOLE}};
static const struct json_fields known_fields = {fields, NAMES};

/* The objects whose members are used, and others. */
enum place {
    ELSEWHERE, /* names are looked at, to count those that are not known */
    UNSEEN,    /* nothing is looked at */
    LINE,      /* has the record as its event, or is one itself */
    RECORD,
    IN_CONTEXT,
    IN_REQUEST,
    IN_REPLAY
};

/* What becomes of the members that are used. */
static const struct use {
    enum place in;
    enum {
        UNUSED,
        TO_OBJECT, /* to: its place */
        TO_TEXT,
        TO_COUNT,
        TO_TIME,
        TO_HASHES
    } as;
    unsigned to;
} uses[NAMES] = {
    [EVENT] = {LINE, TO_OBJECT, RECORD},
    [SCHEMA] = {RECORD, TO_TEXT, DYNAMO_SCHEMA},
    [EVENT_TYPE] = {RECORD, TO_TEXT, DYNAMO_TYPE},
    [AGENT_CONTEXT] = {RECORD, TO_OBJECT, IN_CONTEXT},
    [SESSION_ID] = {IN_CONTEXT, TO_TEXT, DYNAMO_SESSION},
    [REQUEST] = {RECORD, TO_OBJECT, IN_REQUEST},
    [INPUT_TOKENS] = {IN_REQUEST, TO_COUNT, DYNAMO_INPUT_TOKENS},
    [OUTPUT_TOKENS] = {IN_REQUEST, TO_COUNT, DYNAMO_OUTPUT_TOKENS},
    [CACHED_TOKENS] = {IN_REQUEST, TO_COUNT, DYNAMO_CACHED_TOKENS},
    [RECEIVED_MS] = {IN_REQUEST, TO_COUNT, DYNAMO_RECEIVED_MS},
    [WAIT_MS] = {IN_REQUEST, TO_TIME, DYNAMO_WAIT_MS},
    [FIRST_TOKEN_MS] = {IN_REQUEST, TO_TIME, DYNAMO_FIRST_TOKEN_MS},
    [TOTAL_MS] = {IN_REQUEST, TO_TIME, DYNAMO_TOTAL_MS},
    [REPLAY] = {IN_REQUEST, TO_OBJECT, IN_REPLAY},
    [BLOCK_SIZE] = {IN_REPLAY, TO_COUNT, DYNAMO_BLOCK_TOKENS},
    [INPUT_LENGTH] = {IN_REPLAY, TO_COUNT, DYNAMO_INPUT_LENGTH},
    [HASHES] = {IN_REPLAY, TO_HASHES, 0},
};

static void clear(struct dynamo_line *l)
{
    memset(l->text, 0, sizeof(l->text));
    memset(l->count, 0, sizeof(l->count));
    memset(l->time, 0, sizeof(l->time));
    l->hashes_are = DYNAMO_HASHES_MISSING;
    l->hashes = 0;
    l->unknown_fields = 0;
}

/* Room for one hash more at least. 0 or -ENOMEM. */
static int grow(struct dynamo_line *l, size_t cap)
{
    uint64_t *hash = realloc(l->hash, cap * sizeof(*hash));
    if (!hash)
        return -ENOMEM;
    l->hash = hash;
    l->hashes_cap = cap;
    return 0;
}

void dynamo_line_free(struct dynamo_line *l)
{
    free(l->hash);
    *l = (struct dynamo_line){0};
}

/* ---- the tree ---- */

static int read_hashes(struct dynamo_line *l, const struct jsonin_v *list)
{
    l->hashes = jsonin_count(list);
    l->hashes_are = !list                    ? DYNAMO_HASHES_MISSING
                    : !jsonin_is_array(list) ? DYNAMO_HASHES_NO_LIST
                                             : DYNAMO_HASHES_LIST;
    if (l->hashes > l->hashes_cap && grow(l, l->hashes) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < l->hashes; i++) {
        const struct jsonin_v *v = jsonin_at(list, i);
        int64_t negative = 0;
        if (jsonin_u64(v, &l->hash[i]) == 0)
            continue;
        if (jsonin_i64(v, &negative) < 0)
            l->hashes_are = DYNAMO_HASHES_NO_NUMBERS;
        l->hash[i] = (uint64_t)negative;
    }
    return 0;
}

int dynamo_line_read(struct dynamo_line *l, const struct jsonin_v *line)
{
    const struct jsonin_v *event = jsonin_get(line, "event"), *record = event ? event : line;
    const struct jsonin_v *object[] = {[RECORD] = record,
                                       [IN_CONTEXT] = jsonin_get(record, "agent_context"),
                                       [IN_REQUEST] = jsonin_get(record, "request"),
                                       [IN_REPLAY] = jsonin_get(record, "request.replay")};
    clear(l);
    l->unknown_fields = json_fields_unknown(&known_fields, line);
    for (unsigned i = 0; i < NAMES; i++) {
        const struct use *u = &uses[i];
        const struct jsonin_v *v =
            u->as > TO_OBJECT ? jsonin_get(object[u->in], fields[i].name) : NULL;
        if (u->as == TO_TEXT) {
            l->text[u->to].p = jsonin_text(v, &l->text[u->to].len);
        } else if (u->as == TO_COUNT) {
            struct dynamo_count *c = &l->count[u->to];
            c->there = v != NULL;
            c->whole = jsonin_i64(v, &c->n) == 0;
        } else if (u->as == TO_TIME) {
            l->time[u->to].number = jsonin_f64(v, &l->time[u->to].ms) == 0;
        } else if (u->as == TO_HASHES && read_hashes(l, v) < 0) {
            return -ENOMEM;
        }
    }
    return 0;
}

/* ---- the scan ---- */

/* What is left of the line. The functions that take something return false where the line is left
 * to the tree; out_of_memory tells that from the end of memory. */
struct scan {
    const char *at, *end;
    struct dynamo_line *l;
    uint64_t seen;      /* names of used members that came, as bits */
    bool bare, wrapped; /* the line is a record; has one as its event */
    bool out_of_memory;
};
_Static_assert((int)NAMES < (int)DYNAMO_LINE_NAMES && DYNAMO_LINE_NAMES <= 64,
               "a bit for each name");

static inline char peek(const struct scan *s)
{
    return s->at < s->end ? *s->at : '\0';
}

static inline char after_space(struct scan *s)
{
    char c;
    while ((c = peek(s)) == ' ' || c == '\t' || c == '\r' || c == '\n')
        s->at++;
    return c;
}

static inline bool take(struct scan *s, char c)
{
    bool is = after_space(s) == c;
    s->at += is;
    return is;
}

/* Eight digits at once; false: they are not all digits. Neighbours are added up in pairs. */
static inline bool eight_digits(const char *p, uint64_t *n)
{
    const uint64_t sixes = UINT64_C(0x0606060606060606), highs = UINT64_C(0xf0f0f0f0f0f0f0f0);
    const uint64_t zeros = UINT64_C(0x3030303030303030);
    uint64_t x;
    memcpy(&x, p, sizeof(x));
    x = le64toh(x);
    if ((x & highs) != zeros || ((x + sixes) & highs) != zeros)
        return false;
    x -= zeros;
    x = (x * 10 + (x >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
    x = (x * 100 + (x >> 16)) & UINT64_C(0x0000ffff0000ffff);
    *n = *n * 100000000 + (x & 0xffff) * 10000 + (x >> 32);
    return true;
}

static inline bool is_digit(const struct scan *s)
{
    return (unsigned)(unsigned char)peek(s) - '0' <= 9;
}

/* A text, at its first quote: plain ASCII without escapes. Eight bytes at once: the top bit of a
 * byte is set if it is beyond ASCII, below a blank, a quote or a backslash. A borrow goes upwards
 * only, so the lowest bit that is set is right. */
static bool take_text(struct scan *s, struct dynamo_text *text)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    const char *p = ++s->at;
    uint64_t x, special = 0;
    while (s->end - p >= 8) {
        memcpy(&x, p, sizeof(x));
        x = le64toh(x);
        special =
            (x | (x - ones * ' ') | ((x ^ ones * '"') - ones) | ((x ^ ones * '\\') - ones)) & tops;
        if (special)
            break;
        p += 8;
    }
    if (special)
        p += __builtin_ctzll(special) / 8;
    else
        while (p < s->end && (signed char)*p >= ' ' && *p != '"' && *p != '\\')
            p++;
    *text = (struct dynamo_text){s->at, (size_t)(p - s->at)};
    s->at = p;
    if (peek(s) != '"')
        return false;
    s->at++;
    return true;
}

/* Adds at most max digits to *n, and returns how many there were. */
static inline int add_digits(struct scan *s, int max, uint64_t *n)
{
    int count = 0;
    for (; count + 8 <= max && s->end - s->at >= 8 && eight_digits(s->at, n); count += 8)
        s->at += 8;
    for (; count < max && is_digit(s); count++, s->at++)
        *n = *n * 10 + (unsigned)(*s->at - '0');
    return count;
}

/* The same; 0 also for a needless zero in front. */
static int take_digits(struct scan *s, int max, uint64_t *n)
{
    const char *first = s->at;
    int count = add_digits(s, max, n);
    return count > 1 && *first == '0' ? 0 : count;
}

static bool skip_digits(struct scan *s)
{
    uint64_t n = 0;
    if (!is_digit(s))
        return false;
    while (s->end - s->at >= 8 && eight_digits(s->at, &n))
        s->at += 8;
    while (is_digit(s))
        s->at++;
    return true;
}

/* What may follow the whole part of a number. */
static bool skip_fraction(struct scan *s)
{
    if (peek(s) == '.') {
        s->at++;
        if (!skip_digits(s))
            return false;
    }
    if (peek(s) == 'e' || peek(s) == 'E') {
        s->at++;
        s->at += peek(s) == '-' || peek(s) == '+';
        return skip_digits(s);
    }
    return true;
}

static bool skip_number(struct scan *s)
{
    s->at += peek(s) == '-';
    bool zero = peek(s) == '0';
    const char *first = s->at;
    return skip_digits(s) && !(zero && s->at - first > 1) && skip_fraction(s);
}

static bool ends_number(const struct scan *s)
{
    char c = peek(s);
    return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\r' || c == '\n' || c == '\t';
}

static bool take_word(struct scan *s, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(s->end - s->at) < len || memcmp(s->at, word, len) != 0)
        return false;
    s->at += len;
    return true;
}

static bool take_count(struct scan *s, struct dynamo_count *c)
{
    uint64_t n = 0;
    bool minus = peek(s) == '-';
    s->at += minus;
    if (take_digits(s, WHOLE, &n) == 0 || !ends_number(s))
        return false;
    c->there = c->whole = true;
    c->n = minus ? -(int64_t)n : (int64_t)n;
    return true;
}

/* A decimal fraction of so few digits that its digits and the power of ten are exact in a double,
 * so that it is rounded once, as strtod does (Clinger, "How to read floating point numbers
 * accurately", PLDI 1990). */
static bool take_short_fraction(struct scan *s, double *out)
{
    static const double power[WHOLE + 1] = {1,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,
                                            1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13,
                                            1e14, 1e15, 1e16, 1e17, 1e18};
    uint64_t n = 0;
    int decimals = 0, whole = take_digits(s, WHOLE, &n);
    if (whole > 0 && peek(s) == '.') {
        s->at++;
        decimals = add_digits(s, WHOLE - whole, &n);
        if (decimals == 0)
            return false;
    }
    *out = (double)n / power[decimals];
    return whole > 0 && n <= UINT64_C(1) << 53 && ends_number(s);
}

/* Something that ends a number follows in the line, so strtod ends before the line does. */
static bool take_time(struct scan *s, struct dynamo_time *t)
{
    const char *first = s->at;
    t->number = true;
    if (take_short_fraction(s, &t->ms))
        return true;
    s->at = first;
    if (!skip_number(s) || !ends_number(s))
        return false;
    t->ms = strtod(first, NULL);
    return t->ms < 1e300 && t->ms > -1e300;
}

/* A whole number of 64 bits, with or without a sign. */
static bool take_hash(struct scan *s, uint64_t *hash)
{
    uint64_t n = 0;
    bool minus = peek(s) == '-';
    s->at += minus;
    int count = take_digits(s, minus ? WHOLE : ID, &n);
    if (count == 0)
        return false;
    if (count == ID && is_digit(s)) {
        if (__builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(*s->at - '0'), &n))
            return false;
        s->at++;
    }
    *hash = minus ? 0 - n : n;
    return ends_number(s);
}

static bool take_hashes(struct scan *s)
{
    struct dynamo_line *l = s->l;
    l->hashes_are = DYNAMO_HASHES_LIST;
    if (!take(s, '['))
        return false;
    if (take(s, ']'))
        return true;
    do {
        if (l->hashes == MOST)
            return false;
        if (l->hashes == l->hashes_cap && grow(l, l->hashes_cap * 2 + FIRST_ROOM) < 0) {
            s->out_of_memory = true;
            return false;
        }
        after_space(s);
        if (!take_hash(s, &l->hash[l->hashes]))
            return false;
        l->hashes++;
    } while (take(s, ','));
    return take(s, ']');
}

static bool take_object(struct scan *s, enum name name, enum place place, unsigned depth);

/* Any value of a member. Recursion is as deep as DEPTH. */
static bool take_value(struct scan *s, enum name name, enum place place, unsigned depth)
{
    struct dynamo_text text;
    switch (after_space(s)) {
    case '"':
        return take_text(s, &text);
    case '{':
        return take_object(s, name, place, depth);
    case '[':
        s->at++;
        if (take(s, ']'))
            return true;
        do {
            if (depth == DEPTH || !take_value(s, name, place, depth + 1))
                return false;
        } while (take(s, ','));
        return take(s, ']');
    case 'n':
        return take_word(s, "null");
    case 't':
        return take_word(s, "true");
    case 'f':
        return take_word(s, "false");
    default:
        return skip_number(s);
    }
}

static bool is_end(const struct dynamo_line *l)
{
    static const char end[] = "request_end";
    const struct dynamo_text *type = &l->text[DYNAMO_TYPE];
    return type->len == sizeof(end) - 1 && same(type->p, end, sizeof(end) - 1);
}

/* The value of a member that is used. A null is as if it were missing. */
static bool take_used(struct scan *s, enum name name, unsigned depth)
{
    const struct use *u = &uses[name];
    if (s->seen & UINT64_C(1) << name)
        return false;
    s->seen |= UINT64_C(1) << name;
    char c = after_space(s);
    if (c == 'n')
        return take_word(s, "null");
    switch (u->as) {
    case TO_OBJECT:
        s->wrapped |= name == EVENT;
        return c == '{' && take_object(s, name, (enum place)u->to, depth);
    case TO_TEXT:
        return c == '"' && take_text(s, &s->l->text[u->to]) && (name != EVENT_TYPE || is_end(s->l));
    case TO_COUNT:
        return take_count(s, &s->l->count[u->to]);
    case TO_TIME:
        return take_time(s, &s->l->time[u->to]);
    default:
        return take_hashes(s);
    }
}

/* Takes the name of a member, at its first quote: its place in the table; NAMES: it is not there.
 * *expected: the name that came here in the line before. */
static bool take_name(struct scan *s, uint8_t *expected, unsigned *name)
{
    const uint8_t *length = s->l->name_length;
    size_t len = length[*expected];
    struct dynamo_text other;
    if ((size_t)(s->end - s->at) > len + 1 && s->at[len + 1] == '"' &&
        same(s->at + 1, fields[*expected].name, len)) {
        s->at += len + 2;
        *name = *expected;
        return true;
    }
    if (!take_text(s, &other))
        return false;
    for (*name = 0; *name < NAMES; ++*name)
        if (length[*name] == other.len && same(fields[*name].name, other.p, other.len)) {
            *expected = (uint8_t)*name;
            break;
        }
    return true;
}

/* The member behind its name; NAMES: the name is not known. */
static bool take_member(struct scan *s, unsigned name, enum place place, unsigned depth)
{
    if (name == NAMES) {
        s->l->unknown_fields += place != UNSEEN;
        return take_value(s, NAMES, UNSEEN, depth);
    }
    const struct use *u = &uses[name];
    bool bare = place == LINE && u->in == RECORD;
    s->bare |= bare;
    if (u->as != UNUSED && (u->in == place || bare))
        return take_used(s, (enum name)name, depth);
    return take_value(s, (enum name)name, fields[name].how == JSON_FIELD_WHOLE ? UNSEEN : ELSEWHERE,
                      depth);
}

/* The object of this name, at its bracket. */
static bool take_object(struct scan *s, enum name object, enum place place, unsigned depth)
{
    uint8_t *expected = &s->l->first_name[object];
    s->at++;
    if (take(s, '}'))
        return true;
    do {
        struct dynamo_text text;
        unsigned name = NAMES;
        if (depth == DEPTH || after_space(s) != '"' ||
            !(place == UNSEEN ? take_text(s, &text) : take_name(s, expected, &name)) ||
            !take(s, ':') || !take_member(s, name, place, depth + 1))
            return false;
        if (name < NAMES)
            expected = &s->l->next_name[name];
    } while (take(s, ','));
    return take(s, '}');
}

int dynamo_line_scan(struct dynamo_line *l, const char *text, size_t len)
{
    struct scan s = {.at = text, .end = text + len, .l = l};
    for (unsigned i = 0; l->name_length[0] == 0 && i < NAMES; i++)
        l->name_length[NAMES - 1 - i] = (uint8_t)strlen(fields[NAMES - 1 - i].name);
    clear(l);
    bool ok = after_space(&s) == '{' && take_object(&s, NAMES, LINE, 0);
    after_space(&s);
    if (ok && s.at == s.end && !(s.bare && s.wrapped) && is_end(l))
        return 1;
    return s.out_of_memory ? -ENOMEM : 0;
}
