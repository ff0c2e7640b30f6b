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
    const char *controller;         /* "memory", "cpu"; NULL: version 2 */
    bool has_group, found, settled; /* found: mounted where the process sees it */
    char group[PATH_MAX];           /* as the kernel names it */
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

/* The paths of the groups in their hierarchies, from lines such as "4:cpu,cpuacct:/a/b". */
static bool find_groups(const char *root, struct hierarchy h[], unsigned n)
{
    FILE *f = open_in(root, "/proc/self/cgroup");
    char line[PATH_MAX + 256];
    bool found = false;

    while (f && fgets(line, sizeof(line), f)) {
        char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
        if (!path)
            continue;
        path[strcspn(path, "\n")] = '\0';
        for (unsigned i = 0; i < n; i++) {
            if (h[i].has_group ||
                !(h[i].controller ? among(h[i].controller, list + 1) : path == list + 1))
                continue;
            snprintf(h[i].group, PATH_MAX, "%.*s", PATH_MAX - 1, path + 1);
            h[i].has_group = found = true;
        }
    }
    if (f)
        fclose(f);
    return found;
}

/* A hierarchy that is mounted at where, with the group top as its root. */
static void take_mount(struct hierarchy *h, const char *root, const char *top, const char *where)
{
    /* In a bind mount, top is the group that is seen as the root. Another namespace's group
     * ("/../x") is not seen: the nearest is the root of what is mounted. */
    size_t len = strcmp(top, "/") == 0 ? 0 : strlen(top);
    bool inside = strncmp(h->group, top, len) == 0 && (h->group[len] == '/' || !h->group[len]);
    const char *below = inside && !strstr(h->group, "/..") ? h->group + len : "";

    snprintf(h->mount, sizeof(h->mount), "%.2000s%.2000s", root, where);
    snprintf(h->folder, sizeof(h->folder), "%s%s", h->mount, strcmp(below, "/") ? below : "");
    h->found = true;
    h->settled = inside;
}

/* Fills mount and folder of those of the n that the process has and sees; each of the kernel's
 * lists is read once. */
static void find_hierarchies(const char *root, struct hierarchy h[], unsigned n)
{
    char line[4 * PATH_MAX];
    char top[PATH_MAX], where[PATH_MAX], type[32], options[512];
    FILE *f = find_groups(root, h, n) ? open_in(root, "/proc/self/mountinfo") : NULL;

    while (f && fgets(line, sizeof(line), f)) {
        const char *rest = strstr(line, " - ");
        options[0] = '\0';
        if (!rest || sscanf(rest, " - %31s %*s %511s", type, options) < 1 ||
            strncmp(type, "cgroup", 6) != 0 ||
            sscanf(line, "%*s %*s %*s %4095s %4095s", top, where) != 2)
            continue;
        for (unsigned i = 0; i < n; i++) {
            if (h[i].has_group && !h[i].settled &&
                strcmp(type, h[i].controller ? "cgroup" : "cgroup2") == 0 &&
                (!h[i].controller || among(h[i].controller, options)))
                take_mount(&h[i], root, top, where);
        }
    }
    if (f)
        fclose(f);
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

static void read_memory(struct hierarchy h, bool v2, uint64_t *memory_left)
{
    /* memory.high does not kill, but stops who takes more. */
    static const char *const limit[][2] = {{"memory.limit_in_bytes", "memory.limit_in_bytes"},
                                           {"memory.max", "memory.high"}};

    for (bool more = h.found; more; more = go_up(&h)) {
        uint64_t a = number_in(h.folder, limit[v2][0], ""),
                 b = number_in(h.folder, limit[v2][1], ""), most = a < b ? a : b;
        uint64_t now = number_in(h.folder, v2 ? "memory.current" : "memory.usage_in_bytes", "");
        uint64_t back =
            number_in(h.folder, "memory.stat", v2 ? "inactive_file" : "total_inactive_file");
        if (most == UINT64_MAX || now == UINT64_MAX)
            continue;
        now -= back == UINT64_MAX ? 0 : back < now ? back : now;
        uint64_t left = now < most ? most - now : 0;
        if (left < *memory_left)
            *memory_left = left;
    }
}

static void read_processors(struct hierarchy h, bool v2, struct cgroup_limits *limits)
{
    for (bool more = h.found; more; more = go_up(&h)) {
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
    struct hierarchy h[] = {{.controller = "cpu"}, {.controller = NULL}};

    *limits = (struct cgroup_limits){.throttled_ns = -1};
    find_hierarchies(root, h, 2);
    read_processors(h[0], false, limits);
    read_processors(h[1], true, limits);
}

uint64_t cgroup_memory_left(const char *root)
{
    struct hierarchy h[] = {{.controller = "memory"}, {.controller = NULL}};
    uint64_t left = UINT64_MAX;

    find_hierarchies(root, h, 2);
    read_memory(h[0], false, &left);
    read_memory(h[1], true, &left);
    return left;
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
    uint64_t machine = of_machine(), space = of_address_space(), groups = cgroup_memory_left("");
    uint64_t least = machine < groups ? machine : groups;
    least = least < space ? least : space;
    return least == UINT64_MAX ? UNITS_GIB : least;
}
