/* frozen.h - the requests of a run, written down as they arrive, so that other simulations get the
 * same requests at the same times. */
#ifndef KVGEN_WORTH_FROZEN_H
#define KVGEN_WORTH_FROZEN_H

#include "kvgen/source/source.h"

struct frozen;

/* Takes down what source gives; source stays the caller's, and in place. It is kept in a temporary
 * file. 0 or negative errno with *e. */
int frozen_create(struct frozen **out, struct source *source, struct err *e);
void frozen_free(struct frozen *f);
/* The source that writes down its requests as they are taken. Lent; do not close it. */
struct source *frozen_recorder(struct frozen *f);
/* Tokens of a block of the first request that came as blocks; 0: none did. */
uint32_t frozen_block_tokens(const struct frozen *f);
/* A source of what was written down, from the first request on; answers bring no request. Lent
 * until the next call; do not close it. 0 or negative errno with *e. */
int frozen_play(struct frozen *f, struct source **out, struct err *e);

#endif
