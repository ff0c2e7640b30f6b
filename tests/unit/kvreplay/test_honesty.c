/* What a summary says about figures that cannot be the drive's: bytes that the device never saw, a
 * rate above its link's, a run near the client's own ceiling. A bug looked like this: a cached run
 * that was praised, or a sound one that was flagged. */
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

#include "kvreplay/drive_link.h"
#include "kvreplay/summary.h"

#define GB UINT64_C(1000000000)

/* A second of reads of 1 GB and writes of 2 GB, with what the device and its link are said to be.
 */
struct run {
    struct stats stats;
    struct tiers tiers;
    struct summary summary;
};

static void add(struct stats *st, uint8_t op, uint64_t size)
{
    struct row r = {.t = {.op = op,
                          .tier = TRACE_STORAGE,
                          .phase = TRACE_DECODE,
                          .size = size,
                          .due_ns = TRACE_NONE,
                          .device_ns = TRACE_NONE,
                          .latency_ns = 1000000000}};
    stats_add(st, &r);
}

static struct run *run_of(uint64_t device_read, uint64_t device_wrote, uint64_t link)
{
    struct run *r = calloc(1, sizeof(*r));
    assert_int_equal(stats_init(&r->stats), 0);
    add(&r->stats, TRACE_READ, GB);
    add(&r->stats, TRACE_WRITE, 2 * GB);
    r->summary =
        (struct summary){.stats = &r->stats,
                         .tiers = &r->tiers,
                         .digest = "d",
                         .elapsed_ns = 1000000000,
                         .counted = true,
                         .before = {.read_bytes = 7, .write_bytes = 9},
                         .after = {.read_bytes = 7 + device_read, .write_bytes = 9 + device_wrote},
                         .link_bytes_per_s = link};
    return r;
}

static void run_free(struct run *r)
{
    stats_release(&r->stats);
    free(r);
}

static void sound_runs_are_left_alone(void **state)
{
    (void)state;
    struct run *r = run_of(GB, 2 * GB, 3 * GB);
    summary_judge(&r->summary);
    assert_int_equal(r->summary.notes, 0);
    assert_true(r->summary.valid);
    r->summary.link_bytes_per_s = 0; /* not known */
    r->summary.counted = false;
    r->summary.after = r->summary.before;
    summary_judge(&r->summary);
    assert_int_equal(r->summary.notes, 0);
    run_free(r);
}

static void bytes_that_no_device_saw(void **state)
{
    (void)state;
    struct run *r = run_of(GB / 2, 2 * GB, 0);
    summary_judge(&r->summary);
    assert_int_equal(r->summary.notes, 1);
    assert_non_null(strstr(r->summary.note[0], "the device read 50 %"));
    run_free(r);
    r = run_of(GB, GB / 5, 0);
    summary_judge(&r->summary);
    assert_int_equal(r->summary.notes, 1);
    assert_non_null(strstr(r->summary.note[0], "the device wrote 10 %"));
    run_free(r);
}

static void a_rate_above_the_link(void **state)
{
    (void)state;
    struct run *r = run_of(GB, 2 * GB, 3 * GB / 2);
    summary_judge(&r->summary);
    assert_int_equal(r->summary.notes, 1);
    assert_non_null(strstr(r->summary.note[0], "Tier-2 writes at"));
    run_free(r);
}

/* The mean service time is a second: late by 10 ms, no figure is wrong by more than 1 %. */
static void a_run_that_was_late(void **state)
{
    (void)state;
    static const struct {
        int64_t budget_ns, late_ns;
        bool timed, valid;
    } c[] = {{OPTIONS_AUTO_NS, 9900000, true, true},   {OPTIONS_AUTO_NS, 10300000, true, false},
             {OPTIONS_AUTO_NS, 10300000, false, true}, {2000000, 1900000, true, true},
             {2000000, 2100000, true, false},          {0, 1000, true, false}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct run *r = run_of(GB, 2 * GB, 0);
        for (int k = 0; k < 100; k++)
            assert_int_equal(hist_record(r->stats.lateness, c[i].late_ns), 0);
        r->summary.timed = c[i].timed;
        r->summary.lateness_budget_ns = c[i].budget_ns;
        summary_judge(&r->summary);
        assert_int_equal(r->summary.valid, c[i].valid);
        if (!c[i].valid)
            assert_non_null(strstr(r->summary.why[0], "P99 of client lateness"));
        run_free(r);
    }
    struct run *r = run_of(GB, 2 * GB, 0);
    for (int k = 0; k < 3000; k++) /* the mean falls to 1 ms */
        assert_int_equal(
            hist_record(r->stats.group[stats_group_at(TRACE_STORAGE, TRACE_READ, 0)].service, 1000),
            0);
    r->summary.lateness_budget_ns = OPTIONS_AUTO_NS;
    assert_int_equal(summary_budget_ns(&r->summary), 1000000);
    run_free(r);
}

static void near_the_ceiling(void **state)
{
    (void)state;
    struct run *r = run_of(GB, 2 * GB, 0);
    r->summary.ceiling = (struct ceiling){.rows_per_s = 2.5, .digest = "d", .same_host = true};
    summary_judge(&r->summary);
    assert_int_equal(r->summary.notes, 1);
    assert_non_null(strstr(r->summary.note[0], "80 % of the client's own ceiling"));
    r->summary.ceiling.rows_per_s = 3;
    summary_judge(&r->summary);
    assert_int_equal(r->summary.notes, 0);
    strcpy(r->summary.ceiling.digest, "e");
    summary_judge(&r->summary);
    assert_non_null(strstr(r->summary.note[0], "another trace"));
    r->summary.ceiling.same_host = false;
    summary_judge(&r->summary);
    assert_non_null(strstr(r->summary.note[0], "another host"));
    assert_true(summary_of_ceiling(&r->summary) < 0);
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
    assert_int_equal(drive_link_bytes_per_s(root, "nvme0n1"), 7876923076);
    assert_int_equal(drive_link_bytes_per_s(root, "hba0"), 4000000000);
    assert_int_equal(drive_link_bytes_per_s(root, "odd"), 0);
    assert_int_equal(drive_link_bytes_per_s(root, "vda"), 0);
    assert_int_equal(drive_link_bytes_per_s(root, ""), 0);
    assert_int_equal(drive_link_bytes_per_s(root, "../block/hba0"), 0);
    snprintf(command, sizeof(command), "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_runs_are_left_alone), cmocka_unit_test(bytes_that_no_device_saw),
        cmocka_unit_test(a_rate_above_the_link),     cmocka_unit_test(a_run_that_was_late),
        cmocka_unit_test(near_the_ceiling),          cmocka_unit_test(the_link_of_a_drive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
