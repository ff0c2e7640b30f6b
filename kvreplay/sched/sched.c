/* The heart of a replay, one thread: rows come from the reader in the order of the trace, wait for
 * other rows (order), room (plan), their time (timers) and a slot in flight, go to their tier, and
 * leave when it is done. The way to the tier is dispatch.c's, what is kept of a row ledger.c's.
 *
 * Why it cannot get stuck: the earliest unfinished row is always inside the window. It waits for no
 * other row, since chains are first come first served; for no room, since room is granted in the
 * order of the trace, all earlier rows have given back theirs, and a row that would not fit then
 * was marked at admission; for a slot only while others run, since slots are held by running
 * operations and nothing else; for a worker (served) as the first in line only, and that is let in
 * when all workers wait. So some row can always run. */
#include "kvreplay/sched/sched.h"

#include <errno.h>
#include <stdlib.h>

#include "kvreplay/sched/admission.h"
#include "kvreplay/sched/dispatch.h"
#include "kvreplay/sched/idle.h"
#include "kvreplay/sched/intake.h"
#include "kvreplay/sched/ledger.h"
#include "kvreplay/sched/pace.h"
#include "kvreplay/sched/row_list.h"
#include "kvreplay/sched/schedule.h"
#include "kvreplay/sched/timers.h"
#include "kvreplay/sched/worker.h"
#include "lib/base/stop.h"

enum {
    SCHED_POLL = 64,
    SCHED_TICK = 256
};

struct sched {
    struct sched_opts o;
    struct sched_env env;
    struct order *order;
    struct timers *timers;
    struct admission *admission; /* NULL: not served */
    struct dispatch dispatch;
    struct row_list ready, no_room[TRACE_TIERS];
    struct intake intake;
    size_t inside;    /* rows admitted and not finished */
    size_t held;      /* of these, Generate rows that hold their request */
    uint64_t started; /* rows */
    uint64_t generation;
    bool head, zero_known, stopping;
    struct ledger ledger;
    struct pace *pace; /* NULL: not closed */
    struct idle idle;
    unsigned loops;
    struct schedule schedule;
    int64_t end_ns;  /* --duration is over then; INT64_MAX: never */
    uint64_t newest; /* number of the last row admitted */
    struct sched_outcome outcome;
    int rc;
    struct err *e;
};

static int64_t sched_now(const struct sched *s)
{
    return s->o.clock->now_ns(s->o.clock->ctx);
}

static void sched_stop(struct sched *s, enum sched_end why)
{
    if (!s->stopping) {
        s->outcome.end = why;
        s->outcome.waiting = s->admission ? admission_waiting(s->admission, sched_now(s)) : 0;
    }
    s->stopping = true;
}

static void sched_fail(struct sched *s, int rc)
{
    if (s->rc == 0 && rc != -EPIPE) /* a reader that goes away is a quiet end */
        s->rc = rc;
    sched_stop(s, rc == -EPIPE ? SCHED_EPIPE : SCHED_ERROR);
}

/* ---- from waiting to ready ---- */

/* All that it waited for was there at when_ns; only its time and a slot may be missing now. */
static void sched_eligible(struct sched *s, struct row *r, int64_t when_ns)
{
    r->t.eligible_ns = when_ns;
    if (r->stage == ROW_MAIN && r->t.due_ns != TRACE_NONE &&
        (r->t.due_ns > when_ns || r->t.due_ns >= s->end_ns)) {
        r->wake_ns = r->t.due_ns;
        timers_add(s->timers, r);
        return;
    }
    list_append(&s->ready, r);
}

/* Room is granted in the order of the trace, to the head of the line only. */
static void sched_grant(struct sched *s, unsigned tier, int64_t when_ns)
{
    struct row_list *line = &s->no_room[tier];
    while (line->head && room_reserve(&s->env.room[tier], &line->head->plan)) {
        struct row *r = list_pop(line);
        r->waits &= (uint8_t)~ROW_WAIT_ROOM;
        if (r->waits == 0)
            sched_eligible(s, r, when_ns);
    }
}

/* ---- finishing ---- */

static void sched_emit(struct sched *s, struct row *r)
{
    bool ends;
    int rc = ledger_finished(&s->ledger, r, &ends, s->e);

    if (rc < 0)
        sched_fail(s, rc);
    if (ends)
        sched_stop(s, SCHED_ERROR);
}

/* The row is finished at done_ns, its result columns set: lets others go on. */
static void sched_finish(struct sched *s, struct row *r, int64_t done_ns)
{
    sched_emit(s, r);
    if (r->t.op == TRACE_WRITE)
        order_wrote(r, done_ns);
    for (struct row *w = order_leave(s->order, r), *next; w; w = next) {
        next = w->woken;
        if (w->waits == 0)
            sched_eligible(s, w, done_ns);
    }
    if (r->plan.give || r->plan.give_objects) {
        room_release(&s->env.room[r->t.tier], &r->plan);
        sched_grant(s, r->t.tier, done_ns);
    }
    s->inside--;
    objects_release(s->env.objects, r->plan.object);
    if (s->admission)
        admission_leave(s->admission, r, done_ns);
    struct row *after = s->pace && !r->head && r->has_user ? pace_leave(s->pace, r, done_ns) : NULL;
    if (after)
        timers_expect(s->timers, after->t.due_ns, done_ns);
    if (after && after->waits == 0)
        sched_eligible(s, after, done_ns);
    reader_give(s->env.reader, r);
}

/* ---- issuing ---- */

static void sched_started(struct sched *s, struct row *r, int64_t now, int64_t slot_ns)
{
    s->started++;
    if (slot_ns > r->t.eligible_ns)
        r->t.eligible_ns = slot_ns;
    r->t.start_ns = now;
    r->t.latency_ns = 0;
    r->t.device_ns = TRACE_NONE;
    if (!ledger_started(&s->ledger, r))
        return;
    s->outcome.lagged = true;
    if (s->o.on_lag == SCHED_LAG_STOP)
        sched_stop(s, SCHED_LAGGED);
}

/* A Generate row holds its request for its time; in a run as fast as possible it takes none. */
static void sched_no_io(struct sched *s, struct row *r)
{
    int64_t now = sched_now(s);

    sched_started(s, r, now, INT64_MIN);
    r->t.status = TRACE_OK;
    if (r->t.op == TRACE_GENERATE && s->o.timed && !r->head && !s->ledger.lag.skip_waits &&
        r->t.duration_ns > 0) {
        r->held = true;
        r->wake_ns = now + schedule_scaled(&s->schedule, (double)r->t.duration_ns);
        s->held++;
        timers_add(s->timers, r);
        return;
    }
    sched_finish(s, r, now);
}

/* False: it must stay in line, for want of a slot. */
static bool sched_issue(struct sched *s, struct row *r)
{
    bool main_stage = r->stage == ROW_MAIN;
    int64_t now, slot_ns;

    if (r->t.tier == TRACE_NO_TIER) {
        list_pop(&s->ready);
        sched_no_io(s, r);
        return true;
    }
    if (dispatch_shut(&s->dispatch, r)) {
        dispatch_hold(&s->dispatch, list_pop(&s->ready));
        return true;
    }
    enum dispatch_end end = dispatch_row(&s->dispatch, r, &now, &slot_ns);
    if (end == DISPATCH_REFUSED)
        return false;
    list_pop(&s->ready);
    if (main_stage || end == DISPATCH_NOTHING)
        sched_started(s, r, now, slot_ns);
    if (end == DISPATCH_NOTHING)
        sched_finish(s, r, now);
    return true;
}

/* The next row that may go: when the run is to end, those that have begun and clean up. */
static struct row *sched_next(struct sched *s)
{
    while (s->stopping && s->ready.head && s->ready.head->stage != ROW_CLEAN)
        list_pop(&s->ready);
    return s->ready.head;
}

/* Releases what is ready and what has come due. True: something was. */
static bool sched_release(struct sched *s)
{
    bool any = false;
    struct row *r;

    while (timers_next_ns(s->timers) < s->end_ns && (r = timers_pop(s->timers, sched_now(s)))) {
        any = true;
        if (!r->held) {
            list_append(&s->ready, r);
            continue;
        }
        int64_t now = sched_now(s);
        s->held--;
        r->t.latency_ns = now - r->t.start_ns;
        sched_finish(s, r, now);
    }
    while ((r = sched_next(s)) && sched_issue(s, r))
        any = true;
    dispatch_kick(&s->dispatch);
    return any;
}

/* ---- completions ---- */

static void sched_created(struct sched *s, struct row *r, int64_t done_ns)
{
    order_wrote(r, done_ns);
    if (r->stage == ROW_MAIN)
        ledger_created(&s->ledger, r);
    else /* it failed, and the row with it */
        sched_started(s, r, done_ns, INT64_MIN);
}

static void sched_complete(struct sched *s, struct tier_op *op)
{
    struct row *r = op->owner;
    enum row_stage was = r->stage;
    int64_t done_ns = op->done_ns;
    bool wrote = dispatch_writes(r);
    bool more = worker_complete(r, op);

    if (was == ROW_MAIN) {
        r->t.latency_ns = done_ns - r->t.start_ns;
        r->t.device_ns = op->device_ns;
        ledger_moved(&s->ledger, r, op);
    } else if (was == ROW_CREATE) {
        sched_created(s, r, done_ns);
    }
    struct row *writer = dispatch_leave(&s->dispatch, op, wrote);
    if (writer)
        list_append(&s->ready, writer);
    if (!more) {
        sched_finish(s, r, done_ns);
    } else if (r->stage == ROW_MAIN) {
        sched_eligible(s, r, done_ns);
    } else {
        list_append(&s->ready, r);
    }
}

static bool sched_poll(struct sched *s)
{
    struct tier_op *done[SCHED_POLL];
    bool any = false;

    for (unsigned i = 0; i < TRACE_TIERS && dispatch_busy(&s->dispatch) > 0; i++) {
        struct tier *t = s->env.tier[i];
        size_t n = t ? t->ops->poll(t, done, SCHED_POLL) : 0;
        any |= n > 0;
        for (size_t k = 0; k < n; k++)
            sched_complete(s, done[k]);
    }
    return any;
}

/* ---- admission ---- */

static void sched_set_zero(struct sched *s, const struct trace_row *first)
{
    s->head = false;
    s->zero_known = true;
    s->schedule.zero_ns = s->outcome.zero_ns = sched_now(s);
    s->schedule.zero_time_ns = first ? schedule_begins_ns(&s->schedule, first) : 0;
    if (s->o.duration_ns)
        s->end_ns = s->schedule.zero_ns + s->o.duration_ns;
    if (s->o.began)
        s->o.began(s->o.ctx, s->schedule.zero_ns);
    int rc = ledger_begin(&s->ledger, s->schedule.zero_ns, s->o.warmup_ns, s->end_ns, s->e);
    if (rc < 0)
        sched_fail(s, rc);
}

static void sched_plan(struct sched *s, struct row *r)
{
    bool create = s->o.create_in_run && s->o.on_absent == SCHED_ABSENT_CREATE;

    r->plan = (struct plan){.verdict = PLAN_GO};
    r->stage = ROW_MAIN;
    if (r->t.tier == TRACE_NO_TIER)
        return;
    if (!s->env.tier[r->t.tier]) {
        sched_fail(s, err_set(s->e, -EINVAL, ERR_INPUT, trace_tier_text(r->t.tier),
                              "the trace has rows of this tier, and no target for it was given"));
        return;
    }
    struct object *known = objects_find(s->env.objects, r->copy, r->t.tier);
    struct room *room = &s->env.room[r->t.tier];
    if (plan_row(s->env.objects, room, &r->t, r->copy, known, create, &r->plan) < 0)
        sched_fail(s, err_nomem(s->e, "table of objects"));
    objects_hold(r->plan.object);
    if (r->plan.create)
        r->stage = ROW_CREATE;
    if (r->t.op == TRACE_WRITE || r->plan.create)
        r->generation = s->generation++;
}

static void sched_admit(struct sched *s, struct row *r, int64_t now)
{
    r->head = s->head;
    r->held = false;
    r->t.due_ns = r->head || !s->o.timed
                      ? TRACE_NONE
                      : schedule_at(&s->schedule, schedule_begins_ns(&s->schedule, &r->t));
    s->inside++;
    s->newest = r->number;
    sched_plan(s, r);
    order_enter(s->order, r);
    r->served = NULL;
    if (s->pace && !r->head && r->has_user)
        pace_enter(s->pace, r);
    if (!(r->waits & ROW_WAIT_USER))
        timers_expect(s->timers, r->t.due_ns, now);
    if (s->admission && !r->head && r->t.request != TRACE_NONE)
        admission_enter(s->admission, r, r->t.due_ns, now);
    if (r->plan.take || r->plan.take_objects) {
        r->waits |= ROW_WAIT_ROOM;
        list_append(&s->no_room[r->t.tier], r);
        sched_grant(s, r->t.tier, now);
    } else if (r->waits == 0) {
        sched_eligible(s, r, now);
    }
}

/* As fast as possible, rows far ahead of the slots gain nothing, and leave the caches before they
 * run. Rows with a time must wait for it here. */
static bool sched_has_plenty(const struct sched *s)
{
    return !s->o.timed && s->ready.count >= s->o.inflight && s->ready.count >= READER_BATCH;
}

/* Admits rows of the reader; one batch, so that completions do not wait. True: something was. */
static bool sched_intake(struct sched *s)
{
    int64_t now = sched_now(s);
    bool any = false;
    struct row *r;

    if (sched_has_plenty(s))
        return false;
    intake_fill(&s->intake);
    while (!s->stopping && (r = intake_first(&s->intake))) {
        if (s->head && !row_in_head(&r->t)) {
            if (s->inside > 0)
                break; /* the clock starts when the rows of the head are done */
            sched_set_zero(s, &r->t);
            now = sched_now(s);
        }
        intake_pop(&s->intake);
        sched_admit(s, r, now);
        any = true;
    }
    return any;
}

static void sched_serve(struct sched *s, struct row *r, int64_t when_ns)
{
    counts_admitted(s->env.counts, r->t.due_ns, when_ns);
    if (r->waits == 0)
        sched_eligible(s, r, when_ns);
}

/* Lets requests in. When all workers wait for rows of requests in line, as a trace of more workers
 * may have it, the first in line comes in beyond them: nothing else could go on. True: one was. */
static bool sched_let_in(struct sched *s)
{
    int64_t now = sched_now(s), when_ns;
    bool no_more = !intake_first(&s->intake) &&
                   (reader_starved(s->env.reader) || reader_ended(s->env.reader, NULL) != 0);
    struct row *r;

    if (s->stopping)
        return false;
    bool any = admission_settle(s->admission, s->newest, no_more);
    while ((r = admission_next(s->admission, now, &when_ns))) {
        sched_serve(s, r, when_ns);
        any = true;
    }
    if (any || dispatch_busy(&s->dispatch) || s->held || s->ready.head ||
        admission_lingers(s->admission) || !(r = admission_beyond(s->admission, now, &when_ns)))
        return any;
    s->env.counts->admitted_beyond++;
    sched_serve(s, r, when_ns);
    return true;
}

/* ---- the loop ---- */

/* The next time at which something is to do; INT64_MAX: there is none. */
static int64_t sched_next_ns(const struct sched *s)
{
    int64_t timer = timers_next_ns(s->timers), until = timer < s->end_ns ? timer : s->end_ns;
    if (s->admission && admission_next_ns(s->admission) < until)
        until = admission_next_ns(s->admission);
    int64_t done = dispatch_next_ns(&s->dispatch);
    return done < until ? done : until;
}

/* Nothing can be done at the moment. */
static void sched_wait(struct sched *s, uint32_t seen)
{
    int64_t until = sched_next_ns(s);

    if (s->o.clock == clock_real() || until == INT64_MAX)
        idle_wait(&s->idle, s->env.bell, seen, until, dispatch_busy(&s->dispatch));
    else
        s->o.clock->sleep_until(s->o.clock->ctx, until);
}

static bool sched_finished(struct sched *s)
{
    if (dispatch_busy(&s->dispatch) > 0)
        return false;
    if (s->stopping)
        return !sched_next(s);
    if (s->inside > 0 || intake_first(&s->intake))
        return false;
    int rc = reader_ended(s->env.reader, s->e);
    if (rc == -EINTR && stop_signal())
        return false; /* the reader saw the signal first: sched_run is about to */
    if (rc < 0)
        sched_fail(s, rc);
    return rc != 0;
}

int sched_run(struct sched *s, struct sched_outcome *out, struct err *e)
{
    s->e = e;
    while (!sched_finished(s)) {
        uint32_t seen = bell_seen(s->env.bell);
        bool any = sched_intake(s);
        any |= s->admission && sched_let_in(s);
        any |= sched_release(s);
        any |= sched_poll(s);
        if (stop_signal())
            sched_stop(s, SCHED_SIGNAL);
        if (s->end_ns != INT64_MAX && sched_now(s) >= s->end_ns)
            sched_stop(s, SCHED_DURATION);
        if (s->o.tick && (!any || ++s->loops % SCHED_TICK == 0))
            s->o.tick(s->o.ctx, s);
        if (!any)
            sched_wait(s, seen);
    }
    if (!s->zero_known)
        sched_set_zero(s, NULL);
    if (s->admission && s->outcome.end == SCHED_DONE) /* requests without a Generate row */
        admission_settle(s->admission, s->newest, true);
    s->outcome.spun_ns = s->idle.spun_ns;
    *out = s->outcome;
    return s->rc;
}

static void sched_request_ended(void *ctx, uint8_t qos, int64_t arrival_ns, int64_t done_ns)
{
    struct sched *s = ctx;
    counts_ended(s->env.counts, qos, arrival_ns, done_ns);
}

void sched_queue(struct sched *s, size_t *in_flight, size_t *waiting)
{
    uint64_t arrived = timers_arrived(s->timers, sched_now(s));
    *in_flight = dispatch_busy(&s->dispatch);
    *waiting = s->admission           ? admission_waiting(s->admission, sched_now(s))
               : arrived > s->started ? (size_t)(arrived - s->started)
                                      : 0;
}

/* The parts that work for this one, by what it was told. */
static void sched_connect(struct sched *s, const struct sched_opts *o, const struct sched_env *env)
{
    s->intake = (struct intake){env->reader, env->objects, s->order, .count = 0};
    s->dispatch = (struct dispatch){.tier = env->tier,
                                    .verifies = env->verifies,
                                    .verify = o->verify,
                                    .clock = o->clock,
                                    .gate.max = o->max_writes,
                                    .flights = flights_create(o->inflight)};
    s->ledger = (struct ledger){
        .counts = env->counts,
        .results = env->results,
        .notices = env->notices,
        .room = env->room,
        .verifies = o->verify == TIER_VERIFY_NONE ? NULL : env->verifies,
        .target_free = o->target_free,
        .ctx = o->ctx,
        .absent_ends = o->on_absent == SCHED_ABSENT_FAIL,
        .failed_ends = o->stop_on_error,
        .lags = !o->workers && !o->closed,
        .lag = {.limit_ns = o->lag_limit_ns, .skips = o->on_lag == SCHED_LAG_SKIP_WAIT}};
    s->schedule = (struct schedule){.speed = o->speed, .served = o->workers > 0};
    idle_init(&s->idle, o->spin_ns, o->engine_threads);
}

int sched_create(struct sched **out, const struct sched_opts *o, const struct sched_env *env,
                 struct err *e)
{
    struct sched *s = calloc(1, sizeof(*s));

    if (!s)
        return err_nomem(e, "scheduler");
    s->o = *o;
    s->env = *env;
    s->head = true;
    s->generation = o->first_generation;
    s->end_ns = INT64_MAX;
    s->order = order_create(o->order, o->window);
    s->timers = timers_create(o->window);
    sched_connect(s, o, env);
    if (o->workers)
        s->admission = admission_create(o->workers, o->window, sched_request_ended, s);
    if (o->closed)
        s->pace = pace_create(&s->schedule, o->window);
    if (!s->order || !s->timers || !s->dispatch.flights || (o->workers && !s->admission) ||
        (o->closed && !s->pace)) {
        sched_free(s);
        return err_nomem(e, "scheduler");
    }
    *out = s;
    return 0;
}

void sched_free(struct sched *s)
{
    if (!s)
        return;
    flights_free(s->dispatch.flights);
    admission_free(s->admission);
    pace_free(s->pace);
    timers_free(s->timers);
    order_free(s->order);
    free(s);
}
