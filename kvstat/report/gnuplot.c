/* The begin of every picture's script, so that all pictures look alike. Texts from outside stand in
 * single quotes only. */
#include "kvstat/report/gnuplot.h"

#include <string.h>

void gnuplot_put_quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++)
        fprintf(out, "%s%c", *text == '\'' ? "'" : "",
                (unsigned char)*text < 32 || *text == 127 ? '?' : *text);
    fputc('\'', out);
}

void gnuplot_begin(FILE *out, bool svg, unsigned rows, unsigned columns, const char *title)
{
    fprintf(out, "set terminal %s size 1200,800 noenhanced font 'Sans,11' background '#ffffff'\n",
            svg ? "svg" : "pngcairo");
    fprintf(out, "set encoding utf8\nset multiplot layout %u,%u title ", rows, columns);
    gnuplot_put_quoted(out, title);
    fprintf(out, " font 'Sans,14'\n"
                 "set grid lt 1 lw 1 lc '#d8d8d8'\nset border 3\nset tics nomirror\n"
                 "set key outside top center horizontal samplen 3\nset xlabel offset 0,0.3\n");
}

const char *gnuplot_name(const char *path)
{
    const char *base = strrchr(path, '/');
    if (strcmp(path, "-") == 0)
        return "standard input";
    return base ? base + 1 : path;
}
