/* Tells a program that it shall end: the first SIGINT or SIGTERM sets a flag that loops look at, a
 * later one gets the default action. Draining and cleaning up are the program's task. */
#include "lib/base/stop.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

/* A signal handler takes no argument, so it can only write to a global. */
static struct {
    atomic_int signal;
    _Atomic int64_t first_ns; /* 0: no signal yet */
} stop;

static void on_signal(int sig)
{
    int saved = errno;
    struct timespec t;
    int64_t first_ns = 0;

    clock_gettime(CLOCK_MONOTONIC, &t);
    int64_t now_ns = t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
    if (atomic_compare_exchange_strong(&stop.first_ns, &first_ns, now_ns)) {
        atomic_store(&stop.signal, sig);
    } else if (now_ns - first_ns > STOP_TWICE_MS * INT64_C(1000000)) {
        struct sigaction dfl = {.sa_handler = SIG_DFL};
        sigaction(sig, &dfl, NULL);
        raise(sig); /* held back until this handler returns */
    }
    errno = saved;
}

static int install(int sig, void (*handler)(int))
{
    struct sigaction sa = {.sa_handler = handler};

    sigaddset(&sa.sa_mask, SIGINT);
    sigaddset(&sa.sa_mask, SIGTERM);
    return sigaction(sig, &sa, NULL) ? -errno : 0;
}

int stop_install(struct err *e)
{
    int rc = install(SIGINT, on_signal);

    if (!rc)
        rc = install(SIGTERM, on_signal);
    if (!rc)
        rc = install(SIGPIPE, SIG_IGN);
    if (!rc)
        rc = install(SIGXFSZ, SIG_IGN);
    return rc ? err_errno(e, rc, ERR_FAILED, "", "cannot install signal handlers") : 0;
}

int stop_signal(void)
{
    return atomic_load(&stop.signal);
}

int stop_exit_status(int status)
{
    int sig = stop_signal();

    return sig ? 128 + sig : status;
}
