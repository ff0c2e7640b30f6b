/* Preloaded into a program (LD_PRELOAD), makes each yield of its own code, not of libraries, take
 * 20 ms, as where others have all processors. A line in the file YIELDS tells of each. */
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int sched_yield(void)
{
    const struct timespec away = {.tv_nsec = 20000000};
    const char *path = getenv("YIELDS");
    Dl_info from;

    if (!path || !dladdr(__builtin_return_address(0), &from) ||
        !strstr(from.dli_fname, "kvreplay-mpi"))
        return 0;
    nanosleep(&away, NULL);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, "\n", 1) != 1)
        _exit(99);
    return close(fd);
}
