/* Who is to blame when a drive and its model differ: each cause is named when it can explain the
 * difference, and no other. A bug looked like busy processors blamed for a drive that was nine
 * times slower, or a drive blamed for what a cache did. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/answer/confirm.h"

static const struct confirm_model good = {.validity = "good"};

/* 200 reads in 20 s of P50 10 ms and P95 15 ms, times scale. */
static void fill(struct confirm_side *side, double scale)
{
    *side = (struct confirm_side){.elapsed_s = 20,
                                  .own_bytes = 1e9,
                                  .foreign_bytes = NAN,
                                  .largest_gap_s = NAN,
                                  .run_delay_s = NAN,
                                  .throttled_s = NAN,
                                  .cpu_quota = NAN,
                                  .bins = 40};
    struct confirm_op *read = &side->op[CONFIRM_READS];
    *read = (struct confirm_op){.samples = 200, .bytes = 1e9, .s = {0.01 * scale, 0.015 * scale}};
    for (unsigned p = 0; p < CONFIRM_PERCENTILES; p++) {
        read->above[p].answer = scale > 1.15 ? BOUNDS_BEYOND : BOUNDS_WITHIN;
        read->below[p].answer = scale < 0.85 ? BOUNDS_WITHIN : BOUNDS_BEYOND;
    }
    for (size_t i = 0; i < side->bins; i++)
        side->bin[i] = (struct confirm_bin){.ops = {5, 0},
                                            .p50_s = {0.01 * scale * (i % 2 ? 1.05 : 0.95), NAN}};
}

static struct confirm *create(double scale)
{
    struct confirm *c = calloc(1, sizeof(*c));
    assert_non_null(c);
    fill(&c->model, 1);
    fill(&c->drive, scale);
    return c;
}

static void doubt(struct validity_of *of, enum validity_state state)
{
    of->state = state;
    strcpy(of->why, "a reason");
}

/* Judges, and frees. */
static void expect(struct confirm *c, enum confirm_cause cause, enum confirm_answer answer)
{
    confirm_judge(c, &good, NULL);
    if (c->cause != cause || c->answer != answer)
        print_error("%s: %s\n", c->cause ? confirm_cause_word(c->cause) : "no cause", c->why);
    assert_int_equal(c->cause, cause);
    assert_int_equal(c->answer, answer);
    assert_int_equal(c->why[0] == '\0', answer == CONFIRM_AGREES);
    free(c);
}

static void limits(void **state)
{
    (void)state;
    expect(create(1), CONFIRM_NO_CAUSE, CONFIRM_AGREES);
    expect(create(1.14), CONFIRM_NO_CAUSE, CONFIRM_AGREES);
    expect(create(0.86), CONFIRM_NO_CAUSE, CONFIRM_AGREES);
    expect(create(1.16), CONFIRM_SLOWER, CONFIRM_DIFFERS);
    expect(create(0.84), CONFIRM_FASTER, CONFIRM_DIFFERS);
    struct confirm *c = create(1);
    c->drive.op[CONFIRM_READS].bytes = 0.8e9;
    expect(c, CONFIRM_SLOWER, CONFIRM_DIFFERS);
}

static void bytes(void **state)
{
    (void)state;
    struct confirm *c = create(1);
    doubt(&c->drive.storage, VALIDITY_UNRELIABLE);
    expect(c, CONFIRM_CACHE, CONFIRM_UNDECIDED);
    c = create(0.1);
    doubt(&c->drive.storage, VALIDITY_UNRELIABLE);
    c->drive.memory = true;
    expect(c, CONFIRM_MEMORY, CONFIRM_DIFFERS);
    c = create(1.4); /* from the drive, by way of the page cache */
    c->drive.buffered = true;
    expect(c, CONFIRM_CACHE, CONFIRM_DIFFERS);
    c = create(1);
    doubt(&c->drive.storage, VALIDITY_UNKNOWN);
    expect(c, CONFIRM_UNCOUNTED, CONFIRM_UNDECIDED);
    c = create(1);
    c->drive.failed = 1;
    expect(c, CONFIRM_FAILED, CONFIRM_UNDECIDED);
    c = create(1);
    c->drive.op[CONFIRM_READS] = (struct confirm_op){0};
    expect(c, CONFIRM_NOTHING, CONFIRM_UNDECIDED);
}

/* A run on another file system than the model's, or on one that changes the bytes, says nothing of
 * the drive, however near or far its times are. */
static void file_systems(void **state)
{
    (void)state;
    const struct confirm_model on_ext4 = {"good", NULL, "ext4"}, unknown = {"good", NULL, NULL};
    static const double scale[] = {1, 2, 0.5};
    for (size_t i = 0; i < sizeof(scale) / sizeof(scale[0]); i++) {
        struct confirm *c = create(scale[i]);
        strcpy(c->drive.file_system, "btrfs");
        confirm_judge(c, &on_ext4, NULL);
        assert_int_equal(c->cause, CONFIRM_FILE_SYSTEM);
        assert_int_equal(c->answer, scale[i] == 1 ? CONFIRM_UNDECIDED : CONFIRM_DIFFERS);
        assert_non_null(
            strstr(c->why, "this run was on btrfs, and the model was measured on ext4; "));
        confirm_judge(c, &unknown, NULL);
        assert_int_not_equal(c->cause, CONFIRM_FILE_SYSTEM);
        strcpy(c->drive.layers, "btrfs (compresses) on vda");
        c->drive.reduces = true;
        confirm_judge(c, &unknown, NULL);
        assert_int_equal(c->cause, CONFIRM_FILE_SYSTEM);
        assert_non_null(
            strstr(c->why, "the target (btrfs (compresses) on vda) is set to compress or "));
        free(c);
    }
    struct confirm *c = create(1); /* the same one */
    strcpy(c->drive.file_system, "ext4");
    confirm_judge(c, &on_ext4, NULL);
    assert_int_equal(c->answer, CONFIRM_AGREES);
    doubt(&c->drive.storage, VALIDITY_UNRELIABLE); /* a cache says more */
    c->drive.reduces = true;
    confirm_judge(c, &on_ext4, NULL);
    assert_int_equal(c->cause, CONFIRM_CACHE);
    free(c);
}

static void processors(void **state)
{
    (void)state;
    struct confirm *c = create(1.4);
    c->drive.processor_share = 0.06;
    expect(c, CONFIRM_PROCESSORS, CONFIRM_DIFFERS);
    c = create(9); /* 120 ms more, and no wait as long */
    c->drive.processor_share = 0.06;
    c->drive.largest_gap_s = 0.05;
    expect(c, CONFIRM_SLOWER, CONFIRM_DIFFERS);
    c = create(0.5); /* nothing that disturbs a run makes it faster */
    c->drive.processor_share = 0.5;
    expect(c, CONFIRM_FASTER, CONFIRM_DIFFERS);
    c = create(1.1);
    c->drive.processor_share = 0.5;
    expect(c, CONFIRM_NO_CAUSE, CONFIRM_AGREES);
    c = create(1); /* near, but pauses moved it */
    doubt(&c->drive.times, VALIDITY_UNRELIABLE);
    c->drive.largest_gap_s = 0.03;
    expect(c, CONFIRM_PROCESSORS, CONFIRM_UNDECIDED);
    c = create(1.05); /* near without them, too */
    doubt(&c->drive.times, VALIDITY_UNRELIABLE);
    c->drive.largest_gap_s = 0.0005;
    expect(c, CONFIRM_NO_CAUSE, CONFIRM_AGREES);
    c = create(1);
    doubt(&c->drive.times, VALIDITY_UNRELIABLE);
    c->drive.largest_gap_s = 1;
    expect(c, CONFIRM_STOPPED, CONFIRM_UNDECIDED);
    c = create(1);
    doubt(&c->drive.times, VALIDITY_UNKNOWN);
    expect(c, CONFIRM_DOUBTED, CONFIRM_UNDECIDED);
    c = create(1); /* not stopped: it waited for a processor */
    doubt(&c->drive.times, VALIDITY_UNRELIABLE);
    c->drive.largest_gap_s = 0.2;
    c->drive.run_delay_s = 4;
    expect(c, CONFIRM_PROCESSORS, CONFIRM_UNDECIDED);
    c = create(2);
    c->drive.throttled_s = 5;
    c->drive.cpu_quota = 0.5;
    expect(c, CONFIRM_QUOTA, CONFIRM_DIFFERS);
    c = create(2); /* 1 % of the run */
    c->drive.throttled_s = 0.2;
    expect(c, CONFIRM_SLOWER, CONFIRM_DIFFERS);
}

static void others(void **state)
{
    (void)state;
    struct confirm *c = create(2);
    c->drive.foreign_bytes = 2e9;
    expect(c, CONFIRM_FOREIGN, CONFIRM_DIFFERS);
    c = create(1.1); /* they did no harm */
    c->drive.foreign_bytes = 2e9;
    expect(c, CONFIRM_NO_CAUSE, CONFIRM_AGREES);
    c = create(9); /* nor so much */
    c->drive.foreign_bytes = 0.2e9;
    expect(c, CONFIRM_SLOWER, CONFIRM_DIFFERS);
    c = create(2);
    c->drive.foreign_bytes = 0.09e9;
    expect(c, CONFIRM_SLOWER, CONFIRM_DIFFERS);
    c = create(0.5);
    doubt(&c->model.times, VALIDITY_UNRELIABLE);
    expect(c, CONFIRM_MODEL_RUN, CONFIRM_DIFFERS);
    c = create(2); /* that would have made the model slower */
    doubt(&c->model.times, VALIDITY_UNRELIABLE);
    expect(c, CONFIRM_SLOWER, CONFIRM_DIFFERS);
}

static void slowed(void **state)
{
    (void)state;
    struct confirm *c = create(2);
    for (size_t i = 0; i < 20; i++)
        c->drive.bin[i] = c->model.bin[i];
    c->drive.bin[19].written_bytes = 3.5e9;
    confirm_judge(c, &good, NULL);
    assert_non_null(strstr(c->why, "slower after 10.0 s and 3.5 GB written"));
    expect(c, CONFIRM_SLOWED, CONFIRM_DIFFERS);
    c = create(2); /* it became faster */
    for (size_t i = 20; i < 40; i++)
        c->drive.bin[i] = c->model.bin[i];
    expect(c, CONFIRM_SLOWER, CONFIRM_DIFFERS);
    c = create(2); /* half a second is no change */
    for (size_t i = 0; i < 39; i++)
        c->drive.bin[i] = c->model.bin[i];
    expect(c, CONFIRM_SLOWER, CONFIRM_DIFFERS);
    c = create(2); /* nor is noise */
    for (size_t i = 0; i < 40; i++)
        c->drive.bin[i].p50_s[CONFIRM_READS] *= i * 7 % 5 ? 0.7 : 3;
    expect(c, CONFIRM_SLOWER, CONFIRM_DIFFERS);
}

static void samples(void **state)
{
    (void)state;
    struct confirm *c = create(1);
    c->drive.op[CONFIRM_READS].samples = 58;
    confirm_judge(c, &good, NULL);
    assert_string_equal(c->why, "only 58 reads in 20 s; 59 would decide: run for 25 s");
    expect(c, CONFIRM_FEW, CONFIRM_UNDECIDED);
    c = create(1.3); /* too few to be sure that it differs */
    for (unsigned p = 0; p < CONFIRM_PERCENTILES; p++)
        c->drive.op[CONFIRM_READS].above[p] =
            (struct bounds){.answer = BOUNDS_UNDECIDED, .samples_to_decide = 800};
    confirm_judge(c, &good, NULL);
    assert_non_null(strstr(c->why, "only 200 reads in 20 s; 800 would decide: run for 80 s"));
    expect(c, CONFIRM_FEW, CONFIRM_UNDECIDED);
    c = create(1); /* of writes, which are named then */
    c->drive.op[CONFIRM_WRITES] = (struct confirm_op){.samples = 70, .bytes = 1, .s = {2, 2}};
    c->model.op[CONFIRM_WRITES] = (struct confirm_op){.samples = 70, .bytes = 1, .s = {1, 1}};
    for (unsigned p = 0; p < CONFIRM_PERCENTILES; p++)
        c->drive.op[CONFIRM_WRITES].above[p] =
            (struct bounds){.answer = BOUNDS_UNDECIDED, .samples_to_decide = 140};
    confirm_judge(c, &good, NULL);
    assert_non_null(strstr(c->why, "only 70 writes in 20 s; 140 would decide: run for 40 s"));
    free(c);
    c = create(1); /* ten writes that differ tell nothing */
    c->drive.op[CONFIRM_WRITES] = (struct confirm_op){.samples = 10, .bytes = 1, .s = {9, 9}};
    c->model.op[CONFIRM_WRITES] = (struct confirm_op){.samples = 10, .bytes = 1, .s = {1, 1}};
    expect(c, CONFIRM_NO_CAUSE, CONFIRM_AGREES);
    c = create(1);
    c->drive.op[CONFIRM_WRITES] =
        (struct confirm_op){.samples = 59,
                            .bytes = 1,
                            .s = {9, 9},
                            .above = {{.answer = BOUNDS_BEYOND}, {.answer = BOUNDS_BEYOND}}};
    c->model.op[CONFIRM_WRITES] = (struct confirm_op){.samples = 59, .bytes = 1, .s = {1, 1}};
    expect(c, CONFIRM_SLOWER, CONFIRM_DIFFERS);
}

static void models(void **state)
{
    (void)state;
    struct confirm *c = create(2);
    confirm_judge(c, &(struct confirm_model){.validity = "unreliable: others wrote"}, NULL);
    assert_int_equal(c->cause, CONFIRM_MODEL);
    fill(&c->drive, 1);
    confirm_judge(c, &(struct confirm_model){.validity = "unreliable: others wrote"}, NULL);
    assert_int_equal(c->answer, CONFIRM_AGREES);
    fill(&c->drive, 2);
    confirm_judge(c, &(struct confirm_model){.started = "2026-01-01"}, NULL);
    assert_non_null(strstr(c->why, "slower than when its model was measured, 2026-01-01; "));
    free(c);
}

static void measured_again(void **state)
{
    (void)state;
    struct confirm_again again[] = {{4194304, 16, 0, 2e9, 1.5e9}, {4194304, 4, 1, 2e9, 2.6e9}};
    struct confirm *c = create(1.3);
    confirm_judge(c, &(struct confirm_model){"good", "2026-01-01", NULL}, again);
    assert_int_equal(c->cause, CONFIRM_CHANGED);
    assert_int_equal(c->answer, CONFIRM_DIFFERS);
    assert_non_null(strstr(c->why,
                           "the drive has changed by 25 %: writes of 4.00 MiB, 16 in flight, "
                           "move 1.5 GB/s now, and moved 2 GB/s when its model was "
                           "measured, 2026-01-01; "));
    again[0].now = 1.9e9;
    confirm_judge(c, &good, again);
    assert_int_equal(c->cause, CONFIRM_UNFIT);
    again[0].now = 2.5e9; /* it is faster, and that explains nothing */
    confirm_judge(c, &good, again);
    assert_int_equal(c->cause, CONFIRM_UNFIT);
    again[0].now = NAN; /* no point in common */
    confirm_judge(c, &good, again);
    assert_int_equal(c->cause, CONFIRM_SLOWER);
    again[0].now = 1.5e9; /* nothing differs: nothing is to explain */
    fill(&c->drive, 1);
    confirm_judge(c, &good, again);
    assert_int_equal(c->answer, CONFIRM_AGREES);
    fill(&c->drive, 1.4); /* what disturbed the run comes first */
    c->drive.processor_share = 0.06;
    confirm_judge(c, &good, again);
    assert_int_equal(c->cause, CONFIRM_PROCESSORS);
    free(c);
}

static void causes_have_words(void **state)
{
    (void)state;
    for (unsigned a = CONFIRM_NO_CAUSE + 1; a < CONFIRM_CAUSES; a++)
        for (unsigned b = a + 1; b < CONFIRM_CAUSES; b++)
            assert_string_not_equal(confirm_cause_word((enum confirm_cause)a),
                                    confirm_cause_word((enum confirm_cause)b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits),         cmocka_unit_test(bytes),
        cmocka_unit_test(file_systems),   cmocka_unit_test(processors),
        cmocka_unit_test(others),         cmocka_unit_test(slowed),
        cmocka_unit_test(samples),        cmocka_unit_test(models),
        cmocka_unit_test(measured_again), cmocka_unit_test(causes_have_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
