/* A slab's header and index: what was kept is found again, bytes and order of extents included, and
 * nothing that does not hold together is believed. Bugs looked like: an index whose extents overlap
 * taken for granted, so that two objects shared a block; an index cut at a segment's end. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/layout/slab.h"

#define SPACE ((uint64_t)64 << 20)
#define BLOCK 4096u

static int scratch(void)
{
    int fd = memfd_create("slab", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)layout_slab_bytes(SPACE, 0)), 0);
    return fd;
}

static struct layout_slab *open_slab(int fd, uint64_t space, bool resizes)
{
    struct layout_slab_opts o = {
        .fd = fd, .space_bytes = space, .resizes = resizes, .index_bytes = 2 << 20};
    struct layout_slab *s = NULL;
    struct err e = {0};

    assert_int_equal(layout_slab_open(&s, &o, &e), 0);
    return s;
}

static uint64_t found_in(const struct layout_slab *s)
{
    uint64_t bytes;

    return layout_slab_found(s, &bytes);
}

#define GENERATION 12345

static uint32_t adopt(struct layout_slab *s, struct hash128 name)
{
    uint64_t generation = 0;
    uint32_t list = layout_slab_adopt(s, name, &generation);

    assert_true(list == 0 || generation == GENERATION);
    return list;
}

static struct hash128 name_of(uint64_t i)
{
    return hash_128(&i, sizeof(i));
}

/* Objects of one to nine blocks, every second one in two pieces. */
static void fill(struct layout_slab *s, unsigned objects, uint32_t *list)
{
    uint64_t at = 0;

    for (unsigned i = 0; i < objects; i++) {
        uint64_t len = (i % 9 + 1) * (uint64_t)BLOCK;
        uint32_t last = 0;

        list[i] = 0;
        if (i % 2)
            assert_int_equal(extent_claim(layout_slab_pool(s), SPACE - (i + 1) * (uint64_t)BLOCK,
                                          BLOCK, &list[i], &last),
                             0);
        assert_int_equal(extent_claim(layout_slab_pool(s), at, len, &list[i], &last), 0);
        at += len;
    }
}

static void keep_all(struct layout_slab *s, unsigned objects, const uint32_t *list)
{
    for (unsigned i = 0; i < objects; i++)
        layout_slab_measure(s, list[i]);
    for (unsigned i = 0; i < objects; i++)
        assert_int_equal(layout_slab_keep(s, name_of(i), GENERATION, list[i]), 0);
    assert_int_equal(layout_slab_kept(s), 0);
}

/* An index whose names all begin at one place of a table that takes them as they are. A bug looked
 * like minutes for a file of some MiB. */
static void test_crafted_names(void **state)
{
    (void)state;
    enum {
        OBJECTS = 400000
    };
    const uint64_t space = (uint64_t)OBJECTS * BLOCK;
    int fd = memfd_create("slab", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)layout_slab_bytes(space, 0)), 0);
    struct layout_slab *s = open_slab(fd, space, true);
    for (uint64_t i = 0; i < OBJECTS; i++) {
        uint32_t list = 0, last = 0;
        assert_int_equal(extent_claim(layout_slab_pool(s), i * BLOCK, BLOCK, &list, &last), 0);
        assert_int_equal(
            layout_slab_keep(s, (struct hash128){.lo = 7, .hi = i << 40}, GENERATION, list), 0);
    }
    assert_int_equal(layout_slab_kept(s), 0);
    layout_slab_close(s);
    s = open_slab(fd, space, true);
    assert_int_equal(found_in(s), OBJECTS);
    assert_true(adopt(s, (struct hash128){.lo = 7, .hi = UINT64_C(5) << 40}) != 0);
    layout_slab_close(s);
    close(fd);
}

static void test_kept_and_found(void **state)
{
    enum {
        OBJECTS = 1500
    };
    uint32_t *list = calloc(OBJECTS, sizeof(*list));
    int fd = scratch();
    struct layout_slab *s = open_slab(fd, SPACE, true);
    struct layout_slab_header h = {0};
    char block[BLOCK];

    (void)state;
    assert_non_null(list);
    assert_int_equal(layout_slab_read_header(fd, &h), -ENOENT);
    fill(s, OBJECTS, list);
    uint64_t left = extent_free_bytes(layout_slab_pool(s));
    keep_all(s, OBJECTS, list);
    layout_slab_close(s);
    assert_int_equal(layout_slab_read_header(fd, &h), 0);
    assert_true(h.kept && h.resizes && h.space_bytes == SPACE);
    assert_int_equal(pread(fd, block, BLOCK, 0), BLOCK);
    assert_true(layout_slab_is_ours(block));
    block[9] ^= 1;
    assert_false(layout_slab_is_ours(block));

    s = open_slab(fd, SPACE, true);
    assert_int_equal(found_in(s), OBJECTS);
    assert_int_equal(extent_free_bytes(layout_slab_pool(s)), left);
    for (unsigned i = 0; i < OBJECTS; i++) {
        uint32_t pos = adopt(s, name_of(i));
        struct extent x;

        assert_int_equal(extent_bytes(layout_slab_pool(s), pos), (i % 9 + 1 + i % 2) * BLOCK);
        assert_true(extent_walk(layout_slab_pool(s), &pos, &x));
        if (i % 2)
            assert_int_equal(x.offset, SPACE - (i + 1) * (uint64_t)BLOCK);
        assert_int_equal(adopt(s, name_of(i)), 0);
    }
    assert_int_equal(adopt(s, name_of(OBJECTS)), 0);
    layout_slab_close(s);
    close(fd);
    free(list);
}

static struct layout_slab *open_keeping(int fd, uint64_t space, bool destroys)
{
    struct layout_slab_opts o = {.fd = fd,
                                 .space_bytes = space,
                                 .resizes = true,
                                 .index_bytes = 8 << 20,
                                 .keeps = true,
                                 .destroys = destroys};
    struct layout_slab *s = NULL;
    struct err e = {0};

    assert_int_equal(layout_slab_open(&s, &o, &e), 0);
    return s;
}

/* A run that keeps is killed at any moment: what was kept before it is found again, marked as
 * unsure, also when the slab has grown. What it had no use for stays when it ends. */
static void test_keeping(void **state)
{
    enum {
        OBJECTS = 10
    };
    uint32_t list[OBJECTS], one;
    int fd = scratch();
    struct layout_slab *s = open_slab(fd, SPACE, true);
    struct layout_slab_header h;
    uint64_t left, bytes;

    (void)state;
    fill(s, OBJECTS, list);
    left = extent_free_bytes(layout_slab_pool(s));
    keep_all(s, OBJECTS, list);
    layout_slab_close(s);

    for (uint64_t space = SPACE; space <= 2 * SPACE; space += SPACE) { /* killed at once */
        s = open_keeping(fd, space, false);
        assert_int_equal(layout_slab_unsure(s), space > SPACE);
        assert_int_equal(layout_slab_use(s), 0);
        assert_int_equal(found_in(s), OBJECTS);
        layout_slab_close(s);
        assert_int_equal(layout_slab_read_header(fd, &h), 0);
        assert_true(h.kept && h.objects == OBJECTS && h.bytes == SPACE - left);
    }

    /* Killed while the new index is being written, and ended: the index changes its place. */
    for (unsigned round = 0; round < 4; round++) {
        s = open_keeping(fd, 2 * SPACE, false);
        assert_true(layout_slab_unsure(s));
        assert_int_equal(found_in(s), OBJECTS + (round + 1) / 2);
        one = adopt(s, name_of(3));
        assert_true(one != 0);
        layout_slab_measure(s, one);
        assert_int_equal(layout_slab_keep(s, name_of(3), GENERATION, one), 0);
        if (round % 2 == 0) {
            uint32_t more = 0;

            assert_int_equal(extent_alloc(layout_slab_pool(s), BLOCK, &more), 0);
            assert_int_equal(layout_slab_keep(s, name_of(100 + round), GENERATION, more), 0);
            assert_int_equal(layout_slab_kept(s), 0);
        }
        layout_slab_close(s);
    }

    s = open_keeping(fd, 2 * SPACE, true); /* --destroy-data: what is not adopted goes */
    assert_true(adopt(s, name_of(1)) != 0);
    assert_int_equal(layout_slab_found(s, &bytes), OBJECTS + 1);
    assert_true(bytes > 0);
    assert_int_equal(layout_slab_use(s), 0);
    assert_int_equal(layout_slab_found(s, &bytes), 0);
    assert_int_equal(bytes, 0);
    layout_slab_close(s);
    close(fd);
}

/* More words than a segment has. */
static void test_many_segments(void **state)
{
    enum {
        EXTENTS = 150000
    };
    uint64_t space = (uint64_t)EXTENTS * 2 * BLOCK;
    int fd = memfd_create("slab", MFD_CLOEXEC);
    struct layout_slab *s = open_slab(fd, space, true);
    uint32_t list = 0, last = 0;

    (void)state;
    for (uint64_t i = 0; i < EXTENTS; i++)
        assert_int_equal(extent_claim(layout_slab_pool(s), i * 2 * BLOCK, BLOCK, &list, &last), 0);
    keep_all(s, 1, &list);
    layout_slab_close(s);
    s = open_slab(fd, space, true);
    list = adopt(s, name_of(0));
    assert_int_equal(extent_bytes(layout_slab_pool(s), list), (uint64_t)EXTENTS * BLOCK);
    layout_slab_close(s);
    s = open_slab(fd, space, false); /* a slab that cannot grow has room for two segments */
    list = adopt(s, name_of(0));
    assert_int_equal(layout_slab_keep(s, name_of(0), GENERATION, list), 0);
    assert_int_equal(layout_slab_kept(s), -ENOSPC);
    layout_slab_close(s);
    close(fd);
}

/* One flipped byte of the index, anywhere in use: nothing is found, and that is told. */
static void test_damaged(void **state)
{
    static const uint64_t at[] = {0, 8, 16, 40, 48, 100};
    uint32_t list[10];
    int fd = scratch();
    struct layout_slab *s = open_slab(fd, SPACE, true);

    (void)state;
    fill(s, 10, list);
    keep_all(s, 10, list);
    layout_slab_close(s);
    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        off_t where = (off_t)((1 << 20) + SPACE + at[i]);
        unsigned char byte;

        assert_int_equal(pread(fd, &byte, 1, where), 1);
        byte ^= 1;
        assert_int_equal(pwrite(fd, &byte, 1, where), 1);
        s = open_slab(fd, SPACE, true);
        assert_int_equal(found_in(s), 0);
        assert_true(layout_slab_broken(s)); /* not as if nothing had been kept */
        assert_int_equal(extent_free_bytes(layout_slab_pool(s)), SPACE);
        layout_slab_close(s);
        byte ^= 1;
        assert_int_equal(pwrite(fd, &byte, 1, where), 1);
    }
    s = open_slab(fd, SPACE / 2, true); /* smaller than what was kept */
    assert_int_equal(found_in(s), 0);
    layout_slab_close(s);
    s = open_slab(fd, SPACE, true);
    assert_int_equal(found_in(s), 10);
    layout_slab_close(s);
    close(fd);
}

/* An index of two objects with right sums, one thing wrong in it. */
static void test_contradictions(void **state)
{
    /* name, generation, extents, offset, length; which word becomes what */
    static const uint64_t right[] = {1, 2, GENERATION, 1, 0, 8192, 3, 4, GENERATION, 1, 8192, 4096};
    static const struct {
        unsigned word;
        uint64_t value;
        unsigned found;
    } change[] = {
        {0, 1, 2},     /* nothing */
        {10, 4096, 0}, /* a block twice */
        {10, SPACE, 0},     {10, UINT64_MAX / BLOCK * BLOCK, 0},
        {11, SPACE, 0}, /* outside */
        {10, 8193, 0},      {11, 100, 0},
        {11, 0, 0},         {3, 0, 0},
        {3, UINT64_MAX, 0}, {9, 2, 0},
    };
    int fd = scratch();
    uint32_t list[2];
    struct layout_slab *s = open_slab(fd, SPACE, true);

    (void)state;
    fill(s, 1, list);
    list[1] = 0;
    assert_int_equal(extent_alloc(layout_slab_pool(s), 1, &list[1]), 0);
    keep_all(s, 2, list);
    layout_slab_close(s);
    for (size_t i = 0; i < sizeof(change) / sizeof(change[0]); i++) {
        uint64_t segment[2 + 12] = {12};

        memcpy(segment + 2, right, sizeof(right));
        segment[2 + change[i].word] = change[i].value;
        segment[1] = hash_64(segment + 2, sizeof(right));
        assert_int_equal(pwrite(fd, segment, sizeof(segment), (off_t)((1 << 20) + SPACE)),
                         sizeof(segment));
        s = open_slab(fd, SPACE, true);
        assert_int_equal(found_in(s), change[i].found);
        if (change[i].found == 0)
            assert_int_equal(extent_free_bytes(layout_slab_pool(s)), SPACE);
        layout_slab_close(s);
    }
    close(fd);
}

/* A slab that an earlier version kept: its index has no generations. */
static void test_earlier_version(void **state)
{
    uint64_t header[10], segment[2 + 10] = {10, 0, 1, 2, 1, 0, 8192, 3, 4, 1, 8192, 4096},
                                     generation;
    uint32_t list[1];
    int fd = scratch();
    struct layout_slab *s = open_slab(fd, SPACE, true);

    (void)state;
    fill(s, 1, list);
    keep_all(s, 1, list);
    layout_slab_close(s);
    assert_int_equal(pread(fd, header, sizeof(header), 0), sizeof(header));
    assert_memory_equal(header, "KVTSLAB3", 8);
    memcpy(header, "KVTSLAB2", 8);
    header[6] = 10; /* words */
    header[7] = 2;  /* objects */
    header[9] = hash_64(header, 72);
    segment[1] = hash_64(segment + 2, 80);
    assert_int_equal(pwrite(fd, header, sizeof(header), 0), sizeof(header));
    assert_int_equal(pwrite(fd, segment, sizeof(segment), (off_t)((1 << 20) + SPACE)),
                     sizeof(segment));
    s = open_slab(fd, SPACE, true);
    assert_int_equal(found_in(s), 2);
    generation = 1;
    assert_true(layout_slab_adopt(s, (struct hash128){.lo = 3, .hi = 4}, &generation) != 0);
    assert_int_equal(generation, 0);
    layout_slab_close(s);
    close(fd);
}

/* A sound header that names an index of thousands of millions of objects, in a file that is as long
 * but takes no room. A bug looked like a table of 64 GiB, and minutes to look through it. */
static void test_an_index_that_is_not_there(void **state)
{
    const uint64_t space = UINT64_C(1) << 42;
    struct {
        char magic[8];
        uint64_t state, resizes, unsure, space_bytes, index_at, index_words, objects, bytes,
            checksum;
    } h = {.magic = "KVTSLAB2",
           .state = 1,
           .space_bytes = space,
           .index_words = UINT64_C(1) << 36,
           .objects = UINT64_C(1) << 30};
    int fd = scratch();
    struct layout_slab *s;

    (void)state;
    h.checksum = hash_64(&h, offsetof(__typeof__(h), checksum));
    for (int length = 0; length < 2; length++) { /* it ends before the index, or has a hole there */
        if (ftruncate(fd, length ? (off_t)space + ((off_t)1 << 40) : 1 << 20) < 0)
            skip(); /* a file system of small files */
        assert_int_equal(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
        s = open_slab(fd, space, true);
        assert_int_equal(found_in(s), 0);
        assert_true(layout_slab_broken(s));
        layout_slab_close(s);
    }
    close(fd);
}

static void test_sizes(void **state)
{
    (void)state;
    for (uint64_t capacity = 1; capacity < (uint64_t)1 << 45; capacity = capacity * 3 + 5) {
        uint64_t bytes = layout_slab_bytes(capacity, 1000);

        assert_true(layout_slab_space(bytes) >= capacity + 1000 * BLOCK);
    }
    assert_int_equal(layout_slab_space(0), 0);
    assert_int_equal(layout_slab_space(1 << 20), 0);
    assert_int_equal(layout_slab_bytes(UINT64_MAX, 1), INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept_and_found),
        cmocka_unit_test(test_keeping),
        cmocka_unit_test(test_crafted_names),
        cmocka_unit_test(test_many_segments),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_contradictions),
        cmocka_unit_test(test_an_index_that_is_not_there),
        cmocka_unit_test(test_earlier_version),
        cmocka_unit_test(test_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
