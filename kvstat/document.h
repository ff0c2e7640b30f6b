/* document.h - runs that others have reported: kvstat's own JSON, summaries of kvgen, kvreplay and
 * kvprecond, results of the MLPerf Storage KV-cache benchmark and of the serving benchmarks of vLLM
 * and SGLang. Each run becomes figures under kvstat's names, as far as it tells them. */
#ifndef KVSTAT_DOCUMENT_H
#define KVSTAT_DOCUMENT_H

#include "kvstat/report/json_leaves.h"
#include "lib/base/err.h"

/* The figures of a run, one after the other, then its end. 0, or a negative errno, which ends the
 * reading. */
struct document_sink {
    json_leaf_fn leaf;
    int (*end)(void *arg);
    void *arg;
};

/*
 * Reads a document (plain or zstd; .jsonl: one on each line). The first figures of each run are
 * "run" (the file's name, and which run of it where it holds several) and "kind": "result" and
 * "trace" as in kvstat's JSON, "kvgen", "kvreplay", "kvprecond", "mlperf", "engine". 0; -ENOTSUP
 * with *e: it is JSON but none of these; other negative errno with *e.
 */
int document_read(const char *path, const struct document_sink *sink, struct err *e);

#endif
