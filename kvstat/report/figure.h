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

/* The part of a run that a figure describes, in the order of the JSON. */
enum figure_scope {
    FIGURE_OF_RUN,
    FIGURE_OF_STATUS,
    FIGURE_OF_POPULATED,
    FIGURE_OF_WARMUP,
    FIGURE_OF_PROVENANCE,
    FIGURE_OF_CAPACITY, /* of a tier */
    FIGURE_OF_KERNEL,
    FIGURE_OF_EVIDENCE,
    FIGURE_OF_OVERLOAD, /* in the evidence */
    FIGURE_OF_READS,    /* likewise: where the bytes of Tier-2 came from, and went */
    FIGURE_OF_WRITES,
    FIGURE_OF_BOTH,  /* likewise: loads and stores beside each other */
    FIGURE_OF_DRIVE, /* likewise: what the drive itself took */
    FIGURE_OF_DRIVE_LOG,
    FIGURE_OF_AUTOSCALING,
    FIGURE_OF_APART, /* of the operation in label, which is no row */
    FIGURE_OF_VALIDITY,
    FIGURE_OF_VALIDITY_KIND, /* of the kind of figure in label */
    FIGURE_OF_THROUGHPUT,
    FIGURE_OF_WALL,         /* throughput over wall-clock time */
    FIGURE_OF_STORAGE_TIME, /* throughput over summed storage time */
    FIGURE_OF_TIER2,        /* throughput of Tier-2 */
    FIGURE_OF_BOTTLENECK,
    FIGURE_OF_SHARES,  /* of end-to-end time */
    FIGURE_OF_GROUP,   /* by the columns of --by */
    FIGURE_OF_LOOKUPS, /* of a class; of all without GROUPS_CLASS */
    FIGURE_OF_CACHE,
    FIGURE_OF_CACHE_TIER, /* of a tier */
    FIGURE_OF_REQUESTS,
    FIGURE_OF_QOS,     /* requests of a QoS class */
    FIGURE_OF_TARGETS, /* of a QoS class */
    FIGURE_OF_INGEST,  /* documents for retrieval that were ingested in the run; none: no figure */
    FIGURE_OF_DIRECTION, /* of a tier and an operation */
    FIGURE_OF_TIER,      /* of a tier */
    FIGURE_OF_PHASE,     /* of a phase */
    FIGURE_OF_REUSE,
    FIGURE_OF_VERDICT,
    FIGURE_OF_CRITERION, /* of the criterion in label */
    FIGURE_OF_SERIES,
    FIGURE_OF_ROWS,  /* sums over rows that only the text shows: they have no name */
    FIGURE_OF_OTHER, /* a member that only another program's JSON has */
    FIGURE_SCOPES
};

/* The quantity of a figure. */
enum figure_what {
    FIGURE_ITSELF, /* the one value of the scope, or that the scope is unknown or empty */
    FIGURE_FILES,
    FIGURE_KIND,
    FIGURE_ELAPSED,
    FIGURE_ROWS,
    FIGURE_CUT,
    FIGURE_BAD_ROWS,
    FIGURE_OK,
    FIGURE_ABSENT,
    FIGURE_CORRUPT, /* all whose contents differ; of them: */
    FIGURE_STALE,   /* those of another write of their object */
    FIGURE_WRONG,   /* those of another object */
    FIGURE_FAILED,
    FIGURE_BYTES,
    FIGURE_SECONDS,
    FIGURE_DIGEST,
    FIGURE_SIMULATED,
    FIGURE_EMPTY, /* an engine did nothing there */
    FIGURE_VALID,
    FIGURE_WHY_INVALID,
    FIGURE_LATENESS,
    FIGURE_NOTES,
    FIGURE_FLAGS,
    FIGURE_FALLBACKS,
    FIGURE_DEVICE_OVER,
    FIGURE_EARLY,
    FIGURE_GENERATION_SKIPPED,
    FIGURE_VALIDITY_LINE,
    FIGURE_STATE,
    FIGURE_WHY,
    FIGURE_DOUBTED_TIER,
    FIGURE_DOUBTED_OP,
    FIGURE_CLOCK,
    FIGURE_GENERATED_TOKENS,
    FIGURE_GENERATED_TOKENS_PER_S,
    FIGURE_BYTES_PER_S,
    FIGURE_OPS_PER_S,
    FIGURE_BUSY,
    FIGURE_TOKENS_PER_S,
    FIGURE_DECODE_BYTES_READ,
    FIGURE_LARGEST,
    FIGURE_SHARE,
    FIGURE_FOREMOST,
    FIGURE_SHARE_QUEUE,
    FIGURE_SHARE_GENERATION,
    FIGURE_SHARE_GPU,
    FIGURE_SHARE_CPU,
    FIGURE_SHARE_SLOT,
    FIGURE_SHARE_META,
    FIGURE_SHARE_IO,
    FIGURE_SHARE_FLUSH,
    FIGURE_SHARE_STORAGE, /* not told apart */
    FIGURE_SHARE_HOST,
    FIGURE_SHARE_TOOL, /* behind it, FIGURE_ROWS */
    FIGURE_OPS,
    FIGURE_GIB_PER_S,
    FIGURE_SIZE, /* distributions in the order of enum group_metric */
    FIGURE_SERVICE,
    FIGURE_WAIT,
    FIGURE_RESPONSE,
    FIGURE_DEVICE,
    FIGURE_FIRST_BYTE, /* this and the next two only where the file has them */
    FIGURE_BEFORE_DRIVE,
    FIGURE_AT_DRIVE,
    FIGURE_LOOKUPS,
    FIGURE_HITS,
    FIGURE_MISSES,
    FIGURE_HIT_RATE,
    FIGURE_READ_WRITE_RATIO,
    FIGURE_READ_AMPLIFICATION,
    FIGURE_CAPACITY_BYTES,
    FIGURE_READ_OPS,
    FIGURE_READ_BYTES,
    FIGURE_WRITE_OPS,
    FIGURE_WRITE_BYTES,
    FIGURE_EVICT_OPS,
    FIGURE_OFFLOAD_OPS,
    FIGURE_PROMOTE_OPS,
    FIGURE_DELETE_OPS,
    FIGURE_PEAK_BYTES,
    FIGURE_PEAK_OBJECTS,
    FIGURE_FINAL_BYTES,
    FIGURE_FINAL_OBJECTS,
    FIGURE_REQUESTS,
    FIGURE_COUNTED_IN_PARTS,
    FIGURE_CUT_OFF,
    FIGURE_END_TO_END_FROM,
    FIGURE_CONTEXT_TOKENS_MEAN,
    FIGURE_GENERATED_TOKENS_MEAN,
    FIGURE_END_TO_END, /* distributions in the order of enum requests_metric */
    FIGURE_QUEUE,
    FIGURE_STORAGE,
    FIGURE_GENERATION,
    FIGURE_FIRST_TOKEN, /* only with --slo */
    FIGURE_TTFT,        /* only of rows with a model of compute */
    FIGURE_TPOT,        /* likewise */
    FIGURE_QUEUE_MEAN,  /* of all that arrived, with those in line at the end */
    FIGURE_WAITING,     /* requests in line at the end */
    FIGURE_TARGET_P95,  /* in the order of figures_targets */
    FIGURE_TARGET_P99,
    FIGURE_TARGET_P999,
    FIGURE_TARGET_P9999,
    FIGURE_COMPLIANCE,
    FIGURE_MET,
    FIGURE_KEYS,
    FIGURE_USES,
    FIGURE_REUSES,
    FIGURE_DISTANCE_BYTES,
    FIGURE_DISTANCE_OBJECTS,
    FIGURE_REUSE_TIME,
    FIGURE_PROFILE,
    FIGURE_VERDICT,
    FIGURE_SENTENCE,
    FIGURE_SLO_OF, /* the times that the classes' targets were held against */
    FIGURE_RELATION,
    FIGURE_TARGET,
    FIGURE_ACTUAL,
    FIGURE_LOW,
    FIGURE_HIGH,
    FIGURE_SAME_OF_SERVICE,
    FIGURE_SAME_OF_DEVICE,
    FIGURE_UNIT,
    FIGURE_SAMPLES,
    FIGURE_INDEPENDENT_SAMPLES,
    FIGURE_SAMPLES_TO_DECIDE,
    FIGURE_DOUBT,
    FIGURE_REASON, /* why a search ended, or a criterion is not decided */
    FIGURE_PASSED,
    FIGURE_SAME_OF_DRIVE, /* of profile latency, where the file has the drive's own times */
    FIGURE_TIME,          /* of an interval's begin */
    FIGURE_CONTENTS_BYTES,
    FIGURE_MOVED,             /* bytes of Read and Write rows; no name */
    FIGURE_GIB_PER_ELAPSED_S, /* of a direction: bytes over the elapsed time of the run */
    FIGURE_IO_OPS,            /* no name */
    FIGURE_GENERATE_ROWS,     /* no name */
    FIGURE_OTHER,             /* the member in id.member */
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
    FIGURE_COUNT,
    FIGURE_MEAN,
    FIGURE_MIN,
    FIGURE_P50, /* in the order of hist_percentiles */
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
