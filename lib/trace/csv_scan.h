/* The vectorised scanner of CSV: an index of the separators of a text without quotes, made 64 bytes
 * at a time with the best instruction set at hand. Private to csv.c and the trace reader. */
#ifndef KVTRACE_TRACE_CSV_SCAN_H
#define KVTRACE_TRACE_CSV_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CSV_INDEX_CAP ((size_t)16384)
#define CSV_INDEX_PAD 128

/* Commas and newlines of a stretch of text, in order. Entries behind count are junk but readable.
 */
struct csv_index {
    uint32_t pos[CSV_INDEX_CAP + CSV_INDEX_PAD]; /* offset in the text */
    uint8_t sep[CSV_INDEX_CAP + CSV_INDEX_PAD];  /* ',' or '\n' */
    size_t count;
    bool quote; /* the stretch ends at a quote */
};

/* Indexes text[0..len), len < 2^32, up to the first quote or until the index is full. Returns the
 * length of the stretch indexed. */
typedef size_t (*csv_scan_fn)(struct csv_index *ix, const char *text, size_t len);
/* Returns the scanner for this processor, or for the set that csv_force_isa chose. */
csv_scan_fn csv_scan_pick(void);
/* Returns the number of newlines in text[0..len), in quotes or not. */
uint64_t csv_scan_count_lines(const char *text, size_t len);

/* Instruction sets, the best one last. */
enum csv_isa {
    CSV_ISA_PORTABLE,
    CSV_ISA_AVX2,
    CSV_ISA_AVX512
};
/* Returns the instruction set in use. */
enum csv_isa csv_isa(void);
/* Selects the instruction set, for tests. 0, or -ENOTSUP: not on this processor. */
int csv_force_isa(enum csv_isa isa);
const char *csv_isa_name(enum csv_isa isa); /* "portable", "avx2", "avx512" */

#endif
