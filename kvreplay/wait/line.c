/* Beside admission.c: a binary heap whose members know their places, so that any of them can leave.
 * All memory is taken at the start. */
#include "kvreplay/wait/line.h"

#include <errno.h>
#include <stdlib.h>

int line_init(struct line *l, size_t members)
{
    *l = (struct line){.place = calloc(members, sizeof(struct line_place *))};
    return l->place ? 0 : -ENOMEM;
}

void line_release(struct line *l)
{
    free(l->place);
}

static void line_put(struct line *l, struct line_place *p, size_t at)
{
    l->place[at] = p;
    p->at = at;
}

/* Puts p where it belongs, from the empty place at on. */
static void line_settle(struct line *l, struct line_place *p, size_t at)
{
    while (at > 0 && p->key < l->place[(at - 1) / 2]->key) {
        line_put(l, l->place[(at - 1) / 2], at);
        at = (at - 1) / 2;
    }
    for (size_t down; (down = 2 * at + 1) < l->count; at = down) {
        if (down + 1 < l->count && l->place[down + 1]->key < l->place[down]->key)
            down++;
        if (p->key <= l->place[down]->key)
            break;
        line_put(l, l->place[down], at);
    }
    line_put(l, p, at);
}

void line_add(struct line *l, struct line_place *p, int64_t key)
{
    p->key = key;
    line_settle(l, p, l->count++);
}

void line_remove(struct line *l, struct line_place *p)
{
    struct line_place *last = l->place[--l->count];

    if (last != p)
        line_settle(l, last, p->at);
}
