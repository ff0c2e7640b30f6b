/* vllm_files.h - the tier below vLLM's host memory that keeps a file for each chunk
 * (TieringOffloading with `fs`). Asking it takes until the next step, and the engine removes
 * nothing: a write that finds no room fails, unless a cleaner beside the engine makes room. */
#ifndef KVGEN_CACHE_VLLM_FILES_H
#define KVGEN_CACHE_VLLM_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/cache/chain_numbers.h"

struct vllm_files;

/* at_once: questions are answered at once (the tier `example`). most: files that it has room for;
 * 0: no limit. numbers: those of the keys; NULL: keys are hashes. NULL: no memory. */
struct vllm_files *vllm_files_create(bool at_once, uint64_t most, struct chain_numbers *numbers);
void vllm_files_free(struct vllm_files *f); /* takes NULL */
/* f, which has no file yet, keeps its files where another engine does: each finds what the other
 * wrote, and room, limit and numbers are those of both. 0 or -ENOMEM. */
int vllm_files_join(struct vllm_files *f, struct vllm_files *with);
/* f may write so many of the files that it shares, and the cleaner removes its own only. All who
 * share them have such a limit, or none has. */
void vllm_files_limit(struct vllm_files *f, uint64_t most);

enum files_answer {
    FILES_ASKED, /* the answer is there in the next step */
    FILES_HIT,
    FILES_MISS,
    FILES_FAILED /* no memory */
};
/* Is there a file for that key? first: this request has not asked for it yet; it then holds the
 * answer, which stays as it is until all who asked have left. */
enum files_answer vllm_files_ask(struct vllm_files *f, uint64_t key, bool first);
/* A request that asked for the key leaves. */
void vllm_files_leave(struct vllm_files *f, uint64_t key);
/* The step ends: questions are answered, by the files that are there now. */
void vllm_files_step(struct vllm_files *f);
/* It is about to be claimed. */
void vllm_files_expect(const struct vllm_files *f, uint64_t key);
/* A write of a file begins: takes room for it, unless it is there or being written. 0, -ENOSPC or
 * -ENOMEM. */
int vllm_files_claim(struct vllm_files *f, uint64_t key);
/* A file is written, after vllm_files_claim. One that was there then and is gone now was not
 * written again. */
void vllm_files_put(struct vllm_files *f, uint64_t key);
/* A file is read, if it is there. */
void vllm_files_read(struct vllm_files *f, uint64_t key);
bool vllm_files_has(const struct vllm_files *f, uint64_t key);
bool vllm_files_are_full(const struct vllm_files *f);
/* The cleaner removes the file that was read longest ago (written, if it never was), whose name is
 * in *key. false: it is done, or all that is left is being written. */
bool vllm_files_clean(struct vllm_files *f, uint64_t *key);

#endif
