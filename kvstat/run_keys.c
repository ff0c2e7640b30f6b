/* Beside provenance.c, which reads the rest of a run's summary: its member "options" has the value
 * of each option and key, whether a file, the command line or nothing gave it; the program's table
 * of options tells which are keys, and their defaults. */
#include "kvstat/run_keys.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/conf/keys.h"
#include "lib/opt/opt.h"
#include "lib/opt/tables.h"

#define NS_PER_S 1e9

static const struct jsonin_v *options_of(const struct jsonin_v *root)
{
    return jsonin_get(root, "options");
}

static const struct opt *table_of(const struct jsonin_v *root)
{
    const char *name = jsonin_text(jsonin_get(root, "program"), NULL);
    const struct opt_program *program = name ? opt_program_named(name, strlen(name)) : NULL;

    return program ? program->table : NULL;
}

bool run_keys_known(const struct jsonin_v *root)
{
    return options_of(root) && table_of(root);
}

/* Writes a text or number; anything else is "". */
static void write_one(const struct jsonin_v *v, char *buf, size_t n)
{
    const char *text = jsonin_text(v, NULL);
    double number;

    snprintf(buf, n, "%s", text ? text : "");
    if (!text && jsonin_f64(v, &number) == 0)
        snprintf(buf, n, "%.12g", number);
}

/* Writes a list as a setting has it: "[a, b]". */
static void write_list(const struct jsonin_v *list, char *buf, size_t n)
{
    size_t count = jsonin_count(list), len = (size_t)snprintf(buf, n, "[");
    char one[RUN_KEYS_TEXT];

    for (size_t i = 0; i < count && len < n; i++) {
        write_one(jsonin_at(list, i), one, sizeof(one));
        len += (size_t)snprintf(buf + len, n - len, "%s%s", i ? ", " : "", one);
    }
    if (len < n)
        snprintf(buf + len, n - len, "]");
}

/* Writes a number in the unit of the row; false: it is the default. */
static bool write_number(const struct opt *o, double value, char *buf, size_t n)
{
    bool time = o->type == OPT_DURATION;
    double by_default = 0;

    if (o->def)
        opt_number(o, o->def, &by_default);
    if (time)
        by_default /= NS_PER_S;
    snprintf(buf, n, "%.12g%s", value, time ? "s" : "");
    return fabs(value - by_default) > 1e-9 * fabs(by_default);
}

/* Writes the value of a row; false: it is the default, or none. */
static bool write_value(const struct opt *o, const struct jsonin_v *v, char *buf, size_t n)
{
    const char *text = jsonin_text(v, NULL);
    double number;
    bool yes;

    switch (o->type) {
    case OPT_HEADING:
    case OPT_EXAMPLE:
        return false;
    case OPT_FLAG:
        if (jsonin_bool(v, &yes) < 0)
            return false;
        snprintf(buf, n, "%s", yes ? "true" : "false");
        return yes != (o->def && opt_truth(o->def) > 0);
    case OPT_ENUM:
    case OPT_TEXT:
        snprintf(buf, n, "%s", text ? text : "");
        return text && !(o->def && strcmp(text, o->def) == 0);
    case OPT_LIST:
        if (text)
            snprintf(buf, n, "%s", text);
        else
            write_list(v, buf, n);
        return text || jsonin_count(v) > 0;
    default:
        return jsonin_f64(v, &number) == 0 && write_number(o, number, buf, n);
    }
}

bool run_keys_next(const struct jsonin_v *root, size_t *at, char text[RUN_KEYS_TEXT])
{
    const struct opt *table = table_of(root);
    char value[RUN_KEYS_TEXT - OPT_KEY_MAX], path[OPT_KEY_MAX + 16], key[OPT_KEY_MAX];

    while (table[*at].name || table[*at].help) {
        const struct opt *o = &table[(*at)++];
        if (!opt_is_option(o) || !(o->flags & OPT_CONFIG) || o->flags & OPT_NO_EFFECT || o->key)
            continue;
        snprintf(path, sizeof(path), "options.%s", o->name);
        const struct jsonin_v *v = jsonin_get(root, path);
        if (!v || !write_value(o, v, value, sizeof(value)))
            continue;
        snprintf(text, RUN_KEYS_TEXT, "%s=%s", opt_key(o, key), value);
        return true;
    }
    return false;
}

bool run_keys_shared(const struct jsonin_v *root, size_t i, char text[RUN_KEYS_TEXT])
{
    const struct jsonin_v *given = jsonin_get(root, "configuration");
    char value[RUN_KEYS_TEXT - CONF_NAME_MAX];
    const char *name;

    const struct jsonin_v *v = given ? jsonin_member(given, i, &name) : NULL;
    if (!v)
        return false;
    if (jsonin_is_array(v))
        write_list(v, value, sizeof(value));
    else
        write_one(v, value, sizeof(value));
    snprintf(text, RUN_KEYS_TEXT, "%.*s=%s", CONF_NAME_MAX - 1, name, value);
    return true;
}
