/* kvprecond brings a directory, file or device to a known state before a measurement. A run goes
 * through options, plan, fill_target, fill, rounds and report, in that order. This file opens and
 * closes what one run holds. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kvprecond/fill.h"
#include "kvprecond/fill_target.h"
#include "kvprecond/options.h"
#include "kvprecond/plan.h"
#include "kvprecond/remote_stream.h"
#include "kvprecond/report.h"
#include "kvprecond/rounds.h"
#include "kvprecond/run_progress.h"
#include "kvprecond/stream.h"
#include "lib/base/clock.h"
#include "lib/base/descriptors.h"
#include "lib/base/err.h"
#include "lib/base/progress.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"

#define PROGRAM "kvprecond"

/* What one run holds; run_close releases it. */
struct run {
    struct options o;
    struct report report;
    struct fill_target *target;   /* NULL: a remote store */
    struct remote_stream *remote; /* NULL: a path */
    struct plan plan;
    struct fill_queue *queues; /* queue_count of them */
    unsigned queue_count;      /* one, or one of each thread */
    unsigned bufs;             /* of each */
    size_t pool_bytes;         /* of each */
    struct hist *service;
    struct run_progress progress_line;
    bool written; /* the fill has begun */
};

static void print_error(const struct err *e)
{
    char line[sizeof(e->where) + sizeof(e->what) + 32];

    err_format(e, PROGRAM, line, sizeof(line));
    fprintf(stderr, "%s\n", line);
}

/* Prints a failure. Returns the status of the first one. */
static int report_failure(int status, int ret, const struct err *e)
{
    if (ret >= 0)
        return status;
    print_error(e);
    return status != 0 ? status : err_exit_status(e);
}

static const char *errno_name(int ret)
{
    return err_errno_name(-ret) ? err_errno_name(-ret) : "error";
}

/* ---- opening ---- */

static int open_target(struct run *r, struct err *e)
{
    if (r->o.remote)
        return 0; /* open_remote */
    const struct fill_target_opts o = {.path = r->o.path,
                                       .kind = r->o.kind,
                                       .reserve_share = r->o.reserve_share,
                                       .keep = r->o.keep,
                                       .data_seed = r->o.seed,
                                       .destroy_data = r->o.destroy_data,
                                       .buffered = r->o.buffered};
    int ret = fill_target_open(&r->target, &o, e);

    if (ret < 0)
        return ret;
    r->report.capacity = fill_target_capacity(r->target);
    r->report.direct = fill_target_direct(r->target);
    if (!r->report.direct && !r->o.buffered)
        notes_add(&r->report.fallbacks, "O_DIRECT refused by the file system");
    target_device_find(fill_target_fd(r->target), &r->report.device);
    return 0;
}

/* The region is the whole device, or as much of a directory or file as was asked for. */
static int make_plan(struct run *r, struct err *e)
{
    const uint64_t object = DATA_PADDED(r->o.object_bytes), capacity = r->report.capacity;
    struct plan_opts p = {.mode = (enum plan_mode)r->o.mode,
                          .region = capacity ? capacity : r->o.size,
                          .volume = r->o.size ? r->o.size : 2 * capacity,
                          .object_bytes = object,
                          .file_per_object = r->o.kind == TARGET_DIR,
                          .write_bytes = (uint32_t)r->o.block_bytes,
                          .seed = r->o.seed};

    if (p.mode == PLAN_KV) {
        if (capacity && capacity < object)
            return err_set(e, ENOSPC, ERR_TARGET, r->o.path, "is smaller than an object of %s",
                           r->o.model.id);
        p.region =
            capacity ? capacity / object * object : (p.volume + object - 1) / object * object;
        p.volume = r->o.size ? p.volume : 2 * p.region;
    }
    p.file_bytes = r->o.kind == TARGET_DIR ? r->o.file_bytes : p.region;
    r->report.depth = (unsigned)r->o.iodepth;
    r->bufs = fill_buffers(r->report.depth, p.write_bytes);
    r->queue_count = (unsigned)r->o.threads;
    if (p.mode == PLAN_STREAM) {
        r->bufs = (unsigned)r->o.buffers;
        r->report.depth = r->report.depth < r->bufs ? r->report.depth : r->bufs;
        r->queue_count = 1;
    }
    plan_init(&r->plan, &p);
    r->report.size_bytes = plan_volume_bytes(&r->plan);
    if (r->o.remote)
        return 0;
    return fill_target_plan(r->target, &r->plan, (r->bufs + 1) * r->queue_count, e);
}

static int open_remote(struct run *r, struct err *e)
{
    const struct remote_stream_opts o = {.uri = &r->o.uri,
                                         .keep = r->o.keep,
                                         .destroy_data = r->o.destroy_data,
                                         .data_seed = r->o.seed,
                                         .timeout_ns = r->o.timeout_ns,
                                         .retries = (unsigned)r->o.retries,
                                         .plan = &r->plan,
                                         .depth = r->report.depth};

    return r->o.remote ? remote_stream_open(&r->remote, &o, e) : 0;
}

static int open_queues(struct run *r, struct err *e)
{
    const size_t pool_bytes = (size_t)r->bufs * r->o.block_bytes;
    const double need = (double)pool_bytes * (double)r->queue_count;
    const double have = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    const bool stream = r->o.mode == PLAN_STREAM;
    char a[32], b[32];

    if (need > have / 2)
        return err_set(e, ENOMEM, ERR_INPUT, stream ? "--buffers" : "--threads",
                       "the buffers need %s, but the host has %s: use %s",
                       units_format_bytes(a, sizeof(a), need),
                       units_format_bytes(b, sizeof(b), have),
                       stream ? "fewer or smaller ones"
                              : "fewer threads, or a smaller --iodepth or --block-size");
    r->pool_bytes = pool_bytes;
    r->queues = calloc(r->queue_count, sizeof(*r->queues));
    r->service = hist_create();
    r->progress_line.progress =
        progress_open(stderr, PROGRAM, (enum progress_mode)r->o.progress, UNITS_NS_PER_S);
    if (!r->queues || !r->service || !r->progress_line.progress)
        return err_nomem(e, "buffers");
    r->report.service = r->service;
    for (unsigned i = 0; i < r->queue_count; i++) {
        struct fill_queue *q = &r->queues[i];
        struct io_opts o = {
            .depth = r->report.depth, .buf_bytes = r->o.block_bytes, .bufs = r->bufs};
        int ret;

        q->pool = o.pool = io_buffers_map(
            pool_bytes, r->o.uri.pages == URI_PAGES_SMALL ? IO_PAGES_SMALL : IO_PAGES_HUGE);
        if (!q->pool)
            return err_nomem(e, "buffers");
        if (r->remote)
            q->io = remote_stream_io(r->remote);
        ret = r->remote ? 0 : io_open(&q->io, (enum io_engine)r->o.engine, &o, e);
        if (ret < 0)
            return ret;
        /* A later queue may lack what the first could have: descriptors, memory to lock. */
        notes_merge(&r->report.fallbacks, &q->io->fallbacks);
        r->report.engine = q->io->ops->name;
    }
    return 0;
}

/* ---- running ---- */

static bool stopped(void)
{
    return stop_signal() != 0;
}

/* A target that cannot be purged is filled as it is. That is said, and nothing else is lost. */
static int purge(struct run *r, struct err *e)
{
    struct err why = {0};
    int ret = fill_target_purge(r->target, stopped, &r->report.purged_bytes, &why);

    if (ret == 0)
        return 0;
    if (stopped())
        return err_set(e, EINTR, ERR_FAILED, r->o.path, "stopped during the purge");
    r->report.purge_failed = errno_name(ret);
    print_error(&why);
    return 0;
}

static enum fill_wish tick(void *ctx, uint64_t written)
{
    struct run *r = ctx;

    run_progress_tick(&r->progress_line, written);
    return stop_abandons() ? FILL_ABANDON : stopped() ? FILL_STOP : FILL_GO_ON;
}

static bool end_round(void *ctx, const struct fill_span *span)
{
    struct run *r = ctx;

    bool steady = rounds_add(&r->report.rounds, span);

    if (r->o.rounds) /* a kill loses the round under way; an error is told at the end, which saves
                        too */
        rounds_save(&r->report.rounds, r->o.rounds, NULL);
    return steady;
}

static int stream(struct run *r, struct err *e)
{
    const struct stream_opts o = {.plan = &r->plan,
                                  .target = r->target,
                                  .queue = r->queues[0],
                                  .bufs = r->bufs,
                                  .fillers = (unsigned)r->o.threads,
                                  .depth = r->report.depth,
                                  .advice = r->o.advice,
                                  .tick = tick,
                                  .ctx = r};
    struct stream_result result;
    int ret = stream_run(&o, &result, r->service, e);

    if (r->remote && !result.fill.stuck) {
        remote_stream_finish(r->remote);
        const char *code = remote_stream_code(r->remote);
        if (ret < 0 && code[0])
            err_set(e, -ret, ERR_FAILED, r->o.path, "%s", code);
    }
    r->report.fill = result.fill;
    r->report.data_wait_ns = result.data_wait_ns;
    r->report.store_wait_ns = result.store_wait_ns;
    return ret;
}

static int fill(struct run *r, struct err *e)
{
    const struct fill_opts o = {.plan = &r->plan,
                                .target = r->target,
                                .queues = r->queues,
                                .threads = r->queue_count,
                                .bufs = r->bufs,
                                .depth = r->report.depth,
                                .round_ns = r->o.until_steady ? r->o.round_ns : 0,
                                .round = end_round,
                                .tick = tick,
                                .ctx = r};
    int64_t cpu_ns = clock_process_cpu_ns();
    int ret;

    r->written = true;
    r->report.rounds.track = (enum rounds_track)r->o.track;
    r->progress_line.rounds = &r->report.rounds;
    r->progress_line.size = r->report.size_bytes;
    r->progress_line.round_ns = o.round_ns;
    r->progress_line.begun_ns = r->progress_line.shown_ns = clock_now_ns();
    ret = r->o.mode == PLAN_STREAM ? stream(r, e) : fill_run(&o, &r->report.fill, r->service, e);
    r->report.cpu_ns = clock_process_cpu_ns() - cpu_ns;
    progress_clear(r->progress_line.progress);
    if (ret < 0)
        r->report.why_short = errno_name(ret);
    else if (r->report.fill.stopped)
        r->report.why_short = stop_signal() == SIGTERM ? "SIGTERM" : "SIGINT";
    return ret;
}

/* What a stream has left in the page cache, and what the program took at most. */
static void look_at_memory(struct run *r)
{
    struct rusage usage = {0};

    r->report.cached_known = r->target && !r->report.fill.stuck &&
                             fill_target_cached(r->target, &r->report.cached_bytes) == 0;
    getrusage(RUSAGE_SELF, &usage);
    r->report.peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
}

/* The fill, and what is measured around it. */
static int run_fill(struct run *r, struct err *e)
{
    const struct rounds *rounds = &r->report.rounds;
    struct target_counters before = {0}, after = {0};
    int64_t sync_ns;
    int ret, sync = 0;

    r->report.device.counted =
        r->report.device.counted && target_device_count(&r->report.device, &before) == 0;
    ret = fill(r, e);
    sync_ns = clock_now_ns();
    /* What fits on a full file system may be kept: it must be durable too. */
    if (r->target && (ret == 0 || ret == -ENOSPC) && !r->report.fill.stuck)
        sync = fill_target_sync(r->target, ret == 0 ? e : NULL);
    ret = ret < 0 ? ret : sync;
    r->report.sync_ns = clock_now_ns() - sync_ns;
    if (r->report.device.counted && target_device_count(&r->report.device, &after) == 0)
        r->report.device_write_bytes = after.write_bytes - before.write_bytes;
    r->report.files = r->remote ? remote_stream_objects(r->remote) : fill_target_files(r->target);
    r->report.huge_pages = io_buffers_huge(r->queues[0].pool);
    if (r->remote)
        r->report.doors = remote_stream_describe(r->remote, &r->report.store, r->report.door);
    if (r->o.mode == PLAN_STREAM)
        look_at_memory(r);
    if (ret < 0 || !r->o.until_steady || r->report.fill.stopped || rounds_steady(rounds))
        return ret;
    return err_set(e, EAGAIN, ERR_FAILED, r->o.path,
                   "steady state was not reached in %u round%s (by %s)", rounds->count,
                   units_plural(rounds->count), rounds_track_name(rounds->track));
}

/* Writes every output, whatever became of those before: a fill may have taken hours. */
static int run_report(const struct run *r, int argc, char **argv, int status)
{
    struct err e = {0};
    int ret = r->o.json ? report_json(&r->report, "-", argc, argv, &e)
                        : report_text(&r->report, stdout, &e);

    status = report_failure(status, ret, &e);
    ret = r->o.summary ? report_json(&r->report, r->o.summary, argc, argv, &e) : 0;
    status = report_failure(status, ret, &e);
    ret = r->o.rounds ? rounds_save(&r->report.rounds, r->o.rounds, &e) : 0;
    return report_failure(status, ret, &e);
}

/* Releases everything; what was written is removed unless it is to be kept. A target that is still
 * at work on abandoned writes stays as it is, for the next run to clear. */
static int run_close(struct run *r, struct err *e)
{
    int ret;

    progress_close(r->progress_line.progress);
    if (r->report.fill.stuck)
        return 0;
    ret = remote_stream_close(r->remote, r->o.keep && r->written, e);
    for (unsigned i = 0; r->queues && i < r->queue_count; i++) {
        if (r->queues[i].io && !r->o.remote)
            r->queues[i].io->ops->close(r->queues[i].io);
        io_buffers_unmap(r->queues[i].pool, r->pool_bytes);
    }
    free(r->queues);
    if (r->target)
        ret = fill_target_close(r->target, r->o.keep && r->written, e);
    hist_free(r->service);
    return ret;
}

/* Everything before the first write. */
static int run_open(struct run *r, struct err *e)
{
    int ret =
        stop_install("kvprecond: stopping: finishing the writes in flight; again to abort\n", e);

    if (ret < 0)
        return ret;
    ret = open_target(r, e);
    if (ret < 0)
        return ret;
    ret = make_plan(r, e);
    if (ret < 0)
        return ret;
    ret = open_remote(r, e);
    if (ret < 0)
        return ret;
    ret = open_queues(r, e);
    if (ret < 0)
        return ret;
    if (r->o.purge) {
        ret = purge(r, e);
        if (ret < 0)
            return ret;
    }
    return r->target ? fill_target_start(r->target, e) : 0;
}

static int run(struct run *r, int argc, char **argv)
{
    struct err e = {0}, closing = {0};
    int status, ret;

    r->report.o = &r->o;
    r->report.kept = r->o.keep || r->o.kind == TARGET_DEVICE;
    r->report.started_wall_ns = clock_wall_ns();
    ret = run_open(r, &e);
    status = report_failure(0, ret, &e);
    if (ret == 0) {
        ret = run_fill(r, &e);
        status = report_failure(status, ret, &e);
        status = run_report(r, argc, argv, status);
    }
    ret = run_close(r, &closing);
    status = stop_exit_status(report_failure(status, ret, &closing));
    if (r->report.fill.stuck) { /* engines still work in memory that is left to them */
        fflush(NULL);
        _exit(status);
    }
    return status;
}

int main(int argc, char **argv)
{
    struct run r = {0};
    struct opt_parser *parser = NULL;
    struct err e = {0};
    int status = 0, ret;

    descriptors_open_standard();
    ret = options_parse(&r.o, &parser, argc, argv, &e);
    if (ret < 0) {
        print_error(&e);
        return err_exit_status(&e);
    }
    for (unsigned i = 0; ret == 0 && i < r.o.ignored_keys.count; i++)
        fprintf(stderr, "kvprecond: %s: %s is unknown and ignored (--force-model)\n", r.o.model_id,
                r.o.ignored_keys.text[i]);
    if (ret == 0)
        status = run(&r, argc, argv);
    else if (opt_print_answer(parser, &e) < 0) {
        print_error(&e);
        status = err_exit_status(&e);
    }
    opt_close(parser);
    return status;
}
