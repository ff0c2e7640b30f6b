/* The sequence of a replay: open the trace, survey it, open the tiers, populate them, run, report,
 * close. Decides which failure becomes which exit status; the parts only return errors. */
#include "kvreplay/run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/json/jsonin.h"
#include "lib/opt/opt.h"
#include "lib/opt/rows.h"

enum {
    WINDOW_ASAP = 8192,
    WINDOW_TIMED = 65536,
    /* --config admit=qos looks for requests that may overtake in as many rows as 256 MiB hold: a
     * row with its part of all tables takes less than 1.5 KiB (192 MiB), and long texts 64 MiB. One
     * copy can be held by fewer rows than 131,072 (objects_hold). */
    WINDOW_BY_CLASS = 131072 - READER_BATCH,
    /* Limits of a trace: as many as kvgen takes. */
    ENGINES_MOST = 4096,
    ENGINE_THREADS_MOST = 65536
};

/* ---- a store that all ranks share ---- */

/* Rank 0's, which the others work with. */
struct shared_store {
    bool open;
    uint64_t data_seed;
    bool kept[TRACE_TIERS], unsure[TRACE_TIERS];
};

static bool replay_shares(const struct replay *r)
{
    return r->in->rank && r->o->shared_target;
}

static int replay_open_tiers(struct replay *r, struct err *e);

/* Rank 0 takes the store before the others join it. Each of them adopts and populates its own. */
static int replay_open_shared(struct replay *r, struct err *e)
{
    struct ranks *ranks = r->in->rank->ranks;
    bool first = r->o->part.rank == 0;
    struct shared_store s = {0};

    int rc = first ? replay_open_tiers(r, e) : 0;
    s.open = rc == 0;
    s.data_seed = r->data_seed;
    memcpy(s.kept, r->tiers.kept, sizeof(s.kept));
    memcpy(s.unsure, r->tiers.unsure, sizeof(s.unsure));
    int heard = ranks_spread(ranks, &s, sizeof(s), rc ? NULL : e);
    if (rc == 0)
        rc = heard;
    if (rc < 0 || first)
        return rc;
    if (!s.open) /* rank 0 says why, which goes before this */
        return err_set(e, -ECANCELED, ERR_TARGET, "", "rank 0 has not taken the store");
    r->data_seed = s.data_seed;
    memcpy(r->tiers.kept, s.kept, sizeof(s.kept));
    memcpy(r->tiers.unsure, s.unsure, sizeof(s.unsure));
    return replay_open_tiers(r, e);
}

/* Rank 0 waits until the others have left the store. False: one of them may still be at work there.
 */
static bool replay_is_last(const struct replay *r)
{
    struct ranks *ranks = r->in->rank->ranks;
    unsigned lost = 1;
    struct err e = {0};
    int rc = ranks_agree(ranks, 0, &e);

    while (lost < r->o->part.count && !ranks_lost(ranks, lost))
        lost++;
    if (lost < r->o->part.count)
        fprintf(stderr,
                "kvreplay%s: --shared-target: rank %u on %s may still be at work there, so nothing "
                "was removed; the next run clears it\n",
                ranks_suffix(), lost, ranks_host(ranks, lost));
    else if (rc < 0)
        fprintf(stderr, "kvreplay%s: --shared-target: %s: %s, so nothing was removed\n",
                ranks_suffix(), e.where, e.what);
    return rc == 0 && lost == r->o->part.count;
}

/* The others have nothing to clean up: rank 0 waits for their word. */
static void replay_leave_shared(const struct replay *r)
{
    struct err e = {0};
    int rc = 0;

    if (r->tiers_stuck)
        rc = err_set(&e, -EBUSY, ERR_TARGET, "", "operations are still under way");
    else if (r->tiers.torn && r->o->keep) /* a marker that says "runs" makes the next run look */
        rc = err_set(&e, -EIO, ERR_TARGET, "", "a failed write may have left a part of its object");

    (void)ranks_agree(r->in->rank->ranks, rc, &e); /* what became of rank 0, the results tell */
}

/* Closes the tiers, and leaves what is kept, or nothing. A target that is still at work stays as it
 * is, for the next run to clear. */
static int replay_close_tiers(struct replay *r, bool ran, struct err *e)
{
    bool shared = replay_shares(r) && r->in->rank->started, first = r->o->part.rank == 0;
    int rc = 0;

    for (unsigned i = 0; r->tiers_stuck && i < r->tiers.storages; i++)
        fprintf(stderr, "kvreplay%s: %s: operations are still under way, so nothing was removed\n",
                ranks_suffix(), r->tiers.storage[i].path);
    if (shared && first && !replay_is_last(r))
        r->tiers_stuck = true;
    if (!r->tiers_stuck) {
        if (ran)
            tiers_keep(&r->tiers, r->o->keep);
        rc = tiers_close(&r->tiers, ran, r->o->keep, r->objects, e);
    }
    if (shared && !first)
        replay_leave_shared(r);
    return rc;
}

/* ---- the trace ---- */

/* Takes what a replay needs from the start, and opens the trace. */
static int replay_open(struct replay *r, struct err *e)
{
    const struct options *o = r->o;
    uint32_t timed = TRACE_BIT(TRACE_COL_QOS), served = TRACE_BIT(TRACE_COL_TOKENS);
    struct trace_read_opts t = {.want = TRACE_CORE | TRACE_BIT(TRACE_COL_REQUEST) |
                                        TRACE_BIT(TRACE_COL_CLASS) | TRACE_BIT(TRACE_COL_DURATION) |
                                        TRACE_BIT(TRACE_COL_ARRIVAL) | TRACE_BIT(TRACE_COL_USER) |
                                        (o->timing != SCHED_ASAP ? timed : 0) |
                                        (o->timing == SCHED_SERVED ? served : 0),
                                .want_line = true,
                                .skip_bad_rows = o->skip_bad_rows,
                                .long_window = o->long_window,
                                .want_digest = true};

    r->bell = bell_create();
    r->objects = objects_create();
    r->progress =
        progress_open(stderr, options_program(), (enum progress_mode)o->progress, UNITS_NS_PER_S);
    if (!r->bell || !r->objects || !r->progress || counts_init(&r->counts) < 0)
        return err_nomem(e, "replay");
    if (o->on_full == OPTIONS_FULL_EVICT)
        objects_keep_links(r->objects);
    r->progress_line.progress = r->progress;
    r->select = (struct selection){
        .limit = o->limit,
        .loops = o->loops,
        .users = o->only_users,
        .parts = o->split == SPLIT_KEYS ? o->part.count : 0,
        .part = o->part.rank,
        .salt = replay_shares(r) && o->split == SPLIT_NONE ? (uint64_t)o->part.rank + 1 : 0,
        .only_tier =
            o->only_tier == ONLY_ALL ? SELECTION_ALL_TIERS : (int)o->only_tier - ONLY_TIER_0};
    int rc = selection_parse_map(&r->select, &o->tier_map, e);
    if (rc < 0)
        return rc;
    rc = tiers_parse(&r->tiers, &o->tier_engine, e);
    if (rc < 0)
        return rc;
    if (o->ceiling && (rc = evidence_load_ceiling(&r->evidence, o->ceiling, e)) < 0)
        return rc;
    return trace_open(&r->trace, r->in->trace, &t, e);
}

/* Refuses options that need columns which the trace does not have; settles --order auto. */
static int replay_check_columns(struct replay *r, struct err *e)
{
    struct options *o = r->o;
    bool requests = trace_columns(r->trace) & TRACE_BIT(TRACE_COL_REQUEST);
    bool users = trace_columns(r->trace) & TRACE_BIT(TRACE_COL_USER);

    const struct opt_parser *p = r->in->parser;
    if (o->timing == SCHED_CLOSED && !users)
        return err_set(e, -EINVAL, ERR_INPUT, "--timing closed", "the trace has no column User");
    if (o->only_users && !users &&
        opt_refuse(p, "only-users", "the trace has no column User", e) < 0)
        return -EINVAL;
    if (o->timing == SCHED_SERVED && !requests)
        return err_set(e, -EINVAL, ERR_INPUT, "--timing served", "the trace has no column Request");
    if (o->order == ORDER_REQUEST && !requests)
        return err_set(e, -EINVAL, ERR_INPUT, "--order request", "the trace has no column Request");
    bool classes = trace_columns(r->trace) & TRACE_BIT(TRACE_COL_QOS);
    if (o->admit == ADMIT_QOS && !classes)
        if (opt_refuse(p, "admit", "qos needs the column QoS, which the trace has not", e) < 0)
            return -EINVAL;
    r->by_class = o->timing == SCHED_SERVED && o->admit != ADMIT_FIFO && classes;
    r->window = !r->timed ? WINDOW_ASAP : r->by_class ? WINDOW_BY_CLASS : WINDOW_TIMED;
    if (o->order == ORDER_AUTO)
        o->order = requests ? ORDER_REQUEST : ORDER_KEY;
    if (o->loops > 1 && !trace_can_rewind(r->trace))
        return err_set(e, -EINVAL, ERR_INPUT, "--config loops",
                       "the trace is not a regular file, so it can be read only once");
    return 0;
}

/* A trace of recorded events lacks what engines do not tell: it is said, and what needs it refused.
 */
static int replay_check_recording(const struct replay *r, struct err *e)
{
    const char *provenance = trace_provenance(r->trace);
    struct jsonin *doc;
    bool writes_only = false, times = true;

    if (!provenance || jsonin_parse(&doc, provenance, strlen(provenance), "", NULL) < 0)
        return 0;
    const struct jsonin_v *recording = jsonin_get(jsonin_root(doc), "recording");
    jsonin_bool(jsonin_get(recording, "writes_only"), &writes_only);
    jsonin_bool(jsonin_get(recording, "times"), &times);
    jsonin_free(doc);
    if (!times && r->o->timing == SCHED_TRACE)
        return err_set(e, -EINVAL, ERR_INPUT, "--timing trace",
                       "the recording has no times, only the order of rows (--timing asap)");
    if (writes_only && !r->in->silent)
        fprintf(stderr,
                "kvreplay%s: %s: recorded events, writes only: what the engine read is not in "
                "the trace\n",
                ranks_suffix(), r->in->trace);
    return 0;
}

/* Which target holds which objects: the survey needs to know. */
static int replay_divide(struct replay *r, struct err *e)
{
    const struct options *o = r->o;

    r->targets = (struct storage_list){
        .path = o->path, .count = o->null ? 0 : o->paths, .spread = o->spread};
    return storage_divide(&r->targets, o->destroy_data, r->part, e);
}

/* A whole number from 1 to most; 0: there is none. */
static uint32_t provenance_count(const struct jsonin_v *v, const char *name, uint32_t most)
{
    uint64_t n;

    return jsonin_u64(jsonin_get(v, name), &n) < 0 || n > most ? 0 : (uint32_t)n;
}

/* Whether the trace is of engines that serve steps, and how many files each moves at once. */
static void read_engines(struct replay *r)
{
    const char *provenance = trace_provenance(r->trace);
    struct jsonin *doc;

    if (!provenance || jsonin_parse(&doc, provenance, strlen(provenance), "", NULL) < 0)
        return;
    const struct jsonin_v *compute = jsonin_get(jsonin_root(doc), "compute");
    const struct jsonin_v *settings = jsonin_get(jsonin_root(doc), "cache.settings");
    jsonin_bool(jsonin_get(compute, "steps"), &r->steps);
    if (r->steps && r->o->timing == SCHED_SERVED)
        r->threads = (struct threads_opts){
            .engines = provenance_count(compute, "engines", ENGINES_MOST),
            .reads = provenance_count(settings, "read_threads", ENGINE_THREADS_MOST),
            .writes = provenance_count(settings, "write_threads", ENGINE_THREADS_MOST)};
    jsonin_free(doc);
}

/* Rows inside, of a trace whose rows were counted: no memory for more than there are, and for the
 * batches of free rows that reader and scheduler may hold, so that the reader never waits. */
static size_t replay_window(const struct replay *r)
{
    uint64_t batches = r->survey.rows / READER_BATCH + 4;

    if (r->o->loops > 1) /* the survey may have seen one */
        return r->window;
    return batches < r->window / READER_BATCH ? batches * READER_BATCH : r->window;
}

/* Without effect on a trace that can be read once only. */
static int replay_survey(struct replay *r, struct err *e)
{
    const struct options *o = r->o;
    struct survey_opts s = {.select = r->select,
                            .create = o->on_absent == LEDGER_ABSENT_CREATE,
                            .progress = r->progress,
                            .until_ns = INT64_MAX,
                            .part = r->part,
                            .targets = r->targets.count > 1 ? r->targets.count : 0,
                            .arrivals = o->timing == SCHED_SERVED,
                            .look_ahead = r->by_class ? WINDOW_BY_CLASS : WINDOW_TIMED};

    r->progress_line.total_ns = r->timed ? o->duration_ns : 0;
    if (!trace_can_rewind(r->trace))
        return 0;
    if (r->timed && o->duration_ns)
        s.until_ns = (int64_t)fmin((double)o->duration_ns * o->speed, 4e18);
    int rc = survey_run(&r->survey, r->trace, &s, e);
    if (rc < 0 && rc != -EBADMSG)
        return rc;
    if (r->in->rank)
        replay_hash_trace(r);
    *e = (struct err){0}; /* a cut file is reported when the run comes to the cut */
    r->surveyed = true;
    r->window = replay_window(r);
    r->progress_line.total_rows = r->survey.run_rows;
    if (o->timing == SCHED_TRACE)
        r->progress_line.total_ns =
            (int64_t)fmin((double)r->survey.span_ns * (double)o->loops / o->speed,
                          o->duration_ns ? (double)o->duration_ns : 9e18);
    return trace_rewind(r->trace, e);
}

/* ---- the tiers ---- */

/* The data seed decides the first generation, and generations decide the contents and stand in the
 * header of each block. So they do not repeat over runs either, unless a seed does. */
static uint64_t replay_first_generation(const struct replay *r)
{
    return (hash_mix(r->data_seed) >> 2) + 1;
}

/* How many rows more than those in flight are inside: they are opened, verified and closed while
 * the drive works on the others. Half as many run out on a busy host. Where rows have times, these
 * say how many there are; one at a time stays one. */
static unsigned replay_ahead(const struct options *o)
{
    return o->timing == SCHED_ASAP && o->inflight > 1 ? (unsigned)o->inflight : 0;
}

static void replay_set_tiers(struct replay *r)
{
    const struct options *o = r->o;
    const struct uri *uri = &o->target[TRACE_STORAGE];
    enum io_pages pages = uri->pages == URI_PAGES_SMALL ? IO_PAGES_SMALL : IO_PAGES_HUGE;
    bool like = uri->like != URI_LIKE_KVTRACE;

    r->tiers.surveyed = r->surveyed ? &r->survey : NULL;
    r->tiers.o =
        (struct tiers_opts){.null = o->null,
                            .gpu = o->gpu,
                            .gib = {o->gpu_mem_gb, o->cpu_mem_gb, o->storage_gb},
                            .overflow = o->overflow,
                            .sim_gpu_bytes_per_s = o->gpu_bandwidth,
                            .sim_gpu_latency_ns = o->gpu_latency_ns,
                            .inflight = o->inflight,
                            .ahead = replay_ahead(o),
                            .evicts = o->on_full == OPTIONS_FULL_EVICT,
                            .any_order = o->timing == SCHED_SERVED,
                            .chunk_bytes = o->chunk_bytes,
                            .targets = r->targets,
                            .part = r->part,
                            .others = r->in->rank ? r->others : NULL,
                            .storage = {.layout = o->layout,
                                        .destroy_data = o->destroy_data,
                                        .keep = o->keep,
                                        .shared = o->shared_target,
                                        .joins = o->shared_target && o->part.rank > 0,
                                        .data_seed = r->data_seed,
                                        .buffered = o->buffered,
                                        .files_only = like,
                                        .bytes = (uint64_t)(o->storage_gb * (double)UNITS_GIB),
                                        .evicts = o->on_full == OPTIONS_FULL_EVICT,
                                        .reserve = o->reserve_share,
                                        .inflight = o->inflight},
                            .like = like ? uri : NULL,
                            .timeout_ns = o->timeout_ns,
                            .retries = (unsigned)o->retries,
                            .io = o->ioengine,
                            .iodepth = options_iodepth(o),
                            .rings = (unsigned)o->rings,
                            .sqpoll = o->sqpoll,
                            .iopoll = o->iopoll,
                            .sync_objects = o->sync == STORAGE_SYNC_OBJECT,
                            .pages = pages,
                            .compress_ratio = o->compress_ratio,
                            .dedup_ratio = o->dedup_ratio,
                            .first_generation = replay_first_generation(r),
                            .rank = o->part.rank};
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        if (o->has_target[i] && o->target[i].scheme != URI_PATH)
            r->tiers.o.remote[i] = &o->target[i];
    }
}

/* The folders above those of the parts of a run. */
static int replay_make_parents(const struct replay *r, struct err *e)
{
    int rc = 0;

    for (unsigned i = 0; rc == 0 && i < r->targets.count; i++)
        rc = part_make_parent(r->targets.path[i], e);
    return rc;
}

/* Opens the tiers, adopts what an earlier run left, and checks that the rest has room. */
static int replay_open_tiers(struct replay *r, struct err *e)
{
    uint64_t writes = r->o->inflight;
    int rc;

    if (r->data_seed == 0) /* else that of a shared store */
        r->data_seed = r->o->data_seed ? r->o->data_seed : data_random_seed();
    replay_set_tiers(r);
    r->tiers.gaps = gap_list_create(e);
    if (!r->tiers.gaps)
        return e->code;
    rc = tiers_choose(&r->tiers, e);
    if (rc < 0)
        return rc;
    rc = tiers_size(&r->tiers, trace_provenance(r->trace), e);
    if (rc < 0)
        return rc;
    if (r->o->part.on && !r->o->shared_target &&
        r->tiers.choice[TRACE_STORAGE].kind == TIERS_STORAGE)
        rc = replay_make_parents(r, e);
    if (rc == 0)
        rc = tiers_open(&r->tiers, r->bell, e);
    if (rc < 0)
        return rc;
    if (r->o->max_writes && r->o->max_writes < writes)
        writes = r->o->max_writes;
    r->populate = (struct populate){.survey = &r->survey,
                                    .tiers = &r->tiers,
                                    .objects = r->objects,
                                    .progress = r->progress,
                                    .bell = r->bell,
                                    .inflight = (unsigned)writes,
                                    .generation = replay_first_generation(r)};
    if (r->surveyed && (rc = populate_adopt(&r->populate, e)) < 0)
        return rc;
    tiers_settle(&r->tiers);
    return tiers_storage_room(&r->tiers, e);
}

static int replay_populate(struct replay *r, struct err *e)
{
    int rc = 0;

    if (r->surveyed && r->o->on_absent == LEDGER_ABSENT_CREATE)
        rc = populate_write(&r->populate, e);
    r->tiers_stuck = r->populate.stuck;
    if (rc == 0 && r->surveyed && r->survey.changes[TRACE_STORAGE])
        rc = tiers_storage_begin(&r->tiers, e);
    survey_release(&r->survey);
    return rc;
}

/* ---- the run ---- */

static int replay_open_results(struct replay *r, struct err *e)
{
    const struct options *o = r->o;
    uint32_t told = 0; /* columns of some results only */
    const char *spool = r->in->rank ? r->in->rank->spool : NULL;
    const char *results = spool ? spool : r->in->results ? r->in->results : options_results(o);
    const char *path = r->in->silent ? NULL : results;
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        if (o->has_target[i] && o->target[i].scheme == URI_S3)
            told |= TRACE_BIT(TRACE_COL_FIRST_BYTE);
        if (r->tiers.doors[i] > 1)
            told |= TRACE_BIT(TRACE_COL_ENDPOINT);
    }
    if (o->part.on)
        told |= TRACE_BIT(TRACE_COL_RANK);
    struct results_late late;
    bool asks = drive_times_late(r->drive_times, &late);
    if (asks)
        told |= TRACE_BIT(TRACE_COL_QUEUE) | TRACE_BIT(TRACE_COL_DRIVE);
    struct trace_str header = trace_header(r->trace);
    struct trace_write_opts w = {.columns = TRACE_RESULT | TRACE_BIT(TRACE_COL_SLOT) | told,
                                 .header = header.p,
                                 .header_len = header.len,
                                 .zstd = o->zstd ? 1 : -1,
                                 .level = (int)o->level,
                                 .one_frame = o->frames == OPT_FRAMES_ONE && !spool,
                                 .threads = (unsigned)o->threads,
                                 .provenance = trace_provenance(r->trace),
                                 .notes = o->notes ? "kvreplay" : NULL};
    const struct opt_mode no_rows = {
        .on = true,
        .refuses = OPTIONS_ROWS_ONLY,
        .why = "standard output is a terminal: there are no result rows without -o"};
    int rc = 0;

    if (!path && !r->in->silent)
        rc = opt_check_modes(r->in->parser, &no_rows, 1, e);
    else if (path)
        rc = trace_create(&r->writer, path, &w, e);
    if (rc == 0)
        rc = results_open(&r->results, r->writer, o->part.on ? (int64_t)o->part.rank : TRACE_NONE,
                          e);
    if (rc == 0 && asks)
        results_wait_for(r->results, &late);
    for (unsigned i = 0; rc == 0 && i < TRACE_TIERS; i++) {
        results_doors(r->results, i, r->tiers.door[i], r->tiers.doors[i]);
        if (counts_doors(&r->counts, i, r->tiers.doors[i]) < 0)
            rc = err_nomem(e, "figures");
    }
    if (rc == 0)
        /* The header: a run that is killed while it populates is told. */
        results_flush(r->results, clock_now_ns());
    return rc;
}

/* The rows of the head are done. */
static int replay_start(void *ctx, bool stopping, int64_t *zero_ns, struct err *e)
{
    struct replay *r = ctx;
    const char *doubt;

    if (r->in->rank)
        return replay_start_with_others(r, stopping, zero_ns, e);
    if (!r->o->start_wall_ns || stopping)
        return 0;
    start_clock_read(&r->start.clock);
    doubt = start_clock_doubt(&r->start.clock);
    if (doubt && r->o->part.on && r->o->part.count > 1) {
        progress_clear(r->progress);
        fprintf(stderr, "kvreplay%s: --start-at: %s%s%s: parts on several hosts may start apart\n",
                ranks_suffix(), r->o->part.host, ": ", doubt);
    }
    return start_wait(r->o->start_wall_ns, zero_ns, &r->start.late_ns, e);
}

/* The clock has started. */
static void replay_began(void *ctx, int64_t zero_ns)
{
    struct replay *r = ctx;
    r->start.wall_ns = clock_wall_ns() - (clock_now_ns() - zero_ns);
    gap_list_begin(r->tiers.gaps);
    tiers_began(&r->tiers);
    progress_line_began(&r->progress_line, zero_ns);
}

static void replay_look_at_others(struct replay *r, int64_t now_ns, bool always)
{
    bool foreign;

    if (others_look(&r->evidence.others, now_ns, always, &foreign))
        counts_beside_ended(&r->counts, now_ns, foreign);
}

static void replay_tick(void *ctx, struct sched *s)
{
    struct replay *r = ctx;
    bool load = r->timed && r->o->timing != SCHED_CLOSED;
    int64_t now = clock_now_ns();
    bool sample = load && backlog_due(&r->backlog, now),
         show = progress_line_due(&r->progress_line);
    size_t in_flight, waiting;

    results_flush(r->results, now);
    replay_listen(r, s, now);
    replay_look_at_others(r, now, false);
    if (!sample && !show)
        return;
    sched_queue(s, &in_flight, &waiting);
    if (sample && sched_expects(s))
        backlog_add(&r->backlog, now, waiting + (r->o->timing == SCHED_TRACE ? in_flight : 0));
    if (show)
        progress_line_show(&r->progress_line, &r->counts, in_flight, waiting);
}

static uint64_t replay_target_free(void *ctx, const struct row *row)
{
    const struct replay *r = ctx;

    return row->t.tier == TRACE_STORAGE ? tiers_storage_free(&r->tiers, row->door) : UINT64_MAX;
}

static void replay_set_ledger(struct replay *r)
{
    const struct options *o = r->o;

    r->ledger =
        (struct ledger){.counts = &r->counts,
                        .results = r->results,
                        .progress = r->progress,
                        .room = r->tiers.room,
                        .verifies = o->verify != TIER_VERIFY_NONE ? r->tiers.verifies : NULL,
                        .target_free = replay_target_free,
                        .ctx = r,
                        .on_absent = o->on_absent,
                        .on_error = o->on_error,
                        .on_lag = o->on_lag,
                        .lag_limit_ns = o->timing == SCHED_TRACE ? o->lag_limit_ns : INT64_MAX};
}

static int replay_schedule(struct replay *r, struct reader *reader, struct err *e)
{
    const struct options *o = r->o;
    struct sched_opts so = {.clock = clock_real(),
                            .timing = (enum sched_timing)o->timing,
                            .workers = (unsigned)o->workers,
                            .admit = r->by_class ? ADMISSION_QOS : ADMISSION_FIFO,
                            .speed = o->speed,
                            .order = o->order,
                            .inflight = (unsigned)o->inflight,
                            .ahead = r->tiers.takes_slots[TRACE_STORAGE] ? replay_ahead(o) : 0,
                            .loads_first = o->priority == PRIORITY_LOADS,
                            .max_writes = (unsigned)o->max_writes,
                            .wants_where = r->drive_times && !drive_times_why(r->drive_times)[0],
                            .window = r->window,
                            .verify = o->verify,
                            .create = !r->surveyed && o->on_absent == LEDGER_ABSENT_CREATE,
                            .steps = r->steps,
                            .threads = r->threads,
                            .duration_ns = o->duration_ns,
                            .warmup_ns = o->warmup_ns,
                            .spin_ns = o->spin_ns,
                            .evict = r->tiers.room[TRACE_STORAGE].open,
                            .lookups = r->tiers.info[TRACE_STORAGE].looks_up,
                            .engine_threads = tiers_threads(&r->tiers),
                            .first_generation = r->populate.generation,
                            .gaps = r->tiers.gaps,
                            .start = replay_start,
                            .tick_ns =
                                UNITS_NS_PER_S, /* to look at other ranks, and for a lost store */
                            .began = replay_began,
                            .tick = replay_tick,
                            .ctx = r};
    struct sched_env env = {.reader = reader,
                            .objects = r->objects,
                            .room = r->tiers.room,
                            .tier = r->tiers.tier,
                            .verifies = r->tiers.verifies,
                            .takes_slots = r->tiers.takes_slots,
                            .ledger = &r->ledger,
                            .bell = r->bell};
    struct sched *s = NULL;

    replay_set_ledger(r);
    int rc = sched_create(&s, &so, &env, e);
    if (rc == 0)
        rc = sched_run(s, &r->outcome, e);
    if (!r->outcome.stuck)
        sched_free(s);
    return rc;
}

/* Looks up the kind of each target, and how much of it lies in the page cache. */
static struct evidence_targets replay_look_at_targets(const struct replay *r)
{
    struct evidence_targets seen = {0};

    for (unsigned i = 0; i < r->tiers.storages; i++)
        evidence_add_target(&seen, r->tiers.storage[i].fd, &r->tiers.storage[i].device);
    return seen;
}

/* The NUMA node of all threads of the targets; negative: they may run on any, or are on several. */
static int node_of_threads(const struct tiers *t)
{
    int node = t->storages > 0 ? t->storage[0].node : -1;

    for (unsigned i = 1; i < t->storages; i++)
        node = t->storage[i].node == node ? node : -1;
    return node;
}

/* Between populating and the run: nothing that reads find is to lie in a cache. */
static void replay_make_cold(struct replay *r)
{
    const struct target_device *device[SPREAD_MAX];
    int target[SPREAD_MAX];

    r->evidence.cold.asked = r->o->cold;
    if (!r->o->cold)
        return;
    for (unsigned i = 0; i < r->tiers.storages; i++) {
        target[i] = r->tiers.storage[i].fd;
        device[i] = &r->tiers.storage[i].device;
    }
    cold_make(&r->evidence.cold, target, device, r->tiers.storages);
}

/* Opens the source of the drive's own times. If they cannot be had, the reason is told before the
 * run, too. */
static int replay_open_drive_times(struct replay *r, struct err *e)
{
    const struct target_device *device[SPREAD_MAX];
    unsigned devices = tiers_devices(&r->tiers, device);
    int rc = drive_times_open(&r->drive_times, r->o->device_times, device, devices, e);

    if (rc == 0 && drive_times_why(r->drive_times)[0] && !r->in->silent)
        fprintf(stderr, "kvreplay%s: device times: %s\n", ranks_suffix(),
                drive_times_why(r->drive_times));
    return rc;
}

/* Rows that waited for the drive's own times are written. */
static int replay_settle_results(struct replay *r, int rc, struct err *e)
{
    struct err later = {0};
    int settled = results_settle(r->results, rc ? &later : e);

    if (settled != -EPIPE)
        return replay_first(rc, settled, &later);
    r->outcome.end = SCHED_EPIPE;
    return rc;
}

/* The timed part, with evidence gathered on both sides of it. */
static int replay_execute(struct replay *r, struct err *e)
{
    const struct target_device *device[SPREAD_MAX];
    const unsigned devices = tiers_devices(&r->tiers, device);
    struct reader_opts ro = {.rows = r->window,
                             .select = r->select,
                             .want_line = r->writer != NULL,
                             .want_user = r->o->timing == SCHED_CLOSED,
                             .want_lookups = r->tiers.info[TRACE_STORAGE].looks_up,
                             .tell_starved = r->o->timing == SCHED_SERVED,
                             .bell = r->bell};
    struct evidence_targets seen;
    struct reader *reader;

    int rc = drive_times_begin(r->drive_times, e);
    if (rc < 0)
        return rc;
    /* From here on the trace is the reader's. */
    read_engines(r);
    rc = reader_open(&reader, r->trace, &ro, e);
    if (rc < 0)
        return rc;
    if (r->tiers.info[TRACE_STORAGE].keeps_cache) {
        seen = replay_look_at_targets(r);
        r->evidence.resident_before = evidence_resident_share(&seen);
    }
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        for (unsigned k = 0; k < r->tiers.doors[i] && replay_is_remote(r, i); k++)
            evidence_interface(&r->evidence, r->tiers.door[i][k].interface);
    }
    evidence_begin(&r->evidence, device, devices);
    int64_t cpu_ns = clock_process_cpu_ns();
    rc = replay_schedule(r, reader, e);
    replay_look_at_others(r, clock_now_ns(), true);
    if (rc == 0 && r->o->sync == STORAGE_SYNC_END && r->tiers.storages && !r->outcome.stuck) {
        int64_t begun_ns = clock_now_ns();
        rc = tiers_storage_sync(&r->tiers, e);
        r->sync_ns = clock_now_ns() - begun_ns;
    }
    r->cpu_ns = clock_process_cpu_ns() - cpu_ns;
    tiers_describe(&r->tiers);
    evidence_end(&r->evidence, device, devices);
    drive_times_end(r->drive_times);
    rc = replay_settle_results(r, rc, e);
    drive_times_rows_end(r->drive_times);
    int node = node_of_threads(&r->tiers);
    facts_put_count(&r->evidence.facts, FACT_NUMA_NODE, node >= 0, (uint64_t)node);
    gap_list_end(r->tiers.gaps);
    if (r->tiers.storages) {
        seen = replay_look_at_targets(r);
        evidence_set_targets(&r->evidence, &seen);
    }
    if (r->in->read)
        r->in->read(r->in->ctx, rc == 0 && r->outcome.end == SCHED_DONE);
    r->tiers_stuck = r->outcome.stuck;
    r->reader_stuck = r->tiers_stuck || !reader_close(reader, &r->skipped);
    return rc;
}

/* ---- all of it ---- */

static void replay_release(struct replay *r)
{
    results_close(r->results);
    drive_times_close(r->drive_times);
    if (r->writer)
        trace_abandon(r->writer);
    survey_release(&r->survey);
    counts_release(&r->counts);
    progress_close(r->progress);
    if (!r->tiers_stuck)
        objects_free(r->objects);
    if (r->reader_stuck || r->tiers_stuck) /* threads may use these until the process ends */
        return;
    trace_close(r->trace);
    bell_free(r->bell);
}

/* All that is before the run; of several ranks, on all of them. */
static int replay_prepare(struct replay *r, struct err *e)
{
    int rc = replay_open(r, e);
    if (rc == 0)
        rc = replay_check_columns(r, e);
    if (rc == 0)
        rc = replay_check_recording(r, e);
    if (rc == 0)
        rc = replay_divide(r, e);
    if (rc == 0)
        rc = replay_survey(r, e);
    rc = replay_agree(r, rc, e);
    if (rc == 0)
        rc = replay_check_ranks(r, e);
    if (rc == 0)
        rc = replay_compare_claims(r, e);
    if (rc < 0)
        return rc;
    rc = replay_shares(r) ? replay_open_shared(r, e) : replay_open_tiers(r, e);
    if (rc == 0)
        rc = replay_open_drive_times(r, e);
    if (rc == 0)
        rc = replay_open_results(r, e); /* before minutes are spent on populating */
    rc = replay_agree(r, rc, e);
    return rc < 0 ? rc : replay_agree(r, replay_populate(r, e), e);
}

int replay_run(const struct replay_input *in, int *status, struct err *e)
{
    struct replay r = {.in = in,
                       .o = in->options,
                       .timed = in->options->timing != SCHED_ASAP,
                       .evidence.resident_share = -1,
                       .evidence.resident_before = -1,
                       .sync_ns = -1,
                       .started_wall_ns = clock_wall_ns()};
    bool ran = false, refused = false;

    int rc = replay_prepare(&r, e);
    if (rc < 0)
        goto out;
    ran = true;
    replay_make_cold(&r);
    rc = replay_execute(&r, e);
    if (in->rank && !r.joined) /* the others wait for it */
        rc = ranks_agree(in->rank->ranks, rc, e);
    else if (in->rank &&
             (rc < 0 || (r.outcome.end != SCHED_DONE && r.outcome.end != SCHED_DURATION)))
        ranks_stop(in->rank->ranks);
    if (in->figures)
        rc = replay_measure(&r, rc, e);
    refused = rc == 0 && in->accept && !in->accept(in->ctx, in->figures);
    if (in->rank)
        in->rank->refused = refused;
    if (in->silent || refused) {
        progress_clear(r.progress);
        ledger_end(&r.ledger);
    } else if (rc == 0 || rc == -EBADMSG) {
        /* The rows before a cut in the input are results. A run that failed otherwise leaves none.
         */
        rc = replay_report(&r, rc, e);
    }
out:;
    /* The results are safe now: removing many objects takes a while, and a third signal ends it.
     * When nothing was run, what an earlier run kept stays. Who has a store that was lost, closing
     * tells. */
    struct err later = {0};
    int closed = replay_close_tiers(&r, ran, rc && rc != -ESTALE ? &later : e);
    const struct counts *n = &r.counts;
    enum sched_end end = r.outcome.end;
    if (rc == 0 && n->errors)
        closed = err_nomem(e, "figures");
    if (rc == 0 && in->pool && (in->silent || refused)) /* nobody collects what became of it */
        closed = replay_agree(&r, closed, e);
    *status = n->failed || n->differing.corrupt || n->reads_before_write || end == SCHED_ERROR ||
              end == SCHED_LAGGED || end == SCHED_EPIPE || end == SCHED_LOST;
    *in->stuck |= r.tiers_stuck;
    if (!r.tiers_stuck) /* else their threads still use it */
        gap_list_free(r.tiers.gaps);
    replay_release(&r);
    return rc == -ESTALE ? rc : replay_first(rc, closed, &later);
}
