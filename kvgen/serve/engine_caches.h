/* engine_caches.h - the caches that --cache names: a table of engines, their settings under the
 * engine's own names with the engine's defaults, and how each is opened. A new one takes a row in
 * engine_caches.c.
 *
 * Threads for files (read_threads, write_threads: our names) are those of the engines' sources:
 * vLLM: n_read_threads and n_write_threads of its fs tier (v1/kv_offload/tiering), 16 each, which
 * have a file each. LMCache: 4 of its disk (storage_backend/local_disk_backend.py), which only
 * write here, as a step waits for what is read. SGLang: one that fetches and one that backs up
 * (managers/cache_controller.py), page after page. LMCache's server has no number of them: each of
 * its transfers hands over one file after the other (l2_adapters/fs_l2_adapter.py). */
#ifndef KVGEN_SERVE_ENGINE_CACHES_H
#define KVGEN_SERVE_ENGINE_CACHES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kvgen/cache/cache.h"
#include "kvgen/cache/chain_numbers.h"
#include "kvgen/cache/vllm.h"
#include "kvgen/policy/policy.h"
#include "kvgen/serve/scheduler.h"
#include "lib/base/err.h"
#include "lib/json/jsonout.h"

enum {
    ENGINE_SETTINGS = 24 /* at most */
};

enum engine_setting_kind {
    ENGINE_COUNT,  /* a whole number; sizes may have units */
    ENGINE_SHARE,  /* from 0 to 1 */
    ENGINE_SWITCH, /* yes or no */
    ENGINE_CHOICE
};
struct engine_setting {
    const char *name; /* the engine's; NULL ends a list */
    enum engine_setting_kind kind;
    const char *def;      /* the engine's; "": by the GPU or none, as help says */
    const char *choices;  /* a|b, of ENGINE_CHOICE: the value is its place */
    uint64_t least, most; /* of ENGINE_COUNT */
    const char *help;
};
/* Values of a list of settings, in its order. */
struct engine_values {
    double value[ENGINE_SETTINGS];
    bool given[ENGINE_SETTINGS];
};

struct engine_cache_kind;
struct engine_room;

/* The value of --cache. A plain value. */
struct engine_choice {
    const struct engine_cache_kind *kind;
    struct engine_values own, scheduler; /* of the cache, and of the engine's scheduler */
};

/* NAME[:KEY=VALUE,...]. 0, or -EINVAL with *e. */
int engine_choice_parse(struct engine_choice *c, const char *text, struct err *e);
/* Whether the text asks for help: NAME:help. */
bool engine_choice_asks(const char *text);
/* Prints the settings of the engine with the values in force. 0 or negative errno with *e. */
int engine_choice_help(FILE *f, const struct engine_choice *c, struct err *e);
const char *engine_choice_name(const struct engine_choice *c);
const char *engine_choice_version(const struct engine_choice *c); /* of the engine */
/* The engine with nothing below its GPU: of LMCache it is vLLM with the same scheduler. */
struct engine_choice engine_choice_alone(const struct engine_choice *c);
/* Whether it is the waterfall: of steps, or kind NULL, that of requests without compute
 * (kvgen/sim). */
bool engine_choice_is_waterfall(const struct engine_choice *c);
/* Whether its files have no bound of the engine's own: a write that finds no room fails. */
bool engine_choice_fills(const struct engine_choice *c);
/* Whether all engines have the same files (shared=yes). */
bool engine_choice_shares(const struct engine_choice *c);
/* Each of the engines that share the files may write a part of them only. */
bool engine_choice_limits_each(const struct engine_choice *c);
/* Whether so many engines with that room can share their files as it says; with_run: with those of
 * another run. 0, or -EINVAL with *e: one alone, no files, more than there is. */
int engine_choice_check_shared(const struct engine_choice *c, const struct engine_room *room,
                               uint32_t engines, bool with_run, struct err *e);
/* Adds name, version and settings as members of the object that is open. */
void engine_choice_put(struct jsonout *j, const struct engine_choice *c);

/* The room of an engine, and whom it serves first. Bytes are of one rank. */
struct engine_room {
    uint64_t capacity[TRACE_TIERS]; /* 0: no such tier; UINT64_MAX: no limit */
    uint64_t device_bytes;          /* memory of a GPU; 0: not known */
    bool a100;                      /* whose engine has smaller steps */
    bool clean; /* a cleaner makes room in files, where engine_choice_fills and they have a limit */
    uint64_t ranks; /* that the host keeps copies of */
    /* For waterfall alone: what leaves a tier, whether a hit moves up, and the share of host memory
     * that is filled where storage is below it. */
    enum policy_number eviction;
    bool promotes;
    double target_usage_ratio;
    enum scheduler_policy policy;
    uint64_t milli_tokens; /* of scheduler_opts */
    /* Gives the bytes of a block in one group of layers, of one rank. */
    int (*block_bytes)(const void *model, uint64_t tokens, uint64_t *bytes);
    const void *model;
    uint32_t groups;              /* of layers; 0 is 1 */
    uint64_t window[VLLM_GROUPS]; /* of each, in tokens; 0: all */
    /* Where engines share files: the cache of one that is open; NULL: this is the first. */
    const struct engine_cache *with;
    struct chain_numbers *numbers; /* for keys, of a cache that takes them; NULL: keys are hashes */
};

/* Whether engine_cache_open takes the room: 0, -ENOMEM, or -EINVAL with *e. */
int engine_choice_check_room(const struct engine_choice *c, const struct engine_room *room,
                             struct err *e);
/* Whether it runs with the tiers of that room: some keep files below host memory only. */
bool engine_choice_takes(const struct engine_choice *c, const struct engine_room *room);

/* An engine's cache, open. ops->free frees it. */
struct engine_cache {
    const struct kv_cache_ops *ops;
    struct kv_cache *cache;
    uint64_t block_tokens, block_bytes, blocks; /* on the GPU */
    uint64_t chunk_tokens, chunk_bytes;         /* of a copy below */
    uint32_t groups;              /* of layers, at least 1: a block or copy is of one of them */
    uint64_t window[VLLM_GROUPS]; /* of each, in tokens; 0: all */
    uint64_t chunks[TRACE_TIERS]; /* that tiers below hold; 0: no such tier, or no limit */
    bool anywhere;                /* what it finds on the GPU need not come first in the prefix */
    bool single, rises;           /* as of copy_rows_opts */
    bool clean;                   /* a cleaner makes room in files */
    /* vLLM's tiers below its GPU, the cache's; NULL: there are none, or they are another engine's
     */
    const struct kv_below *offload;
    uint64_t threads[2];           /* as of transfers_opts, */
    bool in_turn;                  /* and this, too */
    bool by_second;                /* it does something once a second (kv_cache_ops.second) */
    struct chain_numbers *numbers; /* of the keys, which are lent; NULL: keys are hashes */
    struct scheduler_opts scheduler;
};

/* 0, -ENOMEM, or -EINVAL with *e: settings or room that the engine has not. The listener's ctx
 * stays the caller's. */
int engine_cache_open(struct engine_cache *out, const struct engine_choice *c,
                      const struct engine_room *room, const struct kv_listener *l, struct err *e);
/* The scheduler's options alone. */
void engine_cache_scheduler(const struct engine_choice *c, const struct engine_room *room,
                            struct scheduler_opts *out);

#endif
