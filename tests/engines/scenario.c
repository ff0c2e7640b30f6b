/* scenario.c - reads what the recordings of all engines have in common. */
#include "tests/engines/scenario.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/memory.h"

enum {
    PATH_BYTES = 4096,
    CONFIG_BYTES = 1 << 20,
    LINE_BYTES = 1 << 26
};

/* FOLDER/file or, where that is not there, FOLDER/file.zst. */
static int path_of(const struct scenario *s, const char *file, char out[PATH_BYTES], struct err *e)
{
    int len = snprintf(out, PATH_BYTES, "%s/%s", s->folder, file);
    if (len < 0 || len + 5 > PATH_BYTES)
        return err_set(e, -ENAMETOOLONG, ERR_INPUT, s->folder, "the path is too long");
    if (access(out, F_OK))
        memcpy(out + len, ".zst", sizeof(".zst"));
    return 0;
}

int scenario_file(const struct scenario *s, const char *file, struct frame_in **out, struct err *e)
{
    char path[PATH_BYTES];
    int rc = path_of(s, file, path, e);
    return rc ? rc : frame_in_open(out, path, NULL, e);
}

int scenario_create(const struct scenario *s, const char *file, FILE **out, struct err *e)
{
    char path[PATH_BYTES];
    const int len = snprintf(path, PATH_BYTES, "%s/%s", s->folder, file);
    if (len < 0 || len >= PATH_BYTES)
        return err_set(e, -ENAMETOOLONG, ERR_INPUT, s->folder, "the path is too long");
    *out = fopen(path, "w");
    return *out ? 0 : err_set(e, -errno, ERR_OUTPUT, path, "cannot be written");
}

/* One row; its ids are appended to s->ids at *used. */
static int read_row(struct scenario *s, struct scenario_row *r, const struct jsonin_v *v,
                    uint64_t *used)
{
    const struct jsonin_v *ids = jsonin_get(v, "hash_ids");
    *r = (struct scenario_row){.max_load_tokens = KV_NO_LIMIT, .max_offload_tokens = KV_NO_LIMIT};
    double time = 0;
    if (jsonin_f64(jsonin_get(v, "timestamp"), &time) ||
        jsonin_u64(jsonin_get(v, "input_length"), &r->input_tokens) ||
        jsonin_u64(jsonin_get(v, "output_length"), &r->output_tokens))
        return -EINVAL;
    r->timestamp = (int64_t)time;
    jsonin_i64(jsonin_get(v, "priority"), &r->priority);
    jsonin_u64(jsonin_get(v, "kv_transfer_params.max_load_tokens"), &r->max_load_tokens);
    jsonin_u64(jsonin_get(v, "kv_transfer_params.max_offload_tokens"), &r->max_offload_tokens);
    r->id_count = jsonin_count(ids);
    if (memory_resize(&s->ids, *used + r->id_count + 1, sizeof(*s->ids)) < 0)
        return -ENOMEM;
    for (uint64_t i = 0; i < r->id_count; i++)
        if (jsonin_u64(jsonin_at(ids, i), &s->ids[*used + i]))
            return -EINVAL;
    *used += r->id_count;
    return 0;
}

static int read_rows(struct scenario *s, struct jsonin_stream *in, struct err *e)
{
    const struct jsonin_v *v;
    uint64_t used = 0;
    int rc;
    while ((rc = jsonin_stream_next(in, &v, e)) == 1) {
        if (memory_resize(&s->row, s->rows + 1, sizeof(*s->row)) < 0)
            return err_nomem(e, "rows");
        rc = read_row(s, &s->row[s->rows++], v, &used);
        if (rc)
            return err_set(e, rc, ERR_INPUT, s->folder, "row %llu of the input is bad",
                           (unsigned long long)s->rows);
    }
    for (uint64_t i = 0, at = 0; i < s->rows; at += s->row[i++].id_count)
        s->row[i].ids = s->ids + at;
    return rc;
}

int scenario_open(struct scenario *s, const char *folder, struct err *e)
{
    *s = (struct scenario){.folder = folder};
    size_t end = strlen(folder), begin;
    while (end > 1 && folder[end - 1] == '/')
        end--;
    for (begin = end; begin > 0 && folder[begin - 1] != '/'; begin--)
        ;
    s->name = folder + begin;
    char path[PATH_BYTES];
    struct frame_in *file = NULL;
    struct jsonin_stream *in = NULL;
    int rc = path_of(s, "config.json", path, e);
    if (!rc)
        rc = jsonin_load(&s->config, path, CONFIG_BYTES, e);
    if (!rc)
        rc = scenario_file(s, "input.jsonl", &file, e);
    if (!rc)
        rc = jsonin_stream_open(&in, file, LINE_BYTES, e);
    if (!rc)
        rc = read_rows(s, in, e);
    jsonin_stream_close(in);
    frame_in_close(file);
    if (rc)
        scenario_close(s);
    return rc;
}

void scenario_close(struct scenario *s)
{
    jsonin_free(s->config);
    free(s->row);
    free(s->ids);
    *s = (struct scenario){0};
}

static const struct jsonin_v *setting(const struct scenario *s, const char *path)
{
    return jsonin_get(jsonin_root(s->config), path);
}

uint64_t scenario_u64(const struct scenario *s, const char *path, uint64_t otherwise)
{
    jsonin_u64(setting(s, path), &otherwise);
    return otherwise;
}

double scenario_f64(const struct scenario *s, const char *path, double otherwise)
{
    jsonin_f64(setting(s, path), &otherwise);
    return otherwise;
}

bool scenario_bool(const struct scenario *s, const char *path, bool otherwise)
{
    jsonin_bool(setting(s, path), &otherwise);
    return otherwise;
}

const char *scenario_text(const struct scenario *s, const char *path, const char *otherwise)
{
    const char *text = jsonin_text(setting(s, path), NULL);
    return text ? text : otherwise;
}

uint64_t scenario_pieces(const struct scenario *s, uint64_t row, uint64_t id_tokens, bool own_tail,
                         struct chain_piece *out)
{
    const struct scenario_row *r = &s->row[row];
    const uint64_t own = (UINT64_C(1) << 63) + 2 * row;
    uint64_t count = 0, left = r->input_tokens;
    for (uint64_t i = 0; i < r->id_count && left; i++) {
        const uint64_t tokens = left < id_tokens ? left : id_tokens;
        const bool owned = own_tail && tokens < id_tokens;
        out[count++] = (struct chain_piece){owned ? own : r->ids[i], tokens};
        left -= tokens;
    }
    if (left)
        out[count++] = (struct chain_piece){own, left};
    if (r->output_tokens)
        out[count++] = (struct chain_piece){own + 1, r->output_tokens};
    return count;
}

void scenario_equal(struct scenario_outcome *o)
{
    o->compared++;
}

void scenario_differs(struct scenario_outcome *o, const char *fmt, ...)
{
    o->compared++;
    if (o->differences++)
        return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(o->first, sizeof(o->first), fmt, args);
    va_end(args);
}
