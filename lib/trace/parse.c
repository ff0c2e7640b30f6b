/* From fields to the trace record: the inner loop of the reader. Numbers are read eight digits at a
 * time, words by a perfect hash; what these do not take goes to units.c, which decides. csv_scan.c
 * has found the fields. */
#include "lib/trace/parse.h"
#include "lib/trace/shape.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/trace/csv_scan.h"

#define BYTES(b)    (UINT64_C(0x0101010101010101) * (b))
#define BAD_TIME    "is not a time in seconds with at most 9 decimals"
#define BAD_LENGTH  "is not a duration in microseconds with at most 3 decimals"
#define BAD_DECIMAL "is not a decimal number that fits"

static const int64_t pow10_table[] = {1,      10,      100,      1000,      10000,
                                      100000, 1000000, 10000000, 100000000, 1000000000};

/* ---- words ---- */

TRACE_INLINE uint64_t load_le64(const char *p)
{
    uint64_t x;
    memcpy(&x, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

/* The first len bytes (at most 8) at p, zeros above. */
TRACE_INLINE uint64_t load_part(const char *p, size_t len)
{
    uint64_t x = load_le64(p);
    return len >= 8 ? x : x & ((UINT64_C(1) << 8 * len) - 1);
}

/* The value of the word p[0..len), or TRACE_BAD_WORD. */
TRACE_INLINE uint8_t word_find(const struct trace_words *w, const char *p, size_t len)
{
    if (len > 16)
        return TRACE_BAD_WORD;
    uint64_t lo = load_part(p, len), hi = len > 8 ? load_part(p + 8, len - 8) : 0;
    unsigned s = trace_word_slot(w, lo);
    return w->text[s][0] == lo && w->text[s][1] == hi ? w->value[s] : TRACE_BAD_WORD;
}

/* Looks for a factor that gives each of the count words a slot of its own. A dozen words in 32
 * slots find one soon. */
static void words_init(struct trace_words *w, const struct trace_word *words, unsigned count)
{
    bool again = true;

    w->factor = UINT64_C(0x9E3779B97F4A7C15);
    while (again) {
        memset(w->text, 0, sizeof(w->text));
        memset(w->value, TRACE_BAD_WORD, sizeof(w->value));
        again = false;
        for (unsigned i = 0; i < count && !again; i++) {
            char word[16] = {0};
            memcpy(word, words[i].text, words[i].len);
            uint64_t lo = load_le64(word), hi = load_le64(word + 8);
            unsigned slot = trace_word_slot(w, lo);
            again = w->value[slot] != TRACE_BAD_WORD;
            w->text[slot][0] = lo;
            w->text[slot][1] = hi;
            w->value[slot] = (uint8_t)i;
        }
        if (again)
            w->factor = w->factor * UINT64_C(6364136223846793005) + 1442695040888963407u;
    }
}

/* ---- numbers ---- */

/* Reads the number in the first len (1..8) bytes at p, eight digits in parallel: pairs, then fours,
 * then eight. */
TRACE_INLINE bool digits_8(const char *p, size_t len, uint64_t *out)
{
    uint64_t x = load_le64(p) << (64 - 8 * len);
    x |= (BYTES(0x30) >> 4 * len) >>
         4 * len; /* leading zeros; in two steps, since a shift by 64 is undefined */
    bool ok = (((x + BYTES(0x46)) | (x - BYTES(0x30))) & BYTES(0x80)) == 0;
    x = (x & BYTES(0x0f)) * 2561 >> 8;
    x = (x & UINT64_C(0x00ff00ff00ff00ff)) * 6553601 >> 16;
    *out = (x & UINT64_C(0x0000ffff0000ffff)) * UINT64_C(42949672960001) >> 32;
    return ok;
}

TRACE_INLINE bool parse_u64(const char *p, size_t len, uint64_t *out)
{
    uint64_t high, low = 0;
    if (__builtin_expect(len - 1 < 8, 1))
        return digits_8(p, len, out);
    if (len - 9 < 8) {
        bool ok = digits_8(p, len - 8, &high) && digits_8(p + len - 8, 8, &low);
        *out = high * 100000000 + low;
        return ok;
    }
    return units_parse_digits(p, len, out) == 0;
}

/* Reads the digits before the point, at most 10. */
TRACE_INLINE bool parse_whole(const char *p, size_t len, uint64_t *out)
{
    if (__builtin_expect(len <= 8, 1))
        return digits_8(p, len, out);
    uint64_t low = 0;
    bool ok = digits_8(p, len - 8, out) && digits_8(p + len - 8, 8, &low);
    *out = *out * 100000000 + low;
    return ok;
}

TRACE_INLINE size_t find_point(const char *p, size_t len)
{
    for (size_t i = 0; i < len; i += 8) {
        uint64_t x = load_le64(p + i) ^ BYTES('.');
        uint64_t zero = (x - BYTES(1)) & ~x & BYTES(0x80);
        if (zero) {
            i += (unsigned)__builtin_ctzll(zero) >> 3;
            return i < len ? i : len;
        }
    }
    return len;
}

/* Reads up to scale digits behind the point, as an integer of scale digits. */
TRACE_INLINE bool parse_fraction(const char *p, size_t len, unsigned scale, uint64_t *out)
{
    if (__builtin_expect(len <= 8, 1)) {
        bool ok = digits_8(p, len, out);
        *out *= (uint64_t)pow10_table[scale - len];
        return ok;
    }
    unsigned ninth = (unsigned)(unsigned char)p[8] - '0';
    bool ok = digits_8(p, 8, out) & (ninth <= 9);
    *out = *out * 10 + ninth;
    return ok;
}

/* As units_parse_decimal. */
TRACE_INLINE bool parse_decimal(const char *p, size_t len, unsigned scale, int64_t *out)
{
    if (len - 1 < 20) {
        uint64_t whole, fraction = 0;
        size_t point = find_point(p, len), places = len - point - 1;
        bool ok = point - 1 < 10 && parse_whole(p, point, &whole);
        if (ok && point < len)
            ok = places - 1 < scale && parse_fraction(p + point + 1, places, scale, &fraction);
        if (__builtin_expect(ok && whole < 9000000000u, 1)) {
            *out = (int64_t)whole * pow10_table[scale] + (int64_t)fraction;
            return true;
        }
    }
    return units_parse_decimal(p, len, scale, out) == 0;
}

TRACE_INLINE bool parse_decimal_or_none(const char *p, size_t len, unsigned scale, int64_t *out)
{
    *out = TRACE_NONE;
    return len == 0 || parse_decimal(p, len, scale, out);
}

TRACE_INLINE bool parse_i64_or_none(const char *p, size_t len, int64_t *out)
{
    uint64_t v;
    *out = TRACE_NONE;
    if (len == 0)
        return true;
    bool ok = parse_u64(p, len, &v) && v <= INT64_MAX;
    *out = ok ? (int64_t)v : TRACE_NONE;
    return ok;
}

TRACE_INLINE bool parse_engine(const char *p, size_t len, int32_t *out)
{
    int64_t v;
    bool ok = parse_i64_or_none(p, len, &v) && v <= INT32_MAX;
    *out = ok && v >= 0 ? (int32_t)v : -1;
    return ok;
}

TRACE_INLINE bool parse_status(const char *p, size_t len, int32_t *out)
{
    if (__builtin_expect(len == 2 && p[0] == 'o' && p[1] == 'k', 1)) {
        *out = TRACE_OK;
        return true;
    }
    int status;
    if (trace_status_parse(p, len, &status))
        return false;
    *out = status;
    return true;
}

/* ---- rows ---- */

TRACE_INLINE bool parse_core(const struct trace_layout *l, const struct trace_fields *s,
                             struct trace_row *row)
{
    struct trace_span f = trace_field(s, l->at[TRACE_COL_TIMESTAMP]);
    bool ok = f.len && parse_decimal(f.p, f.len, 9, &row->time_ns);
    f = trace_field(s, l->at[TRACE_COL_OPERATION]);
    row->op = word_find(&l->op, f.p, f.len);
    f = trace_field(s, l->at[TRACE_COL_SIZE]);
    ok &= f.len && parse_u64(f.p, f.len, &row->size);
    f = trace_field(s, l->at[TRACE_COL_TIER]);
    row->tier = word_find(&l->tier, f.p, f.len);
    row->key = trace_span_str(trace_field(s, l->at[TRACE_COL_KEY]));
    f = trace_field(s, l->at[TRACE_COL_PHASE]);
    row->phase = word_find(&l->phase, f.p, f.len);
    return ok & (row->op < TRACE_OPS) & (row->tier <= TRACE_NO_TIER) &
           (row->phase <= TRACE_NO_PHASE) & trace_core_fits(row);
}

/* A moment may lie before the zero; a length of time may not. */
TRACE_INLINE bool is_length(int64_t ns)
{
    return ns >= 0 || ns == TRACE_NONE;
}

TRACE_INLINE bool parse_extended(const struct trace_layout *l, const struct trace_fields *s,
                                 struct trace_row *row)
{
    struct trace_span f;
    bool ok = true;
    if (l->parsed & TRACE_BIT(TRACE_COL_REQUEST)) {
        f = trace_field(s, l->at[TRACE_COL_REQUEST]);
        ok &= parse_i64_or_none(f.p, f.len, &row->request);
    }
    if (l->parsed & TRACE_BIT(TRACE_COL_USER))
        row->user = trace_span_str(trace_field(s, l->at[TRACE_COL_USER]));
    if (l->parsed & TRACE_BIT(TRACE_COL_QOS)) {
        f = trace_field(s, l->at[TRACE_COL_QOS]);
        row->qos = word_find(&l->qos, f.p, f.len);
        ok &= row->qos != TRACE_BAD_WORD;
    }
    if (l->parsed & TRACE_BIT(TRACE_COL_CLASS)) {
        f = trace_field(s, l->at[TRACE_COL_CLASS]);
        row->class = word_find(&l->class, f.p, f.len);
        ok &= row->class != TRACE_BAD_WORD;
    }
    if (l->parsed & TRACE_BIT(TRACE_COL_TOKENS)) {
        f = trace_field(s, l->at[TRACE_COL_TOKENS]);
        ok &= parse_i64_or_none(f.p, f.len, &row->tokens);
    }
    if (l->parsed & TRACE_BIT(TRACE_COL_ARRIVAL)) {
        f = trace_field(s, l->at[TRACE_COL_ARRIVAL]);
        ok &= parse_decimal_or_none(f.p, f.len, 9, &row->arrival_ns);
    }
    if (l->parsed & TRACE_BIT(TRACE_COL_DURATION)) {
        f = trace_field(s, l->at[TRACE_COL_DURATION]);
        ok &= parse_decimal_or_none(f.p, f.len, 3, &row->duration_ns);
        ok &= is_length(row->duration_ns);
    }
    if (l->parsed & TRACE_BIT(TRACE_COL_ENGINE)) {
        f = trace_field(s, l->at[TRACE_COL_ENGINE]);
        ok &= parse_engine(f.p, f.len, &row->engine);
    }
    return ok;
}

TRACE_INLINE bool parse_result(const struct trace_layout *l, const struct trace_fields *s,
                               struct trace_row *row)
{
    static const uint8_t scale[] = {9, 9, 9, 3, 3};
    int64_t *const slot[] = {&row->due_ns, &row->eligible_ns, &row->start_ns, &row->latency_ns,
                             &row->device_ns};
    bool ok = true;
    for (int i = 0; i < 5; i++) {
        if (!(l->parsed & TRACE_BIT(TRACE_COL_DUE + i)))
            continue;
        struct trace_span f = trace_field(s, l->at[TRACE_COL_DUE + i]);
        ok &= parse_decimal_or_none(f.p, f.len, scale[i], slot[i]);
    }
    ok &= is_length(row->latency_ns);
    ok &= is_length(row->device_ns);
    if (l->parsed & TRACE_BIT(TRACE_COL_STATUS)) {
        struct trace_span f = trace_field(s, l->at[TRACE_COL_STATUS]);
        ok &= parse_status(f.p, f.len, &row->status);
    }
    return ok;
}

/* Parses a length in microseconds, if its column is wanted. */
static bool parse_micros(const struct trace_layout *l, const struct trace_fields *s,
                         enum trace_column c, int64_t *out)
{
    if (!(l->parsed & TRACE_BIT(c)))
        return true;
    struct trace_span f = trace_field(s, l->at[c]);
    return parse_decimal_or_none(f.p, f.len, 3, out) && is_length(*out);
}

static bool parse_extra(const struct trace_layout *l, const struct trace_fields *s,
                        struct trace_extra *x)
{
    bool ok = true;
    ok &= parse_micros(l, s, TRACE_COL_SLOT, &x->slot_ns);
    ok &= parse_micros(l, s, TRACE_COL_FIRST_BYTE, &x->first_byte_ns);
    ok &= parse_micros(l, s, TRACE_COL_QUEUE, &x->queue_ns);
    ok &= parse_micros(l, s, TRACE_COL_DRIVE, &x->drive_ns);
    if (l->parsed & TRACE_BIT(TRACE_COL_RANK)) {
        struct trace_span f = trace_field(s, l->at[TRACE_COL_RANK]);
        ok &= parse_i64_or_none(f.p, f.len, &x->rank);
    }
    if (l->parsed & TRACE_BIT(TRACE_COL_ENDPOINT))
        x->endpoint = trace_span_str(trace_field(s, l->at[TRACE_COL_ENDPOINT]));
    if (l->parsed & TRACE_BIT(TRACE_COL_THREAD))
        x->thread = trace_span_str(trace_field(s, l->at[TRACE_COL_THREAD]));
    return ok;
}

TRACE_INLINE bool parse_row(const struct trace_layout *l, const struct trace_fields *s,
                            struct trace_row *row)
{
    bool ok = parse_core(l, s, row);
    if (l->parsed & (TRACE_EXTENDED | TRACE_SERVED))
        ok &= parse_extended(l, s, row);
    if (l->parsed & TRACE_RESULT)
        ok &= parse_result(l, s, row);
    if (l->parsed & TRACE_EXTRA)
        ok &= parse_extra(l, s, row->extra);
    return ok;
}

bool trace_parse_index(const struct trace_layout *l, const char *text, uint32_t begin,
                       const uint32_t *end, struct trace_row *row)
{
    const struct trace_fields s = {text, begin, end, NULL};
    if (l->want_line)
        row->line = (struct trace_str){text + begin, end[l->own_fields - 1] - begin};
    return parse_row(l, &s, row);
}

#if defined(__x86_64__)
/* A function of its own, so that other files pay nothing for the extra columns. */
static bool parse_index_avx2_extra(const struct trace_layout *l, const char *text, uint32_t begin,
                                   const uint32_t *end, struct trace_row *row)
{
    const struct trace_fields s = {text, begin, end, NULL};
    return trace_parse_index_avx2(l, text, begin, end, row) && parse_extra(l, &s, row->extra);
}
#endif

trace_parse_fn trace_parse_pick(const struct trace_layout *l)
{
#if defined(__x86_64__)
    if (csv_isa() != CSV_ISA_PORTABLE)
        return l->parsed & TRACE_EXTRA & ~TRACE_BIT(TRACE_COL_SLOT) ? parse_index_avx2_extra
                                                                    : trace_parse_index_avx2;
#endif
    (void)l;
    return trace_parse_index;
}

bool trace_parse_fields(const struct trace_layout *l, const struct csv_field *field,
                        struct trace_row *row)
{
    const struct trace_fields s = {NULL, 0, NULL, field};
    return parse_row(l, &s, row);
}

/* ---- the header ---- */

/* Finds out where the result columns are: they are cut off when a result is replayed, and for
 * callers that want the line they must be the last. Extra columns among them are cut off too;
 * elsewhere, and in files that are no results, they are columns like others. */
static int find_own_fields(struct trace_layout *l, const char *name, struct err *e)
{
    const uint32_t cut = l->present & TRACE_RESULT ? TRACE_RESULT | TRACE_EXTRA : 0;
    uint32_t column[CSV_MAX_FIELDS] = {0}; /* bit of the column that each field is */
    int stray = -1;

    for (int c = 0; c < TRACE_COLUMNS; c++)
        if (l->at[c] >= 0)
            column[l->at[c]] = TRACE_BIT(c);
    l->own_fields = l->fields;
    while (l->own_fields > 0 && (column[l->own_fields - 1] & cut))
        l->own_fields--;
    for (int c = TRACE_COL_STATUS; c >= TRACE_COL_DUE; c--)
        if ((TRACE_BIT(c) & TRACE_RESULT) && l->at[c] >= 0 && (unsigned)l->at[c] < l->own_fields)
            stray = c;
    if (stray < 0)
        return 0;
    if (l->want_line)
        return err_set(e, -EINVAL, ERR_INPUT, name,
                       "result column %s must stand with the other result columns at the end",
                       trace_column_name((enum trace_column)stray));
    l->own_fields = l->fields;
    return 0;
}

int trace_layout_init(struct trace_layout *l, const struct csv_row *header, const char *name,
                      struct err *e)
{
    l->fields = (unsigned)header->count;
    l->present = 0;
    for (int c = 0; c < TRACE_COLUMNS; c++)
        l->at[c] = -1;
    for (unsigned i = 0; i < l->fields; i++) {
        const struct csv_field *f = &header->field[i];
        for (int c = 0; c < TRACE_COLUMNS; c++) {
            const char *column = trace_column_name((enum trace_column)c);
            if (strlen(column) != f->len || memcmp(column, f->p, f->len) != 0)
                continue;
            if (l->at[c] >= 0)
                return err_set(e, -EINVAL, ERR_INPUT, name, "column %s appears twice in the header",
                               column);
            l->at[c] = (int)i;
            l->present |= TRACE_BIT(c);
        }
    }
    for (int c = 0; c <= TRACE_COL_PHASE; c++) {
        const char *divider = shape_divider(header->line, header->line_len);
        char begin[SHAPE_BEGIN];
        if (l->at[c] < 0)
            return err_set(e, -EINVAL, ERR_INPUT, name,
                           "no column %s in the header: not a trace; %s%s%s\"%s\"",
                           trace_column_name((enum trace_column)c),
                           divider ? "its columns are divided by " : "it begins ",
                           divider ? divider : "with ", divider ? ", not commas: " : "",
                           shape_begin(header->line, header->line_len, begin));
    }
    l->parsed = TRACE_CORE | (l->present & (l->want ? l->want : ~0u));
    words_init(&l->op, trace_op_word(TRACE_READ), TRACE_OPS);
    words_init(&l->tier, trace_tier_word(TRACE_GPU), TRACE_NO_TIER + 1);
    words_init(&l->phase, trace_phase_word(TRACE_PREFILL), TRACE_NO_PHASE + 1);
    words_init(&l->qos, trace_qos_word(TRACE_INTERACTIVE), TRACE_NO_QOS + 1);
    words_init(&l->class, trace_class_word(TRACE_USER), TRACE_NO_CLASS + 1);
    return find_own_fields(l, name, e);
}

/* ---- bad rows, in words ---- */

/* The fault of a field, by column. Any text is a valid User, Endpoint or Thread. */
static const char *const fault_texts[TRACE_COLUMNS] = {
    [TRACE_COL_TIMESTAMP] = BAD_TIME,
    [TRACE_COL_OPERATION] = "is not Read, Write, Delete, Generate or Miss",
    [TRACE_COL_SIZE] = "is not a number of bytes",
    [TRACE_COL_TIER] = "is not Tier-0, Tier-1 or Tier-2",
    [TRACE_COL_KEY] = "is longer than 64 KiB",
    [TRACE_COL_PHASE] = "is not Prefill, Decode, Evict or Both",
    [TRACE_COL_REQUEST] = "is not a whole number",
    [TRACE_COL_QOS] = "is not a known value",
    [TRACE_COL_CLASS] = "is not a known value",
    [TRACE_COL_TOKENS] = "is not a whole number",
    [TRACE_COL_ARRIVAL] = BAD_TIME,
    [TRACE_COL_DURATION] = BAD_LENGTH,
    [TRACE_COL_ENGINE] = "is not a whole number below 2^31",
    [TRACE_COL_DUE] = BAD_DECIMAL,
    [TRACE_COL_ELIGIBLE] = BAD_DECIMAL,
    [TRACE_COL_START] = BAD_DECIMAL,
    [TRACE_COL_LATENCY] = BAD_LENGTH,
    [TRACE_COL_DEVICE] = BAD_LENGTH,
    [TRACE_COL_SLOT] = BAD_LENGTH,
    [TRACE_COL_STATUS] = "is not a known status",
    [TRACE_COL_FIRST_BYTE] = BAD_LENGTH,
    [TRACE_COL_RANK] = "is not a whole number",
    [TRACE_COL_QUEUE] = BAD_LENGTH,
    [TRACE_COL_DRIVE] = BAD_LENGTH,
};

/* Parses one column behind the core alone. */
static bool column_fits_alone(const struct trace_layout *l, int c, const struct csv_field *f)
{
    struct csv_field all[CSV_MAX_FIELDS];
    const struct trace_fields s = {.field = all};
    struct trace_layout one = *l;
    struct trace_extra extra;
    struct trace_row row;

    trace_row_clear(&row);
    trace_extra_clear(&extra);
    all[l->at[c]] = *f;
    one.parsed = TRACE_BIT(c);
    return parse_extended(&one, &s, &row) && parse_result(&one, &s, &row) &&
           parse_extra(&one, &s, &extra);
}

static bool column_fits(const struct trace_layout *l, int c, const struct csv_field *f)
{
    int64_t v;
    uint64_t u;

    switch (c) {
    case TRACE_COL_TIMESTAMP:
        return f->len && parse_decimal(f->p, f->len, 9, &v);
    case TRACE_COL_OPERATION:
        return word_find(&l->op, f->p, f->len) != TRACE_BAD_WORD;
    case TRACE_COL_SIZE:
        return f->len && parse_u64(f->p, f->len, &u);
    case TRACE_COL_TIER:
        return word_find(&l->tier, f->p, f->len) != TRACE_BAD_WORD;
    case TRACE_COL_KEY:
        return f->len <= TRACE_MAX_KEY;
    case TRACE_COL_PHASE:
        return word_find(&l->phase, f->p, f->len) != TRACE_BAD_WORD;
    default:
        return column_fits_alone(l, c, f);
    }
}

void trace_parse_explain(const struct trace_layout *l, const struct csv_row *row, char *buf,
                         size_t cap)
{
    if (row->count != l->fields) {
        snprintf(buf, cap, "%zu field%s where the header has %u", row->count,
                 units_plural(row->count), l->fields);
        return;
    }
    for (int c = 0; c < TRACE_COLUMNS; c++) {
        if (!(l->parsed & TRACE_BIT(c)))
            continue;
        const struct csv_field *f = &row->field[l->at[c]];
        if (column_fits(l, c, f))
            continue;
        snprintf(buf, cap, "%s '%.*s%s' %s", trace_column_name((enum trace_column)c),
                 f->len < 40 ? (int)f->len : 40, f->p, f->len > 40 ? "..." : "", fault_texts[c]);
        return;
    }
    const struct csv_field *op = &row->field[l->at[TRACE_COL_OPERATION]];
    bool key = row->field[l->at[TRACE_COL_KEY]].len > 0;
    snprintf(buf, cap, "%.*s row without %s", (int)op->len, op->p, key ? "Tier" : "Key");
}
