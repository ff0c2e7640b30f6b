/* decision_line.h - what an engine decides in one step, as a line of JSON: a text for each key. The
 * keys are those that decisions of vLLM's own code were recorded under; kvgen(1) explains them
 * (--decisions). */
#ifndef KVGEN_SERVE_DECISION_LINE_H
#define KVGEN_SERVE_DECISION_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum decision_key {
    DECISION_ARR,
    DECISION_SCH,
    DECISION_DEC,
    DECISION_ADM,
    DECISION_NOFIT,
    DECISION_PRE,
    DECISION_XQ,
    DECISION_GEV,
    DECISION_GC,
    DECISION_FR,
    DECISION_ST,
    DECISION_STSKIP,
    DECISION_STFAIL,
    DECISION_CEV,
    DECISION_LD,
    DECISION_FLUSH,
    DECISION_XD,
    DECISION_TS,
    DECISION_TL,
    DECISION_TD,
    DECISION_TQ,
    DECISION_PROMO,
    DECISION_PROMOFAIL,
    DECISION_FIRST,
    DECISION_FIN,
    DECISION_RUN,
    DECISION_WAIT,
    DECISION_HOLD,
    DECISION_FREE,
    DECISION_FREE_END,
    DECISION_CPU,
    DECISION_KEYS
};
extern const char *const decision_names[DECISION_KEYS];

/* A text that grows. Zero it. A list is "a,b,c" without its outer brackets, so that a missing key
 * and an empty list are both the empty text. */
struct decision_text {
    char *text;
    size_t len, cap;
};
/* Zero it. */
struct decision_line {
    struct decision_text key[DECISION_KEYS];
    struct decision_text whole; /* decision_line_text's */
    bool failed;                /* no memory for a text */
};

void decision_line_clear(struct decision_line *l);
void decision_line_free(struct decision_line *l);
/* Appends to a key's text. */
void decision_add(struct decision_line *l, enum decision_key key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Appends a comma unless the text is empty or ends with a comma or an opening bracket. */
void decision_comma(struct decision_line *l, enum decision_key key);

/* All of it as a line of JSON with its newline, as the recordings have it: {"t":4,"sch":[...],...}.
 * lone: the keys that are one value where they have one, as a mask of (1 << key). Lent until the
 * next call; NULL: no memory. */
const struct decision_text *decision_line_text(struct decision_line *l, int64_t t, uint64_t lone);

#endif
