/* Between the bytes of an answer (s3_ask.c) and what is made of it (s3_control.c, s3.c). A server
 * may send anything: each byte is looked at once, and what is not understood is an error, never
 * an empty answer. */
#include "lib/remote/s3_xml.h"

#include <errno.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/text/text.h"

/* ---- the reader ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           memchr("-_.:", c, 4) || (unsigned char)c >= 0x80;
}

void s3_xml_begin(struct s3_xml *x, const char *text, size_t len)
{
    *x = (struct s3_xml){.at = text + text_mark(text, len), .end = text + len};
}

static void skip_space(struct s3_xml *x)
{
    while (x->at < x->end && is_space(*x->at))
        x->at++;
}

static bool begins(const struct s3_xml *x, const char *with)
{
    size_t len = strlen(with);

    return (size_t)(x->end - x->at) >= len && memcmp(x->at, with, len) == 0;
}

/* Moves behind the first "last". */
static int skip_past(struct s3_xml *x, const char *last)
{
    size_t left = (size_t)(x->end - x->at);
    const char *found = memmem(x->at, left, last, strlen(last));

    if (!found)
        return -EBADMSG;
    x->at = found + strlen(last);
    return 0;
}

/* A name at x->at, which moves behind it. Its length; 0: there is none. */
static size_t take_name(struct s3_xml *x, const char **name)
{
    *name = x->at;
    while (x->at < x->end && is_name(*x->at))
        x->at++;
    return (size_t)(x->at - *name);
}

/* Attributes up to the end of a tag, which is not taken. */
static int skip_attributes(struct s3_xml *x)
{
    const char *name;

    for (;;) {
        const char *before = x->at;
        skip_space(x);
        if (x->at == x->end || *x->at == '>' || *x->at == '/')
            return 0;
        if (x->at == before || take_name(x, &name) == 0)
            return -EBADMSG;
        skip_space(x);
        if (x->at == x->end || *x->at++ != '=')
            return -EBADMSG;
        skip_space(x);
        if (x->at == x->end || (*x->at != '"' && *x->at != '\''))
            return -EBADMSG;
        const char *quote = memchr(x->at + 1, *x->at, (size_t)(x->end - x->at - 1));
        if (!quote || memchr(x->at, '<', (size_t)(quote - x->at)))
            return -EBADMSG;
        x->at = quote + 1;
    }
}

static int open_element(struct s3_xml *x)
{
    const char *name;

    x->at++;
    size_t len = take_name(x, &name);
    if (len == 0 || x->depth == S3_XML_DEPTH || (x->depth == 0 && x->rooted) ||
        skip_attributes(x) < 0)
        return -EBADMSG;
    x->empty = begins(x, "/>");
    if (!x->empty && !begins(x, ">"))
        return -EBADMSG;
    x->at += 1 + x->empty;
    x->open[x->depth].name = name;
    x->open[x->depth++].len = len;
    x->rooted = true;
    return S3_XML_OPEN;
}

static int close_element(struct s3_xml *x)
{
    const char *name;

    x->at += 2;
    size_t len = take_name(x, &name);
    skip_space(x);
    if (x->depth == 0 || x->open[x->depth - 1].len != len ||
        memcmp(x->open[x->depth - 1].name, name, len) != 0 || !begins(x, ">"))
        return -EBADMSG;
    x->at++;
    return S3_XML_CLOSE;
}

/* Reads over comments and blanks outside of the root, up to the end of the document. */
static int outside(struct s3_xml *x)
{
    skip_space(x);
    if (x->at == x->end)
        return x->rooted ? S3_XML_DONE : -EBADMSG;
    return *x->at == '<' ? 1 : -EBADMSG;
}

static int take_text(struct s3_xml *x)
{
    const char *stop = memchr(x->at, '<', (size_t)(x->end - x->at));

    if (!stop || memchr(x->at, '\0', (size_t)(stop - x->at)))
        return -EBADMSG;
    x->text = x->at;
    x->text_len = (size_t)(stop - x->at);
    x->at = stop;
    return S3_XML_TEXT;
}

int s3_xml_next(struct s3_xml *x)
{
    if (x->closed)
        x->depth--;
    x->closed = false;
    if (x->empty) {
        x->empty = false;
        x->closed = true;
        return S3_XML_CLOSE;
    }
    for (;;) {
        if (x->depth == 0) {
            int rc = outside(x);
            if (rc <= 0)
                return rc;
        }
        if (x->at == x->end)
            return -EBADMSG;
        if (*x->at != '<')
            return take_text(x);
        int rc;
        if (begins(x, "<!--"))
            rc = skip_past(x, "-->");
        else if (begins(x, "<?"))
            rc = skip_past(x, "?>");
        else if (begins(x, "</"))
            rc = close_element(x);
        else
            rc = open_element(x);
        if (rc != 0) {
            x->closed = rc == S3_XML_CLOSE;
            return rc;
        }
    }
}

/* Is the path of open elements this one ("ListBucketResult/Contents/Key")? */
static bool s3_xml_is(const struct s3_xml *x, const char *path)
{
    for (unsigned i = 0; i < x->depth; i++) {
        size_t len = strcspn(path, "/");
        if (x->open[i].len != len || memcmp(x->open[i].name, path, len) != 0)
            return false;
        path += len;
        if (*path == '/')
            path++;
        else if (i + 1 < x->depth)
            return false;
    }
    return *path == '\0';
}

/* ---- text ---- */

/* Where a text is collected. */
struct collected {
    char *to;
    size_t cap, len;
};

static void put(struct collected *c, char byte)
{
    if (c->len + 1 < c->cap) {
        c->to[c->len] = byte;
        c->to[c->len + 1] = '\0';
    }
    c->len++;
}

/* A character of Unicode as UTF-8. */
static void put_character(struct collected *c, uint32_t code)
{
    if (code < 0x80) {
        put(c, (char)code);
        return;
    }
    unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xC0, 0xE0, 0xF0};
    put(c, (char)(first[more] | code >> (6 * more)));
    while (more-- > 0)
        put(c, (char)(0x80 | (code >> (6 * more) & 0x3F)));
}

/* "#38" or "#x26" in text[0..len). */
static int put_number(struct collected *c, const char *text, size_t len)
{
    uint32_t base = len > 1 && text[1] == 'x' ? 16 : 10, code = 0;
    size_t i = base == 16 ? 2 : 1;

    if (i == len)
        return -EBADMSG;
    for (; i < len; i++) {
        static const char digits[] = "0123456789abcdef";
        char lower = text[i] >= 'A' && text[i] <= 'F' ? (char)(text[i] - 'A' + 'a') : text[i];
        const char *digit = memchr(digits, lower, base);
        if (!digit)
            return -EBADMSG;
        code = code * base + (uint32_t)(digit - digits);
        if (code > 0x10FFFF)
            return -EBADMSG;
    }
    if (code == 0 || (code >= 0xD800 && code <= 0xDFFF))
        return -EBADMSG;
    put_character(c, code);
    return 0;
}

/* Adds the character of an entity, text between "&" and ";". */
static int put_entity(struct collected *c, const char *text, size_t len)
{
    static const struct {
        const char *name;
        char byte;
    } known[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};

    if (len > 0 && text[0] == '#')
        return put_number(c, text, len);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strlen(known[i].name) == len && memcmp(known[i].name, text, len) == 0) {
            put(c, known[i].byte);
            return 0;
        }
    }
    return -EBADMSG;
}

int s3_xml_append(const struct s3_xml *x, char *to, size_t cap, size_t *len)
{
    struct collected c = {.to = to, .cap = cap, .len = *len};

    for (size_t i = 0; i < x->text_len; i++) {
        if (x->text[i] != '&') {
            put(&c, x->text[i]);
            continue;
        }
        const char *from = x->text + i + 1, *semicolon = memchr(from, ';', x->text_len - i - 1);
        if (!semicolon || put_entity(&c, from, (size_t)(semicolon - from)) < 0)
            return -EBADMSG;
        i += (size_t)(semicolon - from) + 1;
    }
    *len = c.len;
    return 0;
}

/* ---- answers ---- */

int s3_xml_find(const char *text, size_t len, const char *path, char *to, size_t cap)
{
    struct s3_xml x;
    size_t root = strcspn(path, "/"), found = 0, chars = 0;
    int event;

    to[0] = '\0';
    s3_xml_begin(&x, text, len);
    while ((event = s3_xml_next(&x)) > 0) {
        if (x.open[0].len != root || memcmp(x.open[0].name, path, root) != 0)
            return -EBADMSG;
        bool here = s3_xml_is(&x, path);
        if (event == S3_XML_OPEN && here && ++found > 1)
            return -EBADMSG;
        if (event == S3_XML_TEXT && here && s3_xml_append(&x, to, cap, &chars) < 0)
            return -EBADMSG;
    }
    if (event < 0)
        return event;
    return found == 0 ? -ENOENT : chars >= cap ? -ENAMETOOLONG : 0;
}

/* One element of a page: its text, as often as it has come. */
struct field {
    const char *path;
    char *to;
    size_t cap, len;
    unsigned times;
};
enum {
    FIELD_KEY,
    FIELD_SIZE,
    FIELD_TRUNCATED,
    FIELD_TOKEN,
    FIELD_COUNT,
    FIELD_ENCODING,
    FIELDS
};

static int take_event(struct field field[FIELDS], const struct s3_xml *x, int event)
{
    for (struct field *f = field; f < field + FIELDS; f++) {
        if (!s3_xml_is(x, f->path))
            continue;
        if (event == S3_XML_OPEN && ++f->times > 1)
            return -EBADMSG;
        if (event == S3_XML_TEXT)
            return s3_xml_append(x, f->to, f->cap, &f->len);
    }
    return 0;
}

static void forget(struct field *f)
{
    f->times = 0;
    f->len = 0;
    f->to[0] = '\0';
}

static bool whole(const struct field *f)
{
    return f->times == 1 && f->len > 0 && f->len < f->cap;
}

/* Reads whether more pages follow, and their token. NULL: all is well; else what is wrong. */
static const char *check_page(struct s3_page *p, struct field field[FIELDS])
{
    const struct field *truncated = &field[FIELD_TRUNCATED], *count = &field[FIELD_COUNT];
    uint64_t stated;

    if (!whole(truncated) ||
        (strcmp(truncated->to, "true") != 0 && strcmp(truncated->to, "false") != 0))
        return "it does not say whether more pages follow (IsTruncated)";
    p->more = truncated->to[0] == 't';
    if (p->more && !whole(&field[FIELD_TOKEN]))
        return "more pages follow, but their token (NextContinuationToken) is missing or too long";
    if (count->times == 1 &&
        (!whole(count) || units_parse_digits(count->to, count->len, &stated) < 0 ||
         stated != p->keys))
        return "its number of keys differs from its KeyCount";
    if (field[FIELD_ENCODING].len > 0)
        return "its keys are encoded (EncodingType), which was not requested";
    return NULL;
}

int s3_page_read(struct s3_page *p, const char *text, size_t len,
                 int (*take)(void *ctx, const char *key, bool longer, uint64_t size), void *ctx)
{
    char key[S3_KEY_CAP] = "", size[24] = "", truncated[8] = "", count[24] = "", encoding[8] = "";
    struct field field[FIELDS] = {
        [FIELD_KEY] = {"ListBucketResult/Contents/Key", key, sizeof(key), 0, 0},
        [FIELD_SIZE] = {"ListBucketResult/Contents/Size", size, sizeof(size), 0, 0},
        [FIELD_TRUNCATED] = {"ListBucketResult/IsTruncated", truncated, sizeof(truncated), 0, 0},
        [FIELD_TOKEN] = {"ListBucketResult/NextContinuationToken", p->token, sizeof(p->token), 0,
                         0},
        [FIELD_COUNT] = {"ListBucketResult/KeyCount", count, sizeof(count), 0, 0},
        [FIELD_ENCODING] = {"ListBucketResult/EncodingType", encoding, sizeof(encoding), 0, 0}};
    struct s3_xml x;
    int event;

    *p = (struct s3_page){.wrong = "it is cut, or is not XML"};
    s3_xml_begin(&x, text, len);
    while ((event = s3_xml_next(&x)) > 0) {
        if (event == S3_XML_OPEN && x.depth == 1 && !s3_xml_is(&x, "ListBucketResult")) {
            p->wrong = "it is not a ListBucketResult: a proxy or another server may have answered";
            return -EBADMSG;
        }
        if (s3_xml_is(&x, "ListBucketResult/CommonPrefixes")) {
            p->wrong = "it has groups of keys (CommonPrefixes), which were not requested";
            return -EBADMSG;
        }
        if (take_event(field, &x, event) < 0) {
            p->wrong = "an element is repeated, or has an invalid entity";
            return -EBADMSG;
        }
        if (event != S3_XML_CLOSE || !s3_xml_is(&x, "ListBucketResult/Contents"))
            continue;
        uint64_t bytes = UINT64_MAX;
        if (field[FIELD_KEY].len == 0 ||
            (field[FIELD_SIZE].times &&
             (!whole(&field[FIELD_SIZE]) || units_parse_digits(size, strlen(size), &bytes) < 0))) {
            p->wrong = "an object has no key, or has an invalid size";
            return -EBADMSG;
        }
        p->keys++;
        int rc = take(ctx, key, field[FIELD_KEY].len >= sizeof(key), bytes);
        if (rc < 0)
            return rc;
        forget(&field[FIELD_KEY]);
        forget(&field[FIELD_SIZE]);
    }
    if (event < 0)
        return event;
    p->wrong = check_page(p, field);
    return p->wrong ? -EBADMSG : 0;
}
