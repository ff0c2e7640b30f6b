/* Reads the trace files of LMCache: frames of u32 length (big endian) and MessagePack. Level
 * storage has the calls of its storage manager as they begin: no results, no durations; what was
 * written and read are rows in host memory. Level events has what was stored, read and deleted in
 * each tier, told once a second. */
#include <errno.h>
#include <string.h>

#include "kvgen/record/bytes_in.h"
#include "kvgen/record/msgpack.h"
#include "kvgen/record/readers.h"
#include "kvgen/record/same.h"
#include "lib/base/keymap.h"
#include "lib/base/units.h"

#define MAX_FRAME ((uint64_t)256 << 20)

enum level {
    LEVEL_UNKNOWN,
    LEVEL_STORAGE,
    LEVEL_EVENTS
};

/* The lists of members (below), for what struct lct remembers of each. */
enum list_id {
    LIST_HEADER,
    LIST_KEY,
    LIST_CALL,
    LIST_SPEC,
    LIST_GROUP,
    LIST_LAYOUT,
    LIST_EVENT,
    LIST_ENTRY,
    LIST_RECORD,
    LIST_WRAP,
    LISTS
};
enum {
    MEMBERS = 15 /* of a list at most */
};

/* The bytes around the hash of a chunk in a key. Keys that follow each other mostly differ in their
 * chunk only; with the same bytes around it a key has the same members. */
struct key_form {
    unsigned char head[96], rest[256];
    size_t head_len, chunk_len, rest_len; /* chunk_len is 0: none is known */
    bool hex;                             /* the chunk is its chunk_hash_hex */
    struct hash128 others;                /* sum of the members before the chunk */
};

struct lct {
    struct batch_reader base; /* first */
    enum level level;
    uint8_t memory, disk;     /* media of its tiers */
    struct hash128 publisher; /* storage: of all calls; events: of the instance named last */
    char instance[64];        /* its name, in the first instance_len bytes */
    size_t instance_len;
    struct keymap *sizes;        /* storage: bytes of each key, from reservations and prefetches */
    struct keymap *incarnations; /* events: the newest one of each instance */
    struct batch *batch;         /* of the frame that is being read */
    struct key_form form;        /* of the key before */
    bool has_key;                /* the entry that is being read has one: */
    struct hash128 key;
    /* The place of the member that came last behind each place, [0] the first member: maps of one
     * kind mostly have one order. */
    uint8_t next_place[LISTS][MEMBERS + 1];
};

static int damaged(struct err *e)
{
    return err_set(e, -EBADMSG, ERR_INPUT, "", "damaged: no frame of an LMCache trace");
}

/* ---- values, as they stand in a frame ---- */

/* The members that are known of a map. One of them may be a map whose members are taken with it:
 * their values follow those of the outer map. */
struct member_list {
    const struct name {
        const char *text;
        size_t len;
    } * name;
    unsigned count;
    enum list_id id;
    unsigned inner_at;
    const struct member_list *inner; /* NULL: none */
    unsigned used_at;
    /* Takes a member that is used as it is met, so that it is not walked twice; NULL: none is. 0,
     * or negative errno. */
    int (*use)(struct lct *l, struct msgpack *in);
};
#define NAME(s)                                                                                    \
    {                                                                                              \
        (s), sizeof(s) - 1                                                                         \
    }
#define COUNT(list) ((unsigned)(sizeof(list) / sizeof(*(list))))
#define NAMES(list_id, list)                                                                       \
    {                                                                                              \
        .name = (list), .count = COUNT(list), .id = (list_id)                                      \
    }

/* The places of the members that are used come first in each list. */
enum {
    HEADER_MAGIC,
    HEADER_LEVEL,
    HEADER_VERSION
};
static const struct name header_list[] = {NAME("magic"),
                                          NAME("level"),
                                          NAME("format_version"),
                                          NAME("type"),
                                          NAME("trace_schema_version"),
                                          NAME("lmcache_version"),
                                          NAME("t_mono_start"),
                                          NAME("t_wall_start"),
                                          NAME("sm_config_json"),
                                          NAME("sm_config_digest"),
                                          NAME("level_meta")};
static const struct member_list header_names = NAMES(LIST_HEADER, header_list);

/* All members of an object's key are its name. */
enum {
    KEY_CHUNK = 4,
    KEY_CHUNK_HEX
};
static const struct name key_list[] = {NAME("model_name"),      NAME("kv_rank"),
                                       NAME("object_group_id"), NAME("cache_salt"),
                                       NAME("chunk_hash"),      NAME("chunk_hash_hex")};
static const struct member_list key_names = NAMES(LIST_KEY, key_list);

enum {
    CALL_KEYS,
    CALL_LAYOUT,
    CALL_SPEC
};
static const struct name call_list[] = {
    NAME("keys"),    NAME("layout_desc"), NAME("spec"), NAME("external_request_id"),
    NAME("skip_l2"), NAME("read_locks"),  NAME("mode")};
static const struct member_list call_names = NAMES(LIST_CALL, call_list);

enum {
    SPEC_GROUPS
};
static const struct name spec_list[] = {NAME("key_groups"), NAME("num_kv_readers"),
                                        NAME("fetching_policy"), NAME("lock_mode")};
static const struct member_list spec_names = NAMES(LIST_SPEC, spec_list);

enum {
    GROUP_KEYS,
    GROUP_LAYOUT
};
static const struct name group_list[] = {NAME("keys"), NAME("layout_desc"), NAME("object_group_id"),
                                         NAME("sliding_window_size")};
static const struct member_list group_names = NAMES(LIST_GROUP, group_list);

enum {
    LAYOUT_SHAPES,
    LAYOUT_TYPES
};
static const struct name layout_list[] = {NAME("shapes"), NAME("dtypes")};
static const struct member_list layout_names = NAMES(LIST_LAYOUT, layout_list);

enum {
    EVENT_INSTANCE,
    EVENT_INCARNATION,
    EVENT_SEQ,
    EVENT_TYPE,
    EVENT_TIER,
    EVENT_TS,
    EVENT_ENTRIES
};
static const struct name event_list[] = {NAME("instance_id"),
                                         NAME("incarnation"),
                                         NAME("seq"),
                                         NAME("event_type"),
                                         NAME("tier"),
                                         NAME("ts"),
                                         NAME("entries"),
                                         NAME("backend"),
                                         NAME("shared"),
                                         NAME("capacity_bytes"),
                                         NAME("capacity_revision"),
                                         NAME("phase"),
                                         NAME("ip"),
                                         NAME("http_port"),
                                         NAME("mq_port")};
static int take_entries(struct lct *l, struct msgpack *in);
static const struct member_list event_names = {.name = event_list,
                                               .count = COUNT(event_list),
                                               .id = LIST_EVENT,
                                               .used_at = EVENT_ENTRIES,
                                               .use = take_entries};

enum {
    ENTRY_KEY,
    ENTRY_SIZE
};
static const struct name entry_list[] = {NAME("key"), NAME("size_bytes"), NAME("token_ids"),
                                         NAME("token_offset")};
static int take_entry_key(struct lct *l, struct msgpack *in);
static const struct member_list entry_names = {.name = entry_list,
                                               .count = COUNT(entry_list),
                                               .id = LIST_ENTRY,
                                               .used_at = ENTRY_KEY,
                                               .use = take_entry_key};

enum {
    RECORD_ARGS,
    RECORD_QUALNAME,
    RECORD_WALL
};
static const struct name record_list[] = {NAME("args"), NAME("qualname"), NAME("t_wall"),
                                          NAME("type"), NAME("t_mono")};
static const struct member_list record_names[] = {[LEVEL_STORAGE] = {.name = record_list,
                                                                     .count = COUNT(record_list),
                                                                     .id = LIST_RECORD,
                                                                     .inner_at = RECORD_ARGS,
                                                                     .inner = &call_names},
                                                  [LEVEL_EVENTS] = {.name = record_list,
                                                                    .count = COUNT(record_list),
                                                                    .id = LIST_RECORD,
                                                                    .inner_at = RECORD_ARGS,
                                                                    .inner = &event_names}};

/* The place of a name in a list, or its count. *expected: where it was the last time. */
static inline unsigned find_name(const struct member_list *names, uint8_t *expected,
                                 const char *text, size_t len)
{
    unsigned at = *expected;
    if (names->name[at].len != len || !same(names->name[at].text, text, len))
        for (at = 0; at < names->count; at++)
            if (names->name[at].len == len && same(names->name[at].text, text, len))
                break;
    if (at < names->count)
        *expected = (uint8_t)at;
    return at;
}

/* Takes the name of a member: type, text and len are set. 0 or -EBADMSG. */
static inline int take_name(struct msgpack *in, struct msgpack_value *name)
{
    /* A text of up to 31 bytes has its length in its first byte: nearly every name. */
    size_t left = (size_t)(in->end - in->at), n = left > 0 ? *in->at ^ 0xa0u : 32;
    if (n < 32 && n < left) {
        name->type = MSGPACK_TEXT;
        name->text = (const char *)in->at + 1;
        name->len = (uint32_t)n;
        in->at += 1 + n;
        return 0;
    }
    int rc = msgpack_next(in, name);
    return rc < 0 ? rc : msgpack_skip_rest(in, name);
}

/* A map of those members that may wrap another one, and the members seen so far. */
struct wrapping {
    const struct member_list *names;
    bool may_be, has_tag;
    struct msgpack inside; /* at is NULL: it did not come before the tag */
};

static int take_map(struct lct *l, struct msgpack *in, const struct member_list *names,
                    bool may_wrap, struct msgpack *out);

/* Takes the value of a member that is not in the list: it wraps a map, or is counted. */
static int take_other(struct lct *l, struct msgpack *in, const struct msgpack_value *name,
                      struct wrapping *w, struct msgpack *out)
{
    struct msgpack value = *in;
    bool inside = w->may_be && msgpack_is(name, "v");
    int rc = inside && w->has_tag ? take_map(l, in, w->names, false, out) : msgpack_skip(in);
    if (rc < 0)
        return rc;
    if (inside)
        w->inside = w->has_tag ? w->inside : (struct msgpack){value.at, in->at};
    else if (w->may_be && msgpack_is(name, "__t__"))
        w->has_tag = true;
    else
        l->base.unknown.fields++;
    return 0;
}

/* Takes the head of a map, or another value as a map without members. Most maps are small. */
static inline int take_map_head(struct msgpack *in, uint32_t *count)
{
    struct msgpack_value head;
    size_t left = (size_t)(in->end - in->at);
    *count = left > 0 ? *in->at ^ 0x80u : 16;
    if (*count < 16) {
        in->at++;
        return 0;
    }
    int rc = msgpack_next(in, &head);
    *count = rc == 0 && head.type == MSGPACK_MAP ? head.count : 0;
    return rc < 0 || head.type == MSGPACK_MAP ? rc : msgpack_skip_rest(in, &head);
}

/* Takes a map: the values of its members by their places in the list, each with its end; at is NULL
 * where one is missing. Members that are not in the list are counted. What {"__t__": tag, "v": map}
 * wraps is taken as the map. *in is then behind it. 0 or -EBADMSG.
 * Recursion: a wrapped map in a map in the maps of the lists, no deeper. */
static int take_map(struct lct *l, struct msgpack *in, const struct member_list *names,
                    bool may_wrap, struct msgpack *out)
{
    struct wrapping w = {.names = names, .may_be = may_wrap};
    uint8_t *next_place = l->next_place[names->id], *expected = next_place;
    uint32_t count;
    int rc = take_map_head(in, &count);
    if (rc < 0)
        return rc;
    for (; count > 0; count--) {
        struct msgpack_value name;
        rc = take_name(in, &name);
        if (rc < 0)
            return rc;
        unsigned at = find_name(names, expected, name.text, name.len);
        const unsigned char *value = in->at;
        if (at == names->count)
            rc = take_other(l, in, &name, &w, out);
        else if (at == names->inner_at && names->inner)
            rc = take_map(l, in, names->inner, true, out + names->count);
        else if (at == names->used_at && names->use)
            rc = names->use(l, in);
        else
            rc = msgpack_skip(in);
        if (rc < 0)
            return rc;
        if (at < names->count) {
            out[at].at = value; /* one by one: as a pair they go through the stack */
            out[at].end = in->at;
            expected = next_place + 1 + at;
        }
    }
    return w.has_tag && w.inside.at ? take_map(l, &w.inside, names, false, out) : 0;
}

/* The same from nothing: 0 or -EBADMSG. */
static int take_members(struct lct *l, struct msgpack *in, const struct member_list *names,
                        struct msgpack *out)
{
    memset(out, 0, (names->count + (names->inner ? names->inner->count : 0)) * sizeof(*out));
    return in->at ? take_map(l, in, names, true, out) : -EBADMSG;
}

/* The value itself; nil if it is missing. Most are short texts, and need no call. */
static inline struct msgpack_value scalar(struct msgpack v)
{
    struct msgpack_value out = {0};
    size_t left = v.at ? (size_t)(v.end - v.at) : 0;
    size_t head = left > 1 && *v.at == 0xd9 ? 2 : 1;
    size_t len = left > 0 && (*v.at & 0xe0) == 0xa0 ? *v.at & 31u : head == 2 ? v.at[1] : left;
    if (head + len <= left) {
        out.type = MSGPACK_TEXT;
        out.text = (const char *)v.at + head;
        out.len = (uint32_t)len;
    } else if (left == 0 || msgpack_next(&v, &out) < 0) {
        out = (struct msgpack_value){0};
    }
    return out;
}

/* The value in {"__t__": tag, "v": value}; another value as it is. */
static struct msgpack unwrap(struct lct *l, struct msgpack v)
{
    static const struct name list[] = {NAME("v"), NAME("__t__")};
    static const struct member_list names = NAMES(LIST_WRAP, list);
    struct msgpack out[COUNT(list)], in = v;
    if (scalar(v).type != MSGPACK_MAP)
        return v;
    take_members(l, &in, &names, out);
    return out[1].at && out[0].at ? out[0] : v;
}

/* The elements of a list: their count, and v at the first. */
static uint32_t list(struct lct *l, struct msgpack *v)
{
    struct msgpack_value head;
    *v = unwrap(l, *v);
    if (!v->at || msgpack_next(v, &head) < 0 || head.type != MSGPACK_ARRAY)
        return 0;
    return head.count;
}

/* Adds a member to the sum of a key. */
static inline void add_member(struct hash128 *sum, struct hash128 h)
{
    sum->lo = hash_mix(sum->lo) + h.lo;
    sum->hi = hash_mix(sum->hi) + h.hi;
}

static inline struct hash128 add_chunk(const struct lct *l, struct hash128 sum, bool hex,
                                       struct hash128 chunk)
{
    const struct hash128 none = {0};
    add_member(&sum, hex ? none : chunk);
    add_member(&sum, hex ? chunk : none);
    return names_hash(&l->base.o->names, &sum, sizeof(sum));
}

/* An object's name, by the members of its key; *others: the sum of those before the chunk. */
static struct hash128 key_hash(const struct lct *l, const struct msgpack *member,
                               struct hash128 *others)
{
    struct hash128 sum = {0};
    for (unsigned i = 0; i < COUNT(key_list); i++) {
        struct msgpack_value v = scalar(member[i]);
        if (i == KEY_CHUNK)
            *others = sum;
        add_member(&sum, v.text ? hash_128(v.text, v.len) : (struct hash128){.lo = v.bits});
    }
    return names_hash(&l->base.o->names, &sum, sizeof(sum));
}

/* Remembers what surrounds the chunk of the key in [begin, end), unless it is too long. */
static void learn_form(struct key_form *f, const unsigned char *begin, const unsigned char *end,
                       const struct msgpack *member)
{
    f->hex = !member[KEY_CHUNK].at;
    struct msgpack_value chunk = scalar(member[f->hex ? KEY_CHUNK_HEX : KEY_CHUNK]);
    const unsigned char *text = (const unsigned char *)chunk.text;
    if (!text || (!f->hex && member[KEY_CHUNK_HEX].at))
        return;
    f->head_len = (size_t)(text - begin);
    f->rest_len = (size_t)(end - text) - chunk.len;
    if (f->head_len > sizeof(f->head) || f->rest_len > sizeof(f->rest))
        return;
    memcpy(f->head, begin, f->head_len);
    memcpy(f->rest, text + chunk.len, f->rest_len);
    f->chunk_len = chunk.len;
}

/* Takes a key. 0 or -EBADMSG. */
static int take_key(struct lct *l, struct msgpack *in, struct hash128 *key)
{
    struct key_form *f = &l->form;
    const unsigned char *begin = in->at;
    size_t before_rest = f->head_len + f->chunk_len;
    if (f->chunk_len > 0 && begin && (size_t)(in->end - begin) >= before_rest + f->rest_len &&
        memcmp(begin, f->head, f->head_len) == 0 &&
        memcmp(begin + before_rest, f->rest, f->rest_len) == 0) {
        *key = add_chunk(l, f->others, f->hex, hash_128(begin + f->head_len, f->chunk_len));
        in->at += before_rest + f->rest_len;
        return 0;
    }
    struct msgpack member[COUNT(key_list)];
    uint64_t unknown = l->base.unknown.fields;
    int rc = take_members(l, in, &key_names, member);
    *key = key_hash(l, member, &f->others);
    f->chunk_len = 0;
    if (rc == 0 && l->base.unknown.fields == unknown) /* which would be counted again */
        learn_form(f, begin, in->at, member);
    return rc;
}

static int take_entry_key(struct lct *l, struct msgpack *in)
{
    l->has_key = true;
    return take_key(l, in, &l->key);
}

/* ---- level storage ---- */

/* Bytes of an element by the end of its type's name: bfloat16, uint8, float8_e4m3fn. */
static uint64_t element_bytes(const struct msgpack_value *type)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } types[] = {{"64", 8},     {"32", 4}, {"16", 2},  {"half", 2},
                 {"double", 8}, {"8", 1},  {"bool", 1}};
    for (size_t i = 0; type->text && i < sizeof(types) / sizeof(*types); i++)
        if (memmem(type->text, type->len, types[i].text, strlen(types[i].text)))
            return types[i].bytes;
    return 0;
}

/* Bytes of an object: shapes and types of its tensors; 0: not known. */
static uint64_t layout_bytes(struct lct *l, struct msgpack layout)
{
    struct msgpack in[COUNT(layout_list)];
    uint64_t sum = 0;
    take_members(l, &layout, &layout_names, in);
    struct msgpack shapes = in[LAYOUT_SHAPES], types = in[LAYOUT_TYPES];
    uint32_t n = list(l, &shapes), m = list(l, &types);
    for (uint32_t i = 0; i < n && i < m; i++) {
        struct msgpack shape = shapes;
        struct msgpack_value type = scalar(unwrap(l, types));
        uint64_t bytes = element_bytes(&type);
        for (uint32_t k = list(l, &shape); k > 0; k--) {
            struct msgpack_value size;
            if (msgpack_next(&shape, &size) < 0 || size.type != MSGPACK_WHOLE || size.negative ||
                units_mul(bytes, size.bits, &bytes) < 0)
                return 0;
        }
        if (__builtin_add_overflow(sum, bytes, &sum) || msgpack_skip(&shapes) < 0 ||
            msgpack_skip(&types) < 0)
            return 0;
    }
    return sum;
}

/* Remembers the size of keys. 0 or -ENOMEM. */
static int remember(struct lct *l, struct msgpack keys, uint64_t bytes)
{
    struct hash128 key;
    for (uint32_t n = list(l, &keys); n > 0 && take_key(l, &keys, &key) == 0; n--) {
        uint64_t *size = keymap_get(l->sizes, key, 0);
        if (!size)
            return -ENOMEM;
        if (bytes > 0)
            *size = bytes;
    }
    return 0;
}

/* Adds an event for each key. */
static int use(struct lct *l, struct msgpack keys, enum event_kind kind, struct batch *b)
{
    struct hash128 key;
    for (uint32_t n = list(l, &keys); n > 0 && take_key(l, &keys, &key) == 0; n--) {
        const uint64_t *size = keymap_find(l->sizes, key);
        struct event *v = batch_add(b, kind);
        if (!v)
            return -ENOMEM;
        v->medium = l->memory;
        v->bytes = size ? *size : 0;
        v->rewrites = true; /* calls tell of no deletion, so each one wrote */
        if (batch_add_block(b, key) < 0)
            return -ENOMEM;
    }
    return 0;
}

static bool ends(const struct msgpack_value *name, const char *with)
{
    size_t n = strlen(with);
    return name->type == MSGPACK_TEXT && name->len >= n &&
           memcmp(name->text + name->len - n, with, n) == 0;
}

/* Seconds since 1970, to the microsecond. */
static void read_time(const struct msgpack_value *v, struct batch *b)
{
    double t;
    if (msgpack_number(v, &t) && t > 0 && t < 4e9)
        b->time_ns = (int64_t)(t * 1e6 + 0.5) * 1000;
}

static int read_call(struct lct *l, const struct msgpack *record, const struct msgpack_value *name,
                     struct batch *b)
{
    const struct msgpack *args = record + COUNT(record_list);
    struct msgpack_value wall = scalar(record[RECORD_WALL]);
    struct msgpack spec = args[CALL_SPEC], in_spec[COUNT(spec_list)], group[COUNT(group_list)];
    int rc = 0;
    read_time(&wall, b);
    b->publisher = l->publisher;
    if (ends(name, ".reserve_write"))
        return remember(l, args[CALL_KEYS], layout_bytes(l, args[CALL_LAYOUT]));
    if (ends(name, ".finish_write"))
        return use(l, args[CALL_KEYS], EVENT_STORED, b);
    if (ends(name, ".read_prefetched_results.__enter__"))
        return use(l, args[CALL_KEYS], EVENT_READ, b);
    if (ends(name, ".submit_prefetch_task")) {
        take_members(l, &spec, &spec_names, in_spec);
        struct msgpack groups = in_spec[SPEC_GROUPS];
        for (uint32_t n = list(l, &groups);
             rc == 0 && n > 0 && take_members(l, &groups, &group_names, group) == 0; n--)
            rc = remember(l, group[GROUP_KEYS], layout_bytes(l, group[GROUP_LAYOUT]));
        return rc;
    }
    if (!ends(name, ".__exit__") && !ends(name, ".finish_read_prefetched"))
        batch_unknown_event(&l->base.unknown, name->text ? name->text : "", name->len);
    return 0;
}

/* ---- level events ---- */

/* Adds the entries of a message, whose kind and tier are set once all of it was read. */
static int take_entries(struct lct *l, struct msgpack *in)
{
    struct msgpack entry[COUNT(entry_list)], none[COUNT(key_list)] = {{0}};
    struct batch *b = l->batch;
    struct msgpack inner = *in, *at = in;
    int rc = 0;
    b->events = b->hashes = 0;
    if (scalar(*in).type != MSGPACK_ARRAY) {
        at = &inner;
        rc = msgpack_skip(in);
    }
    for (uint32_t n = rc == 0 ? list(l, at) : 0; n > 0; n--) {
        l->has_key = false;
        rc = take_members(l, at, &entry_names, entry);
        if (rc < 0)
            return rc;
        if (!l->has_key)
            l->key = key_hash(l, none, &l->key);
        struct msgpack_value size = scalar(entry[ENTRY_SIZE]);
        struct event *v = batch_add(b, EVENT_STORED);
        if (!v || batch_add_block(b, l->key) < 0)
            return -ENOMEM;
        v->bytes = size.type == MSGPACK_WHOLE && !size.negative ? size.bits : 0;
    }
    return rc;
}

/* The server was restarted if its incarnation is higher than before. */
static int see_incarnation(struct lct *l, const struct msgpack *args, struct batch *b)
{
    struct msgpack_value instance = scalar(args[EVENT_INSTANCE]);
    struct msgpack_value incarnation = scalar(args[EVENT_INCARNATION]);
    if (instance.len == 0 || instance.len != l->instance_len ||
        memcmp(instance.text, l->instance, instance.len) != 0) {
        const char *text = instance.text ? instance.text : "";
        l->publisher = names_publisher(&l->base.o->names, 0, text, instance.len);
        l->instance_len = instance.len <= sizeof(l->instance) ? instance.len : 0;
        memcpy(l->instance, text, l->instance_len);
    }
    b->publisher = l->publisher;
    if (incarnation.type != MSGPACK_WHOLE)
        return 0;
    uint64_t *newest = keymap_get(l->incarnations, b->publisher, incarnation.bits);
    if (!newest)
        return -ENOMEM;
    b->restarted = incarnation.bits > *newest;
    if (b->restarted)
        *newest = incarnation.bits;
    return 0;
}

static int read_event(struct lct *l, const struct msgpack *record, const struct msgpack_value *name,
                      struct batch *b)
{
    static const struct {
        const char *name;
        enum event_kind kind;
    } kinds[] = {{"store", EVENT_STORED}, {"access", EVENT_READ}, {"delete", EVENT_REMOVED}};
    const struct msgpack *args = record + COUNT(record_list);
    struct msgpack_value type = scalar(args[EVENT_TYPE]), tier = scalar(args[EVENT_TIER]);
    struct msgpack_value seq = scalar(args[EVENT_SEQ]), ts = scalar(args[EVENT_TS]);
    int rc = see_incarnation(l, args, b);
    if (rc < 0)
        return rc;
    if (!ends(name, "events.batch")) {
        b->events = 0;
        if (!ends(name, "events.lifecycle"))
            batch_unknown_event(&l->base.unknown, name->text ? name->text : "", name->len);
        return 0;
    }
    read_time(&ts, b);
    b->numbered = seq.type == MSGPACK_WHOLE;
    b->seq = seq.bits;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (msgpack_is(&type, kinds[i].name)) {
            uint8_t at = msgpack_is(&tier, "l1") ? l->memory : l->disk;
            for (size_t k = 0; k < b->events; k++) {
                b->event[k].kind = (uint8_t)kinds[i].kind;
                b->event[k].medium = at;
            }
            return 0;
        }
    b->events = 0;
    if (!msgpack_is(&type, "config"))
        batch_unknown_event(&l->base.unknown, type.text ? type.text : "", type.len);
    return 0;
}

/* ---- frames ---- */

/* 1 and the members of the next frame, which was taken whole; 0 at the end; negative errno. */
static int next_frame(struct lct *l, const struct member_list *names, struct msgpack *out,
                      struct err *e)
{
    const unsigned char *p;
    int rc = bytes_in_take(l->base.bytes, 4, &p, e);
    if (rc <= 0)
        return rc;
    uint64_t len = bytes_in_number(p, 4);
    if (len == 0 || len > MAX_FRAME)
        return damaged(e);
    rc = bytes_in_need(l->base.bytes, len, &p, e);
    if (rc < 0)
        return rc;
    struct msgpack frame = {p, p + len};
    rc = take_members(l, &frame, names, out);
    if (rc == -ENOMEM)
        return err_nomem(e, "objects");
    return rc < 0 || frame.at != frame.end ? damaged(e) : 1;
}

static int read_header(struct lct *l, struct err *e)
{
    struct msgpack header[COUNT(header_list)];
    int rc = next_frame(l, &header_names, header, e);
    if (rc <= 0)
        return rc;
    struct msgpack_value magic = scalar(header[HEADER_MAGIC]);
    struct msgpack_value level = scalar(header[HEADER_LEVEL]);
    struct msgpack_value version = scalar(header[HEADER_VERSION]);
    if (!msgpack_is(&magic, "LMCT"))
        return damaged(e);
    if (version.type != MSGPACK_WHOLE || version.bits != 1)
        return err_set(e, -EINVAL, ERR_INPUT, "", "format_version is not 1");
    l->level = msgpack_is(&level, "events") ? LEVEL_EVENTS : LEVEL_STORAGE;
    if (l->level == LEVEL_STORAGE && !msgpack_is(&level, "storage"))
        return err_set(e, -EINVAL, ERR_INPUT, "", "its level is neither storage nor events");
    l->base.unrecorded =
        l->level == LEVEL_EVENTS ? BATCH_UNRECORDED_EXACT_TIMES : BATCH_UNRECORDED_RESULTS;
    return 1;
}

static int next(struct batch_reader *base, struct batch *b, struct err *e)
{
    struct lct *l = (struct lct *)base;
    struct msgpack record[COUNT(record_list) + COUNT(event_list)]; /* and its arguments */
    int rc = l->level == LEVEL_UNKNOWN ? read_header(l, e) : 1;
    batch_clear(b);
    l->batch = b;
    if (rc > 0)
        rc = next_frame(l, &record_names[l->level], record, e);
    if (rc <= 0)
        return rc;
    struct msgpack_value name = scalar(record[RECORD_QUALNAME]);
    rc =
        l->level == LEVEL_EVENTS ? read_event(l, record, &name, b) : read_call(l, record, &name, b);
    return rc < 0 ? err_nomem(e, "objects") : 1;
}

static int begin(struct batch_reader *base, struct err *e)
{
    struct lct *l = (struct lct *)base;
    const struct record_opts *o = base->o;
    base->has_reads = true;
    l->memory = (uint8_t)media_find(&o->media, "CPU", 3);
    l->disk = (uint8_t)media_find(&o->media, "DISK", 4);
    l->publisher = names_publisher(&o->names, 0, "lct", 3);
    l->sizes = keymap_create();
    l->incarnations = keymap_create();
    return l->sizes && l->incarnations ? 0 : err_nomem(e, "recording");
}

static void close_lct(struct batch_reader *base)
{
    struct lct *l = (struct lct *)base;
    keymap_free(l->sizes);
    keymap_free(l->incarnations);
}

const struct batch_reader_ops lct_reader = {.bytes = sizeof(struct lct),
                                            .input = BATCH_BYTES,
                                            .begin = begin,
                                            .next = next,
                                            .close = close_lct};
