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

#endif
