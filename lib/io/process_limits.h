/* The limits of this process: its memory by all that limits it, and what the control groups that it
 * is in, versions 1 and 2, at each level that it sees, leave of memory and allow of processors. */
#ifndef KVTRACE_IO_PROCESS_LIMITS_H
#define KVTRACE_IO_PROCESS_LIMITS_H

#include <stdint.h>

struct cgroup_limits {
    double cpus;          /* of the smallest quota; 0: there is none */
    int64_t throttled_ns; /* so far, the processes of that group; negative: not known */
};
/* Of processors. root stands before the names of all files that are read: "", or the folder of
 * recorded ones. A file that is missing is no limit. */
void cgroup_read(const char *root, struct cgroup_limits *limits);
/* Bytes, with the file pages that the kernel takes back; UINT64_MAX: no limit is known. */
uint64_t cgroup_memory_left(const char *root);

/* Bytes that can be taken without pushing out others: the least of what the kernel says is
 * available (MemAvailable), what the control groups of the process leave (cgroup_memory_left),
 * and what its limit of address space (RLIMIT_AS) leaves. 1 GiB where none of these is known. */
uint64_t memory_available(void);

#endif
