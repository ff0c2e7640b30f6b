/* answer.c - runs the searches of all variants and seeds on threads. The first seed of a variant is
 * searched from a small load on; the other seeds begin at what that one found. Each search is one
 * thread's from its begin to its end, so the answer is the same with any number of threads. */
#include "kvgen/answer/answer.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/answer/search.h"
#include "lib/base/memory.h"
#include "lib/base/thread.h"
#include "lib/base/units.h"

enum {
    FIRST_USERS = 16,
    DOUBLES = 2000, /* permille of a step */
    NEAR = 1040,
    FAR = 1200,
    FACTOR_STEPS = 2,
    PPM_P95 = 950000,
    THREADS_MAX = 64
};

/* A load that was tried with one seed. */
struct attempt {
    enum answer_variant variant;
    unsigned seed; /* from 0 */
    uint64_t n;
    bool held;
    double goodput, requests_s;
    int64_t first_token_p95_ns;
};

/* A search, the figures of a variant, or how far the GPU may be off. */
struct task {
    enum answer_variant variant;
    unsigned seed;
    struct trial *figures; /* NULL: a search, unless it looks for a factor */
    uint64_t start, value, failed;
    double factor; /* on the GPU's rate of prefill; 0: none */
    double far;    /* look for the factor between 1 and this, up to which the answer stays */
};

/* What all threads share; everything but o is behind the lock. */
struct find {
    const struct answer_opts *o;
    struct answer *a;
    struct engine_run_opts engine[ANSWER_VARIANTS];
    struct tier_model ideal;
    pthread_mutex_t lock;
    struct task *job;
    size_t jobs, next;
    struct attempt *attempt;
    size_t attempts, cap;
    unsigned searches;  /* that are over */
    struct task middle; /* the search of ANSWER_THIS with the seed that gave its value */
    int rc;
    struct err *e;
};

struct at_work {
    struct find *f;
    struct task *job;
};

const char *answer_variant_name(enum answer_variant v)
{
    static const char *const names[ANSWER_VARIANTS] = {"this", "none", "ideal"};
    return names[v];
}

enum answer_verdict answer_verdict_of(const struct answer_users *u, uint64_t n)
{
    return n <= u->low ? ANSWER_PASS : n > u->high ? ANSWER_FAIL : ANSWER_UNDECIDED;
}

/* ---- one simulation ---- */

static struct trial_opts trial_of(const struct find *f, const struct task *job, uint64_t n)
{
    struct trial_opts o = {.engine = f->engine[job->variant],
                           .load = &f->o->load,
                           .criterion = &f->o->criterion,
                           .n = n,
                           .seed = f->o->seed + job->seed,
                           .whole = job->figures != NULL,
                           .least_ns = f->o->window_ns + 2 * UNITS_NS_PER_S};
    if (job->factor > 0) {
        struct step_gpu *gpu = &o.engine.steps.gpu;
        gpu->eta_ppm = (uint32_t)(gpu->eta_ppm * job->factor);
        gpu->eta_a_ppm = (uint32_t)(gpu->eta_a_ppm * job->factor);
    }
    return o;
}

static void show(struct find *f, const struct task *job, uint64_t n)
{
    char text[160], json[160], brief[160];
    if (!progress_due(f->o->progress))
        return;
    const unsigned searches = ANSWER_VARIANTS * f->o->seeds;
    const double share = (double)f->searches / (double)(searches + 1);
    snprintf(text, sizeof(text), "%u of %u searches done, %zu simulations; %s, seed %u: %llu users",
             f->searches, searches, f->attempts, answer_variant_name(job->variant), job->seed + 1,
             (unsigned long long)n);
    snprintf(json, sizeof(json),
             "{\"searches\":%u,\"of\":%u,\"simulations\":%zu,\"variant\":\"%s\",\"seed\":%u,"
             "\"users\":%llu}",
             f->searches, searches, f->attempts, answer_variant_name(job->variant), job->seed + 1,
             (unsigned long long)n);
    snprintf(brief, sizeof(brief), "search %u of %u", f->searches + 1, searches);
    const struct progress_bar bar = {share, brief, NULL};
    progress_show_bar(f->o->progress, &bar, text, json);
}

/* Keeps the first error. */
static void fail(struct find *f, int rc, const struct err *e)
{
    pthread_mutex_lock(&f->lock);
    if (!f->rc) {
        f->rc = rc;
        *f->e = *e;
    }
    pthread_mutex_unlock(&f->lock);
}

static int note(struct find *f, const struct task *job, const struct trial *t, struct err *e)
{
    int rc = 0;
    pthread_mutex_lock(&f->lock);
    struct attempt *grown =
        job->factor > 0 ? NULL : memory_grow(f->attempt, &f->cap, f->attempts, sizeof(*grown), 64);
    if (grown) {
        f->attempt = grown;
        f->attempt[f->attempts++] = (struct attempt){
            .variant = job->variant,
            .seed = job->seed,
            .n = t->n,
            .held = t->held,
            .goodput = criterion_goodput(&t->tally),
            .requests_s = trial_requests_s(t),
            .first_token_p95_ns = hist_percentile(t->first_token_ns[TRACE_QOSES], PPM_P95)};
    } else if (!(job->factor > 0)) {
        rc = err_nomem(e, "simulations");
    }
    show(f, job, t->n);
    if (f->rc)
        rc = f->rc;
    pthread_mutex_unlock(&f->lock);
    return rc;
}

/* search_try */
static int try_users(void *ctx, uint64_t n, bool *held)
{
    const struct at_work *w = ctx;
    const struct trial_opts o = trial_of(w->f, w->job, n);
    struct trial t;
    struct err e = {0};
    int rc = trial_run(&t, &o, &e);
    *held = t.held;
    if (rc == 0)
        rc = note(w->f, w->job, &t, &e);
    trial_free(&t);
    if (rc < 0)
        fail(w->f, rc, &e);
    return rc;
}

/* ---- jobs on threads ---- */

/* Whether the answer stays with a GPU that computes prompts so much faster. About a number: it is
 * held as before. Else: the first load that none fails to hold, the drive holds. */
static int stays(struct find *f, double factor, bool *stays_)
{
    const struct answer_users *u = f->a->users;
    struct task task = {.variant = ANSWER_THIS, .seed = f->middle.seed, .factor = factor};
    struct at_work w = {f, &task};
    bool held = false;
    int rc = 0;
    if (f->o->asked) {
        rc = try_users(&w, f->o->asked, &held);
        *stays_ = held == (f->o->asked <= f->middle.value);
        return rc;
    }
    const double scaled = (double)u[ANSWER_NONE].value * (factor < 1 ? factor : 1);
    const struct search s = {
        .start = scaled > 1 ? (uint64_t)scaled : 1, .most = ANSWER_USERS_MAX, .step_permille = FAR};
    task.variant = ANSWER_NONE;
    rc = search_largest(&s, try_users, &w, &task.value, &task.failed);
    task.variant = ANSWER_THIS;
    if (rc == 0 && task.failed)
        rc = try_users(&w, task.failed, &held);
    *stays_ = held;
    return rc;
}

static void find_factor(struct find *f, struct task *job)
{
    double near = 1, far = job->far;
    bool stay = false;
    if (stays(f, far, &stay) < 0)
        return;
    if (stay)
        near = far;
    for (int i = 0; i < FACTOR_STEPS && near != job->far; i++) {
        const double middle = (near + far) / 2;
        if (stays(f, middle, &stay) < 0)
            return;
        *(stay ? &near : &far) = middle;
    }
    job->factor = near;
}

static void do_job(struct find *f, struct task *job)
{
    struct at_work w = {f, job};
    if (job->far > 0) {
        find_factor(f, job);
        return;
    }
    if (job->figures) {
        struct trial_opts o = trial_of(f, job, job->start);
        if (job->figures == &f->a->figures[ANSWER_THIS]) {
            o.sink = window_load_row;
            o.sink_ctx = &f->a->load;
        }
        struct err e = {0};
        const int rc = trial_run(job->figures, &o, &e);
        if (rc < 0)
            fail(f, rc, &e);
        return;
    }
    const struct search s = {
        .start = job->start, .most = ANSWER_USERS_MAX, .step_permille = job->seed ? NEAR : DOUBLES};
    search_largest(&s, try_users, &w, &job->value, &job->failed);
    pthread_mutex_lock(&f->lock);
    f->searches++;
    pthread_mutex_unlock(&f->lock);
}

static void *work(void *arg)
{
    struct find *f = arg;
    for (;;) {
        pthread_mutex_lock(&f->lock);
        struct task *job = f->next < f->jobs && !f->rc ? &f->job[f->next++] : NULL;
        pthread_mutex_unlock(&f->lock);
        if (!job)
            return NULL;
        do_job(f, job);
    }
}

/* Does jobs; this thread is one of those that work. */
static int do_jobs(struct find *f, struct task *job, size_t jobs)
{
    pthread_t thread[THREADS_MAX];
    unsigned started = 0;
    f->job = job;
    f->jobs = jobs;
    f->next = 0;
    while (started + 1 < f->o->threads && started + 1 < jobs && started < THREADS_MAX &&
           thread_start(&thread[started], work, f) == 0)
        started++;
    work(f);
    while (started)
        pthread_join(thread[--started], NULL);
    return f->rc;
}

/* ---- results ---- */

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void set_users(struct answer_users *u, const struct task *job, enum answer_variant v,
                      unsigned seeds)
{
    uint64_t value[ANSWER_SEEDS_MAX] = {0};
    for (unsigned i = 0; i < seeds; i++) {
        const struct task *j = &job[i * ANSWER_VARIANTS + (unsigned)v];
        value[i] = j->value;
        u->most |= !j->failed;
    }
    qsort(value, seeds, sizeof(*value), by_number);
    u->low = value[0];
    u->value = value[(seeds - 1) / 2];
    u->high = value[seeds - 1];
}

static int by_load(const void *a, const void *b)
{
    const struct attempt *x = a, *y = b;
    if (x->variant != y->variant)
        return x->variant < y->variant ? -1 : 1;
    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    return (x->seed > y->seed) - (x->seed < y->seed);
}

/* One line for each load, from the attempts of all seeds. */
static int set_tried(struct find *f)
{
    struct answer *a = f->a;
    qsort(f->attempt, f->attempts, sizeof(*f->attempt), by_load);
    a->tried = calloc(f->attempts + 1, sizeof(*a->tried));
    if (!a->tried)
        return err_nomem(f->e, "simulations");
    for (size_t i = 0; i < f->attempts; i++) {
        const struct attempt *t = &f->attempt[i];
        struct answer_tried *to = a->tries ? &a->tried[a->tries - 1] : NULL;
        if (!to || to->variant != t->variant || to->n != t->n) {
            to = &a->tried[a->tries++];
            *to = (struct answer_tried){.variant = t->variant, .n = t->n};
        }
        const double before = to->of++, now = to->of;
        to->held += t->held;
        to->goodput = (to->goodput * before + t->goodput) / now;
        to->requests_s = (to->requests_s * before + t->requests_s) / now;
        to->first_token_p95_ns =
            (to->first_token_p95_ns * (int64_t)before + t->first_token_p95_ns) / (int64_t)now;
    }
    return 0;
}

/* ---- from beginning to end ---- */

static void set_variants(struct find *f)
{
    for (int v = 0; v < ANSWER_VARIANTS; v++)
        f->engine[v] = f->o->engine;
    f->engine[ANSWER_NONE].room.capacity[TRACE_STORAGE] = 0;
    f->engine[ANSWER_IDEAL].files = &f->ideal;
}

static int find_users(struct find *f)
{
    const unsigned seeds = f->o->seeds;
    struct task job[ANSWER_VARIANTS * ANSWER_SEEDS_MAX];
    for (unsigned i = 0; i < ANSWER_VARIANTS * seeds; i++)
        job[i] = (struct task){
            .variant = i % ANSWER_VARIANTS, .seed = i / ANSWER_VARIANTS, .start = FIRST_USERS};
    int rc = do_jobs(f, job, ANSWER_VARIANTS);
    for (unsigned i = ANSWER_VARIANTS; i < ANSWER_VARIANTS * seeds; i++)
        job[i].start = job[i % ANSWER_VARIANTS].value ? job[i % ANSWER_VARIANTS].value : 1;
    if (rc == 0)
        rc = do_jobs(f, job + ANSWER_VARIANTS, (size_t)ANSWER_VARIANTS * (seeds - 1));
    for (int v = 0; v < ANSWER_VARIANTS && rc == 0; v++)
        set_users(&f->a->users[v], job, (enum answer_variant)v, seeds);
    unsigned at = ANSWER_THIS;
    while (rc == 0 && job[at].value != f->a->users[ANSWER_THIS].value)
        at += ANSWER_VARIANTS;
    f->middle = job[at];
    return rc;
}

/* The figures of all variants, and of the two loads around the edge of ANSWER_THIS, with the seed
 * of its value: so at that value the figures are of a load that holds. */
static int find_figures(struct find *f)
{
    const struct task *middle = &f->middle;
    struct answer *a = f->a;
    struct trial held = {0}, failed = {0};
    struct task job[ANSWER_VARIANTS + 2];
    size_t jobs = ANSWER_VARIANTS;
    a->at = f->o->asked                   ? f->o->asked
            : a->users[ANSWER_THIS].value ? a->users[ANSWER_THIS].value
                                          : 1;
    for (int v = 0; v < ANSWER_VARIANTS; v++)
        job[v] = (struct task){.variant = (enum answer_variant)v,
                               .seed = middle->seed,
                               .figures = &a->figures[v],
                               .start = a->at};
    if (middle->failed)
        job[jobs++] = (struct task){.variant = ANSWER_THIS,
                                    .seed = middle->seed,
                                    .figures = &failed,
                                    .start = middle->failed};
    if (middle->failed && middle->value && middle->value != a->at)
        job[jobs++] = (struct task){
            .variant = ANSWER_THIS, .seed = middle->seed, .figures = &held, .start = middle->value};
    a->seed = middle->seed;
    const int rc = do_jobs(f, job, jobs);
    if (rc == 0)
        a->limit = limit_find(&f->o->engine.steps,
                              !middle->value           ? NULL
                              : middle->value == a->at ? &a->figures[ANSWER_THIS]
                                                       : &held,
                              middle->failed ? &failed : NULL);
    trial_free(&held);
    trial_free(&failed);
    return rc;
}

static int find_factors(struct find *f)
{
    struct answer *a = f->a;
    struct task job[] = {{.far = ANSWER_SLOWEST}, {.far = ANSWER_FASTEST}};
    if (!f->o->asked && a->users[ANSWER_THIS].value <= a->users[ANSWER_NONE].value)
        return 0;
    const int rc = do_jobs(f, job, 2);
    a->holds_low = job[0].factor;
    a->holds_high = job[1].factor;
    return rc;
}

int answer_find(struct answer *a, const struct answer_opts *o, struct err *e)
{
    struct find f = {.o = o, .a = a, .e = e};
    *a = (struct answer){0};
    set_variants(&f);
    pthread_mutex_init(&f.lock, NULL);
    int rc = find_users(&f);
    if (rc == 0)
        rc = find_figures(&f);
    if (rc == 0)
        rc = find_factors(&f);
    if (rc == 0)
        rc = set_tried(&f);
    pthread_mutex_destroy(&f.lock);
    free(f.attempt);
    return rc;
}

int answer_tell_window(struct answer *a, const struct answer_opts *o, sim_sink sink, void *ctx,
                       struct err *e)
{
    struct find f = {.o = o, .a = a};
    const struct trial *seen = &a->figures[ANSWER_THIS];
    struct trial t = {0};
    const struct task task = {.variant = ANSWER_THIS, .seed = a->seed, .figures = &t};
    set_variants(&f);
    struct trial_opts again = trial_of(&f, &task, a->at);
    a->window.length_ns = o->window_ns;
    a->window.from_ns =
        window_busiest(&a->load, seen->warm_ns, seen->warm_ns + seen->span_ns, o->window_ns);
    const uint64_t object_bytes = seen->files.objects[0] + seen->files.objects[1]
                                      ? (seen->files.bytes[0] + seen->files.bytes[1]) /
                                            (seen->files.objects[0] + seen->files.objects[1]) /
                                            o->engine.room.ranks
                                      : 0;
    struct window *w = window_create(a->window.from_ns, o->window_ns,
                                     window_pool(o->engine.files, object_bytes), sink, ctx);
    again.sink = window_row;
    again.sink_ctx = w;
    const int rc = w ? trial_run(&t, &again, e) : err_nomem(e, "the window");
    if (rc == 0) {
        a->window.written = true;
        a->window.stats = *window_stats(w);
    }
    trial_free(&t);
    window_free(w);
    return rc;
}

void answer_free(struct answer *a)
{
    window_load_free(&a->load);
    for (int v = 0; v < ANSWER_VARIANTS; v++)
        trial_free(&a->figures[v]);
    free(a->tried);
    *a = (struct answer){0};
}
