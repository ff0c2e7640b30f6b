/* Behind the scheduler, which calls it when a row has started, moved its bytes or ended: the one
 * place that feeds counts, result rows and messages. At most ten messages of each kind, so that a
 * broken device does not flood the terminal. Keys come from the trace and are untrusted: control
 * characters are not printed. */
#include "kvreplay/sched/ledger.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kvreplay/wait/order.h"
#include "lib/base/units.h"
#include "lib/ranks/ranks.h"

enum {
    LEDGER_CAUGHT_UP_NS = 5000000,
    LEDGER_KEY = 160, /* bytes of a key in a message */
    LEDGER_ROW = LEDGER_KEY + 80
};

/* ---- messages ---- */

static void ledger_say(const struct ledger *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void ledger_say(const struct ledger *l, const char *format, ...)
{
    va_list args;
    if (l->progress)
        progress_clear(l->progress);
    fprintf(stderr, "kvreplay%s: ", ranks_suffix());
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

/* "row 7 (Tier-2 Read, key K", to be closed by the caller. */
static const char *ledger_row(const struct row *r, char buf[LEDGER_ROW])
{
    char key[LEDGER_KEY];
    size_t n = r->t.key.len < sizeof(key) - 1 ? r->t.key.len : sizeof(key) - 1;

    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)r->t.key.p[i];
        key[i] = c < 0x20 || c == 0x7f ? '?' : (char)c;
    }
    key[n] = '\0';
    snprintf(buf, LEDGER_ROW, "row %llu (%s %s, key %s", (unsigned long long)r->number + 1,
             trace_tier_text(r->t.tier), trace_op_text(r->t.op), key);
    return buf;
}

/* A row that ended with ENOSPC: what it needed and what is free, in its tier or on the target. */
static void ledger_say_no_room(const struct ledger *l, const struct row *r)
{
    const struct room_effect *effect = &r->effect;
    const struct room *tier = &l->room[r->t.tier],
                      *room = effect->of_target ? room_target(tier, effect) : tier;
    uint64_t target_free = l->target_free ? l->target_free(l->ctx, r) : UINT64_MAX;
    char space[160], row[LEDGER_ROW];

    if (effect->verdict == ROOM_FULL && effect->needed <= effect->room_left)
        snprintf(space, sizeof(space), "one object more than the %llu that fit",
                 (unsigned long long)room->max_objects);
    else if (effect->verdict == ROOM_FULL)
        snprintf(space, sizeof(space), "%llu bytes needed, %llu free in the %s of %llu",
                 (unsigned long long)effect->needed, (unsigned long long)effect->room_left,
                 effect->of_target ? "target" : "tier", (unsigned long long)room->capacity);
    else if (target_free != UINT64_MAX && target_free >= r->t.size)
        snprintf(space, sizeof(space),
                 "%llu bytes needed; %llu seem free on the target now: another limit (inodes, a "
                 "quota) or another writer",
                 (unsigned long long)r->t.size, (unsigned long long)target_free);
    else if (target_free != UINT64_MAX)
        snprintf(space, sizeof(space), "%llu bytes needed, %llu free on the target",
                 (unsigned long long)r->t.size, (unsigned long long)target_free);
    else
        snprintf(space, sizeof(space), "%llu bytes needed", (unsigned long long)r->t.size);
    ledger_say(l, "%s): ENOSPC: no room: %s", ledger_row(r, row), space);
}

/* A store's words are told once for each of its codes: a Status has not all of
 * them. */
static void ledger_say_said(struct ledger *l, const struct tier_op *op)
{
    char said[sizeof(op->said)];
    unsigned n = 0;

    while (n < LEDGER_CODES && l->code[n][0] && strcmp(l->code[n], op->code) != 0)
        n++;
    if (n == LEDGER_CODES || l->code[n][0])
        return;
    memcpy(l->code[n], op->code, sizeof(l->code[n]));
    memcpy(said, op->said, sizeof(said));
    err_make_harmless(said);
    ledger_say(l, "the store says %s%s%s", op->code, said[0] ? ": " : "", said);
}

/* Whom a failed row is to be blamed on: the trace, the store or the device. */
static void ledger_say_failed(const struct ledger *l, const struct row *r)
{
    const struct object *o = r->effect.object;
    const char *name = trace_status_text(r->t.status);
    unsigned long long size = r->t.size;
    char row[LEDGER_ROW];

    ledger_row(r, row);
    if (r->t.status >= TRACE_FOREIGN) {
        ledger_say(l, "%s, %llu bytes): %s: the store refused it", row, size, name);
        return;
    }
    switch (r->t.status) {
    case TRACE_LOST:
        ledger_say(l,
                   "%s, %llu bytes): lost: the store does not have it any more, and no row "
                   "removed it",
                   row, size);
        return;
    case ENOENT:
        ledger_say(l, "%s, %llu bytes): %s: the store has lost the folder it goes to", row, size,
                   name);
        return;
    case EINVAL:
        if (o && r->t.op == TRACE_READ && size > o->size) {
            ledger_say(l, "%s, %llu bytes): %s: the trace asks for more than the %llu bytes stored",
                       row, size, name, (unsigned long long)o->size);
            return;
        }
        break;
    case EIO:
    case ENODATA: /* Linux: a medium error */
    case EBADMSG: /* file systems: a checksum does not match */
    case EUCLEAN: /* file systems: their own structures are damaged */
    case EILSEQ:
    case EREMOTEIO:
    case ENXIO:
    case ENODEV:
        ledger_say(l, "%s, %llu bytes): %s: the device or its file system failed: %s", row, size,
                   name, strerror(r->t.status));
        return;
    case ETIMEDOUT:
        ledger_say(l, "%s, %llu bytes): %s: the store gave no answer in time", row, size, name);
        return;
    default:
        break;
    }
    ledger_say(l, "%s, %llu bytes): %s: the target refused: %s", row, size, name,
               strerror(r->t.status));
}

void ledger_end(const struct ledger *l)
{
    if (l->corrupt > LEDGER_LINES)
        ledger_say(l, "%llu corrupt rows in all, the first %d named above",
                   (unsigned long long)l->corrupt, LEDGER_LINES);
    if (l->failed > LEDGER_LINES)
        ledger_say(l, "%llu failed rows in all, the first %d named above",
                   (unsigned long long)l->failed, LEDGER_LINES);
}

/* ---- the row's way ---- */

int ledger_begin(struct ledger *l, int64_t zero_ns, int64_t warmup_ns, int64_t until_ns,
                 struct err *e)
{
    l->counts->from_ns = zero_ns + warmup_ns;
    l->counts->until_ns = until_ns;
    return results_zero(l->results, zero_ns, e);
}

enum ledger_verdict ledger_started(struct ledger *l, struct row *r)
{
    counts_started(l->counts, r);
    if (r->t.op == TRACE_READ && order_reads_early(r, r->t.start_ns))
        l->counts->reads_before_write++;
    if (l->lag_limit_ns == INT64_MAX || r->t.due_ns == TRACE_NONE)
        return LEDGER_GO_ON;
    int64_t lag_ns = r->t.start_ns - r->t.due_ns;
    if (lag_ns < LEDGER_CAUGHT_UP_NS)
        l->skip_waits = false;
    if (lag_ns <= l->lag_limit_ns)
        return LEDGER_GO_ON;
    l->skip_waits = l->on_lag == LEDGER_LAG_SKIP_WAIT;
    if (l->lagged)
        return LEDGER_GO_ON;
    l->lagged = true;
    ledger_say(l, "row %llu is %.3f s behind its time: %s", (unsigned long long)r->number + 1,
               (double)lag_ns / 1e9,
               row_late_ns(r) > lag_ns / 2 ? "kvreplay was stopped or had no processor"
                                           : "the target is slower than the trace");
    return l->on_lag == LEDGER_LAG_STOP ? LEDGER_END : LEDGER_GO_ON;
}

void ledger_created(struct ledger *l, const struct row *r)
{
    l->counts->created_objects++;
    l->counts->created_bytes += r->t.size;
    l->counts->write_bytes[r->t.tier] += r->t.size;
}

void ledger_moved(struct ledger *l, const struct row *r, const struct tier_op *op)
{
    const struct data_fault *fault = &op->fault;
    char row[LEDGER_ROW];

    if (op->status == -EREMOTEIO && op->code[0])
        ledger_say_said(l, op);
    bool named = trace_status_corrupt(r->t.status) && l->corrupt++ < LEDGER_LINES;
    const char *what = trace_status_text(r->t.status);

    if (named && fault->kind)
        ledger_say(l, "%s): %s: block %llu at offset %llu: %s", ledger_row(r, row), what,
                   (unsigned long long)fault->block, (unsigned long long)fault->offset,
                   data_fault_text(fault->kind));
    else if (named)
        ledger_say(l, "%s): %s: differs from the list of kept objects", ledger_row(r, row), what);
    l->counts->unverified_reads +=
        op->verb == TIER_READ && !(l->verifies && l->verifies[r->t.tier]);
}

void ledger_cleans(const struct ledger *l)
{
    ledger_say(l, "Tier-2 is full: objects that were read longest ago are removed until 90 %% is "
                  "used (--on-full evict)");
}

void ledger_stopping(const struct ledger *l, size_t in_flight)
{
    if (in_flight == 0)
        ledger_say(l, "stopping; again to abort");
    else
        ledger_say(l, "stopping: finishing %zu operation%s; again to abort", in_flight,
                   units_plural(in_flight));
}

int ledger_abandoned(struct ledger *l, struct row *r, int64_t now_ns, struct err *e)
{
    bool misses = r->stage == ROW_LOOKUP && r->t.op == TRACE_MISS;

    if (r->stage == ROW_CREATE || (r->stage == ROW_LOOKUP && !misses)) /* it has not started */
        return 0;
    if (r->of_cleaner || r->retry) /* the row waits for room */
        return 0;
    if (r->stage == ROW_MAIN || misses) { /* else it has ended, and what it left is being removed */
        r->t.status = ECANCELED;
        r->t.latency_ns = now_ns - r->t.start_ns;
        r->t.device_ns = TRACE_NONE;
    }
    counts_add(l->counts, r);
    return results_put(l->results, r, e);
}

int ledger_finished(struct ledger *l, const struct row *r, enum ledger_verdict *verdict,
                    struct err *e)
{
    bool absent = r->t.status == TRACE_ABSENT, ends = absent || l->on_error == LEDGER_ERROR_STOP;
    char row[LEDGER_ROW];

    counts_add(l->counts, r);
    int rc = results_put(l->results, r, e);
    *verdict = LEDGER_GO_ON;
    if (r->t.status == TRACE_OK || row_was_removed(r) ||
        (absent && l->on_absent != LEDGER_ABSENT_FAIL))
        return rc;
    *verdict = ends ? LEDGER_END : LEDGER_GO_ON;
    if (absent)
        ledger_say(l, "%s): the object is not there", ledger_row(r, row));
    else if (trace_status_corrupt(r->t.status))
        return rc; /* reported when it was found */
    else if (l->failed++ >= LEDGER_LINES)
        return rc;
    else if (r->t.status == ENOSPC)
        ledger_say_no_room(l, r);
    else
        ledger_say_failed(l, r);
    return rc;
}
