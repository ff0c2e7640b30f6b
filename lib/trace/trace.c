/* The words of the trace format: texts of the enums and names of the columns, for the reader, the
 * writer and the reports. man/kvtrace.5 says what they mean. */
#include "lib/trace/trace.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define WORD(s)                                                                                    \
    {                                                                                              \
        s, sizeof(s) - 1                                                                           \
    }

static const struct trace_word no_word = WORD("");
static const struct trace_word op_words[] = {WORD("Read"),     WORD("Write"), WORD("Delete"),
                                             WORD("Generate"), WORD("Miss"),  WORD(""),
                                             WORD("Note")};
static const struct trace_word tier_words[] = {WORD("Tier-0"), WORD("Tier-1"), WORD("Tier-2"),
                                               WORD("")};
static const struct trace_word phase_words[] = {WORD("Prefill"), WORD("Decode"), WORD("Evict"),
                                                WORD("Both"), WORD("")};
static const struct trace_word qos_words[] = {WORD("interactive"), WORD("responsive"),
                                              WORD("batch"), WORD("")};
static const struct trace_word class_words[] = {
    WORD("user"),  WORD("multi_turn"), WORD("system"), WORD("common"), WORD("rag"),
    WORD("block"), WORD("ingest"),     WORD("prepop"), WORD("evict"),  WORD("promote"),
    WORD("store"), WORD("load"),       WORD("")};
static const char *const column_names[] = {
    [TRACE_COL_TIMESTAMP] = "Timestamp",
    [TRACE_COL_OPERATION] = "Operation",
    [TRACE_COL_SIZE] = "Object_Size_Bytes",
    [TRACE_COL_TIER] = "Tier",
    [TRACE_COL_KEY] = "Key",
    [TRACE_COL_PHASE] = "Phase",
    [TRACE_COL_REQUEST] = "Request",
    [TRACE_COL_USER] = "User",
    [TRACE_COL_QOS] = "QoS",
    [TRACE_COL_CLASS] = "Class",
    [TRACE_COL_TOKENS] = "Tokens",
    [TRACE_COL_ARRIVAL] = "Arrival",
    [TRACE_COL_DURATION] = "Duration_us",
    [TRACE_COL_ENGINE] = "Engine",
    [TRACE_COL_DUE] = "Due",
    [TRACE_COL_ELIGIBLE] = "Eligible",
    [TRACE_COL_START] = "Start",
    [TRACE_COL_LATENCY] = "Latency_us",
    [TRACE_COL_DEVICE] = "Device_us",
    [TRACE_COL_SLOT] = "Slot_us",
    [TRACE_COL_STATUS] = "Status",
    [TRACE_COL_FIRST_BYTE] = "First_byte_us",
    [TRACE_COL_RANK] = "Rank",
    [TRACE_COL_ENDPOINT] = "Endpoint",
    [TRACE_COL_THREAD] = "Thread",
    [TRACE_COL_QUEUE] = "Queue_us",
    [TRACE_COL_DRIVE] = "Drive_us",
};

static_assert(sizeof(op_words) / sizeof(*op_words) == TRACE_NOTE + 1, "a text per operation");
static_assert(sizeof(class_words) / sizeof(*class_words) == TRACE_NO_CLASS + 1, "a text per class");
static_assert(sizeof(column_names) / sizeof(*column_names) == TRACE_COLUMNS, "a name per column");

const struct trace_word *trace_op_word(enum trace_op v)
{
    return v <= TRACE_NOTE ? &op_words[v] : &no_word;
}

const char *trace_op_text(enum trace_op v)
{
    return trace_op_word(v)->text;
}

const struct trace_word *trace_tier_word(enum trace_tier v)
{
    return v <= TRACE_NO_TIER ? &tier_words[v] : &no_word;
}

const char *trace_tier_text(enum trace_tier v)
{
    return trace_tier_word(v)->text;
}

const struct trace_word *trace_phase_word(enum trace_phase v)
{
    return v <= TRACE_NO_PHASE ? &phase_words[v] : &no_word;
}

const char *trace_phase_text(enum trace_phase v)
{
    return trace_phase_word(v)->text;
}

const struct trace_word *trace_qos_word(enum trace_qos v)
{
    return v <= TRACE_NO_QOS ? &qos_words[v] : &no_word;
}

const char *trace_qos_text(enum trace_qos v)
{
    return trace_qos_word(v)->text;
}

const struct trace_word *trace_class_word(enum trace_class v)
{
    return v <= TRACE_NO_CLASS ? &class_words[v] : &no_word;
}

const char *trace_class_text(enum trace_class v)
{
    return trace_class_word(v)->text;
}

const char *trace_column_name(enum trace_column c)
{
    return c < TRACE_COLUMNS ? column_names[c] : "";
}

/* ---- statuses ---- */

/* Answers of other kinds of targets, TRACE_FOREIGN and up: error codes of S3 (Amazon S3 API
 * Reference, "Error responses") and the first words of errors of RESP (Redis and Valkey). "Other"
 * of each kind stands for all codes that are not here. New ones go to the end: the numbers stay
 * in tables of one process only, the texts in files. */
static const char *const foreign[] = {
    "S3:AccessDenied",
    "S3:BadDigest",
    "S3:EntityTooLarge",
    "S3:ExpiredToken",
    "S3:IncompleteBody",
    "S3:InternalError",
    "S3:InvalidAccessKeyId",
    "S3:InvalidArgument",
    "S3:InvalidObjectState",
    "S3:InvalidRange",
    "S3:InvalidRequest",
    "S3:InvalidToken",
    "S3:KeyTooLongError",
    "S3:MethodNotAllowed",
    "S3:NoSuchBucket",
    "S3:NoSuchKey",
    "S3:NotImplemented",
    "S3:OperationAborted",
    "S3:PermanentRedirect",
    "S3:PreconditionFailed",
    "S3:QuotaExceeded",
    "S3:RequestTimeout",
    "S3:RequestTimeTooSkewed",
    "S3:ServiceUnavailable",
    "S3:SignatureDoesNotMatch",
    "S3:SlowDown",
    "S3:TemporaryRedirect",
    "S3:TooManyRequests",
    "S3:Other",
    "RESP:ASK",
    "RESP:BUSY",
    "RESP:CLUSTERDOWN",
    "RESP:ERR",
    "RESP:LOADING",
    "RESP:MASTERDOWN",
    "RESP:MISCONF",
    "RESP:MOVED",
    "RESP:NOAUTH",
    "RESP:NOPERM",
    "RESP:NOREPLICAS",
    "RESP:OOM",
    "RESP:READONLY",
    "RESP:TRYAGAIN",
    "RESP:WRONGPASS",
    "RESP:WRONGTYPE",
    "RESP:Other",
    /* where the body of an answer names no code */
    "S3:HTTP400",
    "S3:HTTP403",
    "S3:HTTP404",
    "S3:HTTP408",
    "S3:HTTP409",
    "S3:HTTP412",
    "S3:HTTP416",
    "S3:HTTP429",
    "S3:HTTP500",
    "S3:HTTP502",
    "S3:HTTP503",
    "S3:HTTP504",
    "S3:HTTP301",
    "S3:HTTP302",
    "S3:HTTP307",
    "S3:HTTP308",
    "S3:HTTP401",
    "S3:HTTP405",
    "S3:HTTP411",
    "S3:HTTP413",
    "S3:HTTP414",
    "S3:HTTP431",
    "S3:HTTP501",
    "S3:HTTP507",
    "S3:AuthorizationHeaderMalformed",
    "S3:MissingContentLength",
    "S3:XMinioServerNotInitialized",
    "S3:XMinioStorageFull",
};
#define FOREIGNS (sizeof(foreign) / sizeof(*foreign))
static_assert(FOREIGNS <= TRACE_FOREIGNS, "room in tables of statuses");

const char *trace_status_text(int status)
{
    switch (status) {
    case TRACE_NO_STATUS:
        return "";
    case TRACE_OK:
        return "ok";
    case TRACE_ABSENT:
        return "absent";
    case TRACE_CORRUPT:
        return "corrupt";
    case TRACE_LOST:
        return "lost";
    case TRACE_STALE:
        return "stale";
    case TRACE_WRONG:
        return "wrong";
    }
    if (status >= TRACE_FOREIGN && (size_t)(status - TRACE_FOREIGN) < FOREIGNS)
        return foreign[status - TRACE_FOREIGN];
    const char *name = err_errno_name(status);
    return name ? name
                : "EIO"; /* no I/O returns this errno; the row still has to say that it failed */
}

static bool is_text(const char *text, const char *p, size_t len)
{
    return strlen(text) == len && memcmp(text, p, len) == 0;
}

/* Finds KIND:CODE in the table, or else KIND:Other. -1: no such kind. */
static int find_foreign(const char *p, size_t len)
{
    const char *colon = memchr(p, ':', len);
    size_t kind = colon ? (size_t)(colon - p) + 1 : 0;
    int other = -1;

    if (kind == 0 || kind == len)
        return -1;
    for (size_t i = kind; i < len; i++)
        if (!isalnum((unsigned char)p[i]) && p[i] != '_' && p[i] != '.' && p[i] != '-')
            return -1;
    for (int i = 0; i < (int)FOREIGNS; i++) {
        if (is_text(foreign[i], p, len))
            return i;
        if (strncmp(foreign[i], p, kind) == 0 && strcmp(foreign[i] + kind, "Other") == 0)
            other = i;
    }
    return other;
}

int trace_status_parse(const char *p, size_t len, int *status)
{
    static const int fixed[] = {TRACE_NO_STATUS, TRACE_OK,    TRACE_ABSENT, TRACE_CORRUPT,
                                TRACE_LOST,      TRACE_STALE, TRACE_WRONG};
    int value;

    for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++) {
        if (is_text(trace_status_text(fixed[i]), p, len)) {
            *status = fixed[i];
            return 0;
        }
    }
    value = err_errno_value(p, len);
    if (value <= 0) {
        int i = find_foreign(p, len);
        if (i < 0)
            return -EINVAL;
        value = TRACE_FOREIGN + i;
    }
    *status = value;
    return 0;
}

/* ---- the record ---- */

void trace_extra_clear(struct trace_extra *extra)
{
    *extra = (struct trace_extra){.slot_ns = TRACE_NONE,
                                  .first_byte_ns = TRACE_NONE,
                                  .queue_ns = TRACE_NONE,
                                  .drive_ns = TRACE_NONE,
                                  .rank = TRACE_NONE};
}

void trace_row_clear(struct trace_row *row)
{
    *row = (struct trace_row){.time_ns = 0,
                              .op = TRACE_READ,
                              .tier = TRACE_NO_TIER,
                              .phase = TRACE_NO_PHASE,
                              .qos = TRACE_NO_QOS,
                              .class = TRACE_NO_CLASS,
                              .status = TRACE_NO_STATUS,
                              .engine = -1,
                              .request = TRACE_NONE,
                              .tokens = TRACE_NONE,
                              .arrival_ns = TRACE_NONE,
                              .duration_ns = TRACE_NONE,
                              .due_ns = TRACE_NONE,
                              .eligible_ns = TRACE_NONE,
                              .start_ns = TRACE_NONE,
                              .latency_ns = TRACE_NONE,
                              .device_ns = TRACE_NONE};
}
