/* Sections of the page: each figure of the run that people look for, by its identity. Nothing is
 * computed here. */
#include "kvstat/draw/page_tables.h"

#include <math.h>
#include <string.h>

#include "kvstat/draw/html.h"
#include "kvstat/report/bottleneck.h"
#include "kvstat/report/cells.h"
#include "kvstat/report/verdict.h"
#include "lib/trace/trace.h"

#define COLUMNS(titles) (titles), sizeof(titles) / sizeof((titles)[0])
#define NUMBERS         0 /* no texts in the last columns */

/* ---- rows ---- */

/* A column of a table: a figure of the row's part. */
struct column {
    enum figure_what what;
    enum figure_statistic statistic;
};

static void put_row(FILE *out, const char *title, const struct figure_part *part,
                    const struct column *columns, size_t n)
{
    fputs("<tr><th scope=\"row\">", out);
    html_text(out, title);
    fputs("</th>", out);
    for (size_t i = 0; i < n; i++)
        html_cell(out, part, columns[i].what, columns[i].statistic);
    fputs("</tr>\n", out);
}

/* A row of a title and one number; nothing where the run has no such figure. */
static void put_single(FILE *out, const struct figures *f, struct figure_id id, const char *title)
{
    char name[FIGURE_NAME];
    double v = figures_number(f, id);
    if (isnan(v))
        return;
    fputs("<tr><th scope=\"row\">", out);
    html_text(out, title);
    fputs("</th><td>", out);
    html_value(out, figure_name(name, &id), figure_unit(id.what), v, false);
    fputs("</td></tr>\n", out);
}

/* ---- verdict and validity ---- */

/* "19.99 ms", "-0.35 %", "12 rows": the values of a criterion have its unit. */
static void put_bound(FILE *out, const struct figure_part *c, enum figure_what what,
                      const char *unit)
{
    const struct figure *f = figure_in(c, what);
    struct figure_id id = c->figure->id;
    char name[FIGURE_NAME];
    bool share = strcmp(unit, "share") == 0;
    double v = f ? figure_number(f) : NAN;
    id.what = (uint16_t)what;
    fputs("<td>", out);
    html_value(out, figure_name(name, &id), share ? FIGURE_UNIT_SHARE : FIGURE_UNIT_NONE, v, false);
    if (isfinite(v) && !share && unit[0]) {
        fputc(' ', out);
        html_text(out, unit);
    }
    fputs("</td>", out);
}

static const char *text_in(const struct figure_part *part, enum figure_what what)
{
    char number[FIGURE_TEXT];
    const struct figure *f = figure_in(part, what);
    bool text = f && (f->form == FIGURE_FORM_TEXT || f->form == FIGURE_FORM_WORD);
    return text ? figure_text(f, number) : "";
}

static void put_criterion(FILE *out, const struct figure_part *c)
{
    const struct figure *passed = figure_in(c, FIGURE_PASSED);
    bool decided = passed && passed->form == FIGURE_FORM_TRUTH;
    const char *unit = text_in(c, FIGURE_UNIT), *reason = text_in(c, FIGURE_REASON);
    fputs("<tr><th scope=\"row\">", out);
    html_text(out, c->figure->id.label);
    fputs("</th>", out);
    html_element(out, "td", decided ? (passed->truth ? "good" : "bad") : "doubt",
                 decided ? (passed->truth ? "PASS" : "FAIL") : "INCONCLUSIVE");
    put_bound(out, c, FIGURE_ACTUAL, unit);
    put_bound(out, c, FIGURE_LOW, unit);
    put_bound(out, c, FIGURE_HIGH, unit);
    put_bound(out, c, FIGURE_TARGET, unit);
    put_bound(out, c, FIGURE_SAMPLES, "");
    const struct figure *drive = figure_in(c, FIGURE_SAME_OF_DRIVE);
    char text[160];
    snprintf(text, sizeof(text), "the drive itself %.3g %s", drive ? figure_number(drive) : 0,
             unit);
    html_element(out, "td", "text", drive && !reason[0] ? text : reason);
    fputs("</tr>\n", out);
}

void page_verdict(FILE *out, const struct figures *f)
{
    static const char *const titles[] = {"criterion", "verdict", "value",   "at least",
                                         "at most",   "limit",   "samples", "why not decided"};
    const char *status = figures_text(f, figure_id(FIGURE_OF_VERDICT, FIGURE_VERDICT));
    struct figure_part c = {0};
    char speed[VERDICT_SPEED];
    fputs("<section>\n<h2>Verdict</h2>\n", out);
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
    html_table_begin(out, COLUMNS(titles), 1);
    while (figures_next(f, FIGURE_OF_CRITERION, &c))
        if (c.figure->id.label)
            put_criterion(out, &c);
    html_table_end(out);
    fputs("<p class=\"note\">At least, at most: one-sided 95 % bounds of the value.</p>\n"
          "</section>\n",
          out);
}

void page_validity(FILE *out, const struct figures *f)
{
    static const char *const titles[] = {"figures", "state", "why"};
    struct figure_part kind = {0};
    if (!figures_is_result(f))
        return;
    fputs("<section>\n<h2>Validity</h2>\n", out);
    html_element(out, "p", "",
                 figures_text(f, figure_id(FIGURE_OF_VALIDITY, FIGURE_VALIDITY_LINE)));
    html_table_begin(out, COLUMNS(titles), 1);
    while (figures_next(f, FIGURE_OF_VALIDITY_KIND, &kind)) {
        const char *state = text_in(&kind, FIGURE_STATE);
        bool good = strcmp(state, validity_state_word(VALIDITY_GOOD)) == 0;
        fputs("<tr><th scope=\"row\">", out);
        html_text(out, kind.figure->id.label ? kind.figure->id.label : "");
        fputs("</th>", out);
        html_element(out, "td", good ? "good" : "doubt", state);
        html_element(out, "td", "text", text_in(&kind, FIGURE_WHY));
        fputs("</tr>\n", out);
    }
    html_table_end(out);
    fputs("</section>\n", out);
}

/* ---- throughput and where the time went ---- */

static void put_throughput(FILE *out, const struct figures *f)
{
    static const char *const titles[] = {"throughput", ""};
    const enum figure_scope wall = FIGURE_OF_WALL;
    fputs("<section>\n<h2>Throughput</h2>\n", out);
    html_table_begin(out, COLUMNS(titles), NUMBERS);
    put_single(out, f, figure_id(FIGURE_OF_RUN, FIGURE_ELAPSED), "elapsed");
    put_single(out, f, figure_id(FIGURE_OF_RUN, FIGURE_ROWS), "rows");
    put_single(out, f, figure_id(wall, FIGURE_BYTES_PER_S), "bytes moved");
    put_single(out, f, figure_id(wall, FIGURE_OPS_PER_S), "operations");
    put_single(out, f, figure_id(wall, FIGURE_GENERATED_TOKENS), "tokens generated");
    put_single(out, f, figure_id(wall, FIGURE_GENERATED_TOKENS_PER_S),
               "generated by the wall clock");
    put_single(out, f, figure_id(FIGURE_OF_STORAGE_TIME, FIGURE_GENERATED_TOKENS_PER_S),
               "generated by storage time");
    put_single(out, f, figure_id(FIGURE_OF_TIER2, FIGURE_TOKENS_PER_S), "KV through Tier-2");
    put_single(out, f, figure_id(FIGURE_OF_THROUGHPUT, FIGURE_DECODE_BYTES_READ),
               "read while decoding");
    put_single(out, f, figure_id(FIGURE_OF_STATUS, FIGURE_FAILED), "rows that failed");
    put_single(out, f, figure_id(FIGURE_OF_STATUS, FIGURE_CORRUPT), "rows with wrong contents");
    put_single(out, f, figure_id(FIGURE_OF_STATUS, FIGURE_STALE),
               "rows with another write's contents");
    put_single(out, f, figure_id(FIGURE_OF_STATUS, FIGURE_WRONG),
               "rows with another object's contents");
    put_single(out, f, figure_id(FIGURE_OF_STATUS, FIGURE_ABSENT), "rows whose object was absent");
    html_table_end(out);
    fputs("</section>\n", out);
}

/* A bar of parts as wide as their shares, and the shares as a table. */
static void put_shares(FILE *out, const struct figures *f)
{
    static const char *const titles[] = {"part of end-to-end time", "share"};
    double shares[BOTTLENECK_SHARES];
    bool any = false;
    for (unsigned i = 0; i < BOTTLENECK_SHARES; i++) {
        shares[i] = figures_number(f, figure_id(FIGURE_OF_SHARES, bottleneck_part(i)));
        any |= shares[i] > 0;
    }
    if (!any)
        return;
    fputs("<section>\n<h2>Where the time went</h2>\n<div class=\"bar\" aria-hidden=\"true\">", out);
    for (unsigned i = 0; i < BOTTLENECK_SHARES; i++)
        if (shares[i] > 0)
            fprintf(out, "<i class=\"c%u\" style=\"width:%.2f%%\"></i>", i, 100 * shares[i]);
    fputs("</div>\n", out);
    html_table_begin(out, COLUMNS(titles), NUMBERS);
    for (unsigned i = 0; i < BOTTLENECK_SHARES; i++) {
        const struct figure_id id = figure_id(FIGURE_OF_SHARES, bottleneck_part(i));
        char name[FIGURE_NAME];
        if (isnan(shares[i]))
            continue;
        fprintf(out, "<tr><th scope=\"row\"><i class=\"key c%u\"></i>", i);
        html_text(out, figure_member(id.what));
        fputs("</th><td>", out);
        html_value(out, figure_name(name, &id), FIGURE_UNIT_SHARE, shares[i], false);
        fputs("</td></tr>\n", out);
    }
    html_table_end(out);
    fputs("</section>\n", out);
}

/* ---- tiers, requests, cache, groups ---- */

static void put_tiers(FILE *out, const struct figures *f)
{
    static const char *const titles[] = {
        "tier",        "ops",         "moved",       "rate",         "mean size", "service p50",
        "service p95", "service p99", "service max", "response p95", "device p95"};
    static const struct column columns[] = {
        {FIGURE_OPS, FIGURE_VALUE},       {FIGURE_BYTES, FIGURE_VALUE},
        {FIGURE_GIB_PER_S, FIGURE_VALUE}, {FIGURE_SIZE, FIGURE_MEAN},
        {FIGURE_SERVICE, FIGURE_P50},     {FIGURE_SERVICE, FIGURE_P95},
        {FIGURE_SERVICE, FIGURE_P99},     {FIGURE_SERVICE, FIGURE_MAX},
        {FIGURE_RESPONSE, FIGURE_P95},    {FIGURE_DEVICE, FIGURE_P95}};
    struct figure_part part = {0};
    bool result = figures_is_result(f);
    size_t n = result ? sizeof(columns) / sizeof(columns[0]) : 4; /* a trace has no times */
    fputs("<section>\n<h2>Tiers</h2>\n", out);
    html_table_begin(out, titles, n + 1, NUMBERS);
    while (figures_next(f, FIGURE_OF_DIRECTION, &part)) {
        struct figure_path path;
        char label[LABEL];
        if (!figure_path(&path, &part.figure->id) || !figure_in(&part, FIGURE_OPS))
            continue;
        put_row(out, cell_label(label, &part.figure->id), &part, columns, n);
    }
    html_table_end(out);
    fputs("</section>\n", out);
}

static void put_targets(FILE *out, const struct figures *f, unsigned qos)
{
    struct figure_id id = {.scope = FIGURE_OF_TARGETS, .by = GROUPS_QOS, .qos = (uint8_t)qos};
    char name[FIGURE_NAME];
    id.what = FIGURE_TARGET_P95;
    fputs("<td>", out);
    html_value(out, figure_name(name, &id), figure_unit(id.what), figures_number(f, id), false);
    fputs("</td><td>", out);
    id.what = FIGURE_COMPLIANCE;
    html_value(out, figure_name(name, &id), figure_unit(id.what), figures_number(f, id), false);
    id.what = FIGURE_MET;
    fputs("</td>", out);
    if (figures_is(f, id))
        html_element(out, "td", "good", "met");
    else
        html_element(out, "td", figures_is_not(f, id) ? "bad" : "none",
                     figures_is_not(f, id) ? "missed" : "-");
    fputs("</tr>\n", out);
}

static void put_requests(FILE *out, const struct figures *f)
{
    static const char *const titles[] = {
        "requests",  "count",       "end to end p50", "p95",       "p99",    "max",
        "queue p95", "storage p95", "generation p95", "p95 limit", "within", "target"};
    static const struct column columns[] = {
        {FIGURE_REQUESTS, FIGURE_VALUE}, {FIGURE_END_TO_END, FIGURE_P50},
        {FIGURE_END_TO_END, FIGURE_P95}, {FIGURE_END_TO_END, FIGURE_P99},
        {FIGURE_END_TO_END, FIGURE_MAX}, {FIGURE_QUEUE, FIGURE_P95},
        {FIGURE_STORAGE, FIGURE_P95},    {FIGURE_GENERATION, FIGURE_P95}};
    const size_t n = sizeof(columns) / sizeof(columns[0]);
    struct figure_part part = {0}, of_class = {0};
    if (!figures_next(f, FIGURE_OF_REQUESTS, &part) || !figure_in(&part, FIGURE_REQUESTS))
        return;
    fputs("<section>\n<h2>Requests</h2>\n", out);
    html_table_begin(out, COLUMNS(titles), NUMBERS);
    fputs("<tr><th scope=\"row\">all</th>", out);
    for (size_t i = 0; i < n; i++)
        html_cell(out, &part, columns[i].what, columns[i].statistic);
    fputs("<td></td><td></td><td></td></tr>\n", out);
    while (figures_next(f, FIGURE_OF_QOS, &of_class)) {
        if (!figure_in(&of_class, FIGURE_REQUESTS))
            continue;
        fputs("<tr><th scope=\"row\">", out);
        html_text(out, trace_qos_text(of_class.figure->id.qos));
        fputs("</th>", out);
        for (size_t i = 0; i < n; i++)
            html_cell(out, &of_class, columns[i].what, columns[i].statistic);
        put_targets(out, f, of_class.figure->id.qos);
    }
    html_table_end(out);
    fputs("</section>\n", out);
}

static void put_cache(FILE *out, const struct figures *f)
{
    static const char *const lookup_titles[] = {"lookups of", "lookups", "hits", "misses",
                                                "hit rate"};
    static const struct column lookup_columns[] = {{FIGURE_LOOKUPS, FIGURE_VALUE},
                                                   {FIGURE_HITS, FIGURE_VALUE},
                                                   {FIGURE_MISSES, FIGURE_VALUE},
                                                   {FIGURE_HIT_RATE, FIGURE_VALUE}};
    static const char *const tier_titles[] = {"contents of", "capacity",   "peak",
                                              "objects",     "at the end", "evicted",
                                              "offloaded",   "promoted",   "deleted"};
    static const struct column tier_columns[] = {
        {FIGURE_CAPACITY_BYTES, FIGURE_VALUE}, {FIGURE_PEAK_BYTES, FIGURE_VALUE},
        {FIGURE_PEAK_OBJECTS, FIGURE_VALUE},   {FIGURE_FINAL_BYTES, FIGURE_VALUE},
        {FIGURE_EVICT_OPS, FIGURE_VALUE},      {FIGURE_OFFLOAD_OPS, FIGURE_VALUE},
        {FIGURE_PROMOTE_OPS, FIGURE_VALUE},    {FIGURE_DELETE_OPS, FIGURE_VALUE}};
    static const char *const ratio_titles[] = {"ratio", ""};
    struct figure_part part = {0};
    fputs("<section>\n<h2>Cache</h2>\n", out);
    html_table_begin(out, COLUMNS(lookup_titles), NUMBERS);
    while (figures_next(f, FIGURE_OF_LOOKUPS, &part)) {
        const struct figure_id *id = &part.figure->id;
        put_row(out, id->by & GROUPS_CLASS ? trace_class_text(id->class) : "all", &part,
                lookup_columns, sizeof(lookup_columns) / sizeof(lookup_columns[0]));
    }
    html_table_end(out);
    html_table_begin(out, COLUMNS(tier_titles), NUMBERS);
    part = (struct figure_part){0};
    while (figures_next(f, FIGURE_OF_CACHE_TIER, &part))
        if (figure_in(&part, FIGURE_PEAK_BYTES))
            put_row(out, trace_tier_text(part.figure->id.tier), &part, tier_columns,
                    sizeof(tier_columns) / sizeof(tier_columns[0]));
    html_table_end(out);
    html_table_begin(out, COLUMNS(ratio_titles), NUMBERS);
    put_single(out, f, figure_id(FIGURE_OF_CACHE, FIGURE_READ_WRITE_RATIO),
               "bytes read / bytes written");
    put_single(out, f, figure_id(FIGURE_OF_CACHE, FIGURE_READ_AMPLIFICATION),
               "tokens read / tokens generated");
    html_table_end(out);
    fputs("</section>\n", out);
}

static void put_groups(FILE *out, const struct figures *f)
{
    static const char *const titles[] = {"group",       "ops",       "failed",      "moved",
                                         "rate",        "mean size", "service p50", "service p95",
                                         "service p99", "p99.9",     "service max", "response p95"};
    static const struct column columns[] = {
        {FIGURE_OPS, FIGURE_VALUE},    {FIGURE_FAILED, FIGURE_VALUE},
        {FIGURE_BYTES, FIGURE_VALUE},  {FIGURE_GIB_PER_S, FIGURE_VALUE},
        {FIGURE_SIZE, FIGURE_MEAN},    {FIGURE_SERVICE, FIGURE_P50},
        {FIGURE_SERVICE, FIGURE_P95},  {FIGURE_SERVICE, FIGURE_P99},
        {FIGURE_SERVICE, FIGURE_P999}, {FIGURE_SERVICE, FIGURE_MAX},
        {FIGURE_RESPONSE, FIGURE_P95}};
    struct figure_part part = {0};
    bool result = figures_is_result(f);
    size_t n = result ? sizeof(columns) / sizeof(columns[0]) : 5; /* a trace has no times */
    fputs("<section>\n<h2>Groups</h2>\n", out);
    html_table_begin(out, titles, n + 1, NUMBERS);
    while (figures_next(f, FIGURE_OF_GROUP, &part)) {
        char label[LABEL];
        if (part.figure->id.label)
            put_row(out, cell_label(label, &part.figure->id), &part, columns, n);
    }
    html_table_end(out);
    fputs("</section>\n", out);
}

void page_tables(FILE *out, const struct figures *f)
{
    put_shares(out, f);
    put_throughput(out, f);
    put_tiers(out, f);
    put_requests(out, f);
    put_cache(out, f);
    put_groups(out, f);
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
