/* kvgen --print-config: walks the tables of configuration keys and options, so that no default is
 * typed again. Reads nothing and simulates nothing. */
#include "kvgen/options/print_config.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "kvgen/options/options.h"
#include "lib/conf/keys.h"
#include "lib/conf/value.h"
#include "lib/opt/help.h"
#include "lib/opt/tables.h"

enum {
    WIDTH = 100,
    MAX_DEPTH = 4
};

/* Writes text as comment lines of at most WIDTH columns, indented by margin. */
static void put_comment(FILE *f, int margin, const char *text)
{
    while (*text) {
        size_t most = (size_t)(WIDTH - margin - 2), n = strlen(text);
        if (n > most) {
            n = most;
            while (n > 0 && text[n] != ' ')
                n--;
        }
        if (n == 0)
            n = strcspn(text, " ");
        fprintf(f, "%*s# %.*s\n", margin, "", (int)n, text);
        text += n;
        text += strspn(text, " ");
    }
}

/* A line, or with many choices several, which end before a choice. */
static void put_option(FILE *f, const struct opt *o, const char *arg)
{
    int column = fprintf(f, "#   --%s%s", o->name, *arg ? " " : "");
    int indent = column;

    while (*arg) {
        size_t n = strcspn(arg, "|") + 1;
        if (n > strlen(arg))
            n = strlen(arg);
        if (column + (int)n > WIDTH - 10)
            column = fprintf(f, "\n#%*s", indent - 1, "") - 1;
        column += fprintf(f, "%.*s", (int)n, arg);
        arg += n;
    }
    if (o->def)
        fprintf(f, "   (%s)", o->def);
    fputc('\n', f);
}

static void put_options(FILE *f)
{
    fputs("#\n", f);
    put_comment(
        f, 0,
        "Options of the command line win over this file. On the command line a key is "
        "--config SECTION.KEY=VALUE, such as --config decode.batch_size=8; the section of the "
        "program itself may be left out: --config threads=4. Everything else is an option. These "
        "are kvgen's, with their defaults (kvgen --help all explains them, --help all of the other "
        "programs theirs):");
    for (const struct opt *o = kvgen_options; o->name || o->help; o++) {
        const char *arg = o->type == OPT_ENUM ? o->choices : opt_help_arg(o);
        if (o->type == OPT_HEADING) {
            fprintf(f, "#\n# %s\n", o->help);
            continue;
        }
        if (!opt_is_option(o) || o->flags & (OPT_OLD | OPT_CONFIG))
            continue;
        put_option(f, o, arg);
    }
}

/* ---- keys ---- */

/* The names of a path, from the root down; not NUL-terminated. */
struct names {
    const char *at[MAX_DEPTH];
    int len[MAX_DEPTH];
    int depth;
};

static struct names names_of(const char *path)
{
    struct names n = {.depth = 0};

    for (const char *p = path; p && n.depth < MAX_DEPTH; n.depth++) {
        n.at[n.depth] = p;
        n.len[n.depth] = (int)strcspn(p, ".");
        p = p[n.len[n.depth]] == '.' ? p + n.len[n.depth] + 1 : NULL;
    }
    return n;
}

/* How many names two paths have in common, from the root down. */
static int common_depth(const struct names *a, const struct names *b)
{
    int i = 0;

    while (i < a->depth && i < b->depth && a->len[i] == b->len[i] &&
           memcmp(a->at[i], b->at[i], (size_t)a->len[i]) == 0)
        i++;
    return i;
}

/* Returns whether the section (the first depth names) has a key that is not a comment. */
static bool has_default(const struct names *section, int depth)
{
    for (const struct conf_key *k = conf_keys; k->path; k++) {
        struct names n = names_of(k->path);
        if (k->help && k->def && common_depth(section, &n) >= depth)
            return true;
    }
    return false;
}

/* Says which values a key takes: "One of: a|b", "A number; 0 to 1". */
static void put_type(FILE *f, int margin, const struct conf_key *k)
{
    const char *noun = conf_value_noun(k->type);
    char low[48], high[48];

    if (k->choices)
        fprintf(f, "%*s# One of: %s\n", margin, "", k->choices);
    else if (k->type == CONF_TEXT)
        fprintf(f, "%*s# A text\n", margin, "");
    else
        fprintf(f, "%*s# %c%s; %s to %s\n", margin, "", toupper(noun[0]), noun + 1,
                opt_help_number(k->min, low, sizeof(low)),
                opt_help_number(k->max, high, sizeof(high)));
}

static void put_keys(FILE *f)
{
    struct names before = {.depth = 0};

    for (const struct conf_key *k = conf_keys; k->path; k++) {
        if (!k->help)
            continue; /* it has no meaning here */
        struct names n = names_of(k->path);
        int leaf = n.depth - 1, margin = 2 * leaf, from = common_depth(&n, &before);

        if (from == 0)
            fputc('\n', f);
        for (int i = from; i < leaf; i++) { /* sections that begin here */
            bool any = n.at[i][0] == '*';
            fprintf(f, "%*s%s%.*s:\n", 2 * i, "", has_default(&n, i + 1) ? "" : "# ",
                    any ? (int)strlen("MY-MODEL") : n.len[i], any ? "MY-MODEL" : n.at[i]);
        }
        put_comment(f, margin, k->help);
        put_type(f, margin, k);
        fprintf(f, "%*s%s%.*s: %s\n", margin, "", k->def ? "" : "# ", n.len[leaf], n.at[leaf],
                k->def ? k->def : "...");
        before = n;
    }
}

/* The sections of the programs. All their keys are comments: one that is there counts as given. */
static void put_settings(FILE *f)
{
    char text[2048], key[OPT_KEY_MAX];

    for (size_t i = 0; i < OPT_PROGRAMS; i++) {
        fprintf(f, "\n%s:\n", opt_programs[i].name);
        for (const struct opt *o = opt_programs[i].table; o->name || o->help; o++) {
            if (!opt_is_option(o) || !(o->flags & OPT_CONFIG) || o->key)
                continue;
            put_comment(f, 2, o->help);
            put_comment(f, 2, opt_help_value(o, text, sizeof(text)));
            fprintf(f, "  # %s: %s\n", opt_key(o, key),
                    o->def                ? o->def
                    : o->type == OPT_FLAG ? "false"
                                          : opt_help_arg(o));
        }
    }
}

int print_config(FILE *f, struct err *e)
{
    put_comment(f, 0,
                "A configuration of kvtrace with every default, as kvgen --print-config writes it. "
                "One file serves all four programs (--config); delete what you do not change.");
    put_options(f);
    put_keys(f);
    put_settings(f);
    if (fflush(f) == 0 && !ferror(f))
        return 0;
    return err_errno(e, -errno, ERR_OUTPUT, "", "standard output");
}
