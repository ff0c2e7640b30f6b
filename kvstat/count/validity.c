/* A run's validity, by the state of each kind of figure. Who finds the states:
 * kvreplay (count/provenance reads its summary), and figures.c from the rows. */
#include "kvstat/count/validity.h"

#include <stdio.h>
#include <string.h>

unsigned validity_place(uint8_t tier, uint8_t op)
{
    return 1 + 2 * (unsigned)tier + (op == TRACE_READ ? 0 : 1);
}

const char *validity_place_tier(unsigned place)
{
    return place == VALIDITY_EVERYWHERE ? "" : trace_tier_text((place - 1) / 2);
}

const char *validity_place_op(unsigned place)
{
    return place == VALIDITY_EVERYWHERE ? ""
                                        : trace_op_text((place - 1) % 2 ? TRACE_WRITE : TRACE_READ);
}

static void worsen(struct validity_of *of, const struct validity_of *doubt)
{
    if (doubt->state > of->state || (doubt->state == of->state && !of->why[0]))
        *of = *doubt;
    else if (doubt->state == of->state && of->state != VALIDITY_GOOD)
        of->only_worse &= doubt->only_worse;
}

void validity_doubt(struct validity *v, enum validity_kind kind, unsigned place,
                    const struct validity_of *doubt)
{
    worsen(&v->of[kind][place], doubt);
}

struct validity_of validity_at(const struct validity *v, enum validity_kind kind, unsigned place)
{
    struct validity_of of = v->of[kind][VALIDITY_EVERYWHERE];
    if (place != VALIDITY_EVERYWHERE)
        worsen(&of, &v->of[kind][place]);
    return of;
}

unsigned validity_worst_place(const struct validity *v, enum validity_kind kind)
{
    unsigned worst = VALIDITY_EVERYWHERE;
    for (unsigned place = 1; place < VALIDITY_PLACES; place++) {
        const struct validity_of *of = &v->of[kind][place], *than = &v->of[kind][worst];
        if (of->state > than->state || (of->state == than->state && of->why[0] && !than->why[0]))
            worst = place;
    }
    return worst;
}

/* How many kinds something is said of. */
static unsigned kinds_of(const struct validity *v)
{
    return v->first_token ? VALIDITY_KINDS : VALIDITY_FIRST_TOKEN;
}

/* The worst state of a kind. */
static const struct validity_of *worst_of(const struct validity *v, unsigned kind)
{
    return &v->of[kind][validity_worst_place(v, kind)];
}

enum validity_state validity_worst(const struct validity *v)
{
    enum validity_state worst = VALIDITY_GOOD;
    for (unsigned kind = 0; kind < kinds_of(v); kind++)
        worst = worst_of(v, kind)->state > worst ? worst_of(v, kind)->state : worst;
    return worst;
}

static const char *title_of(unsigned kind)
{
    return kind == VALIDITY_END_TO_END    ? "end to end"
           : kind == VALIDITY_FIRST_TOKEN ? "first token"
                                          : validity_kind_word(kind);
}

static void add(char buf[VALIDITY_LINE], const char *separator, const char *text)
{
    size_t len = strlen(buf);
    snprintf(buf + len, VALIDITY_LINE - len, "%s%s", separator, text);
}

/* The places of a reason: tiers, the drive first, then all together. */
enum {
    SPOTS = 1 + TRACE_TIERS
};

/* The worst state of a kind in a spot. */
static const struct validity_of *of_spot(const struct validity *v, unsigned kind, unsigned spot)
{
    static const uint8_t tiers[] = {TRACE_STORAGE, TRACE_CPU, TRACE_GPU};
    if (spot == TRACE_TIERS)
        return &v->of[kind][VALIDITY_EVERYWHERE];
    const struct validity_of *read = &v->of[kind][validity_place(tiers[spot], TRACE_READ)];
    const struct validity_of *write = &v->of[kind][validity_place(tiers[spot], TRACE_WRITE)];
    return write->state > read->state || (write->state == read->state && !read->why[0]) ? write
                                                                                        : read;
}

/* A remark on what is good is told once a kind, a doubt of every tier. */
static bool is_shown(const struct validity *v, unsigned kind, unsigned spot,
                     enum validity_state state)
{
    const struct validity_of *of = of_spot(v, kind, spot), *worst = worst_of(v, kind);
    bool told = state != VALIDITY_GOOD || strcmp(of->why, worst->why) == 0;
    return of->state == state && of->why[0] && told;
}

static bool says_of(const struct validity *v, unsigned kind, enum validity_state state,
                    const char *why)
{
    for (unsigned spot = 0; spot < SPOTS; spot++)
        if (is_shown(v, kind, spot, state) && strcmp(of_spot(v, kind, spot)->why, why) == 0)
            return true;
    return false;
}

/* A reason with the kinds of figures that it concerns, unless these are all: "service/device:
 * ...". */
static void add_reason(char buf[VALIDITY_LINE], const struct validity *v, enum validity_state state,
                       const char *why)
{
    unsigned same = 0, named = 0;
    for (unsigned kind = 0; kind < kinds_of(v); kind++)
        same += says_of(v, kind, state, why);
    for (unsigned kind = 0; kind < kinds_of(v) && same < kinds_of(v); kind++)
        if (says_of(v, kind, state, why))
            add(buf, named++ > 0 ? "/" : "", title_of(kind));
    add(buf, named > 0 ? ": " : "", why);
}

/* Each reason once. What makes the target no storage, or spoils the whole run, decides: it comes
 * first, so that a line that is cut has it. */
static void add_reasons(char buf[VALIDITY_LINE], const struct validity *v,
                        enum validity_state state, const char *separator)
{
    const struct validity_of *told[VALIDITY_KINDS * SPOTS];
    size_t count = 0;
    for (int decides = 1; decides >= 0; decides--)
        for (unsigned spot = 0; spot < SPOTS; spot++)
            for (unsigned kind = 0; kind < kinds_of(v); kind++) {
                const struct validity_of *of = of_spot(v, kind, spot);
                bool again = says_of(v, VALIDITY_STORAGE, state, of->why) != decides;
                for (size_t i = 0; i < count; i++)
                    again |= strcmp(told[i]->why, of->why) == 0;
                if (again || !is_shown(v, kind, spot, state))
                    continue;
                told[count++] = of;
                add(buf, separator, "");
                add_reason(buf, v, state, of->why);
                separator = "; ";
            }
}

/* Doubts about memory tiers leave the drive's figures as good as they are. */
static bool is_good_of_drive(const struct validity *v)
{
    static const enum validity_kind kinds_of_drive[] = {VALIDITY_SERVICE, VALIDITY_DEVICE,
                                                        VALIDITY_STORAGE};
    static const uint8_t ops[] = {TRACE_READ, TRACE_WRITE};
    for (size_t i = 0; i < sizeof(kinds_of_drive) / sizeof(kinds_of_drive[0]); i++)
        for (size_t op = 0; op < sizeof(ops); op++)
            if (validity_at(v, kinds_of_drive[i], validity_place(TRACE_STORAGE, ops[op])).state !=
                VALIDITY_GOOD)
                return false;
    return true;
}

const char *validity_line(char buf[VALIDITY_LINE], const struct validity *v)
{
    enum validity_state worst = validity_worst(v);
    bool drive = is_good_of_drive(v);
    buf[0] = '\0';
    if (worst == VALIDITY_GOOD) {
        add(buf, "", "good");
        add_reasons(buf, v, VALIDITY_GOOD, " - ");
        return buf;
    }
    if (drive) {
        add(buf, "", "good for drive figures; ");
        add(buf, "", validity_state_word(worst));
    } else {
        add(buf, "", validity_state_word(worst));
    }
    add_reasons(buf, v, worst, ": ");
    if (worst == VALIDITY_UNRELIABLE) {
        char others[VALIDITY_LINE] = "";
        add_reasons(others, v, VALIDITY_UNKNOWN, "");
        if (others[0]) {
            add(buf, "; unknown: ", others);
        }
    }
    return buf;
}
