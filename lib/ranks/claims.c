/* Before the targets are opened: each rank sends its claims to rank 0, which adds them up by place
 * and spreads the sums. A place is a file system of a host; that two hosts mount the same one over
 * a network is known only where they share a target. */
#include "lib/ranks/claims.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/ranks/part.h"

/* All claims to one place. */
struct sum {
    struct hash128 place;
    uint64_t bytes, targets;
};

static struct hash128 name_place(const struct ranks *r, bool shared, uint64_t place)
{
    struct {
        char host[PART_HOST_CAP];
        uint64_t place;
    } name = {.place = place};

    if (!shared)
        memcpy(name.host, ranks_host(r, ranks_rank(r)), strlen(ranks_host(r, ranks_rank(r))));
    return hash_128(&name, sizeof(name));
}

static uint64_t add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static struct sum *find(struct sum *s, uint64_t count, struct hash128 place)
{
    uint64_t i = 0;

    while (i < count && !hash128_equal(s[i].place, place))
        i++;
    return &s[i];
}

/* Rank 0: texts become sums, in place. Returns how many there are. */
static uint64_t add_up(struct sum *sums, const struct ranks *r, const char *texts,
                       const size_t *lens)
{
    uint64_t count = 0;

    for (unsigned k = 0; k < ranks_count(r); texts += lens[k] + 1, k++) {
        for (size_t at = 0; at + sizeof(struct sum) <= lens[k]; at += sizeof(struct sum)) {
            struct sum one;
            memcpy(&one, texts + at, sizeof(one));
            struct sum *s = find(sums, count, one.place);
            if (s == &sums[count]) {
                sums[count++] = one;
                continue;
            }
            s->bytes = add(s->bytes, one.bytes);
            s->targets += one.targets;
        }
    }
    return count;
}

int claims_compare(struct ranks *ranks, bool shared, const struct claim *own, unsigned count,
                   struct claim_others *others, struct err *e)
{
    struct sum *mine = calloc(count + 1, sizeof(*mine)), *sums = NULL;
    char *texts = NULL;
    size_t *lens = NULL;
    uint64_t n = 0;

    for (unsigned i = 0; mine && i < count; i++)
        mine[i] = (struct sum){
            .place = name_place(ranks, shared, own[i].place), .bytes = own[i].bytes, .targets = 1};
    int rc = ranks_agree(ranks, mine ? 0 : err_nomem(e, "ranks"), e);
    if (rc == 0)
        rc = ranks_gather(ranks, mine, count * sizeof(*mine), &texts, &lens, e);
    if (rc < 0) {
        free(mine);
        return rc;
    }
    if (ranks_rank(ranks) == 0) {
        for (unsigned i = 0; i < ranks_count(ranks); i++)
            n += lens[i] / sizeof(*sums);
        sums = calloc(n + 1, sizeof(*sums));
        rc = sums ? 0 : err_nomem(e, "ranks");
        n = sums ? add_up(sums, ranks, texts, lens) : 0;
    }
    free(texts);
    free(lens);
    rc = ranks_agree(ranks, rc, e);
    if (rc == 0)
        rc = ranks_spread(ranks, &n, sizeof(n), e);
    if (rc == 0 && ranks_rank(ranks) > 0 && !(sums = calloc(n + 1, sizeof(*sums))))
        rc = err_nomem(e, "ranks");
    rc = rc == -ETIMEDOUT ? rc : ranks_agree(ranks, rc, e);
    if (rc == 0 && n > 0)
        rc = ranks_spread(ranks, sums, n * sizeof(*sums), e);
    for (unsigned i = 0; rc == 0 && i < count; i++) {
        const struct sum *all = find(sums, n, mine[i].place);
        others[i] = (struct claim_others){.bytes = all->bytes, .targets = (unsigned)all->targets};
        for (unsigned k = 0; k < count; k++) {
            if (!hash128_equal(mine[k].place, mine[i].place))
                continue;
            others[i].bytes -= mine[k].bytes < others[i].bytes ? mine[k].bytes : others[i].bytes;
            others[i].targets--;
        }
    }
    free(sums);
    free(mine);
    return rc;
}
