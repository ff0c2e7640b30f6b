/* part.h - one run divided among several processes, on one host or on many: which part this process
 * is, and what differs by it. */
#ifndef KVTRACE_RANKS_PART_H
#define KVTRACE_RANKS_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"

enum {
    PART_COUNT_MAX = 65536,
    PART_HOST_CAP = 64
};

/* Plain values. */
struct part {
    bool on; /* there are parts; else rank is 0 and count 1 */
    unsigned rank, count;
    char host[PART_HOST_CAP];
};

/* Reads the text of --part: "2/8" (from 0), "auto" (both numbers from the environment: SLURM_PROCID
 * and SLURM_NTASKS, OMPI_COMM_WORLD_RANK and _SIZE, or PMI_RANK and PMI_SIZE), or "auto/8" (the
 * first from JOB_COMPLETION_INDEX, as Kubernetes sets it). NULL: there are no parts, and the
 * environment is not read. 0 or -EINVAL with *e. */
int part_parse(struct part *p, const char *text, struct err *e);
/* The name of this host, cut to PART_HOST_CAP - 1 bytes. */
void part_host_name(char host[PART_HOST_CAP]);

/* Whether text holds {rank}. */
bool part_has_rank(const char *text);
/* A copy of text in which {rank}, {ranks} and {host} are replaced. malloc'ed; NULL: no memory. */
char *part_expand(const struct part *p, const char *text);
/* The same for a target. A directory, or a name that is not there yet, without {rank} gets
 * "/rank-N" behind it, the prefix of an object store too. Files, devices and Redis databases stay
 * as they are. NULL with *e, of which option is the place. */
char *part_target(const struct part *p, const char *text, const char *option, struct err *e);
/* The folder above such a "/rank-N" is made unless it is there; the folder above that one must be
 * there. 0 or a negative errno with *e, class ERR_TARGET. */
int part_make_parent(const char *path, struct err *e);

/* The rank that runs the rows of a key, of which hash is a 64-bit hash: uniform (Lemire, "Fast
 * random integer generation in an interval", ACM TOMACS 29(1), 2019, without the rejection). */
static inline unsigned part_of_key(uint64_t hash, unsigned count)
{
    return (unsigned)(((unsigned __int128)hash * count) >> 64);
}

#endif
