/* iso_time.h - dates and times as text (ISO 8601, in the forms that traces have). */
#ifndef KVTRACE_LOG_ISO_TIME_H
#define KVTRACE_LOG_ISO_TIME_H

#include <stddef.h>
#include <stdint.h>

/*
 * Reads text[0..len): YYYY-MM-DD, a space or T, HH:MM:SS, up to 9 decimals, then Z, +HH:MM, -HH:MM,
 * +HHMM or nothing (which means UTC). Years are 1970 to 2199; a leap second counts as the second
 * after it. Sets *ns to the time since 1970 UTC. -EINVAL for any other text, and *ns stays as it
 * is. Days from a date: Fliegel and Van Flandern, CACM 11(10), 1968.
 */
int iso_time_parse(const char *text, size_t len, int64_t *ns);

#define ISO_TIME_MAX INT64_C(7258118399999999999) /* the last nanosecond of 2199 */
enum {
    ISO_TIME_LEN = 30
};
/* Writes YYYY-MM-DDTHH:MM:SS.nnnnnnnnnZ (RFC 3339), without NUL, to buf of ISO_TIME_LEN bytes. ns
 * is from 0 to ISO_TIME_MAX. Returns ISO_TIME_LEN. A date from days: Fliegel and Van Flandern. */
size_t iso_time_put(char *buf, int64_t ns);

#endif
