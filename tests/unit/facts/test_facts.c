/* Every row of the table of facts: it is in the man page of the program that measures it, in JSON,
 * the same after a way through a file, and merged by its rule. A bug looked like a fact that one
 * program wrote and the other did not read, or a sum over ranks that was the figure of one of them.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/facts/facts.h"
#include "lib/facts/origin.h"

static const struct fact_value *value(const struct facts *f, unsigned i)
{
    return &f->of[i];
}

/* All facts are known, each with its own value; step makes those of another set. */
static void fill(struct facts *f, unsigned step)
{
    char text[32];

    *f = (struct facts){0};
    for (unsigned i = 0; i < FACTS; i++) {
        enum fact_id id = i;
        struct hist *h = hist_create();
        assert_non_null(h);
        switch (fact_of(i)->kind) {
        case FACT_COUNT:
            facts_put_count(f, id, true, UINT64_C(9007199254740993) + i + step);
            break;
        case FACT_NUMBER:
            facts_put_number(f, id, i + 0.25 + step);
            break;
        case FACT_TEXT:
            snprintf(text, sizeof(text), "text %u of %u", i, step);
            facts_put_text(f, id, text);
            break;
        case FACT_YES:
            facts_put_yes(f, id, (i + step) % 2);
            break;
        case FACT_TIMES:
            for (unsigned k = 0; k < 100; k++)
                assert_int_equal(hist_record(h, 1000 * (k + i + step)), 0);
            facts_put_times(f, id, h, 1e3);
            break;
        case FACT_HIST:
            for (unsigned k = 0; k < 100; k++)
                assert_int_equal(hist_record(h, 977 * k * k + i + step), 0);
            facts_put_hist(f, id, h);
            break;
        case FACT_COUNTS:
            facts_put_counted(f, id, "ok", 5 + step);
            facts_put_counted(f, id, step ? "lost" : "failed", 2 + step);
            break;
        }
        hist_free(h);
    }
}

/* A fact of the whole document, which may be a member of an object: "trace.digest". */
static void write_at(struct jsonout *j, const struct facts *f, enum fact_id id)
{
    const char *member = fact_of(id)->member, *dot = strchr(member, '.');
    char outer[40] = "";

    snprintf(outer, sizeof(outer), "%.*s", dot ? (int)(dot - member) : 0, member);
    if (dot)
        jsonout_object(j, outer);
    facts_write_one(j, f, id);
    if (dot)
        jsonout_end(j);
}

/* The summary with these facts. Free it. */
static char *document(const struct facts *f)
{
    struct jsonout *j = jsonout_create();
    char *text;

    assert_non_null(j);
    for (unsigned s = 0; s < FACT_SCOPES; s++)
        if (s != FACTS_OF_RUN && !strchr(fact_scope_path(s), '.'))
            facts_write(j, f, s);
    for (unsigned i = 0; i < FACTS; i++)
        if (fact_of(i)->scope == FACTS_OF_RUN)
            write_at(j, f, i);
    text = strdup(jsonout_text(j, false));
    assert_non_null(text);
    jsonout_free(j);
    return text;
}

static void read_back(struct facts *f, const char *text)
{
    struct jsonin *doc;

    assert_int_equal(jsonin_parse(&doc, text, strlen(text), "test", NULL), 0);
    const struct jsonin_v *root = jsonin_root(doc), *run = jsonin_get(root, "run");
    facts_read(f, root);
    facts_read_step(f, root);
    for (unsigned i = 0; run && i < FACTS; i++) /* kvstat takes these from several places */
        if (fact_of(i)->scope == FACTS_OF_PROVENANCE)
            facts_read_value(f, i, jsonin_get(run, fact_of(i)->member));
    jsonin_free(doc);
}

static void every_fact_has_one_row(void **state)
{
    (void)state;
    for (unsigned i = 0; i < FACTS; i++) {
        assert_int_equal(fact_of(i)->id, i);
        for (unsigned k = 0; k < i; k++)
            assert_false(fact_of(i)->scope == fact_of(k)->scope &&
                         strcmp(fact_of(i)->member, fact_of(k)->member) == 0);
    }
}

static void through_a_file(void **state)
{
    struct facts f, back = {0};

    (void)state;
    fill(&f, 0);
    char *text = document(&f);
    read_back(&back, text);
    for (unsigned i = 0; i < FACTS; i++) {
        char quoted[80];
        const char *dot = strrchr(fact_of(i)->member, '.');
        snprintf(quoted, sizeof(quoted), "\"%s\":", dot ? dot + 1 : fact_of(i)->member);
        assert_non_null(strstr(text, quoted));
        assert_true(value(&back, i)->known);
    }
    char *again = document(&back);
    assert_string_equal(again, text);
    free(again);
    free(text);
    facts_release(&f);
    facts_release(&back);
}

static void what_is_not_known(void **state)
{
    struct facts f = {0}, back = {0};

    (void)state;
    read_back(&back,
              "{\"evidence\":{\"gaps\":-1,\"steal_share\":null,\"target\":7,\"direct\":\"yes\"}}");
    assert_true(back.there[FACTS_OF_EVIDENCE]);
    assert_false(back.there[FACTS_OF_OVERLOAD]);
    facts_put_number(&f, FACT_STEAL_SHARE, -1);
    for (unsigned i = 0; i < FACTS; i++) {
        assert_false(value(&f, i)->known);
        assert_false(value(&back, i)->known);
    }
    char *text = document(&f), *same = document(&back);
    assert_string_equal(text, same);
    assert_non_null(strstr(text, "\"gaps\":null"));
    assert_non_null(strstr(text, "\"overload\":null"));
    free(text);
    free(same);
}

static void two_become_one(void **state)
{
    struct facts a, b, both, nothing = {0};

    (void)state;
    fill(&a, 0);
    fill(&b, 1);
    fill(&both, 0);
    facts_merge(&both, &b);
    for (unsigned i = 0; i < FACTS; i++) {
        const struct fact_value *x = value(&a, i), *y = value(&b, i), *z = value(&both, i);
        enum fact_kind kind = fact_of(i)->kind;
        switch (fact_of(i)->merge) {
        case FACT_SUM:
            if (kind == FACT_HIST)
                assert_int_equal(hist_count(z->hist), 200);
            else if (kind == FACT_COUNTS)
                assert_true(facts_counted(&both, i, "ok") == 11 &&
                            facts_counted(&both, i, "failed") == 2 &&
                            facts_counted(&both, i, "lost") == 3);
            else
                assert_true(kind == FACT_COUNT ? z->count == x->count + y->count
                                               : z->number == x->number + y->number);
            break;
        case FACT_MAX:
        case FACT_MIN:
            y = fact_of(i)->merge == FACT_MIN ? x : y;
            assert_true(kind == FACT_YES     ? z->yes == (fact_of(i)->merge == FACT_MAX)
                        : kind == FACT_COUNT ? z->count == y->count
                                             : z->number == y->number);
            break;
        case FACT_FIRST:
        case FACT_LAST:
            y = fact_of(i)->merge == FACT_LAST ? y : x;
            assert_true(kind == FACT_TEXT ? strcmp(z->text, y->text) == 0 : z->number == y->number);
            break;
        case FACT_RATIO:
            assert_true(z->number == value(&both, i - 1)->number / value(&both, i - 2)->number);
            break;
        case FACT_EQUAL:
        case FACT_ALONE:
            assert_false(z->known);
            break;
        }
    }
    facts_release(&both);
    fill(&both, 0);
    facts_merge(&both, &a);
    for (unsigned i = 0; i < FACTS; i++)
        if (fact_of(i)->merge == FACT_EQUAL)
            assert_true(value(&both, i)->known);
    facts_merge(&both, &nothing);
    for (unsigned i = 0; i < FACTS; i++) {
        const struct fact *fact = fact_of(i);
        bool most = fact->merge == FACT_MAX, either = most || fact->merge == FACT_MIN;
        bool decided = fact->kind == FACT_YES && either && value(&a, i)->yes == most;
        assert_int_equal(value(&both, i)->known,
                         fact->merge == FACT_FIRST || fact->merge == FACT_LAST || decided);
    }
    facts_release(&a);
    facts_release(&b);
    facts_release(&both);
}

/* Percentiles are those of one distribution with all values, bit for bit, also behind a document.
 */
static void distributions_are_added(void **state)
{
    struct hist *all = hist_create();
    struct facts a, b, back = {0};

    (void)state;
    fill(&a, 0);
    fill(&b, 4711);
    assert_int_equal(hist_merge(all, a.of[FACT_STEP_READ].hist), 0);
    assert_int_equal(hist_merge(all, b.of[FACT_STEP_READ].hist), 0);
    facts_merge(&a, &b);
    char *text = document(&a);
    read_back(&back, text);
    const struct hist *sum = back.of[FACT_STEP_READ].hist;
    assert_int_equal(hist_count(sum), 200);
    for (uint32_t ppm = 0; ppm <= 1000000; ppm += 12500)
        assert_int_equal(hist_percentile(sum, ppm), hist_percentile(all, ppm));
    free(text);
    hist_free(all);
    facts_release(&a);
    facts_release(&b);
    facts_release(&back);
}

/* A run that says nothing takes away the facts that all must have. */
static void one_says_nothing(void **state)
{
    struct facts f;

    (void)state;
    fill(&f, 0);
    facts_put_yes(&f, FACT_VALID, false);
    facts_put_yes(&f, FACT_COMPLETE, true);
    facts_merge(&f, NULL);
    assert_true(f.of[FACT_VALID].known && !f.of[FACT_VALID].yes);
    assert_false(f.of[FACT_COMPLETE].known);
    assert_false(f.of[FACT_DIGEST].known);
    assert_true(f.of[FACT_ROWS].known && f.of[FACT_ELAPSED_S].known && f.of[FACT_GAPS].known);
    facts_release(&f);
}

/* One unit, the parts that are something, and what no device moved. */
static void where_bytes_came_from(void **state)
{
    const double gib = 1024.0 * 1024 * 1024;
    struct origin o = {.asked = 41.2 * gib, .part = {40.9 * gib, 0.3 * gib}};
    struct facts f = {0};
    char text[ORIGIN_TEXT];

    (void)state;
    assert_string_equal(origin_text(text, &o), "41.2 GiB asked = 40.9 device + 0.3 page cache");
    assert_true(fabs(origin_not_device(&o) - 0.3 / 41.2) < 1e-12);
    origin_put(&f, FACTS_OF_WRITES, &o);
    assert_true(f.there[FACTS_OF_WRITES] && !f.there[FACTS_OF_READS]);
    assert_int_equal(f.of[FACT_WRITES_ASKED].count, (uint64_t)o.asked);
    assert_int_equal(f.of[FACT_WRITES_PAGE_CACHE].count, (uint64_t)o.part[ORIGIN_PAGE_CACHE]);
    for (unsigned i = 0; i < ORIGIN_PARTS; i++) {
        assert_int_equal(fact_of(origin_fact(FACTS_OF_READS, i))->scope, FACTS_OF_READS);
        assert_int_equal(fact_of(origin_fact(FACTS_OF_WRITES, i))->scope, FACTS_OF_WRITES);
    }

    /* Nothing from the device is worth telling where the device was asked. */
    o = (struct origin){.asked = 100, .part = {[ORIGIN_CACHE_BELOW] = 60, [ORIGIN_MEMORY] = 40}};
    assert_string_equal(origin_text(text, &o),
                        "100 B asked = 0 device + 60 cache below + 40 memory");
    assert_true(origin_not_device(&o) == 1);
    o = (struct origin){.asked = 100, .part = {[ORIGIN_SERVER] = 60, [ORIGIN_UNKNOWN] = 40}};
    assert_string_equal(origin_text(text, &o), "100 B asked = 60 server + 40 not known");
    assert_true(origin_not_device(&o) == 0);
    o = (struct origin){.asked = 0};
    assert_string_equal(origin_text(text, &o), "");
    o.asked = NAN;
    assert_string_equal(origin_text(text, &o), "");
    assert_string_equal(origin_hits_text(text, 200, 50),
                        "75.0 % of the bytes of hits never touched the device");
    assert_string_equal(origin_hits_text(text, 0, 0), "");
    assert_string_equal(origin_hits_text(text, 200, NAN), "");
}

/* Whether the page has the name as a word by itself. */
static bool has_word(const char *page, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = strstr(page, name); at; at = strstr(at + len, name))
        if (at > page && at[-1] == ' ' && strchr(" ,.\n", at[len]))
            return true;
    return false;
}

/* Adds the page to those before it. */
static void read_page(char pages[1 << 20], const char *path)
{
    size_t len = strlen(pages);
    FILE *in = fopen(path, "r");

    assert_non_null(in);
    pages[len + fread(pages + len, 1, (1 << 20) - len - 1, in)] = '\0';
    fclose(in);
}

static void every_fact_is_in_the_man_page(void **state)
{
    static char measured[1 << 20], told[1 << 20];

    (void)state;
    read_page(measured, "man/kvreplay.1");
    read_page(measured, "man/kvprecond.1");
    read_page(told, "man/kvstat.1");
    for (unsigned i = 0; i < FACTS; i++) {
        const struct fact *fact = fact_of(i);
        const char *dot = strrchr(fact->member, '.'), *name = dot ? dot + 1 : fact->member;
        const char *page = fact->scope == FACTS_OF_PROVENANCE ? told : measured;
        if (fact->scope != FACTS_OF_STEP && !has_word(page, name))
            fail_msg("%s is in no man page", fact->member);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fact_has_one_row),  cmocka_unit_test(through_a_file),
        cmocka_unit_test(what_is_not_known),       cmocka_unit_test(two_become_one),
        cmocka_unit_test(distributions_are_added), cmocka_unit_test(one_says_nothing),
        cmocka_unit_test(where_bytes_came_from),   cmocka_unit_test(every_fact_is_in_the_man_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
