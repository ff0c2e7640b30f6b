/* The two layers of a log: as many pairs as can be, by trying all, each row once, in order of time.
 * A bug looked like an inner row that took the outer one which another needed, or like a row that
 * was given before one that began earlier. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log/layers.h"
#include "tests/unit/scale.h"

enum {
    ROWS = 10
};

struct span {
    int64_t start, end;
    bool outer;
    char key; /* of one character */
};

static int by_start(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    return x->start < y->start ? -1 : x->start > y->start;
}

static bool fits(const struct span *outer, const struct span *inner)
{
    return outer->outer && !inner->outer && outer->key == inner->key &&
           outer->start <= inner->start && outer->end >= inner->end;
}

/* The most pairs of rows i and later with outer rows that are not in taken. */
static unsigned most_pairs(const struct span *s, unsigned i, unsigned taken)
{
    if (i == ROWS)
        return 0;
    unsigned best = most_pairs(s, i + 1, taken);
    for (unsigned o = 0; o < ROWS && !s[i].outer; o++) {
        if ((taken >> o & 1) || !fits(&s[o], &s[i]))
            continue;
        unsigned with = 1 + most_pairs(s, i + 1, taken | 1u << o);
        best = with > best ? with : best;
    }
    return best;
}

static int add(struct layers *l, const struct span *s)
{
    static const char outer_end[] = "s3://bucket", inner_end[] = "http://host:9000";
    char file[] = "bucket/?";
    struct trace_row row;
    struct trace_extra extra;

    trace_row_clear(&row);
    trace_extra_clear(&extra);
    file[7] = s->key;
    row.key = s->outer ? (struct trace_str){.p = file, .len = 8}
                       : (struct trace_str){.p = file + 7, .len = 1};
    row.op = TRACE_READ;
    row.size = 4096;
    row.time_ns = s->start;
    row.latency_ns = s->end - s->start;
    row.extra = &extra;
    extra.endpoint = s->outer ? (struct trace_str){.p = outer_end, .len = sizeof(outer_end) - 1}
                              : (struct trace_str){.p = inner_end, .len = sizeof(inner_end) - 1};
    extra.first_byte_ns = s->outer ? row.latency_ns : 1;
    return layers_add(l, &row);
}

/* Checks the rows that are ready; returns how many. */
static unsigned drain(struct layers *l, int64_t *last_ns)
{
    const struct trace_row *row;
    unsigned n = 0;

    for (; (row = layers_take(l)); n++) {
        assert_true(row->time_ns >= *last_ns);
        assert_int_equal(row->key.len, 1);
        assert_true(row->key.p[0] == 'a' || row->key.p[0] == 'b');
        *last_ns = row->time_ns;
    }
    return n;
}

static void random_logs(void **state)
{
    (void)state;
    unsigned pairs = 0, alone = 0;

    srand(7);
    const int rounds = scaled(5000);
    for (int round = 0; round < rounds; round++) {
        struct span s[ROWS];
        struct layers *l = layers_create();
        int64_t last_ns = INT64_MIN;
        unsigned given = 0;
        assert_non_null(l);
        for (int i = 0; i < ROWS; i++) {
            s[i].start = rand() % 12;
            s[i].end = s[i].start + rand() % 12;
            s[i].outer = rand() % 2 == 0;
            s[i].key = "ab"[rand() % 4 == 0];
        }
        qsort(s, ROWS, sizeof(s[0]), by_start);
        for (int i = 0; i < ROWS; i++) {
            assert_int_equal(add(l, &s[i]), 0);
            given += drain(l, &last_ns);
        }
        layers_end(l);
        given += drain(l, &last_ns);
        unsigned joined = (unsigned)layers_joined(l);
        assert_int_equal(given, ROWS - joined);
        assert_int_equal(joined, most_pairs(s, 0, 0));
        pairs += joined;
        alone += given - joined;
        layers_free(l);
    }
    assert_true(pairs > 0 && alone > 0);
}

static void which_layer(void **state)
{
    (void)state;
    static const struct {
        const char *endpoint, *file;
        enum layer layer;
    } cases[] = {
        {"s3://bucket", "bucket/key", LAYER_OUTER},  {"s3://bucket/", "bucket/key", LAYER_OUTER},
        {"s3://bucket", "other/key", LAYER_OTHER},   {"s3://bucket", "bucket/", LAYER_OTHER},
        {"s3://bucket", "bucketkey/x", LAYER_OTHER}, {"s3://", "/key", LAYER_OTHER},
        {"http://host:9000", "key", LAYER_INNER},    {"https://host", "key", LAYER_INNER},
        {"file:///mnt/x", "key", LAYER_OTHER},       {"", "key", LAYER_OTHER},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct trace_str endpoint = {.p = cases[i].endpoint,
                                     .len = (uint32_t)strlen(cases[i].endpoint)};
        struct trace_str file = {.p = cases[i].file, .len = (uint32_t)strlen(cases[i].file)};
        assert_int_equal(layers_tell(endpoint, file), cases[i].layer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_logs),
        cmocka_unit_test(which_layer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
