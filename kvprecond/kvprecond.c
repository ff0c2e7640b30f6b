/* kvprecond fills a directory or file with unique data at the speed of the device, so that a
 * measurement starts from a known state: options, place, fill, report, in that order. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvprecond/fill.h"
#include "kvprecond/options.h"
#include "kvprecond/place.h"
#include "kvprecond/report.h"
#include "lib/clock.h"
#include "lib/err.h"
#include "lib/progress.h"
#include "lib/stop.h"
#include "lib/units.h"

#define PROGRAM "kvprecond"

/* What one run holds; the parts are released in run_close. */
struct run {
    struct options o;
    struct report report;
    struct place *place;
    struct io *io;
    void *pool;
    size_t pool_bytes;
    unsigned bufs;
    struct hist *service;
    struct progress *progress;
    int64_t begun_ns, shown_ns;
    uint64_t shown_bytes;
};

static void print_error(const struct err *e)
{
    char line[sizeof e->where + sizeof e->what + 32];

    err_format(e, PROGRAM, line, sizeof line);
    fprintf(stderr, "%s\n", line);
}

static void show_progress(struct run *r, uint64_t written)
{
    char text[256], json[256], left[16], done[32], size[32], rate[32];
    int64_t now = clock_now_ns();
    double share = (double)written / (double)r->o.size;
    double now_rate = (double)(written - r->shown_bytes) * 1e9 / (double)(now - r->shown_ns + 1);

    progress_time_left(left, share, now - r->begun_ns);
    snprintf(text, sizeof text, "%3.0f %%  %s of %s  %s  %s%s", share * 100,
             units_format_bytes(done, sizeof done, (double)written),
             units_format_bytes(size, sizeof size, (double)r->o.size),
             units_format_rate(rate, sizeof rate, now_rate), left, *left ? " left" : "");
    snprintf(json, sizeof json,
             "{\"written_bytes\": %llu, \"size_bytes\": %llu, \"gib_per_s\": %.3f, "
             "\"elapsed_s\": %.3f}",
             (unsigned long long)written, (unsigned long long)r->o.size,
             now_rate / (double)UNITS_GIB, (double)(now - r->begun_ns) / 1e9);
    progress_show(r->progress, text, json);
    r->shown_ns = now;
    r->shown_bytes = written;
}

static bool tick(void *ctx, uint64_t written)
{
    struct run *r = ctx;

    if (progress_due(r->progress))
        show_progress(r, written);
    return stop_signal() != 0;
}

static void add_fallback(struct report *r, const char *text)
{
    size_t len = strlen(r->fallbacks);

    if (*text)
        snprintf(r->fallbacks + len, sizeof r->fallbacks - len, "%s%s", len ? "; " : "", text);
}

static int open_place(struct run *r, struct err *e)
{
    struct place_opts o = {.path = r->o.path,
                           .size = r->o.size,
                           .file_bytes = r->o.file_bytes,
                           .seed = r->o.seed,
                           .reserve_share = r->o.reserve_percent / 100,
                           .depth = (unsigned)r->o.iodepth,
                           .destroy_data = r->o.destroy_data};
    int ret = place_open(&r->place, &o, e);

    if (ret < 0)
        return ret;
    r->report.is_dir = place_is_dir(r->place);
    r->report.direct = place_direct(r->place);
    if (!r->report.direct)
        add_fallback(&r->report, "O_DIRECT refused by the file system");
    target_device(place_fd(r->place), &r->report.device);
    return 0;
}

static int open_engine(struct run *r, struct err *e)
{
    struct io_opts o = {.depth = (unsigned)r->o.iodepth, .buf_bytes = r->o.block_bytes};
    char why[256];
    int ret;

    r->bufs = fill_buffers(o.depth, (uint32_t)r->o.block_bytes);
    r->pool_bytes = (size_t)r->bufs * r->o.block_bytes;
    r->pool = io_buffers_map(r->pool_bytes);
    r->service = hist_create();
    r->progress = progress_open(stderr, PROGRAM, (enum progress_mode)r->o.progress, UNITS_NS_PER_S);
    if (!r->pool || !r->service || !r->progress)
        return err_nomem(e, "buffers");
    o.pool = r->pool;
    o.bufs = r->bufs;
    ret = io_open(&r->io, (enum io_engine)r->o.engine, &o, why, sizeof why, e);
    if (ret < 0)
        return ret;
    add_fallback(&r->report, why);
    add_fallback(&r->report, r->io->ops->fallbacks(r->io));
    r->report.engine = r->io->ops->name;
    r->report.service = r->service;
    return 0;
}

static const char *why_short(const struct run *r, int ret)
{
    if (ret < 0)
        return err_errno_name(-ret) ? err_errno_name(-ret) : "error";
    if (r->report.fill.stopped)
        return stop_signal() == SIGTERM ? "SIGTERM" : "SIGINT";
    return NULL;
}

/* The fill and what is measured around it. */
static int run_fill(struct run *r, struct err *e)
{
    struct fill_opts o = {.io = r->io,
                          .place = r->place,
                          .pool = r->pool,
                          .bufs = r->bufs,
                          .depth = (unsigned)r->o.iodepth,
                          .size = r->o.size,
                          .block_bytes = (uint32_t)r->o.block_bytes,
                          .tick = tick,
                          .ctx = r};
    struct target_counters before = {0}, after = {0};
    int64_t cpu_ns = clock_process_cpu_ns(), sync_ns;
    int ret;

    r->report.device.counted =
        r->report.device.counted && target_counters(&r->report.device, &before) == 0;
    r->begun_ns = r->shown_ns = clock_now_ns();
    ret = fill_run(&o, &r->report.fill, r->service, e);
    r->report.cpu_ns = clock_process_cpu_ns() - cpu_ns;
    progress_clear(r->progress);
    r->report.why_short = why_short(r, ret);
    sync_ns = clock_now_ns();
    if (ret == 0)
        ret = place_sync(r->place, e);
    r->report.sync_ns = clock_now_ns() - sync_ns;
    if (r->report.device.counted && target_counters(&r->report.device, &after) == 0)
        r->report.device_write_bytes = after.write_bytes - before.write_bytes;
    r->report.files = place_files(r->place);
    return ret;
}

static int run_report(struct run *r, int argc, char **argv, struct err *e)
{
    int ret = r->o.json ? report_json(&r->report, "-", argc, argv, e)
                        : report_text(&r->report, stdout, e);

    if (ret == 0 && r->o.summary)
        ret = report_json(&r->report, r->o.summary, argc, argv, e);
    return ret;
}

/* Releases everything; what was written is removed unless it is to be kept. */
static int run_close(struct run *r, struct err *e)
{
    int ret;

    progress_close(r->progress);
    if (r->io)
        r->io->ops->close(r->io);
    if (r->pool)
        io_buffers_unmap(r->pool, r->pool_bytes);
    ret = place_close(r->place, r->o.keep, e);
    hist_free(r->service);
    return ret;
}

/* Says each failure, and returns the status of the first. */
static int note(int status, int ret, const struct err *e)
{
    if (ret >= 0)
        return status;
    print_error(e);
    return status != 0 ? status : err_exit_status(e);
}

static int run(struct run *r, int argc, char **argv)
{
    struct err e = {0}, reporting = {0}, closing = {0};
    int status, ret;

    r->report.o = &r->o;
    r->report.kept = r->o.keep;
    r->report.started_wall_ns = clock_wall_ns();
    ret = stop_install(&e);
    if (ret == 0)
        ret = open_place(r, &e);
    if (ret == 0)
        ret = open_engine(r, &e);
    status = note(0, ret, &e);
    if (ret == 0) {
        ret = run_fill(r, &e);
        status = note(status, ret, &e);
        ret = run_report(r, argc, argv, &reporting);
        status = note(status, ret, &reporting);
    }
    ret = run_close(r, &closing);
    return stop_exit_status(note(status, ret, &closing));
}

int main(int argc, char **argv)
{
    struct run r = {0};
    struct opt_parser *parser = NULL;
    struct err e = {0};
    const char *answer = NULL;
    int status, ret = options_parse(&r.o, &parser, &answer, argc, argv, &e);

    if (ret < 0) {
        print_error(&e);
        return err_exit_status(&e);
    }
    if (ret == 1)
        status = fputs(answer, stdout) < 0 || fflush(stdout) != 0;
    else
        status = run(&r, argc, argv);
    opt_close(parser);
    return status;
}
