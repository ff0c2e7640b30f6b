/* population.h - who the synthetic users are: drawn from the personas of the configuration, or read
 * from a file. Does not change once made; any thread may read it. */
#ifndef KVGEN_SOURCE_POPULATION_H
#define KVGEN_SOURCE_POPULATION_H

#include <stddef.h>
#include <stdint.h>

#include "kvgen/workload.h"
#include "lib/base/err.h"

/* One user. These values hold for the whole run. */
struct person {
    int64_t context_tokens, generated_tokens; /* upper bounds of one request, at least 1 */
    int64_t think_ns;                         /* mean time between requests */
    uint8_t qos;                              /* enum trace_qos */
    uint32_t name_at;                         /* place of the name in the population's text */
    uint8_t name_len;                         /* 1 to IDENT_MAX_USER_NAME */
};

struct population;

/* Draws count users (at least 1). User i depends on the seed and i alone, so asking for more users
 * changes none. 0 or -ENOMEM. */
int population_draw(struct population **out, const struct workload *w, uint64_t count,
                    uint64_t seed, struct err *e);
/* Reads the first count rows of a CSV (plain or zstd, "-": standard input) that has the columns
 * User, Context_Tokens, Generation_Tokens, Think_s and QoS in any order. -EINVAL with *e for too
 * few rows, a bad row or a name that occurs twice. */
int population_load(struct population **out, const char *path, uint64_t count, struct err *e);
/* Writes such a CSV ("-": standard output). A file appears whole or not at all. */
int population_save(const struct population *p, const char *path, struct err *e);
void population_free(struct population *p); /* NULL is fine */

uint64_t population_count(const struct population *p);
/* User i, from 0; lent. */
const struct person *population_person(const struct population *p, uint32_t i);
/* The name of user i, not NUL-terminated; lent. */
const char *population_name(const struct population *p, uint32_t i, size_t *len);

#endif
