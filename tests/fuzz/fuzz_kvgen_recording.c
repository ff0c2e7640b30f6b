/* Any bytes as a recording of events: what is read is read to its end, no copy is written twice or
 * deleted where it is not, no row comes before another, and what ends with an error says where. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kvgen/record/recording.h"
#include "lib/base/keymap.h"
#include "lib/model/model.h"
#include "tests/fuzz/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* again: calls that write a copy again are rows too (level storage of LMCache, captures of it). */
static int read_all(struct import *import, bool again, struct err *e)
{
    struct keymap *there = keymap_create();
    const struct trace_row *row;
    int64_t last_ns = 0;
    int rc;
    while ((rc = import->ops->next(import, &row, e)) > 0) {
        if (row->time_ns < last_ns || row->tier >= TRACE_TIERS || row->key.len == 0)
            abort();
        last_ns = row->time_ns;
        uint64_t *copies = keymap_get(there, hash_128(row->key.p, row->key.len), 0);
        uint64_t bit = UINT64_C(1) << row->tier;
        if (!copies || (row->op == TRACE_WRITE && !again && (*copies & bit)) ||
            (row->op == TRACE_DELETE && !(*copies & bit)))
            abort();
        if (row->op != TRACE_READ)
            *copies = row->op == TRACE_WRITE ? *copies | bit : *copies & ~bit;
    }
    keymap_free(there);
    return rc < 0 ? rc : import->ops->finish(import, e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("input", MFD_CLOEXEC);
    struct inputs *in;
    struct import *import;
    struct err e = {0};
    char path[64];
    static const char *const readers[RECORDING_FORMATS] = {[RECORDING_KV_EVENTS] = "kv-events",
                                                           [RECORDING_TRTLLM] = "trtllm",
                                                           [RECORDING_DYNAMO_KV] = "dynamo-kv",
                                                           [RECORDING_LCT] = "lct",
                                                           [RECORDING_STRACE] = "strace"};
    int only = fuzz_reader(readers, RECORDING_FORMATS);

    if (size == 0 || fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)(size - 1))
        goto out;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct recording_opts o = {
        .format = (enum recording_format)(only >= 0 ? only : data[0] % RECORDING_FORMATS),
        .record = {.pairing = (data[0] & 64) != 0, .names = {{1, 2}}},
        .model = *model_builtin(0),
        .ranks = 1,
        .object_bytes = 4096,
        .reorder_ns = 1000000000};
    struct opt_list none = {0};
    if (media_init(&o.record.media, &none, &e) < 0)
        abort();
    int rc = inputs_open(&in, path, &e);
    if (rc == 0)
        rc = recording_open(&import, in, &o, &e);
    if (rc == 0) {
        rc = read_all(import, size > 9 && data[1] != 'Z', &e);
        import->ops->close(import);
    }
    if (rc < 0 && (e.code == 0 || e.what[0] == '\0'))
        abort();
out:
    if (fd >= 0)
        close(fd);
    return 0;
}
