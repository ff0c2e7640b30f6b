/* Starts the threads of the library and the programs. */
#ifndef KVTRACE_BASE_THREAD_H
#define KVTRACE_BASE_THREAD_H

#include <pthread.h>

/* Starts a thread that takes no signals; they are left to the main thread. 0 or negative errno. */
int thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

#endif
