/* One process: the programs without MPI. */
#include "lib/ranks/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/ranks/part.h"

struct ranks {
    char host[PART_HOST_CAP];
};

const char *ranks_suffix(void)
{
    return "";
}

int ranks_open(struct ranks **out, int *argc, char ***argv, struct err *e)
{
    struct ranks *r = calloc(1, sizeof(*r));

    (void)argc;
    (void)argv;
    if (!r)
        return err_nomem(e, "ranks");
    part_host_name(r->host);
    *out = r;
    return 0;
}

void ranks_close(struct ranks *r, int status)
{
    (void)status;
    free(r);
}

unsigned ranks_rank(const struct ranks *r)
{
    (void)r;
    return 0;
}

unsigned ranks_count(const struct ranks *r)
{
    (void)r;
    return 1;
}

const char *ranks_host(const struct ranks *r, unsigned rank)
{
    (void)rank;
    return r->host;
}

void ranks_name(const struct ranks *r, unsigned rank, struct err *e)
{
    (void)r;
    (void)rank;
    (void)e;
}

int ranks_agree(struct ranks *r, int rc, struct err *e)
{
    (void)r;
    (void)e;
    return rc;
}

int ranks_same(struct ranks *r, struct hash128 h, const char *what, struct err *e)
{
    (void)r;
    (void)h;
    (void)what;
    (void)e;
    return 0;
}

int ranks_spread(struct ranks *r, void *p, size_t n, struct err *e)
{
    (void)r;
    (void)p;
    (void)n;
    (void)e;
    return 0;
}

int ranks_measure(struct ranks *r, struct ranks_offset *o, struct err *e)
{
    (void)r;
    (void)e;
    *o = (struct ranks_offset){0};
    return 0;
}

int ranks_choose_start(struct ranks *r, const struct ranks_offset *o, int64_t *at_ns, struct err *e)
{
    (void)r;
    (void)o;
    (void)e;
    *at_ns = clock_now_ns();
    return 0;
}

void ranks_set_silence(struct ranks *r, int64_t most_ns)
{
    (void)r;
    (void)most_ns;
}

void ranks_go_on(struct ranks *r)
{
    (void)r;
}

bool ranks_lost(struct ranks *r, unsigned rank)
{
    (void)r;
    (void)rank;
    return false;
}

bool ranks_next_lost(struct ranks *r, unsigned *rank)
{
    (void)r;
    (void)rank;
    return false;
}

void ranks_stop(struct ranks *r)
{
    (void)r;
}

bool ranks_stopped(struct ranks *r, unsigned *by)
{
    (void)r;
    (void)by;
    return false;
}

int ranks_gather(struct ranks *r, const void *p, size_t len, char **all, size_t **lens,
                 struct err *e)
{
    (void)r;
    *all = malloc(len + 1);
    *lens = malloc(sizeof(**lens));
    if (!*all || !*lens) {
        free(*all);
        free(*lens);
        return err_nomem(e, "ranks");
    }
    memcpy(*all, p, len);
    (*all)[len] = '\0';
    **lens = len;
    return 0;
}

int ranks_send_file(struct ranks *r, const char *path, struct err *e)
{
    (void)r;
    (void)path;
    (void)e;
    return 0;
}

int ranks_receive_file(struct ranks *r, unsigned from, const char *path, struct err *e)
{
    (void)r;
    (void)from;
    (void)path;
    (void)e;
    return 0;
}
