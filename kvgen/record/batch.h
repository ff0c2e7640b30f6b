/* batch.h - what one message of an engine says, in a form that all readers of recordings share. No
 * name and no hash of the recording is in it: both are keyed hashes (names.h). */
#ifndef KVGEN_RECORD_BATCH_H
#define KVGEN_RECORD_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvgen/meaning/pick.h"
#include "kvgen/record/media.h"
#include "kvgen/record/names.h"
#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/base/notes.h"
#include "lib/trace/frame.h"

#define BATCH_SEED 1337 /* of Dynamo's hashes of tokens */

enum event_kind {
    EVENT_STORED,
    EVENT_REMOVED,
    EVENT_CLEARED, /* everything of the publisher and rank, in every medium */
    EVENT_READ,
    EVENT_KINDS
};

/* The layers that the blocks of a group belong to. */
enum event_layers {
    EVENT_LAYERS_ALL,
    EVENT_LAYERS_FULL,
    EVENT_LAYERS_WINDOWED
};

struct event {
    uint8_t kind, layers; /* the enums above */
    uint8_t medium;       /* number in struct media */
    bool has_parent;
    bool anywhere;        /* removed: wherever it is, not in one medium only */
    bool salted;          /* an adapter, a salt or an image is part of its hashes */
    bool has_locals;      /* batch.tokens has the hash of the tokens of each block */
    bool has_sequences;   /* batch.tokens has the keyed sequence hash of each block; 0: not known */
    bool rewrites;        /* stored: a call that wrote, also what is there already */
    bool told_move;       /* one end of a move that the engine itself tells */
    uint32_t tokens;      /* of a block; 0: not said */
    uint64_t bytes;       /* of an object; 0: by its tokens */
    struct hash128 group; /* zero: none is named */
    struct hash128 parent; /* of the first block */
    size_t first, count;   /* blocks: batch.hash[first..first + count) */
};

/* Why a message could not be read to its end, where that ends nothing. */
enum batch_damage {
    BATCH_WHOLE,
    BATCH_OTHER_FRAMES,
    BATCH_NO_EVENTS,
    BATCH_TOO_MANY, /* publishers: nothing of it is kept */
    BATCH_AHEAD,    /* all of it was read, but its time is one that is to come */
    BATCH_DAMAGES
};

/* Memory is kept from one message to the next. */
struct batch {
    int64_t time_ns; /* since 1970; 0: the source has no times */
    struct hash128 publisher;
    int64_t rank;
    bool restarted; /* the publisher is a new process, and what it had placed is void */
    bool by_object; /* its times are in order for each object, not for the publisher */
    bool numbered;  /* seq is the number of the message, of this publisher */
    uint64_t seq;
    enum batch_damage damage; /* of the message: it has the events before that */
    struct event *event;
    size_t events, events_cap;
    struct hash128 *hash;
    uint64_t *tokens; /* beside hash: XXH3 of a block's token ids, never written anywhere, which
                         residency.c replaces by keyed sequence hashes */
    size_t hashes, hashes_cap;
};

void batch_clear(struct batch *b); /* keeps the memory */
void batch_free(struct batch *b);
/* Adds an event without blocks; NULL: no memory. Valid until the next one is added. */
struct event *batch_add(struct batch *b, enum event_kind kind);
/* Adds a block to the last event. 0 or -ENOMEM. */
int batch_add_block(struct batch *b, struct hash128 hash);

/* The options of all readers. */
struct record_opts {
    bool pairing; /* hash the token ids of blocks, and keep keyed sequence hashes of them */
    struct names names;
    struct media media;
    struct media *learns; /* media: an unknown one is added there. NULL: it is an error */
};

/* The number of the medium of that name; one that is unknown is learned, or an error, as NULL is.
 * 0 or -EINVAL with *e. */
int record_medium(const struct record_opts *o, const char *name, size_t len, uint8_t *medium,
                  struct err *e);

/* Counts of what a reader left out. Zero before use. */
struct batch_unknown {
    uint64_t fields, events;
    char event[48];   /* the name of the first such event */
    uint64_t calls;   /* on descriptors that were not opened in the recording */
    uint64_t rings;   /* of io_uring that were set up or used */
    uint64_t unnamed; /* files written under a name for the meantime, and not renamed */
    uint64_t damaged[BATCH_DAMAGES];
};
void batch_unknown_event(struct batch_unknown *u, const char *name, size_t len);
/* In words, for captures and remarks. */
const char *batch_damage_text(enum batch_damage damage);
/* Adds the counts of events, fields and damages, if there are any. */
void batch_unknown_note(const struct batch_unknown *u, struct notes *to);

/* A live reader returns it now and then in place of a message: rows that wait can go. */
enum {
    BATCH_NONE_NOW = 2
};

/* Facts that a kind of recording never has, besides reads and times. */
enum batch_unrecorded {
    BATCH_UNRECORDED_NOTHING,
    BATCH_UNRECORDED_EXACT_TIMES,
    BATCH_UNRECORDED_RESULTS,
    BATCH_UNRECORDED_MEMORY,
    BATCH_UNRECORDED_KINDS
};
const char *batch_unrecorded_text(enum batch_unrecorded what); /* in words; NULL: nothing */

/* What a reader reads. */
enum batch_input {
    BATCH_FILE,  /* batch_reader.file, or nothing */
    BATCH_BYTES, /* batch_reader.bytes */
    BATCH_JSON   /* batch_reader.json: elements, which are lines or stand in an array */
};

/* A reader of recordings. Each format has its own, in a file of its own. Errors of a message have
 * no place (where is empty); recording.c adds it. */
struct batch_reader;
struct batch_reader_ops {
    size_t bytes; /* size of the reader's struct: a struct batch_reader, then members that are 0 */
    enum batch_input input;
    /* Takes memory and the like; may be NULL. 0 or negative errno with *e. close is called in any
     * case. */
    int (*begin)(struct batch_reader *r, struct err *e);
    /* 1 and the next message in *b; 0 at the end; BATCH_NONE_NOW; negative errno with *e. */
    int (*next)(struct batch_reader *r, struct batch *b, struct err *e);
    void (*close)(struct batch_reader *r); /* gives back what begin took; may be NULL */
};

/* The first message sets the members behind unknown. */
struct batch_reader {
    const struct batch_reader_ops *ops;
    const struct record_opts *o;
    struct frame_in *file;
    struct bytes_in *bytes;     /* with BATCH_BYTES */
    struct jsonin_stream *json; /* with BATCH_JSON */
    struct batch_unknown unknown;
    bool no_times, has_reads;
    enum batch_unrecorded unrecorded;
    uint64_t key; /* of the sequence hashes (names_fingerprint); 0: there are none */
};

/* Opens a reader at the start of file. Keep file and o until it is closed. 0 or negative errno with
 * *e. */
int batch_reader_open(struct batch_reader **out, const struct batch_reader_ops *ops,
                      struct frame_in *file, const struct record_opts *o, struct err *e);
void batch_reader_close(struct batch_reader *r);
/* -EINVAL with *e: the member name is wrong. what: the words behind the name. */
int batch_bad(struct err *e, const char *name, const char *what);
/* Like pick and pick_value, with the error in *e. */
int batch_pick(const struct pick *p, size_t n, const struct jsonin_v *v, void *to, struct err *e);
int batch_pick_value(enum pick_as as, const struct jsonin_v *v, const char *name, void *to,
                     struct err *e);

#endif
