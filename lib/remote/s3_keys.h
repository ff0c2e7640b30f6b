/* Whose requests an object store gets: keys from the environment, or from the files that Amazon's
 * programs share (~/.aws/credentials, ~/.aws/config). They go into signatures only: no message has
 * one.
 */
#ifndef KVTRACE_REMOTE_S3_KEYS_H
#define KVTRACE_REMOTE_S3_KEYS_H

#include "lib/base/err.h"

/* "": not given. */
struct s3_keys {
    char id[160], secret[256], token[4096];
    /* The profile's own, as they stand there, cut to the room here; the environment is not asked.
     */
    char region[80], endpoint[300];
    const char *wrong, *fault; /* the name of a key that cannot be one, and why; NULL: none */
};

/* Finds the keys of profile; with "" those of the environment, else of the profile AWS_PROFILE or
 * default. -EACCES, class ERR_TARGET, with where as the place: there are none, or one cannot be a
 * key. */
int s3_keys_find(struct s3_keys *k, const char *profile, const char *where, struct err *e);
/* Leaves nothing of them in memory. */
void s3_keys_forget(struct s3_keys *k);

#endif
