/* The drive's time for each row: rows that have ended ask for the requests that they became, as
 * soon as the kernel's events of them are read. Requests come from the thread that reads events,
 * rows from the scheduler's. */
#ifndef KVREPLAY_DEVICE_DRIVE_ROWS_H
#define KVREPLAY_DEVICE_DRIVE_ROWS_H

#include <stdio.h>

#include "kvreplay/sched/results.h"
#include "lib/drive/request_join.h"
#include "lib/facts/facts.h"
#include "lib/json/jsonout.h"

struct drive_rows;
/* NULL: no memory. */
struct drive_rows *drive_rows_create(void);
void drive_rows_free(struct drive_rows *d);

/* For the thread that reads events: a request, in order of completion; all that were completed
 * before until_ns were given (INT64_MAX: no more come). */
void drive_rows_request(struct drive_rows *d, const struct request *r);
void drive_rows_until(struct drive_rows *d, int64_t until_ns);

/* Answers the rows of results. */
struct results_late drive_rows_late(struct drive_rows *d);

/* After the last row. 0, or -ENOMEM: times of some rows are lost. */
int drive_rows_end(struct drive_rows *d);
/* Then: the scalars as facts; "drive_rows", a list by direction and size of rows, as a member of
 * the object that is open; both for people. */
void drive_rows_put(const struct drive_rows *d, struct facts *f);
void drive_rows_json(const struct drive_rows *d, struct jsonout *j);
void drive_rows_text(const struct drive_rows *d, FILE *out);

#endif
