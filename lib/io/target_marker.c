/* Writes and reads the text of a marker. Strict, because a directory with a marker may be emptied:
 * a text that this file did not write is nobody's word for that. */
#include "lib/io/target_marker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void target_marker_format(const struct target_marker *m, char text[TARGET_MARKER_BYTES])
{
    char state[32] = "kept", part[32] = "";
    int len;

    if (!m->kept)
        snprintf(state, sizeof(state), "running %ld", m->pid);
    if (!target_part_same(m->part, TARGET_WHOLE))
        snprintf(part, sizeof(part), "part %u %u\n", m->part.from, m->part.to);
    len = snprintf(text, TARGET_MARKER_BYTES, "%s\n%s\n%s%s%s%sseed %" PRIu64 "\n", state,
                   m->program, m->created ? "created\n" : "", m->keeps ? "keep\n" : "",
                   m->unsure ? "unsure\n" : "", part, m->data_seed);
    memset(text + len, '\n', TARGET_MARKER_BYTES - (size_t)len);
}

/* Digits only. */
static bool is_number(const char *s)
{
    return *s && s[strspn(s, "0123456789")] == '\0' && strlen(s) <= 20;
}

static bool take_state(const char *line, struct target_marker *m)
{
    m->kept = strcmp(line, "kept") == 0;
    if (m->kept)
        return true;
    if (strncmp(line, "running ", 8) != 0 || !is_number(line + 8))
        return false;
    m->pid = strtol(line + 8, NULL, 10);
    return true;
}

static bool take_program(const char *line, struct target_marker *m)
{
    if (!*line || line[strspn(line, "abcdefghijklmnopqrstuvwxyz_-")] ||
        strlen(line) >= sizeof(m->program))
        return false;
    snprintf(m->program, sizeof(m->program), "%s", line);
    return true;
}

/* "FROM TO" */
static bool take_part(const char *line, struct target_marker *m)
{
    char *end, *last;
    unsigned long from, to;

    if (line[strspn(line, "0123456789 ")] || strlen(line) > 11)
        return false;
    from = strtoul(line, &end, 10);
    to = strtoul(end, &last, 10);
    if (*end != ' ' || *last || to > TARGET_SLOTS || from >= to)
        return false;
    m->part = (struct target_part){(uint16_t)from, (uint16_t)to};
    return true;
}

static bool take_fact(const char *line, struct target_marker *m)
{
    if (strcmp(line, "created") == 0)
        m->created = true;
    else if (strcmp(line, "keep") == 0)
        m->keeps = true;
    else if (strcmp(line, "unsure") == 0)
        m->unsure = true;
    else if (strncmp(line, "seed ", 5) == 0 && is_number(line + 5))
        m->data_seed = strtoull(line + 5, NULL, 10);
    else if (strncmp(line, "part ", 5) == 0)
        return take_part(line + 5, m);
    else
        return false;
    return true;
}

int target_marker_parse(const char *text, size_t len, struct target_marker *m)
{
    char copy[TARGET_MARKER_BYTES + 1], *save = NULL;
    unsigned lines = 0;

    *m = (struct target_marker){.part = TARGET_WHOLE};
    if (len == 0 || len > TARGET_MARKER_BYTES || memchr(text, '\0', len) || text[len - 1] != '\n')
        return -EINVAL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        bool taken = lines == 0   ? take_state(line, m)
                     : lines == 1 ? take_program(line, m)
                                  : take_fact(line, m);
        if (!taken)
            return -EINVAL;
        lines++;
    }
    return lines >= 2 ? 0 : -EINVAL;
}
