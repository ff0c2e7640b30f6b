/* residency.h - which blocks lie where, by the events of a recording, and the rows that follow from
 * them. Only what was recorded becomes a row. One thread. */
#ifndef KVGEN_RECORD_RESIDENCY_H
#define KVGEN_RECORD_RESIDENCY_H

#include "kvgen/record/batch.h"
#include "kvgen/source/source.h"
#include "lib/model/model.h"

/* One operation, for the row that it becomes. */
struct residency_op {
    uint8_t op, tier, phase; /* enums of trace.h */
    uint32_t tokens;         /* 0: not known */
    uint64_t bytes;
    struct hash128 id; /* of the object: publisher, rank, group and hash */
    struct hash128 publisher;
    uint64_t request; /* that read it; 0: none */
};
/* 0 or negative errno with *e, which ends residency_apply. */
typedef int (*residency_sink)(void *ctx, const struct residency_op *op, struct err *e);

struct residency_opts {
    const struct media *media; /* the caller's, as model */
    const struct model *model;
    uint32_t ranks;            /* that share an object */
    uint64_t object_bytes;     /* of objects of unknown size; 0: they are an error */
    const struct names *names; /* key of sequence hashes; NULL: nothing is paired */
    bool goes_on;              /* a block without a size is left out and counted: no error */
    residency_sink sink;
    void *ctx;
};

struct residency;

struct residency *residency_create(const struct residency_opts *o); /* NULL: no memory */
void residency_free(struct residency *r);                           /* NULL is fine */
/*
 * Applies a message. A number above the expected one counts what is missing; one below it says that
 * the publisher is a new process, whose GPU contents are gone.
 *   stored     a Write where the block is not resident yet; of phase Evict if the same message
 *              removes it from a tier above
 *   removed    a Delete, where it is resident
 *   cleared    a Delete of everything of that publisher and rank
 *   read       a Read
 * What a restarted publisher had placed is deleted. Hashes of tokens become keyed sequence hashes.
 * 0, -EINVAL with *e (an object of unknown size), -ENOMEM, -EOVERFLOW, or what the sink returned.
 */
int residency_apply(struct residency *r, struct batch *b, struct err *e);
/*
 * Pairing: a request needs blocks of a number of tokens, which it names by keyed sequence hashes,
 * as Dynamo defines them: the hash of the first block is that of its tokens, that of a further one
 * XXH3-64 with seed 1337 of the hash before and that of its tokens, each as u64 in little endian.
 * Reads the leading ones that are resident, each where it is fastest; *read counts them. 1; 0:
 * refused, since blocks have another size, or an adapter, a salt or an image; negative as
 * residency_apply.
 */
struct residency_request {
    uint64_t number;
    uint32_t block_tokens;
    const uint64_t *block;
    uint32_t blocks;
};
int residency_read(struct residency *r, const struct residency_request *q, uint32_t *read,
                   struct err *e);
/* The counts; lent. */
const struct source_recording *residency_counts(struct residency *r);

#endif
