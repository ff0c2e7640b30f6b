/* Before the first object of a run: is the key allowed what the run will need, up to its last
 * request? A small object of our own is written, read and deleted. */
#ifndef KVTRACE_REMOTE_S3_RIGHTS_H
#define KVTRACE_REMOTE_S3_RIGHTS_H

#include <stdbool.h>

#include "lib/remote/s3_ask.h"

struct s3_rights {
    const struct uri *uri;
    const char *where; /* for messages */
    struct s3_ask *ask;
    struct s3_answer *answer; /* the caller's, to be used */
    enum s3_patience patience;
    bool parts; /* multipart uploads are needed, too */
};

/* Tries them, under a marker that is ours. *versions: the bucket keeps what is deleted or written
 * over. 0, or negative errno with *e, class ERR_TARGET, which names the right that is missing. */
int s3_rights_try(const struct s3_rights *r, bool *versions, struct err *e);

#endif
