/* Whose a store is: a folder, a Redis database, a prefix of a bucket. A marker in it says which run
 * works there, or what an earlier one left; it is made atomically, so that of two runs that start
 * together one is refused, and a lease on it says until when that holds. The rules are the same for
 * all stores, each of which is asked through a table of functions, all of them synchronous. */
#ifndef KVTRACE_OWNER_OWNER_H
#define KVTRACE_OWNER_OWNER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/owner/card.h"
#include "lib/owner/inventory.h"
#include "lib/owner/lease.h"
#include "lib/owner/stem.h"

enum {
    OWNER_PREFIX_LEN = 8,             /* of the names of objects in Redis */
    OWNER_NAME_MAX = 8 + STEM_CAP - 1 /* without ".PART" */
};
#define OWNER_PREFIX "kvtrace:"

/* Is name[0..len) that of an object, "kvtrace:STEM" (stem.h), or of a part of one,
 * "kvtrace:STEM.NUMBER"? */
bool owner_names_object(const char *name, size_t len);

/* The contents of a store. */
struct owner_found {
    uint64_t objects; /* ours */
    uint64_t bytes;   /* of them; 0 where the store does not tell */
    bool foreign;     /* something else does, too */
    char name[80];    /* the foreign one that was found first */
    /* Called for each of our objects, until it returns negative errno; NULL: they are counted. */
    int (*visit)(void *ctx, struct hash128 object, uint32_t epoch);
    void *ctx;
    int failed; /* what visit returned last */
};
/* Is name[0..len) that of what lies beside objects: the marker, a segment of the list? */
bool owner_names_own(const char *name, size_t len);
/* Something that is not ours lies in the store. */
void owner_found_foreign(struct owner_found *found, const char *name);
/* An object of ours, whose name begins with stem[0..len), lies in the store. */
void owner_found_object(struct owner_found *found, const char *stem, size_t len);

/* Epochs in the names of objects. */
enum {
    OWNER_EPOCHS_MAX = 64
};
struct owner_epochs {
    uint32_t epoch[OWNER_EPOCHS_MAX];
    unsigned count;
    bool more; /* there were more of them */
};

/* The removal of all that is ours in a store. */
struct owner_clear {
    struct lease *lease; /* in: ask lease_valid before each removal; -ESTALE when it says no */
    bool at_the_end; /* in: of a run: one signal does not end it, as it may have ended the run */
    uint32_t epoch;  /* in: of this run */
    const struct owner_epochs *known; /* in: of what lay there when the run took the store; NULL:
                                         late ones are not counted */
    uint64_t removed;                 /* out: objects */
    uint64_t late;             /* out: of them, of no run that is known there: a stopped one's */
    uint64_t left, left_bytes; /* out, when it failed: objects that are still there; 0: not known */
};

/* An object whose name begins with stem[0..len) is removed. */
void owner_clear_object(struct owner_clear *c, const char *stem, size_t len);

/* The functions return 0 or negative errno, with *e when that is not named here. Calls come from
 * the run and from its lease's thread, also at the same time. */
struct owner_store {
    void *ctx;
    const char *where;                  /* for messages */
    const struct inventory_store *list; /* of what is kept, beside the marker; NULL: none */
    /* The marker's text ("": it was just made) and the store's clock (0: it has none). -ENOENT:
     * there is no marker. -EAGAIN: it changed meanwhile. */
    int (*get)(void *ctx, char text[OWNER_BYTES], int64_t *now_s, struct err *e);
    /* Puts the marker if there is none. -EEXIST: there is. */
    int (*put)(void *ctx, const char *text, struct err *e);
    /* Replaces the marker if it still is old; with text NULL removes it. -EAGAIN: it is another. */
    int (*swap)(void *ctx, const char *old, const char *text, struct err *e);
    int (*look)(void *ctx, struct owner_found *found, struct err *e);
    int (*clear)(void *ctx, struct owner_clear *c, struct err *e); /* our objects, nothing else */
    /* Whether the process lives whose marker get found last, as far as the store tells (a lock).
     * NULL: it does not tell. */
    enum card_life (*life)(void *ctx, const struct card *found, const struct card *me);
};

struct owner_opts {
    const char *program;
    bool keeps;    /* what this run writes is to stay, also when it is killed */
    bool adopts;   /* with keeps: it can use what an earlier run kept, and leave it there */
    bool destroys; /* what an earlier run kept may be removed */
    bool reuses;   /* with destroys: it is used nevertheless, and goes at the end */
    bool created;  /* kvtrace made the folder */
    uint64_t data_seed;
    uint32_t part_from, part_to; /* as in the card */
    /* Nobody can tell whether the run of who is alive: the marker is watched for that many seconds.
     * May be NULL. */
    void (*waits)(const char *where, const char *who, unsigned seconds);
    /* Leaving has removed objects that came while this run held the store, and that are of no run
     * whose objects lay there. May be NULL. */
    void (*late)(const char *where, uint64_t objects);
};

enum {
    OWNER_WHO = 192
};

/* A run that holds a store. Zero it first; it stays where it is until owner_leave. */
struct owner {
    const struct owner_store *store;
    struct card me;
    char text[OWNER_BYTES]; /* of the marker, as it stands in the store */
    char sent[OWNER_BYTES]; /* a renewal that may have arrived; "": none */
    struct lease *lease;
    int64_t looked_ns; /* who joined: before the last look that found another text */
    bool held, joined;
    bool kept, unsure;         /* an earlier run left its objects; they may be torn */
    atomic_bool doubts;        /* owner_doubt */
    char taker[OWNER_WHO];     /* who has the store now; "": not known */
    struct owner_epochs known; /* of what lay there before */
    void (*late)(const char *where, uint64_t objects);
};

/*
 * Takes the store, or refuses with class ERR_TARGET: a run is at work there, something lies there
 * that is not ours, or an earlier run kept its objects and o neither keeps and adopts nor destroys
 * them. What a run left that died is removed, unless it was to stay. Objects without a marker are
 * removed with destroys only. Where nobody can tell whether a run is alive, the marker is watched
 * for one lease: a signal ends that with -EINTR.
 */
int owner_take(struct owner *w, const struct owner_store *store, const struct owner_opts *o,
               struct err *e);
/* Works in a store that another process of the same run has taken, with this seed, as long as that
 * one renews its marker. Leaving then touches nothing. -ENOENT, class ERR_TARGET: its marker is not
 * there. */
int owner_join(struct owner *w, const struct owner_store *store, uint64_t data_seed, struct err *e);
/* Some of the objects may be torn: the marker will tell the next run. Any thread. */
void owner_doubt(struct owner *w);
/* Lets go of the store without touching it: the next run finds the marker of one that died. */
void owner_abandon(struct owner *w);
/* keep: marks the objects as kept. Else removes them and the marker; *e says how much is left when
 * that fails, and the marker stays. In a store that was lost nothing is touched: -ESTALE, class
 * ERR_TARGET, with who has it. */
int owner_leave(struct owner *w, bool keep, struct err *e);

#endif
