/* ascending.h - numbers in ascending order, for qsort. */
#ifndef KVTRACE_SORT_ASCENDING_H
#define KVTRACE_SORT_ASCENDING_H

#include <stdint.h>

static inline int ascending_f64(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline int ascending_u64(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

#endif
