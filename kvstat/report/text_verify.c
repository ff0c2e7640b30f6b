/* What --verify-trace found, as text and as JSON. */
#include "kvstat/report/cells.h"
#include "kvstat/report/report.h"
#include "kvstat/verify.h"
#include "lib/base/units.h"

static void put_tiers(FILE *out, const struct verify *v)
{
    char a[CELL], b[CELL], c[CELL], d[CELL];
    fprintf(out, "  %-8s %12s %12s %12s %14s\n", "tier", "capacity", "peak", "at the end",
            "objects peak");
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        if (v->tier[t].peak_objects > 0)
            fprintf(out, "  %-8s %12s %12s %12s %14s\n", trace_tier_text(t),
                    v->tier[t].capacity_bytes > 0 ? cell_bytes(a, (double)v->tier[t].capacity_bytes)
                                                  : "-",
                    cell_bytes(b, (double)v->tier[t].peak_bytes),
                    cell_bytes(c, (double)v->tier[t].bytes),
                    cell_count(d, v->tier[t].peak_objects));
}

void report_verify_text(FILE *out, const char *file, const struct verify *v)
{
    char rows[CELL], keys[CELL], n[CELL];
    fprintf(out, "%s: %s, %s key%s: %s%s\n", file, cell_rows(rows, v->rows),
            cell_count(keys, v->keys), units_plural(v->keys), v->findings ? "FAIL" : "PASS",
            v->cut ? ", CUT" : "");
    put_tiers(out, v);
    for (unsigned k = 0; k < VERIFY_KINDS; k++)
        if (v->count[k] > 0)
            fprintf(out, "  %-8s %s finding%s%s\n", verify_kind_names[k],
                    cell_count(n, v->count[k]), units_plural(v->count[k]),
                    v->count[k] > VERIFY_KEPT ? ", the first 20:" : ":");
    for (size_t i = 0; i < v->kept_count; i++) {
        const struct verify_finding *f = &v->kept[i];
        if (f->row)
            fprintf(out, "  row %llu: %s: ", (unsigned long long)f->row,
                    verify_kind_names[f->kind]);
        else
            fprintf(out, "  header: ");
        fprintf(out, "%s\n", f->what);
    }
}

static void put_json_tiers(struct jsonout *j, const struct verify *v)
{
    jsonout_array(j, "tiers");
    for (unsigned t = 0; t < TRACE_TIERS; t++) {
        if (v->tier[t].peak_objects == 0)
            continue;
        jsonout_object(j, NULL);
        jsonout_text_value(j, "tier", trace_tier_text(t));
        if (v->tier[t].capacity_bytes > 0)
            jsonout_i64(j, "capacity_bytes", v->tier[t].capacity_bytes);
        else
            jsonout_null(j, "capacity_bytes");
        jsonout_u64(j, "peak_bytes", v->tier[t].peak_bytes);
        jsonout_u64(j, "peak_objects", v->tier[t].peak_objects);
        jsonout_u64(j, "final_bytes", v->tier[t].bytes);
        jsonout_u64(j, "final_objects", v->tier[t].objects);
        jsonout_end(j);
    }
    jsonout_end(j);
}

void report_verify_json(struct jsonout *j, const char *file, const struct verify *v)
{
    jsonout_object(j, NULL);
    jsonout_text_value(j, "file", file);
    jsonout_text_value(j, "status", v->findings ? "FAIL" : "PASS");
    jsonout_u64(j, "rows", v->rows);
    jsonout_u64(j, "keys", v->keys);
    jsonout_u64(j, "bad_rows", v->bad_rows);
    jsonout_bool(j, "cut", v->cut);
    put_json_tiers(j, v);
    jsonout_object(j, "counts");
    for (unsigned k = 0; k < VERIFY_KINDS; k++)
        jsonout_u64(j, verify_kind_names[k], v->count[k]);
    jsonout_end(j);
    jsonout_array(j, "findings");
    for (size_t i = 0; i < v->kept_count; i++) {
        jsonout_object(j, NULL);
        jsonout_u64(j, "row", v->kept[i].row);
        jsonout_text_value(j, "kind", verify_kind_names[v->kept[i].kind]);
        jsonout_text_value(j, "what", v->kept[i].what);
        jsonout_end(j);
    }
    jsonout_end(j);
    jsonout_end(j);
}
