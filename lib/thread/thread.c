/* Every thread but the main one starts here, with all signals blocked: only the main thread takes
 * signals, because it is the one that stops a run in order. */
#include "lib/thread/thread.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

int thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -rc;
}

int thread_refused(struct err *e, int rc, const char *format, ...)
{
    char what[120], most[48] = "ulimit -u";
    struct rlimit limit;
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    if (rc == -EPERM || rc == -ENOSYS)
        return err_set(e, rc, ERR_FAILED, "",
                       "cannot start %s: a sandbox (seccomp) refuses threads, as an old container "
                       "runtime does with clone3",
                       what);
    if (rc != -EAGAIN)
        return err_errno(e, rc, ERR_FAILED, "", "cannot start %s", what);
    if (getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        snprintf(most, sizeof(most), "ulimit -u: %llu", (unsigned long long)limit.rlim_cur);
    return err_set(e, rc, ERR_FAILED, "",
                   "cannot start %s: a limit of processes and threads is reached (%s; pids.max of "
                   "the control group; kernel.threads-max)",
                   what, most);
}

static void *end_at_once(void *arg)
{
    return arg;
}

int thread_try(struct err *e, const char *what)
{
    pthread_t thread;
    int rc = thread_start(&thread, end_at_once, NULL);

    if (rc < 0)
        return thread_refused(e, rc, "%s", what);
    pthread_join(thread, NULL);
    return 0;
}

/* Parses a list of processors as the kernel writes it, "0-3,8". */
static void cpus_parse(const char *list, cpu_set_t *set)
{
    CPU_ZERO(set);
    for (char *end; *list >= '0' && *list <= '9'; list = *end == ',' ? end + 1 : end) {
        unsigned long first = strtoul(list, &end, 10), last = first;

        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        for (unsigned long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
            CPU_SET(cpu, set);
    }
}

int thread_enter_node(const char *sysfs, int node, cpu_set_t *before)
{
    char path[PATH_MAX], list[4096] = "";
    cpu_set_t set;
    FILE *f;

    if (node < 0)
        return -ENOENT;
    snprintf(path, sizeof(path), "%s/devices/system/node/node%d/cpulist", sysfs, node);
    f = fopen(path, "re");
    if (!f)
        return -errno;
    if (!fgets(list, sizeof(list), f))
        list[0] = '\0';
    fclose(f);
    cpus_parse(list, &set);
    if (pthread_getaffinity_np(pthread_self(), sizeof(*before), before) != 0)
        return -ENOSYS;
    CPU_AND(&set, &set, before);
    if (CPU_COUNT(&set) == 0)
        return -ENOENT;
    return -pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

void thread_leave_node(const cpu_set_t *before)
{
    pthread_setaffinity_np(pthread_self(), sizeof(*before), before);
}
