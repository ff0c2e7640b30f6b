/* Names of targets: [TIER=]URI, or a path. A URI holds all that belongs to one store, and never a
 * password: other users of the host see command lines. */
#ifndef KVTRACE_TIER_URI_H
#define KVTRACE_TIER_URI_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"

enum uri_scheme {
    URI_PATH, /* PATH, file:PATH[?pages=...] */
    URI_RESP, /* redis://[USER@]HOST[:PORT][/DB], rediss://..., redis+unix:PATH */
    URI_S3    /* s3://BUCKET[/PREFIX]?endpoint=URL&... */
};

/* Where an object store has the bucket's name. */
enum uri_style {
    URI_STYLE_DEFAULT, /* in the path, of the default endpoint in the host */
    URI_STYLE_PATH,
    URI_STYLE_VIRTUAL /* in the name of the host */
};

enum {
    URI_NAME_CAP = 256,
    URI_PATH_CAP = 4096,
    URI_CONNECTIONS_MAX = 1024,
    URI_WORKERS_MAX = 64,
    URI_ENDPOINTS_MAX = 16
};

/* Pages of the memory that a store's data is moved from and to. */
enum uri_pages {
    URI_PAGES_DEFAULT, /* huge where the host has them; with like, the engine's */
    URI_PAGES_HUGE,
    URI_PAGES_SMALL,
    URI_PAGES_ENGINE /* with like */
};

/* How objects lie and are moved: in kvtrace's own way, or as an engine does it. */
enum uri_like {
    URI_LIKE_KVTRACE,
    URI_LIKE_LMCACHE_FS,
    URI_LIKE_LMCACHE_FS_DIRECT,
    URI_LIKE_VLLM_FS,
    URI_LIKES
};
enum uri_choice {
    URI_CHOICE_DEFAULT,
    URI_CHOICE_NO,
    URI_CHOICE_YES
};

/* Plain values; "" and 0: not given. */
struct uri {
    enum uri_scheme scheme;
    unsigned tier;    /* 0 to 2 */
    const char *text; /* the text itself, without the tier */

    /* of a path */
    char path[URI_PATH_CAP];
    enum uri_pages pages;
    enum uri_like like;
    unsigned workers, load_workers; /* with like, like the next three */
    uint64_t pool_bytes;
    enum uri_choice direct;
    enum uri_choice keeps_cache; /* the page cache is left alone */

    /* of a server */
    char host[URI_NAME_CAP];
    uint16_t port;
    char socket[108]; /* instead of host and port: the path of a socket */
    char user[64];
    uint32_t database;
    bool tls;
    unsigned connections; /* 0: as many as operations are in flight */
    uint64_t part_bytes;  /* larger objects are stored in parts; 0: the engine's default */

    /* of an object store */
    char bucket[64], prefix[200];                   /* prefix: without a slash at its ends */
    char endpoint[URI_ENDPOINTS_MAX][URI_NAME_CAP]; /* doors to one store: http(s)://HOST[:PORT] */
    unsigned endpoints;
    char region[64], ca[URI_NAME_CAP];
    char profile[64];
    enum uri_style style;
    bool insecure;  /* certificates are not verified */
    bool proxy_env; /* through the proxy of the environment */
    bool unlocked;  /* the store need not have conditional writes */
};

/* Parses text, which must outlive *u. A PATH without "file:" may hold any character; behind "file:"
 * parameters begin at the last "?". -EINVAL, class ERR_INPUT, with the option's name as the
 * place: an unknown scheme or parameter (with the nearest name), a bad value, a password. No value
 * of an unknown parameter and no password is in the message. */
int uri_parse(struct uri *u, const char *text, const char *option, struct err *e);
/* Take endpoint and region from the environment or a profile, by the same rules as in a URI.
 * -EINVAL, class ERR_INPUT, with from (the name of the variable) as the place. */
int uri_take_endpoint(struct uri *u, const char *text, const char *from, struct err *e);
int uri_take_region(struct uri *u, const char *text, const char *from, struct err *e);
/* Can the name of the bucket stand in that of a host? */
bool uri_bucket_in_host(const struct uri *u);
/* The kind of target, for people: "directory, file or device", "Redis". */
const char *uri_scheme_text(enum uri_scheme scheme);
/* "lmcache-fs" */
const char *uri_like_text(enum uri_like like);

#endif
