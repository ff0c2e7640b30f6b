/* Between a request (s3_ask.c, s3.c) and its headers. Of the headers those are signed that have to
 * be: the host and what is Amazon's. */
#include "lib/remote/s3_sign.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/remote/sha256.h"

/* The next step of a key: what is signed by it. */
static void step(unsigned char key[SHA256_BYTES], const char *text)
{
    sha256_hmac(key, SHA256_BYTES, text, strlen(text), key);
}

static void add(struct sha256 *s, const char *text)
{
    sha256_add(s, text, strlen(text));
}

/* The sum of the canonical request. */
static void sum_request(const struct s3_keys *keys, const struct s3_signed *r, const char *date,
                        const char *names, char hex[SHA256_HEX_CAP])
{
    const char *const parts[] = {r->verb,     "\n",
                                 r->path,     "\n",
                                 r->query,    "\nhost:",
                                 r->host,     "\nx-amz-content-sha256:",
                                 r->payload,  "\nx-amz-date:",
                                 date,        keys->token[0] ? "\nx-amz-security-token:" : "",
                                 keys->token, "\n\n",
                                 names,       "\n",
                                 r->payload};
    unsigned char sum[SHA256_BYTES];
    struct sha256 s;

    sha256_begin(&s);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        add(&s, parts[i]);
    sha256_end(&s, sum);
    sha256_hex(sum, hex);
}

void s3_sign(const struct s3_keys *keys, const struct s3_signed *r, char date[S3_DATE_CAP],
             char authorization[S3_AUTHORIZATION_CAP])
{
    const char *names = keys->token[0] ? "host;x-amz-content-sha256;x-amz-date;x-amz-security-token"
                                       : "host;x-amz-content-sha256;x-amz-date";
    char secret[sizeof("AWS4") + sizeof(keys->secret)], day[9], scope[128], text[256];
    char hex[SHA256_HEX_CAP];
    unsigned char key[SHA256_BYTES];
    time_t at = (time_t)r->at_s;
    struct tm utc;

    gmtime_r(&at, &utc);
    strftime(date, S3_DATE_CAP, "%Y%m%dT%H%M%SZ", &utc);
    snprintf(day, sizeof(day), "%.8s", date);
    snprintf(scope, sizeof(scope), "%s/%s/s3/aws4_request", day, r->region);
    sum_request(keys, r, date, names, hex);
    snprintf(text, sizeof(text), "AWS4-HMAC-SHA256\n%s\n%s\n%s", date, scope, hex);
    snprintf(secret, sizeof(secret), "AWS4%s", keys->secret);
    sha256_hmac(secret, strlen(secret), day, strlen(day), key);
    step(key, r->region);
    step(key, "s3");
    step(key, "aws4_request");
    step(key, text);
    sha256_hex(key, hex);
    snprintf(authorization, S3_AUTHORIZATION_CAP,
             "AWS4-HMAC-SHA256 Credential=%s/%s,SignedHeaders=%s,Signature=%s", keys->id, scope,
             names, hex);
    explicit_bzero(secret, sizeof(secret));
    explicit_bzero(key, sizeof(key));
}
