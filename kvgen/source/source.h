/* source.h - where requests come from: a table of functions, one kind of source a file. One
 * thread. */
#ifndef KVGEN_SOURCE_SOURCE_H
#define KVGEN_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvgen/source/request.h"
#include "lib/base/err.h"
#include "lib/log/skips.h"

struct source_reading;
struct source; /* begins with its ops */

struct hist;

/* Hits of the cache that served the recorded requests. */
struct source_recorded {
    uint64_t input_tokens, cached_tokens; /* of all requests read so far */
    /* Times of the requests that have them, lent: from arrival to the last and to the first token.
     */
    const struct hist *end_to_end_ns, *first_token_ns;
};

enum {
    SOURCE_MEDIA = 28,
    SOURCE_AHEAD = 16
};

/* Counts of the events of a recording. Zero before use. */
struct source_recording {
    uint64_t messages, missing, restarts; /* by their numbers */
    uint64_t owners;                      /* publishers and ranks */
    /* Blocks, each as often as it is named. */
    uint64_t stored, stored_again;     /* of these, there already */
    uint64_t removed, removed_unknown; /* of these, stored before the recording began */
    uint64_t cleared, dropped_by_clear, dropped_by_restart;
    uint64_t moves;          /* stored in one tier and removed from one above in one message */
    uint64_t moves_up;       /* told by the engine */
    uint64_t possible_loads; /* stored in Tier-0 while resident below */
    uint64_t reads, reads_unsized;
    /* Requests of the same time, whose reads were filled in; those that could not be; those with as
     * many tokens read as the service recorded; tokens read. */
    uint64_t requests, requests_refused, requests_exact, read_tokens;
    uint64_t tokens; /* of the blocks stored */
    uint64_t late;   /* rows and messages that came too late for their time (--config reorder) */
    uint64_t unknown_fields, unknown_events;
    uint64_t unknown_media; /* blocks in media whose tier nobody knows */
    uint64_t damaged;       /* messages that could not be read, or not to their end */
    uint64_t unsized;       /* blocks of no known size, where that is no error */
    /* At the end, by medium; and the names of media. */
    uint64_t resident[SOURCE_MEDIA];
    struct {
        const char *name;
    } medium[SOURCE_MEDIA];
    size_t media;
    bool has_times;         /* else only the order is known */
    bool has_reads;         /* else only writes are recorded */
    const char *unrecorded; /* what else is not recorded, in words; NULL: nothing */
    bool cut;               /* the end of the file is missing */
};

struct source_ops {
    const char *name;
    bool blocks; /* requests name lists of blocks, not one object */
    /* The arrival of the next request, never before that of the last one: 1 and *arrival_ns; 0:
     * there is none, unless done brings one; negative errno with *e. May be asked repeatedly. */
    int (*peek)(struct source *s, int64_t *arrival_ns, struct err *e);
    /* Objects that the request which peek announced is likely to look up first, so that they can be
     * fetched from memory: writes at most SOURCE_AHEAD, returns how many. NULL: nobody knows. */
    size_t (*ahead)(const struct source *s, struct ident *id);
    /* The request that peek announced. */
    void (*take)(struct source *s, struct request *out);
    /* The request was answered at now_ns, which may bring another. NULL: the source does not care.
     */
    void (*done)(struct source *s, const struct request *r, int64_t now_ns);
    /* Nobody reads r->blocks or asks for turns of r any more. NULL: nothing was lent. */
    void (*release)(struct source *s, const struct request *r);
    /* Writes the name of a user, without NUL, to buf of IDENT_MAX_USER_NAME bytes; returns its
     * length. */
    size_t (*user_name)(const struct source *s, uint32_t user, char *buf);
    /* Turns of r's conversation asked so far, r included; 0: forgotten. Valid until r is released.
     * NULL: it is r->turn. */
    uint32_t (*turns)(const struct source *s, const struct request *r);
    /* Whether requests are under way that only bring caches to where they lie when the load begins.
     * NULL: there are none. */
    bool (*recalls)(const struct source *s);
    /* Conversations begun so far, and their turns. */
    void (*conversations)(const struct source *s, uint64_t *count, uint64_t *turns);
    /* Rows skipped so far; lent. NULL: this kind skips none. */
    const struct skips *(*skips)(const struct source *s);
    /* Whether numbers of tokens were estimated from texts. NULL: never. */
    bool (*estimated)(const struct source *s);
    /* Sets what the files were taken for, in *r, which is zero. NULL: nothing was read from files.
     */
    void (*reading)(const struct source *s, struct source_reading *r);
    /* Recorded facts, beside the simulated ones. NULL: there are none. */
    const struct source_recording *(*recording)(const struct source *s);
    void (*recorded)(const struct source *s, struct source_recorded *r);
    void (*close)(struct source *s);
};

struct source {
    const struct source_ops *ops;
};

#endif
