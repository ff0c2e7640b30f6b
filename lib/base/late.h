/* Libraries that are loaded by the runs that use them. A program that is linked with a library
 * loads it, and all that it needs in turn, at each start: for libcurl some thirty, which takes
 * longer than the rest of a short run. A file that uses one lists its functions and defines them by
 * LATE_LIBRARY, under their own names, so that the library's header stays what it is called by. */
#ifndef BASE_LATE_H
#define BASE_LATE_H

#include <stdarg.h>
#include <stddef.h>

#include "lib/base/err.h"

struct late_function {
    const char *name;
    size_t at; /* of its address, in the table of the library's functions */
};

/* Opens a library by its file name, such as "libcurl.so.4", and puts the addresses of its functions
 * into table, which is all NULL before. Nothing is done when they are there already. Before any of
 * the functions, and by one thread at a time. 0, or -ENOTSUP with *e of class ERR_INPUT. */
int late_load(const char *file, void *table, const struct late_function *f, size_t count,
              struct err *e);

/* The functions of a library: lists of X(name, type, parameters, arguments). CALLS return
 * something, DOES return nothing. PASSES take a handle, what it is about and a value of any type
 * that goes through a pointer's register, as variable arguments after "what"; instead of arguments
 * they have the handle. Defines all of them, and static int load(struct err *e), which comes before
 * any. */
#define LATE_LIBRARY(load, file, CALLS, DOES, PASSES)                                              \
    static struct late_functions {                                                                 \
        CALLS(LATE_MEMBER)                                                                         \
        DOES(LATE_MEMBER)                                                                          \
        PASSES(LATE_MEMBER)                                                                        \
    } late_theirs; /* written once */                                                              \
    CALLS(LATE_CALL)                                                                               \
    DOES(LATE_DO)                                                                                  \
    PASSES(LATE_PASS)                                                                              \
    static int load(struct err *e)                                                                 \
    {                                                                                              \
        static const struct late_function all[] = {CALLS(LATE_PLACE) DOES(LATE_PLACE)              \
                                                       PASSES(LATE_PLACE)};                        \
        return late_load(file, &late_theirs, all, sizeof(all) / sizeof(all[0]), e);                \
    }
/* A list of none. */
#define LATE_NONE(X)

/* Hidden: other libraries that use the same one must not find ours. A file whose library's header
 * insists on another visibility defines it first. */
#ifndef LATE_OURS
#define LATE_OURS __attribute__((visibility("hidden")))
#endif

#define LATE_MEMBER(name, type, parameters, arguments) __typeof__(name) *name;
#define LATE_PLACE(name, type, parameters, arguments)                                              \
    {#name, offsetof(struct late_functions, name)},
#define LATE_CALL(name, type, parameters, arguments)                                               \
    LATE_OURS type name parameters                                                                 \
    {                                                                                              \
        return late_theirs.name arguments;                                                         \
    }
#define LATE_DO(name, type, parameters, arguments)                                                 \
    LATE_OURS type name parameters                                                                 \
    {                                                                                              \
        late_theirs.name arguments;                                                                \
    }
#define LATE_PASS(name, type, parameters, handle)                                                  \
    LATE_OURS type name parameters                                                                 \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, what);                                                                      \
        void *value = va_arg(args, void *);                                                        \
        va_end(args);                                                                              \
        return late_theirs.name(handle, what, value);                                              \
    }

/* The file name that the build found, as a string. */
#define LATE_FILE(name)      LATE_FILE_TEXT(name)
#define LATE_FILE_TEXT(name) #name

#endif
