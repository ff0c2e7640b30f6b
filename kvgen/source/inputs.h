/* inputs.h - the files that --input names, one after the other, and the kind of data in them. One
 * thread. */
#ifndef KVGEN_SOURCE_INPUTS_H
#define KVGEN_SOURCE_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"
#include "lib/trace/frame.h"

enum inputs_kind {
    INPUTS_UNKNOWN,
    INPUTS_MOONCAKE,
    INPUTS_BURST,
    INPUTS_AZURE,
    INPUTS_BAILIAN,
    INPUTS_LMCACHE,
    INPUTS_DYNAMO,
    INPUTS_SATF,
    INPUTS_AGENTIC_ROWS, /* of Mooncake, with dependencies or delays */
    INPUTS_AGENTIC,
    INPUTS_SHAREGPT,
    INPUTS_KV_EVENTS, /* of engines: .zmqrec, or a capture of ours */
    INPUTS_TRTLLM,
    INPUTS_DYNAMO_KV,
    INPUTS_LCT, /* trace files of LMCache */
    INPUTS_STRACE,
    INPUTS_TRACE, /* our own */
    INPUTS_FIO,   /* an iolog */
    INPUTS_OPLOG, /* of s3dlio, or warp's benchdata */
    INPUTS_KINDS
};

struct inputs;

/*
 * Opens the first file. path: a file; a folder (all files in it named *.csv, *.json or *.jsonl, or
 * so with .zst or .gz, in name order); a pattern as in glob(7), if no file has that name; or "-"
 * for standard input. -ENOENT if there is no such file.
 */
int inputs_open(struct inputs **out, const char *path, struct err *e);
void inputs_close(struct inputs *in); /* NULL is fine */
/* Puts the files of other behind those of in, and closes other, also on failure. Before the first
 * inputs_next of both. 0 or negative errno with *e. */
int inputs_append(struct inputs *in, struct inputs *other, struct err *e);
/* Tells the kind by the beginning of the first file, which is still read from its start.
 * INPUTS_UNKNOWN: nothing known. 0, or negative errno (empty, unreadable). */
int inputs_recognise(struct inputs *in, enum inputs_kind *kind, struct err *e);
/* Says in *e that the input is not what was wanted, as inputs_recognise found it, with a word for
 * what it is or how it begins; known are the inputs that would do. Returns -EINVAL. */
int inputs_unknown(const struct inputs *in, const char *what, const char *known, struct err *e);

/* Asked when the last file was read: 1: read all files once more; 0: end; negative errno with *e.
 * path is what inputs_open was given. */
typedef int (*inputs_again)(void *ctx, const char *path, struct err *e);
/* again(ctx) decides whether the files are read more than once; NULL (as at first): they are not.
 */
void inputs_repeat(struct inputs *in, inputs_again again, void *ctx);
/* The next file from its start, lent until the next call: 1; 0 at the end; negative errno. */
int inputs_next(struct inputs *in, struct frame_in **file, struct err *e);
/* Leaves out the files that are left of this time through them. */
void inputs_skip_rest(struct inputs *in);
/* Gives the first file, from its start, to the caller, who must not have called inputs_next. */
struct frame_in *inputs_take(struct inputs *in);

size_t inputs_count(const struct inputs *in); /* files */
/* Whether the files can be read again: not standard input, nor a pipe. */
bool inputs_repeatable(const struct inputs *in);
const char *inputs_file(const struct inputs *in, size_t i); /* lent */
/* The path that inputs_open was given. */
const char *inputs_path(const struct inputs *in);

#endif
