/* Finds the files that --input names, opens one at a time, and tells their kind by their content,
 * never by their name. The sources read them. */
#include "kvgen/source/inputs.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/memory.h"
#include "lib/log/oplog.h"
#include "lib/text/text.h"
#include "lib/trace/shape.h"

enum {
    SHAPE_WORDS = 160,
    LOOK = 64 << 10 /* bytes in which the kind must show */
};

struct inputs {
    char *given;
    char **path;
    size_t count, next;
    struct frame_in *file;
    bool opened; /* file is path[next] and nobody has read of it */
    bool repeatable;
    char what[SHAPE_WORDS]; /* inputs_recognise found: a name, or the beginning */
    bool named;
    inputs_again again;
    void *ctx;
};

/* ---- names ---- */

static int add_path(struct inputs *in, const char *folder, const char *name)
{
    size_t len = strlen(folder) + strlen(name) + 2;
    if (memory_resize(&in->path, (in->count + 1), sizeof(*in->path)) < 0)
        return -ENOMEM;
    in->path[in->count] = malloc(len);
    if (!in->path[in->count])
        return -ENOMEM;
    snprintf(in->path[in->count], len, "%s%s%s", folder, folder[0] != '\0' ? "/" : "", name);
    in->count++;
    return 0;
}

static bool is_input(const char *name)
{
    static const char *const ends[] = {".csv",     ".json",     ".jsonl",
                                       ".csv.gz",  ".json.gz",  ".jsonl.gz",
                                       ".csv.zst", ".json.zst", ".jsonl.zst"};
    bool is = false;
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
        is |= text_ends_with(name, ends[i]);
    return is && name[0] != '.';
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_folder(struct inputs *in, struct err *e)
{
    DIR *dir = opendir(in->given);
    if (!dir)
        return err_errno(e, -errno, ERR_INPUT, in->given, "cannot be read");
    int rc = 0;
    const struct dirent *entry;
    while (rc == 0 && (entry = readdir(dir))) {
        if (is_input(entry->d_name))
            rc = add_path(in, in->given, entry->d_name);
    }
    closedir(dir);
    if (rc < 0)
        return err_nomem(e, "names of files");
    if (in->count == 0)
        return err_set(e, -ENOENT, ERR_INPUT, in->given,
                       "holds no file named *.csv, *.json, *.jsonl (or with .zst, .gz)");
    qsort(in->path, in->count, sizeof(*in->path), compare_names);
    return 0;
}

static int list_pattern(struct inputs *in, struct err *e)
{
    glob_t found;
    int rc = glob(in->given, 0, NULL, &found);
    if (rc == GLOB_NOSPACE)
        return err_nomem(e, "names of files");
    if (rc != 0)
        return err_set(e, -ENOENT, ERR_INPUT, in->given, "no file matches");
    for (size_t i = 0; rc == 0 && i < found.gl_pathc; i++)
        rc = add_path(in, "", found.gl_pathv[i]);
    globfree(&found);
    return rc < 0 ? err_nomem(e, "names of files") : 0;
}

/* ---- files, one at a time ---- */

static int open_next(struct inputs *in, struct err *e)
{
    frame_in_close(in->file);
    in->file = NULL;
    int rc = frame_in_open(&in->file, in->path[in->next], NULL, e);
    if (rc < 0)
        return rc;
    in->repeatable &= frame_in_can_rewind(in->file) && strcmp(in->path[in->next], "-") != 0;
    in->opened = true;
    return 0;
}

int inputs_open(struct inputs **out, const char *path, struct err *e)
{
    *out = NULL;
    struct inputs *in = calloc(1, sizeof(*in));
    if (!in || !(in->given = strdup(path))) {
        free(in);
        return err_nomem(e, "input");
    }
    in->repeatable = true;
    struct stat st;
    bool there = stat(path, &st) == 0;
    int rc = 0;
    if (there && S_ISDIR(st.st_mode))
        rc = list_folder(in, e);
    else if (!there && strcmp(path, "-") != 0 && strpbrk(path, "*?["))
        rc = list_pattern(in, e);
    else if (add_path(in, "", path) < 0)
        rc = err_nomem(e, "names of files");
    if (rc == 0)
        rc = open_next(in, e);
    if (rc < 0) {
        inputs_close(in);
        return rc;
    }
    *out = in;
    return 0;
}

void inputs_close(struct inputs *in)
{
    if (!in)
        return;
    frame_in_close(in->file);
    for (size_t i = 0; i < in->count; i++)
        free(in->path[i]);
    free(in->path);
    free(in->given);
    free(in);
}

int inputs_append(struct inputs *in, struct inputs *other, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < other->count; i++)
        rc = add_path(in, "", other->path[i]);
    in->repeatable &= other->repeatable;
    inputs_close(other);
    return rc < 0 ? err_nomem(e, "names of files") : 0;
}

void inputs_repeat(struct inputs *in, inputs_again again, void *ctx)
{
    in->again = again;
    in->ctx = ctx;
}

int inputs_next(struct inputs *in, struct frame_in **file, struct err *e)
{
    if (in->next == in->count) {
        int more = in->again ? in->again(in->ctx, in->given, e) : 0;
        if (more <= 0)
            return more;
        in->next = 0;
        in->opened = false;
    }
    int rc = in->opened ? 0 : open_next(in, e);
    if (rc < 0)
        return rc;
    in->opened = false;
    in->next++;
    *file = in->file;
    return 1;
}

void inputs_skip_rest(struct inputs *in)
{
    in->next = in->count;
    in->opened = false;
}

struct frame_in *inputs_take(struct inputs *in)
{
    struct frame_in *file = in->file;
    in->file = NULL;
    in->opened = false;
    return file;
}

size_t inputs_count(const struct inputs *in)
{
    return in->count;
}

bool inputs_repeatable(const struct inputs *in)
{
    return in->repeatable;
}

const char *inputs_file(const struct inputs *in, size_t i)
{
    return in->path[i];
}

const char *inputs_path(const struct inputs *in)
{
    return in->given;
}

/* ---- kinds ---- */

static bool has(const char *text, size_t len, const char *what)
{
    return memmem(text, len, what, strlen(what)) != NULL;
}

/* Length of the white space that text begins with, a byte-order mark included. */
static size_t blank_length(const char *text, size_t len)
{
    size_t n = text_mark(text, len);
    while (n < len && text[n] != '\0' && strchr(" \t\r\n", text[n]))
        n++;
    return n;
}

/* "[pid 12] 1795361844.562686 write(" or "12 1795361844.562686 +++": a line of strace -f -ttt. */
static bool is_strace(const char *p, size_t len)
{
    char line[80];
    unsigned pid, part;
    unsigned long long seconds;
    char sign;
    snprintf(line, sizeof(line), "%.*s", (int)(len < 79 ? len : 79), p);
    return (sscanf(line, "%u %10llu.%6u %c", &pid, &seconds, &part, &sign) == 4 ||
            sscanf(line, "[pid %u] %10llu.%6u %c", &pid, &seconds, &part, &sign) == 4 ||
            sscanf(line, "%10llu.%6u %c", &seconds, &part, &sign) == 3) &&
           seconds > 99999999 && ((sign >= 'a' && sign <= 'z') || strchr("+-<_", sign));
}

/* A JSON object by names and texts in it. The first row that fits counts. */
static enum inputs_kind kind_of_object(const char *text, size_t len)
{
    static const struct {
        enum inputs_kind kind;
        const char *all[2];
    } marks[] = {{INPUTS_SATF, {"\"satf\"", "\"format_version\""}},
                 {INPUTS_AGENTIC_ROWS, {"\"dynamo.agentic_mooncake\""}},
                 {INPUTS_DYNAMO, {"\"dynamo.request.trace.v"}},
                 {INPUTS_AGENTIC, {"\"block_size\"", "\"requests\""}},
                 {INPUTS_SHAREGPT, {"\"input_toks\""}},
                 {INPUTS_SHAREGPT, {"\"conversations\""}},
                 {INPUTS_SHAREGPT, {"\"messages\"", "\"role\""}},
                 {INPUTS_LMCACHE, {"\"chunk_hashes\""}}};
    if (len >= 20 && memcmp(text, "{\"kvtrace\":\"capture\"", 20) == 0)
        return INPUTS_KV_EVENTS;
    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
        if (has(text, len, marks[i].all[0]) &&
            (!marks[i].all[1] || has(text, len, marks[i].all[1])))
            return marks[i].kind;
    bool lengths = (has(text, len, "\"timestamp\"") || has(text, len, "\"created_time\"")) &&
                   (has(text, len, "\"input_length\"") || has(text, len, "\"input_tokens\""));
    if (!has(text, len, "\"hash_ids\"") && !lengths)
        return INPUTS_UNKNOWN;
    if (has(text, len, "\"wait_for\"") || has(text, len, "\"tool_wait_ms\"") ||
        (has(text, len, "\"delay") && has(text, len, "\"session_id\"")))
        return INPUTS_AGENTIC_ROWS;
    return has(text, len, "\"chat_id\"") ? INPUTS_BAILIAN : INPUTS_MOONCAKE;
}

static enum inputs_kind kind_of(const char *text, size_t len)
{
    if (len > 262 && memcmp(text + 257, "ustar", 5) == 0)
        return INPUTS_AGENTIC; /* only sessions are read from archives */
    if (len >= 8 && memcmp(text, "ZMQREC1\n", 8) == 0)
        return INPUTS_KV_EVENTS;
    if (len >= 64 && text[0] == '\0' && has(text + 4, 60, "magic\xc4\x04LMCT"))
        return INPUTS_LCT;
    size_t blank = blank_length(text, len);
    text += blank;
    len -= blank;
    if (len > 0 && (*text == '[' || *text == '{') && has(text, len, "\"event_id\"")) {
        if (has(text, len, "\"worker_id\""))
            return INPUTS_DYNAMO_KV;
        if (has(text, len, "\"data\""))
            return INPUTS_TRTLLM;
    }
    if (len > 5 && memcmp(text, "[pid ", 5) == 0)
        return is_strace(text, len) ? INPUTS_STRACE : INPUTS_UNKNOWN;
    if (len > 0 && *text == '[')
        return has(text, len, "\"dynamo.request.trace.v") ? INPUTS_DYNAMO : INPUTS_SHAREGPT;
    if (len > 0 && *text == '{')
        return kind_of_object(text, len);

    /* Other files are told by their first line. */
    const char *end = memchr(text, '\n', len);
    if (end)
        len = (size_t)(end - text);
    if (len >= 12 && memcmp(text, "fio version ", 12) == 0)
        return INPUTS_FIO;
    if (oplog_is_header(text, len))
        return INPUTS_OPLOG;
    if (is_strace(text, len))
        return INPUTS_STRACE;
    if (has(text, len, "Operation") && has(text, len, "Object_Size_Bytes"))
        return INPUTS_TRACE;
    if (has(text, len, "ContextTokens"))
        return INPUTS_AZURE;
    return has(text, len, "Request tokens") ? INPUTS_BURST : INPUTS_UNKNOWN;
}

int inputs_recognise(struct inputs *in, enum inputs_kind *kind, struct err *e)
{
    *kind = INPUTS_TRACE;
    if (frame_in_whole_rows(in->file))
        return 0; /* only our own traces are marked so; their frames must not be read here */
    char *text = malloc(LOOK);
    if (!text)
        return err_nomem(e, "input");
    /* Reads until the first line is complete (half a line may look like another kind) and tells the
     * kind, and no further: a pipe may give no more for a long time. */
    size_t len = 0;
    int64_t n = 1;
    bool enough = false;
    while (n > 0 && len < LOOK && !enough) {
        n = frame_in_read(in->file, text + len, LOOK - len, e);
        len += n > 0 ? (size_t)n : 0;
        size_t blank = blank_length(text, len);
        enough = memchr(text + blank, '\n', len - blank) &&
                 (text[blank] != '{' || kind_of(text, len) != INPUTS_UNKNOWN);
    }
    int rc = 0;
    if (n < 0 && len == 0) /* otherwise the error comes again, behind the bytes given back */
        rc = (int)n;
    else if (len == 0)
        rc = err_set(e, -EINVAL, ERR_INPUT, frame_in_name(in->file), "holds no request");
    else if (frame_in_unread(in->file, text, len) < 0)
        rc = err_nomem(e, "input");
    *kind = kind_of(text, len);
    char begin[SHAPE_BEGIN];
    const char *shape = shape_name(text, len);
    size_t blank = blank_length(text, len);
    in->named = shape != NULL;
    snprintf(in->what, sizeof(in->what), "%s",
             shape ? shape : shape_begin(text + blank, len - blank, begin));
    free(text);
    return rc;
}

int inputs_unknown(const struct inputs *in, const char *what, const char *known, struct err *e)
{
    if (in->named)
        return err_set(e, -EINVAL, ERR_INPUT, in->given, "not %s, but %s", what, in->what);
    return err_set(e, -EINVAL, ERR_INPUT, in->given, "not %s: it begins with \"%s\" (known: %s)",
                   what, in->what, known);
}
