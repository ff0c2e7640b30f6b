/* Any bytes as an answer: what is read has all its numbers, intervals around their values, and a
 * screen of 80 columns in every view; what is not ends with an error. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kvstat/answer/answer.h"
#include "kvstat/answer/view.h"
#include "kvstat/report/cells.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct answer *a)
{
    for (unsigned v = 0; v < ANSWER_VARIANTS; v++)
        if (!(a->users[v].low <= a->users[v].value) || !(a->users[v].value <= a->users[v].high))
            abort();
    if (!isfinite(a->at) || !a->settings.model || !a->settings.gpu)
        abort();
}

static void check_screen(char *text)
{
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (cell_columns(line) > 80)
            abort();
        for (const unsigned char *c = (const unsigned char *)line; *c; c++)
            if (*c < ' ' || *c == 0x7f)
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    char path[64];
    struct answer *a = NULL;
    struct err e = {0};
    if (fd < 0)
        fd = memfd_create("answer", 0);
    if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int rc = answer_read(&a, path, &e);
    if (rc < 0) {
        if (e.code != rc || !e.what[0])
            abort();
        return 0;
    }
    check(a);
    struct conclusion pair[2];
    conclude(&pair[0], a, NULL);
    conclude(&pair[1], a, NULL);
    for (unsigned view = VIEW_DRIVE; view <= VIEW_COMPARE; view++) {
        char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);
        if (!out)
            abort();
        view_put(out, (enum view)view, pair);
        fclose(out);
        check_screen(text);
        free(text);
    }
    answer_free(a);
    return 0;
}
