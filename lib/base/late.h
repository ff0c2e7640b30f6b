/* Libraries that are loaded by the runs that use them. A program that is linked with a library
 * loads it, and all that it needs in turn, at each start: for libcurl some thirty, which takes
 * longer than the rest of a short run. The file that uses a library includes its header, calls its
 * functions by their names, and lists them for LATE_LIBRARY, which defines them to call the loaded
 * ones. */
#ifndef BASE_LATE_H
#define BASE_LATE_H

#include <stdarg.h>
#include <stddef.h>

#include "lib/base/err.h"

struct late_function {
    const char *name;
    size_t at; /* of its address, in the table of the library's functions */
};

struct late_library {
    const char *file; /* its soname, such as "libcurl.so.4" */
    const char *use;  /* for people: "S3 targets need it" */
    const struct late_function *functions;
    size_t count;
};

/* Loads a library and puts the addresses of its functions into table, which is all NULL before.
 * Nothing is done when they are there already. Before any of the functions, and by one thread at a
 * time. 0, or -ENOTSUP with *e of class ERR_INPUT: this machine does not have it, or one that lacks
 * a function. */
int late_load(const struct late_library *l, void *table, struct err *e);

/* The functions of a library: lists of X(name, type, parameters, arguments) of those that RETURN
 * something, those that do not (VOIDS), and those with variable arguments (VARIADIC): of a handle,
 * "what", and one value of any type as wide as a pointer; these have the handle in the place of the
 * arguments. Defines all of them, and static int load(struct err *e), which comes before any. */
#define LATE_LIBRARY(load, file, use, RETURN, VOIDS, VARIADIC)                                     \
    static struct late_functions {                                                                 \
        RETURN(LATE_MEMBER)                                                                        \
        VOIDS(LATE_MEMBER)                                                                         \
        VARIADIC(LATE_MEMBER)                                                                      \
    } late_loaded; /* written once */                                                              \
    RETURN(LATE_RETURN)                                                                            \
    VOIDS(LATE_VOID)                                                                               \
    VARIADIC(LATE_VARIADIC)                                                                        \
    static int load(struct err *e)                                                                 \
    {                                                                                              \
        static const struct late_function all[] = {RETURN(LATE_PLACE) VOIDS(LATE_PLACE)            \
                                                       VARIADIC(LATE_PLACE)};                      \
        static const struct late_library library = {file, use, all, sizeof(all) / sizeof(all[0])}; \
        return late_load(&library, &late_loaded, e);                                               \
    }
/* A list of none. */
#define LATE_NONE(X)

/* Hidden: other libraries that use the same one must not find ours. A file whose library's header
 * insists on another visibility defines it first. */
#ifndef LATE_VISIBILITY
#define LATE_VISIBILITY __attribute__((visibility("hidden")))
#endif

#define LATE_MEMBER(name, type, parameters, arguments) __typeof__(name) *name;
#define LATE_PLACE(name, type, parameters, arguments)                                              \
    {#name, offsetof(struct late_functions, name)},
#define LATE_RETURN(name, type, parameters, arguments)                                             \
    LATE_VISIBILITY type name parameters                                                           \
    {                                                                                              \
        return late_loaded.name arguments;                                                         \
    }
#define LATE_VOID(name, type, parameters, arguments)                                               \
    LATE_VISIBILITY type name parameters                                                           \
    {                                                                                              \
        late_loaded.name arguments;                                                                \
    }
#define LATE_VARIADIC(name, type, parameters, handle)                                              \
    LATE_VISIBILITY type name parameters                                                           \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, what);                                                                      \
        void *value = va_arg(args, void *);                                                        \
        va_end(args);                                                                              \
        return late_loaded.name(handle, what, value);                                              \
    }

/* The soname that the build found, as a string. */
#define LATE_FILE(name)      LATE_FILE_TEXT(name)
#define LATE_FILE_TEXT(name) #name

#endif
