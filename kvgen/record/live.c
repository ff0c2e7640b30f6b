/* The one file that knows libzmq, which is optional. Subscribes to the publishers of engines and
 * gives their messages to kv_message.c, after those that were lost and that a replay socket still
 * holds. One thread, besides libzmq's own. */
#include "kvgen/record/live.h"

#include <errno.h>
#include <string.h>

bool live_is_endpoint(const char *text)
{
    return strncmp(text, "tcp://", 6) == 0 || strncmp(text, "ipc://", 6) == 0;
}

#if KVTRACE_ZMQ
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zmq.h>

#include "kvgen/record/bytes_in.h"
#include "kvgen/record/kv_message.h"
#include "kvgen/record/readers.h"
#include "lib/base/clock.h"
#include "lib/base/keymap.h"
#include "lib/base/memory.h"
#include "lib/base/stop.h"
#include "lib/thread/thread.h"

#define LATE_VISIBILITY /* seen, as zmq.h declares them */
#include "lib/base/late.h"

#define RETURN(X)                                                                                  \
    X(zmq_bind, int, (void *socket, const char *endpoint), (socket, endpoint))                     \
    X(zmq_close, int, (void *socket), (socket))                                                    \
    X(zmq_connect, int, (void *socket, const char *endpoint), (socket, endpoint))                  \
    X(zmq_ctx_new, void *, (void), ())                                                             \
    X(zmq_ctx_term, int, (void *context), (context))                                               \
    X(zmq_disconnect, int, (void *socket, const char *endpoint), (socket, endpoint))               \
    X(zmq_errno, int, (void), ())                                                                  \
    X(zmq_msg_close, int, (zmq_msg_t * message), (message))                                        \
    X(zmq_msg_data, void *, (zmq_msg_t * message), (message))                                      \
    X(zmq_msg_init, int, (zmq_msg_t * message), (message))                                         \
    X(zmq_msg_more, int, (const zmq_msg_t *message), (message))                                    \
    X(zmq_msg_recv, int, (zmq_msg_t * message, void *socket, int flags), (message, socket, flags)) \
    X(zmq_msg_size, size_t, (const zmq_msg_t *message), (message))                                 \
    X(zmq_poll, int, (zmq_pollitem_t * items, int count, long timeout_ms),                         \
      (items, count, timeout_ms))                                                                  \
    X(zmq_send, int, (void *socket, const void *data, size_t len, int flags),                      \
      (socket, data, len, flags))                                                                  \
    X(zmq_setsockopt, int, (void *socket, int option, const void *value, size_t len),              \
      (socket, option, value, len))                                                                \
    X(zmq_socket, void *, (void *context, int type), (context, type))                              \
    X(zmq_socket_monitor, int, (void *socket, const char *endpoint, int events),                   \
      (socket, endpoint, events))                                                                  \
    X(zmq_strerror, const char *, (int number), (number))

LATE_LIBRARY(libzmq_load, LATE_FILE(KVTRACE_ZMQ_FILE), "live KV events need it", RETURN, LATE_NONE,
             LATE_NONE)

enum {
    MAX_SOCKETS = 64,
    MAX_ENDPOINT = 256,
    /* Messages that libzmq holds for each connection, since it does not bound their bytes. Never
     * changed: libzmq's thread hears only now and then of what was read, and one that is given a
     * lower bound meanwhile may stop for ever. */
    HIGH_WATER = 8,
    QUEUE_BYTES = 64 << 20,      /* of the answers of a replay socket, about */
    UNFINISHED_BYTES = 16 << 20, /* beside a message of the largest size that has not come whole */
    POLL_MS = 50,
    LOOK_MS = 250,            /* how often what waits may go on */
    REPLAY_MS = 3000,         /* an engine answers between its own messages */
    SILENT_MS = 60000,        /* how long a replay socket that did not answer is not asked */
    LAST_MS = 50,             /* in which the last messages of a lost connection arrive */
    AGAIN_MS = 1000,          /* between two attempts to connect to who sent what he must not */
    DRAIN_MS = 1000,          /* what came before a signal is still read, but no flood */
    MAX_PUBLISHERS = 1 << 16, /* that are kept apart */
    MAX_TOPIC = 4096,
    PARTS = 4
};
#define NS_PER_MS INT64_C(1000000)
/* Clocks of other hosts may differ, but a time that is far ahead would hold up those of all others.
 */
#define AHEAD_NS (INT64_C(3600) * 1000 * NS_PER_MS)

/* Events of a socket by which a connection is lost. Older versions do not tell all of them. */
#ifdef ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL
#define LOSSES                                                                                     \
    (ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |                               \
     ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
#else
#define LOSSES ZMQ_EVENT_DISCONNECTED
#endif

/* A message that waits for its turn. */
struct held {
    struct hash128 publisher;
    uint64_t seq;
    unsigned char *payload; /* NULL: its frames are damaged */
    size_t len;
};

/* The connections to one endpoint. */
struct line {
    void *sub;
    void *monitor;                   /* tells when the connection is lost; NULL: others connect */
    char endpoint[MAX_ENDPOINT];     /* of sub */
    char gap_endpoint[MAX_ENDPOINT]; /* of its replay socket; "": there is none */
    int64_t lost_ns;         /* when it was seen that the connection is lost; 0: it is not */
    int64_t again_ns;        /* when it may be connected to again */
    int64_t silent_until_ns; /* the replay socket did not answer */
};

struct live {
    struct batch_reader base; /* first */
    void *context;
    int64_t message_bytes;
    struct line line[MAX_SOCKETS];
    zmq_pollitem_t poll[MAX_SOCKETS];
    unsigned subs, turn;     /* turn: the socket that is asked first */
    int64_t end_ns;          /* 0: no limit */
    int64_t stopped_ns;      /* when a signal was seen; 0: none came */
    int64_t looked_ns;       /* when it last said that there is none now */
    struct keymap *expected; /* next number of each publisher */
    struct held *held;       /* held[at..count) come first */
    size_t at, count, cap;
    uint64_t held_bytes;
    int64_t watched_ns; /* when it last looked at its memory */
    bool received;      /* a message, since then */
    uint64_t resident;  /* memory of the process, when one had been received; 0: not known yet */
};

static int failed(struct err *e, const char *where, const char *what)
{
    return err_set(e, -EINVAL, ERR_INPUT, where, "%s: %s", what, zmq_strerror(zmq_errno()));
}

/* ---- messages ---- */

struct parts {
    zmq_msg_t part[PARTS];
    unsigned count;
};

static void close_parts(struct parts *p)
{
    for (unsigned i = 0; i < p->count; i++)
        zmq_msg_close(&p->part[i]);
    p->count = 0;
}

/* All parts of a message without waiting: 1; 0: there is none. Parts beyond PARTS are dropped. */
static int receive(void *socket, struct parts *p)
{
    int more = 1;
    p->count = 0;
    while (more) {
        zmq_msg_t m;
        zmq_msg_init(&m);
        if (zmq_msg_recv(&m, socket, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(&m);
            close_parts(p);
            return 0;
        }
        more = zmq_msg_more(&m);
        if (p->count < PARTS)
            p->part[p->count++] = m;
        else
            zmq_msg_close(&m);
    }
    return 1;
}

static const unsigned char *data(struct parts *p, unsigned i)
{
    return zmq_msg_data(&p->part[i]);
}

static size_t size(struct parts *p, unsigned i)
{
    return zmq_msg_size(&p->part[i]);
}

/* Keeps a copy of a payload. 0 or -ENOMEM. */
static int hold(struct live *l, struct hash128 publisher, uint64_t seq, const void *p, size_t len)
{
    if (memory_room(&l->held, &l->cap, l->count, sizeof(*l->held), 64) < 0)
        return -ENOMEM;
    unsigned char *copy = malloc(len > 0 ? len : 1);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, p, len);
    l->held[l->count++] = (struct held){publisher, seq, copy, len};
    l->held_bytes += len;
    return 0;
}

static bool ends_now(const struct live *l)
{
    return stop_asks() || (l->end_ns > 0 && clock_now_ns() >= l->end_ns);
}

/* ---- sockets ---- */

/* Opens a socket of a type for an endpoint. */
static int open_socket(const struct live *l, void **q, int type, const char *endpoint, bool binds,
                       struct err *e)
{
    int none = 0, high = HIGH_WATER;
    void *s = zmq_socket(l->context, type);
    if (!s)
        return failed(e, endpoint, "cannot create a socket");
    *q = s;
    zmq_setsockopt(s, ZMQ_RCVHWM, &high, sizeof(high));
    zmq_setsockopt(s, ZMQ_LINGER, &none, sizeof(none));
    zmq_setsockopt(s, ZMQ_MAXMSGSIZE, &l->message_bytes, sizeof(l->message_bytes));
    if ((type == ZMQ_SUB && zmq_setsockopt(s, ZMQ_SUBSCRIBE, "", 0) < 0) ||
        (binds ? zmq_bind(s, endpoint) : zmq_connect(s, endpoint)) < 0) {
        int rc = failed(e, endpoint, binds ? "cannot be bound" : "cannot be connected to");
        zmq_close(s);
        *q = NULL;
        return rc;
    }
    return 0;
}

/* ---- what was lost ---- */

/* Messages that are asked for again, and what became of that. */
struct gap {
    unsigned source;
    struct hash128 publisher;
    uint64_t first, end; /* numbers from first up to, not including, end */
    bool answered;
};

/* An answer: an empty part, in newer versions the topic, the number, the payload; the last one has
 * the number -1. Holds what is asked for. 0 or -ENOMEM. */
static int take_answer(struct live *l, struct gap *g, struct parts *p)
{
    unsigned at = p->count == PARTS ? 2 : 1; /* of the number */
    g->answered = true;
    if (p->count <= at + 1 || size(p, at) != 8)
        return 0;
    uint64_t seq = bytes_in_number(data(p, at), 8);
    if (seq == UINT64_MAX) {
        g->end = 0; /* it has no more */
        return 0;
    }
    if (at == 2) {
        struct hash128 named =
            names_publisher(&l->base.o->names, g->source, data(p, 1), size(p, 1));
        if (memcmp(&named, &g->publisher, sizeof(named)) != 0)
            return 0;
    }
    if (seq < g->first || seq >= g->end)
        return 0;
    g->first = seq + 1;
    return hold(l, g->publisher, seq, data(p, at + 1), size(p, at + 1));
}

/* Asks the replay socket of a source, and holds its answers. A socket of its own for each gap: no
 * answer comes when nobody reads it. 0 or -ENOMEM. */
static int fill_gap(struct live *l, struct gap g)
{
    unsigned char from[8];
    struct line *line = &l->line[g.source];
    void *dealer = NULL;
    int64_t now = clock_now_ns(), until_ns = now + REPLAY_MS * NS_PER_MS;
    int rc = 0;
    if (!line->gap_endpoint[0] || now < line->silent_until_ns ||
        open_socket(l, &dealer, ZMQ_DEALER, line->gap_endpoint, false, NULL) < 0)
        return 0;
    for (int i = 0; i < 8; i++)
        from[i] = (unsigned char)(g.first >> (56 - 8 * i));
    bool asked = zmq_send(dealer, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0 &&
                 zmq_send(dealer, from, sizeof(from), ZMQ_DONTWAIT) >= 0;
    while (asked && rc == 0 && g.first < g.end && now < until_ns && !ends_now(l) &&
           l->held_bytes < QUEUE_BYTES) {
        zmq_pollitem_t item = {.socket = dealer, .events = ZMQ_POLLIN};
        struct parts p;
        if (zmq_poll(&item, 1, POLL_MS) > 0 && receive(dealer, &p)) {
            rc = take_answer(l, &g, &p);
            close_parts(&p);
        }
        now = clock_now_ns();
    }
    if (!g.answered)
        line->silent_until_ns = now + SILENT_MS * NS_PER_MS;
    zmq_close(dealer);
    return rc;
}

/* A message whose frames are damaged, of a publisher that its first one names: 0 or -ENOMEM. */
static int take_damaged(struct live *l, struct hash128 publisher)
{
    int rc = hold(l, publisher, 0, "", 0);
    if (rc == 0) {
        free(l->held[l->count - 1].payload);
        l->held[l->count - 1].payload = NULL;
    }
    return rc;
}

/* A message of a publisher: holds what is missing before it, then the message. 0, -ENOMEM. */
static int take(struct live *l, unsigned source, struct parts *p)
{
    size_t topic = size(p, 0) < MAX_TOPIC ? size(p, 0) : MAX_TOPIC;
    struct hash128 publisher = names_publisher(&l->base.o->names, source, data(p, 0), topic);
    if (keymap_count(l->expected) >= MAX_PUBLISHERS && !keymap_find(l->expected, publisher)) {
        l->base.unknown.damaged[BATCH_TOO_MANY]++;
        return 0;
    }
    if (p->count != 3 || size(p, 1) != 8 || topic != size(p, 0))
        return take_damaged(l, publisher);
    uint64_t seq = bytes_in_number(data(p, 1), 8);
    uint64_t *expected = keymap_get(l->expected, publisher, seq);
    int rc = 0;
    if (!expected)
        return -ENOMEM;
    /* Below the expected one: a new process, whose first messages may be lost. */
    uint64_t first = seq < *expected ? 0 : *expected;
    if (seq > first)
        rc = fill_gap(l, (struct gap){source, publisher, first, seq, false});
    *expected = seq + 1;
    return rc < 0 ? rc : hold(l, publisher, seq, data(p, 2), size(p, 2));
}

/* ---- lost connections ---- */

/* libzmq connects again when a connection is lost, but not to a peer that sent what it must not: a
 * message that is too large, no greeting. now: of a time after which there was nothing to receive.
 * A disconnect drops what was not received, and libzmq tells of the loss before it hands over the
 * last messages. */
static void connect_again(struct line *line, int64_t now)
{
    struct parts p;
    while (line->monitor && receive(line->monitor, &p)) {
        if (!line->lost_ns)
            line->lost_ns = now;
        close_parts(&p);
    }
    if (!line->lost_ns || now < line->again_ns || now - line->lost_ns < LAST_MS * NS_PER_MS)
        return;
    line->lost_ns = 0;
    line->again_ns = now + AGAIN_MS * NS_PER_MS;
    zmq_disconnect(line->sub, line->endpoint);
    zmq_connect(line->sub, line->endpoint);
}

/* Bytes of memory that the process has; 0: not known. */
static uint64_t resident_bytes(void)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%*u %llu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* libzmq keeps the frames of a message until its last one is there, however many they are. Where
 * memory grows and no message comes, the connections are given up with what they hold. */
static void drop_unfinished(struct live *l, int64_t now)
{
    uint64_t bytes = resident_bytes();
    uint64_t most = (uint64_t)l->message_bytes + UNFINISHED_BYTES;
    if (!l->received && l->resident > 0 && bytes > l->resident + most) {
        for (unsigned i = 0; i < l->subs; i++) {
            if (l->line[i].monitor && !l->line[i].lost_ns)
                l->line[i].lost_ns = now;
        }
        l->base.unknown.damaged[BATCH_OTHER_FRAMES]++;
    }
    if (l->received || l->resident == 0)
        l->resident = bytes;
    l->received = false;
}

/* Where it cannot be watched, libzmq's own way must do. */
static void watch(struct live *l, struct line *line)
{
    char name[40];
    snprintf(name, sizeof(name), "inproc://line-%u", l->subs);
    if (zmq_socket_monitor(line->sub, name, LOSSES) < 0)
        return;
    line->monitor = zmq_socket(l->context, ZMQ_PAIR);
    if (line->monitor && zmq_connect(line->monitor, name) < 0) {
        zmq_close(line->monitor);
        line->monitor = NULL;
    }
}

/* ---- the reader ---- */

/* Waits for messages and holds them: 1; 0: it is the end; negative errno. */
static int wait(struct live *l, struct err *e)
{
    struct parts p;
    l->at = l->count = 0;
    l->held_bytes = 0;
    for (;;) {
        int64_t now = clock_now_ns();
        if (stop_signal() && l->stopped_ns == 0)
            l->stopped_ns = now;
        if (l->stopped_ns > 0 && now - l->stopped_ns > DRAIN_MS * NS_PER_MS)
            return 0;
        if (now - l->looked_ns > LOOK_MS * NS_PER_MS) {
            l->looked_ns = now;
            return BATCH_NONE_NOW;
        }
        /* In turns, so that a busy publisher leaves the others their part. */
        for (unsigned i = 0; i < l->subs; i++) {
            unsigned source = (l->turn + i) % l->subs;
            if (!receive(l->line[source].sub, &p))
                continue;
            l->turn = source + 1;
            l->received = true;
            int rc = take(l, source, &p);
            close_parts(&p);
            if (rc < 0)
                return err_nomem(e, "messages");
            if (l->count > 0)
                return 1;
        }
        if (ends_now(l))
            return 0;
        if (now - l->watched_ns > POLL_MS * NS_PER_MS) {
            l->watched_ns = now;
            drop_unfinished(l, now);
        }
        for (unsigned i = 0; i < l->subs; i++)
            connect_again(&l->line[i], now);
        if (zmq_poll(l->poll, (int)l->subs, POLL_MS) < 0 && zmq_errno() != EINTR)
            return failed(e, "--input", "cannot be waited for");
    }
}

static int next(struct batch_reader *base, struct batch *b, struct err *e)
{
    struct live *l = (struct live *)base;
    if (l->at == l->count) {
        int rc = ends_now(l) && l->end_ns > 0 ? 0 : wait(l, e);
        if (rc != 1)
            return rc;
    }
    struct held *h = &l->held[l->at++];
    int64_t now_ns = clock_wall_ns();
    batch_clear(b);
    b->publisher = h->publisher;
    b->damage = h->payload ? BATCH_WHOLE : BATCH_OTHER_FRAMES;
    if (h->payload) {
        b->numbered = true;
        b->seq = h->seq;
        int rc = kv_message_decode(l->base.o, h->payload, h->len, b, &base->unknown, e);
        free(h->payload);
        h->payload = NULL;
        if (rc == -ENOMEM)
            return rc;
        if (rc < 0) {
            b->damage = BATCH_NO_EVENTS;
            *e = (struct err){0}; /* it ends nothing */
        }
    }
    if (b->damage == BATCH_WHOLE && b->time_ns > now_ns + AHEAD_NS)
        b->damage = BATCH_AHEAD;
    if (b->damage == BATCH_AHEAD || b->time_ns == 0)
        b->time_ns = now_ns;
    base->unknown.damaged[b->damage]++;
    return 1;
}

static void close_live(struct batch_reader *base)
{
    struct live *l = (struct live *)base;
    for (unsigned i = 0; i < l->subs; i++) {
        if (l->line[i].monitor)
            zmq_close(l->line[i].monitor);
        zmq_close(l->line[i].sub);
    }
    if (l->context)
        zmq_ctx_term(l->context);
    for (; l->at < l->count; l->at++)
        free(l->held[l->at].payload);
    keymap_free(l->expected);
    free(l->held);
}

/* Opens a socket for each endpoint of a list. */
static int open_list(struct live *l, const char *list, bool binds, struct err *e)
{
    while (list && *list) {
        char endpoint[MAX_ENDPOINT];
        size_t len = strcspn(list, ",");
        if (len == 0 || len >= sizeof(endpoint) || l->subs == MAX_SOCKETS)
            return err_set(e, -EINVAL, ERR_INPUT, list, "not an endpoint, or too many");
        memcpy(endpoint, list, len);
        endpoint[len] = '\0';
        struct line *line = &l->line[l->subs];
        int rc = open_socket(l, &line->sub, ZMQ_SUB, endpoint, binds, e);
        if (rc < 0)
            return rc;
        memcpy(line->endpoint, endpoint, sizeof(endpoint));
        if (!binds)
            watch(l, line);
        l->poll[l->subs++] = (zmq_pollitem_t){.socket = line->sub, .events = ZMQ_POLLIN};
        list += len + (list[len] == ',');
    }
    return 0;
}

static int open_gaps(struct live *l, const char *list, struct err *e)
{
    for (unsigned i = 0; list && *list; i++) {
        char endpoint[MAX_ENDPOINT];
        size_t len = strcspn(list, ",");
        if (len == 0 || len >= sizeof(endpoint) || i >= l->subs)
            return err_set(e, -EINVAL, ERR_INPUT, "--gap-endpoint",
                           "not an endpoint, or more than there are of --input and --bind");
        memcpy(endpoint, list, len);
        endpoint[len] = '\0';
        void *dealer = NULL;
        int rc = open_socket(l, &dealer, ZMQ_DEALER, endpoint, false, e);
        if (rc < 0)
            return rc;
        zmq_close(dealer); /* it can be asked when something is lost */
        memcpy(l->line[i].gap_endpoint, endpoint, sizeof(endpoint));
        list += len + (list[len] == ',');
    }
    return 0;
}

int live_open(struct batch_reader **out, const struct live_opts *how, const struct record_opts *o,
              struct err *e)
{
    static const struct batch_reader_ops ops = {
        .bytes = sizeof(struct live), .next = next, .close = close_live};
    struct batch_reader *base;
    int rc = thread_try(e, "the threads of libzmq");
    if (rc == 0)
        rc = libzmq_load(e);
    if (rc == 0)
        rc = batch_reader_open(&base, &ops, NULL, o, e);
    if (rc < 0)
        return rc;
    struct live *l = (struct live *)base;
    l->base.key = o->pairing ? names_fingerprint(&o->names) : 0;
    l->message_bytes = (int64_t)how->message_bytes;
    l->end_ns = how->duration_ns > 0 ? clock_now_ns() + how->duration_ns : 0;
    l->expected = keymap_create();
    l->context = zmq_ctx_new();
    rc = l->expected && l->context ? open_list(l, how->connect, false, e)
                                   : err_nomem(e, "recording");
    if (rc == 0)
        rc = open_list(l, how->bind, true, e);
    if (rc == 0)
        rc = open_gaps(l, how->gaps, e);
    if (rc < 0)
        batch_reader_close(base);
    else
        *out = base;
    return rc;
}

#else

int live_open(struct batch_reader **out, const struct live_opts *how, const struct record_opts *o,
              struct err *e)
{
    (void)out;
    (void)how;
    (void)o;
    return err_set(e, -ENOTSUP, ERR_INPUT, "--input", "this program was built without libzmq");
}

#endif

bool live_is_built(void)
{
    return KVTRACE_ZMQ;
}
