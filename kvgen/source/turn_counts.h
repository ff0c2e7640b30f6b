/* turn_counts.h - how many turns each of the conversations last asked in has so far: also of those
 * that are over. Numbers of conversations are used again when they are forgotten and no turn of
 * theirs waits. */
#ifndef KVGEN_SOURCE_TURN_COUNTS_H
#define KVGEN_SOURCE_TURN_COUNTS_H

#include <stdint.h>

struct turn_counts;

/* Remembers that many conversations (at least 1), the last ones asked in. NULL: no memory. */
struct turn_counts *turn_counts_create(uint32_t remembered);
void turn_counts_free(struct turn_counts *t);

/* Makes sure that the next turn_counts_begin finds room; 0 or -ENOMEM. */
int turn_counts_reserve(struct turn_counts *t);
/* A conversation begins, without a turn; its number. */
uint32_t turn_counts_begin(struct turn_counts *t);
/* That turn (from 1) of it is asked, and waits. */
void turn_counts_ask(struct turn_counts *t, uint32_t conversation, uint32_t turn);
/* One reason less to keep its number: a turn of it was served, or (once) it is over. */
void turn_counts_release(struct turn_counts *t, uint32_t conversation);
/* Turns asked so far of a conversation that goes on or has a turn waiting; 0: it was forgotten. */
uint32_t turn_counts_turns(const struct turn_counts *t, uint32_t conversation);

#endif
