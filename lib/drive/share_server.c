/* The load-dependent server. All objects in service move at the same rate, so one number tells how
 * much each that was there all the time has moved ("attained"). An object ends when attained has
 * grown by its size, and the heap holds these ends. Who waits for an object is the caller's
 * business. */
#include "lib/drive/share_server.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/base/units.h"
#include "lib/sort/heap.h"

#define FAR_NS (INT64_C(1) << 62)
/* attained counts in units of 1/4096 byte. */
#define FRACTION_BITS 12
/* attained is brought back to 0 before an end could pass 2^63. */
#define ATTAINED_MAX (INT64_C(1) << 60)

struct object {
    uint64_t size, tag;
    int64_t begin_ns;
    uint32_t next; /* in the chain of free ones, or in the line */
    bool read;
};

struct share_server {
    const struct drive_model *model;
    struct heap ends; /* time_ns: attained at its end; item: in object */
    struct object *object;
    uint32_t cap, free; /* free: chain; cap: none */
    size_t places;      /* most in service */
    uint32_t line_first, line_last;
    size_t line;                /* objects that wait for a place */
    uint64_t order;             /* of the objects so far */
    uint64_t bytes, read_bytes; /* of those in service */
    uint64_t rate;              /* bytes/s of all together; 0: to be asked for */
    int64_t now_ns;             /* attained is of this time */
    int64_t attained;           /* in 2^-FRACTION_BITS bytes */
    int64_t busy_ns;
};

static int grow(struct share_server *s, size_t cap)
{
    if (cap > UINT32_MAX / 2 || memory_resize(&s->object, cap, sizeof(*s->object)) < 0 ||
        heap_reserve(&s->ends, cap) < 0)
        return -ENOMEM;
    for (uint32_t i = s->cap; i < cap; i++)
        s->object[i].next = i + 1;
    s->cap = (uint32_t)cap; /* the chain ends there */
    return 0;
}

struct share_server *share_server_create(const struct drive_model *model, size_t room)
{
    struct share_server *s = calloc(1, sizeof(*s));
    size_t cap = room > 16 ? room : 16;

    if (!s)
        return NULL;
    s->model = model;
    s->places = (size_t)drive_model_most_in_flight(model);
    if (heap_init(&s->ends, cap) < 0 || grow(s, cap) < 0) {
        share_server_free(s);
        return NULL;
    }
    return s;
}

void share_server_free(struct share_server *s)
{
    if (!s)
        return;
    heap_free(&s->ends);
    free(s->object);
    free(s);
}

/* The rate in units of attained, which grows by rate_units * time / share_of. */
static unsigned __int128 rate_units(struct share_server *s)
{
    if (s->rate == 0)
        s->rate = drive_model_rate(s->model, s->ends.count, s->bytes, s->read_bytes);
    return (unsigned __int128)s->rate << FRACTION_BITS;
}

static unsigned __int128 share_of(const struct share_server *s)
{
    return (unsigned __int128)s->ends.count * (uint64_t)UNITS_NS_PER_S;
}

static void pass_time(struct share_server *s, int64_t now_ns)
{
    int64_t ns = now_ns - s->now_ns;

    s->now_ns = now_ns;
    if (s->ends.count == 0) {
        s->attained = 0;
        return;
    }
    if (ns <= 0)
        return;
    s->busy_ns += ns;
    s->attained += (int64_t)(rate_units(s) * (uint64_t)ns / share_of(s));
    if (s->attained < ATTAINED_MAX)
        return;
    for (size_t i = 0; i < s->ends.count; i++)
        s->ends.event[i].time_ns -= s->attained;
    s->attained = 0;
}

int64_t share_server_next_ns(struct share_server *s)
{
    const struct heap_event *first = heap_top(&s->ends);
    unsigned __int128 units, ns;

    if (!first)
        return INT64_MAX;
    if (first->time_ns <= s->attained)
        return s->now_ns;
    units = rate_units(s);
    ns = ((uint64_t)(first->time_ns - s->attained) * share_of(s) + units - 1) / units;
    return ns > (uint64_t)(FAR_NS - s->now_ns) ? INT64_MAX : s->now_ns + (int64_t)ns;
}

/* An object enters service. */
static void enter(struct share_server *s, uint32_t place)
{
    const struct object *o = &s->object[place];

    heap_push(&s->ends,
              (struct heap_event){.time_ns = s->attained + (int64_t)(o->size << FRACTION_BITS),
                                  .tie = s->order++,
                                  .item = place});
    s->bytes += o->size;
    s->read_bytes += o->read ? o->size : 0;
    s->rate = 0;
}

static void stand_in_line(struct share_server *s, uint32_t place)
{
    if (s->line++ == 0)
        s->line_first = place;
    else
        s->object[s->line_last].next = place;
    s->line_last = place;
}

int share_server_add(struct share_server *s, int64_t now_ns, uint64_t size, bool read, uint64_t tag)
{
    if (s->free == s->cap && grow(s, (size_t)s->cap * 2) < 0)
        return -ENOMEM;
    if (size > DRIVE_MODEL_MAX_SIZE)
        size = DRIVE_MODEL_MAX_SIZE;
    pass_time(s, now_ns);
    uint32_t place = s->free;
    struct object *o = &s->object[place];
    s->free = o->next;
    *o = (struct object){.size = size, .tag = tag, .begin_ns = now_ns, .read = read};
    if (s->ends.count < s->places)
        enter(s, place);
    else
        stand_in_line(s, place);
    return 0;
}

bool share_server_take(struct share_server *s, int64_t until_ns, struct share_server_end *end)
{
    int64_t next_ns = share_server_next_ns(s);

    if (next_ns > until_ns || next_ns == INT64_MAX)
        return false;
    pass_time(s, next_ns);
    uint32_t place = heap_pop(&s->ends).item;
    struct object *o = &s->object[place];
    *end = (struct share_server_end){.tag = o->tag, .begin_ns = o->begin_ns, .end_ns = next_ns};
    s->bytes -= o->size;
    s->read_bytes -= o->read ? o->size : 0;
    s->rate = 0;
    o->next = s->free;
    s->free = place;
    if (s->line > 0) {
        uint32_t next = s->line_first;
        s->line_first = s->object[next].next;
        s->line--;
        enter(s, next);
    }
    return true;
}

int64_t share_server_busy_ns(const struct share_server *s, int64_t now_ns)
{
    return s->busy_ns + (s->ends.count > 0 ? now_ns - s->now_ns : 0);
}
