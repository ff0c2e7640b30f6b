/* Starts the threads of the library and the programs. */
#ifndef KVTRACE_THREAD_THREAD_H
#define KVTRACE_THREAD_THREAD_H

#include <pthread.h>
#include <sched.h>

#include "lib/base/err.h"

/* Starts a thread that takes no signals; they are left to the main thread. 0 or negative errno. */
int thread_start(pthread_t *thread, void *(*run)(void *), void *arg);
/* Says that thread_start ended with rc, and which limit or sandbox refuses a thread. format: what
 * cannot be started, "a writer thread". Returns rc. */
int thread_refused(struct err *e, int rc, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Whether a thread can be started, before a library starts one, which would end the program
 * (libzmq) or say something else (libcurl). 0, or as thread_refused of what. */
int thread_try(struct err *e, const char *what);

/* Moves the calling thread, and with it those that it starts from now on, to the processors of a
 * NUMA node, as far as it may use them. *before: where it was. 0; negative errno, with nothing
 * changed: the node is not known, or it has no processor for us. sysfs: "/sys". */
int thread_enter_node(const char *sysfs, int node, cpu_set_t *before);
/* Moves it back; threads that were started meanwhile stay. */
void thread_leave_node(const cpu_set_t *before);

#endif
