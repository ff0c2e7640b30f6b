/* admission.h - which objects a tier takes when they are offered to be stored. Objects are known by
 * 64-bit keys. */
#ifndef KVGEN_POLICY_ADMISSION_H
#define KVGEN_POLICY_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

enum admission_rule {
    ADMISSION_ALWAYS,
    ADMISSION_SEEN,    /* at its n-th use, among the keys that were used last */
    ADMISSION_TINYLFU, /* where it displaces another: if it is used more often than that */
    ADMISSION_RULES
};

enum {
    ADMISSION_MOST_TIMES = 15,
    ADMISSION_SEEN_KEYS = 8 /* ADMISSION_SEEN counts so many keys an object of the capacity */
};

struct admission;

/* capacity: objects that the tier has room for, 1 to 2^26. times: of ADMISSION_SEEN, 1 to
 * ADMISSION_MOST_TIMES. NULL: no memory.
 *
 * ADMISSION_TINYLFU (Einziger, Friedman, Manes: "TinyLFU: a highly efficient cache admission
 * policy", ACM Transactions on Storage 2017) counts uses in a count-min sketch of 4 rows with 16
 * counters of 4 bits an object, which halves all counters every 10 uses an object. It has no
 * doorkeeper. */
struct admission *admission_create(enum admission_rule rule, uint64_t capacity, uint32_t times);
void admission_free(struct admission *a); /* takes NULL */

/* A request uses the object, whether the tier has it or not. */
void admission_use(struct admission *a, uint64_t key);
/* Uses of it as they are counted, at most ADMISSION_MOST_TIMES; 0 with ADMISSION_ALWAYS. */
uint32_t admission_uses(const struct admission *a, uint64_t key);
/* Whether the tier takes it. victim: the object that would leave for it; NULL: there is room. Only
 * questions: they change nothing. */
bool admission_allows(const struct admission *a, uint64_t key, const uint64_t *victim);

#endif
