/* Keyed hashes of names: SipHash-2-4 with 128 bits, whose reference vectors (key 00..0f, messages
 * of 0 to 15 bytes 00..) are checked; numbers hash as their eight bytes. A bug looked like equal
 * hashes for a name and its beginning. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kvgen/record/names.h"

static const struct names key = {{UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}};

static void vectors(void **state)
{
    (void)state;
    unsigned char m[16];
    for (unsigned i = 0; i < sizeof(m); i++)
        m[i] = (unsigned char)i;
    struct hash128 h = names_hash(&key, m, 0);
    assert_true(h.lo == UINT64_C(0xe6a825ba047f81a3) && h.hi == UINT64_C(0x930255c71472f66d));
    h = names_hash(&key, m, 1);
    assert_true(h.lo == UINT64_C(0x44af996bd8c187da) && h.hi == UINT64_C(0x45fc229b11597634));
    struct hash128 before = h;
    for (size_t len = 2; len <= sizeof(m); len++) {
        h = names_hash(&key, m, len);
        assert_true(h.lo != before.lo && h.hi != before.hi);
        before = h;
    }
}

static void numbers(void **state)
{
    (void)state;
    unsigned char b[8] = {0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01};
    assert_true(names_number(&key, UINT64_C(0x0123456789abcdef)) == names_hash(&key, b, 8).lo);
    struct names other = {{key.key[0], key.key[1] ^ 1}};
    assert_true(names_number(&key, 5) != names_number(&other, 5));
    assert_true(names_fingerprint(&key) != names_fingerprint(&other) &&
                names_fingerprint(&key) > 0);
}

static void keys(void **state)
{
    (void)state;
    struct names a, b;
    struct err e = {0};
    assert_int_equal(names_init(&a, NULL, &e), 0);
    assert_int_equal(names_init(&b, NULL, &e), 0);
    assert_true(a.key[0] != b.key[0] || a.key[1] != b.key[1]);
    assert_true(names_init(&a, "/nowhere/key", &e) < 0);
    assert_string_equal(e.where, "/nowhere/key");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(vectors), cmocka_unit_test(numbers),
                                       cmocka_unit_test(keys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
