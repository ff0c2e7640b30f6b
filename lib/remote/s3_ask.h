/* Requests to an object store, one at a time: what they have in common (addresses, signatures,
 * refusals), and a connection for what is not on the path of an operation. Whatever the server
 * does, an exchange ends: with the time limit, with a signal, or when the answer is too long. */
#ifndef KVTRACE_REMOTE_S3_ASK_H
#define KVTRACE_REMOTE_S3_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/tier/tier.h"
#include "lib/tier/uri.h"

enum {
    S3_URL_CAP = 640,
    S3_PATH_CAP = 320,         /* of an object */
    S3_ANSWER_MAX = 8 << 20,   /* bytes of a body */
    S3_HEADERS_MAX = 64 << 10, /* bytes of all headers of an answer, with those of 1xx */
    S3_STATUS_TOO_LONG = 100   /* CURLE_TOO_LARGE, which older libcurls do not have */
};

struct s3_ask;

/* Which signal (lib/base/stop.h) ends an exchange. */
enum s3_patience {
    S3_UNTIL_SECOND_SIGNAL,
    S3_UNTIL_FIRST_SIGNAL,
    S3_WHATEVER_SIGNAL /* none */
};

/* One request. Zero it first. */
struct s3_question {
    const char *verb;   /* "GET", "PUT", "POST", "DELETE" */
    const char *path;   /* behind the address of the bucket: "/NAME", "?list-type=2" */
    const char *header; /* one more; NULL: none */
    const char *text;   /* of a PUT or POST; NULL: none */
    size_t len;         /* of text; 0: it ends with a NUL */
    const char *range;  /* "0-4095"; NULL: all */
    unsigned door;      /* the number of an endpoint, from 1 on; 0: any that answers */
    enum s3_patience patience;
};

/* Zero it first; s3_answer_forget. */
struct s3_answer {
    char *body; /* NUL-terminated, valid until the next question */
    size_t len, cap;
    long http;
    int64_t date_s; /* the server's clock; 0: not said */
    uint64_t total; /* bytes of the object, of a range; 0: not said */
    char etag[80];
    char moved[S3_URL_CAP]; /* where a redirection leads; "": it is none */
    unsigned door;          /* of the endpoint that answered, from 1 on */
    size_t headers;
    bool too_long, no_memory;
};
void s3_answer_forget(struct s3_answer *a);

/* Fills in what u leaves to the environment and the profile (endpoint, region), and opens. u stays
 * the caller's, and has to outlive *out. Nothing is asked of the server yet. -EACCES, class
 * ERR_TARGET: there are no keys. -EINVAL, class ERR_INPUT: what the environment names is no
 * endpoint or region. */
int s3_ask_open(struct s3_ask **out, struct uri *u, int64_t timeout_ns, struct err *e);
void s3_ask_close(struct s3_ask *k);
/* The variable of the environment that names the trusted authorities; NULL: none does, or it is not
 * looked at. */
const char *s3_authorities(const struct s3_ask *k);
/* Fills *a. 0, whatever the server says; negative errno with *e, class ERR_TARGET: no endpoint
 * answers (-ECONNREFUSED), or not within the time limit (-ETIMEDOUT), or with what is no answer
 * (-EPROTO), or a signal came first (-EINTR). Not for two threads at once. */
int s3_ask(struct s3_ask *k, const struct s3_question *q, struct s3_answer *a, struct err *e);
/* The server said no: -ENOENT or -EREMOTEIO with *e, class ERR_TARGET. may: what the key may not do
 * if access was denied ("delete objects (s3:DeleteObject)"); NULL: nothing in particular. */
int s3_refused(const struct s3_ask *k, const struct s3_answer *a, const char *may, struct err *e);

/* A handle of libcurl for requests to the store. NULL: no memory. */
void *s3_handle(const struct s3_ask *k);
/* The headers of a request, to be used by one after the other. NULL: no memory. */
struct s3_headers;
struct s3_headers *s3_headers_create(const struct s3_ask *k);
void s3_headers_free(struct s3_headers *h);
/* Signs a request, now. header: one more; NULL: none. Returns libcurl's list of its headers, valid
 * until the next one. url: in the form of s3_sign.h. */
void *s3_headers_sign(struct s3_headers *h, const char *verb, const char *url, const char *header);
/* The transfer of easy ended with this CURLcode since a header of the server was too long. */
bool s3_header_too_long(void *easy, int code);
/* text with all but letters, digits and -._~ as %XX; the caller's to free. NULL: no memory. */
char *s3_escaped(const char *text);

/* The path of an object behind the address of its bucket. */
void s3_path(const struct uri *u, const char *name, char path[S3_PATH_CAP]);
/* The address of name below the prefix, through the door endpoint. */
void s3_url(const struct uri *u, const char *endpoint, const char *name, char url[S3_URL_CAP]);
/* The server that requests through the door endpoint go to. */
void s3_server(const struct uri *u, const char *endpoint, char host[S3_URL_CAP], unsigned *port);
/* -EREMOTEIO with the code ("S3:SlowDown", "S3:HTTP503") of an answer that refused; -ENOENT for an
 * object that is not there. */
int s3_refusal(long http, const char *body, size_t len, char code[TIER_CODE_CAP]);
/* An answer that refused. */
struct s3_no {
    long http;
    const char *body;
    size_t len;
    const char *moved; /* where a redirection leads; NULL: not said */
};
/* A refusal in words, without our keys: the server's own words, the endpoint of a
 * redirection. */
void s3_said(const struct s3_ask *k, const struct s3_no *no, char said[TIER_SAID_CAP]);
/* An answer that did what was asked. */
static inline bool s3_fine(long http)
{
    return http >= 200 && http <= 299;
}

#endif
