/* The threads of engines that serve steps: each engine reads only so many of its files in Tier-2 at
 * once, and writes so many. Further rows wait in its line for reads or for writes. One thread, the
 * scheduler's. */
#ifndef KVREPLAY_WAIT_THREADS_H
#define KVREPLAY_WAIT_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "kvreplay/wait/row.h"

struct threads_opts {
    uint32_t engines;       /* 0: one */
    unsigned reads, writes; /* at once, of each engine; 0: no limit */
};

struct threads;

/* NULL: no memory. */
struct threads *threads_create(const struct threads_opts *o);
void threads_free(struct threads *t); /* takes NULL, as the others do: there is no limit */
/* The next operation of r, in its present stage, is about to start: takes a thread, if it needs
 * one. False: none is free, which threads_line is for. */
bool threads_take(struct threads *t, struct row *r);
/* r waits, behind those of its engine that wait to do the same. */
void threads_line(struct threads *t, struct row *r);
/* The operation did not start: r has no thread, and is tried again before those behind it. */
void threads_untake(struct threads *t, struct row *r);
/* The operation of r is over, and with it its thread, if it had one. Returns the row that may have
 * it, which is to be tried before others; NULL: none waits. */
struct row *threads_give(struct threads *t, struct row *r);

#endif
