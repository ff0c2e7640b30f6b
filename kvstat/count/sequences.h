/* sequences.h - the series that verdicts and comparisons follow through a result file in file
 * order: the times of its reads and writes by tier and operation and by group, and its lookups.
 * Each thread fills pieces; sequences take them in order. */
#ifndef KVSTAT_COUNT_SEQUENCES_H
#define KVSTAT_COUNT_SEQUENCES_H

#include <stddef.h>
#include <stdint.h>

#include "kvstat/count/blocks.h"
#include "kvstat/count/groups.h"
#include "lib/trace/trace.h"

/* Times in ns. */
enum sequences_metric {
    SEQUENCES_SERVICE,
    SEQUENCES_DEVICE,
    SEQUENCES_RESPONSE,
    SEQUENCES_WAIT,
    SEQUENCES_METRICS
};

struct sequence_piece;
/* warmup_ns as in request_piece_create. NULL: no memory. */
struct sequence_piece *sequence_piece_create(unsigned by, int64_t warmup_ns);
void sequence_piece_free(struct sequence_piece *p);
void sequence_piece_clear(struct sequence_piece *p);
/* Takes the next rows of a result file: reads and writes that did not fail, and lookups. 0 or
 * -ENOMEM. */
int sequence_piece_add(struct sequence_piece *p, const struct trace_row *rows, size_t n);

struct sequences;
/* by: mask of enum groups_by without users. NULL: no memory. */
struct sequences *sequences_create(unsigned by);
void sequences_free(struct sequences *s);
unsigned sequences_by(const struct sequences *s);
/* Appends the piece of the next rows in file order. 0 or -ENOMEM. */
int sequences_append(struct sequences *s, const struct sequence_piece *piece);
/* Adds another file's behind into, by the same columns. 0 or -ENOMEM. */
int sequences_merge(struct sequences *into, const struct sequences *from);

/* NULL: there is none. Lent. */
const struct blocks *sequences_direction(const struct sequences *s, uint8_t tier, uint8_t op,
                                         enum sequences_metric metric);
const struct blocks *sequences_group(const struct sequences *s, const struct group_key *key,
                                     enum sequences_metric metric);
/* Start - Due of all reads and writes. */
const struct blocks *sequences_waits(const struct sequences *s);
/* 1 for each lookup that hit, 0 for each that missed. */
const struct blocks *sequences_lookups(const struct sequences *s);

#endif
