/* No program may destroy what it reads, or what another output holds. Files are told apart by
 * device and inode, those that do not exist yet by their folder and name. */
#include "lib/opt/files.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/save.h"

bool files_is_dash(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

static bool is_output(const struct file_use *f)
{
    return f->path && (f->use == FILES_WRITTEN || f->use == FILES_STREAMED);
}

static const char *name_of(const struct file_use *f)
{
    return !files_is_dash(f->path) ? f->path : is_output(f) ? "standard output" : "standard input";
}

static bool look_at(const struct file_use *f, struct stat *st)
{
    if (files_is_dash(f->path))
        return fstat(is_output(f) ? STDOUT_FILENO : STDIN_FILENO, st) == 0;
    return stat(f->path, st) == 0;
}

static bool is_same(const struct file_use *a, const struct file_use *b)
{
    struct stat st_a, st_b;

    if (!files_is_dash(a->path) && !files_is_dash(b->path))
        return save_is_same(a->path, b->path);
    return look_at(a, &st_a) && look_at(b, &st_b) && S_ISREG(st_a.st_mode) &&
           st_a.st_dev == st_b.st_dev && st_a.st_ino == st_b.st_ino;
}

/* Cuts the last part off path. False: there is no folder left. */
static bool to_folder(char *path)
{
    char *slash = strrchr(path, '/');

    if (!slash || (slash == path && !slash[1]))
        return false;
    slash[slash == path] = '\0';
    return true;
}

/* The absolute name of path's folder; as it was given where it does not exist. */
static bool folder_of(const char *path, char folder[PATH_MAX])
{
    char given[PATH_MAX];

    if (snprintf(given, sizeof(given), "%s%s", strchr(path, '/') ? "" : "./", path) >=
            (int)sizeof(given) ||
        !to_folder(given))
        return false;
    if (!realpath(given, folder))
        strcpy(folder, given);
    return true;
}

static bool lies_within(const char *path, const char *directory)
{
    char folder[PATH_MAX];
    struct stat a, b;
    bool there = stat(directory, &b) == 0;

    if ((there && !S_ISDIR(b.st_mode)) || !folder_of(path, folder))
        return false;
    do {
        if (there ? stat(folder, &a) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino
                  : save_is_same(folder, directory))
            return true;
    } while (to_folder(folder));
    return false;
}

/* Whether kvtrace keeps objects in path's folder, or in the one above, whose folders hold them. */
static bool lies_in_store(const char *path, char folder[PATH_MAX])
{
    char marker[PATH_MAX + sizeof(FILES_STORE_MARKER)];

    if (!folder_of(path, folder))
        return false;
    for (int up = 0; up < 2; up++) {
        snprintf(marker, sizeof(marker), "%s/%s", folder, FILES_STORE_MARKER);
        if (access(marker, F_OK) == 0)
            return true;
        if (!to_folder(folder))
            break;
    }
    return false;
}

/* Two uses, of which the first is an output or the target. */
static int check_pair(const struct file_use *out, const struct file_use *other, struct err *e)
{
    bool target = other->use == FILES_TARGET;

    if (target && is_output(out) && !files_is_dash(out->path) &&
        lies_within(out->path, other->path))
        return err_set(e, -EINVAL, ERR_INPUT, out->path,
                       "lies in the target %s, where only objects may be (%s)", other->path,
                       out->option);
    if (!is_same(out, other))
        return 0;
    if (out->use == FILES_TARGET)
        return err_set(e, -EINVAL, ERR_INPUT, out->path,
                       "is read (%s), and is the target: objects would overwrite it",
                       other->option);
    if (target)
        return err_set(e, -EINVAL, ERR_INPUT, name_of(out),
                       "is the target: objects and %s would overwrite each other", out->option);
    if (is_output(other))
        return err_set(e, -EINVAL, ERR_INPUT, name_of(out), "is named for two outputs (%s, %s)",
                       other->option, out->option);
    return err_set(e, -EINVAL, ERR_INPUT, name_of(out), "is read (%s), and %s would overwrite it",
                   other->option, out->option);
}

static int check_clashes(const struct file_use *f, size_t n, size_t i, struct err *e)
{
    for (size_t k = 0; k < n; k++) {
        bool asked = is_output(&f[i]) ? !is_output(&f[k]) || k < i : f[k].use == FILES_READ;
        int rc = asked && f[k].path && k != i ? check_pair(&f[i], &f[k], e) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* A folder that may not be written to can hold a file that may. */
static int check_place(const struct file_use *f, struct err *e)
{
    char folder[PATH_MAX];
    struct stat st;

    if (files_is_dash(f->path))
        return 0;
    if (lies_in_store(f->path, folder))
        return err_set(e, -EINVAL, ERR_INPUT, f->path,
                       "lies in %s, where kvtrace keeps objects: give %s another place", folder,
                       f->option);
    if (f->use == FILES_STREAMED && stat(f->path, &st) == 0 && S_ISREG(st.st_mode) &&
        access(f->path, W_OK) == 0)
        return 0;
    return save_check(f->path, e);
}

int files_check_terminal(const char *path, struct err *e)
{
    if (!files_is_dash(path) || !isatty(STDIN_FILENO))
        return 0;
    return err_set(e, -EINVAL, ERR_INPUT, "standard input",
                   "is a terminal: name a file, or pipe one in (see --help for examples)");
}

int files_check(const struct file_use *f, size_t n, struct err *e)
{
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++)
        if (f[i].path && f[i].use == FILES_READ)
            rc = files_check_terminal(f[i].path, e);
    for (size_t i = 0; i < n && rc == 0; i++)
        if (f[i].path && f[i].use != FILES_READ)
            rc = check_clashes(f, n, i, e);
    for (size_t i = 0; i < n && rc == 0; i++)
        if (is_output(&f[i]))
            rc = check_place(&f[i], e);
    return rc;
}
