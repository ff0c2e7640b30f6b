/* Words of the trace format: texts of the enums and names of the columns, used by the
 * reader, the writer and the reports. What the words mean is specified in man/kvtrace.5. */
#include "lib/trace.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static const char *const op_texts[] = {"Read", "Write", "Delete", "Generate", "Miss", ""};
static const char *const tier_texts[] = {"Tier-0", "Tier-1", "Tier-2", ""};
static const char *const phase_texts[] = {"Prefill", "Decode", "Evict", "Both", ""};
static const char *const qos_texts[] = {"interactive", "responsive", "batch", ""};
static const char *const class_texts[] = {"user",  "multi_turn", "system", "common",
                                          "rag",   "block",      "ingest", "prepop",
                                          "evict", "promote",    ""};
static const char *const column_names[] = {"Timestamp",   "Operation",  "Object_Size_Bytes",
                                           "Tier",        "Key",        "Phase",
                                           "Request",     "User",       "QoS",
                                           "Class",       "Tokens",     "Arrival",
                                           "Duration_us", "Due",        "Eligible",
                                           "Start",       "Latency_us", "Device_us",
                                           "Status"};

static_assert(sizeof(class_texts) / sizeof(*class_texts) == TRACE_NO_CLASS + 1, "a text per class");
static_assert(sizeof(column_names) / sizeof(*column_names) == TRACE_COLUMNS, "a name per column");

const char *trace_op_text(enum trace_op v)
{
    return v <= TRACE_OPS ? op_texts[v] : "";
}

const char *trace_tier_text(enum trace_tier v)
{
    return v <= TRACE_NO_TIER ? tier_texts[v] : "";
}

const char *trace_phase_text(enum trace_phase v)
{
    return v <= TRACE_NO_PHASE ? phase_texts[v] : "";
}

const char *trace_qos_text(enum trace_qos v)
{
    return v <= TRACE_NO_QOS ? qos_texts[v] : "";
}

const char *trace_class_text(enum trace_class v)
{
    return v <= TRACE_NO_CLASS ? class_texts[v] : "";
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
                : "EIO"; /* an errno that no I/O returns: the row still says that it failed */
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
