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

#define SUMMARY_BYTES_MAX ((size_t)64 << 20)
#define REASONS_MAX       64

/* Takes a fact from a place in the document, unless it is known. Returns whether it is there. */
static bool take(struct facts *f, enum fact_id id, const struct jsonin_v *root, const char *path)
{
    const struct jsonin_v *v = jsonin_get(root, path);
    if (v && !f->of[id].known)
        facts_read_value(f, id, v);
    return v;
}

static void take_i64(int64_t *out, const struct jsonin_v *root, const char *path)
{
    int64_t v;
    if (*out < 0 && jsonin_i64(jsonin_get(root, path), &v) == 0)
        *out = v;
}

static void take_f64(double *out, const struct jsonin_v *root, const char *path)
{
    if (isnan(*out))
        *out = jsonin_number(root, path);
}

static void take_text(char *out, size_t n, const struct jsonin_v *root, const char *path)
{
    const char *text = jsonin_text(jsonin_get(root, path), NULL);
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
        snprintf(mean_path, sizeof(mean_path), "%s.%s.mean", directions[d], part);
        snprintf(count_path, sizeof(count_path), "%s.%s.count", directions[d], part);
        double mean_us = jsonin_number(tier, mean_path), count = jsonin_number(tier, count_path);
        if (mean_us >= 0 && count >= 0)
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
    const struct jsonin_v *v = jsonin_find(tiers, "tier", trace_tier_text(TRACE_STORAGE));

    take_storage_parts(p, v);
    take_text(p->device, sizeof(p->device), v, "device");
    take(&p->facts, FACT_ENGINE, v, "engine");
    take_text(p->target, sizeof(p->target), v, "target");
    take_list(&p->flags, jsonin_get(v, "flags"));
    take_list(&p->fallbacks, jsonin_get(v, "fallbacks"));
    for (unsigned t = 0; t < TRACE_TIERS; t++) {
        v = jsonin_find(tiers, "tier", trace_tier_text(t));
        take_i64(&p->capacity_bytes[t], v, "capacity_bytes");
        take_answer(&p->simulated[t], jsonin_get(v, "simulated"));
        p->empty[t] |= is_text(jsonin_get(v, "engine"), "null");
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
    double s = jsonin_number(root, "warmup.seconds");
    return s > 0 && s < 1e9 ? llround(s * 1e9) : 0;
}

static void take_apart(struct provenance *p, const struct jsonin_v *list)
{
    for (size_t i = p->apart_count; i < jsonin_count(list) && i < PROVENANCE_APART; i++) {
        const struct jsonin_v *v = jsonin_at(list, i);
        struct provenance_apart *a = &p->apart[p->apart_count++];
        *a = (struct provenance_apart){.ops = -1, .mean_us = NAN, .max_us = NAN};
        take_text(a->op, sizeof(a->op), v, "op");
        take_i64(&a->ops, v, "ops");
        take_f64(&a->mean_us, v, "mean_us");
        take_f64(&a->max_us, v, "max_us");
    }
}

enum {
    COMMAND = 1024 /* of arguments, as for a shell; more are cut */
};

/* Adds an argument as a shell would need it, cut to the room that is left. */
static void add_argument(char command[COMMAND], const char *argument)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_=+./:,@%";
    bool bare = argument[0] && argument[strspn(argument, plain)] == '\0';
    size_t n = COMMAND, len = strlen(command);
    if (len + 8 >= n)
        return;
    len += (size_t)snprintf(command + len, n - len, "%s%s", len ? " " : "", bare ? "" : "'");
    for (const char *c = argument; *c && len + 6 < n; c++)
        len += (size_t)snprintf(command + len, n - len, *c == '\'' ? "'\\''" : "%c", *c);
    if (!bare && len + 1 < n)
        snprintf(command + len, n - len, "'");
}

static void put_command(struct facts *f, enum fact_id id, char command[COMMAND])
{
    err_make_harmless(command);
    facts_put_text(f, id, command);
}

/* The keys that had another value than their default; "default": all had it. */
static void take_keys(struct facts *f, const struct jsonin_v *root)
{
    char all[COMMAND] = "", key[RUN_KEYS_TEXT];

    if (!run_keys_known(root))
        return;
    for (size_t at = 0; run_keys_next(root, &at, key);)
        add_argument(all, key);
    for (size_t i = 0; run_keys_shared(root, i, key); i++)
        add_argument(all, key);
    put_command(f, FACT_CONFIGURATION, all[0] ? all : strcpy(all, "default"));
}

/* Takes the start and command of the program that measured: only its own summary has them. */
static void take_start(struct facts *f, const struct jsonin_v *root)
{
    const struct jsonin_v *command = jsonin_get(root, "command");
    char all[COMMAND] = "";
    if (f->of[FACT_COMMAND].known || jsonin_count(command) == 0)
        return;
    for (size_t i = 0; i < jsonin_count(command); i++) {
        const char *argument = jsonin_text(jsonin_at(command, i), NULL);
        if (argument)
            add_argument(all, argument);
    }
    put_command(f, FACT_COMMAND, all);
    take_keys(f, root);
    take(f, FACT_VERSION, root, "version");
    take(f, FACT_STARTED, root, "started");
    take(f, FACT_HOST_KERNEL, root, "host.kernel");
}

/* "kv-events and requests; not recorded: durations". */
static void take_recording(struct facts *f, const struct jsonin_v *root)
{
    char buf[320];
    size_t n = sizeof(buf);
    const struct jsonin_v *recording = jsonin_get(root, "recording");
    const struct jsonin_v *missing = jsonin_get(recording, "missing");
    const char *source = jsonin_text(jsonin_get(recording, "source"), NULL);
    if (!source || f->of[FACT_RECORDED].known)
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
    facts_put_text(f, FACT_RECORDED, buf);
}

/* Options of kvreplay; kvgen has some of these names for something else. */
static void take_load(struct facts *f, const struct jsonin_v *root)
{
    take(f, FACT_TIMING, root, "options.timing");
    const char *word = facts_text(f, FACT_TIMING);
    if (word[0] && strcmp(word, "asap") != 0)
        take(f, FACT_SPEED, root, "options.speed");
    if (strcmp(word, "served") == 0)
        take(f, FACT_WORKERS, root, "options.workers");
}

/* A recorded trace has its own users, so the default of --users means nothing there. kvreplay once
 * had an option of that name with another meaning. */
static void take_users(struct facts *f, const struct jsonin_v *root, bool of_kvreplay)
{
    const char *source = jsonin_text(jsonin_get(root, "options.source"), NULL);
    if (source && strcmp(source, "users") != 0)
        return;
    if (!of_kvreplay)
        take(f, FACT_USERS, root, "options.users");
    if (!take(f, FACT_USERS, root, "options.num-users"))
        take(f, FACT_USERS, root, "users");
}

static int take_document(struct provenance *p, const struct jsonin_v *root)
{
    /* If a fact has several places, the first that the document has counts. */
    static const struct {
        enum fact_id id;
        const char *path[3];
    } places[] = {{FACT_CLIENT, {"client"}},
                  {FACT_SEED, {"seed"}},
                  {FACT_MODEL, {"model.name", "model", "options.model"}},
                  {FACT_DIGEST, {"trace.digest"}},
                  {FACT_BYTES_PER_TOKEN, {"model.bytes_per_token", "bytes_per_token"}},
                  {FACT_TENSOR_PARALLEL, {"options.tensor-parallel", "tensor_parallel"}},
                  {FACT_NUM_GPUS, {"options.num-gpus", "num_gpus"}},
                  {FACT_GENERATION_MODE, {"options.generation-mode", "generation_mode"}},
                  {FACT_HOST, {"host.name"}}};
    struct facts *f = &p->facts;
    bool of_kvreplay = is_text(jsonin_get(root, "program"), "kvreplay");
    p->known = true;
    facts_read(f, root);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        for (size_t k = 0; k < 3 && places[i].path[k]; k++)
            if (take(f, places[i].id, root, places[i].path[k]))
                break;
    if (of_kvreplay && !f->of[FACT_CLIENT].known)
        facts_put_text(f, FACT_CLIENT, "kvreplay");
    take_list(&p->notes, jsonin_get(root, "notes"));
    take_recording(f, root);
    take_start(f, root);
    take_f64(&p->rank_share, root, "model.rank_share");
    if (of_kvreplay)
        take_load(f, root);
    take_users(f, root, of_kvreplay);
    take_tiers(p, jsonin_get(root, "tiers"));
    if (p->warmup_ns < 0 && jsonin_get(root, "warmup"))
        p->warmup_ns = warmup_of(root);
    p->by_keys |= strcmp(facts_text(f, FACT_PART_SPLIT), "keys") == 0;
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

enum provenance_answer provenance_answer(const struct facts *f, enum fact_id id)
{
    const struct fact_value *v = &f->of[id];
    return !v->known ? PROVENANCE_UNKNOWN : v->yes ? PROVENANCE_YES : PROVENANCE_NO;
}

void provenance_clear(struct provenance *p)
{
    *p = (struct provenance){
        .rank_share = NAN, .warmup_ns = -1, .storage_parts_ns = {NAN, NAN, NAN}};
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
    const char *client = facts_text(&p->facts, FACT_CLIENT);
    if (p->states_known || p->valid != PROVENANCE_UNKNOWN || !client[0])
        return;
    if (slots) {
        facts_put_text(&p->facts, FACT_CLIENT, "kvreplay");
        return;
    }
    snprintf(log.why, sizeof(log.why), "another client's log (%.31s) carries no evidence", client);
    for (unsigned kind = 0; kind < VALIDITY_KINDS; kind++)
        p->validity.of[kind][VALIDITY_EVERYWHERE] = log;
}

/* Files that have a digest have the same one. The speed is the first one that is not 1. */
static void pool_facts(struct provenance *into, const struct provenance *from)
{
    struct facts *f = &into->facts;
    struct fact_value digest = f->of[FACT_DIGEST], *speed = &f->of[FACT_SPEED];
    if (into->pooled) {
        speed->known &= speed->number != 1;
        facts_merge(f, &from->facts);
        if (!f->of[FACT_DIGEST].known)
            f->of[FACT_DIGEST] = digest.known ? digest : from->facts.of[FACT_DIGEST];
        return;
    }
    *f = from->facts;
    f->there[FACTS_OF_FOUND] = f->there[FACTS_OF_KERNEL] = false;
    for (unsigned i = 0; i < FACTS; i++)
        if (fact_of(i)->scope == FACTS_OF_PROVENANCE && fact_of(i)->merge == FACT_ALONE)
            f->of[i].known = false;
}

int provenance_pool(struct provenance *into, const struct provenance *from, const char *path,
                    struct err *e)
{
    const char *digest = facts_text(&into->facts, FACT_DIGEST);
    const char *other = facts_text(&from->facts, FACT_DIGEST);
    if (digest[0] && other[0] && strcmp(digest, other) != 0)
        return err_set(e, -EINVAL, ERR_INPUT, path,
                       "is of another trace than the files before it (digest %s, not %s)", other,
                       digest);
    pool_facts(into, from);
    into->pooled = true;
    into->known |= from->known;
    into->by_keys |= from->by_keys;
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
