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
    const unsigned which =
        m->statistics ? m->statistics : percentiles | (unsigned)apart << FIGURE_MEAN;
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

/* A member that an object has of a map, and all of them in the order of their places. */
struct found {
    const struct map_row *row;
    const struct jsonin_v *v;
    enum figure_statistic statistic;
};
struct found_all {
    size_t n;
    struct found of[MAP_MEMBERS];
};

static void add_found(struct found_all *all, const struct found *one)
{
    size_t at = all->n;
    if (!one->v || at == MAP_MEMBERS)
        return;
    for (; at > 0 && all->of[at - 1].row->place > one->row->place; at--)
        all->of[at] = all->of[at - 1];
    all->of[at] = *one;
    all->n++;
}

/* The member of an object, or NULL. Files of January 2026 call the storage tier nvme. */
static const struct jsonin_v *member(const struct jsonin_v *object, const char *name)
{
    const struct jsonin_v *v = jsonin_get(object, name);
    const char *tier = v ? NULL : strstr(name, "storage");
    char old[64];
    if (!tier)
        return v;
    snprintf(old, sizeof(old), "%.*snvme%s", (int)(tier - name), name, tier + strlen("storage"));
    return jsonin_get(object, old);
}

static void find(struct found_all *all, const struct map_row *m, const struct jsonin_v *object)
{
    for (; m->name && object; m++) {
        const bool here = m->figure && (m->place > 0 || m->form == MAP_READ);
        const unsigned reads = m->reads ? m->reads : 1 << FIGURE_P95;
        char name[64];
        if (!here && m->form != MAP_OBJECT)
            continue;
        struct found one = {m, strchr(m->name, '*') ? object : member(object, m->name),
                            FIGURE_VALUE};
        const struct jsonin_v *in = one.v;
        if (m->form == MAP_OBJECT)
            find(all, m->in, in);
        else if (m->form != MAP_TIMES)
            add_found(all, &one);
        for (unsigned s = 0; m->form == MAP_TIMES && s < FIGURE_STATISTICS; s++)
            if (reads >> s & 1) {
                one.v = member(in, statistic_name(name, m->name, s));
                one.statistic = s;
                add_found(all, &one);
            }
    }
}

static struct figure_id name_of(struct map_names *names, const struct map_row *m)
{
    size_t at = 0;
    char scratch[FIGURE_NAME];
    while (at < names->n && names->of[at].row != m)
        at++;
    if (at < names->n)
        return names->of[at].id;
    struct figure_id id = figure_parse(m->figure, scratch);
    id.member = id.scope == FIGURE_OF_OTHER ? m->figure : NULL;
    if (at < MAP_MEMBERS) {
        names->of[at].row = m;
        names->of[at].id = id;
        names->n++;
    }
    return id;
}

/* A figure, whose identity is known, of the member v. 0, or what fn returned. */
static int read_one(const struct found *of, struct figure_id id, figure_fn fn, void *arg)
{
    const struct map_row *m = of->row;
    struct figure f = {.id = id, .form = FIGURE_FORM_TRUTH};
    if (m->form == MAP_TRUTH)
        return jsonin_bool(of->v, &f.truth) == 0 ? fn(arg, &f) : 0;
    f.form = FIGURE_FORM_NUMBER;
    if (jsonin_f64(of->v, &f.number) < 0)
        return 0;
    if (of->statistic != FIGURE_VALUE)
        f.id.statistic = (uint8_t)of->statistic;
    if (m->unit > 0)
        f.number *= m->unit;
    else if (f.id.statistic != FIGURE_VALUE)
        f.number *= NS_PER_MS / figure_scale(f.id.what);
    return isfinite(f.number) ? fn(arg, &f) : 0;
}

int map_read(const struct map_row *rows, const struct jsonin_v *object, struct map_names *names,
             figure_fn fn, void *arg)
{
    struct found_all all = {.n = 0};
    int rc = 0;
    find(&all, rows, object);
    for (size_t i = 0; i < all.n && rc == 0; i++)
        rc = read_one(&all.of[i], name_of(names, all.of[i].row), fn, arg);
    return rc;
}

const struct map_row *map_told(const struct map_row *m, unsigned place)
{
    while (m->name && m->told != place)
        m++;
    return m->name ? m : NULL;
}
