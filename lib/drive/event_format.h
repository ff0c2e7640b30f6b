/* Reads what tracefs tells of an event or of a page of its ring buffers: files named format and
 * header_page, which give each field's place. Source: Documentation/trace/events.rst, "Event
 * Formats". */
#ifndef KVTRACE_DRIVE_EVENT_FORMAT_H
#define KVTRACE_DRIVE_EVENT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_field {
    uint32_t offset, size; /* in bytes */
    bool is_signed;
};

/* The number of an event, which is its common_type. text: NUL-terminated. 0; -EINVAL: it has none.
 */
int event_format_id(const char *text, uint16_t *id);
/* A field by its name; of several, the first. 0; -ENOENT: there is none; -EINVAL: what is said of
 * it is no place within 64 KiB. */
int event_format_field(const char *text, const char *name, struct event_field *f);
/* The whole number that the field has in an event of len bytes; of signed ones the bits of the
 * 64-bit number. 0; -EINVAL: the field is not 1, 2, 4 or 8 bytes long, or not within len. */
int event_field_get(const struct event_field *f, const void *event, size_t len, uint64_t *value);

#endif
