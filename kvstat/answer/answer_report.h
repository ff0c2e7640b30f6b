/* answer_report.h - kvstat --answer: from the files of one answer, or two, to the screen, the JSON
 * and the page. */
#ifndef KVSTAT_ANSWER_ANSWER_REPORT_H
#define KVSTAT_ANSWER_ANSWER_REPORT_H

#include <stddef.h>

#include "kvstat/reporter.h"
#include "lib/base/err.h"

/* Reports on --answer, and on the second answer in more[0..n) with --view compare. The verdict goes
 * into r->status. 0 or a negative errno with *e. */
int answer_report(struct reporter *r, const char *const *more, size_t n, struct err *e);

#endif
