/* Before a target is opened: takes its name apart. What the parts mean is the engines' business.
 * Errors never repeat what may be a secret: they name parameters, not their values. */
#include "lib/tier/uri.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "lib/base/nearest.h"
#include "lib/base/units.h"

#define RESP_PORT     6379
#define RESP_PART_MAX (512 * UNITS_MIB) /* the protocol's limit (proto-max-bulk-len) */
#define BLOCK         4096u
#define POOL_MIN      UNITS_MIB
#define POOL_MAX      (UNITS_GIB * 1024)
#define S3_PART_MIN   (5 * UNITS_MIB) /* of all parts but the last */
#define S3_PART_MAX   (5 * UNITS_GIB) /* of one PUT */

/* The URI that is being parsed, for messages. */
struct parse {
    struct uri *u;
    const char *option;
    struct err *e;
    unsigned *given; /* mask of parameters */
};

static int bad(const struct parse *p, const char *what)
{
    return err_set(p->e, -EINVAL, ERR_INPUT, p->option, "%s", what);
}

/* ---- schemes ---- */

struct scheme {
    const char *name; /* with its colon */
    enum uri_scheme scheme;
    bool slashes; /* "//" and a server follow */
    bool tls;
    const char *form;
};
static const struct scheme schemes[] = {
    {"file:", URI_PATH, false, false, "file:PATH[?like=NAME]"},
    {"redis:", URI_RESP, true, false, "redis://HOST:PORT/DB"},
    {"rediss:", URI_RESP, true, true, "rediss://HOST:PORT/DB"},
    {"redis+unix:", URI_RESP, false, false, "redis+unix:PATH?db=N"},
    {"s3:", URI_S3, true, false, "s3://BUCKET/PREFIX?endpoint=URL"},
};
#define SCHEMES (sizeof(schemes) / sizeof(schemes[0]))

const char *uri_scheme_text(enum uri_scheme scheme)
{
    static const char *const text[] = {
        [URI_PATH] = "directory, file or device", [URI_RESP] = "Redis", [URI_S3] = "S3"};
    return text[scheme];
}

/* Length of what looks like a scheme at the head of text, with its colon; 0: there is none. */
static size_t scheme_len(const char *text)
{
    size_t n = 0;

    if (!isalpha((unsigned char)text[0]))
        return 0;
    while (isalnum((unsigned char)text[n]) || strchr("+-.", text[n] ? text[n] : '/'))
        n++;
    return text[n] == ':' ? n + 1 : 0;
}

/* NULL: text is a path, or (*unknown) of a scheme that nobody knows. */
static const struct scheme *find_scheme(const char *text, bool *unknown)
{
    size_t len = scheme_len(text);

    for (size_t i = 0; len && i < SCHEMES; i++) {
        if (strlen(schemes[i].name) == len && strncmp(schemes[i].name, text, len) == 0)
            return &schemes[i];
    }
    *unknown = len && strncmp(text + len, "//", 2) == 0;
    return NULL;
}

static int unknown_scheme(const struct parse *p, const char *text)
{
    char typed[32];
    size_t len = scheme_len(text);

    if (len >= sizeof(typed))
        return bad(p, "an unknown kind of target (a path with a colon is written file:PATH)");
    memcpy(typed, text, len);
    typed[len] = '\0';
    struct nearest near = {.typed = typed};
    for (size_t i = 0; i < SCHEMES; i++)
        nearest_offer(&near, schemes[i].name);
    for (size_t i = 0; near.best && i < SCHEMES; i++) {
        if (strcmp(near.best, schemes[i].name) == 0)
            return err_set(p->e, -EINVAL, ERR_INPUT, p->option,
                           "%s is no kind of target that is known (did you mean %s?)", typed,
                           schemes[i].form);
    }
    return err_set(p->e, -EINVAL, ERR_INPUT, p->option,
                   "%s is no kind of target that is known (known are PATH, file:PATH, "
                   "redis://HOST:PORT/DB, redis+unix:PATH and s3://BUCKET/PREFIX)",
                   typed);
}

/* ---- the server ---- */

/* from[0..len) into to. */
static int take_name(const struct parse *p, char *to, size_t cap, const char *from, size_t len)
{
    if (len >= cap)
        return bad(p, "the name of the server is too long");
    memcpy(to, from, len);
    to[len] = '\0';
    return 0;
}

static int no_password(const struct parse *p)
{
    return bad(p, "a password does not belong in a URI, where others can read it: put it into the "
                  "environment (REDISCLI_AUTH)");
}

/* "USER@" at the head of *at, which moves behind it. */
static int take_user(const struct parse *p, const char **at, const char *end)
{
    const char *sign = memrchr(*at, '@', (size_t)(end - *at));

    if (!sign)
        return 0;
    for (const char *c = *at; c < sign; c++) {
        if (*c == ':' || *c == '%') /* a colon may be written as %3A */
            return no_password(p);
    }
    int rc = take_name(p, p->u->user, sizeof(p->u->user), *at, (size_t)(sign - *at));
    *at = sign + 1;
    return rc;
}

/* "HOST:PORT", "[::1]:PORT", "HOST" in at[0..end). */
static int take_server(const struct parse *p, const char *at, const char *end)
{
    struct uri *u = p->u;
    uint64_t port = RESP_PORT;
    int rc = take_user(p, &at, end);

    if (rc < 0)
        return rc;
    const char *stop = *at == '[' ? memchr(at, ']', (size_t)(end - at)) : NULL;
    bool brackets = stop != NULL;
    if (!brackets)
        stop = memchr(at, ':', (size_t)(end - at));
    if (!stop)
        stop = end;
    at += brackets;
    if (at == stop)
        return bad(p, "the name of the server is missing");
    rc = take_name(p, u->host, sizeof(u->host), at, (size_t)(stop - at));
    if (rc < 0)
        return rc;
    for (const char *c = u->host; *c; c++) {
        if (!isalnum((unsigned char)*c) && !strchr("-._:%", *c))
            return bad(p, "the name of the server has a character that no name has");
    }
    stop += brackets;
    if (stop < end &&
        (*stop != ':' || units_parse_digits(stop + 1, (size_t)(end - stop - 1), &port) < 0 ||
         port < 1 || port > UINT16_MAX))
        return bad(p, "the server's port is no number from 1 to 65535");
    u->port = (uint16_t)port;
    return 0;
}

static int take_database(const struct parse *p, const char *text, size_t len)
{
    uint64_t n;

    if (units_parse_digits(text, len, &n) < 0 || n > UINT32_MAX / 2)
        return bad(p, "the database is no number");
    p->u->database = (uint32_t)n;
    return 0;
}

/* ---- parameters ---- */

static int take_connections(const struct parse *p, const char *text, size_t len)
{
    uint64_t n;

    if (units_parse_digits(text, len, &n) < 0 || n < 1 || n > URI_CONNECTIONS_MAX)
        return bad(p, "connections= is no number from 1 to 1024");
    p->u->connections = (unsigned)n;
    return 0;
}

/* 0 or -EINVAL, without a message. */
static int take_size(const char *text, size_t len, uint64_t *bytes)
{
    char size[32];

    if (len >= sizeof(size))
        return -EINVAL;
    memcpy(size, text, len);
    size[len] = '\0';
    return units_parse_size(size, bytes) < 0 ? -EINVAL : 0;
}

static int take_part(const struct parse *p, const char *text, size_t len)
{
    uint64_t bytes;
    bool s3 = p->u->scheme == URI_S3;
    uint64_t least = s3 ? S3_PART_MIN : BLOCK, most = s3 ? S3_PART_MAX : RESP_PART_MAX;
    if (take_size(text, len, &bytes) < 0 || bytes < least || bytes % BLOCK || bytes > most)
        return bad(p, s3 ? "part= is no multiple of 4 KiB from 5 MiB to 5 GiB"
                         : "part= is no multiple of 4 KiB up to 512 MiB");
    p->u->part_bytes = bytes;
    return 0;
}

/* Only characters that no request has to escape, since signatures are made of the path. */
static int take_plain(const struct parse *p, char *to, size_t cap, const char *text, size_t len)
{
    int rc = take_name(p, to, cap, text, len);

    for (size_t i = 0; rc == 0 && i < len; i++) {
        if (!isalnum((unsigned char)text[i]) && !strchr("-._/", text[i]))
            rc = bad(p, "names in it are of letters, digits, and \"-._/\"");
    }
    return rc;
}

/* The fault of text[0..len) as an endpoint; NULL: none. Slashes at its end are cut. */
static const char *endpoint_fault(const char *text, size_t *len)
{
    if (memchr(text, '@', *len))
        return "must not hold access keys, which others can read there: put them into the "
               "environment "
               "(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)";
    while (*len > 0 && text[*len - 1] == '/')
        --*len;
    size_t scheme = strncmp(text, "http://", 7) == 0    ? 7
                    : strncmp(text, "https://", 8) == 0 ? 8
                                                        : 0;
    const char *host = text + scheme, *end = text + *len;
    for (const char *c = text; c < end; c++) {
        if (*c == '\r' || *c == '\n')
            return "has a line end in it or at its end, as a value read from a file may";
        if (*c <= ' ' || *c > '~')
            return "has a blank, a control character or a letter that is not ASCII";
    }
    if (scheme == 0 || *len <= scheme)
        return "is not http:// or https:// followed by a server";
    for (const char *c = host; c < end; c++) {
        if (!isalnum((unsigned char)*c) && !strchr("-.:[]", *c))
            return *c == '/' || *c == '?' || *c == '#'
                       ? "must be a server and, if needed, its port, without a path or parameters"
                       : "has a character that no server's name has";
    }
    const char *close = *host == '[' ? memchr(host, ']', *len - scheme) : NULL;
    const char *stop = close ? close + 1 : memchr(host, ':', *len - scheme);
    uint64_t port;
    if (!stop)
        stop = end;
    if (stop == host || *host == '.' || memmem(host, (size_t)(stop - host), "..", 2) ||
        (!close && strcspn(host, "[]") < (size_t)(stop - host)))
        return "has an invalid server name";
    if (stop < end &&
        (*stop != ':' || units_parse_digits(stop + 1, (size_t)(end - stop - 1), &port) < 0 ||
         port < 1 || port > UINT16_MAX))
        return "has a port that is not a number from 1 to 65535";
    return *len < URI_NAME_CAP ? NULL : "is too long";
}

/* The fault of text[0..len) as the region of signatures; NULL: none. */
static const char *region_fault(const char *text, size_t len)
{
    if (len >= sizeof(((struct uri *)0)->region))
        return "is too long";
    for (size_t i = 0; i < len; i++) {
        if (!isalnum((unsigned char)text[i]) && !strchr("-._", text[i]))
            return "may have only letters, digits, and \"-._\", no blank and no line end";
    }
    return len > 0 ? NULL : "is empty";
}

static int take_endpoint(const struct parse *p, const char *text, size_t len)
{
    struct uri *u = p->u;
    const char *fault = endpoint_fault(text, &len);

    if (fault)
        return err_set(p->e, -EINVAL, ERR_INPUT, p->option, "endpoint= %s", fault);
    if (u->endpoints == URI_ENDPOINTS_MAX)
        return bad(p, "more than 16 endpoints");
    return take_name(p, u->endpoint[u->endpoints++], URI_NAME_CAP, text, len);
}

static int take_region(const struct parse *p, const char *text, size_t len)
{
    const char *fault = region_fault(text, len);

    if (fault)
        return err_set(p->e, -EINVAL, ERR_INPUT, p->option, "region= %s", fault);
    return take_name(p, p->u->region, sizeof(p->u->region), text, len);
}

int uri_take_endpoint(struct uri *u, const char *text, const char *from, struct err *e)
{
    size_t len = strlen(text);
    const char *fault = endpoint_fault(text, &len);

    if (fault)
        return err_set(e, -EINVAL, ERR_INPUT, from, "it %s", fault);
    u->endpoints = 1;
    memcpy(u->endpoint[0], text, len);
    u->endpoint[0][len] = '\0';
    return 0;
}

int uri_take_region(struct uri *u, const char *text, const char *from, struct err *e)
{
    const char *fault = region_fault(text, strlen(text));

    if (fault)
        return err_set(e, -EINVAL, ERR_INPUT, from, "it %s", fault);
    strcpy(u->region, text);
    return 0;
}

static int take_profile(const struct parse *p, const char *text, size_t len)
{
    return take_plain(p, p->u->profile, sizeof(p->u->profile), text, len);
}

static int take_ca(const struct parse *p, const char *text, size_t len)
{
    return take_name(p, p->u->ca, sizeof(p->u->ca), text, len);
}

static int take_insecure(const struct parse *p, const char *text, size_t len)
{
    (void)text, (void)len;
    p->u->insecure = true;
    return 0;
}

static bool is_word(const char *text, size_t len, const char *word)
{
    return strlen(word) == len && strncmp(word, text, len) == 0;
}

static int take_style(const struct parse *p, const char *text, size_t len)
{
    if (is_word(text, len, "path"))
        p->u->style = URI_STYLE_PATH;
    else if (is_word(text, len, "virtual"))
        p->u->style = URI_STYLE_VIRTUAL;
    else
        return bad(p, "style= is path or virtual");
    return 0;
}

static int take_proxy(const struct parse *p, const char *text, size_t len)
{
    if (!is_word(text, len, "env"))
        return bad(p, "proxy= is env: the proxy itself stands in the environment (http_proxy, "
                      "https_proxy)");
    p->u->proxy_env = true;
    return 0;
}

static int take_unlocked(const struct parse *p, const char *text, size_t len)
{
    (void)text, (void)len;
    p->u->unlocked = true;
    return 0;
}

static int take_pages(const struct parse *p, const char *text, size_t len)
{
    if (is_word(text, len, "huge"))
        p->u->pages = URI_PAGES_HUGE;
    else if (is_word(text, len, "small"))
        p->u->pages = URI_PAGES_SMALL;
    else if (is_word(text, len, "engine"))
        p->u->pages = URI_PAGES_ENGINE;
    else
        return bad(p, "pages= takes huge or small, and engine with like=");
    return 0;
}

static const char *const likes[URI_LIKES] = {
    [URI_LIKE_KVTRACE] = "kvtrace",
    [URI_LIKE_LMCACHE_FS] = "lmcache-fs",
    [URI_LIKE_LMCACHE_FS_DIRECT] = "lmcache-fs-direct",
    [URI_LIKE_VLLM_FS] = "vllm-fs",
};

const char *uri_like_text(enum uri_like like)
{
    return likes[like];
}

static int take_like(const struct parse *p, const char *text, size_t len)
{
    for (unsigned i = 0; i < URI_LIKES; i++) {
        if (is_word(text, len, likes[i])) {
            p->u->like = (enum uri_like)i;
            return 0;
        }
    }
    return err_set(p->e, -EINVAL, ERR_INPUT, p->option,
                   "like=%.*s is not known: like= takes kvtrace, lmcache-fs, lmcache-fs-direct or "
                   "vllm-fs",
                   len < 32 ? (int)len : 32, text);
}

static int take_count(const struct parse *p, unsigned *to, const char *text, size_t len)
{
    uint64_t n;

    if (units_parse_digits(text, len, &n) < 0 || n < 1 || n > URI_WORKERS_MAX)
        return bad(p, "workers= and load-workers= take numbers from 1 to 64");
    *to = (unsigned)n;
    return 0;
}

static int take_workers(const struct parse *p, const char *text, size_t len)
{
    return take_count(p, &p->u->workers, text, len);
}

static int take_load_workers(const struct parse *p, const char *text, size_t len)
{
    return take_count(p, &p->u->load_workers, text, len);
}

static int take_pool(const struct parse *p, const char *text, size_t len)
{
    uint64_t bytes;

    if (take_size(text, len, &bytes) < 0 || bytes < POOL_MIN || bytes > POOL_MAX)
        return bad(p, "pool= takes a size from 1 MiB to 1 TiB");
    p->u->pool_bytes = bytes;
    return 0;
}

static int take_cache(const struct parse *p, const char *text, size_t len)
{
    if (!is_word(text, len, "keep") && !is_word(text, len, "drop"))
        return bad(p, "cache= takes keep or drop");
    p->u->keeps_cache = is_word(text, len, "keep") ? URI_CHOICE_YES : URI_CHOICE_NO;
    return 0;
}

static int take_direct(const struct parse *p, const char *text, size_t len)
{
    if (!is_word(text, len, "yes") && !is_word(text, len, "no"))
        return bad(p, "direct= takes yes or no");
    p->u->direct = is_word(text, len, "yes") ? URI_CHOICE_YES : URI_CHOICE_NO;
    return 0;
}

static const struct parameter {
    const char *name;
    unsigned schemes; /* mask of 1 << enum uri_scheme */
    bool flag;        /* it has no value */
    int (*take)(const struct parse *p, const char *text, size_t len);
} parameters[] = {
    {"pages", 1 << URI_PATH, false, take_pages},
    {"like", 1 << URI_PATH, false, take_like},
    {"pool", 1 << URI_PATH, false, take_pool},
    {"workers", 1 << URI_PATH, false, take_workers},
    {"load-workers", 1 << URI_PATH, false, take_load_workers},
    {"cache", 1 << URI_PATH, false, take_cache},
    {"direct", 1 << URI_PATH, false, take_direct},
    {"db", 1 << URI_RESP, false, take_database},
    {"connections", 1 << URI_RESP | 1 << URI_S3, false, take_connections},
    {"part", 1 << URI_RESP | 1 << URI_S3, false, take_part},
    {"endpoint", 1 << URI_S3, false, take_endpoint},
    {"region", 1 << URI_S3, false, take_region},
    {"profile", 1 << URI_S3, false, take_profile},
    {"style", 1 << URI_S3, false, take_style},
    {"proxy", 1 << URI_S3, false, take_proxy},
    {"ca", 1 << URI_S3, false, take_ca},
    {"insecure", 1 << URI_S3, true, take_insecure},
    {"unlocked", 1 << URI_S3, true, take_unlocked},
};
#define PARAMETERS (sizeof(parameters) / sizeof(parameters[0]))

static int unknown_parameter(const struct parse *p, const char *name, size_t len)
{
    char typed[32];

    if (is_word(name, len, "like"))
        return bad(p, "like= applies only to a directory: file:DIR?like=NAME");
    if (len >= sizeof(typed))
        return bad(p, "an unknown parameter");
    memcpy(typed, name, len);
    typed[len] = '\0';
    struct nearest near = {.typed = typed};
    for (size_t i = 0; i < PARAMETERS; i++) {
        if (parameters[i].schemes & 1u << p->u->scheme)
            nearest_offer(&near, parameters[i].name);
    }
    if (strcmp(typed, "password") == 0 || strcmp(typed, "auth") == 0)
        return no_password(p);
    if (near.best)
        return err_set(p->e, -EINVAL, ERR_INPUT, p->option,
                       "%s= is no parameter of this kind of target (did you mean %s=?)", typed,
                       near.best);
    return err_set(p->e, -EINVAL, ERR_INPUT, p->option,
                   "%s= is no parameter of this kind of target", typed);
}

/* "NAME=VALUE" in text[0..len). */
static int take_parameter(const struct parse *p, const char *text, size_t len)
{
    const char *equals = memchr(text, '=', len);
    size_t name = equals ? (size_t)(equals - text) : len;
    const struct parameter *found = NULL;

    for (size_t i = 0; i < PARAMETERS; i++) {
        if (strlen(parameters[i].name) == name && strncmp(parameters[i].name, text, name) == 0 &&
            parameters[i].schemes & 1u << p->u->scheme)
            found = &parameters[i];
    }
    if (!found)
        return unknown_parameter(p, text, name);
    if (found->flag && equals)
        return err_set(p->e, -EINVAL, ERR_INPUT, p->option, "%s takes no value", found->name);
    if (!found->flag && (!equals || name + 1 == len))
        return err_set(p->e, -EINVAL, ERR_INPUT, p->option, "%s= has no value", found->name);
    unsigned bit = 1u << (found - parameters);
    if (*p->given & bit && found->take != take_endpoint) /* a store may have several */
        return err_set(p->e, -EINVAL, ERR_INPUT, p->option, "%s%s is given twice", found->name,
                       found->flag ? "" : "=");
    *p->given |= bit;
    return found->take(p, text + name + !found->flag, len - name - !found->flag);
}

static int take_parameters(const struct parse *p, const char *at)
{
    for (size_t len; *at; at += len + (at[len] == '&')) {
        len = strcspn(at, "&");
        int rc = len ? take_parameter(p, at, len) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* ---- all of it ---- */

static bool is_given(const struct parse *p, const char *name)
{
    for (size_t i = 0; i < PARAMETERS; i++)
        if (strcmp(parameters[i].name, name) == 0)
            return *p->given & 1u << i;
    return false;
}

static int parse_resp(const struct parse *p, const struct scheme *s, const char *rest)
{
    struct uri *u = p->u;
    size_t len = strcspn(rest, "?");
    bool in_path = false;
    int rc;

    u->tls = s->tls;
    if (s->slashes) {
        const char *end = rest + len, *slash = memchr(rest, '/', len);
        rc = take_server(p, rest, slash ? slash : end);
        in_path = slash && slash + 1 < end;
        if (rc == 0 && in_path)
            rc = take_database(p, slash + 1, (size_t)(end - slash - 1));
    } else {
        if (len == 0)
            return bad(p, "the path of the socket is missing");
        /* A path may have an "@", too, but is no "USER:PASSWORD@/PATH" then, nor "//USER@...". */
        bool path = (rest[0] == '/' && rest[1] != '/') || rest[0] == '.';
        if (!path && memchr(rest, '@', len))
            return no_password(p);
        rc = take_name(p, u->socket, sizeof(u->socket), rest, len);
    }
    if (rc == 0 && rest[len])
        rc = take_parameters(p, rest + len + 1);
    if (rc == 0 && in_path && is_given(p, "db"))
        return bad(p, "the database is given twice, behind the server and by db=: leave one out");
    return rc;
}

/* A bucket and a prefix name one place, whoever reads the path: no step of it is empty, "." or
 * "..", which libraries, proxies and servers take out. */
static int check_place(const struct parse *p)
{
    const struct uri *u = p->u;
    size_t last = strlen(u->bucket) - 1;

    if (!isalnum((unsigned char)u->bucket[0]) || !isalnum((unsigned char)u->bucket[last]) ||
        strstr(u->bucket, ".."))
        return bad(p, "the name of a bucket begins and ends with a letter or digit, and has no "
                      "\"..\"");
    for (const char *at = u->prefix; *at;) {
        size_t len = strcspn(at, "/");
        if (len == 0 || (len == 1 && at[0] == '.') || (len == 2 && at[0] == '.' && at[1] == '.'))
            return bad(
                p, "the prefix must not have an empty part, \".\" or \"..\" between its slashes");
        at += len + (at[len] == '/');
    }
    return 0;
}

bool uri_bucket_in_host(const struct uri *u)
{
    for (const char *c = u->bucket; *c; c++) {
        if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) && !strchr("-.", *c))
            return false;
    }
    return true;
}

static int parse_s3(const struct parse *p, const char *rest)
{
    struct uri *u = p->u;
    size_t len = strcspn(rest, "?");
    const char *slash = memchr(rest, '/', len);
    size_t bucket = slash ? (size_t)(slash - rest) : len;

    if (memchr(rest, '@', len))
        return bad(p, "keys do not belong in a URI, where others can read them: put them into the "
                      "environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)");
    if (bucket < 3 || bucket >= sizeof(u->bucket))
        return bad(p, "the name of a bucket has 3 to 63 characters");
    int rc = take_plain(p, u->bucket, sizeof(u->bucket), rest, bucket);
    if (rc == 0 && slash) {
        size_t from = bucket + 1, to = len;
        while (to > from && rest[to - 1] == '/')
            to--;
        if (from < to && rest[from] == '/')
            return bad(p, "the prefix begins with two slashes");
        rc = take_plain(p, u->prefix, sizeof(u->prefix), rest + from, to - from);
    }
    if (rc == 0)
        rc = check_place(p);
    if (rc == 0 && rest[len])
        rc = take_parameters(p, rest + len + 1);
    if (rc == 0 && u->style == URI_STYLE_VIRTUAL && !uri_bucket_in_host(u))
        return bad(
            p, "style=virtual makes the bucket a part of a host name: its name may then have only "
               "lower-case letters, digits, \"-\" and \".\"");
    return rc;
}

/* Parameters behind a plain path were most likely meant for "file:". */
static int check_plain(const struct parse *p, const char *path)
{
    const char *mark = strrchr(path, '?');

    for (size_t i = 0; mark && !strchr(mark, '/') && i < PARAMETERS; i++) {
        size_t len = strlen(parameters[i].name);

        if (parameters[i].schemes & 1u << URI_PATH &&
            strncmp(mark + 1, parameters[i].name, len) == 0 && mark[1 + len] == '=')
            return err_set(
                p->e, -EINVAL, ERR_INPUT, p->option,
                "%s= takes effect behind file: only: file:%s (a path of that name is file:%s?)",
                parameters[i].name, path, path);
    }
    return 0;
}

/* with_parameters: they may follow the last "?" of rest. */
static int parse_path(const struct parse *p, const char *rest, bool with_parameters)
{
    const char *mark = with_parameters ? strrchr(rest, '?') : NULL;
    size_t len = mark ? (size_t)(mark - rest) : strlen(rest);

    if (len == 0)
        return bad(p, "the target's name is empty");
    if (len >= sizeof(p->u->path))
        return bad(p, "the path is too long");
    memcpy(p->u->path, rest, len);
    p->u->path[len] = '\0';
    int rc = mark ? take_parameters(p, mark + 1) : with_parameters ? 0 : check_plain(p, rest);
    const struct uri *u = p->u;
    if (rc == 0 && u->like == URI_LIKE_KVTRACE &&
        (u->workers || u->load_workers || u->direct || u->keeps_cache || u->pool_bytes ||
         u->pages == URI_PAGES_ENGINE))
        return bad(p, "workers=, load-workers=, pool=, pages=engine, cache= and direct= apply only "
                      "with the like= of an engine");
    return rc;
}

int uri_parse(struct uri *u, const char *text, const char *option, struct err *e)
{
    unsigned given = 0;
    const struct parse p = {.u = u, .option = option, .e = e, .given = &given};
    bool unknown = false;

    *u = (struct uri){.scheme = URI_PATH, .tier = 2};
    if (text[0] >= '0' && text[0] <= '9' && text[1] == '=') {
        if (text[0] > '2')
            return bad(&p, "there is no such tier: they are 0, 1 and 2");
        u->tier = (unsigned)(text[0] - '0');
        text += 2;
    }
    u->text = text;
    const struct scheme *s = find_scheme(text, &unknown);
    if (unknown)
        return unknown_scheme(&p, text);
    const char *rest = s ? text + strlen(s->name) : text;
    if (!*rest)
        return bad(&p, "the target's name is empty");
    if (!s || s->scheme == URI_PATH)
        return parse_path(&p, rest, s != NULL);
    u->scheme = s->scheme;
    if (s->slashes && strncmp(rest, "//", 2) != 0)
        return err_set(e, -EINVAL, ERR_INPUT, option, "expected %s", s->form);
    rest += s->slashes ? 2 : 0;
    return s->scheme == URI_S3 ? parse_s3(&p, rest) : parse_resp(&p, s, rest);
}
