/* thread.h - starts threads of the library and the programs. */
#ifndef KVTRACE_BASE_THREAD_H
#define KVTRACE_BASE_THREAD_H

#include <pthread.h>

/* A thread that takes no signals: those are for the program's main thread. 0 or negative errno. */
int thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

#endif
