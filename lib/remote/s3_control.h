/* Questions to an object store beside the path of an operation: whose it is (the marker), what
 * it holds, adoption, and the removal of what is ours. Its calls are synchronous and exclude each
 * other, so any thread may call. */
#ifndef KVTRACE_REMOTE_S3_CONTROL_H
#define KVTRACE_REMOTE_S3_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/owner/stem.h"
#include "lib/remote/remote.h"
#include "lib/remote/s3_ask.h"
#include "lib/tier/tier.h"
#include "lib/tier/uri.h"

enum {
    S3_NAME_CAP = STEM_CAP - 1 + sizeof(".kv")
};
/* "STEM.kv" (lib/owner/stem.h). */
void s3_object_name(char name[S3_NAME_CAP], struct hash128 object, uint32_t epoch);

struct s3_control;

struct s3_control_opts {
    const struct uri *uri; /* complete, and as long as the control */
    int64_t timeout_ns;
    bool parts; /* some objects are stored in parts: the right to do so is tried, too */
};
/* Works over ask, which nobody else asks. */
int s3_control_open(struct s3_control **out, struct s3_ask *ask, const struct s3_control_opts *o,
                    struct err *e);
void s3_control_close(struct s3_control *c);

/* Which signals end a request. The phases follow each other. */
enum s3_phase {
    S3_OPENING, /* the first one */
    S3_RUNNING, /* the second */
    S3_CLOSING  /* the second, if it comes in this phase */
};
void s3_control_phase(struct s3_control *c, enum s3_phase phase);

/* For remote_open; valid as long as c. When the store is taken, each right that a run needs and
 * each endpoint is tried. Clearing says how much is left when it fails. */
const struct remote_control *s3_control_table(const struct s3_control *c);
/* The bucket keeps objects that are deleted or written over as old versions. */
bool s3_control_keeps_versions(const struct s3_control *c);

#endif
