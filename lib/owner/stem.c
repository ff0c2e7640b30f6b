/* Names of objects, for layouts of files (lib/tier), for Redis and for S3 (lib/remote). Strict,
 * because what has such a name may be removed. */
#include "lib/owner/stem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    EPOCH_HEX_LEN = 8
};

void stem_format(char stem[STEM_CAP], struct hash128 object, uint32_t epoch)
{
    hash_hex(object, stem);
    if (epoch)
        snprintf(stem + HASH_HEX_LEN, STEM_CAP - HASH_HEX_LEN, "-%08" PRIx32, epoch);
}

/* A number of digits hexadecimal digits, in small letters. */
static bool take_hex(const char *text, size_t len, size_t digits, uint64_t *value)
{
    if (len < digits)
        return false;
    *value = 0;
    for (size_t i = 0; i < digits; i++) {
        char c = text[i];

        if (c >= '0' && c <= '9')
            *value = *value << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            *value = *value << 4 | (uint64_t)(c - 'a' + 10);
        else
            return false;
    }
    return true;
}

size_t stem_take(const char *name, size_t len, struct hash128 *object, uint32_t *epoch)
{
    const size_t half = HASH_HEX_LEN / 2;
    uint64_t number;

    if (!take_hex(name, len, half, &object->hi) ||
        !take_hex(name + half, len - half, half, &object->lo))
        return 0;
    *epoch = 0;
    if (len == HASH_HEX_LEN || name[HASH_HEX_LEN] != '-')
        return HASH_HEX_LEN;
    if (!take_hex(name + HASH_HEX_LEN + 1, len - HASH_HEX_LEN - 1, EPOCH_HEX_LEN, &number) ||
        number == 0)
        return 0;
    *epoch = (uint32_t)number;
    return HASH_HEX_LEN + 1 + EPOCH_HEX_LEN;
}

bool stem_names_object(const char *name)
{
    struct hash128 object;
    uint32_t epoch;
    size_t stem = stem_take(name, strlen(name), &object, &epoch);

    return stem && strcmp(name + stem, ".kv") == 0;
}
