/* The sources that take an option of kvgen, and marks of options for modes that other options
 * choose: options.c says why each is refused. */
#ifndef KVGEN_OPTIONS_MARKS_H
#define KVGEN_OPTIONS_MARKS_H

#include <stdint.h>

/* ---- sets of sources ---- */

#define FROM(source)  (UINT32_C(1) << OPTIONS_##source)
#define FROM_REDONE   FROM(SOURCES) /* an existing trace that an engine's cache serves (--retier) */
#define FROM_USERS    FROM(USERS)
#define FROM_DATASETS FROM(SHAREGPT)
#define FROM_ARRIVALS (FROM(BURST) | FROM(AZURE))
#define FROM_BLOCKS                                                                                \
    (FROM(MOONCAKE) | FROM(BAILIAN) | FROM(LMCACHE) | FROM(DYNAMO) | FROM(SATF) | FROM(AGENTIC))
#define FROM_FILES (FROM_DATASETS | FROM_ARRIVALS | FROM_BLOCKS) /* of requests */
/* Sources that generate rows, from users or from a file's requests. */
#define FROM_REQUESTS (FROM_USERS | FROM_FILES | FROM_REDONE)
#define FROM_OBJECTS  (FROM_USERS | FROM_DATASETS | FROM_ARRIVALS) /* requests without blocks */
/* The events of an engine. */
#define FROM_EVENTS   (FROM(KV_EVENTS) | FROM(TRTLLM) | FROM(DYNAMO_KV) | FROM(LCT) | FROM(STRACE))
#define FROM_RECORDED (FROM_EVENTS | FROM(DYNAMO)) /* with names */
#define FROM_TRACES   (FROM_EVENTS | FROM(TRACE))  /* whose rows are given */
#define FROM_INPUTS   (FROM_FILES | FROM_REDONE | FROM_TRACES)
#define FROM_MODELS   (FROM_REQUESTS | FROM_EVENTS) /* objects as large as a model makes them */
/* Requests that are independent of each other, and have times. */
#define FROM_INDEPENDENT (FROM(MOONCAKE) | FROM(BAILIAN) | FROM(LMCACHE) | FROM_ARRIVALS)
/* Stamps that may have several units, and blocks that may have several sizes. */
#define FROM_STAMPED        (FROM_FILES & ~(FROM_DATASETS | FROM(DYNAMO) | FROM(SATF)))
#define FROM_BLOCKS_TO_SIZE (FROM_BLOCKS & ~(FROM(DYNAMO) | FROM(LMCACHE)))

/* ---- marks ---- */

enum option_mark {
    MARK_WITH_PRINT_CONFIG,
    MARK_NOT_LIST_MODELS,
    MARK_WITH_MODELS,
    MARK_KEPT_TIMES, /* what an existing trace keeps, unless it is replayed */
    MARK_KEPT_OBJECTS,
    MARK_KEPT_TIERS, /* what it keeps without --retier */
    MARK_NAMED_USERS_ONLY,
    MARK_NOT_BLOCKS_ALONE, /* not of blocks, unless an engine's cache has them */
    MARK_IN_BLOCKS_ONLY,
    MARK_TIMED,      /* a run that takes time: virtual, or of live events */
    MARK_FILE_TIMES, /* what times of the input become */
    MARK_POISSON_ONLY,
    MARK_GAMMA_ONLY,
    MARK_PERSONAS_ONLY, /* what the habits of people decide */
    MARK_RAG_ONLY,
    MARK_DECODES,
    MARK_MLA_ONLY,
    MARK_CURVE_ONLY,
    MARK_WORTH_ONLY,
    MARK_ANSWER_ONLY,
    MARK_NOT_ANSWER, /* what --answer decides itself */
    MARK_ENGINES_ONLY,
    MARK_NOT_ENGINES,  /* what an engine that serves steps decides itself */
    MARK_WATERFALLS,   /* what an engine's own cache decides itself */
    MARK_SEVERAL_ONLY, /* more than one engine */
    MARK_FILLS,        /* files that the engine's cache gives no bound */
    MARK_FILTERS,      /* rows that are written, or that --limit counts */
    MARK_WRITES,
    MARK_COMPRESSES,
    MARK_COMPRESSED_ONLY,
    MARK_PLAIN_ONLY,
    MARK_LOSSY_ONLY,
    MARK_FRAMED_ONLY,
    MARK_THREADED_ONLY,
    MARK_OBJECT_STORES_ONLY,
    MARK_SAI3_ONLY,
    MARK_FIO_ONLY,
    MARK_NOT_FIO,
    MARK_NOT_COMPUTED, /* of ranks whose prefill has no time */
};
#define WITH_PRINT_CONFIG  (UINT64_C(1) << MARK_WITH_PRINT_CONFIG)
#define NOT_LIST_MODELS    (UINT64_C(1) << MARK_NOT_LIST_MODELS)
#define WITH_MODELS        (UINT64_C(1) << MARK_WITH_MODELS)
#define KEPT_TIMES         (UINT64_C(1) << MARK_KEPT_TIMES)
#define KEPT_OBJECTS       (UINT64_C(1) << MARK_KEPT_OBJECTS)
#define KEPT_TIERS         (UINT64_C(1) << MARK_KEPT_TIERS)
#define NAMED_USERS_ONLY   (UINT64_C(1) << MARK_NAMED_USERS_ONLY)
#define NOT_BLOCKS_ALONE   (UINT64_C(1) << MARK_NOT_BLOCKS_ALONE)
#define IN_BLOCKS_ONLY     (UINT64_C(1) << MARK_IN_BLOCKS_ONLY)
#define TIMED              (UINT64_C(1) << MARK_TIMED)
#define FILE_TIMES         (UINT64_C(1) << MARK_FILE_TIMES)
#define POISSON_ONLY       (UINT64_C(1) << MARK_POISSON_ONLY)
#define GAMMA_ONLY         (UINT64_C(1) << MARK_GAMMA_ONLY)
#define PERSONAS_ONLY      (UINT64_C(1) << MARK_PERSONAS_ONLY)
#define RAG_ONLY           (UINT64_C(1) << MARK_RAG_ONLY)
#define DECODES            (UINT64_C(1) << MARK_DECODES)
#define MLA_ONLY           (UINT64_C(1) << MARK_MLA_ONLY)
#define CURVE_ONLY         (UINT64_C(1) << MARK_CURVE_ONLY)
#define WORTH_ONLY         (UINT64_C(1) << MARK_WORTH_ONLY)
#define ANSWER_ONLY        (UINT64_C(1) << MARK_ANSWER_ONLY)
#define NOT_ANSWER         (UINT64_C(1) << MARK_NOT_ANSWER)
#define ENGINES_ONLY       (UINT64_C(1) << MARK_ENGINES_ONLY)
#define NOT_ENGINES        (UINT64_C(1) << MARK_NOT_ENGINES)
#define WATERFALLS         (UINT64_C(1) << MARK_WATERFALLS)
#define SEVERAL_ONLY       (UINT64_C(1) << MARK_SEVERAL_ONLY)
#define FILLS              (UINT64_C(1) << MARK_FILLS)
#define FILTERS            (UINT64_C(1) << MARK_FILTERS)
#define WRITES             (UINT64_C(1) << MARK_WRITES)
#define COMPRESSES         (UINT64_C(1) << MARK_COMPRESSES)
#define COMPRESSED_ONLY    (UINT64_C(1) << MARK_COMPRESSED_ONLY)
#define PLAIN_ONLY         (UINT64_C(1) << MARK_PLAIN_ONLY)
#define LOSSY_ONLY         (UINT64_C(1) << MARK_LOSSY_ONLY)
#define FRAMED_ONLY        (UINT64_C(1) << MARK_FRAMED_ONLY)
#define THREADED_ONLY      (UINT64_C(1) << MARK_THREADED_ONLY)
#define OBJECT_STORES_ONLY (UINT64_C(1) << MARK_OBJECT_STORES_ONLY)
#define SAI3_ONLY          (UINT64_C(1) << MARK_SAI3_ONLY)
#define FIO_ONLY           (UINT64_C(1) << MARK_FIO_ONLY)
#define NOT_FIO            (UINT64_C(1) << MARK_NOT_FIO)
#define NOT_COMPUTED       (UINT64_C(1) << MARK_NOT_COMPUTED)

#endif
