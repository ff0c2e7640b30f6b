/* search.h - the largest load that holds, where trying one costs time: growing steps, then
 * bisection. One thread. */
#ifndef KVGEN_ANSWER_SEARCH_H
#define KVGEN_ANSWER_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

/* Tries a load: *held. 0, or negative errno, which ends the search. */
typedef int (*search_try)(void *ctx, uint64_t n, bool *held);

struct search {
    uint64_t start, most;   /* the first load tried, from 1; the largest one */
    uint32_t step_permille; /* the first step from there, above 1000; each is twice as far as the
                               one before */
    uint64_t resolution;    /* the result is exact to 1 in so many */
};

/*
 * *value: the largest load tried of which it and every smaller load tried hold; 0: not even 1.
 * *failed: the smallest load tried that does not hold; 0: all held. They are at most max(1, value /
 * resolution) apart. The same answers of try give the same result; nothing else decides it. 0, or
 * what try returned.
 */
int search_largest(const struct search *s, search_try try, void *ctx, uint64_t *value,
                   uint64_t *failed);

#endif
