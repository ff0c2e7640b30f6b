/* Beside the data path of resp.c, with hiredis' synchronous calls. What an answer may be is decided
 * by its type; only the first word of an error is looked at. */
#include "lib/remote/resp_control.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"

#if KVTRACE_RESP
#include <hiredis/hiredis.h>

#define SCAN_STEP    "1000"
#define CHECK_STEP   UINT64_C(1048576)
#define LIST_SEGMENT (64 * UNITS_MIB)

struct resp_control {
    struct uri u;
    char where[URI_NAME_CAP];
    struct timeval timeout;
    pthread_mutex_t lock;
    redisContext *link;        /* NULL: lost; the next call connects again */
    struct owner_clear *clear; /* while objects are removed */
    struct owner_store store;
    struct inventory_store list;
};

void resp_name(char name[RESP_NAME_CAP], struct hash128 object, uint32_t epoch, uint64_t part)
{
    char stem[STEM_CAP];

    stem_format(stem, object, epoch);
    if (part == 0)
        snprintf(name, RESP_NAME_CAP, OWNER_PREFIX "%s", stem);
    else
        snprintf(name, RESP_NAME_CAP, OWNER_PREFIX "%s.%" PRIu64, stem, part);
}

void resp_code(char code[TIER_CODE_CAP], const char *text)
{
    size_t n = 0;

    while (isupper((unsigned char)text[n]) || (n > 0 && isdigit((unsigned char)text[n])))
        n++;
    if (n == 0 || n > TIER_CODE_CAP - sizeof("RESP:"))
        snprintf(code, TIER_CODE_CAP, "RESP:ERR");
    else
        snprintf(code, TIER_CODE_CAP, "RESP:%.*s", (int)n, text);
}

/* ---- calls ---- */

static void drop_link(struct resp_control *c)
{
    if (c->link)
        redisFree(c->link);
    c->link = NULL;
}

/* The errno of what went wrong with the connection. */
static int link_errno(const redisContext *link)
{
    if (!link)
        return -ENOMEM;
    if (link->err == REDIS_ERR_IO && errno)
        return errno == EAGAIN ? -ETIMEDOUT : -errno;
    return link->err == REDIS_ERR_EOF        ? -ECONNRESET
           : link->err == REDIS_ERR_PROTOCOL ? -EPROTO
                                             : -ECONNREFUSED;
}

/* A reply that was an error, or none; *e says it. Frees reply. */
static int failed(struct resp_control *c, redisReply *reply, struct err *e)
{
    char code[TIER_CODE_CAP];

    if (!reply) {
        int rc = link_errno(c->link);
        drop_link(c);
        return err_errno(e, rc, ERR_TARGET, c->where, "the server does not answer");
    }
    resp_code(code, reply->str ? reply->str : "");
    int rc = err_set(e, -EREMOTEIO, ERR_TARGET, c->where, "%s: %.200s", code,
                     reply->str ? reply->str : "an answer of an unknown kind");
    freeReplyObject(reply);
    return rc;
}

static int handshake(struct resp_control *c, struct err *e)
{
    const char *password = getenv("REDISCLI_AUTH");
    redisReply *reply = NULL;

    if (password && *password) {
        reply = c->u.user[0] ? redisCommand(c->link, "AUTH %s %s", c->u.user, password)
                             : redisCommand(c->link, "AUTH %s", password);
        if (!reply || reply->type != REDIS_REPLY_STATUS)
            return failed(c, reply, e);
        freeReplyObject(reply);
    }
    reply = redisCommand(c->link, "SELECT %u", c->u.database);
    if (reply && reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "NOAUTH", 6) == 0) {
        freeReplyObject(reply);
        return err_set(e, -EACCES, ERR_TARGET, c->where,
                       "RESP:NOAUTH: the server wants a password: put it into the environment "
                       "(REDISCLI_AUTH)");
    }
    if (!reply || reply->type != REDIS_REPLY_STATUS)
        return failed(c, reply, e);
    freeReplyObject(reply);
    return 0;
}

static int connect_link(struct resp_control *c, struct err *e)
{
    if (c->link)
        return 0;
    errno = 0;
    c->link = c->u.socket[0] ? redisConnectUnixWithTimeout(c->u.socket, c->timeout)
                             : redisConnectWithTimeout(c->u.host, c->u.port, c->timeout);
    if (!c->link || c->link->err) {
        int rc = link_errno(c->link);
        if (c->link && c->link->err == REDIS_ERR_OTHER)
            err_set(e, rc, ERR_TARGET, c->where, "cannot connect: %s", c->link->errstr);
        else
            err_errno(e, rc, ERR_TARGET, c->where, "cannot connect");
        drop_link(c);
        return rc;
    }
    redisSetTimeout(c->link, c->timeout);
    int rc = handshake(c, e);
    if (rc < 0)
        drop_link(c);
    return rc;
}

/* The reply of a command, of one of two types. NULL with *rc and *e: another one, or none. The
 * caller holds the lock. */
static redisReply *ask(struct resp_control *c, int type, int or_type, int *rc, struct err *e,
                       const char *format, ...) __attribute__((format(printf, 6, 7)));
static redisReply *ask(struct resp_control *c, int type, int or_type, int *rc, struct err *e,
                       const char *format, ...)
{
    va_list args;

    *rc = connect_link(c, e);
    if (*rc < 0)
        return NULL;
    va_start(args, format);
    redisReply *reply = redisvCommand(c->link, format, args);
    va_end(args);
    if (reply && (reply->type == type || reply->type == or_type))
        return reply;
    *rc = failed(c, reply, e);
    return NULL;
}

/* ---- the marker ---- */

static int store_get(void *ctx, char text[OWNER_BYTES], int64_t *now_s, struct err *e)
{
    struct resp_control *c = ctx;
    int rc;

    pthread_mutex_lock(&c->lock);
    redisReply *time = ask(c, REDIS_REPLY_ARRAY, REDIS_REPLY_ARRAY, &rc, e, "TIME");
    redisReply *marker =
        time ? ask(c, REDIS_REPLY_STRING, REDIS_REPLY_NIL, &rc, e, "GET " OWNER_MARKER) : NULL;
    pthread_mutex_unlock(&c->lock);
    if (marker) {
        *now_s = time->elements > 0 && time->element[0]->str
                     ? strtoll(time->element[0]->str, NULL, 10)
                     : 0;
        rc = marker->type == REDIS_REPLY_NIL ? -ENOENT : 0;
        snprintf(text, OWNER_BYTES, "%s", rc == 0 ? marker->str : "");
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
    redisReply *reply =
        ask(c, REDIS_REPLY_STATUS, REDIS_REPLY_NIL, &rc, e, "SET " OWNER_MARKER " %s NX", text);
    pthread_mutex_unlock(&c->lock);
    if (!reply)
        return rc;
    rc = reply->type == REDIS_REPLY_NIL ? -EEXIST : 0;
    freeReplyObject(reply);
    return rc;
}

static int store_swap(void *ctx, const char *old, const char *text, struct err *e)
{
    static const char script[] = "if redis.call('GET',KEYS[1])~=ARGV[1] then return 0 end "
                                 "if ARGV[2]=='' then redis.call('DEL',KEYS[1]) "
                                 "else redis.call('SET',KEYS[1],ARGV[2]) end return 1";
    struct resp_control *c = ctx;
    int rc;

    pthread_mutex_lock(&c->lock);
    redisReply *reply = ask(c, REDIS_REPLY_INTEGER, REDIS_REPLY_INTEGER, &rc, e,
                            "EVAL %s 1 " OWNER_MARKER " %s %s", script, old, text ? text : "");
    pthread_mutex_unlock(&c->lock);
    if (!reply)
        return rc;
    rc = reply->integer == 1 ? 0 : -EAGAIN;
    freeReplyObject(reply);
    return rc;
}

/* ---- listing ---- */

/* Removes the n keys of names. The caller holds the lock. */
static int unlink_keys(struct resp_control *c, redisReply *const *name, size_t n, struct err *e)
{
    const char *argv[1 + 64] = {"UNLINK"};
    size_t len[1 + 64] = {6}, count = 1;

    for (size_t i = 0; i < n; i++) {
        if (owner_names_object(name[i]->str, name[i]->len) ||
            inventory_names_segment(name[i]->str, name[i]->len)) {
            argv[count] = name[i]->str;
            len[count++] = name[i]->len;
            if (name[i]->str[0] != '.' && !memchr(name[i]->str, '.', name[i]->len))
                owner_clear_object(c->clear, name[i]->str + OWNER_PREFIX_LEN,
                                   name[i]->len - OWNER_PREFIX_LEN);
        }
        if (count == 1 + 64 || (i + 1 == n && count > 1)) {
            if (!lease_current(c->clear->lease))
                return -ESTALE;
            redisReply *reply = redisCommandArgv(c->link, (int)count, argv, len);
            if (!reply || reply->type != REDIS_REPLY_INTEGER)
                return failed(c, reply, e);
            c->clear->removed += (uint64_t)reply->integer;
            freeReplyObject(reply);
            count = 1;
        }
    }
    return 0;
}

static void note_keys(struct owner_found *found, redisReply *const *name, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *text = name[i]->str;
        size_t len = name[i]->len;

        if (owner_names_object(text, len)) {
            if (!memchr(text, '.', len)) /* else a further part of it */
                owner_found_object(found, text + OWNER_PREFIX_LEN, len - OWNER_PREFIX_LEN);
        } else if (strcmp(text, OWNER_MARKER) != 0 && !inventory_names_segment(text, len) &&
                   !found->foreign) {
            found->foreign = true;
            snprintf(found->name, sizeof(found->name), "%.60s", text);
        }
    }
}

/* Walks over all keys: notes them in found, or (NULL) removes those of objects. Others may call
 * between two steps: a marker is renewed meanwhile. */
static int scan(struct resp_control *c, struct owner_found *found, struct err *e)
{
    char cursor[24] = "0";
    int rc = 0;

    do {
        if (!found && !lease_valid(c->clear->lease))
            return -ESTALE;
        pthread_mutex_lock(&c->lock);
        redisReply *reply = found ? ask(c, REDIS_REPLY_ARRAY, REDIS_REPLY_ARRAY, &rc, e,
                                        "SCAN %s COUNT " SCAN_STEP, cursor)
                                  : ask(c, REDIS_REPLY_ARRAY, REDIS_REPLY_ARRAY, &rc, e,
                                        "SCAN %s MATCH *kvtrace* COUNT " SCAN_STEP, cursor);
        if (reply && (reply->elements != 2 || !reply->element[0]->str)) {
            rc = failed(c, reply, e);
        } else if (reply) {
            snprintf(cursor, sizeof(cursor), "%s", reply->element[0]->str);
            const redisReply *keys = reply->element[1];
            if (found)
                note_keys(found, keys->element, keys->elements);
            else
                rc = unlink_keys(c, keys->element, keys->elements, e);
            freeReplyObject(reply);
        }
        pthread_mutex_unlock(&c->lock);
    } while (rc == 0 && strcmp(cursor, "0") != 0 && !(found && found->foreign));
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

const struct owner_store *resp_control_store(const struct resp_control *c)
{
    return &c->store;
}

/* ---- the list of what is kept ---- */

static ssize_t list_read(void *ctx, uint32_t segment, uint64_t at, void *buf, size_t cap,
                         struct err *e)
{
    struct resp_control *c = ctx;
    char name[INVENTORY_NAME_CAP];
    ssize_t n;
    int rc;

    inventory_name(name, segment);
    cap = cap < CHECK_STEP ? cap : CHECK_STEP;
    pthread_mutex_lock(&c->lock);
    redisReply *reply = ask(c, REDIS_REPLY_STRING, REDIS_REPLY_STRING, &rc, e,
                            "GETRANGE %s %" PRIu64 " %" PRIu64, name, at, at + cap - 1);
    pthread_mutex_unlock(&c->lock);
    if (!reply)
        return rc;
    n = reply->len <= cap ? (ssize_t)reply->len : -EPROTO;
    if (n > 0)
        memcpy(buf, reply->str, (size_t)n);
    freeReplyObject(reply);
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
    int rc = connect_link(c, e);
    redisReply *reply = rc == 0 ? redisCommandArgv(c->link, 4, argv, size) : NULL;
    if (rc == 0 && (!reply || reply->type != REDIS_REPLY_INTEGER))
        rc = failed(c, reply, e);
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
    redisReply *reply = ask(c, REDIS_REPLY_INTEGER, REDIS_REPLY_INTEGER, &rc, e, "UNLINK %s", name);
    pthread_mutex_unlock(&c->lock);
    if (reply)
        freeReplyObject(reply);
    return reply ? 0 : rc;
}

/* ---- adoption ---- */

/* The bytes of the parts that are there. */
static int stored_bytes(struct resp_control *c, const struct tier_op *op, uint64_t part_bytes,
                        uint64_t *bytes)
{
    char name[RESP_NAME_CAP];
    uint64_t len = part_bytes;

    *bytes = 0;
    for (uint64_t part = 0; len == part_bytes; part++) {
        int rc;
        resp_name(name, op->name, op->epoch, part);
        redisReply *reply =
            ask(c, REDIS_REPLY_INTEGER, REDIS_REPLY_INTEGER, &rc, NULL, "STRLEN %s", name);
        if (!reply)
            return rc;
        len = (uint64_t)reply->integer;
        freeReplyObject(reply);
        if (part == 0 && len == 0)
            return -ENOENT;
        *bytes += len;
    }
    return 0;
}

/* Checks the headers of what is stored at bytes at to at + len of the object. */
static int check_range(struct resp_control *c, const struct tier_op *op, uint64_t part_bytes,
                       uint64_t at, uint64_t len)
{
    char name[RESP_NAME_CAP];
    struct data_fault fault = {0};
    void *copy;
    int rc;

    resp_name(name, op->name, op->epoch, at / part_bytes);
    redisReply *reply =
        ask(c, REDIS_REPLY_STRING, REDIS_REPLY_STRING, &rc, NULL,
            "GETRANGE %s %" PRIu64 " %" PRIu64, name, at % part_bytes, at % part_bytes + len - 1);
    if (!reply)
        return rc;
    rc = -EBADMSG;
    if (reply->len == len && posix_memalign(&copy, DATA_BLOCK, len) == 0) {
        memcpy(copy, reply->str, len);
        rc = data_check_headers(copy, len, &op->id, at / DATA_BLOCK, &fault);
        free(copy);
    }
    freeReplyObject(reply);
    return rc;
}

/* The generation that the first block names; 0: it is not this object's. */
static int first_generation(struct resp_control *c, const struct tier_op *op, uint64_t *generation)
{
    _Alignas(64) unsigned char block[DATA_BLOCK];
    char name[RESP_NAME_CAP];
    struct data_id id;
    uint64_t index;
    int rc;

    resp_name(name, op->name, op->epoch, 0);
    redisReply *reply = ask(c, REDIS_REPLY_STRING, REDIS_REPLY_STRING, &rc, NULL,
                            "GETRANGE %s 0 %u", name, DATA_BLOCK - 1);
    if (!reply)
        return rc;
    *generation = 0;
    if (reply->len == DATA_BLOCK) {
        memcpy(block, reply->str, DATA_BLOCK);
        if (data_identify(block, &id, &index) == 0 && index == 0 && id.key.lo == op->id.key.lo &&
            id.key.hi == op->id.key.hi) {
            rc = id.shape == op->id.shape ? 0 : -EPROTOTYPE;
            *generation = id.generation;
        }
    }
    freeReplyObject(reply);
    return rc;
}

int resp_control_adopt(struct resp_control *c, struct tier_op *op, uint64_t part_bytes,
                       uint64_t *size, uint64_t *generation)
{
    pthread_mutex_lock(&c->lock);
    int rc = stored_bytes(c, op, part_bytes, size);
    if (rc == 0)
        rc = first_generation(c, op, generation);
    op->id.generation = rc == 0 ? *generation : 0;
    if (rc == 0 && op->verify != TIER_VERIFY_NONE && *size % DATA_BLOCK)
        rc = -EBADMSG;
    for (uint64_t at = 0, len; rc == 0 && op->verify != TIER_VERIFY_NONE && at < *size; at += len) {
        len = part_bytes - at % part_bytes;
        len = len < CHECK_STEP ? len : CHECK_STEP;
        len = len < *size - at ? len : *size - at;
        rc = check_range(c, op, part_bytes, at, len);
    }
    pthread_mutex_unlock(&c->lock);
    return rc;
}

/* ---- INFO ---- */

/* The value behind "NAME:" at the beginning of a line of text, in buf. */
static bool info_value(const char *text, const char *name, char *buf, size_t cap)
{
    size_t len = strlen(name);

    for (const char *line = text, *end; line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        if (strncmp(line, name, len) == 0 && line[len] == ':') {
            size_t n = strcspn(line + len + 1, "\r\n");
            snprintf(buf, cap, "%.*s", (int)(n < cap ? n : cap - 1), line + len + 1);
            return true;
        }
    }
    return false;
}

static int64_t info_number(const char *text, const char *name)
{
    char buf[24];
    int64_t value;

    return info_value(text, name, buf, sizeof(buf)) && units_parse_i64(buf, &value) == 0 ? value
                                                                                         : -1;
}

int resp_control_info(struct resp_control *c, struct resp_info *i)
{
    char version[32];
    int rc;

    *i = (struct resp_info){.max_bytes = -1, .used_bytes = -1, .evicted = -1};
    pthread_mutex_lock(&c->lock);
    redisReply *reply = ask(c, REDIS_REPLY_STRING, REDIS_REPLY_STRING, &rc, NULL, "INFO");
    pthread_mutex_unlock(&c->lock);
    if (!reply)
        return rc;
    if (info_value(reply->str, "valkey_version", version, sizeof(version)))
        snprintf(i->server, sizeof(i->server), "valkey %s", version);
    else if (info_value(reply->str, "dragonfly_version", version, sizeof(version)))
        snprintf(i->server, sizeof(i->server), "dragonfly %s", version);
    else if (info_value(reply->str, "redis_version", version, sizeof(version)))
        snprintf(i->server, sizeof(i->server), "redis %s", version);
    info_value(reply->str, "maxmemory_policy", i->policy, sizeof(i->policy));
    i->max_bytes = info_number(reply->str, "maxmemory");
    i->used_bytes = info_number(reply->str, "used_memory");
    i->evicted = info_number(reply->str, "evicted_keys");
    freeReplyObject(reply);
    return 0;
}

/* ---- opening ---- */

int resp_control_open(struct resp_control **out, const struct uri *u, int64_t timeout_ns,
                      struct err *e)
{
    struct resp_control *c = calloc(1, sizeof(*c));

    if (!c)
        return err_nomem(e, "connection");
    c->u = *u;
    snprintf(c->where, sizeof(c->where), "%.250s", u->text);
    c->timeout = (struct timeval){.tv_sec = timeout_ns / UNITS_NS_PER_S,
                                  .tv_usec = timeout_ns % UNITS_NS_PER_S / 1000};
    c->store = (struct owner_store){.ctx = c,
                                    .where = c->where,
                                    .list = &c->list,
                                    .get = store_get,
                                    .put = store_put,
                                    .swap = store_swap,
                                    .look = store_look,
                                    .clear = store_clear};
    c->list = (struct inventory_store){.ctx = c,
                                       .appends = true,
                                       .segment_bytes = LIST_SEGMENT,
                                       .read = list_read,
                                       .write = list_write,
                                       .remove = list_remove};
    pthread_mutex_init(&c->lock, NULL);
    int rc = connect_link(c, e);
    if (rc < 0)
        resp_control_close(c);
    else
        *out = c;
    return rc;
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
