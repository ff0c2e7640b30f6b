/* The lease of a run on its store: until when nobody else can have taken it. Everything that puts
 * or deletes asks lease_valid immediately before; a thread renews the marker meanwhile. */
#ifndef KVTRACE_OWNER_LEASE_H
#define KVTRACE_OWNER_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"

struct lease;

/* Renews the marker in the store: 0; -ESTALE or -EAGAIN: the store is not ours any more; other
 * negative errno: nobody knows, it is tried again. *from_ns is the time (CLOCK_BOOTTIME) before the
 * call, from which the lease counts anew; an earlier one may be put there. One call at a time. */
typedef int lease_renew(void *ctx, int64_t *from_ns);

struct lease_opts {
    uint32_t lease_s;   /* lease_seconds() */
    int64_t from_ns;    /* CLOCK_BOOTTIME before the marker was last written */
    lease_renew *renew; /* called from a thread of the lease, and from those that ask */
    void *ctx;          /* the caller's */
};
/* How long a lease is: CARD_LEASE_S, or what tests say in KVTRACE_TEST_LEASE (2 to 60 seconds). */
uint32_t lease_seconds(void);

/* Starts the thread that renews, every sixth of the lease. 0 or negative errno. */
int lease_open(struct lease **out, const struct lease_opts *o, struct err *e);
/*
 * May this process put and delete now? Costs a look at the clock. When the time is over (the host
 * was suspended, the process stopped) it renews first, which may take as long as the store. False:
 * never again. Any thread; l may be NULL, for what has no owner: true.
 */
bool lease_valid(struct lease *l);
/* Renews now, whatever the time: somebody may have removed the marker. Returns as lease_valid. */
bool lease_confirm(struct lease *l);
/* The same as lease_valid without renewing, for one who holds a lock that a renewal needs. False:
 * ask lease_valid without it. */
bool lease_current(const struct lease *l);
/* Was it lost? Any thread. */
bool lease_lost(const struct lease *l);
/* Stops the thread and frees l, which may be NULL. */
void lease_close(struct lease *l);

#endif
