/* How failures travel: every part of the library fills a struct err and returns its code, and a
 * program prints it once at the top. Also holds the names of errno values, which stand in the
 * Status column of result rows. */
#include "lib/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Our own table: Status names must be the same on every host, whatever its C library. */
static const char *const errno_names[] = {[EPERM] = "EPERM",
                                          [ENOENT] = "ENOENT",
                                          [ESRCH] = "ESRCH",
                                          [EINTR] = "EINTR",
                                          [EIO] = "EIO",
                                          [ENXIO] = "ENXIO",
                                          [E2BIG] = "E2BIG",
                                          [ENOEXEC] = "ENOEXEC",
                                          [EBADF] = "EBADF",
                                          [ECHILD] = "ECHILD",
                                          [EAGAIN] = "EAGAIN",
                                          [ENOMEM] = "ENOMEM",
                                          [EACCES] = "EACCES",
                                          [EFAULT] = "EFAULT",
                                          [ENOTBLK] = "ENOTBLK",
                                          [EBUSY] = "EBUSY",
                                          [EEXIST] = "EEXIST",
                                          [EXDEV] = "EXDEV",
                                          [ENODEV] = "ENODEV",
                                          [ENOTDIR] = "ENOTDIR",
                                          [EISDIR] = "EISDIR",
                                          [EINVAL] = "EINVAL",
                                          [ENFILE] = "ENFILE",
                                          [EMFILE] = "EMFILE",
                                          [ENOTTY] = "ENOTTY",
                                          [ETXTBSY] = "ETXTBSY",
                                          [EFBIG] = "EFBIG",
                                          [ENOSPC] = "ENOSPC",
                                          [ESPIPE] = "ESPIPE",
                                          [EROFS] = "EROFS",
                                          [EMLINK] = "EMLINK",
                                          [EPIPE] = "EPIPE",
                                          [EDOM] = "EDOM",
                                          [ERANGE] = "ERANGE",
                                          [EDEADLK] = "EDEADLK",
                                          [ENAMETOOLONG] = "ENAMETOOLONG",
                                          [ENOLCK] = "ENOLCK",
                                          [ENOSYS] = "ENOSYS",
                                          [ENOTEMPTY] = "ENOTEMPTY",
                                          [ELOOP] = "ELOOP",
                                          [ENOMSG] = "ENOMSG",
                                          [EIDRM] = "EIDRM",
                                          [ECHRNG] = "ECHRNG",
                                          [EL2NSYNC] = "EL2NSYNC",
                                          [EL3HLT] = "EL3HLT",
                                          [EL3RST] = "EL3RST",
                                          [ELNRNG] = "ELNRNG",
                                          [EUNATCH] = "EUNATCH",
                                          [ENOCSI] = "ENOCSI",
                                          [EL2HLT] = "EL2HLT",
                                          [EBADE] = "EBADE",
                                          [EBADR] = "EBADR",
                                          [EXFULL] = "EXFULL",
                                          [ENOANO] = "ENOANO",
                                          [EBADRQC] = "EBADRQC",
                                          [EBADSLT] = "EBADSLT",
                                          [EBFONT] = "EBFONT",
                                          [ENOSTR] = "ENOSTR",
                                          [ENODATA] = "ENODATA",
                                          [ETIME] = "ETIME",
                                          [ENOSR] = "ENOSR",
                                          [ENONET] = "ENONET",
                                          [ENOPKG] = "ENOPKG",
                                          [EREMOTE] = "EREMOTE",
                                          [ENOLINK] = "ENOLINK",
                                          [EADV] = "EADV",
                                          [ESRMNT] = "ESRMNT",
                                          [ECOMM] = "ECOMM",
                                          [EPROTO] = "EPROTO",
                                          [EMULTIHOP] = "EMULTIHOP",
                                          [EDOTDOT] = "EDOTDOT",
                                          [EBADMSG] = "EBADMSG",
                                          [EOVERFLOW] = "EOVERFLOW",
                                          [ENOTUNIQ] = "ENOTUNIQ",
                                          [EBADFD] = "EBADFD",
                                          [EREMCHG] = "EREMCHG",
                                          [ELIBACC] = "ELIBACC",
                                          [ELIBBAD] = "ELIBBAD",
                                          [ELIBSCN] = "ELIBSCN",
                                          [ELIBMAX] = "ELIBMAX",
                                          [ELIBEXEC] = "ELIBEXEC",
                                          [EILSEQ] = "EILSEQ",
                                          [ERESTART] = "ERESTART",
                                          [ESTRPIPE] = "ESTRPIPE",
                                          [EUSERS] = "EUSERS",
                                          [ENOTSOCK] = "ENOTSOCK",
                                          [EDESTADDRREQ] = "EDESTADDRREQ",
                                          [EMSGSIZE] = "EMSGSIZE",
                                          [EPROTOTYPE] = "EPROTOTYPE",
                                          [ENOPROTOOPT] = "ENOPROTOOPT",
                                          [EPROTONOSUPPORT] = "EPROTONOSUPPORT",
                                          [ESOCKTNOSUPPORT] = "ESOCKTNOSUPPORT",
                                          [EOPNOTSUPP] = "EOPNOTSUPP",
                                          [EPFNOSUPPORT] = "EPFNOSUPPORT",
                                          [EAFNOSUPPORT] = "EAFNOSUPPORT",
                                          [EADDRINUSE] = "EADDRINUSE",
                                          [EADDRNOTAVAIL] = "EADDRNOTAVAIL",
                                          [ENETDOWN] = "ENETDOWN",
                                          [ENETUNREACH] = "ENETUNREACH",
                                          [ENETRESET] = "ENETRESET",
                                          [ECONNABORTED] = "ECONNABORTED",
                                          [ECONNRESET] = "ECONNRESET",
                                          [ENOBUFS] = "ENOBUFS",
                                          [EISCONN] = "EISCONN",
                                          [ENOTCONN] = "ENOTCONN",
                                          [ESHUTDOWN] = "ESHUTDOWN",
                                          [ETOOMANYREFS] = "ETOOMANYREFS",
                                          [ETIMEDOUT] = "ETIMEDOUT",
                                          [ECONNREFUSED] = "ECONNREFUSED",
                                          [EHOSTDOWN] = "EHOSTDOWN",
                                          [EHOSTUNREACH] = "EHOSTUNREACH",
                                          [EALREADY] = "EALREADY",
                                          [EINPROGRESS] = "EINPROGRESS",
                                          [ESTALE] = "ESTALE",
                                          [EUCLEAN] = "EUCLEAN",
                                          [ENOTNAM] = "ENOTNAM",
                                          [ENAVAIL] = "ENAVAIL",
                                          [EISNAM] = "EISNAM",
                                          [EREMOTEIO] = "EREMOTEIO",
                                          [EDQUOT] = "EDQUOT",
                                          [ENOMEDIUM] = "ENOMEDIUM",
                                          [EMEDIUMTYPE] = "EMEDIUMTYPE",
                                          [ECANCELED] = "ECANCELED",
                                          [ENOKEY] = "ENOKEY",
                                          [EKEYEXPIRED] = "EKEYEXPIRED",
                                          [EKEYREVOKED] = "EKEYREVOKED",
                                          [EKEYREJECTED] = "EKEYREJECTED",
                                          [EOWNERDEAD] = "EOWNERDEAD",
                                          [ENOTRECOVERABLE] = "ENOTRECOVERABLE",
                                          [ERFKILL] = "ERFKILL",
                                          [EHWPOISON] = "EHWPOISON"};

#define ERRNO_NAMES (sizeof(errno_names) / sizeof(errno_names[0]))

/* Returns how many bytes at the end of s[0..len) begin a UTF-8 character without finishing it. */
static size_t cut_tail(const char *s, size_t len)
{
    for (size_t back = 1; back <= 3 && back <= len; back++) {
        unsigned char c = (unsigned char)s[len - back];
        if (c < 0x80)
            return 0;
        if (c >= 0xc0)
            return (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u) > back ? back : 0;
    }
    return 0;
}

/* Control characters are C0, DEL and C1 (U+0080..U+009F, in UTF-8 c2 80..c2 9f). */
void err_make_harmless(char *s)
{
    for (unsigned char *p = (unsigned char *)s; *p; p++) {
        if (*p < 0x20 || *p == 0x7f)
            *p = '?';
        if (*p == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f)
            p[0] = p[1] = '?';
    }
}

/* Puts stars in the place of "USER:PASSWORD" in "SCHEME://USER:PASSWORD@": a name of something else
 * may have been given where no such name belongs. */
static void hide_passwords(char *s)
{
    for (char *at = strstr(s, "://"); at; at = strstr(at + 3, "://")) {
        char *name = at + 3, *end = name + strcspn(name, "/ ?\""), *sign = end;

        while (sign > name && sign[-1] != '@')
            sign--;
        size_t len = sign > name ? (size_t)(sign - name) - 1 : 0;
        bool password = memchr(name, ':', len) != NULL;
        for (size_t i = 0; i + 2 < len; i++)
            password |= strncasecmp(name + i, "%3a", 3) == 0;
        if (password)
            memset(name, '*', len);
    }
}

static void put_text(char *dst, size_t cap, const char *src)
{
    size_t len = strlen(src);

    if (len >= cap) {
        len = cap - 1;
        len -= cut_tail(src, len);
    }
    memcpy(dst, src, len);
    dst[len] = '\0';
    err_make_harmless(dst);
    hide_passwords(dst);
}

static int negative(int code)
{
    return code > 0 ? -code : code == 0 ? -EINVAL : code;
}

/* where and args may point into *e itself: everything is copied before *e changes. The reason why
 * matters more than the end of a long name, so it is never cut. */
__attribute__((format(printf, 5, 0))) static int fill(struct err *e, struct err made,
                                                      const char *where, const char *why,
                                                      const char *fmt, va_list args)
{
    char what[2 * sizeof(made.what)];
    size_t len, room = sizeof(made.what) - 1 - strlen(why);

    if (!e)
        return made.code;
    vsnprintf(what, sizeof(what), fmt, args);
    len = strlen(what);
    if (why[0] && len > room)
        len = room - cut_tail(what, room);
    memcpy(what + len, why, strlen(why) + 1);
    put_text(made.where, sizeof(made.where), where ? where : "");
    put_text(made.what, sizeof(made.what), what);
    *e = made;
    return made.code;
}

int err_set(struct err *e, int code, enum err_class class, const char *where, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    code = fill(e, (struct err){.code = negative(code), .class = class}, where, "", fmt, args);
    va_end(args);
    return code;
}

int err_nomem(struct err *e, const char *what)
{
    return err_set(e, -ENOMEM, ERR_FAILED, "", "out of memory (%s)", what);
}

int err_errno(struct err *e, int code, enum err_class class, const char *where, const char *fmt,
              ...)
{
    const char *description = strerrordesc_np(-negative(code));
    char why[128];
    va_list args;

    snprintf(why, sizeof(why), ": %s", description ? description : "unknown error");
    va_start(args, fmt);
    code = fill(e, (struct err){.code = negative(code), .class = class}, where, why, fmt, args);
    va_end(args);
    return code;
}

int err_exit_status(const struct err *e)
{
    switch (e->class) {
    case ERR_INPUT:
        return 2;
    case ERR_TARGET:
        return 3;
    case ERR_OUTPUT:
    case ERR_FAILED:
        break;
    }
    return 1;
}

int err_format(const struct err *e, const char *program, char *buf, unsigned long n)
{
    return snprintf(buf, n, "%s: %s%s%s", program, e->where, e->where[0] ? ": " : "", e->what);
}

const char *err_errno_name(int errnum)
{
    if (errnum <= 0 || (size_t)errnum >= ERRNO_NAMES)
        return NULL;
    return errno_names[errnum];
}

int err_errno_value(const char *name, unsigned long len)
{
    for (size_t i = 1; i < ERRNO_NAMES; i++) {
        const char *n = errno_names[i];
        if (n && strlen(n) == len && memcmp(n, name, len) == 0)
            return (int)i;
    }
    return 0;
}
