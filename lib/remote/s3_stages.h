/* An operation of an object store as a sequence of stages, each of one request or several. */
#ifndef KVTRACE_REMOTE_S3_STAGES_H
#define KVTRACE_REMOTE_S3_STAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/tier/tier.h"

enum {
    S3_TAG_CAP = 96
};

enum s3_stage {
    S3_STAGE_CREATE,   /* of a multipart upload */
    S3_STAGE_MOVE,     /* contents, in pieces at once */
    S3_STAGE_COMPLETE, /* the upload becomes the object */
    S3_STAGE_ABORT,    /* the upload is given up */
    S3_STAGE_REMOVE    /* a delete, or the end of a read that drops */
};

/* The tag that the server gave a part. */
struct s3_tag {
    char text[S3_TAG_CAP];
};

/* An operation under way. It has a request at least: no more jobs than requests. */
struct s3_job {
    struct tier_op *op;
    enum s3_stage stage;
    int64_t stage_ns;              /* when it began */
    uint64_t bytes;                /* of contents: whole blocks */
    unsigned pieces, next, inside; /* of the contents; to begin next; requests of this stage */
    char *upload;                  /* its name, escaped; NULL: none */
    struct s3_tag *tag;            /* of each piece of an upload */
    char *text;                    /* that completes it */
    size_t text_len;
    struct s3_job *link; /* spare, or with pieces that wait for a request */
};

/* Sets the stage that follows for j, whose last answer is body[0..len). False: there is none. */
bool s3_next_stage(struct s3_job *j, const char *body, size_t len);
/* Frees what an upload took. */
void s3_job_forget(struct s3_job *j);

#endif
