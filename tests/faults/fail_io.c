/* Preloaded into a program (LD_PRELOAD): one object of a file store goes wrong while it is stored
 * or loaded, at the system call that an engine makes for it. Only transfers of FAIL_IO_BYTES bytes
 * are meant: the other objects have other lengths.
 *
 * FAIL_IO=short-read   read() takes half
 *         short-write  write() takes half; the rest follows as it is
 *         full         write() finds the device full after half
 *         vanished     the file is gone when it is opened
 *         truncated    the file is half as long when it is opened
 *         corrupt      one byte of its middle has changed when it is opened
 *
 * Whether a file is meant that is opened for reading, its length says. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_fault(const char *name)
{
    const char *fault = getenv("FAIL_IO");

    return fault && strcmp(fault, name) == 0;
}

static size_t meant(void)
{
    const char *bytes = getenv("FAIL_IO_BYTES");

    return bytes ? strtoul(bytes, NULL, 10) : 0;
}

ssize_t read(int fd, void *buf, size_t bytes)
{
    if (bytes == meant() && is_fault("short-read"))
        bytes /= 2;
    return syscall(SYS_read, fd, buf, bytes);
}

ssize_t write(int fd, const void *buf, size_t bytes)
{
    if (bytes == meant() && (is_fault("short-write") || is_fault("full")))
        bytes /= 2;
    else if (bytes == meant() / 2 && is_fault("full")) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_write, fd, buf, bytes);
}

/* Something happened to the file before it is opened. */
static void happen(int dir, const char *path)
{
    int fd = (int)syscall(SYS_openat, dir, path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    off_t middle = (off_t)meant() / 2 + 1000;
    unsigned char byte;
    struct stat st;

    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (size_t)st.st_size == meant()) {
        if (is_fault("vanished"))
            unlinkat(dir, path, 0);
        else if (is_fault("truncated"))
            (void)!ftruncate(fd, middle);
        else if (is_fault("corrupt") && pread(fd, &byte, 1, middle) == 1) {
            byte ^= 1;
            (void)!pwrite(fd, &byte, 1, middle);
            fsync(fd); /* also for those who read past the page cache */
        }
    }
    close(fd);
}

static int open_at(int dir, const char *path, int flags, unsigned mode)
{
    if (meant() && (flags & (O_ACCMODE | O_DIRECTORY)) == O_RDONLY)
        happen(dir, path);
    return (int)syscall(SYS_openat, dir, path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    unsigned mode = 0;
    va_list args;

    if (flags & O_CREAT) {
        va_start(args, flags);
        mode = va_arg(args, unsigned);
        va_end(args);
    }
    return open_at(dir, path, flags, mode);
}

/* The names of these calls where a compiler checks them. */
int __openat_2(int dir, const char *path, int flags);
int __openat_2(int dir, const char *path, int flags)
{
    return open_at(dir, path, flags, 0);
}
