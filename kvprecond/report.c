/* The result of a fill as a few lines of text and as JSON. Only formats: every figure was taken by
 * kvprecond.c and fill.c. */
#include "kvprecond/report.h"

#include <errno.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/units.h"

#define TEXT_CAP 64

static double per_second(uint64_t bytes, int64_t ns)
{
    return ns > 0 ? (double)bytes * (double)UNITS_NS_PER_S / (double)ns : 0;
}

static double cpu_s_per_gib(const struct report *r)
{
    double gib = (double)r->fill.bytes / (double)UNITS_GIB;

    return gib > 0 ? (double)r->cpu_ns / (double)UNITS_NS_PER_S / gib : 0;
}

static void text_written(const struct report *r, FILE *out)
{
    char a[TEXT_CAP], b[TEXT_CAP], c[TEXT_CAP];

    fprintf(out, "  written     %s of %s%s%s, %s at a time, up to %llu in flight\n",
            units_format_bytes(a, sizeof a, (double)r->fill.bytes),
            units_format_bytes(b, sizeof b, (double)r->o->size), r->why_short ? ", ended by " : "",
            r->why_short ? r->why_short : "",
            units_format_bytes(c, sizeof c, (double)r->o->block_bytes),
            (unsigned long long)r->o->iodepth);
}

static void text_time(const struct report *r, FILE *out)
{
    char a[TEXT_CAP], b[TEXT_CAP], c[TEXT_CAP];

    fprintf(out, "  bandwidth   %s (%.3f GB/s) over %s, then %s to make it durable\n",
            units_format_rate(a, sizeof a, per_second(r->fill.bytes, r->fill.elapsed_ns)),
            per_second(r->fill.bytes, r->fill.elapsed_ns) / 1e9,
            units_format_duration(b, sizeof b, (double)r->fill.elapsed_ns),
            units_format_duration(c, sizeof c, (double)r->sync_ns));
    fprintf(out, "  a write     p50 %s, p99 %s, max %s\n",
            units_format_duration(a, sizeof a, (double)hist_percentile(r->service, 500000)),
            units_format_duration(b, sizeof b, (double)hist_percentile(r->service, 990000)),
            units_format_duration(c, sizeof c, (double)hist_max(r->service)));
    fprintf(out, "  processor   %.3f s per GiB\n", cpu_s_per_gib(r));
}

static void text_device(const struct report *r, FILE *out)
{
    char a[TEXT_CAP];

    fprintf(out, "  engine      %s, %s%s%s\n", r->engine, r->direct ? "O_DIRECT" : "buffered",
            *r->fallbacks ? "; " : "", r->fallbacks);
    if (r->device.counted)
        fprintf(out, "  device      %s%s%s: %s written by the kernel's count\n", r->device.name,
                *r->device.model ? " " : "", r->device.model,
                units_format_bytes(a, sizeof a, (double)r->device_write_bytes));
}

static const char *fate(const struct report *r)
{
    if (r->kept)
        return "kept";
    return r->is_dir ? "removed (--keep leaves them)"
                     : "cut to its former length (--keep leaves it)";
}

int report_text(const struct report *r, FILE *out, struct err *e)
{
    fprintf(out, "kvprecond: %s\n", r->o->path);
    text_written(r, out);
    text_time(r, out);
    text_device(r, out);
    if (r->is_dir)
        fprintf(out, "  files       %llu, %s\n", (unsigned long long)r->files, fate(r));
    else
        fprintf(out, "  file        %s\n", fate(r));
    if (fflush(out) != 0 || ferror(out))
        return err_errno(e, errno ? -errno : -EIO, ERR_OUTPUT, "standard output",
                         "cannot be written");
    return 0;
}

static void json_times(struct jsonout *j, const struct hist *h)
{
    static const struct {
        const char *name;
        uint32_t ppm;
    } points[] = {{"p50", 500000}, {"p90", 900000},  {"p95", 950000},
                  {"p99", 990000}, {"p999", 999000}, {"p9999", 999900}};

    jsonout_object(j, "service_us");
    jsonout_u64(j, "count", hist_count(h));
    jsonout_f64(j, "mean", hist_mean(h) / 1e3);
    jsonout_f64(j, "min", (double)hist_min(h) / 1e3);
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
        jsonout_f64(j, points[i].name, (double)hist_percentile(h, points[i].ppm) / 1e3);
    jsonout_f64(j, "max", (double)hist_max(h) / 1e3);
    jsonout_end(j);
}

static void json_fallbacks(struct jsonout *j, const char *text)
{
    char one[REPORT_FALLBACKS_CAP];

    jsonout_array(j, "fallbacks");
    while (*text) {
        const char *end = strstr(text, "; ");
        size_t len = end ? (size_t)(end - text) : strlen(text);

        memcpy(one, text, len);
        one[len] = '\0';
        jsonout_text_value(j, NULL, one);
        text += end ? len + 2 : len;
    }
    jsonout_end(j);
}

static void json_target(struct jsonout *j, const struct report *r)
{
    jsonout_object(j, "target");
    jsonout_text_value(j, "path", r->o->path);
    jsonout_text_value(j, "kind", r->is_dir ? "directory" : "file");
    jsonout_text_value(j, "device", *r->device.name ? r->device.name : NULL);
    jsonout_text_value(j, "model", *r->device.model ? r->device.model : NULL);
    jsonout_u64(j, "files", r->files);
    jsonout_bool(j, "kept", r->kept);
    jsonout_end(j);
}

static void json_result(struct jsonout *j, const struct report *r)
{
    json_target(j, r);
    jsonout_u64(j, "seed", r->o->seed);
    jsonout_u64(j, "size_bytes", r->o->size);
    jsonout_u64(j, "block_bytes", r->o->block_bytes);
    jsonout_u64(j, "iodepth", r->o->iodepth);
    jsonout_text_value(j, "engine", r->engine);
    jsonout_bool(j, "direct", r->direct);
    json_fallbacks(j, r->fallbacks);
    jsonout_bool(j, "complete", r->fill.bytes == r->o->size);
    jsonout_text_value(j, "ended_by", r->why_short);
    jsonout_u64(j, "written_bytes", r->fill.bytes);
    jsonout_u64(j, "writes", r->fill.writes);
    jsonout_f64(j, "elapsed_s", (double)r->fill.elapsed_ns / 1e9);
    jsonout_f64(j, "sync_s", (double)r->sync_ns / 1e9);
    jsonout_f64(j, "gib_per_s", per_second(r->fill.bytes, r->fill.elapsed_ns) / (double)UNITS_GIB);
    jsonout_f64(j, "cpu_s", (double)r->cpu_ns / 1e9);
    jsonout_f64(j, "cpu_s_per_gib", cpu_s_per_gib(r));
    json_times(j, r->service);
    jsonout_object(j, "kernel");
    if (r->device.counted)
        jsonout_u64(j, "device_write_bytes", r->device_write_bytes);
    else
        jsonout_null(j, "device_write_bytes");
    jsonout_end(j);
}

int report_json(const struct report *r, const char *path, int argc, char *const *argv,
                struct err *e)
{
    struct jsonout *j = jsonout_create();
    int ret;

    if (!j)
        return err_nomem(e, "summary");
    jsonout_identity(j, "kvprecond", argc, argv, r->started_wall_ns);
    json_result(j, r);
    ret = jsonout_save(j, path, e);
    jsonout_free(j);
    return ret;
}
