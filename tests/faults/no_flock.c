/* Preloaded into a program (LD_PRELOAD): its file system knows no locks of flock(2), as some
 * network file systems and FUSE do not. */
#include <errno.h>
#include <sys/file.h>

int flock(int fd, int operation)
{
    (void)fd, (void)operation;
    errno = ENOSYS;
    return -1;
}
