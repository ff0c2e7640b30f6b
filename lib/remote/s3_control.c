/* Beside the data path of s3.c: marker, listing, removal and adoption, by the answers that s3_ask.c
 * gets. Names are asked for, compared and removed by one string, the prefix. */
#include "lib/remote/s3_control.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/remote/s3_rights.h"
#include "lib/remote/s3_xml.h"

#if KVTRACE_S3

#define OBJECT_MAX (UINT64_C(64) << 40) /* bytes; more than any store takes */
enum {
    HEADER_CAP = 160,
    CLEAR_ROUNDS = 3,
    LISTING_CAP = 3 * S3_TOKEN_CAP + 1000
};

struct s3_control {
    const struct uri *u;
    struct s3_ask *ask;
    char where[300];
    int64_t timeout_ns;
    pthread_mutex_t lock;
    struct s3_answer a;
    bool parts, tried; /* tried: rights and endpoints */
    atomic_bool versions;
    atomic_int phase; /* enum s3_phase */
    atomic_bool deaf; /* a second signal came before the last phase: it is no word on it */
    struct remote_control table;
    struct inventory_store list;
    uint32_t listed; /* a holds this segment of the list, plus 1 */
};

void s3_object_name(char name[S3_NAME_CAP], struct hash128 object, uint32_t epoch)
{
    char stem[STEM_CAP];

    stem_format(stem, object, epoch);
    snprintf(name, S3_NAME_CAP, "%s.kv", stem);
}

/* ---- questions ---- */

static enum s3_patience patience(const struct s3_control *c)
{
    return atomic_load(&c->deaf)                  ? S3_WHATEVER_SIGNAL
           : atomic_load(&c->phase) == S3_OPENING ? S3_UNTIL_FIRST_SIGNAL
                                                  : S3_UNTIL_SECOND_SIGNAL;
}

void s3_control_phase(struct s3_control *c, enum s3_phase phase)
{
    if (phase == S3_CLOSING)
        atomic_store(&c->deaf, stop_abandons());
    atomic_store(&c->phase, (int)phase);
}

/* Fills c->a. The caller holds the lock. */
static int ask(struct s3_control *c, const struct s3_question *q, struct err *e)
{
    struct s3_question with = *q;

    with.patience = patience(c);
    c->listed = 0;
    return s3_ask(c->ask, &with, &c->a, e);
}

static bool fine(const struct s3_control *c)
{
    return s3_fine(c->a.http);
}

/* ---- the marker ---- */

/* Through the endpoint of that number; 0: any. */
static int get_marker(struct s3_control *c, unsigned door, char text[OWNER_BYTES], struct err *e)
{
    char path[S3_PATH_CAP], code[TIER_CODE_CAP];

    s3_path(c->u, OWNER_MARKER, path);
    int rc = ask(c, &(struct s3_question){.verb = "GET", .path = path, .door = door}, e);
    if (rc < 0)
        return rc;
    if (c->a.http == 404 && s3_refusal(404, c->a.body, c->a.len, code) == -ENOENT)
        return -ENOENT;
    if (!fine(c))
        return s3_refused(c->ask, &c->a,
                          "read objects (s3:GetObject), or may not list the bucket "
                          "(s3:ListBucket): without that, S3 denies reads of missing objects, too",
                          e);
    card_take(text, c->a.body, c->a.len);
    return 0;
}

static int store_get(void *ctx, char text[OWNER_BYTES], int64_t *now_s, struct err *e)
{
    struct s3_control *c = ctx;

    pthread_mutex_lock(&c->lock);
    int rc = get_marker(c, 0, text, e);
    *now_s = c->a.date_s;
    pthread_mutex_unlock(&c->lock);
    return rc;
}

static int remove_marker(struct s3_control *c)
{
    char path[S3_PATH_CAP];

    s3_path(c->u, OWNER_MARKER, path);
    return s3_ask(c->ask, &(struct s3_question){.verb = "DELETE", .path = path}, &c->a, NULL);
}

/* The marker text has been put: it is there through every endpoint that answers. Not -EEXIST or
 * -EAGAIN, which mean another run. */
static int check_doors(struct s3_control *c, const char *text, struct err *e)
{
    const char *put = c->u->endpoint[c->a.door - 1];
    char found[OWNER_BYTES];

    for (unsigned door = 1; door <= c->u->endpoints; door++) {
        bool only = c->u->endpoints == 1;
        int rc = get_marker(c, door, found, only ? e : NULL);
        if (rc == -EINTR || (rc < 0 && rc != -ENOENT && only))
            return rc;
        if (rc < 0 && rc != -ENOENT)
            continue; /* its operations will fail */
        if (rc == 0 && strcmp(found, text) == 0)
            continue;
        if (only)
            return err_set(e, -EPROTO, ERR_TARGET, c->where,
                           "refused: the marker was written, but cannot be read back: %s is not an "
                           "object store, or a proxy answers in its place",
                           put);
        return err_set(
            e, -EXDEV, ERR_TARGET, c->where,
            "refused: %s and %s are different stores: the marker was written through the "
            "first, but cannot be read through the second",
            put, c->u->endpoint[door - 1]);
    }
    return 0;
}

/* The store has become ours with the marker text: is all there that a run needs? */
static int try_store(struct s3_control *c, const char *text, struct err *e)
{
    bool versions = false;
    struct s3_rights r = {.uri = c->u,
                          .where = c->where,
                          .ask = c->ask,
                          .answer = &c->a,
                          .patience = patience(c),
                          .parts = c->parts};

    if (c->tried)
        return 0;
    int rc = check_doors(c, text, e);
    if (rc == 0)
        rc = s3_rights_try(&r, &versions, e);
    atomic_store(&c->versions, versions);
    c->tried = rc == 0;
    return rc;
}

/* Puts the marker, twice: a server that takes the second one has no conditional PUT. */
static int put_marker(struct s3_control *c, const char *text, struct err *e)
{
    char path[S3_PATH_CAP];

    s3_path(c->u, OWNER_MARKER, path);
    const struct s3_question put = {.verb = "PUT",
                                    .path = path,
                                    .text = text,
                                    .header = c->u->unlocked ? NULL : "If-None-Match: *"};
    int rc = ask(c, &put, e);
    if (rc < 0)
        return rc;
    if (c->a.http == 412 || c->a.http == 409)
        return -EEXIST;
    if (!fine(c))
        return s3_refused(c->ask, &c->a, "write objects (s3:PutObject)", e);
    if (!c->u->unlocked)
        rc = ask(c, &put, e);
    if (rc == 0 && !c->u->unlocked && c->a.http != 412 && c->a.http != 409)
        rc = err_set(e, -ENOTSUP, ERR_TARGET, c->where,
                     "refused: the server has no conditional PUT, so a second run could use the "
                     "store at the same time (unlocked in the URI allows this)");
    if (rc == 0)
        rc = try_store(c, text, e);
    if (rc < 0 && rc != -ETIMEDOUT) /* a dead server would take its time once more */
        (void)remove_marker(c);
    return rc;
}

static int store_put(void *ctx, const char *text, struct err *e)
{
    struct s3_control *c = ctx;

    pthread_mutex_lock(&c->lock);
    int rc = put_marker(c, text, e);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

static int swap_marker(struct s3_control *c, const char *old, const char *text, struct err *e)
{
    char path[S3_PATH_CAP], now[OWNER_BYTES], match[HEADER_CAP];
    int rc = get_marker(c, 0, now, e);

    if (rc == -ENOENT || (rc == 0 && strcmp(now, old) != 0))
        return -EAGAIN;
    if (rc < 0)
        return rc;
    s3_path(c->u, OWNER_MARKER, path);
    snprintf(match, sizeof(match), "If-Match: %s", c->a.etag);
    struct s3_question q = {.verb = text ? "PUT" : "DELETE", .path = path, .text = text};
    if (text && !c->u->unlocked && c->a.etag[0])
        q.header = match;
    rc = ask(c, &q, e);
    if (rc < 0)
        return rc;
    if (c->a.http == 412 || c->a.http == 409)
        return -EAGAIN;
    if (!fine(c))
        return s3_refused(
            c->ask, &c->a,
            text ? "write objects (s3:PutObject)" : "delete objects (s3:DeleteObject)", e);
    return 0;
}

static int store_swap(void *ctx, const char *old, const char *text, struct err *e)
{
    struct s3_control *c = ctx;

    pthread_mutex_lock(&c->lock);
    int rc = swap_marker(c, old, text, e);
    if (rc == 0 && text && !c->tried) {
        rc = try_store(c, text, e);
        if (rc < 0 && rc != -ETIMEDOUT)
            (void)swap_marker(c, text, old, NULL); /* as it was */
    }
    pthread_mutex_unlock(&c->lock);
    return rc;
}

/* ---- listing ---- */

/* longer: name is but the beginning of it. */
static void note_name(struct owner_found *found, const char *name, bool longer)
{
    if (!longer && stem_names_object(name))
        owner_found_object(found, name, strlen(name));
    else if (longer || !owner_names_own(name, strlen(name)))
        owner_found_foreign(found, name);
}

/* A way through the names of the store. */
struct walk {
    struct s3_control *c;
    unsigned door;             /* as in a question */
    struct owner_found *found; /* what is there is noted; NULL: it is not */
    struct owner_clear *clear; /* our objects are removed; NULL: they are not */
    uint64_t objects, bytes;   /* of ours: seen, or removed */
    bool unsized;              /* the size of one is not said */
    char last[S3_NAME_CAP];    /* of them */
    int64_t moved_ns;          /* when the walk last came to another one */
    const char *wrong;
    struct err *e;
};

static int remove_name(struct s3_control *c, const char *name, struct owner_clear *clear,
                       struct err *e)
{
    char path[S3_PATH_CAP];

    if (!lease_valid(clear->lease))
        return -ESTALE;
    s3_path(c->u, name, path);
    pthread_mutex_lock(&c->lock);
    int rc = ask(c, &(struct s3_question){.verb = "DELETE", .path = path}, e);
    if (rc == 0 && !fine(c) && c->a.http != 404)
        rc = s3_refused(c->ask, &c->a, "delete objects (s3:DeleteObject)", e);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

/* One of the keys of a page. Ours come in the order of their names, so that a listing that begins
 * again, or repeats itself, is found out. */
static int take_key(void *ctx, const char *key, bool longer, uint64_t size)
{
    struct walk *w = ctx;
    struct s3_control *c = w->c;
    size_t below = strlen(c->u->prefix);

    if (strncmp(key, c->u->prefix, below) != 0 || (below > 0 && key[below] != '/')) {
        w->wrong = "it holds a key outside of the prefix";
        return -EBADMSG;
    }
    const char *name = key + below + (below > 0);
    if (w->found)
        note_name(w->found, name, longer);
    if (w->found && w->found->foreign)
        return -ECANCELED;
    if (!longer && w->clear && inventory_names_segment(name, strlen(name)))
        return remove_name(c, name, w->clear, w->e);
    if (longer || !stem_names_object(name))
        return 0;
    if (strcmp(name, w->last) <= 0) {
        w->wrong = "its keys are not in order, or are repeated";
        return -EBADMSG;
    }
    snprintf(w->last, sizeof(w->last), "%s", name);
    w->moved_ns = clock_now_ns();
    int rc = w->clear ? remove_name(c, name, w->clear, w->e) : 0;
    if (rc == 0 && w->clear) {
        w->clear->removed++;
        owner_clear_object(w->clear, name, strlen(name));
    }
    if (rc == 0) {
        w->objects++;
        w->bytes += size == UINT64_MAX ? 0 : size;
        w->unsized |= size == UINT64_MAX;
    }
    return rc;
}

/* Asks for the names behind token; "" is the first page. Parameters are in the order in which they
 * are signed. */
static int list_page(struct walk *w, const char *token, struct s3_answer *page)
{
    struct s3_control *c = w->c;
    char path[LISTING_CAP], prefix[sizeof(c->u->prefix) + 2];

    snprintf(prefix, sizeof(prefix), "%s%s", c->u->prefix, c->u->prefix[0] ? "/" : "");
    char *after = s3_escaped(token), *below = s3_escaped(prefix);
    int rc = after && below ? 0 : err_nomem(w->e, "listing");
    if (rc == 0) {
        snprintf(path, sizeof(path), "%s?%s%s%slist-type=2&max-keys=1000&prefix=%s",
                 c->u->style == URI_STYLE_VIRTUAL ? "/" : "", token[0] ? "continuation-token=" : "",
                 after, token[0] ? "&" : "", below);
        const struct s3_question q = {
            .verb = "GET", .path = path, .door = w->door, .patience = patience(c)};
        pthread_mutex_lock(&c->lock);
        rc = s3_ask(c->ask, &q, page, w->e);
        pthread_mutex_unlock(&c->lock);
    }
    free(after);
    free(below);
    if (rc == 0 && page->http != 200)
        rc = s3_refused(c->ask, page, "list the bucket (s3:ListBucket)", w->e);
    return rc;
}

static int walk_wrong(const struct walk *w, const char *wrong)
{
    return err_set(w->e, -EPROTO, ERR_TARGET, w->c->where,
                   "the server's listing is not understood: %s", wrong);
}

/* Walks over all names, page by page. The lock is held for each request only: the marker has to be
 * renewed meanwhile. */
static int walk(struct walk *w)
{
    struct s3_answer answer = {0};
    struct s3_page page;
    char token[S3_TOKEN_CAP] = "";
    int rc;

    w->moved_ns = clock_now_ns();
    do {
        rc = list_page(w, token, &answer);
        if (rc < 0)
            break;
        w->wrong = NULL;
        rc = s3_page_read(&page, answer.body, answer.len, take_key, w);
        if (rc == -EBADMSG)
            rc = walk_wrong(w, w->wrong ? w->wrong : page.wrong);
        else if (rc == 0 && page.more && strcmp(page.token, token) == 0)
            rc = walk_wrong(w, "the token for the next page is the same as for this page");
        else if (rc == 0 && page.more && clock_now_ns() - w->moved_ns > w->c->timeout_ns)
            rc = walk_wrong(w, "its pages had no new object for longer than --config timeout");
        memcpy(token, page.token, sizeof(token));
    } while (rc == 0 && page.more);
    s3_answer_forget(&answer);
    return rc == -ECANCELED && w->found && w->found->foreign ? 0 : rc;
}

static int store_look(void *ctx, struct owner_found *found, struct err *e)
{
    struct s3_control *c = ctx;
    struct walk w = {.c = c, .found = found, .e = e};

    return walk(&w);
}

/* ---- removal ---- */

/* Our objects that are left in the store. */
struct left {
    bool counted, sized;
    uint64_t objects, bytes;
};
static struct left left_of(const struct walk *seen, bool counted)
{
    return (struct left){.counted = counted,
                         .sized = !seen->unsized,
                         .objects = seen->objects,
                         .bytes = seen->bytes};
}

/* No endpoint that answers shows any more of ours. -ENOTEMPTY: one does. */
static int check_cleared(struct s3_control *c, struct left *left, struct err *e)
{
    for (unsigned door = 1; door <= c->u->endpoints; door++) {
        struct walk w = {.c = c, .door = door, .e = e};
        int rc = walk(&w);
        if (c->u->endpoints > 1 && (rc == -ECONNREFUSED || rc == -ETIMEDOUT))
            continue;
        if (rc < 0)
            return rc;
        if (w.objects == 0)
            continue;
        *left = left_of(&w, true);
        return err_set(
            e, -ENOTEMPTY, ERR_TARGET, c->where,
            "%s still has objects that the server reported as removed%s", c->u->endpoint[door - 1],
            c->u->endpoints > 1 ? ": it may be a different store from the other endpoints" : "");
    }
    return 0;
}

/* All of ours is counted, then removed, then looked for. What a writer that was stopped still had
 * under way may come late: it is removed, too. */
static int clear(struct s3_control *c, struct owner_clear *removed, struct left *left,
                 struct err *e)
{
    struct walk count = {.c = c, .e = e};
    int rc = walk(&count);

    *left = left_of(&count, rc == 0);
    if (rc < 0 || (count.objects == 0 && c->u->endpoints == 1))
        return rc;
    for (unsigned round = 0; round < CLEAR_ROUNDS; round++) {
        struct walk removal = {.c = c, .clear = removed, .e = e};
        rc = left->objects > 0 ? walk(&removal) : 0;
        left->objects -= removal.objects < left->objects ? removal.objects : left->objects;
        left->bytes -= removal.bytes < left->bytes ? removal.bytes : left->bytes;
        if (rc == 0)
            rc = check_cleared(c, left, e);
        if (rc != -ENOTEMPTY)
            break;
    }
    return rc;
}

static int store_clear(void *ctx, struct owner_clear *removed, struct err *e)
{
    struct s3_control *c = ctx;
    struct err why = {0};
    struct left left;
    char count[64] = "objects", size[48] = "", bytes[32];

    int rc = clear(c, removed, &left, &why);
    if (rc == 0 || rc == -ESTALE || (rc == -EINTR && atomic_load(&c->phase) == S3_OPENING))
        return rc;
    if (left.counted || left.objects > 0)
        snprintf(count, sizeof(count), "%s%llu object%s", left.counted ? "" : "at least ",
                 (unsigned long long)left.objects, units_plural(left.objects));
    if (left.sized && left.objects > 0)
        snprintf(size, sizeof(size), " (%s)",
                 units_format_bytes(bytes, sizeof(bytes), (double)left.bytes));
    /* Not -EINTR, of which nobody would hear. */
    return err_set(e, rc == -EINTR ? -EIO : rc, ERR_TARGET, c->where,
                   "%s; %s%s of kvtrace and its marker are left there",
                   rc == -EINTR ? "a second signal stopped the clean-up" : why.what, count, size);
}

const struct remote_control *s3_control_table(const struct s3_control *c)
{
    return &c->table;
}

bool s3_control_keeps_versions(const struct s3_control *c)
{
    return atomic_load(&c->versions);
}

/* ---- the list of what is kept ---- */

/* Asks about a segment of the list, q but for its path. 0, or what the server says against it. */
static int ask_segment(struct s3_control *c, uint32_t segment, struct s3_question *q, struct err *e)
{
    char name[INVENTORY_NAME_CAP], path[S3_PATH_CAP], code[TIER_CODE_CAP];

    inventory_name(name, segment);
    s3_path(c->u, name, path);
    q->path = path;
    int rc = ask(c, q, e);
    if (rc < 0 || fine(c))
        return rc;
    rc = s3_refusal(c->a.http, c->a.body, c->a.len, code);
    return rc == -ENOENT ? rc : s3_refused(c->ask, &c->a, NULL, e);
}

/* A segment is read as a whole: it is not larger than an answer may be. */
static ssize_t list_read(void *ctx, uint32_t segment, uint64_t at, void *buf, size_t cap,
                         struct err *e)
{
    struct s3_control *c = ctx;
    ssize_t n = 0;

    pthread_mutex_lock(&c->lock);
    if (at == 0 || c->listed != segment + 1)
        n = ask_segment(c, segment, &(struct s3_question){.verb = "GET"}, e);
    c->listed = n < 0 ? 0 : segment + 1;
    if (n == 0 && at < c->a.len) {
        n = (ssize_t)(c->a.len - at < cap ? c->a.len - at : cap);
        memcpy(buf, c->a.body + at, (size_t)n);
    }
    pthread_mutex_unlock(&c->lock);
    return n;
}

static int list_write(void *ctx, uint32_t segment, uint64_t at, const void *buf, size_t len,
                      struct err *e)
{
    struct s3_control *c = ctx;

    if (at > 0)
        return -EINVAL;
    pthread_mutex_lock(&c->lock);
    int rc =
        ask_segment(c, segment, &(struct s3_question){.verb = "PUT", .text = buf, .len = len}, e);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

static int list_remove(void *ctx, uint32_t segment, struct err *e)
{
    struct s3_control *c = ctx;

    pthread_mutex_lock(&c->lock);
    int rc = ask_segment(c, segment, &(struct s3_question){.verb = "DELETE"}, e);
    pthread_mutex_unlock(&c->lock);
    return rc == -ENOENT ? 0 : rc;
}

/* ---- adoption ---- */

/* A part of an object. */
struct span {
    uint64_t at;
    size_t len;
    uint64_t total; /* bytes of the object, once it was read */
};

/* As remote_control.blocks. */
static ssize_t read_range(struct s3_control *c, const struct tier_op *op, struct span *s, void *buf)
{
    char range[48], code[TIER_CODE_CAP], path[S3_PATH_CAP], name[S3_NAME_CAP];

    s3_object_name(name, op->name, op->epoch);
    s3_path(c->u, name, path);
    snprintf(range, sizeof(range), "%llu-%llu", (unsigned long long)s->at,
             (unsigned long long)(s->at + s->len - 1));
    const struct s3_question q = {
        .verb = "GET", .path = path, .range = range, .patience = S3_UNTIL_FIRST_SIGNAL};
    pthread_mutex_lock(&c->lock);
    c->listed = 0;
    ssize_t n = s3_ask(c->ask, &q, &c->a, NULL);
    if (n == 0 && c->a.http != 206)
        n = fine(c) ? -EBADMSG : s3_refusal(c->a.http, c->a.body, c->a.len, code);
    else if (n == 0 && c->a.len == s->len)
        n = (ssize_t)s->len;
    if (n > 0)
        memcpy(buf, c->a.body, s->len);
    s->total = c->a.total;
    pthread_mutex_unlock(&c->lock);
    return n;
}

static ssize_t object_blocks(void *ctx, const struct tier_op *op, uint64_t at, void *buf,
                             size_t len)
{
    return read_range(ctx, op, &(struct span){.at = at, .len = len}, buf);
}

static int object_first(void *ctx, const struct tier_op *op, void *block, uint64_t *size)
{
    struct span first = {.len = DATA_BLOCK};
    ssize_t n = read_range(ctx, op, &first, block);

    *size = first.total;
    return n < 0 ? (int)n : n == 0 || *size > OBJECT_MAX ? -EBADMSG : 0;
}

/* ---- opening ---- */

int s3_control_open(struct s3_control **out, struct s3_ask *ask, const struct s3_control_opts *o,
                    struct err *e)
{
    struct s3_control *c = calloc(1, sizeof(*c));

    if (!c)
        return err_nomem(e, "S3");
    c->u = o->uri;
    c->ask = ask;
    c->timeout_ns = o->timeout_ns;
    c->parts = o->parts;
    snprintf(c->where, sizeof(c->where), "s3://%s/%s", c->u->bucket, c->u->prefix);
    c->table = (struct remote_control){.store = {.ctx = c,
                                                 .where = c->where,
                                                 .list = &c->list,
                                                 .get = store_get,
                                                 .put = store_put,
                                                 .swap = store_swap,
                                                 .look = store_look,
                                                 .clear = store_clear},
                                       .first = object_first,
                                       .blocks = object_blocks};
    c->list = (struct inventory_store){.ctx = c,
                                       .segment_bytes = S3_ANSWER_MAX / 2,
                                       .read = list_read,
                                       .write = list_write,
                                       .remove = list_remove};
    pthread_mutex_init(&c->lock, NULL);
    *out = c;
    return 0;
}

void s3_control_close(struct s3_control *c)
{
    if (!c)
        return;
    s3_answer_forget(&c->a);
    pthread_mutex_destroy(&c->lock);
    free(c);
}
#endif
