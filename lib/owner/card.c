/* Writes and reads the text of a marker, and says whether the process that it names is there.
 * Strict, because a store with a marker may be emptied: a text that this file did not write is
 * nobody's word for that. Who may take what is owner.c's to decide. */
#include "lib/owner/card.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/units.h"

#define CARD_SLOTS_MAX 4096u
#define SECONDS_MAX    INT64_C(9000000000) /* the year 2255 */
#define LEASE_MAX_S    3600u

static const char letters[] = "abcdefghijklmnopqrstuvwxyz_-";

/* ---- the text ---- */

enum kind {
    KIND_TEXT,
    KIND_I64,
    KIND_U64,
    KIND_U32,
    KIND_HEX,
    KIND_BOOL
};

/* "NAME VALUE" on a line each, in this order. Versions before the lease end with "renewed". */
static const struct field {
    const char *name;
    enum kind kind;
    size_t at, cap;
    const char *of; /* a text's characters; NULL: any */
} fields[] = {
#define FIELD(member) offsetof(struct card, member), sizeof(((struct card *)0)->member)
    {"program", KIND_TEXT, FIELD(program), letters},
    {"pid", KIND_I64, FIELD(pid), NULL},
    {"host", KIND_TEXT, FIELD(host), NULL},
    {"boot", KIND_TEXT, FIELD(boot), "0123456789abcdef-"},
    {"start", KIND_I64, FIELD(start_s), NULL},
    {"seed", KIND_U64, FIELD(data_seed), NULL},
    {"keeps", KIND_BOOL, FIELD(keeps), NULL},
    {"unsure", KIND_BOOL, FIELD(unsure), NULL},
    {"renewed", KIND_I64, FIELD(renewed_s), NULL},
    {"pidns", KIND_U64, FIELD(pid_ns), NULL},
    {"timens", KIND_U64, FIELD(time_ns), NULL},
    {"born", KIND_U64, FIELD(born), NULL},
    {"epoch", KIND_HEX, FIELD(epoch), NULL},
    {"lease", KIND_U32, FIELD(lease_s), NULL},
    {"created", KIND_BOOL, FIELD(created), NULL},
    {"from", KIND_U32, FIELD(part_from), NULL},
    {"to", KIND_U32, FIELD(part_to), NULL},
#undef FIELD
};
enum {
    FIELDS = sizeof(fields) / sizeof(fields[0]),
    FIELDS_EARLY = 9 /* of a version before the lease */
};

static void put_value(const struct field *f, const struct card *c, char *to, size_t cap)
{
    const char *at = (const char *)c + f->at;

    switch (f->kind) {
    case KIND_TEXT:
        snprintf(to, cap, "%s", at);
        break;
    case KIND_I64:
        snprintf(to, cap, "%" PRId64, *(const int64_t *)(const void *)at);
        break;
    case KIND_U64:
        snprintf(to, cap, "%" PRIu64, *(const uint64_t *)(const void *)at);
        break;
    case KIND_U32:
        snprintf(to, cap, "%" PRIu32, *(const uint32_t *)(const void *)at);
        break;
    case KIND_HEX:
        snprintf(to, cap, "%08" PRIx32, *(const uint32_t *)(const void *)at);
        break;
    case KIND_BOOL:
        snprintf(to, cap, "%d", *(const bool *)(const void *)at);
        break;
    }
}

static int take_text(const struct field *f, char *to, const char *value)
{
    size_t len = strlen(value);

    if (len == 0 || len >= f->cap || (f->of && value[strspn(value, f->of)]))
        return -EINVAL;
    memcpy(to, value, len + 1);
    return 0;
}

static int take_hex(uint32_t *to, const char *value)
{
    if (strlen(value) != 8 || value[strspn(value, "0123456789abcdef")])
        return -EINVAL;
    *to = (uint32_t)strtoul(value, NULL, 16);
    return 0;
}

static int take_value(const struct field *f, struct card *c, const char *value)
{
    char *at = (char *)c + f->at;
    uint64_t number = 0;
    int rc;

    switch (f->kind) {
    case KIND_TEXT:
        return take_text(f, at, value);
    case KIND_I64:
        return units_parse_i64(value, (int64_t *)(void *)at);
    case KIND_HEX:
        return take_hex((uint32_t *)(void *)at, value);
    default:
        rc = units_parse_u64(value, &number);
    }
    if (f->kind == KIND_U64)
        *(uint64_t *)(void *)at = number;
    else if (f->kind == KIND_U32 && number <= UINT32_MAX)
        *(uint32_t *)(void *)at = (uint32_t)number;
    else if (f->kind == KIND_BOOL && number <= 1)
        *(bool *)(void *)at = number == 1;
    else
        return -EINVAL;
    return rc;
}

void card_format(const struct card *c, char text[OWNER_BYTES])
{
    char value[CARD_HOST + 8];
    size_t len = (size_t)snprintf(text, OWNER_BYTES, "kvtrace %s 2\n", c->kept ? "kept" : "runs");

    for (size_t i = 0; i < FIELDS; i++) {
        put_value(&fields[i], c, value, sizeof(value));
        len += (size_t)snprintf(text + len, OWNER_BYTES - len, "%s %s\n", fields[i].name, value);
    }
}

static bool sound_part(const struct card *c)
{
    return (c->part_from == 0 && c->part_to == 0) ||
           (c->part_from < c->part_to && c->part_to <= CARD_SLOTS_MAX);
}

/* Sums with these must not overflow, also in ns. */
static bool sound_times(const struct card *c)
{
    return c->start_s >= 0 && c->start_s <= SECONDS_MAX && c->renewed_s >= 0 &&
           c->renewed_s <= SECONDS_MAX && c->lease_s <= LEASE_MAX_S;
}

/* The lines behind "kvtrace STATE", count of them. */
static int take_fields(char *rest, struct card *c, unsigned count)
{
    for (unsigned n = 0; n < count; n++) {
        size_t len = strlen(fields[n].name);
        const char *line = strsep(&rest, "\n");
        if (!line || strncmp(line, fields[n].name, len) != 0 || line[len] != ' ' ||
            take_value(&fields[n], c, line + len + 1) < 0)
            return -EINVAL;
    }
    return !rest && c->lease_s && sound_part(c) && sound_times(c) ? 0 : -EINVAL;
}

/* The first line, and how many others follow. */
static const struct {
    const char *text;
    bool kept;
    unsigned fields;
} heads[] = {{"kvtrace runs 2", false, FIELDS},
             {"kvtrace kept 2", true, FIELDS},
             {"kvtrace runs", false, FIELDS_EARLY},
             {"kvtrace kept", true, FIELDS_EARLY}};

/* ---- what earlier versions wrote into a folder ---- */

static int take_early_state(const char *line, struct card *c)
{
    c->kept = strcmp(line, "kept") == 0;
    if (c->kept)
        return 0;
    if (strncmp(line, "running ", 8) != 0)
        return -EINVAL;
    return units_parse_i64(line + 8, &c->pid) == 0 && c->pid >= 0 ? 0 : -EINVAL;
}

static int take_early_fact(const char *line, struct card *c)
{
    int end = 0;

    if (strcmp(line, "created") == 0)
        c->created = true;
    else if (strcmp(line, "keep") == 0)
        c->keeps = true;
    else if (strcmp(line, "unsure") == 0)
        c->unsure = true;
    else if (strncmp(line, "seed ", 5) == 0)
        return units_parse_u64(line + 5, &c->data_seed);
    else if (sscanf(line, "part %4" SCNu32 " %4" SCNu32 "%n", &c->part_from, &c->part_to, &end) !=
                 2 ||
             line[end] || !sound_part(c))
        return -EINVAL;
    return 0;
}

/* "running PID" or "kept", the program, then facts in any order; newlines fill the file. */
static int take_early_folder(char *text, struct card *c)
{
    unsigned n = 0;

    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        int rc = n == 0   ? take_early_state(line, c)
                 : n == 1 ? take_text(&fields[0], c->program, line)
                          : take_early_fact(line, c);
        if (rc < 0)
            return -EINVAL;
        n++;
    }
    return n >= 2 ? 0 : -EINVAL;
}

void card_take(char text[OWNER_BYTES], const char *from, size_t len)
{
    bool whole = len < OWNER_BYTES && !memchr(from, '\0', len);

    snprintf(text, OWNER_BYTES, "%.*s", whole ? (int)len : 1, whole ? from : "?");
}

int card_parse(const char *text, size_t len, struct card *c)
{
    char copy[OWNER_BYTES + 1];

    *c = (struct card){.lease_s = CARD_LEASE_S};
    if (len == 0 || len > OWNER_BYTES || memchr(text, '\0', len) || text[len - 1] != '\n')
        return -EINVAL;
    while (len > 1 && text[len - 2] == '\n')
        len--;
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (strncmp(copy, "kvtrace ", 8) != 0)
        return take_early_folder(copy, c);
    copy[len - 1] = '\0';
    char *rest = copy, *head = strsep(&rest, "\n");
    for (unsigned i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        if (strcmp(head, heads[i].text) != 0)
            continue;
        c->kept = heads[i].kept;
        int rc = take_fields(rest, c, heads[i].fields);
        return rc < 0 || !c->epoch == (heads[i].fields < FIELDS) ? rc : -EINVAL;
    }
    return -EINVAL;
}

/* ---- the process ---- */

/* The inode of a namespace of this process. */
static uint64_t name_space(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/* State and start of a process (proc(5), /proc/PID/stat, fields 3 and 22), which are those of its
 * first thread: emulators answer for a process itself, but not for its threads, and in other ticks.
 * Its name, field 2, may hold anything. False: not known. */
static bool process_of(int64_t pid, char *state, uint64_t *born)
{
    char path[64], line[1024];
    const char *end;

    snprintf(path, sizeof(path), "/proc/%" PRId64 "/task/%" PRId64 "/stat", pid, pid);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(line, 1, sizeof(line) - 1, f) : 0;
    if (f)
        fclose(f);
    line[n] = '\0';
    end = strrchr(line, ')');
    return end && sscanf(end + 1,
                         " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                         "%*s %" SCNu64,
                         state, born) == 2;
}

/* Another one each time, also on hosts that were copied while they ran. */
static uint32_t draw_epoch(const struct card *c)
{
    uint32_t epoch = 0;

    if (getrandom(&epoch, sizeof(epoch), 0) != sizeof(epoch))
        epoch = (uint32_t)hash_mix((uint64_t)clock_boot_ns() ^ (uint64_t)c->pid << 32);
    return epoch ? epoch : 1;
}

void card_here(struct card *c, const char *program)
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    char state;

    *c = (struct card){.pid = getpid(),
                       .start_s = clock_wall_ns() / UNITS_NS_PER_S,
                       .pid_ns = name_space("/proc/self/ns/pid"),
                       .time_ns = name_space("/proc/self/ns/time"),
                       .lease_s = CARD_LEASE_S};
    snprintf(c->program, sizeof(c->program), "%s", program);
    if (gethostname(c->host, sizeof(c->host) - 1) < 0 || !c->host[0])
        snprintf(c->host, sizeof(c->host), "unknown");
    if (!f || fscanf(f, "%36[0-9a-f-]", c->boot) != 1)
        snprintf(c->boot, sizeof(c->boot), "0");
    if (f)
        fclose(f);
    if (!process_of(c->pid, &state, &c->born))
        c->born = 0;
    c->epoch = draw_epoch(c);
}

bool card_same(const struct card *found, const struct card *mine)
{
    return found->epoch == mine->epoch && found->pid == mine->pid &&
           found->start_s == mine->start_s && strcmp(found->boot, mine->boot) == 0;
}

/* Host names alone are given twice, and so are boots: to machines that were copied while they ran.
 */
bool card_same_clock(const struct card *found, const struct card *me)
{
    return strcmp(found->host, me->host) == 0 && strcmp(found->boot, me->boot) == 0 &&
           strcmp(me->boot, "0") != 0 && found->time_ns == me->time_ns;
}

/* A number of a process means nothing in another namespace, and is given again to a later one. */
enum card_life card_life(const struct card *found, const struct card *me)
{
    char state;
    uint64_t born;

    if (!card_same_clock(found, me) || found->pid_ns == 0 || found->pid_ns != me->pid_ns ||
        found->pid <= 0 || found->born == 0 || me->born == 0)
        return CARD_UNKNOWN;
    if (kill((pid_t)found->pid, 0) < 0 && errno == ESRCH)
        return CARD_DEAD;
    if (!process_of(found->pid, &state, &born))
        return CARD_UNKNOWN;
    return born == found->born && state != 'Z' && state != 'X' ? CARD_LIVES : CARD_DEAD;
}
