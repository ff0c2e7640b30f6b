/* confirm_read.h - the confirmation that a concluded answer holds, as kvstat --answer --json wrote
 * it. */
#ifndef KVSTAT_ANSWER_CONFIRM_READ_H
#define KVSTAT_ANSWER_CONFIRM_READ_H

#include "kvstat/answer/answer.h"
#include "kvstat/answer/confirm.h"
#include "lib/base/err.h"

/* Fills *c, all zero, from an answer whose confirmed is there. 0, or -EINVAL with *e: the member
 * that cannot be. */
int confirm_read(struct confirm *c, const struct answer *a, struct err *e);

#endif
