/* Parts of the bytes that Tier-2 was asked for. kvreplay finds them from the kernel's counters
 * (kvreplay/device/origin.c); kvstat has them from a file. Both show them by the same words. */
#include "lib/facts/origin.h"

#include <stdio.h>

enum fact_id origin_fact(enum fact_scope scope, enum origin_part part)
{
    enum fact_id asked = scope == FACTS_OF_READS ? FACT_READS_ASKED : FACT_WRITES_ASKED;

    return part == ORIGIN_PARTS ? asked : asked + 1 + part;
}

void origin_put(struct facts *f, enum fact_scope scope, const struct origin *o)
{
    for (unsigned i = 0; i <= ORIGIN_PARTS; i++) {
        double bytes = i == ORIGIN_PARTS ? o->asked : o->part[i];
        facts_put_count(f, origin_fact(scope, i), bytes >= 0, bytes >= 0 ? (uint64_t)bytes : 0);
    }
}

double origin_not_device(const struct origin *o)
{
    double sum = o->part[ORIGIN_PAGE_CACHE] + o->part[ORIGIN_CACHE_BELOW] + o->part[ORIGIN_MEMORY];

    return o->asked > 0 ? sum / o->asked : 0;
}

const char *origin_text(char buf[ORIGIN_TEXT], const struct origin *o)
{
    static const char *const words[ORIGIN_PARTS] = {
        [ORIGIN_DEVICE] = "device",           [ORIGIN_PAGE_CACHE] = "page cache",
        [ORIGIN_CACHE_BELOW] = "cache below", [ORIGIN_SAVED] = "saved by compression",
        [ORIGIN_MEMORY] = "memory",           [ORIGIN_SERVER] = "server",
        [ORIGIN_UNKNOWN] = "not known"};
    static const struct {
        double bytes;
        const char *name;
    } units[] = {{1099511627776.0, "TiB"},
                 {1073741824.0, "GiB"},
                 {1048576.0, "MiB"},
                 {1024.0, "KiB"},
                 {1.0, "B"}};
    unsigned u = 0;

    buf[0] = '\0';
    if (!(o->asked > 0))
        return buf;
    while (o->asked < units[u].bytes && units[u].bytes > 1)
        u++;
    int places = units[u].bytes > 1;
    size_t len = (size_t)snprintf(buf, ORIGIN_TEXT, "%.*f %s asked =", places,
                                  o->asked / units[u].bytes, units[u].name);
    bool any = false;
    for (unsigned i = 0; i < ORIGIN_PARTS; i++) {
        double value = o->part[i] / units[u].bytes;
        if (value < (places ? 0.05 : 0.5) &&
            (i != ORIGIN_DEVICE || o->part[ORIGIN_UNKNOWN] > 0 || o->part[ORIGIN_SERVER] > 0))
            continue;
        len += (size_t)snprintf(buf + len, ORIGIN_TEXT - len, "%s %.*f %s", any ? " +" : "", places,
                                value, words[i]);
        any = true;
    }
    return buf;
}

const char *origin_hits_text(char buf[ORIGIN_TEXT], double hits_bytes, double device_bytes)
{
    buf[0] = '\0';
    if (hits_bytes > 0 && device_bytes >= 0)
        snprintf(buf, ORIGIN_TEXT, "%.1f %% of the bytes of hits never touched the device",
                 100 * (1 - device_bytes / hits_bytes));
    return buf;
}
