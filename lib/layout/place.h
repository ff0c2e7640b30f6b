/* The handle (tier_op.place) of an object that a store finds by its name: its length, and the epoch
 * in its name as the number of an entry in a table. */
#ifndef KVTRACE_LAYOUT_PLACE_H
#define KVTRACE_LAYOUT_PLACE_H

#include <stdbool.h>
#include <stdint.h>

/* Bits 0 to 46: the length. 48 to 63: the entry. */
#define PLACE_BYTES_MAX ((UINT64_C(1) << 47) - 1)
/* A write has failed that was to replace the object under another name: a removal takes what may
 * lie under both names. */
#define PLACE_TWICE (UINT64_C(1) << 47)
enum {
    PLACE_EPOCHS_MAX = 65536
};

static inline uint64_t place_bytes(const void *place)
{
    return (uint64_t)(uintptr_t)place & PLACE_BYTES_MAX;
}
static inline unsigned place_epoch(const void *place)
{
    return (unsigned)((uint64_t)(uintptr_t)place >> 48);
}
static inline bool place_twice(const void *place)
{
    return (uint64_t)(uintptr_t)place & PLACE_TWICE;
}
static inline void *place_of(uint64_t bytes, unsigned epoch)
{
    return (void *)(uintptr_t)(bytes | (uint64_t)epoch << 48);
}

/* The epochs of a store's objects. Entry 0 is that of this run, which all of its writes get; the
 * others are those of adopted objects. Entries are added before the run, by one thread. */
struct place_epochs {
    uint32_t *epoch; /* NULL: none but own */
    unsigned count;  /* with entry 0 */
    uint32_t own;
};
void place_epochs_open(struct place_epochs *p, uint32_t own);
void place_epochs_close(struct place_epochs *p);
/* *place: of an object of that epoch. 0; -EFBIG: it is too long; or as above. */
int place_epochs_place(struct place_epochs *p, uint32_t epoch, uint64_t bytes, void **place);
static inline uint32_t place_epochs_get(const struct place_epochs *p, const void *place)
{
    unsigned i = place_epoch(place);

    return i == 0 ? p->own : p->epoch[i - 1];
}

#endif
