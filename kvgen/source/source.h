/* source.h - where requests come from: a table of functions, one kind of source a file. */
#ifndef KVGEN_SOURCE_SOURCE_H
#define KVGEN_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvgen/source/request.h"
#include "lib/base/err.h"

struct source; /* begins with its ops */

/* Rows of the input that were no request. */
struct source_skips {
    uint64_t rows;
    struct err first; /* why the first was skipped */
};

struct source_ops {
    const char *name;
    bool blocks; /* requests are lists of blocks, not one object */
    /* When the next request arrives, never earlier than the last: 1 and *arrival_ns; 0: none,
     * unless a completion brings one; negative errno with *e. May be asked repeatedly. */
    int (*peek)(struct source *s, int64_t *arrival_ns, struct err *e);
    /* The request that peek announced. */
    void (*take)(struct source *s, struct request *out);
    /* That request was answered at now_ns; NULL: nothing follows from it. */
    void (*done)(struct source *s, const struct request *r, int64_t now_ns);
    /* Neither r->blocks nor turns of r is asked for any more; NULL: nothing is lent. */
    void (*release)(struct source *s, const struct request *r);
    /* Name of a user without NUL into buf of IDENT_MAX_USER_NAME bytes; returns its length. */
    size_t (*user_name)(const struct source *s, uint32_t user, char *buf);
    /* Turns of r's conversation that were asked so far, r among them, 0 if nobody knows any more;
     * until r is released. NULL: r->turn. */
    uint32_t (*turns)(const struct source *s, const struct request *r);
    /* Conversations begun so far and their turns. */
    void (*conversations)(const struct source *s, uint64_t *count, uint64_t *turns);
    /* Rows skipped so far; NULL: this kind skips none. */
    const struct source_skips *(*skips)(const struct source *s);
    /* Were numbers of tokens estimated from texts? NULL: never. */
    bool (*estimated)(const struct source *s);
    void (*close)(struct source *s);
};

struct source {
    const struct source_ops *ops;
};

#endif
