/* Reads files as whole documents of JSON, one in memory at a time. A file that begins with a header
 * of POSIX ustar (IEEE 1003.1; pax and GNU tar write such headers too) is an archive; magic and
 * checksum tell. Any other file is a document. agentic.c and graph.c give documents their meaning.
 */
#include "kvgen/source/documents.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/text/text.h"

enum {
    BLOCK = 512,
    /* Places and lengths of fields in a header. */
    NAME = 100,
    SIZE_AT = 124,
    SUM_AT = 148,
    TYPE_AT = 156,
    MAGIC_AT = 257,
    PREFIX_AT = 345,
    PREFIX = 155,
    MAX_NAME = 8192 /* of a name that has a header of its own */
};

struct documents {
    struct inputs *in;
    struct frame_in *archive; /* being read, or NULL */
    char *text;
    size_t len, cap;
    char name[320];
    char member[MAX_NAME]; /* name of the next member, if a header before its own tells it */
};

struct documents *documents_create(struct inputs *in)
{
    struct documents *d = calloc(1, sizeof(*d));
    if (d)
        d->in = in;
    return d;
}

void documents_free(struct documents *d)
{
    if (d)
        free(d->text);
    free(d);
}

static int too_large(const struct documents *d, struct err *e)
{
    return err_set(e, -EFBIG, ERR_INPUT, d->name, "a document of more than 256 MiB");
}

static int make_room(struct documents *d, size_t len, struct err *e)
{
    if (len > DOCUMENT_MAX)
        return too_large(d, e);
    if (len <= d->cap)
        return 0;
    size_t cap = d->cap * 2 > len ? d->cap * 2 : len;
    if (memory_resize(&d->text, cap, 1) < 0)
        return err_nomem(e, "document");
    d->cap = cap;
    return 0;
}

/* Reads want bytes, or fewer at the end of the file: how many; negative errno. */
static int64_t read_up_to(struct frame_in *file, char *buf, size_t want, struct err *e)
{
    size_t have = 0;
    while (have < want) {
        int64_t n = frame_in_read(file, buf + have, want - have, e);
        if (n < 0)
            return n;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    return (int64_t)have;
}

/* ---- archives ---- */

/* Octal digits that may follow spaces and end at a space or NUL. */
static bool read_octal(const char *p, size_t len, uint64_t *out)
{
    *out = 0;
    while (len > 0 && *p == ' ') {
        p++;
        len--;
    }
    bool any = false;
    for (; len > 0 && *p >= '0' && *p <= '7'; p++, len--) {
        *out = *out * 8 + (uint64_t)(*p - '0');
        any = true;
    }
    return any && (len == 0 || *p == ' ' || *p == '\0');
}

static bool is_header(const char *block)
{
    uint64_t want, sum = 0;
    if (memcmp(block + MAGIC_AT, "ustar", 5) != 0 || !read_octal(block + SUM_AT, 8, &want))
        return false;
    for (int i = 0; i < BLOCK; i++)
        sum += i >= SUM_AT && i < SUM_AT + 8 ? ' ' : (unsigned char)block[i];
    return sum == want;
}

static int damaged(const struct documents *d, struct err *e, const char *what)
{
    return err_set(e, -EBADMSG, ERR_INPUT, frame_in_name(d->archive), "damaged archive: %s", what);
}

static int skip_bytes(struct documents *d, uint64_t len, struct err *e)
{
    char sink[8 * BLOCK];
    while (len > 0) {
        size_t want = len < sizeof(sink) ? (size_t)len : sizeof(sink);
        int64_t n = read_up_to(d->archive, sink, want, e);
        if (n < 0)
            return (int)n;
        if ((size_t)n < want)
            return damaged(d, e, "it ends inside a file");
        len -= want;
    }
    return 0;
}

static uint64_t padding(uint64_t size)
{
    return (BLOCK - size % BLOCK) % BLOCK;
}

/* Sets the name from the records "LENGTH KEYWORD=VALUE\n" of a pax header. */
static void read_pax(struct documents *d, const char *p, size_t len)
{
    while (len > 0) {
        char *value;
        unsigned long long record = strtoull(p, &value, 10);
        if (*value != ' ' || record > len || record < (size_t)(value - p) + 2)
            return;
        const char *end = p + record - 1;
        if ((size_t)(end - value) > 6 && memcmp(value, " path=", 6) == 0)
            snprintf(d->member, sizeof(d->member), "%.*s", (int)(end - value - 6), value + 6);
        p += record;
        len -= record;
    }
}

/* Reads size bytes of the archive to text. */
static int read_exactly(struct documents *d, char *text, uint64_t size, struct err *e)
{
    int64_t n = read_up_to(d->archive, text, (size_t)size, e);
    if (n < 0)
        return (int)n;
    return (uint64_t)n < size ? damaged(d, e, "it ends inside a file") : 0;
}

/* Reads a member that only tells the name of the next one: GNU's type L, or pax's x. */
static int read_name(struct documents *d, char type, uint64_t size, struct err *e)
{
    char text[MAX_NAME];
    if (size >= sizeof(text))
        return damaged(d, e, "a name of more than 8 KiB");
    int rc = read_exactly(d, text, size, e);
    if (rc < 0)
        return rc;
    text[size] = '\0';
    if (type == 'L')
        snprintf(d->member, sizeof(d->member), "%s", text);
    else
        read_pax(d, text, (size_t)size);
    return skip_bytes(d, padding(size), e);
}

static int read_member(struct documents *d, uint64_t size, struct err *e)
{
    snprintf(d->name, sizeof(d->name), "%.150s(%.150s)", frame_in_name(d->archive), d->member);
    d->member[0] = '\0';
    if (size > DOCUMENT_MAX)
        return too_large(d, e);
    d->len = (size_t)size;
    int rc = make_room(d, d->len, e);
    if (rc == 0)
        rc = read_exactly(d, d->text, size, e);
    return rc == 0 ? skip_bytes(d, padding(size), e) : rc;
}

/* The next document of the archive: 1; 0 when none is left, which a block of zeros or the end of
 * the file says; negative errno. */
static int next_member(struct documents *d, struct err *e)
{
    char header[BLOCK];
    uint64_t size;
    for (;;) {
        int64_t n = read_up_to(d->archive, header, BLOCK, e);
        if (n < 0)
            return (int)n;
        if (n == 0 || (n == BLOCK && header[0] == '\0'))
            return 0;
        if (n < BLOCK || !is_header(header) || !read_octal(header + SIZE_AT, 12, &size) ||
            size > (uint64_t)INT64_MAX / 2)
            return damaged(d, e, "no header where one should be");
        char type = header[TYPE_AT];
        if (type == 'L' || type == 'x') {
            int rc = read_name(d, type, size, e);
            if (rc < 0)
                return rc;
            continue;
        }
        if (d->member[0] == '\0') { /* no header before told the name */
            /* GNU's magic is "ustar " and its prefix is something else. */
            int prefix =
                header[MAGIC_AT + 5] == '\0' ? (int)strnlen(header + PREFIX_AT, PREFIX) : 0;
            snprintf(d->member, sizeof(d->member), "%.*s%s%.*s", prefix, header + PREFIX_AT,
                     prefix > 0 ? "/" : "", (int)strnlen(header, NAME), header);
        }
        size_t len = strlen(d->member);
        if ((type == '0' || type == '\0') && len > 5 &&
            memcmp(d->member + len - 5, ".json", 5) == 0) {
            int rc = read_member(d, size, e);
            return rc < 0 ? rc : 1;
        }
        d->member[0] = '\0';
        int rc = skip_bytes(d, size + padding(size), e);
        if (rc < 0)
            return rc;
    }
}

/* ---- files ---- */

/* Opens the next file: 1, a document, or an archive (d->archive is set then); 0 after the last;
 * negative errno. */
static int next_file(struct documents *d, struct err *e)
{
    struct frame_in *file;
    int rc = inputs_next(d->in, &file, e);
    if (rc <= 0)
        return rc;
    snprintf(d->name, sizeof(d->name), "%s", frame_in_name(file));
    rc = make_room(d, BLOCK, e);
    if (rc < 0)
        return rc;
    int64_t n = read_up_to(file, d->text, BLOCK, e);
    if (n == BLOCK && is_header(d->text)) {
        if (frame_in_unread(file, d->text, BLOCK) < 0)
            return err_nomem(e, "archive");
        d->archive = file;
        return 1;
    }
    for (d->len = 0; n > 0; n = frame_in_read(file, d->text + d->len, d->cap - d->len, e)) {
        d->len += (size_t)n;
        rc = make_room(d, d->len + ((size_t)1 << 16), e);
        if (rc < 0)
            return rc;
    }
    return n < 0 ? (int)n : 1;
}

int documents_next(struct documents *d, const struct jsonin_limit *limit, struct jsonin **out,
                   const char **name, struct err *e)
{
    for (;;) {
        if (!d->archive) {
            int rc = next_file(d, e);
            if (rc <= 0)
                return rc;
            if (!d->archive)
                break;
        }
        int rc = next_member(d, e);
        if (rc < 0)
            return rc;
        if (rc > 0)
            break;
        d->archive = NULL;
    }
    size_t mark = text_mark(d->text, d->len);
    *name = d->name;
    int rc = jsonin_parse_within(out, d->text + mark, d->len - mark, limit, d->name, e);
    return rc < 0 ? rc : 1;
}
