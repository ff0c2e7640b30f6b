/* The events of one message, which readers collect and residency.c applies; and the code that all
 * readers share. */
#include "kvgen/record/batch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "kvgen/record/bytes_in.h"
#include "lib/base/memory.h"

enum {
    MAX_ELEMENT = 64 << 20 /* of JSON */
};

void batch_clear(struct batch *b)
{
    struct batch kept = {.event = b->event,
                         .events_cap = b->events_cap,
                         .hash = b->hash,
                         .tokens = b->tokens,
                         .hashes_cap = b->hashes_cap};
    *b = kept;
}

void batch_free(struct batch *b)
{
    free(b->event);
    free(b->hash);
    free(b->tokens);
    *b = (struct batch){0};
}

struct event *batch_add(struct batch *b, enum event_kind kind)
{
    if (memory_room(&b->event, &b->events_cap, b->events, sizeof(*b->event), 64) < 0)
        return NULL;
    struct event *v = &b->event[b->events++];
    *v = (struct event){.kind = (uint8_t)kind, .first = b->hashes};
    return v;
}

int batch_add_block(struct batch *b, struct hash128 hash)
{
    if (b->hashes == b->hashes_cap) {
        size_t cap = b->hashes_cap * 2 + 64;
        if (memory_resize(&b->hash, cap, sizeof(*b->hash)) < 0 ||
            memory_resize(&b->tokens, cap, sizeof(*b->tokens)) < 0)
            return -ENOMEM;
        b->hashes_cap = cap;
    }
    b->hash[b->hashes++] = hash;
    b->event[b->events - 1].count++;
    return 0;
}

int record_medium(const struct record_opts *o, const char *name, size_t len, uint8_t *medium,
                  struct err *e)
{
    int found = !name       ? -1
                : o->learns ? (int)media_learn(o->learns, name, len)
                            : media_find(&o->media, name, len);
    if (found < 0)
        return err_set(
            e, -EINVAL, ERR_INPUT, "",
            "medium \"%.*s\" is not known (--config medium=NAME=TIER says which tier it is)",
            !name      ? 0
            : len < 40 ? (int)len
                       : 40,
            name ? name : "");
    *medium = (uint8_t)found;
    return 0;
}

void batch_unknown_event(struct batch_unknown *u, const char *name, size_t len)
{
    if (u->events++ > 0)
        return;
    snprintf(u->event, sizeof(u->event), "%.*s", (int)(len < sizeof(u->event) ? len : 40), name);
    err_make_harmless(u->event);
}

void batch_unknown_note(const struct batch_unknown *u, struct notes *to)
{
    if (u->events > 0)
        notes_add(to, "events of a kind that is not known are left out: %llu, the first one \"%s\"",
                  (unsigned long long)u->events, u->event);
    if (u->fields > 0)
        notes_add(to, "fields that are not known are left out: %llu",
                  (unsigned long long)u->fields);
    for (int i = BATCH_WHOLE + 1; i < BATCH_DAMAGES; i++) {
        if (u->damaged[i] > 0)
            notes_add(to, "damaged messages: %llu (%s)", (unsigned long long)u->damaged[i],
                      batch_damage_text((enum batch_damage)i));
    }
}

const char *batch_damage_text(enum batch_damage damage)
{
    static const char *const text[BATCH_DAMAGES] = {
        [BATCH_OTHER_FRAMES] = "not three frames: topic, number of eight bytes, payload",
        [BATCH_NO_EVENTS] = "no MessagePack of KV events",
        [BATCH_TOO_MANY] = "too many publishers",
        [BATCH_AHEAD] = "its time is in the future: the time of its arrival is used"};
    return text[damage];
}

const char *batch_unrecorded_text(enum batch_unrecorded what)
{
    static const char *const text[BATCH_UNRECORDED_KINDS] = {
        [BATCH_UNRECORDED_EXACT_TIMES] =
            "exact times (told once a second: a timed replay comes in bursts)",
        [BATCH_UNRECORDED_RESULTS] = "results and durations of calls, and the tier below",
        [BATCH_UNRECORDED_MEMORY] = "memory, and files that were open before the recording began",
    };
    return text[what];
}

int batch_reader_open(struct batch_reader **out, const struct batch_reader_ops *ops,
                      struct frame_in *file, const struct record_opts *o, struct err *e)
{
    struct batch_reader *r = calloc(1, ops->bytes);
    if (!r)
        return err_nomem(e, "recording");
    r->ops = ops;
    r->o = o;
    r->file = file;
    int rc = ops->input == BATCH_JSON ? jsonin_stream_open(&r->json, file, MAX_ELEMENT, e) : 0;
    if (ops->input == BATCH_BYTES && !(r->bytes = bytes_in_create(file)))
        rc = err_nomem(e, "recording");
    if (rc == 0 && ops->begin)
        rc = ops->begin(r, e);
    if (rc < 0)
        batch_reader_close(r);
    else
        *out = r;
    return rc;
}

void batch_reader_close(struct batch_reader *r)
{
    if (r->ops->close)
        r->ops->close(r);
    jsonin_stream_close(r->json);
    bytes_in_free(r->bytes);
    free(r);
}

int batch_bad(struct err *e, const char *name, const char *what)
{
    return err_set(e, -EINVAL, ERR_INPUT, "", "%s %s", name, what);
}

int batch_pick(const struct pick *p, size_t n, const struct jsonin_v *v, void *to, struct err *e)
{
    struct pick_bad wrong;
    return pick(p, n, v, to, &wrong) < 0 ? batch_bad(e, wrong.name, wrong.what) : 0;
}

int batch_pick_value(enum pick_as as, const struct jsonin_v *v, const char *name, void *to,
                     struct err *e)
{
    const char *what = pick_value(as, v, to);
    return what ? batch_bad(e, name, what) : 0;
}
