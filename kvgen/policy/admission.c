/* Admission to a tier. Uses are counted exactly for the keys that were used last, in a table with a
 * ring, or roughly for all, in a sketch. */
#include "kvgen/policy/admission.h"

#include <stdlib.h>

#include "kvgen/cache/id_table.h"
#include "lib/base/hash.h"

enum {
    ROWS = 4,
    COUNTERS = 4, /* of a row, an object */
    HALVED = 10   /* uses an object */
};

/* A key that is counted; place 0 is the head of the ring, least recently used first. */
struct seen {
    uint32_t prev, next;
    uint8_t uses;
};

struct admission {
    enum admission_rule rule;
    uint32_t times;
    /* ADMISSION_SEEN */
    struct id_table keys;
    struct seen *seen; /* by number + 1 */
    uint64_t most;
    /* ADMISSION_TINYLFU */
    uint8_t *counters; /* two a byte */
    uint64_t width, uses, period;
};

struct admission *admission_create(enum admission_rule rule, uint64_t capacity, uint32_t times)
{
    struct admission *a = calloc(1, sizeof(*a));
    bool failed = !a;
    if (!failed)
        *a = (struct admission){.rule = rule,
                                .times = times,
                                .most = ADMISSION_SEEN_KEYS * capacity,
                                .width = COUNTERS * capacity,
                                .period = HALVED * capacity};
    if (!failed && rule == ADMISSION_SEEN) {
        a->seen = calloc(a->most + 1, sizeof(*a->seen));
        failed = !a->seen || id_table_reserve(&a->keys, a->most) < 0;
    } else if (!failed && rule == ADMISSION_TINYLFU) {
        a->counters = calloc(ROWS * a->width / 2, 1);
        failed = !a->counters;
    }
    if (!failed)
        return a;
    admission_free(a);
    return NULL;
}

void admission_free(struct admission *a)
{
    if (!a)
        return;
    id_table_free(&a->keys);
    free(a->seen);
    free(a->counters);
    free(a);
}

/* ---- keys that were used last ---- */

static void unlink_seen(struct admission *a, uint32_t place)
{
    a->seen[a->seen[place].prev].next = a->seen[place].next;
    a->seen[a->seen[place].next].prev = a->seen[place].prev;
}

static void see(struct admission *a, uint64_t key)
{
    const uint32_t known = id_table_find(&a->keys, key);
    uint32_t place = known + 1;
    if (known != ID_NONE) {
        unlink_seen(a, place);
    } else {
        if (a->keys.count == a->most) {
            const uint32_t oldest = a->seen[0].next;
            unlink_seen(a, oldest);
            id_table_remove(&a->keys, oldest - 1);
        }
        place = id_table_add(&a->keys, key) + 1;
        a->seen[place].uses = 0;
    }
    if (a->seen[place].uses < ADMISSION_MOST_TIMES)
        a->seen[place].uses++;
    a->seen[place].prev = a->seen[0].prev;
    a->seen[place].next = 0;
    a->seen[a->seen[place].prev].next = place;
    a->seen[0].prev = place;
}

/* ---- the sketch ---- */

static uint64_t counter_of(const struct admission *a, uint64_t row, uint64_t key)
{
    const uint64_t hash = hash_mix(key + (row + 1) * UINT64_C(0x9e3779b97f4a7c15));
    return row * a->width + ((hash >> 32) * a->width >> 32);
}

static uint32_t value_of(const struct admission *a, uint64_t counter)
{
    return a->counters[counter / 2] >> (counter % 2 * 4) & 15;
}

static uint32_t estimate(const struct admission *a, uint64_t key)
{
    uint32_t least = 15;
    for (uint64_t row = 0; row < ROWS; row++) {
        const uint32_t value = value_of(a, counter_of(a, row, key));
        least = value < least ? value : least;
    }
    return least;
}

static void count(struct admission *a, uint64_t key)
{
    for (uint64_t row = 0; row < ROWS; row++) {
        const uint64_t counter = counter_of(a, row, key);
        if (value_of(a, counter) < 15)
            a->counters[counter / 2] = (uint8_t)(a->counters[counter / 2] + (1 << counter % 2 * 4));
    }
    if (++a->uses % a->period)
        return;
    for (uint64_t i = 0; i < ROWS * a->width / 2; i++)
        a->counters[i] = a->counters[i] >> 1 & 0x77;
}

/* ---- the rules ---- */

void admission_use(struct admission *a, uint64_t key)
{
    if (a->rule == ADMISSION_SEEN)
        see(a, key);
    else if (a->rule == ADMISSION_TINYLFU)
        count(a, key);
}

uint32_t admission_uses(const struct admission *a, uint64_t key)
{
    if (a->rule == ADMISSION_TINYLFU)
        return estimate(a, key);
    const uint32_t known = id_table_find(&a->keys, key);
    return a->rule == ADMISSION_ALWAYS || known == ID_NONE ? 0 : a->seen[known + 1].uses;
}

bool admission_allows(const struct admission *a, uint64_t key, const uint64_t *victim)
{
    switch (a->rule) {
    case ADMISSION_SEEN:
        return admission_uses(a, key) >= a->times;
    case ADMISSION_TINYLFU:
        return !victim || estimate(a, key) > estimate(a, *victim);
    case ADMISSION_ALWAYS:
    case ADMISSION_RULES:
        break;
    }
    return true;
}
