/* Between the options and the opening of tiers (tiers.c): chooses an engine for each tier by
 * --tier-engine, --gpu, --target and what the trace needs. */
#include "kvreplay/prepare/tiers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/drive/drive_model.h"

enum {
    GPU_NUMBER_MAX = 1023
};

/* ---- engines: --tier-engine ---- */

static int engine_error(struct err *e, const char *text, const char *why)
{
    return err_set(e, -EINVAL, ERR_INPUT, "--tier-engine", "%s: %s", text, why);
}

/* Takes one of "bw=2GB/s", "lat=100us", "servers=8" and "stall=1s+500ms". NULL, or what it has to
 * be. */
static const char *sim_parameter(struct tier_sim_opts *sim, char *part)
{
    char *value = strchr(part, '=');
    uint64_t n;

    if (value)
        *value++ = '\0';
    if (value && strcmp(part, "bw") == 0)
        return units_parse_bandwidth(value, &sim->bytes_per_s) == 0 && sim->bytes_per_s > 0
                   ? NULL
                   : "bw= takes a rate with its unit, above zero: bw=2GB/s";
    if (value && strcmp(part, "lat") == 0)
        return units_parse_duration(value, &sim->latency_ns) == 0 ? NULL
                                                                  : "lat= takes a time: lat=100us";
    if (value && strcmp(part, "servers") == 0) {
        if (units_parse_u64(value, &n) < 0 || n < 1 || n > TIER_SIM_SERVERS_MAX)
            return "servers= takes a number from 1 to 256";
        sim->servers = (unsigned)n;
        return NULL;
    }
    if (value && strcmp(part, "stall") == 0) {
        char *plus = strchr(value, '+');
        if (plus)
            *plus = '\0';
        return plus && units_parse_duration(value, &sim->stall_at_ns) == 0 &&
                       units_parse_duration(plus + 1, &sim->stall_ns) == 0
                   ? NULL
                   : "stall= takes two times: stall=1s+500ms begins after 1 s and lasts 500 ms";
    }
    return "expected bw=RATE, lat=TIME, servers=N (1 to 256) and stall=AT+TIME, or model=FILE.json "
           "alone, behind sim:";
}

/* "N=sim:bw=2GB/s,lat=100us", "N=sim:model=FILE", "N=sim", "N=null", "N=mem", "N=mem:threads=4". */
static int engine_parse(struct tiers *t, const char *text, struct err *e)
{
    int tier = selection_parse_tier(text);
    char buf[128], *save = NULL;

    if (tier < 0)
        return engine_error(e, text, "expected 0=, 1= or 2= and an engine");
    struct tiers_choice *c = &t->choice[tier];
    const char *engine = text + 2;
    drive_model_free(c->drive);
    *c = (struct tiers_choice){.sim.label = "simulated"};
    if (strcmp(engine, "null") == 0) {
        c->kind = TIERS_NULL;
        return 0;
    }
    if (strcmp(engine, "mem") == 0 || strncmp(engine, "mem:threads=", 12) == 0) {
        uint64_t threads = 0;
        if (engine[3] && (units_parse_u64(engine + 12, &threads) < 0 || threads < 1 ||
                          threads > TIER_HOST_THREADS_MAX))
            return engine_error(e, text, "expected threads=N (1 to 16) behind mem:");
        c->kind = TIERS_HOST;
        c->threads = (unsigned)threads;
        return 0;
    }
    if (strcmp(engine, "sim") != 0 && strncmp(engine, "sim:", 4) != 0)
        return engine_error(e, text, "expected sim, null or mem");
    c->kind = TIERS_SIM;
    const char *parameters = engine[3] ? engine + 4 : "";
    if (strncmp(parameters, "model=", 6) == 0)
        return drive_model_load(&c->drive, parameters + 6, e);
    if (snprintf(buf, sizeof(buf), "%s", parameters) >= (int)sizeof(buf))
        return engine_error(e, text, "too long");
    for (char *part = strtok_r(buf, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
        const char *fault = sim_parameter(&c->sim, part);
        if (fault)
            return engine_error(e, text, fault);
    }
    return 0;
}

/* ---- engines: --gpu ---- */

/* The choices of --gpu. */
enum gpu_wish {
    GPU_AUTO,
    GPU_OFF,
    GPU_REQUIRE,
    GPU_ALL,
    GPU_NAMED /* by numbers */
};
static const char *const gpu_words[GPU_NAMED] = {"auto", "off", "require", "all"};

static int gpu_error(struct err *e, const char *text, const char *why)
{
    return err_set(e, -EINVAL, ERR_INPUT, "--gpu", "%s: %s", text, why);
}

/* "0,1,3" */
static int gpu_numbers(struct tiers_choice *c, const char *text, struct err *e)
{
    for (const char *at = text, *end;; at = end + 1) {
        uint64_t number;
        end = strchrnul(at, ',');
        if (units_parse_digits(at, (size_t)(end - at), &number) < 0 || number > GPU_NUMBER_MAX)
            return gpu_error(
                e, text, "expected device numbers with commas between, all, auto, off or require");
        for (unsigned i = 0; i < c->gpus; i++) {
            if (c->gpu[i] == (int)number)
                return gpu_error(e, text, "names a GPU twice");
        }
        if (c->gpus == TIER_GPU_MAX)
            return gpu_error(e, text, "more than 16 GPUs");
        c->gpu[c->gpus++] = (int)number;
        if (!*end)
            return 0;
    }
}

/* Tier-0: GPUs, or else a simulated one. A GPU that was asked for must be there, whether the trace
 * has rows for it or not. */
static int choose_gpu(struct tiers *t, bool rows, struct err *e)
{
    const struct tiers_opts *o = &t->o;
    struct tiers_choice *c = &t->choice[TRACE_GPU];
    unsigned wish = GPU_AUTO;
    char why[200] = "--gpu off";

    while (wish < GPU_NAMED && strcmp(o->gpu, gpu_words[wish]) != 0)
        wish++;
    bool asked = wish != GPU_AUTO && wish != GPU_OFF, all = wish == GPU_ALL;
    if (wish == GPU_NAMED) {
        int rc = gpu_numbers(c, o->gpu, e);
        if (rc < 0)
            return rc;
    }
    if (c->kind != TIERS_NONE && asked)
        return gpu_error(e, o->gpu, "has no meaning with another engine under tier 0");
    if (c->kind != TIERS_NONE || (!asked && !rows))
        return 0;
    int count = wish == GPU_OFF ? 0 : tier_gpu_count(why, sizeof(why));
    if (count <= 0 && !asked) {
        c->kind = TIERS_SIM;
        c->sim = (struct tier_sim_opts){.bytes_per_s = o->sim_gpu_bytes_per_s,
                                        .latency_ns = o->sim_gpu_latency_ns,
                                        .label = "simulated GPU"};
        snprintf(c->instead, sizeof(c->instead), "no GPU used: %s", why);
        return 0;
    }
    if (all && count > TIER_GPU_MAX)
        return gpu_error(e, o->gpu, "more than 16 GPUs: name the ones to use");
    if (wish != GPU_NAMED) { /* all of them, or the first */
        c->gpus = all && count > 1 ? (unsigned)count : 1;
        for (unsigned i = 0; i < c->gpus; i++)
            c->gpu[i] = (int)i;
    }
    for (unsigned i = 0; i < c->gpus; i++) {
        if (c->gpu[i] >= count)
            return err_set(e, -ENODEV, ERR_TARGET, "--gpu", "%s: no such GPU (%d seen%s%s)", o->gpu,
                           count, count ? "" : "; ", count ? "" : why);
    }
    c->kind = TIERS_GPU;
    return 0;
}

int tiers_parse(struct tiers *t, const struct opt_list *engines, struct err *e)
{
    int rc = 0;

    for (size_t i = 0; i < engines->count && rc == 0; i++)
        rc = engine_parse(t, engines->item[i], e);
    return rc;
}

int tiers_choose(struct tiers *t, struct err *e)
{
    const struct tiers_opts *o = &t->o;
    const struct survey *s = t->surveyed;
    int rc;

    if (o->targets.count && t->choice[TRACE_STORAGE].kind != TIERS_NONE)
        return err_set(e, -EINVAL, ERR_INPUT, "--target",
                       "does not apply when --tier-engine replaces tier 2");
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        if (!o->remote[i])
            continue;
        if (t->choice[i].kind != TIERS_NONE || (i == TRACE_GPU && strcmp(o->gpu, "auto") != 0))
            return err_set(e, -EINVAL, ERR_INPUT, "--target",
                           "does not apply when another engine replaces tier %u", i);
        t->choice[i].kind = TIERS_REMOTE;
    }
    rc = o->null ? 0 : choose_gpu(t, !s || s->tier_rows[TRACE_GPU] > 0, e);
    if (rc < 0)
        return rc;
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        enum tiers_kind *kind = &t->choice[i].kind;
        if (o->null)
            *kind = TIERS_NULL;
        else if (*kind == TIERS_NONE && i == TRACE_CPU)
            *kind = TIERS_HOST;
        else if (*kind == TIERS_NONE && o->targets.count)
            *kind = TIERS_STORAGE;
        /* The others may have rows for a shared store. */
        bool shared = o->storage.shared &&
                      (*kind == TIERS_REMOTE || (i == TRACE_STORAGE && *kind == TIERS_STORAGE));
        if (s && s->tier_rows[i] == 0 && !shared) {
            for (unsigned k = 0; i == TRACE_STORAGE && k < o->targets.count; k++)
                if ((rc = storage_check_unused(o->targets.path[k], e)) < 0)
                    return rc;
            *kind = TIERS_NONE;
        } else if (s && *kind == TIERS_NONE) {
            return err_set(
                e, -EINVAL, ERR_INPUT, "--target",
                "the trace has Tier-2 rows: a directory, file or device for them is needed");
        }
    }
    return 0;
}
