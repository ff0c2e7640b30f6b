/* Texts that are written in memory. */
#ifndef KVTRACE_BASE_MEMORY_H
#define KVTRACE_BASE_MEMORY_H

#include <stddef.h>
#include <stdio.h>

/* As open_memstream, which says nothing when memory ends while it grows: here fclose fails then.
 * *text, which ends with a NUL and which the caller frees in any case, and *len hold after fflush
 * and fclose. Both stay where they are until fclose. NULL: no memory. */
FILE *memory_stream(char **text, size_t *len);

#endif
