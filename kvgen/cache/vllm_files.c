/* vllm_files.c - vLLM 0.33.0: what its file tier has and what it has answered. A file takes room
 * from the begin of its write; the cleaner, which is no part of the engine, removes files that were
 * read, or else written, longest ago. */
#include "kvgen/cache/vllm_files.h"

#include <errno.h>
#include <stdlib.h>

#include "kvgen/cache/cache.h"
#include "kvgen/cache/id_table.h"

/* A file that is there, or is being written: then it is in no order. */
struct file {
    uint32_t older, newer; /* by the last read; NO_FILE: none */
    bool written;
};
#define NO_FILE UINT32_MAX

/* An answer that somebody holds. */
struct answer {
    uint64_t key;
    uint32_t holders;
    enum files_answer answer;
};

struct vllm_files {
    struct id_table files;
    struct file *file; /* by number */
    uint32_t file_cap, oldest, newest;
    struct id_table answers;
    struct answer *answer; /* by number */
    uint32_t *asked;       /* answers that the end of the step brings */
    uint32_t cap, questions;
    bool at_once;
    uint64_t most;
};

struct vllm_files *vllm_files_create(bool at_once, uint64_t most)
{
    struct vllm_files *f = calloc(1, sizeof(*f));
    if (!f)
        return NULL;
    *f =
        (struct vllm_files){.at_once = at_once, .most = most, .oldest = NO_FILE, .newest = NO_FILE};
    return f;
}

void vllm_files_free(struct vllm_files *f)
{
    if (!f)
        return;
    id_table_free(&f->files);
    id_table_free(&f->answers);
    free(f->file);
    free(f->answer);
    free(f->asked);
    free(f);
}

/* ---- files ---- */

bool vllm_files_has(const struct vllm_files *f, uint64_t key)
{
    const uint32_t n = id_table_find(&f->files, key);
    return n != ID_NONE && f->file[n].written;
}

static void take_out(struct vllm_files *f, uint32_t n)
{
    const struct file *x = &f->file[n];
    *(x->older != NO_FILE ? &f->file[x->older].newer : &f->oldest) = x->newer;
    *(x->newer != NO_FILE ? &f->file[x->newer].older : &f->newest) = x->older;
}

static void put_newest(struct vllm_files *f, uint32_t n)
{
    f->file[n].older = f->newest;
    f->file[n].newer = NO_FILE;
    *(f->newest != NO_FILE ? &f->file[f->newest].newer : &f->oldest) = n;
    f->newest = n;
}

void vllm_files_expect(const struct vllm_files *f, uint64_t key)
{
    id_table_expect(&f->files, key);
}

int vllm_files_claim(struct vllm_files *f, uint64_t key)
{
    if (id_table_find(&f->files, key) != ID_NONE)
        return 0;
    if (vllm_files_are_full(f))
        return -ENOSPC;
    struct file *grown = id_table_reserve_item(&f->files, f->file, &f->file_cap, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    f->file = grown;
    f->file[id_table_add(&f->files, key)] = (struct file){NO_FILE, NO_FILE, false};
    return 0;
}

void vllm_files_put(struct vllm_files *f, uint64_t key)
{
    const uint32_t n = id_table_find(&f->files, key);
    if (n == ID_NONE || f->file[n].written)
        return;
    f->file[n].written = true;
    put_newest(f, n);
}

void vllm_files_read(struct vllm_files *f, uint64_t key)
{
    const uint32_t n = id_table_find(&f->files, key);
    if (n == ID_NONE || !f->file[n].written)
        return;
    take_out(f, n);
    put_newest(f, n);
}

bool vllm_files_are_full(const struct vllm_files *f)
{
    return f->most && f->files.count >= f->most;
}

bool vllm_files_clean(struct vllm_files *f, uint64_t *key)
{
    if (f->oldest == NO_FILE || f->files.count <= kv_files_cleaned(f->most))
        return false;
    const uint32_t n = f->oldest;
    *key = f->files.id[n];
    take_out(f, n);
    id_table_remove(&f->files, n);
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
    struct answer *answers = realloc(f->answer, f->answers.cap * sizeof(*answers));
    if (!answers)
        return -ENOMEM;
    f->answer = answers;
    uint32_t *asked = realloc(f->asked, f->answers.cap * sizeof(*asked));
    if (!asked)
        return -ENOMEM;
    f->asked = asked;
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
            id_table_expect(&f->files, f->answer[f->asked[i + ID_TABLE_AHEAD]].key);
        a->answer = vllm_files_has(f, a->key) ? FILES_HIT : FILES_MISS;
    }
    f->questions = 0;
}
