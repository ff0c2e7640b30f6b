/* sharegpt.c - conversations of a dataset, streamed: of those that are held (lengths only,
 * no text) any one goes on with its next turn, and one that is over makes place for the next of the
 * file. Memory is that of the conversations held and the largest element. */
#include "kvgen/source/sharegpt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/rng.h"
#include "kvgen/source/request_draw.h"
#include "lib/base/units.h"
#include "lib/json/jsonin.h"

enum {
    MAX_ELEMENT = 64 << 20
};
#define DRAW_STREAM ((uint64_t)4 << 32) /* of the seed */
#define MAX_NS      ((double)(INT64_C(1) << 62))

struct turn {
    int64_t context, generated; /* tokens */
};
struct talk {
    uint64_t number; /* from 1 */
    struct turn *turn;
    size_t turns, next, cap;
    int64_t arrival_ns; /* in a dataset of arrivals */
};

struct sharegpt {
    struct source base;
    struct source_sharegpt_opts o;
    struct inputs *in;
    struct frame_in *file;
    struct jsonin_stream *stream;
    struct rng rng;
    struct talk *talk; /* talk[0..live) are under way; the others keep their memory */
    size_t live, talks_cap;
    bool ended, estimated;
    bool timed; /* a dataset of arrivals; known with the first element */
    struct pace pace;
    uint64_t cycles, cycle_talks, begun, issued;
    struct source_skips skips;
};

static struct sharegpt *sharegpt_of(struct source *s)
{
    return (struct sharegpt *)s;
}

/* ---- elements ---- */

static int64_t clamp(int64_t tokens, int64_t most)
{
    return tokens < 1 ? 1 : tokens > most ? most : tokens;
}

/* Code points of UTF-8 (which jsonin has checked) by chars_per_token. */
static int64_t tokens_of(const struct sharegpt *s, const char *text, size_t len)
{
    uint64_t points = 0;
    for (size_t i = 0; i < len; i++)
        points += ((unsigned char)text[i] & 0xC0) != 0x80;
    double tokens = (double)points / s->o.chars_per_token;
    return tokens > (double)REQUEST_MAX_TOKENS ? REQUEST_MAX_TOKENS : (int64_t)tokens;
}

static int add_turn(struct talk *t, int64_t context, int64_t generated)
{
    if (t->turns == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 8;
        struct turn *grown = realloc(t->turn, cap * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        t->turn = grown;
        t->cap = cap;
    }
    t->turn[t->turns++] = (struct turn){.context = context, .generated = generated};
    return 0;
}

static bool is_one_of(const char *word, const char *const list[])
{
    for (; word && *list; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

/* Each human text with the answer right behind it. */
static int read_texts(struct sharegpt *s, struct talk *t, const struct jsonin_v *list)
{
    static const char *const human[] = {"human", "user", NULL};
    static const char *const model[] = {"gpt", "assistant", "chatgpt", NULL};
    const struct workload *w = s->o.workload;
    int64_t asked = -1; /* tokens of a question that waits for its answer */
    for (size_t i = 0, n = jsonin_count(list); i < n; i++) {
        size_t len = 0;
        const struct jsonin_v *v = jsonin_at(list, i);
        const char *from = jsonin_text(jsonin_get(v, "from"), NULL);
        const char *text = jsonin_text(jsonin_get(v, "value"), &len);
        if (text && is_one_of(from, human)) {
            asked = clamp(tokens_of(s, text, len), w->dataset_max_context);
            continue;
        }
        if (text && asked >= 0 && is_one_of(from, model) &&
            add_turn(t, asked, clamp(tokens_of(s, text, len), w->dataset_max_generated)) < 0)
            return -ENOMEM;
        asked = -1;
    }
    s->estimated |= t->turns > 0;
    return 0;
}

static bool is_count(int64_t tokens)
{
    return tokens >= 0 && tokens <= REQUEST_MAX_TOKENS;
}

static int read_element(struct sharegpt *s, struct talk *t, const struct jsonin_v *v)
{
    int64_t context, generated;
    t->turns = t->next = 0;
    if (jsonin_i64(jsonin_get(v, "input_toks"), &context) == 0 &&
        jsonin_i64(jsonin_get(v, "output_toks"), &generated) == 0)
        return is_count(context) && is_count(generated) ? add_turn(t, context, generated) : 0;
    return read_texts(s, t, jsonin_get(v, "conversations"));
}

static int bad_element(const struct sharegpt *s, struct err *e, const char *what)
{
    char where[320];
    snprintf(where, sizeof(where), "%s:%llu", frame_in_name(s->file),
             (unsigned long long)jsonin_stream_line(s->stream));
    return err_set(e, -EINVAL, ERR_INPUT, where, "%s", what);
}

static int read_arrival(struct sharegpt *s, struct talk *t, const struct jsonin_v *v, struct err *e)
{
    int64_t ns;
    if (s->begun == 0)
        s->timed = s->o.request_rate == 0 && jsonin_get(v, "arrival_time_ns");
    if (!s->timed)
        return 0;
    if (jsonin_i64(jsonin_get(v, "arrival_time_ns"), &ns) < 0)
        return bad_element(s, e, "arrival_time_ns is not a whole number of ns");
    int rc = pace_row(&s->pace, ns, &t->arrival_ns);
    if (rc == -EINVAL)
        return bad_element(s, e, "arrival_time_ns goes back; requests must be in order of arrival");
    return rc < 0 ? bad_element(s, e, "arrival_time_ns lies outside virtual time (146 years)") : 0;
}

static void skip(struct sharegpt *s)
{
    if (s->skips.rows++ > 0)
        return;
    bad_element(
        s, &s->skips.first,
        "no turn: neither input_toks and output_toks nor a human text with an answer behind it");
}

/* ---- files ---- */

/* All files were read: 1 when they are to be read again. */
static int again(struct sharegpt *s, struct err *e)
{
    if (s->timed)
        return pace_again(&s->pace, inputs_path(s->in), e);
    s->cycles++;
    return s->cycles != s->o.pace.cycles && s->cycle_talks > 0;
}

/* 1: the next file, in the next cycle if it must be; 0 at the end; negative errno. */
static int next_file(struct sharegpt *s, struct err *e)
{
    int rc = inputs_next(s->in, &s->file, e);
    if (rc == 0) {
        rc = again(s, e);
        if (rc <= 0)
            return rc;
        s->cycle_talks = 0;
        inputs_rewind(s->in);
        rc = inputs_next(s->in, &s->file, e);
    }
    if (rc <= 0)
        return rc;
    jsonin_stream_close(s->stream);
    s->stream = NULL;
    pace_new_file(&s->pace);
    rc = jsonin_stream_open(&s->stream, s->file, MAX_ELEMENT, e);
    return rc < 0 ? rc : 1;
}

/* The cycle has as many conversations as it may: the rest of its files is left. */
static bool enough(const struct sharegpt *s)
{
    return s->o.max_conversations > 0 && s->cycle_talks == s->o.max_conversations;
}

static int next_element(struct sharegpt *s, const struct jsonin_v **v, struct err *e)
{
    for (;;) {
        int rc = !s->stream || enough(s) ? 0 : jsonin_stream_next(s->stream, v, e);
        if (rc != 0)
            return rc;
        if (enough(s))
            inputs_skip_rest(s->in);
        rc = next_file(s, e);
        if (rc <= 0)
            return rc;
    }
}

/* A place behind the conversations under way; NULL: no memory. */
static struct talk *free_place(struct sharegpt *s)
{
    if (s->live == s->talks_cap) {
        size_t cap = s->talks_cap ? s->talks_cap * 2 : 64;
        struct talk *grown = realloc(s->talk, cap * sizeof(*grown));
        if (!grown)
            return NULL;
        memset(grown + s->talks_cap, 0, (cap - s->talks_cap) * sizeof(*grown));
        s->talk = grown;
        s->talks_cap = cap;
    }
    return &s->talk[s->live];
}

/* As many conversations as may be held, while there are any. 0 or negative errno. */
static int fill(struct sharegpt *s, struct err *e)
{
    while (!s->ended && s->live < (s->timed ? 1 : s->o.workload->max_conversations)) {
        const struct jsonin_v *v;
        int rc = next_element(s, &v, e);
        s->ended = rc == 0;
        if (rc <= 0)
            return rc;
        struct talk *t = free_place(s);
        if (!t || read_element(s, t, v) < 0)
            return err_nomem(e, "conversation");
        if (t->turns == 0) {
            skip(s);
            continue;
        }
        rc = read_arrival(s, t, v, e);
        if (rc < 0)
            return rc;
        t->number = ++s->begun;
        s->cycle_talks++;
        s->live++;
    }
    return 0;
}

/* ---- the table's functions ---- */

static int64_t next_arrival_ns(const struct sharegpt *s)
{
    if (s->timed)
        return s->talk[0].arrival_ns;
    if (s->o.request_rate == 0)
        return 0;
    double ns = (double)s->issued * (double)UNITS_NS_PER_S / s->o.request_rate;
    return ns < MAX_NS ? (int64_t)(ns + 0.5) : INT64_C(1) << 62;
}

static int sharegpt_peek(struct source *base, int64_t *arrival_ns, struct err *e)
{
    struct sharegpt *s = sharegpt_of(base);
    int rc = fill(s, e);
    if (rc < 0)
        return rc;
    if (s->live > 0)
        *arrival_ns = next_arrival_ns(s);
    return s->live > 0;
}

static void sharegpt_take(struct source *base, struct request *out)
{
    struct sharegpt *s = sharegpt_of(base);
    size_t i = s->timed ? 0 : rng_below(&s->rng, s->live);
    struct talk *t = &s->talk[i];
    const struct turn *turn = &t->turn[t->next++];
    *out = (struct request){.arrival_ns = next_arrival_ns(s),
                            .user = (uint32_t)((t->number - 1) % s->o.users),
                            .turn = (uint32_t)t->next,
                            .context_tokens = turn->context,
                            .generated_tokens = turn->generated};
    out->number = ++s->issued;
    out->object = ident_dataset_turn(t->number, out->turn);
    request_draw(out, &s->rng, s->o.workload, s->o.qos);
    if (t->next == t->turns) {
        struct talk over = *t;
        *t = s->talk[--s->live];
        s->talk[s->live] = over;
    }
}

static size_t sharegpt_user_name(const struct source *base, uint32_t user, char *buf)
{
    (void)base;
    memcpy(buf, "dataset_user_", 13);
    return 13 + units_put_u64(buf + 13, user);
}

static void sharegpt_conversations(const struct source *base, uint64_t *count, uint64_t *turns)
{
    const struct sharegpt *s = (const struct sharegpt *)base;
    *count = s->begun;
    *turns = s->issued;
}

static const struct source_skips *sharegpt_skips(const struct source *base)
{
    return &((const struct sharegpt *)base)->skips;
}

static bool sharegpt_estimated(const struct source *base)
{
    return ((const struct sharegpt *)base)->estimated;
}

static void sharegpt_close(struct source *base)
{
    struct sharegpt *s = sharegpt_of(base);
    jsonin_stream_close(s->stream);
    inputs_close(s->in);
    for (size_t i = 0; i < s->talks_cap; i++)
        free(s->talk[i].turn);
    free(s->talk);
    free(s);
}

static const struct source_ops sharegpt_ops = {
    .name = "sharegpt",
    .peek = sharegpt_peek,
    .take = sharegpt_take,
    .user_name = sharegpt_user_name,
    .conversations = sharegpt_conversations,
    .skips = sharegpt_skips,
    .estimated = sharegpt_estimated,
    .close = sharegpt_close,
};

static int first_ones(struct sharegpt *s, struct err *e)
{
    int rc = fill(s, e);
    if (rc < 0)
        return rc;
    if (s->live > 0 && !s->timed && s->o.speedup_given)
        return err_set(e, -EINVAL, ERR_INPUT, "--trace-speedup", "this dataset has no times%s",
                       s->o.request_rate > 0 ? " but those of --request-rate" : "");
    if (s->live > 0 && !s->timed && s->o.pace.cycles == 0 && s->o.request_rate == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--replay-cycles",
                       "0 would never end: --request-rate 0 leaves no time between requests");
    if (s->live > 0)
        return 0;
    if (s->skips.rows == 0)
        return err_set(e, -EINVAL, ERR_INPUT, inputs_path(s->in), "holds no conversation");
    *e = s->skips.first;
    return e->code;
}

int source_sharegpt_open(struct source **out, struct inputs *in,
                         const struct source_sharegpt_opts *o, struct err *e)
{
    struct sharegpt *s = calloc(1, sizeof(*s));
    if (!s) {
        inputs_close(in);
        return err_nomem(e, "source");
    }
    s->base.ops = &sharegpt_ops;
    s->o = *o;
    s->in = in;
    s->pace.o = o->pace;
    rng_seed(&s->rng, o->seed, DRAW_STREAM);
    int rc = first_ones(s, e);
    if (rc < 0) {
        sharegpt_close(&s->base);
        return rc;
    }
    *out = &s->base;
    return 0;
}
