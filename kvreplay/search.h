/* search.h - which number of users to try next, and which was the answer: plain arithmetic over
 * what was measured so far. */
#ifndef KVREPLAY_SEARCH_H
#define KVREPLAY_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

enum search_mode {
    SEARCH_QOS,     /* most users within the limits */
    SEARCH_CAPACITY /* fewest users that reach the highest throughput */
};

enum {
    SEARCH_STEPS = 128
};

/* One number of users as it was measured. */
struct search_point {
    uint64_t users;
    double throughput; /* 0: nothing was served, or rows failed */
    bool within;       /* every limit was kept */
};

/* All public: plain state, for search_begin and search_take to fill. */
struct search {
    enum search_mode mode;
    uint64_t max, next; /* next: users to measure; 0: the search is over */
    enum search_phase {
        SEARCH_DOUBLE,
        SEARCH_HALF_MORE,
        SEARCH_REFINE
    } phase;
    struct search_point point[SEARCH_STEPS];
    unsigned points;
    const char *action; /* what the point taken last leads to */
    char reason[120];   /* why */
    bool flattened;     /* the point taken last has no more throughput than fewer users had */
};

/* start is at least 1 and at most max. */
void search_begin(struct search *s, enum search_mode mode, uint64_t start, uint64_t max);
/* What s->next users did. Sets s->next, action, reason and flattened. */
void search_take(struct search *s, double throughput, bool within);
/* The answer, once s->next is 0; NULL: not even one user keeps the limits, or is served at all. */
const struct search_point *search_answer(const struct search *s);

#endif
