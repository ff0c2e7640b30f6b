/* Small objects as files: creates (openat, write, close) and reads (openat, read, close) per second
 * with 64 in flight, by the storage tier and by bare loops of the same system calls through
 * io_uring, in turns (ABCCBA) on the same directory: one links the three calls of a file, with
 * direct descriptors; the other opens what it creates itself, and links write and close, as the
 * tier does. Prints the rates and the geometric means of their ratios; judges nothing.
 * bench_small_files [DIR [objects [KiB [pairs [rings]]]]]. */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/io/io.h"
#include "lib/io/target_dir.h"
#include "lib/tier/tier.h"

enum {
    IN_FLIGHT = 64,
    FOLDERS = 256,
    REAP = 256
};

/* ---- the bare loop ---- */

struct bare {
    struct io_uring ring;
    char *pool;
    uint32_t bytes;
    int dirfd, folder[FOLDERS];
    int free_slot[IN_FLIGHT];
    unsigned free_count;
    unsigned calls_left[IN_FLIGHT];
    char name[IN_FLIGHT][48];
    unsigned failed;
    bool opens_here; /* what it creates, with a call of its own */
};

static int bare_open(struct bare *b, int dirfd, uint32_t bytes)
{
    struct iovec v[IN_FLIGHT];
    int ret;

    *b = (struct bare){.dirfd = dirfd, .bytes = bytes};
    b->pool = io_buffers_map((size_t)IN_FLIGHT * bytes, IO_PAGES_HUGE);
    if (!b->pool)
        return -ENOMEM;
    ret = io_uring_queue_init(IN_FLIGHT * 4, &b->ring,
                              IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
    if (ret < 0)
        return ret;
    for (unsigned i = 0; i < IN_FLIGHT; i++) {
        v[i] = (struct iovec){.iov_base = b->pool + (size_t)i * bytes, .iov_len = bytes};
        b->free_slot[b->free_count++] = (int)i;
    }
    ret = io_uring_register_buffers(&b->ring, v, IN_FLIGHT);
    if (ret == 0)
        ret = io_uring_register_files_sparse(&b->ring, IN_FLIGHT);
    for (unsigned i = 0; ret == 0 && i < FOLDERS; i++) {
        char name[8];

        snprintf(name, sizeof(name), "%02x", i);
        if (mkdirat(dirfd, name, 0755) < 0 && errno != EEXIST)
            ret = -errno;
        b->folder[i] = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    return ret;
}

static void bare_close(struct bare *b)
{
    io_uring_queue_exit(&b->ring);
    for (unsigned i = 0; i < FOLDERS; i++)
        close(b->folder[i]);
    io_buffers_unmap(b->pool, (size_t)IN_FLIGHT * b->bytes);
}

static unsigned bare_name(char name[48], unsigned i)
{
    struct hash128 h = hash_128(&i, sizeof(i));
    char hex[HASH_HEX_LEN + 1];

    hash_hex(h, hex);
    hex[HASH_HEX_LEN] = '\0';
    snprintf(name, 48, "%s.kv", hex);
    return (unsigned)(h.hi >> 56);
}

static struct io_uring_sqe *bare_sqe(struct bare *b, int slot)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&b->ring);

    b->calls_left[slot]++;
    return sqe;
}

/* direct: in the ring's table of files, by a call that the next one waits for. */
static int bare_open_file(struct bare *b, int slot, unsigned folder, int flags, bool direct)
{
    if (!direct)
        return openat(b->folder[folder], b->name[slot], flags | O_CLOEXEC, 0644);
    struct io_uring_sqe *sqe = bare_sqe(b, slot);
    io_uring_prep_openat_direct(sqe, b->folder[folder], b->name[slot], flags, 0644, (unsigned)slot);
    sqe->flags |= IOSQE_IO_LINK;
    io_uring_sqe_set_data64(sqe, (unsigned)slot);
    return slot;
}

static void bare_issue(struct bare *b, unsigned i, bool write)
{
    int slot = b->free_slot[--b->free_count];
    int flags = (write ? O_RDWR | O_CREAT | O_TRUNC : O_RDONLY) | O_NOFOLLOW | O_DIRECT;
    unsigned folder = bare_name(b->name[slot], i);
    char *buf = b->pool + (size_t)slot * b->bytes;
    bool direct = !write || !b->opens_here;
    int fd = bare_open_file(b, slot, folder, flags, direct);
    struct io_uring_sqe *sqe = bare_sqe(b, slot);

    if (write)
        io_uring_prep_write_fixed(sqe, fd, buf, b->bytes, 0, slot);
    else
        io_uring_prep_read_fixed(sqe, fd, buf, b->bytes, 0, slot);
    sqe->flags |= (uint8_t)(IOSQE_IO_LINK | (direct ? IOSQE_FIXED_FILE : 0));
    io_uring_sqe_set_data64(sqe, (unsigned)slot);
    sqe = bare_sqe(b, slot);
    if (direct)
        io_uring_prep_close_direct(sqe, (unsigned)slot);
    else
        io_uring_prep_close(sqe, fd);
    io_uring_sqe_set_data64(sqe, (unsigned)slot);
}

static unsigned bare_reap(struct bare *b)
{
    struct io_uring_cqe *cqe[REAP];
    unsigned n = io_uring_peek_batch_cqe(&b->ring, cqe, REAP), done = 0;

    for (unsigned i = 0; i < n; i++) {
        unsigned slot = (unsigned)cqe[i]->user_data;

        b->failed += cqe[i]->res < 0;
        if (--b->calls_left[slot] > 0)
            continue;
        b->free_slot[b->free_count++] = (int)slot;
        done++;
    }
    io_uring_cq_advance(&b->ring, n);
    return done;
}

/* Files per second. */
static double bare_run(struct bare *b, unsigned first, unsigned files, bool write)
{
    int64_t start = clock_now_ns();
    unsigned issued = 0, done = 0;

    while (done < files) {
        while (issued < files && b->free_count > 0)
            bare_issue(b, first + issued++, write);
        io_uring_submit_and_wait(&b->ring, 1);
        done += bare_reap(b);
    }
    return (double)files * 1e9 / (double)(clock_now_ns() - start);
}

/* ---- the storage tier ---- */

struct ours {
    struct tier *tier;
    struct bell *bell;
    struct tier_op op[IN_FLIGHT], *spare;
    void **place;
    uint64_t bytes;
    unsigned failed;
};

static void ours_issue(struct ours *o, unsigned first, unsigned i, enum tier_verb verb)
{
    unsigned number = first + i;
    struct tier_op *op = o->spare;

    o->spare = op->next;
    *op = (struct tier_op){.verb = verb,
                           .verify = TIER_VERIFY_HEADER,
                           .size = o->bytes,
                           .place = o->place[i],
                           .owner = &o->place[i]};
    op->name = op->id.key = hash_128(&number, sizeof(number));
    op->id.generation = 1;
    o->tier->ops->submit(o->tier, op);
}

static unsigned ours_reap(struct ours *o)
{
    struct tier_op *done[IN_FLIGHT];
    size_t n = o->tier->ops->poll(o->tier, done, IN_FLIGHT);

    for (size_t i = 0; i < n; i++) {
        o->failed += done[i]->status < 0;
        *(void **)done[i]->owner = done[i]->place;
        done[i]->next = o->spare;
        o->spare = done[i];
    }
    return (unsigned)n;
}

static double ours_run(struct ours *o, unsigned first, unsigned files, enum tier_verb verb)
{
    int64_t start = clock_now_ns();
    unsigned issued = 0, done = 0;

    while (done < files) {
        uint32_t seen = bell_seen(o->bell);
        unsigned n = ours_reap(o);

        done += n;
        while (issued < files && o->spare)
            ours_issue(o, first, issued++, verb);
        o->tier->ops->kick(o->tier);
        if (n == 0)
            bell_wait(o->bell, seen, INT64_MAX);
    }
    return (double)files * 1e9 / (double)(clock_now_ns() - start);
}

static int ours_open(struct ours *o, struct target_dir *t, unsigned files, uint32_t bytes,
                     unsigned rings, struct err *e)
{
    struct tier_storage_opts s = {.dirfd = target_dir_fd(t),
                                  .epoch = 1,
                                  .path = target_dir_path(t),
                                  .chunk_bytes = bytes,
                                  .iodepth = IN_FLIGHT,
                                  .threads = rings,
                                  .max_ops = IN_FLIGHT};

    o->bytes = bytes;
    o->bell = bell_create();
    o->place = calloc(files, sizeof(*o->place));
    if (!o->bell || !o->place)
        return err_nomem(e, "bench");
    for (unsigned i = 0; i < IN_FLIGHT; i++) {
        o->op[i].next = o->spare;
        o->spare = &o->op[i];
    }
    return tier_storage_open(&o->tier, &s, o->bell, e);
}

/* ---- in turns ---- */

enum side {
    LINKED,
    HERE,
    TIER,
    SIDES
};

struct span {
    unsigned first, files; /* numbers of files */
};

/* Creates and then reads files of names that were never used: file systems are slow to take up
 * again what was just removed. */
static void turn(struct bare *b, struct ours *o, enum side side, struct span s, double rate[2])
{
    for (unsigned k = 0; k < 2; k++) {
        b->opens_here = side == HERE;
        rate[k] = side == TIER ? ours_run(o, s.first, s.files, k ? TIER_READ : TIER_WRITE)
                               : bare_run(b, s.first, s.files, k == 0);
    }
}

static void run(struct bare *b, struct ours *o, unsigned files, unsigned pairs)
{
    static const char *const name[SIDES] = {"linked", "opens here", "tier"};
    double logs[SIDES][2] = {0}, rate[2];

    for (unsigned i = 0; i < pairs; i++) {
        for (unsigned t = 0; t < 2 * SIDES; t++) {
            enum side side = (enum side)(t < SIDES ? t : 2 * SIDES - 1 - t);

            turn(b, o, side, (struct span){(2 * SIDES * i + t) * files, files}, rate);
            printf("%s%s %.0f %.0f", t ? ", " : "create, read a second: ", name[side], rate[0],
                   rate[1]);
            for (unsigned k = 0; k < 2; k++)
                logs[side][k] += log(rate[k]) / 2 / pairs;
        }
        printf("\n");
    }
    printf("geometric means: tier / linked: create %.3f, read %.3f; opens here / linked: create "
           "%.3f; %u and %u failed\n",
           exp(logs[TIER][0] - logs[LINKED][0]), exp(logs[TIER][1] - logs[LINKED][1]),
           exp(logs[HERE][0] - logs[LINKED][0]), o->failed, b->failed);
}

static unsigned arg(int argc, char **argv, int i, unsigned otherwise)
{
    return argc > i ? (unsigned)strtoul(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    unsigned files = arg(argc, argv, 2, 4000), bytes = arg(argc, argv, 3, 16) << 10;
    struct target_dir *t = NULL;
    struct ours o = {0};
    struct bare b;
    struct err e = {0};
    const char *tmp = getenv("TMPDIR");
    char dir[4096], line[1200];

    snprintf(dir, sizeof(dir), "%s/bench_small_files", argc > 1 ? argv[1] : tmp ? tmp : "/tmp");
    int ret = target_dir_open(&t, &(struct target_dir_opts){.path = dir, .program = "bench"}, &e);
    if (ret == 0)
        ret = ours_open(&o, t, files, bytes, arg(argc, argv, 5, 1), &e);
    if (ret < 0) {
        err_format(&e, "bench_small_files", line, sizeof(line));
        fprintf(stderr, "%s\n", line);
    } else if (bare_open(&b, target_dir_fd(t), bytes) < 0) {
        printf("bench_small_files: skipped, no io_uring with direct descriptors here\n");
    } else {
        run(&b, &o, files, arg(argc, argv, 4, 3));
        bare_close(&b);
    }
    if (o.tier)
        o.tier->ops->close(o.tier, NULL);
    free(o.place);
    bell_free(o.bell);
    target_dir_close(t, false, NULL);
    return ret < 0;
}
