/* population.h - the synthetic users: drawn from the personas, or read from a file. */
#ifndef KVGEN_SOURCE_POPULATION_H
#define KVGEN_SOURCE_POPULATION_H

#include <stddef.h>
#include <stdint.h>

#include "kvgen/workload.h"
#include "lib/base/err.h"

/* One user: the same for all of a run. */
struct person {
    int64_t context_tokens, generated_tokens; /* the most that one request of theirs has */
    int64_t think_ns;
    uint8_t qos;      /* enum trace_qos */
    uint32_t name_at; /* place of the name in the population's own text */
    uint8_t name_len;
};

struct population;

/* Draws count users, user i from stream i of the seed alone, so that more users change none. */
int population_draw(struct population **out, const struct workload *w, uint64_t count,
                    uint64_t seed, struct err *e);
/* The first count rows of a CSV (plain or zstd) with the columns User, Context_Tokens,
 * Generation_Tokens, Think_s, QoS in any order. Fewer rows, a bad row, a name that stands twice:
 * -EINVAL. */
int population_load(struct population **out, const char *path, uint64_t count, struct err *e);
/* Writes that CSV ("-": standard output); a file appears whole or not at all. */
int population_save(const struct population *p, const char *path, struct err *e);
void population_free(struct population *p);

uint64_t population_count(const struct population *p);
const struct person *population_person(const struct population *p, uint32_t i);
/* Not NUL-terminated. */
const char *population_name(const struct population *p, uint32_t i, size_t *len);

#endif
