/* An error: what went wrong, where and why. The library fills it, a program prints it once. */
#ifndef KVTRACE_BASE_ERR_H
#define KVTRACE_BASE_ERR_H

/* Decides the exit status of the program that prints the error (err_exit_status). */
enum err_class {
    ERR_INPUT = 0, /* usage or bad input: missing, unreadable, a bad row, cut; status 2 */
    ERR_OUTPUT,    /* output could not be written; status 1 */
    ERR_FAILED,    /* rows failed, no memory, anything internal; status 1 */
    ERR_TARGET     /* target unusable: in use, too small, refused, full before the start; 3 */
};

/* Owned by the caller. Zero it before the first use: "struct err e = {0}". */
struct err {
    int code; /* negative errno; 0: no error */
    enum err_class class;
    char where[320]; /* "FILE:LINE", an option, an object; may be empty */
    char what[640];  /* what is wrong and why: one line, no final full stop */
};

/*
 * Fills *e and returns code (a negative errno), so that "return err_set(...)" is one statement.
 * A positive code is negated, 0 becomes -EINVAL. Text that is too long is cut. Control characters
 * become '?', and of "SCHEME://USER:PASSWORD@" what is before the "@" stars. With e NULL only the
 * code is returned.
 */
int err_set(struct err *e, int code, enum err_class class, const char *where, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* Sets "out of memory (WHAT)", class ERR_FAILED, no place. Returns -ENOMEM. */
int err_nomem(struct err *e, const char *what);

/* As err_set, with ": " and the text of the errno of code appended. */
int err_errno(struct err *e, int code, enum err_class class, const char *where, const char *fmt,
              ...) __attribute__((format(printf, 5, 6)));

/* Replaces control characters in s by '?'. Text may come from a hostile trace; no byte of it may
 * steer the terminal that shows it. */
void err_make_harmless(char *s);

/* Returns the exit status of e->class: 2, 1, 1 or 3. */
int err_exit_status(const struct err *e);

/* Writes "PROGRAM: where: what" ("PROGRAM: what" when where is empty) without a newline to buf, at
 * most n bytes with the final NUL. Returns what snprintf would. */
int err_format(const struct err *e, const char *program, char *buf, unsigned long n);

/* Name of a positive errno ("ENOSPC"), NULL if unknown; and the errno of a name, 0 if unknown.
 * Knows the names that Linux I/O can return. Result rows contain them. */
const char *err_errno_name(int errnum);
int err_errno_value(const char *name, unsigned long len);

#endif
