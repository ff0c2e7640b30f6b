/* Room that is made on a target: what was used longest ago leaves first, down to nine tenths; what
 * is in flight stays; a store that says that it is full is believed until something has left it,
 * and where nothing can leave, writes end. A bug looked like a write that waited for ever, an
 * object that was removed while it was read, or a target that was emptied for one write. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kvreplay/sched/cleaner.h"
#include "tests/unit/fake_clock.h"
#include "tests/unit/kvreplay/fake_tier.h"

enum {
    OBJECTS = 10,
    SIZE = 100,
    SLOTS = 16
};

struct scene {
    int64_t now;
    struct clock clock;
    struct fake fake;
    struct tier *tier[TRACE_TIERS];
    bool verifies[TRACE_TIERS];
    struct room room;
    struct objects *objects;
    struct counts counts;
    struct dispatch *dispatch;
    struct cleaner *cleaner;
    struct row row[OBJECTS + SLOTS];
};

static struct hash128 key_of(unsigned i)
{
    return (struct hash128){.lo = i * 7919, .hi = i};
}

/* live objects of SIZE bytes, of which object 0 is the oldest, in a target of that capacity. */
static void setup(struct scene *s, unsigned live, uint64_t capacity)
{
    memset(s, 0, sizeof(*s));
    s->clock = clock_fake(&s->now);
    s->fake = (struct fake){.base = {&fake_ops}, .now = &s->now};
    s->tier[TRACE_STORAGE] = &s->fake.base;
    s->room = (struct room){.capacity = capacity, .open = true};
    s->objects = objects_create();
    objects_keep_links(s->objects);
    for (unsigned i = 0; i < live; i++) {
        struct object *o = objects_get(s->objects, key_of(i), TRACE_STORAGE);
        o->live = o->planned = 1;
        o->size = SIZE;
    }
    s->dispatch = dispatch_create(&(struct dispatch_opts){
        .tier = s->tier, .verifies = s->verifies, .clock = &s->clock, .slots = SLOTS});
    s->cleaner = cleaner_create(
        &(struct cleaner_opts){.objects = s->objects, .room = &s->room, .counts = &s->counts});
}

static void teardown(struct scene *s)
{
    cleaner_free(s->cleaner);
    dispatch_free(s->dispatch);
    objects_free(s->objects);
}

/* A row of object i. */
static struct row *row_of(struct scene *s, unsigned i, enum trace_op op, uint64_t size)
{
    struct row *r = &s->row[i];
    *r = (struct row){
        .t = {.op = (uint8_t)op, .tier = TRACE_STORAGE, .size = size, .request = TRACE_NONE},
        .copy = key_of(i),
        .stage = ROW_MAIN,
        .effect = {.object = objects_get(s->objects, key_of(i), TRACE_STORAGE),
                   .target = TIER_NO_DOOR}};
    objects_hold(r->effect.object);
    return r;
}

static void send(struct scene *s, struct row *r)
{
    int64_t now, slot;
    assert_int_equal(dispatch_row(s->dispatch, r, &now, &slot), DISPATCH_SENT);
    if (!r->of_cleaner)
        cleaner_sent(s->cleaner, r);
}

/* All that is in flight ends, the rows with that status. */
static void end_all(struct scene *s, int status)
{
    struct tier_op *done[SLOTS];
    s->now += FAKE_TOOK_NS;
    size_t n = s->tier[TRACE_STORAGE]->ops->poll(s->tier[TRACE_STORAGE], done, SLOTS);
    for (size_t i = 0; i < n; i++) {
        struct row *r = done[i]->owner;
        bool wrote = dispatch_writes(r);
        if (!r->of_cleaner)
            done[i]->status = status;
        uint64_t held = r->of_cleaner ? 0 : cleaner_held(s->cleaner, r);
        dispatch_complete(r, done[i]);
        dispatch_leave(s->dispatch, done[i], wrote);
        if (r->of_cleaner)
            cleaner_removed(s->cleaner, r, done[i]->status);
        else
            cleaner_ended(s->cleaner, r, held);
    }
}

/* Sends the removals that there are, and says which objects they take: "0 1 ". */
static const char *removals(struct scene *s)
{
    static char text[64];
    struct row *r;
    size_t len = 0;
    text[0] = '\0';
    while ((r = cleaner_removal(s->cleaner, s->dispatch))) {
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%u ", (unsigned)r->copy.hi);
        send(s, r);
    }
    return text;
}

static void goes_on(struct scene *s, const struct row *r, bool with_room)
{
    bool room;
    assert_ptr_equal(cleaner_next(s->cleaner, &room), r);
    assert_int_equal(room, with_room);
}

static void none_goes_on(struct scene *s)
{
    bool room;
    assert_null(cleaner_next(s->cleaner, &room));
}

static void oldest_leave_first(void **state)
{
    (void)state;
    struct scene s;
    setup(&s, 9, 1000);
    send(&s, row_of(&s, 0, TRACE_READ, SIZE)); /* 0 is the newest now */
    end_all(&s, 0);
    struct row *w = row_of(&s, 9, TRACE_WRITE, 250);
    assert_int_equal(cleaner_asks(s.cleaner, w), CLEANER_WAIT); /* 900 and 250: down to 750 */
    cleaner_line(s.cleaner, w);
    assert_string_equal(removals(&s), "1 2 ");
    none_goes_on(&s);
    end_all(&s, 0);
    assert_string_equal(removals(&s), "");
    goes_on(&s, w, true);
    assert_int_equal(cleaner_asks(s.cleaner, w), CLEANER_GO);
    assert_int_equal(s.counts.removed_objects, 2);
    assert_int_equal(s.counts.removed_bytes, 2 * SIZE);
    assert_int_equal(s.counts.full_writes, 1);
    assert_int_equal(s.counts.cleanings, 1);
    teardown(&s);
}

static void what_is_in_flight_stays(void **state)
{
    (void)state;
    struct scene s;
    setup(&s, 9, 900);
    send(&s, row_of(&s, 0, TRACE_READ, SIZE));
    row_of(&s, 1, TRACE_READ, SIZE); /* waits for its turn: that does not save its object */
    struct row *w = row_of(&s, 9, TRACE_WRITE, SIZE);
    assert_int_equal(cleaner_asks(s.cleaner, w), CLEANER_WAIT);
    cleaner_line(s.cleaner, w);
    assert_string_equal(removals(&s), "1 ");
    assert_int_equal(cleaner_asks(s.cleaner, row_of(&s, 1, TRACE_WRITE, 1)), CLEANER_WAIT);
    int64_t now, slot;
    struct row *late = row_of(&s, 1, TRACE_READ, SIZE);
    assert_int_equal(dispatch_row(s.dispatch, late, &now, &slot), DISPATCH_NOTHING);
    assert_true(row_was_removed(late));
    end_all(&s, 0);
    removals(&s);
    goes_on(&s, w, true);
    teardown(&s);
}

/* The store is full below its capacity, as others fill it too. */
static void store_is_believed(void **state)
{
    (void)state;
    struct scene s;
    setup(&s, 2, 1000);
    struct row *w = row_of(&s, 5, TRACE_WRITE, SIZE);
    assert_int_equal(cleaner_asks(s.cleaner, w), CLEANER_GO);
    send(&s, w);
    end_all(&s, -ENOSPC);
    assert_true(cleaner_found_full(s.cleaner, w));
    cleaner_line(s.cleaner, w);
    assert_string_equal(removals(&s), "0 "); /* 200 held: 180 are a tenth less */
    end_all(&s, 0);
    removals(&s);
    goes_on(&s, w, true);
    w->stage = ROW_MAIN;
    struct row *other = row_of(&s, 6, TRACE_WRITE, SIZE);
    send(&s, w);
    send(&s, other);
    end_all(&s, -EDQUOT);
    assert_true(cleaner_found_full(s.cleaner, w));
    cleaner_line(s.cleaner, w);
    assert_string_equal(removals(&s), "1 ");
    end_all(&s, 0);
    removals(&s);
    goes_on(&s, w, true);
    assert_false(cleaner_found_full(s.cleaner, other)); /* it was sent before that */
    w->stage = ROW_MAIN;
    send(&s, w);
    end_all(&s, -ENOSPC);
    assert_true(cleaner_found_full(s.cleaner, w)); /* nothing is left that could leave */
    cleaner_line(s.cleaner, w);
    assert_string_equal(removals(&s), "");
    goes_on(&s, w, false);
    assert_int_equal(s.counts.full_writes, 2);
    teardown(&s);
}

/* An object in flight may yet be removed, or leave by itself: a write waits for it. */
static void waits_for_what_is_in_flight(void **state)
{
    (void)state;
    struct scene s;
    setup(&s, 1, 1000);
    struct row *w = row_of(&s, 5, TRACE_WRITE, SIZE);
    send(&s, w);
    end_all(&s, -ENOSPC);
    send(&s, row_of(&s, 0, TRACE_READ, SIZE));
    assert_true(cleaner_found_full(s.cleaner, w));
    cleaner_line(s.cleaner, w);
    assert_string_equal(removals(&s), "");
    none_goes_on(&s);
    end_all(&s, 0);
    assert_string_equal(removals(&s), "0 ");
    end_all(&s, 0);
    removals(&s);
    goes_on(&s, w, true);
    teardown(&s);
}

/* A goal that counts claims of writes that fail later is reached without anything leaving: what
 * there is by then leaves all the same. */
static void claims_come_to_nothing(void **state)
{
    (void)state;
    struct scene s;
    setup(&s, 0, 1000);
    struct row *w[3];
    for (unsigned i = 0; i < 3; i++) {
        w[i] = row_of(&s, i, TRACE_WRITE, SIZE);
        s.now = i;
        send(&s, w[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        s.now = i;
        end_all(&s, -ENOSPC);
        assert_true(cleaner_found_full(s.cleaner, w[i]));
        cleaner_line(s.cleaner, w[i]);
        assert_string_equal(removals(&s), "");
        none_goes_on(&s);
    }
    s.now = 2;
    end_all(&s, 0);
    assert_string_equal(removals(&s), "2 ");
    end_all(&s, 0);
    removals(&s);
    goes_on(&s, w[0], true);
    goes_on(&s, w[1], true);
    teardown(&s);
}

static void too_large_for_the_target(void **state)
{
    (void)state;
    struct scene s;
    setup(&s, 9, 1000);
    struct row *w = row_of(&s, 9, TRACE_WRITE, 1001);
    assert_int_equal(cleaner_asks(s.cleaner, w), CLEANER_NEVER);
    assert_int_equal(w->effect.verdict, ROOM_FULL);
    assert_string_equal(removals(&s), "");
    w = row_of(&s, 9, TRACE_WRITE, 1000); /* just fits, alone */
    assert_int_equal(cleaner_asks(s.cleaner, w), CLEANER_WAIT);
    cleaner_line(s.cleaner, w);
    assert_string_equal(removals(&s), "0 1 2 3 4 5 6 7 8 ");
    end_all(&s, 0);
    removals(&s);
    goes_on(&s, w, true);
    teardown(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oldest_leave_first),     cmocka_unit_test(what_is_in_flight_stays),
        cmocka_unit_test(store_is_believed),      cmocka_unit_test(waits_for_what_is_in_flight),
        cmocka_unit_test(claims_come_to_nothing), cmocka_unit_test(too_large_for_the_target),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
