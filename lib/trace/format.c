/* From the trace record to CSV text, and to the packed form in which rows wait for it: the inner
 * loop of the writer (write.c). */
#include "lib/trace/format.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "lib/trace/csv.h"

/* ---- numbers and words ---- */

#define ASCII_ZEROS UINT64_C(0x3030303030303030)

/* The eight digits of a number below 10^8, as bytes from 0 to 9, the first one lowest: fours, then
 * pairs, then digits, all at once. A product and a shift divide by 100 and by 10. */
static inline uint64_t eight_digits(uint32_t v)
{
    uint64_t fours = v / 10000 | (uint64_t)(v % 10000) << 32;
    uint64_t hundreds = (fours * 10486 >> 20) & UINT64_C(0x0000007f0000007f);
    uint64_t pairs = hundreds | (fours - hundreds * 100) << 16;
    uint64_t tens = (pairs * 103 >> 10) & UINT64_C(0x000f000f000f000f);
    return tens | (pairs - tens * 10) << 8;
}

/* All numbers are written eight bytes at a time: bytes behind them are overwritten by the next
 * columns, or lie in the reserve of trace_format_bound. */
static inline void put_bytes(char *dst, uint64_t x)
{
    x = htole64(x);
    memcpy(dst, &x, sizeof(x));
}

/* Writes a number below 10^8. */
static inline size_t put_small(char *dst, uint32_t v)
{
    uint64_t digits = eight_digits(v);
    unsigned zeros = (unsigned)__builtin_ctzll(digits | UINT64_C(1) << 56) / 8; /* in front */
    put_bytes(dst, (digits | ASCII_ZEROS) >> 8 * zeros);
    return 8 - zeros;
}

static inline size_t put_u64(char *dst, uint64_t v)
{
    const uint64_t part = 100000000;
    if (__builtin_expect(v < part, 1))
        return put_small(dst, (uint32_t)v);
    size_t n = 0;
    uint64_t high = v / part;
    if (high >= part) {
        n = put_small(dst, (uint32_t)(high / part));
        put_bytes(dst + n, eight_digits((uint32_t)(high % part)) | ASCII_ZEROS);
        n += 8;
    } else {
        n = put_small(dst, (uint32_t)high);
    }
    put_bytes(dst + n, eight_digits((uint32_t)(v % part)) | ASCII_ZEROS);
    return n + 8;
}

/* Writes seconds with 6 decimals, and up to 9 where they are not zero. */
static size_t put_seconds(char *dst, int64_t ns)
{
    uint64_t v = ns < 0 ? (uint64_t)0 - (uint64_t)ns : (uint64_t)ns;
    size_t n = 0;
    if (ns < 0)
        dst[n++] = '-';
    n += put_u64(dst + n, v / 1000000000);
    uint32_t fraction = (uint32_t)(v % 1000000000), last = fraction % 1000;
    dst[n++] = '.';
    put_bytes(dst + n, eight_digits(fraction / 10) | ASCII_ZEROS);
    dst[n + 8] = (char)('0' + fraction % 10);
    return n + 9 - (last == 0) - (last % 100 == 0) - (last % 10 == 0);
}

/* Writes microseconds with up to 3 decimals. */
static size_t put_micros(char *dst, int64_t ns)
{
    uint64_t v = ns < 0 ? (uint64_t)0 - (uint64_t)ns : (uint64_t)ns;
    size_t n = 0;
    if (ns < 0)
        dst[n++] = '-';
    n += put_u64(dst + n, v / 1000);
    uint32_t fraction = (uint32_t)(v % 1000);
    if (!fraction)
        return n;
    /* The five zeros in front of the three digits give the point its place. */
    put_bytes(dst + n, (eight_digits(fraction) | ASCII_ZEROS) >> 32);
    dst[n] = '.';
    return n + 4 - (fraction % 100 == 0) - (fraction % 10 == 0);
}

static inline size_t put_text(char *dst, const char *text)
{
    size_t n = strlen(text);
    memcpy(dst, text, n);
    return n;
}

/* Writes a whole struct's text: the bytes behind the word are overwritten by the next columns, or
 * lie in the reserve of trace_format_bound. */
static inline size_t put_word(char *dst, const struct trace_word *word)
{
    memcpy(dst, word->text, sizeof(word->text));
    return word->len;
}

static inline size_t put_str(char *dst, const struct trace_str *s)
{
    return s->len ? csv_put_field(dst, s->p, s->len) : 0;
}

static inline size_t put_number(char *dst, int64_t v)
{
    if (v == TRACE_NONE)
        return 0;
    if (v >= 0)
        return put_u64(dst, (uint64_t)v);
    dst[0] = '-';
    return 1 + put_u64(dst + 1, (uint64_t)0 - (uint64_t)v);
}

/* ---- rows ---- */

/* Writes one of the extra columns. */
static size_t put_extra(const struct trace_extra *x, enum trace_column c, char *dst)
{
    switch (c) {
    case TRACE_COL_SLOT:
        return x->slot_ns == TRACE_NONE ? 0 : put_micros(dst, x->slot_ns);
    case TRACE_COL_FIRST_BYTE:
        return x->first_byte_ns == TRACE_NONE ? 0 : put_micros(dst, x->first_byte_ns);
    case TRACE_COL_QUEUE:
        return x->queue_ns == TRACE_NONE ? 0 : put_micros(dst, x->queue_ns);
    case TRACE_COL_DRIVE:
        return x->drive_ns == TRACE_NONE ? 0 : put_micros(dst, x->drive_ns);
    case TRACE_COL_RANK:
        return put_number(dst, x->rank);
    case TRACE_COL_ENDPOINT:
        return put_str(dst, &x->endpoint);
    default:
        return put_str(dst, &x->thread);
    }
}

/* Writes one column: at most 24 bytes, except for strings. */
static inline size_t put_column(const struct trace_format *f, const struct trace_row *r,
                                enum trace_column c, char *dst)
{
    switch (c) {
    case TRACE_COL_TIMESTAMP:
        return put_seconds(dst, r->time_ns + f->epoch_ns);
    case TRACE_COL_OPERATION:
        return put_word(dst, trace_op_word((enum trace_op)r->op));
    case TRACE_COL_SIZE:
        return put_u64(dst, r->size);
    case TRACE_COL_TIER:
        return put_word(dst, trace_tier_word((enum trace_tier)r->tier));
    case TRACE_COL_KEY:
        return put_str(dst, &r->key);
    case TRACE_COL_PHASE:
        return put_word(dst, trace_phase_word((enum trace_phase)r->phase));
    case TRACE_COL_REQUEST:
        return put_number(dst, r->request);
    case TRACE_COL_USER:
        return put_str(dst, &r->user);
    case TRACE_COL_QOS:
        return put_word(dst, trace_qos_word((enum trace_qos)r->qos));
    case TRACE_COL_CLASS:
        return put_word(dst, trace_class_word((enum trace_class)r->class));
    case TRACE_COL_TOKENS:
        return put_number(dst, r->tokens);
    case TRACE_COL_ARRIVAL:
        return r->arrival_ns == TRACE_NONE ? 0 : put_seconds(dst, r->arrival_ns + f->epoch_ns);
    case TRACE_COL_DURATION:
        return r->duration_ns == TRACE_NONE ? 0 : put_micros(dst, r->duration_ns);
    case TRACE_COL_ENGINE:
        return r->engine < 0 ? 0 : put_u64(dst, (uint64_t)r->engine);
    case TRACE_COL_DUE:
        return r->due_ns == TRACE_NONE ? 0 : put_seconds(dst, r->due_ns);
    case TRACE_COL_ELIGIBLE:
        return r->eligible_ns == TRACE_NONE ? 0 : put_seconds(dst, r->eligible_ns);
    case TRACE_COL_START:
        return r->start_ns == TRACE_NONE ? 0 : put_seconds(dst, r->start_ns);
    case TRACE_COL_LATENCY:
        return r->latency_ns == TRACE_NONE ? 0 : put_micros(dst, r->latency_ns);
    case TRACE_COL_DEVICE:
        return r->device_ns == TRACE_NONE ? 0 : put_micros(dst, r->device_ns);
    case TRACE_COL_STATUS:
        return put_text(dst, trace_status_text(r->status));
    case TRACE_COL_SLOT:
    case TRACE_COL_FIRST_BYTE:
    case TRACE_COL_RANK:
    case TRACE_COL_ENDPOINT:
    case TRACE_COL_THREAD:
    case TRACE_COL_QUEUE:
    case TRACE_COL_DRIVE:
        return r->extra ? put_extra(r->extra, c, dst) : 0;
    case TRACE_COLUMNS:
        break;
    }
    return 0;
}

/* Bytes of the strings of the extra columns. */
static size_t extra_text(const struct trace_row *r)
{
    return r->extra ? (size_t)r->extra->endpoint.len + r->extra->thread.len : 0;
}

size_t trace_format_bound(const struct trace_row *row)
{
    return TRACE_COLUMNS * 32u + (size_t)row->key.len * 2 + (size_t)row->user.len * 2 +
           extra_text(row) * 2 + row->line.len + 16;
}

size_t trace_format_estimate(const struct trace_format *f, const struct trace_row *row)
{
    size_t n = f->columns & TRACE_RESULT ? 56 : 0;
    if (f->columns & TRACE_EXTRA)
        n += 60 + extra_text(row);
    if (f->lines)
        return n + row->line.len + 1;
    return n + 48 + row->key.len + (f->columns & TRACE_EXTENDED ? 40 + row->user.len : 0);
}

size_t trace_format_row(const struct trace_format *f, const struct trace_row *row, char *dst)
{
    size_t n = 0;
    uint32_t left = f->columns;
    if (f->lines) {
        memcpy(dst, row->line.p, row->line.len);
        n = row->line.len;
        dst[n++] = ',';
        left &= TRACE_RESULT | TRACE_EXTRA;
    }
    for (; left; left &= left - 1) {
        n += put_column(f, row, (enum trace_column)__builtin_ctz(left), dst + n);
        dst[n++] = ',';
    }
    dst[n - 1] = '\n';
    return n;
}

size_t trace_format_note(const struct trace_format *f, const struct trace_row *row, char *dst)
{
    unsigned own = f->lines ? f->own_fields : 0, i = 0;
    size_t n = 0;

    for (uint32_t left = f->columns; i < own || left; i++) {
        enum trace_column c = i >= own             ? (enum trace_column)__builtin_ctz(left)
                              : i == f->op_field   ? TRACE_COL_OPERATION
                              : i == f->size_field ? TRACE_COL_SIZE
                              : i == f->key_field  ? TRACE_COL_KEY
                                                   : TRACE_COLUMNS;
        if (c == TRACE_COL_OPERATION)
            n += put_text(dst + n, trace_op_text(TRACE_NOTE));
        else if (c == TRACE_COL_SIZE)
            n += put_text(dst + n, "0");
        else if (c == TRACE_COL_KEY)
            n += put_str(dst + n, &row->key);
        dst[n++] = ',';
        if (i >= own)
            left &= left - 1;
    }
    dst[n - 1] = '\n';
    return n;
}

int trace_format_learn(struct trace_format *f, const char *header, size_t header_len)
{
    const struct {
        enum trace_column column;
        unsigned *field;
    } want[] = {{TRACE_COL_OPERATION, &f->op_field},
                {TRACE_COL_SIZE, &f->size_field},
                {TRACE_COL_KEY, &f->key_field}};
    struct csv *c = csv_create();
    struct csv_row row;
    unsigned found = 0;

    if (!c)
        return -ENOMEM;
    csv_set(c, header, header_len);
    if (csv_next(c, &row, NULL) == 1) {
        f->own_fields = (unsigned)row.count;
        for (unsigned i = 0; i < row.count; i++)
            for (unsigned k = 0; k < sizeof(want) / sizeof(want[0]); k++) {
                const char *name = trace_column_name(want[k].column);
                if (row.field[i].len != strlen(name) ||
                    memcmp(row.field[i].p, name, row.field[i].len) != 0)
                    continue;
                *want[k].field = i;
                found |= 1u << k;
            }
    }
    csv_close(c);
    return found == 7 ? 0 : -EINVAL;
}

size_t trace_format_header(const struct trace_format *f, const char *header, size_t header_len,
                           char *dst)
{
    size_t n = 0;
    uint32_t left = f->columns;
    if (f->lines) {
        memcpy(dst, header, header_len);
        n = header_len;
        dst[n++] = ',';
        left &= TRACE_RESULT | TRACE_EXTRA;
    }
    for (; left; left &= left - 1) {
        n += put_text(dst + n, trace_column_name((enum trace_column)__builtin_ctz(left)));
        dst[n++] = ',';
    }
    dst[n - 1] = '\n';
    return n;
}

/* ---- rows that wait ---- */

/* Packed, so that fields are written at any place one by one: a struct that is made first and
 * copied then waits until its fields have left the processor's store buffer. */
struct packed_own {
    int64_t time_ns, request, tokens, arrival_ns, duration_ns;
    uint64_t size;
    uint32_t key_len, user_len;
    int32_t engine;
    uint8_t op, tier, phase, qos, class;
} __attribute__((packed));

struct packed_result {
    int64_t due_ns, eligible_ns, start_ns, latency_ns, device_ns;
    int32_t status;
} __attribute__((packed));

struct packed_extra {
    int64_t slot_ns, first_byte_ns, queue_ns, drive_ns, rank;
    uint32_t endpoint_len, thread_len;
} __attribute__((packed));

static char *pack_str(char *dst, const struct trace_str *s)
{
    if (s->len)
        memcpy(dst, s->p, s->len);
    return dst + s->len;
}

static const char *unpack_str(const char *src, struct trace_str *s, uint32_t len)
{
    s->p = len ? src : NULL;
    s->len = len;
    return src + len;
}

size_t trace_pack(const struct trace_format *f, const struct trace_row *r, char *dst)
{
    char *p = dst;

    if (f->columns & TRACE_RESULT) {
        struct packed_result *o = (struct packed_result *)p;
        o->due_ns = r->due_ns;
        o->eligible_ns = r->eligible_ns;
        o->start_ns = r->start_ns;
        o->latency_ns = r->latency_ns;
        o->device_ns = r->device_ns;
        o->status = r->status;
        p += sizeof(*o);
    }
    if (f->columns & TRACE_EXTRA) {
        const struct trace_extra *x = r->extra;
        *p++ = x != NULL;
        if (x) {
            struct packed_extra *o = (struct packed_extra *)p;
            o->slot_ns = x->slot_ns;
            o->first_byte_ns = x->first_byte_ns;
            o->queue_ns = x->queue_ns;
            o->drive_ns = x->drive_ns;
            o->rank = x->rank;
            o->endpoint_len = x->endpoint.len;
            o->thread_len = x->thread.len;
            p = pack_str(pack_str(p + sizeof(*o), &x->endpoint), &x->thread);
        }
    }
    if (f->lines) {
        memcpy(p, &r->line.len, 4);
        p = pack_str(p + 4, &r->line);
    } else {
        bool user = f->columns & TRACE_BIT(TRACE_COL_USER);
        struct packed_own *o = (struct packed_own *)p;
        o->time_ns = r->time_ns;
        o->request = r->request;
        o->tokens = r->tokens;
        o->arrival_ns = r->arrival_ns;
        o->duration_ns = r->duration_ns;
        o->size = r->size;
        o->key_len = r->key.len;
        o->user_len = user ? r->user.len : 0;
        o->engine = r->engine;
        o->op = r->op;
        o->tier = r->tier;
        o->phase = r->phase;
        o->qos = r->qos;
        o->class = r->class;
        p = pack_str(p + sizeof(*o), &r->key);
        if (user)
            p = pack_str(p, &r->user);
    }
    return (size_t)(p - dst);
}

size_t trace_unpack(const struct trace_format *f, const char *src, struct trace_row *r,
                    struct trace_extra *extra)
{
    const char *p = src;

    if (f->columns & TRACE_RESULT) {
        struct packed_result o;
        memcpy(&o, p, sizeof(o));
        r->due_ns = o.due_ns;
        r->eligible_ns = o.eligible_ns;
        r->start_ns = o.start_ns;
        r->latency_ns = o.latency_ns;
        r->device_ns = o.device_ns;
        r->status = o.status;
        p += sizeof(o);
    }
    r->extra = NULL;
    if ((f->columns & TRACE_EXTRA) && *p++) {
        struct packed_extra o;
        memcpy(&o, p, sizeof(o));
        extra->slot_ns = o.slot_ns;
        extra->first_byte_ns = o.first_byte_ns;
        extra->queue_ns = o.queue_ns;
        extra->drive_ns = o.drive_ns;
        extra->rank = o.rank;
        p = unpack_str(p + sizeof(o), &extra->endpoint, o.endpoint_len);
        p = unpack_str(p, &extra->thread, o.thread_len);
        r->extra = extra;
    }
    if (f->lines) {
        uint32_t len;
        memcpy(&len, p, 4);
        p = unpack_str(p + 4, &r->line, len);
    } else {
        struct packed_own o;
        memcpy(&o, p, sizeof(o));
        r->time_ns = o.time_ns;
        r->request = o.request;
        r->tokens = o.tokens;
        r->arrival_ns = o.arrival_ns;
        r->duration_ns = o.duration_ns;
        r->size = o.size;
        r->engine = o.engine;
        r->op = o.op;
        r->tier = o.tier;
        r->phase = o.phase;
        r->qos = o.qos;
        r->class = o.class;
        p = unpack_str(p + sizeof(o), &r->key, o.key_len);
        p = unpack_str(p, &r->user, o.user_len);
    }
    return (size_t)(p - src);
}
