/* Names for kvreplay/like: what an engine makes of the hash of tokens, we make of the object's
 * hash. target_files.c knows these names again. */
#include "kvreplay/like/names.h"

#include <stdio.h>
#include <string.h>

#define HASH_LEN TARGET_FILES_HASH_LEN

/* 64 digits from two hashes with fixed seeds. */
static void name_hash(struct hash128 object, char text[HASH_LEN + 1])
{
    for (uint64_t seed = 0; seed < 2; seed++) {
        const uint64_t seeded[3] = {seed, object.lo, object.hi};

        hash_hex(hash_128(seeded, sizeof(seeded)), text + seed * HASH_HEX_LEN);
    }
}

void like_name_flat(struct like_name *n, struct hash128 object)
{
    char hash[HASH_LEN + 1];

    name_hash(object, hash);
    snprintf(n->path, sizeof(n->path), TARGET_FILES_FLAT "%s.data", hash);
    snprintf(n->temporary, sizeof(n->temporary), TARGET_FILES_FLAT "%s.tmp", hash);
}

void like_name_tree(struct like_name *n, struct hash128 object, unsigned writer)
{
    char hash[HASH_LEN + 1];

    name_hash(object, hash);
    snprintf(n->path, sizeof(n->path), "%.3s/%.2s_g0/%s.bin", hash, hash + 3, hash);
    snprintf(n->temporary, sizeof(n->temporary), "%.3s/%.2s_g0/%s.bin.%u.tmp", hash, hash + 3, hash,
             writer);
}

void like_name_folder(const struct like_name *n, bool deep, char folder[LIKE_PATH_CAP])
{
    const char *end = deep ? strrchr(n->path, '/') : strchr(n->path, '/');

    snprintf(folder, LIKE_PATH_CAP, "%.*s", (int)(end - n->path), n->path);
}
