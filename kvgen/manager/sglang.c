/* sglang.c - SGLang 0.5.23 behind the seam: when its tree is matched, filled and let go, and which
 * transfers that begins. */
#include "kvgen/manager/sglang.h"

#include <errno.h>
#include <stdlib.h>

#include "kvgen/cache/chain_numbers.h"
#include "kvgen/cache/id_table.h"
#include "kvgen/manager/jobs.h"
#include "lib/base/memory.h"

/* A request. */
struct holder {
    struct kv_request *request;
    uint64_t *page; /* keys of the whole pages of the chain */
    struct sglang_request tree;
    bool asked;   /* files were asked for it */
    bool fetches; /* from files */
    bool loads;   /* what its last look-up found on the host */
    bool runs;    /* it holds pages */
};

/* The part of a prompt that this step computes. */
struct part {
    struct holder *holder;
    uint64_t to;
};

/* In job.more. */
enum {
    JOB_NODE,
    JOB_MADE,
    JOB_PAGES /* of the node that the host keeps meanwhile */
};

struct kv_cache {
    struct sglang_settings s;
    struct kv_listener listener;
    struct sglang *tree;
    struct jobs jobs;
    struct part *part;
    size_t parts, parts_cap;
    /* Keys of one call of the tree, by what happened to them. */
    struct job_keys fetched, loaded, written, copied;
    /* Pages on their way from files to the host, and whether the host has another copy of each. */
    struct id_table coming;
    bool *has_copy;
    size_t has_copy_cap;
    struct id_table writing;      /* write_back: pages on their way to files, and */
    uint64_t *write;              /* the transfer of each */
    const struct kv_request *now; /* whose operation it is */
    bool failed;
};

static void keep(struct kv_cache *c, struct job_keys *k, uint64_t key)
{
    c->failed |= job_keys_add(k, key) < 0;
}

static void tell(const struct kv_cache *c, enum kv_event_kind kind, enum trace_tier tier,
                 uint64_t page, bool twin)
{
    const struct kv_event e = {
        .kind = kind, .tier = tier, .key = page, .request = c->now, .twin = twin};
    c->listener.event(c->listener.ctx, &e);
}

/* A page of a table of pages, with room for a value of its own. ID_NONE: no memory. */
static uint32_t add_page(struct id_table *t, void **values, size_t size, uint64_t page)
{
    const uint32_t cap = t->cap;
    if (id_table_reserve(t, 1))
        return ID_NONE;
    if ((t->cap > cap || !*values) && memory_resize(values, t->cap, size) < 0)
        return ID_NONE;
    const uint32_t n = id_table_find(t, page);
    return n == ID_NONE ? id_table_add(t, page) : n;
}

/* Files are read: the host has room for the page from now on. */
static void comes(struct kv_cache *c, uint64_t page)
{
    void *values = c->has_copy;
    const uint32_t n = add_page(&c->coming, &values, sizeof(*c->has_copy), page);
    c->has_copy = values;
    c->failed |= n == ID_NONE;
    if (n != ID_NONE)
        c->has_copy[n] = false;
    keep(c, &c->fetched, page);
    tell(c, KV_READ, TRACE_STORAGE, page, false);
}

/* A page leaves the host, be it one that is being written: then its write is done before. */
static void leaves_host(struct kv_cache *c, uint64_t page)
{
    const uint32_t coming = id_table_find(&c->coming, page);
    const uint32_t writing = id_table_find(&c->writing, page);
    if (coming != ID_NONE)
        c->has_copy[coming] = false;
    if (writing != ID_NONE)
        c->listener.flush(c->listener.ctx, c->write[writing]);
    tell(c, KV_DROPPED, TRACE_CPU, page, coming != ID_NONE);
}

/* Tells the tree's events in the words of the seam. */
static void told(void *arg, enum sglang_op op, uint64_t page)
{
    struct kv_cache *c = arg;
    uint32_t coming;
    switch (op) {
    case SGLANG_DEVICE_STORE:
    case SGLANG_DEVICE_RESTORE:
        tell(c, KV_CACHED, TRACE_GPU, page, false);
        break;
    case SGLANG_DEVICE_DEMOTE:
        tell(c, KV_DEMOTED, TRACE_GPU, page, false);
        break;
    case SGLANG_DEVICE_DROP:
        tell(c, KV_DROPPED, TRACE_GPU, page, false);
        break;
    case SGLANG_DEVICE_LOAD: /* told once its transfer has begun */
        keep(c, &c->loaded, page);
        break;
    case SGLANG_HOST_STORE:
        coming = id_table_find(&c->coming, page);
        if (coming != ID_NONE)
            c->has_copy[coming] = true;
        tell(c, KV_STORED, TRACE_CPU, page, false);
        break;
    case SGLANG_HOST_EVICT:
    case SGLANG_HOST_EVICT_COPY:
        leaves_host(c, page);
        break;
    case SGLANG_FILE_STORE:
        keep(c, &c->written, page);
        tell(c, KV_STORED, TRACE_STORAGE, page, false);
        break;
    case SGLANG_FILE_DUP:
        tell(c, KV_TOUCHED, TRACE_STORAGE, page, false);
        break;
    case SGLANG_FILE_LOAD:
        comes(c, page);
        break;
    case SGLANG_FILE_REJECT:
        tell(c, KV_REFUSED, TRACE_STORAGE, page, false);
        break;
    case SGLANG_FILE_EVICT:
        tell(c, KV_DROPPED, TRACE_STORAGE, page, false);
        break;
    case SGLANG_HOST_PREFETCH: /* told when it was read */
    case SGLANG_OPS:
        break;
    }
}

static struct job *begin(struct kv_cache *c, struct kv_transfer t, const struct job_keys *k)
{
    t.tokens = k->count * c->s.page_tokens;
    struct job *job = jobs_begin(&c->jobs, &c->listener, &t, k, NULL);
    c->failed |= !job;
    return job;
}

/* A node is copied to the host. */
static void copy(void *arg, uint32_t node, bool in_step)
{
    struct kv_cache *c = arg;
    uint64_t pages;
    const uint64_t *page = sglang_pages(c->tree, node, &pages);
    c->copied.count = 0;
    for (uint64_t i = 0; i < pages; i++)
        keep(c, &c->copied, page[i]);
    struct job *job = begin(c,
                            (struct kv_transfer){.kind = KV_STORE,
                                                 .from = TRACE_GPU,
                                                 .to = TRACE_CPU,
                                                 .request = c->now,
                                                 .in_step = in_step},
                            &c->copied);
    if (!job)
        return;
    job->more[JOB_NODE] = node;
    job->more[JOB_MADE] = sglang_made(c->tree, node);
    job->more[JOB_PAGES] = !in_step || c->s.files ? pages : 0;
}

static void cache_free(struct kv_cache *c)
{
    if (!c)
        return;
    sglang_free(c->tree);
    jobs_release(&c->jobs);
    id_table_free(&c->coming);
    id_table_free(&c->writing);
    free(c->has_copy);
    free(c->write);
    free(c->part);
    free(c->fetched.key);
    free(c->loaded.key);
    free(c->written.key);
    free(c->copied.key);
    free(c);
}

struct kv_cache *sglang_cache_create(const struct sglang_settings *settings,
                                     const struct kv_listener *listener)
{
    struct kv_cache *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->s = *settings;
    c->s.held = true;
    c->listener = *listener;
    c->tree = sglang_create(&c->s, told, c);
    if (c->tree && chain_numbers_join(c->s.numbers, &c->coming) == 0 &&
        chain_numbers_join(c->s.numbers, &c->writing) == 0) {
        sglang_on_copy(c->tree, copy);
        return c;
    }
    cache_free(c);
    return NULL;
}

const struct sglang *sglang_cache_state(const struct kv_cache *c)
{
    return c->tree;
}

const struct sglang_request *sglang_cache_request(const struct kv_request *r)
{
    const struct holder *h = r->state;
    return &h->tree;
}

/* ---- requests come and go ---- */

/* Begins to fetch what files have for the request. Where another fetches a page of it, it waits. */
static void ask_files(struct kv_cache *c, struct holder *h)
{
    const uint64_t pages = h->request->prompt_tokens / c->s.page_tokens;
    for (uint64_t i = 0; c->coming.count && i < pages; i++)
        if (id_table_find(&c->coming, h->page[i]) != ID_NONE)
            return;
    h->asked = true;
    c->now = h->request;
    c->fetched.count = 0;
    c->failed |= sglang_arrive(c->tree, &h->tree) < 0;
    if (!h->tree.prefetched || c->failed)
        return;
    h->fetches = true;
    for (size_t i = 0; i < c->fetched.count; i++)
        tell(c, KV_PROMOTED, TRACE_CPU, c->fetched.key[i], false);
    const uint64_t twice = sglang_fetched_twice(c->tree, &h->tree);
    for (uint64_t i = 0; i < twice; i++)
        c->has_copy[id_table_find(&c->coming, c->fetched.key[i])] = true;
    struct job *job = begin(
        c,
        (struct kv_transfer){
            .kind = KV_PROMOTE, .from = TRACE_STORAGE, .to = TRACE_CPU, .request = h->request},
        &c->fetched);
    if (job)
        job->owner = h;
}

static int arrive(struct kv_cache *c, struct kv_request *r)
{
    const uint64_t pages = chain_tokens(&r->chain) / c->s.page_tokens;
    struct holder *h = calloc(1, sizeof(*h));
    uint64_t *page = malloc((pages + 1) * sizeof(*page));
    if (!h || !page) {
        free(h);
        free(page);
        return -ENOMEM;
    }
    chain_list_keys(&r->chain, 0, c->s.page_tokens, pages, page);
    *h = (struct holder){
        .request = r, .page = page, .tree = {.page = page, .prompt = r->prompt_tokens}};
    r->state = h;
    ask_files(c, h);
    return c->failed ? -ENOMEM : 0;
}

static void let_go(struct kv_cache *c, struct holder *h)
{
    if (h->runs)
        sglang_abort(c->tree, &h->tree);
    h->runs = false;
}

static void depart(struct kv_cache *c, struct kv_request *r)
{
    struct holder *h = r->state;
    let_go(c, h);
    free(h->page);
    free(h);
    r->state = NULL;
}

/* ---- look-up and room ---- */

static enum kv_look look_up(struct kv_cache *c, struct kv_request *r, struct kv_found *out)
{
    struct holder *h = r->state;
    *out = (struct kv_found){{0}, false, false};
    if (!h->asked)
        ask_files(c, h);
    if (h->fetches)
        return KV_OWN_TRANSFERS;
    if (!h->asked)
        return KV_ASK_AGAIN;
    h->tree.prompt = r->known_tokens;
    c->failed |= sglang_match(c->tree, &h->tree) < 0;
    h->loads = sglang_can_load(c->tree, &h->tree);
    out->tokens[TRACE_GPU] = h->tree.hit_device;
    if (!h->loads)
        return KV_FOUND;
    const uint64_t host = h->tree.hit_host, fetched = h->tree.prefetched;
    out->tokens[TRACE_STORAGE] = fetched < host ? fetched : host;
    out->tokens[TRACE_CPU] = host - out->tokens[TRACE_STORAGE];
    out->load_in_step = true;
    return KV_FOUND;
}

/* The pages on the host are on their way to the GPU. */
static void begin_load(struct kv_cache *c, const struct kv_request *r)
{
    if (!c->loaded.count)
        return;
    begin(c,
          (struct kv_transfer){
              .kind = KV_LOAD, .from = TRACE_CPU, .to = TRACE_GPU, .request = r, .in_step = true},
          &c->loaded);
    for (size_t i = 0; i < c->loaded.count; i++)
        tell(c, KV_CACHED, TRACE_GPU, c->loaded.key[i], false);
}

static bool admit(struct kv_cache *c, struct kv_request *r, const struct kv_room *room)
{
    struct holder *h = r->state;
    const uint64_t found = h->tree.hit_device + (h->loads ? h->tree.hit_host : 0);
    const uint64_t there = sglang_room_after(c->tree, &h->tree, h->loads);
    if (room->whole && sglang_demand(c->tree, found, r->known_tokens) + room->leave > there)
        return false;
    if (sglang_demand(c->tree, found, found + room->tokens) + room->leave + room->promised > there)
        return false;
    c->now = r;
    c->loaded.count = 0;
    c->failed |= sglang_admit(c->tree, &h->tree) < 0;
    begin_load(c, r);
    h->runs = true;
    h->tree.prefetched = 0;
    c->failed |= sglang_reserve(c->tree, &h->tree, found, found + room->tokens) < 0;
    return true;
}

static void loaded(struct kv_cache *c, struct kv_request *r)
{
    (void)c, (void)r; /* all loads end within their step */
}

static bool extend(struct kv_cache *c, struct kv_request *r, uint64_t tokens)
{
    struct holder *h = r->state;
    const uint64_t from = r->computed_tokens, to = from + tokens;
    const bool prefill = from < h->tree.prompt;
    const uint64_t size = c->s.page_tokens, pages = (to + size - 1) / size;
    const uint64_t wants = prefill               ? sglang_demand(c->tree, from, to)
                           : pages > h->tree.own ? pages - h->tree.own
                                                 : 0;
    if (wants > sglang_room(c->tree))
        return false;
    c->now = r;
    if (prefill)
        c->failed |= sglang_reserve(c->tree, &h->tree, from, to) < 0;
    for (uint64_t t = from; !prefill && t < to; t++)
        c->failed |= sglang_decode(c->tree, &h->tree, t) < 0;
    return true;
}

/* ---- steps ---- */

static void scheduled(struct kv_cache *c, struct kv_request *r, uint64_t tokens)
{
    struct holder *h = r->state;
    if (r->computed_tokens >= h->tree.prompt)
        return;
    if (memory_room(&c->part, &c->parts_cap, c->parts, sizeof(*c->part), 64) < 0) {
        c->failed = true;
        return;
    }
    const uint64_t to = r->computed_tokens + tokens;
    c->part[c->parts++] = (struct part){h, to < h->tree.prompt ? to : h->tree.prompt};
}

static int step_built(struct kv_cache *c)
{
    for (size_t i = 0; i < c->parts; i++) {
        struct holder *h = c->part[i].holder;
        c->now = h->request;
        c->failed |= sglang_insert(c->tree, &h->tree, c->part[i].to) < 0;
    }
    c->parts = 0;
    return c->failed ? -ENOMEM : 0;
}

static void computed(struct kv_cache *c, struct kv_request *r, uint64_t tokens)
{
    (void)c, (void)r, (void)tokens; /* answers are inserted at the end */
}

static void finished(struct kv_cache *c, struct kv_request *r)
{
    struct holder *h = r->state;
    if (!h->runs)
        return;
    const uint64_t most = r->known_tokens - 1;
    c->now = r;
    h->runs = false;
    c->failed |=
        sglang_finish(c->tree, &h->tree, r->computed_tokens < most ? r->computed_tokens : most) < 0;
}

static void preempted(struct kv_cache *c, struct kv_request *r)
{
    let_go(c, r->state);
}

/* ---- transfers ---- */

/* Fetched pages that the host has otherwise now, or cannot keep, are dropped. */
static void end_fetch(struct kv_cache *c, const struct job *j)
{
    struct holder *h = j->owner;
    c->now = h->request;
    h->fetches = false;
    const int64_t stay = sglang_fetched(c->tree, &h->tree);
    c->failed |= stay < 0;
    for (uint64_t i = 0; i < j->count; i++) {
        const uint32_t n = id_table_find(&c->coming, j->keys[i]);
        const bool twin = c->has_copy[n];
        id_table_remove(&c->coming, n);
        if (stay >= 0 && i + (uint64_t)stay < j->count)
            tell(c, KV_DROPPED, TRACE_CPU, j->keys[i], twin);
    }
}

/* A node's pages are in files, or none is to be. */
static void let_host_go(struct kv_cache *c, const struct job *j)
{
    const uint32_t node = (uint32_t)j->more[JOB_NODE];
    if (sglang_is(c->tree, node, j->more[JOB_MADE]))
        sglang_written(c->tree, node, j->more[JOB_PAGES]);
}

/* A copy is on the host: it goes to files, too, unless it was dropped for want of room above. */
static void end_copy(struct kv_cache *c, const struct job *j)
{
    const uint32_t node = (uint32_t)j->more[JOB_NODE];
    if (!sglang_is(c->tree, node, j->more[JOB_MADE]))
        return;
    c->now = NULL;
    c->written.count = 0;
    sglang_copied(c->tree, node, j->keys, j->count, j->in_step);
    c->failed |= sglang_poll(c->tree) < 0;
    if (!c->written.count) {
        let_host_go(c, j);
        return;
    }
    struct job *job =
        begin(c, (struct kv_transfer){.kind = KV_WRITE, .from = TRACE_CPU, .to = TRACE_STORAGE},
              &c->written);
    if (!job)
        return;
    for (int i = 0; i <= JOB_PAGES; i++)
        job->more[i] = j->more[i];
    for (size_t i = 0; c->s.write == SGLANG_WRITE_BACK && i < c->written.count; i++) {
        void *values = c->write;
        const uint32_t n = add_page(&c->writing, &values, sizeof(*c->write), c->written.key[i]);
        c->write = values;
        c->failed |= n == ID_NONE;
        if (n != ID_NONE)
            c->write[n] = job->id;
    }
}

static void end_write(struct kv_cache *c, const struct job *j)
{
    for (uint64_t i = 0; i < j->count; i++) {
        const uint32_t n = id_table_find(&c->writing, j->keys[i]);
        if (n != ID_NONE)
            id_table_remove(&c->writing, n);
        sglang_file_there(c->tree, j->keys[i]);
    }
    let_host_go(c, j);
}

static void transfer_done(struct kv_cache *c, uint64_t id)
{
    struct job j;
    jobs_end(&c->jobs, id, &j);
    switch (j.kind) {
    case KV_PROMOTE:
        end_fetch(c, &j);
        break;
    case KV_LOAD:
        sglang_loaded(c->tree);
        break;
    case KV_STORE:
        end_copy(c, &j);
        break;
    case KV_WRITE:
        end_write(c, &j);
        break;
    }
    free(j.keys);
}

static uint64_t room(const struct kv_cache *c)
{
    return c->s.device_pages;
}

static uint64_t room_free(const struct kv_cache *c)
{
    return sglang_room(c->tree);
}

static uint64_t room_lacking(const struct kv_cache *c, const struct kv_request *r)
{
    const struct holder *h = r->state;
    const uint64_t pages = (r->known_tokens + c->s.page_tokens - 1) / c->s.page_tokens;
    const uint64_t own = h->runs ? h->tree.own : 0;
    return pages > own ? pages - own : 0;
}

static bool file_written(struct kv_cache *c, uint64_t key)
{
    c->now = NULL;
    return sglang_file_written(c->tree, key);
}

static bool busy(const struct kv_cache *c)
{
    return c->jobs.open > 0;
}

const struct kv_cache_ops sglang_cache_ops = {
    .name = "sglang",
    .version = "0.5.23",
    .free = cache_free,
    .arrive = arrive,
    .look_up = look_up,
    .admit = admit,
    .loaded = loaded,
    .extend = extend,
    .scheduled = scheduled,
    .step_built = step_built,
    .computed = computed,
    .finished = finished,
    .preempted = preempted,
    .transfer_done = transfer_done,
    .depart = depart,
    .file_written = file_written,
    .room = room,
    .room_free = room_free,
    .room_lacking = room_lacking,
    .busy = busy,
};
