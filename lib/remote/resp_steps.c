/* Beside resp.c, which sends commands and takes answers: decides which command of an operation
 * comes next. */
#include "lib/remote/resp_steps.h"

#include <errno.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/data/data.h"
#include "lib/layout/place.h"

#define PIECE (4 * UNITS_MIB) /* of a value that is read at a time: bounds the reader's memory */

uint64_t resp_parts(uint64_t part_bytes, uint64_t bytes)
{
    return bytes <= part_bytes ? 1 : (bytes + part_bytes - 1) / part_bytes;
}

bool resp_may_pass(int status, const char *code)
{
    static const char *const words[] = {"RESP:LOADING", "RESP:BUSY", "RESP:TRYAGAIN",
                                        "RESP:MASTERDOWN", "RESP:CLUSTERDOWN"};

    for (size_t i = 0; code && i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(code, words[i]) == 0)
            return true;
    }
    return !code && (status == -ETIMEDOUT || status == -ECONNRESET || status == -EPIPE ||
                     status == -ECONNREFUSED || status == -EHOSTUNREACH || status == -ENETUNREACH ||
                     status == -ENOENT); /* of a socket's path */
}

uint64_t resp_step_bytes(const struct resp_job *j, uint64_t at)
{
    uint64_t len = j->part_bytes - at % j->part_bytes;

    if (j->kind == RESP_READ && len > PIECE)
        len = PIECE;
    return len < j->bytes - at ? len : j->bytes - at;
}

enum resp_step resp_next_step(const struct resp_job *j, const struct resp_cursor *c)
{
    if (j->kind != RESP_REMOVE && (c->at < j->bytes || !c->began))
        return RESP_STEP_CONTENTS;
    return c->part < j->remove_until ? RESP_STEP_REMOVE : RESP_STEP_NONE;
}

void resp_step_done(const struct resp_job *j, struct resp_cursor *c)
{
    if (resp_next_step(j, c) == RESP_STEP_CONTENTS) {
        c->at += resp_step_bytes(j, c->at);
        c->began = true;
    } else {
        c->part++;
    }
}

void resp_job_begin(struct resp_job *j, struct tier_op *op, uint64_t part_bytes)
{
    /* Bytes that are written over: 0 if the object has another name now. */
    uint64_t stored = place_bytes(op->place), over = place_epoch(op->place) ? 0 : stored;
    uint64_t bytes = DATA_PADDED(op->size);

    *j = (struct resp_job){.op = op, .part_bytes = part_bytes};
    switch (op->verb) {
    case TIER_LOOKUP: /* of engines that say so only */
        break;
    case TIER_WRITE: /* parts of a longer object before it go */
        j->kind = RESP_WRITE;
        j->bytes = bytes;
        j->sent.part = j->answered.part = resp_parts(part_bytes, bytes);
        j->remove_until = resp_parts(part_bytes, over);
        break;
    case TIER_READ:
        j->kind = RESP_READ;
        j->bytes = bytes;
        break;
    case TIER_DELETE:
        j->kind = RESP_REMOVE;
        j->remove_until = resp_parts(part_bytes, stored);
        break;
    }
}

bool resp_job_drops(struct resp_job *j)
{
    struct tier_op *op = j->op;
    bool drops = j->kind == RESP_WRITE  ? place_epoch(op->place) != 0
                 : j->kind == RESP_READ ? op->drop
                                        : op->verb == TIER_DELETE && place_twice(op->place);

    if (!drops || op->status < 0)
        return false;
    if (j->kind == RESP_REMOVE)
        op->place = place_of(place_bytes(op->place), 0);
    op->part.slot_ns = j->begin_ns - op->start_ns;
    op->part.io_ns = j->last_ns - j->begin_ns;
    j->kind = RESP_REMOVE;
    j->sent = j->answered = (struct resp_cursor){0};
    j->remove_until = resp_parts(j->part_bytes, place_bytes(op->place));
    j->begin_ns = 0;
    return true;
}
