/* The one-screen report on a run: what was run, the verdict, whether to believe it, where the time
 * went, the table of tiers, requests, cache, notes, and what to do next. A section without anything
 * to say is left out. When all of it is more than a screen, its paragraphs become shorter. */
#include <math.h>
#include <string.h>

#include "kvstat/report/bottleneck.h"
#include "kvstat/report/cells.h"
#include "kvstat/screen/lines.h"
#include "kvstat/screen/screen.h"
#include "kvstat/sheet/sheet.h"
#include "lib/base/err.h"
#include "lib/base/units.h"
#include "lib/facts/judge.h"
#include "lib/text/text.h"
#include "lib/trace/trace.h"

/* The lines that paragraphs may take, and whether sections are set apart. */
struct room {
    size_t verdict, validity, origin, time, requests, targets, notes;
    bool apart;
};

enum {
    RECORDED_LINES = 3
};

static bool is_simulated(const struct figures *f, unsigned tier)
{
    return figures_is(f, figure_id_tier(FIGURE_OF_ROWS, tier, FIGURE_SIMULATED));
}

static const char *const tiers[TRACE_TIERS] = {
    [TRACE_GPU] = "GPU", [TRACE_CPU] = "memory", [TRACE_STORAGE] = "storage"};

/* ---- what was run ---- */

/* "llama3.1-8b, 50 users, 5 min 00 s, seed 42". */
static void add_what(char *buf, size_t n, const struct figures *f)
{
    const enum figure_scope run = FIGURE_OF_PROVENANCE;
    const char *model = figures_text_of(f, run, FIGURE_MODEL),
               *client = figures_text_of(f, run, FIGURE_CLIENT);
    const struct figure *seed = figures_find(f, figure_id(run, FIGURE_SEED));
    double users = figures_number_of(f, run, FIGURE_USERS);
    char cell[CELL], name[LINES_BYTES];
    buf[0] = '\0';
    if (model[0])
        text_append(buf, n, "%.60s, ", lines_shorten(name, model, 24));
    if (users > 0)
        text_append(buf, n, "%s user%s, ", cell_count(cell, (uint64_t)users),
                    units_plural((uint64_t)users));
    if (client[0] && strcmp(client, "kvreplay") != 0)
        text_append(buf, n, "log of %.40s, ", client);
    text_append(buf, n, "%s%s",
                cell_seconds(cell, figures_number_of(f, FIGURE_OF_RUN, FIGURE_ELAPSED)),
                figures_is_result(f) ? "" : " of simulated time");
    if (!seed || seed->form != FIGURE_FORM_UNSIGNED)
        return;
    snprintf(cell, sizeof(cell), ", seed %llu", (unsigned long long)seed->count);
    if (strlen(buf) + strlen(cell) <=
        LINES_COLUMNS - 15) /* else the name of the file has no room */
        text_append(buf, n, "%s", cell);
}

static void put_title(struct lines *l, const struct figures *f)
{
    char what[160], name[LINES_BYTES], files[LINES_BYTES + 64], of_pool[64] = "";
    size_t n;
    const char *const *file = figures_files(f, &n);
    add_what(what, sizeof(what), f);
    if (n > 1)
        snprintf(of_pool, sizeof(of_pool), " and %zu more%s", n - 1,
                 figures_of_parts(f) ? "" : ", pooled");
    int columns =
        LINES_COLUMNS - 3 - cell_columns(what) - (int)strlen(of_pool); /* three blanks between */
    lines_shorten(name, strcmp(file[0], "-") == 0 ? "standard input" : file[0],
                  columns < 12 ? 12 : columns);
    snprintf(files, sizeof(files), "%s%s", name, of_pool);
    lines_add(l, "%s   %s", files, what);
}

/* "storage on vda (io_uring, O_DIRECT, small pages)": huge ones are the rule. Where they are the
 * engine's: "(lmcache-fs, ..., pages in runs of 66)". "" when it is not known. */
static void add_storage(char *buf, size_t n, const struct figures *f)
{
    const enum figure_scope run = FIGURE_OF_PROVENANCE;
    const char *engine = figures_text_of(f, run, FIGURE_ENGINE),
               *target = figures_text_of(f, run, FIGURE_TARGET);
    const char *device = figures_text_of(f, run, FIGURE_SAME_OF_DEVICE);
    const struct figure *flags = figures_find(f, figure_id(run, FIGURE_FLAGS));
    char place[LINES_BYTES];
    buf[0] = '\0';
    if (!engine[0])
        return;
    if (is_simulated(f, TRACE_STORAGE)) {
        snprintf(buf, n, "storage %s",
                 figures_is_empty(f, TRACE_STORAGE) ? "not executed (empty engine)" : "simulated");
        return;
    }
    const char *kind = figures_text(f, figure_id_fact(FACT_PAGES));
    double of_run = figures_number(f, figure_id_fact(FACT_PAGES_RUN));
    char pages[64] = "";
    if (strcmp(kind, "small") == 0)
        snprintf(pages, sizeof(pages), ", small pages");
    else if (strcmp(kind, "engine") == 0 && of_run > 0)
        snprintf(pages, sizeof(pages), ", pages in runs of %.*f", of_run < 10, of_run);
    lines_shorten(place, device[0] ? device : target, 30);
    snprintf(buf, n, "storage%s%s (%.30s%s%.30s%.30s)", place[0] ? " on " : "", place, engine,
             flags && flags->list.n > 0 ? ", " : "",
             flags && flags->list.n > 0 ? flags->list.item[0] : "", pages);
}

static void put_operations(struct lines *l, const struct figures *f)
{
    uint64_t ops = figures_count_of(f, FIGURE_OF_ROWS, FIGURE_IO_OPS);
    char a[CELL], b[CELL], c[CELL], line[200], storage[LINES_BYTES + 80];
    snprintf(line, sizeof(line), "%s%s operation%s",
             figures_is_result(f) ? "" : "trace: ", cell_count(a, ops), units_plural(ops));
    if (ops > 0)
        text_append(line, sizeof(line), " of %s on average: %s read, %s written",
                    cell_size(a, figures_number_of(f, FIGURE_OF_ROWS, FIGURE_SIZE)),
                    cell_size(b, figures_number_of(f, FIGURE_OF_ROWS, FIGURE_READ_BYTES)),
                    cell_size(c, figures_number_of(f, FIGURE_OF_ROWS, FIGURE_WRITE_BYTES)));
    add_storage(storage, sizeof(storage), f);
    if (storage[0] && strlen(line) + 2 + (size_t)cell_columns(storage) <= LINES_COLUMNS) {
        lines_add(l, "%s; %s", line, storage);
        return;
    }
    lines_add(l, "%s", line);
    if (storage[0])
        lines_add(l, "%s", storage);
}

/* Says what a recorded trace has, and what it lacks. */
static void put_recorded(struct lines *l, const struct figures *f)
{
    const char *recorded = figures_text_of(f, FIGURE_OF_PROVENANCE, FIGURE_RECORDED);
    struct lines_parts p = {0};
    if (recorded[0])
        lines_part(&p, "%s", recorded);
    lines_paragraph(l, "Recorded", &p, "", RECORDED_LINES);
}

static void put_failures(struct lines *l, const struct figures *f, const struct room *room)
{
    static const struct {
        enum figure_what status;
        const char *what;
    } failures[] = {{FIGURE_FAILED, "with an I/O error"},
                    {FIGURE_CORRUPT, "with wrong data"},
                    {FIGURE_ABSENT, "without their objects"}};
    uint64_t bad = figures_count_of(f, FIGURE_OF_RUN, FIGURE_BAD_ROWS);
    double missed = figures_number(f, figure_id_fact(FACT_REMOVED_MISSES));
    struct lines_parts p = {0};
    char cell[CELL], removed[64] = "";
    if (missed > 0)
        snprintf(removed, sizeof(removed), " (%s removed to make room)",
                 cell_count(cell, (uint64_t)missed));
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
        uint64_t n = figures_status_count(f, failures[i].status);
        if (n > 0)
            lines_part(&p, "%s %s%s", p.count ? cell_count(cell, n) : cell_rows(cell, n),
                       failures[i].what, failures[i].status == FIGURE_ABSENT ? removed : "");
    }
    if (bad > 0)
        lines_part(&p, "%s not readable, skipped", cell_rows(cell, bad));
    lines_paragraph(l, "Failed", &p, ", ", room->requests);
    if (figures_is(f, figure_id(FIGURE_OF_RUN, FIGURE_CUT)))
        lines_add(l, "%-*sthe file ends early; the report covers the rows before that",
                  LINES_INDENT, "Incomplete");
}

/* ---- the verdict ---- */

/* "storage_read_device_p95" as words: "read device p95"; "..._p9999": "... p99.99". */
static void criterion_words(char *buf, size_t n, const char *name)
{
    static const char tier[] = "storage_";
    const char *tail = strstr(name, "_p99");
    if (strncmp(name, tier, strlen(tier)) == 0)
        name += strlen(tier);
    tail = tail && tail[4] ? tail + 4 : "";
    snprintf(buf, n, "%.*s%s%s", (int)(strlen(name) - strlen(tail)), name, tail[0] ? "." : "",
             tail);
    for (char *p = buf; *p; p++)
        if (*p == '_')
            *p = ' ';
}

/* A criterion's value in its unit: "41.0 ms". */
static const char *criterion_value(char buf[CELL], const struct verdict_criterion *c, double v)
{
    char size[CELL];
    if (!isfinite(v))
        snprintf(buf, CELL, "no bound");
    else if (c->unit == FIGURE_UNIT_SHARE)
        cell_percent(buf, v);
    else if (c->unit == FIGURE_UNIT_GIB_PER_S)
        snprintf(buf, CELL, "%s/s", cell_size(size, v * (double)UNITS_GIB));
    else
        cell_value(buf, c->unit, v);
    return buf;
}

/* " (the drive itself 10.1 ms)"; "" where that is not known. Returns buf. */
static const char *drive_part(char buf[2 * CELL], const struct verdict_criterion *c)
{
    char ms[CELL];
    buf[0] = '\0';
    if (!isnan(c->drive))
        snprintf(buf, 2 * CELL, " (the drive itself %s)", criterion_value(ms, c, c->drive));
    return buf;
}

static void add_criterion(struct lines_parts *p, const struct verdict_criterion *c)
{
    static const char *const relations[] = {[VERDICT_BELOW] = "<", [VERDICT_ABOVE] = ">"};
    char words[80], low[CELL], high[CELL], target[CELL], reason[VERDICT_REASON];
    char drive[2 * CELL];
    criterion_words(words, sizeof(words), c->name);
    criterion_value(target, c, c->target);
    if (c->unit == FIGURE_UNIT_NONE && isfinite(c->actual)) { /* a number of rows */
        lines_part(p, "%s %s", c->actual > 0 ? cell_count(low, (uint64_t)c->actual) : "no", words);
        return;
    }
    if (c->outcome != VERDICT_INCONCLUSIVE) {
        lines_part(p, "%s %s%s %s %s%s", words, criterion_value(low, c, c->actual),
                   c->outcome == VERDICT_PASS ? "" : ", not", relations[c->relation], target,
                   drive_part(drive, c));
        return;
    }
    verdict_reason(reason, c);
    if (!isfinite(c->low) || !isfinite(c->high))
        lines_part(p, "%s: only %s%s", words, reason, isfinite(c->to_decide) ? "" : ": run longer");
    else
        lines_part(p, "%s is between %s and %s, too close to %s with %s", words,
                   criterion_value(low, c, c->low), criterion_value(high, c, c->high), target,
                   reason);
}

/* Criteria that nobody can decide for the same reason: "read p95, p99, write p95 unknown: ...".
 * first: of them; the others come with it. */
static void add_doubt(struct lines_parts *p, const struct verdict *v, size_t first)
{
    const char *doubt = v->criterion[first].doubt;
    char names[400] = "", words[80], before[80] = "";
    for (size_t i = 0; i < first; i++)
        if (strcmp(v->criterion[i].doubt, doubt) == 0)
            return;
    for (size_t i = first; i < v->count; i++) {
        if (strcmp(v->criterion[i].doubt, doubt) != 0)
            continue;
        criterion_words(words, sizeof(words), v->criterion[i].name);
        const char *last = strrchr(words, ' ');
        size_t stem = last ? (size_t)(last - words) : 0;
        bool same = stem > 0 && strncmp(words, before, stem + 1) == 0; /* only its percentile */
        text_append(names, sizeof(names), "%s%s", names[0] ? ", " : "",
                    words + (same ? stem + 1 : 0));
        memcpy(before, words, sizeof(before));
    }
    lines_part(p, "%s %s", names, doubt);
}

/* A FAIL begins with the failures, another verdict with the open points. */
static void put_verdict(struct lines *l, const struct figures *f, const struct verdict *v,
                        const struct room *room)
{
    static const enum verdict_outcome order[] = {VERDICT_FAIL, VERDICT_INCONCLUSIVE, VERDICT_PASS};
    static const char *const words[] = {
        [VERDICT_FAIL] = "FAIL", [VERDICT_PASS] = "PASS", [VERDICT_INCONCLUSIVE] = "INCONCLUSIVE"};
    struct lines_parts p = {0};
    char title[120], speed[VERDICT_SPEED];
    if (!v && !figures_is_result(f))
        return;
    if (!v) {
        lines_add(l, "%-*snot judged: add --profile latency, throughput or mlperf", LINES_INDENT,
                  "Verdict");
        return;
    }
    for (size_t k = 0; k < sizeof(order) / sizeof(order[0]); k++)
        for (size_t i = 0; i < v->count; i++) {
            if (v->criterion[i].outcome != order[k] ||
                (order[k] == VERDICT_PASS && v->outcome != VERDICT_PASS))
                continue;
            if (v->criterion[i].doubt[0])
                add_doubt(&p, v, i);
            else
                add_criterion(&p, &v->criterion[i]);
        }
    if (v->in_warmup)
        lines_part(&p, "all rows started in the warm-up: none is left to judge");
    else if (p.count == 0)
        lines_part(&p, "the file has no data that this profile judges");
    snprintf(title, sizeof(title), "%-*s%s  %s%s:", LINES_INDENT, "Verdict", words[v->outcome],
             figures_text_of(f, FIGURE_OF_VERDICT, FIGURE_PROFILE), verdict_speed(speed, v->speed));
    lines_paragraph(l, title, &p, v->outcome == VERDICT_PASS ? ", " : "; ", room->verdict);
}

static void put_validity(struct lines *l, const struct figures *f, const struct room *room)
{
    const char *line = figures_text_of(f, FIGURE_OF_VALIDITY, FIGURE_VALIDITY_LINE);
    struct lines_parts p = {0};
    if (line[0])
        lines_part(&p, "%s", line);
    lines_paragraph(l, "Validity", &p, "; ", room->validity);
}

/* ---- where the time went ---- */

static const char *simulated_word(const struct figures *f, enum figure_what what)
{
    unsigned tier = what == FIGURE_SHARE_GPU                                    ? TRACE_GPU
                    : what == FIGURE_SHARE_CPU                                  ? TRACE_CPU
                    : what >= FIGURE_SHARE_SLOT && what <= FIGURE_SHARE_STORAGE ? TRACE_STORAGE
                                                                                : TRACE_TIERS;
    if (tier == TRACE_TIERS || !is_simulated(f, tier))
        return "";
    return figures_is_empty(f, tier) ? " (not executed)" : " (simulated)";
}

/* The one part that stands out, if any does. */
static void add_bottleneck(struct lines_parts *p, const struct figures *f)
{
    const char *largest = figures_text_of(f, FIGURE_OF_BOTTLENECK, FIGURE_LARGEST);
    bool queue = figures_number_of(f, FIGURE_OF_SHARES, FIGURE_SHARE_QUEUE) >= 0.005;
    char percent[80];
    if (!largest[0]) {
        lines_part(p, "no single bottleneck");
        return;
    }
    const bool storage = strcmp(largest, "storage") == 0; /* all of Tier-2 */
    const unsigned share = bottleneck_share(largest);
    snprintf(percent, sizeof(percent), " (%.0f %% with its queue)",
             100 * figures_number_of(f, FIGURE_OF_BOTTLENECK, FIGURE_SHARE));
    lines_part(p, "bottleneck: %s%s%s", storage ? largest : bottleneck_words[share].screen,
               simulated_word(f, storage ? FIGURE_SHARE_STORAGE : bottleneck_part(share)),
               queue ? percent : "");
}

/* The largest parts of the time, at most so many; those below 1 % and the rest are "other". */
static void add_shares(struct lines_parts *p, const struct figures *f, size_t shown)
{
    bool told[BOTTLENECK_SHARES] = {false};
    char line[LINES_PART_BYTES] = "";
    double rest = 0;
    for (unsigned k = 0; k < BOTTLENECK_SHARES; k++) {
        unsigned best = BOTTLENECK_SHARES;
        double most = 0;
        for (unsigned i = 0; i < BOTTLENECK_SHARES; i++) {
            double share = figures_number_of(f, FIGURE_OF_SHARES, bottleneck_part(i));
            if (!told[i] && share > most) {
                most = share;
                best = i;
            }
        }
        if (best == BOTTLENECK_SHARES)
            break;
        told[best] = true;
        if (k >= shown || most < 0.01) {
            rest += most;
            continue;
        }
        text_append(line, sizeof(line), "%s%s%s %.0f %%", k ? ", " : "",
                    bottleneck_words[best].screen, simulated_word(f, bottleneck_part(best)),
                    100 * most);
    }
    if (rest >= 0.005)
        text_append(line, sizeof(line), ", other %.0f %%", 100 * rest);
    lines_part(p, "%s", line);
}

static void put_time(struct lines *l, const struct figures *f, const struct room *room)
{
    size_t before = l->count;
    bool fits = false;
    if (!figures_find(f, figure_id(FIGURE_OF_BOTTLENECK, FIGURE_FOREMOST)))
        return;
    for (size_t shown = 4; shown > 0 && !fits; shown--) {
        struct lines_parts p = {0};
        l->count = before;
        add_shares(&p, f, shown);
        add_bottleneck(&p, f);
        fits = lines_paragraph(l, "Time went", &p, "; ", room->time);
    }
}

/* ---- the table of tiers ---- */

enum {
    LABEL_COLUMNS = 21
};

static const char *row_label(char buf[LABEL_COLUMNS], const struct figures *f, unsigned tier,
                             enum trace_op op)
{
    snprintf(buf, LABEL_COLUMNS, "%s %s%s", tiers[tier], op == TRACE_READ ? "read" : "write",
             figures_is_empty(f, tier) ? " (null)"
             : is_simulated(f, tier)   ? " (sim.)"
                                       : "");
    buf[0] = (char)(tier == TRACE_GPU ? 'G' : tier == TRACE_CPU ? 'M' : 'S');
    return buf;
}

/* A count of at most 9 columns. */
static const char *short_count(char buf[CELL], uint64_t n)
{
    if (n < 10000000)
        return cell_count(buf, n);
    snprintf(buf, CELL, "%.4g M", (double)n / 1e6);
    return buf;
}

/* A rate in GiB/s of at most 7 columns. */
static const char *short_rate(char buf[CELL], double v)
{
    if (v > 0 && v < 0.0005)
        snprintf(buf, CELL, "<0.001");
    else if (v >= 1e6)
        snprintf(buf, CELL, "%.1e", v);
    else
        cell_number(buf, v);
    return buf;
}

static const char *percentile(char buf[CELL], const struct hist *h, uint32_t ppm)
{
    return h && hist_count(h) >= judge_samples(ppm)
               ? cell_time(buf, (double)hist_percentile(h, ppm), true)
               : NULL;
}

/* The cells behind a row's label; whether one of its percentiles is a dash. */
static bool put_cells(struct sheet *s, const struct figures *f, unsigned tier, enum trace_op op)
{
    const struct figure_id ops = figure_id_direction(tier, op, FIGURE_OPS),
                           moved = figure_id_direction(tier, op, FIGURE_MOVED),
                           rate = figure_id_direction(tier, op, FIGURE_GIB_PER_S);
    const struct hist *service = figures_hist(f, figure_id_direction(tier, op, FIGURE_SERVICE));
    const struct hist *size = figures_hist(f, figure_id_direction(tier, op, FIGURE_SIZE));
    char cell[CELL];
    bool dash = false;
    sheet_word(s, short_count(cell, figures_count(f, ops)));
    sheet_word(s, cell_size(cell, (double)figures_count(f, moved)));
    sheet_word(s, short_rate(cell, figures_number(f, rate)));
    for (unsigned i = 0; i < JUDGED; i++) {
        const char *time = percentile(cell, service, judge_percentile[i].ppm);
        dash |= !time;
        sheet_word(s, time ? time : "-");
    }
    sheet_word(s, service ? cell_time(cell, (double)hist_max(service), true) : "-");
    sheet_word(s, size ? cell_size(cell, hist_mean(size)) : "-");
    sheet_word(s, size ? cell_size(cell, (double)hist_max(size)) : "-");
    return dash && figures_is_result(f);
}

/* Whether any percentile is a dash. */
static bool put_table(struct lines *l, const struct figures *f)
{
    enum {
        OF_RESULTS = SHEET_OWN,
        OF_TRACES = SHEET_OWN << 1
    };
    static const struct sheet_column columns[] = {{"Service times", 0, 0, SHEET_LEFT},
                                                  {"      ops", 0, 0, 0},
                                                  {"    moved", 0, 0, 0},
                                                  {"  GiB/s", 0, 0, 0},
                                                  {"    p50", 0, 0, OF_RESULTS},
                                                  {"    p95", 0, 0, OF_RESULTS},
                                                  {"    p99", 0, 0, OF_RESULTS},
                                                  {"    max", 0, 0, OF_RESULTS},
                                                  {"mean size", 0, 0, OF_TRACES},
                                                  {"  largest", 0, 0, OF_TRACES}};
    static const enum trace_tier order[] = {TRACE_STORAGE, TRACE_CPU, TRACE_GPU};
    const bool result = figures_is_result(f);
    struct sheet s = {SHEET(sheet_screen, l, columns),
                      .label = result ? "Service times" : "Load         ",
                      .without = result ? OF_TRACES : OF_RESULTS};
    char label[LABEL_COLUMNS];
    bool dash = false;
    while (sheet_pass(&s))
        for (unsigned t = 0; t < TRACE_TIERS; t++)
            for (enum trace_op op = TRACE_READ; op <= TRACE_WRITE; op++) {
                if (figures_count(f, figure_id_direction(order[t], op, FIGURE_OPS)) == 0)
                    continue;
                sheet_row(&s, row_label(label, f, order[t], op));
                dash |= put_cells(&s, f, order[t], op);
            }
    return dash;
}

/* ---- requests and cache ---- */

static void put_requests(struct lines *l, const struct figures *f, const struct room *room)
{
    const enum figure_scope scope = FIGURE_OF_REQUESTS;
    const struct hist *h = figures_hist(f, figure_id(scope, FIGURE_END_TO_END));
    double rate = figures_number_of(f, FIGURE_OF_WALL, FIGURE_GENERATED_TOKENS_PER_S);
    uint64_t n = figures_count_of(f, scope, FIGURE_REQUESTS),
             failed = figures_count_of(f, scope, FIGURE_FAILED);
    struct lines_parts p = {0};
    char a[CELL], b[CELL];
    if (n == 0)
        return;
    lines_part(&p, "%s%s%s", cell_count(a, n), failed ? ", failed " : "",
               failed ? cell_count(b, failed) : "");
    if (h && hist_max(h) > 0) {
        const char *p50 = percentile(a, h, 500000), *p95 = percentile(b, h, 950000);
        char max[CELL];
        lines_part(&p, "end to end %s%s%s%s%s%smax %s", p50 ? "p50 " : "", p50 ? p50 : "",
                   p50 ? ", " : "", p95 ? "p95 " : "", p95 ? p95 : "", p95 ? ", " : "",
                   cell_time(max, (double)hist_max(h), true));
    }
    const struct hist *token = figures_hist(f, figure_id(scope, FIGURE_TTFT));
    if (token && hist_count(token) > 0)
        lines_part(&p, "first token p50 %s, max %s",
                   cell_time(a, (double)hist_percentile(token, 500000), true),
                   cell_time(b, (double)hist_max(token), true));
    if (isfinite(rate) && rate > 0)
        lines_part(&p, "%s tokens/s generated", cell_number(a, rate));
    lines_paragraph(l, "Requests", &p, "; ", room->requests);
}

/* The classes that miss their targets, and what makes it impossible. */
static void put_targets(struct lines *l, const struct figures *f, const struct room *room)
{
    struct figure_part class = {0};
    struct lines_parts p = {0};
    bool any = false;
    if (figures_is_scaled(f)) {
        lines_part(&p, "not judged: --speed %g divided generation and pauses",
                   figures_number_of(f, FIGURE_OF_PROVENANCE, FIGURE_SPEED));
        lines_paragraph(l, "Targets", &p, "; ", room->targets);
        return;
    }
    while (figures_next(f, FIGURE_OF_QOS, &class)) {
        struct figure_id id = class.figure->id;
        const struct figure *generation = figure_in(&class, FIGURE_GENERATION);
        char target[CELL], alone[CELL], why[80] = "";
        id.scope = FIGURE_OF_TARGETS;
        id.what = FIGURE_MET;
        bool is_met = figures_is(f, id), is_missed = figures_is_not(f, id);
        any |= is_met;
        if (!is_missed)
            continue;
        id.what = FIGURE_TARGET_P95;
        double target_ms = figures_number(f, id);
        id.what = FIGURE_COMPLIANCE;
        double share = figures_number(f, id);
        snprintf(target, sizeof(target), "%.6g ms", target_ms);
        if (generation && generation->form == FIGURE_FORM_DISTRIBUTION) {
            double p50 = (double)hist_percentile(generation->hist, 500000);
            if (p50 > target_ms * 1e6)
                snprintf(why, sizeof(why), " (generation alone takes %s)",
                         cell_time(alone, p50, true));
        }
        lines_part(&p, "%s missed: %.0f %% of requests within %s%s", trace_qos_text(id.qos),
                   100 * share, target, why);
    }
    if (any && p.count == 0)
        lines_part(&p, "met by all classes of requests");
    else if (any)
        lines_part(&p, "met by the other classes");
    lines_paragraph(l, "Targets", &p, "; ", room->targets);
}

static void put_cache(struct lines *l, const struct figures *f)
{
    double rate = figures_number_of(f, FIGURE_OF_LOOKUPS, FIGURE_HIT_RATE);
    double amplification = figures_number_of(f, FIGURE_OF_CACHE, FIGURE_READ_AMPLIFICATION);
    uint64_t lookups = figures_count_of(f, FIGURE_OF_LOOKUPS, FIGURE_LOOKUPS);
    struct lines_parts p = {0};
    char a[CELL], b[CELL];
    if (lookups > 0 && isnan(rate))
        lines_part(&p, "hit rate unknown: the file records no misses");
    else if (lookups > 0)
        lines_part(&p, "hit rate %s of %s lookups", cell_percent(a, rate), cell_count(b, lookups));
    if (isfinite(amplification))
        lines_part(&p, "%s tokens read for each generated", cell_number(a, amplification));
    lines_paragraph(l, "Cache", &p, "; ", 1);
}

/* Where the bytes of storage came from, and went. */
static void put_origin(struct lines *l, const struct figures *f, const struct room *room)
{
    struct lines_parts p = {0};
    char text[ORIGIN_TEXT];
    if (figures_origin(text, f, FACTS_OF_READS)[0])
        lines_part(&p, "storage reads: %s", text);
    if (figures_hits(text, f)[0])
        lines_part(&p, "%s", text);
    if (figures_origin(text, f, FACTS_OF_WRITES)[0])
        lines_part(&p, "storage writes: %s", text);
    lines_paragraph(l, "Origin", &p, "; ", room->origin);
}

/* Prints the drive's own time for a request, with --device-times; or why it is not known. */
static void put_drive(struct lines *l, const struct figures *f, const struct room *room)
{
    static const struct {
        const char *name;
        enum fact_id us;
    } of[] = {{"reads", FACT_DRIVE_READ_US}, {"writes", FACT_DRIVE_WRITE_US}};
    const char *state = figures_text(f, figure_id_fact(FACT_DRIVE_STATE));
    struct lines_parts p = {0};
    char p50[CELL], p95[CELL];
    for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
        struct figure_id id = figure_id_fact(of[i].us);
        if (figures_number(f, figure_id_statistic(id, FIGURE_COUNT)) > 0)
            lines_part(&p, "%s p50 %s, p95 %s", of[i].name,
                       cell_value(p50, FIGURE_UNIT_US,
                                  figures_number(f, figure_id_statistic(id, FIGURE_P50))),
                       cell_value(p95, FIGURE_UNIT_US,
                                  figures_number(f, figure_id_statistic(id, FIGURE_P95))));
    }
    double given = figures_number(f, figure_id_fact(FACT_URING_READS)) +
                   figures_number(f, figure_id_fact(FACT_URING_WRITES));
    if (given > 0)
        lines_part(&p, "%s I/Os by threads that wait", cell_count(p50, (uint64_t)given));
    if (p.count == 0 && state && state[0])
        lines_part(&p, "its own times: %s", state);
    lines_paragraph(l, "Drive", &p, "; ", room->origin);
}

static void put_autoscaling(struct lines *l, const struct figures *f)
{
    const char *reason = figures_text(f, figure_id_fact(FACT_FOUND_REASON));
    double users = figures_number(f, figure_id_fact(FACT_FOUND_USERS));
    double rate = figures_number(f, figure_id_fact(FACT_FOUND_TOKENS_PER_S));
    struct lines_parts p = {0};
    char a[CELL], b[CELL];
    if (!figures_find(f, figure_id_fact(FACT_FOUND_USERS)))
        return;
    if (isnan(users))
        lines_part(&p, "no number of users found");
    else if (isnan(rate))
        lines_part(&p, "%s users", cell_number(a, users));
    else
        lines_part(&p, "%s users, %s tokens/s", cell_number(a, users), cell_number(b, rate));
    if (reason[0])
        lines_part(&p, "%.300s", reason);
    lines_paragraph(l, "Autoscale", &p, "; ", 1);
}

/* ---- notes ---- */

static void add_texts(struct lines_parts *p, const struct figures *f, enum figure_what what)
{
    const struct figure *list = figures_find(f, figure_id(FIGURE_OF_PROVENANCE, what));
    for (size_t i = 0; list && list->form == FIGURE_FORM_TEXTS && i < list->list.n; i++)
        lines_part(p, "%.600s", list->list.item[i]);
}

/* The names of the tiers that were simulated, or of those that did nothing. Returns how many. */
static size_t add_names(char names[64], const struct figures *f, bool empty)
{
    size_t n = 0;
    names[0] = '\0';
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        if (is_simulated(f, t) && figures_is_empty(f, t) == empty) {
            text_append(names, 64, "%s%s", n ? ", " : "", tiers[t]);
            n++;
        }
    return n;
}

static void add_simulated(struct lines_parts *p, const struct figures *f)
{
    char names[64];
    if (add_names(names, f, true) > 0)
        lines_part(p, "%s NOT EXECUTED (null): empty engines, whose times are kvreplay's own",
                   names);
    size_t n = add_names(names, f, false);
    if (n == 0)
        return;
    const struct figure *flags = figures_find(f, figure_id(FIGURE_OF_PROVENANCE, FIGURE_FLAGS));
    if (is_simulated(f, TRACE_STORAGE) && !figures_is_empty(f, TRACE_STORAGE) && flags &&
        flags->form == FIGURE_FORM_TEXTS && flags->list.n > 0) /* a measured drive */
        lines_part(p, "%s SIMULATED (sim.): %s%.600s", names, n == 1 ? "" : "storage ",
                   flags->list.item[0]);
    else
        lines_part(p, "%s SIMULATED (sim.): %s times come from a model, not from a device", names,
                   n == 1 ? "its" : "their");
}

static void put_notes(struct lines *l, const struct figures *f, const struct room *room)
{
    uint64_t parts = figures_count_of(f, FIGURE_OF_REQUESTS, FIGURE_COUNTED_IN_PARTS);
    uint64_t cut_off = figures_count_of(f, FIGURE_OF_REQUESTS, FIGURE_CUT_OFF);
    uint64_t populated = figures_count_of(f, FIGURE_OF_POPULATED, FIGURE_ROWS);
    uint64_t warm = figures_count_of(f, FIGURE_OF_WARMUP, FIGURE_ROWS);
    struct lines_parts p = {0};
    char a[CELL], b[CELL];
    add_simulated(&p, f);
    add_texts(&p, f, FIGURE_FALLBACKS);
    add_texts(&p, f, FIGURE_NOTES);
    if (warm > 0)
        lines_part(&p, "warm-up not counted: %s in the first %s", cell_rows(a, warm),
                   cell_seconds(b, figures_number_of(f, FIGURE_OF_WARMUP, FIGURE_SECONDS)));
    if (populated > 0)
        lines_part(&p, "not counted: %s (%s) written before the start", cell_rows(a, populated),
                   cell_size(b, figures_number_of(f, FIGURE_OF_POPULATED, FIGURE_BYTES)));
    if (figures_is(f, figure_id(FIGURE_OF_WALL, FIGURE_GENERATION_SKIPPED)))
        lines_part(&p, "generation was skipped: no token rates");
    if (parts > 0)
        lines_part(&p, "%s request%s counted as several", cell_count(a, parts),
                   units_plural(parts));
    if (cut_off > 0)
        lines_part(&p, "%s request%s cut off by the end of the run, counted up to the last row",
                   cell_count(a, cut_off), units_plural(cut_off));
    lines_paragraph(l, "Notes", &p, "; ", room->notes);
}

/* ---- what to do next ---- */

/* A name that a shell takes as it stands; else, or when it is long, "FILE". */
static const char *as_operand(const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./,:+@%=-";
    size_t len = strlen(name);
    return len > 0 && len <= 44 && name[0] != '-' && strspn(name, plain) == len ? name : "FILE";
}

static void put_more(struct lines *l, const struct figures *f)
{
    size_t n;
    const char *const *files = figures_files(f, &n);
    const char *name = n == 1 ? as_operand(files[0]) : "FILE...";
    const char *merge = figures_of_parts(f) ? "--ranks " : n > 1 ? "--merge " : "";
    char first[120], second[120];
    if (n == 1 && strcmp(files[0], "-") == 0) {
        lines_add(l, "More: --full here; or keep the rows (%s -o rows.csv.zst) for kvstat",
                  figures_is_result(f) ? "kvreplay" : "kvgen");
        return;
    }
    snprintf(first, sizeof(first), "More: kvstat --full %s%s", merge, name);
    if (figures_is_result(f))
        snprintf(second, sizeof(second), "kvstat --plot out.svg %s", name);
    else
        snprintf(second, sizeof(second), "kvreplay --nvme DIR %s", name);
    if (n > 1) {
        lines_add(l, "%s", first);
    } else if (strlen(first) + 2 + strlen(second) <= LINES_COLUMNS) {
        lines_add(l, "%s; %s", first, second);
    } else {
        lines_add(l, "%s", first);
        lines_add(l, "      %s", second);
    }
}

/* ---- all of it ---- */

static void set_apart(struct lines *l, const struct room *room)
{
    if (room->apart)
        lines_gap(l);
}

/* Explains the dash in the table. */
static void put_samples(struct lines *l)
{
    char line[128] = "-  too few samples:";
    for (unsigned i = 0; i < JUDGED; i++)
        text_append(line, sizeof(line), "%s p%u%s %llu", i ? "," : "", judge_percentile[i].percent,
                    i ? "" : " takes", (unsigned long long)judge_samples(judge_percentile[i].ppm));
    lines_add(l, "%s", line);
}

static void put_all(struct lines *l, const struct figures *f, const struct verdict *v,
                    const struct room *room)
{
    l->count = 0;
    put_title(l, f);
    put_operations(l, f);
    put_recorded(l, f);
    set_apart(l, room);
    put_failures(l, f, room);
    put_verdict(l, f, v, room);
    put_validity(l, f, room);
    put_origin(l, f, room);
    put_drive(l, f, room);
    put_time(l, f, room);
    set_apart(l, room);
    bool dash = put_table(l, f);
    if (dash)
        put_samples(l);
    set_apart(l, room);
    put_requests(l, f, room);
    put_targets(l, f, room);
    put_cache(l, f);
    put_autoscaling(l, f);
    put_notes(l, f, room);
    set_apart(l, room);
    put_more(l, f);
}

void screen_run(FILE *out, const struct figures *f, const struct verdict *verdict)
{
    /* The last is no more than a screen, whatever there is to say. */
    static const struct room rooms[] = {
        {3, 4, 3, 3, 2, 3, 4, true}, {3, 3, 3, 3, 2, 2, 2, true},  {2, 2, 1, 2, 2, 2, 2, true},
        {2, 2, 1, 2, 2, 2, 1, true}, {2, 2, 1, 2, 1, 2, 1, true},  {2, 2, 1, 2, 1, 1, 1, true},
        {2, 1, 1, 2, 1, 1, 1, true}, {2, 2, 1, 2, 1, 2, 1, false}, {1, 1, 1, 1, 1, 1, 1, false}};
    enum {
        ROOMS = sizeof(rooms) / sizeof(rooms[0])
    };
    struct lines l = {0};
    for (unsigned i = 0; i < ROOMS; i++) {
        put_all(&l, f, verdict, &rooms[i]);
        if (l.count <= LINES_MOST)
            break;
    }
    lines_put(out, &l);
}
