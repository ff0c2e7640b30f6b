/* queue.h - requests that wait for a worker: by priority, then by arrival. Where storage may be
 * slow, every tenth goes to the class that has waited longest (queue_take_turns). */
#ifndef KVGEN_SIM_QUEUE_H
#define KVGEN_SIM_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/source/request.h"
#include "lib/trace/trace.h"

struct queue;

/* priority[q] is that of requests of class q (enum trace_qos); the highest goes first. NULL: no
 * memory. */
struct queue *queue_create(const int64_t priority[TRACE_QOSES]);
void queue_free(struct queue *q);
/* From now on every tenth request that is taken is of the class whose first request arrived first,
 * so that none starves; of several the one with the lowest priority. kvreplay --config admit=qos
 * does so, too.
 */
void queue_take_turns(struct queue *q);
/* Adds a copy behind the requests of its class. 0 or -ENOMEM. */
int queue_push(struct queue *q, const struct request *r);
/* Takes the next request out; false: the queue is empty. */
bool queue_pop(struct queue *q, struct request *out);
uint64_t queue_length(const struct queue *q);
/* Bytes of the packed requests. They grow with their number, some 14 bytes each. */
uint64_t queue_bytes(const struct queue *q);

#endif
