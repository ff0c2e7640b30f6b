/* agg.h - the counts that do not depend on the order of rows: one aggregate for each thread, merged
 * at the end. */
#ifndef KVSTAT_COUNT_AGG_H
#define KVSTAT_COUNT_AGG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvstat/count/gaps.h"
#include "kvstat/count/groups.h"
#include "kvstat/mlperf/direct.h"
#include "lib/base/err.h"
#include "lib/trace/trace.h"

/* Times that few results have. */
#define AGG_EXTRA_TIMES                                                                            \
    (TRACE_BIT(TRACE_COL_FIRST_BYTE) | TRACE_BIT(TRACE_COL_QUEUE) | TRACE_BIT(TRACE_COL_DRIVE))

/* The columns that kvstat reads; --by user adds its own. */
#define AGG_COLUMNS                                                                                \
    (TRACE_BIT(TRACE_COL_TIMESTAMP) | TRACE_BIT(TRACE_COL_OPERATION) | TRACE_BIT(TRACE_COL_SIZE) | \
     TRACE_BIT(TRACE_COL_TIER) | TRACE_BIT(TRACE_COL_PHASE) | TRACE_BIT(TRACE_COL_REQUEST) |       \
     TRACE_BIT(TRACE_COL_QOS) | TRACE_BIT(TRACE_COL_CLASS) | TRACE_BIT(TRACE_COL_TOKENS) |         \
     TRACE_BIT(TRACE_COL_ARRIVAL) | TRACE_BIT(TRACE_COL_DURATION) | TRACE_BIT(TRACE_COL_DUE) |     \
     TRACE_BIT(TRACE_COL_ELIGIBLE) | TRACE_BIT(TRACE_COL_START) | TRACE_BIT(TRACE_COL_LATENCY) |   \
     TRACE_BIT(TRACE_COL_DEVICE) | TRACE_BIT(TRACE_COL_SLOT) | TRACE_BIT(TRACE_COL_STATUS) |       \
     AGG_EXTRA_TIMES | TRACE_BIT(TRACE_COL_RANK))

/* True for the columns of a result file: its rows have Start and latency. */
bool agg_is_result(uint32_t columns);
/* A row of a result file that ran before the replay's zero: it filled the tiers and is not part of
 * the measurement. */
static inline bool agg_is_populating(bool result, const struct trace_row *row)
{
    return result && row->start_ns != TRACE_NONE && row->start_ns < 0;
}
/* How late the tool itself started the operation: Start - max(Due, Eligible); 0 where it is not
 * known, or was not late. Generate and Miss rows are never late. */
static inline int64_t agg_client_delay_ns(const struct trace_row *row)
{
    int64_t due_ns = row->due_ns > row->eligible_ns ? row->due_ns : row->eligible_ns;
    int64_t delay_ns;
    if (row->tier == TRACE_NO_TIER || row->eligible_ns == TRACE_NONE ||
        row->start_ns == TRACE_NONE || row->start_ns <= due_ns)
        return 0;
    return __builtin_sub_overflow(row->start_ns, due_ns, &delay_ns) ? INT64_MAX : delay_ns;
}
/* a + b, held at the ends of the range; never TRACE_NONE, which is INT64_MIN. */
static inline int64_t agg_add_ns(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? INT64_MAX : INT64_MIN + 1;
    return sum == INT64_MIN ? INT64_MIN + 1 : sum;
}

/* Sums over the rows of the measurement, without those that failed unless said. Sizes in bytes. */
struct agg_totals {
    uint64_t rows;                        /* all rows, also failed and populating ones */
    uint64_t ok, absent, corrupt, failed; /* all rows with a Status, failed: an errno */
    uint64_t corrupt_of[TRACE_TIERS + 1]; /* by tier */
    uint64_t stale[TRACE_TIERS + 1], wrong[TRACE_TIERS + 1]; /* of them */
    uint64_t populated_rows, populated_bytes; /* of agg_is_populating; bytes: those not failed */
    uint64_t warmup_rows;                     /* of agg_leave_out */
    uint64_t device_over, early;              /* Device_us above Latency_us; Start before Due */
    uint64_t skipped_generations;        /* Generate rows that took none of their Duration_us */
    uint64_t hits[TRACE_NO_CLASS + 1];   /* Read rows that are not Evict, by class */
    uint64_t misses[TRACE_NO_CLASS + 1]; /* Miss rows, and such Read rows that are absent */
    uint64_t generate_rows, generated_tokens; /* Generate rows */
    uint64_t read_tokens;                     /* Tokens of Read rows that are not Evict */
    uint64_t context_tokens;                  /* of Prefill writes, and of blocks that hit */
    uint64_t reads_without_tokens;            /* such rows whose Tokens are empty */
    uint64_t tier2_tokens;                    /* Tokens of Read and Write rows of Tier-2 */
    uint64_t tier2_bare_bytes;                /* bytes of those whose Tokens are empty */
    uint64_t decode_bytes;                    /* Read rows of phase Decode */
    uint64_t busy_ns; /* service time of rows with a tier and a Request, failed too;
                         demotions and promotions are no part of it */
    uint64_t io_ops, read_bytes, write_bytes; /* Read and Write rows of all phases */
    uint64_t evict_ops[TRACE_TIERS];          /* Evict reads: objects moved down out of this tier */
    uint64_t offload_ops[TRACE_TIERS];        /* Evict writes: objects moved down into this tier */
    uint64_t promote_ops[TRACE_TIERS];        /* Evict writes of class promote: moved up into it */
    int64_t first_ns, last_ns;                /* Timestamps; end_ns: last completion of a result */
    int64_t end_ns;
    int64_t low_rank, high_rank; /* in the column Rank; INT64_MAX, INT64_MIN: in no row */
    uint64_t elapsed_ns;         /* sum over the files that were ended */
};

struct second;
struct agg;

/* by: mask of enum groups_by for agg_groups; columns: those that the file has. NULL: no memory. */
struct agg *agg_create(unsigned by, uint32_t columns);
/* Most groups of agg_groups, where users make them: groups_limit. */
void agg_limit(struct agg *a, size_t most_groups);
/* Rows of a result that started before warmup_ns on the replay's clock count for their status and
 * as warm-up rows only; the elapsed time begins there. Call before the first row. */
void agg_leave_out(struct agg *a, int64_t warmup_ns);
/* Times are computed a second time without these gaps, which are lent. Call before the first row.
 */
void agg_take_gaps(struct agg *a, const struct gaps *gaps);
/* Counts direct operations too. Call before the first row. 0 or -ENOMEM. */
int agg_take_direct(struct agg *a);
void agg_free(struct agg *a);
/* Adds n rows of one file. 0, -ENOMEM or -EOVERFLOW (sums do not fit) with *e. */
int agg_add(struct agg *a, const struct trace_row *rows, size_t n, struct err *e);
/* Adds the counts of from: for the same file before agg_end_file, for another file after it. */
int agg_merge(struct agg *into, const struct agg *from, struct err *e);
/* Ends a file: sets its elapsed time and makes the tables by tier and operation, and by phase. Call
 * once. */
int agg_end_file(struct agg *a, struct err *e);

const struct agg_totals *agg_totals(const struct agg *a);
bool agg_result(const struct agg *a);
/* Times computed a second time. Lent. */
const struct second *agg_second(const struct agg *a);
/* NULL: they were not counted. Lent. */
const struct direct *agg_direct(const struct agg *a);
/* The table by the columns given to agg_create, by tier and operation, by phase; the last two exist
 * after agg_end_file. Lent. */
struct groups *agg_groups(const struct agg *a);
/* A table by tier and operation of what was counted so far, the caller's; NULL: no memory. */
struct groups *agg_make_tier_op(const struct agg *a);
struct groups *agg_by_tier_op(const struct agg *a);
struct groups *agg_by_phase(const struct agg *a);

#endif
