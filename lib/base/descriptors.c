/* Takes the three standard descriptors, and raises the limit of open files before a tier opens many
 * of them: a shell's soft limit is often far below what the host allows. The caller decides what to
 * do when the limit stays too low. */
#include "lib/base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

#define DESCRIPTORS_SPARE 64u /* input, output, rings, libraries */

void descriptors_open_standard(void)
{
    /* Each for the wrong direction, so that its use fails with EBADF, but for messages. */
    static const int flags[] = {O_WRONLY, O_RDONLY, O_WRONLY};

    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", flags[fd]) != fd)
            return; /* no /dev/null: nothing to be done */
}

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

uint64_t descriptors_limit(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) < 0 ? 0 : limit.rlim_cur;
}
