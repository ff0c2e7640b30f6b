/* reading.h - what a source took its files for: times, blocks and tokens. Every source of files
 * says so, in a line and in JSON, since files seldom say it themselves. */
#ifndef KVGEN_MEANING_READING_H
#define KVGEN_MEANING_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/notes.h"
#include "lib/json/jsonout.h"

/* A plain value, zero before use. Texts are lent for ever. */
struct source_reading {
    const char *format;    /* what the files are, in words */
    const char *time_unit; /* "s", "ms", "us", "ns", "date"; NULL: there are no times */
    const char *time_by;   /* what says so: "format", "file", "option", "magnitude" */
    bool since_1970;       /* else times count from an origin of the files' own */
    bool doubtful;         /* the unit may be another one: a remark says why */
    int64_t first_ns;      /* the first time, from its origin */
    uint64_t gaps;         /* between the times of rows that follow each other in a file */
    double gaps_ns;        /* their sum */
    int64_t block_tokens;  /* 0: there are no blocks, or each says its own size */
    const char *blocks_by; /* what says how large blocks are, as time_by; or "rows"; NULL: none */
    bool full_blocks; /* only full blocks have an id; else the last, partial one has one, too */
    const char *tokens_by; /* how the tokens of a request are known: "given", "estimated", ... */
    struct notes remarks;  /* doubts, what else fits, what was left out; each a line for people */
};

enum {
    READING_LINE = 320
};
/* The line, without what it is about: "Mooncake; times in ms; blocks of 512 tokens; tokens given".
 * Returns buf. */
const char *reading_line(const struct source_reading *r, char buf[READING_LINE]);
/* Adds the member "read_as" to the object that is open; null for NULL. */
void reading_put(struct jsonout *j, const struct source_reading *r);

#endif
