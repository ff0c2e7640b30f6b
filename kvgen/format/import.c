/* import.c - what every import makes: a row of the six columns. Between the logs of other tools and
 * trace_input, which hands the rows on. */
#include "kvgen/format/import.h"

struct trace_row import_row(enum trace_op op, int64_t time_ns, uint64_t size, const char *key,
                            size_t key_len)
{
    static const enum trace_phase phase[TRACE_OPS] = {
        [TRACE_READ] = TRACE_DECODE, [TRACE_WRITE] = TRACE_PREFILL, [TRACE_DELETE] = TRACE_EVICT};
    struct trace_row row;
    trace_row_clear(&row);
    row.time_ns = time_ns;
    row.size = size;
    row.key = (struct trace_str){key, (uint32_t)key_len};
    row.op = (uint8_t)op;
    row.tier = TRACE_STORAGE;
    row.phase = (uint8_t)phase[op];
    return row;
}
