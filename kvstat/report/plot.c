/* Runs gnuplot on the script of report_plot: the script is its standard input and the picture its
 * standard output, so that no file's name ever stands in the script as a command. */
#include "kvstat/report/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kvstat/output.h"
#include "kvstat/report/report.h"

extern char **environ;

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), tail = strlen(end);
    return len > tail && strcmp(text + len - tail, end) == 0;
}

bool plot_is_drawable(const char *path)
{
    return ends_with(path, ".svg") || ends_with(path, ".png");
}

/* What gnuplot complained of, in one line. */
static void first_words(FILE *complaints, char *buf, size_t n)
{
    rewind(complaints);
    size_t len = fread(buf, 1, n - 1, complaints);
    buf[len] = '\0';
    for (char *p = buf; *p; p++)
        if (*p == '\n' || *p == '\t')
            *p = ' ';
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

/* What gnuplot draws; it does not look whether its writes succeed, and a pipe cannot be full. */
static int read_picture(int from, FILE *picture)
{
    char part[65536];
    ssize_t n;
    while ((n = read(from, part, sizeof(part))) != 0) {
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0 && fwrite(part, 1, (size_t)n, picture) != (size_t)n)
            return -ENOMEM;
    }
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
        while ((ended = waitpid(pid, status, 0)) < 0 && errno == EINTR)
            ;
        rc = rc == 0 && ended < 0 ? -errno : rc;
    }
    close(ends[0]);
    return rc;
}

static int draw(FILE *script, FILE *complaints, FILE *picture, struct err *e)
{
    char words[256];
    int status = 0;
    if (fflush(script) != 0 || ferror(script) || lseek(fileno(script), 0, SEEK_SET) < 0)
        return err_errno(e, errno ? -errno : -EIO, ERR_OUTPUT, "--plot", "script for gnuplot");
    int rc = run_gnuplot(script, complaints, picture, &status);
    if (rc < 0)
        return err_errno(e, rc, ERR_OUTPUT, "--plot", "gnuplot cannot be started");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    first_words(complaints, words, sizeof(words));
    return err_set(e, -EIO, ERR_OUTPUT, "--plot", "gnuplot failed: %s", words);
}

static int save_picture(const char *path, FILE *script, FILE *complaints, struct err *e)
{
    struct output *picture = output_open();
    if (!picture)
        return err_nomem(e, "plot");
    int rc = draw(script, complaints, output_stream(picture), e);
    if (rc == 0)
        rc = output_save(picture, path, e);
    output_free(picture);
    return rc;
}

struct picture {
    const struct figures *figures; /* or: */
    const struct columns *columns;
    enum columns_kind kind;
};

static bool write_script(FILE *script, const struct picture *p, bool svg)
{
    if (p->kind == COLUMNS_CURVE)
        return report_curve_plot(script, p->columns, svg);
    if (p->kind == COLUMNS_ROUNDS)
        return report_rounds_plot(script, p->columns, svg);
    report_plot(script, p->figures, svg);
    return true;
}

static int save(const char *path, const struct picture *p, struct err *e)
{
    FILE *script = tmpfile(), *complaints = tmpfile();
    int rc;
    if (!script || !complaints)
        rc = err_errno(e, -errno, ERR_OUTPUT, "--plot", "no temporary file");
    else if (!write_script(script, p, ends_with(path, ".svg")))
        rc = err_set(e, -EINVAL, ERR_INPUT, columns_file(p->columns), "holds nothing to draw");
    else
        rc = save_picture(path, script, complaints, e);
    if (script)
        fclose(script);
    if (complaints)
        fclose(complaints);
    return rc;
}

int plot_save(const char *path, const struct figures *f, struct err *e)
{
    return save(path, &(struct picture){.figures = f}, e);
}

int plot_save_columns(const char *path, const struct columns *c, enum columns_kind kind,
                      struct err *e)
{
    return save(path, &(struct picture){.columns = c, .kind = kind}, e);
}
