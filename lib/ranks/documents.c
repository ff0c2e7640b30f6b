/* Between ranks.h, which moves bytes, and lib/facts/runs, which merges what they say. */
#include "lib/ranks/documents.h"

#include <stdlib.h>
#include <string.h>

static int read_all(struct documents *d, struct ranks *r, char *heads, size_t n, struct err *e)
{
    const char *text = d->all;
    int rc = 0;

    d->run = calloc(ranks_count(r), sizeof(*d->run));
    d->doc = calloc(ranks_count(r), sizeof(struct jsonin *));
    if (!d->run || !d->doc)
        return err_nomem(e, "ranks");
    d->count = ranks_count(r);
    for (unsigned i = 0; rc == 0 && i < d->count; i++) {
        struct runs_one *one = &d->run[i];
        size_t len = d->len[i];
        *one = (struct runs_one){.rank = i, .host = ranks_host(r, i)};
        one->missing = len <= n || ranks_lost(r, i);
        if (!one->missing && i > 0 && n > 0)
            memcpy(heads + i * n, text, n);
        if (!one->missing && len > n + 1)
            rc = jsonin_parse(&d->doc[i], text + n, len - n - 1, "summary of a rank", e);
        if (d->doc[i]) {
            one->text = text + n;
            one->doc = jsonin_root(d->doc[i]);
        }
        text += len + 1;
    }
    return rc;
}

int documents_gather(struct documents *d, struct ranks *r, void *heads, size_t n, const char *text,
                     struct err *e)
{
    size_t len = n + (text ? strlen(text) : 0) + 1;
    char *message = malloc(len);

    *d = (struct documents){0};
    if (message) {
        if (n > 0)
            memcpy(message, (char *)heads + ranks_rank(r) * n, n);
        memcpy(message + n, text ? text : "", len - n);
    }
    int rc = ranks_gather(r, message, message ? len : 0, &d->all, &d->len, e);
    free(message);
    if (rc == 0 && ranks_rank(r) == 0)
        rc = read_all(d, r, heads, n, e);
    return rc;
}

void documents_free(struct documents *d)
{
    for (unsigned i = 0; i < d->count; i++)
        jsonin_free(d->doc[i]);
    free(d->doc);
    free(d->run);
    free(d->all);
    free(d->len);
}
