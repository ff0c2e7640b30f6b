/* The figures of each rank travel as numbers, its report as JSON. Sums and the longest time are of
 * all ranks; times of single writes stay with their rank. */
#include "kvprecond/many.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/json/jsonout.h"

/* The figures of a rank, as it sends them. */
struct account {
    int status;
    bool complete, steady;
    enum validity_state state; /* the worst of its figures */
    uint64_t bytes, size_bytes, writes;
    int64_t elapsed_ns, sync_ns, p50_ns, p99_ns;
};

/* Rank 0's. */
struct many {
    struct ranks *ranks;
    const struct options *o;
    unsigned count;
    struct account *account; /* of each rank */
    const char **text;       /* its report; NULL: it was lost */
    struct account all;
    char *accounts, *texts; /* as ranks_gather gives them */
    size_t *account_len, *text_len;
};

static enum validity_state worst_of(const struct report *r)
{
    enum validity_state worst = VALIDITY_GOOD;

    for (unsigned i = 0; i < REPORT_FIGURES; i++) {
        struct report_doubt d = report_validity(r, i);
        worst = d.state > worst ? d.state : worst;
    }
    return worst;
}

static struct account account_of(const struct report *r, int status)
{
    return (struct account){.status = status,
                            .complete = r->fill.complete,
                            .steady = rounds_steady(&r->rounds),
                            .state = worst_of(r),
                            .bytes = r->fill.bytes,
                            .size_bytes = r->size_bytes,
                            .writes = r->fill.writes,
                            .elapsed_ns = r->fill.elapsed_ns,
                            .sync_ns = r->sync_ns,
                            .p50_ns = hist_percentile(r->service, 500000),
                            .p99_ns = hist_percentile(r->service, 990000)};
}

static int64_t longer(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void add(struct account *all, const struct account *a)
{
    all->status = a->status > all->status ? a->status : all->status;
    all->complete &= a->complete;
    all->steady &= a->steady;
    all->state = a->state > all->state ? a->state : all->state;
    all->bytes += a->bytes;
    all->size_bytes += a->size_bytes;
    all->writes += a->writes;
    all->elapsed_ns = longer(all->elapsed_ns, a->elapsed_ns);
    all->sync_ns = longer(all->sync_ns, a->sync_ns);
}

static int read_ranks(struct many *m, struct err *e)
{
    const char *account = m->accounts, *text = m->texts;

    m->account = calloc(m->count, sizeof(*m->account));
    m->text = calloc(m->count, sizeof(*m->text));
    if (!m->account || !m->text)
        return err_nomem(e, "ranks");
    m->all = (struct account){.complete = true, .steady = true};
    for (unsigned i = 0; i < m->count; i++) {
        bool there = m->account_len[i] == sizeof(m->account[i]) && m->text_len[i] > 0;

        m->account[i].status = 1;
        if (there)
            memcpy(&m->account[i], account, sizeof(m->account[i]));
        m->text[i] = there ? text : NULL;
        add(&m->all, &m->account[i]);
        account += m->account_len[i] + 1;
        text += m->text_len[i] + 1;
    }
    return 0;
}

static double bytes_per_s(const struct account *a)
{
    return a->elapsed_ns > 0 ? (double)a->bytes * (double)UNITS_NS_PER_S / (double)a->elapsed_ns
                             : 0;
}

/* ---- text ---- */

static void text_rank(const struct many *m, unsigned i, FILE *out)
{
    const struct account *a = &m->account[i];
    const char *host = ranks_host(m->ranks, i);
    char bytes[32], rate[32], took[32], p50[32], p99[32];

    if (!m->text[i]) {
        fprintf(out, "  missing     rank %u on %s\n", i, host);
        return;
    }
    fprintf(out, "  rank %-6u %s: %s, %s over %s; a write p50 %s, p99 %s%s%s%s%s\n", i, host,
            units_format_bytes(bytes, sizeof(bytes), (double)a->bytes),
            units_format_rate(rate, sizeof(rate), bytes_per_s(a)),
            units_format_duration(took, sizeof(took), (double)a->elapsed_ns),
            units_format_duration(p50, sizeof(p50), (double)a->p50_ns),
            units_format_duration(p99, sizeof(p99), (double)a->p99_ns),
            a->complete ? "" : "; not complete",
            m->o->until_steady && !a->steady ? "; not steady" : "",
            a->state == VALIDITY_GOOD ? "" : "; ",
            a->state == VALIDITY_GOOD ? "" : validity_state_word(a->state));
}

static int text_all(const struct many *m, FILE *out, struct err *e)
{
    const struct account *a = &m->all;
    char bytes[32], size[32], rate[32], took[32], sync[32];

    fprintf(out, "kvprecond: %u ranks\n", m->count);
    fprintf(out, "  written     %s of %s\n",
            units_format_bytes(bytes, sizeof(bytes), (double)a->bytes),
            units_format_bytes(size, sizeof(size), (double)a->size_bytes));
    fprintf(out, "  bandwidth   %s over %s, then %s to make it durable\n",
            units_format_rate(rate, sizeof(rate), bytes_per_s(a)),
            units_format_duration(took, sizeof(took), (double)a->elapsed_ns),
            units_format_duration(sync, sizeof(sync), (double)a->sync_ns));
    for (unsigned i = 0; i < m->count; i++)
        text_rank(m, i, out);
    if (m->o->until_steady)
        fprintf(out, "  steady      %s\n", a->steady ? "yes, on all ranks" : "no");
    fprintf(out, "  validity    %s%s\n", validity_state_word(a->state),
            a->state == VALIDITY_GOOD ? "" : ": the ranks' own reports say why (--json)");
    if (fflush(out) != 0 || ferror(out))
        return err_errno(e, errno ? -errno : -EIO, ERR_OUTPUT, "standard output",
                         "cannot be written");
    return 0;
}

/* ---- JSON ---- */

static void json_ranks(struct jsonout *j, const struct many *m)
{
    jsonout_object(j, "ranks");
    jsonout_u64(j, "count", m->count);
    jsonout_array(j, "missing");
    for (unsigned i = 0; i < m->count; i++)
        if (!m->text[i])
            jsonout_u64(j, NULL, i);
    jsonout_end(j);
    jsonout_array(j, "list");
    for (unsigned i = 0; i < m->count; i++) {
        jsonout_object(j, NULL);
        jsonout_u64(j, "rank", i);
        jsonout_text_value(j, "host", ranks_host(m->ranks, i));
        if (m->text[i])
            jsonout_raw(j, "summary", m->text[i], strlen(m->text[i]));
        else
            jsonout_null(j, "summary");
        jsonout_end(j);
    }
    jsonout_end(j);
    jsonout_end(j);
}

static int json_all(const struct many *m, const char *path, const struct report *own, int argc,
                    char *const *argv, struct err *e)
{
    const struct account *a = &m->all;
    struct jsonout *j = jsonout_create();

    if (!j)
        return err_nomem(e, "summary");
    jsonout_identity(j, "kvprecond", argc, argv, own->started_wall_ns);
    jsonout_bool(j, "complete", a->complete);
    jsonout_u64(j, "size_bytes", a->size_bytes);
    jsonout_u64(j, "written_bytes", a->bytes);
    jsonout_u64(j, "writes", a->writes);
    jsonout_f64(j, "elapsed_s", (double)a->elapsed_ns / 1e9);
    jsonout_f64(j, "sync_s", (double)a->sync_ns / 1e9);
    jsonout_f64(j, "gib_per_s", bytes_per_s(a) / (double)UNITS_GIB);
    if (m->o->until_steady) {
        jsonout_object(j, "steady_state");
        jsonout_bool(j, "reached", a->steady);
        jsonout_end(j);
    } else {
        jsonout_null(j, "steady_state");
    }
    jsonout_text_value(j, "validity", validity_state_word(a->state));
    json_ranks(j, m);
    int rc = jsonout_save(j, path, e);
    jsonout_free(j);
    return rc;
}

/* ---- all of it ---- */

static int put_together(struct many *m, const struct report *own, int argc, char *const *argv,
                        struct err *e)
{
    int rc = read_ranks(m, e);

    if (rc == 0)
        rc = m->o->json ? json_all(m, "-", own, argc, argv, e) : text_all(m, stdout, e);
    if (rc == 0 && m->o->summary)
        rc = json_all(m, m->o->summary, own, argc, argv, e);
    return rc;
}

int many_report(struct ranks *ranks, const struct report *own, int argc, char *const *argv,
                int *status, struct err *e)
{
    struct many m = {.ranks = ranks, .o = own->o, .count = ranks_count(ranks)};
    const struct account account = account_of(own, *status);
    struct jsonout *j = report_document(own, argc, argv);
    const char *text = j ? jsonout_text(j, false) : NULL;
    int rc = ranks_gather(ranks, &account, sizeof(account), &m.accounts, &m.account_len, e);

    if (rc == 0)
        rc = ranks_gather(ranks, text, text ? strlen(text) : 0, &m.texts, &m.text_len, e);
    jsonout_free(j);
    if (rc == 0 && ranks_rank(ranks) == 0) {
        rc = put_together(&m, own, argc, argv, e);
        *status = m.all.status > *status ? m.all.status : *status;
    }
    free(m.account);
    free(m.text);
    free(m.accounts);
    free(m.texts);
    free(m.account_len);
    free(m.text_len);
    return rc;
}
