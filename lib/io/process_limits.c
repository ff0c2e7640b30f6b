/* Under the tiers of memory and the evidence of a run. A process finds its groups in
 * /proc/self/cgroup and where they are mounted in /proc/self/mountinfo: a container has its own
 * group mounted in the place of the root (Linux, Documentation/admin-guide/cgroup-v1/ and
 * cgroup-v2.rst). */
#include "lib/io/process_limits.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/units.h"

/* One hierarchy: where it is mounted, and the process's group as a folder below that. */
struct hierarchy {
    const char *controller; /* "memory", "cpu"; NULL: version 2 */
    char mount[PATH_MAX];
    char folder[PATH_MAX * 2]; /* with the mount point before it */
};

static FILE *open_in(const char *root, const char *name)
{
    char path[PATH_MAX];

    return snprintf(path, sizeof(path), "%s%s", root, name) < (int)sizeof(path) ? fopen(path, "re")
                                                                                : NULL;
}

/* The first number of the first line that begins with key, or of the file where key is "".
 * UINT64_MAX: there is none, or a word such as "max". */
static uint64_t number_in(const char *folder, const char *name, const char *key)
{
    char path[PATH_MAX * 2 + 64], line[128];
    uint64_t n = UINT64_MAX;
    size_t len = strlen(key);

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, key, len) == 0 && (len == 0 || line[len] == ' ')) {
            if (sscanf(line + len, "%" SCNu64, &n) != 1)
                n = UINT64_MAX;
            break;
        }
    if (f)
        fclose(f);
    return n;
}

/* Is name one of a list with commas? */
static bool among(const char *name, const char *list)
{
    size_t len = strlen(name);

    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, len) == 0 && strchr(",:\n ", at[len]))
            return true;
    }
    return false;
}

/* The path of the group in its hierarchy, from a line such as "4:cpu,cpuacct:/a/b". */
static bool find_group(const char *root, const struct hierarchy *h, char group[PATH_MAX])
{
    FILE *f = open_in(root, "/proc/self/cgroup");
    char line[PATH_MAX + 256];
    bool found = false;

    while (f && !found && fgets(line, sizeof(line), f)) {
        char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
        if (!path || !(h->controller ? among(h->controller, list + 1) : path == list + 1))
            continue;
        path[strcspn(path, "\n")] = '\0';
        snprintf(group, PATH_MAX, "%.*s", PATH_MAX - 1, path + 1);
        found = true;
    }
    if (f)
        fclose(f);
    return found;
}

/* Fills mount and folder. False: the process has no such group, or sees none. */
static bool find_hierarchy(const char *root, struct hierarchy *h)
{
    char line[4 * PATH_MAX];
    char group[PATH_MAX], top[PATH_MAX], where[PATH_MAX], type[32], options[512];
    FILE *f = find_group(root, h, group) ? open_in(root, "/proc/self/mountinfo") : NULL;
    bool found = false;

    while (f && fgets(line, sizeof(line), f)) {
        const char *rest = strstr(line, " - ");
        options[0] = '\0';
        if (!rest || sscanf(line, "%*s %*s %*s %4095s %4095s", top, where) != 2 ||
            sscanf(rest, " - %31s %*s %511s", type, options) < 1 ||
            strcmp(type, h->controller ? "cgroup" : "cgroup2") != 0 ||
            (h->controller && !among(h->controller, options)))
            continue;
        /* In a bind mount, top is the group that is seen as the root. Another namespace's group
         * ("/../x") is not seen: the nearest is the root of what is mounted. */
        size_t len = strcmp(top, "/") == 0 ? 0 : strlen(top);
        bool inside = strncmp(group, top, len) == 0 && (group[len] == '/' || !group[len]);
        const char *below = inside && !strstr(group, "/..") ? group + len : "";
        snprintf(h->mount, sizeof(h->mount), "%.2000s%.2000s", root, where);
        snprintf(h->folder, sizeof(h->folder), "%s%s", h->mount, strcmp(below, "/") ? below : "");
        found = true;
        if (inside)
            break;
    }
    if (f)
        fclose(f);
    return found;
}

/* Goes to the group above. False: this one was the last that is mounted. */
static bool go_up(struct hierarchy *h)
{
    char *end = strrchr(h->folder, '/');

    if (strlen(h->folder) <= strlen(h->mount) || !end)
        return false;
    *end = '\0';
    return true;
}

static void read_memory(const char *root, bool v2, struct cgroup_limits *limits)
{
    /* memory.high does not kill, but stops who takes more. */
    static const char *const limit[][2] = {{"memory.limit_in_bytes", "memory.limit_in_bytes"},
                                           {"memory.max", "memory.high"}};
    struct hierarchy h = {.controller = v2 ? NULL : "memory"};

    for (bool more = find_hierarchy(root, &h); more; more = go_up(&h)) {
        uint64_t a = number_in(h.folder, limit[v2][0], ""),
                 b = number_in(h.folder, limit[v2][1], ""), most = a < b ? a : b;
        uint64_t now = number_in(h.folder, v2 ? "memory.current" : "memory.usage_in_bytes", "");
        uint64_t back =
            number_in(h.folder, "memory.stat", v2 ? "inactive_file" : "total_inactive_file");
        if (most == UINT64_MAX || now == UINT64_MAX)
            continue;
        now -= back == UINT64_MAX ? 0 : back < now ? back : now;
        uint64_t left = now < most ? most - now : 0;
        if (left < limits->memory_left)
            limits->memory_left = left;
    }
}

static void read_processors(const char *root, bool v2, struct cgroup_limits *limits)
{
    struct hierarchy h = {.controller = v2 ? NULL : "cpu"};

    for (bool more = find_hierarchy(root, &h); more; more = go_up(&h)) {
        char path[PATH_MAX * 2 + 64];
        double quota = -1, period = -1;
        int64_t ns = -1;
        if (v2) {
            snprintf(path, sizeof(path), "%s/cpu.max", h.folder);
            FILE *f = fopen(path, "re");
            if (f && fscanf(f, "%lf %lf", &quota, &period) != 2)
                quota = -1;
            if (f)
                fclose(f);
        } else {
            uint64_t q = number_in(h.folder, "cpu.cfs_quota_us", ""),
                     p = number_in(h.folder, "cpu.cfs_period_us", "");
            quota = q < INT64_MAX ? (double)q : -1; /* -1 stands for none */
            period = p < INT64_MAX ? (double)p : -1;
        }
        if (quota <= 0 || period <= 0 || (limits->cpus > 0 && quota / period >= limits->cpus))
            continue;
        uint64_t n = number_in(h.folder, "cpu.stat", v2 ? "throttled_usec" : "throttled_time");
        if (n < INT64_MAX / 1000)
            ns = v2 ? (int64_t)n * 1000 : (int64_t)n;
        limits->cpus = quota / period;
        limits->throttled_ns = ns;
    }
}

void cgroup_read(const char *root, struct cgroup_limits *limits)
{
    *limits = (struct cgroup_limits){.memory_left = UINT64_MAX, .throttled_ns = -1};
    for (int v2 = 0; v2 < 2; v2++) {
        read_memory(root, v2, limits);
        read_processors(root, v2, limits);
    }
}

/* ---- memory ---- */

static uint64_t of_machine(void)
{
    unsigned long long kib = 0;
    char line[128];
    FILE *f = fopen("/proc/meminfo", "re");

    while (f && fgets(line, sizeof(line), f) && sscanf(line, "MemAvailable: %llu", &kib) != 1)
        ;
    if (f)
        fclose(f);
    return kib ? kib * 1024 : UINT64_MAX;
}

static uint64_t of_address_space(void)
{
    struct rlimit limit;
    uint64_t pages =
        number_in("/proc/self", "statm", ""); /* the first number: all that is mapped */

    if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY || pages == UINT64_MAX)
        return UINT64_MAX;
    uint64_t used = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return used < limit.rlim_cur ? limit.rlim_cur - used : 0;
}

uint64_t memory_available(void)
{
    uint64_t machine = of_machine(), space = of_address_space();
    struct cgroup_limits groups;

    cgroup_read("", &groups);
    uint64_t least = machine < groups.memory_left ? machine : groups.memory_left;
    least = least < space ? least : space;
    return least == UINT64_MAX ? UNITS_GIB : least;
}
