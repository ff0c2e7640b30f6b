/* json_fields.h - counts the members of recorded JSON that no version known to kvgen has. */
#ifndef KVGEN_RECORD_JSON_FIELDS_H
#define KVGEN_RECORD_JSON_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/json/jsonin.h"

/* A known member. */
struct json_field {
    const char *name;
    enum {
        JSON_FIELD_WALKED, /* what is in it is looked at, too */
        JSON_FIELD_WHOLE,  /* what is in it is not looked at */
        JSON_FIELD_EVENT   /* walked; without a "type" its members are events, which are counted
                              elsewhere, and not fields */
    } how;
};

#define JSON_WALKED(text)                                                                          \
    {                                                                                              \
        (text), JSON_FIELD_WALKED                                                                  \
    }
#define JSON_WHOLE(text)                                                                           \
    {                                                                                              \
        (text), JSON_FIELD_WHOLE                                                                   \
    }

/* All known members: the first, their count, and the distance in bytes from one to the next. They
 * are found fastest if they stand in the order in which they are written. */
struct json_fields {
    const struct json_field *first;
    size_t count, stride;
};

/* The number of members of v, and of what is in it, that are not known. What is in these is not
 * counted. */
uint64_t json_fields_unknown(const struct json_fields *known, const struct jsonin_v *v);

#endif
