/* answer.h - what a drive gives its users, beside no drive and beside one that takes no time: the
 * largest number of users that each of the three holds, and the figures at that number. */
#ifndef KVGEN_ANSWER_ANSWER_H
#define KVGEN_ANSWER_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/answer/criterion.h"
#include "kvgen/answer/limit.h"
#include "kvgen/answer/trial.h"
#include "kvgen/answer/window.h"
#include "kvgen/serve/engine_run.h"
#include "lib/base/err.h"
#include "lib/base/progress.h"

enum answer_variant {
    ANSWER_THIS,  /* Tier-2 as it is */
    ANSWER_NONE,  /* without Tier-2 */
    ANSWER_IDEAL, /* Tier-2 of the same capacity that takes no time */
    ANSWER_VARIANTS
};
enum {
    ANSWER_SEEDS_MAX = 100,
    ANSWER_USERS_MAX = 1 << 17
};
/* The first load that is tried. */
#define ANSWER_FIRST_USERS 16
#define ANSWER_SLOWEST     0.5
#define ANSWER_FASTEST     2.0

/* Everything stays the caller's. */
struct answer_opts {
    struct engine_run_opts engine; /* of ANSWER_THIS, without source */
    struct trial_load load;
    struct criterion criterion;
    uint64_t seed; /* the first of them */
    unsigned seeds, threads;
    uint64_t first;    /* load that is tried first, such as ANSWER_FIRST_USERS */
    uint64_t asked;    /* a load; 0: none */
    int64_t window_ns; /* least length of the warm part that figures come from */
    struct progress *progress;
};

/* Users, or another load, that a variant holds. Of the seeds, all hold `low`, all but one in five
 * `value`, and one `high`. */
struct answer_users {
    uint64_t value, low, high;
    bool most; /* at least one seed held ANSWER_USERS_MAX: there may be more */
};

/* How many more ANSWER_THIS holds than ANSWER_NONE: of their values; and of each seed, whose
 * requests are the same in both, the least and the most. */
struct answer_gain {
    int64_t value, low, high;
};

/* One load that was tried. */
struct answer_tried {
    enum answer_variant variant;
    uint64_t n;
    unsigned held; /* seeds that hold as much: no more of them as n grows */
    /* The figures of one seed; where that did not try it, of a first look. */
    double goodput, requests_s;
    int64_t first_token_p95_ns;
    /* The limit that ended it, beside the largest load that is held there. LIMIT_NONE: it is held,
     * or nothing is known. */
    enum limit limit;
};

struct answer {
    struct answer_users users[ANSWER_VARIANTS];
    struct answer_gain gain;
    struct answer_tried *tried; /* by variant, then n, one of each; owned */
    unsigned tries;
    uint64_t at;   /* users of the figures */
    unsigned seed; /* of the figures, from 0: the one that gave the value of ANSWER_THIS */
    /* Factors on the GPU's rate of prefill, from ANSWER_SLOWEST to ANSWER_FASTEST, within which the
     * answer about `asked` stays, or else that the drive holds more than none; with that seed.
     * 0: there is nothing to stay: nothing was asked, and the gain is not one of each seed. */
    double holds_low, holds_high;
    enum limit limit; /* what ends the users of ANSWER_THIS: that of beyond.n in `tried` */
    struct trial figures[ANSWER_VARIANTS];
    struct trial beyond; /* the smallest load that ANSWER_THIS does not hold; n 0: it holds all */
    struct window_load load; /* of the drive, in the figures of ANSWER_THIS */
    struct answer_window {
        bool written;
        int64_t from_ns, length_ns;
        struct window_stats stats;
    } window;
};

/* The answer about one number of users: held, not held, or between the seeds. */
enum answer_verdict {
    ANSWER_PASS,
    ANSWER_FAIL,
    ANSWER_UNDECIDED
};

/* Runs all simulations. The result does not depend on the number of threads, and the users that are
 * found not on `asked`. 0, -EINTR after a signal, or negative errno with *e; answer_free it in any
 * case. */
int answer_find(struct answer *a, const struct answer_opts *o, struct err *e);
void answer_free(struct answer *a);
/* Tells sink the rows of the busiest part of the figures of ANSWER_THIS, o->window_ns long, and
 * sets a->window. After answer_find with the same opts. 0 or negative errno with *e, as it. */
int answer_tell_window(struct answer *a, const struct answer_opts *o, sim_sink sink, void *ctx,
                       struct err *e);

const char *answer_variant_name(enum answer_variant v);
/* PASS up to low, FAIL above high. */
enum answer_verdict answer_verdict_of(const struct answer_users *u, uint64_t n);

#endif
