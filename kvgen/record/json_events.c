/* Reads events that engines and routers write as JSON: TensorRT-LLM's event list (lines, or one
 * array; no times), and the recorder and router events of NVIDIA Dynamo (lines). */
#include <string.h>

#include "kvgen/record/json_fields.h"
#include "kvgen/record/readers.h"
#include "lib/json/jsonin.h"

/* ---- values ---- */

/* A hash of 64 bits, whose sign does not matter. */
static int read_hash(const struct record_opts *o, const struct jsonin_v *v, const char *name,
                     struct hash128 *out, struct err *e)
{
    unsigned char b[8];
    uint64_t bits;
    int64_t number;
    if (jsonin_u64(v, &bits) < 0) {
        if (jsonin_i64(v, &number) < 0)
            return batch_bad(e, name, "is not a number of 64 bits");
        bits = (uint64_t)number;
    }
    for (int i = 0; i < 8; i++)
        b[i] = (unsigned char)(bits >> (8 * i));
    *out = names_hash(&o->names, b, sizeof(b));
    return 0;
}

static int add_block(const struct record_opts *o, const struct jsonin_v *v, struct batch *b,
                     struct err *e)
{
    struct hash128 h;
    int rc = read_hash(o, v, "block_hash", &h, e);
    if (rc == 0 && batch_add_block(b, h) < 0)
        rc = err_nomem(e, "events");
    return rc;
}

static int add_blocks(const struct record_opts *o, const struct jsonin_v *hashes, struct batch *b,
                      struct err *e)
{
    int rc = jsonin_is_array(hashes) ? 0 : batch_bad(e, "block_hashes", "is not a list");
    for (size_t i = 0; rc == 0 && i < jsonin_count(hashes); i++)
        rc = add_block(o, jsonin_at(hashes, i), b, e);
    return rc;
}

/* The members that say who sent an event, and its number. */
static const struct pick trtllm_fields[] = {
    {"event_id", NULL, PICK_U64, false, offsetof(struct batch, seq)},
    {"attention_dp_rank", NULL, PICK_RANK, false, offsetof(struct batch, rank)}};
static const struct pick dynamo_fields[] = {
    {"event.dp_rank", NULL, PICK_RANK, false, offsetof(struct batch, rank)},
    {"event.event_id", NULL, PICK_U64, false, offsetof(struct batch, seq)}};

static void unknown_event(struct batch_reader *r, const char *name)
{
    batch_unknown_event(&r->unknown, name ? name : "", name ? strlen(name) : 0);
}

/* ---- TensorRT-LLM ---- */

/* Levels: 0 is the GPU, 1 the host, and a further one storage. */
static int read_level(const struct record_opts *o, const struct jsonin_v *v, uint8_t *medium,
                      struct err *e)
{
    static const char *const names[] = {"GPU", "CPU", "DISK"};
    int64_t level = 0;
    if ((v && pick_value(PICK_RANK, v, &level)) || level > 2)
        return batch_bad(e, "cache_level", "is not 0, 1 or 2");
    *medium = (uint8_t)media_find(&o->media, names[level], strlen(names[level]));
    return 0;
}

/* Each block of a stored event may lie elsewhere, and have another number of tokens. */
static int trtllm_stored(const struct record_opts *o, const struct jsonin_v *data,
                         struct hash128 group, struct batch *b, struct err *e)
{
    const struct jsonin_v *blocks = jsonin_get(data, "blocks");
    const struct jsonin_v *parent = jsonin_get(data, "parent_hash");
    struct hash128 before = {0};
    bool has_before = parent != NULL;
    int rc = parent ? read_hash(o, parent, "parent_hash", &before, e) : 0;
    if (rc == 0 && !jsonin_is_array(blocks))
        rc = batch_bad(e, "blocks", "is not a list");
    for (size_t i = 0; rc == 0 && i < jsonin_count(blocks); i++) {
        const struct jsonin_v *block = jsonin_at(blocks, i);
        struct event *v = batch_add(b, EVENT_STORED);
        if (!v)
            return err_nomem(e, "events");
        v->group = group;
        v->has_parent = has_before;
        v->parent = before;
        v->tokens = (uint32_t)jsonin_count(jsonin_get(block, "tokens"));
        rc = read_level(o, jsonin_get(block, "cache_level"), &v->medium, e);
        if (rc == 0)
            rc = add_block(o, jsonin_get(block, "block_hash"), b, e);
        if (rc == 0)
            before = b->hash[b->hashes - 1];
        has_before = true;
    }
    return rc;
}

/* A change of level is a move; one of priority is nothing. */
static int trtllm_updated(const struct record_opts *o, const struct jsonin_v *data,
                          struct hash128 group, struct batch *b, struct err *e)
{
    static const struct {
        const char *path;
        enum event_kind kind;
    } ends[] = {{"cache_level.new_value", EVENT_STORED}, {"cache_level.old_value", EVENT_REMOVED}};
    uint8_t medium[2];
    if (!jsonin_get(data, "cache_level"))
        return 0;
    for (size_t i = 0; i < 2; i++) {
        int rc = read_level(o, jsonin_get(data, ends[i].path), &medium[i], e);
        if (rc < 0)
            return rc;
    }
    for (size_t i = 0; i < 2 && medium[0] != medium[1]; i++) {
        struct event *v = batch_add(b, ends[i].kind);
        if (!v)
            return err_nomem(e, "events");
        v->group = group;
        v->medium = medium[i];
        v->told_move = true;
        int rc = add_block(o, jsonin_get(data, "block_hash"), b, e);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int read_trtllm(struct batch_reader *r, const struct jsonin_v *v, struct batch *b,
                       struct err *e)
{
    const struct record_opts *o = r->o;
    const struct jsonin_v *data = jsonin_get(v, "data"), *window = jsonin_get(v, "window_size");
    const char *type = jsonin_text(jsonin_get(data, "type"), NULL);
    const struct jsonin_v *layers = jsonin_get(v, "layer_group_id");
    struct hash128 group = {0}, of[2];
    if (!type)
        return batch_bad(e, "data.type", "is missing: no event of TensorRT-LLM");
    b->numbered = jsonin_get(v, "event_id") != NULL;
    int rc = batch_pick(trtllm_fields, 2, v, b, e);
    if (rc == 0 && window)
        rc = read_hash(o, window, "window_size", &group, e);
    if (rc == 0 && layers) {
        rc = read_hash(o, layers, "layer_group_id", &of[1], e);
        of[0] = group;
        group = hash_128(of, sizeof(of));
    }
    if (rc < 0)
        return rc;
    b->publisher = names_publisher(&o->names, 0, "trtllm", 6);
    if (strcmp(type, "stored") == 0)
        return trtllm_stored(o, data, group, b, e);
    if (strcmp(type, "updated") == 0)
        return trtllm_updated(o, data, group, b, e);
    if (strcmp(type, "removed") == 0) {
        struct event *removed = batch_add(b, EVENT_REMOVED);
        if (!removed)
            return err_nomem(e, "events");
        removed->group = group;
        removed->anywhere = true;
        return add_blocks(o, jsonin_get(data, "block_hashes"), b, e);
    }
    if (strcmp(type, "created") != 0)
        unknown_event(r, type);
    return 0;
}

/* ---- Dynamo's KV router ---- */

static int dynamo_stored(const struct record_opts *o, const struct jsonin_v *stored,
                         struct batch *b, struct err *e)
{
    const struct jsonin_v *blocks = jsonin_get(stored, "blocks");
    const struct jsonin_v *parent = jsonin_get(stored, "parent_hash");
    struct event *v = &b->event[b->events - 1];
    int rc = 0;
    if (parent) {
        v->has_parent = true;
        rc = read_hash(o, parent, "parent_hash", &v->parent, e);
    }
    if (rc == 0 && !jsonin_is_array(blocks))
        rc = batch_bad(e, "blocks", "is not a list");
    for (size_t i = 0; rc == 0 && i < jsonin_count(blocks); i++)
        rc = add_block(o, jsonin_get(jsonin_at(blocks, i), "block_hash"), b, e);
    return rc;
}

/* Event ids run per worker and rank, so both are the publisher. */
static int read_worker(const struct record_opts *o, const struct jsonin_v *record, struct batch *b,
                       struct err *e)
{
    struct hash128 worker;
    int rc = read_hash(o, jsonin_get(record, "worker_id"), "worker_id", &worker, e);
    b->numbered = jsonin_get(record, "event.event_id") != NULL;
    if (rc == 0)
        rc = batch_pick(dynamo_fields, 2, record, b, e);
    if (rc == 0)
        b->publisher = names_publisher(&o->names, (uint32_t)b->rank, &worker, sizeof(worker));
    return rc;
}

static int read_dynamo(struct batch_reader *r, const struct jsonin_v *v, struct batch *b,
                       struct err *e)
{
    const struct record_opts *o = r->o;
    bool wrapped = jsonin_get(v, "timestamp") != NULL;
    const struct jsonin_v *record = wrapped ? jsonin_get(v, "event") : v;
    const struct jsonin_v *data = jsonin_get(record, "event.data");
    const struct jsonin_v *stored = jsonin_get(data, "stored"),
                          *removed = jsonin_get(data, "removed");
    const char *text = jsonin_text(data, NULL), *name;
    size_t len;
    int64_t ms = 0;
    if (!data)
        return batch_bad(e, "event.data", "is missing: no event of Dynamo's router");
    int rc =
        wrapped ? batch_pick_value(PICK_MS, jsonin_get(v, "timestamp"), "timestamp", &ms, e) : 0;
    b->time_ns = ms * 1000000;
    r->no_times = !wrapped;
    if (rc == 0)
        rc = read_worker(o, record, b, e);
    if (rc < 0)
        return rc;
    bool cleared = text && strcmp(text, "cleared") == 0;
    if (!stored && !removed && !cleared) {
        unknown_event(r, text ? text : jsonin_member(data, 0, &name) ? name : "");
        return 0;
    }
    struct event *event = batch_add(b, stored    ? EVENT_STORED
                                       : removed ? EVENT_REMOVED
                                                 : EVENT_CLEARED);
    if (!event)
        return err_nomem(e, "events");
    const char *tier = jsonin_text(jsonin_get(record, "storage_tier"), &len);
    event->medium = MEDIA_GPU;
    if (tier && (rc = record_medium(o, tier, len, &event->medium, e)) < 0)
        return rc;
    return stored    ? dynamo_stored(o, stored, b, e)
           : removed ? add_blocks(o, jsonin_get(removed, "block_hashes"), b, e)
                     : 0;
}

/* ---- elements ---- */

/* Members of both formats, of all of their versions. */
static const struct json_field fields[] = {JSON_WALKED("timestamp"),
                                           JSON_WALKED("event"),
                                           JSON_WALKED("worker_id"),
                                           JSON_WALKED("storage_tier"),
                                           JSON_WALKED("residency_domain"),
                                           JSON_WALKED("session_id"),
                                           JSON_WALKED("event_id"),
                                           {"data", JSON_FIELD_EVENT},
                                           JSON_WALKED("stored"),
                                           JSON_WALKED("removed"),
                                           JSON_WALKED("type"),
                                           JSON_WALKED("num_blocks_per_cache_level"),
                                           JSON_WALKED("parent_hash"),
                                           JSON_WALKED("start_position"),
                                           JSON_WALKED("blocks"),
                                           JSON_WALKED("block_hash"),
                                           JSON_WALKED("block_hashes"),
                                           JSON_WALKED("tokens_hash"),
                                           JSON_WHOLE("mm_extra_info"),
                                           JSON_WHOLE("tokens"),
                                           JSON_WALKED("cache_level"),
                                           JSON_WALKED("new_value"),
                                           JSON_WALKED("old_value"),
                                           JSON_WALKED("priority"),
                                           JSON_WALKED("lora_name"),
                                           JSON_WALKED("cache_salt"),
                                           JSON_WHOLE("mm_keys"),
                                           JSON_WALKED("window_size"),
                                           JSON_WALKED("layer_group_id"),
                                           JSON_WALKED("attention_dp_rank"),
                                           JSON_WALKED("dp_rank")};
static const struct json_fields known_fields = {fields, sizeof(fields) / sizeof(*fields),
                                                sizeof(*fields)};

static int next(struct batch_reader *r, struct batch *b,
                int (*read)(struct batch_reader *, const struct jsonin_v *, struct batch *,
                            struct err *),
                struct err *e)
{
    const struct jsonin_v *v;
    int rc = jsonin_stream_next(r->json, &v, e);
    if (rc <= 0)
        return rc;
    batch_clear(b);
    rc = read(r, v, b, e);
    r->unknown.fields += json_fields_unknown(&known_fields, v);
    return rc < 0 ? rc : 1;
}

static int next_trtllm(struct batch_reader *r, struct batch *b, struct err *e)
{
    r->no_times = true;
    return next(r, b, read_trtllm, e);
}

static int next_dynamo(struct batch_reader *r, struct batch *b, struct err *e)
{
    return next(r, b, read_dynamo, e);
}

const struct batch_reader_ops trtllm_reader = {
    .bytes = sizeof(struct batch_reader), .input = BATCH_JSON, .next = next_trtllm};
const struct batch_reader_ops dynamo_kv_reader = {
    .bytes = sizeof(struct batch_reader), .input = BATCH_JSON, .next = next_dynamo};
