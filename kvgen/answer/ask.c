/* ask.c - reads the options; answer.c finds, and report.c writes. */
#include "kvgen/answer/ask.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kvgen/answer/answer.h"
#include "kvgen/answer/report.h"
#include "kvgen/sim/hierarchy.h"

static const struct options *options_of(const struct ask_opts *o)
{
    return o->load.source->options;
}

/* Whether the requests differ from seed to seed. */
static bool is_drawn(const struct options *o)
{
    return !o->input || o->source == OPTIONS_BURST || o->source == OPTIONS_AZURE ||
           o->source == OPTIONS_SHAREGPT;
}

/* The option that asks about a number of loads of the source. */
static const char *asking_option(const struct options *o)
{
    return !o->input || o->source == OPTIONS_AGENTIC ? "users"
           : o->source == OPTIONS_SHAREGPT           ? "request-rate"
                                                     : "speed";
}

int ask_check(const struct load_opts *load, struct err *e)
{
    const struct options *o = load->source->options;
    const char *name = asking_option(o);
    const bool users = strcmp(name, "users") == 0;
    const double asked = users                           ? (double)o->users
                         : o->source == OPTIONS_SHAREGPT ? o->request_rate
                                                         : o->speed;
    const double most = users ? ANSWER_USERS_MAX : (double)ANSWER_USERS_MAX / LOAD_SPEED;
    const char *unit = users                           ? " users"
                       : o->source == OPTIONS_SHAREGPT ? " requests a second"
                                                       : " times the speed";
    char option[24];
    if (!opt_given(load->source->parser, name) || asked <= most)
        return 0;
    snprintf(option, sizeof(option), "--%s", name);
    return err_set(e, -EINVAL, ERR_INPUT, option, "--answer tries no more than %.6g%s", most, unit);
}

/* The loads that are searched. *requests_s: of a load of 1; 0: loads are users. */
static int set_load(struct answer_opts *a, double *requests_s, const struct ask_opts *ask,
                    struct err *e)
{
    const struct options *o = options_of(ask);
    const struct opt_parser *parser = ask->load.source->parser;
    const bool dataset = o->source == OPTIONS_SHAREGPT;
    const double speed = (dataset ? o->request_rate : o->speed) * LOAD_SPEED;
    *requests_s = 0;
    if (strcmp(asking_option(o), "users") == 0) {
        a->load = load_of_users(&ask->load);
        a->first = ANSWER_FIRST_USERS;
        a->asked = opt_given(parser, "users") ? o->users : 0;
        return 0;
    }
    a->first = LOAD_SPEED;
    if (opt_given(parser, asking_option(o)))
        a->asked = speed < 1 ? 1 : (uint64_t)(speed + 0.5);
    if (dataset) {
        a->load = load_of_rate(&ask->load);
        *requests_s = 1.0 / LOAD_SPEED;
        return 0;
    }
    const int rc = load_of_trace(&a->load, requests_s, &ask->load, e);
    *requests_s /= LOAD_SPEED;
    return rc;
}

static struct answer_report report_of(const struct ask_opts *ask, const struct answer *a,
                                      const struct answer_opts *opts, double requests_s)
{
    const struct options *o = options_of(ask);
    struct answer_report report = {.argc = ask->argc,
                                   .argv = ask->argv,
                                   .started_wall_ns = ask->started_wall_ns,
                                   .answer = a,
                                   .opts = opts,
                                   .model = ask->model->id,
                                   .gpu = ask->gpu->name,
                                   .measured = o->prefill_rate != NULL,
                                   .tensor_parallel = o->tensor_parallel,
                                   .engine = engine_choice_name(&o->engine),
                                   .engine_version = engine_choice_version(&o->engine),
                                   .on_full = o->on_full == OPTIONS_FULL_EVICT ? "evict" : "fail",
                                   .population = o->input        ? NULL
                                                 : o->users_file ? o->users_file
                                                                 : o->population,
                                   .source = o->input ? o->input : "users",
                                   .load_requests_s = requests_s,
                                   .drive_text = strchr(o->tier_model.item[0], '=') + 1, /* 2=... */
                                   .tbw = o->tbw,
                                   .gpu_price = ask->gpu_price};
    for (int t = 0; t < TRACE_TIERS; t++)
        report.capacity[t] = ask->capacity[t] == HIERARCHY_UNLIMITED
                                 ? UINT64_MAX
                                 : ask->capacity[t] * (t == TRACE_GPU ? 1 : ask->engine.room.ranks);
    return report;
}

static int tell_window(struct answer *a, const struct answer_opts *opts, const struct ask_opts *ask,
                       double requests_s, struct err *e)
{
    const struct ask_window *w = ask->window;
    const struct options *o = options_of(ask);
    struct ask_load load = {o->users, o->speed, o->request_rate};
    if (!(requests_s > 0))
        load.users = a->at;
    else
        *(o->source == OPTIONS_SHAREGPT ? &load.request_rate : &load.speed) =
            (double)a->at / LOAD_SPEED;
    int rc = w->open(w->ctx, &load, e);
    if (rc == 0)
        rc = answer_tell_window(a, opts, w->sink, w->ctx, e);
    return rc == 0 ? w->close(w->ctx, e) : rc;
}

int ask(const struct ask_opts *ask, struct err *e)
{
    const struct options *o = options_of(ask);
    struct answer a = {0};
    struct answer_opts opts = {.engine = ask->engine,
                               .criterion = {o->ttft_ns, o->tpot_ns, o->goodput},
                               .seed = o->seed,
                               .seeds = is_drawn(o) ? (unsigned)o->seeds : 1,
                               .threads = ask->threads,
                               .window_ns = o->answer_window_ns,
                               .progress = ask->progress};
    double requests_s;
    opts.engine.max_requests = 0;
    int rc = set_load(&opts, &requests_s, ask, e);
    if (rc == 0)
        rc = answer_find(&a, &opts, e);
    progress_clear(ask->progress);
    if (rc == 0 && ask->window)
        rc = tell_window(&a, &opts, ask, requests_s, e);
    if (rc == 0) {
        const struct answer_report report = report_of(ask, &a, &opts, requests_s);
        answer_print(stderr, &report);
        rc = answer_save(&report, o->answer, e);
    }
    answer_free(&a);
    return rc;
}
