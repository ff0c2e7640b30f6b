/* Under s3.c and s3_ask.c: libcurl, loaded when a store is opened. It brings some thirty libraries,
 * and a program that is linked with it loads them at each start, which takes longer than the rest
 * of a short one. The functions here have the names of libcurl's, and call them. */
#include "lib/remote/s3_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>

#if KVTRACE_S3
#include <curl/curl.h>
/* Macros that check types. */
#undef curl_easy_getinfo
#undef curl_easy_setopt
#undef curl_multi_setopt

/* X(name, type, parameters, arguments): what is called with arguments of fixed types; what is
 * called with one of any type; what returns nothing. */
#define FIXED(X)                                                                                   \
    X(curl_easy_escape, char *, (CURL * easy, const char *text, int len), (easy, text, len))       \
    X(curl_easy_init, CURL *, (void), ())                                                          \
    X(curl_easy_strerror, const char *, (CURLcode code), (code))                                   \
    X(curl_getdate, time_t, (const char *text, const time_t *unused), (text, unused))              \
    X(curl_global_init, CURLcode, (long flags), (flags))                                           \
    X(curl_multi_add_handle, CURLMcode, (CURLM * multi, CURL * easy), (multi, easy))               \
    X(curl_multi_cleanup, CURLMcode, (CURLM * multi), (multi))                                     \
    X(curl_multi_info_read, CURLMsg *, (CURLM * multi, int *left), (multi, left))                  \
    X(curl_multi_init, CURLM *, (void), ())                                                        \
    X(curl_multi_perform, CURLMcode, (CURLM * multi, int *running), (multi, running))              \
    X(curl_multi_poll, CURLMcode,                                                                  \
      (CURLM * multi, struct curl_waitfd fds[], unsigned n, int timeout_ms, int *ready),           \
      (multi, fds, n, timeout_ms, ready))                                                          \
    X(curl_multi_remove_handle, CURLMcode, (CURLM * multi, CURL * easy), (multi, easy))            \
    X(curl_multi_wakeup, CURLMcode, (CURLM * multi), (multi))                                      \
    X(curl_version_info, curl_version_info_data *, (CURLversion version), (version))
#define OF_ANY(X)                                                                                  \
    X(curl_easy_getinfo, CURLcode, (CURL * easy, CURLINFO what, ...), easy)                        \
    X(curl_easy_setopt, CURLcode, (CURL * easy, CURLoption what, ...), easy)                       \
    X(curl_multi_setopt, CURLMcode, (CURLM * multi, CURLMoption what, ...), multi)
#define SILENT(X)                                                                                  \
    X(curl_easy_cleanup, void, (CURL * easy), (easy))                                              \
    X(curl_free, void, (void *p), (p))

#define MEMBER(name, type, parameters, arguments) __typeof__(name) *name;
#define PLACE(name, type, parameters, arguments)  {#name, offsetof(struct functions, name)},

struct functions {
    FIXED(MEMBER)
    OF_ANY(MEMBER)
    SILENT(MEMBER)
};

/* Written once, by s3_library_load. */
static struct functions theirs;

int s3_library_load(struct err *e)
{
    static const struct {
        const char *name;
        size_t at;
    } place[] = {FIXED(PLACE) OF_ANY(PLACE) SILENT(PLACE)};
    struct functions found;
    void *lib;

    if (theirs.curl_easy_init)
        return 0;
    lib = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        lib = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL); /* Debian's other build */
    if (!lib)
        return err_set(e, -ENOTSUP, ERR_INPUT, "libcurl", "is not there: %s", dlerror());
    for (size_t i = 0; i < sizeof(place) / sizeof(place[0]); i++) {
        void *function = dlsym(lib, place[i].name);

        if (!function)
            return err_set(e, -ENOTSUP, ERR_INPUT, "libcurl", "has no %s: too old", place[i].name);
        *(void **)((char *)&found + place[i].at) = function;
    }
    theirs = found;
    return 0;
}

/* Hidden: other libraries that use libcurl (an MPI's) must not find these. */
#define OURS __attribute__((visibility("hidden")))

#define CALL(name, type, parameters, arguments)                                                    \
    OURS type name parameters                                                                      \
    {                                                                                              \
        return theirs.name arguments;                                                              \
    }
#define DO(name, type, parameters, arguments)                                                      \
    OURS type name parameters                                                                      \
    {                                                                                              \
        theirs.name arguments;                                                                     \
    }
/* libcurl takes the value as the type that its option has. */
#define PASS(name, type, parameters, handle)                                                       \
    OURS type name parameters                                                                      \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, what);                                                                      \
        void *value = va_arg(args, void *);                                                        \
        va_end(args);                                                                              \
        return theirs.name(handle, what, value);                                                   \
    }

_Static_assert(sizeof(void *) == sizeof(curl_off_t), "any value is passed on as a pointer");

FIXED(CALL)
OF_ANY(PASS)
SILENT(DO)

#endif
