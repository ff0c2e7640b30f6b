/* keys.h - the keys of live objects, for identities that do not tell them: those of another trace.
 * Memory is that of the keys held. */
#ifndef KVGEN_KEYS_H
#define KVGEN_KEYS_H

#include <stddef.h>

#include "kvgen/source/ident.h"
#include "lib/trace/trace.h"

struct keys;

struct keys *keys_create(void); /* NULL: no memory */
void keys_free(struct keys *k);
/* The identity of a key: 124 bits of its hash (XXH3). */
struct ident keys_ident(struct trace_str key);
/* Holds a copy of the key of id, which is not held yet. 0 or -ENOMEM. */
int keys_hold(struct keys *k, struct ident id, struct trace_str key);
/* Lent until it is dropped; empty: not held. */
struct trace_str keys_text(const struct keys *k, struct ident id);
void keys_drop(struct keys *k, struct ident id); /* one that is held */

#endif
