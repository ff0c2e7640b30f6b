/* The rows of the table by identity, and the facts that have another place in JSON. */
#include "lib/facts/fact.h"

#define ROW(id, scope, member, kind, unit, merge)                                                  \
    [FACT_##id] = {FACT_##id,   FACTS_OF_##scope,   member,                                        \
                   FACT_##kind, FIGURE_UNIT_##unit, FACT_##merge},

const struct fact *fact_of(enum fact_id id)
{
    static const struct fact table[FACTS] = {FACT_TABLE_SHOWN(ROW) FACT_TABLE_MERGED(ROW)};

    return &table[id];
}

const struct fact_moved fact_moved[FACTS_MOVED] = {
    {FACT_CLIENT_DELAY_US, FACT_OWN_IO_S},
    {FACT_NETWORK_INTERFACES, FACT_NETWORK_RECEIVED_BYTES},
    {FACT_RESIDENT_SHARE, FACT_PAGES},
    {FACT_REGISTERED_BUFFERS, FACT_LIKE},
    {FACT_DIRECT, FACT_LIKE},
    {FACT_NUMA_NODE, FACT_LIKE},
    {FACT_CACHED_READ_SHARE, FACT_LIKE},
    {FACT_RESIDENT_SHARE_BEFORE, FACT_LIKE},
    {FACT_LOG_LIFETIME_BYTES, FACT_LOG_MEDIA_BYTES},
    {FACT_LOG_USED, FACT_LOG_MEDIA_BYTES},
    {FACT_FOUND_RANKS, FACT_FOUND_TOKENS_PER_S}};

const char *fact_scope_path(enum fact_scope scope)
{
    static const char *const paths[FACT_SCOPES] = {[FACTS_OF_PROVENANCE] = "run",
                                                   [FACTS_OF_KERNEL] = "kernel",
                                                   [FACTS_OF_EVIDENCE] = "evidence",
                                                   [FACTS_OF_OVERLOAD] = "evidence.overload",
                                                   [FACTS_OF_READS] = "evidence.reads",
                                                   [FACTS_OF_WRITES] = "evidence.writes",
                                                   [FACTS_OF_BOTH] = "evidence.loads_and_stores",
                                                   [FACTS_OF_DRIVE] = "evidence.device_times",
                                                   [FACTS_OF_LOG] = "drive_log",
                                                   [FACTS_OF_FOUND] = "autoscaling",
                                                   [FACTS_OF_RUN] = "",
                                                   [FACTS_OF_START] = "start",
                                                   [FACTS_OF_PART] = "ranks",
                                                   [FACTS_OF_STEP] = "step"};
    return paths[scope];
}
