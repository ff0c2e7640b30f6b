/* After a run of several ranks: what each says of itself, and its rows, go to rank 0, which makes
 * one result of them. No file system is shared: files travel as messages. A rank that is gone
 * leaves its spool where it was; the summary says whose share is missing. */
#include "kvreplay/many/collect.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kvreplay/many/totals.h"
#include "lib/base/clock.h"
#include "lib/base/hist.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/json/jsonin.h"
#include "lib/trace/read.h"
#include "lib/trace/write.h"

enum {
    COLLECT_PATH = 4096
};

/* The numbers of a rank, as it sends them. */
struct account {
    int rc, status; /* of its replay */
    struct ranks_offset before, after;
    int64_t measured_ns; /* between the two, on its clock */
    int64_t late_ns;
    uint64_t users;
};

/* A rank, as rank 0 knows it. */
struct member {
    struct account account;
    const char *text;   /* its summary; NULL: it has none */
    struct jsonin *doc; /* the same */
    const struct jsonin_v *root;
};

/* Texts as ranks_gather gives them. */
struct texts {
    char *all;
    size_t *len;
};

/* How the ranks compare. */
struct balance {
    unsigned slowest;    /* the rank with the fewest rows a second */
    double times_median; /* the median of the ranks' rows a second, by its; NAN: not known */
    double imbalance;    /* the most rows of a rank, by their mean; NAN: there are none */
};

struct collect {
    struct ranks *ranks;
    const struct replay_input *in;
    struct replay_rank rank;
    char spool[COLLECT_PATH]; /* "": rows stay where they are */
    const char *summary;      /* of all ranks; NULL: not asked for */
    /* of rank 0 */
    unsigned count;
    struct member *member;
    struct totals *totals;
    struct trace_writer *writer;
    struct balance balance;
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
static void lose(struct member *m)
{
    m->account = (struct account){.rc = -ETIMEDOUT};
    m->text = NULL;
    m->root = NULL;
}

/* Rank 0 takes the files of all others, also of those whose rows it can no longer write. */
static int take_rows(struct collect *c, struct err *e)
{
    char path[COLLECT_PATH + 8];
    int rc = 0;

    snprintf(path, sizeof(path), "%s.got", c->spool);
    for (unsigned i = 0; i < c->count; i++) {
        struct err late = {0};
        struct member *m = &c->member[i];
        if (m->account.rc < 0)
            continue;
        int got = i > 0 ? ranks_receive_file(c->ranks, i, rc == 0 ? path : "/dev/null", &late) : 0;
        if (got < 0 && ranks_lost(c->ranks, i)) {
            lose(m);
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

static double number_of(const struct member *m, const char *path)
{
    double v;

    return m->root && jsonin_f64(jsonin_get(m->root, path), &v) == 0 ? v : NAN;
}

static const char *name_of(const struct collect *c, char buf[128], unsigned i)
{
    snprintf(buf, 128, "rank %u on %s", i, ranks_host(c->ranks, i));
    return buf;
}

/* Texts of all ranks with their names before them. */
static void put_texts(const struct collect *c, struct jsonout *j, const char *key)
{
    jsonout_array(j, key);
    for (unsigned i = 0; i < c->count; i++) {
        const struct jsonin_v *list = jsonin_get(c->member[i].root, key);
        for (size_t k = 0; k < jsonin_count(list); k++) {
            const char *text = jsonin_text(jsonin_at(list, k), NULL);
            char name[128], named[512];
            snprintf(named, sizeof(named), "%s: %.360s", name_of(c, name, i), text ? text : "");
            jsonout_text_value(j, NULL, named);
        }
    }
    jsonout_end(j);
}

/* The states of the figures: what is doubtful at one rank is doubtful in the whole. */
static void put_validity(const struct collect *c, struct jsonout *j)
{
    bool valid = true, known = true, one;

    for (unsigned i = 0; i < c->count; i++) {
        if (jsonin_bool(jsonin_get(c->member[i].root, "valid"), &one) < 0)
            known = false;
        else
            valid &= one;
    }
    jsonout_bool_if(j, "valid", known || !valid, valid);
    put_texts(c, j, "why_invalid");
    jsonout_array(j, "validity");
    for (unsigned i = 0; i < c->count; i++) {
        const struct jsonin_v *list = jsonin_get(c->member[i].root, "validity");
        for (size_t k = 0; k < jsonin_count(list); k++) {
            const struct jsonin_v *v = jsonin_at(list, k);
            const char *state = jsonin_text(jsonin_get(v, "state"), NULL);
            const char *why = jsonin_text(jsonin_get(v, "why"), NULL);
            char name[128], named[512] = "";
            bool good = state && strcmp(state, "good") == 0;
            if (good && i > 0) /* one of them says what was judged */
                continue;
            if (!good)
                snprintf(named, sizeof(named), "%s: %.360s", name_of(c, name, i), why ? why : "");
            jsonout_object(j, NULL);
            jsonout_text_value(j, "figures", jsonin_text(jsonin_get(v, "figures"), NULL));
            jsonout_text_value(j, "tier", jsonin_text(jsonin_get(v, "tier"), NULL));
            jsonout_text_value(j, "op", jsonin_text(jsonin_get(v, "op"), NULL));
            jsonout_text_value(j, "state", state);
            jsonout_text_value(j, "why", named);
            jsonout_end(j);
        }
    }
    jsonout_end(j);
    put_texts(c, j, "notes");
}

/* The sum over all ranks of each number in an object. */
static void put_sums(const struct collect *c, struct jsonout *j, const char *key)
{
    const struct jsonin_v *first = NULL;
    const char *name;

    for (unsigned i = 0; !first && i < c->count; i++)
        first = jsonin_get(c->member[i].root, key);
    jsonout_object(j, key);
    for (size_t k = 0; jsonin_member(first, k, &name); k++) {
        uint64_t sum = 0, v;
        char path[96];
        snprintf(path, sizeof(path), "%s.%s", key, name);
        for (unsigned i = 0; i < c->count; i++)
            if (jsonin_u64(jsonin_get(c->member[i].root, path), &v) == 0)
                sum += v;
        jsonout_u64(j, name, sum);
    }
    jsonout_end(j);
}

static double greatest(const struct collect *c, const char *path)
{
    double most = NAN;

    for (unsigned i = 0; i < c->count; i++)
        most = fmax(most, number_of(&c->member[i], path));
    return most;
}

/* Late ranks less early ones: how far apart they started, apart from the error of the offsets. */
static int64_t start_spread_ns(const struct collect *c, int64_t *error_ns)
{
    int64_t least = INT64_MAX, most = INT64_MIN;

    *error_ns = 0;
    for (unsigned i = 0; i < c->count; i++) {
        const struct account *a = &c->member[i].account;
        if (a->rc < 0)
            continue;
        least = a->late_ns < least ? a->late_ns : least;
        most = a->late_ns > most ? a->late_ns : most;
        *error_ns =
            a->before.round_trip_ns / 2 > *error_ns ? a->before.round_trip_ns / 2 : *error_ns;
    }
    return most > least ? most - least : 0;
}

/* Rows that the rank ran; 0: it is missing. */
static double rows_of(const struct member *m)
{
    double all = number_of(m, "rows.total"), skipped = number_of(m, "rows.skipped");
    return isnan(all) || isnan(skipped) ? 0 : all - skipped;
}

static int compare_rates(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static int compare_members(const struct collect *c, struct balance *b, struct err *e)
{
    double *rate = calloc(c->count, sizeof(*rate)), least = INFINITY, most = 0, sum = 0;
    unsigned n = 0;

    *b = (struct balance){.times_median = NAN, .imbalance = NAN};
    if (!rate)
        return err_nomem(e, "ranks");
    for (unsigned i = 0; i < c->count; i++) {
        double of = number_of(&c->member[i], "rows_per_s"), rows = rows_of(&c->member[i]);
        most = fmax(most, rows);
        sum += rows;
        if (isnan(of))
            continue;
        rate[n++] = of;
        if (of < least) {
            least = of;
            b->slowest = i;
        }
    }
    qsort(rate, n, sizeof(*rate), compare_rates);
    if (n > 1 && least > 0)
        b->times_median = (rate[(n - 1) / 2] + rate[n / 2]) / 2 / least;
    if (sum > 0)
        b->imbalance = most * c->count / sum;
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

static void put_member(const struct collect *c, struct jsonout *j, unsigned i)
{
    const struct member *m = &c->member[i];
    const struct account *a = &m->account;

    jsonout_object(j, NULL);
    jsonout_u64(j, "rank", i);
    jsonout_text_value(j, "host", ranks_host(c->ranks, i));
    jsonout_bool(j, "there", a->rc == 0);
    bool known = a->rc == 0;
    if (known && a->users > 0)
        jsonout_u64(j, "users", a->users);
    jsonout_f64(j, "offset_us", known ? (double)a->before.offset_ns / 1e3 : NAN);
    jsonout_f64(j, "offset_error_us", known ? (double)a->before.round_trip_ns / 2e3 : NAN);
    jsonout_f64(j, "drift_ppm", i > 0 ? drift_of(a) * 1e6 : NAN);
    jsonout_f64(j, "late_us", known ? (double)a->late_ns / 1e3 : NAN);
    if (m->text)
        jsonout_raw(j, "summary", m->text, strlen(m->text));
    else
        jsonout_null(j, "summary");
    jsonout_end(j);
}

static void put_ranks(const struct collect *c, struct jsonout *j)
{
    const struct options *o = c->in->options;
    int64_t error_ns, spread_ns = start_spread_ns(c, &error_ns);

    jsonout_object(j, "ranks");
    jsonout_text_value(j, "run", o->run_id);
    jsonout_u64(j, "count", c->count);
    jsonout_array(j, "missing");
    for (unsigned i = 0; i < c->count; i++)
        if (c->member[i].account.rc < 0)
            jsonout_u64(j, NULL, i);
    jsonout_end(j);
    jsonout_text_value(j, "split", o->split == SPLIT_KEYS ? "keys" : "none");
    jsonout_f64(j, "start_spread_us", (double)spread_ns / 1e3);
    jsonout_f64(j, "clock_error_us", (double)error_ns / 1e3);
    jsonout_f64(j, "merge_s", (double)c->merge_ns / 1e9);
    jsonout_f64(j, "imbalance", c->balance.imbalance);
    if (isnan(c->balance.times_median)) {
        jsonout_null(j, "slowest");
    } else {
        jsonout_object(j, "slowest");
        jsonout_u64(j, "rank", c->balance.slowest);
        jsonout_text_value(j, "by", "rows_per_s");
        jsonout_f64(j, "times_median", c->balance.times_median);
        jsonout_end(j);
    }
    jsonout_array(j, "list");
    for (unsigned i = 0; i < c->count; i++)
        put_member(c, j, i);
    jsonout_end(j);
    jsonout_end(j);
}

/* Engines are those of rank 0; times are in the groups. */
static void put_tiers(const struct collect *c, struct jsonout *j)
{
    static const char *const same[] = {"tier", "engine", "target", "device"};
    const struct jsonin_v *tiers = jsonin_get(c->member[0].root, "tiers");

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

/* The digest of the trace, where all ranks had one. */
static const char *common_digest(const struct collect *c)
{
    const char *digest = NULL;

    for (unsigned i = 0; i < c->count; i++) {
        const char *own = jsonin_text(jsonin_get(c->member[i].root, "trace.digest"), NULL);
        if (!own || (digest && strcmp(digest, own) != 0))
            return NULL;
        digest = own;
    }
    return digest;
}

static struct jsonout *summary_of_all(const struct collect *c, int64_t started_wall_ns)
{
    struct jsonout *j = jsonout_create();

    if (!j)
        return NULL;
    jsonout_identity(j, "kvreplay", c->in->argc, c->in->argv, started_wall_ns);
    jsonout_object(j, "trace");
    jsonout_text_value(j, "name", c->in->trace);
    jsonout_text_value(j, "digest", common_digest(c));
    jsonout_end(j);
    put_validity(c, j);
    put_sums(c, j, "rows");
    put_sums(c, j, "populated");
    jsonout_f64(j, "elapsed_s", greatest(c, "elapsed_s"));
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

static size_t count_hosts(const struct collect *c)
{
    size_t hosts = 0;

    for (unsigned i = 0; i < c->count; i++) {
        unsigned k = 0;
        while (k < i && strcmp(ranks_host(c->ranks, k), ranks_host(c->ranks, i)) != 0)
            k++;
        hosts += k == i;
    }
    return hosts;
}

static void print_doubts(const struct collect *c)
{
    bool any = false;

    for (unsigned i = 0; i < c->count; i++) {
        const struct jsonin_v *list = jsonin_get(c->member[i].root, "validity");
        for (size_t k = 0; k < jsonin_count(list); k++) {
            const struct jsonin_v *v = jsonin_at(list, k);
            const char *state = jsonin_text(jsonin_get(v, "state"), NULL);
            const char *figures = jsonin_text(jsonin_get(v, "figures"), NULL);
            const char *why = jsonin_text(jsonin_get(v, "why"), NULL);
            char name[128];
            if (!state || strcmp(state, "good") == 0)
                continue;
            fprintf(stderr, "%s: %s: %s: %s\n", state, figures ? figures : "", name_of(c, name, i),
                    why ? why : "");
            any = true;
        }
    }
    if (!any)
        fprintf(stderr, "good: all ranks\n");
}

/* The table of the ranks that are there. */
static void print_members(const struct collect *c)
{
    fprintf(stderr, "  rank  users        rows    rows/s   late us  host\n");
    for (unsigned i = 0; i < c->count; i++) {
        const struct member *m = &c->member[i];
        char users[24] = "-";
        if (m->account.rc < 0)
            continue;
        if (m->account.users > 0)
            snprintf(users, sizeof(users), "%llu", (unsigned long long)m->account.users);
        fprintf(stderr, "  %4u %6s %11.0f %9.0f %9.1f  %s\n", i, users, rows_of(m),
                number_of(m, "rows_per_s"), (double)m->account.late_ns / 1e3,
                ranks_host(c->ranks, i));
    }
}

static void print_summary(const struct collect *c)
{
    char took[32], spread[32], error[32], merge[32], rows[32], name[128];
    double sum = 0, failed = 0;
    int64_t error_ns, spread_ns = start_spread_ns(c, &error_ns);

    for (unsigned i = 0; i < c->count; i++) {
        double f =
            number_of(&c->member[i], "rows.failed") + number_of(&c->member[i], "rows.corrupt");
        sum += rows_of(&c->member[i]);
        failed += isnan(f) ? 0 : f;
    }
    double elapsed = greatest(c, "elapsed_s");
    fprintf(stderr, "%u ranks on %zu host%s: %s rows in %s (%.0f rows/s), %.0f failed\n", c->count,
            count_hosts(c), units_plural(count_hosts(c)),
            units_format_count(rows, sizeof(rows), (uint64_t)sum),
            units_format_duration(took, sizeof(took), isnan(elapsed) ? 0 : elapsed * 1e9),
            elapsed > 0 ? sum / elapsed : 0.0, failed);
    fprintf(stderr, "started within %s of each other (clocks known to %s); merged in %s\n",
            units_format_duration(spread, sizeof(spread), (double)spread_ns),
            units_format_duration(error, sizeof(error), (double)error_ns),
            units_format_duration(merge, sizeof(merge), (double)c->merge_ns));
    if (c->totals)
        totals_text(stderr, c->totals);
    if (!isnan(c->balance.times_median))
        fprintf(stderr, "slowest: %s, the median rank has %.2f times its rows/s\n",
                name_of(c, name, c->balance.slowest), c->balance.times_median);
    if (c->in->options->full)
        print_members(c);
    for (unsigned i = 0; i < c->count; i++)
        if (c->member[i].account.rc < 0)
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

/* accounts, texts: of all ranks, one behind the other, as ranks_gather gives them. */
static int read_members(struct collect *c, const struct texts *accounts, const struct texts *texts,
                        struct err *e)
{
    const char *account = accounts->all, *text = texts->all;

    c->member = calloc(c->count, sizeof(*c->member));
    if (!c->member)
        return err_nomem(e, "ranks");
    for (unsigned i = 0; i < c->count; i++) {
        struct member *m = &c->member[i];
        bool there = accounts->len[i] == sizeof(m->account) && !ranks_lost(c->ranks, i);
        if (there)
            memcpy(&m->account, account, sizeof(m->account));
        m->text = texts->len[i] > 0 ? text : NULL;
        if (m->text && jsonin_parse(&m->doc, text, texts->len[i], "summary of a rank", e) < 0)
            return -EINVAL;
        m->root = m->doc ? jsonin_root(m->doc) : NULL;
        if (!there)
            lose(m);
        account += accounts->len[i] + 1;
        text += texts->len[i] + 1;
    }
    return 0;
}

/* Rank 0, with what all ranks told. */
static int put_together(struct collect *c, int64_t started_wall_ns, struct err *e)
{
    int64_t begun_ns = clock_now_ns();
    struct jsonout *j = NULL;
    int rc = 0;

    if (c->spool[0]) {
        c->totals = totals_create(c->in->options->warmup_ns);
        rc = c->totals ? take_rows(c, e) : err_nomem(e, "totals");
    }
    c->merge_ns = clock_now_ns() - begun_ns;
    if (rc == 0)
        rc = compare_members(c, &c->balance, e);
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
    struct account own = {.rc = rc,
                          .status = *status,
                          .before = c->rank.offset,
                          .late_ns = c->rank.late_ns,
                          .users = c->in->users};
    const char *summary = c->rank.summary ? c->rank.summary : "";
    struct texts accounts = {0}, texts = {0};
    struct err later = {0};
    int64_t begun_ns = clock_now_ns();

    int gone = ranks_measure(c->ranks, &own.after, &later);
    own.measured_ns = begun_ns - c->rank.started_ns;
    if (gone == 0)
        gone = ranks_gather(c->ranks, &own, sizeof(own), &accounts.all, &accounts.len, &later);
    if (gone == 0)
        gone = ranks_gather(c->ranks, summary, strlen(summary), &texts.all, &texts.len, &later);
    if (gone == 0 && ranks_rank(c->ranks) > 0 && c->spool[0] && rc == 0) {
        gone = ranks_send_file(c->ranks, c->spool, &later);
    } else if (gone == 0 && ranks_rank(c->ranks) == 0) {
        gone = read_members(c, &accounts, &texts, &later);
        if (gone == 0)
            gone = put_together(c, started_wall_ns, &later);
        for (unsigned i = 0; c->member && i < c->count; i++) {
            const struct account *a = &c->member[i].account;
            int of_rank = ranks_lost(c->ranks, i) ? 1 : a->status;
            *status = of_rank > *status ? of_rank : *status;
            jsonin_free(c->member[i].doc);
        }
        free(c->member);
    }
    free(accounts.all);
    free(accounts.len);
    free(texts.all);
    free(texts.len);
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
    char name[128];

    if (c.count == 1)
        return replay_run(in, status, e);
    int rc = 0;
    if (options_results(o) && !o->own_results && !in->silent)
        rc = name_spool(&c, e);
    rc = ranks_agree(ranks, rc, e);
    if (rc < 0)
        return rc;
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
    free(c.rank.summary);
    return rc;
}
