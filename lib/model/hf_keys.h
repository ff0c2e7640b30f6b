/* Which keys of a config.json are known. A key that changes the cache and that nothing here reads
 * must not be passed over; one whose name is about the cache is told. */
#ifndef KVTRACE_MODEL_HF_KEYS_H
#define KVTRACE_MODEL_HF_KEYS_H

#include "lib/base/notes.h"
#include "lib/model/hf_fields.h"

/*
 * Looks at the keys of the language model, and at those of the document around it.
 *
 * A key that is known to change the cache and is not read, and a kind of attention that is not
 * known, is an error: -EINVAL, which names all of them. If the reader may assume, they are assumed
 * to change nothing.
 *
 * Any other key passes. Its path is added to unread if a word of its name (between underscores) is
 * about the cache: layer, head, attention, window, state, share ...; but not when another word puts
 * it elsewhere: norm, rope, moe, dropout, vision ...; when its value says that it is off or empty
 * (null, false, [], {}, a number of something that is 0); or when it is read elsewhere or known to
 * be harmless. The members of an unknown object are looked at in the same way.
 */
int hf_keys_check(const struct hf_reader *r, struct notes *unread);

#endif
