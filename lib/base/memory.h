/* Arrays that grow, memory for random access, and texts that are written in memory. */
#ifndef KVTRACE_BASE_MEMORY_H
#define KVTRACE_BASE_MEMORY_H

#include <stddef.h>
#include <stdio.h>

/* Gives the array whose pointer lies at array room for one item more than the count it holds, of
 * item_bytes each: when it is full it gets twice its *room, or first items. 0; -ENOMEM: it is as it
 * was. */
int memory_room(void *array, size_t *room, size_t count, size_t item_bytes, size_t first);

/* The same for so many items, 1 at least, whatever it has. */
int memory_resize(void *array, size_t items, size_t item_bytes);

/* From now on arrays of 512 KiB and more lie on pages of their own: they grow without a copy, and
 * leave no gaps between each other. For a program whose arrays grow for as long as it runs, side by
 * side; before it has threads. */
void memory_set_apart(void);

/* bytes for random access, with any contents, which free() releases. From 2 MiB on they lie on huge
 * pages where the system gives them: with ordinary pages an access far from the last one waits for
 * a walk through page tables, too. NULL: no memory. */
void *memory_scattered(size_t bytes);

/* As open_memstream, which says nothing when memory ends while it grows: here fclose fails then.
 * *text, which ends with a NUL and which the caller frees in any case, and *len hold after fflush
 * and fclose. Both stay where they are until fclose. NULL: no memory. */
FILE *memory_stream(char **text, size_t *len);

#endif
