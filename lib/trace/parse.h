/* From the fields of a row to the record. Private to the trace reader. */
#ifndef KVTRACE_TRACE_PARSE_H
#define KVTRACE_TRACE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/trace/csv.h"
#include "lib/trace/trace.h"

/* Readable bytes that any text to be parsed must have behind it. */
#define TRACE_TEXT_PAD 64

#define TRACE_BAD_WORD 0xff

/* A perfect hash of words of up to 16 bytes: one multiplication finds the slot. Slots without a
 * word have value TRACE_BAD_WORD. */
struct trace_words {
    uint64_t text[32][2]; /* the word, little-endian, zeros behind it */
    uint64_t factor;
    uint8_t value[32];
};

/* Where the columns are, and which of them are parsed. The caller sets the first two. */
struct trace_layout {
    uint32_t want;         /* columns to parse (mask), 0: all that are there */
    bool want_line;        /* fill row->line */
    unsigned fields;       /* in the header */
    unsigned own_fields;   /* of them, those before the result columns at the end; all if the result
                              columns are elsewhere */
    uint32_t present;      /* mask of the known columns */
    uint32_t parsed;       /* mask: the core and what is wanted */
    int at[TRACE_COLUMNS]; /* field of each column, -1: none */
    struct trace_words op, tier, phase, qos, class;
};

/* Reads the header of the file `name`. 0, or -EINVAL with *e. */
int trace_layout_init(struct trace_layout *l, const struct csv_row *header, const char *name,
                      struct err *e);

/* Parses the row text[begin..), whose l->fields fields end at text[end[0]], text[end[1]]...
 * Strings point into the text. row->extra must be set if extra columns are parsed. False: a bad
 * row. */
typedef bool (*trace_parse_fn)(const struct trace_layout *l, const char *text, uint32_t begin,
                               const uint32_t *end, struct trace_row *row);
bool trace_parse_index(const struct trace_layout *l, const char *text, uint32_t begin,
                       const uint32_t *end, struct trace_row *row);
/* The same with AVX2 for fields in their usual form; the processor must have it. Of the extra
 * columns it parses Slot_us only. */
bool trace_parse_index_avx2(const struct trace_layout *l, const char *text, uint32_t begin,
                            const uint32_t *end, struct trace_row *row);
/* Returns the parser for the layout and the instruction set in use (csv_isa). */
trace_parse_fn trace_parse_pick(const struct trace_layout *l);
/* Parses a row from its fields; row->line is left alone. False: a bad row. */
bool trace_parse_fields(const struct trace_layout *l, const struct csv_field *field,
                        struct trace_row *row);
/* Writes to buf what is wrong with a row that a parser refused. */
void trace_parse_explain(const struct trace_layout *l, const struct csv_row *row, char *buf,
                         size_t cap);

/* ---- shared by the plain and the AVX2 parser ---- */

#define TRACE_INLINE static inline __attribute__((always_inline))

/* The fields of a row, in one of two forms. */
struct trace_fields {
    const char *text;
    uint32_t begin;
    const uint32_t *end;
    const struct csv_field *field; /* NULL: use the three above */
};

struct trace_span {
    const char *p;
    size_t len;
};

TRACE_INLINE struct trace_span trace_field(const struct trace_fields *s, int i)
{
    if (s->field)
        return (struct trace_span){s->field[i].p, s->field[i].len};
    uint32_t begin = i ? s->end[i - 1] + 1 : s->begin;
    return (struct trace_span){s->text + begin, s->end[i] - begin};
}

TRACE_INLINE struct trace_str trace_span_str(struct trace_span f)
{
    return (struct trace_str){f.len ? f.p : NULL, (uint32_t)f.len};
}

/* The slot of a word; lo is its first 8 bytes. */
TRACE_INLINE unsigned trace_word_slot(const struct trace_words *w, uint64_t lo)
{
    return (unsigned)((lo * w->factor) >> 59);
}

/* Whether the row has what its operation needs: a tier if it moves or deletes bytes, a key if it
 * names an object. */
TRACE_INLINE bool trace_core_fits(const struct trace_row *row)
{
    bool named = row->key.len > 0 && row->key.len <= TRACE_MAX_KEY;
    if (row->op <= TRACE_DELETE)
        return named && row->tier != TRACE_NO_TIER;
    return named || (row->op == TRACE_GENERATE && row->key.len == 0);
}

#endif
