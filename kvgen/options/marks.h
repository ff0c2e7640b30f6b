/* Which sources take an option of kvgen, and marks of options. In some modes options.c refuses the
 * options that have a mark, and says why. */
#ifndef KVGEN_OPTIONS_MARKS_H
#define KVGEN_OPTIONS_MARKS_H

#include <stdint.h>

/* ---- sets of sources ---- */

#define FROM(source)  (UINT32_C(1) << OPTIONS_##source)
#define FROM_REDONE   FROM(SOURCES) /* a trace with --retier, served by an engine's cache */
#define FROM_USERS    FROM(USERS)
#define FROM_DATASETS FROM(SHAREGPT)
#define FROM_ARRIVALS (FROM(BURST) | FROM(AZURE))
#define FROM_BLOCKS                                                                                \
    (FROM(MOONCAKE) | FROM(BAILIAN) | FROM(LMCACHE) | FROM(DYNAMO) | FROM(SATF) | FROM(AGENTIC))
#define FROM_FILES (FROM_DATASETS | FROM_ARRIVALS | FROM_BLOCKS) /* files of requests */
/* Sources that generate rows, from users or from a file's requests. */
#define FROM_REQUESTS (FROM_USERS | FROM_FILES | FROM_REDONE)
#define FROM_OBJECTS  (FROM_USERS | FROM_DATASETS | FROM_ARRIVALS) /* requests without blocks */
/* The events of an engine. */
#define FROM_EVENTS   (FROM(KV_EVENTS) | FROM(TRTLLM) | FROM(DYNAMO_KV) | FROM(LCT) | FROM(STRACE))
#define FROM_RECORDED (FROM_EVENTS | FROM(DYNAMO)) /* have names (--names) */
#define FROM_TRACES   (FROM_EVENTS | FROM(TRACE))  /* have rows, no requests */
#define FROM_INPUTS   (FROM_FILES | FROM_REDONE | FROM_TRACES)
#define FROM_MODELS   (FROM_REQUESTS | FROM_EVENTS) /* a model decides the size of objects */
/* Requests that are independent of each other, and have times. */
#define FROM_INDEPENDENT (FROM(MOONCAKE) | FROM(BAILIAN) | FROM(LMCACHE) | FROM_ARRIVALS)
/* The unit of times, or the size of blocks, is not fixed by the format. */
#define FROM_STAMPED        (FROM_FILES & ~(FROM_DATASETS | FROM(DYNAMO) | FROM(SATF)))
#define FROM_BLOCKS_TO_SIZE (FROM_BLOCKS & ~(FROM(DYNAMO) | FROM(LMCACHE)))

/* ---- marks ---- */

#define MARK(n) (UINT64_C(1) << (n))

#define WITH_PRINT_CONFIG  MARK(0)
#define NOT_LIST_MODELS    MARK(1)
#define WITH_MODELS        MARK(2)
#define KEPT_TIMES         MARK(3) /* times: an existing trace has its own */
#define KEPT_OBJECTS       MARK(4) /* objects: likewise */
#define KEPT_TIERS         MARK(5) /* tiers: likewise, but with --retier */
#define NAMED_USERS_ONLY   MARK(6)
#define NOT_BLOCKS_ALONE   MARK(7) /* not for blocks without an engine */
#define IN_BLOCKS_ONLY     MARK(8)
#define TIMED              MARK(9)  /* the run takes time: virtual time, or live events */
#define FILE_TIMES         MARK(10) /* about times in the input; --clients ignores them */
#define POISSON_ONLY       MARK(11)
#define GAMMA_ONLY         MARK(12)
#define PERSONAS_ONLY      MARK(13) /* not with --population of people, who decide it */
#define RAG_ONLY           MARK(14)
#define DECODES            MARK(15)
#define MLA_ONLY           MARK(16)
#define CURVE_ONLY         MARK(17)
#define WORTH_ONLY         MARK(18)
#define ANSWER_ONLY        MARK(19)
#define NOT_ANSWER         MARK(20) /* --answer decides it */
#define ENGINES_ONLY       MARK(21)
#define NOT_ENGINES        MARK(22) /* an engine that serves steps decides it */
#define WATERFALLS         MARK(23) /* only for the waterfall: an engine's own cache decides it */
#define SEVERAL_ONLY       MARK(24) /* more than one engine */
#define FILLS              MARK(25) /* needs a cache that does not bound its files itself */
#define FILTERS            MARK(26) /* chooses rows that are written, or that --limit counts */
#define WRITES             MARK(27)
#define COMPRESSES         MARK(28)
#define COMPRESSED_ONLY    MARK(29)
#define PLAIN_ONLY         MARK(30)
#define LOSSY_ONLY         MARK(31)
#define FRAMED_ONLY        MARK(32)
#define THREADED_ONLY      MARK(33)
#define OBJECT_STORES_ONLY MARK(34)
#define SAI3_ONLY          MARK(35)
#define FIO_ONLY           MARK(36)
#define NOT_FIO            MARK(37)
#define NOT_COMPUTED       MARK(38) /* prefill takes no time */

#endif
