/* kvreplay's command line and its sections of the configuration file, as plain values: the table of
 * options, the checks that need no input, and the defaults that depend on other options. Runs
 * first; nothing is opened before all of it has been checked. */
#include "kvreplay/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kvreplay/sched/idle.h"
#include "kvreplay/validity.h"
#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/conf/conf.h"
#include "lib/conf/texts.h"
#include "lib/io/drive_log.h"
#include "lib/io/target_device.h"
#include "lib/opt/files.h"
#include "lib/opt/tables.h"
#include "lib/ranks/ranks.h"
#include "lib/ranks/start.h"
#include "lib/text/text.h"
#include "lib/tier/tier.h"
#include "lib/trace/gzip.h"

#define NS_PER_MS 1e6

const char *options_program(void)
{
    return ranks_suffix()[0] ? "kvreplay-mpi" : "kvreplay";
}

struct opt_parser *options_open(struct options *o)
{
    struct opt_parser *p = opt_open(options_program(), "[options] [TRACE|-]", kvreplay_options, o);

    opt_part(p, "GPUs (CUDA)", tier_gpu_is_built());
    opt_part(p, "Redis (hiredis)", tier_resp_is_built());
    opt_part(p, "S3 (libcurl)", tier_s3_is_built());
    opt_part(p, "wear of NVMe drives (libnvme)", drive_log_is_built());
    opt_part(p, "input in gzip (zlib)", gzip_is_built());
    return p;
}

static bool is_none(const struct options *o)
{
    return o->output && strcmp(o->output, "none") == 0;
}

const char *options_results(const struct options *o)
{
    if (is_none(o))
        return NULL;
    return o->output ? o->output : isatty(STDOUT_FILENO) ? NULL : "-";
}

/* ---- parts ---- */

static int keep_expanded(struct options *o, const char **text, char *expanded, struct err *e)
{
    if (!expanded)
        return err_nomem(e, "names with {rank}");
    o->expanded[o->expanded_count++] = expanded;
    *text = expanded;
    return 0;
}

static int expand(struct options *o, const char **text, struct err *e)
{
    return *text ? keep_expanded(o, text, part_expand(&o->part, *text), e) : 0;
}

/* Parts that share a folder would write over each other's files. */
static int refuse_shared(const struct options *o, const char *option, const char *path,
                         struct err *e)
{
    if (!path || o->collected || o->part.count == 1 || strcmp(path, "-") == 0 ||
        part_has_rank(path))
        return 0;
    return err_set(e, -EINVAL, ERR_INPUT, option,
                   "%s: every part would write this file: put {rank} into its name", path);
}

/* The same for all parts of a run, and for few other runs. */
static void name_run(struct options *o, const struct opt_parser *p, const char *trace)
{
    struct hash128 same[2] = {opt_fingerprint(p, "target"), hash_128(trace, strlen(trace))};
    char text[160];

    int len =
        snprintf(text, sizeof(text), "%s %u %016llx%016llx%016llx%016llx", KVTRACE_VERSION,
                 o->part.count, (unsigned long long)same[0].hi, (unsigned long long)same[0].lo,
                 (unsigned long long)same[1].hi, (unsigned long long)same[1].lo);
    hash_hex(hash_128(text, (size_t)len), o->run_id);
}

static int check_keys(const struct options *o, const char *trace, struct err *e)
{
    if (o->split != SPLIT_KEYS)
        return 0;
    if (o->timing == SCHED_SERVED || o->timing == SCHED_CLOSED || o->autoscale != SEARCH_OFF)
        return err_set(e, -EINVAL, ERR_INPUT, "--split keys",
                       "spreads requests and users over the parts, so --timing served and closed "
                       "and --autoscale do not apply");
    if (o->order != ORDER_AUTO && o->order != ORDER_KEY)
        return err_set(e, -EINVAL, ERR_INPUT, "--order",
                       "does not apply with --split keys, which keeps the order of each key");
    if (part_has_rank(trace))
        return err_set(e, -EINVAL, ERR_INPUT, trace,
                       "--split keys divides one trace: its name cannot hold {rank}");
    return 0;
}

void options_set_rank(struct options *o, unsigned rank, unsigned count, const char *host)
{
    o->collected = true;
    o->part = (struct part){.on = true, .rank = rank, .count = count};
    snprintf(o->part.host, sizeof(o->part.host), "%s", host);
}

/* Targets with the same name for all ranks. */
static int check_shared(struct options *o, struct err *e)
{
    int rc = 0;

    if (o->on_full == OPTIONS_FULL_EVICT)
        return err_set(e, -EINVAL, ERR_INPUT, "--on-full evict",
                       "does not apply with --shared-target: no rank knows what the others read");
    if (o->layout == STORAGE_LAYOUT_SLAB)
        return err_set(e, -EINVAL, ERR_INPUT, "--layout slab",
                       "does not apply with --shared-target: ranks cannot share a slab");
    for (size_t i = 0; rc == 0 && i < o->targets.count; i++) {
        const char **text = &o->targets.item[i];
        if (part_has_rank(*text))
            return err_set(e, -EINVAL, ERR_INPUT, "--shared-target",
                           "%s: {rank} makes a target of each rank", *text);
        rc = expand(o, text, e);
    }
    return rc;
}

/* Which part this process runs, and when; from here on names have no {rank} in them. */
static int check_part(const struct opt_parser *p, struct options *o, const char **trace,
                      struct err *e)
{
    int rc = o->collected ? 0 : part_parse(&o->part, o->part_text, e);

    if (rc == 0 && o->collected && o->autoscale == SEARCH_OFF && strcmp(*trace, "-") == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "standard input",
                       "only rank 0 would have it: name a trace");
    if (rc == 0 && o->start_at)
        rc = start_parse(o->start_at, clock_wall_ns(), &o->start_wall_ns, e);
    if (rc < 0 || !o->part.on)
        return rc;
    name_run(o, p, *trace);
    o->own_traces = part_has_rank(*trace) || o->autoscale != SEARCH_OFF;
    o->own_results = o->output && part_has_rank(o->output);
    o->own_summaries = o->summary && part_has_rank(o->summary);
    rc = check_keys(o, *trace, e);
    if (rc == 0 && o->split == SPLIT_KEYS)
        o->order = ORDER_KEY;
    if (rc == 0)
        rc = refuse_shared(o, "--output", is_none(o) ? NULL : o->output, e);
    if (rc == 0)
        rc = refuse_shared(o, "--summary", o->summary, e);
    if (rc == 0)
        rc = expand(o, trace, e);
    if (rc == 0)
        rc = expand(o, &o->each, e);
    if (rc == 0)
        rc = expand(o, &o->output, e);
    if (rc == 0)
        rc = expand(o, &o->summary, e);
    if (rc == 0 && o->shared_target)
        return check_shared(o, e);
    for (size_t i = 0; rc == 0 && i < o->targets.count; i++) {
        const char **text = &o->targets.item[i];
        char *own = part_target(&o->part, *text, "--target", e);
        rc = own ? keep_expanded(o, text, own, e) : -EINVAL;
    }
    return rc;
}

void options_release(struct options *o)
{
    for (size_t i = 0; i < o->expanded_count; i++)
        free(o->expanded[i]);
    o->expanded_count = 0;
    conf_free(o->conf);
    o->conf = NULL;
}

/* One more path under Tier-2. */
static int add_path(struct options *o, const struct uri *u, struct err *e)
{
    const struct uri *first = &o->target[TRACE_STORAGE];

    if (o->paths == SPREAD_MAX)
        return err_set(e, -EINVAL, ERR_INPUT, "--target", "more than %u paths", SPREAD_MAX);
    if (o->paths > 0 && (u->like != URI_LIKE_KVTRACE || first->like != URI_LIKE_KVTRACE))
        return err_set(
            e, -EINVAL, ERR_INPUT, "--target",
            "like= takes one path: these engines keep their files in one directory. Replay one "
            "trace per path, or leave out like= to spread objects over the paths");
    if (o->paths > 0 && (u->pages == URI_PAGES_SMALL) != (first->pages == URI_PAGES_SMALL))
        return err_set(e, -EINVAL, ERR_INPUT, "--target",
                       "%s: pages= must be the same for all paths", u->text);
    return keep_expanded(o, &o->path[o->paths++], strdup(u->path), e);
}

/* Takes the texts of --target. */
static int check_targets(struct options *o, struct err *e)
{
    o->paths = 0;
    for (unsigned i = 0; i < TRACE_TIERS; i++)
        o->has_target[i] = false;
    for (size_t i = 0; i < o->targets.count; i++) {
        const char *text = o->targets.item[i];
        struct uri u;
        int rc = uri_parse(&u, text, "--target", e);
        if (rc < 0)
            return rc;
        if (u.scheme == URI_PATH && u.tier != TRACE_STORAGE)
            return err_set(e, -EINVAL, ERR_INPUT, "--target",
                           "%s: a path serves tier 2 only (--tier-map runs rows of other tiers "
                           "there)",
                           text);
        if (o->has_target[u.tier] && !(u.scheme == URI_PATH && o->paths > 0))
            return err_set(e, -EINVAL, ERR_INPUT, "--target",
                           "%s: tier %u has a target already; only paths can share tier 2", text,
                           u.tier);
        if (u.scheme == URI_PATH) {
            rc = add_path(o, &u, e);
            if (rc < 0)
                return rc;
        }
        if (!o->has_target[u.tier])
            o->target[u.tier] = u;
        o->has_target[u.tier] = true;
    }
    return 0;
}

/* Refuses options that have no meaning in a mode that other options choose. Here: modes of how rows
 * run, and of what is written. */
static int check_run_modes(const struct options *o, const struct opt_parser *p, struct err *e)
{
    const char *results = options_results(o);
    bool compressed = o->zstd || (results && text_ends_with(results, ".zst"));
    bool autoscale = o->autoscale != SEARCH_OFF;
    enum sched_timing timing = autoscale ? SCHED_SERVED : o->timing;
    const struct opt_mode modes[] = {
        {!autoscale, .refuses = OPTIONS_AUTOSCALE_ONLY, .why = "applies only with --autoscale"},
        {autoscale, .refuses = OPTIONS_NOT_AUTOSCALE, .why = "does not apply with --autoscale"},
        {autoscale, .refuses = OPTIONS_NOT_SEARCH,
         .why = "does not apply with --autoscale: parts cannot tell each other what comes next "
                "(the ranks of kvreplay-mpi can)"},
        {is_none(o), .refuses = OPTIONS_ROWS_ONLY, .why = "no result rows are written (-o none)"},
        {results && !compressed, .refuses = OPTIONS_COMPRESSED_ONLY,
         .why = "the results are not compressed (-z, or a name ending in .zst)"},
        {results && compressed, .refuses = OPTIONS_PLAIN_ONLY,
         .why = "applies only to results that are not compressed"},
        {timing == SCHED_ASAP, .refuses = OPTIONS_NOT_ASAP,
         .why = "does not apply with --timing asap"},
        {timing != SCHED_TRACE, .refuses = OPTIONS_TRACE_TIMING_ONLY,
         .why = "applies only with --timing trace"},
        {timing != SCHED_SERVED, .refuses = OPTIONS_SERVED_ONLY,
         .why = "applies only with --timing served"},
    };
    return opt_check_modes(p, modes, sizeof(modes) / sizeof(modes[0]), e);
}

/* The same for modes of targets and ranks. */
static int check_target_modes(const struct options *o, const struct opt_parser *p, struct err *e)
{
    bool real_gpu = strcmp(o->gpu, "auto") != 0 && strcmp(o->gpu, "off") != 0;
    bool other_tier_0 = o->has_target[TRACE_GPU], store = false, remote = false;

    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        store |= o->has_target[i];
        remote |= o->has_target[i] && o->target[i].scheme != URI_PATH;
    }

    for (size_t i = 0; i < o->tier_engine.count; i++)
        other_tier_0 |= o->tier_engine.item[i][0] == '0';
    const struct opt_mode modes[] = {
        {other_tier_0, .refuses = OPTIONS_SIMULATED_GPU_ONLY,
         .why = "does not apply when --tier-engine replaces tier 0"},
        {real_gpu, .refuses = OPTIONS_SIMULATED_GPU_ONLY,
         .why = "applies only to a simulated GPU, but --gpu requires a real one"},
        {o->null, .refuses = OPTIONS_NOT_NULL, .why = "does not apply with --null"},
        {o->paths == 0, .refuses = OPTIONS_PATH_ONLY, .why = "applies only with --target PATH"},
        {o->paths < 2, .refuses = OPTIONS_SEVERAL_ONLY,
         .why = "applies only with several --target PATH"},
        {!store, .refuses = OPTIONS_STORE_ONLY, .why = "applies only with --target"},
        {!o->collected, .refuses = OPTIONS_RANKS_ONLY,
         .why = "applies only to kvreplay-mpi with several ranks"},
        {o->collected, .refuses = OPTIONS_NOT_RANKS, .why = "does not apply with ranks of MPI"},
        {!o->part.on, .refuses = OPTIONS_PARTS_ONLY, .why = "applies only with --part"},
        {!remote, .refuses = OPTIONS_REMOTE_ONLY,
         .why = "applies only with a redis:// or s3:// target"},
        {o->ioengine == IO_PSYNC, .refuses = OPTIONS_URING_ONLY,
         .why = "does not apply with --config ioengine=psync"},
        {o->target[TRACE_STORAGE].like != URI_LIKE_KVTRACE, .refuses = OPTIONS_NOT_LIKE,
         .why =
             "does not apply with like=, which stores files and does its I/O as the engine does"},
        {o->buffered, .refuses = OPTIONS_DIRECT_ONLY, .why = "does not apply with --buffered"},
    };
    return opt_check_modes(p, modes, sizeof(modes) / sizeof(modes[0]), e);
}

/* ---- --autoscale and its configuration ---- */

static int64_t conf_ms(const struct conf *c, const char *path)
{
    return llround(conf_f64(c, path) * NS_PER_MS);
}

/* Takes the keys of a search. An option wins over the key that means the same. */
static int read_search(const struct opt_parser *p, struct options *o, const struct conf *c,
                       struct err *e)
{
    static const char *const read_limit = "saturation_detection.read_latency_p95_threshold_ms";

    o->saturation_limits = opt_given(p, "target-saturation");
    o->scale_up = conf_f64(c, "autoscaler.scale_up_factor");
    o->scale_down = conf_f64(c, "autoscaler.scale_down_factor");
    o->min_users = (uint64_t)conf_i64(c, "autoscaler.min_users");
    if (o->min_users < o->part.count) /* each rank serves one */
        o->min_users = o->part.count;
    if (!opt_given(p, "max-users"))
        o->max_users = (uint64_t)conf_i64(c, "autoscaler.max_users");
    o->storage_p95_ns = conf_ms(c, read_limit);
    o->write_p95_ns = conf_ms(c, "saturation_detection.write_latency_p95_threshold_ms");
    o->queue_limit = (uint64_t)conf_i64(c, "saturation_detection.queue_depth_threshold");

    if (o->part.count > o->max_users)
        return err_set(e, -EINVAL, ERR_INPUT, "--max-users",
                       "is less than the number of ranks, each of which serves a user");
    if (o->min_users > o->max_users)
        return err_set(e, -EINVAL, ERR_INPUT, "autoscaler.min_users",
                       "is more than autoscaler.max_users or --max-users");
    if (!opt_given(p, "start-users")) {
        if (o->start_users < o->min_users)
            o->start_users = o->min_users;
        if (o->start_users > o->max_users)
            o->start_users = o->max_users;
    }
    if (o->storage_p95_ns < 1)
        return err_set(e, -EINVAL, ERR_INPUT, read_limit, "must be more than 0");
    return 0;
}

static int check_autoscale(const struct opt_parser *p, struct options *o, const struct conf *c,
                           struct err *e)
{
    const char *const *operand;
    size_t n = opt_operands(p, &operand);
    int rc;

    if (n > 0)
        return err_set(e, -EINVAL, ERR_INPUT, operand[0],
                       "with --autoscale the command of --each writes the traces");
    if (!o->each)
        return err_set(e, -EINVAL, ERR_INPUT, "--autoscale", "needs --each COMMAND");
    rc = read_search(p, o, c, e);
    if (rc < 0)
        return rc;
    if (o->start_users > o->max_users)
        return err_set(e, -EINVAL, ERR_INPUT, "--start-users", "is more than --max-users");
    if (o->start_users < o->min_users)
        return err_set(e, -EINVAL, ERR_INPUT, "--start-users", "is less than %s",
                       o->min_users == o->part.count ? "the number of ranks, each of which serves "
                                                       "a user"
                                                     : "autoscaler.min_users");
    if (o->own_summaries)
        return err_set(e, -EINVAL, ERR_INPUT, "--summary",
                       "a search has one summary: {rank} cannot be in its name");
    o->timing = SCHED_SERVED;
    o->workers = 1; /* each step sets its own */
    return 0;
}

/* ---- outputs ---- */

/* Before anything is opened for writing. trace is NULL when it comes from commands. */
static int check_files(const struct options *o, const char *trace, struct err *e)
{
    const char *results = options_results(o);
    struct file_use files[4 + OPT_LIST_MAX + SPREAD_MAX] = {
        {FILES_STREAMED, "--output", results},
        {FILES_WRITTEN, "--summary", o->summary},
        {FILES_READ, "the trace", trace},
        {FILES_READ, "--ceiling", o->ceiling},
    };
    size_t n = 4 + conf_files(files + 4, &o->config);

    for (unsigned i = 0; i < o->paths; i++)
        files[n++] = (struct file_use){FILES_TARGET, "the target", o->path[i]};

    if (results && o->summary && strcmp(results, "-") == 0 && strcmp(o->summary, "-") == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--summary",
                       "standard output already takes the result rows (-o FILE)");
    return files_check(files, n, e);
}

/* ---- all together ---- */

/* Parses "auto" or a time. */
static int parse_time(const char *option, const char *text, int64_t automatic, int64_t *ns,
                      struct err *e)
{
    *ns = automatic;
    if (strcmp(text, "auto") == 0 || units_parse_duration(text, ns) == 0)
        return 0;
    return err_set(e, -EINVAL, ERR_INPUT, option, "%s: expected auto or a time, such as 200us",
                   text);
}

static int parse_budget(struct options *o, struct err *e)
{
    const char *text = o->lateness_budget;

    o->lateness_budget_ns = VALIDITY_BUDGET_NONE;
    if (!text || units_parse_duration(text, &o->lateness_budget_ns) == 0)
        return 0;
    return err_set(e, -EINVAL, ERR_INPUT, "--config lateness_budget",
                   "%s: expected a time, such as 200us", text);
}

/* With the configuration in c. */
static int check_all(const struct opt_parser *p, struct options *o, const struct conf *c,
                     const char **trace, struct err *e)
{
    if (o->chunk_bytes % 4096)
        return err_set(e, -EINVAL, ERR_INPUT, "--chunk-size", "not a multiple of 4 KiB");
    int rc = check_part(p, o, trace, e);
    if (rc == 0)
        rc = check_targets(o, e);
    if (rc == 0)
        rc = check_run_modes(o, p, e);
    if (rc == 0)
        rc = check_target_modes(o, p, e);
    if (rc == 0 && o->autoscale != SEARCH_OFF)
        rc = check_autoscale(p, o, c, e);
    if (rc == 0)
        rc = target_reserve_parse(o->reserve, &o->reserve_share, e);
    if (rc == 0)
        rc = parse_time("--config spin", o->spin, IDLE_SPIN_AUTO, &o->spin_ns, e);
    if (rc == 0)
        rc = parse_budget(o, e);
    if (rc == 0)
        rc = check_files(o, o->autoscale != SEARCH_OFF ? NULL : *trace, e);
    if (rc < 0)
        return rc;
    if (o->timing == SCHED_SERVED && o->workers == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--timing served", "needs --workers N");
    if (o->timing == SCHED_SERVED && o->order != ORDER_AUTO && o->order != ORDER_REQUEST)
        return err_set(e, -EINVAL, ERR_INPUT, "--order",
                       "does not apply with --timing served, which runs the rows of a request one "
                       "after another");
    if (o->warmup_ns && o->duration_ns && o->warmup_ns >= o->duration_ns)
        return err_set(e, -EINVAL, ERR_INPUT, "--warmup", "must be shorter than --duration");
    if (o->inflight == 0)
        o->inflight = o->timing == SCHED_ASAP ? 64 : o->workers > 1024 ? o->workers : 1024;
    return 0;
}

int options_check(struct opt_parser *p, struct options *o, const char **trace, struct err *e)
{
    const char *const *items, *warning;
    size_t n = opt_operands(p, &items);

    if (n > 1)
        return err_set(e, -EINVAL, ERR_INPUT, items[1], "only one trace can be replayed");
    *trace = n ? items[0] : "-";
    if (o->autoscale == SEARCH_OFF && conf_is_stdin(&o->config) && strcmp(*trace, "-") == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "standard input",
                       "only one of --config and the trace can come from it");
    if (o->collected && conf_is_stdin(&o->config))
        return err_set(e, -EINVAL, ERR_INPUT, "--config -",
                       "only rank 0 has standard input: name a file");
    int rc = conf_read(&o->conf, &o->config, p, e);
    for (size_t i = 0; rc == 0 && o->part.rank == 0 && (warning = conf_warning(o->conf, i)); i++)
        fprintf(stderr, "kvreplay%s: %s\n", ranks_suffix(), warning);
    if (rc == 0)
        rc = check_all(p, o, o->conf, trace, e);
    opt_tell_place(p, e);
    return rc;
}

unsigned options_iodepth(const struct options *o)
{
    const uint64_t least = 32, most = 256;
    uint64_t room = most * UNITS_MIB / o->chunk_bytes, depth = o->workers;

    if (o->iodepth)
        return (unsigned)o->iodepth;
    if (o->paths > 1) { /* of each: its share, and as much again, for they are never even */
        depth = (depth * 2 + o->paths - 1) / o->paths;
        room /= o->paths;
    }
    depth = depth < room ? depth : room;
    return (unsigned)(depth < least ? least : depth < most ? depth : most);
}
