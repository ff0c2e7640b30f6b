/* dynamo_line.h - what one line of Dynamo's request trace says of a request. There are two ways to
 * it, with the same values: a scan of the line, and the tree of jsonin.h, which reads any JSON, and
 * takes 2.2 times as long for 1 GB. The scan takes the lines of ended requests as Dynamo writes
 * them; others (escapes, characters beyond ASCII, a member twice, numbers out of range, damage) it
 * leaves to the tree. */
#ifndef KVGEN_RECORD_DYNAMO_LINE_H
#define KVGEN_RECORD_DYNAMO_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/json/jsonin.h"

enum {
    DYNAMO_LINE_NAMES = 64 /* more than there are known names */
};

/* A text of the line, lent by it (or by its tree). p is NULL: missing, or no text. */
struct dynamo_text {
    const char *p;
    size_t len;
};

enum dynamo_text_id {
    DYNAMO_SCHEMA,
    DYNAMO_TYPE,
    DYNAMO_SESSION,
    DYNAMO_TEXTS
};

enum dynamo_count_id {
    DYNAMO_RECEIVED_MS, /* since 1970 */
    DYNAMO_BLOCK_TOKENS,
    DYNAMO_INPUT_TOKENS,
    DYNAMO_INPUT_LENGTH, /* tokens, too; of what is hashed */
    DYNAMO_OUTPUT_TOKENS,
    DYNAMO_CACHED_TOKENS,
    DYNAMO_COUNTS
};

enum dynamo_time_id {
    DYNAMO_WAIT_MS, /* from arrival to prefill */
    DYNAMO_FIRST_TOKEN_MS,
    DYNAMO_TOTAL_MS,
    DYNAMO_TIMES
};

/* Zero it first, then use it for line after line. */
struct dynamo_line {
    struct dynamo_text text[DYNAMO_TEXTS];
    struct dynamo_count {
        bool there;
        bool whole; /* it is a whole number of 64 bits: n */
        int64_t n;
    } count[DYNAMO_COUNTS];
    struct dynamo_time {
        bool number; /* it is there, and a finite number */
        double ms;
    } time[DYNAMO_TIMES];
    enum {
        DYNAMO_HASHES_MISSING,
        DYNAMO_HASHES_NO_LIST,
        DYNAMO_HASHES_NO_NUMBERS, /* one of them is no whole number of 64 bits */
        DYNAMO_HASHES_LIST
    } hashes_are;
    uint64_t *hash; /* signed ones as the same bits; unset unless hashes_are says that all are */
    size_t hashes, hashes_cap;
    uint64_t unknown_fields;
    /* The scan's own: lengths of the known names; the name that came first in the object of each
     * name, and the one that came behind each. */
    uint8_t name_length[DYNAMO_LINE_NAMES], first_name[DYNAMO_LINE_NAMES];
    uint8_t next_name[DYNAMO_LINE_NAMES];
};

/* Reads text[0..len), which must stay in place as long as the texts are used. 1: done, the event is
 * request_end; 0: the line is left to the tree; -ENOMEM. */
int dynamo_line_scan(struct dynamo_line *l, const char *text, size_t len);
/* The same from the tree of a line, of any event. 0 or -ENOMEM. */
int dynamo_line_read(struct dynamo_line *l, const struct jsonin_v *line);
void dynamo_line_free(struct dynamo_line *l);

#endif
