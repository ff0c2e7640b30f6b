/* Redis and what speaks its protocol as a tier: objects are values of keys, as they are. One thread
 * pipelines commands over several connections; hiredis connects and takes replies apart, and the
 * contents go from our buffers to the socket and are checked where they arrive. What is not on the
 * path of an operation is in resp_control.c. Specification: redis.io, "Redis serialization protocol
 * specification". */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/layout/place.h"
#include "lib/remote/remote.h"
#include "lib/remote/resp_control.h"
#include "lib/remote/resp_steps.h"
#include "lib/remote/sockets.h"

#if KVTRACE_RESP
#include <hiredis/hiredis.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

enum {
    CONNECTIONS_DEFAULT = 64, /* at most, unless asked for */
    TEXT_CAP = 1024,          /* of the commands at the head of what is sent */
    CHUNK = 128 << 10,        /* of contents, generated at a time */
    RECEIVE = 256 << 10,
    EVENTS = 64
};
#define POLL_NS  INT64_C(20000000)
#define PART_MAX (512 * UNITS_MIB)
#define MOVES    (64 * UNITS_KIB) /* contents that count as progress; a byte now and then is none */

struct reply {
    int type; /* REDIS_REPLY_... */
    long long integer;
    size_t len; /* of a string */
    char text[TIER_CODE_CAP];
};

struct resp;
struct link {
    struct resp *r;
    redisContext *context; /* NULL: not connected */
    bool writable_wanted;
    unsigned greetings; /* replies to AUTH and SELECT that are still to come */
    struct resp_job *first, *last,
        *sending; /* in the order of their commands; sending: not all sent */
    unsigned jobs;
    char text[TEXT_CAP]; /* commands */
    size_t text_len, text_at;
    uint64_t body_left, body_at; /* contents of the last command, not yet in chunk; in the object */
    struct data_id body_id;      /* a copy: a server may answer before it has all of them */
    const unsigned char *body;   /* contents from body_at on that a source made; NULL: none */
    unsigned char *chunk;        /* contents that are generated */
    const unsigned char
        *data; /* contents to be sent: chunk_len bytes, of which chunk_at are sent */
    size_t chunk_len, chunk_at;
    bool starved; /* what is next to be sent is not made yet */
    bool tail;    /* "\r\n" behind the contents is still to be sent */
    struct reply reply;
    int64_t progress_ns; /* when an answer was last whole, or MOVES bytes had moved */
    uint64_t moved;      /* bytes since then */
};

struct resp {
    struct resp_control *control;
    struct uri u;
    int64_t timeout_ns;
    uint64_t part_bytes;
    unsigned links;
    struct link *link;
    struct resp_job *job, *spare;
    struct resp_job *again;  /* to be repeated later */
    unsigned retries;        /* of an operation */
    unsigned char *received; /* RECEIVE bytes */
    unsigned char *checked;  /* CHUNK bytes, aligned */
    int epoll, event;
    struct remote *remote;
    unsigned inside;
    int64_t evicted_before;
    struct sockets *sockets;
    char interface[TIER_INTERFACE_CAP];
    atomic_uint_fast64_t ios, repeated, connections;
    atomic_int_fast64_t io_ns;
};

/* ---- jobs ---- */

static void fail(struct tier_op *op, int status)
{
    if (op->status == 0)
        op->status = status;
}

/* A failed operation begins anew after a while, if it may. A removal goes on as a removal: what it
 * removes may be gone already. */
static bool job_repeats(struct resp *r, struct resp_job *j)
{
    struct tier_op *op = j->op;
    const struct resp_job was = *j;

    if (!j->may_pass || j->retries == r->retries)
        return false;
    if (op->source) /* it has taken back what is stored */
        j->sent = j->answered;
    else if (was.kind == RESP_REMOVE)
        j->sent = j->answered = (struct resp_cursor){0};
    else
        resp_job_begin(j, op, r->part_bytes);
    j->begin_ns = was.begin_ns;
    j->may_pass = false;
    j->retries = was.retries + 1;
    op->status = 0;
    op->code[0] = op->said[0] = '\0';
    j->again_ns = clock_now_ns() + remote_pause_ns(op, j->retries);
    j->next = r->again;
    r->again = j;
    atomic_fetch_add_explicit(&r->repeated, 1, memory_order_relaxed);
    return true;
}

/* The source gets back the pieces that it gave and that no reply came for. */
static void give_back(const struct resp_job *j)
{
    const struct tier_source *source = j->op->source;

    for (struct resp_cursor c = j->answered; source && c.at < j->sent.at; resp_step_done(j, &c))
        source->give(source->ctx, c.at, j->op->status);
}

/* Counts the run's objects in the store after op; stored: bytes of the object before it. */
static void note_stored(const struct resp *r, const struct tier_op *op, uint64_t stored,
                        uint64_t bytes)
{
    bool writes = op->verb == TIER_WRITE;

    if (op->status == 0 && (writes || op->verb == TIER_DELETE || op->drop))
        resp_control_table(r->control)
            ->stored(r->control, (writes && bytes > 0) - (stored > 0),
                     (writes ? (int64_t)bytes : 0) - (int64_t)stored);
}

static void job_end(struct resp *r, struct resp_job *j)
{
    struct tier_op *op = j->op;
    uint64_t stored = place_bytes(op->place), bytes = DATA_PADDED(op->size);
    int64_t now = clock_now_ns();

    give_back(j);
    int64_t took = j->begin_ns && j->last_ns > j->begin_ns ? j->last_ns - j->begin_ns : 0;

    /* Some of several parts may be there and others not. */
    if (op->status < 0 && op->status != -ENOENT && j->kind != RESP_READ &&
        (resp_parts(r->part_bytes, bytes) > 1 || resp_parts(r->part_bytes, stored) > 1))
        remote_tears(r->remote);
    note_stored(r, op, stored, bytes);
    if (op->verb == TIER_WRITE && (op->status == 0 || !place_epoch(op->place)))
        /* By this length the next operation removes a failed write's remains. */
        op->place = place_of(op->status == 0 || bytes > stored ? bytes : stored, 0);
    else if (op->verb == TIER_WRITE)
        op->place =
            place_of((bytes > stored ? bytes : stored) | PLACE_TWICE, place_epoch(op->place));
    else if (op->status == 0 && (op->verb == TIER_DELETE || op->drop))
        op->place = NULL;
    if (j->kind == RESP_REMOVE && op->verb != TIER_DELETE) {
        op->part.meta_ns = took;
    } else {
        op->part.slot_ns = j->begin_ns ? j->begin_ns - op->start_ns : now - op->start_ns;
        if (j->kind == RESP_REMOVE)
            op->part.meta_ns = took;
        else
            op->part.io_ns = took;
    }
    op->device_ns = tier_parts_device_ns(&op->part);
    atomic_fetch_add_explicit(&r->ios, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->io_ns, op->device_ns, memory_order_relaxed);
    j->next = r->spare;
    r->spare = j;
    r->inside--;
    remote_done(r->remote, op, now);
}

/* ---- replies ---- */

/* Checks the contents text[0..len) of the object from byte at on. */
static void check_contents(struct resp *r, struct tier_op *op, const char *text, size_t len,
                           uint64_t at)
{
    struct data_fault fault = {0};
    int rc = 0;

    for (size_t done = 0; op->verify != TIER_VERIFY_NONE && rc == 0 && done < len; done += CHUNK) {
        size_t n = len - done < CHUNK ? len - done : CHUNK;
        uint64_t block = (at + done) / DATA_BLOCK;
        memcpy(r->checked, text + done, n); /* blocks are aligned there */
        rc = op->verify == TIER_VERIFY_FULL
                 ? data_check_full(r->checked, n, &op->id, block, &fault)
                 : data_check_headers(r->checked, n, &op->id, block, &fault);
    }
    if (rc < 0 && op->status == 0) {
        op->status = -EBADMSG;
        op->fault = fault;
    }
}

/* The value of a read has arrived. Nothing where something was stored: it is gone. */
static void take_value(struct resp *r, struct resp_job *j, const char *text, size_t len)
{
    uint64_t at = j->answered.at, want = resp_step_bytes(j, at);
    struct tier_op *op = j->op;

    if (len == 0 && at == 0) {
        fail(op, -ENOENT);
        return;
    }
    if (len > want) {
        fail(op, -EPROTO);
        return;
    }
    check_contents(r, op, text, len / DATA_BLOCK * DATA_BLOCK, at);
    if (len < want && op->status == 0) {
        op->status = -EBADMSG;
        op->fault = (struct data_fault){.kind = DATA_FAULT_END,
                                        .block = (at + len) / DATA_BLOCK,
                                        .offset = (at + len) / DATA_BLOCK * DATA_BLOCK};
    }
}

/* hiredis calls these for each reply, with the text where it was received. */
static void *reply_string(const redisReadTask *task, char *text, size_t len)
{
    struct link *l = task->privdata;
    struct resp_job *j = l->first;

    l->reply.type = task->type;
    l->reply.len = len;
    if (task->type != REDIS_REPLY_STRING) {
        size_t n = len < sizeof(l->reply.text) - 1 ? len : sizeof(l->reply.text) - 1;
        memcpy(l->reply.text, text, n);
        l->reply.text[n] = '\0';
    } else if (l->greetings == 0 && j && j->kind == RESP_READ) {
        j->last_ns = clock_now_ns();
        take_value(l->r, j, text, len);
    }
    return &l->reply;
}

#if HIREDIS_MAJOR >= 1
typedef size_t reply_elements;
#else
typedef int reply_elements;
#endif

/* None of our commands has an answer of this type: the reader stops. What is in an array would
 * count as answers to other commands. */
static void *reply_unexpected(const redisReadTask *task)
{
    (void)task;
    return NULL;
}

static void *reply_array(const redisReadTask *task, reply_elements elements)
{
    (void)elements;
    return reply_unexpected(task);
}

#if HIREDIS_MAJOR >= 1
static void *reply_double(const redisReadTask *task, double value, char *text, size_t len)
{
    (void)value, (void)text, (void)len;
    return reply_unexpected(task);
}

static void *reply_bool(const redisReadTask *task, int value)
{
    (void)value;
    return reply_unexpected(task);
}
#endif

static void *reply_integer(const redisReadTask *task, long long value)
{
    struct link *l = task->privdata;

    l->reply.type = REDIS_REPLY_INTEGER;
    l->reply.integer = value;
    return &l->reply;
}

static void *reply_nil(const redisReadTask *task)
{
    struct link *l = task->privdata;

    l->reply.type = REDIS_REPLY_NIL;
    return &l->reply;
}

static void reply_free(void *reply)
{
    (void)reply;
}

static redisReplyObjectFunctions reply_functions = {.createString = reply_string,
                                                    .createArray = reply_array,
                                                    .createInteger = reply_integer,
#if HIREDIS_MAJOR >= 1
                                                    .createDouble = reply_double,
                                                    .createBool = reply_bool,
#endif
                                                    .createNil = reply_nil,
                                                    .freeObject = reply_free};

/* Puts the operation behind those that the link has. */
static void link_append(struct link *l, struct resp_job *j)
{
    if (l->last)
        l->last->next = j;
    else
        l->first = j;
    l->last = j;
    l->sending = l->sending ? l->sending : j;
    l->jobs++;
}

static bool is_ok(const struct reply *reply)
{
    return reply->type == REDIS_REPLY_STATUS && strcmp(reply->text, "OK") == 0;
}

/* Whether the reply is one that the command can have: the next one of a job, of contents or not. */
static bool is_wanted(const struct reply *reply, enum resp_job_kind kind, bool contents)
{
    if (kind == RESP_READ)
        return reply->type == REDIS_REPLY_STRING;
    if (kind == RESP_WRITE && contents)
        return is_ok(reply);
    return reply->type == REDIS_REPLY_INTEGER && reply->integer >= 0 && reply->integer <= 1;
}

/* A whole reply to the first command that waits for one. False: the link cannot go on. */
static bool take_reply(struct resp *r, struct link *l)
{
    struct resp_job *j = l->first;

    l->progress_ns = clock_now_ns();
    l->moved = 0;
    if (l->greetings > 0) {
        l->greetings--;
        return is_ok(&l->reply);
    }
    if (!j || (j == l->sending && j->answered.at == j->sent.at &&
               j->answered.part == j->sent.part && j->answered.began == j->sent.began))
        return false; /* nobody asked */
    bool main = resp_next_step(j, &j->answered) == RESP_STEP_CONTENTS;
    bool first = !j->answered.began && j->answered.part == 0;
    if (j->kind != RESP_READ || l->reply.type != REDIS_REPLY_STRING)
        j->last_ns = clock_now_ns();
    if (l->reply.type == REDIS_REPLY_ERROR) {
        if (j->op->status == 0) {
            resp_code(j->op->code, l->reply.text);
            snprintf(j->op->said, sizeof(j->op->said), "%s", l->reply.text);
            j->may_pass = resp_may_pass(-EREMOTEIO, j->op->code);
        }
        fail(j->op, -EREMOTEIO);
    } else if (!is_wanted(&l->reply, j->kind, main)) {
        fail(j->op, -EPROTO);
    } else if (j->kind == RESP_REMOVE && first && l->reply.integer == 0 && j->retries == 0 &&
               j->op->verb != TIER_WRITE && !place_twice(j->op->place)) {
        fail(j->op, -ENOENT);
    }
    if (main && j->op->source)
        j->op->source->give(j->op->source->ctx, j->answered.at, j->op->status);
    resp_step_done(j, &j->answered);
    if (resp_next_step(j, &j->answered) != RESP_STEP_NONE)
        return true;
    l->first = j->next;
    if (!l->first)
        l->last = NULL;
    if (l->sending == j)
        l->sending = j->next;
    l->jobs--;
    j->next = NULL;
    if (resp_job_drops(j))
        link_append(l, j);
    else if (!job_repeats(r, j))
        job_end(r, j);
    return true;
}

/* ---- links ---- */

static void link_close(struct link *l)
{
    if (l->context) {
        sockets_closing(l->r->sockets, l->context->fd);
        redisFree(l->context); /* also takes it out of the epoll */
    }
    l->context = NULL;
    l->text_len = l->text_at = l->chunk_len = l->chunk_at = 0;
    l->body_left = 0;
    l->tail = l->writable_wanted = l->starved = false;
    l->greetings = 0;
    l->moved = 0;
}

/* Closes the link; all its operations fail. */
static void link_fail(struct resp *r, struct link *l, int status, const char *code)
{
    struct resp_job *j = l->first;

    link_close(l);
    l->first = l->last = l->sending = NULL;
    l->jobs = 0;
    while (j) {
        struct resp_job *next = j->next;
        if (j->op->status == 0) {
            snprintf(j->op->code, sizeof(j->op->code), "%s", code ? code : "");
            j->may_pass = resp_may_pass(status, code);
        }
        fail(j->op, code ? -EREMOTEIO : status);
        if (!job_repeats(r, j))
            job_end(r, j);
        j = next;
    }
}

/* n bytes were moved. */
static void link_moved(struct link *l, size_t n)
{
    l->moved += n;
    if (l->moved < MOVES)
        return;
    l->moved = 0;
    l->progress_ns = clock_now_ns();
}

/* Appends a command of n words, without the last one's contents when body is above 0. */
static void put_command(struct link *l, const char *const *word, unsigned n, uint64_t body,
                        bool has_body)
{
    size_t at = l->text_len;

    at += (size_t)snprintf(l->text + at, sizeof(l->text) - at, "*%u\r\n", n + has_body);
    for (unsigned i = 0; i < n; i++)
        at += (size_t)snprintf(l->text + at, sizeof(l->text) - at, "$%zu\r\n%s\r\n",
                               strlen(word[i]), word[i]);
    if (has_body)
        at += (size_t)snprintf(l->text + at, sizeof(l->text) - at, "$%llu\r\n",
                               (unsigned long long)body);
    l->text_len = at;
}

/* AUTH and SELECT. */
static int put_greetings(struct resp *r, struct link *l)
{
    const char *password = getenv("REDISCLI_AUTH");
    char database[16];

    if (password && strlen(password) > TEXT_CAP / 2)
        return -E2BIG;
    if (password && *password) {
        const char *const with_user[] = {"AUTH", r->u.user, password};
        const char *const without[] = {"AUTH", password};
        put_command(l, r->u.user[0] ? with_user : without, r->u.user[0] ? 3 : 2, 0, false);
        l->greetings++;
    }
    snprintf(database, sizeof(database), "%u", r->u.database);
    const char *const select[] = {"SELECT", database};
    put_command(l, select, 2, 0, false);
    l->greetings++;
    return 0;
}

static int link_open(struct resp *r, struct link *l)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.ptr = l};

    errno = 0;
    l->context = r->u.socket[0] ? redisConnectUnixNonBlock(r->u.socket)
                                : redisConnectNonBlock(r->u.host, r->u.port);
    if (!l->context)
        return -ENOMEM;
    if (l->context->err) {
        int rc = l->context->err == REDIS_ERR_IO && errno ? -errno : -EHOSTUNREACH;
        link_close(l);
        return rc;
    }
    sockets_opened(r->sockets, l->context->fd, 0);
    atomic_fetch_add_explicit(&r->connections, 1, memory_order_relaxed);
    l->context->reader->fn = &reply_functions;
    l->context->reader->privdata = l;
    l->context->reader->maxbuf = 0; /* the buffer stays */
    l->writable_wanted = true;
    l->progress_ns = clock_now_ns();
    if (epoll_ctl(r->epoll, EPOLL_CTL_ADD, l->context->fd, &event) < 0) {
        int rc = -errno;
        link_close(l);
        return rc;
    }
    return put_greetings(r, l);
}

/* Asks the source of the write that is next for its piece. 0, l->starved: not yet. */
static int link_take(struct link *l, const struct resp_job *j)
{
    const struct tier_source *source = j->op->source;
    const void *contents = NULL;
    int rc = source ? source->take(source->ctx, j->sent.at, &contents) : 0;

    l->starved = rc == -EAGAIN;
    l->body = contents;
    if (l->starved)
        l->progress_ns = clock_now_ns(); /* the server is not to blame */
    return l->starved ? 0 : rc;
}

/* Puts the next command into text. 1; 0: there is none, or nothing more fits behind contents;
 * negative errno. */
static int link_next(struct resp *r, struct link *l)
{
    struct resp_job *j = l->sending;
    char name[RESP_NAME_CAP], from[24], to[24];

    if (!j || l->body_left || l->tail || TEXT_CAP - l->text_len < 256)
        return 0;
    struct tier_op *op = j->op;
    if (j->kind == RESP_WRITE && resp_next_step(j, &j->sent) == RESP_STEP_CONTENTS) {
        int rc = link_take(l, j);
        if (rc < 0 || l->starved)
            return rc;
    }
    if (!j->begin_ns)
        j->begin_ns = clock_now_ns();
    uint32_t epoch = remote_name_epoch(r->remote, j->kind == RESP_WRITE ? NULL : op->place);
    if (resp_next_step(j, &j->sent) == RESP_STEP_REMOVE) {
        const char *const word[] = {"UNLINK", name};
        resp_name(name, op->name, epoch, j->sent.part);
        put_command(l, word, 2, 0, false);
    } else {
        uint64_t at = j->sent.at, len = resp_step_bytes(j, at), in = at % r->part_bytes;
        resp_name(name, op->name, epoch, at / r->part_bytes);
        if (j->kind == RESP_WRITE) {
            const char *const word[] = {"SET", name};
            put_command(l, word, 2, len, true);
            l->body_left = len;
            l->body_at = at;
            l->body_id = op->id;
            l->tail = true;
        } else {
            const char *const word[] = {"GETRANGE", name, from, to};
            snprintf(from, sizeof(from), "%llu", (unsigned long long)in);
            snprintf(to, sizeof(to), "%llu", (unsigned long long)(in + len - 1));
            put_command(l, word, 4, 0, false);
        }
    }
    resp_step_done(j, &j->sent);
    if (resp_next_step(j, &j->sent) == RESP_STEP_NONE)
        l->sending = j->next;
    return 1;
}

/* Fills the chunk with the next contents. */
static void link_fill(struct link *l)
{
    size_t n = l->body_left < CHUNK ? (size_t)l->body_left : CHUNK;

    l->data = l->chunk;
    if (l->body) {
        l->data = l->body;
        l->body += n;
    } else {
        data_fill(l->chunk, n, &l->body_id, l->body_at / DATA_BLOCK);
    }
    l->chunk_len = n;
    l->chunk_at = 0;
    l->body_at += n;
    l->body_left -= n;
}

/* The bytes to be sent next, in up to three pieces. */
static unsigned link_pieces(const struct link *l, struct iovec piece[3])
{
    static char tail[] = "\r\n";
    unsigned n = 0;

    if (l->text_at < l->text_len)
        piece[n++] = (struct iovec){(void *)(l->text + l->text_at), l->text_len - l->text_at};
    if (l->chunk_at < l->chunk_len)
        piece[n++] = (struct iovec){(void *)(l->data + l->chunk_at), l->chunk_len - l->chunk_at};
    if (l->tail && l->body_left == 0)
        piece[n++] = (struct iovec){tail, 2};
    return n;
}

/* n bytes of the pieces were sent. The tail goes whole or not at all: its second byte becomes a
 * command's text. */
static void link_sent(struct link *l, size_t n)
{
    size_t text = l->text_len - l->text_at, chunk = l->chunk_len - l->chunk_at, take;

    take = n < text ? n : text;
    l->text_at += take;
    n -= take;
    if (l->text_at == l->text_len)
        l->text_at = l->text_len = 0;
    take = n < chunk ? n : chunk;
    l->chunk_at += take;
    n -= take;
    if (n > 0) {
        l->tail = false;
        if (n == 1)
            l->text[l->text_len++] = '\n';
    }
}

/* Sends as much as the socket takes. 0 or negative errno. */
static int link_send(struct resp *r, struct link *l)
{
    for (;;) {
        struct iovec piece[3];
        int more;
        while ((more = link_next(r, l)) > 0)
            ;
        if (more < 0)
            return more;
        if (l->body_left && l->chunk_at == l->chunk_len)
            link_fill(l);
        struct msghdr m = {.msg_iov = piece, .msg_iovlen = link_pieces(l, piece)};
        if (m.msg_iovlen == 0)
            return 0;
        /* Also of a command that was begun: without its end the server does not take it. */
        if (!lease_valid(remote_lease(r->remote)))
            return -ESTALE;
        ssize_t n = sendmsg(l->context->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN || errno == ENOTCONN ? 0 : -errno;
        link_moved(l, (size_t)n);
        link_sent(l, (size_t)n);
    }
}

/* Whether what has come of a reply may go on: only a value that is read is long. */
static bool link_may_grow(const struct link *l)
{
    const redisReader *in = l->context->reader;
    const struct resp_job *j = l->first;
    bool reads = l->greetings == 0 && j && j->kind == RESP_READ;

    return in->len == in->pos || resp_may_grow(in->buf + in->pos, in->len - in->pos,
                                               reads ? resp_step_bytes(j, j->answered.at) : 0);
}

/* Takes what has arrived. 0 or negative errno; a refused greeting leaves its code in code. */
static int link_receive(struct resp *r, struct link *l, char code[TIER_CODE_CAP])
{
    for (;;) {
        ssize_t n = recv(l->context->fd, r->received, RECEIVE, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN || errno == ENOTCONN ? 0 : -errno;
        if (n == 0)
            return -ECONNRESET;
        link_moved(l, (size_t)n);
        if (redisReaderFeed(l->context->reader, (char *)r->received, (size_t)n) != REDIS_OK)
            return -ENOMEM;
        for (void *reply = NULL;; reply = NULL) {
            if (redisReaderGetReply(l->context->reader, &reply) != REDIS_OK)
                return -EPROTO;
            if (!reply)
                break;
            if (!take_reply(r, l)) {
                if (l->reply.type == REDIS_REPLY_ERROR)
                    resp_code(code, l->reply.text);
                return -EPROTO;
            }
        }
        if (!link_may_grow(l))
            return -EPROTO;
        if (n < RECEIVE)
            return 0;
    }
}

/* ---- the thread ---- */

/* Watches for room in the socket while there is something to send. */
static void link_watch(struct resp *r, struct link *l)
{
    struct iovec piece[3];
    bool wants = (l->sending && !l->starved) || link_pieces(l, piece) > 0 || l->body_left > 0;

    if (!l->context || wants == l->writable_wanted)
        return;
    struct epoll_event event = {.events = EPOLLIN | (wants ? (uint32_t)EPOLLOUT : 0),
                                .data.ptr = l};
    epoll_ctl(r->epoll, EPOLL_CTL_MOD, l->context->fd, &event);
    l->writable_wanted = wants;
}

static void link_serve(struct resp *r, struct link *l, uint32_t events)
{
    char code[TIER_CODE_CAP] = "";
    int rc = 0;

    if (!l->context)
        return;
    if (events & (EPOLLERR | EPOLLHUP)) {
        int error = 0;
        socklen_t len = sizeof(error);
        if (getsockopt(l->context->fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error)
            rc = -error;
    }
    if (rc == 0 && events & (EPOLLIN | EPOLLHUP))
        rc = link_receive(r, l, code);
    if (rc == 0)
        rc = link_send(r, l);
    if (rc < 0)
        link_fail(r, l, rc, code[0] ? code : NULL);
    else
        link_watch(r, l);
}

/* Gives a waiting operation to the link with the least to do. */
static void assign(struct resp *r, struct resp_job *j)
{
    struct link *l = &r->link[0];

    for (unsigned i = 1; i < r->links && l->jobs > 0; i++) {
        if (r->link[i].jobs < l->jobs)
            l = &r->link[i];
    }
    if (l->jobs == 0)
        l->progress_ns = clock_now_ns();
    link_append(l, j);
    int rc = l->context ? 0 : link_open(r, l);
    if (rc < 0)
        link_fail(r, l, rc, NULL);
    else
        link_serve(r, l, 0);
}

static void take_operations(struct resp *r)
{
    struct tier_op *op;

    while ((op = remote_take(r->remote))) {
        struct resp_job *j = r->spare; /* as many as operations may be inside */
        r->spare = j->next;
        r->inside++;
        resp_job_begin(j, op, r->part_bytes);
        assign(r, j);
    }
}

/* Takes up what has waited long enough. Returns how long the others still wait, in ns. */
static int64_t take_repeated(struct resp *r, int64_t now)
{
    int64_t least = INT64_MAX;

    for (struct resp_job **at = &r->again, *j; (j = *at) != NULL;) {
        if (j->again_ns > now) {
            least = j->again_ns - now < least ? j->again_ns - now : least;
            at = &j->next;
            continue;
        }
        *at = j->next;
        j->next = NULL;
        assign(r, j); /* may put it back at the head, with a later time */
        at = &r->again;
    }
    return least;
}

/* Links on which nothing moves fail, and operations are repeated. Returns how long to sleep, in ms;
 * -1: until something comes. */
static int check_progress(struct resp *r)
{
    int64_t now = clock_now_ns(), least = take_repeated(r, now);

    for (unsigned i = 0; i < r->links; i++) {
        struct link *l = &r->link[i];
        if (l->jobs == 0)
            continue;
        int64_t left = l->progress_ns + r->timeout_ns - now;
        if (left <= 0)
            link_fail(r, l, -ETIMEDOUT, NULL);
        else if (left < least)
            least = left;
    }
    if (r->again && least > POLL_NS)
        least = POLL_NS; /* some of them failed just now */
    return least == INT64_MAX ? -1 : (int)(least / 1000000 > 60000 ? 60000 : least / 1000000 + 1);
}

static void resp_run(struct remote *remote, void *state)
{
    struct resp *r = state;
    struct epoll_event event[EVENTS];
    uint64_t count;

    r->remote = remote;
    for (;;) {
        take_operations(r);
        for (unsigned i = 0; i < r->links; i++) {
            if (r->link[i].starved)
                link_serve(r, &r->link[i], 0);
        }
        if (remote_stopping(remote) && r->inside == 0)
            return;
        int n = epoll_wait(r->epoll, event, EVENTS, check_progress(r));
        for (int i = 0; i < n; i++) {
            if (event[i].data.ptr)
                link_serve(r, event[i].data.ptr, event[i].events);
            else if (read(r->event, &count, sizeof(count)) < 0)
                continue; /* somebody else's ring is taken with it */
        }
    }
}

static void resp_wake(void *state)
{
    const struct resp *r = state;
    const uint64_t one = 1;

    /* Fails only when the count is at its end: then the thread is awake. */
    if (write(r->event, &one, sizeof(one)) < 0)
        return;
}

/* ---- the tier ---- */

static void resp_describe(void *state, struct tier_info *info)
{
    const struct resp *r = state;
    char size[32];
    struct resp_info i;

    info->engine = "redis";
    snprintf(info->target, sizeof(info->target), "%.250s", r->u.text);
    info->ios = atomic_load_explicit(&r->ios, memory_order_relaxed);
    info->io_ns = atomic_load_explicit(&r->io_ns, memory_order_relaxed);
    notes_add(&info->flags, "%u connection%s", r->links, units_plural(r->links));
    if (r->retries > 0)
        notes_add(&info->flags, "up to %u retr%s of an operation", r->retries,
                  r->retries == 1 ? "y" : "ies");
    if (resp_control_info(r->control, &i) < 0) {
        notes_add(&info->fallbacks, "the server does not answer INFO: evictions are not known");
        return;
    }
    snprintf(info->device, sizeof(info->device), "%s", i.server);
    if (i.max_bytes > 0)
        notes_add(&info->flags, "maxmemory %s, %s",
                  units_format_bytes(size, sizeof(size), (double)i.max_bytes), i.policy);
    else if (i.max_bytes == 0)
        notes_add(&info->flags, "no maxmemory");
    if (i.evicted > r->evicted_before && r->evicted_before >= 0)
        notes_add(&info->fallbacks, "the server evicted %lld keys",
                  (long long)(i.evicted - r->evicted_before));
}

static uint64_t resp_room(void *state)
{
    const struct resp *r = state;
    struct resp_info i;

    if (resp_control_info(r->control, &i) < 0 || i.max_bytes <= 0 || i.used_bytes < 0 ||
        strcmp(i.policy, "noeviction") != 0)
        return UINT64_MAX;
    return i.used_bytes < i.max_bytes ? (uint64_t)(i.max_bytes - i.used_bytes) : 0;
}

static unsigned resp_doors(void *state, struct tier_door door[TIER_DOORS_MAX])
{
    struct resp *r = state;
    uint64_t repeated = atomic_load_explicit(&r->repeated, memory_order_relaxed);

    door[0] = (struct tier_door){
        .requests = atomic_load_explicit(&r->ios, memory_order_relaxed) + repeated,
        .retries = repeated,
        .connections = atomic_load_explicit(&r->connections, memory_order_relaxed),
        .retransmits = r->u.socket[0] ? -1 : sockets_retransmits(r->sockets, 0)};
    if (r->u.socket[0])
        snprintf(door[0].endpoint, sizeof(door[0].endpoint), "%s", r->u.socket);
    else
        snprintf(door[0].endpoint, sizeof(door[0].endpoint), "%.240s:%u", r->u.host, r->u.port);
    snprintf(door[0].interface, sizeof(door[0].interface), "%s", r->interface);
    return 1;
}

static void resp_close(void *state)
{
    struct resp *r = state;

    for (unsigned i = 0; r->link && i < r->links; i++) {
        link_close(&r->link[i]);
        free(r->link[i].chunk);
    }
    sockets_free(r->sockets);
    resp_control_close(r->control);
    if (r->epoll >= 0)
        close(r->epoll);
    if (r->event >= 0)
        close(r->event);
    free(r->link);
    free(r->job);
    free(r->received);
    free(r->checked);
    free(r);
}

static const struct remote_engine resp_engine = {.name = "redis",
                                                 .run = resp_run,
                                                 .wake = resp_wake,
                                                 .describe = resp_describe,
                                                 .room = resp_room,
                                                 .doors = resp_doors,
                                                 .close = resp_close};

/* Takes memory and descriptors. */
static int resp_prepare(struct resp *r, const struct tier_remote_opts *o, struct err *e)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    void *chunk;

    r->link = calloc(r->links, sizeof(*r->link));
    r->job = calloc(o->max_ops, sizeof(*r->job));
    r->received = malloc(RECEIVE);
    r->checked = posix_memalign(&chunk, DATA_BLOCK, CHUNK) == 0 ? chunk : NULL;
    r->sockets = sockets_create(r->links);
    if (!r->link || !r->job || !r->received || !r->checked || !r->sockets)
        return err_nomem(e, "connections");
    for (unsigned i = 0; i < o->max_ops; i++) {
        r->job[i].next = r->spare;
        r->spare = &r->job[i];
    }
    for (unsigned i = 0; i < r->links; i++) {
        r->link[i].r = r;
        if (posix_memalign(&chunk, DATA_BLOCK, CHUNK) != 0)
            return err_nomem(e, "connections");
        r->link[i].chunk = chunk;
    }
    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    r->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (r->epoll < 0 || r->event < 0 || epoll_ctl(r->epoll, EPOLL_CTL_ADD, r->event, &event) < 0)
        return err_errno(e, -errno, ERR_FAILED, "", "cannot watch connections");
    return 0;
}

int tier_resp_open(struct tier **out, const struct tier_remote_opts *o, struct bell *bell,
                   struct err *e)
{
    unsigned most = o->uri->connections ? o->uri->connections : CONNECTIONS_DEFAULT;
    struct resp_info i;

    if (o->uri->tls)
        return err_set(
            e, -ENOTSUP, ERR_INPUT, o->uri->text,
            "TLS to Redis is not supported: run a TLS proxy (stunnel, socat) on this host, "
            "and name its port with redis://");
    struct resp *r = calloc(1, sizeof(*r));
    if (!r)
        return err_nomem(e, "Redis");
    r->u = *o->uri;
    r->epoll = r->event = -1;
    r->timeout_ns = o->timeout_ns;
    r->retries = o->retries;
    r->part_bytes = o->uri->part_bytes ? o->uri->part_bytes : PART_MAX;
    r->links = o->max_ops < most ? o->max_ops : most;
    int rc = resp_prepare(r, o, e);
    if (rc == 0)
        rc = resp_control_open(&r->control, o->uri, r->part_bytes, o->timeout_ns, e);
    if (rc < 0) {
        resp_close(r);
        return rc;
    }
    if (!r->u.socket[0])
        sockets_interface(r->u.host, r->u.port, r->interface);
    r->evicted_before = resp_control_info(r->control, &i) == 0 ? i.evicted : -1;
    rc = remote_open(out, &(struct remote_parts){&resp_engine, r, resp_control_table(r->control)},
                     o, bell, e);
    if (rc == 0)
        resp_control_begin(r->control);
    return rc;
}

#else

int tier_resp_open(struct tier **out, const struct tier_remote_opts *o, struct bell *bell,
                   struct err *e)
{
    (void)out, (void)bell;
    return err_set(e, -ENOTSUP, ERR_INPUT, o->uri->text,
                   "this build has no Redis: it was made without hiredis");
}

#endif

bool tier_resp_is_built(void)
{
    return KVTRACE_RESP;
}
