/* An operation of a RESP store as a sequence of commands. The cursors are bytes of the object, then
 * parts. */
#ifndef KVTRACE_REMOTE_RESP_STEPS_H
#define KVTRACE_REMOTE_RESP_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/tier/tier.h"

enum resp_job_kind {
    RESP_WRITE,
    RESP_READ,
    RESP_REMOVE /* a delete, or the end of a read that drops */
};

struct resp_cursor {
    uint64_t at;   /* contents up to here are done */
    uint64_t part; /* next part to remove */
    bool began;    /* an empty object has a command, too */
};
struct resp_job {
    struct tier_op *op;
    enum resp_job_kind kind;
    uint64_t part_bytes;   /* objects are stored in parts of so much */
    uint64_t bytes;        /* of contents to move */
    uint64_t remove_until; /* parts from cursor.part on to be removed */
    struct resp_cursor sent, answered;
    int64_t begin_ns, last_ns; /* first byte sent, last reply */
    unsigned retries;
    bool may_pass;    /* it failed, and another attempt may succeed */
    int64_t again_ns; /* when it is repeated */
    struct resp_job *next;
};

enum resp_step {
    RESP_STEP_CONTENTS,
    RESP_STEP_REMOVE,
    RESP_STEP_NONE
};

/* Parts of an object of so many bytes. */
uint64_t resp_parts(uint64_t part_bytes, uint64_t bytes);
void resp_job_begin(struct resp_job *j, struct tier_op *op, uint64_t part_bytes);
/* A read that drops its object goes on as a removal; so does a write, of what it has replaced and
 * that has another name, and the first of two removals. */
bool resp_job_drops(struct resp_job *j);
enum resp_step resp_next_step(const struct resp_job *j, const struct resp_cursor *c);
void resp_step_done(const struct resp_job *j, struct resp_cursor *c);
/* The length of the command that begins at at: a part that is written, a piece that is read. */
uint64_t resp_step_bytes(const struct resp_job *j, uint64_t at);
/* Errors that may pass: the server is busy, or was not reached. */
bool resp_may_pass(int status, const char *code);

#endif
