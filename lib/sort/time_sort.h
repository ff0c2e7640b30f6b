/* time_sort.h - sorts records by time, however many: in memory, and beyond that in a temporary
 * file. Records of equal times stay in the order in which they were added. One thread. */
#ifndef KVTRACE_SORT_TIME_SORT_H
#define KVTRACE_SORT_TIME_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

enum {
    TIME_SORT_RECORD = 66 << 10 /* bytes of a record at most */
};

struct time_sort;

/* Keeps about memory bytes (at least 1 MiB) before it opens the temporary file in folder. 0 or
 * -ENOMEM. */
int time_sort_create(struct time_sort **out, const char *folder, size_t memory, struct err *e);
/* Copies the record p[0..len), of at most TIME_SORT_RECORD bytes. 0 or negative errno with *e,
 * class ERR_OUTPUT if the file cannot be written. */
int time_sort_add(struct time_sort *s, int64_t time_ns, const void *p, size_t len, struct err *e);
/* Ends adding; time_sort_next gives the first record then. */
int time_sort_finish(struct time_sort *s, struct err *e);
/* 1 and the next record, lent until the next call; 0: no more; negative errno with *e. */
int time_sort_next(struct time_sort *s, int64_t *time_ns, const void **p, size_t *len,
                   struct err *e);
void time_sort_free(struct time_sort *s); /* NULL is fine */

#endif
