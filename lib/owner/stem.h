/* The name that an object has in a store of any kind, without what the kind puts around it: the
 * hash of the object and the epoch of the run that wrote it, "<32 hex digits>-<8 hex digits>". What
 * a stopped run still has under way can so never replace what another run has written. */
#ifndef KVTRACE_OWNER_STEM_H
#define KVTRACE_OWNER_STEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/hash.h"

enum {
    STEM_CAP = HASH_HEX_LEN + sizeof("-01234567")
};

/* epoch 0: of a version that named objects by their hash alone. Such names are never written. */
void stem_format(char stem[STEM_CAP], struct hash128 object, uint32_t epoch);
/* Reads the stem that name[0..len) begins with. Returns its length; 0: it begins otherwise. */
size_t stem_take(const char *name, size_t len, struct hash128 *object, uint32_t *epoch);
/* Is name "STEM.kv", the name of an object's file or of its object in S3? */
bool stem_names_object(const char *name);

#endif
