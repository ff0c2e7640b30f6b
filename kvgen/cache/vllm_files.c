/* vllm_files.c - vLLM 0.33.0: what its file tier has and what it has answered. */
#include "kvgen/cache/vllm_files.h"

#include <errno.h>
#include <stdlib.h>

#include "kvgen/cache/id_table.h"

/* An answer that somebody holds. */
struct answer {
    uint64_t key;
    uint32_t holders;
    enum files_answer answer;
};

struct vllm_files {
    struct id_table files; /* their numbers mean nothing */
    struct id_table answers;
    struct answer *answer; /* by number */
    uint32_t *asked;       /* answers that the end of the step brings */
    uint32_t cap, questions;
    bool at_once;
    uint64_t most, claimed; /* claimed: room for files that are being written */
};

struct vllm_files *vllm_files_create(bool at_once, uint64_t most)
{
    struct vllm_files *f = calloc(1, sizeof(*f));
    if (!f)
        return NULL;
    f->at_once = at_once;
    f->most = most;
    return f;
}

void vllm_files_free(struct vllm_files *f)
{
    if (!f)
        return;
    id_table_free(&f->files);
    id_table_free(&f->answers);
    free(f->answer);
    free(f->asked);
    free(f);
}

bool vllm_files_has(const struct vllm_files *f, uint64_t key)
{
    return id_table_find(&f->files, key) != ID_NONE;
}

bool vllm_files_claim(struct vllm_files *f, uint64_t key)
{
    if (!f->most || vllm_files_has(f, key))
        return true;
    if (f->files.count + f->claimed >= f->most)
        return false;
    f->claimed++;
    return true;
}

int vllm_files_put(struct vllm_files *f, uint64_t key)
{
    if (vllm_files_has(f, key))
        return 0;
    f->claimed -= f->most > 0;
    if (id_table_reserve(&f->files, 1))
        return -ENOMEM;
    id_table_add(&f->files, key);
    return 0;
}

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
    for (uint32_t i = 0; i < f->questions; i++)
        if (f->asked[i] == a)
            f->asked[i--] = f->asked[--f->questions];
}

void vllm_files_step(struct vllm_files *f)
{
    for (uint32_t i = 0; i < f->questions; i++) {
        struct answer *a = &f->answer[f->asked[i]];
        a->answer = vllm_files_has(f, a->key) ? FILES_HIT : FILES_MISS;
    }
    f->questions = 0;
}
