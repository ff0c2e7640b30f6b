/* Loading against computing, for one request alone: what --worth tells beside its simulations. */
#include "kvgen/worth/break_even.h"

#include "lib/drive/drive_model.h"

#define MOST_TOKENS (UINT64_C(1) << 31)
#define MOST_BYTES  (UINT64_C(1) << 62)

/* An object of all ranks. The state of a sequence is in its first object, as the simulation has it.
 */
static uint64_t object_bytes(const struct loading *l, uint64_t tokens, bool first)
{
    uint64_t bytes;
    int rc = model_rank_bytes(l->model, tokens, first, &bytes);
    if (rc < 0 || bytes > MOST_BYTES / l->compute->host_ranks)
        return UINT64_MAX;
    return bytes * l->compute->host_ranks;
}

/* The objects of a context: one that is first, and more that are like each other. */
struct pieces {
    uint64_t first, more; /* bytes */
    uint64_t count;       /* of more */
};

static struct pieces pieces_of(const struct loading *l, uint64_t tokens)
{
    uint64_t each = l->object_tokens;
    struct pieces o = {0};
    if (each == 0) {
        o.first = object_bytes(l, tokens, true);
        return o;
    }
    o.first = object_bytes(l, each, true);
    o.more = object_bytes(l, each, false);
    o.count = (tokens + each - 1) / each - 1; /* the last one is as large as the others */
    return o;
}

uint64_t loading_bytes(const struct loading *l, uint64_t tokens)
{
    struct pieces o = pieces_of(l, tokens);
    unsigned __int128 bytes = (unsigned __int128)o.more * o.count + o.first;
    return bytes <= MOST_BYTES ? (uint64_t)bytes : UINT64_MAX;
}

static double drive_s(const struct drive_model *drive, uint64_t bytes)
{
    return bytes > 0 ? (double)bytes / (double)drive_model_rate(drive, 1, bytes, bytes) : 0;
}

double loading_s(const struct loading *l, uint64_t tokens)
{
    double bytes = (double)loading_bytes(l, tokens), s = l->latency_s;
    s += l->link_bytes_per_s > 0 ? bytes / l->link_bytes_per_s : 0;
    if (!l->drive)
        return s + (l->tier_bytes_per_s > 0 ? bytes / l->tier_bytes_per_s : 0);
    struct pieces o = pieces_of(l, tokens);
    return s + drive_s(l->drive, o.first) + (double)o.count * drive_s(l->drive, o.more);
}

static bool pays(const struct loading *l, uint64_t tokens)
{
    const struct prefill_time *p = &l->compute->time;
    return loading_s(l, tokens) <= ((double)prefill_time_ns(p, 0, tokens) - p->t0_ns) / 1e9;
}

uint64_t loading_break_even(const struct loading *l)
{
    uint64_t low = 0, high = 1;
    while (!pays(l, high)) {
        if (high >= MOST_TOKENS || loading_bytes(l, high) == UINT64_MAX)
            return 0;
        low = high;
        high += high / 64 + 1;
    }
    while (high - low > 1) {
        uint64_t n = low + (high - low) / 2;
        *(pays(l, n) ? &high : &low) = n;
    }
    return high;
}
