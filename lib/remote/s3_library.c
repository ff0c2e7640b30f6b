/* libcurl, loaded when a store is first opened. With the forty libraries that it brings it takes
 * longer to load than all else that a program starts with, and few runs need it. The functions that
 * s3.c and s3_ask.c call stand here under their names, and pass each call on. */
#include "lib/remote/s3_library.h"

#if KVTRACE_S3
#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>

#define LIBRARY "libcurl.so.4" /* its name since 2006 */

/* Here they are functions, not the macros that look at the types of their arguments. */
#undef curl_easy_getinfo
#undef curl_easy_setopt
#undef curl_multi_setopt

#define CALLS(X)                                                                                   \
    X(easy_cleanup)                                                                                \
    X(easy_escape)                                                                                 \
    X(easy_getinfo)                                                                                \
    X(easy_init)                                                                                   \
    X(easy_setopt)                                                                                 \
    X(easy_strerror)                                                                               \
    X(free)                                                                                        \
    X(getdate)                                                                                     \
    X(global_init)                                                                                 \
    X(multi_add_handle)                                                                            \
    X(multi_cleanup)                                                                               \
    X(multi_info_read)                                                                             \
    X(multi_init)                                                                                  \
    X(multi_perform)                                                                               \
    X(multi_poll)                                                                                  \
    X(multi_remove_handle)                                                                         \
    X(multi_setopt)                                                                                \
    X(multi_wakeup)                                                                                \
    X(version_info)

/* Written once, by the thread that opens the first store, and never released: libcurl and what it
 * brings have threads and handlers of their own. */
static struct {
#define X(name) __typeof__(curl_##name) *name;
    CALLS(X)
#undef X
} real;

int s3_library_load(struct err *e)
{
    if (real.version_info) /* the last of them */
        return 0;
    void *library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        return err_set(e, -ENOENT, ERR_TARGET, "", "S3 needs libcurl: %s", dlerror());
#define X(name)                                                                                    \
    real.name = (__typeof__(curl_##name) *)dlsym(library, "curl_" #name);                          \
    if (!real.name)                                                                                \
        return err_set(e, -ENOSYS, ERR_TARGET, "",                                                 \
                       "S3 needs a newer libcurl: " LIBRARY " has no curl_" #name);
    CALLS(X)
#undef X
    return 0;
}

/* What comes after the option is one long, pointer or curl_off_t: one register, or one place on the
 * stack, of 64 bits. */
_Static_assert(sizeof(void *) == sizeof(long) && sizeof(void *) == sizeof(curl_off_t),
               "an option's value takes one place");
#define PASS_ON(call, handle, option)                                                              \
    va_list rest;                                                                                  \
    va_start(rest, option);                                                                        \
    void *value = va_arg(rest, void *);                                                            \
    va_end(rest);                                                                                  \
    return real.call(handle, option, value)

#define OWN __attribute__((visibility("hidden"))) /* no other library sees these */

OWN CURLcode curl_easy_setopt(CURL *curl, CURLoption option, ...)
{
    PASS_ON(easy_setopt, curl, option);
}

OWN CURLcode curl_easy_getinfo(CURL *curl, CURLINFO info, ...)
{
    PASS_ON(easy_getinfo, curl, info);
}

OWN CURLMcode curl_multi_setopt(CURLM *multi, CURLMoption option, ...)
{
    PASS_ON(multi_setopt, multi, option);
}

OWN CURLcode curl_global_init(long flags)
{
    return real.global_init(flags);
}

OWN curl_version_info_data *curl_version_info(CURLversion version)
{
    return real.version_info(version);
}

OWN CURL *curl_easy_init(void)
{
    return real.easy_init();
}

OWN void curl_easy_cleanup(CURL *curl)
{
    real.easy_cleanup(curl);
}

OWN const char *curl_easy_strerror(CURLcode code)
{
    return real.easy_strerror(code);
}

OWN char *curl_easy_escape(CURL *curl, const char *text, int len)
{
    return real.easy_escape(curl, text, len);
}

OWN void curl_free(void *p)
{
    real.free(p);
}

OWN time_t curl_getdate(const char *text, const time_t *unused)
{
    return real.getdate(text, unused);
}

OWN CURLM *curl_multi_init(void)
{
    return real.multi_init();
}

OWN CURLMcode curl_multi_cleanup(CURLM *multi)
{
    return real.multi_cleanup(multi);
}

OWN CURLMcode curl_multi_add_handle(CURLM *multi, CURL *easy)
{
    return real.multi_add_handle(multi, easy);
}

OWN CURLMcode curl_multi_remove_handle(CURLM *multi, CURL *easy)
{
    return real.multi_remove_handle(multi, easy);
}

OWN CURLMcode curl_multi_perform(CURLM *multi, int *running)
{
    return real.multi_perform(multi, running);
}

OWN CURLMcode curl_multi_poll(CURLM *multi, struct curl_waitfd *more, unsigned count,
                              int timeout_ms, int *happened)
{
    return real.multi_poll(multi, more, count, timeout_ms, happened);
}

OWN CURLMcode curl_multi_wakeup(CURLM *multi)
{
    return real.multi_wakeup(multi);
}

OWN CURLMsg *curl_multi_info_read(CURLM *multi, int *left)
{
    return real.multi_info_read(multi, left);
}
#endif
