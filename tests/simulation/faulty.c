/* Preloaded into a program (LD_PRELOAD): the files below one folder fail as a seed says. What
 * happens to a call depends on the seed, the call, the file, the offset (in a slab: the object and
 * its block) and how often it was made, and not on the order of threads, so that a seed gives the
 * same faults again. Calls of io_uring are changed in the ring before the kernel sees them.
 *
 * SIM_ROOT=DIR   the files
 * SIM_STACKS=1   shows on standard error from where the calls came
 * SIM_LOG=FILE   gets a line for each fault: call file offset times what
 * SIM_FAULTS=SPEC: words with "=", separated by ",":
 *   seed=N       all that follows is drawn from it
 *   errno=PPM    a call on an object fails with an error that fits it
 *   soft=PPM     it fails with EINTR or EAGAIN, which programs are to repeat
 *   control=PPM  as errno, on markers, folders and the header of a slab
 *   short=PPM    a transfer moves less than it should, and says so
 *   delay=PPM    a call takes up to 3 ms longer
 *   vanish=PPM   a file is removed just before it is opened for reading
 *   flip=PPM     a write arrives with one bit changed
 *   lose=PPM     a write does not arrive, and succeeds
 *   calls=A+B    only these calls fail with an error (their names: call_name)
 *   kill=N, term=N, int=N   a signal at write N of an object
 *   plant=drop | stale | marker   a bug on purpose: one in eight writes does not arrive; reads give
 *                what was there before the last write; the marker of a running program says "kept".
 *                These are not logged. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <liburing.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    NAME_CAP = 192,
    FILES = 4096,
    RINGS = 64,
    SLOTS = 512,
    CALLS = 1 << 16, /* different calls that are counted */
    PIECES = 1 << 14,
    PENDING = 4096,
    BLOCK = 4096
};
enum call {
    OPEN,
    READ,
    WRITE,
    ALLOCATE,
    SYNC,
    CLOSE,
    UNLINK,
    MKDIR,
    RENAME,
    SYNCFS,
    CALL_COUNT
};
static const char *const call_name[] = {"open",  "read",   "write", "allocate", "sync",
                                        "close", "unlink", "mkdir", "rename",   "syncfs"};

static struct {
    uint64_t seed;
    unsigned rate[8];
    bool spared[CALL_COUNT]; /* by calls= */
    unsigned long kill, term, interrupt;
    enum {
        PLANT_NONE,
        PLANT_DROP,
        PLANT_STALE,
        PLANT_MARKER
    } plant;
} plan;
enum {
    ERRNO,
    SOFT,
    CONTROL,
    SHORT,
    DELAY,
    VANISH,
    FLIP,
    LOSE
};

static char root[PATH_MAX];
static size_t root_len;
static const char *log_path;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char file_name[FILES][NAME_CAP];
static struct {
    struct io_uring *ring;
    char slot[SLOTS][NAME_CAP];
} ring_files[RINGS];
static struct {
    uint64_t id;
    unsigned times;
} counted[CALLS];
static struct piece { /* for PLANT_STALE: what a place of a file held, and holds */
    uint64_t id;
    char *before, *now;
    size_t before_len, len;
} pieces[PIECES];
static atomic_ulong object_writes;

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t mix_text(uint64_t h, const char *s)
{
    for (; *s; s++)
        h = mix(h ^ (unsigned char)*s);
    return h;
}

/* ---- the plan ---- */

static void plan_take(char *spec)
{
    static const char *const rates[] = {"errno", "soft",   "control", "short",
                                        "delay", "vanish", "flip",    "lose"};
    static const char *const plants[] = {"none", "drop", "stale", "marker"};
    char *save = NULL;

    for (char *w = strtok_r(spec, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
        char *value = strchr(w, '=');
        if (!value)
            continue;
        *value++ = '\0';
        unsigned long n = strtoul(value, NULL, 10);
        for (unsigned i = 0; strcmp(w, "calls") == 0 && i < CALL_COUNT; i++)
            plan.spared[i] = true;
        for (char *of = value, *more; strcmp(w, "calls") == 0 && of; of = more) {
            more = strchr(of, '+');
            if (more)
                *more++ = '\0';
            for (unsigned i = 0; i < CALL_COUNT; i++)
                plan.spared[i] &= strcmp(of, call_name[i]) != 0;
        }
        for (unsigned i = 0; i < 8; i++)
            if (strcmp(w, rates[i]) == 0)
                plan.rate[i] = (unsigned)n;
        for (unsigned i = 0; strcmp(w, "plant") == 0 && i < 4; i++)
            if (strcmp(value, plants[i]) == 0)
                plan.plant = i;
        if (strcmp(w, "seed") == 0)
            plan.seed = n;
        else if (strcmp(w, "kill") == 0)
            plan.kill = n;
        else if (strcmp(w, "term") == 0)
            plan.term = n;
        else if (strcmp(w, "int") == 0)
            plan.interrupt = n;
    }
}

__attribute__((constructor)) static void begin(void)
{
    const char *dir = getenv("SIM_ROOT"), *spec = getenv("SIM_FAULTS");
    char copy[512];

    log_path = getenv("SIM_LOG");
    if (!dir || !spec || !realpath(dir, root))
        return;
    root_len = strlen(root);
    snprintf(copy, sizeof(copy), "%s", spec);
    plan_take(copy);
}

/* Also one that is just being taken over. */
static bool is_marker(const char *base)
{
    return strncmp(base, ".kvtrace", 8) == 0;
}

/* Without the epochs of runs, which are drawn: ".kvtrace-EPOCH". */
static void without_epoch(char *name)
{
    for (char *at = name; (at = strchr(at, '-')) != NULL; at++) {
        if (strspn(at + 1, "0123456789abcdef") == 8)
            memmove(at + 1, at + 9, strlen(at + 9) + 1);
    }
}

static void note(enum call call, const char *name, uint64_t offset, unsigned times,
                 const char *what)
{
    const char *base = strrchr(name, '/');
    char line[512], shown[NAME_CAP];

    snprintf(shown, sizeof(shown), "%s", name);
    if (is_marker(base ? base + 1 : name))
        without_epoch(shown);
    int n = snprintf(line, sizeof(line), "%s %s %llu %u %s\n", call_name[call], shown,
                     (unsigned long long)offset, times, what);
    long fd = log_path ? syscall(SYS_openat, AT_FDCWD, log_path,
                                 O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)
                       : -1;

    if (fd < 0)
        return;
    if (syscall(SYS_write, fd, line, (size_t)n) != n)
        abort();
    syscall(SYS_close, fd);
    if (getenv("SIM_STACKS")) {
        void *frame[32];
        backtrace_symbols_fd(frame, backtrace(frame, 32), 2);
    }
}

/* The name below the root of a path, or of what a descriptor has open; false: it is elsewhere. */
static bool below_root(const char *path, char name[NAME_CAP])
{
    if (!root_len || strncmp(path, root, root_len) != 0 || path[root_len] != '/')
        return false;
    snprintf(name, NAME_CAP, "%s", path + root_len + 1);
    return true;
}

static bool path_of(int dirfd, const char *path, char out[PATH_MAX])
{
    char link[64];
    ssize_t n;

    if (path[0] == '/' || dirfd == AT_FDCWD) {
        snprintf(out, PATH_MAX, "%s", path);
        return path[0] == '/';
    }
    snprintf(link, sizeof(link), "/proc/self/fd/%d", dirfd);
    n = readlink(link, out, PATH_MAX - NAME_CAP - 1);
    if (n <= 0)
        return false;
    snprintf(out + n, NAME_CAP, "/%s", path);
    return true;
}

static bool name_at(int dirfd, const char *path, char name[NAME_CAP])
{
    char full[PATH_MAX];

    return root_len && path_of(dirfd, path, full) && below_root(full, name);
}

static bool is_slab(const char *name)
{
    const char *base = strrchr(name, '/');

    return strncmp(base ? base + 1 : name, "slab", 4) == 0;
}

/* Objects are *.kv, a slab behind its header, and the files of the layouts of engines. */
static bool is_object(const char *name, uint64_t offset)
{
    const char *base = strrchr(name, '/');

    base = base ? base + 1 : name;
    if (is_slab(name))
        return offset >= 1u << 20;
    if (strncmp(base, "probe-", 6) == 0) /* tells whether O_DIRECT works */
        return false;
    return strlen(base) > 8 && !is_marker(base) && strcmp(base, "config.json") != 0;
}

/* ---- what happens to a call ---- */

struct fate {
    int err;
    bool lose, flip;
    size_t len;
    uint64_t draw;
};

static unsigned times_of(uint64_t id)
{
    unsigned times;

    pthread_mutex_lock(&lock);
    for (unsigned i = id % CALLS;; i = (i + 1) % CALLS) {
        if (counted[i].times && counted[i].id != id)
            continue;
        counted[i].id = id;
        times = ++counted[i].times;
        break;
    }
    pthread_mutex_unlock(&lock);
    return times;
}

static bool drawn(uint64_t *h, int what)
{
    *h = mix(*h + UINT64_C(0x9e3779b97f4a7c15));
    return *h % 1000000 < plan.rate[what];
}

static int an_errno(enum call call, uint64_t h)
{
    static const int kinds[][4] = {
        [OPEN] = {EIO, EMFILE, EACCES, ENFILE},  [READ] = {EIO, ENODATA, ETIMEDOUT, EIO},
        [WRITE] = {EIO, ENOSPC, EDQUOT, EROFS},  [ALLOCATE] = {ENOSPC, EIO, EDQUOT, EFBIG},
        [SYNC] = {EIO, ENOSPC, EDQUOT, EIO},     [CLOSE] = {EIO, ENOSPC, EDQUOT, EIO},
        [UNLINK] = {EIO, EBUSY, EACCES, EROFS},  [MKDIR] = {EIO, ENOSPC, EACCES, EMLINK},
        [RENAME] = {EIO, ENOSPC, EACCES, EROFS}, [SYNCFS] = {EIO, ENOSPC, EDQUOT, EIO},
    };
    return kinds[call][mix(h) % 4];
}

static void signals_at(unsigned long n)
{
    if (n == plan.kill)
        kill(getpid(), SIGKILL);
    if (n == plan.term) /* this thread's, so that it is known before the write goes on */
        raise(SIGTERM);
    if (n == plan.interrupt)
        raise(SIGINT);
}

/* Without what differs from run to run: epochs, and the numbers of processes and threads, in
 * probe-N, HASH.bin.N.tmp. */
static void name_for_draws(const char *name, char out[NAME_CAP])
{
    const char *number = strstr(name, "probe-") ? strstr(name, "probe-") + 6 : NULL;

    if (!number && (number = strstr(name, ".bin.")) != NULL)
        number += 5;
    snprintf(out, NAME_CAP, "%.*s", number ? (int)(number - name) : NAME_CAP, name);
    without_epoch(out);
}

/* The identity of a transfer of a slab: the object's block, since where in the slab an object comes
 * to lie depends on when space became free. data is what is to be written; NULL: what is there. */
static uint64_t place_of(const char *name, uint64_t offset, const void *data)
{
    static const char magic[8] = "KVTRACE1";
    static _Thread_local _Alignas(BLOCK) char there[BLOCK];
    char path[PATH_MAX + NAME_CAP];
    uint64_t key[2], index;

    if (!is_slab(name) || !is_object(name, offset))
        return offset;
    if (!data) {
        snprintf(path, sizeof(path), "%s/%s", root, name);
        long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
        long n = fd < 0 ? -1 : syscall(SYS_pread64, fd, there, sizeof(there), offset);
        if (fd >= 0)
            syscall(SYS_close, fd);
        if (n < (long)sizeof(there))
            return offset;
        data = there;
    }
    if (memcmp(data, magic, sizeof(magic)) != 0)
        return 0; /* the index */
    memcpy(key, (const char *)data + 8, sizeof(key));
    memcpy(&index, (const char *)data + 32, sizeof(index));
    return mix(key[0] ^ mix(key[1] ^ index << 24));
}

/* data: what a write is of. */
static struct fate fate_of(enum call call, const char *name, uint64_t offset, size_t len,
                           const void *data)
{
    struct fate f = {.len = len};
    bool object = is_object(name, offset);
    char drawn_by[NAME_CAP];
    name_for_draws(name, drawn_by);
    uint64_t place = len > 0 ? place_of(name, offset, data) : offset;
    uint64_t id = mix(mix_text(mix(call + 1), drawn_by) ^ place);
    unsigned times = times_of(id);
    uint64_t h = mix(mix(plan.seed) ^ id) + times;
    bool transfer = call == READ || call == WRITE;

    f.draw = mix(h ^ UINT64_C(0x5eed));
    if (call == WRITE && object)
        signals_at(atomic_fetch_add(&object_writes, 1) + 1);
    if (drawn(&h, DELAY))
        usleep((unsigned)(f.draw % 3000));
    if (drawn(&h, object ? ERRNO : CONTROL) && !plan.spared[call])
        f.err = an_errno(call, f.draw);
    else if (object && drawn(&h, SOFT) && transfer)
        f.err = f.draw & 1 ? EINTR : EAGAIN;
    else if (object && call == WRITE && drawn(&h, LOSE))
        f.lose = true;
    else if (object && call == WRITE && drawn(&h, FLIP))
        f.flip = true;
    else if (object && transfer && drawn(&h, SHORT) && len > BLOCK)
        f.len = BLOCK * (1 + f.draw % (len / BLOCK - (len % BLOCK == 0)));
    if (f.err)
        note(call, name, offset, times, strerrorname_np(f.err));
    else if (f.lose || f.flip)
        note(call, name, offset, times, f.lose ? "lose" : "flip");
    else if (f.len != len)
        note(call, name, offset, times, "short");
    if (!f.err && !f.lose && plan.plant == PLANT_DROP && object && call == WRITE)
        f.lose = f.draw % 8 == 0;
    return f;
}

/* The file is gone before it is opened for reading. */
static void maybe_vanish(int dirfd, const char *path, const char *name, int flags)
{
    uint64_t h;
    unsigned times;

    if ((flags & O_ACCMODE) != O_RDONLY || !is_object(name, 0) || !plan.rate[VANISH])
        return;
    h = mix_text(mix(77), name);
    times = times_of(h);
    h = mix(mix(plan.seed) ^ h) + times;
    if (drawn(&h, VANISH) && syscall(SYS_unlinkat, dirfd, path, 0) == 0)
        note(OPEN, name, 0, times, "vanish");
}

/* A copy with one bit changed, behind the header of a block. Never freed: a ring may still read. */
static void *flipped(const void *buf, size_t len, uint64_t draw)
{
    char *copy;

    if (posix_memalign((void **)&copy, BLOCK, len) != 0)
        abort();
    memcpy(copy, buf, len);
    copy[draw % (len / BLOCK ? len / BLOCK : 1) * BLOCK + 64 + draw / BLOCK % 4000 % (len - 64)] ^=
        (char)(1 << draw % 8);
    return copy;
}

/* ---- plants ---- */

static struct piece *piece_of(const char *name, uint64_t offset)
{
    uint64_t id = mix(mix_text(1, name) ^ offset) | 1;
    unsigned i = id % PIECES;

    while (pieces[i].id && pieces[i].id != id)
        i = (i + 1) % PIECES;
    pieces[i].id = id;
    return &pieces[i];
}

static void stale_written(const char *name, uint64_t offset, const void *buf, size_t len)
{
    if (plan.plant != PLANT_STALE || !is_object(name, offset))
        return;
    pthread_mutex_lock(&lock);
    struct piece *p = piece_of(name, offset);
    free(p->before);
    p->before = p->now;
    p->before_len = p->len;
    p->now = malloc(len);
    p->len = len;
    if (!p->now)
        abort();
    memcpy(p->now, buf, len);
    pthread_mutex_unlock(&lock);
}

static bool stale_read(const char *name, uint64_t offset, void *buf, size_t len)
{
    bool stale = false;

    if (plan.plant != PLANT_STALE || !is_object(name, offset))
        return false;
    pthread_mutex_lock(&lock);
    struct piece *p = piece_of(name, offset);
    if (p->before && p->before_len >= len) {
        memcpy(buf, p->before, len);
        stale = true;
    }
    pthread_mutex_unlock(&lock);
    return stale;
}

/* "runs" becomes "kept". */
static const void *marker_lies(const char *name, const void *buf, size_t len, char copy[BLOCK])
{
    static const char runs[] = "kvtrace runs";
    const char *base = strrchr(name, '/');

    if (plan.plant != PLANT_MARKER || !is_marker(base ? base + 1 : name) || len > BLOCK ||
        len < sizeof(runs) || memcmp(buf, runs, sizeof(runs) - 1) != 0)
        return buf;
    memcpy(copy, buf, len);
    memcpy(copy, "kvtrace kept", sizeof(runs) - 1);
    return copy;
}

/* ---- plain calls ---- */

#define REAL(name)                                                                                 \
    static __typeof__(name) *real;                                                                 \
    if (!real)                                                                                     \
    real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

static const char *name_of(int fd)
{
    return root_len && fd >= 0 && fd < FILES && file_name[fd][0] ? file_name[fd] : NULL;
}

static int opened(int fd, const char *name)
{
    if (fd >= 0 && fd < FILES)
        snprintf(file_name[fd], NAME_CAP, "%s", name);
    return fd;
}

static bool failed(enum call call, const char *name)
{
    struct fate f = fate_of(call, name, 0, 0, NULL);

    if (f.err)
        errno = f.err;
    return f.err != 0;
}

/* The mode behind the flags of a call that may make a file. */
#define TAKE_MODE(mode, flags)                                                                     \
    do {                                                                                           \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        if ((flags) & (O_CREAT | O_TMPFILE))                                                       \
            (mode) = va_arg(args, mode_t);                                                         \
        va_end(args);                                                                              \
    } while (0)

int openat(int dirfd, const char *path, int flags, ...)
{
    REAL(openat);
    char name[NAME_CAP];
    mode_t mode = 0;

    TAKE_MODE(mode, flags);
    if (!name_at(dirfd, path, name))
        return real(dirfd, path, flags, mode);
    maybe_vanish(dirfd, path, name, flags);
    if (failed(OPEN, name))
        return -1;
    return opened(real(dirfd, path, flags, mode), name);
}

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;

    TAKE_MODE(mode, flags);
    return openat(AT_FDCWD, path, flags, mode);
}

int close(int fd)
{
    REAL(close);
    const char *name = name_of(fd);
    bool fails = name && is_object(name, 1 << 20) && failed(CLOSE, name);
    int err = errno, ret;

    if (name)
        file_name[fd][0] = '\0';
    ret = real(fd);
    if (!fails)
        return ret;
    errno = err;
    return -1;
}

int closedir(DIR *d)
{
    REAL(closedir);
    int fd = dirfd(d);

    if (name_of(fd))
        file_name[fd][0] = '\0';
    return real(d);
}

static ssize_t put(int fd, const void *buf, size_t len, off_t at, bool seeks)
{
    const char *name = name_of(fd);
    struct fate f;
    char lie[BLOCK];

    if (!name)
        return seeks ? syscall(SYS_write, fd, buf, len) : syscall(SYS_pwrite64, fd, buf, len, at);
    f = fate_of(WRITE, name, (uint64_t)at, len, buf);
    if (f.err) {
        errno = f.err;
        return -1;
    }
    stale_written(name, (uint64_t)at, buf, f.len);
    if (f.lose) {
        if (seeks)
            lseek(fd, (off_t)len, SEEK_CUR);
        return (ssize_t)len;
    }
    buf = f.flip && len > 64 ? flipped(buf, len, f.draw) : marker_lies(name, buf, len, lie);
    return seeks ? syscall(SYS_write, fd, buf, f.len) : syscall(SYS_pwrite64, fd, buf, f.len, at);
}

static ssize_t get(int fd, void *buf, size_t len, off_t at, bool seeks)
{
    const char *name = name_of(fd);
    struct fate f;

    if (!name)
        return seeks ? syscall(SYS_read, fd, buf, len) : syscall(SYS_pread64, fd, buf, len, at);
    f = fate_of(READ, name, (uint64_t)at, len, NULL);
    if (f.err) {
        errno = f.err;
        return -1;
    }
    if (!seeks && stale_read(name, (uint64_t)at, buf, f.len))
        return (ssize_t)f.len;
    return seeks ? syscall(SYS_read, fd, buf, f.len) : syscall(SYS_pread64, fd, buf, f.len, at);
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t at)
{
    return put(fd, buf, len, at, false);
}

ssize_t pread(int fd, void *buf, size_t len, off_t at)
{
    return get(fd, buf, len, at, false);
}

ssize_t write(int fd, const void *buf, size_t len)
{
    return put(fd, buf, len, name_of(fd) ? lseek(fd, 0, SEEK_CUR) : 0, true);
}

ssize_t read(int fd, void *buf, size_t len)
{
    return get(fd, buf, len, name_of(fd) ? lseek(fd, 0, SEEK_CUR) : 0, true);
}

int fallocate(int fd, int mode, off_t at, off_t len)
{
    REAL(fallocate);
    const char *name = name_of(fd);

    return name && failed(ALLOCATE, name) ? -1 : real(fd, mode, at, len);
}

int fdatasync(int fd)
{
    REAL(fdatasync);
    const char *name = name_of(fd);

    return name && failed(SYNC, name) ? -1 : real(fd);
}

int fsync(int fd)
{
    REAL(fsync);
    const char *name = name_of(fd);

    return name && failed(SYNC, name) ? -1 : real(fd);
}

int syncfs(int fd)
{
    REAL(syncfs);
    const char *name = name_of(fd);

    return name && failed(SYNCFS, name) ? -1 : real(fd);
}

int unlinkat(int dirfd, const char *path, int flags)
{
    REAL(unlinkat);
    char name[NAME_CAP];

    return name_at(dirfd, path, name) && failed(UNLINK, name) ? -1 : real(dirfd, path, flags);
}

int mkdirat(int dirfd, const char *path, mode_t mode)
{
    REAL(mkdirat);
    char name[NAME_CAP];

    return name_at(dirfd, path, name) && failed(MKDIR, name) ? -1 : real(dirfd, path, mode);
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    REAL(renameat);
    char name[NAME_CAP];

    return name_at(to_fd, to, name) && failed(RENAME, name) ? -1 : real(from_fd, from, to_fd, to);
}

/* ---- io_uring ---- */

/* Requests that became a NOP, and the result that they are to have. A ring belongs to one thread,
 * but there may be several rings. */
static struct {
    uint64_t user_data;
    int res;
    bool used;
} pending[PENDING];

static void becomes_nop(struct io_uring_sqe *sqe, int res)
{
    uint64_t user_data = sqe->user_data;

    pthread_mutex_lock(&lock);
    for (unsigned i = 0;; i = (i + 1) % PENDING)
        if (!pending[i].used) {
            pending[i].used = true;
            pending[i].user_data = user_data;
            pending[i].res = res;
            break;
        }
    pthread_mutex_unlock(&lock);
    memset(sqe, 0, sizeof(*sqe));
    sqe->opcode = IORING_OP_NOP;
    sqe->fd = -1;
    sqe->user_data = user_data;
}

/* Gives the completions that have come the results that they are to have. */
static void mend_results(struct io_uring *ring)
{
    unsigned head = *ring->cq.khead, tail = io_uring_smp_load_acquire(ring->cq.ktail);

    for (; head != tail; head++) {
        struct io_uring_cqe *cqe = &ring->cq.cqes[head & ring->cq.ring_mask];
        pthread_mutex_lock(&lock);
        for (unsigned i = 0; i < PENDING; i++)
            if (pending[i].used && pending[i].user_data == cqe->user_data) {
                cqe->res = pending[i].res;
                pending[i].used = false;
                break;
            }
        pthread_mutex_unlock(&lock);
    }
}

/* Where the name of a registered file of the ring is; NULL: too many. */
static char *slot_name(struct io_uring *ring, unsigned slot)
{
    unsigned i = 0;

    pthread_mutex_lock(&lock);
    while (i < RINGS && ring_files[i].ring && ring_files[i].ring != ring)
        i++;
    if (i < RINGS)
        ring_files[i].ring = ring;
    pthread_mutex_unlock(&lock);
    return i < RINGS && slot < SLOTS ? ring_files[i].slot[slot] : NULL;
}

/* Descriptors that a ring has opened are not in file_name. */
static const char *name_in(struct io_uring *ring, const struct io_uring_sqe *sqe,
                           char buf[NAME_CAP])
{
    char path[PATH_MAX];
    const char *name = NULL;

    if (sqe->flags & IOSQE_FIXED_FILE)
        name = slot_name(ring, (unsigned)sqe->fd);
    else if (path_of(sqe->fd, "", path)) {
        path[strlen(path) - 1] = '\0';
        name = below_root(path, buf) ? buf : NULL;
    }
    return name ? name : "";
}

static void change_transfer(struct io_uring *ring, struct io_uring_sqe *sqe, bool is_write)
{
    char room[NAME_CAP];
    const char *name = name_in(ring, sqe, room);
    void *buf = (void *)(uintptr_t)sqe->addr;
    struct fate f;

    if (!name[0])
        return;
    f = fate_of(is_write ? WRITE : READ, name, sqe->off, sqe->len, is_write ? buf : NULL);
    if (f.err) {
        becomes_nop(sqe, -f.err);
        return;
    }
    sqe->len = (unsigned)f.len;
    if (!is_write) {
        if (stale_read(name, sqe->off, buf, f.len))
            becomes_nop(sqe, (int)f.len);
        return;
    }
    stale_written(name, sqe->off, buf, f.len);
    if (f.lose) {
        becomes_nop(sqe, (int)f.len);
    } else if (f.flip) {
        sqe->addr = (uint64_t)(uintptr_t)flipped(buf, f.len, f.draw);
        sqe->opcode = IORING_OP_WRITE;
        sqe->buf_index = 0;
    }
}

static void change_open(struct io_uring *ring, struct io_uring_sqe *sqe)
{
    const char *path = (const char *)(uintptr_t)sqe->addr;
    char name[NAME_CAP], *slot;
    struct fate f;

    if (!name_at(sqe->fd, path, name))
        return;
    maybe_vanish(sqe->fd, path, name, (int)sqe->open_flags);
    f = fate_of(OPEN, name, 0, 0, NULL);
    if (f.err)
        becomes_nop(sqe, -f.err);
    else if (sqe->file_index && (slot = slot_name(ring, sqe->file_index - 1)))
        snprintf(slot, NAME_CAP, "%s", name);
}

static void change(struct io_uring *ring, struct io_uring_sqe *sqe)
{
    const char *name;
    char path[NAME_CAP];
    struct fate f = {0};

    switch (sqe->opcode) {
    case IORING_OP_READ:
    case IORING_OP_READ_FIXED:
        change_transfer(ring, sqe, false);
        return;
    case IORING_OP_WRITE:
    case IORING_OP_WRITE_FIXED:
        change_transfer(ring, sqe, true);
        return;
    case IORING_OP_OPENAT:
        change_open(ring, sqe);
        return;
    case IORING_OP_UNLINKAT:
        if (name_at(sqe->fd, (const char *)(uintptr_t)sqe->addr, path))
            f = fate_of(UNLINK, path, 0, 0, NULL);
        break;
    case IORING_OP_FALLOCATE:
    case IORING_OP_FSYNC:
        name = name_in(ring, sqe, path);
        if (name[0])
            f = fate_of(sqe->opcode == IORING_OP_FSYNC ? SYNC : ALLOCATE, name, 1 << 20, 0, NULL);
        break;
    default:
        return;
    }
    if (f.err)
        becomes_nop(sqe, -f.err);
}

static void change_queued(struct io_uring *ring)
{
    unsigned mask = ring->sq.ring_mask;

    for (unsigned i = ring->sq.sqe_head; root_len && i != ring->sq.sqe_tail; i++)
        change(ring, &ring->sq.sqes[i & mask]);
}

int io_uring_register_files(struct io_uring *ring, const int *files, unsigned n)
{
    REAL(io_uring_register_files);
    for (unsigned i = 0; i < n && slot_name(ring, i); i++)
        snprintf(slot_name(ring, i), NAME_CAP, "%s", name_of(files[i]) ? name_of(files[i]) : "");
    return real(ring, files, n);
}

int io_uring_submit(struct io_uring *ring)
{
    REAL(io_uring_submit);
    int ret;

    change_queued(ring);
    ret = real(ring);
    mend_results(ring);
    return ret;
}

int io_uring_submit_and_wait_timeout(struct io_uring *ring, struct io_uring_cqe **cqe, unsigned n,
                                     struct __kernel_timespec *ts, sigset_t *mask)
{
    REAL(io_uring_submit_and_wait_timeout);
    int ret;

    change_queued(ring);
    ret = real(ring, cqe, n, ts, mask);
    mend_results(ring);
    return ret;
}

int __io_uring_get_cqe(struct io_uring *ring, struct io_uring_cqe **cqe, unsigned submit,
                       unsigned n, sigset_t *mask);
int __io_uring_get_cqe(struct io_uring *ring, struct io_uring_cqe **cqe, unsigned submit,
                       unsigned n, sigset_t *mask)
{
    REAL(__io_uring_get_cqe);
    int ret;

    change_queued(ring);
    ret = real(ring, cqe, submit, n, mask);
    mend_results(ring);
    return ret;
}
