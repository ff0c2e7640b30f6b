#include "lib/base/late.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static void **place_of(void *table, const struct late_function *f)
{
    return (void **)(void *)((char *)table + f->at);
}

/* What dlopen said, without the name that it begins with. */
static const char *why(const char *file)
{
    const char *text = dlerror();
    size_t len = strlen(file);

    if (!text)
        return "cannot be loaded";
    return strncmp(text, file, len) == 0 && strncmp(text + len, ": ", 2) == 0 ? text + len + 2
                                                                              : text;
}

int late_load(const struct late_library *l, void *table, struct err *e)
{
    const struct late_function *f = l->functions;
    void *library;

    if (*place_of(table, &f[l->count - 1])) /* the last to be found */
        return 0;
    library = dlopen(l->file, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return err_set(e, -ENOTSUP, ERR_INPUT, l->file, "%s: %s", l->use, why(l->file));
    for (size_t i = 0; i < l->count; i++) {
        void *function = dlsym(library, f[i].name);

        if (!function)
            return err_set(e, -ENOTSUP, ERR_INPUT, l->file, "%s, and this one has no %s", l->use,
                           f[i].name);
        *place_of(table, &f[i]) = function;
    }
    return 0;
}
