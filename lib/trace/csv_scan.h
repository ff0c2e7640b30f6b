/* csv_scan.h - private to csv.c and the trace reader: an index of the separators of a text without
 * quotes, made 64 bytes at a time with the best instructions at hand. */
#ifndef KVTRACE_TRACE_CSV_SCAN_H
#define KVTRACE_TRACE_CSV_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CSV_INDEX_CAP ((size_t)16384)
#define CSV_INDEX_PAD 128

/* Commas and newlines of a stretch of text, in order. Bytes behind count are junk but readable. */
struct csv_index {
    uint32_t pos[CSV_INDEX_CAP + CSV_INDEX_PAD]; /* offset in the text */
    uint8_t sep[CSV_INDEX_CAP + CSV_INDEX_PAD];  /* ',' or '\n' */
    size_t count;
    bool quote; /* the stretch ends at a quote */
};

/* Indexes text[0..len) up to the first quote or until the index is full; len < 2^32. Returns the
 * length of the stretch indexed. */
typedef size_t (*csv_scan_fn)(struct csv_index *ix, const char *text, size_t len);
/* The scanner for this processor, or the one that csv_force_isa chose. */
csv_scan_fn csv_scan_pick(void);
/* Newlines in text[0..len), in quotes or not. */
uint64_t csv_scan_count_lines(const char *text, size_t len);

/* Fields that csv_next unescaped have this many readable bytes behind their begin. */
#define CSV_PAD 64
struct csv;
/* Where the next row begins, and how many newlines stand before it. */
void csv_place(const struct csv *c, size_t *offset, uint64_t *lines);

#endif
