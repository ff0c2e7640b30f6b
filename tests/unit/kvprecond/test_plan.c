/* Which bytes each write is: in every mode a pass covers its region exactly once, whatever the
 * sizes of region, files, writes and objects; random order is a permutation, another one in each
 * pass and for each seed; no two blocks of two passes have the same contents. A bug looked like
 * this: the short last write of a device written past its end, two threads given the same block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "kvprecond/plan.h"

#define BLOCK ((uint64_t)DATA_BLOCK)

/* Marks the blocks that one pass writes, over all files; each must be written once. */
static void check_pass(const struct plan *p, uint64_t pass)
{
    const uint64_t blocks = plan_pass_bytes(p) / BLOCK;
    unsigned char *seen = calloc(blocks, 1);
    uint64_t count = 0;

    assert_non_null(seen);
    for (uint64_t unit = pass * p->pass_units; unit < (pass + 1) * p->pass_units; unit++) {
        uint64_t at = 0, writes = 0;
        struct plan_part part;

        do {
            part = plan_part(p, unit, at);
            assert_int_equal(part.pass, pass);
            assert_true(part.len > 0 && part.len <= p->o.write_bytes && part.len % BLOCK == 0);
            assert_true(part.offset + part.len <= plan_file_bytes(p, part.file));
            for (uint32_t i = 0; i < part.len; i += DATA_BLOCK) {
                uint64_t in = part.file * plan_file_bytes(p, 0) + part.offset + i;

                assert_true(in / BLOCK < blocks);
                assert_int_equal(seen[in / BLOCK]++, 0);
                count++;
            }
            at += part.len;
            writes++;
        } while (!part.last);
        assert_int_equal(writes, p->writes_per_unit);
    }
    assert_int_equal(count, blocks);
    free(seen);
}

static struct plan plan_of(struct plan_opts o)
{
    struct plan p;

    o.file_bytes = o.file_bytes ? o.file_bytes : o.region;
    o.volume = o.volume ? o.volume : o.region;
    plan_init(&p, &o);
    return p;
}

static void test_passes_cover_the_region(void **state)
{
    static const uint64_t regions[] = {1, 2, 3, 7, 64, 100, 257, 1000};
    static const uint64_t files[] = {0, 1, 5, 16, 300};
    static const uint32_t writes[] = {1, 4, 16};

    (void)state;
    for (size_t m = PLAN_SEQUENTIAL; m <= PLAN_RANDOM; m++)
        for (size_t r = 0; r < 8; r++)
            for (size_t f = 0; f < 5; f++)
                for (size_t w = 0; w < 3; w++) {
                    struct plan p =
                        plan_of((struct plan_opts){.mode = (enum plan_mode)m,
                                                   .region = regions[r] * BLOCK,
                                                   .file_bytes = files[f] * BLOCK,
                                                   .write_bytes = writes[w] * DATA_BLOCK});

                    assert_int_equal(p.units, p.pass_units);
                    check_pass(&p, 0);
                    check_pass(&p, 3);
                }
}

static void test_objects(void **state)
{
    struct plan_opts o = {.mode = PLAN_KV,
                          .region = 70 * BLOCK,
                          .volume = 71 * BLOCK,
                          .object_bytes = 10 * BLOCK,
                          .write_bytes = 4 * DATA_BLOCK,
                          .file_per_object = true};
    struct plan p = plan_of(o);
    struct plan_part part;

    (void)state;
    assert_int_equal(p.pass_units, 7);
    assert_int_equal(p.units, 8); /* rounded up to objects */
    assert_int_equal(p.writes_per_unit, 3);
    assert_int_equal(plan_volume_bytes(&p), 80 * BLOCK);
    assert_int_equal(plan_files(&p), 7);
    check_pass(&p, 0);
    part = plan_part(&p, 9, 8 * BLOCK);
    assert_int_equal(part.pass, 1);
    assert_int_equal(part.file, 2);
    assert_int_equal(part.offset, 8 * BLOCK);
    assert_int_equal(part.len, 2 * BLOCK);
    assert_true(part.last);

    o.file_per_object = false; /* a device of 75 blocks: 5 are left over */
    o.region = 75 * BLOCK;
    p = plan_of(o);
    assert_int_equal(plan_files(&p), 1);
    assert_int_equal(plan_pass_bytes(&p), 70 * BLOCK);
    check_pass(&p, 1);
    part = plan_part(&p, 9, 8 * BLOCK);
    assert_int_equal(part.file, 0);
    assert_int_equal(part.offset, 28 * BLOCK);
    assert_int_equal(part.first_block, 8); /* of the object, wherever it lies */
}

/* A device of 10 blocks: twice, or a part of a pass in whole writes. */
static void test_volume(void **state)
{
    struct plan_opts o = {
        .region = 10 * BLOCK, .volume = 20 * BLOCK, .write_bytes = 4 * DATA_BLOCK};
    struct plan p = plan_of(o);

    (void)state;
    assert_int_equal(p.units, 6);
    assert_int_equal(plan_volume_bytes(&p), 20 * BLOCK);
    o.volume = 15 * BLOCK;
    p = plan_of(o);
    assert_int_equal(p.units, 5);
    assert_int_equal(plan_volume_bytes(&p), 18 * BLOCK);
    o.volume = 3 * BLOCK;
    p = plan_of(o);
    assert_int_equal(p.units, 1);
    assert_int_equal(plan_part(&p, 2, 0).len, 2 * BLOCK);
    assert_int_equal(plan_part(&p, 3, 0).offset, 0);
}

/* A random order leaves about one of 4,096 positions where it was, and follows about one by its
 * neighbour; a stride or a rotation would show. */
static void test_random_order(void **state)
{
    struct plan_opts o = {.mode = PLAN_RANDOM, .region = 4096 * BLOCK, .write_bytes = DATA_BLOCK};
    struct plan p = plan_of(o), other;
    unsigned same = 0, next = 0, as_pass = 0, as_seed = 0;

    (void)state;
    o.seed = 1;
    other = plan_of(o);
    for (uint64_t i = 0; i < 4096; i++) {
        uint64_t at = plan_part(&p, i, 0).offset / BLOCK;

        same += at == i;
        next += plan_part(&p, i + 1, 0).offset / BLOCK == at + 1;
        as_pass += plan_part(&p, i + 4096, 0).offset / BLOCK == at;
        as_seed += plan_part(&other, i, 0).offset / BLOCK == at;
    }
    assert_true(same < 16);
    assert_true(next < 16);
    assert_true(as_pass < 16);
    assert_true(as_seed < 16);
}

static bool same_contents(const struct plan_part *a, const struct plan_part *b)
{
    return memcmp(&a->id, &b->id, sizeof(a->id)) == 0 && a->first_block == b->first_block;
}

static void test_contents(void **state)
{
    struct plan_opts o = {
        .region = 32 * BLOCK, .file_bytes = 16 * BLOCK, .write_bytes = DATA_BLOCK, .seed = 1};
    struct plan p = plan_of(o), other;
    struct plan_part one = plan_part(&p, 3, 0), part;

    (void)state;
    part = plan_part(&p, 3 + 16, 0); /* the same offset of another file */
    assert_int_equal(part.offset, one.offset);
    assert_false(same_contents(&one, &part));
    part = plan_part(&p, 3 + 32, 0); /* the same place in the next pass */
    assert_int_equal(part.file, one.file);
    assert_false(same_contents(&one, &part));
    o.seed = 2;
    other = plan_of(o);
    part = plan_part(&other, 3, 0);
    assert_false(same_contents(&one, &part));
    part = plan_part(&p, 3, 0);
    assert_true(same_contents(&one, &part));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passes_cover_the_region),
        cmocka_unit_test(test_objects),
        cmocka_unit_test(test_volume),
        cmocka_unit_test(test_random_order),
        cmocka_unit_test(test_contents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
