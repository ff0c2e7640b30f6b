/* test_names.c - names of objects in engines' layouts. Expected: the same name for an object in
 * every version, since kept stores are found again by it; no two objects of one name; and
 * target_files.c knows what names.c makes. A bug looked like files of a killed run that the next
 * one took for somebody else's. */
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

#include "kvreplay/like/names.h"

static void names(void **state)
{
    (void)state;
    struct hash128 a = {.lo = 1, .hi = 2}, b = {.lo = 2, .hi = 1};
    struct like_name flat, other, tree;
    char folder[LIKE_PATH_CAP];

    like_name_flat(&flat, a);
    like_name_flat(&other, b);
    assert_string_equal(flat.path, TARGET_FILES_FLAT "f27cc2aa51e865317fb6f0c094f81c5d"
                                                     "a356aa93b7683eeb53ebaa3b30c3df3f.data");
    assert_string_not_equal(flat.path, other.path);
    assert_true(target_files_name(flat.path));
    assert_true(target_files_name(flat.temporary));
    assert_int_equal(strlen(flat.path),
                     strlen("kvtrace@0x00000000@0@.data") + TARGET_FILES_HASH_LEN);

    like_name_tree(&tree, a, 7);
    like_name_folder(&tree, false, folder);
    assert_int_equal(strlen(folder), 3);
    assert_memory_equal(folder, flat.path + strlen(TARGET_FILES_FLAT), 3);
    like_name_folder(&tree, true, folder);
    assert_int_equal(strlen(folder), strlen("hhh/hh_g0"));
    assert_string_equal(tree.path + strlen(tree.path) - 4, ".bin");
    assert_string_equal(tree.temporary + strlen(tree.temporary) - 10, ".bin.7.tmp");
}

static void strangers(void **state)
{
    (void)state;
    static const char *const not_ours[] = {"model@0x00000000@0@0123.data",
                                           "kvtrace@0x00000000@0@.data",
                                           "kvtrace_000000000000_r0",
                                           "config.json",
                                           "slab.kv2",
                                           "fill-.kv",
                                           "abc",
                                           "AB"};

    for (size_t i = 0; i < sizeof(not_ours) / sizeof(not_ours[0]); i++)
        assert_false(target_files_name(not_ours[i]));
}

static bool count(void *ctx, int dir, const char *name, const struct stat *st,
                  enum target_files_kind kind)
{
    (void)dir, (void)name, (void)st;
    ((unsigned *)ctx)[kind]++;
    return true;
}

static void make(int dir, const char *name)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT, 0644);

    assert_true(fd >= 0);
    close(fd);
}

static void removed(void **state)
{
    (void)state;
    char path[] = "/tmp/kvtrace-names.XXXXXX", folder[LIKE_PATH_CAP];
    struct like_name flat, tree;
    unsigned found[TARGET_FILES_OTHER + 1] = {0}, left[TARGET_FILES_OTHER + 1] = {0};
    struct hash128 a = {.lo = 3, .hi = 4};

    assert_non_null(mkdtemp(path));
    int dir = open(path, O_RDONLY | O_DIRECTORY);
    like_name_flat(&flat, a);
    like_name_tree(&tree, a, 1);
    make(dir, flat.path);
    make(dir, flat.temporary);
    make(dir, "mine");
    mkdirat(dir, TARGET_FILES_TREE, 0755);
    int below = openat(dir, TARGET_FILES_TREE, O_RDONLY | O_DIRECTORY);
    for (int deep = 0; deep < 2; deep++) {
        like_name_folder(&tree, deep, folder);
        mkdirat(below, folder, 0755);
    }
    make(below, tree.path);
    make(below, tree.temporary);
    make(below, TARGET_FILES_CONFIG);
    assert_int_equal(symlinkat("/etc", below, "abc"), 0); /* a link in the place of a folder */

    assert_int_equal(target_files_each(dir, count, found), 0);
    assert_int_equal(found[TARGET_FILES_OBJECT], 2);
    assert_int_equal(found[TARGET_FILES_TEMPORARY], 2);
    assert_int_equal(found[TARGET_FILES_OTHER], 1);
    assert_int_equal(target_files_remove(dir, true, NULL, NULL), 0);
    assert_int_equal(target_files_each(dir, count, left), 0);
    assert_int_equal(left[TARGET_FILES_TEMPORARY], 0);
    assert_int_equal(left[TARGET_FILES_OBJECT], 2);
    assert_int_equal(target_files_remove(dir, false, NULL, NULL), 0);
    assert_int_equal(faccessat(dir, "mine", F_OK, 0), 0);
    assert_int_equal(faccessat(below, "abc", F_OK, AT_SYMLINK_NOFOLLOW), 0);
    unlinkat(below, "abc", 0);
    unlinkat(dir, "mine", 0);
    close(below);
    assert_int_equal(target_files_remove(dir, false, NULL, NULL), 0);
    close(dir);
    assert_int_equal(rmdir(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(strangers),
                                       cmocka_unit_test(removed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
