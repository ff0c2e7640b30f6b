/* The report for reading: the run and what bounds it first, then rates and requests, then tiers and
 * cache in detail. Sections without anything to say are left out; an unknown value is a dash. */
#include <math.h>
#include <string.h>

#include "kvstat/report/bottleneck.h"
#include "kvstat/report/cells.h"
#include "kvstat/report/intervals.h"
#include "kvstat/report/report.h"
#include "kvstat/report/verdict.h"
#include "kvstat/sheet/sheet.h"
#include "lib/base/notes.h"
#include "lib/base/units.h"
#include "lib/text/text.h"
#include "lib/trace/trace.h"

/* Numbers in a part: 0 and NAN when there is none. */
static uint64_t count_in(const struct figure_part *part, enum figure_what what)
{
    const struct figure *figure = figure_in(part, what);
    return figure && figure->form == FIGURE_FORM_UNSIGNED ? figure->count : 0;
}

static double number_in(const struct figure_part *part, enum figure_what what)
{
    const struct figure *figure = figure_in(part, what);
    return figure ? figure_number(figure) : NAN;
}

static const struct hist *hist_in(const struct figure_part *part, enum figure_what what)
{
    const struct figure *figure = figure_in(part, what);
    return figure && figure->form == FIGURE_FORM_DISTRIBUTION ? figure->hist : NULL;
}

/* ---- tables ---- */

/* Percentiles that no row supports are left out. If there is none, P90 is: all would be too wide.
 */
static const struct sheet_column times[] = {
    {"time", 0, 0, SHEET_LEFT},
    {"  samples", 0, FIGURE_COUNT, 0},
    {"    mean", 0, FIGURE_MEAN, 0},
    {"     min", 0, FIGURE_MIN, 0},
    {"     p50", 0, FIGURE_P50, 0},
    {"     p90", 0, FIGURE_P90, SHEET_OPTIONAL | SHEET_SPARE},
    {"     p95", 0, FIGURE_P95, SHEET_OPTIONAL},
    {"     p99", 0, FIGURE_P99, SHEET_OPTIONAL},
    {"   p99.9", 0, FIGURE_P999, SHEET_OPTIONAL},
    {"  p99.99", 0, FIGURE_P9999, SHEET_OPTIONAL},
    {"     max", 0, FIGURE_MAX, 0}};

static void put_heading(FILE *out, const char *title, const char *note)
{
    fprintf(out, "\n%s%s%s\n", title, note[0] ? " - " : "", note);
}

/* The times of a part, but for those that are all 0. */
static void put_times(FILE *out, const struct figure_part *part)
{
    struct sheet s = {SHEET(sheet_text, out, times), .indent = 2, .width = 13};
    while (sheet_pass(&s))
        for (size_t i = 0; i < part->count; i++) {
            const struct figure *time = &part->figure[i];
            if (time->form != FIGURE_FORM_DISTRIBUTION || hist_max(time->hist) == 0)
                continue;
            sheet_row(&s, figure_title(time->id.what));
            sheet_statistics(&s, time);
        }
}

/* ---- the run ---- */

static void put_title(FILE *out, const struct figures *f)
{
    const char *client = figures_text_of(f, FIGURE_OF_PROVENANCE, FIGURE_CLIENT);
    const bool result = figures_is_result(f),
               foreign = client[0] && strcmp(client, "kvreplay") != 0;
    char rows[CELL], elapsed[CELL], log[64];
    uint64_t bad_rows = figures_count_of(f, FIGURE_OF_RUN, FIGURE_BAD_ROWS);
    size_t n;
    const char *const *files = figures_files(f, &n);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s%s", i ? ", " : "",
                strcmp(files[i], "-") == 0 ? "standard input" : files[i]);
    snprintf(log, sizeof(log), "another client's log (%s)", client);
    fprintf(out, ": %s%s, %s over %s of %s time\n", n > 1 ? "pooled, " : "",
            !result   ? "trace"
            : foreign ? log
                      : "replay results",
            cell_rows(rows, figures_count_of(f, FIGURE_OF_RUN, FIGURE_ROWS)),
            cell_seconds(elapsed, figures_number_of(f, FIGURE_OF_RUN, FIGURE_ELAPSED)),
            !result   ? "simulated"
            : foreign ? "the client's"
                      : "replay");
    if (figures_is(f, figure_id(FIGURE_OF_RUN, FIGURE_CUT)))
        fprintf(out, "The file is CUT: the report covers the rows before the cut.\n");
    if (bad_rows > 0)
        fprintf(out, "%s bad row%s skipped.\n", cell_count(rows, bad_rows),
                bad_rows == 1 ? " was" : "s were");
}

static void put_tiers_of_run(FILE *out, const struct figures *f)
{
    const char *separator = "Tiers        ";
    char bytes[CELL];
    bool any = false;
    for (unsigned t = 0; t < TRACE_TIERS; t++) {
        double capacity = figures_number(f, figure_id_tier(FIGURE_OF_CAPACITY, t, FIGURE_ITSELF));
        const char *stand_in = figures_stand_in(f, t);
        if (!(capacity > 0) && !stand_in[0])
            continue;
        fprintf(out, "%s%s", separator, trace_tier_text(t));
        if (capacity > 0)
            fprintf(out, " %s", cell_bytes(bytes, capacity));
        if (stand_in[0])
            fprintf(out, " %s", stand_in);
        separator = "; ";
        any = true;
    }
    if (any)
        fputc('\n', out);
}

static void put_device(FILE *out, const struct figures *f)
{
    double read = figures_number_of(f, FIGURE_OF_KERNEL, FIGURE_DEVICE_READ_BYTES);
    double written = figures_number_of(f, FIGURE_OF_KERNEL, FIGURE_DEVICE_WRITE_BYTES);
    double cached = figures_number_of(f, FIGURE_OF_KERNEL, FIGURE_PAGE_CACHE_SHARE);
    char a[CELL], b[CELL];
    if (isnan(read) && isnan(written))
        return;
    fprintf(out, "Device       %s read and %s written, by the kernel's count", cell_bytes(a, read),
            cell_bytes(b, written));
    if (!isnan(cached))
        fprintf(out, "; page cache holds %.1f %% of the objects", 100 * cached);
    fputc('\n', out);
}

/* The wear of the drive, by its own log. */
static void put_drive_log(FILE *out, const struct figures *f)
{
    double host = figures_number(f, figure_id_fact(FACT_LOG_HOST_BYTES)),
           media = figures_number(f, figure_id_fact(FACT_LOG_MEDIA_BYTES));
    const char *why = figures_text(f, figure_id_fact(FACT_LOG_WHY_UNKNOWN));
    double ratio = figures_number(f, figure_id_fact(FACT_LOG_AMPLIFICATION));
    char a[CELL], line[400] = "";
    if (isnan(host)) {
        snprintf(line, sizeof(line), "not known: %s", why);
        if (why[0] &&
            !figures_is(f, figure_id_tier(FIGURE_OF_ROWS, TRACE_STORAGE, FIGURE_SIMULATED)))
            cell_paragraph(out, "Drive log", line);
        return;
    }
    text_append(line, sizeof(line), "%s from the host, ", cell_bytes(a, host));
    if (!isnan(media))
        text_append(line, sizeof(line), "%s to the media, ", cell_bytes(a, media));
    if (!isnan(ratio))
        text_append(line, sizeof(line), "write amplification %.3g; ", ratio);
    else
        text_append(line, sizeof(line), "write amplification not known: %s; ", why);
    text_append(line, sizeof(line), "%.0f %% of the rated endurance used",
                figures_number(f, figure_id_fact(FACT_LOG_USED)));
    cell_paragraph(out, "Drive log", line);
}

static void put_origin(FILE *out, const struct figures *f)
{
    char text[ORIGIN_TEXT], line[3 * ORIGIN_TEXT + 64] = "";
    if (figures_origin(text, f, FACTS_OF_READS)[0])
        text_append(line, sizeof(line), "storage reads: %s", text);
    if (figures_origin(text, f, FACTS_OF_WRITES)[0])
        text_append(line, sizeof(line), "%sstorage writes: %s", line[0] ? "; " : "", text);
    if (line[0] && figures_hits(text, f)[0])
        text_append(line, sizeof(line), "; %s", text);
    if (line[0])
        cell_paragraph(out, "Origin", line);
}

/* Statistics of a fact that is a distribution: "1,234, p50 1.2 ms, p95 3.4 ms"; "": not known. */
static const char *of_times(char buf[4 * CELL], const struct figures *f, enum fact_id fact)
{
    const struct figure_id id = figure_id_fact(fact);
    double count = figures_number(f, figure_id_statistic(id, FIGURE_COUNT));
    char n[CELL], p50[CELL], p95[CELL];
    buf[0] = '\0';
    if (count > 0)
        snprintf(buf, 4 * CELL, "%s, p50 %s, p95 %s", cell_count(n, (uint64_t)count),
                 cell_of_us(p50, figures_number(f, figure_id_statistic(id, FIGURE_P50))),
                 cell_of_us(p95, figures_number(f, figure_id_statistic(id, FIGURE_P95))));
    return buf;
}

/* "; 93 % of the device time of reads", where it is known. */
static void add_share(char *buf, size_t cap, const struct figures *f, enum fact_id id,
                      const char *of)
{
    double share = figures_number(f, figure_id_fact(id));
    if (!isnan(share))
        text_append(buf, cap, "; %.0f %% of the device time of %s", 100 * share, of);
}

/* I/Os that io_uring gave to threads that wait, and why; or why it is not known. */
static void put_workers(FILE *out, const struct figures *f)
{
    const char *why = figures_text(f, figure_id_fact(FACT_URING_WHY));
    double reads = figures_number(f, figure_id_fact(FACT_URING_READS));
    double writes = figures_number(f, figure_id_fact(FACT_URING_WRITES));
    char a[CELL], b[CELL], line[640];
    if (!why[0])
        return;
    if (isnan(reads) || isnan(writes))
        snprintf(line, sizeof(line), "%s", why);
    else
        snprintf(line, sizeof(line), "%s reads and %s writes given to threads that wait: %s",
                 cell_count(a, (uint64_t)reads), cell_count(b, (uint64_t)writes), why);
    cell_paragraph(out, "io_uring", line);
}

/* The drive's own times (--device-times), and how cold the target was (--cold). */
static void put_drive(FILE *out, const struct figures *f)
{
    const char *state = figures_text(f, figure_id_fact(FACT_DRIVE_STATE));
    const char *cold = figures_text(f, figure_id_fact(FACT_COLD));
    double drive_s = figures_number(f, figure_id_fact(FACT_DRIVE_IO_S));
    double depth = figures_number(f, figure_id_fact(FACT_DRIVE_DEPTH));
    char reads[4 * CELL], writes[4 * CELL], line[FIGURE_TEXT + 10 * CELL];
    if (cold[0])
        cell_paragraph(out, "Page cache", cold);
    if (!state[0])
        return;
    of_times(reads, f, FACT_DRIVE_READ_US);
    of_times(writes, f, FACT_DRIVE_WRITE_US);
    snprintf(line, sizeof(line), "%s%s%s%s%s", isnan(drive_s) ? state : "",
             reads[0] ? "requests to read: " : "", reads,
             writes[0] ? (reads[0] ? "; to write: " : "requests to write: ") : "", writes);
    if (depth > 0)
        text_append(line, sizeof(line), "; %.3g at the drive on average", depth);
    add_share(line, sizeof(line), f, FACT_DRIVE_READ_SHARE, "reads");
    add_share(line, sizeof(line), f, FACT_DRIVE_WRITE_SHARE, "writes");
    cell_paragraph(out, "Drive times", line);
    put_workers(out, f);
}

/* How much longer loads take beside stores. */
static void put_both(FILE *out, const struct figures *f)
{
    double ratio = figures_number(f, figure_id_fact(FACT_STORES_COST));
    char alone[4 * CELL], beside[4 * CELL], line[12 * CELL];
    of_times(alone, f, FACT_LOADS_ALONE_US);
    of_times(beside, f, FACT_LOADS_BESIDE_US);
    if (!alone[0] && !beside[0])
        return;
    snprintf(line, sizeof(line), "beside stores: %s; alone: %s", beside[0] ? beside : "none",
             alone[0] ? alone : "none");
    if (!isnan(ratio))
        text_append(line, sizeof(line), "; p95 %.3g times (%.3g to %.3g)", ratio,
                    figures_number(f, figure_id_fact(FACT_STORES_COST_LOW)),
                    figures_number(f, figure_id_fact(FACT_STORES_COST_HIGH)));
    cell_paragraph(out, "Loads", line);
}

/* The network of remote stores, in place of a device's counters. */
static void put_network(FILE *out, const struct figures *f)
{
    double received = figures_number(f, figure_id_fact(FACT_NETWORK_RECEIVED_BYTES));
    double requests = figures_number(f, figure_id_fact(FACT_REMOTE_REQUESTS));
    double resent = figures_number(f, figure_id_fact(FACT_TCP_RETRANSMITS));
    char a[CELL], b[CELL], c[CELL], line[400] = "";
    if (isnan(requests))
        return;
    if (!isnan(received))
        text_append(line, sizeof(line), "%s received and %s sent, by the kernel's count of %s; ",
                    cell_bytes(a, received),
                    cell_bytes(b, figures_number(f, figure_id_fact(FACT_NETWORK_SENT_BYTES))),
                    figures_text(f, figure_id_fact(FACT_NETWORK_INTERFACES)));
    text_append(line, sizeof(line), "%s requests, %s new connections, %s retries",
                cell_count(a, (uint64_t)requests),
                cell_count(b, (uint64_t)figures_number(f, figure_id_fact(FACT_REMOTE_CONNECTIONS))),
                cell_count(c, (uint64_t)figures_number(f, figure_id_fact(FACT_REMOTE_RETRIES))));
    if (!isnan(resent))
        text_append(line, sizeof(line), ", %s TCP retransmissions",
                    cell_count(a, (uint64_t)resent));
    cell_paragraph(out, "Network", line);
}

/* A list of texts as one paragraph; nothing when it is empty. */
static void put_texts(FILE *out, const char *title, const struct figure *list)
{
    char line[NOTES_JOINED_CAP] = "";
    if (!list || list->form != FIGURE_FORM_TEXTS || list->list.n == 0)
        return;
    for (size_t i = 0; i < list->list.n; i++)
        text_append(line, sizeof(line), "%s%s", i ? "; " : "", list->list.item[i]);
    cell_paragraph(out, title, line);
}

/* The engine of Tier-2's I/O, and what it had to do without. */
static void put_storage(FILE *out, const struct figures *f)
{
    const enum figure_scope run = FIGURE_OF_PROVENANCE;
    const char *engine = figures_text_of(f, run, FIGURE_ENGINE),
               *target = figures_text_of(f, run, FIGURE_TARGET);
    const char *device = figures_text_of(f, run, FIGURE_SAME_OF_DEVICE);
    const struct figure *flags = figures_find(f, figure_id(run, FIGURE_FLAGS));
    char line[1024];
    bool names = target[0] && strcmp(target, engine) != 0; /* a simulated one has no place */
    if (!engine[0])
        return;
    snprintf(line, sizeof(line), "%s%s%s%s%s%s", engine, names ? " on " : "", names ? target : "",
             device[0] ? " (" : "", device, device[0] ? ")" : "");
    for (size_t i = 0; flags && i < flags->list.n; i++)
        text_append(line, sizeof(line), ", %s", flags->list.item[i]);
    cell_paragraph(out, "Storage", line);
    put_texts(out, "Fallbacks", figures_find(f, figure_id(run, FIGURE_FALLBACKS)));
}

static void put_autoscaling(FILE *out, const struct figures *f)
{
    double rate = figures_number(f, figure_id_fact(FACT_FOUND_TOKENS_PER_S));
    const char *reason = figures_text(f, figure_id_fact(FACT_FOUND_REASON));
    double users = figures_number(f, figure_id_fact(FACT_FOUND_USERS));
    char cell[CELL];
    if (!figures_find(f, figure_id_fact(FACT_FOUND_USERS)))
        return;
    fprintf(out, "Autoscaling  %s: ", figures_text(f, figure_id_fact(FACT_FOUND_MODE)));
    if (users >= 0)
        fprintf(out, "%s user%s", cell_count(cell, (uint64_t)users), units_plural((uint64_t)users));
    else
        fprintf(out, "no number of users found");
    if (!isnan(rate))
        fprintf(out, ", %s tokens/s", cell_number(cell, rate));
    fprintf(out, "%s%s\n", reason[0] ? "; " : "", reason);
}

/* Whether there is any provenance. */
static bool run_is_known(const struct figures *f)
{
    return !figures_find(f, figure_id(FIGURE_OF_PROVENANCE, FIGURE_ITSELF));
}

static void put_run(FILE *out, const struct figures *f)
{
    const enum figure_scope run = FIGURE_OF_PROVENANCE;
    const struct figure *seed = figures_find(f, figure_id(run, FIGURE_SEED));
    const char *validity = figures_text_of(f, FIGURE_OF_VALIDITY, FIGURE_VALIDITY_LINE);
    const double bytes = figures_number_of(f, run, FIGURE_BYTES_PER_TOKEN),
                 users = figures_number_of(f, run, FIGURE_USERS);
    if (!run_is_known(f) && !validity[0])
        return;
    fputc('\n', out);
    if (figures_text_of(f, run, FIGURE_MODEL)[0]) {
        fprintf(out, "Run          %s", figures_text_of(f, run, FIGURE_MODEL));
        if (bytes > 0)
            fprintf(out, ", %.0f bytes a token", bytes);
        if (!isnan(users))
            fprintf(out, "; %.0f user%s", users, units_plural((uint64_t)users));
        if (figures_is(f, figure_id(FIGURE_OF_WALL, FIGURE_GENERATION_SKIPPED)))
            fprintf(out, "; generation skipped");
        else if (figures_text_of(f, run, FIGURE_GENERATION_MODE)[0])
            fprintf(out, "; generation %s", figures_text_of(f, run, FIGURE_GENERATION_MODE));
        if (seed && seed->form == FIGURE_FORM_UNSIGNED)
            fprintf(out, "; seed %llu", (unsigned long long)seed->count);
        fputc('\n', out);
    }
    put_tiers_of_run(out, f);
    if (validity[0])
        cell_paragraph(out, "Validity", validity);
    put_storage(out, f);
    put_device(out, f);
    put_origin(out, f);
    put_drive(out, f);
    put_both(out, f);
    put_drive_log(out, f);
    put_network(out, f);
    if (figures_text_of(f, run, FIGURE_RECORDED)[0])
        cell_paragraph(out, "Recorded", figures_text_of(f, run, FIGURE_RECORDED));
    put_texts(out, "Notes", figures_find(f, figure_id(run, FIGURE_NOTES)));
    put_autoscaling(out, f);
}

/* ---- what holds it up ---- */

/* A part of bottleneck.h by its member. */
static const char *part_title(const char *member)
{
    return strcmp(member, "storage") == 0 /* all of it */
               ? member
               : bottleneck_words[bottleneck_share(member)].title;
}

static void put_bottleneck(FILE *out, const struct figures *f)
{
    const struct figure *foremost =
        figures_find(f, figure_id(FIGURE_OF_BOTTLENECK, FIGURE_FOREMOST));
    const char *what = figures_text_of(f, FIGURE_OF_BOTTLENECK, FIGURE_LARGEST);
    char parts[256] = "";
    int column = 0;
    if (!foremost)
        return;
    /* "(CPU 4.3, host 9.2)": all shares in percent. */
    for (unsigned p = 0; p < BOTTLENECK_SHARES; p++) {
        double share = figures_number_of(f, FIGURE_OF_SHARES, bottleneck_part(p));
        if (share >= 0.0005)
            text_append(parts, sizeof(parts), "%s%s %.1f", parts[0] ? ", " : "(",
                        bottleneck_words[p].brief, 100 * share);
    }
    fprintf(out, "%sBottleneck   ", run_is_known(f) || figures_is_result(f) ? "" : "\n");
    if (what[0]) {
        double queue = figures_number_of(f, FIGURE_OF_SHARES, FIGURE_SHARE_QUEUE);
        bool simulated = figures_is(f, figure_id(FIGURE_OF_BOTTLENECK, FIGURE_SIMULATED));
        column = 13 + fprintf(out, "%s%s: %.1f %% of end-to-end time%s", part_title(what),
                              simulated ? " SIMULATED" : "",
                              100 * figures_number_of(f, FIGURE_OF_BOTTLENECK, FIGURE_SHARE),
                              queue >= 0.0005 ? ", the queue that it makes included" : "");
    } else {
        const char *const *largest = foremost->list.item;
        column = 13 + fprintf(out, "none stands out; the largest: %s", part_title(largest[0]));
        if (foremost->list.n > 1)
            column += fprintf(out, " and %s", part_title(largest[1]));
    }
    bool fits = column + 2 + (int)strlen(parts) <= CELL_COLUMNS;
    fprintf(out, "%s%s%s\n", fits ? " " : "\n             ", parts, parts[0] ? ")" : "");
}

/* Prints the outcome of writes that found no room on the target. */
static void put_full(FILE *out, const struct figures *f)
{
    double writes = figures_number(f, figure_id_fact(FACT_FULL_WRITES));
    double removed = figures_number(f, figure_id_fact(FACT_REMOVED_OBJECTS));
    char a[CELL], b[CELL], c[CELL], d[CELL];
    if (!(writes > 0))
        return;
    if (removed >= 0)
        fprintf(out, "Full target  %s writes had %s objects (%s) removed; %s reads missed these\n",
                cell_count(a, (uint64_t)writes), cell_count(b, (uint64_t)removed),
                cell_bytes(c, figures_number(f, figure_id_fact(FACT_REMOVED_BYTES))),
                cell_count(d, (uint64_t)figures_number(f, figure_id_fact(FACT_REMOVED_MISSES))));
    else
        fprintf(out, "Full target  %s writes found no room (kvreplay --on-full evict makes room)\n",
                cell_count(a, (uint64_t)writes));
}

static void put_failures(FILE *out, const struct figures *f)
{
    uint64_t absent = figures_status_count(f, FIGURE_ABSENT),
             corrupt = figures_status_count(f, FIGURE_CORRUPT);
    uint64_t failed = figures_status_count(f, FIGURE_FAILED);
    uint64_t stale = figures_status_count(f, FIGURE_STALE),
             wrong = figures_status_count(f, FIGURE_WRONG);
    uint64_t populated = figures_count_of(f, FIGURE_OF_POPULATED, FIGURE_ROWS);
    uint64_t warm = figures_count_of(f, FIGURE_OF_WARMUP, FIGURE_ROWS);
    char a[CELL], b[CELL], c[CELL];
    if (absent + corrupt + failed > 0)
        fprintf(out, "Failed rows  %s absent, %s corrupt, %s with an I/O error\n",
                cell_count(a, absent), cell_count(b, corrupt), cell_count(c, failed));
    put_full(out, f);
    if (stale + wrong > 0)
        fprintf(out,
                "             of the corrupt: %s stale (another write of the object), %s wrong "
                "(another object)\n",
                cell_count(a, stale), cell_count(b, wrong));
    if (populated > 0)
        fprintf(out, "Populating   %s, %s before the clock started; not counted below\n",
                cell_rows(a, populated),
                cell_bytes(b, figures_number_of(f, FIGURE_OF_POPULATED, FIGURE_BYTES)));
    if (warm > 0)
        fprintf(out, "Warm-up      %s in the first %s; not counted below\n", cell_rows(a, warm),
                cell_seconds(b, figures_number_of(f, FIGURE_OF_WARMUP, FIGURE_SECONDS)));
}

/* ---- throughput ---- */

/* The numbers that a rate is made of. */
static void rate_note(char note[96], const struct figures *f, const struct figure_headline *rate)
{
    const char *clock = figures_is_result(f) ? "elapsed" : "simulated";
    char a[CELL], b[CELL];
    note[0] = '\0';
    if (rate->what == FIGURE_BYTES_PER_S)
        snprintf(note, 96, "%s read, %s written",
                 cell_bytes(a, figures_number_of(f, FIGURE_OF_ROWS, FIGURE_READ_BYTES)),
                 cell_bytes(b, figures_number_of(f, FIGURE_OF_ROWS, FIGURE_WRITE_BYTES)));
    else if (rate->what == FIGURE_OPS_PER_S)
        snprintf(note, 96, "%s reads and writes",
                 cell_count(a, figures_count_of(f, FIGURE_OF_ROWS, FIGURE_IO_OPS)));
    else if (rate->what == FIGURE_GENERATED_TOKENS_PER_S && rate->scope == FIGURE_OF_WALL)
        snprintf(note, 96, "%s tokens over %s time",
                 cell_number(a, figures_number_of(f, FIGURE_OF_WALL, FIGURE_GENERATED_TOKENS)),
                 clock);
    else if (rate->what == FIGURE_GENERATED_TOKENS_PER_S)
        snprintf(note, 96, "over %s of summed service time of the requests",
                 cell_seconds(a, figures_number_of(f, FIGURE_OF_STORAGE_TIME, FIGURE_BUSY)));
    else if (rate->what == FIGURE_TOKENS_PER_S)
        snprintf(note, 96, "tokens' worth read and written, over %s time", clock);
}

/* Without a CPU tier, a rate by storage time tells little of a drive: what requests wait for is the
 * I/O of others. Decode bytes tell drives apart. */
static bool storage_rate_misleads(const struct figures *f)
{
    return figures_number_of(f, FIGURE_OF_STORAGE_TIME, FIGURE_GENERATED_TOKENS_PER_S) > 0 &&
           !figures_find(f, figure_id_tier(FIGURE_OF_CACHE_TIER, TRACE_CPU, FIGURE_READ_OPS));
}

/* Every headline on throughput has a line. */
static void put_throughput(FILE *out, const struct figures *f)
{
    size_t n;
    const struct figure_headline *headline = figure_headlines(&n);
    char cell[CELL], note[96];
    if (figures_count_of(f, FIGURE_OF_ROWS, FIGURE_IO_OPS) == 0 &&
        figures_count_of(f, FIGURE_OF_ROWS, FIGURE_GENERATE_ROWS) == 0)
        return;
    put_heading(out, "Throughput",
                figures_is_result(f) ? "" : "in simulated time: what the load asks for");
    for (size_t i = 0; i < n; i++) {
        const struct figure_headline *h = &headline[i];
        enum figure_unit unit = figure_unit(h->what);
        double v = figures_number_of(f, h->scope, h->what);
        if (h->scope < FIGURE_OF_THROUGHPUT || h->scope > FIGURE_OF_TIER2)
            continue;
        rate_note(note, f, h);
        if (unit != FIGURE_UNIT_TOKENS_PER_S)
            fprintf(out, "  %-24s %11s/s         %s\n", h->label,
                    unit == FIGURE_UNIT_BYTES_PER_S ? cell_bytes(cell, v) : cell_number(cell, v),
                    note);
        else if (!isnan(v))
            fprintf(out, "  %-24s %11s tokens/s  %s\n", h->label, cell_number(cell, v), note);
    }
    fprintf(out, "  %-24s %11s           read in phase Decode\n", "decode bytes",
            cell_bytes(cell, figures_number_of(f, FIGURE_OF_THROUGHPUT, FIGURE_DECODE_BYTES_READ)));
    if (storage_rate_misleads(f))
        fprintf(out,
                "  No CPU tier: tokens by storage time mislead, requests wait for each other's "
                "I/O.\n  Compare decode bytes.\n");
}

/* ---- requests ---- */

/* Each class with its end-to-end times and its target. */
static void put_classes(FILE *out, const struct figures *f)
{
    static const struct sheet_column columns[] = {
        {"end to end by", 0, 0, SHEET_LEFT},
        {" requests", FIGURE_REQUESTS, 0, 0},
        {"     p50", FIGURE_END_TO_END, FIGURE_P50, 0},
        {"     p95", FIGURE_END_TO_END, FIGURE_P95, SHEET_OPTIONAL},
        {"     p99", FIGURE_END_TO_END, FIGURE_P99, SHEET_OPTIONAL},
        {"   p99.9", FIGURE_END_TO_END, FIGURE_P999, SHEET_OPTIONAL},
        {"     max", FIGURE_END_TO_END, FIGURE_MAX, 0},
        {"target p95", 0, 0, 0},
        {"within it", 0, 0, 0},
        {"", 0, 0, SHEET_LEFT}};
    struct sheet s = {SHEET(sheet_text, out, columns), .indent = 2};
    char target[CELL], within[CELL];
    while (sheet_pass(&s))
        for (struct figure_part class = {0}; figures_next(f, FIGURE_OF_QOS, &class);) {
            struct figure_id id = class.figure->id;
            if (count_in(&class, FIGURE_REQUESTS) == 0)
                continue;
            sheet_row(&s, trace_qos_text(id.qos));
            sheet_part(&s, &class);
            id.scope = FIGURE_OF_TARGETS;
            id.what = FIGURE_COMPLIANCE;
            const double share = figures_number(f, id);
            id.what = FIGURE_TARGET_P95;
            snprintf(target, sizeof(target), "%.0f ms", figures_number(f, id));
            id.what = FIGURE_MET;
            sheet_word(&s, isnan(share) ? "-" : target);
            sheet_word(&s, cell_share(within, share));
            sheet_word(&s, isnan(share)            ? " not known"
                           : figures_is(f, id)     ? " met"
                           : figures_is_not(f, id) ? " NOT MET"
                                                   : " not judged");
        }
}

/* The times of tokens by class, where rows tell them. */
static void put_tokens(FILE *out, const struct figures *f, enum figure_what what,
                       const char *before)
{
    struct figure_part class = {0};
    char a[CELL], b[CELL];
    while (figures_next(f, FIGURE_OF_QOS, &class)) {
        const struct hist *h = hist_in(&class, what);
        if (!h || hist_count(h) == 0)
            continue;
        fprintf(out, "%s%s p50 %s, p95 %s", before, trace_qos_text(class.figure->id.qos),
                cell_time(a, (double)hist_percentile(h, 500000), true),
                cell_time(b, (double)hist_percentile(h, 950000), true));
        before = "; ";
    }
    if (before[0] == ';')
        fputc('\n', out);
}

/* The waits of a served run by class, with requests that were in line at the end. */
static void put_queues(FILE *out, const struct figures *f)
{
    struct figure_part class = {0};
    const char *before = "  queue wait, with those still waiting: ";
    char a[CELL], b[CELL];
    while (figures_next(f, FIGURE_OF_QOS, &class)) {
        const struct figure *mean = figure_in(&class, FIGURE_QUEUE_MEAN);
        if (!mean || isnan(figure_number(mean)))
            continue;
        fprintf(out, "%s%s mean %s", before, trace_qos_text(class.figure->id.qos),
                cell_time(a, figure_number(mean) * figure_scale(FIGURE_QUEUE_MEAN), true));
        if (count_in(&class, FIGURE_WAITING) > 0)
            fprintf(out, " (%s waiting)", cell_count(b, count_in(&class, FIGURE_WAITING)));
        before = ", ";
    }
    if (before[0] == ',')
        fputc('\n', out);
}

/* Documents that were ingested among the requests. */
static void put_ingest(FILE *out, const struct figures *f)
{
    const enum figure_scope scope = FIGURE_OF_INGEST;
    const struct figure *time = figures_find(f, figure_id(scope, FIGURE_END_TO_END));
    uint64_t documents = figures_count_of(f, scope, FIGURE_REQUESTS),
             failed = figures_count_of(f, scope, FIGURE_FAILED);
    char a[CELL], b[CELL];
    if (documents == 0)
        return;
    put_heading(out, "Ingest", "documents for retrieval, each from its arrival to its last write");
    if (time && time->form == FIGURE_FORM_DISTRIBUTION && hist_max(time->hist) > 0) {
        put_times(out, &(struct figure_part){time, 1});
    } else if (failed < documents) {
        fprintf(out, "  %s document%s, none of which takes any time here\n",
                cell_count(a, documents), units_plural(documents));
    }
    if (failed > 0)
        fprintf(out, "  %s of %s document%s FAILED: in no time above.\n", cell_count(a, failed),
                cell_count(b, documents), units_plural(documents));
}

static void put_requests(FILE *out, const struct figures *f)
{
    const enum figure_scope scope = FIGURE_OF_REQUESTS;
    const struct figure *from = figures_find(f, figure_id(scope, FIGURE_END_TO_END_FROM));
    const struct hist *whole = figures_hist(f, figure_id(scope, FIGURE_END_TO_END));
    uint64_t requests = figures_count_of(f, scope, FIGURE_REQUESTS),
             failed = figures_count_of(f, scope, FIGURE_FAILED);
    uint64_t parts = figures_count_of(f, scope, FIGURE_COUNTED_IN_PARTS);
    uint64_t cut_off = figures_count_of(f, scope, FIGURE_CUT_OFF);
    bool timed = whole && hist_max(whole) > 0;
    char a[CELL], b[CELL];
    if (requests == 0) {
        put_ingest(out, f);
        return;
    }
    put_heading(out, "Requests",
                !figures_is_result(f) ? "in simulated time, from arrival"
                : from->list.n        ? "from arrival, on the replay's clock"
                                      : "unscheduled: from their first start");
    if (timed) {
        struct figure_part part = {0};
        figures_next(f, scope, &part);
        put_times(out, &part);
    } else if (failed < requests) {
        fprintf(out, "  %s request%s, none of which takes any time here\n", cell_count(a, requests),
                units_plural(requests));
    }
    if (timed || failed > 0)
        put_classes(out, f);
    put_tokens(out, f, FIGURE_TTFT, "  TTFT by class: ");
    put_tokens(out, f, FIGURE_TPOT, "  TPOT by class: ");
    put_queues(out, f);
    if (failed > 0)
        fprintf(out, "  %s of %s request%s FAILED: in no time above, and within no target.\n",
                cell_count(a, failed), cell_count(b, requests), units_plural(requests));
    if (parts > 0)
        fprintf(out, "  %s request%s rows too far apart, counted as several.\n",
                cell_count(a, parts), parts == 1 ? " has" : "s have");
    if (cut_off > 0)
        fprintf(out, "  %s request%s cut off by the end of the run: counted up to the last row.\n",
                cell_count(a, cut_off), cut_off == 1 ? " was" : "s were");
    put_ingest(out, f);
}

/* ---- groups ---- */

/* Generate and Miss rows move nothing: the sections on requests and cache have them. */
static bool is_shown(const struct figure_part *group)
{
    return hist_in(group, FIGURE_SIZE) || count_in(group, FIGURE_FAILED) > 0;
}

/* A section of groups: tables of volumes and of times. */
struct section {
    enum figure_scope scope;
    const char *title, *label, *by;
    enum figure_what last; /* the last distribution that has a table of times */
};

static void put_volume(struct sheet *s, const struct figure_part *group)
{
    const uint64_t moved = count_in(group, FIGURE_MOVED), failed = count_in(group, FIGURE_FAILED);
    char count[CELL], text[CELL + 8];
    sheet_part(s, group);
    sheet_word(s, moved ? cell_bytes(text, (double)moved) : "-");
    sheet_part(s, group);
    snprintf(text, sizeof(text), " %s FAILED", cell_count(count, failed));
    if (failed > 0)
        sheet_word(s, text);
}

/* what: the distribution that the table shows; FIGURE_SIZE: the table shows volumes. */
static void put_group_table(FILE *out, const struct figures *f, const struct section *section,
                            enum figure_what what, int width)
{
    static const struct sheet_column volumes[] = {{"", 0, 0, SHEET_LEFT},
                                                  {"      ops", FIGURE_OPS, 0, 0},
                                                  {"     moved", 0, 0, 0},
                                                  {"    GiB/s", FIGURE_GIB_PER_S, 0, 0},
                                                  {"  size min", FIGURE_SIZE, FIGURE_MIN, 0},
                                                  {"      mean", FIGURE_SIZE, FIGURE_MEAN, 0},
                                                  {"       p95", FIGURE_SIZE, FIGURE_P95, 0},
                                                  {"       max", FIGURE_SIZE, FIGURE_MAX, 0},
                                                  {"", 0, 0, SHEET_LEFT}};
    const bool timed = what != FIGURE_SIZE;
    struct sheet s = {SHEET(sheet_text, out, volumes), .title = section->title};
    char label[LABEL], title[64];
    if (timed) {
        snprintf(title, sizeof(title), "%s%s", figure_title(what), section->by);
        s = (struct sheet){SHEET(sheet_text, out, times), .title = title,
                           .note = figure_note(what)};
    }
    s.indent = 2;
    s.label = section->label;
    s.width = width;
    while (sheet_pass(&s))
        for (struct figure_part group = {0}; figures_next(f, section->scope, &group);) {
            if (!is_shown(&group) || (timed && !hist_in(&group, what)))
                continue;
            sheet_row(&s, cell_label(label, &group.figure->id));
            if (timed)
                sheet_statistics(&s, figure_in(&group, what));
            else
                put_volume(&s, &group);
        }
}

static void put_groups(FILE *out, const struct figures *f, const struct section *section)
{
    int width = (int)strlen(section->label);
    char label[LABEL];
    bool any = false;
    for (struct figure_part group = {0}; figures_next(f, section->scope, &group);) {
        int columns = cell_columns(cell_label(label, &group.figure->id));
        if (figure_in(&group, FIGURE_OPS))
            width = columns > width ? columns : width;
        any |= is_shown(&group);
    }
    for (unsigned what = FIGURE_SIZE; any && what <= section->last; what++)
        put_group_table(out, f, section, what, width);
}

/* ---- cache ---- */

static void put_hit_rates(FILE *out, const struct figures *f)
{
    static const char *const labels[TRACE_CLASSES] = {[TRACE_USER] = "user",
                                                      [TRACE_MULTI_TURN] = "multi-turn",
                                                      [TRACE_SYSTEM] = "system prefix",
                                                      [TRACE_RAG] = "RAG document",
                                                      [TRACE_BLOCK] = "block"};
    static const struct sheet_column columns[] = {{"class           ", 0, 0, SHEET_LEFT},
                                                  {"      lookups", FIGURE_LOOKUPS, 0, 0},
                                                  {"         hits", FIGURE_HITS, 0, 0},
                                                  {"       misses", FIGURE_MISSES, 0, 0},
                                                  {"  hit rate", FIGURE_HIT_RATE, 0, 0}};
    struct sheet s = {SHEET(sheet_text, out, columns), .indent = 2, .title = "Cache hits",
                      .note = isnan(figures_number_of(f, FIGURE_OF_LOOKUPS, FIGURE_MISSES))
                                  ? "the file records no misses: hit rates are not known"
                                  : "reads that are no eviction, and misses"};
    while (sheet_pass(&s))
        for (struct figure_part part = {0}; figures_next(f, FIGURE_OF_LOOKUPS, &part);) {
            const struct figure_id *id = &part.figure->id;
            if (count_in(&part, FIGURE_LOOKUPS) == 0)
                continue;
            sheet_row(&s, id->by & GROUPS_CLASS ? labels[id->class] : "all lookups");
            sheet_part(&s, &part);
        }
}

static void put_contents(FILE *out, const struct figures *f)
{
    enum {
        MOVES = SHEET_OPTIONAL | SHEET_NONZERO
    };
    static const struct sheet_column columns[] = {{"tier  ", 0, 0, SHEET_LEFT},
                                                  {"  capacity", FIGURE_CAPACITY_BYTES, 0, 0},
                                                  {"      peak", FIGURE_PEAK_BYTES, 0, 0},
                                                  {"at the end", FIGURE_FINAL_BYTES, 0, 0},
                                                  {"objects peak", FIGURE_PEAK_OBJECTS, 0, 0},
                                                  {" moved down", FIGURE_EVICT_OPS, 0, MOVES},
                                                  {"   taken in", FIGURE_OFFLOAD_OPS, 0, MOVES},
                                                  {"promoted in", FIGURE_PROMOTE_OPS, 0, MOVES},
                                                  {"    deleted", FIGURE_DELETE_OPS, 0, MOVES}};
    double ratio = figures_number_of(f, FIGURE_OF_CACHE, FIGURE_READ_WRITE_RATIO);
    double amplification = figures_number_of(f, FIGURE_OF_CACHE, FIGURE_READ_AMPLIFICATION);
    struct sheet s = {SHEET(sheet_text, out, columns), .indent = 2, .title = "Tier contents",
                      .note = "from the sizes of rows: writes less deletions and moves"};
    char a[CELL];
    while (sheet_pass(&s))
        for (struct figure_part tier = {0}; figures_next(f, FIGURE_OF_CACHE_TIER, &tier);) {
            bool contents = number_in(&tier, FIGURE_PEAK_OBJECTS) > 0;
            for (unsigned what = FIGURE_EVICT_OPS; what <= FIGURE_DELETE_OPS; what++)
                contents |= count_in(&tier, what) > 0;
            if (!contents)
                continue;
            sheet_row(&s, trace_tier_text(tier.figure->id.tier));
            sheet_part(&s, &tier);
        }
    if (!isnan(ratio))
        fprintf(out, "  read/write ratio %s (bytes)", cell_number(a, ratio));
    if (!isnan(amplification))
        fprintf(out, "; read amplification %s tokens read per token generated",
                cell_number(a, amplification));
    if (!isnan(ratio) || !isnan(amplification))
        fputc('\n', out);
}

static void put_reuse(FILE *out, const struct figures *f)
{
    /* p99.99 of keys says little. */
    static const struct sheet_column columns[] = {
        {"distance", 0, 0, SHEET_LEFT},   {"      mean", 0, FIGURE_MEAN, 0},
        {"       min", 0, FIGURE_MIN, 0}, {"       p50", 0, FIGURE_P50, 0},
        {"       p90", 0, FIGURE_P90, 0}, {"       p95", 0, FIGURE_P95, 0},
        {"       p99", 0, FIGURE_P99, 0}, {"     p99.9", 0, FIGURE_P999, 0},
        {"       max", 0, FIGURE_MAX, 0}};
    struct sheet s = {SHEET(sheet_text, out, columns), .indent = 2};
    struct figure_part part = {0};
    char a[CELL], b[CELL], c[CELL], d[CELL];
    if (!figures_next(f, FIGURE_OF_REUSE, &part) || !figure_in(&part, FIGURE_USES))
        return;
    uint64_t keys = count_in(&part, FIGURE_KEYS), uses = count_in(&part, FIGURE_USES);
    uint64_t reuses = count_in(&part, FIGURE_REUSES);
    fprintf(out, "\nReuse - what lies between two uses of an object: an LRU cache of so many bytes "
                 "has it\n");
    fprintf(out, "  %s of %s use%s are of objects used before; %s object%s of %s in all\n",
            cell_count(a, reuses), cell_count(b, uses), units_plural(uses), cell_count(c, keys),
            units_plural(keys), cell_bytes(d, number_in(&part, FIGURE_BYTES)));
    if (reuses == 0)
        return;
    while (sheet_pass(&s))
        for (size_t k = 0; k < part.count; k++) {
            const struct figure *distance = &part.figure[k];
            if (distance->form != FIGURE_FORM_DISTRIBUTION)
                continue;
            sheet_row(&s, figure_title(distance->id.what));
            while (s.at < s.columns)
                sheet_word(&s, cell_value(a, figure_unit(distance->id.what),
                                          figure_statistic(distance, columns[s.at].statistic)));
        }
}

/* ---- the time series ---- */

/* In us; NAN: there is none. */
static double interval_p95(const struct intervals *s, size_t i, enum trace_op op,
                           enum figure_what what)
{
    return intervals_number(
        s, i, figure_id_statistic(figure_id_direction(TRACE_STORAGE, op, what), FIGURE_P95));
}

static void put_series(FILE *out, const struct intervals *series, bool result)
{
    enum {
        TIME = SHEET_OPTIONAL,
        RATE = SHEET_OPTIONAL | SHEET_NONZERO
    };
    static const char *const above[] = {"",       "Tier-0", "Tier-0", "Tier-1", "Tier-1", "Tier-2",
                                        "Tier-2", "P95",    "P95",    "P95",    "P95",    "hit"};
    static const struct sheet_column columns[] = {{"   from", 0, 0, 0},
                                                  {"   read", 0, 0, RATE},
                                                  {"  write", 0, 0, RATE},
                                                  {"   read", 0, 0, RATE},
                                                  {"  write", 0, 0, RATE},
                                                  {"   read", 0, 0, RATE},
                                                  {"  write", 0, 0, RATE},
                                                  {"service", FIGURE_SERVICE, 0, TIME},
                                                  {"response", FIGURE_RESPONSE, 0, TIME},
                                                  {"   wait", FIGURE_WAIT, 0, TIME},
                                                  {"   late", FIGURE_LATENESS, 0, TIME},
                                                  {"   rate", 0, 0, 0},
                                                  {"", 0, 0, SHEET_LEFT}};
    char title[CELL], from[CELL], rate[CELL];
    struct sheet s = {SHEET(sheet_text, out, columns), .indent = 2, .above = above, .title = title,
                      .note = result ? "GiB/s by tier, at completion; P95 of the times of Tier-2, "
                                       "the longer of reads and writes"
                                     : "GiB/s by tier"};
    snprintf(title, sizeof(title), "Each %g s", intervals_length_s(series));
    while (sheet_pass(&s))
        for (size_t i = 0; i < intervals_count(series); i++) {
            const struct figure_part part = intervals_at(series, i);
            const struct figure *warm = figure_in(&part, FIGURE_ITSELF);
            snprintf(from, sizeof(from), "%.5g s", number_in(&part, FIGURE_TIME));
            sheet_row(&s, from);
            /* A direction has its column when it has operations. */
            const enum figure_what what = s.pass == SHEET_MEASURED ? FIGURE_OPS : FIGURE_GIB_PER_S;
            for (unsigned t = 0; t < TRACE_TIERS; t++)
                for (unsigned op = TRACE_READ; op <= TRACE_WRITE; op++)
                    sheet_number(&s, NULL,
                                 intervals_number(series, i, figure_id_direction(t, op, what)),
                                 FIGURE_UNIT_GIB_PER_S, NULL);
            for (enum figure_what time; (time = columns[s.at].what) != FIGURE_ITSELF;) {
                const double us = fmax(interval_p95(series, i, TRACE_READ, time),
                                       interval_p95(series, i, TRACE_WRITE, time));
                sheet_number(&s, NULL, result ? us : NAN, FIGURE_UNIT_US, NULL);
            }
            sheet_word(&s, cell_percent(rate, number_in(&part, FIGURE_HIT_RATE)));
            if (warm && warm->truth)
                sheet_word(&s, "warm-up");
        }
}

/* The lines of a served run, by class. */
static void put_series_queues(FILE *out, const struct intervals *series)
{
    struct sheet_column columns[1 + TRACE_QOSES] = {{"      from", 0, 0, 0}};
    struct sheet s = {SHEET(sheet_text, out, columns), .indent = 2,
                      .title = "Mean queue wait, and requests still waiting, by class"};
    char titles[TRACE_QOSES][CELL];
    char from[CELL], wait[CELL], waiting[CELL], both[2 * CELL];
    for (unsigned q = 0; q < TRACE_QOSES; q++) {
        snprintf(titles[q], sizeof(titles[q]), "%20s", trace_qos_text(q));
        columns[1 + q].title = titles[q];
    }
    while (sheet_pass(&s))
        for (size_t i = 0; i < intervals_count(series); i++) {
            const struct figure_part part = intervals_at(series, i);
            struct figure_id id = {.scope = FIGURE_OF_QOS, .by = GROUPS_QOS};
            if (!figure_in(&part, FIGURE_QUEUE_MEAN))
                break;
            snprintf(from, sizeof(from), "%.6g s", number_in(&part, FIGURE_TIME));
            sheet_row(&s, from);
            for (id.qos = 0; id.qos < TRACE_QOSES; id.qos++) {
                id.what = FIGURE_QUEUE_MEAN;
                double ms = intervals_number(series, i, id);
                id.what = FIGURE_WAITING;
                double n = intervals_number(series, i, id);
                snprintf(both, sizeof(both), "%s %9s",
                         isnan(ms) ? "-"
                                   : cell_time(wait, ms * figure_scale(FIGURE_QUEUE_MEAN), true),
                         isnan(n) ? "-" : cell_count(waiting, (uint64_t)n));
                sheet_word(&s, both);
            }
        }
}

/* ---- all of it ---- */

void report_text_asked(FILE *out, const struct figures *f)
{
    static const struct section groups = {FIGURE_OF_GROUP, "Groups of --by", "group", " by group",
                                          FIGURE_AT_DRIVE};
    const struct intervals *series = figures_intervals(f);
    struct figure_part group = {0};
    put_reuse(out, f);
    if (figures_next(f, FIGURE_OF_GROUP, &group) && group.figure->id.by != GROUPS_DEFAULT)
        put_groups(out, f, &groups);
    if (!series || !intervals_asked_for(series))
        return;
    put_series(out, series, figures_is_result(f));
    put_series_queues(out, series);
}

void report_text(FILE *out, const struct figures *f, const struct verdict *verdict)
{
    static const struct section operations = {FIGURE_OF_DIRECTION, "Tiers and operations",
                                              "operation", "", FIGURE_AT_DRIVE},
                                phases = {FIGURE_OF_PHASE, "Phases", "phase", " by phase",
                                          FIGURE_SERVICE};
    bool result = figures_is_result(f);
    put_title(out, f);
    put_run(out, f);
    put_bottleneck(out, f);
    put_failures(out, f);
    if (verdict)
        verdict_text(out, verdict);
    put_throughput(out, f);
    put_requests(out, f);
    put_groups(out, f, &operations);
    put_hit_rates(out, f);
    put_contents(out, f);
    put_groups(out, f, &phases);
    report_text_asked(out, f);
    if (figures_count_of(f, FIGURE_OF_RUN, FIGURE_ROWS) > 0)
        fprintf(out, "\nSizes are powers of two (1 GiB = 2^30 bytes).%s\n",
                result ? " Latencies are those of whole objects." : "");
    if (figures_count_of(f, FIGURE_OF_RUN, FIGURE_ROWS) > 0 &&
        (result || figures_count_of(f, FIGURE_OF_REQUESTS, FIGURE_REQUESTS) > 0))
        fprintf(
            out,
            "* fewer than ten samples lie above this percentile; - none does: it is the max.\n");
    if (verdict)
        verdict_last_words(out, verdict);
}
