/* Reuse distances as a section of the text report. */
#include "kvstat/count/reuse.h"
#include "kvstat/report/cells.h"
#include "kvstat/report/report.h"
#include "lib/base/units.h"

static const char *cell_ns(char *buf, double ns)
{
    return cell_time(buf, ns, true);
}

static void put_row(FILE *out, const char *label, const struct hist *h,
                    const char *(*cell)(char *buf, double v))
{
    char buf[CELL];
    fprintf(out, "  %-8s %10s", label, cell(buf, hist_mean(h)));
    fprintf(out, " %10s", cell(buf, (double)hist_min(h)));
    for (unsigned i = 0; i < HIST_PERCENTILES - 1; i++) /* p99.99 of keys says little */
        fprintf(out, " %10s", cell(buf, (double)hist_percentile(h, hist_percentiles[i].ppm)));
    fprintf(out, " %10s\n", cell(buf, (double)hist_max(h)));
}

void report_reuse_text(FILE *out, const struct reuse *r)
{
    char a[CELL], b[CELL], c[CELL], d[CELL];
    fprintf(out, "\nReuse - what lies between two uses of an object: an LRU cache of so many bytes "
                 "has it\n");
    fprintf(out, "  %s of %s use%s are of objects used before; %s object%s of %s in all\n",
            cell_count(a, r->reuses), cell_count(b, r->uses), units_plural(r->uses),
            cell_count(c, r->keys), units_plural(r->keys), cell_bytes(d, (double)r->bytes));
    if (r->reuses == 0)
        return;
    fprintf(out, "  %-8s %10s %10s", "distance", "mean", "min");
    for (unsigned i = 0; i < HIST_PERCENTILES - 1; i++)
        fprintf(out, " %10s", hist_percentiles[i].label);
    fprintf(out, " %10s\n", "max");
    put_row(out, "bytes", r->bytes_hist, cell_bytes);
    put_row(out, "objects", r->objects_hist, cell_number);
    put_row(out, "time", r->time_ns, cell_ns);
}
