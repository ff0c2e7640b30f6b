/* engine_truth.c - ground truth for like= of kvreplay: the system calls of LMCache's file store,
 * made by as many threads, at the times of a trace. It shares no code with kvreplay.
 *
 * engine_truth store|load DIRECT WORKERS DIR [copy] <SCHEDULE   rows "SECONDS BYTES", one object
 * each; DIRECT is 0 or 1. Objects lie in one pool, as in the engine: an ordinary mapping that is
 * written from front to back, the first place that fits, until its room is needed. With copy, a
 * thread copies the object into the pool before a store and out of it after a load, as the engine
 * does between its calls; no time has that in it. Prints the ns from the moment an operation was
 * handed to the threads to its end, a row each, and on standard error how the pool's pages lie (to
 * the administrator). engine_truth drop DIR    writes back all files of DIR and drops their pages;
 * fails unless none is left in the cache. engine_truth cold DIR    reads them once past the page
 * cache, too.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S    1000000000LL
#define OBJECTS_MAX 100000
#define WORKERS_MAX 64
#define BLOCK       4096
#define POOL        ((size_t)256 << 20)
#define BEFORE      ((size_t)512 << 20) /* what the engine's process has taken before its pool */
#define PLACES_MAX  1024

struct object {
    int64_t due_ns, given_ns, done_ns;
    size_t bytes;
};

static struct object objects[OBJECTS_MAX];
static unsigned count, given, taken; /* the last two under the lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static bool direct, loads, copies, ended;
static size_t largest;
static int dir;

/* The pool's objects by address. age 0: in use; else the least was left first. */
static struct place {
    char *at;
    size_t bytes;
    uint64_t age;
} place[PLACES_MAX];
static unsigned places; /* like the rest of the pool under its lock */
static uint64_t ages;
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static char *pool;

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void need(bool ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    exit(1);
}

static void store(unsigned i, const char *buf)
{
    char name[64], temporary[64];
    size_t bytes = objects[i].bytes;
    int flags = O_WRONLY | O_CREAT | (direct && bytes % BLOCK == 0 ? O_DIRECT : O_TRUNC);
    struct stat st;

    snprintf(name, sizeof(name), "%08u.data", i);
    snprintf(temporary, sizeof(temporary), "%08u.tmp", i);
    fstatat(dir, name, &st, 0);
    int fd = openat(dir, temporary, flags, 0644);
    need(fd >= 0, "open");
    need(write(fd, buf, bytes) == (ssize_t)bytes, "write");
    need(close(fd) == 0, "close");
    need(renameat(dir, temporary, dir, name) == 0, "rename");
}

static void load(unsigned i, char *buf)
{
    size_t bytes = objects[i].bytes;
    char name[64];
    struct stat st;

    snprintf(name, sizeof(name), "%08u.data", i);
    int fd = openat(dir, name, O_RDONLY | (direct && bytes % BLOCK == 0 ? O_DIRECT : 0));
    need(fd >= 0 && fstat(fd, &st) == 0, "open");
    need(read(fd, buf, bytes) == (ssize_t)bytes, "read");
    close(fd);
}

/* Where in the list, and at which address, so many bytes fit first. */
static bool fits(size_t bytes, unsigned *i, char **at)
{
    *at = pool;
    for (*i = 0; *i < places && (size_t)(place[*i].at - *at) < bytes; ++*i)
        *at = place[*i].at + place[*i].bytes;
    return places < PLACES_MAX && (size_t)(pool + POOL - *at) >= bytes;
}

static char *pool_take(size_t bytes)
{
    unsigned i;
    char *at;

    bytes = (bytes + BLOCK - 1) / BLOCK * BLOCK;
    pthread_mutex_lock(&pool_lock);
    while (!fits(bytes, &i, &at)) {
        unsigned oldest = places;
        for (unsigned k = 0; k < places; k++)
            if (place[k].age && (oldest == places || place[k].age < place[oldest].age))
                oldest = k;
        if (oldest == places) {
            fprintf(stderr, "engine_truth: the pool is too small for these objects\n");
            exit(1);
        }
        places--;
        memmove(&place[oldest], &place[oldest + 1], (places - oldest) * sizeof(place[0]));
    }
    memmove(&place[i + 1], &place[i], (places - i) * sizeof(place[0]));
    place[i] = (struct place){.at = at, .bytes = bytes};
    places++;
    pthread_mutex_unlock(&pool_lock);
    return at;
}

static void pool_leave(const char *at)
{
    pthread_mutex_lock(&pool_lock);
    for (unsigned i = 0; i < places; i++)
        if (place[i].at == at)
            place[i].age = ++ages;
    pthread_mutex_unlock(&pool_lock);
}

/* chunk: of this thread, what is copied from and to. */
static void *worker(void *chunk)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        while (taken == given && !ended)
            pthread_cond_wait(&work, &lock);
        unsigned i = taken;
        bool none = taken == given;
        taken += !none;
        pthread_mutex_unlock(&lock);
        if (none)
            return NULL;
        int64_t begin_ns = now_ns();
        char *buf = pool_take(objects[i].bytes);
        if (copies && !loads)
            memcpy(buf, chunk, objects[i].bytes);
        int64_t aside_ns = now_ns() - begin_ns;
        if (loads)
            load(i, buf);
        else
            store(i, buf);
        objects[i].done_ns = now_ns() - aside_ns;
        if (copies && loads)
            memcpy(chunk, buf, objects[i].bytes);
        pool_leave(buf);
    }
}

/* Hands each object over when it is due. */
static void submit(void)
{
    int64_t zero_ns = now_ns() + 100000000;

    for (unsigned i = 0; i < count; i++) {
        int64_t due_ns = zero_ns + objects[i].due_ns;
        struct timespec due = {.tv_sec = due_ns / NS_PER_S, .tv_nsec = due_ns % NS_PER_S};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        objects[i].given_ns = now_ns();
        pthread_mutex_lock(&lock);
        given++;
        pthread_cond_signal(&work);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    ended = true;
    pthread_cond_broadcast(&work);
    pthread_mutex_unlock(&lock);
}

/* Ordinary memory, filled from front to back with what does not compress. */
static void *filled(size_t bytes, unsigned seed)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15ull + 1, *p;

    p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(p != MAP_FAILED, "mmap");
    for (size_t i = 0; i < bytes / sizeof(*p); i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        p[i] = x;
    }
    return p;
}

/* Pages one behind the other in physical memory: what a device takes as one segment. */
static void print_runs(void)
{
    size_t n = POOL / BLOCK, runs = 1, in_long = 0, since = 0;
    uint64_t *frame = malloc(n * sizeof(*frame));
    int fd = open("/proc/self/pagemap", O_RDONLY);

    need(frame && fd >= 0, "pagemap");
    need(pread(fd, frame, n * sizeof(*frame), (off_t)((uintptr_t)pool / BLOCK * sizeof(*frame))) >
             0,
         "pagemap");
    close(fd);
    for (size_t i = 1; i <= n; i++) {
        if (i < n && frame[i] == frame[i - 1] + 1)
            continue;
        runs += i < n;
        in_long += i - since >= 128 ? i - since : 0;
        since = i;
    }
    if (frame[0] << 9) /* the frame's number, which only the administrator sees */
        fprintf(stderr,
                "pool: runs of %.1f pages on average, %.0f %% of them in runs of 128 and more\n",
                (double)n / (double)runs, 100.0 * (double)in_long / (double)n);
    free(frame);
}

/* Pages of the file in the page cache. */
static size_t resident(int fd, size_t bytes)
{
    size_t pages = (bytes + BLOCK - 1) / BLOCK, n = 0;
    unsigned char *in = malloc(pages);
    void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

    need(in && map != MAP_FAILED && mincore(map, bytes, in) == 0, "mincore");
    for (size_t i = 0; i < pages; i++)
        n += in[i] & 1;
    munmap(map, bytes);
    free(in);
    return n;
}

/* Drives and hosts that cache reads are then in one state. */
static void read_past_cache(const char *name, int in)
{
    static _Alignas(BLOCK) char buf[1 << 20];
    int fd = openat(in, name, O_RDONLY | O_DIRECT);

    if (fd < 0) /* no O_DIRECT here */
        return;
    while (read(fd, buf, sizeof(buf)) > 0)
        ;
    close(fd);
}

static int drop(const char *path, bool reads)
{
    DIR *d = opendir(path);
    struct dirent *de;
    size_t left = 0;

    need(d != NULL, path);
    need(syncfs(dirfd(d)) == 0, "syncfs");
    while ((de = readdir(d))) {
        int fd = openat(dirfd(d), de->d_name, O_RDONLY);
        struct stat st;
        need(fd >= 0 && fstat(fd, &st) == 0, de->d_name);
        if (S_ISREG(st.st_mode) && st.st_size > BLOCK) {
            if (reads)
                read_past_cache(de->d_name, dirfd(d));
            posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
            left += resident(fd, (size_t)st.st_size);
        }
        close(fd);
    }
    closedir(d);
    if (left)
        fprintf(stderr, "engine_truth: %zu pages are still in the page cache\n", left);
    return left != 0;
}

int main(int argc, char **argv)
{
    pthread_t thread[WORKERS_MAX];
    double seconds;

    if (argc == 3 && (strcmp(argv[1], "cold") == 0 || strcmp(argv[1], "drop") == 0))
        return drop(argv[2], argv[1][0] == 'c');
    copies = argc == 6 && strcmp(argv[5], "copy") == 0;
    if (argc != 5 + copies) {
        fprintf(stderr, "usage: engine_truth store|load DIRECT WORKERS DIR [copy], or engine_truth "
                        "drop|cold DIR\n");
        return 2;
    }
    unsigned workers = (unsigned)atoi(argv[3]);
    loads = strcmp(argv[1], "load") == 0;
    direct = atoi(argv[2]) != 0;
    dir = open(argv[4], O_RDONLY | O_DIRECTORY);
    need(dir >= 0, argv[4]);
    while (count < OBJECTS_MAX && scanf("%lf %zu", &seconds, &objects[count].bytes) == 2) {
        objects[count].due_ns = (int64_t)(seconds * 1e9);
        largest = objects[count].bytes > largest ? objects[count].bytes : largest;
        count++;
    }
    if (workers < 1 || workers > WORKERS_MAX || count == 0)
        return 2;
    size_t chunk = (largest + BLOCK - 1) / BLOCK * BLOCK;
    filled(BEFORE, 0);
    pool = filled(POOL, 1);
    print_runs();
    for (unsigned i = 0; i < workers; i++)
        need(pthread_create(&thread[i], NULL, worker, copies ? filled(chunk, i + 2) : NULL) == 0,
             "thread");
    submit();
    for (unsigned i = 0; i < workers; i++)
        pthread_join(thread[i], NULL);
    for (unsigned i = 0; i < count; i++)
        printf("%lld\n", (long long)(objects[i].done_ns - objects[i].given_ns));
    return 0;
}
