/* workload.c - from the configuration to plain numbers, once, so that sources and simulator need
 * not know its keys. */
#include "kvgen/workload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/trace/trace.h"

static const char *const persona_names[WORKLOAD_PERSONAS] = {"chatbot", "coding", "document"};

static void read_persona(struct workload_persona *p, const struct conf *c, const char *name)
{
    char path[96];
    snprintf(path, sizeof(path), "user_templates.%s.context_range", name);
    conf_i64_pair(c, path, p->context);
    snprintf(path, sizeof(path), "user_templates.%s.generation_range", name);
    conf_i64_pair(c, path, p->generation);
    snprintf(path, sizeof(path), "user_templates.%s.think_time_range", name);
    conf_f64_pair(c, path, p->think_s);
}

/* FILE:LINE of two keys that contradict each other: the first that is not left to its default. */
static void find_line(const struct conf *c, const char *key, const char *other, char where[320])
{
    unsigned line = conf_line(c, key);
    snprintf(where, 320, "%.250s:%u", conf_path(c), line > 0 ? line : conf_line(c, other));
}

static int read_qos(struct workload *w, const struct conf *c, struct err *e)
{
    for (int q = 0; q < WORKLOAD_QOS; q++) {
        char path[96];
        snprintf(path, sizeof(path), "qos_profiles.%s.priority", trace_qos_text((enum trace_qos)q));
        w->qos_priority[q] = conf_i64(c, path);
    }
    w->interactive = conf_f64(c, "qos_distribution.interactive_probability");
    w->responsive_below = conf_f64(c, "qos_distribution.responsive_threshold");
    if (w->responsive_below >= w->interactive)
        return 0;
    char where[320];
    find_line(c, "qos_distribution.responsive_threshold",
              "qos_distribution.interactive_probability", where);
    return err_set(e, -EINVAL, ERR_INPUT, where,
                   "qos_distribution.responsive_threshold (%g) is below "
                   "interactive_probability (%g), which it includes",
                   w->responsive_below, w->interactive);
}

static int read_document_range(int64_t range[2], const struct conf *c, const char *size,
                               struct err *e)
{
    char min[96], max[96], where[320];
    snprintf(min, sizeof(min), "rag.%s_model_doc_tokens_min", size);
    range[0] = conf_i64(c, min);
    snprintf(max, sizeof(max), "rag.%s_model_doc_tokens_max", size);
    range[1] = conf_i64(c, max);
    if (range[0] <= range[1])
        return 0;
    find_line(c, max, min, where);
    return err_set(e, -EINVAL, ERR_INPUT, where, "%s (%lld) is below the minimum (%lld)", max,
                   (long long)range[1], (long long)range[0]);
}

static int read_rag(struct workload_rag *r, const struct conf *c, struct err *e)
{
    *r = (struct workload_rag){
        .chunk_tokens = conf_i64(c, "rag.chunk_size_tokens"),
        .max_chunk_bytes = conf_i64(c, "rag.max_chunk_bytes"),
        .top_k = (uint32_t)conf_i64(c, "rag.top_k_chunks"),
        .max_documents = (uint32_t)conf_i64(c, "rag.max_documents"),
        .chance = conf_f64(c, "rag.request_probability"),
        .zipfian = strcmp(conf_text(c, "rag.retrieval_distribution"), "zipfian") == 0,
    };
    int rc = read_document_range(r->large_model_tokens, c, "large", e);
    return rc == 0 ? read_document_range(r->small_model_tokens, c, "small", e) : rc;
}

static int64_t seconds_as_ns(double s)
{
    return (int64_t)(s * (double)UNITS_NS_PER_S + 0.5);
}

int workload_read(struct workload *w, const struct conf *c, struct err *e)
{
    *w = (struct workload){
        .end_conversation = conf_f64(c, "conversation.end_conversation_probability"),
        .max_turns = (uint32_t)conf_i64(c, "conversation.max_turns_per_conv"),
        .max_conversations = (uint32_t)conf_i64(c, "conversation.max_conversations"),
        .reload_all = conf_text(c, "conversation.reload")[0] == 'a',
        .dataset_max_context = conf_i64(c, "sharegpt.max_context_tokens"),
        .dataset_max_generated = conf_i64(c, "sharegpt.max_generation_tokens"),
        .dataset_chars_per_token = conf_f64(c, "sharegpt.chars_per_token_estimate"),
        .prompt_chance = conf_f64(c, "prefix_cache.system_prompt_hit_probability"),
        .decode_batch = conf_i64(c, "decode.batch_size"),
        .large_entry_limit_ratio = conf_f64(c, "eviction.large_entry_limit_ratio"),
        .target_usage_ratio = conf_f64(c, "eviction.target_usage_ratio"),
        .token_ns = {seconds_as_ns(conf_f64(c, "generation_timing.none")),
                     seconds_as_ns(conf_f64(c, "generation_timing.fast")),
                     seconds_as_ns(conf_f64(c, "generation_timing.realistic"))},
    };
    w->prompt_tokens = conf_i64_list(c, "prefix_cache.system_prompt_tokens", &w->prompts);
    for (int i = 0; i < WORKLOAD_PERSONAS; i++)
        read_persona(&w->persona[i], c, persona_names[i]);
    int rc = read_rag(&w->rag, c, e);
    return rc == 0 ? read_qos(w, c, e) : rc;
}
