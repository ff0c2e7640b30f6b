/* Options of kvreplay that have no meaning together or name one file twice: refused before anything
 * is opened. The table stands in options.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kvreplay/config.h"
#include "kvreplay/options.h"
#include "kvreplay/sched/idle.h"
#include "kvreplay/sched/order.h"
#include "kvreplay/validity.h"
#include "lib/base/save.h"
#include "lib/base/units.h"

static int options_check_served(const struct opt_parser *p, const struct options *o, struct err *e)
{
    if (o->timing != TIMING_SERVED)
        return opt_refuse(p, e, "has a meaning only with --timing served", "workers", (char *)NULL);
    if (o->workers == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--timing served", "needs --workers N");
    if (o->order != ORDER_AUTO && o->order != ORDER_REQUEST)
        return err_set(e, -EINVAL, ERR_INPUT, "--order",
                       "with --timing served the rows of a request run one after another");
    return 0;
}

static int options_time(const char *option, const char *text, int64_t automatic, int64_t *ns,
                        struct err *e)
{
    *ns = automatic;
    if (strcmp(text, "auto") == 0 || units_parse_duration(text, ns) == 0)
        return 0;
    return err_set(e, -EINVAL, ERR_INPUT, option, "%s: expected auto or a time, such as 200us",
                   text);
}

/* --gpu-bandwidth and --gpu-latency are those of a GPU that is simulated. */
static int options_check_gpu(const struct opt_parser *p, const struct options *o, struct err *e)
{
    int rc = 0;

    for (size_t i = 0; i < o->tier_engine.count && rc == 0; i++) {
        if (o->tier_engine.item[i][0] == '0')
            rc = opt_refuse(p, e, "has no meaning with another engine under tier 0",
                            "gpu-bandwidth", "gpu-latency", (char *)NULL);
    }
    if (rc == 0 && strcmp(o->gpu, "auto") != 0 && strcmp(o->gpu, "off") != 0)
        rc = opt_refuse(p, e, "is of a simulated GPU, and a real one is required (--gpu)",
                        "gpu-bandwidth", "gpu-latency", (char *)NULL);
    return rc;
}

static int options_check_mode(const struct opt_parser *p, const struct options *o, struct err *e)
{
    int rc = 0;

    if (o->timing == TIMING_ASAP)
        rc = opt_refuse(p, e, "has no meaning with --timing asap", "speed", "lateness-budget",
                        "spin", (char *)NULL);
    if (rc == 0 && o->timing != TIMING_TRACE)
        rc = opt_refuse(p, e, "has a meaning only with --timing trace", "lag-limit", "on-lag",
                        (char *)NULL);
    if (rc == 0)
        rc = options_check_served(p, o, e);
    if (rc == 0)
        rc = options_check_gpu(p, o, e);
    if (rc == 0 && o->null)
        rc = opt_refuse(p, e, "has no meaning with --null", "ceiling", "nvme", "compress-ratio",
                        "dedup-ratio", "layout", "destroy-data", "tier-engine", "keep", "gpu",
                        "gpu-bandwidth", "gpu-latency", "reserve", "chunk-size", "iodepth", "rings",
                        "ioengine", "sqpoll", "iopoll", "buffered", "sync", "verify", (char *)NULL);
    if (rc == 0 && !o->nvme)
        rc =
            opt_refuse(p, e, "has a meaning only with --nvme", "compress-ratio", "dedup-ratio",
                       "layout", "destroy-data", "rings", "keep", "reserve", "chunk-size",
                       "iodepth", "ioengine", "sqpoll", "iopoll", "buffered", "sync", (char *)NULL);
    if (rc == 0 && o->ioengine == 2)
        rc = opt_refuse(p, e, "has no meaning with --ioengine psync", "sqpoll", "iopoll",
                        (char *)NULL);
    if (rc == 0 && o->buffered)
        rc = opt_refuse(p, e, "has no meaning with --buffered", "iopoll", (char *)NULL);
    return rc;
}

static int options_check_autoscale(const struct opt_parser *p, struct options *o, struct err *e)
{
    size_t n;
    const char *const *operand;
    int rc;

    if (o->autoscale == AUTOSCALE_OFF)
        return opt_refuse(p, e, "has a meaning only with --autoscale", "each", "step-warmup",
                          "step-duration", "start-users", "max-users", "storage-p95", "qos-p95",
                          "target-saturation", "config", (char *)NULL);
    rc = opt_refuse(p, e, "has no meaning with --autoscale", "ceiling", "timing", "workers",
                    "users", "limit", "loops", "duration", "warmup", "keep", (char *)NULL);
    if (rc < 0)
        return rc;
    n = opt_operands(p, &operand);
    if (n > 0)
        return err_set(e, -EINVAL, ERR_INPUT, operand[0],
                       "with --autoscale the traces come from the command of --each");
    if (!o->each)
        return err_set(e, -EINVAL, ERR_INPUT, "--autoscale", "needs --each COMMAND");
    rc = config_read(p, o, e);
    if (rc < 0)
        return rc;
    if (o->start_users > o->max_users)
        return err_set(e, -EINVAL, ERR_INPUT, "--start-users", "more than --max-users");
    if (o->start_users < o->min_users)
        return err_set(e, -EINVAL, ERR_INPUT, "--start-users", "fewer than autoscaler.min_users");
    o->timing = TIMING_SERVED;
    o->workers = 1; /* until a step says how many */
    return 0;
}

const char *options_results(const struct options *o)
{
    return o->output ? o->output : isatty(STDOUT_FILENO) ? NULL : "-";
}

/* Of the outputs, what would be ignored, mixed or found impossible only when the run is over. */
static int options_check_results(const struct opt_parser *p, const struct options *o, struct err *e)
{
    const char *results = options_results(o);
    size_t len = results ? strlen(results) : 0;
    bool named = len >= 4 && strcmp(results + len - 4, ".zst") == 0;
    int rc = 0;

    if (results && !named && !o->zstd)
        rc = opt_refuse(p, e, "the results are not compressed (-z, or a name ending in .zst)",
                        "level", "frames", (char *)NULL);
    if (rc < 0 || !o->summary)
        return rc;
    if (results && strcmp(results, "-") == 0 && strcmp(o->summary, "-") == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--summary",
                       "result rows go to standard output already (-o FILE)");
    if (results && save_is_same(results, o->summary))
        return err_set(e, -EINVAL, ERR_INPUT, o->summary, "is to hold two outputs");
    return save_check(o->summary, e);
}

/* The trace is read, and a slab written, while results are written. */
static int options_check_outputs(const struct options *o, const char *trace, struct err *e)
{
    const char *path[] = {o->output, o->summary};

    if (o->nvme && trace && save_is_same(o->nvme, trace))
        return err_set(e, -EINVAL, ERR_INPUT, o->nvme,
                       "is the trace: objects would overwrite it while it is read");
    for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
        if (path[i] && trace && save_is_same(path[i], trace))
            return err_set(e, -EINVAL, ERR_INPUT, path[i],
                           "is the trace: it would be overwritten while it is read");
        if (path[i] && o->nvme && save_is_same(path[i], o->nvme))
            return err_set(e, -EINVAL, ERR_INPUT, path[i],
                           "is the target: results and objects would overwrite each other");
    }
    return 0;
}

int options_check(const struct opt_parser *p, struct options *o, const char **trace, struct err *e)
{
    const char *const *items;
    size_t n = opt_operands(p, &items);

    if (n > 1)
        return err_set(e, -EINVAL, ERR_INPUT, items[1], "one trace is replayed, not several");
    *trace = n ? items[0] : "-";
    if (o->chunk_bytes % 4096)
        return err_set(e, -EINVAL, ERR_INPUT, "--chunk-size", "not a multiple of 4 KiB");
    int rc = options_check_autoscale(p, o, e);
    if (rc == 0)
        rc = options_time("--spin", o->spin, IDLE_SPIN_AUTO, &o->spin_ns, e);
    if (rc == 0)
        rc = options_time("--lateness-budget", o->lateness_budget, VALIDITY_BUDGET_AUTO,
                          &o->lateness_budget_ns, e);
    if (rc == 0)
        rc = options_check_outputs(o, o->autoscale ? NULL : *trace, e);
    if (rc == 0)
        rc = options_check_results(p, o, e);
    if (rc < 0)
        return rc;
    if (o->warmup_ns && o->duration_ns && o->warmup_ns >= o->duration_ns)
        return err_set(e, -EINVAL, ERR_INPUT, "--warmup", "not shorter than --duration");
    if (o->inflight == 0)
        o->inflight = o->timing == TIMING_ASAP ? 64 : o->workers > 1024 ? o->workers : 1024;
    return options_check_mode(p, o, e);
}

unsigned options_iodepth(const struct options *o)
{
    const uint64_t least = 32, most = 256;
    uint64_t room = most * UNITS_MIB / o->chunk_bytes, depth = o->workers;

    if (o->iodepth)
        return (unsigned)o->iodepth;
    depth = depth < room ? depth : room;
    return (unsigned)(depth < least ? least : depth < most ? depth : most);
}
