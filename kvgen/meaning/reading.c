/* Writes down what a source of files took them for. The sources know it (source_ops.reading); the
 * summary shows it. */
#include "kvgen/meaning/reading.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/text/text.h"

const char *reading_line(const struct source_reading *r, char buf[READING_LINE])
{
    snprintf(buf, READING_LINE, "%s", r->format);
    if (!r->time_unit)
        text_append(buf, READING_LINE, "; no times");
    else if (strcmp(r->time_unit, "date") == 0)
        text_append(buf, READING_LINE, "; times are dates");
    else
        text_append(buf, READING_LINE, "; times in %s%s%s", r->time_unit,
                    r->since_1970 ? " since 1970" : "", r->doubtful ? " (in doubt)" : "");
    if (r->block_tokens > 0)
        text_append(buf, READING_LINE, "; %sblocks of %lld", r->full_blocks ? "full " : "",
                    (long long)r->block_tokens);
    else if (r->blocks_by)
        text_append(buf, READING_LINE, "; block size by %s", r->blocks_by);
    if (r->tokens_by)
        text_append(buf, READING_LINE, "; tokens %s", r->tokens_by);
    return buf;
}

void reading_put(struct jsonout *j, const struct source_reading *r)
{
    char line[READING_LINE];
    if (!r) {
        jsonout_null(j, "read_as");
        return;
    }
    jsonout_object(j, "read_as");
    jsonout_text_value(j, "line", reading_line(r, line));
    jsonout_text_value(j, "format", r->format);
    jsonout_text_value(j, "time_unit", r->time_unit);
    jsonout_text_value(j, "time_unit_by", r->time_by);
    jsonout_text_value(j, "time_origin", !r->time_unit ? NULL : r->since_1970 ? "1970" : "file");
    jsonout_f64(j, "first_time_s",
                r->time_unit ? (double)r->first_ns / (double)UNITS_NS_PER_S : NAN);
    jsonout_f64(j, "mean_gap_s",
                r->gaps > 0 ? r->gaps_ns / (double)r->gaps / (double)UNITS_NS_PER_S : NAN);
    jsonout_bool(j, "time_unit_doubtful", r->doubtful);
    jsonout_u64_if(j, "block_tokens", r->block_tokens > 0, (uint64_t)r->block_tokens);
    jsonout_text_value(j, "block_size_by", r->blocks_by);
    jsonout_text_value(j, "block_ids",
                       !r->blocks_by || r->block_tokens == 0 ? NULL
                       : r->full_blocks                      ? "full"
                                                             : "all");
    jsonout_text_value(j, "tokens_by", r->tokens_by);
    jsonout_notes(j, "remarks", &r->remarks);
    jsonout_end(j);
}
