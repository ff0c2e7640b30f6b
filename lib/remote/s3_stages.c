/* Beside s3.c, which sends the requests of a stage: decides which stage of an operation comes next,
 * and knows the texts that begin and complete a multipart upload. */
#include "lib/remote/s3_stages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/layout/place.h"
#include "lib/remote/s3_ask.h"
#include "lib/remote/s3_xml.h"

/* Takes the name of the upload from the answer body, and makes room for its tags. */
static int upload_begins(struct s3_job *j, const char *body, size_t len)
{
    char name[S3_TOKEN_CAP];

    if (s3_xml_find(body, len, "InitiateMultipartUploadResult/UploadId", name, sizeof(name)) < 0 ||
        !name[0])
        return -EPROTO;
    j->upload = s3_escaped(name);
    j->tag = calloc(j->pieces, sizeof(*j->tag));
    return j->upload && j->tag ? 0 : -ENOMEM;
}

/* The text that completes the upload: its parts in order. */
static int upload_text(struct s3_job *j)
{
    static const char form[] = "<Part><PartNumber>%u</PartNumber><ETag>%s</ETag></Part>";
    size_t cap = 64 + j->pieces * (sizeof(form) + S3_TAG_CAP + 8);
    char *text = malloc(cap);

    if (!text)
        return -ENOMEM;
    size_t n = (size_t)snprintf(text, cap, "<CompleteMultipartUpload>");
    for (unsigned i = 0; i < j->pieces; i++)
        n += (size_t)snprintf(text + n, cap - n, form, i + 1, j->tag[i].text);
    n += (size_t)snprintf(text + n, cap - n, "</CompleteMultipartUpload>");
    j->text = text;
    j->text_len = n;
    return 0;
}

/* Whether an object must be removed after contents have moved: one that op reads and drops, or one
 * of another name that op replaces. */
static bool removes_old(const struct tier_op *op)
{
    return op->status == 0 && (op->verb == TIER_WRITE ? place_epoch(op->place) != 0
                                                      : op->verb == TIER_READ && op->drop);
}

bool s3_next_stage(struct s3_job *j, const char *body, size_t len)
{
    struct tier_op *op = j->op;

    switch (j->stage) {
    case S3_STAGE_CREATE:
        if (op->status == 0)
            op->status = upload_begins(j, body, len);
        j->stage = op->status == 0 ? S3_STAGE_MOVE : S3_STAGE_ABORT;
        return op->status == 0 || j->upload;
    case S3_STAGE_MOVE:
        if (j->upload && op->status == 0)
            op->status = upload_text(j);
        if (j->upload)
            j->stage = op->status == 0 ? S3_STAGE_COMPLETE : S3_STAGE_ABORT;
        else
            j->stage = S3_STAGE_REMOVE;
        return j->upload || removes_old(op);
    case S3_STAGE_COMPLETE:
        j->stage = op->status == 0 ? S3_STAGE_REMOVE : S3_STAGE_ABORT;
        return op->status < 0 || removes_old(op);
    case S3_STAGE_REMOVE:
        if (op->verb != TIER_DELETE || !place_twice(op->place))
            return false;
        op->place = place_of(place_bytes(op->place), 0);
        return true;
    default:
        return false;
    }
}

void s3_job_forget(struct s3_job *j)
{
    free(j->upload);
    free(j->tag);
    free(j->text);
}
