/* live.h - KV events as engines publish them now, over ZMQ. */
#ifndef KVGEN_RECORD_LIVE_H
#define KVGEN_RECORD_LIVE_H

#include "kvgen/record/batch.h"

struct live_opts {
    const char *connect;    /* endpoints of publishers, "tcp://host:5557,..."; NULL: none */
    const char *bind;       /* endpoints that publishers connect to, likewise */
    const char *gaps;       /* endpoints of replay sockets, in the order of the endpoints */
    int64_t duration_ns;    /* real time after which it ends; 0: no limit */
    uint64_t message_bytes; /* of a frame, at most: who sends more is cut off */
};

/* False: this build has no libzmq, and live_open always fails. */
bool live_is_built(void);
/* Whether text names an endpoint and no file. */
bool live_is_endpoint(const char *text);
/*
 * A reader of all endpoints. Messages come in the order of their numbers, per publisher: where one
 * is missing, the replay socket is asked for it, and what stays missing is left out. A message that
 * is damaged is given with what could be read of it (batch.damage). It ends after the duration, and
 * at the first signal, and says BATCH_NONE_NOW several times a second. o stays the caller's. 0 or
 * negative errno with *e
 * (-ENOTSUP: built without ZMQ; an endpoint that is none).
 */
int live_open(struct batch_reader **out, const struct live_opts *how, const struct record_opts *o,
              struct err *e);

#endif
