/* stop.c - how a program learns that it shall end: the first SIGINT or SIGTERM sets a flag that
 * loops look at and wakes a sleeper; a later one gets the default action. Draining and cleaning
 * up are the program's. */
#include "lib/base/stop.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Written by the signal handler, which can be given nothing else to write to. */
static struct {
    atomic_int signal;
    _Atomic int64_t first_ns;  /* 0: none yet */
    atomic_int wake_fd_plus_1; /* 0: none, so that zeroed memory is right from the start */
} stop;

static void wake(void)
{
    int fd = atomic_load(&stop.wake_fd_plus_1) - 1;
    uint64_t one = 1;
    if (fd < 0)
        return;
    /* A full pipe has woken its reader already; a signal handler could not do more anyway. */
    if (write(fd, &one, sizeof one) < 0)
        return;
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* When the handler returns: until then the signal is held back. */
static void end_by(int sig)
{
    struct sigaction dfl = {.sa_handler = SIG_DFL};
    sigaction(sig, &dfl, NULL);
    raise(sig);
}

static void on_signal(int sig)
{
    int saved = errno;
    int64_t now = now_ns(), first_ns = 0;
    if (atomic_compare_exchange_strong(&stop.first_ns, &first_ns, now)) {
        atomic_store(&stop.signal, sig);
        wake();
    } else if (now - first_ns > STOP_TWICE_MS * INT64_C(1000000)) {
        end_by(sig);
    }
    errno = saved;
}

static int install(int sig, void (*handler)(int))
{
    /* No SA_RESTART: whoever waits in the kernel shall return with EINTR and look at the flag. */
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
    if (rc)
        return err_errno(e, rc, ERR_FAILED, "", "cannot install signal handlers");
    return 0;
}

int stop_signal(void)
{
    return atomic_load(&stop.signal);
}

void stop_set_wake_fd(int fd)
{
    atomic_store(&stop.wake_fd_plus_1, fd + 1);
    /* The signal may have come before there was anyone to wake. */
    if (stop_signal())
        wake();
}

int stop_exit_status(int status)
{
    int sig = stop_signal();
    return sig ? 128 + sig : status;
}
