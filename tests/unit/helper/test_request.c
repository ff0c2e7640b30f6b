/* Requests to kvtrace-trace: numbers of devices pass exactly as the kernel writes them; anything
 * else is refused, and no byte of it comes back. A bug looked like "8:0 " that passed, or a number
 * that wrapped around into another device. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kvgen/rng.h"
#include "kvreplay/helper/request.h"

static int parse(struct trace_request *r, const char *text)
{
    char *argv[] = {(char *)"kvtrace-trace", (char *)text, NULL};
    struct err e = {0};
    int rc = trace_request_parse(r, 2, argv, &e);

    assert_int_equal(rc, e.code);
    if (rc < 0) {
        assert_int_equal(rc, -EINVAL);
        assert_int_equal(e.class, ERR_INPUT);
        assert_string_equal(e.where, "argument 1");
        assert_string_equal(e.what, "not MAJOR:MINOR of a block device");
    }
    return rc;
}

static void devices_that_are(void **state)
{
    static const struct {
        const char *text;
        uint32_t device;
    } good[] = {{"8:0", 8u << 20},
                {"259:7", 259u << 20 | 7},
                {"1:1048575", 1u << 20 | 1048575},
                {"4095:0", 4095u << 20}};
    struct trace_request r;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(parse(&r, good[i].text), 0);
        assert_int_equal(r.devices, 1);
        assert_int_equal(r.device[0], good[i].device);
    }
}

static void what_is_none(void **state)
{
    static const char *const bad[] = {"",
                                      "8",
                                      "8:",
                                      ":0",
                                      ":",
                                      "8:0:0",
                                      "8:0 ",
                                      " 8:0",
                                      "8 :0",
                                      "+8:0",
                                      "-8:0",
                                      "8:-1",
                                      "8:+1",
                                      "08:0",
                                      "8:00",
                                      "0:0",
                                      "0:5",
                                      "4096:0",
                                      "8:1048576",
                                      "4294967304:0",
                                      "8:4294967296",
                                      "18446744073709551624:0",
                                      "0x8:0",
                                      "8:0x1",
                                      "a:b",
                                      "8.0",
                                      "8:0\n",
                                      "8:0 || 1",
                                      "sda",
                                      "/dev/sda",
                                      "../tracing",
                                      "--help",
                                      "8:0,8:1",
                                      "*:*",
                                      "8:0;",
                                      "\xd9\xa8:0"};
    struct trace_request r;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(parse(&r, bad[i]), -EINVAL);
    size_t len = 100000;
    char *text = malloc(len + 1);
    assert_non_null(text);
    memset(text, '1', len);
    text[len] = '\0';
    assert_int_equal(parse(&r, text), -EINVAL);
    text[1] = ':';
    assert_int_equal(parse(&r, text), -EINVAL);
    free(text);
}

static void how_many(void **state)
{
    static char text[BLOCK_EVENTS_DEVICES + 1][16];
    char *argv[BLOCK_EVENTS_DEVICES + 3] = {(char *)"kvtrace-trace"};
    struct trace_request r;
    struct err e = {0};

    (void)state;
    assert_int_equal(trace_request_parse(&r, 1, argv, &e), -EINVAL);
    assert_int_equal(trace_request_parse(&r, 0, argv, &e), -EINVAL);
    for (int i = 0; i <= BLOCK_EVENTS_DEVICES; i++) {
        snprintf(text[i], sizeof(text[i]), "8:%d", i);
        argv[1 + i] = text[i];
    }
    assert_int_equal(trace_request_parse(&r, 1 + BLOCK_EVENTS_DEVICES, argv, &e), 0);
    assert_int_equal(r.devices, BLOCK_EVENTS_DEVICES);
    assert_int_equal(trace_request_parse(&r, 2 + BLOCK_EVENTS_DEVICES, argv, &e), -EINVAL);
    argv[3] = text[0];
    assert_int_equal(trace_request_parse(&r, 5, argv, &e), -EINVAL);
    assert_string_equal(e.where, "argument 3");
}

/* Texts that pass, among 200,000 of the characters that matter, are as the kernel would write them
 * for the number they became. */
static void drawn_texts(void **state)
{
    static const char letters[] = "0123456789:::- +x";
    struct rng rng;
    unsigned passed = 0;

    (void)state;
    rng_seed(&rng, 7, 0);
    for (unsigned i = 0; i < 200000; i++) {
        char text[16], again[32];
        size_t len = (size_t)rng_below(&rng, 8);
        struct trace_request r;
        for (size_t k = 0; k < len; k++)
            text[k] = letters[rng_below(&rng, sizeof(letters) - 1)];
        text[len] = '\0';
        if (parse(&r, text) < 0)
            continue;
        passed++;
        snprintf(again, sizeof(again), "%u:%u", r.device[0] >> 20, r.device[0] & 0xfffff);
        assert_string_equal(again, text);
    }
    assert_true(passed > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_that_are),
        cmocka_unit_test(what_is_none),
        cmocka_unit_test(how_many),
        cmocka_unit_test(drawn_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
