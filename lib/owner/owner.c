/* The rules that guard a store, in one place for all of them: who may take it, how it is held, how
 * it is left. Where the marker lies and how it is exchanged is the store's (lib/io/target_dir.c,
 * lib/remote/resp_control.c, s3_control.c); until when it holds is lease.c's. */
#include "lib/owner/owner.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"

/* Other runs come and go while this one asks: it tries for so long, with uneven pauses. */
#define TRIES_NS INT64_C(1000000000)
#define TRY_NS   INT64_C(2000000)
#define WATCH_NS INT64_C(100000000) /* between two looks at a marker that is watched */

bool owner_names_object(const char *name, size_t len)
{
    struct hash128 object;
    uint32_t epoch;
    size_t stem, whole;

    if (len < OWNER_PREFIX_LEN || memcmp(name, OWNER_PREFIX, OWNER_PREFIX_LEN) != 0)
        return false;
    stem = stem_take(name + OWNER_PREFIX_LEN, len - OWNER_PREFIX_LEN, &object, &epoch);
    whole = OWNER_PREFIX_LEN + stem;
    if (stem == 0)
        return false;
    if (len == whole)
        return true;
    for (size_t i = whole + 1; i < len; i++) {
        if (name[i] < '0' || name[i] > '9')
            return false;
    }
    return name[whole] == '.' && len > whole + 1 && len < whole + 12;
}

bool owner_names_own(const char *name, size_t len)
{
    return (len == sizeof(OWNER_MARKER) - 1 && memcmp(name, OWNER_MARKER, len) == 0) ||
           inventory_names_segment(name, len);
}

void owner_found_foreign(struct owner_found *found, const char *name)
{
    if (!found->foreign)
        snprintf(found->name, sizeof(found->name), "%.60s", name);
    found->foreign = true;
}

void owner_found_object(struct owner_found *found, const char *stem, size_t len)
{
    struct hash128 object;
    uint32_t epoch;

    found->objects++;
    if (found->visit && found->failed == 0 && stem_take(stem, len, &object, &epoch))
        found->failed = found->visit(found->ctx, object, epoch);
}

static bool is_known(const struct owner_epochs *known, uint32_t epoch)
{
    for (unsigned i = 0; i < known->count; i++) {
        if (known->epoch[i] == epoch)
            return true;
    }
    return false;
}

static int note_epoch(void *ctx, struct hash128 object, uint32_t epoch)
{
    struct owner_epochs *known = ctx;

    (void)object;
    if (is_known(known, epoch))
        return 0;
    if (known->count < OWNER_EPOCHS_MAX)
        known->epoch[known->count++] = epoch;
    else
        known->more = true;
    return 0;
}

void owner_clear_object(struct owner_clear *c, const char *stem, size_t len)
{
    struct hash128 object;
    uint32_t epoch;

    if (c->known && !c->known->more && stem_take(stem, len, &object, &epoch) && epoch != c->epoch &&
        !is_known(c->known, epoch))
        c->late++;
}

/* ---- words ---- */

/* "kvreplay (process 12 on host a, since 2026-11-20T21:54:00Z)", into who. Returns who. */
static const char *owner_who(const struct card *c, char who[OWNER_WHO])
{
    char start[32];

    if (!c->program[0])
        snprintf(who, OWNER_WHO, "a process that has just started");
    else if (!c->host[0]) /* of an earlier version */
        snprintf(who, OWNER_WHO, "%s (process %" PRId64 ")", c->program, c->pid);
    else
        snprintf(who, OWNER_WHO, "%s (process %" PRId64 " on host %s, since %s)", c->program,
                 c->pid, c->host, clock_format_utc(start, c->start_s * UNITS_NS_PER_S));
    return who;
}

/* "3 objects (1.50 GiB)" */
static const char *how_much(uint64_t objects, uint64_t bytes, char text[64])
{
    char size[32];
    int n = snprintf(text, 64, "%" PRIu64 " object%s", objects, units_plural(objects));

    if (bytes)
        snprintf(text + n, 64 - (size_t)n, " (%s)",
                 units_format_bytes(size, sizeof(size), (double)bytes));
    return text;
}

/* ---- is the run of a marker alive? ---- */

/* free_s: seconds until the store is free if nobody renews the marker; 0: not before its process
 * has ended. */
static int refuse_alive(const struct owner *w, const struct card *found, int64_t free_s,
                        struct err *e)
{
    char who[OWNER_WHO];

    owner_who(found, who);
    if (free_s == 0)
        return err_set(e, -EBUSY, ERR_TARGET, w->store->where,
                       "in use by %s: wait until that process has ended", who);
    return err_set(e, -EBUSY, ERR_TARGET, w->store->where,
                   "in use by %s: it becomes free in %" PRId64
                   " s unless that run renews its marker",
                   who, free_s);
}

/* Looks at the marker, whose text is that, for a whole lease by our own clock. 0: nobody renewed
 * it. -EAGAIN: it is gone. */
static int watch(const struct owner *w, const char *text, const struct card *found,
                 const struct owner_opts *o, struct err *e)
{
    const struct owner_store *s = w->store;
    int64_t until_ns = clock_boot_ns() + found->lease_s * UNITS_NS_PER_S, looked_ns, now_s;
    char now[OWNER_BYTES], who[OWNER_WHO];

    if (o->waits)
        o->waits(s->where, owner_who(found, who), found->lease_s);
    do {
        clock_sleep_until(clock_now_ns() + WATCH_NS, 0);
        if (stop_signal())
            return err_set(e, -EINTR, ERR_TARGET, s->where,
                           "interrupted while watching whether another run renews its marker");
        looked_ns = clock_boot_ns();
        int rc = s->get(s->ctx, now, &now_s, e);
        if (rc < 0)
            return rc == -ENOENT ? -EAGAIN : rc;
        struct card card;
        if (strcmp(now, text) != 0 && card_parse(now, strlen(now), &card) == 0 && card.kept)
            return -EAGAIN; /* it has left */
        if (strcmp(now, text) != 0)
            return refuse_alive(w, found, found->lease_s, e);
    } while (looked_ns < until_ns);
    return 0;
}

/* 0: the run of the marker is dead. */
static int judge(const struct owner *w, const char *text, int64_t now_s, const struct card *found,
                 const struct owner_opts *o, struct err *e)
{
    const struct owner_store *s = w->store;
    enum card_life life = s->life ? s->life(s->ctx, found, &w->me) : CARD_UNKNOWN;

    if (life == CARD_UNKNOWN)
        life = card_life(found, &w->me);
    if (life != CARD_UNKNOWN)
        return life == CARD_LIVES ? refuse_alive(w, found, 0, e) : 0;
    if (now_s == 0 && found->epoch && card_same_clock(found, &w->me))
        now_s = clock_boot_ns() / UNITS_NS_PER_S;
    int64_t age_s = now_s - found->renewed_s; /* each of them was rounded down */
    if (now_s == 0 || !found->program[0] || age_s < -(int64_t)found->lease_s)
        return watch(w, text, found, o, e);
    return age_s > found->lease_s ? 0 : refuse_alive(w, found, found->lease_s - age_s + 1, e);
}

/* ---- taking ---- */

static int refuse_foreign(const struct owner_store *s, const struct owner_found *found,
                          struct err *e)
{
    char text[64];

    if (found->foreign)
        return err_set(e, -EEXIST, ERR_TARGET, s->where,
                       "refused: it holds data that kvtrace did not write (%s): name an empty "
                       "directory, database or prefix",
                       found->name);
    return err_set(e, -EEXIST, ERR_TARGET, s->where,
                   "refused: it holds %s of kvtrace, but no marker of the run that wrote them: "
                   "--destroy-data removes only these",
                   how_much(found->objects, found->bytes, text));
}

static int refuse_kept(const struct owner_store *s, const struct card *card,
                       const struct owner_found *found, bool adopts, struct err *e)
{
    char text[64];

    return err_set(e, -EEXIST, ERR_TARGET, s->where,
                   "holds %s that an earlier run of %s kept: %s--destroy-data removes them",
                   how_much(found->objects, found->bytes, text), card->program,
                   adopts ? "--keep uses them and leaves them, " : "");
}

static void stamp(struct owner *w, int64_t now_s)
{
    w->me.renewed_s = now_s ? now_s : clock_boot_ns() / UNITS_NS_PER_S;
}

/* A store without a marker becomes ours. -EAGAIN: somebody else was faster, or objects of a run
 * that is just leaving were seen. *clears: what lies there is to be removed. */
static int take_empty(struct owner *w, int64_t now_s, const struct owner_opts *o, bool last,
                      bool *clears, struct err *e)
{
    struct owner_found found = {.visit = note_epoch, .ctx = &w->known};
    int rc = w->store->look(w->store->ctx, &found, e);

    if (rc < 0)
        return rc;
    *clears = found.objects > 0;
    if (!found.foreign && *clears && !o->destroys && !last)
        return -EAGAIN;
    if (found.foreign || (*clears && !o->destroys))
        return refuse_foreign(w->store, &found, e);
    w->me.created = o->created;
    stamp(w, now_s);
    card_format(&w->me, w->text);
    rc = w->store->put(w->store->ctx, w->text, e);
    return rc == -EEXIST ? -EAGAIN : rc;
}

/* A text that says nothing is somebody else's, or of a later version, which renews it if it is
 * alive. */
static int read_marker(const struct owner *w, const char *text, const struct owner_opts *o,
                       struct card *card, struct err *e)
{
    if (card_parse(text, strlen(text), card) == 0)
        return 0;
    *card = (struct card){.lease_s = lease_seconds()};
    if (!text[0] || o->destroys)
        return 0;
    return err_set(e, -EACCES, ERR_TARGET, w->store->where,
                   "refused: its " OWNER_MARKER " was not written by kvtrace: --destroy-data "
                   "replaces it and removes only objects of kvtrace");
}

static bool same_part(const struct card *card, const struct owner_opts *o)
{
    return card->part_from == o->part_from && card->part_to == o->part_to;
}

/* A store with the marker text becomes ours. -EAGAIN: somebody else was faster. */
static int take_left(struct owner *w, const char *text, int64_t now_s, const struct owner_opts *o,
                     bool *clears, struct err *e)
{
    const struct owner_store *s = w->store;
    struct owner_found found = {.visit = note_epoch, .ctx = &w->known};
    struct card card;
    int rc = read_marker(w, text, o, &card, e);

    if (rc == 0 && !card.kept)
        rc = judge(w, text, now_s, &card, o, e);
    if (rc == 0)
        rc = s->look(s->ctx, &found, e);
    if (rc < 0)
        return rc;
    if (found.foreign)
        return refuse_foreign(s, &found, e);
    bool stays = (card.kept || card.keeps) && found.objects > 0;
    if (stays && !o->destroys && !(o->keeps && o->adopts))
        return refuse_kept(s, &card, &found, o->adopts, e);
    if (stays && !o->destroys && !same_part(&card, o))
        return err_set(e, -EEXIST, ERR_TARGET, s->where,
                       "holds objects of a store that was divided into other parts: --destroy-data "
                       "removes them");
    /* In another part nobody would look for them. */
    w->kept = stays && (!o->destroys || o->reuses) && same_part(&card, o);
    w->unsure = w->kept && (!card.kept || card.unsure);
    *clears = !w->kept;
    w->me.unsure = w->unsure;
    w->me.created = o->created || card.created;
    stamp(w, now_s);
    card_format(&w->me, w->text);
    return s->swap(s->ctx, text, w->text, e);
}

/* ---- holding ---- */

/* Another text stands in the store, or none. */
static int note_taker(struct owner *w, const char *text)
{
    struct card card;

    if (card_parse(text, strlen(text), &card) == 0)
        owner_who(&card, w->taker);
    return -ESTALE;
}

/* A renewal whose answer did not come may stand there. */
static bool is_ours(struct owner *w, const char *text)
{
    if (w->sent[0] && strcmp(text, w->sent) == 0)
        memcpy(w->text, w->sent, sizeof(w->text));
    return strcmp(text, w->text) == 0;
}

static int renew(void *ctx, int64_t *from_ns)
{
    struct owner *w = ctx;
    char text[OWNER_BYTES];
    int64_t now_s;
    int rc = w->store->get(w->store->ctx, text, &now_s, NULL);

    (void)from_ns;
    if (rc == -ENOENT)
        return -ESTALE;
    if (rc < 0)
        return rc == -EAGAIN ? -EIO : rc;
    if (!is_ours(w, text))
        return note_taker(w, text);
    stamp(w, now_s);
    w->me.unsure |= atomic_load(&w->doubts);
    card_format(&w->me, w->sent);
    rc = w->store->swap(w->store->ctx, w->text, w->sent, NULL);
    if (rc == 0)
        memcpy(w->text, w->sent, sizeof(w->text));
    return rc;
}

/* The renewal of a process that joined. When the marker was renewed is not known, but not before
 * the last look that found another text. */
static int renew_joined(void *ctx, int64_t *from_ns)
{
    struct owner *w = ctx;
    struct card card;
    char text[OWNER_BYTES];
    int64_t now_s, before_ns = w->looked_ns;
    int rc = w->store->get(w->store->ctx, text, &now_s, NULL);

    if (rc == -ENOENT)
        return -ESTALE;
    if (rc < 0)
        return rc == -EAGAIN ? -EIO : rc;
    if (card_parse(text, strlen(text), &card) < 0 || !card_same(&card, &w->me) || card.kept)
        return note_taker(w, text);
    w->looked_ns = *from_ns;
    if (strcmp(text, w->text) == 0)
        return -EINPROGRESS;
    memcpy(w->text, text, sizeof(w->text));
    *from_ns = before_ns;
    return 0;
}

static int hold(struct owner *w, int64_t from_ns, struct err *e)
{
    const struct lease_opts o = {.lease_s = w->me.lease_s,
                                 .from_ns = from_ns,
                                 .renew = w->joined ? renew_joined : renew,
                                 .ctx = w};

    return lease_open(&w->lease, &o, e);
}

/* Removes our objects, and says how much is left if that fails. */
static int clear(struct owner *w, bool at_the_end, struct err *e)
{
    const struct owner_store *s = w->store;
    struct owner_clear c = {
        .lease = w->lease, .at_the_end = at_the_end, .epoch = w->me.epoch, .known = &w->known};
    char text[64];
    int rc;

    do /* it may only have had no time to renew the marker */
        rc = s->clear(s->ctx, &c, e);
    while (rc == -ESTALE && lease_valid(w->lease));
    if (c.late && w->late)
        w->late(s->where, c.late);
    size_t len = rc < 0 && e ? strlen(e->what) : 0;
    if (len > 0 && c.left)
        snprintf(e->what + len, sizeof(e->what) - len, "; %s left there",
                 how_much(c.left, c.left_bytes, text));
    return rc;
}

int owner_take(struct owner *w, const struct owner_store *store, const struct owner_opts *o,
               struct err *e)
{
    char text[OWNER_BYTES];
    int64_t now_s = 0, from_ns = 0;
    bool clears = false;
    int rc = -EAGAIN;

    *w = (struct owner){.store = store};
    card_here(&w->me, o->program);
    w->me.lease_s = lease_seconds();
    w->me.keeps = o->keeps;
    w->me.data_seed = o->data_seed;
    w->me.part_from = o->part_from;
    w->me.part_to = o->part_to;
    int64_t until_ns = clock_now_ns() + TRIES_NS;
    bool last = false;
    for (unsigned i = 0; !last && rc == -EAGAIN; i++) {
        int64_t pause_ns = TRY_NS + (int64_t)(hash_mix(w->me.epoch + i) % (3 * (uint64_t)TRY_NS));
        if (i > 0)
            clock_sleep_until(clock_now_ns() + pause_ns, 0);
        last = clock_now_ns() > until_ns;
        from_ns = clock_boot_ns();
        text[0] = '\0';
        rc = store->get(store->ctx, text, &now_s, e);
        if (rc == -ENOENT)
            rc = take_empty(w, now_s, o, last, &clears, e);
        else if (rc == 0)
            rc = take_left(w, text, now_s, o, &clears, e);
    }
    if (rc == -EAGAIN)
        return err_set(e, -EBUSY, ERR_TARGET, store->where,
                       "other runs are taking it at the same time: try again");
    if (rc < 0)
        return rc;
    w->held = true;
    rc = hold(w, from_ns, e);
    if (rc < 0) /* nothing was changed: the marker is again what it was */
        (void)store->swap(store->ctx, w->text, text[0] ? text : NULL, NULL);
    if (rc == 0 && clears) {
        rc = clear(w, false, e);
        w->known = (struct owner_epochs){0}; /* what comes of them now is late */
    }
    w->late = o->late;
    if (rc < 0) /* else the marker stays, and tells the next run */
        owner_abandon(w);
    return rc;
}

int owner_join(struct owner *w, const struct owner_store *store, uint64_t data_seed, struct err *e)
{
    int64_t now_s;

    *w = (struct owner){.store = store, .joined = true, .looked_ns = clock_boot_ns()};
    int rc = store->get(store->ctx, w->text, &now_s, e);
    if (rc == -ENOENT || (rc == 0 && (card_parse(w->text, strlen(w->text), &w->me) < 0 ||
                                      w->me.kept || w->me.data_seed != data_seed || !w->me.epoch)))
        return err_set(e, -ENOENT, ERR_TARGET, store->where,
                       "is not the store of rank 0: the marker of rank 0 is not there");
    if (rc < 0)
        return rc;
    /* Rank 0 is there: it renewed a sixth of the lease ago at most, and some time. */
    rc = hold(w, w->looked_ns - (int64_t)w->me.lease_s * UNITS_NS_PER_S / 2, e);
    w->held = rc == 0;
    return rc;
}

/* ---- leaving ---- */

void owner_doubt(struct owner *w)
{
    atomic_store(&w->doubts, true);
}

void owner_abandon(struct owner *w)
{
    lease_close(w->lease);
    w->lease = NULL;
    w->held = false;
}

/* Objects of one epoch. */
struct count {
    uint32_t epoch;
    uint64_t objects;
};

static int count_epoch(void *ctx, struct hash128 object, uint32_t epoch)
{
    struct count *c = ctx;

    (void)object;
    c->objects += epoch == c->epoch;
    return 0;
}

/* The store is not this run's any more, or nobody could tell for a whole lease that it is. */
static int refuse_lost(struct owner *w, struct err *e)
{
    const struct owner_store *s = w->store;
    struct count own = {.epoch = w->me.epoch};
    struct owner_found found = {.visit = count_epoch, .ctx = &own};
    char text[OWNER_BYTES], left[64] = "nothing";
    int64_t now_s;
    int rc = s->get(s->ctx, text, &now_s, NULL);

    if (rc == 0 && !is_ours(w, text))
        note_taker(w, text);
    bool looked = !w->joined && s->look(s->ctx, &found, NULL) == 0;
    if (w->taker[0]) {
        if (looked && own.objects > 0)
            how_much(own.objects, 0, left);
        return err_set(e, -ESTALE, ERR_TARGET, s->where,
                       "lost during the run: taken over by %s; after that, nothing was written or "
                       "removed there; left by this run: %s",
                       w->taker, looked ? left : "perhaps objects");
    }
    if (!looked)
        snprintf(left, sizeof(left), "its objects");
    else if (found.objects > 0)
        how_much(found.objects, found.bytes, left);
    if (rc == -ENOENT)
        return err_set(e, -ESTALE, ERR_TARGET, s->where,
                       "lost during the run: its marker " OWNER_MARKER
                       " was removed; after that, nothing was written or removed there; "
                       "left: %s (--destroy-data removes them)",
                       left);
    return err_set(e, -ESTALE, ERR_TARGET, s->where,
                   "lost during the run: its marker " OWNER_MARKER
                   " could not be renewed for %u s; after that, nothing was written or removed "
                   "there; left: %s (the next run removes or uses them)",
                   w->me.lease_s, left);
}

int owner_leave(struct owner *w, bool keep, struct err *e)
{
    const struct owner_store *s = w->store;
    bool removes = w->held && !w->joined && !keep, valid = lease_confirm(w->lease);
    char text[OWNER_BYTES];
    int rc = 0;

    if (!w->held)
        return 0;
    if (valid && removes)
        rc = clear(w, true, e);
    valid = lease_valid(w->lease) && rc != -ESTALE;
    owner_abandon(w);
    if (!valid)
        return refuse_lost(w, e);
    if (rc < 0 || w->joined)
        return rc;
    w->me.kept = keep;
    w->me.unsure |= atomic_load(&w->doubts);
    card_format(&w->me, text);
    rc = s->swap(s->ctx, w->text, keep ? text : NULL, e);
    return rc == -EAGAIN ? refuse_lost(w, e) : rc;
}
