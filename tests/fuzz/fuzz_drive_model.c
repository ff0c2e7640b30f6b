/* Any bytes as a file of kvtrace model: refused with a reason, or rates within their bounds, and a
 * server that ends all that it was given. */
#include <stdint.h>
#include <stdlib.h>

#include "lib/drive/share_server.h"
#include "lib/json/jsonin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
    if (!good)
        abort();
}

static void use(const struct drive_model *m)
{
    struct share_server *s = share_server_create(m, 1);
    struct share_server_end end;
    char text[100];
    int ends = 0;

    check(s != NULL);
    drive_model_validity(m, text, sizeof(text));
    for (unsigned i = 0; i < 40; i++) {
        uint64_t bytes = (uint64_t)1 << i;
        uint64_t rate = drive_model_rate(m, 1 + i, bytes, bytes / (1 + i % 3));
        check(rate >= 1 && rate <= DRIVE_MODEL_MAX_RATE);
        check(share_server_add(s, 0, bytes, i % 3 == 0, i) == 0);
    }
    while (share_server_take(s, INT64_MAX - 1, &end))
        ends++;
    check(ends == 40 || share_server_next_ns(s) == INT64_MAX); /* or after the end of time */
    share_server_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {0};
    struct jsonin *d;
    struct drive_model *m = NULL;

    if (jsonin_parse(&d, (const char *)data, size, "fuzz", &e) < 0)
        return 0;
    int rc = drive_model_parse(&m, jsonin_root(d), "fuzz", &e);
    check(rc == 0 ? m != NULL : m == NULL && e.what[0] != '\0');
    if (rc == 0)
        use(m);
    drive_model_free(m);
    jsonin_free(d);
    return 0;
}
