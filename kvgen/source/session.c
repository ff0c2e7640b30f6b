/* session.c - the JSON of a recorded agentic session into flat arrays. When its requests are asked
 * is decided in agentic.c. */
#include "kvgen/source/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/source/request.h"
#include "lib/json/jsonin.h"

#define MAX_BLOCK_TOKENS (INT64_C(1) << 20)
#define MAX_SECONDS      1e9

/* A session being read. */
struct reader {
    struct session *s;
    const char *where;
    struct err *err;
    uint64_t request; /* number of the one being read, from 1 */
};

/* Room for n more elements of size bytes behind count; 0 or -ENOMEM with the error set. */
static int grow(const struct reader *r, void **array, size_t *cap, size_t count, size_t n,
                size_t size)
{
    if (n <= *cap - count)
        return 0;
    size_t want = (count + n) * 2;
    void *grown = realloc(*array, want * size);
    if (!grown)
        return err_nomem(r->err, "session");
    *array = grown;
    *cap = want;
    return 0;
}

static int bad(const struct reader *r, const char *what)
{
    return err_set(r->err, -EINVAL, ERR_INPUT, r->where, "request %llu: %s",
                   (unsigned long long)r->request, what);
}

static int read_tokens(const struct reader *r, const struct jsonin_v *v, const char *name,
                       int64_t *tokens)
{
    char what[80];
    if (jsonin_i64(jsonin_get(v, name), tokens) == 0 && *tokens >= 0 &&
        *tokens <= REQUEST_MAX_TOKENS)
        return 0;
    snprintf(what, sizeof(what), "%s is not a number of tokens from 0 to 2^31", name);
    return bad(r, what);
}

/* Seconds, or fallback where they are missing. */
static int read_seconds(const struct reader *r, const struct jsonin_v *v, const char *name,
                        double fallback, double *s)
{
    char what[80];
    const struct jsonin_v *field = jsonin_get(v, name);
    *s = fallback;
    if (!field || (jsonin_f64(field, s) == 0 && *s >= -MAX_SECONDS && *s <= MAX_SECONDS))
        return 0;
    snprintf(what, sizeof(what), "%s is not a number of seconds", name);
    return bad(r, what);
}

/* Time before the request, from *end_s, the end of the one before, which becomes its own. */
static int read_times(const struct reader *r, const struct jsonin_v *v, double *end_s,
                      int64_t *think_ns)
{
    double t, took, think;
    int rc = read_seconds(r, v, "t", *end_s, &t);
    if (rc == 0)
        rc = read_seconds(r, v, "api_time", 0, &took);
    if (rc == 0)
        rc = read_seconds(r, v, "think_time", t - *end_s, &think);
    if (rc < 0)
        return rc;
    *end_s = t + took;
    *think_ns = think > 0 ? (int64_t)(think * 1e9 + 0.5) : 0;
    return 0;
}

static int read_ids(const struct reader *r, const struct jsonin_v *ids, struct session_entry *entry)
{
    struct session *s = r->s;
    size_t count = jsonin_count(ids);
    if (!ids)
        return bad(r, "no hash_ids");
    if (!jsonin_is_array(ids))
        return bad(r, "hash_ids is not a list");
    if (count > UINT32_MAX)
        return bad(r, "too many hash_ids");
    int rc = grow(r, (void **)&s->id, &s->ids_cap, s->ids, count, sizeof(*s->id));
    if (rc < 0)
        return rc;
    entry->first_id = s->ids;
    entry->ids = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        if (jsonin_u64(jsonin_at(ids, i), &s->id[s->ids++]) < 0)
            return bad(r, "hash_ids holds something that is not a number from 0 on");
    return 0;
}

static int read_request(struct reader *r, const struct jsonin_v *v, double *end_s,
                        struct session_entry *entry)
{
    *entry = (struct session_entry){0};
    r->request++;
    int rc = read_tokens(r, v, "in", &entry->context_tokens);
    if (rc == 0)
        rc = read_tokens(r, v, "out", &entry->generated_tokens);
    if (rc == 0)
        rc = read_times(r, v, end_s, &entry->think_ns);
    return rc == 0 ? read_ids(r, jsonin_get(v, "hash_ids"), entry) : rc;
}

static bool is_agent(const struct jsonin_v *v)
{
    const char *type = jsonin_text(jsonin_get(v, "type"), NULL);
    return type && strcmp(type, "subagent") == 0;
}

/* A thread's list, its sub-agents' behind it; as deep as the JSON, whose depth is bounded. */
static int read_thread(struct reader *r, const struct jsonin_v *list, uint32_t parent)
{
    struct session *s = r->s;
    size_t count = jsonin_count(list), first = s->entries;
    if (list && !jsonin_is_array(list))
        return bad(r, "requests is not a list");
    if (s->entries + count > UINT32_MAX / 2 || s->threads > UINT32_MAX / 2)
        return bad(r, "too many requests in one session");
    int rc = grow(r, (void **)&s->entry, &s->entries_cap, first, count, sizeof(*s->entry));
    if (rc == 0)
        rc = grow(r, (void **)&s->thread, &s->threads_cap, s->threads, 1, sizeof(*s->thread));
    if (rc < 0)
        return rc;
    uint32_t self = (uint32_t)s->threads++;
    s->thread[self] = (struct session_thread){
        .parent = parent, .first = (uint32_t)first, .end = (uint32_t)(first + count)};
    s->entries += count;
    double end_s = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        const struct jsonin_v *v = jsonin_at(list, i);
        struct session_entry entry = {.thread = (uint32_t)s->threads};
        rc = is_agent(v) ? read_thread(r, jsonin_get(v, "requests"), self)
                         : read_request(r, v, &end_s, &entry);
        s->entry[first + i] = entry; /* the array may have moved meanwhile */
    }
    return rc;
}

static int read_session(struct reader *r, const struct jsonin_v *root)
{
    int64_t tokens;
    if (!jsonin_get(root, "requests"))
        return err_set(r->err, -EINVAL, ERR_INPUT, r->where, "not an agentic session: no requests");
    if (jsonin_i64(jsonin_get(root, "block_size"), &tokens) < 0 || tokens < 1 ||
        tokens > MAX_BLOCK_TOKENS)
        return err_set(r->err, -EINVAL, ERR_INPUT, r->where,
                       "block_size is not a number of tokens from 1 to 2^20");
    const char *scope = jsonin_text(jsonin_get(root, "hash_id_scope"), NULL);
    if (scope && strcmp(scope, "local") != 0)
        return err_set(
            r->err, -EINVAL, ERR_INPUT, r->where,
            "hash_id_scope is \"%.20s\"; blocks are known by their session alone (local)", scope);
    r->s->block_tokens = (uint32_t)tokens;
    return read_thread(r, jsonin_get(root, "requests"), 0);
}

int session_read(struct session *s, const char *text, size_t len, const char *where, struct err *e)
{
    struct jsonin *d;
    struct reader r = {.s = s, .where = where, .err = e};
    s->ids = s->entries = s->threads = 0;
    int rc = jsonin_parse(&d, text, len, where, e);
    if (rc < 0)
        return rc;
    rc = read_session(&r, jsonin_root(d));
    jsonin_free(d);
    return rc;
}

void session_free(struct session *s)
{
    free(s->id);
    free(s->entry);
    free(s->thread);
    *s = (struct session){0};
}
