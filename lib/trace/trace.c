/* The words of the trace format: texts of the enums and names of the columns, for the reader, the
 * writer and the reports. man/kvtrace.5 says what they mean. */
#include "lib/trace/trace.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define WORD(s)                                                                                    \
    {                                                                                              \
        s, sizeof(s) - 1                                                                           \
    }

static const struct trace_word no_word = WORD("");
static const struct trace_word op_words[] = {WORD("Read"),     WORD("Write"), WORD("Delete"),
                                             WORD("Generate"), WORD("Miss"),  WORD("")};
static const struct trace_word tier_words[] = {WORD("Tier-0"), WORD("Tier-1"), WORD("Tier-2"),
                                               WORD("")};
static const struct trace_word phase_words[] = {WORD("Prefill"), WORD("Decode"), WORD("Evict"),
                                                WORD("Both"), WORD("")};
static const struct trace_word qos_words[] = {WORD("interactive"), WORD("responsive"),
                                              WORD("batch"), WORD("")};
static const struct trace_word class_words[] = {
    WORD("user"),   WORD("multi_turn"), WORD("system"), WORD("common"),  WORD("rag"), WORD("block"),
    WORD("ingest"), WORD("prepop"),     WORD("evict"),  WORD("promote"), WORD("")};
static const char *const column_names[] = {"Timestamp",   "Operation",  "Object_Size_Bytes",
                                           "Tier",        "Key",        "Phase",
                                           "Request",     "User",       "QoS",
                                           "Class",       "Tokens",     "Arrival",
                                           "Duration_us", "Due",        "Eligible",
                                           "Start",       "Latency_us", "Device_us",
                                           "Status"};

static_assert(sizeof(class_words) / sizeof(*class_words) == TRACE_NO_CLASS + 1, "a text per class");
static_assert(sizeof(column_names) / sizeof(*column_names) == TRACE_COLUMNS, "a name per column");

const struct trace_word *trace_op_word(enum trace_op v)
{
    return v <= TRACE_OPS ? &op_words[v] : &no_word;
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
    }
    const char *name = err_errno_name(status);
    return name ? name
                : "EIO"; /* no I/O returns this errno; the row still has to say that it failed */
}

int trace_status_parse(const char *p, size_t len, int *status)
{
    static const int fixed[] = {TRACE_NO_STATUS, TRACE_OK, TRACE_ABSENT, TRACE_CORRUPT};
    for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++) {
        const char *text = trace_status_text(fixed[i]);
        if (strlen(text) == len && memcmp(text, p, len) == 0) {
            *status = fixed[i];
            return 0;
        }
    }
    int value = err_errno_value(p, len);
    if (value <= 0)
        return -EINVAL;
    *status = value;
    return 0;
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
