/* SGLang's file back end: which pages have a file, and which go when the cap is reached. It knows
 * nothing of prefixes, as the engine's does not. */
#include <stdlib.h>

#include "kvgen/cache/chunks.h"
#include "kvgen/cache/page_files.h"

struct page_files {
    struct chunks *chunks; /* as of its L2 */
    uint64_t max_pages, target;
    uint64_t users; /* engines that have them */
    bool evicting;
};

struct page_files *page_files_create(uint64_t max_pages, double ratio,
                                     struct chain_numbers *numbers)
{
    struct page_files *f = calloc(1, sizeof(*f));
    if (!f)
        return NULL;
    *f = (struct page_files){.chunks = chunks_create(CHUNK_LRU, CHUNK_LRU),
                             .max_pages = max_pages,
                             .users = 1,
                             .target = (uint64_t)((double)max_pages * ratio)};
    if (f->chunks && chunks_number(f->chunks, numbers) == 0)
        return f;
    chunks_free(f->chunks);
    free(f);
    return NULL;
}

struct page_files *page_files_share(struct page_files *f)
{
    f->users++;
    return f;
}

void page_files_free(struct page_files *f)
{
    if (!f || --f->users)
        return;
    chunks_free(f->chunks);
    free(f);
}

int page_files_reserve(struct page_files *f, uint64_t more)
{
    return chunks_reserve(f->chunks, more);
}

bool page_files_has(const struct page_files *f, uint64_t page)
{
    return chunks_held(f->chunks, CHUNK_L2, chunks_find(f->chunks, page));
}

bool page_files_use(struct page_files *f, uint64_t page)
{
    uint32_t number = chunks_find(f->chunks, page);
    if (number == CHUNK_NONE)
        return false;
    chunks_touch(f->chunks, CHUNK_L2, number);
    return true;
}

bool page_files_evict(struct page_files *f, uint64_t *page)
{
    uint64_t count = page_files_count(f);
    if (f->max_pages == 0)
        return false;
    /* The page itself is part of the target. */
    f->evicting = count > 0 && (f->evicting ? count + 1 > f->target : count + 1 > f->max_pages);
    if (!f->evicting)
        return false;
    uint32_t number = chunks_victim(f->chunks, CHUNK_L2);
    if (number == CHUNK_NONE)
        return f->evicting = false;
    *page = chunks_id(f->chunks, number);
    chunks_drop(f->chunks, CHUNK_L2, number);
    return true;
}

bool page_files_full(const struct page_files *f)
{
    return f->max_pages > 0 && page_files_count(f) >= f->max_pages;
}

void page_files_begin(struct page_files *f, uint64_t page)
{
    chunks_begin(f->chunks, CHUNK_L2, chunks_get(f->chunks, page));
}

void page_files_pin(struct page_files *f, uint64_t page)
{
    chunks_pin(f->chunks, CHUNK_L2, chunks_find(f->chunks, page));
}

void page_files_unpin(struct page_files *f, uint64_t page)
{
    chunks_unpin(f->chunks, CHUNK_L2, chunks_find(f->chunks, page));
}

void page_files_store(struct page_files *f, uint64_t page)
{
    chunks_put(f->chunks, CHUNK_L2, chunks_get(f->chunks, page));
}

uint64_t page_files_count(const struct page_files *f)
{
    return chunks_used(f->chunks, CHUNK_L2);
}
