/* Starts the threads of the library and the programs. */
#ifndef KVTRACE_BASE_THREAD_H
#define KVTRACE_BASE_THREAD_H

#include <pthread.h>
#include <sched.h>

/* Starts a thread that takes no signals; they are left to the main thread. 0 or negative errno. */
int thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

/* Moves the calling thread, and with it those that it starts from now on, to the processors of a
 * NUMA node, as far as it may use them. *before: where it was. 0; negative errno, with nothing
 * changed: the node is not known, or it has no processor for us. sysfs: "/sys". */
int thread_enter_node(const char *sysfs, int node, cpu_set_t *before);
/* Moves it back; threads that were started meanwhile stay. */
void thread_leave_node(const cpu_set_t *before);

#endif
