/* Under s3.c and s3_ask.c: libcurl's functions, found when a store is opened. */
#include "lib/remote/s3_library.h"

#if KVTRACE_S3
#include <curl/curl.h>

#include "lib/base/late.h"
/* Macros that check types. */
#undef curl_easy_getinfo
#undef curl_easy_setopt
#undef curl_multi_setopt

_Static_assert(sizeof(void *) == sizeof(curl_off_t),
               "LATE_VARIADIC passes a curl_off_t in a pointer");

#define RETURN(X)                                                                                  \
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
#define VOIDS(X)                                                                                   \
    X(curl_easy_cleanup, void, (CURL * easy), (easy))                                              \
    X(curl_free, void, (void *p), (p))
#define VARIADIC(X)                                                                                \
    X(curl_easy_getinfo, CURLcode, (CURL * easy, CURLINFO what, ...), easy)                        \
    X(curl_easy_setopt, CURLcode, (CURL * easy, CURLoption what, ...), easy)                       \
    X(curl_multi_setopt, CURLMcode, (CURLM * multi, CURLMoption what, ...), multi)

LATE_LIBRARY(libcurl_load, LATE_FILE(KVTRACE_S3_FILE), "S3 targets need it", RETURN, VOIDS,
             VARIADIC)

int s3_library_load(struct err *e)
{
    return libcurl_load(e);
}

#endif
