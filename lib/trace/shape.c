/* Names files that are given in place of a trace. The readers of traces ask when a header is none,
 * kvgen when it knows no source for an input. */
#include "lib/trace/shape.h"

#include <stdbool.h>
#include <string.h>

#include "lib/text/text.h"

#define MAKES " (kvgen --input makes a trace of it)"

/* A file that begins with these bytes, from an offset. */
static const struct {
    const char *bytes;
    size_t len, at;
    const char *name;
} magics[] = {
    {"version https://git-lfs.github.com/", 35, 0,
     "a pointer of Git LFS, not the file itself (git lfs pull gets it)"},
    {"\xfd"
     "7zXZ",
     5, 0, "compressed by xz (xz -dc FILE | ... - reads it)"},
    {"BZh", 3, 0, "compressed by bzip2 (bzip2 -dc FILE | ... - reads it)"},
    {"\x04\x22\x4d\x18", 4, 0, "compressed by lz4 (lz4 -dc FILE | ... - reads it)"},
    {"PK\x03\x04", 4, 0, "a zip archive (unzip it first)"},
    {"7z\xbc\xaf", 4, 0, "a 7z archive (unpack it first)"},
    {"PAR1", 4, 0, "Parquet, which is not read (convert it to JSON lines)"},
    {"ARROW1", 6, 0, "Arrow, which is not read (convert it to JSON lines)"},
    {"\x89HDF", 4, 0, "HDF5, which is not read"},
    {"SQLite format 3", 15, 0, "a database of SQLite, which is not read"},
    {"\xff\xfe", 2, 0, "text in UTF-16, which is not read (iconv -f UTF-16 -t UTF-8 converts it)"},
    {"\xfe\xff", 2, 0, "text in UTF-16, which is not read (iconv -f UTF-16 -t UTF-8 converts it)"},
    {"<!DOCTYPE", 9, 0, "a page of HTML: a page was saved in place of the file"},
    {"<!doctype", 9, 0, "a page of HTML: a page was saved in place of the file"},
    {"<html", 5, 0, "a page of HTML: a page was saved in place of the file"},
    {"ZMQREC1\n", 8, 0, "a recording of KV events" MAKES},
    {"fio version ", 12, 0, "an iolog of fio" MAKES},
    {"ustar", 5, 257, "a tar archive (kvgen --input reads those of agentic sessions)"},
};

/* A text that has these words: the first two, and the third unless it is NULL. */
static const struct {
    const char *has[3];
    bool json;
    const char *name;
} texts[] = {
    {{"\"by_op_type\"", "\"total"},
     true,
     "the aggregate of warp, which has no operations (warp --full records them)"},
    {{"\"Prompt Length\"", "\"requests\""}, true, "a workload of AIBrix, which is not read"},
    {{"\"custom_id\"", "\"body\""},
     true,
     "requests of a batch interface, which have neither answers nor times and are not read"},
    {{"\"program\"", "\"kvgen\""}, true, "a summary of kvgen, not its trace"},
    {{"\"program\"", "\"kvreplay\""}, true, "a summary of kvreplay, not its result"},
    {{"\"hash_ids\"", "\"chat_id\""}, true, "a Qwen-Bailian trace" MAKES},
    {{"\"input_length\"", "\"timestamp\""}, true, "a Mooncake trace" MAKES},
    {{"\"chunk_hashes\"", "\"seq_len\""}, true, "a lookup log of LMCache" MAKES},
    {{"\"dynamo.request.trace", "\"schema\""}, true, "a request trace of Dynamo" MAKES},
    {{"\"event_id\"", "\"data\""}, true, "KV events" MAKES},
    {{"\"block_size\"", "\"requests\""}, true, "an agentic session" MAKES},
    {{"\"conversations\"", "\"from\""}, true, "conversations" MAKES},
    {{"\"messages\"", "\"role\""}, true, "conversations" MAKES},
    {{"Request tokens", "Timestamp"}, false, "a BurstGPT trace" MAKES},
    {{"ContextTokens", "TIMESTAMP"}, false, "an Azure trace" MAKES},
    {{"op\t", "\tbytes\t", "\tfile"}, false, "an op-log" MAKES},
};

static bool has(const char *text, size_t len, const char *what)
{
    return !what || memmem(text, len, what, strlen(what)) != NULL;
}

const char *shape_name(const char *text, size_t len)
{
    for (size_t i = 0; i < sizeof(magics) / sizeof(*magics); i++)
        if (len >= magics[i].at + magics[i].len &&
            memcmp(text + magics[i].at, magics[i].bytes, magics[i].len) == 0)
            return magics[i].name;
    size_t mark = text_mark(text, len);
    text += mark;
    len -= mark;
    while (len > 0 && (*text == ' ' || *text == '\n' || *text == '\r' || *text == '\t')) {
        text++;
        len--;
    }
    bool json = len > 0 && (*text == '{' || *text == '[');
    const char *end = json ? NULL : memchr(text, '\n', len);
    if (end)
        len = (size_t)(end - text);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (texts[i].json == json && has(text, len, texts[i].has[0]) &&
            has(text, len, texts[i].has[1]) && has(text, len, texts[i].has[2]))
            return texts[i].name;
    return NULL;
}

const char *shape_divider(const char *line, size_t len)
{
    if (memchr(line, ',', len))
        return NULL;
    return memchr(line, '\t', len)  ? "tabs"
           : memchr(line, ';', len) ? "semicolons"
           : memchr(line, '|', len) ? "bars"
           : memchr(line, ' ', len) ? "blanks"
                                    : NULL;
}

const char *shape_begin(const char *text, size_t len, char buf[SHAPE_BEGIN])
{
    size_t n = 0;
    for (; n < len && n < SHAPE_BEGIN - 1 && text[n] != '\n' && text[n] != '\r'; n++)
        buf[n] = text[n] == '\t' ? ' ' : text[n] >= ' ' && text[n] <= '~' ? text[n] : '?';
    buf[n] = '\0';
    return buf;
}
