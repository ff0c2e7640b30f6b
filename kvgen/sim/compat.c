/* The behaviours that --compat mlperf asks for, one by one. They are read in options.c (defaults),
 * run_source.c (the order of requests), serve.c (what a request does), cache.c (races of writers),
 * sim.c (the end of the run) and kvgen.c (which rows are written). kvgen(1) has this table for
 * users. */
#include "kvgen/sim/compat.h"

const struct compat compat_none = {0};

static const struct compat_default mlperf_defaults[] = {
    /* Users do not wait for answers. */
    {"arrival", "open"},
    /* A request reads its object again for every 32 tokens that it generates. */
    {"decode-reads", "batch"},
    {0},
};

const struct compat compat_mlperf = {
    .defaults = mlperf_defaults,
    /* All turns of a dataset's conversation are asked at once, then those of another one. As
     * documented a turn waits for the answer to the one before it. */
    .asks_back_to_back = true,
    /* The other turns of a user's conversation are known only while it is among the last ones used
     * (conversation.max_conversations). */
    .remembers_few = true,
    /* A deletion in the last tier is no row, unless --ops asks for it. */
    .deletes_silently = true,
    /* A shared system prompt is looked up and never written, so that each lookup is a miss. It only
     * makes the rest of the request shorter. */
    .prompt_never_written = true,
    /* RAG queries and requests of a decode node look prompts up, too. As documented they do not:
     * they write nothing that starts with a prompt. */
    .prompt_everywhere = true,
    /* A request looks up all other turns of its conversation that were asked so far, not only the
     * earlier ones. Later turns still wait in the queue, so that these lookups miss. */
    .all_other_turns = true,
    /* A RAG query reads or writes one object as large as its chunks, not the chunks. It takes the
     * same steps as other requests. */
    .query_is_one_object = true,
    /* A decode read that misses writes the object, and no decode read follows. As documented the
     * reads that are left hit what was written. */
    .fill_ends_decode = true,
    /* A request with SIM_PREFILL_ONLY_TOKENS or more does nothing on a decode node. As documented
     * it decodes there, for another node has prefilled it. */
    .long_context_never_decodes = true,
    /* At the end of --duration the workers finish the requests that they have. As documented the
     * run is cut there. */
    .finishes_jobs = true,
    /* A worker always takes the request with the highest priority. As documented every tenth is of
     * the class that has waited longest, where tiers take time. */
    .priority_only = true,
    /* Its workers make room side by side without a lock around the whole: two that do so at once
     * choose the same victims, and both reserve room for them one tier down. That tier then looks
     * fuller than it is until it is empty (hierarchy_race). What one of them still writes has its
     * space, but is not in the other's list of objects: to a large object the tier looks emptier
     * than it is, so that it goes one tier further down. 0.3 ms is how long one write is under way
     * there: in a measured run, the median from a request's submission to its first row. For the
     * reservations the exact time hardly matters: those that nobody uses grow until the tier is
     * empty, and then begin at zero again. Large objects pass by a tier in proportion to it. */
    .race_ns = 300000,
};
