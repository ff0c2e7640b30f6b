/* Any bytes as a line of Dynamo's request trace: what the scan takes is JSON, with the same values.
 */
#include <stdint.h>
#include <stdlib.h>

#include "tests/unit/kvgen/dynamo_line_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dynamo_line l = {0};
    /* Twice: the first time teaches the order of names. */
    for (int i = 0; i < 2; i++)
        if (!scanned_as_read(&l, (const char *)data, size))
            abort();
    dynamo_line_free(&l);
    return 0;
}
