/* Any bytes as a file of rows, ours or a client's log: a report is made in one of its forms, or the
 * error says where. What adds up rows, and what makes figures of the sums, takes any values. The
 * first byte picks the options. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kvstat/reporter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Complaints would be most of what a fuzzer prints. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    FILE *null = fopen("/dev/null", "we");
    (void)argc;
    (void)argv;
    if (!null)
        abort();
    stderr = null;
    return 0;
}

static int report(struct reporter *r, char *path, struct err *e)
{
    const char *const files[] = {path, path};
    const struct options *o = &r->options;
    reporter_configure(r);
    r->scan = (struct scan_opts){.by = o->by,
                                 .most_groups = o->max_groups,
                                 .interval_ns = o->interval_ns,
                                 .warmup_ns = o->warmup_ns,
                                 .threads = 1,
                                 .skip_bad_rows = o->skip_bad_rows,
                                 .follow = verdict_is_asked(o->asked),
                                 .first_token = o->asked.slo};
    r->text = o->json ? NULL : output_open();
    r->json = o->json ? jsonout_create() : NULL;
    r->runs = run_table_create();
    if ((!r->text && !r->json) || !r->runs)
        abort();
    return o->merge ? reporter_add_pool(r, files, 2, e) : reporter_add(r, files, 1, NULL, e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const forms[][2] = {
        {"--full", "--reuse"},         {"--json", "--interval=1s"},     {"--csv", "--warmup=1ms"},
        {"--profile=mlperf", "--slo"}, {"--by=tier,user,op", "--full"}, {"--merge", "--json"},
        {"--skip-bad-rows", "--full"}, {"--profile=latency", "--json"}};
    const char *const *form = forms[size ? data[0] % (sizeof(forms) / sizeof(forms[0])) : 0];
    static int fd = -1;
    char path[64], *argv[] = {"kvstat", (char *)form[0], (char *)form[1], path, NULL};
    struct reporter r = {.argc = 4, .argv = argv};
    struct err e = {0};

    if (size == 0)
        return 0;
    if (fd < 0)
        fd = memfd_create("rows", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data + 1, size - 1, 0) != (ssize_t)size - 1)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    struct opt_parser *p = options_open(&r.options);
    if (!p || options_parse(p, &r.options, 4, argv, &e) != 0)
        abort();
    int rc = report(&r, path, &e);
    if (rc < 0 && (e.code != rc || !e.what[0]))
        abort();
    jsonout_free(r.json);
    output_free(r.text);
    run_table_free(r.runs);
    opt_close(p);
    return 0;
}
