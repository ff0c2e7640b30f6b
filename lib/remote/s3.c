/* An object store that speaks S3 as a tier, over libcurl: one thread drives all transfers by the
 * multi interface. Contents are generated as libcurl asks for them, and checked as it brings them.
 * An object is one PUT; a larger one is a multipart upload, and is read by several ranges at once.
 * An operation is a job with one request for each piece of its contents. What is not on the path of
 * an operation is in s3_control.c. Source: Amazon S3 API Reference. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/layout/place.h"
#include "lib/remote/remote.h"
#include "lib/remote/s3_ask.h"
#include "lib/remote/s3_control.h"
#include "lib/remote/s3_stages.h"
#include "lib/remote/s3_xml.h"
#include "lib/remote/sockets.h"

#if KVTRACE_S3
#include <curl/curl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CONNECTIONS_DEFAULT = 64, /* at most, unless asked for */
    CHUNK = 128 << 10,        /* of contents, generated or checked at a time */
    BODY_CAP = 8192,          /* of an answer that is not contents */
    POLL_MS = 1000,
    SOCKETS_MORE = 64, /* open at once, beside those of requests: libcurl tries several addresses */
    PARTS_MAX = 10000, /* of one upload */
};
#define PART_DEFAULT (64 * UNITS_MIB)
#define STEP_BYTES   UNITS_MIB /* at least so much moves within the time limit, or all the rest */

/* A transfer, with a handle of its own, which keeps its settings and connections are shared. */
struct request {
    struct s3 *s;
    CURL *easy;
    struct s3_headers *signed_head;
    struct s3_job *job;
    unsigned piece;
    uint64_t at, end;              /* bytes of the object: the next to move, behind the last */
    const unsigned char *contents; /* of the piece, where the operation has a source */
    unsigned char *chunk;
    size_t have, taken;  /* bytes in chunk; given to libcurl */
    char body[BODY_CAP]; /* what came instead of contents, without blanks before it */
    size_t body_len, headers;
    bool excess;   /* more contents came than were asked for */
    bool cut;      /* a body or headers were longer than is looked at: the transfer was ended */
    unsigned sent; /* how often libcurl has begun it */
    bool active;   /* libcurl has it */
    unsigned retries;
    int64_t again_ns; /* when it is repeated; 0: it is not */
    int64_t begin_ns;
    int64_t step_ns;      /* when the last step of progress was done */
    uint64_t step_bytes;  /* of contents that moved since */
    struct request *next; /* spare */
};

/* Counts of an endpoint. */
struct door {
    atomic_uint_fast64_t requests, retries, connections;
    char interface[TIER_INTERFACE_CAP];
};

struct s3 {
    struct uri u;
    struct s3_ask *ask;
    struct s3_control *control;
    struct sockets *sockets;
    struct door door[URI_ENDPOINTS_MAX];
    int64_t timeout_ns;
    unsigned retries;    /* of a request */
    uint64_t part_bytes; /* of a piece */
    CURLM *multi;
    unsigned requests, running; /* running: taken by a job */
    struct request *request, *spare;
    struct s3_job *job, *spare_job;
    struct s3_job *more, *more_last;        /* with pieces to begin */
    struct tier_op *waiting, *waiting_last; /* for a spare request; linked by next */
    struct remote *remote;
    atomic_uint_fast64_t ios, uploads_left;
    atomic_int_fast64_t io_ns;
};

/* ---- contents ---- */

/* So many bytes of contents have moved. A step is done when STEP_BYTES have, and when the last byte
 * was sent: then the server has its own time. One byte now and then is no progress. */
static void moved(struct request *q, uint64_t bytes, bool sent_all)
{
    q->step_bytes += bytes;
    if (q->step_bytes < STEP_BYTES && !sent_all)
        return;
    q->step_bytes = 0;
    q->step_ns = clock_now_ns();
}

static void check_chunk(struct request *q)
{
    struct tier_op *op = q->job->op;
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

/* Bytes of an answer that is not contents. A server may send blanks before it, to keep a connection
 * open while it works. */
static size_t take_words(struct request *q, const char *text, size_t n)
{
    size_t all = n;

    while (q->body_len == 0 && n > 0 && strchr(" \t\r\n", *text ? *text : '<'))
        text++, n--;
    if (n >= sizeof(q->body) - q->body_len) {
        q->cut = true;
        return 0;
    }
    memcpy(q->body + q->body_len, text, n);
    q->body_len += n;
    return all;
}

/* libcurl brings n bytes of a body: contents, or what an error says. */
static size_t take_body(char *text, size_t one, size_t n, void *ctx)
{
    struct request *q = ctx;
    long http = 0;
    size_t all = n;

    (void)one;
    curl_easy_getinfo(q->easy, CURLINFO_RESPONSE_CODE, &http);
    if (!s3_fine(http) || q->job->op->verb != TIER_READ || q->job->stage != S3_STAGE_MOVE)
        return take_words(q, text, n);
    if (q->job->op->first_byte_ns == TIER_UNKNOWN_NS)
        q->job->op->first_byte_ns = clock_now_ns() - q->job->op->start_ns;
    if (n > q->end - q->at - q->have) {
        q->excess = true;
        return 0;
    }
    moved(q, n, false);
    while (n > 0) {
        size_t take = CHUNK - q->have < n ? CHUNK - q->have : n;
        memcpy(q->chunk + q->have, text, take);
        q->have += take;
        text += take;
        n -= take;
        if (q->have == CHUNK || q->at + q->have == q->end)
            check_chunk(q);
    }
    return all;
}

/* Contents of an object into to. */
static size_t give_contents(struct request *q, char *to, size_t n)
{
    size_t given = 0;

    if (!lease_valid(remote_lease(q->s->remote)))
        return CURL_READFUNC_ABORT;
    if (q->contents) {
        given = q->end - q->at < n ? (size_t)(q->end - q->at) : n;
        memcpy(to, q->contents + (q->at - q->piece * q->s->part_bytes), given);
        q->at += given;
        return given;
    }
    while (given < n && (q->taken < q->have || q->at < q->end)) {
        if (q->taken == q->have) {
            uint64_t left = q->end - q->at;
            q->have = left < CHUNK ? (size_t)left : CHUNK;
            q->taken = 0;
            data_fill(q->chunk, q->have, &q->job->op->id, q->at / DATA_BLOCK);
            q->at += q->have;
        }
        size_t take = q->have - q->taken < n - given ? q->have - q->taken : n - given;
        memcpy(to + given, q->chunk + q->taken, take);
        q->taken += take;
        given += take;
    }
    return given;
}

/* libcurl asks for up to n bytes of an object, or of the text that completes one. */
static size_t give_body(char *to, size_t one, size_t n, void *ctx)
{
    struct request *q = ctx;
    const struct s3_job *j = q->job;
    size_t given;

    (void)one;
    if (j->stage == S3_STAGE_COMPLETE) {
        given = j->text_len - q->taken < n ? j->text_len - q->taken : n;
        memcpy(to, j->text + q->taken, given);
        q->taken += given;
        moved(q, given, q->taken == j->text_len);
    } else {
        given = give_contents(q, to, n);
        moved(q, given, q->at == q->end && (q->contents || q->taken == q->have));
    }
    return given;
}

static void give_from_begin(struct request *q)
{
    q->at = q->job->stage == S3_STAGE_MOVE ? q->piece * q->s->part_bytes : 0;
    q->have = q->taken = 0;
}

/* libcurl is about to send the request once more, which before_request refuses. A newer libcurl
 * that cannot have the contents once more also fails every later request of the handle. */
static int give_body_again(void *ctx, curl_off_t offset, int origin)
{
    struct request *q = ctx;

    if (offset != 0 || origin != SEEK_SET)
        return CURL_SEEKFUNC_FAIL;
    give_from_begin(q);
    return CURL_SEEKFUNC_OK;
}

/* A line of an answer's head: the tag of a part is kept. */
static size_t take_header(char *line, size_t one, size_t n, void *ctx)
{
    struct request *q = ctx;
    const struct s3_job *j = q->job;

    (void)one;
    q->headers += n;
    if (q->headers > S3_HEADERS_MAX) {
        q->cut = true;
        return 0;
    }
    if (j->stage != S3_STAGE_MOVE || !j->tag || n < 7 || strncasecmp(line, "ETag: ", 6) != 0)
        return n;
    size_t len = n - 6;
    while (len > 0 && strchr("\r\n ", line[6 + len - 1]))
        len--;
    if (len < S3_TAG_CAP) {
        memcpy(j->tag[q->piece].text, line + 6, len);
        j->tag[q->piece].text[len] = '\0';
    }
    return n;
}

/* Does the stage of the job change the store? */
static bool changes(const struct s3_job *j)
{
    return j->stage != S3_STAGE_MOVE || j->op->verb == TIER_WRITE;
}

/* libcurl is about to send the request. It would send it again, on another connection, when the
 * server closes one that was used before: that would hide a failure and its time. */
static int before_request(void *ctx, char *to, char *from, int to_port, int from_port)
{
    struct request *q = ctx;

    (void)to, (void)from, (void)to_port, (void)from_port;
    if (changes(q->job) && !lease_valid(remote_lease(q->s->remote)))
        return CURL_PREREQFUNC_ABORT;
    return q->sent++ == 0 ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

/* ---- connections ---- */

/* The door of an object's key. */
static unsigned door_of(const struct s3 *s, const struct tier_op *op)
{
    return (unsigned)(op->name.lo % s->u.endpoints);
}

/* libcurl opens and closes connections: the kernel is asked what it had to send again on them. */
static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *a)
{
    const struct request *q = ctx;
    int fd = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);

    (void)purpose;
    if (fd < 0)
        return CURL_SOCKET_BAD;
    sockets_opened(q->s->sockets, fd, door_of(q->s, q->job->op));
    return fd;
}

static int close_socket(void *ctx, curl_socket_t fd)
{
    sockets_closing(ctx, fd);
    return close(fd);
}

/* ---- requests ---- */

/* The address and the signature of what q asks. Parameters are in the order in which they are
 * signed. */
static void set_url(const struct s3 *s, const struct request *q, const char *verb)
{
    const struct s3_job *j = q->job;
    char url[S3_URL_CAP + 3 * S3_TOKEN_CAP + 64], name[S3_NAME_CAP];

    bool written = j->op->verb == TIER_WRITE && j->stage != S3_STAGE_REMOVE;
    s3_object_name(name, j->op->name, remote_name_epoch(s->remote, written ? NULL : j->op->place));
    s3_url(&s->u, s->u.endpoint[door_of(s, j->op)], name, url);
    size_t len = strlen(url), room = sizeof(url) - len;
    if (j->stage == S3_STAGE_CREATE)
        snprintf(url + len, room, "?uploads=");
    else if (j->stage == S3_STAGE_MOVE && j->upload)
        snprintf(url + len, room, "?partNumber=%u&uploadId=%s", q->piece + 1, j->upload);
    else if (j->upload && j->stage != S3_STAGE_REMOVE)
        snprintf(url + len, room, "?uploadId=%s", j->upload);
    curl_easy_setopt(q->easy, CURLOPT_URL, url);
    bool xml = j->stage == S3_STAGE_COMPLETE;
    curl_easy_setopt(
        q->easy, CURLOPT_HTTPHEADER,
        s3_headers_sign(q->signed_head, verb, url, xml ? "Content-Type: application/xml" : NULL));
}

/* Verb, range and length of what q asks. Returns the verb. */
static const char *set_verb(struct request *q)
{
    const struct s3_job *j = q->job;
    bool posts = j->stage == S3_STAGE_CREATE || j->stage == S3_STAGE_COMPLETE;
    bool moves = j->stage == S3_STAGE_MOVE, puts = moves && j->op->verb == TIER_WRITE;
    const char *verb = posts ? "POST" : puts ? "PUT" : moves ? "GET" : "DELETE";
    uint64_t len = j->stage == S3_STAGE_COMPLETE ? j->text_len : q->end - q->at;
    char range[48];

    curl_easy_setopt(q->easy, CURLOPT_UPLOAD, 0L);
    curl_easy_setopt(q->easy, CURLOPT_HTTPGET, 1L);
    curl_easy_setopt(q->easy, CURLOPT_RANGE, NULL);
    if (posts || puts) {
        curl_easy_setopt(q->easy, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(q->easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)len);
    } else if (moves && len < place_bytes(j->op->place)) {
        snprintf(range, sizeof(range), "%llu-%llu", (unsigned long long)q->at,
                 (unsigned long long)q->end - 1);
        curl_easy_setopt(q->easy, CURLOPT_RANGE, range);
    }
    curl_easy_setopt(q->easy, CURLOPT_CUSTOMREQUEST, verb);
    return verb;
}

static void end_request(struct s3 *s, struct request *q, CURLcode code);
static void request_done(struct s3 *s, struct request *q, int64_t now);

/* Sends what q asks, for the first time or again. */
static void request_send(struct s3 *s, struct request *q)
{
    const struct s3_job *j = q->job;

    give_from_begin(q);
    q->end = q->body_len = q->headers = q->step_bytes = 0;
    q->excess = q->cut = false;
    if (j->stage == S3_STAGE_MOVE)
        q->end = q->piece + 1 == j->pieces ? j->bytes : q->at + s->part_bytes;
    q->begin_ns = q->step_ns = clock_now_ns();
    q->again_ns = 0;
    q->sent = 0;
    if (changes(j) && !lease_valid(remote_lease(s->remote))) {
        j->op->status = j->op->status < 0 ? j->op->status : -ESTALE;
        request_done(s, q, q->begin_ns);
        return;
    }
    set_url(s, q, set_verb(q));
    q->active = true;
    if (curl_multi_add_handle(s->multi, q->easy) != CURLM_OK)
        end_request(s, q, CURLE_OUT_OF_MEMORY);
}

/* Begins the stage of its job, or the next piece of it. */
static void request_start(struct s3 *s, struct request *q, struct s3_job *j)
{
    q->job = j;
    q->retries = 0;
    if (j->stage == S3_STAGE_MOVE)
        q->piece = j->next++;
    j->inside++;
    s->running++;
    request_send(s, q);
}

/* Has the next piece of j contents to send? They are in *contents, or NULL: the request makes them.
 */
static bool piece_ready(const struct s3 *s, struct s3_job *j, const void **contents)
{
    const struct tier_source *source = j->op->source;

    *contents = NULL;
    if (!source)
        return true;
    int rc = source->take(source->ctx, j->next * s->part_bytes, contents);
    if (rc < 0 && rc != -EAGAIN && j->op->status == 0)
        j->op->status = rc;
    return rc != -EAGAIN;
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
        return s3_header_too_long(easy, (int)code) ? -EPROTO : -ENOMEM;
    default:
        return -EPROTO;
    }
}

/* How a request ended. */
struct outcome {
    int rc; /* 0 or negative errno */
    long http;
    char code[TIER_CODE_CAP]; /* with -EREMOTEIO */
    char said[TIER_SAID_CAP];
    bool may_pass; /* another attempt may succeed, and does no harm */
};

/* An answer of success may hold an error as its body: a completion that was begun cannot say so in
 * its head any more. */
static bool is_error(const struct request *q)
{
    char code[TIER_CODE_CAP];
    int rc = s3_xml_find(q->body, q->body_len, "Error/Code", code, sizeof(code));

    return rc == 0 || rc == -ENOENT || rc == -ENAMETOOLONG;
}

/* Does the answer say that the upload has become an object? */
static bool completed(const struct request *q)
{
    char tag[S3_TAG_CAP];

    return s3_xml_find(q->body, q->body_len, "CompleteMultipartUploadResult", tag, sizeof(tag)) !=
           -EBADMSG;
}

static void look_at(struct outcome *o, struct request *q, CURLcode code)
{
    static const long passing[] = {408, 429, 500, 502, 503, 504};
    const struct s3_job *j = q->job;
    bool posts = j->stage == S3_STAGE_CREATE || j->stage == S3_STAGE_COMPLETE;
    bool contents = j->stage == S3_STAGE_MOVE && j->op->verb == TIER_READ;

    *o = (struct outcome){0};
    curl_easy_getinfo(q->easy, CURLINFO_RESPONSE_CODE, &o->http);
    q->body[q->body_len] = '\0';
    bool refused = !s3_fine(o->http);
    /* An answer that was ended since it was too long has its head. */
    if (code != CURLE_OK && !(q->excess || (q->cut && refused && o->http >= 300))) {
        o->rc = transfer_errno(q->easy, code);
        /* A request that may have been done already is repeated only if that does not matter. */
        o->may_pass = code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
                      (!posts && (o->rc == -ETIMEDOUT || o->rc == -ECONNRESET));
        return;
    }
    if (refused || (!contents && is_error(q))) {
        struct s3_no no = {.http = o->http, .body = q->body, .len = q->body_len};
        curl_easy_getinfo(q->easy, CURLINFO_REDIRECT_URL, &no.moved);
        o->rc = s3_refusal(o->http, q->body, q->body_len, o->code);
        s3_said(q->s->ask, &no, o->said);
        o->may_pass = !refused || strcmp(o->code, "S3:RequestTimeout") == 0;
    } else if (j->stage == S3_STAGE_COMPLETE && !completed(q)) {
        o->rc = -EPROTO;
    }
    for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
        o->may_pass |= refused && o->http == passing[i];
}

/* Sets the operation's status by the outcome, unless that is of an upload that was given up. */
static void judge(struct s3 *s, struct request *q, const struct outcome *o)
{
    struct s3_job *j = q->job;
    struct tier_op *op = j->op;

    if (j->stage == S3_STAGE_ABORT && o->rc < 0 && o->http != 404)
        atomic_fetch_add_explicit(&s->uploads_left, 1, memory_order_relaxed);
    if (j->stage == S3_STAGE_ABORT || op->status < 0)
        return;
    if (j->stage == S3_STAGE_REMOVE && o->rc == -ENOENT &&
        (op->verb == TIER_WRITE || place_twice(op->place)))
        return; /* it had gone */
    op->status = o->rc;
    memcpy(op->code, o->code, sizeof(op->code));
    memcpy(op->said, o->said, sizeof(op->said));
    if (o->rc < 0 || j->stage != S3_STAGE_MOVE)
        return;
    if (op->verb == TIER_READ)
        check_chunk(q); /* of a body that ended early */
    if (op->status == 0 && op->verb == TIER_READ && (q->at < q->end || q->excess)) {
        op->status = -EBADMSG; /* an answer, and less or more than was stored */
        op->fault = (struct data_fault){
            .kind = DATA_FAULT_END, .block = q->at / DATA_BLOCK, .offset = q->at};
    }
    if (j->tag && !j->tag[q->piece].text[0])
        op->status = -EPROTO; /* a part without a tag cannot be completed */
}

/* ---- jobs ---- */

static void job_done(struct s3 *s, struct s3_job *j, int64_t now)
{
    struct tier_op *op = j->op;

    if (op->verb == TIER_WRITE && op->status == 0)
        op->place = place_of(j->bytes, 0);
    else if (op->verb == TIER_WRITE) /* the old one may be there still, if it has another name */
        op->place = place_epoch(op->place)
                        ? place_of(place_bytes(op->place) | PLACE_TWICE, place_epoch(op->place))
                        : NULL;
    else if (op->status == 0 && (op->verb == TIER_DELETE || op->drop))
        op->place = NULL;
    op->device_ns = tier_parts_device_ns(&op->part);
    s3_job_forget(j);
    *j = (struct s3_job){.link = s->spare_job};
    s->spare_job = j;
    remote_done(s->remote, op, now);
}

/* No further piece of j begins. */
static void stop_pieces(struct s3 *s, struct s3_job *j)
{
    struct s3_job **at = &s->more, *last = NULL;

    j->next = j->pieces;
    while (*at && *at != j) {
        last = *at;
        at = &last->link;
    }
    if (!*at)
        return;
    *at = j->link;
    if (s->more_last == j)
        s->more_last = last;
}

/* j waits behind the others for requests to move its pieces. */
static void more_pieces(struct s3 *s, struct s3_job *j)
{
    j->link = NULL;
    if (s->more)
        s->more_last->link = j;
    else
        s->more = j;
    s->more_last = j;
}

/* Counts a request that has ended. */
static void count_request(struct s3 *s, const struct request *q, int64_t now)
{
    struct door *d = &s->door[door_of(s, q->job->op)];
    long made = 0;

    curl_easy_getinfo(q->easy, CURLINFO_NUM_CONNECTS, &made);
    atomic_fetch_add_explicit(&d->connections, (uint64_t)made, memory_order_relaxed);
    atomic_fetch_add_explicit(&d->requests, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&d->retries, q->retries > 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->ios, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->io_ns, now - q->begin_ns, memory_order_relaxed);
}

/* Nothing of the present stage of j is under way any more. True: the next one begins, with q. */
static bool stage_done(struct s3 *s, struct s3_job *j, struct request *q, int64_t now)
{
    if (j->stage == S3_STAGE_MOVE)
        j->op->part.io_ns = now - j->stage_ns;
    else
        j->op->part.meta_ns += now - j->stage_ns;
    j->stage_ns = now;
    if (!s3_next_stage(j, q->body, q->body_len)) {
        job_done(s, j, now);
        return false;
    }
    if (j->stage != S3_STAGE_MOVE) {
        request_start(s, q, j);
        return true;
    }
    more_pieces(s, j);
    return false;
}

/* q has no more to do for its job, whose next stage may begin with it. */
static void request_done(struct s3 *s, struct request *q, int64_t now)
{
    struct s3_job *j = q->job;

    s->running--;
    j->inside--;
    q->again_ns = 0;
    if (j->op->status < 0)
        stop_pieces(s, j);
    if (q->contents)
        j->op->source->give(j->op->source->ctx, q->piece * s->part_bytes, j->op->status);
    q->contents = NULL;
    if (j->inside == 0 && (j->stage != S3_STAGE_MOVE || j->next == j->pieces) &&
        stage_done(s, j, q, now))
        return;
    q->next = s->spare;
    s->spare = q;
}

/* The transfer of q has ended, or is given up. */
static void end_request(struct s3 *s, struct request *q, CURLcode code)
{
    const struct s3_job *j = q->job;
    int64_t now = clock_now_ns();
    struct outcome outcome;

    count_request(s, q, now);
    look_at(&outcome, q, code);
    curl_multi_remove_handle(s->multi, q->easy);
    q->active = false;
    if (outcome.rc < 0 && changes(j) && lease_lost(remote_lease(s->remote)))
        outcome = (struct outcome){.rc = -ESTALE}; /* give_body or before_request ended it */
    if (outcome.may_pass && j->op->status == 0 && q->retries < s->retries) {
        q->retries++;
        q->again_ns = now + remote_pause_ns(j->op, q->retries);
        return;
    }
    judge(s, q, &outcome);
    request_done(s, q, now);
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

/* Gives up the transfers that make no progress, and repeats what has waited long enough. Returns
 * how long to sleep, in ms. */
static int check_progress(struct s3 *s)
{
    int64_t now = clock_now_ns(), least = (int64_t)POLL_MS * 1000000;

    for (unsigned i = 0; i < s->requests; i++) {
        struct request *q = &s->request[i];
        int64_t left = q->active ? q->step_ns + s->timeout_ns - now : q->again_ns - now;
        if (!q->active && !q->again_ns)
            continue;
        if (left > 0)
            least = left < least ? left : least;
        else if (q->active)
            end_request(s, q, CURLE_OPERATION_TIMEDOUT);
        else if (q->job->op->status < 0) /* another piece of it has failed */
            request_done(s, q, now);
        else
            request_send(s, q);
    }
    return (int)(least / 1000000) + 1;
}

/* ---- the thread ---- */

/* The job of the operation that waits longest. NULL: it is done already. */
static struct s3_job *next_job(struct s3 *s)
{
    struct tier_op *op = s->waiting;
    int64_t now = clock_now_ns();
    uint64_t bytes = DATA_PADDED(op->size);
    uint64_t pieces = bytes ? (bytes + s->part_bytes - 1) / s->part_bytes : 1;

    s->waiting = op->next;
    if (op->verb == TIER_WRITE && pieces > PARTS_MAX) {
        op->status = -EFBIG;
        remote_done(s->remote, op, now);
        return NULL;
    }
    struct s3_job *j = s->spare_job;
    s->spare_job = j->link;
    *j = (struct s3_job){.op = op, .stage = S3_STAGE_MOVE, .stage_ns = now, .bytes = bytes};
    j->pieces = (unsigned)pieces;
    if (op->verb == TIER_DELETE)
        j->stage = S3_STAGE_REMOVE;
    else if (op->verb == TIER_WRITE && pieces > 1)
        j->stage = S3_STAGE_CREATE;
    op->door = (uint8_t)door_of(s, op);
    op->part.slot_ns = now - op->start_ns;
    return j;
}

/* The job that waits longest with a piece to move, taken out of its line, with the contents. A job
 * whose source has given up ends. NULL: there is none. */
static struct s3_job *ready_job(struct s3 *s, const void **contents)
{
    struct s3_job *before = NULL, *j = s->more;

    *contents = NULL;
    while (j && !piece_ready(s, j, contents)) {
        before = j;
        j = j->link;
    }
    if (!j)
        return NULL;
    if (before)
        before->link = j->link;
    else
        s->more = j->link;
    if (s->more_last == j)
        s->more_last = before;
    return j;
}

/* The source of j has given up: no further piece of it begins. q is spare. */
static void give_up(struct s3 *s, struct s3_job *j, struct request *q)
{
    j->next = j->pieces;
    if (j->inside > 0) /* the last of them ends it */
        return;
    s->spare = q->next;
    q->job = j;
    if (stage_done(s, j, q, clock_now_ns()))
        return;
    q->next = s->spare;
    s->spare = q;
}

static void take_operations(struct s3 *s)
{
    struct tier_op *op;
    const void *contents;

    while ((op = remote_take(s->remote))) {
        op->next = NULL;
        if (s->waiting)
            s->waiting_last->next = op;
        else
            s->waiting = op;
        s->waiting_last = op;
    }
    while (s->spare) {
        struct request *q = s->spare;
        struct s3_job *j = ready_job(s, &contents);
        if (j && j->op->status < 0) {
            give_up(s, j, q);
            continue;
        }
        if (!j && (!s->waiting || !s->spare_job))
            return;
        if (!j && (j = next_job(s)) && j->stage == S3_STAGE_MOVE) {
            more_pieces(s, j);
            continue;
        }
        if (!j)
            continue;
        s->spare = q->next;
        q->contents = contents;
        request_start(s, q, j);
        if (j->stage == S3_STAGE_MOVE && j->next < j->pieces)
            more_pieces(s, j);
    }
}

static void s3_run(struct remote *remote, void *state)
{
    struct s3 *s = state;
    int running;

    s->remote = remote;
    s3_control_phase(s->control, S3_RUNNING);
    for (;;) {
        curl_multi_perform(s->multi, &running);
        collect(s);
        int sleep_ms = check_progress(s);
        take_operations(s);
        if (remote_stopping(remote) && s->running == 0 && !s->waiting && !s->more) {
            s3_control_phase(s->control, S3_CLOSING);
            return;
        }
        curl_multi_poll(s->multi, NULL, 0, sleep_ms, NULL); /* not while something begins */
    }
}

static void s3_wake(void *state)
{
    const struct s3 *s = state;

    curl_multi_wakeup(s->multi);
}

/* ---- the tier ---- */

/* The environment names a proxy. Its value may hold a password. */
static bool proxy_named(void)
{
    static const char *const name[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                       "ALL_PROXY"};

    for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
        const char *value = getenv(name[i]);
        if (value && *value)
            return true;
    }
    return false;
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
    if (s->retries > 0)
        notes_add(&info->flags, "up to %u retr%s of a request", s->retries,
                  s->retries == 1 ? "y" : "ies");
    uint64_t left = atomic_load_explicit(&s->uploads_left, memory_order_relaxed);
    if (left > 0)
        notes_add(&info->fallbacks, "%llu unfinished upload%s could not be aborted",
                  (unsigned long long)left, units_plural(left));
    if (s3_control_keeps_versions(s->control))
        notes_add(&info->fallbacks,
                  "the bucket has versioning: deleted and overwritten objects stay "
                  "there as old versions and take space");
    if (s->u.proxy_env)
        notes_add(&info->flags, "through the proxy of the environment, if it names one");
    else if (proxy_named())
        notes_add(&info->flags, "the environment's proxy is not used (proxy=env uses it)");
    if (s->u.unlocked)
        notes_add(&info->flags, "unlocked: nothing keeps a second run out");
    if (s3_authorities(s->ask))
        notes_add(&info->flags, "trusted authorities of %s", s3_authorities(s->ask));
    if (s->u.insecure)
        notes_add(&info->flags, "insecure: certificates are not verified");
}

static uint64_t s3_room(void *state)
{
    (void)state;
    return UINT64_MAX;
}

static unsigned s3_doors(void *state, struct tier_door door[TIER_DOORS_MAX])
{
    struct s3 *s = state;

    for (unsigned i = 0; i < s->u.endpoints; i++) {
        const struct door *d = &s->door[i];
        door[i] = (struct tier_door){
            .requests = atomic_load_explicit(&d->requests, memory_order_relaxed),
            .retries = atomic_load_explicit(&d->retries, memory_order_relaxed),
            .connections = atomic_load_explicit(&d->connections, memory_order_relaxed),
            .retransmits = sockets_retransmits(s->sockets, i)};
        snprintf(door[i].endpoint, sizeof(door[i].endpoint), "%s", s->u.endpoint[i]);
        snprintf(door[i].interface, sizeof(door[i].interface), "%s", d->interface);
    }
    return s->u.endpoints;
}

static void s3_close(void *state)
{
    struct s3 *s = state;

    for (unsigned i = 0; s->request && i < s->requests; i++) {
        struct request *q = &s->request[i];
        if (q->easy)
            curl_easy_cleanup(q->easy);
        s3_headers_free(q->signed_head);
        free(q->chunk);
    }
    if (s->multi)
        curl_multi_cleanup(s->multi); /* closes the connections */
    sockets_free(s->sockets);
    s3_control_close(s->control);
    s3_ask_close(s->ask);
    free(s->request);
    free(s->job);
    free(s);
}

static const struct remote_engine s3_engine = {.name = "s3",
                                               .run = s3_run,
                                               .wake = s3_wake,
                                               .describe = s3_describe,
                                               .room = s3_room,
                                               .doors = s3_doors,
                                               .close = s3_close};

static int request_open(struct s3 *s, struct request *q, struct err *e)
{
    void *chunk = NULL;

    q->s = s;
    q->easy = s3_handle(s->ask);
    q->signed_head = s3_headers_create(s->ask);
    if (!q->easy || !q->signed_head || posix_memalign(&chunk, DATA_BLOCK, CHUNK) != 0)
        return err_nomem(e, "requests");
    q->chunk = chunk;
    curl_easy_setopt(q->easy, CURLOPT_PRIVATE, q);
    curl_easy_setopt(q->easy, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(q->easy, CURLOPT_WRITEDATA, q);
    curl_easy_setopt(q->easy, CURLOPT_READFUNCTION, give_body);
    curl_easy_setopt(q->easy, CURLOPT_READDATA, q);
    curl_easy_setopt(q->easy, CURLOPT_SEEKFUNCTION, give_body_again);
    curl_easy_setopt(q->easy, CURLOPT_SEEKDATA, q);
    curl_easy_setopt(q->easy, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(q->easy, CURLOPT_HEADERDATA, q);
    curl_easy_setopt(q->easy, CURLOPT_PREREQFUNCTION, before_request);
    curl_easy_setopt(q->easy, CURLOPT_PREREQDATA, q);
    curl_easy_setopt(q->easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(q->easy, CURLOPT_OPENSOCKETDATA, q);
    curl_easy_setopt(q->easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    curl_easy_setopt(q->easy, CURLOPT_CLOSESOCKETDATA, s->sockets);
    q->next = s->spare;
    s->spare = q;
    struct s3_job *j = &s->job[q - s->request];
    j->link = s->spare_job;
    s->spare_job = j;
    return 0;
}

/* Which interfaces the doors are behind. Behind a proxy that is not known. */
static void find_interfaces(struct s3 *s)
{
    for (unsigned i = 0; i < s->u.endpoints && !s->u.proxy_env; i++) {
        const char *endpoint = s->u.endpoint[i];
        char host[S3_URL_CAP];
        unsigned port;
        s3_server(&s->u, endpoint, host, &port);
        sockets_interface(host, port, s->door[i].interface);
    }
}

int tier_s3_open(struct tier **out, const struct tier_remote_opts *o, struct bell *bell,
                 struct err *e)
{
    struct s3 *s = calloc(1, sizeof(*s));

    if (!s)
        return err_nomem(e, "S3");
    s->u = *o->uri;
    s->timeout_ns = o->timeout_ns;
    s->retries = o->retries;
    s->part_bytes = o->uri->part_bytes ? o->uri->part_bytes : PART_DEFAULT;
    s->requests = o->uri->connections ? o->uri->connections : CONNECTIONS_DEFAULT;
    int rc = s3_ask_open(&s->ask, &s->u, o->timeout_ns, e);
    if (rc < 0)
        goto out;
    const struct s3_control_opts control = {
        .uri = &s->u, .timeout_ns = o->timeout_ns, .parts = o->largest_bytes > s->part_bytes};
    rc = s3_control_open(&s->control, s->ask, &control, e);
    if (rc < 0)
        goto out;
    s->request = calloc(s->requests, sizeof(*s->request));
    s->job = calloc(s->requests, sizeof(*s->job));
    s->multi = curl_multi_init();
    s->sockets = sockets_create(2 * s->requests + SOCKETS_MORE);
    if (!s->request || !s->job || !s->multi || !s->sockets) {
        rc = err_nomem(e, "requests");
        goto out;
    }
    curl_multi_setopt(s->multi, CURLMOPT_MAXCONNECTS, (long)s->requests);
    for (unsigned i = 0; i < s->requests && rc == 0; i++)
        rc = request_open(s, &s->request[i], e);
    find_interfaces(s);
out:
    if (rc < 0) {
        s3_close(s);
        return rc;
    }
    return remote_open(out, &(struct remote_parts){&s3_engine, s, s3_control_table(s->control)}, o,
                       bell, e);
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

bool tier_s3_is_built(void)
{
    return KVTRACE_S3;
}
