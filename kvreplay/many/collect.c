/* After a run of several ranks: what each says of itself, and its rows, go to rank 0, which makes
 * one result of them. No file system is shared: files travel as messages. A rank that is gone
 * leaves its spool where it was; the summary says whose share is missing. */
#include "kvreplay/many/collect.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kvreplay/many/totals.h"
#include "lib/base/clock.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/ranks/documents.h"
#include "lib/trace/read.h"
#include "lib/trace/write.h"

enum {
    COLLECT_PATH = 4096
};

/* The part of a result that a rank sends beside its summary. */
struct account {
    int rc, status; /* of its replay */
    struct ranks_offset before, after;
    int64_t measured_ns; /* between the two, on its clock */
    int64_t late_ns;
    uint64_t users;
};

struct collect {
    struct ranks *ranks;
    const struct replay_input *in;
    struct replay_rank rank;
    char spool[COLLECT_PATH]; /* "": rows stay where they are */
    const char *summary;      /* of all ranks; NULL: not asked for */
    /* of rank 0 */
    unsigned count;
    struct account *account; /* of each rank */
    struct documents docs;
    struct facts all;
    struct totals *totals;
    struct trace_writer *writer;
    struct runs_slowest slowest; /* with the fewest rows a second */
    double imbalance;            /* the most rows of a rank, by their mean; NAN: there are none */
    int64_t merge_ns;
};

/* ---- the run ---- */

/* Where this rank's rows go until rank 0 has them. */
static int name_spool(struct collect *c, struct err *e)
{
    const struct options *o = c->in->options;
    const char *folder = o->spool ? o->spool : getenv("TMPDIR");

    if (!folder || !folder[0])
        folder = "/tmp";
    int len = snprintf(c->spool, sizeof(c->spool), "%s/kvreplay-%.8s-%ld-rank-%u.csv.zst", folder,
                       o->run_id, (long)getpid(), o->part.rank);
    if (len >= (int)sizeof(c->spool) - 8)
        return err_set(e, -ENAMETOOLONG, ERR_INPUT, "--config spool", "the name is too long");
    if (access(folder, W_OK | X_OK) < 0)
        return err_errno(e, errno, ERR_OUTPUT, folder, "cannot take the results of a rank");
    return 0;
}

/* ---- rows ---- */

static int open_writer(struct collect *c, struct trace_reader *from, struct err *e)
{
    const struct options *o = c->in->options;
    struct trace_str header = trace_header(from);
    struct trace_write_opts w = {.columns = trace_columns(from) & (TRACE_RESULT | TRACE_EXTRA),
                                 .header = header.p,
                                 .header_len = header.len,
                                 .zstd = o->zstd ? 1 : -1,
                                 .level = (int)o->level,
                                 .one_frame = o->frames == OPT_FRAMES_ONE,
                                 .threads = (unsigned)o->threads,
                                 .provenance = trace_provenance(from),
                                 .notes = o->notes ? "kvreplay" : NULL};

    return c->writer ? 0 : trace_create(&c->writer, options_results(o), &w, e);
}

/* Appends the rows of a file. A cut one gives what it has. */
static int append_rows(struct collect *c, const char *path, struct err *e)
{
    const struct trace_read_opts want = {.want_line = true};
    struct trace_reader *reader = NULL;
    struct trace_cursor *cursor = NULL;
    const struct trace_row *rows;
    size_t n;
    int rc = trace_open(&reader, path, &want, e);

    if (rc == 0)
        rc = open_writer(c, reader, e);
    if (rc == 0)
        rc = trace_cursor_open(&cursor, reader, e);
    while (rc >= 0 && (rc = trace_cursor_next(cursor, &rows, &n, e)) > 0) {
        for (size_t i = 0; rc >= 0 && i < n; i++) {
            rc = trace_write(c->writer, &rows[i], e);
            if (rc == 0 && totals_add(c->totals, &rows[i]) < 0)
                rc = err_nomem(e, "totals");
        }
    }
    trace_cursor_close(cursor);
    trace_close(reader);
    return rc == -EBADMSG ? 0 : rc;
}

/* Nothing of a rank that is gone counts. */
static void lose(struct collect *c, unsigned rank)
{
    c->account[rank] = (struct account){.rc = -ETIMEDOUT};
    c->docs.run[rank].missing = true;
    c->docs.run[rank].text = NULL;
    c->docs.run[rank].doc = NULL;
}

/* Rank 0 takes the files of all others, also of those whose rows it can no longer write. */
static int take_rows(struct collect *c, struct err *e)
{
    char path[COLLECT_PATH + 8];
    int rc = 0;

    snprintf(path, sizeof(path), "%s.got", c->spool);
    for (unsigned i = 0; i < c->count; i++) {
        struct err late = {0};
        if (c->account[i].rc < 0)
            continue;
        int got = i > 0 ? ranks_receive_file(c->ranks, i, rc == 0 ? path : "/dev/null", &late) : 0;
        if (got < 0 && ranks_lost(c->ranks, i)) {
            lose(c, i);
            continue;
        }
        if (got == -ETIMEDOUT) {
            *e = late;
            return got;
        }
        if (rc == 0 && got < 0) {
            rc = got;
            *e = late;
        }
        if (rc == 0)
            rc = append_rows(c, i > 0 ? path : c->spool, e);
        unlink(path);
    }
    return rc;
}

/* ---- the summary of all ranks ---- */

static const char *name_of(const struct collect *c, char buf[RUNS_NAME], unsigned i)
{
    return runs_name(buf, i, ranks_host(c->ranks, i));
}

/* Late ranks less early ones: how far apart they started, apart from the error of the offsets. */
static int64_t start_spread_ns(const struct collect *c, int64_t *error_ns)
{
    int64_t least = INT64_MAX, most = INT64_MIN;

    *error_ns = 0;
    for (unsigned i = 0; i < c->count; i++) {
        const struct account *a = &c->account[i];
        if (a->rc < 0)
            continue;
        least = a->late_ns < least ? a->late_ns : least;
        most = a->late_ns > most ? a->late_ns : most;
        *error_ns =
            a->before.round_trip_ns / 2 > *error_ns ? a->before.round_trip_ns / 2 : *error_ns;
    }
    return most > least ? most - least : 0;
}

static int compare_ranks(struct collect *c, struct err *e)
{
    double *rate = calloc(c->count, sizeof(*rate)), most = 0, sum = 0;

    if (!rate)
        return err_nomem(e, "ranks");
    for (unsigned i = 0; i < c->count; i++) {
        struct facts one = {0};
        facts_read(&one, c->docs.run[i].doc);
        rate[i] = facts_number(&one, FACT_ROWS_PER_S);
        most = fmax(most, (double)runs_rows(&one));
        sum += (double)runs_rows(&one);
    }
    c->slowest = runs_slowest(rate, c->count, true);
    c->imbalance = sum > 0 ? most * c->count / sum : NAN;
    free(rate);
    return 0;
}

/* How fast the rank's clock runs away from rank 0's, as a share. */
static double drift_of(const struct account *a)
{
    return a->measured_ns > 0
               ? (double)(a->after.offset_ns - a->before.offset_ns) / (double)a->measured_ns
               : NAN;
}

static void put_clock(const void *ctx, struct jsonout *j, unsigned i)
{
    const struct collect *c = ctx;
    const struct account *a = &c->account[i];
    bool known = a->rc == 0;

    jsonout_bool(j, "there", known);
    if (known && a->users > 0)
        jsonout_u64(j, "users", a->users);
    jsonout_f64(j, "offset_us", known ? (double)a->before.offset_ns / 1e3 : NAN);
    jsonout_f64(j, "offset_error_us", known ? (double)a->before.round_trip_ns / 2e3 : NAN);
    jsonout_f64(j, "drift_ppm", i > 0 ? drift_of(a) * 1e6 : NAN);
    jsonout_f64(j, "late_us", known ? (double)a->late_ns / 1e3 : NAN);
}

static void put_ranks(const struct collect *c, struct jsonout *j)
{
    const struct options *o = c->in->options;
    int64_t error_ns, spread_ns = start_spread_ns(c, &error_ns);

    jsonout_object(j, "ranks");
    jsonout_text_value(j, "run", o->run_id);
    jsonout_u64(j, "count", c->count);
    runs_missing(j, c->docs.run, c->count);
    jsonout_text_value(j, "split", o->split == SPLIT_KEYS ? "keys" : "none");
    jsonout_f64(j, "start_spread_us", (double)spread_ns / 1e3);
    jsonout_f64(j, "clock_error_us", (double)error_ns / 1e3);
    jsonout_f64(j, "merge_s", (double)c->merge_ns / 1e9);
    jsonout_f64(j, "imbalance", c->imbalance);
    if (isnan(c->slowest.times_median)) {
        jsonout_null(j, "slowest");
    } else {
        jsonout_object(j, "slowest");
        jsonout_i64(j, "rank", c->slowest.at);
        jsonout_text_value(j, "by", "rows_per_s");
        jsonout_f64(j, "times_median", c->slowest.times_median);
        jsonout_end(j);
    }
    runs_list(j, c->docs.run, c->count, put_clock, c);
    jsonout_end(j);
}

/* Engines are those of rank 0; times are in the groups. */
static void put_tiers(const struct collect *c, struct jsonout *j)
{
    static const char *const same[] = {"tier", "engine", "target", "device"};
    const struct jsonin_v *tiers = jsonin_get(c->docs.run[0].doc, "tiers");

    jsonout_array(j, "tiers");
    for (size_t k = 0; k < jsonin_count(tiers); k++) {
        const struct jsonin_v *t = jsonin_at(tiers, k);
        bool simulated = false;
        jsonout_object(j, NULL);
        for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
            jsonout_text_value(j, same[i], jsonin_text(jsonin_get(t, same[i]), NULL));
        if (jsonin_bool(jsonin_get(t, "simulated"), &simulated) == 0)
            jsonout_bool(j, "simulated", simulated);
        jsonout_end(j);
    }
    jsonout_end(j);
}

static struct jsonout *summary_of_all(const struct collect *c, int64_t started_wall_ns)
{
    struct jsonout *j = jsonout_create();

    if (!j)
        return NULL;
    jsonout_identity(j, "kvreplay", c->in->argc, c->in->argv, started_wall_ns);
    jsonout_object(j, "trace");
    jsonout_text_value(j, "name", c->in->trace);
    facts_write_one(j, &c->all, FACT_DIGEST);
    jsonout_end(j);
    runs_validity(j, &c->all, c->docs.run, c->count);
    facts_write_one(j, &c->all, FACT_ROWS);
    facts_write_one(j, &c->all, FACT_POPULATED);
    facts_write_one(j, &c->all, FACT_ELAPSED_S);
    jsonout_object(j, "warmup");
    jsonout_f64(j, "seconds", (double)c->in->options->warmup_ns / 1e9);
    jsonout_end(j);
    put_tiers(c, j);
    if (c->totals)
        totals_json(j, c->totals);
    put_ranks(c, j);
    if (c->in->more)
        c->in->more(c->in->ctx, j, c->in->figures);
    jsonout_object(j, "options");
    jsonout_options(j, c->in->parser);
    jsonout_end(j);
    return j;
}

/* ---- the text ---- */

static const char *host_of(const void *ctx, size_t i)
{
    const struct collect *c = ctx;

    return ranks_host(c->ranks, (unsigned)i);
}

static void print_doubts(const struct collect *c)
{
    struct runs_state s = {0};
    bool any = false;
    char name[RUNS_NAME];

    while (runs_next_state(&s, c->docs.run, c->count)) {
        if (!s.word || s.state == VALIDITY_GOOD)
            continue;
        fprintf(stderr, "%s: %s: %s: %s\n", s.word, s.figures ? s.figures : "",
                name_of(c, name, s.run), s.why ? s.why : "");
        any = true;
    }
    if (!any)
        fprintf(stderr, "good: all ranks\n");
}

/* The table of the ranks that are there. */
static void print_members(const struct collect *c)
{
    fprintf(stderr, "  rank  users        rows    rows/s   late us  host\n");
    for (unsigned i = 0; i < c->count; i++) {
        const struct account *a = &c->account[i];
        struct facts one = {0};
        char users[24] = "-";
        if (a->rc < 0)
            continue;
        facts_read(&one, c->docs.run[i].doc);
        if (a->users > 0)
            snprintf(users, sizeof(users), "%llu", (unsigned long long)a->users);
        fprintf(stderr, "  %4u %6s %11llu %9.0f %9.1f  %s\n", i, users,
                (unsigned long long)runs_rows(&one), facts_number(&one, FACT_ROWS_PER_S),
                (double)a->late_ns / 1e3, ranks_host(c->ranks, i));
    }
}

static void print_summary(const struct collect *c)
{
    const struct facts *all = &c->all;
    char took[32], spread[32], error[32], merge[32], rows[32], name[RUNS_NAME];
    int64_t error_ns, spread_ns = start_spread_ns(c, &error_ns);
    uint64_t sum = runs_rows(all);
    uint64_t failed =
        facts_counted(all, FACT_ROWS, "failed") + facts_counted(all, FACT_ROWS, "corrupt");
    double elapsed = facts_number(all, FACT_ELAPSED_S);
    size_t hosts = runs_hosts(c, c->count, host_of);
    fprintf(stderr, "%u ranks on %zu host%s: %s rows in %s (%.0f rows/s), %llu failed\n", c->count,
            hosts, units_plural(hosts), units_format_count(rows, sizeof(rows), sum),
            units_format_duration(took, sizeof(took), isnan(elapsed) ? 0 : elapsed * 1e9),
            elapsed > 0 ? (double)sum / elapsed : 0.0, (unsigned long long)failed);
    fprintf(stderr, "started within %s of each other (clocks known to %s); merged in %s\n",
            units_format_duration(spread, sizeof(spread), (double)spread_ns),
            units_format_duration(error, sizeof(error), (double)error_ns),
            units_format_duration(merge, sizeof(merge), (double)c->merge_ns));
    if (c->totals)
        totals_text(stderr, c->totals);
    if (!isnan(c->slowest.times_median))
        fprintf(stderr, "slowest: %s, the median rank has %.2f times its rows/s\n",
                name_of(c, name, (unsigned)c->slowest.at), c->slowest.times_median);
    if (c->in->options->full)
        print_members(c);
    for (unsigned i = 0; i < c->count; i++)
        if (c->account[i].rc < 0)
            fprintf(stderr, "missing: the share of %s\n", name_of(c, name, i));
    print_doubts(c);
    for (unsigned i = 0; i < c->count; i++) {
        if (!ranks_lost(c->ranks, i))
            continue;
        fprintf(stderr, "all is written: end mpirun if it waits for the lost host\n");
        break;
    }
}

/* ---- all of it ---- */

/* Rank 0, with what all ranks told. */
static int put_together(struct collect *c, int64_t started_wall_ns, struct err *e)
{
    int64_t begun_ns = clock_now_ns();
    struct jsonout *j = NULL;
    int rc = 0;

    for (unsigned i = 0; i < c->count; i++) {
        if (c->docs.run[i].missing)
            lose(c, i);
        c->docs.run[i].missing |= c->account[i].rc < 0;
    }
    if (c->spool[0]) {
        c->totals = totals_create(c->in->options->warmup_ns);
        rc = c->totals ? take_rows(c, e) : err_nomem(e, "totals");
    }
    c->merge_ns = clock_now_ns() - begun_ns;
    if (rc == 0 && runs_merge(&c->all, c->docs.run, c->count) < 0)
        rc = err_nomem(e, "summary");
    if (rc == 0)
        rc = compare_ranks(c, e);
    if (rc == 0 && !(j = summary_of_all(c, started_wall_ns)))
        rc = err_nomem(e, "summary");
    if (c->writer && rc == 0) {
        rc = trace_finish(c->writer, jsonout_text(j, false), NULL, e);
        c->writer = NULL;
    }
    if (rc == 0 && c->summary)
        rc = jsonout_save(j, c->summary, e);
    jsonout_free(j);
    if (rc == 0)
        print_summary(c);
    return rc;
}

/* All ranks, after a run that all had begun. *status: the worst of any. */
static int collect(struct collect *c, int rc, int *status, int64_t started_wall_ns, struct err *e)
{
    struct account *own = &c->account[ranks_rank(c->ranks)];
    struct err later = {0};
    int64_t begun_ns = clock_now_ns();

    *own = (struct account){.rc = rc,
                            .status = *status,
                            .before = c->rank.offset,
                            .late_ns = c->rank.late_ns,
                            .users = c->in->users};
    int gone = ranks_measure(c->ranks, &own->after, &later);
    own->measured_ns = begun_ns - c->rank.started_ns;
    if (gone == 0)
        gone =
            documents_gather(&c->docs, c->ranks, c->account, sizeof(*own), c->rank.summary, &later);
    if (gone == 0 && ranks_rank(c->ranks) > 0 && c->spool[0] && rc == 0) {
        gone = ranks_send_file(c->ranks, c->spool, &later);
    } else if (ranks_rank(c->ranks) == 0) {
        if (gone == 0)
            gone = put_together(c, started_wall_ns, &later);
        for (unsigned i = 0; i < c->docs.count; i++) {
            int of_rank = ranks_lost(c->ranks, i) ? 1 : c->account[i].status;
            *status = of_rank > *status ? of_rank : *status;
        }
    }
    if (gone != -ETIMEDOUT)
        gone = ranks_agree(c->ranks, rc < 0 ? rc : gone, rc < 0 ? e : &later);
    if (gone < 0 && rc == 0)
        *e = later;
    return gone;
}

int collect_run(struct ranks *ranks, const struct replay_input *in, int *status, struct err *e)
{
    struct collect c = {.ranks = ranks,
                        .in = in,
                        .rank = {.ranks = ranks},
                        .count = ranks_count(ranks),
                        .summary = in->options->summary};
    struct options *o = in->options;
    int64_t started_wall_ns = clock_wall_ns();
    char name[RUNS_NAME];

    if (c.count == 1)
        return replay_run(in, status, e);
    c.account = calloc(c.count, sizeof(*c.account));
    int rc = c.account ? 0 : err_nomem(e, "ranks");
    if (rc == 0 && options_results(o) && !o->own_results && !in->silent)
        rc = name_spool(&c, e);
    rc = ranks_agree(ranks, rc, e);
    if (rc < 0) {
        free(c.account);
        return rc;
    }
    c.rank.spool = c.spool[0] ? c.spool : NULL;
    if (!o->own_summaries)
        o->summary = NULL;
    else
        c.summary = NULL;
    if (o->part.rank > 0)
        o->progress = PROGRESS_NONE;
    struct replay_input own = *in;
    own.rank = &c.rank;
    own.more = NULL; /* it is the summary of all that gets more */
    rc = replay_run(&own, status, e);
    if (c.rank.started && !in->silent && !c.rank.refused) {
        if (c.spool[0] && stop_signal())
            fprintf(stderr, "kvreplay%s: %s: until rank 0 has them, results are in %s\n",
                    ranks_suffix(), name_of(&c, name, o->part.rank), c.spool);
        bool kept = rc == 0 && c.spool[0];
        rc = collect(&c, rc, status, started_wall_ns, e);
        if (rc == -ETIMEDOUT && o->part.rank > 0)
            fprintf(stderr, "kvreplay%s: %s: %s\n", ranks_suffix(), name_of(&c, name, o->part.rank),
                    e->what);
        if (kept && rc == 0)
            unlink(c.spool);
        else if (kept)
            fprintf(stderr, "kvreplay%s: %s: its results stay in %s\n", ranks_suffix(),
                    name_of(&c, name, o->part.rank), c.spool);
    }
    if (c.writer)
        trace_abandon(c.writer);
    totals_free(c.totals);
    documents_free(&c.docs);
    facts_release(&c.all);
    free(c.account);
    free(c.rank.summary);
    return rc;
}
