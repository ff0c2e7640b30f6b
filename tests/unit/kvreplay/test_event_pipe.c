/* The events that kvtrace-trace writes to its pipe: all come, in order, however they are cut; a
 * pipe that ends early or holds something else is an error, never the end of the recording. A bug
 * looked like a helper that was killed, and figures of half a run. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kvreplay/device/event_pipe.h"

enum {
    EVENTS = 5000,
    RECORD = sizeof(struct request_event)
};

/* A thread that writes bytes in pieces, and closes the pipe. */
struct writer {
    const unsigned char *bytes;
    size_t len, piece;
    int fd;
};

static void *write_pieces(void *arg)
{
    struct writer *w = arg;

    for (size_t at = 0; at < w->len; at += w->piece) {
        size_t n = w->len - at < w->piece ? w->len - at : w->piece;
        if (write(w->fd, w->bytes + at, n) != (ssize_t)n)
            break;
    }
    close(w->fd);
    return NULL;
}

static int count(void *ctx, const struct request_event *event)
{
    uint64_t *next = ctx;

    assert_int_equal(event->sector, *next);
    ++*next;
    return 0;
}

static int refuse(void *ctx, const struct request_event *event)
{
    (void)ctx;
    (void)event;
    return -ENOMEM;
}

/* A mark before the events, one in their middle, and the end. */
static size_t recording(unsigned char *bytes)
{
    const struct block_events_counts counts = {.lost = 3, .worker_calls = 9};
    struct request_event e;
    size_t len = 0;

    for (unsigned i = 0; i < EVENTS; i++) {
        if (i == 0 || i == EVENTS / 2) {
            e = (struct request_event){.kind = i ? BLOCK_MARK_UNTIL : BLOCK_MARK_READY,
                                       .time_ns = 1000 + i};
            memcpy(bytes + len, &e, RECORD);
            len += RECORD;
        }
        e = (struct request_event){.sector = i, .kind = (uint8_t)(i % 3), .what = i % 2};
        memcpy(bytes + len, &e, RECORD);
        len += RECORD;
    }
    e = (struct request_event){.kind = BLOCK_MARK_END};
    memcpy(bytes + len, &e, RECORD);
    memcpy(bytes + len + RECORD, &counts, sizeof(counts));
    return len + RECORD + sizeof(counts);
}

static struct event_pipe *start(struct writer *w, pthread_t *thread)
{
    struct event_pipe *p = calloc(1, sizeof(*p));
    int fd[2];

    assert_non_null(p);
    assert_int_equal(pipe(fd), 0);
    p->fd = fd[0];
    w->fd = fd[1];
    assert_int_equal(pthread_create(thread, NULL, write_pieces, w), 0);
    return p;
}

static void finish(struct event_pipe *p, pthread_t thread)
{
    char byte;

    while (read(p->fd, &byte, 1) == 1)
        ;
    pthread_join(thread, NULL);
    close(p->fd);
    free(p);
}

static unsigned char bytes[(EVENTS + 8) * sizeof(struct request_event)];

static void pieces_of_any_size(void **state)
{
    static const size_t pieces[] = {1, 7, RECORD - 1, RECORD, 1000, 65536, sizeof(bytes)};
    size_t len = recording(bytes);

    (void)state;
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        struct writer w = {.bytes = bytes, .len = len, .piece = pieces[i]};
        pthread_t thread;
        struct event_pipe *p = start(&w, &thread);
        uint64_t next = 0;
        int64_t until_ns;
        assert_int_equal(event_pipe_read(p, count, &next, &until_ns), BLOCK_MARK_READY);
        assert_true(until_ns == 1000 && next == 0 && !p->ended);
        assert_int_equal(event_pipe_read(p, count, &next, &until_ns), BLOCK_MARK_UNTIL);
        assert_true(until_ns == 1000 + EVENTS / 2 && next == EVENTS / 2);
        assert_int_equal(event_pipe_read(p, count, &next, &until_ns), BLOCK_MARK_END);
        assert_true(until_ns == INT64_MAX && next == EVENTS && p->ended);
        assert_true(p->counts.lost == 3 && p->counts.worker_calls == 9);
        finish(p, thread);
    }
}

static int read_to_end(struct event_pipe *p)
{
    uint64_t next = 0;
    int64_t until_ns;
    int mark;

    do
        mark = event_pipe_read(p, count, &next, &until_ns);
    while (mark > 0 && mark != BLOCK_MARK_END);
    return mark;
}

static void cut_anywhere(void **state)
{
    size_t len = recording(bytes);

    (void)state;
    for (size_t cut = 0; cut < len; cut += cut < 200 || cut > len - 200 ? 1 : 4999) {
        struct writer w = {.bytes = bytes, .len = cut, .piece = cut ? cut : 1};
        pthread_t thread;
        struct event_pipe *p = start(&w, &thread);
        assert_int_equal(read_to_end(p), -EPIPE);
        assert_false(p->ended);
        finish(p, thread);
    }
}

static void what_is_no_event(void **state)
{
    size_t kind = offsetof(struct request_event, kind), what = offsetof(struct request_event, what);

    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        struct writer w = {.bytes = bytes, .len = recording(bytes), .piece = 4096};
        bytes[RECORD + (k ? what : kind)] = 77;
        pthread_t thread;
        struct event_pipe *p = start(&w, &thread);
        assert_int_equal(read_to_end(p), -EBADMSG);
        finish(p, thread);
    }
    struct writer w = {.bytes = bytes, .len = recording(bytes), .piece = 4096};
    pthread_t thread;
    struct event_pipe *p = start(&w, &thread);
    int64_t until_ns;
    assert_int_equal(event_pipe_read(p, refuse, NULL, &until_ns), BLOCK_MARK_READY);
    assert_int_equal(event_pipe_read(p, refuse, NULL, &until_ns), -ENOMEM);
    finish(p, thread);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_of_any_size),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(what_is_no_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
