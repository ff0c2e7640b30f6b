/* answer.h - the answer that kvgen --answer computed, read from its JSON: how many users a drive
 * holds, beside no drive and an ideal one, and what was found on the way. */
#ifndef KVSTAT_ANSWER_ANSWER_H
#define KVSTAT_ANSWER_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "kvstat/report/verdict.h"
#include "lib/base/err.h"
#include "lib/json/jsonin.h"

enum answer_variant {
    ANSWER_THIS,  /* with the drive */
    ANSWER_NONE,  /* without one: what it would bring back is computed again */
    ANSWER_IDEAL, /* with a drive that takes no time */
    ANSWER_VARIANTS
};
/* "this", "none", "ideal": members of the JSON; "this drive", "no drive", "ideal drive". Lent for
 * ever. */
const char *answer_variant_member(enum answer_variant v);
const char *answer_variant_words(enum answer_variant v);

/* The largest number of users (or requests a second) that is held: by all seeds but one in five,
 * by all, and by one. */
struct answer_held {
    double value, low, high;
};

/* How many more are held with the drive than without it: of the values, and of each seed the least
 * and the most. */
struct answer_gain {
    double value, low, high;
};

/* Results of a variant at one number. Times in s. */
struct answer_served {
    double requests, goodput, first_token_p50, first_token_p95, token_p50, token_p95;
    double requests_s, prefill_tokens, gpu_busy_s;
};

/* A number that a search tried, in the order of variant and number; one of each. */
struct answer_tried {
    enum answer_variant variant;
    double users, held, of;                      /* held: seeds that hold as many, of so many */
    double goodput, first_token_p95, requests_s; /* of one seed */
    const char *limit;                           /* what holds it up; NULL: not known */
};

/* A point of the drive's model. */
struct answer_point {
    double size_bytes, in_flight, read_share, bytes_s;
    double p95_us; /* of the objects' times */
};

/* Numbers are NAN and texts NULL where the file says null. Texts and lists are the file's. */
struct answer {
    struct {
        const char *model, *gpu, *by, *engine, *engine_version, *population, *source, *unit;
        double tensor_parallel, gpu_mem, cpu_mem, capacity; /* bytes */
        double ttft_s, tpot_s, goodput, seeds;
        const char *target, *device, *started, *validity, *text; /* of the drive */
        const char *file_system; /* that it was measured on: "ext4" */
    } settings;
    bool by_calculation, requests; /* the unit is requests a second */
    double asked, at;              /* asked: NAN: nothing was */
    struct answer_held users[ANSWER_VARIANTS];
    struct answer_gain gain;
    struct answer_served served[ANSWER_VARIANTS];
    const char *why;
    bool judged;    /* verdict is known */
    bool concluded; /* kvstat wrote it: its verdict and reason are the last */
    enum verdict_outcome verdict;
    struct {
        double asked, can; /* bytes/s */
    } read, write;
    double in_flight; /* objects that the drive has at once, on average */
    double written_day, full_after_s, filled, hit_p50, hit_p95, computing_s, host_used;
    bool reached; /* bytes went to the drive, or came from it */
    struct {
        double gpu, host, storage, computed; /* shares of prompt tokens */
    } origin;
    const char *limit_kind, *limit_text;
    double prefill_low, prefill_high; /* factors within which the answer holds */
    double drive_writes_day, years;
    double warm_after_s; /* virtual time from which figures count, ... */
    bool settled;        /* ... as where tokens come from had stopped to change */
    struct {
        double prefill_tokens_day, gpu_s_day, money_day;
        const char *currency;
    } worth;
    double window_s, pool_objects, pool_bytes;
    struct answer_tried *tried;
    size_t tried_count;
    struct answer_point *point;
    size_t points;
    const char *file;
    struct jsonin *document;
};

/* Reads a file. 0, or a negative errno with *e, class ERR_INPUT: the file and what is wrong with
 * it. file is lent for as long as the answer. */
int answer_read(struct answer **out, const char *file, struct err *e);
void answer_free(struct answer *a);

#endif
