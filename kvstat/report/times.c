/* The tables of times that several sections of the text report have: their headings, as many
 * percentiles as the samples tell, and a row for each distribution. */
#include "kvstat/report/times.h"

#include "kvstat/report/cells.h"
#include "kvstat/report/figures.h"

void times_heading(FILE *out, const char *title, const char *note)
{
    fprintf(out, "\n%s%s%s\n", title, note[0] ? " - " : "", note);
}

unsigned times_percentiles(uint64_t most)
{
    unsigned n = 1;
    while (n < HIST_PERCENTILES && (double)most * (1000000.0 - hist_percentiles[n].ppm) >= 1e6)
        n++;
    return n;
}

uint64_t times_most(uint64_t most, const struct hist *h)
{
    return h && hist_count(h) > most ? hist_count(h) : most;
}

void times_header(FILE *out, const char *label, int width, unsigned percentiles)
{
    fprintf(out, "  %-*s %11s %8s %8s", width, label, "samples", "mean", "min");
    for (unsigned i = 0; i < percentiles; i++)
        fprintf(out, " %8s", hist_percentiles[i].label);
    fprintf(out, " %8s\n", "max");
}

void times_row(FILE *out, const char *label, int width, const struct hist *h, unsigned percentiles)
{
    char a[CELL], b[CELL], c[CELL];
    if (!h || hist_count(h) == 0)
        return;
    if (hist_max(h) == 0) {
        fprintf(out, "  %-*s %11s %8s\n", cell_pad(label, width), label,
                cell_count(a, hist_count(h)), "all 0");
        return;
    }
    fprintf(out, "  %-*s %11s %8s %8s", cell_pad(label, width), label, cell_count(a, hist_count(h)),
            cell_time(b, hist_mean(h), true), cell_time(c, (double)hist_min(h), true));
    for (unsigned i = 0; i < percentiles; i++)
        fprintf(out, " %8s", cell_percentile(a, h, hist_percentiles[i].ppm));
    fprintf(out, " %8s\n", cell_time(a, (double)hist_max(h), true));
}
