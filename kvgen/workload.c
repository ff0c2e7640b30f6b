/* workload.c - from the configuration to plain numbers, once, so that sources and simulator need
 * not know its keys. */
#include "kvgen/workload.h"

#include <errno.h>
#include <stdio.h>

#include "lib/trace.h"
#include "lib/units.h"

static const char *const persona_names[WORKLOAD_PERSONAS] = {"chatbot", "coding", "document"};

static void read_persona(struct workload_persona *p, const struct conf *c, const char *name)
{
    char path[96];
    snprintf(path, sizeof path, "user_templates.%s.context_range", name);
    conf_i64_pair(c, path, p->context);
    snprintf(path, sizeof path, "user_templates.%s.generation_range", name);
    conf_i64_pair(c, path, p->generation);
    snprintf(path, sizeof path, "user_templates.%s.think_time_range", name);
    conf_f64_pair(c, path, p->think_s);
}

static int read_qos(struct workload *w, const struct conf *c, struct err *e)
{
    for (int q = 0; q < WORKLOAD_QOS; q++) {
        char path[96];
        snprintf(path, sizeof path, "qos_profiles.%s.priority", trace_qos_text((enum trace_qos)q));
        w->qos_priority[q] = conf_i64(c, path);
    }
    w->interactive = conf_f64(c, "qos_distribution.interactive_probability");
    w->responsive_below = conf_f64(c, "qos_distribution.responsive_threshold");
    if (w->responsive_below < w->interactive)
        return err_set(e, -EINVAL, ERR_INPUT, conf_path(c),
                       "qos_distribution.responsive_threshold (%g) is below "
                       "interactive_probability (%g), which it includes",
                       w->responsive_below, w->interactive);
    return 0;
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
    return read_qos(w, c, e);
}
