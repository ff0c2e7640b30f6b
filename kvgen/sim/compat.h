/* compat.h - all that --compat mlperf changes, in one table: the options whose defaults are those
 * of the MLPerf Storage KV-cache benchmark, and where its program differs from its documentation.
 * The simulator, the sources and the output ask this table at each of these points; nothing else in
 * kvgen knows that benchmark. The waterfall of the tiers is that benchmark's with --compat and
 * without (hierarchy.c).
 */
#ifndef KVGEN_SIM_COMPAT_H
#define KVGEN_SIM_COMPAT_H

#include <stdbool.h>
#include <stdint.h>

/* An option of kvgen and its value where the command line does not give it. */
struct compat_default {
    const char *option, *value;
};

/* Zero: as documented. Each member is explained in compat.c. */
struct compat {
    const struct compat_default *defaults; /* ended by an empty one; NULL: none */
    bool asks_back_to_back;
    bool remembers_few;
    bool deletes_silently;
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
