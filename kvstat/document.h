/* document.h - reads runs that were reported before: kvstat's own JSON, summaries of kvgen,
 * kvreplay and kvprecond, results of the MLPerf Storage KV-cache benchmark and of the serving
 * benchmarks of vLLM and SGLang. Each run becomes figures, as far as the document has them. */
#ifndef KVSTAT_DOCUMENT_H
#define KVSTAT_DOCUMENT_H

#include "kvstat/report/figure.h"
#include "lib/base/err.h"

/* Takes the figures of a run one after the other, then its end. 0, or a negative errno, which ends
 * the reading. */
struct document_sink {
    figure_fn put;
    int (*end)(void *arg);
    void *arg;
};

/*
 * Reads a document (plain or zstd; .jsonl: one on each line). The first figure of each run is its
 * name (FIGURE_ITSELF of FIGURE_OF_PROVENANCE): the file's name, and which run of it where it holds
 * several. The next is FIGURE_KIND: "result" and "trace" as in kvstat's JSON, or "kvgen",
 * "kvreplay", "kvprecond", "mlperf", "engine". 0; -ENOTSUP with *e: it is JSON but none of these;
 * another negative errno with *e.
 */
int document_read(const char *path, const struct document_sink *sink, struct err *e);

#endif
