/* compare.h - several runs together: the spread of each figure over trials, and the figures of new
 * runs that differ from those of base runs by more than the noise. */
#ifndef KVSTAT_REPORT_COMPARE_H
#define KVSTAT_REPORT_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "kvstat/report/figures.h"
#include "kvstat/report/run_table.h"
#include "lib/base/err.h"
#include "lib/json/jsonout.h"

/* Runs of one load as trials. */
void trials_text(FILE *out, const struct run_table *t);
void trials_json(struct jsonout *j, const struct run_table *t);

/* The share of false changes among those found, and the probability of finding one where there is
 * none: 1 - 99 %. */
#define COMPARE_ALPHA 0.01

/* One side. figures: of its run when it is the only one, else NULL. All lent. */
struct compare_side {
    const struct run_table *runs;
    const struct figures *figures;
};

enum compare_change {
    COMPARE_NOT_CHANGED,
    COMPARE_BETTER,
    COMPARE_WORSE,
    COMPARE_DIFFERENT, /* neither better nor worse */
    COMPARE_CHANGES
};

struct compare_figure {
    const struct figure_id *id; /* lent by the base */
    double base, new;           /* means over the runs */
    double difference;          /* (new - base) / |base|; NAN when base is 0 */
    double p;                   /* p-value of statistics.h; NAN: the noise is not known */
    double shows;               /* the least difference that these trials would have shown; NAN */
    enum compare_change change;
};

struct compare {
    size_t base_runs, new_runs;
    size_t count, tested;
    size_t changes[COMPARE_CHANGES]; /* figures by change */
    bool one_load;                   /* no two runs are known to be of different traces */
    const char
        *client[2];       /* of base and new, lent, where two runs have different ones; else NULL */
    const char *pages[2]; /* likewise: "huge", "small" */
    char timing[2][64];   /* likewise: "--timing trace --speed 10"; else "" */
    char settings[256];   /* settings.h, of the first two runs that differ; "": none does */
    double matters;       /* a change of less than this share is none, however sure it is */
    size_t small;         /* figures whose change is sure and does not matter */
    bool unreliable;      /* figures of a run on either side are known to be */
    double shows;         /* the median of the figures; NAN: not known */
    char device[64];      /* the one device that all runs used; "": not known, or several */
    bool result;          /* replays. More of what a trace asks for is not better. */
    struct compare_figure figure[]; /* the headlines of figure.h that both sides have */
};

/* With one run on each side, the noise is that of the operations in it; else that between the runs.
 * matters: the size (0..1) that a change needs besides its significance. Freed with free(). 0;
 * -EINVAL: a trace and a result; -ENOMEM. */
int compare_sides(struct compare **out, const struct compare_side *base,
                  const struct compare_side *new, double matters, struct err *e);

/* "better", "mixed", "same" ...; NULL: nothing could be tested. */
const char *compare_answer(const struct compare *c);
/* The answer in a sentence. Returns buf. */
enum {
    COMPARE_SENTENCE = 1024
};
const char *compare_sentence(char buf[COMPARE_SENTENCE], const struct compare *c);
/* The figure in words: "end to end, p95", "Tier-2 Read Decode service, p95". Returns buf, of n
 * bytes. */
const char *compare_label(char *buf, size_t n, const struct figure_id *id);
/* The worst state that the figures of a run are in. */
enum validity_state compare_state_of_run(const struct run_table *t, size_t run);

/* The section of a figure in a table: "Requests", or the group, "Tier-2 Read Decode". Returns buf.
 */
enum {
    COMPARE_SECTION = 160
};
const char *compare_section(char buf[COMPARE_SECTION], const struct figure_id *id);

void compare_text(FILE *out, const struct compare *c, const struct run_table *base,
                  const struct run_table *new);
void compare_json(struct jsonout *j, const struct compare *c, const struct run_table *base,
                  const struct run_table *new);

#endif
