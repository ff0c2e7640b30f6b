/* Whose a remote store is. A marker in it says which run works there, or what an earlier one left;
 * it is made atomically, so that of two runs that start together one is refused. The store is asked
 * through a table of functions, all of them synchronous. */
#ifndef KVTRACE_REMOTE_OWNER_H
#define KVTRACE_REMOTE_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/owner/inventory.h"
#include "lib/owner/stem.h"

#define OWNER_MARKER ".kvtrace" /* its name in the store */
enum {
    OWNER_BYTES = 512,                /* a marker's text with its final NUL */
    OWNER_RENEW_S = 10,               /* how often a run renews its marker */
    OWNER_STALE_S = 60,               /* without renewal, a run on another host is dead */
    OWNER_PREFIX_LEN = 8,             /* of the names of objects */
    OWNER_NAME_MAX = 8 + STEM_CAP - 1 /* without ".PART" */
};
#define OWNER_PREFIX "kvtrace:"

/* What a marker says. */
struct owner_card {
    bool kept;   /* objects of a finished run; else a run is, or was, at work */
    bool keeps;  /* that run keeps its objects: they stay when it dies */
    bool unsure; /* a run that keeps has died, or failed: objects may be torn */
    char program[32], host[65], boot[37];
    long pid;
    int64_t start_s;   /* wall clock of its host */
    int64_t renewed_s; /* clock of the store */
    uint64_t data_seed;
};
void owner_format(const struct owner_card *c, char text[OWNER_BYTES]);
/* 0, or -EINVAL: no marker of ours. */
int owner_parse(const char *text, struct owner_card *c);
/* Is the run of found still at work, as far as me can tell? On the same host and boot the process
 * says so, elsewhere the renewal. now_s: clock of the store. */
bool owner_alive(const struct owner_card *found, const struct owner_card *me, int64_t now_s);

/* Is name[0..len) that of an object, "kvtrace:STEM" (lib/owner/stem.h), or of a part of one,
 * "kvtrace:STEM.NUMBER"? */
bool owner_names_object(const char *name, size_t len);

/* What lies in a store. */
struct owner_found {
    uint64_t objects; /* ours */
    bool foreign;     /* something else does, too */
    char name[80];    /* the foreign one that was found first */
    /* Called for each of our objects, until it returns negative errno; NULL: they are counted. */
    int (*visit)(void *ctx, struct hash128 object, uint32_t epoch);
    void *ctx;
    int failed; /* what visit returned last */
};
/* An object of ours, whose name begins with stem[0..len), lies in the store. */
void owner_found_object(struct owner_found *found, const char *stem, size_t len);

/* The functions return 0 or negative errno, with *e when that is not named here. */
struct owner_store {
    void *ctx;
    const char *where;                  /* for messages */
    const struct inventory_store *list; /* of what is kept, beside the marker */
    /* The marker's text and the store's clock. -ENOENT: there is none. */
    int (*get)(void *ctx, char text[OWNER_BYTES], int64_t *now_s, struct err *e);
    /* Puts the marker if there is none. -EEXIST: there is. */
    int (*put)(void *ctx, const char *text, struct err *e);
    /* Replaces the marker if it still is old; with text NULL removes it. -EAGAIN: it is another. */
    int (*swap)(void *ctx, const char *old, const char *text, struct err *e);
    int (*look)(void *ctx, struct owner_found *found, struct err *e);
    int (*clear)(void *ctx, struct err *e); /* removes our objects, and nothing else */
};

struct owner_opts {
    const char *program;
    bool keeps, destroys;
    uint64_t data_seed;
};

/* Plain state of a run that holds a store. Zero it first. */
struct owner {
    const struct owner_store *store;
    struct owner_card me;
    char text[OWNER_BYTES]; /* of the marker, as it stands in the store */
    bool held, lost;
    bool kept, unsure; /* an earlier run left its objects; they may be torn */
};

/* Takes the store, or refuses with class ERR_TARGET: a run is at work there, something lies there
 * that is not ours, or an earlier run kept its objects and o neither keeps nor destroys them. What
 * a run left that died is removed, unless it was to stay. */
int owner_take(struct owner *w, const struct owner_store *store, const struct owner_opts *o,
               struct err *e);
/* Works in a store that another process of the same run has taken, with this seed. Renewing and
 * leaving then touch nothing. -ENOENT, class ERR_TARGET: its marker is not there. */
int owner_join(struct owner *w, const struct owner_store *store, uint64_t data_seed, struct err *e);
/* Every OWNER_RENEW_S. -EAGAIN: the marker is not ours any more. */
int owner_renew(struct owner *w);
/* keep: marks the objects as kept. Else removes them and the marker. Nothing is touched in a store
 * that is not held, or that was lost: -ESTALE. */
int owner_leave(struct owner *w, bool keep, struct err *e);

#endif
