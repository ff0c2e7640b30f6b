/* test_s3_keys.c - keys of an object store. Expected: the environment first, a profile that is
 * named before it, comments and other sections passed over, and no key in a message. A bug looked
 * like a run with another profile's keys. */
/* builds: plain address arm64 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/remote/s3_keys.h"

static const char *const variables[] = {"AWS_ACCESS_KEY_ID",           "AWS_SECRET_ACCESS_KEY",
                                        "AWS_SESSION_TOKEN",           "AWS_PROFILE",
                                        "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"};
static char keys_path[] = "/tmp/kvtrace-keys-XXXXXX", config_path[] = "/tmp/kvtrace-conf-XXXXXX";

static void file(char *path, const char *text)
{
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static int begin(void **state)
{
    (void)state;
    file(keys_path, "# mine\n[default]\naws_access_key_id = ID0\naws_secret_access_key=s=0 \n"
                    "[work]\n; aws_access_key_id = no\naws_access_key_id=ID1\r\n"
                    "aws_secret_access_key = secret\n  aws_session_token = nested\n"
                    "[half]\naws_access_key_id = ID2\n");
    file(config_path,
         "[profile work]\nregion = eu-1\nendpoint_url = http://host:1\n"
         "aws_access_key_id = later\naws_session_token = token\n[worker]\nregion = x\n");
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(keys_path);
    unlink(config_path);
    return 0;
}

static int fresh(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
        unsetenv(variables[i]);
    setenv("AWS_SHARED_CREDENTIALS_FILE", keys_path, 1);
    setenv("AWS_CONFIG_FILE", config_path, 1);
    return 0;
}

static struct s3_keys found(const char *profile)
{
    struct s3_keys k;
    struct err e = {0};

    assert_int_equal(s3_keys_find(&k, profile, "s3://b", &e), 0);
    return k;
}

static void refused(const char *profile, const char *why)
{
    struct s3_keys k;
    struct err e = {0};

    assert_int_equal(s3_keys_find(&k, profile, "s3://b", &e), -EACCES);
    assert_int_equal(e.class, ERR_TARGET);
    assert_non_null(strstr(e.what, why));
    assert_null(strstr(e.what, "ID2"));
    assert_string_equal(k.id, "");
}

static void files(void **state)
{
    (void)state;
    struct s3_keys k = found("");

    assert_string_equal(k.id, "ID0");
    assert_string_equal(k.secret, "s=0");
    assert_string_equal(k.token, "");
    k = found("work");
    assert_string_equal(k.id, "ID1");
    assert_string_equal(k.secret, "secret");
    assert_string_equal(k.token, "token");
    assert_string_equal(k.region, "eu-1");
    assert_string_equal(k.endpoint, "http://host:1");
    setenv("AWS_PROFILE", "work", 1);
    assert_string_equal(found("").id, "ID1");
    assert_string_equal(found("default").id, "ID0");
    s3_keys_forget(&k);
    assert_string_equal(k.secret, "");
}

static void environment_first(void **state)
{
    (void)state;
    setenv("AWS_ACCESS_KEY_ID", "ID", 1);
    assert_string_equal(found("").id, "ID0"); /* one half is none */
    setenv("AWS_SECRET_ACCESS_KEY", "e", 1);
    setenv("AWS_PROFILE", "work", 1);
    assert_string_equal(found("").id, "ID");
    assert_string_equal(found("").secret, "e");
    assert_string_equal(found("work").id, "ID1");
}

static void none(void **state)
{
    (void)state;
    refused("half", "half has no aws_access_key_id with its");
    refused("nobody", "no profile nobody in");
    setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent/keys", 1);
    refused("", "AWS_ACCESS_KEY_ID");
    setenv("AWS_SECRET_ACCESS_KEY", "e", 1);
    refused("", "only the second is in the environment");
}

/* A text that could end a header and begin another, or would be cut, is no key. */
static void what_is_no_key(void **state)
{
    static char long_token[6000];

    (void)state;
    setenv("AWS_ACCESS_KEY_ID", "ID2", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "e", 1);
    assert_string_equal(found("").id, "ID2");
    setenv("AWS_SESSION_TOKEN", "token\r\nX-Other: ID2", 1);
    refused("", "AWS_SESSION_TOKEN in the environment has a line end");
    setenv("AWS_SESSION_TOKEN", "to ken", 1);
    refused("", "AWS_SESSION_TOKEN in the environment has a blank");
    setenv("AWS_SECRET_ACCESS_KEY", "e\n", 1);
    refused("", "AWS_SECRET_ACCESS_KEY in the environment has a line end");
    setenv("AWS_SECRET_ACCESS_KEY", "e", 1);
    memset(long_token, 't', sizeof(long_token) - 1);
    setenv("AWS_SESSION_TOKEN", long_token, 1);
    refused("", "too long");
    /* In a file the rest of a line that is too long is no line of its own. */
    char path[] = "/tmp/kvtrace-keys-XXXXXX", head[] = "[default]\naws_access_key_id=ID2\n"
                                                       "aws_session_token=";
    file(path, head);
    FILE *f = fopen(path, "ae");
    assert_non_null(f);
    fprintf(f, "%s\naws_secret_access_key=s\n", long_token);
    fclose(f);
    fresh(NULL);
    setenv("AWS_SHARED_CREDENTIALS_FILE", path, 1);
    refused("", "aws_session_token of the profile default is too long");
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(files, fresh),
        cmocka_unit_test_setup(environment_first, fresh),
        cmocka_unit_test_setup(none, fresh),
        cmocka_unit_test_setup(what_is_no_key, fresh),
    };
    return cmocka_run_group_tests_name("s3 keys", tests, begin, end);
}
