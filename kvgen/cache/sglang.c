/* SGLang 0.5.23: what a request's match, insertions and end do to the device, the host and files.
 * The unit of copies and evictions is a node of the tree. When requests run is left to the
 * scheduler, how long copies take to the tiers. */
#include <errno.h>
#include <stdlib.h>

#include "kvgen/cache/page_files.h"
#include "kvgen/cache/sglang.h"
#include "lib/base/memory.h"

const char *const sglang_write_names[SGLANG_WRITES] = {
    [SGLANG_WRITE_THROUGH] = "write_through",
    [SGLANG_WRITE_THROUGH_SELECTIVE] = "write_through_selective",
    [SGLANG_WRITE_BACK] = "write_back",
};
const char *const sglang_order_names[PAGE_ORDERS] = {
    [PAGE_LRU] = "lru",   [PAGE_LFU] = "lfu", [PAGE_SLRU] = "slru",
    [PAGE_FIFO] = "fifo", [PAGE_MRU] = "mru", [PAGE_FILO] = "filo",
};
const char *const sglang_op_names[SGLANG_OPS] = {
    [SGLANG_DEVICE_STORE] = "dev.store",
    [SGLANG_DEVICE_RESTORE] = "dev.restore",
    [SGLANG_DEVICE_DEMOTE] = "dev.demote",
    [SGLANG_DEVICE_DROP] = "dev.drop",
    [SGLANG_DEVICE_LOAD] = "dev.load",
    [SGLANG_HOST_STORE] = "host.store",
    [SGLANG_HOST_EVICT] = "host.evict",
    [SGLANG_HOST_EVICT_COPY] = "host.evictdup",
    [SGLANG_HOST_PREFETCH] = "host.prefetch",
    [SGLANG_FILE_STORE] = "l3.store",
    [SGLANG_FILE_DUP] = "l3.dup",
    [SGLANG_FILE_LOAD] = "l3.load",
    [SGLANG_FILE_EVICT] = "l3.evict",
};

/* Numbers in a growing list. */
struct numbers {
    uint64_t *at;
    size_t count, cap;
};

struct sglang {
    struct sglang_settings s;
    sglang_sink sink;
    void *arg;
    struct page_tree *tree;
    struct page_files *files;        /* NULL: none */
    uint64_t device_free, host_free; /* pages */
    struct numbers copied;           /* pages that were copied to the host, for files */
    struct numbers loaded;           /* nodes whose loading is not acknowledged */
    struct numbers work;             /* nodes of a walk */
    bool failed;                     /* no memory */
};

struct sglang *sglang_create(const struct sglang_settings *settings, sglang_sink sink, void *arg)
{
    struct sglang *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    *c = (struct sglang){.s = *settings,
                         .sink = sink,
                         .arg = arg,
                         .tree = page_tree_create(settings->order),
                         .device_free = settings->device_pages,
                         .host_free = settings->host_pages};
    if (settings->files)
        c->files = page_files_create(settings->files_max_pages, settings->files_ratio);
    if (c->tree && (c->files || !settings->files))
        return c;
    sglang_free(c);
    return NULL;
}

void sglang_free(struct sglang *c)
{
    if (!c)
        return;
    page_tree_free(c->tree);
    page_files_free(c->files);
    free(c->copied.at);
    free(c->loaded.at);
    free(c->work.at);
    free(c);
}

uint64_t sglang_device_free(const struct sglang *c)
{
    return c->device_free;
}

uint64_t sglang_host_free(const struct sglang *c)
{
    return c->host_free;
}

uint64_t sglang_files(const struct sglang *c)
{
    return c->files ? page_files_count(c->files) : 0;
}

uint64_t sglang_memory(const struct sglang *c)
{
    return page_tree_memory(c->tree) + (c->files ? page_files_memory(c->files) : 0) +
           (c->copied.cap + c->loaded.cap + c->work.cap) * sizeof(uint64_t);
}

static int result(const struct sglang *c)
{
    return c->failed || page_tree_failed(c->tree) ? -ENOMEM : 0;
}

static struct page_node *at(const struct sglang *c, uint32_t node)
{
    return page_tree_at(c->tree, node);
}

static void push(struct sglang *c, struct numbers *l, uint64_t number)
{
    uint64_t *grown = memory_grow(l->at, &l->cap, l->count, sizeof(*l->at), 256);
    if (!grown) {
        c->failed = true;
        return;
    }
    l->at = grown;
    l->at[l->count++] = number;
}

static void tell(const struct sglang *c, enum sglang_op op, uint32_t node)
{
    const struct page_node *n = at(c, node);
    for (uint32_t i = 0; i < n->pages; i++)
        c->sink(c->arg, op, n->page[i]);
}

static bool writes_back(const struct sglang *c)
{
    return c->s.host_pages > 0 && c->s.write == SGLANG_WRITE_BACK;
}

/* ---- evictions ---- */

/* A node that is on neither device nor host any more leaves the tree. */
static void forget(struct sglang *c, uint32_t node)
{
    page_tree_remove(c->tree, node);
}

/* Reclaims host copies of what the device has, in the order of their first listing, until `need`
 * pages came free. Spared: the device's leaves, which the host is about to be asked to keep. */
static uint64_t reclaim(struct sglang *c, uint64_t need, uint64_t got, bool spare_leaves)
{
    for (uint32_t n = page_tree_copies(c->tree), next; n != PAGE_NODE_NONE && got < need;
         n = next) {
        const struct page_node *node = at(c, n);
        next = node->copy_next;
        if (node->device && node->host) {
            if ((spare_leaves && node->leaf == PAGE_DEVICE_LEAF) || node->loading)
                continue;
            tell(c, SGLANG_HOST_EVICT_COPY, n);
            c->host_free += node->pages;
            got += node->pages;
            page_tree_set_host(c->tree, n, false);
        }
        page_tree_unlist(c->tree, n);
    }
    return got;
}

/* Frees `need` pages of the host, whole nodes at a time. Returns how many came free. */
static uint64_t evict_host(struct sglang *c, uint64_t need)
{
    uint64_t got = 0;
    if (writes_back(c)) {
        got = reclaim(c, need, got, true);
        got = reclaim(c, need, got, false);
    }
    while (got < need) {
        uint32_t n = page_tree_victim(c->tree, PAGE_HOST_LEAF);
        if (n == PAGE_NODE_NONE)
            break;
        tell(c, SGLANG_HOST_EVICT, n);
        c->host_free += at(c, n)->pages;
        got += at(c, n)->pages;
        forget(c, n);
    }
    return got;
}

/* Copies a node to the host. false: there is no room. */
static bool back_up(struct sglang *c, uint32_t node)
{
    uint32_t pages = at(c, node)->pages;
    if (c->host_free < pages) {
        uint64_t lacks = pages - c->host_free;
        if (evict_host(c, lacks) < lacks)
            return false;
    }
    c->host_free -= pages;
    page_tree_set_host(c->tree, node, true);
    tell(c, SGLANG_HOST_STORE, node);
    page_tree_list(c->tree, node);
    for (uint32_t i = 0; c->files && i < pages; i++)
        push(c, &c->copied, at(c, node)->page[i]);
    return true;
}

/* All below a node leaves host and tree. */
static void drop_below(struct sglang *c, uint32_t node)
{
    struct numbers stack = {0};
    c->work.count = 0;
    push(c, &stack, node);
    while (stack.count > 0) {
        uint32_t n = (uint32_t)stack.at[--stack.count];
        push(c, &c->work, n);
        for (uint32_t k = at(c, n)->first_child; k != PAGE_NODE_NONE; k = at(c, k)->next)
            push(c, &stack, k);
    }
    free(stack.at);
    for (uint64_t i = c->work.count; i-- > 1;) {
        uint32_t n = (uint32_t)c->work.at[i];
        tell(c, SGLANG_HOST_EVICT, n);
        c->host_free += at(c, n)->pages;
        forget(c, n);
    }
}

/* Evicts leaves of the device until `need` pages are free, or no leaf is left. */
static void evict_device(struct sglang *c, uint64_t need)
{
    while (c->device_free < need) {
        uint32_t n = page_tree_victim(c->tree, PAGE_DEVICE_LEAF);
        if (n == PAGE_NODE_NONE)
            return;
        if (!at(c, n)->host && writes_back(c) && !back_up(c, n))
            drop_below(c, n);
        c->device_free += at(c, n)->pages;
        tell(c, at(c, n)->host ? SGLANG_DEVICE_DEMOTE : SGLANG_DEVICE_DROP, n);
        if (at(c, n)->host)
            page_tree_set_device(c->tree, n, false);
        else
            forget(c, n);
    }
}

/* ---- match and insertion ---- */

/* The end of the longest path of whole nodes for these pages, after a split where it ends within
 * one. *pages: how long it is. */
static uint32_t match(struct sglang *c, const uint64_t *page, uint64_t pages, uint64_t *length)
{
    uint32_t node = PAGE_NODE_ROOT;
    uint64_t done = 0;
    while (done < pages) {
        uint32_t child = page_tree_child(c->tree, node, page[done]);
        if (child == PAGE_NODE_NONE)
            break;
        uint32_t common = page_tree_common(c->tree, child, page + done, pages - done);
        bool whole = common == at(c, child)->pages;
        if (!whole) {
            uint32_t cut = page_tree_split(c->tree, child, common);
            if (cut == PAGE_NODE_NONE)
                break;
            if (at(c, cut)->device && at(c, cut)->host)
                page_tree_list(c->tree, cut);
            child = cut;
        }
        node = child;
        done += common;
        if (!whole)
            break;
    }
    page_tree_use_path(c->tree, node);
    *length = done;
    return node;
}

/* An insertion passed over a node, or made it: whether the host is to have it now. */
static bool counts(struct sglang *c, uint32_t node)
{
    if (c->s.host_pages == 0 || c->s.write == SGLANG_WRITE_BACK)
        return false;
    page_tree_hit(c->tree, node);
    uint32_t threshold = c->s.write == SGLANG_WRITE_THROUGH_SELECTIVE ? 2 : 1;
    return !at(c, node)->host && at(c, node)->hits >= threshold;
}

/* Copies a node to the host, after those above it that are not there. */
static void back_up_path(struct sglang *c, uint32_t node)
{
    c->work.count = 0;
    for (uint32_t n = node; n != PAGE_NODE_ROOT && !at(c, n)->host; n = at(c, n)->parent)
        push(c, &c->work, n);
    for (uint64_t i = c->work.count; i-- > 0;)
        if (!back_up(c, (uint32_t)c->work.at[i]))
            return;
}

/* Inserts the pages of r up to `pages`, which the device has. inserted: pages whose nodes r has
 * counted before; shared: pages that are the tree's own. Returns the end of the path. */
static uint32_t insert(struct sglang *c, const struct sglang_request *r, uint64_t pages,
                       uint64_t inserted, uint64_t shared)
{
    uint32_t node = PAGE_NODE_ROOT;
    uint64_t done = 0;
    page_tree_use(c->tree, node);
    while (done < pages) {
        uint32_t child = page_tree_child(c->tree, node, r->page[done]);
        if (child == PAGE_NODE_NONE)
            break;
        page_tree_use(c->tree, child);
        uint32_t common = page_tree_common(c->tree, child, r->page + done, pages - done);
        if (common < at(c, child)->pages) {
            child = page_tree_split(c->tree, child, common);
            if (child == PAGE_NODE_NONE)
                return node;
            if (at(c, child)->device && at(c, child)->host)
                page_tree_list(c->tree, child);
        }
        uint64_t end = done + common, from = done > shared ? done : shared;
        if (!at(c, child)->device) {
            page_tree_set_device(c->tree, child, true);
            tell(c, SGLANG_DEVICE_RESTORE, child);
            if (at(c, child)->host)
                page_tree_list(c->tree, child);
        } else if (end > from)
            c->device_free += end - from; /* the request's own copies of them */
        if (end > inserted && counts(c, child))
            back_up_path(c, child);
        node = child;
        done = end;
    }
    if (done == pages)
        return node;
    uint32_t new = page_tree_add(c->tree, node, r->page + done, pages - done);
    if (new == PAGE_NODE_NONE)
        return node;
    page_tree_set_device(c->tree, new, true);
    tell(c, SGLANG_DEVICE_STORE, new);
    if (counts(c, new))
        back_up_path(c, new);
    return new;
}

/* ---- the life of a request ---- */

/* What follows the match in files, page by page. */
static uint64_t file_hit(const struct sglang *c, const uint64_t *page, uint64_t pages)
{
    uint64_t hit = 0;
    while (hit < pages && page_files_has(c->files, page[hit]))
        hit++;
    return hit;
}

int sglang_arrive(struct sglang *c, struct sglang_request *r)
{
    r->prefetched = 0;
    if (!c->files)
        return 0;
    uint64_t size = c->s.page_tokens, done;
    uint64_t least = c->s.prefetch_threshold > size ? c->s.prefetch_threshold : size;
    uint32_t node = match(c, r->page, (r->prompt - 1) / size, &done);
    uint64_t asked = r->prompt / size - done;
    if ((node != PAGE_NODE_ROOT && !at(c, node)->host) || asked * size < least)
        return result(c);
    uint64_t hit = file_hit(c, r->page + done, asked);
    if (hit * size < least)
        return result(c);
    /* Where the match ends, the host keeps its copy. */
    bool loading = at(c, node)->loading;
    at(c, node)->loading = true;
    page_tree_lock(c->tree, node);
    if (c->host_free < hit)
        evict_host(c, hit);
    page_tree_unlock(c->tree, node);
    at(c, node)->loading = loading;
    hit = hit < c->host_free ? hit : c->host_free;
    if (hit * size < least)
        return result(c);
    for (uint64_t i = 0; i < hit; i++) {
        c->sink(c->arg, SGLANG_FILE_LOAD, r->page[done + i]);
        page_files_use(c->files, r->page[done + i]);
    }
    uint32_t new = page_tree_add(c->tree, node, r->page + done, hit);
    if (new == PAGE_NODE_NONE)
        return result(c);
    page_tree_set_host(c->tree, new, true);
    tell(c, SGLANG_HOST_PREFETCH, new);
    c->host_free -= hit;
    r->prefetched = hit * size;
    return result(c);
}

/* Loads the host's part of a match, all or nothing. Returns whether it did. */
static bool load_back(struct sglang *c, uint32_t end, uint64_t pages)
{
    if (pages * c->s.page_tokens < c->s.load_back_threshold)
        return false;
    page_tree_lock(c->tree, end);
    evict_device(c, pages);
    page_tree_unlock(c->tree, end);
    if (c->device_free < pages)
        return false;
    c->device_free -= pages;
    uint64_t first = c->loaded.count;
    for (uint32_t n = end; !at(c, n)->device; n = at(c, n)->parent)
        push(c, &c->loaded, n);
    for (uint64_t i = c->loaded.count; i-- > first;) {
        uint32_t n = (uint32_t)c->loaded.at[i];
        page_tree_set_device(c->tree, n, true);
        tell(c, SGLANG_DEVICE_LOAD, n);
        at(c, n)->loading = true;
    }
    return true;
}

/* Loads are acknowledged: their host copies may be reclaimed from now on, deepest node first. */
static void end_loads(struct sglang *c)
{
    for (uint64_t i = 0; i < c->loaded.count; i++) {
        uint32_t n = (uint32_t)c->loaded.at[i];
        at(c, n)->loading = false;
        page_tree_list(c->tree, n);
    }
    c->loaded.count = 0;
}

int sglang_admit(struct sglang *c, struct sglang_request *r)
{
    uint64_t size = c->s.page_tokens, matched, host = 0;
    uint32_t end = match(c, r->page, (r->prompt - 1) / size, &matched), on_device = end;
    while (!at(c, on_device)->device) {
        host += at(c, on_device)->pages;
        on_device = at(c, on_device)->parent;
    }
    r->hit_host = host * size;
    r->hit_device = (matched - host) * size;
    r->loaded = 0;
    r->own = matched - host;
    r->inserted = 0;
    r->node = on_device;
    page_tree_lock(c->tree, on_device);
    if (host > 0 && load_back(c, end, host)) {
        r->own = matched;
        r->node = end;
        r->loaded = r->hit_host;
    }
    page_tree_lock(c->tree, r->node);
    page_tree_unlock(c->tree, on_device);
    r->shared = r->own;
    return result(c);
}

/* The path that the request holds becomes the one to that node. */
static void hold(struct sglang *c, struct sglang_request *r, uint32_t node)
{
    page_tree_lock(c->tree, node);
    page_tree_unlock(c->tree, r->node);
    r->node = node;
}

/* Takes pages of the device until the request has `pages`. */
static void take(struct sglang *c, struct sglang_request *r, uint64_t pages)
{
    if (pages <= r->own)
        return;
    c->device_free -= pages - r->own;
    r->own = pages;
}

int sglang_compute(struct sglang *c, struct sglang_request *r, uint64_t from, uint64_t to)
{
    uint64_t size = c->s.page_tokens;
    /* The engine asks for a page more than the tokens. */
    uint64_t demand = (to - from + size + size - 1) / size;
    evict_device(c, demand);
    end_loads(c);
    if (c->device_free < demand)
        return -EAGAIN;
    take(c, r, (to + size - 1) / size);
    uint64_t pages = to / size;
    uint32_t node = insert(c, r, pages, r->inserted, r->shared);
    hold(c, r, node);
    r->inserted = r->inserted > pages ? r->inserted : pages;
    r->shared = pages;
    return result(c);
}

int sglang_decode(struct sglang *c, struct sglang_request *r, uint64_t token)
{
    if (token % c->s.page_tokens != 0)
        return 0;
    evict_device(c, 1);
    if (c->device_free == 0)
        return result(c) ? result(c) : -EAGAIN;
    take(c, r, r->own + 1);
    return result(c);
}

int sglang_finish(struct sglang *c, struct sglang_request *r, uint64_t tokens)
{
    uint64_t pages = tokens / c->s.page_tokens, prompt = r->prompt / c->s.page_tokens;
    if (pages > 0) {
        hold(c, r, insert(c, r, pages, r->inserted, r->shared));
        /* The prompt's path once more, so that its nodes are newer than the answer's. */
        if (prompt > 0 && prompt < pages)
            insert(c, r, prompt, prompt, prompt);
    }
    c->device_free += r->own - pages;
    r->own = 0;
    page_tree_unlock(c->tree, r->node);
    return result(c);
}

void sglang_abort(struct sglang *c, struct sglang_request *r)
{
    c->device_free += r->own - r->shared;
    r->own = 0;
    page_tree_unlock(c->tree, r->node);
}

static void store_file(struct sglang *c, uint64_t page)
{
    if (page_files_use(c->files, page)) {
        c->sink(c->arg, SGLANG_FILE_DUP, page);
        return;
    }
    for (uint64_t gone; page_files_evict(c->files, &gone);)
        c->sink(c->arg, SGLANG_FILE_EVICT, gone);
    page_files_store(c->files, page);
    c->sink(c->arg, SGLANG_FILE_STORE, page);
}

int sglang_poll(struct sglang *c)
{
    if (c->copied.count > 0 && page_files_reserve(c->files, c->copied.count) < 0)
        c->failed = true;
    for (uint64_t i = 0; !c->failed && i < c->copied.count; i++)
        store_file(c, c->copied.at[i]);
    c->copied.count = 0;
    return result(c);
}
