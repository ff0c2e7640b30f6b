/* Used by the reader and the survey: which rows of the trace run (--limit, --config loops, --config
 * only_users,
 * --only-tier), and which tier runs them (--tier-map). Both walk the trace and apply it row by row;
 * they count --limit and --config loops themselves. */
#include "kvreplay/sched/selection.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

static int parse_tier_digit(char c)
{
    return c >= '0' && c < '0' + TRACE_TIERS ? c - '0' : -1;
}

int selection_parse_tier(const char *text)
{
    return text[0] && text[1] == '=' ? parse_tier_digit(text[0]) : -1;
}

int selection_parse_map(struct selection *s, const struct opt_list *texts, struct err *e)
{
    for (size_t i = 0; i < texts->count; i++) {
        const char *text = texts->item[i];
        int from = selection_parse_tier(text), to = from < 0 ? -1 : parse_tier_digit(text[2]);
        if (to < 0 || text[3])
            return err_set(e, -EINVAL, ERR_INPUT, "--tier-map",
                           "%s: expected two of the tiers 0, 1 and 2, as 0=1", text);
        s->mapped[from] = (uint8_t)(to + 1);
    }
    return 0;
}

struct hash128 selection_copy(const struct selection *s, struct hash128 key, unsigned tier)
{
    bool mapped = selection_tier(s, tier) != tier;
    uint64_t salted[4] = {key.hi, key.lo, mapped ? tier : TRACE_TIERS, s->salt};
    if (s->salt)
        return hash_128(salted, sizeof(salted));
    return mapped ? hash_128(salted, 3 * sizeof(salted[0])) : key;
}

/* An open-addressed table, at most half full. Users beyond the limit are not noted. */
struct selection_users {
    uint64_t users, known;
    size_t mask;
    struct {
        struct hash128 id;
        bool taken;
    } cell[];
};

struct selection_users *selection_users_create(uint64_t users)
{
    size_t cells = 16;

    while (cells < users * 2)
        cells *= 2;
    struct selection_users *u = calloc(1, sizeof(*u) + cells * sizeof(u->cell[0]));
    if (!u)
        return NULL;
    u->users = users;
    u->mask = cells - 1;
    return u;
}

void selection_users_free(struct selection_users *u)
{
    free(u);
}

bool selection_has_user(struct selection_users *u, const struct trace_row *t)
{
    if (t->user.len == 0)
        return true;
    struct hash128 id = hash_128(t->user.p, t->user.len);
    size_t i = (size_t)id.lo & u->mask;
    for (; u->cell[i].taken; i = (i + 1) & u->mask) {
        if (hash128_equal(u->cell[i].id, id))
            return true;
    }
    if (u->known == u->users)
        return false;
    u->known++;
    u->cell[i].id = id;
    u->cell[i].taken = true;
    return true;
}
