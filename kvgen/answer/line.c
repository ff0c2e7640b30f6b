#include "kvgen/answer/line.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/memory.h"

#define SHARE 20 /* of the requests done */

void line_free(struct line *l)
{
    free(l->here);
    *l = (struct line){0};
}

int line_add(struct line *l, uint64_t here)
{
    if (memory_room(&l->here, &l->cap, l->count, sizeof(*l->here), 512) < 0)
        return -ENOMEM;
    l->here[l->count++] = here;
    return 0;
}

static double mean(const uint64_t *here, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)here[i];
    return sum / (double)count;
}

bool line_grows(const struct line *l)
{
    const size_t third = l->count / 3;
    if (!third)
        return false;
    const double before = mean(l->here, third), middle = mean(l->here + third, third);
    const double after = mean(l->here + l->count - third, third), more = after - before;
    return after > 1.5 * before && more > (double)l->count / SHARE && middle > before + more / 4 &&
           middle < after - more / 4;
}
