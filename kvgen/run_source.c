/* Decides where the requests of a run come from: opens what --input names, tells what it is, and
 * opens the source for it, with the users and documents that it needs. Which options go with which
 * source is checked in options.c. */
#include "kvgen/run_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kvgen/ingest.h"
#include "kvgen/people/people.h"
#include "kvgen/record/dynamo.h"
#include "kvgen/record/graph.h"
#include "kvgen/record/recording.h"
#include "kvgen/sim/compat.h"
#include "kvgen/source/agentic.h"
#include "kvgen/source/blocks.h"
#include "kvgen/source/burst.h"
#include "kvgen/source/merged.h"
#include "kvgen/source/sharegpt.h"
#include "kvgen/source/users.h"

/* ---- what the input is ---- */

static const enum inputs_kind kind_of_source[OPTIONS_SOURCES] = {
    [OPTIONS_MOONCAKE] = INPUTS_MOONCAKE, [OPTIONS_BURST] = INPUTS_BURST,
    [OPTIONS_AZURE] = INPUTS_AZURE,       [OPTIONS_BAILIAN] = INPUTS_BAILIAN,
    [OPTIONS_LMCACHE] = INPUTS_LMCACHE,   [OPTIONS_AGENTIC] = INPUTS_AGENTIC,
    [OPTIONS_SHAREGPT] = INPUTS_SHAREGPT, [OPTIONS_DYNAMO] = INPUTS_DYNAMO,
    [OPTIONS_SATF] = INPUTS_SATF,         [OPTIONS_KV_EVENTS] = INPUTS_KV_EVENTS,
    [OPTIONS_TRTLLM] = INPUTS_TRTLLM,     [OPTIONS_DYNAMO_KV] = INPUTS_DYNAMO_KV,
    [OPTIONS_LCT] = INPUTS_LCT,           [OPTIONS_STRACE] = INPUTS_STRACE};

/* Our traces and those of other tools are one source. */
static bool is_trace(enum inputs_kind kind)
{
    return kind == INPUTS_TRACE || kind == INPUTS_FIO || kind == INPUTS_OPLOG;
}

/* Opens the files of further --input, which must be of the kind of the first one. */
static int open_others(struct run_source *r, const struct options *o, struct err *e)
{
    enum inputs_kind kind;
    int rc = 0;
    for (size_t i = 1; rc == 0 && i < o->inputs.count; i++) {
        struct inputs **other = &r->others[r->other_count];
        rc = inputs_open(other, o->inputs.item[i], e);
        if (rc < 0)
            return rc;
        r->other_count++;
        if (r->kind == INPUTS_UNKNOWN) /* --source says what all of them are */
            continue;
        rc = inputs_recognise(*other, &kind, e);
        if (rc == 0 && kind != r->kind)
            rc = err_set(e, -EINVAL, ERR_INPUT, inputs_path(*other),
                         "is not of the kind of %s, so they cannot be merged", o->input);
    }
    return rc;
}

/* Can it be read once only? Nothing is opened. */
static bool is_passing(const char *path)
{
    struct stat st;
    return strcmp(path, "-") == 0 ||
           (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

static bool has_passing(const struct options *o)
{
    bool any = options_is_live(o) || (o->input && is_passing(o->input));
    for (size_t i = 1; i < o->inputs.count; i++)
        any = any || is_passing(o->inputs.item[i]);
    return any;
}

int run_source_recognise(struct run_source *r, struct options *o, const struct opt_parser *p,
                         struct err *e)
{
    int rc = options_check_input(o, p, e);
    if (rc == 0 && o->dry_run && has_passing(o)) { /* it stays for the run */
        r->passing = true;
        return 0;
    }
    if (rc < 0 || !o->input || o->source == OPTIONS_USERS || options_is_live(o))
        return rc;
    rc = inputs_open(&r->inputs, o->input, e);
    if (rc == 0 && o->source != OPTIONS_AUTO && o->source != OPTIONS_TRACE)
        return open_others(r, o, e);
    if (rc < 0)
        return rc;
    rc = inputs_recognise(r->inputs, &r->kind, e);
    if (rc < 0)
        return rc;
    if (o->source == OPTIONS_TRACE && !is_trace(r->kind))
        return inputs_unknown(r->inputs, "a trace",
                              "kvtrace and MLPerf CSV, fio iolog, s3dlio op-log, warp benchdata",
                              e);
    if (r->kind == INPUTS_AGENTIC_ROWS)
        o->source = OPTIONS_MOONCAKE;
    for (int i = OPTIONS_MOONCAKE; o->source == OPTIONS_AUTO && i < OPTIONS_TRACE; i++)
        if (kind_of_source[i] == r->kind)
            o->source = (enum options_source)i;
    if (is_trace(r->kind))
        o->source = OPTIONS_TRACE;
    if (o->source == OPTIONS_AUTO ||
        (o->use_burst_trace && o->source != OPTIONS_BURST && o->source != OPTIONS_AZURE))
        return inputs_unknown(
            r->inputs, "an input that kvgen knows",
            o->use_burst_trace
                ? "BurstGPT CSV, Azure LLM CSV"
                : "JSON lines of Mooncake, Qwen-Bailian, LMCache and Dynamo, agentic sessions, KV "
                  "events, strace, ShareGPT conversations, CSV of BurstGPT and Azure, traces",
            e);
    return open_others(r, o, e);
}

bool run_source_repeatable(const struct run_source *r)
{
    bool all = !r->passing && (!r->inputs || inputs_repeatable(r->inputs));
    for (size_t i = 0; i < r->other_count; i++)
        all = all && inputs_repeatable(r->others[i]);
    return all;
}

int run_source_reopen(struct run_source *r, const struct options *o, enum inputs_kind kind,
                      struct err *e)
{
    const int rc = inputs_open(&r->inputs, o->input, e);
    r->kind = kind;
    return rc < 0 ? rc : open_others(r, o, e);
}

/* ---- synthetic users ---- */

static int open_users(struct run_source *r, const struct run_source_opts *q, struct err *e)
{
    const struct options *o = q->options;
    const struct workload *w = q->workload;
    if (mix_is_people(&o->mix)) {
        const struct people_opts people = {
            .mix = o->mix, .users = (uint32_t)o->users, .seed = o->seed, .midway = q->midway};
        return source_people_open(&r->source, &people, e);
    }
    int rc = o->users_file ? population_load(&r->population, o->users_file, o->users, e)
                           : population_draw(&r->population, w, o->users, o->seed, e);
    if (rc == 0 && o->dump_users && !o->dry_run)
        rc = population_save(r->population, o->dump_users, e);
    if (rc < 0)
        return rc;

    /* Without limits, time must pass between two requests of every user. */
    bool instant_answers =
        w->token_ns[o->generation_mode] == 0 && o->tier_model.count == 0 && !options_computes(o);
    bool must_think =
        o->max_requests == 0 && o->limit == 0 &&
        (o->arrival == SOURCE_USERS_OPEN || (o->arrival == SOURCE_USERS_CLOSED && instant_answers));
    for (uint32_t i = 0; must_think && i < population_count(r->population); i++) {
        size_t len;
        const char *name = population_name(r->population, i, &len);
        if (population_person(r->population, i)->think_ns == 0)
            return err_set(
                e, -EINVAL, ERR_INPUT, o->users_file ? o->users_file : "user_templates",
                "user \"%.*s\" has zero think time; the run would never end (give "
                "--max-requests, or --arrival closed with --generation-mode fast or realistic)",
                (int)len, name);
    }

    struct source_users_opts users = {
        .workload = w,
        .population = r->population,
        .seed = o->seed,
        .arrival = (enum source_users_arrival)o->arrival,
        .request_rate = o->request_rate,
        .arrival_cv = o->arrival_cv,
        .multi_turn = !o->disable_multi_turn,
        .remembered = options_compat(o)->remembers_few ? w->max_conversations : 0,
        .rag = r->rag,
        .input_tokens = (int64_t)o->input_len,
        .output_tokens = (int64_t)o->output_len};
    return source_users_open(&r->source, &users, e);
}

/* ---- files ---- */

/* The events of an engine as rows. Takes in, also on failure. */
static int open_recording(struct run_source *r, const struct run_source_opts *q, struct inputs *in,
                          struct err *e)
{
    const struct options *o = q->options;
    static const enum recording_format formats[OPTIONS_SOURCES] = {
        [OPTIONS_KV_EVENTS] = RECORDING_KV_EVENTS,
        [OPTIONS_TRTLLM] = RECORDING_TRTLLM,
        [OPTIONS_DYNAMO_KV] = RECORDING_DYNAMO_KV,
        [OPTIONS_LCT] = RECORDING_LCT,
        [OPTIONS_STRACE] = RECORDING_STRACE};
    struct recording_opts recording = {.format = formats[o->source],
                                       .record = {.names = r->names},
                                       .model = *q->model,
                                       .ranks = model_divisor(q->model),
                                       .object_bytes = o->object_bytes,
                                       .reorder_ns = o->reorder_ns,
                                       .capture = o->dry_run ? NULL : o->capture};
    struct live_opts live = {.connect = o->input,
                             .bind = o->bind,
                             .gaps = o->gap_endpoint,
                             .message_bytes = o->message_bytes,
                             .duration_ns = o->duration_ns};
    recording.live = options_is_live(o) ? &live : NULL;
    recording.goes_on = r->passing = options_is_live(o) || is_passing(o->input);
    recording.record.pairing =
        o->requests || (o->capture && o->names && recording.format == RECORDING_KV_EVENTS);
    struct import *import;
    enum inputs_kind kind = INPUTS_DYNAMO;
    int rc = media_init(&recording.record.media, &o->medium, e);
    if (rc == 0 && o->requests) {
        rc = inputs_open(&recording.requests, o->requests, e);
        if (rc == 0)
            rc = inputs_recognise(recording.requests, &kind, e);
        if (rc == 0 && kind != INPUTS_DYNAMO)
            rc = err_set(e, -EINVAL, ERR_INPUT, o->requests,
                         "no request trace of Dynamo: only its hashes mean the same as those of "
                         "events");
        if (rc < 0)
            inputs_close(recording.requests);
    }
    if (rc < 0) {
        inputs_close(in);
        return rc;
    }
    rc = recording_open(&import, in, &recording, e);
    if (rc == 0)
        rc = trace_input_of_import(&r->trace, import, e);
    r->source = rc == 0 ? trace_input_source(r->trace) : NULL;
    return rc;
}

/* Whether the inputs can be merged: their requests have times and wait for none. */
static bool is_timed(const struct run_source *r, const struct options *o, struct err *e)
{
    bool timed = options_has_times(o);
    enum inputs_kind kind = INPUTS_UNKNOWN;
    for (size_t i = 0; o->source == OPTIONS_MOONCAKE && i <= r->other_count; i++) {
        struct inputs *in = i == 0 ? r->inputs : r->others[i - 1];
        if (inputs_recognise(in, &kind, e) < 0)
            return false;
        timed = timed && kind != INPUTS_AGENTIC_ROWS;
    }
    if (!timed)
        err_set(e, -EINVAL, ERR_INPUT, "--input",
                "only requests of Mooncake, Qwen-Bailian, LMCache, BurstGPT, Azure and Dynamo are "
                "merged by time; a folder or a pattern reads files one after the other");
    return timed;
}

/* One input of requests that have times and are independent of each other. Takes in, also on
 * failure. */
static int open_timed(struct source **out, struct inputs *in, const struct run_source_opts *q,
                      const struct file_source_opts *files, uint64_t seed, struct err *e)
{
    const struct options *o = q->options;
    if (o->source == OPTIONS_BURST || o->source == OPTIONS_AZURE) {
        struct source_burst_opts burst = {.workload = q->workload,
                                          .kind = kind_of_source[o->source],
                                          .files = *files,
                                          .seed = seed,
                                          .qos =
                                              o->qos_given ? (enum trace_qos)o->qos : TRACE_NO_QOS};
        return source_burst_open(out, in, &burst, e);
    }
    struct source_blocks_opts blocks = {
        .kind = kind_of_source[o->source], .files = *files, .qos = (enum trace_qos)o->qos};
    return source_blocks_open(out, in, &blocks, e);
}

/* Several inputs. Takes them, also on failure. */
static int open_merged(struct run_source *r, const struct run_source_opts *q, struct inputs *in,
                       const struct file_source_opts *files, struct err *e)
{
    const struct options *o = q->options;
    struct file_source_opts its = *files;
    struct source_merged_opts merged = {
        .files = *files, .apart = o->source == OPTIONS_MOONCAKE || o->source == OPTIONS_BAILIAN};
    size_t count = r->other_count + 1, opened = 0;
    struct source **part = calloc(count, sizeof(*part));
    int rc = part ? 0 : err_nomem(e, "source");
    its.speedup = 1;
    its.max_gap_ns = 0;
    its.clients = 0;
    for (size_t i = 0; i < count; i++) {
        struct inputs *next = i == 0 ? in : r->others[i - 1];
        if (rc == 0)
            rc = open_timed(&part[i], next, q, &its, o->seed + i, e);
        else
            inputs_close(next);
        opened += rc == 0;
    }
    r->other_count = 0;
    if (rc == 0)
        return source_merged_open(&r->source, part, count, &merged, e);
    for (size_t i = 0; i < opened; i++)
        part[i]->ops->close(part[i]);
    free(part);
    return rc;
}

/* Each function below takes ownership of in, also on failure. */

/* Appends the further files to the first. */
static int join_inputs(struct run_source *r, struct inputs *in, struct err *e)
{
    int joined = 0; /* files need no order: requests of Dynamo are sorted by time */
    for (size_t i = 0; i < r->other_count; i++)
        if (joined == 0)
            joined = inputs_append(in, r->others[i], e);
        else
            inputs_close(r->others[i]);
    r->other_count = 0;
    if (joined < 0)
        inputs_close(in);
    return joined;
}

static int open_trace(struct run_source *r, const struct options *o, struct inputs *in,
                      struct err *e)
{
    int rc;
    if (options_redoes(o)) {
        rc = trace_requests_open(&r->redone, in, r->kind, e);
        r->source = rc == 0 ? trace_requests_source(r->redone) : NULL;
        return rc;
    }
    rc = trace_input_open(&r->trace, in, r->kind, e);
    r->source = rc == 0 ? trace_input_source(r->trace) : NULL;
    return rc;
}

static int open_dataset(struct run_source *r, const struct run_source_opts *q,
                        const struct file_source_opts *files, struct inputs *in, struct err *e)
{
    const struct options *o = q->options;
    struct source_sharegpt_opts dataset = {
        .workload = q->workload,
        .chars_per_token =
            o->chars_per_token > 0 ? o->chars_per_token : q->workload->dataset_chars_per_token,
        .request_rate = o->request_rate,
        .max_conversations = o->max_conversations,
        .files = *files,
        .speedup_given = opt_given(q->parser, "speed"),
        .seed = o->seed,
        .users = (uint32_t)o->users,
        .qos = o->qos_given ? (enum trace_qos)o->qos : TRACE_NO_QOS,
        .back_to_back = options_compat(o)->asks_back_to_back};
    return source_sharegpt_open(&r->source, in, &dataset, e);
}

/* A file of Mooncake may hold independent requests (blocks), or turns of agents (a graph). */
static int open_blocks_or_graph(struct run_source *r, const struct options *o,
                                const struct file_source_opts *files, struct inputs *in,
                                struct err *e)
{
    struct source_graph_opts graph = {
        .kind = kind_of_source[o->source], .files = *files, .qos = (enum trace_qos)o->qos};
    struct source_blocks_opts rows = {
        .kind = graph.kind, .files = *files, .qos = (enum trace_qos)o->qos};
    enum inputs_kind kind = graph.kind;
    if (kind == INPUTS_MOONCAKE && inputs_recognise(in, &kind, e) < 0) {
        inputs_close(in);
        return e->code;
    }
    if (kind == INPUTS_AGENTIC_ROWS)
        graph.kind = kind;
    const char *alone = o->clients > 0 ? "--clients" : o->answer ? "--answer" : NULL;
    if (kind == INPUTS_AGENTIC_ROWS && alone) {
        inputs_close(in);
        return err_set(e, -EINVAL, ERR_INPUT, alone,
                       "does not apply to turns of agents, which wait for each other");
    }
    return graph.kind == INPUTS_MOONCAKE ? source_blocks_open(&r->source, in, &rows, e)
                                         : source_graph_open(&r->source, in, &graph, e);
}

static int open_file_source(struct run_source *r, const struct run_source_opts *q, struct err *e)
{
    const struct options *o = q->options;
    struct inputs *in = r->inputs;
    struct file_source_opts files = {.speedup = o->speed,
                                     .cycles = o->replay_cycles,
                                     .counted = o->max_requests != 0 || o->limit != 0,
                                     .memory_bytes = o->input_memory,
                                     .unit = o->time_unit,
                                     .sample = o->sample,
                                     .max_gap_ns = o->max_gap_ns,
                                     .clients = o->clients,
                                     .parser = q->parser,
                                     .max_context = (int64_t)o->max_context,
                                     .block_tokens = (int64_t)o->block_size};
    int rc = 0;
    if (files.cycles != 1 && !inputs_repeatable(in))
        return err_set(e, -ESPIPE, ERR_INPUT, "--replay-cycles", "%s can be read only once",
                       strcmp(o->input, "-") == 0 ? "standard input" : o->input);
    if (options_is_recording(o) || o->source == OPTIONS_DYNAMO) {
        rc = names_init(&r->names, o->names, e);
        if (rc < 0)
            return rc;
    }
    if (r->other_count > 0 && !is_timed(r, o, e))
        return -EINVAL;
    r->inputs = NULL;
    if (r->other_count > 0 && o->source != OPTIONS_DYNAMO)
        return open_merged(r, q, in, &files, e);
    rc = join_inputs(r, in, e);
    if (rc < 0)
        return rc;
    switch (o->source) {
    case OPTIONS_TRACE:
        return open_trace(r, o, in, e);
    case OPTIONS_AGENTIC: {
        struct source_agentic_opts agentic = {
            .files = files, .users = (uint32_t)o->users, .qos = (enum trace_qos)o->qos};
        return source_agentic_open(&r->source, in, &agentic, e);
    }
    case OPTIONS_SHAREGPT:
        return open_dataset(r, q, &files, in, e);
    case OPTIONS_DYNAMO: {
        struct source_dynamo_opts dynamo = {
            .files = files, .names = &r->names, .qos = (enum trace_qos)o->qos};
        return source_dynamo_open(&r->source, in, &dynamo, e);
    }
    case OPTIONS_MOONCAKE:
    case OPTIONS_SATF:
        return open_blocks_or_graph(r, o, &files, in, e);
    case OPTIONS_KV_EVENTS:
    case OPTIONS_TRTLLM:
    case OPTIONS_DYNAMO_KV:
    case OPTIONS_LCT:
    case OPTIONS_STRACE:
        return open_recording(r, q, in, e);
    default:
        return open_timed(&r->source, in, q, &files, o->seed, e);
    }
}

int run_source_open(struct run_source *r, const struct run_source_opts *q, struct err *e)
{
    const struct options *o = q->options;
    if (o->enable_rag) {
        struct rag_opts rag = {.workload = &q->workload->rag,
                               .model = q->model,
                               .documents = o->rag_num_docs,
                               .seed = o->seed};
        int rc = rag_create(&r->rag, &rag, e);
        if (rc < 0)
            return rc;
        if (o->rag_ingest == OPTIONS_RAG_TIMED && rag_oldest(r->rag) > 0)
            return err_set(e, -EINVAL, ERR_INPUT, "--rag-ingest timed",
                           "documents are dropped only before the first request; "
                           "rag.max_documents must be 0 or no less than --rag-num-docs");
    }
    int rc = o->source == OPTIONS_USERS ? open_users(r, q, e) : open_file_source(r, q, e);
    if (rc == 0 && r->rag && o->rag_ingest == OPTIONS_RAG_TIMED)
        rc = source_ingest_open(&r->source, r->rag, o->duration_ns, e);
    return rc;
}

void run_source_close(struct run_source *r)
{
    if (r->source)
        r->source->ops->close(r->source);
    inputs_close(r->inputs);
    for (size_t i = 0; i < r->other_count; i++)
        inputs_close(r->others[i]);
    population_free(r->population);
    rag_free(r->rag);
}
