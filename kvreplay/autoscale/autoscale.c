/* Around the sequence of a replay. Each step makes a trace for its number of users
 * (step_command.c), serves it without results (run.c), and lets search.c choose the next number.
 * The answer is run once more, with results and summary, so that what was found is also confirmed.
 * Several ranks divide the users of a step, and start it together; many/pool.c makes one figure of
 * theirs. Rank 0 alone searches, and the others do what it decides.
 */
#include "kvreplay/autoscale/autoscale.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kvreplay/autoscale/search.h"
#include "kvreplay/autoscale/step_command.h"
#include "kvreplay/many/collect.h"
#include "kvreplay/many/pool.h"
#include "lib/base/clock.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/conf/given.h"
#include "lib/facts/facts.h"

enum {
    AUTOSCALE_WORKERS = 500 /* at most, as in the MLPerf storage benchmark */
};
#define AUTOSCALE_DAMPED 0.5

struct step {
    double time_s; /* since the search began */
    uint64_t users;
    struct replay_figures f;
    double saturation; /* NAN: nothing to judge by */
    char action[16], reason[120];
};

/* The next step. */
struct order {
    uint64_t users; /* 0: nothing */
    bool confirms;  /* it is the answer */
};

struct autoscale {
    const struct replay_input *in;
    const struct options *o;
    struct ranks *ranks;
    bool leads; /* is rank 0, or the only one: the search is its alone, and so are messages */
    struct search search;
    struct step_command command;
    int64_t qos_limit_ns[TRACE_QOSES]; /* 0: none */
    int64_t began_ns, began_wall_ns;
    struct step step[2 * SEARCH_STEPS]; /* with those that confirm an answer, or do not */
    unsigned steps;
    bool timed_out; /* --search-time is over */
    bool bytes;     /* the traces have no tokens: throughput is bytes moved */
    bool failed, interrupted, confirmed;
    struct replay_figures *figures; /* of the step under way */
    bool lost;                      /* a rank */
    unsigned lost_rank;
};

/* ---- limits and saturation ---- */

/* Reads the texts of --config qos_p95: "interactive=200ms". */
static int autoscale_limits(struct autoscale *a, struct err *e)
{
    for (size_t i = 0; i < a->o->qos_p95.count; i++) {
        const char *text = a->o->qos_p95.item[i], *equals = strchr(text, '=');
        size_t len = equals ? (size_t)(equals - text) : 0;
        unsigned qos = 0;
        for (; equals && qos < TRACE_QOSES; qos++) {
            const char *name = trace_qos_text((enum trace_qos)qos);
            if (strlen(name) == len && strncmp(name, text, len) == 0)
                break;
        }
        if (!equals || qos == TRACE_QOSES ||
            units_parse_duration(equals + 1, &a->qos_limit_ns[qos]) < 0 ||
            a->qos_limit_ns[qos] <= 0)
            return err_set(e, -EINVAL, ERR_INPUT, "--config qos_p95",
                           "%s: expected interactive, responsive or batch, = and a time", text);
    }
    return 0;
}

static double autoscale_throughput(const struct autoscale *a, const struct replay_figures *f)
{
    return (double)(a->bytes ? f->bytes : f->tokens) / f->seconds;
}

static double autoscale_larger(double a, double b)
{
    return isnan(a) || b > a ? b : a;
}

/* The largest of the P95s and of the waiting requests, each as a share of its limit; NAN: nothing
 * to judge by. */
static double autoscale_share(const struct autoscale *a, const struct replay_figures *f)
{
    double share = NAN;
    if (f->read_p95_ns != TRACE_NONE)
        share = (double)f->read_p95_ns / (double)a->o->storage_p95_ns;
    if (f->write_p95_ns != TRACE_NONE && a->o->write_p95_ns > 0)
        share = autoscale_larger(share, (double)f->write_p95_ns / (double)a->o->write_p95_ns);
    if (a->o->queue_limit > 0)
        share = autoscale_larger(share, (double)f->waiting / (double)a->o->queue_limit);
    return share;
}

/* The same, damped while throughput still rises. */
static double autoscale_saturation(const struct autoscale *a, const struct replay_figures *f)
{
    double share = autoscale_share(a, f);
    return a->search.flattened ? share : share * AUTOSCALE_DAMPED;
}

/* ---- reports ---- */

/* The answer; NULL: the search is not over, or there is none. */
static const struct search_point *autoscale_found(const struct autoscale *a)
{
    return a->search.next ? NULL : search_answer(&a->search);
}

static const char *autoscale_unit(const struct autoscale *a, char *buf, size_t n, double throughput)
{
    char text[32];
    if (a->bytes)
        snprintf(buf, n, "%s", units_format_rate(text, sizeof(text), throughput));
    else
        snprintf(buf, n, "%.*f tokens/s", throughput < 1000 ? 1 : 0, throughput);
    return buf;
}

/* Why the search ended. */
static const char *autoscale_reason(const struct autoscale *a, char *buf, size_t n)
{
    const struct search_point *found = autoscale_found(a);
    bool qos = a->search.o.mode == SEARCH_QOS;
    const char *wanted = qos ? "within the limits" : "without failed rows";

    if (a->lost)
        snprintf(buf, n, "rank %u on %s was lost before the end of the search", a->lost_rank,
                 ranks_host(a->ranks, a->lost_rank));
    else if (a->search.next)
        snprintf(buf, n, "interrupted before the end of the search");
    else if (!found && a->timed_out)
        snprintf(buf, n, "no number of users was served %s before --search-time was over", wanted);
    else if (!found && a->o->min_users > 1)
        snprintf(buf, n, "not even %" PRIu64 " users, the fewest allowed, are served %s",
                 a->o->min_users, wanted);
    else if (!found)
        snprintf(buf, n, "not even one user is served %s", wanted);
    else if (a->timed_out)
        snprintf(buf, n, "the best so far when --search-time was over");
    else if (found->users == a->search.o.max)
        snprintf(buf, n, "the most users allowed: %s", a->search.reason);
    else
        snprintf(buf, n, "%s",
                 qos ? "largest number of users within the limits" : "peak capacity found");
    return buf;
}

/* TRACE_NONE: not measured. */
static double autoscale_ms(int64_t ns)
{
    return ns == TRACE_NONE ? NAN : (double)ns / 1e6;
}

static void json_step(const struct autoscale *a, struct jsonout *j, const struct step *s)
{
    const struct replay_figures *f = &s->f;
    double seconds = f->seconds > 0 ? f->seconds : NAN;

    jsonout_object(j, NULL);
    jsonout_f64(j, "time_s", s->time_s);
    jsonout_u64(j, "users", s->users);
    jsonout_f64(j, "measured_s", f->seconds);
    jsonout_f64(j, "throughput_tokens_per_s", a->bytes ? NAN : (double)f->tokens / seconds);
    jsonout_f64(j, "throughput_bytes_per_s", (double)f->bytes / seconds);
    jsonout_f64(j, "storage_read_p95_ms", autoscale_ms(f->read_p95_ns));
    jsonout_f64(j, "storage_write_p95_ms", autoscale_ms(f->write_p95_ns));
    jsonout_f64(j, "queue_p95_ms", autoscale_ms(f->queue_p95_ns));
    jsonout_u64(j, "requests_waiting", f->waiting);
    jsonout_object(j, "end_to_end_p95_ms");
    for (unsigned i = 0; i < TRACE_QOSES; i++)
        jsonout_f64(j, trace_qos_text((enum trace_qos)i), autoscale_ms(f->end_to_end_p95_ns[i]));
    jsonout_end(j);
    jsonout_u64(j, "failed_rows", f->failed);
    jsonout_f64(j, "saturation", s->saturation);
    jsonout_bool_if(j, "saturated", !isnan(s->saturation),
                    s->saturation >= a->o->target_saturation);
    jsonout_text_value(j, "action", s->action);
    jsonout_text_value(j, "reason", s->reason);
    jsonout_end(j);
}

static void autoscale_json(const struct autoscale *a, struct jsonout *j)
{
    static const char *const read[] = {"autoscaler", "saturation_detection", NULL};
    const struct search_point *found = autoscale_found(a);
    char reason[160];
    struct facts f = {0};

    given_put(j, a->o->conf, read);
    jsonout_array(j, "autoscaling_stats");
    for (unsigned i = 0; i < a->steps; i++)
        json_step(a, j, &a->step[i]);
    jsonout_end(j);
    facts_put_text(&f, FACT_FOUND_MODE, a->search.o.mode == SEARCH_QOS ? "qos" : "capacity");
    facts_put_count(&f, FACT_FOUND_USERS, found, found ? found->users : 0);
    facts_put_count(&f, FACT_FOUND_RANKS, true, ranks_count(a->ranks));
    facts_put_number(&f, FACT_FOUND_TOKENS_PER_S, found && !a->bytes ? found->throughput : NAN);
    facts_put_text(&f, FACT_FOUND_REASON, autoscale_reason(a, reason, sizeof(reason)));
    facts_write(j, &f, FACTS_OF_FOUND);
}

/* ---- steps ---- */

/* Users that this rank serves of those of all. */
static uint64_t autoscale_own(const struct autoscale *a, uint64_t users)
{
    uint64_t ranks = ranks_count(a->ranks);
    return users / ranks + (ranks_rank(a->ranks) < users % ranks);
}

static void autoscale_read(void *ctx, bool at_end)
{
    struct autoscale *a = ctx;
    step_command_stop(&a->command, at_end);
}

/* A rank that is lost takes its users with it: that ends the search. */
static void autoscale_find_lost(struct autoscale *a)
{
    for (unsigned i = 0; i < ranks_count(a->ranks) && !a->lost; i++) {
        a->lost = ranks_lost(a->ranks, i);
        a->lost_rank = i;
    }
}

static int autoscale_pool(void *ctx, int rc, const struct replay_times *times, struct err *e)
{
    struct autoscale *a = ctx;
    return pool_figures(a->ranks, rc, a->figures, times, e);
}

/* All ranks. What came of their commands: of the first that failed, or -EINTR where there was a
 * signal. users: of this rank. */
static int autoscale_commands(struct autoscale *a, uint64_t users, struct err *e)
{
    int rc = stop_signal() ? -EINTR : 0;

    if (rc == 0 && a->command.failed)
        rc = err_set(
            e, -EINVAL, ERR_INPUT, "--each",
            "the command for %" PRIu64 " user%s ended with status %d", users, units_plural(users),
            a->command.status >> 8 ? a->command.status >> 8 : 128 + (a->command.status & 127));
    return ranks_agree(a->ranks, rc, e);
}

/* rc and *e are a step's, the same on all ranks. The command's own failure goes first, since it is
 * the cause of what the replay finds wrong; else the name of the pipe is replaced by the step's. */
static int autoscale_failed(struct autoscale *a, uint64_t users, int rc, struct err *e)
{
    struct err was = *e;
    char where[320];

    if (rc < 0)
        step_command_stop(&a->command, true);
    int failed = autoscale_commands(a, users, e);
    if (failed < 0)
        return failed;
    const char *pipe = strstr(was.where, STEP_COMMAND_FOLDER);
    if (rc == 0 || !pipe)
        return rc;
    const char *rest = pipe + strlen(STEP_COMMAND_FOLDER); /* the number may be another rank's */
    snprintf(where, sizeof(where), "%.*s--each (%" PRIu64 " user%s)%.100s", (int)(pipe - was.where),
             was.where, users, units_plural(users), rest + strspn(rest, "0123456789"));
    return err_set(e, rc, was.class, where, "%s", was.what);
}

/* Runs one trace for that many users. The other members of in say what is reported. */
static int autoscale_serve(struct autoscale *a, uint64_t users, const struct replay_input *in,
                           int *status, struct err *e)
{
    struct options o = *a->o;
    uint64_t own = autoscale_own(a, users);
    bool several = ranks_count(a->ranks) > 1;

    o.workers = own < AUTOSCALE_WORKERS ? own : AUTOSCALE_WORKERS;
    o.warmup_ns = o.step_warmup_ns;
    o.duration_ns = o.step_warmup_ns + o.step_duration_ns;
    int rc = step_command_start(&a->command, o.each, own, e);
    if (rc == 0)
        rc = step_command_ready(&a->command, o.each_timeout_ns, e);
    rc = ranks_agree(a->ranks, rc, e);
    if (rc < 0) {
        step_command_close(&a->command);
        a->interrupted |= rc == -EINTR;
        return a->interrupted ? 0 : rc;
    }
    struct replay_input step = *in;
    step.options = &o;
    step.trace = a->command.path;
    step.read = autoscale_read;
    step.ctx = a;
    step.pool = several ? autoscale_pool : NULL;
    step.users = own;
    a->figures = in->figures;
    rc = collect_run(a->ranks, &step, status, e);
    rc = autoscale_failed(a, own, rc, e);
    step_command_close(&a->command);
    autoscale_find_lost(a);
    a->failed |= *status != 0;
    a->interrupted |=
        rc == -EINTR || a->lost || (in->figures->interrupted && !in->figures->stopped);
    return a->interrupted ? 0 : rc;
}

/* Keeps a step for the summary. */
static const struct step *autoscale_keep(struct autoscale *a, uint64_t users,
                                         const struct replay_figures *f, const char *action,
                                         const char *reason)
{
    struct step *s = &a->step[a->steps++];

    *s = (struct step){.time_s = (double)(clock_now_ns() - a->began_ns) / 1e9,
                       .users = users,
                       .f = *f,
                       .saturation = autoscale_saturation(a, f)};
    snprintf(s->action, sizeof(s->action), "%s", action);
    snprintf(s->reason, sizeof(s->reason), "%s", reason);
    return s;
}

/* Every limit was kept. Where nothing was served, nothing was late: that keeps none. */
static bool autoscale_within(const struct autoscale *a, const struct replay_figures *f)
{
    bool within = !f->failed && f->seconds > 0 && autoscale_throughput(a, f) > 0 &&
                  f->read_p95_ns <= a->o->storage_p95_ns;

    for (unsigned i = 0; i < TRACE_QOSES; i++)
        within &= a->qos_limit_ns[i] == 0 || f->end_to_end_p95_ns[i] <= a->qos_limit_ns[i];
    if (a->o->saturation_limits)
        within &= !(autoscale_share(a, f) > a->o->target_saturation);
    return within;
}

/* Says what a step of that many users came to. */
static void autoscale_tell(const struct autoscale *a, uint64_t users, const struct step *s)
{
    const struct replay_figures *f = &s->f;
    char text[48], p95[32] = "-";

    if (f->read_p95_ns != TRACE_NONE)
        units_format_duration(p95, sizeof(p95), (double)f->read_p95_ns);
    fprintf(stderr, "kvreplay%s: step %u: %" PRIu64 " user%s: %s, storage read P95 %s",
            ranks_suffix(), a->steps, users, units_plural(users),
            autoscale_unit(a, text, sizeof(text), autoscale_throughput(a, f)), p95);
    if (!isnan(s->saturation))
        fprintf(stderr, ", saturation %.2f", s->saturation);
    if (f->failed)
        fprintf(stderr, ", %" PRIu64 " row%s failed", f->failed, units_plural(f->failed));
    fprintf(stderr, "; %s: %s\n", s->action, s->reason);
}

static int autoscale_step(struct autoscale *a, uint64_t users, struct err *e)
{
    struct replay_figures f = {0};
    struct replay_input in = *a->in;
    double want_s = (double)a->o->step_duration_ns / 1e9;
    double settle_s = (double)a->o->step_warmup_ns / 1e9;
    int status = 0;

    in.silent = true;
    in.figures = &f;
    int rc = autoscale_serve(a, users, &in, &status, e);
    if (rc < 0 || a->interrupted)
        return rc;
    if (f.stopped)
        return err_set(e, -EIO, ERR_FAILED, "--autoscale",
                       "the step of %" PRIu64 " user%s stopped at a failed row", users,
                       units_plural(users));
    if (f.least_s < want_s / 2)
        return err_set(e, -EINVAL, ERR_INPUT, "--each",
                       "the trace of %" PRIu64 " user%s ended too early: a step needs %g s of it "
                       "(--step-warmup and --step-duration)",
                       users, units_plural(users), (want_s + settle_s) * a->o->speed);
    a->failed |= f.failed > 0;
    if (!a->leads)
        return 0;
    if (a->steps == 0)
        a->bytes = f.tokens == 0;
    double throughput = f.failed ? 0 : autoscale_throughput(a, &f);
    search_take(&a->search, throughput, autoscale_within(a, &f));
    autoscale_tell(a, users, autoscale_keep(a, users, &f, a->search.action, a->search.reason));
    return 0;
}

/* ---- the end ---- */

/* Adds the search to the summary of the answer's own run, which is its last step. */
static void autoscale_more(void *ctx, struct jsonout *j, const struct replay_figures *figures)
{
    const struct autoscale *a = ctx;
    (void)figures;
    autoscale_json(a, j);
}

/* Copies the file to standard output. */
static int copy_out(const char *path, struct err *e)
{
    static const char output[] = "standard output";
    FILE *f = fopen(path, "re");
    char text[65536];
    size_t n;
    int rc = 0;

    if (!f)
        return err_errno(e, errno, ERR_OUTPUT, path, "cannot read");
    while (rc == 0 && (n = fread(text, 1, sizeof(text), f)) > 0)
        if (fwrite(text, 1, n, stdout) != n)
            rc = -errno;
    if (rc == 0 && (ferror(f) || fflush(stdout) != 0))
        rc = errno ? -errno : -EIO;
    fclose(f);
    return rc < 0 && rc != -EPIPE ? err_errno(e, rc, ERR_OUTPUT, output, "cannot write") : rc;
}

/* Whether the answer, run again, is one. With qos a number of users that now passes a limit is not:
 * the search goes on below it. A run that was cut short is reported as it is. */
static bool autoscale_judge(struct autoscale *a, const struct replay_figures *f)
{
    uint64_t users = search_answer(&a->search)->users;
    char p95[32] = "-";

    if (a->search.o.mode != SEARCH_QOS || f->interrupted || f->stopped ||
        a->steps + 1 >= 2 * SEARCH_STEPS || autoscale_within(a, f)) {
        if (f->seconds > 0)
            autoscale_keep(a, users, f, "confirm", "the answer again");
        return true;
    }
    search_reject(&a->search, users);
    autoscale_keep(a, users, f, "confirm", "a limit is passed this time: fewer users");
    if (f->read_p95_ns != TRACE_NONE)
        units_format_duration(p95, sizeof(p95), (double)f->read_p95_ns);
    fprintf(stderr,
            "kvreplay%s: step %u: %" PRIu64
            " user%s again: storage read P95 %s: a limit is passed this "
            "time\n",
            ranks_suffix(), a->steps, users, units_plural(users), p95);
    return false;
}

static bool autoscale_accept(void *ctx, const struct replay_figures *f)
{
    struct autoscale *a = ctx;
    struct err e = {0};

    a->confirmed = a->leads && autoscale_judge(a, f);
    /* Where rank 0 is gone, what follows fails. */
    if (ranks_spread(a->ranks, &a->confirmed, sizeof(a->confirmed), &e) < 0)
        a->confirmed = true;
    return a->confirmed;
}

/* Runs the answer once more, with results and summary. Rows for standard output wait in a file
 * until the answer is known to be one; those of ranks wait in their spools anyway. */
static int autoscale_confirm(struct autoscale *a, uint64_t users, int *status, struct err *e)
{
    const char *results = options_results(a->o);
    bool waits = ranks_count(a->ranks) == 1 && a->search.o.mode == SEARCH_QOS && results &&
                 strcmp(results, "-") == 0;
    char scratch[] = P_tmpdir "/kvreplay-autoscale-XXXXXX";
    struct replay_figures f = {0};
    struct replay_input in = *a->in;
    int fd = waits ? mkstemp(scratch) : -1;

    if (waits && fd < 0)
        return err_errno(e, errno, ERR_OUTPUT, scratch, "cannot create");
    in.silent = false;
    in.figures = &f;
    in.more = autoscale_more;
    in.accept = autoscale_accept;
    in.results = waits ? scratch : NULL;
    int rc = autoscale_serve(a, users, &in, status, e);
    if (rc == 0 && waits && a->confirmed)
        rc = copy_out(scratch, e);
    if (waits) {
        close(fd);
        unlink(scratch);
    }
    return rc;
}

/* The summary when there is no answer, and so no last run to write it. */
static int autoscale_summary(const struct autoscale *a, struct err *e)
{
    if (!a->o->summary)
        return 0;
    struct jsonout *j = jsonout_create();
    if (!j)
        return err_nomem(e, "summary");
    jsonout_identity(j, "kvreplay", a->in->argc, a->in->argv, a->began_wall_ns);
    autoscale_json(a, j);
    jsonout_object(j, "options");
    jsonout_options(j, a->in->parser);
    jsonout_end(j);
    int rc = jsonout_save(j, a->o->summary, e);
    jsonout_free(j);
    return rc;
}

/* Rank 0 says what all do next. */
static int autoscale_decide(struct autoscale *a, struct order *next, struct err *e)
{
    const int64_t limit_ns = a->o->search_time_ns;

    *next = (struct order){0};
    if (a->leads && !a->interrupted && !a->confirmed) {
        if (limit_ns > 0 && a->steps > 0 && a->search.next &&
            clock_now_ns() - a->began_ns >= limit_ns)
            a->timed_out = true;
        if (a->timed_out)
            a->search.next = 0;
        const struct search_point *found = autoscale_found(a);
        next->users = a->search.next ? a->search.next : found ? found->users : 0;
        next->confirms = !a->search.next;
    }
    return ranks_spread(a->ranks, next, sizeof(*next), e);
}

/* Rank 0: the answer in a sentence. */
static void autoscale_conclude(const struct autoscale *a)
{
    const struct search_point *found = autoscale_found(a);
    char reason[160], throughput[48];

    fprintf(stderr, "kvreplay%s: %s", ranks_suffix(), autoscale_reason(a, reason, sizeof(reason)));
    if (found)
        fprintf(stderr, ": %" PRIu64 " user%s, %s", found->users, units_plural(found->users),
                autoscale_unit(a, throughput, sizeof(throughput), found->throughput));
    fputc('\n', stderr);
}

static int autoscale_search(struct autoscale *a, int *status, struct err *e)
{
    const struct options *o = a->o;
    struct order next;
    int rc = autoscale_limits(a, e);

    search_begin(&a->search, &(struct search_opts){.mode = o->autoscale,
                                                   .start = o->start_users,
                                                   .min = o->min_users,
                                                   .max = o->max_users,
                                                   .scale_up = o->scale_up,
                                                   .scale_down = o->scale_down});
    if (rc == 0)
        rc = autoscale_decide(a, &next, e);
    while (rc == 0 && next.users > 0) {
        rc = next.confirms ? autoscale_confirm(a, next.users, status, e)
                           : autoscale_step(a, next.users, e);
        if (rc == 0)
            rc = autoscale_decide(a, &next, e);
    }
    if (rc == 0)
        rc = ranks_agree(a->ranks, a->leads && !a->confirmed ? autoscale_summary(a, e) : 0, e);
    if (a->leads && (rc == 0 || a->confirmed))
        autoscale_conclude(a);
    if (a->failed || a->lost || (a->leads && !a->search.next && !autoscale_found(a)))
        *status = 1;
    return rc;
}

int autoscale_run(struct ranks *ranks, const struct replay_input *in, int *status, struct err *e)
{
    struct autoscale *a = calloc(1, sizeof(*a));

    if (!a)
        return err_nomem(e, "autoscale");
    a->in = in;
    a->o = in->options;
    a->ranks = ranks;
    a->leads = ranks_rank(ranks) == 0;
    a->command.fd = -1;
    a->began_ns = clock_now_ns();
    a->began_wall_ns = clock_wall_ns();
    int rc = autoscale_search(a, status, e);
    free(a);
    return rc;
}
