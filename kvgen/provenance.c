/* Writes what made the rows of a trace: the options, the model and the tiers, or the provenance of
 * the trace that was copied. kvgen.c hands the text to the output. */
#include "kvgen/provenance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/sim/hierarchy.h"
#include "lib/conf/given.h"
#include "lib/drive/drive_model.h"
#include "lib/json/jsonin.h"

static void put_model(struct jsonout *j, const struct model *model)
{
    jsonout_object(j, "model");
    jsonout_text_value(j, "name", model->id);
    uint64_t all = model_bytes_per_token(model), rank = all, state = model_state_bytes(model);
    uint32_t ranks = model->ranks.tensor > 0 ? model->ranks.tensor : 1;
    jsonout_u64(j, "bytes_per_token", all);
    if (model_rank_bytes(model, UINT64_C(1) << 20, false, &rank) == 0 &&
        model_bytes(model, UINT64_C(1) << 20, &all) == 0 && rank != all / ranks)
        jsonout_f64(j, "rank_share", (double)rank / (double)all);
    if (state > 0)
        jsonout_u64(j, "state_bytes", state);
    jsonout_end(j);
}

void provenance_put_origin(struct jsonout *j, uint64_t seed, const struct model *model)
{
    if (!model) {
        jsonout_null(j, "seed");
        jsonout_null(j, "model");
        return;
    }
    jsonout_u64(j, "seed", seed);
    put_model(j, model);
}

void provenance_put_capacity(struct jsonout *j, uint64_t capacity)
{
    jsonout_u64_if(j, "capacity_bytes", capacity != HIERARCHY_UNLIMITED, capacity);
}

/* The members that every provenance begins with. NULL: no memory. */
static struct jsonout *begin(void)
{
    struct jsonout *j = jsonout_create();
    if (!j)
        return NULL;
    jsonout_text_value(j, "program", "kvgen");
    jsonout_text_value(j, "version", KVTRACE_VERSION);
    jsonout_u64(j, "format", TRACE_FORMAT_VERSION);
    return j;
}

static void put_options(struct jsonout *j, const struct opt_parser *parser)
{
    jsonout_object(j, "options");
    jsonout_options(j, parser);
    jsonout_end(j);
}

void provenance_put_configuration(struct jsonout *j, const struct conf *conf)
{
    /* Without model_configs: put_model tells the model itself. */
    static const char *const read[] = {"user_templates",
                                       "qos_distribution",
                                       "qos_profiles",
                                       "generation_timing",
                                       "eviction",
                                       "prefix_cache",
                                       "rag",
                                       "conversation",
                                       "decode",
                                       "sharegpt",
                                       NULL};

    given_put(j, conf, read);
}

static void put_path(struct jsonout *j, const char *key, const struct tier_model_path *path)
{
    jsonout_object(j, key);
    jsonout_u64(j, "bytes_per_s", path->bytes_per_s);
    jsonout_i64(j, "latency_ns", path->latency_ns);
    jsonout_end(j);
}

void provenance_put_steps(struct jsonout *j, const struct step_setup *s)
{
    jsonout_object(j, "step_time");
    jsonout_u64(j, "parameters", s->model.parameters);
    jsonout_u64(j, "weights_always_bytes", s->model.always_bytes);
    jsonout_u64(j, "weights_routed_bytes", s->model.routed_bytes);
    jsonout_u64(j, "head_bytes", s->model.head_bytes);
    jsonout_array(j, "attention");
    for (int i = 0; i < STEP_LOOKS; i++) {
        const struct step_look *l = &s->model.look[i];
        if (!l->pair_ops)
            continue;
        jsonout_object(j, NULL);
        jsonout_u64(j, "pair_ops", l->pair_ops);
        jsonout_u64(j, "cache_bytes_per_token", l->cache_bytes);
        jsonout_u64_if(j, "most_tokens", l->most, l->most);
        jsonout_end(j);
    }
    jsonout_end(j);
    jsonout_f64(j, "eta", (double)s->gpu.eta_ppm / STEP_TIME_PPM);
    jsonout_f64(j, "eta_a", (double)s->gpu.eta_a_ppm / STEP_TIME_PPM);
    jsonout_f64(j, "b", (double)s->gpu.b_ppm / STEP_TIME_PPM);
    jsonout_f64(j, "t_host_ms", (double)s->gpu.host_ns / 1e6);
    jsonout_f64(j, "host_ms", (double)s->host.request_ns / 1e6);
    jsonout_f64(j, "host_token_us", (double)s->host.token_ps / 1e6);
    jsonout_f64(j, "load_overhead_ms", (double)s->host.load_ns / 1e6);
    jsonout_f64(j, "gpu_link_gb_s", (double)s->gpu.link_bytes_s / 1e9);
    jsonout_u64(j, "step_tokens", s->step_tokens);
    jsonout_f64(j, "first_token_2k_ms", (double)step_setup_first_token_ns(s, 2048) / 1e6);
    jsonout_f64(j, "first_token_100k_ms", (double)step_setup_first_token_ns(s, 100000) / 1e6);
    jsonout_end(j);
}

/* steps: of the engine; NULL: they are told elsewhere. */
static void put_compute(struct jsonout *j, const struct prefill_model *p,
                        const struct gpu_profile *gpu, const struct step_setup *steps)
{
    jsonout_object(j, "compute");
    jsonout_text_value(j, "times", p->time.measured ? "measured" : "by calculation");
    jsonout_text_value(j, "gpu", gpu->given ? gpu->name : NULL);
    jsonout_u64(j, "engines", p->engines);
    jsonout_u64(j, "tensor_parallel", p->tensor_parallel);
    jsonout_f64(j, "t0_ns", p->time.t0_ns);
    jsonout_f64(j, "token_ns", p->time.token_ns);
    jsonout_f64(j, "pair_ns", p->time.pair_ns);
    jsonout_f64(j, "link_bytes_per_s", p->link_bytes_per_s);
    jsonout_i64(j, "load_overhead_ns", p->load_overhead_ns);
    if (gpu->given) {
        jsonout_f64(j, "hbm_gb", gpu->hbm_gb);
        jsonout_f64(j, "hbm_tb_s", gpu->hbm_tb_s);
        jsonout_f64(j, "watts", gpu->watts);
    }
    if (steps) {
        jsonout_bool(j, "steps", true);
        provenance_put_steps(j, steps);
    }
    jsonout_end(j);
}

void provenance_put_compute(struct jsonout *j, const struct prefill_model *p,
                            const struct gpu_profile *gpu)
{
    put_compute(j, p, gpu, NULL);
}

void provenance_put_drive(struct jsonout *j, const struct drive_model *drive)
{
    const struct drive_model_facts *f = drive_model_facts(drive);
    jsonout_object(j, "model");
    jsonout_text_value(j, "file", f->file);
    jsonout_text_known(j, "target", f->target);
    jsonout_text_known(j, "device", f->device);
    jsonout_text_known(j, "measured", f->started);
    jsonout_bool_if(j, "valid", f->valid >= 0, f->valid);
    jsonout_notes(j, "why_invalid", &f->why_invalid);
    jsonout_notes(j, "in_force", &f->in_force);
    jsonout_u64(j, "points", f->points);
    jsonout_end(j);
}

static void put_input(struct jsonout *j, const char *input)
{
    if (input && jsonout_raw(j, "input", input, strlen(input)) < 0)
        jsonout_null(j, "input");
}

/* The document as text of its own; frees it. */
static char *finish(struct jsonout *j)
{
    const char *text = jsonout_text(j, false);
    char *copy = text ? strdup(text) : NULL;
    jsonout_free(j);
    return copy;
}

/* Tells what the recording lacks; nothing if the source is no recording. */
static void put_recording(struct jsonout *j, const struct source *source)
{
    const struct source_recording *r =
        source && source->ops->recording ? source->ops->recording(source) : NULL;
    if (!r)
        return;
    jsonout_object(j, "recording");
    jsonout_text_value(j, "source", source->ops->name);
    jsonout_bool(j, "writes_only", !r->has_reads);
    jsonout_bool(j, "times", r->has_times);
    jsonout_array(j, "missing");
    if (!r->has_reads)
        jsonout_text_value(j, NULL, "reads");
    jsonout_text_value(j, NULL, "durations");
    if (r->unrecorded)
        jsonout_text_value(j, NULL, r->unrecorded);
    if (!r->has_times)
        jsonout_text_value(j, NULL, "times");
    jsonout_end(j);
    jsonout_end(j);
}

char *provenance_of_run(const struct provenance *p)
{
    struct jsonout *j = begin();
    if (!j)
        return NULL;
    provenance_put_origin(j, p->seed, p->model);
    put_options(j, p->parser);
    provenance_put_configuration(j, p->conf);
    jsonout_array(j, "tiers");
    for (int t = 0; t < TRACE_TIERS; t++) {
        if (p->capacity[t] == HIERARCHY_ABSENT)
            continue;
        jsonout_object(j, NULL);
        jsonout_text_value(j, "tier", trace_tier_text((enum trace_tier)t));
        provenance_put_capacity(j, p->capacity[t]);
        if (p->speed[t].drive)
            provenance_put_drive(j, p->speed[t].drive);
        else if (p->speed[t].given) {
            put_path(j, "read", &p->speed[t].read);
            put_path(j, "write", &p->speed[t].write);
        }
        jsonout_end(j);
    }
    jsonout_end(j);
    if (p->compute)
        put_compute(j, p->compute, p->gpu, p->steps);
    if (p->engine) {
        jsonout_object(j, "cache");
        engine_choice_put(j, p->engine);
        jsonout_end(j);
    }
    put_recording(j, p->source);
    put_input(j, p->input);
    return finish(j);
}

static void put_conversion(struct jsonout *j, const struct opt_parser *parser)
{
    jsonout_text_value(j, "version", KVTRACE_VERSION);
    put_options(j, parser);
}

char *provenance_of_recording(const struct opt_parser *parser, const struct source *source,
                              const struct model *model)
{
    struct jsonout *j = begin();
    if (!j)
        return NULL;
    jsonout_null(j, "seed");
    put_model(j, model);
    jsonout_array(j, "tiers");
    jsonout_end(j);
    put_recording(j, source);
    put_options(j, parser);
    return finish(j);
}

char *provenance_of_copy(const struct opt_parser *parser, const char *input, const char *client)
{
    struct jsonin *d;
    bool can_add = false;
    if (input && jsonin_parse(&d, input, strlen(input), "", NULL) == 0) {
        const char *first;
        const struct jsonin_v *root = jsonin_root(d);
        can_add = jsonin_member(root, 0, &first) && !jsonin_get(root, "converted");
        jsonin_free(d);
    }
    if (can_add) {
        /* Added as text, so that every byte of the input stays as it was. */
        struct jsonout *j = jsonout_create();
        char *text = NULL;
        if (!j)
            return NULL;
        put_conversion(j, parser);
        const char *own = jsonout_text(j, false);
        int old_len = (int)(strrchr(input, '}') - input);
        if (own && asprintf(&text, "%.*s,\"converted\":%s}", old_len, input, own) < 0)
            text = NULL;
        jsonout_free(j);
        return text;
    }
    /* All that is known of the rows is that they were copied. The options are not their origin:
     * most of them say how rows would be made. */
    struct jsonout *j = begin();
    if (!j)
        return NULL;
    provenance_put_origin(j, 0, NULL);
    if (client)
        jsonout_text_value(j, "client", client);
    jsonout_array(j, "tiers");
    jsonout_end(j);
    put_input(j, input);
    jsonout_object(j, "converted");
    put_conversion(j, parser);
    jsonout_end(j);
    return finish(j);
}
