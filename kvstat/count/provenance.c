/* Reads the JSON that comes with the rows: provenance and summary frames, or --run FILE. Everything
 * in it is optional, since files of other programs and older versions have less. */
#include "kvstat/count/provenance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/json/jsonin.h"

#define MAX_SUMMARY_BYTES ((size_t)64 << 20)

/* The first of the NULL-terminated paths that is there. */
static const struct jsonin_v *first_of(const struct jsonin_v *root, const char *const *paths)
{
    const struct jsonin_v *v = NULL;
    for (; !v && *paths; paths++)
        v = jsonin_get(root, *paths);
    return v;
}

#define PATHS(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

static void take_i64(int64_t *out, const struct jsonin_v *root, const char *const *paths)
{
    int64_t v;
    if (*out < 0 && jsonin_i64(first_of(root, paths), &v) == 0)
        *out = v;
}

static void take_text(char *out, size_t n, const struct jsonin_v *root, const char *const *paths)
{
    const char *text = jsonin_text(first_of(root, paths), NULL);
    if (out[0] || !text)
        return;
    snprintf(out, n, "%s", text);
    err_make_harmless(out);
}

static int tier_index(const struct jsonin_v *tier)
{
    const char *name = jsonin_text(jsonin_get(tier, "tier"), NULL);
    for (unsigned t = 0; name && t < TRACE_TIERS; t++)
        if (strcmp(name, trace_tier_text((enum trace_tier)t)) == 0)
            return (int)t;
    return -1;
}

static void take_tiers(struct run *r, const struct jsonin_v *tiers)
{
    for (size_t i = 0; i < jsonin_count(tiers); i++) {
        const struct jsonin_v *v = jsonin_at(tiers, i);
        int t = tier_index(v);
        bool simulated;
        if (t < 0)
            continue;
        take_i64(&r->capacity_bytes[t], v, PATHS("capacity_bytes"));
        if (r->simulated[t] < 0 && jsonin_bool(jsonin_get(v, "simulated"), &simulated) == 0)
            r->simulated[t] = simulated;
    }
}

static void take_validity(struct run *r, const struct jsonin_v *root)
{
    const struct jsonin_v *why = jsonin_get(root, "why_invalid");
    bool valid;
    if (r->valid >= 0 || jsonin_bool(jsonin_get(root, "valid"), &valid) < 0)
        return;
    r->valid = valid;
    for (size_t i = 0; i < jsonin_count(why); i++) {
        const char *text = jsonin_text(jsonin_at(why, i), NULL);
        size_t len = strlen(r->why_invalid);
        snprintf(r->why_invalid + len, sizeof(r->why_invalid) - len, "%s%s", len ? "; " : "",
                 text ? text : "");
    }
    err_make_harmless(r->why_invalid);
}

static void take_f64(double *out, const struct jsonin_v *root, const char *path)
{
    double v;
    if (isnan(*out) && jsonin_f64(jsonin_get(root, path), &v) == 0)
        *out = v;
}

/* A replay's answer to "how many users". */
static void take_autoscaling(struct run_autoscaling *a, const struct jsonin_v *v)
{
    if (!v || a->known)
        return;
    a->known = true;
    take_text(a->mode, sizeof(a->mode), v, PATHS("mode"));
    take_text(a->reason, sizeof(a->reason), v, PATHS("reason"));
    take_i64(&a->users, v, PATHS("users"));
    take_f64(&a->tokens_per_s, v, "throughput_tokens_per_s");
}

/* A recorded trace has its own users; the option then stands at a default without meaning. */
static bool users_simulated(const struct jsonin_v *root)
{
    const char *source = jsonin_text(jsonin_get(root, "options.source"), NULL);
    return !source || strcmp(source, "users") == 0;
}

static int64_t warmup_of(const struct jsonin_v *root)
{
    double s = 0;
    if (jsonin_f64(jsonin_get(root, "warmup.seconds"), &s) < 0 || !(s > 0 && s < 1e9))
        return 0;
    return llround(s * 1e9);
}

static void take_document(struct run *r, const struct jsonin_v *root)
{
    r->known = true;
    r->seed_known = r->seed_known || jsonin_u64(jsonin_get(root, "seed"), &r->seed) == 0;
    take_text(r->digest, sizeof(r->digest), root, PATHS("trace.digest"));
    take_text(r->model, sizeof(r->model), root, PATHS("model.name", "model", "options.model"));
    take_i64(&r->bytes_per_token, root, PATHS("model.bytes_per_token", "bytes_per_token"));
    if (users_simulated(root))
        take_i64(&r->users, root, PATHS("options.num-users", "users"));
    take_i64(&r->tensor_parallel, root, PATHS("options.tensor-parallel", "tensor_parallel"));
    take_i64(&r->num_gpus, root, PATHS("options.num-gpus", "num_gpus"));
    take_text(r->generation_mode, sizeof(r->generation_mode), root,
              PATHS("options.generation-mode", "generation_mode"));
    take_tiers(r, jsonin_get(root, "tiers"));
    take_validity(r, root);
    take_i64(&r->device_read_bytes, root, PATHS("kernel.device_read_bytes"));
    take_i64(&r->device_write_bytes, root, PATHS("kernel.device_write_bytes"));
    if (r->warmup_ns < 0 && jsonin_get(root, "warmup"))
        r->warmup_ns = warmup_of(root);
    take_f64(&r->page_cache_share, root, "kernel.page_cache_resident_share");
    take_autoscaling(&r->autoscaling, jsonin_get(root, "autoscaling"));
}

static int take_json(struct run *r, const char *json, const char *where, struct err *e)
{
    struct jsonin *doc = NULL;
    if (!json)
        return 0;
    int rc = jsonin_parse(&doc, json, strlen(json), where, e);
    if (rc == 0)
        take_document(r, jsonin_root(doc));
    jsonin_free(doc);
    return rc;
}

static int take_file(struct run *r, const char *path, struct err *e)
{
    struct jsonin *doc = NULL;
    int rc = jsonin_load(&doc, path, MAX_SUMMARY_BYTES, e);
    if (rc == 0)
        take_document(r, jsonin_root(doc));
    jsonin_free(doc);
    return rc;
}

int run_read(struct run *r, const char *summary_path, const char *summary, const char *provenance,
             struct err *e)
{
    *r = (struct run){.users = -1,
                      .tensor_parallel = -1,
                      .num_gpus = -1,
                      .bytes_per_token = -1,
                      .valid = -1,
                      .warmup_ns = -1,
                      .device_read_bytes = -1,
                      .device_write_bytes = -1,
                      .page_cache_share = NAN,
                      .autoscaling = {.users = -1, .tokens_per_s = NAN}};
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        r->capacity_bytes[t] = r->simulated[t] = -1;
    int rc = summary_path ? take_file(r, summary_path, e) : 0;
    if (rc == 0)
        rc = take_json(r, summary, "summary frame", e);
    if (rc == 0)
        rc = take_json(r, provenance, "provenance frame", e);
    return rc;
}

int64_t provenance_warmup_ns(const char *summary)
{
    struct jsonin *doc = NULL;
    if (!summary || jsonin_parse(&doc, summary, strlen(summary), "", NULL) < 0)
        return 0;
    int64_t ns = warmup_of(jsonin_root(doc));
    jsonin_free(doc);
    return ns;
}
