/* warm.h - from when on a simulation's figures count: windows of virtual time, each half as long
 * as all before it, until prompts get their tokens from the tiers in the same shares as in the
 * window before. Plain values, no threads. */
#ifndef KVGEN_ANSWER_WARM_H
#define KVGEN_ANSWER_WARM_H

#include <stdbool.h>
#include <stdint.h>

enum warm_origin {
    WARM_GPU,
    WARM_HOST,
    WARM_STORAGE,
    WARM_COMPUTED,
    WARM_ORIGINS
};

#define WARM_FIRST_NS   INT64_C(60000000000)    /* length of the first window */
#define WARM_HORIZON_NS INT64_C(86400000000000) /* windows end here, whatever they say */
#define WARM_CHANGE     0.01                    /* of a share, that does not count */
#define WARM_ERRORS     2                       /* nor so many standard errors */
enum {
    WARM_REQUESTS = 100,     /* in a window that can be compared, at least */
    WARM_REQUESTS_MAX = 5000 /* after so many, windows end as at the horizon */
};

/* Sums over the requests of a window: their prompts' tokens, those of each origin, and what the
 * error of a share needs. */
struct warm_window {
    uint64_t requests, good;
    double tokens, of[WARM_ORIGINS];
    double squares, products[WARM_ORIGINS], of_squares[WARM_ORIGINS];
};

struct warm {
    struct warm_window now, before;
    int64_t from_ns;          /* windows begin there */
    int64_t begin_ns, end_ns; /* of the window now */
    uint64_t requests, most;  /* in all windows, and before the first: so far, and at the end */
    bool settled;             /* the shares stay; else something else ended it */
};

/* Windows begin at from_ns. most: after so many requests the last one ends as at the horizon. */
void warm_begin(struct warm *w, int64_t from_ns, uint64_t most);
/* Tells that a request is done, with the tokens of its prompt by origin. true: warm from now on,
 * and this request is the first that counts. */
bool warm_add(struct warm *w, int64_t now_ns, const uint64_t tokens[WARM_ORIGINS], bool good);
/* Two whole windows had too few good requests and the later one had no more: such a load will not
 * come round. */
bool warm_is_hopeless(const struct warm *w);

#endif
