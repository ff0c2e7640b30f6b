/* The heart of a replay, one thread. Rows come from the reader in the order of the trace, wait for
 * other rows (order), a worker (admission), their user (pace), room, their time (timers) and a slot
 * in flight, go to their tier (dispatch), and leave when they are done (ledger).
 *
 * Why it cannot get stuck: the earliest unfinished row is always inside the window, and it can run.
 * - It waits for no other row: chains are first come, first served.
 * - It waits for no room: room is granted in the order of the trace, all earlier rows have given
 *   theirs back, and a row that would not fit then was marked at admission.
 * - It waits for a slot only while other operations run, since only they hold slots.
 * - It waits for a thread of its engine only while other operations run, since only they hold
 *   threads.
 * - It waits for a worker only as the first in line, which is let in when all workers wait.
 * With ADMISSION_QOS requests overtake each other, and room is no longer granted in the order of
 * the trace: admission.c says why that cannot get stuck either. */
#include "kvreplay/sched/sched.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "kvreplay/sched/cleaner.h"
#include "kvreplay/sched/dispatch.h"
#include "kvreplay/sched/idle.h"
#include "kvreplay/wait/pace.h"
#include "kvreplay/wait/threads.h"
#include "lib/base/stop.h"
#include "lib/io/gap_line.h"

/* The latest time of a row, and the longest that one may take. */
#define SCHED_WAIT_MAX_NS (366 * INT64_C(86400000000000))

enum {
    SCHED_POLL = 64,
    SCHED_TICK = 256,
    SCHED_DRAIN_NS = 100000000, /* for operations that are abandoned */
    SCHED_LOOK_NS = 20000000,
    /* How many rows ahead of admission memory is fetched: the row comes from another core; the row
     * says where its cells are, the cells where its entries are. */
    SCHED_FETCH_ROW = 12,
    SCHED_FETCH_CELL = 8,
    SCHED_FETCH_ENTRY = 4
};

struct sched {
    struct sched_opts o;
    struct sched_env env;
    struct order *order;
    struct admission *admission; /* NULL: not SCHED_SERVED */
    bool by_class;               /* it has the rule ADMISSION_QOS */
    struct pace_clock clock;
    struct pace_users *users; /* NULL: not SCHED_CLOSED */
    struct timers *timers;
    struct dispatch *dispatch;
    struct cleaner *cleaner; /* NULL: a write that finds no room on Tier-2 fails */
    struct threads *threads; /* NULL: no engine has a limit of its own */
    bool told_full;
    struct idle idle;
    struct gap_loop gaps;
    struct gap_line line[TRACE_NO_QOS + 1]; /* of requests, by QoS */
    int64_t turn_ns;                        /* when the loop last began a round */
    /* rows taken from the reader and not admitted yet */
    struct row *batch[READER_BATCH];
    size_t batch_count, batch_next;
    struct row_list ready;                /* wait for a slot only */
    struct row_list stores;               /* likewise, behind all of those: with loads_first */
    struct row_list no_room[TRACE_TIERS]; /* wait for room */
    size_t inside;                        /* rows admitted and not finished */
    size_t held;                          /* of these, Generate rows that hold their request */
    uint64_t started;                     /* rows */
    uint64_t newest;                      /* number of the last row admitted */
    uint64_t generation;                  /* of the next object that is written */
    bool head;                            /* rows that run before the clock starts are admitted */
    bool zero_known, stopping;
    bool told;      /* that a signal is being followed */
    int64_t end_ns; /* duration_ns is over then; INT64_MAX: never */
    unsigned loops;
    struct sched_outcome outcome;
    int rc;
    struct err *e;
};

static int64_t sched_now(const struct sched *s)
{
    return s->o.clock->now_ns(s->o.clock->ctx);
}

/* A request was in line when the run was stopped. */
static void sched_waits(void *ctx, uint8_t qos, int64_t arrival_ns, int64_t wait_ns)
{
    struct sched *s = ctx;
    counts_waited(s->env.ledger->counts, qos, arrival_ns - s->clock.zero_ns, wait_ns);
}

static void sched_stop(struct sched *s, enum sched_end why)
{
    if (!s->stopping) {
        int64_t now = sched_now(s) < s->end_ns ? sched_now(s) : s->end_ns;
        s->outcome.end = why;
        s->outcome.waiting = s->admission ? admission_waiting(s->admission, now) : 0;
        if (s->admission)
            admission_each_waiting(s->admission, now, sched_waits, s);
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

static struct row_list *sched_ready_list(struct sched *s, const struct row *r)
{
    bool store = r->stage == ROW_MAIN && r->t.op == TRACE_WRITE && r->t.tier == TRACE_STORAGE;

    return s->o.loads_first && store ? &s->stores : &s->ready;
}

static void sched_is_ready(struct sched *s, struct row *r)
{
    row_list_append(sched_ready_list(s, r), r);
}

/* r needs its engine's thread no more: the next one in line gets it. */
static void sched_give_thread(struct sched *s, struct row *r, int64_t when_ns)
{
    struct row *next = threads_give(s->threads, r);

    if (!next)
        return;
    if (next->t.eligible_ns < when_ns)
        next->t.eligible_ns = when_ns;
    row_list_prepend(sched_ready_list(s, next), next);
}

/* Everything that the row waited for was there at when_ns; only its time and a slot may be missing.
 * What an engine in steps decided when it did is one of those things. */
static void sched_eligible(struct sched *s, struct row *r, int64_t when_ns)
{
    const int64_t wake_ns = r->not_before_ns > r->t.due_ns ? r->not_before_ns : r->t.due_ns;
    r->t.eligible_ns = r->not_before_ns > when_ns ? r->not_before_ns : when_ns;
    if ((r->stage == ROW_MAIN || r->stage == ROW_LOOKUP) &&
        (wake_ns > when_ns || wake_ns >= s->end_ns)) {
        r->wake_ns = wake_ns;
        timers_add(s->timers, r);
        return;
    }
    sched_is_ready(s, r);
}

/* The room of r's request in r's tier; NULL: r reserves its own. */
static struct room_claim *sched_claim(const struct sched *s, const struct row *r)
{
    return s->by_class && r->request && r->t.tier != TRACE_NO_TIER ? admission_claim(r) : NULL;
}

/* Takes the row's room if it is free now. */
static bool sched_reserve(struct sched *s, const struct row *r)
{
    struct room *room = &s->env.room[r->t.tier];
    struct room_claim *claim = sched_claim(s, r);

    if (!claim)
        return room_reserve(room, &r->effect);
    if (!room_claim_fits(room, claim))
        return false;
    room_claim_reserve(room, claim);
    return true;
}

/* The first in line for room has got it. */
static void sched_has_room(struct sched *s, unsigned tier, int64_t when_ns)
{
    struct row *r = row_list_pop(&s->no_room[tier]);

    s->env.room[tier].line--;
    r->waits &= (uint8_t)~ROW_WAIT_ROOM;
    if (r->waits == 0)
        sched_eligible(s, r, when_ns);
}

/* Room is granted in the order of the trace, to the head of the line only. */
static void sched_grant(struct sched *s, unsigned tier, int64_t when_ns)
{
    while (s->no_room[tier].head && sched_reserve(s, s->no_room[tier].head))
        sched_has_room(s, tier, when_ns);
}

/* Gives back what the finished row frees. */
static void sched_release_room(struct sched *s, struct row *r, int64_t when_ns)
{
    struct room *room = &s->env.room[r->t.tier];
    struct room_claim *claim = sched_claim(s, r);

    if (claim && !room_claim_leave(room, claim, &r->effect))
        return;
    if (!claim)
        room_release(room, &r->effect);
    sched_grant(s, r->t.tier, when_ns);
}

/* ---- finishing ---- */

/* The row is finished at done_ns and its result columns are set: lets others go on. */
static void sched_finish(struct sched *s, struct row *r, int64_t done_ns)
{
    enum ledger_verdict verdict;

    int rc = ledger_finished(s->env.ledger, r, &verdict, s->e);
    if (rc < 0)
        sched_fail(s, rc);
    if (verdict == LEDGER_END)
        sched_stop(s, SCHED_ERROR);
    if (r->t.op == TRACE_WRITE)
        order_wrote(r, done_ns);
    for (struct row *w = order_leave(s->order, r), *next; w; w = next) {
        next = w->woken;
        if (w->waits == 0)
            sched_eligible(s, w, done_ns);
    }
    if (r->effect.give || r->effect.give_objects || (s->by_class && r->t.tier != TRACE_NO_TIER))
        sched_release_room(s, r, done_ns);
    s->inside--;
    objects_release(s->env.objects, r->effect.object);
    if (s->admission)
        admission_leave(s->admission, r, done_ns);
    if (s->users && !r->head && r->has_user) {
        struct row *next = pace_users_leave(s->users, r, done_ns);
        if (next)
            timers_expect(s->timers, next->t.due_ns, done_ns);
        if (next && next->waits == 0)
            sched_eligible(s, next, done_ns);
    }
    reader_give(s->env.reader, r);
}

/* ---- starting ---- */

_Static_assert(TIER_UNKNOWN_NS == TRACE_NONE, "what a tier cannot tell is empty in results");
static const struct tier_parts no_parts = {TIER_UNKNOWN_NS, TIER_UNKNOWN_NS, TIER_UNKNOWN_NS,
                                           TIER_UNKNOWN_NS};

static int64_t sched_overlap(const void *gaps, int64_t start_ns, int64_t end_ns)
{
    return gap_list_stopped(gaps, start_ns, end_ns);
}

/* The first row of a request starts: what stops added to its wait for a worker. */
static void sched_request_started(struct sched *s, struct row *r)
{
    int64_t line_ns = s->o.gaps ? gap_line_add_ns(&s->line[r->t.qos], sched_overlap, s->o.gaps,
                                                  r->t.due_ns, r->t.start_ns)
                                : 0;

    admission_started(r, r->t.start_ns, line_ns);
}

static void sched_started(struct sched *s, struct row *r, int64_t now, int64_t slot_ns)
{
    s->started++;
    if (slot_ns > r->t.eligible_ns)
        r->t.eligible_ns = slot_ns;
    r->t.start_ns = now;
    r->t.latency_ns = 0;
    r->t.device_ns = TRACE_NONE;
    r->part = no_parts;
    r->first_byte_ns = TIER_UNKNOWN_NS;
    r->where = NULL;
    r->door = r->effect.target;
    r->away_ns = r->stopped_ns = 0;
    r->in_burst = false;
    if (r->request && r->t.due_ns != TRACE_NONE)
        sched_request_started(s, r);
    if (ledger_started(s->env.ledger, r) == LEDGER_END)
        sched_stop(s, SCHED_LAGGED);
}

/* r, which found its store full after it had started, starts anew. */
static void sched_restarted(struct row *r, int64_t now, int64_t slot_ns)
{
    if (slot_ns > r->t.eligible_ns)
        r->t.eligible_ns = slot_ns;
    r->t.start_ns = now;
    r->t.latency_ns = 0;
}

/* r, a Generate row, starts now and holds its request for its time. */
static void sched_hold(struct sched *s, struct row *r, int64_t now)
{
    sched_started(s, r, now, INT64_MIN);
    r->t.status = TRACE_OK;
    r->held = true;
    r->wake_ns = now + pace_scaled_ns(&s->clock, (double)r->t.duration_ns);
    s->held++;
    timers_add(s->timers, r);
}

/* Does the Generate row r take its time? Not in a run as fast as possible. */
static bool sched_holds(const struct sched *s, const struct row *r)
{
    return r->t.op == TRACE_GENERATE && s->o.timing != SCHED_ASAP && !r->head &&
           !s->env.ledger->skip_waits && r->t.duration_ns > 0;
}

/* The held row r has ended; the first token comes at the end of a prefill. */
static void sched_held_out(struct sched *s, struct row *r, int64_t now)
{
    bool arrives = s->o.timing == SCHED_TRACE || s->o.timing == SCHED_SERVED;

    s->held--;
    r->t.latency_ns = now - r->t.start_ns;
    if (r->t.phase == TRACE_PREFILL && arrives && r->t.arrival_ns != TRACE_NONE)
        counts_first_token(s->env.ledger->counts, r, pace_at_ns(&s->clock, r->t.arrival_ns));
    sched_finish(s, r, now);
}

/* A row that was to write does not: with max_writes, another may in its place. */
static void sched_next_writer(struct sched *s)
{
    struct row *r = dispatch_next_writer(s->dispatch);
    int64_t now = r ? sched_now(s) : 0;

    if (!r)
        return;
    if (r->t.eligible_ns < now)
        r->t.eligible_ns = now;
    sched_is_ready(s, r);
}

/* The store has no room for r's object, and nothing is left that could make some. */
static void sched_no_room(struct sched *s, struct row *r)
{
    int64_t now = sched_now(s);

    if (r->stage == ROW_CREATE)
        order_wrote(r, now);
    if (!r->again)
        sched_started(s, r, now, INT64_MIN);
    r->t.status = ENOSPC;
    r->t.latency_ns = now - r->t.start_ns;
    sched_finish(s, r, now);
    sched_next_writer(s);
}

/* Starts what the cleaner has to do next. */
static void sched_clean(struct sched *s)
{
    struct row *r;
    bool room;

    if (!s->cleaner || s->stopping)
        return;
    while ((r = cleaner_removal(s->cleaner, s->dispatch))) {
        if (!s->told_full)
            ledger_cleans(s->env.ledger);
        s->told_full = true;
        row_list_append(&s->ready, r);
    }
    while ((r = cleaner_next(s->cleaner, &room))) {
        if (!room) {
            sched_no_room(s, r);
            continue;
        }
        r->t.eligible_ns = sched_now(s);
        sched_is_ready(s, r);
    }
}

/* r, the head of from, is about to write to Tier-2. False: it was taken out of from, since there is
 * no room for it now, and its thread and its place among writers are given on. */
static bool sched_may_write(struct sched *s, struct row *r, struct row_list *from)
{
    enum cleaner_answer answer = cleaner_asks(s->cleaner, r);

    if (answer == CLEANER_GO)
        return true;
    row_list_pop(from);
    sched_give_thread(s, r, sched_now(s)); /* before r may be finished */
    if (answer == CLEANER_NEVER) {
        sched_no_room(s, r);
        return false;
    }
    cleaner_line(s->cleaner, r);
    sched_next_writer(s);
    sched_clean(s);
    return false;
}

/* Is the row's object one that the cleaner keeps count of? */
static bool sched_is_cleaned(const struct sched *s, const struct row *r)
{
    return s->cleaner && r->t.tier == TRACE_STORAGE && r->effect.object && !r->of_cleaner;
}

/* Starts r, the head of a ready list. False: it must stay there, since no slot is free. */
static bool sched_issue(struct sched *s, struct row *r)
{
    /* A Miss row is its lookup, which is no part of the read in other rows. */
    bool begins = r->stage == ROW_MAIN || (r->stage == ROW_LOOKUP && r->t.op == TRACE_MISS);
    struct row_list *from = r == s->ready.head ? &s->ready : &s->stores;
    int64_t now, slot_ns;

    if (r->t.tier == TRACE_NO_TIER && r->stage != ROW_LOOKUP) { /* no I/O */
        row_list_pop(from);
        now = sched_now(s);
        if (sched_holds(s, r)) {
            sched_hold(s, r, now);
            return true;
        }
        sched_started(s, r, now, INT64_MIN);
        r->t.status = TRACE_OK;
        sched_finish(s, r, now);
        return true;
    }
    bool cleaned = sched_is_cleaned(s, r), writes = dispatch_writes(r);
    if (!threads_take(s->threads, r)) {
        row_list_pop(from);
        threads_line(s->threads, r);
        if (writes)
            sched_next_writer(s);
        return true;
    }
    if (cleaned && writes && !sched_may_write(s, r, from))
        return true;
    enum dispatch_end end = dispatch_row(s->dispatch, r, &now, &slot_ns);
    if (end == DISPATCH_REFUSED) {
        threads_untake(s->threads, r);
        return false;
    }
    row_list_pop(from);
    if (end != DISPATCH_SENT)
        sched_give_thread(s, r, sched_now(s));
    if (cleaned && end == DISPATCH_SENT)
        cleaner_sent(s->cleaner, r);
    if (end == DISPATCH_SHUT) {
        dispatch_hold(s->dispatch, r);
        return true;
    }
    if (begins && r->again)
        sched_restarted(r, now, slot_ns);
    else if (begins || end == DISPATCH_NOTHING)
        sched_started(s, r, now, slot_ns);
    if (end == DISPATCH_NOTHING)
        sched_finish(s, r, now);
    if (end == DISPATCH_NOTHING && writes)
        sched_next_writer(s);
    return true;
}

/* The next row that may start. When the run is to end, these are the rows that clean up. */
static struct row *sched_next(struct sched *s)
{
    while (s->stopping && s->stores.head)
        row_list_pop(&s->stores);
    while (s->stopping && s->ready.head && s->ready.head->stage != ROW_CLEAN)
        row_list_pop(&s->ready);
    return s->ready.head ? s->ready.head : s->stores.head;
}

/* Starts the rows that are ready or have come due. True: there were some. */
static bool sched_release(struct sched *s)
{
    bool any = false;
    struct row *r;

    while (timers_next_ns(s->timers) < s->end_ns && (r = timers_pop(s->timers, sched_now(s)))) {
        any = true;
        if (!r->held) {
            sched_is_ready(s, r);
            continue;
        }
        sched_held_out(s, r, sched_now(s));
    }
    while ((r = sched_next(s)) && sched_issue(s, r))
        any = true;
    dispatch_kick(s->dispatch);
    return any;
}

/* ---- completions ---- */

/* A store that was lost to another run: nothing more can be done there. */
static void sched_look_lost(struct sched *s)
{
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        const struct tier *t = s->env.tier[i];
        if (t && tier_lost(t))
            sched_stop(s, SCHED_LOST);
    }
}

/* The write of r found its store full, and what it left there is removed. */
static void sched_found_full(struct sched *s, struct row *r, int64_t done_ns)
{
    r->stage = (uint8_t)(r->retry - 1);
    r->retry = 0;
    r->t.eligible_ns = done_ns;
    if (s->stopping) /* as others that wait for room */
        return;
    if (cleaner_found_full(s->cleaner, r))
        cleaner_line(s->cleaner, r);
    else
        sched_is_ready(s, r);
}

/* A row's wait for a slot in flight in its tier counts as time before it, as if the tier had got it
 * that much later. */
static void sched_took_slot(struct row *r, const struct tier_op *op)
{
    if (op->ahead_ns == 0)
        return;
    r->t.start_ns += op->ahead_ns;
    r->t.eligible_ns = r->t.start_ns - op->late_ns;
}

/* The times of the row's own operation, which has ended; more: something follows it. */
static void sched_main_ended(struct sched *s, struct row *r, struct tier_op *op, bool more)
{
    int64_t done_ns = op->done_ns;

    sched_took_slot(r, op);
    r->t.latency_ns = done_ns - r->t.start_ns;
    r->t.device_ns = op->device_ns;
    r->part = op->part;
    r->first_byte_ns = op->first_byte_ns;
    r->where = op->where.wanted && op->status == 0 && !more ? &op->where : NULL;
    r->door = op->door;
    if (s->o.gaps)
        r->away_ns = gap_list_overlap(s->o.gaps, r->t.start_ns, done_ns);
    if (s->o.gaps && r->t.due_ns != TRACE_NONE) {
        r->stopped_ns = gap_list_stopped(s->o.gaps, r->t.due_ns, r->t.start_ns - row_late_ns(r)) +
                        gap_list_stopped(s->o.gaps, r->t.start_ns, done_ns);
        r->in_burst = gap_list_stopped(s->o.gaps, r->t.due_ns, r->t.start_ns) > 0;
    }
    ledger_moved(s->env.ledger, r, op);
}

static void sched_complete(struct sched *s, struct tier_op *op)
{
    struct row *r = op->owner;
    enum row_stage was = r->stage;
    int64_t done_ns = op->done_ns;
    bool wrote = dispatch_writes(r);
    if (op->status == -ESTALE)
        sched_look_lost(s);
    bool cleaned = sched_is_cleaned(s, r);
    bool full = cleaned && wrote && (op->status == -ENOSPC || op->status == -EDQUOT);
    uint64_t held = cleaned ? cleaner_held(s->cleaner, r) : 0;
    bool more = dispatch_complete(r, op);

    if (r->of_cleaner) {
        dispatch_leave(s->dispatch, op, false);
        cleaner_removed(s->cleaner, r, op->status);
        sched_clean(s);
        return;
    }
    if (cleaned)
        cleaner_ended(s->cleaner, r, held);
    if (full) { /* what it left is removed first */
        r->retry = (uint8_t)(was + 1);
        r->again = was == ROW_MAIN;
    }

    sched_give_thread(s, r, done_ns);
    if (was == ROW_MAIN) {
        sched_main_ended(s, r, op, more);
    } else if (was == ROW_LOOKUP) {
        counts_looked_up(s->env.ledger->counts, done_ns - op->start_ns, op->status == 0);
        if (!more) {
            r->t.latency_ns = done_ns - r->t.start_ns;
            r->t.device_ns = op->device_ns;
        }
    } else if (was == ROW_CREATE) {
        if (!full)
            order_wrote(r, done_ns);
        if (r->stage != ROW_CLEAN)
            ledger_created(s->env.ledger, r);
        else if (!full) /* the object could not be created, and the row fails with it */
            sched_started(s, r, done_ns, INT64_MIN);
    }
    struct row *writer = dispatch_leave(s->dispatch, op, wrote);
    if (writer)
        sched_is_ready(s, writer);
    if (!more && r->retry)
        sched_found_full(s, r, done_ns);
    else if (!more)
        sched_finish(s, r, done_ns);
    else if (r->stage == ROW_MAIN || r->stage == ROW_LOOKUP)
        sched_eligible(s, r, done_ns);
    else if (full) /* the next writes hear of it, and wait */
        row_list_prepend(&s->ready, r);
    else
        sched_is_ready(s, r);
    sched_clean(s);
}

/* Takes what the engines have done. True: there was something. */
static bool sched_poll(struct sched *s)
{
    struct tier_op *done[SCHED_POLL];
    bool any = false;

    for (unsigned i = 0; i < TRACE_TIERS && dispatch_busy(s->dispatch) > 0; i++) {
        struct tier *t = s->env.tier[i];
        size_t n = t ? t->ops->poll(t, done, SCHED_POLL) : 0;
        any |= n > 0;
        for (size_t k = 0; k < n; k++)
            sched_complete(s, done[k]);
    }
    return any;
}

/* ---- admission of rows ---- */

/* The first row that was not admitted; NULL: none was taken. */
static struct row *sched_first(const struct sched *s)
{
    return s->batch_next < s->batch_count ? s->batch[s->batch_next] : NULL;
}

/* The rows come from another core, and their objects and chains may be anywhere in memory: all of
 * it is fetched while the rows before them are admitted. */
static void sched_prefetch(const struct sched *s)
{
    struct row *const *r = s->batch + s->batch_next;
    size_t left = s->batch_count - s->batch_next;

    if (left > SCHED_FETCH_ROW)
        row_prefetch(r[SCHED_FETCH_ROW]);
    if (left > SCHED_FETCH_CELL) {
        const struct row *cell = r[SCHED_FETCH_CELL];
        objects_prefetch_cell(s->env.objects, cell->copy, cell->t.tier);
        order_prefetch_buckets(s->order, cell);
    }
    if (left > SCHED_FETCH_ENTRY) {
        const struct row *entry = r[SCHED_FETCH_ENTRY];
        objects_prefetch_entry(s->env.objects, entry->copy, entry->t.tier);
        order_prefetch_chains(s->order, entry);
    }
}

/* The clock starts with the row first; NULL: there is none. */
static void sched_set_zero(struct sched *s, const struct trace_row *first)
{
    int64_t zero_ns = sched_now(s), trace_ns = TRACE_NONE;

    s->head = false;
    s->zero_known = true;
    if (s->o.start) {
        int started = s->o.start(s->o.ctx, s->stopping, &zero_ns, s->e);
        if (started == -EINTR)
            sched_stop(s, SCHED_SIGNAL);
        else if (started < 0)
            sched_fail(s, started);
        s->turn_ns = clock_now_ns(); /* the wait was meant */
    }
    if (first)
        trace_ns = reader_zero_time_ns(s->env.reader);
    if (first && trace_ns == TRACE_NONE)
        trace_ns = pace_begins_ns(s->clock.arrivals, first);
    s->clock.zero_ns = s->outcome.zero_ns = zero_ns;
    s->clock.zero_time_ns = first ? trace_ns : 0;
    if (s->o.duration_ns)
        s->end_ns = s->clock.zero_ns + s->o.duration_ns;
    if (s->o.began)
        s->o.began(s->o.ctx, s->clock.zero_ns);
    int rc = ledger_begin(s->env.ledger, s->clock.zero_ns, s->o.warmup_ns, s->end_ns, s->e);
    if (rc < 0)
        sched_fail(s, rc);
}

/* Works out the row's effect on its object and on the room of its tier. */
static void sched_admit_room(struct sched *s, struct row *r)
{
    unsigned tier = r->t.tier;

    r->effect = (struct room_effect){.verdict = ROOM_GO, .target = TIER_NO_DOOR};
    r->is_store = false;
    r->looks_up = s->o.lookups && ((r->t.op == TRACE_READ && tier == TRACE_STORAGE) ||
                                   (r->t.op == TRACE_MISS && r->t.key.len > 0));
    r->stage = r->looks_up ? ROW_LOOKUP : ROW_MAIN;
    if (tier == TRACE_NO_TIER)
        return;
    if (!s->env.tier[tier]) {
        sched_fail(s, err_set(s->e, -EINVAL, ERR_INPUT, trace_tier_text((enum trace_tier)tier),
                              "the trace has rows of this tier, but no target for it was given"));
        return;
    }
    struct room_row row = {.t = &r->t,
                           .copy = r->copy,
                           .known = objects_find(s->env.objects, r->copy, tier),
                           .create = s->o.create};
    if (room_admit(&s->env.room[tier], s->env.objects, &row, &r->effect) < 0)
        sched_fail(s, err_nomem(s->e, "table of objects"));
    objects_hold(r->effect.object);
    if (r->effect.create)
        r->stage = ROW_CREATE;
    if (r->t.op == TRACE_WRITE || r->effect.create)
        r->generation = s->generation++;
}

/* A file may name any time. Nobody means to wait for years. */
static void sched_refuse_years(struct sched *s, const struct row *r)
{
    const int64_t last_ns = s->clock.zero_ns + SCHED_WAIT_MAX_NS;
    bool comes = r->t.due_ns > last_ns || r->not_before_ns > last_ns;
    bool holds = sched_holds(s, r) &&
                 pace_scaled_ns(&s->clock, (double)r->t.duration_ns) > SCHED_WAIT_MAX_NS;
    char where[32];

    if (s->end_ns != INT64_MAX || (!comes && !holds))
        return;
    snprintf(where, sizeof(where), "row %llu", (unsigned long long)r->number + 1);
    sched_fail(s, err_set(s->e, -ERANGE, ERR_INPUT, where,
                          "%s more than 366 days%s: --duration ends the run earlier, --speed "
                          "shortens it, --timing asap does not wait",
                          comes ? "comes" : "its Generate takes",
                          comes ? " after the first one" : ""));
}

static void sched_admit(struct sched *s, struct row *r, int64_t now)
{
    r->head = s->head;
    r->held = r->has_thread = false;
    r->retry = 0;
    r->found_full = r->again = r->of_cleaner = false;
    r->claim = 0;
    r->t.due_ns = TRACE_NONE;
    r->not_before_ns = INT64_MIN;
    if (!r->head && s->o.timing != SCHED_ASAP)
        r->t.due_ns = pace_due_ns(&s->clock, pace_begins_ns(s->clock.arrivals, &r->t));
    if (!r->head && s->clock.arrivals && s->o.steps)
        r->not_before_ns = pace_due_ns(&s->clock, r->t.time_ns);
    sched_refuse_years(s, r);
    s->inside++;
    s->newest = r->number;
    sched_admit_room(s, r);
    order_enter(s->order, r);
    r->request = NULL;
    if (s->users && !r->head && r->has_user)
        pace_users_enter(s->users, r);
    if (!(r->waits & ROW_WAIT_USER))
        timers_expect(s->timers, r->t.due_ns, now);
    if (s->admission && !r->head && r->t.request != TRACE_NONE)
        admission_enter(s->admission, r, r->t.due_ns, now);
    if (r->waits & ROW_WAIT_WORKER)
        s->env.ledger->counts->entered[r->t.qos] += r->t.due_ns <= s->end_ns;
    bool takes = r->effect.take || r->effect.take_objects;
    if (s->by_class && r->request) /* in line, it gets its room with its request */
        takes = takes && admission_claim(r);
    if (takes) {
        r->waits |= ROW_WAIT_ROOM;
        s->env.room[r->t.tier].line++;
        row_list_append(&s->no_room[r->t.tier], r);
        sched_grant(s, r->t.tier, now);
    } else if (r->waits == 0) {
        sched_eligible(s, r, now);
    }
}

/* Admits rows of the reader; one batch, so that completions do not wait. True: there were some. */
static bool sched_intake(struct sched *s)
{
    int64_t now = sched_now(s);
    bool any = false;
    struct row *r;

    /* As fast as possible, rows far ahead of the slots gain nothing, and leave the caches before
     * they run. Rows with a time must be inside to wait for it. */
    size_t ready = s->ready.count + s->stores.count;
    if (s->o.timing == SCHED_ASAP && ready >= s->o.inflight && ready >= READER_BATCH)
        return false;
    if (s->batch_next == s->batch_count) {
        s->batch_next = 0;
        s->batch_count = reader_take(s->env.reader, s->batch);
        for (size_t i = 0; i < s->batch_count && i < SCHED_FETCH_ROW; i++)
            row_prefetch(s->batch[i]);
    }
    while (!s->stopping && (r = sched_first(s))) {
        if (s->head && !row_in_head(&r->t)) {
            if (s->inside > 0)
                break; /* the clock starts when the rows of the head are done */
            sched_set_zero(s, &r->t);
            if (s->stopping)
                break;
            now = sched_now(s);
        }
        sched_prefetch(s);
        s->batch_next++;
        sched_admit(s, r, now);
        any = true;
    }
    return any;
}

/* ---- admission of requests (SCHED_SERVED) ---- */

static void sched_serve(struct sched *s, struct row *r, const struct admission_way *way)
{
    counts_admitted(s->env.ledger->counts, r->t.qos, r->t.due_ns, way);
    if (r->waits == 0)
        sched_eligible(s, r, way->when_ns);
}

/* Nothing can go on, and nothing is outstanding: the oldest row in the order of the trace goes on
 * all the same. It waits for a worker or for room (admission.c says why for nothing else). A trace
 * made for more workers can cause the one, an order that is not that of the trace the other. False:
 * it has not arrived. */
static bool sched_unblock(struct sched *s, int64_t now)
{
    const struct row *oldest = admission_oldest(s->admission, now);
    struct admission_way way;
    int tier = -1;

    if (!s->by_class && !admission_full(s->admission))
        return false;
    for (int i = 0; i < TRACE_TIERS && s->by_class; i++) {
        const struct row *r = s->no_room[i].head;
        if (r && (!oldest || r->number < oldest->number)) {
            oldest = r;
            tier = i;
        }
    }
    if (!oldest)
        return false;
    if (tier < 0) {
        struct row *r = admission_beyond(s->admission, now, &way);
        sched_serve(s, r, &way);
        return true;
    }
    struct room *room = &s->env.room[tier];
    struct room_claim *claim = sched_claim(s, oldest);
    if (claim) {
        room_claim_reserve(room, claim);
    } else {
        room_force(room, &oldest->effect);
    }
    s->env.ledger->counts->capacity_exceeded++;
    sched_has_room(s, (unsigned)tier, now);
    return true;
}

/* Lets requests in. entered: rows came in just now, and more may follow. True: some were let in, or
 * some workers became free. */
static bool sched_let_in(struct sched *s, bool entered)
{
    int64_t now = sched_now(s);
    bool no_more = !sched_first(s) &&
                   (reader_starved(s->env.reader) || reader_ended(s->env.reader, NULL) != 0);
    struct admission_way way;
    struct row *r;

    if (s->stopping)
        return false;
    bool any = admission_settle(s->admission, s->newest, no_more);
    while ((r = admission_next(s->admission, now, &way))) {
        sched_serve(s, r, &way);
        any = true;
    }
    if (any || dispatch_busy(s->dispatch) || s->held || s->ready.head || s->stores.head ||
        admission_lingers(s->admission) || (s->by_class && entered))
        return any;
    return sched_unblock(s, now);
}

/* A request has ended. What the tool added is its lateness, or the line and the stops, in which the
 * lateness may lie. */
static void sched_ended(void *ctx, const struct admission_ended *q)
{
    struct sched *s = ctx;
    int64_t added_ns =
        q->line_ns + (s->o.gaps ? gap_list_stopped(s->o.gaps, q->start_ns, q->done_ns) : 0);

    counts_ended(s->env.ledger->counts, q->qos, q->arrival_ns, q->done_ns,
                 q->late_ns > added_ns ? q->late_ns : added_ns);
}

/* ---- the loop ---- */

/* Nothing can be done now: waits for the bell, or for the next time at which something is to do. */
static void sched_wait(struct sched *s, uint32_t seen)
{
    int64_t timer = timers_next_ns(s->timers), until = timer < s->end_ns ? timer : s->end_ns;

    if (s->admission && admission_next_ns(s->admission) < until)
        until = admission_next_ns(s->admission);
    if (s->stopping) /* only for what is in flight */
        until = INT64_MAX;
    if (s->o.tick_ns && until > sched_now(s) + s->o.tick_ns)
        until = sched_now(s) + s->o.tick_ns;
    int64_t done = dispatch_next_ns(s->dispatch);
    until = done < until ? done : until;
    /* Perhaps sched_unblock goes on when the oldest request arrives; if it has, only what ends
     * does. */
    if (s->admission && until == INT64_MAX && !s->stopping &&
        admission_oldest_ns(s->admission) > sched_now(s))
        until = admission_oldest_ns(s->admission);
    if (s->o.clock == clock_real() || until == INT64_MAX) {
        int64_t since_ns = s->turn_ns;
        idle_wait(&s->idle, s->env.bell, seen, until, dispatch_busy(s->dispatch));
        s->turn_ns = clock_now_ns();
        /* It was due, and slept on. What was due before the wait began is no gap of this wait. */
        if (until != INT64_MAX)
            gap_loop_add(&s->gaps, until > since_ns ? until : since_ns, s->turn_ns);
    } else {
        s->o.clock->sleep_until(s->o.clock->ctx, until);
    }
}

/* The loop has gone round with work: in a moment, unless it was kept from running. */
static void sched_turn(struct sched *s)
{
    int64_t now = s->gaps.gaps ? clock_now_ns() : 0;

    gap_loop_add(&s->gaps, s->turn_ns, now);
    s->turn_ns = now;
}

static bool sched_finished(struct sched *s)
{
    if (dispatch_busy(s->dispatch) > 0)
        return false;
    if (s->stopping)
        return !sched_next(s);
    if (s->inside > 0 || sched_first(s))
        return false;
    int rc = reader_ended(s->env.reader, s->e);
    if (rc == -EINTR && stop_signal())
        return false; /* the reader saw the signal first; sched_run sees it next */
    if (rc < 0)
        sched_fail(s, rc);
    return rc != 0;
}

/* A signal came. */
static void sched_signal(struct sched *s)
{
    sched_stop(s, SCHED_SIGNAL);
    if (!s->told)
        ledger_stopping(s->env.ledger, dispatch_busy(s->dispatch));
    s->told = true;
}

/* A second signal came: what is in flight counts as it stands. Then the tiers get a moment, so that
 * they can be closed and the target cleaned up where nothing hangs. */
static void sched_abandon(struct sched *s)
{
    int64_t now = sched_now(s), until = clock_now_ns() + SCHED_DRAIN_NS;
    struct tier_op *done[SCHED_POLL];
    struct row *r;

    for (size_t pos = 0; (r = dispatch_in_flight(s->dispatch, &pos));) {
        int rc = ledger_abandoned(s->env.ledger, r, now, s->e);
        if (rc < 0)
            sched_fail(s, rc);
    }
    while (dispatch_busy(s->dispatch) > 0 && clock_now_ns() < until) {
        uint32_t seen = bell_seen(s->env.bell);
        for (unsigned i = 0; i < TRACE_TIERS; i++) {
            struct tier *t = s->env.tier[i];
            size_t n = t ? t->ops->poll(t, done, SCHED_POLL) : 0;
            for (size_t k = 0; k < n; k++) {
                r = done[k]->owner;
                bool wrote = dispatch_writes(r);
                dispatch_complete(r, done[k]);
                dispatch_leave(s->dispatch, done[k], wrote);
            }
        }
        bell_wait(s->env.bell, seen, clock_now_ns() + SCHED_LOOK_NS);
    }
    s->outcome.stuck = dispatch_busy(s->dispatch) > 0;
}

int sched_run(struct sched *s, struct sched_outcome *out, struct err *e)
{
    s->e = e;
    gap_loop_open(&s->gaps, s->o.gaps, GAPS_OF_SCHEDULER, NULL, 0);
    s->turn_ns = clock_now_ns();
    while (!sched_finished(s)) {
        uint32_t seen = bell_seen(s->env.bell);
        bool any = sched_intake(s);
        any |= s->admission && sched_let_in(s, any);
        any |= sched_release(s);
        any |= sched_poll(s);
        if (stop_signal())
            sched_signal(s);
        if (stop_abandons()) {
            sched_abandon(s);
            break;
        }
        if (s->end_ns != INT64_MAX && sched_now(s) >= s->end_ns)
            sched_stop(s, SCHED_DURATION);
        if (!any || ++s->loops % SCHED_TICK == 0) {
            sched_look_lost(s);
            if (s->o.tick)
                s->o.tick(s->o.ctx, s);
        }
        if (any)
            sched_turn(s);
        else
            sched_wait(s, seen);
    }
    gap_loop_close(&s->gaps);
    if (!s->zero_known)
        sched_set_zero(s, NULL);
    if (s->admission && s->outcome.end == SCHED_DONE) /* requests without a Generate row */
        admission_settle(s->admission, s->newest, true);
    s->outcome.spun_ns = s->idle.spun_ns;
    *out = s->outcome;
    return s->rc;
}

void sched_interrupt(struct sched *s)
{
    sched_stop(s, SCHED_SIGNAL);
}

bool sched_expects(const struct sched *s)
{
    if (s->admission)
        return sched_first(s) || admission_expects(s->admission);
    return sched_first(s) || timers_next_ns(s->timers) != INT64_MAX;
}

void sched_queue(struct sched *s, size_t *in_flight, size_t *waiting)
{
    uint64_t arrived = timers_arrived(s->timers, sched_now(s));
    size_t inside = dispatch_busy(s->dispatch);
    *in_flight = inside < s->o.inflight ? inside : s->o.inflight;
    if (s->admission)
        *waiting = admission_waiting(s->admission, sched_now(s));
    else
        *waiting = arrived > s->started ? (size_t)(arrived - s->started) : 0;
}

int sched_create(struct sched **out, const struct sched_opts *o, const struct sched_env *env,
                 struct err *e)
{
    bool served = o->timing == SCHED_SERVED, closed = o->timing == SCHED_CLOSED;
    struct sched *s = calloc(1, sizeof(*s));

    if (!s)
        return err_nomem(e, "scheduler");
    s->o = *o;
    s->env = *env;
    s->head = true;
    s->generation = o->first_generation;
    s->end_ns = INT64_MAX;
    for (unsigned q = 0; q <= TRACE_NO_QOS; q++)
        s->line[q] = GAP_LINE_NEW;
    s->clock = (struct pace_clock){.speed = o->speed, .arrivals = served};
    /* An engine in steps has decided whose turn it is, and what leaves for it. */
    const enum admission_rule rule = o->steps ? ADMISSION_FIFO : o->admit;
    s->by_class = served && rule == ADMISSION_QOS;
    s->order = order_create(o->order, o->window);
    if (s->order && s->by_class)
        order_keep_links(s->order);
    if (s->order && served && o->steps)
        order_by_copy(s->order);
    s->timers = timers_create(o->window);
    s->dispatch = dispatch_create(&(struct dispatch_opts){.tier = env->tier,
                                                          .verifies = env->verifies,
                                                          .takes_slots = env->takes_slots,
                                                          .verify = o->verify,
                                                          .wants_where = o->wants_where,
                                                          .clock = o->clock,
                                                          .slots = o->inflight,
                                                          .ahead = o->ahead,
                                                          .max_writes = o->max_writes});
    if (served)
        s->admission = admission_create(&(struct admission_opts){.rule = rule,
                                                                 .workers = o->workers,
                                                                 .rows = o->window,
                                                                 .room = env->room,
                                                                 .ended = sched_ended,
                                                                 .ctx = s});
    if (closed)
        s->users = pace_users_create(&s->clock, o->window);
    if (o->evict)
        s->cleaner = cleaner_create(&(struct cleaner_opts){.objects = env->objects,
                                                           .room = &env->room[TRACE_STORAGE],
                                                           .counts = env->ledger->counts});
    const bool limited = served && o->steps && (o->threads.reads || o->threads.writes);
    if (limited)
        s->threads = threads_create(&o->threads);
    idle_init(&s->idle, o->spin_ns, o->engine_threads);
    if ((o->evict && !s->cleaner) || (limited && !s->threads) || !s->order || !s->timers ||
        !s->dispatch || (served && !s->admission) || (closed && !s->users)) {
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
    dispatch_free(s->dispatch);
    cleaner_free(s->cleaner);
    threads_free(s->threads);
    admission_free(s->admission);
    pace_users_free(s->users);
    timers_free(s->timers);
    order_free(s->order);
    free(s);
}
