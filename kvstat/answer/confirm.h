/* confirm.h - holds what a window of the load took on the drive against what the drive's model says
 * of it. Where both differ, the evidence of the run tells which of them is to blame. */
#ifndef KVSTAT_ANSWER_CONFIRM_H
#define KVSTAT_ANSWER_CONFIRM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvstat/answer/answer.h"
#include "kvstat/count/validity.h"
#include "kvstat/report/bounds.h"
#include "kvstat/report/figures.h"
#include "lib/drive/drive_model.h"

enum {
    CONFIRM_READS,
    CONFIRM_WRITES,
    CONFIRM_OPS,
    CONFIRM_P50 = 0,
    CONFIRM_P95,
    CONFIRM_PERCENTILES,
    CONFIRM_BINS = 1024, /* pieces of time that are looked at */
    CONFIRM_TEXT = 320,
    CONFIRM_WHY = 4 * CONFIRM_TEXT
};
/* The length of such a piece. */
#define CONFIRM_BIN_NS INT64_C(500000000)

/* Reads or writes of Tier-2. */
struct confirm_op {
    uint64_t samples;
    double bytes;
    double s[CONFIRM_PERCENTILES]; /* service times; NAN: no samples */
    /* of each, against what still confirms the model: the upper limit and the lower */
    struct bounds above[CONFIRM_PERCENTILES], below[CONFIRM_PERCENTILES];
};

/* A piece of time: the median service time of its rows. */
struct confirm_bin {
    double ops[CONFIRM_OPS], p50_s[CONFIRM_OPS], written_bytes;
};

/* One of both replays. Shares and times are NAN where nobody knows them. */
struct confirm_side {
    struct confirm_op op[CONFIRM_OPS];
    double elapsed_s;
    uint64_t failed; /* rows, also corrupt ones */
    /* Whether the times of Tier-2 are to be trusted; whether the bytes are storage's. */
    struct validity_of times, storage;
    char line[VALIDITY_LINE];
    char file_system[24]; /* "ext4"; "": not known */
    char layers[160];     /* "ext4 on nvme0n1"; "": likewise */
    bool reduces;         /* a layer below it compresses or deduplicates */
    bool memory;          /* bytes went to memory instead of a drive */
    bool buffered;        /* they went through the page cache */
    double foreign_bytes, own_bytes;
    double largest_gap_s, run_delay_s, throttled_s, cpu_quota,
        processor_share; /* waited for a processor */
    struct confirm_bin bin[CONFIRM_BINS];
    size_t bins;
};

/* Who is to blame, in the order in which it is looked for. */
enum confirm_cause {
    CONFIRM_NO_CAUSE,
    CONFIRM_NOTHING,     /* no row of the window reaches the drive */
    CONFIRM_FAILED,      /* rows failed */
    CONFIRM_MEMORY,      /* the target is memory */
    CONFIRM_CACHE,       /* a cache answered */
    CONFIRM_UNCOUNTED,   /* nobody knows where the bytes came from */
    CONFIRM_FILE_SYSTEM, /* it changes the bytes, or is another one than the model's */
    CONFIRM_STOPPED,     /* the process stood still */
    CONFIRM_QUOTA,       /* its control group held it back */
    CONFIRM_FOREIGN,     /* others used the drive */
    CONFIRM_PROCESSORS,  /* others used the processors */
    CONFIRM_DOUBTED,     /* the run's validity says something else */
    CONFIRM_MODEL_RUN,   /* the replay on the model was disturbed */
    CONFIRM_SLOWED,      /* the drive became slower during the run */
    CONFIRM_MODEL,       /* the model is of a measurement that was not good */
    CONFIRM_FEW,         /* too few samples */
    CONFIRM_CHANGED,     /* the drive has other rates than when its model was measured */
    CONFIRM_UNFIT,       /* it has the same, so the model does not tell what this load takes */
    CONFIRM_SLOWER,      /* nothing was seen but that the drive is slower than its model */
    CONFIRM_FASTER,
    CONFIRM_CAUSES
};
/* "page_cache": the word in the JSON; NULL for no cause. Lent for ever. */
const char *confirm_cause_word(enum confirm_cause cause);

enum confirm_answer {
    CONFIRM_AGREES,
    CONFIRM_DIFFERS,
    CONFIRM_UNDECIDED
};

/* A second measurement of the drive, after the run, at a point that the first one has, too.
 * Rates in bytes/s; now NAN: there is none. */
struct confirm_again {
    double size_bytes, in_flight, read_share;
    double before, now;
};
enum {
    CONFIRM_AGAIN_SLOWEST, /* beside the first measurement */
    CONFIRM_AGAIN_FASTEST,
    CONFIRM_AGAINS
};
void confirm_measured_again(struct confirm_again again[CONFIRM_AGAINS], const struct answer *a,
                            const struct drive_model *later);

struct confirm {
    struct confirm_side drive, model;
    enum confirm_answer answer;
    enum confirm_cause cause;
    char difference[CONFIRM_TEXT]; /* the figure that differs most; "": none beyond the limit */
    char blame[CONFIRM_TEXT];      /* the cause in words */
    char decides[CONFIRM_TEXT];    /* what would decide */
    char why[CONFIRM_WHY];         /* these three in a sentence; "" where both agree */
};

/* Takes what a replay measured. model: the other side, against which it is bounded; NULL: this is
 * the model's. */
void confirm_take(struct confirm_side *side, const struct figures *f,
                  const struct confirm_side *model);
/* The measurement that the drive's model is of. NULL: not known. */
struct confirm_model {
    const char *validity; /* "good", or what is wrong with it */
    const char *started;
    const char *file_system; /* "ext4" */
};
/* Judges both sides. again: NULL: the drive was not measured again. */
void confirm_judge(struct confirm *c, const struct confirm_model *model,
                   const struct confirm_again again[CONFIRM_AGAINS]);

/* Bytes of Tier-2 a second of a side, or of one of its operations. NAN: not known. */
double confirm_rate(const struct confirm_side *side);
double confirm_op_rate(const struct confirm_side *side, unsigned op);

#endif
