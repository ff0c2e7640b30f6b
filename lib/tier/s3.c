/* An object store that speaks S3 as a tier, over libcurl: one thread drives all transfers by the
 * multi interface. Contents are generated as libcurl asks for them, and checked as it brings them.
 * An object is one PUT; a part of one is a GET with a range. What is not on the path of an
 * operation is in s3_control.c. Source: Amazon S3 API Reference. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/tier/remote.h"
#include "lib/tier/s3_control.h"

#if KVTRACE_S3
#include <curl/curl.h>

enum {
    CONNECTIONS_DEFAULT = 64, /* at most, unless asked for */
    CHUNK = 128 << 10,        /* of contents, generated or checked at a time */
    BODY_CAP = 2048,          /* of an error's body that is looked at */
    POLL_MS = 1000
};
#define OBJECT_MAX (5 * UNITS_GIB) /* of one PUT */

/* A transfer, with a handle of its own, which keeps its settings and connections are shared. */
struct request {
    struct s3 *s;
    CURL *easy;
    void *headers; /* of every request */
    struct tier_op *op;
    bool removing;     /* a delete, or the end of a read that drops */
    uint64_t want, at; /* bytes of contents: to move, moved */
    unsigned char *chunk;
    size_t have, taken;  /* bytes in chunk; given to libcurl */
    char body[BODY_CAP]; /* what came instead of contents */
    size_t body_len;
    unsigned sent; /* how often libcurl has begun it */
    bool active;
    int64_t begin_ns, moved_ns; /* moved: when bytes last did */
    struct request *next;       /* spare */
};

struct s3 {
    struct uri u;
    struct s3_control *control;
    int64_t timeout_ns;
    CURLM *multi;
    unsigned requests, running;
    struct request *request, *spare;
    struct tier_op *waiting, *waiting_last; /* for a spare request; linked by next */
    struct remote *remote;
    atomic_uint_fast64_t ios, new_links;
    atomic_int_fast64_t io_ns;
};

/* ---- contents ---- */

static void check_chunk(struct request *q)
{
    struct tier_op *op = q->op;
    size_t n = q->have / DATA_BLOCK * DATA_BLOCK;
    uint64_t block = q->at / DATA_BLOCK;
    struct data_fault fault = {0};
    int rc = 0;

    if (op->verify == TIER_VERIFY_FULL)
        rc = data_check_full(q->chunk, n, &op->id, block, &fault);
    else if (op->verify != TIER_VERIFY_NONE)
        rc = data_check_headers(q->chunk, n, &op->id, block, &fault);
    if (rc < 0 && op->status == 0) {
        op->status = -EBADMSG;
        op->fault = fault;
    }
    q->at += n;
    q->have -= n;
}

/* libcurl brings n bytes of a body: contents, or what an error says. */
static size_t take_body(char *text, size_t one, size_t n, void *ctx)
{
    struct request *q = ctx;
    long http = 0;
    size_t all = n;

    (void)one;
    q->moved_ns = clock_now_ns();
    curl_easy_getinfo(q->easy, CURLINFO_RESPONSE_CODE, &http);
    if (http < 200 || http > 299 || q->op->verb != TIER_READ || q->removing) {
        size_t room = sizeof(q->body) - 1 - q->body_len, take = n < room ? n : room;
        memcpy(q->body + q->body_len, text, take);
        q->body_len += take;
        return all;
    }
    while (n > 0 && q->at + q->have < q->want) { /* a server that ignores ranges sends more */
        uint64_t left = q->want - q->at - q->have;
        size_t take = CHUNK - q->have;
        take = take < n ? take : n;
        take = take < left ? take : (size_t)left;
        memcpy(q->chunk + q->have, text, take);
        q->have += take;
        text += take;
        n -= take;
        if (q->have == CHUNK || q->at + q->have == q->want)
            check_chunk(q);
    }
    return all;
}

/* libcurl asks for up to n bytes of an object. */
static size_t give_body(char *text, size_t one, size_t n, void *ctx)
{
    struct request *q = ctx;
    size_t given = 0;

    (void)one;
    q->moved_ns = clock_now_ns();
    while (given < n && (q->taken < q->have || q->at < q->want)) {
        if (q->taken == q->have) {
            uint64_t left = q->want - q->at;
            q->have = left < CHUNK ? (size_t)left : CHUNK;
            q->taken = 0;
            data_fill(q->chunk, q->have, &q->op->id, q->at / DATA_BLOCK);
            q->at += q->have;
        }
        size_t take = q->have - q->taken < n - given ? q->have - q->taken : n - given;
        memcpy(text + given, q->chunk + q->taken, take);
        q->taken += take;
        given += take;
    }
    return given;
}

/* libcurl is about to send the request. It would send it again, on another connection, when the
 * server closes one that was used before: that would hide a failure and its time. */
static int before_request(void *ctx, char *to, char *from, int to_port, int from_port)
{
    struct request *q = ctx;

    (void)to, (void)from, (void)to_port, (void)from_port;
    return q->sent++ == 0 ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

/* ---- requests ---- */

/* The door of an object's key. */
static const char *door_of(const struct s3 *s, const struct tier_op *op)
{
    return s->u.endpoint[op->name.lo % s->u.endpoints];
}

/* True: a read that drops goes on as a delete. */
static bool finish(struct s3 *s, struct request *q)
{
    struct tier_op *op = q->op;
    int64_t now = clock_now_ns(), took = now - q->begin_ns;

    if (!q->removing)
        op->part.slot_ns = q->begin_ns - op->start_ns;
    if (q->removing)
        op->part.meta_ns = took;
    else
        op->part.io_ns = took;
    if (op->verb == TIER_READ && op->drop && op->status == 0 && !q->removing) {
        q->removing = true;
        return true;
    }
    if (op->verb == TIER_DELETE)
        op->part.slot_ns = q->begin_ns - op->start_ns;
    if (op->verb == TIER_WRITE)
        op->place = op->status == 0 ? (void *)(uintptr_t)q->want : NULL;
    else if (op->status == 0 && (op->verb == TIER_DELETE || op->drop))
        op->place = NULL;
    op->device_ns = tier_parts_device_ns(&op->part);
    atomic_fetch_add_explicit(&s->ios, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->io_ns, op->device_ns, memory_order_relaxed);
    remote_done(s->remote, op, now);
    return false;
}

static void request_start(struct s3 *s, struct request *q)
{
    struct tier_op *op = q->op;
    char url[S3_URL_CAP], name[S3_NAME_CAP], range[48];

    s3_object_name(name, op->name);
    s3_url(&s->u, door_of(s, op), name, url);
    q->at = q->have = q->taken = q->body_len = 0;
    q->want = DATA_PADDED(op->size);
    q->begin_ns = q->moved_ns = clock_now_ns();
    q->sent = 0;
    curl_easy_setopt(q->easy, CURLOPT_URL, url);
    curl_easy_setopt(q->easy, CURLOPT_UPLOAD, 0L);
    curl_easy_setopt(q->easy, CURLOPT_HTTPGET, 1L);
    curl_easy_setopt(q->easy, CURLOPT_CUSTOMREQUEST, NULL);
    curl_easy_setopt(q->easy, CURLOPT_RANGE, NULL);
    if (q->removing) {
        curl_easy_setopt(q->easy, CURLOPT_CUSTOMREQUEST, "DELETE");
    } else if (op->verb == TIER_WRITE) {
        curl_easy_setopt(q->easy, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(q->easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)q->want);
    } else if (q->want < (uint64_t)(uintptr_t)op->place) {
        snprintf(range, sizeof(range), "0-%llu", (unsigned long long)q->want - 1);
        curl_easy_setopt(q->easy, CURLOPT_RANGE, range);
    }
    if (curl_multi_add_handle(s->multi, q->easy) == CURLM_OK) {
        s->running++;
        q->active = true;
        return;
    }
    op->status = -ENOMEM;
    finish(s, q);
    q->next = s->spare;
    s->spare = q;
}

/* The errno of a transfer that failed below HTTP. */
static int transfer_errno(CURL *easy, CURLcode code)
{
    long number = 0;

    curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &number);
    switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
        return -ETIMEDOUT;
    case CURLE_COULDNT_CONNECT:
        return number > 0 ? (int)-number : -ECONNREFUSED;
    case CURLE_COULDNT_RESOLVE_HOST:
        return -EHOSTUNREACH;
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_SEND_FAIL_REWIND:
    case CURLE_ABORTED_BY_CALLBACK: /* before_request */
        return -ECONNRESET;
    case CURLE_OUT_OF_MEMORY:
        return -ENOMEM;
    default:
        return -EPROTO;
    }
}

/* What the answer says of the operation. */
static void judge(struct request *q, CURLcode code)
{
    struct tier_op *op = q->op;
    long http = 0;
    int rc = 0;

    curl_easy_getinfo(q->easy, CURLINFO_RESPONSE_CODE, &http);
    q->body[q->body_len] = '\0';
    if (code != CURLE_OK)
        rc = transfer_errno(q->easy, code);
    else if (http < 200 || http > 299)
        rc = s3_refusal(http, q->body, op->code);
    if (op->status == 0)
        op->status = rc;
    if (op->status == 0 && op->verb == TIER_READ && !q->removing)
        check_chunk(q); /* of a body that ended early */
    if (op->status == 0 && op->verb == TIER_READ && !q->removing && q->at < q->want) {
        op->status = -EBADMSG; /* a whole answer, and less than was stored */
        op->fault = (struct data_fault){
            .kind = DATA_FAULT_END, .block = q->at / DATA_BLOCK, .offset = q->at};
    }
}

/* The transfer of q has ended, or is given up. */
static void end_request(struct s3 *s, struct request *q, CURLcode code)
{
    long links = 0;

    curl_easy_getinfo(q->easy, CURLINFO_NUM_CONNECTS, &links);
    atomic_fetch_add_explicit(&s->new_links, (uint64_t)links, memory_order_relaxed);
    judge(q, code);
    curl_multi_remove_handle(s->multi, q->easy);
    s->running--;
    q->active = false;
    if (finish(s, q)) {
        request_start(s, q);
        return;
    }
    q->next = s->spare;
    s->spare = q;
}

static void collect(struct s3 *s)
{
    CURLMsg *m;
    int left;

    while ((m = curl_multi_info_read(s->multi, &left))) {
        struct request *q;
        CURLcode code = m->data.result;

        if (m->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&q);
        end_request(s, q, code);
    }
}

/* Gives up the transfers on which nothing moves. Returns how long to sleep, in ms. */
static int check_progress(struct s3 *s)
{
    int64_t now = clock_now_ns(), least = (int64_t)POLL_MS * 1000000;

    for (unsigned i = 0; i < s->requests; i++) {
        struct request *q = &s->request[i];
        int64_t left = q->moved_ns + s->timeout_ns - now;
        if (!q->active)
            continue;
        if (left <= 0)
            end_request(s, q, CURLE_OPERATION_TIMEDOUT);
        else if (left < least)
            least = left;
    }
    return (int)(least / 1000000) + 1;
}

/* ---- the thread ---- */

static void take_operations(struct s3 *s)
{
    struct tier_op *op;

    while ((op = remote_take(s->remote))) {
        op->next = NULL;
        if (s->waiting)
            s->waiting_last->next = op;
        else
            s->waiting = op;
        s->waiting_last = op;
    }
    while (s->waiting && s->spare) {
        struct request *q = s->spare;
        op = s->waiting;
        s->waiting = op->next;
        if (op->verb == TIER_WRITE && op->size > OBJECT_MAX) {
            op->status = -EFBIG;
            remote_done(s->remote, op, clock_now_ns());
            continue;
        }
        s->spare = q->next;
        q->op = op;
        q->removing = op->verb == TIER_DELETE;
        request_start(s, q);
    }
}

static void s3_run(struct remote *remote, void *state)
{
    struct s3 *s = state;
    int running;

    s->remote = remote;
    for (;;) {
        take_operations(s);
        curl_multi_perform(s->multi, &running);
        collect(s);
        if (remote_stopping(remote) && s->running == 0 && !s->waiting)
            return;
        int sleep_ms = check_progress(s);
        if (!s->waiting || !s->spare)
            curl_multi_poll(s->multi, NULL, 0, sleep_ms, NULL);
    }
}

static void s3_wake(void *state)
{
    const struct s3 *s = state;

    curl_multi_wakeup(s->multi);
}

/* ---- the tier ---- */

static int s3_adopt(void *state, struct tier_op *op, uint64_t *size, uint64_t *generation)
{
    const struct s3 *s = state;

    return s3_control_adopt(s->control, op, door_of(s, op), size, generation);
}

static void s3_describe(void *state, struct tier_info *info)
{
    const struct s3 *s = state;

    info->engine = "s3";
    snprintf(info->target, sizeof(info->target), "s3://%.63s/%.180s", s->u.bucket, s->u.prefix);
    snprintf(info->device, sizeof(info->device), "%.150s", s->u.endpoint[0]);
    info->ios = atomic_load_explicit(&s->ios, memory_order_relaxed);
    info->io_ns = atomic_load_explicit(&s->io_ns, memory_order_relaxed);
    notes_add(&info->flags, "%u endpoint%s, at most %u connections", s->u.endpoints,
              units_plural(s->u.endpoints), s->requests);
    notes_add(&info->flags, "%llu connections made",
              (unsigned long long)atomic_load_explicit(&s->new_links, memory_order_relaxed));
    if (s->u.unlocked)
        notes_add(&info->flags, "unlocked: nothing keeps a second run out");
    if (s->u.insecure)
        notes_add(&info->flags, "insecure: certificates are not verified");
}

static uint64_t s3_room(void *state)
{
    (void)state;
    return UINT64_MAX;
}

static void s3_close(void *state)
{
    struct s3 *s = state;

    for (unsigned i = 0; s->request && i < s->requests; i++) {
        struct request *q = &s->request[i];
        if (q->easy)
            curl_easy_cleanup(q->easy);
        curl_slist_free_all(q->headers);
        free(q->chunk);
    }
    if (s->multi)
        curl_multi_cleanup(s->multi);
    s3_control_close(s->control);
    free(s->request);
    free(s);
}

static const struct remote_engine s3_engine = {.name = "s3",
                                               .run = s3_run,
                                               .wake = s3_wake,
                                               .adopt = s3_adopt,
                                               .describe = s3_describe,
                                               .room = s3_room,
                                               .close = s3_close};

static int request_open(struct s3 *s, struct request *q, struct err *e)
{
    void *chunk = NULL;

    q->s = s;
    q->easy = s3_handle(&s->u, s->timeout_ns, NULL, &q->headers);
    if (!q->easy || posix_memalign(&chunk, DATA_BLOCK, CHUNK) != 0)
        return err_nomem(e, "requests");
    q->chunk = chunk;
    curl_easy_setopt(q->easy, CURLOPT_PRIVATE, q);
    curl_easy_setopt(q->easy, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(q->easy, CURLOPT_WRITEDATA, q);
    curl_easy_setopt(q->easy, CURLOPT_READFUNCTION, give_body);
    curl_easy_setopt(q->easy, CURLOPT_READDATA, q);
    curl_easy_setopt(q->easy, CURLOPT_PREREQFUNCTION, before_request);
    curl_easy_setopt(q->easy, CURLOPT_PREREQDATA, q);
    q->next = s->spare;
    s->spare = q;
    return 0;
}

int tier_s3_open(struct tier **out, const struct tier_remote_opts *o, struct bell *bell,
                 struct err *e)
{
    unsigned most = o->uri->connections ? o->uri->connections : CONNECTIONS_DEFAULT;
    struct s3 *s = calloc(1, sizeof(*s));

    if (!s)
        return err_nomem(e, "S3");
    s->u = *o->uri;
    s->timeout_ns = o->timeout_ns;
    s->requests = o->max_ops < most ? o->max_ops : most;
    int rc = s3_control_open(&s->control, &s->u, o->timeout_ns, e);
    if (rc < 0)
        goto out;
    s->request = calloc(s->requests, sizeof(*s->request));
    s->multi = curl_multi_init();
    if (!s->request || !s->multi) {
        rc = err_nomem(e, "requests");
        goto out;
    }
    curl_multi_setopt(s->multi, CURLMOPT_MAXCONNECTS, (long)s->requests);
    for (unsigned i = 0; i < s->requests && rc == 0; i++)
        rc = request_open(s, &s->request[i], e);
out:
    if (rc < 0) {
        s3_close(s);
        return rc;
    }
    return remote_open(out, &s3_engine, s, s3_control_store(s->control), o, bell, e);
}

#else

int tier_s3_open(struct tier **out, const struct tier_remote_opts *o, struct bell *bell,
                 struct err *e)
{
    (void)out, (void)bell;
    return err_set(e, -ENOTSUP, ERR_INPUT, o->uri->text,
                   "this build has no S3: it was made without libcurl");
}

#endif
