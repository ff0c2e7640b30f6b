/* First step of kvstat: folders become their files, and the name or first byte of each file tells
 * whether it holds rows or a document. Reading them is up to scan and document. */
#include "kvstat/inputs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/memory.h"
#include "lib/text/text.h"

/* Deeper folders are refused, which also ends a loop of links. */
#define DEPTH_MAX 16

static bool is_json(const char *path)
{
    return text_ends_with(path, ".json") || text_ends_with(path, ".jsonl") ||
           text_ends_with(path, ".json.zst");
}

static int next_byte(FILE *f)
{
    int c;
    do
        c = fgetc(f);
    while (c != EOF && isspace(c));
    return c;
}

/* For a file whose name does not tell: an object, or an array of them. Rows never begin so; a frame
 * may begin with a bracket. */
static bool begins_as_json(const char *path)
{
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    int c = next_byte(f);
    bool json = c == '{' || (c == '[' && next_byte(f) == '{');
    fclose(f);
    return json;
}

static int add_file(struct inputs *in, const char *path, bool regular, bool found)
{
    if (memory_room(&in->item, &in->room, in->count, sizeof(*in->item), 16) < 0)
        return -ENOMEM;
    bool document = is_json(path) || (regular && begins_as_json(path));
    struct input *i = &in->item[in->count];
    *i = (struct input){strdup(path), document ? INPUT_DOCUMENT : INPUT_ROWS, found};
    if (!i->path)
        return -ENOMEM;
    in->count++;
    in->table |= document;
    return 0;
}

/* The wrapper of the MLPerf benchmark writes its summary under one of two names, kvstat under both:
 * it is one run. */
static bool is_second_summary(const char *folder, const char *name)
{
    char first[4096];
    struct stat st;
    int len = snprintf(first, sizeof(first), "%s/summary.json", folder);
    return strncmp(name, "kvcache_run_summary_", strlen("kvcache_run_summary_")) == 0 &&
           len < (int)sizeof(first) && stat(first, &st) == 0;
}

static int skip_hidden(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

static int add_folder(struct inputs *in, const char *path, int depth, struct err *e)
{
    struct dirent **entry = NULL;
    if (depth > DEPTH_MAX)
        return err_set(e, -ELOOP, ERR_INPUT, path, "more than %d folders deep", DEPTH_MAX);
    int n = scandir(path, &entry, skip_hidden, alphasort);
    if (n < 0)
        return err_errno(e, -errno, ERR_INPUT, path, "cannot be read");
    int rc = 0;
    for (int i = 0; i < n; i++) {
        char *inside = NULL;
        struct stat st;
        if (rc == 0 && asprintf(&inside, "%s/%s", path, entry[i]->d_name) < 0) {
            inside = NULL;
            rc = err_nomem(e, "list of files");
        }
        if (rc == 0 && stat(inside, &st) == 0) { /* it fails for a link into nowhere */
            bool known = is_json(inside) || text_ends_with(inside, ".csv") ||
                         text_ends_with(inside, ".csv.zst") || text_ends_with(inside, ".tsv.zst");
            if (S_ISDIR(st.st_mode))
                rc = add_folder(in, inside, depth + 1, e);
            else if (S_ISREG(st.st_mode) && known && !is_second_summary(path, entry[i]->d_name) &&
                     add_file(in, inside, true, true) < 0)
                rc = err_nomem(e, "list of files");
        }
        free(inside);
        free(entry[i]);
    }
    free(entry);
    return rc;
}

int inputs_add(struct inputs *in, const char *path, struct err *e)
{
    struct stat st;
    size_t before = in->count;
    bool there = strcmp(path, "-") != 0 && stat(path, &st) == 0;
    if (!there || !S_ISDIR(st.st_mode))
        return add_file(in, path, there && S_ISREG(st.st_mode), false) < 0
                   ? err_nomem(e, "list of files")
                   : 0;
    in->table = true;
    int rc = add_folder(in, path, 1, e);
    if (rc == 0 && in->count == before)
        rc = err_set(e, -ENOENT, ERR_INPUT, path,
                     "holds no .csv, .csv.zst, .tsv.zst, .json or .jsonl file");
    return rc;
}

void inputs_free(struct inputs *in)
{
    for (size_t i = 0; i < in->count; i++)
        free(in->item[i].path);
    free(in->item);
}
