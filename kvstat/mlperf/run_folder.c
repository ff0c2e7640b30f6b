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

#include "kvstat/mlperf/map.h"
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
    struct jsonout *metadata; /* of the first rank */
};

/* ---- the maps ---- */

/* The values of a run, or of one option in the summary of a run. */
struct values {
    const struct figures *f; /* of the first rank; NULL in the summary */
    const struct run_folder *r;
    const char *model, *when;
    double capacity[TRACE_TIERS], option, hosts, ranks, trials, missing;
    struct mlperf_rank all; /* of all ranks and trials; NAN: one of them is not known */
};

static void put_options(struct jsonout *j, const char *name, const void *values);
static void put_missing(struct jsonout *j, const char *name, const void *values);
static void put_cpu_ranks(struct jsonout *j, const char *name, const void *values);

#define AT(f, field)       .form = MAP_##f, .at = offsetof(struct values, field)
#define ALL(field)         AT(NUMBER, all.field), .if_known = true
#define TOLD(place, words) .told = (place), .label = (words)
#define GIB                .unit = (double)UNITS_GIB
#define NOTE               "written by kvstat from replays: not an official MLPerf result"

static const struct map_row of_nothing[] = {{.name = NULL}};

/* The metadata has these members twice, as that of the benchmark does. */
#define PARAMETERS                                                                                 \
    {"num_users", "run.users", .form = MAP_WHOLE, TOLD(3, "users")},                               \
        {"duration", "elapsed_s", .form = MAP_WHOLE, TOLD(4, "duration, s")},                      \
        {"gpu_mem_gb", NULL, AT(NUMBER, capacity[TRACE_GPU]), GIB, TOLD(5, "GPU tier, GiB")},      \
        {"cpu_mem_gb", NULL, AT(NUMBER, capacity[TRACE_CPU]), GIB, TOLD(6, "CPU tier, GiB")},      \
        {"generation_mode", "run.generation_mode", .form = MAP_TEXT, TOLD(7, "generation mode")},  \
    {                                                                                              \
        "performance_profile", NULL, .form = MAP_TEXT, .text = "throughput"                        \
    }

static const struct map_row of_parameters[] = {{"model", NULL, AT(TEXT, model)},
                                               PARAMETERS,
                                               {"cache_dir", "run.target", .form = MAP_TEXT},
                                               {.name = NULL}};

const struct map_row mlperf_metadata_map[] = {
    {"benchmark_type", NULL, .form = MAP_TEXT, .text = "kv_cache"},
    {"model", NULL, AT(TEXT, model), TOLD(2, "model")},
    {"command", NULL, .form = MAP_TEXT, .text = "run"},
    {"run_datetime", NULL, AT(TEXT, when)},
    {"num_processes", NULL, .form = MAP_TEXT},
    {"accelerator", NULL, .form = MAP_TEXT},
    {"override_parameters", NULL, .form = MAP_OBJECT, .in = of_nothing},
    {"kvcache_model", NULL, AT(TEXT, model)},
    PARAMETERS,
    {"exec_type", NULL, .form = MAP_TEXT, .text = "mpi"},
    {"parameters", NULL, .form = MAP_OBJECT, .in = of_parameters},
    {"note", NULL, .form = MAP_TEXT, .text = NOTE},
    {.name = NULL}};

const struct map_row mlperf_option_map[] = {
    {"option", NULL, AT(WHOLE, option)},
    {"aggregated_read_bandwidth_gbps", "tiers.Tier-2.read.gib_per_elapsed_s", ALL(read_gbps),
     .place = 4, TOLD(1, "storage reads, GiB/s")},
    {"aggregated_write_bandwidth_gbps", "tiers.Tier-2.write.gib_per_elapsed_s", ALL(write_gbps),
     .place = 7, TOLD(2, "storage writes, GiB/s")},
    {"aggregated_avg_throughput_tokens_per_sec", "throughput.wall.generated_tokens_per_s",
     ALL(tokens_per_s), .place = 1, TOLD(3, "generated tokens/s")},
    {"aggregated_storage_throughput_tokens_per_sec", "throughput.storage.generated_tokens_per_s",
     ALL(storage_tokens_per_s), .place = 2, TOLD(4, "tokens/s of storage time")},
    /* Each reader of the benchmark uses another one of these. */
    {"aggregated_device_read_p95_ms", "tiers.Tier-2.read.device_us.p95", ALL(read_device_p95_ms),
     .place = 6, TOLD(7, "read on the device, P95 ms")},
    {"aggregated_device_write_p95_ms", "tiers.Tier-2.write.device_us.p95", ALL(write_device_p95_ms),
     .place = 8, TOLD(8, "write on the device, P95 ms")},
    {"aggregated_p95_latency_ms", "requests.storage_ms.p95", ALL(request_p95_ms), .place = 3,
     TOLD(5, "storage time of a request, P95 ms")},
    {"aggregated_storage_read_p95_ms", "tiers.Tier-2.read.service_us.p95", ALL(read_p95_ms),
     .place = 5, TOLD(6, "read, P95 ms")},
    {"rank_count", NULL, AT(WHOLE, ranks)},
    {"trial_count", NULL, AT(WHOLE, trials)},
    {"missing_files", NULL, .form = MAP_OWN, .put = put_missing},
    {"partial_failure", NULL, AT(TRUTH, missing)},
    {"cpu_tier_ranks", NULL, .form = MAP_OWN, .put = put_cpu_ranks},
    {.name = NULL}};

const struct map_row mlperf_summary_map[] = {
    {"schema_version", NULL, .form = MAP_TEXT, .text = "1.0"},
    {"run_datetime", NULL, AT(TEXT, when)},
    {"npernode", NULL, AT(WHOLE, ranks)},
    {"host_count", NULL, AT(WHOLE, hosts), TOLD(9, "hosts")},
    {"total_ranks", NULL, AT(WHOLE, ranks), TOLD(8, "ranks")},
    {"trials_per_option", NULL, AT(WHOLE, trials), TOLD(10, "trials an option")},
    {"options", NULL, .form = MAP_OWN, .put = put_options},
    {"partial_failure", NULL, AT(TRUTH, missing)},
    {"trial_failures", NULL, .form = MAP_OBJECT, .in = of_nothing},
    /* Members that only kvstat writes. */
    {"client", NULL, .form = MAP_TEXT, .text = "kvreplay", TOLD(1, "client")},
    {"note", NULL, .form = MAP_TEXT, .text = NOTE},
    {.name = NULL}};

/* ---- the folder ---- */

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
    jsonout_free(r->metadata);
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

/* Makes the metadata of the first rank, and the folder. */
static int begin(struct run_folder *r, const struct figures *f, struct err *e)
{
    const char *model = figures_text_of(f, FIGURE_OF_PROVENANCE, FIGURE_MODEL);
    struct values v = {.f = f, .model = folder_of(model), .when = r->when};
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        v.capacity[t] =
            fmax(figures_number(f, figure_id_tier(FIGURE_OF_CAPACITY, t, FIGURE_ITSELF)), 0);
    r->metadata = jsonout_create();
    if (!r->metadata)
        return err_nomem(e, "results");
    map_put(r->metadata, mlperf_metadata_map, &v);
    size_t len = strlen(r->dir);
    int n = snprintf(r->path, sizeof(r->path), "%s%skv_cache/%s/run/%s", r->dir,
                     r->dir[len - 1] == '/' ? "" : "/", v.model, r->when);
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

/* Sets what an option has in a row: P95s are the largest of all ranks, other figures are summed
 * over ranks and averaged over the trials that have any; NAN: one of them is not known. */
static void all_of(struct values *o, const struct map_row *m)
{
    const struct run_folder *r = o->r;
    const size_t field = m->at - offsetof(struct values, all);
    double sum = 0, most = NAN;
    int trials = 0;
    for (int trial = 0; trial < (int)o->trials; trial++) {
        bool any = false;
        for (size_t i = 0; i < r->ranks; i++) {
            const struct rank *k = &r->rank[i];
            if (k->option != (int)o->option || k->trial != trial)
                continue;
            double v;
            memcpy(&v, (const char *)&k->figures + field, sizeof(v));
            sum += v;
            most = fmax(most, v);
            any = true;
        }
        trials += any;
    }
    const double all = strstr(m->figure, ".p95") ? most : sum / trials;
    memcpy((char *)o + m->at, &all, sizeof(all));
}

/* How many ranks left no file that others of the option have. names: their array; NULL: they are
 * only counted. */
static int count_missing(const struct run_folder *r, int option, struct jsonout *names)
{
    const struct extent x = extent_of(r, option);
    int missing = 0;
    for (int trial = 0; trial < x.trials; trial++)
        for (int rank = 0; rank < x.ranks; rank++)
            if (!find_rank(r, option, trial, rank)) {
                char name[64];
                snprintf(name, sizeof(name), "option_%d/trial_%d/rank_%d", option, trial, rank);
                if (names)
                    jsonout_text_value(names, NULL, name);
                missing++;
            }
    return missing;
}

static void put_missing(struct jsonout *j, const char *name, const void *values)
{
    const struct values *o = values;
    jsonout_array(j, name);
    count_missing(o->r, (int)o->option, j);
    jsonout_end(j);
}

static void put_cpu_ranks(struct jsonout *j, const char *name, const void *values)
{
    const struct values *o = values;
    jsonout_array(j, name);
    for (int rank = 0; rank < (int)o->ranks; rank++) {
        const struct rank *k = find_rank(o->r, (int)o->option, 0, rank);
        if (k && k->figures.cpu_tier)
            jsonout_i64(j, NULL, rank);
    }
    jsonout_end(j);
}

static void put_options(struct jsonout *j, const char *name, const void *values)
{
    const struct values *s = values;
    jsonout_object(j, name);
    for (int option = 1; option <= OPTIONS_MAX; option++) {
        const struct extent x = extent_of(s->r, option);
        struct values o = {.r = s->r, .option = option, .ranks = x.ranks, .trials = x.trials};
        char key[16];
        if (x.trials == 0)
            continue;
        o.missing = count_missing(s->r, option, NULL);
        for (const struct map_row *m = mlperf_option_map; m->name; m++)
            if (m->figure)
                all_of(&o, m);
        snprintf(key, sizeof(key), "%d", option);
        jsonout_object(j, key);
        map_put(j, mlperf_option_map, &o);
        jsonout_end(j);
    }
    jsonout_end(j);
}

static struct jsonout *make_summary(const struct run_folder *r)
{
    struct values s = {.r = r, .when = r->when, .hosts = 1};
    struct jsonout *j = jsonout_create();
    for (int option = 1; option <= OPTIONS_MAX; option++) {
        const struct extent x = extent_of(r, option);
        s.trials = x.trials > s.trials ? x.trials : s.trials;
        s.ranks = x.ranks > s.ranks ? x.ranks : s.ranks;
        s.missing += count_missing(r, option, NULL);
    }
    if (j)
        map_put(j, mlperf_summary_map, &s);
    return j;
}

static int save(const struct run_folder *r, const char *name, struct jsonout *j, struct err *e)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "%.*s/%s", PATH_BYTES - 128, r->path, name);
    return j ? jsonout_save(j, path, e) : err_nomem(e, "results");
}

int run_folder_finish(struct run_folder *r, struct err *e)
{
    char dated[64];
    if (r->ranks == 0)
        return 0;
    struct jsonout *summary = make_summary(r);
    snprintf(dated, sizeof(dated), "kv_cache_%s_metadata.json", r->when);
    int rc = save(r, dated, r->metadata, e);
    /* Readers since version 3.0 take the first name, those before the second. */
    if (rc == 0)
        rc = save(r, "summary.json", summary, e);
    snprintf(dated, sizeof(dated), "kvcache_run_summary_%s.json", r->when);
    if (rc == 0)
        rc = save(r, dated, summary, e);
    jsonout_free(summary);
    return rc;
}
