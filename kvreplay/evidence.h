/* Evidence of how far the figures of a run may be believed: what the replay itself
 * has seen, and what the kernel, the drive's link and an earlier run say about it. Gathers only;
 * validity.h judges. The main thread. */
#ifndef KVREPLAY_EVIDENCE_H
#define KVREPLAY_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "kvreplay/device/cold.h"
#include "kvreplay/device/drive_times.h"
#include "kvreplay/device/others.h"
#include "kvreplay/doors.h"
#include "kvreplay/sched/counts.h"
#include "lib/base/err.h"
#include "lib/drive/drive_model.h"
#include "lib/facts/facts.h"
#include "lib/io/drive_log.h"
#include "lib/io/gap_list.h"
#include "lib/io/machine.h"
#include "lib/io/target_device.h"

/* The client's own speed with a trace, measured by an earlier run with --null. */
struct evidence_ceiling {
    double rows_per_s; /* 0: there is none */
    char digest[40];   /* of the trace; "" not known */
    bool same_host;    /* by name and number of CPUs */
};

/* The network on the way to remote stores. */
struct evidence_network {
    unsigned interfaces; /* 0: there is no remote store, or none behind a network */
    char name[TIER_DOORS_MAX][TIER_INTERFACE_CAP];
    bool unknown;                  /* of a door, the interface is not known */
    bool counted;                  /* the kernel counts for all of them */
    uint64_t received[2], sent[2]; /* bytes of all interfaces, of everybody; before and after */
    /* of the run's own requests */
    bool stores; /* there are remote stores: the next are known */
    uint64_t requests, retries, connections;
    int64_t retransmits; /* segments that TCP sent again; -1: not known */
};

/* The layers between the targets and their last devices; the worst of several. */
struct evidence_below {
    char layers[TARGET_LAYERS_TEXT]; /* "": not known, or they differ */
    bool copies, reduces;            /* as struct target_layers has them */
    enum target_cache cache;
    char cache_of[TARGET_LAYERS_NAME];
};

/* Plain values and borrowed pointers. Zero it and set resident_share and resident_before to -1. */
struct evidence {
    /* from the replay */
    const struct counts *counts;
    const char *digest; /* of the trace; "" not known */
    bool timed;         /* rows had times to keep */
    double speed;       /* by which those were divided; 0: not told */
    bool by_keys;       /* requests were spread over the parts of the run */
    bool interrupted;   /* the run ended before the trace and before --duration */
    bool bounded;       /* Tier-2 is a path, which may get full */
    bool cleans;        /* ... and then objects are removed (--on-full evict) */
    bool lagged;        /* a row was later than lag_limit_ns */
    int64_t lag_limit_ns;
    int64_t elapsed_ns, warmup_ns;   /* from the start of the clock */
    double dedup_ratio;              /* of Tier-2 contents; 1: blocks are unique */
    double compress_ratio;           /* likewise; 1: no block can be compressed */
    bool fell_back;                  /* the Tier-2 engine had to do without something */
    const struct tier_info *storage; /* of Tier-2; NULL: it has no real engine */
    int64_t own_io_ns;               /* sum of the times of its I/Os; negative: not known */
    const struct gap_list *gaps;
    int64_t zero_ns;                 /* monotonic; gaps are told on the clock of the result rows */
    struct doors doors[TRACE_TIERS]; /* count 0: the tier has none */
    bool overloaded; /* the line grew as long as rows came due: the next three say how fast */
    double offered_per_s, achieved_per_s, growth_per_s;
    bool served;                         /* these are requests; else rows */
    bool real[TRACE_TIERS], real_engine; /* not simulated: a tier's engine, any of them */
    bool empty[TRACE_TIERS],
        all_empty;                  /* engines that do nothing: the tier's, all that there are */
    enum gap_of loops[TRACE_TIERS]; /* of the engine's threads */
    const struct drive_model *drive[TRACE_TIERS]; /* that simulates the tier; NULL: none does */
    /* from the kernel */
    struct machine machine_before, machine_after;
    enum target_medium target;
    char file_system[24]; /* "": not known */
    struct evidence_below below;
    bool counted; /* it counts for the device under the target */
    struct target_counters before, after;
    bool top_counted; /* likewise for the first block devices below the targets */
    struct target_counters top_before, top_after;
    struct others others; /* on these devices */
    struct evidence_network network;
    /* of the objects' bytes, in the page cache; negative: not known, or (before) not looked at */
    double resident_share, resident_before;
    struct drive_log log_before, log_after; /* of the drive under the target */
    uint64_t link_bytes_per_s;              /* that the device's link carries; 0: not known */
    /* from an earlier run */
    struct evidence_ceiling ceiling;
    struct cold cold;
    const struct drive_times *drive_times; /* of the devices under Tier-2; NULL: not asked for */
    struct facts facts; /* that nothing is judged by, put where they are measured */
};

/* Reads the summary of a run with --null and --timing asap. Class ERR_INPUT when the file is none.
 */
int evidence_load_ceiling(struct evidence *ev, const char *path, struct err *e);

/* Before evidence_begin: packets to a remote store go through the interface ("": not known). */
void evidence_interface(struct evidence *ev, const char *name);
/* Adds the requests through a door during the run. */
void evidence_door(struct evidence *ev, const struct tier_door *before,
                   const struct tier_door *after);

/* The kernel's counters of the n devices (their sums; not known when one's are not), network,
 * processors and process, before and after the timed part of the run. */
void evidence_begin(struct evidence *ev, const struct target_device *const *device, unsigned n);
void evidence_end(struct evidence *ev, const struct target_device *const *device, unsigned n);
/* Share of the bytes that Tier-2 reads asked for that no storage moved for this process: they came
 * from a cache. Negative: not known. */
double evidence_cached_read_share(const struct evidence *ev);
/*
 * Bytes per second that the PCI Express link of disk (its name, "nvme0n1") carries one way, less
 * the line code and nothing else: no transfer is as fast. 0: the disk is on no such link, or it is
 * not known. sysfs: "/sys". Source: PCI Express Base Specification 6.0, 8b/10b below 8 GT/s,
 * 128b/130b from there on (242/256 of FLITs at 64 GT/s is more overhead still, so no bound is too
 * low).
 */
uint64_t evidence_link_bytes_per_s(const char *sysfs, const char *disk);

/* Properties of the open targets of Tier-2. Zero it, and add each. */
struct evidence_targets {
    unsigned count;
    uint64_t pages, resident;  /* of the objects */
    enum target_medium medium; /* that which says least for the figures */
    char file_system[24];      /* "": they differ, or it is not known */
    struct evidence_below below;
};
/* target is the descriptor of a directory, of which some thousand objects are looked at
 * (mincore(2)), or of a slab. */
void evidence_add_target(struct evidence_targets *seen, int target,
                         const struct target_device *device);
/* Share (0..1) of the objects' bytes that is in the page cache. -1: there are no objects, or it
 * cannot be told. */
double evidence_resident_share(const struct evidence_targets *seen);
/* Takes them into ev. */
void evidence_set_targets(struct evidence *ev, const struct evidence_targets *seen);

/* Bytes that the devices moved, at most, for reads or writes of Tier-2: those of others are in it
 * only where they went through the same first block device. NAN: not known. */
double evidence_moved(const struct evidence *ev, enum trace_op op);
/* Share (0..1) of the bytes that Tier-2 asked for, in reads or in writes, which the devices moved.
 * It is beyond 1 when others read or wrote, too. -1: not known, or too little was asked for. */
double evidence_moved_share(const struct evidence *ev, enum trace_op op);
/* Share (0..1) of the bytes asked for that is left of them, at least, where a layer below
 * compresses and deduplicates as well as --config compress_ratio and --config dedup_ratio allow; 1:
 * none does. */
double evidence_reduced_to(const struct evidence *ev);
/* Rows a second from the end of the warm-up to the last completion; negative: no time went by. */
double evidence_rows_per_s(const struct evidence *ev);
/* The run's rows a second, as a share of the ceiling's; negative: there is no ceiling, or it is of
 * another trace or host. */
double evidence_of_ceiling(const struct evidence *ev);

#endif
