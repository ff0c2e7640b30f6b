/* compat.h - --compat mlperf: where the program of the MLPerf Storage KV-cache benchmark serves
 * requests differently from its documentation. The simulator follows the documentation and asks
 * this table at each of these points; nothing else in the simulator knows that benchmark.
 *
 * Two differences lie outside the simulator: rows of deletions are not written, and the other turns
 * of a conversation are known only while it is among the last ones used. The waterfall of the tiers
 * is that benchmark's with --compat and without (hierarchy.c).
 */
#ifndef KVGEN_SIM_COMPAT_H
#define KVGEN_SIM_COMPAT_H

#include <stdbool.h>
#include <stdint.h>

/* Zero: as documented. Each member is explained in compat.c. */
struct compat {
    bool prompt_never_written;
    bool prompt_everywhere;
    bool all_other_turns;
    bool query_is_one_object;
    bool fill_ends_decode;
    bool long_context_never_decodes;
    bool finishes_jobs;
    bool priority_only;
    int64_t race_ns;
};

extern const struct compat compat_none, compat_mlperf;

#endif
