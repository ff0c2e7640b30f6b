/* turn_table.h - how many turns each of the conversations last asked in has so far: also of those
 * that are over. Numbers of conversations are used again when they are forgotten and no turn of
 * theirs waits. */
#ifndef KVGEN_SOURCE_TURN_TABLE_H
#define KVGEN_SOURCE_TURN_TABLE_H

#include <stdint.h>

struct turn_table;

/* Remembers that many conversations (at least 1), the last ones asked in. NULL: no memory. */
struct turn_table *turn_table_create(uint32_t remembered);
void turn_table_free(struct turn_table *t);

/* Makes sure that the next turn_table_begin finds room; 0 or -ENOMEM. */
int turn_table_reserve(struct turn_table *t);
/* A conversation begins, without a turn; its number. */
uint32_t turn_table_begin(struct turn_table *t);
/* That turn (from 1) of it is asked, and waits. */
void turn_table_ask(struct turn_table *t, uint32_t conversation, uint32_t turn);
/* One reason less to keep its number: a turn of it was served, or (once) it is over. */
void turn_table_release(struct turn_table *t, uint32_t conversation);
/* Turns asked so far of a conversation that goes on or has a turn waiting; 0: it was forgotten. */
uint32_t turn_table_turns(const struct turn_table *t, uint32_t conversation);

#endif
