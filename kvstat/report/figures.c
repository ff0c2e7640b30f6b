/* From counts to figures: rates, shares and ratios, each as kvstat(1) defines it. What cannot be
 * known from the columns of a file stays NAN and becomes null or a dash. */
#include "kvstat/report/figures.h"

#include <math.h>

const char *const figures_lookup_names[FIGURES_LOOKUPS] = {"all",    "user", "multi_turn",
                                                           "system", "rag",  "block"};
const char *const figures_part_names[REQUEST_PARTS] = {
    "queue", "gpu", "cpu", "storage_host", "storage_device", "generation"};

bool figures_enough(uint64_t samples, uint32_t ppm)
{
    return (double)samples * (1000000.0 - ppm) >= 10e6;
}

bool figures_supported(const struct hist *h, uint32_t ppm)
{
    return figures_enough(hist_count(h), ppm);
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

static bool has(const struct figures *f, enum trace_column c)
{
    return f->scan->columns & TRACE_BIT(c);
}

static void set_lookup(struct figures *f, enum figures_lookup which, uint64_t hits, uint64_t misses,
                       bool known)
{
    f->lookup[which].known = known;
    f->lookup[which].hits = hits;
    f->lookup[which].misses = misses;
    f->lookup[which].lookups = hits + misses;
    f->lookup[which].hit_rate = known ? ratio((double)hits, (double)hits + (double)misses) : NAN;
}

static void compute_cache(struct figures *f)
{
    static const enum trace_class class_of[FIGURES_LOOKUPS] = {[FIGURES_USER] = TRACE_USER,
                                                               [FIGURES_MULTI_TURN] =
                                                                   TRACE_MULTI_TURN,
                                                               [FIGURES_SYSTEM] = TRACE_SYSTEM,
                                                               [FIGURES_RAG] = TRACE_RAG,
                                                               [FIGURES_BLOCK] = TRACE_BLOCK};
    const struct agg_totals *t = f->totals;
    uint64_t hits = 0, misses = 0;
    for (int c = 0; c <= TRACE_NO_CLASS; c++) {
        hits += t->hits[c];
        misses += t->misses[c];
    }
    /* A file of the core columns alone has no Miss rows: its reads say nothing about misses. */
    set_lookup(f, FIGURES_ALL, hits, misses, f->scan->columns & TRACE_EXTENDED);
    for (unsigned i = FIGURES_USER; i < FIGURES_LOOKUPS; i++)
        set_lookup(f, i, t->hits[class_of[i]], t->misses[class_of[i]], has(f, TRACE_COL_CLASS));
    f->read_write_ratio = ratio((double)t->read_bytes, (double)t->write_bytes);
    if (has(f, TRACE_COL_TOKENS) && t->reads_without_tokens == 0)
        f->read_amplification = ratio((double)t->read_tokens, f->generated_tokens);
}

static void compute_throughput(struct figures *f)
{
    const struct agg_totals *t = f->totals;
    double tier2 = (double)t->tier2_tokens;
    if (t->generate_rows > 0 && has(f, TRACE_COL_TOKENS))
        f->generated_tokens = (double)t->generated_tokens;
    f->generated_tokens_per_s = ratio(f->generated_tokens, f->elapsed_s);
    f->bytes_per_s = ratio((double)t->read_bytes + (double)t->write_bytes, f->elapsed_s);
    f->ops_per_s = ratio((double)t->io_ops, f->elapsed_s);
    if (f->result && has(f, TRACE_COL_REQUEST)) {
        f->busy_s = (double)t->busy_ns / 1e9;
        f->storage_tokens_per_s = ratio(f->generated_tokens, f->busy_s);
    }
    if (t->tier2_bare_bytes > 0) {
        /* Sizes are those of one rank. */
        double ranks = f->run->tensor_parallel > 0 ? (double)f->run->tensor_parallel : 1;
        tier2 += f->run->bytes_per_token > 0
                     ? (double)t->tier2_bare_bytes * ranks / (double)f->run->bytes_per_token
                     : NAN;
    }
    f->tier2_tokens_per_s = ratio(tier2, f->elapsed_s);
}

/* Requests of a file cut into parts are counted more than once, which no mean survives. */
static void compute_token_means(struct figures *f)
{
    const struct agg_totals *t = f->totals;
    f->context_tokens_mean = f->generated_tokens_mean = NAN;
    if (!has(f, TRACE_COL_TOKENS) || f->requests->cut > 0)
        return;
    f->context_tokens_mean =
        t->context_tokens > 0 ? ratio((double)t->context_tokens, (double)f->requests->count) : NAN;
    f->generated_tokens_mean = ratio((double)t->generated_tokens, (double)t->generate_rows);
}

static void compute_tier(struct figures *f, enum trace_tier tier)
{
    const struct groups *g = agg_by_tier_op(f->scan->agg);
    const struct group *read = groups_find(g, (uint8_t)tier, TRACE_READ);
    const struct group *write = groups_find(g, (uint8_t)tier, TRACE_WRITE);
    const struct group *del = groups_find(g, (uint8_t)tier, TRACE_DELETE);
    f->tier[tier].used = read || write || del || f->scan->occupancy.tier[tier].peak_objects > 0;
    f->tier[tier].capacity_bytes =
        f->run->capacity_bytes[tier] > 0 ? (double)f->run->capacity_bytes[tier] : NAN;
    f->tier[tier].read_ops = read ? read->ops - read->failed : 0;
    f->tier[tier].read_bytes = read ? read->bytes : 0;
    f->tier[tier].write_ops = write ? write->ops - write->failed : 0;
    f->tier[tier].write_bytes = write ? write->bytes : 0;
    f->tier[tier].delete_ops = del ? del->ops - del->failed : 0;
    f->tier[tier].final_bytes = f->tier[tier].final_objects = NAN;
    if (f->scan->files == 1) {
        f->tier[tier].final_bytes = (double)f->scan->occupancy.tier[tier].bytes;
        f->tier[tier].final_objects = (double)f->scan->occupancy.tier[tier].objects;
    }
}

static bool part_known(const struct figures *f, enum request_part p)
{
    if (p == REQUEST_PART_QUEUE)
        return f->requests->with_arrival > 0;
    if (p == REQUEST_PART_GENERATION)
        return f->requests->metric[REQUESTS_GENERATION] != NULL;
    return f->result && f->requests->metric[REQUESTS_STORAGE] != NULL;
}

static void compute_bottleneck(struct figures *f)
{
    f->bottleneck = -1;
    for (unsigned p = 0; p < REQUEST_PARTS; p++) {
        f->part_share[p] = NAN;
        if (part_known(f, p))
            f->part_share[p] = ratio(f->requests->part_ns[p], f->requests->end_to_end_ns);
        if (f->part_share[p] > 0 &&
            (f->bottleneck < 0 || f->part_share[p] > f->part_share[f->bottleneck]))
            f->bottleneck = (int)p;
    }
}

void figures_compute(struct figures *f, const char *const *files, size_t file_count,
                     const struct scan *scan, const struct run *run,
                     const struct figures_targets targets[TRACE_QOSES])
{
    *f = (struct figures){.files = files,
                          .file_count = file_count,
                          .scan = scan,
                          .totals = agg_totals(scan->agg),
                          .requests = requests_totals(scan->requests),
                          .run = run,
                          .result = agg_result(scan->agg),
                          .generated_tokens = NAN,
                          .storage_tokens_per_s = NAN,
                          .busy_s = NAN,
                          .read_amplification = NAN};
    for (unsigned q = 0; q < TRACE_QOSES; q++)
        f->targets[q] = targets[q];
    f->requests_known = f->requests->count > 0;
    f->elapsed_s = (double)f->totals->elapsed_ns / 1e9;
    compute_throughput(f);
    compute_cache(f);
    compute_token_means(f);
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        compute_tier(f, t);
    compute_bottleneck(f);
}

double figures_gib_per_s(const struct figures *f, const struct group *g, unsigned by)
{
    const unsigned both = GROUPS_TIER | GROUPS_OP;
    double seconds = (double)g->span_ns / 1e9;
    if (!f->result) {
        seconds = f->elapsed_s;
    } else if ((by & both) == both) {
        const struct group *whole =
            groups_find(agg_by_tier_op(f->scan->agg), g->key.tier, g->key.op);
        seconds = whole ? (double)whole->span_ns / 1e9 : seconds;
    }
    return g->moved ? ratio((double)g->moved / (double)((uint64_t)1 << 30), seconds) : NAN;
}
