/* Speed of the storage tier: writes then reads N objects, prints GiB/s, CPU seconds per GiB and the
 * mean number of I/Os in flight. bench_storage [DIR [objects [object-MiB [chunk-KiB [iodepth
 * [inflight [threads]]]]]]]. Without DIR a small run in $TMPDIR. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "lib/base/clock.h"
#include "lib/io/io.h"
#include "lib/io/target_dir.h"
#include "lib/tier/tier.h"

struct bench {
    struct tier *tier;
    struct bell *bell;
    struct tier_op *ops;
    unsigned objects, inflight;
    uint64_t size;
};

static double cpu_s(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void prepare(struct bench *b, unsigned i, enum tier_verb verb)
{
    struct tier_op *op = &b->ops[i];

    *op = (struct tier_op){.verb = verb, .verify = TIER_VERIFY_HEADER, .size = b->size};
    op->name = op->id.key = hash_128(&i, sizeof(i));
    op->id.generation = 1;
}

static unsigned collect(struct bench *b, unsigned *failed)
{
    struct tier_op *done[64];
    size_t n = b->tier->ops->poll(b->tier, done, 64);

    for (size_t i = 0; i < n; i++)
        if (done[i]->status < 0)
            ++*failed;
    return (unsigned)n;
}

static void run(struct bench *b, enum tier_verb verb, const char *name)
{
    struct tier_info before, after;
    unsigned issued = 0, finished = 0, failed = 0;
    double cpu = cpu_s(), s, gib = (double)b->objects * (double)b->size / (double)(1 << 30);
    int64_t start = clock_now_ns();

    b->tier->ops->describe(b->tier, &before);
    while (finished < b->objects) {
        uint32_t seen = bell_seen(b->bell);
        unsigned n = collect(b, &failed);

        finished += n;
        while (issued < b->objects && issued - finished < b->inflight) {
            prepare(b, issued, verb);
            b->tier->ops->submit(b->tier, &b->ops[issued++]);
        }
        b->tier->ops->kick(b->tier);
        if (n == 0)
            bell_wait(b->bell, seen, INT64_MAX);
    }
    s = 1e-9 * (double)(clock_now_ns() - start);
    cpu = cpu_s() - cpu;
    b->tier->ops->describe(b->tier, &after);
    printf("%-6s %8.3f GiB/s  %9.0f objects/s  %6.3f CPU s/GiB  %6.2f in flight  %u failed\n", name,
           gib / s, (double)b->objects / s, gib > 0 ? cpu / gib : 0,
           1e-9 * (double)(after.io_ns - before.io_ns) / s, failed);
}

static unsigned long arg(int argc, char **argv, int i, unsigned long otherwise)
{
    return argc > i ? strtoul(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    struct bench b = {.objects = (unsigned)arg(argc, argv, 2, 8),
                      .size = arg(argc, argv, 3, 16) << 20,
                      .inflight = (unsigned)arg(argc, argv, 6, 64)};
    struct tier_storage_opts o = {.epoch = 1,
                                  .chunk_bytes = arg(argc, argv, 4, 1024) << 10,
                                  .iodepth = (unsigned)arg(argc, argv, 5, 16),
                                  .threads = (unsigned)arg(argc, argv, 7, 1),
                                  .max_ops = b.inflight};
    const char *tmp = getenv("TMPDIR");
    char dir[4096], line[1200];
    struct target_dir *t = NULL;
    struct tier_info info;
    char fallbacks[NOTES_JOINED_CAP];
    struct err e = {0};
    int ret;

    if (b.size == 0)
        b.size = 16384;
    snprintf(dir, sizeof(dir), "%s/bench_storage", argc > 1 ? argv[1] : tmp ? tmp : "/tmp");
    if (getenv("BENCH_ENGINE") && strcmp(getenv("BENCH_ENGINE"), "psync") == 0)
        o.engine = IO_PSYNC;
    b.bell = bell_create();
    b.ops = calloc(b.objects, sizeof(*b.ops));
    ret = b.bell && b.ops
              ? target_dir_open(&t, &(struct target_dir_opts){.path = dir, .program = "bench"}, &e)
              : -1;
    if (ret == 0) {
        o.dirfd = target_dir_fd(t);
        o.path = target_dir_path(t);
        ret = tier_storage_open(&b.tier, &o, b.bell, &e);
    }
    if (ret == 0) {
        b.tier->ops->describe(b.tier, &info);
        printf("%s on %s %s %s\n", info.engine, info.target, info.device,
               notes_join(&info.fallbacks, "; ", fallbacks, sizeof(fallbacks)));
        run(&b, TIER_WRITE, "write");
        run(&b, TIER_READ, "read");
        run(&b, TIER_WRITE, "again");
        run(&b, TIER_DELETE, "delete");
        ret = b.tier->ops->close(b.tier, &e);
    }
    if (ret < 0) {
        err_format(&e, "bench_storage", line, sizeof(line));
        fprintf(stderr, "%s\n", line);
    }
    target_dir_close(t, false, NULL);
    free(b.ops);
    bell_free(b.bell);
    return ret < 0;
}
