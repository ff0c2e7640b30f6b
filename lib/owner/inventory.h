/* The list of a kept store: the name, size and generation of each object, and the epoch of the run
 * that wrote it. A list beside the marker says so, in segments of records that journal.h appends;
 * this reads them. Untrusted: a list may come from anywhere. */
#ifndef KVTRACE_OWNER_INVENTORY_H
#define KVTRACE_OWNER_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/err.h"
#include "lib/base/hash.h"

/* Segment 0, the head, has this name; the others INVENTORY_NAME "." and 8 hexadecimal digits. */
#define INVENTORY_NAME ".kvtrace-list"
enum {
    INVENTORY_NAME_CAP = sizeof(INVENTORY_NAME ".01234567"),
    INVENTORY_RECORD = 40, /* bytes */
    INVENTORY_SEQUENCE =
        1 << 20,            /* segments of one process of a run: its rank times this, and on */
    INVENTORY_MAX = 1 << 26 /* objects; a store of more has no list */
};
#define INVENTORY_BYTES_MAX ((UINT64_C(1) << 47) - 1)

void inventory_name(char name[INVENTORY_NAME_CAP], uint32_t segment);
/* Is name[0..len) that of a segment? */
bool inventory_names_segment(const char *name, size_t len);

/* Where segments lie. Functions return 0 or negative errno, also with e NULL; one call at a time.
 */
struct inventory_store {
    void *ctx;
    bool appends;           /* write takes any offset up to the end; else 0 only */
    bool local;             /* what was written before a kill is there after it */
    uint64_t segment_bytes; /* most of one */
    /* Reads up to cap bytes at offset at. Returns their number; 0: the end; -ENOENT: no such
     * segment. */
    ssize_t (*read)(void *ctx, uint32_t segment, uint64_t at, void *buf, size_t cap, struct err *e);
    /* Segment 0 is replaced as a whole. */
    int (*write)(void *ctx, uint32_t segment, uint64_t at, const void *buf, size_t len,
                 struct err *e);
    int (*remove)(void *ctx, uint32_t segment, struct err *e);
};

enum inventory_kind {
    INVENTORY_HEAD = 1, /* generation: the first segment */
    INVENTORY_RUN, /* a run begins, or more is known of it: its epoch and first generation; name:
                      its host's boot; bytes: enum inventory_run_flag */

    INVENTORY_PUT,  /* an object was written, or found without being listed */
    INVENTORY_GONE, /* it is about to be removed, or written over */
    INVENTORY_END,  /* the run of epoch has ended in order */
    INVENTORY_KINDS
};
enum inventory_run_flag {
    INVENTORY_REMOVES = 1,   /* objects may be removed or written over */
    INVENTORY_INCOMPLETE = 2 /* what is kept from before is not listed */
};
struct inventory_record {
    enum inventory_kind kind;
    struct hash128 name;
    uint64_t generation, bytes;
    uint32_t epoch;
};
void inventory_encode(const struct inventory_record *r, unsigned char text[INVENTORY_RECORD]);

struct inventory_entry {
    struct hash128 name;
    uint64_t generation; /* 0: not known */
    uint64_t bytes : 47;
    uint64_t listed : 1; /* else it was only found */
    uint64_t there : 1;  /* inventory_found named it */
    uint64_t taken : 1;  /* its object is in the run's own table: inventory_settle forgets it */
    uint32_t epoch;
};
struct inventory_run {
    struct hash128 boot;
    uint64_t first_generation;
    uint32_t epoch;
    uint8_t flags; /* enum inventory_run_flag */
    bool ended;
};

enum inventory_state {
    INVENTORY_NONE, /* there is no list: an earlier version has kept the store */
    INVENTORY_WHOLE,
    INVENTORY_CUT,     /* the last record is not whole, as after a kill or a power cut */
    INVENTORY_DAMAGED, /* another one is not */
    INVENTORY_PARTIAL  /* it could not be written in full */
};
const char *inventory_state_text(enum inventory_state state);

struct inventory;

/* Reads the list. 0 with *out, whatever became of the list; -ENOMEM; or what the store says. */
int inventory_read(struct inventory **out, const struct inventory_store *s, struct err *e);
void inventory_free(struct inventory *v);
enum inventory_state inventory_state(const struct inventory *v);
uint64_t inventory_objects(const struct inventory *v);
/* Segments that were read, and their records. */
unsigned inventory_segments(const struct inventory *v, const uint32_t **segment);
uint64_t inventory_records(const struct inventory *v);
/* The runs that wrote it, the latest one last. */
unsigned inventory_runs(const struct inventory *v, const struct inventory_run **run);
/* Can the list be believed? unsure: the store's marker says that a run was killed there; then its
 * end may be missing. Runs of the epoch own are not looked at: they are at work. */
bool inventory_holds(const struct inventory *v, bool unsure, uint32_t own);
/* Nothing that the list names is believed; what is found from now on is all that counts. */
void inventory_distrust(struct inventory *v);
/* Every object on the list was there when the last run ended: a killed run removed nothing, or each
 * removal was written before it was done, to a store that is local, and this host has not been
 * started anew since. */
bool inventory_exact(const struct inventory *v, bool local, struct hash128 boot, uint32_t own);
/* NULL: not on the list, nor found. Valid until something is found or settled. */
struct inventory_entry *inventory_find(const struct inventory *v, struct hash128 name);
/* Start with *pos = 0; NULL at the end. */
const struct inventory_entry *inventory_next(const struct inventory *v, size_t *pos);
/* An object of that epoch lies in the store. Of two with one name that of the later run counts,
 * unless the other one is listed. 0 or -ENOMEM. */
int inventory_found(struct inventory *v, struct hash128 name, uint32_t epoch);
/* Is generation that of a write after the entry's, by a run on the list? */
bool inventory_newer(const struct inventory *v, const struct inventory_entry *entry,
                     uint64_t generation);
/* Forgets the entries that were taken, and gives their memory back. */
void inventory_settle(struct inventory *v);

#endif
