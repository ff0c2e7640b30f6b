/* A single rank tells rank 0 at the end its head and its document. A rank without a document is
 * there all the same. A bug looked like a rank that was called lost because its run had failed
 * before it had a summary. */
#include "lib/ranks/documents.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void one_rank(void **state)
{
    static const char *const texts[] = {"{\"elapsed_s\":3}", NULL};
    struct ranks *ranks;
    struct err e = {0};
    int argc = 0;
    char **argv = NULL;

    (void)state;
    assert_int_equal(ranks_open(&ranks, &argc, &argv, &e), 0);
    for (unsigned i = 0; i < 2; i++) {
        struct documents d;
        int head = 7;
        assert_int_equal(documents_gather(&d, ranks, &head, sizeof(head), texts[i], &e), 0);
        assert_int_equal(d.count, 1);
        assert_int_equal(head, 7);
        assert_false(d.run[0].missing);
        assert_int_equal(d.run[0].doc != NULL, texts[i] != NULL);
        if (d.run[0].doc) {
            assert_string_equal(d.run[0].text, texts[i]);
            struct facts f = {0};
            facts_read(&f, d.run[0].doc);
            assert_true(facts_number(&f, FACT_ELAPSED_S) == 3);
        }
        documents_free(&d);
        assert_int_equal(documents_gather(&d, ranks, NULL, 0, texts[i], &e), 0);
        assert_false(d.run[0].missing);
        documents_free(&d);
    }
    ranks_close(ranks, 0);
}

static void no_document(void **state)
{
    struct documents d;
    struct ranks *ranks;
    struct err e = {0};
    int argc = 0;
    char **argv = NULL;

    (void)state;
    assert_int_equal(ranks_open(&ranks, &argc, &argv, &e), 0);
    assert_true(documents_gather(&d, ranks, NULL, 0, "{\"cut", &e) < 0);
    assert_string_equal(e.where, "summary of a rank:1");
    documents_free(&d);
    ranks_close(ranks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank),
        cmocka_unit_test(no_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
