/* fuzz_uri.c - any text as the name of a target: what is accepted has parts within their bounds,
 * and a refusal has a reason. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tier/uri.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int truth)
{
    if (!truth)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    struct err e = {0};
    struct uri u;
    char steps[sizeof(u.prefix) + 2];

    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    if (uri_parse(&u, text, "--target", &e) < 0) {
        need(e.what[0] != '\0');
    } else {
        need(u.tier <= 2);
        need((u.scheme == URI_PATH) == (u.path[0] != '\0'));
        need(u.scheme == URI_PATH || u.host[0] || u.socket[0] || u.bucket[0]);
        need(u.connections <= URI_CONNECTIONS_MAX && u.part_bytes % 4096 == 0);
        need(u.scheme == URI_S3 || (u.style == URI_STYLE_DEFAULT && !u.proxy_env && !u.profile[0]));
        need(u.style <= URI_STYLE_VIRTUAL);
        need(u.like < URI_LIKES && uri_like_text(u.like));
        need(u.workers <= URI_WORKERS_MAX && u.load_workers <= URI_WORKERS_MAX);
        need(u.scheme != URI_S3 || u.style != URI_STYLE_VIRTUAL || uri_bucket_in_host(&u));
        snprintf(steps, sizeof(steps), "/%s/", u.prefix);
        need(!u.prefix[0] ||
             (!strstr(steps, "//") && !strstr(steps, "/./") && !strstr(steps, "/../")));
        need(u.scheme != URI_S3 || u.part_bytes == 0 || u.part_bytes >= 5 << 20);
    }
    free(text);
    return 0;
}
