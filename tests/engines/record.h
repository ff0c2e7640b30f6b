/* record.h - one step as a line of steps.jsonl has it: a text for each key. What was recorded and
 * what came out are both brought into this form, then compared text by text. */
#ifndef TESTS_ENGINES_RECORD_H
#define TESTS_ENGINES_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/json/jsonin.h"
#include "tests/engines/scenario.h"

/* The keys of a line, as README.md of the recordings explains them. */
enum record_key {
    RECORD_ARR,
    RECORD_SCH,
    RECORD_DEC,
    RECORD_ADM,
    RECORD_NOFIT,
    RECORD_PRE,
    RECORD_XQ,
    RECORD_GEV,
    RECORD_GC,
    RECORD_FR,
    RECORD_ST,
    RECORD_STSKIP,
    RECORD_STFAIL,
    RECORD_CEV,
    RECORD_LD,
    RECORD_FLUSH,
    RECORD_XD,
    RECORD_TS,
    RECORD_TL,
    RECORD_TD,
    RECORD_TQ,
    RECORD_PROMO,
    RECORD_PROMOFAIL,
    RECORD_FIRST,
    RECORD_FIN,
    RECORD_RUN,
    RECORD_WAIT,
    RECORD_HOLD,
    RECORD_FREE,
    RECORD_FREE_END,
    RECORD_CPU,
    RECORD_KEYS
};

/* A text that grows. Zero it. */
struct record_text {
    char *text;
    size_t len, cap;
};
struct record {
    struct record_text key[RECORD_KEYS];
    bool failed; /* no memory for a text */
};

void record_clear(struct record *r);
void record_release(struct record *r);
/* Appends to a key's text. */
void record_add(struct record *r, enum record_key key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Appends a comma unless the text is empty or ends with a comma or an opening bracket. */
void record_comma(struct record *r, enum record_key key);

/* Fills it with a recorded line. Runs of names (h5+2) become names. */
void record_read(struct record *r, const struct jsonin_v *line);

/* Compares all keys of step t. */
void record_compare(const struct record *recorded, const struct record *simulated, long long t,
                    struct scenario_outcome *o);

#endif
