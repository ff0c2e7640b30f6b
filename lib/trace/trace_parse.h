/* trace_parse.h - private to the trace reader: from the fields of a row to the record. */
#ifndef KVTRACE_TRACE_TRACE_PARSE_H
#define KVTRACE_TRACE_TRACE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/trace/csv.h"
#include "lib/trace/trace.h"

/* Readable bytes that must stand behind any text that is parsed. */
#define TRACE_TEXT_PAD 64

#define TRACE_BAD_WORD 0xff

/* Words of up to 16 bytes found by one multiplication; slots that hold no word have value
 * TRACE_BAD_WORD. */
struct trace_words {
    uint64_t text[32][2]; /* little-endian, zeros behind the word */
    uint64_t factor;
    uint8_t value[32];
};

/* Where the columns stand and which of them are parsed. */
struct trace_layout {
    unsigned fields;     /* in the header */
    unsigned own_fields; /* of them, before the trailing result columns; all when those stand
                            elsewhere */
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
/* The same for fields whose text has the usual form by AVX2, which the processor must have. */
bool trace_parse_index_avx2(const struct trace_layout *l, const char *text, uint32_t begin,
                            const uint32_t *end, struct trace_row *row);
/* The one of the two for this processor, or for the instructions that csv_force_isa chose. */
typedef bool (*trace_parse_fn)(const struct trace_layout *l, const char *text, uint32_t begin,
                               const uint32_t *end, struct trace_row *row);
trace_parse_fn trace_parse_pick(void);
/* The same from fields; row->line is left alone. */
bool trace_parse_fields(const struct trace_layout *l, const struct csv_field *field,
                        struct trace_row *row);
/* What is wrong with a row for which one of the two gave false, as text in buf. */
void trace_parse_explain(const struct trace_layout *l, const struct csv_row *row, char *buf,
                         size_t cap);

/* ---- what both parsers of an index share ---- */

#define TRACE_INLINE static inline __attribute__((always_inline))

/* One of the two ways in which fields are known. */
struct trace_fields {
    const char *text;
    uint32_t begin;
    const uint32_t *end;
    const struct csv_field *field; /* NULL: the three above */
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

/* The slot of the word whose first 8 bytes are lo. */
TRACE_INLINE unsigned trace_word_slot(const struct trace_words *w, uint64_t lo)
{
    return (unsigned)((lo * w->factor) >> 59);
}

/* What the operations need: a place for those that move bytes, a name for those that name
 * something. */
TRACE_INLINE bool trace_core_fits(const struct trace_row *row)
{
    bool named = row->key.len > 0 && row->key.len <= TRACE_MAX_KEY;
    if (row->op <= TRACE_DELETE)
        return named && row->tier != TRACE_NO_TIER;
    return named || (row->op == TRACE_GENERATE && row->key.len == 0);
}

#endif
