/* The processes that mpirun or srun started. All waits are tests of a request with sleeps between
 * them, since the waits of MPI implementations spin. Only the exchanges that measure clocks spin,
 * for some milliseconds before the run and after it.
 *
 * All exchanges are between rank 0 and one other, so that a rank that is gone keeps nobody but
 * itself waiting. A thread tells once a second that this rank is there: MPI does not notice a host
 * that was cut off for a quarter of an hour, and a rank that is busy in its target for minutes is
 * not gone. */
#include "lib/ranks/ranks.h"

#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/ranks/part.h"
#include "lib/thread/thread.h"

enum {
    TAG_PING = 1,
    TAG_PONG,
    TAG_DATA,
    TAG_BEAT,
    EXCHANGES = 100, /* at most, of two clocks */
    NOBODY = UINT32_MAX,
    PIECE = 1 << 20 /* bytes of a message of a file */
};
#define SLEEP_LEAST_NS INT64_C(20000)
#define SLEEP_MOST_NS  INT64_C(2000000)
/* Whoever waits for another one's clock spins for HOLD_NS, then yields, and after SPIN_NS sleeps.
 * A yield of CROWDED_NS: others have the processors. */
#define HOLD_NS    INT64_C(50000)
#define SPIN_NS    INT64_C(10000000)
#define CROWDED_NS INT64_C(1000000)
/* Exchanges of two clocks end after MEASURE_NS, or, while the best is worse than GOOD_TRIP_NS,
 * after MEASURE_MOST_NS. */
#define MEASURE_NS      INT64_C(250000000)
#define MEASURE_MOST_NS INT64_C(1000000000)
#define GOOD_TRIP_NS    INT64_C(1000000)
#define PATIENCE_NS     (10 * UNITS_NS_PER_S) /* after a signal; of an exchange */
#define BEAT_NS         UNITS_NS_PER_S
#define AWAY_NS         (3 * BEAT_NS) /* this process itself stood still */
/* How far ahead the start is, so that all have heard of it. */
#define LEAD_NS          INT64_C(50000000)
#define LEAD_PER_RANK_NS INT64_C(1000000)

/* Another rank, as this one knows it: rank 0 watches all, the others watch rank 0. */
struct peer {
    int64_t heard_ns; /* when it last told that it is there */
    bool lost;        /* for good, also when it is heard again */
    bool told;        /* by ranks_next_lost */
    bool sending;
    MPI_Request beat;
    uint32_t beat_text; /* of the message that is on its way */
};

struct ranks {
    MPI_Comm comm;
    unsigned rank, count;
    char (*host)[PART_HOST_CAP];
    bool crowded; /* others want the processors: seen while clocks were compared */
    bool failed;  /* this rank cannot go on with the others */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* of MPI, which one thread at a time may call, and of what follows */
    pthread_cond_t turn;  /* the thread has something to do */
    struct peer *peer;
    bool ends, quiet;
    bool goes_on; /* without lost ranks */
    int64_t most_ns, judged_ns;
    uint32_t stopped_by; /* NOBODY, or the first rank that ended the run */
};

static int mpi_error(struct err *e, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len = 0;

    MPI_Error_string(code, text, &len);
    return err_set(e, -EIO, ERR_FAILED, "MPI", "%.300s", text);
}

/* ---- who is there ---- */

static bool watches(const struct ranks *r, unsigned peer)
{
    return peer != r->rank && (r->rank == 0 || peer == 0);
}

/* Under the lock. Takes the messages that have come. */
static void hear(struct ranks *r)
{
    MPI_Status from;
    uint32_t by;
    int there = 1;

    while (MPI_Iprobe(MPI_ANY_SOURCE, TAG_BEAT, r->comm, &there, &from) == MPI_SUCCESS && there) {
        if (MPI_Recv(&by, sizeof(by), MPI_BYTE, from.MPI_SOURCE, TAG_BEAT, r->comm,
                     MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return;
        struct peer *p = &r->peer[from.MPI_SOURCE];
        p->heard_ns = clock_now_ns();
        if (by != NOBODY && r->stopped_by == NOBODY && !p->lost) {
            r->stopped_by = by;
            pthread_cond_signal(&r->turn); /* rank 0 passes it on */
        }
    }
}

/* Under the lock. */
static void tell(struct ranks *r)
{
    for (unsigned i = 0; i < r->count; i++) {
        struct peer *p = &r->peer[i];
        int done = 1;
        if (!watches(r, i) || p->lost)
            continue;
        if (p->sending && (MPI_Test(&p->beat, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || !done))
            continue;
        p->beat_text = r->stopped_by;
        p->sending = MPI_Isend(&p->beat_text, sizeof(p->beat_text), MPI_BYTE, (int)i, TAG_BEAT,
                               r->comm, &p->beat) == MPI_SUCCESS;
    }
}

/* Under the lock. Whoever was silent too long is lost, unless it was this process that slept. */
static void judge(struct ranks *r)
{
    int64_t now = clock_now_ns();
    bool away = now - r->judged_ns > AWAY_NS;

    r->judged_ns = now;
    for (unsigned i = 0; i < r->count; i++) {
        struct peer *p = &r->peer[i];
        if (!watches(r, i))
            continue;
        if (away)
            p->heard_ns = now;
        else if (now - p->heard_ns > r->most_ns)
            p->lost = true;
    }
}

static void *keep_in_touch(void *ctx)
{
    struct ranks *r = ctx;
    uint32_t passed_on = NOBODY;

    pthread_mutex_lock(&r->lock);
    while (!r->ends) {
        struct timespec until;
        int64_t at = clock_now_ns() + BEAT_NS;
        hear(r);
        judge(r);
        if (!r->quiet)
            tell(r);
        passed_on = r->stopped_by;
        until = (struct timespec){.tv_sec = at / UNITS_NS_PER_S, .tv_nsec = at % UNITS_NS_PER_S};
        while (!r->ends && passed_on == r->stopped_by &&
               pthread_cond_timedwait(&r->turn, &r->lock, &until) == 0)
            ;
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* ---- messages ---- */

/* Under the lock. The rank whose silence ends a wait for peer; -1: none. */
static int64_t find_silent(const struct ranks *r, unsigned peer)
{
    if (r->peer[peer].lost)
        return peer;
    for (unsigned i = 0; !r->goes_on && i < r->count; i++)
        if (r->peer[i].lost)
            return i;
    return -1;
}

/* Sleeps until the request, with that peer, is done. */
static int wait_for(struct ranks *r, MPI_Request *request, unsigned peer, struct err *e)
{
    int64_t nap_ns = SLEEP_LEAST_NS, signal_ns = 0;
    char silence[32];
    int done = 0;

    for (;;) {
        pthread_mutex_lock(&r->lock);
        int code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS)
            r->peer[peer].lost = true;
        int64_t silent = find_silent(r, peer), most_ns = r->most_ns;
        bool goes_on = r->goes_on;
        pthread_mutex_unlock(&r->lock);
        if (code != MPI_SUCCESS)
            return mpi_error(e, code);
        if (done)
            return 0;
        if (silent >= 0)
            return err_set(e, -ETIMEDOUT, ERR_FAILED, "",
                           "rank %lld on %s was not heard of for %s: its host was cut off, or it "
                           "stood still",
                           (long long)silent, r->host[silent],
                           units_format_duration(silence, sizeof(silence), (double)most_ns));
        int64_t now = clock_now_ns();
        if (stop_signal() && signal_ns == 0)
            signal_ns = now;
        if (stop_abandons() || (signal_ns && !goes_on && now - signal_ns > PATIENCE_NS))
            return err_set(e, -ETIMEDOUT, ERR_FAILED, "", "rank %u on %s did not come", peer,
                           r->host[peer]);
        clock_sleep_until(now + nap_ns, 0);
        nap_ns = nap_ns * 2 < SLEEP_MOST_NS ? nap_ns * 2 : SLEEP_MOST_NS;
    }
}

/* Bytes travel by way of a copy, which is left to MPI when its rank is lost: what was under way may
 * come yet. */
static int send_bytes(struct ranks *r, const void *p, size_t n, unsigned to, struct err *e)
{
    void *copy = malloc(n + 1);
    MPI_Request request;

    if (!copy)
        return err_nomem(e, "messages");
    memcpy(copy, p, n);
    pthread_mutex_lock(&r->lock);
    int code = MPI_Isend(copy, (int)n, MPI_BYTE, (int)to, TAG_DATA, r->comm, &request);
    pthread_mutex_unlock(&r->lock);
    int rc = code == MPI_SUCCESS ? wait_for(r, &request, to, e) : mpi_error(e, code);
    if (rc == 0)
        free(copy);
    return rc;
}

static int receive_bytes(struct ranks *r, void *p, size_t n, unsigned from, struct err *e)
{
    void *copy = malloc(n + 1);
    MPI_Request request;

    if (!copy)
        return err_nomem(e, "messages");
    pthread_mutex_lock(&r->lock);
    int code = MPI_Irecv(copy, (int)n, MPI_BYTE, (int)from, TAG_DATA, r->comm, &request);
    pthread_mutex_unlock(&r->lock);
    int rc = code == MPI_SUCCESS ? wait_for(r, &request, from, e) : mpi_error(e, code);
    if (rc == 0) {
        memcpy(p, copy, n);
        free(copy);
    }
    return rc;
}

/* Whether rank 0 does without this one. */
static bool does_without(struct ranks *r, unsigned peer)
{
    pthread_mutex_lock(&r->lock);
    bool without = r->rank == 0 && r->goes_on && r->peer[peer].lost;
    pthread_mutex_unlock(&r->lock);
    return without;
}

static void leave(struct ranks *r, unsigned peer)
{
    pthread_mutex_lock(&r->lock);
    r->peer[peer].lost = true;
    pthread_mutex_unlock(&r->lock);
}

/* n bytes of each rank to rank 0: all is count times n. What a lost rank would have sent stays as
 * it was. */
static int bring(struct ranks *r, const void *own, void *all, size_t n, struct err *e)
{
    int rc = r->rank > 0 ? send_bytes(r, own, n, 0, e) : 0;

    if (r->rank == 0)
        memcpy(all, own, n);
    for (unsigned i = 1; rc == 0 && r->rank == 0 && i < r->count; i++) {
        if (does_without(r, i))
            continue;
        rc = receive_bytes(r, (char *)all + i * n, n, i, e);
        if (rc < 0 && does_without(r, i))
            rc = 0;
    }
    return rc;
}

/* n bytes of rank 0 to all. */
static int spread(struct ranks *r, void *p, size_t n, struct err *e)
{
    int rc = r->rank > 0 ? receive_bytes(r, p, n, 0, e) : 0;

    for (unsigned i = 1; rc == 0 && r->rank == 0 && i < r->count; i++) {
        if (does_without(r, i))
            continue;
        rc = send_bytes(r, p, n, i, e);
        if (rc < 0 && does_without(r, i))
            rc = 0;
    }
    return rc;
}

/* ---- opening and closing ---- */

static int start_thread(struct ranks *r, struct err *e)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&r->turn, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&r->lock, NULL);
    r->judged_ns = clock_now_ns();
    for (unsigned i = 0; i < r->count; i++)
        r->peer[i].heard_ns = r->judged_ns;
    if (r->count == 1)
        return 0;
    int rc = thread_start(&r->thread, keep_in_touch, r);
    if (rc < 0)
        return thread_refused(e, rc, "a thread");
    r->has_thread = true;
    return 0;
}

static void end_thread(struct ranks *r)
{
    pthread_mutex_lock(&r->lock);
    r->ends = true;
    pthread_cond_signal(&r->turn);
    pthread_mutex_unlock(&r->lock);
    if (r->has_thread)
        pthread_join(r->thread, NULL);
}

const char *ranks_suffix(void)
{
    return "-mpi";
}

int ranks_open(struct ranks **out, int *argc, char ***argv, struct err *e)
{
    struct ranks *r = calloc(1, sizeof(*r));
    char host[PART_HOST_CAP] = "";
    int level, rank, count;

    if (!r)
        return err_nomem(e, "ranks");
    int code = MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &level);
    if (code != MPI_SUCCESS) {
        free(r);
        return mpi_error(e, code);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &r->comm);
    MPI_Comm_set_errhandler(r->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(r->comm, &rank);
    MPI_Comm_size(r->comm, &count);
    r->rank = (unsigned)rank;
    r->count = (unsigned)count;
    r->most_ns = RANKS_SILENT_NS;
    r->stopped_by = NOBODY;
    r->host = calloc(r->count, sizeof(r->host[0]));
    r->peer = calloc(r->count, sizeof(*r->peer));
    part_host_name(host);
    int rc = r->host && r->peer ? 0 : err_nomem(e, "ranks");
    if (rc == 0 && level < MPI_THREAD_SERIALIZED)
        rc = err_set(e, -ENOTSUP, ERR_FAILED, "MPI",
                     "this library has no support for threads (MPI_THREAD_SERIALIZED)");
    if (rc == 0)
        rc = start_thread(r, e);
    if (rc == 0)
        rc = bring(r, host, r->host, sizeof(host), e);
    if (rc == 0)
        rc = spread(r, r->host, r->count * sizeof(host), e);
    if (rc == 0)
        *out = r;
    else if (r->has_thread) /* the process ends, and with it the others */
        end_thread(r);
    return rc;
}

static bool any_lost(const struct ranks *r)
{
    bool any = false;

    for (unsigned i = 0; i < r->count; i++)
        any |= r->peer[i].lost;
    return any;
}

/* MPI cannot come to its own end where a rank is missing. Rank 0 ends all ranks; another one that
 * has lost rank 0 has lost whom it would tell. */
static void end_at_once(struct ranks *r, int status)
{
    if (r->rank == 0 || !r->peer[0].lost)
        MPI_Abort(MPI_COMM_WORLD, status ? status : 1);
    _exit(status ? status : 1);
}

/* From here on a rank is silent. Rank 0 waits for all others, and they for its word, which does not
 * come when ranks are lost: then it ends them. */
static int part(struct ranks *r, struct err *e)
{
    char own = 0, *all = calloc(r->count, 1);

    pthread_mutex_lock(&r->lock);
    r->quiet = true;
    pthread_mutex_unlock(&r->lock);
    int rc = all ? bring(r, &own, all, 1, e) : err_nomem(e, "ranks");
    if (rc == 0 && any_lost(r))
        rc = -ETIMEDOUT;
    if (rc == 0)
        rc = spread(r, &own, 1, e);
    free(all);
    return rc;
}

void ranks_close(struct ranks *r, int status)
{
    struct err ignored = {0};

    if (!r)
        return;
    bool failed = r->failed || part(r, &ignored) < 0;
    end_thread(r);
    if (failed)
        end_at_once(r, status);
    hear(r);
    for (unsigned i = 0; i < r->count; i++)
        if (r->peer[i].sending)
            wait_for(r, &r->peer[i].beat, i, &ignored);
    MPI_Comm_free(&r->comm);
    MPI_Finalize();
    pthread_cond_destroy(&r->turn);
    pthread_mutex_destroy(&r->lock);
    free(r->host);
    free(r->peer);
    free(r);
}

unsigned ranks_rank(const struct ranks *r)
{
    return r->rank;
}

unsigned ranks_count(const struct ranks *r)
{
    return r->count;
}

const char *ranks_host(const struct ranks *r, unsigned rank)
{
    return r->host[rank];
}

void ranks_name(const struct ranks *r, unsigned rank, struct err *e)
{
    char where[sizeof(e->where)];

    snprintf(where, sizeof(where), "rank %u on %s%s%.200s", rank, r->host[rank],
             e->where[0] ? ": " : "", e->where);
    memcpy(e->where, where, sizeof(where));
}

void ranks_set_silence(struct ranks *r, int64_t most_ns)
{
    pthread_mutex_lock(&r->lock);
    r->most_ns = most_ns;
    pthread_mutex_unlock(&r->lock);
}

void ranks_go_on(struct ranks *r)
{
    pthread_mutex_lock(&r->lock);
    r->goes_on = true;
    pthread_mutex_unlock(&r->lock);
}

bool ranks_lost(struct ranks *r, unsigned rank)
{
    pthread_mutex_lock(&r->lock);
    bool lost = r->peer[rank].lost;
    pthread_mutex_unlock(&r->lock);
    return lost;
}

bool ranks_next_lost(struct ranks *r, unsigned *rank)
{
    bool found = false;

    pthread_mutex_lock(&r->lock);
    for (unsigned i = 0; !found && i < r->count; i++) {
        found = r->peer[i].lost && !r->peer[i].told;
        r->peer[i].told |= found;
        *rank = i;
    }
    pthread_mutex_unlock(&r->lock);
    return found;
}

/* ---- agreeing ---- */

/* How the step of a rank ended: 0, or its error. */
struct outcome {
    int rc;
    struct err err;
};

static void name_first(const struct ranks *r, const struct outcome *all, struct outcome *first)
{
    unsigned i = 0;

    while (i < r->count && all[i].rc >= 0)
        i++;
    if (i == r->count)
        return;
    *first = all[i];
    ranks_name(r, i, &first->err);
}

int ranks_agree(struct ranks *r, int rc, struct err *e)
{
    struct outcome own = {.rc = rc}, first = {0};

    if (rc < 0)
        own.err = *e;
    struct outcome *all = calloc(r->count, sizeof(*all));
    int failed = all ? bring(r, &own, all, sizeof(own), e) : err_nomem(e, "ranks");
    if (failed == 0 && r->rank == 0)
        name_first(r, all, &first);
    free(all);
    if (failed == 0)
        failed = spread(r, &first, sizeof(first), e);
    r->failed |= failed < 0;
    if (failed == 0 && first.rc < 0)
        *e = first.err;
    return failed ? failed : first.rc;
}

int ranks_same(struct ranks *r, struct hash128 h, const char *what, struct err *e)
{
    struct hash128 *all = calloc(r->count, sizeof(*all));
    char where[160];
    int rc = all ? bring(r, &h, all, sizeof(h), e) : err_nomem(e, "ranks");

    r->failed |= rc < 0;
    for (unsigned i = 1; rc == 0 && r->rank == 0 && i < r->count; i++) {
        if (hash128_equal(all[i], all[0]))
            continue;
        snprintf(where, sizeof(where), "rank %u on %s", i, r->host[i]);
        rc = err_set(e, -EINVAL, ERR_INPUT, where, "%s: not the same as those of rank 0 on %s",
                     what, r->host[0]);
    }
    free(all);
    return r->failed ? rc : ranks_agree(r, rc, e);
}

int ranks_spread(struct ranks *r, void *p, size_t n, struct err *e)
{
    int rc = spread(r, p, n, e);

    r->failed |= rc < 0;
    return rc;
}

/* ---- clocks ---- */

/* An exchange that takes so long has no end. */
static bool is_over(int64_t begun_ns)
{
    return stop_abandons() || clock_now_ns() - begun_ns > PATIENCE_NS;
}

static int no_answer(struct ranks *r, unsigned peer, struct err *e)
{
    return err_set(e, -ETIMEDOUT, ERR_FAILED, "", "rank %u on %s did not answer", peer,
                   r->host[peer]);
}

/* Spins, giving the processor away where others want it. When it was away for long, others have the
 * processors: then it sleeps between looks, since who slept gets one sooner than who spun. So it
 * does after SPIN_NS: the other rank is not there. -1: the request takes too long. */
static int spin_for(struct ranks *r, MPI_Request *request, int n)
{
    int64_t begun_ns = clock_now_ns(), looked_ns = begun_ns, nap_ns = SLEEP_LEAST_NS;
    MPI_Status status[2];
    int done = 0, code = MPI_SUCCESS;

    while (code == MPI_SUCCESS && !done && !is_over(begun_ns)) {
        pthread_mutex_lock(&r->lock);
        code = MPI_Testall(n, request, &done, status);
        pthread_mutex_unlock(&r->lock);
        int64_t now = clock_now_ns();
        r->crowded |= now - looked_ns > CROWDED_NS && nap_ns == SLEEP_LEAST_NS;
        looked_ns = now;
        if (done || now - begun_ns < HOLD_NS)
            continue;
        if (!r->crowded && now - begun_ns < SPIN_NS) {
            sched_yield();
            continue;
        }
        clock_sleep_until(now + nap_ns, 0);
        nap_ns = nap_ns * 2 < SLEEP_MOST_NS ? nap_ns * 2 : SLEEP_MOST_NS;
    }
    return done ? 0 : -1;
}

/* One message out, and the one that answers it. The buffers are MPI's until then. */
static int exchange(struct ranks *r, int64_t pair[2], unsigned peer)
{
    MPI_Request request[2];

    pthread_mutex_lock(&r->lock);
    int code =
        MPI_Irecv(&pair[1], sizeof(pair[1]), MPI_BYTE, (int)peer, TAG_PONG, r->comm, &request[0]);
    if (code == MPI_SUCCESS)
        code = MPI_Isend(&pair[0], sizeof(pair[0]), MPI_BYTE, (int)peer, TAG_PING, r->comm,
                         &request[1]);
    pthread_mutex_unlock(&r->lock);
    return code == MPI_SUCCESS ? spin_for(r, request, 2) : -1;
}

/* Rank 0's side. The other says that it has come, which may take it long, and answers each ping
 * with its clock; a ping says whether more follow. The offset goes to it at the end. */
static int ping(struct ranks *r, unsigned peer, struct err *e)
{
    struct ranks_offset best = {.round_trip_ns = INT64_MAX};
    int64_t *pair = malloc(2 * sizeof(*pair)); /* left to MPI when there is no answer */
    char come;

    if (!pair)
        return err_nomem(e, "clocks");
    int rc = receive_bytes(r, &come, 1, peer, e);
    int64_t begun = clock_now_ns();
    pair[0] = 1;
    for (unsigned i = 0; rc == 0 && pair[0]; i++) {
        int64_t sent = clock_now_ns();
        int64_t most = best.round_trip_ns > GOOD_TRIP_NS ? MEASURE_MOST_NS : MEASURE_NS;
        pair[0] = i == 0 || (i + 1 < EXCHANGES && sent - begun < most);
        if (exchange(r, pair, peer) < 0)
            return no_answer(r, peer, e);
        int64_t trip = clock_now_ns() - sent;
        if (i == 0 || trip >= best.round_trip_ns) /* the other slept before the first */
            continue;
        best.round_trip_ns = trip;
        best.offset_ns = pair[1] - (sent + trip / 2);
    }
    free(pair);
    return rc < 0 ? rc : send_bytes(r, &best, sizeof(best), peer, e);
}

static int pong(struct ranks *r, struct ranks_offset *o, struct err *e)
{
    int64_t *pair = malloc(2 * sizeof(*pair));
    char come = 0;

    if (!pair)
        return err_nomem(e, "clocks");
    int rc = send_bytes(r, &come, 1, 0, e);
    pair[0] = 1;
    for (unsigned i = 0; rc == 0 && pair[0]; i++) {
        MPI_Request request;
        pthread_mutex_lock(&r->lock);
        int code = MPI_Irecv(&pair[0], sizeof(pair[0]), MPI_BYTE, 0, TAG_PING, r->comm, &request);
        pthread_mutex_unlock(&r->lock);
        if (code != MPI_SUCCESS)
            return mpi_error(e, code);
        if (i == 0) /* rank 0 is with others first */
            rc = wait_for(r, &request, 0, e);
        else if (spin_for(r, &request, 1) < 0)
            rc = no_answer(r, 0, e);
        if (rc < 0)
            return rc;
        pair[1] = clock_now_ns();
        pthread_mutex_lock(&r->lock);
        code = MPI_Isend(&pair[1], sizeof(pair[1]), MPI_BYTE, 0, TAG_PONG, r->comm, &request);
        pthread_mutex_unlock(&r->lock);
        if (code != MPI_SUCCESS || spin_for(r, &request, 1) < 0)
            return no_answer(r, 0, e);
    }
    free(pair);
    return rc < 0 ? rc : receive_bytes(r, o, sizeof(*o), 0, e);
}

int ranks_measure(struct ranks *r, struct ranks_offset *o, struct err *e)
{
    int rc = 0;

    *o = (struct ranks_offset){0};
    r->crowded = false;
    if (r->rank > 0)
        rc = pong(r, o, e);
    for (unsigned i = 1; rc == 0 && r->rank == 0 && i < r->count; i++) {
        if (does_without(r, i))
            continue;
        rc = ping(r, i, e);
        if (rc == -ETIMEDOUT && r->goes_on) {
            leave(r, i);
            rc = 0;
        }
    }
    r->failed |= rc < 0;
    return rc;
}

int ranks_choose_start(struct ranks *r, const struct ranks_offset *o, int64_t *at_ns, struct err *e)
{
    int64_t at = clock_now_ns() + LEAD_NS + LEAD_PER_RANK_NS * r->count;
    int rc = spread(r, &at, sizeof(at), e);

    r->failed |= rc < 0;
    *at_ns = at + o->offset_ns;
    return rc;
}

/* ---- stopping ---- */

void ranks_stop(struct ranks *r)
{
    pthread_mutex_lock(&r->lock);
    if (r->stopped_by == NOBODY)
        r->stopped_by = r->rank;
    pthread_cond_signal(&r->turn);
    pthread_mutex_unlock(&r->lock);
}

bool ranks_stopped(struct ranks *r, unsigned *by)
{
    pthread_mutex_lock(&r->lock);
    bool stopped = r->stopped_by != NOBODY && r->stopped_by != r->rank;
    *by = r->stopped_by;
    pthread_mutex_unlock(&r->lock);
    return stopped;
}

/* ---- sending ---- */

static int send_all(struct ranks *r, const char *p, size_t len, struct err *e)
{
    int rc = 0;

    for (size_t at = 0; rc == 0 && at < len; at += PIECE)
        rc = send_bytes(r, p + at, len - at < PIECE ? len - at : PIECE, 0, e);
    return rc;
}

static int receive_all(struct ranks *r, char *p, size_t len, unsigned from, struct err *e)
{
    int rc = 0;

    for (size_t at = 0; rc == 0 && at < len; at += PIECE)
        rc = receive_bytes(r, p + at, len - at < PIECE ? len - at : PIECE, from, e);
    return rc;
}

/* Rank 0. *all: with room for all; a lost rank gets a length of 0. */
static int receive_texts(struct ranks *r, const void *own, size_t *n, char **all, struct err *e)
{
    size_t sum = 0;
    int rc = 0;

    for (unsigned i = 0; i < r->count; i++)
        sum += n[i] + 1;
    char *text = *all = malloc(sum);
    if (!text)
        return err_nomem(e, "ranks");
    memcpy(text, own, n[0]);
    for (unsigned i = 0; rc == 0 && i < r->count; i++) {
        if (i > 0)
            rc = n[i] > 0 && !does_without(r, i) ? receive_all(r, text, n[i], i, e) : 0;
        if (does_without(r, i)) {
            n[i] = 0;
            rc = 0;
        }
        text[n[i]] = '\0';
        text += n[i] + 1;
    }
    return rc;
}

int ranks_gather(struct ranks *r, const void *p, size_t len, char **all, size_t **lens,
                 struct err *e)
{
    size_t *n = calloc(r->count, sizeof(*n));
    int rc = n ? bring(r, &len, n, sizeof(len), e) : err_nomem(e, "ranks");

    *all = NULL;
    *lens = NULL;
    if (rc == 0 && r->rank > 0)
        rc = send_all(r, p, len, e);
    else if (rc == 0)
        rc = receive_texts(r, p, n, all, e);
    r->failed |= rc < 0;
    if (rc == 0 && r->rank == 0) {
        *lens = n;
        return 0;
    }
    free(*all);
    *all = NULL;
    free(n);
    return rc;
}

/* Each piece has its length before it; 0 ends the file, -1 says that it cannot be read. */
int ranks_send_file(struct ranks *r, const char *path, struct err *e)
{
    char *piece = malloc(PIECE);
    FILE *f = fopen(path, "re");
    int64_t n = 1;
    int rc = piece ? 0 : err_nomem(e, "ranks");

    while (rc == 0 && n > 0) {
        n = f ? (int64_t)fread(piece, 1, PIECE, f) : -1;
        if (f && ferror(f))
            n = -1;
        rc = send_bytes(r, &n, sizeof(n), 0, e);
        if (rc == 0 && n > 0)
            rc = send_bytes(r, piece, (size_t)n, 0, e);
    }
    r->failed |= rc < 0;
    if (rc == 0 && n < 0)
        rc = err_set(e, -EIO, ERR_FAILED, path, "cannot be read");
    if (f)
        fclose(f);
    free(piece);
    return rc;
}

int ranks_receive_file(struct ranks *r, unsigned from, const char *path, struct err *e)
{
    char *piece = malloc(PIECE);
    FILE *f = fopen(path, "we");
    int64_t n = 1;
    bool written = f != NULL;
    int rc = piece ? 0 : err_nomem(e, "ranks");

    /* Bytes are received even if they cannot be written: the sender waits for that. */
    while (rc == 0 && n > 0) {
        rc = receive_bytes(r, &n, sizeof(n), from, e);
        if (rc == 0 && n > 0)
            rc = receive_bytes(r, piece, (size_t)n, from, e);
        if (rc == 0 && n > 0 && written)
            written = fwrite(piece, 1, (size_t)n, f) == (size_t)n;
    }
    if (f && fclose(f) != 0)
        written = false;
    if (rc == 0 && n < 0)
        rc = err_set(e, -EIO, ERR_FAILED, "", "the results of rank %u on %s cannot be read", from,
                     r->host[from]);
    else if (rc == 0 && !written)
        rc = err_errno(e, errno ? errno : EIO, ERR_OUTPUT, path, "cannot be written");
    free(piece);
    return rc;
}
