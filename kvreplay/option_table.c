/* The table of kvreplay's options: the parser, --help, the configuration and the provenance read
 * it. The rows' marks are for the modes in options.c. */
#include <stddef.h>

#include "kvreplay/options.h"
#include "lib/opt/rows.h"
#include "lib/opt/tables.h"

#define AT(field) offsetof(struct options, field)
#define MIB       (1024.0 * 1024.0)

const struct opt kvreplay_options[] = {
    {.type = OPT_HEADING, .help = "Targets"},
    {OPT_HEAD("target", OPT_LIST, targets), .flags = OPT_COMMON, .arg = "[TIER=]URI",
     .alias = "nvme|cache-dir", .marks = OPTIONS_NOT_NULL,
     .help = "Where the objects of TIER are stored; without TIER, those of Tier-2. A directory "
             "(new, empty, or used by an earlier run), a file, a block device, a Redis server "
             "(redis://HOST:PORT/DB) or an object store (s3://BUCKET/PREFIX?endpoint=URL). Several "
             "paths are one store. file:DIR?like=lmcache-fs does I/O as that engine does. Needed "
             "if the trace has Tier-2 rows."},
    {OPT_HEAD("spread", OPT_ENUM, spread), .flags = OPT_CONFIG, .choices = "hash|capacity",
     .def = "hash", .marks = OPTIONS_NOT_NULL | OPTIONS_PATH_ONLY | OPTIONS_SEVERAL_ONLY,
     .help = "How objects are spread over several paths. hash: evenly; capacity: by the size of "
             "their file systems or devices."},
    {OPT_HEAD("layout", OPT_ENUM, layout), .choices = "auto|files|slab", .def = "auto",
     .marks = OPTIONS_NOT_NULL | OPTIONS_PATH_ONLY | OPTIONS_NOT_LIKE,
     .help = "How objects lie on the target: one file each, or all in one slab. auto: files "
             "in a directory, else a slab."},
    {OPT_HEAD("destroy-data", OPT_FLAG, destroy_data), .flags = OPT_COMMON,
     .marks = OPTIONS_NOT_NULL | OPTIONS_STORE_ONLY,
     .help = "Overwrite a device, or a file that kvreplay did not write. Removes what an "
             "earlier run kept, too."},
    {OPT_HEAD("gpu-mem", OPT_GIB, gpu_mem_gb), .flags = OPT_COMMON, .alias = "gpu-mem-gb",
     .max = 1 << 20,
     .help = "Capacity of Tier-0, of each GPU if there are several; 0: from the trace. A "
             "number without a unit is GiB."},
    {OPT_HEAD("cpu-mem", OPT_GIB, cpu_mem_gb), .flags = OPT_COMMON, .alias = "cpu-mem-gb",
     .max = 1 << 20,
     .help = "Capacity of Tier-1; 0: from the trace. A number without a unit is GiB."},
    {OPT_HEAD("storage-capacity", OPT_GIB, storage_gb), .alias = "storage-capacity-gb",
     .max = 1 << 20,
     .help = "Capacity of Tier-2; 0: what the target has. A number without a unit is GiB."},
    {OPT_HEAD("gpu", OPT_TEXT, gpu), .flags = OPT_COMMON, .arg = "N[,N]...|all|auto|off|require",
     .def = "auto", .marks = OPTIONS_NOT_NULL,
     .help = "GPU for Tier-0. One or several by number, all, auto (the first one if there is "
             "any), off (none), or require (the first one, or an error). Without a GPU "
             "Tier-0 is simulated."},
    {OPT_HEAD("gpu-bandwidth", OPT_BANDWIDTH, gpu_bandwidth), .flags = OPT_OLD, .arg = "RATE",
     .def = "64GB/s", .min = 1, .max = 1e15, .marks = OPTIONS_SIMULATED_GPU_ONLY | OPTIONS_NOT_NULL,
     .help = "Bandwidth of the simulated GPU."},
    {OPT_HEAD("gpu-latency", OPT_DURATION, gpu_latency_ns), .flags = OPT_OLD, .arg = "TIME",
     .def = "10us", .marks = OPTIONS_SIMULATED_GPU_ONLY | OPTIONS_NOT_NULL,
     .help = "Latency of an operation on the simulated GPU."},
    {OPT_HEAD("tier-engine", OPT_LIST, tier_engine),
     .arg = "N=sim:bw=RATE,lat=TIME,servers=N,stall=AT+TIME|sim:model=FILE.json|null|"
            "mem:threads=N",
     .marks = OPTIONS_NOT_NULL,
     .help = "Run tier N (0, 1 or 2) on another engine. sim: simulated, from numbers or from a "
             "drive that kvtrace model measured; null: does nothing; mem: host memory."},
    {OPT_HEAD("tier-map", OPT_LIST, tier_map), .arg = "N=M",
     .help = "Run the rows of tier N on tier M."},
    {OPT_HEAD("overflow", OPT_ENUM, overflow), .choices = "fail|wrap", .def = "fail",
     .help = "What to do when a memory tier is too small for its objects. fail: end with an "
             "error; wrap: use its space again, so that copies take their time but contents "
             "are lost."},
    {OPT_HEAD("null", OPT_FLAG, null), .flags = OPT_COMMON,
     .help = "Do no I/O and no copies, to measure the client's own limit."},
    {OPT_HEAD("keep", OPT_FLAG, keep), .flags = OPT_COMMON,
     .marks = OPTIONS_NOT_AUTOSCALE | OPTIONS_NOT_NULL | OPTIONS_STORE_ONLY,
     .help = "Leave the objects on the target for later runs, and use what an earlier run "
             "left. They survive a power cut once the run has ended."},
    {OPT_HEAD("reserve", OPT_TEXT, reserve), .arg = "PERCENT|auto", .def = "auto",
     .marks = OPTIONS_NOT_NULL | OPTIONS_PATH_ONLY,
     .help = "Percentage of the target's file system that stays free. auto: the smaller of 5 "
             "% of it and half of what is free."},
    {OPT_HEAD("on-full", OPT_ENUM, on_full), .choices = "fail|evict", .def = "fail",
     .marks = OPTIONS_NOT_NULL | OPTIONS_PATH_ONLY,
     .help = "What happens when --storage-capacity or the target is used up. fail: a write fails; "
             "evict: a cleaner removes the objects that were read longest ago until 90 % is used, "
             "and the write goes on. A read of what was removed is a miss."},
    {.type = OPT_HEADING, .help = "Load"},
    {OPT_HEAD("timing", OPT_ENUM, timing), .flags = OPT_COMMON,
     .choices = "asap|trace|served|closed", .def = "asap", .marks = OPTIONS_NOT_AUTOSCALE,
     .help = "When rows run: at once (asap), at their Timestamp (trace), with their request "
             "(served), or after their user's row before (closed). served: a request begins when "
             "it has arrived and one of --workers is free; closed: a row begins when its user's "
             "row before is done and the trace's pause between the two has passed."},
    {OPT_HEAD("workers", OPT_U64, workers), .flags = OPT_COMMON, .arg = "N", .max = 4096,
     .marks = OPTIONS_NOT_AUTOSCALE | OPTIONS_SERVED_ONLY,
     .help = "Requests served at the same time; --timing served needs it."},
    {OPT_HEAD("admit", OPT_ENUM, admit), .flags = OPT_CONFIG, .choices = "auto|qos|fifo",
     .def = "auto", .marks = OPTIONS_SERVED_ONLY,
     .help = "With --timing served, which waiting request is next. qos: the first of the "
             "highest QoS class; fifo: the first in the trace; auto: qos if the trace has "
             "that column."},
    {OPT_HEAD("speed", OPT_F64, speed), .flags = OPT_COMMON, .arg = "FACTOR", .def = "1",
     .min = 1e-6, .max = 1e9, .marks = OPTIONS_NOT_ASAP,
     .help = "Divide all times of the trace by this, unless --timing is asap."},
    {OPT_HEAD("inflight", OPT_U64, inflight), .arg = "N", .max = 4096,
     .help = "Most objects in flight; 0: 64 with --timing asap, else 1024."},
    {OPT_HEAD("max-concurrent-allocs", OPT_U64, max_writes), .arg = "N", .max = 4096,
     .help = "Most objects that are written at the same time; 0: no limit but --inflight."},
    {OPT_HEAD("order", OPT_ENUM, order), .choices = "auto|request|key|none", .def = "auto",
     .help = "What a row waits for. key: earlier rows of its key; request: also the row "
             "before it of its request; none: nothing; auto: request if the trace has that "
             "column, else key."},
    {OPT_HEAD("only-tier", OPT_ENUM, only_tier), .choices = "all|0|1|2", .def = "all",
     .help = "Execute only the rows of one tier."},
    {OPT_HEAD("only-users", OPT_U64, only_users), .flags = OPT_CONFIG, .arg = "N", .max = 1 << 24,
     .marks = OPTIONS_NOT_AUTOSCALE,
     .help = "Execute only the rows of the first N users; rows without a user are included; "
             "0: all."},
    {OPT_HEAD("limit", OPT_U64, limit), .flags = OPT_COMMON, .arg = "N",
     .marks = OPTIONS_NOT_AUTOSCALE, .help = "End after N rows of the trace; 0: all."},
    {OPT_HEAD("loops", OPT_U64, loops), .flags = OPT_CONFIG, .arg = "N", .def = "1", .min = 1,
     .max = 1 << 20, .marks = OPTIONS_NOT_AUTOSCALE,
     .help = "Run the trace (or its first --limit rows) N times, one after another."},
    {OPT_HEAD("duration", OPT_DURATION, duration_ns), .flags = OPT_COMMON, .arg = "TIME",
     .marks = OPTIONS_NOT_AUTOSCALE,
     .help = "End after this time; 0: when the trace ends. Rows that are not done by then are "
             "left out."},
    {OPT_HEAD("warmup", OPT_DURATION, warmup_ns), .flags = OPT_COMMON, .arg = "TIME",
     .marks = OPTIONS_NOT_AUTOSCALE,
     .help = "Leave rows that start in this time out of the statistics. They are executed."},
    {OPT_HEAD("on-absent", OPT_ENUM, on_absent), .choices = "create|skip|fail", .def = "create",
     .help = "What to do about objects that are read before they are written. create: write "
             "them before the run; skip: leave the reads out and count them; fail: stop."},
    {OPT_HEAD("on-error", OPT_ENUM, on_error), .flags = OPT_CONFIG, .choices = "continue|stop",
     .def = "continue", .help = "Continue or stop after a failed row."},
    {OPT_HEAD("lag-limit", OPT_DURATION, lag_limit_ns), .flags = OPT_CONFIG, .arg = "TIME",
     .def = "1s", .marks = OPTIONS_TRACE_TIMING_ONLY,
     .help = "With --timing trace: warn once when a row is later than this."},
    {OPT_HEAD("on-lag", OPT_ENUM, on_lag), .flags = OPT_CONFIG,
     .choices = "continue|skip-wait|stop", .def = "continue", .marks = OPTIONS_TRACE_TIMING_ONLY,
     .help = "What to do when a row is later than --config lag_limit. skip-wait: let Generate rows "
             "take no time until the run has caught up."},
    {OPT_HEAD("lateness-budget", OPT_TEXT, lateness_budget), .flags = OPT_CONFIG, .arg = "TIME",
     .marks = OPTIONS_NOT_ASAP,
     .help = "Mark the run invalid if the P99 of client delay is above this. Without it, "
             "only figures that client delay changed by more than 5 % are marked."},
    {OPT_HEAD("spin", OPT_TEXT, spin), .flags = OPT_CONFIG, .arg = "TIME|auto", .def = "auto",
     .marks = OPTIONS_NOT_ASAP,
     .help = "How long before a row's time the client stops sleeping and busy-waits. auto: "
             "as late as sleeps end, at most 2 ms."},
    {.type = OPT_HEADING, .help = "Several hosts"},
    {OPT_HEAD("part", OPT_TEXT, part_text), .arg = "I/N|auto[/N]", .flags = OPT_NO_EFFECT,
     .marks = OPTIONS_NOT_SEARCH | OPTIONS_NOT_RANKS,
     .help =
         "Run part I of N, counted from 0. Each part is a process of its own. auto: Slurm, Open "
         "MPI or PMI tell I and N; auto/N: JOB_COMPLETION_INDEX tells I. {rank}, {ranks} and "
         "{host} are replaced in TRACE, --target, --output and --summary. To a target that is "
         "a directory or prefix, without {rank}, rank-I is added."},
    {OPT_HEAD("split", OPT_ENUM, split), .choices = "none|keys", .def = "none",
     .marks = OPTIONS_PARTS_ONLY,
     .help =
         "What each part runs. none: the whole trace, on objects of its own, so N parts are N "
         "times the load; keys: its share of the keys, with --timing asap or trace. Rows without a "
         "key run in part 0."},
    {OPT_HEAD("start-at", OPT_TEXT, start_at), .arg = "TIME|+SECONDS",
     .marks = OPTIONS_NOT_AUTOSCALE | OPTIONS_NOT_RANKS,
     .help = "When the run's clock starts: seconds since 1970, a date and time (UTC), or +SECONDS "
             "from now. Populating must be done by then."},
    {OPT_HEAD("spool", OPT_TEXT, spool), .arg = "DIR", .flags = OPT_NO_EFFECT | OPT_CONFIG,
     .marks = OPTIONS_RANKS_ONLY | OPTIONS_ROWS_ONLY,
     .help = "With kvreplay-mpi: folder in which each rank keeps its result rows until rank 0 has "
             "them. Without it: TMPDIR, else /tmp."},
    {OPT_HEAD("shared-target", OPT_FLAG, shared_target), .flags = OPT_EXPERT,
     .marks = OPTIONS_RANKS_ONLY | OPTIONS_STORE_ONLY,
     .help = "With kvreplay-mpi: all ranks use one store, a directory of files, a prefix or a "
             "database. Rank 0 takes it and cleans up after the last. With --split none keys "
             "differ by rank."},
    {OPT_HEAD("lost-after", OPT_DURATION, lost_after_ns), .flags = OPT_NO_EFFECT | OPT_CONFIG,
     .def = "30s", .min = 2e9, .marks = OPTIONS_RANKS_ONLY,
     .help = "With kvreplay-mpi: a rank that is silent for so long is lost. Before the start that "
             "ends the run; later the others go on without it."},
    {.type = OPT_HEADING, .help = "Finding the limit"},
    {OPT_HEAD("autoscale", OPT_ENUM, autoscale), .flags = OPT_COMMON, .choices = "off|qos|capacity",
     .def = "off",
     .help = "Find the number of users that this machine serves. Replays one trace after "
             "another, each for a number of users: qos finds the most users within the "
             "limits, capacity the fewest that reach the highest throughput."},
    {OPT_HEAD("each", OPT_TEXT, each), .flags = OPT_COMMON, .arg = "COMMAND",
     .marks = OPTIONS_AUTOSCALE_ONLY,
     .help = "With --autoscale: the command that writes the trace of {N} users. Each rank of "
             "kvreplay-mpi runs it for its own users; it may use {rank}, {ranks} and {host}."},
    {OPT_HEAD("each-timeout", OPT_DURATION, each_timeout_ns), .flags = OPT_CONFIG, .arg = "TIME",
     .def = "60s", .min = 1, .max = 10000 * 86400e9, .marks = OPTIONS_AUTOSCALE_ONLY,
     .help = "With --autoscale: how long the command of --each may take until it writes its "
             "first byte."},
    {OPT_HEAD("step-warmup", OPT_DURATION, step_warmup_ns), .arg = "TIME", .def = "10s",
     .marks = OPTIONS_AUTOSCALE_ONLY,
     .help = "With --autoscale: time to settle before each measurement."},
    {OPT_HEAD("step-duration", OPT_DURATION, step_duration_ns), .arg = "TIME", .def = "60s",
     .min = 1e6, .max = 10 * 86400e9, .marks = OPTIONS_AUTOSCALE_ONLY,
     .help = "With --autoscale: length of each measurement."},
    {OPT_HEAD("start-users", OPT_U64, start_users), .arg = "N", .def = "10", .min = 1,
     .max = 1 << 24, .marks = OPTIONS_AUTOSCALE_ONLY,
     .help = "With --autoscale: users of the first step."},
    {OPT_HEAD("max-users", OPT_U64, max_users), .arg = "N", .def = "10000", .min = 1,
     .max = 1 << 24, .marks = OPTIONS_AUTOSCALE_ONLY,
     .help = "With --autoscale: most users to try."},
    {OPT_HEAD("search-time", OPT_DURATION, search_time_ns), .arg = "TIME", .def = "0", .max = 1e15,
     .marks = OPTIONS_AUTOSCALE_ONLY,
     .help = "With --autoscale: begin no step after this time. The best number of users so far "
             "is then the answer; 0: search until it is found."},
    {OPT_HEAD("storage-p95", OPT_DURATION, storage_p95_ns),
     .key = "saturation_detection.read_latency_p95_threshold_ms", .flags = OPT_CONFIG,
     .arg = "TIME", .def = "100ms", .min = 1, .max = 10 * 86400e9, .marks = OPTIONS_AUTOSCALE_ONLY,
     .help = "With --autoscale: limit of the 95th percentile of Tier-2 read times."},
    {OPT_HEAD("qos-p95", OPT_LIST, qos_p95), .flags = OPT_CONFIG, .arg = "CLASS=TIME",
     .marks = OPTIONS_AUTOSCALE_ONLY,
     .help = "With --autoscale qos: limit of the 95th percentile of the end-to-end times of "
             "requests of a QoS class."},
    {OPT_HEAD("target-saturation", OPT_SHARE, target_saturation), .arg = "SHARE", .def = "0.8",
     .max = 1, .marks = OPTIONS_AUTOSCALE_ONLY,
     .help = "With --autoscale: saturation, from 0 to 1, from which a step counts as "
             "saturated. Where given, --autoscale qos takes it as a limit, too."},
    {OPT_HEAD("config", OPT_LIST, config), .letter = 'c', .flags = OPT_COMMON | OPT_ONE,
     .arg = "FILE|KEY=VALUE",
     .help = "A YAML file, or one key of it, such as rings=4; several times. kvtrace.conf(5) has "
             "all keys."},
    {.type = OPT_HEADING, .help = "Storage"},
    {OPT_HEAD("chunk-size", OPT_SIZE, chunk_bytes), .arg = "SIZE", .def = "1MiB", .min = 4096,
     .max = 64 * MIB, .marks = OPTIONS_NOT_NULL | OPTIONS_PATH_ONLY | OPTIONS_NOT_LIKE,
     .help = "Size of the I/Os that an object is cut into, a multiple of 4 KiB."},
    {OPT_HEAD("iodepth", OPT_U64, iodepth), .arg = "N", .max = 1024,
     .marks = OPTIONS_NOT_NULL | OPTIONS_PATH_ONLY | OPTIONS_NOT_LIKE,
     .help = "I/Os in flight; 0: 32, with --timing served one for each worker, at most 256 "
             "MiB. With several paths, on each of them."},
    {OPT_HEAD("rings", OPT_U64, rings), .flags = OPT_CONFIG, .arg = "N", .def = "1", .min = 1,
     .max = 64, .marks = OPTIONS_NOT_NULL | OPTIONS_PATH_ONLY | OPTIONS_NOT_LIKE,
     .help = "I/O threads of each target, each with its own ring; they share --iodepth."},
    {OPT_HEAD("ioengine", OPT_ENUM, ioengine), .flags = OPT_CONFIG, .choices = "auto|uring|psync",
     .def = "auto", .marks = OPTIONS_NOT_NULL | OPTIONS_PATH_ONLY | OPTIONS_NOT_LIKE,
     .help = "How I/O is done. uring: io_uring; psync: threads with pread and pwrite; auto: "
             "io_uring where it works."},
    {OPT_HEAD("sqpoll", OPT_FLAG, sqpoll), .flags = OPT_CONFIG,
     .marks = OPTIONS_NOT_NULL | OPTIONS_PATH_ONLY | OPTIONS_NOT_LIKE | OPTIONS_URING_ONLY,
     .help = "io_uring with a kernel thread that polls for submissions."},
    {OPT_HEAD("iopoll", OPT_FLAG, iopoll), .flags = OPT_CONFIG,
     .marks = OPTIONS_NOT_NULL | OPTIONS_PATH_ONLY | OPTIONS_NOT_LIKE | OPTIONS_URING_ONLY |
              OPTIONS_DIRECT_ONLY,
     .help = "io_uring that polls for completions."},
    {OPT_HEAD("buffered", OPT_FLAG, buffered),
     .marks = OPTIONS_NOT_NULL | OPTIONS_PATH_ONLY | OPTIONS_NOT_LIKE,
     .help = "Use the page cache (no O_DIRECT)."},
    {OPT_HEAD("sync", OPT_ENUM, sync), .choices = "none|end|object", .def = "none",
     .marks = OPTIONS_NOT_NULL | OPTIONS_PATH_ONLY,
     .help = "When to call fdatasync: never, once at the end, or after each object."},
    {OPT_HEAD("cold", OPT_FLAG, cold), .marks = OPTIONS_NOT_NULL | OPTIONS_PATH_ONLY,
     .help = "Before the clock starts, drive what the target holds out of the page cache, and "
             "prove it. What cannot be proven is reported as not cold."},
    {OPT_HEAD("priority", OPT_ENUM, priority), .flags = OPT_CONFIG, .choices = "none|loads",
     .def = "none",
     .help = "Who goes first when all places of --inflight are taken: none, the row that has "
             "waited longest; loads, reads before writes to Tier-2."},
    {OPT_HEAD("device-times", OPT_ENUM, device_times), .choices = "auto|yes|no", .def = "no",
     .marks = OPTIONS_NOT_NULL | OPTIONS_PATH_ONLY,
     .help = "Record what the drive itself takes for each request (the kernel's block events; "
             "needs root, or kvtrace-trace with its capability). yes: the run fails where that is "
             "not possible; auto: it goes on without, and says why."},
    OPT_ROW_TIMEOUT(AT(timeout_ns), OPTIONS_NOT_NULL | OPTIONS_REMOTE_ONLY),
    OPT_ROW_RETRIES(AT(retries), OPTIONS_NOT_NULL | OPTIONS_REMOTE_ONLY),
    {OPT_HEAD("verify", OPT_ENUM, verify), .flags = OPT_COMMON, .choices = "none|header|full|auto",
     .def = "auto", .marks = OPTIONS_NOT_NULL,
     .help = "What to check of each block that is read: nothing, its header, or every byte. "
             "header finds stale and misplaced blocks, but no damage after the first 48 "
             "bytes. auto: full on storage, header in memory."},
    {OPT_HEAD("data-seed", OPT_U64, data_seed), .arg = "N", .flags = OPT_NO_EFFECT | OPT_CONFIG,
     .marks = OPTIONS_NOT_NULL,
     .help = "Seed of the contents of objects: runs with one trace and one seed write the "
             "same bytes. 0: random, so that deduplicating storage sees new data in each "
             "run."},
    {OPT_HEAD("compress-ratio", OPT_F64, compress_ratio), .flags = OPT_CONFIG, .arg = "R",
     .def = "1", .min = 1, .max = 64, .marks = OPTIONS_NOT_NULL | OPTIONS_STORE_ONLY,
     .help = "Make Tier-2 objects that a compressor shrinks to one R-th."},
    {OPT_HEAD("dedup-ratio", OPT_F64, dedup_ratio), .flags = OPT_CONFIG, .arg = "R", .def = "1",
     .min = 1, .max = 255, .marks = OPTIONS_NOT_NULL | OPTIONS_STORE_ONLY,
     .help = "Make Tier-2 objects in which R consecutive blocks are the same."},
    {.type = OPT_HEADING, .help = "Output"},
    {OPT_HEAD("output", OPT_TEXT, output), .letter = 'o', .arg = "FILE",
     .flags = OPT_NO_EFFECT | OPT_COMMON,
     .help = "Where result rows go: a file, - for standard output, or none for the summary "
             "only. Without it, to standard output unless that is a terminal."},
    OPT_ROW_ZSTD(AT(zstd), OPTIONS_ROWS_ONLY),
    OPT_ROW_LEVEL(AT(level), OPTIONS_COMPRESSED_ONLY | OPTIONS_ROWS_ONLY),
    OPT_ROW_FRAMES(AT(frames), OPTIONS_COMPRESSED_ONLY | OPTIONS_ROWS_ONLY),
    OPT_ROW_NOTES(AT(notes), OPTIONS_PLAIN_ONLY | OPTIONS_ROWS_ONLY),
    OPT_ROW_SUMMARY(AT(summary), 0),
    {OPT_HEAD("full", OPT_FLAG, full), .flags = OPT_NO_EFFECT,
     .help = "Print the whole summary on standard error instead of five lines."},
    {OPT_HEAD("ceiling", OPT_TEXT, ceiling), .arg = "FILE", .flags = OPT_NO_EFFECT,
     .marks = OPTIONS_NOT_AUTOSCALE | OPTIONS_NOT_NULL,
     .help = "The summary of a --null run of this trace on this host; a run that reaches 70 "
             "% of its rate says so."},
    OPT_ROW_PROGRESS(AT(progress), 0),
    {OPT_HEAD("threads", OPT_U64, threads), .arg = "N", .def = "2", .min = 1, .max = 256,
     .flags = OPT_NO_EFFECT | OPT_CONFIG, .marks = OPTIONS_ROWS_ONLY,
     .help = "Threads that format and compress result rows."},
    {.type = OPT_HEADING, .help = "Input"},
    {OPT_HEAD("skip-bad-rows", OPT_FLAG, skip_bad_rows),
     .help = "Skip and count bad rows instead of ending at the first."},
    {OPT_HEAD("long", OPT_FLAG, long_window), .flags = OPT_CONFIG,
     .help = "Accept zstd windows over 128 MiB."},
    {.type = OPT_EXAMPLE, .help = "kvreplay --target /mnt/nvme/kv -o result.csv.zst trace.csv.zst"},
    {.type = OPT_EXAMPLE,
     .help = "kvreplay --timing served --workers 50 --target /mnt/nvme/kv trace.csv"},
    {.type = OPT_EXAMPLE, .help = "kvgen --users 50 | kvreplay --target /mnt/nvme/kv | kvstat"},
    {0},
};
