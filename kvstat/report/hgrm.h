/* hgrm.h - distributions as the percentile text of HdrHistogram, which its plotter draws. */
#ifndef KVSTAT_REPORT_HGRM_H
#define KVSTAT_REPORT_HGRM_H

#include <stdio.h>

#include "kvstat/report/figures.h"
#include "lib/base/err.h"
#include "lib/base/hist.h"

/*
 * The text of AbstractHistogram.outputPercentileDistribution with five ticks per half distance
 * (HdrHistogram, github.com/HdrHistogram/HdrHistogram, PercentileIterator): value / unit,
 * percentile, count up to it, 1 / (1 - percentile); then mean, deviation, max, count. h is not
 * empty.
 */
void hgrm_write(FILE *out, const struct hist *h, double unit);

/* Writes one file for every time of every group of --by that moves objects, and of the requests
 * into dir, which is made when it is not there: "Tier-2_Read_Decode_service_us.hgrm",
 * "requests_end_to_end_ms.hgrm". 0 or a negative errno, class ERR_OUTPUT. */
int hgrm_save(const char *dir, const struct figures *f, struct err *e);

#endif
