/* exports.h - figures in the forms of other programs: HdrHistogram's percentile text, a job for
 * fio. */
#ifndef KVSTAT_REPORT_EXPORTS_H
#define KVSTAT_REPORT_EXPORTS_H

#include <stdbool.h>
#include <stdio.h>

#include "kvstat/report/figures.h"
#include "lib/base/err.h"

/*
 * Writes a file into dir for every time of every group of --by that moves objects, and for the
 * times of the requests: "Tier-2_Read_Decode_service_us.hgrm", "requests_end_to_end_ms.hgrm". dir
 * is made when it does not exist. 0 or a negative errno, class ERR_OUTPUT.
 */
int export_hgrm(const char *dir, const struct figures *f, struct err *e);

/* A job like the run's storage tier. False, and nothing written, when f is no result file or has no
 * reads and writes there. */
bool export_fio_job(FILE *out, const struct figures *f);

#endif
