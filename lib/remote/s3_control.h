/* What the requests of an object store have in common (addresses, signatures, refusals), and a
 * connection for what is not on the path of an operation: marker, listing, adoption. Its calls are
 * synchronous and exclude each other, so any thread may call. */
#ifndef KVTRACE_REMOTE_S3_CONTROL_H
#define KVTRACE_REMOTE_S3_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/owner/owner.h"
#include "lib/tier/tier.h"
#include "lib/tier/uri.h"

enum {
    S3_NAME_CAP = STEM_CAP - 1 + sizeof(".kv"),
    S3_URL_CAP = 640
};
/* "STEM.kv" (lib/owner/stem.h). */
void s3_object_name(char name[S3_NAME_CAP], struct hash128 object, uint32_t epoch);
/* The address of name below the prefix, through the door endpoint. */
void s3_url(const struct uri *u, const char *endpoint, const char *name, char url[S3_URL_CAP]);
/* The server that requests through the door endpoint go to. */
void s3_server(const struct uri *u, const char *endpoint, char host[S3_URL_CAP], unsigned *port);
/* -EREMOTEIO with the code ("S3:SlowDown", "S3:HTTP503") of an answer that refused; -ENOENT for an
 * object that is not there. body: NUL-terminated. */
int s3_refusal(long http, const char *body, char code[TIER_CODE_CAP]);
/* What the first element name of text holds. False: there is none, or it is too long. */
bool s3_element(const char *text, const char *name, char *to, size_t cap);

struct s3_control;

/* A handle of libcurl that signs its requests, with header (may be NULL) in each; *headers is its
 * list, the caller's to free. NULL: no memory. */
void *s3_handle(const struct s3_control *c, const char *header, void **headers);

/* Fills in what u leaves to the environment and the profile (endpoint, region), and opens. Nothing
 * is asked of the server yet. -EACCES, class ERR_TARGET: there are no keys. */
int s3_control_open(struct s3_control **out, struct uri *u, int64_t timeout_ns, struct err *e);
void s3_control_close(struct s3_control *c);
/* For owner_take; valid as long as c. */
const struct owner_store *s3_control_store(const struct s3_control *c);
/* As tier_ops.adopt; op->place stays as it is. */
int s3_control_adopt(struct s3_control *c, struct tier_op *op, uint64_t *size,
                     uint64_t *generation);

#endif
