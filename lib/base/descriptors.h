/* descriptors.h - how many files this process may have open at once (RLIMIT_NOFILE). */
#ifndef KVTRACE_BASE_DESCRIPTORS_H
#define KVTRACE_BASE_DESCRIPTORS_H

#include <stdint.h>

/* Raises the limit, as far as the host lets it be raised, for so many files beside what else a
 * program has open. Returns how many of them there can be, at most files; files, where the limit is
 * not known. */
uint64_t descriptors_want(uint64_t files);

#endif
