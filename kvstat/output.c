/* Last step of a text report. It is small, so it stays in memory until it is whole: a full disk or
 * a bad row half-way leaves nothing behind that looks like a report. */
#include "kvstat/output.h"

#include <stdlib.h>

#include "lib/base/save.h"

struct output {
    FILE *stream;
    char *text;
    size_t len;
};

struct output *output_open(void)
{
    struct output *o = calloc(1, sizeof(*o));
    if (!o)
        return NULL;
    o->stream = open_memstream(&o->text, &o->len);
    if (!o->stream) {
        free(o);
        return NULL;
    }
    return o;
}

FILE *output_stream(const struct output *o)
{
    return o->stream;
}

void output_free(struct output *o)
{
    if (!o)
        return;
    if (o->stream)
        fclose(o->stream);
    free(o->text);
    free(o);
}

int output_save(struct output *o, const char *path, struct err *e)
{
    int failed = ferror(o->stream) | fclose(o->stream);
    o->stream = NULL;
    return failed ? err_nomem(e, "report") : save_text(path, o->text, o->len, e);
}
