/* Beside the loops of the scheduler and of the engines: collects when each of them was kept from
 * running. Nothing here is on the way of an operation unless something took a millisecond. */
#include "lib/io/gap_list.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/io/gap_line.h"
#include "lib/thread/thread.h"

/* The thread that only wakes up does so every BEAT, and says so when it is late by LATE: an idle
 * virtual processor may take a few ms to come back, and that alone keeps nobody from working. */
#define GAPS_BEAT_NS 5000000
#define GAPS_LATE_NS 20000000

struct loop {
    enum gap_of of;
    char name[GAPS_NAME_CAP];
    pid_t thread;
    /* At gap_list_begin; then of the timed part; negative: not known. slices: turns on a
     * processor. */
    struct delay {
        int64_t ns, slices;
    } delay;
    int64_t listed_ns; /* of its gaps in the list */
    bool ended;        /* the thread may be gone: last is what it waited in all */
    struct delay last;
};

struct gap_list {
    pthread_t beat;
    atomic_bool stop;
    atomic_int_least64_t latest_ns;      /* end of the latest gap */
    atomic_int_least64_t latest_stop_ns; /* and of the latest stop */
    atomic_int_least64_t beat_due_ns;    /* when the beat is to wake up */
    pthread_mutex_t lock;                /* guards the following */
    bool open;                           /* the timed part runs */
    size_t kept;
    uint64_t count;
    int64_t largest_ns;
    unsigned loops;
    /* Untouched until they are used. */
    struct loop loop[GAPS_LOOPS_MAX]; /* of which loops */
    struct gap gap[GAPS_MAX];         /* of which kept */
};

/* ---- run delay ---- */

static const struct delay not_known = {-1, -1};

/* "RUNNING_NS DELAY_NS SLICES". */
static struct delay parse_delay(const char *text)
{
    unsigned long long ran, delay, slices;

    if (sscanf(text, "%llu %llu %llu", &ran, &delay, &slices) != 3)
        return not_known;
    return (struct delay){(int64_t)delay, (int64_t)slices};
}

/* Opened for each look: who runs many threads needs the descriptors for files. */
static struct delay delay_of(pid_t thread)
{
    char path[64], text[96];

    snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", (int)thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return not_known;
    text[n] = '\0';
    return parse_delay(text);
}

/* Under the lock. */
static struct delay delay_so_far(const struct loop *l)
{
    return l->ended ? l->last : delay_of(l->thread);
}

/* ---- loops ---- */

static void add(struct gap_list *g, unsigned loop, int64_t from_ns, int64_t until_ns)
{
    pthread_mutex_lock(&g->lock);
    if (g->open) {
        if (g->kept < GAPS_MAX) {
            g->gap[g->kept++] = (struct gap){from_ns, until_ns, loop};
            g->loop[loop].listed_ns += until_ns - from_ns;
        }
        g->count++;
        if (until_ns - from_ns > g->largest_ns)
            g->largest_ns = until_ns - from_ns;
        if (g->loop[loop].of != GAPS_OF_SCHEDULER &&
            until_ns > atomic_load_explicit(&g->latest_ns, memory_order_relaxed))
            atomic_store_explicit(&g->latest_ns, until_ns, memory_order_release);
        if (g->loop[loop].of == GAPS_OF_PROCESS && until_ns - from_ns >= GAP_STOP_NS)
            atomic_store_explicit(&g->latest_stop_ns, until_ns, memory_order_release);
    }
    pthread_mutex_unlock(&g->lock);
}

/* The place in the table of the calling thread, which is the loop so far; GAPS_LOOPS_MAX: there is
 * none left. */
static unsigned add_loop(struct gap_list *g, const struct loop *so_far, const char *name,
                         unsigned number)
{
    enum gap_of of = so_far->of;

    pthread_mutex_lock(&g->lock);
    unsigned i = g->loops;
    if (i < GAPS_LOOPS_MAX) {
        struct loop *l = &g->loop[g->loops++];
        *l = *so_far;
        if (of < GAPS_OF_SCHEDULER)
            snprintf(l->name, sizeof(l->name), "%.12s %u", name, number);
        else
            snprintf(l->name, sizeof(l->name), "%s",
                     of == GAPS_OF_PROCESS ? "process" : "scheduler");
    }
    pthread_mutex_unlock(&g->lock);
    return i;
}

void gap_loop_open(struct gap_loop *l, struct gap_list *g, enum gap_of of, const char *name,
                   unsigned number)
{
    *l = (struct gap_loop){0};
    if (!g)
        return;
    l->thread = gettid();
    const struct loop self = {.of = of, .thread = l->thread, .delay = delay_of(l->thread)};
    l->delay_ns = self.delay.ns;
    l->loop = add_loop(g, &self, name, number);
    l->gaps = l->loop < GAPS_LOOPS_MAX ? g : NULL;
}

void gap_loop_close(struct gap_loop *l)
{
    if (l->gaps) {
        struct loop *loop = &l->gaps->loop[l->loop];
        pthread_mutex_lock(&l->gaps->lock);
        loop->last = delay_of(l->thread);
        loop->ended = true;
        pthread_mutex_unlock(&l->gaps->lock);
    }
    *l = (struct gap_loop){0};
}

void gap_loop_add(struct gap_loop *l, int64_t from_ns, int64_t until_ns)
{
    if (l->gaps && until_ns - from_ns >= GAPS_NS)
        add(l->gaps, l->loop, from_ns, until_ns);
}

void gap_loop_look(struct gap_loop *l, int64_t from_ns, int64_t now_ns)
{
    if (!l->gaps || now_ns - from_ns < GAPS_NS)
        return;
    int64_t delay = delay_of(l->thread).ns, before = l->delay_ns, waited = delay - before;

    if (delay < 0)
        return;
    l->delay_ns = delay;
    if (before < 0)
        return;
    /* Short delays since the last look are in it too, but no more than the time looked at. */
    gap_loop_add(l, waited < now_ns - from_ns ? now_ns - waited : from_ns, now_ns);
}

static void *beat_run(void *arg)
{
    struct gap_list *g = arg;
    struct gap_loop self;

    gap_loop_open(&self, g, GAPS_OF_PROCESS, NULL, 0);
    while (!atomic_load(&g->stop)) {
        int64_t due = clock_now_ns() + GAPS_BEAT_NS;

        atomic_store_explicit(&g->beat_due_ns, due, memory_order_release);
        clock_sleep_until(due, 0);
        int64_t now = clock_now_ns();
        if (now - due >= GAPS_LATE_NS)
            gap_loop_add(&self, due, now);
    }
    atomic_store(&g->beat_due_ns, INT64_MAX);
    gap_loop_close(&self);
    return NULL;
}

struct gap_list *gap_list_create(struct err *e)
{
    struct gap_list *g = malloc(sizeof(*g));

    if (!g) {
        err_nomem(e, "gaps");
        return NULL;
    }
    memset(g, 0, offsetof(struct gap_list, loop));
    pthread_mutex_init(&g->lock, NULL);
    atomic_store(&g->beat_due_ns, INT64_MAX);
    int rc = thread_start(&g->beat, beat_run, g);
    if (rc == 0)
        return g;
    thread_refused(e, rc, "the thread that looks for gaps");
    pthread_mutex_destroy(&g->lock);
    free(g);
    return NULL;
}

void gap_list_free(struct gap_list *g)
{
    if (!g)
        return;
    atomic_store(&g->stop, true);
    pthread_join(g->beat, NULL);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

/* ---- the timed part ---- */

void gap_list_begin(struct gap_list *g)
{
    pthread_mutex_lock(&g->lock);
    g->open = true;
    g->kept = g->count = 0;
    g->largest_ns = 0;
    for (unsigned i = 0; i < g->loops; i++) {
        g->loop[i].delay = delay_so_far(&g->loop[i]);
        g->loop[i].listed_ns = 0;
    }
    pthread_mutex_unlock(&g->lock);
}

void gap_list_end(struct gap_list *g)
{
    pthread_mutex_lock(&g->lock);
    g->open = false;
    for (unsigned i = 0; i < g->loops; i++) {
        struct loop *l = &g->loop[i];
        struct delay now = delay_so_far(l), was = l->delay;
        bool known = now.ns >= 0 && was.ns >= 0;
        l->delay = known ? (struct delay){now.ns - was.ns, now.slices - was.slices} : not_known;
    }
    pthread_mutex_unlock(&g->lock);
}

uint64_t gap_list_count(const struct gap_list *g)
{
    return g->count;
}

int64_t gap_list_largest_ns(const struct gap_list *g)
{
    return g->largest_ns;
}

size_t gap_list_kept(const struct gap_list *g)
{
    return g->kept;
}

struct gap gap_list_at(const struct gap_list *g, size_t i)
{
    return g->gap[i];
}

enum gap_of gap_list_of(const struct gap_list *g, unsigned loop)
{
    return g->loop[loop].of;
}

const char *gap_list_loop_name(const struct gap_list *g, unsigned loop)
{
    return g->loop[loop].name;
}

/* The engines from first to last. */
static bool add_delays(const struct gap_list *g, enum gap_of first, enum gap_of last,
                       struct gap_list_delay *d)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&g->lock;
    bool known = false;

    *d = (struct gap_list_delay){0};
    pthread_mutex_lock(lock); /* a thread that starts late may still be adding its loop */
    for (unsigned i = 0; i < g->loops; i++) {
        const struct loop *l = &g->loop[i];
        int64_t delay = l->delay.ns;
        if (l->of == GAPS_OF_PROCESS)
            d->process_ns += l->listed_ns;
        if (delay < 0 || l->of == GAPS_OF_PROCESS)
            continue;
        known = true;
        d->all_ns += delay;
        if (delay > d->longest_ns)
            d->longest_ns = delay;
        if (g->loop[i].of < first || g->loop[i].of > last)
            continue;
        d->engines_ns += delay;
        int64_t contended_ns = delay - l->delay.slices * GAPS_WAKE_NS;
        int64_t unlisted_ns = contended_ns - l->listed_ns;
        d->loops++;
        d->contended_ns += contended_ns > 0 ? contended_ns : 0;
        d->unlisted_ns += unlisted_ns > 0 ? unlisted_ns : 0;
        if (unlisted_ns > d->most_ns) {
            d->most_ns = unlisted_ns;
            d->loop = i;
        }
    }
    pthread_mutex_unlock(lock);
    return known;
}

bool gap_list_run_delay(const struct gap_list *g, struct gap_list_delay *d)
{
    return add_delays(g, GAPS_OF_ENGINE, GAPS_OF_GPU, d);
}

double gap_list_run_delay_share(const struct gap_list *g, int64_t elapsed_ns)
{
    struct gap_list_delay delay;

    if (elapsed_ns <= 0 || !gap_list_run_delay(g, &delay))
        return -1;
    double share = (double)delay.longest_ns / (double)elapsed_ns;
    return share < 1 ? share : 1;
}

bool gap_list_run_delay_of(const struct gap_list *g, enum gap_of of, struct gap_list_delay *d)
{
    return add_delays(g, of, of, d);
}

int64_t gap_list_overlap(const struct gap_list *g, int64_t start_ns, int64_t end_ns)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&g->lock;
    int64_t until = end_ns, sum = 0;

    if (atomic_load_explicit(&g->latest_ns, memory_order_acquire) <= start_ns)
        return 0;
    /* From the latest one on; of gaps over each other the common part counts once. */
    pthread_mutex_lock(lock);
    for (size_t i = g->kept; i > 0 && until > start_ns; i--) {
        const struct gap *gap = &g->gap[i - 1];
        int64_t from = gap->start_ns > start_ns ? gap->start_ns : start_ns;
        int64_t to = gap->end_ns < until ? gap->end_ns : until;
        if (gap->end_ns <= start_ns)
            break; /* kept nearly in the order of their ends: those before ended before, too */
        if (to <= from || g->loop[gap->loop].of == GAPS_OF_SCHEDULER)
            continue;
        sum += to - from;
        until = from;
    }
    pthread_mutex_unlock(lock);
    return sum;
}

int64_t gap_list_stopped(const struct gap_list *g, int64_t start_ns, int64_t end_ns)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&g->lock;
    /* First the beat: when it is seen to be on its way again, its gap is in the list. */
    int64_t due_ns = atomic_load_explicit(&g->beat_due_ns, memory_order_acquire);
    int64_t latest_ns = atomic_load_explicit(&g->latest_stop_ns, memory_order_acquire);
    bool late = due_ns < end_ns && end_ns - due_ns >= GAP_STOP_NS;
    int64_t sum = 0;

    if (!late && latest_ns <= start_ns)
        return 0;
    pthread_mutex_lock(lock);
    for (size_t i = g->kept; i > 0; i--) {
        const struct gap *gap = &g->gap[i - 1];
        int64_t from = gap->start_ns > start_ns ? gap->start_ns : start_ns;
        int64_t to = gap->end_ns < end_ns ? gap->end_ns : end_ns;
        if (gap->end_ns <= start_ns)
            break;
        if (g->loop[gap->loop].of == GAPS_OF_PROCESS && gap->end_ns - gap->start_ns >= GAP_STOP_NS)
            sum += to > from ? to - from : 0;
    }
    latest_ns = atomic_load_explicit(&g->latest_stop_ns, memory_order_relaxed);
    if (late && g->open && latest_ns < due_ns) /* it has not told since */
        sum += end_ns - (due_ns > start_ns ? due_ns : start_ns);
    pthread_mutex_unlock(lock);
    return sum;
}

unsigned gap_list_stops(const struct gap_list *g, int64_t *longest_ns)
{
    unsigned count = 0;

    *longest_ns = 0;
    for (size_t i = 0; i < g->kept; i++) {
        int64_t ns = g->gap[i].end_ns - g->gap[i].start_ns;
        if (g->loop[g->gap[i].loop].of != GAPS_OF_PROCESS || ns < GAP_STOP_NS)
            continue;
        count++;
        *longest_ns = ns > *longest_ns ? ns : *longest_ns;
    }
    return count;
}
