/* test_save.c - what can be said of outputs before they are written: whether there is a place for
 * them, and whether two names are one file; and that a file appears whole or not at all. A bug here
 * is a result that is lost after hours, written over what was read, or half of one that is taken
 * for whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/save.h"

static char folder[] = "/tmp/test_save.XXXXXX";

static int enter_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 && close(creat("file", 0600)) == 0 &&
                   symlink("file", "link") == 0 && link("file", "hard") == 0 &&
                   mkdir("sub", 0700) == 0 && mkfifo("pipe", 0600) == 0
               ? 0
               : -1;
}

static int leave_folder(void **state)
{
    static const char *const made[] = {"file", "link", "hard", "pipe"};

    (void)state;
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        unlink(made[i]);
    return rmdir("sub") == 0 && chdir("/") == 0 ? rmdir(folder) : -1;
}

static void places(void **state)
{
    struct err e = {0};

    (void)state;
    assert_int_equal(save_check("-", &e), 0);
    assert_int_equal(save_check("new", &e), 0);
    assert_int_equal(save_check("./sub/new", &e), 0);
    assert_int_equal(save_check("file", &e), 0);
    assert_int_equal(save_check("pipe", &e), 0);
    assert_int_equal(save_check("/dev/null", &e), 0);
    assert_int_equal(access("new", F_OK), -1);
    assert_int_equal(save_check("none/new", &e), -ENOENT);
    assert_int_equal(e.class, ERR_OUTPUT);
    assert_int_equal(save_check("file/new", &e), -ENOTDIR);
    assert_int_equal(save_check("sub", &e), -EISDIR);
    assert_int_equal(save_check("new/", &e), -EISDIR);
}

static void one_file(void **state)
{
    (void)state;
    assert_true(save_is_same("file", "./file"));
    assert_true(save_is_same("file", "link"));
    assert_true(save_is_same("hard", "link"));
    assert_true(save_is_same("new", "sub/../new"));
    assert_true(save_is_same("sub/new", "./sub/new"));
}

static void two_files(void **state)
{
    (void)state;
    assert_false(save_is_same("file", "new"));
    assert_false(save_is_same("new", "newer"));
    assert_false(save_is_same("new", "sub/new"));
    assert_false(save_is_same("none/new", "none/new2"));
    assert_false(save_is_same("-", "-"));
    assert_false(save_is_same("/dev/null", "/dev/null"));
    assert_false(save_is_same("pipe", "pipe"));
}

/* The text of a small file, without its end. */
static const char *text_of(const char *path)
{
    static char text[64];
    int fd = open(path, O_RDONLY);
    ssize_t n = read(fd, text, sizeof text - 1);

    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static void whole_or_not(void **state)
{
    struct err e = {0};
    struct save *s = NULL;

    (void)state;
    assert_int_equal(save_text("link", "old", 3, &e), 0);
    assert_int_equal(save_open(&s, "link", &e), 0);
    assert_int_equal(save_put(s, "ne", 2, &e), 0);
    assert_string_equal(text_of("file"), "old");
    save_abandon(s);
    assert_string_equal(text_of("file"), "old");
    assert_int_equal(save_open(&s, "link", &e), 0);
    assert_int_equal(save_put(s, "ne", 2, &e), 0);
    assert_int_equal(save_put(s, "w", 1, &e), 0);
    assert_int_equal(save_close(s, &e), 0);
    assert_string_equal(text_of("file"), "new");
    assert_int_equal(readlink("link", (char[8]){0}, 8), 4);
    assert_int_equal(save_open(&s, "none/new", &e), -ENOENT);
    assert_int_equal(e.class, ERR_OUTPUT);
    assert_int_equal(save_open(&s, "/dev/full", &e), 0);
    assert_int_equal(save_put(s, "x", 1, &e), -ENOSPC);
    save_abandon(s);
    save_abandon(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places),
        cmocka_unit_test(one_file),
        cmocka_unit_test(two_files),
        cmocka_unit_test(whole_or_not),
    };

    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
