/* End of a replay: judges whether the run is valid and writes it down as JSON, for kvstat and for
 * machines. The text for people is summary_text.c's. */
#include "kvreplay/summary.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "lib/base/units.h"

#define SUMMARY_ENOUGH       64e6 /* bytes, to judge a share or a rate by */
#define SUMMARY_NEAR_CEILING 0.7

static void summary_why(struct summary *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void summary_why(struct summary *s, const char *format, ...)
{
    va_list args;
    s->valid = false;
    if (s->whys == SUMMARY_WHY)
        return;
    va_start(args, format);
    vsnprintf(s->why[s->whys++], sizeof(s->why[0]), format, args);
    va_end(args);
}

static void summary_note(struct summary *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void summary_note(struct summary *s, const char *format, ...)
{
    va_list args;
    if (s->notes == SUMMARY_WHY)
        return;
    va_start(args, format);
    vsnprintf(s->note[s->notes++], sizeof(s->note[0]), format, args);
    va_end(args);
}

/* A direct run moves every byte of the application over the device. */
static void judge_moved(struct summary *s, const char *did, uint64_t app, uint64_t seen,
                        const char *instead)
{
    const char *fallbacks = s->tiers->info[TRACE_STORAGE].fallbacks;

    if (s->counted && (double)app >= SUMMARY_ENOUGH && (double)seen < 0.9 * (double)app)
        summary_note(s, "the device %s %.0f %% of the bytes that Tier-2 asked for: the rest %s%s",
                     did, 100 * (double)seen / (double)app, instead,
                     fallbacks[0] ? "; see fallbacks" : "");
}

/* No drive is faster than its link. */
static void judge_link(struct summary *s, unsigned op)
{
    struct stats_group sum;
    char rate[32], link[32];

    if (s->link_bytes_per_s && stats_sum(s->stats, TRACE_STORAGE, op, &sum) == 0 &&
        (double)sum.bytes >= SUMMARY_ENOUGH && stats_rate(&sum) > (double)s->link_bytes_per_s)
        summary_note(s,
                     "Tier-2 %s at %s are more than the device's link carries (%s): a cache was "
                     "measured",
                     op == TRACE_READ ? "reads" : "writes",
                     units_format_rate(rate, sizeof(rate), stats_rate(&sum)),
                     units_format_rate(link, sizeof(link), (double)s->link_bytes_per_s));
    if (s->link_bytes_per_s)
        stats_group_release(&sum);
}

static void judge_device(struct summary *s)
{
    const struct stats *st = s->stats;

    judge_moved(s, "read", st->read_bytes[TRACE_STORAGE],
                s->after.read_bytes - s->before.read_bytes, "came from a cache");
    judge_moved(s, "wrote", st->write_bytes[TRACE_STORAGE],
                s->after.write_bytes - s->before.write_bytes,
                "stayed in one, or was never written");
    judge_link(s, TRACE_READ);
    judge_link(s, TRACE_WRITE);
}

double summary_of_ceiling(const struct summary *s)
{
    const struct ceiling *c = &s->ceiling;
    bool same = c->same_host && s->digest[0] && strcmp(s->digest, c->digest) == 0;
    return c->rows_per_s > 0 && same ? summary_rows_per_s(s) / c->rows_per_s : -1;
}

static void judge_lag(struct summary *s)
{
    char most[32], limit[32];

    if (s->lagged)
        summary_note(s, "the target was slower than the trace: furthest behind %s, limit %s",
                     units_format_duration(most, sizeof(most), (double)s->stats->lag_max_ns),
                     units_format_duration(limit, sizeof(limit), (double)s->lag_limit_ns));
}

static void judge_ceiling(struct summary *s)
{
    const struct ceiling *c = &s->ceiling;
    double share = summary_of_ceiling(s);

    if (c->rows_per_s <= 0)
        return;
    if (!c->same_host)
        summary_note(s, "the ceiling was measured on another host: not compared");
    else if (share < 0)
        summary_note(s, "the ceiling was measured with another trace, or a trace was not read to "
                        "its end: not compared");
    else if (share >= SUMMARY_NEAR_CEILING)
        summary_note(s,
                     "%.0f %% of the client's own ceiling (%.0f rows/s): this is the speed of the "
                     "client as much as of the target",
                     100 * share, c->rows_per_s);
}

/* Late by a hundredth of what is measured, the tool changes no figure by more. */
int64_t summary_budget_ns(const struct summary *s)
{
    int64_t hundredth = (int64_t)(stats_service_mean_ns(s->stats) / 100);

    if (s->lateness_budget_ns != OPTIONS_AUTO_NS)
        return s->lateness_budget_ns;
    return hundredth > SUMMARY_BUDGET_NS ? hundredth : SUMMARY_BUDGET_NS;
}

void summary_judge(struct summary *s)
{
    const struct stats *st = s->stats;
    int64_t p99 = hist_percentile(st->lateness, 990000), budget_ns = summary_budget_ns(s);
    char late[32], budget[32];

    s->valid = true;
    s->whys = s->notes = 0;
    if (s->timed && p99 > budget_ns)
        summary_why(
            s,
            "the tool itself was late, as on busy processors: P99 of client lateness %s, budget %s",
            units_format_duration(late, sizeof(late), (double)p99),
            units_format_duration(budget, sizeof(budget), (double)budget_ns));
    if (st->corrupt)
        summary_why(s, "%llu corrupt row%s", (unsigned long long)st->corrupt,
                    units_plural(st->corrupt));
    if (st->failed)
        summary_why(s, "%llu failed row%s", (unsigned long long)st->failed,
                    units_plural(st->failed));
    if (st->reads_before_write)
        summary_why(s, "%llu read%s before %s write", (unsigned long long)st->reads_before_write,
                    units_plural(st->reads_before_write),
                    st->reads_before_write == 1 ? "its" : "their");
    if (s->interrupted)
        summary_why(s, "the run was stopped before the end of the trace");
    judge_lag(s);
    judge_device(s);
    judge_ceiling(s);
    if (s->dedup_ratio > 1)
        summary_note(s,
                     "--dedup-ratio %g: header checks of Tier-2 cannot tell the blocks of an "
                     "object apart that are alike",
                     s->dedup_ratio);
}

double summary_cpu_per_gib(const struct summary *s)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < TRACE_TIERS; i++)
        bytes += s->stats->read_bytes[i] + s->stats->write_bytes[i];
    return bytes ? (double)(s->cpu_ns - s->spun_ns) / 1e9 / ((double)bytes / (double)UNITS_GIB)
                 : -1;
}

double summary_rows_per_s(const struct summary *s)
{
    const struct stats *st = s->stats;
    int64_t ns = s->elapsed_ns - s->warmup_ns;
    return ns > 0 ? (double)(st->rows - st->head_rows - st->warmup_rows) * 1e9 / (double)ns : -1;
}

/* ---- JSON ---- */

static void json_group(struct jsonout *j, const struct stats_group *g)
{
    jsonout_u64(j, "ops", g->ops);
    jsonout_u64(j, "bytes", g->bytes);
    jsonout_f64(j, "object_bytes_mean", g->ops ? (double)g->bytes / (double)g->ops : NAN);
    jsonout_u64(j, "not_ok", g->failed);
    jsonout_f64(j, "gib_per_s", g->ops ? stats_rate(g) / (double)UNITS_GIB : NAN);
    jsonout_hist(j, "service_us", g->service, 1e3);
    jsonout_hist(j, "wait_us", g->wait, 1e3);
    jsonout_hist(j, "response_us", g->response, 1e3);
    jsonout_hist(j, "device_us", g->device, 1e3);
}

/* The pieces of "a; b; c". */
static void json_pieces(struct jsonout *j, const char *key, const char *text)
{
    char piece[512];
    jsonout_array(j, key);
    while (*text) {
        const char *end = strstr(text, "; ");
        size_t n = end ? (size_t)(end - text) : strlen(text);
        n = n < sizeof(piece) - 1 ? n : sizeof(piece) - 1;
        memcpy(piece, text, n);
        piece[n] = '\0';
        jsonout_text_value(j, NULL, piece);
        text = end ? end + 2 : text + strlen(text);
    }
    jsonout_end(j);
}

/* Of the engine: I/Os from when it gave them to the kernel until it saw that they were done. */
static void json_ios(struct jsonout *j, const struct summary *s, unsigned i)
{
    const struct tiers *t = s->tiers;

    if (t->info[i].ios == 0 || s->elapsed_ns <= 0) {
        jsonout_null(j, "ios");
        jsonout_null(j, "mean_ios_in_flight");
        return;
    }
    jsonout_u64(j, "ios", t->info[i].ios - t->ios_before[i]);
    jsonout_f64(j, "mean_ios_in_flight",
                (double)(t->info[i].io_ns - t->io_ns_before[i]) / (double)s->elapsed_ns);
}

static void json_tier(struct jsonout *j, const struct summary *s, unsigned i)
{
    static const char *const name[STATS_OPS] = {"read", "write", "delete"};
    const struct tier_info *info = &s->tiers->info[i];
    const struct room *room = &s->tiers->room[i];

    jsonout_object(j, NULL);
    jsonout_text_value(j, "tier", trace_tier_text((enum trace_tier)i));
    jsonout_text_value(j, "engine", info->engine);
    jsonout_bool(j, "simulated", info->simulated);
    jsonout_bool(j, "verifies", info->verifies);
    jsonout_text_value(j, "target", info->target[0] ? info->target : NULL);
    jsonout_text_value(j, "device", info->device[0] ? info->device : NULL);
    json_pieces(j, "flags", info->flags);
    json_pieces(j, "fallbacks", info->fallbacks);
    if (room->capacity < UINT64_MAX / 4)
        jsonout_u64(j, "capacity_bytes", room->capacity);
    else
        jsonout_null(j, "capacity_bytes");
    jsonout_u64(j, "peak_bytes", room->peak);
    json_ios(j, s, i);
    for (unsigned op = 0; op < STATS_OPS; op++) {
        struct stats_group sum;
        jsonout_object(j, name[op]);
        if (stats_sum(s->stats, i, op, &sum) == 0)
            json_group(j, &sum);
        stats_group_release(&sum);
        jsonout_end(j);
    }
    jsonout_end(j);
}

static void json_groups(struct jsonout *j, const struct stats *st)
{
    jsonout_array(j, "groups");
    for (unsigned i = 0; i < STATS_GROUPS; i++) {
        const struct stats_group *g = &st->group[i];
        if (g->ops + g->failed == 0)
            continue;
        jsonout_object(j, NULL);
        jsonout_text_value(j, "tier", trace_tier_text(g->tier));
        jsonout_text_value(j, "op", trace_op_text(g->op));
        jsonout_text_value(j, "phase",
                           g->phase == TRACE_NO_PHASE ? NULL : trace_phase_text(g->phase));
        json_group(j, g);
        jsonout_end(j);
    }
    jsonout_end(j);
}

static void json_rows(struct jsonout *j, const struct summary *s)
{
    const struct stats *st = s->stats;
    jsonout_object(j, "rows");
    jsonout_u64(j, "total", st->rows + s->skipped);
    jsonout_u64(j, "ok", st->ok);
    jsonout_u64(j, "absent", st->absent);
    jsonout_u64(j, "corrupt", st->corrupt);
    jsonout_u64(j, "failed", st->failed);
    jsonout_u64(j, "skipped", s->skipped);
    jsonout_u64(j, "bad", s->bad_rows);
    jsonout_u64(j, "unverified_reads", st->unverified_reads);
    jsonout_end(j);
    jsonout_object(j, "populated");
    jsonout_u64(j, "objects", s->populated.objects);
    jsonout_u64(j, "bytes", s->populated.bytes);
    jsonout_u64(j, "adopted_objects", s->populated.adopted_objects);
    jsonout_u64(j, "adopted_bytes", s->populated.adopted_bytes);
    jsonout_u64(j, "in_run_objects", st->created_objects);
    jsonout_u64(j, "in_run_bytes", st->created_bytes);
    jsonout_end(j);
    jsonout_object(j, "head");
    jsonout_u64(j, "rows", st->head_rows);
    jsonout_u64(j, "bytes", st->head_bytes);
    jsonout_end(j);
    jsonout_object(j, "warmup");
    jsonout_f64(j, "seconds", (double)s->warmup_ns / 1e9);
    jsonout_u64(j, "rows", st->warmup_rows);
    jsonout_end(j);
}

static void json_times(struct jsonout *j, const struct summary *s)
{
    const struct stats *st = s->stats;
    double per_gib = summary_cpu_per_gib(s), per_s = summary_rows_per_s(s);

    jsonout_text_value(j, "ended_by",
                       s->interrupted   ? "interruption"
                       : s->by_duration ? "duration"
                                        : "trace");
    jsonout_f64(j, "elapsed_s", (double)s->elapsed_ns / 1e9);
    jsonout_f64(j, "rows_per_s", per_s >= 0 ? per_s : NAN);
    jsonout_f64(j, "sync_s", s->sync_ns >= 0 ? (double)s->sync_ns / 1e9 : NAN);
    jsonout_f64(j, "cpu_s", (double)s->cpu_ns / 1e9);
    jsonout_f64(j, "spin_s", (double)s->spun_ns / 1e9);
    jsonout_f64(j, "cpu_s_per_gib", per_gib >= 0 ? per_gib : NAN);
    jsonout_object(j, "lateness_us");
    bool none = hist_count(st->lateness) == 0;
    jsonout_f64(j, "p50", none ? NAN : (double)hist_percentile(st->lateness, 500000) / 1e3);
    jsonout_f64(j, "p99", none ? NAN : (double)hist_percentile(st->lateness, 990000) / 1e3);
    jsonout_f64(j, "max", none ? NAN : (double)hist_max(st->lateness) / 1e3);
    jsonout_f64(j, "budget", s->timed ? (double)summary_budget_ns(s) / 1e3 : NAN);
    jsonout_end(j);
    jsonout_object(j, "lag_s");
    jsonout_f64(j, "max", s->timed && !s->workers ? (double)st->lag_max_ns / 1e9 : NAN);
    jsonout_bool(j, "limit_passed", s->lagged);
    jsonout_end(j);
    jsonout_u64(j, "reads_before_write", st->reads_before_write);
}

/* null: nothing was there to measure. */
static void json_ms(struct jsonout *j, const char *key, const struct hist *h)
{
    if (hist_count(h) == 0) {
        jsonout_null(j, key);
        return;
    }
    jsonout_object(j, key);
    jsonout_u64(j, "count", hist_count(h));
    jsonout_f64(j, "p50", (double)hist_percentile(h, 500000) / 1e6);
    jsonout_f64(j, "p95", (double)hist_percentile(h, 950000) / 1e6);
    jsonout_f64(j, "p99", (double)hist_percentile(h, 990000) / 1e6);
    jsonout_f64(j, "max", (double)hist_max(h) / 1e6);
    jsonout_end(j);
}

static void json_served(struct jsonout *j, const struct summary *s)
{
    const struct hist *queue = s->stats->queue;

    if (!s->workers) {
        jsonout_null(j, "served");
        return;
    }
    jsonout_object(j, "served");
    jsonout_u64(j, "workers", s->workers);
    jsonout_u64(j, "admitted", hist_count(queue));
    jsonout_u64(j, "admitted_beyond_workers", s->stats->admitted_beyond);
    json_ms(j, "queue_ms", queue);
    jsonout_object(j, "end_to_end_ms");
    for (unsigned i = 0; i <= TRACE_QOSES; i++)
        json_ms(j, i < TRACE_QOSES ? trace_qos_text((enum trace_qos)i) : "none",
                s->stats->end_to_end[i]);
    jsonout_end(j);
    jsonout_end(j);
}

static void json_kernel(struct jsonout *j, const struct summary *s)
{
    jsonout_object(j, "kernel");
    if (s->counted) {
        jsonout_u64(j, "device_read_bytes", s->after.read_bytes - s->before.read_bytes);
        jsonout_u64(j, "device_write_bytes", s->after.write_bytes - s->before.write_bytes);
        jsonout_u64(j, "device_read_ios", s->after.read_ios - s->before.read_ios);
        jsonout_u64(j, "device_write_ios", s->after.write_ios - s->before.write_ios);
        jsonout_f64(j, "device_queue_s", (double)(s->after.queue_ms - s->before.queue_ms) / 1e3);
    } else {
        jsonout_null(j, "device_read_bytes");
        jsonout_null(j, "device_write_bytes");
    }
    jsonout_u64(j, "application_read_bytes", s->stats->read_bytes[TRACE_STORAGE]);
    jsonout_u64(j, "application_write_bytes", s->stats->write_bytes[TRACE_STORAGE]);
    if (s->link_bytes_per_s)
        jsonout_u64(j, "link_bytes_per_s", s->link_bytes_per_s);
    else
        jsonout_null(j, "link_bytes_per_s");
    jsonout_f64(j, "page_cache_resident_share", s->resident_share >= 0 ? s->resident_share : NAN);
    jsonout_end(j);
}

struct jsonout *summary_json(const struct summary *s)
{
    struct jsonout *j = jsonout_create();
    if (!j)
        return NULL;
    jsonout_identity(j, "kvreplay", s->argc, s->argv, s->started_wall_ns);
    jsonout_object(j, "trace");
    jsonout_text_value(j, "name", s->input);
    jsonout_text_value(j, "digest", s->digest[0] ? s->digest : NULL);
    jsonout_u64(j, "rows", s->stats->rows + s->skipped);
    jsonout_end(j);
    jsonout_bool(j, "valid", s->valid);
    jsonout_array(j, "why_invalid");
    for (unsigned i = 0; i < s->whys; i++)
        jsonout_text_value(j, NULL, s->why[i]);
    jsonout_end(j);
    jsonout_array(j, "notes");
    for (unsigned i = 0; i < s->notes; i++)
        jsonout_text_value(j, NULL, s->note[i]);
    jsonout_end(j);
    json_rows(j, s);
    json_times(j, s);
    json_served(j, s);
    jsonout_array(j, "tiers");
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        if (s->tiers->info[i].engine)
            json_tier(j, s, i);
    }
    jsonout_end(j);
    json_groups(j, s->stats);
    json_kernel(j, s);
    jsonout_f64(j, "share_of_ceiling", summary_of_ceiling(s) >= 0 ? summary_of_ceiling(s) : NAN);
    jsonout_object(j, "options");
    jsonout_options(j, s->options);
    jsonout_end(j);
    return j;
}
