/* The last step of a text report. It is small, so it is kept in memory until it is whole: a full
 * disk or a bad row half-way leaves nothing behind that looks like a report. */
#include "kvstat/output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static int write_all(FILE *f, const struct output *o)
{
    if (o->len && fwrite(o->text, 1, o->len, f) != o->len)
        return errno ? -errno : -EIO;
    return fflush(f) != 0 ? -errno : 0;
}

/* Opens what the text is written to: the path itself when there is something that is no regular
 * file (a device, a pipe), else a new file beside it; *beside is then its name. */
static FILE *open_target(const char *path, char **beside)
{
    struct stat st;
    *beside = NULL;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return fopen(path, "we");
    if (asprintf(beside, "%s.%ld.tmp", path, (long)getpid()) < 0) {
        *beside = NULL;
        return NULL;
    }
    return fopen(*beside, "wxe");
}

static int save_file(const struct output *o, const char *path, struct err *e)
{
    char *beside = NULL;
    FILE *f = open_target(path, &beside);
    bool ours = f && beside;
    int rc = f ? write_all(f, o) : -errno;
    if (f && fclose(f) != 0 && rc == 0)
        rc = -errno;
    if (rc == 0 && beside && rename(beside, path) != 0)
        rc = -errno;
    if (rc < 0 && ours)
        unlink(beside);
    free(beside);
    return rc < 0 ? err_errno(e, rc, ERR_OUTPUT, path, "cannot be written") : 0;
}

int output_save(struct output *o, const char *path, struct err *e)
{
    int failed = ferror(o->stream) | fclose(o->stream);
    o->stream = NULL;
    if (failed)
        return err_nomem(e, "report");
    if (strcmp(path, "-") != 0)
        return save_file(o, path, e);
    int rc = write_all(stdout, o);
    return rc < 0 ? err_errno(e, rc, ERR_OUTPUT, "standard output", "cannot be written") : 0;
}
