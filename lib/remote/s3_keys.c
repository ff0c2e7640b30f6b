/* Before the first request: finds the keys of an object store. Source: AWS SDKs and Tools Reference
 * Guide, shared config and credentials files. */
#include "lib/remote/s3_keys.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PATH_CAP = 4096,
    LINE_CAP = 4608 /* longer lines are none of ours */
};

static const char *environment(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

/* to = value, unless it has one. NULL, or what is wrong with it: the value does not fit, or has a
 * character that none has: in a header it could end it and begin another. */
static const char *take(char *to, size_t cap, const char *value)
{
    if (strlen(value) >= cap)
        return "is too long";
    if (strpbrk(value, "\r\n"))
        return "has a line end in it or at its end, as a value read from a file may";
    for (const char *c = value; *c; c++) {
        if (*c <= ' ' || *c > '~')
            return "has a blank, a control character or a letter that is not ASCII";
    }
    if (!to[0])
        memcpy(to, value, strlen(value) + 1);
    return NULL;
}

/* The text without blanks around it; its end is cut off. */
static char *trimmed(char *text)
{
    size_t n = strlen(text);

    while (n > 0 && isspace((unsigned char)text[n - 1]))
        text[--n] = '\0';
    return text + strspn(text, " \t");
}

/* "[NAME]" or "[profile NAME]" begins the section of profile. */
static bool begins(char *line, const char *profile)
{
    char *end = strchr(line, ']');

    if (end)
        *end = '\0';
    char *name = trimmed(line + 1);
    if (strncmp(name, "profile", 7) == 0 && isblank((unsigned char)name[7]))
        name = trimmed(name + 7);
    return strcmp(name, profile) == 0;
}

static void take_line(struct s3_keys *k, char *line)
{
    const struct {
        const char *name;
        char *to;
        size_t cap;
        bool key;
    } known[] = {{"aws_access_key_id", k->id, sizeof(k->id), true},
                 {"aws_secret_access_key", k->secret, sizeof(k->secret), true},
                 {"aws_session_token", k->token, sizeof(k->token), true},
                 {"region", k->region, sizeof(k->region), false},
                 {"endpoint_url", k->endpoint, sizeof(k->endpoint), false}};
    char *equals = strchr(line, '=');

    if (!equals)
        return;
    *equals = '\0';
    const char *name = trimmed(line), *value = trimmed(equals + 1);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(name, known[i].name) != 0)
            continue;
        const char *fault = known[i].key ? take(known[i].to, known[i].cap, value) : NULL;
        if (fault) {
            k->wrong = known[i].name;
            k->fault = fault;
        } else if (!known[i].key && !known[i].to[0]) {
            snprintf(known[i].to, known[i].cap, "%s", value);
        }
    }
}

/* Takes what k lacks from the section of profile. True: the file has it. */
static bool read_profile(struct s3_keys *k, const char *path, const char *profile)
{
    char line[LINE_CAP];
    FILE *f = fopen(path, "re");
    bool inside = false, found = false, begun = true;

    while (f && fgets(line, sizeof(line), f)) {
        bool first = begun; /* else it is the rest of a line that is longer than any of ours */
        begun = strchr(line, '\n') != NULL;
        if (!first)
            continue;
        if (line[0] == '[') {
            inside = begins(line, profile);
            found |= inside;
        } else if (inside && !isspace((unsigned char)line[0]) && line[0] != '#' && line[0] != ';') {
            take_line(k, line); /* indented lines belong to settings that are lists */
        }
    }
    explicit_bzero(line, sizeof(line));
    if (f)
        fclose(f);
    return found;
}

/* The path that variable names, else name below ~/.aws. */
static void path_of(char path[PATH_CAP], const char *variable, const char *name)
{
    const char *given = environment(variable), *home = environment("HOME");

    if (given)
        snprintf(path, PATH_CAP, "%s", given);
    else
        snprintf(path, PATH_CAP, "%s/.aws/%s", home ? home : "", name);
}

/* The keys of the environment, into k. */
static int take_environment(struct s3_keys *k, const char *where, struct err *e)
{
    const struct {
        const char *name;
        char *to;
        size_t cap;
    } known[] = {{"AWS_ACCESS_KEY_ID", k->id, sizeof(k->id)},
                 {"AWS_SECRET_ACCESS_KEY", k->secret, sizeof(k->secret)},
                 {"AWS_SESSION_TOKEN", k->token, sizeof(k->token)}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const char *value = environment(known[i].name);
        const char *fault = value ? take(known[i].to, known[i].cap, value) : NULL;
        if (!fault)
            continue;
        s3_keys_forget(k);
        return err_set(e, -EACCES, ERR_TARGET, where, "%s in the environment %s", known[i].name,
                       fault);
    }
    return 0;
}

int s3_keys_find(struct s3_keys *k, const char *profile, const char *where, struct err *e)
{
    const char *id = environment("AWS_ACCESS_KEY_ID");
    const char *secret = environment("AWS_SECRET_ACCESS_KEY"), *named = environment("AWS_PROFILE");
    const char *name = profile[0] ? profile : named ? named : "default";
    char keys[PATH_CAP], config[PATH_CAP];

    *k = (struct s3_keys){0};
    if (!profile[0] && id && secret)
        return take_environment(k, where, e);
    path_of(keys, "AWS_SHARED_CREDENTIALS_FILE", "credentials");
    path_of(config, "AWS_CONFIG_FILE", "config");
    bool found = read_profile(k, keys, name);
    found |= read_profile(k, config, name);
    const char *wrong = k->wrong, *fault = k->fault;
    if (k->id[0] && k->secret[0] && !wrong)
        return 0;
    s3_keys_forget(k);
    if (wrong)
        return err_set(e, -EACCES, ERR_TARGET, where, "%s of the profile %.60s %s", wrong, name,
                       fault);
    if (found)
        return err_set(e, -EACCES, ERR_TARGET, where,
                       "the profile %.60s has no aws_access_key_id with its "
                       "aws_secret_access_key (no role is assumed, and no program asked)",
                       name);
    if (profile[0] || named)
        return err_set(e, -EACCES, ERR_TARGET, where,
                       "there is no profile %.60s in %.100s or %.100s", name, keys, config);
    if (id || secret)
        return err_set(e, -EACCES, ERR_TARGET, where,
                       "no keys: of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY only %s is in the "
                       "environment",
                       id ? "the first" : "the second");
    return err_set(e, -EACCES, ERR_TARGET, where,
                   "no keys: put them into the environment (AWS_ACCESS_KEY_ID, "
                   "AWS_SECRET_ACCESS_KEY) or into %.100s",
                   keys);
}

void s3_keys_forget(struct s3_keys *k)
{
    explicit_bzero(k, sizeof(*k));
}
