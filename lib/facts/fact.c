/* The rows of the table, in the order in which a summary has them. */
#include "lib/facts/fact.h"

#define F(id, scope, member, kind, unit, merge)                                                    \
    {                                                                                              \
        FACT_##id, FACTS_OF_##scope, member, FACT_##kind, FIGURE_UNIT_##unit, FACT_##merge         \
    }

static const struct fact table[FACTS] = {
    F(RUN_DELAY_S, EVIDENCE, "run_delay_s", NUMBER, S, SUM),
    F(RUN_DELAY_SHARE, EVIDENCE, "run_delay_share", NUMBER, SHARE, MAX),
    F(STEAL_SHARE, EVIDENCE, "steal_share", NUMBER, SHARE, MAX),
    F(CPU_QUOTA, EVIDENCE, "cpu_quota", NUMBER, NONE, MAX),
    F(THROTTLED_S, EVIDENCE, "throttled_s", NUMBER, S, MAX),
    F(LARGEST_GAP_US, EVIDENCE, "largest_gap_us", NUMBER, US, MAX),
    F(GAPS, EVIDENCE, "gaps", COUNT, NONE, SUM),
    F(CLIENT_DELAY_US, EVIDENCE, "client_delay_us", TIMES, US, ALONE),
    F(OWN_IO_S, EVIDENCE, "own_io_s", NUMBER, S, SUM),
    F(KERNEL_IO_S, EVIDENCE, "kernel_io_s", NUMBER, S, SUM),
    F(OWN_READ_BYTES, EVIDENCE, "own_read_bytes", COUNT, BYTES, SUM),
    F(OWN_WRITE_BYTES, EVIDENCE, "own_write_bytes", COUNT, BYTES, SUM),
    F(DEVICE_READ_BYTES, EVIDENCE, "device_read_bytes", COUNT, BYTES, SUM),
    F(DEVICE_WRITE_BYTES, EVIDENCE, "device_write_bytes", COUNT, BYTES, SUM),
    F(NETWORK_INTERFACES, EVIDENCE, "network_interfaces", TEXT, NONE, EQUAL),
    F(NETWORK_RECEIVED_BYTES, EVIDENCE, "network_received_bytes", COUNT, BYTES, SUM),
    F(NETWORK_SENT_BYTES, EVIDENCE, "network_sent_bytes", COUNT, BYTES, SUM),
    F(TCP_RETRANSMITS, EVIDENCE, "tcp_retransmits", COUNT, NONE, SUM),
    F(REMOTE_REQUESTS, EVIDENCE, "remote_requests", COUNT, NONE, SUM),
    F(REMOTE_RETRIES, EVIDENCE, "remote_retries", COUNT, NONE, SUM),
    F(REMOTE_CONNECTIONS, EVIDENCE, "remote_connections", COUNT, NONE, SUM),
    F(TARGET, EVIDENCE, "target", TEXT, NONE, EQUAL),
    F(FILE_SYSTEM, EVIDENCE, "file_system", TEXT, NONE, EQUAL),
    F(LAYERS, EVIDENCE, "layers", TEXT, NONE, EQUAL),
    F(CACHE_BELOW, EVIDENCE, "cache_below", TEXT, NONE, LAST),
    F(RESIDENT_SHARE, EVIDENCE, "resident_share", NUMBER, SHARE, MAX),
    F(PAGES, EVIDENCE, "pages", TEXT, NONE, EQUAL),
    F(PAGES_RUN, EVIDENCE, "pages_run", NUMBER, NONE, MAX),
    F(REGISTERED_BUFFERS, EVIDENCE, "registered_buffers", YES, NONE, EQUAL),
    F(DIRECT, EVIDENCE, "direct", YES, NONE, EQUAL),
    F(NUMA_NODE, EVIDENCE, "numa_node", COUNT, NONE, EQUAL),
    F(CACHED_READ_SHARE, EVIDENCE, "cached_read_share", NUMBER, SHARE, MAX),
    F(RESIDENT_SHARE_BEFORE, EVIDENCE, "resident_share_before", NUMBER, SHARE, MAX),
    F(LIKE, EVIDENCE, "like", TEXT, NONE, EQUAL),
    F(PAGE_CACHE, EVIDENCE, "page_cache", TEXT, NONE, LAST),
    F(OFFERED_PER_S, OVERLOAD, "offered_per_s", NUMBER, PER_S, MAX),
    F(ACHIEVED_PER_S, OVERLOAD, "achieved_per_s", NUMBER, PER_S, MAX),
    F(BACKLOG_GROWTH, OVERLOAD, "backlog_growth", NUMBER, PER_S, MAX),
    F(COLD, EVIDENCE, "cold", TEXT, NONE, EQUAL),
    F(HITS_BYTES, EVIDENCE, "hits_bytes", COUNT, BYTES, SUM),
    F(HITS_DEVICE_BYTES, EVIDENCE, "hits_device_bytes", COUNT, BYTES, SUM),
    F(ON_FULL, EVIDENCE, "on_full", TEXT, NONE, EQUAL),
    F(FULL_WRITES, EVIDENCE, "full_writes", COUNT, NONE, SUM),
    F(CLEANINGS, EVIDENCE, "cleanings", COUNT, NONE, SUM),
    F(REMOVED_OBJECTS, EVIDENCE, "removed_objects", COUNT, NONE, SUM),
    F(REMOVED_BYTES, EVIDENCE, "removed_bytes", COUNT, BYTES, SUM),
    F(REMOVED_MISSES, EVIDENCE, "removed_misses", COUNT, NONE, SUM),
    F(READS_ASKED, READS, "asked_bytes", COUNT, BYTES, SUM),
    F(READS_DEVICE, READS, "device_bytes", COUNT, BYTES, SUM),
    F(READS_PAGE_CACHE, READS, "page_cache_bytes", COUNT, BYTES, SUM),
    F(READS_CACHE_BELOW, READS, "cache_below_bytes", COUNT, BYTES, SUM),
    F(READS_SAVED, READS, "saved_bytes", COUNT, BYTES, SUM),
    F(READS_MEMORY, READS, "memory_bytes", COUNT, BYTES, SUM),
    F(READS_SERVER, READS, "server_bytes", COUNT, BYTES, SUM),
    F(READS_UNKNOWN, READS, "unknown_bytes", COUNT, BYTES, SUM),
    F(WRITES_ASKED, WRITES, "asked_bytes", COUNT, BYTES, SUM),
    F(WRITES_DEVICE, WRITES, "device_bytes", COUNT, BYTES, SUM),
    F(WRITES_PAGE_CACHE, WRITES, "page_cache_bytes", COUNT, BYTES, SUM),
    F(WRITES_CACHE_BELOW, WRITES, "cache_below_bytes", COUNT, BYTES, SUM),
    F(WRITES_SAVED, WRITES, "saved_bytes", COUNT, BYTES, SUM),
    F(WRITES_MEMORY, WRITES, "memory_bytes", COUNT, BYTES, SUM),
    F(WRITES_SERVER, WRITES, "server_bytes", COUNT, BYTES, SUM),
    F(WRITES_UNKNOWN, WRITES, "unknown_bytes", COUNT, BYTES, SUM),
    F(LOADS_ALONE_US, BOTH, "loads_alone_us", TIMES, US, ALONE),
    F(LOADS_BESIDE_US, BOTH, "loads_beside_stores_us", TIMES, US, ALONE),
    F(STORES_COST, BOTH, "p95_ratio", NUMBER, NONE, ALONE),
    F(STORES_COST_LOW, BOTH, "p95_ratio_low", NUMBER, NONE, ALONE),
    F(STORES_COST_HIGH, BOTH, "p95_ratio_high", NUMBER, NONE, ALONE),
    F(LOADS_DEPTH, BOTH, "loads_in_flight", NUMBER, NONE, SUM),
    F(STORES_DEPTH, BOTH, "stores_in_flight", NUMBER, NONE, SUM),
    F(DRIVE_STATE, DRIVE, "state", TEXT, NONE, EQUAL),
    F(DRIVE_REQUESTS, DRIVE, "drive_requests", COUNT, NONE, SUM),
    F(DRIVE_LOST, DRIVE, "lost_events", COUNT, NONE, SUM),
    F(DRIVE_UNJOINED, DRIVE, "unjoined", COUNT, NONE, SUM),
    F(DRIVE_REQUEUED, DRIVE, "requeued", COUNT, NONE, SUM),
    F(DRIVE_OTHERS, DRIVE, "other_requests", COUNT, NONE, SUM),
    F(DRIVE_IO_S, DRIVE, "drive_io_s", NUMBER, S, SUM),
    F(DRIVE_DEPTH, DRIVE, "mean_depth", NUMBER, NONE, MAX),
    F(DRIVE_READ_US, DRIVE, "drive_read_us", TIMES, US, ALONE),
    F(DRIVE_WRITE_US, DRIVE, "drive_write_us", TIMES, US, ALONE),
    F(DRIVE_ROWS, DRIVE, "rows", COUNT, NONE, SUM),
    F(DRIVE_ROWS_WITHOUT, DRIVE, "rows_without_requests", COUNT, NONE, SUM),
    F(DRIVE_ROWS_UNPLACED, DRIVE, "rows_not_placed", COUNT, NONE, SUM),
    F(DRIVE_READ_REQUESTS, DRIVE, "requests_per_read", NUMBER, NONE, ALONE),
    F(DRIVE_WRITE_REQUESTS, DRIVE, "requests_per_write", NUMBER, NONE, ALONE),
    F(DRIVE_READ_SHARE, DRIVE, "drive_share_of_reads", NUMBER, SHARE, ALONE),
    F(DRIVE_WRITE_SHARE, DRIVE, "drive_share_of_writes", NUMBER, SHARE, ALONE),
    F(URING_READS, DRIVE, "reads_to_workers", COUNT, NONE, SUM),
    F(URING_WRITES, DRIVE, "writes_to_workers", COUNT, NONE, SUM),
    F(URING_CALLS, DRIVE, "calls_to_workers", COUNT, NONE, SUM),
    F(URING_WHY, DRIVE, "workers_why", TEXT, NONE, LAST),
};

const struct fact *fact_at(unsigned i)
{
    return &table[i];
}

const struct fact *fact_of(enum fact_id id)
{
    unsigned i = 0;

    while (table[i].id != id)
        i++;
    return &table[i];
}

const char *fact_scope_path(enum fact_scope scope)
{
    static const char *const paths[FACT_SCOPES] = {[FACTS_OF_EVIDENCE] = "evidence",
                                                   [FACTS_OF_OVERLOAD] = "evidence.overload",
                                                   [FACTS_OF_READS] = "evidence.reads",
                                                   [FACTS_OF_WRITES] = "evidence.writes",
                                                   [FACTS_OF_BOTH] = "evidence.loads_and_stores",
                                                   [FACTS_OF_DRIVE] = "evidence.device_times"};
    return paths[scope];
}
