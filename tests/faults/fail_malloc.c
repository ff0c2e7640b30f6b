/* Preloaded into a program (LD_PRELOAD): runs it again and again, and lets another of its
 * allocations fail each time, until a run ends before the one that should fail. A run may end as it
 * likes, but not by a signal, and not without an end.
 *
 * FAIL_MALLOC=FIRST:STEP  which allocations fail: FIRST (from 1), FIRST + STEP, ...
 * FAIL_MALLOC_LIMIT=N     at most so many runs
 * FAIL_MALLOC_ONE=N       one run, in which allocation N fails; its output and status are as they
 * are
 *
 * Prints "N allocations failed, C crashes, H hangs" and the numbers of the first bad ones on
 * standard error; exit status 1 if there were any. Of the runs, the output is dropped. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    RUN_SECONDS = 20,
    SHOWN = 10
};

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);

static atomic_ulong count;    /* allocations so far */
static unsigned long fail_at; /* 0: none */
static atomic_bool *reached;  /* shared with the process that counts the runs */

static bool fails(void)
{
    if (!fail_at || atomic_fetch_add(&count, 1) + 1 != fail_at)
        return false;
    atomic_store(reached, true);
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes)
{
    return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    return fails() ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *p, size_t bytes)
{
    return fails() ? NULL : __libc_realloc(p, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    return fails() ? NULL : __libc_memalign(align, bytes);
}

int posix_memalign(void **out, size_t align, size_t bytes)
{
    void *p = fails() ? NULL : __libc_memalign(align, bytes);

    if (!p)
        return ENOMEM;
    *out = p;
    return 0;
}

/* Returns in the child that goes on to main, with allocation n to fail. */
static int run(unsigned long n)
{
    int status = 0;

    atomic_store(reached, false);
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, 1);
        if (!getenv("FAIL_MALLOC_SHOW"))
            dup2(null, 2);
        close(null);
        alarm(RUN_SECONDS);
        fail_at = n;
        return -1;
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        _exit(99);
    return status;
}

static void sweep(void)
{
    unsigned long first, step, runs = 0, crashes = 0, hangs = 0;
    static atomic_bool unused;
    const char *text = getenv("FAIL_MALLOC"), *one = getenv("FAIL_MALLOC_ONE");
    const char *limit = getenv("FAIL_MALLOC_LIMIT");

    reached = &unused;
    if (one)
        fail_at = strtoul(one, NULL, 10);

    if (!text || sscanf(text, "%lu:%lu", &first, &step) != 2 || first == 0 || step == 0)
        return;
    unsetenv("FAIL_MALLOC"); /* for programs that this one starts */
    reached =
        mmap(NULL, sizeof(*reached), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (reached == MAP_FAILED)
        _exit(99);
    for (unsigned long n = first; !limit || runs < strtoul(limit, NULL, 10); n += step) {
        int status = run(n);
        if (status < 0)
            return;
        if (!atomic_load(reached))
            break;
        runs++;
        if (!WIFSIGNALED(status))
            continue;
        bool hang = WTERMSIG(status) == SIGALRM;
        hangs += hang;
        crashes += !hang;
        if (crashes + hangs <= SHOWN)
            dprintf(2, "allocation %lu: signal %d\n", n, WTERMSIG(status));
    }
    dprintf(2, "%lu allocations failed, %lu crashes, %lu hangs\n", runs, crashes, hangs);
    _exit(crashes + hangs > 0 || runs == 0);
}

/* The program's own part begins with main: what libraries do before is not for it to handle. */
static int (*real_main)(int, char **, char **);

static int swept_main(int argc, char **argv, char **envp)
{
    sweep();
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
    return start(swept_main, argc, argv, init, fini, rtld_fini, stack_end);
}
