/* Beside the data path of resp.c: one command after another, each answer waited for. hiredis makes
 * commands and takes answers apart; bytes are moved here, so that a time limit and signals are
 * heard and no more memory is taken than an answer may need. What an answer may be is decided by
 * its type and shape; only the first word of an error is looked at. */
#include "lib/remote/resp_control.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"

#if KVTRACE_RESP
#include <hiredis/hiredis.h>

enum {
    LOOK_MS = 100,         /* how often a wait looks whether a signal came */
    RECEIVE = 16 << 10,    /* bytes at a time */
    ANSWER_MAX = 16 << 20, /* memory of an answer: INFO, a step of a listing, CHECK_STEP */
    ELEMENT = 128,         /* what an element of an answer takes, at least, in memory */
    DEPTH_MAX = 2,         /* arrays in arrays: a listing has one in another */
    UNLINK_MAX = 64,       /* keys of a command */
    WORDS_MAX = 8,         /* of a command */
    LONG_ERROR = 200,      /* characters of a server's text that are shown */
    MARK_REPEATS = 16      /* a listing may name a key twice, while its table changes size */
};
#define SCAN_STEP     "1000"
#define CHECK_STEP    UINT64_C(1048576)
#define LIST_SEGMENT  (64 * UNITS_MIB)
#define MOMENT_NS     INT64_C(500000000)
#define LARGEST_VALUE (INT64_C(1) << 40) /* of a key, in bytes; servers have 512 MiB */

struct resp_control {
    struct uri u;
    char where[URI_NAME_CAP];
    uint64_t part_bytes; /* objects are stored in parts of so much */
    int64_t timeout_ns;
    pthread_mutex_t lock;
    redisContext *link;                     /* NULL: lost; the next call connects again */
    const redisReplyObjectFunctions *plain; /* hiredis' own, which take the memory of answers */
    redisReplyObjectFunctions bounded;
    size_t budget;   /* memory that the answer may still take */
    bool hasty;      /* the first signal ends a wait, as nothing is stored yet; else the second */
    int64_t stop_ns; /* when that signal was seen; 0: it was not */
    /* Objects that the run has stored and not removed. */
    atomic_int_fast64_t objects, bytes;
    struct owner_clear *clear; /* while objects are removed */
    struct remote_control table;
    struct inventory_store list;
};

/* ---- bytes ---- */

static void drop_link(struct resp_control *c)
{
    if (c->link)
        redisFree(c->link);
    c->link = NULL;
}

/* Did a signal come that ends what is under way? */
static bool is_signalled(const struct resp_control *c)
{
    return c->hasty ? stop_asks() : stop_abandons();
}

/* Waits until the connection can be read or written. 0; -ETIMEDOUT; -EINTR: a signal came, and the
 * answer under way did not come within a moment. */
static int wait_link(struct resp_control *c, short events, int64_t until_ns)
{
    struct pollfd p = {.fd = c->link->fd, .events = events};

    for (;;) {
        int64_t now = clock_now_ns();
        if (c->stop_ns == 0 && is_signalled(c))
            c->stop_ns = now;
        if (c->stop_ns > 0 && now - c->stop_ns > MOMENT_NS)
            return -EINTR;
        int64_t left_ms = (until_ns - now + 999999) / 1000000;
        if (left_ms <= 0)
            return -ETIMEDOUT;
        int n = poll(&p, 1, left_ms < LOOK_MS ? (int)left_ms : LOOK_MS);
        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return -errno;
    }
}

static int send_all(struct resp_control *c, const char *text, size_t len, int64_t until_ns)
{
    int rc = 0;

    while (len > 0 && rc == 0) {
        ssize_t n = send(c->link->fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0) {
            text += n;
            len -= (size_t)n;
        } else if (errno == EAGAIN) {
            rc = wait_link(c, POLLOUT, until_ns);
        } else if (errno != EINTR) {
            rc = -errno;
        }
    }
    return rc;
}

/* Takes the next answer, whole, into *reply. */
static int receive(struct resp_control *c, redisReply **reply, int64_t until_ns)
{
    redisReader *reader = c->link->reader;
    char piece[RECEIVE];
    void *whole = NULL;

    c->budget = ANSWER_MAX;
    for (;;) {
        if (redisReaderGetReply(reader, &whole) != REDIS_OK)
            return -EPROTO;
        if (whole) {
            *reply = whole;
            return 0;
        }
        if (reader->len > reader->pos &&
            !resp_may_grow(reader->buf + reader->pos, reader->len - reader->pos, c->budget))
            return -EPROTO;
        int rc = wait_link(c, POLLIN, until_ns);
        if (rc < 0)
            return rc;
        ssize_t n = recv(c->link->fd, piece, sizeof(piece), MSG_DONTWAIT);
        if (n == 0)
            return -ECONNRESET;
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
        if (n > 0 && redisReaderFeed(reader, piece, (size_t)n) != REDIS_OK)
            return -ENOMEM;
    }
}

#if HIREDIS_MAJOR >= 1
typedef size_t reply_elements;
#else
typedef int reply_elements;
#endif

/* hiredis takes memory for as many elements as an answer names: too many are refused before. */
static void *bounded_array(const redisReadTask *task, reply_elements elements)
{
    struct resp_control *c = task->privdata;
    unsigned depth = 1;

    for (const redisReadTask *t = task->parent; t; t = t->parent)
        depth++;
    if (task->type != REDIS_REPLY_ARRAY || depth > DEPTH_MAX ||
        (size_t)elements > c->budget / ELEMENT)
        return NULL;
    c->budget -= (size_t)elements * ELEMENT;
    return c->plain->createArray(task, elements);
}

static void *bounded_string(const redisReadTask *task, char *text, size_t len)
{
    struct resp_control *c = task->privdata;

    if (len > c->budget)
        return NULL;
    c->budget -= len;
    return c->plain->createString(task, text, len);
}

/* ---- calls ---- */

/* Says an answer that is none; the connection cannot be used any more. */
static int broken(struct resp_control *c, int rc, struct err *e)
{
    drop_link(c);
    if (rc == -EINTR)
        return err_set(e, rc, ERR_TARGET, c->where, "interrupted");
    if (rc == -EPROTO)
        return err_set(e, rc, ERR_TARGET, c->where,
                       "the server's answer is not the protocol of Redis, or is too long");
    return err_errno(e, rc, ERR_TARGET, c->where, "the server does not answer");
}

static const char no_cluster[] =
    "Redis Cluster is not supported: name a server that is not part of a cluster";

/* How to mend an error of the server; NULL: not known. */
static const char *advice(const char *code)
{
    static const struct {
        const char *code, *text;
    } known[] = {
        {"RESP:NOAUTH", "the server wants a password: put it into the environment (REDISCLI_AUTH)"},
        {"RESP:NOPERM",
         "the user needs GET, SET, GETRANGE, SETRANGE, STRLEN, UNLINK, SCAN, EVAL and TIME, on the "
         "keys .kvtrace* and kvtrace:*"},
        {"RESP:READONLY", "it is a read-only replica: name the primary server"},
        {"RESP:LOADING", "it is still loading its data: wait, then start again"},
        {"RESP:MISCONF", "it refuses writes because it cannot save its data"},
        {"RESP:MOVED", no_cluster},
        {"RESP:ASK", no_cluster},
        {"RESP:CROSSSLOT", no_cluster},
        {"RESP:CLUSTERDOWN", no_cluster},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(known[i].code, code) == 0)
            return known[i].text;
    }
    return NULL;
}

/* Says that command got another answer than it can have, and frees that. */
static int refused(struct resp_control *c, redisReply *reply, const char *command, struct err *e)
{
    char code[TIER_CODE_CAP];
    int rc;

    if (reply->type != REDIS_REPLY_ERROR) {
        drop_link(c);
        rc = err_set(e, -EPROTO, ERR_TARGET, c->where,
                     "the server's answer to %s has the wrong type for that command", command);
    } else {
        resp_code(code, reply->str);
        const char *text = reply->str, *more = advice(code);
        size_t word = strlen(code) - strlen("RESP:");
        if (strncmp(text, code + strlen("RESP:"), word) == 0 && text[word] == ' ')
            text += word + 1;
        rc = err_set(e, -EREMOTEIO, ERR_TARGET, c->where, "%s: %s is refused: %.*s%s%s", code,
                     command, LONG_ERROR, text, more ? ": " : "", more ? more : "");
    }
    freeReplyObject(reply);
    return rc;
}

/* Sends the command text[0..len) and takes its answer. 0, or negative errno with *e. */
static int exchange(struct resp_control *c, const char *text, long long len, redisReply **reply,
                    struct err *e)
{
    int64_t until_ns = clock_now_ns() + c->timeout_ns;

    if (!text || len < 0)
        return err_nomem(e, "command");
    if (c->link->reader->len > c->link->reader->pos)
        return broken(c, -EPROTO, e); /* more came than was asked for */
    c->stop_ns = 0;
    int rc = send_all(c, text, (size_t)len, until_ns);
    if (rc == 0)
        rc = receive(c, reply, until_ns);
    return rc < 0 ? broken(c, rc, e) : 0;
}

/* The same with a command of n words; len NULL: they are texts. */
static int exchange_words(struct resp_control *c, int n, const char **word, const size_t *len,
                          redisReply **reply, struct err *e)
{
    char *text = NULL;
    long long bytes = redisFormatCommandArgv(&text, n, word, len);
    int rc = exchange(c, text, bytes, reply, e);

    redisFreeCommand(text);
    return rc;
}

/* The answer to a command of words, up to NULL, on the connection that is there. */
static redisReply *tell(struct resp_control *c, const char *const *word, int *rc, struct err *e)
{
    const char *argv[WORDS_MAX];
    redisReply *reply = NULL;
    int n = 0;

    for (; n < WORDS_MAX && word[n]; n++)
        argv[n] = word[n];
    *rc = exchange_words(c, n, argv, NULL, &reply, e);
    return reply;
}

/* The reply (NULL: there is none) if it is of one of two types; else NULL with *rc and *e. */
static redisReply *expect(struct resp_control *c, redisReply *reply, const int type[2],
                          const char *command, int *rc, struct err *e)
{
    if (!reply || reply->type == type[0] || reply->type == type[1])
        return reply;
    *rc = refused(c, reply, command, e);
    return NULL;
}

/* ---- connecting ---- */

/* -ENOTSUP: it is a node of a cluster. A server that refuses to tell counts as none. */
static int refuse_cluster(struct resp_control *c, struct err *e)
{
    static const char *const info[] = {"INFO", NULL};
    char on[8] = "";
    int rc;

    redisReply *reply = tell(c, info, &rc, e);
    if (!reply)
        return rc;
    bool is = reply->type == REDIS_REPLY_STRING &&
              resp_info_value(reply->str, "cluster_enabled", on, sizeof(on)) &&
              strcmp(on, "1") == 0;
    freeReplyObject(reply);
    return is ? err_set(e, -ENOTSUP, ERR_TARGET, c->where, "%s", no_cluster) : 0;
}

static bool is_ok(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_STATUS && strcmp(reply->str, "OK") == 0;
}

/* A server may repeat what it does not understand, so the text of its error is not shown here. */
static int authenticate(struct resp_control *c, const char *password, struct err *e)
{
    const char *const with_user[] = {"AUTH", c->u.user, password, NULL};
    const char *const without[] = {"AUTH", password, NULL};
    char code[TIER_CODE_CAP];
    int rc;

    redisReply *reply = tell(c, c->u.user[0] ? with_user : without, &rc, e);
    if (!reply)
        return rc;
    if (reply->type == REDIS_REPLY_ERROR) {
        resp_code(code, reply->str);
        rc = err_set(e, -EACCES, ERR_TARGET, c->where,
                     "%s: the password in the environment (REDISCLI_AUTH) is refused%s", code,
                     strpbrk(password, "\r\n")
                         ? ": it has a line end, as a value read from a file may"
                         : "");
    } else if (!is_ok(reply)) {
        return refused(c, reply, "AUTH", e);
    }
    freeReplyObject(reply);
    return rc;
}

static int handshake(struct resp_control *c, struct err *e)
{
    const char *password = getenv("REDISCLI_AUTH");
    char database[16];
    const char *const select[] = {"SELECT", database, NULL};
    int rc = password && *password ? authenticate(c, password, e) : 0;

    if (rc < 0)
        return rc;
    snprintf(database, sizeof(database), "%u", c->u.database);
    redisReply *reply = tell(c, select, &rc, e);
    if (!reply)
        return rc;
    /* A cluster has one database, and says so in words only. */
    if (reply->type == REDIS_REPLY_ERROR && c->u.database > 0 && (rc = refuse_cluster(c, e)) < 0)
        freeReplyObject(reply);
    else if (!is_ok(reply))
        rc = refused(c, reply, "SELECT", e);
    else
        freeReplyObject(reply);
    return rc;
}

/* The errno of what went wrong when connecting. */
static int connect_errno(struct resp_control *c, int64_t until_ns)
{
    int error = 0;
    socklen_t len = sizeof(error);

    if (c->link->err)
        return c->link->err == REDIS_ERR_IO && errno ? -errno : -ECONNREFUSED;
    int rc = wait_link(c, POLLOUT, until_ns);
    if (rc == 0 && getsockopt(c->link->fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0)
        rc = -error;
    return rc;
}

static int connect_link(struct resp_control *c, struct err *e)
{
    int64_t until_ns = clock_now_ns() + c->timeout_ns;

    if (c->link)
        return 0;
    c->stop_ns = 0;
    errno = 0;
    c->link = c->u.socket[0] ? redisConnectUnixNonBlock(c->u.socket)
                             : redisConnectNonBlock(c->u.host, c->u.port);
    if (!c->link)
        return err_nomem(e, "connection");
    int rc = connect_errno(c, until_ns);
    if (rc == -EINTR)
        return broken(c, rc, e);
    if (rc < 0) {
        if (c->link->err == REDIS_ERR_OTHER)
            err_set(e, rc, ERR_TARGET, c->where, "cannot connect: %s", c->link->errstr);
        else
            err_errno(e, rc, ERR_TARGET, c->where, "cannot connect");
        drop_link(c);
        return rc;
    }
    c->plain = c->link->reader->fn;
    c->bounded = *c->plain;
    c->bounded.createArray = bounded_array;
    c->bounded.createString = bounded_string;
    c->link->reader->fn = &c->bounded;
    c->link->reader->privdata = c;
    rc = handshake(c, e);
    if (rc < 0)
        drop_link(c);
    return rc;
}

/* The types that an answer may have: expect takes either. */
static const int an_array[] = {REDIS_REPLY_ARRAY, REDIS_REPLY_ARRAY};
static const int a_number[] = {REDIS_REPLY_INTEGER, REDIS_REPLY_INTEGER};
static const int a_text[] = {REDIS_REPLY_STRING, REDIS_REPLY_STRING};
static const int text_or_nil[] = {REDIS_REPLY_STRING, REDIS_REPLY_NIL};
static const int done_or_nil[] = {REDIS_REPLY_STATUS, REDIS_REPLY_NIL};

/* The answer of a command, of one of two types; connects first, where that is needed. NULL with *rc
 * and *e: another one, or none. The caller holds the lock. */
static redisReply *ask(struct resp_control *c, const int type[2], int *rc, struct err *e,
                       const char *format, ...) __attribute__((format(printf, 5, 6)));
static redisReply *ask(struct resp_control *c, const int type[2], int *rc, struct err *e,
                       const char *format, ...)
{
    redisReply *reply = NULL;
    char command[16], *text = NULL;
    va_list args;

    *rc = connect_link(c, e);
    if (*rc < 0)
        return NULL;
    va_start(args, format);
    long long len = redisvFormatCommand(&text, format, args);
    va_end(args);
    *rc = exchange(c, text, len, &reply, e);
    redisFreeCommand(text);
    snprintf(command, sizeof(command), "%.*s", (int)strcspn(format, " "), format);
    return expect(c, reply, type, command, rc, e);
}

/* ---- the marker ---- */

/* Seconds since 1970 from the answer to TIME: two whole numbers as texts. */
static int read_time(const redisReply *reply, int64_t *now_s)
{
    uint64_t s;

    if (reply->elements != 2 || reply->element[0]->type != REDIS_REPLY_STRING ||
        units_parse_digits(reply->element[0]->str, reply->element[0]->len, &s) < 0 ||
        s > INT64_MAX / UNITS_NS_PER_S)
        return -EPROTO;
    *now_s = (int64_t)s;
    return 0;
}

static int store_get(void *ctx, char text[OWNER_BYTES], int64_t *now_s, struct err *e)
{
    struct resp_control *c = ctx;
    int rc;

    pthread_mutex_lock(&c->lock);
    redisReply *time = ask(c, an_array, &rc, e, "TIME");
    if (time && read_time(time, now_s) < 0) {
        rc = refused(c, time, "TIME", e);
        time = NULL;
    }
    redisReply *marker = time ? ask(c, text_or_nil, &rc, e, "GET " OWNER_MARKER) : NULL;
    pthread_mutex_unlock(&c->lock);
    if (marker) {
        rc = marker->type == REDIS_REPLY_NIL ? -ENOENT : 0;
        if (rc == 0) /* an empty one is none of ours: it is put as a whole */
            card_take(text, marker->len > 0 ? marker->str : "?", marker->len > 0 ? marker->len : 1);
        freeReplyObject(marker);
    }
    if (time)
        freeReplyObject(time);
    return rc;
}

static int store_put(void *ctx, const char *text, struct err *e)
{
    struct resp_control *c = ctx;
    int rc;

    pthread_mutex_lock(&c->lock);
    redisReply *reply = ask(c, done_or_nil, &rc, e, "SET " OWNER_MARKER " %s NX", text);
    if (reply && reply->type == REDIS_REPLY_STATUS && !is_ok(reply)) {
        rc = refused(c, reply, "SET", e);
        reply = NULL;
    }
    pthread_mutex_unlock(&c->lock);
    if (!reply)
        return rc;
    rc = reply->type == REDIS_REPLY_NIL ? -EEXIST : 0;
    freeReplyObject(reply);
    return rc;
}

/* UNLINK and SET alone, as a user may have no right to more. */
static const char swap_script[] = "if redis.call('GET',KEYS[1])~=ARGV[1] then return 0 end "
                                  "if ARGV[2]=='' then redis.call('UNLINK',KEYS[1]) "
                                  "else redis.call('SET',KEYS[1],ARGV[2]) end return 1";

static int store_swap(void *ctx, const char *old, const char *text, struct err *e)
{
    struct resp_control *c = ctx;
    int rc;

    pthread_mutex_lock(&c->lock);
    redisReply *reply = ask(c, a_number, &rc, e, "EVAL %s 1 " OWNER_MARKER " %s %s", swap_script,
                            old, text ? text : "");
    pthread_mutex_unlock(&c->lock);
    if (!reply)
        return rc;
    rc = reply->integer == 1 ? 0 : -EAGAIN;
    freeReplyObject(reply);
    return rc;
}

/* ---- rights ---- */

/* Tries what a run needs, so that it does not end in its middle, or before it has removed what it
 * stored. The key that is tried has a name that nobody else has, and none of these makes it. */
static int check_rights(struct resp_control *c, struct err *e)
{
    char name[RESP_NAME_CAP], one[RESP_NAME_CAP + 3], two[RESP_NAME_CAP + 3];
    const struct {
        const char *word[WORDS_MAX];
        int type[2];
        bool makes; /* a server that is full refuses it, which is no lack of rights */
    } try[] = {
        {{"GET", OWNER_MARKER}, {REDIS_REPLY_STRING, REDIS_REPLY_NIL}, false},
        {{"SET", name, "-", "XX"}, {REDIS_REPLY_NIL, REDIS_REPLY_NIL}, true},
        {{"GETRANGE", name, "0", "0"}, {REDIS_REPLY_STRING, REDIS_REPLY_STRING}, false},
        {{"STRLEN", name}, {REDIS_REPLY_INTEGER, REDIS_REPLY_INTEGER}, false},
        /* A cluster refuses keys of two slots in one command ({a} and {b} name them), also where
         * the user may not ask whether it is one. */
        {{"UNLINK", one, two}, {REDIS_REPLY_INTEGER, REDIS_REPLY_INTEGER}, false},
        {{"SCAN", "0", "COUNT", "1"}, {REDIS_REPLY_ARRAY, REDIS_REPLY_ARRAY}, false},
        {{"TIME"}, {REDIS_REPLY_ARRAY, REDIS_REPLY_ARRAY}, false},
        {{"EVAL", swap_script, "1", OWNER_MARKER, "-", "-"},
         {REDIS_REPLY_INTEGER, REDIS_REPLY_INTEGER},
         true},
    };
    const int64_t seed[] = {clock_now_ns(), clock_wall_ns(), getpid()};
    int rc = refuse_cluster(c, e);

    resp_name(name, hash_128(seed, sizeof(seed)), 0, 0);
    snprintf(one, sizeof(one), "%s{a}", name);
    snprintf(two, sizeof(two), "%s{b}", name);
    for (size_t i = 0; rc == 0 && i < sizeof(try) / sizeof(try[0]); i++) {
        redisReply *reply = tell(c, try[i].word, &rc, e);
        if (reply && try[i].makes && reply->type == REDIS_REPLY_ERROR &&
            strncmp(reply->str, "OOM ", 4) == 0) {
            freeReplyObject(reply);
            continue;
        }
        reply = expect(c, reply, try[i].type, try[i].word[0], &rc, e);
        if (reply)
            freeReplyObject(reply);
    }
    return rc;
}

/* ---- listing ---- */

/* An object of several parts is counted by its first one. */
static bool is_first_part(const redisReply *name)
{
    return !memchr(name->str, '.', name->len);
}

/* Removes the keys of objects among the n of names. The caller holds the lock. */
static int unlink_keys(struct resp_control *c, redisReply *const *name, size_t n, struct err *e)
{
    static const char script[] = "local b=0 for _,k in ipairs(KEYS) do "
                                 "local n=redis.pcall('STRLEN',k) "
                                 "if type(n)=='number' then b=b+n end end "
                                 "return {redis.call('UNLINK',unpack(KEYS)),b}";
    const char *argv[3 + UNLINK_MAX] = {"EVAL", script};
    size_t len[3 + UNLINK_MAX] = {4, sizeof(script) - 1}, count = 0, objects = 0;
    char keys[8];
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (owner_names_object(name[i]->str, name[i]->len) ||
            inventory_names_segment(name[i]->str, name[i]->len)) {
            argv[3 + count] = name[i]->str;
            len[3 + count++] = name[i]->len;
            if (is_first_part(name[i])) {
                objects++;
                owner_clear_object(c->clear, name[i]->str + OWNER_PREFIX_LEN,
                                   name[i]->len - OWNER_PREFIX_LEN);
            }
        }
        if (count < UNLINK_MAX && (i + 1 < n || count == 0))
            continue;
        redisReply *reply = NULL;
        if (!lease_current(c->clear->lease))
            return -ESTALE;
        argv[2] = keys;
        len[2] = (size_t)snprintf(keys, sizeof(keys), "%zu", count);
        rc = exchange_words(c, (int)(3 + count), argv, len, &reply, e);
        if (rc < 0)
            return rc;
        if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
            reply->element[0]->type != REDIS_REPLY_INTEGER ||
            reply->element[1]->type != REDIS_REPLY_INTEGER || reply->element[1]->integer < 0)
            return refused(c, reply, "UNLINK", e);
        /* Some may have gone by themselves. */
        size_t removed = reply->element[0]->integer > 0 ? (size_t)reply->element[0]->integer : 0;
        c->clear->removed += removed;
        atomic_fetch_sub(&c->objects, (int_fast64_t)(removed < objects ? removed : objects));
        atomic_fetch_sub(&c->bytes, (int_fast64_t)reply->element[1]->integer);
        freeReplyObject(reply);
        count = objects = 0;
    }
    return rc;
}

static void note_keys(struct owner_found *found, redisReply *const *name, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *text = name[i]->str;
        size_t len = name[i]->len;

        if (!owner_names_object(text, len) && !owner_names_own(text, len))
            owner_found_foreign(found, text);
        else if (owner_names_object(text, len) && is_first_part(name[i]))
            owner_found_object(found, text + OWNER_PREFIX_LEN, len - OWNER_PREFIX_LEN);
    }
}

/* A walk over all keys, by the cursors that the server gives. It must end: a cursor never comes
 * back, and a key a few times only. Both are looked for at marks, which lie twice as far apart each
 * time (Brent's algorithm, BIT 20, 1980). */
struct walk {
    uint64_t cursor, cursor_mark, key_mark;
    uint64_t steps, next_mark;
    unsigned seen;   /* how often the marked key came back */
    int64_t news_ns; /* when another key than the marked one came */
};

/* Whether reply is a step of a listing: a cursor, and names. */
static bool is_step(const redisReply *reply, uint64_t *cursor)
{
    if (reply->elements != 2 || reply->element[0]->type != REDIS_REPLY_STRING ||
        units_parse_digits(reply->element[0]->str, reply->element[0]->len, cursor) < 0 ||
        reply->element[1]->type != REDIS_REPLY_ARRAY)
        return false;
    const redisReply *names = reply->element[1];
    for (size_t i = 0; i < names->elements; i++) {
        if (names->element[i]->type != REDIS_REPLY_STRING)
            return false;
    }
    return true;
}

/* Takes note of a step. 0; -ELOOP: it goes round; -ETIMEDOUT: nothing new came for so long. */
static int walk_on(struct walk *w, const redisReply *names, int64_t timeout_ns)
{
    int64_t now = clock_now_ns();
    bool again = false;

    if (w->steps > 0 && w->cursor != 0 && w->cursor == w->cursor_mark)
        return -ELOOP;
    for (size_t i = 0; i < names->elements && w->steps > 0; i++)
        again |= hash_64(names->element[i]->str, names->element[i]->len) == w->key_mark;
    w->seen += again;
    if (w->steps == 0 || (names->elements > 0 && !again))
        w->news_ns = now;
    if (w->steps++ == w->next_mark) {
        w->next_mark = w->next_mark * 2 + 1;
        w->cursor_mark = w->cursor;
        w->seen = 0;
        if (names->elements > 0)
            w->key_mark = hash_64(names->element[0]->str, names->element[0]->len);
    }
    return w->seen > MARK_REPEATS ? -ELOOP : now - w->news_ns > timeout_ns ? -ETIMEDOUT : 0;
}

/* A step of a walk: notes keys in found, or (NULL) removes those of objects. */
static int scan_step(struct resp_control *c, struct walk *w, struct owner_found *found,
                     struct err *e)
{
    int rc;

    redisReply *reply =
        found ? ask(c, an_array, &rc, e, "SCAN %" PRIu64 " COUNT " SCAN_STEP, w->cursor)
              : ask(c, an_array, &rc, e, "SCAN %" PRIu64 " MATCH *kvtrace* COUNT " SCAN_STEP,
                    w->cursor);
    if (!reply)
        return rc;
    if (!is_step(reply, &w->cursor))
        return refused(c, reply, "SCAN", e);
    const redisReply *names = reply->element[1];
    rc = walk_on(w, names, c->timeout_ns);
    if (rc < 0)
        err_set(e, rc, ERR_TARGET, c->where,
                "the listing of its keys does not end: the server %s (SCAN)",
                rc == -ELOOP ? "repeats itself" : "returns no new keys");
    else if (found)
        note_keys(found, names->element, names->elements);
    else
        rc = unlink_keys(c, names->element, names->elements, e);
    freeReplyObject(reply);
    return rc;
}

/* Others may call between two steps: a marker is renewed meanwhile. */
static int scan(struct resp_control *c, struct owner_found *found, struct err *e)
{
    struct walk w = {0};
    int rc;

    do {
        if (!found && !lease_valid(c->clear->lease))
            return -ESTALE;
        pthread_mutex_lock(&c->lock);
        rc = scan_step(c, &w, found, e);
        if (rc == 0 && is_signalled(c))
            rc = err_set(e, -EINTR, ERR_TARGET, c->where, "interrupted");
        pthread_mutex_unlock(&c->lock);
    } while (rc == 0 && w.cursor != 0 && !(found && found->foreign));
    return rc;
}

static int store_look(void *ctx, struct owner_found *found, struct err *e)
{
    return scan(ctx, found, e);
}

static int store_clear(void *ctx, struct owner_clear *clear, struct err *e)
{
    struct resp_control *c = ctx;

    c->clear = clear;
    return scan(c, NULL, e);
}

const struct remote_control *resp_control_table(const struct resp_control *c)
{
    return &c->table;
}

/* ---- the list of what is kept ---- */

/* Up to len bytes of a key, at offset at. Their number, 0 if there is no key, or negative errno. */
static ssize_t get_range(struct resp_control *c, const char *name, uint64_t at, void *buf,
                         size_t len, struct err *e)
{
    ssize_t n;
    int rc;

    redisReply *reply =
        ask(c, a_text, &rc, e, "GETRANGE %s %" PRIu64 " %" PRIu64, name, at, at + len - 1);
    if (!reply)
        return rc;
    if (reply->len > len)
        return refused(c, reply, "GETRANGE", e);
    n = (ssize_t)reply->len;
    if (n > 0)
        memcpy(buf, reply->str, (size_t)n);
    freeReplyObject(reply);
    return n;
}

static ssize_t list_read(void *ctx, uint32_t segment, uint64_t at, void *buf, size_t cap,
                         struct err *e)
{
    struct resp_control *c = ctx;
    char name[INVENTORY_NAME_CAP];

    inventory_name(name, segment);
    pthread_mutex_lock(&c->lock);
    ssize_t n = get_range(c, name, at, buf, cap < CHECK_STEP ? cap : CHECK_STEP, e);
    pthread_mutex_unlock(&c->lock);
    return n == 0 && at == 0 ? -ENOENT : n; /* no key is empty */
}

/* Also again, after a try whose answer did not come. */
static int list_write(void *ctx, uint32_t segment, uint64_t at, const void *buf, size_t len,
                      struct err *e)
{
    struct resp_control *c = ctx;
    char name[INVENTORY_NAME_CAP], offset[24];
    const char *argv[] = {"SETRANGE", name, offset, buf};
    size_t size[] = {8, 0, 0, len};

    inventory_name(name, segment);
    size[1] = strlen(name);
    size[2] = (size_t)snprintf(offset, sizeof(offset), "%" PRIu64, at);
    pthread_mutex_lock(&c->lock);
    redisReply *reply = NULL;
    int rc = connect_link(c, e);
    if (rc == 0)
        rc = exchange_words(c, 4, argv, size, &reply, e);
    if (rc == 0 && reply->type != REDIS_REPLY_INTEGER)
        rc = refused(c, reply, "SETRANGE", e);
    else if (rc == 0)
        freeReplyObject(reply);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

static int list_remove(void *ctx, uint32_t segment, struct err *e)
{
    struct resp_control *c = ctx;
    char name[INVENTORY_NAME_CAP];
    int rc;

    inventory_name(name, segment);
    pthread_mutex_lock(&c->lock);
    redisReply *reply = ask(c, a_number, &rc, e, "UNLINK %s", name);
    pthread_mutex_unlock(&c->lock);
    if (reply)
        freeReplyObject(reply);
    return reply ? 0 : rc;
}

/* ---- adoption ---- */

/* The bytes of the parts that are there; of an object that is larger than op's, some of them. */
static int stored_bytes(struct resp_control *c, const struct tier_op *op, uint64_t *bytes)
{
    char name[RESP_NAME_CAP];
    uint64_t len = c->part_bytes;

    *bytes = 0;
    for (uint64_t part = 0; len == c->part_bytes && *bytes <= DATA_PADDED(op->size); part++) {
        int rc;
        resp_name(name, op->name, op->epoch, part);
        redisReply *reply = ask(c, a_number, &rc, NULL, "STRLEN %s", name);
        if (!reply)
            return rc;
        if (reply->integer < 0 || reply->integer > LARGEST_VALUE)
            return refused(c, reply, "STRLEN", NULL);
        len = (uint64_t)reply->integer;
        freeReplyObject(reply);
        if (part == 0 && len == 0)
            return -ENOENT;
        *bytes += len;
    }
    return 0;
}

static ssize_t object_blocks(void *ctx, const struct tier_op *op, uint64_t at, void *buf,
                             size_t len)
{
    struct resp_control *c = ctx;
    uint64_t left = c->part_bytes - at % c->part_bytes;
    char name[RESP_NAME_CAP];

    resp_name(name, op->name, op->epoch, at / c->part_bytes);
    len = len < left ? len : left;
    pthread_mutex_lock(&c->lock);
    c->hasty = true; /* nothing is stored yet that must be removed first */
    ssize_t n = get_range(c, name, at % c->part_bytes, buf, len, NULL);
    c->hasty = false;
    pthread_mutex_unlock(&c->lock);
    return n < 0 || n == (ssize_t)len ? n : 0;
}

static int object_first(void *ctx, const struct tier_op *op, void *block, uint64_t *size)
{
    struct resp_control *c = ctx;

    pthread_mutex_lock(&c->lock);
    c->hasty = true;
    int rc = stored_bytes(c, op, size);
    c->hasty = false;
    pthread_mutex_unlock(&c->lock);
    ssize_t n = rc < 0 ? rc : object_blocks(c, op, 0, block, DATA_BLOCK);
    if (n == 0)
        memset(block, 0, DATA_BLOCK);
    return n < 0 ? (int)n : 0;
}

/* ---- counts ---- */

static void count_stored(void *ctx, int objects, int64_t bytes)
{
    struct resp_control *c = ctx;

    atomic_fetch_add_explicit(&c->objects, objects, memory_order_relaxed);
    atomic_fetch_add_explicit(&c->bytes, bytes, memory_order_relaxed);
}

static void count_left(const void *ctx, uint64_t *objects, uint64_t *bytes)
{
    const struct resp_control *c = ctx;
    int64_t n = atomic_load(&c->objects), size = atomic_load(&c->bytes);

    *objects = n > 0 ? (uint64_t)n : 0;
    *bytes = size > 0 ? (uint64_t)size : 0;
}

/* ---- INFO ---- */

int resp_control_info(struct resp_control *c, struct resp_info *i)
{
    int rc;

    pthread_mutex_lock(&c->lock);
    redisReply *reply = ask(c, a_text, &rc, NULL, "INFO");
    pthread_mutex_unlock(&c->lock);
    if (!reply)
        return rc;
    resp_info_read(i, reply->str);
    freeReplyObject(reply);
    return 0;
}

/* ---- opening ---- */

int resp_control_open(struct resp_control **out, const struct uri *u, uint64_t part_bytes,
                      int64_t timeout_ns, struct err *e)
{
    struct resp_control *c = calloc(1, sizeof(*c));

    if (!c)
        return err_nomem(e, "connection");
    c->u = *u;
    snprintf(c->where, sizeof(c->where), "%.250s", u->text);
    c->part_bytes = part_bytes;
    c->timeout_ns = timeout_ns;
    c->hasty = true;
    c->table = (struct remote_control){.store = {.ctx = c,
                                                 .where = c->where,
                                                 .list = &c->list,
                                                 .get = store_get,
                                                 .put = store_put,
                                                 .swap = store_swap,
                                                 .look = store_look,
                                                 .clear = store_clear},
                                       .first = object_first,
                                       .blocks = object_blocks,
                                       .stored = count_stored,
                                       .left = count_left};
    c->list = (struct inventory_store){.ctx = c,
                                       .appends = true,
                                       .segment_bytes = LIST_SEGMENT,
                                       .read = list_read,
                                       .write = list_write,
                                       .remove = list_remove};
    pthread_mutex_init(&c->lock, NULL);
    int rc = connect_link(c, e);
    if (rc == 0)
        rc = check_rights(c, e);
    if (rc < 0)
        resp_control_close(c);
    else
        *out = c;
    return rc;
}

void resp_control_begin(struct resp_control *c)
{
    pthread_mutex_lock(&c->lock);
    c->hasty = false;
    pthread_mutex_unlock(&c->lock);
    atomic_store(&c->objects, 0);
    atomic_store(&c->bytes, 0);
}

void resp_control_close(struct resp_control *c)
{
    if (!c)
        return;
    drop_link(c);
    pthread_mutex_destroy(&c->lock);
    free(c);
}
#endif
