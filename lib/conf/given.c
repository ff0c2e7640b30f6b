/* Takes the values from conf.c: tells in the JSON of a run which keys of the shared
 * sections have another value than their default. Keys in the section of a program are among its
 * options there. */
#include "lib/conf/given.h"

#include <stdio.h>
#include <string.h>

#include "lib/conf/keys.h"
#include "lib/conf/value.h"
#include "lib/text/text.h"

static bool is_of(const char *path, const char *const *sections)
{
    char name[CONF_NAME_MAX];

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(path, "."), path);
    return text_is_listed(name, sections);
}

static void put_number(struct jsonout *j, const char *key, const struct conf_value *v, size_t i)
{
    if (v->i64)
        jsonout_i64(j, key, v->i64[i]);
    else
        jsonout_f64(j, key, v->f64[i]);
}

static void put_value(struct jsonout *j, const struct conf_given *g)
{
    if (g->value->text) {
        jsonout_text_value(j, g->path, g->value->text);
    } else if (!conf_value_is_list(g->row->type)) {
        put_number(j, g->path, g->value, 0);
    } else {
        jsonout_array(j, g->path);
        for (size_t i = 0; i < g->value->count; i++)
            put_number(j, NULL, g->value, i);
        jsonout_end(j);
    }
}

void given_put(struct jsonout *j, const struct conf *c, const char *const *sections)
{
    struct conf_given g;
    bool any = false;

    for (size_t i = 0; conf_given(c, i, &g); i++) {
        if (!is_of(g.path, sections))
            continue;
        if (!any)
            jsonout_object(j, "configuration");
        any = true;
        put_value(j, &g);
    }
    if (any)
        jsonout_end(j);
}
