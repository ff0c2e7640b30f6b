/* A part of the summary (summary.c). What runs are judged by becomes facts here, each in one line,
 * beside those that were put where they are measured; how they are written, lib/facts knows. */
#include "kvreplay/evidence_json.h"

#include <math.h>
#include <stdio.h>

#include "kvreplay/device/origin.h"
#include "lib/facts/runs.h"

/* The network's counters, which remote stores have in place of a device's. */
static void put_network(struct facts *f, const struct evidence_network *n)
{
    char names[TIER_DOORS_MAX * (TIER_INTERFACE_CAP + 2)] = "";
    size_t len = 0;

    for (unsigned i = 0; i < n->interfaces; i++)
        len +=
            (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", i ? ", " : "", n->name[i]);
    facts_put_text(f, FACT_NETWORK_INTERFACES, names);
    facts_put_count(f, FACT_NETWORK_RECEIVED_BYTES, n->counted, n->received[1] - n->received[0]);
    facts_put_count(f, FACT_NETWORK_SENT_BYTES, n->counted, n->sent[1] - n->sent[0]);
    facts_put_count(f, FACT_TCP_RETRANSMITS, n->stores && n->retransmits >= 0,
                    (uint64_t)n->retransmits);
    facts_put_count(f, FACT_REMOTE_REQUESTS, n->stores, n->requests);
    facts_put_count(f, FACT_REMOTE_RETRIES, n->stores, n->retries);
    facts_put_count(f, FACT_REMOTE_CONNECTIONS, n->stores, n->connections);
}

/* Bytes that the device moved, and how long that took. */
static void put_moved(struct facts *f, const struct evidence *ev)
{
    const struct target_counters *from = &ev->before, *to = &ev->after;

    facts_put_number(f, FACT_OWN_IO_S, ev->own_io_ns >= 0 ? (double)ev->own_io_ns / 1e9 : NAN);
    facts_put_number(f, FACT_KERNEL_IO_S,
                     ev->counted ? (double)(to->queue_ms - from->queue_ms) / 1e3 : NAN);
    facts_put_count(f, FACT_DEVICE_READ_BYTES, ev->counted, to->read_bytes - from->read_bytes);
    facts_put_count(f, FACT_DEVICE_WRITE_BYTES, ev->counted, to->write_bytes - from->write_bytes);
}

/* Bounds of the P95 with 95 % confidence, by ranks (normal approximation of the binomial). */
static void bounds_of_p95(const struct hist *h, double *low, double *high)
{
    double half = 1.96 * sqrt(0.95 * 0.05 / (double)hist_count(h)), top = 0.95 + half;

    *low = (double)hist_percentile(h, (uint32_t)(1e6 * (0.95 - half)));
    *high = (double)hist_percentile(h, (uint32_t)(1e6 * (top < 1 ? top : 1)));
}

/* Loads and stores of Tier-2 beside each other. The bounds of the ratio are those of both sides
 * taken together, so it lies within them in 95 of 100 runs or more. */
static void put_both(struct facts *f, const struct evidence *ev)
{
    const struct counts_both *b = &ev->counts->both;
    double low[2], high[2], run_ns = (double)(ev->elapsed_ns - ev->warmup_ns);
    bool known = hist_count(b->alone) >= judge_samples(950000) &&
                 hist_count(b->beside) >= judge_samples(950000);

    if (b->load_ns <= 0 || b->store_ns <= 0)
        return;
    facts_put_times(f, FACT_LOADS_ALONE_US, b->alone, 1e3);
    facts_put_times(f, FACT_LOADS_BESIDE_US, b->beside, 1e3);
    facts_put_number(f, FACT_LOADS_DEPTH, run_ns > 0 ? b->load_ns / run_ns : NAN);
    facts_put_number(f, FACT_STORES_DEPTH, run_ns > 0 ? b->store_ns / run_ns : NAN);
    if (known) {
        bounds_of_p95(b->alone, &low[0], &high[0]);
        bounds_of_p95(b->beside, &low[1], &high[1]);
    }
    known = known && low[0] > 0;
    facts_put_number(f, FACT_STORES_COST,
                     known ? (double)hist_percentile(b->beside, 950000) /
                                 (double)hist_percentile(b->alone, 950000)
                           : NAN);
    facts_put_number(f, FACT_STORES_COST_LOW, known ? low[1] / high[0] : NAN);
    facts_put_number(f, FACT_STORES_COST_HIGH, known ? high[1] / low[0] : NAN);
}

static void put_target(struct facts *f, const struct evidence *ev)
{
    static const char *const kind[] = {[TARGET_MEDIUM_UNKNOWN] = "unknown",
                                       [TARGET_MEDIUM_STORAGE] = "storage",
                                       [TARGET_MEDIUM_MEMORY] = "memory",
                                       [TARGET_MEDIUM_NETWORK] = "network"};
    const struct tier_info *t = ev->storage;
    int huge = t ? t->huge_pages : -1;

    facts_put_text(f, FACT_TARGET, t ? kind[ev->target] : NULL);
    facts_put_text(f, FACT_FILE_SYSTEM, t ? ev->file_system : NULL);
    facts_put_text(f, FACT_LAYERS, t ? ev->below.layers : NULL);
    facts_put_yes(f, FACT_REDUCES, !t ? -1 : ev->below.reduces ? 1 : !ev->below.layers[0] ? -1 : 0);
    facts_put_text(f, FACT_CACHE_BELOW, t && ev->below.cache ? ev->below.cache_of : NULL);
    facts_put_number(f, FACT_RESIDENT_SHARE, ev->resident_share);
    facts_put_text(f, FACT_PAGES,
                   t && t->engine_pages ? "engine"
                   : huge < 0           ? NULL
                   : huge               ? "huge"
                                        : "small");
    facts_put_number(f, FACT_PAGES_RUN, t && t->pages_run > 0 ? t->pages_run : NAN);
    facts_put_yes(f, FACT_REGISTERED_BUFFERS, t ? t->registered : -1);
    facts_put_yes(f, FACT_DIRECT, t ? t->direct : -1);
    facts_put_number(f, FACT_CACHED_READ_SHARE, evidence_cached_read_share(ev));
    facts_put_number(f, FACT_RESIDENT_SHARE_BEFORE, ev->resident_before);
    facts_put_text(f, FACT_LIKE, t && t->looks_up ? t->engine : NULL);
    facts_put_text(f, FACT_PAGE_CACHE, t && t->keeps_cache ? "included" : NULL);
}

/* Writes that found no room on the target, and their outcome. */
static void put_full(struct facts *f, const struct evidence *ev)
{
    const struct counts *n = ev->counts;

    facts_put_text(f, FACT_ON_FULL, !ev->bounded ? NULL : ev->cleans ? "evict" : "fail");
    facts_put_count(f, FACT_FULL_WRITES, ev->bounded, n->full_writes);
    facts_put_count(f, FACT_CLEANINGS, ev->cleans, n->cleanings);
    facts_put_count(f, FACT_REMOVED_OBJECTS, ev->cleans, n->removed_objects);
    facts_put_count(f, FACT_REMOVED_BYTES, ev->cleans, n->removed_bytes);
    facts_put_count(f, FACT_REMOVED_MISSES, ev->cleans, n->removed_misses);
}

/* Gaps of the scheduler stand apart: they lengthen neither service nor device times. */
static void json_gaps(struct jsonout *j, const char *key, const struct evidence *ev, bool scheduler)
{
    size_t kept = ev->gaps ? gap_list_kept(ev->gaps) : 0;

    jsonout_array(j, key);
    for (size_t i = 0; i < kept; i++) {
        struct gap g = gap_list_at(ev->gaps, i);
        if ((gap_list_of(ev->gaps, g.loop) == GAPS_OF_SCHEDULER) != scheduler)
            continue;
        jsonout_object(j, NULL);
        jsonout_text_value(j, "thread", gap_list_loop_name(ev->gaps, g.loop));
        jsonout_f64(j, "start_s", (double)(g.start_ns - ev->zero_ns) / 1e9);
        jsonout_f64(j, "end_s", (double)(g.end_ns - ev->zero_ns) / 1e9);
        jsonout_end(j);
    }
    jsonout_end(j);
}

/* The drive's own counts of the run, or the reason why there are none. */
static void put_drive_log(struct facts *f, const struct evidence *ev)
{
    const struct drive_log *before = &ev->log_before, *after = &ev->log_after;
    bool known = before->known && after->known, media = before->media_known && after->media_known;
    char why[160];

    facts_put_number(f, FACT_LOG_AMPLIFICATION,
                     drive_log_amplification(before, after, why, sizeof(why)));
    facts_put_number(f, FACT_LOG_HOST_BYTES,
                     known ? (double)(after->host_write_bytes - before->host_write_bytes) : NAN);
    facts_put_number(f, FACT_LOG_MEDIA_BYTES,
                     media ? (double)(after->media_write_bytes - before->media_write_bytes) : NAN);
    facts_put_count(f, FACT_LOG_LIFETIME_BYTES, known, after->host_write_bytes);
    facts_put_number(f, FACT_LOG_USED, known ? (double)after->percentage_used : NAN);
    facts_put_text(f, FACT_LOG_WHY_UNKNOWN, why);
}

void evidence_put(struct facts *f, const struct evidence *ev)
{
    char cold[COLD_TEXT];

    machine_facts(f, &ev->machine_before, &ev->machine_after, ev->gaps, ev->elapsed_ns);
    facts_put_times(f, FACT_CLIENT_DELAY_US, ev->counts->lateness, 1e3);
    put_moved(f, ev);
    put_network(f, &ev->network);
    put_target(f, ev);
    put_both(f, ev);
    put_full(f, ev);
    if (ev->overloaded) {
        facts_put_number(f, FACT_OFFERED_PER_S, ev->offered_per_s);
        facts_put_number(f, FACT_ACHIEVED_PER_S, ev->achieved_per_s);
        facts_put_number(f, FACT_BACKLOG_GROWTH, ev->growth_per_s);
    }
    origin_put_facts(f, ev);
    facts_put_text(f, FACT_COLD, ev->cold.asked ? cold_text(cold, &ev->cold) : NULL);
    drive_times_put(ev->drive_times, ev->storage, ev->file_system, f);
    put_drive_log(f, ev);
}

void evidence_json(struct jsonout *j, const struct facts *f, const struct evidence *ev)
{
    size_t kept = ev->gaps ? gap_list_kept(ev->gaps) : 0;

    facts_write(j, f, FACTS_OF_EVIDENCE);
    drive_times_json(ev->drive_times, j);
    json_gaps(j, "gaps", ev, false);
    json_gaps(j, "scheduler_gaps", ev, true);
    jsonout_u64(j, "gaps_more", ev->gaps ? gap_list_count(ev->gaps) - kept : 0);
}

void validity_json(struct jsonout *j, const struct validity *v)
{
    jsonout_array(j, "why_invalid");
    for (unsigned i = 0; i < v->whys; i++)
        jsonout_text_value(j, NULL, v->why[i]);
    jsonout_end(j);
    jsonout_array(j, "validity");
    for (unsigned i = 0; i < v->figures; i++) {
        const struct validity_figure *f = &v->figure[i];
        runs_put_state(j,
                       &(struct runs_state){.figures = validity_kind_word(f->of),
                                            .tier = f->everywhere ? NULL : trace_tier_text(f->tier),
                                            .op = f->everywhere ? NULL : trace_op_text(f->op),
                                            .word = validity_state_word(f->state),
                                            .why = f->why});
    }
    jsonout_end(j);
    jsonout_array(j, "notes");
    for (unsigned i = 0; i < v->notes; i++)
        jsonout_text_value(j, NULL, v->note[i]);
    jsonout_end(j);
}
