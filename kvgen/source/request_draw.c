/* request_draw.c - random properties of requests that come from datasets and traces of arrivals. */
#include "kvgen/source/request_draw.h"

#include "lib/trace/trace.h"

void request_draw(struct request *r, struct rng *rng, const struct workload *w, int qos)
{
    double u = rng_unit(rng);
    r->qos = u < w->interactive        ? TRACE_INTERACTIVE
             : u < w->responsive_below ? TRACE_RESPONSIVE
                                       : TRACE_BATCH;
    if (qos >= 0)
        r->qos = (uint8_t)qos;
    r->prompt = -1;
    if (rng_chance(rng, w->prompt_chance) && w->prompts > 0)
        r->prompt = (int32_t)rng_below(rng, w->prompts);
}
