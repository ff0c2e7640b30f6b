/* The screens of an answer. Every command of kvtrace that asks what a drive gives shows the same
 * lines, with its own first ones; a line of which nothing is known is left out. */
#include "kvstat/answer/view.h"

#include <math.h>
#include <string.h>

#include "kvstat/answer/answer_knee.h"
#include "kvstat/report/cells.h"
#include "kvstat/screen/lines.h"
#include "lib/facts/judge.h"
#include "lib/text/text.h"

#define LITTLE 0.01 /* of all bytes */
/* The words for a load whose simulation was given up. */
#define TRIED_NO_FIGURES "given up before it was warm"
enum {
    INDENT = 16,
    TALL = 8,  /* lines of a paragraph */
    ROWS = 12, /* numbers that the table shows beside those that are named */
    NAME = 40, /* columns of a name from outside */
    COLUMN = 31
};

/* ---- numbers ---- */

const char *view_span(char *buf, double s)
{
    if (!isfinite(s))
        snprintf(buf, CELL, "-");
    else if (s == 0)
        snprintf(buf, CELL, "0");
    else if (s < 0.9995e-3)
        snprintf(buf, CELL, "%.3g us", 1e6 * s);
    else if (s < 0.9995)
        snprintf(buf, CELL, "%.3g ms", 1e3 * s);
    else if (s < 120)
        snprintf(buf, CELL, "%.3g s", s);
    else if (s < 7200)
        snprintf(buf, CELL, "%.0f min", s / 60);
    else if (s < 172800)
        snprintf(buf, CELL, "%.2g h", s / 3600);
    else
        snprintf(buf, CELL, "%.0f days", s / 86400);
    return buf;
}

const char *view_rate(char *buf, double bytes_s)
{
    cell_decimal(buf, bytes_s);
    if (isfinite(bytes_s))
        text_append(buf, CELL, "/s");
    return buf;
}

/* Tokens in powers of ten: "88.8 billion". */
static const char *large(char *buf, double n)
{
    static const char *const names[] = {"", " thousand", " million", " billion", " trillion"};
    size_t i = 0;
    while (i < 4 && fabs(n) >= 999.5) {
        n /= 1000;
        i++;
    }
    snprintf(buf, CELL, "%.3g%s", n, names[i]);
    return buf;
}

/* "38 (36-40)". Returns buf. */
static const char *view_held(char buf[VIEW_LINE], const struct answer *a, enum answer_variant v)
{
    const struct answer_held *h = &a->users[v];
    char value[CONCLUSION_NUMBER], low[CONCLUSION_NUMBER], high[CONCLUSION_NUMBER];
    snprintf(buf, VIEW_LINE, "%s", conclusion_number(value, a, h->value));
    if (h->low != h->high)
        text_append(buf, VIEW_LINE, " (%s-%s)", conclusion_number(low, a, h->low),
                    conclusion_number(high, a, h->high));
    return buf;
}

static bool is_none(const char *text)
{
    return !text || !text[0];
}

/* ---- the head ---- */

const char *view_load(char buf[VIEW_LINE], const struct answer *a)
{
    char model[LINES_BYTES], gpu[LINES_BYTES], source[LINES_BYTES];
    double n = a->settings.tensor_parallel;
    snprintf(buf, VIEW_LINE, "%s on ", lines_shorten(model, a->settings.model, NAME));
    lines_shorten(gpu, a->settings.gpu, NAME);
    if (n > 1)
        text_append(buf, VIEW_LINE, "%.0f %s", n, gpu);
    else
        text_append(buf, VIEW_LINE, "one %s", gpu);
    text_append(buf, VIEW_LINE, " (%s), %.40s", a->by_calculation ? "by calculation" : "measured",
                a->settings.engine);
    if (!is_none(a->settings.engine_version))
        text_append(buf, VIEW_LINE, " %.20s", a->settings.engine_version);
    if (!is_none(a->settings.population))
        text_append(buf, VIEW_LINE, ", %s users",
                    lines_shorten(source, a->settings.population, NAME));
    else if (!is_none(a->settings.source))
        text_append(buf, VIEW_LINE, ", requests of %s",
                    lines_shorten(source, a->settings.source, NAME));
    return buf;
}

const char *view_drive_name(const struct answer *a)
{
    return !is_none(a->settings.target)   ? a->settings.target
           : !is_none(a->settings.device) ? a->settings.device
           : !is_none(a->settings.text)   ? a->settings.text
                                          : "the drive";
}

/* "2026-01-01T00:00:00Z" as people write it. */
static void add_time(char *buf, size_t n, const char *started)
{
    char time[17];
    figure_cut_text(time, sizeof(time), started);
    for (char *c = time; *c; c++)
        if (*c == 'T')
            *c = ' ';
    text_append(buf, n, ", measured %s", time);
}

const char *view_drive(char buf[VIEW_LINE], const struct answer *a)
{
    char name[LINES_BYTES], device[LINES_BYTES], facts[VIEW_LINE] = "", size[CELL];
    const char *validity = a->settings.validity;
    if (!is_none(a->settings.device) && view_drive_name(a) != a->settings.device)
        text_append(facts, sizeof(facts), ", %s", lines_shorten(device, a->settings.device, 24));
    if (a->settings.capacity > 0)
        text_append(facts, sizeof(facts), ", %s", cell_decimal(size, a->settings.capacity));
    if (!is_none(a->settings.started))
        add_time(facts, sizeof(facts), a->settings.started);
    else
        text_append(facts, sizeof(facts), ", simulated");
    snprintf(buf, VIEW_LINE, "%.160s (%.240s)", lines_shorten(name, view_drive_name(a), NAME),
             facts + 2);
    if (!is_none(validity) && strncmp(validity, "good", 4) != 0)
        text_append(buf, VIEW_LINE, "; that measurement is %.160s", validity);
    return buf;
}

/* ---- lines ---- */

static void put_text(struct lines *l, const char *title, const char *text)
{
    struct lines_parts p = {0};
    if (text[0])
        lines_part(&p, "%s", text);
    lines_paragraph(l, title, &p, "", TALL);
}

static bool has_interval(const struct answer *a)
{
    for (unsigned v = 0; v < ANSWER_VARIANTS; v++)
        if (a->users[v].low < a->users[v].high)
            return true;
    return false;
}

/* The brackets of this drive and of no drive have numbers in common. */
static bool intervals_meet(const struct answer *a)
{
    return a->users[ANSWER_THIS].low <= a->users[ANSWER_NONE].high &&
           a->users[ANSWER_NONE].low <= a->users[ANSWER_THIS].high;
}

/* "2 users fewer to 8 more", "3 to 8 users more", "3 users more". Returns buf. */
static const char *view_gain(char buf[VIEW_LINE], const struct answer *a)
{
    const struct answer_gain *g = &a->gain;
    char low[CONCLUSION_NUMBER], high[CONCLUSION_NUMBER];
    buf[0] = '\0';
    if (g->low < 0)
        text_append(buf, VIEW_LINE, "%s fewer to %s more", conclusion_count(low, a, -g->low),
                    conclusion_number(high, a, fmax(g->high, 0)));
    else if (g->low < g->high)
        text_append(buf, VIEW_LINE, "%s to %s more", conclusion_number(low, a, g->low),
                    conclusion_count(high, a, g->high));
    else
        text_append(buf, VIEW_LINE, "%s more", conclusion_count(low, a, g->low));
    return buf;
}

/* Tells what brackets that overlap do not show: with the same requests, one of both holds more. */
static void put_gain(struct lines *l, const struct answer *a)
{
    const enum gain gain = gain_of(a);
    char text[VIEW_LINE], more[VIEW_LINE];
    if (!a->reached || (gain == GAIN_IS_THERE && !intervals_meet(a)))
        return;
    if (gain == GAIN_NONE)
        snprintf(text, sizeof(text), "no gain: this drive holds no more than no drive");
    else
        snprintf(text, sizeof(text), "%s: seed by seed, this drive holds %s than no drive",
                 gain == GAIN_OPEN ? "gain not decided" : "a gain", view_gain(more, a));
    put_text(l, " ", text);
}

static void put_held(struct lines *l, const struct answer *a)
{
    static const char *const words[] = {
        [ANSWER_THIS] = "this drive", [ANSWER_NONE] = "no drive", [ANSWER_IDEAL] = "ideal"};
    const char *title = a->requests ? "Requests held" : "Users held";
    char line[VIEW_LINE] = "", held[VIEW_LINE], next[VIEW_LINE];
    for (unsigned v = 0; v < ANSWER_VARIANTS; v++) {
        snprintf(next, sizeof(next), "%s %.100s", words[v], view_held(held, a, v));
        if (line[0] && INDENT + strlen(line) + 3 + strlen(next) > LINES_COLUMNS) {
            lines_add(l, "%-*s%s", INDENT, title, line);
            title = "";
            line[0] = '\0';
        }
        text_append(line, sizeof(line), "%s%s", line[0] ? "   " : "", next);
    }
    lines_add(l, "%-*s%s", INDENT, title, line);
    if (has_interval(a)) {
        const double seeds = a->settings.seeds;
        snprintf(line, sizeof(line),
                 "held in %.0f of %.0f random loads (seeds); brackets: in all, in any",
                 seeds - floor(seeds / 5), seeds);
        put_text(l, " ", line);
    }
    put_gain(l, a);
}

static void put_at(struct lines *l, const struct answer *a)
{
    const struct answer_served *with = &a->served[ANSWER_THIS], *without = &a->served[ANSWER_NONE];
    char n[CONCLUSION_NUMBER], title[CONCLUSION_NUMBER + 8], time[CELL], text[VIEW_LINE] = "";
    snprintf(title, sizeof(title), "At %s", conclusion_count(n, a, a->at));
    if (isfinite(with->first_token_p95)) {
        text_append(text, sizeof(text), "first token p95 %s",
                    view_span(time, with->first_token_p95));
        text_append(text, sizeof(text), " (limit %s)", view_span(time, a->settings.ttft_s));
    }
    if (isfinite(without->first_token_p95))
        text_append(text, sizeof(text), "; without the drive %s",
                    view_span(time, without->first_token_p95));
    put_text(l, title, text);
}

/* Bytes a second in GB/s, without the unit. */
static void add_giga(char *buf, size_t n, double bytes_s)
{
    double v = bytes_s / 1e9;
    if (v >= 0.0095)
        text_append(buf, n, "%.*f", v >= 9.95 ? 0 : v >= 0.995 ? 1 : 2, v);
    else
        text_append(buf, n, "%.1g", v);
}

/* "reads 0.25 GB/s of 6.5, writes 0.09 of 4.9". What the drive can do of a direction that has next
 * to nothing of the bytes says more of the mix than of the drive. */
static void add_loads(char *buf, size_t n, const struct answer *a)
{
    const struct {
        const char *word;
        double asked, can;
    } load[] = {{"reads", a->read.asked, a->read.can}, {"writes", a->write.asked, a->write.can}};
    const char *unit = " GB/s";
    const double all = fmax(a->read.asked, 0) + fmax(a->write.asked, 0);
    for (size_t i = 0; i < sizeof(load) / sizeof(load[0]); i++) {
        if (!isfinite(load[i].asked))
            continue;
        text_append(buf, n, "%s%s ", buf[0] ? ", " : "", load[i].word);
        if (load[i].asked == 0) {
            text_append(buf, n, "none");
            continue;
        }
        add_giga(buf, n, load[i].asked);
        text_append(buf, n, "%s", unit);
        unit = "";
        if (!isfinite(load[i].can) || load[i].asked < all * LITTLE)
            continue;
        text_append(buf, n, " of ");
        add_giga(buf, n, load[i].can);
    }
    if (isfinite(a->read.can) || isfinite(a->write.can))
        text_append(buf, n, " at this mix and depth");
}

static void put_drive(struct lines *l, const struct answer *a)
{
    char text[VIEW_LINE] = "", size[CELL], time[CELL], p95[CELL];
    char unreached[2 * CONCLUSION_NUMBER];
    const char *title = "The drive";
    if (!a->reached) {
        put_text(l, title, conclusion_unreached(unreached, a));
        return;
    }
    add_loads(text, sizeof(text), a);
    if (text[0]) {
        put_text(l, title, text);
        title = " ";
    }
    if (a->written_day > 0) {
        snprintf(text, sizeof(text), "%s written a day", cell_decimal(size, a->written_day));
        if (isfinite(a->full_after_s))
            text_append(text, sizeof(text), ": full after %s, then the oldest go",
                        view_span(time, a->full_after_s));
        else if (isfinite(a->filled))
            text_append(text, sizeof(text), "; after a day it holds %.0f %% of its capacity",
                        100 * a->filled);
        put_text(l, title, text);
        title = " ";
    }
    if (isfinite(a->hit_p50)) {
        snprintf(text, sizeof(text), "a hit waits %s", view_span(time, a->hit_p50));
        if (isfinite(a->hit_p95))
            text_append(text, sizeof(text), " (p95 %s)", view_span(p95, a->hit_p95));
        text_append(text, sizeof(text), " for the drive and for room in memory");
        if (isfinite(a->computing_s))
            text_append(text, sizeof(text), "; computing it takes %s on an idle GPU",
                        view_span(time, a->computing_s));
        put_text(l, title, text);
    }
}

/* "16 reads in flight, 6.4 GB/s"; whole: "16 reads of 4 MiB in flight, 6.4 GB/s at p95 12 ms"; ""
 * where it is not known. Returns buf. */
static const char *knee(char buf[VIEW_LINE], const struct answer *a, bool whole)
{
    struct answer_knee k;
    char cell[CELL];
    buf[0] = '\0';
    if (!answer_knee_find(&k, a))
        return buf;
    text_append(buf, VIEW_LINE, "%s%.0f", k.found ? "" : "none up to ", k.in_flight);
    text_append(buf, VIEW_LINE, " %s",
                k.read_share >= 1   ? "reads"
                : k.read_share <= 0 ? "writes"
                                    : "reads and writes");
    if (whole)
        text_append(buf, VIEW_LINE, " of %s", cell_size(cell, k.size_bytes));
    text_append(buf, VIEW_LINE, " in flight, ");
    add_giga(buf, VIEW_LINE, k.bytes_s);
    text_append(buf, VIEW_LINE, " GB/s");
    if (whole && isfinite(k.p95_s))
        text_append(buf, VIEW_LINE, " at p95 %s", view_span(cell, k.p95_s));
    return buf;
}

static void put_knee(struct lines *l, const struct answer *a)
{
    char text[VIEW_LINE];
    knee(text, a, true);
    if (text[0] && a->reached && isfinite(a->in_flight))
        text_append(text, sizeof(text), "; this load keeps %.*f", a->in_flight < 9.95 ? 1 : 0,
                    a->in_flight);
    put_text(l, "Knee", text);
}

void view_origin(struct view_share share[VIEW_ORIGINS], const struct answer *a)
{
    share[0] = (struct view_share){"GPU", "origin.gpu", a->origin.gpu};
    share[1] = (struct view_share){"host memory", "origin.host", a->origin.host};
    share[2] = (struct view_share){"drive", "origin.storage", a->origin.storage};
    share[3] = (struct view_share){"computed", "origin.computed", a->origin.computed};
}

static void put_origin(struct lines *l, const struct answer *a)
{
    struct view_share from[VIEW_ORIGINS];
    struct lines_parts p = {0};
    view_origin(from, a);
    for (size_t i = 0; i < VIEW_ORIGINS; i++)
        if (isfinite(from[i].share))
            lines_part(&p, "%s %.0f %%", from[i].word, 100 * from[i].share);
    lines_paragraph(l, "Tokens from", &p, ", ", TALL);
}

/* Figures of a simulation whose tiers still fill are those of its beginning. */
static void put_warm(struct lines *l, const struct answer *a)
{
    char text[VIEW_LINE], time[CELL];
    if (a->settled || !isfinite(a->warm_after_s))
        return;
    snprintf(text, sizeof(text), "no: after %s of this load these shares still change",
             view_span(time, a->warm_after_s));
    put_text(l, "Warm", text);
}

static void put_limit(struct lines *l, const struct answer *a)
{
    const double more = a->users[ANSWER_IDEAL].value - a->users[ANSWER_THIS].value;
    char text[VIEW_LINE], n[CONCLUSION_NUMBER];
    if (!is_none(a->limit_text))
        snprintf(text, sizeof(text), "%.300s", a->limit_text);
    else if (more > 0)
        snprintf(text, sizeof(text), "a faster drive adds at most %s",
                 conclusion_count(n, a, more));
    else
        snprintf(text, sizeof(text), "even an ideal drive holds no more");
    put_text(l, "What ends it", text);
}

/* "reads p50 43 ms, p95 99 ms (model 41 ms, 96 ms)", with the separator before it: a P95 where
 * there are enough samples for one. Returns whether there is anything to say. */
static bool add_times(char *buf, const struct confirm *c, unsigned op, const char *separator)
{
    static const char *const words[CONFIRM_OPS] = {"reads", "writes"};
    const struct confirm_op *measured = &c->drive.op[op], *model = &c->model.op[op];
    char a[CELL], b[CELL];
    bool p95 = measured->samples >= judge_samples(950000);
    const size_t n = CONCLUSION_WHY;
    if (measured->samples == 0 || (op == CONFIRM_WRITES && !p95))
        return false;
    text_append(buf, n, "%s %s p50 %s", separator, words[op],
                view_span(a, measured->s[CONFIRM_P50]));
    if (p95)
        text_append(buf, n, ", p95 %s", view_span(b, measured->s[CONFIRM_P95]));
    text_append(buf, n, " (model %s", view_span(a, model->s[CONFIRM_P50]));
    if (p95)
        text_append(buf, n, ", %s", view_span(b, model->s[CONFIRM_P95]));
    text_append(buf, n, ")");
    return true;
}

const char *view_confirmed(char buf[CONCLUSION_WHY], const struct conclusion *c, bool reason)
{
    const struct confirm *confirm = c->confirm;
    buf[0] = '\0';
    if (!confirm) {
        snprintf(buf, CONCLUSION_WHY, "%s",
                 c->answer->reached ? "no: this load never ran on the drive, all is by its model"
                                    : "");
        return buf;
    }
    if (confirm->cause == CONFIRM_NOTHING) {
        snprintf(buf, CONCLUSION_WHY, "no: %s", confirm->why);
        return buf;
    }
    if (c->unconfirmed)
        text_append(buf, CONCLUSION_WHY, "no: ");
    text_append(buf, CONCLUSION_WHY, "%.0f s on the drive", confirm->drive.elapsed_s);
    bool reads = add_times(buf, confirm, CONFIRM_READS, ":");
    add_times(buf, confirm, CONFIRM_WRITES, reads ? "," : ":");
    if (c->unconfirmed && reason)
        text_append(buf, CONCLUSION_WHY, ". INCONCLUSIVE: %s", confirm->why);
    return buf;
}

/* How wrong the GPU's speed may be: for the verdict on the number that was asked, else for the
 * drive's holding more than none. */
static void put_holds(struct lines *l, const struct answer *a)
{
    char text[VIEW_LINE] = "";
    const bool asked = !isnan(a->asked);
    if (!asked && gain_of(a) != GAIN_IS_THERE)
        return;
    if (isfinite(a->prefill_low) && isfinite(a->prefill_high))
        snprintf(text, sizeof(text),
                 "if the GPU's prefill is %.2g to %.2g times as fast as assumed", a->prefill_low,
                 a->prefill_high);
    else if (isfinite(a->prefill_low))
        snprintf(text, sizeof(text),
                 "if the GPU's prefill is at least %.2g times as fast as assumed", a->prefill_low);
    else if (isfinite(a->prefill_high))
        snprintf(text, sizeof(text),
                 "if the GPU's prefill is at most %.2g times as fast as assumed", a->prefill_high);
    put_text(l, asked ? "Verdict holds" : "Drive helps", text);
}

static void put_wear(struct lines *l, const struct answer *a)
{
    char text[VIEW_LINE] = "", cell[CELL];
    if (isfinite(a->drive_writes_day) && a->drive_writes_day < 9.95)
        text_append(text, sizeof(text), "%.1f drive writes a day at this load",
                    a->drive_writes_day);
    else if (isfinite(a->drive_writes_day))
        text_append(text, sizeof(text), "%s drive writes a day at this load",
                    cell_number(cell, a->drive_writes_day));
    if (isfinite(a->years))
        text_append(text, sizeof(text), "%sits rated writes last %.2g years", text[0] ? "; " : "",
                    a->years);
    put_text(l, "Wear", text);
}

/* reason: why it is not confirmed stands in no line before. */
static void put_screen(struct lines *l, const struct conclusion *c, bool reason)
{
    const struct answer *a = c->answer;
    char text[VIEW_LINE], confirmed[CONCLUSION_WHY];
    lines_text(l, view_load(text, a));
    lines_text(l, view_drive(text, a));
    lines_gap(l);
    put_held(l, a);
    put_at(l, a);
    put_drive(l, a);
    put_knee(l, a);
    put_origin(l, a);
    put_warm(l, a);
    put_limit(l, a);
    put_text(l, "Confirmed", view_confirmed(confirmed, c, reason));
    put_holds(l, a);
    if (a->reached && a->written_day > 0)
        put_wear(l, a);
}

/* ---- the numbers that were tried ---- */

/* The numbers that the screen names: they have their rows, whatever else has none. */
static bool is_named(const struct answer *a, double users)
{
    const struct answer_held *h = &a->users[ANSWER_THIS];
    return users == h->value || users == h->low || users == h->high || users == a->asked;
}

/* Chooses the ROWS loads around the answer, of n in their order. Returns the first of them. */
static size_t choose_tried(const struct answer *a, size_t n)
{
    size_t below = 0;
    while (below < n && a->tried[below].users <= a->users[ANSWER_THIS].value)
        below++;
    const size_t from = below > ROWS / 2 ? below - ROWS / 2 : 0;
    return from + ROWS <= n ? from : n > ROWS ? n - ROWS : 0;
}

static void put_row(struct lines *l, const struct answer *a, const struct answer_tried *t)
{
    char users[CONCLUSION_NUMBER], held[CELL], good[CELL], first[CELL], rate[CELL];
    conclusion_number(users, a, t->users);
    snprintf(held, sizeof(held), "%.0f of %.0f", t->held, t->of);
    if (isfinite(t->goodput))
        lines_add(l, "%9s %10s %7s %15s %10s   %.60s", users, held, cell_percent(good, t->goodput),
                  view_span(first, t->first_token_p95), cell_number(rate, t->requests_s),
                  t->limit ? t->limit : "");
    else
        lines_add(l, "%9s %10s   %s%s%.60s", users, held, TRIED_NO_FIGURES, t->limit ? ": " : "",
                  t->limit ? t->limit : "");
}

static void put_tried(struct lines *l, const struct answer *a)
{
    size_t n = 0;
    while (n < a->tried_count && a->tried[n].variant == ANSWER_THIS)
        n++; /* it is the first variant */
    if (n == 0)
        return;
    const size_t from = choose_tried(a, n);
    lines_gap(l);
    lines_add(l, "%9s %10s %7s %15s %10s   %s", a->requests ? "Requests" : "Users", "seeds held",
              "good", "first token p95", "requests/s", "what ends it");
    for (size_t i = 0; i < n; i++)
        if ((i >= from && i < from + ROWS) || is_named(a, a->tried[i].users))
            put_row(l, a, &a->tried[i]);
}

/* All seeds held the most that was tried: beyond it nothing is known. */
static bool is_open(const struct answer *a)
{
    for (size_t i = 0; i < a->tried_count; i++)
        if (a->tried[i].variant == ANSWER_THIS && a->tried[i].users > a->users[ANSWER_THIS].value)
            return false;
    return true;
}

/* "PASS up to 36 users, INCONCLUSIVE from 37 to 40, FAIL above 40". */
static void put_ranges(struct lines *l, const struct conclusion *c)
{
    const struct answer *a = c->answer;
    const struct answer_held *h = &a->users[ANSWER_THIS];
    char n[CONCLUSION_NUMBER], text[VIEW_LINE] = "";
    if (c->unconfirmed)
        text_append(text, sizeof(text), "INCONCLUSIVE: not confirmed; by the model ");
    if (h->low > 0)
        text_append(text, sizeof(text), "PASS up to %s, ", conclusion_count(n, a, h->low));
    if (h->high > h->low) {
        text_append(text, sizeof(text), "INCONCLUSIVE %s %s", a->requests ? "above" : "from",
                    conclusion_number(n, a, h->low + (a->requests ? 0 : 1)));
        text_append(text, sizeof(text), " to %s, ", conclusion_number(n, a, h->high));
    }
    if (is_open(a))
        text_append(text, sizeof(text), "more was not tried");
    else
        text_append(text, sizeof(text), "FAIL above %s",
                    h->low > 0 ? conclusion_number(n, a, h->high)
                               : conclusion_count(n, a, h->high));
    lines_gap(l);
    lines_text(l, text);
}

/* ---- first lines ---- */

static void put_verdict(struct lines *l, const struct conclusion *c)
{
    char text[CONCLUSION_WHY + 32];
    if (c->judged)
        snprintf(text, sizeof(text), "%s: %s", conclusion_word(c->verdict), c->why);
    else
        snprintf(text, sizeof(text), "no number was asked for: kvgen --answer with --users N");
    lines_text(l, text);
    lines_gap(l);
}

/* " (14-20)", where there is an interval. */
static void add_interval(char *buf, const struct answer *a, const struct answer_gain *g)
{
    char n[CONCLUSION_NUMBER];
    if (!(g->low < g->high))
        return;
    text_append(buf, VIEW_LINE, " (%s", conclusion_number(n, a, g->low));
    text_append(buf, VIEW_LINE, "-%s)", conclusion_number(n, a, g->high));
}

/* Adds the savings at the number of users that the figures are of, which is not always the most. */
static void add_saved(char *buf, const struct answer *a)
{
    const bool tokens = a->worth.prefill_tokens_day > 0;
    char n[CONCLUSION_NUMBER], cell[CELL];
    if (!tokens && !(a->worth.gpu_s_day > 0))
        return;
    text_append(buf, VIEW_LINE, "; at %s it saves a day", conclusion_count(n, a, a->at));
    if (tokens)
        text_append(buf, VIEW_LINE, " %s tokens of prefill",
                    large(cell, a->worth.prefill_tokens_day));
    if (a->worth.gpu_s_day > 0)
        text_append(buf, VIEW_LINE, "%s %s GPU seconds", tokens ? "," : "",
                    cell_number(cell, a->worth.gpu_s_day));
}

const char *view_worth(char buf[VIEW_LINE], const struct answer *a)
{
    const enum gain gain = gain_of(a);
    char n[CONCLUSION_NUMBER], held[VIEW_LINE], unreached[2 * CONCLUSION_NUMBER];
    if (!a->reached) {
        snprintf(buf, VIEW_LINE, "no gain: %s", conclusion_unreached(unreached, a));
        return buf;
    }
    if (gain != GAIN_IS_THERE) {
        snprintf(buf, VIEW_LINE, "%s: this drive holds %.100s",
                 gain == GAIN_NONE ? "no gain" : "INCONCLUSIVE", view_held(held, a, ANSWER_THIS));
        text_append(buf, VIEW_LINE, ", no drive %.100s", view_held(held, a, ANSWER_NONE));
        if (gain == GAIN_OPEN)
            text_append(buf, VIEW_LINE, "; seed by seed, this drive holds %.100s",
                        view_gain(held, a));
        return buf;
    }
    snprintf(buf, VIEW_LINE, "gain: %s more", conclusion_count(n, a, a->gain.value));
    add_interval(buf, a, &a->gain);
    text_append(buf, VIEW_LINE, ", %.100s instead of", view_held(held, a, ANSWER_THIS));
    text_append(buf, VIEW_LINE, " %.100s", view_held(held, a, ANSWER_NONE));
    add_saved(buf, a);
    if (isfinite(a->worth.money_day))
        text_append(buf, VIEW_LINE, ", %.4g %.12s", a->worth.money_day,
                    a->worth.currency ? a->worth.currency : "of money");
    return buf;
}

static void put_worth(struct lines *l, const struct conclusion *c)
{
    char worth[VIEW_LINE], text[CONCLUSION_WHY + VIEW_LINE + 32];
    view_worth(worth, c->answer);
    if (c->unconfirmed)
        snprintf(text, sizeof(text), "INCONCLUSIVE: %s. By the model: %s", c->why, worth);
    else
        snprintf(text, sizeof(text), "%s", worth);
    lines_text(l, text);
    lines_gap(l);
}

/* The user's own GPU is what an answer by calculation lacks. */
static void put_ask(struct lines *l, const struct answer *a)
{
    if (!a->by_calculation)
        return;
    lines_gap(l);
    lines_text(l, "The GPU's speed is an estimate: give yours (--prefill-rate RATE@TOKENS).");
}

/* ---- two answers ---- */

static const char *view_better(char buf[VIEW_LINE], const struct conclusion pair[2])
{
    const struct answer *a = pair[0].answer, *b = pair[1].answer;
    enum better better = better_of(pair);
    bool second = better == BETTER_SECOND;
    const struct answer_gain g = second ? difference_of(a, b) : difference_of(b, a);
    char name[LINES_BYTES], n[CONCLUSION_NUMBER], held[VIEW_LINE];
    if (pair[0].unconfirmed || pair[1].unconfirmed) {
        snprintf(buf, VIEW_LINE, "INCONCLUSIVE: %s not confirmed by its run",
                 !pair[1].unconfirmed   ? "the first drive's model is"
                 : !pair[0].unconfirmed ? "the second drive's model is"
                                        : "both models are");
        return buf;
    }
    if (better == BETTER_UNKNOWN) {
        const struct answer_held *x = &a->users[ANSWER_THIS], *y = &b->users[ANSWER_THIS];
        const double hidden = (x->high - x->low + y->high - y->low) / 2;
        snprintf(buf, VIEW_LINE, "no difference found: %.100s", view_held(held, a, ANSWER_THIS));
        text_append(buf, VIEW_LINE, " and %.100s %s", view_held(held, b, ANSWER_THIS),
                    a->requests ? "requests" : "users");
        if (hidden > 0)
            text_append(buf, VIEW_LINE, "; a difference under %s would not show",
                        conclusion_count(n, a, hidden));
        return buf;
    }
    snprintf(buf, VIEW_LINE, "the %s is better: %s holds", second ? "second" : "first",
             lines_shorten(name, view_drive_name(second ? b : a), NAME));
    text_append(buf, VIEW_LINE, " %s more", conclusion_count(n, a, g.value));
    add_interval(buf, a, &g);
    return buf;
}

static void put_pair(struct lines *l, const char *title, const char *first, const char *second)
{
    char a[LINES_BYTES], b[LINES_BYTES];
    lines_shorten(a, first, COLUMN);
    lines_shorten(b, second, COLUMN);
    lines_add(l, "%-*s%-*s %s", INDENT, title, cell_pad(a, COLUMN), a, b);
}

static void put_pair_of(struct lines *l, const char *title, const char *(*cell)(char *, double),
                        double first, double second)
{
    char a[CELL], b[CELL];
    if (isfinite(first) || isfinite(second))
        put_pair(l, title, cell(a, first), cell(b, second));
}

/* The limit alone, without what a faster drive adds: the line of the ideal drive says that, and a
 * column has no room for both. */
static const char *limit_alone(char buf[VIEW_LINE], const struct answer *a)
{
    snprintf(buf, VIEW_LINE, "%.300s", a->limit_text ? a->limit_text : "-");
    char *colon = strstr(buf, ": ");
    if (colon)
        *colon = '\0';
    return buf;
}

static void put_compare(struct lines *l, const struct conclusion pair[2])
{
    const struct answer *a = pair[0].answer, *b = pair[1].answer;
    char text[VIEW_LINE], first[VIEW_LINE], second[VIEW_LINE];
    char n[CONCLUSION_NUMBER], title[CONCLUSION_NUMBER + 8];
    lines_text(l, view_better(text, pair));
    lines_gap(l);
    lines_text(l, view_load(text, a));
    lines_gap(l);
    put_pair(l, "Drive", view_drive_name(a), view_drive_name(b));
    for (unsigned v = 0; v < ANSWER_VARIANTS; v++) {
        const enum answer_variant variant = (enum answer_variant)v;
        snprintf(title, sizeof(title), "%s%.12s", v == ANSWER_THIS ? "" : "  ",
                 v == ANSWER_THIS ? (a->requests ? "Requests held" : "Users held")
                                  : answer_variant_words(variant));
        put_pair(l, title, view_held(first, a, variant), view_held(second, b, variant));
    }
    put_pair(l, "At", conclusion_count(n, a, a->at), conclusion_count(title, b, b->at));
    put_pair_of(l, "First token p95", view_span, a->served[ANSWER_THIS].first_token_p95,
                b->served[ANSWER_THIS].first_token_p95);
    put_pair_of(l, "Reads", view_rate, a->read.asked, b->read.asked);
    put_pair_of(l, "  it can", view_rate, a->read.can, b->read.can);
    put_pair_of(l, "Writes", view_rate, a->write.asked, b->write.asked);
    put_pair_of(l, "  it can", view_rate, a->write.can, b->write.can);
    knee(first, a, false);
    knee(second, b, false);
    if (first[0] || second[0])
        put_pair(l, "Knee", first[0] ? first : "-", second[0] ? second : "-");
    put_pair_of(l, "A hit waits", view_span, a->hit_p50, b->hit_p50);
    put_pair_of(l, "  p95", view_span, a->hit_p95, b->hit_p95);
    put_pair(l, "What ends it", limit_alone(first, a), limit_alone(second, b));
    put_pair(l, "Confirmed",
             pair[0].unconfirmed ? "no"
             : pair[0].confirm   ? "yes"
                                 : "not run on the drive",
             pair[1].unconfirmed ? "no"
             : pair[1].confirm   ? "yes"
                                 : "not run on the drive");
    for (int i = 0; i < 2; i++)
        if (pair[i].unconfirmed) {
            struct lines_parts p = {0};
            lines_part(&p, "%s", pair[i].why);
            lines_paragraph(l, i == 0 ? "First drive" : "Second drive", &p, "", TALL);
        }
}

/* ---- views ---- */

void view_put(FILE *out, enum view view, const struct conclusion pair[2])
{
    struct lines screen = {.indent = INDENT}, *l = &screen;
    const struct conclusion *c = &pair[0];
    if (view == VIEW_COMPARE) {
        put_compare(l, pair);
    } else {
        if (view == VIEW_FAST_ENOUGH)
            put_verdict(l, c);
        else if (view == VIEW_WORTH)
            put_worth(l, c);
        put_screen(l, c, view == VIEW_DRIVE || view == VIEW_USERS);
        if (view == VIEW_USERS) {
            put_tried(l, c->answer);
            put_ranges(l, c);
        }
    }
    put_ask(l, c->answer);
    lines_put(out, l);
}
