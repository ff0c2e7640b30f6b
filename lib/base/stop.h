/* SIGINT and SIGTERM as a flag. The flag in stop.c is the project's only mutable global. */
#ifndef KVTRACE_BASE_STOP_H
#define KVTRACE_BASE_STOP_H

#include "lib/base/err.h"

enum {
    /* Signals this close together count as one: timeout(1), for example, signals its child and
     * then the child's process group. */
    STOP_TWICE_MS = 100
};

/* Installs handlers for SIGINT and SIGTERM: the first signal sets the flag, a later one ends the
 * process at once by its default action, and signals within STOP_TWICE_MS of the first count as
 * the first. Ignores SIGPIPE and SIGXFSZ, so that a failed write returns EPIPE or EFBIG. Without
 * SA_RESTART: a blocking call that a signal interrupts fails with EINTR. 0 or negative errno. */
int stop_install(struct err *e);
/* Returns the signal that came first, 0 if none came. Async-signal-safe; any thread. */
int stop_signal(void);
/* Returns the exit status for that signal (130, 143), or status if none came. */
int stop_exit_status(int status);

#endif
