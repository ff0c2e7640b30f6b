/* When the processors were away from the threads that do the work: kept for the report, since times
 * that were measured meanwhile contain it. Each loop watches itself with its own clock and, where
 * the kernel tells (/proc/self/task/N/schedstat), with the time that it waited for a processor. One
 * more thread, which has nothing to do but to wake up, sees that the whole process stood still. */
#ifndef KVTRACE_IO_GAP_LIST_H
#define KVTRACE_IO_GAP_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/err.h"

enum {
    GAPS_MAX = 10000,     /* gaps kept; more are counted */
    GAPS_LOOPS_MAX = 256, /* loops whose run delay is known; more are not watched */
    GAPS_NAME_CAP = 24,
    GAPS_NS = 1000000,   /* shorter ones are none */
    GAPS_WAKE_NS = 50000 /* an idle processor, a virtual one above all, may take as long to come
                            back; who waits for storage has that, whatever runs beside it */
};

/* Whose loop it is. The scheduler takes no time that an engine measures: its gaps make rows start
 * late, and lengthen neither service nor device times. */
enum gap_of {
    GAPS_OF_ENGINE, /* of storage, or of any other engine but these two */
    GAPS_OF_MEMORY,
    GAPS_OF_GPU,
    GAPS_OF_SCHEDULER, /* "scheduler" */
    GAPS_OF_PROCESS    /* "process": the thread that only wakes up */
};

struct gap_list;

struct gap {
    int64_t start_ns, end_ns; /* monotonic */
    unsigned loop;            /* gap_list_loop_name */
};

/* Starts the thread that wakes up. NULL with *e: no memory, or no thread. */
struct gap_list *gap_list_create(struct err *e);
void gap_list_free(struct gap_list *g); /* after all loops; takes NULL */

/* A loop's own view; belongs to its thread. Zeroed, or opened with gaps NULL, it watches nothing.
 */
struct gap_loop {
    struct gap_list *gaps;
    unsigned loop;
    pid_t thread;
    int64_t delay_ns; /* run delay when it was last read; negative: the kernel does not tell */
};
/* In the loop's thread. Of an engine, name and number make "storage 0". */
void gap_loop_open(struct gap_loop *l, struct gap_list *g, enum gap_of of, const char *name,
                   unsigned number);
void gap_loop_close(struct gap_loop *l);
/* The processors were away from from_ns to until_ns, if that is long enough: the loop was due, or
 * had work, and did not run. */
void gap_loop_add(struct gap_loop *l, int64_t from_ns, int64_t until_ns);
/* From from_ns to now_ns the loop worked, or slept until something came. If that took long, the
 * part in which it waited for a processor is added, as the end of it. */
void gap_loop_look(struct gap_loop *l, int64_t from_ns, int64_t now_ns);

/* The timed part begins: forgets all gaps before. Ends: what comes later does not count. */
void gap_list_begin(struct gap_list *g);
void gap_list_end(struct gap_list *g);

/* The gaps of the timed part. Any thread. */
uint64_t gap_list_count(const struct gap_list *g); /* all, kept or not */
int64_t gap_list_largest_ns(const struct gap_list *g);
size_t gap_list_kept(const struct gap_list *g);
struct gap gap_list_at(const struct gap_list *g,
                       size_t i); /* i < gap_list_kept, in the order of their ends */
enum gap_of gap_list_of(const struct gap_list *g, unsigned loop);
/* Lent. */
const char *gap_list_loop_name(const struct gap_list *g, unsigned loop);
/* Time that the loops waited for a processor. The process's own thread is none of them: it measures
 * nothing that its waiting could lengthen. */
struct gap_list_delay {
    int64_t all_ns, engines_ns;
    int64_t longest_ns; /* of the loop that waited longest, the scheduler too */
    /* Waits of the engines that no gap in the list tells, less the time that an idle processor
     * takes to come back (GAPS_WAKE_NS): the rest is others' work. All, and of the loop that has
     * most. */
    int64_t unlisted_ns, most_ns;
    unsigned loop;        /* which one */
    unsigned loops;       /* of engines, whose delay is known */
    int64_t contended_ns; /* all waits of the engines, less the same */
    int64_t process_ns;   /* gaps of the process, as far as they are in the list */
};
/* False: the kernel does not tell. After gap_list_end. */
bool gap_list_run_delay(const struct gap_list *g, struct gap_list_delay *d);
/* Share of elapsed_ns (0..1) in which the thread that waited longest for a processor did so;
 * negative: not known. A row has one thread at a time, so its times grow by what that thread
 * waited: the sum over all threads would grow with their number, and the mean would hide a busy one
 * among idle ones. */
double gap_list_run_delay_share(const struct gap_list *g, int64_t elapsed_ns);
/* The same, with only these engines' loops. */
bool gap_list_run_delay_of(const struct gap_list *g, enum gap_of of, struct gap_list_delay *d);
/* How much of start_ns to end_ns lies in gaps of engines and process that are known now. Cheap when
 * none is as late. */
int64_t gap_list_overlap(const struct gap_list *g, int64_t start_ns, int64_t end_ns);
/* How much of it, which is over, lies in stops: gaps of the process of GAP_STOP_NS and more. It
 * knows of a stop before the thread that wakes up has told it. Cheap likewise. */
int64_t gap_list_stopped(const struct gap_list *g, int64_t start_ns, int64_t end_ns);
/* How many stops the list has. *longest_ns: of them, 0 of none. After gap_list_end. */
unsigned gap_list_stops(const struct gap_list *g, int64_t *longest_ns);

#endif
