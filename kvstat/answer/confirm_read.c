/* Takes the confirmation of an answer from its JSON: what it took on the drive and on the model,
 * and who was to blame. So each view of answer.json says what the command that wrote it said; the
 * replays themselves may be gone. */
#include "kvstat/answer/confirm_read.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_MAX 1e18

enum {
    PATH = 64
};

struct reading {
    const struct answer *answer;
    const struct jsonin_v *root;
    struct err *e;
};

static int refuse(const struct reading *r, const char *path, const char *why)
{
    return err_set(r->e, -EINVAL, ERR_INPUT, r->answer->file, "%s %s", path, why);
}

/* NAN where it is null, or not there. */
static int read_number(const struct reading *r, const char *side, const char *member, double *out)
{
    char path[PATH];
    snprintf(path, sizeof(path), "confirmed.%s.%s", side, member);
    const struct jsonin_v *v = jsonin_get(r->root, path);
    *out = NAN;
    if (v && (jsonin_f64(v, out) < 0 || !(*out >= 0 && *out <= NUMBER_MAX)))
        return refuse(r, path, "must be a number, 0 or more");
    return 0;
}

static int read_text(const struct reading *r, const char *path, char *out, size_t n)
{
    const struct jsonin_v *v = jsonin_get(r->root, path);
    const char *text = jsonin_text(v, NULL);
    if (v && !text)
        return refuse(r, path, "must be a text");
    snprintf(out, n, "%s", text ? text : "");
    return 0;
}

static int read_side(const struct reading *r, const char *name, struct confirm_side *side)
{
    static const char *const samples[] = {"reads", "writes"};
    static const char *const rates[] = {"read_rate_bytes_s", "write_rate_bytes_s"};
    static const char *const times[CONFIRM_OPS][CONFIRM_PERCENTILES] = {
        {"read_p50_s", "read_p95_s"}, {"write_p50_s", "write_p95_s"}};
    int rc = read_number(r, name, "seconds", &side->elapsed_s);
    for (unsigned op = 0; op < CONFIRM_OPS && rc == 0; op++) {
        double n = 0, rate = 0;
        rc = read_number(r, name, samples[op], &n);
        if (rc == 0)
            rc = read_number(r, name, rates[op], &rate);
        for (unsigned p = 0; p < CONFIRM_PERCENTILES && rc == 0; p++)
            rc = read_number(r, name, times[op][p], &side->op[op].s[p]);
        if (rc < 0)
            return rc; /* a number may be too large */
        side->op[op].samples = n > 0 ? (uint64_t)n : 0;
        side->op[op].bytes = rate * side->elapsed_s;
    }
    return rc;
}

static int read_agrees(const struct reading *r, struct confirm *c)
{
    const struct jsonin_v *v = jsonin_get(r->root, "confirmed.agrees");
    bool agrees = false;
    c->answer = CONFIRM_UNDECIDED;
    if (!v)
        return 0;
    if (jsonin_bool(v, &agrees) < 0)
        return refuse(r, "confirmed.agrees", "must be true, false or null");
    c->answer = agrees ? CONFIRM_AGREES : CONFIRM_DIFFERS;
    return 0;
}

static int read_cause(const struct reading *r, struct confirm *c)
{
    const struct jsonin_v *v = jsonin_get(r->root, "confirmed.cause");
    const char *text = jsonin_text(v, NULL);
    c->cause = CONFIRM_NO_CAUSE;
    if (!v)
        return 0;
    for (int i = CONFIRM_NOTHING; text && i < CONFIRM_CAUSES; i++)
        if (strcmp(text, confirm_cause_word((enum confirm_cause)i)) == 0) {
            c->cause = (enum confirm_cause)i;
            return 0;
        }
    return refuse(r, "confirmed.cause", "is no cause that this kvstat knows");
}

int confirm_read(struct confirm *c, const struct answer *a, struct err *e)
{
    const struct reading r = {a, jsonin_root(a->document), e};
    int rc = read_side(&r, "model", &c->model);
    if (rc == 0)
        rc = read_side(&r, "measured", &c->drive);
    if (rc == 0)
        rc = read_agrees(&r, c);
    if (rc == 0)
        rc = read_cause(&r, c);
    if (rc == 0)
        rc = read_text(&r, "confirmed.why", c->why, sizeof(c->why));
    if (rc == 0)
        rc = read_text(&r, "validity", c->drive.line, sizeof(c->drive.line));
    return rc;
}
