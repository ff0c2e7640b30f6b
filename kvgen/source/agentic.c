/* Reads recorded agentic sessions: a session becomes steps that wait for answers and for each other
 * (steps.c plays them), and think times are those of the record. documents.c finds the sessions in
 * files and archives. Memory is that of the sessions under way. */
#include "kvgen/source/agentic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/meaning/block_size.h"
#include "kvgen/meaning/pick.h"
#include "kvgen/source/documents.h"
#include "kvgen/source/steps.h"
#include "lib/base/memory.h"
#include "lib/json/jsonin.h"

#define MAX_SECONDS 1e9

/* From when the times of sub-agents count. */
enum nested {
    NESTED_UNKNOWN,
    NESTED_OWN,    /* the sub-agent's start */
    NESTED_SESSION /* the start of the session, as those of the others */
};

struct agentic {
    struct file_source files; /* first */
    struct stamps stamps;
    uint64_t nested[NESTED_SESSION + 1]; /* sessions by the times of their sub-agents */
    int64_t block_tokens;                /* of the first session */
    uint64_t fits[BLOCK_FIT_BOTH + 1];   /* requests by how their ids fit their tokens */
    bool sizes_differ;                   /* sessions have blocks of different sizes */
    struct source_agentic_opts o;
    struct documents *documents;
    struct steps_player player; /* a session for each user */
    uint32_t *idle;             /* users without a session; the last one begins the next */
    uint32_t idle_count;
    uint32_t *open; /* of the session being read: last requests of sub-agents for which no
                       request waits yet */
    size_t opens, opens_cap;
    uint64_t sessions, cycle_sessions, issued;
    int64_t instant_ns;        /* when the last session began */
    uint64_t instant_sessions; /* that began then */
};

/* ---- reading a session ---- */

struct reader {
    struct agentic *a; /* which counts what sessions hold, and what they look like */
    struct steps *s;
    uint32_t block_tokens;
    const char *where; /* name of the document */
    struct err *err;
    uint64_t request; /* number of the one being read, from 1 */
    enum nested nested;
    double origin_s; /* time of the first request, if times count from 1970 */
};

static int bad_request(const struct reader *r, const char *name, const char *what)
{
    return err_set(r->err, -EINVAL, ERR_INPUT, r->where, "request %llu: %s%s%s",
                   (unsigned long long)r->request, name, name[0] != '\0' ? " " : "", what);
}

static const struct pick token_fields[] = {
    {"in", NULL, PICK_TOKENS, true, offsetof(struct step, context)},
    {"out", NULL, PICK_TOKENS, true, offsetof(struct step, generated)}};

static int bad_time(const struct reader *r, const char *name)
{
    char what[64];
    snprintf(what, sizeof(what), "is not a number of %s", stamps_wanted(&r->a->stamps));
    return bad_request(r, name, what);
}

/* A duration, in seconds unless --time-unit says another unit. *s stays as it is if the field is
 * missing. */
static int read_seconds(const struct reader *r, const struct jsonin_v *v, const char *name,
                        double *s)
{
    const struct jsonin_v *field = jsonin_get(v, name);
    double t, unit_s = r->a->stamps.given != STAMPS_AUTO ? stamps_unit_s(&r->a->stamps) : 1;
    if (!field)
        return 0;
    if (jsonin_f64(field, &t) < 0 || !(t * unit_s >= -MAX_SECONDS && t * unit_s <= MAX_SECONDS))
        return bad_time(r, name);
    *s = t * unit_s;
    return 0;
}

/* The time of a request or sub-agent, from the start of its session; *s stays as it is if it has
 * none. */
static int read_time(struct reader *r, const struct jsonin_v *v, double *s)
{
    struct stamps *stamps = &r->a->stamps;
    const struct jsonin_v *field = jsonin_get(v, "t");
    bool first = !stamps->in_file;
    double t;
    int64_t ns;
    if (!field)
        return 0;
    if (stamps_value(stamps, field, &ns) < 0)
        return bad_time(r, "t");
    t = jsonin_f64(field, &t) == 0 ? t * stamps_unit_s(stamps) : (double)ns / 1e9;
    if (first)
        r->origin_s = stamps->since_1970 ? t : 0;
    t -= r->origin_s;
    if (!(t >= -MAX_SECONDS && t <= MAX_SECONDS))
        return bad_time(r, "t");
    *s = t;
    return 0;
}

static int read_ids(const struct reader *r, const struct jsonin_v *ids, struct step *step)
{
    struct steps *s = r->s;
    size_t count = jsonin_count(ids);
    if (!ids)
        return bad_request(r, "no", "hash_ids");
    if (!jsonin_is_array(ids))
        return bad_request(r, "hash_ids", "is not a list");
    int rc = steps_room(s, count, r->err);
    if (rc < 0)
        return rc;
    step->first_id = s->ids;
    step->ids = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        if (jsonin_u64(jsonin_at(ids, i), &s->id[s->ids++]) < 0)
            return bad_request(r, "hash_ids", "holds something that is not a number from 0 on");
    return 0;
}

/* *end_s is the end of the request before, and becomes that of this one. The first time within a
 * sub-agent tells from when it counts: begun_s is the sub-agent's own time, 0 in the main thread.
 */
static int read_request(struct reader *r, const struct jsonin_v *v, double begun_s, double *end_s,
                        struct step *step)
{
    double t = *end_s, took = 0, think;
    int64_t most_ns = r->a->files.o.speedup != 0 ? r->a->files.o.max_gap_ns : 0;
    struct pick_bad wrong;
    *step = (struct step){.block_tokens = r->block_tokens};
    r->request++;
    if (pick(token_fields, 2, v, step, &wrong) < 0)
        return bad_request(r, wrong.name, wrong.what);
    if (read_time(r, v, &t) < 0 || read_seconds(r, v, "api_time", &took) < 0)
        return -EINVAL;
    if (r->nested == NESTED_UNKNOWN && begun_s > 0 && jsonin_get(v, "t"))
        r->nested = t >= begun_s ? NESTED_SESSION : NESTED_OWN;
    if (r->nested == NESTED_SESSION && *end_s < begun_s)
        *end_s = begun_s;
    think = t - *end_s;
    if (read_seconds(r, v, "think_time", &think) < 0)
        return -EINVAL;
    *end_s = t + took;
    step->wait_ns = think > 0 ? (int64_t)(think * 1e9 + 0.5) : 0;
    step->cut = most_ns > 0 && step->wait_ns > most_ns;
    step->wait_ns = step->cut ? most_ns : step->wait_ns;
    int rc = read_ids(r, jsonin_get(v, "hash_ids"), step);
    if (rc == 0)
        r->a->fits[block_size_fit(step->block_tokens, step->context, step->ids)]++;
    return rc;
}

/* Adds a request. It comes a think time after *before, and waits for the open requests from first
 * on. Sets *before to the new request. */
static int add_request(struct reader *r, struct step *step, size_t first, uint32_t *before)
{
    struct step_edge edge = {.to = (uint32_t)r->s->count};
    bool follows = *before != STEPS_NONE;
    if (follows) {
        edge.delay_ns = step->wait_ns;
        step->wait_ns = 0;
    }
    int rc = steps_add(r->s, step, r->err);
    if (rc == 0 && follows)
        rc = steps_join(r->s, *before, &edge, r->err);
    edge.delay_ns = 0;
    while (rc == 0 && r->a->opens > first)
        rc = steps_join(r->s, r->a->open[--r->a->opens], &edge, r->err);
    *before = edge.to;
    return rc;
}

/* Reads the requests of the main thread or of a sub-agent. Each begins when the one before was
 * answered; the last ones stay open. A sub-agent is read where it begins, and the request behind it
 * waits for its end. Recursion is as deep as the JSON, whose depth is bounded. */
static int read_thread(struct reader *r, const struct jsonin_v *list, uint32_t before,
                       double begun_s)
{
    struct agentic *a = r->a;
    size_t first = a->opens;
    uint32_t last = before;
    double end_s = 0;
    int rc = 0;
    if (list && !jsonin_is_array(list))
        return bad_request(r, "requests", "is not a list");
    for (size_t i = 0, n = jsonin_count(list); rc == 0 && i < n; i++) {
        const struct jsonin_v *v = jsonin_at(list, i);
        const char *type = jsonin_text(jsonin_get(v, "type"), NULL);
        double agent_s = 0;
        struct step step;
        if (type && strcmp(type, "subagent") == 0) {
            rc = read_time(r, v, &agent_s) < 0
                     ? -EINVAL
                     : read_thread(r, jsonin_get(v, "requests"), last, agent_s);
        } else {
            rc = read_request(r, v, begun_s, &end_s, &step);
            rc = rc < 0 ? rc : add_request(r, &step, first, &last);
        }
    }
    if (rc < 0 || last == before || a->opens > first)
        return rc;
    if (memory_room(&a->open, &a->opens_cap, a->opens, sizeof(*a->open), 16) < 0)
        return err_nomem(r->err, "session");
    a->open[a->opens++] = last;
    return 0;
}

/* Whether --config sample keeps the session, by its id, if it has one. */
static bool keeps_session(struct agentic *a, const struct jsonin_v *root)
{
    size_t len;
    const char *id = jsonin_text(jsonin_get(root, "id"), &len);
    return file_source_keeps(&a->files, id, id ? len : 0);
}

/* Reads how many tokens a block of the session has. 0, or -EINVAL: it cannot be read. */
static int read_head(struct reader *r, const struct jsonin_v *root)
{
    const struct jsonin_v *size = jsonin_get(root, "block_size");
    const char *scope = jsonin_text(jsonin_get(root, "hash_id_scope"), NULL);
    int64_t given = r->a->files.o.block_tokens, tokens = given;
    if (!jsonin_get(root, "requests"))
        return err_set(r->err, -EINVAL, ERR_INPUT, r->where, "not an agentic session: no requests");
    const char *what = size || given == 0 ? pick_value(PICK_BLOCK_TOKENS, size, &tokens) : NULL;
    if (what)
        return err_set(r->err, -EINVAL, ERR_INPUT, r->where, "block_size %s", what);
    if (given > 0 && tokens != given)
        return err_set(r->err, -EINVAL, ERR_INPUT, r->where,
                       "block_size is %lld, --block-size %lld", (long long)tokens,
                       (long long)given);
    if (scope && strcmp(scope, "local") != 0)
        return err_set(
            r->err, -EINVAL, ERR_INPUT, r->where,
            "hash_id_scope is \"%.20s\"; blocks are known by their session alone (local)", scope);
    r->block_tokens = (uint32_t)tokens;
    return 0;
}

/* The next session that is kept becomes *s: 1; 0 when there is none; negative errno. */
static int read_session(struct agentic *a, struct steps *s, struct err *e)
{
    struct jsonin_limit limit = file_source_limit(&a->files);
    struct jsonin *d;
    bool kept = false;
    int rc = 1;
    s->ids = s->edges = s->count = 0;
    while (rc > 0 && !kept) {
        struct reader r = {.a = a, .s = s, .err = e};
        rc = documents_next(a->documents, &limit, &d, &r.where, e);
        if (rc <= 0)
            return rc;
        const struct jsonin_v *root = jsonin_root(d);
        stamps_file(&a->stamps);
        rc = read_head(&r, root);
        kept = rc == 0 && keeps_session(a, root);
        if (kept) {
            a->sizes_differ |= a->block_tokens > 0 && r.block_tokens != a->block_tokens;
            a->block_tokens = a->block_tokens > 0 ? a->block_tokens : r.block_tokens;
            a->opens = 0;
            rc = read_thread(&r, jsonin_get(root, "requests"), STEPS_NONE, 0);
            a->nested[r.nested]++;
        }
        jsonin_free(d);
        rc = rc < 0 ? rc : 1;
    }
    return rc;
}

/* ---- sessions ---- */

/* An inputs_again: 1 if the files are to be read once more. Cycles without end that take no time
 * show by more sessions at one time than users and a cycle can explain. */
static int read_again(void *ctx, const char *path, struct err *e)
{
    struct agentic *a = ctx;
    a->files.cycles++;
    if (a->files.cycles == a->o.files.cycles || a->cycle_sessions == 0)
        return 0;
    if (a->o.files.cycles == 0 && a->instant_sessions > a->o.users + a->cycle_sessions)
        return err_set(e, -EINVAL, ERR_INPUT, path,
                       "its sessions take no time: --replay-cycles 0 would never end");
    a->cycle_sessions = 0;
    return 1;
}

/* Idle users begin sessions, as long as there are any. 0 or negative errno. */
static int begin_sessions(struct agentic *a, struct err *e)
{
    while (a->idle_count > 0 && !a->files.ended) {
        uint32_t user = a->idle[a->idle_count - 1];
        struct steps *s = &a->player.of[user];
        int64_t now_ns = s->end_ns; /* of the session before */
        int rc = read_session(a, s, e);
        a->files.ended = rc == 0;
        if (rc <= 0)
            return rc;
        if (a->sessions + 1 == IDENT_MAX_USERS)
            return err_set(e, -ERANGE, ERR_INPUT, inputs_path(a->files.in),
                           "more than 2^28 sessions");
        a->instant_sessions = now_ns == a->instant_ns ? a->instant_sessions + 1 : 1;
        a->instant_ns = now_ns;
        a->cycle_sessions++;
        s->scope = (uint32_t)++a->sessions;
        if (steps_begin(&a->player, user, now_ns) < 0)
            return err_nomem(e, "session");
        a->idle_count -= s->left > 0;
    }
    return 0;
}

/* ---- the table's functions ---- */

static int agentic_peek(struct source *base, int64_t *arrival_ns, struct err *e)
{
    struct agentic *a = (struct agentic *)base;
    int rc = begin_sessions(a, e);
    return rc < 0 ? rc : steps_peek(&a->player, arrival_ns, e);
}

static void agentic_take(struct source *base, struct request *out)
{
    struct agentic *a = (struct agentic *)base;
    uint32_t user = steps_take(&a->player, out);
    out->user = user;
    out->number = ++a->issued;
    out->qos = (uint8_t)a->o.qos;
}

static void agentic_done(struct source *base, const struct request *r, int64_t now_ns)
{
    struct agentic *a = (struct agentic *)base;
    if (!steps_done(&a->player, r->user, r->slot, now_ns))
        return;
    steps_forget(&a->player.of[r->user]);
    a->idle[a->idle_count++] = r->user;
}

static void agentic_conversations(const struct source *base, uint64_t *count, uint64_t *turns)
{
    const struct agentic *a = (const struct agentic *)base;
    *count = a->sessions;
    *turns = a->issued;
}

static void agentic_reading(const struct source *base, struct source_reading *r)
{
    const struct agentic *a = (const struct agentic *)base;
    uint64_t all = a->fits[BLOCK_FIT_ALL], full = a->fits[BLOCK_FIT_FULL];
    r->format = "agentic sessions";
    file_source_note_cuts(&a->files, "sessions", &r->remarks);
    stamps_reading(&a->stamps, r);
    r->blocks_by = "file";
    r->block_tokens = a->block_tokens;
    r->full_blocks = full > all;
    r->tokens_by = "given";
    if (a->nested[NESTED_SESSION] > 0)
        notes_add(&r->remarks,
                  "times of sub-agents count from the start of the session in %llu session%s, from "
                  "the sub-agent's own in %llu",
                  (unsigned long long)a->nested[NESTED_SESSION],
                  a->nested[NESTED_SESSION] == 1 ? "" : "s",
                  (unsigned long long)a->nested[NESTED_OWN]);
    if (full > 0 && all > 0)
        notes_add(
            &r->remarks,
            "requests with ids of full blocks only: %llu, with one of the partial block, too: "
            "%llu",
            (unsigned long long)full, (unsigned long long)all);
    if (a->sizes_differ)
        notes_add(&r->remarks, "the sessions have blocks of different sizes");
    if (a->fits[BLOCK_FIT_NONE] > 0)
        notes_add(&r->remarks, "requests whose ids do not fit their tokens: %llu",
                  (unsigned long long)a->fits[BLOCK_FIT_NONE]);
}

static void agentic_close(struct source *base)
{
    struct agentic *a = (struct agentic *)base;
    steps_player_free(&a->player);
    free(a->idle);
    free(a->open);
    documents_free(a->documents);
    file_source_release(&a->files);
}

static const struct source_ops agentic_ops = {
    .name = "agentic",
    .blocks = true,
    .peek = agentic_peek,
    .take = agentic_take,
    .done = agentic_done,
    .user_name = file_source_dataset_user,
    .conversations = agentic_conversations,
    .reading = agentic_reading,
    .close = agentic_close,
};

int source_agentic_open(struct source **out, struct inputs *in, const struct source_agentic_opts *o,
                        struct err *e)
{
    uint32_t n = o->users;
    struct agentic *a = file_source_create(sizeof(*a), &agentic_ops, in, &o->files, read_again, e);
    if (!a)
        return -ENOMEM;
    a->o = *o;
    a->stamps = (struct stamps){.given = o->files.unit, .usual = STAMPS_S};
    a->documents = documents_create(in);
    a->player = (struct steps_player){
        .files = &a->files, .of = calloc(n, sizeof(*a->player.of)), .count = n};
    a->idle = calloc(n, sizeof(*a->idle));
    int rc = a->documents && a->player.of && a->idle ? 0 : err_nomem(e, "source");
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        a->player.of[i] = (struct steps){.files = &a->files, .what = "sessions"};
        a->idle[a->idle_count++] = n - 1 - i;
    }
    if (rc == 0)
        rc = begin_sessions(a, e);
    if (rc == 0 && a->sessions == 0)
        rc = file_source_none(&a->files, "session", e);
    return file_source_opened(&a->files, rc, out);
}
