/* Last step of a replay: writes down what was asked of each tier, how fast it was, and how far it
 * may be believed. JSON is for kvstat and for machines; text on standard error is for people. */
#include "kvreplay/summary.h"

#include <math.h>
#include <string.h>

#include "kvreplay/device/origin.h"
#include "kvreplay/evidence_json.h"
#include "lib/base/units.h"

/* CPU seconds, without those spun, per GiB moved by all tiers; negative: nothing was moved. */
static double summary_cpu_per_gib(const struct summary *s)
{
    const struct counts *n = s->evidence->counts;
    uint64_t bytes = 0;

    for (unsigned i = 0; i < TRACE_TIERS; i++)
        bytes += n->read_bytes[i] + n->write_bytes[i];
    return bytes ? (double)(s->cpu_ns - s->spun_ns) / 1e9 / ((double)bytes / (double)UNITS_GIB)
                 : -1;
}

static const char *const op_names[COUNTS_OPS] = {"read", "write", "delete"};

/* ---- JSON ---- */

static void json_group(struct jsonout *j, const struct counts_group *g, bool of_door)
{
    static const char *const part[COUNTS_PARTS] = {"slot_us", "meta_us", "io_us", "flush_us",
                                                   "host_us"};

    jsonout_u64(j, "ops", g->ops);
    jsonout_u64(j, "bytes", g->bytes);
    if (!of_door)
        jsonout_f64(j, "object_bytes_mean", g->ops ? (double)g->bytes / (double)g->ops : NAN);
    jsonout_u64(j, "not_ok", g->failed);
    jsonout_f64(j, "gib_per_s", g->ops ? counts_rate(g) / (double)UNITS_GIB : NAN);
    jsonout_hist(j, "service_us", g->service, 1e3);
    if (!of_door) {
        jsonout_hist(j, "wait_us", g->wait, 1e3);
        jsonout_hist(j, "response_us", g->response, 1e3);
    }
    jsonout_hist(j, "device_us", g->device, 1e3);
    for (unsigned i = 0; i < COUNTS_PARTS && !of_door; i++)
        jsonout_hist(j, part[i], g->part[i], 1e3);
}

/* Counts of a remote store's client at a door. */
static void json_connections(struct jsonout *j, const struct tiers *t, unsigned tier, unsigned i)
{
    const bool remote = t->choice[tier].kind == TIERS_REMOTE;
    const struct tier_door *before = &t->door_before[tier][i], *after = &t->door[tier][i];
    uint64_t requests = after->requests - before->requests;
    uint64_t made = after->connections - before->connections;

    jsonout_text_value(j, "interface", remote && after->interface[0] ? after->interface : NULL);
    jsonout_u64_if(j, "requests", remote, requests);
    jsonout_u64_if(j, "retries", remote, after->retries - before->retries);
    jsonout_u64_if(j, "new_connections", remote, made);
    jsonout_u64_if(j, "reused_connections", remote, requests > made ? requests - made : 0);
    jsonout_u64_if(j, "tcp_retransmits",
                   remote && before->retransmits >= 0 && after->retransmits >= 0,
                   (uint64_t)(after->retransmits - before->retransmits));
}

/* The device and the room of a door that is a path. */
static void json_path(struct jsonout *j, const struct tiers *t, unsigned tier, unsigned i)
{
    bool path = t->choice[tier].kind == TIERS_STORAGE;
    const struct room *room = path ? &t->target_room[i] : NULL;
    const char *device = path ? t->storage[i].device.name : "";

    jsonout_text_known(j, "device", device);
    jsonout_u64_if(j, "capacity_bytes", room && room->capacity < UINT64_MAX / 4,
                   room ? room->capacity : 0);
    jsonout_u64_if(j, "peak_bytes", path, room ? room->peak : 0);
}

/* The operations through each door of a tier. */
static void json_doors(struct jsonout *j, const struct summary *s, unsigned tier)
{
    const struct tiers *t = s->tiers;
    const struct doors *d = &s->evidence->doors[tier];
    double times = d->count > 1 ? doors_imbalance(d, NULL) : -1;

    jsonout_f64(j, "imbalance", times >= 0 ? times : NAN);
    jsonout_array(j, "endpoints");
    for (unsigned i = 0; i < d->count; i++) {
        jsonout_object(j, NULL);
        jsonout_text_value(j, "endpoint", d->door[i].endpoint);
        json_connections(j, t, tier, i);
        json_path(j, t, tier, i);
        jsonout_f64(j, "share", d->share[i]);
        jsonout_u64(j, "full", d->counts[i].full);
        for (unsigned op = 0; op < COUNTS_OPS; op++) {
            jsonout_object(j, op_names[op]);
            json_group(j, &d->counts[i].op[op], true);
            jsonout_end(j);
        }
        jsonout_end(j);
    }
    jsonout_end(j);
}

static void json_lookups(struct jsonout *j, const struct counts *n)
{
    jsonout_object(j, "lookup");
    jsonout_u64(j, "ops", n->looked_up);
    jsonout_u64(j, "found", n->found);
    jsonout_hist(j, "service_us", n->lookup, 1e3);
    jsonout_end(j);
}

static void json_tier(struct jsonout *j, const struct summary *s, unsigned i)
{
    const struct tiers *t = s->tiers;
    const struct tier_info *info = &t->info[i];
    const struct counts_differing *differing = &s->evidence->counts->differing_of[i];
    int64_t elapsed_ns = s->evidence->elapsed_ns;

    jsonout_object(j, NULL);
    jsonout_text_value(j, "tier", trace_tier_text((enum trace_tier)i));
    jsonout_text_value(j, "engine", info->engine);
    jsonout_bool(j, "simulated", info->simulated);
    jsonout_bool(j, "verifies", info->verifies);
    jsonout_text_known(j, "target", info->target);
    jsonout_text_known(j, "device", info->device);
    jsonout_notes(j, "flags", &info->flags);
    jsonout_notes(j, "fallbacks", &info->fallbacks);
    jsonout_u64_if(j, "capacity_bytes", t->room[i].capacity < UINT64_MAX / 4, t->room[i].capacity);
    jsonout_u64(j, "peak_bytes", t->room[i].peak);
    bool counted = info->ios > 0 && elapsed_ns > 0;
    jsonout_u64_if(j, "ios", counted, info->ios - t->ios_before[i]);
    /* Little's law: the time that all I/Os were in flight, by the time that went by. */
    jsonout_f64(j, "mean_ios_in_flight",
                counted ? (double)(info->io_ns - t->io_ns_before[i]) / (double)elapsed_ns : NAN);
    if (info->looks_up)
        json_lookups(j, s->evidence->counts);
    jsonout_u64(j, "corrupt", differing->corrupt);
    jsonout_u64(j, "stale", differing->stale);
    jsonout_u64(j, "wrong", differing->wrong);
    for (unsigned op = 0; op < COUNTS_OPS; op++) {
        struct counts_group sum;
        jsonout_object(j, op_names[op]);
        if (counts_sum(s->evidence->counts, i, op, &sum) == 0)
            json_group(j, &sum, false);
        else
            jsonout_fail(j);
        counts_group_release(&sum);
        jsonout_end(j);
    }
    json_doors(j, s, i);
    jsonout_end(j);
}

static void put_rows(struct facts *f, const struct summary *s, const struct tier_listed_facts *l)
{
    const struct counts *n = s->evidence->counts;
    const struct populated *p = &s->populated;

    facts_put_counted(f, FACT_ROWS, "total", n->rows + s->skipped);
    facts_put_counted(f, FACT_ROWS, "ok", n->ok);
    facts_put_counted(f, FACT_ROWS, "absent", n->absent);
    facts_put_counted(f, FACT_ROWS, "corrupt", n->differing.corrupt);
    facts_put_counted(f, FACT_ROWS, "failed", n->failed);
    facts_put_counted(f, FACT_ROWS, "lost", n->lost);
    facts_put_counted(f, FACT_ROWS, "stale", n->differing.stale);
    facts_put_counted(f, FACT_ROWS, "wrong", n->differing.wrong);
    facts_put_counted(f, FACT_ROWS, "skipped", s->skipped);
    facts_put_counted(f, FACT_ROWS, "bad", s->bad_rows);
    facts_put_counted(f, FACT_ROWS, "unverified_reads", n->unverified_reads);
    facts_put_counted(f, FACT_POPULATED, "objects", p->objects);
    facts_put_counted(f, FACT_POPULATED, "bytes", p->bytes);
    facts_put_counted(f, FACT_POPULATED, "left_objects", p->left_objects);
    facts_put_counted(f, FACT_POPULATED, "left_bytes", p->left_bytes);
    facts_put_counted(f, FACT_POPULATED, "adopted_objects", p->adopted_objects);
    facts_put_counted(f, FACT_POPULATED, "adopted_bytes", p->adopted_bytes);
    facts_put_counted(f, FACT_POPULATED, "torn_objects", p->torn_objects);
    facts_put_counted(f, FACT_POPULATED, "lost_objects", p->lost_objects);
    facts_put_counted(f, FACT_POPULATED, "stale_objects", p->stale_objects);
    facts_put_counted(f, FACT_POPULATED, "foreign_objects", p->foreign_objects);
    facts_put_counted(f, FACT_POPULATED, "unlisted_objects", l->unlisted);
    facts_put_counted(f, FACT_POPULATED, "missing_objects", l->missing);
    facts_put_counted(f, FACT_POPULATED, "in_run_objects", n->created_objects);
    facts_put_counted(f, FACT_POPULATED, "in_run_bytes", n->created_bytes);
}

static void json_rows(struct jsonout *j, struct facts *f, const struct summary *s)
{
    const struct counts *n = s->evidence->counts;
    struct tier_listed_facts lists;
    bool kept = tiers_lists(s->tiers, &lists);

    put_rows(f, s, &lists);
    facts_write_one(j, f, FACT_ROWS);
    facts_write_one(j, f, FACT_POPULATED);
    jsonout_object(j, "kept_list");
    jsonout_text_value(j, "state", kept ? inventory_state_text(lists.state) : NULL);
    jsonout_u64(j, "objects", lists.listed);
    jsonout_end(j);
    jsonout_object(j, "head");
    jsonout_u64(j, "rows", n->head_rows);
    jsonout_u64(j, "bytes", n->head_bytes);
    jsonout_end(j);
    jsonout_object(j, "warmup");
    jsonout_f64(j, "seconds", (double)s->evidence->warmup_ns / 1e9);
    jsonout_u64(j, "rows", n->warmup_rows);
    jsonout_end(j);
}

/* A percentile; null: nothing was there to measure. */
static void json_at(struct jsonout *j, const struct hist *h, unsigned statistic, double unit)
{
    jsonout_f64(j, hist_statistic_name(statistic),
                hist_count(h) ? hist_statistic(h, statistic) / unit : NAN);
}

static void json_times(struct jsonout *j, const struct facts *f, const struct summary *s)
{
    const struct evidence *ev = s->evidence;
    const struct counts *n = ev->counts;

    jsonout_text_value(j, "ended_by",
                       ev->interrupted  ? "interruption"
                       : s->by_duration ? "duration"
                                        : "trace");
    facts_write_one(j, f, FACT_ELAPSED_S);
    facts_write_one(j, f, FACT_ROWS_PER_S);
    jsonout_u64(j, "data_seed", s->data_seed);
    facts_write_one(j, f, FACT_SYNC_S);
    jsonout_f64(j, "cpu_s", (double)s->cpu_ns / 1e9);
    jsonout_f64(j, "spin_s", (double)s->spun_ns / 1e9);
    jsonout_f64_known(j, "cpu_s_per_gib", summary_cpu_per_gib(s));
    jsonout_object(j, "lateness_us");
    json_at(j, n->lateness, HIST_P50, 1e3);
    json_at(j, n->lateness, HIST_P99, 1e3);
    json_at(j, n->lateness, HIST_MAX, 1e3);
    jsonout_f64(j, "budget",
                s->validity->budget_ns >= 0 ? (double)s->validity->budget_ns / 1e3 : NAN);
    jsonout_end(j);
    jsonout_object(j, "lag_s");
    jsonout_f64(j, "max", ev->timed && !s->workers ? (double)n->lag_max_ns / 1e9 : NAN);
    jsonout_bool(j, "limit_passed", ev->lagged);
    jsonout_end(j);
    jsonout_u64(j, "reads_before_write", n->reads_before_write);
}

/* P50, P95, P99 and the longest, in ms. */
static void json_percentiles(struct jsonout *j, const struct hist *h)
{
    static const unsigned shown[] = {HIST_P50, HIST_P95, HIST_P99, HIST_MAX};

    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
        json_at(j, h, shown[i], 1e6);
}

/* A distribution in ms; null: nothing was there to measure. */
static void json_ms(struct jsonout *j, const char *key, const struct hist *h)
{
    if (hist_count(h) == 0) {
        jsonout_null(j, key);
        return;
    }
    jsonout_object(j, key);
    jsonout_u64(j, "count", hist_count(h));
    json_percentiles(j, h);
    jsonout_end(j);
}

/* The waits in the line of one class. */
static void json_queue(struct jsonout *j, const struct summary *s, unsigned qos)
{
    const struct counts *n = s->evidence->counts;
    const struct hist *h = n->queued[qos];
    const char *name = qos < TRACE_QOSES ? trace_qos_text((enum trace_qos)qos) : "none";
    bool unread = s->unread[qos] != SUMMARY_NOT_KNOWN && s->unread[qos] > 0;

    if (hist_count(h) == 0 && !unread) {
        jsonout_null(j, name);
        return;
    }
    jsonout_object(j, name);
    jsonout_u64(j, "count", hist_count(h));
    jsonout_u64(j, "waiting", n->waiting[qos]);
    jsonout_u64_if(j, "unread", s->unread[qos] != SUMMARY_NOT_KNOWN, s->unread[qos]);
    const struct counts_seconds *since = &n->waiting_since[qos];
    jsonout_array(j, "waiting_since_s");
    for (size_t i = 0; i < since->count; i++) {
        if (since->requests[i] == 0)
            continue;
        jsonout_array(j, NULL);
        jsonout_u64(j, NULL, i);
        jsonout_u64(j, NULL, since->requests[i]);
        jsonout_end(j);
    }
    jsonout_end(j);
    json_at(j, h, HIST_MEAN, 1e6);
    json_percentiles(j, h);
    jsonout_end(j);
}

static void json_by_qos(struct jsonout *j, const char *name, struct hist *const by[TRACE_QOSES + 1])
{
    jsonout_object(j, name);
    for (unsigned i = 0; i <= TRACE_QOSES; i++)
        json_ms(j, i < TRACE_QOSES ? trace_qos_text((enum trace_qos)i) : "none", by[i]);
    jsonout_end(j);
}

static void json_served(struct jsonout *j, const struct summary *s)
{
    const struct counts *n = s->evidence->counts;

    if (!s->workers) {
        jsonout_null(j, "served");
        return;
    }
    jsonout_object(j, "served");
    jsonout_u64(j, "workers", s->workers);
    jsonout_text_value(j, "admit", s->by_class ? "qos" : "fifo");
    jsonout_u64_if(j, "read_threads", s->threads.reads, s->threads.reads);
    jsonout_u64_if(j, "write_threads", s->threads.writes, s->threads.writes);
    jsonout_u64(j, "admitted", hist_count(n->queue));
    jsonout_u64(j, "admitted_beyond_workers", n->admitted_beyond);
    jsonout_u64(j, "admitted_by_inheritance", n->inherited);
    jsonout_u64(j, "admitted_in_turn", n->in_turn);
    jsonout_u64(j, "capacity_exceeded", n->capacity_exceeded);
    json_ms(j, "queue_ms", n->queue);
    jsonout_object(j, "queue_by_qos_ms");
    for (unsigned i = 0; i <= TRACE_QOSES; i++)
        json_queue(j, s, i);
    jsonout_end(j);
    json_by_qos(j, "end_to_end_ms", n->end_to_end);
    jsonout_end(j);
}

/* By class; null where it is not known: no prefill, or a run as fast as possible. */
static void json_first_token(struct jsonout *j, const struct summary *s)
{
    const struct counts *n = s->evidence->counts;
    uint64_t all = 0;

    for (unsigned i = 0; i <= TRACE_QOSES; i++)
        all += hist_count(n->first_token[i]);
    if (all == 0) {
        jsonout_null(j, "first_token_ms");
        return;
    }
    json_by_qos(j, "first_token_ms", n->first_token);
}

/* When the clock started, and which part of a run this is. */
static void put_start(struct facts *f, const struct summary *s)
{
    const struct summary_start *start = &s->start;
    bool at = s->start_at_wall_ns, clock = start->clock.known;

    facts_put_number(f, FACT_START_S, start->wall_ns ? (double)start->wall_ns / 1e9 : NAN);
    facts_put_number(f, FACT_START_AT_S, at ? (double)s->start_at_wall_ns / 1e9 : NAN);
    facts_put_number(f, FACT_START_LATE_US, at ? (double)start->late_ns / 1e3 : NAN);
    facts_put_yes(f, FACT_START_SYNCHRONISED, clock ? start->clock.synchronised : -1);
    facts_put_number(f, FACT_START_CLOCK_ERROR_US,
                     clock ? (double)start->clock.error_ns / 1e3 : NAN);
    if (!s->part)
        return;
    facts_put_text(f, FACT_PART_RUN, s->run_id);
    facts_put_count(f, FACT_PART_RANK, true, s->part->rank);
    facts_put_count(f, FACT_PART_COUNT, true, s->part->count);
    facts_put_text(f, FACT_PART_HOST, s->part->host);
    facts_put_text(f, FACT_PART_SPLIT, s->by_keys ? "keys" : "none");
}

static void put_run(struct facts *f, const struct summary *s)
{
    const struct evidence *ev = s->evidence;
    enum validity_state state = s->validity->state;

    facts_put_yes(f, FACT_VALID, state == VALIDITY_UNKNOWN ? -1 : state == VALIDITY_GOOD);
    facts_put_text(f, FACT_DIGEST, ev->digest);
    facts_put_number(f, FACT_ELAPSED_S, (double)ev->elapsed_ns / 1e9);
    facts_put_number(f, FACT_ROWS_PER_S, evidence_rows_per_s(ev));
    facts_put_number(f, FACT_SYNC_S, s->sync_ns >= 0 ? (double)s->sync_ns / 1e9 : NAN);
}

static void json_kernel(struct jsonout *j, const struct facts *f, const struct evidence *ev)
{
    const struct target_counters *before = &ev->before, *after = &ev->after;

    jsonout_object(j, "kernel");
    facts_write_one(j, f, FACT_DEVICE_READ_BYTES);
    facts_write_one(j, f, FACT_DEVICE_WRITE_BYTES);
    jsonout_u64_if(j, "device_read_ios", ev->counted, after->read_ios - before->read_ios);
    jsonout_u64_if(j, "device_write_ios", ev->counted, after->write_ios - before->write_ios);
    jsonout_f64(j, "device_queue_s", facts_number(f, FACT_KERNEL_IO_S));
    jsonout_u64(j, "application_read_bytes", ev->counts->read_bytes[TRACE_STORAGE]);
    jsonout_u64(j, "application_write_bytes", ev->counts->write_bytes[TRACE_STORAGE]);
    jsonout_u64_if(j, "link_bytes_per_s", ev->link_bytes_per_s > 0, ev->link_bytes_per_s);
    jsonout_f64_known(j, "page_cache_resident_share", ev->resident_share);
    jsonout_end(j);
}

/* Operations that are no rows. */
static void json_apart(struct jsonout *j, const struct counts *n)
{
    uint64_t ops = hist_count(n->lookup);

    jsonout_array(j, "apart");
    jsonout_object(j, NULL);
    jsonout_text_value(j, "op", "lookup");
    jsonout_u64(j, "ops", ops);
    jsonout_f64(j, "mean_us", hist_sum(n->lookup) / (double)ops / 1e3);
    jsonout_f64(j, "max_us", (double)hist_max(n->lookup) / 1e3);
    jsonout_end(j);
    jsonout_end(j);
}

struct jsonout *summary_json(const struct summary *s)
{
    const struct evidence *ev = s->evidence;
    struct jsonout *j = jsonout_create();
    struct facts f = ev->facts;
    uint64_t n_lookups = hist_count(ev->counts->lookup);

    if (!j)
        return NULL;
    put_run(&f, s);
    put_start(&f, s);
    evidence_put(&f, ev);
    jsonout_identity(j, "kvreplay", s->argc, s->argv, s->started_wall_ns);
    jsonout_object(j, "trace");
    jsonout_text_value(j, "name", s->input);
    facts_write_one(j, &f, FACT_DIGEST);
    jsonout_u64(j, "rows", ev->counts->rows + s->skipped);
    jsonout_end(j);
    facts_write_one(j, &f, FACT_VALID);
    validity_json(j, s->validity);
    json_rows(j, &f, s);
    json_times(j, &f, s);
    json_served(j, s);
    json_first_token(j, s);
    facts_write(j, &f, FACTS_OF_START);
    facts_write(j, &f, FACTS_OF_PART);
    jsonout_array(j, "tiers");
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        if (s->tiers->info[i].engine)
            json_tier(j, s, i);
    }
    jsonout_end(j);
    jsonout_array(j, "groups");
    for (unsigned i = 0; i < COUNTS_GROUPS; i++) {
        const struct counts_group *g = &ev->counts->group[i];
        if (g->ops + g->failed == 0)
            continue;
        jsonout_object(j, NULL);
        jsonout_text_value(j, "tier", trace_tier_text(g->tier));
        jsonout_text_value(j, "op", trace_op_text(g->op));
        jsonout_text_value(j, "phase",
                           g->phase == TRACE_NO_PHASE ? NULL : trace_phase_text(g->phase));
        json_group(j, g, false);
        jsonout_end(j);
    }
    jsonout_end(j);
    if (n_lookups > 0)
        json_apart(j, ev->counts);
    json_kernel(j, &f, ev);
    facts_write(j, &f, FACTS_OF_LOG);
    evidence_json(j, &f, ev);
    jsonout_f64_known(j, "share_of_ceiling", evidence_of_ceiling(ev));
    jsonout_object(j, "options");
    jsonout_options(j, s->options);
    jsonout_end(j);
    return j;
}

/* ---- text ---- */

static const char *text_time(char *buf, const struct hist *h, uint32_t ppm)
{
    return hist_count(h) ? units_format_duration(buf, 32, (double)hist_percentile(h, ppm)) : "-";
}

/* The state of the list of objects that an earlier run kept. */
static void text_list(FILE *out, const struct summary *s)
{
    static const char *const text[] = {
        [INVENTORY_NONE] = "written by a version without lists of kept objects",
        [INVENTORY_WHOLE] = "its list is whole",
        [INVENTORY_CUT] = "its list is cut, as after a kill",
        [INVENTORY_DAMAGED] = "its list is damaged",
        [INVENTORY_PARTIAL] = "its list could not be written in full"};
    const struct populated *p = &s->populated;
    struct tier_listed_facts lists;

    if (!tiers_lists(s->tiers, &lists))
        return;
    fprintf(out, "kept store: %s", text[lists.state]);
    if (p->lost_objects + p->stale_objects + p->foreign_objects)
        fprintf(out, "; %llu lost, %llu stale, %llu not written by kvtrace",
                (unsigned long long)p->lost_objects, (unsigned long long)p->stale_objects,
                (unsigned long long)p->foreign_objects);
    if (lists.missing)
        fprintf(out, "; %llu missing (the killed run may have removed them)",
                (unsigned long long)lists.missing);
    if (lists.unlisted && lists.state != INVENTORY_NONE)
        fprintf(out, "; %llu adopted without being listed", (unsigned long long)lists.unlisted);
    fputc('\n', out);
}

/* " (1 stale, 2 wrong)" of the corrupt; "": neither. */
static const char *kinds_of(char buf[64], const struct counts_differing *d)
{
    const char *comma = d->stale && d->wrong ? ", " : "";

    buf[0] = '\0';
    if (d->stale + d->wrong == 0)
        return buf;
    int len = snprintf(buf, 64, " (");
    if (d->stale)
        len += snprintf(buf + len, 64 - (size_t)len, "%llu stale%s", (unsigned long long)d->stale,
                        comma);
    if (d->wrong)
        len += snprintf(buf + len, 64 - (size_t)len, "%llu wrong", (unsigned long long)d->wrong);
    snprintf(buf + len, 64 - (size_t)len, ")");
    return buf;
}

/* The line about objects removed to make room on the target; "": none were. */
static void line_full(char buf[256], const struct evidence *ev)
{
    const struct counts *n = ev->counts;
    char bytes[32], objects[32], misses[32];

    buf[0] = '\0';
    if (!ev->cleans || n->removed_objects == 0)
        return;
    snprintf(buf, 256, "storage was full: %s object%s (%s) removed, which %s read%s missed",
             units_format_count(objects, sizeof(objects), n->removed_objects),
             units_plural(n->removed_objects),
             units_format_size(bytes, sizeof(bytes), n->removed_bytes),
             units_format_count(misses, sizeof(misses), n->removed_misses),
             units_plural(n->removed_misses));
}

static void text_full(FILE *out, const struct evidence *ev)
{
    char line[256];

    line_full(line, ev);
    if (line[0])
        fprintf(out, "%s\n", line);
}

static void text_rows(FILE *out, const struct summary *s)
{
    const struct evidence *ev = s->evidence;
    const struct counts *n = ev->counts;
    const struct populated *p = &s->populated;
    char rows[32], took[32], bytes[32], kinds[64];
    double per_s = evidence_rows_per_s(ev);

    fprintf(out, "%s row%s in %s (%.0f rows/s): %llu ok, %llu absent, %llu corrupt%s, %llu failed",
            units_format_count(rows, sizeof(rows), n->rows), units_plural(n->rows),
            units_format_duration(took, sizeof(took), (double)ev->elapsed_ns),
            per_s >= 0 ? per_s : 0.0, (unsigned long long)n->ok, (unsigned long long)n->absent,
            (unsigned long long)n->differing.corrupt, kinds_of(kinds, &n->differing),
            (unsigned long long)n->failed);
    if (n->lost)
        fprintf(out, " (%llu lost)", (unsigned long long)n->lost);
    if (s->skipped)
        fprintf(out, ", %llu left out", (unsigned long long)s->skipped);
    if (s->bad_rows)
        fprintf(out, ", %llu bad row%s skipped", (unsigned long long)s->bad_rows,
                units_plural(s->bad_rows));
    fprintf(out, "; reads before their write: %llu%s\n", (unsigned long long)n->reads_before_write,
            s->by_duration ? "; ended by --duration" : "");
    for (unsigned i = 0; i < TRACE_TIERS; i++)
        if (n->differing_of[i].corrupt)
            fprintf(out, "corrupt in %s: %llu%s\n", trace_tier_text((enum trace_tier)i),
                    (unsigned long long)n->differing_of[i].corrupt,
                    kinds_of(kinds, &n->differing_of[i]));
    if (n->head_rows)
        fprintf(out, "before the clock: %llu row%s of prepop and ingest, %s\n",
                (unsigned long long)n->head_rows, units_plural(n->head_rows),
                units_format_bytes(bytes, sizeof(bytes), (double)n->head_bytes));
    if (ev->warmup_ns)
        fprintf(out, "left out of what follows: %llu row%s that started in the first %s\n",
                (unsigned long long)n->warmup_rows, units_plural(n->warmup_rows),
                units_format_duration(took, sizeof(took), (double)ev->warmup_ns));
    if (p->torn_objects)
        fprintf(out, "a run that was to keep its objects was killed here: %llu not whole\n",
                (unsigned long long)p->torn_objects);
    text_list(out, s);
    if (p->objects + p->adopted_objects)
        fprintf(out, "populated: %llu object%s written, %s; %llu adopted from an earlier run\n",
                (unsigned long long)p->objects, units_plural(p->objects),
                units_format_bytes(bytes, sizeof(bytes), (double)p->bytes),
                (unsigned long long)p->adopted_objects);
    if (n->created_objects)
        fprintf(out, "created during the run: %llu object%s, %s (the trace came from a pipe)\n",
                (unsigned long long)n->created_objects, units_plural(n->created_objects),
                units_format_bytes(bytes, sizeof(bytes), (double)n->created_bytes));
    if (p->left_objects)
        fprintf(out, "not populated: %llu object%s, %s, for which the target has no room\n",
                (unsigned long long)p->left_objects, units_plural(p->left_objects),
                units_format_bytes(bytes, sizeof(bytes), (double)p->left_bytes));
    text_full(out, ev);
    if (n->unverified_reads)
        fprintf(out, "reads not verified: %llu\n", (unsigned long long)n->unverified_reads);
}

static void text_tiers(FILE *out, const struct tiers *t)
{
    char notes[NOTES_JOINED_CAP], target[sizeof(t->info[0].target)];

    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        const struct tier_info *info = &t->info[i];
        if (!info->engine)
            continue;
        snprintf(target, sizeof(target), "%s", info->target);
        err_make_harmless(target); /* it is a name of a file, or comes from one */
        if (info->simulated) {
            bool why = info->fallbacks.count > 0;
            fprintf(out, "%s: %s, nothing was moved or verified%s%s%s\n",
                    trace_tier_text((enum trace_tier)i), target, why ? " (" : "",
                    notes_join(&info->fallbacks, "; ", notes, sizeof(notes)), why ? ")" : "");
            if (info->flags.count > 0)
                fprintf(out, "  %s\n", notes_join(&info->flags, "; ", notes, sizeof(notes)));
            continue;
        }
        fprintf(out, "%s: %s%s%s%s%s%s\n", trace_tier_text((enum trace_tier)i), info->engine,
                target[0] ? ", " : "", target, info->device[0] ? ", " : "", info->device,
                info->verifies ? "" : ", reads not verified");
        if (info->flags.count > 0)
            fprintf(out, "  in force: %s\n", notes_join(&info->flags, "; ", notes, sizeof(notes)));
        if (info->fallbacks.count > 0)
            fprintf(out, "  fallbacks: %s\n",
                    notes_join(&info->fallbacks, "; ", notes, sizeof(notes)));
    }
}

/* One line for each of several doors. */
static void text_doors(FILE *out, const struct doors *d)
{
    char bytes[32], rate[32], p99[32], device[32];

    for (unsigned i = 0; d->count > 1 && i < d->count; i++) {
        uint64_t failed = 0;
        fprintf(out, "  %s:", d->door[i].endpoint);
        for (unsigned op = 0; op < COUNTS_OPS; op++) {
            const struct counts_group *o = &d->counts[i].op[op];
            failed += o->failed;
            if (o->ops > 0 && op != TRACE_DELETE)
                fprintf(out, " %s %s at %s, P99 %s, device P99 %s;", op_names[op],
                        units_format_bytes(bytes, sizeof(bytes), (double)o->bytes),
                        units_format_rate(rate, sizeof(rate), counts_rate(o)),
                        text_time(p99, o->service, 990000), text_time(device, o->device, 990000));
        }
        fprintf(out, " %llu not ok\n", (unsigned long long)failed);
    }
    double times = d->count > 1 ? doors_imbalance(d, NULL) : -1;
    if (times >= 0)
        fprintf(out, "  imbalance: the busiest moved %.2f times its share of the bytes\n", times);
}

static void text_groups(FILE *out, const struct counts *n)
{
    fprintf(out, "  %-7s%-7s%-8s%12s %11s %11s %13s %10s %10s %10s %10s %10s\n", "tier", "op",
            "phase", "ops", "bytes", "mean object", "rate", "P50", "P99", "max", "device P99",
            "resp. P99");
    for (unsigned i = 0; i < COUNTS_GROUPS; i++) {
        const struct counts_group *g = &n->group[i];
        double mean = g->ops ? (double)g->bytes / (double)g->ops : 0;
        char count[32], bytes[32], size[32], rate[32], p50[32], p99[32], max[32], device[32],
            response[32];
        if (g->ops + g->failed == 0)
            continue;
        fprintf(out, "  %-7s%-7s%-8s%12s %11s %11s %13s %10s %10s %10s %10s %10s",
                trace_tier_text(g->tier), trace_op_text(g->op), trace_phase_text(g->phase),
                units_format_count(count, sizeof(count), g->ops),
                units_format_bytes(bytes, sizeof(bytes), (double)g->bytes),
                units_format_bytes(size, sizeof(size), mean),
                units_format_rate(rate, sizeof(rate), counts_rate(g)),
                text_time(p50, g->service, 500000), text_time(p99, g->service, 990000),
                text_time(max, g->service, 1000000), text_time(device, g->device, 990000),
                text_time(response, g->response, 990000));
        if (g->failed)
            fprintf(out, "  %llu not ok", (unsigned long long)g->failed);
        fputc('\n', out);
    }
}

static void text_lookups(FILE *out, const struct counts *n)
{
    char count[32], found[32], p50[32], p95[32], p99[32], max[32];

    if (n->looked_up == 0)
        return;
    fprintf(out, "%s lookup%s on Tier-2 (%s found): P50 %s, P95 %s, P99 %s, max %s\n",
            units_format_count(count, sizeof(count), n->looked_up), units_plural(n->looked_up),
            units_format_count(found, sizeof(found), n->found), text_time(p50, n->lookup, 500000),
            text_time(p95, n->lookup, 950000), text_time(p99, n->lookup, 990000),
            text_time(max, n->lookup, 1000000));
}

static void text_queues(FILE *out, const struct summary *s)
{
    const struct counts *n = s->evidence->counts;
    char a[32];

    fputs("queue wait by class, with requests still waiting:", out);
    const char *sep = "";
    for (unsigned i = 0; i <= TRACE_QOSES; i++) {
        const struct hist *h = n->queued[i];
        bool unread = s->unread[i] != SUMMARY_NOT_KNOWN && s->unread[i] > 0;
        if (hist_count(h) == 0 && !unread)
            continue;
        double mean = hist_count(h) ? hist_sum(h) / (double)hist_count(h) : 0;
        fprintf(out, "%s %s mean %s (%llu, %llu waiting", sep,
                i < TRACE_QOSES ? trace_qos_text((enum trace_qos)i) : "no class",
                hist_count(h) ? units_format_duration(a, sizeof(a), mean) : "-",
                (unsigned long long)hist_count(h), (unsigned long long)n->waiting[i]);
        if (unread)
            fprintf(out, ", %llu more not read", (unsigned long long)s->unread[i]);
        fputc(')', out);
        sep = ";";
    }
    fputc('\n', out);
}

static void text_served(FILE *out, const struct summary *s)
{
    const struct counts *n = s->evidence->counts;
    uint64_t admitted = hist_count(n->queue);
    char a[32], b[32], c[32];

    fprintf(out, "%llu request%s let in to %llu worker%s", (unsigned long long)admitted,
            admitted == 1 ? " was" : "s were", (unsigned long long)s->workers,
            units_plural(s->workers));
    if (admitted)
        fprintf(out, "; queue wait P50 %s, P95 %s, max %s", text_time(a, n->queue, 500000),
                text_time(b, n->queue, 950000), text_time(c, n->queue, 1000000));
    fputc('\n', out);
    if (n->admitted_beyond)
        fprintf(out,
                "%llu of them beyond the workers, which all waited for rows of later requests\n",
                (unsigned long long)n->admitted_beyond);
    if (s->threads.reads)
        fprintf(out, "each engine read %u of its files at once at most\n", s->threads.reads);
    if (s->threads.writes)
        fprintf(out, "each engine wrote %u of its files at once at most\n", s->threads.writes);
    bool classes = s->by_class;
    for (unsigned i = 0; i < TRACE_QOSES; i++)
        classes |= hist_count(n->queued[i]) > 0;
    if (classes)
        text_queues(out, s);
    if (s->by_class)
        fprintf(out,
                "%llu let in with the class of a request that waited for them, %llu as the tenth "
                "in turn; capacity exceeded %llu time%s\n",
                (unsigned long long)n->inherited, (unsigned long long)n->in_turn,
                (unsigned long long)n->capacity_exceeded, units_plural(n->capacity_exceeded));
}

static const char *validity_words(enum validity_kind of)
{
    return of == VALIDITY_END_TO_END ? "end-to-end" : validity_kind_word(of);
}

/* How long threads had no CPU. */
static void text_processors(FILE *out, const struct evidence *ev)
{
    double steal = machine_steal_share(&ev->machine_before, &ev->machine_after);
    struct gap_list_delay delay;
    char a[32], b[32];

    if (ev->gaps && gap_list_run_delay(ev->gaps, &delay))
        fprintf(out, "threads waited %s for a CPU, one of them %.1f %% of the time",
                units_format_duration(a, sizeof(a), (double)delay.all_ns),
                100 * gap_list_run_delay_share(ev->gaps, ev->elapsed_ns));
    else
        fprintf(out, "time that threads waited for a CPU: not known");
    if (steal >= 0.001)
        fprintf(out, "; %.1f %% of CPU time was stolen", 100 * steal);
    if (ev->gaps && gap_list_count(ev->gaps) > 0)
        fprintf(out, "; paused %llu time%s for 1 ms or more, at most %s",
                (unsigned long long)gap_list_count(ev->gaps),
                units_plural(gap_list_count(ev->gaps)),
                units_format_duration(b, sizeof(b), (double)gap_list_largest_ns(ev->gaps)));
    fputc('\n', out);
}

/* The network's counters: those of a remote store's devices are not known here. */
static void text_network(FILE *out, const struct summary *s)
{
    const struct evidence_network *n = &s->evidence->network;
    const struct counts *c = s->evidence->counts;
    uint64_t read = 0, written = 0;
    char a[32], b[32];

    if (!n->stores)
        return;
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        bool remote = s->tiers->choice[i].kind == TIERS_REMOTE;
        read += remote ? c->read_bytes[i] : 0;
        written += remote ? c->write_bytes[i] : 0;
    }
    if (n->counted) {
        fputs("network", out);
        for (unsigned i = 0; i < n->interfaces; i++)
            fprintf(out, " %s", n->name[i]);
        fprintf(out, ": received %s, sent %s",
                units_format_bytes(a, sizeof(a), (double)(n->received[1] - n->received[0])),
                units_format_bytes(b, sizeof(b), (double)(n->sent[1] - n->sent[0])));
        fprintf(out, " (rows read %s and wrote %s there)\n",
                units_format_bytes(a, sizeof(a), (double)read),
                units_format_bytes(b, sizeof(b), (double)written));
    }
    fprintf(out, "%llu request%s over %llu new connection%s, %llu retr%s, ",
            (unsigned long long)n->requests, units_plural(n->requests),
            (unsigned long long)n->connections, units_plural(n->connections),
            (unsigned long long)n->retries, n->retries == 1 ? "y" : "ies");
    if (n->retransmits >= 0)
        fprintf(out, "%lld TCP retransmission%s\n", (long long)n->retransmits,
                units_plural((uint64_t)n->retransmits));
    else
        fputs("TCP retransmissions not known\n", out);
}

/* "sda, sdb" */
static const char *devices_text(char *buf, size_t cap, const struct tiers *t)
{
    const struct target_device *device[SPREAD_MAX];
    size_t len = 0;

    buf[0] = '\0';
    for (unsigned i = 0, n = tiers_devices(t, device); i < n && len < cap; i++)
        len += (size_t)snprintf(buf + len, cap - len, "%s%s", i ? ", " : "", device[i]->name);
    return buf;
}

/* Where the bytes of Tier-2 came from, and went. */
static void text_origin(FILE *out, const struct evidence *ev)
{
    static const char *const words[] = {[TRACE_READ] = "reads", [TRACE_WRITE] = "writes"};
    struct origin o;
    char text[ORIGIN_TEXT];

    for (enum trace_op op = TRACE_READ; op <= TRACE_WRITE; op++) {
        origin_find(&o, ev, op);
        if (origin_text(text, &o)[0])
            fprintf(out, "Storage %s: %s\n", words[op], text);
    }
}

/* Times of loads of Tier-2 beside stores, and alone. */
static void text_both(FILE *out, const struct counts_both *b)
{
    char a[32], c[32];

    if (b->load_ns > 0 && b->store_ns > 0)
        fprintf(out, "loads of Tier-2: %llu beside a store, P95 %s; %llu alone, P95 %s\n",
                (unsigned long long)hist_count(b->beside), text_time(a, b->beside, 950000),
                (unsigned long long)hist_count(b->alone), text_time(c, b->alone, 950000));
}

/* The reasons for which all figures are unreliable are told as such. */
static bool is_told(const struct validity_figure *f)
{
    return f->why[0] && (f->of != VALIDITY_ALL || f->state != VALIDITY_UNRELIABLE);
}

/* How far the figures may be believed. */
static void text_evidence(FILE *out, const struct summary *s)
{
    const struct evidence *ev = s->evidence;
    const struct counts *n = ev->counts;
    const struct validity *v = s->validity;
    double per_gib = summary_cpu_per_gib(s);
    char devices[256], a[32], b[32], c[32], d[32], cold[COLD_TEXT];

    if (ev->counted)
        fprintf(out, "device %s: read %s, wrote %s (Tier-2 asked for %s and %s)\n",
                devices_text(devices, sizeof(devices), s->tiers),
                units_format_bytes(a, sizeof(a),
                                   (double)(ev->after.read_bytes - ev->before.read_bytes)),
                units_format_bytes(b, sizeof(b),
                                   (double)(ev->after.write_bytes - ev->before.write_bytes)),
                units_format_bytes(c, sizeof(c), (double)n->read_bytes[TRACE_STORAGE]),
                units_format_bytes(d, sizeof(d), (double)n->write_bytes[TRACE_STORAGE]));
    text_origin(out, ev);
    if (ev->cold.asked)
        fprintf(out, "%s\n", cold_text(cold, &ev->cold));
    drive_times_text(ev->drive_times, ev->storage, ev->file_system, out);
    text_both(out, &n->both);
    text_network(out, s);
    if (s->sync_ns >= 0)
        fprintf(out, "data forced to the device in %s after the run\n",
                units_format_duration(a, sizeof(a), (double)s->sync_ns));
    if (ev->resident_share >= 0)
        fprintf(out, "page cache holds %.2f %% of the objects\n", 100 * ev->resident_share);
    fprintf(out, "client lateness P50 %s, P99 %s, max %s", text_time(a, n->lateness, 500000),
            text_time(b, n->lateness, 990000), text_time(c, n->lateness, 1000000));
    if (ev->timed && !s->workers)
        fprintf(out, "; furthest behind %s",
                units_format_duration(a, sizeof(a), (double)n->lag_max_ns));
    fprintf(out, "; CPU %.2f s", (double)s->cpu_ns / 1e9);
    if (s->spun_ns > 0)
        fprintf(out, " (%.2f s busy-waiting)", (double)s->spun_ns / 1e9);
    if (per_gib >= 0)
        fprintf(out, ", %.3f s/GiB%s", per_gib, s->spun_ns > 0 ? " without that" : "");
    fputc('\n', out);
    text_processors(out, ev);
    for (unsigned i = 0; i < v->notes; i++)
        fprintf(out, "note: %s\n", v->note[i]);
    for (unsigned i = 0; i < v->figures; i++) {
        const struct validity_figure *f = &v->figure[i];
        if (is_told(f))
            fprintf(out, "%s figures %s: %s\n", validity_words(f->of),
                    validity_state_word(f->state), f->why);
    }
    for (unsigned i = 0; i < v->whys; i++)
        fprintf(out, "%s%s\n", i ? "         " : "INVALID: ", v->why[i]);
}

/* The time to the first token by class; nothing where it is not known. */
static void text_first_token(FILE *out, const struct summary *s)
{
    const struct counts *n = s->evidence->counts;
    char a[32], b[32];

    for (unsigned i = 0; i <= TRACE_QOSES; i++) {
        const struct hist *h = n->first_token[i];
        if (hist_count(h) == 0)
            continue;
        fprintf(out, "first token, %s: %llu, P50 %s, P95 %s\n",
                i < TRACE_QOSES ? trace_qos_text((enum trace_qos)i) : "no class",
                (unsigned long long)hist_count(h), text_time(a, h, 500000),
                text_time(b, h, 950000));
    }
}

void summary_text_full(const struct summary *s, FILE *out)
{
    text_rows(out, s);
    text_tiers(out, s->tiers);
    for (unsigned i = 0; i < TRACE_TIERS; i++)
        text_doors(out, &s->evidence->doors[i]);
    text_groups(out, s->evidence->counts);
    text_lookups(out, s->evidence->counts);
    if (s->workers)
        text_served(out, s);
    text_first_token(out, s);
    text_evidence(out, s);
}

/* ---- five lines ---- */

enum {
    LINE = 80
};
static const char *const tier_names[TRACE_TIERS] = {
    [TRACE_GPU] = "GPU", [TRACE_CPU] = "memory", [TRACE_STORAGE] = "storage"};

/* "147 rows in 5.45 s (27 rows/s): all ok". What is not ok is told. */
static void line_rows(char buf[256], const struct summary *s)
{
    const struct counts *n = s->evidence->counts;
    char kinds[64];
    const struct {
        uint64_t count;
        const char *what, *kinds;
    } others[] = {{n->absent, "absent", ""},
                  {n->differing.corrupt, "corrupt", kinds_of(kinds, &n->differing)},
                  {n->failed, "failed", ""},
                  {s->skipped, "left out", ""},
                  {s->bad_rows, "not readable", ""}};
    double per_s = evidence_rows_per_s(s->evidence);
    char rows[32], took[32], rate[32], count[32];
    int len = snprintf(buf, 256, "%s row%s in %s (%s rows/s): ",
                       units_format_count(rows, sizeof(rows), n->rows), units_plural(n->rows),
                       units_format_duration(took, sizeof(took), (double)s->evidence->elapsed_ns),
                       units_format_count(rate, sizeof(rate), per_s >= 0 ? (uint64_t)per_s : 0));

    if (n->ok == n->rows)
        len += snprintf(buf + len, 256 - (size_t)len, "all ok");
    else
        len += snprintf(buf + len, 256 - (size_t)len, "%s ok",
                        units_format_count(count, sizeof(count), n->ok));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (others[i].count)
            len += snprintf(buf + len, 256 - (size_t)len, ", %s %s%s",
                            units_format_count(count, sizeof(count), others[i].count),
                            others[i].what, others[i].kinds);
    if (s->by_duration)
        snprintf(buf + len, 256 - (size_t)len, "; ended by --duration");
}

/* Adds "; simulated: memory, GPU", of the tiers that are empty or of those that are not. */
static void add_simulated(char buf[256], const struct summary *s, bool empty)
{
    static const enum trace_tier order[] = {TRACE_STORAGE, TRACE_CPU, TRACE_GPU};
    const char *before = empty ? "; nothing executed: " : "; simulated: ";

    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        const struct tier_info *info = &s->tiers->info[order[i]];
        size_t len = strlen(buf);
        if (!info->engine || !info->simulated || s->evidence->empty[order[i]] != empty)
            continue;
        snprintf(buf + len, 256 - len, "%s%s", before, tier_names[order[i]]);
        before = ", ";
    }
}

/* "read 8.50 GiB, wrote 964 MiB: storage (io_uring on vda), memory; simulated: GPU". */
static void line_moved(char buf[256], const struct summary *s)
{
    static const enum trace_tier order[] = {TRACE_STORAGE, TRACE_CPU, TRACE_GPU};
    const struct counts *n = s->evidence->counts;
    uint64_t read = 0, written = 0;
    const char *before = ": ";
    char a[32], b[32];

    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        read += n->read_bytes[i];
        written += n->write_bytes[i];
    }
    units_format_size(a, sizeof(a), read);
    units_format_size(b, sizeof(b), written);
    if (s->evidence->all_empty) {
        snprintf(buf, 256, "nothing was executed (empty engines) of %s to read, %s to write", a, b);
        return;
    }
    int len = snprintf(buf, 256, "read %s, wrote %s", a, b);
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        const struct tier_info *info = &s->tiers->info[order[i]];
        if (!info->engine || info->simulated)
            continue;
        len += snprintf(buf + len, 256 - (size_t)len, "%s%s", before, tier_names[order[i]]);
        if (order[i] == TRACE_STORAGE)
            len += snprintf(buf + len, 256 - (size_t)len, " (%s on %.24s)", info->engine,
                            info->device[0] ? info->device : info->target);
        before = ", ";
    }
    add_simulated(buf, s, false);
    add_simulated(buf, s, true);
}

/* The percentile that so many samples bound from above with 95 % confidence; 0: none. */
static unsigned highest_known(uint64_t samples)
{
    unsigned highest = 0;

    for (unsigned i = 0; i < JUDGED && samples >= judge_samples(judge_percentile[i].ppm); i++)
        highest = judge_percentile[i].percent;
    return highest;
}

/* "; writes p50 22.0 ms, p99 180 ms". Takes the longest into *max. */
static void add_times(char buf[256], const struct counts_group *sum, const char *what, int64_t *max)
{
    size_t len = strlen(buf);
    uint64_t n = hist_count(sum->service);
    unsigned highest = highest_known(n);
    char a[32], b[32];

    if (n == 0)
        return;
    *max = hist_max(sum->service) > *max ? hist_max(sum->service) : *max;
    len += (size_t)snprintf(buf + len, 256 - len, "%s%s", buf[len - 1] == ' ' ? "" : "; ", what);
    if (highest > 0)
        len +=
            (size_t)snprintf(buf + len, 256 - len, " p50 %s", text_time(a, sum->service, 500000));
    else
        len += (size_t)snprintf(buf + len, 256 - len, ": %s", units_format_count(a, sizeof(a), n));
    if (highest > 50)
        snprintf(buf + len, 256 - len, ", p%u %s", highest,
                 text_time(b, sum->service, highest * 10000));
}

/* Times of reads and writes of the slowest tier in use; "": there were none. */
static void line_times(char buf[256], const struct summary *s)
{
    static const enum trace_tier order[] = {TRACE_STORAGE, TRACE_CPU, TRACE_GPU};
    struct counts_group read = {0}, write = {0};
    const struct counts *n = s->evidence->counts;
    bool known = true;
    int64_t max = -1;
    char a[32];

    buf[0] = '\0';
    for (unsigned i = 0; known && i < TRACE_TIERS && max < 0; i++) {
        snprintf(buf, 256, "%s ", tier_names[order[i]]);
        known = counts_sum(n, order[i], TRACE_READ, &read) == 0 &&
                counts_sum(n, order[i], TRACE_WRITE, &write) == 0;
        if (known) {
            add_times(buf, &read, "reads", &max);
            add_times(buf, &write, "writes", &max);
        }
        counts_group_release(&read);
        counts_group_release(&write);
        read = write = (struct counts_group){0};
    }
    size_t len = strlen(buf);
    snprintf(buf + len, 256 - len, "; max %s", units_format_duration(a, sizeof(a), (double)max));
    if (max < 0)
        buf[0] = '\0';
}

static void line_requests(char buf[256], const struct summary *s)
{
    const struct hist *queue = s->evidence->counts->queue;
    char n[32], a[32], b[32], c[32];

    int len = snprintf(buf, 256, "%s request%s let in to %llu worker%s",
                       units_format_count(n, sizeof(n), hist_count(queue)),
                       hist_count(queue) == 1 ? " was" : "s were", (unsigned long long)s->workers,
                       units_plural(s->workers));
    if (hist_count(queue) == 0)
        return;
    unsigned highest = highest_known(hist_count(queue));
    len +=
        snprintf(buf + len, 256 - (size_t)len, "; queue wait p50 %s", text_time(a, queue, 500000));
    if (highest > 50)
        len += snprintf(buf + len, 256 - (size_t)len, ", p%u %s", highest,
                        text_time(b, queue, highest * 10000));
    snprintf(buf + len, 256 - (size_t)len, ", max %s", text_time(c, queue, 1000000));
}

/* Writes text in so many lines at most, the last with more behind it; what has no room is cut. */
static void put_wrapped(FILE *out, const char *text, const char *more, unsigned lines)
{
    enum {
        INDENT = 10
    };
    int indent = 0;

    while (lines > 1 && strlen(text) + strlen(more) + (size_t)indent > LINE) {
        size_t len = LINE - (size_t)indent;
        if (strlen(text) < len)
            len = strlen(text);
        else
            while (len > 1 && text[len] != ' ')
                len--;
        fprintf(out, "%*s%.*s\n", indent, "", (int)len, text);
        text += len + strspn(text + len, " ");
        indent = INDENT;
        lines--;
    }
    int room = LINE - indent - (int)strlen(more);
    if ((int)strlen(text) > room)
        fprintf(out, "%*s%.*s...%s\n", indent, "", room - 3, text, more);
    else
        fprintf(out, "%*s%s%s\n", indent, "", text, more);
}

/* Whether the figures may be believed; what else there is to say is counted. */
static void put_validity(FILE *out, const struct summary *s, unsigned lines)
{
    const struct validity *v = s->validity;
    unsigned said = 0, all = v->whys + v->notes;
    char text[VALIDITY_NOTE_CAP + 64] = "validity: good", more[48] = "";

    for (unsigned i = 0; i < v->figures; i++) {
        const struct validity_figure *f = &v->figure[i];
        bool told = is_told(f), whole = f->of == VALIDITY_ALL;
        all += told;
        if (told && !said && v->whys == 0 && f->state != VALIDITY_GOOD) {
            snprintf(text, sizeof(text), "validity: %s%s%s: %s", whole ? "" : validity_words(f->of),
                     whole ? "" : " ", validity_state_word(f->state), f->why);
            said = 1;
        }
    }
    if (v->whys > 0) {
        snprintf(text, sizeof(text), "INVALID: %s", v->why[0]);
        said = 1;
    }
    if (all > said)
        snprintf(more, sizeof(more), " (%u more: --full)", all - said);
    put_wrapped(out, text, more, lines);
}

void summary_text(const struct summary *s, FILE *out)
{
    char line[256];
    unsigned lines = 5;

    line_rows(line, s);
    put_wrapped(out, line, "", 1);
    line_moved(line, s);
    put_wrapped(out, line, "", 1);
    lines -= 2;
    line_times(line, s);
    if (line[0]) {
        put_wrapped(out, line, "", 1);
        lines--;
    }
    if (s->workers) {
        line_requests(line, s);
        put_wrapped(out, line, "", 1);
        lines--;
    }
    line_full(line, s->evidence);
    if (line[0] && lines > 1) {
        put_wrapped(out, line, "", 1);
        lines--;
    }
    put_validity(out, s, lines);
}
