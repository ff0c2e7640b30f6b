/* Any JSON as a model's config.json: refused by name of the field, or a model whose bytes follow
 * the formula without overflow at any context that a trace can have, and whose weights have bits.
 */
#include <stdint.h>
#include <stdlib.h>

#include "lib/json/jsonin.h"
#include "lib/model/hf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_bits(uint32_t bits)
{
    return bits >= MODEL_BIT && bits <= 48 * MODEL_BIT; /* each with a scale and a zero point */
}

static void check(const struct model *m)
{
    uint64_t one = 0, many = 0, rank = 0;

    if (!is_bits(m->common_bits) || !is_bits(m->routed_bits) || !is_bits(m->head_bits))
        abort();
    if (m->layers == 0 || m->parts == 0 || m->state_layers > m->layers)
        abort();
    if (model_state_bytes(m) > 0 && m->state_layers == 0)
        abort();
    if ((m->windowed_layers > 0) != (m->window > 0))
        abort();
    if (model_bytes(m, 1, &one) < 0 || one == 0 || one != model_bytes_per_token(m))
        abort();
    if (model_bytes(m, 1000, &many) < 0 || many < one || many > one * 1000)
        abort();
    if (model_rank_bytes(m, 1000, false, &rank) < 0 || rank > many)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jsonin *d;
    struct model m;
    struct err e = {0};

    if (jsonin_parse(&d, (const char *)data, size, "text", &e) < 0)
        return 0;
    struct model_reading plain = {.beside = jsonin_root(d)};
    if (model_hf_parse(&m, jsonin_root(d), "text", &plain, &e) == 0) {
        check(&m);
    } else if (e.code == 0 || e.what[0] == '\0') {
        abort();
    } else {
        struct model_reading reading = {.force = true, .beside = jsonin_root(d)};
        if (model_hf_parse(&m, jsonin_root(d), "text", &reading, &e) == 0) {
            if (reading.assumed.count == 0)
                abort(); /* nothing was forced: it should have been taken at once */
            check(&m);
        }
    }
    jsonin_free(d);
    return 0;
}
