/* Beside evidence.c: what was asked for is divided by who moved it. The rows say what was asked;
 * the kernel's count for this process says what did not come from the page cache; the device's own
 * count says what reached it. What the last two leave over lay in a cache between them. */
#include "kvreplay/device/origin.h"

#include <math.h>
#include <string.h>

#include "lib/facts/judge.h"

bool origin_was_reduced(const struct evidence *ev, double read)
{
    double written = evidence_moved_share(ev, TRACE_WRITE), left = evidence_reduced_to(ev);

    if (ev->counts->write_bytes[TRACE_STORAGE] >= (uint64_t)ORIGIN_ENOUGH && written >= 0)
        return ev->below.cache == TARGET_CACHE_NONE && written > JUDGE_MOVES &&
               written < ORIGIN_MOVED && read < ORIGIN_MOVED && read >= ORIGIN_MOVED * written;
    return left < 1 && read >= (1 - JUDGE_MOVES) * left;
}

bool origin_is_hidden_memory(const struct evidence *ev)
{
    const struct machine *before = &ev->machine_before, *after = &ev->machine_after;

    return ev->target == TARGET_MEDIUM_UNKNOWN && strcmp(ev->file_system, "overlay") == 0 &&
           ev->counts->read_bytes[TRACE_STORAGE] >= (uint64_t)ORIGIN_ENOUGH && before->io_known &&
           after->io_known && after->read_bytes == before->read_bytes && ev->resident_share >= 1 &&
           !ev->storage->keeps_cache;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* The whole of it is one part. */
static void is_all(struct origin *o, enum origin_part part)
{
    o->part[part] = o->asked;
}

/* Bytes beyond these the device did not move: why. */
static void rest_is(struct origin *o, double device, enum origin_part part)
{
    o->part[ORIGIN_DEVICE] = device;
    o->part[part] += o->asked - device;
}

/* moved: by the device for everybody, NAN: not known. own: by storage for this process, likewise.
 */
static void divide_reads(struct origin *o, const struct evidence *ev, double moved, double own)
{
    bool direct = ev->storage->direct == 1, cache = ev->below.cache != TARGET_CACHE_NONE;

    if (!ev->storage->keeps_cache && origin_was_reduced(ev, moved / o->asked)) {
        rest_is(o, least(o->asked, moved), ORIGIN_SAVED);
    } else if (isnan(own) && (isnan(moved) || !direct)) {
        is_all(o, ORIGIN_UNKNOWN);
    } else if (isnan(moved) && cache) {
        is_all(o, ORIGIN_UNKNOWN);
    } else {
        double through = isnan(own) ? o->asked : least(o->asked, own);
        double device = isnan(moved) ? through : least(through, moved);
        o->part[ORIGIN_DEVICE] = device;
        o->part[ORIGIN_CACHE_BELOW] = through - device;
        o->part[ORIGIN_PAGE_CACHE] = o->asked - through;
    }
}

/* The kernel books a write for its process when its page is made dirty: only the device's counter
 * says that it left memory. */
static void divide_writes(struct origin *o, const struct evidence *ev, double moved)
{
    if (isnan(moved))
        is_all(o, ORIGIN_UNKNOWN);
    else
        rest_is(o, least(o->asked, moved),
                origin_was_reduced(ev, evidence_moved_share(ev, TRACE_READ)) ? ORIGIN_SAVED
                : ev->below.cache != TARGET_CACHE_NONE                       ? ORIGIN_CACHE_BELOW
                : ev->storage->direct == 1                                   ? ORIGIN_UNKNOWN
                                                                             : ORIGIN_PAGE_CACHE);
}

void origin_find(struct origin *o, const struct evidence *ev, enum trace_op op)
{
    const struct machine *before = &ev->machine_before, *after = &ev->machine_after;
    const struct evidence_network *n = &ev->network;
    bool read = op == TRACE_READ, known = before->io_known && after->io_known;
    double moved = evidence_moved(ev, op);

    *o = (struct origin){.asked = NAN};
    if (!ev->storage)
        return;
    o->asked = (double)(read ? ev->counts->read_bytes : ev->counts->write_bytes)[TRACE_STORAGE];
    if (n->stores) {
        double passed = !n->counted ? o->asked
                                    : (double)(read ? n->received[1] - n->received[0]
                                                    : n->sent[1] - n->sent[0]);
        o->part[ORIGIN_SERVER] = least(o->asked, passed);
        o->part[ORIGIN_UNKNOWN] = o->asked - o->part[ORIGIN_SERVER];
    } else if (ev->target == TARGET_MEDIUM_MEMORY || origin_is_hidden_memory(ev)) {
        is_all(o, ORIGIN_MEMORY);
    } else if (ev->target != TARGET_MEDIUM_STORAGE || ev->below.cache == TARGET_CACHE_ARC) {
        is_all(o, ORIGIN_UNKNOWN);
    } else if (read) {
        divide_reads(o, ev, moved, known ? (double)(after->read_bytes - before->read_bytes) : NAN);
    } else {
        divide_writes(o, ev, moved);
    }
}

void origin_put_facts(struct facts *f, const struct evidence *ev)
{
    struct origin reads, writes;
    uint64_t hits = 0;

    origin_find(&reads, ev, TRACE_READ);
    origin_find(&writes, ev, TRACE_WRITE);
    if (isnan(reads.asked))
        return;
    origin_put(f, FACTS_OF_READS, &reads);
    origin_put(f, FACTS_OF_WRITES, &writes);
    for (unsigned i = 0; i < TRACE_TIERS; i++)
        hits += ev->counts->read_bytes[i];
    facts_put_count(f, FACT_HITS_BYTES, true, hits);
    facts_put_count(f, FACT_HITS_DEVICE_BYTES,
                    reads.part[ORIGIN_UNKNOWN] + reads.part[ORIGIN_SERVER] < 1,
                    (uint64_t)reads.part[ORIGIN_DEVICE]);
}
