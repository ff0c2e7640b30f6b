/* kvprecond brings a directory, file or device to a known state before a measurement. A run goes
 * through options, plan, fill_target, fill, rounds and report, in that order. This file opens and
 * closes what one run holds. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kvprecond/fill.h"
#include "kvprecond/fill_target.h"
#include "kvprecond/lane.h"
#include "kvprecond/many.h"
#include "kvprecond/options.h"
#include "kvprecond/remote_stream.h"
#include "kvprecond/report.h"
#include "kvprecond/rounds.h"
#include "kvprecond/run_progress.h"
#include "kvprecond/witness.h"
#include "lib/base/clock.h"
#include "lib/base/descriptors.h"
#include "lib/base/err.h"
#include "lib/base/progress.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/ranks/claims.h"
#include "lib/ranks/ranks.h"
#include "lib/thread/thread.h"

/* The resources of one run; run_close releases them. */
struct run {
    struct options o;
    const struct opt_parser *parser; /* of the options */
    struct ranks *ranks;
    int64_t listen_ns; /* when to look next whether another rank has ended the run */
    bool told_to;      /* it has */
    struct report report;
    struct lane *lanes;          /* report.lane_count of them */
    struct claim_others *others; /* on the file system of each */
    struct hist *service;
    struct witness witness;
    bool filled; /* the witness's first span, the fill, has ended */
    struct run_progress progress_line;
    bool written; /* the fill has begun */
};

static void print_error(const struct err *e)
{
    char line[sizeof(e->where) + sizeof(e->what) + 32];

    err_format(e, options_program(), line, sizeof(line));
    fprintf(stderr, "%s\n", line);
}

/* Says which of several ranks it was. */
static void name_rank(const struct run *r, struct err *e)
{
    if (ranks_count(r->ranks) > 1)
        ranks_name(r->ranks, ranks_rank(r->ranks), e);
}

/* Prints a failure. Returns the status of the first one. */
static int report_failure(int status, int rc, const struct err *e)
{
    if (rc >= 0)
        return status;
    print_error(e);
    return status != 0 ? status : err_exit_status(e);
}

static const char *errno_name(int rc)
{
    return err_errno_name(-rc) ? err_errno_name(-rc) : "error";
}

/* ---- opening ---- */

/* Learns which ranks share a file system, where each needs as much as the others. */
static int compare_claims(struct run *r, struct err *e)
{
    const unsigned n = r->o.remote ? 0 : r->o.target_count;
    struct claim *own = calloc(r->o.target_count, sizeof(*own));
    int rc = 0;

    r->others = calloc(r->o.target_count, sizeof(*r->others));
    if (!own || !r->others)
        rc = err_nomem(e, "targets");
    for (unsigned i = 0; i < n && rc == 0; i++) {
        dev_t place = 0;

        (void)target_file_system(r->o.targets[i].path, &place); /* the opening tells why not */
        own[i].place = place;
    }
    rc = ranks_agree(r->ranks, rc, e);
    if (rc == 0)
        rc = claims_compare(r->ranks, false, own, n, r->others, e);
    free(own);
    return rc;
}

/* Takes the targets and plans their fills. */
static int open_lanes(struct run *r, struct err *e)
{
    struct report *all = &r->report;
    int rc = 0;

    r->lanes = calloc(r->o.target_count, sizeof(*r->lanes));
    if (!r->lanes)
        return err_nomem(e, "targets");
    all->lanes = r->lanes;
    all->direct = true;
    for (unsigned i = 0; i < r->o.target_count && rc == 0; i++) {
        struct lane *l = &r->lanes[i];

        *l = (struct lane){
            .o = &r->o, .at = &r->o.targets[i], .number = i, .others = r->others[i].targets};
        all->lane_count = i + 1;
        rc = lane_open(l, &all->fallbacks, e);
        all->direct &= l->direct;
        all->capacity += l->capacity;
        all->size_bytes += l->size_bytes;
        all->depth = l->depth;
    }
    return rc;
}

static int open_queues(struct run *r, struct err *e)
{
    const double have = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    const bool stream = r->o.mode == PLAN_STREAM;
    double need = 0;
    char a[32], b[32];
    int rc = 0;

    for (unsigned i = 0; i < r->report.lane_count; i++)
        need += (double)lane_buffer_bytes(&r->lanes[i]);
    if (need > have / 2)
        return err_set(e, ENOMEM, ERR_INPUT, stream ? "--config buffers" : "--threads",
                       "the buffers need %s, but the host has %s: use %s",
                       units_format_bytes(a, sizeof(a), need),
                       units_format_bytes(b, sizeof(b), have),
                       stream ? "fewer or smaller ones"
                              : "fewer threads, or a smaller --config iodepth or --block-size");
    r->service = hist_create();
    r->progress_line.progress =
        progress_open(stderr, options_program(), (enum progress_mode)r->o.progress, UNITS_NS_PER_S);
    r->report.held = (struct fill_held){hist_create(), hist_create()};
    if (!r->service || !r->progress_line.progress || !r->report.held.held || !r->report.held.freed)
        return err_nomem(e, "buffers");
    r->witness.gaps = gap_list_create(e);
    if (!r->witness.gaps)
        return e->code;
    r->report.service = r->service;
    for (unsigned i = 0; i < r->report.lane_count && rc == 0; i++) {
        rc = lane_open_queues(&r->lanes[i], &r->report.fallbacks, e);
        r->report.engine = r->lanes[i].engine;
    }
    return rc;
}

/* ---- running ---- */

/* A target that cannot be purged is filled as it is. That is said, and nothing else is lost. */
static int purge(struct run *r, struct lane *l, struct err *e)
{
    struct err why = {0};
    int rc = fill_target_purge(l->target, stop_asks, &l->purged_bytes, &why);

    r->report.purged_bytes += l->purged_bytes;
    if (rc == 0)
        return 0;
    if (stop_asks())
        return err_set(e, EINTR, ERR_FAILED, l->at->path, "stopped during the purge");
    r->report.purge_failed = l->purge_failed = errno_name(rc);
    name_rank(r, &why);
    print_error(&why);
    return 0;
}

static enum fill_wish wish(struct run *r)
{
    return stop_abandons() ? FILL_ABANDON : stop_asks() || r->told_to ? FILL_STOP : FILL_GO_ON;
}

/* The caller's thread. */
static enum fill_wish tick(void *ctx, uint64_t written)
{
    struct run *r = ctx;
    int64_t now_ns = clock_now_ns();
    unsigned by;

    run_progress_tick(&r->progress_line, written);
    if (now_ns >= r->listen_ns) {
        r->listen_ns = now_ns + UNITS_NS_PER_S / 4;
        if (ranks_stopped(r->ranks, &by))
            r->told_to = true;
    }
    return wish(r);
}

/* The fill is over; what follows are rounds. */
static void end_filling(void *ctx)
{
    struct run *r = ctx;

    witness_end(&r->witness, &r->report.disturbance, &r->report.facts);
    r->filled = true;
    witness_begin(&r->witness);
}

static bool end_round(void *ctx, const struct fill_span *span)
{
    struct run *r = ctx;
    struct disturbance round;
    char why[DISTURBANCE_WHY];

    witness_end(&r->witness, &round, NULL);
    witness_begin(&r->witness);
    if (disturbance_judge(&round, why) != VALIDITY_UNRELIABLE)
        why[0] = '\0';
    bool steady = rounds_add(&r->report.rounds, span, why);

    if (r->o.rounds) /* a kill loses the round under way; an error is told at the end, which saves
                        too */
        rounds_save(&r->report.rounds, r->o.rounds, NULL);
    return steady;
}

/* Writes all targets with the threads of each. */
static int fill_all(struct run *r, struct err *e)
{
    const unsigned n = r->report.lane_count;
    struct fill_lane *lanes = calloc(n, sizeof(*lanes));
    int rc;

    if (!lanes)
        return err_nomem(e, "targets");
    for (unsigned i = 0; i < n; i++)
        lanes[i] = (struct fill_lane){.plan = &r->lanes[i].plan,
                                      .target = r->lanes[i].target,
                                      .queues = r->lanes[i].queues,
                                      .name = n > 1 ? r->lanes[i].at->path : "",
                                      .node = r->lanes[i].node,
                                      .service = r->lanes[i].service};
    const struct fill_opts o = {.lanes = lanes,
                                .lane_count = n,
                                .threads = r->lanes[0].queue_count,
                                .bufs = r->lanes[0].bufs,
                                .depth = r->report.depth,
                                .fillers = r->o.mode == PLAN_STREAM ? (unsigned)r->o.threads : 0,
                                .advice = r->o.advice,
                                .round_ns = r->o.until_steady ? r->o.round_ns : 0,
                                .gaps = r->witness.gaps,
                                .held = &r->report.held,
                                .filled = end_filling,
                                .round = end_round,
                                .tick = tick,
                                .ctx = r};
    rc = fill_run(&o, &r->report.fill, r->service, e);
    if (r->o.remote && !r->report.fill.stuck) {
        remote_stream_finish(r->lanes[0].remote);
        const char *said = remote_stream_said(r->lanes[0].remote);
        if (rc < 0 && said[0])
            err_set(e, -rc, ERR_FAILED, r->lanes[0].at->path, "%s", said);
    }
    for (unsigned i = 0; i < n; i++) {
        r->lanes[i].bytes = lanes[i].bytes;
        r->lanes[i].writes = lanes[i].writes;
        r->lanes[i].elapsed_ns = lanes[i].elapsed_ns;
    }
    if (!r->report.fill.stuck) /* its threads look at them until the process ends */
        free(lanes);
    return rc;
}

static void begin_watching(struct run *r)
{
    struct witness *w = &r->witness;

    for (unsigned i = 0; i < r->report.lane_count && !r->o.remote; i++) {
        const struct lane *l = &r->lanes[i];
        w->device[w->devices++] = &l->device;
        w->slack_bytes += (uint64_t)l->queue_count * l->depth * l->plan.o.write_bytes;
    }
    witness_begin(w);
}

static int fill(struct run *r, struct err *e)
{
    int64_t cpu_ns = clock_process_cpu_ns();
    int rc;

    r->written = true;
    r->report.rounds.track = (enum rounds_track)r->o.track;
    r->progress_line.rounds = &r->report.rounds;
    r->progress_line.size = r->report.size_bytes;
    r->progress_line.round_ns = r->o.until_steady ? r->o.round_ns : 0;
    r->progress_line.begun_ns = r->progress_line.shown_ns = clock_now_ns();
    begin_watching(r);
    rc = fill_all(r, e);
    if (!r->filled)
        witness_end(&r->witness, &r->report.disturbance, &r->report.facts);
    r->report.cpu_ns = clock_process_cpu_ns() - cpu_ns;
    progress_clear(r->progress_line.progress);
    if (rc < 0)
        r->report.why_short = errno_name(rc);
    else if (r->report.fill.stopped)
        r->report.why_short = r->told_to ? "another rank" : stop_signal_name();
    return rc;
}

/* Bytes that a stream has left in the page cache, and the most memory that the program took. */
static void look_at_memory(struct run *r)
{
    struct rusage usage = {0};

    r->report.cached_known = !r->report.fill.stuck;
    for (unsigned i = 0; i < r->report.lane_count && r->report.cached_known; i++) {
        struct lane *l = &r->lanes[i];

        l->cached_known = l->target && fill_target_cached(l->target, &l->cached_bytes) == 0;
        r->report.cached_known = l->cached_known;
        r->report.cached_bytes += l->cached_bytes;
    }
    getrusage(RUSAGE_SELF, &usage);
    r->report.peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
}

/* The kernel's count of the bytes written to the targets' devices, each device once. False: one of
 * them has none. */
static bool count_written(const struct run *r, uint64_t *bytes)
{
    const struct target_device *device[OPTIONS_TARGETS_MAX];
    struct target_counters c;

    for (unsigned i = 0; i < r->report.lane_count; i++)
        device[i] = &r->lanes[i].device;
    bool known = target_devices_count(device, r->report.lane_count, &c) == 0;
    *bytes = c.write_bytes;
    return known;
}

/* Makes durable what was written, on each target. */
static int sync_all(struct run *r, struct err *e)
{
    int first = 0;

    for (unsigned i = 0; i < r->report.lane_count; i++) {
        struct fill_target *t = r->lanes[i].target;
        int rc = t ? fill_target_sync(t, first ? NULL : e) : 0;

        first = first ? first : rc;
    }
    return first;
}

/* The fill, and what is measured around it. */
static int run_fill(struct run *r, struct err *e)
{
    const struct rounds *rounds = &r->report.rounds;
    uint64_t before, after;
    int64_t sync_ns;
    int rc, sync = 0;

    r->report.counted = count_written(r, &before);
    rc = fill(r, e);
    r->report.kept |= r->report.fill.stuck;
    sync_ns = clock_now_ns();
    /* Files on a full file system may be kept: they must be durable too. A fill that a signal has
     * ended and is removed now need not be. */
    if ((rc == 0 || rc == -ENOSPC) && !r->report.fill.stuck &&
        (r->report.kept || !r->report.fill.stopped))
        sync = sync_all(r, rc == 0 ? e : NULL);
    rc = rc < 0 ? rc : sync;
    r->report.sync_ns = clock_now_ns() - sync_ns;
    r->report.counted = r->report.counted && count_written(r, &after);
    r->report.device_write_bytes = r->report.counted ? after - before : 0;
    for (unsigned i = 0; i < r->report.lane_count; i++) {
        struct lane *l = &r->lanes[i];

        l->files = l->remote ? remote_stream_objects(l->remote) : fill_target_files(l->target);
        r->report.files += l->files;
    }
    r->report.huge_pages = io_buffers_huge(r->lanes[0].queues[0].pool);
    if (r->o.remote)
        r->report.doors =
            remote_stream_describe(r->lanes[0].remote, &r->report.store, r->report.door);
    if (r->o.mode == PLAN_STREAM)
        look_at_memory(r);
    if (rc < 0 || !r->o.until_steady || r->report.fill.stopped || rounds_steady(rounds))
        return rc;
    return err_set(e, EAGAIN, ERR_FAILED, r->report.lane_count > 1 ? "" : r->o.targets[0].path,
                   "steady state was not reached in %u round%s (by %s); %u of them %s disturbed",
                   rounds->count, units_plural(rounds->count), rounds_track_name(rounds->track),
                   rounds->count - rounds->judged,
                   rounds->count - rounds->judged == 1 ? "was" : "were");
}

/* Writes every output, whatever became of those before: a fill may have taken hours. */
static int run_report(const struct run *r, int argc, char **argv, int status)
{
    struct err e = {0};
    int rc = r->o.json ? report_json(&r->report, "-", argc, argv, &e)
                       : report_text(&r->report, stdout, &e);

    status = report_failure(status, rc, &e);
    rc = r->o.summary ? report_json(&r->report, r->o.summary, argc, argv, &e) : 0;
    status = report_failure(status, rc, &e);
    rc = r->o.rounds ? rounds_save(&r->report.rounds, r->o.rounds, &e) : 0;
    return report_failure(status, rc, &e);
}

/* A target that is still at work on abandoned writes stays as it is, for the next run to clear. */
static void say_stuck(const struct run *r)
{
    for (unsigned i = 0; i < r->report.lane_count; i++)
        fprintf(stderr, "%s: %s: writes are still under way, so nothing was removed\n",
                options_program(), r->lanes[i].at->path);
}

/* Releases everything; what was written is removed unless it is to be kept. */
static int run_close(struct run *r, struct err *e)
{
    int first = 0;

    progress_close(r->progress_line.progress);
    if (r->report.fill.stuck) {
        say_stuck(r);
        return 0;
    }
    for (unsigned i = 0; i < r->report.lane_count; i++) {
        int rc = lane_close(&r->lanes[i], r->o.keep && r->written, first ? NULL : e);

        first = first ? first : rc;
    }
    free(r->lanes);
    free(r->others);
    gap_list_free(r->witness.gaps);
    hist_free(r->report.held.held);
    hist_free(r->report.held.freed);
    hist_free(r->service);
    return first;
}

/* The directories above those of the ranks. */
static int make_parents(const struct run *r, struct err *e)
{
    int rc = 0;

    for (unsigned i = 0; i < r->o.target_count && rc == 0 && r->o.part.on && !r->o.remote; i++)
        rc = r->o.targets[i].kind == TARGET_DIR ? part_make_parent(r->o.targets[i].path, e) : 0;
    return rc;
}

static int start_lane(struct run *r, struct lane *l, struct err *e)
{
    int rc = r->o.purge ? purge(r, l, e) : 0;

    return rc == 0 && l->target ? fill_target_start(l->target, e) : rc;
}

/* Everything before the first write; all ranks together, or none. */
static int run_open(struct run *r, struct err *e)
{
    int rc = stop_install(
        ranks_suffix()[0]
            ? "kvprecond-mpi: stopping: finishing the writes in flight; again to abort\n"
            : "kvprecond: stopping: finishing the writes in flight; again to abort\n",
        e);

    if (rc == 0)
        rc = make_parents(r, e);
    rc = ranks_agree(r->ranks, rc, e);
    if (rc == 0)
        rc = compare_claims(r, e);
    if (rc < 0)
        return rc;
    rc = open_lanes(r, e);
    if (rc == 0)
        rc = open_queues(r, e);
    rc = ranks_agree(r->ranks, rc, e);
    if (rc < 0)
        return rc;
    for (unsigned i = 0; i < r->report.lane_count && rc == 0; i++)
        rc = start_lane(r, &r->lanes[i], e);
    rc = ranks_agree(r->ranks, rc, e);
    if (rc == 0)
        ranks_go_on(r->ranks);
    return rc;
}

/* Reports the fill, which all ranks have begun. */
static int run_tell(struct run *r, int argc, char **argv, int status)
{
    struct err e = {0};

    if (ranks_count(r->ranks) == 1)
        return run_report(r, argc, argv, status);
    int rc = r->o.rounds ? rounds_save(&r->report.rounds, r->o.rounds, &e) : 0;
    name_rank(r, &e);
    status = report_failure(status, rc, &e);
    rc = many_report(r->ranks, &r->report, argc, argv, &status, &e);
    name_rank(r, &e);
    return report_failure(status, rc, &e);
}

static int run(struct run *r, int argc, char **argv)
{
    struct err e = {0}, closing = {0};
    int status, rc, filled = 0;

    r->report.o = &r->o;
    r->report.kept = r->o.keep || r->o.kind == TARGET_DEVICE;
    r->report.started_wall_ns = clock_wall_ns();
    rc = run_open(r, &e);
    opt_tell_place(r->parser, &e);
    if (rc < 0 && ranks_rank(r->ranks) > 0) /* rank 0 says it */
        status = err_exit_status(&e);
    else
        status = report_failure(0, rc, &e);
    if (rc == 0) {
        filled = run_fill(r, &e);
        if (filled < 0 || stop_asks())
            ranks_stop(r->ranks);
        name_rank(r, &e);
        /* Closing tells more of a store that was lost. */
        status = filled == -ESTALE ? err_exit_status(&e) : report_failure(status, filled, &e);
        status = run_tell(r, argc, argv, status);
    }
    rc = run_close(r, &closing);
    name_rank(r, &closing);
    if (filled == -ESTALE && rc == 0)
        status = report_failure(status, filled, &e);
    return stop_exit_status(report_failure(status, rc, &closing));
}

/* Which rank this is, and what it is to do. Rank 0 speaks for all. */
static int open_all(struct run *r, struct opt_parser **parser, int *argc, char ***argv,
                    struct err *e)
{
    int rc = ranks_open(&r->ranks, argc, argv, e);

    if (rc < 0)
        return rc;
    unsigned rank = ranks_rank(r->ranks), count = ranks_count(r->ranks);
    r->o.part = (struct part){.on = count > 1, .rank = rank, .count = count};
    snprintf(r->o.part.host, sizeof(r->o.part.host), "%s", ranks_host(r->ranks, rank));
    rc = options_parse(&r->o, parser, *argc, *argv, e);
    if (rc > 0) /* the answer to --help, on all ranks */
        return rc;
    rc = ranks_agree(r->ranks, rc, e);
    struct {
        struct hash128 options, version;
    } same = {r->o.fingerprint, hash_128(KVTRACE_VERSION, strlen(KVTRACE_VERSION))};
    return rc < 0 ? rc
                  : ranks_same(r->ranks, hash_128(&same, sizeof(same)), "version or options", e);
}

int main(int argc, char **argv)
{
    struct run r = {0};
    struct opt_parser *parser = NULL;
    struct err e = {0};
    int status = 0, rc;

    descriptors_open_standard();
    rc = open_all(&r, &parser, &argc, &argv, &e);
    bool speaks = !r.ranks || ranks_rank(r.ranks) == 0;
    const struct model_reading *reading = &r.o.reading;
    for (unsigned i = 0; rc == 0 && speaks && i < reading->assumed.count; i++)
        fprintf(stderr, "%s: %s: --force-model: %s\n", options_program(), r.o.model_id,
                reading->assumed.text[i]);
    for (unsigned i = 0; rc == 0 && speaks && i < reading->unread.count; i++)
        fprintf(stderr, "%s: %s: %s is not read, although its name is about the cache\n",
                options_program(), r.o.model_id, reading->unread.text[i]);
    r.parser = parser;
    if (rc == 0)
        status = run(&r, argc, argv);
    else if (rc > 0)
        rc = speaks ? opt_print_answer(parser, &e) : 0;
    if (rc < 0) {
        status = err_exit_status(&e);
        if (speaks)
            print_error(&e);
    }
    opt_close(parser);
    if (!r.report.fill.stuck)
        options_release(&r.o);
    ranks_close(r.ranks, status);
    if (r.report.fill.stuck) { /* engines still work in memory that is left to them */
        fflush(NULL);
        _exit(status);
    }
    return status;
}
