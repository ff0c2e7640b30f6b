/* The marks of requests under way: rows of one array. A row is used again when its request is over.
 * Only the curves of traces need them (curve.c). */
#include "kvgen/curve/request_prefixes.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/keymap.h"
#include "lib/base/memory.h"

struct request_prefixes {
    struct keymap *rows; /* by request */
    bool *mark;          /* width of each row */
    size_t width, cap;
    uint32_t *free_row; /* stack of rows that no request has */
    size_t frees;
};

struct request_prefixes *request_prefixes_create(size_t width)
{
    struct request_prefixes *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->width = width;
    p->rows = keymap_create();
    if (!p->rows) {
        request_prefixes_free(p);
        return NULL;
    }
    return p;
}

void request_prefixes_free(struct request_prefixes *p)
{
    if (!p)
        return;
    keymap_free(p->rows);
    free(p->mark);
    free(p->free_row);
    free(p);
}

static struct hash128 key_of(int64_t request)
{
    return (struct hash128){.lo = hash_mix((uint64_t)request), .hi = 1};
}

static bool grow(struct request_prefixes *p)
{
    size_t cap = p->cap > 0 ? 2 * p->cap : 64;
    if (memory_resize(&p->mark, cap * p->width, sizeof(*p->mark)) < 0 ||
        memory_resize(&p->free_row, cap, sizeof(*p->free_row)) < 0)
        return false;
    for (size_t row = cap; row-- > p->cap;)
        p->free_row[p->frees++] = (uint32_t)row;
    p->cap = cap;
    return true;
}

bool *request_prefixes_of(struct request_prefixes *p, int64_t request)
{
    uint64_t *row = keymap_find(p->rows, key_of(request));
    if (row)
        return p->mark + *row * p->width;
    if (keymap_count(p->rows) == REQUEST_PREFIXES_MAX) {
        keymap_free(p->rows);
        p->rows = keymap_create();
        if (!p->rows)
            return NULL;
        p->frees = 0;
        for (size_t i = p->cap; i-- > 0;)
            p->free_row[p->frees++] = (uint32_t)i;
    }
    if (p->frees == 0 && !grow(p))
        return NULL;
    row = keymap_get(p->rows, key_of(request), p->free_row[p->frees - 1]);
    if (!row)
        return NULL;
    p->frees--;
    return memset(p->mark + *row * p->width, 0, p->width * sizeof(*p->mark));
}

void request_prefixes_forget(struct request_prefixes *p, int64_t request)
{
    const uint64_t *row = keymap_find(p->rows, key_of(request));
    if (!row)
        return;
    p->free_row[p->frees++] = (uint32_t)*row;
    keymap_remove(p->rows, key_of(request));
}
