/* The parts of end-to-end time as shares, and the one to name. The time in the queue is no cause:
 * it is given to what held the workers, in proportion. */
#include "kvstat/report/bottleneck.h"

#include <math.h>
#include <string.h>

const struct bottleneck_words bottleneck_words[BOTTLENECK_SHARES] = {
    {"waiting in the queue", "queue", "queue"},
    {"generation", "generation", "generation"},
    {"GPU copies (Tier-0)", "GPU", "GPU copies"},
    {"CPU copies (Tier-1)", "CPU", "memory copies"},
    {"storage, waiting for an I/O slot", "slot", "waiting for an I/O slot"},
    {"storage, files (open, create, close)", "files", "opening and closing files"},
    {"storage, I/O", "I/O", "storage I/O"},
    {"storage, flush", "flush", "flush to storage"},
    {"storage, not told in what", "storage", "other time of storage"},
    {"host CPU", "host", "host CPU"},
    {"pauses of kvreplay itself", "pauses", "pauses of kvreplay"},
    {"waiting for other operations", "waits", "waiting for other operations"}};

unsigned bottleneck_share(const char *member)
{
    unsigned i = 0;
    while (i + 1 < BOTTLENECK_SHARES && strcmp(figure_member(bottleneck_part(i)), member) != 0)
        i++;
    return i;
}

static unsigned at(enum figure_what what)
{
    return what == FIGURE_ROWS ? BOTTLENECK_SHARES - 1 : (unsigned)what - FIGURE_SHARE_QUEUE;
}

static bool is_storage(unsigned i)
{
    return i >= at(FIGURE_SHARE_SLOT) && i <= at(FIGURE_SHARE_STORAGE);
}

static void fill_shares(struct bottleneck *b, const struct requests_totals *r,
                        const double device_parts[BOTTLENECK_DEVICE_PARTS], bool result)
{
    const double *ns = r->part_ns;
    double all = r->end_to_end_ns, *share = b->shares;
    double parts = device_parts[0] + device_parts[1] + device_parts[2];
    bool told = parts > 0, bare = ns[REQUEST_PART_STORAGE] > 0;
    for (unsigned i = 0; i < BOTTLENECK_SHARES; i++)
        share[i] = NAN;
    if (r->with_arrival > 0)
        share[at(FIGURE_SHARE_QUEUE)] = ns[REQUEST_PART_QUEUE] / all;
    if (r->metric[REQUESTS_GENERATION])
        share[at(FIGURE_SHARE_GENERATION)] = ns[REQUEST_PART_GENERATION] / all;
    share[at(FIGURE_ROWS)] = ns[REQUEST_PART_ROWS] / all;
    if (r->stops_known)
        share[at(FIGURE_SHARE_TOOL)] = ns[REQUEST_PART_TOOL] / all;
    if (!result || !r->metric[REQUESTS_STORAGE])
        return;
    share[at(FIGURE_SHARE_GPU)] = ns[REQUEST_PART_GPU] / all;
    share[at(FIGURE_SHARE_CPU)] = ns[REQUEST_PART_CPU] / all;
    share[at(FIGURE_SHARE_HOST)] = ns[REQUEST_PART_HOST] / all;
    share[at(FIGURE_SHARE_SLOT)] = ns[REQUEST_PART_SLOT] / all;
    for (unsigned i = 0; i < BOTTLENECK_DEVICE_PARTS && told; i++)
        share[at(FIGURE_SHARE_META) + i] = ns[REQUEST_PART_DEVICE] / all * device_parts[i] / parts;
    if (!told)
        share[at(FIGURE_SHARE_IO)] = ns[REQUEST_PART_DEVICE] / all;
    if (!bare)
        return;
    /* Rows without a device time or without a wait for a slot: nothing else is known of these. */
    share[at(FIGURE_SHARE_STORAGE)] = ns[REQUEST_PART_STORAGE] / all;
    if (!(ns[REQUEST_PART_DEVICE] > 0))
        share[at(FIGURE_SHARE_IO)] = NAN;
    if (!(ns[REQUEST_PART_SLOT] > 0))
        share[at(FIGURE_SHARE_SLOT)] = NAN;
    if (!(ns[REQUEST_PART_HOST] > 0))
        share[at(FIGURE_SHARE_HOST)] = NAN;
}

/* The two largest of n shares; the places go to first and second, n: none. */
static void two_largest(const double *share, unsigned n, unsigned *first, unsigned *second)
{
    *first = *second = n;
    for (unsigned i = 0; i < n; i++) {
        if (!(share[i] > 0))
            continue;
        if (*first == n || share[i] > share[*first]) {
            *second = *first;
            *first = i;
        } else if (*second == n || share[i] > share[*second]) {
            *second = i;
        }
    }
}

static bool stands_out(const double *share, unsigned n, unsigned first, unsigned second)
{
    return first < n && share[first] >= BOTTLENECK_SHARE &&
           (second == n || share[first] >= BOTTLENECK_FACTOR * share[second]);
}

bool bottleneck_find(struct bottleneck *b, const struct requests_totals *r,
                     const double device_parts[BOTTLENECK_DEVICE_PARTS], bool result)
{
    double held[BOTTLENECK_SHARES], groups[BOTTLENECK_SHARES];
    unsigned n = BOTTLENECK_SHARES, first, second;
    *b = (struct bottleneck){.what = FIGURE_ITSELF};
    if (!(r->end_to_end_ns > 0))
        return false;
    fill_shares(b, r, device_parts, result);
    double queue = fmax(0, b->shares[0]), without = 1 - queue;
    for (unsigned i = 0; i < n; i++) {
        held[i] = isnan(b->shares[i]) ? 0 : b->shares[i];
        if (without > 0)
            held[i] = i == 0 ? 0 : held[i] / without;
        groups[i] = is_storage(i) ? 0 : held[i];
    }
    for (unsigned i = 0; i < n; i++)
        groups[at(FIGURE_SHARE_STORAGE)] += is_storage(i) ? held[i] : 0;
    two_largest(held, n, &first, &second);
    if (first == n)
        return false;
    b->share = held[first];
    b->foremost[0] = bottleneck_part(first);
    b->foremost[1] = second < n ? bottleneck_part(second) : FIGURE_ITSELF;
    if (stands_out(held, n, first, second)) {
        b->what = bottleneck_part(first);
        return true;
    }
    /* No part of storage may stand out where storage as a whole does. */
    two_largest(groups, n, &first, &second);
    if (stands_out(groups, n, first, second)) {
        b->what = bottleneck_part(first);
        b->share = groups[first];
    }
    return true;
}
