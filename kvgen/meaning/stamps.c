/* Gives stamps their unit and origin, and keeps what speaks against them. file_source.c makes
 * arrivals of the times. */
#include "kvgen/meaning/stamps.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/json/jsonin.h"
#include "lib/log/iso_time.h"

#define MAX_NS          4.4e18 /* 139 years */
#define EARLIEST_UNIX_S 1e9    /* 2001 */
#define LATEST_UNIX_S   4.4e9  /* 2109 */
#define SHORT_GAP_NS    1e6
#define LONG_GAP_NS     3600e9

static const struct {
    const char *name, *wanted;
    int64_t ns;
    unsigned scale; /* decimals down to the nanosecond */
} units[STAMPS_UNITS] = {[STAMPS_AUTO] = {"", "a time", 0, 0},
                         [STAMPS_S] = {"s", "seconds", 1000000000, 9},
                         [STAMPS_MS] = {"ms", "milliseconds", 1000000, 6},
                         [STAMPS_US] = {"us", "microseconds", 1000, 3},
                         [STAMPS_NS] = {"ns", "nanoseconds", 1, 0}};

void stamps_file(struct stamps *s)
{
    s->in_file = false;
    s->unit = STAMPS_AUTO;
    s->date = s->since_1970 = false;
}

/* The first stamp of a file chooses its unit. */
static void choose(struct stamps *s, double t)
{
    if (s->unit != STAMPS_AUTO)
        return;
    s->unit = s->given != STAMPS_AUTO ? s->given : s->usual;
    for (int u = STAMPS_S; u < STAMPS_UNITS; u++) {
        double since_s = t * (double)units[u].ns / 1e9;
        if ((s->given == STAMPS_AUTO || s->given == (enum stamps_unit)u) &&
            since_s >= EARLIEST_UNIX_S && since_s < LATEST_UNIX_S) {
            s->unit = (enum stamps_unit)u;
            s->since_1970 = true;
        }
    }
}

static void see(struct stamps *s, int64_t ns)
{
    if (s->first_unit == STAMPS_AUTO)
        s->first_unit = s->unit;
    s->mixed |= s->unit != s->first_unit;
    if (!s->begun)
        s->first_ns = ns;
    if (s->in_file && ns >= s->last_ns) {
        s->gaps++;
        s->gaps_ns += (double)ns - (double)s->last_ns;
    }
    s->begun = s->in_file = true;
    s->last_ns = ns;
}

/* whole: the number is n, else t. */
static int see_number(struct stamps *s, bool whole, int64_t n, double t, int64_t *ns)
{
    enum stamps_unit before = s->unit;
    if (whole)
        t = (double)n;
    choose(s, t);
    double unit_ns = (double)units[s->unit].ns;
    if (!(t * unit_ns >= -MAX_NS && t * unit_ns <= MAX_NS)) {
        s->unit = before;
        return -ERANGE;
    }
    if (whole) {
        *ns = n * units[s->unit].ns;
    } else {
        double step_ns = s->unit == STAMPS_S || s->unit == STAMPS_MS ? 1e3 : 1;
        *ns = (int64_t)floor(t * (unit_ns / step_ns) + 0.5) * (int64_t)step_ns;
    }
    s->fractions |= !whole;
    see(s, *ns);
    return 0;
}

int stamps_text(struct stamps *s, const char *text, size_t len, int64_t *ns)
{
    int64_t whole;
    if (iso_time_parse(text, len, ns) == 0) {
        if (s->given != STAMPS_AUTO)
            return -EINVAL;
        s->date = s->since_1970 = true;
        s->unit = STAMPS_NS;
        see(s, *ns);
        return 0;
    }
    /* Its magnitude is that of the digits before the point. */
    const char *point = memchr(text, '.', len);
    size_t digits = point ? (size_t)(point - text) : len;
    enum stamps_unit before = s->unit;
    if (s->date || units_parse_decimal(text, digits, 0, &whole) < 0)
        return -EINVAL;
    choose(s, (double)whole);
    if (units_parse_decimal(text, len, units[s->unit].scale, ns) < 0 || *ns > (int64_t)MAX_NS ||
        *ns < -(int64_t)MAX_NS) {
        s->unit = before;
        return -EINVAL;
    }
    s->fractions |= point != NULL;
    see(s, *ns);
    return 0;
}

int stamps_value(struct stamps *s, const struct jsonin_v *v, int64_t *ns)
{
    size_t len;
    int64_t whole;
    double t;
    const char *text = jsonin_text(v, &len);
    if (text)
        return stamps_text(s, text, len, ns);
    if (jsonin_i64(v, &whole) == 0)
        return see_number(s, true, whole, 0, ns);
    return jsonin_f64(v, &t) == 0 ? see_number(s, false, 0, t, ns) : -EINVAL;
}

double stamps_unit_s(const struct stamps *s)
{
    return (double)units[s->unit == STAMPS_AUTO ? s->usual : s->unit].ns / 1e9;
}

const char *stamps_wanted(const struct stamps *s)
{
    return s->given != STAMPS_AUTO ? units[s->given].wanted : units[s->usual].wanted;
}

void stamps_reading(const struct stamps *s, struct source_reading *r)
{
    enum stamps_unit unit = s->unit == STAMPS_AUTO ? s->usual : s->unit;
    double mean_ns = s->gaps > 0 ? s->gaps_ns / (double)s->gaps : 0;
    r->time_unit = s->date ? "date" : units[unit].name;
    r->time_by = s->given != STAMPS_AUTO ? "option" : s->since_1970 ? "magnitude" : "format";
    r->since_1970 = s->since_1970;
    r->first_ns = s->first_ns;
    r->gaps = s->gaps;
    r->gaps_ns = s->gaps_ns;
    if (s->mixed)
        notes_add(&r->remarks, "the files have times in different units");
    if (s->given != STAMPS_AUTO || s->since_1970)
        return;
    bool is_short = mean_ns > 0 && mean_ns<SHORT_GAP_NS, is_long = mean_ns> LONG_GAP_NS;
    bool pointed = s->whole && s->fractions;
    r->doubtful = is_short || is_long || pointed;
    if (!r->doubtful)
        return;
    char gap[32];
    units_format_duration(gap, sizeof(gap), mean_ns);
    notes_add(&r->remarks,
              "times are taken for %s, the unit of the format, but %s%s%s%s (--time-unit sets "
              "another)",
              units[unit].name, pointed ? "they have a decimal point" : "",
              pointed && (is_short || is_long) ? ", and " : "",
              is_short || is_long ? "the mean time between requests is " : "",
              is_short || is_long ? gap : "");
}
