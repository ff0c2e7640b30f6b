/* decisions.h - writes down what scheduler and cache of an engine say in a step, under the names
 * that blocks have for people: h<id> (a block of an input's id), h<id>.<part> (of an id that spans
 * several blocks), r<request>.b<block> (all others, after the first request that has it), with
 * @g<group> where there are several groups of layers. Whoever listens to scheduler and cache calls
 * it in the order of what happens; between two clears it is one line. One thread. */
#ifndef KVGEN_SERVE_DECISIONS_H
#define KVGEN_SERVE_DECISIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/cache/cache.h"
#include "kvgen/serve/decision_line.h"
#include "kvgen/serve/scheduler.h"

struct decisions_opts {
    uint64_t block_tokens;
    uint32_t groups; /* of layers, at least 1 */
    bool compact;    /* counts in place of names, and decodes apart */
    bool connected;  /* something lies below the GPU */
};

/* The names of a request's blocks: ids of its source, that many tokens each. count 0: none has an
 * id. Lent for the call. */
struct decisions_ids {
    const uint64_t *id;
    uint64_t count, tokens;
};

struct decisions;

struct decisions *decisions_create(const struct decisions_opts *o); /* NULL: no memory */
void decisions_free(struct decisions *d);                           /* takes NULL */

/* Names the blocks of a request that have no name yet; its number is set. 24 bytes a block stay
 * taken. 0 or -ENOMEM. */
int decisions_name(struct decisions *d, const struct kv_request *r,
                   const struct decisions_ids *ids);
void decisions_arrived(struct decisions *d, const struct kv_request *r);

/* Events of the cache, as kv_listener has them. */
void decisions_event(struct decisions *d, const struct kv_event *e);
void decisions_transfer(struct decisions *d, const struct kv_transfer *t);
void decisions_flush(struct decisions *d, uint64_t id);
/* A transfer is reported done (with the GPU), or seen as done (below it); then the cache hears it.
 */
void decisions_transfer_done(struct decisions *d, uint64_t id);
void decisions_transfer_over(struct decisions *d, uint64_t id);

/* Events of the scheduler, as scheduler_listener has them. room_free: of the cache, now. */
void decisions_looked_up(struct decisions *d, const struct serve_request *r, enum kv_look answer,
                         const struct kv_found *found);
void decisions_admitted(struct decisions *d, const struct serve_request *r,
                        enum admission_kind kind, const struct kv_found *found);
void decisions_refused(struct decisions *d, const struct serve_request *r, bool running,
                       uint64_t room_free);
void decisions_preempted(struct decisions *d, const struct serve_request *r);
void decisions_output(struct decisions *d, const struct serve_request *r);

/* The step is decided. */
void decisions_step(struct decisions *d, const struct step *step, const struct scheduler *s,
                    uint64_t room_free);
/* The step is over. below: vLLM's tiers below its GPU, whose chunks are counted; NULL: there are
 * none. */
void decisions_end(struct decisions *d, const struct kv_below *below, uint64_t room_free);
/* The line so far, lent. Clear it after each step. */
struct decision_line *decisions_line(struct decisions *d);
/* Its keys that are one value: see decision_line_text. */
uint64_t decisions_lone(const struct decisions *d);
bool decisions_failed(const struct decisions *d); /* no memory: what was written is not whole */

#endif
