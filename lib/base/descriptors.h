/* The descriptors of this process: the standard ones, and how many there may be at once
 * (RLIMIT_NOFILE). */
#ifndef KVTRACE_BASE_DESCRIPTORS_H
#define KVTRACE_BASE_DESCRIPTORS_H

#include <stdint.h>

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

#endif
