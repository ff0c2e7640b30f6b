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

/* Where to search: 1 <= min <= start <= max. qos scales up and down by its factors, 1 to 100 and
 * above 0 to 1, until the answer is bracketed. */
struct search_opts {
    enum search_mode mode;
    uint64_t start, min, max;
    double scale_up, scale_down;
};

/* One number of users as it was measured. */
struct search_point {
    uint64_t users;
    double throughput; /* 0: nothing was served, or rows failed */
    bool within;       /* every limit was kept */
};

/* All public: plain state, for search_begin and search_take to fill. */
struct search {
    struct search_opts o;
    uint64_t next; /* users to measure; 0: the search is over */
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

void search_begin(struct search *s, const struct search_opts *o);
/* What s->next users did. Sets s->next, action, reason and flattened. */
void search_take(struct search *s, double throughput, bool within);
/* The answer, once s->next is 0; NULL: not even min users keep the limits, or are served at all. */
const struct search_point *search_answer(const struct search *s);

#endif
