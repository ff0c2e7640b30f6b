/* Any bytes as a document of runs: what is recognised gives each run its name and kind first, every
 * figure has a text, and numbers read back from it; what is not ends with an error. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kvstat/document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    size_t figures, runs;
};

static int put(void *arg, const struct figure *f)
{
    struct seen *s = arg;
    char buf[FIGURE_TEXT], name[FIGURE_NAME], scratch[FIGURE_NAME + 2];
    const struct figure_id first = figure_id(FIGURE_OF_PROVENANCE, FIGURE_ITSELF);
    if (s->figures == 0 && figure_id_compare(&f->id, &first) != 0)
        abort();
    /* Every figure has a name, which is that of no other figure. */
    if (!figure_name(name, &f->id)[0])
        abort();
    const struct figure_id same = figure_parse(name, scratch);
    if (strlen(name) < FIGURE_NAME - 1 && figure_id_compare(&f->id, &same) != 0)
        abort();
    if (f->form == FIGURE_FORM_NUMBER && strtod(figure_text(f, buf), NULL) != f->number)
        abort();
    s->figures++;
    return 0;
}

static int end(void *arg)
{
    struct seen *s = arg;
    if (s->figures == 0)
        abort();
    s->figures = 0;
    s->runs++;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    char path[64];
    struct seen seen = {0};
    struct err e = {0};
    const struct document_sink sink = {put, end, &seen};
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
