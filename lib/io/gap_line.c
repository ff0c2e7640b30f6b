/* Between those who know when the process stood still (gap_list.h, or a summary that lists it) and
 * those who time requests: kvreplay during the run, kvstat from the rows. */
#include "lib/io/gap_line.h"

int64_t gap_line_add_ns(struct gap_line *l, gap_line_overlap_fn overlap, const void *stops,
                        int64_t due_ns, int64_t start_ns)
{
    int64_t wait_ns;

    if (__builtin_sub_overflow(start_ns, due_ns, &wait_ns) || wait_ns < 0)
        wait_ns = 0;
    if (start_ns > l->seen_ns) {
        l->carried_ns += overlap(stops, l->seen_ns, start_ns);
        l->seen_ns = start_ns;
    } else if (overlap(stops, start_ns, l->seen_ns) > 0) {
        int64_t own_ns = overlap(stops, due_ns, start_ns);
        return own_ns < wait_ns ? own_ns : wait_ns;
    }
    if (wait_ns < l->carried_ns)
        l->carried_ns = wait_ns;
    return l->carried_ns;
}
