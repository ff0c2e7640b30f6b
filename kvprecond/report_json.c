/* The result of a run as JSON, for scripts. Only formats, as text.c. */
#include "kvprecond/report.h"
#include "lib/base/units.h"
#include "lib/json/jsonout.h"

static void json_times(struct jsonout *j, const struct hist *h)
{
    jsonout_object(j, "service_us");
    jsonout_hist_members(j, h, 1e3);
    jsonout_end(j);
}

static void json_target(struct jsonout *j, const struct report *r)
{
    static const char *const kinds[] = {"directory", "file", "device"};

    jsonout_object(j, "target");
    jsonout_text_value(j, "path", r->o->path);
    jsonout_text_value(j, "kind", kinds[r->o->kind]);
    jsonout_text_value(j, "device", *r->device.name ? r->device.name : NULL);
    jsonout_text_value(j, "model", *r->device.model ? r->device.model : NULL);
    if (r->capacity)
        jsonout_u64(j, "capacity_bytes", r->capacity);
    else
        jsonout_null(j, "capacity_bytes");
    jsonout_u64(j, "files", r->files);
    jsonout_bool(j, "kept", r->kept);
    jsonout_end(j);
}

static void json_asked(struct jsonout *j, const struct report *r)
{
    const bool kv = r->o->mode == PLAN_KV;

    jsonout_text_value(j, "mode", report_mode(r));
    jsonout_u64(j, "seed", r->o->seed);
    jsonout_u64(j, "size_bytes", r->size_bytes);
    jsonout_u64(j, "block_bytes", r->o->block_bytes);
    jsonout_text_value(j, "model", kv ? r->o->model.id : NULL);
    if (kv)
        jsonout_u64(j, "object_bytes", r->o->object_bytes);
    else
        jsonout_null(j, "object_bytes");
    jsonout_u64(j, "threads", r->o->threads);
    jsonout_u64(j, "iodepth", r->o->iodepth);
}

static void json_purge(struct jsonout *j, const struct report *r)
{
    if (!r->o->purge) {
        jsonout_null(j, "purge");
        return;
    }
    jsonout_object(j, "purge");
    jsonout_u64(j, "discarded_bytes", r->purged_bytes);
    jsonout_text_value(j, "error", r->purge_failed);
    jsonout_end(j);
}

static void json_fill(struct jsonout *j, const struct report *r)
{
    jsonout_bool(j, "complete", r->fill.complete);
    jsonout_text_value(j, "ended_by", r->why_short);
    jsonout_u64(j, "written_bytes", r->fill.bytes);
    jsonout_u64(j, "writes", r->fill.writes);
    jsonout_f64(j, "elapsed_s", (double)r->fill.elapsed_ns / 1e9);
    jsonout_f64(j, "sync_s", (double)r->sync_ns / 1e9);
    jsonout_f64(j, "gib_per_s", report_bytes_per_s(r) / (double)UNITS_GIB);
    jsonout_u64(j, "total_written_bytes", r->fill.total_bytes);
    jsonout_f64(j, "cpu_s", (double)r->cpu_ns / 1e9);
    jsonout_f64(j, "cpu_s_per_gib", report_cpu_s_per_gib(r));
    json_times(j, r->service);
}

static void json_round(struct jsonout *j, unsigned number, const struct round *round)
{
    const bool judged = round->verdict.average > 0;

    jsonout_object(j, NULL);
    jsonout_u64(j, "round", number);
    jsonout_f64(j, "start_s", (double)round->start_ns / 1e9);
    jsonout_f64(j, "elapsed_s", (double)round->elapsed_ns / 1e9);
    jsonout_u64(j, "bytes", round->bytes);
    jsonout_f64(j, "gib_per_s", round->bytes_per_s / (double)UNITS_GIB);
    jsonout_f64(j, "iops", round->iops);
    jsonout_f64(j, "service_mean_us", round->mean_ns / 1e3);
    jsonout_f64(j, "service_p99_us", (double)round->p99_ns / 1e3);
    if (judged) {
        jsonout_f64(j, "range_share", round->verdict.range_share);
        jsonout_f64(j, "slope_share", round->verdict.slope_share);
    } else {
        jsonout_null(j, "range_share");
        jsonout_null(j, "slope_share");
    }
    jsonout_bool(j, "steady", round->verdict.steady);
    jsonout_end(j);
}

static void json_rounds(struct jsonout *j, const struct report *r)
{
    if (!r->o->until_steady) {
        jsonout_null(j, "steady_state");
        return;
    }
    jsonout_object(j, "steady_state");
    jsonout_bool(j, "reached", rounds_steady(&r->rounds));
    jsonout_text_value(j, "track", rounds_track_name(r->rounds.track));
    jsonout_f64(j, "round_s", (double)r->o->round_ns / 1e9);
    jsonout_u64(j, "window", STEADY_WINDOW);
    jsonout_f64(j, "range_share_max", STEADY_RANGE_MAX);
    jsonout_f64(j, "slope_share_max", STEADY_SLOPE_MAX);
    jsonout_array(j, "rounds");
    for (unsigned i = 0; i < r->rounds.count; i++)
        json_round(j, i + 1, &r->rounds.round[i]);
    jsonout_end(j);
    jsonout_end(j);
}

static void json_kernel(struct jsonout *j, const struct report *r)
{
    jsonout_object(j, "kernel");
    if (r->device.counted)
        jsonout_u64(j, "device_write_bytes", r->device_write_bytes);
    else
        jsonout_null(j, "device_write_bytes");
    jsonout_end(j);
}

static void json_result(struct jsonout *j, const struct report *r)
{
    json_target(j, r);
    json_asked(j, r);
    jsonout_text_value(j, "engine", r->engine);
    jsonout_bool(j, "direct", r->direct);
    jsonout_notes(j, "fallbacks", &r->fallbacks);
    json_purge(j, r);
    json_fill(j, r);
    json_rounds(j, r);
    json_kernel(j, r);
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
