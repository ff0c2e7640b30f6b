/* A part of the summary (summary.c): every member of the evidence stands there by name, null when
 * it is not known, so that a reader can tell a missing fact from a good one. */
#include "kvreplay/evidence_json.h"

#include <math.h>
#include <stdio.h>

#include "lib/base/units.h"

/* A negative value means that it is not known: null. */
static void json_known(struct jsonout *j, const char *key, double value)
{
    jsonout_f64(j, key, value >= 0 ? value : NAN);
}

static void json_bytes(struct jsonout *j, const char *key, bool known, uint64_t before,
                       uint64_t after)
{
    if (known)
        jsonout_u64(j, key, after - before);
    else
        jsonout_null(j, key);
}

/* yes: 1, 0, or negative: not known. */
static void json_yes(struct jsonout *j, const char *key, int yes)
{
    if (yes < 0)
        jsonout_null(j, key);
    else
        jsonout_bool(j, key, yes > 0);
}

/* Of remote stores, what stands for the device's counters. */
static void json_network(struct jsonout *j, const struct evidence_network *n)
{
    char names[TIER_DOORS_MAX * (TIER_INTERFACE_CAP + 2)] = "";
    size_t len = 0;

    for (unsigned i = 0; i < n->interfaces; i++)
        len +=
            (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", i ? ", " : "", n->name[i]);
    jsonout_text_value(j, "network_interfaces", n->interfaces ? names : NULL);
    json_bytes(j, "network_received_bytes", n->counted, n->received[0], n->received[1]);
    json_bytes(j, "network_sent_bytes", n->counted, n->sent[0], n->sent[1]);
    json_bytes(j, "tcp_retransmits", n->stores && n->retransmits >= 0, 0, (uint64_t)n->retransmits);
    json_bytes(j, "remote_requests", n->stores, 0, n->requests);
    json_bytes(j, "remote_retries", n->stores, 0, n->retries);
    json_bytes(j, "remote_connections", n->stores, 0, n->connections);
}

static void json_overload(struct jsonout *j, const struct evidence *ev)
{
    if (!ev->overloaded) {
        jsonout_null(j, "overload");
        return;
    }
    jsonout_object(j, "overload");
    jsonout_f64(j, "offered_per_s", ev->offered_per_s);
    jsonout_f64(j, "achieved_per_s", ev->achieved_per_s);
    jsonout_f64(j, "backlog_growth", ev->growth_per_s);
    jsonout_end(j);
}

static void json_processors(struct jsonout *j, const struct evidence *ev)
{
    struct gap_list_delay delay;
    bool known = ev->gaps && gap_list_run_delay(ev->gaps, &delay);

    jsonout_f64(j, "run_delay_s", known ? (double)delay.all_ns / 1e9 : NAN);
    json_known(j, "run_delay_share", evidence_run_delay_share(ev));
    json_known(j, "steal_share", evidence_steal_share(ev));
    if (ev->gaps) {
        jsonout_f64(j, "largest_gap_us", (double)gap_list_largest_ns(ev->gaps) / 1e3);
        jsonout_u64(j, "gaps", gap_list_count(ev->gaps));
    } else {
        jsonout_null(j, "largest_gap_us");
        jsonout_null(j, "gaps");
    }
    jsonout_hist(j, "client_delay_us", ev->counts->lateness, 1e3);
}

static void json_target(struct jsonout *j, const struct evidence *ev)
{
    static const char *const kind[] = {[TARGET_MEDIUM_UNKNOWN] = "unknown",
                                       [TARGET_MEDIUM_STORAGE] = "storage",
                                       [TARGET_MEDIUM_MEMORY] = "memory",
                                       [TARGET_MEDIUM_NETWORK] = "network"};
    const struct tier_info *t = ev->storage;
    int huge = t ? t->huge_pages : -1;

    jsonout_text_value(j, "target", t ? kind[ev->target] : NULL);
    jsonout_text_value(j, "file_system", t && ev->file_system[0] ? ev->file_system : NULL);
    jsonout_text_value(j, "layers", t && ev->below.layers[0] ? ev->below.layers : NULL);
    jsonout_text_value(j, "cache_below", t && ev->below.cache ? ev->below.cache_of : NULL);
    json_known(j, "resident_share", ev->resident_share);
    jsonout_text_value(j, "pages", huge < 0 ? NULL : huge ? "huge" : "small");
    json_yes(j, "registered_buffers", t ? t->registered : -1);
    json_yes(j, "direct", t ? t->direct : -1);
    json_known(j, "cached_read_share", evidence_cached_read_share(ev));
    json_known(j, "resident_share_before", ev->resident_before);
    jsonout_text_value(j, "page_cache", t && t->keeps_cache ? "included" : NULL);
}

/* Those of the scheduler stand apart: they lengthen neither service nor device times. */
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

void evidence_json(struct jsonout *j, const struct evidence *ev)
{
    const struct machine *before = &ev->machine_before, *after = &ev->machine_after;
    bool own = before->io_known && after->io_known;
    size_t kept = ev->gaps ? gap_list_kept(ev->gaps) : 0;

    jsonout_object(j, "evidence");
    json_processors(j, ev);
    jsonout_f64(j, "own_io_s", ev->own_io_ns >= 0 ? (double)ev->own_io_ns / 1e9 : NAN);
    jsonout_f64(j, "kernel_io_s",
                ev->counted ? (double)(ev->after.queue_ms - ev->before.queue_ms) / 1e3 : NAN);
    json_bytes(j, "own_read_bytes", own, before->read_bytes, after->read_bytes);
    json_bytes(j, "own_write_bytes", own, before->write_bytes, after->write_bytes);
    json_bytes(j, "device_read_bytes", ev->counted, ev->before.read_bytes, ev->after.read_bytes);
    json_bytes(j, "device_write_bytes", ev->counted, ev->before.write_bytes, ev->after.write_bytes);
    json_network(j, &ev->network);
    json_target(j, ev);
    json_overload(j, ev);
    jsonout_end(j);

    json_gaps(j, "gaps", ev, false);
    json_gaps(j, "scheduler_gaps", ev, true);
    jsonout_u64(j, "gaps_more", ev->gaps ? gap_list_count(ev->gaps) - kept : 0);
}

void validity_json(struct jsonout *j, const struct validity *v)
{
    if (v->state == VALIDITY_UNKNOWN)
        jsonout_null(j, "valid");
    else
        jsonout_bool(j, "valid", v->state == VALIDITY_GOOD);
    jsonout_array(j, "why_invalid");
    for (unsigned i = 0; i < v->whys; i++)
        jsonout_text_value(j, NULL, v->why[i]);
    jsonout_end(j);
    jsonout_array(j, "validity");
    for (unsigned i = 0; i < v->figures; i++) {
        const struct validity_figure *f = &v->figure[i];
        jsonout_object(j, NULL);
        jsonout_text_value(j, "figures", validity_kind_word(f->of));
        jsonout_text_value(j, "tier", f->everywhere ? NULL : trace_tier_text(f->tier));
        jsonout_text_value(j, "op", f->everywhere ? NULL : trace_op_text(f->op));
        jsonout_text_value(j, "state", validity_state_word(f->state));
        jsonout_text_value(j, "why", f->why);
        jsonout_end(j);
    }
    jsonout_end(j);
    jsonout_array(j, "notes");
    for (unsigned i = 0; i < v->notes; i++)
        jsonout_text_value(j, NULL, v->note[i]);
    jsonout_end(j);
}
