/* engine_caches.c - the table of engines and the text of --cache. What an engine's cache does is in
 * kvgen/cache, a file each; here its settings become that file's options. */
#include "kvgen/serve/engine_caches.h"

#include <errno.h>
#include <string.h>

#include "kvgen/cache/vllm.h"
#include "kvgen/cache/vllm_offload.h"
#include "lib/base/nearest.h"
#include "lib/base/units.h"

#define GIB      ((uint64_t)1 << 30)
#define ANY      UINT64_C(1000000000000)
#define ID_LIMIT ((uint64_t)1 << 30) /* of id_table.h */

enum {
    MAX_TEXT = 1024,
    PAGE = 4096 /* vLLM rounds a chunk of host memory up to it */
};

struct engine_cache_kind {
    const char *name, *version, *about;
    const struct engine_setting *settings;
    bool vllm_scheduler; /* the scheduler's settings are the engine's own */
    int (*open)(struct engine_cache *out, const struct engine_values *v,
                const struct engine_room *room, const struct kv_listener *l, struct err *e);
};

/* ---- the scheduler ---- */

enum {
    S_BUDGET,
    S_SEQUENCES,
    S_MODEL_LEN,
    S_POLICY,
    S_ASYNC,
    S_WHOLE,
    S_CHUNKS,
    S_LONG,
    S_ADAPTIVE,
    S_INTERVAL,
    S_WATERMARK
};
static const struct engine_setting scheduler_settings[] = {
    [S_BUDGET] = {"max_num_batched_tokens", ENGINE_COUNT, "", NULL, 1, ANY,
                  "Tokens of a step. 16384 with 160 GiB of GPU memory, 8192 with 70 (but an "
                  "A100), else 2048."},
    [S_SEQUENCES] = {"max_num_seqs", ENGINE_COUNT, "", NULL, 1, 1000000,
                     "Requests that run at once. 1024; with less than 70 GiB or an A100 256."},
    [S_MODEL_LEN] = {"max_model_len", ENGINE_COUNT, "", NULL, 1, ANY,
                     "Most tokens of a request. What the GPU's blocks hold."},
    [S_POLICY] = {"scheduling_policy", ENGINE_CHOICE, "fcfs", "fcfs|priority", 0, 0,
                  "Order of waiting requests. priority: interactive, responsive, batch."},
    [S_ASYNC] = {"async_scheduling", ENGINE_SWITCH, "yes", NULL, 0, 0,
                 "Decide a step before the outputs of the one before are known."},
    [S_WHOLE] = {"scheduler_reserve_full_isl", ENGINE_SWITCH, "yes", NULL, 0, 0,
                 "Admit a request only if all its tokens fit now."},
    [S_CHUNKS] = {"enable_chunked_prefill", ENGINE_SWITCH, "yes", NULL, 0, 0,
                  "Compute a prompt in several steps."},
    [S_LONG] = {"long_prefill_token_threshold", ENGINE_COUNT, "0", NULL, 0, ANY,
                "Most tokens of one request in a step; 0: no limit."},
    [S_ADAPTIVE] = {"long_prefill_token_threshold_adaptive", ENGINE_SWITCH, "no", NULL, 0, 0,
                    "The same, but at least the budget shared by all requests."},
    [S_INTERVAL] = {"prefill_schedule_interval", ENGINE_COUNT, "1", NULL, 1, 1000000,
                    "Steps from one that computes prompts to the next, while others decode."},
    [S_WATERMARK] = {"watermark", ENGINE_SHARE, "0", NULL, 0, 0,
                     "Share of the blocks that admissions leave free."},
    {0}};

void engine_cache_scheduler(const struct engine_choice *c, const struct engine_room *room,
                            struct scheduler_opts *out)
{
    const double *v = c->scheduler.value;
    const bool *given = c->scheduler.given;
    const bool large = room->device_bytes >= 70 * GIB && !room->a100;
    const uint64_t budget = room->device_bytes >= 160 * GIB ? 16384 : large ? 8192 : 2048;
    *out = (struct scheduler_opts){.step_tokens = given[S_BUDGET] ? (uint64_t)v[S_BUDGET] : budget,
                                   .max_running = given[S_SEQUENCES] ? (uint64_t)v[S_SEQUENCES]
                                                  : large            ? 1024
                                                                     : 256,
                                   .max_tokens =
                                       given[S_MODEL_LEN] ? (uint64_t)v[S_MODEL_LEN] : KV_NO_LIMIT,
                                   .policy = v[S_POLICY] > 0 ? SCHEDULER_PRIORITY : SCHEDULER_FCFS,
                                   .async = v[S_ASYNC] > 0,
                                   .whole_prompts = v[S_WHOLE] > 0,
                                   .chunks = v[S_CHUNKS] > 0,
                                   .long_tokens = (uint64_t)v[S_LONG],
                                   .adaptive = v[S_ADAPTIVE] > 0,
                                   .prefill_interval = (uint64_t)v[S_INTERVAL],
                                   .watermark = v[S_WATERMARK]};
}

/* ---- vLLM ---- */

enum {
    V_BLOCK,
    V_CHUNK,
    V_POLICY,
    V_PROMPT,
    V_THRESHOLD,
    V_TRACKER,
    V_SYNC
};
static const struct engine_setting vllm_settings[] = {
    [V_BLOCK] = {"block_size", ENGINE_COUNT, "16", NULL, 1, 1 << 20,
                 "Tokens of a block on the GPU."},
    [V_CHUNK] = {"blocks_per_chunk", ENGINE_COUNT, "1", NULL, 1, 1 << 16,
                 "Blocks of a copy below the GPU."},
    [V_POLICY] = {"eviction_policy", ENGINE_CHOICE, "lru", "lru|arc", 0, 0,
                  "Which copy leaves host memory."},
    [V_PROMPT] = {"offload_prompt_only", ENGINE_SWITCH, "yes", NULL, 0, 0,
                  "Store only blocks of prompts, none of answers."},
    [V_THRESHOLD] = {"store_threshold", ENGINE_COUNT, "0", NULL, 0, 1 << 20,
                     "Offers of a block until it is stored; 0: at once. Not with files."},
    [V_TRACKER] = {"max_tracker_size", ENGINE_COUNT, "64000", NULL, 1, 1 << 28,
                   "Blocks whose offers are counted."},
    [V_SYNC] = {"sync_load_budget_bytes", ENGINE_COUNT, "0", NULL, 0, ANY,
                "Bytes of loads that a step waits for; larger ones come before the request runs."},
    {0}};

static int bad(struct err *e, const char *why)
{
    return err_set(e, -EINVAL, ERR_INPUT, "--cache", "%s", why);
}

/* Host memory in chunks, as vLLM counts them. */
static uint64_t host_chunks(const struct engine_room *room, uint64_t chunk_bytes)
{
    const uint64_t all = (chunk_bytes * room->ranks + PAGE - 1) / PAGE * PAGE;
    const unsigned __int128 bytes = (unsigned __int128)room->capacity[TRACE_CPU] * room->ranks;
    return (uint64_t)(bytes / all);
}

/* Sizes of blocks and copies, and how many blocks the GPU has for requests. */
static int set_blocks(struct engine_cache *out, const struct engine_room *room,
                      uint64_t block_tokens, uint64_t chunk_tokens, struct err *e)
{
    out->block_tokens = block_tokens;
    out->chunk_tokens = chunk_tokens;
    if (room->block_bytes(room->model, block_tokens, &out->block_bytes) < 0 ||
        room->block_bytes(room->model, chunk_tokens, &out->chunk_bytes) < 0 ||
        out->block_bytes == 0)
        return bad(e, "a block has no size");
    /* vLLM keeps one block back, the null block. */
    out->blocks = room->capacity[TRACE_GPU] / out->block_bytes;
    if (out->blocks < 2)
        return bad(e, "--gpu-mem has no room for two blocks");
    if (--out->blocks >= ID_LIMIT)
        return bad(e, "--gpu-mem has room for more than 10^9 blocks: take larger ones");
    return 0;
}

static int open_vllm(struct engine_cache *out, const struct engine_values *v,
                     const struct engine_room *room, const struct kv_listener *l, struct err *e)
{
    const bool host = room->capacity[TRACE_CPU] > 0, files = room->capacity[TRACE_STORAGE] > 0;
    const uint64_t block = (uint64_t)v->value[V_BLOCK];
    int rc = set_blocks(out, room, block, block * (uint64_t)v->value[V_CHUNK], e);
    if (rc)
        return rc;
    struct vllm_opts o = {.blocks = out->blocks, .block_tokens = out->block_tokens, .groups = 1};
    struct vllm_offload_opts below = {.gpu_blocks = o.blocks,
                                      .block_tokens = o.block_tokens,
                                      .groups = o.groups,
                                      .window = o.window,
                                      .chunk_blocks = out->chunk_tokens / o.block_tokens,
                                      .chunks = host_chunks(room, out->chunk_bytes),
                                      .arc = v->value[V_POLICY] > 0,
                                      .prompt_only = v->value[V_PROMPT] > 0,
                                      .store_threshold = (uint64_t)v->value[V_THRESHOLD],
                                      .max_tracker_size = (uint64_t)v->value[V_TRACKER],
                                      .sync_load_bytes = (uint64_t)v->value[V_SYNC],
                                      .chunk_bytes = out->chunk_bytes * room->ranks,
                                      .lower = files ? VLLM_FILES : VLLM_NO_LOWER};
    if (files && !host)
        return bad(e, "vllm keeps files below host memory: give --cpu-mem, or "
                      "--storage-capacity none");
    if (files && below.store_threshold >= 2)
        return bad(e, "vllm takes store_threshold only without files (--storage-capacity none)");
    if (files && room->capacity[TRACE_STORAGE] != KV_NO_LIMIT) {
        below.most_files = room->capacity[TRACE_STORAGE] / out->chunk_bytes;
        out->chunks[TRACE_STORAGE] = below.most_files;
        if (below.most_files == 0)
            return bad(e, "--storage-capacity has no room for one block; none: no such tier");
    }
    if (host && below.chunks == 0)
        return bad(e, "--cpu-mem has no room for one block; 0: no such tier");
    if (below.chunks >= ID_LIMIT)
        return bad(e, "--cpu-mem has room for more than 10^9 blocks: take larger ones "
                      "(blocks_per_chunk)");
    if (host) {
        out->chunks[TRACE_CPU] = below.chunks;
        o.below_ops = &vllm_offload_ops;
        o.below = vllm_offload_create(&below, l);
        if (!o.below)
            return err_nomem(e, "the cache");
    }
    out->scheduler.connector = host;
    out->ops = &vllm_cache_ops;
    out->cache = vllm_create(&o, l);
    return out->cache ? 0 : err_nomem(e, "the cache");
}

/* ---- all of them ---- */

static const struct engine_cache_kind kinds[] = {
    {"vllm", "0.33.0", "block pool on the GPU, OffloadingConnector with host memory and files",
     vllm_settings, true, open_vllm},
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

static int unknown_kind(const char *name, struct err *e)
{
    struct nearest near = {.typed = name};
    char known[256] = "waterfall";
    nearest_offer(&near, "waterfall");
    for (size_t i = 0; i < KINDS; i++) {
        nearest_offer(&near, kinds[i].name);
        snprintf(known + strlen(known), sizeof(known) - strlen(known), ", %s", kinds[i].name);
    }
    return err_set(e, -EINVAL, ERR_INPUT, "--cache", "\"%s\" is no cache (known: %s)%s%s%s", name,
                   known, near.best ? "; did you mean " : "", near.best ? near.best : "",
                   near.best ? "?" : "");
}

/* The number of a setting with that name; -1: there is none. */
static int find_setting(const struct engine_setting *list, const char *name)
{
    for (int i = 0; list[i].name; i++)
        if (strcmp(list[i].name, name) == 0)
            return i;
    return -1;
}

/* The place of the text among a|b|c; -1: it is none of them. */
static int find_choice(const char *choices, const char *text)
{
    const size_t len = strlen(text);
    for (int i = 0; *choices; i++) {
        const size_t n = strcspn(choices, "|");
        if (n == len && strncmp(choices, text, n) == 0)
            return i;
        choices += n + (choices[n] == '|');
    }
    return -1;
}

static int set_value(const struct engine_setting *s, const char *text, double *out, struct err *e)
{
    uint64_t n;
    int choice;
    switch (s->kind) {
    case ENGINE_COUNT:
        if (units_parse_size(text, &n) < 0 || n < s->least || n > s->most)
            return err_set(e, -EINVAL, ERR_INPUT, "--cache",
                           "%s: \"%s\" is not a whole number from %llu to %llu", s->name, text,
                           (unsigned long long)s->least, (unsigned long long)s->most);
        *out = (double)n;
        return 0;
    case ENGINE_SHARE:
        if (units_parse_f64(text, out) < 0 || !(*out >= 0 && *out <= 1))
            return err_set(e, -EINVAL, ERR_INPUT, "--cache",
                           "%s: \"%s\" is not a share from 0 to 1", s->name, text);
        return 0;
    case ENGINE_SWITCH:
    case ENGINE_CHOICE:
        break;
    }
    const char *choices = s->kind == ENGINE_SWITCH ? "no|yes" : s->choices;
    choice = find_choice(choices, text);
    if (choice < 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--cache", "%s: \"%s\" is not %s", s->name, text,
                       choices);
    *out = choice;
    return 0;
}

static int set_defaults(const struct engine_setting *list, struct engine_values *v, struct err *e)
{
    int rc = 0;
    *v = (struct engine_values){0};
    for (int i = 0; list[i].name && !rc; i++)
        if (list[i].def[0])
            rc = set_value(&list[i], list[i].def, &v->value[i], e);
    return rc;
}

static int set_part(struct engine_choice *c, char *part, struct err *e)
{
    char *value = strchr(part, '=');
    struct engine_values *v = &c->own;
    const struct engine_setting *list = c->kind->settings;
    struct nearest near = {.typed = part};
    if (!value)
        return err_set(e, -EINVAL, ERR_INPUT, "--cache",
                       "\"%s\": expected KEY=VALUE, or %s:help alone", part, c->kind->name);
    *value++ = '\0';
    if (strcmp(part, "version") == 0)
        return strcmp(value, c->kind->version) == 0
                   ? 0
                   : err_set(e, -EINVAL, ERR_INPUT, "--cache",
                             "version %s of %s is not known: its rules are those of %s", value,
                             c->kind->name, c->kind->version);
    int i = find_setting(list, part);
    if (i < 0 && c->kind->vllm_scheduler) {
        v = &c->scheduler;
        list = scheduler_settings;
        i = find_setting(list, part);
    }
    if (i < 0) {
        for (int k = 0; c->kind->settings[k].name; k++)
            nearest_offer(&near, c->kind->settings[k].name);
        for (int k = 0; c->kind->vllm_scheduler && scheduler_settings[k].name; k++)
            nearest_offer(&near, scheduler_settings[k].name);
        return err_set(e, -EINVAL, ERR_INPUT, "--cache",
                       "%s has no setting \"%s\"%s%s%s (--cache %s:help lists them)", c->kind->name,
                       part, near.best ? "; did you mean " : "", near.best ? near.best : "",
                       near.best ? "?" : "", c->kind->name);
    }
    v->given[i] = true;
    return set_value(&list[i], value, &v->value[i], e);
}

/* The name in front of the settings. -ENAMETOOLONG: no cache has such a name. */
static int split(const char *text, char copy[MAX_TEXT], char **parts)
{
    if (strlen(text) >= MAX_TEXT)
        return -ENAMETOOLONG;
    strcpy(copy, text);
    *parts = strchr(copy, ':');
    if (*parts)
        *(*parts)++ = '\0';
    return 0;
}

bool engine_choice_asks(const char *text)
{
    const char *parts = strchr(text, ':');
    return parts && strcmp(parts, ":help") == 0;
}

int engine_choice_parse(struct engine_choice *c, const char *text, struct err *e)
{
    char copy[MAX_TEXT], *parts, *rest = NULL;
    *c = (struct engine_choice){0};
    if (split(text, copy, &parts) < 0)
        return bad(e, "the text is too long");
    if (strcmp(copy, "waterfall") == 0)
        return parts ? bad(e, "waterfall has no settings: its options are those of tiers") : 0;
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].name, copy) == 0)
            c->kind = &kinds[i];
    if (!c->kind)
        return unknown_kind(copy, e);
    int rc = set_defaults(c->kind->settings, &c->own, e);
    if (!rc)
        rc = set_defaults(scheduler_settings, &c->scheduler, e);
    if (!rc && parts && !*parts)
        rc = bad(e, "nothing behind the :");
    if (rc || engine_choice_asks(text))
        return rc;
    for (char *part = parts ? strtok_r(parts, ",", &rest) : NULL; part && !rc;
         part = strtok_r(NULL, ",", &rest))
        rc = set_part(c, part, e);
    return rc;
}

const char *engine_choice_name(const struct engine_choice *c)
{
    return c->kind ? c->kind->name : "waterfall";
}

const char *engine_choice_version(const struct engine_choice *c)
{
    return c->kind ? c->kind->version : NULL;
}

/* ---- for people, and for JSON ---- */

/* A value as one writes it; "" where the engine decides. */
static const char *text_of(const struct engine_setting *s, const struct engine_values *v, int i,
                           char buf[48])
{
    const char *choices = s->kind == ENGINE_SWITCH ? "no|yes" : s->choices;
    if (!s->def[0] && !v->given[i])
        return "";
    if (s->kind == ENGINE_COUNT) {
        snprintf(buf, 48, "%llu", (unsigned long long)v->value[i]);
        return buf;
    }
    if (s->kind == ENGINE_SHARE) {
        snprintf(buf, 48, "%g", v->value[i]);
        return buf;
    }
    for (int k = (int)v->value[i]; k > 0; k--)
        choices = strchr(choices, '|') + 1;
    snprintf(buf, 48, "%.*s", (int)strcspn(choices, "|"), choices);
    return buf;
}

static void help_list(FILE *f, const struct engine_setting *list, const struct engine_values *v)
{
    char buf[48], name[96];
    for (int i = 0; list[i].name; i++) {
        const char *value = text_of(&list[i], v, i, buf);
        snprintf(name, sizeof(name), "%s=%s", list[i].name, *value ? value : "...");
        fprintf(f, "  %s\n      %s%s%s%s\n", name, list[i].help, list[i].choices ? " (" : "",
                list[i].choices ? list[i].choices : "", list[i].choices ? ")" : "");
    }
}

int engine_choice_help(FILE *f, const struct engine_choice *c, struct err *e)
{
    fprintf(f, "%s %s: %s.\nSettings, with the values in force:\n", c->kind->name, c->kind->version,
            c->kind->about);
    help_list(f, c->kind->settings, &c->own);
    if (c->kind->vllm_scheduler) {
        fputs("Of its scheduler:\n", f);
        help_list(f, scheduler_settings, &c->scheduler);
    }
    return fflush(f) == 0 && !ferror(f)
               ? 0
               : err_set(e, -EIO, ERR_OUTPUT, "", "standard output cannot be written");
}

static void put_list(struct jsonout *j, const struct engine_setting *list,
                     const struct engine_values *v)
{
    char buf[48];
    for (int i = 0; list[i].name; i++) {
        const char *value = text_of(&list[i], v, i, buf);
        if (!*value)
            jsonout_null(j, list[i].name);
        else if (list[i].kind == ENGINE_COUNT)
            jsonout_u64(j, list[i].name, (uint64_t)v->value[i]);
        else if (list[i].kind == ENGINE_SHARE)
            jsonout_f64(j, list[i].name, v->value[i]);
        else if (list[i].kind == ENGINE_SWITCH)
            jsonout_bool(j, list[i].name, v->value[i] > 0);
        else
            jsonout_text_value(j, list[i].name, value);
    }
}

void engine_choice_put(struct jsonout *j, const struct engine_choice *c)
{
    jsonout_text_value(j, "name", engine_choice_name(c));
    jsonout_text_value(j, "version", engine_choice_version(c));
    jsonout_object(j, "settings");
    put_list(j, c->kind->settings, &c->own);
    if (c->kind->vllm_scheduler)
        put_list(j, scheduler_settings, &c->scheduler);
    jsonout_end(j);
}

int engine_cache_open(struct engine_cache *out, const struct engine_choice *c,
                      const struct engine_room *room, const struct kv_listener *l, struct err *e)
{
    *out = (struct engine_cache){0};
    engine_cache_scheduler(c, room, &out->scheduler);
    return c->kind->open(out, &c->own, room, l, e);
}
