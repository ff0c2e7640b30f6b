/* options.c - reads the options by their table and makes the checks that no single one can make.
 * Comes first in the pipeline; everything after it gets plain values. */
#include "kvgen/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "kvgen/source/ident.h"
#include "kvgen/source/request.h"
#include "lib/base/units.h"

/* 2025-01-01: that benchmark's tools expect a date. */
#define MLPERF_EPOCH_S INT64_C(1735689600)

struct opt_parser *options_open(struct options *o)
{
    return opt_open("kvgen", "[options]", options_table, o);
}

static bool is_dash(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

int options_check_input(struct options *o, const struct opt_parser *p, struct err *e)
{
    if (o->use_burst_trace != (o->burst_trace_path != NULL))
        return err_set(e, -EINVAL, ERR_INPUT,
                       o->use_burst_trace ? "--use-burst-trace" : "--burst-trace-path",
                       "--use-burst-trace and --burst-trace-path FILE go together");
    if (o->use_burst_trace) {
        if (opt_refuse(p, e, "--use-burst-trace says it already", "source", "input", NULL) < 0)
            return -EINVAL;
        o->input = o->burst_trace_path;
    }
    if (o->dataset_path != NULL) {
        if (opt_refuse(p, e, "--dataset-path says it already", "source", "input", "use-burst-trace",
                       NULL) < 0)
            return -EINVAL;
        o->input = o->dataset_path;
        o->source = OPTIONS_SHAREGPT;
    }
    if (is_dash(o->config) + is_dash(o->input) + is_dash(o->users_file) > 1)
        return err_set(e, -EINVAL, ERR_INPUT, "standard input",
                       "only one of --config, --input and --users-file can come from it");
    if (o->source == OPTIONS_AUTO && o->input == NULL)
        o->source = OPTIONS_USERS;
    if (o->source != OPTIONS_AUTO && o->source != OPTIONS_USERS && o->input == NULL)
        return err_set(e, -EINVAL, ERR_INPUT, "--source", "this one needs --input FILE");
    return 0;
}

static int check_cycles(const struct options *o, struct err *e)
{
    if (o->replay_cycles != 0)
        return 0;
    if (o->trace_speedup == 0 && !(o->source == OPTIONS_SHAREGPT && o->request_rate > 0))
        return err_set(e, -EINVAL, ERR_INPUT, "--replay-cycles",
                       "0 would never end: --trace-speedup 0 leaves no time between requests");
    if (o->duration_ns == 0 && o->max_requests == 0 && o->limit == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--replay-cycles",
                       "0 never ends: give a duration, --max-requests or --limit");
    return 0;
}

/* What requests of blocks cannot do. */
static int check_block_trace(const struct opt_parser *p, struct err *e)
{
    return opt_refuse(p, e, "requests of blocks have no meaning for it", "disable-prefix-caching",
                      "decode-reads", "granularity", "prefill-only", "decode-only", "enable-rag",
                      "compat", NULL);
}

static int check_serving(const struct options *o, const struct opt_parser *p, struct err *e)
{
    int rc = 0;
    if (!o->enable_rag)
        rc = opt_refuse(p, e, "only --enable-rag has documents", "rag-num-docs", NULL);
    if (rc == 0 && o->prefill_only)
        rc = opt_refuse(p, e, "--prefill-only leaves no decode reads", "decode-only",
                        "decode-reads", NULL);
    return rc;
}

static int check_synthetic(struct options *o, const struct opt_parser *p, struct err *e)
{
    if (!opt_given(p, "duration"))
        o->duration_ns = 60 * UNITS_NS_PER_S;
    if (opt_refuse(p, e, "synthetic users (--source users) are read from no file", "input", NULL) <
        0)
        return -EINVAL;
    return opt_refuse(p, e, "only traces (--input FILE) have a meaning for it", "block-reuse",
                      "qos", "trace-speedup", "replay-cycles", "max-conversations",
                      "chars-per-token", NULL);
}

/* Options that mean something for some kinds of files only. */
static int check_file(const struct options *o, const struct opt_parser *p, struct err *e)
{
    bool dataset = o->source == OPTIONS_SHAREGPT;
    bool blocks = !dataset && o->source != OPTIONS_BURST && o->source != OPTIONS_AZURE;
    int rc = opt_refuse(p, e, "only synthetic users (--source users) have a meaning for it",
                        "users-file", "dump-users", "arrival", "disable-multi-turn", "input-len",
                        "output-len", NULL);
    if (rc == 0 && !dataset)
        rc = opt_refuse(p, e, "only datasets (--dataset-path) have a meaning for it",
                        "request-rate", "max-conversations", "chars-per-token", NULL);
    if (rc == 0 && !dataset && o->source != OPTIONS_AGENTIC && !o->decode_only)
        rc = opt_refuse(p, e, "only users, agentic sessions and datasets have a meaning for it",
                        "num-users", NULL);
    if (rc == 0 && blocks)
        rc = check_block_trace(p, e);
    if (rc == 0 && !blocks)
        rc = opt_refuse(p, e, "only requests of blocks have a meaning for it", "block-reuse", NULL);
    return rc == 0 ? check_cycles(o, e) : rc;
}

/* The rows of a trace are there: nothing decides them but, with --retier, the tiers. */
static int check_trace(const struct options *o, const struct opt_parser *p, struct err *e)
{
    const char *heading = "";
    if (opt_refuse(p, e, "the rows of a trace keep their times", "tier-model",
                   "max-concurrent-allocs", NULL) < 0 ||
        opt_refuse(p, e, "a trace has its objects", "granularity", NULL) < 0)
        return -EINVAL;
    for (const struct opt *t = options_table; t->name != NULL || t->help != NULL; t++) {
        if (t->type == OPT_HEADING) {
            heading = t->help;
            continue;
        }
        bool tiers = strcmp(heading, "Tiers") == 0 || strncmp(t->name, "curve", 5) == 0 ||
                     strcmp(t->name, "block-reuse") == 0 || strcmp(t->name, "num-gpus") == 0;
        if (strcmp(heading, "Output") == 0 || strcmp(t->name, "source") == 0 ||
            strcmp(t->name, "input") == 0 || strcmp(t->name, "retier") == 0 || (tiers && o->retier))
            continue;
        if (opt_refuse(p, e,
                       tiers ? "a trace keeps its tiers (--retier puts it through others)"
                             : "a trace has its rows: nothing is generated",
                       t->name, NULL) < 0)
            return -EINVAL;
    }
    return 0;
}

/* What is kept in blocks: the requests of block traces, or every entry on demand. */
static int check_blocks(const struct options *o, const struct opt_parser *p, struct err *e)
{
    bool whole = strcmp(o->granularity, "request") == 0;
    bool objects = o->source == OPTIONS_USERS || o->source == OPTIONS_SHAREGPT ||
                   o->source == OPTIONS_BURST || o->source == OPTIONS_AZURE;
    if (objects && whole &&
        opt_refuse(p, e, "nothing is kept in blocks (--granularity block:N)", "partial-blocks",
                   NULL) < 0)
        return -EINVAL;
    if (!whole && options_is_mlperf(o) && o->enable_rag)
        return err_set(e, -EINVAL, ERR_INPUT, "--granularity",
                       "a document of --compat mlperf is one object");
    return 0;
}

static int check_source(struct options *o, const struct opt_parser *p, struct err *e)
{
    if (o->source == OPTIONS_TRACE)
        return check_trace(o, p, e);
    if (opt_refuse(p, e, "only an existing trace (--source trace) has a meaning for it", "retier",
                   NULL) < 0)
        return -EINVAL;
    return o->source == OPTIONS_USERS ? check_synthetic(o, p, e) : check_file(o, p, e);
}

static int check_users(const struct options *o, const struct opt_parser *p, struct err *e)
{
    if (o->source != OPTIONS_USERS)
        return 0;
    bool poisson = o->arrival == 2;
    if (poisson && o->request_rate == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--arrival poisson", "needs --request-rate");
    if (!poisson && opt_refuse(p, e, "only --arrival poisson has a rate", "request-rate", NULL) < 0)
        return -EINVAL;
    if (o->duration_ns == 0 && o->max_requests == 0 && o->limit == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--duration",
                       "synthetic users never end: give a duration, --max-requests or --limit");
    return 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

bool options_is_mlperf(const struct options *o)
{
    return o->compat == OPTIONS_COMPAT_MLPERF;
}

bool options_write_zstd(const struct options *o)
{
    return o->zstd || o->format == OPTIONS_WARP || ends_with(o->output, ".zst");
}

static bool is_none(const struct options *o)
{
    return strcmp(o->output, "none") == 0;
}

/* Names by which the other tool knows what it reads; "-" and none have none. */
static int check_name(const struct options *o, struct err *e)
{
    const char *want = NULL;
    if (is_none(o) || (is_dash(o->output) && o->format != OPTIONS_FIO))
        return 0;
    if (o->format == OPTIONS_SAI3 && !ends_with(o->output, o->zstd ? ".tsv.zst" : ".tsv") &&
        !ends_with(o->output, ".tsv.zst"))
        want = o->zstd ? ".tsv.zst" : ".tsv or .tsv.zst";
    if (o->format == OPTIONS_WARP && !ends_with(o->output, ".csv.zst"))
        want = ".csv.zst";
    if (o->format == OPTIONS_FIO && !ends_with(o->output, ".iolog"))
        want = ".iolog (the job file is beside it)";
    return want == NULL ? 0
                        : err_set(e, -EINVAL, ERR_INPUT, "--output",
                                  "this format wants a name ending in %s", want);
}

/* Formats of other tools: what each has a meaning for. */
static int check_format(const struct options *o, const struct opt_parser *p, struct err *e)
{
    bool has_objects = o->format == OPTIONS_SAI3 || o->format == OPTIONS_WARP;
    int rc = 0;
    if (o->format == OPTIONS_KVTRACE)
        rc = opt_refuse(p, e, "only formats of other tools (--format) lose anything", "lint", NULL);
    if (rc == 0 && !has_objects)
        rc = opt_refuse(p, e, "only --format sai3 and warp have one", "endpoint", NULL);
    if (rc == 0 && o->format != OPTIONS_FIO)
        rc = opt_refuse(p, e, "only --format fio cuts objects", "segment-size", NULL);
    if (rc == 0 && o->format == OPTIONS_FIO)
        rc = opt_refuse(p, e, "times of an iolog count from its start", "epoch", NULL);
    if (rc == 0 && o->format >= OPTIONS_SAI3)
        rc =
            opt_refuse(p, e, "--format kvtrace and mlperf have frames, others one", "frames", NULL);
    if (rc == 0 && o->format >= OPTIONS_SAI3)
        rc = opt_refuse(p, e,
                        "--format kvtrace and mlperf are written by several threads, others by one",
                        "threads", NULL);
    if (rc == 0 && o->segment_bytes % 4096 != 0)
        rc = err_set(e, -EINVAL, ERR_INPUT, "--segment-size", "not a multiple of 4096 bytes");
    if (rc == 0 && (o->format == OPTIONS_FIO || o->format == OPTIONS_LIBCACHESIM) &&
        options_write_zstd(o))
        rc = err_set(e, -EINVAL, ERR_INPUT, "--format", "%s reads no compressed files",
                     o->format == OPTIONS_FIO ? "fio" : "libCacheSim's CSV reader");
    return rc == 0 ? check_name(o, e) : rc;
}

static int check_output(const struct options *o, const struct opt_parser *p, struct err *e)
{
    if (is_none(o) && opt_refuse(p, e, "no trace is written (-o none)", "zstd", "level", NULL) < 0)
        return -EINVAL;
    if (is_none(o) && !o->lint &&
        opt_refuse(p, e, "no trace is written (-o none)", "format", "only-tier", "ops", "limit",
                   "epoch", "frames", "endpoint", "segment-size", NULL) < 0)
        return -EINVAL;
    if (check_format(o, p, e) < 0)
        return -EINVAL;
    if (!is_none(o) && !options_write_zstd(o) &&
        opt_refuse(p, e, "the trace is not compressed (-z, or a name ending in .zst)", "level",
                   "frames", NULL) < 0)
        return -EINVAL;
    if (o->curve == NULL && opt_refuse(p, e, "no curve is asked for (--curve FILE)", "curve-sizes",
                                       "curve-sample", "curve-optimal", NULL) < 0)
        return -EINVAL;
    int to_stdout =
        is_dash(o->output) + is_dash(o->summary) + is_dash(o->dump_users) + is_dash(o->curve);
    if (to_stdout > 1)
        return err_set(e, -EINVAL, ERR_INPUT, "standard output",
                       "only one of --output (which is there unless given), --summary, "
                       "--dump-users and --curve can go to it");
    if (o->zstd && is_dash(o->output) && isatty(STDOUT_FILENO))
        return err_set(e, -EINVAL, ERR_INPUT, "--zstd", "not to a terminal");
    return 0;
}

static int check_print_config(const struct options *o, const struct opt_parser *p, struct err *e)
{
    for (const struct opt *t = options_table;
         o->print_config && (t->name != NULL || t->help != NULL); t++)
        if (t->type != OPT_HEADING && strcmp(t->name, "print-config") != 0 &&
            opt_refuse(p, e, "--print-config prints the defaults only", t->name, NULL) < 0)
            return -EINVAL;
    return 0;
}

/* --list-models and --show-model tell of models and end: what would simulate has no meaning. */
static int check_answer(const struct options *o, const struct opt_parser *p, struct err *e)
{
    static const char *const fit[] = {"list-models", "show-model", "model", "config", "kv-dtype"};
    if (!o->list_models && !o->show_model)
        return 0;
    if (o->list_models &&
        opt_refuse(p, e, "not together with --list-models", "show-model", "kv-dtype", NULL) < 0)
        return -EINVAL;
    for (const struct opt *t = options_table; t->name != NULL || t->help != NULL; t++) {
        bool fits = t->type == OPT_HEADING;
        for (size_t i = 0; !fits && i < sizeof fit / sizeof *fit; i++)
            fits = strcmp(t->name, fit[i]) == 0;
        if (!fits && opt_refuse(p, e, "nothing is simulated with --list-models or --show-model",
                                t->name, NULL) < 0)
            return -EINVAL;
    }
    return 0;
}

int options_check(struct options *o, const struct opt_parser *p, struct err *e)
{
    const char *const *operand;
    if (opt_operands(p, &operand) > 0)
        return err_set(e, -EINVAL, ERR_INPUT, operand[0],
                       "not an option (a trace is given with --input)");
    if (o->tensor_parallel > o->num_gpus)
        return err_set(e, -EINVAL, ERR_INPUT, "--tensor-parallel",
                       "%llu ranks need as many GPUs, --num-gpus is %llu",
                       (unsigned long long)o->tensor_parallel, (unsigned long long)o->num_gpus);
    if (o->max_concurrent_allocs > 0 && o->tier_model.count == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--max-concurrent-allocs",
                       "writes take no time without --tier-model, so none waits for another");
    o->qos_given = opt_given(p, "qos");
    int rc = check_print_config(o, p, e);
    if (rc == 0)
        rc = check_answer(o, p, e);
    if (rc == 0)
        rc = check_source(o, p, e);
    if (rc == 0)
        rc = check_blocks(o, p, e);
    if (rc == 0)
        rc = check_users(o, p, e);
    if (rc == 0)
        rc = check_serving(o, p, e);
    if (rc == 0)
        rc = check_output(o, p, e);
    return rc;
}

/* Bytes of a number of GiB, to the nearest. */
static uint64_t gib(double n)
{
    return (uint64_t)(n * (double)UNITS_GIB + 0.5);
}

static int free_space(const char *path, uint64_t *bytes, struct err *e)
{
    struct statvfs vfs;
    if (statvfs(path, &vfs) != 0)
        return err_errno(e, -errno, ERR_INPUT, "--storage-capacity-gb", "cannot look at %s", path);
    uint64_t space;
    if (units_mul((uint64_t)vfs.f_bavail, (uint64_t)vfs.f_frsize, &space) < 0)
        space = HIERARCHY_UNLIMITED;
    *bytes = space / 10 * 9;
    if (*bytes == 0)
        return err_set(e, -ENOSPC, ERR_INPUT, "--storage-capacity-gb", "no space free at %s", path);
    return 0;
}

static int storage_capacity(const char *text, uint64_t *bytes, struct err *e)
{
    double n;
    *bytes = HIERARCHY_UNLIMITED;
    if (strcmp(text, "unlimited") == 0)
        return 0;
    if (strcmp(text, "none") == 0) {
        *bytes = HIERARCHY_ABSENT;
        return 0;
    }
    if (strncmp(text, "auto:", 5) == 0)
        return free_space(text + 5, bytes, e);
    if (units_parse_f64(text, &n) < 0 || n < 0 || n > 1e9)
        return err_set(e, -EINVAL, ERR_INPUT, "--storage-capacity-gb",
                       "\"%s\" is not a number of GiB up to 1e9, unlimited, none or auto:PATH",
                       text);
    if (n > 0)
        *bytes = gib(n) > 0 ? gib(n) : 1;
    return 0;
}

int options_capacities(const struct options *o, uint64_t capacity[TRACE_TIERS], struct err *e)
{
    capacity[TRACE_GPU] = gib(o->gpu_mem_gb * (double)o->num_gpus);
    capacity[TRACE_CPU] = gib(o->cpu_mem_gb);
    if (capacity[TRACE_GPU] > gib(OPTIONS_GPU_GIB))
        return err_set(e, -ERANGE, ERR_INPUT, "--num-gpus",
                       "all GPUs together have more than 65536 GiB");
    int rc = storage_capacity(o->storage_capacity_gb, &capacity[TRACE_STORAGE], e);
    if (rc == 0 && capacity[TRACE_GPU] == 0 && capacity[TRACE_CPU] == 0 &&
        capacity[TRACE_STORAGE] == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--storage-capacity-gb",
                       "none leaves no tier at all: --gpu-mem-gb and --cpu-mem-gb are 0");
    return rc;
}

int options_granularity(const struct options *o, int64_t *tokens, struct err *e)
{
    *tokens = 0;
    if (strcmp(o->granularity, "request") == 0)
        return 0;
    if (strncmp(o->granularity, "block:", 6) == 0 &&
        units_parse_i64(o->granularity + 6, tokens) == 0 && *tokens >= 1 &&
        *tokens <= REQUEST_MAX_TOKENS)
        return 0;
    return err_set(e, -EINVAL, ERR_INPUT, "--granularity",
                   "\"%s\" is neither request nor block:N with N tokens from 1 on", o->granularity);
}

int options_speed(const struct options *o, const uint64_t capacity[TRACE_TIERS],
                  struct tier_model speed[TRACE_TIERS], struct err *e)
{
    int rc = 0;
    memset(speed, 0, TRACE_TIERS * sizeof *speed);
    for (size_t i = 0; rc == 0 && i < o->tier_model.count; i++) {
        const char *text = o->tier_model.item[i];
        bool one = text[0] >= '0' && text[0] <= '2' && text[1] == '=';
        rc = tier_model_set(speed, text, e);
        if (rc == 0 && one && capacity[text[0] - '0'] == HIERARCHY_ABSENT)
            rc = err_set(e, -EINVAL, ERR_INPUT, "--tier-model", "\"%s\": there is no such tier",
                         text);
    }
    return rc;
}

int options_tiers(const struct options *o, unsigned *mask, struct err *e)
{
    bool of_storage =
        o->format == OPTIONS_SAI3 || o->format == OPTIONS_WARP || o->format == OPTIONS_FIO;
    *mask = of_storage && o->only_tier == NULL ? 1u << TRACE_STORAGE : 0;
    for (const char *p = o->only_tier; p != NULL; p = p[1] == ',' ? p + 2 : NULL) {
        if (*p < '0' || *p > '2' || (p[1] != ',' && p[1] != '\0'))
            return err_set(e, -EINVAL, ERR_INPUT, "--only-tier",
                           "\"%s\" is not a list of tiers such as 0,2", o->only_tier);
        *mask |= 1u << (*p - '0');
    }
    return 0;
}

/* The operation with that name; TRACE_OPS: none. */
static int op_named(const char *name, size_t len)
{
    int op = 0;
    while (op < TRACE_OPS && (strlen(trace_op_text((enum trace_op)op)) != len ||
                              memcmp(trace_op_text((enum trace_op)op), name, len) != 0))
        op++;
    return op;
}

int options_ops(const struct options *o, unsigned *mask, struct err *e)
{
    *mask = 0;
    for (const char *p = o->ops; p != NULL; p = *p == ',' ? p + 1 : NULL) {
        size_t len = strcspn(p, ",");
        int op = op_named(p, len);
        if (op == TRACE_OPS)
            return err_set(e, -EINVAL, ERR_INPUT, "--ops",
                           "\"%.*s\" is none of Read, Write, Delete, Generate and Miss",
                           len < 40 ? (int)len : 40, p);
        *mask |= 1u << op;
        p += len;
    }
    return 0;
}

static int compare_sizes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

int options_curve_sizes(const struct options *o, uint64_t *size, size_t *count, struct err *e)
{
    *count = 0;
    for (const char *p = o->curve_sizes; p != NULL; p += *p == ',') {
        char one[64];
        size_t len = strcspn(p, ",");
        snprintf(one, sizeof one, "%.*s", len < sizeof one ? (int)len : 0, p);
        if (*count == CURVE_MAX_SIZES)
            return err_set(e, -E2BIG, ERR_INPUT, "--curve-sizes", "more than %d capacities",
                           CURVE_MAX_SIZES);
        if (units_parse_size(one, &size[*count]) < 0 || size[*count] > (uint64_t)INT64_MAX)
            return err_set(e, -EINVAL, ERR_INPUT, "--curve-sizes",
                           "\"%.*s\" is not a capacity such as 64GiB", (int)(len & 0xfff), p);
        ++*count;
        p += len;
        if (*p == '\0')
            break;
    }
    qsort(size, *count, sizeof *size, compare_sizes);
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++)
        if (kept == 0 || size[i] != size[kept - 1])
            size[kept++] = size[i];
    *count = kept;
    return 0;
}

int options_epoch(const struct options *o, int64_t *epoch_ns, struct err *e)
{
    *epoch_ns = o->format == OPTIONS_MLPERF ? MLPERF_EPOCH_S * UNITS_NS_PER_S : 0;
    if (o->epoch == NULL)
        return 0;
    if (units_parse_decimal(o->epoch, strlen(o->epoch), 9, epoch_ns) < 0 || *epoch_ns < 0 ||
        *epoch_ns > INT64_MAX / 2)
        return err_set(e, -EINVAL, ERR_INPUT, "--epoch",
                       "\"%s\" is not a number of seconds since 1970", o->epoch);
    return 0;
}
