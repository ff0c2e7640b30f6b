/* The judgement on a confirmation: figures of both replays, then causes in the order of how much
 * each of them explains. What makes a figure doubtful stands in lib/facts/judge; here is what it
 * means for an answer, and what would decide it. */
#include "kvstat/answer/confirm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kvstat/report/cells.h"
#include "kvstat/report/intervals.h"
#include "lib/base/err.h"
#include "lib/base/units.h"
#include "lib/facts/judge.h"
#include "lib/io/gap_line.h"
#include "lib/trace/trace.h"

/* Bytes on the device that are nobody's: a file system's journal and tables, in all and for each
 * object that is written. Below that, others moved too little to be told from them. */
#define TABLES   8e6
#define TABLE_OF 16384

/* A change over time counts when the drive is slower by this factor after it. */
#define SLOWED 1.3
/* Standard errors between before and after; the best of many splits is taken. */
#define SLOWED_ERRORS 5.0
#define SLOWED_LEAST  3 /* pieces of time on either side */

/* Waiting for a processor lengthens a row by at most so many times the longest wait: its own, and
 * those of the rows that it waited for. */
#define WAITING_TIMES 2
/* Others' bytes lengthen times by at most so many times their share of this test's bytes. */
#define FOREIGN_TIMES 10

static const uint8_t operations[CONFIRM_OPS] = {TRACE_READ, TRACE_WRITE};
static const char *const words[CONFIRM_OPS] = {"reads", "writes"};
static const uint32_t percentile_ppm[CONFIRM_PERCENTILES] = {500000, 950000};
static const char *const percentile_words[CONFIRM_PERCENTILES] = {"p50", "p95"};

const char *confirm_cause_word(enum confirm_cause cause)
{
    static const char *const names[CONFIRM_CAUSES] = {
        [CONFIRM_NOTHING] = "nothing_reaches_the_drive",
        [CONFIRM_FAILED] = "failed_rows",
        [CONFIRM_MEMORY] = "target_is_memory",
        [CONFIRM_CACHE] = "cache",
        [CONFIRM_UNCOUNTED] = "no_counters",
        [CONFIRM_FILE_SYSTEM] = "file_system",
        [CONFIRM_STOPPED] = "process_stopped",
        [CONFIRM_QUOTA] = "cpu_quota",
        [CONFIRM_FOREIGN] = "foreign_traffic",
        [CONFIRM_PROCESSORS] = "busy_processors",
        [CONFIRM_DOUBTED] = "doubtful_run",
        [CONFIRM_MODEL_RUN] = "doubtful_run_of_the_model",
        [CONFIRM_SLOWED] = "drive_slowed_down",
        [CONFIRM_MODEL] = "doubtful_model",
        [CONFIRM_FEW] = "too_few_samples",
        [CONFIRM_CHANGED] = "drive_changed",
        [CONFIRM_UNFIT] = "model_does_not_fit",
        [CONFIRM_SLOWER] = "drive_slower_than_its_model",
        [CONFIRM_FASTER] = "drive_faster_than_its_model"};
    return names[cause];
}

double confirm_op_rate(const struct confirm_side *side, unsigned op)
{
    return side->elapsed_s > 0 ? side->op[op].bytes / side->elapsed_s : NAN;
}

double confirm_rate(const struct confirm_side *side)
{
    return confirm_op_rate(side, CONFIRM_READS) + confirm_op_rate(side, CONFIRM_WRITES);
}

/* ---- what a replay measured ---- */

static double fact(const struct figures *f, enum fact_id id)
{
    return figures_number(f, figure_id_fact(id));
}

static void take_op(struct confirm_op *op, const struct figures *f, uint8_t operation,
                    const struct confirm_op *model)
{
    const struct figure_id id = figure_id_direction(TRACE_STORAGE, operation, FIGURE_SERVICE);
    const struct hist *h = figures_hist(f, id);
    op->samples = h ? hist_count(h) : 0;
    op->bytes =
        (double)figures_count(f, figure_id_direction(TRACE_STORAGE, operation, FIGURE_BYTES));
    for (unsigned p = 0; p < CONFIRM_PERCENTILES; p++) {
        op->s[p] = h ? (double)hist_percentile(h, percentile_ppm[p]) / 1e9 : NAN;
        if (!h || !model || isnan(model->s[p]))
            continue;
        double ns = 1e9 * model->s[p];
        op->above[p] = bounds_of(h, figures_blocks(f, &id), percentile_ppm[p],
                                 llround(ns * (1 + JUDGE_CONFIRMS)));
        op->below[p] = bounds_of(h, figures_blocks(f, &id), percentile_ppm[p],
                                 llround(ns * (1 - JUDGE_CONFIRMS)));
    }
}

static void take_bins(struct confirm_side *side, const struct figures *f)
{
    const struct intervals *series = figures_intervals(f);
    size_t n = series ? intervals_count(series) : 0;
    double written = 0;
    side->bins = n < CONFIRM_BINS ? n : CONFIRM_BINS;
    for (size_t i = 0; i < side->bins; i++) {
        struct confirm_bin *b = &side->bin[i];
        for (unsigned op = 0; op < CONFIRM_OPS; op++) {
            const struct figure_id service =
                figure_id_direction(TRACE_STORAGE, operations[op], FIGURE_SERVICE);
            const struct figure_id ops =
                figure_id_direction(TRACE_STORAGE, operations[op], FIGURE_OPS);
            b->ops[op] = intervals_number(series, i, ops);
            b->p50_s[op] =
                intervals_number(series, i, figure_id_statistic(service, FIGURE_P50)) / 1e6;
        }
        double bytes = intervals_number(
            series, i, figure_id_direction(TRACE_STORAGE, TRACE_WRITE, FIGURE_BYTES));
        written += bytes > 0 ? bytes : 0;
        b->written_bytes = written;
    }
}

/* Bytes that others moved on the device. */
static double foreign_of(const struct figures *f, uint64_t writes)
{
    double read = fact(f, FACT_DEVICE_READ_BYTES) - fact(f, FACT_OWN_READ_BYTES);
    double written = fact(f, FACT_DEVICE_WRITE_BYTES) - fact(f, FACT_OWN_WRITE_BYTES);
    written -= TABLES + TABLE_OF * (double)writes;
    if (isnan(read + written))
        return NAN;
    return fmax(read, 0) + fmax(written, 0);
}

static double known(double v)
{
    return isnan(v) ? 0 : v;
}

static void copy_text(char *to, size_t n, const struct figures *f, enum fact_id id)
{
    const char *text = figures_text(f, figure_id_fact(id));
    snprintf(to, n, "%s", text ? text : "");
}

void confirm_take(struct confirm_side *side, const struct figures *f,
                  const struct confirm_side *model)
{
    const struct validity *v = figures_validity(f);
    *side = (struct confirm_side){.elapsed_s =
                                      figures_number(f, figure_id(FIGURE_OF_RUN, FIGURE_ELAPSED))};
    for (unsigned op = 0; op < CONFIRM_OPS; op++) {
        unsigned place = validity_place(TRACE_STORAGE, operations[op]);
        take_op(&side->op[op], f, operations[op], model ? &model->op[op] : NULL);
        if (side->op[op].samples == 0)
            continue;
        const struct validity_of times = validity_at(v, VALIDITY_SERVICE, place);
        const struct validity_of storage = validity_at(v, VALIDITY_STORAGE, place);
        side->times = times.state > side->times.state ? times : side->times;
        side->storage = storage.state > side->storage.state ? storage : side->storage;
    }
    side->failed = figures_count(f, figure_id(FIGURE_OF_STATUS, FIGURE_FAILED)) +
                   figures_count(f, figure_id(FIGURE_OF_STATUS, FIGURE_CORRUPT));
    snprintf(side->line, sizeof(side->line), "%s",
             figures_text(f, figure_id(FIGURE_OF_VALIDITY, FIGURE_VALIDITY_LINE)));
    copy_text(side->file_system, sizeof(side->file_system), f, FACT_FILE_SYSTEM);
    copy_text(side->layers, sizeof(side->layers), f, FACT_LAYERS);
    side->reduces = figures_is(f, figure_id_fact(FACT_REDUCES));
    side->memory = fact(f, FACT_READS_MEMORY) > 0 || fact(f, FACT_WRITES_MEMORY) > 0;
    side->buffered = figures_is_not(f, figure_id_fact(FACT_DIRECT));
    side->own_bytes = fact(f, FACT_OWN_READ_BYTES) + fact(f, FACT_OWN_WRITE_BYTES);
    side->foreign_bytes = foreign_of(f, side->op[CONFIRM_WRITES].samples);
    side->largest_gap_s = fact(f, FACT_LARGEST_GAP_US) / 1e6;
    side->run_delay_s = fact(f, FACT_RUN_DELAY_S);
    side->throttled_s = fact(f, FACT_THROTTLED_S);
    side->cpu_quota = fact(f, FACT_CPU_QUOTA);
    side->processor_share = known(fact(f, FACT_RUN_DELAY_SHARE)) + known(fact(f, FACT_STEAL_SHARE));
    take_bins(side, f);
}

/* ---- figures beside each other ---- */

/* The result for one figure. */
enum nearness {
    NEAR,
    FAR,
    NOT_TOLD /* beyond the limit, but too few samples to be sure */
};

struct compared {
    enum nearness nearness;
    bool slower;   /* of the figure that differs most */
    double most;   /* its ratio as a logarithm, without sign */
    double more_s; /* of a percentile: how much longer it was than the model's */
    uint64_t least_samples;
    const char *least_word;
    double to_decide; /* samples; 0: enough */
};

/* Takes a figure that differs (FAR or NOT_TOLD) by a ratio. Returns whether it is the one that
 * differs most so far. */
static bool differs(struct confirm *c, struct compared *found, enum nearness how, double ratio,
                    const char *text)
{
    double size = fabs(log(ratio));
    if (!isfinite(size) || (how == NOT_TOLD && found->nearness == FAR))
        return false;
    if (how == FAR && found->nearness == NOT_TOLD)
        found->most = 0; /* what is sure counts more than what is large */
    found->nearness = how;
    if (size < found->most)
        return false;
    found->most = size;
    snprintf(c->difference, sizeof(c->difference), "%s", text);
    return true;
}

static void compare_percentile(struct confirm *c, struct compared *found, unsigned op, unsigned p)
{
    const struct confirm_op *of = &c->drive.op[op];
    double measured = of->s[p], model = c->model.op[op].s[p];
    char a[CELL], b[CELL], text[CONFIRM_TEXT];
    if (judge_confirms(measured, model))
        return;
    const struct bounds *bounds = measured > model ? &of->above[p] : &of->below[p];
    enum bounds_answer sure = measured > model ? BOUNDS_BEYOND : BOUNDS_WITHIN;
    bool far = bounds->answer == sure;
    if (!far && bounds->samples_to_decide > found->to_decide) {
        found->to_decide = bounds->samples_to_decide;
        found->least_samples = of->samples;
        found->least_word = words[op];
    }
    snprintf(text, sizeof(text), "%s %s of %s instead of the model's %s", words[op],
             percentile_words[p], cell_of_s(a, measured), cell_of_s(b, model));
    if (!differs(c, found, far ? FAR : NOT_TOLD, measured / model, text))
        return;
    found->slower = measured > model;
    found->more_s = measured - model;
}

static void compare_rate(struct confirm *c, struct compared *found, unsigned op)
{
    double measured = confirm_op_rate(&c->drive, op), model = confirm_op_rate(&c->model, op);
    char a[CELL], b[CELL], text[CONFIRM_TEXT];
    if (judge_confirms(measured, model))
        return;
    snprintf(text, sizeof(text), "%s at %s/s instead of the model's %s/s", words[op],
             cell_decimal(a, measured), cell_decimal(b, model));
    if (!differs(c, found, FAR, measured / model, text))
        return;
    found->slower = measured < model;
    found->more_s = 0;
}

/* Reads, and writes as far as there are enough of them. */
static struct compared compare(struct confirm *c)
{
    struct compared found = {.nearness = NEAR};
    const uint64_t enough = judge_samples(percentile_ppm[CONFIRM_P95]);
    const bool reads = c->drive.op[CONFIRM_READS].samples > 0;
    found.least_samples = c->drive.op[reads ? CONFIRM_READS : CONFIRM_WRITES].samples;
    found.least_word = words[reads ? CONFIRM_READS : CONFIRM_WRITES];
    if (found.least_samples < enough)
        found.to_decide = (double)enough;
    for (unsigned op = 0; op < CONFIRM_OPS; op++) {
        uint64_t samples = c->drive.op[op].samples;
        if (samples < enough && !(op == CONFIRM_READS && samples > 0))
            continue;
        compare_percentile(c, &found, op, CONFIRM_P50);
        if (samples >= enough)
            compare_percentile(c, &found, op, CONFIRM_P95);
        compare_rate(c, &found, op);
    }
    return found;
}

/* Whether the figures are near also without what waiting for processors can have added to them. */
static bool near_without_waits(const struct confirm *c)
{
    const double added_s = WAITING_TIMES * c->drive.largest_gap_s;
    for (unsigned op = 0; op < CONFIRM_OPS; op++)
        for (unsigned p = 0; p < CONFIRM_PERCENTILES; p++)
            if (c->drive.op[op].samples > 0 &&
                !judge_confirms(c->drive.op[op].s[p] - added_s, c->model.op[op].s[p]))
                return false;
    return added_s > 0;
}

/* ---- a drive that was measured again ---- */

void confirm_measured_again(struct confirm_again again[CONFIRM_AGAINS], const struct answer *a,
                            const struct drive_model *later)
{
    const struct drive_model_point *now = drive_model_points(later);
    const unsigned points = drive_model_facts(later)->points;
    double least = INFINITY, most = 0;
    for (unsigned i = 0; i < CONFIRM_AGAINS; i++)
        again[i] = (struct confirm_again){.before = NAN, .now = NAN};
    for (size_t i = 0; i < a->points; i++) {
        const struct answer_point *p = &a->point[i];
        for (unsigned k = 0; k < points; k++) {
            const double rate = (double)now[k].bytes_per_s, ratio = rate / p->bytes_s;
            const struct confirm_again point = {p->size_bytes, p->in_flight, p->read_share,
                                                p->bytes_s, rate};
            if ((double)now[k].size != p->size_bytes || (double)now[k].in_flight != p->in_flight ||
                fabs(now[k].read_share - p->read_share) > 1e-9 || !(rate > 0 && p->bytes_s > 0))
                continue;
            if (ratio < least)
                again[CONFIRM_AGAIN_SLOWEST] = point;
            if (ratio > most)
                again[CONFIRM_AGAIN_FASTEST] = point;
            least = fmin(least, ratio);
            most = fmax(most, ratio);
        }
    }
}

/* ---- a drive that became slower ---- */

struct change {
    double at_s, written_bytes;
    double before, after; /* times as slow as the model */
    unsigned op;
};

/* The best split of the pieces of time of one operation, if it is one. */
static bool find_split(const struct confirm *c, unsigned op, struct change *out)
{
    double ratio[CONFIRM_BINS], weight[CONFIRM_BINS];
    size_t at[CONFIRM_BINS], n = 0, best = 0;
    size_t bins = c->drive.bins < c->model.bins ? c->drive.bins : c->model.bins;
    double all = 0, sum = 0, most = 0;
    for (size_t i = 0; i < bins; i++) {
        const struct confirm_bin *d = &c->drive.bin[i], *m = &c->model.bin[i];
        if (!(d->ops[op] > 0) || !(m->ops[op] > 0) || !(d->p50_s[op] > 0) || !(m->p50_s[op] > 0))
            continue;
        ratio[n] = log(d->p50_s[op] / m->p50_s[op]);
        weight[n] = d->ops[op];
        all += weight[n];
        sum += weight[n] * ratio[n];
        at[n++] = i;
    }
    double w = 0, s = 0;
    for (size_t k = 0; k + 1 < n; k++) {
        w += weight[k];
        s += weight[k] * ratio[k];
        double difference = (sum - s) / (all - w) - s / w;
        double score = difference * fabs(difference) * w * (all - w);
        if (k + 1 >= SLOWED_LEAST && n - k - 1 >= SLOWED_LEAST && score > most) {
            most = score;
            best = k + 1;
        }
    }
    if (best == 0)
        return false;
    double mean[2] = {0}, weights[2] = {0}, spread = 0;
    for (size_t k = 0; k < n; k++) {
        mean[k >= best] += weight[k] * ratio[k];
        weights[k >= best] += weight[k];
    }
    mean[0] /= weights[0];
    mean[1] /= weights[1];
    for (size_t k = 0; k < n; k++)
        spread += pow(ratio[k] - mean[k >= best], 2);
    double error = sqrt(spread / (double)(n - 2) * (1 / (double)best + 1 / (double)(n - best)));
    *out = (struct change){.at_s = (double)at[best] * (double)CONFIRM_BIN_NS / 1e9,
                           .written_bytes = c->drive.bin[at[best] - 1].written_bytes,
                           .before = exp(mean[0]),
                           .after = exp(mean[1]),
                           .op = op};
    return out->after > 1 + JUDGE_CONFIRMS && out->after > SLOWED * out->before &&
           mean[1] - mean[0] > SLOWED_ERRORS * error;
}

/* Reads tell first: an answer waits for them. */
static bool find_change(const struct confirm *c, struct change *out)
{
    for (unsigned op = 0; op < CONFIRM_OPS; op++)
        if (find_split(c, op, out))
            return true;
    return false;
}

/* ---- causes ---- */

static void blame(struct confirm *c, enum confirm_cause cause, const char *why, const char *decides)
{
    c->cause = cause;
    snprintf(c->blame, sizeof(c->blame), "%s", why);
    snprintf(c->decides, sizeof(c->decides), "%s", decides);
}

/* Finds the reason why the bytes are not the drive's, however near its times are. */
static bool blame_bytes(struct confirm *c)
{
    const struct confirm_side *d = &c->drive;
    char text[CONFIRM_TEXT], count[CELL];
    if (d->failed > 0) {
        snprintf(text, sizeof(text), "%s failed on the drive", cell_rows(count, d->failed));
        blame(c, CONFIRM_FAILED, text, "kvstat on the result says which: mend that, and run again");
    } else if (d->storage.state == VALIDITY_UNRELIABLE && d->memory) {
        blame(c, CONFIRM_MEMORY, d->storage.why, "name a folder that lies on the drive");
    } else if (d->storage.state == VALIDITY_UNRELIABLE) {
        blame(c, CONFIRM_CACHE, d->storage.why,
              "these are not the drive's times: run again on a target whose I/O is direct");
    } else if (d->storage.state == VALIDITY_UNKNOWN) {
        blame(c, CONFIRM_UNCOUNTED, d->storage.why,
              "nothing here tells whether the bytes came from the drive: run on its own host");
    }
    return c->cause != CONFIRM_NO_CAUSE;
}

/* Finds the file system that the bytes are not the drive's for: one that stores others than were
 * written, or that the model knows nothing of. */
static bool blame_file_system(struct confirm *c, const char *measured_on)
{
    const struct confirm_side *d = &c->drive;
    char text[CONFIRM_TEXT];
    if (d->reduces) {
        snprintf(text, sizeof(text),
                 "the target (%s) is set to compress or deduplicate: what the drive moves need not "
                 "be the bytes written",
                 d->layers[0] ? d->layers : d->file_system);
        blame(c, CONFIRM_FILE_SYSTEM, text, "run on a file system that keeps bytes as they are");
    } else if (measured_on && measured_on[0] && d->file_system[0] &&
               strcmp(measured_on, d->file_system) != 0) {
        snprintf(text, sizeof(text), "this run was on %s, and the model was measured on %.24s",
                 d->file_system, measured_on);
        blame(c, CONFIRM_FILE_SYSTEM, text,
              "file systems differ in how they copy, check and cache: measure the model where the "
              "load runs");
    }
    return c->cause != CONFIRM_NO_CAUSE;
}

/* Finds what disturbed the run on the drive, as far as it can explain the result. */
static bool blame_run(struct confirm *c, const struct compared *found)
{
    const struct confirm_side *d = &c->drive;
    bool doubted = d->times.state != VALIDITY_GOOD;
    bool stopped = d->largest_gap_s * 1e9 >= (double)GAP_STOP_NS;
    bool busy = d->processor_share > JUDGE_MOVES || (doubted && d->largest_gap_s > 0);
    double foreign = d->foreign_bytes / d->own_bytes;
    char text[CONFIRM_TEXT], a[CELL], b[CELL];
    if (d->throttled_s * 1e9 >= JUDGE_DELAY_NS && d->throttled_s > JUDGE_MOVES * d->elapsed_s) {
        snprintf(text, sizeof(text), "a quota of %.3g processors held kvreplay back for %s",
                 d->cpu_quota, cell_of_s(a, d->throttled_s));
        blame(c, CONFIRM_QUOTA, text, "raise the quota of the control group, and run again");
    } else if (doubted && stopped && !(d->run_delay_s > d->largest_gap_s)) {
        snprintf(text, sizeof(text), "kvreplay was stopped for %s", cell_of_s(a, d->largest_gap_s));
        blame(c, CONFIRM_STOPPED, text, "run again, and let nothing stop it");
    } else if (foreign > JUDGE_FOREIGN_SHARE && exp(found->most) <= 1 + FOREIGN_TIMES * foreign) {
        snprintf(text, sizeof(text), "others moved %s on the drive meanwhile, this test %s",
                 cell_decimal(a, d->foreign_bytes), cell_decimal(b, d->own_bytes));
        blame(c, CONFIRM_FOREIGN, text, "run again while nothing else uses the drive");
    } else if (busy && !(found->more_s > WAITING_TIMES * d->largest_gap_s)) {
        snprintf(text, sizeof(text),
                 "the processors were busy: kvreplay waited for one in %.0f %% of the run, once "
                 "for %s",
                 100 * d->processor_share, cell_of_s(a, d->largest_gap_s));
        blame(c, CONFIRM_PROCESSORS, text, "run again on a quiet machine");
    } else if (doubted && !(d->largest_gap_s > 0)) {
        blame(c, CONFIRM_DOUBTED, d->times.why, "run again");
    }
    return c->cause != CONFIRM_NO_CAUSE;
}

static void blame_change(struct confirm *c, const struct change *change)
{
    char text[CONFIRM_TEXT], size[CELL], a[CELL], b[CELL], written[CELL + 32] = "";
    if (change->written_bytes > 0)
        snprintf(written, sizeof(written), " and %s written",
                 cell_decimal(size, change->written_bytes));
    snprintf(
        text, sizeof(text),
        "the drive became slower after %.1f s%s: its %s took %s times as long as the model says, "
        "%s times before that",
        change->at_s, written, words[change->op], cell_number(a, change->after),
        cell_number(b, change->before));
    blame(c, CONFIRM_SLOWED, text,
          "its model is of a drive that is not slowed down: measure it longer");
}

static void blame_few(struct confirm *c, const struct compared *found)
{
    char text[CONFIRM_TEXT], decides[CONFIRM_TEXT], count[CELL];
    double n = (double)found->least_samples, needed = found->to_decide;
    double seconds = c->drive.elapsed_s * needed / n;
    snprintf(text, sizeof(text), "only %s %s in %.0f s", cell_count(count, found->least_samples),
             found->least_word, c->drive.elapsed_s);
    if (isfinite(seconds) && seconds < 86400)
        snprintf(decides, sizeof(decides), "%s would decide: run for %.0f s",
                 cell_count(count, (uint64_t)ceil(needed)), ceil(seconds / 5) * 5);
    else
        snprintf(decides, sizeof(decides), "run longer");
    blame(c, CONFIRM_FEW, text, decides);
}

static void blame_drive(struct confirm *c, const struct compared *found, const char *started)
{
    char text[CONFIRM_TEXT];
    snprintf(text, sizeof(text), "%s: the drive is %s than when its model was measured%s%.40s",
             c->drive.times.state == VALIDITY_GOOD ? "nothing disturbed the run"
                                                   : "pauses of kvreplay do not explain it",
             found->slower ? "slower" : "faster", started ? ", " : "", started ? started : "");
    blame(c, found->slower ? CONFIRM_SLOWER : CONFIRM_FASTER, text, "measure its model again");
}

/* Blames the drive if it has changed as much and in that direction; else its model. */
static void blame_again(struct confirm *c, bool slower, const struct confirm_again *again,
                        const char *started)
{
    char text[CONFIRM_TEXT], size[CELL], now[CELL], before[CELL];
    if (judge_confirms(again->now, again->before) || (again->now < again->before) != slower) {
        snprintf(text, sizeof(text),
                 "measured again after the run, the drive is not %s than its model by more than "
                 "%.0f %%: the model does not tell what this load takes",
                 slower ? "slower" : "faster", 100 * JUDGE_CONFIRMS);
        blame(c, CONFIRM_UNFIT, text, "the times measured here count, not the model's");
        return;
    }
    snprintf(text, sizeof(text),
             "the drive has changed by %.0f %%: %s of %s, %.0f in flight, move %s/s now, and "
             "moved %s/s when its model was measured%s%.40s",
             100 * fabs(again->now / again->before - 1),
             again->read_share >= 1   ? words[CONFIRM_READS]
             : again->read_share <= 0 ? words[CONFIRM_WRITES]
                                      : "reads and writes",
             cell_size(size, again->size_bytes), again->in_flight, cell_decimal(now, again->now),
             cell_decimal(before, again->before), started ? ", " : "", started ? started : "");
    blame(c, CONFIRM_CHANGED, text,
          "run again: it is measured anew then; or measure it longer (--full)");
}

static void explain(struct confirm *c)
{
    const char *const part[] = {c->difference, c->blame, c->decides};
    static const char *const before[] = {"", ": ", "; "};
    c->why[0] = '\0';
    for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
        size_t len = strlen(c->why);
        if (part[i][0])
            snprintf(c->why + len, sizeof(c->why) - len, "%s%s", len ? before[i] : "", part[i]);
    }
    err_make_harmless(c->why);
}

/* Whether a measurement's validity is a word of doubt: kvtrace model says "good" of a good one. */
static bool is_doubted(const char *validity)
{
    return validity && strncmp(validity, "good", 4) != 0;
}

void confirm_judge(struct confirm *c, const struct confirm_model *model,
                   const struct confirm_again again[CONFIRM_AGAINS])
{
    const struct confirm_side *d = &c->drive;
    struct change change = {0};
    c->answer = CONFIRM_UNDECIDED;
    c->cause = CONFIRM_NO_CAUSE;
    c->difference[0] = c->blame[0] = c->decides[0] = c->why[0] = '\0';
    if (d->op[CONFIRM_READS].samples + d->op[CONFIRM_WRITES].samples == 0 && d->failed == 0) {
        blame(c, CONFIRM_NOTHING, "nothing in the window reaches the drive", "");
        explain(c);
        return;
    }
    const struct compared found = compare(c);
    bool near = found.nearness == NEAR, doubted = d->times.state != VALIDITY_GOOD;
    char text[CONFIRM_TEXT];
    /* A disturbance makes a run slower: one that was faster was faster all the same. */
    bool disturbed = near ? doubted && !near_without_waits(c) : found.slower;
    if (blame_bytes(c) || blame_file_system(c, model->file_system) ||
        (disturbed && blame_run(c, &found))) {
        c->answer = found.nearness == FAR ? CONFIRM_DIFFERS : CONFIRM_UNDECIDED;
    } else if (!near && !found.slower && c->model.times.state == VALIDITY_UNRELIABLE &&
               !is_doubted(model->validity)) {
        snprintf(text, sizeof(text), "the replay on the model was disturbed: %.200s",
                 c->model.times.why);
        blame(c, CONFIRM_MODEL_RUN, text, "run again on a quiet machine");
        c->answer = found.nearness == FAR ? CONFIRM_DIFFERS : CONFIRM_UNDECIDED;
    } else if (!near && d->buffered) {
        blame(c, CONFIRM_CACHE,
              "every byte went through the page cache, and the model is of direct I/O",
              "run again with direct I/O");
        c->answer = found.nearness == FAR ? CONFIRM_DIFFERS : CONFIRM_UNDECIDED;
    } else if (!near && find_change(c, &change)) {
        blame_change(c, &change);
        c->answer = CONFIRM_DIFFERS;
    } else if (found.nearness == FAR && is_doubted(model->validity)) {
        snprintf(text, sizeof(text), "the measurement that its model is of was %.200s",
                 model->validity);
        blame(c, CONFIRM_MODEL, text, "measure its model again");
        c->answer = CONFIRM_DIFFERS;
    } else if (found.nearness == FAR) {
        if (again)
            again += found.slower ? CONFIRM_AGAIN_SLOWEST : CONFIRM_AGAIN_FASTEST;
        if (again && isfinite(again->now))
            blame_again(c, found.slower, again, model->started);
        else
            blame_drive(c, &found, model->started);
        c->answer = CONFIRM_DIFFERS;
    } else if (found.to_decide > 0) {
        blame_few(c, &found);
    } else {
        c->answer = CONFIRM_AGREES;
    }
    explain(c);
}
