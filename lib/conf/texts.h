/* The texts of a program's --config: files, and settings KEY=VALUE. */
#ifndef KVTRACE_CONF_TEXTS_H
#define KVTRACE_CONF_TEXTS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/opt/files.h"
#include "lib/opt/table.h"

/* Whether a text of --config is KEY=VALUE, not the name of a file. */
bool conf_is_setting(const char *text);
/* The i-th file among the texts of --config, which are not all settings; NULL past the end. */
const char *conf_file(const struct opt_list *from, size_t i);
/* Whether one of them is standard input. */
bool conf_is_stdin(const struct opt_list *from);
/* Writes them to files, which has room for OPT_LIST_MAX, and returns how many they are. */
size_t conf_files(struct file_use *files, const struct opt_list *from);
/* Takes out the settings that are rows of a program's table: these rows say what holds, and some of
 * them, such as threads, decide no row of a trace. */
void conf_texts_forget(struct opt_list *from);

#endif
