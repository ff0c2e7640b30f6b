/* scale.h - how large a test makes what it only repeats: tests/run sets TEST_SCALE in sanitizer
 * builds, where all is ten times as slow and an error of memory shows in the first rounds too. */
#ifndef KVTRACE_TESTS_UNIT_SCALE_H
#define KVTRACE_TESTS_UNIT_SCALE_H

#include <stdlib.h>

/* full / TEST_SCALE, at least 1; full without TEST_SCALE. */
static inline int scaled(int full)
{
    const char *text = getenv("TEST_SCALE");
    int scale = text ? atoi(text) : 1;

    return scale < 2 ? full : full / scale > 0 ? full / scale : 1;
}

#endif
