/* A target is taken only where that is safe, and left as it was found: system directories, foreign
 * files, strange markers and living owners are refused; after a dead owner our files (and only
 * ours) are removed; nothing is left behind. Bugs looked like: a link into /etc that got through, a
 * user's file removed with ours, a directory left over or one removed that was there before. */
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
#include <sys/wait.h>
#include <unistd.h>

#include "lib/io/target_device.h"
#include "lib/io/target_dir.h"
#include "lib/io/target_guard.h"

#define PATH_CAP 512
#define HEX      "0123456789abcdef0123456789abcdef"

struct fixture {
    char root[PATH_CAP / 4];
    char path[PATH_CAP]; /* of a name in root, overwritten by each call */
};

static const char *in(struct fixture *f, const char *name)
{
    snprintf(f->path, sizeof(f->path), "%s/%s", f->root, name);
    return f->path;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    const char *tmp = getenv("TMPDIR");

    assert_non_null(f);
    snprintf(f->root, sizeof(f->root), "%s/kvtrace-target-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(f->root));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    int ret;

    ret = rmdir(f->root); /* tests leave it empty, or the code under test did not */
    free(f);
    return ret;
}

static void put(struct fixture *f, const char *name, const char *text)
{
    FILE *out = fopen(in(f, name), "w");

    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

static bool there(struct fixture *f, const char *name)
{
    struct stat st;

    return lstat(in(f, name), &st) == 0;
}

static void get(struct fixture *f, const char *name, char *text, size_t cap)
{
    FILE *from = fopen(in(f, name), "r");
    size_t n;

    assert_non_null(from);
    n = fread(text, 1, cap - 1, from);
    text[n] = '\0';
    fclose(from);
}

static struct target_dir *take(struct fixture *f, const char *name)
{
    struct target_dir *t = NULL;
    struct err e = {0};

    const struct target_dir_opts o = {
        .path = in(f, name), .program = "test", .adopts = true, .destroys = true, .data_seed = 7};

    assert_int_equal(target_dir_open(&t, &o, &e), 0);
    return t;
}

static void refused(const char *path, int code, const char *text)
{
    struct target_dir *t = NULL;
    struct err e = {0};

    const struct target_dir_opts o = {.path = path, .program = "test"};

    assert_int_equal(target_dir_open(&t, &o, &e), code);
    assert_null(t);
    assert_int_equal(e.class, ERR_TARGET);
    if (!strstr(e.what, text))
        fail_msg("\"%s\" does not hold \"%s\"", e.what, text);
}

static void leave(struct target_dir *t, bool keep)
{
    struct err e = {0};

    assert_int_equal(target_dir_close(t, keep, &e), 0);
}

static void test_system_paths(void **state)
{
    static const char *const bad[] = {"/",
                                      "/etc",
                                      "/etc/kvtrace",
                                      "/usr",
                                      "/usr/local/x",
                                      "/bin",
                                      "/boot",
                                      "/dev",
                                      "/proc",
                                      "/sys",
                                      "/root",
                                      "/home",
                                      "/tmp",
                                      "/var",
                                      "/dev/shm",
                                      "/var/tmp",
                                      "//tmp/",
                                      "/tmp/../tmp/.",
                                      "/usr/../etc/new",
                                      "/lib/x",
                                      "/proc/self",
                                      "/sys/block"};
    struct fixture *f = *state;
    struct err e = {0};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (target_guard_path(bad[i], &e) != -EACCES)
            fail_msg("%s was not refused", bad[i]);
        assert_int_equal(e.class, ERR_TARGET);
        refused(bad[i], -EACCES, strcmp(bad[i], "/root") == 0 ? "home folder" : "system directory");
    }
    assert_int_equal(target_guard_path(in(f, "new"), &e), 0);
    assert_int_equal(target_guard_path(f->root, &e), 0);
    assert_int_equal(target_guard_path("relative", &e), 0);
    assert_true(target_guard_path("/nonexistent/too/deep", &e) < 0);
}

static void test_links_and_home(void **state)
{
    struct fixture *f = *state;
    const char *home = getenv("HOME");
    char kept[PATH_CAP];
    struct target_dir *t;

    snprintf(kept, sizeof(kept), "%s", home ? home : "");
    assert_int_equal(symlink("/etc", in(f, "link")), 0);
    refused(in(f, "link"), -EACCES, "/etc");
    refused(in(f, "link/below"), -EACCES, "/etc/below");
    unlink(in(f, "link"));
    assert_int_equal(mkdir(in(f, "home"), 0700), 0);
    assert_int_equal(setenv("HOME", in(f, "home"), 1), 0);
    assert_int_equal(symlink("home", in(f, "link")), 0);
    refused(in(f, "home"), -EACCES, "is a home folder");
    refused(in(f, "link"), -EACCES, "is a home folder");
    t = take(f, "link/below"); /* a directory below is fine, and so is a link to a fine place */
    leave(t, false);
    if (home)
        setenv("HOME", kept, 1);
    else
        unsetenv("HOME");
    unlink(in(f, "link"));
    assert_int_equal(rmdir(in(f, "home")), 0);
}

static void test_created_and_removed(void **state)
{
    struct fixture *f = *state;
    struct target_dir *t = take(f, "new");
    char text[200], running[40];

    get(f, "new/.kvtrace", text, sizeof(text));
    snprintf(running, sizeof(running), "\npid %ld\n", (long)getpid());
    assert_memory_equal(text, "kvtrace runs 2\n", 15);
    assert_non_null(strstr(text, running));
    assert_true(target_dir_fd(t) >= 0);
    assert_string_equal(strrchr(target_dir_path(t), '/'), "/new");
    assert_false(target_dir_was_kept(t));
    assert_int_equal(mkdir(in(f, "new/ab"), 0755), 0);
    put(f, "new/ab/" HEX ".kv", "x");
    put(f, "new/fill-0.kv", "x");
    leave(t, false);
    assert_false(there(f, "new"));
    refused(in(f, "no/parent"), -ENOENT, "");
}

static void test_found_stays(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(mkdir(in(f, "found"), 0755), 0);
    assert_int_equal(mkdir(in(f, "found/lost+found"), 0755), 0);
    leave(take(f, "found"), false);
    assert_true(there(f, "found"));
    assert_false(there(f, "found/.kvtrace"));
    rmdir(in(f, "found/lost+found"));
    assert_int_equal(rmdir(in(f, "found")), 0);
    put(f, "file", "x");
    refused(in(f, "file"), -ENOTDIR, "");
    unlink(in(f, "file"));
}

static void test_foreign(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(mkdir(in(f, "d"), 0755), 0);
    put(f, "d/thesis.tex", "x");
    refused(in(f, "d"), -EEXIST, "thesis.tex");
    unlink(in(f, "d/thesis.tex"));
    put(f, "d/.kvtrace", "#!/bin/sh\n");
    refused(in(f, "d"), -EACCES, "not written by kvtrace");
    assert_true(there(f, "d/.kvtrace"));
    unlink(in(f, "d/.kvtrace"));
    assert_int_equal(symlink("/etc/passwd", in(f, "d/.kvtrace")), 0);
    refused(in(f, "d"), -ELOOP, "marker");
    unlink(in(f, "d/.kvtrace"));
    rmdir(in(f, "d"));
}

static void test_kept(void **state)
{
    struct fixture *f = *state;
    struct target_dir *t = take(f, "d");

    assert_int_equal(mkdir(in(f, "d/ab"), 0755), 0);
    put(f, "d/ab/" HEX ".kv", "x");
    leave(t, true);
    assert_true(there(f, "d/ab/" HEX ".kv"));
    t = take(f, "d");
    assert_true(target_dir_was_kept(t));
    assert_true(there(f, "d/ab/" HEX ".kv"));
    leave(t, false);
    assert_false(there(f, "d")); /* kvtrace had made it, one run earlier */
}

static void test_dead_owner(void **state)
{
    struct fixture *f = *state;
    struct target_dir *t;

    assert_int_equal(mkdir(in(f, "d"), 0755), 0);
    put(f, "d/.kvtrace", "running 999999999\nkvreplay\n");
    assert_int_equal(mkdir(in(f, "d/ab"), 0755), 0);
    assert_int_equal(mkdir(in(f, "d/cd"), 0755), 0);
    assert_int_equal(mkdir(in(f, "d/AB"), 0755), 0);
    put(f, "d/ab/" HEX ".kv", "ours");
    put(f, "d/ab/notes.kv", "not ours: no hash");
    put(f, "d/ab/" HEX "-0123abcd.kv", "ours");
    put(f, "d/ab/" HEX "-123.kv", "not ours: no epoch");
    put(f, "d/ab/" HEX ".txt", "not ours");
    put(f, "d/slab.kv", "ours");
    put(f, "d/notes.kv", "not ours");
    put(f, "d/fill-a.kv", "not ours: no number");
    put(f, "d/readme", "not ours");
    put(f, "outside", "not ours");
    assert_int_equal(symlink("../outside", in(f, "d/link.kv")), 0);
    assert_int_equal(symlink("..", in(f, "d/ef")), 0);
    t = take(f, "d");
    assert_false(target_dir_was_kept(t));
    assert_false(there(f, "d/ab/" HEX ".kv"));
    assert_false(there(f, "d/ab/" HEX "-0123abcd.kv"));
    assert_false(there(f, "d/slab.kv"));
    assert_false(there(f, "d/cd"));
    leave(t, false);
    assert_true(there(f, "outside"));
    assert_true(there(f, "d/ef"));
    unlink(in(f, "outside"));
    assert_int_equal(unlink(in(f, "d/link.kv")), 0);
    assert_int_equal(unlink(in(f, "d/ef")), 0);
    assert_int_equal(unlink(in(f, "d/readme")), 0);
    assert_int_equal(unlink(in(f, "d/notes.kv")), 0);
    assert_int_equal(unlink(in(f, "d/fill-a.kv")), 0);
    assert_int_equal(unlink(in(f, "d/ab/notes.kv")), 0);
    assert_int_equal(unlink(in(f, "d/ab/" HEX ".txt")), 0);
    assert_int_equal(unlink(in(f, "d/ab/" HEX "-123.kv")), 0);
    assert_int_equal(rmdir(in(f, "d/ab")), 0);
    assert_int_equal(rmdir(in(f, "d/AB")), 0);
    assert_int_equal(rmdir(in(f, "d")), 0);
}

static void test_in_use(void **state)
{
    struct fixture *f = *state;
    struct target_dir *t = take(f, "d");
    char pid[40];
    int status;
    pid_t child;

    snprintf(pid, sizeof(pid), "process %ld", (long)getpid());
    refused(in(f, "d"), -EBUSY, pid);
    child = fork();
    if (child == 0) {
        struct target_dir *other;
        struct err e = {0};
        const struct target_dir_opts o = {.path = in(f, "d"), .program = "test"};
        int ret = target_dir_open(&other, &o, &e);

        _exit(ret == -EBUSY && e.class == ERR_TARGET && strstr(e.what, pid) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    leave(t, false);
    leave(take(f, "d"), false);
}

/* A process that is killed leaves its marker; the next one takes over and cleans up. */
static void test_killed(void **state)
{
    struct fixture *f = *state;
    struct target_dir *t;
    int status;
    pid_t child = fork();

    if (child == 0) {
        t = take(f, "d");
        put(f, "d/probe-1.kv", "x");
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(there(f, "d/probe-1.kv"));
    t = take(f, "d");
    assert_false(there(f, "d/probe-1.kv"));
    leave(t, false);
    assert_false(there(f, "d"));
}

/* The kernel may hold a killed process's lock a little longer: that is waited for. */
static void test_lets_go(void **state)
{
    struct fixture *f = *state;
    int ends[2], status;
    char taken;

    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        take(f, "d");
        if (write(ends[1], "t", 1) == 1)
            usleep(100000);
        _exit(0);
    }
    assert_int_equal(read(ends[0], &taken, 1), 1);
    leave(take(f, "d"), false);
    assert_int_equal(waitpid(child, &status, 0), child);
    close(ends[0]);
    close(ends[1]);
}

static void test_room(void **state)
{
    struct fixture *f = *state;
    struct target_dir *t = take(f, "d");
    static const char *const bad[] = {"", "-1", "100", "nan", "5%", "auto5"};
    uint64_t all = 0, less = 0, none = 1, automatic = 0, fits = 0;
    double share = 0;
    struct err e = {0};

    assert_int_equal(target_room(target_dir_fd(t), 0, &all, &e), 0);
    assert_int_equal(target_room(target_dir_fd(t), 0.01, &less, &e), 0);
    assert_int_equal(target_room(target_dir_fd(t), 1, &none, &e), 0);
    assert_true(all > 0 && less < all);
    assert_int_equal(target_room(target_dir_fd(t), TARGET_RESERVE_AUTO, &automatic, &e), 0);
    assert_true(automatic >= all / 2 - all / 100 && automatic < all); /* others write here too */
    assert_int_equal(target_fits(in(f, "d"), &fits, &e), 0);
    assert_true(fits < automatic + all / 100 && fits > automatic / 100 * 95);
    assert_int_equal(target_fits(in(f, "not/there"), &fits, &e), -ENOENT);
    assert_int_equal(target_fits(in(f, "missing"), &fits, &e), 0); /* kvreplay will make it */
    assert_int_equal(target_reserve_parse("auto", &share, &e), 0);
    assert_true(share == TARGET_RESERVE_AUTO);
    assert_int_equal(target_reserve_parse("12.5", &share, &e), 0);
    assert_true(share == 0.125);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(target_reserve_parse(bad[i], &share, &e), -EINVAL);
    assert_int_equal(none, 0);
    assert_int_equal(target_room(-1, 0, &all, &e), -EBADF);
    leave(t, false);
}

static void test_device(void **state)
{
    struct fixture *f = *state;
    struct target_dir *t = take(f, "d");
    struct target_counters c, no = {0};
    struct target_device d;
    const struct target_device *const one = &d;

    target_device_find(target_dir_fd(t), &d);
    assert_int_equal(target_devices_count(&one, 1, &c), d.counted ? 0 : -ENODEV);
    if (d.counted)
        assert_true(d.name[0] && c.read_bytes > 0 && c.read_bytes >= c.read_ios * 512);
    target_device_find(-1, &d);
    assert_string_equal(d.name, "");
    assert_false(d.counted);
    assert_int_equal(target_devices_count(&one, 1, &no), -ENODEV);
    target_direct_io(target_dir_fd(t)); /* either answer, nothing left behind */
    leave(t, false);
    assert_false(there(f, "d"));
}

/* Opens d as a run of kvreplay does. */
static int take_as(struct fixture *f, struct target_dir **t, bool keeps, bool destroys,
                   struct err *e)
{
    const struct target_dir_opts o = {.path = in(f, "d"),
                                      .program = "kvreplay",
                                      .keeps = keeps,
                                      .adopts = true,
                                      .destroys = destroys,
                                      .data_seed = 12345};

    *t = NULL;
    return target_dir_open(t, &o, e);
}

/* Kept files stay when a run that does not keep comes, and when one that keeps dies. */
static void test_kept_stays(void **state)
{
    struct fixture *f = *state;
    struct err e = {0};
    struct target_dir *t;
    char text[600];
    int status;

    assert_int_equal(take_as(f, &t, true, false, &e), 0);
    get(f, "d/.kvtrace", text, sizeof(text));
    assert_non_null(strstr(text, "\nkeeps 1\n"));
    assert_non_null(strstr(text, "\nseed 12345\n"));
    assert_int_equal(mkdir(in(f, "d/ab"), 0755), 0);
    put(f, "d/ab/" HEX ".kv", "12345");
    put(f, "d/fill-1.kv", "12345");
    leave(t, true);
    get(f, "d/.kvtrace", text, sizeof(text));
    assert_int_equal(strncmp(text, "kvtrace kept 2\nprogram kvreplay\n", 32), 0);
    assert_non_null(strstr(text, "\ncreated 1\n"));
    assert_int_equal(strlen(text), 512); /* written over in one piece */

    assert_int_equal(take_as(f, &t, false, false, &e), -EEXIST);
    assert_int_equal(e.class, ERR_TARGET);
    assert_non_null(strstr(e.what, "2 objects (10 B)"));
    assert_non_null(strstr(e.what, "--destroy-data"));
    assert_true(there(f, "d/ab/" HEX ".kv"));

    for (int times = 0; times < 2; times++) { /* read only, and killed; then unsure for good */
        pid_t child = fork();

        if (child == 0)
            _exit(take_as(f, &t, true, false, &e) == 0 ? 0 : 1);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_int_equal(take_as(f, &t, false, false, &e), -EEXIST);
        assert_int_equal(take_as(f, &t, true, false, &e), 0);
        assert_true(target_dir_was_kept(t) && target_dir_unsure(t));
        assert_true(there(f, "d/ab/" HEX ".kv"));
        leave(t, true);
    }
    assert_int_equal(take_as(f, &t, false, true, &e), 0);
    assert_true(target_dir_was_kept(t) && target_dir_unsure(t));
    leave(t, false);
    assert_false(there(f, "d"));
}

/* Nothing but a whole text of ours is a marker: a directory with one may be emptied. */
static void test_markers(void **state)
{
    static const struct {
        const char *text;
        size_t len;
    } bad[] = {{"\0running 1\nkvreplay\n", 20},
               {"\0", 1},
               {"\n", 1},
               {"kept\n", 5},
               {"kept\nkvreplay", 13},
               {"kept\nkvreplay\nthesis\n", 22},
               {"kept\n../../etc\n", 16},
               {"running \nkvreplay\n", 18},
               {"running x\nkvreplay\n", 19},
               {"running 1\nkvreplay\n\0", 20}};
    struct fixture *f = *state;

    assert_int_equal(mkdir(in(f, "d"), 0755), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        FILE *out = fopen(in(f, "d/.kvtrace"), "w");

        assert_int_equal(fwrite(bad[i].text, bad[i].len, 1, out), 1);
        assert_int_equal(fclose(out), 0);
        put(f, "d/slab.kv", "not ours");
        refused(in(f, "d"), -EACCES, "not written by kvtrace");
        assert_true(there(f, "d/slab.kv"));
    }
    put(f, "d/.kvtrace", "running 999999999\nkvreplay\n");
    char marker[PATH_CAP];
    snprintf(marker, sizeof(marker), "%s", in(f, "d/.kvtrace"));
    assert_int_equal(link(marker, in(f, "other")), 0);
    refused(in(f, "d"), -EACCES, "hard link");
    unlink(in(f, "other"));
    if (geteuid() == 0) {
        assert_int_equal(chown(marker, 4711, 4711), 0);
        refused(in(f, "d"), -EACCES, "another user");
    }
    unlink(marker);
    unlink(in(f, "d/slab.kv"));
    assert_int_equal(rmdir(in(f, "d")), 0);
}

/* Root takes no folder of another user, and makes none in it. */
static void test_others(void **state)
{
    struct fixture *f = *state;
    struct target_dir *t;

    if (geteuid() != 0)
        skip();
    unsetenv("SUDO_UID");
    assert_int_equal(mkdir(in(f, "d"), 0755), 0);
    assert_int_equal(chown(f->path, 4711, 4711), 0);
    refused(in(f, "d"), -EACCES, "belongs to another user (number 4711)");
    refused(in(f, "d/new"), -EACCES, "belongs to another user (number 4711)");
    assert_false(there(f, "d/new"));
    setenv("SUDO_UID", "4711", 1); /* who called sudo is no other user */
    t = take(f, "d");
    leave(t, false);
    unsetenv("SUDO_UID");
    assert_int_equal(rmdir(in(f, "d")), 0);
}

/* Four loops of short runs on one directory: each waits for its turn. */
static void test_loops(void **state)
{
    enum {
        LOOPS = 4,
        RUNS = 30
    };
    struct fixture *f = *state;
    pid_t child[LOOPS];
    int status;

    for (int i = 0; i < LOOPS; i++) {
        child[i] = fork();
        for (int run = 0; child[i] == 0 && run < RUNS; run++) {
            struct target_dir *t;
            struct err e = {0};

            if (take_as(f, &t, false, false, &e) < 0) {
                if (strstr(e.what,
                           "in use by kvreplay (process")) /* for a second: a machine under load */
                    continue;
                fprintf(stderr, "%s\n", e.what);
                _exit(1);
            }
            if (target_dir_close(t, false, &e) < 0)
                _exit(2);
        }
        if (child[i] == 0)
            _exit(0);
    }
    for (int i = 0; i < LOOPS; i++) {
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_int_equal(status, 0);
    }
    rmdir(in(f, "d"));
}

/* A second process of the run, which finds another directory, that of another run, and the right
 * one. */
static void test_joined(void **state)
{
    struct fixture *f = *state;
    struct target_dir *second = NULL;
    struct err e = {0};

    assert_int_equal(target_dir_join(&second, in(f, "d"), 7, &e), -ENOENT);
    struct target_dir *first = take(f, "d");
    assert_int_equal(target_dir_join(&second, in(f, "d"), 8, &e), -ENOENT);
    assert_int_equal(e.class, ERR_TARGET);
    assert_null(second);
    assert_int_equal(target_dir_join(&second, in(f, "d"), 7, &e), 0);
    assert_false(target_dir_was_kept(second));
    assert_int_equal(target_dir_close(second, false, &e), 0);
    assert_true(there(f, "d/.kvtrace"));
    assert_int_equal(target_dir_close(first, true, &e), 0);
    assert_int_equal(target_dir_join(&second, in(f, "d"), 7, &e), -ENOENT); /* kept */
    assert_int_equal(target_dir_close(take(f, "d"), false, &e), 0);
    rmdir(in(f, "d"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_system_paths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_links_and_home, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_created_and_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_found_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_foreign, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dead_owner, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_in_use, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_killed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lets_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_kept_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_markers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_loops, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_device, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_joined, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
