/* One line a second about a long run, as text on a terminal or as JSON for machines. The program
 * passes the stream to write to. */
#ifndef KVTRACE_BASE_PROGRESS_H
#define KVTRACE_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The choices of --progress, in that order. */
enum progress_mode {
    PROGRESS_AUTO, /* on a terminal a line that rewrites itself, else nothing */
    PROGRESS_NONE,
    PROGRESS_TEXT, /* always; a new line each second when not on a terminal */
    PROGRESS_JSON  /* one JSON object a line */
};

struct progress;

/* Shows nothing during the first first_ns (usually 1 s). NULL: no memory. */
struct progress *progress_open(FILE *out, const char *program, enum progress_mode mode,
                               int64_t first_ns);
/* Returns true when a line is due: at most once a second, never when p is NULL. Cheap enough to
 * call every thousand rows. */
bool progress_due(struct progress *p);
/* Shows text (without newline), or in JSON mode json (an object without newline). */
void progress_show(struct progress *p, const char *text, const char *json);
/* The line on a terminal: a bar, where the share done is known, and brief behind it. briefer takes
 * its place where the bar would have no room; NULL: there is none. */
struct progress_bar {
    double share; /* 0..1; NAN: not known */
    const char *brief, *briefer;
};
/* The same as progress_show, with a bar on terminals. */
void progress_show_bar(struct progress *p, const struct progress_bar *b, const char *text,
                       const char *json);
/* Wipes the line of a terminal, so that other output starts clean. */
void progress_clear(struct progress *p);
void progress_close(struct progress *p);

/* A count in at most 5 characters: "12.3k", "1.23M". buf of at least 16 bytes; returns buf. */
char *progress_count(char *buf, uint64_t count);

/* Estimates the time left from the share done, in (0, 1], and the time elapsed: "m:ss" or
 * "h:mm:ss", "" when unknown. buf of at least 16 bytes; returns buf. */
char *progress_time_left(char *buf, double done_share, int64_t elapsed_ns);

#endif
