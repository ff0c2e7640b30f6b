/* Room and objects as the trace's order makes them, the survey of a whole trace, and what a failed
 * operation leaves. A bug looked like this: a rewrite that needed room for both generations and
 * failed in a tier as large as the peak, or a failed write whose old contents were read as if
 * nothing had happened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <errno.h>

#include "kvreplay/prepare/survey.h"
#include "kvreplay/sched/dispatch.h"
#include "kvreplay/wait/room.h"
#include "lib/base/hash.h"
#include "lib/tier/spread.h"

static struct trace_row row_of(uint8_t op, uint8_t phase, uint64_t size)
{
    struct trace_row t;
    memset(&t, 0, sizeof(t));
    t.op = op;
    t.phase = phase;
    t.tier = TRACE_STORAGE;
    t.size = size;
    return t;
}

static const struct hash128 key = {1, 2};

static struct room_effect admitted(struct objects *o, struct room *room, uint8_t op, uint8_t phase,
                                   uint64_t size, bool create)
{
    struct trace_row t = row_of(op, phase, size);
    struct room_effect p;
    struct room_row row = {
        .t = &t, .copy = key, .known = objects_find(o, key, t.tier), .create = create};
    assert_int_equal(room_admit(room, o, &row, &p), 0);
    assert_int_equal(p.object != NULL, p.verdict == ROOM_GO);
    return p;
}

static void rewrite_needs_the_difference(void **state)
{
    (void)state;
    struct objects *o = objects_create();
    struct room room = {.capacity = 100, .max_objects = 1};
    struct room_effect p = admitted(o, &room, TRACE_WRITE, TRACE_PREFILL, 60, false);
    assert_int_equal(p.take, 60);
    p = admitted(o, &room, TRACE_WRITE, TRACE_PREFILL, 100, false);
    assert_int_equal(p.verdict, ROOM_GO);
    assert_int_equal(p.take, 40);
    p = admitted(o, &room, TRACE_WRITE, TRACE_PREFILL, 101, false);
    assert_int_equal(p.verdict, ROOM_FULL);
    p = admitted(o, &room, TRACE_WRITE, TRACE_PREFILL, 30, false);
    assert_int_equal(p.take, 0);
    assert_int_equal(p.give, 70);
    p = admitted(o, &room, TRACE_READ, TRACE_EVICT, 30, false);
    assert_int_equal(p.give, 30);
    assert_int_equal(room.planned, 0);
    assert_int_equal(room.peak, 100);
    p = admitted(o, &room, TRACE_DELETE, TRACE_EVICT, 30, false);
    assert_int_equal(p.verdict, ROOM_ABSENT);
    p = admitted(o, &room, TRACE_READ, TRACE_DECODE, 50, true);
    assert_true(p.create);
    assert_int_equal(p.take, 50);
    p = admitted(o, &room, TRACE_READ, TRACE_DECODE, UINT64_MAX, false);
    assert_int_equal(p.verdict, ROOM_GO); /* there, though shorter: dispatch says EINVAL */
    p = admitted(o, &room, TRACE_WRITE, TRACE_PREFILL, UINT64_MAX, false);
    assert_int_equal(p.verdict, ROOM_FULL);
    objects_free(o);
}

static void room_of_unknown_objects_is_in_blocks(void **state)
{
    (void)state;
    struct objects *o = objects_create();
    struct room room = {.capacity = 8192, .max_objects = 1, .blocks = true};
    struct room_effect p = admitted(o, &room, TRACE_WRITE, TRACE_PREFILL, 4097, false);
    assert_int_equal(p.take, 8192);
    p = admitted(o, &room, TRACE_WRITE, TRACE_PREFILL, 4096, false);
    assert_int_equal(p.give, 4096);
    p = admitted(o, &room, TRACE_WRITE, TRACE_PREFILL, 8193, false);
    assert_int_equal(p.verdict, ROOM_FULL);
    p = admitted(o, &room, TRACE_DELETE, TRACE_EVICT, 0, false);
    assert_int_equal(p.give, 4096);
    p = admitted(o, &room, TRACE_READ, TRACE_EVICT, 5000, true);
    assert_int_equal(p.take, 8192);
    assert_int_equal(p.give, 8192);
    assert_int_equal(room.planned, 0);
    p = admitted(o, &room, TRACE_WRITE, TRACE_PREFILL, UINT64_MAX, false);
    assert_int_equal(p.verdict, ROOM_FULL);
    assert_true(p.needed == UINT64_MAX);
    objects_free(o);
}

/* A request needs the most that it takes at once, less what it has given by then; what it gives
 * stays its own while it still takes. */
static void a_request_claims_its_peak(void **state)
{
    (void)state;
    struct room room = {.capacity = 100, .max_objects = 10, .reserved = 60, .reserved_objects = 3};
    struct room_claim claim = {0};
    const struct room_effect first = {.give = 30, .give_objects = 1},
                             second = {.take = 50, .take_objects = 1}, third = second;

    room_claim_enter(&claim, &first);
    assert_int_equal(claim.bytes.owed, 0);
    room_claim_enter(&claim, &second);
    assert_int_equal(claim.bytes.owed, 20);
    assert_int_equal(claim.objects.owed, 0);
    assert_true(room_claim_fits(&room, &claim));
    room_claim_enter(&claim, &third);
    assert_int_equal(claim.bytes.owed, 70);
    assert_int_equal(claim.objects.owed, 1);
    assert_false(room_claim_fits(&room, &claim));
    room.reserved = 30;
    assert_true(room_claim_fits(&room, &claim));
    room_claim_reserve(&room, &claim);
    assert_int_equal(room.reserved, 100);
    assert_int_equal(room.reserved_objects, 4);
    assert_true(room_claim_fits(&room, &claim));           /* nothing is owed */
    assert_false(room_claim_leave(&room, &claim, &first)); /* kept for the next row */
    assert_int_equal(claim.bytes.held, 100);
    assert_false(room_claim_leave(&room, &claim, &second));
    /* A row that enters later takes of what is left over then. */
    const struct room_effect fourth = {.take = 10, .give = 0, .take_objects = 1};
    room_claim_enter(&claim, &fourth);
    assert_int_equal(claim.bytes.owed, 10);
    assert_false(room_claim_fits(&room, &claim));
    room_claim_reserve(&room, &claim); /* nothing else can go on */
    assert_int_equal(room.reserved, 110);
    assert_false(room_claim_leave(&room, &claim, &third));
    assert_false(room_claim_leave(&room, &claim, &fourth));
    assert_int_equal(claim.bytes.held, 0);
    const struct room_effect drop = {.give = 110, .give_objects = 1};
    room_claim_enter(&claim, &drop);
    assert_true(room_claim_leave(&room, &claim, &drop)); /* nobody takes: back to the tier */
    assert_int_equal(room.reserved, 0);
}

/* A key whose copy in Tier-2 lies on that one of two halves. */
static struct hash128 key_on(const struct target_part *part, uint64_t *next)
{
    struct hash128 k;

    do
        k = (struct hash128){++*next, 5};
    while (!spread_holds(*part, object_name(k, TRACE_STORAGE)));
    return k;
}

/* Where a tier has several targets, a row needs room in the tier and on its own target. */
static void each_target_has_its_room(void **state)
{
    (void)state;
    const struct target_part part[] = {{0, TARGET_SLOTS / 2}, {TARGET_SLOTS / 2, TARGET_SLOTS}};
    struct room target[] = {{.capacity = 100, .max_objects = 10},
                            {.capacity = 60, .max_objects = 10}};
    struct room room = {
        .capacity = 160, .max_objects = 10, .targets = 2, .target = target, .part = part};
    struct objects *o = objects_create();
    struct trace_row t = row_of(TRACE_WRITE, TRACE_PREFILL, 50), drop = row_of(TRACE_DELETE, 0, 0);
    struct room_effect first, more, p;
    uint64_t next = 0;
    const struct hash128 a = key_on(&part[1], &next), b = key_on(&part[1], &next),
                         c = key_on(&part[0], &next);

    assert_int_equal(room_admit(&room, o, &(struct room_row){.t = &t, .copy = a}, &first), 0);
    assert_int_equal(first.target, 1);
    assert_true(room_reserve(&room, &first));
    assert_int_equal(target[1].reserved, 50);
    assert_int_equal(room_admit(&room, o, &(struct room_row){.t = &t, .copy = b}, &p), 0);
    assert_int_equal(p.verdict, ROOM_FULL); /* the tier has room, its target has not */
    assert_true(p.of_target);
    assert_int_equal(p.room_left, 10);
    assert_int_equal(room_admit(&room, o, &(struct room_row){.t = &t, .copy = c}, &p), 0);
    assert_int_equal(p.verdict, ROOM_GO);
    assert_true(room_reserve(&room, &p));
    /* After the removal of a there is room for b, once the removal is done. */
    assert_int_equal(
        room_admit(&room, o,
                   &(struct room_row){.t = &drop, .copy = a, .known = objects_find(o, a, t.tier)},
                   &p),
        0);
    assert_int_equal(p.give, 50);
    assert_int_equal(room_admit(&room, o, &(struct room_row){.t = &t, .copy = b}, &more), 0);
    assert_int_equal(more.verdict, ROOM_GO);
    assert_false(room_reserve(&room, &more));
    room_release(&room, &p);
    assert_true(room_reserve(&room, &more));
    assert_int_equal(target[0].reserved + target[1].reserved, room.reserved);
    /* The rows of a request take and give on their targets too. */
    struct room_claim claim = {0};
    p.take = 0;
    room_claim_enter(&claim, &p);
    room_claim_leave(&room, &claim, &p);
    assert_int_equal(target[1].reserved, 0);
    room_hold(&room, TRACE_STORAGE, c, 7);
    assert_int_equal(target[0].planned, 57);
    objects_free(o);
}

static void survey_of(struct survey *s, const char *rows, bool create)
{
    char path[] = "/tmp/kvreplay-unit-XXXXXX";
    FILE *f = fdopen(mkstemp(path), "w");
    fputs("Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n", f);
    fputs(rows, f);
    fclose(f);
    struct trace_reader *trace;
    struct trace_read_opts o = {.want = TRACE_CORE};
    struct survey_opts how = {
        .select.only_tier = SELECTION_ALL_TIERS, .create = create, .until_ns = INT64_MAX};
    struct err e = {0};
    assert_int_equal(trace_open(&trace, path, &o, &e), 0);
    assert_int_equal(survey_run(s, trace, &how, &e), 0);
    trace_close(trace);
    unlink(path);
}

static const char reads_of_old[] =
    "0,Write,100,Tier-2,a,Prefill\n"
    "0,Delete,100,Tier-2,a,Evict\n"
    "0,Write,40,Tier-2,b,Prefill\n"
    "0,Read,50,Tier-2,old,Decode\n" /* was there from the start: beside a, too */
    "0,Read,70,Tier-2,old,Decode\n" /* and is 70 bytes */
    "0,Read,70,Tier-2,old,Evict\n"  /* gone */
    "0,Read,90,Tier-2,old,Decode\n" /* truly absent */
    "0,Read,9,Tier-1,other,Decode\n";

/* Requests that arrive before the end, by class, each once though its rows lie apart. */
static void survey_counts_arrivals(void **state)
{
    (void)state;
    char path[] = "/tmp/kvreplay-unit-XXXXXX";
    FILE *f = fdopen(mkstemp(path), "w");
    fputs("Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,QoS,Arrival\n"
          "10,Write,9,Tier-2,a,Prefill,1,batch,10\n11,Write,9,Tier-2,b,Prefill,2,batch,10.5\n"
          "12,Read,9,Tier-2,a,Decode,1,batch,10\n12,Read,9,Tier-2,b,Decode,3,interactive,12\n"
          "13,Read,9,Tier-2,b,Decode,4,interactive,12.1\n13,Write,9,Tier-2,c,Prefill,,,\n"
          "14,Read,9,Tier-2,b,Decode,5,,11\n",
          f);
    fclose(f);
    struct trace_reader *trace;
    struct trace_read_opts o = {.want = TRACE_CORE | TRACE_BIT(TRACE_COL_REQUEST) |
                                        TRACE_BIT(TRACE_COL_QOS) | TRACE_BIT(TRACE_COL_ARRIVAL)};
    struct survey_opts how = {.select.only_tier = SELECTION_ALL_TIERS,
                              .arrivals = true,
                              .until_ns = INT64_C(2000000000),
                              .look_ahead = 100};
    struct survey s;
    struct err e = {0};
    assert_int_equal(trace_open(&trace, path, &o, &e), 0);
    assert_int_equal(survey_run(&s, trace, &how, &e), 0);
    assert_int_equal(s.due_requests[TRACE_BATCH], 2);
    assert_int_equal(s.due_requests[TRACE_INTERACTIVE], 1);
    assert_int_equal(s.due_requests[TRACE_RESPONSIVE], 0);
    assert_int_equal(s.due_requests[TRACE_NO_QOS], 1);
    survey_release(&s);
    trace_close(trace);
    unlink(path);
}

static void survey_finds_peak_and_missing(void **state)
{
    (void)state;
    struct survey s;
    survey_of(&s, reads_of_old, true);
    assert_int_equal(s.rows, 8);
    assert_int_equal(s.room[TRACE_STORAGE].peak, 170);
    assert_int_equal(s.room[TRACE_STORAGE].planned, 40);
    assert_int_equal(s.initial_objects[TRACE_STORAGE], 1);
    assert_int_equal(s.initial_bytes[TRACE_STORAGE], 70);
    assert_int_equal(s.initial_bytes[TRACE_CPU], 9);
    assert_int_equal(s.noted_objects, 0);
    assert_int_equal(s.tier_rows[TRACE_GPU], 0);
    survey_release(&s);
}

static void survey_notes_what_may_have_been_kept(void **state)
{
    (void)state;
    struct survey s;
    survey_of(&s, reads_of_old, false);
    assert_int_equal(s.room[TRACE_STORAGE].peak, 100); /* a, or b: old need not be there */
    assert_int_equal(s.room[TRACE_STORAGE].planned, 40);
    assert_int_equal(s.initial_objects[TRACE_STORAGE], 0);
    assert_int_equal(s.initial_bytes[TRACE_CPU], 0);
    assert_int_equal(s.noted_objects, 1);
    assert_int_equal(s.noted_bytes, 70);
    const struct object *o = objects_find(s.objects, hash_128("old", 3), TRACE_STORAGE);
    assert_non_null(o);
    assert_true(o->initial);
    assert_int_equal(o->size, 70);
    assert_null(objects_find(s.objects, hash_128("other", 5), TRACE_CPU));
    survey_release(&s);
    survey_of(&s, "0,Write,5,Tier-2,a,Prefill\n0,Read,5,Tier-2,a,Decode\n", false);
    assert_int_equal(s.noted_objects, 0);
    survey_release(&s);
}

/* A bug looked like this: an object whose Delete came before its read was written before the run,
 * for nothing, in room that the trace does not need. */
static void what_is_gone_when_read_needs_no_writing(void **state)
{
    (void)state;
    static const char rows[] =
        "0,Write,100,Tier-2,a,Prefill\n0,Delete,100,Tier-2,a,Evict\n0,Read,100,Tier-2,a,Decode\n"
        "0,Write,30,Tier-2,b,Prefill\n0,Read,30,Tier-2,b,Evict\n0,Read,30,Tier-2,b,Decode\n"
        "0,Delete,70,Tier-2,c,Evict\n0,Read,70,Tier-2,c,Decode\n"
        "0,Read,9,Tier-1,a,Decode\n"; /* another copy */
    struct survey s;

    for (int create = 0; create < 2; create++) {
        survey_of(&s, rows, create);
        assert_int_equal(s.room[TRACE_STORAGE].peak, 100);
        assert_int_equal(s.initial_objects[TRACE_STORAGE], 0);
        assert_int_equal(s.initial_objects[TRACE_CPU], create);
        assert_int_equal(s.noted_objects, 0);
        survey_release(&s);
    }
}

static void failed_write_is_cleaned_and_absent(void **state)
{
    (void)state;
    struct objects *o = objects_create();
    struct row w = {.t = row_of(TRACE_WRITE, TRACE_PREFILL, 10),
                    .copy = key,
                    .stage = ROW_MAIN,
                    .effect.object = objects_get(o, key, TRACE_STORAGE),
                    .generation = 5};
    struct row r = w;
    struct tier_op op;
    int stored;

    r.t = row_of(TRACE_READ, TRACE_DECODE, 10);
    objects_hold(w.effect.object);
    objects_hold(r.effect.object);
    assert_true(dispatch_prepare(&w, TIER_VERIFY_HEADER, &op));
    assert_int_equal(op.id.generation, 5);
    op.place = &stored;
    op.status = -EIO;
    assert_true(dispatch_complete(&w, &op)); /* what it left must go */
    assert_int_equal(w.t.status, EIO);
    assert_true(dispatch_prepare(&w, TIER_VERIFY_HEADER, &op));
    assert_int_equal(op.verb, TIER_DELETE);
    assert_ptr_equal(op.place, &stored);
    assert_false(dispatch_complete(&w, &op));
    assert_int_equal(w.t.status, EIO);
    assert_false(dispatch_prepare(&r, TIER_VERIFY_HEADER, &op));
    assert_int_equal(r.t.status, TRACE_ABSENT);
    objects_release(o, w.effect.object);
    assert_int_equal(objects_count(o), 1); /* the other row still looks at it */
    objects_release(o, r.effect.object);
    assert_int_equal(objects_count(o), 0);
    objects_free(o);
}

static void corrupt_move_is_gone_all_the_same(void **state)
{
    (void)state;
    struct objects *o = objects_create();
    struct object *e = objects_get(o, key, TRACE_STORAGE);
    e->live = 1;
    e->size = 10;
    struct row r = {.t = row_of(TRACE_READ, TRACE_EVICT, 10),
                    .copy = key,
                    .stage = ROW_MAIN,
                    .effect.object = e};
    struct tier_op op;

    objects_hold(e);
    assert_true(dispatch_prepare(&r, TIER_VERIFY_FULL, &op));
    assert_true(op.drop);
    op.status = -EBADMSG;
    op.fault.kind = DATA_FAULT_BODY;
    while (dispatch_complete(&r, &op)) {
        assert_true(dispatch_prepare(&r, TIER_VERIFY_FULL, &op));
        op.status = 0;
    }
    assert_int_equal(r.t.status, TRACE_CORRUPT);
    objects_release(o, e);
    assert_int_equal(objects_count(o), 0);
    objects_free(o);
}

/* An object that was stored and is gone is lost; the device's own EBADMSG is no corrupt block; a
 * write that finds no folder is no lost object. Contents of another object, or of another write,
 * are not called damaged. */
static void each_failure_keeps_its_name(void **state)
{
    static const struct {
        enum trace_op op;
        int error, kind, status;
    } want[] = {{TRACE_READ, -ENOENT, DATA_FAULT_NONE, TRACE_LOST},
                {TRACE_DELETE, -ENOENT, DATA_FAULT_NONE, TRACE_LOST},
                {TRACE_WRITE, -ENOENT, DATA_FAULT_NONE, ENOENT},
                {TRACE_READ, -EBADMSG, DATA_FAULT_NONE, EBADMSG},
                {TRACE_READ, -EBADMSG, DATA_FAULT_END, TRACE_CORRUPT},
                {TRACE_READ, -EBADMSG, DATA_FAULT_HEADER, TRACE_CORRUPT},
                {TRACE_READ, -EBADMSG, DATA_FAULT_BODY, TRACE_CORRUPT},
                {TRACE_READ, -EBADMSG, DATA_FAULT_INDEX, TRACE_CORRUPT},
                {TRACE_READ, -EBADMSG, DATA_FAULT_GENERATION, TRACE_STALE},
                {TRACE_READ, -EBADMSG, DATA_FAULT_KEY, TRACE_WRONG},
                {TRACE_READ, -ENODATA, DATA_FAULT_NONE, ENODATA}};
    (void)state;
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        struct objects *o = objects_create();
        struct object *e = objects_get(o, key, TRACE_STORAGE);
        struct row r = {.t = row_of((uint8_t)want[i].op, TRACE_DECODE, 10),
                        .copy = key,
                        .stage = ROW_MAIN,
                        .effect.object = e};
        struct tier_op op;

        e->live = 1;
        e->size = 10;
        objects_hold(e);
        assert_true(dispatch_prepare(&r, TIER_VERIFY_HEADER, &op));
        op.status = want[i].error;
        op.fault.kind = (enum data_fault_kind)want[i].kind;
        dispatch_complete(&r, &op);
        assert_int_equal(r.t.status, want[i].status);
        objects_release(o, e);
        objects_free(o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rewrite_needs_the_difference),
                                       cmocka_unit_test(room_of_unknown_objects_is_in_blocks),
                                       cmocka_unit_test(survey_counts_arrivals),
                                       cmocka_unit_test(a_request_claims_its_peak),
                                       cmocka_unit_test(each_target_has_its_room),
                                       cmocka_unit_test(survey_finds_peak_and_missing),
                                       cmocka_unit_test(survey_notes_what_may_have_been_kept),
                                       cmocka_unit_test(what_is_gone_when_read_needs_no_writing),
                                       cmocka_unit_test(failed_write_is_cleaned_and_absent),
                                       cmocka_unit_test(corrupt_move_is_gone_all_the_same),
                                       cmocka_unit_test(each_failure_keeps_its_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
