/* requests.h - the requests of a file: a bounded table joins the pieces of each one, and counts a
 * request when no row of it was seen for a long while. */
#ifndef KVSTAT_COUNT_REQUESTS_H
#define KVSTAT_COUNT_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "kvstat/count/blocks.h"
#include "kvstat/count/request_piece.h"
#include "lib/base/hist.h"
#include "lib/trace/trace.h"

/* A request is counted as one if no two of its rows in sequence lie further apart than this many
 * rows, and if at most this many requests are open at once. */
#define REQUESTS_WINDOW_ROWS ((uint64_t)1 << 20)
#define REQUESTS_OPEN_MAX    ((size_t)1 << 18)

/* Times of a request in ns. */
enum requests_metric {
    REQUESTS_END_TO_END, /* arrival to last completion, generation included */
    REQUESTS_QUEUE,      /* arrival to first start */
    REQUESTS_STORAGE,    /* service time of all its KV operations, in all tiers */
    REQUESTS_GENERATION,
    REQUESTS_FIRST_TOKEN, /* arrival to the last completion of a read before the first Generate row,
                             to the first start when there is no such read: what storage decides of
                             the time to the first token. Measured with requests_follow_first_token
                           */
    REQUESTS_TTFT,        /* arrival to the end of the prefill; of requests that have one */
    REQUESTS_TPOT,        /* mean time between two tokens of the answer; where it has two or more */
    REQUESTS_METRICS
};

/* The times of one request, as the MLPerf Storage KV-cache benchmark lists them. TRACE_NONE: it has
 * none. */
enum requests_listed {
    REQUESTS_LISTED_END_TO_END,
    REQUESTS_LISTED_STORAGE, /* service time of its operations without demotions */
    REQUESTS_LISTED_GENERATION,
    REQUESTS_LISTED_PREFILL, /* of its writes */
    REQUESTS_LISTED_DECODE,  /* of its reads but those of earlier turns */
    REQUESTS_LISTED
};
/* So many requests are listed at most; all enter the sums and distributions. */
#define REQUESTS_LIST_MAX ((size_t)1 << 19)
struct requests_list {
    struct {
        int64_t ns[REQUESTS_LISTED];
    } * item;
    size_t count, room;
    struct hist *storage; /* REQUESTS_LISTED_STORAGE of all requests; NULL where empty */
};

struct requests_totals {
    uint64_t count;      /* requests; a cut one counts once for each part */
    uint64_t cut;        /* parts counted after a gap beyond the window */
    uint64_t unanswered; /* without a Generate row, in the times up to their last row */
    uint64_t failed;     /* with a row that is corrupt or has an errno: in no time and no target */
    uint64_t with_arrival; /* whose arrival on the clock of the rows is known */
    double end_to_end_ns, part_ns[REQUEST_PARTS]; /* sums; the line that stops of the process made
                                                     is of REQUEST_PART_TOOL, not of the queue */
    bool stops_known;
    struct {
        uint64_t count, within_target;         /* end to end within target_ns of requests_create */
        struct hist *metric[REQUESTS_METRICS]; /* NULL where empty */
        /* As the requests were counted; NULL: not followed. */
        struct blocks *end_to_end, *first_token;
    } qos[TRACE_NO_QOS + 1];
    struct hist *metric[REQUESTS_METRICS];
    struct hist *prompt; /* end to end without the tool's own delays; NULL where empty */
    struct hist *prompt_first_token; /* likewise */
    struct blocks *end_to_end;
    uint64_t ingested, ingest_failed; /* documents for retrieval, which are no requests above */
    struct hist *ingest;              /* end to end; NULL where empty */
    struct requests_list list;        /* empty: not asked for */
};

struct gaps;
struct requests;
/* target_ns: by QoS. NULL: no memory. */
struct requests *requests_create(bool result, const int64_t target_ns[TRACE_QOSES]);
/* Keeps the end-to-end times in the order of time too, as verdicts and comparisons need them. */
void requests_follow(struct requests *r);
/* Measures the part before the first token too, and keeps it likewise. */
void requests_follow_first_token(struct requests *r);
/* The gaps of the replay, of which those of the whole process count; NULL: none are known. Lent. */
void requests_take_gaps(struct requests *r, const struct gaps *gaps);
const struct gaps *requests_stops(const struct requests *r);
/* Lists the times of each request too. */
void requests_list(struct requests *r);
bool requests_lists(const struct requests *r);
void requests_free(struct requests *r);
/* Appends the piece of the next rows in file order; rows: how many the piece had. 0 or -ENOMEM. */
int requests_append(struct requests *r, const struct request_piece *piece, uint64_t rows);
/* Ends a file: counts all requests that are open. 0 or -ENOMEM. */
int requests_end_file(struct requests *r);
/* Nothing is known of the requests: the rows of each are spread over parts of a run. */
void requests_forget(struct requests *r);
/* Adds the counts of another file's table. 0 or -ENOMEM. */
int requests_merge(struct requests *into, const struct requests *from);
const struct requests_totals *requests_totals(const struct requests *r);

#endif
