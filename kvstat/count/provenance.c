/* Reads the JSON that comes with the rows: provenance and summary frames, or --run FILE. Every
 * member is optional, since other programs and older versions write fewer. */
#include "kvstat/count/provenance.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/run_keys.h"
#include "lib/facts/runs.h"
#include "lib/json/jsonin.h"
#include "lib/ranks/part.h"

#define SUMMARY_BYTES_MAX ((size_t)64 << 20)
#define REASONS_MAX       64

/* The value at the first of the NULL-terminated paths that exists. */
static const struct jsonin_v *first_of(const struct jsonin_v *root, const char *const *paths)
{
    const struct jsonin_v *v = NULL;
    for (; !v && *paths; paths++)
        v = jsonin_get(root, *paths);
    return v;
}

#define PATHS(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

static void take_i64(int64_t *out, const struct jsonin_v *root, const char *const *paths)
{
    int64_t v;
    if (*out < 0 && jsonin_i64(first_of(root, paths), &v) == 0)
        *out = v;
}

/* The result has no rows of what --only-tier and the like left out. */
static void take_result_rows(int64_t *out, const struct jsonin_v *root)
{
    int64_t total = -1, left_out = -1;

    take_i64(&total, root, PATHS("rows.total"));
    take_i64(&left_out, root, PATHS("rows.skipped"));
    if (*out < 0 && total >= 0)
        *out = left_out > 0 && left_out <= total ? total - left_out : total;
}

static void take_f64(double *out, const struct jsonin_v *root, const char *path)
{
    double v;
    if (isnan(*out) && jsonin_f64(jsonin_get(root, path), &v) == 0)
        *out = v;
}

static void take_text(char *out, size_t n, const struct jsonin_v *root, const char *const *paths)
{
    const char *text = jsonin_text(first_of(root, paths), NULL);
    if (out[0] || !text)
        return;
    snprintf(out, n, "%s", text);
    err_make_harmless(out);
}

static void take_list(struct notes *out, const struct jsonin_v *list)
{
    for (size_t i = 0; out->count == i && i < jsonin_count(list) && i < NOTES_MAX; i++) {
        const char *text = jsonin_text(jsonin_at(list, i), NULL);
        char copy[NOTES_CAP];
        snprintf(copy, sizeof(copy), "%s", text ? text : "");
        err_make_harmless(copy);
        notes_add(out, "%s", copy);
    }
}

static void take_answer(enum provenance_answer *out, const struct jsonin_v *v)
{
    bool yes;
    if (*out == PROVENANCE_UNKNOWN && jsonin_bool(v, &yes) == 0)
        *out = yes ? PROVENANCE_YES : PROVENANCE_NO;
}

/* Adds the summed time of a part of the device time of reads and writes. */
static void take_storage_part(double *sum_ns, const struct jsonin_v *tier, const char *part)
{
    static const char *const directions[] = {"read", "write"};
    for (size_t d = 0; d < 2; d++) {
        char mean_path[64], count_path[64];
        double mean_us, count;
        snprintf(mean_path, sizeof(mean_path), "%s.%s.mean", directions[d], part);
        snprintf(count_path, sizeof(count_path), "%s.%s.count", directions[d], part);
        if (jsonin_f64(jsonin_get(tier, mean_path), &mean_us) == 0 &&
            jsonin_f64(jsonin_get(tier, count_path), &count) == 0 && mean_us >= 0 && count >= 0)
            *sum_ns = (isnan(*sum_ns) ? 0 : *sum_ns) + 1e3 * mean_us * count;
    }
}

static void take_storage_parts(struct provenance *p, const struct jsonin_v *tier)
{
    static const char *const parts[] = {"meta_us", "io_us", "flush_us"};
    if (!isnan(p->storage_parts_ns[0]))
        return;
    for (size_t i = 0; i < 3; i++)
        take_storage_part(&p->storage_parts_ns[i], tier, parts[i]);
    /* Storage that never flushes has no such times. */
    if (!isnan(p->storage_parts_ns[0]) && isnan(p->storage_parts_ns[2]))
        p->storage_parts_ns[2] = 0;
}

static bool is_text(const struct jsonin_v *v, const char *text)
{
    const char *value = jsonin_text(v, NULL);
    return value && strcmp(value, text) == 0;
}

static void take_tiers(struct provenance *p, const struct jsonin_v *tiers)
{
    for (size_t i = 0; i < jsonin_count(tiers); i++) {
        const struct jsonin_v *v = jsonin_at(tiers, i);
        const char *name = jsonin_text(jsonin_get(v, "tier"), NULL);
        for (unsigned t = 0; name && t < TRACE_TIERS; t++)
            if (strcmp(name, trace_tier_text(t)) == 0) {
                take_i64(&p->capacity_bytes[t], v, PATHS("capacity_bytes"));
                take_answer(&p->simulated[t], jsonin_get(v, "simulated"));
                p->empty[t] |= is_text(jsonin_get(v, "engine"), "null");
                if (t != TRACE_STORAGE)
                    continue;
                take_storage_parts(p, v);
                take_text(p->device, sizeof(p->device), v, PATHS("device"));
                take_text(p->engine, sizeof(p->engine), v, PATHS("engine"));
                take_text(p->target, sizeof(p->target), v, PATHS("target"));
                take_list(&p->flags, jsonin_get(v, "flags"));
                take_list(&p->fallbacks, jsonin_get(v, "fallbacks"));
            }
    }
}

/* The place that a state of the summary is of; without a tier and an operation it is of all. -1:
 * there is no such place. */
static int place_of(const char *tier, const char *op)
{
    if (!tier && !op)
        return VALIDITY_EVERYWHERE;
    for (int place = 1; tier && op && place < VALIDITY_PLACES; place++)
        if (strcmp(tier, validity_place_tier((unsigned)place)) == 0 &&
            strcmp(op, validity_place_op((unsigned)place)) == 0)
            return place;
    return -1;
}

static bool is_kind(const char *figures, enum validity_kind kind)
{
    return strcmp(figures, "all") == 0 || strcmp(figures, validity_kind_word(kind)) == 0;
}

/* The states of all kinds of figures. A kind that the replay does not name is good. What lengthens
 * times can only have made them worse; a page cache makes reads better. */
static void take_states(struct provenance *p, const struct jsonin_v *root)
{
    const struct runs_one one = {.doc = root};
    struct runs_state s = {0};
    p->validity = (struct validity){0};
    while (runs_next_state(&s, &one, 1)) {
        struct validity_of doubt = {.state = s.state};
        int place = place_of(s.tier, s.op);
        snprintf(doubt.why, sizeof(doubt.why), "%s", s.why ? s.why : "");
        err_make_harmless(doubt.why);
        if (!s.figures || s.state == VALIDITY_STATES || place < 0)
            continue;
        for (unsigned kind = 0; kind < VALIDITY_KINDS; kind++) {
            doubt.only_worse = kind != VALIDITY_STORAGE && strcmp(s.figures, "all") != 0;
            if (is_kind(s.figures, kind))
                validity_doubt(&p->validity, kind, (unsigned)place, &doubt);
        }
    }
}

/* Summaries of older versions have one answer for the whole run. */
static void take_one_state(struct provenance *p)
{
    struct validity_of doubt = {.state = VALIDITY_UNRELIABLE};
    size_t len = 0;
    for (size_t i = 0; i < p->why_count && len < sizeof(doubt.why); i++)
        len += (size_t)snprintf(doubt.why + len, sizeof(doubt.why) - len, "%s%s", i ? "; " : "",
                                p->why_invalid[i]);
    p->validity = (struct validity){0};
    if (p->valid == PROVENANCE_NO)
        for (unsigned kind = 0; kind < VALIDITY_KINDS; kind++)
            validity_doubt(&p->validity, kind, VALIDITY_EVERYWHERE, &doubt);
}

/* The reasons belong to the document that gave the answer. */
static int take_validity(struct provenance *p, const struct jsonin_v *root)
{
    const struct jsonin_v *why = jsonin_get(root, "why_invalid");
    size_t n = jsonin_count(why) < REASONS_MAX ? jsonin_count(why) : REASONS_MAX;
    if (!p->states_known && jsonin_get(root, "validity")) {
        take_states(p, root);
        p->states_known = true;
    }
    if (p->valid != PROVENANCE_UNKNOWN)
        return 0;
    take_answer(&p->valid, jsonin_get(root, "valid"));
    if (p->valid == PROVENANCE_UNKNOWN || n == 0)
        return 0;
    p->why_invalid = calloc(n, sizeof(*p->why_invalid));
    for (size_t i = 0; p->why_invalid && i < n; i++) {
        const char *text = jsonin_text(jsonin_at(why, i), NULL);
        char *reason = strdup(text ? text : "");
        if (!reason)
            return -ENOMEM;
        err_make_harmless(reason);
        p->why_invalid[p->why_count++] = reason;
    }
    return p->why_invalid ? 0 : -ENOMEM;
}

/* NULL or null: nobody of that class arrived, or the run was not served. */
static int take_queue(struct provenance_queue *q, const struct jsonin_v *line)
{
    const struct jsonin_v *since = jsonin_get(line, "waiting_since_s");
    size_t n = jsonin_count(since);
    int64_t count, waiting;
    if (q->known || jsonin_i64(jsonin_get(line, "count"), &count) < 0 ||
        jsonin_i64(jsonin_get(line, "waiting"), &waiting) < 0 || count < 0 || waiting < 0)
        return 0;
    *q = (struct provenance_queue){
        .known = true, .count = count, .waiting = waiting, .mean_ms = NAN};
    take_f64(&q->mean_ms, line, "mean");
    if (n == 0)
        return 0;
    q->since = calloc(n, sizeof(*q->since));
    for (size_t i = 0; q->since && i < n; i++) {
        struct provenance_since *s = &q->since[q->since_count];
        const struct jsonin_v *pair = jsonin_at(since, i);
        if (jsonin_i64(jsonin_at(pair, 0), &s->second) == 0 &&
            jsonin_i64(jsonin_at(pair, 1), &s->requests) == 0 && s->second >= 0 && s->requests > 0)
            q->since_count++;
    }
    return q->since ? 0 : -ENOMEM;
}

static int64_t warmup_of(const struct jsonin_v *root)
{
    double s = 0;
    if (jsonin_f64(jsonin_get(root, "warmup.seconds"), &s) < 0 || !(s > 0 && s < 1e9))
        return 0;
    return llround(s * 1e9);
}

static void take_apart(struct provenance *p, const struct jsonin_v *list)
{
    for (size_t i = p->apart_count; i < jsonin_count(list) && i < PROVENANCE_APART; i++) {
        const struct jsonin_v *v = jsonin_at(list, i);
        struct provenance_apart *a = &p->apart[p->apart_count++];
        *a = (struct provenance_apart){.ops = -1, .mean_us = NAN, .max_us = NAN};
        take_text(a->op, sizeof(a->op), v, PATHS("op"));
        take_i64(&a->ops, v, PATHS("ops"));
        take_f64(&a->mean_us, v, "mean_us");
        take_f64(&a->max_us, v, "max_us");
    }
}

/* Microseconds in the document, seconds here. */
static void take_us(double *out, const struct jsonin_v *root, const char *path)
{
    double us = NAN;
    take_f64(&us, root, path);
    if (isnan(*out))
        *out = us / 1e6;
}

static void take_part(struct provenance_part *part, const struct jsonin_v *root)
{
    const struct jsonin_v *ranks = jsonin_get(root, "ranks");
    const char *split = jsonin_text(jsonin_get(ranks, "split"), NULL);

    take_f64(&part->start_s, root, "start.unix_s");
    take_us(&part->late_s, root, "start.late_us");
    take_us(&part->clock_error_s, root, "start.clock_error_us");
    take_answer(&part->synchronised, jsonin_get(root, "start.synchronised"));
    take_text(part->run, sizeof(part->run), ranks, PATHS("run"));
    take_text(part->host, sizeof(part->host), ranks, PATHS("host"));
    take_i64(&part->rank, ranks, PATHS("rank"));
    take_i64(&part->count, ranks, PATHS("count"));
    part->by_keys |= split && strcmp(split, "keys") == 0;
    if (part->count > PART_COUNT_MAX) /* no run has so many, and the missing ones are named */
        part->count = -1;
    part->known = part->run[0] && part->rank >= 0 && part->count > part->rank;
}

static void pool_text(char *into, const char *from)
{
    if (strcmp(into, from) != 0)
        into[0] = '\0';
}

/* Adds an argument as a shell would need it, cut to the room that is left. */
static void add_argument(char *command, size_t n, const char *argument)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_=+./:,@%";
    bool bare = argument[0] && argument[strspn(argument, plain)] == '\0';
    size_t len = strlen(command);
    len += (size_t)snprintf(command + len, n - len, "%s%s", len ? " " : "", bare ? "" : "'");
    for (const char *c = argument; *c && len + 6 < n; c++)
        len += (size_t)snprintf(command + len, n - len, *c == '\'' ? "'\\''" : "%c", *c);
    if (!bare && len + 1 < n)
        snprintf(command + len, n - len, "'");
}

static void take_keys(struct provenance *p, const struct jsonin_v *root)
{
    char *all = p->configuration, key[RUN_KEYS_TEXT];

    if (!run_keys_known(root))
        return;
    for (size_t at = 0; run_keys_next(root, &at, key);)
        if (strlen(all) + 8 < sizeof(p->configuration))
            add_argument(all, sizeof(p->configuration), key);
    for (size_t i = 0; run_keys_shared(root, i, key); i++)
        if (strlen(all) + 8 < sizeof(p->configuration))
            add_argument(all, sizeof(p->configuration), key);
    if (!all[0])
        snprintf(all, sizeof(p->configuration), "default");
    err_make_harmless(all);
}

/* Takes the start and command of the program that measured: only its own summary has them. */
static void take_start(struct provenance *p, const struct jsonin_v *root)
{
    const struct jsonin_v *command = jsonin_get(root, "command");
    if (p->command[0] || jsonin_count(command) == 0)
        return;
    for (size_t i = 0; i < jsonin_count(command); i++) {
        const char *argument = jsonin_text(jsonin_at(command, i), NULL);
        size_t used = strlen(p->command);
        if (argument && used + 8 < sizeof(p->command))
            add_argument(p->command, sizeof(p->command), argument);
    }
    err_make_harmless(p->command);
    take_keys(p, root);
    take_text(p->version, sizeof(p->version), root, PATHS("version"));
    take_text(p->started, sizeof(p->started), root, PATHS("started"));
    take_text(p->host_kernel, sizeof(p->host_kernel), root, PATHS("host.kernel"));
}

/* "kv-events and requests; not recorded: durations". */
static void take_recording(char *buf, size_t n, const struct jsonin_v *root)
{
    const struct jsonin_v *recording = jsonin_get(root, "recording");
    const struct jsonin_v *missing = jsonin_get(recording, "missing");
    const char *source = jsonin_text(jsonin_get(recording, "source"), NULL);
    if (!source || buf[0])
        return;
    size_t len = (size_t)snprintf(buf, n, "%.40s%s", source,
                                  jsonin_get(root, "options.requests") ? " and requests" : "");
    for (size_t i = 0; i < jsonin_count(missing) && len < n; i++) {
        const char *what = jsonin_text(jsonin_at(missing, i), NULL);
        if (what)
            len += (size_t)snprintf(buf + len, n - len, "%s%s", i == 0 ? "; not recorded: " : ", ",
                                    what);
    }
    err_make_harmless(buf);
}

/* Options of kvreplay; kvgen has some of these names for something else. */
static void take_load(struct provenance *p, const struct jsonin_v *root)
{
    take_text(p->timing, sizeof(p->timing), root, PATHS("options.timing"));
    if (!p->timing[0])
        return;
    if (strcmp(p->timing, "asap") != 0)
        take_f64(&p->speed, root, "options.speed");
    if (strcmp(p->timing, "served") == 0)
        take_i64(&p->workers, root, PATHS("options.workers"));
}

static int take_document(struct provenance *p, const struct jsonin_v *root)
{
    const char *source = jsonin_text(jsonin_get(root, "options.source"), NULL);
    const char *program = jsonin_text(jsonin_get(root, "program"), NULL);
    p->known = true;
    take_text(p->client, sizeof(p->client), root, PATHS("client"));
    if (program && strcmp(program, "kvreplay") == 0 && !p->client[0])
        snprintf(p->client, sizeof(p->client), "%s", program);
    p->seed_known = p->seed_known || jsonin_u64(jsonin_get(root, "seed"), &p->seed) == 0;
    take_list(&p->notes, jsonin_get(root, "notes"));
    take_recording(p->recorded, sizeof(p->recorded), root);
    take_result_rows(&p->rows, root);
    if (p->rows >= 0)
        take_f64(&p->elapsed_s, root, "elapsed_s");
    take_text(p->host, sizeof(p->host), root, PATHS("host.name"));
    take_start(p, root);
    take_text(p->digest, sizeof(p->digest), root, PATHS("trace.digest"));
    take_text(p->model, sizeof(p->model), root, PATHS("model.name", "model", "options.model"));
    take_i64(&p->bytes_per_token, root, PATHS("model.bytes_per_token", "bytes_per_token"));
    take_f64(&p->rank_share, root, "model.rank_share");
    bool of_kvreplay = program && strcmp(program, "kvreplay") == 0;
    if (of_kvreplay)
        take_load(p, root);
    /* A recorded trace brings its own users: --users then keeps a default that means nothing. And
     * kvreplay once had an option of that name that means something else. */
    if (!source || strcmp(source, "users") == 0) {
        if (!of_kvreplay)
            take_i64(&p->users, root, PATHS("options.users"));
        take_i64(&p->users, root, PATHS("options.num-users", "users"));
    }
    take_i64(&p->tensor_parallel, root, PATHS("options.tensor-parallel", "tensor_parallel"));
    take_i64(&p->num_gpus, root, PATHS("options.num-gpus", "num_gpus"));
    take_text(p->generation_mode, sizeof(p->generation_mode), root,
              PATHS("options.generation-mode", "generation_mode"));
    take_tiers(p, jsonin_get(root, "tiers"));
    take_i64(&p->device_read_bytes, root, PATHS("kernel.device_read_bytes"));
    take_i64(&p->device_write_bytes, root, PATHS("kernel.device_write_bytes"));
    if (p->warmup_ns < 0 && jsonin_get(root, "warmup"))
        p->warmup_ns = warmup_of(root);
    take_f64(&p->page_cache_share, root, "kernel.page_cache_resident_share");
    take_part(&p->part, root);
    facts_read(&p->facts, root);
    take_apart(p, jsonin_get(root, "apart"));
    int rc = take_validity(p, root);
    for (unsigned q = 0; q < TRACE_QOSES && rc == 0; q++) {
        char path[64];
        snprintf(path, sizeof(path), "served.queue_by_qos_ms.%s", trace_qos_text(q));
        rc = take_queue(&p->queue[q], jsonin_get(root, path));
    }
    return rc;
}

/* Takes a document that was parsed with the result rc, and frees it. */
static int take_parsed(struct provenance *p, struct jsonin *doc, int rc, struct err *e)
{
    if (rc == 0 && take_document(p, jsonin_root(doc)) < 0)
        rc = err_nomem(e, "provenance");
    jsonin_free(doc);
    return rc;
}

static int take_frame(struct provenance *p, const char *json, const char *where, struct err *e)
{
    struct jsonin *doc = NULL;
    if (!json)
        return 0;
    int rc = jsonin_parse(&doc, json, strlen(json), where, e);
    return take_parsed(p, doc, rc, e);
}

void provenance_clear(struct provenance *p)
{
    *p = (struct provenance){
        .users = -1,
        .tensor_parallel = -1,
        .num_gpus = -1,
        .bytes_per_token = -1,
        .rank_share = NAN,
        .warmup_ns = -1,
        .rows = -1,
        .speed = NAN,
        .workers = -1,
        .elapsed_s = NAN,
        .device_read_bytes = -1,
        .device_write_bytes = -1,
        .storage_parts_ns = {NAN, NAN, NAN},
        .page_cache_share = NAN,
        .part = {.rank = -1, .count = -1, .start_s = NAN, .late_s = NAN, .clock_error_s = NAN}};
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        p->capacity_bytes[t] = -1;
}

static void begin(struct provenance *p)
{
    static const struct validity_of nobody_says = {
        .state = VALIDITY_UNKNOWN, .why = "no summary of the replay came with the rows"};
    provenance_clear(p);
    for (unsigned kind = 0; kind < VALIDITY_KINDS; kind++)
        validity_doubt(&p->validity, kind, VALIDITY_EVERYWHERE, &nobody_says);
}

int provenance_read_value(struct provenance *p, const struct jsonin_v *summary, struct err *e)
{
    begin(p);
    return take_document(p, summary) < 0 ? err_nomem(e, "provenance") : 0;
}

int provenance_read(struct provenance *p, const char *summary_path, const char *summary,
                    const char *provenance, struct err *e)
{
    int rc = 0;
    begin(p);
    if (summary_path) {
        struct jsonin *doc = NULL;
        rc = jsonin_load(&doc, summary_path, SUMMARY_BYTES_MAX, e);
        rc = take_parsed(p, doc, rc, e);
    }
    if (rc == 0)
        rc = take_frame(p, summary, "summary frame", e);
    if (rc == 0)
        rc = take_frame(p, provenance, "provenance frame", e);
    if (rc == 0 && !p->states_known && p->valid != PROVENANCE_UNKNOWN)
        take_one_state(p);
    return rc;
}

void provenance_of_result(struct provenance *p, bool slots)
{
    struct validity_of log = {.state = VALIDITY_UNKNOWN};
    if (p->states_known || p->valid != PROVENANCE_UNKNOWN || !p->client[0])
        return;
    if (slots) {
        snprintf(p->client, sizeof(p->client), "kvreplay");
        return;
    }
    snprintf(log.why, sizeof(log.why), "another client's log (%s) carries no evidence", p->client);
    for (unsigned kind = 0; kind < VALIDITY_KINDS; kind++)
        p->validity.of[kind][VALIDITY_EVERYWHERE] = log;
}

/* A speed other than the trace's is that of the pool. */
static void pool_load(struct provenance *into, const struct provenance *from)
{
    if (!into->pooled) {
        memcpy(into->timing, from->timing, sizeof(into->timing));
        into->speed = from->speed;
        into->workers = from->workers;
        return;
    }
    pool_text(into->timing, from->timing);
    if (isnan(into->speed) || into->speed == 1)
        into->speed = from->speed;
    if (into->workers != from->workers)
        into->workers = -1;
}

int provenance_pool(struct provenance *into, const struct provenance *from, const char *path,
                    struct err *e)
{
    if (into->digest[0] && from->digest[0] && strcmp(into->digest, from->digest) != 0)
        return err_set(e, -EINVAL, ERR_INPUT, path,
                       "is of another trace than the files before it (digest %s, not %s)",
                       from->digest, into->digest);
    pool_load(into, from);
    if (into->pooled)
        facts_merge(&into->facts, &from->facts);
    else
        into->facts = from->facts;
    into->facts.there[FACTS_OF_FOUND] = false;
    into->pooled = true;
    into->known |= from->known;
    into->part.by_keys |= from->part.by_keys;
    if (!into->digest[0])
        snprintf(into->digest, sizeof(into->digest), "%s", from->digest);
    for (unsigned kind = 0; kind < VALIDITY_KINDS; kind++)
        for (unsigned place = 0; place < VALIDITY_PLACES; place++)
            validity_doubt(&into->validity, kind, place, &from->validity.of[kind][place]);
    for (unsigned t = 0; t < TRACE_TIERS; t++) {
        if (from->simulated[t] > into->simulated[t])
            into->simulated[t] = from->simulated[t];
        into->empty[t] |= from->empty[t];
    }
    notes_merge(&into->notes, &from->notes);
    notes_merge(&into->fallbacks, &from->fallbacks);
    return 0;
}

void provenance_free(struct provenance *p)
{
    for (size_t i = 0; i < p->why_count; i++)
        free(p->why_invalid[i]);
    free(p->why_invalid);
    p->why_invalid = NULL;
    p->why_count = 0;
    for (unsigned q = 0; q < TRACE_QOSES; q++) {
        free(p->queue[q].since);
        p->queue[q] = (struct provenance_queue){0};
    }
}

int64_t provenance_warmup_ns(const char *summary)
{
    struct jsonin *doc = NULL;
    if (!summary || jsonin_parse(&doc, summary, strlen(summary), "", NULL) < 0)
        return 0;
    int64_t ns = warmup_of(jsonin_root(doc));
    jsonin_free(doc);
    return ns;
}
