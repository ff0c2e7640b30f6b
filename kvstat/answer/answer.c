/* Reads the JSON of kvgen --answer into plain values, by a table of members. A document that lacks
 * one, or has a value that cannot be, is refused with the member's name: an answer that is read
 * wrongly is worse than none. */
#include "kvstat/answer/answer.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX  ((size_t)64 << 20) /* of a file */
#define NUMBER_MAX 1e30

enum {
    TRIED_MAX = 100000,
    PATH = 96
};

enum kind {
    TEXT,   /* NULL where null */
    MAYBE,  /* a text that need not be there */
    NUMBER, /* 0 or more; NAN where null */
    MAYBE_NUMBER,
    SHARE,  /* likewise, 0 to 1 */
    SIGNED, /* a number that may be below 0 */
    NEEDED_TEXT,
    NEEDED, /* a number that is never null */
    NEEDED_SIGNED
};

struct member {
    const char *path;
    enum kind kind;
    size_t offset;
};

#define AT(field) offsetof(struct answer, field)

static const struct member members[] = {
    {"settings.model", NEEDED_TEXT, AT(settings.model)},
    {"settings.gpu", NEEDED_TEXT, AT(settings.gpu)},
    {"settings.by", NEEDED_TEXT, AT(settings.by)},
    {"settings.tensor_parallel", NUMBER, AT(settings.tensor_parallel)},
    {"settings.engine", NEEDED_TEXT, AT(settings.engine)},
    {"settings.engine_version", TEXT, AT(settings.engine_version)},
    {"settings.population", TEXT, AT(settings.population)},
    {"settings.source", TEXT, AT(settings.source)},
    {"settings.gpu_mem_bytes", NUMBER, AT(settings.gpu_mem)},
    {"settings.cpu_mem_bytes", NUMBER, AT(settings.cpu_mem)},
    {"settings.storage_capacity_bytes", NUMBER, AT(settings.capacity)},
    {"settings.ttft_s", NEEDED, AT(settings.ttft_s)},
    {"settings.tpot_s", NEEDED, AT(settings.tpot_s)},
    {"settings.goodput", SHARE, AT(settings.goodput)},
    {"settings.seeds", NEEDED, AT(settings.seeds)},
    {"settings.unit", NEEDED_TEXT, AT(settings.unit)},
    {"settings.drive.target", TEXT, AT(settings.target)},
    {"settings.drive.device", TEXT, AT(settings.device)},
    {"settings.drive.started", TEXT, AT(settings.started)},
    {"settings.drive.file_system", MAYBE, AT(settings.file_system)},
    {"settings.drive.validity", TEXT, AT(settings.validity)},
    {"settings.drive.text", TEXT, AT(settings.text)},
    {"asked", NUMBER, AT(asked)},
    {"why", TEXT, AT(why)},
    {"at", NEEDED, AT(at)},
    {"users.this.value", NEEDED, AT(users[ANSWER_THIS].value)},
    {"users.this.low", NEEDED, AT(users[ANSWER_THIS].low)},
    {"users.this.high", NEEDED, AT(users[ANSWER_THIS].high)},
    {"users.none.value", NEEDED, AT(users[ANSWER_NONE].value)},
    {"users.none.low", NEEDED, AT(users[ANSWER_NONE].low)},
    {"users.none.high", NEEDED, AT(users[ANSWER_NONE].high)},
    {"users.ideal.value", NEEDED, AT(users[ANSWER_IDEAL].value)},
    {"users.ideal.low", NEEDED, AT(users[ANSWER_IDEAL].low)},
    {"users.ideal.high", NEEDED, AT(users[ANSWER_IDEAL].high)},
    {"gain.value", NEEDED_SIGNED, AT(gain.value)},
    {"gain.low", NEEDED_SIGNED, AT(gain.low)},
    {"gain.high", NEEDED_SIGNED, AT(gain.high)},
    {"drive.read.asked_bytes_s", NUMBER, AT(read.asked)},
    {"drive.read.can_bytes_s", NUMBER, AT(read.can)},
    {"drive.write.asked_bytes_s", NUMBER, AT(write.asked)},
    {"drive.write.can_bytes_s", NUMBER, AT(write.can)},
    {"drive.in_flight", MAYBE_NUMBER, AT(in_flight)},
    {"drive.written_bytes_day", NUMBER, AT(written_day)},
    {"drive.full_after_s", NUMBER, AT(full_after_s)},
    {"drive.filled", SHARE, AT(filled)},
    {"drive.hit_s.p50", NUMBER, AT(hit_p50)},
    {"drive.hit_s.p95", NUMBER, AT(hit_p95)},
    {"drive.computing_s", NUMBER, AT(computing_s)},
    {"drive.host_bytes_used", NUMBER, AT(host_used)},
    {"origin.gpu", SHARE, AT(origin.gpu)},
    {"origin.host", SHARE, AT(origin.host)},
    {"origin.storage", SHARE, AT(origin.storage)},
    {"origin.computed", SHARE, AT(origin.computed)},
    {"limit.kind", TEXT, AT(limit_kind)},
    {"limit.text", TEXT, AT(limit_text)},
    {"holds_while.prefill.low", NUMBER, AT(prefill_low)},
    {"holds_while.prefill.high", NUMBER, AT(prefill_high)},
    {"wear.drive_writes_day", NUMBER, AT(drive_writes_day)},
    {"wear.years", NUMBER, AT(years)},
    {"warm.after_s", NUMBER, AT(warm_after_s)},
    {"worth.prefill_tokens_day", SIGNED, AT(worth.prefill_tokens_day)},
    {"worth.gpu_s_day", SIGNED, AT(worth.gpu_s_day)},
    {"worth.money_day", SIGNED, AT(worth.money_day)},
    {"worth.currency", TEXT, AT(worth.currency)},
    {"window.seconds", NUMBER, AT(window_s)},
    {"window.pool_objects", NUMBER, AT(pool_objects)},
    {"window.pool_bytes", NUMBER, AT(pool_bytes)},
};

#define SERVED(field) offsetof(struct answer_served, field)

static const struct member served_members[] = {
    {"requests", NUMBER, SERVED(requests)},
    {"goodput", SHARE, SERVED(goodput)},
    {"first_token_s.p50", NUMBER, SERVED(first_token_p50)},
    {"first_token_s.p95", NUMBER, SERVED(first_token_p95)},
    {"token_s.p50", NUMBER, SERVED(token_p50)},
    {"token_s.p95", NUMBER, SERVED(token_p95)},
    {"requests_s", NUMBER, SERVED(requests_s)},
    {"prefill_tokens", NUMBER, SERVED(prefill_tokens)},
    {"gpu_busy_s", MAYBE_NUMBER, SERVED(gpu_busy_s)},
};

#define TRIED(field) offsetof(struct answer_tried, field)

static const struct member tried_members[] = {
    {"users", NEEDED, TRIED(users)},
    {"held", NEEDED, TRIED(held)},
    {"of", NEEDED, TRIED(of)},
    {"goodput", SHARE, TRIED(goodput)},
    {"first_token_p95_s", NUMBER, TRIED(first_token_p95)},
    {"requests_s", NUMBER, TRIED(requests_s)},
    {"limit", MAYBE, TRIED(limit)},
};

#define POINT(field) offsetof(struct answer_point, field)

static const struct member point_members[] = {
    {"size_bytes", NEEDED, POINT(size_bytes)}, {"in_flight", NEEDED, POINT(in_flight)},
    {"read_share", NEEDED, POINT(read_share)}, {"bytes_per_s", NEEDED, POINT(bytes_s)},
    {"p95_us", MAYBE_NUMBER, POINT(p95_us)},
};

/* Members of one struct. */
struct members {
    const struct member *member;
    size_t count;
};
#define ALL(table) ((struct members){(table), sizeof(table) / sizeof((table)[0])})

const char *answer_variant_member(enum answer_variant v)
{
    static const char *const names[] = {
        [ANSWER_THIS] = "this", [ANSWER_NONE] = "none", [ANSWER_IDEAL] = "ideal"};
    return names[v];
}

const char *answer_variant_words(enum answer_variant v)
{
    static const char *const words[] = {
        [ANSWER_THIS] = "this drive", [ANSWER_NONE] = "no drive", [ANSWER_IDEAL] = "ideal drive"};
    return words[v];
}

/* ---- members ---- */

struct reading {
    const char *file;
    struct err *e;
};

static int refuse(const struct reading *r, const char *prefix, const char *path, const char *why)
{
    return err_set(r->e, -EINVAL, ERR_INPUT, r->file, "%s%s %s", prefix, path, why);
}

/* The member of an object, also one that is null. False: it is not there. */
static bool find(const struct jsonin_v *object, const char *name, size_t len,
                 const struct jsonin_v **v)
{
    for (size_t i = 0;; i++) {
        const char *key = NULL;
        *v = jsonin_member(object, i, &key);
        if (!key)
            return false;
        if (strncmp(key, name, len) == 0 && key[len] == '\0')
            return true;
    }
}

/* Walks "a.b.c". *v NULL: it, or what it would be in, is null. */
static int walk(const struct reading *r, const struct jsonin_v *from, const char *prefix,
                const char *path, const struct jsonin_v **v)
{
    *v = from;
    for (const char *at = path; *v;) {
        size_t len = strcspn(at, ".");
        char so_far[PATH];
        snprintf(so_far, sizeof(so_far), "%.*s", (int)(at + len - path), path);
        if (!find(*v, at, len, v))
            return refuse(r, prefix, so_far, "is missing: is this the JSON of kvgen --answer?");
        if (!at[len])
            break;
        at += len + 1;
    }
    return 0;
}

static int read_number(const struct reading *r, const struct member *m, const char *prefix,
                       const struct jsonin_v *v, double *out)
{
    *out = NAN;
    if (!v)
        return m->kind == NEEDED || m->kind == NEEDED_SIGNED
                   ? refuse(r, prefix, m->path, "is null; it must be a number")
                   : 0;
    if (jsonin_f64(v, out) < 0)
        return refuse(r, prefix, m->path, "is no number");
    if (!(fabs(*out) <= NUMBER_MAX))
        return refuse(r, prefix, m->path, "must be finite");
    if (*out < 0 && m->kind != SIGNED && m->kind != NEEDED_SIGNED)
        return refuse(r, prefix, m->path, "must be 0 or more");
    if (m->kind == SHARE && *out > 1 + 1e-9)
        return refuse(r, prefix, m->path, "is a share: 1 at most");
    return 0;
}

static int read_text(const struct reading *r, const struct member *m, const char *prefix,
                     const struct jsonin_v *v, const char **out)
{
    *out = jsonin_text(v, NULL);
    if (!*out && (v || m->kind == NEEDED_TEXT))
        return refuse(r, prefix, m->path, "must be a text");
    return 0;
}

/* Fills the struct at `into` from an object. */
static int read_members(const struct reading *r, struct members all, const struct jsonin_v *from,
                        const char *prefix, void *into)
{
    int rc = 0;
    for (size_t i = 0; i < all.count && rc == 0; i++) {
        const struct member *m = &all.member[i];
        const struct jsonin_v *v;
        void *at = (char *)into + m->offset;
        if (m->kind == MAYBE || m->kind == MAYBE_NUMBER)
            v = jsonin_get(from, m->path);
        else
            rc = walk(r, from, prefix, m->path, &v);
        if (rc == 0 && (m->kind == TEXT || m->kind == MAYBE || m->kind == NEEDED_TEXT))
            rc = read_text(r, m, prefix, v, at);
        else if (rc == 0)
            rc = read_number(r, m, prefix, v, at);
    }
    return rc;
}

/* ---- lists ---- */

static int read_variant(const struct reading *r, const struct jsonin_v *v, const char *prefix,
                        enum answer_variant *out)
{
    const char *text = jsonin_text(jsonin_get(v, "variant"), NULL);
    for (unsigned i = 0; text && i < ANSWER_VARIANTS; i++)
        if (strcmp(text, answer_variant_member((enum answer_variant)i)) == 0) {
            *out = (enum answer_variant)i;
            return 0;
        }
    return refuse(r, prefix, "variant", "must be this, none or ideal");
}

/* Checks that it is a list, and counts its elements. list NULL: it is null. */
static int count_list(const struct reading *r, const struct jsonin_v *list, const char *name,
                      size_t *count)
{
    size_t n = jsonin_count(list);
    if (list && !jsonin_is_array(list))
        return refuse(r, "", name, "must be a list");
    if (n > TRIED_MAX)
        return refuse(r, "", name, "has too many elements");
    *count = n;
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const struct answer_tried *x = a, *y = b;
    if (x->variant != y->variant)
        return x->variant < y->variant ? -1 : 1;
    return (x->users > y->users) - (x->users < y->users);
}

static int read_tried(const struct reading *r, const struct jsonin_v *root, struct answer *a)
{
    const struct jsonin_v *list;
    int rc = walk(r, root, "", "tried", &list);
    if (rc == 0)
        rc = count_list(r, list, "tried", &a->tried_count);
    a->tried = calloc(a->tried_count + 1, sizeof(*a->tried));
    if (rc == 0 && !a->tried)
        return err_nomem(r->e, "answer");
    for (size_t i = 0; i < a->tried_count && rc == 0; i++) {
        const struct jsonin_v *v = jsonin_at(list, i);
        char prefix[PATH];
        snprintf(prefix, sizeof(prefix), "tried[%zu].", i);
        rc = read_variant(r, v, prefix, &a->tried[i].variant);
        if (rc == 0)
            rc = read_members(r, ALL(tried_members), v, prefix, &a->tried[i]);
    }
    qsort(a->tried, rc == 0 ? a->tried_count : 0, sizeof(*a->tried), by_number);
    for (size_t i = 1; i < a->tried_count && rc == 0; i++)
        if (by_number(&a->tried[i - 1], &a->tried[i]) == 0)
            rc = refuse(r, "", "tried", "has a number twice");
    return rc;
}

/* The points of a drive that was measured: not every answer has them. */
static int read_points(const struct reading *r, const struct jsonin_v *root, struct answer *a)
{
    const struct jsonin_v *list = jsonin_get(root, "settings.drive.points");
    int rc = count_list(r, list, "settings.drive.points", &a->points);
    a->point = calloc(a->points + 1, sizeof(*a->point));
    if (rc == 0 && !a->point)
        return err_nomem(r->e, "answer");
    for (size_t i = 0; i < a->points && rc == 0; i++) {
        char prefix[PATH];
        snprintf(prefix, sizeof(prefix), "settings.drive.points[%zu].", i);
        rc = read_members(r, ALL(point_members), jsonin_at(list, i), prefix, &a->point[i]);
    }
    return rc;
}

/* ---- words ---- */

static int read_verdict(const struct reading *r, const struct jsonin_v *root, struct answer *a)
{
    static const char *const words[] = {
        [VERDICT_FAIL] = "FAIL", [VERDICT_PASS] = "PASS", [VERDICT_INCONCLUSIVE] = "INCONCLUSIVE"};
    const struct jsonin_v *v;
    int rc = walk(r, root, "", "verdict", &v);
    if (rc < 0)
        return rc;
    const struct jsonin_v *confirmed;
    a->judged = v || !isnan(a->asked);
    a->concluded = find(root, "confirmed", strlen("confirmed"), &confirmed);
    a->verdict = VERDICT_INCONCLUSIVE;
    if (!v)
        return 0;
    const char *text = jsonin_text(v, NULL);
    for (size_t i = 0; text && i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(text, words[i]) == 0) {
            a->verdict = (enum verdict_outcome)i;
            return 0;
        }
    return refuse(r, "", "verdict", "must be PASS, FAIL, INCONCLUSIVE or null");
}

static int read_truth(const struct reading *r, const struct jsonin_v *root, const char *path,
                      bool *truth)
{
    const struct jsonin_v *v;
    int rc = walk(r, root, "", path, &v);
    if (rc < 0)
        return rc;
    return jsonin_bool(v, truth) < 0 ? refuse(r, "", path, "must be true or false") : 0;
}

static int check_words(const struct reading *r, const struct jsonin_v *root, struct answer *a)
{
    bool calculation = strcmp(a->settings.by, "calculation") == 0;
    bool requests = strcmp(a->settings.unit, "requests_s") == 0;
    int rc = read_truth(r, root, "drive.reached", &a->reached);
    a->by_calculation = calculation;
    a->requests = requests;
    if (rc < 0 || (rc = read_truth(r, root, "warm.settled", &a->settled)) < 0)
        return rc;
    if (!calculation && strcmp(a->settings.by, "measurement") != 0)
        return refuse(r, "", "settings.by", "must be calculation or measurement");
    if (!requests && strcmp(a->settings.unit, "users") != 0)
        return refuse(r, "", "settings.unit", "must be users or requests_s");
    return 0;
}

static int check_intervals(const struct reading *r, const struct answer *a)
{
    for (unsigned v = 0; v < ANSWER_VARIANTS; v++) {
        const struct answer_held *h = &a->users[v];
        if (h->low > h->value || h->value > h->high)
            return refuse(r, "users.", answer_variant_member((enum answer_variant)v),
                          "has a value outside of its interval");
    }
    if (a->gain.low > a->gain.value || a->gain.value > a->gain.high)
        return refuse(r, "", "gain", "has a value outside of its interval");
    return 0;
}

/* Whether the document is an answer of a version that is known. */
static int check_identity(const struct reading *r, const struct jsonin_v *root)
{
    int64_t version = 0;
    if (jsonin_i64(jsonin_get(root, "answer"), &version) < 0)
        return refuse(r, "", "answer", "is missing: is this the JSON of kvgen --answer?");
    if (version != 1)
        return err_set(r->e, -EINVAL, ERR_INPUT, r->file,
                       "is an answer of version %lld; this kvstat reads version 1",
                       (long long)version);
    return 0;
}

int answer_read(struct answer **out, const char *file, struct err *e)
{
    const struct reading r = {file, e};
    struct answer *a = calloc(1, sizeof(*a));
    if (!a)
        return err_nomem(e, "answer");
    a->file = file;
    int rc = jsonin_load(&a->document, file, BYTES_MAX, e);
    const struct jsonin_v *root = rc == 0 ? jsonin_root(a->document) : NULL;
    if (rc == 0)
        rc = check_identity(&r, root);
    if (rc == 0)
        rc = read_members(&r, ALL(members), root, "", a);
    for (unsigned v = 0; v < ANSWER_VARIANTS && rc == 0; v++) {
        const struct jsonin_v *served;
        char path[PATH], prefix[PATH + 2];
        snprintf(path, sizeof(path), "variants.%s", answer_variant_member((enum answer_variant)v));
        snprintf(prefix, sizeof(prefix), "%s.", path);
        rc = walk(&r, root, "", path, &served);
        if (rc == 0)
            rc = read_members(&r, ALL(served_members), served, prefix, &a->served[v]);
    }
    if (rc == 0)
        rc = check_words(&r, root, a);
    if (rc == 0)
        rc = check_intervals(&r, a);
    if (rc == 0)
        rc = read_verdict(&r, root, a);
    if (rc == 0)
        rc = read_tried(&r, root, a);
    if (rc == 0)
        rc = read_points(&r, root, a);
    if (rc == 0)
        *out = a;
    else
        answer_free(a);
    return rc;
}

void answer_free(struct answer *a)
{
    if (!a)
        return;
    free(a->tried);
    free(a->point);
    jsonin_free(a->document);
    free(a);
}
