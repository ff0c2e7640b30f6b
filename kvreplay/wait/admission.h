/* Served timing: requests stand in line until they have arrived and one of N workers is free.
 * Decides which request is let in, and when. One thread, the scheduler's; it reads no clock. */
#ifndef KVREPLAY_WAIT_ADMISSION_H
#define KVREPLAY_WAIT_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvreplay/wait/room.h"
#include "kvreplay/wait/row.h"

enum admission_rule {
    ADMISSION_FIFO, /* one line, in the order of the trace; room is the rows' own business */
    /* One line for each class of service, each in the order of the trace. The highest class goes
     * first, and every tenth admission is for the class whose first request arrived first. A
     * request that one of a higher class waits for by key stands in the line of that class. Its
     * room is reserved when it is let in; while that is not free, the other classes go first, ten
     * times at most. */
    ADMISSION_QOS
};

struct admission;

/* A request that has ended. */
struct admission_ended {
    uint8_t qos;
    int64_t arrival_ns, start_ns, done_ns; /* start: of its first row */
    int64_t late_ns;                       /* how late the tool itself was with its rows, in all */
    int64_t line_ns; /* what stops of the process added to its wait for a worker */
};
typedef void (*admission_ended_fn)(void *ctx, const struct admission_ended *request);

struct admission_opts {
    enum admission_rule rule;
    unsigned workers;
    size_t rows;       /* inside, at most */
    struct room *room; /* TRACE_TIERS; ADMISSION_QOS reserves it */
    admission_ended_fn ended;
    void *ctx;
};

/* How a request was let in. */
struct admission_way {
    int64_t when_ns;     /* since when it could be */
    bool inherited;      /* with the class of a request that waits for it */
    bool in_turn;        /* before a higher class, as the tenth */
    bool beyond_workers; /* no worker was free */
    bool beyond_room;    /* its room was not free */
};

/* NULL: no memory. */
struct admission *admission_create(const struct admission_opts *o);
void admission_free(struct admission *a);
/* The next row of the trace that has a Request, after order_enter; its request arrives at
 * arrival_ns. Sets ROW_WAIT_WORKER and Due when it is the first row of its request. ADMISSION_QOS:
 * order_keep_links was called, and the row's room counts to that of its request. */
void admission_enter(struct admission *a, struct row *r, int64_t arrival_ns, int64_t now_ns);
/* Lets the request in whose turn it is, when it has arrived and a worker is free. Returns its first
 * row, with ROW_WAIT_WORKER cleared; else NULL. */
struct row *admission_next(struct admission *a, int64_t now_ns, struct admission_way *way);
/* The first request in the order of the trace that is in line; NULL: none, or it has not arrived.
 */
const struct row *admission_oldest(const struct admission *a, int64_t now_ns);
/* Lets that request in without a free worker and without room, for when nothing else can go on. It
 * must be there. */
struct row *admission_beyond(struct admission *a, int64_t now_ns, struct admission_way *way);
/* The room of r's request in the tier of r, once that request was let in; NULL: it is in line. Only
 * for a row with a request. */
struct room_claim *admission_claim(const struct row *r);
/* The first row of a request starts; line_ns: what stops of the process added to its wait. */
void admission_started(struct row *r, int64_t start_ns, int64_t line_ns);
/* The row is finished. */
void admission_leave(struct admission *a, struct row *r, int64_t done_ns);
/* Ends the requests that have no row inside and seem to have no further row: newest is the number
 * of the row that entered last; no_more says that no row can come now. True: some workers were
 * freed. */
bool admission_settle(struct admission *a, uint64_t newest, bool no_more);
/* Does a request hold a worker only because more rows of it may come? */
bool admission_lingers(const struct admission *a);
/* Is every worker busy? */
bool admission_full(const struct admission *a);
/* When admission_next may let a request in by time alone; INT64_MAX: never. */
int64_t admission_next_ns(const struct admission *a);
/* When admission_oldest returns a request; INT64_MAX: nobody is in line. */
int64_t admission_oldest_ns(const struct admission *a);
/* Requests in line that have arrived. */
size_t admission_waiting(struct admission *a, int64_t now_ns);
/* Calls waits for each of them, with its QoS, its arrival and how long it has waited. */
typedef void (*admission_waits_fn)(void *ctx, uint8_t qos, int64_t arrival_ns, int64_t wait_ns);
void admission_each_waiting(const struct admission *a, int64_t now_ns, admission_waits_fn waits,
                            void *ctx);
/* Are there requests inside that have not arrived yet? As of the last admission_waiting. */
bool admission_expects(const struct admission *a);

#endif
