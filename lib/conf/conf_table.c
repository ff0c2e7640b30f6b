/* Finds the row of conf_keys that the names in a file, or a path in a program, stand for. Names are
 * compared one by one, never split at dots: model ids such as llama3.1-8b hold dots. */
#include "lib/conf/conf_table.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/nearest.h"

/* Do the names lead to the row's key, or to a section on the way to it? */
static enum conf_table_match match_names(const char *row_path, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strcspn(row_path, ".");
        bool any = len == 1 && row_path[0] == '*';
        if (!any && (strlen(names[i]) != len || memcmp(names[i], row_path, len) != 0))
            return CONF_TABLE_NONE;
        row_path += len;
        if (*row_path == '\0')
            return i + 1 == n ? CONF_TABLE_KEY : CONF_TABLE_NONE;
        row_path++;
    }
    return CONF_TABLE_SECTION;
}

enum conf_table_match conf_table_find(const char *const *names, size_t n,
                                      const struct conf_key **row)
{
    enum conf_table_match best = CONF_TABLE_NONE;

    for (const struct conf_key *k = conf_keys; k->path; k++) {
        enum conf_table_match m = match_names(k->path, names, n);
        if (m == CONF_TABLE_KEY) {
            *row = k;
            return m;
        }
        if (m > best)
            best = m;
    }
    return best;
}

/* Offers the row's name that stands where the last of the names does; guess keeps the winner. */
static void offer_name(struct nearest *near, const char *row_path, const char *const *names,
                       size_t n, char guess[CONF_NAME_MAX])
{
    char name[CONF_NAME_MAX];

    if (match_names(row_path, names, n - 1) != CONF_TABLE_SECTION)
        return;
    for (size_t i = 1; i < n; i++)
        row_path += strcspn(row_path, ".") + 1;
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(row_path, "."), row_path);
    nearest_offer(near, name);
    if (near->best == name) {
        snprintf(guess, CONF_NAME_MAX, "%s", name);
        near->best = guess;
    }
}

bool conf_table_guess(const char *const *names, size_t n, char guess[CONF_NAME_MAX])
{
    struct nearest near = {.typed = names[n - 1]};

    for (const struct conf_key *k = conf_keys; k->path; k++)
        offer_name(&near, k->path, names, n, guess);
    for (const struct conf_key *k = conf_keys; k->path && !near.best; k++) {
        const char *dot = strrchr(k->path, '.');
        if (dot && strcmp(dot + 1, names[n - 1]) == 0) {
            snprintf(guess, CONF_NAME_MAX, "%s", k->path);
            near.best = guess;
        }
    }
    return near.best != NULL;
}

static bool is_path_of(const char *row_path, const char *path)
{
    const char *star = strchr(row_path, '*');
    size_t len = strlen(path), head, tail;

    if (!star)
        return strcmp(row_path, path) == 0;
    head = (size_t)(star - row_path);
    tail = strlen(star + 1);
    return len > head + tail && memcmp(path, row_path, head) == 0 &&
           strcmp(path + len - tail, star + 1) == 0;
}

const struct conf_key *conf_table_row(const char *path)
{
    for (const struct conf_key *k = conf_keys; k->path; k++)
        if (is_path_of(k->path, path))
            return k;
    return NULL;
}

size_t conf_table_count(void)
{
    size_t n = 0;

    while (conf_keys[n].path)
        n++;
    return n;
}
