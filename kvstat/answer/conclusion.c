/* From figures to one word and its reason. kvgen decided what is held by the model of the drive;
 * here its confirmation is taken in, which can only make the answer less sure. */
#include "kvstat/answer/conclusion.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kvstat/report/cells.h"
#include "lib/text/text.h"

const char *conclusion_word(enum verdict_outcome verdict)
{
    static const char *const words[] = {
        [VERDICT_FAIL] = "FAIL", [VERDICT_PASS] = "PASS", [VERDICT_INCONCLUSIVE] = "INCONCLUSIVE"};
    return words[verdict];
}

const char *conclusion_number(char buf[CONCLUSION_NUMBER], const struct answer *a, double n)
{
    char cell[CELL];
    if (a->requests)
        snprintf(buf, CONCLUSION_NUMBER, "%.3g/s", n);
    else
        snprintf(buf, CONCLUSION_NUMBER, "%s",
                 n >= 0 && n < 1e15 ? cell_count(cell, (uint64_t)(n + 0.5)) : "-");
    return buf;
}

const char *conclusion_count(char buf[CONCLUSION_NUMBER], const struct answer *a, double n)
{
    char number[CONCLUSION_NUMBER];
    if (a->requests)
        snprintf(buf, CONCLUSION_NUMBER, "%.3g requests/s", n);
    else
        snprintf(buf, CONCLUSION_NUMBER, "%.20s user%s", conclusion_number(number, a, n),
                 n == 1 ? "" : "s");
    return buf;
}

const char *conclusion_unreached(char buf[2 * CONCLUSION_NUMBER], const struct answer *a)
{
    char size[CELL];
    snprintf(buf, 2 * CONCLUSION_NUMBER, "nothing reaches the drive");
    if (a->host_used > 0)
        text_append(buf, 2 * CONCLUSION_NUMBER, ": host memory holds all %s",
                    cell_size(size, a->host_used));
    return buf;
}

/* ---- the verdict ---- */

/* " in each of 5 seeds"; "" where there is one. */
static const char *seeds_text(char buf[CONCLUSION_NUMBER], const char *words,
                              const struct answer *a)
{
    buf[0] = '\0';
    if (a->settings.seeds != 1)
        snprintf(buf, CONCLUSION_NUMBER, "%.16s %.0f seeds", words, a->settings.seeds);
    return buf;
}

/* The reason of a verdict by the search, about the number that was asked. */
static void explain_search(struct conclusion *c)
{
    const struct answer *a = c->answer;
    const struct answer_held *h = &a->users[ANSWER_THIS];
    char n[CONCLUSION_NUMBER], low[CONCLUSION_NUMBER], high[CONCLUSION_NUMBER],
        unreached[2 * CONCLUSION_NUMBER], seeds[CONCLUSION_NUMBER];
    conclusion_count(n, a, a->asked);
    conclusion_number(low, a, h->low);
    conclusion_number(high, a, h->high);
    if (c->verdict == VERDICT_PASS)
        snprintf(c->why, sizeof(c->why), "%s %s held, and up to %s%s%s", n,
                 a->asked == 1 ? "is" : "are", low, seeds_text(seeds, " in each of", a),
                 a->reached && a->asked <= a->users[ANSWER_NONE].low ? "; without the drive, too"
                                                                     : "");
    else if (c->verdict == VERDICT_FAIL && !(h->high > 0))
        snprintf(c->why, sizeof(c->why), "%s %s not held: not even %s%s", n,
                 a->asked == 1 ? "is" : "are", a->requests ? "the lowest rate" : "1 is",
                 seeds_text(seeds, " in any of", a));
    else if (c->verdict == VERDICT_FAIL)
        snprintf(c->why, sizeof(c->why), "%s %s not held: %s at most%s", n,
                 a->asked == 1 ? "is" : "are", high, seeds_text(seeds, " in any of", a));
    else
        snprintf(c->why, sizeof(c->why),
                 "%s %s held in some of %.0f seeds only: up to %s in all, up to %s in any", n,
                 a->asked == 1 ? "is" : "are", a->settings.seeds, low, high);
    if (a->why)
        text_append(c->why, sizeof(c->why), "; %.240s", a->why);
    else if (c->verdict == VERDICT_FAIL && a->limit_text)
        text_append(c->why, sizeof(c->why), "; what ends it: %.160s", a->limit_text);
    if (!a->reached)
        text_append(c->why, sizeof(c->why), "; the drive is not judged: %s",
                    conclusion_unreached(unreached, a));
}

void conclude(struct conclusion *c, const struct answer *a, const struct confirm *confirm)
{
    *c = (struct conclusion){.answer = a, .confirm = confirm};
    c->unconfirmed = confirm && confirm->answer != CONFIRM_AGREES &&
                     !(confirm->cause == CONFIRM_NOTHING && !a->reached);
    c->judged = a->judged || c->unconfirmed;
    c->verdict = c->unconfirmed ? VERDICT_INCONCLUSIVE : a->verdict;
    if (c->unconfirmed)
        snprintf(c->why, sizeof(c->why), "%s", confirm->why);
    else if (c->judged && !isnan(a->asked) && !a->concluded)
        explain_search(c);
    else if (a->why)
        snprintf(c->why, sizeof(c->why), "%.*s", CONFIRM_WHY, a->why);
}

/* ---- more or fewer ---- */

enum gain gain_of(const struct answer *a)
{
    if (!a->reached || a->gain.high <= 0)
        return GAIN_NONE;
    return a->gain.low > 0 ? GAIN_IS_THERE : GAIN_OPEN;
}

struct answer_gain difference_of(const struct answer *first, const struct answer *second)
{
    const struct answer_held *a = &first->users[ANSWER_THIS], *b = &second->users[ANSWER_THIS];
    return (struct answer_gain){b->value - a->value, b->low - a->high, b->high - a->low};
}

enum better better_of(const struct conclusion pair[2])
{
    const struct answer_held *first = &pair[0].answer->users[ANSWER_THIS];
    const struct answer_held *second = &pair[1].answer->users[ANSWER_THIS];
    if (pair[0].unconfirmed || pair[1].unconfirmed)
        return BETTER_UNKNOWN;
    return first->low > second->high   ? BETTER_FIRST
           : second->low > first->high ? BETTER_SECOND
                                       : BETTER_UNKNOWN;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

const char *conclusion_differs(const struct answer *a, const struct answer *b)
{
    const struct {
        const char *name;
        bool same;
    } settings[] = {
        {"model", same_text(a->settings.model, b->settings.model)},
        {"gpu", same_text(a->settings.gpu, b->settings.gpu)},
        {"tensor_parallel", same(a->settings.tensor_parallel, b->settings.tensor_parallel)},
        {"engine", same_text(a->settings.engine, b->settings.engine)},
        {"population", same_text(a->settings.population, b->settings.population)},
        {"source", same_text(a->settings.source, b->settings.source)},
        {"unit", a->requests == b->requests},
        {"gpu_mem_bytes", same(a->settings.gpu_mem, b->settings.gpu_mem)},
        {"cpu_mem_bytes", same(a->settings.cpu_mem, b->settings.cpu_mem)},
        {"ttft_s", same(a->settings.ttft_s, b->settings.ttft_s)},
        {"tpot_s", same(a->settings.tpot_s, b->settings.tpot_s)},
        {"goodput", same(a->settings.goodput, b->settings.goodput)},
    };
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        if (!settings[i].same)
            return settings[i].name;
    return NULL;
}
