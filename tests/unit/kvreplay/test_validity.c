/* The words about figures that cannot be the drive's: bytes that the device never saw, a rate above
 * its link's, a run near the client's own ceiling. A bug looked like this: a cached run that was
 * praised, or a sound one that was flagged. */
/* builds: plain address thread */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>

#include "kvreplay/device/origin.h"
#include "kvreplay/evidence.h"
#include "kvreplay/validity.h"
#include "lib/base/clock.h"

#define GB UINT64_C(1000000000)

/* A second of reads of 1 GB and writes of 2 GB, with what the device and its link are said to be.
 */
struct run {
    struct counts counts;
    struct evidence evidence;
    struct validity validity;
};

static void add(struct counts *st, uint8_t op, uint64_t size)
{
    struct row r = {.t = {.op = op,
                          .tier = TRACE_STORAGE,
                          .phase = TRACE_DECODE,
                          .size = size,
                          .due_ns = TRACE_NONE,
                          .device_ns = TRACE_NONE,
                          .latency_ns = 1000000000}};
    counts_add(st, &r);
}

static struct run *run_of(uint64_t device_read, uint64_t device_wrote, uint64_t link)
{
    struct run *r = calloc(1, sizeof(*r));
    assert_int_equal(counts_init(&r->counts), 0);
    add(&r->counts, TRACE_READ, GB);
    add(&r->counts, TRACE_WRITE, 2 * GB);
    r->evidence =
        (struct evidence){.counts = &r->counts,
                          .digest = "d",
                          .elapsed_ns = 1000000000,
                          .counted = true,
                          .before = {.read_bytes = 7, .write_bytes = 9},
                          .after = {.read_bytes = 7 + device_read, .write_bytes = 9 + device_wrote},
                          .link_bytes_per_s = link};
    return r;
}

static void judge(struct run *r)
{
    validity_judge(&r->validity, &r->evidence, VALIDITY_BUDGET_NONE);
}

static void run_free(struct run *r)
{
    counts_release(&r->counts);
    free(r);
}

static void sound_runs_are_left_alone(void **state)
{
    (void)state;
    struct run *r = run_of(GB, 2 * GB, 3 * GB);
    judge(r);
    assert_int_equal(r->validity.notes, 0);
    assert_int_equal(r->validity.state, VALIDITY_GOOD);
    r->evidence.link_bytes_per_s = 0; /* not known */
    r->evidence.counted = false;
    r->evidence.after = r->evidence.before;
    judge(r);
    assert_int_equal(r->validity.notes, 0);
    run_free(r);
}

static void times_at_another_speed(void **state)
{
    (void)state;
    struct run *r = run_of(GB, 2 * GB, 3 * GB);
    r->evidence.timed = true;
    r->evidence.speed = 1;
    judge(r);
    assert_int_equal(r->validity.notes, 0);
    r->evidence.speed = 10;
    judge(r);
    assert_int_equal(r->validity.notes, 1);
    assert_non_null(strstr(r->validity.note[0], "divided by 10"));
    run_free(r);
}

static void bytes_that_no_device_saw(void **state)
{
    (void)state;
    struct run *r = run_of(GB / 2, 2 * GB, 0);
    judge(r);
    assert_int_equal(r->validity.notes, 1);
    assert_non_null(strstr(r->validity.note[0], "the device read 50 %"));
    run_free(r);
    r = run_of(GB, GB / 5, 0);
    judge(r);
    assert_int_equal(r->validity.notes, 1);
    assert_non_null(strstr(r->validity.note[0], "the device wrote 10 %"));
    run_free(r);
}

static void a_rate_above_the_link(void **state)
{
    (void)state;
    struct run *r = run_of(GB, 2 * GB, 3 * GB / 2);
    judge(r);
    assert_int_equal(r->validity.notes, 1);
    assert_non_null(strstr(r->validity.note[0], "Tier-2 writes at"));
    run_free(r);
}

/* Only an explicit budget judges lateness by itself. */
static void a_run_that_was_late(void **state)
{
    (void)state;
    static const struct {
        int64_t budget_ns, late_ns;
        bool timed, valid;
    } c[] = {{VALIDITY_BUDGET_NONE, 9900000, true, true},
             {VALIDITY_BUDGET_NONE, 900000000, true, true},
             {2000000, 1900000, true, true},
             {2000000, 2100000, true, false},
             {2000000, 2100000, false, true},
             {0, 1000, true, false}};
    for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
        struct run *r = run_of(GB, 2 * GB, 0);
        for (int k = 0; k < 100; k++)
            assert_int_equal(hist_record(r->counts.lateness, c[i].late_ns), 0);
        r->evidence.timed = c[i].timed;
        validity_judge(&r->validity, &r->evidence, c[i].budget_ns);
        assert_int_equal(r->validity.state == VALIDITY_GOOD, c[i].valid);
        if (!c[i].valid)
            assert_non_null(strstr(r->validity.why[0], "client delay p99"));
        run_free(r);
    }
}

/* The figure of all tiers and operations. */
static const struct validity_figure *figure(const struct run *r, enum validity_kind of)
{
    for (unsigned i = 0; i < r->validity.figures; i++)
        if (r->validity.figure[i].of == of && r->validity.figure[i].everywhere)
            return &r->validity.figure[i];
    return NULL;
}

/* The only one of a single tier and operation; NULL: there is none. */
static const struct validity_figure *figure_of_place(const struct run *r, enum validity_kind of)
{
    const struct validity_figure *found = NULL;
    for (unsigned i = 0; i < r->validity.figures; i++)
        if (r->validity.figure[i].of == of && !r->validity.figure[i].everywhere) {
            assert_null(found);
            found = &r->validity.figure[i];
        }
    return found;
}

/* Lateness is judged by how much it lengthened the responses, and dooms nothing else. */
static void responses_that_lateness_lengthened(void **state)
{
    (void)state;
    static const struct {
        int64_t late_ns;
        enum validity_state state;
        bool said;
    } c[] = {{10000, VALIDITY_GOOD, false},
             {300000, VALIDITY_GOOD, true},
             {600000, VALIDITY_UNRELIABLE, true}};
    for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
        struct run *r = run_of(GB, 2 * GB, 0);
        for (int k = 0; k < 100; k++) {
            assert_int_equal(hist_record(r->counts.response[0], 10000000 + c[i].late_ns), 0);
            assert_int_equal(hist_record(r->counts.response[1], 10000000), 0);
        }
        judge(r);
        const struct validity_figure *f = figure(r, VALIDITY_RESPONSE);
        assert_non_null(f);
        assert_int_equal(f->state, c[i].state);
        assert_int_equal(f->why[0] != '\0', c[i].said);
        assert_int_equal(r->validity.state, VALIDITY_GOOD);
        assert_null(figure(r, VALIDITY_END_TO_END));
        run_free(r);
    }
}

/* Memory that poses as a drive, a cache, a file system that tells nothing: in that order of doubt.
 */
static void what_the_target_is(void **state)
{
    (void)state;
    static const struct {
        enum target_medium medium;
        uint64_t own_read;
        enum validity_state state;
        const char *why;
    } c[] = {{TARGET_MEDIUM_STORAGE, GB, VALIDITY_GOOD, ""},
             {TARGET_MEDIUM_STORAGE, GB * 96 / 100, VALIDITY_GOOD, ""},
             {TARGET_MEDIUM_STORAGE, GB / 4, VALIDITY_UNRELIABLE,
              "75 % of the bytes read came from a cache"},
             {TARGET_MEDIUM_MEMORY, GB, VALIDITY_UNRELIABLE, "the target is memory (xfs)"},
             {TARGET_MEDIUM_UNKNOWN, 0, VALIDITY_UNKNOWN, "no counters for xfs"},
             {TARGET_MEDIUM_NETWORK, 0, VALIDITY_UNKNOWN, "no counters for xfs"}};
    for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
        struct run *r = run_of(GB, 2 * GB, 0);
        struct tier_info info = {.engine = "io_uring", .direct = 1};
        r->evidence.storage = &info;
        r->evidence.target = c[i].medium;
        strcpy(r->evidence.file_system, "xfs");
        r->evidence.machine_before.io_known = r->evidence.machine_after.io_known = true;
        r->evidence.machine_after.read_bytes = c[i].own_read;
        r->evidence.machine_after.write_bytes = 2 * GB;
        judge(r);
        const struct validity_figure *f = figure(r, VALIDITY_STORAGE);
        assert_non_null(f);
        assert_int_equal(f->state, c[i].state);
        assert_string_equal(f->why, c[i].why);
        assert_int_equal(r->validity.state, c[i].state);
        run_free(r);
    }
}

/* Layers below: a cache there, and bytes that were compressed on the way. A bug looked like a loop
 * device that read nothing from the disk and was called good, and like compression called a cache.
 */
static void layers_below(void **state)
{
    (void)state;
    static const char loop[] =
        "of the bytes read came from the page cache below loop0, which has no";
    static const struct {
        uint64_t device_read, device_wrote, own_read;
        enum target_cache cache;
        bool reduces, reads_only;
        double ratio;
        enum validity_state storage;
        const char *why;
    } c[] = {
        {0, 0, GB, TARGET_CACHE_LOOP, false, false, 1, VALIDITY_UNRELIABLE, loop},
        {GB, 2 * GB, GB, TARGET_CACHE_LOOP, false, false, 1, VALIDITY_UNRELIABLE,
         "writes went to the page cache below loop0"},
        {GB, 0, GB, TARGET_CACHE_LOOP, false, true, 1, VALIDITY_GOOD, ""},
        {0, 0, GB, TARGET_CACHE_ARC, false, true, 1, VALIDITY_UNKNOWN, "(ARC)"},
        /* reads and writes shrank alike */
        {GB / 4, GB / 2, GB / 4, TARGET_CACHE_NONE, false, false, 1, VALIDITY_GOOD,
         "the device read only 25 % of the bytes: a layer below compresses or deduplicates"},
        /* only the reads did, whatever a layer could have done */
        {GB / 4, 2 * GB, GB / 4, TARGET_CACHE_NONE, true, false, 4, VALIDITY_UNRELIABLE,
         "75 % of the bytes read came from a cache"},
        /* not written in this run */
        {GB / 4, 0, GB / 4, TARGET_CACHE_NONE, true, true, 4, VALIDITY_GOOD, "compresses"},
        {GB / 8, 0, GB / 8, TARGET_CACHE_NONE, true, true, 4, VALIDITY_UNRELIABLE, "a cache"},
        {GB / 4, 0, GB / 4, TARGET_CACHE_NONE, false, true, 4, VALIDITY_UNRELIABLE, "a cache"},
        /* a cache that has no name: this process had all of it moved, the device a part */
        {GB * 9 / 10, 0, GB, TARGET_CACHE_NONE, false, true, 1, VALIDITY_UNRELIABLE,
         "10 % of the bytes read never reached the device"},
    };

    for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
        struct tier_info info = {.direct = 1};
        struct run *r = run_of(c[i].device_read, c[i].device_wrote, 0);

        if (c[i].reads_only)
            r->counts.write_bytes[TRACE_STORAGE] = 0;
        r->evidence.storage = &info;
        r->evidence.target = TARGET_MEDIUM_STORAGE;
        r->evidence.compress_ratio = c[i].ratio;
        r->evidence.below = (struct evidence_below){
            .cache = c[i].cache, .cache_of = "loop0", .reduces = c[i].reduces};
        r->evidence.machine_before.io_known = r->evidence.machine_after.io_known = true;
        r->evidence.machine_after.read_bytes = c[i].own_read;
        judge(r);
        const struct validity_figure *f = figure(r, VALIDITY_STORAGE);
        assert_non_null(f);
        assert_int_equal(f->state, c[i].storage);
        assert_non_null(strstr(f->why, c[i].why));
        run_free(r);
    }
}

/* Each byte that Tier-2 was asked for has one owner. */
static void where_the_bytes_were(void **state)
{
    (void)state;
    static const struct {
        uint64_t device, top, own;
        enum target_medium target;
        enum target_cache cache;
        int direct;
        bool counted, store;
        uint64_t part[ORIGIN_PARTS]; /* of reads */
        uint64_t written[ORIGIN_PARTS];
    } c[] = {
        /* others moved as much as the replay, on the disk but not on its own device */
        {2 * GB, GB, GB, TARGET_MEDIUM_STORAGE, TARGET_CACHE_NONE, 1, true, false, {GB}, {2 * GB}},
        {2 * GB,
         0,
         GB / 2,
         TARGET_MEDIUM_STORAGE,
         TARGET_CACHE_NONE,
         0,
         true,
         false,
         {0, GB / 2, GB / 2},
         {0, 2 * GB}},
        {GB / 4,
         GB,
         GB,
         TARGET_MEDIUM_STORAGE,
         TARGET_CACHE_LOOP,
         1,
         true,
         false,
         {GB / 4, 0, GB * 3 / 4},
         {GB / 4, 0, 2 * GB - GB / 4}},
        {GB,
         GB,
         GB,
         TARGET_MEDIUM_STORAGE,
         TARGET_CACHE_LOOP,
         1,
         false,
         false,
         {[ORIGIN_UNKNOWN] = GB},
         {[ORIGIN_UNKNOWN] = 2 * GB}},
        {GB,
         GB,
         GB,
         TARGET_MEDIUM_STORAGE,
         TARGET_CACHE_ARC,
         1,
         true,
         false,
         {[ORIGIN_UNKNOWN] = GB},
         {[ORIGIN_UNKNOWN] = 2 * GB}},
        {GB,
         GB,
         0,
         TARGET_MEDIUM_MEMORY,
         TARGET_CACHE_NONE,
         0,
         false,
         false,
         {[ORIGIN_MEMORY] = GB},
         {[ORIGIN_MEMORY] = 2 * GB}},
        {0,
         0,
         0,
         TARGET_MEDIUM_UNKNOWN,
         TARGET_CACHE_NONE,
         1,
         false,
         false,
         {[ORIGIN_UNKNOWN] = GB},
         {[ORIGIN_UNKNOWN] = 2 * GB}},
        {0,
         0,
         0,
         TARGET_MEDIUM_NETWORK,
         TARGET_CACHE_NONE,
         1,
         false,
         true,
         {[ORIGIN_SERVER] = GB / 2, [ORIGIN_UNKNOWN] = GB / 2},
         {[ORIGIN_SERVER] = 2 * GB}},
    };

    for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
        struct tier_info info = {.direct = c[i].direct};
        struct run *r = run_of(c[i].device, c[i].device, 0);
        struct evidence *ev = &r->evidence;
        struct origin o;

        ev->counted = c[i].counted;
        ev->top_counted = true;
        ev->top_after.read_bytes = c[i].top;
        ev->top_after.write_bytes = 2 * c[i].top;
        ev->storage = &info;
        ev->target = c[i].target;
        ev->below.cache = c[i].cache;
        ev->machine_before.io_known = ev->machine_after.io_known = true;
        ev->machine_after.read_bytes = c[i].own;
        ev->network = (struct evidence_network){.stores = c[i].store,
                                                .counted = true,
                                                .received = {1, 1 + GB / 2},
                                                .sent = {0, 3 * GB}};
        origin_find(&o, ev, TRACE_READ);
        assert_true(o.asked == (double)GB);
        for (unsigned k = 0; k < ORIGIN_PARTS; k++)
            assert_true(o.part[k] == (double)c[i].part[k]);
        origin_find(&o, ev, TRACE_WRITE);
        assert_true(o.asked == (double)(2 * GB));
        for (unsigned k = 0; k < ORIGIN_PARTS; k++)
            assert_true(o.part[k] == (double)c[i].written[k]);
        ev->storage = NULL;
        origin_find(&o, ev, TRACE_READ);
        assert_false(o.asked == o.asked);
        run_free(r);
    }
}

/* An overlay whose folder is hidden, as in a container: all is in the page cache, and nothing was
 * read from anywhere. */
static void a_hidden_overlay(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct run *r = run_of(0, 0, 0);
        struct tier_info info = {.direct = 1};
        r->evidence.storage = &info;
        r->evidence.target = TARGET_MEDIUM_UNKNOWN;
        strcpy(r->evidence.file_system, "overlay");
        r->evidence.machine_before.io_known = r->evidence.machine_after.io_known = true;
        r->evidence.machine_after.read_bytes = i ? 1 : 0;
        r->evidence.resident_share = 1;
        judge(r);
        const struct validity_figure *f = figure(r, VALIDITY_STORAGE);
        assert_non_null(f);
        assert_int_equal(f->state, i ? VALIDITY_UNKNOWN : VALIDITY_UNRELIABLE);
        assert_string_equal(f->why, i ? "no counters for overlay"
                                      : "the target is memory (overlay): all objects are in the "
                                        "page cache and nothing was read from a device");
        run_free(r);
    }
}

/* The kernel's sum of I/O times is half of ours, and no thread waited for a processor: the time
 * went by above the block layer. Device figures stay good. */
static void time_above_the_block_layer(void **state)
{
    (void)state;
    struct run *r = run_of(GB, 2 * GB, 0);
    struct tier_info info = {.engine = "io_uring", .direct = 1};
    struct gap_list *gaps = gap_list_create(NULL);
    struct gap_list_delay delay;
    r->evidence.storage = &info;
    r->evidence.own_io_ns = 2000000000;
    r->evidence.after.queue_ms = 1000;
    judge(r);
    assert_int_equal(r->validity.notes, 0); /* not known whether threads waited for a processor */
    struct gap_loop loop;
    gap_loop_open(&loop, gaps, GAPS_OF_ENGINE, "storage", 0);
    gap_list_begin(gaps);
    gap_list_end(gaps);
    gap_loop_close(&loop);
    r->evidence.gaps = gaps;
    if (!gap_list_run_delay(gaps, &delay))
        skip();
    judge(r);
    assert_int_equal(r->validity.notes, 1);
    assert_non_null(strstr(r->validity.note[0], "above it (throttling"));
    r->evidence.after.read_bytes += 3 * GB; /* a neighbour: nothing can be concluded */
    judge(r);
    assert_int_equal(r->validity.notes, 1);
    assert_non_null(strstr(r->validity.note[0], "foreign traffic: the device moved "));
    gap_list_free(gaps);
    run_free(r);
}

/* Reads of a memory tier, some of which a gap lengthened. */
static void add_held(struct counts *counts, int reads, int held)
{
    for (int k = 0; k < reads; k++) {
        struct row row = {.t = {.op = TRACE_READ,
                                .tier = TRACE_CPU,
                                .phase = TRACE_DECODE,
                                .due_ns = TRACE_NONE,
                                .device_ns = k < held ? 900000000 : 900000,
                                .latency_ns = k < held ? 1000000000 : 1000000},
                          .away_ns = k < held ? 899000000 : 0};
        counts_add(counts, &row);
    }
}

/* Rows that a gap lengthened: one of a thousand moves neither P99, twenty do; of five reads no
 * percentile says anything. What moved is of one tier and operation: the drive's figures stay good.
 */
static void rows_that_gaps_lengthened(void **state)
{
    (void)state;
    static const struct {
        int reads, held;
        bool moved;
    } c[] = {{1000, 1, false}, {1000, 20, true}, {5, 3, false}, {19, 15, false}, {20, 15, true}};
    for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
        struct run *r = run_of(GB, 2 * GB, 0);
        struct counts_group *g =
            &r->counts.group[counts_group_at(TRACE_CPU, TRACE_READ, TRACE_DECODE)];
        add_held(&r->counts, c[i].reads, c[i].held);
        assert_int_equal(hist_count(g->held[COUNTS_HELD_DEVICE]), c[i].held);
        r->evidence.real[TRACE_STORAGE] = r->evidence.real[TRACE_CPU] = true;
        r->evidence.real_engine = true;
        struct gap_list *gaps = gap_list_create(NULL);
        struct gap_loop loop;
        gap_loop_open(&loop, gaps, GAPS_OF_ENGINE, "storage", 0);
        gap_list_begin(gaps);
        gap_list_end(gaps);
        gap_loop_close(&loop);
        r->evidence.gaps = gaps;
        judge(r);
        const struct validity_figure *all = figure(r, VALIDITY_DEVICE);
        const struct validity_figure *f = figure_of_place(r, VALIDITY_DEVICE);
        assert_non_null(all);
        assert_int_equal(f != NULL, c[i].moved);
        if (f) {
            assert_int_equal(f->state, VALIDITY_UNRELIABLE);
            assert_int_equal(f->tier, TRACE_CPU);
            assert_int_equal(f->op, TRACE_READ);
            assert_non_null(strstr(f->why, c[i].reads == 20
                                               ? "Tier-1 Read p50 (900 ms instead of"
                                               : "Tier-1 Read p99 (900 ms instead of"));
        }
        if (all->state != VALIDITY_UNKNOWN) { /* kernels without schedstat */
            assert_int_equal(all->state, VALIDITY_GOOD);
            assert_int_equal(r->validity.state, VALIDITY_GOOD);
        }
        gap_list_free(gaps);
        run_free(r);
    }
}

static int allocations_left = -1; /* then one calloc fails; -1: none */

void *__real_calloc(size_t n, size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes)
{
    if (allocations_left < 0 || allocations_left-- > 0)
        return __real_calloc(n, bytes);
    return NULL;
}

/* Whichever allocation fails, what could not be judged is not good. */
static void no_memory_to_judge(void **state)
{
    (void)state;
    struct run *r = run_of(GB, 2 * GB, 3 * GB / 2);
    struct gap_list *gaps = gap_list_create(NULL);
    struct gap_loop loop;

    add_held(&r->counts, 1000, 20);
    r->evidence.real[TRACE_STORAGE] = r->evidence.real[TRACE_CPU] = true;
    r->evidence.real_engine = true;
    gap_loop_open(&loop, gaps, GAPS_OF_ENGINE, "storage", 0);
    gap_list_begin(gaps);
    gap_list_end(gaps);
    gap_loop_close(&loop);
    r->evidence.gaps = gaps;
    judge(r);
    assert_non_null(figure_of_place(r, VALIDITY_DEVICE));
    assert_non_null(strstr(r->validity.note[0], "Tier-2 writes at"));
    for (int n = 0;; n++) {
        allocations_left = n;
        judge(r);
        if (allocations_left >= 0) /* there were no more */
            break;
        if (!strstr(r->validity.note[0], "out of memory")) {
            assert_int_equal(figure(r, VALIDITY_DEVICE)->state, VALIDITY_UNKNOWN);
            assert_int_equal(figure(r, VALIDITY_SERVICE)->state, VALIDITY_UNKNOWN);
            assert_int_equal(r->validity.state, VALIDITY_UNKNOWN);
        }
    }
    allocations_left = -1;
    r->counts.errors = -ENOMEM;
    judge(r);
    assert_int_equal(r->validity.state, VALIDITY_UNRELIABLE);
    assert_non_null(strstr(r->validity.why[0], "out of memory"));
    gap_list_free(gaps);
    run_free(r);
}

/* After a stop of a second, the reads that were due in it come at once and take 50 ms each: they
 * move the P95 of all. They are left out, and told, whatever they did; with none of them the
 * figures are good. */
static void the_burst_after_a_stop(void **state)
{
    (void)state;
    static const struct {
        int burst;
        int64_t burst_ns;
        bool moved;
    } c[] = {{150, 50000000, true}, {150, 1000000, false}, {0, 0, false}};
    for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
        struct run *r = run_of(GB, 2 * GB, 0);
        const int64_t ns = 1000000;
        struct gap_list *gaps = gap_list_create(NULL);
        struct gap_loop loop;

        for (int k = 0; k < 600; k++) {
            int64_t took = k < c[i].burst ? c[i].burst_ns : ns;
            struct row row = {.t = {.op = TRACE_READ,
                                    .tier = TRACE_CPU,
                                    .phase = TRACE_DECODE,
                                    .due_ns = TRACE_NONE,
                                    .device_ns = took,
                                    .latency_ns = took},
                              .in_burst = k < c[i].burst};
            counts_add(&r->counts, &row);
        }
        r->evidence.real[TRACE_CPU] = r->evidence.real_engine = true;
        gap_loop_open(&loop, gaps, GAPS_OF_ENGINE, "storage", 0);
        gap_list_begin(gaps);
        if (c[i].burst) {
            struct gap_loop process;
            gap_loop_open(&process, gaps, GAPS_OF_PROCESS, NULL, 0);
            gap_loop_add(&process, 1000, 1000 + 940000000);
            gap_loop_close(&process);
        }
        gap_list_end(gaps);
        gap_loop_close(&loop);
        r->evidence.gaps = gaps;
        judge(r);
        const struct validity_figure *f = figure_of_place(r, VALIDITY_DEVICE);
        assert_int_equal(f != NULL, c[i].moved);
        if (f) {
            assert_int_equal(f->state, VALIDITY_UNRELIABLE);
            assert_non_null(strstr(f->why, "and ran 150 rows in a burst then, which is most of "
                                           "Tier-1 Read p95 (50.0 ms instead of 1.00 ms)"));
        }
        bool told = false;
        for (unsigned k = 0; k < r->validity.notes; k++)
            told |= strstr(r->validity.note[k], "stood still 1 time, for up to 940 ms") &&
                    strstr(r->validity.note[k], "150 rows that were due by then ran in a burst");
        assert_int_equal(told, c[i].burst > 0);
        gap_list_free(gaps);
        run_free(r);
    }
}

/* Reads that took ns each, so many, in an interval of others' traffic or not. */
static void add_beside(struct counts *counts, int reads, int64_t ns, bool foreign)
{
    static int64_t now_ns = 1000;

    for (int k = 0; k < reads; k++) {
        struct row row = {.t = {.op = TRACE_READ,
                                .tier = TRACE_STORAGE,
                                .phase = TRACE_DECODE,
                                .due_ns = TRACE_NONE,
                                .start_ns = now_ns,
                                .device_ns = ns - 1000 + k, /* no two alike */
                                .latency_ns = ns + k}};
        counts_add(counts, &row);
    }
    now_ns += 1000000000;
    counts_beside_ended(counts, now_ns, foreign);
}

/* Others' bytes on the device are judged by what they did: reads beside them against the others. */
static void foreign_traffic(void **state)
{
    (void)state;
    static const struct {
        int calm, shared;
        int64_t shared_ns;
        uint64_t others_mib; /* beside 1 GiB of ours */
        const char *why;     /* NULL: it moved nothing */
    } c[] = {
        {500, 100, 20000000, 1024,
         "foreign traffic: others moved 1.00 GiB/s on the device, kvreplay 1.00 GiB/s; it is most "
         "of Tier-2 Read p95 (20.0 ms instead of "},
        {500, 100, 1000000, 1024, NULL}, /* they were no slower */
        {500, 100, 20000000, 90, NULL},  /* less than 10 % of ours: they were slow by themselves */
        {500, 0, 0, 1024, NULL},         /* no row ran beside it */
        {500, 3, 20000000, 1024, NULL},  /* too few for a percentile */
        {10, 500, 20000000, 1024, "; too few rows ran without it to tell what it did"},
    };
    for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
        struct run *r = run_of(GB, 2 * GB, 0);
        struct tier_info info = {.engine = "io_uring", .direct = 1};
        struct others_sample end = {.own_read = (uint64_t)1 << 30};

        counts_release(&r->counts);
        assert_int_equal(counts_init(&r->counts), 0);
        add_beside(&r->counts, c[i].calm, 1000000, false);
        add_beside(&r->counts, c[i].shared, c[i].shared_ns, true);
        /* It began while others were there, and ends when they are gone: it ran beside them. */
        uint64_t before = hist_count(r->counts.beside[TRACE_READ].shared[COUNTS_HELD_DEVICE]);
        assert_int_equal(before, c[i].shared);
        r->evidence.storage = &info;
        r->evidence.real[TRACE_STORAGE] = r->evidence.real_engine = true;
        others_take(&r->evidence.others, &(struct others_sample){0});
        end.device_read = end.own_read + (c[i].others_mib << 20);
        others_take(&r->evidence.others, &end);
        judge(r);
        const struct validity_figure *f = figure_of_place(r, VALIDITY_DEVICE);
        assert_int_equal(f != NULL, c[i].why != NULL);
        if (f) {
            assert_int_equal(f->state, VALIDITY_UNRELIABLE);
            assert_int_equal(f->tier, TRACE_STORAGE);
            assert_int_equal(f->op, TRACE_READ);
            if (!strstr(f->why, c[i].why))
                fail_msg("%s", f->why);
        }
        run_free(r);
    }
}

/* A row that began in an interval with others' traffic and ended in the next, calm one. */
static void a_row_of_two_intervals(void **state)
{
    (void)state;
    struct counts counts;
    struct row row = {.t = {.op = TRACE_WRITE,
                            .tier = TRACE_STORAGE,
                            .phase = TRACE_DECODE,
                            .due_ns = TRACE_NONE,
                            .start_ns = 50,
                            .device_ns = 100,
                            .latency_ns = 100}};
    assert_int_equal(counts_init(&counts), 0);
    counts_beside_ended(&counts, 60, true);
    counts_add(&counts, &row);
    row.t.start_ns = 70;
    counts_add(&counts, &row);
    counts_beside_ended(&counts, 200, false);
    assert_int_equal(hist_count(counts.beside[TRACE_WRITE].shared[COUNTS_HELD_SERVICE]), 1);
    assert_int_equal(hist_count(counts.beside[TRACE_WRITE].calm[COUNTS_HELD_SERVICE]), 1);
    counts_release(&counts);
}

/* Two threads on one processor: both wait for it half of the time. */
struct pair {
    struct gap_list *gaps;
    pthread_barrier_t opened, begun, read;
    int cpu;
    enum gap_of of; /* whose thread waits */
};

static void keep_to(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    sched_setaffinity(0, sizeof(set), &set);
}

static void spin(int64_t ns)
{
    int64_t until = clock_now_ns() + ns;
    while (clock_now_ns() < until)
        ;
}

static void *rival(void *arg)
{
    struct pair *p = arg;
    keep_to(p->cpu);
    pthread_barrier_wait(&p->opened);
    pthread_barrier_wait(&p->begun);
    spin(200000000);
    return NULL;
}

static void *waiting(void *arg)
{
    struct pair *p = arg;
    struct gap_loop loop;
    keep_to(p->cpu);
    gap_loop_open(&loop, p->gaps, p->of, p->of == GAPS_OF_MEMORY ? "memory" : "storage", 0);
    pthread_barrier_wait(&p->opened);
    pthread_barrier_wait(&p->begun);
    spin(200000000);
    pthread_barrier_wait(&p->read); /* it lives until its delay was read */
    gap_loop_close(&loop);
    return NULL;
}

/* The two share a processor for the time of the list; its delay can be read until pair_end. */
static void pair_run(struct pair *p, pthread_t thread[2])
{
    pthread_barrier_init(&p->opened, NULL, 3);
    pthread_barrier_init(&p->begun, NULL, 3);
    pthread_barrier_init(&p->read, NULL, 2);
    assert_int_equal(pthread_create(&thread[0], NULL, rival, p), 0);
    assert_int_equal(pthread_create(&thread[1], NULL, waiting, p), 0);
    pthread_barrier_wait(&p->opened);
    gap_list_begin(p->gaps);
    pthread_barrier_wait(&p->begun);
    pthread_join(thread[0], NULL);
    gap_list_end(p->gaps);
}

static void pair_end(struct pair *p, pthread_t thread[2])
{
    pthread_barrier_wait(&p->read);
    pthread_join(thread[1], NULL);
}

/* The threads of the memory tier had no processor; those of storage had. */
static void the_tier_whose_threads_waited(void **state)
{
    (void)state;
    struct run *r = run_of(GB, 2 * GB, 0);
    struct pair p = {.gaps = gap_list_create(NULL), .cpu = sched_getcpu(), .of = GAPS_OF_MEMORY};
    struct gap_loop loop;
    struct gap_list_delay delay, storage = {0};
    pthread_t thread[2];
    add_held(&r->counts, 1000, 0);
    r->counts.read_bytes[TRACE_CPU] = GB;
    r->evidence.real[TRACE_STORAGE] = r->evidence.real[TRACE_CPU] = r->evidence.real_engine = true;
    r->evidence.loops[TRACE_CPU] = GAPS_OF_MEMORY;
    r->evidence.gaps = p.gaps;
    gap_loop_open(&loop, p.gaps, GAPS_OF_ENGINE, "storage", 0);
    pair_run(&p, thread);
    bool known = gap_list_run_delay_of(p.gaps, GAPS_OF_MEMORY, &delay);
    gap_list_run_delay_of(p.gaps, GAPS_OF_ENGINE, &storage);
    judge(r);
    pair_end(&p, thread);
    gap_loop_close(&loop);
    gap_list_free(p.gaps);
    /* No schedstat, nobody had to wait, or this thread, which plays storage, had to as well. */
    if (!known || delay.engines_ns < 60000000 || storage.engines_ns >= 1000000) {
        run_free(r);
        skip();
    }
    const struct validity_figure *f = figure_of_place(r, VALIDITY_DEVICE);
    assert_int_equal(figure(r, VALIDITY_DEVICE)->state, VALIDITY_GOOD);
    assert_non_null(f);
    assert_int_equal(f->tier, TRACE_CPU);
    assert_int_equal(f->op, TRACE_READ);
    assert_non_null(strstr(f->why, "CPU contention: thread memory 0 waited for a CPU"));
    for (unsigned i = 0; i < r->validity.figures; i++)
        assert_false(!r->validity.figure[i].everywhere &&
                     r->validity.figure[i].tier == TRACE_STORAGE);
    run_free(r);
}

/* Threads of storage had no processor for a tenth of the run. Where the kernel's sum of I/O times
 * tells that rows, which are all I/O, took 3 % longer by it, they are good; where it tells 9 %, or
 * nothing, they are not. */
static void waits_that_lengthened_no_io(void **state)
{
    (void)state;
    static const struct {
        uint64_t kernel_ms;
        enum validity_state state;
    } c[] = {{970, VALIDITY_GOOD},
             {917, VALIDITY_UNRELIABLE},
             {1100, VALIDITY_UNRELIABLE},
             {0, VALIDITY_UNRELIABLE}};
    struct pair p = {.gaps = gap_list_create(NULL), .cpu = sched_getcpu(), .of = GAPS_OF_ENGINE};
    struct tier_info storage = {.direct = 1};
    struct gap_list_delay delay;
    pthread_t thread[2];

    pair_run(&p, thread);
    bool known = gap_list_run_delay_of(p.gaps, GAPS_OF_ENGINE, &delay);
    bool waited = known && delay.engines_ns >= 60000000 && delay.engines_ns < 500000000;
    for (size_t i = 0; waited && i < sizeof(c) / sizeof(*c); i++) {
        struct run *r = run_of(GB, 2 * GB, 0);
        struct row row = {.t = {.op = TRACE_READ,
                                .tier = TRACE_STORAGE,
                                .phase = TRACE_DECODE,
                                .size = 1,
                                .due_ns = TRACE_NONE,
                                .device_ns = 1000000000,
                                .latency_ns = 1000000000},
                          .part = {.io_ns = 1000000000}};
        counts_release(&r->counts);
        assert_int_equal(counts_init(&r->counts), 0);
        counts_add(&r->counts, &row);
        r->counts.read_bytes[TRACE_STORAGE] = 3 * GB;
        r->evidence.real[TRACE_STORAGE] = r->evidence.real_engine = true;
        r->evidence.loops[TRACE_STORAGE] = GAPS_OF_ENGINE;
        r->evidence.gaps = p.gaps;
        r->evidence.storage = &storage;
        r->evidence.own_io_ns = 1000000000;
        r->evidence.after.queue_ms = c[i].kernel_ms;
        judge(r);
        const struct validity_figure *f = figure_of_place(r, VALIDITY_DEVICE);
        assert_int_equal(f ? f->state : VALIDITY_GOOD, c[i].state);
        run_free(r);
    }
    pair_end(&p, thread);
    gap_list_free(p.gaps);
    if (!waited) /* no schedstat, nobody had to wait, or everybody */
        skip();
}

static void near_the_ceiling(void **state)
{
    (void)state;
    struct run *r = run_of(GB, 2 * GB, 0);
    r->evidence.ceiling =
        (struct evidence_ceiling){.rows_per_s = 2.5, .digest = "d", .same_host = true};
    judge(r);
    assert_int_equal(r->validity.notes, 1);
    assert_non_null(strstr(r->validity.note[0], "80 % of the client's own ceiling"));
    r->evidence.ceiling.rows_per_s = 3;
    judge(r);
    assert_int_equal(r->validity.notes, 0);
    strcpy(r->evidence.ceiling.digest, "e");
    judge(r);
    assert_non_null(strstr(r->validity.note[0], "another trace"));
    r->evidence.ceiling.same_host = false;
    judge(r);
    assert_non_null(strstr(r->validity.note[0], "another host"));
    assert_true(evidence_of_ceiling(&r->evidence) < 0);
    run_free(r);
}

static void put(const char *root, const char *path, const char *text)
{
    char whole[256];
    snprintf(whole, sizeof(whole), "%s/%s", root, path);
    for (char *p = whole + strlen(root) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(whole, 0777);
        *p = '/';
    }
    FILE *f = fopen(whole, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void the_link_of_a_drive(void **state)
{
    (void)state;
    char root[] = "/tmp/kvreplay-unit-sys-XXXXXX", command[64];

    assert_non_null(mkdtemp(root));
    put(root, "block/nvme0n1/device/device/current_link_speed", "16.0 GT/s PCIe\n");
    put(root, "block/nvme0n1/device/device/current_link_width", "4\n");
    put(root, "block/hba0/device/current_link_speed", "5.0 GT/s PCIe\n");
    put(root, "block/hba0/device/current_link_width", "8\n");
    put(root, "block/odd/device/current_link_speed", "Unknown\n");
    put(root, "block/odd/device/current_link_width", "4\n");
    assert_int_equal(evidence_link_bytes_per_s(root, "nvme0n1"), 7876923076);
    assert_int_equal(evidence_link_bytes_per_s(root, "hba0"), 4000000000);
    assert_int_equal(evidence_link_bytes_per_s(root, "odd"), 0);
    assert_int_equal(evidence_link_bytes_per_s(root, "vda"), 0);
    assert_int_equal(evidence_link_bytes_per_s(root, ""), 0);
    assert_int_equal(evidence_link_bytes_per_s(root, "../block/hba0"), 0);
    snprintf(command, sizeof(command), "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_runs_are_left_alone),
        cmocka_unit_test(bytes_that_no_device_saw),
        cmocka_unit_test(a_rate_above_the_link),
        cmocka_unit_test(a_run_that_was_late),
        cmocka_unit_test(responses_that_lateness_lengthened),
        cmocka_unit_test(what_the_target_is),
        cmocka_unit_test(time_above_the_block_layer),
        cmocka_unit_test(foreign_traffic),
        cmocka_unit_test(a_row_of_two_intervals),
        cmocka_unit_test(the_burst_after_a_stop),
        cmocka_unit_test(rows_that_gaps_lengthened),
        cmocka_unit_test(no_memory_to_judge),
        cmocka_unit_test(times_at_another_speed),
        cmocka_unit_test(the_tier_whose_threads_waited),
        cmocka_unit_test(waits_that_lengthened_no_io),
        cmocka_unit_test(layers_below),
        cmocka_unit_test(where_the_bytes_were),
        cmocka_unit_test(a_hidden_overlay),
        cmocka_unit_test(near_the_ceiling),
        cmocka_unit_test(the_link_of_a_drive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
