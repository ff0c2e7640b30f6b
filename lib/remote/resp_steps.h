/* An operation of a RESP store as a sequence of commands: first those that move bytes of the
 * object, then those that remove parts. A cursor says how far the sequence is. */
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
    uint64_t at;   /* bytes of contents that are done */
    uint64_t part; /* next part to remove */
    bool began;    /* an empty object has a command, too */
};
struct resp_job {
    struct tier_op *op;
    enum resp_job_kind kind;
    uint64_t part_bytes;   /* the size of the parts that objects are stored in */
    uint64_t bytes;        /* of contents to move */
    uint64_t remove_until; /* remove parts from cursor.part to before this one */
    struct resp_cursor sent, answered;
    int64_t begin_ns, last_ns; /* first byte sent, last reply */
    unsigned retries;
    bool may_pass;    /* it failed, but a retry may succeed */
    int64_t again_ns; /* when it is repeated */
    struct resp_job *next;
};

enum resp_step {
    RESP_STEP_CONTENTS,
    RESP_STEP_REMOVE,
    RESP_STEP_NONE
};

/* How many parts an object of that many bytes has. */
uint64_t resp_parts(uint64_t part_bytes, uint64_t bytes);
void resp_job_begin(struct resp_job *j, struct tier_op *op, uint64_t part_bytes);
/* The job has moved its bytes, or removed its parts. True: it goes on as a removal. So does a read
 * that drops its object, a write that replaces an object of another name, and the first of two
 * removals. */
bool resp_job_drops(struct resp_job *j);
enum resp_step resp_next_step(const struct resp_job *j, const struct resp_cursor *c);
void resp_step_done(const struct resp_job *j, struct resp_cursor *c);
/* How many bytes the command at offset at moves: a part to write, or a piece to read. */
uint64_t resp_step_bytes(const struct resp_job *j, uint64_t at);
/* Whether a retry may succeed: the server is busy, or was not reached. */
bool resp_may_pass(int status, const char *code);

#endif
