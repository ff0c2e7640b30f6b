/* Which number of users to try next, and which number was the answer: plain arithmetic over what
 * was measured so far. */
#ifndef KVREPLAY_AUTOSCALE_SEARCH_H
#define KVREPLAY_AUTOSCALE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

/* In the order of the choices of --autoscale. */
enum search_mode {
    SEARCH_OFF,
    SEARCH_QOS,     /* the most users within the limits */
    SEARCH_CAPACITY /* the fewest users that reach the highest throughput */
};

enum {
    SEARCH_STEPS = 128
};

/* Where to search: 1 <= min <= start <= max. SEARCH_QOS multiplies by scale_up (1 to 100) and
 * scale_down (above 0 to 1) until the answer is bracketed. */
struct search_opts {
    enum search_mode mode; /* not SEARCH_OFF */
    uint64_t start, min, max;
    double scale_up, scale_down;
};

/* One number of users, as it was measured. */
struct search_point {
    uint64_t users;
    double throughput; /* 0: nothing was served, or rows failed */
    bool within;       /* every limit was kept */
};

/* Plain state, filled by search_begin and search_take. */
struct search {
    struct search_opts o;
    uint64_t next; /* users to measure; 0: the search is over */
    enum search_phase {
        SEARCH_DOUBLE,
        SEARCH_HALF_MORE,
        SEARCH_REFINE
    } phase; /* SEARCH_CAPACITY only */
    struct search_point point[SEARCH_STEPS];
    unsigned points;
    const char *action; /* for people: what follows from the point taken last, */
    char reason[120];   /* and why */
    bool flattened;     /* the point taken last has no more throughput than fewer users had */
};

void search_begin(struct search *s, const struct search_opts *o);
/* Takes the result of s->next users. Sets s->next, action, reason and flattened. */
void search_take(struct search *s, double throughput, bool within);
/* SEARCH_QOS: measured again, so many users passed a limit. Goes on below them, where s->next and
 * search_answer say. */
void search_reject(struct search *s, uint64_t users);
/* The answer, once s->next is 0; NULL: not even min users keep the limits, or are served at all. */
const struct search_point *search_answer(const struct search *s);

#endif
