/* habits.h - how people and their agents use a language model: figures of public traces, in one
 * table. tests/population/measure.py measures them; man/kvgen.1 tells how. Constants: any thread
 * may read them. */
#ifndef KVGEN_PEOPLE_HABITS_H
#define KVGEN_PEOPLE_HABITS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kvgen/rng.h"

enum {
    HABITS_POINTS = 14,           /* of a figure that is a table of quantiles */
    HABITS_WINDOW_TOKENS = 131072 /* a prompt with its answer is no longer */
};

enum habit {
    HABIT_CHAT_SYSTEM,
    HABIT_CHAT_FIRST,
    HABIT_CHAT_NEXT,
    HABIT_CHAT_ANSWER,
    HABIT_CHAT_SECOND,
    HABIT_CHAT_FURTHER,
    HABIT_CHAT_PAUSE,
    HABIT_DOCUMENTS_COUNT,
    HABIT_DOCUMENTS_LENGTH,
    HABIT_DOCUMENTS_QUESTION,
    HABIT_DOCUMENTS_ANSWER,
    HABIT_DOCUMENTS_FURTHER,
    HABIT_DOCUMENTS_PAUSE,
    HABIT_CODE_SYSTEM,
    HABIT_CODE_FIRST,
    HABIT_CODE_GROWTH,
    HABIT_CODE_ANSWER,
    HABIT_CODE_STEPS,
    HABIT_CODE_TOOL,
    HABIT_CODE_PERSON,
    HABIT_CODE_BREAK,
    HABIT_CODE_AGENT,
    HABIT_CODE_AGENT_SYSTEM,
    HABIT_CODE_AGENT_FIRST,
    HABIT_CODE_AGENT_GROWTH,
    HABIT_CODE_AGENT_STEPS,
    HABIT_READING_WORDS,
    HABIT_READING_TOKENS,
    HABIT_READING_SPREAD,
    HABITS
};

struct habit_figure {
    const char *name, *unit; /* tokens, ms, steps, ppm (millionths), ... */
    const char *source;
    bool table;                    /* else only the first value counts */
    uint32_t value[HABITS_POINTS]; /* of a table: at the shares of habits_share */
};

extern const struct habit_figure habits[HABITS];
/* Percent of the values that are no larger than each point of a table; rising from 0 to 100. */
extern const uint8_t habits_share[HABITS_POINTS];

/* A value of a table, one draw: between two points it grows by equal factors for equal shares. */
int64_t habits_draw(enum habit h, struct rng *r);
/* The value of a table at percent, one of habits_share. */
int64_t habits_at(enum habit h, unsigned percent);
/* A figure that is one number. */
int64_t habits_value(enum habit h);
/* True with the probability that a figure in ppm gives. One draw. */
bool habits_chance(enum habit h, struct rng *r);
/* Time to read an answer, in ns: log-normal around that of its words. Source of the form and of
 * the spread of people: Brysbaert, "How many words do we read per minute?", 2019. */
int64_t habits_reading_ns(int64_t answer_tokens, struct rng *r);
/* The figures whose names begin with prefix, each with its source, for people. */
void habits_print(FILE *f, const char *prefix);

#endif
