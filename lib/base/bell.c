/* bell.c - how threads wait for each other's work: a count that only grows, and futex(2) for those
 * who found nothing new. Taking the count before looking for work is what makes a ring in between
 * impossible to miss. */
#include "lib/base/bell.h"

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
    struct bell *b = aligned_alloc(_Alignof(struct bell), sizeof *b);
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

/* The sleeper counts itself and then looks at count; the ringer adds to count and then looks at
 * sleepers. Both are sequentially consistent, so at least one sees the other. */
void bell_ring(struct bell *b)
{
    atomic_fetch_add(&b->count, 1);
    if (atomic_load(&b->sleepers))
        futex(b, FUTEX_WAKE, INT_MAX, NULL);
}

static int sleep_once(struct bell *b, uint32_t seen, const struct timespec *until)
{
    if (futex(b, FUTEX_WAIT_BITSET, seen, until) == 0 || errno == EAGAIN)
        return 0;
    return -errno;
}

int bell_wait(struct bell *b, uint32_t seen, int64_t until_ns)
{
    int rc = 0;
    const struct timespec *until = NULL;
    struct timespec ts;
    if (bell_seen(b) != seen)
        return 0;
    if (until_ns != INT64_MAX) {
        int64_t t = until_ns > 0 ? until_ns : 0;
        ts = (struct timespec){.tv_sec = (time_t)(t / UNITS_NS_PER_S),
                               .tv_nsec = (long)(t % UNITS_NS_PER_S)};
        until = &ts;
        /* Wake at until_ns and not up to 50 us later (the default slack of a thread). */
        prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    }
    atomic_fetch_add(&b->sleepers, 1);
    while (rc == 0 && bell_seen(b) == seen)
        rc = sleep_once(b, seen, until);
    atomic_fetch_sub(&b->sleepers, 1);
    return bell_seen(b) != seen ? 0 : rc;
}
