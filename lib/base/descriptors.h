/* How many files this process may have open at once (RLIMIT_NOFILE). */
#ifndef KVTRACE_BASE_DESCRIPTORS_H
#define KVTRACE_BASE_DESCRIPTORS_H

#include <stdint.h>

/* Raises the limit, as far as the host allows, to files plus a reserve for everything else a
 * program opens. Returns how many of the files can be open, at most files; returns files when the
 * limit is unknown. */
uint64_t descriptors_want(uint64_t files);

#endif
