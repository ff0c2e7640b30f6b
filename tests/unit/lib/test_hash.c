/* test_hash.c - hashes name files on disk and digests of traces, so they must be XXH3's published
 * values for ever: checked against xxHash's own test values, the stream in pieces against the
 * whole. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "lib/base/hash.h"

static void known_values(void **state)
{
    (void)state;
    char hex[HASH_HEX_LEN + 1];
    hash_hex(hash_128("", 0), hex);
    assert_string_equal(hex, "99aa06d3014798d86001c324468d497f");
    assert_true(hash_64("", 0) == UINT64_C(0x2d06800538d394c2));
    hash_hex((struct hash128){.lo = 0xabc, .hi = 1}, hex);
    assert_string_equal(hex, "00000000000000010000000000000abc");
    /* splitmix64 seeded with 0 begins with this number (its finaliser of the first increment) */
    assert_true(hash_mix(UINT64_C(0x9e3779b97f4a7c15)) == UINT64_C(0xe220a8397b1dcdaf));
}

static void pieces_equal_the_whole(void **state)
{
    (void)state;
    unsigned char data[3000];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 7 + i / 256);
    for (size_t piece = 1; piece < 1500; piece = piece * 3 + 1) {
        struct hash_stream *s = hash_stream_create();
        assert_non_null(s);
        for (size_t at = 0; at < sizeof data; at += piece) {
            size_t n = sizeof data - at < piece ? sizeof data - at : piece;
            hash_stream_add(s, data + at, n);
            struct hash128 got = hash_stream_digest(s), want = hash_128(data, at + n);
            assert_true(got.lo == want.lo && got.hi == want.hi);
        }
        hash_stream_free(s);
    }
    hash_stream_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(pieces_equal_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
