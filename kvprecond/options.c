/* The table of kvprecond's options, the checks of options against each other, and the defaults that
 * depend on mode and target. Runs first; everything after it gets plain values. */
#include "kvprecond/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/conf/conf.h"
#include "lib/data/data.h"
#include "lib/io/target_device.h"
#include "lib/model/find.h"
#include "lib/opt/files.h"
#include "lib/opt/rows.h"
#include "lib/ranks/ranks.h"
#include "lib/tier/tier.h"
#include "lib/tier/uri.h"

#define BLOCK_MAX      (64 * UNITS_MIB)
#define CHUNK_MAX      UNITS_GIB
#define BUFFERS_MAX    1024
#define SIZE_MAX_BYTES (UNITS_GIB << 30) /* 1 EiB: sums of offsets stay far from overflow */
#define THREADS_MAX    256
#define KV_THREADS     4
#define ROUND_MIN_NS   (10 * INT64_C(1000000))
#define ROUND_MAX_NS   (24 * 3600 * UNITS_NS_PER_S)

#define AT(field) offsetof(struct options, field)

/* Marks of the options, for check_modes. */
enum {
    KV_ONLY = 1 << 0,
    NOT_KV = 1 << 1,
    STEADY_ONLY = 1 << 2,
    NOT_DEVICE = 1 << 3,
    NOT_FILE = 1 << 4,
    STREAM_ONLY = 1 << 5,
    NOT_STREAM = 1 << 6,
    BUFFERED_ONLY = 1 << 7,
    REMOTE_ONLY = 1 << 8,
    NOT_REMOTE = 1 << 9
};

static const struct opt table[] = {
    {.type = OPT_HEADING, .help = "What is written"},
    {.name = "size",
     .letter = 's',
     .type = OPT_SIZE,
     .offset = AT(size),
     .flags = OPT_COMMON,
     .min = DATA_BLOCK,
     .max = (double)SIZE_MAX_BYTES,
     .help = "Bytes to write. Required, except for a device, which is written twice."},
    {.name = "mode",
     .type = OPT_ENUM,
     .offset = AT(mode),
     .flags = OPT_COMMON,
     .def = "sequential",
     .choices = "sequential|random|kv|stream",
     .help = "sequential: from first to last byte; random: each block once; kv: objects of a "
             "model; stream: very large files through a few buffers. Objects have 2,048 tokens; "
             "random is in random order; a stream is what a checkpoint writer does."},
    {.name = "block-size",
     .type = OPT_SIZE,
     .offset = AT(block_bytes),
     .flags = OPT_COMMON,
     .min = DATA_BLOCK,
     .max = (double)BLOCK_MAX,
     .marks = NOT_STREAM,
     .help = "Bytes of one write, a multiple of 4 KiB. Default: 1M; with --mode random 4K."},
    {.name = "model",
     .letter = 'm',
     .type = OPT_TEXT,
     .offset = AT(model_id),
     .flags = OPT_COMMON,
     .arg = "NAME",
     .def = "llama3.1-8b",
     .marks = KV_ONLY,
     .help = "With --mode kv: a built-in model, or a Hugging Face config.json. Its name must "
             "end in .json."},
    {.name = "config",
     .letter = 'c',
     .type = OPT_TEXT,
     .offset = AT(config),
     .arg = "FILE",
     .marks = KV_ONLY,
     .help = "With --mode kv: a configuration in YAML, whose model_configs --model may name."},
    {.name = "force-model",
     .type = OPT_FLAG,
     .offset = AT(force_model),
     .flags = OPT_EXPERT,
     .marks = KV_ONLY,
     .help = "With --mode kv: go on with a config.json whose keys or layers change the cache in a "
             "way that is not known, and say what is assumed."},
    {.name = "kv-dtype",
     .type = OPT_TEXT,
     .offset = AT(kv_dtype),
     .arg = "TYPE",
     .marks = KV_ONLY,
     .help = "With --mode kv: element type of the cache: float32, float16, bfloat16, fp8, "
             "int8, int4."},
    {.name = "file-size",
     .type = OPT_SIZE,
     .offset = AT(file_bytes),
     .def = "1G",
     .min = DATA_BLOCK,
     .max = (double)SIZE_MAX_BYTES,
     .marks = NOT_KV | NOT_DEVICE | NOT_FILE,
     .help = "Bytes of one file in a directory, a multiple of 4 KiB. With --mode stream one file "
             "unless given."},
    {.name = "buffers",
     .type = OPT_U64,
     .offset = AT(buffers),
     .arg = "N",
     .def = "4",
     .min = 2,
     .max = BUFFERS_MAX,
     .marks = STREAM_ONLY,
     .help = "With --mode stream: buffers of --chunk-size, the only memory for data."},
    {.name = "chunk-size",
     .type = OPT_SIZE,
     .offset = AT(chunk_bytes),
     .def = "32MiB",
     .min = DATA_BLOCK,
     .max = (double)CHUNK_MAX,
     .marks = STREAM_ONLY,
     .help = "With --mode stream: bytes of one buffer and write, a multiple of 4 KiB."},
    {.name = "buffered",
     .type = OPT_FLAG,
     .offset = AT(buffered),
     .marks = STREAM_ONLY | NOT_REMOTE,
     .help = "With --mode stream: use the page cache (no O_DIRECT)."},
    {.name = "fadvise",
     .type = OPT_ENUM,
     .offset = AT(advice),
     .def = "none",
     .choices = "none|sequential|dontneed",
     .marks = STREAM_ONLY | BUFFERED_ONLY,
     .help = "With --buffered: what the kernel is told. dontneed: each chunk is made durable and "
             "dropped from the page cache."},
    {.name = "seed",
     .type = OPT_U64,
     .offset = AT(seed),
     .flags = OPT_COMMON,
     .arg = "N",
     .help = "Seed of the contents; 0: random. Two fills with different seeds share no "
             "block, so that deduplicating storage sees new data."},
    {.type = OPT_HEADING, .help = "How it is written"},
    {.name = "purge",
     .type = OPT_FLAG,
     .offset = AT(purge),
     .flags = OPT_COMMON,
     .marks = NOT_REMOTE,
     .help = "Discard the target's blocks first (TRIM). In a directory: those of the free "
             "space."},
    {.name = "threads",
     .type = OPT_U64,
     .offset = AT(threads),
     .flags = OPT_EXPERT,
     .arg = "N",
     .min = 1,
     .max = THREADS_MAX,
     .help = "Threads that write, each with its own queue; with --mode stream: that fill "
             "buffers. Default: 1; with --mode kv 4."},
    {.name = "iodepth",
     .type = OPT_U64,
     .offset = AT(iodepth),
     .flags = OPT_EXPERT,
     .def = "32",
     .min = 1,
     .max = 4096,
     .help = "Writes in flight per thread."},
    {.name = "ioengine",
     .type = OPT_ENUM,
     .offset = AT(engine),
     .flags = OPT_EXPERT,
     .def = "auto",
     .choices = "auto|uring|psync",
     .marks = NOT_REMOTE,
     .help = "uring: io_uring; psync: threads with pwrite; auto: io_uring where it works."},
    {.type = OPT_HEADING, .help = "Steady state"},
    {.name = "until-steady",
     .type = OPT_FLAG,
     .offset = AT(until_steady),
     .flags = OPT_COMMON,
     .marks = NOT_STREAM,
     .help = "Then write in rounds until the drive is steady. 5 rounds must agree as in "
             "SNIA's PTS; at most 25 rounds."},
    {.name = "round",
     .type = OPT_DURATION,
     .offset = AT(round_ns),
     .flags = OPT_COMMON,
     .arg = "TIME",
     .def = "60s",
     .min = (double)ROUND_MIN_NS,
     .max = (double)ROUND_MAX_NS,
     .marks = STEADY_ONLY,
     .help = "Length of a round, with --until-steady."},
    {.name = "track",
     .type = OPT_ENUM,
     .offset = AT(track),
     .flags = OPT_COMMON,
     .def = "bandwidth",
     .choices = "bandwidth|iops|latency",
     .marks = STEADY_ONLY,
     .help = "What must be steady; latency is the mean of a round's writes."},
    {.name = "rounds",
     .type = OPT_TEXT,
     .offset = AT(rounds),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT | OPT_COMMON,
     .marks = STEADY_ONLY,
     .help = "Write the rounds of --until-steady as CSV, for kvstat --plot."},
    {.type = OPT_HEADING, .help = "The target"},
    {.name = "target",
     .type = OPT_LIST,
     .offset = AT(target),
     .flags = OPT_COMMON,
     .arg = "URI",
     .help = "What to fill; the same as the operand: PATH, file:PATH, or with --mode stream "
             "s3://BUCKET/PREFIX, redis://HOST:PORT/DB. Several paths are filled at the same time, "
             "with --size bytes each."},
    OPT_ROW_TIMEOUT(AT(timeout_ns), REMOTE_ONLY),
    OPT_ROW_RETRIES(AT(retries), REMOTE_ONLY),
    {.name = "reserve",
     .type = OPT_TEXT,
     .offset = AT(reserve),
     .flags = OPT_COMMON,
     .arg = "PERCENT|auto",
     .def = "auto",
     .marks = NOT_DEVICE | NOT_REMOTE,
     .help = "Percentage of the file system that stays free. auto: the smaller of 5 % of it "
             "and half of what is free."},
    {.name = "destroy-data",
     .type = OPT_FLAG,
     .offset = AT(destroy_data),
     .flags = OPT_COMMON,
     .help = "Overwrite a device, or a file that holds data. Removes what was kept in a "
             "directory, too."},
    {.name = "keep",
     .type = OPT_FLAG,
     .offset = AT(keep),
     .flags = OPT_COMMON,
     .marks = NOT_DEVICE,
     .help = "Leave what was written, instead of removing it at the end."},
    {.type = OPT_HEADING, .help = "Output"},
    {.name = "json",
     .type = OPT_FLAG,
     .offset = AT(json),
     .flags = OPT_NO_EFFECT | OPT_COMMON,
     .help = "Print the result as JSON."},
    {.name = "summary",
     .type = OPT_TEXT,
     .offset = AT(summary),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT | OPT_COMMON,
     .help = "Also write the result as JSON to FILE."},
    OPT_ROW_PROGRESS(AT(progress), 0),
    {.type = OPT_EXAMPLE, .help = "kvprecond --size 100GiB /mnt/nvme/fill"},
    {.type = OPT_EXAMPLE, .help = "kvprecond --until-steady --destroy-data /dev/nvme1n1"},
    {0},
};

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
static int check_model(struct options *o, struct err *e)
{
    if (o->force_model && !strstr(o->model_id, ".json"))
        return err_set(e, EINVAL, ERR_INPUT, "--force-model",
                       "applies only to a config.json (--model FILE.json)");
    struct conf *conf = NULL;
    const char *warning;
    int rc = o->config ? conf_open(&conf, o->config, e) : 0;

    for (size_t i = 0; conf && (warning = conf_warning(conf, i)) != NULL; i++)
        fprintf(stderr, "%s: %s\n", options_program(), warning);
    o->reading.force = o->force_model;
    if (rc == 0)
        rc = model_find(&o->model, o->model_id, conf, &o->reading, e);
    conf_free(conf);
    if (rc == 0 && o->kv_dtype)
        rc = model_set_dtype(&o->model, o->kv_dtype, e);
    if (rc < 0)
        return rc;
    if (model_sequence_bytes(&o->model, OPTIONS_OBJECT_TOKENS, &o->object_bytes) < 0 ||
        o->object_bytes > SIZE_MAX_BYTES)
        return err_set(e, EOVERFLOW, ERR_INPUT, "--model", "an object of %u tokens is too large",
                       OPTIONS_OBJECT_TOKENS);
    if (o->object_bytes == 0)
        return err_set(e, EINVAL, ERR_INPUT, "--model", "objects of this model are empty");
    return 0;
}

static int check_files(const struct options *o, struct err *e)
{
    struct file_use files[5 + OPTIONS_TARGETS_MAX] = {
        {FILES_STREAMED, "the report", "-"},
        {FILES_WRITTEN, "--summary", o->summary},
        {FILES_WRITTEN, "--rounds", o->rounds},
        {FILES_READ, "--config", o->config},
        {FILES_READ, "--model", o->mode == PLAN_KV ? model_file(o->model_id) : NULL},
    };

    for (unsigned i = 0; i < o->target_count; i++)
        files[5 + i] =
            (struct file_use){FILES_TARGET, "the target", o->remote ? NULL : o->targets[i].path};
    for (size_t i = 1; i < 3; i++)
        if (files[i].path && strcmp(files[i].path, "-") == 0)
            return err_set(e, EINVAL, ERR_INPUT, files[i].option,
                           "needs a file name; --json prints the result");
    return files_check(files, 5 + o->target_count, e);
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

static int check(struct options *o, const struct opt_parser *p, struct err *e)
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
        rc = check_model(o, e);
    if (rc == 0)
        rc = check_files(o, e);
    if (rc < 0)
        return rc;
    if (o->block_bytes % DATA_BLOCK != 0)
        return err_set(e, EINVAL, ERR_INPUT, "--block-size", "not a multiple of 4 KiB");
    if (o->file_bytes % DATA_BLOCK != 0)
        return err_set(e, EINVAL, ERR_INPUT, "--file-size", "not a multiple of 4 KiB");

    if (o->chunk_bytes % DATA_BLOCK != 0)
        return err_set(e, EINVAL, ERR_INPUT, "--chunk-size", "not a multiple of 4 KiB");

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
    struct opt_parser *p = opt_open(options_program(), "[options] TARGET", table, o);
    int rc;

    if (!p)
        return err_nomem(e, "options");
    opt_part(p, "Redis (hiredis)", tier_resp_is_built());
    opt_part(p, "S3 (libcurl)", tier_s3_is_built());
    rc = opt_parse(p, argc, argv, e);
    if (rc == 0) {
        o->fingerprint = opt_fingerprint(p, "target");
        rc = check(o, p, e);
    }
    if (rc < 0) {
        opt_close(p);
        return rc;
    }
    *parser = p;
    return rc;
}
