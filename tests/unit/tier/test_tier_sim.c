/* test_tier_sim.c - the simulated and the null tier: operations queue for its servers; each takes
 * latency + size / bandwidth; nothing is handed out before its time; next_ns says when; a stall
 * holds up all that it meets and nothing else. A bug here makes simulated GPUs infinitely fast, or
 * lets a replay wait for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/drive/drive_model.h"
#include "lib/json/jsonin.h"
#include "lib/thread/bell.h"
#include "lib/tier/tier.h"

static struct tier *open_sim(uint64_t bytes_per_s, int64_t latency_ns)
{
    struct tier *t = NULL;
    struct err e = {0};
    struct tier_sim_opts o = {
        .bytes_per_s = bytes_per_s, .latency_ns = latency_ns, .label = "simulated GPU"};
    assert_int_equal(tier_sim_open(&t, &o, NULL, &e), 0);
    return t;
}

static void operations_queue_for_one_server(void **state)
{
    (void)state;
    struct tier *t = open_sim(1000000000, 1000000); /* 1 GB/s, 1 ms */
    struct tier_op op[3] = {{.verb = TIER_WRITE, .size = 2000000},
                            {.verb = TIER_READ, .size = 1000000},
                            {.verb = TIER_READ, .size = 0}};
    static const int64_t service[3] = {3000000, 2000000, 1000000};
    int64_t before = clock_now_ns();
    for (int i = 0; i < 3; i++)
        assert_int_equal(t->ops->submit(t, &op[i]), 0);
    int64_t after = clock_now_ns();
    t->ops->kick(t);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(op[i].device_ns, service[i]);
        assert_int_equal(op[i].done_ns - op[i].start_ns, service[i]);
    }
    assert_true(op[0].start_ns >= before && op[0].start_ns <= after);
    for (int i = 1; i < 3; i++) { /* behind the others it waited for its turn */
        assert_true(op[i].part.slot_ns >= op[i].start_ns - after);
        assert_true(op[i].part.slot_ns <= op[i].start_ns - before);
        assert_int_equal(op[i].part.io_ns, op[i].device_ns);
    }
    if (after - before < 2000000) { /* else the machine stood still, and the queue was empty */
        assert_int_equal(op[1].start_ns, op[0].done_ns);
        assert_int_equal(op[2].start_ns, op[1].done_ns);
    }
    for (int i = 0; i < 3; i++) {
        struct tier_op *done = NULL;
        int64_t next = t->ops->next_ns(t);
        assert_int_equal(next, op[i].done_ns);
        size_t n = t->ops->poll(t, &done, 1);
        if (n == 0) {
            assert_true(clock_now_ns() >= before);
            clock_sleep_until(next, 0);
            n = t->ops->poll(t, &done, 1);
        }
        assert_int_equal(n, 1);
        assert_ptr_equal(done, &op[i]);
        assert_int_equal(done->status, 0);
        assert_true(clock_now_ns() >= done->done_ns);
    }
    assert_true(t->ops->next_ns(t) == INT64_MAX);
    assert_int_equal(t->ops->close(t, NULL), 0);
}

/* The rate of a measured drive: one at 1 GB/s, two together at 1.6 GB/s. */
static void a_measured_drive_is_shared(void **state)
{
    (void)state;
    static const char text[] =
        "{\"program\": \"kvtrace model\", \"device\": \"disk0\", \"valid\": true, \"points\": ["
        "{\"size_bytes\": 1, \"in_flight\": 1, \"read_share\": 1, \"bytes_per_s\": 1000000000},"
        "{\"size_bytes\": 1, \"in_flight\": 2, \"read_share\": 1, \"bytes_per_s\": 1600000000}]}";
    struct jsonin *d;
    struct drive_model *m;
    struct tier *t;
    struct tier_info info;
    struct err e = {0};
    assert_int_equal(jsonin_parse(&d, text, strlen(text), "drive.json", &e), 0);
    assert_int_equal(drive_model_parse(&m, jsonin_root(d), "drive.json", &e), 0);
    jsonin_free(d);
    assert_int_equal(tier_drive_open(&t, m, 1, &e), 0);
    struct tier_op gone = {.verb = TIER_DELETE, .size = 1000000},
                   op[2] = {{.verb = TIER_WRITE, .size = 8000000},
                            {.verb = TIER_READ, .size = 16000000}};
    int64_t before = clock_now_ns();
    for (int i = 0; i < 2; i++)
        assert_int_equal(t->ops->submit(t, &op[i]), 0);
    assert_int_equal(t->ops->submit(t, &gone), 0);
    int64_t after = clock_now_ns();
    t->ops->kick(t);
    struct tier_op *done = NULL;
    assert_int_equal(t->ops->poll(t, &done, 1), 1);
    assert_ptr_equal(done, &gone);
    assert_int_equal(done->device_ns, 0);
    for (int i = 0; i < 2; i++) {
        int64_t next = t->ops->next_ns(t);
        assert_true(next < INT64_MAX);
        clock_sleep_until(next, 0);
        assert_int_equal(t->ops->poll(t, &done, 1), 1);
        assert_ptr_equal(done, &op[i]);
        assert_int_equal(done->done_ns, next);
    }
    /* 10 ms beside each other, less what the first was alone at the start; then 8 ms alone. */
    int64_t alone = after - before;
    assert_in_range(op[0].done_ns - op[0].start_ns, 10000000 - alone, 10000000);
    assert_in_range(op[1].done_ns - op[0].done_ns, 8000000, 8000000 + 2 * alone);
    assert_int_equal(op[0].part.io_ns, op[0].device_ns);
    assert_int_equal(op[0].part.slot_ns, 0);
    assert_true(t->ops->next_ns(t) == INT64_MAX);
    t->ops->describe(t, &info);
    assert_true(info.simulated);
    assert_string_equal(info.flags.text[0], "times from a measured drive, disk0: good");
    assert_int_equal(t->ops->close(t, NULL), 0);
    drive_model_free(m);
}

static void nothing_comes_early(void **state)
{
    (void)state;
    struct tier *t = open_sim(0, INT64_C(3600000000000)); /* an hour */
    struct tier_op op = {.verb = TIER_READ, .size = 1}, *done[4];
    assert_int_equal(t->ops->submit(t, &op), 0);
    assert_int_equal(t->ops->poll(t, done, 4), 0);
    assert_true(t->ops->next_ns(t) > clock_now_ns() + INT64_C(1800000000000));
    assert_int_equal(t->ops->close(t, NULL), 0);
}

static void a_delete_takes_no_time_but_its_turn(void **state)
{
    (void)state;
    struct tier *t = open_sim(1, 0);
    struct tier_op op[2] = {{.verb = TIER_DELETE, .size = 1000000}, {.verb = TIER_READ, .size = 0}};
    struct tier_op *done[4];
    t->ops->submit(t, &op[0]);
    t->ops->submit(t, &op[1]);
    assert_int_equal(op[0].device_ns, 0);
    assert_int_equal(t->ops->poll(t, done, 4), 2);
    assert_ptr_equal(done[0], &op[0]);
    assert_ptr_equal(done[1], &op[1]);
    assert_int_equal(t->ops->close(t, NULL), 0);
}

static void servers_work_side_by_side(void **state)
{
    (void)state;
    struct tier *t = NULL;
    struct err e = {0};
    struct tier_sim_opts o = {.latency_ns = INT64_C(3600000000000), .servers = 2, .label = "x"};
    struct tier_op op[5];
    memset(op, 0, sizeof(op));
    assert_int_equal(tier_sim_open(&t, &o, NULL, &e), 0);
    for (int i = 0; i < 5; i++) {
        op[i].verb = TIER_READ;
        assert_int_equal(t->ops->submit(t, &op[i]), 0);
        assert_int_equal(op[i].device_ns, o.latency_ns);
    }
    assert_true(op[1].start_ns < op[0].done_ns);
    assert_int_equal(op[2].start_ns, op[0].done_ns);
    assert_int_equal(op[3].start_ns, op[1].done_ns);
    assert_int_equal(op[4].start_ns, op[2].done_ns);
    assert_int_equal(t->ops->next_ns(t), op[0].done_ns);
    assert_int_equal(t->ops->close(t, NULL), 0);
    o.servers = TIER_SIM_SERVERS_MAX + 1;
    assert_int_equal(tier_sim_open(&t, &o, NULL, &e), -EINVAL);
}

/* Hours, so that the machine's own pace does not matter: each operation takes one, the stall begins
 * after an hour and a half and lasts ten. */
static void a_stall_holds_up_what_it_meets(void **state)
{
    (void)state;
    const int64_t hour = INT64_C(3600000000000);
    struct tier *t = NULL;
    struct err e = {0};
    struct tier_sim_opts o = {
        .latency_ns = hour, .stall_at_ns = hour * 3 / 2, .stall_ns = 10 * hour, .label = "x"};
    struct tier_op op[3];
    memset(op, 0, sizeof(op));
    assert_int_equal(tier_sim_open(&t, &o, NULL, &e), 0);
    for (int i = 0; i < 3; i++) {
        op[i].verb = TIER_READ;
        assert_int_equal(t->ops->submit(t, &op[i]), 0);
    }
    assert_int_equal(op[0].device_ns, hour); /* before it */
    assert_int_equal(op[1].device_ns, 11 * hour);
    assert_int_equal(op[2].device_ns, hour); /* behind it */
    assert_int_equal(t->ops->close(t, NULL), 0);
    o.stall_at_ns = 0; /* within it from the start */
    assert_int_equal(tier_sim_open(&t, &o, NULL, &e), 0);
    assert_int_equal(t->ops->submit(t, &op[0]), 0);
    assert_int_equal(op[0].device_ns, 11 * hour);
    assert_int_equal(t->ops->close(t, NULL), 0);
}

static void huge_operations_do_not_overflow(void **state)
{
    (void)state;
    struct tier *t = open_sim(1, INT64_MAX);
    struct tier_op op[2] = {{.verb = TIER_WRITE, .size = UINT64_MAX},
                            {.verb = TIER_WRITE, .size = 1}};
    struct tier_op *done[2];
    for (int i = 0; i < 2; i++) {
        t->ops->submit(t, &op[i]);
        assert_true(op[i].done_ns == INT64_MAX && op[i].device_ns >= 0);
    }
    assert_int_equal(t->ops->poll(t, done, 2), 0);
    assert_int_equal(t->ops->close(t, NULL), 0);
}

static void sim_describes_itself(void **state)
{
    (void)state;
    struct tier_info info;
    struct tier *t = open_sim(0, 0);
    uint64_t size, generation;
    struct tier_op op = {.verb = TIER_READ};
    t->ops->describe(t, &info);
    assert_string_equal(info.engine, "simulated");
    assert_string_equal(info.target, "simulated GPU");
    assert_true(info.simulated && !info.verifies);
    assert_int_equal(t->ops->adopt(t, &op, &size, &generation), -ENOENT);
    t->ops->close(t, NULL);
    struct err e = {0};
    struct tier_sim_opts bad = {.latency_ns = -1, .label = "x"};
    assert_int_equal(tier_sim_open(&t, &bad, NULL, &e), -EINVAL);
}

static void null_completes_at_once_in_order(void **state)
{
    (void)state;
    struct tier *t = NULL;
    struct tier_op op[5], *done[5];
    struct tier_info info;
    memset(op, 0, sizeof(op));
    assert_int_equal(tier_null_open(&t, NULL, NULL), 0);
    assert_true(t->ops->next_ns(t) == INT64_MAX);
    for (int round = 0; round < 3; round++) {
        int64_t before = clock_now_ns();
        for (int i = 0; i < 5; i++)
            assert_int_equal(t->ops->submit(t, &op[i]), 0);
        t->ops->kick(t);
        assert_true(t->ops->next_ns(t) <= clock_now_ns());
        assert_int_equal(t->ops->poll(t, done, 3), 3);
        assert_int_equal(t->ops->poll(t, done + 3, 2), 2);
        assert_int_equal(t->ops->poll(t, done, 0), 0);
        for (int i = 0; i < 5; i++) {
            assert_ptr_equal(done[i], &op[i]);
            assert_int_equal(op[i].status, 0);
            assert_int_equal(op[i].device_ns, 0);
            assert_true(op[i].done_ns >= before && op[i].done_ns <= clock_now_ns());
        }
    }
    t->ops->describe(t, &info);
    assert_string_equal(info.engine, "null");
    assert_false(info.verifies);
    assert_int_equal(t->ops->adopt(t, op, &op[0].size, &op[0].size), -ENOENT);
    assert_int_equal(t->ops->close(t, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_queue_for_one_server),
        cmocka_unit_test(a_measured_drive_is_shared),
        cmocka_unit_test(nothing_comes_early),
        cmocka_unit_test(a_delete_takes_no_time_but_its_turn),
        cmocka_unit_test(servers_work_side_by_side),
        cmocka_unit_test(a_stall_holds_up_what_it_meets),
        cmocka_unit_test(huge_operations_do_not_overflow),
        cmocka_unit_test(sim_describes_itself),
        cmocka_unit_test(null_completes_at_once_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
