/* Included into every file of a build for coverage: what a process has reached counts also when it
 * ends by _exit or becomes another program, as the children of kvreplay --each do. */
#include <unistd.h>

void __gcov_dump(void);

#define _exit(status)                                                                              \
    ({                                                                                             \
        int as_said = (status);                                                                    \
        __gcov_dump();                                                                             \
        _exit(as_said);                                                                            \
    })
#define execl(...) (__gcov_dump(), execl(__VA_ARGS__))
