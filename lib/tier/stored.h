/* Looks at what an earlier run stored, before it is adopted. */
#ifndef KVTRACE_TIER_STORED_H
#define KVTRACE_TIER_STORED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/data/data.h"

/* Reads the first block of an object (DATA_HEADER bytes or more, in any alignment) into
 * *generation; 0: it is not of the object id->key. -EPROTOTYPE: its contents have another shape
 * than id, so it must be written anew. */
int stored_identify(const void *block, const struct data_id *id, uint64_t *generation);
/* Reads the object's first block at offset of fd into block (DATA_BLOCK bytes, aligned to them).
 * Sets id->generation as stored_identify says it; 0 with -EPROTOTYPE. */
int stored_generation(int fd, uint64_t offset, void *block, struct data_id *id);
/* Reads up to len bytes of an object (whole blocks) at offset at into buf, which is aligned to
 * them. Their number, or negative errno. */
typedef ssize_t (*stored_reads)(void *ctx, uint64_t at, void *buf, size_t len);
/* Reads len bytes (whole blocks), which are the object's blocks from block on, and checks their
 * headers. 0; -EBADMSG: a block is not there or not of that write; -ENOMEM; what reads says. */
int stored_check(stored_reads reads, void *ctx, uint64_t len, const struct data_id *id,
                 uint64_t block);
/* The same at offset of a file. */
int stored_check_file(int fd, uint64_t offset, uint64_t len, const struct data_id *id,
                      uint64_t block);

#endif
