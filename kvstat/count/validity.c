/* What is said of a run's validity, from the state of each kind of figure. Who finds the states:
 * kvreplay (count/provenance reads its summary), and figures.c from the rows. */
#include "kvstat/count/validity.h"

#include <stdio.h>
#include <string.h>

static const char *const kinds[VALIDITY_KINDS] = {[VALIDITY_SERVICE] = "service",
                                                  [VALIDITY_DEVICE] = "device",
                                                  [VALIDITY_RESPONSE] = "response",
                                                  [VALIDITY_END_TO_END] = "end_to_end",
                                                  [VALIDITY_STORAGE] = "storage"};
static const char *const states[VALIDITY_STATES] = {
    [VALIDITY_GOOD] = "good", [VALIDITY_UNKNOWN] = "unknown", [VALIDITY_UNRELIABLE] = "unreliable"};

const char *validity_kind_word(enum validity_kind kind)
{
    return kinds[kind];
}

const char *validity_state_word(enum validity_state state)
{
    return states[state];
}

void validity_doubt(struct validity *v, enum validity_kind kind, enum validity_state state,
                    bool only_worse, const char *why)
{
    struct validity_of *of = &v->of[kind];
    if (state > of->state || (state == of->state && !of->why[0])) {
        of->state = state;
        of->only_worse = only_worse;
        snprintf(of->why, sizeof(of->why), "%s", why);
    } else if (state == of->state && state != VALIDITY_GOOD) {
        of->only_worse &= only_worse;
    }
}

enum validity_state validity_worst(const struct validity *v)
{
    enum validity_state worst = VALIDITY_GOOD;
    for (unsigned kind = 0; kind < VALIDITY_KINDS; kind++)
        worst = v->of[kind].state > worst ? v->of[kind].state : worst;
    return worst;
}

static void add(char buf[VALIDITY_LINE], const char *separator, const char *text)
{
    size_t len = strlen(buf);
    snprintf(buf + len, VALIDITY_LINE - len, "%s%s", separator, text);
}

/* Each reason once, with the kinds of figures that it concerns: "service/device: ...". */
static void add_reasons(char buf[VALIDITY_LINE], const struct validity *v,
                        enum validity_state state, bool name_kinds, const char *separator)
{
    bool told[VALIDITY_KINDS] = {false};
    for (unsigned kind = 0; kind < VALIDITY_KINDS; kind++) {
        const struct validity_of *of = &v->of[kind];
        if (of->state != state || told[kind] || !of->why[0])
            continue;
        add(buf, separator, "");
        separator = "; ";
        const char *comma = "";
        for (unsigned k = kind; k < VALIDITY_KINDS; k++)
            if (v->of[k].state == state && strcmp(v->of[k].why, of->why) == 0) {
                told[k] = true;
                if (name_kinds) {
                    add(buf, comma, k == VALIDITY_END_TO_END ? "end to end" : kinds[k]);
                    comma = "/";
                }
            }
        add(buf, name_kinds ? ": " : "", of->why);
    }
}

const char *validity_line(char buf[VALIDITY_LINE], const struct validity *v)
{
    enum validity_state worst = validity_worst(v);
    size_t worst_kinds = 0;
    for (unsigned kind = 0; kind < VALIDITY_KINDS; kind++)
        worst_kinds += v->of[kind].state == worst;
    bool drive = v->of[VALIDITY_SERVICE].state == VALIDITY_GOOD &&
                 v->of[VALIDITY_DEVICE].state == VALIDITY_GOOD &&
                 v->of[VALIDITY_STORAGE].state == VALIDITY_GOOD;
    buf[0] = '\0';
    if (worst == VALIDITY_GOOD) {
        add(buf, "", "good");
        add_reasons(buf, v, VALIDITY_GOOD, false, " - ");
        return buf;
    }
    if (drive) {
        add(buf, "", "good for drive figures; ");
        add(buf, "", states[worst]);
    } else {
        add(buf, "", states[worst]);
    }
    add_reasons(buf, v, worst, worst_kinds < VALIDITY_KINDS, ": ");
    if (worst == VALIDITY_UNRELIABLE) {
        char others[VALIDITY_LINE] = "";
        add_reasons(others, v, VALIDITY_UNKNOWN, true, "");
        if (others[0]) {
            add(buf, "; unknown: ", others);
        }
    }
    return buf;
}
