/* vllm_files.c - vLLM 0.33.0: what its file tier has and what it has answered. Engines may share
 * the files, while each has answers of its own. A file takes room from the begin of its write; the
 * cleaner, which is no part of the engine, removes files that were read, or else written, longest
 * ago. */
#include "kvgen/cache/vllm_files.h"

#include <errno.h>
#include <stdlib.h>

#include "kvgen/cache/cache.h"
#include "kvgen/cache/id_table.h"
#include "lib/base/memory.h"

/* A file that is there, or is being written: then it is in no order. */
struct file {
    uint32_t older, newer; /* by the last read; NO_FILE: none */
    bool written;
    uint16_t owner; /* who claimed it: a member of the store */
};
#define NO_FILE UINT32_MAX

/* Files that have a limit together, by their last read. */
struct file_order {
    uint32_t oldest, newest;
    uint64_t count, most; /* those being written included; most 0: no limit */
};

/* The files, of one engine or several. */
struct store {
    struct id_table files;
    struct file *file; /* by number */
    uint32_t file_cap;
    bool limited;                /* each member's files have an order of their own */
    struct vllm_files **members; /* in the order in which they joined; NULL: has left */
    size_t count, cap;
    struct file_order all;
};

/* An answer that somebody holds. */
struct answer {
    uint64_t key;
    uint32_t holders;
    enum files_answer answer;
};

struct vllm_files {
    struct store *store;
    uint16_t number; /* among the members of the store */
    struct file_order own;
    struct id_table answers;
    struct answer *answer; /* by number */
    uint32_t *asked;       /* answers that the end of the step brings */
    uint32_t cap, questions;
    bool at_once;
};

/* Leaves the store, which goes with its last member. */
static void leave_store(struct vllm_files *f)
{
    struct store *s = f->store;
    bool used = false;
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++) {
        if (s->members[i] == f)
            s->members[i] = NULL;
        used |= s->members[i] != NULL;
    }
    f->store = NULL;
    if (used)
        return;
    id_table_free(&s->files);
    free(s->file);
    free(s->members);
    free(s);
}

static int join_store(struct vllm_files *f, struct store *s)
{
    if (memory_room(&s->members, &s->cap, s->count, sizeof(*s->members), 1) < 0 ||
        s->count > UINT16_MAX)
        return -ENOMEM;
    f->store = s;
    f->number = (uint16_t)s->count;
    s->members[s->count++] = f;
    return 0;
}

struct vllm_files *vllm_files_create(bool at_once, uint64_t most, struct chain_numbers *numbers)
{
    struct vllm_files *f = calloc(1, sizeof(*f));
    struct store *s = calloc(1, sizeof(*s));
    if (!f || !s || join_store(f, s)) {
        free(f);
        free(s);
        return NULL;
    }
    s->files.direct = numbers != NULL;
    if (chain_numbers_join(numbers, &s->files) || chain_numbers_join(numbers, &f->answers)) {
        vllm_files_free(f);
        return NULL;
    }
    f->at_once = at_once;
    s->all = (struct file_order){NO_FILE, NO_FILE, 0, most};
    return f;
}

void vllm_files_free(struct vllm_files *f)
{
    if (!f)
        return;
    leave_store(f);
    id_table_free(&f->answers);
    free(f->answer);
    free(f->asked);
    free(f);
}

int vllm_files_join(struct vllm_files *f, struct vllm_files *with)
{
    leave_store(f);
    return join_store(f, with->store);
}

void vllm_files_limit(struct vllm_files *f, uint64_t most)
{
    f->own = (struct file_order){NO_FILE, NO_FILE, 0, most};
    f->store->limited = true;
}

/* ---- files ---- */

/* In which a file of that owner is. */
static struct file_order *order_of(const struct vllm_files *f, uint16_t owner)
{
    return f->store->limited ? &f->store->members[owner]->own : &f->store->all;
}

bool vllm_files_has(const struct vllm_files *f, uint64_t key)
{
    const uint32_t n = id_table_find(&f->store->files, key);
    return n != ID_NONE && f->store->file[n].written;
}

static void take_out(struct vllm_files *f, uint32_t n)
{
    struct file *file = f->store->file, *x = &file[n];
    struct file_order *o = order_of(f, x->owner);
    *(x->older != NO_FILE ? &file[x->older].newer : &o->oldest) = x->newer;
    *(x->newer != NO_FILE ? &file[x->newer].older : &o->newest) = x->older;
}

static void put_newest(struct vllm_files *f, uint32_t n)
{
    struct file *file = f->store->file, *x = &file[n];
    struct file_order *o = order_of(f, x->owner);
    x->older = o->newest;
    x->newer = NO_FILE;
    *(o->newest != NO_FILE ? &file[o->newest].newer : &o->oldest) = n;
    o->newest = n;
}

void vllm_files_expect(const struct vllm_files *f, uint64_t key)
{
    id_table_expect(&f->store->files, key);
}

int vllm_files_claim(struct vllm_files *f, uint64_t key)
{
    struct store *s = f->store;
    if (id_table_find(&s->files, key) != ID_NONE)
        return 0;
    if (vllm_files_are_full(f))
        return -ENOSPC;
    struct file *grown = id_table_reserve_item(&s->files, s->file, &s->file_cap, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    s->file = grown;
    s->file[id_table_add(&s->files, key)] =
        (struct file){.older = NO_FILE, .newer = NO_FILE, .owner = f->number};
    order_of(f, f->number)->count++;
    return 0;
}

void vllm_files_put(struct vllm_files *f, uint64_t key)
{
    const uint32_t n = id_table_find(&f->store->files, key);
    if (n == ID_NONE || f->store->file[n].written)
        return;
    f->store->file[n].written = true;
    put_newest(f, n);
}

void vllm_files_read(struct vllm_files *f, uint64_t key)
{
    const uint32_t n = id_table_find(&f->store->files, key);
    if (n == ID_NONE || !f->store->file[n].written)
        return;
    take_out(f, n);
    put_newest(f, n);
}

bool vllm_files_are_full(const struct vllm_files *f)
{
    const struct file_order *o = order_of(f, f->number);
    return o->most && o->count >= o->most;
}

bool vllm_files_clean(struct vllm_files *f, uint64_t *key)
{
    struct file_order *o = order_of(f, f->number);
    const uint32_t n = o->oldest;
    if (n == NO_FILE || o->count <= kv_files_cleaned(o->most))
        return false;
    *key = id_table_id(&f->store->files, n);
    take_out(f, n);
    o->count--;
    id_table_remove(&f->store->files, n);
    return true;
}

/* ---- answers ---- */

/* Room for one answer more. 0 or -ENOMEM. */
static int reserve_answer(struct vllm_files *f)
{
    if (id_table_reserve(&f->answers, 1))
        return -ENOMEM;
    if (f->cap >= f->answers.cap)
        return 0;
    if (memory_resize(&f->answer, f->answers.cap, sizeof(*f->answer)) < 0 ||
        memory_resize(&f->asked, f->answers.cap, sizeof(*f->asked)) < 0)
        return -ENOMEM;
    f->cap = f->answers.cap;
    return 0;
}

enum files_answer vllm_files_ask(struct vllm_files *f, uint64_t key, bool first)
{
    if (f->at_once)
        return vllm_files_has(f, key) ? FILES_HIT : FILES_MISS;
    const uint32_t known = id_table_find(&f->answers, key);
    if (known != ID_NONE) {
        f->answer[known].holders += first;
        return f->answer[known].answer;
    }
    if (reserve_answer(f))
        return FILES_FAILED;
    const uint32_t a = id_table_add(&f->answers, key);
    f->answer[a] = (struct answer){.key = key, .holders = 1, .answer = FILES_ASKED};
    f->asked[f->questions++] = a;
    return FILES_ASKED;
}

void vllm_files_leave(struct vllm_files *f, uint64_t key)
{
    const uint32_t a = id_table_find(&f->answers, key);
    if (f->at_once || a == ID_NONE || --f->answer[a].holders)
        return;
    id_table_remove(&f->answers, a);
    for (uint32_t i = 0; f->answer[a].answer == FILES_ASKED && i < f->questions; i++)
        if (f->asked[i] == a)
            f->asked[i--] = f->asked[--f->questions];
}

void vllm_files_step(struct vllm_files *f)
{
    for (uint32_t i = 0; i < f->questions; i++) {
        struct answer *a = &f->answer[f->asked[i]];
        if (i + ID_TABLE_AHEAD < f->questions)
            id_table_expect(&f->store->files, f->answer[f->asked[i + ID_TABLE_AHEAD]].key);
        a->answer = vllm_files_has(f, a->key) ? FILES_HIT : FILES_MISS;
    }
    f->questions = 0;
}
