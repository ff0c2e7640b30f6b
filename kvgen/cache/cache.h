/*
 * cache.h - the seam between a scheduler (kvgen/serve) and an engine's cache: one table of
 * functions for each cache, one cache a file (kvgen/cache). The cache owns blocks and copies; the
 * scheduler owns time, queues and tokens. A cache knows no time: it says which transfers begin, and
 * is told when they are done.
 *
 * The life of a request: arrive; look_up and admit until it fits; extend for each further step;
 * scheduled for each step that computes tokens; finished, or preempted and again look_up; depart.
 * Where a look-up finds copies that must be loaded first, admit takes room for them only and begins
 * the load; after transfer_done of that load, loaded, then admit for the rest.
 *
 * A step: arrive, extend (running requests), look_up and admit (waiting ones), scheduled (each
 * request that computes), step_built; then transfer_done of what ended, computed and finished of
 * what its outputs brought, step_done. A manager that is driven one request after the other (as
 * some recordings were made) takes one step a request.
 *
 * One thread at a time. Nothing is allocated for a single block.
 */
#ifndef KVGEN_CACHE_CACHE_H
#define KVGEN_CACHE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/cache/chain.h"
#include "lib/trace/trace.h"

#define KV_NO_LIMIT UINT64_MAX

/* How many stay in a tier of files with room for `most` when a cleaner has made room: 90 %. It is
 * no part of an engine. */
static inline uint64_t kv_files_cleaned(uint64_t most)
{
    return most / 10 * 9 + most % 10 * 9 / 10;
}

/* A copy in files that another run wrote, by the hash of its chain. */
struct kv_file {
    uint64_t key;
    uint32_t in_group, engine; /* as of ident_chain; of that run */
};
/* From the one used longest ago. */
struct kv_files {
    struct kv_file *file;
    size_t count;
    uint64_t bytes; /* of each copy, of one rank */
};

/* The part of a request that scheduler and cache both know. It stays the scheduler's; it does not
 * move between arrive and depart. */
struct kv_request {
    uint32_t number;        /* in order of arrival, from 0; names it */
    struct chain chain;     /* the prompt, then all tokens of the answer */
    uint64_t prompt_tokens; /* of the chain */
    /* The scheduler's: tokens of the chain that are known (prompt, and answers so far), and those
     * of them whose keys and values are computed, loaded or found. */
    uint64_t known_tokens, computed_tokens;
    /* The limits of the request; KV_NO_LIMIT: as the engine is set. */
    uint64_t max_load_tokens, max_offload_tokens;
    /* The cache's: its look-ups go on without an end (KV_ENDLESS), unless others make room. Until
     * it is admitted. */
    bool endless;
    uint64_t loads; /* the cache's: KV_LOAD transfers under way, where it has more than one */
    void *state;    /* the cache's, from arrive to depart */
};

/* The result of a look-up: the longest prefix, by the tier that each part of it lies in. Faster
 * tiers come first in the prefix; a tier's part begins where that of the tier before ends.
 * (lmcache-mp, copies: below the GPU the tiers may alternate; these are sums.) */
struct kv_found {
    uint64_t tokens[TRACE_TIERS];
    /* How the parts below the GPU come: before the request runs (it waits, with its blocks
     * taken), or within its first step. Neither where nothing is to be loaded. */
    bool load_first, load_in_step;
};
enum kv_look {
    KV_FOUND,        /* also: nothing found */
    KV_ASK_AGAIN,    /* in the next step: a transfer or an answer of a tier is under way */
    KV_OWN_TRANSFERS /* the same: transfers of its own are */
};

/* The room that a request wants. */
struct kv_room {
    uint64_t tokens; /* to compute in this step, after what was found; 0: a load that comes first */
    /* Blocks (or the cache's other unit of room) that must stay free, and how many more of them
     * where only `tokens` are asked about. */
    uint64_t leave, promised;
    bool whole; /* all known tokens must fit now, though room is taken for `tokens` only */
};

/* ---- what the cache says ---- */

enum kv_event_kind {
    KV_CACHED,       /* a block was filled (or its filling scheduled) and can be found */
    KV_DROPPED,      /* a copy left the tier */
    KV_FREEING,      /* a request gives blocks back: those that follow, in that order */
    KV_FREED_EMPTY,  /* it cannot be found: used first; the key of its content, if it is whole */
    KV_FREED,        /* can still be found, until its room is taken */
    KV_FREED_IN_USE, /* another request has it */
    KV_STORED,       /* room taken for a copy that is being written */
    KV_KNOWN,        /* offered to be stored, and there already or not wanted */
    KV_REFUSED,      /* offered, and there was no room */
    KV_LEFT_OUT, /* a block of a copy of several, which is stored without it: it was given back */
    KV_ASKED,    /* a slow tier was asked and has not answered */
    KV_HIT,      /* a slow tier answered: there */
    KV_MISS,     /* a slow tier answered: not there */
    KV_PROMOTED, /* room taken for a copy that comes up from the tier below */
    KV_NOT_PROMOTED, /* no room for it */
    KV_TOUCHED,      /* a store or load found the copy and refreshed it */
    KV_DEMOTED,      /* the copy left this tier and the one below holds it */
    KV_READ,         /* a load reads the copy */
    KV_WAITS,        /* the load of that copy waits for room in the tier; see step_built */
    KV_ENDLESS       /* the request fetches what its own fetches push out; see kv_request */
};

/* Something happened to one block, page or chunk. Lent for the call. */
struct kv_event {
    enum kv_event_kind kind;
    enum trace_tier tier;
    uint64_t key;
    /* Whose operation it was; NULL: nobody's (a watermark loop, a cleaner). */
    const struct kv_request *request;
    bool twin; /* KV_DROPPED: another copy under the same key stays in this tier */
};

enum kv_transfer_kind {
    KV_STORE,   /* down, of what was computed */
    KV_LOAD,    /* up to the GPU, for a request; of several tiers several, which begin together */
    KV_PROMOTE, /* up to a tier above the one that holds it, not to the GPU */
    KV_WRITE    /* down, from a tier below the GPU */
};

/* A copy of several blocks, pages or chunks begins. Lent for the call. */
struct kv_transfer {
    uint64_t id; /* in order, from 0, by cache */
    enum kv_transfer_kind kind;
    enum trace_tier from, to;
    const struct kv_request *request; /* NULL: nobody's */
    const uint64_t *keys;
    uint64_t count, tokens; /* tokens: of all of them */
    bool in_step;           /* it is done within this step; transfer_done follows in it */
};

/* Who listens. Both are called within calls of the table, in the order of what happens. A listener
 * calls nothing of the cache. */
struct kv_listener {
    void *ctx;
    void (*event)(void *ctx, const struct kv_event *e);
    void (*transfer)(void *ctx, const struct kv_transfer *t);
    /* That transfer must be done before this step computes; transfer_done follows in it. */
    void (*flush)(void *ctx, uint64_t id);
};

/* ---- what the scheduler asks ---- */

struct kv_cache; /* each cache's own */

struct kv_cache_ops {
    const char *name;                 /* as --cache says it */
    const char *version;              /* of the engine that it equals; NULL: no engine's */
    void (*free)(struct kv_cache *c); /* takes NULL */

    /* A request comes: known_tokens is its prompt, computed_tokens 0. 0 or -ENOMEM. */
    int (*arrive)(struct kv_cache *c, struct kv_request *r);
    /* Looks the known tokens up. It pins nothing and may be repeated. */
    enum kv_look (*look_up)(struct kv_cache *c, struct kv_request *r, struct kv_found *out);
    /* Takes what the last look-up found, and room. false: it does not fit, and nothing changed. The
     * scheduler then sets computed_tokens to the end of what was found. */
    bool (*admit)(struct kv_cache *c, struct kv_request *r, const struct kv_room *room);
    /* The load of an admitted request is done, with the last of its transfers: its tokens now count
     * as cached. The scheduler calls admit for the rest next, without a look-up. */
    void (*loaded)(struct kv_cache *c, struct kv_request *r);
    /* Room for that many tokens more after computed_tokens. false: it does not fit; nothing
     * changed. */
    bool (*extend)(struct kv_cache *c, struct kv_request *r, uint64_t tokens);
    /* This step computes that many tokens of r; computed_tokens is as before them. In the order of
     * the step, after all of its admissions. */
    void (*scheduled)(struct kv_cache *c, struct kv_request *r, uint64_t tokens);
    /* r gets a token a step. Until it has so many computed ones, extend succeeds, and extend,
     * scheduled and computed change nothing: they need not be called, whatever else happens. At
     * most computed_tokens: they must be. NULL: always. */
    uint64_t (*quiet_until)(const struct kv_cache *c, const struct kv_request *r);
    /* All of the step was told. 0, or -ENOMEM or -EDEADLK, after which only free may be called.
     * -EDEADLK: the engine waits for ever, for room that only itself could free (KV_WAITS said for
     * what). */
    int (*step_built)(struct kv_cache *c);
    /* An output came: the keys and values of the first `tokens` tokens are there, and the tokens
     * themselves are known. */
    void (*computed)(struct kv_cache *c, struct kv_request *r, uint64_t tokens);
    /* It gives its blocks back; the cache may still store some until depart. */
    void (*finished)(struct kv_cache *c, struct kv_request *r);
    void (*preempted)(struct kv_cache *c, struct kv_request *r); /* its blocks go back */
    /* A transfer ended. */
    void (*transfer_done)(struct kv_cache *c, uint64_t id);
    /* The step's outputs are all told. NULL: nothing. */
    void (*step_done)(struct kv_cache *c);
    /* A second has passed: what the engine does by the clock. NULL: nothing. */
    void (*second)(struct kv_cache *c);
    /* The request is forgotten: its state is freed. After finished and the step_built after it. */
    void (*depart)(struct kv_cache *c, struct kv_request *r);
    /* Somebody else has written a file for that key; between two steps. false: there is no room for
     * it, or it was there. NULL: nobody else knows its files. */
    bool (*file_written)(struct kv_cache *c, uint64_t key);

    /* Room: all, now free, and what r lacks for all its known tokens; in the cache's own unit (a
     * block, a token). */
    uint64_t (*room)(const struct kv_cache *c);
    uint64_t (*room_free)(const struct kv_cache *c);
    uint64_t (*room_lacking)(const struct kv_cache *c, const struct kv_request *r);
    /* true: something is under way inside the cache, so steps without tokens must follow. */
    bool (*busy)(const struct kv_cache *c);
};

/*
 * What lies below the GPU, for caches whose GPU is vLLM's block pool: vLLM's own offloading,
 * LMCache (a connector in vLLM's words). The pool (vllm.h) calls it at the same points of a step.
 * What it does with one request is in `state`, which is its own.
 */
struct kv_below;

/* The blocks that a request holds on the GPU, by position, for each group of layers. Lent for the
 * call. */
struct kv_held {
    const uint64_t *key;   /* of the chain up to the block's end */
    const uint32_t *block; /* 0: outside the window, or not cached */
    uint64_t count;
};

struct kv_below_ops {
    const char *name, *version;                                            /* as of kv_cache_ops */
    void (*free)(struct kv_below *b);                                      /* takes NULL */
    int (*arrive)(struct kv_below *b, struct kv_request *r, void **state); /* 0 or -ENOMEM */
    /* Tokens that can be loaded after the first `from`, which the GPU has. */
    enum kv_look (*look_up)(struct kv_below *b, void *state, uint64_t from, struct kv_found *out);
    /* It was admitted with tokens from..to of the chain to be loaded, which begins now; from == to:
     * none. */
    void (*admitted)(struct kv_below *b, void *state, uint64_t from, uint64_t to);
    /* After this step the first `end` tokens are on the GPU: what is to be stored is stored. held:
     * one for each group. */
    void (*offer)(struct kv_below *b, void *state, uint64_t end, const struct kv_held *held);
    /* offer does nothing while `end` is at most this. NULL: it may always do something. */
    uint64_t (*quiet_until)(const struct kv_below *b, const void *state);
    int (*step_built)(struct kv_below *b); /* 0, -ENOMEM or -EDEADLK */
    void (*preempted)(struct kv_below *b, void *state);
    /* The request ends. held: its blocks, which are free now but not overwritten yet; lent until
     * depart. The next step_built may still store from them. */
    void (*finished)(struct kv_below *b, void *state, const struct kv_held *held);
    /* A request gets that block of the GPU: to overwrite it, or for what is cached in it. */
    void (*taken)(struct kv_below *b, uint32_t block);
    void (*transfer_done)(struct kv_below *b, uint64_t id);
    void (*step_done)(struct kv_below *b); /* NULL: nothing */
    void (*second)(struct kv_below *b);    /* NULL: nothing */
    void (*depart)(struct kv_below *b, void *state);
    bool (*file_written)(struct kv_below *b, uint64_t key); /* as of kv_cache_ops; NULL: none are */
    bool (*busy)(const struct kv_below *b);
};

#endif
