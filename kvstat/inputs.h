/* inputs.h - the files that the operands name: files of rows, documents (JSON), and folders of
 * both. */
#ifndef KVSTAT_INPUTS_H
#define KVSTAT_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

enum input_kind {
    INPUT_ROWS,    /* a trace or result file */
    INPUT_DOCUMENT /* document.h */
};

struct input {
    char *path;
    enum input_kind kind;
    bool found; /* in a folder, where a file that is no run is passed over */
};

/* Plain values, freed by inputs_free. Zero before use. */
struct inputs {
    struct input *item;
    size_t count, room;
    bool table; /* a folder or a document is among them: the report is a table of runs */
};

/* Adds path: the file itself, or, for a folder, its .csv, .csv.zst, .tsv.zst, .json, .json.zst and
 * .jsonl files and those of the folders in it, in the order of their names. 0, -ENOMEM, or another
 * negative errno when a folder cannot be read or holds no such file. */
int inputs_add(struct inputs *in, const char *path, struct err *e);
void inputs_free(struct inputs *in);

#endif
