/* The one table of kvprecond's options, what must hold between them, and the defaults that depend
 * on mode and target. Everything else that is known of an option stands in its row. */
#include "kvprecond/options.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "kvprecond/plan.h"
#include "kvprecond/rounds.h"
#include "lib/base/save.h"
#include "lib/base/units.h"
#include "lib/data/data.h"
#include "lib/io/io.h"
#include "lib/opt/opt_rows.h"

#define BLOCK_MAX      (64 * UNITS_MIB)
#define SIZE_MAX_BYTES (UNITS_GIB << 30) /* an EiB: sums of offsets stay far from overflow */
#define THREADS_MAX    256
#define KV_THREADS     4
#define ROUND_MIN_NS   (10 * INT64_C(1000000))
#define ROUND_MAX_NS   (24 * 3600 * UNITS_NS_PER_S)

static const struct opt table[] = {
    {.type = OPT_HEADING, .help = "What is written"},
    {.name = "size",
     .letter = 's',
     .type = OPT_SIZE,
     .offset = offsetof(struct options, size),
     .min = DATA_BLOCK,
     .max = (double)SIZE_MAX_BYTES,
     .help = "Bytes to write. Required but for a device, which is written over twice."},
    {.name = "mode",
     .type = OPT_ENUM,
     .offset = offsetof(struct options, mode),
     .arg = "MODE",
     .def = "sequential",
     .choices = "sequential|random|kv",
     .help =
         "sequential: from first to last; random: each block once, in random order; kv: objects "
         "of 2,048 tokens of a model."},
    {.name = "block-size",
     .type = OPT_SIZE,
     .offset = offsetof(struct options, block_bytes),
     .min = DATA_BLOCK,
     .max = (double)BLOCK_MAX,
     .help = "Bytes of one write, a multiple of 4 KiB. Default: 1M; with --mode random 4K."},
    {.name = "model",
     .letter = 'm',
     .type = OPT_TEXT,
     .offset = offsetof(struct options, model_id),
     .arg = "NAME",
     .def = "llama3.1-8b",
     .help = "With --mode kv: a built-in model or a Hugging Face config.json (FILE.json)."},
    {.name = "kv-dtype",
     .type = OPT_TEXT,
     .offset = offsetof(struct options, kv_dtype),
     .arg = "TYPE",
     .help = "With --mode kv: element type, float32, float16, bfloat16, fp8, int8, int4."},
    {.name = "file-size",
     .type = OPT_SIZE,
     .offset = offsetof(struct options, file_bytes),
     .def = "1G",
     .min = DATA_BLOCK,
     .max = (double)SIZE_MAX_BYTES,
     .help = "Bytes of one file in a directory, a multiple of 4 KiB."},
    {.name = "seed",
     .type = OPT_U64,
     .offset = offsetof(struct options, seed),
     .def = "42",
     .help = "Decides the contents: two fills with different seeds share no block."},
    {.type = OPT_HEADING, .help = "How it is written"},
    {.name = "purge",
     .type = OPT_FLAG,
     .offset = offsetof(struct options, purge),
     .help = "First discard what the target holds; in a directory, trim the free space."},
    {.name = "threads",
     .type = OPT_U64,
     .offset = offsetof(struct options, threads),
     .arg = "N",
     .min = 1,
     .max = THREADS_MAX,
     .help = "Threads that write, each with a queue of its own. Default: 1; with --mode kv 4."},
    {.name = "iodepth",
     .type = OPT_U64,
     .offset = offsetof(struct options, iodepth),
     .def = "32",
     .min = 1,
     .max = 4096,
     .help = "Writes in flight of each thread."},
    {.name = "ioengine",
     .type = OPT_ENUM,
     .offset = offsetof(struct options, engine),
     .arg = "ENGINE",
     .def = "auto",
     .choices = "auto|uring|psync",
     .help = "auto takes io_uring, and threads that write where it is refused."},
    {.type = OPT_HEADING, .help = "Steady state"},
    {.name = "until-steady",
     .type = OPT_FLAG,
     .offset = offsetof(struct options, until_steady),
     .help = "Then write on in rounds until 5 of them agree as SNIA's PTS asks; 25 at most."},
    {.name = "round",
     .type = OPT_DURATION,
     .offset = offsetof(struct options, round_ns),
     .arg = "TIME",
     .def = "60s",
     .min = (double)ROUND_MIN_NS,
     .max = (double)ROUND_MAX_NS,
     .help = "Length of a round."},
    {.name = "track",
     .type = OPT_ENUM,
     .offset = offsetof(struct options, track),
     .arg = "FIGURE",
     .def = "bandwidth",
     .choices = "bandwidth|iops|latency",
     .help = "What must be steady; latency is the mean of the writes of a round."},
    {.name = "rounds",
     .type = OPT_TEXT,
     .offset = offsetof(struct options, rounds),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT,
     .help = "Write the rounds as CSV to FILE, for kvstat --plot."},
    {.type = OPT_HEADING, .help = "The target"},
    {.name = "reserve",
     .type = OPT_F64,
     .offset = offsetof(struct options, reserve_percent),
     .arg = "PERCENT",
     .def = "5",
     .min = 0,
     .max = 99,
     .help = "Share of the file system that stays free."},
    {.name = "destroy-data",
     .type = OPT_FLAG,
     .offset = offsetof(struct options, destroy_data),
     .help =
         "Overwrite a device, or a file that holds data; remove from a directory what was kept."},
    {.name = "keep",
     .type = OPT_FLAG,
     .offset = offsetof(struct options, keep),
     .help = "Leave what was written; else files are removed at the end."},
    {.type = OPT_HEADING, .help = "Output"},
    {.name = "json",
     .type = OPT_FLAG,
     .offset = offsetof(struct options, json),
     .flags = OPT_NO_EFFECT,
     .help = "Print the result as JSON."},
    {.name = "summary",
     .type = OPT_TEXT,
     .offset = offsetof(struct options, summary),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT,
     .help = "Write the result as JSON to FILE too."},
    OPT_ROW_PROGRESS(offsetof(struct options, progress)),
    {0},
};

static int check_blocks(const struct options *o, struct err *e)
{
    if (o->block_bytes % DATA_BLOCK != 0)
        return err_set(e, EINVAL, ERR_INPUT, "--block-size", "not a multiple of 4 KiB");
    if (o->file_bytes % DATA_BLOCK != 0)
        return err_set(e, EINVAL, ERR_INPUT, "--file-size", "not a multiple of 4 KiB");
    return 0;
}

static int check_mode(struct options *o, const struct opt_parser *p, struct err *e)
{
    int ret;

    if (o->mode != PLAN_KV)
        return opt_refuse(p, e, "only --mode kv has a meaning for it", "model", "kv-dtype", NULL);
    ret = opt_refuse(p, e, "with --mode kv each object is a file", "file-size", NULL);
    if (ret == 0)
        ret = model_find(&o->model, o->model_id, NULL, e);
    if (ret == 0 && o->kv_dtype)
        ret = model_set_dtype(&o->model, o->kv_dtype, e);
    if (ret == 0 && (model_bytes(&o->model, OPTIONS_OBJECT_TOKENS, &o->object_bytes) < 0 ||
                     o->object_bytes > SIZE_MAX_BYTES))
        ret = err_set(e, EOVERFLOW, ERR_INPUT, "--model", "an object of %u tokens is too large",
                      OPTIONS_OBJECT_TOKENS);
    if (ret == 0 && o->object_bytes == 0)
        ret = err_set(e, EINVAL, ERR_INPUT, "--model", "its objects are empty");
    return ret;
}

static int check_steady(const struct options *o, const struct opt_parser *p, struct err *e)
{
    if (o->until_steady)
        return 0;
    return opt_refuse(p, e, "only --until-steady has rounds", "round", "track", "rounds", NULL);
}

/* Standard output is the report's, and the target holds no results. */
static int check_output(const struct options *o, const char *option, const char *path,
                        struct err *e)
{
    if (!path)
        return 0;
    if (strcmp(path, "-") == 0)
        return err_set(e, EINVAL, ERR_INPUT, option,
                       "needs a file; the report is printed, with --json as JSON");
    if (save_is_same(path, o->path))
        return err_set(e, EINVAL, ERR_INPUT, option, "is the target itself");
    return save_check(path, e);
}

static int check_outputs(const struct options *o, struct err *e)
{
    int ret = check_output(o, "--summary", o->summary, e);

    if (ret == 0)
        ret = check_output(o, "--rounds", o->rounds, e);
    if (ret == 0 && o->summary && o->rounds && save_is_same(o->summary, o->rounds))
        ret = err_set(e, EINVAL, ERR_INPUT, "--rounds", "is the file of --summary");
    return ret;
}

/* What a directory, a file and a device can each be told. */
static int check_kind(const struct options *o, const struct opt_parser *p, struct err *e)
{
    if (o->kind != TARGET_DEVICE && !opt_given(p, "size"))
        return err_set(e, EINVAL, ERR_INPUT, "--size", "required: how much to write to %s",
                       o->path);
    if (o->kind == TARGET_DEVICE)
        return opt_refuse(p, e, "has no meaning for a block device", "file-size", "reserve", "keep",
                          NULL);
    if (o->kind == TARGET_FILE)
        return opt_refuse(p, e, "has no meaning for a single file", "file-size", NULL);
    return 0;
}

static int take_operand(struct options *o, const struct opt_parser *p, struct err *e)
{
    const char *const *operand;
    size_t n = opt_operands(p, &operand);

    if (n == 0)
        return err_set(e, EINVAL, ERR_INPUT, "", "no target given (see kvprecond --help)");
    if (n > 1)
        return err_set(e, EINVAL, ERR_INPUT, operand[1], "one target only");
    o->path = operand[0];
    if (!*o->path)
        return err_set(e, EINVAL, ERR_INPUT, "", "the target's name is empty");
    return target_kind(o->path, &o->kind, e);
}

static void put_defaults(struct options *o)
{
    if (o->block_bytes == 0)
        o->block_bytes = o->mode == PLAN_RANDOM ? DATA_BLOCK : UNITS_MIB;
    if (o->threads == 0)
        o->threads = o->mode == PLAN_KV ? KV_THREADS : 1;
    o->size = DATA_PADDED(o->size);
}

static int check(struct options *o, const struct opt_parser *p, struct err *e)
{
    int ret = take_operand(o, p, e);

    if (ret == 0)
        ret = check_kind(o, p, e);
    if (ret == 0)
        ret = check_mode(o, p, e);
    if (ret == 0)
        ret = check_steady(o, p, e);
    if (ret == 0)
        ret = check_outputs(o, e);
    if (ret == 0)
        ret = check_blocks(o, e);
    if (ret == 0)
        put_defaults(o);
    return ret;
}

int options_parse(struct options *o, struct opt_parser **parser, int argc, char **argv,
                  struct err *e)
{
    struct opt_parser *p = opt_open("kvprecond", "[options] TARGET", table, o);
    int ret;

    if (!p)
        return err_nomem(e, "options");
    ret = opt_parse(p, argc, argv, e);
    if (ret == 0)
        ret = check(o, p, e);
    if (ret < 0) {
        opt_close(p);
        return ret;
    }
    *parser = p;
    return ret;
}
