/* How much memory this process may still take, and texts that are written in memory. */
#ifndef KVTRACE_BASE_MEMORY_H
#define KVTRACE_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Bytes that can be taken without pushing out others: the least of what the kernel says is
 * available (MemAvailable), what the control groups of the process leave (cgroup v2, memory.max),
 * and what its limit of address space (RLIMIT_AS) leaves. 1 GiB where none of these is known. */
uint64_t memory_available(void);

/* As open_memstream, which says nothing when memory ends while it grows: here fclose fails then.
 * *text, which ends with a NUL and which the caller frees in any case, and *len hold after fflush
 * and fclose. Both stay where they are until fclose. NULL: no memory. */
FILE *memory_stream(char **text, size_t *len);

#endif
