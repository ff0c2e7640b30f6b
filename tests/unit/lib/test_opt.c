/* Options: one table drives parser, --help and listing. Values get their type, range and default
 * from it, and what is wrong is said in one line that names the option. A bug looked like a
 * negative number taken for an option, a bad value silently 0, or help without its default. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/opt/opt.h"

struct fields {
    const char *output;
    bool verbose, verify;
    uint64_t seed, limit, size, rate;
    double gpu_gb, ratio;
    int64_t wait_ns;
    int mode;
    struct opt_list inputs;
};

#define AT(field) offsetof(struct fields, field)

static const struct opt table[] = {
    {.type = OPT_HEADING, .help = "Input and output"},
    {.name = "output",
     .letter = 'o',
     .type = OPT_TEXT,
     .offset = AT(output),
     .arg = "FILE",
     .def = "-",
     .alias = "out|to",
     .flags = OPT_NO_EFFECT,
     .help = "Where the rows go."},
    {.name = "input", .letter = 'i', .type = OPT_LIST, .offset = AT(inputs), .help = "A file."},
    {.name = "verbose",
     .letter = 'v',
     .type = OPT_FLAG,
     .offset = AT(verbose),
     .help = "Say more."},
    {.name = "verify",
     .type = OPT_FLAG,
     .offset = AT(verify),
     .def = "on",
     .help = "Check what is read, which takes a little time but finds what is wrong with a device "
             "before anybody believes its numbers."},
    {.type = OPT_HEADING, .help = "Numbers"},
    {.name = "seed", .type = OPT_U64, .offset = AT(seed), .def = "42", .help = "Seed."},
    {.name = "limit",
     .type = OPT_U64,
     .offset = AT(limit),
     .min = 1,
     .max = -1,
     .def = "7",
     .help = "Rows."},
    {.name = "gpu-mem",
     .type = OPT_GIB,
     .offset = AT(gpu_gb),
     .alias = "gpu-mem-gb",
     .def = "16GiB",
     .min = 0,
     .max = 65536,
     .help = "Memory of a GPU."},
    {.name = "ratio", .type = OPT_F64, .offset = AT(ratio), .min = -5, .max = 5, .help = "Ratio."},
    {.name = "chunk-size",
     .type = OPT_SIZE,
     .offset = AT(size),
     .def = "1M",
     .min = 4096,
     .max = 1 << 30,
     .help = "Bytes of an I/O."},
    {.name = "wait", .letter = 'w', .type = OPT_DURATION, .offset = AT(wait_ns), .help = "Wait."},
    {.name = "bandwidth", .type = OPT_BANDWIDTH, .offset = AT(rate), .help = "Bandwidth."},
    {.name = "mode",
     .letter = 'm',
     .type = OPT_ENUM,
     .offset = AT(mode),
     .def = "fast",
     .choices = "none|fast|realistic",
     .marks = 1,
     .help = "How fast."},
    {0},
};

struct run {
    struct fields f;
    struct opt_parser *p;
    struct err e;
    int rc;
};

/* Parses the arguments, ended by NULL. */
static struct run *parse(char *first, ...)
{
    struct run *r = calloc(1, sizeof(*r));
    char *argv[32] = {(char *)(uintptr_t) "kvtest"};
    int argc = 1;
    va_list args;

    va_start(args, first);
    for (char *a = first; a; a = va_arg(args, char *))
        argv[argc++] = a;
    va_end(args);
    memset(&r->f, 0x5a, sizeof(r->f)); /* every field is set by opt_open */
    r->p = opt_open("kvtest", "[options] [FILE...]", table, &r->f);
    assert_non_null(r->p);
    r->rc = opt_parse(r->p, argc, argv, &r->e);
    return r;
}

#define PARSE(...) parse(__VA_ARGS__, (char *)NULL)

static void done(struct run *r)
{
    opt_close(r->p);
    free(r);
}

static void expect_error(struct run *r, const char *where, const char *what)
{
    assert_int_equal(r->rc, -EINVAL);
    assert_int_equal(r->e.class, ERR_INPUT);
    assert_string_equal(r->e.where, where);
    assert_string_equal(r->e.what, what);
    done(r);
}

static void defaults_come_from_the_table(void **state)
{
    (void)state;
    struct run *r = parse(NULL);

    assert_int_equal(r->rc, 0);
    assert_string_equal(r->f.output, "-");
    assert_false(r->f.verbose);
    assert_true(r->f.verify);
    assert_int_equal(r->f.seed, 42);
    assert_true(r->f.gpu_gb == 16.0);
    assert_int_equal(r->f.size, 1 << 20);
    assert_int_equal(r->f.wait_ns, 0);
    assert_int_equal(r->f.mode, 1);
    assert_int_equal(r->f.inputs.count, 0);
    assert_false(opt_given(r->p, "seed"));
    done(r);
}

static void every_form_of_an_option_is_taken(void **state)
{
    (void)state;
    const char *const *operands;
    struct run *r = PARSE("--seed", "5", "--gpu-mem-gb=0.5", "-ofile", "first", "-vw", "1.5s",
                          "--input", "a", "-i", "b", "--no-verify", "-m", "realistic",
                          "--chunk-size", "64K", "--bandwidth=2GB/s", "-", "--", "--seed");

    assert_int_equal(r->rc, 0);
    assert_int_equal(r->f.seed, 5);
    assert_true(r->f.gpu_gb == 0.5);
    assert_string_equal(r->f.output, "file");
    assert_true(r->f.verbose);
    assert_false(r->f.verify);
    assert_int_equal(r->f.wait_ns, 1500000000);
    assert_int_equal(r->f.inputs.count, 2);
    assert_string_equal(r->f.inputs.item[1], "b");
    assert_int_equal(r->f.mode, 2);
    assert_int_equal(r->f.size, 65536);
    assert_int_equal(r->f.rate, 2000000000);
    assert_true(opt_given(r->p, "verify"));
    assert_int_equal(opt_operands(r->p, &operands), 3);
    assert_string_equal(operands[0], "first");
    assert_string_equal(operands[1], "-");
    assert_string_equal(operands[2], "--seed");
    done(r);
    r = PARSE("--out", "x", "-o", "-");
    assert_string_equal(r->f.output, "-");
    assert_true(opt_given(r->p, "output"));
    done(r);
    r = PARSE("--to", "y", "--gpu-mem", "512MiB");
    assert_string_equal(r->f.output, "y");
    assert_true(r->f.gpu_gb == 0.5);
    done(r);
}

static void bad_values_are_named(void **state)
{
    (void)state;
    expect_error(PARSE("--gpu-mem-gb", "-1"), "--gpu-mem", "-1 is below 0 B");
    expect_error(PARSE("--gpu-mem", "65537"), "--gpu-mem", "65537 is above 64.00 TiB");
    expect_error(PARSE("--gpu-mem", "65TiB"), "--gpu-mem", "65TiB is above 64.00 TiB");
    expect_error(PARSE("--gpu-mem-gb", "abc"), "--gpu-mem",
                 "'abc' is not a size (such as 16GiB, 512MiB; without a unit: GiB)");
    expect_error(PARSE("--gpu-mem-gb", "nan"), "--gpu-mem",
                 "'nan' is not a size (such as 16GiB, 512MiB; without a unit: GiB)");
    expect_error(PARSE("--gpu-mem-gb"), "--gpu-mem", "needs a value (SIZE)");
    expect_error(PARSE("--gpu-mem-gb", "--seed", "1"), "--gpu-mem", "needs a value (SIZE)");
    expect_error(PARSE("--seed", "-3"), "--seed", "-3 is below 0");
    expect_error(PARSE("--seed", "1.5"), "--seed", "'1.5' is not a whole number");
    expect_error(PARSE("--seed="), "--seed", "'' is not a whole number");
    expect_error(PARSE("--seed", "99999999999999999999"), "--seed",
                 "'99999999999999999999' is too large");
    expect_error(PARSE("--limit", "0"), "--limit", "0 is below 1");
    expect_error(PARSE("--chunk-size", "1"), "--chunk-size", "1 is below 4.00 KiB");
    expect_error(PARSE("-w", "-2s"), "--wait", "-2s is below 0");
    expect_error(PARSE("--mode", "slow"), "--mode", "'slow' is not one of: none, fast, realistic");
    expect_error(PARSE("--mode", "realstic"), "--mode",
                 "'realstic' is not one of: none, fast, realistic; did you mean realistic?");
    expect_error(PARSE("--mode", ""), "--mode", "'' is not one of: none, fast, realistic");
    expect_error(PARSE("--verbose=yes"), "--verbose", "takes no value, 'yes' was given");
}

static void negative_numbers_are_values_where_allowed(void **state)
{
    (void)state;
    struct run *r = PARSE("--ratio", "-2.5", "--limit", "18446744073709551615");

    assert_int_equal(r->rc, 0);
    assert_true(r->f.ratio == -2.5);
    assert_true(r->f.limit == UINT64_MAX);
    done(r);
}

static void unknown_options_get_the_nearest_name(void **state)
{
    (void)state;
    expect_error(PARSE("--gpu-mem-bg", "1"), "--gpu-mem-bg",
                 "unknown option; did you mean --gpu-mem?");
    expect_error(PARSE("--outt", "1"), "--outt", "unknown option; did you mean --output?");
    expect_error(PARSE("--chunk=5"), "--chunk", "unknown option; did you mean --chunk-size?");
    expect_error(PARSE("--hepl"), "--hepl", "unknown option; did you mean --help?");
    expect_error(PARSE("--zzzzzz"), "--zzzzzz", "unknown option; see kvtest --help");
    expect_error(PARSE("--no-verbose"), "--no-verbose", "unknown option; did you mean --verbose?");
    expect_error(PARSE("-vz"), "-z", "unknown option; see kvtest --help");
    /* abbreviations are no names: scripts outlive them */
    expect_error(PARSE("--see", "1"), "--see", "unknown option; did you mean --seed?");
}

static void lists_are_bounded(void **state)
{
    (void)state;
    struct fields f;
    struct err e = {0};
    struct opt_parser *p = opt_open("kvtest", "", table, &f);
    char *argv[2 * OPT_LIST_MAX + 4];
    int argc = 0;

    argv[argc++] = (char *)(uintptr_t) "kvtest";
    for (int i = 0; i <= OPT_LIST_MAX; i++) {
        argv[argc++] = (char *)(uintptr_t) "-i";
        argv[argc++] = (char *)(uintptr_t) "x";
    }
    argv[argc] = NULL;
    assert_int_equal(opt_parse(p, argc, argv, &e), -EINVAL);
    assert_string_equal(e.where, "--input");
    argv[argc -= 2] = NULL;
    opt_close(p);
    p = opt_open("kvtest", "", table, &f);
    assert_int_equal(opt_parse(p, argc, argv, &e), 0);
    assert_int_equal(f.inputs.count, OPT_LIST_MAX);
    opt_close(p);
}

static void help_says_what_the_table_says(void **state)
{
    (void)state;
    struct run *r = PARSE("--seed", "1", "-h", "--nonsense");
    const char *text = opt_answer(r->p);

    assert_int_equal(r->rc, 1);
    assert_non_null(strstr(text, "Usage: kvtest [options] [FILE...]\n"));
    assert_non_null(strstr(text, "\nInput and output:\n"));
    assert_non_null(strstr(text, "  -o, --output FILE"));
    assert_non_null(strstr(text, "(default: -)"));
    assert_non_null(strstr(text, "--[no-]verify"));
    assert_non_null(strstr(text, "(default: 16GiB; 0 B to"));
    assert_non_null(strstr(text, "4.00 KiB to 1.00 GiB"));
    assert_non_null(strstr(text, "(default: 7; at least 1)"));
    assert_non_null(strstr(text, "(default: fast; one of none,"));
    assert_non_null(strstr(text, "--version"));
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\n");
        assert_true(len < 80);
        line += len + (line[len] == '\n');
    }
    done(r);
}

/* Rows for experts come last, common ones alone make the short text, old ones are taken and shown
 * nowhere. */
static void help_has_two_levels(void **state)
{
    (void)state;
    struct fields f;
    struct err e = {0};
    static const struct opt levels[] = {
        {.type = OPT_HEADING, .help = "Depth"},
        {.name = "spin", .type = OPT_FLAG, .offset = AT(verify), .flags = OPT_EXPERT, .help = "S."},
        {.type = OPT_HEADING, .help = "Rows"},
        {.name = "seed", .type = OPT_U64, .offset = AT(seed), .flags = OPT_COMMON, .help = "D."},
        {.name = "limit", .type = OPT_U64, .offset = AT(limit), .help = "L."},
        {.name = "old", .type = OPT_FLAG, .offset = AT(verbose), .flags = OPT_OLD, .help = "O."},
        {.type = OPT_EXAMPLE, .help = "kvtest --seed 3"},
        {0}};
    char *brief[] = {(char *)(uintptr_t) "kvtest", (char *)(uintptr_t) "--old",
                     (char *)(uintptr_t) "--help", NULL};
    char *all[] = {(char *)(uintptr_t) "kvtest", (char *)(uintptr_t) "--help",
                   (char *)(uintptr_t) "all", NULL};
    struct opt_parser *p = opt_open("kvtest", "", levels, &f);

    assert_int_equal(opt_parse(p, 3, brief, &e), 1);
    assert_true(f.verbose);
    assert_non_null(strstr(opt_answer(p), "\nRows:\n"));
    assert_non_null(strstr(opt_answer(p), "--seed"));
    assert_non_null(strstr(opt_answer(p), "\nExamples:\n  kvtest --seed 3\n"));
    assert_null(strstr(opt_answer(p), "Depth"));
    assert_null(strstr(opt_answer(p), "--limit"));
    opt_close(p);
    p = opt_open("kvtest", "", levels, &f);
    assert_int_equal(opt_parse(p, 3, all, &e), 1);
    assert_non_null(strstr(opt_answer(p), "--limit"));
    assert_non_null(strstr(opt_answer(p), "\nRarely needed:\n      --spin"));
    assert_true(strstr(opt_answer(p), "--spin") > strstr(opt_answer(p), "--limit"));
    assert_null(strstr(opt_answer(p), "Depth"));
    assert_null(strstr(opt_answer(p), "--old"));
    opt_close(p);
}

/* A preset holds unless the option is given, and does not count as given. */
static void presets_yield_to_the_command_line(void **state)
{
    (void)state;
    struct run *r = PARSE("--seed", "5");
    struct err e = {0};

    assert_int_equal(opt_preset(r->p, "seed", "7", &e), 0);
    assert_int_equal(opt_preset(r->p, "mode", "none", &e), 0);
    assert_int_equal(r->f.seed, 5);
    assert_int_equal(r->f.mode, 0);
    assert_false(opt_given(r->p, "mode"));
    assert_int_equal(opt_preset(r->p, "mode", "slow", &e), -EINVAL);
    assert_string_equal(e.where, "--mode");
    done(r);
}

static void version_and_listing(void **state)
{
    (void)state;
    struct run *r = PARSE("--version");

    assert_int_equal(r->rc, 1);
    assert_string_equal(opt_answer(r->p), "kvtest " KVTRACE_VERSION "\n");
    done(r);
    r = PARSE("--list-options");
    assert_int_equal(r->rc, 1);
    assert_non_null(strstr(opt_answer(r->p), "output\to\ttext\tFILE\t-\tWhere the rows go.\n"));
    assert_non_null(strstr(opt_answer(r->p), "gpu-mem\t\tsize\tSIZE\t16GiB\tMemory of a GPU.\n"));
    assert_non_null(
        strstr(opt_answer(r->p), "mode\tm\tenum\tnone|fast|realistic\tfast\tHow fast.\n"));
    assert_null(strstr(opt_answer(r->p), "Numbers"));
    done(r);
}

/* A mark on the rows of the table, and modes that refuse or require it. */
enum {
    MARKED = 1,
    OTHER = 2
};

static void options_without_meaning_are_refused(void **state)
{
    (void)state;
    struct run *r = PARSE("--mode", "none", "--seed", "1");
    struct err e = {0};
    const struct opt_mode modes[] = {
        {.on = false, .refuses = MARKED, .why = "this mode is off"},
        {.on = true, .refuses = OTHER, .why = "no option has this mark"},
        {.on = true, .refuses = MARKED, .why = "only with --source users"},
    };

    assert_int_equal(opt_check_modes(r->p, modes, 2, &e), 0);
    assert_int_equal(opt_check_modes(r->p, modes, 3, &e), -EINVAL);
    assert_string_equal(e.where, "--mode");
    assert_string_equal(e.what, "only with --source users");
    done(r);
    r = PARSE("--seed", "1");
    assert_int_equal(opt_check_modes(r->p, modes, 3, &e), 0);
    done(r);
}

static void a_mode_takes_marked_options_only(void **state)
{
    (void)state;
    const struct opt_mode mode = {.on = true, .takes = MARKED, .why = "nothing else is used"};
    struct run *r = PARSE("--mode", "none");
    struct err e = {0};

    assert_int_equal(opt_check_modes(r->p, &mode, 1, &e), 0);
    done(r);
    r = PARSE("--mode", "none", "--verbose");
    assert_int_equal(opt_check_modes(r->p, &mode, 1, &e), -EINVAL);
    assert_string_equal(e.where, "--verbose");
    assert_string_equal(e.what, "nothing else is used");
    done(r);
}

static void effective_options_are_those_that_decide_the_rows(void **state)
{
    (void)state;
    struct run *r = PARSE("--seed", "9");
    const void *value;
    const struct opt *o;
    size_t n = 0, seeds = 0;

    for (; (o = opt_effective(r->p, n, &value)) != NULL; n++) {
        assert_string_not_equal(o->name, "output");
        if (strcmp(o->name, "seed") == 0)
            seeds += *(const uint64_t *)value;
    }
    assert_int_equal(n, 11);
    assert_int_equal(seeds, 9);
    done(r);
}

/* Rows that are keys of the configuration. */
static const struct opt keys[] = {
    {.name = "verify", .type = OPT_FLAG, .offset = AT(verify), .help = "On the command line."},
    {.name = "chunk-size",
     .type = OPT_SIZE,
     .offset = AT(size),
     .flags = OPT_CONFIG,
     .def = "1M",
     .min = 4096,
     .max = 1 << 30,
     .marks = 1,
     .sources = 2,
     .help = "Bytes of an I/O."},
    {.name = "verbose", .type = OPT_FLAG, .offset = AT(verbose), .flags = OPT_CONFIG, .help = "V."},
    {.name = "input", .type = OPT_LIST, .offset = AT(inputs), .flags = OPT_CONFIG, .help = "I."},
    {0},
};

static const char *only_two(uint32_t takes, uint32_t source)
{
    assert_int_equal(takes, 2);
    return source == 4 ? "not four" : "not this";
}

static void keys_of_the_configuration_are_no_options(void **state)
{
    (void)state;
    struct fields f;
    struct err e = {0};
    char *argv[] = {(char *)(uintptr_t) "kvtest", (char *)(uintptr_t) "--chunk-size=64K", NULL};
    struct opt_parser *p = opt_open("kvtest", "", keys, &f);

    assert_int_equal(opt_parse(p, 2, argv, &e), -EINVAL);
    assert_string_equal(e.where, "--chunk-size");
    assert_string_equal(e.what, "no option any more; use --config chunk_size=64K");
    assert_false(opt_given(p, "chunk-size"));
    opt_close(p);

    argv[1] = (char *)(uintptr_t) "--list-options";
    p = opt_open("kvtest", "", keys, &f);
    assert_int_equal(opt_parse(p, 2, argv, &e), 1);
    assert_null(strstr(opt_answer(p), "chunk-size"));
    assert_non_null(strstr(opt_answer(p), "verify"));
    opt_close(p);
}

static void keys_are_set_by_a_file_and_by_the_command_line(void **state)
{
    (void)state;
    struct fields f;
    struct err e = {0};
    char text[8] = "64K";
    struct opt_parser *p = opt_open("kvtest", "", keys, &f);
    const struct opt_mode mode = {.on = true, .refuses = 1, .why = "no"};

    assert_int_equal(opt_configure(p, &keys[1], text, "c.yaml:3", &e), 0);
    assert_int_equal(f.size, 65536);
    assert_true(opt_given(p, "chunk-size"));
    assert_int_equal(opt_check_modes(p, &mode, 1, &e), 0); /* of a file: the default again */
    assert_int_equal(f.size, 1 << 20);
    assert_false(opt_given(p, "chunk-size"));
    assert_int_equal(opt_configure(p, &keys[1], text, "c.yaml:3", &e), 0);
    assert_int_equal(opt_check_sources(p, 2, only_two, &e), 0);
    assert_int_equal(f.size, 65536);
    assert_int_equal(opt_check_sources(p, 4, only_two, &e), 0);
    assert_int_equal(f.size, 1 << 20);

    assert_int_equal(opt_configure(p, &keys[1], text, NULL, &e), 0);
    assert_int_equal(opt_check_sources(p, 2, only_two, &e), 0);
    assert_int_equal(opt_check_sources(p, 4, only_two, &e), -EINVAL); /* given: refused */
    assert_string_equal(e.where, "--config chunk_size");
    assert_string_equal(e.what, "not four");
    assert_int_equal(opt_check_modes(p, &mode, 1, &e), -EINVAL);
    assert_string_equal(e.what, "no");
    assert_int_equal(opt_configure(p, &keys[1], "1", NULL, &e), -EINVAL);
    assert_string_equal(e.what, "1 is below 4.00 KiB");

    assert_int_equal(opt_configure(p, &keys[2], "yes", "c.yaml:3", &e), 0);
    assert_true(f.verbose);
    assert_int_equal(opt_configure(p, &keys[2], "false", "c.yaml:3", &e), 0);
    assert_false(f.verbose);
    assert_int_equal(opt_configure(p, &keys[2], "True", "c.yaml:3", &e), 0);
    assert_true(f.verbose);
    assert_int_equal(opt_truth("NO"), 0);
    assert_int_equal(opt_truth("nO"), -1);
    double number = 0;
    assert_int_equal(opt_number(&keys[1], "2K", &number), 0);
    assert_true(number == 2048);
    assert_int_equal(opt_number(&keys[1], "2x", &number), -EINVAL);
    assert_int_equal(opt_check_text(&keys[2], "maybe", &e), -EINVAL);
    assert_string_equal(e.what, "'maybe' is not true or false");

    assert_int_equal(opt_configure(p, &keys[3], text, "c.yaml:3", &e), 0);
    text[0] = '7'; /* texts are copied */
    assert_int_equal(opt_configure(p, &keys[3], text, "c.yaml:3", &e), 0);
    assert_int_equal(f.inputs.count, 2);
    assert_string_equal(f.inputs.item[0], "64K");
    assert_string_equal(f.inputs.item[1], "74K");
    opt_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_come_from_the_table),
        cmocka_unit_test(every_form_of_an_option_is_taken),
        cmocka_unit_test(bad_values_are_named),
        cmocka_unit_test(negative_numbers_are_values_where_allowed),
        cmocka_unit_test(unknown_options_get_the_nearest_name),
        cmocka_unit_test(lists_are_bounded),
        cmocka_unit_test(help_says_what_the_table_says),
        cmocka_unit_test(help_has_two_levels),
        cmocka_unit_test(presets_yield_to_the_command_line),
        cmocka_unit_test(version_and_listing),
        cmocka_unit_test(options_without_meaning_are_refused),
        cmocka_unit_test(a_mode_takes_marked_options_only),
        cmocka_unit_test(effective_options_are_those_that_decide_the_rows),
        cmocka_unit_test(keys_of_the_configuration_are_no_options),
        cmocka_unit_test(keys_are_set_by_a_file_and_by_the_command_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
