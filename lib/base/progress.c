/* Shows how far a long run is: decides when a line is due, draws the bar and rewrites a terminal's
 * line. The programs make the text. */
#include "lib/base/progress.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"

#define MAX_LINE 512

struct progress {
    FILE *out;
    const char *program;
    enum progress_mode mode;
    bool rewrite; /* text on a terminal: one line, rewritten */
    int64_t next_ns;
    size_t shown; /* columns of the terminal's line in use */
};

struct progress *progress_open(FILE *out, const char *program, enum progress_mode mode,
                               int64_t first_ns)
{
    struct progress *p = malloc(sizeof(*p));
    bool terminal = isatty(fileno(out)) == 1;

    if (!p)
        return NULL;
    if (mode == PROGRESS_AUTO)
        mode = terminal ? PROGRESS_TEXT : PROGRESS_NONE;
    *p = (struct progress){.out = out,
                           .program = program,
                           .mode = mode,
                           .rewrite = terminal && mode == PROGRESS_TEXT,
                           .next_ns = clock_now_ns() + first_ns};
    return p;
}

bool progress_due(struct progress *p)
{
    if (!p || p->mode == PROGRESS_NONE)
        return false;
    int64_t now = clock_now_ns();
    if (now < p->next_ns)
        return false;
    p->next_ns = now + UNITS_NS_PER_S;
    return true;
}

/* One write, so that lines of several programs in a pipeline do not mix. */
static void put(struct progress *p, const char *text, size_t len)
{
    fwrite(text, 1, len, p->out);
    fflush(p->out);
}

/* Overwrites the end of a longer line with spaces: an escape sequence may be unknown to the
 * terminal. */
static void rewrite(struct progress *p, const char *line, size_t len)
{
    char buf[2 * MAX_LINE + 2];
    size_t blank = p->shown > len ? p->shown - len : 0, n = 0;

    buf[n++] = '\r';
    memcpy(buf + n, line, len);
    n += len;
    memset(buf + n, ' ', blank);
    n += blank;
    if (len == 0)
        buf[n++] = '\r';
    put(p, buf, n);
    p->shown = len;
}

/* The columns of the terminal that a line may use. */
static size_t columns_of(const struct progress *p)
{
    struct winsize ws;

    return ioctl(fileno(p->out), TIOCGWINSZ, &ws) == 0 && ws.ws_col > 1 ? (size_t)ws.ws_col - 1
                                                                        : 79;
}

void progress_show_bar(struct progress *p, const struct progress_bar *b, const char *text,
                       const char *json)
{
    enum {
        FEWEST = 5, /* cells of a bar */
        MOST = 20
    };
    char line[MAX_LINE], bar[MOST + 1];
    const char *brief = b->brief;

    if (!p->rewrite) {
        progress_show(p, text, json);
        return;
    }
    size_t width = columns_of(p), rest = strlen(p->program) + strlen(" [] ");
    if (b->briefer && rest + FEWEST + strlen(brief) > width)
        brief = b->briefer;
    rest += strlen(brief);
    size_t cells = width > rest ? width - rest : 0;
    cells = cells > MOST ? MOST : cells;
    if (b->share >= 0 && b->share <= 1 && cells >= FEWEST) {
        memset(bar, '-', cells);
        memset(bar, '#', (size_t)(b->share * (double)cells));
        bar[cells] = '\0';
        snprintf(line, sizeof(line), "%.20s [%s] %.440s", p->program, bar, brief);
    } else {
        snprintf(line, sizeof(line), "%.20s: %.440s", p->program, brief);
    }
    size_t n = strlen(line);
    rewrite(p, line, n < width ? n : width);
}

void progress_show(struct progress *p, const char *text, const char *json)
{
    char line[MAX_LINE];
    int len;

    if (p->mode == PROGRESS_NONE)
        return;
    if (p->mode == PROGRESS_JSON) {
        fprintf(p->out, "%s\n", json);
        fflush(p->out);
        return;
    }
    len = snprintf(line, sizeof(line) - 1, "%s: %s", p->program, text);
    size_t n = len < 0 ? 0 : (size_t)len < sizeof(line) - 1 ? (size_t)len : sizeof(line) - 2;
    if (p->rewrite) {
        /* A line that wraps cannot be rewritten: cut it at the width of the terminal. */
        size_t width = columns_of(p);
        rewrite(p, line, n < width ? n : width);
        return;
    }
    line[n] = '\n';
    put(p, line, n + 1);
}

void progress_clear(struct progress *p)
{
    if (p->shown)
        rewrite(p, "", 0);
}

void progress_close(struct progress *p)
{
    if (!p)
        return;
    progress_clear(p);
    free(p);
}

char *progress_count(char *buf, uint64_t count)
{
    static const char letters[] = "kMGTPE";
    double v = (double)count;
    int i = -1;

    for (; v >= 999.5 && i < 5; i++)
        v /= 1000;
    if (i < 0)
        snprintf(buf, 16, "%.0f", v);
    else
        snprintf(buf, 16, "%.*f%c", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, letters[i]);
    return buf;
}

char *progress_time_left(char *buf, double done_share, int64_t elapsed_ns)
{
    buf[0] = '\0';
    if (!(done_share > 0 && done_share <= 1) || elapsed_ns < 0)
        return buf;
    double left = (double)elapsed_ns / 1e9 * (1 - done_share) / done_share + 0.5;
    if (left >= 3600.0 * 10000) /* over a year: a guess, not an estimate */
        return buf;
    unsigned s = (unsigned)left;
    if (s < 3600)
        snprintf(buf, 16, "%u:%02u", s / 60, s % 60);
    else
        snprintf(buf, 16, "%u:%02u:%02u", s / 3600, s / 60 % 60, s % 60);
    return buf;
}
