/* Any bytes as a --gpu-profile, as the file of one, and as the file of measured prefills: refused
 * with a reason, or numbers in their ranges and a fit that is near every point. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/speed/gpu_profile.h"
#include "lib/json/jsonin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
    if (!good)
        abort();
}

static int from_json(uint8_t kind, struct gpu_profile *g, struct prefill_time *p, const char *text,
                     struct err *e)
{
    struct jsonin *d;
    int rc = jsonin_parse(&d, text, strlen(text), "fuzz", e);
    if (rc < 0)
        return rc;
    prefill_time_layers(p, model_builtin(kind % 9));
    rc = kind & 1 ? gpu_profile_parse(g, jsonin_root(d), "fuzz", e)
                  : prefill_points_parse(p, g, jsonin_root(d), "fuzz", e);
    jsonin_free(d);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gpu_profile g = {0};
    struct prefill_time p = {0};
    struct err e = {0};
    if (size < 1)
        return 0;
    char *text = malloc(size);
    check(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    bool by_text = data[0] < 64 && !strstr(text, ".json"); /* no file is opened here */
    int rc = by_text ? gpu_profile_set(&g, text, &e) : from_json(data[0], &g, &p, text, &e);
    check(rc == 0 || (rc < 0 && e.what[0] != '\0'));
    check(!g.given || (g.eta > 0 && g.eta <= 1 && g.bf16_tflops > 0 && g.link_gb_s > 0));
    check(rc < 0 || !p.measured ||
          (p.t0_ns >= 0 && p.token_ns >= 0 && p.pair_ns >= 0 &&
           p.t0_ns + p.token_ns + p.pair_ns > 0 && isfinite(p.t0_ns + p.token_ns + p.pair_ns)));
    free(text);
    return 0;
}
