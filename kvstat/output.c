/* Last step of a text report. It is small, so it stays in memory until it is whole: a full disk or
 * a bad row half-way leaves nothing behind that looks like a report. */
#include "kvstat/output.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
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
    o->stream = memory_stream(&o->text, &o->len);
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

int output_save_text(struct output *o, const char *path, struct err *e)
{
    if (fflush(o->stream) == 0)
        for (char *line = o->text, *end; (end = strchr(line, '\n')); line = end + 1) {
            *end = '\0';
            err_make_harmless(line);
            *end = '\n';
        }
    return output_save(o, path, e);
}

int output_save(struct output *o, const char *path, struct err *e)
{
    int failed = ferror(o->stream) | fclose(o->stream);
    o->stream = NULL;
    return failed ? err_nomem(e, "report") : save_text(path, o->text, o->len, e);
}

int output_write(const char *path, const char *what,
                 int (*write)(FILE *out, const void *ctx, struct err *e), const void *ctx,
                 struct err *e)
{
    struct output *o = output_open();
    if (!o)
        return err_nomem(e, what);
    int rc = write(o->stream, ctx, e);
    if (rc == 0)
        rc = output_save(o, path, e);
    output_free(o);
    return rc;
}
