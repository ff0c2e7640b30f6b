/* sglang.h - the cache of SGLang 0.5.23 (UnifiedRadixCache with HiCache): a radix tree over the
 * device's pages, copies on the host, files below; decision by decision. Pure state: time and bytes
 * are the caller's. One thread at a time.
 *
 * The life of a request: arrive, match and admit, reserve and insert (once or for each chunk of its
 * prompt), decode, finish. Writes to files happen in sglang_poll, which the engine calls once a
 * step. */
#ifndef KVGEN_CACHE_SGLANG_H
#define KVGEN_CACHE_SGLANG_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/cache/page_tree.h"

enum sglang_write {
    SGLANG_WRITE_THROUGH,           /* to the host when first inserted */
    SGLANG_WRITE_THROUGH_SELECTIVE, /* when inserted a second time */
    SGLANG_WRITE_BACK,              /* when the device evicts it */
    SGLANG_WRITES
};
extern const char *const sglang_write_names[SGLANG_WRITES];
extern const char *const sglang_order_names[PAGE_ORDERS];

struct sglang;

struct chain_numbers;
struct sglang_settings {
    uint64_t page_tokens;
    uint64_t device_pages;
    uint64_t host_pages; /* 0: no HiCache */
    enum sglang_write write;
    enum page_order order;         /* lru */
    uint64_t load_back_threshold;  /* tokens; 10 */
    bool files;                    /* a file back end below the host */
    uint64_t files_max_pages;      /* 0: no bound */
    double files_ratio;            /* 0.9 */
    const struct sglang *with;     /* another engine, whose files it has; NULL: its own */
    uint64_t prefetch_threshold;   /* tokens; 256 */
    struct chain_numbers *numbers; /* of the keys of all pages; NULL: these are hashes */
    /* A fetch from files is there with sglang_fetched, a copy on the host with sglang_copied, a
     * file with sglang_written; else at once. */
    bool held;
};

/* Events of a page. In the order of sglang_op_names. */
enum sglang_op {
    SGLANG_DEVICE_STORE,   /* a new node on the device */
    SGLANG_DEVICE_RESTORE, /* computed again: a node of the host is on the device, too */
    SGLANG_DEVICE_DEMOTE,  /* leaves the device; the host has it */
    SGLANG_DEVICE_DROP,    /* leaves the device, and the tree */
    SGLANG_DEVICE_LOAD,    /* from the host */
    SGLANG_HOST_STORE,     /* copied from the device */
    SGLANG_HOST_EVICT,
    SGLANG_HOST_EVICT_COPY, /* leaves the host; the device has it */
    SGLANG_HOST_PREFETCH,   /* from files */
    SGLANG_FILE_STORE,
    SGLANG_FILE_DUP, /* its file is there: used only */
    SGLANG_FILE_LOAD,
    SGLANG_FILE_EVICT,
    SGLANG_FILE_REJECT, /* no file could go for it */
    SGLANG_OPS
};
extern const char *const sglang_op_names[SGLANG_OPS];

/* Called in the order of the operations; must not call the cache. */
typedef void (*sglang_sink)(void *arg, enum sglang_op op, uint64_t page);

/* A request. The caller fills the first part and keeps the keys until finish. */
struct sglang_request {
    const uint64_t *page; /* keys of the full pages of prompt and answer */
    uint64_t prompt;      /* tokens */
    /* Filled by sglang_arrive, sglang_match and sglang_admit; tokens. */
    uint64_t prefetched;           /* from files to the host */
    uint64_t hit_device, hit_host; /* as the match of the admission found */
    uint64_t loaded;               /* of hit_host; the rest is computed again */
    /* The cache's. */
    uint64_t own;      /* pages of the device that the request uses, those of the tree included */
    uint64_t inserted; /* pages that it has inserted, and */
    uint64_t shared;   /* pages that were the tree's before the next insertion */
    uint32_t node;     /* the end of its path, which is locked */
    uint32_t match_end;
    uint32_t fetch_node; /* below which the fetched pages will be, locked */
    uint64_t fetch_from; /* pages before them */
};

struct sglang *sglang_create(const struct sglang_settings *settings, sglang_sink sink,
                             void *arg); /* NULL: no memory */
void sglang_free(struct sglang *c);      /* takes NULL */

/* All that return int: 0, or -ENOMEM, after which only sglang_free may be called; where it says so,
 * -EAGAIN: the device has too few pages that could be evicted. */

/* Before a request waits to be admitted: with files, fetches what follows its match to the host
 * (wait_complete). With held, and where it fetches something (r->prefetched), sglang_fetched comes
 * before its next match. */
int sglang_arrive(struct sglang *c, struct sglang_request *r);
/* The fetch has come to the host. Pages that have come there otherwise are dropped. Returns how
 * many stay, or -ENOMEM. */
int64_t sglang_fetched(struct sglang *c, struct sglang_request *r);
/* How many of the pages that are fetched the host has otherwise by now, from the first on. */
uint64_t sglang_fetched_twice(const struct sglang *c, const struct sglang_request *r);
/* Finds the prompt on the device and on the host. */
int sglang_match(struct sglang *c, struct sglang_request *r);
/* Whether the host's part of the match would be loaded: it is large enough, and the device can make
 * room for it. */
bool sglang_can_load(const struct sglang *c, const struct sglang_request *r);
/* Pages that could be free on the device for a request after its match, with the host's part loaded
 * or not. */
uint64_t sglang_room_after(const struct sglang *c, const struct sglang_request *r, bool load);
/* Holds what the match found, and loads what is on the host only; until sglang_loaded its copies on
 * the host stay. No call comes between the two. */
int sglang_admit(struct sglang *c, struct sglang_request *r);
void sglang_loaded(struct sglang *c); /* all that was loaded so far */
/* Pages that the engine asks for to compute the prompt's tokens from `from` up to `to`. */
uint64_t sglang_demand(const struct sglang *c, uint64_t from, uint64_t to);
/* Takes them. -EAGAIN. */
int sglang_reserve(struct sglang *c, struct sglang_request *r, uint64_t from, uint64_t to);
/* They are computed: insertion of the prompt up to `to`. */
int sglang_insert(struct sglang *c, struct sglang_request *r, uint64_t to);
/* A page for the token at that place of the answer's sequence, if a page begins with it. -EAGAIN.
 */
int sglang_decode(struct sglang *c, struct sglang_request *r, uint64_t token);
/* Inserts the first `tokens` tokens, gives back the rest and lets go of the path. */
int sglang_finish(struct sglang *c, struct sglang_request *r, uint64_t tokens);
/* The request gives up its pages after admission without an insertion of the rest. */
void sglang_abort(struct sglang *c, struct sglang_request *r);
/* Copies to the host are acknowledged: their pages go to files. */
int sglang_poll(struct sglang *c);

/* With held: called when the copy of a node's pages to the host begins, after they were told.
 * in_step: the device gives its pages up at once. */
typedef void (*sglang_copy_sink)(void *arg, uint32_t node, bool in_step);
void sglang_on_copy(struct sglang *c, sglang_copy_sink copy);
/* With held. A node by its number and when it was made, since it may have left meanwhile. _pages
 * are lent. */
uint64_t sglang_made(const struct sglang *c, uint32_t node);
bool sglang_is(const struct sglang *c, uint32_t node, uint64_t made);
const uint64_t *sglang_pages(const struct sglang *c, uint32_t node, uint64_t *count);
/* A copy of a node that is: it is on the host, and goes to files with the next sglang_poll.
 * in_step: as it was told. */
void sglang_copied(struct sglang *c, uint32_t node, const uint64_t *page, uint64_t pages,
                   bool in_step);
/* From its begin to this the host keeps a node's copy (not one in step without files): its pages
 * are in files, or none is to be. */
void sglang_written(struct sglang *c, uint32_t node, uint64_t pages);
/* Somebody else has written a file of the page. false: it was there, or there is no room. */
bool sglang_file_written(struct sglang *c, uint64_t page);
void sglang_file_there(struct sglang *c, uint64_t page); /* its file can be found now */

/* Pages that are free or could be evicted. */
uint64_t sglang_room(const struct sglang *c);
uint64_t sglang_device_free(const struct sglang *c); /* pages */
uint64_t sglang_host_free(const struct sglang *c);
uint64_t sglang_files(const struct sglang *c); /* pages that have a file */

#endif
