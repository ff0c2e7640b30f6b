/* Behind run.c: completes the evidence of a run with what the replay itself knows, has the run
 * judged, and writes figures, results and summary. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvreplay/device/origin.h"
#include "kvreplay/run.h"
#include "kvreplay/validity.h"

int replay_first(int rc, int after, const struct err *later)
{
    char line[1200];

    if (rc && after < 0 && after != -EPIPE) {
        err_format(later, options_program(), line, sizeof(line));
        fprintf(stderr, "%s\n", line);
    }
    return rc ? rc : after;
}

bool replay_is_remote(const struct replay *r, unsigned tier)
{
    return r->tiers.choice[tier].kind == TIERS_REMOTE;
}

static int64_t replay_p95(const struct hist *h)
{
    return h && hist_count(h) ? hist_percentile(h, 950000) : TRACE_NONE;
}

int replay_measure(struct replay *r, int rc, struct err *e)
{
    const struct counts *n = &r->counts;
    struct replay_figures *f = r->in->figures;
    struct counts_group read, write;
    enum sched_end end = r->outcome.end;
    int64_t until = n->until_ns < n->last_done_ns ? n->until_ns : n->last_done_ns;

    if (end == SCHED_DURATION) /* whether or not something ended just then */
        until = n->until_ns;
    int rc_read = counts_sum(n, TRACE_STORAGE, TRACE_READ, &read);
    int rc_write = counts_sum(n, TRACE_STORAGE, TRACE_WRITE, &write);
    if (rc_read < 0 || rc_write < 0)
        r->counts.errors = -ENOMEM;
    struct replay_times t = {.read = read.service, .write = write.service, .queue = n->queue};
    double seconds = until > n->from_ns ? (double)(until - n->from_ns) / 1e9 : 0;
    *f = (struct replay_figures){.interrupted = end == SCHED_SIGNAL,
                                 .stopped =
                                     end == SCHED_ERROR || end == SCHED_EPIPE || end == SCHED_LOST,
                                 .seconds = seconds,
                                 .least_s = seconds,
                                 .tokens = n->tokens,
                                 .bytes = n->done_bytes,
                                 .failed = n->failed + n->differing.corrupt,
                                 .waiting = r->outcome.waiting,
                                 .read_p95_ns = replay_p95(t.read),
                                 .write_p95_ns = replay_p95(t.write),
                                 .queue_p95_ns = replay_p95(t.queue)};
    for (unsigned i = 0; i < TRACE_QOSES; i++) {
        t.end_to_end[i] = n->end_to_end[i];
        f->end_to_end_p95_ns[i] = replay_p95(t.end_to_end[i]);
    }
    if (r->in->pool && r->in->rank->started) /* else they have agreed on an error */
        rc = r->in->pool(r->in->ctx, rc, &t, e);
    counts_group_release(&read);
    counts_group_release(&write);
    return rc;
}

/* Whether the target kept up with a load that has times of its own. */
static void replay_set_overload(struct replay *r)
{
    struct evidence *ev = &r->evidence;
    const struct counts *n = &r->counts;
    const struct backlog *b = &r->backlog;
    bool served = r->o->timing == SCHED_SERVED;
    double offered = 0, seconds = (double)(b->last_ns - b->first_ns) / 1e9;

    if (served && seconds > 0)
        offered = (double)(hist_count(n->queue) + r->outcome.waiting) / seconds;
    else if (n->due_rows > 1 && n->last_due_ns > n->first_due_ns)
        offered = (double)n->due_rows * 1e9 / (double)(n->last_due_ns - n->first_due_ns);
    ev->served = served;
    ev->offered_per_s = offered;
    ev->overloaded = offered > 0 && backlog_grows(b, offered, &ev->growth_per_s);
    ev->achieved_per_s = offered - ev->growth_per_s;
}

/* The rate that the links of all devices carry together; 0: one of them is not known. */
static uint64_t replay_link_bytes_per_s(const struct tiers *t)
{
    const struct target_device *device[SPREAD_MAX];
    uint64_t sum = 0;

    for (unsigned i = 0, n = tiers_devices(t, device); i < n; i++) {
        uint64_t link = evidence_link_bytes_per_s("/sys", device[i]->name);
        if (link == 0)
            return 0;
        sum += link;
    }
    return sum;
}

/* Adds to the evidence what the replay itself knows. */
static void replay_set_evidence(struct replay *r)
{
    enum sched_end end = r->outcome.end;
    int64_t last = r->counts.last_done_ns; /* before zero when no row is behind the head */
    struct evidence *ev = &r->evidence;

    counts_settle(&r->counts);
    ev->counts = &r->counts;
    ev->drive_times = r->drive_times;
    ev->digest = r->reader_stuck ? "" : trace_digest(r->trace);
    ev->timed = r->timed;
    ev->speed = r->o->speed;
    ev->by_keys = r->o->split == SPLIT_KEYS;
    ev->interrupted = end != SCHED_DONE && end != SCHED_DURATION;
    ev->bounded = r->tiers.storages > 0;
    ev->cleans = ev->bounded && r->o->on_full == OPTIONS_FULL_EVICT;
    ev->lagged = r->ledger.lagged;
    ev->lag_limit_ns = r->o->lag_limit_ns;
    ev->elapsed_ns = last > r->outcome.zero_ns ? last - r->outcome.zero_ns : 0;
    ev->warmup_ns = r->o->warmup_ns;
    bool remote = replay_is_remote(r, TRACE_STORAGE);
    ev->compress_ratio = r->tiers.storages ? r->o->compress_ratio : 1;
    ev->dedup_ratio = r->tiers.storages || remote ? r->o->dedup_ratio : 1;
    ev->gaps = r->tiers.gaps;
    ev->zero_ns = r->outcome.zero_ns;
    ev->own_io_ns = -1;
    ev->all_empty = true;
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        const struct tier_info *info = &r->tiers.info[i];
        ev->real[i] = info->engine && !info->simulated;
        ev->loops[i] = (enum gap_of)info->loops;
        ev->drive[i] = info->simulated ? r->tiers.choice[i].drive : NULL;
        ev->real_engine |= ev->real[i];
        ev->empty[i] = info->engine && r->tiers.choice[i].kind == TIERS_NULL;
        ev->all_empty &= ev->empty[i] || !info->engine;
    }
    if ((r->tiers.storages || remote) && r->tiers.info[TRACE_STORAGE].engine) {
        ev->storage = &r->tiers.info[TRACE_STORAGE];
        ev->own_io_ns = ev->storage->io_ns - r->tiers.io_ns_before[TRACE_STORAGE];
    }
    if (remote) {
        ev->target = TARGET_MEDIUM_NETWORK;
        snprintf(ev->file_system, sizeof(ev->file_system), "%s", ev->storage->engine);
    }
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        for (unsigned k = 0; k < r->tiers.doors[i] && replay_is_remote(r, i); k++)
            evidence_door(ev, &r->tiers.door_before[i][k], &r->tiers.door[i][k]);
    }
    replay_set_overload(r);
    ev->fell_back = r->tiers.info[TRACE_STORAGE].fallbacks.count > 0;
    ev->link_bytes_per_s = replay_link_bytes_per_s(&r->tiers);
}

/* After the run, when the evidence is whole. */
static void replay_judge_cold(struct replay *r)
{
    struct cold *c = &r->evidence.cold;
    struct origin reads;
    char text[COLD_TEXT];

    origin_find(&reads, &r->evidence, TRACE_READ);
    cold_judge(c, &reads);
    if (!c->asked || !c->why[0])
        return;
    progress_clear(r->progress);
    fprintf(stderr, "kvreplay%s: %s\n", ranks_suffix(), cold_text(text, c));
}

/* Requests of each class, and of all, that the run did not come to. */
static void replay_count_unread(const struct replay *r, uint64_t unread[TRACE_QOSES + 1])
{
    bool known = r->surveyed && r->o->loops <= 1 && r->outcome.end == SCHED_DURATION;
    for (unsigned i = 0; i <= TRACE_QOSES; i++) {
        uint64_t due = r->survey.due_requests[i], entered = r->counts.entered[i];
        unread[i] = r->outcome.end == SCHED_DONE ? 0
                    : !known                     ? SUMMARY_NOT_KNOWN
                    : due > entered              ? due - entered
                                                 : 0;
    }
}

int replay_report(struct replay *r, int rc, struct err *e)
{
    struct validity validity;
    struct err later = {0};

    replay_set_evidence(r);
    for (unsigned i = 0; i < TRACE_TIERS; i++)
        r->evidence.doors[i] = tiers_doors(&r->tiers, i, &r->counts);
    replay_judge_cold(r);
    validity_judge(&validity, &r->evidence, r->o->lateness_budget_ns);
    struct summary s = {.argc = r->in->argc,
                        .argv = r->in->argv,
                        .started_wall_ns = r->started_wall_ns,
                        .input = trace_name(r->trace),
                        .options = r->in->parser,
                        .evidence = &r->evidence,
                        .validity = &validity,
                        .tiers = &r->tiers,
                        .populated = r->populate.done,
                        .skipped = r->skipped,
                        .bad_rows = r->reader_stuck ? 0 : trace_bad_rows(r->trace, NULL),
                        .cpu_ns = r->cpu_ns,
                        .spun_ns = r->outcome.spun_ns,
                        .sync_ns = r->sync_ns,
                        .data_seed = r->data_seed,
                        .by_duration = r->outcome.end == SCHED_DURATION,
                        .part = r->o->part.on ? &r->o->part : NULL,
                        .run_id = r->o->run_id,
                        .by_keys = r->o->split == SPLIT_KEYS,
                        .start_at_wall_ns = r->o->start_wall_ns,
                        .start = r->start,
                        .workers = r->o->workers,
                        .by_class = r->by_class,
                        .threads = r->threads};
    replay_count_unread(r, s.unread);
    progress_clear(r->progress);
    struct jsonout *j = summary_json(&s);
    if (!j && rc == 0)
        rc = err_nomem(e, "summary");
    if (j && r->in->more)
        r->in->more(r->in->ctx, j, r->in->figures);
    if (r->writer) {
        int finished =
            trace_finish(r->writer, j ? jsonout_text(j, false) : NULL, NULL, rc ? &later : e);
        rc = replay_first(rc, finished, &later);
        r->writer = NULL;
    }
    if (j && r->in->rank && jsonout_text(j, false))
        r->in->rank->summary = strdup(jsonout_text(j, false));
    if (j && r->o->summary) {
        int saved = jsonout_save(j, r->o->summary, rc ? &later : e);
        rc = replay_first(rc, saved, &later);
    }
    jsonout_free(j);
    ledger_end(&r->ledger);
    if (r->outcome.end != SCHED_EPIPE && !r->in->rank)
        (r->o->full ? summary_text_full : summary_text)(&s, stderr);
    return rc;
}
