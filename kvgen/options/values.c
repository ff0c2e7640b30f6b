/* Options of kvgen whose text is more than one number: capacities, lists of tiers, operations and
 * sizes, tier models. kvgen.c asks for them after options_check. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/options/options.h"
#include "kvgen/source/request.h"
#include "lib/base/units.h"
#include "lib/io/target_device.h"
#include "lib/sort/ascending.h"
#include "lib/text/text.h"

/* 2025-01-01: the tools of that benchmark expect a date. */
#define MLPERF_EPOCH_S INT64_C(1735689600)

/* Bytes of a number of GiB, to the nearest. */
static uint64_t gib(double n)
{
    return (uint64_t)(n * (double)UNITS_GIB + 0.5);
}

/* As much as kvreplay takes there. */
static int storage_fits(const char *path, uint64_t *bytes, struct err *e)
{
    int rc = target_fits(path, bytes, e);

    if (rc < 0)
        return err_errno(e, rc, ERR_INPUT, "--storage-capacity", "cannot look at %s", path);
    if (*bytes == 0)
        return err_set(e, -ENOSPC, ERR_INPUT, "--storage-capacity", "no space free at %s", path);
    return 0;
}

static int storage_capacity(const char *text, uint64_t *bytes, struct err *e)
{
    double n;

    *bytes = HIERARCHY_UNLIMITED;
    if (strcmp(text, "unlimited") == 0)
        return 0;
    if (strcmp(text, "none") == 0) {
        *bytes = HIERARCHY_ABSENT;
        return 0;
    }
    if (strncmp(text, "auto:", 5) == 0)
        return storage_fits(text + 5, bytes, e);
    uint64_t size = 0;
    int rc = units_parse_f64(text, &n);

    if (rc < 0)
        rc = units_parse_size(text, &size);
    else if (n >= 0 && n <= 1e9)
        size = gib(n) > 0 || n == 0 ? gib(n) : 1;
    else
        rc = -ERANGE;
    if (rc < 0 || size > (uint64_t)INT64_MAX)
        return err_set(e, -EINVAL, ERR_INPUT, "--storage-capacity",
                       "\"%s\" is not a size (such as 500GiB; without a unit: GiB), unlimited, "
                       "none or auto:PATH",
                       text);
    if (size > 0)
        *bytes = size;
    return 0;
}

int options_capacities(const struct options *o, uint64_t capacity[TRACE_TIERS], struct err *e)
{
    /* Each of an engine's GPUs holds its part of every object, and its tiers are its own. */
    uint64_t gpus = o->engine.kind ? 1 : o->num_gpus;
    capacity[TRACE_GPU] = gib(o->gpu_mem_gb * (double)gpus);
    capacity[TRACE_CPU] = gib(o->cpu_mem_gb);
    if (capacity[TRACE_GPU] > gib(OPTIONS_GPU_GIB))
        return err_set(e, -ERANGE, ERR_INPUT, "--num-gpus",
                       "all GPUs together have more than 65536 GiB");
    int rc = storage_capacity(o->storage_capacity, &capacity[TRACE_STORAGE], e);
    if (rc == 0 && capacity[TRACE_GPU] == 0 && capacity[TRACE_CPU] == 0 &&
        capacity[TRACE_STORAGE] == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--storage-capacity",
                       "none needs another tier, but --gpu-mem and --cpu-mem are 0");
    bool ends = capacity[TRACE_STORAGE] != HIERARCHY_ABSENT &&
                capacity[TRACE_STORAGE] != HIERARCHY_UNLIMITED;
    if (rc == 0 && o->fill_storage && !ends)
        return err_set(e, -EINVAL, ERR_INPUT, "--fill-storage",
                       "needs a --storage-capacity with a limit, such as 500GiB or auto:PATH");
    return rc;
}

int options_granularity(const struct options *o, int64_t *tokens, struct err *e)
{
    *tokens = 0;
    if (strcmp(o->granularity, "request") == 0)
        return 0;
    if (strncmp(o->granularity, "block:", 6) == 0 &&
        units_parse_i64(o->granularity + 6, tokens) == 0 && *tokens >= 1 &&
        *tokens <= REQUEST_MAX_TOKENS)
        return 0;
    return err_set(e, -EINVAL, ERR_INPUT, "--granularity",
                   "\"%s\" is not request or block:N, with N tokens, at least 1", o->granularity);
}

int options_speed(const struct options *o, const uint64_t capacity[TRACE_TIERS],
                  struct tier_model speed[TRACE_TIERS], struct err *e)
{
    int rc = 0;

    memset(speed, 0, TRACE_TIERS * sizeof(*speed));
    for (size_t i = 0; rc == 0 && i < o->tier_model.count; i++) {
        const char *text = o->tier_model.item[i];
        bool one = text[0] >= '0' && text[0] <= '2' && text[1] == '=';
        rc = tier_model_set(speed, text, e);
        if (rc == 0 && one && capacity[text[0] - '0'] == HIERARCHY_ABSENT)
            rc = err_set(e, -EINVAL, ERR_INPUT, "--tier-model", "\"%s\": there is no such tier",
                         text);
    }
    if (rc == 0 && o->tbw > 0 && capacity[TRACE_STORAGE] == HIERARCHY_ABSENT)
        rc = err_set(e, -EINVAL, ERR_INPUT, "--tbw", "there is no Tier-2, whose drive would wear");
    return rc;
}

int options_tiers(const struct options *o, unsigned *mask, struct err *e)
{
    bool of_storage =
        o->format == OPTIONS_SAI3 || o->format == OPTIONS_WARP || o->format == OPTIONS_FIO;

    *mask = of_storage && !o->only_tier ? 1u << TRACE_STORAGE : 0;
    for (const char *p = o->only_tier; p; p = p[1] == ',' ? p + 2 : NULL) {
        if (*p < '0' || *p > '2' || (p[1] != ',' && p[1] != '\0'))
            return err_set(e, -EINVAL, ERR_INPUT, "--only-tier",
                           "\"%s\" is not a list of tiers such as 0,2", o->only_tier);
        *mask |= 1u << (*p - '0');
    }
    return 0;
}

int options_ops(const struct options *o, unsigned *mask, struct err *e)
{
    *mask = 0;
    for (const char *p = o->ops; p; p = *p == ',' ? p + 1 : NULL) {
        size_t len = strcspn(p, ",");
        enum trace_op op = TRACE_READ;
        while (op < TRACE_OPS &&
               (trace_op_word(op)->len != len || memcmp(trace_op_word(op)->text, p, len) != 0))
            op++;
        if (op == TRACE_OPS)
            return err_set(e, -EINVAL, ERR_INPUT, "--ops",
                           "\"%.*s\" is none of Read, Write, Delete, Generate and Miss",
                           len < 40 ? (int)len : 40, p);
        *mask |= 1u << op;
        p += len;
    }
    return 0;
}

int options_curve_sizes(const struct options *o, uint64_t *size, size_t *count, struct err *e)
{
    *count = 0;
    for (const char *p = o->curve_sizes; p; p += *p == ',') {
        char one[64];
        size_t len = strcspn(p, ",");
        snprintf(one, sizeof(one), "%.*s", len < sizeof(one) ? (int)len : 0, p);
        if (*count == CURVE_MAX_SIZES)
            return err_set(e, -E2BIG, ERR_INPUT, "--curve-sizes", "more than %d capacities",
                           CURVE_MAX_SIZES);
        double n;
        bool bare = units_parse_f64(one, &n) == 0;
        if (bare && n >= 0 && n <= 1e9)
            size[*count] = gib(n);
        else if (bare || units_parse_size(one, &size[*count]) < 0 ||
                 size[*count] > (uint64_t)INT64_MAX)
            return err_set(e, -EINVAL, ERR_INPUT, "--curve-sizes",
                           "\"%.*s\" is not a capacity such as 64GiB (without a unit: GiB)",
                           (int)(len & 0xfff), p);
        ++*count;
        p += len;
        if (*p == '\0')
            break;
    }
    qsort(size, *count, sizeof(*size), ascending_u64);
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++)
        if (kept == 0 || size[i] != size[kept - 1])
            size[kept++] = size[i];
    *count = kept;
    return 0;
}

int options_rate(const char *option, const char *text, double *rate, uint64_t *tokens,
                 struct err *e)
{
    char number[40], of[40];
    const char *at = strchr(text, '@');
    const size_t len = at ? (size_t)(at - text) : 0;
    uint64_t times = 1;
    *tokens = 0;
    if (len > 0 && len < sizeof(number) && strlen(at + 1) < sizeof(of)) {
        snprintf(number, sizeof(number), "%.*s", (int)len, text);
        snprintf(of, sizeof(of), "%s", at + 1);
        if (text_ends_with(number, "tok/s"))
            number[len - 5] = '\0';
        if (text_ends_with(of, "k") && (times = 1000) > 0)
            of[strlen(of) - 1] = '\0';
        if (units_parse_f64(number, rate) == 0 && *rate >= 1e-3 && *rate <= 1e9 &&
            units_parse_u64(of, tokens) == 0 && *tokens >= 1 && *tokens <= 10000000) {
            *tokens *= times;
            return 0;
        }
    }
    return err_set(e, -EINVAL, ERR_INPUT, option,
                   "\"%s\" is not RATE@TOKENS, such as 31000@2k: tokens a second, and the tokens "
                   "of the prompt (k: 1000)",
                   text);
}

int options_epoch(const struct options *o, int64_t *epoch_ns, struct err *e)
{
    *epoch_ns = o->format == OPTIONS_MLPERF ? MLPERF_EPOCH_S * UNITS_NS_PER_S : 0;
    if (!o->epoch)
        return 0;
    if (units_parse_decimal(o->epoch, strlen(o->epoch), 9, epoch_ns) < 0 || *epoch_ns < 0 ||
        *epoch_ns > INT64_MAX / 2)
        return err_set(e, -EINVAL, ERR_INPUT, "--epoch",
                       "\"%s\" is not a number of seconds since 1970", o->epoch);
    return 0;
}
