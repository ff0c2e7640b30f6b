/* Block devices are refused for what the kernel says of them, here by recorded facts: mounted (by
 * number, or by name where the file system has a number of its own), held, partitioned (as the
 * kernel knows, or by a table that it has not read), read-only; and refused too when the facts
 * cannot be read. Bugs looked like: the disk under a mounted btrfs taken, a mount point with a
 * blank cut short, a missing sysfs taken for a free device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/io/target_file.h"
#include "lib/io/target_guard.h"

#define PATH_CAP 256

static const char mounts[] =
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
    "61 27 259:2 / /mnt/my\\040disk rw,noatime shared:9 master:3 - xfs /dev/nvme0n1p1 rw\n"
    "62 27 0:44 /@home /home rw,noatime shared:31 - btrfs /dev/nvme1n1 rw,ssd\n"
    "63 27 8:16 / /srv/a rw - ext4 /dev/sdb rw\n";

/* A folder with a mount table and device folders 8:0 to 8:80. */
struct fixture {
    char root[PATH_CAP / 4], mountinfo[PATH_CAP], sys[PATH_CAP];
    struct target_facts facts;
};

static void make_folder(struct fixture *f, const char *name)
{
    char path[PATH_CAP * 2];

    snprintf(path, sizeof(path), "%s/%s", f->sys, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void make_file(const char *folder, const char *name, const char *text)
{
    char path[PATH_CAP * 2];
    FILE *out;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

static int set_up(void **state)
{
    static const char *const folders[] = {"",          "8:0",          "8:0/holders",
                                          "8:0/queue", "8:16",         "8:16/holders",
                                          "8:32",      "8:32/holders", "8:32/holders/dm-3",
                                          "8:48",      "8:48/holders", "8:48/sdd1",
                                          "8:64",      "8:64/holders", "8:80"};
    struct fixture *f = calloc(1, sizeof(*f));
    const char *tmp = getenv("TMPDIR");

    assert_non_null(f);
    snprintf(f->root, sizeof(f->root), "%s/kvtrace-guard-XXXXXX",
             tmp && strlen(tmp) < 40 ? tmp : "/tmp");
    assert_non_null(mkdtemp(f->root));
    snprintf(f->mountinfo, sizeof(f->mountinfo), "%s/mountinfo", f->root);
    snprintf(f->sys, sizeof(f->sys), "%s/sys", f->root);
    make_file(f->root, "mountinfo", mounts);
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        make_folder(f, folders[i]);
    make_file(f->sys, "8:0/ro", "0\n");
    make_file(f->sys, "8:48/sdd1/partition", "1\n");
    make_file(f->sys, "8:64/ro", "1\n");
    f->facts = (struct target_facts){.mountinfo = f->mountinfo, .sys_dev_block = f->sys};
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    char command[PATH_CAP];

    snprintf(command, sizeof(command), "rm -rf '%s'", f->root);
    free(f);
    return system(command);
}

static void refused(struct fixture *f, dev_t dev, const char *path, int code, const char *text)
{
    struct err e = {0};

    assert_int_equal(target_guard_device(&f->facts, dev, path, &e), code);
    assert_int_equal(e.class, ERR_TARGET);
    assert_string_equal(e.where, path);
    if (!strstr(e.what, text))
        fail_msg("\"%s\" does not hold \"%s\"", e.what, text);
}

static void test_nobody_uses_it(void **state)
{
    struct fixture *f = *state;
    struct err e = {0};

    assert_int_equal(target_guard_device(&f->facts, makedev(8, 0), "/dev/sda", &e), 0);
}

static void test_mounted(void **state)
{
    struct fixture *f = *state;

    refused(f, makedev(254, 0), "/dev/vda", -EBUSY, "mounted on /");
    refused(f, makedev(8, 16), "/dev/sdb", -EBUSY, "mounted on /srv/a");
    refused(f, makedev(259, 2), "/dev/nvme0n1p1", -EBUSY, "mounted on /mnt/my disk");
    refused(f, makedev(259, 7), "/dev/nvme1n1", -EBUSY, "mounted on /home");
}

static void test_held(void **state)
{
    refused(*state, makedev(8, 32), "/dev/sdc", -EBUSY, "in use by dm-3");
}

static void test_partitioned(void **state)
{
    refused(*state, makedev(8, 48), "/dev/sdd", -EBUSY, "partitioned: it has sdd1");
}

static void test_read_only(void **state)
{
    refused(*state, makedev(8, 64), "/dev/sde", -EROFS, "read-only");
}

/* A target of which nothing can be told is not free. */
static void test_no_facts(void **state)
{
    struct fixture *f = *state;

    refused(f, makedev(8, 80), "/dev/sdf", -ENOENT, "cannot tell");
    refused(f, makedev(8, 96), "/dev/sdg", -ENOENT, "cannot tell");
    f->facts.mountinfo = f->sys;
    refused(f, makedev(8, 0), "/dev/sda", -EISDIR, "cannot tell");
    f->facts.mountinfo = "/nonexistent";
    refused(f, makedev(8, 0), "/dev/sda", -ENOENT, "cannot tell");
}

/* Lines that end early name nothing, and those after them count. */
static void test_odd_lines(void **state)
{
    struct fixture *f = *state;

    make_file(f->root, "mountinfo",
              "\n22\n23 27 8:0\n24 27 8:0 /\n25 x 9 / /a rw -\nz z 8:16 / /b");
    refused(f, makedev(8, 16), "/dev/sdb", -EBUSY, "mounted on /b");
}

/* ---- tables of partitions ---- */

static int table(const unsigned char *head, size_t len, struct err *e)
{
    return target_guard_table(head, len, "/dev/sda", e);
}

static void test_mbr(void **state)
{
    unsigned char head[TARGET_GUARD_HEAD] = {0};
    struct err e = {0};

    (void)state;
    head[510] = 0x55;
    head[511] = 0xAA;
    assert_int_equal(table(head, sizeof(head), &e), 0); /* four empty entries */
    head[446 + 16] = 0x80;                              /* the second: active, Linux, 2048 + 4096 */
    head[446 + 16 + 4] = 0x83;
    head[446 + 16 + 9] = 0x08;
    head[446 + 16 + 13] = 0x10;
    assert_int_equal(table(head, sizeof(head), &e), -EBUSY);
    assert_non_null(strstr(e.what, "MBR"));
    assert_int_equal(table(head, 512, &e), -EBUSY);
    assert_int_equal(table(head, 511, &e), 0); /* a device of less than a sector */
    head[446 + 32] = 0x41;                     /* code of a boot sector */
    assert_int_equal(table(head, sizeof(head), &e), 0);
    head[446 + 32] = 0;
    head[511] = 0;
    assert_int_equal(table(head, sizeof(head), &e), 0);
}

static void test_gpt(void **state)
{
    unsigned char head[TARGET_GUARD_HEAD] = {0};
    struct err e = {0};

    (void)state;
    memcpy(head + 512, "EFI PART", 8);
    assert_int_equal(table(head, sizeof(head), &e), -EBUSY);
    assert_non_null(strstr(e.what, "GPT"));
    memset(head, 0, sizeof(head));
    memcpy(head + 4096, "EFI PART", 8); /* sectors of 4 KiB */
    assert_int_equal(table(head, sizeof(head), &e), -EBUSY);
    assert_int_equal(table(head, 4096, &e), 0);
}

/* ---- the opening of files; devices: tests/cli/kvprecond/device.t ---- */

static bool begins_with_k(const void *block)
{
    return *(const char *)block == 'K';
}

static int open_in(struct fixture *f, const char *name, bool destroy, struct target_file *out,
                   struct err *e)
{
    const struct target_file_opts o = {.destroy_data = destroy, .is_ours = begins_with_k};
    char path[PATH_CAP * 2];

    snprintf(path, sizeof(path), "%s/%s", f->root, name);
    return target_file_open(out, path, &o, e);
}

static void test_regular_file(void **state)
{
    struct fixture *f = *state;
    struct target_file t = {.fd = -7}, other;
    char text[4097] = "data", link[PATH_CAP * 2];
    struct err e = {0};

    make_file(f->root, "file", text);
    assert_int_equal(open_in(f, "file", false, &t, &e), -EEXIST);
    assert_non_null(strstr(e.what, "--destroy-data"));
    assert_int_equal(t.fd, -7);
    assert_int_equal(open_in(f, "file", true, &t, &e), 0);
    assert_int_equal(t.bytes, 4);
    assert_true(t.allocated_bytes % 512 == 0);
    assert_false(t.is_device);
    assert_int_equal(fcntl(t.fd, F_GETFL) & O_NONBLOCK, 0);
    assert_true(!t.direct == !(fcntl(t.fd, F_GETFL) & O_DIRECT));
    assert_true(open_in(f, "file", true, &other, &e) < 0); /* locked by the first */
    close(t.fd);
    memset(text, 'K', 4096);
    make_file(f->root, "file", text);
    assert_int_equal(open_in(f, "file", false, &t, &e), 0);
    close(t.fd);
    snprintf(link, sizeof(link), "%s/link", f->root);
    assert_int_equal(symlink("file", link), 0);
    assert_int_equal(open_in(f, "link", true, &t, &e), -ELOOP);
    assert_int_equal(open_in(f, "sys", true, &t, &e), -EISDIR);
    assert_int_equal(open_in(f, "none", true, &t, &e), -EISDIR);
    assert_int_equal(target_file_open(&t, "/dev/null", &(struct target_file_opts){0}, &e), -EINVAL);
    assert_int_equal(e.class, ERR_TARGET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nobody_uses_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mounted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_held, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_partitioned, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_read_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_facts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_odd_lines, set_up, tear_down),
        cmocka_unit_test(test_mbr),
        cmocka_unit_test(test_gpt),
        cmocka_unit_test_setup_teardown(test_regular_file, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
