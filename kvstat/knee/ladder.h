/* ladder.h - how a drive behaves with more and more objects in flight: what the rounds of kvtrace
 * knee tell of each step, where the knee and the cliff are, and whether the drive itself changed.
 */
#ifndef KVSTAT_KNEE_LADDER_H
#define KVSTAT_KNEE_LADDER_H

#include <stdbool.h>
#include <stddef.h>

#include "kvstat/number_table.h"
#include "lib/base/err.h"

enum {
    LADDER_STEPS_MAX = 64,
    LADDER_ROUNDS_MAX = 1024
};

enum ladder_figure {
    LADDER_RATE, /* bytes/s */
    LADDER_READ_P50,
    LADDER_READ_P95,
    LADDER_READ_P99, /* us */
    LADDER_WRITE_P50,
    LADDER_WRITE_P95,
    LADDER_WRITE_P99,
    LADDER_DEPTH,    /* I/Os at the device, on average */
    LADDER_IO_BYTES, /* of an I/O at the device */
    LADDER_DIRECT,   /* 1: all rounds with direct I/O */
    LADDER_FIGURES
};

/* NAN: not known; low and high with one round. */
struct ladder_value {
    double mean, low, high;
};

struct ladder_step {
    double in_flight;
    struct ladder_value figure[LADDER_FIGURES];
    /* Throughput and P99 of the next step, divided by those here: the mean of the logarithms of the
     * rounds' ratios, with its 95 % interval (Student's t). NAN at the last step. */
    struct ladder_value next_rate, next_p99;
};

/*
 * Figures of a step are means of its rounds. Their intervals hold what the same command finds
 * again, in 95 of 100: mean +- t s sqrt(2 / rounds), s being the deviation between rounds (Hahn and
 * Meeker, Statistical Intervals, chapter 4: the mean of as many further observations). Where rounds
 * are like the ones before them they are sqrt((1 + r) / (1 - r)) times as wide, with the
 * autocorrelation r of all steps together, 0.9 at most.
 *
 * The knee is the step after which each doubling of the objects in flight gives less than 5 % more
 * throughput, the cliff is the step whose P99 is more than 3 times as long for each doubling from
 * the step before. Both are looked for in the intervals of next_rate and next_p99: _from is the
 * first step that it may be, _to the first that it is for sure. NAN: not up to the last step.
 *
 * The drive changed when rounds differ by more than chance: a two-way analysis of variance of the
 * logarithms of throughput, by step and round, and the range of the rounds' means beyond that of
 * Tukey's test, 95 %.
 */
struct ladder {
    size_t steps;
    unsigned rounds;
    struct ladder_step step[LADDER_STEPS_MAX];
    enum ladder_figure p99; /* of reads, or of writes where none were read */
    double knee_from, knee_to, cliff_from, cliff_to;
    double rounds_differ; /* throughput of the fastest round beyond the slowest, as a share */
    bool changed;
};

/* A step is the knee if the throughput of the next one, divided by its own, is below this: 5 % more
 * for each doubling of the objects in flight between them. */
double ladder_knee_below(double in_flight, double next_in_flight);

/* From a table with a line for each round of each step, in any order; its columns are those of
 * ladder.c. 0; -EINVAL with *e: no such table, or more steps or rounds than the most; -ENOMEM. */
int ladder_of(struct ladder *l, const struct number_table *rounds, struct err *e);

#endif
