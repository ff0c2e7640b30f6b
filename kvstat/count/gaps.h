/* gaps.h - the times at which the replay did not get its processors, as its summary lists them. */
#ifndef KVSTAT_COUNT_GAPS_H
#define KVSTAT_COUNT_GAPS_H

#include <stdint.h>

#include "lib/base/err.h"

struct gaps;
struct gap_line;
/* From a summary: the file at path, else the text (both may be NULL). *out NULL: it lists none. 0
 * or a negative errno with *e. */
int gaps_read(struct gaps **out, const char *path, const char *summary, struct err *e);
void gaps_free(struct gaps *g);
/* Gaps of 0.1 s and more in which no thread ran at all; lent by g, which may be NULL. */
const struct gaps *gaps_of_process(const struct gaps *g);
/* How much of the time from start_ns to end_ns, on the replay's clock, lies in gaps of any thread.
 */
int64_t gaps_overlap_ns(const struct gaps *g, int64_t start_ns, int64_t end_ns);

/* The time that stops (gaps_of_process) added to a wait in a line (gap_line.h). */
int64_t gaps_line_add_ns(struct gap_line *l, const struct gaps *stops, int64_t due_ns,
                         int64_t start_ns);

#endif
