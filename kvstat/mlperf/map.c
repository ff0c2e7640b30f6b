/* The loops over the tables of results.c and run_folder.c: one writes the benchmark's files, one
 * reads them. The tables say where each member comes from. */
#include "kvstat/mlperf/map.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kvstat/report/figures.h"
#include "lib/trace/trace.h"

/* All times of the benchmark are in ms, but for those of single requests. */
#define NS_PER_MS 1e6
/* No place in a map is greater. */
#define PLACES 24

/* ---- statistics ---- */

/* The value at that place when all are sorted by size; the first place is 0. */
static double value_at(const struct hist *h, uint64_t number)
{
    int64_t low, high;
    uint64_t n, below = 0;
    for (size_t pos = 0; hist_next(h, &pos, &low, &high, &n);) {
        below += n;
        if (below <= number)
            continue;
        double middle = (double)low + (double)(high - low) / 2;
        return fmin(fmax(middle, (double)hist_min(h)), (double)hist_max(h));
    }
    return (double)hist_max(h);
}

double map_percentile_ms(const struct hist *h, double q)
{
    uint64_t n = h ? hist_count(h) : 0;
    if (n == 0)
        return NAN;
    double place = q * (double)(n - 1), whole = floor(place);
    double low = value_at(h, (uint64_t)whole);
    double more = place > whole ? (place - whole) * (value_at(h, (uint64_t)whole + 1) - low) : 0;
    return (low + more) / NS_PER_MS;
}

static double statistic_ms(const struct hist *h, enum figure_statistic statistic)
{
    if (!h || hist_count(h) == 0)
        return 0;
    if (statistic == FIGURE_MEAN)
        return hist_mean(h) / NS_PER_MS;
    if (statistic == FIGURE_MAX)
        return (double)hist_max(h) / NS_PER_MS;
    return map_percentile_ms(h, hist_percentiles[statistic - FIGURE_P50].ppm / 1e6);
}

/* The name of a statistic's member: in an object of its own, or with its word in place of "*". */
static const char *statistic_name(char buf[64], const char *name, enum figure_statistic statistic)
{
    const char *star = strchr(name, '*'), *word = figure_statistic_word(statistic);
    if (!star)
        return word;
    snprintf(buf, 64, "%.*s%s%s", (int)(star - name), name, word, star + 1);
    return buf;
}

/* ---- writing ---- */

static void put_times(struct jsonout *j, const struct map_row *m, const struct hist *h)
{
    const unsigned percentiles =
        1 << FIGURE_P50 | 1 << FIGURE_P95 | 1 << FIGURE_P99 | 1 << FIGURE_P999 | 1 << FIGURE_P9999;
    const bool apart = !strchr(m->name, '*');
    const unsigned which = m->statistics ? m->statistics : percentiles | apart << FIGURE_MEAN;
    char name[64];
    if ((m->if_known || !apart) && (!h || hist_count(h) == 0))
        return;
    if (apart)
        jsonout_object(j, m->name);
    for (unsigned s = 0; s < FIGURE_STATISTICS; s++)
        if (which >> s & 1)
            jsonout_f64(j, statistic_name(name, m->name, s), statistic_ms(h, s));
    if (apart)
        jsonout_end(j);
}

static void put_list(struct jsonout *j, const struct map_row *m, const struct requests_list *l)
{
    jsonout_array(j, m->name);
    for (size_t i = 0; l && i < l->count && m->listed < REQUESTS_LISTED; i++) {
        int64_t ns = l->item[i].ns[m->listed];
        if (ns != TRACE_NONE || !m->if_known)
            jsonout_f64(j, NULL, ns == TRACE_NONE ? 0 : (double)ns / 1e9);
    }
    jsonout_end(j);
}

static void put_scalar(struct jsonout *j, const struct map_row *m, const double *at,
                       const struct figure *figure)
{
    bool truth = figure && figure->form == FIGURE_FORM_TRUTH;
    double v = at ? *at : truth ? figure->truth : figure ? figure_number(figure) : NAN;
    if (isnan(v) && m->if_known)
        return;
    v = isnan(v) && !at ? 0 : v;
    if (m->form == MAP_TRUTH)
        jsonout_bool(j, m->name, v != 0);
    else if (m->form == MAP_NUMBER)
        jsonout_f64(j, m->name, m->unit > 0 ? v / m->unit : v);
    else if (figure && figure->form == FIGURE_FORM_UNSIGNED) /* a double cannot hold every seed */
        jsonout_u64(j, m->name, figure->count);
    else
        jsonout_i64(j, m->name, llround(v));
}

static void put_row(struct jsonout *j, const struct map_row *m, const void *values)
{
    const struct figures *f = *(const struct figures *const *)values;
    const void *at = m->at ? (const char *)values + m->at : NULL;
    char scratch[FIGURE_NAME];
    const struct figure *figure =
        !at && m->figure ? figures_find(f, figure_parse(m->figure, scratch)) : NULL;
    switch (m->form) {
    case MAP_WHOLE:
    case MAP_NUMBER:
    case MAP_TRUTH:
        put_scalar(j, m, at, figure);
        break;
    case MAP_TEXT:
        jsonout_text_value(j, m->name,
                           at          ? *(const char *const *)at
                           : m->figure ? figures_text(f, figure_parse(m->figure, scratch))
                                       : m->text);
        break;
    case MAP_TIMES:
        put_times(j, m,
                  at ? *(const struct hist *const *)at
                  : figure && figure->form == FIGURE_FORM_DISTRIBUTION ? figure->hist
                                                                       : NULL);
        break;
    case MAP_OBJECT:
        if (at && isnan(*(const double *)at))
            break;
        jsonout_object(j, m->name);
        map_put(j, m->in, values);
        jsonout_end(j);
        break;
    case MAP_LIST:
        put_list(j, m, f ? figures_request_list(f) : NULL);
        break;
    case MAP_OWN:
        m->put(j, m->name, values);
        break;
    case MAP_READ:
        break;
    }
}

void map_put(struct jsonout *j, const struct map_row *m, const void *values)
{
    for (; m->name; m++)
        put_row(j, m, values);
}

/* ---- reading ---- */

/* Makes a figure of the member v and calls fn with it. 0, or what fn returned. */
static int read_one(const struct map_row *m, const struct jsonin_v *v,
                    enum figure_statistic statistic, figure_fn fn, void *arg)
{
    char scratch[FIGURE_NAME];
    struct figure f = {.id = figure_parse(m->figure, scratch), .form = FIGURE_FORM_TRUTH};
    if (m->form == MAP_TRUTH)
        return jsonin_bool(v, &f.truth) == 0 ? fn(arg, &f) : 0;
    f.form = FIGURE_FORM_NUMBER;
    if (jsonin_f64(v, &f.number) < 0 || !isfinite(f.number))
        return 0;
    if (statistic != FIGURE_VALUE)
        f.id.statistic = (uint8_t)statistic;
    if (m->unit > 0)
        f.number *= m->unit;
    else if (f.id.statistic != FIGURE_VALUE)
        f.number *= NS_PER_MS / figure_scale(f.id.what);
    return fn(arg, &f);
}

/* The member of an object, or NULL. Files of January 2026 call the storage tier nvme. */
static const struct jsonin_v *member(const struct jsonin_v *object, const char *name)
{
    const struct jsonin_v *v = jsonin_get(object, name);
    const char *tier = strstr(name, "storage");
    char old[64];
    if (v || !tier)
        return v;
    snprintf(old, sizeof(old), "%.*snvme%s", (int)(tier - name), name, tier + strlen("storage"));
    return jsonin_get(object, old);
}

static int read_place(const struct map_row *m, const struct jsonin_v *object, unsigned place,
                      figure_fn fn, void *arg)
{
    int rc = 0;
    for (; m->name && rc == 0; m++) {
        const bool here = m->figure && m->place == place && (place > 0 || m->form == MAP_READ);
        const unsigned reads = m->reads ? m->reads : 1 << FIGURE_P95;
        char name[64];
        if (!here && m->form != MAP_OBJECT)
            continue;
        const struct jsonin_v *v = strchr(m->name, '*') ? object : member(object, m->name);
        if (m->form == MAP_OBJECT)
            rc = read_place(m->in, v, place, fn, arg);
        else if (m->form != MAP_TIMES)
            rc = read_one(m, v, FIGURE_VALUE, fn, arg);
        for (unsigned s = 0; m->form == MAP_TIMES && s < FIGURE_STATISTICS && rc == 0; s++)
            if (reads >> s & 1)
                rc = read_one(m, member(v, statistic_name(name, m->name, s)), s, fn, arg);
    }
    return rc;
}

int map_read(const struct map_row *rows, const struct jsonin_v *object, figure_fn fn, void *arg)
{
    int rc = 0;
    for (unsigned place = 0; place <= PLACES && rc == 0; place++)
        rc = read_place(rows, object, place, fn, arg);
    return rc;
}

const struct map_row *map_told(const struct map_row *m, unsigned place)
{
    while (m->name && m->told != place)
        m++;
    return m->name ? m : NULL;
}
