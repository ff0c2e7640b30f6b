/* Beside the scheduler: says at once what went wrong, ten times of each kind at most, so that a
 * broken device does not bury the terminal. Keys come from the trace and are untrusted: control
 * characters are not printed. */
#include "kvreplay/sched/notices.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    NOTICES_KEY = 160
};

static const char *notices_key(const struct row *r, char buf[NOTICES_KEY])
{
    size_t n = r->t.key.len < NOTICES_KEY - 1 ? r->t.key.len : NOTICES_KEY - 1;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)r->t.key.p[i];
        buf[i] = c < 0x20 || c == 0x7f ? '?' : (char)c;
    }
    buf[n] = '\0';
    return buf;
}

void notices_line(struct notices *n, const char *format, ...)
{
    va_list args;
    if (n->progress)
        progress_clear(n->progress);
    fputs("kvreplay: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

void notices_corrupt(struct notices *n, const struct row *r, const struct data_fault *fault)
{
    char key[NOTICES_KEY];
    if (n->corrupt++ >= NOTICES_MAX)
        return;
    notices_line(n, "row %llu (%s %s, key %s): corrupt: block %llu at offset %llu: %s",
                 (unsigned long long)r->number + 1, trace_tier_text(r->t.tier),
                 trace_op_text(r->t.op), notices_key(r, key), (unsigned long long)fault->block,
                 (unsigned long long)fault->offset, data_fault_text(fault->kind));
}

void notices_failed(struct notices *n, const struct row *r)
{
    char key[NOTICES_KEY];
    if (r->t.status == TRACE_ABSENT) {
        notices_line(n, "row %llu (%s %s, key %s): the object is not there",
                     (unsigned long long)r->number + 1, trace_tier_text(r->t.tier),
                     trace_op_text(r->t.op), notices_key(r, key));
        return;
    }
    if (n->failed++ >= NOTICES_MAX)
        return;
    notices_line(n, "row %llu (%s %s, key %s, %llu bytes): %s: %s",
                 (unsigned long long)r->number + 1, trace_tier_text(r->t.tier),
                 trace_op_text(r->t.op), notices_key(r, key), (unsigned long long)r->t.size,
                 trace_status_text(r->t.status), strerror(r->t.status));
}

/* ": 300 bytes needed, 200 free ...". */
static void notices_space(const struct row *r, const struct room *room, uint64_t target_free,
                          char *buf, size_t n)
{
    unsigned long long needed = r->plan.needed, left = r->plan.room_left;

    if (r->plan.verdict == PLAN_NO_ROOM && needed <= left)
        snprintf(buf, n, "one object more than the %llu that fit",
                 (unsigned long long)room->max_objects);
    else if (r->plan.verdict == PLAN_NO_ROOM)
        snprintf(buf, n, "%llu bytes needed, %llu free in the tier of %llu", needed, left,
                 (unsigned long long)room->capacity);
    else if (target_free != UINT64_MAX)
        snprintf(buf, n, "%llu bytes needed, %llu free on the target",
                 (unsigned long long)r->t.size, (unsigned long long)target_free);
    else
        snprintf(buf, n, "%llu bytes needed", (unsigned long long)r->t.size);
}

void notices_no_space(struct notices *n, const struct row *r, const struct room *room,
                      uint64_t target_free)
{
    char key[NOTICES_KEY], space[120];
    if (n->failed++ >= NOTICES_MAX)
        return;
    notices_space(r, room, target_free, space, sizeof(space));
    notices_line(n, "row %llu (%s %s, key %s): ENOSPC: no room: %s",
                 (unsigned long long)r->number + 1, trace_tier_text(r->t.tier),
                 trace_op_text(r->t.op), notices_key(r, key), space);
}

void notices_end(struct notices *n)
{
    if (n->corrupt > NOTICES_MAX)
        notices_line(n, "%llu corrupt rows in all, the first %d named above",
                     (unsigned long long)n->corrupt, NOTICES_MAX);
    if (n->failed > NOTICES_MAX)
        notices_line(n, "%llu failed rows in all, the first %d named above",
                     (unsigned long long)n->failed, NOTICES_MAX);
}
