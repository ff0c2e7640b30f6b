/* A hash table from keys (128-bit hashes) to 64-bit numbers. 24 bytes a place; at most half of the
 * places are taken. One thread at a time. */
#ifndef KVTRACE_BASE_KEYMAP_H
#define KVTRACE_BASE_KEYMAP_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/hash.h"

struct keymap;

struct keymap *keymap_create(void); /* NULL: no memory */
void keymap_free(struct keymap *m);
/* Returns the key's number, valid until the next get or remove; NULL: the key is absent. */
uint64_t *keymap_find(const struct keymap *m, struct hash128 key);
/* Returns the key's number; adds an absent key with the number `absent`. NULL: no memory. */
uint64_t *keymap_get(struct keymap *m, struct hash128 key, uint64_t absent);
/* Removes the key if it is there. */
void keymap_remove(struct keymap *m, struct hash128 key);
size_t keymap_count(const struct keymap *m);

#endif
