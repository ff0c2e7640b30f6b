/* compare_runs.h - two runs of the MLPerf Storage KV-cache benchmark side by side: option by
 * option, and what differs in how they were measured. A published summary.json has no rows and no
 * trials, so nothing is said of noise. */
#ifndef KVSTAT_MLPERF_COMPARE_RUNS_H
#define KVSTAT_MLPERF_COMPARE_RUNS_H

#include <stdio.h>

#include "lib/base/err.h"
#include "lib/json/jsonout.h"

struct compare_runs;
/* Reads the summary of a run and, where it lies beside, its metadata. base and new: a summary, or a
 * folder in which there is one; lent. 0; -ENOENT, -EINVAL (not such a file, several runs in a
 * folder, no option that both have) or another negative errno, with *e. */
int compare_runs_read(struct compare_runs **out, const char *base, const char *new, struct err *e);
void compare_runs_free(struct compare_runs *c);

void compare_runs_text(FILE *out, const struct compare_runs *c);
void compare_runs_json(struct jsonout *j, const struct compare_runs *c);

#endif
