/* Where the bytes that Tier-2 moved came from and went, from counters of different owners: the
 * rows', the device's, this process's and a network's. Called after the run. */
#ifndef KVREPLAY_DEVICE_ORIGIN_H
#define KVREPLAY_DEVICE_ORIGIN_H

#include "kvreplay/evidence.h"
#include "lib/facts/origin.h"

#define ORIGIN_ENOUGH 64e6 /* bytes, to judge a share or a rate by */
#define ORIGIN_MOVED  0.9  /* share of the bytes that a direct run moves at least */

/* Does compression or deduplication below explain that only this share of the bytes was read? Where
 * the run wrote, its writes must have shrunk alike, and no cache below have kept them. Else a layer
 * must be there that reduces, and explains as much as the ratios of the contents allow. */
bool origin_was_reduced(const struct evidence *ev, double read);
/* An overlay whose folder this process does not see, as in a container. */
bool origin_is_hidden_memory(const struct evidence *ev);

/* op: TRACE_READ or TRACE_WRITE. asked is NAN when Tier-2 has no real engine. */
void origin_find(struct origin *o, const struct evidence *ev, enum trace_op op);
/* Puts both into the facts, and how much of the bytes that reads of all tiers found came from a
 * device. */
void origin_put_facts(struct facts *f, const struct evidence *ev);

#endif
