/* Checks the fields of recorded JSON, stores their values, and words the error where one is wrong.
 * The table of each reader says which fields its format has. */
#include "kvgen/meaning/pick.h"

#include <errno.h>
#include <string.h>

#include "kvgen/meaning/block_size.h"
#include "lib/base/hash.h"

#define MAX_MS       (INT64_C(1) << 41) /* 2039 */
#define MAX_YEARS_NS 1e18               /* 31 of them */
#define WHOLE        "is not a whole number"

static const struct kind {
    const char *wants;
    int64_t least, most; /* of what becomes an int64_t */
} kinds[PICK_KINDS] = {
    [PICK_I64] = {WHOLE, INT64_MIN, INT64_MAX},
    [PICK_RANK] = {WHOLE, 0, UINT32_MAX},
    [PICK_TOKENS] = {"is not a number of tokens from 0 to 2^31", 0, REQUEST_MAX_TOKENS},
    [PICK_BLOCK_TOKENS] = {"is not a number of tokens from 1 to 2^20", 1, BLOCK_SIZE_MAX},
    [PICK_NS] = {"is not a time in nanoseconds", 0, INT64_MAX / 2},
    [PICK_MS] = {"is not a time in milliseconds", 0, MAX_MS},
    [PICK_U64] = {WHOLE, 0, 0},
    [PICK_BYTES] = {"is not a number of bytes", 0, 0},
    [PICK_U32] = {"is not a number of tokens", 0, 0},
    [PICK_HASH] = {"is not a hash of 32 hexadecimal digits", 0, 0},
    [PICK_HASH_64] = {"is not a hash of 16 hexadecimal digits", 0, 0}};

/* Reads a text of several numbers, each of 16 hexadecimal digits in lower case. */
static bool read_digits(const struct jsonin_v *v, size_t numbers, uint64_t *out)
{
    size_t len;
    const char *text = jsonin_text(v, &len);
    if (!text || len != 16 * numbers)
        return false;
    for (; numbers > 0; numbers--, out++) {
        *out = 0;
        for (int i = 0; i < 16; i++) {
            unsigned c = (unsigned char)*text++, d = c - '0';
            if (d > 9 && ((d = c - 'a' + 10) < 10 || d > 15))
                return false;
            *out = *out << 4 | d;
        }
    }
    return true;
}

const char *pick_delay(const struct jsonin_v *v, double unit_ns, int64_t *ns)
{
    double t = 0;
    if (jsonin_f64(v, &t) < 0 || !(t >= 0) || t * unit_ns > MAX_YEARS_NS)
        return "is not a time from 0 to 31 years";
    *ns = (int64_t)(t * unit_ns + 0.5);
    return NULL;
}

const char *pick_value(enum pick_as as, const struct jsonin_v *v, void *to)
{
    uint64_t bits[2];
    int64_t number;
    bool good;
    switch (as) {
    case PICK_BOOL:
        jsonin_bool(v, to);
        return NULL;
    case PICK_DELAY_US:
        return pick_delay(v, 1e3, to);
    case PICK_U64:
    case PICK_BYTES:
        good = jsonin_u64(v, to) == 0;
        break;
    case PICK_U32:
        good = jsonin_u64(v, bits) == 0 && bits[0] <= UINT32_MAX;
        if (good)
            *(uint32_t *)to = (uint32_t)bits[0];
        break;
    case PICK_HASH:
        good = read_digits(v, 2, bits);
        if (good)
            *(struct hash128 *)to = (struct hash128){.hi = bits[0], .lo = bits[1]};
        break;
    case PICK_HASH_64:
        good = read_digits(v, 1, to);
        break;
    default:
        good = jsonin_i64(v, &number) == 0 && number >= kinds[as].least && number <= kinds[as].most;
        if (good)
            *(int64_t *)to = number;
    }
    return good ? NULL : kinds[as].wants;
}

int pick(const struct pick *p, size_t n, const struct jsonin_v *v, void *to, struct pick_bad *bad)
{
    for (; n > 0; n--, p++) {
        const char *path = p->path;
        const struct jsonin_v *field = jsonin_get(v, path);
        if (!field && p->other && (field = jsonin_get(v, p->other)))
            path = p->other;
        bad->what = field || p->must ? pick_value(p->as, field, (char *)to + p->to) : NULL;
        if (bad->what) {
            const char *dot = strrchr(path, '.');
            bad->name = dot ? dot + 1 : path;
            return -EINVAL;
        }
    }
    return 0;
}
