/* From counts to figures: rates, shares and ratios, each as kvstat(1) defines it. Reports are
 * behind this file and see no counts. A figure that the columns of a file do not tell is unknown.
 */
#include "kvstat/report/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/count/provenance.h"
#include "kvstat/count/reuse.h"
#include "kvstat/count/scan.h"
#include "kvstat/count/second.h"
#include "kvstat/report/bottleneck.h"
#include "kvstat/report/intervals.h"
#include "lib/base/memory.h"
#include "lib/base/notes.h"
#include "lib/base/units.h"
#include "lib/json/jsonout.h"

struct figures {
    const char *const *files;
    size_t file_count;
    bool parts; /* they are the parts of one run */
    struct scan *scan;
    struct reuse *reuse;
    bool result;
    bool failed; /* memory ran out */
    struct figure *list;
    size_t count, room;
    struct {
        size_t first, end;
    } scope[FIGURE_SCOPES];      /* where the figures of each begin and end in list */
    struct intervals *intervals; /* NULL: there is no series */
    char **text;                 /* owned texts of figures */
    size_t texts, text_room;
    const char *simulated[TRACE_TIERS], *empty[TRACE_TIERS];
    const char *foremost[2];
    const char *notes[3 * NOTES_MAX]; /* of the run: flags, fallbacks, notes */
    size_t note_count;
    const char **why_invalid;
    size_t why_count;
    struct validity validity;
};

/* ---- putting figures ---- */

void figures_put(struct figures *f, const struct figure *figure)
{
    size_t scope = figure->id.scope;
    if (memory_room(&f->list, &f->room, f->count, sizeof(*f->list), 512) < 0) {
        f->failed = true;
        return;
    }
    if (f->scope[scope].end == 0)
        f->scope[scope].first = f->count;
    f->list[f->count++] = *figure;
    f->scope[scope].end = f->count;
}

const char *figures_keep(struct figures *f, const char *text)
{
    if (memory_room(&f->text, &f->text_room, f->texts, sizeof(*f->text), 64) < 0) {
        f->failed = true;
        return "";
    }
    char *copy = strdup(text);
    if (!copy) {
        f->failed = true;
        return "";
    }
    f->text[f->texts++] = copy;
    return copy;
}

bool figures_failed(const struct figures *f)
{
    return f->failed;
}

static void put_unknown(struct figures *f, struct figure_id id)
{
    figures_put(f, &(struct figure){.id = id, .form = FIGURE_FORM_UNKNOWN});
}

static void put_number(struct figures *f, struct figure_id id, double v)
{
    figures_put(f, &(struct figure){.id = id, .form = FIGURE_FORM_NUMBER, .number = v});
}

static void put_count(struct figures *f, struct figure_id id, uint64_t v)
{
    figures_put(f, &(struct figure){.id = id, .form = FIGURE_FORM_UNSIGNED, .count = v});
}

static void put_level(struct figures *f, struct figure_id id, int64_t v)
{
    figures_put(f, &(struct figure){.id = id, .form = FIGURE_FORM_SIGNED, .level = v});
}

static void put_count_if(struct figures *f, bool known, struct figure_id id, uint64_t v)
{
    if (known)
        put_count(f, id, v);
    else
        put_unknown(f, id);
}

/* Less than 0: unknown. */
static void put_known(struct figures *f, struct figure_id id, int64_t v)
{
    if (v < 0)
        put_unknown(f, id);
    else
        put_level(f, id, v);
}

static void put_truth(struct figures *f, struct figure_id id, bool v)
{
    figures_put(f, &(struct figure){.id = id, .form = FIGURE_FORM_TRUTH, .truth = v});
}

/* Copies the text; empty: unknown. */
static void put_text(struct figures *f, struct figure_id id, const char *text)
{
    if (text[0])
        figures_put(
            f, &(struct figure){.id = id, .form = FIGURE_FORM_TEXT, .text = figures_keep(f, text)});
    else
        put_unknown(f, id);
}

/* In the order of the report; groups_at gives them. */
static size_t sort_groups(struct figures *f, struct groups *g)
{
    size_t n;
    if (groups_sort(g, &n) < 0)
        f->failed = true;
    return n;
}

/* words: a table that is never freed. */
static void put_word(struct figures *f, struct figure_id id, const char *const *words, size_t word)
{
    figures_put(f, &(struct figure){.id = id, .form = FIGURE_FORM_WORD, .list = {words, word}});
}

static void put_texts(struct figures *f, struct figure_id id, const char *const *texts, size_t n)
{
    figures_put(f, &(struct figure){.id = id, .form = FIGURE_FORM_TEXTS, .list = {texts, n}});
}

/* Copies the texts. */
static void put_notes(struct figures *f, struct figure_id id, const struct notes *n)
{
    const char **texts = &f->notes[f->note_count];
    for (unsigned i = 0; i < n->count; i++)
        texts[i] = figures_keep(f, n->text[i]);
    f->note_count += n->count;
    put_texts(f, id, texts, n->count);
}

static void put_hist(struct figures *f, struct figure_id id, const struct hist *h)
{
    if (h && hist_count(h) > 0)
        figures_put(f, &(struct figure){.id = id, .form = FIGURE_FORM_DISTRIBUTION, .hist = h});
    else
        put_unknown(f, id);
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

static bool has(const struct figures *f, enum trace_column c)
{
    return f->scan->columns & TRACE_BIT(c);
}

/* ---- rows and run ---- */

/* Over all tiers, and rows without one. */
static uint64_t sum_of(const uint64_t by_tier[TRACE_TIERS + 1])
{
    uint64_t sum = 0;
    for (unsigned tier = 0; tier <= TRACE_TIERS; tier++)
        sum += by_tier[tier];
    return sum;
}

static void put_rows(struct figures *f)
{
    static const char *const kinds[] = {"trace", "result"};
    const struct agg_totals *t = agg_totals(f->scan->agg);
    put_texts(f, figure_id(FIGURE_OF_RUN, FIGURE_FILES), f->files, f->file_count);
    put_word(f, figure_id(FIGURE_OF_RUN, FIGURE_KIND), kinds, f->result);
    put_number(f, figure_id(FIGURE_OF_RUN, FIGURE_ELAPSED), (double)t->elapsed_ns / 1e9);
    put_count(f, figure_id(FIGURE_OF_RUN, FIGURE_ROWS), t->rows);
    put_truth(f, figure_id(FIGURE_OF_RUN, FIGURE_CUT), f->scan->cut);
    put_count(f, figure_id(FIGURE_OF_RUN, FIGURE_BAD_ROWS), f->scan->bad_rows);
    put_count_if(f, f->result && has(f, TRACE_COL_DEVICE),
                 figure_id(FIGURE_OF_RUN, FIGURE_DEVICE_OVER), t->device_over);
    put_count_if(f, f->result && has(f, TRACE_COL_DUE), figure_id(FIGURE_OF_RUN, FIGURE_EARLY),
                 t->early);

    bool judged = f->result && has(f, TRACE_COL_STATUS);
    if (!judged)
        put_unknown(f, figure_id(FIGURE_OF_STATUS, FIGURE_ITSELF));
    const enum figure_scope status = judged ? FIGURE_OF_STATUS : FIGURE_OF_ROWS;
    put_count(f, figure_id(status, FIGURE_OK), t->ok);
    put_count(f, figure_id(status, FIGURE_ABSENT), t->absent);
    put_count(f, figure_id(status, FIGURE_CORRUPT), t->corrupt);
    put_count(f, figure_id(status, FIGURE_STALE), sum_of(t->stale));
    put_count(f, figure_id(status, FIGURE_WRONG), sum_of(t->wrong));
    put_count(f, figure_id(status, FIGURE_FAILED), t->failed);
    if (f->result) {
        put_count(f, figure_id(FIGURE_OF_POPULATED, FIGURE_ROWS), t->populated_rows);
        put_count(f, figure_id(FIGURE_OF_POPULATED, FIGURE_BYTES), t->populated_bytes);
        put_number(f, figure_id(FIGURE_OF_WARMUP, FIGURE_SECONDS),
                   (double)f->scan->warmup_ns / 1e9);
        put_count(f, figure_id(FIGURE_OF_WARMUP, FIGURE_ROWS), t->warmup_rows);
    } else {
        put_unknown(f, figure_id(FIGURE_OF_POPULATED, FIGURE_ITSELF));
        put_unknown(f, figure_id(FIGURE_OF_WARMUP, FIGURE_ITSELF));
    }
    put_count(f, figure_id(FIGURE_OF_ROWS, FIGURE_IO_OPS), t->io_ops);
    put_count(f, figure_id(FIGURE_OF_ROWS, FIGURE_READ_BYTES), t->read_bytes);
    put_count(f, figure_id(FIGURE_OF_ROWS, FIGURE_WRITE_BYTES), t->write_bytes);
    put_number(f, figure_id(FIGURE_OF_ROWS, FIGURE_SIZE),
               ratio((double)t->read_bytes + (double)t->write_bytes, (double)t->io_ops));
    put_count(f, figure_id(FIGURE_OF_ROWS, FIGURE_GENERATE_ROWS), t->generate_rows);
}

/* One text, as the JSON has it, and the list. */
static void put_reasons(struct figures *f, const struct provenance *p)
{
    f->why_invalid = calloc(p->why_count + 1, sizeof(*f->why_invalid));
    f->failed |= !f->why_invalid;
    for (size_t i = 0; f->why_invalid && i < p->why_count; i++)
        f->why_invalid[f->why_count++] = figures_keep(f, p->why_invalid[i]);
    char *text = NULL;
    size_t len;
    FILE *out = memory_stream(&text, &len);
    for (size_t i = 0; out && i < p->why_count; i++)
        fprintf(out, "%s%s", i ? "; " : "", p->why_invalid[i]);
    bool whole = out && !ferror(out);
    if (out && fclose(out) != 0)
        whole = false;
    if (!whole || !text)
        f->failed = true;
    else
        put_text(f, figure_id(FIGURE_OF_PROVENANCE, FIGURE_WHY_INVALID), text);
    free(text);
}

/* Not known, or known. */
static void put_answer(struct figures *f, struct figure_id id, enum provenance_answer answer)
{
    if (answer == PROVENANCE_UNKNOWN)
        put_unknown(f, id);
    else
        put_truth(f, id, answer == PROVENANCE_YES);
}

static void put_fact(struct figures *f, enum fact_id fact, const struct facts *facts)
{
    const struct fact_value *v = &facts->of[fact];
    struct figure_id id = figure_id_fact(fact);
    switch (fact_of(fact)->kind) {
    case FACT_COUNT:
        put_count_if(f, v->known, id, v->count);
        break;
    case FACT_NUMBER:
        put_number(f, id, facts_number(facts, fact));
        break;
    case FACT_TEXT:
        put_text(f, id, facts_text(facts, fact));
        break;
    case FACT_YES:
        put_answer(f, id, provenance_answer(facts, fact));
        break;
    case FACT_TIMES:
        for (unsigned i = 0; v->known && i < HIST_STATISTICS; i++)
            put_number(f, figure_id_statistic(id, FIGURE_COUNT + i), v->statistic[i]);
        if (!v->known)
            put_unknown(f, id);
        break;
    case FACT_HIST:
    case FACT_COUNTS: /* of scopes that are not shown */
        break;
    }
}

static void put_facts(struct figures *f, const struct facts *facts, enum fact_id first,
                      enum fact_id last)
{
    for (unsigned i = first; i <= last; i++)
        put_fact(f, i, facts);
}

/* Whether a fact of the scope is known. */
static bool knows(const struct facts *facts, enum fact_scope scope)
{
    bool any = false;
    for (unsigned i = 0; i < FACTS_SHOWN; i++)
        any |= fact_of(i)->scope == scope && facts->of[i].known;
    return any;
}

/* The facts of kvreplay's summary about its own run. */
static void put_summary(struct figures *f, const struct facts *facts)
{
    for (unsigned scope = FACTS_OF_KERNEL; scope < FACT_SCOPES_SHOWN; scope++) {
        bool inside = scope > FACTS_OF_EVIDENCE && scope < FACTS_OF_LOG;
        bool there = facts->there[scope] && (scope != FACTS_OF_KERNEL || knows(facts, scope));
        if (inside && !facts->there[FACTS_OF_EVIDENCE])
            continue;
        if (!there)
            put_unknown(f, figure_id(figure_scope_of_facts(scope), FIGURE_ITSELF));
        for (unsigned i = 0; i < FACTS_SHOWN && there; i++)
            if (fact_of(i)->scope == scope)
                put_fact(f, i, facts);
    }
}

/* Operations of another client's log that are no rows. */
static void put_apart(struct figures *f, const struct provenance *p)
{
    for (size_t i = 0; i < p->apart_count; i++) {
        const struct provenance_apart *a = &p->apart[i];
        struct figure_id id = figure_id(FIGURE_OF_APART, FIGURE_OPS);
        id.label = figures_keep(f, a->op);
        put_known(f, id, a->ops);
        id.what = FIGURE_SERVICE;
        put_number(f, figure_id_statistic(id, FIGURE_MEAN), a->mean_us);
        put_number(f, figure_id_statistic(id, FIGURE_MAX), a->max_us);
    }
}

static void put_provenance(struct figures *f, const struct provenance *p)
{
    const enum figure_scope run = FIGURE_OF_PROVENANCE;
    if (!p->known) {
        put_unknown(f, figure_id(run, FIGURE_ITSELF));
        return;
    }
    put_fact(f, FACT_CLIENT, &p->facts);
    if (p->facts.of[FACT_RECORDED].known)
        put_fact(f, FACT_RECORDED, &p->facts);
    put_facts(f, &p->facts, FACT_SEED, FACT_MODEL);
    put_text(f, figure_id(run, FIGURE_DIGEST), facts_text(&p->facts, FACT_DIGEST));
    put_facts(f, &p->facts, FACT_BYTES_PER_TOKEN, FACT_GENERATION_MODE);

    bool executed = false;
    size_t simulated = 0, empty = 0;
    for (unsigned t = 0; t < TRACE_TIERS; t++) {
        put_known(f, figure_id_tier(FIGURE_OF_CAPACITY, t, FIGURE_ITSELF), p->capacity_bytes[t]);
        put_truth(f, figure_id_tier(FIGURE_OF_ROWS, t, FIGURE_SIMULATED),
                  p->simulated[t] == PROVENANCE_YES);
        put_truth(f, figure_id_tier(FIGURE_OF_ROWS, t, FIGURE_EMPTY), p->empty[t]);
        if (p->empty[t])
            f->empty[empty++] = trace_tier_text(t);
        executed |= p->simulated[t] != PROVENANCE_UNKNOWN;
        if (p->simulated[t] == PROVENANCE_YES)
            f->simulated[simulated++] = trace_tier_text(t);
    }
    if (executed) {
        put_texts(f, figure_id(run, FIGURE_SIMULATED), f->simulated, simulated);
        put_texts(f, figure_id(run, FIGURE_EMPTY), f->empty, empty);
    } else {
        put_unknown(f, figure_id(run, FIGURE_SIMULATED));
        put_unknown(f, figure_id(run, FIGURE_EMPTY));
    }
    put_facts(f, &p->facts, FACT_TIMING, FACT_WORKERS);
    put_answer(f, figure_id(run, FIGURE_VALID), p->valid);
    put_reasons(f, p);
    put_facts(f, &p->facts, FACT_HOST, FACT_KERNEL_READ_BYTES - 1); /* the last of the scope */
    put_text(f, figure_id(run, FIGURE_TARGET), p->target);
    put_text(f, figure_id(run, FIGURE_SAME_OF_DEVICE), p->device);
    put_notes(f, figure_id(run, FIGURE_FLAGS), &p->flags);
    put_notes(f, figure_id(run, FIGURE_FALLBACKS), &p->fallbacks);
    put_notes(f, figure_id(run, FIGURE_NOTES), &p->notes);
    put_summary(f, &p->facts);
    put_apart(f, p);
}

/* ---- validity ---- */

/* Rows that contradict themselves are told, and doubted where they are more than 1 in 100. */
static void doubt_rows(struct figures *f)
{
    const struct agg_totals *t = agg_totals(f->scan->agg);
    const struct {
        uint64_t rows;
        enum validity_kind kind;
        const char *what;
    } odd[] = {{t->device_over, VALIDITY_DEVICE, "a device time above their latency"},
               {t->early, VALIDITY_RESPONSE, "a start before they were due"}};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        struct validity_of doubt = {
            .state = odd[i].rows * JUDGE_ODD_ROWS > t->rows ? VALIDITY_UNRELIABLE : VALIDITY_GOOD};
        snprintf(doubt.why, sizeof(doubt.why), "%llu row%s with %s",
                 (unsigned long long)odd[i].rows, units_plural(odd[i].rows), odd[i].what);
        if (odd[i].rows > 0)
            validity_doubt(&f->validity, odd[i].kind, VALIDITY_EVERYWHERE, &doubt);
    }
}

/* A percentile as it is and as it would have been. */
struct twice {
    int64_t as_is, without;
    unsigned place;
    const char *what, *by; /* "Tier-2 Read p95", "client delay" */
};

static void doubt_difference(struct figures *f, enum validity_kind kind, const struct twice *t)
{
    double longer = (double)t->as_is / (double)t->without - 1;
    struct validity_of doubt = {.only_worse = true, .state = judge_longer(longer)};
    char added[JUDGE_ADDED];
    if (t->as_is <= t->without || longer < JUDGE_SAID)
        return;
    snprintf(doubt.why, sizeof(doubt.why), "%s %s", judge_added(added, t->by, longer), t->what);
    validity_doubt(&f->validity, kind, t->place, &doubt);
}

static void doubt_group(struct figures *f, const struct group *g, enum group_metric metric,
                        enum second_time time)
{
    static const enum validity_kind kinds[] = {[SECOND_SERVICE] = VALIDITY_SERVICE,
                                               [SECOND_DEVICE] = VALIDITY_DEVICE,
                                               [SECOND_RESPONSE] = VALIDITY_RESPONSE};
    const struct hist *h = g->metric[metric];
    const struct second_of of = {g->key.tier, g->key.op, time};
    char what[64];
    for (size_t i = 0; h && i < JUDGED; i++) {
        uint32_t ppm = judge_percentile[i].ppm;
        if (!judge_enough(hist_count(h), ppm))
            continue;
        snprintf(what, sizeof(what), "%s %s p%u", trace_tier_text(g->key.tier),
                 trace_op_text(g->key.op), judge_percentile[i].percent);
        const struct twice t = {hist_percentile(h, ppm),
                                second_percentile(agg_second(f->scan->agg), of, h, ppm),
                                validity_place(g->key.tier, g->key.op), what,
                                time == SECOND_RESPONSE ? "client delay" : "a pause of kvreplay"};
        doubt_difference(f, kinds[time], &t);
    }
}

/* Times of requests as they were and without the tool's own delays; NULL: there are none. */
static void doubt_requests(struct figures *f, enum validity_kind kind, const struct hist *as_is,
                           const struct hist *prompt)
{
    for (size_t i = 0; as_is && prompt && i < JUDGED; i++) {
        uint32_t ppm = judge_percentile[i].ppm;
        char what[32];
        if (!judge_enough(hist_count(as_is), ppm))
            continue;
        snprintf(what, sizeof(what), "p%u", judge_percentile[i].percent);
        const struct twice t = {hist_percentile(as_is, ppm), hist_percentile(prompt, ppm),
                                VALIDITY_EVERYWHERE, what, "client delay"};
        doubt_difference(f, kind, &t);
    }
}

/* Computes the percentiles that are looked at a second time, without what the tool and its
 * processors added to them. */
static void doubt_times(struct figures *f)
{
    const struct requests_totals *r = requests_totals(f->scan->requests);
    for (unsigned tier = 0; tier < TRACE_TIERS; tier++)
        for (unsigned op = TRACE_READ; op <= TRACE_WRITE; op++) {
            const struct group *g =
                groups_find(agg_by_tier_op(f->scan->agg), (uint8_t)tier, (uint8_t)op);
            if (!g)
                continue;
            doubt_group(f, g, GROUP_SERVICE, SECOND_SERVICE);
            doubt_group(f, g, GROUP_DEVICE, SECOND_DEVICE);
            doubt_group(f, g, GROUP_RESPONSE, SECOND_RESPONSE);
        }
    doubt_requests(f, VALIDITY_END_TO_END, r->metric[REQUESTS_END_TO_END], r->prompt);
    doubt_requests(f, VALIDITY_FIRST_TOKEN, r->metric[REQUESTS_FIRST_TOKEN], r->prompt_first_token);
}

/* All engines that there were did nothing. */
static bool nothing_executed(const struct provenance *p)
{
    bool empty = false, other = false;
    for (unsigned t = 0; t < TRACE_TIERS; t++) {
        empty |= p->empty[t];
        other |= !p->empty[t] && p->simulated[t] != PROVENANCE_UNKNOWN;
    }
    return empty && !other;
}

/* Nothing is said of figures that have no row. */
static void doubt_warmup(struct figures *f)
{
    struct validity_of none = {.state = VALIDITY_UNKNOWN};
    char took[32];
    snprintf(none.why, sizeof(none.why), "all rows started in the warm-up of %s",
             units_format_duration(took, sizeof(took), (double)f->scan->warmup_ns));
    f->validity = (struct validity){0};
    for (unsigned kind = 0; kind < VALIDITY_KINDS; kind++)
        validity_doubt(&f->validity, kind, VALIDITY_EVERYWHERE, &none);
}

static void put_place(struct figures *f, const char *label, unsigned kind, unsigned place)
{
    struct figure_id id = figure_id(FIGURE_OF_VALIDITY_KIND, FIGURE_STATE);
    const struct validity_of *of = &f->validity.of[kind][place];
    id.label = label;
    figures_put(f, &(struct figure){
                       .id = id, .form = FIGURE_FORM_TEXT, .text = validity_state_word(of->state)});
    id.what = FIGURE_WHY;
    put_text(f, id, of->why);
    id.what = FIGURE_DOUBTED_TIER;
    put_text(f, id, validity_place_tier(place));
    id.what = FIGURE_DOUBTED_OP;
    put_text(f, id, validity_place_op(place));
}

/* The worst place goes by the kind alone: tables of runs and comparisons find it there. Every other
 * place of which something is said follows. */
static void put_kind(struct figures *f, unsigned kind)
{
    const char *word = validity_kind_word(kind);
    unsigned worst = validity_worst_place(&f->validity, kind);
    put_place(f, word, kind, worst);
    for (unsigned place = VALIDITY_EVERYWHERE; place < VALIDITY_PLACES; place++) {
        const struct validity_of *of = &f->validity.of[kind][place];
        char label[64];
        if (place == worst || (of->state == VALIDITY_GOOD && !of->why[0]))
            continue;
        if (place == VALIDITY_EVERYWHERE)
            snprintf(label, sizeof(label), "%s/all", word);
        else
            snprintf(label, sizeof(label), "%s/%s/%s", word, validity_place_tier(place),
                     validity_place_op(place));
        put_place(f, figures_keep(f, label), kind, place);
    }
}

/* Takes what kvreplay says, and puts the state of each kind of figure. Traces have none: nothing
 * ran. */
static void put_validity(struct figures *f, const struct provenance *p)
{
    char line[VALIDITY_LINE];
    if (!f->result) {
        put_unknown(f, figure_id(FIGURE_OF_VALIDITY, FIGURE_ITSELF));
        return;
    }
    bool first_token = requests_totals(f->scan->requests)->metric[REQUESTS_FIRST_TOKEN];
    f->validity = p->validity;
    if (figures_in_warmup(f)) {
        doubt_warmup(f);
    } else if (!nothing_executed(p)) {
        doubt_rows(f);
        doubt_times(f);
    }
    f->validity.first_token = first_token;
    put_text(f, figure_id(FIGURE_OF_VALIDITY, FIGURE_VALIDITY_LINE),
             validity_line(line, &f->validity));
    for (unsigned kind = 0; kind < VALIDITY_KINDS; kind++)
        if (kind != VALIDITY_FIRST_TOKEN || first_token)
            put_kind(f, kind);
}

/* ---- throughput and what holds it up ---- */

static void put_throughput(struct figures *f, const struct provenance *p)
{
    static const char *const clocks[] = {"simulated", "replay"};
    const struct agg_totals *t = agg_totals(f->scan->agg);
    double elapsed_s = (double)t->elapsed_ns / 1e9, busy_s = NAN;
    double tokens = NAN, tier2_tokens = (double)t->tier2_tokens;
    double token_bytes = facts_number(&p->facts, FACT_BYTES_PER_TOKEN);
    double tensor = facts_number(&p->facts, FACT_TENSOR_PARALLEL);
    /* A replay that leaves out the time of generation tells nothing of tokens in a second. */
    bool skipped = f->result && 2 * t->skipped_generations > t->generate_rows;
    if (t->generate_rows > 0 && has(f, TRACE_COL_TOKENS))
        tokens = (double)t->generated_tokens;
    if (f->result && has(f, TRACE_COL_REQUEST))
        busy_s = (double)t->busy_ns / 1e9;
    if (t->tier2_bare_bytes > 0) {
        /* Sizes are those of one rank. */
        double ranks = p->rank_share > 0 ? 1 / p->rank_share : tensor > 0 ? tensor : 1;
        tier2_tokens += token_bytes > 0 ? (double)t->tier2_bare_bytes * ranks / token_bytes : NAN;
    }
    put_word(f, figure_id(FIGURE_OF_THROUGHPUT, FIGURE_CLOCK), clocks, f->result);
    put_number(f, figure_id(FIGURE_OF_WALL, FIGURE_GENERATED_TOKENS), tokens);
    put_number(f, figure_id(FIGURE_OF_WALL, FIGURE_GENERATED_TOKENS_PER_S),
               skipped ? NAN : ratio(tokens, elapsed_s));
    put_truth(f, figure_id(FIGURE_OF_WALL, FIGURE_GENERATION_SKIPPED), skipped);
    put_number(f, figure_id(FIGURE_OF_WALL, FIGURE_BYTES_PER_S),
               ratio((double)t->read_bytes + (double)t->write_bytes, elapsed_s));
    put_number(f, figure_id(FIGURE_OF_WALL, FIGURE_OPS_PER_S), ratio((double)t->io_ops, elapsed_s));
    put_number(f, figure_id(FIGURE_OF_STORAGE_TIME, FIGURE_GENERATED_TOKENS_PER_S),
               ratio(tokens, busy_s));
    put_number(f, figure_id(FIGURE_OF_STORAGE_TIME, FIGURE_BUSY), busy_s);
    put_number(f, figure_id(FIGURE_OF_TIER2, FIGURE_TOKENS_PER_S), ratio(tier2_tokens, elapsed_s));
    put_count(f, figure_id(FIGURE_OF_THROUGHPUT, FIGURE_DECODE_BYTES_READ), t->decode_bytes);
}

static bool is_simulated(const struct provenance *p, const struct bottleneck *b)
{
    return (b->what == FIGURE_SHARE_GPU && p->simulated[TRACE_GPU] == PROVENANCE_YES) ||
           (b->what == FIGURE_SHARE_CPU && p->simulated[TRACE_CPU] == PROVENANCE_YES) ||
           (b->what >= FIGURE_SHARE_SLOT && b->what <= FIGURE_SHARE_STORAGE &&
            p->simulated[TRACE_STORAGE] == PROVENANCE_YES);
}

static void put_bottleneck(struct figures *f, const struct provenance *p)
{
    const enum figure_scope scope = FIGURE_OF_BOTTLENECK;
    struct bottleneck b;
    if (!bottleneck_find(&b, requests_totals(f->scan->requests), p->storage_parts_ns, f->result)) {
        put_unknown(f, figure_id(scope, FIGURE_ITSELF));
        return;
    }
    if (b.what != FIGURE_ITSELF)
        put_text(f, figure_id(scope, FIGURE_LARGEST),
                 b.what == FIGURE_SHARE_STORAGE ? "storage" : figure_member(b.what));
    else
        put_unknown(f, figure_id(scope, FIGURE_LARGEST));
    put_number(f, figure_id(scope, FIGURE_SHARE), b.share);
    put_truth(f, figure_id(scope, FIGURE_SIMULATED), is_simulated(p, &b));
    for (unsigned i = 0; i < 2; i++)
        f->foremost[i] = figure_member(b.foremost[i]);
    put_texts(f, figure_id(scope, FIGURE_FOREMOST), f->foremost, b.foremost[1] ? 2 : 1);
    for (unsigned i = 0; i < BOTTLENECK_SHARES; i++)
        put_number(f, figure_id(FIGURE_OF_SHARES, bottleneck_part(i)), b.shares[i]);
}

/* ---- groups ---- */

/* Divided by the time from the first start to the last completion of the tier and operation, or of
 * the group itself when --by lacks one of these; of a trace, by the elapsed time. */
static double gib_per_s(const struct figures *f, const struct group *g, unsigned by)
{
    const unsigned both = GROUPS_TIER | GROUPS_OP;
    uint64_t ns = g->span_ns;
    if (!f->result) {
        ns = agg_totals(f->scan->agg)->elapsed_ns;
    } else if ((by & both) == both) {
        const struct group *whole =
            groups_find(agg_by_tier_op(f->scan->agg), g->key.tier, g->key.op);
        ns = whole ? whole->span_ns : ns;
    }
    return g->moved ? ratio((double)g->moved / (double)UNITS_GIB, (double)ns / 1e9) : NAN;
}

/* Some are of columns that few files have. */
static bool has_metric(const struct figures *f, unsigned metric)
{
    return metric == GROUP_FIRST_BYTE ? has(f, TRACE_COL_FIRST_BYTE)
           : metric == GROUP_QUEUE    ? has(f, TRACE_COL_QUEUE)
           : metric == GROUP_DRIVE    ? has(f, TRACE_COL_DRIVE)
                                      : true;
}

static void put_group(struct figures *f, struct figure_id id, const struct group *g)
{
    const struct {
        enum figure_what what;
        uint64_t count;
    } counts[] = {{FIGURE_OPS, g->ops}, {FIGURE_FAILED, g->failed}, {FIGURE_BYTES, g->bytes}};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        id.what = (uint8_t)counts[i].what;
        put_count(f, id, counts[i].count);
    }
    id.what = FIGURE_GIB_PER_S;
    put_number(f, id, gib_per_s(f, g, id.by));
    for (unsigned m = 0; m < GROUP_METRICS; m++) {
        id.what = (uint8_t)(FIGURE_SIZE + m);
        if (has_metric(f, m))
            put_hist(f, id, g->metric[m]);
    }
    id.what = FIGURE_MOVED;
    put_count(f, id, g->moved);
}

static struct figure_id group_id(enum figure_scope scope, const struct group_key *k, unsigned by)
{
    return (struct figure_id){.scope = (uint8_t)scope,
                              .by = (uint16_t)by,
                              .tier = by & GROUPS_TIER ? k->tier : 0,
                              .op = by & GROUPS_OP ? k->op : 0,
                              .phase = by & GROUPS_PHASE ? k->phase : 0,
                              .qos = by & GROUPS_QOS ? k->qos : 0,
                              .class = by & GROUPS_CLASS ? k->class : 0,
                              .status = by & GROUPS_STATUS ? k->status : 0};
}

/* A name in a trace may be as long as it likes; names of figures are bounded. */
static const char *keep_name(struct figures *f, const struct trace_str *name)
{
    char whole[1100], cut[1024];
    size_t len = name->len < sizeof(whole) ? name->len : sizeof(whole) - 1;
    snprintf(whole, sizeof(whole), "%.*s", (int)len, len ? name->p : "");
    figure_cut_text(cut, sizeof(cut), whole);
    return figures_keep(f, cut);
}

static void put_groups(struct figures *f)
{
    struct groups *groups = agg_groups(f->scan->agg);
    unsigned texts = groups_by(groups) & GROUPS_TEXT;
    size_t n = sort_groups(f, groups),
           room = texts & (texts - 1) ? 300 : 512; /* of each name in a label */
    if (n == 0)
        put_texts(f, figure_id(FIGURE_OF_GROUP, FIGURE_ITSELF), NULL, 0);
    for (size_t i = 0; i < n; i++) {
        const struct group *g = groups_at(groups, i);
        struct figure_id id = group_id(FIGURE_OF_GROUP, &g->key, groups_by(groups));
        struct figure_id brief = id;
        char start[GROUP_TEXTS][512], label[1024];
        for (unsigned t = 0; t < GROUP_TEXTS; t++)
            if (id.by & group_text_bit(t)) {
                id.text[t] = keep_name(f, &g->key.text[t]);
                figure_cut_text(start[t], room, id.text[t]);
                jsonout_clean(start[t]);
                brief.text[t] = start[t];
            }
        id.label = figures_keep(f, figure_label(label, sizeof(label), &brief, '/'));
        put_group(f, id, g);
    }
}

/* ---- cache ---- */

static bool tier_used(const struct figures *f, unsigned tier)
{
    const struct groups *g = agg_by_tier_op(f->scan->agg);
    return groups_find(g, (uint8_t)tier, TRACE_READ) ||
           groups_find(g, (uint8_t)tier, TRACE_WRITE) ||
           groups_find(g, (uint8_t)tier, TRACE_DELETE) ||
           f->scan->occupancy.tier[tier].peak_objects > 0;
}

/* Misses are not known of a file that has no Miss rows; hits of all classes are known all the same.
 */
static void put_lookups(struct figures *f, struct figure_id id, uint64_t hits, uint64_t misses,
                        bool known)
{
    bool counted = known || !(id.by & GROUPS_CLASS);
    id.what = FIGURE_LOOKUPS;
    put_count_if(f, counted, id, hits + misses);
    id.what = FIGURE_HITS;
    put_count_if(f, counted, id, hits);
    id.what = FIGURE_MISSES;
    put_count_if(f, known, id, misses);
    id.what = FIGURE_HIT_RATE;
    put_number(f, id, known ? ratio((double)hits, (double)hits + (double)misses) : NAN);
}

static void put_cache_tier(struct figures *f, unsigned tier, const struct provenance *p)
{
    const struct agg_totals *t = agg_totals(f->scan->agg);
    const struct occupancy_tier *held = &f->scan->occupancy.tier[tier];
    static const struct {
        enum trace_op op;
        enum figure_what ops, bytes;
    } moved[] = {{TRACE_READ, FIGURE_READ_OPS, FIGURE_READ_BYTES},
                 {TRACE_WRITE, FIGURE_WRITE_OPS, FIGURE_WRITE_BYTES}};
    const enum figure_scope scope = FIGURE_OF_CACHE_TIER;
    const struct groups *groups = agg_by_tier_op(f->scan->agg);
    const struct group *deleted = groups_find(groups, (uint8_t)tier, TRACE_DELETE);
    put_known(f, figure_id_tier(scope, tier, FIGURE_CAPACITY_BYTES),
              p->capacity_bytes[tier] > 0 ? p->capacity_bytes[tier] : -1);
    for (size_t i = 0; i < sizeof(moved) / sizeof(moved[0]); i++) {
        const struct group *g = groups_find(groups, (uint8_t)tier, (uint8_t)moved[i].op);
        put_count(f, figure_id_tier(scope, tier, moved[i].ops), g ? g->ops - g->failed : 0);
        put_count(f, figure_id_tier(scope, tier, moved[i].bytes), g ? g->bytes : 0);
    }
    put_count(f, figure_id_tier(scope, tier, FIGURE_EVICT_OPS), t->evict_ops[tier]);
    put_count(f, figure_id_tier(scope, tier, FIGURE_OFFLOAD_OPS), t->offload_ops[tier]);
    put_count(f, figure_id_tier(scope, tier, FIGURE_PROMOTE_OPS), t->promote_ops[tier]);
    put_count(f, figure_id_tier(scope, tier, FIGURE_DELETE_OPS),
              deleted ? deleted->ops - deleted->failed : 0);
    if (f->result && has(f, TRACE_COL_STATUS)) {
        put_count(f, figure_id_tier(scope, tier, FIGURE_CORRUPT), t->corrupt_of[tier]);
        put_count(f, figure_id_tier(scope, tier, FIGURE_STALE), t->stale[tier]);
        put_count(f, figure_id_tier(scope, tier, FIGURE_WRONG), t->wrong[tier]);
    }
    put_level(f, figure_id_tier(scope, tier, FIGURE_PEAK_BYTES), held->peak_bytes);
    put_level(f, figure_id_tier(scope, tier, FIGURE_PEAK_OBJECTS), held->peak_objects);
    if (f->scan->files == 1) {
        put_level(f, figure_id_tier(scope, tier, FIGURE_FINAL_BYTES), held->bytes);
        put_level(f, figure_id_tier(scope, tier, FIGURE_FINAL_OBJECTS), held->objects);
    } else {
        put_unknown(f, figure_id_tier(scope, tier, FIGURE_FINAL_BYTES));
        put_unknown(f, figure_id_tier(scope, tier, FIGURE_FINAL_OBJECTS));
    }
}

static void put_cache(struct figures *f, const struct provenance *p)
{
    const struct agg_totals *t = agg_totals(f->scan->agg);
    uint64_t hits = 0, misses = 0;
    double amplification = NAN;
    bool any = false;
    for (int c = 0; c <= TRACE_NO_CLASS; c++) {
        hits += t->hits[c];
        misses += t->misses[c];
    }
    /* A file of the core columns alone has no Miss rows: its reads say nothing about misses. */
    put_lookups(f, figure_id(FIGURE_OF_LOOKUPS, FIGURE_ITSELF), hits, misses,
                f->scan->columns & TRACE_EXTENDED);
    for (unsigned i = 0; i < FIGURE_LOOKUP_CLASSES; i++) {
        uint8_t class = figure_lookup_classes[i];
        put_lookups(f, figure_id_class(class), t->hits[class], t->misses[class],
                    has(f, TRACE_COL_CLASS));
    }
    if (has(f, TRACE_COL_TOKENS) && t->reads_without_tokens == 0)
        amplification =
            ratio((double)t->read_tokens,
                  figures_number(f, figure_id(FIGURE_OF_WALL, FIGURE_GENERATED_TOKENS)));
    put_number(f, figure_id(FIGURE_OF_CACHE, FIGURE_READ_WRITE_RATIO),
               ratio((double)t->read_bytes, (double)t->write_bytes));
    put_number(f, figure_id(FIGURE_OF_CACHE, FIGURE_READ_AMPLIFICATION), amplification);
    for (unsigned tier = 0; tier < TRACE_TIERS; tier++)
        if (tier_used(f, tier)) {
            put_cache_tier(f, tier, p);
            any = true;
        }
    if (!any)
        put_texts(f, figure_id(FIGURE_OF_CACHE_TIER, FIGURE_ITSELF), NULL, 0);
}

/* ---- requests ---- */

static void put_request_times(struct figures *f, struct figure_id id,
                              struct hist *const metric[REQUESTS_METRICS])
{
    for (unsigned m = 0; m < REQUESTS_METRICS; m++) {
        id.what = (uint8_t)(FIGURE_END_TO_END + m);
        if (m < REQUESTS_FIRST_TOKEN || metric[m])
            put_hist(f, id, metric[m]);
    }
}

static void put_class(struct figures *f, unsigned q, const struct figures_targets *targets,
                      const struct provenance_queue *queue)
{
    const struct requests_totals *r = requests_totals(f->scan->requests);
    struct figure_id id = {.scope = FIGURE_OF_QOS, .by = GROUPS_QOS, .qos = (uint8_t)q};
    uint64_t count = r->qos[q].count;
    double share = (double)r->qos[q].within_target / (double)count;
    if (count == 0 && !queue->known) {
        put_unknown(f, id);
        return;
    }
    id.what = FIGURE_REQUESTS;
    put_count(f, id, count);
    put_request_times(f, id, r->qos[q].metric);
    if (queue->known) {
        id.what = FIGURE_QUEUE_MEAN;
        put_number(f, id, queue->mean_ms);
        id.what = FIGURE_WAITING;
        put_count(f, id, (uint64_t)queue->waiting);
    }
    if (count == 0)
        return;
    id.scope = FIGURE_OF_TARGETS;
    id.what = FIGURE_ITSELF;
    if (r->with_arrival < r->count) {
        put_unknown(f, id);
        return;
    }
    for (unsigned i = 0; i < FIGURES_TARGETS; i++) {
        id.what = (uint8_t)(FIGURE_TARGET_P95 + i);
        put_number(f, id, targets[q].ms[i]);
    }
    id.what = FIGURE_COMPLIANCE;
    put_number(f, id, share);
    id.what = FIGURE_MET;
    if (figures_is_scaled(f))
        put_unknown(f, id);
    else
        put_truth(f, id, share >= FIGURES_COMPLIANCE);
}

static void put_requests(struct figures *f, const struct figures_targets *targets,
                         const struct provenance *p)
{
    static const char *const begins[] = {"first_start", "arrival"};
    const enum figure_scope scope = FIGURE_OF_REQUESTS;
    const struct agg_totals *t = agg_totals(f->scan->agg);
    const struct requests_totals *r = requests_totals(f->scan->requests);
    double context = NAN, generated = NAN;
    if (r->count == 0) {
        put_unknown(f, figure_id(scope, FIGURE_ITSELF));
        return;
    }
    /* Requests that were cut into parts are counted more than once: then no mean is right. */
    if (has(f, TRACE_COL_TOKENS) && r->cut == 0) {
        if (t->context_tokens > 0)
            context = ratio((double)t->context_tokens, (double)r->count);
        generated = ratio((double)t->generated_tokens, (double)t->generate_rows);
    }
    put_count(f, figure_id(scope, FIGURE_REQUESTS), r->count);
    put_count(f, figure_id(scope, FIGURE_FAILED), r->failed);
    put_count(f, figure_id(scope, FIGURE_COUNTED_IN_PARTS), r->cut);
    /* Where no request has a Generate row, none was to have one. */
    put_count(f, figure_id(scope, FIGURE_CUT_OFF),
              r->metric[REQUESTS_GENERATION] ? r->unanswered : 0);
    put_word(f, figure_id(scope, FIGURE_END_TO_END_FROM), begins, r->with_arrival > 0);
    put_number(f, figure_id(scope, FIGURE_CONTEXT_TOKENS_MEAN), context);
    put_number(f, figure_id(scope, FIGURE_GENERATED_TOKENS_MEAN), generated);
    put_request_times(f, figure_id(scope, FIGURE_ITSELF), r->metric);
    for (unsigned q = 0; q < TRACE_QOSES; q++)
        put_class(f, q, targets, &p->queue[q]);
}

static void put_ingest(struct figures *f)
{
    const struct requests_totals *r = requests_totals(f->scan->requests);
    if (r->ingested == 0)
        return;
    put_count(f, figure_id(FIGURE_OF_INGEST, FIGURE_REQUESTS), r->ingested);
    put_count(f, figure_id(FIGURE_OF_INGEST, FIGURE_FAILED), r->ingest_failed);
    put_hist(f, figure_id(FIGURE_OF_INGEST, FIGURE_END_TO_END), r->ingest);
}

/* ---- tiers, phases, reuse ---- */

/* The bandwidth of the MLPerf Storage KV-cache benchmark. */
static void put_over_elapsed(struct figures *f, struct figure_id id, const struct group *g)
{
    double elapsed_s = (double)agg_totals(f->scan->agg)->elapsed_ns / 1e9;
    if (id.op != TRACE_READ && id.op != TRACE_WRITE)
        return;
    id.what = FIGURE_GIB_PER_ELAPSED_S;
    put_number(f, id, ratio((double)g->moved / (double)UNITS_GIB, elapsed_s));
}

/* By tier and operation, all phases together. Only reads and writes of tiers have names; the text
 * shows the others too. */
static void put_directions(struct figures *f)
{
    const struct groups *groups = agg_by_tier_op(f->scan->agg);
    bool any = false;
    for (unsigned tier = 0; tier <= TRACE_NO_TIER; tier++) {
        bool used = tier < TRACE_TIERS && tier_used(f, tier);
        any |= used;
        for (unsigned op = 0; op < TRACE_OPS; op++) {
            const struct group *g = groups_find(groups, (uint8_t)tier, (uint8_t)op);
            struct figure_id id = figure_id_direction(tier, op, FIGURE_ITSELF);
            if (g) {
                put_group(f, id, g);
                put_over_elapsed(f, id, g);
            } else if (used && (op == TRACE_READ || op == TRACE_WRITE))
                put_unknown(f, id);
        }
    }
    if (!any)
        put_texts(f, figure_id(FIGURE_OF_DIRECTION, FIGURE_ITSELF), NULL, 0);
}

static void put_phases(struct figures *f)
{
    struct groups *phases = agg_by_phase(f->scan->agg);
    size_t n = sort_groups(f, phases);
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        const struct group *g = groups_at(phases, i);
        put_group(f, group_id(FIGURE_OF_PHASE, &g->key, GROUPS_PHASE), g);
        any |= g->key.phase != TRACE_NO_PHASE;
    }
    if (!any)
        put_texts(f, figure_id(FIGURE_OF_PHASE, FIGURE_ITSELF), NULL, 0);
}

static void put_reuse(struct figures *f)
{
    const enum figure_scope scope = FIGURE_OF_REUSE;
    const struct reuse *r = f->reuse;
    if (!r) {
        put_unknown(f, figure_id(scope, FIGURE_ITSELF));
        return;
    }
    put_count(f, figure_id(scope, FIGURE_KEYS), r->keys);
    put_count(f, figure_id(scope, FIGURE_BYTES), r->bytes);
    put_count(f, figure_id(scope, FIGURE_USES), r->uses);
    put_count(f, figure_id(scope, FIGURE_REUSES), r->reuses);
    put_hist(f, figure_id(scope, FIGURE_DISTANCE_BYTES), r->bytes_hist);
    put_hist(f, figure_id(scope, FIGURE_DISTANCE_OBJECTS), r->objects_hist);
    put_hist(f, figure_id(scope, FIGURE_REUSE_TIME), r->time_ns);
}

/* ---- all of them ---- */

static void make_intervals(struct figures *f, const struct provenance *p)
{
    struct intervals_source source = {.series = f->scan->series,
                                      .queue = p->queue,
                                      .end_ns = agg_totals(f->scan->agg)->end_ns,
                                      .warmup_ns = f->scan->warmup_ns,
                                      .misses_known = f->scan->columns & TRACE_EXTENDED};
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        source.used[t] = tier_used(f, t);
    f->intervals = intervals_create(&source);
    f->failed |= !f->intervals;
}

int figures_create(struct figures **out, const struct figures_source *s, struct err *e)
{
    struct figures *f = calloc(1, sizeof(*f));
    if (!f) {
        scan_free(s->scan);
        reuse_free(s->reuse);
        return err_nomem(e, "figures");
    }
    f->files = s->files;
    f->file_count = s->file_count;
    f->parts = s->parts;
    f->scan = s->scan;
    f->reuse = s->reuse;
    f->result = agg_result(s->scan->agg);
    put_rows(f);
    put_provenance(f, s->provenance);
    put_validity(f, s->provenance);
    put_throughput(f, s->provenance);
    put_bottleneck(f, s->provenance);
    put_groups(f);
    put_cache(f, s->provenance);
    put_requests(f, s->targets, s->provenance);
    put_ingest(f);
    put_directions(f);
    put_phases(f);
    put_reuse(f);
    if (f->scan->series)
        make_intervals(f, s->provenance);
    if (f->failed) {
        figures_free(f);
        return err_nomem(e, "figures");
    }
    *out = f;
    return 0;
}

void figures_free(struct figures *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->texts; i++)
        free(f->text[i]);
    free(f->text);
    free(f->why_invalid);
    free(f->list);
    intervals_free(f->intervals);
    scan_free(f->scan);
    reuse_free(f->reuse);
    free(f);
}

/* ---- finding them ---- */

bool figures_is_result(const struct figures *f)
{
    return f->result;
}

bool figures_is_empty(const struct figures *f, unsigned tier)
{
    return figures_is(f, figure_id_tier(FIGURE_OF_ROWS, tier, FIGURE_EMPTY));
}

const char *figures_origin(char buf[ORIGIN_TEXT], const struct figures *f, enum fact_scope scope)
{
    struct origin o;
    for (unsigned i = 0; i <= ORIGIN_PARTS; i++) {
        double bytes = figures_number(f, figure_id_fact(origin_fact(scope, i)));
        *(i == ORIGIN_PARTS ? &o.asked : &o.part[i]) = bytes;
    }
    return origin_text(buf, &o);
}

const char *figures_hits(char buf[ORIGIN_TEXT], const struct figures *f)
{
    return origin_hits_text(buf, figures_number(f, figure_id_fact(FACT_HITS_BYTES)),
                            figures_number(f, figure_id_fact(FACT_HITS_DEVICE_BYTES)));
}

const char *figures_stand_in(const struct figures *f, unsigned tier)
{
    if (figures_is_empty(f, tier))
        return "NOT EXECUTED";
    return figures_is(f, figure_id_tier(FIGURE_OF_ROWS, tier, FIGURE_SIMULATED)) ? "SIMULATED" : "";
}

bool figures_generates(const struct figures *f)
{
    const struct hist *h = figures_hist(f, figure_id(FIGURE_OF_REQUESTS, FIGURE_GENERATION));
    return h && hist_max(h) > 0 &&
           !figures_is(f, figure_id(FIGURE_OF_WALL, FIGURE_GENERATION_SKIPPED));
}

bool figures_is_scaled(const struct figures *f)
{
    double speed = figures_number(f, figure_id(FIGURE_OF_PROVENANCE, FIGURE_SPEED));
    return isfinite(speed) && speed != 1 && figures_generates(f);
}

bool figures_in_warmup(const struct figures *f)
{
    const struct agg_totals *t = agg_totals(f->scan->agg);
    return t->warmup_rows > 0 && t->io_ops == 0 && t->generate_rows == 0;
}

bool figures_of_parts(const struct figures *f)
{
    return f->parts;
}

const char *const *figures_files(const struct figures *f, size_t *n)
{
    *n = f->file_count;
    return f->files;
}

const struct figure *figures_list(const struct figures *f, size_t *n)
{
    *n = f->count;
    return f->list;
}

bool figures_next(const struct figures *f, enum figure_scope scope, struct figure_part *part)
{
    const struct figure *end = f->list + f->scope[scope].end;
    const struct figure *at =
        part->figure ? part->figure + part->count : f->list + f->scope[scope].first;
    while (at < end && at->id.scope != scope)
        at++;
    if (at >= end)
        return false;
    part->figure = at;
    for (part->count = 1; at + part->count < end; part->count++) {
        const struct figure_id *a = &at->id, *b = &at[part->count].id;
        if (a->scope != b->scope || a->by != b->by || a->tier != b->tier || a->op != b->op ||
            a->phase != b->phase || a->qos != b->qos || a->class != b->class ||
            a->label != b->label)
            break;
    }
    return true;
}

static const struct figure *find_exactly(const struct figures *f, struct figure_id id)
{
    for (size_t i = f->scope[id.scope].first; i < f->scope[id.scope].end; i++)
        if (figure_id_compare(&f->list[i].id, &id) == 0)
            return &f->list[i];
    return NULL;
}

const struct figure *figures_find(const struct figures *f, struct figure_id id)
{
    id.statistic = FIGURE_VALUE;
    return find_exactly(f, id);
}

double figures_number(const struct figures *f, struct figure_id id)
{
    const struct figure *figure = figures_find(f, id);
    if (!figure && id.statistic != FIGURE_VALUE && id.what >= FIGURE_FACT) {
        figure = find_exactly(f, id); /* a fact has statistics, and no values to make them of */
        return figure ? figure_number(figure) : NAN;
    }
    if (!figure)
        return NAN;
    return id.statistic == FIGURE_VALUE ? figure_number(figure)
                                        : figure_statistic(figure, id.statistic);
}

uint64_t figures_count(const struct figures *f, struct figure_id id)
{
    const struct figure *figure = figures_find(f, id);
    return figure && figure->form == FIGURE_FORM_UNSIGNED ? figure->count : 0;
}

const char *figures_text(const struct figures *f, struct figure_id id)
{
    const struct figure *figure = figures_find(f, id);
    if (figure && figure->form == FIGURE_FORM_TEXT)
        return figure->text;
    return figure && figure->form == FIGURE_FORM_WORD ? figure->list.item[figure->list.n] : "";
}

double figures_number_of(const struct figures *f, enum figure_scope scope, enum figure_what what)
{
    return figures_number(f, figure_id(scope, what));
}

uint64_t figures_count_of(const struct figures *f, enum figure_scope scope, enum figure_what what)
{
    return figures_count(f, figure_id(scope, what));
}

uint64_t figures_status_count(const struct figures *f, enum figure_what status)
{
    return figures_count_of(f, FIGURE_OF_STATUS, status) +
           figures_count_of(f, FIGURE_OF_ROWS, status);
}

const char *figures_text_of(const struct figures *f, enum figure_scope scope, enum figure_what what)
{
    return figures_text(f, figure_id(scope, what));
}

bool figures_is(const struct figures *f, struct figure_id id)
{
    const struct figure *figure = figures_find(f, id);
    return figure && figure->form == FIGURE_FORM_TRUTH && figure->truth;
}

bool figures_is_not(const struct figures *f, struct figure_id id)
{
    const struct figure *figure = figures_find(f, id);
    return figure && figure->form == FIGURE_FORM_TRUTH && !figure->truth;
}

const struct hist *figures_hist(const struct figures *f, struct figure_id id)
{
    const struct figure *figure = figures_find(f, id);
    return figure && figure->form == FIGURE_FORM_DISTRIBUTION ? figure->hist : NULL;
}

/* The series of a distribution of rows. */
static bool followed(enum figure_what what, enum sequences_metric *metric)
{
    static const enum figure_what whats[SEQUENCES_METRICS] = {[SEQUENCES_SERVICE] = FIGURE_SERVICE,
                                                              [SEQUENCES_DEVICE] = FIGURE_DEVICE,
                                                              [SEQUENCES_RESPONSE] =
                                                                  FIGURE_RESPONSE,
                                                              [SEQUENCES_WAIT] = FIGURE_WAIT};
    for (unsigned m = 0; m < SEQUENCES_METRICS; m++)
        if (whats[m] == what) {
            *metric = m;
            return true;
        }
    return false;
}

const struct blocks *figures_blocks(const struct figures *f, const struct figure_id *id)
{
    const struct requests_totals *r = requests_totals(f->scan->requests);
    const struct sequences *s = f->scan->sequences;
    const struct group_key key = {.tier = id->tier,
                                  .op = id->op,
                                  .phase = id->phase,
                                  .qos = id->qos,
                                  .class = id->class,
                                  .status = id->status};
    enum sequences_metric metric;
    if (id->scope == FIGURE_OF_REQUESTS)
        return id->what == FIGURE_END_TO_END ? r->end_to_end : NULL;
    if (id->scope == FIGURE_OF_QOS)
        return id->what == FIGURE_END_TO_END    ? r->qos[id->qos].end_to_end
               : id->what == FIGURE_FIRST_TOKEN ? r->qos[id->qos].first_token
                                                : NULL;
    if (s && id->scope == FIGURE_OF_LOOKUPS)
        return id->what == FIGURE_HIT_RATE ? sequences_lookups(s) : NULL;
    if (!s || !followed(id->what, &metric))
        return NULL;
    if (id->scope == FIGURE_OF_DIRECTION)
        return sequences_direction(s, id->tier, id->op, metric);
    bool same = id->scope == FIGURE_OF_GROUP && id->by == sequences_by(s);
    return same ? sequences_group(s, &key, metric) : NULL;
}

const struct blocks *figures_waits(const struct figures *f)
{
    return f->scan->sequences ? sequences_waits(f->scan->sequences) : NULL;
}

const struct direct *figures_direct(const struct figures *f)
{
    return agg_direct(f->scan->agg);
}

const struct requests_list *figures_request_list(const struct figures *f)
{
    return figures_direct(f) ? &requests_totals(f->scan->requests)->list : NULL;
}

const char *const *figures_why_invalid(const struct figures *f, size_t *n)
{
    *n = f->why_count;
    return f->why_invalid;
}

const struct validity *figures_validity(const struct figures *f)
{
    return &f->validity;
}

const struct intervals *figures_intervals(const struct figures *f)
{
    return f->intervals;
}
