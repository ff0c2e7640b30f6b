/* Any text as a --population: refused with a reason, or shares within their bounds whose users are
 * divided by them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/people/mix.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
    if (!good)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct people_mix mix;
    struct err e = {0};
    char *text = malloc(size + 1);
    check(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    int rc = mix_parse(&mix, text, &e);
    check(rc == 0 || (rc < 0 && e.what[0] != '\0'));
    if (rc == 0 && mix_is_people(&mix)) {
        struct mix_order order = {.mix = &mix};
        for (int i = 0; i < 50; i++)
            check(mix.share[mix_next(&order)] > 0);
        for (int k = 0; k < PEOPLE_KINDS; k++)
            check(mix.share[k] <= MIX_MOST);
    }
    free(text);
    return 0;
}
