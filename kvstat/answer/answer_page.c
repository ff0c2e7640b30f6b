/* The page of an answer: its title is the question, then what is answered and whether to believe
 * it, then pictures; the tables come after them, on a page of their own when printed. */
#include "kvstat/answer/answer_page.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kvstat/answer/answer_knee.h"
#include "kvstat/answer/answer_plot.h"
#include "kvstat/draw/gnuplot.h"
#include "kvstat/draw/html.h"
#include "kvstat/output.h"
#include "kvstat/report/cells.h"
#include "kvstat/sheet/sheet.h"
#include "lib/facts/judge.h"

enum {
    TITLE = 640
};

/* "Does /mnt/nvme hold 38 users of llama3.1-8b?" */
static const char *question(char buf[TITLE], const struct answer_page *p)
{
    const struct answer *a = p->conclusion->answer;
    const char *drive = view_drive_name(a);
    char n[CONCLUSION_NUMBER];
    if (p->view == VIEW_WORTH)
        snprintf(buf, TITLE, "What is %.256s worth to users of %.128s?", drive, a->settings.model);
    else if (isfinite(a->asked))
        snprintf(buf, TITLE, "Does %.256s hold %s of %.128s?", drive,
                 conclusion_count(n, a, a->asked), a->settings.model);
    else
        snprintf(buf, TITLE, "How many %s of %.128s does %.256s hold?",
                 a->requests ? "requests a second" : "users", a->settings.model, drive);
    return buf;
}

/* ---- the answer ---- */

/* The answer in one word or number, and what it means. */
static void put_head(FILE *out, const char *class, const char *word, const char *text)
{
    fputs("<p class=\"verdict\">", out);
    html_element(out, "strong", class, word);
    html_text(out, text);
    fputs("</p>\n", out);
}

/* "gain: 17 users more": its word is what was asked. */
static void put_worth(FILE *out, const char *text)
{
    const char *colon = strchr(text, ':');
    char word[CELL];
    figure_cut_text(word, sizeof(word), text);
    word[colon && colon - text < CELL ? colon - text : 0] = '\0';
    put_head(out, "", word, colon ? colon + 2 : text);
}

static void put_answer(FILE *out, const struct answer_page *p)
{
    static const char *const classes[] = {
        [VERDICT_FAIL] = "bad", [VERDICT_PASS] = "good", [VERDICT_INCONCLUSIVE] = "doubt"};
    const struct conclusion *c = p->conclusion;
    const struct answer *a = c->answer;
    char text[CONCLUSION_WHY], n[CONCLUSION_NUMBER];
    fputs("<section>\n", out);
    if (p->view == VIEW_WORTH && !c->unconfirmed)
        put_worth(out, view_worth(text, a));
    else if (c->judged)
        put_head(out, classes[c->verdict], conclusion_word(c->verdict), c->why);
    else
        put_head(out, "", conclusion_count(n, a, a->users[ANSWER_THIS].value),
                 a->users[ANSWER_THIS].value == 1 ? "is held by this drive"
                                                  : "are held by this drive");
    if (p->view == VIEW_WORTH ? c->unconfirmed : !c->judged)
        html_element(out, "p", "", view_worth(text, a));
    html_element(out, "p", "sub", view_load(text, a));
    html_element(out, "p", "sub", view_drive(text, a));
    if (c->confirm) {
        char line[VALIDITY_LINE + 32];
        snprintf(line, sizeof(line), "The run on the drive: %s", c->confirm->drive.line);
        html_element(out, "p", "sub", line);
    } else if (view_confirmed(text, c, false)[0]) {
        html_element(out, "p", "sub", "Nothing ran on the drive: all of this is by its model.");
    }
    fputs("</section>\n", out);
}

/* How the screen shows a value. */
static const char *as_share(char *buf, double v)
{
    snprintf(buf, CELL, "%.3g %%", 100 * v);
    return buf;
}

static const char *as_number(char *buf, double v)
{
    if (v >= 1000 && v == floor(v) && v < 1e15)
        cell_count(buf, (uint64_t)v);
    else
        snprintf(buf, CELL, "%.4g", v);
    return buf;
}

typedef const char *(*shown_fn)(char *buf, double v);

/* ---- pictures ---- */

/* A bar of parts as wide as their shares, with a key. */
static void put_origin(FILE *out, const struct answer *a)
{
    static const unsigned colour[VIEW_ORIGINS] = {3, 5, 6, 2};
    struct view_share part[VIEW_ORIGINS];
    char text[CELL];
    double sum = 0;
    view_origin(part, a);
    for (size_t i = 0; i < VIEW_ORIGINS; i++)
        sum += isfinite(part[i].share) ? part[i].share : 0;
    if (!(sum > 0))
        return;
    fputs("<h2>Where prompt tokens come from</h2>\n<div class=\"bar\" aria-hidden=\"true\">", out);
    for (size_t i = 0; i < VIEW_ORIGINS; i++)
        if (part[i].share > 0)
            fprintf(out, "<i class=\"c%u\" style=\"width:%.2f%%\"></i>", colour[i],
                    100 * part[i].share / sum);
    fputs("</div>\n<p>", out);
    for (size_t i = 0; i < VIEW_ORIGINS; i++) {
        if (!isfinite(part[i].share))
            continue;
        fprintf(out, "<i class=\"key c%u\"></i>%s ", colour[i], part[i].word);
        html_shown(out, part[i].name, part[i].share, as_share(text, part[i].share));
        fputs(" &nbsp; ", out);
    }
    fputs("</p>\n", out);
}

static int put_pictures(FILE *out, const struct conclusion *c, struct err *e)
{
    int rc = 0;
    fputs("<section>\n<h2>Pictures</h2>\n", out);
    if (!gnuplot_is_there()) {
        html_no_pictures(out);
    } else {
        fputs("<div class=\"plots\">\n", out);
        for (unsigned i = 0; i < ANSWER_PICTURES && rc == 0; i++) {
            const struct answer_plot plot = {c, (enum answer_picture)i};
            if (answer_plot_has(&plot))
                rc = html_picture(out, answer_plot_draw, &plot, answer_plot_title(&plot), e);
        }
        fputs("</div>\n", out);
    }
    put_origin(out, c->answer);
    fputs("</section>\n", out);
    return rc;
}

/* ---- tables ---- */

/* A cell of a number, with the member of the JSON that has it. */
static void put_number(struct sheet *s, const char *prefix, const char *member, shown_fn shown,
                       double v)
{
    char name[FIGURE_NAME], text[CELL];
    snprintf(name, sizeof(name), "%s.%s", prefix, member);
    sheet_number(s, name, v, FIGURE_UNIT_NONE, shown(text, v));
}

/* Begins the row of a variant, whose numbers are in that section of the JSON. */
static void begin_variant(char prefix[32], struct sheet *s, const char *section,
                          enum answer_variant v)
{
    snprintf(prefix, 32, "%s.%s", section, answer_variant_member(v));
    sheet_row(s, answer_variant_words(v));
}

static void put_held(FILE *out, const struct answer *a)
{
    static const struct sheet_column columns[] = {
        {"", 0, 0, 0}, {"held", 0, 0, 0}, {"in all seeds", 0, 0, 0}, {"in any seed", 0, 0, 0}};
    struct sheet s = {SHEET(sheet_html, out, columns),
                      .title = a->requests ? "Requests a second held" : "Users held"};
    char prefix[32];
    sheet_begin(&s);
    for (unsigned v = 0; v < ANSWER_VARIANTS; v++) {
        begin_variant(prefix, &s, "users", v);
        put_number(&s, prefix, "value", as_number, a->users[v].value);
        put_number(&s, prefix, "low", as_number, a->users[v].low);
        put_number(&s, prefix, "high", as_number, a->users[v].high);
    }
    sheet_end(&s);
}

static void put_served(FILE *out, const struct answer *a)
{
    static const struct sheet_column columns[] = {{"", 0, 0, 0},
                                                  {"good", 0, 0, 0},
                                                  {"first token p50", 0, 0, 0},
                                                  {"first token p95", 0, 0, 0},
                                                  {"token p50", 0, 0, 0},
                                                  {"token p95", 0, 0, 0},
                                                  {"requests/s", 0, 0, 0},
                                                  {"GPU busy", 0, 0, 0}};
    char n[CONCLUSION_NUMBER], title[CONCLUSION_NUMBER + 8], prefix[32];
    struct sheet s = {SHEET(sheet_html, out, columns), .title = title};
    snprintf(title, sizeof(title), "At %s", conclusion_count(n, a, a->at));
    sheet_begin(&s);
    for (unsigned v = 0; v < ANSWER_VARIANTS; v++) {
        const struct answer_served *with = &a->served[v];
        begin_variant(prefix, &s, "variants", v);
        put_number(&s, prefix, "goodput", as_share, with->goodput);
        put_number(&s, prefix, "first_token_s.p50", view_span, with->first_token_p50);
        put_number(&s, prefix, "first_token_s.p95", view_span, with->first_token_p95);
        put_number(&s, prefix, "token_s.p50", view_span, with->token_p50);
        put_number(&s, prefix, "token_s.p95", view_span, with->token_p95);
        put_number(&s, prefix, "requests_s", cell_number, with->requests_s);
        put_number(&s, prefix, "gpu_busy_s", view_span, with->gpu_busy_s);
    }
    sheet_end(&s);
}

static void put_tried(FILE *out, const struct answer *a)
{
    static const struct sheet_column columns[] = {
        {"variant", 0, 0, 0},    {"number", 0, 0, 0},
        {"seeds held", 0, 0, 0}, {"of", 0, 0, 0},
        {"good", 0, 0, 0},       {"first token p95", 0, 0, 0},
        {"requests/s", 0, 0, 0}, {"what ends it", 0, 0, SHEET_LEFT}};
    struct sheet s = {SHEET(sheet_html, out, columns), .title = "Numbers that were tried"};
    char prefix[32];
    while (sheet_pass(&s))
        for (size_t i = 0; i < a->tried_count; i++) {
            const struct answer_tried *t = &a->tried[i];
            begin_variant(prefix, &s, "tried", t->variant);
            put_number(&s, prefix, "users", as_number, t->users);
            put_number(&s, prefix, "held", as_number, t->held);
            put_number(&s, prefix, "of", as_number, t->of);
            put_number(&s, prefix, "goodput", as_share, t->goodput);
            put_number(&s, prefix, "first_token_p95_s", view_span, t->first_token_p95);
            put_number(&s, prefix, "requests_s", cell_number, t->requests_s);
            sheet_word(&s, t->limit ? t->limit : "");
        }
}

static void put_row(struct sheet *s, const char *word, const char *name, shown_fn shown, double v)
{
    char text[CELL];
    if (!isfinite(v))
        return;
    sheet_row(s, word);
    sheet_number(s, name, v, 0, shown(text, v));
}

static void put_drive(FILE *out, const struct answer *a)
{
    static const struct sheet_column columns[] = {{"the drive", 0, 0, 0}, {"value", 0, 0, 0}};
    char unreached[2 * CONCLUSION_NUMBER];
    struct sheet table = {SHEET(sheet_html, out, columns)}, *s = &table;
    struct answer_knee knee;
    fputs("<h3>The drive</h3>\n", out);
    if (!a->reached) {
        html_element(out, "p", "", conclusion_unreached(unreached, a));
        return;
    }
    sheet_begin(s);
    put_row(s, "reads asked", "drive.read.asked_bytes_s", view_rate, a->read.asked);
    put_row(s, "reads it can", "drive.read.can_bytes_s", view_rate, a->read.can);
    put_row(s, "writes asked", "drive.write.asked_bytes_s", view_rate, a->write.asked);
    put_row(s, "writes it can", "drive.write.can_bytes_s", view_rate, a->write.can);
    if (answer_knee_find(&knee, a)) {
        put_row(s, knee.found ? "knee: objects in flight" : "no knee up to objects in flight",
                "knee.in_flight", as_number, knee.in_flight);
        put_row(s, "throughput there", "knee.bytes_per_s", view_rate, knee.bytes_s);
        put_row(s, "p95 of an object there", "knee.p95_s", view_span, knee.p95_s);
    }
    put_row(s, "this load keeps in flight", "drive.in_flight", cell_number, a->in_flight);
    put_row(s, "written a day", "drive.written_bytes_day", cell_decimal, a->written_day);
    put_row(s, "full after", "drive.full_after_s", view_span, a->full_after_s);
    put_row(s, "filled at the end", "drive.filled", as_share, a->filled);
    put_row(s, "a hit waits for drive and memory, p50", "drive.hit_s.p50", view_span, a->hit_p50);
    put_row(s, "a hit waits for drive and memory, p95", "drive.hit_s.p95", view_span, a->hit_p95);
    put_row(s, "computing on an idle GPU", "drive.computing_s", view_span, a->computing_s);
    put_row(s, "drive writes a day", "wear.drive_writes_day", cell_number, a->drive_writes_day);
    put_row(s, "years of rated writes", "wear.years", cell_number, a->years);
    sheet_end(s);
}

static void put_confirmed(FILE *out, const struct conclusion *c)
{
    static const struct sheet_column columns[] = {
        {"", 0, 0, 0}, {"model", 0, 0, 0}, {"measured", 0, 0, 0}};
    static const struct {
        const char *word, *member;
        unsigned op, percentile;
    } times[] = {{"reads p50", "read_p50_s", CONFIRM_READS, CONFIRM_P50},
                 {"reads p95", "read_p95_s", CONFIRM_READS, CONFIRM_P95},
                 {"writes p50", "write_p50_s", CONFIRM_WRITES, CONFIRM_P50},
                 {"writes p95", "write_p95_s", CONFIRM_WRITES, CONFIRM_P95}};
    const struct confirm *f = c->confirm;
    struct sheet s = {SHEET(sheet_html, out, columns)};
    char text[CONCLUSION_WHY];
    fputs("<h3>Confirmed</h3>\n", out);
    html_element(out, "p", c->unconfirmed ? "doubt" : "",
                 view_confirmed(text, c, false)[0] ? text : "nothing is to be confirmed");
    if (!f)
        return;
    sheet_begin(&s);
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        if (f->drive.op[times[i].op].samples == 0)
            continue;
        sheet_row(&s, times[i].word);
        put_number(&s, "confirmed.model", times[i].member, view_span,
                   f->model.op[times[i].op].s[times[i].percentile]);
        put_number(&s, "confirmed.measured", times[i].member, view_span,
                   f->drive.op[times[i].op].s[times[i].percentile]);
    }
    sheet_row(&s, "rate");
    put_number(&s, "confirmed.model", "rate_bytes_s", view_rate, confirm_rate(&f->model));
    put_number(&s, "confirmed.measured", "rate_bytes_s", view_rate, confirm_rate(&f->drive));
    sheet_end(&s);
}

static void put_setting(FILE *out, const char *word, const char *text)
{
    if (!text || !text[0])
        return;
    html_element(out, "dt", "", word);
    html_element(out, "dd", "", text);
}

static void put_settings(FILE *out, const struct answer *a)
{
    char cell[CELL];
    const struct {
        const char *word;
        double bytes;
    } sizes[] = {{"memory of the GPUs for the cache", a->settings.gpu_mem},
                 {"host memory", a->settings.cpu_mem},
                 {"capacity of the drive", a->settings.capacity}};
    fputs("<h3>Settings</h3>\n<dl>\n", out);
    put_setting(out, "model", a->settings.model);
    put_setting(out, "GPU", a->settings.gpu);
    put_setting(out, "engine", a->settings.engine);
    put_setting(out, "users", a->settings.population);
    put_setting(out, "source", a->settings.source);
    put_setting(out, "drive", view_drive_name(a));
    put_setting(out, "device", a->settings.device);
    put_setting(out, "its measurement", a->settings.validity);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if (isfinite(sizes[i].bytes))
            put_setting(out, sizes[i].word, cell_size(cell, sizes[i].bytes));
    put_setting(out, "first token within", view_span(cell, a->settings.ttft_s));
    put_setting(out, "each token within", view_span(cell, a->settings.tpot_s));
    if (isfinite(a->settings.goodput))
        put_setting(out, "of the requests of a class", cell_percent(cell, a->settings.goodput));
    put_setting(out, "seeds", as_number(cell, a->settings.seeds));
    fputs("</dl>\n", out);
}

static int put_page(FILE *out, const void *page, struct err *e)
{
    const struct answer_page *p = page;
    const struct answer *a = p->conclusion->answer;
    char title[TITLE];
    html_begin(out, question(title, p));
    html_element(out, "h1", "", title);
    put_answer(out, p);
    int rc = put_pictures(out, p->conclusion, e);
    fputs("<section class=\"tables\">\n<h2>Tables</h2>\n", out);
    put_held(out, a);
    put_served(out, a);
    put_drive(out, a);
    put_confirmed(out, p->conclusion);
    put_tried(out, a);
    put_settings(out, a);
    fputs("</section>\n", out);
    html_end(out, p->argc, p->argv);
    return rc;
}

int answer_page_save(const char *path, const struct answer_page *page, struct err *e)
{
    return output_write(path, "page", put_page, page, e);
}
