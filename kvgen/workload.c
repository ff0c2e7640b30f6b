/* Turns the configuration into plain numbers, once, so that neither the sources nor the simulator
 * know its keys. Values come checked one by one from lib/conf; this file checks those that must fit
 * together. */
#include "kvgen/workload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/units.h"

enum {
    MAX_KEY_PATH = 96
};

/* The place of two keys that contradict each other: that of key, or of other where key has its
 * default. */
static void find_place(const struct conf *c, const char *key, const char *other,
                       char where[CONF_PLACE_MAX])
{
    where[0] = '\0';
    if (!conf_place(c, key, where))
        conf_place(c, other, where);
}

static int read_qos(struct workload *w, const struct conf *c, struct err *e)
{
    for (int q = 0; q < TRACE_QOSES; q++) {
        char path[MAX_KEY_PATH];
        snprintf(path, sizeof(path), "qos_profiles.%s.priority", trace_qos_text((enum trace_qos)q));
        w->qos_priority[q] = conf_i64(c, path);
    }
    w->interactive = conf_f64(c, "qos_distribution.interactive_probability");
    w->responsive_below = conf_f64(c, "qos_distribution.responsive_threshold");
    if (w->responsive_below >= w->interactive)
        return 0;
    char where[CONF_PLACE_MAX];
    find_place(c, "qos_distribution.responsive_threshold",
               "qos_distribution.interactive_probability", where);
    return err_set(e, -EINVAL, ERR_INPUT, where,
                   "qos_distribution.responsive_threshold (%g) is below "
                   "interactive_probability (%g), which it includes",
                   w->responsive_below, w->interactive);
}

/* size: "large" or "small". */
static int read_document_range(int64_t range[2], const struct conf *c, const char *size,
                               struct err *e)
{
    char min[MAX_KEY_PATH], max[MAX_KEY_PATH], where[CONF_PLACE_MAX];
    snprintf(min, sizeof(min), "rag.%s_model_doc_tokens_min", size);
    range[0] = conf_i64(c, min);
    snprintf(max, sizeof(max), "rag.%s_model_doc_tokens_max", size);
    range[1] = conf_i64(c, max);
    if (range[0] <= range[1])
        return 0;
    find_place(c, max, min, where);
    return err_set(e, -EINVAL, ERR_INPUT, where, "%s (%lld) is below the minimum (%lld)", max,
                   (long long)range[1], (long long)range[0]);
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
        .reload_all = strcmp(conf_text(c, "conversation.reload"), "all") == 0,
        .dataset_max_context = conf_i64(c, "sharegpt.max_context_tokens"),
        .dataset_max_generated = conf_i64(c, "sharegpt.max_generation_tokens"),
        .dataset_chars_per_token = conf_f64(c, "sharegpt.chars_per_token_estimate"),
        .prompt_chance = conf_f64(c, "prefix_cache.system_prompt_hit_probability"),
        .decode_batch = conf_i64(c, "decode.batch_size"),
        .rag = {.chunk_tokens = conf_i64(c, "rag.chunk_size_tokens"),
                .max_chunk_bytes = conf_i64(c, "rag.max_chunk_bytes"),
                .top_k = (uint32_t)conf_i64(c, "rag.top_k_chunks"),
                .max_documents = (uint32_t)conf_i64(c, "rag.max_documents"),
                .chance = conf_f64(c, "rag.request_probability"),
                .zipfian = strcmp(conf_text(c, "rag.retrieval_distribution"), "zipfian") == 0},
        .large_entry_limit_ratio = conf_f64(c, "eviction.large_entry_limit_ratio"),
        .target_usage_ratio = conf_f64(c, "eviction.target_usage_ratio"),
        .token_ns = {[GENERATION_NONE] = seconds_as_ns(conf_f64(c, "generation_timing.none")),
                     [GENERATION_FAST] = seconds_as_ns(conf_f64(c, "generation_timing.fast")),
                     [GENERATION_REALISTIC] =
                         seconds_as_ns(conf_f64(c, "generation_timing.realistic"))},
    };
    w->prompt_tokens = conf_i64_list(c, "prefix_cache.system_prompt_tokens", &w->prompts);
    for (int i = 0; i < WORKLOAD_PERSONAS; i++) {
        static const char *const name[WORKLOAD_PERSONAS] = {"chatbot", "coding", "document"};
        char path[MAX_KEY_PATH];
        snprintf(path, sizeof(path), "user_templates.%s.context_range", name[i]);
        conf_i64_pair(c, path, w->persona[i].context);
        snprintf(path, sizeof(path), "user_templates.%s.generation_range", name[i]);
        conf_i64_pair(c, path, w->persona[i].generation);
        snprintf(path, sizeof(path), "user_templates.%s.think_time_range", name[i]);
        conf_f64_pair(c, path, w->persona[i].think_s);
    }
    if (read_document_range(w->rag.large_model_tokens, c, "large", e) < 0 ||
        read_document_range(w->rag.small_model_tokens, c, "small", e) < 0 || read_qos(w, c, e) < 0)
        return -EINVAL;
    return 0;
}

enum trace_qos workload_draw_qos(const struct workload *w, struct rng *rng)
{
    double u = rng_unit(rng);
    return u < w->interactive        ? TRACE_INTERACTIVE
           : u < w->responsive_below ? TRACE_RESPONSIVE
                                     : TRACE_BATCH;
}

int32_t workload_draw_prompt(const struct workload *w, struct rng *rng)
{
    bool wanted = rng_chance(rng, w->prompt_chance);
    return wanted && w->prompts > 0 ? (int32_t)rng_below(rng, w->prompts) : -1;
}

int64_t workload_own_tokens(const struct workload *w, int64_t context_tokens, int32_t prompt)
{
    int64_t left = prompt < 0 ? context_tokens : context_tokens - w->prompt_tokens[prompt];
    return prompt >= 0 && left < 1 ? 1 : left;
}
