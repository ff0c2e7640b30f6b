/* queue.h - requests waiting for a worker: by priority, then by arrival. */
#ifndef KVGEN_SIM_QUEUE_H
#define KVGEN_SIM_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/source/request.h"

struct queue;

/* priority[q]: of requests of enum trace_qos q; higher goes first. NULL: no memory. */
struct queue *queue_create(const int64_t priority[3]);
void queue_free(struct queue *q);
/* Adds a copy behind those of its priority; 0 or -ENOMEM. */
int queue_push(struct queue *q, const struct request *r);
/* The next one out; false: empty. */
bool queue_pop(struct queue *q, struct request *out);
uint64_t queue_length(const struct queue *q);

#endif
