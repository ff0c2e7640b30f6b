/* test_calls.c - an object is stored although a temporary file of its name is there. A bug looked
 * like a write that failed with EEXIST, because an earlier one of the same thread had failed and
 * could not remove its file; or like an object with the end of that file behind its own. */
#include <errno.h>
#include <fcntl.h>
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

#include "kvreplay/like/calls.h"
#include "kvreplay/like/names.h"
#include "lib/io/target_device.h"

enum {
    BYTES = 4096,
    WRITER = 3
};

static void leave(const struct like_calls *c, struct hash128 object)
{
    struct like_name n;
    char folder[LIKE_PATH_CAP];
    int fd;

    like_name_tree(&n, object, WRITER);
    for (int deep = 0; deep < 2; deep++) {
        like_name_folder(&n, deep, folder);
        assert_int_equal(mkdirat(c->dirfd, folder, 0755), 0);
    }
    fd = openat(c->dirfd, n.temporary, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "half", 4), 4);
    close(fd);
}

static void a_temporary_file_is_left(void **state)
{
    (void)state;
    char dir[] = "/tmp/kvtrace-test.XXXXXX";
    static _Alignas(BYTES) char buf[BYTES], back[BYTES];
    struct tier_op op = {.name = {.lo = 5, .hi = 6}, .size = BYTES};
    struct like_calls c = {.profile = like_profile(URI_LIKE_VLLM_FS)};
    struct err e = {0};
    uint64_t got = 0;

    assert_non_null(mkdtemp(dir));
    int dirfd = open(dir, O_RDONLY | O_DIRECTORY);
    assert_true(dirfd >= 0);
    assert_int_equal(like_calls_open(&c, dirfd, dir, &e), 0);
    leave(&c, op.name);
    memset(buf, 'x', sizeof(buf));
    assert_int_equal(like_store(&c, &op, WRITER, buf), 0);
    assert_int_equal(like_load(&c, &op, back, BYTES, &got), 0);
    assert_int_equal(got, BYTES);
    assert_memory_equal(back, buf, BYTES);
    like_calls_close(&c);
    close(dirfd);
    char remove[64];
    snprintf(remove, sizeof(remove), "rm -rf %s", dir);
    assert_int_equal(system(remove), 0);
}

/* While it is set, no temporary file can be given its name or removed. The linker puts these in the
 * place of the calls (tests/rules.mk). */
static bool stuck;
int __real_renameat(int from_fd, const char *from, int to_fd, const char *to);
int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to);
int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    errno = EIO;
    return stuck ? -1 : __real_renameat(from_fd, from, to_fd, to);
}
int __real_unlinkat(int fd, const char *path, int flags);
int __wrap_unlinkat(int fd, const char *path, int flags);
int __wrap_unlinkat(int fd, const char *path, int flags)
{
    errno = EIO;
    return stuck ? -1 : __real_unlinkat(fd, path, flags);
}

static void a_longer_one_is_left(void **state)
{
    (void)state;
    char dir[] = "/tmp/kvtrace-test.XXXXXX";
    static _Alignas(BYTES) char buf[3 * BYTES];
    struct tier_op op = {.name = {.lo = 7, .hi = 8}, .size = sizeof(buf)};
    struct like_calls c = {.profile = like_profile(URI_LIKE_LMCACHE_FS_DIRECT)};
    struct err e = {0};
    uint64_t bytes = 0;

    assert_non_null(mkdtemp(dir));
    int dirfd = open(dir, O_RDONLY | O_DIRECTORY);
    assert_true(dirfd >= 0);
    assert_int_equal(like_calls_open(&c, dirfd, dir, &e), 0);
    c.direct = target_direct_io(dirfd);
    stuck = true;
    assert_int_equal(like_store(&c, &op, WRITER, buf), -EIO);
    stuck = false;
    op.size = BYTES;
    assert_int_equal(like_store(&c, &op, WRITER, buf), 0);
    int fd = like_find(&c, op.name, &bytes);
    assert_true(fd >= 0);
    assert_int_equal(bytes, BYTES);
    close(fd);
    like_calls_close(&c);
    close(dirfd);
    char remove[64];
    snprintf(remove, sizeof(remove), "rm -rf %s", dir);
    assert_int_equal(system(remove), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_temporary_file_is_left),
                                       cmocka_unit_test(a_longer_one_is_left)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
