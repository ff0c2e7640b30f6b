/* settle.h - when each operation of an op-log starts, so that a program that waits for no other
 * operation finds what it reads. Operations on one object, unless both read it, start at least a
 * time apart; only what is too early is moved, and never to an earlier time. One thread. */
#ifndef KVGEN_FORMAT_SETTLE_H
#define KVGEN_FORMAT_SETTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/format/exporter.h"

struct settle;

/* How an operation is exported. */
struct settle_step {
    bool unusable;    /* left out: the last PUT of its object failed */
    bool unwritten;   /* reads what nothing has written: a PUT of it goes to the head. Preloaded:
                         is the first to read its object */
    bool gone;        /* reads or deletes an object that is not there (any more) */
    bool early;       /* starts before one on its object is done that must not go on beside it */
    uint64_t size;    /* of its object as it was written; its own if that is not known */
    int64_t start_ns; /* when it starts */
    /* It moves its object: unless a PUT follows that brings it back, the object has left what is
     * exported, and is deleted then. 0: it moves nothing; else ask settle_leaves. */
    uint32_t leave;
    int64_t leave_ns;
};

/* How far operations were moved. */
struct settle_moved {
    uint64_t ops, of;
    int64_t sum_ns, most_ns;
    /* The most that an operation took in the trace which another on its object follows, unless both
     * are GETs: on that target, operations this far apart meet no other. 0: not known. */
    int64_t needed_ns;
};

/* Times between PUT and end for which settle_count says whether an operation fails. */
enum {
    SETTLE_PUTS = 3
};
extern const int64_t settle_put_ns[SETTLE_PUTS];

/* Operations start at least apart_ns apart; 0: nothing is moved. preloaded: all objects that are
 * read or deleted are there before the first operation, what is written has a name of its own, and
 * nothing is moved. NULL: no memory. */
struct settle *settle_create(int64_t apart_ns, bool preloaded);
void settle_free(struct settle *s);
/* The next operation, in the order of start. 0 or -ENOMEM. */
int settle_next(struct settle *s, const struct export_op *op, struct settle_step *step);
/* Whether the object left for good. Ask after the last operation. */
bool settle_leaves(const struct settle *s, uint32_t leave);
const struct settle_moved *settle_moved(const struct settle *s);

/* Operations as they are written, in the order of their new starts: bit i is set if it fails where
 * a PUT takes settle_put_ns[i], and what it overwrites cannot be read meanwhile. -ENOMEM. */
int settle_count(struct settle *s, const struct export_op *op, int64_t start_ns);

#endif
