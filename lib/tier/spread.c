/* The engine over several engines, one for each target of a tier: hands each operation to the one
 * that holds its name, and collects what they have finished. It has no threads of its own. */
#include "lib/tier/spread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)SPREAD_MAX < (int)TIER_NO_DOOR, "a store is a door");

struct tier_spread {
    struct tier tier;
    unsigned count, next_poll;
    struct tier *under[SPREAD_MAX];
    const char *name[SPREAD_MAX];
    uint8_t holder[TARGET_SLOTS]; /* of each slot: which store */
};

/* ---- parts ---- */

void spread_divide(const uint64_t *weight, unsigned count, struct target_part *part)
{
    double sum = 0, before = 0;
    unsigned from = 0;

    for (unsigned i = 0; i < count; i++)
        sum += (double)weight[i];
    for (unsigned i = 0; i < count; i++) {
        unsigned least = from + 1, most = TARGET_SLOTS - (count - 1 - i);
        double share;

        before += (double)weight[i];
        share = sum > 0 ? before / sum : (double)(i + 1) / count;
        unsigned to = (unsigned)(share * TARGET_SLOTS + 0.5);
        to = to < least ? least : to > most ? most : to;
        to = i + 1 == count ? TARGET_SLOTS : to;
        part[i] = (struct target_part){(uint16_t)from, (uint16_t)to};
        from = to;
    }
}

bool spread_complete(const struct target_part *part, unsigned count)
{
    bool taken[TARGET_SLOTS] = {false};
    unsigned slots = 0;

    for (unsigned i = 0; i < count; i++) {
        if (!target_part_sound(part[i]))
            return false;
        for (unsigned slot = part[i].from; slot < part[i].to; slot++) {
            if (taken[slot])
                return false;
            taken[slot] = true;
            slots++;
        }
    }
    return slots == TARGET_SLOTS;
}

/* ---- the engine ---- */

static struct tier *holder_of(const struct tier_spread *t, const struct tier_op *op)
{
    return t->under[t->holder[spread_slot(op->name)]];
}

static int spread_submit(struct tier *tier, struct tier_op *op)
{
    struct tier_spread *t = (struct tier_spread *)tier;
    struct tier *under = holder_of(t, op);

    op->door = t->holder[spread_slot(op->name)];
    return under->ops->submit(under, op);
}

static void spread_kick(struct tier *tier)
{
    struct tier_spread *t = (struct tier_spread *)tier;

    for (unsigned i = 0; i < t->count; i++)
        t->under[i]->ops->kick(t->under[i]);
}

static size_t spread_poll(struct tier *tier, struct tier_op **done, size_t max)
{
    struct tier_spread *t = (struct tier_spread *)tier;
    size_t n = 0;

    for (unsigned i = 0; i < t->count && n < max; i++) {
        struct tier *under = t->under[(t->next_poll + i) % t->count];

        n += under->ops->poll(under, done + n, max - n);
    }
    t->next_poll = (t->next_poll + 1) % t->count;
    return n;
}

static int64_t spread_next_ns(struct tier *tier)
{
    struct tier_spread *t = (struct tier_spread *)tier;
    int64_t first = INT64_MAX;

    for (unsigned i = 0; i < t->count; i++) {
        int64_t next = t->under[i]->ops->next_ns(t->under[i]);

        first = next < first ? next : first;
    }
    return first;
}

static int spread_adopt(struct tier *tier, struct tier_op *op, uint64_t *size, uint64_t *generation)
{
    struct tier_spread *t = (struct tier_spread *)tier;
    struct tier *under = holder_of(t, op);

    op->door = t->holder[spread_slot(op->name)];
    return under->ops->adopt(under, op, size, generation);
}

/* Texts that all stores have stand once; others with the name of theirs. */
static void merge_notes(struct notes *to, const struct notes *const *from,
                        const struct tier_spread *t)
{
    for (unsigned i = 0; i < t->count; i++) {
        for (unsigned k = 0; k < from[i]->count; k++) {
            const char *text = from[i]->text[k];
            unsigned have = 0;

            for (unsigned other = 0; other < t->count; other++)
                have += notes_has(from[other], text);
            if (have < t->count)
                notes_add(to, "%s: %s", t->name[i], text);
            else if (!notes_has(to, text))
                notes_add(to, "%s", text);
        }
    }
}

/* The value that holds for all, or -1. */
static int agreed(int all, int one)
{
    return all == one ? all : -1;
}

static void spread_describe(const struct tier *tier, struct tier_info *info)
{
    const struct tier_spread *t = (const struct tier_spread *)tier;
    struct tier_info *each = calloc(t->count, sizeof(*each));
    const struct notes *fallbacks[SPREAD_MAX], *flags[SPREAD_MAX];
    size_t target = 0, device = 0;

    *info = (struct tier_info){.engine = "spread", .verifies = true, .takes_slots = true};
    if (!each)
        return;
    for (unsigned i = 0; i < t->count; i++) {
        struct tier_info *one = &each[i];

        t->under[i]->ops->describe(t->under[i], one);
        fallbacks[i] = &one->fallbacks;
        flags[i] = &one->flags;
        if (i == 0) {
            info->engine = one->engine;
            info->loops = one->loops;
            info->huge_pages = one->huge_pages;
            info->registered = one->registered;
            info->direct = one->direct;
        }
        if (strcmp(one->engine, info->engine) != 0) /* a fallback of some of them, which it names */
            info->engine = "io_uring, psync";
        info->simulated |= one->simulated;
        info->verifies &= one->verifies;
        info->takes_slots &= one->takes_slots;
        info->threads += one->threads;
        info->huge_pages = agreed(info->huge_pages, one->huge_pages);
        info->registered = agreed(info->registered, one->registered);
        info->direct = agreed(info->direct, one->direct);
        info->ios += one->ios;
        info->io_ns += one->io_ns;
        if (target < sizeof(info->target))
            target += (size_t)snprintf(info->target + target, sizeof(info->target) - target, "%s%s",
                                       i ? ", " : "", t->name[i]);
        if (one->device[0] && !strstr(info->device, one->device) && device < sizeof(info->device))
            device += (size_t)snprintf(info->device + device, sizeof(info->device) - device, "%s%s",
                                       device ? ", " : "", one->device);
    }
    merge_notes(&info->fallbacks, fallbacks, t);
    merge_notes(&info->flags, flags, t);
    free(each);
}

static bool any(const struct tier *tier, bool (*is)(const struct tier *under))
{
    const struct tier_spread *t = (const struct tier_spread *)tier;

    for (unsigned i = 0; i < t->count; i++) {
        if (is(t->under[i]))
            return true;
    }
    return false;
}

static bool spread_torn(const struct tier *tier)
{
    return any(tier, tier_torn);
}

static bool spread_lost(const struct tier *tier)
{
    return any(tier, tier_lost);
}

static int spread_close(struct tier *tier, struct err *e)
{
    struct tier_spread *t = (struct tier_spread *)tier;
    int first = 0;

    for (unsigned i = 0; i < t->count; i++) {
        int rc = t->under[i]->ops->close(t->under[i], first ? NULL : e);

        first = first ? first : rc;
    }
    free(t);
    return first;
}

static const struct tier_ops spread_ops = {
    .submit = spread_submit,
    .kick = spread_kick,
    .poll = spread_poll,
    .next_ns = spread_next_ns,
    .adopt = spread_adopt,
    .describe = spread_describe,
    .torn = spread_torn,
    .lost = spread_lost,
    .close = spread_close,
};

int tier_spread_open(struct tier **out, const struct spread_opts *o, struct err *e)
{
    struct tier_spread *t = calloc(1, sizeof(*t));

    if (!t)
        return err_nomem(e, "several targets");
    t->tier.ops = &spread_ops;
    t->count = o->count;
    for (unsigned i = 0; i < o->count; i++) {
        t->under[i] = o->tier[i];
        t->name[i] = o->name[i];
        memset(t->holder + o->part[i].from, (int)i, (size_t)(o->part[i].to - o->part[i].from));
    }
    *out = &t->tier;
    return 0;
}
