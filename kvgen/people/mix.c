/* Reads --population and divides users among the populations. habits.c has the figures of each,
 * people.c makes requests of them. */
#include "kvgen/people/mix.h"

#include <errno.h>
#include <string.h>

#include "kvgen/people/habits.h"
#include "lib/base/units.h"

static const struct {
    const char *name, *figures, *about;
} kinds[PEOPLE_KINDS] = {
    [PEOPLE_CHAT] = {"chat", "chat.",
                     "people who talk with an assistant (class interactive). A conversation begins "
                     "with a system prompt that all share; the next turn comes when the answer is "
                     "read and a pause is over"},
    [PEOPLE_CODE] = {"code", "code.",
                     "people whose coding agents work for them (class responsive). Each step of a "
                     "session adds to its context; the next one comes when a tool is done, or the "
                     "person who watches asks; a step may start a sub-agent, which it waits for"},
    [PEOPLE_DOCUMENTS] = {"documents", "documents.",
                          "people who ask about documents (class interactive). All users choose "
                          "among the same documents, the n-th with weight 1/n; the next question "
                          "comes when the answer is read and a pause is over"},
};

const char *people_kind_name(enum people_kind k)
{
    return kinds[k].name;
}

bool mix_asks(const char *text)
{
    return strcmp(text, "help") == 0;
}

static int refuse(struct err *e, const char *what, size_t len)
{
    return err_set(e, -EINVAL, ERR_INPUT, "--population",
                   "\"%.*s\" is not chat, code or documents, each with a share if you like "
                   "(chat=70,code=30; a share is a whole number from 1 to %d), nor mlperf alone "
                   "(--population help lists them)",
                   (int)(len < 100 ? len : 100), what, MIX_MOST);
}

int mix_parse(struct people_mix *m, const char *text, struct err *e)
{
    *m = (struct people_mix){{0}};
    if (strcmp(text, "mlperf") == 0)
        return 0;
    for (const char *part = text;; part++) {
        const size_t len = strcspn(part, ","), name = strcspn(part, "=,");
        uint64_t share = 1;
        int k = 0;
        while (k < PEOPLE_KINDS &&
               (strlen(kinds[k].name) != name || memcmp(kinds[k].name, part, name) != 0))
            k++;
        if (k == PEOPLE_KINDS ||
            (name < len && units_parse_digits(part + name + 1, len - name - 1, &share) < 0) ||
            share < 1 || share > MIX_MOST)
            return refuse(e, part, len);
        if (m->share[k] > 0)
            return err_set(e, -EINVAL, ERR_INPUT, "--population", "%s is named twice",
                           kinds[k].name);
        m->share[k] = (uint32_t)share;
        part += len;
        if (*part == '\0')
            return 0;
    }
}

bool mix_is_people(const struct people_mix *m)
{
    for (int k = 0; k < PEOPLE_KINDS; k++)
        if (m->share[k] > 0)
            return true;
    return false;
}

int mix_help(FILE *f, struct err *e)
{
    fputs("Each figure has its unit and either one number, or those that 0, 10, 20, ... 90, 95, "
          "98, 99\nand 100 percent of the values do not exceed.\n",
          f);
    for (int k = 0; k < PEOPLE_KINDS; k++) {
        fprintf(f, "%s: %s.\n", kinds[k].name, kinds[k].about);
        habits_print(f, kinds[k].figures);
    }
    fputs("Of reading an answer:\n", f);
    habits_print(f, "reading.");
    fputs("mlperf: the personas of the MLPerf Storage benchmark (user_templates in --config), "
          "which think 0.1 to 1.5 s.\n",
          f);
    return fflush(f) == 0 && !ferror(f)
               ? 0
               : err_set(e, -EIO, ERR_OUTPUT, "", "standard output cannot be written");
}

enum people_kind mix_next(struct mix_order *o)
{
    uint64_t all = 0;
    for (int k = 0; k < PEOPLE_KINDS; k++)
        all += o->mix->share[k];
    o->users++;
    /* The kind that lacks most of its share; of equal ones the first. What all lack together is one
     * user, so one of them lacks something, and it has a share. */
    int next = 0;
    int64_t most = 0;
    for (int k = 0; k < PEOPLE_KINDS; k++) {
        const int64_t lacks =
            (int64_t)(o->users * o->mix->share[k]) - (int64_t)(o->of_kind[k] * all);
        if (lacks > most) {
            next = k;
            most = lacks;
        }
    }
    o->of_kind[next]++;
    return (enum people_kind)next;
}
