/* One file per object: created, grown, cut, opened, removed, by names that come from hashes alone.
 * Bugs looked like: a link in place of a file or a folder that was followed out of the target, a
 * file left at its old size after a rewrite, two threads making the same folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/layout.h"
#include "lib/target.h"

static const struct hash128 name = {.lo = 0x1122334455667788u, .hi = 0xab00000000000001u};
#define NAME_FILE "ab/ab000000000000011122334455667788.kv"

struct fixture {
    struct target *target;
    struct layout *layout;
    int dir;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    const char *tmp = getenv("TMPDIR");
    struct err e = {0};
    char path[4096];

    assert_non_null(f);
    snprintf(path, sizeof path, "%s/kvtrace-layout-%ld", tmp ? tmp : "/tmp", (long)getpid());
    assert_int_equal(target_open_dir(&f->target, path, "test", &e), 0);
    f->dir = target_fd(f->target);
    assert_int_equal(layout_files_open(&f->layout, f->dir, false, &e), 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    struct err e = {0};

    f->layout->ops->close(f->layout);
    assert_int_equal(target_close(f->target, false, &e), 0);
    free(f);
    return 0;
}

static void create(struct fixture *f, struct hash128 h, uint64_t bytes)
{
    struct layout_place p = {.fd = -1};

    assert_int_equal(f->layout->ops->create(f->layout, h, bytes, &p), 0);
    assert_true(p.fd >= 0);
    assert_int_equal(p.offset, 0);
    assert_int_equal(f->layout->ops->release(f->layout, &p, true), 0);
}

static int stored(struct fixture *f, struct hash128 h, uint64_t *bytes)
{
    struct layout_place p;
    int ret = f->layout->ops->open(f->layout, h, &p, bytes);

    if (ret == 0)
        assert_int_equal(f->layout->ops->release(f->layout, &p, false), 0);
    return ret;
}

static void test_sizes(void **state)
{
    static const uint64_t sizes[] = {4096, 1 << 20, 8192, 0, 3 << 20, 3 << 20};
    struct fixture *f = *state;
    uint64_t bytes;
    struct stat st;

    assert_int_equal(stored(f, name, &bytes), -ENOENT);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        create(f, name, sizes[i]);
        assert_int_equal(stored(f, name, &bytes), 0);
        assert_int_equal(bytes, sizes[i]);
    }
    assert_int_equal(fstatat(f->dir, NAME_FILE, &st, 0), 0);
    assert_int_equal(f->layout->ops->remove(f->layout, name), 0);
    assert_int_equal(f->layout->ops->remove(f->layout, name), -ENOENT);
    assert_int_equal(fstatat(f->dir, NAME_FILE, &st, 0), -1);
    assert_int_equal(stored(f, name, &bytes), -ENOENT);
}

static void test_too_large(void **state)
{
    struct fixture *f = *state;
    struct layout_place p;
    uint64_t bytes;

    assert_true(f->layout->ops->create(f->layout, name, UINT64_MAX - 4095, &p) < 0);
    assert_true(f->layout->ops->create(f->layout, name, (uint64_t)INT64_MAX / 4096 * 4096, &p) < 0);
    assert_int_equal(stored(f, name, &bytes), -ENOENT); /* no empty file left behind */
}

static void test_links(void **state)
{
    struct fixture *f = *state;
    struct layout_place p;
    struct stat st;
    uint64_t bytes;

    assert_int_equal(mkdirat(f->dir, "elsewhere", 0755), 0);
    assert_int_equal(symlinkat("elsewhere", f->dir, "ab"), 0);
    assert_true(f->layout->ops->create(f->layout, name, 4096, &p) < 0);
    assert_int_equal(unlinkat(f->dir, "elsewhere", AT_REMOVEDIR), 0); /* still empty */
    assert_int_equal(unlinkat(f->dir, "ab", 0), 0);
    assert_int_equal(mkdirat(f->dir, "ab", 0755), 0);
    assert_int_equal(symlinkat("../victim", f->dir, NAME_FILE), 0);
    assert_int_equal(f->layout->ops->create(f->layout, name, 4096, &p), -ELOOP);
    assert_int_equal(stored(f, name, &bytes), -ELOOP);
    assert_int_equal(fstatat(f->dir, "victim", &st, 0), -1);
    assert_int_equal(unlinkat(f->dir, NAME_FILE, 0), 0);
}

static void *create_many(void *arg)
{
    struct fixture *f = arg;

    for (uint64_t i = 0; i < 300; i++) {
        struct hash128 h = {.hi = i << 56, .lo = i + ((uint64_t)(uintptr_t)pthread_self() << 16)};
        struct layout_place p;
        uint64_t bytes = 0;

        if (f->layout->ops->create(f->layout, h, 4096, &p) < 0)
            return f;
        f->layout->ops->release(f->layout, &p, false);
        if (stored(f, h, &bytes) < 0 || bytes != 4096 || f->layout->ops->remove(f->layout, h) < 0)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sizes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_too_large, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_links, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
