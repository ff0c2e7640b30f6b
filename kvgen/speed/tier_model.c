/* Turns --tier-model into plain numbers for the simulator, which sees no file. The profiles are in
 * the table below, each with the source of its numbers. */
#include "kvgen/speed/tier_model.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/nearest.h"
#include "lib/base/units.h"
#include "lib/drive/drive_model.h"
#include "lib/json/jsonin.h"

#define GB ((uint64_t)1000000000)
#define MB ((uint64_t)1000000)
#define US ((int64_t)1000)

enum {
    MAX_TEXT = 256,
};
#define MAX_SUMMARY ((size_t)16 << 20)
#define MAX_RATE    1e15 /* bytes/s of a measured tier */

static const struct {
    const char *name;
    struct tier_model_path read, write;
} profile[] = {
    /* NVIDIA H100 SXM5: 3,352 GB/s and 400 clock cycles of 1,755 MHz to global memory (table 3 of
     * the article PMC10448217; the data sheet says 3.35 TB/s). */
    {"hbm3", {3352 * GB, 228}, {3352 * GB, 228}},
    /* JEDEC JESD79-5: 4,800 MT/s of 8 bytes on 8 channels are 307.2 GB/s; latency 112 ns, measured
     * with AIDA64 on DDR5-4800 CL40 (Longsys, 2021). */
    {"ddr5", {307200 * MB, 112}, {307200 * MB, 112}},
    /* Host memory as a GPU reaches it: 32 GT/s on 16 lanes with 128b/130b (PCI Express 5.0 base
     * specification) are 63.0 GB/s each way; a round trip takes some 900 ns (Neugebauer et al.,
     * SIGCOMM 2018). */
    {"pcie-gen5", {63 * GB, 900}, {63 * GB, 900}},
    /* Micron 7450 PRO 7.68 TB, product brief: 6,800 and 5,600 MB/s in sequence; typical latency 80
     * and 15 us. */
    {"nvme-gen4", {6800 * MB, 80 * US}, {5600 * MB, 15 * US}},
    /* Micron 9550 MAX, product brief: 14,000 and 10,000 MB/s in sequence; typical latency 60 and 15
     * us. */
    {"nvme-gen5", {14000 * MB, 60 * US}, {10000 * MB, 15 * US}},
};
#define PROFILES (sizeof(profile) / sizeof(*profile))

static int bad(struct err *e, const char *text, const char *why)
{
    return err_set(e, -EINVAL, ERR_INPUT, "--tier-model", "\"%s\": %s", text, why);
}

static void replace(struct tier_model *m, struct tier_model by)
{
    drive_model_free(m->drive);
    *m = by;
}

void tier_models_free(struct tier_model model[TRACE_TIERS])
{
    for (int t = 0; t < TRACE_TIERS; t++)
        replace(&model[t], (struct tier_model){0});
}

/* false: there is no such name, or its value is bad. */
static bool set_number(struct tier_model *m, const char *name, const char *value)
{
    bool both = strcmp(name, "bw") == 0 || strcmp(name, "lat") == 0;
    bool latency =
        strcmp(name, "lat") == 0 || strcmp(name, "read-lat") == 0 || strcmp(name, "write-lat") == 0;
    bool read = both || strncmp(name, "read", 4) == 0;
    struct tier_model_path number = {0};
    if (!both && !latency && strcmp(name, "read") != 0 && strcmp(name, "write") != 0)
        return false;
    if (latency ? units_parse_duration(value, &number.latency_ns) < 0 || number.latency_ns < 0
                : units_parse_bandwidth(value, &number.bytes_per_s) < 0 || number.bytes_per_s == 0)
        return false;
    struct tier_model_path *path[] = {read ? &m->read : &m->write, both ? &m->write : NULL};
    for (int i = 0; i < 2 && path[i]; i++)
        if (latency)
            path[i]->latency_ns = number.latency_ns;
        else
            path[i]->bytes_per_s = number.bytes_per_s;
    return true;
}

static int set_parts(struct tier_model *m, const char *text, const char *parts, struct err *e)
{
    char copy[MAX_TEXT];
    char *rest = NULL;
    if (strlen(parts) >= sizeof(copy))
        return bad(e, text, "too long");
    strcpy(copy, parts);
    replace(m, (struct tier_model){.given = true});
    char *part = strtok_r(copy, ",", &rest);
    if (!part)
        return bad(e, text, "nothing behind the =");
    for (; part; part = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(part, ':');
        if (value) {
            *value++ = '\0';
            double bare;
            if (!strstr(part, "lat") && units_parse_f64(value, &bare) == 0 && bare > 0)
                return bad(e, text, "a rate needs a unit, such as GB/s");
            if (!set_number(m, part, value))
                return bad(e, text,
                           "expected read:RATE, write:RATE, bw:RATE, lat:TIME, read-lat:TIME or "
                           "write-lat:TIME (such as read:7GB/s, lat:80us)");
            continue;
        }
        size_t i = 0;
        while (i < PROFILES && strcmp(profile[i].name, part) != 0)
            i++;
        if (i == PROFILES && tier_model_file(part))
            return bad(e, text, "a file stands alone: 2=FILE.json, without numbers behind it");
        if (i == PROFILES) {
            char why[MAX_TEXT] = "unknown profile (known:", hint[NEAREST_HINT];
            struct nearest near = {.typed = part};
            size_t n = strlen(why);
            for (i = 0; i < PROFILES; i++) {
                nearest_offer(&near, profile[i].name);
                n += (size_t)snprintf(why + n, sizeof(why) - n, "%s %s", i > 0 ? "," : "",
                                      profile[i].name);
            }
            snprintf(why + n, sizeof(why) - n, "; or FILE.json)%s", nearest_hint(&near, hint));
            return bad(e, text, why);
        }
        m->read = profile[i].read;
        m->write = profile[i].write;
    }
    return 0;
}

/* One direction as measured: the rate over the whole run, and the least service time, which waited
 * least. false: nothing was measured. */
static bool measured_path(struct tier_model_path *path, const struct jsonin_v *v)
{
    double rate = jsonin_number(v, "gib_per_s") * (double)UNITS_GIB;
    double min_us = jsonin_number(v, "service_us.min");
    if (!(rate >= 1) || rate > MAX_RATE || !(min_us >= 0) || min_us > 1e12)
        return false;
    path->bytes_per_s = (uint64_t)rate;
    path->latency_ns = (int64_t)(min_us * 1e3 + 0.5);
    return true;
}

/* A direction that the run did not use is taken to be like the other one. */
static bool measured_tier(struct tier_model *m, const struct jsonin_v *v)
{
    struct tier_model found = {.given = true};
    bool read = measured_path(&found.read, jsonin_get(v, "read"));
    bool write = measured_path(&found.write, jsonin_get(v, "write"));
    if (!read && !write)
        return false;
    if (!read)
        found.read = found.write;
    if (!write)
        found.write = found.read;
    replace(m, found);
    return true;
}

int tier_model_measured(struct tier_model model[TRACE_TIERS], enum trace_tier only,
                        const struct jsonin_v *summary, const char *where, struct err *e)
{
    const char *program = jsonin_text(jsonin_get(summary, "program"), NULL);
    const struct jsonin_v *tiers = jsonin_get(summary, "tiers");
    bool found = false;
    if (!program || strcmp(program, "kvreplay") != 0)
        return err_set(e, -EINVAL, ERR_INPUT, where,
                       "neither a summary of kvreplay nor a measurement of kvtrace model");
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        if (only == TRACE_NO_TIER || t == only)
            found |= measured_tier(&model[t], jsonin_find(tiers, "tier", trace_tier_text(t)));
    if (found)
        return 0;
    return err_set(e, -EINVAL, ERR_INPUT, where, "has no measured rates of %s",
                   only == TRACE_NO_TIER ? "any tier" : trace_tier_text(only));
}

const char *tier_model_file(const char *text)
{
    const char *value = text[0] >= '0' && text[0] <= '2' && text[1] == '=' ? text + 2 : text;
    size_t len = strlen(value);
    return len > 5 && strcmp(value + len - 5, ".json") == 0 ? value : NULL;
}

static int set_drive(struct tier_model model[TRACE_TIERS], enum trace_tier only,
                     const struct jsonin_v *root, const char *where, struct err *e)
{
    struct tier_model found = {.given = true};
    if (only == TRACE_NO_TIER)
        return err_set(e, -EINVAL, ERR_INPUT, where,
                       "a measured drive has no tier of its own: write --tier-model 2=%s", where);
    int rc = drive_model_parse(&found.drive, root, where, e);
    if (rc == 0)
        replace(&model[only], found);
    return rc;
}

int tier_model_set(struct tier_model model[TRACE_TIERS], const char *text, struct err *e)
{
    enum trace_tier only = TRACE_NO_TIER;
    const char *value = text;
    if (text[0] >= '0' && text[0] <= '2' && text[1] == '=') {
        only = (enum trace_tier)(text[0] - '0');
        value = text + 2;
    }
    if (tier_model_file(text)) {
        struct jsonin *d;
        int rc = jsonin_load(&d, value, MAX_SUMMARY, e);
        if (rc < 0)
            return rc;
        if (drive_model_is(jsonin_root(d)))
            rc = set_drive(model, only, jsonin_root(d), value, e);
        else
            rc = tier_model_measured(model, only, jsonin_root(d), value, e);
        jsonin_free(d);
        return rc;
    }
    if (only != TRACE_NO_TIER)
        return set_parts(&model[only], text, value, e);
    return bad(e, text,
               "expected N=... with a tier from 0 to 2 (such as 2=nvme-gen4), or the .json of a "
               "kvreplay run");
}
