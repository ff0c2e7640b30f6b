/* Memory and processors that control groups leave, from recorded files: version 1 and 2, limits at
 * each level, a container that sees its own group as the root, with and without a namespace of its
 * own. And available memory ends at the limit of address space. Bugs looked like a replay that was
 * killed in a group of version 1, and a tier of half the machine's memory in a process that may map
 * less. */
/* builds: plain (sanitizers map terabytes) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "lib/base/units.h"
#include "lib/io/process_limits.h"

#define MB UINT64_C(1000000)

static void put(const char *root, const char *name, const char *text)
{
    char path[512];

    snprintf(path, sizeof(path), "%s%s", root, name);
    for (char *at = strchr(path + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(path, 0755);
        *at = '/';
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* Pairs of a name and a text, NULL at the end. */
static void check(const char *const *files, uint64_t memory, double cpus, int64_t throttled_ns)
{
    const char *tmp = getenv("TMPDIR");
    char root[128], command[160];
    struct cgroup_limits l;

    snprintf(root, sizeof(root), "%s/kvtrace-cgroup-XXXXXX",
             tmp && strlen(tmp) < 90 ? tmp : "/tmp");
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; files[i]; i += 2)
        put(root, files[i], files[i + 1]);
    cgroup_read(root, &l);
    uint64_t left = cgroup_memory_left(root);
    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    assert_int_equal(system(command), 0);
    assert_int_equal(left, memory);
    assert_true(l.cpus > cpus - 1e-9 && l.cpus < cpus + 1e-9);
    assert_int_equal(l.throttled_ns, throttled_ns);
}

#define MOUNTS_1                                                                                   \
    "30 1 0:20 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"                                             \
    "31 30 0:21 / /sys/fs/cgroup/memory rw shared:3 - cgroup cgroup rw,memory\n"                   \
    "32 30 0:22 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
#define GROUP    "/proc/self/cgroup"
#define MOUNTS   "/proc/self/mountinfo"
#define MEMORY_1 "/sys/fs/cgroup/memory"
#define CPU_1    "/sys/fs/cgroup/cpu,cpuacct"

static void version_1_at_each_level(void **state)
{
    (void)state;
    static const char *const files[] = {GROUP,
                                        "9:name=systemd:/\n4:memory:/a/b\n2:cpu,cpuacct:/c\n0::/\n",
                                        MOUNTS,
                                        MOUNTS_1,
                                        MEMORY_1 "/memory.limit_in_bytes",
                                        "9223372036854771712\n",
                                        MEMORY_1 "/memory.usage_in_bytes",
                                        "5000000000\n",
                                        MEMORY_1 "/a/memory.limit_in_bytes",
                                        "300000000\n",
                                        MEMORY_1 "/a/memory.usage_in_bytes",
                                        "120000000\n",
                                        MEMORY_1 "/a/memory.stat",
                                        "cache 1\ntotal_inactive_file 20000000\n",
                                        MEMORY_1 "/a/b/memory.limit_in_bytes",
                                        "900000000\n",
                                        MEMORY_1 "/a/b/memory.usage_in_bytes",
                                        "100000000\n",
                                        CPU_1 "/cpu.cfs_quota_us",
                                        "-1\n",
                                        CPU_1 "/cpu.cfs_period_us",
                                        "100000\n",
                                        CPU_1 "/c/cpu.cfs_quota_us",
                                        "3000\n",
                                        CPU_1 "/c/cpu.cfs_period_us",
                                        "100000\n",
                                        CPU_1 "/c/cpu.stat",
                                        "nr_periods 5\nnr_throttled 4\nthrottled_time 7000000\n",
                                        NULL};

    check(files, 200 * MB, 0.03, 7000000);
}

/* A container without a namespace: the group's path is the host's, the mount shows the group. */
static void version_1_in_a_container(void **state)
{
    (void)state;
    static const char *const files[] = {
        GROUP,
        "4:memory:/docker/x\n",
        MOUNTS,
        "31 30 0:21 /docker/x /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
        MEMORY_1 "/memory.limit_in_bytes",
        "300000000\n",
        MEMORY_1 "/memory.usage_in_bytes",
        "100000000\n",
        NULL};

    check(files, 200 * MB, 0, -1);
}

static void version_2(void **state)
{
    (void)state;
    static const char *const files[] = {
        GROUP,
        "0::/a/b\n",
        MOUNTS,
        "31 30 0:21 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n",
        "/sys/fs/cgroup/a/memory.max",
        "max\n",
        "/sys/fs/cgroup/a/memory.high",
        "400000000\n",
        "/sys/fs/cgroup/a/memory.current",
        "100000000\n",
        "/sys/fs/cgroup/a/memory.stat",
        "anon 1\ninactive_file 50000000\n",
        "/sys/fs/cgroup/a/b/memory.max",
        "900000000\n",
        "/sys/fs/cgroup/a/b/memory.current",
        "1000\n",
        "/sys/fs/cgroup/a/cpu.max",
        "150000 100000\n",
        "/sys/fs/cgroup/a/cpu.stat",
        "usage_usec 9\nthrottled_usec 12\n",
        "/sys/fs/cgroup/a/b/cpu.max",
        "max 100000\n",
        NULL};

    check(files, 350 * MB, 1.5, 12000);
}

/* A group outside of the namespace, and the mixed mounts of systemd's hybrid mode. */
static void version_2_beside_1(void **state)
{
    (void)state;
    static const char *const files[] = {
        GROUP,
        "4:memory:/\n0::/../x\n",
        MOUNTS,
        MOUNTS_1 "33 30 0:23 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
        "/sys/fs/cgroup/unified/memory.max",
        "300000000\n",
        "/sys/fs/cgroup/unified/memory.current",
        "400000000\n",
        NULL};

    check(files, 0, 0, -1);
}

static void nothing_known(void **state)
{
    (void)state;
    static const char *const none[] = {"/x", "", NULL};
    static const char *const odd[] = {GROUP, "::::\n0\n:\n0::\n", MOUNTS, "1 2\n - \n - cgroup2\n",
                                      NULL};

    check(none, UINT64_MAX, 0, -1);
    check(odd, UINT64_MAX, 0, -1);
}

static void the_machine_has_some(void **state)
{
    (void)state;
    uint64_t bytes = memory_available();
    assert_true(bytes > 0 && bytes < UINT64_MAX / 2);
}

static void the_limit_of_address_space_counts(void **state)
{
    (void)state;
    struct rlimit before, less;
    uint64_t limit = 3 * UNITS_GIB;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    less = before;
    less.rlim_cur = limit;
    assert_int_equal(setrlimit(RLIMIT_AS, &less), 0);
    assert_int_equal(getrlimit(RLIMIT_AS, &less), 0);
    if (less.rlim_cur != limit)
        skip(); /* qemu-user keeps such a limit from its programs */
    uint64_t bytes = memory_available();
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_true(bytes < limit); /* this process has something mapped */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_1_at_each_level),
        cmocka_unit_test(version_1_in_a_container),
        cmocka_unit_test(version_2),
        cmocka_unit_test(version_2_beside_1),
        cmocka_unit_test(nothing_known),
        cmocka_unit_test(the_machine_has_some),
        cmocka_unit_test(the_limit_of_address_space_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
