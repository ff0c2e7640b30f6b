/* The verdict at the end of each round. It knows numbers only: rounds.c decides which figure is
 * tracked, so a recorded series can be judged without a device. */
#include "kvprecond/steady.h"

#include <math.h>

struct steady steady_judge(const double *values, size_t n)
{
    const double middle = (STEADY_WINDOW - 1) / 2.0;
    double low, high, xy = 0, xx = 0;
    struct steady s = {0};
    const double *y;

    if (n < STEADY_WINDOW)
        return s;
    y = values + (n - STEADY_WINDOW);
    low = high = y[0];
    for (int i = 0; i < STEADY_WINDOW; i++) {
        s.average += y[i];
        low = fmin(low, y[i]);
        high = fmax(high, y[i]);
    }
    s.average /= (double)STEADY_WINDOW;
    if (!(s.average > 0))
        return s;
    s.range_share = (high - low) / s.average;
    /* The rise of the least-squares line from the first to the last value of the window. */
    for (int x = 0; x < STEADY_WINDOW; x++) {
        xy += (x - middle) * (y[x] - s.average);
        xx += (x - middle) * (x - middle);
    }
    s.slope_share = fabs(xy / xx * (STEADY_WINDOW - 1)) / s.average;
    s.steady = s.range_share <= STEADY_RANGE_MAX && s.slope_share <= STEADY_SLOPE_MAX;
    return s;
}
