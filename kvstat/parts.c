/* Beside the pooled figures of a run of several processes: which part is missing, how far apart
 * they started, how long they ran together, which one was slowest, and whose figures are doubtful.
 */
#include "kvstat/parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/count/agg.h"
#include "kvstat/report/cells.h"
#include "lib/base/memory.h"
#include "lib/base/units.h"
#include "lib/facts/runs.h"
#include "lib/json/jsonin.h"
#include "lib/ranks/part.h"

enum {
    RANKS_NAMED = 8,     /* of missing parts, in texts */
    RANKS_COLUMNS = 100, /* of the table */
    RANKS_P95 = 950000
};

struct rank {
    char *file;
    char host[64]; /* "": not known */
    int64_t number;
    bool whole; /* not cut */
    uint64_t rows, failed, bytes;
    double start_s, late_s, clock_error_s; /* NAN: not known */
    enum provenance_answer synchronised;
    double elapsed_s;
    double p95_ns[TRACE_TIERS][2]; /* service times: reads, writes; NAN: none */
    struct validity validity;
};

struct parts {
    struct rank *item;
    size_t n, room;
    char run[FACT_TEXT_CAP]; /* "": no part told it */
    char digest[64];         /* of the first trace that a part told */
    int64_t count;           /* parts that there should be; -1: not known */
    bool by_keys, digests_differ;
    double spread_s; /* between the first start and the last; NAN: not known */
    double together_s, in_all_s;
    uint8_t tier;               /* the lowest that has operations: its times are shown */
    const struct rank *slowest; /* by its P95 there, of which; NULL: nothing to compare */
    size_t slowest_by;
    double times_median;
    bool merged; /* one file has the rows of all */
};

static const char *const directions[2] = {"read", "write"};

struct parts *parts_create(void)
{
    struct parts *r = calloc(1, sizeof(*r));

    if (r)
        r->count = -1;
    return r;
}

void parts_free(struct parts *r)
{
    for (size_t i = 0; r && i < r->n; i++)
        free(r->item[i].file);
    if (r)
        free(r->item);
    free(r);
}

/* ---- taking the parts ---- */

static const char *name_of(char buf[RUNS_NAME], const struct rank *k)
{
    return runs_name(buf, k->number, k->host);
}

static struct rank *add_rank(struct parts *r, const char *path)
{
    if (memory_room(&r->item, &r->room, r->n, sizeof(*r->item), 16) < 0)
        return NULL;
    struct rank *k = &r->item[r->n];
    *k = (struct rank){.file = strdup(path)};
    if (!k->file)
        return NULL;
    r->n++;
    return k;
}

/* Whether a summary says which part of a run it describes. Numbers and counts beyond what a run can
 * have are refused, since missing parts are named one by one. */
static bool is_part(const struct facts *f)
{
    double rank = facts_number(f, FACT_PART_RANK), count = facts_number(f, FACT_PART_COUNT);

    return f->of[FACT_PART_RUN].known && count <= PART_COUNT_MAX && rank < count;
}

/* Which part it is, and whether it is one of this run. */
static int check_part(struct parts *r, const char *path, const struct scan *s,
                      const struct facts *f, int64_t *number, struct err *e)
{
    const char *run = facts_text(f, FACT_PART_RUN);
    int64_t count = (int64_t)f->of[FACT_PART_COUNT].count;
    const struct agg_totals *t = agg_totals(s->agg);
    bool by_rows = t->low_rank == t->high_rank; /* else no row, or a merged file */

    if (!is_part(f) && !(s->cut && by_rows))
        return err_set(e, -EINVAL, ERR_INPUT, path,
                       "is no part of a run (kvreplay --part), or its summary is missing");
    *number = is_part(f) ? (int64_t)f->of[FACT_PART_RANK].count : t->low_rank;
    if (!is_part(f))
        return 0;
    if (r->run[0] && (strcmp(r->run, run) != 0 || r->count != count))
        return err_set(e, -EINVAL, ERR_INPUT, path,
                       "is a part of another run than the files before it (%s, not %s)", run,
                       r->run);
    snprintf(r->run, sizeof(r->run), "%s", run);
    r->count = count;
    return 0;
}

/* Takes what the part's summary says. */
static void take_facts(struct rank *k, const struct facts *f)
{
    k->rows = runs_rows(f);
    k->failed = facts_counted(f, FACT_ROWS, "failed") + facts_counted(f, FACT_ROWS, "corrupt");
    k->elapsed_s = facts_number(f, FACT_ELAPSED_S);
}

/* Takes what the rows say: bytes and percentiles; of a part that was killed, all else, too. */
static void take_rows(struct rank *k, const struct agg_totals *t, const struct groups *g)
{
    static const uint8_t op[2] = {TRACE_READ, TRACE_WRITE};

    k->rows = t->rows;
    k->failed = t->failed + t->corrupt;
    k->elapsed_s = t->end_ns > 0 ? (double)t->end_ns / 1e9 : 0;
    for (uint8_t tier = 0; tier < TRACE_TIERS; tier++) {
        for (size_t d = 0; d < 2; d++) {
            const struct group *of = groups_find(g, tier, op[d]);
            const struct hist *h = of ? of->metric[GROUP_SERVICE] : NULL;
            k->bytes += of ? of->moved : 0;
            k->p95_ns[tier][d] =
                h && hist_count(h) > 0 ? (double)hist_percentile(h, RANKS_P95) : NAN;
        }
    }
}

/* Ranks with traces of their own have different digests: then none is that of the run. */
static int take_digest(struct parts *r, const char *path, struct provenance *p, struct err *e)
{
    const char *digest = facts_text(&p->facts, FACT_DIGEST);

    if (!r->digest[0])
        snprintf(r->digest, sizeof(r->digest), "%s", digest);
    if (!digest[0] || strcmp(r->digest, digest) == 0)
        return 0;
    if (p->by_keys)
        return err_set(
            e, -EINVAL, ERR_INPUT, path,
            "ran its share of another trace than the files before it (digest %s, not %s)", digest,
            r->digest);
    r->digests_differ = true;
    p->facts.of[FACT_DIGEST].known = false;
    return 0;
}

/* "rank 2 on node-c: client delay adds 12 % to p95". */
static void name_doubts(struct validity *v, const struct rank *k)
{
    char name[RUNS_NAME], why[VALIDITY_WHY];

    name_of(name, k);
    for (unsigned kind = 0; kind < VALIDITY_KINDS; kind++)
        for (unsigned place = 0; place < VALIDITY_PLACES; place++) {
            struct validity_of *of = &v->of[kind][place];
            if (of->state == VALIDITY_GOOD)
                continue;
            snprintf(why, sizeof(why), "%s: %.*s", name, (int)(sizeof(why) - sizeof(name) - 3),
                     of->why);
            memcpy(of->why, why, sizeof(why));
        }
}

/* "rank 2 on node-c: overload: ...". */
static void name_notes(struct notes *notes, const struct rank *k)
{
    char name[RUNS_NAME];
    struct notes named = {0};

    name_of(name, k);
    for (unsigned i = 0; i < notes->count; i++)
        notes_add(&named, "%s: %.*s", name, (int)(NOTES_CAP - sizeof(name) - 3), notes->text[i]);
    *notes = named;
}

/* A part that ended before its first row, as one that missed the start. */
static bool is_empty(const struct scan *s, const struct facts *f)
{
    return s->cut && !is_part(f) && agg_totals(s->agg)->rows == 0;
}

/* ---- the result of all ranks (kvreplay-mpi) ---- */

/* Like take_rows, but from the summary of a rank. */
static void take_groups(struct rank *k, const struct jsonin_v *summary)
{
    static const char *const path[2] = {"read.service_us.p95", "write.service_us.p95"};
    const struct jsonin_v *groups = jsonin_get(summary, "groups");
    const struct jsonin_v *tiers = jsonin_get(summary, "tiers");

    for (unsigned t = 0; t < TRACE_TIERS; t++)
        for (unsigned d = 0; d < 2; d++)
            k->p95_ns[t][d] =
                1e3 * jsonin_number(jsonin_find(tiers, "tier", trace_tier_text(t)), path[d]);
    for (size_t i = 0; i < jsonin_count(groups); i++) { /* by tier, operation and phase */
        const char *op = jsonin_text(jsonin_get(jsonin_at(groups, i), "op"), NULL);
        uint64_t bytes = 0;
        if (op && (strcmp(op, "Read") == 0 || strcmp(op, "Write") == 0))
            jsonin_u64(jsonin_get(jsonin_at(groups, i), "bytes"), &bytes);
        k->bytes += bytes;
    }
}

/* item: what rank 0 wrote of one of them. */
static int take_member(struct parts *r, const char *path, const struct jsonin_v *item,
                       struct err *e)
{
    const struct jsonin_v *summary = jsonin_get(item, "summary");
    struct provenance p;
    bool there = false;
    int64_t number = -1;

    jsonin_bool(jsonin_get(item, "there"), &there);
    if (!there || jsonin_i64(jsonin_get(item, "rank"), &number) < 0 || number < 0 ||
        number >= r->count || jsonin_members(summary) == 0)
        return 0;
    int rc = provenance_read_value(&p, summary, e);
    struct rank *k = rc == 0 ? add_rank(r, path) : NULL;
    if (k) {
        const char *host = jsonin_text(jsonin_get(item, "host"), NULL);
        k->number = number;
        k->whole = true;
        k->start_s = r->n > 1 ? r->item[0].start_s
                              : facts_number(&p.facts, FACT_START_S); /* one instant of all */
        k->late_s = jsonin_number(item, "late_us") / 1e6;
        k->clock_error_s = jsonin_number(item, "offset_error_us") / 1e6;
        snprintf(k->host, sizeof(k->host), "%s", host ? host : "");
        err_make_harmless(k->host);
        take_facts(k, &p.facts);
        take_groups(k, summary);
        k->validity = p.validity;
        name_doubts(&k->validity, k);
    }
    provenance_free(&p);
    return rc == 0 && !k ? err_nomem(e, "parts") : rc;
}

/* Ranks with their doubts and notes are named in such a file already. 1: it is none. */
static int take_merged(struct parts *r, const char *path, const struct scan *s,
                       const struct provenance *p, struct err *e)
{
    struct jsonin *doc = NULL;

    if (!s->summary || jsonin_parse(&doc, s->summary, strlen(s->summary), path, NULL) < 0)
        return 1;
    const struct jsonin_v *list = jsonin_get(jsonin_root(doc), "ranks.list");
    int64_t count = (int64_t)p->facts.of[FACT_PART_COUNT].count;
    int rc =
        list && p->facts.of[FACT_PART_RUN].known && count > 0 && count <= PART_COUNT_MAX ? 0 : 1;
    if (rc == 0 && (r->n > 0 || r->merged))
        rc = err_set(e, -EINVAL, ERR_INPUT, path,
                     "is the result of all ranks of a run: give it alone");
    if (rc == 0) {
        r->merged = true;
        r->count = count;
        r->by_keys = p->by_keys;
        snprintf(r->run, sizeof(r->run), "%s", facts_text(&p->facts, FACT_PART_RUN));
    }
    for (size_t i = 0; rc == 0 && i < jsonin_count(list); i++)
        rc = take_member(r, path, jsonin_at(list, i), e);
    jsonin_free(doc);
    return rc;
}

int parts_take(struct parts *r, const char *path, const struct scan *s, struct provenance *p,
               struct err *e)
{
    const struct facts *f = &p->facts;
    int64_t number = -1;
    if (is_empty(s, f))
        return 1;
    int rc = take_merged(r, path, s, p, e);
    if (rc <= 0)
        return rc;
    if (r->merged)
        return err_set(e, -EINVAL, ERR_INPUT, path,
                       "the file before it is the result of all ranks of a run: give that alone");
    rc = check_part(r, path, s, f, &number, e);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < r->n; i++)
        if (r->item[i].number == number)
            return err_set(e, -EINVAL, ERR_INPUT, path, "is rank %lld again, as %s",
                           (long long)number, r->item[i].file);
    rc = take_digest(r, path, p, e);
    if (rc < 0)
        return rc;
    struct rank *k = add_rank(r, path);
    struct groups *g = k ? agg_make_tier_op(s->agg) : NULL;
    if (!g)
        return err_nomem(e, "parts");
    k->number = number;
    k->whole = !s->cut && !s->interrupted;
    k->start_s = facts_number(f, FACT_START_S);
    k->late_s = facts_number(f, FACT_START_LATE_US) / 1e6;
    k->clock_error_s = facts_number(f, FACT_START_CLOCK_ERROR_US) / 1e6;
    k->synchronised = provenance_answer(f, FACT_START_SYNCHRONISED);
    snprintf(k->host, sizeof(k->host), "%s", facts_text(f, FACT_PART_HOST));
    take_rows(k, agg_totals(s->agg), g);
    if (f->of[FACT_ROWS].known)
        take_facts(k, f);
    groups_free(g);
    k->validity = p->validity;
    name_doubts(&p->validity, k);
    name_notes(&p->notes, k);
    r->by_keys |= p->by_keys;
    return 0;
}

/* ---- all of them ---- */

static int by_number(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

/* When the process of the part really began. */
static double began_s(const struct rank *k)
{
    return k->start_s + (isnan(k->late_s) ? 0 : k->late_s);
}

/* By the clocks of the hosts. */
static void measure_times(struct parts *r)
{
    double first = INFINITY, last = -INFINITY, first_end = INFINITY, last_end = -INFINITY;

    for (size_t i = 0; i < r->n; i++) {
        double start = began_s(&r->item[i]), end = r->item[i].start_s + r->item[i].elapsed_s;
        if (isnan(start)) {
            r->spread_s = r->together_s = r->in_all_s = NAN;
            return;
        }
        first = fmin(first, start);
        last = fmax(last, start);
        first_end = fmin(first_end, end);
        last_end = fmax(last_end, end);
    }
    r->spread_s = last - first;
    r->together_s = fmax(0, first_end - last);
    r->in_all_s = last_end - first;
}

static double p95_of(const struct parts *r, const struct rank *k, size_t direction)
{
    return k->p95_ns[r->tier][direction];
}

static void find_tier(struct parts *r)
{
    for (uint8_t tier = 0; tier < TRACE_TIERS; tier++)
        for (size_t i = 0; i < r->n; i++)
            if (!isnan(r->item[i].p95_ns[tier][0]) || !isnan(r->item[i].p95_ns[tier][1]))
                r->tier = tier;
}

/* The part with the highest P95 of reads, or of writes where nobody reads. */
static void find_slowest(struct parts *r)
{
    double *values = malloc(r->n * sizeof(*values));

    for (size_t d = 0; values && d < 2 && !r->slowest; d++) {
        for (size_t i = 0; i < r->n; i++)
            values[i] = p95_of(r, &r->item[i], d);
        struct runs_slowest found = runs_slowest(values, (unsigned)r->n, false);
        r->slowest = found.at >= 0 ? &r->item[found.at] : NULL;
        r->slowest_by = d;
        r->times_median = found.times_median;
    }
    free(values);
}

static bool has_number(const struct parts *r, int64_t number)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->item[i].number == number)
            return true;
    return false;
}

bool parts_missing(const struct parts *r)
{
    return r->count > (int64_t)r->n;
}

/* "rank 2", "ranks 2, 5 and 40 more". */
static void name_missing(const struct parts *r, char *buf, size_t n)
{
    int64_t missing = r->count - (int64_t)r->n, named = 0;
    size_t len = (size_t)snprintf(buf, n, "rank%s", units_plural((uint64_t)missing));

    for (int64_t i = 0; i < r->count && named < RANKS_NAMED; i++) {
        if (has_number(r, i))
            continue;
        len += (size_t)snprintf(buf + len, n - len, "%s%lld", named ? ", " : " ", (long long)i);
        named++;
    }
    if (missing > named)
        snprintf(buf + len, n - len, " and %lld more", (long long)(missing - named));
}

static const char *host_of(const void *ctx, size_t i)
{
    const struct parts *r = ctx;

    return r->item[i].host;
}

static void note_start(const struct parts *r, struct notes *notes)
{
    char a[CELL], b[CELL], name[RUNS_NAME];
    const struct rank *unsure = NULL;
    size_t hosts = runs_hosts(r, r->n, host_of);

    for (size_t i = 0; i < r->n && !unsure; i++)
        if (r->item[i].synchronised == PROVENANCE_NO)
            unsure = &r->item[i];
    if (r->n == 1)
        return;
    if (isnan(r->spread_s)) {
        notes_add(notes, "how far apart the ranks started is not known");
        return;
    }
    notes_add(notes, "%zu ranks on %zu host%s started up to %s apart and ran together for %s of %s",
              r->n, hosts, units_plural(hosts),
              units_format_duration(name, sizeof(name), r->spread_s * 1e9),
              cell_seconds(a, r->together_s), cell_seconds(b, r->in_all_s));
    if (unsure && hosts > 1)
        notes_add(notes, "the clock of %s was not synchronised: its start may be wrong",
                  name_of(name, unsure));
}

/* Rows are counted from each rank's own start: ranks far apart look like one load, and are none. */
static void doubt_apart(const struct parts *r, struct validity *v)
{
    const enum validity_kind kinds[] = {VALIDITY_SERVICE, VALIDITY_DEVICE, VALIDITY_RESPONSE,
                                        VALIDITY_END_TO_END};
    struct validity_of apart = {.state = VALIDITY_UNRELIABLE};
    char a[CELL], b[CELL];

    if (r->n == 1 || isnan(r->spread_s) || r->spread_s <= JUDGE_MOVES * r->in_all_s)
        return;
    snprintf(
        apart.why, sizeof(apart.why),
        "the ranks ran together for only %s of %s: they are not one load, and rates are too high",
        cell_seconds(a, r->together_s), cell_seconds(b, r->in_all_s));
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        validity_doubt(v, kinds[i], VALIDITY_EVERYWHERE, &apart);
}

void parts_settle(struct parts *r, struct provenance *all)
{
    char text[256], name[RUNS_NAME], p95[CELL];
    struct notes of_parts = all->notes;

    if (r->digests_differ)
        all->facts.of[FACT_DIGEST].known = false;
    qsort(r->item, r->n, sizeof(r->item[0]), by_number);
    measure_times(r);
    find_tier(r);
    find_slowest(r);
    all->notes = (struct notes){0};
    if (parts_missing(r)) {
        name_missing(r, text, sizeof(text));
        fprintf(stderr, "kvstat: --ranks: %s of %lld missing: the report is on the others\n", text,
                (long long)r->count);
        notes_add(&all->notes, "%s of %lld missing", text, (long long)r->count);
    }
    for (size_t i = 0; i < r->n; i++)
        if (!r->item[i].whole)
            notes_add(&all->notes, "%s is not whole", name_of(name, &r->item[i]));
    note_start(r, &all->notes);
    doubt_apart(r, &all->validity);
    if (r->slowest)
        notes_add(&all->notes, "slowest is %s: %s %s p95 %s, %.2f times the median rank's",
                  name_of(name, r->slowest), trace_tier_text(r->tier), directions[r->slowest_by],
                  units_format_duration(p95, sizeof(p95), p95_of(r, r->slowest, r->slowest_by)),
                  r->times_median);
    notes_merge(&all->notes, &of_parts);
}

/* ---- reports ---- */

static void put_rank_json(struct jsonout *j, const struct parts *r, const struct rank *k)
{
    char line[VALIDITY_LINE];

    jsonout_object(j, NULL);
    jsonout_u64(j, "rank", (uint64_t)k->number);
    jsonout_text_known(j, "host", k->host);
    jsonout_text_value(j, "file", k->file);
    jsonout_bool(j, "whole", k->whole);
    jsonout_u64(j, "rows", k->rows);
    jsonout_u64(j, "failed", k->failed);
    jsonout_u64(j, "bytes", k->bytes);
    jsonout_f64(j, "elapsed_s", k->elapsed_s);
    jsonout_f64(j, "start_unix_s", k->start_s);
    jsonout_f64(j, "late_us", k->late_s * 1e6);
    jsonout_bool_if(j, "synchronised", k->synchronised != PROVENANCE_UNKNOWN,
                    k->synchronised == PROVENANCE_YES);
    jsonout_f64(j, "clock_error_us", k->clock_error_s * 1e6);
    jsonout_f64(j, "read_p95_us", p95_of(r, k, 0) / 1e3);
    jsonout_f64(j, "write_p95_us", p95_of(r, k, 1) / 1e3);
    jsonout_text_value(j, "validity", validity_line(line, &k->validity));
    jsonout_end(j);
}

void parts_json(struct jsonout *j, const struct parts *r)
{
    jsonout_object(j, "ranks");
    jsonout_text_known(j, "run", r->run);
    jsonout_u64_if(j, "count", r->count >= 0, (uint64_t)r->count);
    jsonout_array(j, "missing");
    for (int64_t i = 0; i < r->count; i++)
        if (!has_number(r, i))
            jsonout_u64(j, NULL, (uint64_t)i);
    jsonout_end(j);
    jsonout_text_value(j, "split", r->by_keys ? "keys" : "none");
    jsonout_text_value(j, "tier", trace_tier_text(r->tier));
    jsonout_f64(j, "start_spread_us", r->spread_s * 1e6);
    jsonout_f64(j, "together_s", r->together_s);
    jsonout_f64(j, "in_all_s", r->in_all_s);
    if (r->slowest) {
        jsonout_object(j, "slowest");
        jsonout_u64(j, "rank", (uint64_t)r->slowest->number);
        jsonout_text_value(j, "by", "p95");
        jsonout_text_value(j, "op", directions[r->slowest_by]);
        jsonout_f64(j, "times_median", r->times_median);
        jsonout_end(j);
    } else {
        jsonout_null(j, "slowest");
    }
    jsonout_array(j, "list");
    for (size_t i = 0; i < r->n; i++)
        put_rank_json(j, r, &r->item[i]);
    jsonout_end(j);
    jsonout_end(j);
}

void parts_text(FILE *out, const struct parts *r)
{
    fprintf(out, "\nParts of the run; P95s are those of %s.\n", trace_tier_text(r->tier));
    fprintf(out, "%-8s %-16s %10s %10s %10s %9s %9s  %s\n", "Ranks", "host", "rows", "moved",
            "time", "read p95", "write p95", "validity");
    for (size_t i = 0; i < r->n; i++) {
        const struct rank *k = &r->item[i];
        char rows[CELL], moved[CELL], took[CELL], p95[2][CELL], line[VALIDITY_LINE];
        validity_line(line, &k->validity);
        line[strcspn(line, ":")] = '\0'; /* the report names the reasons */
        for (size_t d = 0; d < 2; d++)
            if (isnan(p95_of(r, k, d)))
                snprintf(p95[d], sizeof(p95[d]), "-");
            else
                cell_of_us(p95[d], p95_of(r, k, d) / 1e3);
        fprintf(out, "%8lld %-16.16s %10s %10s %10s %9s %9s  %.*s\n", (long long)k->number,
                k->host[0] ? k->host : "-", cell_count(rows, k->rows),
                cell_size(moved, (double)k->bytes), cell_seconds(took, k->elapsed_s), p95[0],
                p95[1], RANKS_COLUMNS - 80, line);
    }
    for (int64_t i = 0; i < r->count; i++)
        if (!has_number(r, i))
            fprintf(out, "%8lld %s\n", (long long)i, "missing");
}
