#!/bin/sh
# structure.t - the rules of structure in CONTRIBUTING.md, by the includes of every source file, and the
# Makefile's lists against the files that are there. A bug looked like this: a header that compiled
# only behind another one, a report that read its own input, two headers that needed each other, a
# file that no list builds. Each check is also run on a small tree with that fault planted in it.
. "$(dirname "$0")/../../lib.sh"
plain_only
cd "$TOP" || exit 1

CC=${CC:-cc}
# sources TREE PATTERN: files of the library and the programs.
sources() { (cd "$1" && find lib kvgen kvreplay kvstat kvprecond -name "$2" 2>/dev/null) | sort; }

# Every check gets its files from a table: a line `FILE<tab>INCLUDED` for each include, as written.
includes() { # includes FOLDER: the table of a tree
    (cd "$1" && grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]' --include='*.[ch]' \
        lib kvgen kvreplay kvstat kvprecond 2>/dev/null) |
        sed -nE 's/^([^:]*):[0-9]+:[[:space:]]*#[[:space:]]*include[[:space:]]*([<"][^>"]*)[>"].*/\1\t\2/p' | sort -u
}

# list FILE NAME: a list of a Makefile, continued lines joined.
list() { sed -e ':a' -e '/\\$/N; s/\\\n/ /; ta' "$1" | sed -n "s|^$2 *:= *||p"; }

# ---- who includes whom: folders in the Makefile's order ----

# direction TREE: includes that lead from a folder to a later one, or to another program.
direction() {
    lib=$(list "$1/Makefile" LIB_FOLDERS)
    includes "$1" | awk -F'\t' -v lib="$lib" '
        BEGIN { n = split(lib, f, " "); for (i = 1; i <= n; i++) level[f[i]] = i }
        function folder(p) { sub(/\/[^\/]*$/, "", p); return p }
        function program(p) { sub(/\/.*/, "", p); return p }
        substr($2, 1, 1) == "\"" {
            to = substr($2, 2)
            if (to !~ /\//) { print $1 " includes " to " without its folder"; next }
            if (program($1) == "lib") {
                if (program(to) != "lib") print $1 " includes " to
                else if (!level[folder($1)]) print $1 ": its folder is not in LIB_FOLDERS"
                else if (level[folder(to)] > level[folder($1)] || !level[folder(to)]) print $1 " includes " to ", which comes later"
            } else if (program(to) != "lib" && program(to) != program($1)) print $1 " includes " to
        }
        substr($2, 1, 1) == "<" && $2 ~ /^<(lib|kvgen|kvreplay|kvstat|kvprecond)\// { print $1 " includes " $2 "> in angle brackets" }'
}

# stages TREE: includes against the data'\''s way inside a program: what comes first knows nothing of what follows.
stages() {
    includes "$1" | awk -F'\t' '
        $1 ~ /^kvgen\/source\// && $2 ~ /^"kvgen\/(sim|policy|curve|format)\// ||
        $1 ~ /^kvgen\/(sim|policy)\// && $2 ~ /^"kvgen\/(format|output|summary|options|run_source)/ ||
        $1 ~ /^kvgen\/curve\// && $2 ~ /^"kvgen\/(format|output|summary|options|run_source)/ ||
        $1 ~ /^kvgen\/format\// && $2 ~ /^"kvgen\/(curve|output|summary|options|run_source)/ ||
        $1 ~ /^kvreplay\/sched\// && $2 ~ /^"kvreplay\/[a-z_]*\.h/ ||
        $1 ~ /^kvstat\/count\// && $2 ~ /^"kvstat\/report\// { print $1 " includes " substr($2, 2) }'
}

# circles TREE: files of ours that include each other, through others too.
circles() {
    includes "$1" | awk -F'\t' '
        substr($2, 1, 1) == "\"" && $1 != substr($2, 2) && $1 ~ /\.h$/ { to[$1] = to[$1] " " substr($2, 2) }
        # A .c and its .h are one idea: what either includes, the pair does.
        substr($2, 1, 1) == "\"" && $1 ~ /\.c$/ {
            own = $1; sub(/\.c$/, ".h", own)
            if (substr($2, 2) != own) to[own] = to[own] " " substr($2, 2)
        }
        function visit(f,    n, i, part) {
            state[f] = 1
            n = split(to[f], part, " ")
            for (i = 1; i <= n; i++) {
                if (state[part[i]] == 1) print f " and " part[i] " include each other"
                else if (!state[part[i]]) visit(part[i])
            }
            state[f] = 2
        }
        END { for (f in to) if (!state[f]) visit(f) }'
}

# missing TREE: included files of ours that are not there.
missing() {
    includes "$1" | awk -F'\t' 'substr($2, 1, 1) == "\"" { print $1 "\t" substr($2, 2) }' |
        while IFS="$(printf '\t')" read -r f i; do [ -e "$1/$i" ] || echo "$f includes $i, which is not there"; done
}

# unlisted TREE: sources that no list builds, and names of lists that are no file.
unlisted() {
    (
        cd "$1" || exit
        for folders in LIB_FOLDERS KVGEN_FOLDERS KVREPLAY_FOLDERS KVSTAT_FOLDERS KVPRECOND_FOLDERS; do
            for d in $(list Makefile "$folders"); do
                for m in $(list Makefile "$d"); do echo "$d/$m.c"; done
            done
        done | sort >"$TMP/listed"
        sources . '*.c' >"$TMP/there"
        comm -13 "$TMP/listed" "$TMP/there" | sed 's/$/ stands in no list/'
        comm -23 "$TMP/listed" "$TMP/there" | sed 's/$/ is no file/'
    )
}

# crowded TREE: folders with more files than a reader takes in.
crowded() {
    (cd "$1" && find lib kvgen kvreplay kvstat kvprecond tests -name data -prune -o -type f -print 2>/dev/null) |
        sed 's|/[^/]*$||' | sort | uniq -c | awk '$1 > 34 { print $2 " has " $1 " files" }'
}

# ---- each external library enters at its files, its types show in no header ----

# HEADER  FILES that may include it
entrances() {
    cat <<'END'
zstd\.h|zstd_errors\.h|zdict\.h lib/trace/frame.c lib/trace/frame_out.c
csv\.h lib/trace/csv.c
json-c/.*|json\.h lib/json/jsonin.c lib/json/jsonout.c
xxhash\.h|xxh3\.h lib/base/hash.c
liburing\.h|liburing/.*|linux/io_uring\.h lib/io/uring.c
yaml\.h lib/conf/conf.c
cuda.* lib/tier/gpu.c
xlsxwriter.* kvstat/report/xlsx.c
END
}
entered() {
    entrances | while read -r header allowed; do
        includes "$1" | awk -F'\t' -v h="^<($header)$" -v allowed=" $allowed " \
            '$2 ~ h && !index(allowed, " " $1 " ") { print $1 " includes " substr($2, 2) }'
    done
}

# bare FILE: the file without its comments and the texts in quotes.
bare() { "$CC" -fpreprocessed -dD -E -P -x c "$1" 2>/dev/null | sed -e 's/"\([^"\\]\|\\.\)*"/""/g'; }

types='ZSTD_|json_object|json_tokener|XXH[0-9]|XXH_|io_uring_(sqe|cqe|params)|struct io_uring[^_]|yaml_|csv_parser|cuda[A-Z]|CU[a-z]|lxw_|LXW_'
shown() {
    sources "$1" '*.h' | while read -r f; do
        bare "$1/$f" | grep -nE "$types" | sed "s|^|$f: |"
    done
}

# ---- who knows what ----

# reached TREE: FILE<tab>HEADER for every header of ours that a file reaches, through others too.
reached() {
    includes "$1" | awk -F'\t' '
        substr($2, 1, 1) == "\"" { to[$1] = to[$1] " " substr($2, 2); all[$1] = 1 }
        function visit(f,    n, i, part) {
            n = split(to[f], part, " ")
            for (i = 1; i <= n; i++) if (!(part[i] in seen)) { seen[part[i]] = 1; visit(part[i]) }
        }
        END { for (f in all) { split("", seen); visit(f); for (h in seen) print f "\t" h } }'
}
knows() {
    reached "$1" | awk -F'\t' '
        $1 ~ /^lib\/(tier|io|data)\// && $2 ~ /^lib\/trace\// ||
        $1 ~ /^kvgen\/(sim|policy)\// && $2 ~ /^lib\/(io|tier|json|trace\/(frame|csv))/ ||
        $1 ~ /^kvstat\/report\// && $2 ~ /^lib\/(io|tier|trace\/(frame|csv))/ { print $1 " reaches " $2 }' | sort
}
opens() { # calls that open or read something, where nothing is opened
    (cd "$1" && find kvstat/report kvgen/sim kvgen/policy -name '*.c' 2>/dev/null) | while read -r f; do
        bare "$1/$f" |
            grep -nE '(^|[^a-z_])(fopen|open|openat|fdopen|trace_open|trace_cursor_[a-z]*|frame_in_[a-z]*|conf_open|jsonin_[a-z]*) *\(' |
            grep -v 'fopen *([^)]*, "w' | sed "s|^|$f: |"
    done
}

# ---- headers ----

alone() { # headers that do not compile alone; a compiler that is not there is a finding too
    "$CC" --version >/dev/null 2>&1 || {
        echo "no compiler: $CC"
        return
    }
    (
        cd "$1" || exit
        sources . '*.h' | while read -r f; do
            printf '#include "%s"\n' "$f" >"$TMP/alone.c"
            "$CC" -std=c17 -D_GNU_SOURCE -I. -Wall -Wextra -Wundef -Wstrict-prototypes -Werror -fsyntax-only \
                "$TMP/alone.c" >"$TMP/alone.err" 2>&1 || sed "s|^|$f: |; 3q" "$TMP/alone.err"
        done
    )
}
guards() {
    sources "$1" '*.h' | while read -r f; do
        guard=$(echo "${f#lib/}" | tr '[:lower:]/.' '[:upper:]__')
        grep -Eqx "#ifndef (KVTRACE_)?$guard" "$1/$f" || echo "$f: its guard is not $guard"
    done
}

# ---- the tree, and for each check a tree with the fault ----

is 'folders include themselves and those before them' "$(direction .)" ''
is 'stages of a program know nothing of those behind them' "$(stages .)" ''
is 'every file that is included is there' "$(missing .)" ''
is 'every source file stands in a list of the Makefile' "$(unlisted .)" ''
is 'each external library enters at its file' "$(entered .)" ''
is 'no header shows a type of an external library' "$(shown .)" ''
is 'each header compiles alone' "$(alone .)" ''
is 'each header is guarded by its own name' "$(guards .)" ''

# planted FILE TEXT: a small tree with that file in it besides a sound one.
planted() {
    rm -rf "$TMP/tree"
    mkdir -p "$TMP/tree/lib/base" "$TMP/tree/lib/tier" "$TMP/tree/$(dirname "$1")"
    printf 'LIB_FOLDERS := lib/base lib/tier\nlib/base := sound\n' >"$TMP/tree/Makefile"
    echo '#include "lib/base/sound.h"' >"$TMP/tree/lib/base/sound.c"
    printf '#ifndef BASE_SOUND_H\n#define BASE_SOUND_H\n#endif\n' >"$TMP/tree/lib/base/sound.h"
    printf '%b' "$2" >"$TMP/tree/$1"
    # what a finding leads to, so that only the planted fault is one
    touch "$TMP/tree/lib/tier/later.h"
}
finds() { # finds NAME CHECK EXPECTED: the check says so of the planted tree
    found=$("$2" "$TMP/tree")
    like "$1" "$found" "$3"
}
planted lib/base/high.h '#include "lib/tier/later.h"\n'
finds 'found: an include of a later folder' direction 'lib/base/high.h includes lib/tier/later.h'
planted kvstat/bad.h '#include "kvgen/sim/sim.h"\n'
finds 'found: a program that includes another' direction 'kvstat/bad.h includes kvgen/sim/sim.h'
finds 'found: an include of nothing' missing 'kvgen/sim/sim.h, which is not there'
planted kvgen/source/bad.h '#include "kvgen/sim/sim.h"\n'
finds 'found: a source that knows the simulator' stages 'kvgen/source/bad.h includes kvgen/sim/sim.h'
planted lib/base/one.h '#include "lib/base/two.h"\n'
echo '#include "lib/base/three.h"' >"$TMP/tree/lib/base/two.h"
echo '#include "lib/base/one.h"' >"$TMP/tree/lib/base/three.h"
finds 'found: a circle of three headers' circles 'include each other'
planted lib/base/stray.c ''
finds 'found: a file in no list' unlisted 'lib/base/stray.c stands in no list'
planted lib/base/bad.c '#include <zstd.h>\n'
finds 'found: a library entering elsewhere' entered 'lib/base/bad.c includes zstd.h'
planted lib/base/bad.h 'struct a {\n    ZSTD_CCtx *c; /* not here */\n};\n'
finds 'found: a type of a library' shown 'lib/base/bad.h.*ZSTD_CCtx'
planted lib/tier/bad.h '#include "lib/trace/trace.h"\n'
finds 'found: a tier that knows the trace' knows 'lib/tier/bad.h reaches lib/trace/trace.h'
planted kvstat/report/bad.c 'int f(void) { return open("x", 0); }\n'
finds 'found: a report that opens a file' opens 'kvstat/report/bad.c'
planted lib/base/needs.h 'struct uses { size_t n; };\n'
finds 'found: a header that does not compile alone' alone 'lib/base/needs.h.*size_t'
finds 'found: a header without its guard' guards 'lib/base/needs.h: its guard'
planted lib/base/sound2.h ''
is 'a sound tree has no finding' "$(direction "$TMP/tree")$(circles "$TMP/tree")$(missing "$TMP/tree")" ''
like 'found: no compiler' "$(CC=false && alone .)" 'no compiler: false'

# ---- the tests themselves ----

runnable() {
    for f in tests/cli/*/*.t; do [ -x "$f" ] || echo "$f"; done
}
is 'each test can be run' "$(runnable)" ''

done_testing
