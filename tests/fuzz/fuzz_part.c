/* fuzz_part.c - any text as --part and --start-at, and as a name with {rank}: what is accepted is
 * within its bounds, and a refusal has a reason. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ranks/part.h"
#include "lib/ranks/start.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int truth)
{
    if (!truth)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct part second = {.on = true, .rank = 1, .count = 2, .host = "h"};
    const int64_t now_ns = INT64_C(1767225600000000000);
    char *text = malloc(size + 1);
    struct err e = {0};
    struct part p;
    int64_t ns;

    need(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    if (part_parse(&p, text, &e) < 0)
        need(e.what[0] != '\0');
    else
        need(p.on && p.count >= 1 && p.count <= PART_COUNT_MAX && p.rank < p.count);
    if (start_parse(text, now_ns, &ns, &e) < 0)
        need(e.what[0] != '\0');
    else
        need(ns >= now_ns);
    char *name = part_expand(&second, text);
    need(name != NULL);
    free(name);
    e = (struct err){0};
    name = part_target(&second, text, "--target", &e);
    need(name ? name[0] : e.what[0]);
    free(name);
    free(text);
    return 0;
}
