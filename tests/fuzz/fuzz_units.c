/* fuzz_units.c - any text into the number parsers: outputs of failures stay untouched, what is read
 * exactly comes back as it was written, and parsers that overlap agree. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"

#define UNTOUCHED 0x5a5a5a5a

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int truth)
{
    if (!truth)
        abort();
}

static void decimals(const char *text, size_t len)
{
    for (unsigned scale = 0; scale <= 9; scale++) {
        int64_t v = UNTOUCHED, back = 0;
        char buf[24];
        if (units_parse_decimal(text, len, scale, &v)) {
            need(v == UNTOUCHED);
            continue;
        }
        need(v != INT64_MIN);
        size_t n = units_put_decimal(buf, v, scale, scale / 2);
        need(n <= sizeof buf);
        need(units_parse_decimal(buf, n, scale, &back) == 0 && back == v);
    }
}

static void integers(const char *text, size_t len)
{
    uint64_t whole = UNTOUCHED, digits = UNTOUCHED, bytes = UNTOUCHED, rate = UNTOUCHED;
    int64_t i = UNTOUCHED;
    int rc = units_parse_u64(text, &whole);
    if (strlen(text) == len)
        need(units_parse_digits(text, len, &digits) == rc && digits == whole);
    if (units_parse_i64(text, &i) == 0 && text[0] != '-')
        need(rc == 0 && whole == (uint64_t)i);
    int size_rc = units_parse_size(text, &bytes);
    need(size_rc == 0 || bytes == UNTOUCHED);
    if (rc == 0)
        need(size_rc == 0 && bytes == whole);
    int rate_rc = units_parse_bandwidth(text, &rate);
    bool bare = text[0] != '\0' && strchr("0123456789", text[strlen(text) - 1]);
    if (size_rc == 0)
        need(bare ? rate_rc != 0 : rate_rc == 0 && rate == bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *exact = malloc(size ? size : 1), *text = malloc(size + 1);
    double f = UNTOUCHED;
    int64_t ns = UNTOUCHED;
    if (!exact || !text)
        abort();
    memcpy(exact, data, size); /* no NUL behind it: reading on is caught */
    memcpy(text, data, size);
    text[size] = '\0';
    decimals(exact, size);
    integers(text, size);
    need(units_parse_f64(text, &f) == 0 || f == UNTOUCHED);
    need(units_parse_duration(text, &ns) == 0 ? ns >= 0 : ns == UNTOUCHED);
    free(exact);
    free(text);
    return 0;
}
