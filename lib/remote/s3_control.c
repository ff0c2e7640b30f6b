/* Beside the data path of s3.c. Answers are XML of which a few elements matter; they are looked for
 * by name, within bounds. Keys and tokens come from the environment and go to libcurl only. */
#include "lib/remote/s3_control.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/remote/s3_keys.h"

#if KVTRACE_S3
#include <curl/curl.h>

#define ANSWER_MAX (8 * UNITS_MIB)
#define CHECK_STEP UINT64_C(1048576)
enum {
    HEADER_CAP = 160,
    SKEW_S = 240, /* servers allow 300 s at least */
    IDLE_S = 4, /* longer idle, a connection may be closed as it is used: Node.js does after 5 s */
    PATH_CAP = 320,     /* of an object */
    ELEMENT_CAP = 1100, /* of a key, or a token */
    LISTING_CAP = 4 * ELEMENT_CAP + 800
};

struct answer {
    char *body; /* NUL-terminated */
    size_t len, cap;
    long http;
    int64_t date_s; /* the server's clock */
    uint64_t total; /* bytes of the object, of a range */
    char etag[80];
};

struct s3_control {
    struct uri u;
    struct s3_keys keys;
    char where[300];
    int64_t timeout_ns;
    pthread_mutex_t lock;
    unsigned door; /* the endpoint that answered last */
    struct answer a;
    struct owner_store store;
    struct inventory_store list;
    uint32_t listed; /* a holds this segment of the list, plus 1 */
};

/* What is asked. */
struct question {
    const char *verb;   /* "GET", "PUT", "DELETE" */
    const char *path;   /* behind the address of the bucket: "/NAME", "?list-type=2" */
    const char *header; /* one more, NULL: none */
    const char *text;   /* of a PUT */
    size_t len;         /* of text; 0: it is NUL-terminated */
    const char *range;
};

/* ---- what all requests have in common ---- */

void s3_object_name(char name[S3_NAME_CAP], struct hash128 object, uint32_t epoch)
{
    char stem[STEM_CAP];

    stem_format(stem, object, epoch);
    snprintf(name, S3_NAME_CAP, "%s.kv", stem);
}

/* The address of the bucket, without a slash at its end, through the door endpoint. */
static void bucket_url(const struct uri *u, const char *endpoint, char url[S3_URL_CAP])
{
    int scheme = (int)(strstr(endpoint, "//") + 2 - endpoint);

    if (u->style == URI_STYLE_VIRTUAL)
        snprintf(url, S3_URL_CAP, "%.*s%s.%s", scheme, endpoint, u->bucket, endpoint + scheme);
    else
        snprintf(url, S3_URL_CAP, "%s/%s", endpoint, u->bucket);
}

/* What names an object behind the address of its bucket. */
static void object_path(const struct uri *u, const char *name, char path[PATH_CAP])
{
    snprintf(path, PATH_CAP, "/%s%s%.60s", u->prefix, u->prefix[0] ? "/" : "", name);
}

void s3_url(const struct uri *u, const char *endpoint, const char *name, char url[S3_URL_CAP])
{
    char path[PATH_CAP];

    bucket_url(u, endpoint, url);
    object_path(u, name, path);
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

/* What stands between <NAME> and </NAME> from *at on; *at moves behind it. False: nothing. */
static bool element(const char **at, const char *name, char *to, size_t cap)
{
    char open[64], close[64];

    snprintf(open, sizeof(open), "<%s>", name);
    snprintf(close, sizeof(close), "</%s>", name);
    const char *from = strstr(*at, open);
    if (!from)
        return false;
    from += strlen(open);
    const char *end = strstr(from, close);
    if (!end || (size_t)(end - from) >= cap)
        return false;
    memcpy(to, from, (size_t)(end - from));
    to[end - from] = '\0';
    *at = end + strlen(close);
    return true;
}

bool s3_element(const char *text, const char *name, char *to, size_t cap)
{
    return element(&text, name, to, cap);
}

int s3_refusal(long http, const char *body, char code[TIER_CODE_CAP])
{
    char word[TIER_CODE_CAP - 3];
    const char *at = body;

    bool named = element(&at, "Code", word, sizeof(word)) && word[0];
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

void *s3_handle(const struct s3_control *c, const char *header, void **headers)
{
    const struct uri *u = &c->u;
    long timeout_ms = (long)(c->timeout_ns / 1000000);
    struct curl_slist *list = NULL;
    char text[4200], provider[96];
    CURL *easy = curl_easy_init();

    if (!easy)
        return NULL;
    /* No round trip before each body. */
    list = curl_slist_append(list, "Expect:");
    list = curl_slist_append(list, "x-amz-content-sha256: UNSIGNED-PAYLOAD");
    if (c->keys.token[0]) {
        snprintf(text, sizeof(text), "x-amz-security-token: %s", c->keys.token);
        list = curl_slist_append(list, text);
    }
    if (header)
        list = curl_slist_append(list, header);
    *headers = list;
    snprintf(provider, sizeof(provider), "aws:amz:%s:s3", u->region);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(easy, CURLOPT_AWS_SIGV4, provider);
    curl_easy_setopt(easy, CURLOPT_USERNAME, c->keys.id);
    curl_easy_setopt(easy, CURLOPT_PASSWORD, c->keys.secret);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    if (!u->proxy_env)
        curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 512L << 10);
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, 512L << 10);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, timeout_ms);
    curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, (long)IDLE_S);
    /* Nothing moves for so long. libcurl counts whole seconds. */
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, timeout_ms < 1000 ? 1L : timeout_ms / 1000);
    if (u->ca[0])
        curl_easy_setopt(easy, CURLOPT_CAINFO, u->ca);
    if (u->insecure) {
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    return easy;
}

/* ---- calls ---- */

static size_t take_answer(char *text, size_t one, size_t n, void *ctx)
{
    struct answer *a = ctx;

    (void)one;
    if (a->len + n + 1 > ANSWER_MAX)
        return 0;
    if (a->len + n + 1 > a->cap) {
        size_t cap = (a->len + n + 1) * 2;
        char *body = realloc(a->body, cap);
        if (!body)
            return 0;
        a->body = body;
        a->cap = cap;
    }
    memcpy(a->body + a->len, text, n);
    a->len += n;
    a->body[a->len] = '\0';
    return n;
}

static size_t take_header(char *text, size_t one, size_t n, void *ctx)
{
    struct answer *a = ctx;
    char line[HEADER_CAP];
    size_t len = n < sizeof(line) - 1 ? n : sizeof(line) - 1;

    (void)one;
    memcpy(line, text, len);
    line[len] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    if (strncasecmp(line, "Date: ", 6) == 0)
        a->date_s = (int64_t)curl_getdate(line + 6, NULL);
    else if (strncasecmp(line, "ETag: ", 6) == 0)
        snprintf(a->etag, sizeof(a->etag), "%.79s", line + 6);
    else if (strncasecmp(line, "Content-Range: ", 15) == 0 && strchr(line, '/'))
        a->total = strtoull(strchr(line, '/') + 1, NULL, 10);
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

/* Asks through the endpoint and fills c->a. */
static CURLcode ask_one(struct s3_control *c, const struct question *q, const char *endpoint)
{
    struct upload up = {.text = q->text, .left = q->len || !q->text ? q->len : strlen(q->text)};
    char bucket[S3_URL_CAP], url[S3_URL_CAP + LISTING_CAP];
    void *headers = NULL;
    CURL *easy = s3_handle(c, q->header, &headers);

    if (!easy)
        return CURLE_OUT_OF_MEMORY;
    c->a.len = 0;
    c->listed = 0;
    c->a.http = 0;
    c->a.total = 0;
    c->a.etag[0] = '\0';
    bucket_url(&c->u, endpoint, bucket);
    snprintf(url, sizeof(url), "%s%s", bucket, q->path);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &c->a);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, &c->a);
    if (q->range)
        curl_easy_setopt(easy, CURLOPT_RANGE, q->range);
    if (q->text) {
        curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(easy, CURLOPT_READFUNCTION, give_text);
        curl_easy_setopt(easy, CURLOPT_READDATA, &up);
        curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)up.left);
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, q->verb);
    take_answer("", 1, 0, &c->a); /* the body is a text, also when there is none */
    CURLcode code = c->a.body ? curl_easy_perform(easy) : CURLE_OUT_OF_MEMORY;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &c->a.http);
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
    return code;
}

/* Asks through the endpoint that answered last, or else through another one, and fills c->a. 0,
 * whatever the server says; negative errno with *e: no endpoint answers. The caller holds the lock.
 */
static int ask(struct s3_control *c, const struct question *q, struct err *e)
{
    unsigned first = c->door, door = first, tried = 0;
    CURLcode code = CURLE_OK;

    while (tried < c->u.endpoints) {
        door = (first + tried++) % c->u.endpoints;
        code = ask_one(c, q, c->u.endpoint[door]);
        if (code == CURLE_OK) {
            c->door = door;
            return 0;
        }
        if (code == CURLE_OUT_OF_MEMORY)
            return err_nomem(e, "request");
        /* A conditional PUT that may have been done is not repeated: it would meet itself. */
        if (q->text && code != CURLE_COULDNT_CONNECT && code != CURLE_COULDNT_RESOLVE_HOST)
            break;
    }
    int rc = code == CURLE_OPERATION_TIMEDOUT ? -ETIMEDOUT : -ECONNREFUSED;
    const char *why = curl_easy_strerror(code);
    if (tried == 1)
        return err_set(e, rc, ERR_TARGET, c->where, "%s does not answer: %s", c->u.endpoint[door],
                       why);
    return err_set(e, rc, ERR_TARGET, c->where, "none of %u endpoints answers; the last was %s: %s",
                   tried, c->u.endpoint[door], why);
}

static bool fine(const struct s3_control *c)
{
    return c->a.http >= 200 && c->a.http <= 299;
}

/* The server said no. */
static int refused(const struct s3_control *c, struct err *e)
{
    char code[TIER_CODE_CAP] = "S3:NoSuchKey", message[200] = "";
    const char *at = c->a.body;
    int rc = s3_refusal(c->a.http, c->a.body, code);

    element(&at, "Message", message, sizeof(message));
    int64_t apart = c->a.date_s - clock_wall_ns() / UNITS_NS_PER_S;
    if (c->a.date_s > 0 && (apart > SKEW_S || apart < -SKEW_S))
        return err_set(e, rc, ERR_TARGET, c->where,
                       "%s: the server's clock is %lld s %s that of this host; signatures hold for "
                       "some minutes only",
                       code, (long long)(apart > 0 ? apart : -apart),
                       apart > 0 ? "ahead of" : "behind");
    return err_set(e, rc, ERR_TARGET, c->where, "%s%s%s", code, message[0] ? ": " : "", message);
}

/* ---- the marker ---- */

static int get_marker(struct s3_control *c, char text[OWNER_BYTES], int64_t *now_s, struct err *e)
{
    char path[PATH_CAP];

    object_path(&c->u, OWNER_MARKER, path);
    int rc = ask(c, &(struct question){.verb = "GET", .path = path}, e);
    if (rc < 0)
        return rc;
    *now_s = c->a.date_s;
    char code[TIER_CODE_CAP];
    if (c->a.http == 404 && s3_refusal(404, c->a.body, code) == -ENOENT)
        return -ENOENT;
    if (!fine(c))
        return refused(c, e);
    snprintf(text, OWNER_BYTES, "%s", c->a.body);
    return 0;
}

static int store_get(void *ctx, char text[OWNER_BYTES], int64_t *now_s, struct err *e)
{
    struct s3_control *c = ctx;

    pthread_mutex_lock(&c->lock);
    int rc = get_marker(c, text, now_s, e);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

/* Puts the marker, twice: a server that takes the second one has no conditional PUT. */
static int put_marker(struct s3_control *c, const char *text, struct err *e)
{
    char path[PATH_CAP];

    object_path(&c->u, OWNER_MARKER, path);
    const struct question put = {.verb = "PUT",
                                 .path = path,
                                 .text = text,
                                 .header = c->u.unlocked ? NULL : "If-None-Match: *"};
    int rc = ask(c, &put, e);
    if (rc < 0)
        return rc;
    if (c->a.http == 412 || c->a.http == 409)
        return -EEXIST;
    if (!fine(c))
        return refused(c, e);
    if (c->u.unlocked)
        return 0;
    rc = ask(c, &put, e);
    if (rc < 0 || c->a.http == 412)
        return rc;
    rc = ask(c, &(struct question){.verb = "DELETE", .path = path}, e);
    return rc < 0 ? rc
                  : err_set(e, -ENOTSUP, ERR_TARGET, c->where,
                            "refused: the server has no conditional PUT, so nothing would keep a "
                            "second run out (unlocked in the URI goes without)");
}

static int store_put(void *ctx, const char *text, struct err *e)
{
    struct s3_control *c = ctx;

    pthread_mutex_lock(&c->lock);
    int rc = put_marker(c, text, e);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

static int swap_marker(struct s3_control *c, const char *old, const char *text, struct err *e)
{
    char path[PATH_CAP], now[OWNER_BYTES], match[HEADER_CAP];
    int64_t now_s;
    int rc = get_marker(c, now, &now_s, e);

    if (rc == -ENOENT || (rc == 0 && strcmp(now, old) != 0))
        return -EAGAIN;
    if (rc < 0)
        return rc;
    object_path(&c->u, OWNER_MARKER, path);
    snprintf(match, sizeof(match), "If-Match: %s", c->a.etag);
    struct question q = {.verb = text ? "PUT" : "DELETE", .path = path, .text = text};
    if (text && !c->u.unlocked && c->a.etag[0])
        q.header = match;
    rc = ask(c, &q, e);
    if (rc < 0)
        return rc;
    if (c->a.http == 412 || c->a.http == 409)
        return -EAGAIN;
    return fine(c) ? 0 : refused(c, e);
}

static int store_swap(void *ctx, const char *old, const char *text, struct err *e)
{
    struct s3_control *c = ctx;

    pthread_mutex_lock(&c->lock);
    int rc = swap_marker(c, old, text, e);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

/* ---- listing ---- */

static bool is_object(const char *name)
{
    struct hash128 object;
    uint32_t epoch;
    size_t stem = stem_take(name, strlen(name), &object, &epoch);

    return stem && strcmp(name + stem, ".kv") == 0;
}

static void note_name(struct owner_found *found, const char *name)
{
    if (is_object(name)) {
        owner_found_object(found, name, strlen(name));
    } else if (strcmp(name, OWNER_MARKER) != 0 && !inventory_names_segment(name, strlen(name)) &&
               !found->foreign) {
        found->foreign = true;
        snprintf(found->name, sizeof(found->name), "%.60s", name);
    }
}

static int remove_name(struct s3_control *c, const char *name, struct owner_clear *clear,
                       struct err *e)
{
    char path[PATH_CAP];

    if (!is_object(name) && !inventory_names_segment(name, strlen(name)))
        return 0;
    if (!lease_valid(clear->lease))
        return -ESTALE;
    object_path(&c->u, name, path);
    pthread_mutex_lock(&c->lock);
    int rc = ask(c, &(struct question){.verb = "DELETE", .path = path}, e);
    if (rc == 0 && !fine(c) && c->a.http != 404)
        rc = refused(c, e);
    pthread_mutex_unlock(&c->lock);
    clear->removed += rc == 0;
    if (rc == 0)
        owner_clear_object(clear, name, strlen(name));
    return rc;
}

/* Asks for the names behind token; "" is the first page. Parameters are in the order in which they
 * are signed. The page is the caller's. */
static int list_page(struct s3_control *c, const char *token, char **page, struct err *e)
{
    char path[LISTING_CAP], prefix[sizeof(c->u.prefix) + 2];

    snprintf(prefix, sizeof(prefix), "%s%s", c->u.prefix, c->u.prefix[0] ? "/" : "");
    char *after = curl_easy_escape(NULL, token, 0), *below = curl_easy_escape(NULL, prefix, 0);
    int rc = after && below ? 0 : err_nomem(e, "listing");
    if (rc == 0) {
        snprintf(path, sizeof(path), "%s?%s%s%slist-type=2&max-keys=1000&prefix=%s",
                 c->u.style == URI_STYLE_VIRTUAL ? "/" : "", token[0] ? "continuation-token=" : "",
                 after, token[0] ? "&" : "", below);
        rc = ask(c, &(struct question){.verb = "GET", .path = path}, e);
    }
    curl_free(after);
    curl_free(below);
    if (rc == 0 && !fine(c))
        rc = refused(c, e);
    *page = rc == 0 ? strdup(c->a.body) : NULL;
    return rc == 0 && !*page ? err_nomem(e, "listing") : rc;
}

/* Walks over all names: notes them in found, or removes the objects (clear). Others may call
 * between two requests: a marker is renewed meanwhile. */
static int list(struct s3_control *c, struct owner_found *found, struct owner_clear *clear,
                struct err *e)
{
    char token[ELEMENT_CAP] = "", key[ELEMENT_CAP], cut[8];
    size_t below = strlen(c->u.prefix) + (c->u.prefix[0] != '\0');
    bool more = true;
    int rc = 0;

    while (rc == 0 && more && !(found && found->foreign)) {
        char *page = NULL;
        pthread_mutex_lock(&c->lock);
        rc = list_page(c, token, &page, e);
        pthread_mutex_unlock(&c->lock);
        for (const char *at = page; rc == 0 && element(&at, "Key", key, sizeof(key));) {
            const char *name = strlen(key) >= below ? key + below : key;
            if (found)
                note_name(found, name);
            else
                rc = remove_name(c, name, clear, e);
        }
        const char *at = page ? page : "";
        more = element(&at, "IsTruncated", cut, sizeof(cut)) && strcmp(cut, "true") == 0;
        at = page ? page : "";
        more = more && element(&at, "NextContinuationToken", token, sizeof(token));
        free(page);
    }
    return rc;
}

static int store_look(void *ctx, struct owner_found *found, struct err *e)
{
    return list(ctx, found, NULL, e);
}

static int store_clear(void *ctx, struct owner_clear *clear, struct err *e)
{
    return list(ctx, NULL, clear, e);
}

const struct owner_store *s3_control_store(const struct s3_control *c)
{
    return &c->store;
}

/* ---- the list of what is kept ---- */

/* Asks about a segment of the list, q but for its path. 0, or what the server says against it. */
static int ask_segment(struct s3_control *c, uint32_t segment, struct question *q, struct err *e)
{
    char name[INVENTORY_NAME_CAP], path[PATH_CAP], code[TIER_CODE_CAP];

    inventory_name(name, segment);
    object_path(&c->u, name, path);
    q->path = path;
    int rc = ask(c, q, e);
    if (rc < 0 || fine(c))
        return rc;
    rc = s3_refusal(c->a.http, c->a.body, code);
    return rc == -ENOENT ? rc : refused(c, e);
}

/* A segment is read as a whole: it is not larger than an answer may be. */
static ssize_t list_read(void *ctx, uint32_t segment, uint64_t at, void *buf, size_t cap,
                         struct err *e)
{
    struct s3_control *c = ctx;
    ssize_t n = 0;

    pthread_mutex_lock(&c->lock);
    if (at == 0 || c->listed != segment + 1)
        n = ask_segment(c, segment, &(struct question){.verb = "GET"}, e);
    c->listed = n < 0 ? 0 : segment + 1;
    if (n == 0 && at < c->a.len) {
        n = (ssize_t)(c->a.len - at < cap ? c->a.len - at : cap);
        memcpy(buf, c->a.body + at, (size_t)n);
    }
    pthread_mutex_unlock(&c->lock);
    return n;
}

static int list_write(void *ctx, uint32_t segment, uint64_t at, const void *buf, size_t len,
                      struct err *e)
{
    struct s3_control *c = ctx;

    if (at > 0)
        return -EINVAL;
    pthread_mutex_lock(&c->lock);
    int rc = ask_segment(c, segment, &(struct question){.verb = "PUT", .text = buf, .len = len}, e);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

static int list_remove(void *ctx, uint32_t segment, struct err *e)
{
    struct s3_control *c = ctx;

    pthread_mutex_lock(&c->lock);
    int rc = ask_segment(c, segment, &(struct question){.verb = "DELETE"}, e);
    pthread_mutex_unlock(&c->lock);
    return rc == -ENOENT ? 0 : rc;
}

/* ---- adoption ---- */

/* Reads len bytes at at of the object into c->a. -ENOENT: it is not there. */
static int read_range(struct s3_control *c, const char *path, uint64_t at, uint64_t len)
{
    char range[48], code[TIER_CODE_CAP];

    snprintf(range, sizeof(range), "%llu-%llu", (unsigned long long)at,
             (unsigned long long)(at + len - 1));
    int rc = ask(c, &(struct question){.verb = "GET", .path = path, .range = range}, NULL);
    if (rc < 0)
        return rc;
    return c->a.http == 206 ? 0 : fine(c) ? -EBADMSG : s3_refusal(c->a.http, c->a.body, code);
}

/* Checks the headers of all blocks. */
static int check_all(struct s3_control *c, const struct tier_op *op, const char *path,
                     uint64_t size)
{
    struct data_fault fault = {0};
    void *copy;
    int rc = size % DATA_BLOCK ? -EBADMSG : 0;

    if (posix_memalign(&copy, DATA_BLOCK, CHECK_STEP) != 0)
        return -ENOMEM;
    for (uint64_t at = 0; rc == 0 && at < size; at += CHECK_STEP) {
        uint64_t len = size - at < CHECK_STEP ? size - at : CHECK_STEP;
        rc = read_range(c, path, at, len);
        if (rc == 0 && c->a.len != len)
            rc = -EBADMSG;
        if (rc == 0) {
            memcpy(copy, c->a.body, len);
            rc = data_check_headers(copy, len, &op->id, at / DATA_BLOCK, &fault);
        }
    }
    free(copy);
    return rc;
}

int s3_control_adopt(struct s3_control *c, struct tier_op *op, uint64_t *size, uint64_t *generation)
{
    _Alignas(64) unsigned char block[DATA_BLOCK];
    char path[PATH_CAP], name[S3_NAME_CAP];
    struct data_id id;
    uint64_t index;

    s3_object_name(name, op->name, op->epoch);
    object_path(&c->u, name, path);
    *generation = 0;
    pthread_mutex_lock(&c->lock);
    int rc = read_range(c, path, 0, DATA_BLOCK);
    *size = c->a.total;
    if (rc == 0 && c->a.len == DATA_BLOCK) {
        memcpy(block, c->a.body, DATA_BLOCK);
        if (data_identify(block, &id, &index) == 0 && index == 0 && id.key.lo == op->id.key.lo &&
            id.key.hi == op->id.key.hi) {
            rc = id.shape == op->id.shape ? 0 : -EPROTOTYPE;
            *generation = id.generation;
        }
    }
    op->id.generation = *generation;
    if (rc == 0 && op->verify != TIER_VERIFY_NONE)
        rc = check_all(c, op, path, *size);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

/* ---- opening ---- */

static const char *environment(const char *name, const char *or_name)
{
    const char *value = getenv(name);

    if (value && *value)
        return value;
    value = or_name ? getenv(or_name) : NULL;
    return value && *value ? value : NULL;
}

/* What the URI leaves open. */
static int complete(struct uri *u, const struct s3_keys *k, struct err *e)
{
    const char *region = environment("AWS_REGION", "AWS_DEFAULT_REGION");
    const char *endpoint = environment("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL");

    if (!region && k->region[0])
        region = k->region;
    if (!endpoint && k->endpoint[0])
        endpoint = k->endpoint;
    if (!u->region[0])
        snprintf(u->region, sizeof(u->region), "%.60s", region ? region : "us-east-1");
    if (u->endpoints == 0) {
        u->endpoints = 1;
        if (endpoint)
            snprintf(u->endpoint[0], URI_NAME_CAP, "%s", endpoint);
        else
            snprintf(u->endpoint[0], URI_NAME_CAP, "https://s3.%s.amazonaws.com", u->region);
        /* A certificate of all buckets is of names without dots. */
        if (!endpoint && u->style == URI_STYLE_DEFAULT && !strchr(u->bucket, '.'))
            u->style = URI_STYLE_VIRTUAL;
    }
    if (strchr(u->endpoint[0], '@') ||
        (strncmp(u->endpoint[0], "http://", 7) != 0 && strncmp(u->endpoint[0], "https://", 8) != 0))
        return err_set(e, -EINVAL, ERR_INPUT, "endpoint",
                       "it is not http:// or https:// with a server, and no keys in it");
    return 0;
}

int s3_control_open(struct s3_control **out, struct uri *u, int64_t timeout_ns, struct err *e)
{
    struct s3_control *c = calloc(1, sizeof(*c));

    if (!c || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        free(c);
        return err_nomem(e, "S3");
    }
    int rc = s3_keys_find(&c->keys, u->profile, u->text, e);
    if (rc == 0)
        rc = complete(u, &c->keys, e);
    if (rc < 0) {
        s3_keys_forget(&c->keys);
        free(c);
        return rc;
    }
    c->u = *u;
    c->timeout_ns = timeout_ns;
    snprintf(c->where, sizeof(c->where), "s3://%s/%s", u->bucket, u->prefix);
    c->store = (struct owner_store){.ctx = c,
                                    .where = c->where,
                                    .list = &c->list,
                                    .get = store_get,
                                    .put = store_put,
                                    .swap = store_swap,
                                    .look = store_look,
                                    .clear = store_clear};
    c->list = (struct inventory_store){.ctx = c,
                                       .segment_bytes = ANSWER_MAX / 2,
                                       .read = list_read,
                                       .write = list_write,
                                       .remove = list_remove};
    pthread_mutex_init(&c->lock, NULL);
    *out = c;
    return 0;
}

void s3_control_close(struct s3_control *c)
{
    if (!c)
        return;
    free(c->a.body);
    s3_keys_forget(&c->keys);
    pthread_mutex_destroy(&c->lock);
    free(c);
}
#endif
