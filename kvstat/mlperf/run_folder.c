/* Around results.c: where the file of each rank goes, and what the wrapper of the benchmark says of
 * all of them together. Its aggregators and report generators find a run by this structure. */
#include "kvstat/mlperf/run_folder.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "kvstat/mlperf/results.h"
#include "lib/base/memory.h"
#include "lib/base/units.h"
#include "lib/json/jsonout.h"

enum {
    OPTIONS_MAX = 3,
    INDEX_MAX = 9999, /* of trials and ranks */
    PATH_BYTES = 4096
};

/* The figures of a rank. */
struct rank {
    int option, trial, number;
    struct mlperf_rank figures;
};

struct run_folder {
    const char *dir;
    char when[20], path[PATH_BYTES];
    struct rank *rank;
    size_t ranks, room;
    /* The first rank's, for the metadata; owned. */
    char *model, *generation_mode, *target;
    int64_t users;
    double seconds, gpu_gib, cpu_gib;
};

bool run_folder_is_meant(const char *path)
{
    struct stat st;
    size_t len = strlen(path);
    return len > 0 && (path[len - 1] == '/' || (stat(path, &st) == 0 && S_ISDIR(st.st_mode)));
}

struct run_folder *run_folder_create(const char *dir, int64_t now_wall_ns)
{
    struct run_folder *r = calloc(1, sizeof(*r));
    time_t now = (time_t)(now_wall_ns / 1000000000);
    struct tm utc;
    if (!r)
        return NULL;
    r->dir = dir;
    gmtime_r(&now, &utc);
    strftime(r->when, sizeof(r->when), "%Y%m%d_%H%M%S", &utc);
    return r;
}

void run_folder_free(struct run_folder *r)
{
    if (!r)
        return;
    free(r->rank);
    free(r->model);
    free(r->generation_mode);
    free(r->target);
    free(r);
}

/* ---- the place of a rank ---- */

/* The number behind the last "word_" of the path; -1: there is none. */
static int index_in(const char *path, const char *word)
{
    int found = -1;
    size_t len = strlen(word);
    for (const char *p = strstr(path, word); p; p = strstr(p + 1, word)) {
        char *end;
        long n = strtol(p + len, &end, 10);
        if (end != p + len && p[len] >= '0' && p[len] <= '9' && n <= INDEX_MAX)
            found = (int)n;
    }
    return found;
}

static const struct rank *find_rank(const struct run_folder *r, int option, int trial, int number)
{
    for (size_t i = 0; i < r->ranks; i++)
        if (r->rank[i].option == option && r->rank[i].trial == trial && r->rank[i].number == number)
            return &r->rank[i];
    return NULL;
}

static int place_rank(const struct run_folder *r, struct rank *rank, const char *file,
                      struct err *e)
{
    rank->option = index_in(file, "option_");
    rank->trial = index_in(file, "trial_");
    rank->number = index_in(file, "rank_");
    if (rank->option < 0)
        rank->option = 1;
    if (rank->option < 1 || rank->option > OPTIONS_MAX)
        return err_set(e, -EINVAL, ERR_INPUT, "--mlperf",
                       "%s: is of option %d: the benchmark has options 1 to %d", file, rank->option,
                       OPTIONS_MAX);
    if (rank->number < 0)
        rank->number = 0;
    if (rank->trial < 0)
        for (rank->trial = 0; find_rank(r, rank->option, rank->trial, rank->number);)
            rank->trial++;
    if (find_rank(r, rank->option, rank->trial, rank->number))
        return err_set(e, -EINVAL, ERR_INPUT, "--mlperf",
                       "%s: another file is option %d, trial %d, rank %d too: name the files "
                       "option_N-trial_N-rank_N",
                       file, rank->option, rank->trial, rank->number);
    return 0;
}

/* ---- folders ---- */

/* Makes the folders of path, which has some of them. The last one must be new if fresh. */
static int make_folders(char *path, bool fresh, struct err *e)
{
    for (char *p = path + 1;; p++) {
        if (*p && *p != '/')
            continue;
        char end = *p;
        *p = '\0';
        bool made = mkdir(path, 0777) == 0;
        int rc = made ? 0 : -errno;
        if (rc == -EEXIST && end == '\0' && fresh)
            return err_set(e, rc, ERR_OUTPUT, path,
                           "a run of this second is there already: start it again");
        if (rc < 0 && rc != -EEXIST)
            return err_errno(e, rc, ERR_OUTPUT, path, "folder cannot be made");
        *p = end;
        if (!end)
            return 0;
    }
}

/* The model's name as that of a folder: a path keeps its last part. */
static const char *folder_of(const char *model)
{
    const char *slash = strrchr(model, '/');
    const char *name = slash ? slash + 1 : model;
    return !*name || *name == '.' ? "unknown" : name;
}

static double tier_gib(const struct figures *f, unsigned tier)
{
    double bytes = figures_number(f, figure_id_tier(FIGURE_OF_CAPACITY, tier, FIGURE_ITSELF));
    return isfinite(bytes) ? bytes / (double)UNITS_GIB : 0;
}

/* Takes what the metadata says from the first rank, and makes the folder. */
static int begin(struct run_folder *r, const struct figures *f, struct err *e)
{
    double users = figures_number(f, figure_id(FIGURE_OF_PROVENANCE, FIGURE_USERS));
    const char *model = figures_text(f, figure_id(FIGURE_OF_PROVENANCE, FIGURE_MODEL));
    r->users = isfinite(users) ? (int64_t)users : 0;
    r->seconds = figures_number(f, figure_id(FIGURE_OF_RUN, FIGURE_ELAPSED));
    r->gpu_gib = tier_gib(f, TRACE_GPU);
    r->cpu_gib = tier_gib(f, TRACE_CPU);
    r->model = strdup(folder_of(model));
    r->generation_mode =
        strdup(figures_text(f, figure_id(FIGURE_OF_PROVENANCE, FIGURE_GENERATION_MODE)));
    r->target = strdup(figures_text(f, figure_id(FIGURE_OF_PROVENANCE, FIGURE_TARGET)));
    if (!r->model || !r->generation_mode || !r->target)
        return err_nomem(e, "results");
    size_t len = strlen(r->dir);
    int n = snprintf(r->path, sizeof(r->path), "%s%skv_cache/%s/run/%s", r->dir,
                     r->dir[len - 1] == '/' ? "" : "/", r->model, r->when);
    /* Names of files and folders below take another hundred bytes. */
    if (n >= PATH_BYTES - 128)
        return err_set(e, -ENAMETOOLONG, ERR_OUTPUT, "--mlperf", "name of the folder is too long");
    return make_folders(r->path, true, e);
}

/* ---- a rank ---- */

static struct rank *new_rank(struct run_folder *r)
{
    if (memory_room(&r->rank, &r->room, r->ranks, sizeof(*r->rank), 16) < 0)
        return NULL;
    return &r->rank[r->ranks];
}

int run_folder_add(struct run_folder *r, const struct figures *f,
                   const struct verdict_limits *limits, struct err *e)
{
    char path[PATH_BYTES];
    size_t files;
    const char *file = figures_files(f, &files)[0];
    struct jsonout *j = jsonout_create();
    struct rank *rank = new_rank(r);
    int rc = j && rank ? place_rank(r, rank, file, e) : err_nomem(e, "results");
    if (rc == 0 && !mlperf_results(j, f, limits, &rank->figures))
        rc = err_set(e, -EINVAL, ERR_INPUT, "--mlperf",
                     "%s is a trace: results are those of a replay", file);
    if (rc == 0 && r->ranks == 0)
        rc = begin(r, f, e);
    if (rc < 0)
        goto out;
    snprintf(path, sizeof(path), "%.*s/option_%d/trial_%d/rank_%d", PATH_BYTES - 128, r->path,
             rank->option, rank->trial, rank->number);
    rc = make_folders(path, true, e);
    if (rc < 0)
        goto out;
    size_t len = strlen(path);
    snprintf(path + len, sizeof(path) - len, "/kvcache_results_%s.json", r->when);
    rc = jsonout_save(j, path, e);
    r->ranks += rc == 0;
out:
    jsonout_free(j);
    return rc;
}

/* ---- all of them ---- */

static double of_rank(const struct rank *k, size_t field)
{
    double v;
    memcpy(&v, (const char *)&k->figures + field, sizeof(v));
    return v;
}
#define FIELD(name) offsetof(struct mlperf_rank, name)

/* Highest trial or rank of an option, and how many there are. */
struct extent {
    int trials, ranks;
};

static struct extent extent_of(const struct run_folder *r, int option)
{
    struct extent x = {0, 0};
    for (size_t i = 0; i < r->ranks; i++) {
        const struct rank *k = &r->rank[i];
        if (k->option != option)
            continue;
        x.trials = k->trial >= x.trials ? k->trial + 1 : x.trials;
        x.ranks = k->number >= x.ranks ? k->number + 1 : x.ranks;
    }
    return x;
}

/* Summed over ranks, averaged over the trials that have any; NAN: one of them is not known. */
static double summed(const struct run_folder *r, int option, size_t field)
{
    const struct extent x = extent_of(r, option);
    double sum = 0;
    int trials = 0;
    for (int trial = 0; trial < x.trials; trial++) {
        bool any = false;
        for (size_t i = 0; i < r->ranks; i++)
            if (r->rank[i].option == option && r->rank[i].trial == trial) {
                sum += of_rank(&r->rank[i], field);
                any = true;
            }
        trials += any;
    }
    return trials > 0 ? sum / trials : NAN;
}

/* NAN: none has it. */
static double largest(const struct run_folder *r, int option, size_t field)
{
    double most = NAN;
    for (size_t i = 0; i < r->ranks; i++)
        if (r->rank[i].option == option)
            most = fmax(most, of_rank(&r->rank[i], field));
    return most;
}

static void put_known(struct jsonout *j, const char *key, double v)
{
    if (isfinite(v))
        jsonout_f64(j, key, v);
}

/* "trial_1/rank_0": files that others of the option have. Returns how many. */
static int put_missing(struct jsonout *j, const struct run_folder *r, int option)
{
    const struct extent x = extent_of(r, option);
    int missing = 0;
    jsonout_array(j, "missing_files");
    for (int trial = 0; trial < x.trials; trial++)
        for (int rank = 0; rank < x.ranks; rank++)
            if (!find_rank(r, option, trial, rank)) {
                char name[64];
                snprintf(name, sizeof(name), "option_%d/trial_%d/rank_%d", option, trial, rank);
                jsonout_text_value(j, NULL, name);
                missing++;
            }
    jsonout_end(j);
    return missing;
}

/* Returns how many files are missing. */
static int put_option(struct jsonout *j, const struct run_folder *r, int option)
{
    const struct extent x = extent_of(r, option);
    char key[16];
    snprintf(key, sizeof(key), "%d", option);
    jsonout_object(j, key);
    jsonout_i64(j, "option", option);
    put_known(j, "aggregated_read_bandwidth_gbps", summed(r, option, FIELD(read_gbps)));
    put_known(j, "aggregated_write_bandwidth_gbps", summed(r, option, FIELD(write_gbps)));
    put_known(j, "aggregated_avg_throughput_tokens_per_sec",
              summed(r, option, FIELD(tokens_per_s)));
    put_known(j, "aggregated_storage_throughput_tokens_per_sec",
              summed(r, option, FIELD(storage_tokens_per_s)));
    /* Each of its readers has another of these. */
    put_known(j, "aggregated_device_read_p95_ms", largest(r, option, FIELD(read_device_p95_ms)));
    put_known(j, "aggregated_device_write_p95_ms", largest(r, option, FIELD(write_device_p95_ms)));
    put_known(j, "aggregated_p95_latency_ms", largest(r, option, FIELD(request_p95_ms)));
    put_known(j, "aggregated_storage_read_p95_ms", largest(r, option, FIELD(read_p95_ms)));
    jsonout_i64(j, "rank_count", x.ranks);
    jsonout_i64(j, "trial_count", x.trials);
    int missing = put_missing(j, r, option);
    jsonout_bool(j, "partial_failure", missing > 0);
    jsonout_array(j, "cpu_tier_ranks");
    for (int rank = 0; rank < x.ranks; rank++) {
        const struct rank *k = find_rank(r, option, 0, rank);
        if (k && k->figures.cpu_tier)
            jsonout_i64(j, NULL, rank);
    }
    jsonout_end(j);
    jsonout_end(j);
    return missing;
}

static void put_summary(struct jsonout *j, const struct run_folder *r)
{
    struct extent most = {0, 0};
    int missing = 0;
    for (int option = 1; option <= OPTIONS_MAX; option++) {
        const struct extent x = extent_of(r, option);
        most.trials = x.trials > most.trials ? x.trials : most.trials;
        most.ranks = x.ranks > most.ranks ? x.ranks : most.ranks;
    }
    jsonout_text_value(j, "schema_version", "1.0");
    jsonout_text_value(j, "run_datetime", r->when);
    jsonout_i64(j, "npernode", most.ranks);
    jsonout_i64(j, "host_count", 1);
    jsonout_i64(j, "total_ranks", most.ranks);
    jsonout_i64(j, "trials_per_option", most.trials);
    jsonout_object(j, "options");
    for (int option = 1; option <= OPTIONS_MAX; option++)
        if (extent_of(r, option).trials > 0)
            missing += put_option(j, r, option);
    jsonout_end(j);
    jsonout_bool(j, "partial_failure", missing > 0);
    jsonout_object(j, "trial_failures");
    jsonout_end(j);
    jsonout_text_value(j, "client", "kvreplay"); /* compare_runs.c tells ours by it */
    jsonout_text_value(j, "note", "written by kvstat from replays: not an official MLPerf result");
}

/* The parameters stand in it twice, as in the benchmark's. */
static void put_parameters(struct jsonout *j, const struct run_folder *r)
{
    jsonout_i64(j, "num_users", r->users);
    jsonout_i64(j, "duration", llround(r->seconds));
    jsonout_f64(j, "gpu_mem_gb", r->gpu_gib);
    jsonout_f64(j, "cpu_mem_gb", r->cpu_gib);
    jsonout_text_value(j, "generation_mode", r->generation_mode);
    jsonout_text_value(j, "performance_profile", "throughput");
}

static void put_metadata(struct jsonout *j, const struct run_folder *r)
{
    jsonout_text_value(j, "benchmark_type", "kv_cache");
    jsonout_text_value(j, "model", r->model);
    jsonout_text_value(j, "command", "run");
    jsonout_text_value(j, "run_datetime", r->when);
    jsonout_null(j, "num_processes");
    jsonout_null(j, "accelerator");
    jsonout_object(j, "override_parameters");
    jsonout_end(j);
    jsonout_text_value(j, "kvcache_model", r->model);
    put_parameters(j, r);
    jsonout_text_value(j, "exec_type", "mpi");
    jsonout_object(j, "parameters");
    jsonout_text_value(j, "model", r->model);
    put_parameters(j, r);
    jsonout_text_value(j, "cache_dir", r->target);
    jsonout_end(j);
    jsonout_text_value(j, "note", "written by kvstat from replays: not an official MLPerf result");
}

static int save(const struct run_folder *r, const char *name,
                void (*put)(struct jsonout *, const struct run_folder *), struct err *e)
{
    char path[PATH_BYTES];
    struct jsonout *j = jsonout_create();
    if (!j)
        return err_nomem(e, "results");
    snprintf(path, sizeof(path), "%.*s/%s", PATH_BYTES - 128, r->path, name);
    put(j, r);
    int rc = jsonout_save(j, path, e);
    jsonout_free(j);
    return rc;
}

int run_folder_finish(struct run_folder *r, struct err *e)
{
    char dated[64];
    if (r->ranks == 0)
        return 0;
    snprintf(dated, sizeof(dated), "kv_cache_%s_metadata.json", r->when);
    int rc = save(r, dated, put_metadata, e);
    /* Readers since version 3.0 take the first name, those before the second. */
    if (rc == 0)
        rc = save(r, "summary.json", put_summary, e);
    snprintf(dated, sizeof(dated), "kvcache_run_summary_%s.json", r->when);
    return rc == 0 ? save(r, dated, put_summary, e) : rc;
}
