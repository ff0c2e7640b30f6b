/* endurance.h - what a load's writes mean for a drive. */
#ifndef KVGEN_ENDURANCE_H
#define KVGEN_ENDURANCE_H

#include <math.h>

struct endurance {
    double bytes_per_day;
    double drive_writes_per_day; /* of its capacity; NAN: it has none */
    double years; /* for the terabytes told; NAN: none were told, or nothing is written */
};

/* capacity in bytes, 0: no limit; tbw: rated terabytes (10^12 bytes) written, 0: not told. */
static inline struct endurance endurance_of(double bytes_per_day, double capacity, double tbw)
{
    return (struct endurance){
        .bytes_per_day = bytes_per_day,
        .drive_writes_per_day = capacity > 0 ? bytes_per_day / capacity : NAN,
        .years = tbw > 0 && bytes_per_day > 0 ? tbw * 1e12 / bytes_per_day / 365.25 : NAN};
}

#endif
