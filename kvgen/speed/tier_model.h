/* tier_model.h - the speed of a tier: given as numbers or a named profile, or measured by a run. */
#ifndef KVGEN_SPEED_TIER_MODEL_H
#define KVGEN_SPEED_TIER_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/trace/trace.h"

struct drive_model;
struct jsonin_v;

/* One direction. Transfers follow each other at bytes_per_s; an operation is complete latency_ns
 * after its transfer. */
struct tier_model_path {
    uint64_t bytes_per_s; /* 0: no limit */
    int64_t latency_ns;
};

struct tier_model {
    bool given; /* else operations on this tier take no time */
    struct tier_model_path read, write;
    uint32_t ranks;            /* it carries the bytes of a row this many times; 0: once */
    struct drive_model *drive; /* in place of both: a measured drive, by load; owned */
};

/*
 * Sets what one --tier-model says, over what earlier ones said:
 *   N=PROFILE[,...]                           a profile of the table in tier_model.c
 *   N=read:RATE,write:RATE,bw:RATE,lat:TIME,read-lat:TIME,write-lat:TIME    in any order
 *   FILE.json, N=FILE.json                    a kvreplay summary: all its tiers, or tier N of it
 *   N=FILE.json                               a drive as kvtrace model measured it
 * 0; -EINVAL, or the error of the file, with *e.
 */
int tier_model_set(struct tier_model model[TRACE_TIERS], const char *text, struct err *e);
/* Frees what the models own. */
void tier_models_free(struct tier_model model[TRACE_TIERS]);

/* The file that such a text names; NULL: none. Lent by text. */
const char *tier_model_file(const char *text);

/* Sets the measured tiers of a parsed kvreplay summary. only is a tier, or TRACE_NO_TIER for all.
 * where names the summary in errors. -EINVAL with *e if it is none, or measured nothing there. */
int tier_model_measured(struct tier_model model[TRACE_TIERS], enum trace_tier only,
                        const struct jsonin_v *summary, const char *where, struct err *e);

#endif
