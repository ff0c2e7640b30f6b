/* The documents of several runs become one: a hand-made set of ranks, with one that is missing.
 * A bug looked like a doubt without the name of its rank, a sum that a lost rank made
 * unknown, or a run that was called valid though one of its ranks was never heard. */
#include "lib/facts/runs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum {
    RANKS = 3
};
static const char *const texts[RANKS] = {
    "{\"valid\":true,\"trace\":{\"digest\":\"abc\"},\"rows\":{\"total\":10,\"failed\":1},"
    "\"elapsed_s\":2.5,\"rows_per_s\":4,\"why_invalid\":[],\"notes\":[\"a note\"],\"validity\":["
    "{\"figures\":\"service\",\"state\":\"good\",\"why\":\"a remark\"}]}",
    "{\"valid\":true,\"trace\":{\"digest\":\"abc\"},\"rows\":{\"total\":20,\"failed\":0},"
    "\"elapsed_s\":1.5,\"rows_per_s\":6,\"why_invalid\":[\"x\"],\"notes\":[],\"validity\":["
    "{\"figures\":\"service\",\"state\":\"good\",\"why\":\"\"},"
    "{\"figures\":\"all\",\"tier\":\"Tier-2\",\"op\":\"Read\",\"state\":\"unreliable\",\"why\":"
    "\"y\"}"
    "]}",
    NULL};
static const char *const hosts[RANKS] = {"a", "b", "a"};

static struct jsonin *docs[RANKS];
static struct runs_one run[RANKS];

static int read_all(void **state)
{
    (void)state;
    for (unsigned i = 0; i < RANKS; i++) {
        run[i] = (struct runs_one){.rank = i, .host = hosts[i], .missing = !texts[i]};
        if (texts[i] && jsonin_parse(&docs[i], texts[i], strlen(texts[i]), "test", NULL) < 0)
            return -1;
        run[i].text = texts[i];
        run[i].doc = docs[i] ? jsonin_root(docs[i]) : NULL;
    }
    return 0;
}

static int free_all(void **state)
{
    (void)state;
    for (unsigned i = 0; i < RANKS; i++)
        jsonin_free(docs[i]);
    return 0;
}

static void facts_of_all(void **state)
{
    struct facts all;

    (void)state;
    assert_int_equal(runs_merge(&all, run, 2), 0);
    assert_string_equal(all.of[FACT_DIGEST].text, "abc");
    assert_true(all.of[FACT_DIGEST].known && all.of[FACT_VALID].known && all.of[FACT_VALID].yes);
    facts_release(&all);
    assert_int_equal(runs_merge(&all, run, RANKS), 0);
    assert_int_equal(facts_counted(&all, FACT_ROWS, "total"), 30);
    assert_int_equal(facts_counted(&all, FACT_ROWS, "failed"), 1);
    assert_int_equal(facts_counted(&all, FACT_ROWS, "ok"), 0);
    assert_true(facts_number(&all, FACT_ELAPSED_S) == 2.5);
    assert_true(isnan(facts_number(&all, FACT_ROWS_PER_S)));
    assert_false(all.of[FACT_DIGEST].known || all.of[FACT_VALID].known);
    facts_release(&all);
    assert_int_equal(runs_merge(&all, &run[2], 1), 0);
    assert_false(all.of[FACT_ROWS].known);
    facts_release(&all);
}

static void lists_name_their_rank(void **state)
{
    struct jsonout *j = jsonout_create();
    struct facts all;

    (void)state;
    assert_int_equal(runs_merge(&all, run, RANKS), 0);
    runs_validity(j, &all, run, RANKS);
    runs_missing(j, run, RANKS);
    runs_list(j, &run[2], 1, NULL, NULL);
    assert_string_equal(
        jsonout_text(j, false),
        "{\"valid\":null,\"why_invalid\":[\"rank 1 on b: x\"],\"validity\":["
        "{\"figures\":\"service\",\"tier\":null,\"op\":null,\"state\":\"good\",\"why\":\"\"},"
        "{\"figures\":\"all\",\"tier\":\"Tier-2\",\"op\":\"Read\",\"state\":\"unreliable\","
        "\"why\":\"rank 1 on b: y\"}],\"notes\":[\"rank 0 on a: a note\"],\"missing\":[2],"
        "\"list\":[{\"rank\":2,\"host\":\"a\",\"summary\":null}]}");
    jsonout_free(j);
    facts_release(&all);
}

static void states_one_by_one(void **state)
{
    struct runs_state s = {0};
    enum validity_state worst = VALIDITY_GOOD;
    unsigned n = 0;

    (void)state;
    for (; runs_next_state(&s, run, RANKS); n++)
        worst = s.state > worst ? s.state : worst;
    assert_int_equal(n, 3);
    assert_int_equal(worst, VALIDITY_UNRELIABLE);
    assert_int_equal(runs_worst(run, RANKS), VALIDITY_UNRELIABLE);
    assert_int_equal(validity_state_of("unknown"), VALIDITY_UNKNOWN);
    assert_int_equal(validity_state_of("bad"), VALIDITY_STATES);
    assert_int_equal(validity_state_of(NULL), VALIDITY_STATES);
}

/* A word of a later version is no state: it does not count. */
static void words_that_are_none(void **state)
{
    static const char text[] = "{\"validity\":[{\"state\":\"cursed\"},{\"state\":\"unknown\"},{}]}";
    struct jsonin *doc = NULL;

    (void)state;
    assert_int_equal(jsonin_parse(&doc, text, strlen(text), "test", NULL), 0);
    struct runs_one one = {.doc = jsonin_root(doc), .host = "a"};
    assert_int_equal(runs_worst(&one, 1), VALIDITY_UNKNOWN);
    jsonin_free(doc);
}

static const char *host(const void *ctx, size_t i)
{
    (void)ctx;
    return hosts[i];
}

static void which_of_them(void **state)
{
    const double value[] = {NAN, 4, 2, 9, 2}, zero[] = {0, 3}, one[] = {NAN, 1};
    char name[RUNS_NAME];

    (void)state;
    struct runs_slowest least = runs_slowest(value, 5, true), most = runs_slowest(value, 5, false);
    assert_int_equal(least.at, 2);
    assert_true(least.times_median == 1.5);
    assert_int_equal(most.at, 3);
    assert_true(most.times_median == 3);
    assert_int_equal(runs_slowest(one, 2, true).at, -1);
    assert_true(isnan(runs_slowest(zero, 2, true).times_median));
    assert_int_equal(runs_hosts(NULL, RANKS, host), 2);
    assert_string_equal(runs_name(name, 7, "node-c"), "rank 7 on node-c");
    assert_string_equal(runs_name(name, 7, ""), "rank 7");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_of_all),      cmocka_unit_test(lists_name_their_rank),
        cmocka_unit_test(states_one_by_one), cmocka_unit_test(words_that_are_none),
        cmocka_unit_test(which_of_them),
    };
    return cmocka_run_group_tests(tests, read_all, free_all);
}
