/* The file that kvtrace model writes, and the rate at any load by interpolation. Points are kept as
 * lines: of each share of reads the sizes, of each size the rates by objects in flight. */
#include "lib/drive/drive_model.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json/jsonin.h"

#define MAX_FILE ((size_t)4 << 20)
/* As many as the axes have values. */
enum {
    VALUES = DRIVE_MODEL_VALUES_MAX,
    MAX_POINTS = VALUES * VALUES * VALUES
};

/* Values of an axis, ascending, each with what lies on it. */
struct line { /* by objects in flight */
    unsigned count;
    double log_n[VALUES], rate[VALUES];
};
struct plane { /* by size */
    unsigned count;
    double log_size[VALUES];
    struct line line[VALUES];
};
struct drive_model {
    unsigned count; /* by share of reads */
    double read_share[VALUES];
    struct plane plane[VALUES];
    uint64_t most_in_flight;
    struct drive_model_facts facts;
    struct drive_model_point *point; /* in their order */
};

/* ---- the rate ---- */

/* Logarithm to base 2 of x >= 1, with 32 bits behind the point: squaring doubles it, and each time
 * that the square reaches 2 there is a 1 in it. */
static double log2_of(uint64_t x)
{
    int whole = 63 - __builtin_clzll(x);
    uint64_t mantissa = x << (63 - whole), fraction = 0; /* mantissa: 1 to 2, in units of 2^-63 */

    for (int bit = 31; bit >= 0; bit--) {
        mantissa = (uint64_t)(((unsigned __int128)mantissa * mantissa) >> 64);
        if (mantissa >> 63)
            fraction |= (uint64_t)1 << bit;
        else
            mantissa <<= 1;
    }
    return whole + (double)fraction / 4294967296.0;
}

/* Where a value lies among the count ascending ones of an axis: between *low and *low + 1, with
 * this weight of the latter. Beyond them the nearest has all the weight. */
static double place_on(const double *axis, unsigned count, double value, unsigned *low)
{
    unsigned i = 0;

    while (i + 1 < count && axis[i + 1] <= value)
        i++;
    *low = i;
    if (i + 1 == count || value <= axis[i])
        return 0;
    return (value - axis[i]) / (axis[i + 1] - axis[i]);
}

static double between(double low, double high, double weight)
{
    return low + (high - low) * weight;
}

static double line_rate(const struct line *l, double log_n)
{
    unsigned i;
    double weight = place_on(l->log_n, l->count, log_n, &i);
    return weight > 0 ? between(l->rate[i], l->rate[i + 1], weight) : l->rate[i];
}

static double plane_rate(const struct plane *p, double log_n, double log_size)
{
    unsigned i;
    double weight = place_on(p->log_size, p->count, log_size, &i);
    double low = line_rate(&p->line[i], log_n);
    return weight > 0 ? between(low, line_rate(&p->line[i + 1], log_n), weight) : low;
}

uint64_t drive_model_rate(const struct drive_model *m, uint64_t n, uint64_t bytes,
                          uint64_t read_bytes)
{
    uint64_t size = bytes / n;
    double log_n = log2_of(n), log_size = log2_of(size > 0 ? size : 1);
    double share = bytes > 0 ? (double)read_bytes / (double)bytes : 1;
    unsigned i;
    double weight = place_on(m->read_share, m->count, share, &i);
    double rate = plane_rate(&m->plane[i], log_n, log_size);

    if (weight > 0)
        rate = between(rate, plane_rate(&m->plane[i + 1], log_n, log_size), weight);
    return rate < 1 ? 1 : (uint64_t)(rate + 0.5);
}

uint64_t drive_model_most_in_flight(const struct drive_model *m)
{
    return m->most_in_flight;
}

/* ---- the file ---- */

static int bad_point(const char *where, size_t i, const char *why, struct err *e)
{
    return err_set(e, -EINVAL, ERR_INPUT, where, "points[%zu]: %s", i, why);
}

static int read_point(struct drive_model_point *p, const struct jsonin_v *v, const char *where,
                      size_t i, struct err *e)
{
    const struct jsonin_v *p95 = jsonin_get(v, "p95_us");
    double rate;

    if (jsonin_u64(jsonin_get(v, "size_bytes"), &p->size) < 0 || p->size < 1 ||
        p->size > DRIVE_MODEL_MAX_SIZE)
        return bad_point(where, i, "size_bytes is not a whole number from 1 to 2^42", e);
    if (jsonin_u64(jsonin_get(v, "in_flight"), &p->in_flight) < 0 || p->in_flight < 1 ||
        p->in_flight > DRIVE_MODEL_MAX_INFLIGHT)
        return bad_point(where, i, "in_flight is not a whole number from 1 to 65536", e);
    if (jsonin_f64(jsonin_get(v, "read_share"), &p->read_share) < 0 ||
        !(p->read_share >= 0 && p->read_share <= 1))
        return bad_point(where, i, "read_share is not a number from 0 to 1", e);
    if (jsonin_f64(jsonin_get(v, "bytes_per_s"), &rate) < 0 ||
        !(rate >= 1 && rate <= (double)DRIVE_MODEL_MAX_RATE))
        return bad_point(where, i, "bytes_per_s is not a number from 1 to 1e15", e);
    p->bytes_per_s = (uint64_t)(rate + 0.5);
    p->p95_us = NAN;
    if (p95 && (jsonin_f64(p95, &p->p95_us) < 0 || !(p->p95_us >= 0 && isfinite(p->p95_us))))
        return bad_point(where, i, "p95_us is not a number of 0 or more", e);
    return 0;
}

/* By share of reads, size and objects in flight. */
static int compare_points(const void *a, const void *b)
{
    const struct drive_model_point *p = a, *q = b;

    if (p->read_share != q->read_share)
        return p->read_share < q->read_share ? -1 : 1;
    if (p->size != q->size)
        return p->size < q->size ? -1 : 1;
    return p->in_flight < q->in_flight ? -1 : p->in_flight > q->in_flight;
}

static int too_many(const char *where, const char *what, struct err *e)
{
    return err_set(e, -EINVAL, ERR_INPUT, where, "has more than %d values of %s", VALUES, what);
}

/* The points in their order. */
static int fill(struct drive_model *m, const char *where, struct err *e)
{
    const struct drive_model_point *before = NULL, *end = m->point + m->facts.points;

    for (const struct drive_model_point *p = m->point; p < end; before = p++) {
        bool new_share = !before || before->read_share != p->read_share;
        bool new_size = new_share || before->size != p->size;
        if (before && !new_size && before->in_flight == p->in_flight)
            return err_set(e, -EINVAL, ERR_INPUT, where,
                           "has two points of %llu bytes, %llu in flight and read_share %g",
                           (unsigned long long)p->size, (unsigned long long)p->in_flight,
                           p->read_share);
        if (new_share) {
            if (m->count == VALUES)
                return too_many(where, "read_share", e);
            m->read_share[m->count++] = p->read_share;
        }
        struct plane *plane = &m->plane[m->count - 1];
        if (new_size) {
            if (plane->count == VALUES)
                return too_many(where, "size_bytes", e);
            plane->log_size[plane->count++] = log2_of(p->size);
        }
        struct line *line = &plane->line[plane->count - 1];
        if (line->count == VALUES)
            return too_many(where, "in_flight", e);
        line->log_n[line->count] = log2_of(p->in_flight);
        line->rate[line->count++] = (double)p->bytes_per_s;
    }
    return 0;
}

static void copy_text(char *to, size_t cap, const struct jsonin_v *v)
{
    const char *text = jsonin_text(v, NULL);
    snprintf(to, cap, "%s", text ? text : "");
    err_make_harmless(to);
}

static void copy_notes(struct notes *to, const struct jsonin_v *array)
{
    for (size_t i = 0; i < jsonin_count(array); i++) {
        char text[NOTES_CAP];
        copy_text(text, sizeof(text), jsonin_at(array, i));
        if (text[0])
            notes_add(to, "%s", text);
    }
}

static void read_facts(struct drive_model_facts *f, const struct jsonin_v *root, const char *where)
{
    bool valid;

    snprintf(f->file, sizeof(f->file), "%s", where);
    copy_text(f->target, sizeof(f->target), jsonin_get(root, "target"));
    copy_text(f->device, sizeof(f->device), jsonin_get(root, "device"));
    copy_text(f->started, sizeof(f->started), jsonin_get(root, "started"));
    copy_text(f->file_system, sizeof(f->file_system), jsonin_get(root, "file_system_type"));
    f->valid = jsonin_bool(jsonin_get(root, "valid"), &valid) < 0 ? -1 : valid;
    copy_notes(&f->why_invalid, jsonin_get(root, "why_invalid"));
    copy_notes(&f->in_force, jsonin_get(root, "in_force"));
}

bool drive_model_is(const struct jsonin_v *root)
{
    const char *program = jsonin_text(jsonin_get(root, "program"), NULL);
    return program && strcmp(program, "kvtrace model") == 0;
}

int drive_model_parse(struct drive_model **out, const struct jsonin_v *root, const char *where,
                      struct err *e)
{
    const struct jsonin_v *points = jsonin_get(root, "points");
    size_t count = jsonin_count(points);
    struct drive_model *m = NULL;
    int rc = 0;

    *out = NULL;
    if (!drive_model_is(root))
        return err_set(e, -EINVAL, ERR_INPUT, where, "not a file of kvtrace model");
    if (!jsonin_is_array(points) || count == 0)
        return err_set(e, -EINVAL, ERR_INPUT, where, "has no points");
    if (count > MAX_POINTS)
        return err_set(e, -EINVAL, ERR_INPUT, where, "has more than %d points", MAX_POINTS);
    m = calloc(1, sizeof(*m));
    if (!m || !(m->point = calloc(count, sizeof(*m->point)))) {
        drive_model_free(m);
        return err_nomem(e, "model of a drive");
    }
    m->facts.points = (unsigned)count;
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = read_point(&m->point[i], jsonin_at(points, i), where, i, e);
        if (m->point[i].in_flight > m->most_in_flight)
            m->most_in_flight = m->point[i].in_flight;
    }
    if (rc == 0) {
        qsort(m->point, count, sizeof(*m->point), compare_points);
        rc = fill(m, where, e);
    }
    read_facts(&m->facts, root, where);
    if (rc < 0)
        drive_model_free(m);
    else
        *out = m;
    return rc;
}

int drive_model_load(struct drive_model **out, const char *path, struct err *e)
{
    struct jsonin *d;
    int rc = jsonin_load(&d, path, MAX_FILE, e);

    *out = NULL;
    if (rc < 0)
        return rc;
    rc = drive_model_parse(out, jsonin_root(d), path, e);
    jsonin_free(d);
    return rc;
}

void drive_model_free(struct drive_model *m)
{
    if (!m)
        return;
    free(m->point);
    free(m);
}

const struct drive_model_facts *drive_model_facts(const struct drive_model *m)
{
    return &m->facts;
}

const struct drive_model_point *drive_model_points(const struct drive_model *m)
{
    return m->point;
}

void drive_model_validity(const struct drive_model *m, char *buf, size_t cap)
{
    const struct notes *why = &m->facts.why_invalid;

    if (m->facts.valid == 1)
        snprintf(buf, cap, "good");
    else
        snprintf(buf, cap, "%s%s%s", m->facts.valid == 0 ? "unreliable" : "unknown",
                 why->count > 0 ? ": " : "", why->count > 0 ? why->text[0] : "");
}
