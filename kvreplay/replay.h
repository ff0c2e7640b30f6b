/* replay.h - one whole replay, from an open command line to an exit status. */
#ifndef KVREPLAY_REPLAY_H
#define KVREPLAY_REPLAY_H

#include "kvreplay/options.h"
#include "lib/err.h"

struct replay_input {
    struct options *options;
    const struct opt_parser *parser;
    const char *trace; /* path or "-" */
    int argc;
    char *const *argv;
};

/* 0 and *status, the exit status that the rows' outcome asks for; or negative errno with *e
 * (-EINTR: a signal came before the run; -EPIPE: the reader of the results went away: both are not
 * worth a message). */
int replay_run(const struct replay_input *in, int *status, struct err *e);

#endif
