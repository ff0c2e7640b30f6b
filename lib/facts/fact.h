/* fact.h - the table of what a run tells of itself: every fact once, with its name in JSON, its
 * kind, its unit, and the rule that makes one fact of those of several runs. All code that writes,
 * reads, merges or shows facts uses the table. A new fact takes a row here, a line where it is
 * measured, and its words in kvreplay(1) or kvprecond(1); in kvstat(1), if its scope is
 * FACTS_OF_PROVENANCE. */
#ifndef KVTRACE_FACTS_FACT_H
#define KVTRACE_FACTS_FACT_H

/* The objects of a summary that hold facts. */
enum fact_scope {
    FACTS_OF_PROVENANCE, /* what made the rows, in kvstat's report */
    FACTS_OF_KERNEL,     /* the kernel's counts during the run */
    FACTS_OF_EVIDENCE,
    FACTS_OF_OVERLOAD, /* only of a run that was overloaded */
    FACTS_OF_READS,    /* where the bytes of Tier-2 came from, and went */
    FACTS_OF_WRITES,
    FACTS_OF_BOTH,  /* loads and stores beside each other */
    FACTS_OF_DRIVE, /* what the drive itself took: only with --device-times */
    FACTS_OF_LOG,   /* the drive's own log of the run */
    FACTS_OF_FOUND, /* by --autoscale: of one run, never of several */
    FACT_SCOPES_SHOWN,
    FACTS_OF_RUN = FACT_SCOPES_SHOWN, /* the whole document, of kvreplay or kvprecond */
    FACTS_OF_START,                   /* when time 0 of the rows was */
    FACTS_OF_PART,                    /* only of a part of a run of several processes */
    FACTS_OF_STEP,                    /* a step of autoscale, from rank to rank only */
    FACT_SCOPES
};

enum fact_kind {
    FACT_COUNT,  /* a whole number, 0 or more */
    FACT_NUMBER, /* 0 or more */
    FACT_TEXT,
    FACT_YES,   /* or no */
    FACT_TIMES, /* statistics of a distribution */
    FACT_HIST,  /* a distribution itself, as an array: value, count, value, count, ... */
    FACT_COUNTS /* an object of counts, whatever their names */
};

/* How the facts of several runs become one. A fact that one of them does not know is not known, but
 * for an answer that no other can change. */
enum fact_merge {
    FACT_SUM,   /* of distributions: all their values; of counts: those of a name */
    FACT_MAX,   /* yes, where one says so */
    FACT_MIN,   /* no, where one says so */
    FACT_EQUAL, /* known where all say the same */
    FACT_FIRST, /* that of the first run which has it */
    FACT_LAST,  /* that of the last */
    FACT_RATIO, /* of the fact before it to the one before that, where all know it */
    FACT_ALONE  /* of one run only */
};

enum figure_unit {
    FIGURE_UNIT_NONE, /* a count, a ratio, a text */
    FIGURE_UNIT_BYTES,
    FIGURE_UNIT_SHARE, /* 0..1 */
    FIGURE_UNIT_S,
    FIGURE_UNIT_MS,
    FIGURE_UNIT_US,
    FIGURE_UNIT_PER_S,
    FIGURE_UNIT_TOKENS_PER_S,
    FIGURE_UNIT_BYTES_PER_S,
    FIGURE_UNIT_GIB_PER_S
};

/* Every fact: F(identity without FACT_, scope, name in JSON, kind, unit, merge). First come the
 * facts that kvstat shows, in the order in which it shows them; the facts of a scope stand
 * together. A summary has the same order, except for fact_moved. The scope FACTS_OF_PROVENANCE is
 * no object of a summary: kvstat/count/provenance.c knows where programs and their versions write
 * these facts. */
#define FACT_TABLE_PROVENANCE(F)                                                                   \
    F(CLIENT, PROVENANCE, "client", TEXT, NONE, ALONE)                                             \
    F(RECORDED, PROVENANCE, "recorded", TEXT, NONE, ALONE)                                         \
    F(SEED, PROVENANCE, "seed", COUNT, NONE, ALONE)                                                \
    F(MODEL, PROVENANCE, "model", TEXT, NONE, ALONE)                                               \
    F(BYTES_PER_TOKEN, PROVENANCE, "bytes_per_token", COUNT, BYTES, ALONE)                         \
    F(USERS, PROVENANCE, "users", COUNT, NONE, ALONE)                                              \
    F(TENSOR_PARALLEL, PROVENANCE, "tensor_parallel", COUNT, NONE, ALONE)                          \
    F(NUM_GPUS, PROVENANCE, "num_gpus", COUNT, NONE, ALONE)                                        \
    F(GENERATION_MODE, PROVENANCE, "generation_mode", TEXT, NONE, ALONE)                           \
    F(TIMING, PROVENANCE, "timing", TEXT, NONE, EQUAL)                                             \
    F(SPEED, PROVENANCE, "speed", NUMBER, NONE, FIRST)                                             \
    F(WORKERS, PROVENANCE, "workers", COUNT, NONE, EQUAL)                                          \
    F(HOST, PROVENANCE, "host_name", TEXT, NONE, ALONE)                                            \
    F(HOST_KERNEL, PROVENANCE, "host_kernel", TEXT, NONE, ALONE)                                   \
    F(COMMAND, PROVENANCE, "command", TEXT, NONE, ALONE)                                           \
    F(CONFIGURATION, PROVENANCE, "configuration", TEXT, NONE, ALONE)                               \
    F(VERSION, PROVENANCE, "version", TEXT, NONE, ALONE)                                           \
    F(STARTED, PROVENANCE, "started", TEXT, NONE, ALONE)                                           \
    F(ENGINE, PROVENANCE, "storage_engine", TEXT, NONE, ALONE)
#define FACT_TABLE_SHOWN(F)                                                                        \
    FACT_TABLE_PROVENANCE(F)                                                                       \
    F(KERNEL_READ_BYTES, KERNEL, "device_read_bytes", COUNT, BYTES, ALONE)                         \
    F(KERNEL_WRITE_BYTES, KERNEL, "device_write_bytes", COUNT, BYTES, ALONE)                       \
    F(PAGE_CACHE_SHARE, KERNEL, "page_cache_resident_share", NUMBER, SHARE, ALONE)                 \
    F(RUN_DELAY_S, EVIDENCE, "run_delay_s", NUMBER, S, SUM)                                        \
    F(RUN_DELAY_SHARE, EVIDENCE, "run_delay_share", NUMBER, SHARE, MAX)                            \
    F(STEAL_SHARE, EVIDENCE, "steal_share", NUMBER, SHARE, MAX)                                    \
    F(CPU_QUOTA, EVIDENCE, "cpu_quota", NUMBER, NONE, MAX)                                         \
    F(THROTTLED_S, EVIDENCE, "throttled_s", NUMBER, S, MAX)                                        \
    F(LARGEST_GAP_US, EVIDENCE, "largest_gap_us", NUMBER, US, MAX)                                 \
    F(GAPS, EVIDENCE, "gaps", COUNT, NONE, SUM)                                                    \
    F(OWN_IO_S, EVIDENCE, "own_io_s", NUMBER, S, SUM)                                              \
    F(KERNEL_IO_S, EVIDENCE, "kernel_io_s", NUMBER, S, SUM)                                        \
    F(OWN_READ_BYTES, EVIDENCE, "own_read_bytes", COUNT, BYTES, SUM)                               \
    F(OWN_WRITE_BYTES, EVIDENCE, "own_write_bytes", COUNT, BYTES, SUM)                             \
    F(DEVICE_READ_BYTES, EVIDENCE, "device_read_bytes", COUNT, BYTES, SUM)                         \
    F(DEVICE_WRITE_BYTES, EVIDENCE, "device_write_bytes", COUNT, BYTES, SUM)                       \
    F(RESIDENT_SHARE, EVIDENCE, "resident_share", NUMBER, SHARE, MAX)                              \
    F(CACHED_READ_SHARE, EVIDENCE, "cached_read_share", NUMBER, SHARE, MAX)                        \
    F(NETWORK_RECEIVED_BYTES, EVIDENCE, "network_received_bytes", COUNT, BYTES, SUM)               \
    F(NETWORK_SENT_BYTES, EVIDENCE, "network_sent_bytes", COUNT, BYTES, SUM)                       \
    F(TCP_RETRANSMITS, EVIDENCE, "tcp_retransmits", COUNT, NONE, SUM)                              \
    F(REMOTE_REQUESTS, EVIDENCE, "remote_requests", COUNT, NONE, SUM)                              \
    F(REMOTE_RETRIES, EVIDENCE, "remote_retries", COUNT, NONE, SUM)                                \
    F(REMOTE_CONNECTIONS, EVIDENCE, "remote_connections", COUNT, NONE, SUM)                        \
    F(RESIDENT_SHARE_BEFORE, EVIDENCE, "resident_share_before", NUMBER, SHARE, MAX)                \
    F(NUMA_NODE, EVIDENCE, "numa_node", COUNT, NONE, EQUAL)                                        \
    F(CLIENT_DELAY_US, EVIDENCE, "client_delay_us", TIMES, US, ALONE)                              \
    F(NETWORK_INTERFACES, EVIDENCE, "network_interfaces", TEXT, NONE, EQUAL)                       \
    F(TARGET, EVIDENCE, "target", TEXT, NONE, EQUAL)                                               \
    F(FILE_SYSTEM, EVIDENCE, "file_system", TEXT, NONE, EQUAL)                                     \
    F(LAYERS, EVIDENCE, "layers", TEXT, NONE, EQUAL)                                               \
    F(REDUCES, EVIDENCE, "reduces", YES, NONE, EQUAL)                                              \
    F(CACHE_BELOW, EVIDENCE, "cache_below", TEXT, NONE, LAST)                                      \
    F(PAGES, EVIDENCE, "pages", TEXT, NONE, EQUAL)                                                 \
    F(PAGES_RUN, EVIDENCE, "pages_run", NUMBER, NONE, MAX)                                         \
    F(LIKE, EVIDENCE, "like", TEXT, NONE, EQUAL)                                                   \
    F(PAGE_CACHE, EVIDENCE, "page_cache", TEXT, NONE, LAST)                                        \
    F(REGISTERED_BUFFERS, EVIDENCE, "registered_buffers", YES, NONE, EQUAL)                        \
    F(DIRECT, EVIDENCE, "direct", YES, NONE, EQUAL)                                                \
    F(COLD, EVIDENCE, "cold", TEXT, NONE, EQUAL)                                                   \
    F(HITS_BYTES, EVIDENCE, "hits_bytes", COUNT, BYTES, SUM)                                       \
    F(HITS_DEVICE_BYTES, EVIDENCE, "hits_device_bytes", COUNT, BYTES, SUM)                         \
    F(ON_FULL, EVIDENCE, "on_full", TEXT, NONE, EQUAL)                                             \
    F(FULL_WRITES, EVIDENCE, "full_writes", COUNT, NONE, SUM)                                      \
    F(CLEANINGS, EVIDENCE, "cleanings", COUNT, NONE, SUM)                                          \
    F(REMOVED_OBJECTS, EVIDENCE, "removed_objects", COUNT, NONE, SUM)                              \
    F(REMOVED_BYTES, EVIDENCE, "removed_bytes", COUNT, BYTES, SUM)                                 \
    F(REMOVED_MISSES, EVIDENCE, "removed_misses", COUNT, NONE, SUM)                                \
    F(OFFERED_PER_S, OVERLOAD, "offered_per_s", NUMBER, PER_S, MAX)                                \
    F(ACHIEVED_PER_S, OVERLOAD, "achieved_per_s", NUMBER, PER_S, MAX)                              \
    F(BACKLOG_GROWTH, OVERLOAD, "backlog_growth", NUMBER, PER_S, MAX)                              \
    F(READS_ASKED, READS, "asked_bytes", COUNT, BYTES, SUM)                                        \
    F(READS_DEVICE, READS, "device_bytes", COUNT, BYTES, SUM)                                      \
    F(READS_PAGE_CACHE, READS, "page_cache_bytes", COUNT, BYTES, SUM)                              \
    F(READS_CACHE_BELOW, READS, "cache_below_bytes", COUNT, BYTES, SUM)                            \
    F(READS_SAVED, READS, "saved_bytes", COUNT, BYTES, SUM)                                        \
    F(READS_MEMORY, READS, "memory_bytes", COUNT, BYTES, SUM)                                      \
    F(READS_SERVER, READS, "server_bytes", COUNT, BYTES, SUM)                                      \
    F(READS_UNKNOWN, READS, "unknown_bytes", COUNT, BYTES, SUM)                                    \
    F(WRITES_ASKED, WRITES, "asked_bytes", COUNT, BYTES, SUM)                                      \
    F(WRITES_DEVICE, WRITES, "device_bytes", COUNT, BYTES, SUM)                                    \
    F(WRITES_PAGE_CACHE, WRITES, "page_cache_bytes", COUNT, BYTES, SUM)                            \
    F(WRITES_CACHE_BELOW, WRITES, "cache_below_bytes", COUNT, BYTES, SUM)                          \
    F(WRITES_SAVED, WRITES, "saved_bytes", COUNT, BYTES, SUM)                                      \
    F(WRITES_MEMORY, WRITES, "memory_bytes", COUNT, BYTES, SUM)                                    \
    F(WRITES_SERVER, WRITES, "server_bytes", COUNT, BYTES, SUM)                                    \
    F(WRITES_UNKNOWN, WRITES, "unknown_bytes", COUNT, BYTES, SUM)                                  \
    F(LOADS_ALONE_US, BOTH, "loads_alone_us", TIMES, US, ALONE)                                    \
    F(LOADS_BESIDE_US, BOTH, "loads_beside_stores_us", TIMES, US, ALONE)                           \
    F(STORES_COST, BOTH, "p95_ratio", NUMBER, NONE, ALONE)                                         \
    F(STORES_COST_LOW, BOTH, "p95_ratio_low", NUMBER, NONE, ALONE)                                 \
    F(STORES_COST_HIGH, BOTH, "p95_ratio_high", NUMBER, NONE, ALONE)                               \
    F(LOADS_DEPTH, BOTH, "loads_in_flight", NUMBER, NONE, SUM)                                     \
    F(STORES_DEPTH, BOTH, "stores_in_flight", NUMBER, NONE, SUM)                                   \
    F(DRIVE_STATE, DRIVE, "state", TEXT, NONE, EQUAL)                                              \
    F(DRIVE_REQUESTS, DRIVE, "drive_requests", COUNT, NONE, SUM)                                   \
    F(DRIVE_LOST, DRIVE, "lost_events", COUNT, NONE, SUM)                                          \
    F(DRIVE_UNJOINED, DRIVE, "unjoined", COUNT, NONE, SUM)                                         \
    F(DRIVE_REQUEUED, DRIVE, "requeued", COUNT, NONE, SUM)                                         \
    F(DRIVE_OTHERS, DRIVE, "other_requests", COUNT, NONE, SUM)                                     \
    F(DRIVE_IO_S, DRIVE, "drive_io_s", NUMBER, S, SUM)                                             \
    F(DRIVE_DEPTH, DRIVE, "mean_depth", NUMBER, NONE, MAX)                                         \
    F(DRIVE_READ_US, DRIVE, "drive_read_us", TIMES, US, ALONE)                                     \
    F(DRIVE_WRITE_US, DRIVE, "drive_write_us", TIMES, US, ALONE)                                   \
    F(DRIVE_ROWS, DRIVE, "rows", COUNT, NONE, SUM)                                                 \
    F(DRIVE_ROWS_WITHOUT, DRIVE, "rows_without_requests", COUNT, NONE, SUM)                        \
    F(DRIVE_ROWS_UNPLACED, DRIVE, "rows_not_placed", COUNT, NONE, SUM)                             \
    F(DRIVE_READ_REQUESTS, DRIVE, "requests_per_read", NUMBER, NONE, ALONE)                        \
    F(DRIVE_WRITE_REQUESTS, DRIVE, "requests_per_write", NUMBER, NONE, ALONE)                      \
    F(DRIVE_READ_SHARE, DRIVE, "drive_share_of_reads", NUMBER, SHARE, ALONE)                       \
    F(DRIVE_WRITE_SHARE, DRIVE, "drive_share_of_writes", NUMBER, SHARE, ALONE)                     \
    F(URING_READS, DRIVE, "reads_to_workers", COUNT, NONE, SUM)                                    \
    F(URING_WRITES, DRIVE, "writes_to_workers", COUNT, NONE, SUM)                                  \
    F(URING_CALLS, DRIVE, "calls_to_workers", COUNT, NONE, SUM)                                    \
    F(URING_WHY, DRIVE, "workers_why", TEXT, NONE, LAST)                                           \
    F(LOG_HOST_BYTES, LOG, "host_write_bytes", NUMBER, BYTES, SUM)                                 \
    F(LOG_MEDIA_BYTES, LOG, "media_write_bytes", NUMBER, BYTES, SUM)                               \
    F(LOG_AMPLIFICATION, LOG, "write_amplification", NUMBER, NONE, RATIO)                          \
    F(LOG_USED, LOG, "percentage_used", NUMBER, NONE, MAX)                                         \
    F(LOG_WHY_UNKNOWN, LOG, "why_unknown", TEXT, NONE, FIRST)                                      \
    F(FOUND_MODE, FOUND, "mode", TEXT, NONE, ALONE)                                                \
    F(FOUND_USERS, FOUND, "users", COUNT, NONE, ALONE)                                             \
    F(FOUND_TOKENS_PER_S, FOUND, "throughput_tokens_per_s", NUMBER, TOKENS_PER_S, ALONE)           \
    F(FOUND_REASON, FOUND, "reason", TEXT, NONE, ALONE)
/* Facts that kvstat does not show as they are. */
#define FACT_TABLE_MERGED(F)                                                                       \
    F(FOUND_RANKS, FOUND, "ranks", COUNT, NONE, ALONE)                                             \
    F(LOG_LIFETIME_BYTES, LOG, "lifetime_host_write_bytes", COUNT, BYTES, ALONE)                   \
    F(START_S, START, "unix_s", NUMBER, S, ALONE)                                                  \
    F(START_AT_S, START, "at_unix_s", NUMBER, S, ALONE)                                            \
    F(START_LATE_US, START, "late_us", NUMBER, US, ALONE)                                          \
    F(START_SYNCHRONISED, START, "synchronised", YES, NONE, ALONE)                                 \
    F(START_CLOCK_ERROR_US, START, "clock_error_us", NUMBER, US, ALONE)                            \
    F(PART_RUN, PART, "run", TEXT, NONE, ALONE)                                                    \
    F(PART_RANK, PART, "rank", COUNT, NONE, ALONE)                                                 \
    F(PART_COUNT, PART, "count", COUNT, NONE, ALONE)                                               \
    F(PART_HOST, PART, "host", TEXT, NONE, ALONE)                                                  \
    F(PART_SPLIT, PART, "split", TEXT, NONE, ALONE)                                                \
    F(VALID, RUN, "valid", YES, NONE, MIN)                                                         \
    F(DIGEST, RUN, "trace.digest", TEXT, NONE, EQUAL)                                              \
    F(ROWS, RUN, "rows", COUNTS, NONE, SUM)                                                        \
    F(POPULATED, RUN, "populated", COUNTS, NONE, SUM)                                              \
    F(ELAPSED_S, RUN, "elapsed_s", NUMBER, S, MAX)                                                 \
    F(ROWS_PER_S, RUN, "rows_per_s", NUMBER, PER_S, ALONE)                                         \
    F(COMPLETE, RUN, "complete", YES, NONE, MIN)                                                   \
    F(SIZE_BYTES, RUN, "size_bytes", COUNT, BYTES, SUM)                                            \
    F(WRITTEN_BYTES, RUN, "written_bytes", COUNT, BYTES, SUM)                                      \
    F(WRITTEN, RUN, "writes", COUNT, NONE, SUM)                                                    \
    F(SYNC_S, RUN, "sync_s", NUMBER, S, MAX)                                                       \
    F(STEADY, RUN, "steady_state.reached", YES, NONE, MIN)                                         \
    F(SERVICE_US, RUN, "service_us", TIMES, US, ALONE)                                             \
    F(STEP_INTERRUPTED, STEP, "interrupted", YES, NONE, MAX)                                       \
    F(STEP_STOPPED, STEP, "stopped", YES, NONE, MAX)                                               \
    F(STEP_S, STEP, "seconds", NUMBER, S, MAX)                                                     \
    F(STEP_LEAST_S, STEP, "least_s", NUMBER, S, MIN)                                               \
    F(STEP_TOKENS, STEP, "tokens", COUNT, NONE, SUM)                                               \
    F(STEP_BYTES, STEP, "bytes", COUNT, BYTES, SUM)                                                \
    F(STEP_FAILED, STEP, "failed", COUNT, NONE, SUM)                                               \
    F(STEP_WAITING, STEP, "waiting", COUNT, NONE, SUM)                                             \
    F(STEP_READ, STEP, "read", HIST, NONE, SUM)                                                    \
    F(STEP_WRITE, STEP, "write", HIST, NONE, SUM)                                                  \
    F(STEP_QUEUE, STEP, "queue", HIST, NONE, SUM)                                                  \
    F(STEP_END_TO_END, STEP, "end_to_end_0", HIST, NONE, SUM)                                      \
    F(STEP_END_TO_END_1, STEP, "end_to_end_1", HIST, NONE, SUM)                                    \
    F(STEP_LAST, STEP, "end_to_end_2", HIST, NONE, SUM)

#define FACT_ID(id, ...) FACT_##id,
enum fact_id {
    FACT_TABLE_SHOWN(FACT_ID) FACTS_SHOWN,
    FACT_LAST_SHOWN = FACTS_SHOWN - 1,
    FACT_TABLE_MERGED(FACT_ID) FACTS
};

struct fact {
    enum fact_id id;
    enum fact_scope scope;
    const char *member;
    enum fact_kind kind;
    enum figure_unit unit;
    enum fact_merge merge;
};
/* The fact with that identity. Lent for ever. */
const struct fact *fact_of(enum fact_id id);
/* Facts that a summary has in another place than the table: just before another one. */
enum {
    FACTS_MOVED = 11
};
struct fact_moved {
    enum fact_id id, before;
};
extern const struct fact_moved fact_moved[FACTS_MOVED];
/* The path of a scope in a summary: "evidence.overload"; "" of the summary itself. */
const char *fact_scope_path(enum fact_scope scope);

#endif
