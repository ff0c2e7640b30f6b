/* The precision of a timer on this machine: a bare loop of absolute sleeps, spinning the last part
 * of each, and how late it comes out of them. The floor beneath kvreplay's client lateness. Prints,
 * judges nothing. bench_timer [ticks [us apart [us spun ...]]]. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void ticks(int64_t *late, size_t n, int64_t apart_ns, int64_t spin_ns)
{
    int64_t due = clock_now_ns() + apart_ns;

    for (size_t i = 0; i < n; i++, due += apart_ns) {
        clock_sleep_until(due, spin_ns);
        late[i] = clock_now_ns() - due;
    }
    qsort(late, n, sizeof *late, by_value);
    printf("bare timer, %6.0f us apart, %6.0f us spun: late P50 %7.1f us, P99 %9.1f us, max %9.1f "
           "us\n",
           (double)apart_ns / 1e3, (double)spin_ns / 1e3, (double)late[n / 2] / 1e3,
           (double)late[n * 99 / 100] / 1e3, (double)late[n - 1] / 1e3);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const int64_t spins_us[] = {0, 100, 1000000};
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 5000;
    int64_t apart_ns = (argc > 2 ? strtoll(argv[2], NULL, 10) : 1000) * 1000;
    int64_t *late = calloc(n ? n : 1, sizeof *late);

    if (!late || n == 0 || apart_ns <= 0)
        return 1;
    for (int i = 3; i < argc; i++)
        ticks(late, n, apart_ns, strtoll(argv[i], NULL, 10) * 1000);
    for (size_t i = 0; argc <= 3 && i < sizeof spins_us / sizeof *spins_us; i++)
        ticks(late, n, apart_ns, spins_us[i] * 1000);
    free(late);
    return 0;
}
