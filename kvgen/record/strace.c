/* Reads what strace -f -ttt -T prints of an engine that keeps blocks in files. A run of reads, or
 * of writes, of one open file is one operation, at the time of its first call. Files are written
 * under another name and renamed, so a write waits for its last name. Paths become keyed hashes
 * here. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/record/readers.h"
#include "lib/base/keymap.h"
#include "lib/base/memory.h"

#define NONE      UINT32_MAX
#define SECOND_NS ((int64_t)1000000000)
#define RENAME_NS (60 * SECOND_NS) /* within which a file named .tmp gets its name */

enum {
    MAX_LINE = 64 << 10,
    STEP = 256 << 10,
    MAX_CALLS = 4096, /* that began and have not ended: one a thread */
    MAX_TEXT = 9000   /* bytes of such a call: two paths of PATH_MAX */
};

/* A file by its path: its hash for looking up, and the object that it is. */
struct path {
    struct hash128 at, group, hash;
    int64_t rank;
    bool temporary; /* its name ends in .tmp */
    bool left_out;  /* of /proc, /sys or /dev */
};

/* An open file, or a written one that waits for its last name. */
struct file {
    struct path path;
    uint64_t pid, fd;
    int64_t time_ns;  /* of the first call of the run */
    int64_t ended_ns; /* waiting: since then */
    uint64_t bytes;   /* of the run; 0: there is none */
    bool writes, open;
    uint32_t next, before; /* free places; waiting files in the order in which they were closed */
};

struct operation {
    enum event_kind kind;
    int64_t time_ns;
    uint64_t bytes;
    struct path path;
};

/* A call that another thread's line interrupted. */
struct begun {
    uint64_t pid;
    int64_t time_ns;
    size_t len; /* 0: a free place */
    char text[MAX_TEXT];
};

struct strace {
    struct batch_reader base; /* first */
    char *buf;
    size_t at, have;
    uint64_t line;
    bool ended;
    int end; /* why: 0, or -EBADMSG with end_err */
    struct err end_err;
    struct keymap *open;  /* files by thread and descriptor */
    struct keymap *last;  /* by descriptor alone: threads share them */
    struct keymap *named; /* waiting files by path */
    struct file *file;
    uint32_t files, unused;
    size_t cap;
    struct {
        uint32_t oldest, newest;
    } waiting[2]; /* files, and those named .tmp */
    struct begun *begun[MAX_CALLS];
    struct operation *ready; /* to be given */
    size_t given, ready_count, ready_cap;
};

static int bad(const struct strace *s, struct err *e, int code, const char *what)
{
    char where[320];
    snprintf(where, sizeof(where), "%.290s:%llu", frame_in_name(s->base.file),
             (unsigned long long)s->line);
    return err_set(e, code, ERR_INPUT, where, "%s", what);
}

/* ---- paths ---- */

static unsigned digit(char c)
{
    return c >= '0' && c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 32) - 'a' + 10);
}

/* The block that a name says: <hash>, of hex digits; else the hash of the name. */
static struct hash128 block_of(const struct record_opts *o, const char *p, size_t len)
{
    unsigned char bytes[32];
    size_t n = len / 2;
    bool hex = len > 0 && len % 2 == 0 && n <= sizeof(bytes);
    for (size_t i = 0; hex && i < len; i++)
        hex = isxdigit((unsigned char)p[i]) != 0;
    for (size_t i = 0; hex && i < n; i++)
        bytes[i] = (unsigned char)(digit(p[2 * i]) << 4 | digit(p[2 * i + 1]));
    return hex ? names_hash(&o->names, bytes, n) : names_hash(&o->names, p, len);
}

/* LMCache: model@rank@group@hash[@salt].data; vLLM: <hash>.bin. The folder, the model and the group
 * are the group of the object; a salt is dropped. */
static struct path path_of(const struct record_opts *o, const char *p, size_t len)
{
    struct path out = {.at = hash_128(p, len)};
    const char *end = p + len, *name = memrchr(p, '/', len);
    name = name ? name + 1 : p;
    out.left_out = (len > 6 && memcmp(p, "/proc/", 6) == 0) ||
                   (len > 5 && (memcmp(p, "/sys/", 5) == 0 || memcmp(p, "/dev/", 5) == 0));
    out.temporary = end - name > 4 && memcmp(end - 4, ".tmp", 4) == 0;
    const char *mark[4] = {0};
    unsigned marks = 0;
    for (const char *c = name; c < end && marks < 4; c++)
        if (*c == '@')
            mark[marks++] = c;
    if (marks >= 3 && end - name > 5 && memcmp(end - 5, ".data", 5) == 0) {
        const char *until = marks == 4 ? mark[3] : end - 5;
        char rank[32];
        snprintf(rank, sizeof(rank), "%.*s", (int)(mark[1] - mark[0] - 1), mark[0] + 1);
        out.rank = strtoll(rank, NULL, 16);
        out.group = names_hash(&o->names, p, (size_t)(mark[2] - p));
        out.hash = block_of(o, mark[2] + 1, until > mark[2] ? (size_t)(until - mark[2] - 1) : 0);
        return out;
    }
    bool block = end - name > 4 && memcmp(end - 4, ".bin", 4) == 0;
    out.group = names_hash(&o->names, p, (size_t)(name - p));
    out.hash = block_of(o, name, (size_t)(end - name) - (block ? 4 : 0));
    return out;
}

/* ---- operations ---- */

static int give(struct strace *s, enum event_kind kind, const struct file *f)
{
    if (f->path.left_out)
        return 0;
    if (memory_room(&s->ready, &s->ready_cap, s->ready_count, sizeof(*s->ready), 16) < 0)
        return -ENOMEM;
    s->ready[s->ready_count++] =
        (struct operation){.kind = kind, .time_ns = f->time_ns, .bytes = f->bytes, .path = f->path};
    return 0;
}

/* ---- open files, and written ones that wait ---- */

static struct hash128 descriptor(uint64_t pid, uint64_t fd)
{
    return (struct hash128){.lo = hash_mix(fd), .hi = hash_mix(pid)};
}

static uint32_t new_file(struct strace *s)
{
    if (s->unused != NONE) {
        uint32_t at = s->unused;
        s->unused = s->file[at].next;
        return at;
    }
    if (s->files >= NONE || memory_room(&s->file, &s->cap, s->files, sizeof(*s->file), 64) < 0)
        return NONE;
    return s->files++;
}

static void free_file(struct strace *s, uint32_t at)
{
    s->file[at].open = false;
    s->file[at].next = s->unused;
    s->unused = at;
}

/* The open file of a descriptor: the thread's own, or the one opened last by any thread. */
static uint32_t find_open(const struct strace *s, uint64_t pid, uint64_t fd)
{
    const uint64_t *at = keymap_find(s->open, descriptor(pid, fd));
    if (!at)
        at = keymap_find(s->last, descriptor(0, fd));
    return at ? (uint32_t)*at : NONE;
}

/* Takes a waiting file out of the list. It keeps its place in the array. */
static void stop_waiting(struct strace *s, uint32_t at)
{
    const struct file *f = &s->file[at];
    keymap_remove(s->named, f->path.at);
    if (f->before != NONE)
        s->file[f->before].next = f->next;
    else
        s->waiting[f->path.temporary].oldest = f->next;
    if (f->next != NONE)
        s->file[f->next].before = f->before;
    else
        s->waiting[f->path.temporary].newest = f->before;
}

/* A waiting file gets no other name any more. */
static int settle(struct strace *s, uint32_t at)
{
    stop_waiting(s, at);
    s->base.unknown.unnamed += s->file[at].path.temporary;
    int rc = give(s, EVENT_STORED, &s->file[at]);
    free_file(s, at);
    return rc;
}

static int settle_path(struct strace *s, struct hash128 path)
{
    const uint64_t *at = keymap_find(s->named, path);
    return at ? settle(s, (uint32_t)*at) : 0;
}

/* A second after it was closed a file has its last name, unless the name says that it has not. */
static int settle_old(struct strace *s, int64_t now_ns)
{
    int rc = 0;
    for (unsigned k = 0; k < 2; k++)
        while (rc == 0 && s->waiting[k].oldest != NONE &&
               now_ns - s->file[s->waiting[k].oldest].ended_ns >= (k > 0 ? RENAME_NS : SECOND_NS))
            rc = settle(s, s->waiting[k].oldest);
    return rc;
}

/* The run of calls of a file ends. */
static int end_run(struct strace *s, uint32_t at, int64_t now_ns)
{
    struct file *f = &s->file[at];
    int rc = 0;
    if (f->bytes > 0 && !f->writes)
        rc = give(s, EVENT_READ, f);
    else if (f->bytes > 0) {
        rc = settle_path(s, f->path.at);
        uint32_t to = rc == 0 ? new_file(s) : NONE;
        uint64_t *named = to != NONE ? keymap_get(s->named, s->file[at].path.at, to) : NULL;
        if (!named)
            return -ENOMEM;
        f = &s->file[at];
        uint32_t *newest = &s->waiting[f->path.temporary].newest;
        s->file[to] = *f;
        s->file[to].open = false;
        s->file[to].ended_ns = now_ns;
        s->file[to].next = NONE;
        s->file[to].before = *newest;
        if (*newest != NONE)
            s->file[*newest].next = to;
        else
            s->waiting[f->path.temporary].oldest = to;
        *newest = to;
    }
    s->file[at].bytes = 0;
    return rc;
}

/* Ends the runs of the open files of a path; NULL: of all. */
static int end_runs(struct strace *s, const struct hash128 *path, int64_t now_ns)
{
    int rc = 0;
    for (uint32_t i = 0, n = s->files; rc == 0 && i < n; i++)
        if (s->file[i].open && (!path || memcmp(path, &s->file[i].path.at, sizeof(*path)) == 0))
            rc = end_run(s, i, now_ns);
    return rc;
}

static int close_file(struct strace *s, uint64_t pid, uint64_t fd, int64_t now_ns)
{
    uint32_t at = find_open(s, pid, fd);
    if (at == NONE)
        return 0;
    int rc = end_run(s, at, now_ns);
    const uint64_t *last = keymap_find(s->last, descriptor(0, fd));
    keymap_remove(s->open, descriptor(s->file[at].pid, fd));
    if (last && *last == at)
        keymap_remove(s->last, descriptor(0, fd));
    free_file(s, at);
    return rc;
}

static int open_file(struct strace *s, uint64_t pid, uint64_t fd, const struct path *path,
                     int64_t now_ns)
{
    /* A descriptor that comes again was closed by a call that was not recorded. */
    int rc = keymap_find(s->open, descriptor(pid, fd)) ? close_file(s, pid, fd, now_ns) : 0;
    if (rc == 0 && (rc = settle_path(s, path->at)) < 0)
        return rc;
    uint32_t at = rc == 0 ? new_file(s) : NONE;
    if (at == NONE)
        return -ENOMEM;
    s->file[at] = (struct file){.path = *path, .pid = pid, .fd = fd, .open = true};
    uint64_t *own = keymap_get(s->open, descriptor(pid, fd), at);
    uint64_t *last = keymap_get(s->last, descriptor(0, fd), at);
    if (!own || !last)
        return -ENOMEM;
    *own = *last = at;
    return 0;
}

/* ---- calls ---- */

struct call {
    uint64_t pid;
    int64_t time_ns;
    const char *name;
    size_t name_len;
    const char *args; /* behind the bracket */
    int64_t result;
};

static bool is_call(const struct call *c, const char *name)
{
    return strlen(name) == c->name_len && memcmp(c->name, name, c->name_len) == 0;
}

static bool is_any(const struct call *c, const char *const *names)
{
    while (*names && !is_call(c, *names))
        names++;
    return *names != NULL;
}

/* The nth quoted text of the arguments, as it is printed; NULL: there is none. */
static const char *quoted(const char *p, unsigned n, size_t *len)
{
    for (bool inside = false; *p != '\0'; p++) {
        if (*p != '"')
            continue;
        const char *end = p + 1;
        while (*end != '\0' && *end != '"')
            end += *end == '\\' && end[1] != '\0' ? 2 : 1;
        if (*end == '\0')
            return NULL;
        inside = n-- == 0;
        if (inside) {
            *len = (size_t)(end - p - 1);
            return p + 1;
        }
        p = end;
    }
    return NULL;
}

static int transfer(struct strace *s, const struct call *c, bool writes)
{
    char *end;
    uint64_t fd = strtoull(c->args, &end, 10);
    uint32_t at = end > c->args ? find_open(s, c->pid, fd) : NONE;
    int rc = 0;
    if (at == NONE) {
        s->base.unknown.calls++;
        return 0;
    }
    if (s->file[at].writes != writes)
        rc = end_run(s, at, c->time_ns);
    struct file *f = &s->file[at];
    if (f->bytes == 0)
        f->time_ns = c->time_ns;
    f->writes = writes;
    if (c->result > 0 && __builtin_add_overflow(f->bytes, (uint64_t)c->result, &f->bytes))
        f->bytes = UINT64_MAX;
    return rc;
}

static int renamed(struct strace *s, const struct call *c)
{
    size_t from_len, to_len;
    const char *from = quoted(c->args, 0, &from_len), *to = quoted(c->args, 1, &to_len);
    if (!from || !to)
        return 0;
    struct path target = path_of(s->base.o, to, to_len);
    struct hash128 source = hash_128(from, from_len);
    const uint64_t *number = keymap_find(s->named, source);
    if (!number || memcmp(&source, &target.at, sizeof(source)) == 0)
        return 0; /* written long ago, or before the recording began: no operation */
    uint32_t at = (uint32_t)*number;
    struct file f = s->file[at];
    stop_waiting(s, at);
    free_file(s, at);
    f.path = target;
    int rc = settle_path(s, target.at);
    return rc < 0 ? rc : give(s, EVENT_STORED, &f);
}

static int unlinked(struct strace *s, const struct call *c)
{
    size_t len;
    const char *path = quoted(c->args, 0, &len);
    if (!path)
        return 0;
    struct file f = {.path = path_of(s->base.o, path, len), .time_ns = c->time_ns};
    int rc = end_runs(s, &f.path.at, c->time_ns);
    if (rc == 0)
        rc = settle_path(s, f.path.at);
    return rc < 0 ? rc : give(s, EVENT_REMOVED, &f);
}

static int do_call(struct strace *s, const struct call *c)
{
    static const char *const reads[] = {"read", "pread64", "readv", "preadv", "preadv2", NULL};
    static const char *const writes[] = {"write",   "pwrite64", "writev",
                                         "pwritev", "pwritev2", NULL};
    static const char *const opens[] = {"openat", "open", "creat", "openat2", NULL};
    static const char *const renames[] = {"rename", "renameat", "renameat2", NULL};
    static const char *const unlinks[] = {"unlink", "unlinkat", NULL};
    static const char *const silent[] = {"fsync",      "fdatasync", "fstat",
                                         "newfstatat", "stat",      "ftruncate",
                                         "fallocate",  "fadvise64", NULL};
    static const char *const rings[] = {"io_uring_setup", "io_uring_enter", "io_uring_register",
                                        NULL};
    uint64_t fd = strtoull(c->args, NULL, 10);
    if (is_any(c, rings)) {
        s->base.unknown.rings++;
        return 0;
    }
    if (is_any(c, reads) || is_any(c, writes))
        return transfer(s, c, is_any(c, writes));
    if (is_call(c, "close"))
        return close_file(s, c->pid, fd, c->time_ns);
    if (is_call(c, "lseek")) { /* a question where it is does not move it */
        uint32_t at = strstr(c->args, ", 0, SEEK_CUR") ? NONE : find_open(s, c->pid, fd);
        return at == NONE ? 0 : end_run(s, at, c->time_ns);
    }
    if (c->result >= 0 && is_any(c, opens)) {
        size_t len;
        const char *text = quoted(c->args, 0, &len);
        struct path path = {0};
        if (text)
            path = path_of(s->base.o, text, len);
        return text ? open_file(s, c->pid, (uint64_t)c->result, &path, c->time_ns) : 0;
    }
    if (c->result == 0 && is_any(c, renames))
        return renamed(s, c);
    if (c->result == 0 && is_any(c, unlinks))
        return unlinked(s, c);
    if (!is_any(c, opens) && !is_any(c, renames) && !is_any(c, unlinks) && !is_any(c, silent))
        batch_unknown_event(&s->base.unknown, c->name, c->name_len);
    return 0;
}

/* ---- lines ---- */

/* "name(args) = result": splits it in place. False: it is no call. */
static bool split_call(const char *text, struct call *c)
{
    const char *p = text;
    unsigned depth = 0;
    while (isalnum((unsigned char)*p) || *p == '_')
        p++;
    if (p == text || *p != '(')
        return false;
    c->name = text;
    c->name_len = (size_t)(p - text);
    c->args = p + 1;
    for (; *p != '\0'; p++) {
        if (*p == '"') {
            for (p++; *p != '\0' && *p != '"'; p++)
                p += *p == '\\' && p[1] != '\0';
            if (*p == '\0')
                return false;
        } else if (*p == '(') {
            depth++;
        } else if (*p == ')' && --depth == 0) {
            break;
        }
    }
    if (*p == '\0')
        return false;
    p += strspn(p + 1, " ") + 1;
    char *end;
    c->result = -1;
    if (*p != '=')
        return false;
    p += strspn(p + 1, " ") + 1;
    c->result = *p == '?' ? -1 : strtoll(p, &end, 10);
    return *p == '?' || end > p;
}

/* The call that a thread has begun, or with add a free place for one; NULL: there is none. */
static struct begun *find_begun(struct strace *s, uint64_t pid, bool add)
{
    struct begun **free_place = NULL;
    for (unsigned i = 0; i < MAX_CALLS; i++) {
        struct begun *b = s->begun[i];
        if (b && b->len > 0 && b->pid == pid)
            return b;
        if (!free_place && (!b || b->len == 0))
            free_place = &s->begun[i];
        if (!b)
            break; /* places are taken from the first on */
    }
    if (!add || !free_place)
        return NULL;
    if (!*free_place)
        *free_place = calloc(1, sizeof(**free_place));
    return *free_place;
}

/* The text behind pid and time: a whole call, the first part of one, or the rest. */
static int read_text(struct strace *s, char *text, struct call *c, struct err *e)
{
    static const char unfinished[] = "<unfinished ...>";
    size_t len = strlen(text), mark = sizeof(unfinished) - 1;
    struct begun *b;
    if (text[0] == '+' || text[0] == '-')
        return 0; /* a process ended; a signal */
    if (len >= mark && strcmp(text + len - mark, unfinished) == 0) {
        b = find_begun(s, c->pid, true);
        if (!b || len - mark >= MAX_TEXT)
            return b ? bad(s, e, -EINVAL, "a call is too long") : err_nomem(e, "calls");
        b->pid = c->pid;
        b->time_ns = c->time_ns;
        b->len = len - mark;
        memcpy(b->text, text, b->len);
        return 0;
    }
    char whole[MAX_TEXT + MAX_LINE + 1];
    if (text[0] == '<') {
        const char *rest = strstr(text, " resumed>");
        b = find_begun(s, c->pid, false);
        if (!rest)
            return bad(s, e, -EINVAL, "is no line of strace -f -ttt");
        if (!b)
            return 0; /* it began before the recording */
        memcpy(whole, b->text, b->len);
        snprintf(whole + b->len, sizeof(whole) - b->len, "%s", rest + 9);
        b->len = 0;
        c->time_ns = b->time_ns;
        text = whole;
    }
    if (!split_call(text, c))
        return bad(s, e, -EINVAL, "is no line of strace -f -ttt");
    int rc = do_call(s, c);
    return rc == -ENOMEM ? err_nomem(e, "files") : rc;
}

/* "[pid 12] 1795361844.562686 call", "12 1795361844.562686 call", or without a pid. */
static int read_line(struct strace *s, char *p, struct err *e)
{
    struct call c = {0};
    char *end;
    if (strncmp(p, "strace: ", 8) == 0 || *p == '\0')
        return 0;
    if (strncmp(p, "[pid ", 5) == 0) {
        c.pid = strtoull(p + 5, &end, 10);
        if (*end != ']')
            return bad(s, e, -EINVAL, "is no line of strace -f -ttt");
        p = end + 1 + strspn(end + 1, " ");
    }
    uint64_t seconds = strtoull(p, &end, 10);
    if (end > p && *end == ' ' && c.pid == 0) {
        c.pid = seconds;
        p = end + strspn(end, " ");
        seconds = strtoull(p, &end, 10);
    }
    unsigned digits = 0;
    uint64_t part = 0;
    bool time = end > p && *end == '.' && seconds < 4000000000U;
    for (p = end + time; time && isdigit((unsigned char)*p) && digits < 9; p++, digits++)
        part = part * 10 + (uint64_t)(*p - '0');
    if (!time || digits == 0 || *p != ' ')
        return bad(s, e, -EINVAL,
                   "is no line of strace -f -ttt: it has no time in seconds since 1970");
    for (; digits < 9; digits++)
        part *= 10;
    c.time_ns = (int64_t)(seconds * 1000000000 + part);
    int rc = settle_old(s, c.time_ns);
    return rc < 0 ? err_nomem(e, "files") : read_text(s, p + 1, &c, e);
}

/* 1 and a line without its end, lent; 0 at the end; negative errno. */
static int next_line(struct strace *s, char **line, struct err *e)
{
    s->line++;
    for (;;) {
        char *from = s->buf + s->at, *end = memchr(from, '\n', s->have - s->at);
        if (end) {
            s->at = (size_t)(end - s->buf) + 1;
            *end = '\0';
            if (end > from && end[-1] == '\r')
                end[-1] = '\0';
            *line = from;
            return end - from > MAX_LINE ? bad(s, e, -EINVAL, "is too long") : 1;
        }
        if (s->have - s->at > MAX_LINE)
            return bad(s, e, -EINVAL, "is too long");
        memmove(s->buf, from, s->have - s->at);
        s->have -= s->at;
        s->at = 0;
        int64_t n = frame_in_read(s->base.file, s->buf + s->have, STEP - s->have, e);
        if (n < 0)
            return (int)n;
        if (n == 0 && s->have > 0)
            return bad(s, e, -EBADMSG, "cut in the middle of a line; those before it are used");
        if (n == 0)
            return 0;
        s->have += (size_t)n;
    }
}

/* The input ends, and files have the names that they have. */
static int end_all(struct strace *s)
{
    int rc = end_runs(s, NULL, 0);
    return rc == 0 ? settle_old(s, INT64_MAX) : rc;
}

static int next(struct batch_reader *base, struct batch *b, struct err *e)
{
    struct strace *s = (struct strace *)base;
    char *line = NULL;
    int rc = 0;
    if (s->given == s->ready_count)
        s->given = s->ready_count = 0;
    while (s->ready_count == 0 && !s->ended) {
        rc = next_line(s, &line, e);
        if (rc > 0)
            rc = read_line(s, line, e);
        else if (rc == 0 || rc == -EBADMSG) {
            s->ended = true;
            s->end = rc;
            s->end_err = *e;
            rc = end_all(s) < 0 ? err_nomem(e, "files") : 0;
        }
        if (rc < 0)
            return rc;
    }
    if (s->given == s->ready_count) {
        if (s->end < 0)
            *e = s->end_err;
        return s->end;
    }
    const struct operation *op = &s->ready[s->given++];
    batch_clear(b);
    b->time_ns = op->time_ns;
    b->publisher = names_publisher(&s->base.o->names, 0, "strace", 6);
    b->rank = op->path.rank;
    b->by_object = true;
    struct event *v = batch_add(b, op->kind);
    if (!v || batch_add_block(b, op->path.hash) < 0)
        return err_nomem(e, "events");
    v->group = op->path.group;
    v->medium = (uint8_t)media_find(&s->base.o->media, "STORAGE", 7);
    v->bytes = op->bytes;
    v->rewrites = true;
    return 1;
}

static int begin(struct batch_reader *base, struct err *e)
{
    struct strace *s = (struct strace *)base;
    base->unrecorded = BATCH_UNRECORDED_MEMORY;
    base->has_reads = true;
    s->unused = NONE;
    for (unsigned i = 0; i < 2; i++)
        s->waiting[i].oldest = s->waiting[i].newest = NONE;
    s->buf = malloc(STEP);
    s->open = keymap_create();
    s->last = keymap_create();
    s->named = keymap_create();
    return s->buf && s->open && s->last && s->named ? 0 : err_nomem(e, "recording");
}

static void close_strace(struct batch_reader *base)
{
    struct strace *s = (struct strace *)base;
    for (unsigned i = 0; i < MAX_CALLS; i++)
        free(s->begun[i]);
    keymap_free(s->open);
    keymap_free(s->last);
    keymap_free(s->named);
    free(s->file);
    free(s->ready);
    free(s->buf);
}

const struct batch_reader_ops strace_reader = {
    .bytes = sizeof(struct strace), .begin = begin, .next = next, .close = close_strace};
