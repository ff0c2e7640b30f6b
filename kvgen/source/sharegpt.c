/* Reads datasets of conversations as a stream. It holds some conversations (lengths only, no text);
 * any of them goes on with its next turn when the one before is answered, and one that is over
 * makes room for the next of the file. Memory is that of the conversations held and of the largest
 * element. */
#include "kvgen/source/sharegpt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "kvgen/rng.h"
#include "lib/base/memory.h"
#include "lib/base/units.h"
#include "lib/json/jsonin.h"

enum {
    TURNS_ROOM = 8, /* of a conversation's first memory */
    TURNS_KEPT = 256
};
#define NONE        UINT32_MAX
#define DRAW_STREAM ((uint64_t)4 << 32) /* of the seed */

enum role {
    ROLE_UNKNOWN,
    ROLE_HUMAN,
    ROLE_MODEL,
    ROLE_TOOL,
    ROLE_SYSTEM
};
/* Why a text becomes no turn. */
enum left_out {
    LEFT_QUESTIONS,
    LEFT_ANSWERS,
    LEFT_SYSTEM,
    LEFT_UNKNOWN,
    LEFT_TEXTLESS,
    LEFT_TAILS,
    LEFT_REASONS
};

struct turn {
    int64_t context, generated; /* tokens */
};
struct talk {
    uint64_t number; /* from 1 */
    struct turn *turn;
    size_t turns, next, cap;
    int64_t arrival_ns; /* of its next turn, if the dataset is timed */
    uint8_t qos;        /* enum trace_qos, once it has begun */
};

struct sharegpt {
    struct file_source files; /* first */
    struct source_sharegpt_opts o;
    struct rng rng;
    struct talk *talk; /* those not held keep their memory */
    uint32_t talks, talks_cap;
    uint32_t *spare; /* stack: talks that are not held */
    uint32_t spares;
    uint32_t *ready; /* talks whose next turn may be asked */
    uint32_t readies;
    uint32_t asking;  /* back to back: the place in ready of the talk that has begun; or NONE */
    int64_t ready_ns; /* since then some talk is ready */
    uint32_t unbegun; /* talks held that have not begun */
    bool estimated;   /* a number of tokens was */
    bool timed;       /* elements have arrivals; known with the first element */
    uint64_t cycle_talks, begun, issued;
    uint64_t left_out[LEFT_REASONS]; /* texts, of all cycles */
    char unknown[40];                /* the first role that is not known */
};

static int bad_element(const struct sharegpt *s, struct err *e, const char *what)
{
    return file_source_bad(&s->files, 0, e, "%s", what);
}

/* Only the first of many skipped elements is worth words. */
static void skip_element(struct sharegpt *s)
{
    struct err why = {0};
    if (s->files.skips.rows == 0)
        bad_element(s, &why,
                    "no turn: neither input_toks and output_toks nor a human text with an answer "
                    "behind it (from and value, or role and content)");
    file_source_note_skip(&s->files, &why);
}

/* ---- elements ---- */

/* Code points of UTF-8; jsonin has checked it. */
static uint64_t count_points(const char *text, size_t len)
{
    uint64_t points = 0;
    for (size_t i = 0; i < len; i++)
        points += ((unsigned char)text[i] & 0xC0) != 0x80;
    return points;
}

/* Code points divided by chars_per_token, from 1 to most. */
static int64_t estimate_tokens(struct sharegpt *s, uint64_t points, int64_t most)
{
    double tokens = (double)points / s->o.chars_per_token;
    s->left_out[LEFT_TAILS] += tokens > (double)most;
    return tokens < 1 ? 1 : tokens > (double)most ? most : (int64_t)tokens;
}

static int add_turn(struct sharegpt *s, struct talk *t, const struct turn *turn, struct err *e)
{
    if (t->turns == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : TURNS_ROOM;
        int rc = file_source_hold(&s->files, (cap - t->cap) * sizeof(*turn), "conversations", e);
        if (rc < 0)
            return rc;
        if (memory_resize(&t->turn, cap, sizeof(*t->turn)) < 0)
            return err_nomem(e, "conversation");
        t->cap = cap;
    }
    struct request cut = {.context_tokens = turn->context};
    file_source_cut(&s->files, &cut);
    t->turn[t->turns++] =
        (struct turn){.context = cut.context_tokens, .generated = turn->generated};
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

/* Who says a text: by the names that datasets have for them. */
static enum role role_of(const char *name)
{
    static const struct {
        const char *name;
        enum role role;
    } known[] = {{"human", ROLE_HUMAN},        {"user", ROLE_HUMAN},
                 {"prompter", ROLE_HUMAN},     {"gpt", ROLE_MODEL},
                 {"assistant", ROLE_MODEL},    {"chatgpt", ROLE_MODEL},
                 {"bing", ROLE_MODEL},         {"bard", ROLE_MODEL},
                 {"gemini", ROLE_MODEL},       {"claude", ROLE_MODEL},
                 {"model", ROLE_MODEL},        {"bot", ROLE_MODEL},
                 {"ai", ROLE_MODEL},           {"function_call", ROLE_MODEL},
                 {"tool_call", ROLE_MODEL},    {"tool", ROLE_TOOL},
                 {"observation", ROLE_TOOL},   {"function", ROLE_TOOL},
                 {"tool_response", ROLE_TOOL}, {"function_response", ROLE_TOOL},
                 {"ipython", ROLE_TOOL},       {"system", ROLE_SYSTEM},
                 {"developer", ROLE_SYSTEM}};
    for (size_t i = 0; name && i < sizeof(known) / sizeof(*known); i++)
        if (strcasecmp(name, known[i].name) == 0)
            return known[i].role;
    return ROLE_UNKNOWN;
}

/* The tokens of a message: its value or content, a text or a list of parts with texts. -1: it has
 * no text. */
static int64_t message_tokens(struct sharegpt *s, const struct jsonin_v *v, int64_t most)
{
    const struct jsonin_v *content = jsonin_get(v, "value");
    uint64_t points = 0;
    size_t len;
    bool any = false;
    if (!content)
        content = jsonin_get(v, "content");
    for (size_t i = 0, n = jsonin_is_array(content) ? jsonin_count(content) : 1; i < n; i++) {
        const char *text = jsonin_text(
            jsonin_is_array(content) ? jsonin_get(jsonin_at(content, i), "text") : content, &len);
        any |= text != NULL;
        points += text ? count_points(text, len) : 0;
    }
    return any ? estimate_tokens(s, points, most) : -1;
}

/* Each text of a human, or of a tool, that has an answer right behind it is a turn. What a tool
 * says belongs to the question before it. */
static int read_texts(struct sharegpt *s, struct talk *t, const struct jsonin_v *list,
                      struct err *e)
{
    const struct workload *w = s->o.workload;
    int64_t asked = -1; /* tokens of the text right before, if it waits for an answer */
    for (size_t i = 0, n = jsonin_count(list); i < n; i++) {
        const struct jsonin_v *v = jsonin_at(list, i), *from = jsonin_get(v, "from");
        const char *name = jsonin_text(from ? from : jsonin_get(v, "role"), NULL);
        enum role role = role_of(name);
        bool answers = role == ROLE_MODEL;
        int64_t tokens =
            message_tokens(s, v, answers ? w->dataset_max_generated : w->dataset_max_context);
        if (tokens < 0) {
            s->left_out[LEFT_TEXTLESS]++;
            /* An answer that only calls a tool: what the tool says belongs to the question. */
            if (!answers)
                asked = -1;
        } else if (role == ROLE_SYSTEM) {
            s->left_out[LEFT_SYSTEM]++;
        } else if (role == ROLE_UNKNOWN) {
            if (s->left_out[LEFT_UNKNOWN]++ == 0)
                snprintf(s->unknown, sizeof(s->unknown), "%s", name ? name : "");
            asked = -1;
        } else if (!answers) {
            bool joins = role == ROLE_TOOL && asked >= 0;
            s->left_out[LEFT_QUESTIONS] += asked >= 0 && !joins;
            asked = joins ? asked + tokens : tokens;
            asked = asked < w->dataset_max_context ? asked : w->dataset_max_context;
        } else if (asked < 0) {
            s->left_out[LEFT_ANSWERS]++;
        } else {
            struct turn turn = {asked, tokens};
            int rc = add_turn(s, t, &turn, e);
            if (rc < 0)
                return rc;
            asked = -1;
        }
    }
    s->left_out[LEFT_QUESTIONS] += asked >= 0;
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

/* A place for one more talk: 0 or -ENOMEM. */
static int take_talk(struct sharegpt *s, uint32_t *place)
{
    if (s->spares > 0) {
        *place = s->spare[--s->spares];
        return 0;
    }
    if (s->talks == s->talks_cap) {
        uint32_t cap = s->talks_cap ? s->talks_cap * 2 : 64;
        if (cap >= NONE / 2 || memory_resize(&s->talk, cap, sizeof(*s->talk)) < 0 ||
            memory_resize(&s->spare, cap, sizeof(*s->spare)) < 0 ||
            memory_resize(&s->ready, cap, sizeof(*s->ready)) < 0)
            return -ENOMEM;
        memset(s->talk + s->talks_cap, 0, (cap - s->talks_cap) * sizeof(*s->talk));
        s->talks_cap = cap;
    }
    *place = s->talks++;
    return 0;
}

/* Reads an element's turns into the talk, which has none if the element has none. */
static int read_turns(struct sharegpt *s, struct talk *t, const struct jsonin_v *v, struct err *e)
{
    struct turn turn;
    t->turns = t->next = 0;
    if (jsonin_i64(jsonin_get(v, "input_toks"), &turn.context) < 0 ||
        jsonin_i64(jsonin_get(v, "output_toks"), &turn.generated) < 0)
        return read_texts(
            s, t, jsonin_get(v, jsonin_get(v, "messages") ? "messages" : "conversations"), e);
    return is_count(turn.context) && is_count(turn.generated) ? add_turn(s, t, &turn, e) : 0;
}

/* Whether --config sample keeps the conversation, by its id, if it has one. */
static bool keeps_element(struct sharegpt *s, const struct jsonin_v *v)
{
    const struct jsonin_v *id = jsonin_get(v, "id");
    int64_t number;
    size_t len;
    const char *text = jsonin_text(id, &len);
    if (text)
        return file_source_keeps(&s->files, text, len);
    return jsonin_i64(id, &number) == 0 ? file_source_keeps(&s->files, &number, sizeof(number))
                                        : file_source_keeps(&s->files, NULL, 0);
}

/* A timed dataset goes on in the order of the file, so one that has not begun is enough. */
static bool holds_enough(const struct sharegpt *s)
{
    return s->timed ? s->unbegun > 0 : s->talks - s->spares >= s->o.workload->max_conversations;
}

/* Reads conversations until as many are held as may be. 0 or negative errno. */
static int fill(struct sharegpt *s, struct err *e)
{
    while (!s->files.ended && !holds_enough(s)) {
        const struct jsonin_v *v;
        uint32_t place;
        if (enough(s)) {
            inputs_skip_rest(s->files.in);
            jsonin_stream_close(s->files.stream);
            s->files.stream = NULL;
        }
        int rc = file_source_next_element(&s->files, &v, e);
        s->files.ended = rc == 0;
        if (rc <= 0)
            return rc;
        if (!keeps_element(s, v))
            continue;
        if (take_talk(s, &place) < 0)
            return err_nomem(e, "conversation");
        struct talk *t = &s->talk[place];
        s->spare[s->spares++] = place; /* until it is known to be one */
        rc = read_turns(s, t, v, e);
        if (rc < 0)
            return rc;
        if (t->turns == 0) {
            skip_element(s);
            continue;
        }
        rc = read_arrival(s, t, v, e);
        if (rc < 0)
            return rc;
        s->spares--;
        t->number = ++s->begun;
        s->cycle_talks++;
        s->unbegun++;
        s->ready[s->readies++] = place;
    }
    return 0;
}

/* ---- the table's functions ---- */

/* The place in ready of the talk whose turn a timed dataset has next. Few are ready at once: those
 * whose answers just came, and one that is to begin. */
static uint32_t earliest(const struct sharegpt *s)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i < s->readies; i++)
        if (s->talk[s->ready[i]].arrival_ns < s->talk[s->ready[first]].arrival_ns)
            first = i;
    return first;
}

static int64_t next_arrival_ns(const struct sharegpt *s)
{
    if (s->timed)
        return s->talk[s->ready[earliest(s)]].arrival_ns;
    double ns =
        s->o.request_rate > 0 ? (double)s->issued * (double)UNITS_NS_PER_S / s->o.request_rate : 0;
    int64_t due_ns = ns < (double)FILE_SOURCE_MAX_NS ? (int64_t)(ns + 0.5) : FILE_SOURCE_MAX_NS;
    return due_ns > s->ready_ns ? due_ns : s->ready_ns;
}

static int sharegpt_peek(struct source *base, int64_t *arrival_ns, struct err *e)
{
    struct sharegpt *s = (struct sharegpt *)base;
    int rc = fill(s, e);
    if (rc < 0)
        return rc;
    if (s->readies > 0)
        *arrival_ns = next_arrival_ns(s);
    return s->readies > 0;
}

/* The place in ready of the talk that goes on. */
static uint32_t pick(struct sharegpt *s)
{
    if (s->asking != NONE)
        return s->asking;
    return s->timed ? earliest(s) : (uint32_t)rng_below(&s->rng, s->readies);
}

static void sharegpt_take(struct source *base, struct request *out)
{
    struct sharegpt *s = (struct sharegpt *)base;
    uint32_t i = pick(s), place = s->ready[i];
    struct talk *t = &s->talk[place];
    struct turn *turn = &t->turn[t->next++];
    *out = (struct request){.arrival_ns = next_arrival_ns(s),
                            .user = (uint32_t)((t->number - 1) % s->o.users),
                            .turn = (uint32_t)t->next,
                            .context_tokens = turn->context,
                            .generated_tokens = turn->generated};
    out->number = ++s->issued;
    out->object = ident_dataset_turn(t->number, out->turn);
    file_source_draw(out, &s->rng, s->o.workload, s->o.qos);
    bool first = t->next == 1, over = t->next == t->turns;
    s->unbegun -= first;
    if (s->o.back_to_back) {
        out->user = (uint32_t)rng_below(&s->rng, s->o.users);
        s->asking = over ? NONE : i;
    } else {
        t->qos = out->qos = first ? out->qos : t->qos;
        out->slot = over ? 0 : place + 1;
    }
    if (over || !s->o.back_to_back)
        s->ready[i] = s->ready[--s->readies];
    if (over) {
        forget_turns(s, t);
        s->spare[s->spares++] = place;
    }
}

/* The next turn may be asked. */
static void sharegpt_done(struct source *base, const struct request *r, int64_t now_ns)
{
    struct sharegpt *s = (struct sharegpt *)base;
    if (r->slot == 0)
        return;
    if (s->readies == 0)
        s->ready_ns = now_ns;
    s->talk[r->slot - 1].arrival_ns = now_ns;
    s->ready[s->readies++] = r->slot - 1;
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

static void sharegpt_reading(const struct source *base, struct source_reading *r)
{
    const struct sharegpt *s = (const struct sharegpt *)base;
    r->format = "conversations";
    file_source_note_cuts(&s->files, "conversations", &r->remarks);
    r->time_unit = s->timed ? "ns" : NULL;
    r->time_by = s->timed ? "file" : NULL;
    r->tokens_by = s->estimated ? "estimated from characters" : "given";
    static const char *const why[LEFT_REASONS] = {
        [LEFT_QUESTIONS] = "questions without an answer behind them",
        [LEFT_ANSWERS] = "answers without a question before them",
        [LEFT_SYSTEM] = "texts of the system",
        [LEFT_UNKNOWN] = "texts of roles that kvgen does not know",
        [LEFT_TEXTLESS] = "messages without a text",
        [LEFT_TAILS] = "ends of texts that are longer than the most tokens of a turn"};
    for (int i = 0; i < LEFT_REASONS; i++)
        if (s->left_out[i] > 0)
            notes_add(&r->remarks, "left out: %s: %llu%s%s%s", why[i],
                      (unsigned long long)s->left_out[i],
                      i == LEFT_UNKNOWN ? " (the first: \"" : "",
                      i == LEFT_UNKNOWN ? s->unknown : "", i == LEFT_UNKNOWN ? "\")" : "");
}

static void sharegpt_close(struct source *base)
{
    struct sharegpt *s = (struct sharegpt *)base;
    for (uint32_t i = 0; i < s->talks_cap; i++)
        free(s->talk[i].turn);
    free(s->talk);
    free(s->spare);
    free(s->ready);
    file_source_release(&s->files);
}

static const struct source_ops sharegpt_ops = {
    .name = "sharegpt",
    .peek = sharegpt_peek,
    .take = sharegpt_take,
    .done = sharegpt_done,
    .user_name = file_source_dataset_user,
    .conversations = sharegpt_conversations,
    .skips = file_source_skips,
    .estimated = sharegpt_estimated,
    .reading = sharegpt_reading,
    .close = sharegpt_close,
};

int source_sharegpt_open(struct source **out, struct inputs *in,
                         const struct source_sharegpt_opts *o, struct err *e)
{
    struct sharegpt *s =
        file_source_create(sizeof(*s), &sharegpt_ops, in, &o->files, read_again, e);
    if (!s)
        return -ENOMEM;
    s->o = *o;
    s->asking = NONE;
    rng_seed(&s->rng, o->seed, DRAW_STREAM);

    /* The first conversations tell whether the options have a meaning for them. */
    int rc = fill(s, e);
    if (rc < 0) {
        /* it is told */
    } else if (s->readies == 0 && s->files.skips.rows == 0) {
        rc = file_source_none(&s->files, "conversation", e);
    } else if (s->readies == 0) {
        *e = s->files.skips.first;
        rc = e->code;
    } else if (!s->timed &&
               (rc = file_source_refuse_gap(&s->files, "this dataset has no times", e)) < 0) {
        /* likewise */
    } else if (!s->timed && o->speedup_given) {
        rc = err_set(e, -EINVAL, ERR_INPUT, "--speed", "this dataset has no times%s",
                     o->request_rate > 0 ? " but those of --request-rate" : "");
    } else if (!s->timed && o->files.cycles == 0 && !o->files.counted && o->request_rate == 0) {
        rc = err_set(e, -EINVAL, ERR_INPUT, "--replay-cycles",
                     "0 would never end: --request-rate 0 leaves no time between requests");
    }
    return file_source_opened(&s->files, rc, out);
}
