/* Every thread but the main one starts here, with all signals blocked: only the main thread takes
 * signals, because it is the one that stops a run in order. */
#include "lib/base/thread.h"

#include <signal.h>

int thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -rc;
}
