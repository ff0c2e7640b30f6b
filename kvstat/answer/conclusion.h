/* conclusion.h - what an answer comes to once its confirmation is known: the verdict with its
 * reason, whether the drive gains users, and which of two drives is better. */
#ifndef KVSTAT_ANSWER_CONCLUSION_H
#define KVSTAT_ANSWER_CONCLUSION_H

#include <stdbool.h>

#include "kvstat/answer/answer.h"
#include "kvstat/answer/confirm.h"

enum {
    CONCLUSION_WHY = CONFIRM_WHY + 512
};

struct conclusion {
    const struct answer *answer;
    const struct confirm *confirm; /* NULL: nothing ran on the drive */
    bool unconfirmed;              /* it ran, and does not confirm the model */
    bool judged;                   /* there is a verdict */
    enum verdict_outcome verdict;
    char why[CONCLUSION_WHY]; /* its reason, or of the number that is held; "": there is none */
};
/* confirm: NULL: there is none. Both are lent. */
void conclude(struct conclusion *c, const struct answer *a, const struct confirm *confirm);
/* "PASS". Lent for ever. */
const char *conclusion_word(enum verdict_outcome verdict);

/* Whether the drive holds more than no drive does. Both meet the same requests, seed by seed. */
enum gain {
    GAIN_NONE,     /* it does with no seed, or nothing reaches the drive */
    GAIN_OPEN,     /* with some seeds, and not with others */
    GAIN_IS_THERE, /* with each */
};
enum gain gain_of(const struct answer *a);

/* How many more a second answer holds than a first, each on a drive of its own: by the intervals of
 * both. */
struct answer_gain difference_of(const struct answer *first, const struct answer *second);

enum better {
    BETTER_UNKNOWN, /* the intervals meet, or one of both is not confirmed */
    BETTER_FIRST,
    BETTER_SECOND
};
enum better better_of(const struct conclusion pair[2]);
/* NULL, or what makes two answers ones on different loads: the name of the setting. Lent for ever.
 */
const char *conclusion_differs(const struct answer *a, const struct answer *b);

/* "38 users", "1 user", "1.25 requests/s" in the unit of the answer; "38", "1.25/s". Return buf. */
enum {
    CONCLUSION_NUMBER = 48
};
const char *conclusion_count(char buf[CONCLUSION_NUMBER], const struct answer *a, double n);
const char *conclusion_number(char buf[CONCLUSION_NUMBER], const struct answer *a, double n);
/* "nothing reaches the drive: host memory holds all 41 GiB". Returns buf. */
const char *conclusion_unreached(char buf[2 * CONCLUSION_NUMBER], const struct answer *a);

#endif
