/* page_tables.h - the figures of one run as sections of a page. */
#ifndef KVSTAT_DRAW_PAGE_TABLES_H
#define KVSTAT_DRAW_PAGE_TABLES_H

#include <stdio.h>

#include "kvstat/report/figures.h"

/* The verdict with its criteria, and which figures may be believed. */
void page_verdict(FILE *out, const struct figures *f);
void page_validity(FILE *out, const struct figures *f);
/* Throughput, where the time went, tiers, requests by class, the cache, and groups. */
void page_tables(FILE *out, const struct figures *f);
/* The run: its command, its host, and remarks on it. */
void page_how(FILE *out, const struct figures *f);

#endif
