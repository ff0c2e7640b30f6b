/* Between the scheduler (or spread.c) and the engine of a store that is kept. A removal is listed
 * before the engine hears of it, where the list can take it at once; a write after it is complete.
 * So a list never names what a killed run has removed. */
#include "lib/tier/listed.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/layout/place.h"
#include "lib/owner/journal.h"

struct listed {
    struct tier tier;
    struct tier *under;
    struct inventory *had;   /* NULL: nothing is adopted */
    struct journal *journal; /* NULL: nothing is listed */
    struct tier_listed_opts o;
    bool holds, exact; /* inventory_holds, inventory_exact */
    bool complete;     /* had names all objects that are there */
    bool keep;
    struct tier_op **held; /* wait until their removal is on the list */
    unsigned helds, inside;
    uint64_t unlisted, missing;
};

/* ---- operations ---- */

/* A write to a name of which an earlier run left an object, which the trace does not read before:
 * op replaces it. */
static void replace_left(struct listed *l, struct tier_op *op)
{
    struct inventory_entry *left = l->had ? inventory_find(l->had, op->name) : NULL;

    if (!left || left->taken || !l->under->ops->place)
        return;
    if (l->under->ops->place(l->under, left->epoch, left->bytes, &op->place) == 0)
        left->taken = 1;
}

static bool removes(const struct tier_op *op)
{
    switch (op->verb) {
    case TIER_WRITE:
        return op->place != NULL;
    case TIER_READ:
        return op->drop;
    case TIER_DELETE:
        return true;
    case TIER_LOOKUP:
        break;
    }
    return false;
}

static int listed_submit(struct tier *tier, struct tier_op *op)
{
    struct listed *l = (struct listed *)tier;
    bool holds_back = false;

    if (l->inside == l->o.max_ops)
        return -EAGAIN;
    if (op->verb == TIER_WRITE && !op->place)
        replace_left(l, op);
    if (l->journal && removes(op))
        holds_back = journal_gone(l->journal, op->name);
    if (holds_back)
        l->held[l->helds++] = op;
    else if (l->under->ops->submit(l->under, op) < 0)
        return -EAGAIN;
    l->inside++;
    return 0;
}

static void listed_kick(struct tier *tier)
{
    struct listed *l = (struct listed *)tier;

    if (l->helds > 0)
        (void)journal_flush(l->journal); /* a list that cannot be written says nothing any more */
    for (unsigned i = 0; i < l->helds; i++)
        (void)l->under->ops->submit(l->under, l->held[i]); /* no more are inside than it takes */
    l->helds = 0;
    l->under->ops->kick(l->under);
}

static size_t listed_poll(struct tier *tier, struct tier_op **done, size_t max)
{
    struct listed *l = (struct listed *)tier;
    size_t n = l->under->ops->poll(l->under, done, max);

    for (size_t i = 0; i < n && l->journal; i++) {
        const struct tier_op *op = done[i];

        if (op->verb == TIER_WRITE && op->status == 0)
            journal_put(l->journal, &(struct inventory_record){.name = op->name,
                                                               .generation = op->id.generation,
                                                               .bytes = op->size,
                                                               .epoch = l->o.epoch});
    }
    l->inside -= (unsigned)n;
    return n;
}

static int64_t listed_next_ns(struct tier *tier)
{
    const struct listed *l = (const struct listed *)tier;

    return l->under->ops->next_ns(l->under);
}

/* ---- adoption ---- */

/* One that is there and not listed, from now on is. */
static int adopt_found(struct listed *l, struct tier_op *op, uint64_t *size, uint64_t *generation)
{
    int rc = l->under->ops->adopt(l->under, op, size, generation);

    if (rc < 0)
        return rc;
    l->unlisted++;
    if (l->journal)
        journal_put(l->journal, &(struct inventory_record){.name = op->name,
                                                           .generation = *generation,
                                                           .bytes = *size,
                                                           .epoch = op->epoch});
    return 0;
}

/* The store's answer about an object on the list. */
struct answer {
    int rc;
    uint64_t *size, *generation;
};

static int judge(struct listed *l, struct inventory_entry *listed, struct tier_op *op,
                 struct answer said)
{
    uint64_t *size = said.size, *generation = said.generation;
    int rc = said.rc;
    bool there = rc == 0, wanted = DATA_PADDED(listed->bytes) == DATA_PADDED(op->size);

    if (rc == -ENOENT || rc == -EISNAM) {
        if (!l->exact || !wanted) {
            l->missing += !l->exact;
            return rc;
        }
        op->place = place_of(listed->bytes, 0); /* under the name that this run would use */
        rc = -ENODATA;
    } else if (there && *generation == 0) { /* its first block is damaged: reading it says so */
        *generation = listed->generation;
    } else if (there && (*generation != listed->generation ||
                         DATA_PADDED(*size) != DATA_PADDED(listed->bytes))) {
        if (l->o.unsure && inventory_newer(l->had, listed, *generation))
            return adopt_found(l, op, size, generation);
        rc = -ESTALE;
    }
    if (rc == -ENODATA || rc == -ESTALE) {
        *size = listed->bytes;
        *generation = listed->generation;
    }
    return rc;
}

static int listed_adopt(struct tier *tier, struct tier_op *op, uint64_t *size, uint64_t *generation)
{
    struct listed *l = (struct listed *)tier;
    struct inventory_entry *left = l->had ? inventory_find(l->had, op->name) : NULL;
    int rc;

    op->epoch = left ? left->epoch : 0;
    if (!left && (!l->had || l->under->ops->names)) /* the table names all that are there */
        return -ENOENT;
    if (!left || !left->listed)
        rc = adopt_found(l, op, size, generation);
    else if (l->complete && !left->there)
        rc = judge(l, left, op, (struct answer){-ENOENT, size, generation});
    else {
        rc = l->under->ops->adopt(l->under, op, size, generation);
        rc = judge(l, left, op, (struct answer){rc, size, generation});
    }
    if (left && (rc == 0 || rc == -ENODATA || rc == -ESTALE) &&
        DATA_PADDED(*size) == DATA_PADDED(op->size))
        left->taken = 1;
    return rc;
}

void tier_listed_settle(struct tier *tier)
{
    struct listed *l = (struct listed *)tier;

    if (l->had)
        inventory_settle(l->had);
}

void tier_listed_look(const struct tier *tier, struct tier_listed_facts *f)
{
    const struct listed *l = (const struct listed *)tier;

    *f = (struct tier_listed_facts){.state = l->had ? inventory_state(l->had) : INVENTORY_NONE,
                                    .adopts = l->had != NULL,
                                    .listed = l->had ? inventory_objects(l->had) : 0,
                                    .unlisted = l->unlisted,
                                    .missing = l->missing,
                                    .failed = l->journal ? journal_failed(l->journal) : 0};
}

/* ---- the rest ---- */

static void listed_describe(const struct tier *tier, struct tier_info *info)
{
    const struct listed *l = (const struct listed *)tier;
    int failed = l->journal ? journal_failed(l->journal) : 0;

    l->under->ops->describe(l->under, info);
    if (failed < 0)
        notes_add(&info->fallbacks, "the list of kept objects could not be written (%s)",
                  err_errno_name(-failed) ? err_errno_name(-failed) : "refused");
}

static bool listed_torn(const struct tier *tier)
{
    const struct listed *l = (const struct listed *)tier;

    return tier_torn(l->under) || (l->journal && journal_failed(l->journal) < 0);
}

static bool listed_lost(const struct tier *tier)
{
    const struct listed *l = (const struct listed *)tier;

    return tier_lost(l->under);
}

void tier_listed_keep(struct tier *tier, bool keep)
{
    ((struct listed *)tier)->keep = keep;
}

static int listed_close(struct tier *tier, struct err *e)
{
    struct listed *l = (struct listed *)tier;
    int rc = journal_close(l->journal, l->keep && !listed_lost(tier), e);
    int closed = l->under->ops->close(l->under, rc ? NULL : e);

    inventory_free(l->had);
    free(l->held);
    free(l);
    return rc ? rc : closed;
}

static const struct tier_ops listed_ops = {
    .submit = listed_submit,
    .kick = listed_kick,
    .poll = listed_poll,
    .next_ns = listed_next_ns,
    .adopt = listed_adopt,
    .describe = listed_describe,
    .torn = listed_torn,
    .lost = listed_lost,
    .close = listed_close,
};

static int note_found(void *ctx, struct hash128 name, uint32_t epoch)
{
    return inventory_found(ctx, name, epoch);
}

/* The list, and where it does not name all that may be there, the store itself. Under a tier that
 * cannot name its objects each is looked for. */
static int read_left(struct listed *l, struct err *e)
{
    const struct inventory_run *run;
    void *place;
    size_t pos = 0;
    int rc = inventory_read(&l->had, l->o.store, e);

    if (rc < 0)
        return rc;
    l->holds = inventory_holds(l->had, l->o.unsure, l->o.epoch);
    l->exact =
        !l->o.unsure || inventory_exact(l->had, l->o.store->local, journal_boot(), l->o.epoch);
    if (!l->holds)
        inventory_distrust(l->had);
    if (!l->under->ops->names)
        return 0;
    if (!l->holds || l->o.unsure || inventory_state(l->had) == INVENTORY_PARTIAL) {
        rc = l->under->ops->names(l->under, note_found, l->had, e);
        l->complete = rc == 0;
    }
    /* The epochs of what may be replaced during the run are known before it. */
    for (unsigned i = inventory_runs(l->had, &run); rc == 0 && i > 0; i--)
        (void)l->under->ops->place(l->under, run[i - 1].epoch, 0, &place);
    for (const struct inventory_entry *left;
         rc == 0 && (left = inventory_next(l->had, &pos)) != NULL;)
        (void)l->under->ops->place(l->under, left->epoch, 0, &place);
    return rc;
}

int tier_listed_open(struct tier **out, const struct tier_listed_opts *o, struct err *e)
{
    struct listed *l = calloc(1, sizeof(*l));
    int rc;

    if (!l) {
        o->under->ops->close(o->under, NULL);
        return err_nomem(e, "list of objects");
    }
    *l = (struct listed){.tier.ops = &listed_ops, .under = o->under, .o = *o, .keep = o->adopts};
    l->held = calloc(o->max_ops, sizeof(*l->held));
    rc = l->held ? 0 : err_nomem(e, "list of objects");
    if (rc == 0 && o->adopts)
        rc = read_left(l, e);
    if (rc == 0 && o->writes) {
        const struct journal_opts j = {.store = o->store,
                                       .lease = o->lease,
                                       .had = o->rank ? NULL : l->had,
                                       .trusted = l->holds,
                                       .exact = l->exact,
                                       .rank = o->rank,
                                       .epoch = o->epoch,
                                       .first_generation = o->first_generation,
                                       .flush_ns = o->flush_ns};
        rc = journal_open(&l->journal, &j, e);
    }
    if (rc < 0)
        listed_close(&l->tier, NULL);
    else
        *out = &l->tier;
    return rc;
}
