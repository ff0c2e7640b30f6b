/* KV events in the shapes of all versions: arrays and maps with members left out, in any order, or
 * not known; hashes of bytes and of signed and unsigned numbers; and every cut of a message is
 * refused, not read beyond. A bug looked like a list of tokens taken for the list of hashes. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/record/kv_message.h"

/* Bytes of MessagePack written as they are: \x93 is an array of three, \x83 a map of three. */
#define MESSAGE(text) (text), sizeof(text) - 1

struct fixture {
    struct record_opts o;
    struct batch b;
    struct batch_unknown unknown;
    struct err e;
};

static int decode(struct fixture *f, const char *p, size_t len)
{
    /* In memory of its own, so that a read beyond it is seen. */
    char *copy = malloc(len > 0 ? len : 1);
    memcpy(copy, p, len);
    batch_clear(&f->b);
    f->unknown = (struct batch_unknown){0};
    f->e = (struct err){0};
    int rc = kv_message_decode(&f->o, copy, len, &f->b, &f->unknown, &f->e);
    free(copy);
    return rc;
}

static int set_up(void **state)
{
    static struct fixture f;
    struct opt_list none = {0};
    f = (struct fixture){.o.names = {{1, 2}}};
    *state = &f;
    return media_init(&f.o.media, &none, &f.e);
}

static int tear_down(void **state)
{
    batch_free(&((struct fixture *)*state)->b);
    return 0;
}

static struct hash128 number(const struct fixture *f, int64_t n)
{
    unsigned char b[8];
    for (int i = 0; i < 8; i++)
        b[i] = (unsigned char)((uint64_t)n >> (8 * i));
    return names_hash(&f->o.names, b, sizeof(b));
}

static void assert_hash(struct hash128 a, struct hash128 b)
{
    assert_true(a.lo == b.lo && a.hi == b.hi);
}

/* ts 2.5, no rank; a stored block of two hashes with five members, the last ones left out. */
static const char array[] = "\x92\xcb\x40\x04\0\0\0\0\0\0\x91\x96\xab"
                            "BlockStored\x92\x05\xff\xc0\x93\x01\x02\x03\x10\xc0";

static void arrays(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(decode(f, MESSAGE(array)), 0);
    assert_int_equal(f->b.time_ns, 2500000000);
    assert_int_equal(f->b.rank, 0);
    assert_int_equal(f->b.events, 1);
    assert_int_equal(f->b.event[0].kind, EVENT_STORED);
    assert_int_equal(f->b.event[0].count, 2);
    assert_int_equal(f->b.event[0].tokens, 16);
    assert_int_equal(f->b.event[0].medium, MEDIA_GPU);
    assert_false(f->b.event[0].has_parent);
    assert_hash(f->b.hash[0], number(f, 5));
    assert_hash(f->b.hash[1], number(f, -1));
}

static void maps(void **state)
{
    static const char map[] =
        "\x83\xa6"
        "events\x92\x85\xa6medium\xa3"
        "cpu\xaa"
        "block_size\x08\xa4type\xac"
        "BlockRemoved\xac"
        "block_hashes\x91\xcf\xff\xff\xff\xff\xff\xff\xff\xff\xa3new\x81\x01\x02"
        "\x82\xa4type\xa5"
        "Dream\xa1x\xc0\xb2"
        "data_parallel_rank\x03\xa2ts\x02";
    struct fixture *f = *state;
    assert_int_equal(decode(f, MESSAGE(map)), 0);
    assert_int_equal(f->b.rank, 3);
    assert_int_equal(f->b.time_ns, 2000000000);
    assert_int_equal(f->b.events, 1);
    assert_int_equal(f->b.event[0].kind, EVENT_REMOVED);
    assert_string_equal(f->o.media.medium[f->b.event[0].medium].name, "CPU");
    assert_hash(f->b.hash[0], number(f, -1));
    assert_int_equal(f->unknown.fields, 1); /* what is in an unknown event is not counted */
    assert_int_equal(f->unknown.events, 1);
    assert_string_equal(f->unknown.event, "Dream");
}

/* The eighth member of a stored block is a text (an adapter) or a map (a salt). */
static void eighth_member(void **state)
{
    static const char text[] = "\x93\x01\x91\x99\xab"
                               "BlockStored\x91\xc4\x02zz\xc0\x90\x10\xc0\xa4"
                               "DISK\xa4name\xc0\x01";
    static const char with_map[] = "\x93\x01\x91\x98\xab"
                                   "BlockStored\x91\xc4\x02zz\xc0\x90\x10\xc0\xa4"
                                   "DISK\x81\xaa"
                                   "cache_salt\xa1s\x01";
    struct fixture *f = *state;
    struct hash128 zz = names_hash(&f->o.names, "zz", 2);
    assert_int_equal(decode(f, MESSAGE(text)), 0);
    assert_hash(f->b.hash[0], zz);
    assert_int_equal(f->b.rank, 1);
    assert_int_equal(decode(f, MESSAGE(with_map)), 0);
    assert_hash(f->b.hash[0], zz);
    assert_string_equal(f->o.media.medium[f->b.event[0].medium].name, "DISK");
    assert_int_equal(f->unknown.fields, 0);
}

static void refusals(void **state)
{
    struct fixture *f = *state;
    for (size_t len = 0; len < sizeof(array) - 1; len++)
        assert_int_equal(decode(f, array, len), -EBADMSG);
    assert_int_equal(decode(f, MESSAGE("\x92\x01\x90\x00")), -EBADMSG); /* bytes behind it */
    assert_int_equal(decode(f, MESSAGE("\x92\x01\xdd\xff\xff\xff\xff")),
                     -EBADMSG); /* 2^32 events */
    assert_int_equal(decode(f, MESSAGE("\x92\xcb\x7f\xf8\0\0\0\0\0\0\x90")), -EBADMSG); /* NaN */
    assert_int_equal(decode(f, MESSAGE("\x92\xa1t\x90")), -EBADMSG);
    char deep[100];
    memset(deep, '\x91', sizeof(deep));
    memcpy(deep, "\x93\x01\x90", 3);
    assert_int_equal(decode(f, deep, sizeof(deep)), -EBADMSG);
    static const char medium[] = "\x92\x01\x91\x93\xac"
                                 "BlockRemoved\x91\x01\xa4MOON";
    assert_int_equal(decode(f, MESSAGE(medium)), -EINVAL);
    assert_non_null(strstr(f->e.what, "\"MOON\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(arrays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(maps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(eighth_member, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refusals, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
