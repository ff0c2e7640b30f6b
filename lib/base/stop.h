/* stop.h - SIGINT and SIGTERM as a flag. The project's only mutable global is in stop.c. */
#ifndef KVTRACE_BASE_STOP_H
#define KVTRACE_BASE_STOP_H

#include "lib/base/err.h"

enum {
    STOP_TWICE_MS =
        100 /* timeout(1), for one, signals its child and then the group that it is in */
};

/* Installs handlers for SIGINT and SIGTERM (the first sets the flag, a second one ends the process
 * at once by the signal's default action, those within STOP_TWICE_MS count as the first) and
 * ignores SIGPIPE and SIGXFSZ: a write that cannot be done fails with EPIPE or EFBIG instead.
 * Without SA_RESTART: blocking calls that a signal interrupts fail with EINTR. 0 or negative errno.
 */
int stop_install(struct err *e);
/* 0, or the signal that was received first. Async-signal-safe, any thread. */
int stop_signal(void);
/* Adds fd (an eventfd, or the write end of a pipe) to be written 8 bytes at the first signal, so
 * that a sleeper wakes; -1 removes it. */
void stop_set_wake_fd(int fd);
/* Exit status for the signal received (130, 143), or status when there was none. */
int stop_exit_status(int status);

#endif
