/* test_uri.c - names of targets. Expected: every form in its parts, and for what is wrong a message
 * that helps and repeats no secret. A bug looked like "s3://b/x" taken for a path. */
/* builds: plain address arm64 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/tier/uri.h"

static struct uri parsed(const char *text)
{
    struct uri u;
    struct err e = {0};
    int rc = uri_parse(&u, text, "--target", &e);

    if (rc < 0)
        print_error("%s: %s\n", text, e.what);
    assert_int_equal(rc, 0);
    return u;
}

static void refused(const char *text, const char *why)
{
    struct uri u;
    struct err e = {0};

    assert_int_equal(uri_parse(&u, text, "--target", &e), -EINVAL);
    assert_int_equal(e.class, ERR_INPUT);
    assert_string_equal(e.where, "--target");
    if (!strstr(e.what, why))
        print_error("%s: %s\n", text, e.what);
    assert_non_null(strstr(e.what, why));
    assert_null(strstr(e.what, "secret"));
}

static void paths(void **state)
{
    (void)state;
    static const char *const same[] = {"/mnt/kv", "kv", "./a:b", "a:b", "dir/redis://x", "a=b"};

    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        struct uri u = parsed(same[i]);
        assert_int_equal(u.scheme, URI_PATH);
        assert_int_equal(u.tier, 2);
        assert_string_equal(u.path, same[i]);
    }
    assert_string_equal(parsed("file:/mnt/kv").path, "/mnt/kv");
    assert_string_equal(parsed("file:s3://b").path, "s3://b");
    assert_string_equal(parsed("2=/mnt/kv").path, "/mnt/kv");
    assert_int_equal(parsed("1=/mnt/kv").tier, 1);
    assert_string_equal(parsed("file:1=x").path, "1=x");
    assert_string_equal(parsed("dir?page").path, "dir?page");
    assert_string_equal(parsed("dir?pages=small/x").path, "dir?pages=small/x");
    refused("dir?pages=small", "file:dir?pages=small");
    refused("2=dir?like=vllm-fs", "file:dir?like=vllm-fs");
    assert_string_equal(parsed("file:dir?pages=small?").path, "dir?pages=small");
    assert_int_equal(parsed("file:dir?pages=small?").pages, URI_PAGES_DEFAULT);
    struct uri u = parsed("file:a?b?pages=small");
    assert_string_equal(u.path, "a?b");
    assert_int_equal(u.pages, URI_PAGES_SMALL);
    assert_int_equal(parsed("file:d?pages=huge").pages, URI_PAGES_HUGE);
    u = parsed("file:d?like=lmcache-fs&workers=4&load-workers=8&cache=drop&direct=no");
    assert_int_equal(u.like, URI_LIKE_LMCACHE_FS);
    assert_int_equal(u.workers, 4);
    assert_int_equal(u.load_workers, 8);
    assert_int_equal(u.keeps_cache, URI_CHOICE_NO);
    assert_int_equal(u.direct, URI_CHOICE_NO);
    assert_int_equal(parsed("file:d?like=vllm-fs").like, URI_LIKE_VLLM_FS);
    assert_string_equal(uri_like_text(URI_LIKE_LMCACHE_FS_DIRECT), "lmcache-fs-direct");
    refused("file:d?like=lmcache", "like=lmcache is not known: like= takes kvtrace, lmcache-fs,");
    refused("file:d?like=vllm-fs&like=lmcache-fs", "like= is given twice");
    refused("file:d?workers=4", "only with the like=");
    u = parsed("file:d?like=vllm-fs&pages=engine&pool=1GiB");
    assert_int_equal(u.pages, URI_PAGES_ENGINE);
    assert_int_equal(u.pool_bytes, UINT64_C(1) << 30);
    assert_int_equal(parsed("file:d?like=vllm-fs").pool_bytes, 0);
    refused("file:d?pages=engine", "only with the like=");
    refused("file:d?pool=1GiB", "only with the like=");
    refused("file:d?like=vllm-fs&pool=1023KiB", "1 MiB to 1 TiB");
    refused("file:d?like=vllm-fs&pool=2TiB", "1 MiB to 1 TiB");
    refused("file:d?like=vllm-fs&pool=much", "1 MiB to 1 TiB");
    refused("file:d?like=vllm-fs&pool=11111111111111111111111111111111111111", "1 MiB to 1 TiB");
    refused("file:d?like=vllm-fs&workers=65", "1 to 64");
    refused("s3://bucket/p?like=vllm-fs", "only to a directory");
    refused("redis://h?like=vllm-fs", "only to a directory");
    refused("file:d?pages=big", "huge or small, and engine with like=");
    refused("file:d?page=small", "did you mean pages=?");
    refused("file:?pages=small", "empty");
    refused("", "empty");
    refused("file:", "empty");
    refused("2=", "empty");
    refused("7=x", "0, 1 and 2");
}

static void redis(void **state)
{
    (void)state;
    struct uri u = parsed("redis://localhost:6380/3?connections=4&part=64KiB");

    assert_int_equal(u.scheme, URI_RESP);
    assert_string_equal(u.host, "localhost");
    assert_int_equal(u.port, 6380);
    assert_int_equal(u.database, 3);
    assert_int_equal(u.connections, 4);
    assert_int_equal(u.part_bytes, 65536);
    assert_false(u.tls);
    assert_string_equal(u.path, "");
    u = parsed("1=rediss://me@[::1]");
    assert_int_equal(u.tier, 1);
    assert_string_equal(u.host, "::1");
    assert_string_equal(u.user, "me");
    assert_int_equal(u.port, 6379);
    assert_true(u.tls);
    u = parsed("redis+unix:/run/redis.sock?db=2");
    assert_string_equal(u.socket, "/run/redis.sock");
    assert_int_equal(u.database, 2);
    assert_string_equal(parsed("redis://h/").host, "h");
    assert_int_equal(parsed("redis://h?db=2").database, 2);
    assert_int_equal(parsed("redis://h/?db=2").database, 2);
    refused("redis://h/1?db=2", "the database is given twice, behind the server and by db=");
    refused("redis://h/2?db=2", "the database is given twice");
}

/* The environment's words are held to the same rules. */
static void s3_environment(void **state)
{
    struct uri u = parsed("s3://abc");
    struct err e = {0};

    (void)state;
    assert_int_equal(uri_take_endpoint(&u, "http://host:1/", "AWS_ENDPOINT_URL", &e), 0);
    assert_string_equal(u.endpoint[0], "http://host:1");
    assert_int_equal(u.endpoints, 1);
    assert_int_equal(uri_take_endpoint(&u, "http://host/path", "AWS_ENDPOINT_URL", &e), -EINVAL);
    assert_string_equal(e.where, "AWS_ENDPOINT_URL");
    assert_non_null(strstr(e.what, "without a path"));
    assert_int_equal(uri_take_endpoint(&u, "http://me:secret@host", "A", &e), -EINVAL);
    assert_null(strstr(e.what, "secret"));
    assert_int_equal(uri_take_region(&u, "eu-1", "AWS_REGION", &e), 0);
    assert_string_equal(u.region, "eu-1");
    assert_int_equal(uri_take_region(&u, "eu 1", "AWS_REGION", &e), -EINVAL);
    assert_int_equal(uri_take_region(&u, "eu\r\nx: y", "AWS_REGION", &e), -EINVAL);
    assert_true(uri_bucket_in_host(&u));
}

static void s3(void **state)
{
    (void)state;
    struct uri u = parsed("s3://kv-cache/a/b/?endpoint=http://127.0.0.1:9000&endpoint=https://two/&"
                          "region=eu-1&connections=8&unlocked&insecure&ca=/etc/ca.pem");

    assert_int_equal(u.scheme, URI_S3);
    assert_string_equal(u.bucket, "kv-cache");
    assert_string_equal(u.prefix, "a/b");
    assert_int_equal(u.endpoints, 2);
    assert_string_equal(u.endpoint[0], "http://127.0.0.1:9000");
    assert_string_equal(u.endpoint[1], "https://two");
    assert_string_equal(u.region, "eu-1");
    assert_string_equal(u.ca, "/etc/ca.pem");
    assert_true(u.unlocked && u.insecure);
    assert_string_equal(parsed("s3://abc").prefix, "");
    refused("s3://ab/x", "3 to 63");
    refused("s3:///x", "3 to 63");
    refused("s3://abc/a b", "letters, digits");
    refused("s3://abc//a", "two slashes");
    /* Parts that a library or a server would take out of the path. */
    refused("s3://bkt/a/../b", "\"..\"");
    refused("s3://bkt/..", "\"..\"");
    refused("s3://bkt/./a", "\".\"");
    refused("s3://bkt/a/.", "\".\"");
    refused("s3://bkt/a//b", "empty part");
    refused("s3://bkt/%2e%2e/b", "letters, digits");
    refused("s3://.../b", "begins and ends");
    refused("s3://-abc", "begins and ends");
    refused("s3://abc.", "begins and ends");
    refused("s3://a..b/p", "begins and ends");
    assert_string_equal(parsed("s3://a.b-c_D/..a/.b/c..").prefix, "..a/.b/c..");
    refused("s3://Abc?style=virtual", "lower-case");
    refused("s3://a_c?style=virtual", "lower-case");
    refused("s3://abc?region=a/b", "region=");
    refused("s3://abc?region=a:b", "region=");
    refused("s3://abc?endpoint=http://", "http://");
    refused("s3://abc?endpoint=http://..", "invalid server name");
    refused("s3://abc?endpoint=http://a..b:1", "invalid server name");
    refused("s3://abc?endpoint=http://:80", "invalid server name");
    refused("s3://abc?endpoint=http://[::1", "invalid server name");
    refused("s3://abc?endpoint=http://a]:1", "invalid server name");
    refused("s3://abc?endpoint=http://a:0", "port");
    refused("s3://abc?endpoint=http://a:65536", "port");
    refused("s3://abc?endpoint=http://a:b", "port");
    refused("s3://abc?endpoint=http://[::1]x", "port");
    assert_string_equal(parsed("s3://abc?endpoint=https://[::1]:9000//").endpoint[0],
                        "https://[::1]:9000");
    refused("s3://abc?endpoint=host", "http://");
    refused("s3://abc?endpoint=http://host/path", "without a path");
    refused("s3://abc?endpoint=http://me:secret@host", "AWS_ACCESS_KEY_ID");
    refused("s3://me:secret@abc", "AWS_ACCESS_KEY_ID");
    refused("s3://abc?unlocked=yes", "takes no value");
    refused("s3://abc?unlocked&unlocked", "unlocked is given twice");
    assert_int_equal(parsed("s3://abc?part=5MiB").part_bytes, 5 << 20);
    assert_int_equal(parsed("s3://abc?part=5GiB").part_bytes, INT64_C(5) << 30);
    assert_int_equal(parsed("s3://abc").part_bytes, 0);
    assert_int_equal(parsed("s3://abc").style, URI_STYLE_DEFAULT);
    assert_int_equal(parsed("s3://abc?style=path").style, URI_STYLE_PATH);
    assert_int_equal(parsed("s3://abc?style=virtual&proxy=env").style, URI_STYLE_VIRTUAL);
    assert_true(parsed("s3://abc?proxy=env").proxy_env);
    assert_false(parsed("s3://abc").proxy_env);
    assert_string_equal(parsed("s3://abc?profile=work").profile, "work");
    refused("s3://abc?profile=", "no value");
    refused("redis://h?profile=a", "no parameter");
    refused("s3://abc?style=virtua", "path or virtual");
    refused("s3://abc?proxy=http://me:secret@host", "environment");
    refused("redis://h?style=path", "no parameter");
    refused("s3://abc?part=4MiB", "5 MiB");
    refused("s3://abc?part=5243000", "4 KiB");
    refused("s3://abc?part=6GiB", "5 GiB");
}

static void mistakes(void **state)
{
    (void)state;
    refused("redi://h", "did you mean redis://HOST:PORT/DB?");
    refused("ftp://h", "no kind of target that is known");
    refused("redis:localhost", "expected redis://HOST:PORT/DB");
    refused("redis://", "server is missing");
    refused("redis:///0", "server is missing");
    refused("redis://h:0", "port");
    refused("redis://h:65536", "port");
    refused("redis://h:1x", "port");
    refused("redis://[::1]6379", "port");
    refused("redis://h/x", "database");
    refused("redis://h o", "character");
    refused("redis://h?conections=3", "did you mean connections=?");
    refused("redis://h?colour=secret", "colour= is no parameter");
    refused("redis://h?part", "no value");
    refused("redis://h?part=5000", "4 KiB");
    refused("redis://h?part=1GiB", "512 MiB");
    refused("redis://h?connections=0", "from 1");
    refused("redis+unix:", "empty");
    refused("redis+unix:?db=1", "socket is missing");
}

/* A password is refused wherever it stands, and repeated nowhere. */
static void passwords(void **state)
{
    (void)state;
    refused("redis://:secret@h", "REDISCLI_AUTH");
    refused("redis://me:secret@h:1/0", "REDISCLI_AUTH");
    refused("redis://me:a@secret@h", "REDISCLI_AUTH");
    refused("redis://h?password=secret", "REDISCLI_AUTH");
    refused("redis://%3Asecret@h", "REDISCLI_AUTH");
    refused("redis://me%3asecret@h", "REDISCLI_AUTH");
    refused("rediss://:secret@h", "REDISCLI_AUTH");
    refused("redis+unix:me:secret@/path", "REDISCLI_AUTH");
    refused("redis+unix:secret@/path?db=1", "REDISCLI_AUTH");
    refused("redis+unix://me:secret@/path", "REDISCLI_AUTH");
    refused("foo://me:secret@h", "no kind of target that is known");
}

static void too_long(void **state)
{
    (void)state;
    char text[2000] = "redis://";

    memset(text + 8, 'a', sizeof(text) - 9);
    refused(text, "too long");
    memcpy(text, "redis://h?", 10);
    refused(text, "unknown parameter");
    memset(text, 'a', sizeof(text) - 1);
    memcpy(text + sizeof(text) - 6, "://x", 4);
    refused(text, "unknown kind of target");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths),          cmocka_unit_test(redis),    cmocka_unit_test(s3),
        cmocka_unit_test(s3_environment), cmocka_unit_test(mistakes), cmocka_unit_test(passwords),
        cmocka_unit_test(too_long),
    };
    return cmocka_run_group_tests_name("uri", tests, NULL, NULL);
}
