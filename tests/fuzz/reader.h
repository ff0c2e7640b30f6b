/* reader.h - one reader of a fuzzer that holds several, named by FUZZ_READER in the environment
 * (tests/fuzz/each). */
#ifndef TESTS_FUZZ_READER_H
#define TESTS_FUZZ_READER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The index of FUZZ_READER in names; -1 where it is not set: the input tells. Another name ends the
 * program. */
static inline int fuzz_reader(const char *const *names, size_t count)
{
    const char *name = getenv("FUZZ_READER");

    if (name == NULL)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (names[i] && strcmp(names[i], name) == 0)
            return (int)i;
    fprintf(stderr, "FUZZ_READER=%s: not a reader of this fuzzer\n", name);
    _exit(2);
}

#endif
