/* End of a replay: judges from the evidence which figures may be believed, and notes those that
 * cannot be the target's. The summary writes the judgement down. */
#include "kvreplay/validity.h"

#include <stdarg.h>
#include <stdio.h>

#include "kvreplay/device/origin.h"
#include "lib/base/units.h"

#define VALIDITY_NEAR_CEILING 0.7
#define VALIDITY_BEYOND       1.25  /* times what was asked, or what the kernel saw */
#define VALIDITY_KERNEL_NS    1e8   /* the kernel counts ms: less is not compared */
#define VALIDITY_FOREIGN      8e6   /* bytes; less moves no percentile */
#define VALIDITY_TABLES       4e6   /* bytes of its own that a file system writes in any run, */
#define VALIDITY_TABLE        16384 /* and for each object that is written or removed */

static void validity_why(struct validity *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void validity_why(struct validity *v, const char *format, ...)
{
    va_list args;
    v->state = VALIDITY_UNRELIABLE;
    if (v->whys == VALIDITY_TEXTS)
        return;
    va_start(args, format);
    vsnprintf(v->why[v->whys++], sizeof(v->why[0]), format, args);
    va_end(args);
}

static void validity_note(struct validity *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void validity_note(struct validity *v, const char *format, ...)
{
    va_list args;
    if (v->notes == VALIDITY_TEXTS)
        return;
    va_start(args, format);
    vsnprintf(v->note[v->notes++], sizeof(v->note[0]), format, args);
    va_end(args);
}

/* A direct run moves every byte of the application over the device. op: reads or writes. */
static void note_moved(struct validity *v, const struct evidence *ev, enum trace_op op)
{
    bool read = op == TRACE_READ;
    uint64_t asked =
        read ? ev->counts->read_bytes[TRACE_STORAGE] : ev->counts->write_bytes[TRACE_STORAGE];
    double share = evidence_moved_share(ev, op);

    if (share < 0 || share >= ORIGIN_MOVED || (ev->storage && ev->storage->keeps_cache) ||
        (double)asked < ORIGIN_ENOUGH)
        return;
    if (origin_was_reduced(ev, read ? share : evidence_moved_share(ev, TRACE_READ)))
        return;
    validity_note(v, "the device %s %.0f %% of the bytes that Tier-2 asked for; the rest %s%s",
                  read ? "read" : "wrote", 100 * share,
                  read ? "came from a cache" : "stayed in one, or was never written",
                  ev->fell_back ? "; see fallbacks" : "");
}

/* No drive is faster than its link. */
static void note_link(struct validity *v, const struct evidence *ev, enum trace_op op)
{
    struct counts_group sum;
    char rate[32], link[32];

    if (!ev->link_bytes_per_s)
        return;
    if (counts_sum(ev->counts, TRACE_STORAGE, op, &sum) < 0)
        validity_note(v, "%s",
                      "out of memory: Tier-2 was not compared with what the device's link carries");
    else if ((double)sum.bytes >= ORIGIN_ENOUGH && counts_rate(&sum) > (double)ev->link_bytes_per_s)
        validity_note(v,
                      "Tier-2 %s at %s are more than the device's link carries (%s): a cache was "
                      "measured",
                      op == TRACE_READ ? "reads" : "writes",
                      units_format_rate(rate, sizeof(rate), counts_rate(&sum)),
                      units_format_rate(link, sizeof(link), (double)ev->link_bytes_per_s));
    counts_group_release(&sum);
}

/* Who reads a time of a request must know what it holds. */
static void note_speed(struct validity *v, const struct evidence *ev)
{
    if (ev->timed && ev->speed > 0 && ev->speed != 1)
        validity_note(v,
                      "the times of the trace were divided by %g: generation and pauses are "
                      "shortened in the times of requests, storage operations are not",
                      ev->speed);
}

static void note_ceiling(struct validity *v, const struct evidence *ev)
{
    double share = evidence_of_ceiling(ev);

    if (ev->ceiling.rows_per_s <= 0)
        return;
    if (!ev->ceiling.same_host)
        validity_note(v, "the ceiling was measured on another host: not compared");
    else if (share < 0)
        validity_note(v, "the ceiling was measured with another trace, or a trace was not read to "
                         "its end: not compared");
    else if (share >= VALIDITY_NEAR_CEILING)
        validity_note(v,
                      "%.0f %% of the client's own ceiling (%.0f rows/s): this is the speed of the "
                      "client as much as of the target",
                      100 * share, ev->ceiling.rows_per_s);
}

/* Bytes of others on the devices, by what can be told from this process's own: a file system's
 * journal and tables of what was written here are its own. */
static double foreign_bytes(const struct evidence *ev)
{
    const struct counts *n = ev->counts;
    double own_tables = VALIDITY_TABLES;

    for (unsigned phase = 0; phase < COUNTS_PHASES; phase++)
        for (unsigned op = TRACE_WRITE; op <= TRACE_DELETE; op++)
            own_tables +=
                VALIDITY_TABLE * (double)n->group[counts_group_at(TRACE_STORAGE, op, phase)].ops;
    double written = (double)others_wrote(&ev->others) - own_tables;
    return (double)others_read(&ev->others) + (written > 0 && !ev->below.copies ? written : 0);
}

/* "others moved 2.10 GiB/s on the device, kvreplay 150 MiB/s" */
static const char *foreign_rates(char buf[VALIDITY_WHY_CAP], const struct evidence *ev)
{
    double s = ev->elapsed_ns > 0 ? (double)ev->elapsed_ns / 1e9 : 1;
    char a[32], b[32];

    snprintf(buf, VALIDITY_WHY_CAP, "others moved %s on the device, kvreplay %s",
             units_format_rate(a, sizeof(a), foreign_bytes(ev) / s),
             units_format_rate(b, sizeof(b), others_own(&ev->others) / s));
    return buf;
}

static bool is_shared(const struct evidence *ev)
{
    double foreign = foreign_bytes(ev);

    return ev->others.known && ev->storage && foreign >= VALIDITY_FOREIGN &&
           foreign > JUDGE_FOREIGN_SHARE * others_own(&ev->others);
}

/* Other work on the device, and more written than was asked for. */
static void note_foreign(struct validity *v, const struct evidence *ev)
{
    const struct counts *n = ev->counts;
    double asked = (double)n->read_bytes[TRACE_STORAGE] + (double)n->write_bytes[TRACE_STORAGE];
    uint64_t moved;
    bool known = machine_moved(&ev->machine_before, &ev->machine_after, &moved);
    double own = (double)moved;
    double seen = (double)(ev->after.read_bytes - ev->before.read_bytes) +
                  (double)(ev->after.write_bytes - ev->before.write_bytes);
    char a[32], b[32];

    if (known && ev->storage && asked >= ORIGIN_ENOUGH && own > VALIDITY_BEYOND * asked)
        validity_note(v,
                      "this process moved %s for the %s that Tier-2 rows asked for: whole blocks "
                      "of 4 KiB, objects made for reads, the trace and the results are in it",
                      units_format_bytes(a, sizeof(a), own),
                      units_format_bytes(b, sizeof(b), asked));
    own = known ? own : asked;
    if (ev->counted && ev->storage && seen >= ORIGIN_ENOUGH &&
        (seen > VALIDITY_BEYOND * own || is_shared(ev)))
        validity_note(
            v,
            "foreign traffic: the device moved %s, this process only %s: other programs, writes "
            "from before the run, or copies made below it (journal, RAID)",
            units_format_bytes(a, sizeof(a), seen), units_format_bytes(b, sizeof(b), own));
}

/* "12.3 %", or that it is not known. */
static const char *share_text(char buf[24], double share)
{
    snprintf(buf, 24, share < 0 ? "an unknown share" : "%.1f %%", 100 * share);
    return buf;
}

/* A run that does as an engine does: what is in its figures, and what is not. */
static void note_like(struct validity *v, const struct evidence *ev)
{
    const struct tier_info *t = ev->storage;
    const struct hist *h = ev->counts->lookup;
    double cached = evidence_cached_read_share(ev);
    char a[32], b[32], c[32];

    if (!t || !t->looks_up)
        return;
    validity_note(v, "%s",
                  "the engine's own time (Python, copies into its pool) is not in here: LMCache "
                  "0.5.6 added 15 to 30 % to loads in our measurements, and its buffered stores "
                  "took 3 times as long as here");
    if (t->keeps_cache)
        validity_note(v,
                      "page cache included: that is what %s sees; %s of the bytes read came from "
                      "the device; the cache held %s of the objects before and %s after",
                      t->engine, share_text(a, cached < 0 ? cached : 1 - cached),
                      share_text(b, ev->resident_before), share_text(c, ev->resident_share));
    if (hist_count(h) > 0)
        validity_note(v, "%llu lookups on Tier-2, apart from reads: p50 %s, p95 %s",
                      (unsigned long long)hist_count(h),
                      units_format_duration(a, sizeof(a), (double)hist_percentile(h, 500000)),
                      units_format_duration(b, sizeof(b), (double)hist_percentile(h, 950000)));
}

/* A target that is slow or full, and an uneven load. */
static void note_doors(struct validity *v, const struct evidence *ev)
{
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        struct notes found = {0};

        doors_notes(&ev->doors[i], &found);
        for (unsigned k = 0; k < found.count; k++)
            validity_note(v, "%s", found.text[k]);
    }
}

/* The process stood still: whatever the rows say of it, who reads them must know. */
static void note_stops(struct validity *v, const struct evidence *ev)
{
    int64_t longest_ns;
    uint64_t burst = 0;
    unsigned count = ev->gaps ? gap_list_stops(ev->gaps, &longest_ns) : 0;
    char a[32];

    if (count == 0)
        return;
    for (unsigned i = 0; i < COUNTS_GROUPS; i++)
        burst += ev->counts->group[i].burst;
    validity_note(v,
                  "kvreplay stood still %u time%s, for up to %s (stopped, or without a processor); "
                  "%llu row%s that %s due by then ran in a burst after it",
                  count, units_plural(count),
                  units_format_duration(a, sizeof(a), (double)longest_ns),
                  (unsigned long long)burst, units_plural(burst), burst == 1 ? "was" : "were");
}

static void note_overload(struct validity *v, const struct evidence *ev)
{
    if (ev->overloaded)
        validity_note(v,
                      "overload: %s queue faster than they are served: %.1f a second arrive, %.1f "
                      "are served, the queue grows by %.1f",
                      ev->served ? "requests" : "operations", ev->offered_per_s, ev->achieved_per_s,
                      ev->growth_per_s);
}

/* ---- figures ---- */

/* Adds what is known of the figures that f names, or makes it worse: unreliable says more than
 * unknown, and that more than good. */
static void judge_named(struct validity *v, const struct validity_figure *named)
{
    struct validity_figure *f = NULL;

    for (unsigned i = 0; i < v->figures; i++) {
        struct validity_figure *g = &v->figure[i];
        if (g->of == named->of && g->everywhere == named->everywhere && g->tier == named->tier &&
            g->op == named->op)
            f = g;
    }
    if (f && named->state <= f->state)
        return;
    if (!f && v->figures == VALIDITY_FIGURES)
        return;
    if (!f)
        f = &v->figure[v->figures++];
    *f = *named;
}

/* Likewise, of all tiers and operations. */
static void judge_figure(struct validity *v, enum validity_kind of, enum validity_state state,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));
static void judge_figure(struct validity *v, enum validity_kind of, enum validity_state state,
                         const char *format, ...)
{
    struct validity_figure f = {.of = of, .everywhere = true, .state = state};
    va_list args;

    va_start(args, format);
    vsnprintf(f.why, sizeof(f.why), format, args);
    va_end(args);
    judge_named(v, &f);
}

/* Times of rows, or of requests, as the tool's own delays lengthened them. */
static void judge_late(struct validity *v, enum validity_kind of, struct hist *const times[2])
{
    struct judge_move m = judge_moved(times[0], times[1]);
    char told[JUDGE_TOLD] = "";

    if (hist_count(times[0]) == 0)
        return;
    if (m.share >= JUDGE_SAID)
        judge_told(told, "client delay", "", &m);
    judge_figure(v, of, judge_longer(m.share), "%s", told);
}

static void judge_no_memory(struct validity *v)
{
    judge_figure(v, VALIDITY_DEVICE, VALIDITY_UNKNOWN, "out of memory: it was not judged");
    judge_figure(v, VALIDITY_SERVICE, VALIDITY_UNKNOWN, "out of memory: it was not judged");
}

/* Times of one tier and operation, as gaps lengthened them. */
static void judge_gaps(struct validity *v, const struct evidence *ev, const struct counts_group *g,
                       enum counts_held what)
{
    const struct hist *times = what == COUNTS_HELD_DEVICE ? g->device : g->service;
    enum validity_kind of = what == COUNTS_HELD_DEVICE ? VALIDITY_DEVICE : VALIDITY_SERVICE;
    char largest[32], burst[64] = "", pauses[128], place[32], told[JUDGE_TOLD];

    if (hist_count(g->held[what]) == 0)
        return;
    struct hist *without = judge_without(times, g->held[what], g->freed[what]);
    if (!without) {
        judge_no_memory(v);
        return;
    }
    struct judge_move m = judge_moved(times, without);
    if (m.share > JUDGE_MOVES) {
        struct validity_figure f = {
            .of = of, .tier = g->tier, .op = g->op, .state = VALIDITY_UNRELIABLE};
        if (g->burst)
            snprintf(burst, sizeof(burst), " and ran %llu row%s in a burst then",
                     (unsigned long long)g->burst, units_plural(g->burst));
        snprintf(
            pauses, sizeof(pauses), "kvreplay paused for up to %s%s, which",
            units_format_duration(largest, sizeof(largest), (double)gap_list_largest_ns(ev->gaps)),
            burst);
        snprintf(place, sizeof(place), "%s %s", trace_tier_text(g->tier), trace_op_text(g->op));
        snprintf(f.why, sizeof(f.why), "%s", judge_told(told, pauses, place, &m));
        judge_named(v, &f);
    }
    hist_free(without);
}

/* Sums over all rows of a tier. */
struct summed {
    double service_ns, io_ns; /* io_ns: at least one of their I/Os in flight */
};

/* The summed times of a tier, whose rows gaps may have lengthened. */
static struct summed judge_tier_gaps(struct validity *v, const struct evidence *ev, unsigned tier)
{
    struct summed times = {0};

    for (unsigned op = 0; op < COUNTS_OPS; op++) {
        struct counts_group sum;
        if (counts_sum(ev->counts, tier, op, &sum) == 0) {
            times.service_ns += hist_sum(sum.service);
            times.io_ns += hist_sum(sum.part[COUNTS_IO]);
            judge_gaps(v, ev, &sum, COUNTS_HELD_SERVICE);
            judge_gaps(v, ev, &sum, COUNTS_HELD_DEVICE);
        } else
            judge_no_memory(v);
        counts_group_release(&sum);
    }
    return times;
}

/* Service and device times of all that was moved in one tier. */
static void judge_tier(struct validity *v, const struct evidence *ev, unsigned tier,
                       enum validity_state state, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
static void judge_tier(struct validity *v, const struct evidence *ev, unsigned tier,
                       enum validity_state state, const char *format, ...)
{
    const uint64_t moved[] = {
        [TRACE_READ] = ev->counts->read_bytes[tier], [TRACE_WRITE] = ev->counts->write_bytes[tier]};
    struct validity_figure f = {.tier = tier, .state = state};
    va_list args;

    va_start(args, format);
    vsnprintf(f.why, sizeof(f.why), format, args);
    va_end(args);
    for (f.op = TRACE_READ; f.op <= TRACE_WRITE; f.op++) {
        if (moved[f.op] == 0)
            continue;
        f.of = VALIDITY_DEVICE;
        judge_named(v, &f);
        f.of = VALIDITY_SERVICE;
        judge_named(v, &f);
    }
}

/* NULL: no memory. */
static struct hist *hist_of_both(const struct hist *a, const struct hist *b)
{
    struct hist *h = hist_create();

    if (h && hist_merge(h, a) == 0 && hist_merge(h, b) == 0)
        return h;
    hist_free(h);
    return NULL;
}

/* Times of one operation of Tier-2, as rows beside others' traffic on the devices moved them. */
static void judge_beside(struct validity *v, const struct evidence *ev, enum trace_op op,
                         enum counts_held what)
{
    const struct counts_beside *b = &ev->counts->beside[op];
    const struct hist *calm = b->calm[what], *shared = b->shared[what];
    struct validity_figure f = {.of =
                                    what == COUNTS_HELD_DEVICE ? VALIDITY_DEVICE : VALIDITY_SERVICE,
                                .tier = TRACE_STORAGE,
                                .op = op,
                                .state = VALIDITY_UNRELIABLE};
    char rates[VALIDITY_WHY_CAP], place[32], told[JUDGE_TOLD];
    struct judge_move m = {0};

    if (hist_count(shared) == 0)
        return;
    foreign_rates(rates, ev);
    if (!judge_enough(hist_count(calm), judge_percentile[0].ppm)) {
        snprintf(f.why, sizeof(f.why),
                 "foreign traffic: %s; too few rows ran without it to tell what it did", rates);
        judge_named(v, &f);
        return;
    }
    struct hist *all = hist_of_both(calm, shared);
    if (all)
        m = judge_moved(all, calm);
    else
        judge_no_memory(v);
    if (m.share > JUDGE_MOVES && judge_slower(shared, calm, m.of->ppm)) {
        snprintf(place, sizeof(place), "Tier-2 %s", trace_op_text(op));
        snprintf(f.why, sizeof(f.why), "foreign traffic: %s; %s", rates,
                 judge_told(told, "it", place, &m));
        judge_named(v, &f);
    }
    hist_free(all);
}

/* Others' traffic is judged by what it did. */
static void judge_foreign(struct validity *v, const struct evidence *ev)
{
    if (!is_shared(ev))
        return;
    for (enum trace_op op = TRACE_READ; op <= TRACE_WRITE; op++)
        for (unsigned what = 0; what < COUNTS_HELD; what++)
            judge_beside(v, ev, op, what);
}

/* Sums of the times of all storage I/Os, by the kernel and by us. False: they cannot be compared;
 * with a neighbour's I/O in the kernel's sum nothing can be concluded. */
static bool io_times(const struct evidence *ev, double *own_ns, double *kernel_ns)
{
    double seen = (double)(ev->after.read_bytes - ev->before.read_bytes) +
                  (double)(ev->after.write_bytes - ev->before.write_bytes);
    double asked = (double)ev->counts->read_bytes[TRACE_STORAGE] +
                   (double)ev->counts->write_bytes[TRACE_STORAGE];

    *own_ns = (double)ev->own_io_ns;
    *kernel_ns = (double)(ev->after.queue_ms - ev->before.queue_ms) * 1e6;
    return ev->counted && ev->storage && *own_ns > 0 && *kernel_ns >= VALIDITY_KERNEL_NS &&
           seen <= 1.1 * asked && seen >= 0.9 * asked;
}

/*
 * The most that waits of the storage threads, a share of the time in which rows were there, can
 * have added to the rows' times. A wait in which I/Os were in flight delays only those that ended
 * meanwhile: it shows in their times by our clock, not in the kernel's. One outside I/O counts
 * whole.
 */
static double added_by_waits(const struct evidence *ev, const struct summed *times, double share)
{
    double own_ns, kernel_ns;

    /* The kernel's sum is the larger one where it holds a neighbour's I/O. */
    if (!io_times(ev, &own_ns, &kernel_ns) || own_ns < kernel_ns || times->service_ns <= 0)
        return share;
    double io_share = times->io_ns / times->service_ns;
    double stretch = own_ns / kernel_ns - 1;
    return share < stretch ? share : stretch * io_share + share * (1 - io_share);
}

/* The threads of a tier waited for a processor, in waits that are too short to be told row by row
 * (judge_gaps). Tiers whose threads bear one name share the doubt:
 * times are the sums of all of them. */
static void judge_delay(struct validity *v, const struct evidence *ev, unsigned tier,
                        const struct summed *times)
{
    struct gap_list_delay delay;
    double service_ns = times->service_ns > 1 ? times->service_ns : 1;
    double busy_ns = service_ns < (double)ev->elapsed_ns ? service_ns : (double)ev->elapsed_ns;

    gap_list_run_delay_of(ev->gaps, ev->loops[tier], &delay);
    double share = (double)delay.most_ns / (busy_ns > 1 ? busy_ns : 1);
    double all = (double)delay.unlisted_ns / service_ns;
    share = all > share ? all : share;
    double added = tier == TRACE_STORAGE ? added_by_waits(ev, times, share) : share;
    if (added > JUDGE_MOVES && delay.unlisted_ns >= JUDGE_DELAY_NS)
        judge_tier(v, ev, tier, VALIDITY_UNRELIABLE,
                   "CPU contention: thread %s waited for a CPU %.0f %% of the rows' time",
                   gap_list_loop_name(ev->gaps, delay.loop), 100 * (share < 1 ? share : 1));
}

/* Service and device times contain the time in which processors were away. */
static void judge_processors(struct validity *v, const struct evidence *ev)
{
    struct gap_list_delay delay;
    struct summed times[TRACE_TIERS] = {0};

    if (!ev->real_engine)
        return;
    judge_figure(v, VALIDITY_DEVICE, VALIDITY_GOOD, "%s", "");
    judge_figure(v, VALIDITY_SERVICE, VALIDITY_GOOD, "%s", "");
    for (unsigned tier = 0; tier < TRACE_TIERS; tier++)
        if (ev->real[tier])
            times[tier] = judge_tier_gaps(v, ev, tier);
    if (!ev->gaps || !gap_list_run_delay(ev->gaps, &delay)) {
        judge_figure(v, VALIDITY_DEVICE, VALIDITY_UNKNOWN,
                     "the kernel does not report how long threads waited for a CPU");
        judge_figure(v, VALIDITY_SERVICE, VALIDITY_UNKNOWN,
                     "the kernel does not report how long threads waited for a CPU");
        return;
    }
    for (unsigned tier = 0; tier < TRACE_TIERS; tier++) {
        struct summed sum = {0};
        for (unsigned other = 0; other < TRACE_TIERS; other++)
            if (ev->loops[other] == ev->loops[tier]) {
                sum.service_ns += times[other].service_ns;
                sum.io_ns += times[other].io_ns;
            }
        if (ev->real[tier])
            judge_delay(v, ev, tier, &sum);
    }
}

/* I/Os took longer by our clock than by the kernel's. */
static void judge_kernel(struct validity *v, const struct evidence *ev)
{
    double own_ns, kernel_ns;
    struct gap_list_delay delay = {0};
    char a[32], b[32];

    if (!io_times(ev, &own_ns, &kernel_ns) || own_ns < VALIDITY_BEYOND * kernel_ns)
        return;
    if (!ev->gaps || !gap_list_run_delay_of(ev->gaps, ev->loops[TRACE_STORAGE], &delay))
        return; /* not known whose fault it is */
    units_format_duration(a, sizeof(a), own_ns);
    units_format_duration(b, sizeof(b), kernel_ns);
    bool away = (double)delay.engines_ns > JUDGE_MOVES * (own_ns - kernel_ns);
    if (!away) {
        validity_note(
            v,
            "storage I/O took %s in total, %s of it in the device's queue; the rest was spent "
            "above it (throttling, file system, tags)",
            a, b);
        return;
    }
    judge_tier(
        v, ev, TRACE_STORAGE, VALIDITY_UNRELIABLE,
        "CPU contention: storage I/O took %s in total by kvreplay's clock, %s by the kernel's", a,
        b);
}

/* A tier whose times are those of a measured drive is no better than that measurement. */
static void judge_drives(struct validity *v, const struct evidence *ev)
{
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        const char *tier = trace_tier_text((enum trace_tier)i);
        int valid = ev->drive[i] ? drive_model_facts(ev->drive[i])->valid : 1;
        char why[NOTES_CAP];

        if (valid == 0) {
            drive_model_validity(ev->drive[i], why, sizeof(why));
            judge_tier(v, ev, i, VALIDITY_UNRELIABLE,
                       "%s is simulated from a measurement that is %s", tier, why);
        } else if (valid < 0)
            judge_tier(v, ev, i, VALIDITY_UNKNOWN,
                       "%s is simulated from a measurement of unknown validity", tier);
    }
}

/* Whether the run measured nothing that anyone could believe or doubt. */
static bool judge_nothing(struct validity *v, const struct evidence *ev)
{
    const struct counts *n = ev->counts;
    char took[32];

    if (ev->all_empty)
        judge_figure(v, VALIDITY_ALL, VALIDITY_UNKNOWN, "nothing was executed (empty engines)");
    else if (n->warmup_rows > 0 && n->rows - n->head_rows == n->warmup_rows)
        judge_figure(v, VALIDITY_ALL, VALIDITY_UNKNOWN,
                     "all rows started in the warm-up of %s: none is left to measure",
                     units_format_duration(took, sizeof(took), (double)ev->warmup_ns));
    else
        return false;
    return true;
}

/* A tier whose engine does nothing has no times. */
static void judge_empty(struct validity *v, const struct evidence *ev)
{
    for (unsigned i = 0; i < TRACE_TIERS; i++)
        if (ev->empty[i])
            judge_tier(v, ev, i, VALIDITY_UNKNOWN, "nothing was executed on %s (empty engine)",
                       trace_tier_text((enum trace_tier)i));
    if (ev->empty[TRACE_STORAGE])
        judge_figure(v, VALIDITY_STORAGE, VALIDITY_UNKNOWN,
                     "nothing was executed on %s (empty engine)", trace_tier_text(TRACE_STORAGE));
}

/* The effect of the page cache of a loop device's file on the run, or its possible effect. */
static bool judge_cache_below(struct validity *v, const struct evidence *ev)
{
    const struct evidence_below *below = &ev->below;
    double read = evidence_moved_share(ev, TRACE_READ);

    if (below->cache == TARGET_CACHE_ARC)
        judge_figure(v, VALIDITY_STORAGE, VALIDITY_UNKNOWN,
                     "how much the cache of zfs itself (ARC) served is not known");
    else if (below->cache == TARGET_CACHE_LOOP && read >= 0 &&
             read < (1 - JUDGE_MOVES) * evidence_reduced_to(ev))
        judge_figure(v, VALIDITY_STORAGE, VALIDITY_UNRELIABLE,
                     "%.0f %% of the bytes read came from the page cache below %s, which has no "
                     "direct I/O (losetup --direct-io=on)",
                     100 * (1 - read), below->cache_of);
    else if (below->cache == TARGET_CACHE_LOOP && ev->counts->write_bytes[TRACE_STORAGE] > 0)
        judge_figure(v, VALIDITY_STORAGE, VALIDITY_UNRELIABLE,
                     "writes went to the page cache below %s, which has no direct I/O (losetup "
                     "--direct-io=on)",
                     below->cache_of);
    else if (below->cache == TARGET_CACHE_LOOP && read < 0)
        judge_figure(v, VALIDITY_STORAGE, VALIDITY_UNKNOWN,
                     "how much came from the page cache below %s is not known", below->cache_of);
    else
        return false;
    return true;
}

/* Reads of an engine that uses the page cache: what it sees, and not the drive's. */
static void judge_kept_cache(struct validity *v, const struct evidence *ev, double cached)
{
    const char *engine = ev->storage->engine;

    if (cached > JUDGE_MOVES)
        judge_figure(v, VALIDITY_STORAGE, VALIDITY_UNRELIABLE,
                     "%.0f %% of the bytes read came from the page cache, which %s uses",
                     100 * cached, engine);
    else if (cached < 0 && ev->counts->read_bytes[TRACE_STORAGE] > 0)
        judge_figure(v, VALIDITY_STORAGE, VALIDITY_UNKNOWN,
                     "how much was read from the page cache, which %s uses, is not known", engine);
    else
        judge_figure(v, VALIDITY_STORAGE, VALIDITY_GOOD, "page cache included: %s uses it", engine);
}

static void judge_storage(struct validity *v, const struct evidence *ev)
{
    const char *name = ev->file_system[0] ? ev->file_system : "this target";
    double cached = evidence_cached_read_share(ev);
    struct origin reads;

    if (!ev->storage)
        return;
    origin_find(&reads, ev, TRACE_READ);
    if (ev->target == TARGET_MEDIUM_MEMORY)
        judge_figure(v, VALIDITY_STORAGE, VALIDITY_UNRELIABLE, "the target is memory (%s)", name);
    else if (origin_is_hidden_memory(ev))
        judge_figure(v, VALIDITY_STORAGE, VALIDITY_UNRELIABLE,
                     "the target is memory (%s): all objects are in the page cache and nothing was "
                     "read from a device",
                     name);
    else if (ev->target != TARGET_MEDIUM_NETWORK && judge_cache_below(v, ev))
        return;
    else if (ev->storage->keeps_cache && ev->target == TARGET_MEDIUM_STORAGE)
        judge_kept_cache(v, ev, cached);
    else if (cached > JUDGE_MOVES && origin_was_reduced(ev, 1 - cached))
        judge_figure(v, VALIDITY_STORAGE, VALIDITY_GOOD,
                     "the device read only %.0f %% of the bytes: a layer below compresses or "
                     "deduplicates",
                     100 * (1 - cached));
    else if (cached > JUDGE_MOVES)
        judge_figure(v, VALIDITY_STORAGE, VALIDITY_UNRELIABLE,
                     "%.0f %% of the bytes read came from a cache", 100 * cached);
    else if (ev->target != TARGET_MEDIUM_STORAGE)
        judge_figure(v, VALIDITY_STORAGE, VALIDITY_UNKNOWN, "no counters for %s", name);
    else if (cached < 0 && ev->counts->read_bytes[TRACE_STORAGE] > 0 && ev->storage->direct != 1)
        judge_figure(v, VALIDITY_STORAGE, VALIDITY_UNKNOWN,
                     "how much was read from the page cache is not known");
    else if (origin_not_device(&reads) > JUDGE_MOVES)
        judge_figure(v, VALIDITY_STORAGE, VALIDITY_UNRELIABLE,
                     "%.0f %% of the bytes read never reached the device: they came from a cache "
                     "below the file system",
                     100 * origin_not_device(&reads));
    else
        judge_figure(v, VALIDITY_STORAGE, VALIDITY_GOOD, "%s", "");
}

/* A cause that spoils all figures, or all of Tier-2, spoils the run; what is not known of the
 * target's own figures leaves it unknown. */
static void judge_run(struct validity *v)
{
    for (unsigned i = 0; i < v->whys; i++)
        judge_figure(v, VALIDITY_ALL, VALIDITY_UNRELIABLE, "%s", v->why[i]);
    for (unsigned i = 0; i < v->figures; i++) {
        const struct validity_figure *f = &v->figure[i];
        bool whole = f->of == VALIDITY_ALL || f->of == VALIDITY_STORAGE;

        if (whole && f->state == VALIDITY_UNRELIABLE && v->whys == 0)
            validity_why(v, "%.140s", f->why); /* makes it unreliable */
        else if (f->state == VALIDITY_UNKNOWN && f->of != VALIDITY_END_TO_END &&
                 v->state == VALIDITY_GOOD)
            v->state = VALIDITY_UNKNOWN;
    }
}

void validity_judge(struct validity *v, const struct evidence *ev, int64_t budget_ns)
{
    const struct counts *n = ev->counts;
    int64_t p99 = hist_percentile(n->lateness, 990000);
    char a[32], b[32];

    *v = (struct validity){.state = VALIDITY_GOOD, .budget_ns = budget_ns};
    if (ev->timed && budget_ns != VALIDITY_BUDGET_NONE && p99 > budget_ns)
        validity_why(v, "client delay p99 %s is above --config lateness_budget %s",
                     units_format_duration(a, sizeof(a), (double)p99),
                     units_format_duration(b, sizeof(b), (double)budget_ns));
    if (n->differing.corrupt)
        validity_why(v, "%llu corrupt row%s", (unsigned long long)n->differing.corrupt,
                     units_plural(n->differing.corrupt));
    if (n->failed)
        validity_why(v, "%llu failed row%s", (unsigned long long)n->failed,
                     units_plural(n->failed));
    if (n->reads_before_write)
        validity_why(v, "%llu read%s before %s write", (unsigned long long)n->reads_before_write,
                     units_plural(n->reads_before_write),
                     n->reads_before_write == 1 ? "its" : "their");
    if (ev->interrupted)
        validity_why(v, "the run was stopped before the end of the trace");
    if (n->errors)
        validity_why(v, "out of memory: the figures lack some of the rows");

    if (ev->by_keys)
        judge_figure(v, VALIDITY_END_TO_END, VALIDITY_UNKNOWN,
                     "requests are spread over the parts (--split keys)");
    if (judge_nothing(v, ev)) {
        judge_run(v);
        note_ceiling(v, ev);
        return;
    }
    judge_late(v, VALIDITY_RESPONSE, n->response);
    if (!ev->by_keys)
        judge_late(v, VALIDITY_END_TO_END, n->whole);
    judge_processors(v, ev);
    judge_kernel(v, ev);
    judge_foreign(v, ev);
    judge_storage(v, ev);
    judge_drives(v, ev);
    judge_empty(v, ev);
    judge_run(v);

    if (ev->lagged)
        validity_note(v, "%s: furthest behind %s, limit %s",
                      n->lag_late_ns > n->lag_max_ns / 2
                          ? "kvreplay was stopped or had no processor"
                          : "the target was slower than the trace",
                      units_format_duration(a, sizeof(a), (double)n->lag_max_ns),
                      units_format_duration(b, sizeof(b), (double)ev->lag_limit_ns));
    if (machine_throttled_ns(&ev->machine_before, &ev->machine_after) >= JUDGE_DELAY_NS)
        validity_note(v,
                      "the control group's CPU quota of %.3g CPUs held its processes back for %s",
                      ev->machine_before.groups.cpus,
                      units_format_duration(
                          a, sizeof(a),
                          (double)machine_throttled_ns(&ev->machine_before, &ev->machine_after)));
    note_stops(v, ev);
    note_overload(v, ev);
    note_like(v, ev);
    note_moved(v, ev, TRACE_READ);
    note_moved(v, ev, TRACE_WRITE);
    note_foreign(v, ev);
    note_doors(v, ev);
    note_link(v, ev, TRACE_READ);
    note_link(v, ev, TRACE_WRITE);
    note_speed(v, ev);
    note_ceiling(v, ev);
    if (ev->dedup_ratio > 1)
        validity_note(
            v,
            "--config dedup_ratio=%g: header checks of Tier-2 cannot tell the blocks of an "
            "object apart that are alike",
            ev->dedup_ratio);
}
