/* The descriptors of this process: the standard ones, how many there may be at once
 * (RLIMIT_NOFILE), and pipes and FIFOs at whose other end nobody is: there a signal that asks the
 * program to stop (stop.h) ends the wait, in whichever thread and whenever it comes. */
#ifndef KVTRACE_BASE_DESCRIPTORS_H
#define KVTRACE_BASE_DESCRIPTORS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Call it first: opens those of standard input, output and error that are closed, so that no file
 * gets their numbers and with them what a program prints. Using such an input or output is an
 * error. */
void descriptors_open_standard(void);

/* Raises the limit, as far as the host allows, to files plus a reserve for everything else a
 * program opens. Returns how many of the files can be open, at most files; returns files when the
 * limit is unknown. */
uint64_t descriptors_want(uint64_t files);
/* The limit as it is now, with the reserve; 0: not known. */
uint64_t descriptors_limit(void);

enum {
    /* The reader of a FIFO is waited for so long even after a signal: a summary shall find it. */
    DESCRIPTORS_GRACE_MS = 1000
};

/* As open(2) with mode 0666: flags hold O_RDONLY or O_WRONLY. To read a FIFO waits for its writer
 * until a signal comes; to write one, for its reader until a signal has come and
 * DESCRIPTORS_GRACE_MS have passed. A descriptor, or negative errno; -EINTR: a signal ended the
 * wait. */
int descriptors_open(const char *path, int flags);
/* As read(2), until a signal comes. Bytes, 0 at the end, or negative errno. */
ssize_t descriptors_read(int fd, void *p, size_t len);
/* Writes all. A reader that takes nothing is waited for until a second signal comes
 * (stop_abandons). 0, or negative errno; -EINTR: a signal ended the wait. */
int descriptors_write(int fd, const void *p, size_t len);

#endif
