/* Reads the graphs of recorded agents into steps, which steps.c plays. Only lengths, times and
 * block ids are kept. */
#include "kvgen/record/graph.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/meaning/block_size.h"
#include "kvgen/meaning/pick.h"
#include "kvgen/record/batch.h"
#include "kvgen/record/json_fields.h"
#include "kvgen/source/documents.h"
#include "kvgen/source/steps.h"
#include "lib/base/keymap.h"
#include "lib/base/memory.h"
#include "lib/json/jsonin.h"

enum {
    USUAL_BLOCK = 512, /* tokens of a block, if the file does not say and its rows fit */
    BLOCK_BYTES = 96   /* of memory for the number of a block */
};

/* An edge between two steps by their names. Each step may come later in the file. */
struct link {
    struct hash128 from, to;
    struct step_edge edge;
};

/* A session, for --config sample. Sessions whose steps wait for each other are joined. */
struct session {
    uint64_t least; /* the least hash of a name of its steps */
    uint32_t with;  /* the session that it is joined with; itself: none, or it is the first */
    bool kept;
};

struct graph {
    struct file_source files; /* first */
    struct source_graph_opts o;
    struct steps_player player; /* all steps run together */
    struct steps *steps;
    struct link *link; /* of the file being read */
    size_t links, links_cap;
    struct session *session;
    size_t sessions, sessions_cap, played; /* played: those that are kept */
    struct keymap *names, *session_names;  /* steps by their name; sessions */
    struct keymap *blocks; /* numbers in place of recorded ids, which may be hashes */
    uint32_t scope;
    uint64_t issued;
    const char *where; /* of the element being read */
    struct err *err;
    struct batch_unknown unknown;
    struct stamps stamps;       /* of rows of version 1 */
    struct block_reading first; /* of the first file; tokens 0: there is none */
    char others[200];           /* what else fits its rows */
    bool rows_1, sizes_differ;  /* rows of version 1; files with blocks of different sizes */
    bool derived;               /* the rows of the first file decided the size of their blocks */
    uint64_t misfits;           /* steps whose ids do not fit their tokens */
};

/* Members of both formats, of all of their versions. */
static const struct json_field fields[] = {
    /* SATF */
    JSON_WALKED("format"), JSON_WALKED("format_version"), JSON_WALKED("time_base"),
    JSON_WALKED("block_size_tokens"), JSON_WHOLE("producer"), JSON_WHOLE("extensions"),
    JSON_WALKED("sessions"), JSON_WALKED("session_id"), JSON_WALKED("nodes"), JSON_WALKED("kind"),
    JSON_WALKED("id"), JSON_WALKED("duration_us"), JSON_WALKED("min_start_delay_us"),
    JSON_WHOLE("performance_metrics"), JSON_WALKED("payload"), JSON_WALKED("input_tokens_total"),
    JSON_WALKED("output_tokens"), JSON_WHOLE("kv_block_ids"), JSON_WHOLE("request_parameters"),
    JSON_WALKED("tool_name"), JSON_WALKED("tool_call_id"), JSON_WALKED("is_error"),
    JSON_WALKED("edges"), JSON_WALKED("from"), JSON_WALKED("to"),
    JSON_WALKED("delay_after_predecessor_us"),
    /* agentic Mooncake rows */
    JSON_WALKED("schema"), JSON_WALKED("version"), JSON_WALKED("block_size"),
    JSON_WALKED("hash_id_scope"), JSON_WHOLE("source"), JSON_WALKED("request_id"),
    JSON_WALKED("play_id"), JSON_WALKED("model"), JSON_WALKED("input_length"),
    JSON_WALKED("output_length"), JSON_WHOLE("hash_ids"), JSON_WALKED("not_before_ms"),
    JSON_WALKED("dependencies"), JSON_WALKED("trigger"), JSON_WALKED("delay_ms"),
    JSON_WALKED("relation"), JSON_WALKED("timestamp"), JSON_WALKED("created_time"),
    JSON_WALKED("delay"), JSON_WHOLE("wait_for"), JSON_WHOLE("branches"),
    JSON_WALKED("prefix_reset"), JSON_WALKED("tool_wait_ms"), JSON_WHOLE("tool_events"),
    JSON_WALKED("input_tokens"), JSON_WALKED("priority"), JSON_WALKED("strict_priority"),
    JSON_WALKED("policy_class"), JSON_WHOLE("output_token_ids")};
static const struct json_fields known_fields = {fields, sizeof(fields) / sizeof(*fields),
                                                sizeof(*fields)};

/* ---- values ---- */

static int bad(const struct graph *g, const char *name, const char *what)
{
    return err_set(g->err, -EINVAL, ERR_INPUT, g->where, "%s %s", name, what);
}

static int take(const struct graph *g, const struct pick *p, size_t n, const struct jsonin_v *v,
                void *to)
{
    struct pick_bad wrong;
    return pick(p, n, v, to, &wrong) < 0 ? bad(g, wrong.name, wrong.what) : 0;
}

/* A time in units of unit_ns; it stays as it is if it is missing. */
static int read_time(const struct graph *g, const struct jsonin_v *v, const char *name,
                     double unit_ns, int64_t *ns)
{
    const struct jsonin_v *field = jsonin_get(v, name);
    const char *what = field ? pick_delay(field, unit_ns, ns) : NULL;
    return what ? bad(g, name, what) : 0;
}

/* A name of a step or session of this file. */
static int name_of(const struct graph *g, const struct jsonin_v *v, const char *name,
                   struct hash128 *out)
{
    size_t len;
    const char *text = jsonin_text(v, &len);
    if (!text)
        return bad(g, name, "is no text");
    struct hash128 key[2] = {{.lo = g->scope}, hash_128(text, len)};
    *out = hash_128(key, sizeof(key));
    return 0;
}

static int read_name(const struct graph *g, const struct jsonin_v *v, const char *name,
                     struct hash128 *out)
{
    return name_of(g, jsonin_get(v, name), name, out);
}

static int read_ids(struct graph *g, const struct jsonin_v *list, const char *name, struct step *s)
{
    size_t count = jsonin_count(list);
    if (!jsonin_is_array(list))
        return bad(g, name, "is not a list of blocks");
    int rc = steps_room(g->steps, count, g->err);
    s->first_id = g->steps->ids;
    s->ids = (uint32_t)count;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        uint64_t id, known = keymap_count(g->blocks);
        if (jsonin_u64(jsonin_at(list, i), &id) < 0)
            return bad(g, name, "holds something that is not a number of 64 bits");
        struct hash128 key = {.lo = hash_mix(id), .hi = hash_mix(g->scope)};
        const uint64_t *number = keymap_get(g->blocks, key, known);
        if (!number)
            return err_nomem(g->err, "blocks");
        g->steps->id[g->steps->ids++] = *number;
        if (keymap_count(g->blocks) > known)
            rc = file_source_hold(&g->files, BLOCK_BYTES, "blocks", g->err);
    }
    return rc;
}

static int read_block_size(const struct graph *g, const struct jsonin_v *v, const char *name,
                           uint32_t *tokens)
{
    int64_t n;
    const char *what = pick_value(PICK_BLOCK_TOKENS, jsonin_get(v, name), &n);
    if (!what && g->files.o.block_tokens > 0 && g->files.o.block_tokens != n)
        what = "is not what --block-size says";
    if (what)
        return bad(g, name, what);
    *tokens = (uint32_t)n;
    return 0;
}

/* ---- steps and edges ---- */

static void see_reading(struct graph *g, struct block_reading r)
{
    if (g->first.tokens == 0)
        g->first = r;
    g->sizes_differ |= r.tokens != g->first.tokens || r.full != g->first.full;
}

/* Holds the ids of a step against its tokens, where the file says how large blocks are. */
static void check_count(struct graph *g, const struct step *s)
{
    if (s->pause || s->block_tokens == 0)
        return;
    enum block_fit fit = block_size_fit(s->block_tokens, s->context, s->ids);
    g->misfits += fit == BLOCK_FIT_NONE;
    if (fit == BLOCK_FIT_ALL || fit == BLOCK_FIT_FULL)
        see_reading(
            g, (struct block_reading){.tokens = s->block_tokens, .full = fit == BLOCK_FIT_FULL});
}

/* Adds *s under a name of the file. */
static int add_step(struct graph *g, struct hash128 name, const struct step *s)
{
    size_t known = keymap_count(g->names);
    uint64_t hash = hash_64(&name, sizeof(name)), *least = &g->session[s->user].least;
    if (!keymap_get(g->names, name, g->steps->count))
        return err_nomem(g->err, "steps");
    if (keymap_count(g->names) == known)
        return bad(g, "the step's", "name is that of another step");
    check_count(g, s);
    *least = hash < *least ? hash : *least;
    return steps_add(g->steps, s, g->err);
}

static int add_link(struct graph *g, const struct link *link)
{
    size_t before = g->links_cap;
    if (memory_room(&g->link, &g->links_cap, g->links, sizeof(*g->link), 64) < 0)
        return err_nomem(g->err, "steps");
    int rc =
        file_source_hold(&g->files, (g->links_cap - before) * sizeof(*g->link), "steps", g->err);
    if (rc < 0)
        return rc;
    g->link[g->links++] = *link;
    return 0;
}

static int see_session(struct graph *g, struct hash128 name, uint32_t *session)
{
    const uint64_t *number = keymap_get(g->session_names, name, g->sessions);
    if (!number || memory_room(&g->session, &g->sessions_cap, g->sessions, sizeof(*g->session), 64))
        return err_nomem(g->err, "sessions");
    *session = (uint32_t)*number;
    if (*session < g->sessions)
        return 0;
    g->session[g->sessions++] = (struct session){.least = UINT64_MAX, .with = *session};
    return g->sessions >= IDENT_MAX_USERS ? bad(g, "more than", "2^28 sessions") : 0;
}

/* The first of the sessions that this one is joined with. */
static struct session *joined(struct graph *g, uint32_t session)
{
    struct session *s = g->session;
    while (s[session].with != session)
        session = s[session].with = s[s[session].with].with;
    return &s[session];
}

/* Joins the steps of the links, once their names are known. */
static int join_links(struct graph *g)
{
    const struct step *step = g->steps->step;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < g->links; i++) {
        struct link *link = &g->link[i];
        const uint64_t *from = keymap_find(g->names, link->from);
        const uint64_t *to = keymap_find(g->names, link->to);
        if (!from || !to)
            return bad(g, "a dependency", "is on a step that the file does not have");
        link->edge.to = (uint32_t)*to;
        joined(g, step[*to].user)->with = joined(g, step[*from].user)->with;
        rc = steps_join(g->steps, (uint32_t)*from, &link->edge, g->err);
    }
    g->links = 0;
    return rc;
}

/* ---- SATF ---- */

/* A pause has the first two fields. An inference has all but the first: its duration is simulated,
 * so the recorded one is not used. */
static const struct pick node_fields[] = {
    {"duration_us", NULL, PICK_DELAY_US, false, offsetof(struct step, pause_ns)},
    {"min_start_delay_us", NULL, PICK_DELAY_US, false, offsetof(struct step, wait_ns)},
    {"payload.input_tokens_total", NULL, PICK_TOKENS, true, offsetof(struct step, context)},
    {"payload.output_tokens", NULL, PICK_TOKENS, true, offsetof(struct step, generated)}};

static int read_node(struct graph *g, const struct jsonin_v *v, struct step *s)
{
    const char *kind = jsonin_text(jsonin_get(v, "kind"), NULL);
    struct hash128 name;
    if (!kind)
        return bad(g, "kind", "of a node is no text");
    s->pause = strcmp(kind, "llm_infer") != 0;
    if (s->pause && strcmp(kind, "tool_call") != 0 && strcmp(kind, "tool_result") != 0)
        batch_unknown_event(&g->unknown, kind, strlen(kind));
    int rc = read_name(g, v, "id", &name);
    if (rc == 0)
        rc = take(g, node_fields + !s->pause, s->pause ? 2 : 3, v, s);
    if (rc == 0 && !s->pause)
        rc = read_ids(g, jsonin_get(v, "payload.kv_block_ids"), "kv_block_ids", s);
    return rc < 0 ? rc : add_step(g, name, s);
}

static int read_session(struct graph *g, const struct jsonin_v *v, uint32_t block_tokens)
{
    const struct jsonin_v *nodes = jsonin_get(v, "nodes"), *edges = jsonin_get(v, "edges");
    struct step s = {.block_tokens = block_tokens};
    struct hash128 name;
    size_t first = g->steps->count;
    if (!jsonin_is_array(nodes) || (edges && !jsonin_is_array(edges)))
        return bad(g, "nodes or edges", "of a session are no list");
    int rc = read_name(g, v, "session_id", &name);
    if (rc == 0)
        rc = see_session(g, name, &s.user);
    for (size_t i = 0; rc == 0 && i < jsonin_count(nodes); i++) {
        struct step node = s;
        rc = read_node(g, jsonin_at(nodes, i), &node);
    }
    for (size_t i = 0; rc == 0 && i < jsonin_count(edges); i++) {
        const struct jsonin_v *edge = jsonin_at(edges, i);
        struct link out = {0};
        rc = read_name(g, edge, "from", &out.from);
        if (rc == 0)
            rc = read_name(g, edge, "to", &out.to);
        if (rc == 0)
            rc = read_time(g, edge, "delay_after_predecessor_us", 1e3, &out.edge.delay_ns);
        if (rc == 0)
            rc = add_link(g, &out);
    }
    if (rc == 0)
        rc = join_links(g);
    /* The least delay of a step is that after those it waits for; without any, from the start. */
    for (size_t i = first; rc == 0 && i < g->steps->count; i++)
        g->steps->step[i].after_all = g->steps->step[i].waits_for > 0;
    return rc;
}

static int read_document(struct graph *g, const struct jsonin_v *root)
{
    const struct jsonin_v *sessions = jsonin_get(root, "sessions");
    const char *format = jsonin_text(jsonin_get(root, "format"), NULL);
    const char *version = jsonin_text(jsonin_get(root, "format_version"), NULL);
    const char *unit = jsonin_text(jsonin_get(root, "time_base"), NULL);
    uint32_t tokens = 0;
    g->scope++;
    g->unknown.fields += json_fields_unknown(&known_fields, root);
    if (!format || strcmp(format, "satf") != 0 || !jsonin_is_array(sessions))
        return bad(g, "not a SATF document:", "no format or no sessions");
    if (!version || strncmp(version, "2.", 2) != 0)
        return bad(g, "format_version", "is not 2");
    if (!unit || strcmp(unit, "us") != 0)
        return bad(g, "time_base", "is not us");
    int rc = read_block_size(g, root, "block_size_tokens", &tokens);
    for (size_t i = 0; rc == 0 && i < jsonin_count(sessions); i++)
        rc = read_session(g, jsonin_at(sessions, i), tokens);
    return rc;
}

static int read_documents(struct graph *g)
{
    struct documents *documents = documents_create(g->files.in);
    struct jsonin_limit limit = file_source_limit(&g->files);
    struct jsonin *d;
    int rc = documents ? 0 : err_nomem(g->err, "documents");
    while (rc == 0 && (rc = documents_next(documents, &limit, &d, &g->where, g->err)) > 0) {
        rc = read_document(g, jsonin_root(d));
        jsonin_free(d);
    }
    documents_free(documents);
    return rc;
}

/* ---- agentic Mooncake rows ---- */

static int read_header(struct graph *g, const struct jsonin_v *v, uint32_t *block_tokens)
{
    const char *schema = jsonin_text(jsonin_get(v, "schema"), NULL);
    const char *scope = jsonin_text(jsonin_get(v, "hash_id_scope"), NULL);
    int64_t version;
    if (!schema || strcmp(schema, "dynamo.agentic_mooncake") != 0)
        return bad(g, "schema", "is not dynamo.agentic_mooncake");
    if (jsonin_i64(jsonin_get(v, "version"), &version) < 0 || version != 2)
        return bad(g, "version", "is not 2");
    if (scope && strcmp(scope, "local") != 0)
        return bad(g, "hash_id_scope", "is not local");
    return read_block_size(g, v, "block_size", block_tokens);
}

/* Fields that rows of both versions have. Dynamo writes either name. */
static const struct pick request_fields[] = {
    {"input_length", "input_tokens", PICK_TOKENS, true, offsetof(struct step, context)},
    {"output_length", "output_tokens", PICK_TOKENS, true, offsetof(struct step, generated)}};

/* The member by its name, or by the other one that Dynamo writes. */
static const char *either(const struct jsonin_v *v, const char *name, const char *other)
{
    return !jsonin_get(v, name) && jsonin_get(v, other) ? other : name;
}

/* Reads the members that rows of both versions have. A row without a session is one of its own. */
static int read_request(struct graph *g, const struct jsonin_v *v, struct hash128 name,
                        struct step *s)
{
    struct hash128 session = name;
    int rc = jsonin_get(v, "session_id") ? read_name(g, v, "session_id", &session) : 0;
    if (rc == 0)
        rc = see_session(g, session, &s->user);
    if (rc == 0)
        rc = take(g, request_fields, 2, v, s);
    if (rc == 0)
        rc = read_ids(g, jsonin_get(v, "hash_ids"), "hash_ids", s);
    return rc < 0 ? rc : add_step(g, name, s);
}

static int read_row(struct graph *g, const struct jsonin_v *v, uint32_t block_tokens)
{
    const struct jsonin_v *list = jsonin_get(v, "dependencies");
    struct step s = {.block_tokens = block_tokens};
    struct hash128 name;
    if (list && !jsonin_is_array(list))
        return bad(g, "dependencies", "is not a list");
    int rc = read_name(g, v, "request_id", &name);
    if (rc == 0)
        rc = read_time(g, v, "not_before_ms", 1e6, &s.wait_ns);
    if (rc == 0)
        rc = read_request(g, v, name, &s);
    for (size_t i = 0; rc == 0 && i < jsonin_count(list); i++) {
        const struct jsonin_v *d = jsonin_at(list, i);
        const char *trigger = jsonin_text(jsonin_get(d, "trigger"), NULL);
        struct link out = {.to = name,
                           .edge.dispatch = trigger && strcmp(trigger, "dispatch") == 0};
        if (!trigger || (!out.edge.dispatch && strcmp(trigger, "completion") != 0))
            return bad(g, "trigger", "is not dispatch or completion");
        rc = read_name(g, d, "request_id", &out.from);
        if (rc == 0)
            rc = read_time(g, d, "delay_ms", 1e6, &out.edge.delay_ns);
        if (rc == 0)
            rc = add_link(g, &out);
    }
    return rc;
}

/* The unit of delays of rows of version 1, unless their name says it. */
static double unit_ns(const struct graph *g)
{
    return g->stamps.given != STAMPS_AUTO ? stamps_unit_s(&g->stamps) * 1e9 : 1e6;
}

/* A row of version 1: it waits for the answers of the requests in wait_for, then for its delay and
 * its tools. One with a delay alone follows the last row of its session; one without either comes
 * at its timestamp. */
static int read_row_1(struct graph *g, const struct jsonin_v *v, struct keymap *last,
                      struct block_size *size)
{
    const struct jsonin_v *list = jsonin_get(v, "wait_for");
    const char *delay = either(v, "delay", "delay_ms");
    struct step s = {0};
    struct hash128 name = {.lo = g->scope, .hi = g->steps->count};
    int64_t delay_ns = 0, tools_ns = 0;
    if (list && !jsonin_is_array(list))
        return bad(g, "wait_for", "is not a list");
    int rc = jsonin_get(v, "request_id") ? read_name(g, v, "request_id", &name) : 0;
    if (rc == 0)
        rc = read_time(g, v, delay, strcmp(delay, "delay") == 0 ? unit_ns(g) : 1e6, &delay_ns);
    if (rc == 0)
        rc = read_time(g, v, "tool_wait_ms", 1e6, &tools_ns);
    const char *stamp = either(v, "timestamp", "created_time");
    if (rc == 0 && jsonin_get(v, stamp) &&
        (stamps_value(&g->stamps, jsonin_get(v, stamp), &s.wait_ns) < 0 || s.wait_ns < 0))
        rc = bad(g, stamp, "is not a time, or too late a one");
    if (rc == 0)
        rc = read_request(g, v, name, &s);
    if (rc == 0 && !block_size_see(size, s.context, s.ids)) {
        if (size->stated == 0)
            rc = bad(g, "the number of hash_ids",
                     "does not fit the tokens: no block size fits this row and those before "
                     "(--block-size sets it)");
        g->misfits++;
    }
    if (rc < 0)
        return rc;
    /* The row of the session before: its place and 1; 0: there is none. */
    uint64_t *before = keymap_get(last, (struct hash128){.lo = s.user + 1}, 0);
    if (!before)
        return err_nomem(g->err, "sessions");
    struct link out = {
        .to = name, .edge = {.delay_ns = delay_ns + tools_ns, .to = (uint32_t)g->steps->count - 1}};
    bool follows = jsonin_count(list) == 0 && jsonin_get(v, delay) && *before > 0;
    if (follows)
        rc = steps_join(g->steps, (uint32_t)*before - 1, &out.edge, g->err);
    for (size_t i = 0; rc == 0 && i < jsonin_count(list); i++) {
        rc = name_of(g, jsonin_at(list, i), "wait_for", &out.from);
        if (rc == 0)
            rc = add_link(g, &out);
    }
    if (follows || jsonin_count(list) > 0)
        g->steps->step[g->steps->count - 1].wait_ns = 0;
    *before = g->steps->count;
    return rc;
}

/* Gives the steps from first on what only the whole file tells: the size of a block, and the time
 * from which timestamps count. */
static int finish_rows_1(struct graph *g, size_t first, const struct block_size *size)
{
    int64_t first_ns = INT64_MAX;
    struct block_reading r;
    if (!block_size_choose(size, USUAL_BLOCK, &r)) {
        if (size->stated == 0)
            return bad(
                g, "the numbers of hash_ids",
                "do not fit the tokens: no block size fits all rows (--block-size sets one)");
        r = (struct block_reading){.tokens = size->stated};
    }
    if (g->first.tokens == 0) {
        g->derived = size->stated == 0 && (r.full || r.tokens != USUAL_BLOCK);
        block_size_others(size, r, g->others, sizeof(g->others));
    }
    see_reading(g, r);
    struct step *step = g->steps->step;
    for (size_t i = first; i < g->steps->count; i++)
        if (step[i].waits_for == 0 && step[i].wait_ns < first_ns)
            first_ns = step[i].wait_ns;
    for (size_t i = first; i < g->steps->count; i++) {
        step[i].block_tokens = (uint32_t)r.tokens;
        if (step[i].waits_for == 0)
            step[i].wait_ns -= first_ns;
    }
    return 0;
}

/* One file. Its first line tells the version: that of version 1 is a row. */
static int read_row_file(struct graph *g, struct keymap *last)
{
    const char *name = frame_in_name(g->files.file);
    const struct jsonin_v *v;
    struct block_size size;
    size_t first = g->steps->count;
    uint32_t block_tokens = 0;
    bool begun = false, version_1 = false;
    char where[320];
    int rc = file_source_elements(&g->files, g->err);
    g->scope++;
    g->where = where;
    block_size_begin(&size, g->files.o.block_tokens);
    stamps_file(&g->stamps);
    while (rc == 0 && (rc = jsonin_stream_next(g->files.stream, &v, g->err)) > 0) {
        snprintf(where, sizeof(where), "%.290s:%llu", name,
                 (unsigned long long)jsonin_stream_line(g->files.stream));
        g->unknown.fields += json_fields_unknown(&known_fields, v);
        version_1 = begun ? version_1 : !jsonin_get(v, "schema");
        rc = version_1 ? read_row_1(g, v, last, &size)
             : begun   ? read_row(g, v, block_tokens)
                       : read_header(g, v, &block_tokens);
        begun = true;
    }
    snprintf(where, sizeof(where), "%.300s", name);
    if (rc == 0)
        rc = join_links(g);
    if (rc == 0 && version_1)
        rc = finish_rows_1(g, first, &size);
    g->rows_1 |= version_1;
    g->where = "";
    return rc;
}

static int read_rows(struct graph *g)
{
    struct keymap *last = keymap_create();
    int rc = last ? 0 : err_nomem(g->err, "sessions");
    while (rc == 0 && (rc = inputs_next(g->files.in, &g->files.file, g->err)) > 0)
        rc = read_row_file(g, last);
    keymap_free(last);
    return rc;
}

/* ---- playing ---- */

/* Marks the steps of sessions that --config sample leaves out. Returns how many steps are left. */
static size_t sample_sessions(struct graph *g)
{
    size_t left = g->steps->count;
    g->played = g->sessions;
    if (!file_source_samples(&g->files) || left == 0)
        return left;
    for (uint32_t i = 0; i < g->sessions; i++) {
        struct session *of = joined(g, i);
        of->least = g->session[i].least < of->least ? g->session[i].least : of->least;
    }
    g->played = 0;
    for (uint32_t i = 0; i < g->sessions; i++) {
        uint64_t name = joined(g, i)->least;
        g->session[i].kept = file_source_keeps(&g->files, &name, sizeof(name));
        g->played += g->session[i].kept;
    }
    for (size_t i = 0; i < g->steps->count; i++) {
        struct step *step = &g->steps->step[i];
        step->left_out = !g->session[step->user].kept;
        left -= step->left_out;
    }
    return left;
}

static int graph_peek(struct source *base, int64_t *arrival_ns, struct err *e)
{
    struct graph *g = (struct graph *)base;
    int rc;
    while ((rc = steps_peek(&g->player, arrival_ns, e)) == 0 && g->steps->left == 0) {
        g->files.cycles++;
        if (g->files.cycles == g->files.o.cycles)
            g->files.ended = true;
        if (g->files.ended)
            return 0;
        if (g->files.o.cycles == 0 && !g->files.o.counted && g->steps->end_ns == g->steps->began_ns)
            return err_set(e, -EINVAL, ERR_INPUT, inputs_path(g->files.in),
                           "its steps take no time: --replay-cycles 0 would never end");
        steps_begin(&g->player, 0, g->steps->end_ns); /* the room is there */
    }
    return rc;
}

static void graph_take(struct source *base, struct request *out)
{
    struct graph *g = (struct graph *)base;
    steps_take(&g->player, out);
    out->number = ++g->issued;
    out->qos = (uint8_t)g->o.qos;
}

static void graph_done(struct source *base, const struct request *r, int64_t now_ns)
{
    steps_done(&((struct graph *)base)->player, 0, r->slot, now_ns);
}

static void graph_conversations(const struct source *base, uint64_t *count, uint64_t *turns)
{
    const struct graph *g = (const struct graph *)base;
    *count = g->played;
    *turns = g->issued;
}

static void graph_reading(const struct source *base, struct source_reading *r)
{
    const struct graph *g = (const struct graph *)base;
    bool satf = g->o.kind == INPUTS_SATF, stated = g->files.o.block_tokens > 0;
    r->format = satf ? "SATF" : g->rows_1 ? "agentic Mooncake, version 1" : "agentic Mooncake";
    if (g->rows_1) {
        stamps_reading(&g->stamps, r);
    } else {
        r->time_unit = satf ? "us" : "ms";
        r->time_by = "file";
    }
    file_source_note_cuts(&g->files, "sessions", &r->remarks);
    r->blocks_by = !g->rows_1 ? "file" : stated ? "option" : g->derived ? "rows" : "format";
    r->block_tokens = g->first.tokens > 0 ? g->first.tokens : g->steps->step[0].block_tokens;
    r->full_blocks = g->first.full;
    r->tokens_by = "given";
    block_size_note(g->first, g->others, &r->remarks);
    if (g->sizes_differ)
        notes_add(&r->remarks, "the files have blocks of different sizes, or ids of other blocks");
    if (g->misfits > 0)
        notes_add(&r->remarks, "steps whose ids do not fit their tokens: %llu",
                  (unsigned long long)g->misfits);
}

static void graph_close(struct source *base)
{
    struct graph *g = (struct graph *)base;
    free(g->link);
    free(g->session);
    keymap_free(g->names);
    keymap_free(g->session_names);
    keymap_free(g->blocks);
    steps_player_free(&g->player);
    file_source_release(&g->files);
}

#define GRAPH_OPS(kind_name)                                                                       \
    {                                                                                              \
        .name = (kind_name), .blocks = true, .peek = graph_peek, .take = graph_take,               \
        .done = graph_done, .user_name = file_source_trace_user, .skips = file_source_skips,       \
        .conversations = graph_conversations, .reading = graph_reading, .close = graph_close       \
    }

/* The files are held, so cycles need not read them again. */
static int never_again(void *ctx, const char *path, struct err *e)
{
    (void)ctx;
    (void)path;
    (void)e;
    return 0;
}

int source_graph_open(struct source **out, struct inputs *in, const struct source_graph_opts *o,
                      struct err *e)
{
    static const struct source_ops satf = GRAPH_OPS("satf"), rows = GRAPH_OPS("mooncake");
    struct graph *g = file_source_create(sizeof(*g), o->kind == INPUTS_SATF ? &satf : &rows, in,
                                         &o->files, never_again, e);
    if (!g)
        return -ENOMEM;
    g->o = *o;
    g->err = e;
    g->stamps = (struct stamps){.given = o->files.unit, .usual = STAMPS_MS, .whole = true};
    g->names = keymap_create();
    g->session_names = keymap_create();
    g->blocks = keymap_create();
    g->steps = calloc(1, sizeof(*g->steps));
    g->player = (struct steps_player){.files = &g->files, .of = g->steps, .count = 1};
    int rc = g->names && g->session_names && g->blocks && g->steps ? 0 : err_nomem(e, "source");
    if (rc == 0) {
        *g->steps = (struct steps){.files = &g->files, .what = "steps"};
        rc = o->kind == INPUTS_SATF ? read_documents(g) : read_rows(g);
    }
    if (rc == 0 && sample_sessions(g) == 0)
        rc = file_source_none(&g->files, g->steps->count == 0 ? "request" : "session", e);
    if (rc == 0 && !g->rows_1 && g->stamps.given != STAMPS_AUTO)
        rc = err_set(e, -EINVAL, ERR_INPUT, "--time-unit", "the input names its unit of time");
    if (rc == 0)
        rc = file_source_refuse_gap(&g->files, "does not apply to steps that wait for each other",
                                    e);
    if (rc == 0 && (rc = steps_all_begin(&g->player, 0)) <= 0)
        rc = rc < 0 ? err_nomem(e, "steps")
                    : err_set(e, -EINVAL, ERR_INPUT, inputs_path(in),
                              "holds steps that wait for each other");
    batch_unknown_note(&g->unknown, &g->files.skips.remarks);
    if (rc >= 0)
        rc = steps_begin(&g->player, 0, 0); /* the room is there */
    return file_source_opened(&g->files, rc, out);
}
