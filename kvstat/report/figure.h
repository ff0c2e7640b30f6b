/* figure.h - a figure: its identity, its value, and its name. Every number that kvstat reports is a
 * figure; text, JSON, CSV, spreadsheets, comparisons and tables of runs find it by its identity and
 * take its name and unit from here. */
#ifndef KVSTAT_REPORT_FIGURE_H
#define KVSTAT_REPORT_FIGURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvstat/count/groups.h"
#include "lib/base/hist.h"
#include "lib/facts/fact.h"

/* ---- identity ---- */

/* The parts of a run that figures describe, in the order of the JSON. S(identity without
 * FIGURE_OF_, two members that lead to it, what tells its parts apart in a name, a member behind
 * that). */
#define FIGURE_SCOPE_TABLE(S)                                                                      \
    S(RUN, NULL, NULL, NONE, NULL)                                                                 \
    S(STATUS, "status", NULL, NONE, NULL)                                                          \
    S(POPULATED, "populated", NULL, NONE, NULL)                                                    \
    S(WARMUP, "warmup", NULL, NONE, NULL)                                                          \
    S(PROVENANCE, "run", NULL, NONE, NULL)                                                         \
    S(CAPACITY, "run", "capacities", TIER, NULL) /* of a tier */                                   \
    S(KERNEL, "run", "kernel", NONE, NULL)                                                         \
    S(EVIDENCE, "run", "evidence", NONE, NULL)                                                     \
    S(OVERLOAD, "run", "evidence", NONE, "overload") /* in the evidence */                         \
    S(READS, "run", "evidence", NONE, "reads") /* where bytes of Tier-2 came from, and went */     \
    S(WRITES, "run", "evidence", NONE, "writes")                                                   \
    S(BOTH, "run", "evidence", NONE, "loads_and_stores") /* beside each other */                   \
    S(DRIVE, "run", "evidence", NONE, "device_times")    /* what the drive itself took */          \
    S(DRIVE_LOG, "run", "drive_log", NONE, NULL)                                                   \
    S(AUTOSCALING, "run", "autoscaling", NONE, NULL)                                               \
    S(APART, "run", "apart", LABEL, NULL) /* of the operation in label, which is no row */         \
    S(VALIDITY, "validity", NULL, NONE, NULL)                                                      \
    S(VALIDITY_KIND, "validity", "figures", LABEL, NULL) /* of the kind of figure in label */      \
    S(THROUGHPUT, "throughput", NULL, NONE, NULL)                                                  \
    S(WALL, "throughput", "wall", NONE, NULL)            /* throughput over wall-clock time */     \
    S(STORAGE_TIME, "throughput", "storage", NONE, NULL) /* throughput over summed storage time */ \
    S(TIER2, "throughput", "tier2", NONE, NULL)          /* throughput of Tier-2 */                \
    S(BOTTLENECK, "bottleneck", NULL, NONE, NULL)                                                  \
    S(SHARES, "bottleneck", "shares", NONE, NULL) /* of end-to-end time */                         \
    S(GROUP, "groups", NULL, LABEL, NULL)         /* by the columns of --by */                     \
    S(LOOKUPS, "cache", "lookups", LOOKUP, NULL)  /* of a class; of all without GROUPS_CLASS */    \
    S(CACHE, "cache", NULL, NONE, NULL)                                                            \
    S(CACHE_TIER, "cache", "tiers", TIERS, NULL) /* of a tier */                                   \
    S(REQUESTS, "requests", NULL, NONE, NULL)                                                      \
    S(QOS, "requests", "by_qos", QOS, NULL)      /* requests of a QoS class */                     \
    S(TARGETS, "requests", "by_qos", QOS, "sla") /* of a QoS class */                              \
    S(INGEST, "ingest", NULL, NONE, NULL)        /* of documents; none were: no figure */          \
    S(DIRECTION, "tiers", NULL, DIRECTION, NULL) /* of a tier and an operation */                  \
    S(TIER, "tiers", NULL, TIERS, NULL)          /* of a tier */                                   \
    S(PHASE, "phases", NULL, PHASES, NULL)       /* of a phase */                                  \
    S(REUSE, "reuse", NULL, NONE, NULL)                                                            \
    S(VERDICT, "assessment", NULL, NONE, NULL)                                                     \
    S(CRITERION, "assessment", "criteria", LABEL, NULL) /* of the criterion in label */            \
    S(SERIES, "series", NULL, NONE, NULL)                                                          \
    S(ROWS, NULL, NULL, NONE, NULL)  /* sums that only the text shows: no names */                 \
    S(OTHER, NULL, NULL, NONE, NULL) /* a member that only another program's JSON has */
#define FIGURE_SCOPE(id, ...) FIGURE_OF_##id,
enum figure_scope {
    FIGURE_SCOPE_TABLE(FIGURE_SCOPE) FIGURE_SCOPES
};

/* Every quantity of a figure that is no fact. F(identity without FIGURE_, name in JSON or NULL,
 * unit).
 */
#define FIGURE_TABLE(F)                                                                            \
    F(ITSELF, NULL, NONE) /* the one value of the scope, or that the scope is unknown or empty */  \
    F(FILES, "files", NONE)                                                                        \
    F(KIND, "kind", NONE)                                                                          \
    F(ELAPSED, "elapsed_s", S)                                                                     \
    F(ROWS, "rows", NONE)                                                                          \
    F(CUT, "cut", NONE)                                                                            \
    F(BAD_ROWS, "bad_rows", NONE)                                                                  \
    F(OK, "ok", NONE)                                                                              \
    F(ABSENT, "absent", NONE)                                                                      \
    F(CORRUPT, "corrupt", NONE) /* all whose contents differ; of them: */                          \
    F(STALE, "stale", NONE)     /* those of another write of their object */                       \
    F(WRONG, "wrong", NONE)     /* those of another object */                                      \
    F(FAILED, "failed", NONE)                                                                      \
    F(BYTES, "bytes", BYTES)                                                                       \
    F(SECONDS, "seconds", S)                                                                       \
    F(DIGEST, "digest", NONE)                                                                      \
    F(SIMULATED, "simulated", NONE)                                                                \
    F(EMPTY, "empty", NONE) /* an engine did nothing there */                                      \
    F(VALID, "valid", NONE)                                                                        \
    F(WHY_INVALID, "why_invalid", NONE)                                                            \
    F(LATENESS, "lateness_us", US)                                                                 \
    F(NOTES, "notes", NONE)                                                                        \
    F(FLAGS, "storage_flags", NONE)                                                                \
    F(FALLBACKS, "storage_fallbacks", NONE)                                                        \
    F(DEVICE_OVER, "device_over_latency", NONE)                                                    \
    F(EARLY, "start_before_due", NONE)                                                             \
    F(GENERATION_SKIPPED, "generation_skipped", NONE)                                              \
    F(VALIDITY_LINE, "line", NONE)                                                                 \
    F(STATE, "state", NONE)                                                                        \
    F(WHY, "why", NONE)                                                                            \
    F(DOUBTED_TIER, "tier", NONE)                                                                  \
    F(DOUBTED_OP, "op", NONE)                                                                      \
    F(CLOCK, "clock", NONE)                                                                        \
    F(GENERATED_TOKENS, "generated_tokens", NONE)                                                  \
    F(GENERATED_TOKENS_PER_S, "generated_tokens_per_s", TOKENS_PER_S)                              \
    F(BYTES_PER_S, "bytes_per_s", BYTES_PER_S)                                                     \
    F(OPS_PER_S, "ops_per_s", PER_S)                                                               \
    F(BUSY, "busy_s", S)                                                                           \
    F(TOKENS_PER_S, "tokens_per_s", TOKENS_PER_S)                                                  \
    F(DECODE_BYTES_READ, "decode_bytes_read", BYTES)                                               \
    F(LARGEST, "what", NONE)                                                                       \
    F(SHARE, "share", SHARE)                                                                       \
    F(FOREMOST, "foremost", NONE)                                                                  \
    F(SHARE_QUEUE, "queue", SHARE)                                                                 \
    F(SHARE_GENERATION, "generation", SHARE)                                                       \
    F(SHARE_GPU, "gpu", SHARE)                                                                     \
    F(SHARE_CPU, "cpu", SHARE)                                                                     \
    F(SHARE_SLOT, "storage_slot", SHARE)                                                           \
    F(SHARE_META, "storage_meta", SHARE)                                                           \
    F(SHARE_IO, "storage_io", SHARE)                                                               \
    F(SHARE_FLUSH, "storage_flush", SHARE)                                                         \
    F(SHARE_STORAGE, "storage_unknown", SHARE) /* not told apart */                                \
    F(SHARE_HOST, "host", SHARE)                                                                   \
    F(SHARE_TOOL, "tool", SHARE) /* behind it, FIGURE_ROWS */                                      \
    F(OPS, "ops", NONE)                                                                            \
    F(GIB_PER_S, "gib_per_s", GIB_PER_S)                                                           \
    F(SIZE, "size_bytes", BYTES) /* distributions in the order of enum group_metric */             \
    F(SERVICE, "service_us", US)                                                                   \
    F(WAIT, "wait_us", US)                                                                         \
    F(RESPONSE, "response_us", US)                                                                 \
    F(DEVICE, "device_us", US)                                                                     \
    F(FIRST_BYTE, "first_byte_us", US) /* this and the next two only where the file has them */    \
    F(BEFORE_DRIVE, "queue_us", US)                                                                \
    F(AT_DRIVE, "drive_us", US)                                                                    \
    F(LOOKUPS, "lookups", NONE)                                                                    \
    F(HITS, "hits", NONE)                                                                          \
    F(MISSES, "misses", NONE)                                                                      \
    F(HIT_RATE, "hit_rate", SHARE)                                                                 \
    F(READ_WRITE_RATIO, "read_write_ratio", NONE)                                                  \
    F(READ_AMPLIFICATION, "read_amplification", NONE)                                              \
    F(CAPACITY_BYTES, "capacity_bytes", BYTES)                                                     \
    F(READ_OPS, "read_ops", NONE)                                                                  \
    F(READ_BYTES, "read_bytes", BYTES)                                                             \
    F(WRITE_OPS, "write_ops", NONE)                                                                \
    F(WRITE_BYTES, "write_bytes", BYTES)                                                           \
    F(EVICT_OPS, "evict_ops", NONE)                                                                \
    F(OFFLOAD_OPS, "offload_ops", NONE)                                                            \
    F(PROMOTE_OPS, "promote_ops", NONE)                                                            \
    F(DELETE_OPS, "delete_ops", NONE)                                                              \
    F(PEAK_BYTES, "peak_bytes", BYTES)                                                             \
    F(PEAK_OBJECTS, "peak_objects", NONE)                                                          \
    F(FINAL_BYTES, "final_bytes", BYTES)                                                           \
    F(FINAL_OBJECTS, "final_objects", NONE)                                                        \
    F(REQUESTS, "count", NONE)                                                                     \
    F(COUNTED_IN_PARTS, "counted_in_parts", NONE)                                                  \
    F(CUT_OFF, "cut_off", NONE)                                                                    \
    F(END_TO_END_FROM, "end_to_end_from", NONE)                                                    \
    F(CONTEXT_TOKENS_MEAN, "context_tokens_mean", NONE)                                            \
    F(GENERATED_TOKENS_MEAN, "generated_tokens_mean", NONE)                                        \
    F(END_TO_END, "end_to_end_ms", MS) /* distributions in the order of enum requests_metric */    \
    F(QUEUE, "queue_ms", MS)                                                                       \
    F(STORAGE, "storage_ms", MS)                                                                   \
    F(GENERATION, "generation_ms", MS)                                                             \
    F(FIRST_TOKEN, "first_token_ms", MS) /* only with --slo */                                     \
    F(TTFT, "ttft_ms", MS)               /* only of rows with a model of compute */                \
    F(TPOT, "tpot_ms", MS)               /* likewise */                                            \
    F(QUEUE_MEAN, "queue_mean_ms", MS)   /* of all that arrived, with those in line at the end */  \
    F(WAITING, "waiting", NONE)          /* requests in line at the end */                         \
    F(TARGET_P95, "target_p95_ms", MS)   /* in the order of figures_targets */                     \
    F(TARGET_P99, "target_p99_ms", MS)                                                             \
    F(TARGET_P999, "target_p999_ms", MS)                                                           \
    F(TARGET_P9999, "target_p9999_ms", MS)                                                         \
    F(COMPLIANCE, "compliance", SHARE)                                                             \
    F(MET, "met", NONE)                                                                            \
    F(KEYS, "keys", NONE)                                                                          \
    F(USES, "uses", NONE)                                                                          \
    F(REUSES, "reuses", NONE)                                                                      \
    F(DISTANCE_BYTES, "distance_bytes", BYTES)                                                     \
    F(DISTANCE_OBJECTS, "distance_objects", NONE)                                                  \
    F(REUSE_TIME, "time_s", S)                                                                     \
    F(PROFILE, "profile", NONE)                                                                    \
    F(VERDICT, "status", NONE)                                                                     \
    F(SENTENCE, "sentence", NONE)                                                                  \
    F(SLO_OF, "slo_of", NONE) /* the times that the classes' targets were held against */          \
    F(RELATION, "relation", NONE)                                                                  \
    F(TARGET, "target", NONE)                                                                      \
    F(ACTUAL, "actual", NONE)                                                                      \
    F(LOW, "low", NONE)                                                                            \
    F(HIGH, "high", NONE)                                                                          \
    F(SAME_OF_SERVICE, "service", NONE)                                                            \
    F(SAME_OF_DEVICE, "device", NONE)                                                              \
    F(UNIT, "unit", NONE)                                                                          \
    F(SAMPLES, "samples", NONE)                                                                    \
    F(INDEPENDENT_SAMPLES, "independent_samples", NONE)                                            \
    F(SAMPLES_TO_DECIDE, "samples_to_decide", NONE)                                                \
    F(DOUBT, "doubt", NONE)                                                                        \
    F(REASON, "reason", NONE) /* why a search ended, or a criterion is not decided */              \
    F(PASSED, "passed", NONE)                                                                      \
    F(SAME_OF_DRIVE, "drive", NONE) /* with the drive's own times */                               \
    F(TIME, "t_s", S)               /* of an interval's begin */                                   \
    F(CONTENTS_BYTES, "contents_bytes", BYTES)                                                     \
    F(MOVED, NULL, BYTES) /* bytes of Read and Write rows; no name */                              \
    F(GIB_PER_ELAPSED_S, "gib_per_elapsed_s", GIB_PER_S) /* over the elapsed time */               \
    F(IO_OPS, NULL, NONE)                                /* no name */                             \
    F(GENERATE_ROWS, NULL, NONE)                         /* no name */                             \
    F(OTHER, NULL, NONE)                                 /* the member in id.member */
#define FIGURE_WHAT(id, ...) FIGURE_##id,
enum figure_what {
    FIGURE_TABLE(FIGURE_WHAT)
    FIGURE_FACT, /* from here on, the facts that are shown, in the order of enum fact_id */
#define FIGURE_OF_FACT(id, ...) FIGURE_##id = FIGURE_FACT + FACT_##id,
    FACT_TABLE_PROVENANCE(FIGURE_OF_FACT)
    FIGURE_DEVICE_READ_BYTES = FIGURE_FACT + FACT_KERNEL_READ_BYTES,
    FIGURE_DEVICE_WRITE_BYTES,
    FIGURE_PAGE_CACHE_SHARE,
    FIGURE_WHATS = FIGURE_FACT + FACTS_SHOWN
};

/* The statistic of a distribution. */
enum figure_statistic {
    FIGURE_VALUE, /* none: the figure is a single value, or the whole distribution */
    FIGURE_COUNT, /* in the order of hist_statistic */
    FIGURE_MEAN,
    FIGURE_MIN,
    FIGURE_P50,
    FIGURE_P90,
    FIGURE_P95,
    FIGURE_P99,
    FIGURE_P999,
    FIGURE_P9999,
    FIGURE_MAX,
    FIGURE_FEW_SAMPLES, /* the percentiles that too few samples support */
    FIGURE_STATISTICS
};

/*
 * by: mask of enum groups_by that tells which of tier ... text are set; the others are 0. Zero but
 * for scope and what is the identity of a figure that needs neither these nor a label.
 */
struct figure_id {
    uint8_t scope, statistic;
    uint8_t tier, op, phase, qos, class;
    uint16_t what, by;
    int32_t status;
    const char *text[GROUP_TEXTS]; /* of a group; may be empty; NULL: not by it */
    const char *label;  /* of a group: the words of its columns, "Tier-2/Read/Decode"; of a
                           criterion:  its name */
    const char *member; /* of FIGURE_OTHER: the rest of the name */
};

/* The classes whose lookups are counted apart (enum trace_class). */
enum {
    FIGURE_LOOKUP_CLASSES = 5
};
extern const uint8_t figure_lookup_classes[FIGURE_LOOKUP_CLASSES];

/* The order of identities, 0: the same figure. Groups are the same when their labels are. */
int figure_id_compare(const struct figure_id *a, const struct figure_id *b);

static inline struct figure_id figure_id(enum figure_scope scope, enum figure_what what)
{
    return (struct figure_id){.scope = (uint8_t)scope, .what = (uint16_t)what};
}
enum figure_scope figure_scope_of_facts(enum fact_scope scope);
struct figure_id figure_id_fact(enum fact_id fact);
static inline struct figure_id figure_id_tier(enum figure_scope scope, unsigned tier,
                                              enum figure_what what)
{
    return (struct figure_id){
        .scope = (uint8_t)scope, .what = (uint16_t)what, .by = GROUPS_TIER, .tier = (uint8_t)tier};
}
static inline struct figure_id figure_id_direction(unsigned tier, unsigned op,
                                                   enum figure_what what)
{
    return (struct figure_id){.scope = FIGURE_OF_DIRECTION,
                              .what = (uint16_t)what,
                              .by = GROUPS_TIER | GROUPS_OP,
                              .tier = (uint8_t)tier,
                              .op = (uint8_t)op};
}
static inline struct figure_id figure_id_class(unsigned class)
{
    return (struct figure_id){
        .scope = FIGURE_OF_LOOKUPS, .by = GROUPS_CLASS, .class = (uint8_t) class};
}
static inline struct figure_id figure_id_statistic(struct figure_id id,
                                                   enum figure_statistic statistic)
{
    id.statistic = (uint8_t)statistic;
    return id;
}
/* The statistic of hist_percentiles[i]. */
static inline enum figure_statistic figure_percentile(unsigned i)
{
    return (enum figure_statistic)(FIGURE_P50 + i);
}

/* ---- value ---- */

enum figure_form {
    FIGURE_FORM_UNKNOWN,
    FIGURE_FORM_NUMBER,   /* number; NAN: unknown */
    FIGURE_FORM_UNSIGNED, /* count */
    FIGURE_FORM_SIGNED,   /* level */
    FIGURE_FORM_TRUTH,
    FIGURE_FORM_TEXT,
    FIGURE_FORM_WORD,        /* list.item[list.n], a word of a table */
    FIGURE_FORM_TEXTS,       /* list.item[0..list.n) */
    FIGURE_FORM_DISTRIBUTION /* hist; not empty */
};

/* Lends what it points at. */
struct figure {
    struct figure_id id;
    enum figure_form form;
    union {
        double number; /* in the unit of figure_unit */
        uint64_t count;
        int64_t level;
        bool truth;
        const char *text;
        const struct hist *hist; /* ns, bytes or objects */
        struct {
            const char *const *item;
            size_t n;
        } list;
    };
};

/* Consecutive figures of one part of a scope: of one group, one tier, one phase... Lent. */
struct figure_part {
    const struct figure *figure;
    size_t count;
};
/* The first of them that says this; NULL: there is none. */
const struct figure *figure_in(const struct figure_part *part, enum figure_what what);

/* The value as a number in the unit of figure_unit; NAN when it is none. */
double figure_number(const struct figure *f);
/* A statistic of a distribution, in the same unit. */
double figure_statistic(const struct figure *f, enum figure_statistic statistic);

/* Calls fn with the figure, or, of a distribution, with a figure for each statistic. 0, or what fn
 * returned, which ends the calls when it is not 0. */
typedef int (*figure_fn)(void *arg, const struct figure *f);
int figure_expand(const struct figure *f, figure_fn fn, void *arg);

/* Whole numbers without a point, others in the fewest digits that read back the same. */
enum {
    FIGURE_TEXT = 32
};
void figure_format_number(char buf[FIGURE_TEXT], double number);
/* The value as in CSV; unknown: "". Lent by the figure, or in buf. Not of FIGURE_FORM_TEXTS. */
const char *figure_text(const struct figure *f, char buf[FIGURE_TEXT]);

/* ---- unit and name ---- */

enum figure_unit figure_unit(enum figure_what what);
/* ns (bytes, objects) of a histogram in one unit of the distribution. */
double figure_scale(enum figure_what what);

/* The member that the figure is in JSON: "service_us"; NULL: it has no name. */
const char *figure_member(enum figure_what what);
/* The title of a distribution in the text, NULL: it has no table of its own; a note on it. */
const char *figure_title(enum figure_what what);
const char *figure_note(enum figure_what what);

/*
 * A figure's name in JSON as steps from the root: members, and elements of an array, which go by
 * their tier, phase, group or criterion. Joined by dots it is the name in CSV and spreadsheets:
 * "groups.Tier-2/Read/Decode.service_us.p95". Lends the texts of the identity.
 */
enum {
    FIGURE_STEPS = 8,
    FIGURE_NAME = 2048 /* bytes of a name */
};
struct figure_path {
    size_t steps;
    struct {
        const char *text;
        bool element;
    } step[FIGURE_STEPS];
};
/* False: the figure has no name, and stands in the text only. */
bool figure_path(struct figure_path *p, const struct figure_id *id);
/* The name; "" when there is none. Returns buf. */
const char *figure_name(char buf[FIGURE_NAME], const struct figure_id *id);

/* The name without what tells the parts of a scope apart and without the statistic:
 * "groups.service_us"; "" when there is none. Returns buf. */
const char *figure_family(char buf[FIGURE_NAME], const struct figure_id *id);
/* The words that tell parts apart; "" where none do. part: the class, phase, QoS class, criterion,
 * or the other words of a group's label. Lent as the identity is. */
struct figure_key {
    const char *tier, *op, *part;
};
void figure_key(struct figure_key *k, const struct figure_id *id);
const char *figure_statistic_word(enum figure_statistic statistic); /* "p95"; "" of a value */
/* "bytes", "GiB/s", "us"; "" of counts, ratios and texts. */
const char *figure_unit_word(const struct figure_id *id);

/* The identity of the figure with that name, FIGURE_OF_OTHER when kvstat has none: the inverse of
 * figure_name. Its texts stand in scratch, of strlen(name) + 2 bytes or more. */
struct figure_id figure_parse(const char *name, char *scratch);

/* "Tier-2/Read/Decode": the words of the columns in id->by, "-" for an empty one. Returns buf,
 * which has room for n bytes. */
const char *figure_label(char *buf, size_t n, const struct figure_id *id, char separator);
/* Copies as much of a text as fits into n bytes, cut between UTF-8 characters. */
void figure_cut_text(char *buf, size_t n, const char *text);

/* ---- what people look at first ---- */

/* A figure that the text of trials and comparisons shows, and in which changes are looked for. */
struct figure_headline {
    uint8_t scope, what, statistic;
    const char *label;
    int better; /* 1: more is better, -1: less is better, 0: neither */
};
/* NULL: none. Lent for ever. */
const struct figure_headline *figure_headline(const struct figure_id *id);
/* All headlines of whole runs; n: how many. */
const struct figure_headline *figure_headlines(size_t *n);

#endif
