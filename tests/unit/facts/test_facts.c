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
    return &f->of[fact_at(i)->id];
}

/* All facts are known, each with its own value; step makes those of another set. */
static void fill(struct facts *f, unsigned step)
{
    char text[32];

    *f = (struct facts){0};
    for (unsigned i = 0; i < FACTS; i++) {
        enum fact_id id = fact_at(i)->id;
        struct hist *h = hist_create();
        assert_non_null(h);
        switch (fact_at(i)->kind) {
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
        }
        hist_free(h);
    }
}

/* The summary with these facts. Free it. */
static char *document(const struct facts *f)
{
    struct jsonout *j = jsonout_create();
    char *text;

    assert_non_null(j);
    for (unsigned s = 0; s < FACT_SCOPES; s++)
        if (!strchr(fact_scope_path(s), '.'))
            facts_write(j, f, s);
    text = strdup(jsonout_text(j, false));
    assert_non_null(text);
    jsonout_free(j);
    return text;
}

static void read_back(struct facts *f, const char *text)
{
    struct jsonin *doc;

    assert_int_equal(jsonin_parse(&doc, text, strlen(text), "test", NULL), 0);
    facts_read(f, jsonin_root(doc));
    jsonin_free(doc);
}

static void every_fact_has_one_row(void **state)
{
    (void)state;
    for (unsigned i = 0; i < FACTS; i++) {
        assert_ptr_equal(fact_of(fact_at(i)->id), fact_at(i));
        for (unsigned k = 0; k < i; k++)
            assert_false(fact_at(i)->scope == fact_at(k)->scope &&
                         strcmp(fact_at(i)->member, fact_at(k)->member) == 0);
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
        snprintf(quoted, sizeof(quoted), "\"%s\":", fact_at(i)->member);
        assert_non_null(strstr(text, quoted));
        assert_true(value(&back, i)->known);
    }
    char *again = document(&back);
    assert_string_equal(again, text);
    free(again);
    free(text);
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
    both = a;
    facts_merge(&both, &b);
    for (unsigned i = 0; i < FACTS; i++) {
        const struct fact_value *x = value(&a, i), *y = value(&b, i), *z = value(&both, i);
        bool count = fact_at(i)->kind == FACT_COUNT;
        switch (fact_at(i)->merge) {
        case FACT_SUM:
            assert_true(count ? z->count == x->count + y->count
                              : z->number == x->number + y->number);
            break;
        case FACT_MAX:
            assert_true(count ? z->count == y->count : z->number == y->number);
            break;
        case FACT_LAST:
            assert_string_equal(z->text, y->text);
            break;
        case FACT_EQUAL:
        case FACT_ALONE:
            assert_false(z->known);
            break;
        }
    }
    both = a;
    facts_merge(&both, &a);
    for (unsigned i = 0; i < FACTS; i++)
        if (fact_at(i)->merge == FACT_EQUAL)
            assert_true(value(&both, i)->known);
    facts_merge(&both, &nothing);
    for (unsigned i = 0; i < FACTS; i++)
        assert_int_equal(value(&both, i)->known, fact_at(i)->merge == FACT_LAST);
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

static void every_fact_is_in_the_man_page(void **state)
{
    static char page[1 << 20];
    FILE *in = fopen("man/kvreplay.1", "r");

    (void)state;
    assert_non_null(in);
    page[fread(page, 1, sizeof(page) - 1, in)] = '\0';
    fclose(in);
    for (unsigned i = 0; i < FACTS; i++)
        if (!has_word(page, fact_at(i)->member))
            fail_msg("%s is not in kvreplay(1)", fact_at(i)->member);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fact_has_one_row), cmocka_unit_test(through_a_file),
        cmocka_unit_test(what_is_not_known),      cmocka_unit_test(two_become_one),
        cmocka_unit_test(where_bytes_came_from),  cmocka_unit_test(every_fact_is_in_the_man_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
