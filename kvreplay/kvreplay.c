/* kvreplay: executes a trace of KV-cache operations for real. Reads and checks the options, then
 * runs one replay (run.c), or a search over many (autoscale.c). Errors are printed here, once:
 * by rank 0, where MPI started several. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "kvreplay/autoscale/autoscale.h"
#include "kvreplay/many/collect.h"
#include "kvreplay/options.h"
#include "kvreplay/replay.h"
#include "lib/base/descriptors.h"
#include "lib/base/err.h"
#include "lib/base/stop.h"

static int complain(const struct err *e)
{
    char line[1200];
    err_format(e, options_program(), line, sizeof(line));
    fprintf(stderr, "%s\n", line);
    return err_exit_status(e);
}

/* Whether the error says no more than that a signal came. Whoever writes our input has the signal
 * too, and its last row may be cut. */
static bool interrupted(int rc, const struct err *e)
{
    return stop_signal() && (rc == -EINTR || rc == -ECANCELED || e->class == ERR_INPUT);
}

int main(int argc, char **argv)
{
    struct options o = {0};
    struct err e = {0};
    struct ranks *ranks = NULL;
    const char *trace;
    bool stuck = false, speaks = true;
    int status = 0;

    descriptors_open_standard();
    struct opt_parser *p = options_open(&o);
    int rc = p ? ranks_open(&ranks, &argc, &argv, &e) : err_nomem(&e, "options");
    if (rc < 0)
        goto failed;
    speaks = ranks_rank(ranks) == 0;
    rc = opt_parse(p, argc, argv, &e);
    if (rc > 0) {
        if (speaks && opt_print_answer(p, &e) < 0)
            status = complain(&e);
        goto out;
    }
    if (rc == 0 && ranks_count(ranks) > 1)
        options_set_rank(&o, ranks_rank(ranks), ranks_count(ranks),
                         ranks_host(ranks, ranks_rank(ranks)));
    if (rc == 0)
        rc = options_check(p, &o, &trace, &e);
    if (rc == 0)
        rc = stop_install(NULL, &e);
    if (rc == 0)
        ranks_set_silence(ranks, o.lost_after_ns);
    rc = ranks_agree(ranks, rc, &e);
    if (rc < 0)
        goto failed;
    struct replay_input in = {
        .options = &o, .parser = p, .trace = trace, .argc = argc, .argv = argv, .stuck = &stuck};
    rc = o.autoscale != SEARCH_OFF ? autoscale_run(ranks, &in, &status, &e)
                                   : collect_run(ranks, &in, &status, &e);
failed:
    if (p)
        opt_tell_place(p, &e);
    if (rc == -EPIPE) /* the reader of the results went away: no message */
        status = 1;
    else if (rc < 0 && !interrupted(rc, &e))
        status = speaks ? complain(&e) : err_exit_status(&e);
    status = stop_exit_status(status);
out:
    if (!stuck)
        options_release(&o);
    opt_close(p);
    if (fflush(stdout) != 0 && status == 0)
        status = 1;
    ranks_close(ranks, status);
    if (stuck)
        _exit(status);
    return status;
}
