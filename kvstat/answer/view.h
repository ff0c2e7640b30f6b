/* view.h - an answer as a screen of 80 columns, in one of the views that a question has of it. */
#ifndef KVSTAT_ANSWER_VIEW_H
#define KVSTAT_ANSWER_VIEW_H

#include <stdio.h>

#include "kvstat/answer/conclusion.h"

/* In the order of --view. */
enum view {
    VIEW_DRIVE,       /* what the drive gives */
    VIEW_USERS,       /* and the numbers that were tried */
    VIEW_FAST_ENOUGH, /* the verdict on the number asked comes first */
    VIEW_WORTH,       /* what it gains beside no drive comes first */
    VIEW_COMPARE      /* two answers beside each other */
};

/* pair[1] is looked at for VIEW_COMPARE only. Errors of writing stay in the stream. */
void view_put(FILE *out, enum view view, const struct conclusion pair[2]);

/* "llama3.1-8b on one H100 (by calculation), vllm 0.33, chat users"; "/mnt/nvme (3.84 TB, ...)".
 * Return buf. */
enum {
    VIEW_LINE = 512
};
const char *view_load(char buf[VIEW_LINE], const struct answer *a);
const char *view_drive(char buf[VIEW_LINE], const struct answer *a);
/* The name of the drive. Lent by the answer. */
const char *view_drive_name(const struct answer *a);
/* The first line of worth. Returns buf. */
const char *view_worth(char buf[VIEW_LINE], const struct answer *a);
/* The line about the run on the drive, beside its model; with the reason when it does not confirm
 * it. "": nothing is to be confirmed. Returns buf. */
const char *view_confirmed(char buf[CONCLUSION_WHY], const struct conclusion *c, bool reason);
/* A time of s seconds in three digits at most: "2 s", "41 ms", "11 h"; "-" when unknown. buf has
 * CELL bytes. Returns buf. */
const char *view_span(char *buf, double s);
/* "6.4 GB/s". */
const char *view_rate(char *buf, double bytes_s);

/* Where prompt tokens come from: words, members of the JSON, and shares; NAN: not known. */
enum {
    VIEW_ORIGINS = 4
};
struct view_share {
    const char *word, *name;
    double share;
};
void view_origin(struct view_share share[VIEW_ORIGINS], const struct answer *a);

#endif
