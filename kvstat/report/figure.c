/* The vocabulary of reports: the tables here give every figure its name and its unit, both ways,
 * and say how its value is written. figures.c computes the figures of a run. */
#include "kvstat/report/figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/facts/judge.h"
#include "lib/trace/trace.h"

/* ---- identity ---- */

const uint8_t figure_lookup_classes[FIGURE_LOOKUP_CLASSES] = {TRACE_USER, TRACE_MULTI_TURN,
                                                              TRACE_SYSTEM, TRACE_RAG, TRACE_BLOCK};

/* How the parts of a scope are told apart in a name. */
enum key {
    KEY_NONE,
    KEY_TIER,      /* a member */
    KEY_LOOKUP,    /* a member: "all" or a class */
    KEY_QOS,       /* a member */
    KEY_TIERS,     /* an element of an array */
    KEY_DIRECTION, /* an element and in it "read" or "write" */
    KEY_PHASES,    /* an element */
    KEY_LABEL      /* an element that goes by the label */
};

#define ROW_OF_SCOPE(id, first, second, key, tail)                                                 \
    [FIGURE_OF_##id] = {{first, second}, KEY_##key, tail},
static const struct scope {
    const char *path[2];
    enum key key;
    const char *tail;
} scopes[FIGURE_SCOPES] = {FIGURE_SCOPE_TABLE(ROW_OF_SCOPE)};

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

int figure_id_compare(const struct figure_id *a, const struct figure_id *b)
{
    int c = a->scope - b->scope;
    c = c ? c : a->what - b->what;
    c = c ? c : a->statistic - b->statistic;
    if (scopes[a->scope].key == KEY_LABEL) {
        c = c ? c : compare_texts(a->label, b->label);
    } else {
        c = c ? c : a->by - b->by;
        c = c ? c : a->tier - b->tier;
        c = c ? c : a->op - b->op;
        c = c ? c : a->phase - b->phase;
        c = c ? c : a->qos - b->qos;
        c = c ? c : a->class - b->class;
    }
    return c || a->what != FIGURE_OTHER ? c : compare_texts(a->member, b->member);
}

enum figure_scope figure_scope_of_facts(enum fact_scope scope)
{
    static const enum figure_scope of[FACT_SCOPES_SHOWN] = {
        [FACTS_OF_PROVENANCE] = FIGURE_OF_PROVENANCE,
        [FACTS_OF_KERNEL] = FIGURE_OF_KERNEL,
        [FACTS_OF_EVIDENCE] = FIGURE_OF_EVIDENCE,
        [FACTS_OF_OVERLOAD] = FIGURE_OF_OVERLOAD,
        [FACTS_OF_READS] = FIGURE_OF_READS,
        [FACTS_OF_WRITES] = FIGURE_OF_WRITES,
        [FACTS_OF_BOTH] = FIGURE_OF_BOTH,
        [FACTS_OF_DRIVE] = FIGURE_OF_DRIVE,
        [FACTS_OF_LOG] = FIGURE_OF_DRIVE_LOG,
        [FACTS_OF_FOUND] = FIGURE_OF_AUTOSCALING};
    return of[scope];
}

struct figure_id figure_id_fact(enum fact_id fact)
{
    return figure_id(figure_scope_of_facts(fact_of(fact)->scope),
                     (enum figure_what)(FIGURE_FACT + fact));
}

/* ---- value ---- */

const struct figure *figure_in(const struct figure_part *part, enum figure_what what)
{
    for (size_t i = 0; i < part->count; i++)
        if (part->figure[i].id.what == what)
            return &part->figure[i];
    return NULL;
}

double figure_number(const struct figure *f)
{
    switch (f->form) {
    case FIGURE_FORM_NUMBER:
        return f->number;
    case FIGURE_FORM_UNSIGNED:
        return (double)f->count;
    case FIGURE_FORM_SIGNED:
        return (double)f->level;
    default:
        return NAN;
    }
}

double figure_statistic(const struct figure *f, enum figure_statistic statistic)
{
    if (f->form != FIGURE_FORM_DISTRIBUTION || statistic < FIGURE_COUNT || statistic > FIGURE_MAX)
        return NAN;
    return hist_statistic(f->hist, statistic - FIGURE_COUNT) /
           (statistic == FIGURE_COUNT ? 1 : figure_scale(f->id.what));
}

int figure_expand(const struct figure *f, figure_fn fn, void *arg)
{
    const char *few[HIST_PERCENTILES];
    size_t n = 0;
    if (f->form != FIGURE_FORM_DISTRIBUTION)
        return fn(arg, f);
    struct figure part = {.id = f->id};
    for (unsigned s = FIGURE_COUNT; s <= FIGURE_MAX; s++) {
        part.id.statistic = (uint8_t)s;
        part.form = s == FIGURE_COUNT ? FIGURE_FORM_UNSIGNED : FIGURE_FORM_NUMBER;
        if (s == FIGURE_COUNT)
            part.count = hist_count(f->hist);
        else
            part.number = figure_statistic(f, s);
        int rc = fn(arg, &part);
        if (rc != 0)
            return rc;
    }
    for (unsigned i = 0; i < HIST_PERCENTILES; i++)
        if (!judge_enough(hist_count(f->hist), hist_percentiles[i].ppm))
            few[n++] = hist_percentiles[i].name;
    part.id.statistic = FIGURE_FEW_SAMPLES;
    part.form = FIGURE_FORM_TEXTS;
    part.list.item = few;
    part.list.n = n;
    return fn(arg, &part);
}

void figure_format_number(char buf[FIGURE_TEXT], double number)
{
    if (number == trunc(number) && fabs(number) < 9007199254740992.0) {
        snprintf(buf, FIGURE_TEXT, "%.0f", number);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buf, FIGURE_TEXT, "%.*g", digits, number);
        if (strtod(buf, NULL) == number)
            break;
    }
}

const char *figure_text(const struct figure *f, char buf[FIGURE_TEXT])
{
    buf[0] = '\0';
    switch (f->form) {
    case FIGURE_FORM_NUMBER:
        if (isfinite(f->number))
            figure_format_number(buf, f->number);
        break;
    case FIGURE_FORM_UNSIGNED:
        snprintf(buf, FIGURE_TEXT, "%llu", (unsigned long long)f->count);
        break;
    case FIGURE_FORM_SIGNED:
        snprintf(buf, FIGURE_TEXT, "%lld", (long long)f->level);
        break;
    case FIGURE_FORM_TRUTH:
        return f->truth ? "true" : "false";
    case FIGURE_FORM_TEXT:
        return f->text;
    case FIGURE_FORM_WORD:
        return f->list.item[f->list.n];
    case FIGURE_FORM_UNKNOWN:
    case FIGURE_FORM_TEXTS:
    case FIGURE_FORM_DISTRIBUTION:
        break;
    }
    return buf;
}

/* ---- unit and name ---- */

/* The name of each figure in JSON, or NULL, and its unit. */
#define ROW(id, member, unit) [FIGURE_##id] = {member, FIGURE_UNIT_##unit},
static const struct what {
    const char *member;
    enum figure_unit unit;
} whats[FIGURE_FACT] = {FIGURE_TABLE(ROW)};

/* For distributions: the title in the text, and a note on it. */
static const struct {
    const char *title, *note;
} titles[FIGURE_FACT] = {
    [FIGURE_SERVICE] = {"Service time", "of a whole object, from its start to its completion"},
    [FIGURE_WAIT] = {"Wait", "from when the schedule wanted it to its start"},
    [FIGURE_RESPONSE] = {"Response time", "wait and service: what a user would have felt"},
    [FIGURE_DEVICE] = {"Device time", "the part of service in which I/O or copy was in flight"},
    [FIGURE_FIRST_BYTE] = {"First byte", "from the start to the first byte of the answer"},
    [FIGURE_BEFORE_DRIVE] = {"Before the drive",
                             "from the first I/O to the first request at the drive"},
    [FIGURE_AT_DRIVE] = {"At the drive", "from the first request to the last completion there"},
    [FIGURE_END_TO_END] = {"end to end", ""},
    [FIGURE_QUEUE] = {"queue", ""},
    [FIGURE_STORAGE] = {"storage", ""},
    [FIGURE_GENERATION] = {"generation", ""},
    [FIGURE_FIRST_TOKEN] = {"to 1st token", ""},
    [FIGURE_TTFT] = {"TTFT", ""},
    [FIGURE_TPOT] = {"TPOT", ""},
    [FIGURE_DISTANCE_BYTES] = {"bytes", ""},
    [FIGURE_DISTANCE_OBJECTS] = {"objects", ""},
    [FIGURE_REUSE_TIME] = {"time", ""},
};

#define ALL_LOOKUPS "all"

static const char *const directions[] = {[TRACE_READ] = "read", [TRACE_WRITE] = "write"};
enum {
    DIRECTIONS = sizeof(directions) / sizeof(directions[0])
};

const char *figure_statistic_word(enum figure_statistic statistic)
{
    return statistic == FIGURE_VALUE         ? ""
           : statistic == FIGURE_FEW_SAMPLES ? "few_samples"
                                             : hist_statistic_name(statistic - FIGURE_COUNT);
}

_Static_assert(FIGURE_WHATS <= UINT16_MAX + 1, "figure_id.what holds each");

static struct what what_of(enum figure_what what)
{
    if (what < FIGURE_FACT)
        return whats[what];
    const struct fact *fact = fact_of(what - FIGURE_FACT);
    return (struct what){.member = fact->member, .unit = fact->unit};
}

enum figure_unit figure_unit(enum figure_what what)
{
    return what_of(what).unit;
}

const char *figure_member(enum figure_what what)
{
    return what_of(what).member;
}

const char *figure_title(enum figure_what what)
{
    return what < FIGURE_FACT ? titles[what].title : NULL;
}

const char *figure_note(enum figure_what what)
{
    const char *note = what < FIGURE_FACT ? titles[what].note : NULL;
    return note ? note : "";
}

double figure_scale(enum figure_what what)
{
    switch (what_of(what).unit) {
    case FIGURE_UNIT_S:
        return 1e9;
    case FIGURE_UNIT_MS:
        return 1e6;
    case FIGURE_UNIT_US:
        return 1e3;
    default:
        return 1;
    }
}

static void add_step(struct figure_path *p, const char *text, bool element)
{
    p->step[p->steps].text = text;
    p->step[p->steps++].element = element;
}

/* Adds what tells the part of the scope. False: the part has no name. */
static bool add_key(struct figure_path *p, const struct figure_id *id, enum key key)
{
    switch (key) {
    case KEY_NONE:
        return true;
    case KEY_TIER:
    case KEY_TIERS:
        if (id->by & GROUPS_TIER)
            add_step(p, trace_tier_text(id->tier), key == KEY_TIERS);
        return true;
    case KEY_LOOKUP:
        add_step(p, id->by & GROUPS_CLASS ? trace_class_text(id->class) : ALL_LOOKUPS, false);
        return true;
    case KEY_QOS:
        add_step(p, trace_qos_text(id->qos), false);
        return true;
    case KEY_DIRECTION:
        if (!(id->by & GROUPS_TIER))
            return true;
        if (id->tier == TRACE_NO_TIER || id->op >= DIRECTIONS)
            return false;
        add_step(p, trace_tier_text(id->tier), true);
        add_step(p, directions[id->op], false);
        return true;
    case KEY_PHASES:
        if (!(id->by & GROUPS_PHASE))
            return true;
        add_step(p, trace_phase_text(id->phase), true);
        return id->phase != TRACE_NO_PHASE;
    case KEY_LABEL:
        if (id->label)
            add_step(p, id->label, true);
        return true;
    }
    return true;
}

/* Adds the steps up to what tells the part of the scope. */
static void add_scope(struct figure_path *p, const struct scope *scope)
{
    p->steps = 0;
    for (size_t i = 0; i < 2 && scope->path[i]; i++)
        add_step(p, scope->path[i], false);
}

/* Adds the steps behind it, but for the statistic. False: the figure has no name. */
static bool add_member(struct figure_path *p, const struct figure_id *id)
{
    const struct scope *scope = &scopes[id->scope];
    if (scope->tail)
        add_step(p, scope->tail, false);
    if (id->what == FIGURE_OTHER)
        add_step(p, id->member, false);
    else if (id->what != FIGURE_ITSELF && !what_of(id->what).member)
        return false;
    else if (id->what != FIGURE_ITSELF)
        add_step(p, what_of(id->what).member, false);
    return true;
}

bool figure_path(struct figure_path *p, const struct figure_id *id)
{
    const struct scope *scope = &scopes[id->scope];
    add_scope(p, scope);
    if (id->scope == FIGURE_OF_ROWS || !add_key(p, id, scope->key) || !add_member(p, id))
        return false;
    if (id->statistic != FIGURE_VALUE)
        add_step(p, figure_statistic_word(id->statistic), false);
    return true;
}

static const char *join_steps(char buf[FIGURE_NAME], const struct figure_path *p)
{
    size_t len = 0;
    buf[0] = '\0';
    for (size_t i = 0; i < p->steps && len < FIGURE_NAME; i++)
        len +=
            (size_t)snprintf(buf + len, FIGURE_NAME - len, "%s%s", i ? "." : "", p->step[i].text);
    return buf;
}

const char *figure_name(char buf[FIGURE_NAME], const struct figure_id *id)
{
    struct figure_path p;
    if (!figure_path(&p, id))
        p.steps = 0;
    return join_steps(buf, &p);
}

const char *figure_family(char buf[FIGURE_NAME], const struct figure_id *id)
{
    struct figure_path p;
    bool named = figure_path(&p, id);
    add_scope(&p, &scopes[id->scope]);
    if (!named || !add_member(&p, id))
        p.steps = 0;
    return join_steps(buf, &p);
}

/* The rest of a label behind its first word; NULL: the label begins with another word. */
static const char *behind_word(const char *label, const char *word)
{
    size_t len = strlen(word);
    if (strncmp(label, word, len) != 0 || (label[len] != '/' && label[len] != '\0'))
        return NULL;
    return label + len + (label[len] == '/');
}

/* Splits the label of a group. A group that was read has no columns: its tier and operation are
 * known by their words, and a "-" is no tier unless an operation follows. */
static void split_label(struct figure_key *k, const struct figure_id *id)
{
    unsigned by = id->by ? id->by : GROUPS_TIER | GROUPS_OP;
    const char *rest = id->label, *next = NULL;
    for (unsigned t = 0; by & GROUPS_TIER && t <= TRACE_NO_TIER && !next; t++) {
        next = behind_word(rest, t < TRACE_NO_TIER ? trace_tier_text(t) : "-");
        if (next)
            k->tier = t < TRACE_NO_TIER ? trace_tier_text(t) : "";
    }
    k->part = next ? next : rest;
    for (unsigned op = 0; by & GROUPS_OP && op < TRACE_OPS && !k->op[0]; op++) {
        const char *after_op = behind_word(k->part, trace_op_text(op));
        if (!after_op)
            continue;
        k->op = trace_op_text(op);
        k->part = after_op;
    }
    if (!id->by && !k->op[0] && !k->tier[0])
        k->part = id->label;
}

void figure_key(struct figure_key *k, const struct figure_id *id)
{
    *k = (struct figure_key){"", "", ""};
    switch (scopes[id->scope].key) {
    case KEY_NONE:
        break;
    case KEY_TIER:
    case KEY_TIERS:
    case KEY_DIRECTION:
        k->tier = id->by & GROUPS_TIER ? trace_tier_text(id->tier) : "";
        k->op = id->by & GROUPS_OP ? trace_op_text(id->op) : "";
        break;
    case KEY_LOOKUP:
        k->part = id->by & GROUPS_CLASS ? trace_class_text(id->class) : ALL_LOOKUPS;
        break;
    case KEY_QOS:
        k->part = trace_qos_text(id->qos);
        break;
    case KEY_PHASES:
        k->part = id->by & GROUPS_PHASE ? trace_phase_text(id->phase) : "";
        break;
    case KEY_LABEL:
        if (id->label && id->scope == FIGURE_OF_GROUP)
            split_label(k, id);
        else if (id->label)
            k->part = id->label;
        break;
    }
}

const char *figure_unit_word(const struct figure_id *id)
{
    static const char *const words[] = {[FIGURE_UNIT_NONE] = "",
                                        [FIGURE_UNIT_BYTES] = "bytes",
                                        [FIGURE_UNIT_SHARE] = "share",
                                        [FIGURE_UNIT_S] = "s",
                                        [FIGURE_UNIT_MS] = "ms",
                                        [FIGURE_UNIT_US] = "us",
                                        [FIGURE_UNIT_PER_S] = "1/s",
                                        [FIGURE_UNIT_TOKENS_PER_S] = "tokens/s",
                                        [FIGURE_UNIT_BYTES_PER_S] = "bytes/s",
                                        [FIGURE_UNIT_GIB_PER_S] = "GiB/s"};
    bool counts = id->statistic == FIGURE_COUNT || id->statistic == FIGURE_FEW_SAMPLES;
    return counts ? "" : words[figure_unit(id->what)];
}

/* ---- names read back ---- */

/* The rest of the name behind its first step and the dot, if that step is word; else NULL. */
static const char *after(const char *name, const char *word)
{
    if (word[0] == '\0' || word[0] != name[0]) /* most of them */
        return NULL;
    size_t len = strlen(word);
    if (strncmp(name, word, len) != 0)
        return NULL;
    if (name[len] == '\0')
        return name + len;
    return name[len] == '.' && name[len + 1] != '\0' ? name + len + 1 : NULL;
}

/* Reads a member and a statistic, and nothing behind them. */
static bool parse_what(struct figure_id *id, const char *name, unsigned from, unsigned to)
{
    for (unsigned w = from; w <= to; w++) {
        const char *rest = what_of(w).member ? after(name, what_of(w).member) : NULL;
        if (!rest)
            continue;
        id->what = (uint16_t)w;
        id->statistic = FIGURE_VALUE;
        for (unsigned s = FIGURE_COUNT; *rest && s < FIGURE_STATISTICS; s++)
            if (strcmp(rest, figure_statistic_word(s)) == 0) {
                id->statistic = (uint8_t)s;
                rest = "";
            }
        if (!*rest)
            return true;
    }
    return false;
}

static const char *parse_tier(struct figure_id *id, const char *name)
{
    for (unsigned t = 0; t < TRACE_TIERS; t++) {
        const char *rest = after(name, trace_tier_text(t));
        if (!rest)
            continue;
        id->by |= GROUPS_TIER;
        id->tier = (uint8_t)t;
        return rest;
    }
    return NULL;
}

/* The part of a scope: what follows it in the name, NULL when there is no such part. */
static const char *parse_key(struct figure_id *id, const char *name, enum key key)
{
    const char *rest = NULL;
    switch (key) {
    case KEY_NONE:
        return name;
    case KEY_TIER:
    case KEY_TIERS:
        return parse_tier(id, name);
    case KEY_LOOKUP:
        rest = after(name, ALL_LOOKUPS);
        for (size_t i = 0; i < FIGURE_LOOKUP_CLASSES && !rest; i++) {
            rest = after(name, trace_class_text(figure_lookup_classes[i]));
            id->by = rest ? GROUPS_CLASS : 0;
            id->class = rest ? figure_lookup_classes[i] : 0;
        }
        return rest;
    case KEY_QOS:
        for (unsigned q = 0; q < TRACE_QOSES && !rest; q++) {
            rest = after(name, trace_qos_text(q));
            id->by = GROUPS_QOS;
            id->qos = (uint8_t)q;
        }
        return rest;
    case KEY_DIRECTION:
        name = parse_tier(id, name);
        for (unsigned op = 0; name && op < DIRECTIONS && !rest; op++) {
            rest = after(name, directions[op]);
            id->by |= GROUPS_OP;
            id->op = (uint8_t)op;
        }
        return rest;
    case KEY_PHASES:
        for (unsigned p = 0; p < TRACE_PHASES && !rest; p++) {
            rest = after(name, trace_phase_text(p));
            id->by = GROUPS_PHASE;
            id->phase = (uint8_t)p;
        }
        return rest;
    case KEY_LABEL:
        break;
    }
    return NULL;
}

/* name is LABEL.MEMBER[.STATISTIC]. Labels may have dots, since users may: the last place at which
 * the rest is a figure counts. */
static bool parse_labelled(struct figure_id *id, char *name, enum figure_scope scope)
{
    bool group = scope == FIGURE_OF_GROUP;
    bool criterion = scope == FIGURE_OF_CRITERION, apart = scope == FIGURE_OF_APART;
    for (char *dot = strrchr(name, '.'); dot; dot = memrchr(name, '.', (size_t)(dot - name)))
        if (group ? parse_what(id, dot + 1, FIGURE_OPS, FIGURE_AT_DRIVE) ||
                        parse_what(id, dot + 1, FIGURE_FAILED, FIGURE_BYTES)
            : criterion ? parse_what(id, dot + 1, FIGURE_RELATION, FIGURE_PASSED)
            : apart     ? parse_what(id, dot + 1, FIGURE_OPS, FIGURE_SERVICE)
                        : parse_what(id, dot + 1, FIGURE_STATE, FIGURE_DOUBTED_OP)) {
            *dot = '\0';
            id->label = name;
            return true;
        }
    return false;
}

/* The facts of a scope, from first to *last; FACTS_SHOWN: it has none. */
static unsigned facts_of(enum figure_scope scope, unsigned *last)
{
    unsigned first = FACTS_SHOWN;
    for (unsigned i = 0; i < FACTS_SHOWN; i++)
        if (figure_scope_of_facts(fact_of(i)->scope) == scope) {
            first = first < FACTS_SHOWN ? first : i;
            *last = i;
        }
    return first;
}

/* Whether the name is a figure of that scope. */
static bool parse_scope(struct figure_id *id, char *name, enum figure_scope which)
{
    const struct scope *scope = &scopes[which];
    const char *rest = name;
    *id = (struct figure_id){.scope = (uint8_t)which};
    for (size_t i = 0; i < 2 && scope->path[i] && rest; i++)
        rest = after(rest, scope->path[i]);
    if (!rest)
        return false;
    if (!*rest)
        return scope->key != KEY_LOOKUP && scope->key != KEY_QOS; /* the scope itself */
    if (scope->key == KEY_LABEL)
        return parse_labelled(id, name + (rest - name), which);
    rest = parse_key(id, rest, scope->key);
    if (rest && scope->tail)
        rest = after(rest, scope->tail);
    if (rest && !*rest)
        return true;
    unsigned last = 0, first = facts_of(which, &last);
    if (rest && first < FACTS_SHOWN &&
        parse_what(id, rest, FIGURE_FACT + first, FIGURE_FACT + last))
        return true;
    return rest && parse_what(id, rest, FIGURE_FILES, FIGURE_OTHER - 1);
}

/* Members of another program's tiers, phases and groups stay with these. */
static bool parse_other(struct figure_id *id, char *name)
{
    static const enum figure_scope listed[] = {FIGURE_OF_TIER, FIGURE_OF_PHASE, FIGURE_OF_GROUP};
    for (size_t i = 0; i < sizeof(listed) / sizeof(listed[0]); i++) {
        const struct scope *scope = &scopes[listed[i]];
        const char *rest = after(name, scope->path[0]);
        *id = (struct figure_id){.scope = (uint8_t)listed[i], .what = FIGURE_OTHER};
        if (!rest || !*rest)
            continue;
        if (scope->key == KEY_LABEL) {
            char *label = name + (rest - name), *dot = strchr(label, '.');
            if (!dot)
                return false;
            *dot = '\0';
            id->label = label;
            id->member = dot + 1;
            return true;
        }
        id->member = parse_key(id, rest, scope->key);
        return id->member && id->member[0];
    }
    return false;
}

struct figure_id figure_parse(const char *name, char *scratch)
{
    struct figure_id id;
    strcpy(scratch, name);
    /* A member of the run may have the name of a scope: the scope comes first. */
    for (unsigned scope = FIGURE_OF_RUN + 1; scope < FIGURE_OF_ROWS; scope++)
        if (parse_scope(&id, scratch, scope))
            return id;
    if (parse_scope(&id, scratch, FIGURE_OF_RUN) && id.what != FIGURE_ITSELF)
        return id;
    if (parse_other(&id, scratch))
        return id;
    return (struct figure_id){.scope = FIGURE_OF_OTHER, .what = FIGURE_OTHER, .member = scratch};
}

const char *figure_label(char *buf, size_t n, const struct figure_id *id, char separator)
{
    const struct {
        unsigned bit;
        const char *text;
    } part[] = {{GROUPS_TIER, trace_tier_text(id->tier)},
                {GROUPS_OP, id->op < TRACE_OPS ? trace_op_text(id->op) : ""},
                {GROUPS_PHASE, trace_phase_text(id->phase)},
                {GROUPS_QOS, trace_qos_text(id->qos)},
                {GROUPS_CLASS, trace_class_text(id->class)},
                {GROUPS_USER, id->text[GROUP_USER]},
                {GROUPS_STATUS, id->status == TRACE_NO_STATUS ? "" : trace_status_text(id->status)},
                {GROUPS_ENDPOINT, id->text[GROUP_ENDPOINT]},
                {GROUPS_THREAD, id->text[GROUP_THREAD]},
                {GROUPS_ENGINE, id->text[GROUP_ENGINE]}};
    size_t len = 0;
    buf[0] = '\0';
    for (size_t i = 0; i < sizeof(part) / sizeof(part[0]) && len < n; i++)
        if (id->by & part[i].bit)
            len += (size_t)snprintf(buf + len, n - len, "%.*s%s", len > 0, &separator,
                                    part[i].text && part[i].text[0] ? part[i].text : "-");
    return buf;
}

void figure_cut_text(char *buf, size_t n, const char *text)
{
    size_t len = strlen(text);
    if (len > n - 1)
        for (len = n - 1; len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80;)
            len--;
    memcpy(buf, text, len);
    buf[len] = '\0';
}

/* ---- what people look at first ---- */

/* In the order in which the text has those of throughput. */
static const struct figure_headline headlines[] = {
    {FIGURE_OF_WALL, FIGURE_BYTES_PER_S, FIGURE_VALUE, "bytes moved", 1},
    {FIGURE_OF_WALL, FIGURE_OPS_PER_S, FIGURE_VALUE, "operations", 1},
    {FIGURE_OF_WALL, FIGURE_GENERATED_TOKENS_PER_S, FIGURE_VALUE, "generated, wall clock", 1},
    {FIGURE_OF_STORAGE_TIME, FIGURE_GENERATED_TOKENS_PER_S, FIGURE_VALUE, "generated, storage time",
     1},
    {FIGURE_OF_TIER2, FIGURE_TOKENS_PER_S, FIGURE_VALUE, "KV through Tier-2", 1},
    {FIGURE_OF_LOOKUPS, FIGURE_HIT_RATE, FIGURE_VALUE, "hit rate of all lookups", 1},
    {FIGURE_OF_CACHE, FIGURE_READ_AMPLIFICATION, FIGURE_VALUE, "tokens read per generated", 0},
    {FIGURE_OF_REQUESTS, FIGURE_END_TO_END, FIGURE_MEAN, "end to end, mean", -1},
    {FIGURE_OF_REQUESTS, FIGURE_END_TO_END, FIGURE_P50, "end to end, p50", -1},
    {FIGURE_OF_REQUESTS, FIGURE_END_TO_END, FIGURE_P95, "end to end, p95", -1},
    {FIGURE_OF_REQUESTS, FIGURE_END_TO_END, FIGURE_P99, "end to end, p99", -1},
    {FIGURE_OF_GROUP, FIGURE_GIB_PER_S, FIGURE_VALUE, "bandwidth", 1},
    {FIGURE_OF_GROUP, FIGURE_SERVICE, FIGURE_MEAN, "service, mean", -1},
    {FIGURE_OF_GROUP, FIGURE_SERVICE, FIGURE_P50, "service, p50", -1},
    {FIGURE_OF_GROUP, FIGURE_SERVICE, FIGURE_P95, "service, p95", -1},
    {FIGURE_OF_GROUP, FIGURE_SERVICE, FIGURE_P99, "service, p99", -1},
    {FIGURE_OF_GROUP, FIGURE_DEVICE, FIGURE_MEAN, "device, mean", -1},
    {FIGURE_OF_GROUP, FIGURE_DEVICE, FIGURE_P95, "device, p95", -1},
    {FIGURE_OF_GROUP, FIGURE_DEVICE, FIGURE_P99, "device, p99", -1}};

const struct figure_headline *figure_headlines(size_t *n)
{
    *n = sizeof(headlines) / sizeof(headlines[0]);
    return headlines;
}

const struct figure_headline *figure_headline(const struct figure_id *id)
{
    if (id->scope == FIGURE_OF_LOOKUPS && id->by & GROUPS_CLASS)
        return NULL;
    /* Rows that move nothing have no figures to compare. */
    if (id->scope == FIGURE_OF_GROUP && id->by & GROUPS_OP &&
        (id->op == TRACE_GENERATE || id->op == TRACE_MISS || id->op == TRACE_DELETE))
        return NULL;
    for (size_t i = 0; i < sizeof(headlines) / sizeof(headlines[0]); i++)
        if (id->scope == headlines[i].scope && id->what == headlines[i].what &&
            id->statistic == headlines[i].statistic)
            return &headlines[i];
    return NULL;
}
