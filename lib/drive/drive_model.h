/* drive_model.h - the rates of a drive or store that was measured (kvtrace model), by load. */
#ifndef KVTRACE_DRIVE_DRIVE_MODEL_H
#define KVTRACE_DRIVE_DRIVE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/notes.h"

struct jsonin_v;

/*
 * The file is a JSON object:
 *   program      "kvtrace model"
 *   points       [{size_bytes, in_flight, read_share, bytes_per_s, p95_us}]: one or more. in_flight
 *                objects of size_bytes each moved bytes_per_s in all; read_share of the bytes were
 *                read; the time of an object, which may be missing
 *   target, device, started, file_system_type     texts; valid     true, false, or null (not known)
 *   why_invalid, in_force       [text]
 * Other members are for people. Between points the rate is linear in the logarithm of in_flight,
 * then in the logarithm of the size, then in the share of reads. Beyond the points of an axis the
 * nearest one holds. A line may lack points: those that it has decide.
 */
struct drive_model;

/* Most different values on each axis. */
enum {
    DRIVE_MODEL_VALUES_MAX = 16
};
#define DRIVE_MODEL_MAX_RATE     ((uint64_t)1000000000000000) /* bytes/s */
#define DRIVE_MODEL_MAX_SIZE     ((uint64_t)1 << 42)          /* bytes of an object */
#define DRIVE_MODEL_MAX_INFLIGHT ((uint64_t)1 << 16)

/* The measurement as the file describes it. Texts may be empty: not known. */
struct drive_model_facts {
    char file[256], target[256], device[160], started[40];
    char file_system[24]; /* as kvreplay names it: "ext4" */
    int valid;            /* 1, 0, or -1: not known */
    struct notes why_invalid, in_force;
    unsigned points;
};

struct drive_model_point {
    uint64_t size, in_flight, bytes_per_s; /* size: bytes of an object */
    double read_share;                     /* of the bytes, 0 to 1 */
    double p95_us;                         /* of the objects' times; NAN: not known */
};

/* 0, or a negative errno with *e (class ERR_INPUT): the file, the point and what is wrong with it.
 */
int drive_model_load(struct drive_model **out, const char *path, struct err *e);
/* The same from a parsed document; where names it in errors and facts. */
int drive_model_parse(struct drive_model **out, const struct jsonin_v *root, const char *where,
                      struct err *e);
/* Whether a document says that it is such a file. */
bool drive_model_is(const struct jsonin_v *root);
void drive_model_free(struct drive_model *m);
/* Lent by m. */
const struct drive_model_facts *drive_model_facts(const struct drive_model *m);
/* As many as the facts say, by share of reads, size and objects in flight. Lent by m. */
const struct drive_model_point *drive_model_points(const struct drive_model *m);
/* "good", "unreliable: why" or "unknown", into buf of cap bytes. */
void drive_model_validity(const struct drive_model *m, char *buf, size_t cap);

/* Total rate in bytes/s, 1 to DRIVE_MODEL_MAX_RATE, with n >= 1 objects in flight that have bytes
 * in all, of which read_bytes are read. It is the same on every host: no function of libm is used.
 */
uint64_t drive_model_rate(const struct drive_model *m, uint64_t n, uint64_t bytes,
                          uint64_t read_bytes);
/* Most objects in flight of all points, 1 to DRIVE_MODEL_MAX_INFLIGHT. */
uint64_t drive_model_most_in_flight(const struct drive_model *m);

#endif
