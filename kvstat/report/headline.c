/* The choice of figures for trials and comparisons, by their names, and the way back from a name to
 * the distribution that it is a figure of. */
#include "kvstat/report/headline.h"

#include <stdio.h>
#include <string.h>

#include "kvstat/report/cells.h"
#include "kvstat/report/figures.h"

#define GROUPS "groups."

struct entry {
    const char *name; /* of a group's figure: how it ends */
    struct headline headline;
};

static const struct entry whole[] = {
    {"throughput.wall.generated_tokens_per_s",
     {"generated, wall clock", "Throughput and cache", " tok/s", HEADLINE_NUMBER, false, 1}},
    {"throughput.storage.generated_tokens_per_s",
     {"generated, storage time", "Throughput and cache", " tok/s", HEADLINE_NUMBER, false, 1}},
    {"throughput.tier2.tokens_per_s",
     {"KV through Tier-2", "Throughput and cache", " tok/s", HEADLINE_NUMBER, false, 1}},
    {"throughput.wall.bytes_per_s",
     {"bytes moved", "Throughput and cache", "/s", HEADLINE_BYTES, false, 1}},
    {"throughput.wall.ops_per_s",
     {"operations", "Throughput and cache", "/s", HEADLINE_NUMBER, false, 1}},
    {"cache.lookups.all.hit_rate",
     {"hit rate of all lookups", "Throughput and cache", "", HEADLINE_SHARE, false, 1}},
    {"cache.read_amplification",
     {"tokens read per generated", "Throughput and cache", "", HEADLINE_NUMBER, false, 0}},
    {"requests.end_to_end_ms.mean", {"end to end, mean", "Requests", "", HEADLINE_MS, false, -1}},
    {"requests.end_to_end_ms.p50", {"end to end, p50", "Requests", "", HEADLINE_MS, false, -1}},
    {"requests.end_to_end_ms.p95", {"end to end, p95", "Requests", "", HEADLINE_MS, false, -1}},
    {"requests.end_to_end_ms.p99", {"end to end, p99", "Requests", "", HEADLINE_MS, false, -1}}};
static const struct entry of_group[] = {
    {".gib_per_s", {"bandwidth", "", "/s", HEADLINE_GIB, true, 1}},
    {".service_us.mean", {"service, mean", "", "", HEADLINE_US, true, -1}},
    {".service_us.p50", {"service, p50", "", "", HEADLINE_US, true, -1}},
    {".service_us.p95", {"service, p95", "", "", HEADLINE_US, true, -1}},
    {".service_us.p99", {"service, p99", "", "", HEADLINE_US, true, -1}},
    {".device_us.mean", {"device, mean", "", "", HEADLINE_US, true, -1}},
    {".device_us.p95", {"device, p95", "", "", HEADLINE_US, true, -1}},
    {".device_us.p99", {"device, p99", "", "", HEADLINE_US, true, -1}}};

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), tail = strlen(end);
    return len >= tail && strcmp(text + len - tail, end) == 0;
}

static const struct entry *find(const char *name)
{
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
        if (strcmp(name, whole[i].name) == 0)
            return &whole[i];
    /* Generate, Miss and Delete rows move nothing. */
    if (strncmp(name, GROUPS, strlen(GROUPS)) != 0 || strstr(name, "/Generate/") ||
        strstr(name, "/Miss/") || strstr(name, "/Delete/"))
        return NULL;
    for (size_t i = 0; i < sizeof(of_group) / sizeof(of_group[0]); i++)
        if (ends_with(name, of_group[i].name))
            return &of_group[i];
    return NULL;
}

bool headline_is(const char *name)
{
    return find(name) != NULL;
}

void headline_of(struct headline *h, const char *name)
{
    const struct entry *entry = find(name);
    *h = entry->headline;
    if (!h->of_group)
        return;
    snprintf(h->section, sizeof(h->section), "%.*s",
             (int)(strlen(name) - strlen(GROUPS) - strlen(entry->name)), name + strlen(GROUPS));
    for (char *p = h->section; *p; p++)
        if (*p == '/')
            *p = ' ';
}

/* The percentile that the name ends with; 0: the mean, UINT32_MAX: something else. */
static uint32_t ppm_of(const char *name)
{
    if (ends_with(name, ".mean"))
        return 0;
    for (unsigned i = 0; i < HIST_PERCENTILES; i++) {
        char end[16];
        snprintf(end, sizeof(end), ".%s", hist_percentiles[i].name);
        if (ends_with(name, end))
            return hist_percentiles[i].ppm;
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
    return strncmp(name, GROUPS, strlen(GROUPS)) == 0 ? group_hist(scan, name + strlen(GROUPS))
                                                      : NULL;
}
