/* The end of a run: writes its result as a screen of text or as JSON. It only formats; every figure
 * in struct report was taken before. */
#include "kvprecond/report.h"

#include <errno.h>
#include <limits.h>
#include <math.h>

#include "lib/base/units.h"
#include "lib/json/jsonout.h"

#define TEXT_CAP 64

static double bytes_per_s(const struct report *r)
{
    if (r->fill.elapsed_ns <= 0)
        return 0;
    return (double)r->fill.bytes * (double)UNITS_NS_PER_S / (double)r->fill.elapsed_ns;
}

static double lane_bytes_per_s(const struct lane *l)
{
    return l->elapsed_ns > 0 ? (double)l->bytes * (double)UNITS_NS_PER_S / (double)l->elapsed_ns
                             : 0;
}

/* Names a target that takes far longer than the others for the same bytes. */
static void find_slow(const struct report *r, struct notes *notes)
{
    double all = 0, slowest = INFINITY;
    unsigned at = 0;

    if (r->lane_count < 2 || r->o->until_steady)
        return;
    for (unsigned i = 0; i < r->lane_count; i++) {
        double rate = lane_bytes_per_s(&r->lanes[i]);

        all += rate;
        at = rate < slowest ? i : at;
        slowest = rate < slowest ? rate : slowest;
    }
    double others = (all - slowest) / (r->lane_count - 1);
    if (others > 0 && JUDGE_SLOW * slowest < others)
        notes_add(notes,
                  "%s is slow: it took %.1f times as long for a byte as the others on average",
                  r->lanes[at].at->path, others / slowest);
}

static double cpu_s_per_gib(const struct report *r)
{
    double gib = (double)r->fill.total_bytes / (double)UNITS_GIB;

    return gib > 0 ? (double)r->cpu_ns / (double)UNITS_NS_PER_S / gib : 0;
}

static const char *mode_name(const struct report *r)
{
    static const char *const names[] = {[PLAN_SEQUENTIAL] = "sequential",
                                        [PLAN_RANDOM] = "random",
                                        [PLAN_KV] = "kv",
                                        [PLAN_STREAM] = "stream"};

    return names[r->o->mode];
}

static const char *advice_name(const struct report *r)
{
    static const char *const names[] = {
        [FILL_NO_ADVICE] = "none", [FILL_SEQUENTIAL] = "sequential", [FILL_DONTNEED] = "dontneed"};

    return names[r->o->advice];
}

/* ---- validity ---- */

/* Times of writes, a second time without what their thread or the process was away. */
static void doubt_times(const struct report *r, struct report_doubt *d)
{
    struct judge_move m = {0};
    char told[JUDGE_TOLD];

    if (!r->held.held || hist_count(r->held.held) == 0)
        return;
    struct hist *without = judge_without(r->service, r->held.held, r->held.freed);
    if (without)
        m = judge_moved(r->service, without);
    if (!without) {
        d->state = VALIDITY_UNKNOWN;
        snprintf(d->why, sizeof(d->why), "out of memory: it was not judged");
    } else if (judge_longer(m.share) != VALIDITY_GOOD) {
        d->state = VALIDITY_UNRELIABLE;
        snprintf(d->why, sizeof(d->why), "%s", judge_told(told, "waiting of kvprecond", "", &m));
    }
    hist_free(without);
}

/* Rounds are judged without those that were disturbed; with too few left, nothing is known. */
static void doubt_steady(const struct report *r, struct report_doubt *d)
{
    const struct rounds *all = &r->rounds;
    unsigned out = all->count - all->judged;

    if (out == 0)
        return;
    if (all->judged < STEADY_WINDOW)
        d->state = VALIDITY_UNRELIABLE;
    snprintf(d->why, sizeof(d->why), "%u of %u round%s %s left out: %s", out, all->count,
             units_plural(all->count), out == 1 ? "is" : "are",
             all->round[all->count - 1].disturbed[0] ? all->round[all->count - 1].disturbed
                                                     : "disturbed");
}

struct report_doubt report_validity(const struct report *r, enum report_figure figure)
{
    struct report_doubt d = {.state = VALIDITY_GOOD};
    char why[DISTURBANCE_WHY];

    if (figure == REPORT_STEADY) {
        doubt_steady(r, &d);
        return d;
    }
    if (figure == REPORT_SERVICE)
        doubt_times(r, &d);
    enum validity_state state = disturbance_judge(&r->disturbance, why);
    /* Waits are known of each write, and judged there; others' traffic is not. */
    bool told = figure == REPORT_SERVICE && state == VALIDITY_UNRELIABLE &&
                !disturbance_is_foreign(&r->disturbance);
    if (state > d.state && !told) {
        d.state = state;
        snprintf(d.why, sizeof(d.why), "%s", why);
    }
    return d;
}

static const char *figure_name(enum report_figure figure)
{
    static const char *const names[] = {[REPORT_BANDWIDTH] = "bandwidth",
                                        [REPORT_SERVICE] = "service",
                                        [REPORT_STEADY] = "steady_state"};

    return names[figure];
}

/* ---- text ---- */

/* "good", or each figure that is not, with its reason. */
static void text_validity(const struct report *r, FILE *out)
{
    static const char *const what[] = {[REPORT_BANDWIDTH] = "bandwidth",
                                       [REPORT_SERVICE] = "times of a write",
                                       [REPORT_STEADY] = "steady state"};
    unsigned told = 0;

    for (unsigned i = 0; i < REPORT_FIGURES; i++) {
        struct report_doubt d = report_validity(r, i);
        if (d.state == VALIDITY_GOOD && !d.why[0])
            continue;
        fprintf(out, "  %-11s %s: %s: %s\n", told++ ? "" : "validity", what[i],
                validity_state_word(d.state), d.why);
    }
    if (told == 0)
        fprintf(out, "  validity    good\n");
}

static void text_asked(const struct report *r, FILE *out)
{
    char a[TEXT_CAP], b[TEXT_CAP], id[sizeof(r->o->model.id)];

    fprintf(out, "  mode        %s, ", mode_name(r));
    snprintf(id, sizeof(id), "%s", r->o->model.id);
    err_make_harmless(id); /* it may come from a configuration */
    if (r->o->mode == PLAN_KV)
        fprintf(out, "objects of %s (%s, %d tokens), ",
                units_format_bytes(b, sizeof(b), (double)r->o->object_bytes), id,
                OPTIONS_OBJECT_TOKENS);
    if (r->o->mode == PLAN_STREAM)
        fprintf(out, "%llu buffers, ", (unsigned long long)r->o->buffers);
    fprintf(out, "%s at a time, up to %llu in flight",
            units_format_bytes(a, sizeof(a), (double)r->o->block_bytes),
            (unsigned long long)r->depth);
    if (r->o->mode == PLAN_STREAM)
        fprintf(out, ", filled by %llu thread%s", (unsigned long long)r->o->threads,
                units_plural(r->o->threads));
    else if (r->o->threads > 1)
        fprintf(out, " of each of %llu threads", (unsigned long long)r->o->threads);
    fputc('\n', out);
    if (r->o->purge && r->purge_failed)
        fprintf(out, "  purge       not possible (%s)\n", r->purge_failed);
    else if (r->o->purge)
        fprintf(out, "  purge       %s discarded before\n",
                units_format_bytes(a, sizeof(a), (double)r->purged_bytes));
}

/* The endpoints of a remote store, in place of a device's counters. */
static void text_doors(const struct report *r, FILE *out)
{
    for (unsigned i = 0; i < r->doors; i++) {
        const struct tier_door *d = &r->door[i];
        fprintf(out, "  endpoint    %s: %llu request%s, %llu new connection%s, %llu retr%s, ",
                d->endpoint, (unsigned long long)d->requests, units_plural(d->requests),
                (unsigned long long)d->connections, units_plural(d->connections),
                (unsigned long long)d->retries, d->retries == 1 ? "y" : "ies");
        if (d->retransmits >= 0)
            fprintf(out, "%lld TCP retransmissions\n", (long long)d->retransmits);
        else
            fprintf(out, "TCP retransmissions not known\n");
    }
}

static void text_fill(const struct report *r, FILE *out)
{
    char a[TEXT_CAP], b[TEXT_CAP], c[TEXT_CAP], fallbacks[NOTES_JOINED_CAP];

    fprintf(out, "  written     %s of %s", units_format_bytes(a, sizeof(a), (double)r->fill.bytes),
            units_format_bytes(b, sizeof(b), (double)r->size_bytes));
    if (r->capacity)
        fprintf(out, ", %.2f times the device", (double)r->fill.bytes / (double)r->capacity);
    if (!r->fill.complete && r->why_short)
        fprintf(out, ", ended by %s", r->why_short);
    fprintf(out, "\n  bandwidth   %s (%.3f GB/s) over %s, then %s to make it durable\n",
            units_format_rate(a, sizeof(a), bytes_per_s(r)), bytes_per_s(r) / 1e9,
            units_format_duration(b, sizeof(b), (double)r->fill.elapsed_ns),
            units_format_duration(c, sizeof(c), (double)r->sync_ns));
    fprintf(out, "  a write     p50 %s, p99 %s, max %s\n",
            units_format_duration(a, sizeof(a), (double)hist_percentile(r->service, 500000)),
            units_format_duration(b, sizeof(b), (double)hist_percentile(r->service, 990000)),
            units_format_duration(c, sizeof(c), (double)hist_max(r->service)));
    fprintf(out, "  processor   %.3f s per GiB\n", cpu_s_per_gib(r));
    fprintf(out, "  engine      %s, %s%s%s%s\n", r->engine,
            r->o->remote ? r->store.device
            : r->direct  ? "O_DIRECT"
                         : "buffered",
            r->huge_pages < 0 ? ""
            : r->huge_pages   ? ", huge pages"
                              : ", small pages",
            r->fallbacks.count > 0 ? "; " : "",
            notes_join(&r->fallbacks, "; ", fallbacks, sizeof(fallbacks)));
    if (r->counted) {
        const struct target_device *d = &r->lanes[0].device;
        char devices[TEXT_CAP];

        snprintf(devices, sizeof(devices), "of %u targets", r->lane_count);
        fprintf(out, "  device      %s%s%s: %s written by the kernel's count\n",
                r->lane_count > 1 ? devices : d->name, r->lane_count == 1 && *d->model ? " " : "",
                r->lane_count == 1 ? d->model : "",
                units_format_bytes(a, sizeof(a), (double)r->device_write_bytes));
    }
    text_doors(r, out);
    if (r->o->kind == TARGET_DIR)
        fprintf(out, "  %s     %llu, %s\n", r->o->remote ? "objects" : "files  ",
                (unsigned long long)r->files, r->kept ? "kept" : "removed (--keep leaves them)");
    else if (r->o->kind == TARGET_FILE)
        fprintf(out, "  file        %s\n",
                r->kept ? "kept" : "cut to its former length (--keep leaves it)");
}

/* A line for each of several targets. */
static void text_targets(const struct report *r, FILE *out)
{
    char name[PATH_MAX], a[TEXT_CAP], b[TEXT_CAP], c[TEXT_CAP], d[TEXT_CAP], p99[TEXT_CAP];
    struct notes notes = {0};

    if (r->lane_count == 1)
        return;
    fprintf(out, "  targets\n");
    for (unsigned i = 0; i < r->lane_count; i++) {
        const struct lane *l = &r->lanes[i];

        snprintf(name, sizeof(name), "%s", l->at->path);
        err_make_harmless(name);
        fprintf(
            out, "    %s%s%s%s  %s, %s over %s; a write p50 %s, p99 %s\n", name,
            *l->device.name ? " (" : "", l->device.name, *l->device.name ? ")" : "",
            units_format_bytes(a, sizeof(a), (double)l->bytes),
            units_format_rate(b, sizeof(b), lane_bytes_per_s(l)),
            units_format_duration(c, sizeof(c), (double)l->elapsed_ns),
            units_format_duration(d, sizeof(d), (double)hist_percentile(l->service, 500000)),
            units_format_duration(p99, sizeof(p99), (double)hist_percentile(l->service, 990000)));
    }
    find_slow(r, &notes);
    for (unsigned i = 0; i < notes.count; i++)
        fprintf(out, "  note        %s\n", notes.text[i]);
}

static void text_stream(const struct report *r, FILE *out)
{
    char a[TEXT_CAP], b[TEXT_CAP];

    if (r->o->mode != PLAN_STREAM)
        return;
    fprintf(out, "  waited      %s for data, %s for the store\n",
            units_format_duration(a, sizeof(a), (double)r->fill.data_wait_ns),
            units_format_duration(b, sizeof(b), (double)r->fill.store_wait_ns));
    fprintf(out, "  memory      %s at most, page cache afterwards %s",
            units_format_bytes(a, sizeof(a), (double)r->peak_bytes),
            r->cached_known ? units_format_bytes(b, sizeof(b), (double)r->cached_bytes)
                            : "unknown");
    if (r->o->buffered)
        fprintf(out, " (fadvise %s)", advice_name(r));
    fputc('\n', out);
}

static void text_round(unsigned number, const struct round *round, FILE *out)
{
    char mean[TEXT_CAP], p99[TEXT_CAP], rate[TEXT_CAP], iops[TEXT_CAP];

    fprintf(out, "  %5u  %11s  %10s  %10s  %10s", number,
            units_format_rate(rate, sizeof(rate), round->bytes_per_s),
            units_format_count(iops, sizeof(iops), (uint64_t)(round->iops + 0.5)),
            units_format_duration(mean, sizeof(mean), round->mean_ns),
            units_format_duration(p99, sizeof(p99), (double)round->p99_ns));
    if (round->verdict.average > 0)
        fprintf(out, "  %5.1f %%  %5.1f %%", round->verdict.range_share * 100,
                round->verdict.slope_share * 100);
    if (round->disturbed[0])
        fprintf(out, "  left out: %s", round->disturbed);
    fprintf(out, "%s\n", round->verdict.steady ? "  steady" : "");
}

static void text_rounds(const struct report *r, FILE *out)
{
    const struct rounds *all = &r->rounds;
    const char *track = rounds_track_name(all->track);
    const struct steady *last;
    char a[TEXT_CAP];

    if (!r->o->until_steady)
        return;
    if (all->count == 0) {
        fprintf(out, "  steady      no: no round has ended%s%s\n",
                r->why_short ? "; ended by " : "", r->why_short ? r->why_short : "");
        return;
    }
    fprintf(out, "rounds of %s, by %s\n",
            units_format_duration(a, sizeof(a), (double)r->o->round_ns), track);
    fprintf(out, "  %5s  %11s  %10s  %10s  %10s  %7s  %7s\n", "round", "bandwidth", "writes/s",
            "mean", "p99", "range", "slope");
    for (unsigned i = 0; i < all->count; i++)
        text_round(i + 1, &all->round[i], out);
    last = all->judged ? &rounds_last(all)->verdict : NULL;
    if (last && last->average > 0)
        fprintf(
            out,
            "  steady      %s: over rounds %u to %u%s the range of %s is %.1f %% of its average "
            "(%.0f %% allowed),\n              the rise of its line %.1f %% (%.0f %% allowed)\n",
            last->steady ? "yes" : "no", all->number[all->judged - STEADY_WINDOW] + 1,
            all->number[all->judged - 1] + 1,
            all->judged < all->count ? " (without disturbed ones)" : "", track,
            last->range_share * 100, STEADY_RANGE_MAX * 100, last->slope_share * 100,
            STEADY_SLOPE_MAX * 100);
    else
        fprintf(out, "  steady      no: %u%s round%s of %d\n", all->judged,
                all->judged < all->count ? " undisturbed" : "", units_plural(all->judged),
                STEADY_WINDOW);
    if (r->fill.complete && r->why_short)
        fprintf(out, "              ended by %s\n", r->why_short);
}

int report_text(const struct report *r, FILE *out, struct err *e)
{
    char name[PATH_MAX];

    if (r->lane_count == 1)
        snprintf(name, sizeof(name), "%s", r->lanes[0].at->path);
    else
        snprintf(name, sizeof(name), "%u targets", r->lane_count);
    err_make_harmless(name);
    fprintf(out, "kvprecond: %s\n", name);
    text_asked(r, out);
    text_fill(r, out);
    text_targets(r, out);
    text_stream(r, out);
    text_rounds(r, out);
    text_validity(r, out);
    if (fflush(out) != 0 || ferror(out))
        return err_errno(e, errno ? -errno : -EIO, ERR_OUTPUT, "standard output",
                         "cannot be written");
    return 0;
}

/* ---- JSON ---- */

static void json_doors(struct jsonout *j, const struct report *r)
{
    jsonout_array(j, "endpoints");
    for (unsigned i = 0; i < r->doors; i++) {
        const struct tier_door *d = &r->door[i];
        jsonout_object(j, NULL);
        jsonout_text_value(j, "endpoint", d->endpoint);
        jsonout_text_known(j, "interface", d->interface);
        jsonout_u64(j, "requests", d->requests);
        jsonout_u64(j, "retries", d->retries);
        jsonout_u64(j, "new_connections", d->connections);
        jsonout_u64_if(j, "tcp_retransmits", d->retransmits >= 0, (uint64_t)d->retransmits);
        jsonout_end(j);
    }
    jsonout_end(j);
}

/* Describes a target. */
static void json_target(struct jsonout *j, const struct report *r, const struct lane *l)
{
    static const char *const kinds[] = {
        [TARGET_DIR] = "directory", [TARGET_FILE] = "file", [TARGET_DEVICE] = "device"};

    jsonout_text_value(j, "path", l->at->path);
    jsonout_text_value(j, "kind", l->remote ? l->engine : kinds[l->at->kind]);
    jsonout_text_known(j, "device", l->device.name);
    jsonout_text_known(j, "model", l->device.model);
    jsonout_u64_if(j, "capacity_bytes", l->capacity > 0, l->capacity);
    jsonout_u64(j, "files", l->files);
    jsonout_bool(j, "kept", r->o->keep || l->at->kind == TARGET_DEVICE);
}

/* Each with what was written there. */
static void json_targets(struct jsonout *j, const struct report *r)
{
    struct notes notes = {0};

    jsonout_array(j, "targets");
    for (unsigned i = 0; i < r->lane_count; i++) {
        const struct lane *l = &r->lanes[i];

        jsonout_object(j, NULL);
        json_target(j, r, l);
        jsonout_u64(j, "written_bytes", l->bytes);
        jsonout_u64(j, "writes", l->writes);
        jsonout_f64(j, "elapsed_s", (double)l->elapsed_ns / 1e9);
        jsonout_f64(j, "gib_per_s", lane_bytes_per_s(l) / (double)UNITS_GIB);
        jsonout_hist(j, "service_us", l->service, 1e3);
        jsonout_end(j);
    }
    jsonout_end(j);
    find_slow(r, &notes);
    jsonout_notes(j, "notes", &notes);
}

static void json_asked(struct jsonout *j, const struct facts *f, const struct report *r)
{
    const bool kv = r->o->mode == PLAN_KV;
    if (r->lane_count == 1) {
        jsonout_object(j, "target");
        json_target(j, r, &r->lanes[0]);
        json_doors(j, r);
        jsonout_end(j);
    } else {
        jsonout_null(j, "target");
    }
    json_targets(j, r);
    jsonout_text_value(j, "mode", mode_name(r));
    jsonout_u64(j, "seed", r->o->seed);
    facts_write_one(j, f, FACT_SIZE_BYTES);
    jsonout_u64(j, "block_bytes", r->o->block_bytes);
    jsonout_text_value(j, "model", kv ? r->o->model.id : NULL);
    jsonout_u64_if(j, "object_bytes", kv, r->o->object_bytes);
    jsonout_u64(j, "threads", r->o->threads);
    jsonout_u64(j, "iodepth", r->depth);
    jsonout_text_value(j, "engine", r->engine);
    jsonout_bool_if(j, "direct", !r->o->remote, r->direct);
    jsonout_text_value(j, "pages", r->huge_pages < 0 ? NULL : r->huge_pages ? "huge" : "small");
    jsonout_notes(j, "fallbacks", &r->fallbacks);
    if (r->o->purge) {
        jsonout_object(j, "purge");
        jsonout_u64(j, "discarded_bytes", r->purged_bytes);
        jsonout_text_value(j, "error", r->purge_failed);
        jsonout_end(j);
    } else {
        jsonout_null(j, "purge");
    }
}

static void put_fill(struct facts *f, const struct report *r)
{
    facts_put_count(f, FACT_SIZE_BYTES, true, r->size_bytes);
    facts_put_yes(f, FACT_COMPLETE, r->fill.complete);
    facts_put_count(f, FACT_WRITTEN_BYTES, true, r->fill.bytes);
    facts_put_count(f, FACT_WRITTEN, true, r->fill.writes);
    facts_put_number(f, FACT_ELAPSED_S, (double)r->fill.elapsed_ns / 1e9);
    facts_put_number(f, FACT_SYNC_S, (double)r->sync_ns / 1e9);
    facts_put_yes(f, FACT_STEADY, r->o->until_steady ? rounds_steady(&r->rounds) : -1);
}

static void json_fill(struct jsonout *j, const struct facts *f, const struct report *r)
{
    facts_write_one(j, f, FACT_COMPLETE);
    jsonout_text_value(j, "ended_by", r->why_short);
    facts_write_one(j, f, FACT_WRITTEN_BYTES);
    facts_write_one(j, f, FACT_WRITTEN);
    facts_write_one(j, f, FACT_ELAPSED_S);
    facts_write_one(j, f, FACT_SYNC_S);
    jsonout_f64(j, "gib_per_s", bytes_per_s(r) / (double)UNITS_GIB);
    jsonout_u64(j, "total_written_bytes", r->fill.total_bytes);
    jsonout_f64(j, "cpu_s", (double)r->cpu_ns / 1e9);
    jsonout_f64(j, "cpu_s_per_gib", cpu_s_per_gib(r));
    jsonout_object(j, "service_us");
    jsonout_hist_members(j, r->service, 1e3);
    jsonout_end(j);
}

static void json_stream(struct jsonout *j, const struct report *r)
{
    if (r->o->mode != PLAN_STREAM) {
        jsonout_null(j, "stream");
        return;
    }
    jsonout_object(j, "stream");
    jsonout_u64(j, "buffers", r->o->buffers);
    jsonout_text_value(j, "fadvise", r->o->buffered ? advice_name(r) : NULL);
    jsonout_f64(j, "waited_for_data_s", (double)r->fill.data_wait_ns / 1e9);
    jsonout_f64(j, "waited_for_store_s", (double)r->fill.store_wait_ns / 1e9);
    jsonout_u64(j, "peak_memory_bytes", r->peak_bytes);
    jsonout_u64_if(j, "page_cache_bytes", r->cached_known, r->cached_bytes);
    jsonout_end(j);
}

static void json_rounds(struct jsonout *j, const struct facts *f, const struct report *r)
{
    if (!r->o->until_steady) {
        jsonout_null(j, "steady_state");
        return;
    }
    jsonout_object(j, "steady_state");
    facts_write_one(j, f, FACT_STEADY);
    jsonout_text_value(j, "track", rounds_track_name(r->rounds.track));
    jsonout_f64(j, "round_s", (double)r->o->round_ns / 1e9);
    jsonout_u64(j, "window", STEADY_WINDOW);
    jsonout_f64(j, "range_share_max", STEADY_RANGE_MAX);
    jsonout_f64(j, "slope_share_max", STEADY_SLOPE_MAX);
    jsonout_array(j, "rounds");
    for (unsigned i = 0; i < r->rounds.count; i++) {
        const struct round *round = &r->rounds.round[i];
        const bool judged = round->verdict.average > 0;

        jsonout_object(j, NULL);
        jsonout_u64(j, "round", i + 1);
        jsonout_f64(j, "start_s", (double)round->start_ns / 1e9);
        jsonout_f64(j, "elapsed_s", (double)round->elapsed_ns / 1e9);
        jsonout_u64(j, "bytes", round->bytes);
        jsonout_f64(j, "gib_per_s", round->bytes_per_s / (double)UNITS_GIB);
        jsonout_f64(j, "iops", round->iops);
        jsonout_f64(j, "service_mean_us", round->mean_ns / 1e3);
        jsonout_f64(j, "service_p99_us", (double)round->p99_ns / 1e3);
        jsonout_f64(j, "range_share", judged ? round->verdict.range_share : NAN);
        jsonout_f64(j, "slope_share", judged ? round->verdict.slope_share : NAN);
        jsonout_bool(j, "steady", round->verdict.steady);
        jsonout_text_known(j, "disturbed", round->disturbed);
        jsonout_end(j);
    }
    jsonout_end(j);
    jsonout_end(j);
}

/* The facts of the fill, and what they say of each figure. */
static void json_validity(struct jsonout *j, const struct report *r)
{
    jsonout_array(j, "validity");
    for (unsigned i = 0; i < REPORT_FIGURES; i++) {
        const struct report_doubt d = report_validity(r, i);
        if (i == REPORT_STEADY && !r->o->until_steady)
            continue;
        jsonout_object(j, NULL);
        jsonout_text_value(j, "figures", figure_name(i));
        jsonout_text_value(j, "state", validity_state_word(d.state));
        jsonout_text_value(j, "why", d.why);
        jsonout_end(j);
    }
    jsonout_end(j);
    facts_write(j, &r->facts, FACTS_OF_EVIDENCE);
}

struct jsonout *report_document(const struct report *r, int argc, char *const *argv)
{
    struct jsonout *j = jsonout_create();
    struct facts f = r->facts;

    if (!j)
        return NULL;
    put_fill(&f, r);
    jsonout_identity(j, "kvprecond", argc, argv, r->started_wall_ns);
    json_asked(j, &f, r);
    json_fill(j, &f, r);
    json_stream(j, r);
    json_rounds(j, &f, r);
    json_validity(j, r);
    jsonout_object(j, "kernel");
    jsonout_u64_if(j, "device_write_bytes", r->counted, r->device_write_bytes);
    jsonout_end(j);
    return j;
}

int report_json(const struct report *r, const char *path, int argc, char *const *argv,
                struct err *e)
{
    struct jsonout *j = report_document(r, argc, argv);

    if (!j)
        return err_nomem(e, "summary");
    int rc = jsonout_save(j, path, e);
    jsonout_free(j);
    return rc;
}
