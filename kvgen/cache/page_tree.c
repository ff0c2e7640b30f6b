/* The radix tree of SGLang's cache. Children are found by their first page in one table for all
 * nodes, since a page's key stands for its whole prefix. Leaves lie in two heaps, and each change
 * of a node puts it where it belongs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/cache/chain_numbers.h"
#include "kvgen/cache/id_table.h"
#include "kvgen/cache/page_tree.h"
#include "lib/base/memory.h"

enum {
    FIRST_NODES = 64,
    DEPTH_BITS = 20 /* of the clock: nodes of one path that are told apart */
};

struct heap {
    uint32_t *node;
    uint32_t count, cap;
};

struct page_tree {
    enum page_order order;
    struct chain_numbers *numbers; /* of the keys; NULL: these are hashes */
    struct page_node *node;
    uint32_t nodes, cap, free; /* free: chain through .next */
    struct id_table first;     /* first pages; their nodes: */
    uint32_t *node_of;         /* by number of `first` */
    uint32_t node_of_cap;
    struct heap leaf[PAGE_LEAVES];
    uint32_t copies_first, copies_last;
    uint64_t clock, page_bytes;
    uint64_t unlocked; /* pages of the device */
    bool failed;
};

static uint64_t now(struct page_tree *t)
{
    t->clock += UINT64_C(1) << DEPTH_BITS;
    return t->clock;
}

static int grow(struct page_tree *t)
{
    uint32_t *node_of =
        id_table_reserve_item(&t->first, t->node_of, &t->node_of_cap, sizeof(*node_of));
    if (!node_of)
        return -ENOMEM;
    t->node_of = node_of;
    if (t->nodes < t->cap || t->free != PAGE_NODE_NONE)
        return 0;
    uint32_t cap = t->cap > 0 ? t->cap + t->cap / 4 : FIRST_NODES;
    if (memory_resize(&t->node, cap, sizeof(*t->node)) < 0)
        return -ENOMEM;
    for (int l = 0; l < PAGE_LEAVES; l++) {
        if (memory_resize(&t->leaf[l].node, cap, sizeof(*t->leaf[l].node)) < 0)
            return -ENOMEM;
        t->leaf[l].cap = cap;
    }
    t->cap = cap;
    return 0;
}

/* A node with room for that many keys, in no family. PAGE_NODE_NONE: no memory. */
static uint32_t new_node(struct page_tree *t, uint64_t pages)
{
    uint64_t *page = malloc((pages > 0 ? pages : 1) * sizeof(*page));
    if (!page || grow(t) < 0) {
        free(page);
        t->failed = true;
        return PAGE_NODE_NONE;
    }
    uint32_t n = t->free;
    if (n != PAGE_NODE_NONE)
        t->free = t->node[n].next;
    else
        n = t->nodes++;
    t->page_bytes += pages * sizeof(*page);
    t->node[n] = (struct page_node){.page = page,
                                    .pages = (uint32_t)pages,
                                    .parent = PAGE_NODE_NONE,
                                    .first_child = PAGE_NODE_NONE,
                                    .last_child = PAGE_NODE_NONE,
                                    .prev = PAGE_NODE_NONE,
                                    .next = PAGE_NODE_NONE,
                                    .leaf = PAGE_LEAVES};
    t->node[n].used = t->node[n].made = now(t);
    return n;
}

struct page_tree *page_tree_create(enum page_order order, struct chain_numbers *numbers)
{
    struct page_tree *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->order = order;
    t->numbers = numbers;
    t->free = t->copies_first = t->copies_last = PAGE_NODE_NONE;
    if (chain_numbers_join(numbers, &t->first) || new_node(t, 0) == PAGE_NODE_NONE) {
        page_tree_free(t);
        return NULL;
    }
    t->node[PAGE_NODE_ROOT].device = true;
    return t;
}

void page_tree_free(struct page_tree *t)
{
    if (!t)
        return;
    for (uint32_t n = 0; n < t->nodes; n++) {
        if (t->numbers)
            chain_numbers_release(t->numbers, t->node[n].page, t->node[n].pages);
        free(t->node[n].page);
    }
    free(t->node);
    id_table_free(&t->first);
    free(t->node_of);
    for (int l = 0; l < PAGE_LEAVES; l++)
        free(t->leaf[l].node);
    free(t);
}

struct page_node *page_tree_at(const struct page_tree *t, uint32_t node)
{
    return &t->node[node];
}

bool page_tree_failed(const struct page_tree *t)
{
    return t->failed;
}

/* ---- leaves ---- */

static bool goes_before(const struct page_tree *t, uint32_t x, uint32_t y)
{
    const struct page_node *a = &t->node[x], *b = &t->node[y];
    switch (t->order) {
    case PAGE_LFU:
        if (a->hits != b->hits)
            return a->hits < b->hits;
        break;
    case PAGE_SLRU:
        if ((a->hits >= 2) != (b->hits >= 2))
            return a->hits < 2;
        break;
    case PAGE_FIFO:
        return a->made < b->made;
    case PAGE_MRU:
        return a->used > b->used;
    case PAGE_FILO:
        return a->made > b->made;
    case PAGE_LRU:
    case PAGE_ORDERS:
        break;
    }
    return a->used < b->used;
}

static void put(struct page_tree *t, struct heap *h, uint32_t at, uint32_t n)
{
    h->node[at] = n;
    t->node[n].leaf_at = at;
}

static void sift(struct page_tree *t, struct heap *h, uint32_t at, uint32_t n)
{
    while (at > 0 && goes_before(t, n, h->node[(at - 1) / 2])) {
        put(t, h, at, h->node[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (uint32_t child; (child = 2 * at + 1) < h->count; at = child) {
        if (child + 1 < h->count && goes_before(t, h->node[child + 1], h->node[child]))
            child++;
        if (!goes_before(t, h->node[child], n))
            break;
        put(t, h, at, h->node[child]);
    }
    put(t, h, at, n);
}

static enum page_leaf leaf_of(const struct page_node *n)
{
    if (n->locks > 0 || n->pages == 0)
        return PAGE_LEAVES;
    if (n->device)
        return n->device_children == 0 ? PAGE_DEVICE_LEAF : PAGE_LEAVES;
    return n->host && n->children == 0 && n->writes == 0 ? PAGE_HOST_LEAF : PAGE_LEAVES;
}

static void leave_heap(struct page_tree *t, uint32_t n)
{
    struct page_node *node = &t->node[n];
    if (node->leaf == PAGE_LEAVES)
        return;
    struct heap *h = &t->leaf[node->leaf];
    uint32_t last = h->node[--h->count];
    if (last != n)
        sift(t, h, node->leaf_at, last);
    node->leaf = PAGE_LEAVES;
}

/* After a change of the node: it goes to the heap and the place where it belongs now. */
static void refresh(struct page_tree *t, uint32_t n)
{
    struct page_node *node = &t->node[n];
    enum page_leaf leaf = leaf_of(node);
    if (leaf != node->leaf) {
        leave_heap(t, n);
        if (leaf != PAGE_LEAVES) {
            struct heap *h = &t->leaf[leaf];
            node->leaf = (uint8_t)leaf;
            sift(t, h, h->count++, n);
        }
    } else if (leaf != PAGE_LEAVES)
        sift(t, &t->leaf[leaf], node->leaf_at, n);
}

uint32_t page_tree_victim(const struct page_tree *t, enum page_leaf leaf)
{
    return t->leaf[leaf].count > 0 ? t->leaf[leaf].node[0] : PAGE_NODE_NONE;
}

/* ---- the family ---- */

uint32_t page_tree_child(const struct page_tree *t, uint32_t node, uint64_t page)
{
    uint32_t number = id_table_find(&t->first, page);
    if (number == ID_NONE || t->node[t->node_of[number]].parent != node)
        return PAGE_NODE_NONE;
    return t->node_of[number];
}

uint32_t page_tree_common(const struct page_tree *t, uint32_t node, const uint64_t *page,
                          uint64_t pages)
{
    const struct page_node *n = &t->node[node];
    uint32_t i = 0;
    while (i < n->pages && i < pages && n->page[i] == page[i])
        i++;
    return i;
}

static void set_first(struct page_tree *t, uint32_t n)
{
    uint32_t number = id_table_find(&t->first, t->node[n].page[0]);
    if (number == ID_NONE)
        number = id_table_add(&t->first, t->node[n].page[0]);
    t->node_of[number] = n;
}

uint32_t page_tree_add(struct page_tree *t, uint32_t parent, const uint64_t *page, uint64_t pages)
{
    uint32_t n = new_node(t, pages);
    if (n == PAGE_NODE_NONE)
        return n;
    struct page_node *node = &t->node[n], *p = &t->node[parent];
    memcpy(node->page, page, pages * sizeof(*page));
    if (t->numbers)
        chain_numbers_hold(t->numbers, page, pages);
    node->parent = parent;
    node->prev = p->last_child;
    if (p->last_child == PAGE_NODE_NONE)
        p->first_child = n;
    else
        t->node[p->last_child].next = n;
    p->last_child = n;
    p->children++;
    set_first(t, n);
    refresh(t, parent);
    return n;
}

uint32_t page_tree_split(struct page_tree *t, uint32_t node, uint32_t pages)
{
    uint32_t a = new_node(t, pages);
    if (a == PAGE_NODE_NONE)
        return a;
    struct page_node *new = &t->node[a], *old = &t->node[node];
    memcpy(new->page, old->page, pages * sizeof(*new->page));
    old->pages -= pages;
    t->page_bytes -= pages * sizeof(*new->page);
    memmove(old->page, old->page + pages, old->pages * sizeof(*old->page));
    uint64_t *less = realloc(old->page, old->pages * sizeof(*less));
    if (less)
        old->page = less;
    new->parent = old->parent;
    new->prev = old->prev;
    new->next = old->next;
    *(new->prev == PAGE_NODE_NONE ? &t->node[new->parent].first_child : &t->node[new->prev].next) =
        a;
    *(new->next == PAGE_NODE_NONE ? &t->node[new->parent].last_child : &t->node[new->next].prev) =
        a;
    new->first_child = new->last_child = node;
    new->children = 1;
    new->device_children = old->device ? 1 : 0;
    new->device = old->device;
    new->host = old->host;
    new->hits = old->hits;
    new->locks = old->locks;
    new->writes = old->writes;
    old->parent = a;
    old->prev = old->next = PAGE_NODE_NONE;
    set_first(t, a);
    set_first(t, node);
    page_tree_use(t, node);
    return a;
}

void page_tree_remove(struct page_tree *t, uint32_t node)
{
    struct page_node *n = &t->node[node], *p = &t->node[n->parent];
    *(n->prev == PAGE_NODE_NONE ? &p->first_child : &t->node[n->prev].next) = n->next;
    *(n->next == PAGE_NODE_NONE ? &p->last_child : &t->node[n->next].prev) = n->prev;
    p->children--;
    p->device_children -= n->device ? 1 : 0;
    t->unlocked -= n->device && n->locks == 0 ? n->pages : 0;
    leave_heap(t, node);
    refresh(t, n->parent);
    page_tree_unlist(t, node);
    id_table_remove(&t->first, id_table_find(&t->first, n->page[0]));
    t->page_bytes -= n->pages * sizeof(*n->page);
    if (t->numbers)
        chain_numbers_release(t->numbers, n->page, n->pages);
    free(n->page);
    *n = (struct page_node){.next = t->free, .leaf = PAGE_LEAVES};
    t->free = node;
}

/* ---- state of a node ---- */

void page_tree_use(struct page_tree *t, uint32_t node)
{
    t->node[node].used = now(t);
    refresh(t, node);
}

void page_tree_use_path(struct page_tree *t, uint32_t node)
{
    uint64_t used = now(t), last = used - (UINT64_C(1) << DEPTH_BITS) + 1;
    for (uint32_t n = node; n != PAGE_NODE_NONE; n = t->node[n].parent) {
        t->node[n].used = used;
        used -= used > last ? 1 : 0;
        refresh(t, n);
    }
}

void page_tree_hit(struct page_tree *t, uint32_t node)
{
    t->node[node].hits++;
    refresh(t, node);
}

void page_tree_set_device(struct page_tree *t, uint32_t node, bool device)
{
    struct page_node *n = &t->node[node];
    if (n->device == device)
        return;
    n->device = device;
    if (n->locks == 0)
        t->unlocked = device ? t->unlocked + n->pages : t->unlocked - n->pages;
    t->node[n->parent].device_children += device ? 1 : UINT32_MAX;
    refresh(t, node);
    refresh(t, n->parent);
}

void page_tree_set_host(struct page_tree *t, uint32_t node, bool host)
{
    t->node[node].host = host;
    refresh(t, node);
}

void page_tree_lock(struct page_tree *t, uint32_t node)
{
    for (; node != PAGE_NODE_ROOT; node = t->node[node].parent) {
        if (t->node[node].locks++ > 0)
            continue;
        t->unlocked -= t->node[node].device ? t->node[node].pages : 0;
        refresh(t, node);
    }
}

void page_tree_unlock(struct page_tree *t, uint32_t node)
{
    for (; node != PAGE_NODE_ROOT; node = t->node[node].parent) {
        if (--t->node[node].locks > 0)
            continue;
        t->unlocked += t->node[node].device ? t->node[node].pages : 0;
        refresh(t, node);
    }
}

uint64_t page_tree_unlocked(const struct page_tree *t)
{
    return t->unlocked;
}

uint64_t page_tree_unlocked_path(const struct page_tree *t, uint32_t node)
{
    uint64_t pages = 0;
    for (; node != PAGE_NODE_ROOT; node = t->node[node].parent)
        pages += t->node[node].device && t->node[node].locks == 0 ? t->node[node].pages : 0;
    return pages;
}

/* A node may have been split since its write began: its pages are those of several now. */
void page_tree_begin_write(struct page_tree *t, uint32_t node, uint64_t pages)
{
    for (; pages > 0; pages -= t->node[node].pages, node = t->node[node].parent)
        if (t->node[node].writes++ == 0)
            refresh(t, node);
}

void page_tree_end_write(struct page_tree *t, uint32_t node, uint64_t pages)
{
    for (; pages > 0; pages -= t->node[node].pages, node = t->node[node].parent)
        if (--t->node[node].writes == 0)
            refresh(t, node);
}

void page_tree_list(struct page_tree *t, uint32_t node)
{
    struct page_node *n = &t->node[node];
    if (n->listed)
        return;
    n->listed = true;
    n->copy_prev = t->copies_last;
    n->copy_next = PAGE_NODE_NONE;
    *(t->copies_last == PAGE_NODE_NONE ? &t->copies_first : &t->node[t->copies_last].copy_next) =
        node;
    t->copies_last = node;
}

void page_tree_unlist(struct page_tree *t, uint32_t node)
{
    struct page_node *n = &t->node[node];
    if (!n->listed)
        return;
    n->listed = false;
    *(n->copy_prev == PAGE_NODE_NONE ? &t->copies_first : &t->node[n->copy_prev].copy_next) =
        n->copy_next;
    *(n->copy_next == PAGE_NODE_NONE ? &t->copies_last : &t->node[n->copy_next].copy_prev) =
        n->copy_prev;
}

uint32_t page_tree_copies(const struct page_tree *t)
{
    return t->copies_first;
}

uint64_t page_tree_memory(const struct page_tree *t)
{
    uint64_t heaps = 0;
    for (int l = 0; l < PAGE_LEAVES; l++)
        heaps += t->leaf[l].cap * sizeof(*t->leaf[l].node);
    return t->cap * sizeof(*t->node) + t->page_bytes + id_table_memory(&t->first) +
           t->node_of_cap * sizeof(*t->node_of) + heaps;
}
