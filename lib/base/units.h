/* Numbers with units, to and from text: exact, independent of the locale, checked for overflow.
 * Sizes: a bare number is bytes; K M G T P E and KiB to EiB are powers of 1024 (as in fio);
 * kB KB MB GB TB PB EB are powers of ten. Durations: ns us ms s m h d; a bare number is seconds.
 * All parse functions want the whole text. They return 0, -EINVAL (not a number of that kind) or
 * -ERANGE (does not fit) and leave *out alone on failure. */
#ifndef KVTRACE_BASE_UNITS_H
#define KVTRACE_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#define UNITS_KIB      ((uint64_t)1 << 10)
#define UNITS_MIB      ((uint64_t)1 << 20)
#define UNITS_GIB      ((uint64_t)1 << 30)
#define UNITS_NS_PER_S INT64_C(1000000000)

int units_parse_u64(const char *text, uint64_t *out);
int units_parse_i64(const char *text, int64_t *out);
/* A decimal with optional fraction and exponent, correctly rounded; never inf or nan. */
int units_parse_f64(const char *text, double *out);
/* The same as a share: "0.25", or "25%". */
int units_parse_share(const char *text, double *out);
/* A size as above. Fractions are allowed ("1.5G"); rounded to the nearest byte. */
int units_parse_size(const char *text, uint64_t *bytes);
/* A duration as above. Fractions are allowed ("1.5s"); a negative one is -EINVAL. */
int units_parse_duration(const char *text, int64_t *ns);
/* "64GB/s", "800MiB/s"; a number needs a unit. */
int units_parse_bandwidth(const char *text, uint64_t *bytes_per_s);

/* text[0..len), not NUL-terminated: [-]digits[.digits], scaled by 10^scale to an exact integer
 * (scale 9: seconds to ns; 3: us to ns). More decimals than scale are -EINVAL unless the excess is
 * all zeros. The trace reader falls back on it. */
int units_parse_decimal(const char *text, size_t len, unsigned scale, int64_t *out);
/* text[0..len), not NUL-terminated: digits only. */
int units_parse_digits(const char *text, size_t len, uint64_t *out);

/* The inverse of units_parse_decimal: at least min_places decimals, more only where not zero.
 * Writes at most 24 bytes to buf, no NUL; returns the length. */
size_t units_put_decimal(char *buf, int64_t value, unsigned scale, unsigned min_places);
/* Writes the decimal digits of v to buf: at most 20 bytes, no NUL; returns the length. */
size_t units_put_u64(char *buf, uint64_t v);

/* For people: "1.50 GiB", "0 B"; "12.3 us", "1.20 s", "2 h 05 min"; "2.31 GiB/s"; "1,234,567".
 * NUL-terminated, into buf of n >= 32 bytes; return buf. */
char *units_format_bytes(char *buf, size_t n, double bytes);
/* In three digits: "1.50 GiB", "150 GiB". */
char *units_format_size(char *buf, size_t n, uint64_t bytes);
char *units_format_duration(char *buf, size_t n, double ns);
char *units_format_rate(char *buf, size_t n, double bytes_per_s);
char *units_format_count(char *buf, size_t n, uint64_t count);
/* The plural ending of a noun behind a count: "" for 1, else "s". */
const char *units_plural(uint64_t count);

/* Return 0, or -EOVERFLOW when a + b (a * b) does not fit 64 bits; *out is then untouched. */
int units_add(uint64_t a, uint64_t b, uint64_t *out);
int units_mul(uint64_t a, uint64_t b, uint64_t *out);

#endif
