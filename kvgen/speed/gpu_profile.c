/* Turns --gpu-profile and --prefill into plain numbers for the simulator, which sees no file. The
 * profiles are in the table below. */
#include "kvgen/speed/gpu_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/nearest.h"
#include "lib/base/units.h"
#include "lib/json/jsonin.h"

enum {
    MAX_TEXT = 512,
    MAX_POINTS = 100000
};
#define MAX_FILE    ((size_t)16 << 20)
#define MAX_TOKENS  1000000000
#define MAX_MS      1e9
#define ETA         0.5 /* published runs of dense models on H100 imply 0.49 to 0.52 */
#define B           0.75
#define T_HOST_MS   5
#define HOST_MS     25
#define OVERHEAD_MS 20 /* published hits cost 13 to 43 ms more than bytes over bandwidth */

/* Dense peaks, memory, its bandwidth, bandwidth to the host a direction, power, and bandwidth
 * between GPUs a direction. Collected second hand from the makers' data sheets. */
static const struct {
    const char *name;
    double bf16_tflops, fp8_tflops, hbm_gb, hbm_tb_s, link_gb_s, watts, gpu_link_gb_s;
} profile[] = {
    {"a100-80", 312, 0, 80, 2.04, 32, 400, 300},    {"h20", 148, 296, 96, 4.0, 64, 400, 450},
    {"h100", 989, 1979, 80, 3.35, 64, 700, 450},    {"h200", 989, 1979, 141, 4.8, 64, 700, 450},
    {"b200", 2250, 4500, 180, 7.7, 64, 1000, 900},  {"gb300", 2500, 5000, 279, 8, 450, 1400, 900},
    {"mi300x", 1307, 2615, 192, 5.3, 64, 750, 448}, {"mi355x", 2500, 5000, 288, 8, 64, 1400, 538},
    {"l40s", 362, 733, 48, 0.864, 32, 350, 32},
};
#define PROFILES (sizeof(profile) / sizeof(*profile))

/* The numbers of a profile, in a file and behind a name. */
static const struct number {
    const char *name;
    size_t offset;
    double least, most;
    bool needed, by_text; /* in a file; behind a name, too */
    bool measured;        /* --prefill says it */
} numbers[] = {
    {"bf16_tflops", offsetof(struct gpu_profile, bf16_tflops), 1e-3, 1e6, true, false, false},
    {"fp8_tflops", offsetof(struct gpu_profile, fp8_tflops), 0, 1e6, false, false, false},
    {"hbm_gb", offsetof(struct gpu_profile, hbm_gb), 0, 1e6, false, false, false},
    {"hbm_tb_s", offsetof(struct gpu_profile, hbm_tb_s), 0, 1e6, false, false, false},
    {"link_gb_s", offsetof(struct gpu_profile, link_gb_s), 1e-3, 1e6, true, true, false},
    {"watts", offsetof(struct gpu_profile, watts), 0, 1e6, false, false, false},
    {"eta", offsetof(struct gpu_profile, eta), 1e-3, 1, false, true, true},
    {"t0_ms", offsetof(struct gpu_profile, t0_ms), 0, MAX_MS, false, true, true},
    {"load_overhead_ms", offsetof(struct gpu_profile, load_overhead_ms), 0, MAX_MS, false, true,
     false},
    {"eta_a", offsetof(struct gpu_profile, eta_a), 1e-3, 1, false, true, true},
    {"b", offsetof(struct gpu_profile, b), 1e-3, 1, false, true, false},
    {"t_host_ms", offsetof(struct gpu_profile, t_host_ms), 0, MAX_MS, false, true, false},
    {"host_ms", offsetof(struct gpu_profile, host_ms), 0, MAX_MS, false, true, true},
    {"gpu_link_gb_s", offsetof(struct gpu_profile, gpu_link_gb_s), 0, 1e6, false, true, false},
};
#define NUMBERS (sizeof(numbers) / sizeof(*numbers))

static int bad(struct err *e, const char *text, const char *why)
{
    return err_set(e, -EINVAL, ERR_INPUT, "--gpu-profile", "\"%s\": %s", text, why);
}

static bool in_range(const struct number *n, double v)
{
    return v >= n->least && v <= n->most;
}

static void put(struct gpu_profile *g, const struct number *n, double v)
{
    memcpy((char *)g + n->offset, &v, sizeof(v));
    g->overhead_given |= n->offset == offsetof(struct gpu_profile, load_overhead_ms);
}

static int check(struct gpu_profile *g, const char *where, struct err *e)
{
    if (g->fp8 && g->fp8_tflops <= 0)
        return err_set(e, -EINVAL, ERR_INPUT, where, "%s has no FP8 peak (type=bf16)", g->name);
    return 0;
}

/* ---- a file ---- */

static const struct number *find_number(const char *name)
{
    for (size_t i = 0; i < NUMBERS; i++)
        if (strcmp(numbers[i].name, name) == 0)
            return &numbers[i];
    return NULL;
}

static int bad_member(struct err *e, const char *where, const struct number *n)
{
    return err_set(e, -EINVAL, ERR_INPUT, where, "%s: expected a number from %g to %g", n->name,
                   n->least, n->most);
}

int gpu_profile_parse(struct gpu_profile *g, const struct jsonin_v *root, const char *where,
                      struct err *e)
{
    const char *key, *name = jsonin_text(jsonin_get(root, "name"), NULL);
    struct gpu_profile found = {.given = true,
                                .eta = ETA,
                                .load_overhead_ms = OVERHEAD_MS,
                                .b = B,
                                .t_host_ms = T_HOST_MS,
                                .host_ms = HOST_MS};
    if (!name || !*name || strlen(name) >= sizeof(found.name))
        return err_set(e, -EINVAL, ERR_INPUT, where,
                       "not a GPU profile: name: expected a text of 1 to %zu bytes",
                       sizeof(found.name) - 1);
    strcpy(found.name, name);
    for (size_t i = 0; i < jsonin_members(root); i++) {
        const struct jsonin_v *v = jsonin_member(root, i, &key);
        const struct number *n = find_number(key);
        double value;
        if (strcmp(key, "name") == 0 || !v)
            continue;
        if (!n)
            return err_set(e, -EINVAL, ERR_INPUT, where, "%.60s: not a number of a GPU profile",
                           key);
        if (jsonin_f64(v, &value) < 0 || !in_range(n, value))
            return bad_member(e, where, n);
        put(&found, n, value);
    }
    for (size_t i = 0; i < NUMBERS; i++)
        if (numbers[i].needed && !jsonin_get(root, numbers[i].name))
            return bad_member(e, where, &numbers[i]);
    *g = found;
    return 0;
}

/* ---- NAME:KEY=VALUE,... ---- */

static int set_name(struct gpu_profile *g, const char *text, const char *name, struct err *e)
{
    char why[MAX_TEXT] = "unknown profile (known:", hint[NEAREST_HINT];
    struct nearest near = {.typed = name};
    size_t n = strlen(why);
    for (size_t i = 0; i < PROFILES; i++) {
        if (strcmp(profile[i].name, name) == 0) {
            *g = (struct gpu_profile){.given = true,
                                      .bf16_tflops = profile[i].bf16_tflops,
                                      .fp8_tflops = profile[i].fp8_tflops,
                                      .hbm_gb = profile[i].hbm_gb,
                                      .hbm_tb_s = profile[i].hbm_tb_s,
                                      .link_gb_s = profile[i].link_gb_s,
                                      .watts = profile[i].watts,
                                      .eta = ETA,
                                      .load_overhead_ms = OVERHEAD_MS,
                                      .b = B,
                                      .t_host_ms = T_HOST_MS,
                                      .host_ms = HOST_MS,
                                      .gpu_link_gb_s = profile[i].gpu_link_gb_s};
            strcpy(g->name, name);
            return 0;
        }
        nearest_offer(&near, profile[i].name);
        n += (size_t)snprintf(why + n, sizeof(why) - n, "%s %s", i > 0 ? "," : "", profile[i].name);
    }
    snprintf(why + n, sizeof(why) - n, "; or FILE.json)%s", nearest_hint(&near, hint));
    return bad(e, text, why);
}

static int set_part(struct gpu_profile *g, const char *text, char *part, struct err *e)
{
    char *value = strchr(part, '=');
    if (value)
        *value++ = '\0';
    const struct number *n = find_number(part);
    if (value && n && n->by_text) {
        char why[MAX_TEXT];
        double number;
        const bool share = n->most == 1;
        const int rc = share ? units_parse_share(value, &number) : units_parse_f64(value, &number);
        if (rc == 0 && in_range(n, number)) {
            put(g, n, number);
            if (n->measured)
                g->time_key = n->name;
            return 0;
        }
        snprintf(why, sizeof(why), "%s: \"%.40s\" is not a number from %g to %g%s", n->name, value,
                 n->least, n->most, share ? ", or to 100%" : "");
        return bad(e, text, why);
    }
    if (value && strcmp(part, "type") == 0) {
        g->fp8 = strcmp(value, "fp8") == 0;
        g->time_key = "type";
        return g->fp8 || strcmp(value, "bf16") == 0 ? 0 : bad(e, text, "type: bf16 or fp8");
    }
    return bad(e, text,
               "expected eta=SHARE, t0_ms=MS, load_overhead_ms=MS, link_gb_s=RATE or "
               "type=bf16|fp8 behind the name");
}

const char *gpu_profile_file(const char *text, char *name, size_t size)
{
    const char *end = text ? strstr(text, ".json") : NULL;
    if (!end || (end[5] != '\0' && end[5] != ':') || (size_t)(end + 6 - text) > size)
        return NULL;
    snprintf(name, size, "%.*s", (int)(end + 5 - text), text);
    return name;
}

int gpu_profile_set(struct gpu_profile *g, const char *text, struct err *e)
{
    char copy[MAX_TEXT], file[MAX_TEXT];
    if (strlen(text) >= sizeof(copy))
        return bad(e, "...", "too long");
    strcpy(copy, text);
    char *parts = NULL, *rest = NULL;
    int rc;
    if (gpu_profile_file(text, file, sizeof(file))) {
        struct jsonin *d;
        parts = copy + strlen(file);
        parts = *parts == ':' ? parts + 1 : NULL;
        rc = jsonin_load(&d, file, MAX_FILE, e);
        if (rc < 0)
            return rc;
        rc = gpu_profile_parse(g, jsonin_root(d), file, e);
        jsonin_free(d);
    } else {
        parts = strchr(copy, ':');
        if (parts)
            *parts++ = '\0';
        rc = set_name(g, text, copy, e);
    }
    if (rc == 0 && parts && !*parts)
        return bad(e, text, "nothing behind the :");
    for (char *part = parts ? strtok_r(parts, ",", &rest) : NULL; rc == 0 && part;
         part = strtok_r(NULL, ",", &rest))
        rc = set_part(g, text, part, e);
    return rc == 0 ? check(g, "--gpu-profile", e) : rc;
}

/* ---- measured points ---- */

/* NULL: done; else what is wrong with the point. */
static const char *read_point(struct prefill_point *p, const struct jsonin_v *v)
{
    double ms = jsonin_number(v, "ms");
    if (jsonin_u64(jsonin_get(v, "cached"), &p->cached) < 0 || p->cached > MAX_TOKENS)
        return "cached: expected a number of tokens";
    if (jsonin_u64(jsonin_get(v, "new"), &p->fresh) < 0 || p->fresh < 1 || p->fresh > MAX_TOKENS)
        return "new: expected a number of tokens, at least 1";
    if (!(ms >= 1e-6 && ms <= MAX_MS))
        return "ms: expected a number above 0, at most 1e9";
    p->ns = ms * 1e6;
    return NULL;
}

static int read_loads(struct gpu_profile *g, const struct jsonin_v *root, const char *where,
                      struct err *e)
{
    static const char *const names[] = {"link_gb_s", "load_overhead_ms"};
    const char *key;
    double value;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const struct number *n = find_number(names[i]);
        const struct jsonin_v *v = jsonin_get(root, names[i]);
        if (!v)
            continue;
        if (jsonin_f64(v, &value) < 0 || !in_range(n, value))
            return bad_member(e, where, n);
        put(g, n, value);
    }
    for (size_t i = 0; i < jsonin_members(root); i++) {
        jsonin_member(root, i, &key);
        if (strcmp(key, "points") != 0 && strcmp(key, names[0]) != 0 && strcmp(key, names[1]) != 0)
            return err_set(e, -EINVAL, ERR_INPUT, where,
                           "%.60s: unknown; a file of measured prefills has points, link_gb_s and "
                           "load_overhead_ms",
                           key);
    }
    return 0;
}

static int tell_misfit(const struct prefill_time *p, const struct prefill_point *at, size_t worst,
                       const char *where, struct err *e)
{
    double fit_ms = (double)prefill_time_ns(p, at->cached, at->fresh) / 1e6;
    return err_set(
        e, -EINVAL, ERR_INPUT, where,
        "point %zu (cached %llu, new %llu): measured %g ms, but the formula fitted to all points "
        "gives %.4g ms, more than %.0f %% off; check this point, and that all points are of one "
        "engine",
        worst + 1, (unsigned long long)at->cached, (unsigned long long)at->fresh, at->ns / 1e6,
        fit_ms, 100 * PREFILL_MISS);
}

int prefill_points_parse(struct prefill_time *p, struct gpu_profile *g, const struct jsonin_v *root,
                         const char *where, struct err *e)
{
    const struct jsonin_v *list = jsonin_get(root, "points");
    size_t count = jsonin_count(list), worst;
    double miss;
    int rc = read_loads(g, root, where, e);
    if (rc < 0)
        return rc;
    if (!jsonin_is_array(list) || count < PREFILL_POINTS || count > MAX_POINTS)
        return err_set(e, -EINVAL, ERR_INPUT, where,
                       "points: expected a list of %d to %d measured prefills, found %zu",
                       PREFILL_POINTS, MAX_POINTS, count);
    struct prefill_point *point = calloc(count, sizeof(*point));
    if (!point)
        return err_nomem(e, "measured prefills");
    for (size_t i = 0; i < count && rc == 0; i++) {
        const char *why = read_point(&point[i], jsonin_at(list, i));
        if (why)
            rc = err_set(e, -EINVAL, ERR_INPUT, where, "point %zu: %s", i + 1, why);
    }
    if (rc == 0) {
        rc = prefill_time_fit(p, point, count, &worst, &miss);
        if (rc == -ERANGE)
            rc = tell_misfit(p, &point[worst], worst, where, e);
        else if (rc == -EDOM)
            rc = err_set(e, -EINVAL, ERR_INPUT, where,
                         "points: they do not tell the time of a token from that of attention: "
                         "measure at least three lengths");
        else if (rc < 0)
            rc = err_nomem(e, "measured prefills");
    }
    free(point);
    return rc;
}

/*
 * Fits p, whose layers are set, to the points of a file: {"points": [{"cached": h, "new": m, "ms":
 * t}, ...]}. Members link_gb_s and load_overhead_ms replace those of *g. 0, or -EINVAL with *e:
 * fewer than four points, one that is no measurement, or a fit that misses one.
 */
static int prefill_points_load(struct prefill_time *p, struct gpu_profile *g, const char *path,
                               struct err *e)
{
    struct jsonin *d;
    int rc = jsonin_load(&d, path, MAX_FILE, e);
    if (rc < 0)
        return rc;
    rc = prefill_points_parse(p, g, jsonin_root(d), path, e);
    jsonin_free(d);
    return rc;
}

/* ---- both together ---- */

static int calculate(struct prefill_time *t, const struct prefill_setup *s, struct err *e)
{
    const struct gpu_profile *g = s->gpu;
    struct prefill_gpu gpu = {.params = s->params > 0 ? s->params : (double)s->model->active_params,
                              .operations_per_s = (g->fp8 ? g->fp8_tflops : g->bf16_tflops) * 1e12,
                              .eta = g->eta,
                              .t0_ns = g->t0_ms * 1e6,
                              .tensor_parallel = s->tensor_parallel};
    if (!(gpu.params > 0))
        return err_set(e, -EINVAL, ERR_INPUT, "--gpu-profile",
                       "%s does not tell how many parameters a token multiplies with: give "
                       "--params N",
                       s->model->id);
    if (s->model->pair_elements == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--gpu-profile",
                       "%s does not tell the width of its attention: give a config.json with "
                       "num_attention_heads, qk_nope_head_dim and v_head_dim",
                       s->model->id);
    prefill_time_calculate(t, s->model, &gpu);
    return 0;
}

int prefill_model_set(struct prefill_model *p, const struct prefill_setup *s, struct err *e)
{
    struct gpu_profile *g = s->gpu;
    *p = (struct prefill_model){
        .engines = s->engines, .tensor_parallel = s->tensor_parallel, .host_ranks = s->host_ranks};
    prefill_time_layers(&p->time, s->model);
    if (s->prefill && g->time_key)
        return err_set(e, -EINVAL, ERR_INPUT, "--gpu-profile",
                       "%s= does not apply with --prefill, whose times are measured", g->time_key);
    int rc =
        s->prefill ? prefill_points_load(&p->time, g, s->prefill, e) : calculate(&p->time, s, e);
    p->link_bytes_per_s = g->link_gb_s * 1e9;
    p->load_overhead_ns = (int64_t)(g->load_overhead_ms * 1e6 + 0.5);
    return rc;
}
