/* A clock for tests of schedules: it stands still until it is slept on or set. */
#ifndef UNIT_FAKE_CLOCK_H
#define UNIT_FAKE_CLOCK_H

#include "lib/base/clock.h"

static inline int64_t fake_now(void *ctx)
{
    const int64_t *now = ctx;
    return *now;
}

static inline int fake_sleep(void *ctx, int64_t until_ns)
{
    int64_t *now = ctx;
    if (*now < until_ns)
        *now = until_ns;
    return 0;
}

/* Its time is *now_ns, which the caller keeps alive; sleep_until moves it forward. */
static inline struct clock clock_fake(int64_t *now_ns)
{
    return (struct clock){.now_ns = fake_now, .sleep_until = fake_sleep, .ctx = now_ns};
}

#endif
