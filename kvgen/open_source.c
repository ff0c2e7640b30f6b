/* open_source.c - where the requests of a run come from: opens what --input names, finds out what
 * it is, and opens the source for it, with the users and documents that some sources need. */
#include "kvgen/open_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/source/agentic.h"
#include "kvgen/source/blocks.h"
#include "kvgen/source/burst.h"
#include "kvgen/source/sharegpt.h"
#include "kvgen/source/users.h"

/* Does nothing pass for a user who does not think? */
static bool time_stands_still(const struct requests_opts *q)
{
    const struct options *o = q->options;
    if (o->max_requests > 0 || o->limit > 0 || o->arrival == SOURCE_USERS_POISSON)
        return false;
    return o->arrival == SOURCE_USERS_OPEN ||
           (q->workload->token_ns[o->generation_mode] == 0 && o->tier_model.count == 0);
}

static int check_thinking(const struct population *p, const struct requests_opts *q, struct err *e)
{
    const char *file = q->options->users_file;
    for (uint32_t i = 0; time_stands_still(q) && i < population_count(p); i++) {
        size_t len;
        const char *name = population_name(p, i, &len);
        if (population_person(p, i)->think_ns == 0)
            return err_set(e, -EINVAL, ERR_INPUT, file != NULL ? file : "user_templates",
                           "user \"%.*s\" does not think: without time between requests they "
                           "never end (--max-requests, --arrival)",
                           (int)len, name);
    }
    return 0;
}

static int open_users(struct requests *r, const struct requests_opts *q, struct err *e)
{
    const struct options *o = q->options;
    int rc = o->users_file != NULL
                 ? population_load(&r->population, o->users_file, o->num_users, e)
                 : population_draw(&r->population, q->workload, o->num_users, o->seed, e);
    if (rc == 0 && o->dump_users != NULL)
        rc = population_save(r->population, o->dump_users, e);
    if (rc == 0)
        rc = check_thinking(r->population, q, e);
    if (rc < 0)
        return rc;
    struct source_users_opts users = {.workload = q->workload,
                                      .population = r->population,
                                      .seed = o->seed,
                                      .arrival = (enum source_users_arrival)o->arrival,
                                      .request_rate = o->request_rate,
                                      .multi_turn = !o->disable_multi_turn,
                                      .remembered =
                                          options_is_mlperf(o) ? q->workload->max_conversations : 0,
                                      .rag = r->rag,
                                      .input_tokens = (int64_t)o->input_len,
                                      .output_tokens = (int64_t)o->output_len};
    return source_users_open(&r->source, &users, e);
}

static const enum inputs_kind kind_of_source[OPTIONS_SOURCES] = {
    [OPTIONS_MOONCAKE] = INPUTS_MOONCAKE, [OPTIONS_BURST] = INPUTS_BURST,
    [OPTIONS_AZURE] = INPUTS_AZURE,       [OPTIONS_BAILIAN] = INPUTS_BAILIAN,
    [OPTIONS_LMCACHE] = INPUTS_LMCACHE,   [OPTIONS_AGENTIC] = INPUTS_AGENTIC,
    [OPTIONS_SHAREGPT] = INPUTS_SHAREGPT};

/* Traces, ours and others', are one source: each reader finds out what it is given. */
static bool is_trace(enum inputs_kind kind)
{
    return kind == INPUTS_TRACE || kind == INPUTS_FIO || kind == INPUTS_OPLOG;
}

static bool is_arrivals(const struct options *o)
{
    return o->source == OPTIONS_BURST || o->source == OPTIONS_AZURE;
}

int requests_open_inputs(struct requests *r, struct options *o, const struct opt_parser *p,
                         struct err *e)
{
    int rc = options_check_input(o, p, e);
    if (rc < 0 || o->input == NULL || o->source == OPTIONS_USERS)
        return rc;
    rc = inputs_open(&r->inputs, o->input, e);
    if (rc < 0 || (o->source != OPTIONS_AUTO && o->source != OPTIONS_TRACE))
        return rc;
    rc = inputs_recognise(r->inputs, &r->kind, e);
    if (rc == 0 && o->source == OPTIONS_TRACE && !is_trace(r->kind))
        rc = err_set(e, -EINVAL, ERR_INPUT, o->input,
                     "not a trace (known: kvtrace and MLPerf CSV, fio iolog, s3dlio op-log, warp "
                     "benchdata)");
    for (int i = OPTIONS_MOONCAKE; rc == 0 && o->source == OPTIONS_AUTO && i < OPTIONS_TRACE; i++)
        if (kind_of_source[i] == r->kind)
            o->source = (enum options_source)i;
    if (rc == 0 && is_trace(r->kind))
        o->source = OPTIONS_TRACE;
    if (rc == 0 && (o->source == OPTIONS_AUTO || (o->use_burst_trace && !is_arrivals(o))))
        rc = err_set(e, -EINVAL, ERR_INPUT, o->input, "not an input that kvgen knows (%s)",
                     o->use_burst_trace
                         ? "wanted: BurstGPT CSV, Azure LLM CSV"
                         : "known: JSON lines of Mooncake, Qwen-Bailian and LMCache, agentic "
                           "sessions, ShareGPT conversations, CSV of BurstGPT and Azure, traces");
    return rc;
}

static int open_dataset(struct requests *r, const struct requests_opts *q, struct inputs *in,
                        struct err *e)
{
    const struct options *o = q->options;
    struct source_sharegpt_opts dataset = {
        .workload = q->workload,
        .chars_per_token =
            o->chars_per_token > 0 ? o->chars_per_token : q->workload->dataset_chars_per_token,
        .request_rate = o->request_rate,
        .max_conversations = o->max_conversations,
        .pace = {.speedup = o->trace_speedup, .cycles = o->replay_cycles},
        .speedup_given = opt_given(q->parser, "trace-speedup"),
        .seed = o->seed,
        .users = (uint32_t)o->num_users,
        .qos = o->qos_given ? o->qos : -1};
    return source_sharegpt_open(&r->source, in, &dataset, e);
}

static int open_file_source(struct requests *r, const struct requests_opts *q, struct err *e)
{
    const struct options *o = q->options;
    struct inputs *in = r->inputs;
    struct pace_opts pace = {.speedup = o->trace_speedup, .cycles = o->replay_cycles};
    if (pace.cycles != 1 && !inputs_repeatable(in))
        return err_set(e, -ESPIPE, ERR_INPUT, "--replay-cycles", "%s can be read only once",
                       strcmp(o->input, "-") == 0 ? "standard input" : o->input);
    r->inputs = NULL; /* the source takes it */
    if (o->source == OPTIONS_TRACE) {
        int rc = trace_input_open(&r->trace, in, r->kind, e);
        r->source = rc == 0 ? trace_input_source(r->trace) : NULL;
        return rc;
    }
    if (o->source == OPTIONS_AGENTIC) {
        struct source_agentic_opts agentic = {
            .pace = pace, .users = (uint32_t)o->num_users, .qos = (enum trace_qos)o->qos};
        return source_agentic_open(&r->source, in, &agentic, e);
    }
    if (o->source == OPTIONS_SHAREGPT)
        return open_dataset(r, q, in, e);
    if (!is_arrivals(o))
        return source_blocks_open(&r->source, in, kind_of_source[o->source], &pace,
                                  (enum trace_qos)o->qos, e);
    struct source_burst_opts burst = {.workload = q->workload,
                                      .kind = kind_of_source[o->source],
                                      .pace = pace,
                                      .seed = o->seed,
                                      .qos = o->qos_given ? o->qos : -1};
    return source_burst_open(&r->source, in, &burst, e);
}

int requests_open(struct requests *r, const struct requests_opts *q, struct err *e)
{
    const struct options *o = q->options;
    int rc = 0;
    if (o->enable_rag)
        rc = rag_create(&r->rag, &q->workload->rag, q->model, o->rag_num_docs, o->seed, e);
    if (rc < 0)
        return rc;
    return o->source == OPTIONS_USERS ? open_users(r, q, e) : open_file_source(r, q, e);
}

void requests_release(struct requests *r)
{
    if (r->source != NULL)
        r->source->ops->close(r->source);
    inputs_close(r->inputs);
    population_free(r->population);
    rag_free(r->rag);
}
