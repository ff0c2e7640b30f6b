/* SIGINT, SIGTERM and SIGHUP as a count. What stop.c keeps is the project's only mutable global. */
#ifndef KVTRACE_BASE_STOP_H
#define KVTRACE_BASE_STOP_H

#include <stdbool.h>

#include "lib/base/err.h"

enum {
    /* Signals this close together count as one: timeout(1), for example, signals its child and
     * then the child's process group. */
    STOP_TWICE_MS = 100,
    /* A patient reader of a pipe goes on this long after the first signal. */
    STOP_PATIENCE_MS = 10000
};

/* Installs handlers for SIGINT, SIGTERM and SIGHUP; a SIGHUP that is ignored, as under nohup(1),
 * stays so. The first signal asks the program to finish, the second
 * to abandon what is still under way, the third ends the process by its default action. line
 * (static text with its newline, NULL: none) is written to standard error at the first signal.
 * Ignores SIGPIPE and SIGXFSZ, so that a failed write returns EPIPE or EFBIG. Without SA_RESTART: a
 * blocking call that a signal interrupts fails with EINTR. 0 or negative errno. */
int stop_install(const char *line, struct err *e);
/* Returns the signal that came first, 0 if none came. Async-signal-safe; any thread. */
int stop_signal(void);
/* Returns whether one came: the program shall finish. Any thread. */
bool stop_asks(void);
/* Returns whether a second signal came: what is in flight shall be abandoned. Any thread. */
bool stop_abandons(void);
/* Returns whether a reader of input shall stop: after the first signal; a patient one, whose input
 * ends by itself when the programs before it in a pipeline have the signal too, after the second or
 * STOP_PATIENCE_MS after the first. Any thread. */
bool stop_ends_reading(bool patient);
/* Returns the name of that signal, "SIGINT", NULL if none came. */
const char *stop_signal_name(void);
/* Returns the exit status for that signal (129, 130, 143), or status if none came. */
int stop_exit_status(int status);

#endif
