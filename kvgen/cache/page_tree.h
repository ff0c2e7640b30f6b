/* page_tree.h - the radix tree of SGLang's cache: nodes with runs of pages, each on the device, on
 * the host or on both, and the leaves of each in the order of their eviction. A page is known by a
 * key that stands for the whole prefix up to its end. What to copy and evict is left to sglang.c.
 * One thread at a time. */
#ifndef KVGEN_CACHE_PAGE_TREE_H
#define KVGEN_CACHE_PAGE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#define PAGE_NODE_NONE UINT32_MAX
#define PAGE_NODE_ROOT 0 /* it has no pages, and counts as on the device */

/* Which leaf goes first. */
enum page_order {
    PAGE_LRU,  /* least recently used */
    PAGE_LFU,  /* least often inserted; of those, LRU */
    PAGE_SLRU, /* inserted once; of those, LRU */
    PAGE_FIFO, /* oldest node */
    PAGE_MRU,  /* most recently used */
    PAGE_FILO, /* newest node */
    PAGE_ORDERS
};

/* The leaves that could be evicted. */
enum page_leaf {
    PAGE_DEVICE_LEAF, /* on the device, no child there, not locked */
    PAGE_HOST_LEAF,   /* on the host only, no child, not locked */
    PAGE_LEAVES       /* no leaf */
};

/* Change only what says so, the rest by functions. */
struct page_node {
    uint64_t *page;      /* keys */
    uint64_t used, made; /* clock */
    uint32_t pages;
    uint32_t parent;
    uint32_t first_child, last_child, prev, next; /* in the order of their coming */
    uint32_t children, device_children;
    uint32_t locks, hits;          /* hits: insertions over it that counted; page_tree_hit */
    uint32_t writes;               /* of its host copy to files */
    uint32_t leaf_at;              /* place in the heap of its leaves */
    uint32_t copy_prev, copy_next; /* in the list of copies */
    uint8_t leaf;                  /* enum page_leaf */
    bool device, host;
    bool listed;  /* in the list of copies */
    bool loading; /* the caller's */
};

struct page_tree;
struct chain_numbers;

/* numbers: those of the keys, which it holds while a node has them; NULL: keys are hashes. NULL: no
 * memory. */
struct page_tree *page_tree_create(enum page_order order, struct chain_numbers *numbers);
void page_tree_free(struct page_tree *t); /* takes NULL */
/* A node stays in place until the next one is added or split. */
struct page_node *page_tree_at(const struct page_tree *t, uint32_t node);
bool page_tree_failed(const struct page_tree *t); /* memory ran out: only free it */

/* The child of a node that begins with that page; PAGE_NODE_NONE: none. */
uint32_t page_tree_child(const struct page_tree *t, uint32_t node, uint64_t page);
/* How many pages of the node's begin are those of a list. */
uint32_t page_tree_common(const struct page_tree *t, uint32_t node, const uint64_t *page,
                          uint64_t pages);
/* Adds a child with pages, on no tier yet, used now. PAGE_NODE_NONE: no memory. */
uint32_t page_tree_add(struct page_tree *t, uint32_t parent, const uint64_t *page, uint64_t pages);
/* Cuts a node after `pages` of its pages: a new node takes those, the old one keeps the rest, its
 * number and its place among the copies, and is used now. Returns the new node, which is as the old
 * one is, but not among the copies; PAGE_NODE_NONE: no memory. */
uint32_t page_tree_split(struct page_tree *t, uint32_t node, uint32_t pages);
void page_tree_remove(struct page_tree *t, uint32_t node); /* it has no children */

void page_tree_use(struct page_tree *t, uint32_t node); /* used now */
/* The path from the root to a node is used now, the deepest node as the newest of them. */
void page_tree_use_path(struct page_tree *t, uint32_t node);
void page_tree_hit(struct page_tree *t, uint32_t node);
void page_tree_set_device(struct page_tree *t, uint32_t node, bool device);
void page_tree_set_host(struct page_tree *t, uint32_t node, bool host);
/* Counts on all nodes from this one to the root. */
void page_tree_lock(struct page_tree *t, uint32_t node);
void page_tree_unlock(struct page_tree *t, uint32_t node);

/* The host copy of the last `pages` pages of the path to a node is being written to files, or was:
 * until then it is no leaf of the host. */
void page_tree_begin_write(struct page_tree *t, uint32_t node, uint64_t pages);
void page_tree_end_write(struct page_tree *t, uint32_t node, uint64_t pages);

/* Pages of the device that no lock holds. */
uint64_t page_tree_unlocked(const struct page_tree *t);
/* The ones of them on the path to a node. */
uint64_t page_tree_unlocked_path(const struct page_tree *t, uint32_t node);

/* The leaf that goes next; PAGE_NODE_NONE: none. */
uint32_t page_tree_victim(const struct page_tree *t, enum page_leaf leaf);

/* The list of copies: nodes by when they were first listed. _list: at its end, unless it is in it.
 * It may be walked from page_tree_copies on by copy_next. */
void page_tree_list(struct page_tree *t, uint32_t node);
void page_tree_unlist(struct page_tree *t, uint32_t node);
uint32_t page_tree_copies(const struct page_tree *t);

uint64_t page_tree_memory(const struct page_tree *t); /* bytes */

#endif
