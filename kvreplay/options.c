/* kvreplay's command line and its sections of the configuration file, as plain values: the table of
 * options, the checks that need no input, and the defaults that depend on other options. Runs
 * first; nothing is opened before all of it has been checked. */
#include "kvreplay/options.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kvreplay/sched/idle.h"
#include "kvreplay/validity.h"
#include "lib/base/units.h"
#include "lib/conf/conf.h"
#include "lib/io/target_device.h"
#include "lib/opt/files.h"
#include "lib/opt/rows.h"

#define AT(field) offsetof(struct options, field)
#define MIB       (1024.0 * 1024.0)
#define NS_PER_MS 1e6

/* Marks of the options, for check_modes; those that other files use are in options.h. */
enum {
    AUTOSCALE_ONLY = OPTIONS_MARKS << 0,
    NOT_AUTOSCALE = OPTIONS_MARKS << 1,
    NOT_ASAP = OPTIONS_MARKS << 2,
    TRACE_TIMING_ONLY = OPTIONS_MARKS << 3,
    SERVED_ONLY = OPTIONS_MARKS << 4,
    SIMULATED_GPU_ONLY = OPTIONS_MARKS << 5,
    NOT_NULL = OPTIONS_MARKS << 6,
    NVME_ONLY = OPTIONS_MARKS << 7, /* a path */
    URING_ONLY = OPTIONS_MARKS << 8,
    DIRECT_ONLY = OPTIONS_MARKS << 9,
    COMPRESSED_ONLY = OPTIONS_MARKS << 10,
    PLAIN_ONLY = OPTIONS_MARKS << 11,
    STORE_ONLY = OPTIONS_MARKS << 12, /* a path or a remote store */
    REMOTE_ONLY = OPTIONS_MARKS << 13
};

static const struct opt table[] = {
    {.type = OPT_HEADING, .help = "Targets"},
    {.name = "target",
     .type = OPT_LIST,
     .offset = AT(targets),
     .arg = "[TIER=]URI",
     .alias = "nvme",
     .marks = NOT_NULL,
     .help = "Where the objects of a tier go, Tier-2 unless TIER says otherwise: a directory "
             "(created, or empty, or ours), a file or a block device, a Redis server "
             "(redis://HOST:PORT/DB) or an object store (s3://BUCKET/PREFIX?endpoint=URL). Needed "
             "when the trace has Tier-2 rows."},
    {.name = "cache-dir",
     .type = OPT_TEXT,
     .offset = AT(cache_dir),
     .arg = "DIR",
     .marks = NOT_NULL,
     .help = "The same for a directory, as the benchmark names it."},
    {.name = "layout",
     .type = OPT_ENUM,
     .offset = AT(layout),
     .choices = "auto|files|slab",
     .def = "auto",
     .marks = NOT_NULL | NVME_ONLY,
     .help = "One file per object, or all in one slab. auto: files in a directory, else a slab."},
    {.name = "destroy-data",
     .type = OPT_FLAG,
     .offset = AT(destroy_data),
     .marks = NOT_NULL | STORE_ONLY,
     .help = "Writes over a device, or a file that holds what kvreplay did not write; removes what "
             "an earlier run kept."},
    {.name = "gpu-mem-gb",
     .type = OPT_F64,
     .offset = AT(gpu_mem_gb),
     .arg = "GiB",
     .max = 1 << 20,
     .help = "Capacity of Tier-0, of each GPU where there are several. 0: from the trace."},
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
     .arg = "N[,N]...|all|auto|off|require",
     .def = "auto",
     .marks = NOT_NULL,
     .help = "GPU for Tier-0: a device or several, all there are, the first one if there is any, "
             "none, or the first one or an error. "
             "Without a GPU Tier-0 is simulated."},
    {.name = "gpu-bandwidth",
     .type = OPT_BANDWIDTH,
     .offset = AT(gpu_bandwidth),
     .arg = "RATE",
     .def = "64GB/s",
     .min = 1,
     .max = 1e15,
     .marks = SIMULATED_GPU_ONLY | NOT_NULL,
     .help = "Of the simulated GPU."},
    {.name = "gpu-latency",
     .type = OPT_DURATION,
     .offset = AT(gpu_latency_ns),
     .arg = "TIME",
     .def = "10us",
     .marks = SIMULATED_GPU_ONLY | NOT_NULL,
     .help = "Of an operation on the simulated GPU."},
    {.name = "tier-engine",
     .type = OPT_LIST,
     .offset = AT(tier_engine),
     .arg = "N=sim:bw=RATE,lat=TIME,servers=N,stall=AT+TIME|null|mem",
     .marks = NOT_NULL,
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
     .marks = NOT_AUTOSCALE | NOT_NULL | STORE_ONLY,
     .help = "Leaves the objects on the target, for a later run to adopt, safe from a power cut "
             "when the run has ended; uses and leaves what an earlier run kept."},
    {.name = "reserve",
     .type = OPT_TEXT,
     .offset = AT(reserve),
     .arg = "PERCENT|auto",
     .def = "auto",
     .marks = NOT_NULL | NVME_ONLY,
     .help = "Share of the target's file system that stays free. auto: the smaller of 5 % of it "
             "and half of what is free."},
    {.type = OPT_HEADING, .help = "Load"},
    {.name = "timing",
     .type = OPT_ENUM,
     .offset = AT(timing),
     .choices = "asap|trace|served|closed",
     .def = "asap",
     .marks = NOT_AUTOSCALE,
     .help =
         "As fast as possible, each row at its Timestamp, or each request when it has arrived and "
         "a worker is free."},
    {.name = "workers",
     .type = OPT_U64,
     .offset = AT(workers),
     .arg = "N",
     .max = 4096,
     .marks = NOT_AUTOSCALE | SERVED_ONLY,
     .help = "Requests that are served at once (with --timing served, which needs it)."},
    {.name = "admit",
     .type = OPT_ENUM,
     .offset = AT(admit),
     .choices = "auto|qos|fifo",
     .def = "auto",
     .marks = SERVED_ONLY,
     .help =
         "Which waiting request is served next (with --timing served): the first of the highest "
         "QoS class, or the first in the trace. auto: qos when the trace has that column, else "
         "fifo."},
    {.name = "speed",
     .type = OPT_F64,
     .offset = AT(speed),
     .arg = "FACTOR",
     .def = "1",
     .min = 1e-6,
     .max = 1e9,
     .marks = NOT_ASAP,
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
     .marks = NOT_AUTOSCALE,
     .help = "Executes the rows of the first N users of the trace and of nobody, and leaves the "
             "others out. 0: all."},
    {.name = "limit",
     .type = OPT_U64,
     .offset = AT(limit),
     .arg = "ROWS",
     .marks = NOT_AUTOSCALE,
     .help = "Ends after so many rows of the trace. 0: all."},
    {.name = "loops",
     .type = OPT_U64,
     .offset = AT(loops),
     .arg = "N",
     .def = "1",
     .min = 1,
     .max = 1 << 20,
     .marks = NOT_AUTOSCALE,
     .help = "Runs the trace (or its first --limit rows) so many times, one after another."},
    {.name = "duration",
     .type = OPT_DURATION,
     .offset = AT(duration_ns),
     .arg = "TIME",
     .marks = NOT_AUTOSCALE,
     .help = "Ends that long after the clock has started, with what was done by then. 0: with the "
             "trace."},
    {.name = "warmup",
     .type = OPT_DURATION,
     .offset = AT(warmup_ns),
     .arg = "TIME",
     .marks = NOT_AUTOSCALE,
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
     .marks = TRACE_TIMING_ONLY,
     .help = "A row later than this is said once (with --timing trace)."},
    {.name = "on-lag",
     .type = OPT_ENUM,
     .offset = AT(on_lag),
     .choices = "continue|skip-wait|stop",
     .def = "continue",
     .marks = TRACE_TIMING_ONLY,
     .help = "Then: go on, let Generate rows take no time until caught up, or stop."},
    {.name = "lateness-budget",
     .type = OPT_TEXT,
     .offset = AT(lateness_budget),
     .arg = "TIME",
     .marks = NOT_ASAP,
     .help = "P99 of client lateness above which the run is marked invalid. Without it, only "
             "figures that lateness moved by more than 5 % are."},
    {.name = "spin",
     .type = OPT_TEXT,
     .offset = AT(spin),
     .arg = "TIME|auto",
     .def = "auto",
     .marks = NOT_ASAP,
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
     .marks = AUTOSCALE_ONLY,
     .help = "A shell command that writes the trace of {N} users to its standard output."},
    {.name = "each-timeout",
     .type = OPT_DURATION,
     .offset = AT(each_timeout_ns),
     .arg = "TIME",
     .def = "60s",
     .min = 1,
     .max = 1e18,
     .marks = AUTOSCALE_ONLY,
     .help = "How long the command of --each may take to write its first byte."},
    {.name = "step-warmup",
     .type = OPT_DURATION,
     .offset = AT(step_warmup_ns),
     .arg = "TIME",
     .def = "10s",
     .marks = AUTOSCALE_ONLY,
     .help = "Time to settle before each measurement."},
    {.name = "step-duration",
     .type = OPT_DURATION,
     .offset = AT(step_duration_ns),
     .arg = "TIME",
     .def = "60s",
     .min = 1e6,
     .max = 1e15,
     .marks = AUTOSCALE_ONLY,
     .help = "Length of each measurement."},
    {.name = "start-users",
     .type = OPT_U64,
     .offset = AT(start_users),
     .arg = "N",
     .def = "10",
     .min = 1,
     .max = 1 << 24,
     .marks = AUTOSCALE_ONLY,
     .help = "Users of the first step."},
    {.name = "max-users",
     .type = OPT_U64,
     .offset = AT(max_users),
     .arg = "N",
     .def = "10000",
     .min = 1,
     .max = 1 << 24,
     .marks = AUTOSCALE_ONLY,
     .help = "Most users that are tried."},
    {.name = "storage-p95",
     .type = OPT_DURATION,
     .offset = AT(storage_p95_ns),
     .arg = "TIME",
     .def = "100ms",
     .min = 1,
     .max = 1e15,
     .marks = AUTOSCALE_ONLY,
     .help = "Limit of the 95th percentile of the service time of Tier-2 reads."},
    {.name = "qos-p95",
     .type = OPT_LIST,
     .offset = AT(qos_p95),
     .arg = "CLASS=TIME",
     .marks = AUTOSCALE_ONLY,
     .help = "Limit of the 95th percentile of the end-to-end time of the requests of a QoS class "
             "(with --autoscale qos)."},
    {.name = "target-saturation",
     .type = OPT_F64,
     .offset = AT(target_saturation),
     .arg = "SHARE",
     .def = "0.8",
     .max = 1,
     .marks = AUTOSCALE_ONLY,
     .help = "Saturation from which on a step is recorded as saturated."},
    {.name = "config",
     .letter = 'c',
     .type = OPT_TEXT,
     .offset = AT(config),
     .arg = "FILE",
     .marks = AUTOSCALE_ONLY,
     .help = "YAML configuration: how --autoscale scales, and what it calls saturated."},
    {.type = OPT_HEADING, .help = "Storage"},
    {.name = "chunk-size",
     .type = OPT_SIZE,
     .offset = AT(chunk_bytes),
     .arg = "SIZE",
     .def = "1MiB",
     .min = 4096,
     .max = 64 * MIB,
     .marks = NOT_NULL | NVME_ONLY,
     .help = "Objects are cut into I/Os of this size, a multiple of 4 KiB."},
    {.name = "iodepth",
     .type = OPT_U64,
     .offset = AT(iodepth),
     .arg = "N",
     .max = 1024,
     .marks = NOT_NULL | NVME_ONLY,
     .help =
         "I/Os in flight. 0: 32, and with --timing served one for each worker, 256 MiB at most."},
    {.name = "rings",
     .type = OPT_U64,
     .offset = AT(rings),
     .arg = "N",
     .def = "1",
     .min = 1,
     .max = 64,
     .marks = NOT_NULL | NVME_ONLY,
     .help = "Threads with a ring of their own; they share --iodepth."},
    {.name = "ioengine",
     .type = OPT_ENUM,
     .offset = AT(ioengine),
     .choices = "auto|uring|psync",
     .def = "auto",
     .marks = NOT_NULL | NVME_ONLY,
     .help = "io_uring, or a pool of pread/pwrite threads."},
    {.name = "sqpoll",
     .type = OPT_FLAG,
     .offset = AT(sqpoll),
     .marks = NOT_NULL | NVME_ONLY | URING_ONLY,
     .help = "io_uring with a polling kernel thread."},
    {.name = "iopoll",
     .type = OPT_FLAG,
     .offset = AT(iopoll),
     .marks = NOT_NULL | NVME_ONLY | URING_ONLY | DIRECT_ONLY,
     .help = "io_uring with polled completions."},
    {.name = "buffered",
     .type = OPT_FLAG,
     .offset = AT(buffered),
     .marks = NOT_NULL | NVME_ONLY,
     .help = "Does not use O_DIRECT."},
    {.name = "sync",
     .type = OPT_ENUM,
     .offset = AT(sync),
     .choices = "none|end|object",
     .def = "none",
     .marks = NOT_NULL | NVME_ONLY,
     .help = "fdatasync: never, once at the end, or after each object."},
    {.name = "timeout",
     .type = OPT_DURATION,
     .offset = AT(timeout_ns),
     .arg = "TIME",
     .def = "60s",
     .min = 1e6,
     .max = 1e14,
     .marks = NOT_NULL | REMOTE_ONLY,
     .help = "An operation on a remote store fails (ETIMEDOUT) when nothing moves for so long."},
    {.name = "verify",
     .type = OPT_ENUM,
     .offset = AT(verify),
     .choices = "none|header|full|auto",
     .def = "auto",
     .marks = NOT_NULL,
     .help = "What is checked of each block that is read: nothing, its header, or every byte. "
             "header finds stale and misplaced blocks, but no damage behind the first 48 bytes. "
             "auto: full on storage, header in memory."},
    {.name = "data-seed",
     .type = OPT_U64,
     .offset = AT(data_seed),
     .arg = "N",
     .flags = OPT_NO_EFFECT,
     .marks = NOT_NULL,
     .help = "Decides the contents of objects: runs of one trace with one seed write the same "
             "bytes. 0: a random seed, so that deduplicating storage sees new data in each run."},
    {.name = "compress-ratio",
     .type = OPT_F64,
     .offset = AT(compress_ratio),
     .arg = "R",
     .def = "1",
     .min = 1,
     .max = 64,
     .marks = NOT_NULL | STORE_ONLY,
     .help = "Tier-2 objects that a compressor makes R times smaller."},
    {.name = "dedup-ratio",
     .type = OPT_F64,
     .offset = AT(dedup_ratio),
     .arg = "R",
     .def = "1",
     .min = 1,
     .max = 255,
     .marks = NOT_NULL | STORE_ONLY,
     .help = "Tier-2 objects of which R blocks one after another are alike."},
    {.type = OPT_HEADING, .help = "Output"},
    {.name = "output",
     .letter = 'o',
     .type = OPT_TEXT,
     .offset = AT(output),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT,
     .help = "Result rows go here; otherwise to standard output when it is no terminal."},
    OPT_ROW_ZSTD(AT(zstd), OPTIONS_ROWS_ONLY),
    OPT_ROW_LEVEL(AT(level), COMPRESSED_ONLY | OPTIONS_ROWS_ONLY),
    OPT_ROW_FRAMES(AT(frames), COMPRESSED_ONLY | OPTIONS_ROWS_ONLY),
    OPT_ROW_NOTES(AT(notes), PLAIN_ONLY | OPTIONS_ROWS_ONLY),
    OPT_ROW_SUMMARY(AT(summary), 0),
    {.name = "ceiling",
     .type = OPT_TEXT,
     .offset = AT(ceiling),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT,
     .marks = NOT_AUTOSCALE | NOT_NULL,
     .help = "Summary of a run with --null over the same trace on this host: a run that comes "
             "within 70 % of it says so."},
    OPT_ROW_PROGRESS(AT(progress), 0),
    {.name = "threads",
     .type = OPT_U64,
     .offset = AT(threads),
     .arg = "N",
     .def = "2",
     .min = 1,
     .max = 256,
     .flags = OPT_NO_EFFECT,
     .marks = OPTIONS_ROWS_ONLY,
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
    {0},
};

struct opt_parser *options_open(struct options *o)
{
    return opt_open("kvreplay", "[options] [TRACE|-]", table, o);
}

const char *options_results(const struct options *o)
{
    return o->output ? o->output : isatty(STDOUT_FILENO) ? NULL : "-";
}

/* Takes the texts of --target. */
static int check_targets(struct options *o, struct err *e)
{
    o->nvme = NULL;
    for (unsigned i = 0; i < TRACE_TIERS; i++)
        o->has_target[i] = false;
    for (size_t i = 0; i < o->targets.count + (o->cache_dir != NULL); i++) {
        const char *text = i < o->targets.count ? o->targets.item[i] : o->cache_dir;
        struct uri u;
        int rc = uri_parse(&u, text, "--target", e);
        if (rc < 0)
            return rc;
        if (u.scheme == URI_PATH && u.tier != TRACE_STORAGE)
            return err_set(e, -EINVAL, ERR_INPUT, "--target",
                           "%s: a path serves tier 2 only (--tier-map runs rows of other tiers "
                           "there)",
                           text);
        if (o->has_target[u.tier])
            return err_set(e, -EINVAL, ERR_INPUT, "--target", "two of them for tier %u", u.tier);
        o->has_target[u.tier] = true;
        o->target[u.tier] = u;
        if (u.scheme == URI_PATH)
            o->nvme = u.path;
    }
    return 0;
}

/* Refuses options that have no meaning in the modes that others choose. */
static int check_modes(const struct options *o, const struct opt_parser *p, struct err *e)
{
    const char *results = options_results(o);
    size_t len = results ? strlen(results) : 0;
    bool compressed = o->zstd || (len >= 4 && strcmp(results + len - 4, ".zst") == 0);
    bool autoscale = o->autoscale != SEARCH_OFF;
    enum sched_timing timing = autoscale ? SCHED_SERVED : o->timing;
    bool real_gpu = strcmp(o->gpu, "auto") != 0 && strcmp(o->gpu, "off") != 0;
    bool other_tier_0 = o->has_target[TRACE_GPU], store = false, remote = false;

    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        store |= o->has_target[i];
        remote |= o->has_target[i] && o->target[i].scheme != URI_PATH;
    }

    for (size_t i = 0; i < o->tier_engine.count; i++)
        other_tier_0 |= o->tier_engine.item[i][0] == '0';
    const struct opt_mode modes[] = {
        {.on = !autoscale, .refuses = AUTOSCALE_ONLY, .why = "has a meaning only with --autoscale"},
        {.on = autoscale, .refuses = NOT_AUTOSCALE, .why = "has no meaning with --autoscale"},
        {.on = results && !compressed,
         .refuses = COMPRESSED_ONLY,
         .why = "the results are not compressed (-z, or a name ending in .zst)"},
        {.on = results && compressed,
         .refuses = PLAIN_ONLY,
         .why = "compressed results have frames instead of Notes"},
        {.on = timing == SCHED_ASAP,
         .refuses = NOT_ASAP,
         .why = "has no meaning with --timing asap"},
        {.on = timing != SCHED_TRACE,
         .refuses = TRACE_TIMING_ONLY,
         .why = "has a meaning only with --timing trace"},
        {.on = timing != SCHED_SERVED,
         .refuses = SERVED_ONLY,
         .why = "has a meaning only with --timing served"},
        {.on = other_tier_0,
         .refuses = SIMULATED_GPU_ONLY,
         .why = "has no meaning with another engine under tier 0"},
        {.on = real_gpu,
         .refuses = SIMULATED_GPU_ONLY,
         .why = "is of a simulated GPU, and a real one is required (--gpu)"},
        {.on = o->null, .refuses = NOT_NULL, .why = "has no meaning with --null"},
        {.on = !o->nvme, .refuses = NVME_ONLY, .why = "has a meaning only with --target PATH"},
        {.on = !store, .refuses = STORE_ONLY, .why = "has a meaning only with --target"},
        {.on = !remote,
         .refuses = REMOTE_ONLY,
         .why = "has a meaning only with a --target behind a network"},
        {.on = o->ioengine == IO_PSYNC,
         .refuses = URING_ONLY,
         .why = "has no meaning with --ioengine psync"},
        {.on = o->buffered, .refuses = DIRECT_ONLY, .why = "has no meaning with --buffered"},
    };
    return opt_check_modes(p, modes, sizeof(modes) / sizeof(modes[0]), e);
}

/* ---- --autoscale and its configuration ---- */

static int64_t conf_ms(const struct conf *c, const char *path)
{
    return llround(conf_f64(c, path) * NS_PER_MS);
}

/* Reads the file of --config, or without one the defaults of its keys. An option wins over the key
 * that means the same. */
static int read_config(const struct opt_parser *p, struct options *o, struct err *e)
{
    static const char *const read_limit = "saturation_detection.read_latency_p95_threshold_ms";
    const char *warning;
    struct conf *c;
    int rc = conf_open(&c, o->config, e);

    if (rc < 0)
        return rc;
    for (size_t i = 0; (warning = conf_warning(c, i)) != NULL; i++)
        fprintf(stderr, "kvreplay: %s\n", warning);
    o->scale_up = conf_f64(c, "autoscaler.scale_up_factor");
    o->scale_down = conf_f64(c, "autoscaler.scale_down_factor");
    o->min_users = (uint64_t)conf_i64(c, "autoscaler.min_users");
    if (!opt_given(p, "max-users"))
        o->max_users = (uint64_t)conf_i64(c, "autoscaler.max_users");
    if (!opt_given(p, "storage-p95"))
        o->storage_p95_ns = conf_ms(c, read_limit);
    o->write_p95_ns = conf_ms(c, "saturation_detection.write_latency_p95_threshold_ms");
    o->queue_limit = (uint64_t)conf_i64(c, "saturation_detection.queue_depth_threshold");
    conf_free(c);

    if (o->min_users > o->max_users)
        return err_set(e, -EINVAL, ERR_INPUT, "autoscaler.min_users",
                       "more than the most users (autoscaler.max_users or --max-users)");
    if (!opt_given(p, "start-users")) {
        if (o->start_users < o->min_users)
            o->start_users = o->min_users;
        if (o->start_users > o->max_users)
            o->start_users = o->max_users;
    }
    if (o->storage_p95_ns < 1)
        return err_set(e, -EINVAL, ERR_INPUT, read_limit, "no time at all: no read could keep it");
    return 0;
}

static int check_autoscale(const struct opt_parser *p, struct options *o, struct err *e)
{
    const char *const *operand;
    size_t n = opt_operands(p, &operand);
    int rc;

    if (n > 0)
        return err_set(e, -EINVAL, ERR_INPUT, operand[0],
                       "with --autoscale the traces come from the command of --each");
    if (!o->each)
        return err_set(e, -EINVAL, ERR_INPUT, "--autoscale", "needs --each COMMAND");
    rc = read_config(p, o, e);
    if (rc < 0)
        return rc;
    if (o->start_users > o->max_users)
        return err_set(e, -EINVAL, ERR_INPUT, "--start-users", "more than --max-users");
    if (o->start_users < o->min_users)
        return err_set(e, -EINVAL, ERR_INPUT, "--start-users", "fewer than autoscaler.min_users");
    o->timing = SCHED_SERVED;
    o->workers = 1; /* each step sets its own */
    return 0;
}

/* ---- outputs ---- */

/* Before anything is opened for writing. trace is NULL when it comes from commands. */
static int check_files(const struct options *o, const char *trace, struct err *e)
{
    const char *results = options_results(o);
    const struct file_use files[] = {
        {FILES_STREAMED, "--output", results}, {FILES_WRITTEN, "--summary", o->summary},
        {FILES_TARGET, "the target", o->nvme}, {FILES_READ, "the trace", trace},
        {FILES_READ, "--config", o->config},   {FILES_READ, "--ceiling", o->ceiling},
    };

    if (results && o->summary && strcmp(results, "-") == 0 && strcmp(o->summary, "-") == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--summary",
                       "result rows go to standard output already (-o FILE)");
    return files_check(files, sizeof(files) / sizeof(files[0]), e);
}

/* ---- all together ---- */

/* Parses "auto" or a time. */
static int parse_time(const char *option, const char *text, int64_t automatic, int64_t *ns,
                      struct err *e)
{
    *ns = automatic;
    if (strcmp(text, "auto") == 0 || units_parse_duration(text, ns) == 0)
        return 0;
    return err_set(e, -EINVAL, ERR_INPUT, option, "%s: expected auto or a time, such as 200us",
                   text);
}

static int parse_budget(struct options *o, struct err *e)
{
    const char *text = o->lateness_budget;

    o->lateness_budget_ns = VALIDITY_BUDGET_NONE;
    if (!text || units_parse_duration(text, &o->lateness_budget_ns) == 0)
        return 0;
    return err_set(e, -EINVAL, ERR_INPUT, "--lateness-budget", "%s: expected a time, such as 200us",
                   text);
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
    int rc = check_targets(o, e);
    if (rc == 0)
        rc = check_modes(o, p, e);
    if (rc == 0 && o->autoscale != SEARCH_OFF)
        rc = check_autoscale(p, o, e);
    if (rc == 0)
        rc = target_reserve_parse(o->reserve, &o->reserve_share, e);
    if (rc == 0)
        rc = parse_time("--spin", o->spin, IDLE_SPIN_AUTO, &o->spin_ns, e);
    if (rc == 0)
        rc = parse_budget(o, e);
    if (rc == 0)
        rc = check_files(o, o->autoscale != SEARCH_OFF ? NULL : *trace, e);
    if (rc < 0)
        return rc;
    if (o->timing == SCHED_SERVED && o->workers == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--timing served", "needs --workers N");
    if (o->timing == SCHED_SERVED && o->order != ORDER_AUTO && o->order != ORDER_REQUEST)
        return err_set(e, -EINVAL, ERR_INPUT, "--order",
                       "with --timing served the rows of a request run one after another");
    if (o->warmup_ns && o->duration_ns && o->warmup_ns >= o->duration_ns)
        return err_set(e, -EINVAL, ERR_INPUT, "--warmup", "not shorter than --duration");
    if (o->inflight == 0)
        o->inflight = o->timing == SCHED_ASAP ? 64 : o->workers > 1024 ? o->workers : 1024;
    return 0;
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
