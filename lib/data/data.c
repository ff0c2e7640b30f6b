/* Contents of objects: tiers fill their buffers here before a write and check them after a read.
 * This file makes and checks the headers of blocks; the streams between them come from the
 * instruction set in use (stream.h). */
#include "lib/data/data.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>

#include "lib/base/clock.h"
#include "lib/data/stream.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "blocks are little-endian");
_Static_assert(DATA_BODY_BLOCK == DATA_BLOCK, "one block size");

#define MAGIC    "KVTRACE1"
#define PREFETCH 8 /* blocks ahead: headers are further apart than hardware prefetches */

/* Fills from this length on go past the caches. A device reads the buffer next, and its pool is far
 * larger than a core's cache, so a cached store would only fetch the old bytes from memory first
 * (over 64 MiB: 10 GB/s cached, 22 GB/s past the caches). */
#define PAST_CACHES ((size_t)256 << 10)

/* The parts of a shape: where the stream ends (0: with the block), and how many blocks are alike,
 * in sixteenths of a block (0: none). */
#define SHAPE_SHIFT     40
#define SHAPE_DEDUP     0xfffu
#define SHAPE_DEDUP_ONE 16u
#define SHAPE_CUT_SHIFT 12
/* zstd -3 compresses a header by so many bytes, because key, magic and most of the index repeat,
 * less the bytes for the run of zeros. */
#define SHAPE_OVERHEAD 35

/* The first bytes of a block, as in memory. */
struct header {
    char magic[8];
    uint64_t key_lo, key_hi, generation, index;
    uint64_t checksum; /* of the bytes before it */
};
_Static_assert(sizeof(struct header) == DATA_BODY_HEADER && DATA_BODY_HEADER == DATA_HEADER,
               "no padding");

const uint64_t data_lane_words[DATA_STEP / 8] = {
    UINT64_C(0x5692161d100b05e5), UINT64_C(0xdbd238973a2b148a), UINT64_C(0x1e535eede31428f0),
    UINT64_C(0xb7a4712c74562914), UINT64_C(0xb6bf613dbebb45dc), UINT64_C(0xd17707977078336c),
    UINT64_C(0x12ae30237b17df14), UINT64_C(0xd56b1fbb9ceba9e8), UINT64_C(0x826c6abf7fdd5ad7),
    UINT64_C(0x075c8519a9320579), UINT64_C(0x3462d848f53abb6d), UINT64_C(0x37be58e8d7213bbc),
    UINT64_C(0xdcfa9555b5f881d1), UINT64_C(0x255c6046f62fbe29), UINT64_C(0x0392754934ea1539),
    UINT64_C(0xd9844bcecca4a8bd), UINT64_C(0x302b8631721c51be), UINT64_C(0xffcb5c99f6aa8871),
    UINT64_C(0xe34a1ed09841f857), UINT64_C(0x0eb90a3352640af2), UINT64_C(0xd633b1846faf2b49),
    UINT64_C(0xfd95fa4db404dd7b), UINT64_C(0x378a5760be593ca5), UINT64_C(0xd59eef30db86cab8),
    UINT64_C(0xd7a982c106d3fe38), UINT64_C(0xe8a33702fa0a06db), UINT64_C(0x32469675332a0efc),
    UINT64_C(0xdf890a4933721ba2), UINT64_C(0x4f7abb7627b74f52), UINT64_C(0x0724ea9269d42a72),
    UINT64_C(0x540f172e046ef165), UINT64_C(0xadfb1ebb497fad45),
};

/* ---- instruction sets ---- */

static const struct data_code code_portable = DATA_CODE("portable");

/* Best first. */
static const struct data_code *const codes[] = {
#if defined(__x86_64__)
    &data_code_avx512,
    &data_code_avx2,
#endif
    &code_portable,
};

static bool runs_here(const struct data_code *code)
{
#if defined(__x86_64__)
    if (code == &data_code_avx512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (code == &data_code_avx2)
        return __builtin_cpu_supports("avx2");
#endif
    return code == &code_portable;
}

/* Set by data_force_isa only. */
static _Atomic(const struct data_code *) forced;

static const struct data_code *code_in_use(void)
{
    const struct data_code *code = atomic_load_explicit(&forced, memory_order_acquire);
    size_t i = 0;

    if (code)
        return code;
    while (!runs_here(codes[i]))
        i++;
    return codes[i];
}

int data_force_isa(const char *isa)
{
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (strcmp(codes[i]->isa, isa) != 0 || !runs_here(codes[i]))
            continue;
        atomic_store_explicit(&forced, codes[i], memory_order_release);
        return 0;
    }
    return -ENOTSUP;
}

/* ---- headers ---- */

/* The index as it stands in a header: blocks that are alike share one, and the shape is above it.
 */
static uint64_t shaped_index(const struct data_id *id, uint64_t index)
{
    uint64_t sixteenths = id->shape & SHAPE_DEDUP;
    if (sixteenths > SHAPE_DEDUP_ONE)
        index = index * SHAPE_DEDUP_ONE / sixteenths;
    return index | (uint64_t)id->shape << SHAPE_SHIFT;
}

/* The checksum is a hash of the header and would do, but 64 bits collide among 2^32 blocks (16
 * TiB). The second word makes equal streams as unlikely as equal headers. */
static struct data_seed seed_of(const struct header *h)
{
    uint64_t where = h->index * UINT64_C(0x9e3779b97f4a7c15) + h->generation;
    return (struct data_seed){.a = h->checksum, .b = hash_mix(where ^ h->key_lo)};
}

static bool is_ours(const struct header *h)
{
    return memcmp(h->magic, MAGIC, sizeof(h->magic)) == 0 &&
           h->checksum == hash_64(h, offsetof(struct header, checksum));
}

/* 0, or the fault of a header that should belong to block index of id. */
static int header_fault(const struct header *h, const struct data_id *id, uint64_t index)
{
    if (!is_ours(h))
        return DATA_FAULT_HEADER;
    if (h->key_lo != id->key.lo || h->key_hi != id->key.hi)
        return DATA_FAULT_KEY;
    if (h->generation != id->generation)
        return DATA_FAULT_GENERATION;
    if (h->index != shaped_index(id, index))
        return DATA_FAULT_INDEX;
    return 0;
}

const char *data_fault_text(enum data_fault_kind kind)
{
    switch (kind) {
    case DATA_FAULT_HEADER:
        return "block header is damaged or not written by kvtrace";
    case DATA_FAULT_KEY:
        return "block belongs to another object";
    case DATA_FAULT_GENERATION:
        return "stale: block belongs to another write of this object";
    case DATA_FAULT_INDEX:
        return "block belongs elsewhere in this object";
    case DATA_FAULT_END:
        return "the object ends here: it was truncated after it was written";
    case DATA_FAULT_BODY:
    case DATA_FAULT_NONE:
        break;
    }
    return "block contents differ";
}

/* ---- shapes ---- */

int data_shape(double compress, double dedup, uint32_t *shape)
{
    uint32_t cut = 0, alike = 0;
    if (!(compress >= 1 && compress <= 64) || !(dedup >= 1 && dedup <= 255))
        return -ERANGE;
    if (compress > 1)
        cut = (uint32_t)((double)DATA_BLOCK / compress + SHAPE_OVERHEAD + 0.5);
    if (dedup > 1)
        alike = (uint32_t)(dedup * SHAPE_DEDUP_ONE + 0.5);
    *shape = (cut < DATA_BLOCK ? cut << SHAPE_CUT_SHIFT : 0) | alike;
    return 0;
}

/* Where the stream of a block ends; zeros follow. */
static uint32_t shape_cut(uint32_t shape)
{
    uint32_t cut = shape >> SHAPE_CUT_SHIFT;

    return cut ? cut : DATA_BLOCK;
}

/* ---- buffers ---- */

void data_fill(void *buf, size_t len, const struct data_id *id, uint64_t first_block)
{
    const struct data_code *code = code_in_use();
    bool past = len >= PAST_CACHES;
    void (*fill)(void *, const void *, struct data_seed) = past ? code->fill_past : code->fill;
    unsigned char *p = buf;
    uint32_t cut = shape_cut(id->shape);

    assert(len % DATA_BLOCK == 0 && (uintptr_t)buf % 64 == 0);
    for (size_t at = 0; at < len; at += DATA_BLOCK) {
        struct header h = {.key_lo = id->key.lo,
                           .key_hi = id->key.hi,
                           .generation = id->generation,
                           .index = shaped_index(id, first_block + at / DATA_BLOCK)};
        memcpy(h.magic, MAGIC, sizeof(h.magic));
        h.checksum = hash_64(&h, offsetof(struct header, checksum));
        fill(p + at, &h, seed_of(&h));
    }
#if defined(__x86_64__)
    /* Non-temporal stores are weakly ordered: the next owner must not see the buffer half done. */
    if (past)
        __builtin_ia32_sfence();
#endif
    for (size_t at = 0; cut < DATA_BLOCK && at < len; at += DATA_BLOCK)
        memset(p + at + cut, 0, DATA_BLOCK - cut);
}

static int report(struct data_fault *fault, int kind, uint64_t block, uint64_t offset_in_block)
{
    fault->kind = (enum data_fault_kind)kind;
    fault->block = block;
    fault->offset = block * DATA_BLOCK + offset_in_block;
    return -EBADMSG;
}

int data_check_headers(const void *buf, size_t len, const struct data_id *id, uint64_t first_block,
                       struct data_fault *fault)
{
    const unsigned char *p = buf;

    assert(len % DATA_BLOCK == 0);
    for (size_t at = 0; at < len; at += DATA_BLOCK) {
        uint64_t index = first_block + at / DATA_BLOCK;
        struct header h;
        if (at + PREFETCH * DATA_BLOCK < len)
            __builtin_prefetch(p + at + PREFETCH * DATA_BLOCK);
        memcpy(&h, p + at, sizeof(h));
        int kind = header_fault(&h, id, index);
        if (kind)
            return report(fault, kind, index, 0);
    }
    return 0;
}

/* The offset of the first wrong byte of a block whose header is right, 0 if there is none. */
static uint64_t body_fault(const struct data_code *code, const unsigned char *block,
                           const struct header *h, uint32_t cut)
{
    _Alignas(64) unsigned char want[DATA_BLOCK];
    size_t at = DATA_BODY_HEADER;

    /* The fast comparison knows whole streams only. */
    if (cut == DATA_BLOCK && code->matches(block, seed_of(h)))
        return 0;
    code->fill(want, h, seed_of(h));
    memset(want + cut, 0, DATA_BLOCK - cut);
    while (at < DATA_BLOCK && block[at] == want[at])
        at++;
    return at < DATA_BLOCK ? at : 0;
}

int data_check_full(const void *buf, size_t len, const struct data_id *id, uint64_t first_block,
                    struct data_fault *fault)
{
    const struct data_code *code = code_in_use();
    const unsigned char *p = buf;
    uint32_t cut = shape_cut(id->shape);

    assert(len % DATA_BLOCK == 0);
    for (size_t at = 0; at < len; at += DATA_BLOCK) {
        uint64_t index = first_block + at / DATA_BLOCK;
        struct header h;
        memcpy(&h, p + at, sizeof(h));
        int kind = header_fault(&h, id, index);
        if (kind)
            return report(fault, kind, index, 0);
        uint64_t wrong = body_fault(code, p + at, &h, cut);
        if (wrong)
            return report(fault, DATA_FAULT_BODY, index, wrong);
    }
    return 0;
}

int data_check_part(const void *buf, size_t len, const struct data_id *id, uint64_t block,
                    struct data_fault *fault)
{
    _Alignas(64) unsigned char want[DATA_BLOCK];
    const unsigned char *p = buf;
    struct header h;
    size_t at = 0;

    assert(len > 0 && len < DATA_BLOCK);
    if (len >= sizeof(h)) {
        memcpy(&h, p, sizeof(h));
        int kind = header_fault(&h, id, block);
        if (kind)
            return report(fault, kind, block, 0);
    }
    data_fill(want, sizeof(want), id, block);
    while (at < len && p[at] == want[at])
        at++;
    return at < len ? report(fault, DATA_FAULT_BODY, block, at) : 0;
}

int data_identify(const void *block, struct data_id *id, uint64_t *index)
{
    struct header h;

    memcpy(&h, block, sizeof(h));
    if (!is_ours(&h))
        return -EBADMSG;
    *id = (struct data_id){.key = {.lo = h.key_lo, .hi = h.key_hi},
                           .generation = h.generation,
                           .shape = (uint32_t)(h.index >> SHAPE_SHIFT)};
    *index = h.index & ((UINT64_C(1) << SHAPE_SHIFT) - 1);
    return 0;
}

uint64_t data_random_seed(void)
{
    uint64_t seed = 0;

    while (seed == 0 && getrandom(&seed, 6, 0) == 6)
        continue;
    return seed ? seed : (uint64_t)clock_wall_ns() >> 16; /* a kernel without random numbers */
}
