/* Keeps the time of a lease. Whose the store is, and what a renewal writes, is owner.c's. A lease
 * counts from before its renewal was sent: whoever judges the marker begins to count later. */
#include "lib/owner/lease.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/owner/card.h"
#include "lib/thread/bell.h"
#include "lib/thread/thread.h"

#define RENEWALS 6 /* in a lease */

struct lease {
    struct lease_opts o;
    atomic_int_least64_t until_ns; /* CLOCK_BOOTTIME */
    atomic_bool lost, stop;
    pthread_mutex_t renewing;
    struct bell *end; /* rings when the thread shall end */
    pthread_t thread;
};

uint32_t lease_seconds(void)
{
    const char *text = getenv("KVTRACE_TEST_LEASE");
    uint64_t s;

    return text && units_parse_u64(text, &s) == 0 && s >= 2 && s <= CARD_LEASE_S ? (uint32_t)s
                                                                                 : CARD_LEASE_S;
}

static int64_t lease_ns(const struct lease *l)
{
    return (int64_t)l->o.lease_s * UNITS_NS_PER_S;
}

static bool in_time(const struct lease *l)
{
    return clock_boot_ns() < atomic_load_explicit(&l->until_ns, memory_order_acquire);
}

bool lease_lost(const struct lease *l)
{
    return l && atomic_load_explicit(&l->lost, memory_order_acquire);
}

bool lease_current(const struct lease *l)
{
    return !l || (!lease_lost(l) && in_time(l));
}

static void renewed(struct lease *l, int64_t from_ns)
{
    atomic_store_explicit(&l->until_ns, from_ns + lease_ns(l), memory_order_release);
}

/* The caller has the lock. What can't be renewed for a whole lease is lost. A stop may have come in
 * the middle of a renewal, which then says nothing: it is tried once more. */
static void renew(struct lease *l)
{
    for (int i = 0; i < 2; i++) {
        int64_t from_ns = clock_boot_ns();
        int rc = l->o.renew(l->o.ctx, &from_ns);
        if (rc == 0)
            renewed(l, from_ns);
        if (rc == -ESTALE || rc == -EAGAIN)
            break;
        if (in_time(l))
            return;
    }
    atomic_store_explicit(&l->lost, true, memory_order_release);
}

bool lease_valid(struct lease *l)
{
    if (lease_current(l))
        return true;
    if (lease_lost(l))
        return false;
    pthread_mutex_lock(&l->renewing);
    if (!lease_lost(l) && !in_time(l))
        renew(l);
    pthread_mutex_unlock(&l->renewing);
    return lease_current(l);
}

bool lease_confirm(struct lease *l)
{
    if (!l)
        return true;
    pthread_mutex_lock(&l->renewing);
    if (!lease_lost(l))
        renew(l);
    pthread_mutex_unlock(&l->renewing);
    return lease_current(l);
}

static void *renew_main(void *arg)
{
    struct lease *l = arg;

    for (;;) {
        uint32_t seen = bell_seen(l->end);
        int64_t until = clock_now_ns() + lease_ns(l) / RENEWALS;
        if (atomic_load_explicit(&l->stop, memory_order_acquire) || lease_lost(l))
            return NULL;
        if (bell_wait(l->end, seen, until) != -ETIMEDOUT)
            continue;
        pthread_mutex_lock(&l->renewing);
        if (!lease_lost(l))
            renew(l);
        pthread_mutex_unlock(&l->renewing);
    }
}

int lease_open(struct lease **out, const struct lease_opts *o, struct err *e)
{
    struct lease *l = calloc(1, sizeof(*l));
    struct bell *end = l ? bell_create() : NULL;

    if (!end) {
        free(l);
        return err_nomem(e, "lease");
    }
    l->o = *o;
    l->end = end;
    pthread_mutex_init(&l->renewing, NULL);
    renewed(l, o->from_ns);
    int rc = thread_start(&l->thread, renew_main, l);
    if (rc < 0) {
        bell_free(l->end);
        pthread_mutex_destroy(&l->renewing);
        free(l);
        return thread_refused(e, rc, "a thread for the lease");
    }
    *out = l;
    return 0;
}

void lease_close(struct lease *l)
{
    if (!l)
        return;
    atomic_store_explicit(&l->stop, true, memory_order_release);
    bell_ring(l->end);
    pthread_join(l->thread, NULL);
    bell_free(l->end);
    pthread_mutex_destroy(&l->renewing);
    free(l);
}
