/* Any bytes as a line of a block-hash trace: what the fast reader takes, json-c takes too, with the
 * same values. */
#include <stdint.h>
#include <stdlib.h>

#include "tests/unit/kvgen/block_line_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct block_line l = {0};
    if (!same_as_json(&l, (const char *)data, size))
        abort();
    block_line_free(&l);
    return 0;
}
