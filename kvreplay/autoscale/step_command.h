/* The command that makes the trace of a step: a shell whose standard output is read as the trace.
 * It runs in a process group of its own, which ends when kvreplay ends, in whatever way. The main
 * thread. */
#ifndef KVREPLAY_AUTOSCALE_STEP_COMMAND_H
#define KVREPLAY_AUTOSCALE_STEP_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/err.h"

enum {
    STEP_COMMAND_PATH = 32
};

/* The beginning of path; a number follows. */
#define STEP_COMMAND_FOLDER "/dev/fd/"

/* Plain state. Zero it, with fd -1, first. */
struct step_command {
    pid_t pid;                    /* 0: none runs */
    int fd;                       /* of its standard output; -1: none */
    char path[STEP_COMMAND_PATH]; /* under which the output can be opened */
    int status;                   /* of waitpid, when it ended by itself */
    bool failed;                  /* it ended by itself, and not with 0 */
};

/* Starts command with every {N} in it replaced by users. Its input is empty; its errors go where
 * ours go. 0, or negative errno with *e. */
int step_command_start(struct step_command *c, const char *command, uint64_t users, struct err *e);
/* Waits until the command has written something, or has ended: 0; -ETIMEDOUT when neither comes
 * within silent_ns, -EINTR when a signal comes, both with *e. */
int step_command_ready(const struct step_command *c, int64_t silent_ns, struct err *e);
/* Ends it. patient: a command that has nothing more to write gets a moment to end by itself, and
 * its status counts. Then signals end the whole group. fd stays open. Idempotent. */
void step_command_stop(struct step_command *c, bool patient);
/* step_command_stop without patience, and closes fd. */
void step_command_close(struct step_command *c);

#endif
