/* cells.h - one figure as text for a column of the text report. Each function fills and returns buf
 * (CELL or LABEL bytes); NAN becomes "-". */
#ifndef KVSTAT_REPORT_CELLS_H
#define KVSTAT_REPORT_CELLS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kvstat/report/figure.h"

enum {
    CELL = 40,
    LABEL = 160,
    CELL_COLUMNS = 100 /* of a report */
};

const char *cell_count(char *buf, uint64_t count); /* "1,234,567" */
const char *cell_rows(char *buf, uint64_t count);  /* "1 row", "1,234 rows" */
const char *cell_number(char *buf, double v);      /* three or more digits: "0.123", "1,234" */
const char *cell_share(char *buf, double v);       /* of 1: "12.34 %" */
const char *cell_percent(char *buf, double v);     /* of 1: "12.3 %" */
const char *cell_bytes(char *buf, double bytes);   /* "1.50 GiB" */
const char *cell_size(char *buf, double bytes);    /* in three digits: "15.9 GiB" */
const char *cell_decimal(char *buf, double bytes); /* in powers of ten: "15.9 GB" */
const char *cell_seconds(char *buf, double s);     /* "12.3 s", "2 h 05 min" */
/* At most 8 characters: "12.3 us"; marked with * when too few samples support it. */
const char *cell_time(char *buf, double ns, bool supported);
const char *cell_of_s(char *buf, double s); /* cell_time of seconds, us */
const char *cell_of_us(char *buf, double us);
/* A value with its unit: "12.3 us", "1.50 GiB/s", "497 tok/s". */
const char *cell_value(char *buf, enum figure_unit unit, double v);
/* "Tier-2 Read Decode": the words of the columns in id->by; "-" for an empty one. */
const char *cell_label(char *buf, const struct figure_id *id);

/* Columns of a terminal that UTF-8 text takes: wide characters two, combining ones none. */
int cell_columns(const char *text);
/* The width for printf, which counts bytes, that makes text fill so many columns. */
int cell_pad(const char *text, int columns);

/* "Notes        ...": a text in lines of at most 100 bytes, the title in front of the first. */
void cell_paragraph(FILE *out, const char *title, const char *text);
/* The last lines of a report: "Verdict: ...", the sentence in lines of at most 100 bytes. */
void cell_verdict(FILE *out, const char *sentence);

#endif
