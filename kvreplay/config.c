/* Between the command line and its checks: the sections autoscaler and saturation_detection of the
 * configuration file that all programs share. */
#include "kvreplay/config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "lib/conf/conf.h"

#define CONFIG_NS_PER_MS 1e6

static int64_t config_ns(const struct conf *c, const char *path)
{
    return llround(conf_f64(c, path) * CONFIG_NS_PER_MS);
}

static int config_users(const struct conf *c, const struct opt_parser *p, struct options *o,
                        struct err *e)
{
    o->min_users = (uint64_t)conf_i64(c, "autoscaler.min_users");
    if (!opt_given(p, "max-users"))
        o->max_users = (uint64_t)conf_i64(c, "autoscaler.max_users");
    if (o->min_users > o->max_users)
        return err_set(e, -EINVAL, ERR_INPUT, "autoscaler.min_users",
                       "more than the most users (autoscaler.max_users or --max-users)");
    if (opt_given(p, "start-users"))
        return 0;
    if (o->start_users < o->min_users)
        o->start_users = o->min_users;
    if (o->start_users > o->max_users)
        o->start_users = o->max_users;
    return 0;
}

static int config_saturation(const struct conf *c, const struct opt_parser *p, struct options *o,
                             struct err *e)
{
    static const char *const key = "saturation_detection.read_latency_p95_threshold_ms";

    if (!opt_given(p, "storage-p95"))
        o->storage_p95_ns = config_ns(c, key);
    o->write_p95_ns = config_ns(c, "saturation_detection.write_latency_p95_threshold_ms");
    o->queue_limit = (uint64_t)conf_i64(c, "saturation_detection.queue_depth_threshold");
    if (o->storage_p95_ns < 1)
        return err_set(e, -EINVAL, ERR_INPUT, key, "no time at all: no read could keep it");
    return 0;
}

int config_read(const struct opt_parser *p, struct options *o, struct err *e)
{
    struct conf *c;
    const char *warning;

    int rc = conf_open(&c, o->config, e);
    if (rc < 0)
        return rc;
    for (size_t i = 0; (warning = conf_warning(c, i)) != NULL; i++)
        fprintf(stderr, "kvreplay: %s\n", warning);
    o->scale_up = conf_f64(c, "autoscaler.scale_up_factor");
    o->scale_down = conf_f64(c, "autoscaler.scale_down_factor");
    rc = config_users(c, p, o, e);
    if (rc == 0)
        rc = config_saturation(c, p, o, e);
    conf_free(c);
    return rc;
}
