/* media.h - where engines say that a block lies, and the tier that is. */
#ifndef KVGEN_RECORD_MEDIA_H
#define KVGEN_RECORD_MEDIA_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/opt/table.h"
#include "lib/trace/trace.h"

enum {
    MEDIA_GPU = 0, /* also of engines that name no medium */
    MEDIA_MAX = 28,
    MEDIA_NAME = 32 /* bytes of a name, with its NUL */
};

struct medium {
    char name[MEDIA_NAME]; /* in capitals */
    uint8_t tier; /* enum trace_tier; TRACE_NO_TIER: a recording names it, and nobody knows it */
};

/* A plain value: the known media, and those of --config medium. */
struct media {
    struct medium medium[MEDIA_MAX];
    unsigned count;
};

/* given: texts NAME=TIER, with a tier from 0 to 2. 0, or -EINVAL with *e. */
int media_init(struct media *m, const struct opt_list *given, struct err *e);
/* The medium of that name in any case, or -1. */
int media_find(const struct media *m, const char *name, size_t len);

/* The same, or a new medium without a tier: what is not known is kept under its name. A name has
 * letters, digits, "-", "_", "."; other bytes become "?". When there are too many, "?" stands for
 * all further ones. */
unsigned media_learn(struct media *m, const char *name, size_t len);

#endif
