/* Expected: the parser that works on vectors gives what the plain one gives, record for record,
 * whatever stands in the fields, and refuses the same rows. A bug looks like a number that is off
 * by a power of ten, a digit taken from the neighbouring field, or a bad row that passes. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/rng.h"
#include "lib/trace/csv.h"
#include "lib/trace/csv_scan.h"
#include "lib/trace/parse.h"

#define COLUMNS                                                                                    \
    "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,QoS,Class,Tokens,Arrival,"  \
    "Duration_us,Due,Eligible,Start,Latency_us,Device_us,Status"
#define EXTRA COLUMNS ",Slot_us,First_byte_us,Rank,Endpoint,Thread"
#define REVERSED                                                                                   \
    "Note,Duration_us,Arrival,Tokens,Class,QoS,User,Request,Phase,Key,Tier,Object_Size_Bytes,"     \
    "Operation,Timestamp"

/* By the kind of column; the last ones of each are odd or wrong. */
static const char *const seconds[] = {"0.088326202",
                                      "311.052129001",
                                      "1735689600.123456",
                                      "1735689600.123456789",
                                      "0.000001",
                                      "7.5",
                                      "0",
                                      "12",
                                      "8999999999.999999999",
                                      "9999999999.9",
                                      "12345678901.5",
                                      "",
                                      "1.",
                                      ".5",
                                      "-0.25",
                                      "1.2345678901",
                                      "1.50000000000",
                                      "1e3",
                                      "1.2.3",
                                      "00000000001",
                                      "1/2.5",
                                      "0.12345678:",
                                      " 1.5",
                                      "99999999999999999999",
                                      "+1.0"};
static const char *const micros[] = {"1",
                                     "12.345",
                                     "0.5",
                                     "123456789012",
                                     "99999.99",
                                     "",
                                     "1234567890123",
                                     "123456789012.123",
                                     "0",
                                     "1.2345",
                                     "1.2340",
                                     "-1.5",
                                     ".5",
                                     "1.",
                                     "x",
                                     "1.2.3",
                                     "1:2.5",
                                     "12345678901234.5"};
static const char *const numbers[] = {"0",
                                      "7",
                                      "51511296",
                                      "123456789",
                                      "1234567890123456",
                                      "12345678901234567",
                                      "18446744073709551615",
                                      "18446744073709551616",
                                      "9223372036854775808",
                                      "",
                                      "-1",
                                      "12a4",
                                      "1 2",
                                      "12:",
                                      "00000000000000000000012",
                                      "1.0"};
static const char *const ops[] = {"Read", "Write", "Delete", "Generate", "Miss", "", "read", "Rea"};
static const char *const tiers[] = {"Tier-0", "Tier-1", "Tier-2", "", "Tier-3", "Tier-01"};
static const char *const keys[] = {"k", "conv_user_0411_88_turn_1", "", "0123456789abcdef0"};
static const char *const phases[] = {"Prefill", "Decode", "Evict", "Both", "", "Decoder"};
static const char *const qoses[] = {"interactive", "responsive",         "batch", "",
                                    "responsivf",  "an interactive user"};
static const char *const classes[] = {"user",  "multi_turn", "system",     "common", "rag",
                                      "block", "ingest",     "prepop",     "evict",  "promote",
                                      "",      "multi_turm", "multi_turn_"};
static const char *const statuses[] = {"ok",   "absent",      "corrupt", "ENOSPC", "",
                                       "lost", "S3:SlowDown", "OK",      "okay",   "S3:"};
static const char *const notes[] = {"", "x", "a note of some length"};

#define POOL(texts)                                                                                \
    {                                                                                              \
        texts, sizeof(texts) / sizeof(*(texts))                                                    \
    }
struct pool {
    const char *const *text;
    size_t count;
};
static const struct pool pools[TRACE_COLUMNS + 1] = {
    [TRACE_COL_TIMESTAMP] = POOL(seconds), [TRACE_COL_OPERATION] = POOL(ops),
    [TRACE_COL_SIZE] = POOL(numbers),      [TRACE_COL_TIER] = POOL(tiers),
    [TRACE_COL_KEY] = POOL(keys),          [TRACE_COL_PHASE] = POOL(phases),
    [TRACE_COL_REQUEST] = POOL(numbers),   [TRACE_COL_USER] = POOL(keys),
    [TRACE_COL_QOS] = POOL(qoses),         [TRACE_COL_CLASS] = POOL(classes),
    [TRACE_COL_TOKENS] = POOL(numbers),    [TRACE_COL_ARRIVAL] = POOL(seconds),
    [TRACE_COL_DURATION] = POOL(micros),   [TRACE_COL_DUE] = POOL(seconds),
    [TRACE_COL_ELIGIBLE] = POOL(seconds),  [TRACE_COL_START] = POOL(seconds),
    [TRACE_COL_LATENCY] = POOL(micros),    [TRACE_COL_DEVICE] = POOL(micros),
    [TRACE_COL_STATUS] = POOL(statuses),   [TRACE_COL_SLOT] = POOL(micros),
    [TRACE_COL_FIRST_BYTE] = POOL(micros), [TRACE_COL_RANK] = POOL(numbers),
    [TRACE_COL_ENDPOINT] = POOL(keys),     [TRACE_COL_THREAD] = POOL(keys),
    [TRACE_COL_QUEUE] = POOL(micros),      [TRACE_COL_DRIVE] = POOL(micros),
    [TRACE_COLUMNS] = POOL(notes)};

/* One layout, a row to be made for it, and what the two parsers say. */
struct bench {
    struct trace_layout layout;
    int column[CSV_MAX_FIELDS]; /* of each field, TRACE_COLUMNS: not ours */
    char text[4096 + TRACE_TEXT_PAD];
    uint32_t begin, end[CSV_MAX_FIELDS];
    uint64_t good, bad;
};

static void bench_layout(struct bench *b, const char *header)
{
    struct csv *c = csv_create();
    struct csv_row row;
    struct err e = {0};
    csv_set(c, header, strlen(header));
    assert_int_equal(csv_next(c, &row, &e), 1);
    b->layout.want_line = true;
    assert_int_equal(trace_layout_init(&b->layout, &row, "test", &e), 0);
    for (size_t i = 0; i < row.count; i++)
        b->column[i] = TRACE_COLUMNS;
    for (int i = 0; i < TRACE_COLUMNS; i++)
        if (b->layout.at[i] >= 0)
            b->column[b->layout.at[i]] = i;
    csv_close(c);
}

/* A row behind a few bytes that are not its own; what stands behind it looks like digits. */
static void make_row(struct bench *b, struct rng *rng, unsigned odd)
{
    memset(b->text, '7', sizeof(b->text));
    uint32_t n = b->begin = (uint32_t)rng_below(rng, 20);
    for (unsigned i = 0; i < b->layout.fields; i++) {
        const struct pool *p = &pools[b->column[i]];
        size_t which = rng_below(rng, odd ? p->count : p->count < 5 ? p->count : 5);
        if (odd && rng_below(rng, odd))
            which %= 3;
        size_t len = strlen(p->text[which]);
        memcpy(b->text + n, p->text[which], len);
        b->end[i] = n + (uint32_t)len;
        n = b->end[i] + 1;
        b->text[n - 1] = ',';
    }
}

static bool same_text(struct trace_str a, struct trace_str b)
{
    return a.p == b.p && a.len == b.len;
}

/* Field by field: the padding between them may be anything. */
static bool same_extra(const struct trace_extra *a, const struct trace_extra *b)
{
    return a->slot_ns == b->slot_ns && a->first_byte_ns == b->first_byte_ns &&
           a->queue_ns == b->queue_ns && a->drive_ns == b->drive_ns && a->rank == b->rank &&
           same_text(a->endpoint, b->endpoint) && same_text(a->thread, b->thread);
}

static bool same_row(const struct trace_row *a, const struct trace_row *b)
{
    return a->time_ns == b->time_ns && a->size == b->size && same_text(a->key, b->key) &&
           same_text(a->user, b->user) && a->op == b->op && a->tier == b->tier &&
           a->phase == b->phase && a->qos == b->qos && a->class == b->class &&
           a->status == b->status && a->request == b->request && a->tokens == b->tokens &&
           a->arrival_ns == b->arrival_ns && a->duration_ns == b->duration_ns &&
           a->due_ns == b->due_ns && a->eligible_ns == b->eligible_ns &&
           a->start_ns == b->start_ns && a->latency_ns == b->latency_ns &&
           a->device_ns == b->device_ns && same_text(a->line, b->line) &&
           same_extra(a->extra, b->extra);
}

static void compare_row(struct bench *b)
{
    struct trace_extra plain_extra, vector_extra;
    struct trace_row plain, vector;
    memset(&plain_extra, 0x5a, sizeof(plain_extra));
    memset(&vector_extra, 0x5a, sizeof(vector_extra));
    memset(&plain, 0x5a, sizeof(plain));
    memset(&vector, 0x5a, sizeof(vector));
    plain.extra = &plain_extra;
    vector.extra = &vector_extra;
    bool want = trace_parse_index(&b->layout, b->text, b->begin, b->end, &plain);
    bool got = trace_parse_pick(&b->layout)(&b->layout, b->text, b->begin, b->end, &vector);
    int len = (int)(b->end[b->layout.fields - 1] - b->begin);
    if (want != got || (want && !same_row(&plain, &vector)))
        fail_msg("%s: %s, plain %s: %.*s", csv_isa_name(csv_isa()), got ? "read" : "bad",
                 want ? "read" : "bad", len, b->text + b->begin);
    b->good += want;
    b->bad += !want;
}

static void compare_rows(const char *header, unsigned odd)
{
    struct bench *b = calloc(1, sizeof(*b));
    struct rng rng;
    assert_non_null(b);
    rng_seed(&rng, 7, odd);
    bench_layout(b, header);
    assert_ptr_not_equal(trace_parse_pick(&b->layout), trace_parse_index);
    for (int i = 0; i < 100000; i++) {
        make_row(b, &rng, odd);
        compare_row(b);
    }
    assert_true(b->good > 500);
    if (odd)
        assert_true(b->bad > 500);
    free(b);
}

static bool have_avx2(void)
{
    enum csv_isa before = csv_isa();
    int rc = csv_force_isa(CSV_ISA_AVX2);
    csv_force_isa(before);
    return rc == 0;
}

static void test_same_rows(void **state)
{
    (void)state;
    if (!have_avx2())
        skip();
    const char *const headers[] = {COLUMNS, COLUMNS ",Slot_us", REVERSED, EXTRA,
                                   "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"};
    for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++) {
        compare_rows(headers[i], 0);
        compare_rows(headers[i], 8);
        compare_rows(headers[i], 40);
    }
}

/* Every character in every place of a usual number. */
static void test_every_character(void **state)
{
    (void)state;
    if (!have_avx2())
        skip();
    static const char *const row[] = {"311.052129001", "Read", "201940992",
                                      "Tier-2",        "key",  "Decode"};
    struct bench *b = calloc(1, sizeof(*b));
    assert_non_null(b);
    bench_layout(b, "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase");
    uint32_t n = 0;
    for (unsigned i = 0; i < 6; i++) {
        n += (uint32_t)sprintf(b->text + n, "%s,", row[i]);
        b->end[i] = n - 1;
    }
    for (uint32_t at = 0; at < n - 1; at++) {
        char kept = b->text[at];
        for (int c = 0; c < 256 && kept != ','; c++) {
            b->text[at] = (char)c;
            compare_row(b);
        }
        b->text[at] = kept;
    }
    assert_true(b->good > 200 && b->bad > 5000);
    free(b);
}

/* The plain parser alone, on a row whose values are known. */
static void test_figures(void **state)
{
    (void)state;
    static const char text[] = "311.052129001,Read,201940992,Tier-2,key,Decode,12.5,";
    char padded[sizeof(text) + TRACE_TEXT_PAD] = {0};
    const uint32_t end[] = {13, 18, 28, 35, 39, 46, 51};
    struct trace_row r;
    struct bench *b = calloc(1, sizeof(*b));
    assert_non_null(b);
    memcpy(padded, text, sizeof(text));
    bench_layout(b, "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Duration_us");
    assert_true(trace_parse_pick(&b->layout)(&b->layout, padded, 0, end, &r));
    assert_int_equal(r.time_ns, INT64_C(311052129001));
    assert_int_equal(r.size, 201940992);
    assert_int_equal(r.duration_ns, 12500);
    assert_int_equal(r.op, TRACE_READ);
    assert_int_equal(r.tier, TRACE_STORAGE);
    assert_int_equal(r.phase, TRACE_DECODE);
    assert_int_equal(r.key.len, 3);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_rows),
        cmocka_unit_test(test_every_character),
        cmocka_unit_test(test_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
