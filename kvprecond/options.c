/* The table of kvprecond's options, the checks of options against each other, and the defaults that
 * depend on mode and target. Runs first; everything after it gets plain values. */
#include "kvprecond/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvprecond/option_marks.h"
#include "lib/base/units.h"
#include "lib/conf/conf.h"
#include "lib/conf/texts.h"
#include "lib/data/data.h"
#include "lib/io/target_device.h"
#include "lib/model/find.h"
#include "lib/opt/files.h"
#include "lib/opt/tables.h"
#include "lib/ranks/ranks.h"
#include "lib/tier/tier.h"
#include "lib/tier/uri.h"

#define KV_THREADS 4

/* Refuses options that have no meaning for this target and mode. */
static int check_modes(const struct options *o, const struct opt_parser *p, struct err *e)
{
    const struct opt_mode modes[] = {
        {.on = o->kind == TARGET_DEVICE,
         .refuses = NOT_DEVICE,
         .why = "does not apply to a block device"},
        {.on = o->kind == TARGET_FILE,
         .refuses = NOT_FILE,
         .why = "does not apply to a single file"},
        {.on = o->mode != PLAN_KV, .refuses = KV_ONLY, .why = "applies only with --mode kv"},
        {.on = o->mode == PLAN_KV,
         .refuses = NOT_KV,
         .why = "does not apply with --mode kv, where each object is a file"},
        {.on = o->mode != PLAN_STREAM,
         .refuses = STREAM_ONLY,
         .why = "applies only with --mode stream"},
        {.on = o->mode == PLAN_STREAM,
         .refuses = NOT_STREAM,
         .why = "does not apply with --mode stream"},
        {.on = !o->remote,
         .refuses = REMOTE_ONLY,
         .why = "applies only to a target behind a network"},
        {.on = o->remote,
         .refuses = NOT_REMOTE,
         .why = "does not apply to a target behind a network"},
        {.on = !o->buffered, .refuses = BUFFERED_ONLY, .why = "applies only with --buffered"},
        {.on = !o->until_steady, .refuses = STEADY_ONLY, .why = "applies only with --until-steady"},
    };

    return opt_check_modes(p, modes, sizeof(modes) / sizeof(modes[0]), e);
}

/* The model of --mode kv, and the size of its objects. */
static int check_model(struct options *o, const struct conf *conf, struct err *e)
{
    if (o->force_model && !strstr(o->model_id, ".json"))
        return err_set(e, EINVAL, ERR_INPUT, "--force-model",
                       "applies only to a config.json (--model FILE.json)");
    o->reading.force = o->force_model;
    int rc = model_find(&o->model, o->model_id, conf, &o->reading, e);
    if (rc == 0 && o->kv_dtype)
        rc = model_set_dtype(&o->model, o->kv_dtype, e);
    if (rc < 0)
        return rc;
    if (model_sequence_bytes(&o->model, OPTIONS_OBJECT_TOKENS, &o->object_bytes) < 0 ||
        o->object_bytes > OPTIONS_SIZE_MAX)
        return err_set(e, EOVERFLOW, ERR_INPUT, "--model", "an object of %u tokens is too large",
                       OPTIONS_OBJECT_TOKENS);
    if (o->object_bytes == 0)
        return err_set(e, EINVAL, ERR_INPUT, "--model", "objects of this model are empty");
    return 0;
}

static int check_files(const struct options *o, struct err *e)
{
    struct file_use files[4 + OPT_LIST_MAX + OPTIONS_TARGETS_MAX] = {
        {FILES_STREAMED, "the report", "-"},
        {FILES_WRITTEN, "--summary", o->summary},
        {FILES_WRITTEN, "--rounds", o->rounds},
        {FILES_READ, "--model", o->mode == PLAN_KV ? model_file(o->model_id) : NULL},
    };

    size_t n = 4 + conf_files(files + 4, &o->config);

    for (unsigned i = 0; i < o->target_count; i++)
        files[n++] =
            (struct file_use){FILES_TARGET, "the target", o->remote ? NULL : o->targets[i].path};
    for (size_t i = 1; i < 3; i++)
        if (files_is_dash(files[i].path))
            return err_set(e, EINVAL, ERR_INPUT, files[i].option,
                           "needs a file name; --json prints the result");
    return files_check(files, n, e);
}

/* ---- ranks ---- */

static void keep_expanded(struct options *o, const char **text, char *expanded)
{
    o->expanded[o->expanded_count++] = expanded;
    *text = expanded;
}

/* Ranks have one --summary, and --rounds each. */
static int expand_outputs(struct options *o, struct err *e)
{
    if (o->rounds && !part_has_rank(o->rounds))
        return err_set(e, EINVAL, ERR_INPUT, "--rounds",
                       "%s: every rank would write this file: put {rank} into its name", o->rounds);
    char *own = o->rounds ? part_expand(&o->part, o->rounds) : NULL;
    if (o->rounds && !own)
        return err_nomem(e, "names with {rank}");
    if (own)
        keep_expanded(o, &o->rounds, own);
    return 0;
}

void options_release(struct options *o)
{
    for (unsigned i = 0; i < o->expanded_count; i++)
        free(o->expanded[i]);
    o->expanded_count = 0;
}

/* ---- targets ---- */

/* text: of the operand or, with its name, the option. */
static int check_target(struct options *o, const char *text, const char *option, struct err *e)
{
    struct options_target *at = &o->targets[o->target_count];
    struct uri *u = &o->uri;
    bool small = o->small_pages, remote = o->remote;
    char *own = o->part.on ? part_target(&o->part, text, option, e) : NULL;

    if (o->part.on && !own)
        return -EINVAL;
    if (own)
        keep_expanded(o, &text, own);
    int rc = uri_parse(u, text, option, e);
    if (rc < 0)
        return rc;
    o->remote = u->scheme != URI_PATH;
    o->small_pages = u->pages == URI_PAGES_SMALL;
    if (o->remote && o->mode != PLAN_STREAM)
        return err_set(e, EINVAL, ERR_INPUT, option, "%s takes --mode stream only",
                       uri_scheme_text(u->scheme));
    if (u->text != text)
        return err_set(e, EINVAL, ERR_INPUT, option,
                       "a fill has no tiers: leave out the number before the path");
    if (u->like != URI_LIKE_KVTRACE)
        return err_set(e, EINVAL, ERR_INPUT, option,
                       "like= is for a replay: a fill writes in kvprecond's own way");
    if (o->target_count > 0 && (remote || o->remote))
        return err_set(e, EINVAL, ERR_INPUT, option,
                       "a store behind a network is filled alone: give one target");
    if (o->target_count > 0 && small != o->small_pages)
        return err_set(e, EINVAL, ERR_INPUT, option, "%s: pages= must be the same for all targets",
                       text);
    snprintf(at->path, sizeof(at->path), "%s", o->remote ? u->text : u->path);
    at->kind = TARGET_DIR;
    rc = o->remote ? 0 : target_kind(at->path, &at->kind, e);
    if (rc < 0)
        return rc;
    for (unsigned i = 0; i < o->target_count; i++) {
        if (target_same(o->targets[i].path, at->path))
            return err_set(e, EINVAL, ERR_INPUT, option,
                           "%s and %s are the same place: each target may be named once",
                           o->targets[i].path, at->path);
    }
    o->kind = o->target_count == 0 || o->kind == at->kind ? at->kind : TARGET_DIR;
    o->target_count++;
    return 0;
}

/* The operand, or each --target. */
static int check_targets(struct options *o, const struct opt_parser *p, struct err *e)
{
    const char *const *operand;
    size_t n = opt_operands(p, &operand), list = o->target.count;
    int rc = 0;

    if (n == 0 && list == 0)
        return err_set(e, EINVAL, ERR_INPUT, "", "no target given (see kvprecond --help)");
    if (n > 1 || (n && list))
        return err_set(e, EINVAL, ERR_INPUT, operand[n - 1],
                       "only one target can be given so; several with --target each");
    if (list > OPTIONS_TARGETS_MAX)
        return err_set(e, EINVAL, ERR_INPUT, "--target", "more than %d targets",
                       OPTIONS_TARGETS_MAX);
    if (n)
        return check_target(o, operand[0], "", e);
    for (size_t i = 0; i < list && rc == 0; i++)
        rc = check_target(o, o->target.item[i], "--target", e);
    return rc;
}

static int check(struct options *o, const struct opt_parser *p, const struct conf *conf,
                 struct err *e)
{
    int rc = check_targets(o, p, e);

    if (rc == 0 && o->part.on)
        rc = expand_outputs(o, e);
    if (rc < 0)
        return rc;
    for (unsigned i = 0; i < o->target_count; i++) {
        if (o->targets[i].kind != TARGET_DEVICE && !opt_given(p, "size"))
            return err_set(e, EINVAL, ERR_INPUT, "--size", "required: how much to write to %s",
                           o->targets[i].path);
    }

    rc = check_modes(o, p, e);
    if (rc == 0)
        rc = target_reserve_parse(o->reserve, &o->reserve_share, e);
    if (rc == 0 && o->mode == PLAN_KV)
        rc = check_model(o, conf, e);
    if (rc == 0)
        rc = check_files(o, e);
    if (rc < 0)
        return rc;
    if (o->block_bytes % DATA_BLOCK != 0)
        return err_set(e, EINVAL, ERR_INPUT, "--block-size", "not a multiple of 4 KiB");
    if (o->file_bytes % DATA_BLOCK != 0)
        return err_set(e, EINVAL, ERR_INPUT, "--config file_size", "not a multiple of 4 KiB");

    if (o->chunk_bytes % DATA_BLOCK != 0)
        return err_set(e, EINVAL, ERR_INPUT, "--config chunk_size", "not a multiple of 4 KiB");

    if (o->mode == PLAN_STREAM)
        o->block_bytes = o->chunk_bytes;
    if (o->block_bytes == 0)
        o->block_bytes = o->mode == PLAN_RANDOM ? DATA_BLOCK : UNITS_MIB;
    if (o->threads == 0)
        o->threads = o->mode == PLAN_KV ? KV_THREADS : 1;
    if (o->seed == 0)
        o->seed = data_random_seed();
    o->seed += o->part.rank; /* ranks share no block */
    o->size = DATA_PADDED(o->size);
    if (o->mode == PLAN_STREAM && !opt_given(p, "file-size"))
        o->file_bytes = o->size;
    return 0;
}

const char *options_program(void)
{
    return ranks_suffix()[0] ? "kvprecond-mpi" : "kvprecond";
}

int options_parse(struct options *o, struct opt_parser **parser, int argc, char **argv,
                  struct err *e)
{
    struct opt_parser *p = opt_open(options_program(), "[options] TARGET", kvprecond_options, o);
    struct conf *conf = NULL;
    const char *warning;
    int rc;

    if (!p)
        return err_nomem(e, "options");
    opt_part(p, "Redis (hiredis)", tier_resp_is_built());
    opt_part(p, "S3 (libcurl)", tier_s3_is_built());
    rc = opt_parse(p, argc, argv, e);
    if (rc == 0 && o->part.on && conf_is_stdin(&o->config))
        rc = err_set(e, -EINVAL, ERR_INPUT, "--config -",
                     "only rank 0 has standard input: name a file");
    if (rc == 0)
        rc = conf_read(&conf, &o->config, p, e);
    for (size_t i = 0; conf && o->part.rank == 0 && (warning = conf_warning(conf, i)) != NULL; i++)
        fprintf(stderr, "%s: %s\n", options_program(), warning);
    if (rc == 0 && conf) {
        o->fingerprint = opt_fingerprint(p, "target");
        rc = check(o, p, conf, e);
    }
    conf_free(conf);
    if (rc < 0) {
        opt_tell_place(p, e);
        opt_close(p);
        return rc;
    }
    *parser = p;
    return rc;
}
