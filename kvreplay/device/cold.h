/* --cold: before the clock starts, what the targets hold is driven out of the page cache, and it is
 * proven that reads go to the device; after the run, that its reads did. */
#ifndef KVREPLAY_DEVICE_COLD_H
#define KVREPLAY_DEVICE_COLD_H

#include <stdbool.h>

#include "lib/facts/origin.h"
#include "lib/io/target_device.h"

struct cold {
    bool asked;
    char why[160]; /* it is not cold; "": it is, as far as is known */
};

/* n targets, each the descriptor of a directory, or of a slab or block device, on the device at its
 * place. Sets c. */
void cold_make(struct cold *c, const int *target, const struct target_device *const *device,
               unsigned n);
/* After the run: where the bytes of its reads came from. */
void cold_judge(struct cold *c, const struct origin *reads);
/* "cold", or "not cold: ...". Returns buf. */
enum {
    COLD_TEXT = 176
};
const char *cold_text(char buf[COLD_TEXT], const struct cold *c);

#endif
