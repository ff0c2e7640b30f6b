/* Lets threads of a pipeline wait for each other's work: a count that only grows, and futex(2) for
 * those who find nothing new. A waiter reads the count before it looks for work, so a ring between
 * the two is never missed. */
#include "lib/thread/bell.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/units.h"

struct bell {
    _Alignas(64) _Atomic uint32_t count;
    _Atomic uint32_t sleepers;
};

struct bell *bell_create(void)
{
    struct bell *b = aligned_alloc(_Alignof(struct bell), sizeof(*b));

    if (!b)
        return NULL;
    atomic_init(&b->count, 0);
    atomic_init(&b->sleepers, 0);
    return b;
}

void bell_free(struct bell *b)
{
    free(b);
}

uint32_t bell_seen(const struct bell *b)
{
    return atomic_load(&b->count);
}

static long futex(struct bell *b, int op, uint32_t value, const struct timespec *until)
{
    return syscall(SYS_futex, &b->count, op | FUTEX_PRIVATE_FLAG, value, until, NULL,
                   FUTEX_BITSET_MATCH_ANY);
}

/* The sleeper announces itself and then reads count. The ringer adds to count and then reads
 * sleepers. Both are sequentially consistent, so at least one of them sees the other. */
void bell_ring(struct bell *b)
{
    atomic_fetch_add(&b->count, 1);
    if (atomic_load(&b->sleepers))
        futex(b, FUTEX_WAKE, INT_MAX, NULL);
}

int bell_wait(struct bell *b, uint32_t seen, int64_t until_ns)
{
    const struct timespec *until = NULL;
    struct timespec ts;
    int rc = 0;

    if (bell_seen(b) != seen)
        return 0;
    if (until_ns != INT64_MAX) {
        int64_t t = until_ns > 0 ? until_ns : 0;
        ts = (struct timespec){.tv_sec = (time_t)(t / UNITS_NS_PER_S),
                               .tv_nsec = (long)(t % UNITS_NS_PER_S)};
        until = &ts;
        /* Wake at until_ns, not up to 50 us later (a thread's default timer slack). */
        prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    }
    atomic_fetch_add(&b->sleepers, 1);
    while (rc == 0 && bell_seen(b) == seen)
        if (futex(b, FUTEX_WAIT_BITSET, seen, until) != 0 && errno != EAGAIN)
            rc = -errno;
    atomic_fetch_sub(&b->sleepers, 1);
    return bell_seen(b) != seen ? 0 : rc;
}
