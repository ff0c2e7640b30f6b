/* Replays recorded agentic sessions: a session becomes flat arrays of requests, its threads wait
 * for answers and for each other, and think times are those of the record. documents.c finds the
 * sessions in files and archives. Memory is that of the sessions under way. */
#include "kvgen/source/agentic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/meaning/block_size.h"
#include "kvgen/source/documents.h"
#include "lib/base/memory.h"
#include "lib/json/jsonin.h"
#include "lib/sort/heap.h"

#define MAX_SECONDS  1e9
#define MAX_THINK_NS (FILE_SOURCE_MAX_NS / 2)
#define SESSION_KEPT ((size_t)1 << 20)

/* From when the times of sub-agents count. */
enum nested {
    NESTED_UNKNOWN,
    NESTED_OWN,    /* the sub-agent's start */
    NESTED_SESSION /* the start of the session, as those of the others */
};

/* A request or a sub-agent. */
struct entry {
    uint32_t thread;  /* of the sub-agent; 0 (the main thread): this is a request */
    int64_t think_ns; /* from the end of the request before */
    int64_t context_tokens, generated_tokens;
    size_t first_id; /* blocks: session.id[first_id..first_id + ids) */
    uint32_t ids;
};

/* The main thread of a session, or a sub-agent: entries one after the other. */
struct thread {
    uint32_t parent;     /* of the main thread: itself */
    uint32_t first, end; /* session.entry[first..end) */
};

/* One session. The arrays are kept for the next session that is read into it. */
struct session {
    uint32_t block_tokens;
    uint64_t *id;
    size_t ids, ids_cap;
    struct entry *entry;
    size_t entries, entries_cap;
    struct thread *thread;
    size_t threads, threads_cap;
};

/* How far a thread is. */
struct progress {
    uint32_t at;      /* its next entry */
    uint32_t waiting; /* sub-agents that it waits for */
    bool beginning;   /* it is beginning sub-agents: none of them may resume it */
    int64_t free_ns;  /* when its last request was answered, or it began */
};

struct user {
    struct session session;
    struct progress *thread; /* by number of the thread */
    size_t threads_cap;
    uint32_t number; /* of the session, from 1 */
    int64_t free_ns; /* when the last session ended */
};

struct agentic {
    struct file_source files; /* first */
    struct stamps stamps;
    uint64_t nested[NESTED_SESSION + 1]; /* sessions by the times of their sub-agents */
    int64_t block_tokens;                /* of the first session */
    uint64_t full, all;                  /* requests with ids of full blocks only, and of all */
    uint64_t misfits;                    /* requests whose ids do not fit their tokens */
    bool sizes_differ;                   /* sessions have blocks of different sizes */
    struct source_agentic_opts o;
    struct documents *documents;
    struct user *user;
    uint32_t *idle; /* users without a session; the last one begins the next */
    uint32_t idle_count;
    struct heap next; /* threads by the time of their next request: item is the user, tie is the
                         user and the thread */
    size_t threads;   /* of all sessions under way */
    uint64_t sessions, cycle_sessions, issued;
    int64_t instant_ns;        /* when the last session began */
    uint64_t instant_sessions; /* that began then */
};

/* ---- reading a session ---- */

struct reader {
    struct agentic *a; /* which counts what sessions hold, and what they look like */
    struct session *s;
    const char *where; /* name of the document */
    struct err *err;
    uint64_t request; /* number of the one being read, from 1 */
    enum nested nested;
    double origin_s; /* time of the first request, if times count from 1970 */
};

/* Makes room for need elements of size bytes. */
static int reserve(const struct reader *r, void **array, size_t *cap, size_t need, size_t size)
{
    if (need <= *cap)
        return 0;
    size_t room = need > SIZE_MAX / 4 / size ? need : need + need / 2;
    int rc = file_source_hold(&r->a->files, (room - *cap) * size, "sessions", r->err);
    if (rc < 0)
        return rc;
    if (memory_resize(array, room, size) < 0)
        return err_nomem(r->err, "session");
    *cap = room;
    return 0;
}

static int bad_session(const struct reader *r, const char *what)
{
    return err_set(r->err, -EINVAL, ERR_INPUT, r->where, "%s", what);
}

static int bad_request(const struct reader *r, const char *name, const char *what)
{
    return err_set(r->err, -EINVAL, ERR_INPUT, r->where, "request %llu: %s%s%s",
                   (unsigned long long)r->request, name, name[0] != '\0' ? " " : "", what);
}

static int read_tokens(const struct reader *r, const struct jsonin_v *v, const char *name,
                       int64_t *tokens)
{
    if (jsonin_i64(jsonin_get(v, name), tokens) == 0 && *tokens >= 0 &&
        *tokens <= REQUEST_MAX_TOKENS)
        return 0;
    return bad_request(r, name, "is not a number of tokens from 0 to 2^31");
}

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

/* Holds the ids of a request against its tokens. */
static void check_count(struct reader *r, const struct entry *entry)
{
    struct block_reading of = {.tokens = r->s->block_tokens};
    bool all = block_size_fits(of, entry->context_tokens, entry->ids);
    of.full = true;
    bool full = block_size_fits(of, entry->context_tokens, entry->ids);
    r->a->all += all && !full;
    r->a->full += full && !all;
    r->a->misfits += !all && !full;
}

static int read_ids(const struct reader *r, const struct jsonin_v *ids, struct entry *entry)
{
    struct session *s = r->s;
    size_t count = jsonin_count(ids);
    if (!ids)
        return bad_request(r, "no", "hash_ids");
    if (!jsonin_is_array(ids))
        return bad_request(r, "hash_ids", "is not a list");
    if (count > UINT32_MAX)
        return bad_request(r, "", "too many hash_ids");
    int rc = reserve(r, (void **)&s->id, &s->ids_cap, s->ids + count, sizeof(*s->id));
    if (rc < 0)
        return rc;
    entry->first_id = s->ids;
    entry->ids = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        if (jsonin_u64(jsonin_at(ids, i), &s->id[s->ids++]) < 0)
            return bad_request(r, "hash_ids", "holds something that is not a number from 0 on");
    return 0;
}

/* *end_s is the end of the request before, and becomes that of this one. The first time within a
 * sub-agent tells from when it counts: begun_s is the sub-agent's own time, 0 in the main thread.
 */
static int read_request(struct reader *r, const struct jsonin_v *v, double begun_s, double *end_s,
                        struct entry *entry)
{
    double t = *end_s, took = 0, think;
    int rc;
    *entry = (struct entry){0};
    r->request++;
    if (read_tokens(r, v, "in", &entry->context_tokens) < 0 ||
        read_tokens(r, v, "out", &entry->generated_tokens) < 0 || read_time(r, v, &t) < 0 ||
        read_seconds(r, v, "api_time", &took) < 0)
        return -EINVAL;
    if (r->nested == NESTED_UNKNOWN && begun_s > 0 && jsonin_get(v, "t"))
        r->nested = t >= begun_s ? NESTED_SESSION : NESTED_OWN;
    if (r->nested == NESTED_SESSION && *end_s < begun_s)
        *end_s = begun_s;
    think = t - *end_s;
    if (read_seconds(r, v, "think_time", &think) < 0)
        return -EINVAL;
    *end_s = t + took;
    entry->think_ns = think > 0 ? (int64_t)(think * 1e9 + 0.5) : 0;
    rc = read_ids(r, jsonin_get(v, "hash_ids"), entry);
    if (rc == 0)
        check_count(r, entry);
    return rc;
}

/* Adds a thread with its entries, then the threads of its sub-agents. Recursion is as deep as the
 * JSON, whose depth is bounded. */
static int read_thread(struct reader *r, const struct jsonin_v *list, uint32_t parent,
                       double begun_s)
{
    struct session *s = r->s;
    size_t count = jsonin_count(list), first = s->entries;
    if (list && !jsonin_is_array(list))
        return bad_request(r, "requests", "is not a list");
    if (s->entries + count > UINT32_MAX / 2 || s->threads > UINT32_MAX / 2)
        return bad_request(r, "", "too many requests in one session");
    int rc = reserve(r, (void **)&s->entry, &s->entries_cap, first + count, sizeof(*s->entry));
    if (rc == 0)
        rc = reserve(r, (void **)&s->thread, &s->threads_cap, s->threads + 1, sizeof(*s->thread));
    if (rc < 0)
        return rc;
    uint32_t self = (uint32_t)s->threads++;
    s->thread[self] = (struct thread){
        .parent = parent, .first = (uint32_t)first, .end = (uint32_t)(first + count)};
    s->entries += count;
    double end_s = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        const struct jsonin_v *v = jsonin_at(list, i);
        const char *type = jsonin_text(jsonin_get(v, "type"), NULL);
        bool agent = type && strcmp(type, "subagent") == 0;
        struct entry entry = {.thread = (uint32_t)s->threads};
        double agent_s = 0;
        rc = !agent ? read_request(r, v, begun_s, &end_s, &entry)
             : read_time(r, v, &agent_s) < 0
                 ? -EINVAL
                 : read_thread(r, jsonin_get(v, "requests"), self, agent_s);
        s->entry[first + i] = entry; /* the array may have moved meanwhile */
    }
    return rc;
}

/* Whether --config sample keeps the session, by its id, if it has one. */
static bool keeps_session(struct agentic *a, const struct jsonin_v *root)
{
    size_t len;
    const char *id = jsonin_text(jsonin_get(root, "id"), &len);
    return file_source_keeps(&a->files, id, id ? len : 0);
}

/* Reads the next document into s, which has no thread if --config sample leaves it out: 1; 0 when
 * there is none; negative errno. */
static int read_document(struct agentic *a, struct session *s, struct err *e)
{
    const char *text;
    size_t len;
    struct reader r = {.a = a, .s = s, .err = e};
    struct jsonin_limit limit = file_source_limit(&a->files);
    int rc = documents_next(a->documents, &text, &len, &r.where, e);
    if (rc <= 0)
        return rc;
    struct jsonin *d;
    s->ids = s->entries = s->threads = 0;
    stamps_file(&a->stamps);
    rc = jsonin_parse_within(&d, text, len, &limit, r.where, e);
    if (rc < 0)
        return rc;
    const struct jsonin_v *root = jsonin_root(d), *requests = jsonin_get(root, "requests");
    const char *scope = jsonin_text(jsonin_get(root, "hash_id_scope"), NULL);
    int64_t tokens, given = a->files.o.block_tokens;
    const struct jsonin_v *size = jsonin_get(root, "block_size");
    if (!requests) {
        rc = bad_session(&r, "not an agentic session: no requests");
    } else if (size || given == 0
                   ? jsonin_i64(size, &tokens) < 0 || tokens < 1 || tokens > BLOCK_SIZE_MAX
                   : (tokens = given) < 1) {
        rc = bad_session(&r, "block_size is not a number of tokens from 1 to 2^20");
    } else if (given > 0 && tokens != given) {
        rc = err_set(e, -EINVAL, ERR_INPUT, r.where, "block_size is %lld, --block-size %lld",
                     (long long)tokens, (long long)given);
    } else if (scope && strcmp(scope, "local") != 0) {
        rc = err_set(e, -EINVAL, ERR_INPUT, r.where,
                     "hash_id_scope is \"%.20s\"; blocks are known by their session alone (local)",
                     scope);
    } else if (keeps_session(a, root)) {
        s->block_tokens = (uint32_t)tokens;
        a->sizes_differ |= a->block_tokens > 0 && tokens != a->block_tokens;
        a->block_tokens = a->block_tokens > 0 ? a->block_tokens : tokens;
        rc = read_thread(&r, requests, 0, 0);
        a->nested[r.nested]++;
    }
    jsonin_free(d);
    return rc < 0 ? rc : 1;
}

/* The next session that is kept: as read_document. */
static int read_session(struct agentic *a, struct session *s, struct err *e)
{
    int rc;
    do
        rc = read_document(a, s, e);
    while (rc > 0 && s->threads == 0);
    return rc;
}

/* ---- threads of a session ---- */

static void proceed(struct agentic *a, uint32_t user, uint32_t thread, int64_t now_ns);

/* A large session that has ended leaves no memory behind. */
static void forget_session(struct agentic *a, struct session *s)
{
    size_t bytes = s->ids_cap * sizeof(*s->id) + s->entries_cap * sizeof(*s->entry) +
                   s->threads_cap * sizeof(*s->thread);
    if (bytes <= SESSION_KEPT)
        return;
    a->files.held_bytes -= bytes;
    free(s->id);
    free(s->entry);
    free(s->thread);
    *s = (struct session){0};
}

static void end_thread(struct agentic *a, uint32_t user, uint32_t thread, int64_t now_ns)
{
    struct user *u = &a->user[user];
    if (thread == 0) { /* waits for all others, so the session ends with it */
        a->threads -= u->session.threads;
        forget_session(a, &u->session);
        u->free_ns = now_ns;
        a->idle[a->idle_count++] = user;
        return;
    }
    uint32_t parent = u->session.thread[thread].parent;
    struct progress *p = &u->thread[parent];
    p->waiting--;
    if (p->waiting == 0 && !p->beginning)
        proceed(a, user, parent, now_ns);
}

/* Does the thread's next entries: begins all sub-agents up to the next request, waits until they
 * have ended, then puts the request into the heap. Recursion is as deep as sub-agents are nested.
 */
static void proceed(struct agentic *a, uint32_t user, uint32_t thread, int64_t now_ns)
{
    struct user *u = &a->user[user];
    struct progress *p = &u->thread[thread];
    const struct thread *t = &u->session.thread[thread];
    p->beginning = true;
    for (; p->at < t->end && u->session.entry[p->at].thread != 0; p->at++) {
        uint32_t agent = u->session.entry[p->at].thread;
        p->waiting++;
        u->thread[agent].free_ns = now_ns;
        proceed(a, user, agent, now_ns);
    }
    p->beginning = false;
    if (p->waiting > 0)
        return;
    if (p->at == t->end) {
        end_thread(a, user, thread, now_ns);
        return;
    }

    int64_t think_ns = 0;
    if (a->o.files.speedup != 0) {
        double ns = (double)file_source_gap(&a->files, u->session.entry[p->at].think_ns) /
                    a->o.files.speedup;
        think_ns = ns > (double)MAX_THINK_NS ? MAX_THINK_NS : (int64_t)(ns + 0.5);
    }
    int64_t due_ns = p->free_ns + think_ns;
    heap_push(&a->next, (struct heap_event){.time_ns = due_ns > now_ns ? due_ns : now_ns,
                                            .tie = (uint64_t)user << 32 | thread,
                                            .item = user});
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
        struct user *u = &a->user[user];
        int rc = read_session(a, &u->session, e);
        a->files.ended = rc == 0;
        if (rc <= 0)
            return rc;
        if (a->sessions + 1 == IDENT_MAX_USERS)
            return err_set(e, -ERANGE, ERR_INPUT, inputs_path(a->files.in),
                           "more than 2^28 sessions");

        size_t threads = u->session.threads;
        if (threads > u->threads_cap) {
            size_t more = threads - u->threads_cap;
            rc = file_source_hold(&a->files, more * sizeof(*u->thread), "sessions", e);
            if (rc < 0)
                return rc;
            if (memory_resize(&u->thread, threads, sizeof(*u->thread)) < 0)
                return err_nomem(e, "session");
            u->threads_cap = threads;
        }
        for (size_t i = 0; i < threads; i++)
            u->thread[i] = (struct progress){.at = u->session.thread[i].first};
        a->threads += threads;
        if (heap_reserve(&a->next, a->threads) < 0)
            return err_nomem(e, "session");

        a->idle_count--;
        a->instant_sessions = u->free_ns == a->instant_ns ? a->instant_sessions + 1 : 1;
        a->instant_ns = u->free_ns;
        a->cycle_sessions++;
        u->number = (uint32_t)++a->sessions;
        u->thread[0].free_ns = u->free_ns;
        proceed(a, user, 0, u->free_ns);
    }
    return 0;
}

/* ---- the table's functions ---- */

static int agentic_peek(struct source *base, int64_t *arrival_ns, struct err *e)
{
    struct agentic *a = (struct agentic *)base;
    int rc = begin_sessions(a, e);
    if (rc < 0)
        return rc;
    const struct heap_event *top = heap_top(&a->next);
    if (!top)
        return 0;
    *arrival_ns = top->time_ns;
    return 1;
}

static void agentic_take(struct source *base, struct request *out)
{
    struct agentic *a = (struct agentic *)base;
    struct heap_event event = heap_pop(&a->next);
    struct user *u = &a->user[event.item];
    uint32_t thread = (uint32_t)event.tie;
    const struct entry *entry = &u->session.entry[u->thread[thread].at++];
    *out = (struct request){.number = ++a->issued,
                            .arrival_ns = event.time_ns,
                            .user = event.item,
                            .qos = (uint8_t)a->o.qos,
                            .prompt = -1,
                            .context_tokens = entry->context_tokens,
                            .generated_tokens = entry->generated_tokens,
                            .blocks = u->session.id + entry->first_id,
                            .block_count = entry->ids,
                            .block_tokens = u->session.block_tokens,
                            .block_scope = u->number,
                            .slot = thread};
    file_source_cut(&a->files, out);
}

static void agentic_done(struct source *base, const struct request *r, int64_t now_ns)
{
    struct agentic *a = (struct agentic *)base;
    a->user[r->user].thread[r->slot].free_ns = now_ns;
    proceed(a, r->user, r->slot, now_ns);
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
    r->format = "agentic sessions";
    file_source_note_cuts(&a->files, "sessions", &r->remarks);
    stamps_reading(&a->stamps, r);
    r->blocks_by = "file";
    r->block_tokens = a->block_tokens;
    r->full_blocks = a->full > a->all;
    r->tokens_by = "given";
    if (a->nested[NESTED_SESSION] > 0)
        notes_add(&r->remarks,
                  "times of sub-agents count from the start of the session in %llu session%s, from "
                  "the sub-agent's own in %llu",
                  (unsigned long long)a->nested[NESTED_SESSION],
                  a->nested[NESTED_SESSION] == 1 ? "" : "s",
                  (unsigned long long)a->nested[NESTED_OWN]);
    if (a->full > 0 && a->all > 0)
        notes_add(
            &r->remarks,
            "requests with ids of full blocks only: %llu, with one of the partial block, too: "
            "%llu",
            (unsigned long long)a->full, (unsigned long long)a->all);
    if (a->sizes_differ)
        notes_add(&r->remarks, "the sessions have blocks of different sizes");
    if (a->misfits > 0)
        notes_add(&r->remarks, "requests whose ids do not fit their tokens: %llu",
                  (unsigned long long)a->misfits);
}

static void agentic_close(struct source *base)
{
    struct agentic *a = (struct agentic *)base;
    for (uint32_t i = 0; a->user && i < a->o.users; i++) {
        free(a->user[i].session.id);
        free(a->user[i].session.entry);
        free(a->user[i].session.thread);
        free(a->user[i].thread);
    }
    free(a->user);
    free(a->idle);
    heap_free(&a->next);
    documents_free(a->documents);
    file_source_release(&a->files);
    free(a);
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
    struct agentic *a = calloc(1, sizeof(*a));
    if (!a) {
        inputs_close(in);
        return err_nomem(e, "source");
    }
    file_source_init(&a->files, &agentic_ops, in, &o->files, read_again);
    a->o = *o;
    a->stamps = (struct stamps){.given = o->files.unit, .usual = STAMPS_S};
    a->documents = documents_create(in);
    a->user = calloc(n, sizeof(*a->user));
    a->idle = calloc(n, sizeof(*a->idle));
    int rc;
    if (!a->documents || !a->user || !a->idle || heap_init(&a->next, n) < 0) {
        rc = err_nomem(e, "source");
        goto out;
    }
    for (uint32_t i = 0; i < n; i++)
        a->idle[a->idle_count++] = n - 1 - i;
    rc = begin_sessions(a, e);
    if (rc == 0 && a->sessions == 0)
        rc = file_source_none(&a->files, "session", e);
out:
    if (rc < 0)
        agentic_close(&a->files.base);
    else
        *out = &a->files.base;
    return rc;
}
