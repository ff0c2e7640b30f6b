/* The processes that mpirun or srun started. All waits are tests of a request with sleeps between
 * them, since the waits of MPI implementations spin. Only the exchanges that measure clocks spin,
 * for some milliseconds before the run and after it. */
#include "lib/ranks/ranks.h"

#include <errno.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/ranks/part.h"

enum {
    TAG_PING = 1,
    TAG_PONG,
    TAG_START,
    TAG_LENGTH,
    TAG_DATA,
    TAG_STOP,
    EXCHANGES = 100,
    PIECE = 1 << 20 /* bytes of a message of a file */
};
#define SLEEP_LEAST_NS INT64_C(20000)
#define SLEEP_MOST_NS  INT64_C(2000000)
#define PATIENCE_NS    (10 * UNITS_NS_PER_S) /* after a signal */
/* How far ahead the start is, so that all have heard of it. */
#define LEAD_NS          INT64_C(50000000)
#define LEAD_PER_RANK_NS INT64_C(1000000)

struct ranks {
    MPI_Comm comm;
    unsigned rank, count;
    char (*host)[PART_HOST_CAP];
    bool lost;       /* a rank did not come: nothing is sent any more */
    int64_t most_ns; /* of ranks_limit_waits */
    bool told;       /* ranks_stop was called */
    bool heard;
    unsigned by;
    MPI_Request *stops; /* of ranks_stop */
    char stop_text;
};

static int lost(struct ranks *r, struct err *e)
{
    r->lost = true;
    return err_set(e, -ETIMEDOUT, ERR_FAILED, "", "another rank did not answer");
}

static int mpi_error(struct err *e, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len = 0;

    MPI_Error_string(code, text, &len);
    return err_set(e, -EIO, ERR_FAILED, "MPI", "%.300s", text);
}

/* Sleeps until the request is done. */
static int wait_for(struct ranks *r, MPI_Request *request, struct err *e)
{
    int64_t nap_ns = SLEEP_LEAST_NS, signal_ns = 0, begun_ns = clock_now_ns();
    int done = 0;

    for (;;) {
        int code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) {
            r->lost = true;
            return mpi_error(e, code);
        }
        if (done)
            return 0;
        int64_t now = clock_now_ns();
        if (stop_signal() && signal_ns == 0)
            signal_ns = now;
        if (r->lost || (r->most_ns && now - begun_ns > r->most_ns) ||
            (signal_ns && now - signal_ns > PATIENCE_NS))
            return lost(r, e);
        clock_sleep_until(now + nap_ns, 0);
        nap_ns = nap_ns * 2 < SLEEP_MOST_NS ? nap_ns * 2 : SLEEP_MOST_NS;
    }
}

static int send_bytes(struct ranks *r, const void *p, size_t n, unsigned to, int tag, struct err *e)
{
    MPI_Request request;
    int code = MPI_Isend(p, (int)n, MPI_BYTE, (int)to, tag, r->comm, &request);

    return code == MPI_SUCCESS ? wait_for(r, &request, e) : mpi_error(e, code);
}

static int receive_bytes(struct ranks *r, void *p, size_t n, unsigned from, int tag, struct err *e)
{
    MPI_Request request;
    int code = MPI_Irecv(p, (int)n, MPI_BYTE, (int)from, tag, r->comm, &request);

    return code == MPI_SUCCESS ? wait_for(r, &request, e) : mpi_error(e, code);
}

/* n bytes of each rank to all of them. */
static int all_gather(struct ranks *r, const void *own, void *all, size_t n, struct err *e)
{
    MPI_Request request;
    int code = MPI_Iallgather(own, (int)n, MPI_BYTE, all, (int)n, MPI_BYTE, r->comm, &request);

    return code == MPI_SUCCESS ? wait_for(r, &request, e) : mpi_error(e, code);
}

/* ---- opening and closing ---- */

int ranks_open(struct ranks **out, int *argc, char ***argv, struct err *e)
{
    struct ranks *r = calloc(1, sizeof(*r));
    char host[PART_HOST_CAP] = "";
    int level, rank, count;

    if (!r)
        return err_nomem(e, "ranks");
    int code = MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level);
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
    r->host = calloc(r->count, sizeof(r->host[0]));
    r->stops = calloc(r->count, sizeof(*r->stops));
    part_host_name(host);
    int rc =
        r->host && r->stops ? all_gather(r, host, r->host, sizeof(host), e) : err_nomem(e, "ranks");
    if (rc < 0) {
        r->lost = true;
        ranks_close(r, 1);
        return rc;
    }
    *out = r;
    return 0;
}

/* Takes the messages of ranks_stop that nobody waited for. */
static void take_stops(struct ranks *r)
{
    MPI_Status from;
    int there = 1;
    char text;

    while (MPI_Iprobe(MPI_ANY_SOURCE, TAG_STOP, r->comm, &there, &from) == MPI_SUCCESS && there) {
        MPI_Recv(&text, 1, MPI_BYTE, from.MPI_SOURCE, TAG_STOP, r->comm, MPI_STATUS_IGNORE);
        if (!r->heard)
            r->by = (unsigned)from.MPI_SOURCE;
        r->heard = true;
    }
}

void ranks_close(struct ranks *r, int status)
{
    struct err ignored = {0};

    if (!r)
        return;
    if (!r->lost) {
        char own = 0, *all = calloc(r->count, 1);
        for (unsigned i = 0; r->told && i < r->count; i++)
            if (i != r->rank)
                wait_for(r, &r->stops[i], &ignored);
        if (all && all_gather(r, &own, all, 1, &ignored) == 0)
            take_stops(r);
        free(all);
    }
    if (r->lost)
        MPI_Abort(MPI_COMM_WORLD, status ? status : 1);
    MPI_Comm_free(&r->comm);
    MPI_Finalize();
    free(r->host);
    free(r->stops);
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

/* ---- agreeing ---- */

int ranks_agree(struct ranks *r, int rc, struct err *e)
{
    struct outcome {
        int rc;
        struct err err;
    } own = {.rc = rc};
    unsigned first = 0;
    char where[320];

    if (rc < 0)
        own.err = *e;
    struct outcome *all = calloc(r->count, sizeof(*all));
    int failed = all ? all_gather(r, &own, all, sizeof(own), e) : err_nomem(e, "ranks");
    while (failed == 0 && first < r->count && all[first].rc >= 0)
        first++;
    if (failed == 0 && first < r->count) {
        const struct err *was = &all[first].err;
        failed = all[first].rc;
        snprintf(where, sizeof(where), "rank %u on %s%s%.200s", first, r->host[first],
                 was->where[0] ? ": " : "", was->where);
        err_set(e, failed, was->class, where, "%s", was->what);
    }
    free(all);
    return failed;
}

int ranks_same(struct ranks *r, struct hash128 h, const char *what, struct err *e)
{
    struct hash128 *all = calloc(r->count, sizeof(*all));
    char where[160];
    int rc = all ? all_gather(r, &h, all, sizeof(h), e) : err_nomem(e, "ranks");

    for (unsigned i = 1; rc == 0 && i < r->count; i++) {
        if (all[i].lo == all[0].lo && all[i].hi == all[0].hi)
            continue;
        snprintf(where, sizeof(where), "rank %u on %s", i, r->host[i]);
        rc = err_set(e, -EINVAL, ERR_INPUT, where, "%s: not the same as those of rank 0 on %s",
                     what, r->host[0]);
    }
    free(all);
    return rc;
}

/* ---- clocks ---- */

/* An exchange that takes so long has no end. */
static bool is_over(int64_t begun_ns)
{
    return stop_abandons() || clock_now_ns() - begun_ns > PATIENCE_NS;
}

/* Spins, giving the processor away where others want it. */
static int exchange(struct ranks *r, int64_t *sent, int64_t *got, unsigned peer, int tag_out,
                    int tag_in)
{
    MPI_Request request[2];
    MPI_Status status[2];
    int64_t begun_ns = clock_now_ns();
    int done = 0, code;

    code = MPI_Irecv(got, sizeof(*got), MPI_BYTE, (int)peer, tag_in, r->comm, &request[0]);
    if (code == MPI_SUCCESS)
        code = MPI_Isend(sent, sizeof(*sent), MPI_BYTE, (int)peer, tag_out, r->comm, &request[1]);
    while (code == MPI_SUCCESS && !done && !is_over(begun_ns)) {
        code = MPI_Testall(2, request, &done, status);
        if (!done)
            sched_yield();
    }
    return done ? 0 : -EIO;
}

/* Rank 0's side. The other answers each ping with its clock; the offset goes to it at the end. */
static int ping(struct ranks *r, unsigned peer, struct err *e)
{
    struct ranks_offset best = {.round_trip_ns = INT64_MAX};

    for (unsigned i = 0; i < EXCHANGES; i++) {
        int64_t begun = clock_now_ns(), theirs;
        if (exchange(r, &begun, &theirs, peer, TAG_PING, TAG_PONG) < 0)
            return lost(r, e);
        int64_t ended = clock_now_ns();
        if (i == 0 || ended - begun >= best.round_trip_ns) /* the other slept before the first */
            continue;
        best.round_trip_ns = ended - begun;
        best.offset_ns = theirs - (begun + (ended - begun) / 2);
    }
    return send_bytes(r, &best, sizeof(best), peer, TAG_START, e);
}

static int pong(struct ranks *r, struct ranks_offset *o, struct err *e)
{
    int64_t asked, now;

    for (unsigned i = 0; i < EXCHANGES; i++) {
        MPI_Request request;
        int64_t begun_ns = clock_now_ns();
        int done = 0;
        int code = MPI_Irecv(&asked, sizeof(asked), MPI_BYTE, 0, TAG_PING, r->comm, &request);
        if (code != MPI_SUCCESS)
            return mpi_error(e, code);
        if (i == 0 && wait_for(r, &request, e) < 0) /* rank 0 is with others first */
            return -ETIMEDOUT;
        while (i > 0 && !done) {
            if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || is_over(begun_ns))
                return lost(r, e);
            if (!done)
                sched_yield();
        }
        now = clock_now_ns();
        if (MPI_Send(&now, sizeof(now), MPI_BYTE, 0, TAG_PONG, r->comm) != MPI_SUCCESS)
            return lost(r, e);
    }
    return receive_bytes(r, o, sizeof(*o), 0, TAG_START, e);
}

int ranks_measure(struct ranks *r, struct ranks_offset *o, struct err *e)
{
    int rc = 0;

    *o = (struct ranks_offset){0};
    if (r->rank > 0)
        return pong(r, o, e);
    for (unsigned i = 1; rc == 0 && i < r->count; i++)
        rc = ping(r, i, e);
    return rc;
}

int ranks_choose_start(struct ranks *r, const struct ranks_offset *o, int64_t *at_ns, struct err *e)
{
    MPI_Request request;
    int64_t at = clock_now_ns() + LEAD_NS + LEAD_PER_RANK_NS * r->count;
    int code = MPI_Ibcast(&at, sizeof(at), MPI_BYTE, 0, r->comm, &request);
    int rc = code == MPI_SUCCESS ? wait_for(r, &request, e) : mpi_error(e, code);

    *at_ns = at + o->offset_ns;
    return rc;
}

/* ---- stopping ---- */

void ranks_limit_waits(struct ranks *r, int64_t most_ns)
{
    r->most_ns = most_ns;
}

void ranks_stop(struct ranks *r)
{
    if (r->told || r->lost)
        return;
    r->told = true;
    r->stop_text = 's';
    for (unsigned i = 0; i < r->count; i++) {
        r->stops[i] = MPI_REQUEST_NULL;
        if (i != r->rank)
            MPI_Isend(&r->stop_text, 1, MPI_BYTE, (int)i, TAG_STOP, r->comm, &r->stops[i]);
    }
}

bool ranks_stopped(struct ranks *r, unsigned *by)
{
    if (!r->lost)
        take_stops(r);
    if (r->heard)
        *by = r->by;
    return r->heard;
}

/* ---- sending ---- */

static int send_all(struct ranks *r, const char *p, size_t len, struct err *e)
{
    int rc = 0;

    for (size_t at = 0; rc == 0 && at < len; at += PIECE)
        rc = send_bytes(r, p + at, len - at < PIECE ? len - at : PIECE, 0, TAG_DATA, e);
    return rc;
}

static int receive_all(struct ranks *r, char *p, size_t len, unsigned from, struct err *e)
{
    int rc = 0;

    for (size_t at = 0; rc == 0 && at < len; at += PIECE)
        rc = receive_bytes(r, p + at, len - at < PIECE ? len - at : PIECE, from, TAG_DATA, e);
    return rc;
}

int ranks_gather(struct ranks *r, const void *p, size_t len, char **all, size_t **lens,
                 struct err *e)
{
    size_t *n = calloc(r->count, sizeof(*n)), sum = 0, at = 0;
    char *text = NULL;
    int rc = n ? all_gather(r, &len, n, sizeof(len), e) : err_nomem(e, "ranks");

    *all = NULL;
    *lens = NULL;
    if (rc == 0 && r->rank > 0) {
        rc = send_all(r, p, len, e);
    } else if (rc == 0) {
        for (unsigned i = 0; i < r->count; i++)
            sum += n[i] + 1;
        text = malloc(sum);
        if (!text)
            rc = err_nomem(e, "ranks");
        for (unsigned i = 0; rc == 0 && i < r->count; i++) {
            if (i == 0)
                memcpy(text, p, len);
            else
                rc = receive_all(r, text + at, n[i], i, e);
            text[at + n[i]] = '\0';
            at += n[i] + 1;
        }
    }
    if (rc == 0 && r->rank == 0) {
        *all = text;
        *lens = n;
        return 0;
    }
    free(text);
    free(n);
    return rc;
}

/* A message of length 0 ends the file; one of -1 that it cannot be read. */
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
        rc = send_bytes(r, &n, sizeof(n), 0, TAG_LENGTH, e);
        if (rc == 0 && n > 0)
            rc = send_bytes(r, piece, (size_t)n, 0, TAG_DATA, e);
    }
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

    /* What cannot be written is taken all the same: the sender waits for it. */
    while (rc == 0 && n > 0) {
        rc = receive_bytes(r, &n, sizeof(n), from, TAG_LENGTH, e);
        if (rc == 0 && n > 0)
            rc = receive_bytes(r, piece, (size_t)n, from, TAG_DATA, e);
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
