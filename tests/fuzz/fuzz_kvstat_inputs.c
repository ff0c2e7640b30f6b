/* Any bytes as what kvstat reads besides rows and reports: the summary of a run (--run, or a frame
 * of the rows), a curve or the rounds of a fill (--plot), a summary of the benchmark (--compare),
 * what blktrace recorded (--blktrace).
 * The first byte picks one, unless FUZZ_READER names it. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kvstat/block_log.h"
#include "kvstat/count/gaps.h"
#include "kvstat/count/provenance.h"
#include "kvstat/mlperf/compare_runs.h"
#include "kvstat/number_table.h"
#include "lib/json/jsonout.h"
#include "tests/fuzz/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_summary(const char *path, struct err *e)
{
    struct provenance p;
    struct gaps *g = NULL;
    int rc = provenance_read(&p, path, NULL, NULL, e);
    if (rc == 0) {
        provenance_of_result(&p, true);
        rc = gaps_read(&g, path, NULL, e);
    }
    /* For any times, no gap is longer than the span that it lies in. */
    if (gaps_overlap_ns(g, INT64_MIN / 2, INT64_MAX / 2) < gaps_overlap_ns(g, 0, 1000000000))
        abort();
    gaps_free(g);
    provenance_free(&p);
    return rc;
}

static volatile double used; /* every number is read */

static int read_table(const char *path, struct err *e)
{
    struct number_table *t = NULL;
    double sum = 0;
    int rc = number_table_load(&t, path, e);
    for (size_t i = 0; rc == 0 && i < number_table_rows(t); i++)
        sum += number_table_at(t, i, "Object_Hit_Rate") + number_table_at(t, i, "Round");
    used = sum + (double)number_table_kind_of(path);
    if (rc == 0)
        number_table_free(t);
    return rc;
}

static int read_runs(const char *path, struct err *e)
{
    struct compare_runs *c = NULL;
    char *text = NULL;
    size_t len = 0;
    int rc = compare_runs_read(&c, path, path, e);
    struct jsonout *j = rc == 0 ? jsonout_create() : NULL;
    FILE *out = rc == 0 ? open_memstream(&text, &len) : NULL;
    if (rc == 0 && (!j || !out))
        abort();
    if (rc == 0) {
        compare_runs_text(out, c);
        compare_runs_json(j, c);
        fclose(out);
        compare_runs_free(c);
    }
    jsonout_free(j);
    free(text);
    return rc;
}

static int read_block_log(const char *path, struct err *e)
{
    struct block_log *b;
    char *text = NULL;
    size_t len = 0;
    int rc = block_log_read(&b, path, e);
    struct jsonout *j = b ? jsonout_create() : NULL;
    FILE *out = b ? open_memstream(&text, &len) : NULL;
    if ((b != NULL) != (rc == 0 || rc == -EBADMSG) || (b && (!j || !out)))
        abort();
    if (b) {
        block_log_text(out, path, b);
        jsonout_array(j, "blktrace");
        block_log_json(j, path, b);
        jsonout_end(j);
        fclose(out);
    }
    block_log_free(b);
    jsonout_free(j);
    free(text);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"summary", "table", "runs", "blktrace"};
    static int (*const readers[])(const char *, struct err *) = {read_summary, read_table,
                                                                 read_runs, read_block_log};
    enum {
        READERS = sizeof(readers) / sizeof(readers[0])
    };
    static int fd = -1;
    int only = fuzz_reader(names, READERS);
    struct err e = {0};
    char path[64];

    if (size == 0)
        return 0;
    if (fd < 0)
        fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data + 1, size - 1, 0) != (ssize_t)size - 1)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int rc = readers[only >= 0 ? only : data[0] % READERS](path, &e);
    if (rc < 0 && (e.code != rc || !e.what[0]))
        abort();
    return 0;
}
