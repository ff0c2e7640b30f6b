/* Decodes one message of KV events. A batch and an event may each be an array or a map; arrays
 * leave out trailing members, and versions add members: what a member means is told by its place in
 * an array, by its name in a map, and for one place by its type. Everything is then one struct. */
#include "kvgen/record/kv_message.h"

#include <errno.h>
#include <string.h>

#include "kvgen/record/msgpack.h"

enum {
    MAX_PAIRED_TOKENS = 1024 /* of a block */
};

enum field {
    FIELD_IGNORED, /* known, and not used */
    FIELD_TYPE,
    FIELD_EVENT_TYPE,
    FIELD_HASHES,
    FIELD_SEQUENCE_HASHES,
    FIELD_PARENT,
    FIELD_BLOCK_SIZE,
    FIELD_MEDIUM,
    FIELD_GROUP,
    FIELD_LAYERS,
    FIELD_OBJECT_KEY,
    FIELD_TOKENS,
    FIELD_SALT,     /* an adapter or a salt, if it is not nil */
    FIELD_EXTRA,    /* a list that may hold nothing but nil */
    FIELD_METADATA, /* an adapter's name (vLLM), or a map (SGLang) */
    FIELD_UNKNOWN
};

static const struct {
    const char *name;
    enum field field;
} fields[] = {{"type", FIELD_TYPE},
              {"event_type", FIELD_EVENT_TYPE},
              {"block_hashes", FIELD_HASHES},
              {"seq_hashes", FIELD_SEQUENCE_HASHES},
              {"parent_block_hash", FIELD_PARENT},
              {"parent_hash", FIELD_PARENT},
              {"block_size", FIELD_BLOCK_SIZE},
              {"medium", FIELD_MEDIUM},
              {"group_idx", FIELD_GROUP},
              {"group_id", FIELD_GROUP},
              {"kv_cache_spec_kind", FIELD_LAYERS},
              {"object_key", FIELD_OBJECT_KEY},
              {"token_ids", FIELD_TOKENS},
              {"lookahead_token_ids", FIELD_IGNORED},
              {"lora_id", FIELD_SALT},
              {"lora_name", FIELD_SALT},
              {"extra_keys", FIELD_EXTRA},
              {"cache_salt", FIELD_SALT},
              {"additional_salt", FIELD_SALT},
              {"session_id", FIELD_IGNORED},
              {"kv_cache_spec_sliding_window", FIELD_IGNORED},
              {"locality", FIELD_IGNORED},
              {"ownership", FIELD_IGNORED},
              {"event_id", FIELD_IGNORED},
              {"timestamp", FIELD_IGNORED},
              {"model_name", FIELD_IGNORED},
              {"tenant_id", FIELD_IGNORED},
              {"backend_id", FIELD_IGNORED},
              {"dp_rank", FIELD_IGNORED},
              {"base_block_idx", FIELD_IGNORED}};

/* Members of an event that is an array, behind its type. Place 7 of a stored block is a name
 * (vLLM) or a map of metadata (SGLang): both mean that the hashes are salted. */
static const enum field stored_places[] = {
    FIELD_HASHES,   FIELD_PARENT, FIELD_TOKENS, FIELD_BLOCK_SIZE, FIELD_SALT,   FIELD_MEDIUM,
    FIELD_METADATA, FIELD_EXTRA,  FIELD_GROUP,  FIELD_LAYERS,     FIELD_IGNORED};
static const enum field removed_places[] = {FIELD_HASHES, FIELD_MEDIUM, FIELD_GROUP};

/* The members of an event, as they stand in the message. */
struct members {
    struct msgpack_value value[FIELD_UNKNOWN];
    struct msgpack in[FIELD_UNKNOWN]; /* behind their heads: the elements of lists */
    bool salted;
};

struct decoder {
    const struct record_opts *o;
    struct batch *b;
    struct batch_unknown *unknown;
    struct err *err;
};

static int damaged(const struct decoder *d)
{
    return err_set(d->err, -EBADMSG, ERR_INPUT, "", "damaged message: no MessagePack of KV events");
}

static enum field field_of(const struct msgpack_value *name)
{
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
        if (msgpack_is(name, fields[i].name))
            return fields[i].field;
    return FIELD_UNKNOWN;
}

/* Whether a list has an element that is not nil. */
static bool holds_any(struct msgpack_value list, struct msgpack in)
{
    struct msgpack_value v;
    for (uint32_t i = 0; list.type == MSGPACK_ARRAY && i < list.count; i++)
        if (msgpack_next(&in, &v) < 0 || v.type != MSGPACK_NIL)
            return true;
    return false;
}

/* Takes one member. */
static int take(struct decoder *d, struct msgpack *m, enum field field, struct members *to)
{
    struct msgpack_value v;
    if (msgpack_next(m, &v) < 0)
        return damaged(d);
    struct msgpack behind = *m;
    if (msgpack_skip_rest(m, &v) < 0)
        return damaged(d);
    d->unknown->fields += field == FIELD_UNKNOWN;
    if (v.type == MSGPACK_NIL)
        return 0;
    to->salted |= field == FIELD_SALT ||
                  (field == FIELD_METADATA && (v.type == MSGPACK_TEXT || v.count > 0)) ||
                  (field == FIELD_EXTRA && holds_any(v, behind));
    if (field != FIELD_UNKNOWN) {
        to->value[field] = v;
        to->in[field] = behind;
    }
    return 0;
}

/* A hash as whole bytes, or as 64 bits whose sign does not matter. False: it is none. */
static bool read_hash(const struct decoder *d, const struct msgpack_value *v, struct hash128 *out)
{
    if (v->type == MSGPACK_WHOLE) {
        unsigned char b[8];
        for (int i = 0; i < 8; i++)
            b[i] = (unsigned char)(v->bits >> (8 * i));
        *out = names_hash(&d->o->names, b, sizeof(b));
        return true;
    }
    if (v->type != MSGPACK_BYTES && v->type != MSGPACK_TEXT)
        return false;
    *out = names_hash(&d->o->names, v->text, v->len);
    return true;
}

static int add_blocks(const struct decoder *d, const struct members *m)
{
    enum field field =
        m->value[FIELD_SEQUENCE_HASHES].count > 0 ? FIELD_SEQUENCE_HASHES : FIELD_HASHES;
    const struct msgpack_value *list = &m->value[field];
    struct msgpack in = m->in[field];
    struct hash128 hash;
    if (list->type != MSGPACK_ARRAY && list->type != MSGPACK_NIL)
        return damaged(d);
    for (uint32_t i = 0; i < list->count; i++) {
        struct msgpack_value v;
        if (msgpack_next(&in, &v) < 0 || !read_hash(d, &v, &hash))
            return damaged(d);
        if (batch_add_block(d->b, hash) < 0)
            return err_nomem(d->err, "events");
    }
    /* Mooncake's keys that are no number have no hashes: the key names the object. */
    if (list->count == 0 && read_hash(d, &m->value[FIELD_OBJECT_KEY], &hash) &&
        batch_add_block(d->b, hash) < 0)
        return err_nomem(d->err, "events");
    return 0;
}

/* Hashes the token ids of each block as Dynamo does: XXH3-64 with seed 1337 of the ids as u32 in
 * little endian. The ids go no further. */
static void hash_tokens(const struct decoder *d, const struct members *m, struct event *v)
{
    unsigned char text[4 * MAX_PAIRED_TOKENS];
    const struct msgpack_value *tokens = &m->value[FIELD_TOKENS];
    struct msgpack in = m->in[FIELD_TOKENS];
    v->salted = m->salted;
    if (!d->o->pairing || v->tokens == 0 || v->tokens > MAX_PAIRED_TOKENS ||
        tokens->type != MSGPACK_ARRAY || tokens->count != (uint64_t)v->tokens * v->count)
        return;
    for (size_t k = 0; k < v->count; k++) {
        for (uint32_t i = 0; i < v->tokens; i++) {
            struct msgpack_value id;
            if (msgpack_next(&in, &id) < 0 || id.type != MSGPACK_WHOLE || id.bits > UINT32_MAX)
                return;
            for (unsigned b = 0; b < 4; b++)
                text[4 * i + b] = (unsigned char)(id.bits >> (8 * b));
        }
        d->b->tokens[v->first + k] = hash_64_seeded(text, 4 * v->tokens, BATCH_SEED);
    }
    memset(text, 0, sizeof(text));
    v->has_locals = v->count > 0;
}

static int find_medium(const struct decoder *d, const struct msgpack_value *v, uint8_t *medium)
{
    *medium = MEDIA_GPU;
    if (v->type == MSGPACK_NIL)
        return 0;
    if (v->type != MSGPACK_TEXT)
        return damaged(d);
    return record_medium(d->o, v->text, v->len, medium, d->err);
}

static bool has(const struct msgpack_value *v, const char *text)
{
    return memmem(v->text ? v->text : "", v->len, text, strlen(text)) != NULL;
}

static int add_event(const struct decoder *d, const struct members *m, enum event_kind kind)
{
    struct event *v = batch_add(d->b, kind);
    if (!v)
        return err_nomem(d->err, "events");
    int rc = find_medium(d, &m->value[FIELD_MEDIUM], &v->medium);
    if (rc < 0 || kind == EVENT_CLEARED)
        return rc;
    const struct msgpack_value *tokens = &m->value[FIELD_BLOCK_SIZE];
    const struct msgpack_value *layers = &m->value[FIELD_LAYERS];
    if (tokens->type == MSGPACK_WHOLE && tokens->bits <= UINT32_MAX)
        v->tokens = (uint32_t)tokens->bits;
    v->has_parent = read_hash(d, &m->value[FIELD_PARENT], &v->parent);
    if (!read_hash(d, &m->value[FIELD_GROUP], &v->group))
        v->group = (struct hash128){0};
    if (layers->type == MSGPACK_TEXT)
        v->layers = (uint8_t)(has(layers, "sliding") ? EVENT_LAYERS_WINDOWED
                              : has(layers, "full")  ? EVENT_LAYERS_FULL
                                                     : EVENT_LAYERS_ALL);
    rc = add_blocks(d, m);
    if (rc == 0)
        hash_tokens(d, m, &d->b->event[d->b->events - 1]);
    return rc;
}

/* The name of the event. */
static const struct msgpack_value *type_of(const struct members *m)
{
    return &m->value[m->value[FIELD_TYPE].text ? FIELD_TYPE : FIELD_EVENT_TYPE];
}

/* The kind by its name: 1; 0: an event that is not known. */
static int kind_of(const struct members *m, enum event_kind *kind)
{
    static const struct {
        const char *type, *event_type;
        enum event_kind kind;
    } names[] = {{"BlockStored", "stored", EVENT_STORED},
                 {"BlockRemoved", "removed", EVENT_REMOVED},
                 {"AllBlocksCleared", "cleared", EVENT_CLEARED}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (msgpack_is(type_of(m), names[i].type) ||
            msgpack_is(&m->value[FIELD_EVENT_TYPE], names[i].event_type)) {
            *kind = names[i].kind;
            return 1;
        }
    return 0;
}

static int decode_event(struct decoder *d, struct msgpack *in)
{
    struct msgpack_value head, name;
    struct members m = {0};
    enum event_kind kind;
    uint64_t before = d->unknown->fields;
    if (msgpack_next(in, &head) < 0)
        return damaged(d);
    if (head.type == MSGPACK_MAP) {
        for (uint32_t i = 0; i < head.count; i++) {
            if (msgpack_next(in, &name) < 0 || msgpack_skip_rest(in, &name) < 0)
                return damaged(d);
            int rc = take(d, in, field_of(&name), &m);
            if (rc < 0)
                return rc;
        }
    } else if (head.type == MSGPACK_ARRAY && head.count > 0) {
        int rc = take(d, in, FIELD_TYPE, &m);
        if (rc < 0)
            return rc;
        bool removed = msgpack_is(&m.value[FIELD_TYPE], "BlockRemoved");
        const enum field *place = removed ? removed_places : stored_places;
        size_t places = (removed ? sizeof(removed_places) : sizeof(stored_places)) / sizeof(*place);
        for (uint32_t i = 1; i < head.count; i++) {
            rc = take(d, in, i <= places ? place[i - 1] : FIELD_UNKNOWN, &m);
            if (rc < 0)
                return rc;
        }
    } else {
        return damaged(d);
    }
    if (kind_of(&m, &kind))
        return add_event(d, &m, kind);
    const struct msgpack_value *t = type_of(&m);
    d->unknown->fields = before; /* what is in such an event is not counted */
    batch_unknown_event(d->unknown, t->text ? t->text : "", t->len);
    return 0;
}

/* An event that is damaged leaves nothing of itself. */
static int decode_events(struct decoder *d, struct msgpack *in)
{
    struct msgpack_value list;
    if (msgpack_next(in, &list) < 0 || list.type != MSGPACK_ARRAY)
        return damaged(d);
    for (uint32_t i = 0; i < list.count; i++) {
        size_t events = d->b->events, hashes = d->b->hashes;
        int rc = decode_event(d, in);
        if (rc < 0) {
            d->b->events = events;
            d->b->hashes = hashes;
            return rc;
        }
    }
    return 0;
}

/* Seconds since 1970, or whole milliseconds (Mooncake). */
static int decode_time(const struct decoder *d, struct msgpack *in)
{
    struct msgpack_value v;
    double t;
    if (msgpack_next(in, &v) < 0 || !msgpack_number(&v, &t) || !(t >= 0 && t < 4e12))
        return damaged(d);
    double scale = v.type == MSGPACK_WHOLE && t > 1e11 ? 1e6 : 1e9;
    if (t * scale > 4e18)
        return damaged(d);
    /* To the microsecond, which a double of the present holds. */
    d->b->time_ns = (int64_t)(t * (scale / 1e3) + 0.5) * 1000;
    return 0;
}

static int decode_rank(const struct decoder *d, struct msgpack *in)
{
    struct msgpack_value v;
    if (msgpack_next(in, &v) < 0 || msgpack_skip_rest(in, &v) < 0)
        return damaged(d);
    if (v.type == MSGPACK_WHOLE)
        d->b->rank = (int64_t)v.bits;
    return 0;
}

int kv_message_decode(const struct record_opts *o, const void *payload, size_t len, struct batch *b,
                      struct batch_unknown *unknown, struct err *e)
{
    struct decoder d = {.o = o, .b = b, .unknown = unknown, .err = e};
    struct msgpack in = {payload, (const unsigned char *)payload + len};
    struct msgpack_value head, name;
    int rc = 0;
    if (msgpack_next(&in, &head) < 0 || (head.type != MSGPACK_ARRAY && head.type != MSGPACK_MAP) ||
        head.count < 2)
        return damaged(&d);
    for (uint32_t i = 0; rc == 0 && i < head.count; i++) {
        uint32_t place = i;
        if (head.type == MSGPACK_MAP) {
            if (msgpack_next(&in, &name) < 0 || msgpack_skip_rest(&in, &name) < 0)
                return damaged(&d);
            place = msgpack_is(&name, "ts")                   ? 0
                    : msgpack_is(&name, "events")             ? 1
                    : msgpack_is(&name, "data_parallel_rank") ? 2
                                                              : 3;
        }
        if (place == 0)
            rc = decode_time(&d, &in);
        else if (place == 1)
            rc = decode_events(&d, &in);
        else if (place == 2)
            rc = decode_rank(&d, &in);
        else if (msgpack_skip(&in) < 0)
            rc = damaged(&d);
        unknown->fields += place > 2;
    }
    return rc == 0 && in.at != in.end ? damaged(&d) : rc;
}
