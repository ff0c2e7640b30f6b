/* page_files.h - the file back end of SGLang 0.5.23 (HiCacheFile): one file a page, without a bound
 * or with a cap, above which the least recently used files go in batches. Pure state. One thread at
 * a time. */
#ifndef KVGEN_CACHE_PAGE_FILES_H
#define KVGEN_CACHE_PAGE_FILES_H

#include <stdbool.h>
#include <stdint.h>

struct page_files;
struct chain_numbers;

/* max_pages: 0: no bound. ratio: of it, what stays after an eviction (0.9). numbers: those of the
 * keys; NULL: keys are hashes. NULL: no memory. */
struct page_files *page_files_create(uint64_t max_pages, double ratio,
                                     struct chain_numbers *numbers);
/* The same files for another engine, which frees them, too: they go with the last one. */
struct page_files *page_files_share(struct page_files *f);
void page_files_free(struct page_files *f); /* takes NULL */
/* Room for that many further pages. 0 or -ENOMEM. */
int page_files_reserve(struct page_files *f, uint64_t more);

bool page_files_has(const struct page_files *f, uint64_t page); /* a question: no use */
/* false: it is neither there nor being written. */
bool page_files_use(struct page_files *f, uint64_t page);
/* Before a page is stored: the next file to delete for it, which is then gone. false: there is room
 * now. */
bool page_files_evict(struct page_files *f, uint64_t *page);
bool page_files_full(const struct page_files *f); /* after that: no file could go */
/* It is absent, and reserved. */
void page_files_store(struct page_files *f, uint64_t page);
/* The same in two steps: it is counted, but not there until page_files_store. */
void page_files_begin(struct page_files *f, uint64_t page);
/* While it is read its file stays. It is there. */
void page_files_pin(struct page_files *f, uint64_t page);
void page_files_unpin(struct page_files *f, uint64_t page);
uint64_t page_files_count(const struct page_files *f); /* those that are being written, too */

#endif
