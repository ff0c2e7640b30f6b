/* turn_counts.h - how many turns each of the last conversations has so far, also of those that are
 * over. A turn that is served may look up turns that were asked after it. */
#ifndef KVGEN_SOURCE_TURN_COUNTS_H
#define KVGEN_SOURCE_TURN_COUNTS_H

#include <stdint.h>

struct turn_counts;

/* Remembers the count of that many conversations (at least 1), those asked in last. NULL: no
 * memory. */
struct turn_counts *turn_counts_create(uint32_t remembered);
void turn_counts_free(struct turn_counts *t); /* NULL is fine */

/* Makes room for the next turn_counts_begin; 0 or -ENOMEM. */
int turn_counts_reserve(struct turn_counts *t);
/* Begins a conversation and returns its number. A number is used again when its conversation is
 * forgotten and released as often as it was asked, and once more. */
uint32_t turn_counts_begin(struct turn_counts *t);
/* Turn number turn (from 1) of it is asked, and waits to be served. */
void turn_counts_ask(struct turn_counts *t, uint32_t conversation, uint32_t turn);
/* A turn of it was served, or (once) it is over. */
void turn_counts_release(struct turn_counts *t, uint32_t conversation);
/* Turns asked so far; 0: it was forgotten. The conversation goes on, or a turn of it waits. */
uint32_t turn_counts_turns(const struct turn_counts *t, uint32_t conversation);

#endif
