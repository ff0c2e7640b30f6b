/* thread_numbers.h - which of a client's threads an operation is of: the lowest that is free when
 * it starts, so that their number is that of the operations in flight. */
#ifndef KVGEN_FORMAT_THREAD_NUMBERS_H
#define KVGEN_FORMAT_THREAD_NUMBERS_H

#include <stdint.h>

struct thread_numbers;

struct thread_numbers *thread_numbers_create(void); /* NULL: no memory */
void thread_numbers_free(struct thread_numbers *c);
/* The thread (from 0) of an operation from start_ns to end_ns; starts never go back. A thread is
 * free again at the end of its operation. 0 or -ENOMEM. */
int thread_numbers_take(struct thread_numbers *c, int64_t start_ns, int64_t end_ns,
                        unsigned *thread);

#endif
