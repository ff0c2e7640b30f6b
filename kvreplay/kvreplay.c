/* kvreplay: executes a trace of KV-cache operations for real. Options are read and checked here;
 * one replay of them is replay.c's, a search over many autoscale.c's. The one error is printed
 * here. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kvreplay/autoscale.h"
#include "kvreplay/options.h"
#include "kvreplay/replay.h"
#include "lib/base/err.h"
#include "lib/base/stop.h"

static int complain(const struct err *e)
{
    char line[1200];
    err_format(e, "kvreplay", line, sizeof(line));
    fprintf(stderr, "%s\n", line);
    return err_exit_status(e);
}

int main(int argc, char **argv)
{
    struct options o;
    struct err e = {0};
    const char *trace;
    int status = 0;

    struct opt_parser *p = options_open(&o);
    int rc = p ? opt_parse(p, argc, argv, &e) : err_nomem(&e, "options");
    if (rc > 0) {
        if (opt_print_answer(p, &e) < 0)
            status = complain(&e);
        goto out;
    }
    if (rc == 0)
        rc = options_check(p, &o, &trace, &e);
    if (rc == 0)
        rc = stop_install(&e);
    if (rc == 0)
        rc = (o.autoscale != AUTOSCALE_OFF ? autoscale_run : replay_run)(
            &(struct replay_input){
                .options = &o, .parser = p, .trace = trace, .argc = argc, .argv = argv},
            &status, &e);
    if (rc < 0 && rc != -EPIPE && !stop_signal())
        status = complain(&e);
    else if (rc == -EPIPE)
        status = 1;
    status = stop_exit_status(status);
out:
    opt_close(p);
    if (fflush(stdout) != 0 && status == 0)
        status = 1;
    return status;
}
