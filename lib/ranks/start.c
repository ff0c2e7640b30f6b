/* Without MPI nobody measures the offsets of the clocks of several hosts. So the parts of a run
 * start by the wall clock, and say what the kernel knows of its error. */
#include "lib/ranks/start.h"

#include <errno.h>
#include <string.h>
#include <sys/timex.h>

#include "lib/base/clock.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/log/iso_time.h"

/* A clock that is set while this sleeps is followed. */
#define LOOK_NS INT64_C(20000000)

static int passed(struct err *e, int64_t ago_ns)
{
    char ago[32];

    return err_set(e, -ETIME, ERR_TARGET, "--start-at", "this time passed %s ago",
                   units_format_duration(ago, sizeof(ago), (double)ago_ns));
}

int start_parse(const char *text, int64_t now_wall_ns, int64_t *wall_ns, struct err *e)
{
    int64_t ns;
    int rc;

    if (text[0] == '+') {
        rc = units_parse_duration(text + 1, &ns);
        if (rc == 0 && __builtin_add_overflow(ns, now_wall_ns, &ns))
            rc = -ERANGE;
    } else {
        rc = units_parse_decimal(text, strlen(text), 9, &ns);
        if (rc < 0)
            rc = iso_time_parse(text, strlen(text), &ns);
    }
    if (rc < 0 || ns < 0 || ns > ISO_TIME_MAX)
        return err_set(e, -EINVAL, ERR_INPUT, "--start-at",
                       "%s: expected +SECONDS, seconds since 1970, or a time such as "
                       "2026-01-01T00:00:00Z",
                       text);
    if (ns < now_wall_ns)
        return passed(e, now_wall_ns - ns);
    *wall_ns = ns;
    return 0;
}

void start_clock_read(struct start_clock *c)
{
    struct timex t = {.modes = 0};
    int state = adjtimex(&t);

    *c = (struct start_clock){.known = state >= 0,
                              .synchronised =
                                  state >= 0 && state != TIME_ERROR && !(t.status & STA_UNSYNC),
                              .error_ns = (int64_t)t.maxerror * 1000};
}

const char *start_clock_doubt(const struct start_clock *c)
{
    if (!c->known)
        return "the state of the clock is not known";
    if (!c->synchronised)
        return "the clock is not synchronised";
    return c->error_ns > START_ERROR_MAX_NS ? "the clock may be wrong by more than 100 ms" : NULL;
}

int start_wait(int64_t wall_ns, int64_t *zero_ns, int64_t *late_ns, struct err *e)
{
    int64_t left = wall_ns - clock_wall_ns();

    if (left < 0)
        return passed(e, -left);
    for (; left > 0; left = wall_ns - clock_wall_ns()) {
        if (stop_signal())
            return -EINTR;
        clock_sleep_until(clock_now_ns() + (left < LOOK_NS ? left : LOOK_NS), 0);
    }
    *zero_ns = clock_now_ns() + left;
    *late_ns = -left;
    return 0;
}
