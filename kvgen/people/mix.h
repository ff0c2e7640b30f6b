/* mix.h - which populations the users are of, and in what shares: --population. */
#ifndef KVGEN_PEOPLE_MIX_H
#define KVGEN_PEOPLE_MIX_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/err.h"

enum people_kind {
    PEOPLE_CHAT,
    PEOPLE_CODE,
    PEOPLE_DOCUMENTS,
    PEOPLE_KINDS
};

/* A plain value. All shares 0: mlperf, the personas of the configuration. */
struct people_mix {
    uint32_t share[PEOPLE_KINDS]; /* at most MIX_MOST */
};

enum {
    MIX_MOST = 1000000
};

const char *people_kind_name(enum people_kind k);
/* Whether the text asks for mix_help: "help". */
bool mix_asks(const char *text);
/* "mlperf", or NAME[=SHARE],...: each name once, SHARE a whole number from 1 (as unless given) to
 * MIX_MOST. 0 or -EINVAL. */
int mix_parse(struct people_mix *m, const char *text, struct err *e);
/* Whether the users are people, not mlperf's personas. */
bool mix_is_people(const struct people_mix *m);
/* All populations with their figures. 0 or -EIO. */
int mix_help(FILE *f, struct err *e);

/* Which kind each user is, user by user: whatever their number, each kind has its share of the
 * first users to within one. Zero before use, but for mix. */
struct mix_order {
    const struct people_mix *mix;
    uint64_t users, of_kind[PEOPLE_KINDS]; /* so far */
};

/* The kind of the next user. */
enum people_kind mix_next(struct mix_order *o);

#endif
