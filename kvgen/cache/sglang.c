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
    [SGLANG_FILE_REJECT] = "l3.reject",
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
    sglang_copy_sink copy;           /* with held */
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
                         .tree = page_tree_create(settings->order, settings->numbers),
                         .device_free = settings->device_pages,
                         .host_free = settings->host_pages};
    if (settings->files)
        c->files = settings->with ? page_files_share(settings->with->files)
                                  : page_files_create(settings->files_max_pages,
                                                      settings->files_ratio, settings->numbers);
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
    if (memory_room(&l->at, &l->cap, l->count, sizeof(*l->at), 256) < 0) {
        c->failed = true;
        return;
    }
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
            if ((spare_leaves && node->leaf == PAGE_DEVICE_LEAF) || node->loading ||
                node->writes > 0)
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

/* Copies a node to the host. false: there is no room. in_step: it leaves the device now. */
static bool back_up(struct sglang *c, uint32_t node, bool in_step)
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
    for (uint32_t i = 0; c->files && !c->s.held && i < pages; i++)
        push(c, &c->copied, at(c, node)->page[i]);
    if (!c->s.held)
        return true;
    if (!in_step) /* the device keeps it until it is copied */
        page_tree_lock(c->tree, node);
    if (!in_step || c->files) /* the host keeps it until it is written */
        page_tree_begin_write(c->tree, node, pages);
    c->copy(c->arg, node, in_step);
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
        if (!at(c, n)->host && writes_back(c) && !back_up(c, n, true))
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

/* Cuts a node after some of its pages. Returns the first part; PAGE_NODE_NONE: no memory. */
static uint32_t cut(struct sglang *c, uint32_t node, uint32_t pages)
{
    uint32_t first = page_tree_split(c->tree, node, pages);
    if (first != PAGE_NODE_NONE && at(c, first)->device && at(c, first)->host)
        page_tree_list(c->tree, first);
    return first;
}

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
            child = cut(c, child, common);
            if (child == PAGE_NODE_NONE)
                break;
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
        if (!back_up(c, (uint32_t)c->work.at[i], false))
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
            child = cut(c, child, common);
            if (child == PAGE_NODE_NONE)
                return node;
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

/* Counts the pages in files that follow the match. */
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
    at(c, node)->loading = loading;
    hit = hit < c->host_free ? hit : c->host_free;
    if (hit * size < least) {
        page_tree_unlock(c->tree, node);
        return result(c);
    }
    for (uint64_t i = 0; i < hit; i++) {
        c->sink(c->arg, SGLANG_FILE_LOAD, r->page[done + i]);
        page_files_use(c->files, r->page[done + i]);
        page_files_pin(c->files, r->page[done + i]);
    }
    c->host_free -= hit;
    r->prefetched = hit * size;
    r->fetch_node = node;
    r->fetch_from = done;
    if (!c->s.held)
        sglang_fetched(c, r);
    return result(c);
}

uint64_t sglang_fetched_twice(const struct sglang *c, const struct sglang_request *r)
{
    const uint64_t *page = r->page + r->fetch_from;
    uint64_t pages = r->prefetched / c->s.page_tokens, there = 0;
    uint32_t node = r->fetch_node;
    while (there < pages) {
        node = page_tree_child(c->tree, node, page[there]);
        if (node == PAGE_NODE_NONE || !at(c, node)->host)
            return there;
        uint32_t common = page_tree_common(c->tree, node, page + there, pages - there);
        there += common;
        if (common < at(c, node)->pages)
            return there;
    }
    return there;
}

int64_t sglang_fetched(struct sglang *c, struct sglang_request *r)
{
    uint64_t pages = r->prefetched / c->s.page_tokens, there = 0;
    const uint64_t *page = r->page + r->fetch_from;
    uint32_t node = r->fetch_node;
    for (uint64_t i = 0; i < pages; i++)
        page_files_unpin(c->files, page[i]);
    while (there < pages) {
        uint32_t child = page_tree_child(c->tree, node, page[there]);
        if (child == PAGE_NODE_NONE)
            break;
        uint32_t common = page_tree_common(c->tree, child, page + there, pages - there);
        if (common < at(c, child)->pages)
            child = cut(c, child, common);
        if (child == PAGE_NODE_NONE)
            break;
        node = child;
        there += common;
    }
    page_tree_unlock(c->tree, r->fetch_node);
    /* Below what the host lacks it keeps nothing. */
    uint64_t stay = node == PAGE_NODE_ROOT || at(c, node)->host ? pages - there : 0;
    c->host_free += pages - stay;
    if (stay == 0)
        return result(c);
    uint32_t new = page_tree_add(c->tree, node, page + there, stay);
    if (new == PAGE_NODE_NONE)
        return result(c);
    page_tree_set_host(c->tree, new, true);
    tell(c, SGLANG_HOST_PREFETCH, new);
    return result(c) < 0 ? -ENOMEM : (int64_t)stay;
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

/* Their host copies may be reclaimed from now on, deepest node first. */
void sglang_loaded(struct sglang *c)
{
    for (uint64_t i = 0; i < c->loaded.count; i++) {
        uint32_t n = (uint32_t)c->loaded.at[i];
        at(c, n)->loading = false;
        page_tree_list(c->tree, n);
    }
    c->loaded.count = 0;
}

int sglang_match(struct sglang *c, struct sglang_request *r)
{
    uint64_t size = c->s.page_tokens, matched, host = 0;
    uint32_t end = match(c, r->page, (r->prompt - 1) / size, &matched), on_device = end;
    while (!at(c, on_device)->device) {
        host += at(c, on_device)->pages;
        on_device = at(c, on_device)->parent;
    }
    r->hit_host = host * size;
    r->hit_device = (matched - host) * size;
    r->match_end = end;
    r->node = on_device;
    return result(c);
}

uint64_t sglang_room(const struct sglang *c)
{
    return c->device_free + page_tree_unlocked(c->tree);
}

uint64_t sglang_room_after(const struct sglang *c, const struct sglang_request *r, bool load)
{
    uint64_t room = sglang_room(c) - page_tree_unlocked_path(c->tree, r->node);
    uint64_t loaded = load ? r->hit_host / c->s.page_tokens : 0;
    return room > loaded ? room - loaded : 0;
}

bool sglang_can_load(const struct sglang *c, const struct sglang_request *r)
{
    return r->hit_host > 0 && r->hit_host >= c->s.load_back_threshold &&
           sglang_room_after(c, r, false) >= r->hit_host / c->s.page_tokens;
}

int sglang_admit(struct sglang *c, struct sglang_request *r)
{
    uint64_t host = r->hit_host / c->s.page_tokens;
    uint32_t on_device = r->node;
    r->loaded = 0;
    r->own = r->hit_device / c->s.page_tokens;
    r->inserted = 0;
    page_tree_lock(c->tree, on_device);
    if (host > 0 && load_back(c, r->match_end, host)) {
        r->own += host;
        r->node = r->match_end;
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

uint64_t sglang_demand(const struct sglang *c, uint64_t from, uint64_t to)
{
    /* A page more than the tokens. */
    return (to - from + c->s.page_tokens + c->s.page_tokens - 1) / c->s.page_tokens;
}

int sglang_reserve(struct sglang *c, struct sglang_request *r, uint64_t from, uint64_t to)
{
    uint64_t size = c->s.page_tokens, demand = sglang_demand(c, from, to);
    evict_device(c, demand);
    if (c->device_free < demand)
        return result(c) ? result(c) : -EAGAIN;
    take(c, r, (to + size - 1) / size);
    return result(c);
}

int sglang_insert(struct sglang *c, struct sglang_request *r, uint64_t to)
{
    uint64_t pages = to / c->s.page_tokens;
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

/* Evicts files until there is room for one; false: none can go. */
static bool make_file_room(struct sglang *c)
{
    for (uint64_t gone; page_files_evict(c->files, &gone);)
        c->sink(c->arg, SGLANG_FILE_EVICT, gone);
    return !page_files_full(c->files);
}

bool sglang_file_written(struct sglang *c, uint64_t page)
{
    if (!c->files || page_files_use(c->files, page))
        return false;
    c->failed |= page_files_reserve(c->files, 1) < 0;
    if (c->failed || !make_file_room(c))
        return false;
    page_files_store(c->files, page);
    return true;
}

static void store_file(struct sglang *c, uint64_t page)
{
    if (page_files_use(c->files, page)) {
        c->sink(c->arg, SGLANG_FILE_DUP, page);
        return;
    }
    if (!make_file_room(c)) {
        c->sink(c->arg, SGLANG_FILE_REJECT, page);
        return;
    }
    if (c->s.held)
        page_files_begin(c->files, page);
    else
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

void sglang_on_copy(struct sglang *c, sglang_copy_sink copy)
{
    c->copy = copy;
}

uint64_t sglang_made(const struct sglang *c, uint32_t node)
{
    return at(c, node)->made;
}

const uint64_t *sglang_pages(const struct sglang *c, uint32_t node, uint64_t *count)
{
    *count = at(c, node)->pages;
    return at(c, node)->page;
}

bool sglang_is(const struct sglang *c, uint32_t node, uint64_t made)
{
    return at(c, node)->pages > 0 && at(c, node)->made == made;
}

void sglang_copied(struct sglang *c, uint32_t node, const uint64_t *page, uint64_t pages,
                   bool in_step)
{
    if (!in_step)
        page_tree_unlock(c->tree, node);
    for (uint64_t i = 0; c->files && i < pages; i++)
        push(c, &c->copied, page[i]);
}

void sglang_written(struct sglang *c, uint32_t node, uint64_t pages)
{
    page_tree_end_write(c->tree, node, pages);
}

void sglang_file_there(struct sglang *c, uint64_t page)
{
    page_files_store(c->files, page);
}
