/* judge.h - what makes a figure doubtful: states, kinds of figures, thresholds and numbers of
 * samples, for all programs that judge. */
#ifndef KVTRACE_FACTS_JUDGE_H
#define KVTRACE_FACTS_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/hist.h"

/* In the order of how grave they are: of two states, the greater counts. */
enum validity_state {
    VALIDITY_GOOD,
    VALIDITY_UNKNOWN,
    VALIDITY_UNRELIABLE, /* something is known to have moved the figure */
    VALIDITY_STATES
};
enum validity_kind {
    VALIDITY_SERVICE,     /* service times */
    VALIDITY_DEVICE,      /* device times */
    VALIDITY_RESPONSE,    /* response times and waits */
    VALIDITY_END_TO_END,  /* times of requests */
    VALIDITY_STORAGE,     /* whether Tier-2 is storage at all, and its reads come from it */
    VALIDITY_FIRST_TOKEN, /* what storage decides of a request's time to its first token */
    VALIDITY_KINDS,
    VALIDITY_ALL = VALIDITY_KINDS
};
/* The words of summaries and reports: "unreliable"; "end_to_end", "all". kvreplay does not name
 * FIRST_TOKEN. Lent for ever. */
const char *validity_state_word(enum validity_state state);
const char *validity_kind_word(enum validity_kind kind);
/* The state of a word (may be NULL); VALIDITY_STATES: it is none. */
enum validity_state validity_state_of(const char *word);

/* Shares by which something lengthened a figure. */
#define JUDGE_MOVES 0.05 /* above it, the figure is unreliable */
#define JUDGE_SAID  0.01 /* from here on it is said */
/* A model of a drive is confirmed if the measured value differs by no more than this share. */
#define JUDGE_CONFIRMS 0.15
/* Limits for other work on the machine, which may have lengthened times. */
#define JUDGE_FOREIGN_SHARE 0.1     /* others' bytes on the devices, by ours: above it */
#define JUDGE_DELAY_NS      1000000 /* waits for processors, holds of a quota: from here on */
/* A figure is spoilt if more than one row in this many contradicts itself. */
#define JUDGE_ODD_ROWS 100
/* It is overload if a queue grows by more than JUDGE_GROWS of the offered load. A queue is not
 * served if its waits grow by JUDGE_BACKLOG of the time that passes. */
#define JUDGE_GROWS   0.05
#define JUDGE_BACKLOG 0.01
/* One target of several is slow if a byte takes it this many times as long as the others. */
#define JUDGE_SLOW 1.5
/* Two runs agree if they differ by no more than this share; a mean is known within it. */
#define JUDGE_AGREES 0.05

/* The state of a figure that was lengthened by that share. */
enum validity_state judge_longer(double share);
/* "client delay adds 12 % to"; above ten times, where a percentage says nothing, "client delay is
 * most of". Returns buf. */
enum {
    JUDGE_ADDED = 160
};
const char *judge_added(char buf[JUDGE_ADDED], const char *what, double share);

/* Whether a measurement is within JUDGE_CONFIRMS of the model's value; false where either is not
 * known. */
bool judge_confirms(double measured, double model);

/* The percentiles that are judged: P50, P95, P99. */
enum {
    JUDGED = 3
};
struct judge_percentile {
    uint32_t ppm;
    unsigned percent;
};
extern const struct judge_percentile judge_percentile[JUDGED];

/* The percentile that differs most between two sets of times: as they were, and without what
 * lengthened them. Percentiles with too few samples above them do not count: the next run would
 * show other values anyway. If without is empty, share is INFINITY. */
struct judge_move {
    const struct hist *as_was, *without;
    double share; /* how much longer it became; 0.1: 10 % */
    const struct judge_percentile *of;
};
struct judge_move judge_moved(const struct hist *as_was, const struct hist *without);
/* "client delay adds 12 % to Tier-2 Read p95 (2.1 ms instead of 1.9 ms)"; place ("Tier-2 Read") may
 * be "". Returns buf. */
enum {
    JUDGE_TOLD = 400
};
const char *judge_told(char buf[JUDGE_TOLD], const char *what, const char *place,
                       const struct judge_move *m);
/* Do more of some lie above the percentile of others than chance explains (one-sided 99 %, by the
 * normal approximation of two proportions)? False where either is empty. */
bool judge_slower(const struct hist *some, const struct hist *others, uint32_t ppm);
/* all, less the values of some, and with others in their place; the caller frees it. NULL: no
 * memory. */
struct hist *judge_without(const struct hist *all, const struct hist *some,
                           const struct hist *others);

/* At least ten of that many samples lie above the percentile. With fewer, the next run will show
 * another value. */
bool judge_enough(uint64_t samples, uint32_t ppm);
/* So many samples bound the percentile from above with 95 % confidence (one of them lies above
 * it): 5 for P50, 59 for P95, 299 for P99. ppm: 1 to 999999. Source: the smallest n with
 * p^n <= 0.05 (Wilks, 1941). */
uint64_t judge_samples(uint32_t ppm);

#endif
