/* Any bytes as a document of runs: what is recognised gives each run its name and kind first, every
 * figure has a text, and numbers read back from it; what is not ends with an error. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kvstat/document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    size_t leaves, runs;
};

static int leaf(void *arg, const struct json_leaf *leaf)
{
    struct seen *s = arg;
    if (!leaf->text || (s->leaves == 0 && strcmp(leaf->path, "run") != 0))
        abort();
    if (leaf->kind == JSON_LEAF_NUMBER && strtod(leaf->text, NULL) != leaf->number)
        abort();
    s->leaves++;
    return 0;
}

static int end(void *arg)
{
    struct seen *s = arg;
    if (s->leaves == 0)
        abort();
    s->leaves = 0;
    s->runs++;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    char path[64];
    struct seen seen = {0};
    struct err e = {0};
    const struct document_sink sink = {leaf, end, &seen};
    if (fd < 0)
        fd = memfd_create("document", 0);
    if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int rc = document_read(path, &sink, &e);
    if (rc < 0 && (e.code != rc || !e.what[0]))
        abort();
    return 0;
}
