/* vllm_offload.c - vLLM 0.33.0: its OffloadingConnector by its rules. Each step offers the chunks
 * that it completes to host memory, all or nothing; a look-up pins nothing; a load takes what the
 * GPU lacks. What host memory keeps is vllm_host.h's business, what files there are vllm_files.h's.
 */
#include "kvgen/cache/vllm_offload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/cache/id_table.h"
#include "kvgen/cache/vllm_files.h"
#include "kvgen/cache/vllm_host.h"
#include "kvgen/cache/vllm_tracker.h"
#include "lib/base/memory.h"

enum {
    GROUPS = 8
};

/* A request's use of a chunk of its chain. */
enum chunk_mark {
    CHUNK_TOUCHED = 1,
    CHUNK_BROUGHT = 2, /* it stored it */
    CHUNK_REUSED = 4,  /* it found it in host memory */
    CHUNK_MISSED = 8,
    CHUNK_COUNTED = 16, /* since its last admission: its offer was counted (store_threshold) */
    CHUNK_ASKED = 32,   /* of the lower tier */
    CHUNK_FETCHED = 64  /* from it, since its last admission */
};
enum {
    ENDLESS = 8 /* so many fetches a chunk of the chain that were made before do not end */
};

/* The last offer, which was refused, if it can be made again without a look at its chunks. */
struct refusal {
    uint64_t first, end; /* chunks offered; end 0: there was none, or each must be looked at */
    uint64_t new_chunks; /* that host memory did not have, */
    uint64_t inserts;    /* and how many chunks had come to it so far */
};

/* A run of chunks that the last look-up found ready in host memory. */
struct seen {
    uint64_t first, end; /* end 0: none */
    uint64_t left;       /* how many chunks had left host memory by then */
};

struct offloaded {
    struct kv_request *request;
    struct vllm_host_request host;
    uint64_t chunks;       /* whole ones of the chain */
    uint64_t *key[GROUPS]; /* of each chunk */
    uint8_t *mark[GROUPS]; /* enum chunk_mark */
    uint64_t next;         /* the first chunk that is yet to be offered */
    struct refusal refusal;
    struct seen seen; /* with one group */
    uint64_t jobs;    /* under way */
    uint64_t again;   /* fetches of what it had fetched since its last admission */
    uint32_t *kept;   /* fixed: chunks that it fetched and that stay until it is admitted */
    uint64_t keeps;
    struct offloaded *ended; /* the next one that ended in the same step */
    struct kv_held held_at_end[GROUPS];
    uint64_t end; /* tokens that it computed */
    bool is_late; /* some of what the last look-up found is yet to come */
    bool is_done, departed;
};

/* A transfer under way. */
struct job {
    uint64_t id;
    enum kv_transfer_kind kind;
    struct offloaded *owner; /* NULL: nobody's */
    uint32_t *chunk;         /* of host memory */
    uint64_t chunks;
    bool open, flush;
};

/* The store that read a block of the GPU last. */
struct block_store {
    uint64_t id;    /* 1 + the job's; 0: none did */
    uint32_t taken; /* the last step in which a request got the block, modulo 2^32 */
    bool in_window; /* of a group with a window */
};

/* A chunk of an offer, or one to be promoted. */
struct offer_chunk {
    uint32_t group;
    uint64_t at;    /* in the chain */
    uint32_t chunk; /* of host memory, as it was listed; HOST_NONE: it is not there */
    bool is_new;
};

struct kv_below {
    struct vllm_offload_opts o;
    uint64_t window[GROUPS];
    struct kv_listener listener;
    struct vllm_host *host;
    struct vllm_files *files;
    struct job *job; /* by id less first_job */
    uint64_t jobs, jobs_cap, first_job, next_job, open;
    struct block_store *block_store; /* by GPU block */
    struct offer_chunk *offer;
    uint64_t *keys; /* for what is told */
    uint64_t scratch;
    struct offloaded *first_ended, **last_ended;
    uint64_t sync_left; /* bytes of this step's loads within it */
    uint32_t step;      /* from 1 */
    uint64_t built;     /* jobs with lower ids are from before this step */
    bool flushes, failed;
    struct vllm_tracker tracker; /* with store_threshold */
};

static void tell(const struct kv_below *b, enum kv_event_kind kind, enum trace_tier tier,
                 const struct offloaded *s, uint64_t key)
{
    const struct kv_event e = {.kind = kind, .tier = tier, .key = key, .request = s->request};
    b->listener.event(b->listener.ctx, &e);
}

static void offloaded_free(const struct kv_below *b, struct offloaded *s)
{
    for (uint32_t g = 0; g < b->o.groups; g++) {
        free(s->key[g]);
        free(s->mark[g]);
    }
    free(s->kept);
    free(s);
}

static void below_free(struct kv_below *b)
{
    if (!b)
        return;
    for (uint64_t i = 0; i < b->jobs; i++) {
        struct offloaded *owner = b->job[i].open ? b->job[i].owner : NULL;
        free(b->job[i].chunk);
        if (owner && --owner->jobs == 0 && owner->departed)
            offloaded_free(b, owner);
    }
    vllm_host_free(b->host);
    vllm_files_free(b->files);
    vllm_tracker_release(&b->tracker);
    free(b->job);
    free(b->block_store);
    free(b->offer);
    free(b->keys);
    free(b);
}

struct kv_below *vllm_offload_create(const struct vllm_offload_opts *o,
                                     const struct kv_listener *listener)
{
    struct kv_below *b = calloc(1, sizeof(*b));
    if (!b)
        return NULL;
    b->o = *o;
    for (uint32_t g = 0; g < o->groups; g++)
        b->window[g] = o->window[g];
    b->o.window = b->window;
    b->listener = *listener;
    b->tracker.most = o->max_tracker_size;
    b->last_ended = &b->first_ended;
    b->step = 1;
    b->sync_left = o->sync_load_bytes;
    b->host = vllm_host_create(o->chunks, o->arc, o->numbers);
    b->block_store = calloc(o->gpu_blocks + 1, sizeof(*b->block_store));
    bool failed = !b->host || !b->block_store ||
                  (o->store_threshold >= 2 && chain_numbers_join(o->numbers, &b->tracker.keys));
    if (o->lower != VLLM_NO_LOWER) {
        b->files = vllm_files_create(o->lower == VLLM_EXAMPLE, o->most_files, o->numbers);
        failed |= !b->files || (o->with && vllm_files_join(b->files, o->with->files));
        if (!failed && o->own_files)
            vllm_files_limit(b->files, o->own_files);
    }
    if (failed) {
        below_free(b);
        return NULL;
    }
    return b;
}

void vllm_offload_count(const struct kv_below *b, struct vllm_host_counts *out)
{
    vllm_host_count(b->host, out);
}

static uint64_t chunk_tokens(const struct kv_below *b)
{
    return b->o.chunk_blocks * b->o.block_tokens;
}

/* ---- requests come and go ---- */

/* Room for that many chunks at once in the lists of this file. */
static int reserve_scratch(struct kv_below *b, uint64_t chunks)
{
    if (chunks <= b->scratch)
        return 0;
    if (memory_resize(&b->offer, chunks, sizeof(*b->offer)) < 0 ||
        memory_resize(&b->keys, chunks, sizeof(*b->keys)) < 0)
        return -ENOMEM;
    b->scratch = chunks;
    return 0;
}

static int arrive(struct kv_below *b, struct kv_request *r, void **state)
{
    struct offloaded *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->request = r;
    s->chunks = chain_tokens(&r->chain) / chunk_tokens(b);
    int rc = reserve_scratch(b, (s->chunks + 1) * b->o.groups);
    if (!rc && b->o.fixed)
        s->kept = malloc((s->chunks + 1) * b->o.groups * sizeof(*s->kept));
    if (!rc && b->o.fixed && !s->kept)
        rc = -ENOMEM;
    if (!rc && b->o.store_threshold >= 2)
        rc = vllm_tracker_reserve(&b->tracker, (s->chunks + 1) * b->o.groups);
    for (uint32_t g = 0; g < b->o.groups && !rc; g++) {
        s->key[g] = malloc((s->chunks + 1) * sizeof(*s->key[g]));
        s->mark[g] = calloc(s->chunks + 1, 1);
        if (!s->key[g] || !s->mark[g]) {
            rc = -ENOMEM;
            break;
        }
        chain_list_keys(&r->chain, g, chunk_tokens(b), s->chunks, s->key[g]);
    }
    if (rc)
        offloaded_free(b, s);
    else
        *state = s;
    return rc;
}

/* Its fetch has served it, or is of no use any more. */
static void end_fetching(struct kv_below *b, struct offloaded *s)
{
    for (; s->keeps > 0; s->keeps--)
        vllm_host_end_read(b->host, s->kept[s->keeps - 1], false);
    s->request->endless = false;
    s->again = 0;
    for (uint32_t g = 0; b->files && g < b->o.groups; g++)
        for (uint64_t i = 0; i < s->chunks; i++)
            s->mark[g][i] &= (uint8_t)~CHUNK_FETCHED;
}

static void depart(struct kv_below *b, void *state)
{
    struct offloaded *s = state;
    end_fetching(b, s);
    for (uint32_t g = 0; b->files && g < b->o.groups; g++)
        for (uint64_t i = 0; i < s->chunks; i++)
            if (s->mark[g][i] & CHUNK_ASKED)
                vllm_files_leave(b->files, s->key[g][i]);
    s->departed = true;
    if (!s->jobs)
        offloaded_free(b, s);
}

/* ---- transfers ---- */

/* A new transfer with room for that many chunks. NULL: no memory, which step_built will say. */
static struct job *new_job(struct kv_below *b, enum kv_transfer_kind kind, struct offloaded *owner,
                           uint64_t chunks)
{
    if (b->jobs == b->jobs_cap) {
        /* Jobs at the front that are done make room. */
        uint64_t done = 0;
        while (done < b->jobs && !b->job[done].open)
            done++;
        if (b->jobs)
            memmove(b->job, b->job + done, (b->jobs - done) * sizeof(*b->job));
        b->jobs -= done;
        b->first_job += done;
        if (done < b->jobs_cap / 2 + 1) {
            if (memory_resize(&b->job, (2 * b->jobs_cap + 64), sizeof(*b->job)) < 0) {
                b->failed = true;
                return NULL;
            }
            b->jobs_cap = 2 * b->jobs_cap + 64;
        }
    }
    uint32_t *list = malloc((chunks + 1) * sizeof(*list));
    if (!list) {
        b->failed = true;
        return NULL;
    }
    struct job *j = &b->job[b->jobs++];
    *j = (struct job){
        .id = b->next_job++, .kind = kind, .owner = owner, .chunk = list, .open = true};
    b->open++;
    if (owner)
        owner->jobs++;
    return j;
}

static void begin(struct kv_below *b, const struct job *j, bool in_step)
{
    static const enum trace_tier ends[][2] = {[KV_STORE] = {TRACE_GPU, TRACE_CPU},
                                              [KV_LOAD] = {TRACE_CPU, TRACE_GPU},
                                              [KV_PROMOTE] = {TRACE_STORAGE, TRACE_CPU},
                                              [KV_WRITE] = {TRACE_CPU, TRACE_STORAGE}};
    for (uint64_t i = 0; i < j->chunks; i++)
        b->keys[i] = vllm_host_key(b->host, j->chunk[i]);
    const struct kv_transfer t = {.id = j->id,
                                  .kind = j->kind,
                                  .from = ends[j->kind][0],
                                  .to = ends[j->kind][1],
                                  .request = j->owner ? j->owner->request : NULL,
                                  .keys = b->keys,
                                  .count = j->chunks,
                                  .tokens = j->chunks * chunk_tokens(b),
                                  .in_step = in_step};
    b->listener.transfer(b->listener.ctx, &t);
}

/* Room for a file that is about to be written. */
static bool claim(struct kv_below *b, uint64_t key)
{
    struct kv_event e = {.kind = KV_DROPPED, .tier = TRACE_STORAGE};
    int rc = vllm_files_claim(b->files, key);
    if (rc == -ENOSPC && b->o.clean_files) {
        while (vllm_files_clean(b->files, &e.key))
            b->listener.event(b->listener.ctx, &e);
        rc = vllm_files_claim(b->files, key);
    }
    b->failed |= rc == -ENOMEM;
    return !rc;
}

/* Stored chunks go to the lower tier, too, as far as that has room. */
static void write_down(struct kv_below *b, uint32_t *chunk, uint64_t chunks)
{
    uint64_t fit = 0;
    for (uint64_t i = 0; i < chunks; i++) {
        const uint64_t key = vllm_host_key(b->host, chunk[i]);
        if (b->files && i + ID_TABLE_AHEAD < chunks)
            vllm_files_expect(b->files, vllm_host_key(b->host, chunk[i + ID_TABLE_AHEAD]));
        const bool fits = b->files && claim(b, key);
        vllm_host_written(b->host, chunk[i], fits);
        if (fits) {
            chunk[fit++] = chunk[i];
        } else if (b->files) {
            const struct kv_event e = {.kind = KV_REFUSED, .tier = TRACE_STORAGE, .key = key};
            b->listener.event(b->listener.ctx, &e);
        }
    }
    struct job *j = fit ? new_job(b, KV_WRITE, NULL, fit) : NULL;
    if (!j)
        return;
    memcpy(j->chunk, chunk, fit * sizeof(*chunk));
    j->chunks = fit;
    begin(b, j, false);
}

static void transfer_done(struct kv_below *b, uint64_t id)
{
    struct job j = b->job[id - b->first_job];
    b->job[id - b->first_job].open = false;
    b->job[id - b->first_job].chunk = NULL;
    b->open--;
    for (uint64_t i = 0; i < j.chunks; i++) {
        switch (j.kind) {
        case KV_STORE:
            break;
        case KV_PROMOTE:
            vllm_host_written(b->host, j.chunk[i], false);
            if (!b->o.fixed || j.owner->departed)
                break;
            vllm_host_begin_read(b->host, j.chunk[i], false);
            j.owner->kept[j.owner->keeps++] = j.chunk[i];
            break;
        case KV_LOAD:
            vllm_host_end_read(b->host, j.chunk[i], true);
            break;
        case KV_WRITE:
            vllm_files_put(b->files, vllm_host_key(b->host, j.chunk[i]));
            vllm_host_end_read(b->host, j.chunk[i], false);
            break;
        }
    }
    if (j.owner && --j.owner->jobs == 0 && j.owner->departed)
        offloaded_free(b, j.owner);
    if (j.kind == KV_STORE)
        write_down(b, j.chunk, j.chunks);
    free(j.chunk);
}

/* ---- look-up and load ---- */

enum chunk_answer {
    ANSWER_MISS,
    ANSWER_HIT,
    ANSWER_LATER
};

/* Where chunks of one request leave by position: of two groups at one place, the first group's
 * leaves first. */
static uint64_t place_of(uint32_t g, uint64_t at)
{
    return at * GROUPS + (GROUPS - 1 - g);
}

/* Takes room for a chunk of the lower tier; its read is told when the step is built. */
static enum chunk_answer promote(struct kv_below *b, struct offloaded *s, uint32_t g, uint64_t at)
{
    const uint64_t key = s->key[g][at];
    vllm_host_protect(b->host);
    if (!(s->mark[g][at] & CHUNK_MISSED))
        vllm_host_miss(b->host, key);
    s->mark[g][at] |= CHUNK_MISSED;
    if (!vllm_host_make_room(b->host, 1, &b->listener, s->request)) {
        tell(b, KV_NOT_PROMOTED, TRACE_CPU, s, key);
        return ANSWER_MISS;
    }
    struct job *j = b->jobs ? &b->job[b->jobs - 1] : NULL;
    if (!j || j->kind != KV_PROMOTE || j->owner != s || !j->open) {
        j = new_job(b, KV_PROMOTE, s, s->chunks * b->o.groups);
        if (!j)
            return ANSWER_LATER;
    }
    j->chunk[j->chunks++] = vllm_host_insert(b->host, &s->host, key, place_of(g, at));
    if (b->o.clean_files)
        vllm_files_read(b->files, key);
    tell(b, KV_PROMOTED, TRACE_CPU, s, key);
    s->again += (s->mark[g][at] & CHUNK_FETCHED) > 0;
    s->mark[g][at] |= CHUNK_TOUCHED | CHUNK_BROUGHT | CHUNK_FETCHED;
    if (s->again > ENDLESS * s->chunks * b->o.groups && !s->request->endless) {
        s->request->endless = true;
        tell(b, KV_ENDLESS, TRACE_CPU, s, key);
    }
    return ANSWER_LATER;
}

/* Tells the answer of a tier that takes a step for it. */
static void tell_answer(struct kv_below *b, enum kv_event_kind kind, const struct offloaded *s,
                        uint64_t key)
{
    if (b->o.lower == VLLM_FILES)
        tell(b, kind, TRACE_STORAGE, s, key);
}

static enum chunk_answer ask_lower(struct kv_below *b, struct offloaded *s, uint32_t g, uint64_t at)
{
    const uint64_t key = s->key[g][at];
    const bool first = !(s->mark[g][at] & CHUNK_ASKED);
    s->mark[g][at] |= CHUNK_ASKED;
    switch (vllm_files_ask(b->files, key, first)) {
    case FILES_ASKED:
        tell_answer(b, KV_ASKED, s, key);
        return ANSWER_LATER;
    case FILES_HIT:
        /* The cleaner may have been there since it answered. */
        if (b->o.clean_files && !vllm_files_has(b->files, key)) {
            tell_answer(b, KV_MISS, s, key);
            return ANSWER_MISS;
        }
        tell_answer(b, KV_HIT, s, key);
        return promote(b, s, g, at);
    case FILES_MISS:
        tell_answer(b, KV_MISS, s, key);
        return ANSWER_MISS;
    case FILES_FAILED:
        b->failed = true;
    }
    return ANSWER_LATER;
}

static enum chunk_answer find(struct kv_below *b, struct offloaded *s, uint32_t g, uint64_t at)
{
    const uint32_t chunk = vllm_host_find(b->host, s->key[g][at]);
    if (chunk != HOST_NONE)
        return vllm_host_is_ready(b->host, chunk) ? ANSWER_HIT : ANSWER_LATER;
    return b->files ? ask_lower(b, s, g, at) : ANSWER_MISS;
}

/* The end, in chunks, of the run of chunks from `first` on that are here or will be. A request that
 * waits asks again and again: what it saw is not looked for while nothing leaves. */
static uint64_t find_run(struct kv_below *b, struct offloaded *s, uint32_t g, uint64_t first,
                         uint64_t end)
{
    const bool saw = s->seen.end && s->seen.left == vllm_host_left(b->host) &&
                     s->seen.first <= first && first < s->seen.end;
    uint64_t at = !saw ? first : s->seen.end < end ? s->seen.end : end;
    for (; at < end; at++) {
        const enum chunk_answer a = find(b, s, g, at);
        if (a == ANSWER_MISS)
            break;
        s->is_late |= a == ANSWER_LATER;
    }
    if (b->o.groups == 1 && !s->is_late)
        s->seen = (struct seen){first, at, vllm_host_left(b->host)};
    return at;
}

/* The first chunk that the group looks at if it has computed `end` chunks; not before `first`. */
static uint64_t window_begin(const struct kv_below *b, uint32_t g, uint64_t first, uint64_t end)
{
    const uint64_t unit = chunk_tokens(b);
    const uint64_t need = b->window[g] ? (b->window[g] - 1 + unit - 1) / unit : end;
    return end > first + need ? end - need : first;
}

/* The largest end, at most `end`, before which the group has its window, or `first`. */
static uint64_t find_window(struct kv_below *b, struct offloaded *s, uint32_t g, uint64_t first,
                            uint64_t end)
{
    bool late = false;
    for (uint64_t at = end; at > window_begin(b, g, first, end);) {
        const enum chunk_answer a = find(b, s, g, --at);
        late |= a == ANSWER_LATER;
        if (a == ANSWER_MISS) {
            end = at;
            late = false;
        }
    }
    s->is_late |= late;
    return end;
}

/* The end of the run that all groups have. */
static uint64_t find_all(struct kv_below *b, struct offloaded *s, uint64_t first, uint64_t end)
{
    s->is_late = false;
    for (uint32_t g = 0; g < b->o.groups; g++)
        if (!b->window[g])
            end = find_run(b, s, g, first, end);
    for (uint64_t before = end + 1; end < before;) {
        before = end;
        for (uint32_t g = 0; g < b->o.groups; g++)
            if (b->window[g])
                end = find_window(b, s, g, first, end);
    }
    return end;
}

static bool some_are_loaded(const struct kv_below *b, const struct offloaded *s, uint64_t first,
                            uint64_t end)
{
    if (vllm_host_loading(b->host) == 0)
        return false;
    for (uint32_t g = 0; g < b->o.groups; g++)
        for (uint64_t at = window_begin(b, g, first, end); at < end; at++) {
            const uint32_t chunk = vllm_host_find(b->host, s->key[g][at]);
            if (chunk != HOST_NONE && vllm_host_is_loaded(b->host, chunk))
                return true;
        }
    return false;
}

static enum kv_look look_up(struct kv_below *b, void *state, uint64_t from, struct kv_found *out)
{
    struct offloaded *s = state;
    const uint64_t unit = chunk_tokens(b), first = from / unit;
    s->next = 0;
    for (uint32_t g = 0; g < b->o.groups; g++)
        for (uint64_t i = 0; b->o.store_threshold >= 2 && i < s->chunks; i++)
            s->mark[g][i] &= (uint8_t)~CHUNK_COUNTED;
    if (s->jobs)
        return KV_OWN_TRANSFERS;
    uint64_t most = s->request->known_tokens;
    if (s->request->max_load_tokens != KV_NO_LIMIT && from + s->request->max_load_tokens < most)
        most = from + s->request->max_load_tokens;
    const uint64_t end = find_all(b, s, first, most / unit);
    const bool asked = b->files && s->is_late;
    if (end * unit < from + unit)
        return asked ? KV_ASK_AGAIN : KV_FOUND;
    if (s->is_late)
        return KV_ASK_AGAIN;
    if (some_are_loaded(b, s, first, end))
        return KV_ASK_AGAIN;
    const uint64_t tokens = end * unit - from;
    out->tokens[TRACE_CPU] = tokens;
    const uint64_t bytes = (end - first) * b->o.chunk_bytes;
    out->load_in_step = end * unit < s->request->known_tokens && bytes <= b->sync_left;
    out->load_first = !out->load_in_step;
    return KV_FOUND;
}

static void touch(struct kv_below *b, struct offloaded *s, uint32_t g, uint64_t at, uint32_t chunk)
{
    if (chunk != HOST_NONE && !(s->mark[g][at] & CHUNK_BROUGHT))
        s->mark[g][at] |= CHUNK_REUSED;
    if (s->mark[g][at] & CHUNK_TOUCHED)
        return;
    s->mark[g][at] |= CHUNK_TOUCHED;
    vllm_host_touch(b->host, &s->host, chunk, place_of(g, at));
}

static void admitted(struct kv_below *b, void *state, uint64_t from, uint64_t to)
{
    struct offloaded *s = state;
    const uint64_t unit = chunk_tokens(b), first = from / unit, end = to / unit;
    s->next = 0;
    if (from == to) {
        end_fetching(b, s);
        return;
    }
    s->next = end;
    struct job *j = new_job(b, KV_LOAD, s, (end - first) * b->o.groups);
    if (!j)
        return;
    for (uint32_t g = 0; g < b->o.groups; g++)
        for (uint64_t at = window_begin(b, g, first, end); at < end; at++) {
            const uint32_t chunk = vllm_host_find(b->host, s->key[g][at]);
            vllm_host_begin_read(b->host, chunk, true);
            touch(b, s, g, at, chunk);
            j->chunk[j->chunks++] = chunk;
        }
    const uint64_t bytes = (end - first) * b->o.chunk_bytes;
    const bool in_step = to < s->request->known_tokens && bytes <= b->sync_left;
    if (in_step)
        b->sync_left -= bytes;
    begin(b, j, in_step);
    end_fetching(b, s);
}

/* ---- offers ---- */

/* Whether another request got the block in this step, in which an ended one offers it. */
static bool is_taken(const struct kv_below *b, const struct offloaded *s, uint32_t block)
{
    return s->is_done && b->block_store[block].taken == b->step;
}

/* Whether a request still has the block, for a store. Of an ended one all are free: what another
 * got in this step can be stored before it is overwritten, but not of a window. */
static bool has_block(const struct kv_below *b, const struct offloaded *s, uint32_t g,
                      uint32_t block)
{
    return block && !(b->window[g] && is_taken(b, s, block));
}

/* Whether the GPU has the chunk for an offer. */
static bool is_held(const struct kv_below *b, const struct offloaded *s, uint32_t g,
                    const struct kv_held *held, uint64_t at)
{
    const uint64_t block = (at + 1) * b->o.chunk_blocks - 1;
    return block < held->count && has_block(b, s, g, held->block[block]);
}

/* Counts the offers that this request has not made since its last admission. */
static void count_offers(struct kv_below *b, struct offloaded *s, uint64_t end,
                         const struct kv_held *held)
{
    for (uint32_t g = 0; g < b->o.groups; g++)
        for (uint64_t at = s->next; at < end; at++) {
            if (!is_held(b, s, g, &held[g], at) || (s->mark[g][at] & CHUNK_COUNTED))
                continue;
            s->mark[g][at] |= CHUNK_COUNTED;
            vllm_tracker_count(&b->tracker, s->key[g][at]);
        }
    vllm_tracker_cut(&b->tracker);
}

/* Lists what a request has to offer, in b->offer. Counts what is new. */
static uint64_t list_offer(struct kv_below *b, struct offloaded *s, uint64_t end,
                           const struct kv_held *held, uint64_t *new_chunks)
{
    const bool counted = b->o.store_threshold >= 2;
    uint64_t count = 0;
    *new_chunks = 0;
    if (counted)
        count_offers(b, s, end, held);
    for (uint32_t g = 0; g < b->o.groups; g++)
        for (uint64_t at = s->next; at < end; at++) {
            if (!is_held(b, s, g, &held[g], at))
                continue;
            const uint64_t key = s->key[g][at];
            if (at + ID_TABLE_AHEAD < end)
                vllm_host_expect(b->host, s->key[g][at + ID_TABLE_AHEAD]);
            const uint32_t chunk = vllm_host_find(b->host, key);
            const bool is_new =
                chunk == HOST_NONE &&
                (!counted || vllm_tracker_offers(&b->tracker, key) >= b->o.store_threshold);
            *new_chunks += is_new;
            b->offer[count++] = (struct offer_chunk){g, at, chunk, is_new};
        }
    return count;
}

/* The host tier hears of an offer: what it missed, what it touched, what may not leave for it. */
static void tell_host(struct kv_below *b, struct offloaded *s, uint64_t count)
{
    for (uint64_t i = count; i-- > 0;) {
        const struct offer_chunk *c = &b->offer[i];
        if (c->is_new && !(s->mark[c->group][c->at] & CHUNK_MISSED)) {
            s->mark[c->group][c->at] |= CHUNK_MISSED;
            vllm_host_miss(b->host, s->key[c->group][c->at]);
        }
    }
    vllm_host_protect(b->host);
    for (uint64_t i = 0; i < count; i++) {
        const struct offer_chunk *c = &b->offer[i];
        if (c->chunk != HOST_NONE)
            vllm_host_protect_chunk(b->host, c->chunk);
        if (c->is_new || (c->chunk != HOST_NONE && vllm_host_is_ready(b->host, c->chunk)))
            touch(b, s, c->group, c->at, c->chunk);
    }
}

static void flush(struct kv_below *b, struct job *j)
{
    if (!j->open || j->flush || j->kind != KV_STORE)
        return;
    j->flush = b->flushes = true;
}

/* The GPU's blocks of a chunk. What lies before the window was given back: the engine takes the
 * last block for all of them, and stores the chunk without those that are not there. */
static void read_chunk(struct kv_below *b, const struct offloaded *s, const struct offer_chunk *c,
                       const struct kv_held *held, struct job *j)
{
    for (uint64_t i = c->at * b->o.chunk_blocks; i < (c->at + 1) * b->o.chunk_blocks; i++) {
        const uint32_t block = held->block[i];
        if (!has_block(b, s, c->group, block)) {
            tell(b, KV_LEFT_OUT, TRACE_GPU, s, held->key[i]);
            continue;
        }
        if (is_taken(b, s, block))
            flush(b, j);
        b->block_store[block].id = 1 + j->id;
        b->block_store[block].in_window = b->window[c->group] > 0;
    }
}

static void store(struct kv_below *b, struct offloaded *s, uint64_t count, uint64_t new_chunks,
                  const struct kv_held *held)
{
    struct job *j = new_job(b, KV_STORE, s, new_chunks);
    if (!j)
        return;
    for (uint64_t i = 0; i < count; i++) {
        const struct offer_chunk *c = &b->offer[i];
        if (!c->is_new)
            continue;
        const uint64_t key = s->key[c->group][c->at];
        s->mark[c->group][c->at] |= CHUNK_BROUGHT;
        j->chunk[j->chunks++] = vllm_host_insert(b->host, &s->host, key, place_of(c->group, c->at));
        read_chunk(b, s, c, &held[c->group], j);
        tell(b, KV_STORED, TRACE_CPU, s, key);
    }
    begin(b, j, false);
}

/* An offer is refused. With LRU an offer changes nothing but the touches of its chunks, so that one
 * whose chunks were all touched may be made again without a look at them. */
static void refuse(struct kv_below *b, struct offloaded *s, uint64_t end, uint64_t count,
                   uint64_t new_chunks)
{
    bool touched = !b->o.arc && b->o.store_threshold < 2 && count == end - s->next;
    for (uint64_t i = 0; i < count; i++) {
        const struct offer_chunk *c = &b->offer[i];
        touched = touched && (s->mark[c->group][c->at] & CHUNK_TOUCHED);
        tell(b, KV_REFUSED, TRACE_CPU, s, s->key[c->group][c->at]);
    }
    s->refusal = (struct refusal){.first = s->next,
                                  .end = touched ? end : 0,
                                  .new_chunks = new_chunks,
                                  .inserts = vllm_host_inserts(b->host)};
}

/* Whether the offer that was refused is made again, and has no room again: each of its new chunks
 * is still new, but for as many as have come since. */
static bool is_refused_again(struct kv_below *b, struct offloaded *s, uint64_t end)
{
    const struct refusal *was = &s->refusal;
    const uint64_t come = vllm_host_inserts(b->host) - was->inserts;
    if (was->end != end || was->first != s->next || was->new_chunks <= come ||
        vllm_host_lacks(b->host, was->new_chunks - come) <= vllm_host_may_leave(b->host))
        return false;
    for (uint64_t at = s->next; at < end; at++)
        tell(b, KV_REFUSED, TRACE_CPU, s, s->key[0][at]);
    return true;
}

/* The first chunk that is not to be offered once the first `end` tokens are there. */
static uint64_t offer_end(const struct kv_below *b, const struct kv_request *r, uint64_t end)
{
    if (b->o.prompt_only && end > r->prompt_tokens)
        end = r->prompt_tokens;
    if (end > r->max_offload_tokens)
        end = r->max_offload_tokens;
    return end / chunk_tokens(b);
}

static uint64_t quiet_until(const struct kv_below *b, const void *state)
{
    const struct offloaded *s = state;
    if (offer_end(b, s->request, KV_NO_LIMIT) <= s->next)
        return KV_NO_LIMIT;
    return (s->next + 1) * chunk_tokens(b) - 1;
}

static void offer(struct kv_below *b, void *state, uint64_t end, const struct kv_held *held)
{
    struct offloaded *s = state;
    const struct kv_request *r = s->request;
    end = offer_end(b, r, end);
    if (end <= s->next || is_refused_again(b, s, end))
        return;
    uint64_t new_chunks;
    const uint64_t count = list_offer(b, s, end, held, &new_chunks);
    tell_host(b, s, count);
    if (new_chunks && !vllm_host_make_room(b->host, new_chunks, &b->listener, r)) {
        refuse(b, s, end, count, new_chunks);
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        if (!b->offer[i].is_new)
            tell(b, KV_KNOWN, TRACE_CPU, s, s->key[b->offer[i].group][b->offer[i].at]);
    if (new_chunks)
        store(b, s, count, new_chunks, held);
    s->next = end;
}

/* ---- steps ---- */

static void finished(struct kv_below *b, void *state, const struct kv_held *held)
{
    struct offloaded *s = state;
    s->is_done = true;
    s->end = s->request->computed_tokens;
    for (uint32_t g = 0; g < b->o.groups; g++)
        s->held_at_end[g] = held[g];
    s->ended = NULL;
    *b->last_ended = s;
    b->last_ended = &s->ended;
}

/* An ended request's chunks are new again, from the tail to the head. */
static void end_request(struct kv_below *b, struct offloaded *s)
{
    for (uint64_t at = s->chunks; at-- > 0;)
        for (uint32_t g = b->o.groups; g-- > 0;) {
            const uint8_t mark = s->mark[g][at];
            if (at >= ID_TABLE_AHEAD)
                vllm_host_expect(b->host, s->key[g][at - ID_TABLE_AHEAD]);
            if (mark & CHUNK_TOUCHED)
                vllm_host_end(b->host, s->key[g][at],
                              (mark & CHUNK_BROUGHT) && !(mark & CHUNK_REUSED),
                              mark & CHUNK_REUSED);
        }
}

/* A store is done before a block of it serves another request, be it only to be read, if its own
 * request ended, or may have left the block behind its window. */
static void taken(struct kv_below *b, uint32_t block)
{
    struct block_store *store = &b->block_store[block];
    store->taken = b->step;
    if (!store->id || store->id - 1 < b->first_job)
        return;
    struct job *j = &b->job[store->id - 1 - b->first_job];
    if (j->open && (store->in_window || j->owner->is_done))
        flush(b, j);
}

static void preempted(struct kv_below *b, void *state)
{
    const struct offloaded *s = state;
    for (uint64_t i = 0; s->jobs && i < b->jobs; i++)
        if (b->job[i].owner == s)
            flush(b, &b->job[i]);
}

static int step_built(struct kv_below *b)
{
    for (struct offloaded *s = b->first_ended; s; s = s->ended)
        offer(b, s, s->end, s->held_at_end);
    for (struct offloaded *s = b->first_ended; s; s = s->ended)
        end_request(b, s);
    b->first_ended = NULL;
    b->last_ended = &b->first_ended;
    const uint64_t first = b->built > b->first_job ? b->built - b->first_job : 0;
    for (uint64_t i = first; b->files && i < b->jobs; i++)
        if (b->job[i].open && b->job[i].kind == KV_PROMOTE)
            begin(b, &b->job[i], false);
    b->built = b->next_job;
    for (uint64_t i = 0; b->flushes && i < b->jobs; i++)
        if (b->job[i].open && b->job[i].flush && b->job[i].kind == KV_STORE)
            b->listener.flush(b->listener.ctx, b->job[i].id);
    b->flushes = false;
    b->step++;
    b->sync_left = b->o.sync_load_bytes;
    return b->failed ? -ENOMEM : 0;
}

static void step_done(struct kv_below *b)
{
    if (b->files)
        vllm_files_step(b->files);
}

static bool file_written(struct kv_below *b, uint64_t key)
{
    if (!b->files || vllm_files_has(b->files, key) || !claim(b, key))
        return false;
    vllm_files_put(b->files, key);
    return true;
}

static bool busy(const struct kv_below *b)
{
    return b->open > 0;
}

const struct kv_below_ops vllm_offload_ops = {
    .name = "vllm",
    .version = "0.33.0",
    .free = below_free,
    .arrive = arrive,
    .look_up = look_up,
    .admitted = admitted,
    .offer = offer,
    .quiet_until = quiet_until,
    .step_built = step_built,
    .preempted = preempted,
    .finished = finished,
    .taken = taken,
    .transfer_done = transfer_done,
    .step_done = step_done,
    .depart = depart,
    .file_written = file_written,
    .busy = busy,
};
