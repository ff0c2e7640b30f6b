/* The one table of kvprecond's options and what must hold between them. Everything else that is
 * known of an option, its range, default and help, stands in its row. */
#include "kvprecond/options.h"

#include <errno.h>
#include <stddef.h>

#include "lib/data.h"
#include "lib/io.h"
#include "lib/progress.h"
#include "lib/units.h"

#define BLOCK_MAX      (64 * UNITS_MIB)
#define SIZE_MAX_BYTES (UNITS_GIB << 30) /* an EiB: sums of offsets stay far from overflow */

static const struct opt table[] = {
    {.type = OPT_HEADING, .help = "What is written"},
    {.name = "size",
     .letter = 's',
     .type = OPT_SIZE,
     .offset = offsetof(struct options, size),
     .min = DATA_BLOCK,
     .max = (double)SIZE_MAX_BYTES,
     .help = "Bytes to write, rounded up to whole 4 KiB blocks. Required."},
    {.name = "block-size",
     .type = OPT_SIZE,
     .offset = offsetof(struct options, block_bytes),
     .def = "1M",
     .min = DATA_BLOCK,
     .max = (double)BLOCK_MAX,
     .help = "Bytes of one write, a multiple of 4 KiB."},
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
    {.name = "iodepth",
     .type = OPT_U64,
     .offset = offsetof(struct options, iodepth),
     .def = "32",
     .min = 1,
     .max = 4096,
     .help = "Writes in flight."},
    {.name = "ioengine",
     .type = OPT_ENUM,
     .offset = offsetof(struct options, engine),
     .arg = "ENGINE",
     .def = "auto",
     .choices = "auto|uring|psync",
     .help = "auto takes io_uring, and threads that write where it is refused."},
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
     .help = "Overwrite a file, or remove kept objects from a directory, that holds data."},
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
    {.name = "progress",
     .type = OPT_ENUM,
     .offset = offsetof(struct options, progress),
     .arg = "MODE",
     .def = "auto",
     .choices = "auto|none|text|json",
     .flags = OPT_NO_EFFECT,
     .help = "A line a second on standard error; auto: if that is a terminal."},
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

static int check(struct options *o, const struct opt_parser *p, struct err *e)
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
    if (!opt_given(p, "size"))
        return err_set(e, EINVAL, ERR_INPUT, "--size", "required: how much to write to %s",
                       o->path);
    o->size = DATA_PADDED(o->size);
    return check_blocks(o, e);
}

int options_parse(struct options *o, struct opt_parser **parser, const char **answer, int argc,
                  char **argv, struct err *e)
{
    struct opt_parser *p = opt_open("kvprecond", "[options] TARGET", table, o);
    int ret;

    if (!p)
        return err_nomem(e, "options");
    ret = opt_parse(p, argc, argv, e);
    if (ret == 1)
        *answer = opt_answer(p);
    if (ret == 0)
        ret = check(o, p, e);
    if (ret < 0) {
        opt_close(p);
        return ret;
    }
    *parser = p;
    return ret;
}
