/* tier_model.h - how fast a tier is said to be: numbers, a named profile, or what a run measured.
 */
#ifndef KVGEN_TIER_MODEL_H
#define KVGEN_TIER_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/trace/trace.h"

struct jsonin_v;

/* One direction. An operation takes latency_ns + size / bytes_per_s from the time at which the one
 * before it was transferred. */
struct tier_model_path {
    uint64_t bytes_per_s; /* 0: no limit */
    int64_t latency_ns;
};

struct tier_model {
    bool given; /* else operations on this tier take no time */
    struct tier_model_path read, write;
};

/*
 * Sets what one --tier-model says, over what earlier ones said:
 *   N=PROFILE[,...]                           a profile of the table in tier_model.c
 *   N=read:RATE,write:RATE,bw:RATE,lat:TIME,read-lat:TIME,write-lat:TIME    in any order
 *   FILE.json, N=FILE.json                    a kvreplay summary: its tiers, or tier N of it
 * 0; -EINVAL or an error of the file with *e.
 */
int tier_model_set(struct tier_model model[TRACE_TIERS], const char *text, struct err *e);

/* The measured tiers of a parsed kvreplay summary; only: a tier, or TRACE_NO_TIER for all. -EINVAL
 * with *e when it is none, or measured nothing there. */
int tier_model_measured(struct tier_model model[TRACE_TIERS], enum trace_tier only,
                        const struct jsonin_v *summary, const char *where, struct err *e);

#endif
