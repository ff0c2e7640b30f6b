/* thread_numbers.h - numbers of threads for operations that overlap: each operation gets the lowest
 * number that is free when it starts. So there are as many numbers as operations in flight. */
#ifndef KVGEN_FORMAT_THREAD_NUMBERS_H
#define KVGEN_FORMAT_THREAD_NUMBERS_H

#include <stdint.h>

struct thread_numbers;

struct thread_numbers *thread_numbers_create(void); /* NULL: no memory */
void thread_numbers_free(struct thread_numbers *t); /* NULL is fine */
/* The number (from 0) of an operation from start_ns to end_ns, at which it is free again. Starts
 * must not go back. 0 or -ENOMEM. */
int thread_numbers_take(struct thread_numbers *t, int64_t start_ns, int64_t end_ns,
                        unsigned *thread);

#endif
