/* Runs gnuplot: the script is its standard input and the picture its standard output, so that no
 * file's name is ever part of a command. Texts from outside stand in single quotes only. */
#include "kvstat/draw/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kvstat/output.h"
#include "lib/base/clock.h"
#include "lib/base/stop.h"
#include "lib/json/jsonout.h"
#include "lib/text/text.h"

enum {
    LOOK_MS = 100,
    PATIENCE_NS = 2000000000 /* after a signal, for a picture that is being drawn */
};

extern char **environ;

void gnuplot_begin(FILE *out, const struct gnuplot_paper *p)
{
    fprintf(out, "set terminal %s size %u,%u%s noenhanced font 'Sans,%u' background '#ffffff'\n",
            p->svg ? "svg" : "pngcairo", p->width, p->height, p->svg ? " dynamic" : "", p->font);
    fprintf(out, "set key outside top center horizontal samplen 2 font ',%u'\n", p->font - 1);
    fprintf(out, "set encoding utf8\n"
                 "set grid lt 1 lw 1 lc '#d8d8d8'\nset border 3\nset tics nomirror\n"
                 "set xlabel offset 0,0.3\n");
}

/* Characters of a line of the title that the picture has room for. */
#define TITLE_CHARACTERS 138

/* In single quotes gnuplot neither expands nor runs anything. */
static void put_quoted(FILE *out, char *text)
{
    size_t characters = 0;
    jsonout_clean(text); /* an SVG takes valid UTF-8 only */
    err_make_harmless(text);
    fputc('\'', out);
    for (const char *c = text; *c; c++) {
        characters += ((unsigned char)*c & 0xc0) != 0x80;
        if (characters > TITLE_CHARACTERS) {
            fputs("...", out);
            break;
        }
        fprintf(out, "%s%c", *c == '\'' ? "'" : "", *c);
    }
    fputc('\'', out);
}

void gnuplot_layout(FILE *out, unsigned rows, unsigned columns, char (*title)[GNUPLOT_TITLE],
                    size_t lines)
{
    fprintf(out, "set multiplot layout %u,%u title ", rows, columns);
    for (size_t i = 0; i < lines; i++) {
        fputs(i ? ".\"\\n\"." : "", out);
        put_quoted(out, title[i]);
    }
    fputs(" font 'Sans,12'\n", out);
}

const char *gnuplot_name(const char *path)
{
    const char *base = strrchr(path, '/');
    if (strcmp(path, "-") == 0)
        return "standard input";
    return base ? base + 1 : path;
}

bool gnuplot_is_there(void)
{
    const char *path = getenv("PATH");
    char name[4096];

    for (const char *at = path; at;) {
        const char *end = strchrnul(at, ':');
        int len = snprintf(name, sizeof(name), "%.*s/gnuplot", (int)(end - at), at);
        if (len < (int)sizeof(name) && access(name, X_OK) == 0)
            return true;
        at = *end ? end + 1 : NULL;
    }
    return false;
}

int gnuplot_find(struct err *e)
{
    if (gnuplot_is_there())
        return 0;
    return err_set(e, -ENOENT, ERR_OUTPUT, "--plot",
                   "gnuplot is not installed: install the package gnuplot-nox (Debian, Ubuntu: apt "
                   "install gnuplot-nox) or gnuplot (Fedora: dnf install gnuplot; Arch: pacman -S "
                   "gnuplot)");
}

static int spawn_gnuplot(pid_t *pid, int script, int picture, int complaints)
{
    char program[] = "gnuplot", plain[] = "--default-settings";
    char *const argv[] = {program, plain, NULL};
    posix_spawn_file_actions_t actions;
    int rc = posix_spawn_file_actions_init(&actions);
    if (rc != 0)
        return -rc;
    rc = posix_spawn_file_actions_adddup2(&actions, script, STDIN_FILENO);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(&actions, picture, STDOUT_FILENO);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(&actions, complaints, STDERR_FILENO);
    if (rc == 0)
        rc = posix_spawnp(pid, program, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return -rc;
}

/* The picture comes through a pipe, since gnuplot does not check whether its writes succeed, and a
 * pipe cannot be full. */
static int read_picture(int from, FILE *picture)
{
    struct pollfd bytes = {.fd = from, .events = POLLIN};
    int64_t signal_ns = 0;
    char part[65536];
    ssize_t n;

    do {
        if (poll(&bytes, 1, LOOK_MS) <= 0) {
            n = -1;
            errno = EINTR;
        } else {
            n = read(from, part, sizeof(part));
        }
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0 && fwrite(part, 1, (size_t)n, picture) != (size_t)n)
            return -ENOMEM;
        if (stop_signal() && signal_ns == 0)
            signal_ns = clock_now_ns();
        if (stop_abandons() || (signal_ns > 0 && clock_now_ns() - signal_ns > PATIENCE_NS))
            return -EINTR;
    } while (n != 0);
    return 0;
}

static int run_gnuplot(FILE *script, FILE *complaints, FILE *picture, int *status)
{
    int ends[2], rc, ended;
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -errno;
    rc = spawn_gnuplot(&pid, fileno(script), ends[1], fileno(complaints));
    close(ends[1]);
    if (rc == 0) {
        rc = read_picture(ends[0], picture);
        if (rc < 0)
            kill(pid, SIGKILL);
        while ((ended = waitpid(pid, status, 0)) < 0 && errno == EINTR)
            ;
        rc = rc == 0 && ended < 0 ? -errno : rc;
    }
    close(ends[0]);
    return rc;
}

static int run_script(FILE *script, FILE *complaints, FILE *picture, struct err *e)
{
    char words[256];
    int status = 0;
    if (fflush(script) != 0 || ferror(script) || lseek(fileno(script), 0, SEEK_SET) < 0)
        return err_errno(e, errno ? -errno : -EIO, ERR_OUTPUT, "--plot", "script for gnuplot");
    int rc = run_gnuplot(script, complaints, picture, &status);
    if (rc < 0)
        return err_errno(e, rc, ERR_OUTPUT, "--plot",
                         rc == -EINTR ? "gnuplot was interrupted" : "gnuplot cannot be started");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    rewind(complaints);
    words[fread(words, 1, sizeof(words) - 1, complaints)] = '\0';
    for (char *p = words; *p; p++)
        if (*p == '\n' || *p == '\t')
            *p = ' ';
    return err_set(e, -EIO, ERR_OUTPUT, "--plot", "gnuplot failed: %s", words);
}

int gnuplot_draw(FILE *picture, const struct gnuplot_job *job, struct err *e)
{
    FILE *script = tmpfile(), *complaints = tmpfile();
    int rc = 0;
    if (!script || !complaints)
        rc = err_errno(e, -errno, ERR_OUTPUT, "--plot", "no temporary file");
    else if (!job->script(script, job->what, &job->paper))
        rc = err_set(e, -EINVAL, ERR_INPUT, job->source, "holds nothing to draw");
    else
        rc = run_script(script, complaints, picture, e);
    if (complaints)
        fclose(complaints);
    if (script)
        fclose(script);
    return rc;
}

static int draw_job(FILE *picture, const void *job, struct err *e)
{
    return gnuplot_draw(picture, job, e);
}

int gnuplot_save(const char *path, const struct gnuplot_job *job, struct err *e)
{
    struct gnuplot_job to = *job;
    to.paper = (struct gnuplot_paper){
        .svg = text_ends_with(path, ".svg"), .width = 1200, .height = 800, .font = 11};
    return output_write(path, "plot", draw_job, &to, e);
}
