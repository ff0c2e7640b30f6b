/* Reads the lines of Dynamo's request traces to the values that dynamo.c uses. The scan is kept
 * fast: it walks over a line once, looks only at what is used, and checks the grammar of the rest.
 */
#include "kvgen/record/dynamo_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/record/json_fields.h"
#include "kvgen/record/same.h"
#include "kvgen/scan.h"
#include "lib/base/memory.h"

enum {
    DEPTH = 16,      /* of a line that is scanned */
    MOST = 1 << 20,  /* hashes of a line that is scanned */
    FIRST_ROOM = 256 /* hashes */
};

/* The objects whose members are used, and others. */
enum place {
    ELSEWHERE, /* only names are checked, to count unknown ones */
    UNSEEN,    /* nothing is checked */
    LINE,      /* has the record as its event, or is the record */
    RECORD,
    IN_CONTEXT,
    IN_REQUEST,
    IN_REPLAY
};

/* Members of a record, of all versions, in the order in which Dynamo writes them. in: the object
 * that has the member; to: the value that it becomes, or the object that it opens. */
static const struct member {
    struct json_field known;
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
} members[] = {{JSON_WALKED("timestamp"), ELSEWHERE, UNUSED, 0},
               {JSON_WALKED("event"), LINE, TO_OBJECT, RECORD},
               {JSON_WALKED("schema"), RECORD, TO_TEXT, DYNAMO_SCHEMA},
               {JSON_WALKED("event_type"), RECORD, TO_TEXT, DYNAMO_TYPE},
               {JSON_WALKED("event_time_unix_ms"), ELSEWHERE, UNUSED, 0},
               {JSON_WALKED("event_source"), ELSEWHERE, UNUSED, 0},
               {JSON_WALKED("agent_context"), RECORD, TO_OBJECT, IN_CONTEXT},
               {JSON_WALKED("session_id"), IN_CONTEXT, TO_TEXT, DYNAMO_SESSION},
               {JSON_WALKED("parent_session_id"), ELSEWHERE, UNUSED, 0},
               {JSON_WALKED("session_final"), ELSEWHERE, UNUSED, 0},
               {JSON_WALKED("input_trigger"), ELSEWHERE, UNUSED, 0},
               {JSON_WHOLE("agent_headers"), ELSEWHERE, UNUSED, 0},
               {JSON_WALKED("request"), RECORD, TO_OBJECT, IN_REQUEST},
               {JSON_WALKED("request_id"), ELSEWHERE, UNUSED, 0},
               {JSON_WALKED("x_request_id"), ELSEWHERE, UNUSED, 0},
               {JSON_WALKED("model"), ELSEWHERE, UNUSED, 0},
               {JSON_WALKED("input_tokens"), IN_REQUEST, TO_COUNT, DYNAMO_INPUT_TOKENS},
               {JSON_WALKED("output_tokens"), IN_REQUEST, TO_COUNT, DYNAMO_OUTPUT_TOKENS},
               {JSON_WALKED("cached_tokens"), IN_REQUEST, TO_COUNT, DYNAMO_CACHED_TOKENS},
               {JSON_WALKED("request_received_ms"), IN_REQUEST, TO_COUNT, DYNAMO_RECEIVED_MS},
               {JSON_WALKED("prefill_wait_time_ms"), IN_REQUEST, TO_TIME, DYNAMO_WAIT_MS},
               {JSON_WALKED("prefill_time_ms"), ELSEWHERE, UNUSED, 0},
               {JSON_WALKED("ttft_ms"), IN_REQUEST, TO_TIME, DYNAMO_FIRST_TOKEN_MS},
               {JSON_WALKED("total_time_ms"), IN_REQUEST, TO_TIME, DYNAMO_TOTAL_MS},
               {JSON_WALKED("avg_itl_ms"), ELSEWHERE, UNUSED, 0},
               {JSON_WALKED("kv_hit_rate"), ELSEWHERE, UNUSED, 0},
               {JSON_WALKED("kv_transfer_estimated_latency_ms"), ELSEWHERE, UNUSED, 0},
               {JSON_WALKED("queue_depth"), ELSEWHERE, UNUSED, 0},
               {JSON_WALKED("worker"), ELSEWHERE, UNUSED, 0},
               {JSON_WALKED("prefill_worker_id"), ELSEWHERE, UNUSED, 0},
               {JSON_WALKED("prefill_dp_rank"), ELSEWHERE, UNUSED, 0},
               {JSON_WALKED("decode_worker_id"), ELSEWHERE, UNUSED, 0},
               {JSON_WALKED("decode_dp_rank"), ELSEWHERE, UNUSED, 0},
               {JSON_WALKED("replay"), IN_REQUEST, TO_OBJECT, IN_REPLAY},
               {JSON_WALKED("trace_block_size"), IN_REPLAY, TO_COUNT, DYNAMO_BLOCK_TOKENS},
               {JSON_WALKED("input_length"), IN_REPLAY, TO_COUNT, DYNAMO_INPUT_LENGTH},
               {JSON_WHOLE("input_sequence_hashes"), IN_REPLAY, TO_HASHES, 0},
               {JSON_WHOLE("finish_reason_metadata"), ELSEWHERE, UNUSED, 0},
               {JSON_WHOLE("tool"), ELSEWHERE, UNUSED, 0},
               {JSON_WHOLE("payload"), ELSEWHERE, UNUSED, 0}};
enum {
    NAMES = sizeof(members) / sizeof(*members)
};
static const struct json_fields known_fields = {&members[0].known, NAMES, sizeof(*members)};

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
    if (memory_resize(&l->hash, cap, sizeof(*l->hash)) < 0)
        return -ENOMEM;
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
        const struct member *u = &members[i];
        const struct jsonin_v *v =
            u->as > TO_OBJECT ? jsonin_get(object[u->in], members[i].known.name) : NULL;
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

/* The functions that take something return false where the line is left to the tree; out_of_memory
 * tells that from the end of memory. */
struct line {
    struct scan scan;
    struct dynamo_line *values;
    uint64_t seen;      /* names of used members that came, as bits */
    bool bare, wrapped; /* the line is a record; has one as its event */
    bool out_of_memory;
};
_Static_assert((int)NAMES < (int)DYNAMO_LINE_NAMES && DYNAMO_LINE_NAMES <= 64,
               "a bit for each name");

static bool take_text(struct scan *s, struct dynamo_text *text)
{
    return scan_text(s, &text->p, &text->len);
}

static bool skip_digits(struct scan *s)
{
    uint64_t n = 0;
    if (!scan_is_digit(s))
        return false;
    while (scan_add_digits(s, SCAN_DIGITS, &n) > 0)
        ;
    return true;
}

/* Skips a fraction and an exponent, which may follow the whole part of a number. */
static bool skip_fraction(struct scan *s)
{
    if (scan_peek(s) == '.') {
        s->at++;
        if (!skip_digits(s))
            return false;
    }
    if (scan_peek(s) == 'e' || scan_peek(s) == 'E') {
        s->at++;
        s->at += scan_peek(s) == '-' || scan_peek(s) == '+';
        return skip_digits(s);
    }
    return true;
}

static bool skip_number(struct scan *s)
{
    s->at += scan_peek(s) == '-';
    bool zero = scan_peek(s) == '0';
    const char *first = s->at;
    return skip_digits(s) && !(zero && s->at - first > 1) && skip_fraction(s);
}

static bool ends_number(const struct scan *s)
{
    char c = scan_peek(s);
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
    struct scan_number n;
    if (!scan_number(s, &n) || n.decimals > 0 || !ends_number(s))
        return false;
    c->there = c->whole = true;
    c->n = n.minus ? -(int64_t)n.digits : (int64_t)n.digits;
    return true;
}

/* Something that ends a number follows in the line, so strtod ends before the line does. */
static bool take_time(struct scan *s, struct dynamo_time *t)
{
    const char *first = s->at;
    struct scan_number n;
    t->number = true;
    if (scan_number(s, &n) && scan_double(&n, &t->ms) && ends_number(s))
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
    struct scan_number n;
    if (scan_peek(s) != '-')
        return scan_u64(s, hash) && ends_number(s);
    if (!scan_number(s, &n) || n.decimals > 0)
        return false;
    *hash = 0 - n.digits;
    return ends_number(s);
}

static bool take_hashes(struct line *l)
{
    struct dynamo_line *to = l->values;
    to->hashes_are = DYNAMO_HASHES_LIST;
    if (!scan_take(&l->scan, '['))
        return false;
    if (scan_take(&l->scan, ']'))
        return true;
    do {
        if (to->hashes == MOST)
            return false;
        if (to->hashes == to->hashes_cap && grow(to, to->hashes_cap * 2 + FIRST_ROOM) < 0) {
            l->out_of_memory = true;
            return false;
        }
        scan_space(&l->scan);
        if (!take_hash(&l->scan, &to->hash[to->hashes]))
            return false;
        to->hashes++;
    } while (scan_take(&l->scan, ','));
    return scan_take(&l->scan, ']');
}

static bool take_object(struct line *l, unsigned name, enum place place, unsigned depth);

/* Any value of a member. Recursion is as deep as DEPTH. */
static bool take_value(struct line *l, unsigned name, enum place place, unsigned depth)
{
    struct dynamo_text text;
    switch (scan_space(&l->scan)) {
    case '"':
        return take_text(&l->scan, &text);
    case '{':
        return take_object(l, name, place, depth);
    case '[':
        l->scan.at++;
        if (scan_take(&l->scan, ']'))
            return true;
        do {
            if (depth == DEPTH || !take_value(l, name, place, depth + 1))
                return false;
        } while (scan_take(&l->scan, ','));
        return scan_take(&l->scan, ']');
    case 'n':
        return take_word(&l->scan, "null");
    case 't':
        return take_word(&l->scan, "true");
    case 'f':
        return take_word(&l->scan, "false");
    default:
        return skip_number(&l->scan);
    }
}

static bool is_end(const struct dynamo_line *l)
{
    static const char end[] = "request_end";
    const struct dynamo_text *type = &l->text[DYNAMO_TYPE];
    return type->len == sizeof(end) - 1 && same(type->p, end, sizeof(end) - 1);
}

/* The value of a member that is used. A null is as if it were missing. */
static bool take_used(struct line *l, unsigned name, unsigned depth)
{
    const struct member *u = &members[name];
    if (l->seen & UINT64_C(1) << name)
        return false;
    l->seen |= UINT64_C(1) << name;
    char c = scan_space(&l->scan);
    if (c == 'n')
        return take_word(&l->scan, "null");
    switch (u->as) {
    case TO_OBJECT:
        l->wrapped |= u->to == RECORD;
        return c == '{' && take_object(l, name, (enum place)u->to, depth);
    case TO_TEXT:
        return c == '"' && take_text(&l->scan, &l->values->text[u->to]) &&
               (u->to != DYNAMO_TYPE || is_end(l->values));
    case TO_COUNT:
        return take_count(&l->scan, &l->values->count[u->to]);
    case TO_TIME:
        return take_time(&l->scan, &l->values->time[u->to]);
    default:
        return take_hashes(l);
    }
}

/* Takes the name of a member, at its first quote: its place in the table; NAMES: it is not there.
 * *expected: the name that came here in the line before. */
static bool take_name(struct line *l, uint8_t *expected, unsigned *name)
{
    const uint8_t *length = l->values->name_length;
    size_t len = length[*expected];
    struct dynamo_text other;
    if ((size_t)(l->scan.end - l->scan.at) > len + 1 && l->scan.at[len + 1] == '"' &&
        same(l->scan.at + 1, members[*expected].known.name, len)) {
        l->scan.at += len + 2;
        *name = *expected;
        return true;
    }
    if (!take_text(&l->scan, &other))
        return false;
    for (*name = 0; *name < NAMES; ++*name)
        if (length[*name] == other.len && same(members[*name].known.name, other.p, other.len)) {
            *expected = (uint8_t)*name;
            break;
        }
    return true;
}

/* The member behind its name; NAMES: the name is not known. */
static bool take_member(struct line *l, unsigned name, enum place place, unsigned depth)
{
    if (name == NAMES) {
        l->values->unknown_fields += place != UNSEEN;
        return take_value(l, NAMES, UNSEEN, depth);
    }
    const struct member *u = &members[name];
    bool bare = place == LINE && u->in == RECORD;
    l->bare |= bare;
    if (u->as != UNUSED && (u->in == place || bare))
        return take_used(l, name, depth);
    return take_value(l, name, members[name].known.how == JSON_FIELD_WHOLE ? UNSEEN : ELSEWHERE,
                      depth);
}

/* The object of this name, at its bracket. */
static bool take_object(struct line *l, unsigned object, enum place place, unsigned depth)
{
    uint8_t *expected = &l->values->first_name[object];
    l->scan.at++;
    if (scan_take(&l->scan, '}'))
        return true;
    do {
        struct dynamo_text text;
        unsigned name = NAMES;
        if (depth == DEPTH || scan_space(&l->scan) != '"' ||
            !(place == UNSEEN ? take_text(&l->scan, &text) : take_name(l, expected, &name)) ||
            !scan_take(&l->scan, ':') || !take_member(l, name, place, depth + 1))
            return false;
        if (name < NAMES)
            expected = &l->values->next_name[name];
    } while (scan_take(&l->scan, ','));
    return scan_take(&l->scan, '}');
}

int dynamo_line_scan(struct dynamo_line *l, const char *text, size_t len)
{
    struct line line = {.scan = {text, text + len}, .values = l};
    for (unsigned i = 0; l->name_length[0] == 0 && i < NAMES; i++)
        l->name_length[NAMES - 1 - i] = (uint8_t)strlen(members[NAMES - 1 - i].known.name);
    clear(l);
    bool ok = scan_space(&line.scan) == '{' && take_object(&line, NAMES, LINE, 0);
    scan_space(&line.scan);
    if (ok && line.scan.at == line.scan.end && !(line.bare && line.wrapped) && is_end(l))
        return 1;
    return line.out_of_memory ? -ENOMEM : 0;
}
