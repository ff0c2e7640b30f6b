/* Any text behind a sound header, as a file (fuzz_trace.c has the rows in memory): the reader ends
 * without a crash, one cursor and two give the same rows, so does every instruction set that the
 * processor has, and what is read can be written and read again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/trace/csv.h"
#include "lib/trace/csv_scan.h"
#include "lib/trace/read.h"
#include "lib/trace/write.h"

static const char header[] =
    "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,QoS,Class,Tokens,Arrival,"
    "Duration_us,Due,Eligible,Start,Latency_us,Device_us,Slot_us,Status,First_byte_us,Rank,"
    "Endpoint,"
    "Thread\n";

struct outcome {
    uint64_t rows, bad, sum;
};

static uint64_t row_sum(const struct trace_row *r)
{
    uint64_t h = (uint64_t)r->time_ns * 3 + r->size * 5 + r->op * 7u + r->tier * 11u;
    for (uint32_t i = 0; i < r->key.len; i++)
        h = h * 31 + (unsigned char)r->key.p[i];
    for (uint32_t i = 0; i < r->user.len; i++)
        h = h * 37 + (unsigned char)r->user.p[i];
    const int64_t more[] = {r->phase,       r->qos,        r->class,       r->status, r->request,
                            r->tokens,      r->arrival_ns, r->duration_ns, r->due_ns, r->start_ns,
                            r->eligible_ns, r->latency_ns, r->device_ns};
    for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++)
        h = h * 41 + (uint64_t)more[i];
    const struct trace_extra *x = r->extra;
    h = h * 41 + (uint64_t)x->slot_ns * 3 + (uint64_t)x->first_byte_ns * 5 + (uint64_t)x->rank * 7 +
        (uint64_t)x->queue_ns * 11 + (uint64_t)x->drive_ns * 13;
    for (uint32_t i = 0; i < x->endpoint.len; i++)
        h = h * 43 + (unsigned char)x->endpoint.p[i];
    for (uint32_t i = 0; i < x->thread.len; i++)
        h = h * 47 + (unsigned char)x->thread.p[i];
    return h;
}

static struct outcome read_all(const char *path, unsigned cursors, struct trace_writer *w)
{
    struct outcome o = {0};
    struct trace_reader *r;
    struct trace_cursor *c[2];
    struct err e = {0};
    const struct trace_read_opts opts = {.skip_bad_rows = true, .want_line = true};
    if (trace_open(&r, path, &opts, &e))
        return o;
    for (unsigned i = 0; i < cursors; i++)
        if (trace_cursor_open(&c[i], r, &e))
            abort();
    unsigned over = 0;
    for (unsigned i = 0; over != (1u << cursors) - 1; i = (i + 1) % cursors) {
        const struct trace_row *rows;
        size_t n;
        if (trace_cursor_next(c[i], &rows, &n, &e) != 1) {
            over |= 1u << i;
            continue;
        }
        o.rows += n;
        for (size_t k = 0; k < n; k++) {
            o.sum += row_sum(&rows[k]);
            if (w && trace_write(w, &rows[k], &e))
                abort();
        }
    }
    for (unsigned i = 0; i < cursors; i++)
        trace_cursor_close(c[i]);
    o.bad = trace_bad_rows(r, NULL);
    trace_close(r);
    return o;
}

/* The plain parser is the judge of the vectorised ones. */
static void compare_isas(const char *path, const struct outcome *want)
{
    enum csv_isa before = csv_isa();
    for (int i = CSV_ISA_PORTABLE; i <= CSV_ISA_AVX512; i++) {
        if (csv_force_isa((enum csv_isa)i))
            continue;
        struct outcome o = read_all(path, 1, NULL);
        if (o.rows != want->rows || o.bad != want->bad || o.sum != want->sum)
            abort();
    }
    csv_force_isa(before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char in[64], out[64];
    struct err e = {0};
    struct trace_writer *w;
    int fd = memfd_create("in", 0), back = memfd_create("out", 0);
    snprintf(in, sizeof(in), "/proc/self/fd/%d", fd);
    snprintf(out, sizeof(out), "/proc/self/fd/%d", back);
    if (write(fd, header, sizeof(header) - 1) < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    const struct trace_write_opts o = {.columns = TRACE_CORE | TRACE_EXTENDED | TRACE_RESULT |
                                                  TRACE_EXTRA};
    if (trace_create(&w, out, &o, &e))
        abort();
    struct outcome one = read_all(in, 1, w), two = read_all(in, 2, NULL);
    if (one.rows != two.rows || one.bad != two.bad || one.sum != two.sum)
        abort();
    compare_isas(in, &one);
    if (trace_finish(w, NULL, NULL, &e))
        abort();
    struct outcome again = read_all(out, 1, NULL);
    if (again.rows != one.rows || again.bad || again.sum != one.sum)
        abort();
    close(fd);
    close(back);
    return 0;
}
