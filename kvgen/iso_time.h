/* iso_time.h - dates and times as text (ISO 8601, as traces have them). */
#ifndef KVGEN_ISO_TIME_H
#define KVGEN_ISO_TIME_H

#include <stddef.h>
#include <stdint.h>

/*
 * text[0..len): YYYY-MM-DD, a space or T, HH:MM:SS, up to 9 decimals, and Z, +HH:MM, -HH:MM, +HHMM
 * or nothing (taken as UTC); years 1970 to 2199. *ns since 1970 UTC. -EINVAL (and *ns left alone)
 * for anything else. A leap second counts as the one after it. Days since 1970 from the date:
 * Fliegel and Van Flandern, CACM 11(10), 1968.
 */
int iso_time_parse(const char *text, size_t len, int64_t *ns);

#define ISO_TIME_MAX INT64_C(7258118399999999999) /* the last nanosecond of 2199 */
enum {
    ISO_TIME_LEN = 30
};
/* YYYY-MM-DDTHH:MM:SS.nnnnnnnnnZ (RFC 3339) without NUL into buf of ISO_TIME_LEN bytes, for 0 <= ns
 * <= ISO_TIME_MAX; returns ISO_TIME_LEN. The date from the days: Fliegel and Van Flandern. */
size_t iso_time_put(char *buf, int64_t ns);

#endif
