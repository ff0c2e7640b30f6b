/* Raises the limit of open files before a tier opens many of them: a shell's soft limit is often
 * far below what the host allows. The caller decides what to do when the limit stays too low. */
#include "lib/base/descriptors.h"

#include <sys/resource.h>

#define DESCRIPTORS_SPARE 64u /* input, output, rings, libraries */

uint64_t descriptors_want(uint64_t files)
{
    uint64_t all = files + DESCRIPTORS_SPARE;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return files;
    if (limit.rlim_cur < all && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = all < limit.rlim_max ? all : limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) < 0 && getrlimit(RLIMIT_NOFILE, &limit) < 0)
            return files;
    }
    if (limit.rlim_cur >= all)
        return files;
    return limit.rlim_cur > DESCRIPTORS_SPARE ? limit.rlim_cur - DESCRIPTORS_SPARE : 0;
}
