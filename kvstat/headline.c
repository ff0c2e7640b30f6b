/* The choice of figures for trials and comparisons, by their names, and the way back from a name to
 * the distribution that it is a figure of. */
#include "kvstat/headline.h"

#include <stdio.h>
#include <string.h>

#include "kvstat/figures.h"
#include "kvstat/report_cells.h"

static const char *const whole[] = {"throughput.wall.generated_tokens_per_s",
                                    "throughput.storage.generated_tokens_per_s",
                                    "throughput.tier2.tokens_per_s",
                                    "throughput.wall.bytes_per_s",
                                    "throughput.wall.ops_per_s",
                                    "cache.lookups.all.hit_rate",
                                    "cache.read_amplification",
                                    "requests.end_to_end_ms.mean",
                                    "requests.end_to_end_ms.p50",
                                    "requests.end_to_end_ms.p95",
                                    "requests.end_to_end_ms.p99"};
static const char *const of_group[] = {".gib_per_s",      ".service_us.mean", ".service_us.p50",
                                       ".service_us.p95", ".service_us.p99",  ".device_us.mean",
                                       ".device_us.p95",  ".device_us.p99"};

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), tail = strlen(end);
    return len >= tail && strcmp(text + len - tail, end) == 0;
}

bool headline_is(const char *name)
{
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
        if (strcmp(name, whole[i]) == 0)
            return true;
    /* Generate, Miss and Delete rows move nothing. */
    if (strncmp(name, "groups.", 7) != 0 || strstr(name, "/Generate/") || strstr(name, "/Miss/") ||
        strstr(name, "/Delete/"))
        return false;
    for (size_t i = 0; i < sizeof(of_group) / sizeof(of_group[0]); i++)
        if (ends_with(name, of_group[i]))
            return true;
    return false;
}

/* The percentile that the name ends with; 0: the mean, UINT32_MAX: something else. */
static uint32_t ppm_of(const char *name)
{
    if (ends_with(name, ".mean"))
        return 0;
    for (unsigned i = 0; i < FIGURES_PERCENTILES; i++) {
        char end[16];
        snprintf(end, sizeof(end), ".%s", figures_percentiles[i].name);
        if (ends_with(name, end))
            return figures_percentiles[i].ppm;
    }
    return UINT32_MAX;
}

static bool is_of_group(const char *name, const struct group *g, unsigned by)
{
    char label[LABEL];
    cell_label(label, &g->key, by);
    for (char *p = label; *p; p++)
        if (*p == ' ')
            *p = '/';
    size_t len = strlen(label);
    return strncmp(name, label, len) == 0 && name[len] == '.';
}

static const struct hist *group_hist(const struct scan *scan, const char *name)
{
    struct groups *groups = agg_groups(scan->agg);
    size_t n = groups_sort(groups);
    for (size_t i = 0; i < n; i++) {
        const struct group *g = groups_at(groups, i);
        if (is_of_group(name, g, groups_by(groups)))
            return g->metric[strstr(name, ".service_us.") ? GROUP_SERVICE : GROUP_DEVICE];
    }
    return NULL;
}

const struct hist *headline_hist(const struct scan *scan, const char *name, uint32_t *ppm)
{
    *ppm = ppm_of(name);
    if (*ppm == UINT32_MAX)
        return NULL;
    if (strncmp(name, "requests.end_to_end_ms.", 23) == 0)
        return requests_totals(scan->requests)->metric[REQUESTS_END_TO_END];
    return strncmp(name, "groups.", 7) == 0 ? group_hist(scan, name + 7) : NULL;
}
