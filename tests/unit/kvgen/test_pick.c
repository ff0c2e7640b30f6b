/* Fields of recorded JSON by a table: what is taken, what stays as it is, and what is said of a
 * field that is wrong. A bug looked like a hash with letters beyond f, or like a bound that was one
 * off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kvgen/meaning/pick.h"
#include "lib/base/err.h"
#include "lib/base/hash.h"

struct taken {
    bool flag;
    int64_t tokens, block, rank, delay_ns;
    uint64_t number, hash_64;
    uint32_t small;
    struct hash128 hash;
};

static const struct pick fields[] = {
    {"tokens", "other", PICK_TOKENS, true, offsetof(struct taken, tokens)},
    {"flag", NULL, PICK_BOOL, false, offsetof(struct taken, flag)},
    {"in.block", NULL, PICK_BLOCK_TOKENS, false, offsetof(struct taken, block)},
    {"in.rank", NULL, PICK_RANK, false, offsetof(struct taken, rank)},
    {"delay", NULL, PICK_DELAY_US, false, offsetof(struct taken, delay_ns)},
    {"number", NULL, PICK_U64, false, offsetof(struct taken, number)},
    {"small", NULL, PICK_U32, false, offsetof(struct taken, small)},
    {"hash", NULL, PICK_HASH, false, offsetof(struct taken, hash)},
    {"half", NULL, PICK_HASH_64, false, offsetof(struct taken, hash_64)}};

/* What is said of the text: "NAME WORDS", or "" if all is as it must be. */
static const char *said(const char *text, struct taken *to)
{
    static char words[200];
    struct jsonin *d;
    struct pick_bad bad;
    assert_int_equal(jsonin_parse(&d, text, strlen(text), "", NULL), 0);
    words[0] = '\0';
    if (pick(fields, sizeof(fields) / sizeof(*fields), jsonin_root(d), to, &bad) < 0)
        snprintf(words, sizeof(words), "%s %s", bad.name, bad.what);
    jsonin_free(d);
    return words;
}

static void takes_all(void **state)
{
    struct taken t = {.small = 7};
    (void)state;
    assert_string_equal(
        said("{\"other\":2147483648,\"flag\":true,\"in\":{\"block\":1048576,\"rank\":"
             "4294967295},\"delay\":1.5,\"number\":18446744073709551615,\"hash\":"
             "\"0123456789abcdeffedcba9876543210\",\"half\":\"00000000000000ff\"}",
             &t),
        "");
    assert_int_equal(t.tokens, INT64_C(1) << 31);
    assert_true(t.flag);
    assert_int_equal(t.block, 1 << 20);
    assert_int_equal(t.rank, UINT32_MAX);
    assert_int_equal(t.delay_ns, 1500);
    assert_true(t.number == UINT64_MAX);
    assert_int_equal(t.small, 7); /* it is missing */
    assert_true(t.hash.hi == UINT64_C(0x0123456789abcdef));
    assert_true(t.hash.lo == UINT64_C(0xfedcba9876543210));
    assert_int_equal(t.hash_64, 255);
}

static void says_what_is_wrong(void **state)
{
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"{}", "tokens is not a number of tokens from 0 to 2^31"},
        {"{\"other\":2147483649}", "other is not a number of tokens from 0 to 2^31"},
        {"{\"tokens\":0,\"flag\":3}", ""},
        {"{\"tokens\":0,\"in\":{\"block\":0}}", "block is not a number of tokens from 1 to 2^20"},
        {"{\"tokens\":0,\"in\":{\"rank\":4294967296}}", "rank is not a whole number"},
        {"{\"tokens\":0,\"delay\":1e16}", "delay is not a time from 0 to 31 years"},
        {"{\"tokens\":0,\"delay\":-1}", "delay is not a time from 0 to 31 years"},
        {"{\"tokens\":0,\"number\":-1}", "number is not a whole number"},
        {"{\"tokens\":0,\"small\":4294967296}", "small is not a number of tokens"},
        {"{\"tokens\":0,\"hash\":\"0\"}", "hash is not a hash of 32 hexadecimal digits"},
        {"{\"tokens\":0,\"half\":\"000000000000000W\"}",
         "half is not a hash of 16 hexadecimal digits"},
        {"{\"tokens\":0,\"half\":\"000000000000000g\"}",
         "half is not a hash of 16 hexadecimal digits"},
        {"{\"tokens\":0,\"half\":\"000000000000000F\"}",
         "half is not a hash of 16 hexadecimal digits"},
        {"{\"tokens\":0,\"half\":7}", "half is not a hash of 16 hexadecimal digits"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct taken t = {0};
        assert_string_equal(said(cases[i].text, &t), cases[i].said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(takes_all),
                                       cmocka_unit_test(says_what_is_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
