/* print_config.c - --print-config: walks the two tables, so that no default is typed again. Reads
 * nothing and simulates nothing. */
#include "kvgen/print_config.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "kvgen/options.h"
#include "lib/conf/keys.h"
#include "lib/trace/trace.h"

enum {
    WIDTH = 100,
    MAX_DEPTH = 4
};

/* A text as comment lines of at most WIDTH columns, behind margin blanks. */
static void put_comment(FILE *f, int margin, const char *text)
{
    while (*text != '\0') {
        size_t most = (size_t)(WIDTH - margin - 2), n = strlen(text);
        if (n > most)
            for (n = most; n > 0 && text[n] != ' '; n--)
                ;
        if (n == 0)
            n = strcspn(text, " ");
        fprintf(f, "%*s# %.*s\n", margin, "", (int)n, text);
        for (text += n; *text == ' '; text++)
            ;
    }
}

/* ---- options ---- */

static void put_option(FILE *f, const struct opt *o)
{
    const char *arg = o->type == OPT_ENUM ? o->choices : o->arg;
    fprintf(f, "#   --%s%s%s", o->name, arg != NULL ? " " : "", arg != NULL ? arg : "");
    if (o->def != NULL)
        fprintf(f, "   (%s)", o->def);
    fputc('\n', f);
}

static void put_options(FILE *f)
{
    fputs("#\n", f);
    put_comment(f, 0,
                "What is not a key of this file is an option of the command line, which also wins "
                "over this "
                "file. kvgen's options, with their defaults (kvgen --help explains them):");
    for (const struct opt *o = options_table; o->name != NULL || o->help != NULL; o++) {
        if (o->type == OPT_HEADING)
            fprintf(f, "#\n# %s\n", o->help);
        else
            put_option(f, o);
    }
}

/* ---- keys ---- */

struct names {
    const char *at[MAX_DEPTH];
    int len[MAX_DEPTH];
    int depth;
};

static struct names names_of(const char *path)
{
    struct names n = {.depth = 0};
    for (const char *p = path; p != NULL && n.depth < MAX_DEPTH; n.depth++) {
        n.at[n.depth] = p;
        n.len[n.depth] = (int)strcspn(p, ".");
        p = p[n.len[n.depth]] == '.' ? p + n.len[n.depth] + 1 : NULL;
    }
    return n;
}

static bool same_name(const struct names *a, const struct names *b, int i)
{
    return i < a->depth && i < b->depth && a->len[i] == b->len[i] &&
           memcmp(a->at[i], b->at[i], (size_t)a->len[i]) == 0;
}

/* Keys without a value stand as comments. */
static bool is_comment(const struct conf_key *k)
{
    return k->def == NULL;
}

/* Is there a key below these names that is no comment? Else the section would be empty. */
static bool is_used(const struct names *section, int depth)
{
    for (const struct conf_key *k = conf_keys; k->path != NULL; k++) {
        struct names n = names_of(k->path);
        int i = 0;
        while (i < depth && same_name(section, &n, i))
            i++;
        if (i == depth && k->help != NULL && !is_comment(k))
            return true;
    }
    return false;
}

static void put_sections(FILE *f, const struct names *n, const struct names *before)
{
    int i = 0;
    while (i < n->depth - 1 && same_name(n, before, i))
        i++;
    for (bool first = true; i < n->depth - 1; i++, first = false) {
        const char *name = n->at[i][0] == '*' ? "MY-MODEL" : n->at[i];
        int len = n->at[i][0] == '*' ? (int)strlen(name) : n->len[i];
        if (first && i == 0)
            fputc('\n', f);
        fprintf(f, "%*s%s%.*s:\n", 2 * i, "", is_used(n, i + 1) ? "" : "# ", len, name);
    }
}

static void put_key(FILE *f, const struct conf_key *k, const struct names *n)
{
    int margin = 2 * (n->depth - 1);
    put_comment(f, margin, k->help);
    if (k->choices != NULL)
        fprintf(f, "%*s# One of: %s\n", margin, "", k->choices);
    fprintf(f, "%*s%s%.*s: %s\n", margin, "", is_comment(k) ? "# " : "", n->len[n->depth - 1],
            n->at[n->depth - 1], k->def != NULL ? k->def : "...");
}

static void put_keys(FILE *f)
{
    struct names before = {.depth = 0};
    for (const struct conf_key *k = conf_keys; k->path != NULL; k++) {
        if (k->help == NULL)
            continue; /* means nothing here */
        struct names n = names_of(k->path);
        put_sections(f, &n, &before);
        put_key(f, k, &n);
        before = n;
    }
}

int print_config(FILE *f, struct err *e)
{
    put_comment(f, 0,
                "A configuration of kvtrace with every default, as kvgen --print-config writes it. "
                "One file serves all four programs (--config); delete what you do not change.");
    put_options(f);
    put_keys(f);
    if (fflush(f) == 0 && !ferror(f))
        return 0;
    return err_errno(e, -errno, ERR_OUTPUT, "", "standard output");
}
