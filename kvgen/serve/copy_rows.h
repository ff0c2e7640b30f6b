/* copy_rows.h - what an engine's cache says (kvgen/cache/cache.h) as rows of a trace, or only the
 * count of them: each copy is a tier and a key. A store and a load are two rows, a Read of the copy
 * that is there and a Write of the new one; what the GPU computes is a Write, what is dropped a
 * Delete. A second copy under one key on the GPU has no row. */
#ifndef KVGEN_SERVE_COPY_ROWS_H
#define KVGEN_SERVE_COPY_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/cache/cache.h"
#include "kvgen/cache/chain_numbers.h"
#include "kvgen/cache/vllm.h"
#include "kvgen/serve/held_rows.h"
#include "kvgen/serve/prompts.h"
#include "kvgen/sim/row_counts.h"
#include "lib/trace/trace.h"

struct copy_rows;

struct copy_rows_opts {
    uint64_t block_tokens, block_bytes; /* of a block on the GPU; bytes of one rank */
    uint64_t chunk_tokens, chunk_bytes; /* of a copy below; a multiple of a block */
    uint32_t groups;                    /* of layers, at least 1 */
    uint64_t window[VLLM_GROUPS];       /* of each, in tokens; 0: all */
    bool anywhere; /* what a look-up finds on the GPU need not come first in the prefix */
    /* There is one copy of a block, which moves: down with a store, ... */
    bool single;
    bool rises;      /* ... and up with a load; else a load brings the request a block of its own */
    uint32_t engine; /* of several, whose rows these are; from 0 */
    bool shared;     /* the copies in Tier-2 are those of several engines */
    struct copy_rows *with;        /* of one of them; NULL: it is the first */
    struct chain_numbers *numbers; /* of the keys, which are lent; NULL: keys are hashes */
};

/* Counts of the copies in one tier. Bytes are of one rank. */
struct copy_rows_tier {
    uint64_t stored, loaded, dropped, refused; /* came from above, went up, left, found no room */
    uint64_t promoted;                         /* came up from below */
    uint64_t wasted;                           /* of those, dropped before they were loaded */
    uint64_t known;                            /* offered, and there already or not wanted */
    uint64_t never_read; /* of those stored and dropped: left without a load or promotion */
    /* The same of those that are there now. Of a shared tier only the sum of all engines counts:
     * each may read what another stored. */
    uint64_t unread;
    uint64_t stored_bytes, loaded_bytes, never_read_bytes;
};
struct copy_rows_stats {
    struct copy_rows_tier tier[TRACE_TIERS];        /* of the GPU: only loaded, dropped */
    uint64_t computed;                              /* blocks that the GPU filled */
    uint64_t duplicate_bytes, duplicate_peak_bytes; /* of second copies on the GPU; now */
    /* Tokens of prompts at the first admission of each request, by where they came from. */
    uint64_t found_tokens[TRACE_TIERS], computed_tokens;
    uint64_t again_tokens; /* found at later admissions, after a preemption */
    uint64_t unbacked;     /* stores of a block that has no copy with a row */
    uint64_t left_out;     /* blocks without which their copies were stored (KV_LEFT_OUT) */
};

/* A request as this file needs it. */
struct copy_rows_request {
    struct held_request *row;
    const struct prompt *prompt;
    /* The keys of the whole blocks of the chain, group by group. With numbers: the hash of each,
     * until the request is the engine's, and then its number. */
    uint64_t *key;
    const uint8_t *class;  /* why a block is there: enum trace_class */
    uint64_t blocks;       /* of one group; there are groups times as many keys */
    uint64_t cursor;       /* key that was told last, for the next look */
    uint64_t gpu_tokens;   /* found on the GPU by the last look-up */
    uint32_t number;       /* of the kv_request */
    uint64_t found_tokens; /* all that it found, in all tiers */
    bool told_storage;     /* the look-up said what lies in files */
    bool looked_up;        /* its look-up has rows */
    bool admitted;         /* at least once */
    bool decodes;          /* its Generate row of the decode has begun: that is its last row */
};

/* Where the rows go. All of it stays the caller's. */
struct copy_rows_out {
    struct held_rows *rows;    /* NULL: they are counted, and that is all */
    struct row_counts *counts; /* without rows; else whoever rows hands them to counts them */
    const int64_t *now_ns;     /* the present */
};

/* request_of finds the request that the cache names (NULL stays NULL). NULL: no memory. */
struct copy_rows *copy_rows_create(
    const struct copy_rows_opts *o, const struct copy_rows_out *out,
    struct copy_rows_request *(*request_of)(const struct kv_request *r));
void copy_rows_free(struct copy_rows *c); /* takes NULL */

/* The request is about to be admitted with what its look-up found: rows of the look-up. */
void copy_rows_looked_up(struct copy_rows *c, struct copy_rows_request *q,
                         const struct kv_found *found);
/* It was admitted: origins are counted. found is that of its look-up. */
void copy_rows_admitted(struct copy_rows *c, struct copy_rows_request *q,
                        const struct kv_found *found);
/* Events that the listener of the cache hears. */
void copy_rows_event(struct copy_rows *c, const struct kv_event *e);
void copy_rows_transfer(struct copy_rows *c, const struct kv_transfer *t);
/* Somebody else wrote that file, in Tier-2. */
void copy_rows_file_written(struct copy_rows *c, const struct kv_file *f);

bool copy_rows_failed(const struct copy_rows *c);                         /* no memory */
const struct copy_rows_stats *copy_rows_stats(const struct copy_rows *c); /* lent */
/* Adds the counts of one to another; peaks are added, too, which is the most that they can be. */
void copy_rows_stats_add(struct copy_rows_stats *to, const struct copy_rows_stats *from);
/* Tokens at the begin of the prompt that have copies, in whatever tier. */
uint64_t copy_rows_prefix(const struct copy_rows *c, const struct copy_rows_request *q);

#endif
