/* The figures as CSV for spreadsheets: a header with the names of the JSON, and a row a run. What
 * is not known is an empty field. */
#include <string.h>

#include "kvstat/report/report.h"
#include "kvstat/report/run_table.h"

/* A field and what stands behind it. Quotes as RFC 4180 has them. */
static void put_field(FILE *out, const char *text, char end)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fprintf(out, "%s%c", text, end);
        return;
    }
    fputc('"', out);
    for (; *text; text++)
        fprintf(out, "%s%c", *text == '"' ? "\"" : "", *text);
    fprintf(out, "\"%c", end);
}

void report_csv(FILE *out, const struct runs *r)
{
    size_t n = runs_figures(r);
    for (size_t i = 0; i < n; i++)
        put_field(out, runs_name(r, i), i + 1 < n ? ',' : '\n');
    for (size_t run = 0; run < runs_count(r); run++)
        for (size_t i = 0; i < n; i++)
            put_field(out, runs_text(r, run, i), i + 1 < n ? ',' : '\n');
}
