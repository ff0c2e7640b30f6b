/* Reads the limits of memory from where Linux shows them; a file that is missing or unreadable is
 * no limit. And streams whose text grows in memory. */
#include "lib/base/memory.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/units.h"

/* The number in a file that holds nothing else; UINT64_MAX: no file, or a word such as "max". */
static uint64_t number_in(const char *path)
{
    unsigned long long n;
    FILE *f = fopen(path, "re");

    if (!f)
        return UINT64_MAX;
    if (fscanf(f, "%llu", &n) != 1)
        n = UINT64_MAX;
    fclose(f);
    return n;
}

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

/* A group has the limits of all groups above it, too. */
static uint64_t of_groups(void)
{
    char line[PATH_MAX], path[PATH_MAX + 64];
    uint64_t least = UINT64_MAX;
    FILE *f = fopen("/proc/self/cgroup", "re");

    while (f && fgets(line, sizeof(line), f)) {
        if (strncmp(line, "0::/", 4) != 0)
            continue;
        char *group = line + 3;
        group[strcspn(group, "\n")] = '\0';
        for (char *end; group[0]; *end = '\0') {
            snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.max", group);
            uint64_t most = number_in(path);
            snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.current", group);
            uint64_t now = most == UINT64_MAX ? 0 : number_in(path);
            if (most != UINT64_MAX && now != UINT64_MAX && (now < most ? most - now : 0) < least)
                least = now < most ? most - now : 0;
            end = strrchr(group, '/');
        }
    }
    if (f)
        fclose(f);
    return least;
}

static uint64_t of_address_space(void)
{
    struct rlimit limit;
    uint64_t pages = number_in("/proc/self/statm"); /* the first number: all that is mapped */

    if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY || pages == UINT64_MAX)
        return UINT64_MAX;
    uint64_t used = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return used < limit.rlim_cur ? limit.rlim_cur - used : 0;
}

uint64_t memory_available(void)
{
    uint64_t machine = of_machine(), groups = of_groups(), space = of_address_space();
    uint64_t least = machine < groups ? machine : groups;

    least = least < space ? least : space;
    return least == UINT64_MAX ? UNITS_GIB : least;
}

/* ---- texts ---- */

struct stream {
    char **text;
    size_t *len, room;
    bool failed;
};

static ssize_t stream_write(void *cookie, const char *from, size_t bytes)
{
    struct stream *s = cookie;
    size_t need = *s->len + bytes + 1;

    if (!s->failed && need > s->room) {
        size_t room = need > 2 * s->room ? need : 2 * s->room;
        char *grown = realloc(*s->text, room);
        s->failed = !grown;
        if (grown) {
            *s->text = grown;
            s->room = room;
        }
    }
    if (s->failed)
        return 0; /* fopencookie(3): an error */
    memcpy(*s->text + *s->len, from, bytes);
    *s->len += bytes;
    (*s->text)[*s->len] = '\0';
    return (ssize_t)bytes;
}

static int stream_close(void *cookie)
{
    struct stream *s = cookie;
    int rc = s->failed ? EOF : 0;

    free(s);
    return rc;
}

FILE *memory_stream(char **text, size_t *len)
{
    const cookie_io_functions_t does = {.write = stream_write, .close = stream_close};
    struct stream *s = calloc(1, sizeof(*s));
    FILE *f = s ? fopencookie(s, "w", does) : NULL;

    *text = f ? calloc(1, 1) : NULL;
    *len = 0;
    if (!*text) {
        if (f)
            fclose(f);
        else
            free(s);
        return NULL;
    }
    *s = (struct stream){.text = text, .len = len, .room = 1};
    return f;
}
