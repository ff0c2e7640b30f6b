/* Configuration: every key is a row of one table, values are the file's or the table's, and every
 * mistake is said with file and line. A bug looked like a mistyped key that was quietly ignored, a
 * model id with a dot that was not found, or a value out of range that reached the simulation. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/conf/conf.h"
#include "lib/conf/given.h"
#include "lib/conf/keys.h"
#include "lib/conf/texts.h"
#include "lib/opt/tables.h"

static char file[] = "/tmp/kvtrace-conf.XXXXXX";

static int make_file(void **state)
{
    int fd = mkstemp(file);

    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(file);
}

static void put(const char *text, size_t len)
{
    FILE *f = fopen(file, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

/* The key was given on that line of the file; 0: it was not given. */
static void expect_line(const struct conf *c, const char *key, unsigned line)
{
    char place[CONF_PLACE_MAX], want[CONF_PLACE_MAX];

    assert_int_equal(conf_place(c, key, place), line > 0);
    snprintf(want, sizeof(want), "%s:%u", file, line);
    if (line > 0)
        assert_string_equal(place, want);
}

static struct conf *open_text(const char *text)
{
    struct conf *c = NULL;
    struct err e = {0};

    put(text, strlen(text));
    if (conf_open(&c, file, &e) < 0)
        fail_msg("%s: %s", e.where, e.what);
    return c;
}

/* The text is refused on that line, and the reason begins with what. */
static void expect_error(const char *text, unsigned line, const char *what)
{
    struct conf *c = NULL;
    struct err e = {0};
    char where[64];

    put(text, strlen(text));
    assert_int_equal(conf_open(&c, file, &e), -EINVAL);
    snprintf(where, sizeof(where), "%s:%u", file, line);
    assert_string_equal(e.where, where);
    if (strncmp(e.what, what, strlen(what)) != 0)
        fail_msg("\"%s\" does not begin with \"%s\"", e.what, what);
    assert_int_equal(e.class, ERR_INPUT);
}

static void defaults_without_a_file(void **state)
{
    (void)state;
    struct conf *c;
    struct err e = {0};
    int64_t pair[2];
    double think[2];
    size_t n;
    const int64_t *prompts;

    assert_int_equal(conf_open(&c, NULL, &e), 0);
    assert_int_equal(conf_i64(c, "decode.batch_size"), 32);
    assert_true(conf_f64(c, "generation_timing.realistic") == 0.030);
    assert_string_equal(conf_text(c, "conversation.reload"), "previous");
    conf_i64_pair(c, "user_templates.coding.context_range", pair);
    assert_int_equal(pair[0], 4096);
    assert_int_equal(pair[1], 25000);
    conf_f64_pair(c, "user_templates.document.think_time_range", think);
    assert_true(think[0] == 0.3 && think[1] == 1.5);
    prompts = conf_i64_list(c, "prefix_cache.system_prompt_tokens", &n);
    assert_int_equal(n, 3);
    assert_int_equal(prompts[1], 9);
    assert_int_equal(conf_i64(c, "qos_profiles.batch.priority"), 1);
    assert_int_equal(conf_get_i64(c, "model_configs.x.num_layers", pair), -ENOENT);
    assert_int_equal(pair[0], 4096);
    assert_null(conf_model_name(c, 0));
    assert_null(conf_warning(c, 0));
    char place[CONF_PLACE_MAX] = "none";
    assert_false(conf_place(c, "decode.batch_size", place));
    assert_string_equal(place, "none");
    conf_free(c);
}

static void values_of_the_file_win(void **state)
{
    (void)state;
    struct conf *c = open_text("# a comment\n"
                               "decode:\n"
                               "  batch_size: 16\n"
                               "user_templates:\n"
                               "  chatbot:\n"
                               "    context_range: [1, 2]\n"
                               "    think_time_range:\n"
                               "      - 1\n"
                               "      - 2.5\n"
                               "conversation: {reload: \"all\"}\n"
                               "prefix_cache:\n"
                               "  system_prompt_tokens: [7]\n"
                               "eviction:\n");
    int64_t pair[2];
    double think[2];
    size_t n;

    assert_int_equal(conf_i64(c, "decode.batch_size"), 16);
    conf_i64_pair(c, "user_templates.chatbot.context_range", pair);
    assert_int_equal(pair[1], 2);
    conf_f64_pair(c, "user_templates.chatbot.think_time_range", think);
    assert_true(think[0] == 1 && think[1] == 2.5);
    conf_i64_pair(c, "user_templates.coding.context_range", pair);
    assert_int_equal(pair[1], 25000);
    assert_string_equal(conf_text(c, "conversation.reload"), "all");
    assert_int_equal(conf_i64_list(c, "prefix_cache.system_prompt_tokens", &n)[0], 7);
    assert_int_equal(n, 1);
    expect_line(c, "decode.batch_size", 3);
    expect_line(c, "eviction", 13);
    expect_line(c, "rag.top_k_chunks", 0);
    conf_free(c);
}

static void empty_files_are_only_defaults(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "# nothing\n", "---\n", "~\n", "{}\n"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct conf *c = open_text(texts[i]);
        assert_int_equal(conf_i64(c, "decode.batch_size"), 32);
        conf_free(c);
    }
}

static void names_with_dots_stay_whole(void **state)
{
    (void)state;
    struct conf *c = open_text("model_configs:\n"
                               "  llama3.1-8b:\n"
                               "    num_layers: 5\n"
                               "  a.num_layers: {kv_heads: 3}\n"
                               "  a:\n"
                               "    num_layers: 6\n");
    int64_t n;

    assert_int_equal(conf_get_i64(c, "model_configs.llama3.1-8b.num_layers", &n), 0);
    assert_int_equal(n, 5);
    assert_int_equal(conf_get_i64(c, "model_configs.a.num_layers", &n), 0);
    assert_int_equal(n, 6);
    assert_int_equal(conf_get_i64(c, "model_configs.a.num_layers.kv_heads", &n), 0);
    assert_int_equal(n, 3);
    assert_int_equal(conf_get_i64(c, "model_configs.a.num_layers.num_layers", &n), -ENOENT);
    assert_string_equal(conf_model_name(c, 0), "llama3.1-8b");
    assert_string_equal(conf_model_name(c, 2), "a");
    assert_null(conf_model_name(c, 3));
    expect_line(c, "model_configs.llama3.1-8b", 2);
    conf_free(c);
}

static void unknown_keys_get_the_nearest_name(void **state)
{
    (void)state;
    expect_error("decode:\n  batchsize: 3\n", 2,
                 "decode.batchsize: unknown key; did you mean batch_size?");
    expect_error("evicton:\n  target_usage_ratio: 0.5\n", 1,
                 "evicton: unknown key; did you mean eviction?");
    expect_error("\n\nbatch_size: 3\n", 3,
                 "batch_size: unknown key; did you mean decode.batch_size?");
    expect_error("model_configs:\n  m.1:\n    layers: 3\n", 3, "model_configs.m.1.layers: unknown");
    expect_error("decode.batch_size: 3\n", 1, "decode.batch_size: unknown key");
    expect_error("wholly: {new: 1}\n", 1, "wholly: unknown key");
    expect_error("user_templates:\n  teacher:\n    context_range: [1, 2]\n", 2,
                 "user_templates.teacher: unknown key");
}

static void wrong_values_are_refused(void **state)
{
    (void)state;
    expect_error("decode:\n  batch_size: abc\n", 2,
                 "decode.batch_size: 'abc' is not a whole number");
    expect_error("decode:\n  batch_size: 1.5\n", 2,
                 "decode.batch_size: '1.5' is not a whole number");
    expect_error("decode:\n  batch_size: \"5\"\n", 2, "decode.batch_size: expected a whole number");
    expect_error("decode:\n  batch_size:\n", 2, "decode.batch_size: expected a whole number");
    expect_error("decode:\n  batch_size: [1]\n", 2, "decode.batch_size: expected a whole number");
    expect_error("decode:\n  batch_size: {a: 1}\n", 2,
                 "decode.batch_size: expected a whole number");
    expect_error("decode:\n  batch_size: 0\n", 2, "decode.batch_size: 0 is below 1");
    expect_error("eviction: {target_usage_ratio: 1.01}\n", 1,
                 "eviction.target_usage_ratio: 1.01 is above 1");
    expect_error("eviction: {target_usage_ratio: .nan}\n", 1,
                 "eviction.target_usage_ratio: '.nan' is not a number");
    expect_error("conversation: {reload: some}\n", 1,
                 "conversation.reload: 'some' is not one of previous|all");
    expect_error("conversation: {reload: previous|all}\n", 1,
                 "conversation.reload: 'previous|all'");
    expect_error("user_templates: {chatbot: {context_range: [5, 4]}}\n", 1,
                 "user_templates.chatbot.context_range: the first number is above the second");
    expect_error("user_templates: {chatbot: {context_range: 5}}\n", 1,
                 "user_templates.chatbot.context_range: expected two whole numbers [low, high]");
    expect_error("user_templates: {chatbot: {context_range: [5]}}\n", 1,
                 "user_templates.chatbot.context_range: 1 values, expected two whole numbers");
    expect_error("user_templates:\n chatbot:\n  context_range:\n   - 1\n   - [2]\n", 5,
                 "user_templates.chatbot.context_range: expected two");
    expect_error("prefix_cache: {system_prompt_tokens: []}\n", 1,
                 "prefix_cache.system_prompt_tokens: 0 values");
    expect_error("decode: 5\n", 1, "decode: a section");
    expect_error("- decode\n", 1, "expected sections at the top");
    expect_error("5\n", 1, "expected sections at the top");
}

static void bad_yaml_and_tricks_are_refused(void **state)
{
    (void)state;
    expect_error("prefix_cache:\n  system_prompt_tokens: [1\n", 3, "not YAML: ");
    expect_error("decode:\n\tbatch_size: 1\n", 2, "not YAML: ");
    expect_error("decode:\n  batch_size: 1\n# \x01\n", 3, "not YAML: ");
    expect_error("decode: {batch_size: 1}\nrag: {}\ndecode: {batch_size: 2}\n", 3,
                 "decode: given twice (first on line 1)");
    expect_error("decode:\n  batch_size: 1\n  batch_size: 1\n", 3,
                 "decode.batch_size: given twice (first on line 2)");
    expect_error("decode: &a\n  batch_size: 1\n", 1, "anchors and aliases");
    expect_error("decode: {batch_size: *a}\n", 1, "anchors and aliases");
    expect_error("decode: {batch_size: !!int 5}\n", 1, "tags are not supported");
    expect_error("conversation: {reload: \"a\\0b\"}\n", 1, "a text with a NUL byte");
    expect_error("decode: {}\n---\ndecode: {}\n", 2, "second document");
    expect_error("? [a, b]\n: 1\n", 1, "a key must be a name");
    expect_error("\"\": 1\n", 1, "a key must have 1 to 127");
}

static void keys_without_meaning_warn_once_each(void **state)
{
    (void)state;
    struct conf *c = open_text("validation_limits:\n"
                               "  max_users: 5\n"
                               "  deep: {a: [1, {b: 2}]}\n"
                               "gpu_backend:\n"
                               "  memory_fraction: 0.8\n"
                               "autoscaler: {consecutive_samples_required: 3}\n"
                               "decode: {batch_size: 8}\n");
    char want[200];

    snprintf(want, sizeof(want),
             "%s:2: key validation_limits.max_users has no effect in kvtrace (ignored)", file);
    assert_string_equal(conf_warning(c, 0), want);
    assert_non_null(strstr(conf_warning(c, 1), ":3: key validation_limits.deep has no effect"));
    assert_non_null(
        strstr(conf_warning(c, 2), ":5: key gpu_backend.memory_fraction has no effect"));
    assert_non_null(strstr(conf_warning(c, 3),
                           ":6: key autoscaler.consecutive_samples_required has no effect"));
    assert_null(conf_warning(c, 4));
    assert_int_equal(conf_i64(c, "decode.batch_size"), 8);
    conf_free(c);
}

static void files_that_cannot_be_read(void **state)
{
    (void)state;
    struct conf *c;
    struct err e = {0};
    size_t len = (16 << 20) + 1;
    char *big = malloc(len);

    assert_int_equal(conf_open(&c, "/tmp/kvtrace-no-such-file.yaml", &e), -ENOENT);
    assert_string_equal(e.where, "/tmp/kvtrace-no-such-file.yaml");
    assert_int_equal(conf_open(&c, "/tmp", &e), -EISDIR);
    assert_non_null(big);
    memset(big, '#', len);
    put(big, len);
    free(big);
    assert_int_equal(conf_open(&c, file, &e), -EFBIG);
    assert_non_null(strstr(e.what, "larger than 16 MiB"));
}

static void counts_and_depth_are_bounded(void **state)
{
    (void)state;
    enum {
        KEYS = 5000,
        DEEP = 200
    };
    char *text = malloc(KEYS * 16 + 64), *at = text;

    assert_non_null(text);
    at += sprintf(at, "validation_limits:\n");
    for (int i = 0; i < KEYS; i++)
        at += sprintf(at, "  k%d: 1\n", i);
    expect_error(text, 4097, "too many keys");
    at = text + sprintf(text, "validation_limits: {a: ");
    memset(at, '[', DEEP);
    memset(at + DEEP, ']', DEEP);
    strcpy(at + 2 * DEEP, "}\n");
    expect_error(text, 1, "nested too deep");
    free(text);
}

/* Every row of the table can be asked for, has a range around its default, and is spelled once. */
static void the_table_is_sound(void **state)
{
    (void)state;
    struct conf *c;
    struct err e = {0};

    assert_int_equal(conf_open(&c, NULL, &e), 0); /* parses every default */
    for (const struct conf_key *k = conf_keys; k->path; k++) {
        int64_t n;
        if (k->help && !strchr(k->path, '*')) {
            assert_non_null(k->def);
            assert_true(k->type == CONF_TEXT || k->min < k->max);
        }
        if (k->help && k->type == CONF_I64 && k->def)
            assert_int_equal(conf_get_i64(c, k->path, &n), 0);
        for (const struct conf_key *other = k + 1; other->path; other++)
            assert_string_not_equal(k->path, other->path);
    }
    conf_free(c);
}

/* A setting whose key ends in a name of its own, as rows with '*' at their end allow: nothing is
 * read behind it. A bug looked like a read past the end of a heap block. */
static void settings_without_meaning_warn(void **state)
{
    (void)state;
    static const char *const sections[] = {"gpu_backend", "validation_limits", "cache_sizing"};
    static uint64_t fields[8192];

    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        struct opt_parser *p = opt_open("kvreplay", "", kvreplay_options, fields);
        char setting[64], want[128];
        struct conf *c = NULL;
        struct err e = {0};

        snprintf(setting, sizeof(setting), "%s.abcdefghijk=1", sections[i]);
        snprintf(want, sizeof(want),
                 "--config: key %s.abcdefghijk has no effect in kvtrace (ignored)", sections[i]);
        struct opt_list from = {.item = {setting}, .count = 1};
        assert_int_equal(conf_read(&c, &from, p, &e), 0);
        assert_string_equal(conf_warning(c, 0), want);
        assert_null(conf_warning(c, 1));
        conf_free(c);
        opt_close(p);
    }
}

/* The place of a key is the file of several that gave it last, or the command line. */
static void places_of_several_sources(void **state)
{
    (void)state;
    static uint64_t fields[8192];
    struct opt_parser *p = opt_open("kvgen", "", kvgen_options, fields);
    const char *text = "decode:\n  batch_size: 16\nrag:\n  top_k_chunks: 3\n";
    char second[] = "/tmp/kvtrace-conf.XXXXXX", place[CONF_PLACE_MAX];
    struct conf *c = NULL;
    struct err e = {0};
    int fd = mkstemp(second);

    put(text, strlen(text));
    assert_int_equal(write(fd, "\n\ndecode: {}\n", 13), 13);
    close(fd);
    struct opt_list from = {.item = {file, "rag.top_k_chunks=4", second}, .count = 3};
    assert_int_equal(conf_read(&c, &from, p, &e), 0);
    expect_line(c, "decode.batch_size", 2);
    assert_true(conf_place(c, "rag.top_k_chunks", place));
    assert_string_equal(place, "--config rag.top_k_chunks");
    assert_true(conf_place(c, "decode", place));
    assert_int_equal(strncmp(place, second, strlen(second)), 0);
    assert_string_equal(place + strlen(second), ":3");
    conf_free(c);
    opt_close(p);
    unlink(second);
}

/* An error that was found late has the line of the file, until the key has no meaning. */
static void late_errors_have_their_place(void **state)
{
    (void)state;
    static uint64_t fields[8192];
    struct opt_parser *p = opt_open("kvreplay", "", kvreplay_options, fields);
    const char *text = "kvreplay:\n  rings: 3\n  admit: qos\n";
    char want[CONF_PLACE_MAX];
    struct conf *c = NULL;
    struct err e = {0};

    put(text, strlen(text));
    struct opt_list from = {.item = {file, "spread=capacity"}, .count = 2};
    assert_int_equal(conf_read(&c, &from, p, &e), 0);
    err_set(&e, -EINVAL, ERR_TARGET, "--config admit=qos", "the trace has no column QoS");
    opt_tell_place(p, &e);
    snprintf(want, sizeof(want), "%s:3", file);
    assert_string_equal(e.where, want);
    assert_string_equal(e.what, "kvreplay.admit: the trace has no column QoS");
    assert_int_equal(e.class, ERR_TARGET);
    const char *const others[] = {"--config spread", "--config none", "--rings", file, ""};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        err_set(&e, -EINVAL, ERR_INPUT, others[i], "as it was");
        opt_tell_place(p, &e);
        assert_string_equal(e.where, others[i]);
        assert_string_equal(e.what, "as it was");
    }

    assert_int_equal(opt_refuse(p, "admit", "no classes", &e), 0);
    assert_false(opt_given(p, "admit"));
    assert_true(opt_given(p, "rings"));
    assert_int_equal(opt_refuse(p, "loops", "never given", &e), 0);
    assert_int_equal(opt_refuse(p, "spread", "one path", &e), -EINVAL);
    assert_string_equal(e.where, "--config spread");
    err_set(&e, -EINVAL, ERR_INPUT, "--config admit", "again");
    opt_tell_place(p, &e);
    assert_string_equal(e.where, "--config admit");
    conf_free(c);
    opt_close(p);
}

/* What is told of a run: keys that have not their default, whoever gave them. */
static void keys_that_are_no_default_are_told(void **state)
{
    (void)state;
    static const char *const sections[] = {"decode", "rag", "user_templates", NULL};
    struct conf *c = open_text("decode: {batch_size: 32}\n"
                               "rag: {top_k_chunks: 4}\n"
                               "conversation: {reload: all}\n"
                               "user_templates: {chatbot: {think_time_range: [0.5, 2]}}\n");
    struct conf *none = open_text("decode: {batch_size: 32}\n");
    struct conf_given g;
    struct jsonout *j = jsonout_create();

    assert_true(conf_given(c, 0, &g));
    assert_string_equal(g.path, "rag.top_k_chunks");
    assert_true(conf_given(c, 2, &g));
    assert_false(conf_given(c, 3, &g));
    assert_false(conf_given(none, 0, &g));
    given_put(j, none, sections);
    given_put(j, c, sections);
    assert_string_equal(jsonout_text(j, false),
                        "{\"configuration\":{\"rag.top_k_chunks\":4,"
                        "\"user_templates.chatbot.think_time_range\":[0.5,2]}}");
    jsonout_free(j);
    conf_free(none);
    conf_free(c);
}

static void files_among_the_texts(void **state)
{
    (void)state;
    struct opt_list from = {.item = {"a.yaml", "rings=2", "-", "./b=c"}, .count = 4};
    struct file_use files[OPT_LIST_MAX];

    assert_string_equal(conf_file(&from, 0), "a.yaml");
    assert_string_equal(conf_file(&from, 1), "-");
    assert_string_equal(conf_file(&from, 2), "./b=c");
    assert_null(conf_file(&from, 3));
    assert_true(conf_is_stdin(&from));
    from.item[2] = "x.yaml";
    assert_false(conf_is_stdin(&from));
    assert_int_equal(conf_files(files, &from), 3);
    assert_string_equal(files[0].path, "a.yaml");
    assert_string_equal(files[2].path, "./b=c");
}

/* The texts of --config, read into a kvreplay's fields; the value of its rings, 0 on failure. */
static uint64_t rings_of(struct opt_list from, struct err *e)
{
    static uint64_t fields[8192];
    struct opt_parser *p = opt_open("kvreplay", "", kvreplay_options, fields);
    struct conf *c = NULL;
    const void *value = NULL;
    const struct opt *o;
    int rc = conf_read(&c, &from, p, e);
    uint64_t rings = 0;

    for (size_t i = 0; rc == 0 && (o = opt_effective(p, i, &value)); i++)
        if (strcmp(o->name, "rings") == 0)
            rings = *(const uint64_t *)value;
    conf_free(c);
    opt_close(p);
    return rings;
}

static void programs_have_sections_and_settings(void **state)
{
    (void)state;
    struct err e = {0};

    const char *text = "kvreplay: {rings: 3}\nkvgen:\n  medium: [a=1, b=2]\n";

    put(text, strlen(text));
    assert_int_equal(rings_of((struct opt_list){.count = 0}, &e), 1);
    assert_int_equal(rings_of((struct opt_list){.item = {file}, .count = 1}, &e), 3);
    assert_int_equal(rings_of((struct opt_list){.item = {file, "rings=5"}, .count = 2}, &e), 5);
    assert_int_equal(rings_of((struct opt_list){.item = {"rings=5", file}, .count = 2}, &e), 3);
    assert_int_equal(
        rings_of((struct opt_list){.item = {"rings=5", "kvreplay.rings=6"}, .count = 2}, &e), 6);
    assert_int_equal(rings_of((struct opt_list){.item = {"rings=65"}, .count = 1}, &e), 0);
    assert_string_equal(e.where, "--config rings");
    assert_string_equal(e.what, "65 is above 64");
    assert_int_equal(rings_of((struct opt_list){.item = {"=3"}, .count = 1}, &e), 0);
    assert_int_equal(rings_of((struct opt_list){.item = {".=3"}, .count = 1}, &e), 0);
    assert_int_equal(rings_of((struct opt_list){.item = {"...rings=3"}, .count = 1}, &e), 0);
    assert_int_equal(rings_of((struct opt_list){.item = {"model_configs.=3"}, .count = 1}, &e), 0);
    assert_int_equal(rings_of((struct opt_list){.item = {"a.b.c.d.e=3"}, .count = 1}, &e), 0);
    assert_true(conf_is_setting("a=b=c"));
    assert_false(conf_is_setting("./a=b"));
    assert_false(conf_is_setting("a"));
    expect_error("kvreplay:\n  rings: 65\n", 2, "kvreplay.rings: 65 is above 64");
    expect_error("kvreplay:\n  rings: [1, 2]\n", 2, "kvreplay.rings: expected one value");
    expect_error("kvreplay:\n  target: d\n", 2, "kvreplay.target: not a key: it is the option");
    expect_error("kvgen:\n  limit: 3\n", 2, "kvgen.limit: not a key: it is the option --limit");
    expect_error("kvreplay: {storage_p95: 3}\n", 1,
                 "kvreplay.storage_p95: not a key here: it is the key "
                 "saturation_detection.read_latency_p95_threshold_ms");
    expect_error("kvstat: {storage_p95: 3}\n", 1, "kvstat.storage_p95: not a key here: it is");
    expect_error("chars_per_token: 3\n", 1,
                 "chars_per_token: not a key here: it is the key "
                 "sharegpt.chars_per_token_estimate");
    expect_error("kvreplay:\n  rings:\n    deep: 1\n", 3, "kvreplay.rings: expected one value");
}

/* Options that are keys now win over a file that stands behind them; each is told once, however
 * many they are. */
static void options_that_were_win(void **state)
{
    (void)state;
    static uint64_t fields[8192];
    char *argv[256] = {(char *)(uintptr_t) "kvreplay"}, texts[64][96];
    struct opt_parser *p = opt_open("kvreplay", "", kvreplay_options, fields);
    const char *text = "kvreplay: {rings: 3}\n";
    const void *value = NULL;
    const struct opt *o;
    struct conf *c = NULL;
    struct err e = {0};
    size_t told = 0;
    int n = 1;

    put(text, strlen(text));
    for (o = kvreplay_options; o->name || o->help; o++)
        if (opt_is_option(o) && o->flags & OPT_CONFIG && !o->key && o->type == OPT_U64) {
            snprintf(texts[n / 2], sizeof(texts[0]), "--%s", o->name);
            argv[n] = texts[n / 2];
            argv[n + 1] = (char *)(uintptr_t) "4";
            n += 2;
        }
    for (int i = 1; i < 37; i++) /* again, and each is told once */
        argv[n + i - 1] = argv[1 + (i - 1) % (n - 1)];
    assert_int_equal(opt_parse(p, n + 36, argv, &e), 0);
    assert_true(opt_moved(p, 18) != NULL);
    struct opt_list from = {.item = {file}, .count = 1};
    assert_int_equal(conf_read(&c, &from, p, &e), 0);
    while (conf_warning(c, told))
        told++;
    assert_int_equal(told, (n - 1) / 2);
    for (size_t i = 0; (o = opt_effective(p, i, &value)); i++)
        if (strcmp(o->name, "rings") == 0)
            assert_int_equal(*(const uint64_t *)value, 4);
    conf_free(c);
    opt_close(p);
}

/* An option in its program's section is told as that, even where a key has a similar name. */
static void every_option_in_a_section_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPT_PROGRAMS; i++) {
        for (const struct opt *o = opt_programs[i].table; o->name || o->help; o++) {
            char own[OPT_KEY_MAX], text[256], want[256];
            if (!opt_is_option(o) || (o->flags & OPT_CONFIG && !o->key))
                continue;
            snprintf(text, sizeof(text), "%s: {%s: x}\n", opt_programs[i].name, opt_key(o, own));
            snprintf(want, sizeof(want), "%s.%s: not a key%s%s", opt_programs[i].name, own,
                     o->key ? " here: it is the key " : ": it is the option --",
                     o->key ? o->key : o->name);
            expect_error(text, 1, want);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_without_a_file),
        cmocka_unit_test(values_of_the_file_win),
        cmocka_unit_test(empty_files_are_only_defaults),
        cmocka_unit_test(names_with_dots_stay_whole),
        cmocka_unit_test(unknown_keys_get_the_nearest_name),
        cmocka_unit_test(wrong_values_are_refused),
        cmocka_unit_test(bad_yaml_and_tricks_are_refused),
        cmocka_unit_test(keys_without_meaning_warn_once_each),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(counts_and_depth_are_bounded),
        cmocka_unit_test(the_table_is_sound),
        cmocka_unit_test(programs_have_sections_and_settings),
        cmocka_unit_test(options_that_were_win),
        cmocka_unit_test(every_option_in_a_section_is_named),
        cmocka_unit_test(settings_without_meaning_warn),
        cmocka_unit_test(places_of_several_sources),
        cmocka_unit_test(late_errors_have_their_place),
        cmocka_unit_test(keys_that_are_no_default_are_told),
        cmocka_unit_test(files_among_the_texts),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
