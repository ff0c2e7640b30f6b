/* Reads the trace files of LMCache: frames of u32 length (big endian) and MessagePack. Level
 * storage has the calls of its storage manager as they begin: no results, no durations; what was
 * written and read are rows in host memory. Level events has what was stored, read and deleted in
 * each tier, told once a second. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/record/bytes_in.h"
#include "kvgen/record/msgpack.h"
#include "kvgen/record/readers.h"
#include "lib/base/keymap.h"
#include "lib/base/units.h"

#define MAX_FRAME ((uint64_t)256 << 20)

enum level {
    LEVEL_UNKNOWN,
    LEVEL_STORAGE,
    LEVEL_EVENTS
};

struct lct {
    struct batch_reader base; /* first */
    struct bytes_in *in;
    const struct record_opts *o;
    enum level level;
    struct hash128 publisher;    /* storage: of all calls */
    struct keymap *sizes;        /* storage: bytes of each key, from reservations and prefetches */
    struct keymap *incarnations; /* events: the newest one of each instance */
};

static int damaged(struct err *e)
{
    return err_set(e, -EBADMSG, ERR_INPUT, "", "damaged: no frame of an LMCache trace");
}

/* ---- values, as they stand in a frame that was checked as a whole ---- */

/* A value that may be missing: then at is NULL. */
static struct msgpack member(struct msgpack map, const char *name)
{
    struct msgpack_value head, key;
    struct msgpack none = {0};
    size_t len = strlen(name);
    if (!map.at || msgpack_next(&map, &head) < 0 || head.type != MSGPACK_MAP)
        return none;
    for (uint32_t i = 0; i < head.count; i++) {
        /* A text of up to 31 bytes has its length in its first byte: nearly every name. */
        size_t left = (size_t)(map.end - map.at), short_len = left > 0 ? *map.at ^ 0xa0u : 32;
        if (short_len < 32) {
            bool same = short_len == len && left > len && memcmp(map.at + 1, name, len) == 0;
            if (msgpack_skip(&map) < 0)
                return none;
            if (same)
                return map;
            if (msgpack_skip(&map) < 0)
                return none;
            continue;
        }
        if (msgpack_next(&map, &key) < 0 || msgpack_skip_rest(&map, &key) < 0)
            return none;
        if (msgpack_is(&key, name))
            return map;
        if (msgpack_skip(&map) < 0)
            return none;
    }
    return none;
}

/* What {"__t__": tag, "v": value} wraps; a plain value as it is. */
static struct msgpack unwrap(struct msgpack v)
{
    return member(v, "__t__").at ? member(v, "v") : v;
}

/* The value itself; nil if it is missing. */
static struct msgpack_value scalar(struct msgpack v)
{
    struct msgpack_value out;
    if (!v.at || msgpack_next(&v, &out) < 0)
        return (struct msgpack_value){0};
    return out;
}

/* The elements of a list: their count, and v at the first. */
static uint32_t list(struct msgpack *v)
{
    struct msgpack_value head;
    *v = unwrap(*v);
    if (!v->at || msgpack_next(v, &head) < 0 || head.type != MSGPACK_ARRAY)
        return 0;
    return head.count;
}

/* An object's name: all members of its key, in any order. */
static struct hash128 key_hash(const struct lct *l, struct msgpack key)
{
    struct msgpack_value head;
    struct hash128 sum = {0};
    key = unwrap(key);
    if (!key.at || msgpack_next(&key, &head) < 0)
        return sum;
    for (uint32_t i = 0; head.type == MSGPACK_MAP && i < head.count; i++) {
        const unsigned char *from = key.at;
        if (msgpack_skip(&key) < 0 || msgpack_skip(&key) < 0)
            break;
        struct hash128 h = hash_128(from, (size_t)(key.at - from));
        sum.lo += h.lo;
        sum.hi += h.hi;
    }
    return names_hash(&l->o->names, &sum, sizeof(sum));
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
static uint64_t layout_bytes(struct msgpack layout)
{
    struct msgpack shapes, types;
    uint64_t sum = 0;
    layout = unwrap(layout);
    shapes = member(layout, "shapes");
    types = member(layout, "dtypes");
    uint32_t n = list(&shapes), m = list(&types);
    for (uint32_t i = 0; i < n && i < m; i++) {
        struct msgpack shape = shapes;
        struct msgpack_value type = scalar(unwrap(types));
        uint64_t bytes = element_bytes(&type);
        for (uint32_t k = list(&shape); k > 0; k--) {
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
    for (uint32_t n = list(&keys); n > 0; n--) {
        uint64_t *size = keymap_get(l->sizes, key_hash(l, keys), 0);
        if (!size)
            return -ENOMEM;
        if (bytes > 0)
            *size = bytes;
        if (msgpack_skip(&keys) < 0)
            break;
    }
    return 0;
}

/* Adds an event for each key. */
static int use(struct lct *l, struct msgpack keys, enum event_kind kind, struct batch *b)
{
    for (uint32_t n = list(&keys); n > 0; n--) {
        struct hash128 key = key_hash(l, keys);
        const uint64_t *size = keymap_find(l->sizes, key);
        struct event *v = batch_add(b, kind);
        if (!v)
            return -ENOMEM;
        v->medium = (uint8_t)media_find(&l->o->media, "CPU", 3);
        v->bytes = size ? *size : 0;
        v->rewrites = true; /* calls tell of no deletion, so each one wrote */
        if (batch_add_block(b, key) < 0)
            return -ENOMEM;
        if (msgpack_skip(&keys) < 0)
            break;
    }
    return 0;
}

static bool ends(const struct msgpack_value *name, const char *with)
{
    size_t n = strlen(with);
    return name->type == MSGPACK_TEXT && name->len >= n &&
           memcmp(name->text + name->len - n, with, n) == 0;
}

static int read_call(struct lct *l, struct msgpack record, const struct msgpack_value *name,
                     struct batch *b)
{
    struct msgpack args = member(record, "args"), keys = member(args, "keys");
    double t;
    struct msgpack_value wall = scalar(member(record, "t_wall"));
    if (msgpack_number(&wall, &t) && t > 0 && t < 4e9)
        b->time_ns = (int64_t)(t * 1e6 + 0.5) * 1000;
    b->publisher = l->publisher;
    if (ends(name, ".reserve_write"))
        return remember(l, keys, layout_bytes(member(args, "layout_desc")));
    if (ends(name, ".finish_write"))
        return use(l, keys, EVENT_STORED, b);
    if (ends(name, ".read_prefetched_results.__enter__"))
        return use(l, keys, EVENT_READ, b);
    if (ends(name, ".submit_prefetch_task")) {
        struct msgpack groups = member(unwrap(member(args, "spec")), "key_groups");
        int rc = 0;
        for (uint32_t n = list(&groups); rc == 0 && n > 0; n--) {
            struct msgpack group = unwrap(groups);
            rc = remember(l, member(group, "keys"), layout_bytes(member(group, "layout_desc")));
            if (msgpack_skip(&groups) < 0)
                break;
        }
        return rc;
    }
    if (!ends(name, ".__exit__") && !ends(name, ".finish_read_prefetched"))
        batch_unknown_event(&l->base.unknown, name->text ? name->text : "", name->len);
    return 0;
}

/* ---- level events ---- */

static int add_entries(struct lct *l, struct msgpack args, enum event_kind kind, uint8_t medium,
                       struct batch *b)
{
    struct msgpack entries = member(args, "entries");
    for (uint32_t n = list(&entries); n > 0; n--) {
        struct msgpack_value size = scalar(member(entries, "size_bytes"));
        struct event *v = batch_add(b, kind);
        if (!v || batch_add_block(b, key_hash(l, member(entries, "key"))) < 0)
            return -ENOMEM;
        v->medium = medium;
        v->bytes = size.type == MSGPACK_WHOLE && !size.negative ? size.bits : 0;
        if (msgpack_skip(&entries) < 0)
            break;
    }
    return 0;
}

/* The server was restarted if its incarnation is higher than before. */
static int see_incarnation(struct lct *l, struct msgpack args, struct batch *b)
{
    struct msgpack_value instance = scalar(member(args, "instance_id"));
    struct msgpack_value incarnation = scalar(member(args, "incarnation"));
    b->publisher = publisher_of(l->o, 0, instance.text ? instance.text : "", instance.len);
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

static int read_event(struct lct *l, struct msgpack record, const struct msgpack_value *name,
                      struct batch *b)
{
    static const struct {
        const char *name;
        enum event_kind kind;
    } kinds[] = {{"store", EVENT_STORED}, {"access", EVENT_READ}, {"delete", EVENT_REMOVED}};
    struct msgpack args = member(record, "args");
    struct msgpack_value type = scalar(member(args, "event_type"));
    struct msgpack_value tier = scalar(member(args, "tier"));
    struct msgpack_value seq = scalar(member(args, "seq")), ts = scalar(member(args, "ts"));
    const char *medium = msgpack_is(&tier, "l1") ? "CPU" : "DISK";
    double t;
    int rc = see_incarnation(l, args, b);
    if (rc < 0 || !ends(name, "events.batch"))
        return rc;
    if (msgpack_number(&ts, &t) && t > 0 && t < 4e9)
        b->time_ns = (int64_t)(t * 1e6 + 0.5) * 1000;
    b->numbered = seq.type == MSGPACK_WHOLE;
    b->seq = seq.bits;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (msgpack_is(&type, kinds[i].name))
            return add_entries(l, args, kinds[i].kind,
                               (uint8_t)media_find(&l->o->media, medium, strlen(medium)), b);
    if (!msgpack_is(&type, "config"))
        batch_unknown_event(&l->base.unknown, type.text ? type.text : "", type.len);
    return 0;
}

/* ---- frames ---- */

/* 1 and the next frame, checked as a whole; 0 at the end; negative errno. */
static int next_frame(struct lct *l, struct msgpack *frame, struct err *e)
{
    const unsigned char *p;
    int rc = bytes_in_take(l->in, 4, &p, e);
    if (rc <= 0)
        return rc;
    uint64_t len = bytes_in_number(p, 4);
    if (len == 0 || len > MAX_FRAME)
        return damaged(e);
    rc = bytes_in_need(l->in, len, &p, e);
    if (rc < 0)
        return rc;
    *frame = (struct msgpack){p, p + len};
    struct msgpack whole = *frame;
    return msgpack_skip(&whole) < 0 || whole.at != whole.end ? damaged(e) : 1;
}

static int read_header(struct lct *l, struct err *e)
{
    struct msgpack frame;
    int rc = next_frame(l, &frame, e);
    if (rc <= 0)
        return rc;
    struct msgpack_value magic = scalar(member(frame, "magic"));
    struct msgpack_value level = scalar(member(frame, "level"));
    struct msgpack_value version = scalar(member(frame, "format_version"));
    if (!msgpack_is(&magic, "LMCT"))
        return damaged(e);
    if (version.type != MSGPACK_WHOLE || version.bits != 1)
        return err_set(e, -EINVAL, ERR_INPUT, "", "format_version is not 1");
    l->level = msgpack_is(&level, "events") ? LEVEL_EVENTS : LEVEL_STORAGE;
    if (l->level == LEVEL_STORAGE && !msgpack_is(&level, "storage"))
        return err_set(e, -EINVAL, ERR_INPUT, "", "its level is neither storage nor events");
    l->base.unrecorded =
        l->level == LEVEL_EVENTS
            ? "times within a second: events are told once a second, so a replay at "
              "their times comes in bursts"
            : "results and durations of calls, and the tier below";
    return 1;
}

static int next(struct batch_reader *base, struct batch *b, struct err *e)
{
    struct lct *l = (struct lct *)base;
    struct msgpack record;
    int rc = l->level == LEVEL_UNKNOWN ? read_header(l, e) : 1;
    if (rc > 0)
        rc = next_frame(l, &record, e);
    if (rc <= 0)
        return rc;
    batch_clear(b);
    struct msgpack_value name = scalar(member(record, "qualname"));
    rc =
        l->level == LEVEL_EVENTS ? read_event(l, record, &name, b) : read_call(l, record, &name, b);
    return rc < 0 ? err_nomem(e, "objects") : 1;
}

static void close_lct(struct batch_reader *base)
{
    struct lct *l = (struct lct *)base;
    bytes_in_free(l->in);
    keymap_free(l->sizes);
    keymap_free(l->incarnations);
    free(l);
}

int lct_open(struct batch_reader **out, struct frame_in *file, const struct record_opts *o,
             struct err *e)
{
    static const struct batch_reader_ops ops = {.next = next, .close = close_lct};
    struct lct *l = calloc(1, sizeof(*l));
    if (!l)
        return err_nomem(e, "recording");
    l->base.ops = &ops;
    l->o = o;
    l->publisher = publisher_of(o, 0, "lct", 3);
    l->in = bytes_in_create(file);
    l->sizes = keymap_create();
    l->incarnations = keymap_create();
    if (!l->in || !l->sizes || !l->incarnations) {
        close_lct(&l->base);
        return err_nomem(e, "recording");
    }
    *out = &l->base;
    return 0;
}
