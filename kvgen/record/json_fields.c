/* Formats drift: what the readers of recorded JSON do not know they leave out, and count here. */
#include "kvgen/record/json_fields.h"

#include <stdbool.h>
#include <string.h>

static const struct json_field *field(const struct json_fields *known, size_t at)
{
    return (const void *)((const char *)known->first + at * known->stride);
}

/* The place of a name, or known->count. The search begins behind the place found last. */
static size_t find(const struct json_fields *known, size_t from, const char *name)
{
    for (size_t i = 0; i < known->count; i++) {
        size_t at = from + i < known->count ? from + i : from + i - known->count;
        if (strcmp(field(known, at)->name, name) == 0)
            return at;
    }
    return known->count;
}

/* Recursion is as deep as the JSON, whose depth is bounded. *place: of the name found last. */
static uint64_t count(const struct json_fields *known, const struct jsonin_v *v, bool events,
                      size_t *place)
{
    uint64_t unknown = 0;
    const char *name;
    for (size_t i = 0, n = jsonin_is_array(v) ? jsonin_count(v) : 0; i < n; i++)
        unknown += count(known, jsonin_at(v, i), false, place);
    for (size_t i = 0, n = jsonin_members(v); i < n; i++) {
        const struct jsonin_v *inner = jsonin_member(v, i, &name);
        size_t at = find(known, *place, name);
        if (at == known->count) {
            unknown += !events;
            continue;
        }
        *place = at + 1;
        const struct json_field *f = field(known, at);
        bool of_events = f->how == JSON_FIELD_EVENT && !jsonin_get(inner, "type");
        if (f->how != JSON_FIELD_WHOLE)
            unknown += count(known, inner, of_events, place);
    }
    return unknown;
}

uint64_t json_fields_unknown(const struct json_fields *known, const struct jsonin_v *v)
{
    size_t place = 0;
    return count(known, v, false, &place);
}
