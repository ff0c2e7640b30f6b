/* Which part of a run this process is, as the launcher says, and the names that depend on it.
 * Without MPI the parts know nothing of each other: the same command line, a number each, and a
 * start (start.c) are all that they share. */
#include "lib/ranks/part.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "lib/base/units.h"
#include "lib/tier/uri.h"

void part_host_name(char host[PART_HOST_CAP])
{
    if (gethostname(host, PART_HOST_CAP) < 0)
        snprintf(host, PART_HOST_CAP, "unknown");
    host[PART_HOST_CAP - 1] = '\0';
    err_make_harmless(host);
}

static int bad_part(struct err *e, const char *text, const char *why)
{
    return err_set(e, -EINVAL, ERR_INPUT, "--part", "%s: %s", text, why);
}

static int take_numbers(struct part *p, const char *text, uint64_t rank, uint64_t count,
                        struct err *e)
{
    if (count < 1 || count > PART_COUNT_MAX)
        return bad_part(e, text, "the number of parts is not from 1 to 65536");
    if (rank >= count)
        return err_set(e, -EINVAL, ERR_INPUT, "--part",
                       "%s: part %llu of %llu: parts are numbered from 0", text,
                       (unsigned long long)rank, (unsigned long long)count);
    p->on = true;
    p->rank = (unsigned)rank;
    p->count = (unsigned)count;
    part_host_name(p->host);
    return 0;
}

/* A number in the environment. 1: it is there; 0: it is not; -EINVAL: it is no number. */
static int from_environment(const char *name, uint64_t *number, struct err *e)
{
    const char *text = getenv(name);

    if (!text)
        return 0;
    if (units_parse_u64(text, number) < 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--part", "auto: %s=%s is no number", name, text);
    return 1;
}

static int take_launcher(struct part *p, struct err *e)
{
    static const struct {
        const char *rank, *count;
    } launcher[] = {{"SLURM_PROCID", "SLURM_NTASKS"},
                    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                    {"PMI_RANK", "PMI_SIZE"}};

    for (size_t i = 0; i < sizeof(launcher) / sizeof(launcher[0]); i++) {
        uint64_t rank, count;
        int a = from_environment(launcher[i].rank, &rank, e);
        int b = a > 0 ? from_environment(launcher[i].count, &count, e) : a;
        if (a < 0 || b < 0)
            return -EINVAL;
        if (a && b)
            return take_numbers(p, "auto", rank, count, e);
    }
    return bad_part(e, "auto",
                    "no launcher set SLURM_PROCID, OMPI_COMM_WORLD_RANK or PMI_RANK (give I/N)");
}

int part_parse(struct part *p, const char *text, struct err *e)
{
    uint64_t rank, count;

    *p = (struct part){.count = 1};
    if (!text)
        return 0;
    const char *slash = strchr(text, '/');
    if (strcmp(text, "auto") == 0)
        return take_launcher(p, e);
    if (!slash || units_parse_u64(slash + 1, &count) < 0)
        return bad_part(e, text, "expected I/N, such as 0/4, auto or auto/N");
    if (strncmp(text, "auto/", 5) == 0) {
        int found = from_environment("JOB_COMPLETION_INDEX", &rank, e);
        if (found == 0)
            return bad_part(e, text, "JOB_COMPLETION_INDEX is not set (give I/N)");
        return found < 0 ? found : take_numbers(p, text, rank, count, e);
    }
    if (units_parse_digits(text, (size_t)(slash - text), &rank) < 0)
        return bad_part(e, text, "expected I/N, such as 0/4, auto or auto/N");
    return take_numbers(p, text, rank, count, e);
}

/* ---- names ---- */

bool part_has_rank(const char *text)
{
    return strstr(text, "{rank}") != NULL;
}

char *part_expand(const struct part *p, const char *text)
{
    char rank[16], count[16];
    const struct {
        const char *name, *value;
    } word[] = {{"{rank}", rank}, {"{ranks}", count}, {"{host}", p->host}};
    size_t words = sizeof(word) / sizeof(word[0]), len = 0;
    char *out = NULL;
    FILE *f = memory_stream(&out, &len);

    if (!f)
        return NULL;
    snprintf(rank, sizeof(rank), "%u", p->rank);
    snprintf(count, sizeof(count), "%u", p->count);
    while (*text) {
        size_t i = 0;
        while (i < words && strncmp(text, word[i].name, strlen(word[i].name)) != 0)
            i++;
        if (i < words) {
            fputs(word[i].value, f);
            text += strlen(word[i].name);
        } else {
            fputc(*text++, f);
        }
    }
    if (fclose(f) != 0) {
        free(out);
        return NULL;
    }
    return out;
}

/* Whether each rank needs a folder of its own there. */
static bool is_shared(const char *text, const struct uri *u)
{
    struct stat st;

    if (part_has_rank(text) || u->scheme == URI_RESP)
        return false;
    return u->scheme != URI_PATH || stat(u->path, &st) < 0 || S_ISDIR(st.st_mode);
}

char *part_target(const struct part *p, const char *text, const char *option, struct err *e)
{
    char *name = part_expand(p, text), *out = NULL;
    struct uri u;
    int rc = name ? uri_parse(&u, name, option, e) : err_nomem(e, "names with {rank}");

    if (rc < 0) {
        free(name);
        return NULL;
    }
    if (!is_shared(text, &u))
        return name;
    size_t len = u.scheme == URI_PATH ? strlen(name) : strcspn(name, "?");
    const char *parameters = name + len;
    while (len > 1 && name[len - 1] == '/')
        len--;
    if (asprintf(&out, "%.*s/rank-%u%s", (int)len, name, p->rank, parameters) < 0) {
        out = NULL;
        err_nomem(e, "names with {rank}");
    }
    free(name);
    return out;
}

int part_make_parent(const char *path, struct err *e)
{
    const char *slash = strrchr(path, '/');
    char *parent = slash && slash > path ? strndup(path, (size_t)(slash - path)) : NULL;
    int rc = 0;

    if (!parent)
        return slash && slash > path ? err_nomem(e, "name of a folder") : 0;
    if (mkdir(parent, 0777) < 0 && errno != EEXIST)
        rc = err_errno(e, -errno, ERR_TARGET, parent, "cannot be made");
    free(parent);
    return rc;
}
