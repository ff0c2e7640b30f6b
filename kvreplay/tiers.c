/* Opens and closes what a replay runs against, in the right order: target, engines; engines,
 * target. How much room each has was decided in capacity.c before. */
#include "kvreplay/tiers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/units.h"
#include "lib/io/io.h"

static int engine_error(struct err *e, const char *text, const char *why)
{
    return err_set(e, -EINVAL, ERR_INPUT, "--tier-engine", "%s: %s", text, why);
}

static int sim_stall(struct tier_sim_opts *sim, char *text)
{
    char *plus = strchr(text, '+');
    if (!plus)
        return -EINVAL;
    *plus = '\0';
    int rc = units_parse_duration(text, &sim->stall_at_ns);
    return rc < 0 ? rc : units_parse_duration(plus + 1, &sim->stall_ns);
}

static int sim_servers(struct tier_sim_opts *sim, const char *text)
{
    uint64_t n;
    if (units_parse_u64(text, &n) < 0 || n < 1 || n > TIER_SIM_SERVERS_MAX)
        return -EINVAL;
    sim->servers = (unsigned)n;
    return 0;
}

static int sim_part(struct tier_sim_opts *sim, char *part)
{
    if (strncmp(part, "bw=", 3) == 0) {
        int rc = units_parse_bandwidth(part + 3, &sim->bytes_per_s);
        return rc == 0 && sim->bytes_per_s == 0 ? -ERANGE : rc;
    }
    if (strncmp(part, "lat=", 4) == 0)
        return units_parse_duration(part + 4, &sim->latency_ns);
    if (strncmp(part, "servers=", 8) == 0)
        return sim_servers(sim, part + 8);
    if (strncmp(part, "stall=", 6) == 0)
        return sim_stall(sim, part + 6);
    return -EINVAL;
}

static int engine_sim(struct tiers_choice *c, const char *text, const char *args, struct err *e)
{
    char buf[128], *save = NULL;
    if (snprintf(buf, sizeof(buf), "%s", args) >= (int)sizeof(buf))
        return engine_error(e, text, "too long");
    for (char *part = strtok_r(buf, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
        if (sim_part(&c->sim, part) < 0)
            return engine_error(
                e, text,
                "expected bw=RATE, lat=TIME, servers=N (1 to 256) and stall=AT+TIME behind sim:");
    }
    return 0;
}

/* "N=sim:bw=2GB/s,lat=100us,servers=8,stall=1s+500ms", "N=null", "N=mem". */
static int engine_parse(struct tiers *t, const char *text, struct err *e)
{
    if (text[0] < '0' || text[0] > '2' || text[1] != '=')
        return engine_error(e, text, "expected 0=, 1= or 2= and an engine");
    struct tiers_choice *c = &t->choice[text[0] - '0'];
    const char *engine = text + 2;
    *c = (struct tiers_choice){.sim.label = "simulated"};
    if (strcmp(engine, "null") == 0)
        c->kind = TIERS_NULL;
    else if (strcmp(engine, "mem") == 0)
        c->kind = TIERS_HOST;
    else if (strcmp(engine, "sim") == 0 || strncmp(engine, "sim:", 4) == 0)
        c->kind = TIERS_SIM;
    else
        return engine_error(e, text, "expected sim, null or mem");
    return c->kind == TIERS_SIM && engine[3] ? engine_sim(c, text, engine + 4, e) : 0;
}

static int gpu_error(struct err *e, const char *text, const char *why)
{
    return err_set(e, -EINVAL, ERR_INPUT, "--gpu", "%s: %s", text, why);
}

static bool has_gpu(const struct tiers_choice *c, int number)
{
    for (unsigned i = 0; i < c->gpus; i++) {
        if (c->gpu[i] == number)
            return true;
    }
    return false;
}

/* "0,1,3" */
static int parse_gpus(struct tiers_choice *c, const char *text, struct err *e)
{
    for (const char *at = text, *end;; at = end + 1) {
        uint64_t number;
        end = strchrnul(at, ',');
        if (units_parse_digits(at, (size_t)(end - at), &number) < 0 || number > 1023)
            return gpu_error(
                e, text, "expected device numbers with commas between, all, auto, off or require");
        if (has_gpu(c, (int)number))
            return gpu_error(e, text, "names a GPU twice");
        if (c->gpus == TIER_GPU_MAX)
            return gpu_error(e, text, "more than 16 GPUs");
        c->gpu[c->gpus++] = (int)number;
        if (!*end)
            return 0;
    }
}

/* Of the count that there are. */
static int take_gpus(struct tiers_choice *c, const char *text, int count, const char *why,
                     struct err *e)
{
    bool all = strcmp(text, "all") == 0;

    if (all && count > TIER_GPU_MAX)
        return gpu_error(e, text, "more than 16 GPUs: name the ones to use");
    if (c->gpus == 0) /* not by number */
        c->gpus = all && count > 1 ? (unsigned)count : 1;
    for (unsigned i = 0; all && i < c->gpus; i++)
        c->gpu[i] = (int)i;
    for (unsigned i = 0; i < c->gpus; i++) {
        if (c->gpu[i] >= count)
            return err_set(e, -ENODEV, ERR_TARGET, "--gpu", "%s: no such GPU (%d seen%s%s)", text,
                           count, count ? "" : "; ", count ? "" : why);
    }
    c->kind = TIERS_GPU;
    return 0;
}

/* A GPU that was asked for must be there, whether the trace has rows for it or not. */
static int choose_gpu(struct tiers_choice *c, const struct options *o, bool rows, struct err *e)
{
    char why[200] = "--gpu off";
    bool automatic = strcmp(o->gpu, "auto") == 0, off = strcmp(o->gpu, "off") == 0;
    bool named = !automatic && !off && strcmp(o->gpu, "require") != 0 && strcmp(o->gpu, "all") != 0;
    int rc = named ? parse_gpus(c, o->gpu, e) : 0;

    if (rc < 0)
        return rc;
    if (c->kind != TIERS_NONE && !automatic && !off)
        return gpu_error(e, o->gpu, "has no meaning with another engine under tier 0");
    if (c->kind != TIERS_NONE || ((automatic || off) && !rows))
        return 0;
    int count = off ? 0 : tier_gpu_count(why, sizeof(why));
    if (count > 0 || (!automatic && !off))
        return take_gpus(c, o->gpu, count, why, e);
    c->kind = TIERS_SIM;
    c->sim = (struct tier_sim_opts){
        .bytes_per_s = o->gpu_bandwidth, .latency_ns = o->gpu_latency_ns, .label = "simulated GPU"};
    snprintf(c->instead, sizeof(c->instead), "no GPU used: %s", why);
    return 0;
}

static void choose_one(struct tiers *t, const struct options *o, unsigned i)
{
    struct tiers_choice *c = &t->choice[i];
    if (o->null)
        c->kind = TIERS_NULL;
    if (c->kind != TIERS_NONE) /* by --null, --tier-engine or choose_gpu */
        return;
    if (i == TRACE_CPU)
        c->kind = TIERS_HOST;
    else if (o->nvme)
        c->kind = TIERS_STORAGE;
}

int tiers_choose(struct tiers *t, const struct options *o, const struct survey *surveyed,
                 struct err *e)
{
    for (size_t i = 0; i < o->tier_engine.count; i++) {
        int rc = engine_parse(t, o->tier_engine.item[i], e);
        if (rc < 0)
            return rc;
    }
    if (o->nvme && t->choice[TRACE_STORAGE].kind != TIERS_NONE)
        return err_set(e, -EINVAL, ERR_INPUT, "--nvme",
                       "has no meaning with another engine under tier 2");
    bool gpu_rows = !surveyed || surveyed->tier_rows[TRACE_GPU] > 0;
    int rc = o->null ? 0 : choose_gpu(&t->choice[TRACE_GPU], o, gpu_rows, e);
    if (rc < 0)
        return rc;
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        bool rows = !surveyed || surveyed->tier_rows[i] > 0;
        choose_one(t, o, i);
        if (!rows)
            t->choice[i].kind = TIERS_NONE;
        else if (surveyed && t->choice[i].kind == TIERS_NONE)
            return err_set(
                e, -EINVAL, ERR_INPUT, "--nvme",
                "the trace has Tier-2 rows: a directory, file or device for them is needed");
    }
    return 0;
}

/* ---- opening ---- */

static int open_storage(struct tiers *t, const struct options *o, const struct survey *surveyed,
                        struct bell *bell, unsigned i, struct err *e)
{
    int rc = storage_open(&t->storage, o, surveyed, &t->room[i], e);
    if (rc < 0)
        return rc;
    struct tier_storage_opts s = {.dirfd = t->storage.fd,
                                  .slab = t->storage.slab,
                                  .path = t->storage.path,
                                  .engine = (enum io_engine)o->ioengine,
                                  .chunk_bytes = o->chunk_bytes,
                                  .iodepth = options_iodepth(o),
                                  .threads = (unsigned)o->rings,
                                  .sqpoll = o->sqpoll,
                                  .iopoll = o->iopoll,
                                  .buffered = o->buffered,
                                  .sync_objects = o->sync == SYNC_OBJECT,
                                  .max_ops = (unsigned)o->inflight};
    rc = data_shape(o->compress_ratio, o->dedup_ratio, &s.shape);
    if (rc < 0)
        return err_set(e, rc, ERR_INPUT, "--compress-ratio", "out of range");
    return tier_storage_open(&t->tier[i], &s, bell, e);
}

static unsigned host_threads(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    return cpus < 2 ? 1 : cpus > 8 ? 4 : (unsigned)cpus / 2;
}

static int open_one(struct tiers *t, const struct options *o, const struct survey *surveyed,
                    struct bell *bell, unsigned i, struct err *e)
{
    const struct tiers_choice *c = &t->choice[i];
    uint64_t objects = t->slack_objects[i];
    struct tier_host_opts host = {.capacity = t->arena[i],
                                  .max_objects = objects,
                                  .threads = host_threads(),
                                  .prefault = t->exact[i],
                                  .wrap = t->wrap[i],
                                  .max_ops = (unsigned)o->inflight};
    struct tier_gpu_opts gpu = {.gpus = c->gpus,
                                .capacity = t->arena[i],
                                .max_objects = objects,
                                .wrap = t->wrap[i],
                                .chunk_bytes = o->chunk_bytes,
                                .max_ops = (unsigned)o->inflight};
    memcpy(gpu.gpu, c->gpu, sizeof(gpu.gpu));
    switch (c->kind) {
    case TIERS_STORAGE:
        return open_storage(t, o, surveyed, bell, i, e);
    case TIERS_HOST:
        return tier_host_open(&t->tier[i], &host, bell, e);
    case TIERS_GPU:
        return tier_gpu_open(&t->tier[i], &gpu, bell, e);
    case TIERS_SIM:
        return tier_sim_open(&t->tier[i], &c->sim, bell, e);
    case TIERS_NULL:
        return tier_null_open(&t->tier[i], bell, e);
    case TIERS_NONE:
        break;
    }
    return 0;
}

static void describe_one(struct tiers *t, unsigned i)
{
    struct tier_info *info = &t->info[i];

    t->tier[i]->ops->describe(t->tier[i], info);
    t->verifies[i] = info->verifies;
    if (t->choice[i].instead[0])
        notes_add(&info->fallbacks, "%s", t->choice[i].instead);
    if (t->choice[i].kind == TIERS_STORAGE && !info->device[0])
        snprintf(info->device, sizeof(info->device), "%.63s%s%.63s", t->storage.device.name,
                 t->storage.device.model[0] ? " " : "", t->storage.device.model);
}

void tiers_describe(struct tiers *t)
{
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        if (t->tier[i])
            describe_one(t, i);
    }
}

void tiers_began(struct tiers *t)
{
    tiers_describe(t);
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        t->ios_before[i] = t->info[i].ios;
        t->io_ns_before[i] = t->info[i].io_ns;
    }
}

unsigned tiers_threads(const struct tiers *t)
{
    unsigned n = 0;
    for (unsigned i = 0; i < TRACE_TIERS; i++)
        n += t->info[i].threads;
    return n;
}

int tiers_open(struct tiers *t, const struct options *o, const struct survey *surveyed,
               struct bell *bell, struct err *e)
{
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        int rc = open_one(t, o, surveyed, bell, i, e);
        if (rc < 0) {
            if (e->class == ERR_FAILED)
                e->class = ERR_TARGET;
            return rc;
        }
    }
    tiers_describe(t);
    return 0;
}

int tiers_close(struct tiers *t, bool keep, const struct objects *objects, struct err *e)
{
    int first = 0;
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        int rc = t->tier[i] ? t->tier[i]->ops->close(t->tier[i], first ? NULL : e) : 0;
        first = first ? first : rc;
        t->tier[i] = NULL;
    }
    int rc = storage_close(&t->storage, keep, objects, first ? NULL : e);
    return first ? first : rc;
}
