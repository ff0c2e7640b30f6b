/* The known keys of config.json files, and the rule for unknown ones. What known keys mean is
 * decided in hf.c, hf_layers.c, hf_state.c and hf_types.c. */
#include "lib/model/hf_keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    KEYS_PATH_MAX = 200
};

/* A known key. with: another key that must be there for this one to be known; NULL: none. */
struct known_key {
    const char *name, *with;
};

/* Keys that decide the size, and are read. */
static const struct known_key sized[] = {
    /* layers, heads, widths */
    {"num_hidden_layers", NULL},
    {"n_layer", NULL},
    {"n_layers", NULL},
    {"num_layers", NULL},
    {"num_attention_heads", NULL},
    {"n_head", NULL},
    {"n_heads", NULL},
    {"num_heads", NULL},
    {"num_key_value_heads", NULL},
    {"num_kv_heads", NULL},
    {"n_head_kv", NULL},
    {"n_kv_heads", NULL},
    {"kv_n_heads", "attn_config"},
    {"num_attention_groups", NULL},
    {"num_query_groups", NULL},
    {"multi_query", NULL},
    {"new_decoder_architecture", NULL},
    {"multi_query_attention", NULL},
    {"multi_query_group_num", NULL},
    {"head_dim", NULL},
    {"attention_head_dim", NULL},
    {"kv_channels", NULL},
    {"v_head_dim", NULL},
    {"kv_lora_rank", NULL},
    {"use_mla", NULL},
    {"qk_rope_head_dim", NULL},
    {"qk_nope_head_dim", NULL},
    {"index_head_dim", NULL},
    {"indexer_types", "index_head_dim"},
    {"index_topk_freq", "index_head_dim"},
    {"index_topk_pattern", "index_head_dim"},
    {"index_skip_topk_offset", "index_head_dim"},
    {"total_ut_steps", NULL},
    {"global_head_dim", NULL},
    {"num_global_key_value_heads", NULL},
    {"attention_k_eq_v", NULL},
    {"mapping", NULL},
    {"attn_config", NULL},
    {"attn_type", "attn_config"},
    {"block_configs", NULL},
    /* what each layer keeps */
    {"layer_types", NULL},
    {"layers_block_type", NULL},
    {"layer_block_types", NULL},
    {"block_types", NULL},
    {"hybrid_override_pattern", NULL},
    {"attn_type_list", NULL},
    {"decoder_attention_types", NULL},
    {"hybrid_layer_pattern", NULL},
    {"linear_attn_config", NULL},
    {"full_attn_layers", "linear_attn_config"},
    {"kda_layers", "linear_attn_config"},
    {"full_attn_idxs", NULL},
    {"attn_layer_indices", NULL},
    {"attn_layer_period", NULL},
    {"attn_layer_offset", NULL},
    {"full_attention_interval", NULL},
    {"cross_attention_layers", NULL},
    {"num_kv_shared_layers", NULL},
    {"use_cla", NULL},
    {"cla_share_factor", NULL},
    {"is_encoder_decoder", NULL},
    /* windows */
    {"sliding_window", NULL},
    {"use_sliding_window", NULL},
    {"sliding_window_size", NULL},
    {"sliding_window_pattern", NULL},
    {"max_window_layers", NULL},
    {"attention_chunk_size", NULL},
    {"swa_num_key_value_heads", NULL},
    {"swa_head_dim", NULL},
    {"swa_v_head_dim", NULL},
    {"attention_other_setting", NULL},
    {"global_attn_every_n", NULL},
    {"global_attn_every_n_layers", "layer_types"},
    /* states */
    {"linear_num_key_heads", NULL},
    {"linear_num_value_heads", NULL},
    {"linear_key_head_dim", NULL},
    {"linear_value_head_dim", NULL},
    {"linear_conv_kernel_dim", NULL},
    {"short_conv_kernel_size", "linear_attn_config"},
    {"conv_l_cache", NULL},
    {"conv_dim", NULL},
    {"conv_kernel", NULL},
    {"ssm_state_size", NULL},
    {"n_groups", "ssm_state_size"},
    {"mamba_d_state", NULL},
    {"mamba_d_conv", NULL},
    {"mamba_d_head", NULL},
    {"mamba_d_ssm", NULL},
    {"mamba_expand", NULL},
    {"mamba_head_dim", NULL},
    {"mamba_n_groups", NULL},
    {"mamba_n_heads", NULL},
    {"mamba_num_heads", NULL},
    {"mamba_cache_dtype", NULL},
    {"mamba_ssm_cache_dtype", NULL},
    {"mamba_ssm_dtype", NULL},
};

/* Keys that change the cache and are not read. */
static const struct known_key refused[] = {
    {"num_key_value_heads_per_layer", NULL}, /* DeciLM */
    {"attention_layers", NULL},              /* GPT-Neo */
    {"attention_types", NULL},
    {"window_size", "attention_layers"},
    {"sparse_attention_config", NULL}, /* MiniMax-M3: keys of an indexer of another kind */
    {"mb_per_layer", NULL},            /* Phi-4-mini-flash: half of the layers use one cache */
    {"layer_group_size", NULL},        /* Ring, Ling: linear layers by a rule of the class */
    {"index_kpool", NULL},             /* one key of the indexer for several tokens */
    {"compress_ratios", NULL},         /* DeepSeek-V4 */
    {"compress_ratio", NULL},
    {"hybrid_layer_ids", NULL},       /* Zamba: attention blocks that are shared */
    {"lru_width", NULL},              /* RecurrentGemma */
    {"loop_num", NULL},               /* IQuest-Coder: a windowed cache for each more loop */
    {"mean_recurrence", NULL},        /* Huginn */
    {"num_transformer_layers", NULL}, /* OpenELM: heads differ from layer to layer */
    {"use_yoco", NULL},
};

/* Keys that name the kind of attention, and the kinds that keep what the other keys say. */
static const char *const kind_keys[] = {"attention_method", "attn_method", "attention_mechanism",
                                        "attention_variant"};
static const char *const known_kinds[] = {"mha",
                                          "gqa",
                                          "mqa",
                                          "mla",
                                          "full",
                                          "full_attention",
                                          "attention",
                                          "self_attention",
                                          "softmax",
                                          "causal",
                                          "multi_head_attention",
                                          "multihead_attention",
                                          "grouped_query_attention",
                                          "multi_query_attention",
                                          "multi_head_latent_attention",
                                          "eager",
                                          "sdpa",
                                          "flash_attention_2",
                                          "flash_attention_3"};

/* Keys whose name is about the cache, but which do not change its size. */
static const struct known_key harmless[] = {
    /* every model's */
    {"attention_method", NULL}, /* its value is looked at */
    {"attn_method", NULL},
    {"attention_mechanism", NULL},
    {"attention_variant", NULL},
    {"use_cache", NULL},
    {"cache_implementation", NULL},
    {"chunk_size_feed_forward", NULL},
    {"cross_attention_hidden_size", NULL},
    {"encoder_no_repeat_ngram_size", NULL},
    {"is_decoder", NULL},
    {"problem_type", NULL},
    {"model_type", NULL},
    {"position_embedding_type", NULL},
    {"position_encoding_type", NULL},
    {"torch_dtype", NULL},
    {"task_specific_params", NULL},
    {"id2label", NULL},
    {"label2id", NULL},
    {"auto_map", NULL},
    {"quantization_config", NULL},
    {"quantization", NULL},
    {"compression_config", NULL},
    {"generation_config", NULL},
    {"rope_scaling", NULL},
    {"rope_parameters", NULL},
    {"ffn_config", NULL},
    {"ignore_index", NULL},
    {"ignored_index", NULL},
    {"return_dict", NULL},
    {"bidirectional", NULL},
    {"use_bidirectional_attention", NULL},
    /* how attention is computed or sharded, not what it keeps */
    {"parallel_attn", NULL},
    {"reorder_and_upcast_attn", NULL},
    {"use_logn_attn", NULL},
    {"max_attn_value", NULL},
    {"attn_factor", NULL},
    {"attn_uses_sequence_id", NULL},
    {"mla_use_nope", NULL},
    {"attention_projection_layout", NULL},
    {"share_q_dim", NULL},
    {"swa_num_attention_heads", NULL},
    {"attention_type", "attention_other_setting"},
    {"true_head_dim", "attention_other_setting"},
    {"q_lora_rank", NULL},
    {"o_lora_rank", NULL},
    {"qk_head_dim", "kv_lora_rank"},
    {"index_n_heads", "index_head_dim"},
    {"index_topk", "index_head_dim"},
    {"index_share_for_mtp_iteration", NULL},
    {"for_llm_compressor", NULL},
    {"full_attn_mod", NULL},
    {"num_attention_heads_per_layer", NULL}, /* of queries */
    {"mtp_layers_block_type", NULL},
    {"attn_res_block_size", NULL},
    {"dual_chunk_attention_config", NULL},
    {"attn_output_gate", NULL},
    {"attention_chunk_size", NULL},
    {"pad_key_length", NULL},
    {"pre_allocate_kv_cache", NULL},
    {"use_cache_quantization", NULL},
    {"use_cache_kernel", NULL},
    {"use_embedding_sharing", NULL},
    {"share_input_output_embed", NULL},
    {"use_parallel_block", NULL},
    {"use_llm_lora", NULL},
    {"use_backbone_lora", NULL},
    {"yarn_only_types", NULL},
    {"compression_ratio", NULL},
    {"no_rope_layers", NULL},
    {"no_rope_layer_interval", NULL},
    /* layers and groups of something else */
    {"n_group", NULL},
    {"topk_group", NULL},
    {"group_limited_greedy", NULL},
    {"use_grouped_topk", NULL},
    {"first_k_dense_replace", NULL},
    {"decoder_sparse_step", NULL},
    {"num_dense_layers", NULL},
    {"dense_list", NULL},
    {"shared_intermediate_size", NULL},
    {"swiglu_limits_shared", NULL},
    {"hidden_size_per_layer_input", NULL},
    {"laurel_rank", NULL},
    {"select_layer", NULL},
    {"add_classification_head", NULL},
    {"pool_type", NULL},
    {"global_view_pos", NULL},
    {"lm_head", NULL},
    {"rm_head", NULL},
    {"block_group_size", NULL},
    {"block_type", NULL},
    {"layer_switch", NULL},
    {"order_of_interleaved_layers", NULL},
    {"full_attn_alpha_factor", NULL},
    {"full_attn_beta_factor", NULL},
    {"linear_attn_alpha_factor", NULL},
    {"linear_attn_beta_factor", NULL},
    {"block_size", "full_attn_alpha_factor"},
    /* phi-3-small: published code keeps the whole cache of its sparse layers */
    {"blocksparse_block_size", NULL},
    {"blocksparse_homo_head_pattern", NULL},
    {"blocksparse_num_local_blocks", NULL},
    {"blocksparse_triton_kernel_block_size", NULL},
    {"blocksparse_vert_stride", NULL},
    {"dense_attention_every_n_layers", "blocksparse_block_size"},
    /* Mamba and convolutions: how they are computed */
    {"chunk_size", "ssm_state_size"},
    {"mamba_chunk_size", NULL},
    {"mamba_dt_rank", NULL},
    {"mamba_proj_bias", NULL},
    {"use_mamba_kernels", NULL},
    {"time_step_rank", NULL},
    {"block_auto_adjust_ff_dim", NULL},
    {"block_dim", "conv_L_cache"},
    {"block_multiple_of", NULL},
    {"block_use_swiglu", NULL},
    {"conv_dim_out", "conv_L_cache"},
    {"conv_use_xavier_init", NULL},
};

/* Words of names that are about the cache. */
static const char *const cache_words[] = {
    "layer",       "layers",   "head",     "heads",     "attn",       "attention",   "kv",
    "key",         "keys",     "value",    "values",    "window",     "windows",     "windowed",
    "sliding",     "swa",      "cache",    "caches",    "state",      "states",      "mamba",
    "mamba2",      "ssm",      "conv",     "recurrent", "rnn",        "lru",         "rwkv",
    "linear",      "delta",    "gdn",      "kda",       "retention",  "share",       "shared",
    "sharing",     "reuse",    "group",    "groups",    "grouped",    "index",       "indexer",
    "idx",         "idxs",     "indices",  "compress",  "compressed", "compression", "compressor",
    "latent",      "latents",  "rank",     "lora",      "mla",        "gqa",         "mqa",
    "mha",         "cla",      "pattern",  "patterns",  "type",       "types",       "block",
    "blocks",      "chunk",    "chunks",   "chunked",   "local",      "global",      "hybrid",
    "sparse",      "sparsity", "interval", "period",    "every",      "stride",      "memory",
    "memories",    "sink",     "sinks",    "loop",      "loops",      "recursion",   "recurrence",
    "recurrences", "ut",       "cross",    "encoder",   "decoder",    "evict",       "eviction"};

/* Words that put a name elsewhere, whatever its other words. */
static const char *const other_words[] = {
    /* weights and activations */
    "dropout",
    "pdrop",
    "drop",
    "bias",
    "norm",
    "norms",
    "layernorm",
    "layernorms",
    "rmsnorm",
    "ln",
    "init",
    "initializer",
    "scale",
    "scales",
    "scaled",
    "scaling",
    "scalar",
    "multiplier",
    "multipliers",
    "mult",
    "softcap",
    "softcapping",
    "softmax",
    "temperature",
    "eps",
    "epsilon",
    "act",
    "activation",
    "gate",
    "gated",
    "implementation",
    "impl",
    "flash",
    "fuse",
    "fused",
    "fusion",
    "embd",
    "embed",
    "embedding",
    "embeddings",
    "residual",
    /* positions, vocabulary, experts, heads of other tasks */
    "rope",
    "rotary",
    "mrope",
    "xdrope",
    "vocab",
    "token",
    "ngram",
    "label",
    "labels",
    "logit",
    "logits",
    "loss",
    "beam",
    "beams",
    "output",
    "summary",
    "classifier",
    "mlp",
    "ffn",
    "ff",
    "moe",
    "expert",
    "experts",
    "router",
    "mtp",
    "nextn",
    "altup",
    /* other senses than text */
    "vision",
    "visual",
    "image",
    "images",
    "img",
    "video",
    "audio",
    "speech",
    "mm",
    "multimodal",
    "pixel",
    "patch",
    "patches",
    "projector",
    "vit",
    "tower",
    "talker",
    "perceiver",
    "resampler",
};

/* ---- names ---- */

/* Is word[0..len) in the list? */
static bool is_one_of(const char *word, size_t len, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(list[i]) == len && strncasecmp(list[i], word, len) == 0)
            return true;
    return false;
}

/* Is one of the name's words in the list? */
static bool has_word(const char *name, const char *const *list, size_t n)
{
    for (const char *word = name; *word;) {
        size_t len = strcspn(word, "_-. ");
        if (is_one_of(word, len, list, n))
            return true;
        word += len + (word[len] != '\0');
    }
    return false;
}

static bool is_elsewhere(const char *name)
{
    return has_word(name, other_words, sizeof(other_words) / sizeof(other_words[0]));
}

static bool is_about_cache(const char *name)
{
    return has_word(name, cache_words, sizeof(cache_words) / sizeof(cache_words[0]));
}

static bool is_known(const struct hf_reader *r, const char *name, const struct known_key *list,
                     size_t n)
{
    /* Classes keep some values under a second name. */
    const char *plain = name[0] == '_' ? name + 1 : name;

    for (size_t i = 0; i < n; i++)
        if (strcasecmp(list[i].name, plain) == 0)
            return !list[i].with || hf_get(r, list[i].with);
    return false;
}

/* ---- values ---- */

static bool is_object(const struct jsonin_v *v)
{
    return hf_key(v, 0) != NULL;
}

static bool is_count(const char *name)
{
    return strncmp(name, "num_", 4) == 0 || strncmp(name, "n_", 2) == 0;
}

/* null, false, an empty list or object, none of something: the key is there and off. */
static bool is_off(const char *name, const struct jsonin_v *v)
{
    bool on;
    double number;

    if (!v || (jsonin_bool(v, &on) == 0 && !on))
        return true;
    if (jsonin_f64(v, &number) == 0)
        return number == 0 && is_count(name);
    return !jsonin_text(v, NULL) && jsonin_bool(v, &on) < 0 && jsonin_count(v) == 0 &&
           !is_object(v);
}

/* ---- the document ---- */

/* The check under way. */
struct key_check {
    const struct hf_reader *r;
    struct notes *unread, refused;
    unsigned left; /* keys that may still come, in objects of objects too */
};

/* A kind of attention that is not known, by the value of a key that names kinds. */
static bool is_unknown_kind(const char *name, const struct jsonin_v *v)
{
    const char *kind = jsonin_text(v, NULL);

    return kind &&
           is_one_of(name, strlen(name), kind_keys, sizeof(kind_keys) / sizeof(kind_keys[0])) &&
           !is_one_of(kind, strlen(kind), known_kinds,
                      sizeof(known_kinds) / sizeof(known_kinds[0]));
}

static int check_object(struct key_check *c, const struct jsonin_v *object, const char *path,
                        bool around);

/* Looks at the members of an object, or of the objects in a list. */
static int check_inside(struct key_check *c, const struct jsonin_v *v, const char *path)
{
    char inside[KEYS_PATH_MAX];
    int rc = 0, len = snprintf(inside, sizeof(inside), "%s.", path);

    if (len < 0 || (size_t)len >= sizeof(inside))
        return err_set(c->r->e, -EINVAL, ERR_INPUT, c->r->where, "%s: name too long", path);
    if (is_object(v))
        return check_object(c, v, inside, false);
    for (size_t i = 0; rc == 0 && i < jsonin_count(v); i++)
        rc = check_object(c, jsonin_at(v, i), inside, false);
    return rc;
}

/* Looks at the members of an object, whose names begin with path. around: it is the document around
 * a nested language model, whose other objects are other parts. */
static int check_object(struct key_check *c, const struct jsonin_v *object, const char *path,
                        bool around)
{
    const struct hf_reader *r = c->r;
    const char *name;
    int rc = 0;

    for (size_t i = 0; rc == 0 && (name = hf_key(object, i)); i++) {
        const struct jsonin_v *v = jsonin_member(object, i, &name);
        char at[KEYS_PATH_MAX];
        if (c->left-- == 0)
            return err_set(r->e, -E2BIG, ERR_INPUT, r->where, "more than %d keys", HF_KEYS_MAX);
        snprintf(at, sizeof(at), "%s%s", path, name);
        if (is_off(name, v) || (around && is_object(v)))
            continue;
        if (is_known(r, name, refused, sizeof(refused) / sizeof(refused[0])) ||
            is_unknown_kind(name, v)) {
            notes_add(&c->refused, "%s", at);
            continue;
        }
        if (is_elsewhere(name) ||
            is_known(r, name, harmless, sizeof(harmless) / sizeof(harmless[0])))
            continue;
        if (is_known(r, name, sized, sizeof(sized) / sizeof(sized[0])))
            rc = is_object(v) ? check_inside(c, v, at) : 0;
        else if (!is_about_cache(name))
            rc = check_inside(c, v, at);
        else
            notes_add(c->unread, "%s", at);
    }
    return rc;
}

int hf_keys_check(const struct hf_reader *r, struct notes *unread)
{
    struct key_check c = {.r = r, .unread = unread, .left = HF_KEYS_MAX};
    struct hf_reader whole = *r; /* paths have all of it */
    char names[NOTES_JOINED_CAP];
    int rc = 0;

    if (r->text != r->root)
        rc = check_object(&c, r->root, "", true);
    if (rc == 0)
        rc = check_object(&c, r->text, r->nested, false);
    if (rc < 0 || c.refused.count == 0)
        return rc;
    notes_join(&c.refused, ", ", names, sizeof(names));
    whole.nested = "";
    return hf_assume(
        &whole, names, c.refused.count == 1 ? "it changes nothing" : "they change nothing",
        c.refused.count == 1 ? "it changes the cache in a way that is not known here"
                             : "they change the cache in a way that is not known here");
}
