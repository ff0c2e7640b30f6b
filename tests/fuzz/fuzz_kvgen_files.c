/* Any bytes as the input of a file source: what is recognised is read to its end, every request is
 * within its bounds and none arrives before another, and what ends with an error says where. The
 * first byte picks speed, cycles, and what is left out and cut. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kvgen/record/dynamo.h"
#include "kvgen/record/graph.h"
#include "kvgen/source/agentic.h"
#include "kvgen/source/blocks.h"
#include "kvgen/source/burst.h"
#include "kvgen/source/inputs.h"
#include "kvgen/source/sharegpt.h"
#include "lib/conf/conf.h"
#include "tests/fuzz/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int open_source(struct source **out, struct inputs *in, enum inputs_kind kind, uint8_t how,
                       struct err *e)
{
    static struct workload w;
    static struct conf *c;
    if (c == NULL && (conf_open(&c, NULL, e) < 0 || workload_read(&w, c, e) < 0))
        abort();
    bool has_gaps = kind != INPUTS_SHAREGPT && kind != INPUTS_SATF && kind != INPUTS_AGENTIC_ROWS;
    struct file_source_opts files = {.speedup = how % 3,
                                     .cycles = 1 + how / 3 % 2,
                                     .sample = how & 64 ? 0.5 : 1,
                                     .max_gap_ns = how & 128 && has_gaps ? 1000000000 : 0,
                                     .max_context = how & 128 ? 100 : 0};
    if (kind == INPUTS_BURST || kind == INPUTS_AZURE) {
        struct source_burst_opts o = {
            .workload = &w, .kind = kind, .files = files, .qos = TRACE_NO_QOS};
        return source_burst_open(out, in, &o, e);
    }
    if (kind == INPUTS_SHAREGPT) {
        struct source_sharegpt_opts o = {.workload = &w,
                                         .chars_per_token = 4,
                                         .request_rate = how % 3,
                                         .max_conversations = how / 6 % 3,
                                         .files = files,
                                         .users = 3,
                                         .qos = TRACE_NO_QOS};
        return source_sharegpt_open(out, in, &o, e);
    }
    if (kind == INPUTS_AGENTIC) {
        struct source_agentic_opts o = {.files = files, .users = 1 + how % 4, .qos = TRACE_BATCH};
        return source_agentic_open(out, in, &o, e);
    }
    if (kind == INPUTS_DYNAMO) {
        struct names names = {{1, 2}};
        struct source_dynamo_opts o = {.files = files, .names = &names, .qos = TRACE_BATCH};
        return source_dynamo_open(out, in, &o, e);
    }
    if (kind == INPUTS_SATF || kind == INPUTS_AGENTIC_ROWS) {
        struct source_graph_opts o = {.kind = kind, .files = files, .qos = TRACE_BATCH};
        return source_graph_open(out, in, &o, e);
    }
    struct source_blocks_opts o = {.kind = kind, .files = files, .qos = TRACE_BATCH};
    return source_blocks_open(out, in, &o, e);
}

static volatile uint64_t used; /* every identifier is read */

static int read_all(struct source *s, struct err *e)
{
    struct request r = {0};
    int64_t at, last = 0;
    uint64_t sum = 0; /* every identifier is there to be read */
    int rc;
    while ((rc = s->ops->peek(s, &at, e)) > 0) {
        s->ops->take(s, &r);
        if (at < last || r.arrival_ns != at || r.context_tokens < 0 ||
            r.context_tokens > REQUEST_MAX_TOKENS || r.generated_tokens < 0)
            abort();
        if (s->ops->blocks && r.block_tokens == 0)
            abort();
        for (uint32_t i = 0; i < r.block_count; i++)
            sum += r.blocks[i];
        last = at;
        if (s->ops->release)
            s->ops->release(s, &r);
        if (s->ops->done)
            s->ops->done(s, &r, at);
    }
    used = sum;
    return rc;
}

/* By kind. Events and traces are read elsewhere (fuzz_kvgen_recording, fuzz_kvgen_trace). */
static const char *const readers[INPUTS_KINDS] = {[INPUTS_BURST] = "burst",
                                                  [INPUTS_AZURE] = "azure",
                                                  [INPUTS_SHAREGPT] = "sharegpt",
                                                  [INPUTS_AGENTIC] = "agentic",
                                                  [INPUTS_DYNAMO] = "dynamo",
                                                  [INPUTS_SATF] = "satf",
                                                  [INPUTS_AGENTIC_ROWS] = "agentic-rows",
                                                  [INPUTS_MOONCAKE] = "mooncake",
                                                  [INPUTS_BAILIAN] = "bailian",
                                                  [INPUTS_LMCACHE] = "lmcache"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("input", MFD_CLOEXEC);
    struct inputs *in = NULL;
    struct source *s = NULL;
    struct err e = {0};
    enum inputs_kind kind;
    char path[64];
    int only = fuzz_reader(readers, INPUTS_KINDS);

    if (size == 0 || fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)(size - 1))
        goto out;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int rc = inputs_open(&in, path, &e);
    if (rc == 0)
        rc = inputs_recognise(in, &kind, &e);
    if (rc == 0 && only >= 0) /* as --source says it: whatever the content is */
        kind = (enum inputs_kind)only;
    if (rc == 0 && !readers[kind]) {
        inputs_close(in);
        goto out;
    }
    if (rc < 0) {
        inputs_close(in);
    } else {
        rc = open_source(&s, in, kind, data[0], &e);
        if (rc == 0) {
            rc = read_all(s, &e);
            s->ops->close(s);
        }
    }
    if (rc < 0 && (e.code == 0 || e.what[0] == '\0'))
        abort();
out:
    if (fd >= 0)
        close(fd);
    return 0;
}
