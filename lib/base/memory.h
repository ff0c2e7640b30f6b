/* How much memory this process may still take. */
#ifndef KVTRACE_BASE_MEMORY_H
#define KVTRACE_BASE_MEMORY_H

#include <stdint.h>

/* Bytes that can be taken without pushing out others: the least of what the kernel says is
 * available (MemAvailable), what the control groups of the process leave (cgroup v2, memory.max),
 * and what its limit of address space (RLIMIT_AS) leaves. 1 GiB where none of these is known. */
uint64_t memory_available(void);

#endif
