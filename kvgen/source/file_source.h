/* file_source.h - what the sources that read requests from files share: the files one behind the
 * other and again, their times as arrivals, and one request read ahead. A source begins with a
 * struct file_source and fills in the rest. One thread. */
#ifndef KVGEN_SOURCE_FILE_SOURCE_H
#define KVGEN_SOURCE_FILE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/meaning/stamps.h"
#include "kvgen/source/inputs.h"
#include "kvgen/source/source.h"
#include "kvgen/workload.h"
#include "lib/base/err.h"
#include "lib/trace/trace.h"

/* Times in a file must lie between minus this and this, in ns on the clock of the file. Arrivals
 * lie between 0 and this. */
#define FILE_SOURCE_MAX_NS (INT64_C(1) << 62)

/* Ends of error messages that begin with the name of the time. */
#define FILE_SOURCE_GOES_BACK "goes back; requests must be in order of arrival"
#define FILE_SOURCE_TOO_LATE  "lies after the end of virtual time (146 years)"
#define FILE_SOURCE_TORN      "--config sample would tear apart the rows that share blocks"

struct jsonin_stream;
struct jsonin_v;
struct opt_parser;

struct file_source_opts {
    double speedup;  /* times are divided by it; 0: no time between requests */
    uint64_t cycles; /* how often the input is read; 0: without end */
    bool counted;    /* the run ends after so many requests: time need not pass */
    /* Most memory of what an element of a file becomes, and of all that is held of files; 0:
     * FILE_SOURCE_MEMORY. */
    uint64_t memory_bytes;
    enum stamps_unit unit; /* of stamps whose unit the files do not say; STAMPS_AUTO: find it */
    double sample;         /* share of the sessions that is kept; 0 or 1: all of them */
    int64_t max_gap_ns;    /* longer times without a request are cut to it; 0: none are */
    int64_t max_context;   /* tokens that a request's context is cut to; 0: none is */
    int64_t block_tokens;  /* of blocks whose size the files do not say; 0: find it */
    /* Requests under way at most: the next one comes when one is answered, whatever its time; 0:
     * they come at their times. */
    uint64_t clients;
    const struct opt_parser *parser; /* which the options are of; NULL: of none */
};
#define FILE_SOURCE_MEMORY (UINT64_C(1) << 30)

struct file_source {
    struct source base;
    struct file_source_opts o;
    struct inputs *in;            /* owned */
    struct frame_in *file;        /* being read, lent by in; NULL before the first */
    struct jsonin_stream *stream; /* its elements, if file_source_elements was called */
    /* Called before the elements of a file are read: 0 or negative errno with *e. May be NULL. */
    int (*begin_file)(struct file_source *s, struct err *e);
    /* Makes the next request in next: 1; 0 at the end; negative errno with *e. */
    int (*read)(struct file_source *s, struct err *e);
    struct request next;
    bool ready; /* next was read and not taken */
    bool ended;
    uint64_t under_way;  /* with clients: requests that were taken and not answered */
    int64_t answered_ns; /* when the last one was answered */
    uint64_t held_bytes;
    struct skips skips;
    /* From times of the files to arrivals. */
    bool running;              /* this cycle has an arrival */
    bool new_file;             /* the next time is the first of its file */
    int64_t first_ns, base_ns; /* one time of the file and its arrival */
    int64_t last_ns;           /* the last time, on the clock of the file */
    int64_t arrival_ns;        /* the last arrival */
    int64_t cycle_ns;          /* arrival at which this cycle began */
    uint64_t cycles;           /* complete ones */
    uint64_t gaps_cut, contexts_cut;
    uint64_t kept, left_out;     /* by --config sample */
    uint64_t place, place_cycle; /* of the element that was asked for last, and its cycle */
};

/* Refuses max_gap_ns of the command line, since the input has no gaps between requests; that of a
 * file has no effect then. 0, or -EINVAL with *e. */
int file_source_refuse_gap(struct file_source *s, const char *why, struct err *e);

struct jsonin_limit;

/* For the values of an element; names the option that raises it. */
struct jsonin_limit file_source_limit(const struct file_source *s);
/* Adds bytes to what is held of files, and may make the sum too large: 0, or -EFBIG with *e, where
 * what says of what. */
int file_source_hold(struct file_source *s, uint64_t bytes, const char *what, struct err *e);

/* Makes a source of that many bytes, which begins with a struct file_source; the rest is zero.
 * Takes ownership of in, also on failure. NULL with *e: no memory. again decides whether the files
 * are read once more (see inputs_repeat): file_source_again, unless the source has its own rule. */
void *file_source_create(size_t bytes, const struct source_ops *ops, struct inputs *in,
                         const struct file_source_opts *o, inputs_again again, struct err *e);
/* The last step of opening: sets *out to the source; if rc is negative, closes it. Returns rc or 0.
 */
int file_source_opened(struct file_source *s, int rc, struct source **out);
/* Closes the input and releases the source itself. */
void file_source_release(struct file_source *s);

/* Opens the next file, which may be the first of another cycle: 1 and s->file; 0 at the end;
 * negative errno with *e. */
int file_source_next_file(struct file_source *s, struct err *e);
/* Opens the present file as a stream of JSON elements, and closes the previous stream. */
int file_source_elements(struct file_source *s, struct err *e);
/* The next element of any file: 1 and *v, lent until the next call; 0 at the end; negative errno.
 */
int file_source_next_element(struct file_source *s, const struct jsonin_v **v, struct err *e);
/* An inputs_again for a struct file_source whose requests have arrivals by file_source_arrival: 1
 * while cycles are left; 0 at the end, or if the cycle had no request; -EINVAL when cycles without
 * end would take no time. */
int file_source_again(void *source, const char *path, struct err *e);
/*
 * The arrival of a request at time_ns on the clock of its file. The first one arrives at 0. A file
 * goes on from the times of the file before; if its first time lies before those, it arrives
 * together with the last request. So does the first request of a cycle. -EINVAL: the time goes back
 * within a file; -ERANGE: it lies beyond FILE_SOURCE_MAX_NS.
 */
int file_source_arrival(struct file_source *s, int64_t time_ns, int64_t *arrival_ns);

bool file_source_samples(const struct file_source *s);
/* Whether --config sample keeps the session of that name, which is counted. Without a name (NULL),
 * it is known by its place among all that were asked for in this cycle. Decided by a hash of the
 * name alone: a larger share keeps what a smaller one keeps. */
bool file_source_keeps(struct file_source *s, const void *name, size_t len);
/* -EINVAL: the files hold none of what, or --config sample keeps none. */
int file_source_none(const struct file_source *s, const char *what, struct err *e);
/* Cuts the context of r to --config max_context, and its blocks to those that lie within it whole.
 */
void file_source_cut(struct file_source *s, struct request *r);
/* Adds what was left out and cut; what names the elements that --config sample asked for. */
void file_source_note_cuts(const struct file_source *s, const char *what, struct notes *to);

/* -EINVAL with the given text at "FILE:LINE" of the present file; line 0: of the present element.
 */
int file_source_bad(const struct file_source *s, uint64_t line, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Counts a row that is skipped, and keeps *why of the first one. */
void file_source_note_skip(struct file_source *s, const struct err *why);
/* Sets the class and the shared system prompt of r, of which files say nothing. qos is the class of
 * all requests; TRACE_NO_QOS: it is drawn. The number of draws does not depend on qos. */
void file_source_draw(struct request *r, struct rng *rng, const struct workload *w,
                      enum trace_qos qos);

/* For tables of source_ops. */
int file_source_peek(struct source *base, int64_t *arrival_ns, struct err *e);
void file_source_take(struct source *base, struct request *out);
void file_source_done(struct source *base, const struct request *r, int64_t now_ns);
const struct skips *file_source_skips(const struct source *base);
/* "trace_user_<user>" and "dataset_user_<user>". */
size_t file_source_trace_user(const struct source *base, uint32_t user, char *buf);
size_t file_source_dataset_user(const struct source *base, uint32_t user, char *buf);

#endif
