#!/bin/sh
# structure.t - the first four rules of CONTRIBUTING.md, by the includes of every source file, and the
# Makefile's lists against the files that are there. A bug looked like this: a header that compiled
# only behind another one, a report that read its own input, a file that no list builds.
. "$(dirname "$0")/../lib.sh"
plain_only
cd "$TOP" || exit 1

programs='kvgen kvreplay kvstat kvprecond'
folders="lib $programs"

# files SUFFIX DIR...: the files that are there, one a line.
files() {
    suffix=$1
    shift
    for dir; do
        for f in "$dir"/*"$suffix"; do [ ! -e "$f" ] || echo "$f"; done
    done
}

# list NAME: a list of the Makefile, continued lines joined.
list() { sed -e ':a' -e '/\\$/N; s/\\\n/ /; ta' Makefile | sed -n "s/^$1 *:= *//p"; }

# includes FILE: what it includes, as it is written between the quotes or angle brackets.
includes() { sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]\([^>"]*\)[>"].*/\1/p' "$1"; }

# bare FILE: the file without its comments and the texts in quotes.
bare() {
    sed -e 's/"\([^"\\]\|\\.\)*"/""/g' "$1" | awk '{
        line = $0; out = ""
        while (line != "") {
            if (inside) {
                i = index(line, "*/")
                if (!i) break
                line = substr(line, i + 2); inside = 0
            } else {
                i = index(line, "/*"); j = index(line, "//")
                if (j && (!i || j < i)) { out = out substr(line, 1, j - 1); break }
                if (!i) { out = out line; break }
                out = out substr(line, 1, i - 1) " "; line = substr(line, i + 2); inside = 1
            }
        }
        print out
    }'
}

# level MODULE: 0, 1 or 2. A header without a .c of its own stands where the files do that carry its name
# (tier.h: tier_host.c) or whose name it carries (data_body.h: data.c); one that the lists do not know has none.
level() {
    for n in 0 1 2; do
        for m in $(list "LIB_$n"); do
            if [ "$m" = "$1" ]; then echo "$n" && return; fi
        done
    done
    for n in 0 1 2; do
        for m in $(list "LIB_$n"); do
            case $m in "$1"_*) echo "$n" && return ;; esac
            case $1 in "$m"_*) echo "$n" && return ;; esac
        done
    done
}

# ---- rule 1: who includes whom ----

program_includes() {
    for p in $programs; do
        for f in $(files .c "$p") $(files .h "$p"); do
            for i in $(includes "$f"); do
                case $i in
                lib/* | "$p"/*) [ -e "$i" ] || echo "$f includes $i, which is not there" ;;
                */*.h) grep -q "<$i>" "$f" || echo "$f includes $i" ;;
                *) grep -q "<$i>" "$f" || echo "$f includes $i without its folder" ;;
                esac
            done
        done
    done
}
is 'a program includes lib/ and itself only' "$(program_includes)" ''

library_includes() {
    for f in $(files .c lib) $(files .h lib); do
        m=${f#lib/}
        own=$(level "${m%.[ch]}")
        [ -n "$own" ] || {
            echo "$f stands in no level of the Makefile"
            continue
        }
        for i in $(includes "$f"); do
            case $i in
            lib/*)
                m=${i#lib/}
                other=$(level "${m%.h}")
                [ "${other:-9}" -le "$own" ] || echo "$f (level $own) includes $i (level ${other:-none})"
                ;;
            kvgen/* | kvreplay/* | kvstat/* | kvprecond/*) echo "$f includes $i" ;;
            *) grep -q "<$i>" "$f" || echo "$f includes $i without its folder" ;;
            esac
        done
    done
}
is 'the library includes its own level or below' "$(library_includes)" ''

unlisted() {
    for f in $(files .c lib); do
        m=${f#lib/}
        case " $(list LIB_0) $(list LIB_1) $(list LIB_2) " in *" ${m%.c} "*) ;; *) echo "$f" ;; esac
    done
    for p in $programs; do
        upper=$(echo "$p" | tr '[:lower:]' '[:upper:]')
        for f in $(files .c "$p"); do
            m=${f#"$p"/}
            case " $(list "$upper") " in *" ${m%.c} "*) ;; *) echo "$f" ;; esac
        done
    done
}
is 'every source file stands in a list of the Makefile' "$(unlisted)" ''

absent() {
    for m in $(list LIB_0) $(list LIB_1) $(list LIB_2); do [ -e "lib/$m.c" ] || echo "lib/$m.c"; done
    for p in $programs; do
        for m in $(list "$(echo "$p" | tr '[:lower:]' '[:upper:]')"); do
            [ -e "$p/$m.c" ] || echo "$p/$m.c"
        done
    done
}
is 'every name in the lists of the Makefile is a file' "$(absent)" ''

# ---- rule 2: each external library enters at one place, its types show in no header ----

# HEADER  FILES that may include it
entrances() {
    cat <<'END'
zstd\.h|zstd_errors\.h|zdict\.h lib/frame.c
csv\.h lib/csv.c
json-c/.*|json\.h lib/jsonin.c lib/jsonout.c
xxhash\.h|xxh3\.h lib/hash.c
liburing\.h|liburing/.*|linux/io_uring\.h lib/io_uring.c
yaml\.h lib/conf.c
cuda.* lib/tier_gpu.c
xlsxwriter.* kvstat/xlsx.c
END
}
external_includes() {
    entrances | while read -r header allowed; do
        # shellcheck disable=SC2046,SC2086 # lists of files and folders
        grep -lE "^[[:space:]]*#[[:space:]]*include[[:space:]]*<($header)>" \
            $(files .c $folders) $(files .h $folders) | while read -r f; do
            case " $allowed " in *" $f "*) ;; *) echo "$f includes $header" ;; esac
        done
    done
}
is 'each external library enters at its file' "$(external_includes)" ''

types='ZSTD_|json_object|json_tokener|XXH[0-9]|XXH_|io_uring_(sqe|cqe|params)|struct io_uring[^_]|yaml_|csv_parser|cuda[A-Z]|CU[a-z]|lxw_|LXW_'
external_types() {
    # shellcheck disable=SC2086
    for f in $(files .h $folders); do
        bare "$f" | grep -nE "$types" | sed "s|^|$f: |"
    done
}
is 'no header shows a type of an external library' "$(external_types)" ''

# ---- rule 3: who knows what ----

# reaches FILE: every header of ours that it includes, through others too.
reaches() { "${CC:-cc}" -std=c17 -D_GNU_SOURCE -DKVTRACE_CUDA=0 -I. -MM "$1" | tr ' ' '\n' | grep '\.h$'; }

knows() { # knows HEADERS FILE...: the files that reach one of the headers
    headers=$1
    shift
    for f; do
        [ -e "$f" ] || continue
        reaches "$f" | grep -xE "lib/($headers)\.h" | sed "s|^|$f reaches |"
    done
}
is 'tiers and layouts do not know the trace' \
    "$(knows trace lib/tier*.[ch] lib/layout*.[ch] lib/extent.[ch] lib/io*.[ch])" ''
is 'the simulator knows neither files nor engines' \
    "$(knows 'frame|csv|jsonin|io|tier|layout|target' kvgen/sim*.[ch] kvgen/hierarchy*.[ch] kvgen/policy*.[ch])" ''
is 'reports know no input' \
    "$(knows 'frame|csv|jsonin|io|tier|target' kvstat/report*.[ch])" ''

opens_input() { # calls that open or read something
    for f in kvstat/report*.c kvgen/sim*.c kvgen/hierarchy*.c kvgen/policy*.c; do
        [ ! -e "$f" ] || bare "$f" |
            grep -nE '(^|[^a-z_])(fopen|open|openat|fdopen|trace_open|trace_cursor_[a-z]*|frame_in_[a-z]*|conf_open|jsonin_[a-z]*) *\(' |
            grep -v 'fopen *([^)]*, "w' | sed "s|^|$f: |"
    done
}
is 'reports and the simulator open no input' "$(opens_input)" ''

# ---- rule 4: a header compiles alone ----

alone() {
    # shellcheck disable=SC2086
    for f in $(files .h $folders); do
        printf '#include "%s"\n' "$f" | "${CC:-cc}" -std=c17 -D_GNU_SOURCE -I. -Wall -Wextra -Wundef \
            -Wstrict-prototypes -Werror -fsyntax-only -x c - 2>&1 | head -n 3 | sed "s|^|$f: |"
    done
}
is 'each header compiles alone' "$(alone)" ''

guards() {
    # shellcheck disable=SC2086
    for f in $(files .h $folders); do
        guard=$(echo "${f#lib/}" | tr '[:lower:]/.' '[:upper:]__')
        grep -Eqx "#ifndef (KVTRACE_)?$guard" "$f" || echo "$f: its guard is not $guard"
    done
}
is 'each header is guarded by its own name' "$(guards)" ''

# ---- the tests themselves ----

runnable() {
    for f in tests/cli/*.t; do [ -x "$f" ] || echo "$f"; done
}
is 'each test can be run' "$(runnable)" ''

done_testing
