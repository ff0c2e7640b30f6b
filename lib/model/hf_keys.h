/* Which keys of a config.json are known. A key that may change the size of the cache and that
 * nothing here knows must not be passed over. */
#ifndef KVTRACE_MODEL_HF_KEYS_H
#define KVTRACE_MODEL_HF_KEYS_H

#include "lib/base/notes.h"
#include "lib/model/hf_fields.h"

/*
 * Looks at the keys of the language model, and at those of the document around it.
 *
 * A key is passed when its value says that it is off or empty (null, false, [], {}, a number of
 * something that is 0), when it is read elsewhere or known to be harmless, or when its name is not
 * about the cache. A name is about the cache when one of its words (between underscores) is: layer,
 * head, attention, window, state, share ...; but not when another word puts it elsewhere: norm,
 * rope, moe, dropout, vision ... The members of an unknown object are looked at in the same way.
 *
 * Other keys are added to ignored; with ignored NULL the first is an error: -EINVAL, naming it.
 */
int hf_keys_check(const struct hf_reader *r, struct notes *ignored);

#endif
