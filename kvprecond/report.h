/* The result of a fill and its rounds, as text for people and as JSON for scripts. */
#ifndef KVPRECOND_REPORT_H
#define KVPRECOND_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kvprecond/fill.h"
#include "kvprecond/lane.h"
#include "kvprecond/options.h"
#include "kvprecond/rounds.h"
#include "kvprecond/witness.h"
#include "lib/base/err.h"
#include "lib/base/hist.h"
#include "lib/base/notes.h"
#include "lib/json/jsonout.h"
#include "lib/tier/tier.h"

/* Every figure, taken by kvprecond.c, fill.c and rounds.c. Pointers are the caller's. */
struct report {
    const struct options *o;
    const struct lane *lanes; /* the targets, with their own figures; all others are of all */
    unsigned lane_count;
    struct fill_result fill;
    struct rounds rounds;
    const struct hist *service;     /* ns, of the writes of the fill */
    struct fill_held held;          /* of these */
    struct disturbance disturbance; /* of the fill */
    struct facts facts;             /* likewise */
    const char *engine;             /* name of the I/O engine */
    unsigned depth;                 /* most writes in flight of a queue */
    struct notes fallbacks;         /* what the host or the target refused */
    bool direct;
    int huge_pages;      /* of the buffers: 1 huge, 0 small, -1 not known */
    uint64_t size_bytes; /* of the fill */
    uint64_t capacity;   /* of a device, else 0 */
    uint64_t files;
    uint64_t purged_bytes;
    const char *purge_failed; /* name of an errno; NULL: purged, or not asked for */
    int64_t sync_ns, cpu_ns, started_wall_ns;
    bool counted;                /* the kernel counts for every device under the targets */
    uint64_t device_write_bytes; /* by its count, of each device once; only with counted */
    const char *why_short;       /* "ENOSPC", "SIGINT"; NULL: it ended by itself */
    bool kept;
    /* Only with --mode stream: */
    uint64_t peak_bytes; /* of the process in memory */
    uint64_t cached_bytes;
    bool cached_known;
    /* Only with a remote store: */
    struct tier_info store;
    unsigned doors;
    struct tier_door door[TIER_DOORS_MAX];
};

/* Whether the figures may be believed, each with what moved it. */
enum report_figure {
    REPORT_BANDWIDTH,
    REPORT_SERVICE,
    REPORT_STEADY,
    REPORT_FIGURES
};
struct report_doubt {
    enum validity_state state;
    char why[DISTURBANCE_WHY + 96]; /* may also be there when it is good */
};
/* The validity of a figure; rounds have one with --until-steady. */
struct report_doubt report_validity(const struct report *r, enum report_figure figure);

/* Text for a terminal. 0 or negative errno of the stream, class ERR_OUTPUT. */
int report_text(const struct report *r, FILE *out, struct err *e);
/* The same as JSON; NULL: no memory. argv is the command line, for the record. */
struct jsonout *report_document(const struct report *r, int argc, char *const *argv);
/* JSON to path ("-": standard output). */
int report_json(const struct report *r, const char *path, int argc, char *const *argv,
                struct err *e);

#endif
