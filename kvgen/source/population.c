/* population.c - who the synthetic users are. The source of users asks here for lengths, think time
 * and service class of each; when they ask for something is the source's business. */
#include "kvgen/source/population.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/rng.h"
#include "kvgen/source/population_file.h"
#include "lib/base/units.h"
#include "lib/trace/trace.h"

/* Streams of the seed: behaviour is stream i, what a user is stream 2^32 + i. */
#define DRAW_STREAM ((uint64_t)1 << 32)

struct population {
    struct person *person;
    uint64_t count, cap;
    char *names;
    size_t names_len, names_cap;
};

static struct population *population_create(uint64_t cap)
{
    struct population *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->person = calloc(cap, sizeof(*p->person));
    p->cap = cap;
    if (!p->person) {
        free(p);
        return NULL;
    }
    return p;
}

void population_free(struct population *p)
{
    if (!p)
        return;
    free(p->person);
    free(p->names);
    free(p);
}

int population_add(struct population *p, const struct person *person, const char *name, size_t len)
{
    if (p->names_cap - p->names_len < len) {
        size_t cap = (p->names_cap + len) * 2;
        char *names = realloc(p->names, cap);
        if (!names)
            return -ENOMEM;
        p->names = names;
        p->names_cap = cap;
    }
    memcpy(p->names + p->names_len, name, len);
    p->person[p->count] = *person;
    p->person[p->count].name_at = (uint32_t)p->names_len;
    p->person[p->count].name_len = (uint8_t)len;
    p->count++;
    p->names_len += len;
    return 0;
}

bool population_full(const struct population *p)
{
    return p->count == p->cap;
}

static void draw_person(struct person *person, const struct workload *w, struct rng *r)
{
    const struct workload_persona *kind = &w->persona[rng_below(r, WORKLOAD_PERSONAS)];
    person->context_tokens = rng_range(r, kind->context[0], kind->context[1]);
    person->generated_tokens = rng_range(r, kind->generation[0], kind->generation[1]);
    double think_s = rng_uniform(r, kind->think_s[0], kind->think_s[1]);
    person->think_ns = (int64_t)(think_s * (double)UNITS_NS_PER_S + 0.5);
    double u = rng_unit(r);
    person->qos = u < w->interactive        ? TRACE_INTERACTIVE
                  : u < w->responsive_below ? TRACE_RESPONSIVE
                                            : TRACE_BATCH;
}

int population_draw(struct population **out, const struct workload *w, uint64_t count,
                    uint64_t seed, struct err *e)
{
    struct population *p = population_create(count);
    for (uint64_t i = 0; p && i < count; i++) {
        struct rng r;
        struct person person = {0};
        char name[32];
        rng_seed(&r, seed, DRAW_STREAM + i);
        draw_person(&person, w, &r);
        int len = snprintf(name, sizeof(name), "user_%04llu", (unsigned long long)i);
        if (population_add(p, &person, name, (size_t)len) < 0) {
            population_free(p);
            p = NULL;
        }
    }
    *out = p;
    return !p ? err_nomem(e, "users") : 0;
}

int population_load(struct population **out, const char *path, uint64_t count, struct err *e)
{
    struct population *p = population_create(count);
    if (!p)
        return err_nomem(e, "users");
    int rc = population_read(p, path, e);
    if (rc == 0 && p->count < count)
        rc = err_set(e, -EINVAL, ERR_INPUT, path,
                     "%llu users are wanted (--num-users) and %llu are there",
                     (unsigned long long)count, (unsigned long long)p->count);
    if (rc < 0) {
        population_free(p);
        p = NULL;
    }
    *out = p;
    return rc;
}

uint64_t population_count(const struct population *p)
{
    return p->count;
}

const struct person *population_person(const struct population *p, uint32_t i)
{
    return &p->person[i];
}

const char *population_name(const struct population *p, uint32_t i, size_t *len)
{
    *len = p->person[i].name_len;
    return p->names + p->person[i].name_at;
}
