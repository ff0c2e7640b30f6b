/* keymap.h - a number for each key, the key by its 128-bit hash: for what has to know the objects
 * there are. 24 bytes a place, at most half of the places taken. */
#ifndef KVTRACE_BASE_KEYMAP_H
#define KVTRACE_BASE_KEYMAP_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/hash.h"

struct keymap;

struct keymap *keymap_create(void); /* NULL: no memory */
void keymap_free(struct keymap *m);
/* The key's number, valid until the next get or remove; NULL: not there. */
uint64_t *keymap_find(const struct keymap *m, struct hash128 key);
/* The same; a new key gets the number absent. NULL: no memory. */
uint64_t *keymap_get(struct keymap *m, struct hash128 key, uint64_t absent);
/* Forgets the key; it may be absent. */
void keymap_remove(struct keymap *m, struct hash128 key);
size_t keymap_count(const struct keymap *m);

#endif
