/* Pictures by gnuplot, with a shell script in its place: the script of a picture is its input and
 * the picture its output, whatever fails is told with what gnuplot said, and texts from outside
 * stand in single quotes. A bug here is half a picture with status 0, or a title that gnuplot runs
 * as a command. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kvstat/draw/gnuplot.h"

/* ---- calls that fail when a test wants them to: number `fails_at` of all that are made ---- */

static int calls, fails_at, why; /* fails_at 0: none */

static bool fails(void)
{
    if (++calls != fails_at)
        return false;
    errno = why;
    return true;
}

int __real_pipe2(int fd[2], int flags);
int __wrap_pipe2(int fd[2], int flags);
int __wrap_pipe2(int fd[2], int flags)
{
    return fails() ? -1 : __real_pipe2(fd, flags);
}
FILE *__real_tmpfile(void);
FILE *__wrap_tmpfile(void);
FILE *__wrap_tmpfile(void)
{
    return fails() ? NULL : __real_tmpfile();
}
ssize_t __real_read(int fd, void *p, size_t size);
ssize_t __wrap_read(int fd, void *p, size_t size);
ssize_t __wrap_read(int fd, void *p, size_t size)
{
    return fails() ? -1 : __real_read(fd, p, size);
}
off_t __real_lseek(int fd, off_t at, int whence);
off_t __wrap_lseek(int fd, off_t at, int whence);
off_t __wrap_lseek(int fd, off_t at, int whence)
{
    return fails() ? -1 : __real_lseek(fd, at, whence);
}
pid_t __real_waitpid(pid_t pid, int *status, int how);
pid_t __wrap_waitpid(pid_t pid, int *status, int how);
pid_t __wrap_waitpid(pid_t pid, int *status, int how)
{
    return fails() ? -1 : __real_waitpid(pid, status, how);
}
int __real_posix_spawn_file_actions_init(posix_spawn_file_actions_t *a);
int __wrap_posix_spawn_file_actions_init(posix_spawn_file_actions_t *a);
int __wrap_posix_spawn_file_actions_init(posix_spawn_file_actions_t *a)
{
    return fails() ? why : __real_posix_spawn_file_actions_init(a);
}
int __real_posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *a, int from, int to);
int __wrap_posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *a, int from, int to);
int __wrap_posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *a, int from, int to)
{
    return fails() ? why : __real_posix_spawn_file_actions_adddup2(a, from, to);
}

/* ---- a gnuplot ---- */

static char folder[] = "/tmp/kvtrace-gnuplot.XXXXXX", program[64], picture_path[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(program, sizeof(program), "%s/gnuplot", folder);
    snprintf(picture_path, sizeof(picture_path), "%s/p.svg", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(program);
    unlink(picture_path);
    return rmdir(folder);
}

/* The shell script that stands for gnuplot, the first in PATH. */
static void gnuplot_is(const char *text, mode_t mode)
{
    char path[128];
    FILE *f = fopen(program, "w");

    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s\n", text);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(program, mode), 0);
    snprintf(path, sizeof(path), "%s:/bin:/usr/bin", folder);
    setenv("PATH", path, 1);
}

static bool two_lines(FILE *script, const void *what, const struct gnuplot_paper *p)
{
    fprintf(script, "plot %s\n%s\n", (const char *)what, p->svg ? "svg" : "png");
    return true;
}

static bool nothing(FILE *script, const void *what, const struct gnuplot_paper *p)
{
    (void)script, (void)what, (void)p;
    return false;
}

static const struct gnuplot_job job = {.script = two_lines, .what = "x", .source = "a.csv"};

/* Draws to a stream in memory: its text, which the caller frees, and the result. */
static int draw(const struct gnuplot_job *j, char **text, struct err *e)
{
    size_t size;
    FILE *f = open_memstream(text, &size);

    assert_non_null(f);
    *e = (struct err){0};
    calls = 0;
    int rc = gnuplot_draw(f, j, e);
    assert_int_equal(fclose(f), 0);
    return rc;
}

static void draws_to(int wanted, const char *words, const struct gnuplot_job *j)
{
    char *text;
    struct err e;
    int rc = draw(j, &text, &e);

    assert_int_equal(rc, wanted);
    if (words)
        assert_non_null(strstr(rc ? e.what : text, words));
    free(text);
}

/* ---- */

static void the_script_goes_in_and_the_picture_comes_out(void **state)
{
    (void)state;
    gnuplot_is("cat; echo end", 0755);
    draws_to(0, "plot x\npng\nend\n", &job);
}

static void nothing_to_draw(void **state)
{
    (void)state;
    draws_to(-EINVAL, "holds nothing to draw", &(struct gnuplot_job){.script = nothing});
}

static void what_gnuplot_says_is_told(void **state)
{
    (void)state;
    gnuplot_is("echo half; printf 'line 2:\\n\\tno such thing' >&2; exit 1", 0755);
    draws_to(-EIO, "gnuplot failed: line 2:  no such thing", &job);
    gnuplot_is("kill -9 $$", 0755);
    draws_to(-EIO, "gnuplot failed", &job);
}

static void every_call_may_fail(void **state)
{
    (void)state;
    gnuplot_is("cat", 0755);
    draws_to(0, NULL, &job);
    int all = calls;
    assert_true(all >= 10);
    why = EIO;
    for (fails_at = 1; fails_at <= all; fails_at++)
        draws_to(-EIO, NULL, &job);
    /* An interrupted read or wait is made again; nothing else of this can be interrupted. */
    int whole = 0;
    why = EINTR;
    for (fails_at = 1; fails_at <= all; fails_at++) {
        char *text;
        struct err e;
        if (draw(&job, &text, &e) == 0) {
            assert_string_equal(text, "plot x\npng\n");
            whole++;
        }
        free(text);
    }
    fails_at = 0;
    assert_int_equal(whole, 3); /* two reads, a wait */
    /* The loop above leaves the child of a wait that failed. */
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

static void a_picture_that_cannot_be_kept(void **state)
{
    (void)state;
    struct err e = {0};
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    setvbuf(full, NULL, _IONBF, 0);
    gnuplot_is("cat", 0755);
    assert_int_equal(gnuplot_draw(full, &job, &e), -ENOMEM);
    fclose(full);
}

static void a_program_that_cannot_be_started(void **state)
{
    (void)state;
    char none[] = "/nonexistent", *const argv[] = {none, NULL};
    pid_t pid;
    if (posix_spawn(&pid, none, NULL, NULL, argv, NULL) == 0) {
        waitpid(pid, NULL, 0);
        skip(); /* qemu-user does not tell that a program could not be started */
    }
    gnuplot_is("cat", 0644);
    setenv("PATH", folder, 1);
    assert_false(gnuplot_is_there());
    draws_to(-EACCES, "gnuplot cannot be started", &job);
}

static void it_is_looked_for_in_PATH(void **state)
{
    (void)state;
    char *path = malloc(5200);
    struct err e = {0};
    assert_non_null(path);
    gnuplot_is("cat", 0755);
    memset(path, 'x', 5000); /* a folder longer than any name */
    snprintf(path + 5000, 200, "::%s", folder);
    setenv("PATH", path, 1);
    assert_true(gnuplot_is_there());
    assert_int_equal(gnuplot_find(&e), 0);
    path[5000] = '\0';
    setenv("PATH", path, 1);
    assert_false(gnuplot_is_there());
    unsetenv("PATH");
    assert_false(gnuplot_is_there());
    assert_int_equal(gnuplot_find(&e), -ENOENT);
    assert_non_null(strstr(e.what, "gnuplot-nox"));
    free(path);
}

static void the_path_says_what_is_drawn(void **state)
{
    (void)state;
    struct err e = {0};
    char text[32] = "";
    FILE *f;
    gnuplot_is("cat", 0755);
    assert_int_equal(gnuplot_save(picture_path, &job, &e), 0);
    assert_non_null(f = fopen(picture_path, "r"));
    assert_int_equal(fread(text, 1, sizeof(text), f), 11);
    fclose(f);
    assert_string_equal(text, "plot x\nsvg\n");
    assert_true(gnuplot_save("/nonexistent/p.png", &job, &e) < 0);
    assert_true(gnuplot_save("svg", &(struct gnuplot_job){.script = nothing}, &e) < 0);
    assert_string_equal(gnuplot_name("-"), "standard input");
    assert_string_equal(gnuplot_name("a/b.csv"), "b.csv");
    assert_string_equal(gnuplot_name("b.csv"), "b.csv");
}

static void titles_stand_in_quotes(void **state)
{
    (void)state;
    char *text, title[2][GNUPLOT_TITLE] = {"it's `x` \"y\" \xff\x1b[2J"};
    size_t size;
    memset(title[1], 'm', 300);
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    gnuplot_begin(f, &(struct gnuplot_paper){.svg = true, .width = 12, .height = 8, .font = 9});
    gnuplot_layout(f, 1, 2, title, 2);
    assert_int_equal(fclose(f), 0);
    assert_non_null(strstr(text, "set terminal svg size 12,8 dynamic "));
    assert_non_null(strstr(text, "title 'it''s `x` \"y\" "));
    assert_null(strchr(text, '\x1b'));
    assert_null(strchr(text, '\xff'));
    assert_non_null(strstr(text, ".\"\\n\".'mmm"));
    assert_non_null(strstr(text, "mmm...' font"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_script_goes_in_and_the_picture_comes_out),
        cmocka_unit_test(nothing_to_draw),
        cmocka_unit_test(what_gnuplot_says_is_told),
        cmocka_unit_test(every_call_may_fail),
        cmocka_unit_test(a_picture_that_cannot_be_kept),
        cmocka_unit_test(a_program_that_cannot_be_started),
        cmocka_unit_test(it_is_looked_for_in_PATH),
        cmocka_unit_test(the_path_says_what_is_drawn),
        cmocka_unit_test(titles_stand_in_quotes),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
