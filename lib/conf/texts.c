/* Before conf.c, which reads them: tells the texts of --config apart, files and KEY=VALUE. */
#include "lib/conf/texts.h"

#include <string.h>

#include "lib/conf/keys.h"
#include "lib/opt/tables.h"

bool conf_is_setting(const char *text)
{
    static const char signs[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    size_t n = strspn(text, signs);

    return n > 0 && n < CONF_NAME_MAX && text[n] == '=';
}

const char *conf_file(const struct opt_list *from, size_t i)
{
    for (size_t k = 0; k < from->count; k++)
        if (!conf_is_setting(from->item[k]) && i-- == 0)
            return from->item[k];
    return NULL;
}

bool conf_is_stdin(const struct opt_list *from)
{
    const char *file;

    for (size_t i = 0; (file = conf_file(from, i)); i++)
        if (strcmp(file, "-") == 0)
            return true;
    return false;
}

size_t conf_files(struct file_use *files, const struct opt_list *from)
{
    size_t n = 0;

    for (const char *file; (file = conf_file(from, n)); n++)
        files[n] = (struct file_use){FILES_READ, "--config", file};
    return n;
}

void conf_texts_forget(struct opt_list *from)
{
    size_t left = 0;

    for (size_t i = 0; i < from->count; i++) {
        const char *text = from->item[i];
        size_t section = strcspn(text, ".=");
        bool row = conf_is_setting(text) &&
                   (text[section] == '=' || opt_program_named(text, section) != NULL);
        if (!row)
            from->item[left++] = text;
    }
    from->count = left;
}
