/* client_threads.h - which of a client's threads an operation is of: the lowest that is free when
 * it starts, so that their number is that of the operations in flight. */
#ifndef KVGEN_FORMAT_CLIENT_THREADS_H
#define KVGEN_FORMAT_CLIENT_THREADS_H

#include <stdint.h>

struct client_threads;

struct client_threads *client_threads_create(void); /* NULL: no memory */
void client_threads_free(struct client_threads *c);
/* The thread (from 0) of an operation from start_ns to end_ns; starts never go back. A thread is
 * free again at the end of its operation. 0 or -ENOMEM. */
int client_threads_take(struct client_threads *c, int64_t start_ns, int64_t end_ns,
                        unsigned *thread);

#endif
