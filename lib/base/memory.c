/* Arrays, and streams of text, that grow in memory, and large memory on huge pages. */
#include "lib/base/memory.h"

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

enum {
    APART_BYTES = 512 << 10,
    SPARE_BYTES = 16 << 20 /* free memory of small things that is kept */
};

struct stream {
    char **text;
    size_t *len, room;
    bool failed;
};

static ssize_t stream_write(void *cookie, const char *from, size_t bytes)
{
    struct stream *s = cookie;
    size_t need = *s->len + bytes + 1;

    if (!s->failed && need > s->room) {
        size_t room = need > 2 * s->room ? need : 2 * s->room;
        s->failed = memory_resize(s->text, room, 1) < 0;
        if (!s->failed)
            s->room = room;
    }
    if (s->failed)
        return 0; /* fopencookie(3): an error */
    memcpy(*s->text + *s->len, from, bytes);
    *s->len += bytes;
    (*s->text)[*s->len] = '\0';
    return (ssize_t)bytes;
}

static int stream_close(void *cookie)
{
    struct stream *s = cookie;
    int rc = s->failed ? EOF : 0;

    free(s);
    return rc;
}

FILE *memory_stream(char **text, size_t *len)
{
    const cookie_io_functions_t does = {.write = stream_write, .close = stream_close};
    struct stream *s = calloc(1, sizeof(*s));
    FILE *f = s ? fopencookie(s, "w", does) : NULL;

    *text = f ? calloc(1, 1) : NULL;
    *len = 0;
    if (!*text) {
        if (f)
            fclose(f);
        else
            free(s);
        return NULL;
    }
    *s = (struct stream){.text = text, .len = len, .room = 1};
    return f;
}

void memory_set_apart(void)
{
    /* By itself malloc takes this for arrays that are larger than all that were freed so far. */
    mallopt(M_MMAP_THRESHOLD, APART_BYTES);
    mallopt(M_TRIM_THRESHOLD, SPARE_BYTES);
}

int memory_resize(void *array, size_t items, size_t item_bytes)
{
    void **at = array, *p; /* a pointer of any type: pointers are alike, and no alias is assumed */

    if (items > SIZE_MAX / item_bytes)
        return -ENOMEM;
    p = realloc(*at, items * item_bytes);
    if (!p)
        return -ENOMEM;
    *at = p;
    return 0;
}

int memory_room(void *array, size_t *room, size_t count, size_t item_bytes, size_t first)
{
    size_t more = *room ? 2 * *room : first;

    if (count < *room)
        return 0;
    if (memory_resize(array, more, item_bytes) < 0)
        return -ENOMEM;
    *room = more;
    return 0;
}

void *memory_scattered(size_t bytes)
{
    if (bytes < HUGE_PAGE || bytes > SIZE_MAX - HUGE_PAGE)
        return malloc(bytes);
    size_t whole = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    void *p = aligned_alloc(HUGE_PAGE, whole);
    if (p)
        madvise(p, whole, MADV_HUGEPAGE); /* advice only */
    return p;
}
