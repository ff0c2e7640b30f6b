/* Any bytes as an existing trace: what is recognised as one, ours or another tool's, is read to its
 * end, rows are within their bounds, and what ends with an error says where. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kvgen/format/trace_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t used; /* every byte is read */

static uint64_t sum_of(struct trace_str s)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < s.len; i++)
        sum += (unsigned char)s.p[i];
    return sum;
}

static void check_row(const struct trace_row *row)
{
    if (row->op >= TRACE_OPS || row->tier > TRACE_TIERS || row->phase > TRACE_PHASES ||
        row->size > (uint64_t)INT64_MAX || row->key.len > TRACE_MAX_KEY)
        abort();
    uint64_t sum = sum_of(row->key);
    if (row->extra)
        sum += sum_of(row->extra->endpoint) + sum_of(row->extra->thread);
    used = sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("input", MFD_CLOEXEC);
    struct inputs *in = NULL;
    struct trace_input *f = NULL;
    struct err e = {0};
    enum inputs_kind kind = INPUTS_UNKNOWN;
    const struct trace_row *row;
    int64_t first_ns;
    char path[64];

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        goto out;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int rc = inputs_open(&in, path, &e);
    if (rc == 0)
        rc = inputs_recognise(in, &kind, &e);
    if (rc == 0 && kind != INPUTS_TRACE && kind != INPUTS_FIO && kind != INPUTS_OPLOG)
        goto out;
    if (rc == 0) {
        rc = trace_input_open(&f, in, kind, &e);
        in = NULL;
    }
    if (rc == 0)
        rc = trace_input_first_ns(f, &first_ns, &e);
    while (rc == 0 && (rc = trace_input_next(f, &row, &e)) > 0) {
        check_row(row);
        rc = 0;
    }
    if (rc < 0 && (e.code == 0 || e.what[0] == '\0'))
        abort();
out:
    trace_input_close(f);
    inputs_close(in);
    if (fd >= 0)
        close(fd);
    return 0;
}
