/* time_sort.h - records by time, however many: sorted in memory, beyond that in a temporary file
 * that has no name. Equal times stay in the order in which they were added. */
#ifndef KVGEN_FORMAT_TIME_SORT_H
#define KVGEN_FORMAT_TIME_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

enum {
    TIME_SORT_RECORD = 66 << 10 /* bytes of a record at most */
};

struct time_sort;

/* Keeps about memory bytes (at least 1 MiB) before it takes the file, in folder dir, which stays
 * the caller's. */
int time_sort_create(struct time_sort **out, const char *dir, size_t memory, struct err *e);
/* Copies p[0..len), len at most TIME_SORT_RECORD. Class ERR_OUTPUT when the file cannot be
 * written. */
int time_sort_add(struct time_sort *s, int64_t time_ns, const void *p, size_t len, struct err *e);
/* No more is added: next gives the first. */
int time_sort_finish(struct time_sort *s, struct err *e);
/* 1 and the record, lent until the next call; 0: no more; negative errno. */
int time_sort_next(struct time_sort *s, int64_t *time_ns, const void **p, size_t *len,
                   struct err *e);
void time_sort_free(struct time_sort *s);

#endif
