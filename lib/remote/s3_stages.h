/* An operation of an object store as a sequence of stages. A stage has one request or several. */
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
    S3_STAGE_MOVE,     /* of contents; several pieces at the same time */
    S3_STAGE_COMPLETE, /* the upload becomes the object */
    S3_STAGE_ABORT,    /* the upload is given up */
    S3_STAGE_REMOVE    /* a delete, or the end of a read that drops */
};

/* The tag that the server gave a part. */
struct s3_tag {
    char text[S3_TAG_CAP];
};

/* An operation under way. It always has a request, so there are no more jobs than requests. */
struct s3_job {
    struct tier_op *op;
    enum s3_stage stage;
    int64_t stage_ns;              /* when it began */
    uint64_t bytes;                /* of contents: whole blocks */
    unsigned pieces, next, inside; /* count; the next one to begin; requests of this stage */
    char *upload;                  /* its name, escaped; NULL: none */
    struct s3_tag *tag;            /* one for each piece of an upload */
    char *text;                    /* the body of the request that completes the upload */
    size_t text_len;
    struct s3_job *link; /* spare, or with pieces that wait for a request */
};

/* Sets the next stage of j; body[0..len) is its last answer. False: no stage is left. */
bool s3_next_stage(struct s3_job *j, const char *body, size_t len);
/* Frees the memory of an upload. */
void s3_job_forget(struct s3_job *j);

#endif
