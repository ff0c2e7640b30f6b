/* Tells a program that it shall end: the first SIGINT, SIGTERM or SIGHUP sets a flag that loops
 * look at, the second says that what is in flight shall be abandoned, the third gets the default
 * action. Draining and cleaning up are the program's task. */
#include "lib/base/stop.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS INT64_C(1000000)

/* A signal handler takes no argument, so it can only write to a global. */
static struct {
    const char *line; /* set before the handlers are installed */
    atomic_int signal;
    atomic_int count;         /* of signals that count */
    _Atomic int64_t first_ns; /* 0: no signal yet */
    _Atomic int64_t last_ns;  /* of the last one that counts */
} stop;

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* A terminal shows "^C" and perhaps a progress line where the cursor is: the text goes below. */
static void say(const char *line)
{
    if ((isatty(STDERR_FILENO) && write(STDERR_FILENO, "\n", 1) < 0) ||
        write(STDERR_FILENO, line, strlen(line)) < 0)
        return; /* nobody is there to be told */
}

static void on_signal(int sig)
{
    int saved = errno;
    int64_t now = now_ns(), last = atomic_load(&stop.last_ns);

    /* Two threads may run this at once. Whoever moves last_ns counts. */
    if ((last == 0 || now - last > STOP_TWICE_MS * NS_PER_MS) &&
        atomic_compare_exchange_strong(&stop.last_ns, &last, now)) {
        if (last == 0) {
            atomic_store(&stop.first_ns, now);
            atomic_store(&stop.signal, sig);
            if (stop.line)
                say(stop.line);
        }
        if (atomic_fetch_add(&stop.count, 1) == 2) {
            struct sigaction dfl = {.sa_handler = SIG_DFL};
            sigaction(sig, &dfl, NULL);
            raise(sig); /* held back until this handler returns */
        }
    }
    errno = saved;
}

static int install(int sig, void (*handler)(int))
{
    struct sigaction sa = {.sa_handler = handler};

    sigaddset(&sa.sa_mask, SIGHUP);
    sigaddset(&sa.sa_mask, SIGINT);
    sigaddset(&sa.sa_mask, SIGTERM);
    return sigaction(sig, &sa, NULL) ? -errno : 0;
}

/* Whoever starts a program by nohup(1) wants it to outlive its terminal. */
static int install_hangup(void)
{
    struct sigaction now;

    if (sigaction(SIGHUP, NULL, &now))
        return -errno;
    return now.sa_handler == SIG_IGN ? 0 : install(SIGHUP, on_signal);
}

int stop_install(const char *line, struct err *e)
{
    stop.line = line;
    int rc = install_hangup();

    if (!rc)
        rc = install(SIGINT, on_signal);
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

bool stop_asks(void)
{
    return stop_signal() != 0;
}

bool stop_abandons(void)
{
    return atomic_load(&stop.count) > 1;
}

bool stop_ends_reading(bool patient)
{
    if (!stop_signal())
        return false;
    return !patient || stop_abandons() ||
           now_ns() - atomic_load(&stop.first_ns) > STOP_PATIENCE_MS * NS_PER_MS;
}

const char *stop_signal_name(void)
{
    int sig = stop_signal();

    return sig == SIGTERM ? "SIGTERM" : sig == SIGHUP ? "SIGHUP" : sig ? "SIGINT" : NULL;
}

int stop_exit_status(int status)
{
    int sig = stop_signal();

    return sig ? 128 + sig : status;
}
