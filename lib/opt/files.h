/* The files that a command line names, checked together before any of them is opened for writing.
 */
#ifndef KVTRACE_OPT_FILES_H
#define KVTRACE_OPT_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

/* The file in a directory that says: kvtrace keeps objects here. */
#define FILES_STORE_MARKER ".kvtrace"

enum files_use {
    FILES_READ,
    FILES_WRITTEN,  /* under another name first, then renamed (lib/base/save.h) */
    FILES_STREAMED, /* written in place */
    FILES_TARGET    /* a directory, file or device that takes objects */
};

struct file_use {
    enum files_use use;
    const char *option; /* or "the trace" and the like */
    const char *path;   /* NULL: not given; "-": standard input or output */
};

/* Refuses a file or block device that is written and read, is written twice, is the target too, or
 * lies in the target or in another store of objects; standard input and output count as the files
 * that they lead to. Then checks that all outputs can be written. Nothing is created. Class
 * ERR_INPUT, for an output that cannot be written ERR_OUTPUT. */
int files_check(const struct file_use *files, size_t n, struct err *e);

/* Whether the path is "-"; NULL: it is not. */
bool files_is_dash(const char *path);

/* Refuses a path that is "-" when standard input is a terminal, where the program would wait for
 * somebody to type. -EINVAL, class ERR_INPUT. */
int files_check_terminal(const char *path, struct err *e);

#endif
