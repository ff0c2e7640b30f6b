/* Pipes and FIFOs with nobody at the other end: the opening and the reading wait until a signal
 * comes, the writing until a second one; a reader or writer that does come is served, all bytes are
 * moved, and a signal that came before the call counts as well. Each case with a signal runs in a
 * child, because the flag cannot be lowered again. A bug looked like a program that needs a second
 * Ctrl-C, or one in whose threads no signal is ever heard. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/descriptors.h"
#include "lib/base/stop.h"

static char folder[] = "/tmp/kvtrace-fifo-XXXXXX", fifo[64], plain[64];

static int make(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
    snprintf(plain, sizeof(plain), "%s/plain", folder);
    return mkfifo(fifo, 0600);
}

static int unmake(void **state)
{
    (void)state;
    unlink(plain);
    unlink(fifo);
    return rmdir(folder);
}

static void in_child(int (*body)(void))
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(100);
        _exit(stop_install(NULL, NULL) ? 100 : body());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void rest(int ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

/* A child that sends so many signals, far enough from each other to count. It may end after the
 * next test has begun, so it holds no end of the FIFO. */
static void signals_later(int count)
{
    pid_t me = getpid();
    if (fork() == 0) {
        for (int fd = 3; fd < 32; fd++)
            close(fd);
        for (int i = 0; i < count; i++) {
            rest(STOP_TWICE_MS + 50);
            kill(me, SIGHUP);
        }
        _exit(0);
    }
}

static int open_to_read(void)
{
    signals_later(1);
    return descriptors_open(fifo, O_RDONLY) == -EINTR && stop_signal() ? 0 : 1;
}

static int open_after_a_signal(void)
{
    raise(SIGTERM);
    return descriptors_open(fifo, O_RDONLY) == -EINTR && descriptors_open(fifo, O_WRONLY) == -EINTR
               ? 0
               : 1;
}

static int open_to_write(void)
{
    signals_later(1);
    return descriptors_open(fifo, O_WRONLY) == -EINTR && stop_signal() ? 0 : 1;
}

/* Its writer is there. */
static int read_silence(void)
{
    char c;
    int keeper = open(fifo, O_RDWR), fd = descriptors_open(fifo, O_RDONLY);
    if (keeper < 0 || fd < 0 || fcntl(fd, F_GETFL) & O_NONBLOCK)
        return 1;
    signals_later(1);
    return descriptors_read(fd, &c, 1) == -EINTR && stop_signal() ? 0 : 2;
}

static int write_to_nobody(void)
{
    static char much[1 << 20];
    int keeper = open(fifo, O_RDWR), fd = descriptors_open(fifo, O_WRONLY);
    if (keeper < 0 || fd < 0)
        return 1;
    signals_later(2);
    return descriptors_write(fd, much, sizeof(much)) == -EINTR && stop_abandons() ? 0 : 2;
}

static const int as_output = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;

static int open_output(void)
{
    signals_later(1);
    return descriptors_open(fifo, as_output) == -EINTR && stop_signal() ? 0 : 1;
}

static void a_signal_ends_the_wait(void **state)
{
    (void)state;
    in_child(open_to_read);
    in_child(open_after_a_signal);
    in_child(open_to_write);
    in_child(open_output);
    in_child(read_silence);
    in_child(write_to_nobody);
}

static bool waits(pid_t pid)
{
    char path[40], state = '?';
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    int got = fscanf(f, "%*d (%*[^)]) %c", &state);
    fclose(f);
    return got == 1 && state == 'S';
}

static int open_what_is_removed(void)
{
    pid_t opens = getpid();
    if (fork() == 0) {
        for (int looks = 0; looks < 3; looks = waits(opens) ? looks + 1 : 0)
            rest(20);
        unlink(fifo);
        _exit(0);
    }
    return descriptors_open(fifo, as_output) == -ENOENT && access(fifo, F_OK) < 0 ? 0 : 1;
}

/* No file comes into its place, with whatever mode. */
static void a_fifo_that_is_removed_is_an_error(void **state)
{
    (void)state;
    in_child(open_what_is_removed);
    assert_int_equal(mkfifo(fifo, 0600), 0);
}

/* A slow reader, which one signal does not disturb, gets everything. */
static int write_to_a_slow_reader(void)
{
    static unsigned char much[300000], got[4096];
    for (size_t i = 0; i < sizeof(much); i++)
        much[i] = (unsigned char)(i * 7 >> 3);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = descriptors_open(fifo, O_RDONLY);
        size_t at = 0;
        for (ssize_t n; fd >= 0 && (n = descriptors_read(fd, got, sizeof(got))) > 0;
             at += (size_t)n) {
            if (memcmp(got, much + at, (size_t)n) != 0)
                _exit(1);
            if (at < 30000)
                rest(30);
        }
        _exit(at == sizeof(much) ? 0 : 2);
    }
    int status = -1, fd = descriptors_open(fifo, O_WRONLY);
    if (fd < 0)
        return 1;
    signals_later(1);
    if (descriptors_write(fd, much, sizeof(much)) != 0)
        return 2;
    close(fd);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) * 10 : 3;
}

static void all_bytes_are_moved(void **state)
{
    (void)state;
    in_child(write_to_a_slow_reader);
}

static void a_writer_that_had_nothing(void **state)
{
    char c;
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        rest(50);
        _exit(close(open(fifo, O_WRONLY)));
    }
    int fd = descriptors_open(fifo, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(descriptors_read(fd, &c, 1), 0);
    close(fd);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void other_files(void **state)
{
    char text[8];
    (void)state;
    int fd = descriptors_open(plain, O_WRONLY | O_CREAT | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(descriptors_write(fd, "text", 4), 0);
    close(fd);
    fd = descriptors_open(plain, O_RDONLY);
    assert_int_equal(descriptors_read(fd, text, sizeof(text)), 4);
    assert_int_equal(descriptors_read(fd, text, sizeof(text)), 0);
    assert_int_equal(descriptors_write(fd, "text", 4), -EBADF);
    close(fd);
    assert_int_equal(descriptors_open("/nonexistent/file", O_RDONLY), -ENOENT);
    fd = descriptors_open("/dev/full", O_WRONLY);
    assert_int_equal(descriptors_write(fd, "text", 4), -ENOSPC);
    close(fd);
    fd = descriptors_open("/dev/null", O_WRONLY);
    assert_int_equal(descriptors_write(fd, "text", 4), 0);
    close(fd);
}

/* The reader went away. */
static void a_broken_pipe(void **state)
{
    int ends[2];
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    assert_int_equal(descriptors_write(ends[1], "text", 4), -EPIPE);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_files),
        cmocka_unit_test(a_writer_that_had_nothing),
        cmocka_unit_test(a_broken_pipe),
        cmocka_unit_test(all_bytes_are_moved),
        cmocka_unit_test(a_signal_ends_the_wait),
        cmocka_unit_test(a_fifo_that_is_removed_is_an_error),
    };
    return cmocka_run_group_tests(tests, make, unmake);
}
