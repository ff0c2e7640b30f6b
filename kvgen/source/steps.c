/* Plays the steps of recorded sessions. A step becomes ready when what it waits for was dispatched
 * or answered; the earliest ready step is the next request. agentic.c and graph.c read steps from
 * files. */
#include "kvgen/source/steps.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/memory.h"

#define MAX_DELAY_NS (FILE_SOURCE_MAX_NS / 2)
#define KEPT         ((size_t)1 << 20) /* bytes of arrays that are used again for the next session */

/* ---- filling in ---- */

/* Makes room for need elements of size bytes. */
static int reserve(const struct steps *s, void *array, size_t *cap, size_t need, size_t size,
                   struct err *e)
{
    if (need <= *cap)
        return 0;
    if (need >= STEPS_NONE / 2)
        return err_set(e, -EINVAL, ERR_INPUT, inputs_path(s->files->in), "too many %s", s->what);
    size_t room = need + need / 2 + 8;
    int rc = file_source_hold(s->files, (room - *cap) * size, s->what, e);
    if (rc < 0)
        return rc;
    if (memory_resize(array, room, size) < 0)
        return err_nomem(e, s->what);
    *cap = room;
    return 0;
}

int steps_add(struct steps *s, const struct step *step, struct err *e)
{
    int rc = reserve(s, &s->step, &s->cap, s->count + 1, sizeof(*s->step), e);
    if (rc < 0)
        return rc;
    s->step[s->count] = *step;
    s->step[s->count++].first_edge = STEPS_NONE;
    return 0;
}

int steps_join(struct steps *s, uint32_t from, const struct step_edge *edge, struct err *e)
{
    int rc = reserve(s, &s->edge, &s->edges_cap, s->edges + 1, sizeof(*s->edge), e);
    if (rc < 0)
        return rc;
    s->edge[s->edges] = *edge;
    s->edge[s->edges].next = s->step[from].first_edge;
    s->step[from].first_edge = (uint32_t)s->edges++;
    s->step[edge->to].waits_for++;
    return 0;
}

int steps_room(struct steps *s, size_t ids, struct err *e)
{
    return reserve(s, &s->id, &s->ids_cap, s->ids + ids, sizeof(*s->id), e);
}

static void release(struct steps *s)
{
    free(s->step);
    free(s->edge);
    free(s->id);
}

void steps_forget(struct steps *s)
{
    size_t bytes =
        s->cap * sizeof(*s->step) + s->edges_cap * sizeof(*s->edge) + s->ids_cap * sizeof(*s->id);
    if (bytes <= KEPT)
        return;
    s->files->held_bytes -= bytes;
    release(s);
    *s = (struct steps){.files = s->files, .what = s->what, .end_ns = s->end_ns};
}

void steps_player_free(struct steps_player *p)
{
    for (uint32_t i = 0; p->of && i < p->count; i++)
        release(&p->of[i]);
    free(p->of);
    heap_free(&p->ready);
}

/* ---- playing ---- */

/* Divides a time by the speed, and cuts it to what the clock can hold. */
static int64_t scaled(const struct steps_player *p, int64_t ns)
{
    double speed = p->files->o.speedup;
    double out = speed == 0 ? 0 : (double)ns / speed;
    return out > (double)MAX_DELAY_NS ? MAX_DELAY_NS : (int64_t)(out + 0.5);
}

static void make_ready(struct steps_player *p, uint32_t number, uint32_t at)
{
    const struct steps *s = &p->of[number];
    const struct step *step = &s->step[at];
    int64_t due_ns = (step->after_all ? step->ready_ns : s->began_ns) + scaled(p, step->wait_ns);
    due_ns = due_ns > step->ready_ns ? due_ns : step->ready_ns;
    p->files->gaps_cut += step->cut;
    heap_push(&p->ready, (struct heap_event){.time_ns = due_ns > p->last_ns ? due_ns : p->last_ns,
                                             .tie = (uint64_t)number << 32 | at,
                                             .item = at});
}

/* A step was dispatched, or has ended: the steps that waited only for that become ready. */
static void follow(struct steps_player *p, uint64_t place, bool dispatch, int64_t now_ns)
{
    uint32_t number = (uint32_t)(place >> 32), at = (uint32_t)place;
    struct steps *s = &p->of[number];
    for (uint32_t i = s->step[at].first_edge; i != STEPS_NONE; i = s->edge[i].next) {
        const struct step_edge *edge = &s->edge[i];
        struct step *to = &s->step[edge->to];
        if (edge->dispatch != dispatch)
            continue;
        int64_t ns = now_ns + scaled(p, edge->delay_ns);
        to->ready_ns = ns > to->ready_ns ? ns : to->ready_ns;
        if (--to->waiting == 0)
            make_ready(p, number, edge->to);
    }
    if (dispatch)
        return;
    s->left--;
    p->left--;
    s->end_ns = now_ns > s->end_ns ? now_ns : s->end_ns;
}

int steps_begin(struct steps_player *p, uint32_t number, int64_t now_ns)
{
    struct steps *s = &p->of[number];
    s->began_ns = s->end_ns = now_ns;
    s->left = 0;
    for (size_t i = 0; i < s->count; i++) {
        s->step[i].waiting = s->step[i].waits_for;
        s->step[i].ready_ns = now_ns;
        s->left += !s->step[i].left_out;
    }
    p->left += s->left;
    if (heap_reserve(&p->ready, p->left) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < s->count; i++)
        if (s->step[i].waiting == 0 && !s->step[i].left_out)
            make_ready(p, number, (uint32_t)i);
    return 0;
}

int steps_all_begin(struct steps_player *p, uint32_t number)
{
    int rc = steps_begin(p, number, 0);
    while (rc == 0 && heap_top(&p->ready)) {
        uint64_t place = heap_pop(&p->ready).tie;
        follow(p, place, true, 0);
        follow(p, place, false, 0);
    }
    return rc < 0 ? rc : p->of[number].left == 0;
}

int steps_peek(struct steps_player *p, int64_t *arrival_ns, struct err *e)
{
    const struct heap_event *top;
    while ((top = heap_top(&p->ready))) {
        const struct step *step = &p->of[top->tie >> 32].step[top->item];
        *arrival_ns = top->time_ns;
        if (*arrival_ns > FILE_SOURCE_MAX_NS)
            return err_set(e, -ERANGE, ERR_INPUT, inputs_path(p->files->in),
                           "a step " FILE_SOURCE_TOO_LATE);
        if (!step->pause)
            return 1;
        uint64_t place = heap_pop(&p->ready).tie;
        follow(p, place, true, *arrival_ns);
        follow(p, place, false, *arrival_ns + scaled(p, step->pause_ns));
    }
    return 0;
}

uint32_t steps_take(struct steps_player *p, struct request *out)
{
    struct heap_event event = heap_pop(&p->ready);
    uint32_t number = (uint32_t)(event.tie >> 32);
    const struct steps *s = &p->of[number];
    const struct step *step = &s->step[event.item];
    p->last_ns = event.time_ns;
    *out = (struct request){.arrival_ns = event.time_ns,
                            .user = step->user,
                            .prompt = -1,
                            .context_tokens = step->context,
                            .generated_tokens = step->generated,
                            .blocks = s->id + step->first_id,
                            .block_count = step->ids,
                            .block_tokens = step->block_tokens,
                            .block_scope = s->scope,
                            .slot = event.item};
    file_source_cut(p->files, out);
    follow(p, event.tie, true, event.time_ns);
    return number;
}

bool steps_done(struct steps_player *p, uint32_t number, uint32_t step, int64_t now_ns)
{
    follow(p, (uint64_t)number << 32 | step, false, now_ns);
    return p->of[number].left == 0;
}
