/* Beside the data path of s3.c: one question and its answer, over libcurl. What is asked, and what
 * the answer means, is the business of s3_control.c and s3_rights.c. Keys and tokens come from the
 * environment or a profile and go nowhere but into signatures (the token into its header). */
#include "lib/remote/s3_ask.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/remote/s3_keys.h"
#include "lib/remote/s3_library.h"
#include "lib/remote/s3_sign.h"
#include "lib/remote/s3_xml.h"
#include "lib/thread/thread.h"

#if KVTRACE_S3
#include <curl/curl.h>

enum {
    LINE_CAP = 160, /* of a header that is looked at */
    IDLE_S = 4, /* longer idle, a connection may be closed as it is used: Node.js does after 5 s */
    SKEW_S = 240,  /* servers allow 300 s at least */
    LOOK_MS = 100, /* how often an exchange looks for a signal */
    QUERY_CAP = 8192,
    HIDE_LEAST = 4 /* a shorter key would be found in any text */
};

struct s3_ask {
    const struct uri *u;
    struct s3_keys keys;
    char where[300];
    int64_t timeout_ns;
    CURLM *multi; /* keeps the connections */
    struct s3_headers *headers;
    unsigned door;       /* the endpoint that answered last */
    const char *ca;      /* the file of trusted authorities; NULL: libcurl's own */
    const char *ca_from; /* "ca=", or the variable of the environment */
    bool openssl;        /* libcurl says why a certificate is refused in the numbers of OpenSSL */
    long verified;       /* of the last exchange that failed: that number */
    char why[CURL_ERROR_SIZE]; /* and libcurl's words; "": none */
};

/* ---- addresses ---- */

/* The address of the bucket, without a slash at its end, through the door endpoint. */
static void bucket_url(const struct uri *u, const char *endpoint, char url[S3_URL_CAP])
{
    int scheme = (int)(strstr(endpoint, "//") + 2 - endpoint);

    if (u->style == URI_STYLE_VIRTUAL)
        snprintf(url, S3_URL_CAP, "%.*s%s.%s", scheme, endpoint, u->bucket, endpoint + scheme);
    else
        snprintf(url, S3_URL_CAP, "%s/%s", endpoint, u->bucket);
}

void s3_path(const struct uri *u, const char *name, char path[S3_PATH_CAP])
{
    snprintf(path, S3_PATH_CAP, "/%s%s%.60s", u->prefix, u->prefix[0] ? "/" : "", name);
}

void s3_url(const struct uri *u, const char *endpoint, const char *name, char url[S3_URL_CAP])
{
    char path[S3_PATH_CAP];

    bucket_url(u, endpoint, url);
    s3_path(u, name, path);
    size_t len = strlen(url);
    snprintf(url + len, S3_URL_CAP - len, "%s", path);
}

void s3_server(const struct uri *u, const char *endpoint, char host[S3_URL_CAP], unsigned *port)
{
    char url[S3_URL_CAP];

    bucket_url(u, endpoint, url);
    *port = strncmp(url, "https:", 6) == 0 ? 443 : 80;
    const char *from = strstr(url, "//") + 2;
    size_t len = strcspn(from, "/");
    bool six = *from == '[';
    const char *end = six ? memchr(from, ']', len) : memchr(from, ':', len);
    snprintf(host, S3_URL_CAP, "%.*s", (int)(end ? (size_t)(end - from) - six : len), from + six);
    if (end && end[six] == ':')
        *port = (unsigned)strtoul(end + six + 1, NULL, 10);
}

char *s3_escaped(const char *text)
{
    char *theirs = curl_easy_escape(NULL, text, 0), *ours = theirs ? strdup(theirs) : NULL;

    curl_free(theirs);
    return ours;
}

const char *s3_authorities(const struct s3_ask *k)
{
    return k->ca && !k->u->ca[0] ? k->ca_from : NULL;
}

/* ---- refusals ---- */

int s3_refusal(long http, const char *body, size_t len, char code[TIER_CODE_CAP])
{
    char word[TIER_CODE_CAP - 3];
    bool named = s3_xml_find(body, len, "Error/Code", word, sizeof(word)) == 0 && word[0];

    for (const char *p = word; named && *p; p++)
        named = isalnum((unsigned char)*p);
    if (http == 404 && (!named || strcmp(word, "NoSuchKey") == 0))
        return -ENOENT;
    if (named)
        snprintf(code, TIER_CODE_CAP, "S3:%s", word);
    else
        snprintf(code, TIER_CODE_CAP, "S3:HTTP%ld", http);
    return -EREMOTEIO;
}

static void hide(char *text, const char *key)
{
    static const char mask[] = "(hidden)";
    size_t len = strlen(key), put;
    char *at = text;

    while (len >= HIDE_LEAST && (at = strstr(at, key))) {
        put = len < sizeof(mask) - 1 ? len : sizeof(mask) - 1;
        memcpy(at, mask, put);
        memmove(at + put, at + len, strlen(at + len) + 1);
        at += put;
    }
}

/* The keys, which a server may have sent back. */
static void hide_keys(const struct s3_ask *k, char *text)
{
    hide(text, k->keys.secret);
    hide(text, k->keys.token);
    hide(text, k->keys.id);
}

/* The server of the address url, with its scheme. */
static int server_of(const char *url)
{
    const char *from = strstr(url, "//");

    return from ? (int)(from + 2 - url + (ptrdiff_t)strcspn(from + 2, "/?")) : 0;
}

void s3_said(const struct s3_ask *k, const struct s3_no *no, char said[TIER_SAID_CAP])
{
    char message[160], at[120] = "";
    bool moved = no->http >= 300 && no->http <= 399;

    if (s3_xml_find(no->body, no->len, "Error/Message", message, sizeof(message)) == -EBADMSG)
        message[0] = '\0';
    if (!message[0] && no->http == 413)
        snprintf(message, sizeof(message),
                 "the request is larger than the server, or a proxy before it, takes: part=SIZE "
                 "in the URI makes requests smaller");
    if (moved && (s3_xml_find(no->body, no->len, "Error/Endpoint", at, sizeof(at)) < 0 || !at[0]) &&
        no->moved)
        snprintf(at, sizeof(at), "%.*s", server_of(no->moved), no->moved);
    hide_keys(k, message);
    hide_keys(k, at);
    snprintf(said, TIER_SAID_CAP, "%s%s%s", message, message[0] && at[0] ? "; " : "",
             at[0] ? "its endpoint is " : "");
    size_t len = strlen(said);
    snprintf(said + len, TIER_SAID_CAP - len, "%.100s", moved ? at : "");
}

int s3_refused(const struct s3_ask *k, const struct s3_answer *a, const char *may, struct err *e)
{
    char code[TIER_CODE_CAP] = "S3:HTTP404", said[TIER_SAID_CAP];
    int rc = s3_refusal(a->http, a->body, a->len, code);
    bool denied = strcmp(code, "S3:AccessDenied") == 0 || strcmp(code, "S3:HTTP403") == 0;

    int64_t apart = a->date_s - clock_wall_ns() / UNITS_NS_PER_S;
    if (a->date_s > 0 && (apart > SKEW_S || apart < -SKEW_S))
        return err_set(
            e, rc, ERR_TARGET, k->where,
            "%s: the server's clock is %lld s %s the clock of this host, and a signature "
            "is valid for a few minutes only: set the clocks",
            code, (long long)(apart > 0 ? apart : -apart), apart > 0 ? "ahead of" : "behind");
    s3_said(k, &(struct s3_no){.http = a->http, .body = a->body, .len = a->len, .moved = a->moved},
            said);
    return err_set(e, rc, ERR_TARGET, k->where, "%s%s%s%s%s", code,
                   denied && may ? ": the access key may not " : "", denied && may ? may : "",
                   said[0] ? ": " : "", said);
}

/* ---- headers and handles ---- */

enum header {
    HEADER_HOST,
    HEADER_PAYLOAD,
    HEADER_DATE,
    HEADER_AUTHORIZATION,
    HEADER_TOKEN,
    HEADER_MORE,
    HEADERS
};
struct s3_headers {
    const struct s3_ask *k;
    struct curl_slist line[HEADERS];
    char host[S3_URL_CAP + 8], date[S3_DATE_CAP + 16], more[LINE_CAP];
    char authorization[S3_AUTHORIZATION_CAP + 16];
    char token[sizeof(((struct s3_keys *)0)->token) + 32];
};

struct s3_headers *s3_headers_create(const struct s3_ask *k)
{
    static char payload[] = "x-amz-content-sha256: " S3_UNSIGNED;
    struct s3_headers *h = calloc(1, sizeof(*h));

    if (!h)
        return NULL;
    h->k = k;
    h->line[HEADER_HOST].data = h->host;
    h->line[HEADER_PAYLOAD].data = payload;
    h->line[HEADER_DATE].data = h->date;
    h->line[HEADER_AUTHORIZATION].data = h->authorization;
    h->line[HEADER_TOKEN].data = h->token;
    h->line[HEADER_MORE].data = h->more;
    return h;
}

void s3_headers_free(struct s3_headers *h)
{
    if (!h)
        return;
    explicit_bzero(h, sizeof(*h));
    free(h);
}

/* The host as a request names it: without a port that is the scheme's. */
static void host_of(const char *url, char host[S3_URL_CAP])
{
    const char *from = strstr(url, "//") + 2, *port = url[4] == 's' ? ":443" : ":80";
    size_t len = strcspn(from, "/?"), tail = strlen(port);

    if (len > tail && memcmp(from + len - tail, port, tail) == 0)
        len -= tail;
    snprintf(host, S3_URL_CAP, "%.*s", (int)len, from);
}

void *s3_headers_sign(struct s3_headers *h, const char *verb, const char *url, const char *header)
{
    char host[S3_URL_CAP], path[S3_URL_CAP], date[S3_DATE_CAP], text[S3_AUTHORIZATION_CAP];
    const char *from = strstr(url, "//") + 2;

    host_of(url, host);
    from += strcspn(from, "/?");
    size_t len = strcspn(from, "?");
    snprintf(path, sizeof(path), "%.*s", len ? (int)len : 1, len ? from : "/");
    const struct s3_signed r = {.verb = verb,
                                .host = host,
                                .path = path,
                                .query = from[len] ? from + len + 1 : "",
                                .payload = S3_UNSIGNED,
                                .region = h->k->u->region,
                                .at_s = clock_wall_ns() / UNITS_NS_PER_S};
    s3_sign(&h->k->keys, &r, date, text);
    snprintf(h->host, sizeof(h->host), "Host: %s", host);
    snprintf(h->date, sizeof(h->date), "x-amz-date: %s", date);
    snprintf(h->authorization, sizeof(h->authorization), "Authorization: %s", text);
    snprintf(h->token, sizeof(h->token), "x-amz-security-token: %s", h->k->keys.token);
    snprintf(h->more, sizeof(h->more), "%s", header ? header : "");
    struct curl_slist *next = NULL;
    for (int i = HEADERS; i-- > 0;) {
        if ((i == HEADER_MORE && !header) || (i == HEADER_TOKEN && !h->k->keys.token[0]))
            continue;
        h->line[i].next = next;
        next = &h->line[i];
    }
    return next;
}

void *s3_handle(const struct s3_ask *k)
{
    const struct uri *u = k->u;
    CURL *easy = curl_easy_init();

    if (!easy)
        return NULL;
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L); /* what is signed is what is sent */
    /* No round trip before each body. */
    curl_easy_setopt(easy, CURLOPT_EXPECT_100_TIMEOUT_MS, 0L);
    if (!u->proxy_env)
        curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 512L << 10);
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, 512L << 10);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(k->timeout_ns / 1000000));
    curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, (long)IDLE_S);
    if (k->ca)
        curl_easy_setopt(easy, CURLOPT_CAINFO, k->ca);
    if (u->insecure) {
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    return easy;
}

bool s3_header_too_long(void *easy, int code)
{
    curl_off_t asked_us = 0;
    void *some;

    if (code == S3_STATUS_TOO_LONG)
        return true;
    /* An older libcurl says that it has no memory: that can be tried. */
    if (code != CURLE_OUT_OF_MEMORY ||
        curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &asked_us) != CURLE_OK ||
        asked_us <= 0)
        return false;
    some = malloc(4 * S3_HEADERS_MAX);
    free(some);
    return some != NULL;
}

/* ---- an exchange ---- */

static size_t take_body(char *text, size_t one, size_t n, void *ctx)
{
    struct s3_answer *a = ctx;

    (void)one;
    if (a->len + n > S3_ANSWER_MAX) {
        a->too_long = true;
        return 0;
    }
    if (a->len + n + 1 > a->cap) {
        size_t cap = (a->len + n + 1) * 2;
        if (memory_resize(&a->body, cap, 1) < 0) {
            a->no_memory = true;
            return 0;
        }
        a->cap = cap;
    }
    memcpy(a->body + a->len, text, n);
    a->len += n;
    a->body[a->len] = '\0';
    return n;
}

static size_t take_header(char *text, size_t one, size_t n, void *ctx)
{
    struct s3_answer *a = ctx;
    char line[LINE_CAP];
    size_t len = n < sizeof(line) - 1 ? n : sizeof(line) - 1;

    (void)one;
    a->headers += n;
    if (a->headers > S3_HEADERS_MAX)
        return 0;
    memcpy(line, text, len);
    line[len] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    if (strncasecmp(line, "Date: ", 6) == 0)
        a->date_s = (int64_t)curl_getdate(line + 6, NULL);
    else if (strncasecmp(line, "ETag: ", 6) == 0)
        snprintf(a->etag, sizeof(a->etag), "%.79s", line + 6);
    else if (strncasecmp(line, "Content-Range: ", 15) == 0 && strchr(line, '/') &&
             units_parse_digits(strchr(line, '/') + 1, strlen(strchr(line, '/') + 1), &a->total) <
                 0)
        a->total = 0;
    return n;
}

/* A text that is sent. */
struct upload {
    const char *text;
    size_t left;
};
static size_t give_text(char *to, size_t one, size_t n, void *ctx)
{
    struct upload *up = ctx;
    size_t take = up->left < n ? up->left : n;

    (void)one;
    memcpy(to, up->text, take);
    up->text += take;
    up->left -= take;
    return take;
}

static void answer_begin(struct s3_answer *a)
{
    a->len = a->headers = 0;
    a->http = 0;
    a->date_s = 0;
    a->total = 0;
    a->etag[0] = a->moved[0] = '\0';
    a->too_long = a->no_memory = false;
    take_body("", 1, 0, a); /* the body is a text, also when there is none */
}

void s3_answer_forget(struct s3_answer *a)
{
    free(a->body);
    *a = (struct s3_answer){0};
}

/* Drives the transfer of easy to its end. -EINTR: a signal has ended it. */
static int transfer(struct s3_ask *k, CURL *easy, enum s3_patience patience, CURLcode *code)
{
    const int64_t until = clock_now_ns() + k->timeout_ns;
    int running = 1, left, rc = 0;

    *code = CURLE_OUT_OF_MEMORY;
    if (curl_multi_add_handle(k->multi, easy) != CURLM_OK)
        return 0;
    while (running > 0) {
        if (curl_multi_perform(k->multi, &running) != CURLM_OK || running == 0)
            break;
        int64_t more_ns = until - clock_now_ns();
        if ((patience == S3_UNTIL_FIRST_SIGNAL && stop_signal()) ||
            (patience == S3_UNTIL_SECOND_SIGNAL && stop_abandons()))
            rc = -EINTR;
        if (more_ns <= 0)
            *code = CURLE_OPERATION_TIMEDOUT;
        if (rc < 0 || more_ns <= 0)
            break;
        int64_t ms = more_ns / 1000000 + 1;
        curl_multi_poll(k->multi, NULL, 0, ms < LOOK_MS ? (int)ms : LOOK_MS, NULL);
    }
    CURLMsg *m;
    while ((m = curl_multi_info_read(k->multi, &left))) {
        if (m->msg == CURLMSG_DONE && m->easy_handle == easy)
            *code = m->data.result;
    }
    curl_multi_remove_handle(k->multi, easy);
    return rc;
}

/* Asks through the endpoint and fills *a. */
static int ask_one(struct s3_ask *k, const struct s3_question *q, const char *endpoint,
                   struct s3_answer *a, CURLcode *code)
{
    struct upload up = {.text = q->text, .left = !q->text ? 0 : q->len ? q->len : strlen(q->text)};
    char bucket[S3_URL_CAP], url[S3_URL_CAP + QUERY_CAP];
    const char *moved = NULL;
    CURL *easy = s3_handle(k);
    int rc = 0;

    *code = CURLE_OUT_OF_MEMORY;
    answer_begin(a);
    if (!easy || !a->body) {
        a->no_memory = true;
        goto out;
    }
    bucket_url(k->u, endpoint, bucket);
    snprintf(url, sizeof(url), "%s%s", bucket, q->path);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER,
                     s3_headers_sign(k->headers, q->verb, url, q->header));
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, k->why);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, a);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, a);
    if (q->range)
        curl_easy_setopt(easy, CURLOPT_RANGE, q->range);
    if (q->text) {
        curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(easy, CURLOPT_READFUNCTION, give_text);
        curl_easy_setopt(easy, CURLOPT_READDATA, &up);
        curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)up.left);
        /* On a connection that was used before, libcurl sends a request again when the server
         * closes it: a conditional PUT would meet itself. */
        curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, q->verb);
    k->why[0] = '\0';
    rc = transfer(k, easy, q->patience, code);
    curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &k->verified);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &a->http);
    if (curl_easy_getinfo(easy, CURLINFO_REDIRECT_URL, &moved) == CURLE_OK && moved)
        snprintf(a->moved, sizeof(a->moved), "%s", moved);
    if (s3_header_too_long(easy, (int)*code) || a->headers > S3_HEADERS_MAX)
        *code = (CURLcode)S3_STATUS_TOO_LONG;
out:
    curl_easy_cleanup(easy);
    return rc;
}

/* Why the certificate of a server is refused. Source: OpenSSL, X509_STORE_CTX_get_error(3). */
static const char *certificate_fault(const struct s3_ask *k)
{
    static const struct {
        long number;
        const char *text;
    } known[] = {
        {1, "its certificate is for another name of the server"}, /* libcurl looks itself */
        {9, "its certificate is not valid yet, or the clock of this host is wrong"},
        {10, "its certificate has expired, or the clock of this host is wrong"},
        {18, "its certificate is self-signed"},
        {2, "its certificate is of an authority that is not trusted here"},
        {19, "its certificate is of an authority that is not trusted here"},
        {20, "its certificate is of an authority that is not trusted here"},
        {21, "its certificate is of an authority that is not trusted here"},
        {23, "its certificate has been revoked"},
        {62, "its certificate is for another name of the server"},
        {64, "its certificate is for another address of the server"},
    };

    for (size_t i = 0; k->openssl && i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i].number == k->verified)
            return known[i].text;
    }
    return k->why[0] ? k->why : "its certificate is refused";
}

/* Why an exchange with the endpoint failed, and what to do about it. */
static void failure_text(const struct s3_ask *k, const char *door, CURLcode code, char *text,
                         size_t cap)
{
    const char *why = k->why[0] ? k->why : curl_easy_strerror(code);

    if (code == CURLE_PEER_FAILED_VERIFICATION)
        snprintf(
            text, cap,
            "%s: name the certificate or its authority (ca=FILE in the URI, or AWS_CA_BUNDLE), "
            "or accept any (insecure)",
            certificate_fault(k));
    else if (code == CURLE_COULDNT_RESOLVE_HOST && k->u->style == URI_STYLE_VIRTUAL)
        snprintf(text, cap,
                 "%s: style=virtual puts the bucket before the name of the server, "
                 "style=path does not",
                 why);
    else if (code == CURLE_SSL_CONNECT_ERROR)
        snprintf(text, cap, "no TLS connection: %s (a server without TLS is http://)", why);
    else if (strncmp(door, "http:", 5) == 0 &&
             (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_GOT_NOTHING ||
              code == CURLE_WEIRD_SERVER_REPLY))
        snprintf(text, cap, "%s (a server with TLS is https://)", why);
    else
        snprintf(text, cap, "%s", why);
}

/* No endpoint has answered; the last one that was asked ended so. */
static int unanswered(const struct s3_ask *k, const struct s3_answer *a, CURLcode code,
                      unsigned tried, struct err *e)
{
    const char *door = k->u->endpoint[a->door - 1];
    char time[32];

    if (a->no_memory || code == CURLE_OUT_OF_MEMORY)
        return err_nomem(e, "request");
    if (code == (CURLcode)S3_STATUS_TOO_LONG)
        return err_set(e, -EPROTO, ERR_TARGET, k->where, "%s: the server's header is too long",
                       door);
    if (a->too_long)
        return err_set(e, -EPROTO, ERR_TARGET, k->where,
                       "%s: the server's answer is longer than 8 MiB", door);
    int rc = code == CURLE_OPERATION_TIMEDOUT ? -ETIMEDOUT : -ECONNREFUSED;
    char why[400];
    failure_text(k, door, code, why, sizeof(why));
    if (rc == -ETIMEDOUT && tried == 1)
        return err_set(e, rc, ERR_TARGET, k->where,
                       "%s does not answer: no complete answer came within %s (--config timeout)",
                       door, units_format_duration(time, sizeof(time), (double)k->timeout_ns));
    if (tried == 1)
        return err_set(e, rc, ERR_TARGET, k->where, "%s does not answer: %s", door, why);
    return err_set(e, rc, ERR_TARGET, k->where, "none of %u endpoints answers; the last was %s: %s",
                   tried, door, why);
}

int s3_ask(struct s3_ask *k, const struct s3_question *q, struct s3_answer *a, struct err *e)
{
    unsigned first = q->door ? q->door - 1 : k->door, doors = q->door ? 1 : k->u->endpoints;
    unsigned tried = 0;
    CURLcode code = CURLE_OK;

    while (tried < doors) {
        unsigned door = (first + tried++) % k->u->endpoints;
        a->door = door + 1;
        int rc = ask_one(k, q, k->u->endpoint[door], a, &code);
        if (rc < 0)
            return err_set(e, rc, ERR_TARGET, k->where, "interrupted by a signal");
        if (code == CURLE_OK) {
            k->door = q->door ? k->door : door;
            return 0;
        }
        /* A conditional PUT that may have been done is not repeated: it would meet itself. */
        if (a->no_memory ||
            (q->text && code != CURLE_COULDNT_CONNECT && code != CURLE_COULDNT_RESOLVE_HOST))
            break;
    }
    return unanswered(k, a, code, tried, e);
}

/* ---- opening ---- */

/* The value of the first variable that has one, with its name. */
static const char *environment(const char *const name[2], const char **which)
{
    for (unsigned i = 0; i < 2; i++) {
        const char *value = getenv(name[i]);
        *which = name[i];
        if (value && *value)
            return value;
    }
    return NULL;
}

/* Completes the URI from the environment and the profile, by the same rules as in a URI. */
static int complete(struct uri *u, const struct s3_keys *keys, struct err *e)
{
    static const char *const region_names[2] = {"AWS_REGION", "AWS_DEFAULT_REGION"};
    static const char *const endpoint_names[2] = {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"};
    const char *region_from, *endpoint_from;
    const char *region = environment(region_names, &region_from);
    const char *endpoint = environment(endpoint_names, &endpoint_from);
    int rc = 0;

    if (!region && keys->region[0]) {
        region = keys->region;
        region_from = "region of the profile";
    }
    if (!endpoint && keys->endpoint[0]) {
        endpoint = keys->endpoint;
        endpoint_from = "endpoint_url of the profile";
    }
    if (!u->region[0])
        rc = uri_take_region(u, region ? region : "us-east-1", region_from, e);
    if (rc < 0 || u->endpoints > 0)
        return rc;
    if (endpoint)
        return uri_take_endpoint(u, endpoint, endpoint_from, e);
    u->endpoints = 1;
    snprintf(u->endpoint[0], URI_NAME_CAP, "https://s3.%s.amazonaws.com", u->region);
    /* A certificate of all buckets is of names without dots. */
    if (u->style == URI_STYLE_DEFAULT && !strchr(u->bucket, '.'))
        u->style = URI_STYLE_VIRTUAL;
    return 0;
}

/* The file of trusted authorities: of the URI, else of the environment. libcurl itself looks at
 * none of these variables. */
static int find_authorities(struct s3_ask *k, struct err *e)
{
    static const char *const names[2] = {"AWS_CA_BUNDLE", "SSL_CERT_FILE"};
    const char *from = "ca=", *value = k->u->ca[0] ? k->u->ca : environment(names, &from);
    bool tls = false;

    for (unsigned i = 0; i < k->u->endpoints; i++)
        tls |= strncmp(k->u->endpoint[i], "https:", 6) == 0;
    if (!value || !tls || k->u->insecure)
        return 0;
    if (access(value, R_OK) < 0)
        return err_errno(e, -errno, ERR_INPUT, from, "cannot read the certificates of %.200s",
                         value);
    k->ca = value;
    k->ca_from = from;
    return 0;
}

int s3_ask_open(struct s3_ask **out, struct uri *u, int64_t timeout_ns, struct err *e)
{
    int rc = thread_try(e, "the threads of libcurl");

    if (rc == 0)
        rc = s3_library_load(e);
    if (rc < 0)
        return rc;
    struct s3_ask *k = calloc(1, sizeof(*k));
    if (k && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) {
        k->multi = curl_multi_init();
        k->headers = s3_headers_create(k);
    }
    if (!k || !k->multi || !k->headers) {
        s3_ask_close(k);
        return err_nomem(e, "S3");
    }
    k->u = u;
    k->timeout_ns = timeout_ns;
    const char *tls = curl_version_info(CURLVERSION_NOW)->ssl_version;
    k->openssl = tls && (strstr(tls, "OpenSSL") || strstr(tls, "LibreSSL"));
    snprintf(k->where, sizeof(k->where), "s3://%s/%s", u->bucket, u->prefix);
    rc = s3_keys_find(&k->keys, u->profile, u->text, e);
    if (rc == 0)
        rc = complete(u, &k->keys, e);
    if (rc == 0)
        rc = find_authorities(k, e);
    if (rc < 0) {
        s3_ask_close(k);
        return rc;
    }
    *out = k;
    return 0;
}

void s3_ask_close(struct s3_ask *k)
{
    if (!k)
        return;
    if (k->multi)
        curl_multi_cleanup(k->multi);
    s3_headers_free(k->headers);
    s3_keys_forget(&k->keys);
    free(k);
}
#endif
