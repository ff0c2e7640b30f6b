/* bench_data.c - how fast object data is made and checked, beside memset of the same bytes: 1 GiB
 * in buffers of 64 MiB on one core, for each instruction set that the processor has. Prints GB/s
 * (10^9) and the share of memset; judges nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/data/data.h"

#define BUFFER ((size_t)64 << 20)
#define PASSES 16 /* x 64 MiB = 1 GiB */

enum work {
    MEMSET,
    FILL,
    CHECK_HEADERS,
    CHECK_FULL,
    WORKS
};
static const char *const names[] = {"memset", "data_fill", "data_check_headers", "data_check_full"};

static int once(enum work work, unsigned char *buf, int pass)
{
    struct data_id id = {.key = {.lo = 1, .hi = 2}, .generation = 3};
    struct data_fault fault;
    switch (work) {
    case MEMSET:
        memset(buf, pass, BUFFER);
        /* keeps the compiler from dropping stores that nobody reads */
        __asm__ volatile("" : : "r"(buf) : "memory");
        return 0;
    case FILL:
        data_fill(buf, BUFFER, &id, 0);
        return 0;
    case CHECK_HEADERS:
        return data_check_headers(buf, BUFFER, &id, 0, &fault);
    default:
        return data_check_full(buf, BUFFER, &id, 0, &fault);
    }
}

/* Best of three runs: neighbours on the machine only ever make it slower. */
static double gb_per_s(enum work work, unsigned char *buf)
{
    int64_t best = INT64_MAX;
    for (int run = 0; run < 3; run++) {
        int64_t start = clock_now_ns();
        for (int pass = 0; pass < PASSES; pass++)
            if (once(work, buf, pass))
                exit(1);
        int64_t took = clock_now_ns() - start;
        best = took < best ? took : best;
    }
    return (double)BUFFER * PASSES / (double)best;
}

int main(void)
{
    static const char *const isas[] = {"avx512", "avx2", "portable"};
    unsigned char *buf = aligned_alloc(4096, BUFFER);
    if (!buf)
        return 1;
    memset(buf, 1, BUFFER);
    double memset_speed = gb_per_s(MEMSET, buf);
    printf("%-9s %-19s %7.2f GB/s\n", "", names[MEMSET], memset_speed);
    for (size_t i = 0; i < sizeof isas / sizeof isas[0]; i++) {
        if (data_force_isa(isas[i]))
            continue;
        for (enum work w = FILL; w < WORKS; w++) {
            double speed = gb_per_s(w, buf);
            printf("%-9s %-19s %7.2f GB/s  %5.2f x memset\n", isas[i], names[w], speed,
                   speed / memset_speed);
        }
    }
    free(buf);
    return 0;
}
