/* search.h - the largest load that holds, where trying one costs time: growing steps, then
 * bisection, on one ladder of loads that all searches share. So two searches that meet the same
 * edge find the same load, and what they find can be compared. One thread. */
#ifndef KVGEN_ANSWER_SEARCH_H
#define KVGEN_ANSWER_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

/* Loads of the ladder: 1, and from each the next one is this part of it further, at least 1. */
#define SEARCH_PARTS 20
/* So many rungs are about twice the load, where that is above 40; no step is longer. */
#define SEARCH_DOUBLE 14

/* Tries a load: *held. 0, or negative errno, which ends the search. */
typedef int (*search_try)(void *ctx, uint64_t n, bool *held);

struct search {
    uint64_t start, most; /* the first load tried is the rung at start or below it, from 1; the
                             largest one is most, also where that is no rung */
    unsigned step;        /* rungs of the first step; the next ones are twice as far from start */
    unsigned apart;       /* at most so many rungs are between the results; 1: none is */
};

/*
 * *value: the largest load tried of which it and every smaller load tried hold; 0: not even 1.
 * *failed: the smallest load tried that does not hold; 0: all held. They are `apart` rungs from
 * each other, at most. The same answers of try give the same result; nothing else decides it. 0, or
 * what try returned.
 */
int search_largest(const struct search *s, search_try try, void *ctx, uint64_t *value,
                   uint64_t *failed);

#endif
