/* Members in the order of a number, smallest first: one line of requests. A member's struct holds a
 * struct line_place, which is in one line at most. One thread. */
#ifndef KVREPLAY_WAIT_LINE_H
#define KVREPLAY_WAIT_LINE_H

#include <stddef.h>
#include <stdint.h>

struct line_place {
    int64_t key; /* the number */
    size_t at;   /* in its line */
};

struct line {
    size_t count;
    struct line_place **place; /* binary heap */
};

/* Takes memory for so many members. 0, or -ENOMEM; line_release also then. */
int line_init(struct line *l, size_t members);
void line_release(struct line *l);
/* NULL: the line is empty. */
static inline struct line_place *line_first(const struct line *l)
{
    return l->count ? l->place[0] : NULL;
}
/* Each O(log n). */
void line_add(struct line *l, struct line_place *p, int64_t key);
void line_remove(struct line *l, struct line_place *p);

#endif
