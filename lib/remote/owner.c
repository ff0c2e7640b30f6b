/* The rules that guard a remote store, in one place for all engines: remote.c takes and renews, the
 * engine (resp_control.c) puts and asks. As target_dir.c for directories. */
#include "lib/remote/owner.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/units.h"

#define TRIES 20 /* other runs that come and go while this one asks */

/* ---- the marker ---- */

void owner_format(const struct owner_card *c, char text[OWNER_BYTES])
{
    snprintf(text, OWNER_BYTES,
             "kvtrace %s\nprogram %s\npid %ld\nhost %s\nboot %s\nstart %" PRId64 "\nseed %" PRIu64
             "\nkeeps %d\nunsure %d\nrenewed %" PRId64 "\n",
             c->kept ? "kept" : "runs", c->program, c->pid, c->host, c->boot, c->start_s,
             c->data_seed, c->keeps, c->unsure, c->renewed_s);
}

int owner_parse(const char *text, struct owner_card *c)
{
    char state[8];
    int keeps, unsure, end = 0;

    *c = (struct owner_card){0};
    if (sscanf(text,
               "kvtrace %7[a-z]\nprogram %31[a-z]\npid %18ld\nhost %64[^\n]\nboot %36[0-9a-f-]\n"
               "start %18" SCNd64 "\nseed %18" SCNu64 "\nkeeps %1d\nunsure %1d\nrenewed %18" SCNd64
               "%n",
               state, c->program, &c->pid, c->host, c->boot, &c->start_s, &c->data_seed, &keeps,
               &unsure, &c->renewed_s, &end) != 10 ||
        strcmp(text + end, "\n") != 0)
        return -EINVAL;
    c->kept = strcmp(state, "kept") == 0;
    c->keeps = keeps == 1;
    c->unsure = unsure == 1;
    return c->kept || strcmp(state, "runs") == 0 ? 0 : -EINVAL;
}

bool owner_alive(const struct owner_card *found, const struct owner_card *me, int64_t now_s)
{
    if (strcmp(found->host, me->host) == 0 && strcmp(found->boot, me->boot) == 0)
        return found->pid > 0 && (kill((pid_t)found->pid, 0) == 0 || errno != ESRCH);
    return now_s - found->renewed_s < OWNER_STALE_S;
}

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

void owner_found_object(struct owner_found *found, const char *stem, size_t len)
{
    struct hash128 object;
    uint32_t epoch;

    found->objects++;
    if (found->visit && found->failed == 0 && stem_take(stem, len, &object, &epoch))
        found->failed = found->visit(found->ctx, object, epoch);
}

/* Who is here. */
static void card_here(struct owner_card *c, const struct owner_opts *o)
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

    *c = (struct owner_card){.keeps = o->keeps,
                             .pid = (long)getpid(),
                             .start_s = clock_wall_ns() / UNITS_NS_PER_S,
                             .data_seed = o->data_seed};
    snprintf(c->program, sizeof(c->program), "%s", o->program);
    if (gethostname(c->host, sizeof(c->host) - 1) < 0 || !c->host[0])
        snprintf(c->host, sizeof(c->host), "unknown");
    if (!f || fscanf(f, "%36[0-9a-f-]", c->boot) != 1)
        snprintf(c->boot, sizeof(c->boot), "0");
    if (f)
        fclose(f);
}

/* ---- taking ---- */

static int refuse_alive(const struct owner_store *s, const struct owner_card *found, struct err *e)
{
    char start[32];

    return err_set(e, -EBUSY, ERR_TARGET, s->where,
                   "in use by %s (process %ld on host %s, since %s)", found->program, found->pid,
                   found->host, clock_format_utc(start, found->start_s * UNITS_NS_PER_S));
}

static int refuse_foreign(const struct owner_store *s, const struct owner_found *found,
                          struct err *e)
{
    if (found->foreign)
        return err_set(e, -EEXIST, ERR_TARGET, s->where,
                       "refused: it holds what kvtrace did not write (%s): give it an empty one",
                       found->name);
    return err_set(e, -EEXIST, ERR_TARGET, s->where,
                   "refused: it holds %" PRIu64 " object%s of kvtrace and no marker that says "
                   "whose: give it an empty one",
                   found->objects, units_plural(found->objects));
}

/* An empty store becomes ours. -EAGAIN: somebody else was faster. */
static int take_empty(struct owner *w, int64_t now_s, struct err *e)
{
    struct owner_found found = {0};
    int rc = w->store->look(w->store->ctx, &found, e);

    if (rc < 0)
        return rc;
    if (found.foreign || found.objects > 0)
        return refuse_foreign(w->store, &found, e);
    w->me.renewed_s = now_s;
    owner_format(&w->me, w->text);
    rc = w->store->put(w->store->ctx, w->text, e);
    return rc == -EEXIST ? -EAGAIN : rc;
}

/* A store with the marker text becomes ours. -EAGAIN: somebody else was faster. */
static int take_left(struct owner *w, const char *text, int64_t now_s, const struct owner_opts *o,
                     struct err *e)
{
    const struct owner_store *s = w->store;
    struct owner_found found = {0};
    struct owner_card card;

    if (owner_parse(text, &card) < 0)
        return err_set(e, -EEXIST, ERR_TARGET, s->where,
                       "refused: its " OWNER_MARKER " was not written by kvtrace");
    if (!card.kept && owner_alive(&card, &w->me, now_s))
        return refuse_alive(s, &card, e);
    int rc = s->look(s->ctx, &found, e);
    if (rc < 0)
        return rc;
    if (found.foreign)
        return refuse_foreign(s, &found, e);
    bool stays = card.kept || card.keeps;
    if (stays && found.objects > 0 && !o->keeps && !o->destroys)
        return err_set(e, -EEXIST, ERR_TARGET, s->where,
                       "holds %" PRIu64 " object%s that an earlier run kept: --keep uses them and "
                       "leaves them, --destroy-data removes them",
                       found.objects, units_plural(found.objects));
    w->kept = stays && !o->destroys && found.objects > 0;
    w->unsure = w->kept && (!card.kept || card.unsure);
    w->me.unsure = w->unsure;
    w->me.renewed_s = now_s;
    owner_format(&w->me, w->text);
    rc = s->swap(s->ctx, text, w->text, e);
    if (rc == 0 && !w->kept)
        rc = s->clear(s->ctx, e);
    return rc;
}

int owner_take(struct owner *w, const struct owner_store *store, const struct owner_opts *o,
               struct err *e)
{
    char text[OWNER_BYTES];
    int64_t now_s = 0;
    int rc = -EAGAIN;

    *w = (struct owner){.store = store};
    card_here(&w->me, o);
    for (unsigned i = 0; i < TRIES && rc == -EAGAIN; i++) {
        rc = store->get(store->ctx, text, &now_s, e);
        if (rc == -ENOENT)
            rc = take_empty(w, now_s, e);
        else if (rc == 0)
            rc = take_left(w, text, now_s, o, e);
    }
    w->held = rc == 0;
    if (rc == -EAGAIN)
        return err_set(e, -EBUSY, ERR_TARGET, store->where, "other runs take it at the same time");
    return rc;
}

/* ---- holding and leaving ---- */

int owner_join(struct owner *w, const struct owner_store *store, uint64_t data_seed, struct err *e)
{
    char text[OWNER_BYTES];
    struct owner_card card = {0};
    int64_t now_s;

    *w = (struct owner){.store = store};
    int rc = store->get(store->ctx, text, &now_s, e);
    if (rc == -ENOENT ||
        (rc == 0 && (owner_parse(text, &card) < 0 || card.kept || card.data_seed != data_seed)))
        return err_set(e, -ENOENT, ERR_TARGET, store->where,
                       "is not the store that rank 0 has taken: its marker is not there");
    return rc;
}

int owner_renew(struct owner *w)
{
    char text[OWNER_BYTES], next[OWNER_BYTES];
    int64_t now_s;

    if (!w->held || w->lost)
        return -EAGAIN;
    int rc = w->store->get(w->store->ctx, text, &now_s, NULL);
    if (rc == 0 && strcmp(text, w->text) == 0) {
        w->me.renewed_s = now_s;
        owner_format(&w->me, next);
        rc = w->store->swap(w->store->ctx, w->text, next, NULL);
        if (rc == 0)
            memcpy(w->text, next, sizeof(next));
    } else if (rc == 0 || rc == -ENOENT) {
        rc = -EAGAIN;
    }
    w->lost = rc == -EAGAIN;
    return rc;
}

int owner_leave(struct owner *w, bool keep, struct err *e)
{
    const struct owner_store *s = w->store;
    char text[OWNER_BYTES];
    int64_t now_s = 0;

    if (!w->held)
        return 0;
    w->held = false;
    int rc = s->get(s->ctx, text, &now_s, e);
    if (rc < 0 && rc != -ENOENT)
        return rc;
    if (w->lost || rc == -ENOENT || strcmp(text, w->text) != 0)
        return err_set(e, -ESTALE, ERR_TARGET, s->where,
                       "another process took it over or removed the marker during the run: "
                       "nothing is removed there");
    if (keep) {
        w->me.kept = true;
        w->me.renewed_s = now_s;
        owner_format(&w->me, text);
        return s->swap(s->ctx, w->text, text, e);
    }
    rc = s->clear(s->ctx, e);
    return rc < 0 ? rc : s->swap(s->ctx, w->text, NULL, e);
}
