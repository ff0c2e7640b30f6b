/* Room of the GPUs of --gpu together: --gpu-mem-gb is of each, what the trace says or needs is of
 * all. A bug looked like a trace refused for which two GPUs have room. Host memory takes the peak
 * of the trace or what was asked for, whichever is less, and unasked at most half of what is free.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "kvreplay/prepare/tiers.h"
#include "lib/base/units.h"
#include "lib/io/process_limits.h"
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

/* A bug looked like 9.8 GB for a trace that needs 332 MiB, since 64 of its largest objects were
 * added. */
static void memory_is_the_peak_or_what_was_asked_for(void **state)
{
    (void)state;
    const char *says = "{\"tiers\":[{\"tier\":\"Tier-1\",\"capacity_bytes\":34359738368}]}";
    struct survey s = {.room[TRACE_CPU] = {.peak = UNITS_MIB * 64, .peak_objects = 4},
                       .largest[TRACE_CPU] = UNITS_MIB * 32,
                       .stored_bytes[TRACE_CPU] = UNITS_MIB * 80};
    struct err e = {0};

    for (unsigned asked_gib = 0; asked_gib < 2; asked_gib++) {
        struct tiers t = {.o = {.gib = {[TRACE_CPU] = asked_gib}, .inflight = 64},
                          .surveyed = &s,
                          .choice[TRACE_CPU] = {.kind = TIERS_HOST}};
        assert_int_equal(tiers_size(&t, says, &e), 0);
        assert_int_equal(t.arena[TRACE_CPU], UNITS_MIB * 64);
        assert_int_equal(t.room[TRACE_CPU].capacity, UNITS_MIB * 64);
        /* Requests in another order may need all that is ever stored, and no more. */
        t.o.any_order = true;
        assert_int_equal(tiers_size(&t, says, &e), 0);
        assert_int_equal(t.arena[TRACE_CPU], UNITS_MIB * 80);
    }
}

static void half_of_the_free_memory_is_taken_unasked_at_most(void **state)
{
    (void)state;
    uint64_t peak = memory_available() / 8 * 5;
    struct survey s = {.room[TRACE_CPU] = {.peak = peak, .peak_objects = 1},
                       .largest[TRACE_CPU] = peak,
                       .stored_bytes[TRACE_CPU] = peak};
    struct tiers t = {
        .o = {.inflight = 64}, .surveyed = &s, .choice[TRACE_CPU] = {.kind = TIERS_HOST}};
    struct err e = {0};

    assert_int_equal(tiers_size(&t, NULL, &e), -ENOSPC);
    assert_non_null(strstr(e.what, "half of the free memory"));
    assert_non_null(strstr(e.what, "--cpu-mem "));

    t.surveyed = NULL; /* from a pipe */
    assert_int_equal(tiers_size(&t, NULL, &e), 0);
    assert_true(t.arena[TRACE_CPU] < peak);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_asked_for_is_of_each_gpu),
        cmocka_unit_test(what_the_trace_says_is_of_all),
        cmocka_unit_test(memory_is_the_peak_or_what_was_asked_for),
        cmocka_unit_test(half_of_the_free_memory_is_taken_unasked_at_most),
        cmocka_unit_test(an_arena_from_a_pipe_is_hardly_larger_than_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
