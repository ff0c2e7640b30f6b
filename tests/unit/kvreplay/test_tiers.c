/* What the GPUs of --gpu have together: --gpu-mem-gb is of each, what the trace says or needs is of
 * all. A bug looked like a trace refused for which two GPUs have room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "kvreplay/tiers.h"
#include "lib/base/units.h"
#include "lib/tier/arena.h"

/* Tier-0 on so many GPUs, of --gpu-mem-gb gb each, for a trace that needs peak bytes. */
static int size_gpus(struct tiers *t, unsigned gpus, double gb, uint64_t peak,
                     const char *provenance, struct err *e)
{
    struct survey s = {.room[TRACE_GPU] = {.peak = peak, .peak_objects = 1},
                       .largest[TRACE_GPU] = peak};
    *t = (struct tiers){.o = {.gib = {gb}, .inflight = 64},
                        .surveyed = &s,
                        .choice[TRACE_GPU] = {.kind = TIERS_GPU, .gpus = gpus}};
    int rc = tiers_size(t, provenance, e);
    t->surveyed = NULL;
    return rc;
}

static void what_was_asked_for_is_of_each_gpu(void **state)
{
    (void)state;
    struct tiers t;
    struct err e = {0};
    assert_int_equal(size_gpus(&t, 1, 2, 5 * UNITS_GIB, NULL, &e), -ENOSPC);
    assert_non_null(strstr(e.what, "has 2.00 GiB"));
    assert_int_equal(size_gpus(&t, 2, 2, 5 * UNITS_GIB, NULL, &e), -ENOSPC);
    assert_non_null(strstr(e.what, "has 4.00 GiB"));
    assert_int_equal(size_gpus(&t, 3, 2, 5 * UNITS_GIB, NULL, &e), 0);
    assert_int_equal(t.room[TRACE_GPU].capacity, 6 * UNITS_GIB);
    assert_int_equal(t.arena[TRACE_GPU], 6 * UNITS_GIB);
}

static void what_the_trace_says_is_of_all(void **state)
{
    (void)state;
    struct tiers t;
    struct err e = {0};
    const char *provenance = "{\"tiers\":[{\"tier\":\"Tier-0\",\"capacity_bytes\":8589934592}]}";
    assert_int_equal(size_gpus(&t, 3, 0, 5 * UNITS_GIB, provenance, &e), 0);
    assert_int_equal(t.room[TRACE_GPU].capacity, 8 * UNITS_GIB);
    assert_int_equal(size_gpus(&t, 3, 0, 5 * UNITS_GIB, NULL, &e), 0);
    assert_int_equal(t.room[TRACE_GPU].capacity, 5 * UNITS_GIB);
}

/* A bug looked like this: arenas a quarter larger than asked for, which no GPU has room for. */
static void an_arena_from_a_pipe_is_hardly_larger_than_asked_for(void **state)
{
    (void)state;
    struct tiers t = {.o = {.gib = {2, 1}, .inflight = 64},
                      .choice = {{.kind = TIERS_GPU, .gpus = 2}, {.kind = TIERS_HOST}}};
    struct err e = {0};
    uint64_t asked[] = {4 * UNITS_GIB, UNITS_GIB};

    assert_int_equal(tiers_size(&t, NULL, &e), 0);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t bytes = arena_bytes(t.arena[i], t.slack_objects[i], 1);
        assert_true(bytes > asked[i] && bytes < asked[i] + asked[i] / 50);
        assert_true(t.room[i].blocks && t.room[i].capacity < bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_asked_for_is_of_each_gpu),
        cmocka_unit_test(what_the_trace_says_is_of_all),
        cmocka_unit_test(an_arena_from_a_pipe_is_hardly_larger_than_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
