/* populate.h - brings the tiers into the state in which the trace expects them: objects that it
 * reads before it writes them are adopted from an earlier run or written, before the clock starts.
 */
#ifndef KVREPLAY_POPULATE_H
#define KVREPLAY_POPULATE_H

#include <stdint.h>

#include "kvreplay/sched/objects.h"
#include "kvreplay/survey.h"
#include "kvreplay/tiers.h"
#include "lib/base/progress.h"

struct populated {
    uint64_t objects, bytes;                 /* written */
    uint64_t adopted_objects, adopted_bytes; /* found */
    uint64_t staying_bytes; /* of these, of objects that are there beside all that the survey's peak
                               counts: the trace neither replaces nor removes them */
};

/* Objects of the survey that an earlier run left with the right size enter objects as live, and
 * take room. */
int populate_adopt(struct populated *p, const struct survey *s, struct tiers *t,
                   struct objects *objects, struct err *e);
/* Writes the others, inflight at a time, with generations from *generation on; accounts for their
 * room. -EINTR: a signal came. */
int populate_write(struct populated *p, const struct survey *s, struct tiers *t,
                   struct objects *objects, unsigned inflight, uint64_t *generation,
                   struct progress *progress, struct bell *bell, struct err *e);

#endif
