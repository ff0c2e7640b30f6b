/* kvreplay's command line and its sections of the configuration file, as plain values: the table of
 * options, the checks that need no input, and the defaults that depend on other options. Runs
 * first; nothing is opened before all of it has been checked. */
#include "kvreplay/options.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kvreplay/sched/idle.h"
#include "kvreplay/validity.h"
#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/conf/conf.h"
#include "lib/io/drive_log.h"
#include "lib/io/target_device.h"
#include "lib/opt/files.h"
#include "lib/opt/rows.h"
#include "lib/ranks/ranks.h"
#include "lib/ranks/start.h"
#include "lib/tier/tier.h"
#include "lib/trace/gzip.h"

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
    PATH_ONLY = OPTIONS_MARKS << 7, /* a target that is a path */
    URING_ONLY = OPTIONS_MARKS << 8,
    DIRECT_ONLY = OPTIONS_MARKS << 9,
    COMPRESSED_ONLY = OPTIONS_MARKS << 10,
    PLAIN_ONLY = OPTIONS_MARKS << 11,
    STORE_ONLY = OPTIONS_MARKS << 12, /* a path or a remote store */
    REMOTE_ONLY = OPTIONS_MARKS << 13,
    PARTS_ONLY = OPTIONS_MARKS << 14,
    NOT_LIKE = OPTIONS_MARKS << 15, /* a target in kvtrace's own way, without like= */
    MPI_ONLY = OPTIONS_MARKS << 16,
    NOT_MPI = OPTIONS_MARKS << 17,
    SEVERAL_ONLY = OPTIONS_MARKS << 18, /* several paths */
    NOT_SEARCH = OPTIONS_MARKS << 19    /* parts that cannot agree on a next step */
};

static const struct opt table[] = {
    {.type = OPT_HEADING, .help = "Targets"},
    {.name = "target",
     .type = OPT_LIST,
     .offset = AT(targets),
     .flags = OPT_COMMON,
     .arg = "[TIER=]URI",
     .alias = "nvme|cache-dir",
     .marks = NOT_NULL,
     .help = "Where the objects of TIER are stored; without TIER, those of Tier-2. A directory "
             "(new, empty, or used by an earlier run), a file, a block device, a Redis server "
             "(redis://HOST:PORT/DB) or an object store (s3://BUCKET/PREFIX?endpoint=URL). Several "
             "paths are one store. file:DIR?like=lmcache-fs does I/O as that engine does. Needed "
             "if the trace has Tier-2 rows."},
    {.name = "spread",
     .type = OPT_ENUM,
     .offset = AT(spread),
     .flags = OPT_EXPERT,
     .choices = "hash|capacity",
     .def = "hash",
     .marks = NOT_NULL | PATH_ONLY | SEVERAL_ONLY,
     .help = "How objects are spread over several paths. hash: evenly; capacity: by the size of "
             "their file systems or devices."},
    {.name = "layout",
     .type = OPT_ENUM,
     .offset = AT(layout),
     .choices = "auto|files|slab",
     .def = "auto",
     .marks = NOT_NULL | PATH_ONLY | NOT_LIKE,
     .help = "How objects lie on the target: one file each, or all in one slab. auto: files "
             "in a directory, else a slab."},
    {.name = "destroy-data",
     .type = OPT_FLAG,
     .offset = AT(destroy_data),
     .flags = OPT_COMMON,
     .marks = NOT_NULL | STORE_ONLY,
     .help = "Overwrite a device, or a file that kvreplay did not write. Removes what an "
             "earlier run kept, too."},
    {.name = "gpu-mem",
     .type = OPT_GIB,
     .offset = AT(gpu_mem_gb),
     .flags = OPT_COMMON,
     .alias = "gpu-mem-gb",
     .max = 1 << 20,
     .help = "Capacity of Tier-0, of each GPU if there are several; 0: from the trace. A "
             "number without a unit is GiB."},
    {.name = "cpu-mem",
     .type = OPT_GIB,
     .offset = AT(cpu_mem_gb),
     .flags = OPT_COMMON,
     .alias = "cpu-mem-gb",
     .max = 1 << 20,
     .help = "Capacity of Tier-1; 0: from the trace. A number without a unit is GiB."},
    {.name = "storage-capacity",
     .type = OPT_GIB,
     .offset = AT(storage_gb),
     .alias = "storage-capacity-gb",
     .max = 1 << 20,
     .help = "Capacity of Tier-2; 0: what the target has. A number without a unit is GiB."},
    {.name = "gpu",
     .type = OPT_TEXT,
     .offset = AT(gpu),
     .flags = OPT_COMMON,
     .arg = "N[,N]...|all|auto|off|require",
     .def = "auto",
     .marks = NOT_NULL,
     .help = "GPU for Tier-0. One or several by number, all, auto (the first one if there is "
             "any), off (none), or require (the first one, or an error). Without a GPU "
             "Tier-0 is simulated."},
    {.name = "gpu-bandwidth",
     .type = OPT_BANDWIDTH,
     .offset = AT(gpu_bandwidth),
     .flags = OPT_OLD,
     .arg = "RATE",
     .def = "64GB/s",
     .min = 1,
     .max = 1e15,
     .marks = SIMULATED_GPU_ONLY | NOT_NULL,
     .help = "Bandwidth of the simulated GPU."},
    {.name = "gpu-latency",
     .type = OPT_DURATION,
     .offset = AT(gpu_latency_ns),
     .flags = OPT_OLD,
     .arg = "TIME",
     .def = "10us",
     .marks = SIMULATED_GPU_ONLY | NOT_NULL,
     .help = "Latency of an operation on the simulated GPU."},
    {.name = "tier-engine",
     .type = OPT_LIST,
     .offset = AT(tier_engine),
     .arg = "N=sim:bw=RATE,lat=TIME,servers=N,stall=AT+TIME|sim:model=FILE.json|null|"
            "mem:threads=N",
     .marks = NOT_NULL,
     .help = "Run tier N (0, 1 or 2) on another engine. sim: simulated, from numbers or from a "
             "drive that kvtrace model measured; null: does nothing; mem: host memory."},
    {.name = "tier-map",
     .type = OPT_LIST,
     .offset = AT(tier_map),
     .arg = "N=M",
     .help = "Run the rows of tier N on tier M."},
    {.name = "overflow",
     .type = OPT_ENUM,
     .offset = AT(overflow),
     .choices = "fail|wrap",
     .def = "fail",
     .help = "What to do when a memory tier is too small for its objects. fail: end with an "
             "error; wrap: use its space again, so that copies take their time but contents "
             "are lost."},
    {.name = "null",
     .type = OPT_FLAG,
     .offset = AT(null),
     .flags = OPT_COMMON,
     .help = "Do no I/O and no copies, to measure the client's own limit."},
    {.name = "keep",
     .type = OPT_FLAG,
     .offset = AT(keep),
     .flags = OPT_COMMON,
     .marks = NOT_AUTOSCALE | NOT_NULL | STORE_ONLY,
     .help = "Leave the objects on the target for later runs, and use what an earlier run "
             "left. They survive a power cut once the run has ended."},
    {.name = "reserve",
     .type = OPT_TEXT,
     .offset = AT(reserve),
     .arg = "PERCENT|auto",
     .def = "auto",
     .marks = NOT_NULL | PATH_ONLY,
     .help = "Percentage of the target's file system that stays free. auto: the smaller of 5 "
             "% of it and half of what is free."},
    {.name = "on-full",
     .type = OPT_ENUM,
     .offset = AT(on_full),
     .choices = "fail|evict",
     .def = "fail",
     .marks = NOT_NULL | PATH_ONLY,
     .help = "What happens when --storage-capacity or the target is used up. fail: a write fails; "
             "evict: a cleaner removes the objects that were read longest ago until 90 % is used, "
             "and the write goes on. A read of what was removed is a miss."},
    {.type = OPT_HEADING, .help = "Load"},
    {.name = "timing",
     .type = OPT_ENUM,
     .offset = AT(timing),
     .flags = OPT_COMMON,
     .choices = "asap|trace|served|closed",
     .def = "asap",
     .marks = NOT_AUTOSCALE,
     .help = "asap: rows run as soon as possible; trace: each row at its Timestamp; served: "
             "each request when it has arrived and one of --workers is free; closed: each "
             "row when its user's row before is done and the trace's pause between the two "
             "has passed."},
    {.name = "workers",
     .type = OPT_U64,
     .offset = AT(workers),
     .flags = OPT_COMMON,
     .arg = "N",
     .max = 4096,
     .marks = NOT_AUTOSCALE | SERVED_ONLY,
     .help = "Requests served at the same time, with --timing served."},
    {.name = "admit",
     .type = OPT_ENUM,
     .offset = AT(admit),
     .choices = "auto|qos|fifo",
     .def = "auto",
     .marks = SERVED_ONLY,
     .help = "With --timing served, which waiting request is next. qos: the first of the "
             "highest QoS class; fifo: the first in the trace; auto: qos if the trace has "
             "that column."},
    {.name = "speed",
     .type = OPT_F64,
     .offset = AT(speed),
     .flags = OPT_COMMON,
     .arg = "FACTOR",
     .def = "1",
     .min = 1e-6,
     .max = 1e9,
     .marks = NOT_ASAP,
     .help = "Divide all times of the trace by this, unless --timing is asap."},
    {.name = "inflight",
     .type = OPT_U64,
     .offset = AT(inflight),
     .arg = "N",
     .max = 4096,
     .help = "Most objects in flight; 0: 64 with --timing asap, else 1024."},
    {.name = "max-concurrent-allocs",
     .type = OPT_U64,
     .offset = AT(max_writes),
     .arg = "N",
     .max = 4096,
     .help = "Most objects that are written at the same time; 0: no limit but --inflight."},
    {.name = "order",
     .type = OPT_ENUM,
     .offset = AT(order),
     .choices = "auto|request|key|none",
     .def = "auto",
     .help = "What a row waits for. key: earlier rows of its key; request: also the row "
             "before it of its request; none: nothing; auto: request if the trace has that "
             "column, else key."},
    {.name = "only-tier",
     .type = OPT_ENUM,
     .offset = AT(only_tier),
     .choices = "all|0|1|2",
     .def = "all",
     .help = "Execute only the rows of one tier."},
    {.name = "only-users",
     .type = OPT_U64,
     .offset = AT(only_users),
     .arg = "N",
     .max = 1 << 24,
     .marks = NOT_AUTOSCALE,
     .help = "Execute only the rows of the first N users; rows without a user are included; "
             "0: all."},
    {.name = "limit",
     .type = OPT_U64,
     .offset = AT(limit),
     .flags = OPT_COMMON,
     .arg = "N",
     .marks = NOT_AUTOSCALE,
     .help = "End after N rows of the trace; 0: all."},
    {.name = "loops",
     .type = OPT_U64,
     .offset = AT(loops),
     .arg = "N",
     .def = "1",
     .min = 1,
     .max = 1 << 20,
     .marks = NOT_AUTOSCALE,
     .help = "Run the trace (or its first --limit rows) N times, one after another."},
    {.name = "duration",
     .type = OPT_DURATION,
     .offset = AT(duration_ns),
     .flags = OPT_COMMON,
     .arg = "TIME",
     .marks = NOT_AUTOSCALE,
     .help = "End after this time; 0: when the trace ends. Rows that are not done by then are "
             "left out."},
    {.name = "warmup",
     .type = OPT_DURATION,
     .offset = AT(warmup_ns),
     .flags = OPT_COMMON,
     .arg = "TIME",
     .marks = NOT_AUTOSCALE,
     .help = "Leave rows that start in this time out of the statistics. They are executed."},
    {.name = "on-absent",
     .type = OPT_ENUM,
     .offset = AT(on_absent),
     .choices = "create|skip|fail",
     .def = "create",
     .help = "What to do about objects that are read before they are written. create: write "
             "them before the run; skip: leave the reads out and count them; fail: stop."},
    {.name = "on-error",
     .type = OPT_ENUM,
     .offset = AT(on_error),
     .choices = "continue|stop",
     .def = "continue",
     .help = "Continue or stop after a failed row."},
    {.name = "lag-limit",
     .type = OPT_DURATION,
     .offset = AT(lag_limit_ns),
     .flags = OPT_EXPERT,
     .arg = "TIME",
     .def = "1s",
     .marks = TRACE_TIMING_ONLY,
     .help = "With --timing trace: warn once when a row is later than this."},
    {.name = "on-lag",
     .type = OPT_ENUM,
     .offset = AT(on_lag),
     .flags = OPT_EXPERT,
     .choices = "continue|skip-wait|stop",
     .def = "continue",
     .marks = TRACE_TIMING_ONLY,
     .help = "What to do when a row is later than --lag-limit. skip-wait: let Generate rows "
             "take no time until the run has caught up."},
    {.name = "lateness-budget",
     .type = OPT_TEXT,
     .offset = AT(lateness_budget),
     .flags = OPT_EXPERT,
     .arg = "TIME",
     .marks = NOT_ASAP,
     .help = "Mark the run invalid if the P99 of client delay is above this. Without it, "
             "only figures that client delay changed by more than 5 % are marked."},
    {.name = "spin",
     .type = OPT_TEXT,
     .offset = AT(spin),
     .flags = OPT_EXPERT,
     .arg = "TIME|auto",
     .def = "auto",
     .marks = NOT_ASAP,
     .help = "How long before a row's time the client stops sleeping and busy-waits. auto: "
             "as late as sleeps end, at most 2 ms."},
    {.type = OPT_HEADING, .help = "Several hosts"},
    {.name = "part",
     .type = OPT_TEXT,
     .offset = AT(part_text),
     .arg = "I/N|auto[/N]",
     .flags = OPT_NO_EFFECT,
     .marks = NOT_SEARCH | NOT_MPI,
     .help =
         "Run part I of N, counted from 0. Each part is a process of its own. auto: Slurm, Open "
         "MPI or PMI tell I and N; auto/N: JOB_COMPLETION_INDEX tells I. {rank}, {ranks} and "
         "{host} are replaced in TRACE, --target, --output and --summary. To a target that is "
         "a directory or prefix, without {rank}, rank-I is added."},
    {.name = "split",
     .type = OPT_ENUM,
     .offset = AT(split),
     .choices = "none|keys",
     .def = "none",
     .marks = PARTS_ONLY,
     .help =
         "What each part runs. none: the whole trace, on objects of its own, so N parts are N "
         "times the load; keys: its share of the keys, with --timing asap or trace. Rows without a "
         "key run in part 0."},
    {.name = "start-at",
     .type = OPT_TEXT,
     .offset = AT(start_at),
     .arg = "TIME|+SECONDS",
     .marks = NOT_AUTOSCALE | NOT_MPI,
     .help = "When the run's clock starts: seconds since 1970, a date and time (UTC), or +SECONDS "
             "from now. Populating must be done by then."},
    {.name = "spool",
     .type = OPT_TEXT,
     .offset = AT(spool),
     .arg = "DIR",
     .flags = OPT_NO_EFFECT,
     .marks = MPI_ONLY | OPTIONS_ROWS_ONLY,
     .help = "With kvreplay-mpi: folder in which each rank keeps its result rows until rank 0 has "
             "them. Without it: TMPDIR, else /tmp."},
    {.name = "shared-target",
     .type = OPT_FLAG,
     .offset = AT(shared_target),
     .flags = OPT_EXPERT,
     .marks = MPI_ONLY | STORE_ONLY,
     .help = "With kvreplay-mpi: all ranks use one store, a directory of files, a prefix or a "
             "database. Rank 0 takes it and cleans up after the last. With --split none keys "
             "differ by rank."},
    {.name = "lost-after",
     .type = OPT_DURATION,
     .offset = AT(lost_after_ns),
     .flags = OPT_EXPERT | OPT_NO_EFFECT,
     .def = "30s",
     .min = 2e9,
     .marks = MPI_ONLY,
     .help = "With kvreplay-mpi: a rank that is silent for so long is lost. Before the start that "
             "ends the run; later the others go on without it."},
    {.type = OPT_HEADING, .help = "Finding the limit"},
    {.name = "autoscale",
     .type = OPT_ENUM,
     .offset = AT(autoscale),
     .flags = OPT_COMMON,
     .choices = "off|qos|capacity",
     .def = "off",
     .help = "Find the number of users that this machine serves. Replays one trace after "
             "another, each for a number of users: qos finds the most users within the "
             "limits, capacity the fewest that reach the highest throughput."},
    {.name = "each",
     .type = OPT_TEXT,
     .offset = AT(each),
     .flags = OPT_COMMON,
     .arg = "COMMAND",
     .marks = AUTOSCALE_ONLY,
     .help = "With --autoscale: the command that writes the trace of {N} users. Each rank of "
             "kvreplay-mpi runs it for its own users; it may use {rank}, {ranks} and {host}."},
    {.name = "each-timeout",
     .type = OPT_DURATION,
     .offset = AT(each_timeout_ns),
     .arg = "TIME",
     .def = "60s",
     .min = 1,
     .max = 10000 * 86400e9,
     .marks = AUTOSCALE_ONLY,
     .help = "With --autoscale: how long the command of --each may take until it writes its "
             "first byte."},
    {.name = "step-warmup",
     .type = OPT_DURATION,
     .offset = AT(step_warmup_ns),
     .arg = "TIME",
     .def = "10s",
     .marks = AUTOSCALE_ONLY,
     .help = "With --autoscale: time to settle before each measurement."},
    {.name = "step-duration",
     .type = OPT_DURATION,
     .offset = AT(step_duration_ns),
     .arg = "TIME",
     .def = "60s",
     .min = 1e6,
     .max = 10 * 86400e9,
     .marks = AUTOSCALE_ONLY,
     .help = "With --autoscale: length of each measurement."},
    {.name = "start-users",
     .type = OPT_U64,
     .offset = AT(start_users),
     .arg = "N",
     .def = "10",
     .min = 1,
     .max = 1 << 24,
     .marks = AUTOSCALE_ONLY,
     .help = "With --autoscale: users of the first step."},
    {.name = "max-users",
     .type = OPT_U64,
     .offset = AT(max_users),
     .arg = "N",
     .def = "10000",
     .min = 1,
     .max = 1 << 24,
     .marks = AUTOSCALE_ONLY,
     .help = "With --autoscale: most users to try."},
    {.name = "search-time",
     .type = OPT_DURATION,
     .offset = AT(search_time_ns),
     .arg = "TIME",
     .def = "0",
     .max = 1e15,
     .marks = AUTOSCALE_ONLY,
     .help = "With --autoscale: begin no step after this time. The best number of users so far "
             "is then the answer; 0: search until it is found."},
    {.name = "storage-p95",
     .type = OPT_DURATION,
     .offset = AT(storage_p95_ns),
     .arg = "TIME",
     .def = "100ms",
     .min = 1,
     .max = 10 * 86400e9,
     .marks = AUTOSCALE_ONLY,
     .help = "With --autoscale: limit of the 95th percentile of Tier-2 read times."},
    {.name = "qos-p95",
     .type = OPT_LIST,
     .offset = AT(qos_p95),
     .arg = "CLASS=TIME",
     .marks = AUTOSCALE_ONLY,
     .help = "With --autoscale qos: limit of the 95th percentile of the end-to-end times of "
             "requests of a QoS class."},
    {.name = "target-saturation",
     .type = OPT_SHARE,
     .offset = AT(target_saturation),
     .arg = "SHARE",
     .def = "0.8",
     .max = 1,
     .marks = AUTOSCALE_ONLY,
     .help = "With --autoscale: saturation, from 0 to 1, from which a step counts as "
             "saturated. Where given, --autoscale qos takes it as a limit, too."},
    {.name = "config",
     .letter = 'c',
     .type = OPT_TEXT,
     .offset = AT(config),
     .arg = "FILE",
     .marks = AUTOSCALE_ONLY,
     .help = "With --autoscale: YAML configuration of its steps and limits."},
    {.type = OPT_HEADING, .help = "Storage"},
    {.name = "chunk-size",
     .type = OPT_SIZE,
     .offset = AT(chunk_bytes),
     .arg = "SIZE",
     .def = "1MiB",
     .min = 4096,
     .max = 64 * MIB,
     .marks = NOT_NULL | PATH_ONLY | NOT_LIKE,
     .help = "Size of the I/Os that an object is cut into, a multiple of 4 KiB."},
    {.name = "iodepth",
     .type = OPT_U64,
     .offset = AT(iodepth),
     .arg = "N",
     .max = 1024,
     .marks = NOT_NULL | PATH_ONLY | NOT_LIKE,
     .help = "I/Os in flight; 0: 32, with --timing served one for each worker, at most 256 "
             "MiB. With several paths, on each of them."},
    {.name = "rings",
     .type = OPT_U64,
     .offset = AT(rings),
     .flags = OPT_EXPERT,
     .arg = "N",
     .def = "1",
     .min = 1,
     .max = 64,
     .marks = NOT_NULL | PATH_ONLY | NOT_LIKE,
     .help = "I/O threads of each target, each with its own ring; they share --iodepth."},
    {.name = "ioengine",
     .type = OPT_ENUM,
     .offset = AT(ioengine),
     .flags = OPT_EXPERT,
     .choices = "auto|uring|psync",
     .def = "auto",
     .marks = NOT_NULL | PATH_ONLY | NOT_LIKE,
     .help = "How I/O is done. uring: io_uring; psync: threads with pread and pwrite; auto: "
             "io_uring where it works."},
    {.name = "sqpoll",
     .type = OPT_FLAG,
     .offset = AT(sqpoll),
     .flags = OPT_EXPERT,
     .marks = NOT_NULL | PATH_ONLY | NOT_LIKE | URING_ONLY,
     .help = "io_uring with a kernel thread that polls for submissions."},
    {.name = "iopoll",
     .type = OPT_FLAG,
     .offset = AT(iopoll),
     .flags = OPT_EXPERT,
     .marks = NOT_NULL | PATH_ONLY | NOT_LIKE | URING_ONLY | DIRECT_ONLY,
     .help = "io_uring that polls for completions."},
    {.name = "buffered",
     .type = OPT_FLAG,
     .offset = AT(buffered),
     .marks = NOT_NULL | PATH_ONLY | NOT_LIKE,
     .help = "Use the page cache (no O_DIRECT)."},
    {.name = "sync",
     .type = OPT_ENUM,
     .offset = AT(sync),
     .choices = "none|end|object",
     .def = "none",
     .marks = NOT_NULL | PATH_ONLY,
     .help = "When to call fdatasync: never, once at the end, or after each object."},
    {.name = "cold",
     .type = OPT_FLAG,
     .offset = AT(cold),
     .marks = NOT_NULL | PATH_ONLY,
     .help = "Before the clock starts, drive what the target holds out of the page cache, and "
             "prove it. What cannot be proven is reported as not cold."},
    {.name = "priority",
     .type = OPT_ENUM,
     .offset = AT(priority),
     .choices = "none|loads",
     .def = "none",
     .help = "Who goes first when all places of --inflight are taken: none, the row that has "
             "waited longest; loads, reads before writes to Tier-2."},
    {.name = "device-times",
     .type = OPT_ENUM,
     .offset = AT(device_times),
     .choices = "auto|yes|no",
     .def = "no",
     .marks = NOT_NULL | PATH_ONLY,
     .help = "Record what the drive itself takes for each request (the kernel's block events; "
             "needs root, or kvtrace-trace with its capability). yes: the run fails where that is "
             "not possible; auto: it goes on without, and says why."},
    OPT_ROW_TIMEOUT(AT(timeout_ns), NOT_NULL | REMOTE_ONLY),
    OPT_ROW_RETRIES(AT(retries), NOT_NULL | REMOTE_ONLY),
    {.name = "verify",
     .type = OPT_ENUM,
     .offset = AT(verify),
     .flags = OPT_COMMON,
     .choices = "none|header|full|auto",
     .def = "auto",
     .marks = NOT_NULL,
     .help = "What to check of each block that is read: nothing, its header, or every byte. "
             "header finds stale and misplaced blocks, but no damage after the first 48 "
             "bytes. auto: full on storage, header in memory."},
    {.name = "data-seed",
     .type = OPT_U64,
     .offset = AT(data_seed),
     .arg = "N",
     .flags = OPT_NO_EFFECT,
     .marks = NOT_NULL,
     .help = "Seed of the contents of objects: runs with one trace and one seed write the "
             "same bytes. 0: random, so that deduplicating storage sees new data in each "
             "run."},
    {.name = "compress-ratio",
     .type = OPT_F64,
     .offset = AT(compress_ratio),
     .arg = "R",
     .def = "1",
     .min = 1,
     .max = 64,
     .marks = NOT_NULL | STORE_ONLY,
     .help = "Make Tier-2 objects that a compressor shrinks to one R-th."},
    {.name = "dedup-ratio",
     .type = OPT_F64,
     .offset = AT(dedup_ratio),
     .arg = "R",
     .def = "1",
     .min = 1,
     .max = 255,
     .marks = NOT_NULL | STORE_ONLY,
     .help = "Make Tier-2 objects in which R consecutive blocks are the same."},
    {.type = OPT_HEADING, .help = "Output"},
    {.name = "output",
     .letter = 'o',
     .type = OPT_TEXT,
     .offset = AT(output),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT | OPT_COMMON,
     .help = "Where result rows go: a file, - for standard output, or none for the summary "
             "only. Without it, to standard output unless that is a terminal."},
    OPT_ROW_ZSTD(AT(zstd), OPTIONS_ROWS_ONLY),
    OPT_ROW_LEVEL(AT(level), COMPRESSED_ONLY | OPTIONS_ROWS_ONLY),
    OPT_ROW_FRAMES(AT(frames), COMPRESSED_ONLY | OPTIONS_ROWS_ONLY),
    OPT_ROW_NOTES(AT(notes), PLAIN_ONLY | OPTIONS_ROWS_ONLY),
    OPT_ROW_SUMMARY(AT(summary), 0),
    {.name = "full",
     .type = OPT_FLAG,
     .offset = AT(full),
     .flags = OPT_NO_EFFECT,
     .help = "Print the whole summary on standard error instead of five lines."},
    {.name = "ceiling",
     .type = OPT_TEXT,
     .offset = AT(ceiling),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT,
     .marks = NOT_AUTOSCALE | NOT_NULL,
     .help = "The summary of a --null run of this trace on this host; a run that reaches 70 "
             "% of its rate says so."},
    OPT_ROW_PROGRESS(AT(progress), 0),
    {.name = "threads",
     .type = OPT_U64,
     .offset = AT(threads),
     .arg = "N",
     .def = "2",
     .min = 1,
     .max = 256,
     .flags = OPT_NO_EFFECT | OPT_EXPERT,
     .marks = OPTIONS_ROWS_ONLY,
     .help = "Threads that format and compress result rows."},
    {.type = OPT_HEADING, .help = "Input"},
    {.name = "skip-bad-rows",
     .type = OPT_FLAG,
     .offset = AT(skip_bad_rows),
     .help = "Skip and count bad rows instead of ending at the first."},
    {.name = "long",
     .type = OPT_FLAG,
     .offset = AT(long_window),
     .flags = OPT_EXPERT,
     .help = "Accept zstd windows over 128 MiB."},
    {.type = OPT_EXAMPLE, .help = "kvreplay --target /mnt/nvme/kv -o result.csv.zst trace.csv.zst"},
    {.type = OPT_EXAMPLE,
     .help = "kvreplay --timing served --workers 50 --target /mnt/nvme/kv trace.csv"},
    {.type = OPT_EXAMPLE, .help = "kvgen --users 50 | kvreplay --target /mnt/nvme/kv | kvstat"},
    {0},
};

const char *options_program(void)
{
    return ranks_suffix()[0] ? "kvreplay-mpi" : "kvreplay";
}

struct opt_parser *options_open(struct options *o)
{
    struct opt_parser *p = opt_open(options_program(), "[options] [TRACE|-]", table, o);

    opt_part(p, "GPUs (CUDA)", tier_gpu_is_built());
    opt_part(p, "Redis (hiredis)", tier_resp_is_built());
    opt_part(p, "S3 (libcurl)", tier_s3_is_built());
    opt_part(p, "wear of NVMe drives (libnvme)", drive_log_is_built());
    opt_part(p, "input in gzip (zlib)", gzip_is_built());
    return p;
}

static bool is_none(const struct options *o)
{
    return o->output && strcmp(o->output, "none") == 0;
}

const char *options_results(const struct options *o)
{
    if (is_none(o))
        return NULL;
    return o->output ? o->output : isatty(STDOUT_FILENO) ? NULL : "-";
}

/* ---- parts ---- */

static int keep_expanded(struct options *o, const char **text, char *expanded, struct err *e)
{
    if (!expanded)
        return err_nomem(e, "names with {rank}");
    o->expanded[o->expanded_count++] = expanded;
    *text = expanded;
    return 0;
}

static int expand(struct options *o, const char **text, struct err *e)
{
    return *text ? keep_expanded(o, text, part_expand(&o->part, *text), e) : 0;
}

/* Parts that share a folder would write over each other's files. */
static int refuse_shared(const struct options *o, const char *option, const char *path,
                         struct err *e)
{
    if (!path || o->collected || o->part.count == 1 || strcmp(path, "-") == 0 ||
        part_has_rank(path))
        return 0;
    return err_set(e, -EINVAL, ERR_INPUT, option,
                   "%s: every part would write this file: put {rank} into its name", path);
}

/* The same for all parts of a run, and for few other runs. */
static void name_run(struct options *o, const struct opt_parser *p, const char *trace)
{
    struct hash128 same[2] = {opt_fingerprint(p, "target"), hash_128(trace, strlen(trace))};
    char text[160];

    int len =
        snprintf(text, sizeof(text), "%s %u %016llx%016llx%016llx%016llx", KVTRACE_VERSION,
                 o->part.count, (unsigned long long)same[0].hi, (unsigned long long)same[0].lo,
                 (unsigned long long)same[1].hi, (unsigned long long)same[1].lo);
    hash_hex(hash_128(text, (size_t)len), o->run_id);
}

static int check_keys(const struct options *o, const char *trace, struct err *e)
{
    if (o->split != SPLIT_KEYS)
        return 0;
    if (o->timing == SCHED_SERVED || o->timing == SCHED_CLOSED || o->autoscale != SEARCH_OFF)
        return err_set(e, -EINVAL, ERR_INPUT, "--split keys",
                       "spreads requests and users over the parts, so --timing served and closed "
                       "and --autoscale do not apply");
    if (o->order != ORDER_AUTO && o->order != ORDER_KEY)
        return err_set(e, -EINVAL, ERR_INPUT, "--order",
                       "does not apply with --split keys, which keeps the order of each key");
    if (part_has_rank(trace))
        return err_set(e, -EINVAL, ERR_INPUT, trace,
                       "--split keys divides one trace: its name cannot hold {rank}");
    return 0;
}

void options_set_rank(struct options *o, unsigned rank, unsigned count, const char *host)
{
    o->collected = true;
    o->part = (struct part){.on = true, .rank = rank, .count = count};
    snprintf(o->part.host, sizeof(o->part.host), "%s", host);
}

/* Targets with the same name for all ranks. */
static int check_shared(struct options *o, struct err *e)
{
    int rc = 0;

    if (o->on_full == OPTIONS_FULL_EVICT)
        return err_set(e, -EINVAL, ERR_INPUT, "--on-full evict",
                       "does not apply with --shared-target: no rank knows what the others read");
    if (o->layout == STORAGE_LAYOUT_SLAB)
        return err_set(e, -EINVAL, ERR_INPUT, "--layout slab",
                       "does not apply with --shared-target: ranks cannot share a slab");
    for (size_t i = 0; rc == 0 && i < o->targets.count; i++) {
        const char **text = &o->targets.item[i];
        if (part_has_rank(*text))
            return err_set(e, -EINVAL, ERR_INPUT, "--shared-target",
                           "%s: {rank} makes a target of each rank", *text);
        rc = expand(o, text, e);
    }
    return rc;
}

/* Which part this process runs, and when; from here on names have no {rank} in them. */
static int check_part(const struct opt_parser *p, struct options *o, const char **trace,
                      struct err *e)
{
    int rc = o->collected ? 0 : part_parse(&o->part, o->part_text, e);

    if (rc == 0 && o->collected && o->autoscale == SEARCH_OFF && strcmp(*trace, "-") == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "standard input",
                       "only rank 0 would have it: name a trace");
    if (rc == 0 && o->start_at)
        rc = start_parse(o->start_at, clock_wall_ns(), &o->start_wall_ns, e);
    if (rc < 0 || !o->part.on)
        return rc;
    name_run(o, p, *trace);
    o->own_traces = part_has_rank(*trace) || o->autoscale != SEARCH_OFF;
    o->own_results = o->output && part_has_rank(o->output);
    o->own_summaries = o->summary && part_has_rank(o->summary);
    rc = check_keys(o, *trace, e);
    if (rc == 0 && o->split == SPLIT_KEYS)
        o->order = ORDER_KEY;
    if (rc == 0)
        rc = refuse_shared(o, "--output", is_none(o) ? NULL : o->output, e);
    if (rc == 0)
        rc = refuse_shared(o, "--summary", o->summary, e);
    if (rc == 0)
        rc = expand(o, trace, e);
    if (rc == 0)
        rc = expand(o, &o->each, e);
    if (rc == 0)
        rc = expand(o, &o->output, e);
    if (rc == 0)
        rc = expand(o, &o->summary, e);
    if (rc == 0 && o->shared_target)
        return check_shared(o, e);
    for (size_t i = 0; rc == 0 && i < o->targets.count; i++) {
        const char **text = &o->targets.item[i];
        char *own = part_target(&o->part, *text, "--target", e);
        rc = own ? keep_expanded(o, text, own, e) : -EINVAL;
    }
    return rc;
}

void options_release(struct options *o)
{
    for (size_t i = 0; i < o->expanded_count; i++)
        free(o->expanded[i]);
    o->expanded_count = 0;
}

/* One more path under Tier-2. */
static int add_path(struct options *o, const struct uri *u, struct err *e)
{
    const struct uri *first = &o->target[TRACE_STORAGE];

    if (o->paths == SPREAD_MAX)
        return err_set(e, -EINVAL, ERR_INPUT, "--target", "more than %u paths", SPREAD_MAX);
    if (o->paths > 0 && (u->like != URI_LIKE_KVTRACE || first->like != URI_LIKE_KVTRACE))
        return err_set(
            e, -EINVAL, ERR_INPUT, "--target",
            "like= takes one path: these engines keep their files in one directory. Replay one "
            "trace per path, or leave out like= to spread objects over the paths");
    if (o->paths > 0 && (u->pages == URI_PAGES_SMALL) != (first->pages == URI_PAGES_SMALL))
        return err_set(e, -EINVAL, ERR_INPUT, "--target",
                       "%s: pages= must be the same for all paths", u->text);
    return keep_expanded(o, &o->path[o->paths++], strdup(u->path), e);
}

/* Takes the texts of --target. */
static int check_targets(struct options *o, struct err *e)
{
    o->paths = 0;
    for (unsigned i = 0; i < TRACE_TIERS; i++)
        o->has_target[i] = false;
    for (size_t i = 0; i < o->targets.count; i++) {
        const char *text = o->targets.item[i];
        struct uri u;
        int rc = uri_parse(&u, text, "--target", e);
        if (rc < 0)
            return rc;
        if (u.scheme == URI_PATH && u.tier != TRACE_STORAGE)
            return err_set(e, -EINVAL, ERR_INPUT, "--target",
                           "%s: a path serves tier 2 only (--tier-map runs rows of other tiers "
                           "there)",
                           text);
        if (o->has_target[u.tier] && !(u.scheme == URI_PATH && o->paths > 0))
            return err_set(e, -EINVAL, ERR_INPUT, "--target",
                           "%s: tier %u has a target already; only paths can share tier 2", text,
                           u.tier);
        if (u.scheme == URI_PATH) {
            rc = add_path(o, &u, e);
            if (rc < 0)
                return rc;
        }
        if (!o->has_target[u.tier])
            o->target[u.tier] = u;
        o->has_target[u.tier] = true;
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
        {.on = !autoscale, .refuses = AUTOSCALE_ONLY, .why = "applies only with --autoscale"},
        {.on = autoscale, .refuses = NOT_AUTOSCALE, .why = "does not apply with --autoscale"},
        {.on = autoscale,
         .refuses = NOT_SEARCH,
         .why = "does not apply with --autoscale: parts cannot tell each other what comes next "
                "(the ranks of kvreplay-mpi can)"},
        {.on = is_none(o),
         .refuses = OPTIONS_ROWS_ONLY,
         .why = "no result rows are written (-o none)"},
        {.on = results && !compressed,
         .refuses = COMPRESSED_ONLY,
         .why = "the results are not compressed (-z, or a name ending in .zst)"},
        {.on = results && compressed,
         .refuses = PLAIN_ONLY,
         .why = "applies only to results that are not compressed"},
        {.on = timing == SCHED_ASAP,
         .refuses = NOT_ASAP,
         .why = "does not apply with --timing asap"},
        {.on = timing != SCHED_TRACE,
         .refuses = TRACE_TIMING_ONLY,
         .why = "applies only with --timing trace"},
        {.on = timing != SCHED_SERVED,
         .refuses = SERVED_ONLY,
         .why = "applies only with --timing served"},
        {.on = other_tier_0,
         .refuses = SIMULATED_GPU_ONLY,
         .why = "does not apply when --tier-engine replaces tier 0"},
        {.on = real_gpu,
         .refuses = SIMULATED_GPU_ONLY,
         .why = "applies only to a simulated GPU, but --gpu requires a real one"},
        {.on = o->null, .refuses = NOT_NULL, .why = "does not apply with --null"},
        {.on = o->paths == 0, .refuses = PATH_ONLY, .why = "applies only with --target PATH"},
        {.on = o->paths < 2,
         .refuses = SEVERAL_ONLY,
         .why = "applies only with several --target PATH"},
        {.on = !store, .refuses = STORE_ONLY, .why = "applies only with --target"},
        {.on = !o->collected,
         .refuses = MPI_ONLY,
         .why = "applies only to kvreplay-mpi with several ranks"},
        {.on = o->collected, .refuses = NOT_MPI, .why = "does not apply with ranks of MPI"},
        {.on = !o->part.on, .refuses = PARTS_ONLY, .why = "applies only with --part"},
        {.on = !remote,
         .refuses = REMOTE_ONLY,
         .why = "applies only with a redis:// or s3:// target"},
        {.on = o->ioengine == IO_PSYNC,
         .refuses = URING_ONLY,
         .why = "does not apply with --ioengine psync"},
        {.on = o->target[TRACE_STORAGE].like != URI_LIKE_KVTRACE,
         .refuses = NOT_LIKE,
         .why =
             "does not apply with like=, which stores files and does its I/O as the engine does"},
        {.on = o->buffered, .refuses = DIRECT_ONLY, .why = "does not apply with --buffered"},
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
    for (size_t i = 0; o->part.rank == 0 && (warning = conf_warning(c, i)) != NULL; i++)
        fprintf(stderr, "kvreplay%s: %s\n", ranks_suffix(), warning);
    o->saturation_limits = opt_given(p, "target-saturation");
    o->scale_up = conf_f64(c, "autoscaler.scale_up_factor");
    o->scale_down = conf_f64(c, "autoscaler.scale_down_factor");
    o->min_users = (uint64_t)conf_i64(c, "autoscaler.min_users");
    if (o->min_users < o->part.count) /* each rank serves one */
        o->min_users = o->part.count;
    if (!opt_given(p, "max-users"))
        o->max_users = (uint64_t)conf_i64(c, "autoscaler.max_users");
    if (!opt_given(p, "storage-p95"))
        o->storage_p95_ns = conf_ms(c, read_limit);
    o->write_p95_ns = conf_ms(c, "saturation_detection.write_latency_p95_threshold_ms");
    o->queue_limit = (uint64_t)conf_i64(c, "saturation_detection.queue_depth_threshold");
    conf_free(c);

    if (o->part.count > o->max_users)
        return err_set(e, -EINVAL, ERR_INPUT, "--max-users",
                       "is less than the number of ranks, each of which serves a user");
    if (o->min_users > o->max_users)
        return err_set(e, -EINVAL, ERR_INPUT, "autoscaler.min_users",
                       "is more than autoscaler.max_users or --max-users");
    if (!opt_given(p, "start-users")) {
        if (o->start_users < o->min_users)
            o->start_users = o->min_users;
        if (o->start_users > o->max_users)
            o->start_users = o->max_users;
    }
    if (o->storage_p95_ns < 1)
        return err_set(e, -EINVAL, ERR_INPUT, read_limit, "must be more than 0");
    return 0;
}

static int check_autoscale(const struct opt_parser *p, struct options *o, struct err *e)
{
    const char *const *operand;
    size_t n = opt_operands(p, &operand);
    int rc;

    if (n > 0)
        return err_set(e, -EINVAL, ERR_INPUT, operand[0],
                       "with --autoscale the command of --each writes the traces");
    if (!o->each)
        return err_set(e, -EINVAL, ERR_INPUT, "--autoscale", "needs --each COMMAND");
    rc = read_config(p, o, e);
    if (rc < 0)
        return rc;
    if (o->start_users > o->max_users)
        return err_set(e, -EINVAL, ERR_INPUT, "--start-users", "is more than --max-users");
    if (o->start_users < o->min_users)
        return err_set(e, -EINVAL, ERR_INPUT, "--start-users", "is less than %s",
                       o->min_users == o->part.count ? "the number of ranks, each of which serves "
                                                       "a user"
                                                     : "autoscaler.min_users");
    if (o->own_summaries)
        return err_set(e, -EINVAL, ERR_INPUT, "--summary",
                       "a search has one summary: {rank} cannot be in its name");
    o->timing = SCHED_SERVED;
    o->workers = 1; /* each step sets its own */
    return 0;
}

/* ---- outputs ---- */

/* Before anything is opened for writing. trace is NULL when it comes from commands. */
static int check_files(const struct options *o, const char *trace, struct err *e)
{
    const char *results = options_results(o);
    struct file_use files[5 + SPREAD_MAX] = {
        {FILES_STREAMED, "--output", results}, {FILES_WRITTEN, "--summary", o->summary},
        {FILES_READ, "the trace", trace},      {FILES_READ, "--config", o->config},
        {FILES_READ, "--ceiling", o->ceiling},
    };

    for (unsigned i = 0; i < o->paths; i++)
        files[5 + i] = (struct file_use){FILES_TARGET, "the target", o->path[i]};

    if (results && o->summary && strcmp(results, "-") == 0 && strcmp(o->summary, "-") == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--summary",
                       "standard output already takes the result rows (-o FILE)");
    return files_check(files, 5 + o->paths, e);
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
        return err_set(e, -EINVAL, ERR_INPUT, items[1], "only one trace can be replayed");
    *trace = n ? items[0] : "-";
    if (o->chunk_bytes % 4096)
        return err_set(e, -EINVAL, ERR_INPUT, "--chunk-size", "not a multiple of 4 KiB");
    int rc = check_part(p, o, trace, e);
    if (rc == 0)
        rc = check_targets(o, e);
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
                       "does not apply with --timing served, which runs the rows of a request one "
                       "after another");
    if (o->warmup_ns && o->duration_ns && o->warmup_ns >= o->duration_ns)
        return err_set(e, -EINVAL, ERR_INPUT, "--warmup", "must be shorter than --duration");
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
    if (o->paths > 1) { /* of each: its share, and as much again, for they are never even */
        depth = (depth * 2 + o->paths - 1) / o->paths;
        room /= o->paths;
    }
    depth = depth < room ? depth : room;
    return (unsigned)(depth < least ? least : depth < most ? depth : most);
}
