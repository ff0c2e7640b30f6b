/* inputs.h - the files of a file source, one after the other: a file, those of a folder or of a
 * pattern in name order, or standard input; and what kind of data the first one holds. */
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
    INPUTS_AGENTIC,
    INPUTS_SHAREGPT,
    INPUTS_TRACE, /* ours */
    INPUTS_FIO,   /* an iolog */
    INPUTS_OPLOG, /* of s3dlio, or warp's benchdata */
    INPUTS_KINDS
};

struct inputs;

/*
 * path: a file, a folder (its files whose names end in .csv, .json, .jsonl, with or without .zst),
 * a pattern as in glob(7) when no file is named so, or "-". Opens the first. Nothing there, or a
 * folder without such files: -ENOENT.
 */
int inputs_open(struct inputs **out, const char *path, struct err *e);
void inputs_close(struct inputs *in);
/* Looks at the beginning of the first file, which is read from its start all the same.
 * INPUTS_UNKNOWN when nothing known is there. 0 or negative errno (empty, unreadable). */
int inputs_recognise(struct inputs *in, enum inputs_kind *kind, struct err *e);
/* The next file from its start, lent until the next call: 1; 0 after the last; negative errno. */
int inputs_next(struct inputs *in, struct frame_in **file, struct err *e);
/* The next call of inputs_next finds no more. */
void inputs_skip_rest(struct inputs *in);
/* The first file, from its start, which becomes the caller's; inputs_next is not asked before. */
struct frame_in *inputs_take(struct inputs *in);
size_t inputs_count(const struct inputs *in); /* files */
/* Can all of it be read again? Not standard input, nor a pipe. */
bool inputs_repeatable(const struct inputs *in);
/* From the first file again. */
void inputs_rewind(struct inputs *in);
/* Is that one of the files? See save_is_same. */
bool inputs_hold(const struct inputs *in, const char *path);
/* What inputs_open was given. */
const char *inputs_path(const struct inputs *in);

#endif
