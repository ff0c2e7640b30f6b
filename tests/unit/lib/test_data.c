/* test_data.c - contents of objects: every instruction set makes the same bytes (golden, because
 * objects kept by one version are read by the next), a flipped bit anywhere is found and named,
 * each kind of misplaced block is told, and the bytes neither compress nor repeat. A bug here would
 * let a drive compress or deduplicate the load, or a corrupt read pass. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "lib/data/data.h"

static const char *const isas[] = {"portable", "avx2", "avx512"};
#define ISAS (sizeof isas / sizeof isas[0])

static const struct data_id id = {.key = {.lo = UINT64_C(0x1122334455667788), .hi = 99},
                                  .generation = 7};

static void *buffer(size_t len)
{
    void *p = aligned_alloc(DATA_BLOCK, len);
    assert_non_null(p);
    return p;
}

static int check(bool full, const void *buf, size_t len, const struct data_id *want, uint64_t first,
                 struct data_fault *fault)
{
    return full ? data_check_full(buf, len, want, first, fault)
                : data_check_headers(buf, len, want, first, fault);
}

static void layout_and_golden_bytes(void **state)
{
    (void)state;
    unsigned char *b = buffer(2 * DATA_BLOCK);
    uint64_t word[6];
    data_fill(b, 2 * DATA_BLOCK, &id, 5);
    memcpy(word, b + DATA_BLOCK, sizeof word);
    assert_memory_equal(b + DATA_BLOCK, "KVTRACE1", 8);
    assert_true(word[1] == id.key.lo && word[2] == id.key.hi);
    assert_true(word[3] == 7 && word[4] == 6);
    assert_true(word[5] == hash_64(b + DATA_BLOCK, 40));
    assert_true(hash_64(b, 2 * DATA_BLOCK) == UINT64_C(0xc02d375fe1384098));
    free(b);
}

/* The end of an object that is stored without padding: whose it is, and each of its bytes. */
static void parts_of_blocks(void **state)
{
    static const size_t lens[] = {1, DATA_HEADER - 1, DATA_HEADER, DATA_HEADER + 1, DATA_BLOCK - 1};
    struct data_id other = id, later = id;
    struct data_fault fault;
    unsigned char *b = buffer(DATA_BLOCK);

    (void)state;
    other.key.lo++;
    later.generation++;
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        bool whole = lens[i] >= DATA_HEADER; /* of the header */
        data_fill(b, DATA_BLOCK, &id, 3);
        assert_int_equal(data_check_part(b, lens[i], &id, 3, &fault), 0);
        b[lens[i] - 1] ^= 1;
        assert_int_equal(data_check_part(b, lens[i], &id, 3, &fault), -EBADMSG);
        assert_int_equal(fault.block, 3);
        if (lens[i] > DATA_HEADER)
            assert_int_equal(fault.offset, 3 * DATA_BLOCK + lens[i] - 1);
        data_fill(b, DATA_BLOCK, &other, 3);
        assert_int_equal(data_check_part(b, lens[i], &id, 3, &fault), whole         ? -EBADMSG
                                                                      : lens[i] > 8 ? -EBADMSG
                                                                                    : 0);
        if (whole)
            assert_int_equal(fault.kind, DATA_FAULT_KEY);
        data_fill(b, DATA_BLOCK, &later, 3);
        if (data_check_part(b, lens[i], &id, 3, &fault) < 0 && whole)
            assert_int_equal(fault.kind, DATA_FAULT_GENERATION);
    }
    free(b);
}

static void all_instruction_sets_agree(void **state)
{
    (void)state;
    /* the second length takes the way past the caches */
    static const size_t lens[] = {3 * DATA_BLOCK, 300 * DATA_BLOCK};
    for (size_t l = 0; l < 2; l++) {
        unsigned char *want = buffer(lens[l]), *got = buffer(lens[l]);
        struct data_fault fault;
        assert_int_equal(data_force_isa("portable"), 0);
        data_fill(want, lens[l], &id, 1000);
        for (size_t i = 1; i < ISAS; i++) {
            if (data_force_isa(isas[i]))
                continue; /* not on this processor */
            memset(got, 0xaa, lens[l]);
            data_fill(got, lens[l], &id, 1000);
            assert_memory_equal(got, want, lens[l]);
            assert_int_equal(data_check_full(want, lens[l], &id, 1000, &fault), 0);
        }
        free(want);
        free(got);
    }
    assert_int_equal(data_force_isa("mmx"), -ENOTSUP);
}

static void pieces_equal_the_whole(void **state)
{
    (void)state;
    size_t len = 128 * DATA_BLOCK;
    unsigned char *whole = buffer(len), *pieces = buffer(len);
    data_fill(whole, len, &id, 0);
    for (size_t at = 0, n = 1; at < len; n = n % 7 + 1) {
        size_t piece = n * DATA_BLOCK < len - at ? n * DATA_BLOCK : len - at;
        data_fill(pieces + at, piece, &id, at / DATA_BLOCK);
        at += piece;
    }
    assert_memory_equal(whole, pieces, len);
    free(whole);
    free(pieces);
}

static void expect_flip_found(unsigned char *b, size_t at, unsigned bit)
{
    struct data_fault fault = {0};
    b[DATA_BLOCK + at] ^= (unsigned char)(1u << bit);
    assert_int_equal(data_check_full(b, 3 * DATA_BLOCK, &id, 10, &fault), -EBADMSG);
    assert_int_equal(fault.block, 11);
    assert_int_equal(fault.kind, at < 48 ? DATA_FAULT_HEADER : DATA_FAULT_BODY);
    assert_int_equal(fault.offset, 11 * DATA_BLOCK + (at < 48 ? 0 : at));
    assert_int_equal(data_check_headers(b, 3 * DATA_BLOCK, &id, 10, &fault),
                     at < 48 ? -EBADMSG : 0);
    b[DATA_BLOCK + at] ^= (unsigned char)(1u << bit);
}

static void any_flipped_bit_is_found(void **state)
{
    (void)state;
    unsigned char *b = buffer(3 * DATA_BLOCK);
    struct data_fault fault;
    data_fill(b, 3 * DATA_BLOCK, &id, 10);
    for (size_t i = 0; i < ISAS; i++) {
        if (data_force_isa(isas[i]))
            continue;
        for (size_t at = 0; at < DATA_BLOCK; at++)
            for (unsigned bit = (unsigned)(at % 3); bit < 8; bit += 3)
                expect_flip_found(b, at, bit);
        assert_int_equal(data_check_full(b, 3 * DATA_BLOCK, &id, 10, &fault), 0);
    }
    free(b);
}

static void expect_kind(const void *b, const struct data_id *want, uint64_t first,
                        enum data_fault_kind kind)
{
    for (int full = 0; full < 2; full++) {
        struct data_fault fault = {0};
        assert_int_equal(check(full, b, DATA_BLOCK, want, first, &fault), -EBADMSG);
        assert_int_equal(fault.kind, kind);
        assert_int_equal(fault.block, first);
        assert_int_equal(fault.offset, first * DATA_BLOCK);
        assert_true(strlen(data_fault_text(kind)) > 5);
    }
}

static void misplaced_blocks_are_told(void **state)
{
    (void)state;
    unsigned char *b = buffer(DATA_BLOCK);
    struct data_id other = id;
    data_fill(b, DATA_BLOCK, &id, 3);
    expect_kind(b, &id, 4, DATA_FAULT_INDEX);
    other.generation++;
    expect_kind(b, &other, 3, DATA_FAULT_GENERATION);
    other = id;
    other.key.hi++;
    expect_kind(b, &other, 3, DATA_FAULT_KEY);
    other = id;
    other.key.lo++;
    expect_kind(b, &other, 3, DATA_FAULT_KEY);
    memset(b, 0, DATA_BLOCK);
    expect_kind(b, &id, 3, DATA_FAULT_HEADER);
    free(b);
}

static void identify_reads_headers(void **state)
{
    (void)state;
    unsigned char *b = buffer(DATA_BLOCK);
    struct data_id got = {0};
    uint64_t index = 0;
    data_fill(b, DATA_BLOCK, &id, UINT64_C(1) << 39);
    assert_int_equal(data_identify(b, &got, &index), 0);
    assert_true(got.key.lo == id.key.lo && got.key.hi == id.key.hi);
    assert_true(got.generation == 7 && index == UINT64_C(1) << 39);
    b[20] ^= 1;
    assert_int_equal(data_identify(b, &got, &index), -EBADMSG);
    free(b);
}

/* Every byte of a shaped block is checked, zeros included; blocks alike share their bytes; a shape
 * is in the header. */
static void shapes_are_checked(void **state)
{
    static const double ratio[][2] = {{2, 1}, {1, 2}, {1.5, 3}, {64, 1}, {1, 2.5}};
    enum {
        BLOCKS = 20
    };
    unsigned char *buf = aligned_alloc(DATA_BLOCK, BLOCKS * DATA_BLOCK);
    (void)state;
    assert_non_null(buf);
    for (size_t i = 0; i < sizeof ratio / sizeof ratio[0]; i++) {
        struct data_id mine = {.key = {1, 2}, .generation = 3}, plain = mine, got;
        struct data_fault fault;
        uint64_t index;
        unsigned alike = 0;
        assert_int_equal(data_shape(ratio[i][0], ratio[i][1], &mine.shape), 0);
        data_fill(buf, BLOCKS * DATA_BLOCK, &mine, 0);
        assert_int_equal(data_check_headers(buf, BLOCKS * DATA_BLOCK, &mine, 0, &fault), 0);
        assert_int_equal(data_check_full(buf, BLOCKS * DATA_BLOCK, &mine, 0, &fault), 0);
        assert_int_equal(data_check_headers(buf, DATA_BLOCK, &plain, 0, &fault), -EBADMSG);
        assert_int_equal(data_identify(buf, &got, &index), 0);
        assert_true(got.shape == mine.shape && index == 0 && got.generation == 3);
        for (unsigned k = 1; k < BLOCKS; k++)
            alike += memcmp(buf + (k - 1) * DATA_BLOCK, buf + k * DATA_BLOCK, DATA_BLOCK) == 0;
        assert_int_equal(alike, BLOCKS - (unsigned)((double)BLOCKS / ratio[i][1] + 0.999));
        for (unsigned at = 0; at < DATA_BLOCK; at += 7) {
            buf[5 * DATA_BLOCK + at] ^= 1;
            assert_int_equal(data_check_full(buf, BLOCKS * DATA_BLOCK, &mine, 0, &fault), -EBADMSG);
            assert_int_equal(fault.block, 5);
            buf[5 * DATA_BLOCK + at] ^= 1;
        }
        /* The object's other end in place of its beginning. */
        assert_int_equal(data_check_headers(buf + 10 * DATA_BLOCK, DATA_BLOCK, &mine, 0, &fault),
                         -EBADMSG);
    }
    uint32_t shape = 7;
    assert_int_equal(data_shape(1, 1, &shape), 0);
    assert_int_equal(shape, 0);
    assert_int_equal(data_shape(0.5, 1, &shape), -ERANGE);
    assert_int_equal(data_shape(1, 256, &shape), -ERANGE);
    free(buf);
}

static void an_empty_buffer_is_right(void **state)
{
    (void)state;
    unsigned char *b = buffer(DATA_BLOCK);
    struct data_fault fault;
    data_fill(b, 0, &id, 0);
    assert_int_equal(data_check_full(b, 0, &id, 0, &fault), 0);
    assert_int_equal(data_check_headers(b, 0, &id, 0, &fault), 0);
    assert_int_equal(DATA_PADDED(0), 0);
    assert_int_equal(DATA_PADDED(1), 4096);
    assert_int_equal(DATA_PADDED(4096), 4096);
    assert_int_equal(DATA_PADDED(4097), 8192);
    free(b);
}

/* 64 MiB of objects of several sizes, as a replay would write them. */
#define MANY ((size_t)64 << 20)
static unsigned char *many_objects(void)
{
    static const size_t sizes[] = {4096, 8192, 28672, 98304, 1 << 20, 4 << 20};
    unsigned char *b = buffer(MANY);
    struct data_id object = {.generation = 0};
    for (size_t at = 0, i = 0; at < MANY; i++) {
        size_t n = sizes[i % 6] < MANY - at ? sizes[i % 6] : MANY - at;
        object.key = hash_128(&i, sizeof i);
        object.generation++;
        data_fill(b + at, n, &object, 0);
        at += n;
    }
    return b;
}

static void zstd_cannot_compress_it(void **state)
{
    (void)state;
    unsigned char *b = many_objects();
    size_t cap = ZSTD_compressBound(MANY);
    void *dst = malloc(cap);
    assert_non_null(dst);
    size_t n = ZSTD_compress(dst, cap, b, MANY, 3);
    assert_false(ZSTD_isError(n));
    assert_true((double)n >= 0.99 * (double)MANY);
    free(dst);
    free(b);
}

static int compare_words(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* No 8 aligned bytes of the streams occur twice: then no two blocks share a run of 15 bytes at
 * distances that are multiples of 8, and none is equal to another. Over 2^20 words a repetition
 * by chance comes once in 2^25 runs of other data, and this data is always the same. */
static void no_run_occurs_twice(void **state)
{
    (void)state;
    enum {
        WORDS = 1 << 20,
        BODY = (DATA_BLOCK - 48) / 8
    };
    unsigned char *b = many_objects();
    uint64_t *word = malloc(WORDS * sizeof *word);
    assert_non_null(word);
    for (size_t i = 0; i < WORDS; i++)
        memcpy(&word[i], b + i / BODY * DATA_BLOCK + 48 + i % BODY * 8, 8);
    qsort(word, WORDS, sizeof *word, compare_words);
    for (size_t i = 1; i < WORDS; i++)
        assert_true(word[i] != word[i - 1]);
    free(word);
    free(b);
}

static void bits_are_balanced(void **state)
{
    (void)state;
    enum {
        BLOCKS = 4096
    };
    unsigned char *b = buffer(BLOCKS * DATA_BLOCK);
    static int ones[DATA_BLOCK * 8];
    data_fill(b, BLOCKS * DATA_BLOCK, &id, 0);
    for (size_t i = 0; i < BLOCKS; i++)
        for (size_t bit = 48 * 8; bit < DATA_BLOCK * 8; bit++)
            ones[bit] += b[i * DATA_BLOCK + bit / 8] >> bit % 8 & 1;
    for (size_t bit = 48 * 8; bit < DATA_BLOCK * 8; bit++)
        assert_in_range(ones[bit], BLOCKS / 2 - 200, BLOCKS / 2 + 200); /* 6 standard deviations */
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout_and_golden_bytes),    cmocka_unit_test(parts_of_blocks),
        cmocka_unit_test(all_instruction_sets_agree), cmocka_unit_test(pieces_equal_the_whole),
        cmocka_unit_test(any_flipped_bit_is_found),   cmocka_unit_test(misplaced_blocks_are_told),
        cmocka_unit_test(identify_reads_headers),     cmocka_unit_test(shapes_are_checked),
        cmocka_unit_test(an_empty_buffer_is_right),   cmocka_unit_test(zstd_cannot_compress_it),
        cmocka_unit_test(no_run_occurs_twice),        cmocka_unit_test(bits_are_balanced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
