/* Preloaded into a program (LD_PRELOAD), lets one of its allocations, system calls, threads or
 * requests of io_uring fail: number N since main began. sweep.py does that for every N.
 *
 * FAIL_NTH=KIND:N     which one fails; with N = 0 they are only counted
 *   memory            an allocation: NULL, ENOMEM
 *   call              a system call: the error that is usual for it (see calls[])
 *   call-space        one that takes room on a file system: ENOSPC
 *   call-interrupted  one that waits: EINTR
 *   call-short        one that reads or writes: half of it is done
 *   thread            a thread or a child process: EAGAIN
 *   ring              a request of io_uring: ENOSPC for a write, otherwise EBADF
 *   ring-short        a read or write of io_uring: half of it is done
 * FAIL_REPORT=FILE    gets a struct report, whatever becomes of the program
 * FAIL_UNTIL_EXIT=1   nothing fails after exit, when a build for coverage writes what it counted
 *
 * System calls are caught by a seccomp filter with a handler of SIGSYS, so that those which libc
 * and other libraries make inside are counted, too. A program that is executed from here would have
 * the filter, but not the handler: with KIND call, children die. Not counted: futex, munmap, what
 * starts and ends threads and processes, and madvise, which libc makes with all signals blocked. */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    FRAMES = 24
};

/* sweep.py reads this. */
struct report {
    _Atomic uint64_t count; /* so far, of the kind asked for */
    char failed[56];        /* name of what failed; empty: nothing did */
    uint64_t program;       /* where it lies in memory */
    uint64_t frame[FRAMES]; /* return addresses, innermost first; 0: no more */
};

enum kind {
    NONE,
    MEMORY,
    CALL,
    CALL_SPACE,
    CALL_INTERRUPTED,
    CALL_SHORT,
    THREAD,
    RING,
    RING_SHORT
};
static const char *const kinds[] = {
    "none",       "memory", "call", "call-space", "call-interrupted",
    "call-short", "thread", "ring", "ring-short"};

static enum kind kind;
static _Atomic uint64_t fail_at;
static struct report unreported, *report = &unreported;

/* ---- counting ---- */

static bool fails(const char *name)
{
    void *frames[FRAMES];

    if (atomic_fetch_add(&report->count, 1) + 1 != fail_at)
        return false;
    for (int i = 0, n = backtrace(frames, FRAMES); i < n; i++)
        report->frame[i] = (uintptr_t)frames[i];
    snprintf(report->failed, sizeof(report->failed), "%s", name);
    return true;
}

/* ---- allocations ---- */

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);

static bool no_memory(const char *name)
{
    if (kind != MEMORY || !fails(name))
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes)
{
    return no_memory("malloc") ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    return no_memory("calloc") ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *p, size_t bytes)
{
    return no_memory("realloc") ? NULL : __libc_realloc(p, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    return no_memory("aligned_alloc") ? NULL : __libc_memalign(align, bytes);
}

int posix_memalign(void **out, size_t align, size_t bytes)
{
    void *p = no_memory("posix_memalign") ? NULL : __libc_memalign(align, bytes);

    if (!p)
        return ENOMEM;
    *out = p;
    return 0;
}

/* ---- threads and children ---- */

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

    if (kind == THREAD && fails("pthread_create"))
        return EAGAIN;
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return real(thread, attr, run, arg);
}

pid_t fork(void)
{
    pid_t (*real)(void);

    if (kind == THREAD && fails("fork")) {
        errno = EAGAIN;
        return -1;
    }
    *(void **)&real = dlsym(RTLD_NEXT, "fork");
    return real();
}

int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    int (*real)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                const posix_spawnattr_t *, char *const[], char *const[]);

    if (kind == THREAD && fails("posix_spawnp"))
        return EAGAIN;
    *(void **)&real = dlsym(RTLD_NEXT, "posix_spawnp");
    return real(pid, file, actions, attr, argv, envp);
}

/* ---- io_uring: requests are changed when they are handed to the kernel ---- */

static const char *ring_name(uint8_t opcode)
{
    switch (opcode) {
    case IORING_OP_READ:
    case IORING_OP_READ_FIXED:
        return "io_uring read";
    case IORING_OP_WRITE:
    case IORING_OP_WRITE_FIXED:
        return "io_uring write";
    case IORING_OP_OPENAT:
        return "io_uring openat";
    case IORING_OP_FALLOCATE:
        return "io_uring fallocate";
    case IORING_OP_FSYNC:
        return "io_uring fsync";
    case IORING_OP_UNLINKAT:
        return "io_uring unlinkat";
    default:
        return NULL;
    }
}

static bool moves_data(const struct io_uring_sqe *sqe)
{
    return sqe->opcode == IORING_OP_READ || sqe->opcode == IORING_OP_READ_FIXED ||
           sqe->opcode == IORING_OP_WRITE || sqe->opcode == IORING_OP_WRITE_FIXED;
}

static void spoil(struct io_uring_sqe *sqe)
{
    static int full = -1;

    sqe->flags &= (uint8_t)~IOSQE_FIXED_FILE;
    if (full < 0)
        full = open("/dev/full", O_RDWR | O_CLOEXEC);
    sqe->fd = sqe->opcode == IORING_OP_WRITE || sqe->opcode == IORING_OP_WRITE_FIXED ? full : -1;
    if (sqe->opcode == IORING_OP_OPENAT || sqe->opcode == IORING_OP_UNLINKAT)
        sqe->addr = (uintptr_t) "of-no-folder"; /* a relative name, which needs the descriptor */
}

enum {
    SECTOR = 4096
};

/* Half of it, in whole sectors if there are several. */
static size_t half(size_t bytes)
{
    return bytes > SECTOR ? (bytes / 2 + SECTOR - 1) / SECTOR * SECTOR : bytes / 2;
}

static void change_requests(struct io_uring *ring)
{
    if (kind != RING && kind != RING_SHORT)
        return;
    for (unsigned i = ring->sq.sqe_head; i != ring->sq.sqe_tail; i++) {
        struct io_uring_sqe *sqe = &ring->sq.sqes[i & ring->sq.ring_mask];
        const char *name = ring_name(sqe->opcode);

        if (!name || (kind == RING_SHORT && (!moves_data(sqe) || sqe->len <= SECTOR)) ||
            !fails(name))
            continue;
        if (kind == RING)
            spoil(sqe);
        else
            sqe->len = (uint32_t)half(sqe->len);
    }
}

int io_uring_submit(struct io_uring *ring)
{
    int (*real)(struct io_uring *);

    change_requests(ring);
    *(void **)&real = dlsym(RTLD_NEXT, "io_uring_submit");
    return real(ring);
}

int io_uring_submit_and_wait_timeout(struct io_uring *ring, struct io_uring_cqe **cqe,
                                     unsigned wait, struct __kernel_timespec *time, sigset_t *mask)
{
    int (*real)(struct io_uring *, struct io_uring_cqe **, unsigned, struct __kernel_timespec *,
                sigset_t *);

    change_requests(ring);
    *(void **)&real = dlsym(RTLD_NEXT, "io_uring_submit_and_wait_timeout");
    return real(ring, cqe, wait, time, mask);
}

/* ---- system calls ---- */

enum {
    SPACE = 1, /* takes room on a file system */
    WAITS = 2, /* may end with EINTR */
    DATA = 4,  /* reads or writes; may do less than asked for */
};

static const struct call {
    int nr;
    const char *name;
    int error;
    int may;
} calls[] = {
#define CALL(name, error, may)                                                                     \
    {                                                                                              \
        SYS_##name, #name, error, may                                                              \
    }
#ifdef SYS_open
    CALL(open, EMFILE, SPACE | WAITS),
    CALL(creat, EMFILE, SPACE | WAITS),
    CALL(stat, EACCES, 0),
    CALL(lstat, EACCES, 0),
    CALL(access, EACCES, 0),
    CALL(readlink, EACCES, 0),
    CALL(mkdir, EACCES, SPACE),
    CALL(rmdir, EACCES, 0),
    CALL(unlink, EACCES, 0),
    CALL(rename, EACCES, SPACE),
    CALL(link, EACCES, SPACE),
    CALL(chmod, EPERM, 0),
    CALL(pipe, EMFILE, 0),
    CALL(dup2, EMFILE, 0),
    CALL(poll, ENOMEM, WAITS),
    CALL(epoll_wait, EBADF, WAITS),
#endif
#ifdef SYS_renameat
    CALL(renameat, EACCES, SPACE),
#endif
#ifdef SYS_newfstatat
    CALL(newfstatat, EACCES, 0),
#endif
    CALL(openat, EMFILE, SPACE | WAITS),
    CALL(close, EIO, WAITS),
    CALL(read, EIO, WAITS | DATA),
    CALL(write, EIO, SPACE | WAITS | DATA),
    CALL(pread64, EIO, WAITS | DATA),
    CALL(pwrite64, EIO, SPACE | WAITS | DATA),
    CALL(readv, EIO, WAITS | DATA),
    CALL(writev, EIO, SPACE | WAITS | DATA),
    CALL(preadv, EIO, WAITS | DATA),
    CALL(pwritev, EIO, SPACE | WAITS | DATA),
    CALL(fsync, EIO, SPACE | WAITS),
    CALL(fdatasync, EIO, SPACE | WAITS),
    CALL(sync_file_range, EIO, SPACE),
    CALL(syncfs, EIO, SPACE),
    CALL(ftruncate, EIO, SPACE | WAITS),
    CALL(fallocate, EOPNOTSUPP, SPACE | WAITS),
    CALL(fadvise64, EINVAL, 0),
    CALL(fstat, EIO, 0),
    CALL(statx, EACCES, 0),
    CALL(statfs, EIO, WAITS),
    CALL(fstatfs, EIO, WAITS),
    CALL(faccessat, EACCES, 0),
    CALL(faccessat2, EACCES, 0),
    CALL(readlinkat, EACCES, 0),
    CALL(getdents64, EIO, 0),
    CALL(getcwd, ENOENT, 0),
    CALL(mkdirat, EACCES, SPACE),
    CALL(unlinkat, EACCES, 0),
    CALL(renameat2, EACCES, SPACE),
    CALL(linkat, EACCES, SPACE),
    CALL(fchmod, EPERM, 0),
    CALL(fchmodat, EPERM, 0),
    CALL(flock, ENOLCK, WAITS),
    CALL(fcntl, EINVAL, 0),
    CALL(ioctl, ENOTTY, 0),
    CALL(dup, EMFILE, 0),
    CALL(dup3, EMFILE, 0),
    CALL(pipe2, EMFILE, 0),
    CALL(memfd_create, EMFILE, 0),
    CALL(eventfd2, EMFILE, 0),
    CALL(timerfd_create, EMFILE, 0),
    CALL(ppoll, ENOMEM, WAITS),
    CALL(pselect6, ENOMEM, WAITS),
    CALL(epoll_create1, EMFILE, 0),
    CALL(epoll_ctl, ENOSPC, 0),
    CALL(epoll_pwait, EBADF, WAITS),
    CALL(clock_nanosleep, EINTR, WAITS),
    CALL(mmap, ENOMEM, 0),
    CALL(mremap, ENOMEM, 0),
    CALL(mprotect, ENOMEM, 0),
    CALL(mlock, ENOMEM, 0),
    CALL(brk, ENOMEM, 0),
    CALL(io_uring_setup, ENOSYS, 0),
    CALL(io_uring_enter, EIO, WAITS),
    CALL(io_uring_register, EINVAL, 0),
    CALL(socket, EMFILE, 0),
    CALL(socketpair, EMFILE, 0),
    CALL(connect, ECONNREFUSED, WAITS),
    CALL(bind, EADDRINUSE, 0),
    CALL(listen, EADDRINUSE, 0),
    CALL(accept4, EMFILE, WAITS),
    CALL(sendto, ECONNRESET, WAITS | DATA),
    CALL(recvfrom, ECONNRESET, WAITS | DATA),
    CALL(sendmsg, ECONNRESET, WAITS),
    CALL(recvmsg, ECONNRESET, WAITS),
    CALL(getsockopt, ENOPROTOOPT, 0),
    CALL(setsockopt, ENOPROTOOPT, 0),
    CALL(getsockname, ENOBUFS, 0),
    CALL(sched_getaffinity, ENOSYS, 0),
    CALL(sched_setaffinity, EINVAL, 0),
    CALL(prlimit64, EPERM, 0),
    CALL(getrandom, ENOSYS, WAITS),
    CALL(mbind, EPERM, 0),
    CALL(setpriority, EACCES, 0),
};
enum {
    CALLS = sizeof(calls) / sizeof(calls[0])
};

/* The filter lets calls from here through: raw_call(nr, a, b, c, d, e, f) returns what the kernel
 * does. */
long raw_call(long nr, long a, long b, long c, long d, long e, long f);
extern const char raw_call_end[];
#if defined(__x86_64__)
__asm__(".text\n.globl raw_call, raw_call_end\n.hidden raw_call, raw_call_end\nraw_call:\n"
        "mov %rdi, %rax\nmov %rsi, %rdi\nmov %rdx, %rsi\nmov %rcx, %rdx\nmov %r8, %r10\n"
        "mov %r9, %r8\nmov 8(%rsp), %r9\nsyscall\nret\nraw_call_end:\n");
#define REGISTER(context, i)                                                                       \
    ((context)->uc_mcontext.gregs[(const int[]){REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8,        \
                                                REG_R9}[i]])
#define RESULT(context) ((context)->uc_mcontext.gregs[REG_RAX])
#elif defined(__aarch64__)
__asm__(".text\n.globl raw_call, raw_call_end\n.hidden raw_call, raw_call_end\nraw_call:\n"
        "mov x8, x0\nmov x0, x1\nmov x1, x2\nmov x2, x3\nmov x3, x4\nmov x4, x5\nmov x5, x6\n"
        "svc #0\nret\nraw_call_end:\n");
#define REGISTER(context, i) ((context)->uc_mcontext.regs[i])
#define RESULT(context)      ((context)->uc_mcontext.regs[0])
#else
#error "system calls of this processor are not known here"
#endif

static bool counts(const struct call *c)
{
    switch (kind) {
    case CALL:
        return true;
    case CALL_SPACE:
        return c->may & SPACE;
    case CALL_INTERRUPTED:
        return c->may & WAITS;
    case CALL_SHORT:
        return c->may & DATA;
    default:
        return false;
    }
}

static long do_half(const struct call *c, const long a[6])
{
    struct iovec first;

    switch (c->nr) {
    case SYS_readv:
    case SYS_writev:
    case SYS_preadv:
    case SYS_pwritev:
        first = ((const struct iovec *)a[1])[0];
        if (first.iov_len > 1)
            first.iov_len = half(first.iov_len);
        return raw_call(c->nr, a[0], (long)&first, 1, a[3], a[4], a[5]);
    default:
        return raw_call(c->nr, a[0], a[1], (long)half((size_t)a[2]), a[3], a[4], a[5]);
    }
}

static mode_t type_of(long fd)
{
    struct stat s;

    return raw_call(SYS_fstat, fd, (long)&s, 0, 0, 0, 0) < 0 ? S_IFREG : s.st_mode & S_IFMT;
}

/* Counters of events and times, which have no type, do not fail. Room is taken by files only. */
static bool can_fail(const struct call *c, const long a[6])
{
    mode_t type = c->may & DATA ? type_of(a[0]) : S_IFREG;

    return kind == CALL_SPACE ? type == S_IFREG : type != 0;
}

/* Direct I/O takes whole sectors only, and a byte has no half. */
static bool can_halve(const struct call *c, const long a[6])
{
    if (c->nr == SYS_readv || c->nr == SYS_writev || c->nr == SYS_preadv || c->nr == SYS_pwritev)
        return a[2] > 0;
    return a[2] > SECTOR ||
           (a[2] > 1 && !(raw_call(SYS_fcntl, a[0], F_GETFL, 0, 0, 0, 0) & O_DIRECT));
}

static long fail(const struct call *c, const long a[6])
{
    switch (kind) {
    case CALL_SHORT:
        return do_half(c, a);
    case CALL_SPACE:
        return -ENOSPC;
    case CALL_INTERRUPTED:
        if (c->nr == SYS_close)
            raw_call(c->nr, a[0], 0, 0, 0, 0, 0);
        return -EINTR;
    default:
        if (c->nr == SYS_close) /* Linux releases the descriptor first */
            raw_call(c->nr, a[0], 0, 0, 0, 0, 0);
        if (c->nr == SYS_brk) /* says no by answering the old end */
            return raw_call(c->nr, 0, 0, 0, 0, 0, 0);
        return -c->error;
    }
}

static void on_call(int sig, siginfo_t *info, void *p)
{
    ucontext_t *context = p;
    int before = errno;
    const struct call *c = NULL;
    long a[6], result;

    (void)sig;
    for (int i = 0; i < CALLS && !c; i++)
        c = calls[i].nr == info->si_syscall ? &calls[i] : NULL;
    for (int i = 0; i < 6; i++)
        a[i] = (long)REGISTER(context, i);
    if (c && counts(c) && can_fail(c, a) && (kind != CALL_SHORT || can_halve(c, a)) &&
        fails(c->name))
        result = fail(c, a);
    else
        result = raw_call(info->si_syscall, a[0], a[1], a[2], a[3], a[4], a[5]);
    RESULT(context) = (__typeof__(RESULT(context)))result;
    errno = before;
}

/* libc ends a program that has no random numbers for this; json-c seeds with it. */
uint32_t arc4random(void);
uint32_t arc4random(void)
{
    uint32_t n = 0;

    raw_call(SYS_getrandom, (long)&n, sizeof(n), 0, 0, 0, 0);
    return n;
}

/* A thread with SIGSYS blocked would die of its next call. */
int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    int (*real)(int, const sigset_t *, sigset_t *);
    sigset_t but;

    *(void **)&real = dlsym(RTLD_NEXT, "pthread_sigmask");
    if (set && how != SIG_UNBLOCK) {
        but = *set;
        sigdelset(&but, SIGSYS);
        set = &but;
    }
    return real(how, set, before);
}

int sigprocmask(int how, const sigset_t *set, sigset_t *before)
{
    int rc = pthread_sigmask(how, set, before);

    if (rc > 0)
        errno = rc;
    return rc > 0 ? -1 : 0;
}

static int catch_calls(void)
{
    struct sigaction action = {.sa_sigaction = on_call,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER};
    struct sock_filter filter[2 * CALLS + 10];
    struct sock_fprog program = {.filter = filter};
    uint64_t begin = (uint64_t)(uintptr_t)raw_call, end = (uint64_t)(uintptr_t)raw_call_end;
    unsigned short n = 0;

#define LOAD(field)                                                                                \
    (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
    for (int i = 0; i < CALLS; i++) {
        if (i == 0)
            filter[n++] = LOAD(nr);
        /* one after another, to stay within the reach of a jump */
        filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i].nr,
                                                   (uint8_t)(CALLS - i), 0);
    }
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    /* the lower half of the address tells raw_call from all but a call at the same place 4 GiB away
     */
    filter[n++] = LOAD(instruction_pointer);
    filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)begin, 0, 2);
    filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (uint32_t)end, 1, 0);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    program.len = n;
    if (sigaction(SIGSYS, &action, NULL) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        return -1;
    return 0;
}

/* ---- the program's own part begins with main: what libraries do before is not for it to handle
 * ---- */

static int (*real_main)(int, char **, char **);

static void fail_no_more(void)
{
    atomic_store(&fail_at, 0);
}

static void begin(void)
{
    const char *text = getenv("FAIL_NTH"), *file = getenv("FAIL_REPORT"), *n;
    enum kind asked = NONE;
    Dl_info program;
    char byte;
    int fd;

    backtrace((void *[1]){NULL}, 1); /* loads its library */
    /* In newer libcs the first call maps memory with all signals blocked: not under the filter. */
    if (getrandom(&byte, 1, 0) < 0)
        _exit(97);
    if (!text || !(n = strchr(text, ':')))
        return;
    for (size_t i = 1; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strlen(kinds[i]) == (size_t)(n - text) &&
            memcmp(kinds[i], text, (size_t)(n - text)) == 0)
            asked = (enum kind)i;
    }
    fd = file ? open(file, O_RDWR | O_CLOEXEC) : -1;
    if (fd >= 0)
        report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (asked == NONE || report == MAP_FAILED)
        _exit(99);
    if (dladdr((void *)(uintptr_t)real_main, &program))
        report->program = (uintptr_t)program.dli_fbase;
    fail_at = strtoull(n + 1, NULL, 10);
    if (getenv("FAIL_UNTIL_EXIT"))
        atexit(fail_no_more); /* the first to be registered is the last to be called */
    unsetenv("FAIL_NTH");     /* for programs that this one starts */
    kind = asked;
    if (kind >= CALL && kind <= CALL_SHORT && catch_calls() < 0)
        _exit(98);
}

static int counted_main(int argc, char **argv, char **envp)
{
    begin();
    return real_main(argc, argv, envp);
}

typedef int (*start_fn)(int (*)(int, char **, char **), int, char **, void (*)(void),
                        void (*)(void), void (*)(void), void *);

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
    start_fn start = (start_fn)dlsym(RTLD_NEXT, "__libc_start_main");

    real_main = main;
    return start(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}
