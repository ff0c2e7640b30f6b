/* err.h - what went wrong, where and why: filled by the library, printed once by a program. */
#ifndef KVTRACE_BASE_ERR_H
#define KVTRACE_BASE_ERR_H

/* Decides the exit status of the program that prints the error (err_exit_status). */
enum err_class {
    ERR_INPUT = 0, /* usage or bad input: missing, unreadable, a bad row, cut; status 2 */
    ERR_OUTPUT,    /* output could not be written; status 1 */
    ERR_FAILED,    /* rows failed, out of memory, anything inside; status 1 */
    ERR_TARGET     /* target unusable: in use, too small, refused, full before the start; 3 */
};

/* Owned by the caller; zero it before first use ("struct err e = {0}"). */
struct err {
    int code;             /* negative errno; 0: no error */
    enum err_class class; /* see above */
    char where[320];      /* "FILE:LINE", an option, an object; may be empty */
    char what[640];       /* what is wrong and why, one line, no final full stop */
};

/*
 * Fills *e and returns code (negative errno), so that "return err_set(...)" is one statement.
 * A positive code is negated, 0 becomes -EINVAL. Text too long is cut; control characters
 * (a key from a hostile trace, say) are replaced by '?'. e may be NULL: only code is returned.
 */
int err_set(struct err *e, int code, enum err_class class, const char *where, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* As err_set with class ERR_FAILED, where empty, what "out of memory (WHAT)"; returns -ENOMEM. */
int err_nomem(struct err *e, const char *what);

/* As err_set; appends ": " and the text of the errno that code stands for. */
int err_errno(struct err *e, int code, enum err_class class, const char *where, const char *fmt,
              ...) __attribute__((format(printf, 5, 6)));

/* Replaces control characters of s by '?'. Text may come from a hostile trace: no byte of it may
 * steer the terminal that shows it. */
void err_make_harmless(char *s);

/* The exit status of e->class (enum err_class): 2, 1, 1 or 3. */
int err_exit_status(const struct err *e);

/* Writes "PROGRAM: where: what" (without where if empty), no newline, at most n bytes with the
 * final NUL; returns what snprintf would. */
int err_format(const struct err *e, const char *program, char *buf, unsigned long n);

/* Name of a positive errno ("ENOSPC"), or NULL if unknown; err_errno_value is its inverse (0:
 * unknown name). Only names that Linux I/O can return are known; used in result rows. */
const char *err_errno_name(int errnum);
int err_errno_value(const char *name, unsigned long len);

#endif
