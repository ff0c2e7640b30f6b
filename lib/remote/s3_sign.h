/* Signatures of requests: AWS Signature Version 4. Our own, since each libcurl has its own way of
 * it: 7.88 signs headers that it does not send, 8.14 takes a "%2B" of the query for a blank.
 * Source: Amazon S3 API Reference, "Authenticating Requests: Using the Authorization Header". */
#ifndef KVTRACE_REMOTE_S3_SIGN_H
#define KVTRACE_REMOTE_S3_SIGN_H

#include <stdint.h>

#include "lib/remote/s3_keys.h"

#define S3_UNSIGNED "UNSIGNED-PAYLOAD"
enum {
    S3_DATE_CAP = sizeof("20130524T000000Z"),
    S3_AUTHORIZATION_CAP = 512
};

/* A request to sign. Path and query are in their canonical form, as they are sent: only letters,
 * digits, "-._~" and "%XX" but for the slashes of the path; parameters in the order of their names,
 * each with "=". */
struct s3_signed {
    const char *verb, *host, *path, *query;
    const char *payload; /* sum of the contents in hex, or S3_UNSIGNED */
    const char *region;
    int64_t at_s; /* wall clock */
};
/* The headers x-amz-date and Authorization of the request. It has to have these, too: Host,
 * x-amz-content-sha256, and x-amz-security-token if the keys have a token. */
void s3_sign(const struct s3_keys *keys, const struct s3_signed *r, char date[S3_DATE_CAP],
             char authorization[S3_AUTHORIZATION_CAP]);

#endif
