/* Sections of the page: each figure of the run that people look for, by its identity. Nothing is
 * computed here. */
#include "kvstat/draw/page_tables.h"

#include <math.h>
#include <string.h>

#include "kvstat/draw/html.h"
#include "kvstat/report/bottleneck.h"
#include "kvstat/report/cells.h"
#include "kvstat/report/verdict.h"
#include "kvstat/sheet/sheet.h"
#include "lib/trace/trace.h"

static void begin_section(FILE *out, const char *title)
{
    fprintf(out, "<section>\n<h2>%s</h2>\n", title);
}

static void end_section(FILE *out)
{
    fputs("</section>\n", out);
}

/* A row of a title and one number; nothing where the run has no such figure. */
static void put_single(struct sheet *s, const struct figures *f, struct figure_id id,
                       const char *title)
{
    if (isnan(figures_number(f, id)))
        return;
    sheet_row(s, title);
    sheet_figure(s, figures_find(f, id), id);
}

/* A table whose rows are the parts of a scope that have this figure. */
static void put_parts(struct sheet *s, const struct figures *f, enum figure_scope scope,
                      enum figure_what needs)
{
    sheet_begin(s);
    for (struct figure_part part = {0}; figures_next(f, scope, &part);) {
        const struct figure_id *id = &part.figure->id;
        struct figure_path path;
        char label[LABEL];
        if (!figure_path(&path, id) || !figure_in(&part, needs))
            continue;
        sheet_row(s, id->by ? cell_label(label, id) : "all");
        sheet_part(s, &part);
    }
    sheet_end(s);
}

/* ---- verdict and validity ---- */

static const char *text_in(const struct figure_part *part, enum figure_what what)
{
    char number[FIGURE_TEXT];
    const struct figure *f = figure_in(part, what);
    bool text = f && (f->form == FIGURE_FORM_TEXT || f->form == FIGURE_FORM_WORD);
    return text ? figure_text(f, number) : "";
}

static void put_criterion(struct sheet *s, const struct figure_part *c)
{
    static const enum figure_what bounds[] = {FIGURE_ACTUAL, FIGURE_LOW, FIGURE_HIGH, FIGURE_TARGET,
                                              FIGURE_SAMPLES};
    const struct figure *passed = figure_in(c, FIGURE_PASSED);
    const struct figure *drive = figure_in(c, FIGURE_SAME_OF_DRIVE);
    bool decided = passed && passed->form == FIGURE_FORM_TRUTH;
    const char *unit = text_in(c, FIGURE_UNIT), *reason = text_in(c, FIGURE_REASON);
    const bool share = strcmp(unit, "share") == 0;
    struct figure_id id = c->figure->id;
    char text[160];
    sheet_row(s, id.label);
    sheet_marked(s, decided ? (passed->truth ? "PASS" : "FAIL") : "INCONCLUSIVE",
                 decided ? (passed->truth ? "good" : "bad") : "doubt");
    /* "19.99 ms", "-0.35 %", "12 rows": the values of a criterion have its unit. */
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        const struct figure *bound = figure_in(c, bounds[i]);
        const bool samples = bounds[i] == FIGURE_SAMPLES;
        id.what = (uint16_t)bounds[i];
        sheet_cell(s, &(struct sheet_cell){.is_number = true,
                                           .id = id,
                                           .number = bound ? figure_number(bound) : NAN,
                                           .unit = share && !samples ? FIGURE_UNIT_SHARE
                                                                     : FIGURE_UNIT_NONE,
                                           .after = share || samples || !unit[0] ? NULL : unit});
    }
    snprintf(text, sizeof(text), "the drive itself %.3g %s", drive ? figure_number(drive) : 0,
             unit);
    sheet_word(s, drive && !reason[0] ? text : reason);
}

void page_verdict(FILE *out, const struct figures *f)
{
    static const struct sheet_column columns[] = {
        {"criterion", 0, 0, 0}, {"verdict", 0, 0, 0},
        {"value", 0, 0, 0},     {"at least", 0, 0, 0},
        {"at most", 0, 0, 0},   {"limit", 0, 0, 0},
        {"samples", 0, 0, 0},   {"why not decided", 0, 0, SHEET_LEFT}};
    const char *status = figures_text(f, figure_id(FIGURE_OF_VERDICT, FIGURE_VERDICT));
    struct sheet s = {SHEET(sheet_html, out, columns)};
    char speed[VERDICT_SPEED];
    begin_section(out, "Verdict");
    if (!status[0]) {
        fputs("<p>Not judged: <code>--profile latency</code> gives a verdict.</p>\n</section>\n",
              out);
        return;
    }
    fputs("<p class=\"verdict\">", out);
    html_element(out, "strong",
                 strcmp(status, "PASS") == 0   ? "good"
                 : strcmp(status, "FAIL") == 0 ? "bad"
                                               : "doubt",
                 status);
    fputs(" by profile ", out);
    html_text(out, figures_text(f, figure_id(FIGURE_OF_VERDICT, FIGURE_PROFILE)));
    html_text(out, verdict_speed(speed,
                                 figures_number(f, figure_id(FIGURE_OF_PROVENANCE, FIGURE_SPEED))));
    fputs("</p>\n", out);
    html_element(out, "p", "", figures_text(f, figure_id(FIGURE_OF_VERDICT, FIGURE_SENTENCE)));
    sheet_begin(&s);
    for (struct figure_part c = {0}; figures_next(f, FIGURE_OF_CRITERION, &c);)
        if (c.figure->id.label)
            put_criterion(&s, &c);
    sheet_end(&s);
    fputs("<p class=\"note\">At least, at most: one-sided 95 % bounds of the value.</p>\n"
          "</section>\n",
          out);
}

void page_validity(FILE *out, const struct figures *f)
{
    static const struct sheet_column columns[] = {
        {"figures", 0, 0, 0}, {"state", 0, 0, 0}, {"why", 0, 0, SHEET_LEFT}};
    struct sheet s = {SHEET(sheet_html, out, columns)};
    if (!figures_is_result(f))
        return;
    begin_section(out, "Validity");
    html_element(out, "p", "",
                 figures_text(f, figure_id(FIGURE_OF_VALIDITY, FIGURE_VALIDITY_LINE)));
    sheet_begin(&s);
    for (struct figure_part kind = {0}; figures_next(f, FIGURE_OF_VALIDITY_KIND, &kind);) {
        const char *state = text_in(&kind, FIGURE_STATE);
        bool good = strcmp(state, validity_state_word(VALIDITY_GOOD)) == 0;
        sheet_row(&s, kind.figure->id.label ? kind.figure->id.label : "");
        sheet_marked(&s, state, good ? "good" : "doubt");
        sheet_word(&s, text_in(&kind, FIGURE_WHY));
    }
    sheet_end(&s);
    end_section(out);
}

/* ---- throughput and where the time went ---- */

static void put_throughput(FILE *out, const struct figures *f)
{
    static const struct sheet_column columns[] = {{"throughput", 0, 0, 0}, {"", 0, 0, 0}};
    static const struct {
        enum figure_scope scope;
        enum figure_what what;
        const char *title;
    } rows[] = {
        {FIGURE_OF_RUN, FIGURE_ELAPSED, "elapsed"},
        {FIGURE_OF_RUN, FIGURE_ROWS, "rows"},
        {FIGURE_OF_WALL, FIGURE_BYTES_PER_S, "bytes moved"},
        {FIGURE_OF_WALL, FIGURE_OPS_PER_S, "operations"},
        {FIGURE_OF_WALL, FIGURE_GENERATED_TOKENS, "tokens generated"},
        {FIGURE_OF_WALL, FIGURE_GENERATED_TOKENS_PER_S, "generated by the wall clock"},
        {FIGURE_OF_STORAGE_TIME, FIGURE_GENERATED_TOKENS_PER_S, "generated by storage time"},
        {FIGURE_OF_TIER2, FIGURE_TOKENS_PER_S, "KV through Tier-2"},
        {FIGURE_OF_THROUGHPUT, FIGURE_DECODE_BYTES_READ, "read while decoding"},
        {FIGURE_OF_STATUS, FIGURE_FAILED, "rows that failed"},
        {FIGURE_OF_STATUS, FIGURE_CORRUPT, "rows with wrong contents"},
        {FIGURE_OF_STATUS, FIGURE_STALE, "rows with another write's contents"},
        {FIGURE_OF_STATUS, FIGURE_WRONG, "rows with another object's contents"},
        {FIGURE_OF_STATUS, FIGURE_ABSENT, "rows whose object was absent"}};
    struct sheet s = {SHEET(sheet_html, out, columns)};
    begin_section(out, "Throughput");
    sheet_begin(&s);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        put_single(&s, f, figure_id(rows[i].scope, rows[i].what), rows[i].title);
    sheet_end(&s);
    end_section(out);
}

/* A bar of parts as wide as their shares, and the shares as a table. */
static void put_shares(FILE *out, const struct figures *f)
{
    static const struct sheet_column columns[] = {{"part of end-to-end time", 0, 0, 0},
                                                  {"share", 0, 0, 0}};
    struct sheet s = {SHEET(sheet_html, out, columns)};
    double shares[BOTTLENECK_SHARES];
    bool any = false;
    for (unsigned i = 0; i < BOTTLENECK_SHARES; i++) {
        shares[i] = figures_number(f, figure_id(FIGURE_OF_SHARES, bottleneck_part(i)));
        any |= shares[i] > 0;
    }
    if (!any)
        return;
    begin_section(out, "Where the time went");
    fputs("<div class=\"bar\" aria-hidden=\"true\">", out);
    for (unsigned i = 0; i < BOTTLENECK_SHARES; i++)
        if (shares[i] > 0)
            fprintf(out, "<i class=\"c%u\" style=\"width:%.2f%%\"></i>", i, 100 * shares[i]);
    fputs("</div>\n", out);
    sheet_begin(&s);
    for (unsigned i = 0; i < BOTTLENECK_SHARES; i++) {
        const struct figure_id id = figure_id(FIGURE_OF_SHARES, bottleneck_part(i));
        char key[16], name[FIGURE_NAME];
        if (isnan(shares[i]))
            continue;
        snprintf(key, sizeof(key), "key c%u", i);
        sheet_row(&s, NULL);
        sheet_marked(&s, figure_member(id.what), key);
        sheet_number(&s, figure_name(name, &id), shares[i], FIGURE_UNIT_SHARE, NULL);
    }
    sheet_end(&s);
    end_section(out);
}

/* ---- tiers, requests, cache, groups ---- */

static void put_operations(FILE *out, const struct figures *f, enum figure_scope scope)
{
    enum {
        OF_TIERS = SHEET_OWN,
        OF_GROUPS = SHEET_OWN << 1,
        OF_RESULTS = SHEET_OWN << 2 /* a trace has no times */
    };
    static const struct sheet_column columns[] = {
        {"", 0, 0, 0},
        {"ops", FIGURE_OPS, 0, 0},
        {"failed", FIGURE_FAILED, 0, OF_GROUPS},
        {"moved", FIGURE_BYTES, 0, 0},
        {"rate", FIGURE_GIB_PER_S, 0, 0},
        {"mean size", FIGURE_SIZE, FIGURE_MEAN, 0},
        {"service p50", FIGURE_SERVICE, FIGURE_P50, OF_RESULTS},
        {"service p95", FIGURE_SERVICE, FIGURE_P95, OF_RESULTS},
        {"service p99", FIGURE_SERVICE, FIGURE_P99, OF_RESULTS},
        {"p99.9", FIGURE_SERVICE, FIGURE_P999, OF_GROUPS | OF_RESULTS},
        {"service max", FIGURE_SERVICE, FIGURE_MAX, OF_RESULTS},
        {"response p95", FIGURE_RESPONSE, FIGURE_P95, OF_RESULTS},
        {"device p95", FIGURE_DEVICE, FIGURE_P95, OF_TIERS | OF_RESULTS}};
    const bool groups = scope == FIGURE_OF_GROUP;
    struct sheet s = {SHEET(sheet_html, out, columns), .label = groups ? "group" : "tier"};
    s.without = (groups ? OF_TIERS : OF_GROUPS) | (figures_is_result(f) ? 0 : OF_RESULTS);
    begin_section(out, groups ? "Groups" : "Tiers");
    put_parts(&s, f, scope, FIGURE_OPS);
    end_section(out);
}

static void put_requests(FILE *out, const struct figures *f)
{
    static const struct sheet_column columns[] = {
        {"requests", 0, 0, 0},
        {"count", FIGURE_REQUESTS, 0, 0},
        {"end to end p50", FIGURE_END_TO_END, FIGURE_P50, 0},
        {"p95", FIGURE_END_TO_END, FIGURE_P95, 0},
        {"p99", FIGURE_END_TO_END, FIGURE_P99, 0},
        {"max", FIGURE_END_TO_END, FIGURE_MAX, 0},
        {"queue p95", FIGURE_QUEUE, FIGURE_P95, 0},
        {"storage p95", FIGURE_STORAGE, FIGURE_P95, 0},
        {"generation p95", FIGURE_GENERATION, FIGURE_P95, 0},
        {"p95 limit", 0, 0, 0},
        {"within", 0, 0, 0},
        {"target", 0, 0, 0}};
    struct sheet s = {SHEET(sheet_html, out, columns)};
    struct figure_part part = {0};
    if (!figures_next(f, FIGURE_OF_REQUESTS, &part) || !figure_in(&part, FIGURE_REQUESTS))
        return;
    begin_section(out, "Requests");
    sheet_begin(&s);
    sheet_row(&s, "all");
    sheet_part(&s, &part);
    while (s.at < s.columns)
        sheet_cell(&s, &(struct sheet_cell){0});
    for (part = (struct figure_part){0}; figures_next(f, FIGURE_OF_QOS, &part);) {
        struct figure_id id = part.figure->id;
        if (!figure_in(&part, FIGURE_REQUESTS))
            continue;
        sheet_row(&s, trace_qos_text(id.qos));
        sheet_part(&s, &part);
        id.scope = FIGURE_OF_TARGETS;
        id.what = FIGURE_TARGET_P95;
        sheet_figure(&s, figures_find(f, id), id);
        id.what = FIGURE_COMPLIANCE;
        sheet_figure(&s, figures_find(f, id), id);
        id.what = FIGURE_MET;
        const bool met = figures_is(f, id), missed = figures_is_not(f, id);
        sheet_marked(&s,
                     met      ? "met"
                     : missed ? "missed"
                              : "-",
                     met      ? "good"
                     : missed ? "bad"
                              : "none");
    }
    sheet_end(&s);
    end_section(out);
}

static void put_cache(FILE *out, const struct figures *f)
{
    static const struct sheet_column of_lookups[] = {{"lookups of", 0, 0, 0},
                                                     {"lookups", FIGURE_LOOKUPS, 0, 0},
                                                     {"hits", FIGURE_HITS, 0, 0},
                                                     {"misses", FIGURE_MISSES, 0, 0},
                                                     {"hit rate", FIGURE_HIT_RATE, 0, 0}};
    static const struct sheet_column of_tiers[] = {{"contents of", 0, 0, 0},
                                                   {"capacity", FIGURE_CAPACITY_BYTES, 0, 0},
                                                   {"peak", FIGURE_PEAK_BYTES, 0, 0},
                                                   {"objects", FIGURE_PEAK_OBJECTS, 0, 0},
                                                   {"at the end", FIGURE_FINAL_BYTES, 0, 0},
                                                   {"evicted", FIGURE_EVICT_OPS, 0, 0},
                                                   {"offloaded", FIGURE_OFFLOAD_OPS, 0, 0},
                                                   {"promoted", FIGURE_PROMOTE_OPS, 0, 0},
                                                   {"deleted", FIGURE_DELETE_OPS, 0, 0}};
    static const struct sheet_column of_ratios[] = {{"ratio", 0, 0, 0}, {"", 0, 0, 0}};
    struct sheet lookups = {SHEET(sheet_html, out, of_lookups)},
                 tiers = {SHEET(sheet_html, out, of_tiers)},
                 ratios = {SHEET(sheet_html, out, of_ratios)};
    begin_section(out, "Cache");
    put_parts(&lookups, f, FIGURE_OF_LOOKUPS, FIGURE_LOOKUPS);
    put_parts(&tiers, f, FIGURE_OF_CACHE_TIER, FIGURE_PEAK_BYTES);
    sheet_begin(&ratios);
    put_single(&ratios, f, figure_id(FIGURE_OF_CACHE, FIGURE_READ_WRITE_RATIO),
               "bytes read / bytes written");
    put_single(&ratios, f, figure_id(FIGURE_OF_CACHE, FIGURE_READ_AMPLIFICATION),
               "tokens read / tokens generated");
    sheet_end(&ratios);
    end_section(out);
}

void page_tables(FILE *out, const struct figures *f)
{
    put_shares(out, f);
    put_throughput(out, f);
    put_operations(out, f, FIGURE_OF_DIRECTION);
    put_requests(out, f);
    put_cache(out, f);
    put_operations(out, f, FIGURE_OF_GROUP);
    fputs("<p class=\"note\"><span class=\"few\">Grey percentiles</span>: fewer than ten samples "
          "lie above, so another run will show another value. Point at a number for its name in "
          "the JSON.</p>\n",
          out);
}

/* ---- how it was run ---- */

static void put_texts(FILE *out, const struct figures *f, enum figure_what what, const char *title)
{
    const struct figure *texts = figures_find(f, figure_id(FIGURE_OF_PROVENANCE, what));
    if (!texts || texts->form != FIGURE_FORM_TEXTS || texts->list.n == 0)
        return;
    fprintf(out, "<dt>%s</dt>\n", title);
    for (size_t i = 0; i < texts->list.n; i++)
        html_element(out, "dd", "", texts->list.item[i]);
}

static void put_text(FILE *out, const char *title, const char *text, bool code)
{
    if (!text[0])
        return;
    fprintf(out, "<dt>%s</dt>\n<dd>", title);
    html_element(out, code ? "code" : "span", "", text);
    fputs("</dd>\n", out);
}

static void put_number(FILE *out, const struct figures *f, enum figure_what what, const char *title)
{
    const struct figure_id id = figure_id(FIGURE_OF_PROVENANCE, what);
    const struct figure *figure = figures_find(f, id);
    char buf[FIGURE_TEXT];
    if (figure && !isnan(figure_number(figure))) /* a seed may have more digits than a double */
        put_text(out, title, figure_text(figure, buf), false);
}

/* The wear of the drive, by its own log. */
static void put_drive_log(FILE *out, const struct figures *f)
{
    static const struct {
        enum fact_id fact;
        const char *title;
    } rows[] = {{FACT_LOG_HOST_BYTES, "Drive log: from the host"},
                {FACT_LOG_MEDIA_BYTES, "Drive log: to the media"},
                {FACT_LOG_AMPLIFICATION, "Write amplification"},
                {FACT_LOG_USED, "Rated endurance used, %"}};
    char name[FIGURE_NAME];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct figure_id id = figure_id_fact(rows[i].fact);
        double v = figures_number(f, id);
        if (isnan(v))
            continue;
        fprintf(out, "<dt>%s</dt>\n<dd>", rows[i].title);
        html_value(out, figure_name(name, &id), figure_unit(id.what), v, false);
        fputs("</dd>\n", out);
    }
    put_text(out, "Drive log, not known", figures_text(f, figure_id_fact(FACT_LOG_WHY_UNKNOWN)),
             false);
}

void page_how(FILE *out, const struct figures *f)
{
    static const struct {
        enum figure_what what;
        const char *title;
        bool code;
    } texts[] = {{FIGURE_COMMAND, "Command", true},
                 {FIGURE_CONFIGURATION, "Configuration", true},
                 {FIGURE_CLIENT, "Measured by", false},
                 {FIGURE_RECORDED, "Recorded", false},
                 {FIGURE_VERSION, "Version", false},
                 {FIGURE_STARTED, "Started", false},
                 {FIGURE_HOST, "Host", false},
                 {FIGURE_HOST_KERNEL, "Kernel", false},
                 {FIGURE_TARGET, "Target", true},
                 {FIGURE_SAME_OF_DEVICE, "Device", false},
                 {FIGURE_ENGINE, "Storage engine", false},
                 {FIGURE_MODEL, "Model", false},
                 {FIGURE_GENERATION_MODE, "Generation", false},
                 {FIGURE_DIGEST, "Digest of the trace", true}};
    size_t files;
    const char *const *file = figures_files(f, &files);
    fputs("<dl>\n<dt>File</dt>\n", out);
    for (size_t i = 0; i < files; i++)
        html_element(out, "dd", "", file[i]);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        put_text(out, texts[i].title,
                 figures_text(f, figure_id(FIGURE_OF_PROVENANCE, texts[i].what)), texts[i].code);
    put_texts(out, f, FIGURE_SIMULATED, "Simulated");
    put_texts(out, f, FIGURE_EMPTY, "Not executed (empty engine)");
    put_texts(out, f, FIGURE_FLAGS, "Storage flags");
    put_texts(out, f, FIGURE_FALLBACKS, "Fallbacks");
    put_number(out, f, FIGURE_USERS, "Users");
    put_number(out, f, FIGURE_SEED, "Seed");
    put_number(out, f, FIGURE_TENSOR_PARALLEL, "Tensor parallel");
    put_number(out, f, FIGURE_BYTES_PER_TOKEN, "Bytes of a token");
    put_drive_log(out, f);
    put_texts(out, f, FIGURE_NOTES, "Notes");
    fputs("</dl>\n", out);
}
