/* request_draw.h - what a trace does not say of a request: how urgent it is, and which shared
 * system prompt it begins with. */
#ifndef KVGEN_SOURCE_REQUEST_DRAW_H
#define KVGEN_SOURCE_REQUEST_DRAW_H

#include "kvgen/rng.h"
#include "kvgen/source/request.h"
#include "kvgen/workload.h"

/* Sets r->qos (to qos, or drawn when that is negative) and r->prompt. Always draws as often. */
void request_draw(struct request *r, struct rng *rng, const struct workload *w, int qos);

#endif
