/* fact.h - the table of what a run of kvreplay tells of itself: every fact once, with its name in
 * JSON, its kind, its unit and how several runs' become one. Whoever writes, reads, merges or shows
 * facts goes through the table. A new fact takes a line in the enumeration, a row in fact.c, the
 * line that measures it, and its words in kvreplay(1). */
#ifndef KVTRACE_FACTS_FACT_H
#define KVTRACE_FACTS_FACT_H

/* The objects of a summary that hold facts. */
enum fact_scope {
    FACTS_OF_EVIDENCE,
    FACTS_OF_OVERLOAD, /* only of a run that was overloaded */
    FACTS_OF_READS,    /* where the bytes of Tier-2 came from, and went */
    FACTS_OF_WRITES,
    FACTS_OF_BOTH,  /* loads and stores beside each other */
    FACTS_OF_DRIVE, /* what the drive itself took: only with --device-times */
    FACT_SCOPES_SHOWN,
    FACTS_OF_RUN = FACT_SCOPES_SHOWN, /* the whole document, of kvreplay or kvprecond */
    FACTS_OF_STEP,                    /* a step of autoscale, from rank to rank only */
    FACT_SCOPES
};

/* In the order in which reports show them, up to FACTS_SHOWN; those of a scope stand together. */
enum fact_id {
    FACT_RUN_DELAY_S,
    FACT_RUN_DELAY_SHARE,
    FACT_STEAL_SHARE,
    FACT_CPU_QUOTA,
    FACT_THROTTLED_S,
    FACT_LARGEST_GAP_US,
    FACT_GAPS,
    FACT_OWN_IO_S,
    FACT_KERNEL_IO_S,
    FACT_OWN_READ_BYTES,
    FACT_OWN_WRITE_BYTES,
    FACT_DEVICE_READ_BYTES,
    FACT_DEVICE_WRITE_BYTES,
    FACT_RESIDENT_SHARE,
    FACT_CACHED_READ_SHARE,
    FACT_NETWORK_RECEIVED_BYTES,
    FACT_NETWORK_SENT_BYTES,
    FACT_TCP_RETRANSMITS,
    FACT_REMOTE_REQUESTS,
    FACT_REMOTE_RETRIES,
    FACT_REMOTE_CONNECTIONS,
    FACT_RESIDENT_SHARE_BEFORE,
    FACT_NUMA_NODE,
    FACT_CLIENT_DELAY_US,
    FACT_NETWORK_INTERFACES,
    FACT_TARGET,
    FACT_FILE_SYSTEM,
    FACT_LAYERS,
    FACT_CACHE_BELOW,
    FACT_PAGES,
    FACT_PAGES_RUN,
    FACT_LIKE,
    FACT_PAGE_CACHE,
    FACT_REGISTERED_BUFFERS,
    FACT_DIRECT,
    FACT_COLD,
    FACT_HITS_BYTES,
    FACT_HITS_DEVICE_BYTES,
    FACT_ON_FULL,
    FACT_FULL_WRITES,
    FACT_CLEANINGS,
    FACT_REMOVED_OBJECTS,
    FACT_REMOVED_BYTES,
    FACT_REMOVED_MISSES,
    FACT_OFFERED_PER_S,
    FACT_ACHIEVED_PER_S,
    FACT_BACKLOG_GROWTH,
    FACT_READS_ASKED, /* these of reads and writes: in the order of origin.h */
    FACT_READS_DEVICE,
    FACT_READS_PAGE_CACHE,
    FACT_READS_CACHE_BELOW,
    FACT_READS_SAVED,
    FACT_READS_MEMORY,
    FACT_READS_SERVER,
    FACT_READS_UNKNOWN,
    FACT_WRITES_ASKED,
    FACT_WRITES_DEVICE,
    FACT_WRITES_PAGE_CACHE,
    FACT_WRITES_CACHE_BELOW,
    FACT_WRITES_SAVED,
    FACT_WRITES_MEMORY,
    FACT_WRITES_SERVER,
    FACT_WRITES_UNKNOWN,
    FACT_LOADS_ALONE_US,
    FACT_LOADS_BESIDE_US,
    FACT_STORES_COST,
    FACT_STORES_COST_LOW,
    FACT_STORES_COST_HIGH,
    FACT_LOADS_DEPTH,
    FACT_STORES_DEPTH,
    FACT_DRIVE_STATE,
    FACT_DRIVE_REQUESTS,
    FACT_DRIVE_LOST,
    FACT_DRIVE_UNJOINED,
    FACT_DRIVE_REQUEUED,
    FACT_DRIVE_OTHERS,
    FACT_DRIVE_IO_S,
    FACT_DRIVE_DEPTH,
    FACT_DRIVE_READ_US,
    FACT_DRIVE_WRITE_US,
    FACT_DRIVE_ROWS,
    FACT_DRIVE_ROWS_WITHOUT,
    FACT_DRIVE_ROWS_UNPLACED,
    FACT_DRIVE_READ_REQUESTS,
    FACT_DRIVE_WRITE_REQUESTS,
    FACT_DRIVE_READ_SHARE,
    FACT_DRIVE_WRITE_SHARE,
    FACT_URING_READS,
    FACT_URING_WRITES,
    FACT_URING_CALLS,
    FACT_URING_WHY,
    FACTS_SHOWN,
    FACT_VALID = FACTS_SHOWN,
    FACT_DIGEST,
    FACT_ROWS,
    FACT_POPULATED,
    FACT_ELAPSED_S,
    FACT_ROWS_PER_S,
    FACT_COMPLETE,
    FACT_SIZE_BYTES,
    FACT_WRITTEN_BYTES,
    FACT_WRITTEN,
    FACT_SYNC_S,
    FACT_STEADY,
    FACT_SERVICE_US,
    FACT_STEP_INTERRUPTED,
    FACT_STEP_STOPPED,
    FACT_STEP_S,
    FACT_STEP_LEAST_S,
    FACT_STEP_TOKENS,
    FACT_STEP_BYTES,
    FACT_STEP_FAILED,
    FACT_STEP_WAITING,
    FACT_STEP_READ,
    FACT_STEP_WRITE,
    FACT_STEP_QUEUE,
    FACT_STEP_END_TO_END, /* of each class */
    FACT_STEP_LAST = FACT_STEP_END_TO_END + 2,
    FACTS
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
    FACT_LAST,  /* that of the last run which has it */
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

struct fact {
    enum fact_id id;
    enum fact_scope scope;
    const char *member;
    enum fact_kind kind;
    enum figure_unit unit;
    enum fact_merge merge;
};
/* The i-th fact (0 to FACTS - 1) in the order of a summary; the fact with that identity. Lent for
 * ever. */
const struct fact *fact_at(unsigned i);
const struct fact *fact_of(enum fact_id id);
/* The path of a scope in a summary: "evidence.overload"; "" of the summary itself. */
const char *fact_scope_path(enum fact_scope scope);

#endif
