/* The options of all four programs, by name. The library cannot see the programs' tables, so their
 * names stand here once more. tests/cli/project/wrong_program.t holds this list against every
 * program's --list-options. */
#include "lib/opt/owners.h"

#include <stdio.h>
#include <string.h>

enum {
    KVGEN = 1,
    KVREPLAY = 2,
    KVSTAT = 4,
    KVPRECOND = 8
};

static const struct {
    const char *option;
    unsigned programs;
} options[] = {
    {"arrival", KVGEN},
    {"autoscale", KVREPLAY},
    {"block-reuse", KVGEN},
    {"block-size", KVPRECOND},
    {"buffered", KVREPLAY},
    {"burst-trace-path", KVGEN},
    {"by", KVSTAT},
    {"cache-dir", KVREPLAY},
    {"ceiling", KVREPLAY},
    {"chars-per-token", KVGEN},
    {"check", KVSTAT},
    {"chunk-size", KVREPLAY},
    {"compare", KVSTAT},
    {"compat", KVGEN},
    {"compress-ratio", KVREPLAY},
    {"config", KVGEN | KVREPLAY | KVSTAT},
    {"cpu-mem-gb", KVGEN | KVREPLAY},
    {"csv", KVSTAT},
    {"curve", KVGEN},
    {"curve-optimal", KVGEN},
    {"curve-sample", KVGEN},
    {"curve-sizes", KVGEN},
    {"dataset-path", KVGEN},
    {"decode-only", KVGEN},
    {"decode-reads", KVGEN},
    {"dedup-ratio", KVREPLAY},
    {"destroy-data", KVREPLAY | KVPRECOND},
    {"disable-multi-turn", KVGEN},
    {"disable-prefix-caching", KVGEN},
    {"dump-users", KVGEN},
    {"duration", KVGEN | KVREPLAY},
    {"each", KVREPLAY},
    {"enable-rag", KVGEN},
    {"endpoint", KVGEN},
    {"epoch", KVGEN},
    {"eviction", KVGEN},
    {"file-size", KVPRECOND},
    {"fio-job", KVSTAT},
    {"format", KVGEN},
    {"frames", KVGEN | KVREPLAY},
    {"generation-mode", KVGEN},
    {"gpu", KVREPLAY},
    {"gpu-bandwidth", KVREPLAY},
    {"gpu-latency", KVREPLAY},
    {"gpu-mem-gb", KVGEN | KVREPLAY},
    {"granularity", KVGEN},
    {"hgrm", KVSTAT},
    {"inflight", KVREPLAY},
    {"input", KVGEN},
    {"input-len", KVGEN},
    {"interval", KVSTAT},
    {"iodepth", KVREPLAY | KVPRECOND},
    {"ioengine", KVREPLAY | KVPRECOND},
    {"iopoll", KVREPLAY},
    {"json", KVSTAT | KVPRECOND},
    {"keep", KVREPLAY | KVPRECOND},
    {"kv-dtype", KVGEN | KVPRECOND},
    {"lag-limit", KVREPLAY},
    {"lateness-budget", KVREPLAY},
    {"layout", KVREPLAY},
    {"level", KVGEN | KVREPLAY},
    {"limit", KVGEN | KVREPLAY},
    {"lint", KVGEN},
    {"list-models", KVGEN},
    {"long", KVREPLAY},
    {"loops", KVREPLAY},
    {"max-concurrent-allocs", KVGEN | KVREPLAY},
    {"max-conversations", KVGEN},
    {"max-requests", KVGEN},
    {"max-users", KVREPLAY},
    {"merge", KVSTAT},
    {"mla-tp", KVGEN},
    {"mlperf", KVSTAT},
    {"mode", KVPRECOND},
    {"model", KVGEN | KVPRECOND},
    {"null", KVREPLAY},
    {"num-gpus", KVGEN},
    {"num-users", KVGEN},
    {"nvme", KVREPLAY},
    {"on-absent", KVREPLAY},
    {"on-error", KVREPLAY},
    {"on-lag", KVREPLAY},
    {"only-tier", KVGEN | KVREPLAY},
    {"ops", KVGEN},
    {"order", KVREPLAY},
    {"output", KVGEN | KVREPLAY | KVSTAT},
    {"output-len", KVGEN},
    {"overflow", KVREPLAY},
    {"partial-blocks", KVGEN},
    {"plot", KVSTAT},
    {"prefill-only", KVGEN},
    {"preload", KVGEN},
    {"print-config", KVGEN},
    {"profile", KVSTAT},
    {"progress", KVGEN | KVREPLAY | KVSTAT | KVPRECOND},
    {"promote", KVGEN},
    {"purge", KVPRECOND},
    {"qos", KVGEN},
    {"qos-p95", KVREPLAY},
    {"rag-num-docs", KVGEN},
    {"reference", KVSTAT},
    {"replay-cycles", KVGEN},
    {"request-rate", KVGEN},
    {"reserve", KVREPLAY | KVPRECOND},
    {"retier", KVGEN},
    {"reuse", KVSTAT},
    {"rings", KVREPLAY},
    {"round", KVPRECOND},
    {"rounds", KVPRECOND},
    {"run", KVSTAT},
    {"seed", KVGEN | KVPRECOND},
    {"segment-size", KVGEN},
    {"settle", KVGEN},
    {"show-model", KVGEN},
    {"size", KVPRECOND},
    {"skip-bad-rows", KVREPLAY | KVSTAT},
    {"source", KVGEN},
    {"speed", KVREPLAY},
    {"spin", KVREPLAY},
    {"sqpoll", KVREPLAY},
    {"start-users", KVREPLAY},
    {"step-duration", KVREPLAY},
    {"step-warmup", KVREPLAY},
    {"storage-capacity-gb", KVGEN | KVREPLAY},
    {"storage-p95", KVREPLAY},
    {"summary", KVGEN | KVREPLAY | KVPRECOND},
    {"sync", KVREPLAY},
    {"target-saturation", KVREPLAY},
    {"tensor-parallel", KVGEN},
    {"threads", KVGEN | KVREPLAY | KVSTAT | KVPRECOND},
    {"tier-engine", KVREPLAY},
    {"tier-map", KVREPLAY},
    {"tier-model", KVGEN},
    {"timing", KVREPLAY},
    {"trace-speedup", KVGEN},
    {"track", KVPRECOND},
    {"until-steady", KVPRECOND},
    {"use-burst-trace", KVGEN},
    {"users", KVREPLAY},
    {"users-file", KVGEN},
    {"verify", KVREPLAY},
    {"verify-trace", KVSTAT},
    {"warmup", KVREPLAY | KVSTAT},
    {"workers", KVGEN | KVREPLAY},
    {"xlsx", KVSTAT},
    {"zstd", KVGEN | KVREPLAY},
};

bool opt_owners(const char *name, char *buf, size_t n)
{
    static const char *const programs[] = {"kvgen", "kvreplay", "kvstat", "kvprecond"};
    size_t at = 0;
    unsigned left = 0;

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (strcmp(options[i].option, name) == 0)
            left = options[i].programs;
    if (!left)
        return false;
    while (left && at < n) {
        unsigned first = (unsigned)__builtin_ctz(left);
        left &= left - 1;
        at += (size_t)snprintf(buf + at, n - at, "%s%s",
                               at == 0 ? ""
                               : left  ? ", "
                                       : " and ",
                               programs[first]);
    }
    return true;
}
