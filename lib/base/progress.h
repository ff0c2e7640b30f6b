/* progress.h - one line a second about a long run, on a terminal or as JSON for machines.
 * The program gives the stream; nothing here is printed of the library's own accord. */
#ifndef KVTRACE_BASE_PROGRESS_H
#define KVTRACE_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum progress_mode {
    PROGRESS_AUTO, /* a line that rewrites itself if the stream is a terminal, else nothing */
    PROGRESS_NONE,
    PROGRESS_TEXT, /* always, a new line each second when not a terminal */
    PROGRESS_JSON  /* one JSON object a line */
};

struct progress;

/* NULL when there is no memory. first_ns: nothing is shown before this long (1 s is usual). */
struct progress *progress_open(FILE *out, const char *program, enum progress_mode mode,
                               int64_t first_ns);
/* True when a line is due (at most once a second; never with NULL); cheap enough to ask every
 * thousand rows. */
bool progress_due(struct progress *p);
/* Shows text (without newline); in JSON mode json (an object without newline) is shown instead. */
void progress_show(struct progress *p, const char *text, const char *json);
/* Wipes the line of a terminal, so that other output starts clean; later shows draw it anew. */
void progress_clear(struct progress *p);
void progress_close(struct progress *p);

/* Formats "42 % 12.3 GiB ... 0:35 left" pieces: time left from a done share in (0, 1] and elapsed
 * ns, as "m:ss" or "h:mm:ss"; "" when unknown. buf of at least 16 bytes; returns buf. */
char *progress_time_left(char *buf, double done_share, int64_t elapsed_ns);

#endif
