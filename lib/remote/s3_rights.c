/* Between s3_control.c, which has just put its marker, and the first object of a run: a right that
 * is missing is said now, not by the first delete of a run of hours. Source: Amazon S3 API
 * Reference; Service Authorization Reference, actions of S3. */
#include "lib/remote/s3_rights.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/remote/s3_xml.h"

#if KVTRACE_S3

/* It has the form of our objects' names, so that the next run removes one that was left. */
#define PROBE      "00000000000000000000000000000000.kv"
#define PROBE_TEXT "kvtrace tries its rights"

/* Asks for the probe, with that query. */
static int ask(const struct s3_rights *r, struct s3_question q, const char *query, struct err *e)
{
    char name[S3_PATH_CAP], path[S3_PATH_CAP + 3 * S3_TOKEN_CAP + 16];

    s3_path(r->uri, PROBE, name);
    snprintf(path, sizeof(path), "%s%s", name, query);
    q.path = path;
    q.patience = r->patience;
    return s3_ask(r->ask, &q, r->answer, e);
}

/* The answer has to be one of success, else the key may not do that. */
static int allowed(const struct s3_rights *r, int rc, const char *may, struct err *e)
{
    return rc < 0 || s3_fine(r->answer->http) ? rc : s3_refused(r->ask, r->answer, may, e);
}

/* Objects are read whole, and in ranges. */
static int try_read(const struct s3_rights *r, struct err *e)
{
    int rc = ask(r, (struct s3_question){.verb = "GET", .range = "1-3"}, "", e);

    rc = allowed(r, rc, "read objects (s3:GetObject)", e);
    if (rc < 0)
        return rc;
    if (r->answer->http != 206 || r->answer->len != 3 ||
        memcmp(r->answer->body, &PROBE_TEXT[1], 3) != 0)
        return err_set(e, -ENOTSUP, ERR_TARGET, r->where,
                       "refused: the server does not return the requested range of an object "
                       "(Range), which reads of a part need");
    return 0;
}

/* A multipart upload is begun and given up. */
static int try_parts(const struct s3_rights *r, struct err *e)
{
    char id[S3_TOKEN_CAP], query[3 * S3_TOKEN_CAP + 16];
    int rc = ask(r, (struct s3_question){.verb = "POST", .text = ""}, "?uploads=", e);

    rc = allowed(r, rc,
                 "begin multipart uploads (s3:PutObject), which objects larger than part= need", e);
    if (rc < 0)
        return rc;
    if (s3_xml_find(r->answer->body, r->answer->len, "InitiateMultipartUploadResult/UploadId", id,
                    sizeof(id)) < 0 ||
        !id[0])
        return err_set(e, -EPROTO, ERR_TARGET, r->where,
                       "the server's answer to the start of a multipart upload is not understood");
    char *escaped = s3_escaped(id);
    if (!escaped)
        return err_nomem(e, "request");
    snprintf(query, sizeof(query), "?uploadId=%s", escaped);
    free(escaped);
    rc = ask(r, (struct s3_question){.verb = "DELETE"}, query, e);
    return allowed(r, rc, "give up multipart uploads (s3:AbortMultipartUpload)", e);
}

/* Not known, where the key may not ask (s3:GetBucketVersioning): false. */
static bool keeps_versions(const struct s3_rights *r)
{
    char state[16];
    const struct s3_question q = {.verb = "GET",
                                  .path = r->uri->style == URI_STYLE_VIRTUAL ? "/?versioning="
                                                                             : "?versioning=",
                                  .patience = r->patience};

    return s3_ask(r->ask, &q, r->answer, NULL) == 0 && s3_fine(r->answer->http) &&
           s3_xml_find(r->answer->body, r->answer->len, "VersioningConfiguration/Status", state,
                       sizeof(state)) == 0 &&
           strcmp(state, "Enabled") == 0;
}

int s3_rights_try(const struct s3_rights *r, bool *versions, struct err *e)
{
    static const char may_delete[] =
        "delete objects (s3:DeleteObject): a test object of 24 bytes (" PROBE ") and the marker "
        "may be left there";
    int rc = ask(r, (struct s3_question){.verb = "PUT", .text = PROBE_TEXT}, "", e);

    rc = allowed(r, rc, "write objects (s3:PutObject)", e);
    if (rc < 0)
        return rc;
    rc = try_read(r, e);
    if (rc == 0 && r->parts)
        rc = try_parts(r, e);
    if (rc == -ETIMEDOUT) /* a dead server would take its time once more */
        return rc;
    struct s3_rights ends = *r;
    ends.patience = rc < 0 ? S3_UNTIL_SECOND_SIGNAL : r->patience;
    int removed = ask(&ends, (struct s3_question){.verb = "DELETE"}, "", rc < 0 ? NULL : e);
    if (rc == 0)
        rc = allowed(r, removed, may_delete, e);
    if (rc == 0)
        *versions = keeps_versions(r);
    return rc;
}
#endif
