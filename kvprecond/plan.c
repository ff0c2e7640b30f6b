/* The arithmetic of a fill. Threads (fill.c) take unit numbers from one counter; this file turns a
 * number into a write, without any state. No two writes of a pass overlap, and a pass leaves
 * nothing out. */
#include "kvprecond/plan.h"

#include "lib/base/hash.h"

#define PLAN_FEISTEL_ROUNDS 4u

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* Units in the first bytes of the region. */
static uint64_t units_of(const struct plan *p, uint64_t bytes)
{
    const struct plan_opts *o = &p->o;

    if (o->mode == PLAN_KV)
        return ceil_div(bytes, o->object_bytes);
    return bytes / o->file_bytes * p->file_units + ceil_div(bytes % o->file_bytes, o->write_bytes);
}

void plan_init(struct plan *p, const struct plan_opts *o)
{
    unsigned bits = 0;

    *p = (struct plan){.o = *o, .writes_per_unit = 1};
    p->file_units = ceil_div(o->file_bytes, o->write_bytes);
    if (o->mode == PLAN_KV) {
        p->writes_per_unit = ceil_div(o->object_bytes, o->write_bytes);
        p->pass_units = o->region / o->object_bytes;
        p->units = units_of(p, o->volume);
        return;
    }
    p->pass_units = units_of(p, o->region);
    p->units = o->volume / o->region * p->pass_units + units_of(p, o->volume % o->region);
    while (bits < 64 && (p->pass_units - 1) >> bits != 0)
        bits++;
    p->half_bits = bits < 2 ? 1 : (bits + 1) / 2;
}

/* A permutation of [0, pass_units), another one for each pass: a Feistel network over the next even
 * number of bits, repeated until the result falls into the range (Black and Rogaway, "Ciphers with
 * arbitrary finite domains", 2002). The range is at least a quarter of its domain, so that takes
 * four steps on average, at most. */
static uint64_t permute(const struct plan *p, uint64_t pass, uint64_t x)
{
    const uint64_t mask = (UINT64_C(1) << p->half_bits) - 1;
    const uint64_t key = hash_mix(p->o.seed ^ hash_mix(pass + 1));

    do {
        uint64_t left = x >> p->half_bits, right = x & mask;

        for (unsigned round = 0; round < PLAN_FEISTEL_ROUNDS; round++) {
            uint64_t was = left;

            left = right;
            right = was ^ (hash_mix(right + key + round) & mask);
        }
        x = left << p->half_bits | right;
    } while (x >= p->pass_units);
    return x;
}

static struct data_id contents(const struct plan *p, uint64_t number, uint64_t pass)
{
    const uint64_t name[2] = {number, p->o.seed};

    return (struct data_id){.key = hash_128(name, sizeof(name)), .generation = pass};
}

static uint32_t at_most(uint64_t left, uint32_t max)
{
    return left < max ? (uint32_t)left : max;
}

struct plan_part plan_part(const struct plan *p, uint64_t unit, uint64_t at)
{
    const struct plan_opts *o = &p->o;
    const uint64_t pass = unit / p->pass_units;
    struct plan_part part = {.pass = pass, .last = true};
    uint64_t number = unit % p->pass_units;

    if (o->mode == PLAN_KV) {
        part.file = o->file_per_object ? number : 0;
        part.offset = at + (o->file_per_object ? 0 : number * o->object_bytes);
        part.len = at_most(o->object_bytes - at, o->write_bytes);
        part.last = at + part.len == o->object_bytes;
        part.id = contents(p, number, pass);
        part.first_block = at / DATA_BLOCK;
        return part;
    }
    if (o->mode == PLAN_RANDOM)
        number = permute(p, pass, number);
    part.file = number / p->file_units;
    part.offset = number % p->file_units * o->write_bytes;
    part.len = at_most(plan_file_bytes(p, part.file) - part.offset, o->write_bytes);
    part.id = contents(p, part.file, pass);
    part.first_block = part.offset / DATA_BLOCK;
    return part;
}

uint64_t plan_volume_bytes(const struct plan *p)
{
    const uint64_t passes = p->units / p->pass_units, rest = p->units % p->pass_units;

    if (p->o.mode == PLAN_KV)
        return p->units * p->o.object_bytes;
    /* Only a device has an incomplete pass, and a device is one file. */
    return passes * p->o.region + rest * p->o.write_bytes;
}

uint64_t plan_file_bytes(const struct plan *p, uint64_t file)
{
    uint64_t left;

    if (p->o.mode == PLAN_KV)
        return p->o.file_per_object ? p->o.object_bytes : p->o.region;
    left = p->o.region - file * p->o.file_bytes;
    return left < p->o.file_bytes ? left : p->o.file_bytes;
}

uint64_t plan_files(const struct plan *p)
{
    if (p->o.mode == PLAN_KV)
        return p->o.file_per_object ? p->pass_units : 1;
    return ceil_div(p->o.region, p->o.file_bytes);
}

uint64_t plan_pass_bytes(const struct plan *p)
{
    return p->o.mode == PLAN_KV ? p->pass_units * p->o.object_bytes : p->o.region;
}
