/* Causes beside the target in the time of a span of writing: waits of the threads for
 * processors, stops, stolen time, other traffic on the devices. The fill is a span, and so is each
 * round. */
#ifndef KVPRECOND_WITNESS_H
#define KVPRECOND_WITNESS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/facts/facts.h"
#include "lib/facts/judge.h"
#include "lib/io/gap_list.h"
#include "lib/io/machine.h"
#include "lib/io/target_device.h"

enum {
    DISTURBANCE_WHY = 192,
    WITNESS_DEVICES = 64
};

/* The causes in one span. Plain values; what is not known is negative. */
struct disturbance {
    int64_t elapsed_ns;
    double waited;  /* share of the span in which a thread waited for a processor: mean of those
                     * that write, or of those that make data if these waited more */
    double stopped; /* share in which none of them ran */
    double stolen;  /* share of the processors' time that the hypervisor took away */
    int64_t throttled_ns; /* by a CPU quota */
    bool counted;         /* the next two are known */
    uint64_t own_bytes, device_bytes;
    uint64_t slack_bytes; /* so many more the device may have moved for this process: what was in
                             flight when the span began */
};
/* Whether figures of the span may be believed; why: what disturbed it, "" when nothing did. */
enum validity_state disturbance_judge(const struct disturbance *d, char why[DISTURBANCE_WHY]);

/* Did others' traffic on the devices disturb it? */
bool disturbance_is_foreign(const struct disturbance *d);

/* Watches one span after the other. The caller's thread. Zero it and set the first part. */
struct witness {
    struct gap_list *gaps; /* of all threads that write or make data; lent. NULL: there are none */
    const struct target_device *device[WITNESS_DEVICES]; /* under the targets; lent */
    unsigned devices;                                    /* 0: there are none that are counted */
    uint64_t slack_bytes;
    /* of the span */
    struct machine before;
    struct target_counters counters;
    bool counted;
    int64_t since_ns;
};
void witness_begin(struct witness *w);
/* Ends the span. facts: what is known of it, as facts; NULL: not wanted. */
void witness_end(struct witness *w, struct disturbance *d, struct facts *facts);

#endif
