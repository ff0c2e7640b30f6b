/* Preloaded into a program (LD_PRELOAD): the kernel refuses it something from the start, as a
 * sandbox or a limit does. REFUSE is
 *
 *   io_uring=ERRNO   io_uring_setup, with the number of that errno
 *   threads=ERRNO    clone3, and a clone that makes a thread: a process can still be started
 *
 * Several are given with commas between. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field)        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS(value, n)   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, n)
#define UNLESS_BIT(bit, n) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bit, 0, n)
#define FAIL(errnum)       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((errnum)&SECCOMP_RET_DATA))

static unsigned errnum_of(const char *name)
{
    const char *refused = getenv("REFUSE"), *at = refused ? strstr(refused, name) : NULL;

    return at ? (unsigned)strtoul(at + strlen(name), NULL, 10) : 0;
}

__attribute__((constructor)) static void refuse(void)
{
    unsigned ring = errnum_of("io_uring="), thread = errnum_of("threads=");
    const struct sock_filter none = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_filter code[] = {
        LOAD(nr),
        UNLESS(SYS_io_uring_setup, 1),
        ring ? (struct sock_filter)FAIL(ring) : none,
        UNLESS(SYS_clone3, 1),
        thread ? (struct sock_filter)FAIL(thread) : none,
        UNLESS(SYS_clone, 3),
        LOAD(args[0]),
        UNLESS_BIT(CLONE_THREAD, 1),
        thread ? (struct sock_filter)FAIL(thread) : none,
        none,
    };
    struct sock_fprog filter = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0) {
        perror("seccomp");
        _exit(77);
    }
}
