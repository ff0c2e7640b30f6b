/* test_s3_sign.c - signatures of requests. Expected: the sums of the standards, and the signatures
 * of the examples that Amazon publishes. A bug looked like SignatureDoesNotMatch from the second
 * page of a listing on, whose token had a plus. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/remote/s3_sign.h"
#include "lib/remote/sha256.h"

static const char *sum(const char *text, size_t times)
{
    static char hex[SHA256_HEX_CAP];
    unsigned char raw[SHA256_BYTES];
    struct sha256 s;

    sha256_begin(&s);
    for (size_t i = 0; i < times; i++)
        sha256_add(&s, text, strlen(text));
    sha256_end(&s, raw);
    sha256_hex(raw, hex);
    return hex;
}

/* FIPS 180-4's examples. */
static void sums(void **state)
{
    (void)state;
    assert_string_equal(sum("", 1),
                        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_string_equal(sum("abc", 1),
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_string_equal(sum("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1),
                        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    assert_string_equal(sum("a", 1000000),
                        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static const char *mac(const char *key, size_t key_len, const char *text)
{
    static char hex[SHA256_HEX_CAP];
    unsigned char raw[SHA256_BYTES];

    sha256_hmac(key, key_len, text, strlen(text), raw);
    sha256_hex(raw, hex);
    return hex;
}

/* RFC 4231, cases 2 and 6. */
static void macs(void **state)
{
    char key[131];

    (void)state;
    memset(key, 0xaa, sizeof(key));
    assert_string_equal(mac("Jefe", 4, "what do ya want for nothing?"),
                        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    assert_string_equal(
        mac(key, sizeof(key), "Test Using Larger Than Block-Size Key - Hash Key First"),
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void requests(void **state)
{
    struct s3_keys keys = {.id = "AKIAIOSFODNN7EXAMPLE",
                           .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
    struct s3_signed r = {.verb = "GET",
                          .host = "examplebucket.s3.amazonaws.com",
                          .path = "/",
                          .query = "lifecycle=",
                          .payload =
                              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                          .region = "us-east-1",
                          .at_s = 1369353600};
    char date[S3_DATE_CAP], text[S3_AUTHORIZATION_CAP], other[S3_AUTHORIZATION_CAP];

    (void)state;
    s3_sign(&keys, &r, date, text);
    assert_string_equal(date, "20130524T000000Z");
    assert_string_equal(
        text, "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
              "SignedHeaders=host;x-amz-content-sha256;x-amz-date,"
              "Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
    r.query = "max-keys=2&prefix=J";
    s3_sign(&keys, &r, date, text);
    assert_non_null(
        strstr(text, "=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
    /* A session token is signed, too. */
    snprintf(keys.token, sizeof(keys.token), "token");
    s3_sign(&keys, &r, date, other);
    assert_non_null(strstr(other, ";x-amz-date;x-amz-security-token,"));
    assert_string_not_equal(strstr(text, "Signature="), strstr(other, "Signature="));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums),
        cmocka_unit_test(macs),
        cmocka_unit_test(requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
