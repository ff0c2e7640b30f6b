/* Reads datasets of conversations as a stream. It holds some conversations (lengths only, no text);
 * any of them goes on with its next turn, and one that is over makes room for the next of the file.
 * Memory is that of the conversations held and of the largest element. The simulator makes turns of
 * a conversation wait for each other. */
#include "kvgen/source/sharegpt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/rng.h"
#include "lib/base/units.h"
#include "lib/json/jsonin.h"

enum {
    MAX_ELEMENT = 64 << 20,
    TURNS_ROOM = 8, /* of a conversation's first memory */
    TURNS_KEPT = 256
};
#define DRAW_STREAM ((uint64_t)4 << 32) /* of the seed */

struct turn {
    int64_t context, generated; /* tokens */
};
struct talk {
    uint64_t number; /* from 1 */
    struct turn *turn;
    size_t turns, next, cap;
    int64_t arrival_ns; /* of its first turn, if the dataset is timed */
};

struct sharegpt {
    struct file_source files; /* first */
    struct source_sharegpt_opts o;
    struct jsonin_stream *stream;
    struct rng rng;
    struct talk *talk; /* talk[0..live) are held; the others keep their memory */
    size_t live, talks_cap;
    bool estimated; /* a number of tokens was */
    bool timed;     /* elements have arrivals; known with the first element */
    uint64_t cycle_talks, begun, issued;
};

static int bad_element(const struct sharegpt *s, struct err *e, const char *what)
{
    return file_source_bad(&s->files, jsonin_stream_line(s->stream), e, "%s", what);
}

/* Of many, only the first is worth words. */
static void skip_element(struct sharegpt *s)
{
    struct err why = {0};
    if (s->files.skips.rows == 0)
        bad_element(s, &why,
                    "no turn: neither input_toks and output_toks nor a human text with an answer "
                    "behind it");
    file_source_note_skip(&s->files, &why);
}

/* ---- elements ---- */

/* Code points of UTF-8 (jsonin has checked it) divided by chars_per_token, from 1 to most. */
static int64_t estimate_tokens(const struct sharegpt *s, const char *text, size_t len, int64_t most)
{
    uint64_t points = 0;
    for (size_t i = 0; i < len; i++)
        points += ((unsigned char)text[i] & 0xC0) != 0x80;
    double tokens = (double)points / s->o.chars_per_token;
    return tokens < 1 ? 1 : tokens > (double)most ? most : (int64_t)tokens;
}

static int add_turn(struct sharegpt *s, struct talk *t, const struct turn *turn, struct err *e)
{
    if (t->turns == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : TURNS_ROOM;
        int rc = file_source_hold(&s->files, (cap - t->cap) * sizeof(*turn), "conversations", e);
        if (rc < 0)
            return rc;
        struct turn *grown = realloc(t->turn, cap * sizeof(*grown));
        if (!grown)
            return err_nomem(e, "conversation");
        t->turn = grown;
        t->cap = cap;
    }
    t->turn[t->turns++] = *turn;
    return 0;
}

/* A long conversation that is over leaves no memory behind. */
static void forget_turns(struct sharegpt *s, struct talk *t)
{
    if (t->cap <= TURNS_KEPT)
        return;
    s->files.held_bytes -= t->cap * sizeof(*t->turn);
    free(t->turn);
    t->turn = NULL;
    t->cap = 0;
}

static bool is_one_of(const char *word, const char *const list[])
{
    for (; word && *list; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

/* Each human text that has an answer right behind it is a turn. */
static int read_texts(struct sharegpt *s, struct talk *t, const struct jsonin_v *list,
                      struct err *e)
{
    static const char *const human[] = {"human", "user", NULL};
    static const char *const model[] = {"gpt", "assistant", "chatgpt", NULL};
    const struct workload *w = s->o.workload;
    int64_t asked = -1; /* tokens of the text right before, if it was human */
    for (size_t i = 0, n = jsonin_count(list); i < n; i++) {
        size_t len = 0;
        const struct jsonin_v *v = jsonin_at(list, i);
        const char *from = jsonin_text(jsonin_get(v, "from"), NULL);
        const char *text = jsonin_text(jsonin_get(v, "value"), &len);
        if (text && is_one_of(from, human)) {
            asked = estimate_tokens(s, text, len, w->dataset_max_context);
            continue;
        }
        if (text && asked >= 0 && is_one_of(from, model)) {
            struct turn turn = {asked, estimate_tokens(s, text, len, w->dataset_max_generated)};
            int rc = add_turn(s, t, &turn, e);
            if (rc < 0)
                return rc;
        }
        asked = -1;
    }
    s->estimated |= t->turns > 0;
    return 0;
}

static bool is_count(int64_t tokens)
{
    return tokens >= 0 && tokens <= REQUEST_MAX_TOKENS;
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
    int rc = file_source_arrival(&s->files, ns, &t->arrival_ns);
    if (rc == -EINVAL)
        return bad_element(s, e, "arrival_time_ns " FILE_SOURCE_GOES_BACK);
    return rc < 0 ? bad_element(s, e, "arrival_time_ns lies outside virtual time (146 years)") : 0;
}

/* ---- files ---- */

/* An inputs_again: 1 if the files are to be read once more. Without times, a conversation has no
 * arrival of its own; whether time passes was checked at the start. */
static int read_again(void *ctx, const char *path, struct err *e)
{
    struct sharegpt *s = ctx;
    int rc;
    if (s->timed) {
        rc = file_source_again(&s->files, path, e);
    } else {
        s->files.cycles++;
        rc = s->files.cycles != s->files.o.cycles && s->cycle_talks > 0;
    }
    if (rc > 0)
        s->cycle_talks = 0;
    return rc;
}

/* Whether this cycle has as many conversations as it may. */
static bool enough(const struct sharegpt *s)
{
    return s->o.max_conversations > 0 && s->cycle_talks == s->o.max_conversations;
}

static int next_element(struct sharegpt *s, const struct jsonin_v **v, struct err *e)
{
    int rc = 0;
    while (!s->stream || enough(s) || (rc = jsonin_stream_next(s->stream, v, e)) == 0) {
        if (enough(s))
            inputs_skip_rest(s->files.in);
        rc = file_source_next_file(&s->files, e);
        if (rc <= 0)
            return rc;
        jsonin_stream_close(s->stream);
        s->stream = NULL;
        rc = jsonin_stream_open(&s->stream, s->files.file, MAX_ELEMENT, e);
        if (rc < 0)
            return rc;
        struct jsonin_limit limit = file_source_limit(&s->files);
        jsonin_stream_limit(s->stream, &limit);
    }
    return rc;
}

/* Reads conversations until as many are held as may be. A timed dataset goes on in the order of the
 * file, so one is enough. 0 or negative errno. */
static int fill(struct sharegpt *s, struct err *e)
{
    while (!s->files.ended && s->live < (s->timed ? 1 : s->o.workload->max_conversations)) {
        const struct jsonin_v *v;
        int rc = next_element(s, &v, e);
        s->files.ended = rc == 0;
        if (rc <= 0)
            return rc;

        if (s->live == s->talks_cap) {
            size_t cap = s->talks_cap ? s->talks_cap * 2 : 64;
            struct talk *grown = realloc(s->talk, cap * sizeof(*grown));
            if (!grown)
                return err_nomem(e, "conversation");
            memset(grown + s->talks_cap, 0, (cap - s->talks_cap) * sizeof(*grown));
            s->talk = grown;
            s->talks_cap = cap;
        }
        struct talk *t = &s->talk[s->live];
        struct turn turn;
        t->turns = t->next = 0;
        if (jsonin_i64(jsonin_get(v, "input_toks"), &turn.context) < 0 ||
            jsonin_i64(jsonin_get(v, "output_toks"), &turn.generated) < 0)
            rc = read_texts(s, t, jsonin_get(v, "conversations"), e);
        else if (is_count(turn.context) && is_count(turn.generated))
            rc = add_turn(s, t, &turn, e);
        if (rc < 0)
            return rc;
        if (t->turns == 0) {
            skip_element(s);
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
    return ns < (double)FILE_SOURCE_MAX_NS ? (int64_t)(ns + 0.5) : FILE_SOURCE_MAX_NS;
}

static int sharegpt_peek(struct source *base, int64_t *arrival_ns, struct err *e)
{
    struct sharegpt *s = (struct sharegpt *)base;
    int rc = fill(s, e);
    if (rc < 0)
        return rc;
    if (s->live > 0)
        *arrival_ns = next_arrival_ns(s);
    return s->live > 0;
}

static void sharegpt_take(struct source *base, struct request *out)
{
    struct sharegpt *s = (struct sharegpt *)base;
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
    file_source_draw(out, &s->rng, s->o.workload, s->o.qos);
    if (t->next == t->turns) {
        struct talk over = *t;
        forget_turns(s, &over);
        *t = s->talk[--s->live];
        s->talk[s->live] = over;
    }
}

static void sharegpt_conversations(const struct source *base, uint64_t *count, uint64_t *turns)
{
    const struct sharegpt *s = (const struct sharegpt *)base;
    *count = s->begun;
    *turns = s->issued;
}

static bool sharegpt_estimated(const struct source *base)
{
    return ((const struct sharegpt *)base)->estimated;
}

static void sharegpt_close(struct source *base)
{
    struct sharegpt *s = (struct sharegpt *)base;
    jsonin_stream_close(s->stream);
    file_source_release(&s->files);
    for (size_t i = 0; i < s->talks_cap; i++)
        free(s->talk[i].turn);
    free(s->talk);
    free(s);
}

static const struct source_ops sharegpt_ops = {
    .name = "sharegpt",
    .peek = sharegpt_peek,
    .take = sharegpt_take,
    .user_name = file_source_dataset_user,
    .conversations = sharegpt_conversations,
    .skips = file_source_skips,
    .estimated = sharegpt_estimated,
    .close = sharegpt_close,
};

int source_sharegpt_open(struct source **out, struct inputs *in,
                         const struct source_sharegpt_opts *o, struct err *e)
{
    struct sharegpt *s = calloc(1, sizeof(*s));
    if (!s) {
        inputs_close(in);
        return err_nomem(e, "source");
    }
    file_source_init(&s->files, &sharegpt_ops, in, &o->files, read_again);
    s->o = *o;
    rng_seed(&s->rng, o->seed, DRAW_STREAM);

    /* The first conversations tell whether the options have a meaning for them. */
    int rc = fill(s, e);
    if (rc < 0)
        goto out;
    if (s->live == 0 && s->files.skips.rows == 0) {
        rc = err_set(e, -EINVAL, ERR_INPUT, inputs_path(in), "holds no conversation");
    } else if (s->live == 0) {
        *e = s->files.skips.first;
        rc = e->code;
    } else if (!s->timed && o->speedup_given) {
        rc = err_set(e, -EINVAL, ERR_INPUT, "--trace-speedup", "this dataset has no times%s",
                     o->request_rate > 0 ? " but those of --request-rate" : "");
    } else if (!s->timed && o->files.cycles == 0 && o->request_rate == 0) {
        rc = err_set(e, -EINVAL, ERR_INPUT, "--replay-cycles",
                     "0 would never end: --request-rate 0 leaves no time between requests");
    }
out:
    if (rc < 0)
        sharegpt_close(&s->files.base);
    else
        *out = &s->files.base;
    return rc;
}
