/* Any bytes as an existing trace: what is recognised as one, ours or another tool's, is read to its
 * end, rows and the requests that they make are within their bounds, and what ends with an error
 * says where. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kvgen/format/left_files.h"
#include "kvgen/format/trace_input.h"
#include "kvgen/format/trace_requests.h"

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

static void check_requests(const char *path)
{
    struct inputs *in = NULL;
    struct trace_requests *f = NULL;
    struct err e = {0};
    enum inputs_kind kind = INPUTS_UNKNOWN;
    char user[IDENT_MAX_USER_NAME];
    int64_t arrival_ns, last_ns = 0;
    int rc = inputs_open(&in, path, &e);
    if (rc == 0)
        rc = inputs_recognise(in, &kind, &e);
    if (rc == 0) {
        rc = trace_requests_open(&f, in, kind, &e);
        in = NULL;
    }
    struct source *s = rc == 0 ? trace_requests_source(f) : NULL;
    while (rc == 0 && (rc = s->ops->peek(s, &arrival_ns, &e)) > 0) {
        struct request r;
        s->ops->take(s, &r);
        if (arrival_ns < last_ns || r.context_tokens < 1 || r.qos >= TRACE_QOSES ||
            r.block_tokens < 1 || (int64_t)r.block_count * r.block_tokens > r.context_tokens ||
            s->ops->user_name(s, r.user, user) > sizeof(user))
            abort();
        last_ns = arrival_ns;
        for (uint32_t i = 0; i < r.block_count; i++)
            used += r.blocks[i];
        s->ops->release(s, &r);
        rc = 0;
    }
    if (rc < 0 && (e.code == 0 || e.what[0] == '\0'))
        abort();
    inputs_close(in);
    if (s)
        s->ops->close(s);
}

static void check_files(const char *path)
{
    struct kv_files files;
    struct err e = {0};
    const int rc = left_files_read(&files, path, "vllm", &e);
    if (rc < 0 ? e.code == 0 || e.what[0] == '\0' : files.count == 0)
        abort();
    for (size_t i = 0; i < files.count; i++)
        used += files.file[i].key + files.file[i].in_group + files.file[i].engine;
    left_files_free(&files);
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
    check_requests(path);
    check_files(path);
out:
    trace_input_close(f);
    inputs_close(in);
    if (fd >= 0)
        close(fd);
    return 0;
}
