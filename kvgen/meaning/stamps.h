/* stamps.h - stamps of rows as times. A file seldom says the unit of its stamps, nor from when they
 * count: an option, the magnitude or the format does, and what speaks against it is kept. One
 * thread. */
#ifndef KVGEN_MEANING_STAMPS_H
#define KVGEN_MEANING_STAMPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvgen/meaning/reading.h"

/* In the order of the choices of --time-unit. */
enum stamps_unit {
    STAMPS_AUTO,
    STAMPS_S,
    STAMPS_MS,
    STAMPS_US,
    STAMPS_NS,
    STAMPS_UNITS
};

/* A plain value: set given, usual and whole, the rest zero. */
struct stamps {
    enum stamps_unit given; /* by --time-unit; STAMPS_AUTO: by what the stamps are */
    enum stamps_unit usual; /* of relative stamps, by the definition of the format */
    bool whole;             /* the format has whole numbers */
    /* Found. */
    enum stamps_unit unit, first_unit; /* of this file, and of the first one; STAMPS_AUTO: none */
    bool date, since_1970;             /* of this file: texts; numbers of such a magnitude */
    bool fractions;                    /* some are written with a point */
    bool mixed;                        /* files have different units */
    bool begun, in_file;
    int64_t first_ns, last_ns;
    uint64_t gaps;
    double gaps_ns;
};

/* Another file begins: it may have another unit. */
void stamps_file(struct stamps *s);
/*
 * A stamp, a JSON number or text, as nanoseconds from its origin. The first stamp of a file tells
 * its unit, unless it was given: from 10^9 to 4.4 x 10^9 are seconds since 1970, and so are 10^3,
 * 10^6 and 10^9 times that in ms, us and ns; all others have the usual unit. Whole numbers are
 * exact; fractions of seconds and of ms are rounded to the microsecond, which is exact in doubles
 * of the present, those of smaller units to the nanosecond. 0; -ERANGE: beyond 139 years; -EINVAL:
 * neither a number nor a text.
 */
struct jsonin_v;
int stamps_value(struct stamps *s, const struct jsonin_v *v, int64_t *ns);
/* The same of a text: a date as in iso_time.h, or a decimal, which is exact. -EINVAL: it is
 * neither. With a unit given, dates are -EINVAL. */
int stamps_text(struct stamps *s, const char *text, size_t len, int64_t *ns);
/* The seconds of the unit of this file. */
double stamps_unit_s(const struct stamps *s);
/* The values that are taken, in words for error messages. */
const char *stamps_wanted(const struct stamps *s);
/* Sets the times of *r, and adds what speaks against the unit: a mean gap of relative stamps below
 * a millisecond or above an hour, a point where the format has whole numbers. */
void stamps_reading(const struct stamps *s, struct source_reading *r);

#endif
