/* agentic.c - recorded sessions asked anew: each user has one under way, a session's threads
 * wait for answers and for one another, and think times are those of the record. Memory is that of
 * the sessions under way. */
#include "kvgen/source/agentic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/heap.h"
#include "kvgen/source/documents.h"
#include "kvgen/source/session.h"
#include "lib/base/units.h"

/* Where a thread of a session is. */
struct progress_of {
    uint32_t at;      /* its next entry */
    uint32_t waiting; /* sub-agents that it waits for */
    bool beginning;   /* sub-agents are being begun: none of them may resume it */
    int64_t free_ns;  /* when its last request was answered, or it began */
};

struct user {
    struct session session;
    struct progress_of *thread; /* as many as the session has room for */
    size_t threads_cap;
    uint32_t number; /* of the session, from 1 */
    int64_t free_ns; /* when the last one ended */
};

struct agentic {
    struct source base;
    struct source_agentic_opts o;
    struct inputs *in;
    struct documents *documents;
    struct user *user;
    uint32_t *idle; /* users without a session, the next on top */
    uint32_t idle_count;
    struct heap next; /* threads by when they ask: item is the user, tie user and thread */
    size_t threads;   /* of all sessions under way */
    bool ended;       /* no more sessions */
    uint64_t cycles, sessions, cycle_sessions, issued;
    int64_t instant_ns; /* of the last session's beginning, and how many began then */
    uint64_t instant_sessions;
};

static struct agentic *agentic_of(struct source *s)
{
    return (struct agentic *)s;
}

/* ---- threads of a session ---- */

static int64_t think_ns(const struct agentic *a, int64_t recorded_ns)
{
    if (a->o.pace.speedup == 0)
        return 0;
    double ns = (double)recorded_ns / a->o.pace.speedup;
    return ns > (double)(PACE_MAX_NS / 2) ? PACE_MAX_NS / 2 : (int64_t)(ns + 0.5);
}

static void proceed(struct agentic *a, uint32_t user, uint32_t thread, int64_t now_ns);

/* The session ends with its main thread, which waits for all others. */
static void end_thread(struct agentic *a, uint32_t user, uint32_t thread, int64_t now_ns)
{
    struct user *u = &a->user[user];
    if (thread == 0) {
        a->threads -= u->session.threads;
        u->free_ns = now_ns;
        a->idle[a->idle_count++] = user;
        return;
    }
    uint32_t parent = u->session.thread[thread].parent;
    struct progress_of *p = &u->thread[parent];
    p->waiting--;
    if (p->waiting == 0 && !p->beginning)
        proceed(a, user, parent, now_ns);
}

static void ask_later(struct agentic *a, uint32_t user, uint32_t thread, int64_t now_ns)
{
    const struct user *u = &a->user[user];
    const struct progress_of *p = &u->thread[thread];
    int64_t due_ns = p->free_ns + think_ns(a, u->session.entry[p->at].think_ns);
    heap_push(&a->next, (struct heap_event){.time_ns = due_ns > now_ns ? due_ns : now_ns,
                                            .tie = (uint64_t)user << 32 | thread,
                                            .item = user});
}

/* The thread's next entries: sub-agents begin at once, then all of them are waited for, then comes
 * the request. Recursion is as deep as sub-agents are nested. */
static void proceed(struct agentic *a, uint32_t user, uint32_t thread, int64_t now_ns)
{
    struct user *u = &a->user[user];
    struct progress_of *p = &u->thread[thread];
    const struct session_thread *t = &u->session.thread[thread];
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
    if (p->at == t->end)
        end_thread(a, user, thread, now_ns);
    else
        ask_later(a, user, thread, now_ns);
}

/* ---- sessions ---- */

/* Room for the threads of the session that was just read. */
static int make_threads(struct agentic *a, struct user *u)
{
    size_t n = u->session.threads;
    if (n > u->threads_cap) {
        struct progress_of *grown = realloc(u->thread, n * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        u->thread = grown;
        u->threads_cap = n;
    }
    for (size_t i = 0; i < n; i++)
        u->thread[i] = (struct progress_of){.at = u->session.thread[i].first};
    a->threads += n;
    return heap_reserve(&a->next, a->threads);
}

/* All files were read: 1 when they are to be read again, 0 at the end. */
static int again(struct agentic *a, struct err *e)
{
    a->cycles++;
    if (a->cycles == a->o.pace.cycles || a->cycle_sessions == 0)
        return 0;
    if (a->o.pace.cycles == 0 && a->instant_sessions > a->o.users + a->cycle_sessions)
        return err_set(e, -EINVAL, ERR_INPUT, inputs_path(a->in),
                       "its sessions take no time: --replay-cycles 0 would never end");
    a->cycle_sessions = 0;
    inputs_rewind(a->in);
    return 1;
}

/* Reads the next session: 1; 0 when there is none; negative errno. */
static int read_session(struct agentic *a, struct session *s, struct err *e)
{
    const char *text, *name;
    size_t len;
    int rc = documents_next(a->documents, &text, &len, &name, e);
    if (rc == 0) {
        rc = again(a, e);
        if (rc > 0)
            rc = documents_next(a->documents, &text, &len, &name, e);
    }
    if (rc <= 0)
        return rc;
    rc = session_read(s, text, len, name, e);
    return rc < 0 ? rc : 1;
}

static void count_session(struct agentic *a, int64_t now_ns)
{
    a->instant_sessions = now_ns == a->instant_ns ? a->instant_sessions + 1 : 1;
    a->instant_ns = now_ns;
    a->sessions++;
    a->cycle_sessions++;
}

/* Idle users begin sessions, as long as there are any. 0 or negative errno. */
static int begin_sessions(struct agentic *a, struct err *e)
{
    while (a->idle_count > 0 && !a->ended) {
        uint32_t user = a->idle[a->idle_count - 1];
        struct user *u = &a->user[user];
        int rc = read_session(a, &u->session, e);
        a->ended = rc == 0;
        if (rc <= 0)
            return rc;
        if (a->sessions + 1 == IDENT_MAX_USERS)
            return err_set(e, -ERANGE, ERR_INPUT, inputs_path(a->in), "more than 2^28 sessions");
        if (make_threads(a, u) < 0)
            return err_nomem(e, "session");
        a->idle_count--;
        count_session(a, u->free_ns);
        u->number = (uint32_t)a->sessions;
        u->thread[0].free_ns = u->free_ns;
        proceed(a, user, 0, u->free_ns);
    }
    return 0;
}

/* ---- the table's functions ---- */

static int agentic_peek(struct source *base, int64_t *arrival_ns, struct err *e)
{
    struct agentic *a = agentic_of(base);
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
    struct agentic *a = agentic_of(base);
    struct heap_event event = heap_pop(&a->next);
    struct user *u = &a->user[event.item];
    uint32_t thread = (uint32_t)event.tie;
    const struct session_entry *entry = &u->session.entry[u->thread[thread].at++];
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
}

static void agentic_done(struct source *base, const struct request *r, int64_t now_ns)
{
    struct agentic *a = agentic_of(base);
    a->user[r->user].thread[r->slot].free_ns = now_ns;
    proceed(a, r->user, r->slot, now_ns);
}

static size_t agentic_user_name(const struct source *base, uint32_t user, char *buf)
{
    (void)base;
    memcpy(buf, "dataset_user_", 13);
    return 13 + units_put_u64(buf + 13, user);
}

static void agentic_conversations(const struct source *base, uint64_t *count, uint64_t *turns)
{
    const struct agentic *a = (const struct agentic *)base;
    *count = a->sessions;
    *turns = a->issued;
}

static void agentic_close(struct source *base)
{
    struct agentic *a = agentic_of(base);
    for (uint32_t i = 0; a->user && i < a->o.users; i++) {
        session_free(&a->user[i].session);
        free(a->user[i].thread);
    }
    free(a->user);
    free(a->idle);
    heap_free(&a->next);
    documents_free(a->documents);
    inputs_close(a->in);
    free(a);
}

static const struct source_ops agentic_ops = {
    .name = "agentic",
    .blocks = true,
    .peek = agentic_peek,
    .take = agentic_take,
    .done = agentic_done,
    .user_name = agentic_user_name,
    .conversations = agentic_conversations,
    .close = agentic_close,
};

static int prepare(struct agentic *a, struct err *e)
{
    uint32_t n = a->o.users;
    a->documents = documents_create(a->in);
    a->user = calloc(n, sizeof(*a->user));
    a->idle = calloc(n, sizeof(*a->idle));
    if (!a->documents || !a->user || !a->idle || heap_init(&a->next, n) < 0)
        return err_nomem(e, "source");
    for (uint32_t i = 0; i < n; i++)
        a->idle[a->idle_count++] = n - 1 - i;
    int rc = begin_sessions(a, e);
    if (rc == 0 && a->sessions == 0)
        rc = err_set(e, -EINVAL, ERR_INPUT, inputs_path(a->in), "holds no session");
    return rc;
}

int source_agentic_open(struct source **out, struct inputs *in, const struct source_agentic_opts *o,
                        struct err *e)
{
    struct agentic *a = calloc(1, sizeof(*a));
    if (!a) {
        inputs_close(in);
        return err_nomem(e, "source");
    }
    a->base.ops = &agentic_ops;
    a->o = *o;
    a->in = in;
    int rc = prepare(a, e);
    if (rc < 0) {
        agentic_close(&a->base);
        return rc;
    }
    *out = &a->base;
    return 0;
}
