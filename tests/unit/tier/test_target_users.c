/* A file that the kernel uses is as protected as the device that it makes: the image of a loop
 * device (mounted, part of something larger, or only attached), swap space, an image that is
 * mounted without a device, a file that another process has open or locked; and so is what lies
 * below a loop device, a RAID or a volume. By recorded facts, whose names lead to files of this
 * test, or nowhere: a name of another mount namespace, or one that was removed. Bugs looked like:
 * the image of a mounted file system written over with --destroy-data, or by its second name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/io/target_guard.h"

#define PATH_CAP 256

/* The kernel's files, with the files of the test in the current folder. */
static const char tree[] =
    "here=$(pwd -P); mkdir store store/3f numbers block "
    "&& for f in free image second parts erofs 'my swap' chain1 chain2 store/3f/object elsewhere; "
    "do"
    "       echo data >\"$f\"; done; ln image other-name\n"
    "loop() {\n" /* NAME MAJOR:MINOR IMAGE */
    "    mkdir -p block/$1/loop block/$1/holders && echo 0 >block/$1/ro && echo $2 >block/$1/dev\n"
    "    echo \"$3\" >block/$1/loop/backing_file && ln -s ../block/$1 numbers/$2\n"
    "}\n"
    "md() {\n" /* NAME MAJOR:MINOR SLAVE MAJOR:MINOR */
    "    mkdir -p block/$1/slaves/$3 block/$1/holders && echo $4 >block/$1/slaves/$3/dev\n"
    "    ln -s ../block/$1 numbers/$2\n"
    "}\n"
    "loop loop0 7:0 \"$here/image\"; loop loop1 7:1 \"$here/parts\"; loop loop2 7:2 "
    "/nowhere/elsewhere\n"
    "mkdir -p block/loop1/loop1p1/holders/dm-4 && echo 259:9 >block/loop1/loop1p1/dev\n"
    "loop loop3 7:3 \"$here/image\"; loop loop4 7:4 \"$here/second (deleted)\"\n"
    "loop loop5 7:5 \"$here/my swap\"; loop loop6 7:6 \"$here/store/3f/object\"\n"
    "md md0 9:0 loop3 7:3; md md1 9:1 loop4 7:4; md md2 9:2 md2 9:2\n"
    "mkdir block/sda\n"
    "printf '%s\\n' '27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
    "61 27 7:0 / /mnt/my\\040disk rw,noatime shared:9 - ext4 /dev/loop0 rw' >mountinfo\n"
    "printf '%s\\n' \"62 27 0:44 / /mnt/image rw - erofs $here/erofs ro\" >>mountinfo\n"
    "printf '%s\\n' 'Filename                          Type            Size            Used        "
    "    "
    "Priority\n"
    "/nowhere/away\\040(deleted)       file            16380           0               -3' >swaps\n"
    "printf '%s\\n' \"$here/my\\040swap      file            16380           0               -2\" "
    ">>swaps\n";

struct fixture {
    char root[64], mountinfo[PATH_CAP], sys_dev_block[PATH_CAP], sys_block[PATH_CAP],
        swaps[PATH_CAP];
    struct target_facts facts;
};

static int shell(const struct fixture *f, const char *script)
{
    pid_t pid = fork();
    int status = -1;

    if (pid == 0) {
        if (chdir(f->root) == 0)
            execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    snprintf(f->root, sizeof(f->root), "/tmp/kvtrace-users-XXXXXX");
    assert_non_null(mkdtemp(f->root));
    assert_int_equal(shell(f, tree), 0);
    snprintf(f->mountinfo, PATH_CAP, "%s/mountinfo", f->root);
    snprintf(f->sys_dev_block, PATH_CAP, "%s/numbers", f->root);
    snprintf(f->sys_block, PATH_CAP, "%s/block", f->root);
    snprintf(f->swaps, PATH_CAP, "%s/swaps", f->root);
    f->facts = (struct target_facts){.mountinfo = f->mountinfo,
                                     .sys_dev_block = f->sys_dev_block,
                                     .sys_block = f->sys_block,
                                     .swaps = f->swaps};
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    int status = shell(f, "rm -rf \"$PWD\"");

    free(f);
    return status;
}

static int ask_file(const struct fixture *f, const char *name, struct err *e)
{
    char path[PATH_CAP];

    snprintf(path, sizeof(path), "%s/%s", f->root, name);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    int ret = target_guard_unused(&f->facts, fd, path, e);
    close(fd);
    return ret;
}

static void says(const struct err *e, const char *text)
{
    assert_int_equal(e->class, ERR_TARGET);
    if (!strstr(e->what, text))
        fail_msg("\"%s\" does not hold \"%s\"", e->what, text);
}

static void file_refused(const struct fixture *f, const char *name, const char *text)
{
    struct err e = {0};

    assert_int_equal(ask_file(f, name, &e), -EBUSY);
    says(&e, text);
}

static void test_files(void **state)
{
    struct fixture *f = *state;
    struct err e = {0};

    assert_int_equal(ask_file(f, "free", &e), 0);
    assert_int_equal(ask_file(f, "chain1", &e), 0);
    file_refused(f, "image", "it is the image of /dev/loop0 (mounted on /mnt/my disk)");
    file_refused(f, "other-name", "it is the image of /dev/loop0 (mounted on /mnt/my disk)");
    file_refused(f, "parts", "it is the image of /dev/loop1 (held by dm-4)");
    file_refused(f, "second", "it is the image of /dev/loop4");
    file_refused(f, "my swap", "it is the image of /dev/loop5");
    file_refused(f, "erofs", "it is mounted on /mnt/image");
    /* It may be the one that is called so in another mount namespace. */
    file_refused(f, "elsewhere", "may be the image of /dev/loop2: that uses /nowhere/elsewhere");
    assert_int_equal(shell(f, "rm -r block/loop5"), 0);
    file_refused(f, "my swap", "it is swap space in use");
}

/* Where nothing is told, a file is free, unless somebody has it open. */
static void test_no_facts(void **state)
{
    struct fixture *f = *state;
    struct err e = {0};

    f->facts = (struct target_facts){0};
    assert_int_equal(ask_file(f, "image", &e), 0);
    f->facts.sys_block = f->facts.swaps = f->facts.mountinfo = "/nonexistent";
    assert_int_equal(ask_file(f, "image", &e), 0);
    f->facts.swaps = f->sys_block; /* a folder */
    assert_int_equal(ask_file(f, "image", &e), -EISDIR);
    says(&e, "cannot tell what loop devices and swap space use");
}

static void test_folders(void **state)
{
    struct fixture *f = *state;
    char path[PATH_CAP];
    struct err e = {0};

    snprintf(path, sizeof(path), "%s/store", f->root);
    assert_int_equal(target_guard_folder(&f->facts, path, &e), -EBUSY);
    says(&e, "its file object is the image of /dev/loop6");
    assert_int_equal(shell(f, "rm -r block/loop6 && mv store shop && ln -s shop store"), 0);
    assert_int_equal(target_guard_folder(&f->facts, path, &e), 0);
    /* By the other name of the folder. */
    assert_int_equal(shell(f, "mkdir -p block/loop6/loop; echo \"$PWD/shop/3f/object\" "
                              ">block/loop6/loop/backing_file"),
                     0);
    assert_int_equal(target_guard_folder(&f->facts, path, &e), -EBUSY);
}

static int ask_device(const struct fixture *f, unsigned major, unsigned minor, struct err *e)
{
    return target_guard_device(&f->facts, makedev(major, minor), "/dev/target", e);
}

static void device_refused(const struct fixture *f, unsigned major, unsigned minor,
                           const char *text)
{
    struct err e = {0};

    assert_int_equal(ask_device(f, major, minor, &e), -EBUSY);
    assert_string_equal(e.where, "/dev/target");
    says(&e, text);
}

static void test_devices(void **state)
{
    struct fixture *f = *state;
    struct err e = {0};

    device_refused(f, 7, 3, "/image, which is the image of /dev/loop0 (mounted on /mnt/my disk)");
    device_refused(f, 7, 5, "/my swap, which is swap space in use");
    device_refused(f, 7, 2, "cannot tell who else uses /nowhere/elsewhere");
    device_refused(f, 9, 0, "/image, which is the image of /dev/loop0");
    device_refused(f, 9, 2, "too many layers");
    assert_int_equal(ask_device(f, 7, 4, &e), 0);
    assert_int_equal(ask_device(f, 9, 1, &e), 0);
}

/* ---- no facts needed: who has a file open or locked ---- */

/* A child that opens the file, and locks a byte of it if lock is set, until it is ended. */
static pid_t holder(const struct fixture *f, const char *name, int flags, bool lock)
{
    int ready[2];
    char path[PATH_CAP], c;

    snprintf(path, sizeof(path), "%s/%s", f->root, name);
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct flock l = {.l_type = F_WRLCK, .l_start = 100, .l_len = 1};
        int fd = open(path, flags);

        if (fd >= 0 && (!lock || fcntl(fd, F_OFD_SETLK, &l) == 0) && write(ready[1], "", 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_open_elsewhere(void **state)
{
    struct fixture *f = *state;
    struct err e = {0};
    pid_t pid;

    f->facts = (struct target_facts){0};
    pid = holder(f, "image", O_RDWR, true);
    file_refused(f, "image", "another process holds a lock on a part of it");
    end(pid);
    pid = holder(f, "image", O_RDONLY, false);
    file_refused(f, "image", "it is open elsewhere");
    file_refused(f, "other-name", "it is open elsewhere");
    end(pid);
    assert_int_equal(ask_file(f, "image", &e), 0);
}

/* It is about to end: as a killed run whose file is not closed yet. */
static void test_open_for_a_moment(void **state)
{
    struct fixture *f = *state;
    struct err e = {0};
    pid_t pid = holder(f, "free", O_RDWR, false), killer = fork();

    if (killer == 0) {
        usleep(100000);
        _exit(kill(pid, SIGKILL));
    }
    assert_int_equal(ask_file(f, "free", &e), 0);
    assert_int_equal(waitpid(killer, NULL, 0), killer);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_facts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_folders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_devices, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_open_elsewhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_open_for_a_moment, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
