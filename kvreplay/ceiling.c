/* For the honesty of the summary: a run that comes near what the client does against targets that
 * do nothing has measured the client as much as the target. */
#include "kvreplay/ceiling.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/json/jsonin.h"

#define CEILING_BYTES_MAX ((size_t)64 << 20)

static bool ceiling_host(const struct jsonin_v *root)
{
    const char *name = jsonin_text(jsonin_get(root, "host.name"), NULL);
    struct utsname u;
    int64_t cpus;

    return uname(&u) == 0 && name && strcmp(name, u.nodename) == 0 &&
           jsonin_i64(jsonin_get(root, "host.cpus"), &cpus) == 0 &&
           cpus == sysconf(_SC_NPROCESSORS_ONLN);
}

static int ceiling_take(struct ceiling *c, const struct jsonin_v *root, const char *path,
                        struct err *e)
{
    const char *program = jsonin_text(jsonin_get(root, "program"), NULL);
    const char *timing = jsonin_text(jsonin_get(root, "options.timing"), NULL);
    const char *digest = jsonin_text(jsonin_get(root, "trace.digest"), NULL);
    bool null = false;

    jsonin_bool(jsonin_get(root, "options.null"), &null);
    if (!program || strcmp(program, "kvreplay") != 0 || !null || !timing ||
        strcmp(timing, "asap") != 0)
        return err_set(e, -EINVAL, ERR_INPUT, path,
                       "not the summary of a run with --null and --timing asap");
    if (jsonin_f64(jsonin_get(root, "rows_per_s"), &c->rows_per_s) < 0 || c->rows_per_s <= 0)
        return err_set(e, -EINVAL, ERR_INPUT, path, "the run had no rows");
    snprintf(c->digest, sizeof(c->digest), "%s", digest ? digest : "");
    c->same_host = ceiling_host(root);
    return 0;
}

int ceiling_load(struct ceiling *c, const char *path, struct err *e)
{
    struct jsonin *doc;
    int rc = jsonin_load(&doc, path, CEILING_BYTES_MAX, e);

    if (rc < 0)
        return rc;
    rc = ceiling_take(c, jsonin_root(doc), path, e);
    jsonin_free(doc);
    return rc;
}
