/* One file per object: names that come from hashes alone, in folders that are made when needed.
 * Bugs looked like: a link in place of a file or a folder that was followed out of the target, two
 * threads making the same folder, a pipe in the place of an object that was waited for, an object
 * of an earlier run that was looked for under the name that this run would give it, folders that
 * all lie in one block group. */
/* builds: plain address thread arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/io/target_dir.h"
#include "lib/layout/files.h"
#include "lib/layout/place.h"

static const struct hash128 object = {.lo = 0x1122334455667788u, .hi = 0xab00000000000001u};
#define OBJECT      "ab/ab000000000000011122334455667788"
#define EPOCH       0x0000beefu
#define OBJECT_FILE OBJECT "-0000beef.kv"

struct fixture {
    struct target_dir *target;
    struct layout_files *files;
    int dir;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    const char *tmp = getenv("TMPDIR");
    struct err e = {0};
    char path[4096];

    assert_non_null(f);
    snprintf(path, sizeof(path), "%s/kvtrace-layout-%ld", tmp ? tmp : "/tmp", (long)getpid());
    assert_int_equal(
        target_dir_open(&f->target, &(struct target_dir_opts){.path = path, .program = "test"}, &e),
        0);
    f->dir = target_dir_fd(f->target);
    const struct layout_files_opts o = {.dirfd = f->dir, .epoch = EPOCH};
    assert_int_equal(layout_files_open(&f->files, &o, &e), 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    struct err e = {0};

    layout_files_close(f->files);
    assert_int_equal(target_dir_close(f->target, false, &e), 0);
    free(f);
    return 0;
}

/* Writes bytes to the object's file; the descriptor is closed again. 0 or negative errno. */
static int create(struct fixture *f, struct hash128 h, bool cut, uint64_t bytes)
{
    struct layout_name n;
    int ret = layout_files_name(f->files, h, NULL, true, &n), fd;

    if (ret < 0)
        return ret;
    fd = openat(n.dirfd, n.text,
                layout_files_flags(f->files, cut ? LAYOUT_FILES_CUT : LAYOUT_FILES_OLD) | O_CLOEXEC,
                0644);
    if (fd < 0)
        return -errno;
    if (bytes && pwrite(fd, "x", 1, (off_t)bytes - 1) != 1)
        ret = -errno;
    close(fd);
    return ret;
}

static int stored(struct fixture *f, struct hash128 h, uint64_t *bytes)
{
    void *place;
    int fd = layout_files_find(f->files, h, EPOCH, &place);

    if (fd < 0)
        return fd;
    *bytes = place_bytes(place);
    close(fd);
    return 0;
}

static void test_names(void **state)
{
    struct fixture *f = *state;
    struct layout_name n;
    uint64_t bytes;
    struct stat st;

    assert_int_equal(layout_files_name(f->files, object, NULL, false, &n), -ENOENT);
    assert_int_equal(stored(f, object, &bytes), -ENOENT);
    assert_int_equal(create(f, object, true, 5000), 0);
    assert_int_equal(fstatat(f->dir, OBJECT_FILE, &st, 0), 0);
    assert_int_equal(stored(f, object, &bytes), 0);
    assert_int_equal(bytes, 5000);
    assert_int_equal(create(f, object, false, 100), 0); /* written over */
    assert_int_equal(stored(f, object, &bytes), 0);
    assert_int_equal(bytes, 5000);
    assert_int_equal(create(f, object, true, 100), 0);
    assert_int_equal(stored(f, object, &bytes), 0);
    assert_int_equal(bytes, 100);
}

static void test_links(void **state)
{
    struct fixture *f = *state;
    struct stat st;
    uint64_t bytes;

    assert_int_equal(mkdirat(f->dir, "elsewhere", 0755), 0);
    assert_int_equal(symlinkat("elsewhere", f->dir, "ab"), 0);
    assert_true(create(f, object, true, 1) < 0);
    assert_int_equal(unlinkat(f->dir, "elsewhere", AT_REMOVEDIR), 0); /* still empty */
    assert_int_equal(unlinkat(f->dir, "ab", 0), 0);
    assert_int_equal(mkdirat(f->dir, "ab", 0755), 0);
    assert_int_equal(symlinkat("../victim", f->dir, OBJECT_FILE), 0);
    assert_int_equal(create(f, object, true, 1), -ELOOP);
    assert_int_equal(stored(f, object, &bytes), -EISNAM);
    assert_int_equal(fstatat(f->dir, "victim", &st, 0), -1);
    assert_int_equal(unlinkat(f->dir, OBJECT_FILE, 0), 0);
}

/* An object of earlier runs and versions has another name: it is found under its own epoch, and its
 * place names it again. */
static void test_epochs(void **state)
{
    static const struct {
        const char *file;
        uint32_t epoch;
    } old[] = {{OBJECT ".kv", 0}, {OBJECT "-12345678.kv", 0x12345678}, {OBJECT_FILE, EPOCH}};
    struct fixture *f = *state;
    struct layout_name n;
    void *place;

    assert_int_equal(create(f, object, true, 1), 0);
    for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
        int fd = openat(f->dir, old[i].file, O_WRONLY | O_CREAT, 0644);

        assert_int_equal(ftruncate(fd, (off_t)(i + 1) * 4096), 0);
        close(fd);
        fd = layout_files_find(f->files, object, old[i].epoch, &place);
        assert_true(fd >= 0);
        close(fd);
        assert_int_equal(place_bytes(place), (i + 1) * 4096);
        assert_int_equal(place_epoch(place) == 0, old[i].epoch == EPOCH);
        assert_int_equal(layout_files_name(f->files, object, place, false, &n), 0);
        assert_string_equal(n.text, old[i].file + 3);
    }
    assert_int_equal(layout_files_find(f->files, object, 1, &place), -ENOENT);
}

/* Something that is no file is not waited for. */
static void test_kinds(void **state)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct fixture *f = *state;
    uint64_t bytes = 0;
    int s;

    assert_int_equal(create(f, object, true, 1), 0);
    assert_int_equal(unlinkat(f->dir, OBJECT_FILE, 0), 0);
    assert_int_equal(mkfifoat(f->dir, OBJECT_FILE, 0644), 0);
    assert_int_equal(stored(f, object, &bytes), -EISNAM);
    assert_int_equal(unlinkat(f->dir, OBJECT_FILE, 0), 0);
    snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/" OBJECT_FILE, f->dir);
    s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(stored(f, object, &bytes), -EISNAM);
    close(s);
    assert_int_equal(unlinkat(f->dir, OBJECT_FILE, 0), 0);
    assert_int_equal(mkdirat(f->dir, OBJECT_FILE, 0755), 0);
    assert_int_equal(stored(f, object, &bytes), -EISNAM);
    assert_int_equal(unlinkat(f->dir, OBJECT_FILE, AT_REMOVEDIR), 0);
    if (mknodat(f->dir, OBJECT_FILE, S_IFCHR | 0644, makedev(1, 5)) == 0) { /* needs root */
        assert_int_equal(stored(f, object, &bytes), -EISNAM);
        assert_int_equal(unlinkat(f->dir, OBJECT_FILE, 0), 0);
    }
    assert_int_equal(create(f, object, true, 1), 0);
    assert_int_equal(linkat(f->dir, OBJECT_FILE, f->dir, "second", 0), 0);
    assert_int_equal(stored(f, object, &bytes), -EISNAM);
    assert_int_equal(unlinkat(f->dir, "second", 0), 0);
}

static void *create_many(void *arg)
{
    struct fixture *f = arg;

    for (uint64_t i = 0; i < 300; i++) {
        struct hash128 h = {.hi = i << 56, .lo = i + ((uint64_t)(uintptr_t)pthread_self() << 16)};
        uint64_t bytes = 0;

        if (create(f, h, true, 4096) < 0 || stored(f, h, &bytes) < 0 || bytes != 4096)
            return f;
    }
    return NULL;
}

static void test_threads(void **state)
{
    pthread_t thread[4];
    void *failed;

    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, create_many, *state), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(thread[i], &failed), 0);
        assert_null(failed);
    }
}

/* Folders of one block group would share what it costs ext4 to make a file after others were
 * removed. */
static void test_spread(void **state)
{
    const uint64_t group = 8192; /* inodes, of a usual file system */
    struct fixture *f = *state;
    char name[] = "00";
    int before = 0, after = 0;
    unsigned groups = 0;
    uint64_t seen[LAYOUT_FILES_FOLDERS];
    struct statfs fs;
    struct stat st;

    assert_int_equal(fstatfs(f->dir, &fs), 0);
    (void)ioctl(f->dir, FS_IOC_GETFLAGS, &before); /* not every file system has them */
    layout_files_prepare(f->files);
    for (unsigned i = 0; i < LAYOUT_FILES_FOLDERS; i++) {
        unsigned k = 0;

        snprintf(name, sizeof(name), "%02x", i);
        assert_int_equal(fstatat(f->dir, name, &st, AT_SYMLINK_NOFOLLOW), 0);
        while (k < groups && seen[k] != st.st_ino / group)
            k++;
        if (k == groups)
            seen[groups++] = st.st_ino / group;
    }
    if (fs.f_type != EXT4_SUPER_MAGIC || fs.f_files / group < LAYOUT_FILES_FOLDERS)
        skip();
    assert_true(groups >= LAYOUT_FILES_FOLDERS / 8);
    assert_int_equal(ioctl(f->dir, FS_IOC_GETFLAGS, &after), 0);
    assert_int_equal(after, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_links, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_epochs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_kinds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_spread, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
