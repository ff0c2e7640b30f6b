/* trace_parse.h - private to the trace reader: from the fields of a row to the record. */
#ifndef KVTRACE_TRACE_PARSE_H
#define KVTRACE_TRACE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/csv.h"
#include "lib/trace.h"

/* Readable bytes that must stand behind any text that is parsed. */
#define TRACE_TEXT_PAD 64

/* Words of up to 16 bytes found by one multiplication; slots that hold no word have value 0xff. */
struct trace_words {
    uint64_t lo[32], hi[32];
    uint64_t factor;
    uint8_t value[32];
};

/* Where the columns stand and which of them are parsed. */
struct trace_layout {
    unsigned fields;     /* in the header */
    unsigned own_fields; /* of them, before the trailing result columns */
    uint32_t present;    /* mask of the known columns */
    uint32_t parsed;     /* mask: core and what is wanted */
    bool want_line;
    int at[TRACE_COLUMNS]; /* field of each column, -1: none */
    struct trace_words op, tier, phase, qos, class;
};

/* Reads the header; -EINVAL with *e (where: name). want as in trace_read_opts. */
int trace_layout_init(struct trace_layout *l, const struct csv_row *header, uint32_t want,
                      bool want_line, const char *name, struct err *e);
/*
 * The row text[begin..) whose l->fields fields end at text[end[0]], text[end[1]]...; false: a bad
 * row. Strings point into the text.
 */
bool trace_parse_index(const struct trace_layout *l, const char *text, uint32_t begin,
                       const uint32_t *end, struct trace_row *row);
/* The same from fields; row->line is left alone. */
bool trace_parse_fields(const struct trace_layout *l, const struct csv_field *field,
                        struct trace_row *row);
/* What is wrong with a row for which one of the two gave false, as text in buf. */
void trace_parse_explain(const struct trace_layout *l, const struct csv_row *row, char *buf,
                         size_t cap);

#endif
