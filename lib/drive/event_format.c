/* The first step from the kernel's events to times: where each field lies. ring_page.c finds the
 * events, block_events.c knows which are wanted. */
#include "lib/drive/event_format.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    FORMAT_PLACE_MAX = 65536
};

int event_format_id(const char *text, uint16_t *id)
{
    const char *at = strstr(text, "\nID:");
    char *end;

    if (!at)
        return -EINVAL;
    at += strlen("\nID:");
    at += strspn(at, " ");
    if (!isdigit((unsigned char)*at))
        return -EINVAL;
    unsigned long value = strtoul(at, &end, 10);
    if (*end != '\n' || value > UINT16_MAX)
        return -EINVAL;
    *id = (uint16_t)value;
    return 0;
}

/* Is name what "unsigned int name[4]" declares? */
static bool declares(const char *text, size_t len, const char *name)
{
    size_t n = strlen(name);

    if (len > 0 && text[len - 1] == ']') {
        while (len > 0 && text[len - 1] != '[')
            len--;
        len -= len > 0;
    }
    return len > n && memcmp(text + len - n, name, n) == 0 &&
           (text[len - n - 1] == ' ' || text[len - n - 1] == '*');
}

/* The number behind "key" in a line that ends before end. */
static int number_behind(const char *line, const char *end, const char *key, uint32_t *value)
{
    size_t n = strlen(key);

    for (const char *at = line; at + n < end; at++) {
        if (memcmp(at, key, n) != 0)
            continue;
        at += n;
        if (!isdigit((unsigned char)*at))
            return -EINVAL;
        uint32_t v = 0;
        for (; at < end && isdigit((unsigned char)*at); at++) {
            v = v * 10 + (uint32_t)(*at - '0');
            if (v > FORMAT_PLACE_MAX)
                return -EINVAL;
        }
        *value = v;
        return 0;
    }
    return -EINVAL;
}

int event_format_field(const char *text, const char *name, struct event_field *f)
{
    for (const char *line = text; *line;) {
        const char *end = strchrnul(line, '\n'), *field = line + strspn(line, " \t");
        const char *semicolon = memchr(field, ';', (size_t)(end - field));
        uint32_t is_signed = 0;

        if (semicolon && strncmp(field, "field:", strlen("field:")) == 0 &&
            declares(field, (size_t)(semicolon - field), name)) {
            if (number_behind(semicolon, end, "offset:", &f->offset) < 0 ||
                number_behind(semicolon, end, "size:", &f->size) < 0 ||
                number_behind(semicolon, end, "signed:", &is_signed) < 0)
                return -EINVAL;
            f->is_signed = is_signed != 0;
            return 0;
        }
        line = *end ? end + 1 : end;
    }
    return -ENOENT;
}

int event_field_get(const struct event_field *f, const void *event, size_t len, uint64_t *value)
{
    const unsigned char *at = event;
    uint8_t v8;
    uint16_t v16;
    uint32_t v32;

    if (f->offset > len || f->size > len - f->offset)
        return -EINVAL;
    at += f->offset;
    switch (f->size) {
    case 1:
        memcpy(&v8, at, 1);
        *value = f->is_signed ? (uint64_t)(int8_t)v8 : v8;
        return 0;
    case 2:
        memcpy(&v16, at, 2);
        *value = f->is_signed ? (uint64_t)(int16_t)v16 : v16;
        return 0;
    case 4:
        memcpy(&v32, at, 4);
        *value = f->is_signed ? (uint64_t)(int32_t)v32 : v32;
        return 0;
    case 8:
        memcpy(value, at, 8);
        return 0;
    default:
        return -EINVAL;
    }
}
