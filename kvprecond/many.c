/* Each rank's report travels as its document. Sums and the longest time are of all ranks; times of
 * single writes stay with their rank. */
#include "kvprecond/many.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/units.h"
#include "lib/json/jsonout.h"
#include "lib/ranks/documents.h"

/* Rank 0's. */
struct many {
    const struct options *o;
    struct documents ranks;
    struct facts all;
};

static bool is_yes(const struct facts *f, enum fact_id id)
{
    return f->of[id].known && f->of[id].yes;
}

static double bytes_per_s(const struct facts *f)
{
    double elapsed_s = facts_number(f, FACT_ELAPSED_S);

    return elapsed_s > 0 ? facts_number(f, FACT_WRITTEN_BYTES) / elapsed_s : 0;
}

/* ---- text ---- */

static void text_rank(const struct many *m, const struct runs_one *run, FILE *out)
{
    enum validity_state state = runs_worst(run, 1);
    char bytes[32], rate[32], took[32], p50[32], p99[32];
    struct facts f = {0};
    const double *times = f.of[FACT_SERVICE_US].statistic;

    if (run->missing) {
        fprintf(out, "  missing     rank %lld on %s\n", (long long)run->rank, run->host);
        return;
    }
    facts_read(&f, run->doc);
    fprintf(out, "  rank %-6lld %s: %s, %s over %s; a write p50 %s, p99 %s%s%s%s%s\n",
            (long long)run->rank, run->host,
            units_format_bytes(bytes, sizeof(bytes), facts_number(&f, FACT_WRITTEN_BYTES)),
            units_format_rate(rate, sizeof(rate), bytes_per_s(&f)),
            units_format_duration(took, sizeof(took), 1e9 * facts_number(&f, FACT_ELAPSED_S)),
            units_format_duration(p50, sizeof(p50), 1e3 * times[HIST_P50]),
            units_format_duration(p99, sizeof(p99), 1e3 * times[HIST_P99]),
            is_yes(&f, FACT_COMPLETE) ? "" : "; not complete",
            m->o->until_steady && !is_yes(&f, FACT_STEADY) ? "; not steady" : "",
            state == VALIDITY_GOOD ? "" : "; ",
            state == VALIDITY_GOOD ? "" : validity_state_word(state));
}

static int text_all(const struct many *m, FILE *out, struct err *e)
{
    enum validity_state state = runs_worst(m->ranks.run, m->ranks.count);
    char bytes[32], size[32], rate[32], took[32], sync[32];

    fprintf(out, "kvprecond: %u ranks\n", m->ranks.count);
    fprintf(out, "  written     %s of %s\n",
            units_format_bytes(bytes, sizeof(bytes), facts_number(&m->all, FACT_WRITTEN_BYTES)),
            units_format_bytes(size, sizeof(size), facts_number(&m->all, FACT_SIZE_BYTES)));
    fprintf(out, "  bandwidth   %s over %s, then %s to make it durable\n",
            units_format_rate(rate, sizeof(rate), bytes_per_s(&m->all)),
            units_format_duration(took, sizeof(took), 1e9 * facts_number(&m->all, FACT_ELAPSED_S)),
            units_format_duration(sync, sizeof(sync), 1e9 * facts_number(&m->all, FACT_SYNC_S)));
    for (unsigned i = 0; i < m->ranks.count; i++)
        text_rank(m, &m->ranks.run[i], out);
    if (m->o->until_steady)
        fprintf(out, "  steady      %s\n",
                is_yes(&m->all, FACT_STEADY) ? "yes, on all ranks" : "no");
    fprintf(out, "  validity    %s%s\n", validity_state_word(state),
            state == VALIDITY_GOOD ? "" : ": the ranks' own reports say why (--json)");
    if (fflush(out) != 0 || ferror(out))
        return err_errno(e, errno ? -errno : -EIO, ERR_OUTPUT, "standard output",
                         "cannot be written");
    return 0;
}

/* ---- JSON ---- */

static int json_all(const struct many *m, const char *path, const struct report *own, int argc,
                    char *const *argv, struct err *e)
{
    static const enum fact_id written[] = {FACT_SIZE_BYTES, FACT_WRITTEN_BYTES, FACT_WRITTEN,
                                           FACT_ELAPSED_S, FACT_SYNC_S};
    const struct runs_one *run = m->ranks.run;
    unsigned n = m->ranks.count;
    struct jsonout *j = jsonout_create();

    if (!j)
        return err_nomem(e, "summary");
    jsonout_identity(j, "kvprecond", argc, argv, own->started_wall_ns);
    jsonout_bool(j, "complete", is_yes(&m->all, FACT_COMPLETE));
    for (size_t i = 0; i < sizeof(written) / sizeof(written[0]); i++)
        facts_write_one(j, &m->all, written[i]);
    jsonout_f64(j, "gib_per_s", bytes_per_s(&m->all) / (double)UNITS_GIB);
    if (m->o->until_steady) {
        jsonout_object(j, "steady_state");
        jsonout_bool(j, "reached", is_yes(&m->all, FACT_STEADY));
        jsonout_end(j);
    } else {
        jsonout_null(j, "steady_state");
    }
    jsonout_text_value(j, "validity", validity_state_word(runs_worst(run, n)));
    jsonout_object(j, "ranks");
    jsonout_u64(j, "count", n);
    runs_missing(j, run, n);
    runs_list(j, run, n, NULL, NULL);
    jsonout_end(j);
    int rc = jsonout_save(j, path, e);
    jsonout_free(j);
    return rc;
}

/* ---- all of it ---- */

static int put_together(struct many *m, const struct report *own, int argc, char *const *argv,
                        struct err *e)
{
    int rc = 0;

    for (unsigned i = 0; i < m->ranks.count; i++)
        m->ranks.run[i].missing |= !m->ranks.run[i].doc;
    if (runs_merge(&m->all, m->ranks.run, m->ranks.count) < 0)
        rc = err_nomem(e, "ranks");
    if (rc == 0)
        rc = m->o->json ? json_all(m, "-", own, argc, argv, e) : text_all(m, stdout, e);
    if (rc == 0 && m->o->summary)
        rc = json_all(m, m->o->summary, own, argc, argv, e);
    facts_release(&m->all);
    return rc;
}

int many_report(struct ranks *ranks, const struct report *own, int argc, char *const *argv,
                int *status, struct err *e)
{
    struct many m = {.o = own->o};
    int *of_rank = calloc(ranks_count(ranks), sizeof(*of_rank));

    if (!of_rank)
        return err_nomem(e, "ranks");
    struct jsonout *j = report_document(own, argc, argv);
    of_rank[ranks_rank(ranks)] = *status;
    int rc = documents_gather(&m.ranks, ranks, of_rank, sizeof(*of_rank),
                              j ? jsonout_text(j, false) : NULL, e);
    jsonout_free(j);
    if (rc == 0 && ranks_rank(ranks) == 0)
        rc = put_together(&m, own, argc, argv, e);
    for (unsigned i = 0; i < m.ranks.count; i++) {
        int one = m.ranks.run[i].missing ? 1 : of_rank[i];
        *status = one > *status ? one : *status;
    }
    documents_free(&m.ranks);
    free(of_rank);
    return rc;
}
