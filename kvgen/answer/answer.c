/* answer.c - runs the searches of all variants and seeds on threads. First looks with one seed tell
 * where they begin. Each search is one thread's from its begin to its end, so the answer is the
 * same with any number of threads. */
#include "kvgen/answer/answer.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/answer/search.h"
#include "lib/base/memory.h"
#include "lib/base/units.h"
#include "lib/sort/ascending.h"
#include "lib/thread/thread.h"

enum {
    /* First steps of a search, in rungs, and how near its results are. */
    NEAR = 1,
    FAR = 5,
    EXACT = 1,
    ABOUT = 2,   /* of first looks: 10 % */
    MUCH = 2,    /* an ideal drive holds much more if it holds 1 in so many more */
    NEARLY = 10, /* a drive is nearly ideal that holds all but 1 in so many */
    /* One in so many seeds need not hold the answer's load. Near the edge a line of waiting comes
     * and goes in hundreds of seconds, so that a seed shows good ones or bad ones; over days the
     * share of good requests is what it should be about where four of five seeds are good. */
    UNHELD = 5,
    APART = 5, /* 1 in so many, from one load to the next, */
    FINE = 20, /* or as near as that */
    FACTOR_STEPS = 2,
    PPM_P95 = 950000,
    THREADS_MAX = 64
};

/* A load that was tried with one seed, from the least that is known of it to the most. */
enum how {
    BRIEF, /* by a first look */
    FULL,
    WHOLE /* for its figures, too */
};
struct attempt {
    enum answer_variant variant;
    unsigned seed; /* from 0 */
    uint64_t n;
    enum how how;
    double goodput, requests_s;
    int64_t first_token_p95_ns;
    struct limit_load load;
};

/* A search, the figures of a variant, or how far the GPU may be off. */
struct task {
    enum answer_variant variant;
    unsigned seed;
    bool brief;            /* of first looks */
    struct trial *figures; /* NULL: a search, unless it looks for a factor */
    struct search search;
    uint64_t value, failed; /* what it found */
    struct task *then;      /* a search that begins there; NULL: none */
    double factor;          /* on the GPU's rate of prefill; 0: none */
    double far;    /* look for the factor between 1 and this, up to which the answer stays */
    uint64_t once; /* a load to try, and nothing more; 0: none */
};

/* Shared by all threads; everything but o is behind the lock. */
struct find {
    const struct answer_opts *o;
    struct answer *a;
    struct engine_run_opts engine[ANSWER_VARIANTS];
    struct tier_model ideal;
    pthread_mutex_t lock;
    struct task *const *job;
    size_t jobs, next;
    struct attempt *attempt;
    size_t attempts, cap;
    unsigned searches;  /* that are over */
    struct task middle; /* the search of ANSWER_THIS with the seed that gave its value */
    uint64_t value[ANSWER_VARIANTS][ANSWER_SEEDS_MAX]; /* what each search found */
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
                           .brief = job->brief,
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
    snprintf(text, sizeof(text), "%u of %u searches done, %zu simulations; %s, seed %u: %llu %s",
             f->searches, searches, f->attempts, answer_variant_name(job->variant), job->seed + 1,
             (unsigned long long)n, f->o->load.unit);
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
    if (!(job->factor > 0))
        rc = memory_room(&f->attempt, &f->cap, f->attempts, sizeof(*f->attempt), 64);
    if (rc < 0)
        rc = err_nomem(e, "simulations");
    else if (!(job->factor > 0))
        f->attempt[f->attempts++] = (struct attempt){
            .variant = job->variant,
            .seed = job->seed,
            .n = t->n,
            .how = job->figures ? WHOLE
                   : job->brief ? BRIEF
                                : FULL,
            .goodput = criterion_goodput(&t->tally),
            .requests_s = trial_requests_s(t),
            .first_token_p95_ns = hist_percentile(t->first_token_ns[TRACE_QOSES], PPM_P95),
            .load = limit_load_of(&f->o->engine.steps, t)};
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

/* The load to try after n. held: the largest that all hold, 0: none yet; failed: the smallest that
 * the drive does not hold, 0: none yet. 0: there is none between them. */
static uint64_t next_load(uint64_t n, uint64_t held, uint64_t failed)
{
    if (!failed)
        return n < ANSWER_USERS_MAX ? n + n / APART + 1 : 0;
    if (!held)
        return n - n / APART - 1;
    return failed - held > 1 + held / FINE ? held + (failed - held) / 2 : 0;
}

/* Whether there is a load that the drive holds and none does not. */
static int gains(struct at_work *w, const struct answer_users *users, bool *gain)
{
    struct task *job = w->job;
    const double factor = job->factor < 1 ? job->factor : 1;
    const double between =
        (double)(users[ANSWER_NONE].value + users[ANSWER_THIS].value) / 2 * factor;
    uint64_t both = 0, failed = 0;
    int rc = 0;
    *gain = false;
    for (uint64_t n = between > 1 ? (uint64_t)between : 1; n && rc == 0 && !*gain;
         n = next_load(n, both, failed)) {
        bool with = false, without = false;
        job->variant = ANSWER_THIS;
        rc = try_users(w, n, &with);
        job->variant = ANSWER_NONE;
        if (rc == 0 && with)
            rc = try_users(w, n, &without);
        *gain = with && !without;
        *(with ? &both : &failed) = n;
    }
    return rc;
}

/* Whether the answer stays with a GPU that computes prompts so much faster. About a number: it is
 * held as before. Else: the drive holds more than none. */
static int stays(struct find *f, double factor, bool *stays_)
{
    struct task task = {
        .variant = ANSWER_THIS, .seed = f->middle.seed, .brief = true, .factor = factor};
    struct at_work w = {f, &task};
    bool held = false;
    if (!f->o->asked)
        return gains(&w, f->a->users, stays_);
    const int rc = try_users(&w, f->o->asked, &held);
    *stays_ = held == (f->o->asked <= f->middle.value);
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

/* A search that begins at what another one found. */
static struct search beside(const struct task *found, unsigned step, unsigned apart)
{
    return (struct search){.start = found->value ? found->value : 1,
                           .most = ANSWER_USERS_MAX,
                           .step = step,
                           .apart = apart};
}

static void do_job(struct find *f, struct task *job);

/* A search of ANSWER_THIS beside that of ANSWER_IDEAL with the same seed: no drive holds more than
 * one that takes no time. */
static void do_then(struct find *f, const struct task *ideal, struct task *then)
{
    then->search = beside(ideal, NEAR, EXACT);
    then->search.most = ideal->value;
    if (ideal->value)
        do_job(f, then);
    if (!then->failed)
        then->failed = ideal->failed;
}

static void do_job(struct find *f, struct task *job)
{
    struct at_work w = {f, job};
    if (job->far > 0) {
        find_factor(f, job);
        return;
    }
    if (job->once) {
        bool held;
        (void)try_users(&w, job->once, &held);
        return;
    }
    if (job->figures) {
        struct trial_opts o = trial_of(f, job, job->search.start);
        if (job->figures == &f->a->figures[ANSWER_THIS]) {
            o.sink = window_load_row;
            o.sink_ctx = &f->a->load;
        }
        struct err e = {0};
        int rc = trial_run(job->figures, &o, &e);
        if (rc == 0)
            rc = note(f, job, job->figures, &e);
        if (rc < 0)
            fail(f, rc, &e);
        return;
    }
    if (search_largest(&job->search, try_users, &w, &job->value, &job->failed) < 0)
        return;
    pthread_mutex_lock(&f->lock);
    f->searches += !job->brief;
    pthread_mutex_unlock(&f->lock);
    if (job->then)
        do_then(f, job, job->then);
}

static void *work(void *arg)
{
    struct find *f = arg;
    for (;;) {
        pthread_mutex_lock(&f->lock);
        struct task *job = f->next < f->jobs && !f->rc ? f->job[f->next++] : NULL;
        pthread_mutex_unlock(&f->lock);
        if (!job)
            return NULL;
        do_job(f, job);
    }
}

/* Does jobs; this thread is one of those that work. */
static int do_jobs(struct find *f, struct task *const *job, size_t jobs)
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

/* The users of one variant, by seed. */
static void set_users(struct answer_users *u, uint64_t found[], const struct task *search,
                      unsigned seeds)
{
    uint64_t value[ANSWER_SEEDS_MAX] = {0};
    for (unsigned i = 0; i < seeds; i++) {
        value[i] = found[i] = search[i].value;
        u->most |= !search[i].failed;
    }
    qsort(value, seeds, sizeof(*value), ascending_u64);
    u->low = value[0];
    u->value = value[seeds / UNHELD];
    u->high = value[seeds - 1];
}

/* The difference of the values lies between the least and the most of the seeds': where each seed
 * holds so many more, so do values of the same rank. */
static void set_gain(struct find *f)
{
    struct answer_gain *g = &f->a->gain;
    const struct answer_users *u = f->a->users;
    g->value = (int64_t)u[ANSWER_THIS].value - (int64_t)u[ANSWER_NONE].value;
    for (unsigned i = 0; i < f->o->seeds; i++) {
        const int64_t more = (int64_t)f->value[ANSWER_THIS][i] - (int64_t)f->value[ANSWER_NONE][i];
        g->low = i == 0 || more < g->low ? more : g->low;
        g->high = i == 0 || more > g->high ? more : g->high;
    }
}

/* In the order of what is tried, and then the one that is known best first. */
static int by_load(const void *a, const void *b)
{
    const struct attempt *x = a, *y = b;
    if (x->variant != y->variant)
        return x->variant < y->variant ? -1 : 1;
    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    if (x->how != y->how)
        return x->how > y->how ? -1 : 1;
    return (x->seed > y->seed) - (x->seed < y->seed); /* must not depend on the order of threads */
}

/* Whether the seed of the figures holds that load. */
static bool is_held(const struct find *f, enum answer_variant v, uint64_t n)
{
    return n <= f->value[v][f->middle.seed];
}

/* Whether the drive ends that load. As the screen tells it: where an ideal drive holds no more, it
 * is not the drive. It surely is where the same load is held without a drive, or with an ideal one
 * that holds half as many again. */
static enum limit_drive drive_ends(const struct find *f, const struct attempt *failed)
{
    const struct answer_users *u = f->a->users;
    const uint64_t more = u[ANSWER_IDEAL].value - u[ANSWER_THIS].value;
    if (failed->variant != ANSWER_THIS || u[ANSWER_IDEAL].value <= u[ANSWER_THIS].value)
        return LIMIT_DRIVE_NOT;
    if (is_held(f, ANSWER_NONE, failed->n) ||
        (is_held(f, ANSWER_IDEAL, failed->n) && more >= u[ANSWER_THIS].value / MUCH &&
         u[ANSWER_IDEAL].low > u[ANSWER_THIS].high))
        return LIMIT_DRIVE_DOES;
    return LIMIT_DRIVE_MAY;
}

/* The limit that ended an attempt: attempts are in order, and before it is the largest load that is
 * held. */
static enum limit limit_of(const struct find *f, const struct attempt *failed)
{
    const struct limit_load *held = NULL;
    if (!failed->load.requests && !failed->load.stuck && failed->how != WHOLE)
        return LIMIT_NONE;
    for (const struct attempt *t = failed;
         !held && t > f->attempt && t[-1].variant == failed->variant; t--)
        if (t[-1].how != BRIEF && t[-1].seed == f->middle.seed && is_held(f, t->variant, t[-1].n))
            held = &t[-1].load;
    return limit_find(held, &failed->load, drive_ends(f, failed));
}

/* Whether a line may tell it: it is of the seed of the figures, or a first look of which the seeds
 * leave no doubt. */
static bool counts(const struct find *f, const struct attempt *t)
{
    const struct answer_users *u = &f->a->users[t->variant];
    return t->how == BRIEF ? t->n <= u->low || t->n > u->high : t->seed == f->middle.seed;
}

/* One line for each load; and what ends the users of ANSWER_THIS, which is that of the load beyond
 * them. */
static int set_tried(struct find *f)
{
    struct answer *a = f->a;
    qsort(f->attempt, f->attempts, sizeof(*f->attempt), by_load);
    a->tried = calloc(f->attempts + 1, sizeof(*a->tried));
    if (!a->tried)
        return err_nomem(f->e, "simulations");
    for (size_t i = 0; i < f->attempts; i++) {
        const struct attempt *t = &f->attempt[i];
        const struct answer_tried *last = a->tries ? &a->tried[a->tries - 1] : NULL;
        if (!counts(f, t) || (last && last->variant == t->variant && last->n == t->n))
            continue;
        struct answer_tried *to = &a->tried[a->tries++];
        *to = (struct answer_tried){.variant = t->variant,
                                    .n = t->n,
                                    .goodput = t->goodput,
                                    .requests_s = t->requests_s,
                                    .first_token_p95_ns = t->first_token_p95_ns,
                                    .limit =
                                        is_held(f, t->variant, t->n) ? LIMIT_NONE : limit_of(f, t)};
        for (unsigned seed = 0; seed < f->o->seeds; seed++)
            to->held += t->n <= f->value[t->variant][seed];
        if (t->variant == ANSWER_THIS && t->n == f->middle.failed)
            a->limit = to->limit;
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

/* A first look, with the first seed, at where the edge of a variant is about. */
static struct task look(const struct find *f, enum answer_variant v)
{
    return (struct task){
        .variant = v,
        .brief = true,
        .search = {
            .start = f->o->first, .most = ANSWER_USERS_MAX, .step = SEARCH_DOUBLE, .apart = ABOUT}};
}

/* Adds the searches of a variant with each seed, beside its first look. */
static void add_searches(const struct find *f, struct task task[], const struct task *look,
                         struct task *job[], size_t *jobs)
{
    for (unsigned i = 0; i < f->o->seeds; i++) {
        task[i] =
            (struct task){.variant = look->variant, .seed = i, .search = beside(look, NEAR, EXACT)};
        job[(*jobs)++] = &task[i];
    }
}

/* Looks first, without the drive and with the ideal one. Then the searches without the drive, and
 * a look with it, from what the ideal one holds on. Then the others: where the drive is nearly
 * ideal, its searches begin at what the ideal one holds. So none but its own depend on the drive.
 */
static int find_users(struct find *f)
{
    struct task looks[ANSWER_VARIANTS], task[ANSWER_VARIANTS][ANSWER_SEEDS_MAX];
    struct task *const ideal = &looks[ANSWER_IDEAL], *const this = &looks[ANSWER_THIS];
    struct task *job[ANSWER_VARIANTS * ANSWER_SEEDS_MAX] = {ideal, &looks[ANSWER_NONE]};
    size_t jobs = 0;
    unsigned at = 0;
    for (unsigned v = 0; v < ANSWER_VARIANTS; v++)
        looks[v] = look(f, (enum answer_variant)v);
    int rc = do_jobs(f, job, 2);
    this->search = beside(ideal, FAR, ABOUT);
    job[jobs++] = this;
    add_searches(f, task[ANSWER_NONE], &looks[ANSWER_NONE], job, &jobs);
    if (rc == 0)
        rc = do_jobs(f, job, jobs);
    const bool near = this->value + this->value / NEARLY >= ideal->value;
    jobs = 0;
    add_searches(f, task[ANSWER_IDEAL], ideal, job, &jobs);
    add_searches(f, task[ANSWER_THIS], this, job, &jobs);
    for (unsigned i = 0; i < f->o->seeds && near; i++)
        task[ANSWER_IDEAL][i].then = &task[ANSWER_THIS][i];
    if (rc == 0)
        rc = do_jobs(f, job, near ? f->o->seeds : jobs);
    for (unsigned v = 0; v < ANSWER_VARIANTS && rc == 0; v++)
        set_users(&f->a->users[v], f->value[v], task[v], f->o->seeds);
    if (rc == 0)
        set_gain(f);
    while (rc == 0 && task[ANSWER_THIS][at].value != f->a->users[ANSWER_THIS].value)
        at++;
    f->middle = task[ANSWER_THIS][at];
    return rc;
}

static struct task figures_of(enum answer_variant v, unsigned seed, uint64_t n, struct trial *t)
{
    return (struct task){.variant = v, .seed = seed, .figures = t, .search = {.start = n}};
}

/* Whether the load was tried with the seed of the figures, and by more than a first look. */
static bool is_known(const struct find *f, uint64_t n)
{
    for (size_t i = 0; i < f->attempts; i++) {
        const struct attempt *t = &f->attempt[i];
        if (t->variant == ANSWER_THIS && t->n == n && t->seed == f->middle.seed && t->how != BRIEF)
            return true;
    }
    return false;
}

/* The figures of all variants, and of the first load that ANSWER_THIS does not hold, with the seed
 * of its value: so at that value the figures are of a load that holds. How far the GPU may be off
 * besides, which takes longest and so begins first; two smaller loads, which show what users have
 * there; and with this seed the ends of the interval, which others gave. */
static int find_figures(struct find *f)
{
    enum {
        FACTORS = 2,
        SMALLER = 2,
        ENDS = 2
    };
    const struct task *middle = &f->middle;
    struct answer *a = f->a;
    const uint64_t end[ENDS] = {a->users[ANSWER_THIS].low, a->users[ANSWER_THIS].high};
    struct task task[FACTORS + ANSWER_VARIANTS + 1 + SMALLER + ENDS];
    struct task *job[sizeof(task) / sizeof(task[0])];
    struct trial smaller[SMALLER] = {0};
    size_t jobs = 0;
    a->at = f->o->asked                   ? f->o->asked
            : a->users[ANSWER_THIS].value ? a->users[ANSWER_THIS].value
                                          : 1;
    a->seed = middle->seed;
    const bool factors = f->o->asked || a->gain.low > 0;
    if (factors) {
        task[jobs++] = (struct task){.far = ANSWER_SLOWEST};
        task[jobs++] = (struct task){.far = ANSWER_FASTEST};
    }
    for (int v = 0; v < ANSWER_VARIANTS; v++)
        task[jobs++] = figures_of((enum answer_variant)v, middle->seed, a->at, &a->figures[v]);
    if (middle->failed)
        task[jobs++] = figures_of(ANSWER_THIS, middle->seed, middle->failed, &a->beyond);
    for (uint64_t i = 0; i < SMALLER && middle->value > SMALLER; i++)
        task[jobs++] =
            figures_of(ANSWER_THIS, middle->seed, middle->value * (i + 2) / 4, &smaller[i]);
    for (int i = 0; i < ENDS; i++)
        if (end[i] && end[i] != a->at && !is_known(f, end[i]))
            task[jobs++] =
                (struct task){.variant = ANSWER_THIS, .seed = middle->seed, .once = end[i]};
    for (size_t i = 0; i < jobs; i++)
        job[i] = &task[i];
    const int rc = do_jobs(f, job, jobs);
    for (unsigned i = 0; i < SMALLER; i++)
        trial_free(&smaller[i]);
    if (factors) {
        a->holds_low = task[0].factor;
        a->holds_high = task[1].factor;
    }
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
    const struct task task = figures_of(ANSWER_THIS, a->seed, a->at, &t);
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
    trial_free(&a->beyond);
    free(a->tried);
    *a = (struct answer){0};
}
