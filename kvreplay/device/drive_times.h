/* The drive's own times for the requests of a run, from its first issue to its completion, by
 * device, direction and size, and for each row: --device-times. Requests of other programs on the
 * same devices are in the former. */
#ifndef KVREPLAY_DEVICE_DRIVE_TIMES_H
#define KVREPLAY_DEVICE_DRIVE_TIMES_H

#include <stdio.h>

#include "kvreplay/device/drive_rows.h"
#include "lib/base/err.h"
#include "lib/facts/facts.h"
#include "lib/io/target_device.h"
#include "lib/json/jsonout.h"
#include "lib/tier/tier.h"

/* In the order of the choices of --device-times. */
enum drive_times_wish {
    DRIVE_TIMES_AUTO, /* where it can be had; what keeps it from being had is told */
    DRIVE_TIMES_YES,  /* or the run fails */
    DRIVE_TIMES_NO
};

struct drive_times;
/* Prepares the recording of the devices below n targets. *out stays NULL with DRIVE_TIMES_NO. With
 * DRIVE_TIMES_AUTO a failure is kept, for drive_times_why. 0 or negative errno with *e. */
int drive_times_open(struct drive_times **out, enum drive_times_wish wish,
                     const struct target_device *const *device, unsigned n, struct err *e);
/* Why there are no times: "not permitted: run as root"; "": there are. t may be NULL, as in all
 * that follow. Lent until t is closed. */
const char *drive_times_why(const struct drive_times *t);
/* Answers the rows of results, from the beginning on. False: there are no times. */
bool drive_times_late(const struct drive_times *t, struct results_late *late);
/* Before and after the timed part of the run. begin fails as open does. */
int drive_times_begin(struct drive_times *t, struct err *e);
void drive_times_end(struct drive_times *t);
/* After drive_times_end, and after the last row was asked about. */
void drive_times_rows_end(struct drive_times *t);
/* After the end: the scalars and times by direction, as facts; "drive_times", a list by device,
 * direction and size, "drive_rows" (drive_rows.h) and "drive_depth", the mean number of requests at
 * the drives by interval, as members of the object that is open; all but the last for people.
 * tier and file_system: as of workers_why. */
void drive_times_put(const struct drive_times *t, const struct tier_info *tier,
                     const char *file_system, struct facts *f);
void drive_times_json(const struct drive_times *t, struct jsonout *j);
void drive_times_text(const struct drive_times *t, const struct tier_info *tier,
                      const char *file_system, FILE *out);
void drive_times_close(struct drive_times *t);

#endif
