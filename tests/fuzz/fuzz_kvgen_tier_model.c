/* Any bytes as a --tier-model, and as the summary of a run that measured tiers: refused with a
 * reason, or speeds within their bounds. The first byte says which. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/speed/tier_model.h"
#include "lib/json/jsonin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
    if (!good)
        abort();
}

static void check_speeds(const struct tier_model model[TRACE_TIERS])
{
    for (int t = 0; t < TRACE_TIERS; t++) {
        check(model[t].given || (model[t].read.bytes_per_s == 0 && model[t].read.latency_ns == 0));
        check(model[t].read.latency_ns >= 0 && model[t].write.latency_ns >= 0);
    }
}

static int text_of(struct tier_model model[TRACE_TIERS], const char *text, struct err *e)
{
    size_t n = strlen(text);
    if (n > 5 && strcmp(text + n - 5, ".json") == 0)
        return 0; /* no files of this machine */
    return tier_model_set(model, text, e);
}

static int summary_of(struct tier_model model[TRACE_TIERS], const char *text, size_t len,
                      struct err *e)
{
    struct jsonin *d;
    int rc = jsonin_parse(&d, text, len, "fuzz", e);
    if (rc < 0)
        return rc;
    rc = tier_model_measured(model, TRACE_NO_TIER, jsonin_root(d), "fuzz", e);
    jsonin_free(d);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tier_model model[TRACE_TIERS] = {0};
    struct err e = {0};
    if (size < 1)
        return 0;
    char *text = malloc(size);
    check(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    int rc = data[0] & 1 ? text_of(model, text, &e) : summary_of(model, text, size - 1, &e);
    check(rc == 0 || (rc < 0 && e.what[0] != '\0'));
    if (rc == 0)
        check_speeds(model);
    free(text);
    return 0;
}
