/* A page of the kernel's event io_uring_queue_async_work, recorded with buffered writes on ext4,
 * against the kernel's own text of it: reads, writes and calls, of the owner's threads only, also
 * of one that has ended. Formats of other kernels are refused. A bug looked like no I/O that was
 * given to a worker where it was not known. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/drive/ring_page.h"
#include "lib/drive/uring_workers.h"

#define DATA "tests/data/"

enum {
    PAGE = 4096,
    EVENT_MAX = 128,
    OPCODE_AT = 32, /* in the recorded format */
    PID_AT = 4
};

static size_t load(const char *path, void *to, size_t room)
{
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = fread(to, 1, room - 1, f);
    ((char *)to)[n] = '\0';
    fclose(f);
    return n;
}

/* False where the numbers of threads are others than in events: in a container. */
static bool learn(struct uring_workers *w)
{
    char format[PAGE];

    load(DATA "uring_workers/format", format, sizeof(format));
    int rc = uring_workers_learn(w, getpid(), format);
    assert_true(rc == 0 || rc == -EXDEV);
    assert_int_equal(w->id, 2146);
    return rc == 0;
}

static int give(struct uring_workers *w, uint32_t tid, unsigned char opcode)
{
    unsigned char event[EVENT_MAX] = {0};

    memcpy(event + PID_AT, &tid, sizeof(tid));
    event[OPCODE_AT] = opcode;
    return uring_workers_take(w, event, sizeof(event));
}

static enum uring_given given_by_name(const char *name)
{
    return strncmp(name, "READ", 4) == 0    ? URING_GIVEN_READ
           : strncmp(name, "WRITE", 5) == 0 ? URING_GIVEN_WRITE
                                            : URING_GIVEN_CALL;
}

static void page_against_the_kernels_text(void **state)
{
    static unsigned char bytes[2 * PAGE];
    struct ring_page_format format;
    struct ring_page page;
    struct ring_event e;
    struct uring_workers w;
    char text[PAGE], word[32];
    unsigned tid, given[URING_GIVEN_CALL + 1] = {0};

    (void)state;
    learn(&w);
    load(DATA "block_events/header_page", text, sizeof(text));
    assert_int_equal(ring_page_format(&format, text), 0);
    assert_int_equal(load(DATA "uring_workers/page", bytes, sizeof(bytes)), PAGE);
    assert_int_equal(ring_page_open(&page, &format, bytes, PAGE), 0);
    FILE *lines = fopen(DATA "uring_workers/text", "r");
    assert_non_null(lines);
    while (fscanf(lines, "%u %31s", &tid, word) == 2) {
        unsigned char event[EVENT_MAX];
        const uint32_t self = (uint32_t)getpid();
        uint32_t told;
        assert_true(ring_page_next(&page, &e) && e.len <= sizeof(event));
        memcpy(event, e.data, e.len);
        memcpy(&told, event + PID_AT, sizeof(told));
        assert_int_equal(told, tid);
        memcpy(event + PID_AT, &self, sizeof(self)); /* as if this process had given it */
        int what = uring_workers_take(&w, event, e.len);
        assert_int_equal(what, given_by_name(word));
        given[what]++;
    }
    fclose(lines);
    assert_false(ring_page_next(&page, &e) || page.broken);
    assert_true(given[URING_GIVEN_READ] == 0 && given[URING_GIVEN_WRITE] == 4 &&
                given[URING_GIVEN_CALL] == 9);
}

static void operations(void **state)
{
    static const unsigned char reads[] = {1, 4, 22}, writes[] = {2, 5, 23}, calls[] = {3, 17, 18};
    struct uring_workers w;
    uint32_t self = (uint32_t)getpid();

    (void)state;
    learn(&w);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(give(&w, self, reads[i]), URING_GIVEN_READ);
        assert_int_equal(give(&w, self, writes[i]), URING_GIVEN_WRITE);
        assert_int_equal(give(&w, self, calls[i]), URING_GIVEN_CALL);
    }
    assert_int_equal(give(&w, 1, 22), URING_GIVEN_NOT_OURS);
    assert_int_equal(give(&w, UINT32_MAX, 22), URING_GIVEN_NOT_OURS);
    const unsigned char event[EVENT_MAX] = {0};
    for (size_t len = 0; len <= OPCODE_AT; len++)
        assert_int_equal(uring_workers_take(&w, event, len), -EINVAL);
}

struct thread {
    struct uring_workers *w;
    uint32_t tid;
};

static void *give_one(void *arg)
{
    struct thread *t = arg;

    t->tid = (uint32_t)gettid();
    return (void *)(intptr_t)give(t->w, t->tid, 23);
}

static void threads_that_end(void **state)
{
    struct uring_workers w;
    struct thread t = {.w = &w};
    pthread_t thread;
    void *given;

    (void)state;
    learn(&w);
    for (unsigned i = 0; i < 2 * URING_WORKERS_THREADS; i++) {
        assert_int_equal(pthread_create(&thread, NULL, give_one, &t), 0);
        assert_int_equal(pthread_join(thread, &given), 0);
        assert_int_equal((intptr_t)given, URING_GIVEN_WRITE);
        if (i == 0)
            assert_int_equal(give(&w, t.tid, 22), URING_GIVEN_READ);
    }
    assert_true(w.threads <= URING_WORKERS_THREADS);
}

static void other_formats(void **state)
{
    /* Older kernels tell no operation. */
    static const char old[] = "name: io_uring_queue_async_work\nID: 1200\nformat:\n"
                              "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                              "\tfield:void * ctx;\toffset:8;\tsize:8;\tsigned:0;\n"
                              "\tfield:int rw;\toffset:16;\tsize:4;\tsigned:1;\n"
                              "\tfield:void * req;\toffset:24;\tsize:8;\tsigned:0;\n"
                              "\tfield:unsigned int flags;\toffset:40;\tsize:4;\tsigned:0;\n";
    static const char no_id[] = "name: io_uring_queue_async_work\nformat:\n"
                                "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
                                "\tfield:u8 opcode;\toffset:32;\tsize:1;\tsigned:0;\n";
    struct uring_workers w;

    (void)state;
    assert_int_equal(uring_workers_learn(&w, getpid(), old), -ENOENT);
    assert_int_equal(uring_workers_learn(&w, getpid(), no_id), -EINVAL);
    assert_int_equal(uring_workers_learn(&w, getpid(), ""), -EINVAL);
}

/* In a namespace of its own, a process sees other numbers than events have. */
static void another_namespace(void **state)
{
    int status = 0;
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        struct uring_workers w;
        if (unshare(CLONE_NEWPID) < 0)
            _exit(2);
        pid_t inner = fork();
        if (inner < 0)
            _exit(2);
        if (inner == 0) {
            char format[PAGE];
            load(DATA "uring_workers/format", format, sizeof(format));
            _exit(uring_workers_learn(&w, getpid(), format) != -EXDEV);
        }
        _exit(waitpid(inner, &status, 0) == inner && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    if (WEXITSTATUS(status) == 2) /* no rights to make one */
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_against_the_kernels_text),
        cmocka_unit_test(operations),
        cmocka_unit_test(threads_that_end),
        cmocka_unit_test(other_formats),
        cmocka_unit_test(another_namespace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
