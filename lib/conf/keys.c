/* The one table of configuration keys: path, type, default, range and help stand here and nowhere
 * else. Sections and names are those of the MLPerf Storage KV-cache benchmark's file, so that files
 * written for it are accepted. A key of the benchmark without a meaning here has no help text and
 * causes a warning. Names are compared one by one, never split at dots, because model ids such as
 * llama3.1-8b contain dots. */
#include "lib/conf/keys.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/nearest.h"

/* Bounds that keep products of a few of these numbers within 64 bits. */
#define TOKENS_MAX 1073741824.0 /* 2^30 tokens */
#define COUNT_MAX  1000000000.0
#define USERS_MAX  16777216.0 /* as --max-users */
#define MS_MAX     86400000.0 /* a day */
#define S_MAX      86400.0

#define USERS(persona, context, generation, think)                                                 \
    {"user_templates." persona ".context_range",                                                   \
     CONF_I64_PAIR,                                                                                \
     context,                                                                                      \
     1,                                                                                            \
     TOKENS_MAX,                                                                                   \
     NULL,                                                                                         \
     "Tokens of context of a " persona " user: lowest and highest."},                              \
        {"user_templates." persona ".generation_range",                                            \
         CONF_I64_PAIR,                                                                            \
         generation,                                                                               \
         1,                                                                                        \
         TOKENS_MAX,                                                                               \
         NULL,                                                                                     \
         "Tokens that a " persona " user asks for in an answer: lowest and highest."},             \
    {                                                                                              \
        "user_templates." persona ".think_time_range", CONF_F64_PAIR, think, 0, S_MAX, NULL,       \
            "Seconds that a " persona                                                              \
            " user waits between answer and next request: lowest and highest."                     \
    }

#define QOS_TARGET(qos, percentile, name, def)                                                     \
    {                                                                                              \
        "qos_profiles." qos ".target_latency_" percentile "_ms", CONF_F64, def, 0, MS_MAX, NULL,   \
            "Target of the " name " latency of " qos " requests, in ms."                           \
    }
#define QOS(qos, p95, p99, p999, p9999, prio)                                                      \
    QOS_TARGET(qos, "p95", "P95", p95), QOS_TARGET(qos, "p99", "P99", p99),                        \
        QOS_TARGET(qos, "p999", "P99.9", p999), QOS_TARGET(qos, "p9999", "P99.99", p9999),         \
    {                                                                                              \
        "qos_profiles." qos ".priority", CONF_I64, prio, 0, 1000, NULL,                            \
            "Priority of " qos " requests in the queue; higher is served first."                   \
    }

/* A key of the benchmark that has no meaning here. */
#define NOTHING(path)                                                                              \
    {                                                                                              \
        path, CONF_TEXT, NULL, 0, 0, NULL, NULL                                                    \
    }

const struct conf_key conf_keys[] = {
    USERS("chatbot", "[512, 4096]", "[50, 200]", "[0.1, 0.5]"),
    USERS("coding", "[4096, 25000]", "[100, 500]", "[0.2, 1.0]"),
    USERS("document", "[4096, 16384]", "[200, 800]", "[0.3, 1.5]"),

    {"generation_timing.none", CONF_F64, "0", 0, S_MAX, NULL,
     "Seconds per generated token with --generation-mode none."},
    {"generation_timing.fast", CONF_F64, "0.002", 0, S_MAX, NULL,
     "Seconds per generated token with --generation-mode fast."},
    {"generation_timing.realistic", CONF_F64, "0.030", 0, S_MAX, NULL,
     "Seconds per generated token with --generation-mode realistic."},

    QOS("interactive", "50", "100", "150", "200", "3"),
    QOS("responsive", "100", "200", "350", "500", "2"),
    QOS("batch", "1000", "5000", "7500", "10000", "1"),
    {"qos_distribution.interactive_probability", CONF_F64, "0.15", 0, 1, NULL,
     "Share of users that are interactive."},
    {"qos_distribution.responsive_threshold", CONF_F64, "0.50", 0, 1, NULL,
     "Share of users that are interactive or responsive; the rest is batch."},

    {"eviction.target_usage_ratio", CONF_F64, "0.8", 0, 1, NULL,
     "Share of a tier other than the last that is filled before it demotes."},
    {"eviction.large_entry_limit_ratio", CONF_F64, "0.95", 0, 1, NULL,
     "Largest object, as a share of the capacity, that a tier other than the last takes."},
    NOTHING("eviction.max_recursion_depth"),
    NOTHING("eviction.max_evictions_hard_cap"),
    NOTHING("eviction.max_evictions_min"),
    NOTHING("gpu_backend.*"),

    {"prefix_cache.system_prompt_hit_probability", CONF_F64, "0.2", 0, 1, NULL,
     "Probability that a request begins with a shared system prompt."},
    {"prefix_cache.system_prompt_tokens", CONF_I64_LIST, "[5, 9, 6]", 1, TOKENS_MAX, NULL,
     "Tokens of each shared system prompt; their number is that of the list."},
    NOTHING("prefix_cache.min_prefix_length"),
    NOTHING("prefix_cache.max_prefix_entries"),

    {"rag.chunk_size_tokens", CONF_I64, "512", 1, TOKENS_MAX, NULL,
     "Tokens of a chunk of a document."},
    {"rag.top_k_chunks", CONF_I64, "5", 1, COUNT_MAX, NULL, "Chunks read in a retrieval."},
    {"rag.max_chunk_bytes", CONF_I64, "268435456", 1, 1099511627776.0, NULL,
     "Largest chunk, in bytes."},
    {"rag.request_probability", CONF_F64, "0.1", 0, 1, NULL,
     "Probability that a request retrieves from a document."},
    {"rag.retrieval_distribution", CONF_TEXT, "zipfian", 0, 0, "zipfian|uniform|random",
     "How chunks are picked: weights 1/rank, or equal (uniform and random mean the same)."},
    {"rag.max_documents", CONF_I64, "0", 0, COUNT_MAX, NULL,
     "Documents kept; the oldest is dropped. 0: all."},
    {"rag.large_model_doc_tokens_min", CONF_I64, "1024", 1, TOKENS_MAX, NULL,
     "Fewest tokens of a document, models with hidden >= 8192 or >= 64 layers."},
    {"rag.large_model_doc_tokens_max", CONF_I64, "4096", 1, TOKENS_MAX, NULL,
     "Most tokens of a document, models with hidden >= 8192 or >= 64 layers."},
    {"rag.small_model_doc_tokens_min", CONF_I64, "4000", 1, TOKENS_MAX, NULL,
     "Fewest tokens of a document, other models."},
    {"rag.small_model_doc_tokens_max", CONF_I64, "12000", 1, TOKENS_MAX, NULL,
     "Most tokens of a document, other models."},

    {"conversation.max_conversations", CONF_I64, "1000", 1, COUNT_MAX, NULL,
     "Live conversations; the least recently used one is dropped."},
    {"conversation.max_turns_per_conv", CONF_I64, "50", 1, COUNT_MAX, NULL,
     "Turns after which a conversation ends."},
    {"conversation.end_conversation_probability", CONF_F64, "0.2", 0, 1, NULL,
     "Probability that a conversation ends before a turn."},
    {"conversation.reload", CONF_TEXT, "previous", 0, 0, "previous|all",
     "Earlier turns that a turn looks up: the one before, or every one."},

    {"autoscaler.min_users", CONF_I64, "1", 1, USERS_MAX, NULL,
     "Fewest users that kvreplay --autoscale tries."},
    {"autoscaler.max_users", CONF_I64, "10000", 1, USERS_MAX, NULL, "Most users that it tries."},
    {"autoscaler.scale_up_factor", CONF_F64, "1.2", 1, 100, NULL,
     "Users are multiplied by this while the limit holds."},
    {"autoscaler.scale_down_factor", CONF_F64, "0.8", 0.01, 1, NULL,
     "Users are multiplied by this when the limit is passed."},
    NOTHING("autoscaler.consecutive_samples_required"),

    {"decode.batch_size", CONF_I64, "32", 1, TOKENS_MAX, NULL,
     "Generated tokens between two reads of the request's object."},

    {"sharegpt.max_context_tokens", CONF_I64, "16384", 1, TOKENS_MAX, NULL,
     "Skip turns of the dataset with more tokens of context."},
    {"sharegpt.max_generation_tokens", CONF_I64, "2048", 1, TOKENS_MAX, NULL,
     "Skip turns of the dataset with more generated tokens."},
    {"sharegpt.chars_per_token_estimate", CONF_F64, "4", 0.01, 1000, NULL,
     "Characters counted as one token."},

    {"saturation_detection.read_latency_p95_threshold_ms", CONF_F64, "100", 0, MS_MAX, NULL,
     "Limit of kvreplay --autoscale for the P95 of Tier-2 reads, in ms."},
    {"saturation_detection.write_latency_p95_threshold_ms", CONF_F64, "50", 0, MS_MAX, NULL,
     "P95 of Tier-2 writes at which the saturation of a step is 1, in ms; 0: writes do not count."},
    {"saturation_detection.queue_depth_threshold", CONF_I64, "100", 0, COUNT_MAX, NULL,
     "Requests in line at the end of a step at which its saturation is 1; 0: they do not count."},
    NOTHING("saturation_detection.history_window_size"),
    NOTHING("validation_limits.*"),
    NOTHING("cache_sizing.*"),

    {"storage_health.write_device_p95_ms", CONF_F64, "500", 0, MS_MAX, NULL,
     "Highest P95 of storage writes on the device that passes, in ms."},
    {"storage_health.read_device_p95_ms", CONF_F64, "200", 0, MS_MAX, NULL,
     "Highest P95 of storage reads on the device that passes, in ms."},
    {"storage_health.cpu_p95_ms", CONF_F64, "150", 0, MS_MAX, NULL,
     "Highest P95 of the CPU tier that passes, in ms."},
    {"storage_health.hit_rate", CONF_F64, "0.30", 0, 1, NULL, "Lowest hit rate that passes."},

    {"model_configs.*.name", CONF_TEXT, NULL, 0, 0, NULL, "The model's name for people."},
    {"model_configs.*.num_layers", CONF_I64, NULL, 1, 10000, NULL, "Layers."},
    {"model_configs.*.hidden_dim", CONF_I64, NULL, 1, 16777216, NULL, "Width of the model."},
    {"model_configs.*.num_heads", CONF_I64, NULL, 1, 65536, NULL, "Attention heads."},
    {"model_configs.*.kv_heads", CONF_I64, NULL, 1, 65536, NULL,
     "Heads of keys and values; num_heads when missing."},
    {"model_configs.*.kv_dim_per_head", CONF_I64, NULL, 1, 65536, NULL,
     "Width of a head; hidden_dim / num_heads when missing."},
    {"model_configs.*.dtype", CONF_TEXT, NULL, 0, 0, "float32|float16|bfloat16|fp8|int8|int4",
     "Type of the elements of the KV cache; 16 bits when missing."},
    {"model_configs.*.attention_type", CONF_TEXT, NULL, 0, 0, "mha|gqa|mla",
     "Kind of attention; told by the other keys when missing."},
    {"model_configs.*.kv_lora_rank", CONF_I64, NULL, 1, 65536, NULL,
     "MLA: width of the compressed keys and values."},
    {"model_configs.*.qk_rope_head_dim", CONF_I64, NULL, 1, 65536, NULL,
     "MLA: width of the rotary part."},
    {"model_configs.*.sliding_window", CONF_I64, NULL, 1, TOKENS_MAX, NULL,
     "Tokens that a layer with a sliding window holds at most."},
    {"model_configs.*.windowed_layers", CONF_I64, NULL, 1, 10000, NULL,
     "Layers with a sliding window; all when missing."},
    {"model_configs.*.state_bytes", CONF_I64, NULL, 0, 1125899906842624.0, NULL,
     "Bytes of one sequence's state in layers that num_layers leaves out (linear attention, "
     "Mamba); none when missing."},

    {NULL, CONF_TEXT, NULL, 0, 0, NULL, NULL},
};

/* Compares the n names with the row's path from the root down. */
static enum conf_keys_match match_names(const char *row_path, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strcspn(row_path, ".");
        bool any = len == 1 && row_path[0] == '*';
        if (!any && (strlen(names[i]) != len || memcmp(names[i], row_path, len) != 0))
            return CONF_KEYS_NONE;
        row_path += len;
        if (*row_path == '\0')
            return i + 1 == n ? CONF_KEYS_KEY : CONF_KEYS_NONE;
        row_path++;
    }
    return CONF_KEYS_SECTION;
}

enum conf_keys_match conf_keys_find(const char *const *names, size_t n, const struct conf_key **row)
{
    enum conf_keys_match best = CONF_KEYS_NONE;

    for (const struct conf_key *k = conf_keys; k->path; k++) {
        enum conf_keys_match m = match_names(k->path, names, n);
        if (m == CONF_KEYS_KEY) {
            *row = k;
            return m;
        }
        if (m > best)
            best = m;
    }
    return best;
}

bool conf_keys_guess(const char *const *names, size_t n, char guess[CONF_NAME_MAX])
{
    struct nearest near = {.typed = names[n - 1]};
    char name[CONF_NAME_MAX];

    /* First the names beside the last one, in the same section. */
    for (const struct conf_key *k = conf_keys; k->path; k++) {
        const char *path = k->path;
        if (match_names(path, names, n - 1) != CONF_KEYS_SECTION)
            continue;
        for (size_t i = 1; i < n; i++)
            path += strcspn(path, ".") + 1;
        if (*path == '*')
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(path, "."), path);
        nearest_offer(&near, name);
        if (near.best == name) { /* name is reused: keep a copy */
            snprintf(guess, CONF_NAME_MAX, "%s", name);
            near.best = guess;
        }
    }
    /* Then a key with exactly this name in another section. */
    for (const struct conf_key *k = conf_keys; k->path && !near.best; k++) {
        const char *dot = strrchr(k->path, '.');
        if (dot && strcmp(dot + 1, names[n - 1]) == 0) {
            snprintf(guess, CONF_NAME_MAX, "%s", k->path);
            near.best = guess;
        }
    }
    return near.best != NULL;
}

const struct conf_key *conf_keys_row(const char *path)
{
    size_t len = strlen(path);

    for (const struct conf_key *k = conf_keys; k->path; k++) {
        const char *star = strchr(k->path, '*');
        if (!star) {
            if (strcmp(k->path, path) == 0)
                return k;
            continue;
        }
        size_t head = (size_t)(star - k->path), tail = strlen(star + 1);
        if (len > head + tail && memcmp(path, k->path, head) == 0 &&
            strcmp(path + len - tail, star + 1) == 0)
            return k;
    }
    return NULL;
}

size_t conf_keys_count(void)
{
    size_t n = 0;

    while (conf_keys[n].path)
        n++;
    return n;
}
