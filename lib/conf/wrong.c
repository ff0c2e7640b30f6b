/* Beside conf.c, which finds that a key is unknown: looks among options and keys of all programs
 * for what it may stand for. */
#include "lib/conf/wrong.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/nearest.h"
#include "lib/opt/tables.h"

bool conf_wrong_sections(const char *key, char *buf, size_t n)
{
    size_t len = 0, count = 0;

    for (size_t i = 0; i < OPT_PROGRAMS; i++) {
        const struct opt *o = opt_key_named(opt_programs[i].table, key);
        if (o && len < n)
            len += (size_t)snprintf(buf + len, n - len, "%s%s", count++ ? ", " : "the section ",
                                    opt_programs[i].name);
    }
    return count > 0;
}

bool conf_wrong_is_key(const char *text)
{
    char sections[96];
    const char *dot = strchr(text, '.');
    const struct opt_program *program = dot ? opt_program_named(text, (size_t)(dot - text)) : NULL;

    return program ? opt_key_named(program->table, dot + 1) != NULL
                   : conf_wrong_sections(text, sections, sizeof(sections)) || conf_keys_row(text);
}

/* The option of this table that is no key of its section, called so; NULL: none. */
static const struct opt *option_named(const struct opt *table, const char *key)
{
    char own[OPT_KEY_MAX];

    for (const struct opt *o = table; o->name || o->help; o++)
        if (opt_is_option(o) && (!(o->flags & OPT_CONFIG) || o->key) &&
            strcmp(opt_key(o, own), key) == 0)
            return o;
    return NULL;
}

/* The path of the shared key of this name, "decode.batch_size"; NULL: there is none, or several. */
static const char *path_of(const char *name)
{
    const char *found = NULL;

    for (const struct conf_key *k = conf_keys; k->path; k++) {
        const char *dot = strrchr(k->path, '.');
        if (!k->help || !dot || strcmp(dot + 1, name) != 0)
            continue;
        if (found)
            return NULL;
        found = k->path;
    }
    return found;
}

/* Writes why the key name, of the section of program or, with NULL, without a section, is not one
 * although the name is known; false: it is not known. */
static bool explain_known(const struct opt_program *program, const char *name, char *why, size_t n)
{
    char sections[96];

    if (!program && conf_wrong_sections(name, sections, sizeof(sections))) {
        snprintf(why, n, "not a section: it is a key of %s", sections);
        return true;
    }
    for (size_t i = 0; i < OPT_PROGRAMS; i++) {
        const struct opt *o = option_named(opt_programs[i].table, name);
        if (o && o->key)
            snprintf(why, n, "not a key here: it is the key %s", o->key);
        else if (o && program == &opt_programs[i])
            snprintf(why, n, "not a key: it is the option --%s", o->name);
        else
            continue;
        return true;
    }
    if (program && conf_wrong_sections(name, sections, sizeof(sections))) {
        snprintf(why, n, "not a key here: it is a key of %s", sections);
        return true;
    }
    const char *path = program ? path_of(name) : NULL;
    if (path)
        snprintf(why, n, "not a key here: it is the key %s", path);
    return path;
}

void conf_wrong_key(const char *const *names, size_t n, char why[CONF_WRONG_MAX])
{
    const char *name = names[n - 1];
    const struct opt_program *program =
        n == 2 ? opt_program_named(names[0], strlen(names[0])) : NULL;
    char guess[CONF_NAME_MAX], own[OPT_KEY_MAX], best[OPT_KEY_MAX];
    struct nearest near = {.typed = name};

    snprintf(why, CONF_WRONG_MAX, "unknown key");
    if ((program || n == 1) && explain_known(program, name, why, CONF_WRONG_MAX))
        return;
    for (size_t i = 0; n == 1 && i < OPT_PROGRAMS; i++)
        nearest_offer(&near, opt_programs[i].name);
    if (near.best)
        snprintf(why, CONF_WRONG_MAX, "unknown key; did you mean %s?", near.best);
    else if (!program && conf_keys_guess(names, n, guess))
        snprintf(why, CONF_WRONG_MAX, "unknown key; did you mean %s?", guess);
    for (const struct opt *o = program ? program->table : NULL; o && (o->name || o->help); o++) {
        if (!opt_is_option(o) || !(o->flags & OPT_CONFIG) || o->flags & OPT_OLD || o->key)
            continue;
        nearest_offer(&near, opt_key(o, own));
        if (near.best == own) { /* own is reused: keep a copy */
            near.best = strcpy(best, own);
            snprintf(why, CONF_WRONG_MAX, "unknown key; did you mean %s?", best);
        }
    }
}
