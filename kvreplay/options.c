/* What kvreplay can be told: one table that the parser, --help and the test against the man page
 * read, and the rules about options that have no meaning together. */
#include "kvreplay/options.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "kvreplay/config.h"
#include "kvreplay/order.h"
#include "kvreplay/waiter.h"
#include "lib/save.h"
#include "lib/units.h"

#define AT(field) offsetof(struct options, field)
#define MIB       (1024.0 * 1024.0)

const struct opt options_table[] = {
    {.type = OPT_HEADING, .help = "Targets"},
    {.name = "nvme",
     .type = OPT_TEXT,
     .offset = AT(nvme),
     .arg = "DIR|FILE|DEVICE",
     .alias = "cache-dir",
     .help = "Where Tier-2 objects go: a directory (created, or empty, or ours), a file or a block "
             "device. Needed when the trace has Tier-2 rows."},
    {.name = "layout",
     .type = OPT_ENUM,
     .offset = AT(layout),
     .choices = "auto|files|slab",
     .def = "auto",
     .help = "One file per object, or all in one slab. auto: files in a directory, else a slab."},
    {.name = "destroy-data",
     .type = OPT_FLAG,
     .offset = AT(destroy_data),
     .help = "Writes over a device, or a file that holds what kvreplay did not write."},
    {.name = "gpu-mem-gb",
     .type = OPT_F64,
     .offset = AT(gpu_mem_gb),
     .arg = "GiB",
     .max = 1 << 20,
     .help = "Capacity of Tier-0. 0: from the trace."},
    {.name = "cpu-mem-gb",
     .type = OPT_F64,
     .offset = AT(cpu_mem_gb),
     .arg = "GiB",
     .max = 1 << 20,
     .help = "Capacity of Tier-1. 0: from the trace."},
    {.name = "storage-capacity-gb",
     .type = OPT_F64,
     .offset = AT(storage_gb),
     .arg = "GiB",
     .max = 1 << 20,
     .help = "Capacity of Tier-2. 0: what the target has."},
    {.name = "gpu",
     .type = OPT_TEXT,
     .offset = AT(gpu),
     .arg = "N|auto|off|require",
     .def = "auto",
     .help = "GPU for Tier-0: a device, the first one if there is any, none, or the first one or "
             "an error. "
             "Without a GPU Tier-0 is simulated."},
    {.name = "gpu-bandwidth",
     .type = OPT_BANDWIDTH,
     .offset = AT(gpu_bandwidth),
     .arg = "RATE",
     .def = "64GB/s",
     .min = 1,
     .max = 1e15,
     .help = "Of the simulated GPU."},
    {.name = "gpu-latency",
     .type = OPT_DURATION,
     .offset = AT(gpu_latency_ns),
     .arg = "TIME",
     .def = "10us",
     .help = "Of an operation on the simulated GPU."},
    {.name = "tier-engine",
     .type = OPT_LIST,
     .offset = AT(tier_engine),
     .arg = "N=sim:bw=RATE,lat=TIME,servers=N,stall=AT+TIME|null|mem",
     .help = "Puts a simulated, empty or memory engine under tier N (0, 1 or 2)."},
    {.name = "tier-map",
     .type = OPT_LIST,
     .offset = AT(tier_map),
     .arg = "N=M",
     .help = "Runs the rows of tier N on tier M."},
    {.name = "overflow",
     .type = OPT_ENUM,
     .offset = AT(overflow),
     .choices = "fail|wrap",
     .def = "fail",
     .help = "A memory tier too small for its objects is an error, or its space is used again: the "
             "cost of the copies is real, the contents are not kept."},
    {.name = "null",
     .type = OPT_FLAG,
     .offset = AT(null),
     .help = "Empty engines under all tiers: the client's own ceiling."},
    {.name = "keep",
     .type = OPT_FLAG,
     .offset = AT(keep),
     .help = "Leaves the objects in the directory, for a later run to adopt."},
    {.name = "reserve",
     .type = OPT_F64,
     .offset = AT(reserve_percent),
     .arg = "PERCENT",
     .def = "5",
     .max = 99,
     .help = "Share of the target's file system that stays free."},
    {.type = OPT_HEADING, .help = "Load"},
    {.name = "timing",
     .type = OPT_ENUM,
     .offset = AT(timing),
     .choices = "asap|trace|served|closed",
     .def = "asap",
     .help =
         "As fast as possible, each row at its Timestamp, or each request when it has arrived and "
         "a worker is free."},
    {.name = "workers",
     .type = OPT_U64,
     .offset = AT(workers),
     .arg = "N",
     .max = 4096,
     .help = "Requests that are served at once (with --timing served, which needs it)."},
    {.name = "speed",
     .type = OPT_F64,
     .offset = AT(speed),
     .arg = "FACTOR",
     .def = "1",
     .min = 1e-6,
     .max = 1e9,
     .help = "Divides all times of the trace (unless --timing asap)."},
    {.name = "inflight",
     .type = OPT_U64,
     .offset = AT(inflight),
     .arg = "N",
     .max = 4096,
     .help = "Objects in flight at most. 0: 64, and 1024 unless --timing asap."},
    {.name = "max-concurrent-allocs",
     .type = OPT_U64,
     .offset = AT(max_writes),
     .arg = "N",
     .max = 4096,
     .help = "Objects that are being written at once, at most. 0: as many as are in flight."},
    {.name = "order",
     .type = OPT_ENUM,
     .offset = AT(order),
     .choices = "auto|request|key|none",
     .def = "auto",
     .help = "What a row waits for: the row before it of its request and earlier rows of its key, "
             "only those of its "
             "key, or neither. auto: request when the trace has that column, else key."},
    {.name = "only-tier",
     .type = OPT_ENUM,
     .offset = AT(only_tier),
     .choices = "all|0|1|2",
     .def = "all",
     .help = "Executes the rows of one tier and leaves the others out."},
    {.name = "users",
     .type = OPT_U64,
     .offset = AT(users),
     .arg = "N",
     .max = 1 << 24,
     .help = "Executes the rows of the first N users of the trace and of nobody, and leaves the "
             "others out. 0: all."},
    {.name = "limit",
     .type = OPT_U64,
     .offset = AT(limit),
     .arg = "ROWS",
     .help = "Ends after so many rows of the trace. 0: all."},
    {.name = "loops",
     .type = OPT_U64,
     .offset = AT(loops),
     .arg = "N",
     .def = "1",
     .min = 1,
     .max = 1 << 20,
     .help = "Runs the trace (or its first --limit rows) so many times, one after another."},
    {.name = "duration",
     .type = OPT_DURATION,
     .offset = AT(duration_ns),
     .arg = "TIME",
     .help = "Ends that long after the clock has started, with what was done by then. 0: with the "
             "trace."},
    {.name = "warmup",
     .type = OPT_DURATION,
     .offset = AT(warmup_ns),
     .arg = "TIME",
     .help = "Rows that start within that time after the clock has started are executed, and left "
             "out of the summary's statistics."},
    {.name = "on-absent",
     .type = OPT_ENUM,
     .offset = AT(on_absent),
     .choices = "create|skip|fail",
     .def = "create",
     .help =
         "Objects that are read before they were written: write them first, count them, or stop."},
    {.name = "on-error",
     .type = OPT_ENUM,
     .offset = AT(on_error),
     .choices = "continue|stop",
     .def = "continue",
     .help = "After a row that failed."},
    {.name = "lag-limit",
     .type = OPT_DURATION,
     .offset = AT(lag_limit_ns),
     .arg = "TIME",
     .def = "1s",
     .help = "A row later than this is said once (with --timing trace)."},
    {.name = "on-lag",
     .type = OPT_ENUM,
     .offset = AT(on_lag),
     .choices = "continue|skip-wait|stop",
     .def = "continue",
     .help = "Then: go on, let Generate rows take no time until caught up, or stop."},
    {.name = "lateness-budget",
     .type = OPT_DURATION,
     .offset = AT(lateness_budget_ns),
     .arg = "TIME",
     .def = "1ms",
     .help = "P99 of client lateness above which the run is marked invalid (unless --timing "
             "asap)."},
    {.name = "spin",
     .type = OPT_TEXT,
     .offset = AT(spin),
     .arg = "TIME|auto",
     .def = "auto",
     .help =
         "The last of each wait for a row's time that is spent spinning, to be awake then. auto: "
         "as much as sleeps end late, up to 2 ms."},
    {.type = OPT_HEADING, .help = "Finding the limit"},
    {.name = "autoscale",
     .type = OPT_ENUM,
     .offset = AT(autoscale),
     .choices = "off|qos|capacity",
     .def = "off",
     .help = "Serves one trace after another, each for a number of users, to find the most users "
             "that are served within the limits, or the fewest that reach the highest throughput."},
    {.name = "each",
     .type = OPT_TEXT,
     .offset = AT(each),
     .arg = "COMMAND",
     .help = "A shell command that writes the trace of {N} users to its standard output."},
    {.name = "step-warmup",
     .type = OPT_DURATION,
     .offset = AT(step_warmup_ns),
     .arg = "TIME",
     .def = "10s",
     .help = "Time to settle before each measurement."},
    {.name = "step-duration",
     .type = OPT_DURATION,
     .offset = AT(step_duration_ns),
     .arg = "TIME",
     .def = "60s",
     .min = 1e6,
     .max = 1e15,
     .help = "Length of each measurement."},
    {.name = "start-users",
     .type = OPT_U64,
     .offset = AT(start_users),
     .arg = "N",
     .def = "10",
     .min = 1,
     .max = 1 << 24,
     .help = "Users of the first step."},
    {.name = "max-users",
     .type = OPT_U64,
     .offset = AT(max_users),
     .arg = "N",
     .def = "10000",
     .min = 1,
     .max = 1 << 24,
     .help = "Most users that are tried."},
    {.name = "storage-p95",
     .type = OPT_DURATION,
     .offset = AT(storage_p95_ns),
     .arg = "TIME",
     .def = "100ms",
     .min = 1,
     .max = 1e15,
     .help = "Limit of the 95th percentile of the service time of Tier-2 reads."},
    {.name = "qos-p95",
     .type = OPT_LIST,
     .offset = AT(qos_p95),
     .arg = "CLASS=TIME",
     .help = "Limit of the 95th percentile of the end-to-end time of the requests of a QoS class "
             "(with --autoscale qos)."},
    {.name = "target-saturation",
     .type = OPT_F64,
     .offset = AT(target_saturation),
     .arg = "SHARE",
     .def = "0.8",
     .max = 1,
     .help = "Saturation from which on a step is recorded as saturated."},
    {.name = "config",
     .letter = 'c',
     .type = OPT_TEXT,
     .offset = AT(config),
     .arg = "FILE",
     .help = "YAML configuration: how --autoscale scales, and what it calls saturated."},
    {.type = OPT_HEADING, .help = "Storage"},
    {.name = "chunk-size",
     .type = OPT_SIZE,
     .offset = AT(chunk_bytes),
     .arg = "SIZE",
     .def = "1MiB",
     .min = 4096,
     .max = 64 * MIB,
     .help = "Objects are cut into I/Os of this size, a multiple of 4 KiB."},
    {.name = "iodepth",
     .type = OPT_U64,
     .offset = AT(iodepth),
     .arg = "N",
     .def = "32",
     .min = 1,
     .max = 1024,
     .help = "I/Os in flight."},
    {.name = "rings",
     .type = OPT_U64,
     .offset = AT(rings),
     .arg = "N",
     .def = "1",
     .min = 1,
     .max = 64,
     .help = "Threads with a ring of their own; they share --iodepth."},
    {.name = "ioengine",
     .type = OPT_ENUM,
     .offset = AT(ioengine),
     .choices = "auto|uring|psync",
     .def = "auto",
     .help = "io_uring, or a pool of pread/pwrite threads."},
    {.name = "sqpoll",
     .type = OPT_FLAG,
     .offset = AT(sqpoll),
     .help = "io_uring with a polling kernel thread."},
    {.name = "iopoll",
     .type = OPT_FLAG,
     .offset = AT(iopoll),
     .help = "io_uring with polled completions."},
    {.name = "buffered",
     .type = OPT_FLAG,
     .offset = AT(buffered),
     .help = "Does not use O_DIRECT."},
    {.name = "sync",
     .type = OPT_ENUM,
     .offset = AT(sync),
     .choices = "none|end|object",
     .def = "none",
     .help = "fdatasync: never, once at the end, or after each object."},
    {.name = "verify",
     .type = OPT_ENUM,
     .offset = AT(verify),
     .choices = "none|header|full",
     .def = "header",
     .help = "What is checked of each block that is read."},
    {.name = "compress-ratio",
     .type = OPT_F64,
     .offset = AT(compress_ratio),
     .arg = "R",
     .def = "1",
     .min = 1,
     .max = 64,
     .help = "Tier-2 objects that a compressor makes R times smaller."},
    {.name = "dedup-ratio",
     .type = OPT_F64,
     .offset = AT(dedup_ratio),
     .arg = "R",
     .def = "1",
     .min = 1,
     .max = 255,
     .help = "Tier-2 objects of which R blocks one after another are alike."},
    {.type = OPT_HEADING, .help = "Output"},
    {.name = "output",
     .letter = 'o',
     .type = OPT_TEXT,
     .offset = AT(output),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT,
     .help = "Result rows go here; otherwise to standard output when it is no terminal."},
    {.name = "zstd",
     .letter = 'z',
     .type = OPT_FLAG,
     .offset = AT(zstd),
     .flags = OPT_NO_EFFECT,
     .help = "Compresses the result rows; a FILE that ends in .zst is compressed anyway."},
    {.name = "level",
     .type = OPT_U64,
     .offset = AT(level),
     .arg = "N",
     .def = "3",
     .min = 1,
     .max = 19,
     .flags = OPT_NO_EFFECT,
     .help = "Compression level."},
    {.name = "frames",
     .type = OPT_ENUM,
     .offset = AT(frames),
     .choices = "many|one",
     .def = "many",
     .flags = OPT_NO_EFFECT,
     .help = "Independent zstd frames and a seek table, or one ordinary frame."},
    {.name = "summary",
     .type = OPT_TEXT,
     .offset = AT(summary),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT,
     .help = "Writes the summary as JSON."},
    {.name = "ceiling",
     .type = OPT_TEXT,
     .offset = AT(ceiling),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT,
     .help = "Summary of a run with --null over the same trace on this host: a run that comes "
             "within 70 % of it says so."},
    {.name = "progress",
     .type = OPT_ENUM,
     .offset = AT(progress),
     .choices = "auto|none|text|json",
     .def = "auto",
     .flags = OPT_NO_EFFECT,
     .help = "One line a second on standard error: on a terminal, never, always, or as JSON."},
    {.name = "threads",
     .type = OPT_U64,
     .offset = AT(threads),
     .arg = "N",
     .def = "2",
     .min = 1,
     .max = 256,
     .flags = OPT_NO_EFFECT,
     .help = "Threads that format and compress result rows."},
    {.type = OPT_HEADING, .help = "Input"},
    {.name = "skip-bad-rows",
     .type = OPT_FLAG,
     .offset = AT(skip_bad_rows),
     .help = "Counts bad rows instead of ending at the first."},
    {.name = "long",
     .type = OPT_FLAG,
     .offset = AT(long_window),
     .help = "Accepts zstd windows over 128 MiB."},
    {.name = NULL, .help = NULL},
};

struct opt_parser *options_open(struct options *o)
{
    return opt_open("kvreplay", "[options] [TRACE|-]", options_table, o);
}

static int options_check_served(const struct opt_parser *p, const struct options *o, struct err *e)
{
    if (o->timing != TIMING_SERVED)
        return opt_refuse(p, e, "has a meaning only with --timing served", "workers", (char *)NULL);
    if (o->workers == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--timing served", "needs --workers N");
    if (o->order != OPTIONS_ORDER_AUTO && o->order != 1 + ORDER_REQUEST)
        return err_set(e, -EINVAL, ERR_INPUT, "--order",
                       "with --timing served the rows of a request run one after another");
    return 0;
}

static int options_check_spin(struct options *o, struct err *e)
{
    o->spin_ns = WAITER_AUTO;
    if (strcmp(o->spin, "auto") == 0 || units_parse_duration(o->spin, &o->spin_ns) == 0)
        return 0;
    return err_set(e, -EINVAL, ERR_INPUT, "--spin", "%s: expected auto or a time, such as 200us",
                   o->spin);
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
        rc = options_check_spin(o, e);
    if (rc == 0)
        rc = options_check_outputs(o, o->autoscale ? NULL : *trace, e);
    if (rc < 0)
        return rc;
    if (o->warmup_ns && o->duration_ns && o->warmup_ns >= o->duration_ns)
        return err_set(e, -EINVAL, ERR_INPUT, "--warmup", "not shorter than --duration");
    if (o->inflight == 0)
        o->inflight = o->timing == TIMING_ASAP ? 64 : o->workers > 1024 ? o->workers : 1024;
    return options_check_mode(p, o, e);
}
