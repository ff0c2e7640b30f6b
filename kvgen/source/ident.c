/* Identities of objects and the keys that belong to them. Sources name what a request needs, the
 * hierarchy compares identities, and the output asks here for the text. */
#include "kvgen/source/ident.h"

#include <string.h>

#include "lib/base/units.h"

#define NUMBER_BITS 44
#define NUMBER(lo)  ((lo) & ((UINT64_C(1) << NUMBER_BITS) - 1))

static struct ident make(enum ident_kind kind, uint32_t user, uint32_t turn, uint64_t lo)
{
    uint64_t hi = (uint64_t)kind << 60 | (uint64_t)user << 32 | turn;
    return (struct ident){.hi = hi, .lo = lo};
}

struct ident ident_block(uint64_t id)
{
    return make(IDENT_BLOCK, 0, 0, id);
}

struct ident ident_scoped_block(uint32_t scope, uint64_t id)
{
    return make(scope == 0 ? IDENT_BLOCK : IDENT_SCOPED_BLOCK, scope, 0, id);
}

struct ident ident_turn(uint32_t user, uint64_t start_ms, uint32_t turn)
{
    return make(IDENT_TURN, user, turn, start_ms);
}

struct ident ident_dataset_turn(uint64_t conversation, uint32_t turn)
{
    return make(IDENT_DATASET_TURN, 0, turn, conversation);
}

struct ident ident_other_turn(struct ident id, uint32_t turn)
{
    return (struct ident){.hi = (id.hi & ~(uint64_t)UINT32_MAX) | turn, .lo = id.lo};
}

struct ident ident_request(uint32_t user, uint64_t request)
{
    return make(IDENT_REQUEST, user, 0, request);
}

struct ident ident_system(uint32_t i)
{
    return make(IDENT_SYSTEM, 0, 0, i);
}

struct ident ident_text(uint64_t hash_hi, uint64_t hash_lo)
{
    uint64_t kind = (uint64_t)IDENT_TEXT << 60;
    return (struct ident){.hi = kind | (hash_hi & ((UINT64_C(1) << 60) - 1)), .lo = hash_lo};
}

struct ident ident_document(uint32_t document)
{
    return make(IDENT_DOCUMENT, document, 0, 0);
}

struct ident ident_chunk(uint32_t document, uint32_t chunk)
{
    return make(IDENT_CHUNK, document, chunk, 0);
}

struct ident ident_prepop(uint64_t i)
{
    return make(IDENT_PREPOP, 0, 0, i);
}

struct ident ident_chain(uint64_t hash, uint32_t in_group)
{
    return make(IDENT_CHAIN, in_group, 0, hash);
}

enum ident_kind ident_kind(struct ident id)
{
    return (enum ident_kind)(id.hi >> 60);
}

uint32_t ident_user(struct ident id)
{
    return (uint32_t)(id.hi >> 32) & (uint32_t)(IDENT_MAX_USERS - 1);
}

static char *put(char *p, const char *text, size_t len)
{
    memcpy(p, text, len);
    return p + len;
}

/* Documents are numbered with at least four digits. */
static char *put_document(char *p, struct ident id)
{
    p = put(p, "rag_doc_", 8);
    for (uint32_t least = 1000; least > 1 && ident_user(id) < least; least /= 10)
        *p++ = '0';
    return p + units_put_u64(p, ident_user(id));
}

struct ident ident_part(struct ident id, uint32_t i, bool last)
{
    uint64_t part = (uint64_t)(i + 1) << NUMBER_BITS | (uint64_t)last << 63;
    return (struct ident){.hi = id.hi, .lo = id.lo | part};
}

/* Blocks, chains and texts use all bits of lo for themselves. */
static bool has_parts(struct ident id)
{
    enum ident_kind kind = ident_kind(id);
    return kind != IDENT_BLOCK && kind != IDENT_SCOPED_BLOCK && kind != IDENT_CHAIN &&
           kind != IDENT_TEXT;
}

struct ident ident_whole(struct ident id)
{
    return has_parts(id) ? (struct ident){.hi = id.hi, .lo = NUMBER(id.lo)} : id;
}

uint32_t ident_parts(struct ident id)
{
    bool last = has_parts(id) && id.lo >> 63 != 0;
    return last ? (uint32_t)(id.lo >> NUMBER_BITS) & IDENT_MAX_PARTS : 0;
}

/* "<number>_turn_<n>" */
static char *put_turn(char *p, struct ident id)
{
    p += units_put_u64(p, NUMBER(id.lo));
    p = put(p, "_turn_", 6);
    return p + units_put_u64(p, (uint32_t)id.hi);
}

/* The key of an object that is not a block, without its part. */
static char *put_entry(char *p, struct ident id, const char *user, size_t user_len)
{
    switch (ident_kind(id)) {
    case IDENT_SYSTEM:
        p = put(p, "system_prompt_", 14);
        return p + units_put_u64(p, NUMBER(id.lo));
    case IDENT_DOCUMENT:
        return put_document(p, id);
    case IDENT_CHUNK:
        p = put(put_document(p, id), "_chunk_", 7);
        return p + units_put_u64(p, (uint32_t)id.hi);
    case IDENT_PREPOP:
        p = put(p, "prepop_", 7);
        return p + units_put_u64(p, NUMBER(id.lo));
    case IDENT_REQUEST:
        p = put(p, user, user_len);
        p = put(p, "_req_", 5);
        return p + units_put_u64(p, NUMBER(id.lo));
    case IDENT_DATASET_TURN:
        return put_turn(put(p, "conversation_", 13), id);
    default:
        p = put(p, "conv_", 5);
        p = put(p, user, user_len);
        return put_turn(put(p, "_", 1), id);
    }
}

size_t ident_key(struct ident id, const char *user, size_t user_len, char *buf)
{
    char *p = buf;
    if (ident_kind(id) == IDENT_SCOPED_BLOCK) {
        p = put(p, "session_", 8);
        p += units_put_u64(p, ident_user(id));
        p = put(p, "_", 1);
    }
    if (ident_kind(id) == IDENT_BLOCK || ident_kind(id) == IDENT_SCOPED_BLOCK) {
        p = put(p, "block_", 6);
        p += units_put_u64(p, id.lo);
        return (size_t)(p - buf);
    }
    if (ident_kind(id) == IDENT_CHAIN) {
        p = put(p, "chain_", 6);
        for (int shift = 60; shift >= 0; shift -= 4)
            *p++ = "0123456789abcdef"[id.lo >> shift & 15];
        if (ident_user(id) > 0) {
            p = put(p, "@g", 2);
            p += units_put_u64(p, ident_user(id) - 1);
        }
        return (size_t)(p - buf);
    }
    p = put_entry(buf, id, user, user_len);
    uint64_t part = id.lo >> NUMBER_BITS & (uint64_t)IDENT_MAX_PARTS;
    if (part > 0) {
        p = put(p, "/", 1);
        p += units_put_u64(p, part - 1);
    }
    return (size_t)(p - buf);
}

/* Takes "@<letter><number>", if that is next; false: the number is none below 2^32 - 1. */
static bool take_suffix(struct trace_str *key, char letter, uint32_t *n)
{
    uint64_t value = 0;
    uint32_t at = 2;
    if (key->len < 2 || key->p[0] != '@' || key->p[1] != letter)
        return true;
    while (at < key->len && key->p[at] >= '0' && key->p[at] <= '9' && value < UINT32_MAX)
        value = value * 10 + (uint64_t)(key->p[at++] - '0');
    if (at == 2 || value >= UINT32_MAX)
        return false;
    *n = (uint32_t)value;
    key->p += at;
    key->len -= at;
    return true;
}

bool ident_read_chain(struct trace_str key, uint64_t *hash, uint32_t *in_group, uint32_t *engine)
{
    uint32_t group = UINT32_MAX;
    if (key.len < 22 || memcmp(key.p, "chain_", 6) != 0)
        return false;
    *hash = 0;
    *engine = 0;
    for (int i = 6; i < 22; i++) {
        const char *digits = "0123456789abcdef", *digit = memchr(digits, key.p[i], 16);
        if (!digit)
            return false;
        *hash = *hash << 4 | (uint64_t)(digit - digits);
    }
    key.p += 22;
    key.len -= 22;
    if (!take_suffix(&key, 'g', &group) || !take_suffix(&key, 'e', engine))
        return false;
    *in_group = group + 1;
    return key.len == 0;
}
