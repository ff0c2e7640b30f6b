#!/bin/sh
# structure.t - the rules of structure in CONTRIBUTING.md, checked by the includes of every source file, and the lists
# of the Makefile against the files. A bug looked like a header that compiled only after another one, a report that read
# its own input, two headers that needed each other, or a file in no list. Each check also runs on a small tree in which
# its fault is planted.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TOP" || exit 1

CC=${CC:-cc}
# sources TREE PATTERN: files of the library and the programs.
sources() { (cd "$1" && find lib kvgen kvreplay kvstat kvprecond -name "$2" 2>/dev/null) | sort; }

# includes TREE: a line "FILE<tab>INCLUDED" for each include, as written: "folder/name or <name.
includes() {
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
                else if (level[folder(to)] > level[folder($1)] || !level[folder(to)])
                    print $1 " includes " to ", which comes later"
            } else if (program(to) != "lib" && program(to) != program($1)) print $1 " includes " to
        }
        $2 ~ /^<(lib|kvgen|kvreplay|kvstat|kvprecond)\// { print $1 " includes " $2 "> in angle brackets" }'
}

# stages TREE: includes against the way of the data inside a program: a stage knows nothing of the stages after it.
stages() {
    includes "$1" | awk -F'\t' '
        $1 ~ /^kvgen\/source\// && $2 ~ /^"kvgen\/(sim|policy|curve|format)\// ||
        $1 ~ /^kvgen\/(sim|policy)\// && $2 ~ /^"kvgen\/(format|output|summary|options|run_source)/ ||
        $1 ~ /^kvgen\/curve\// && $2 ~ /^"kvgen\/(format|output|summary|options|run_source)/ ||
        $1 ~ /^kvgen\/format\// && $2 ~ /^"kvgen\/(curve|output|summary|options|run_source)/ ||
        $1 ~ /^kvreplay\/(wait|sched)\// && $2 ~ /^"kvreplay\/([a-z_]*|prepare\/[a-z_]*)\.h/ ||
        $1 ~ /^kvreplay\/wait\// && $2 ~ /^"kvreplay\/sched\// ||
        $1 ~ /^kvstat\/count\// && $2 ~ /^"kvstat\/report\// { print $1 " includes " substr($2, 2) }'
}

# circles TREE: files that include each other, directly or through others. A .c and its .h count as one.
circles() {
    includes "$1" | awk -F'\t' '
        substr($2, 1, 1) == "\"" && $1 != substr($2, 2) && $1 ~ /\.h$/ { to[$1] = to[$1] " " substr($2, 2) }
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

# missing TREE: included files of this repository that are not there.
missing() {
    includes "$1" | awk -F'\t' 'substr($2, 1, 1) == "\"" { print $1 "\t" substr($2, 2) }' |
        while IFS="$(printf '\t')" read -r f i; do [ -e "$1/$i" ] || echo "$f includes $i, which is not there"; done
}

# unlisted TREE: sources in no list of the Makefile, and names in a list that are no file.
unlisted() {
    (
        cd "$1" || exit
        for folders in LIB_FOLDERS KVGEN_FOLDERS KVREPLAY_FOLDERS KVSTAT_FOLDERS KVPRECOND_FOLDERS HELPER_FOLDERS; do
            for d in $(list Makefile "$folders"); do
                for m in $(list Makefile "$d"); do echo "$d/$m.c"; done
            done
            for m in $(list Makefile MPI_FILES); do echo "$m.c"; done
        done | sort -u >"$TMP/listed"
        sources . '*.c' >"$TMP/there"
        comm -13 "$TMP/listed" "$TMP/there" | sed 's/$/ stands in no list/'
        comm -23 "$TMP/listed" "$TMP/there" | sed 's/$/ is no file/'
    )
}

# crowded TREE: folders with more than 34 files.
crowded() {
    (cd "$1" && find lib kvgen kvreplay kvstat kvprecond tests -name data -prune -o -type f -print 2>/dev/null) |
        sed 's|/[^/]*$||' | sort | uniq -c | awk '$1 > 34 { print $2 " has " $1 " files" }'
}

# ---- each external library enters at its files, its types show in no header ----

# HEADER  FILES that may include it
entrances() {
    cat <<'END'
zstd\.h|zstd_errors\.h|zdict\.h lib/trace/frame.c lib/trace/frame_out.c
zlib\.h lib/trace/gzip.c
zmq\.h kvgen/record/live.c
csv\.h lib/trace/csv.c
json-c/.*|json\.h lib/json/jsonout.c
xxhash\.h|xxh3\.h lib/base/hash.c
liburing\.h|liburing/.*|linux/io_uring\.h lib/io/uring.c
yaml\.h lib/conf/conf.c
cuda.* lib/tier/gpu.c
mpi\.h lib/ranks/ranks_mpi.c
curl/.* lib/remote/s3.c lib/remote/s3_ask.c lib/remote/s3_library.c
hiredis/.* lib/remote/resp.c lib/remote/resp_control.c
xlsxwriter.* kvstat/report/xlsx.c
libnvme\.h lib/io/nvme.c
END
}
entered() {
    entrances | while read -r header allowed; do
        includes "$1" | awk -F'\t' -v h="^<($header)$" -v allowed=" $allowed " \
            '$2 ~ h && !index(allowed, " " $1 " ") { print $1 " includes " substr($2, 2) }'
    done
}

# bare TREE [texts]: reads names of files, prints "FILE: LINE" for each of their lines, without comments and, unless
# asked for, without texts in quotes.
bare() {
    awk -v tree="$1" -v texts="${2-}" '{
        path = tree "/" $0
        comment = 0
        while ((getline line <path) > 0) {
            code = ""
            while (line != "")
                if (comment) {
                    end = index(line, "*/")
                    line = end ? substr(line, end + 2) : ""
                    comment = !end
                } else if (match(line, /"([^"\\]|\\.)*"|\047([^\047\\]|\\.)*\047|\/\*|\/\//)) {
                    token = substr(line, RSTART, 2)
                    comment = token == "/*"
                    code = code substr(line, 1, RSTART - 1)
                    if (texts != "" && !comment && token != "//") code = code substr(line, RSTART, RLENGTH)
                    line = token == "//" ? "" : substr(line, RSTART + RLENGTH)
                } else {
                    code = code line
                    line = ""
                }
            if (code ~ /[^ \t]/) print $0 ": " code
        }
        close(path)
    }'
}

types='ZSTD_|json_object|json_tokener|XXH[0-9]|XXH_|io_uring_(sqe|cqe|params)|struct io_uring[^_]|yaml_|csv_parser'
types="$types|cuda[A-Z]|CU[a-z]|lxw_|LXW_|redis[A-Z]|REDIS_|CURL|curl_|MPI_"
shown() { sources "$1" '*.h' | bare "$1" | grep -E ": .*($types)"; }

# ---- who knows what ----

# reached TREE: "FILE<tab>HEADER" for every header of this repository that a file includes, directly or through others.
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
        $1 ~ /^lib\/(layout|tier|io|data)\// && $2 ~ /^lib\/trace\// ||
        $1 ~ /^kvgen\/(sim|policy)\// && $2 ~ /^lib\/(io|tier|json|trace\/(frame|csv))/ ||
        $1 ~ /^kvstat\/(report|draw)\// && $2 ~ /^lib\/(io|tier|trace\/(frame|csv))/ { print $1 " reaches " $2 }' | sort
}
opens() { # calls that open or read an input, in stages that have none; those that open an output are allowed
    calls='fopen|open|openat|fdopen|trace_open|trace_cursor_[a-z]*|frame_in_[a-z]*|conf_open|jsonin_[a-z]*'
    (cd "$1" && find kvstat/report kvstat/draw kvgen/sim kvgen/policy -name '*.c' 2>/dev/null) | bare "$1" texts |
        grep -E ": (.*[^a-z_])?($calls) *\(" | grep -Ev 'fopen *\([^)]*, "w|open *\([^;]*O_WRONLY'
}

# Reports that see counts. Only these make figures of them, and anyone may do arithmetic (statistics.h).
counted() {
    includes "$1" | awk -F'\t' '$1 ~ /^kvstat\/report\// && $2 ~ /^"kvstat\/count\// && $2 !~ /\/statistics\.h$/ &&
        $1 !~ /\/(figure\.h|figures\.[ch]|intervals\.c|bounds\.h|bottleneck\.h)$/ { print $1 " includes " substr($2, 2) }'
}

# texts TREE: decisions by the text of a message, a label or a heading. Two reasons may be held against each other, to
# say one that several figures share once.
texts() {
    sources "$1" '*.[ch]' | bare "$1" |
        grep -E 'str(n?case)?(n?cmp|str)\([^;()]*(->|\.|\(|, )(what|why|label|title|heading|help|message|notes?)( |,|\)|\[|->)' |
        grep -Ev 'strcmp\([^,]*(\.|->)why, [^,]*->why\)'
}

# ---- headers ----

alone() { # headers that do not compile alone; a compiler that is not there is a finding too
    "$CC" --version >/dev/null 2>&1 || {
        echo "no compiler: $CC"
        return
    }
    rm -rf "$TMP/alone"
    mkdir "$TMP/alone"
    # The build has shown it of a header that its own .c includes before all others.
    { sources "$1" '*.c'; sources "$1" '*.h'; } | awk -v tree="$1" -v out="$TMP/alone" '
        /\.c$/ {
            file = tree "/" $0
            while ((getline line <file) > 0 && line !~ /^#include/) continue
            close(file)
            sub(/c$/, "h")
            if (line == "#include \"" $0 "\"") built[$0]
            next
        }
        !($0 in built) {
            name = $0
            gsub("/", "-", name)
            print "#include \"" $0 "\"" >(out "/" name ".c")
            close(out "/" name ".c")
        }'
    "$CC" -std=c17 -D_GNU_SOURCE -I"$1" -Wall -Wextra -Wundef -Wstrict-prototypes -Werror -fsyntax-only \
        "$TMP"/alone/*.c 2>&1 | grep -E ': (fatal )?error: ' | head -n 20
}
guards() {
    sources "$1" '*.h' | awk -v tree="$1" '{
        guard = $0
        sub("^lib/", "", guard)
        gsub("[/.]", "_", guard)
        guard = toupper(guard)
        file = tree "/" $0
        found = 0
        while (!found && (getline line <file) > 0) found = line == "#ifndef " guard || line == "#ifndef KVTRACE_" guard
        close(file)
        if (!found) print $0 ": its guard is not " guard
    }'
}

# parameters TREE: functions that take more than five parameters beside the caller's error; "..." is none.
parameters() {
    sources "$1" '*.c' | bare "$1" | awk '
        function many(    list, n, i, part) {
            list = head
            sub(/^[^(]*\(/, "", list)
            while (gsub(/\([^()]*\)/, "", list)) { }
            sub(/\).*/, "", list)
            n = split(list, part, ",")
            for (i = n; i > 0; i--) if (part[i] ~ /struct err \*|\.\.\./) n--
            if (n > 5) print file ": " n " parameters: " head
        }
        {
            file = substr($0, 1, index($0, ": ") - 1)
            line = substr($0, index($0, ": ") + 2)
            if (line == "{" && head ~ /^[a-z].*\(.*\)$/) many()
            head = line ~ /^[a-z]/ ? line : line ~ /[;{}]/ ? "" : head " " line
            sub(/  +/, " ", head)
        }'
}

# ---- the tree, and for each check a tree with the fault ----

is 'folders include themselves and those before them' "$(direction .)" ''
is 'stages of a program know nothing of those behind them' "$(stages .)" ''
is 'no circle of files' "$(circles .)" ''
is 'every file that is included is there' "$(missing .)" ''
is 'every source file stands in a list of the Makefile' "$(unlisted .)" ''
is 'no folder holds more than a reader takes in' "$(crowded .)" ''
is 'each external library enters at its file' "$(entered .)" ''
is 'no header shows a type of an external library' "$(shown .)" ''
is 'tiers know no trace, the simulator no files, reports no input' "$(knows .)" ''
is 'reports and the simulator open no input' "$(opens .)" ''
is 'reports see figures, not counts' "$(counted .)" ''
is 'nothing is decided by the text of a message or a label' "$(texts .)" ''
is 'each header compiles alone' "$(alone .)" ''
is 'each header is guarded by its own name' "$(guards .)" ''
is "a function takes at most five parameters and the caller's error" "$(parameters .)" ''

# planted FILE TEXT: a small sound tree with that file in it.
planted() {
    rm -rf "$TMP/tree"
    mkdir -p "$TMP/tree/lib/base" "$TMP/tree/lib/tier" "$TMP/tree/$(dirname "$1")"
    printf 'LIB_FOLDERS := lib/base lib/tier\nlib/base := sound\n' >"$TMP/tree/Makefile"
    echo '#include "lib/base/sound.h"' >"$TMP/tree/lib/base/sound.c"
    printf '#ifndef BASE_SOUND_H\n#define BASE_SOUND_H\n#endif\n' >"$TMP/tree/lib/base/sound.h"
    printf '%b' "$2" >"$TMP/tree/$1"
    touch "$TMP/tree/lib/tier/later.h" # a planted fault may include it
}
finds() { # finds NAME CHECK ERE: the check reports that for the planted tree
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
planted kvreplay/wait/bad.h '#include "kvreplay/sched/sched.h"\n'
finds 'found: a way to wait that knows the scheduler' stages 'kvreplay/wait/bad.h includes kvreplay/sched/sched.h'
planted lib/base/one.h '#include "lib/base/two.h"\n'
echo '#include "lib/base/three.h"' >"$TMP/tree/lib/base/two.h"
echo '#include "lib/base/one.h"' >"$TMP/tree/lib/base/three.h"
finds 'found: a circle of three headers' circles 'include each other'
planted lib/base/stray.c ''
finds 'found: a file in no list' unlisted 'lib/base/stray.c stands in no list'
for i in $(seq 35); do : >"$TMP/tree/lib/base/many$i.h"; done
finds 'found: a crowded folder' crowded 'lib/base has 3[0-9] files'
planted lib/base/bad.c '#include <zstd.h>\n'
finds 'found: a library entering elsewhere' entered 'lib/base/bad.c includes zstd.h'
planted lib/base/bad.h 'struct a {\n    ZSTD_CCtx *c; /* not here */\n};\n'
finds 'found: a type of a library' shown 'lib/base/bad.h.*ZSTD_CCtx'
planted lib/base/good.h '/* ZSTD_CCtx\n * yaml_parser_t */\nconst char *name = "json_object"; // cudaFree\n'
is 'not in comments and texts' "$(shown "$TMP/tree")" ''
planted lib/tier/bad.h '#include "lib/trace/trace.h"\n'
finds 'found: a tier that knows the trace' knows 'lib/tier/bad.h reaches lib/trace/trace.h'
planted kvstat/report/bad.c 'int f(void) { return open("x", 0); }\n'
finds 'found: a report that opens a file' opens 'kvstat/report/bad.c'
planted kvstat/report/good.c '/* open(x) */\nint f(void) { return fopen(x, "w") && open(x, O_WRONLY); }\n'
is 'but not one that writes a file' "$(opens "$TMP/tree")" ''
planted kvstat/report/bad.c '#include "kvstat/count/groups.h"\n'
finds 'found: a report that sees counts' counted 'kvstat/report/bad.c includes kvstat/count/groups.h'
planted kvstat/bad.c 'if (strstr(e->what, "damaged") != NULL)\n    return 1;\n'
finds 'found: a decision by a message' texts 'kvstat/bad.c.*what'
planted kvstat/bad.c 'bool same = strcmp(last->label, id->label) == 0;\n'
finds 'found: a decision by a label' texts 'kvstat/bad.c.*label'
planted lib/base/needs.h 'struct uses { size_t n; };\n'
finds 'found: a header that does not compile alone' alone 'lib/base/needs.h.*size_t'
finds 'found: a header without its guard' guards 'lib/base/needs.h: its guard'
planted lib/base/bad.c 'static int f(int a, int b, int c, int (*g)(int, int),\n             int d, int h, struct err *e)\n{\n}\n'
finds 'found: a function with six parameters' parameters 'lib/base/bad.c: 6 parameters: static int f'
planted lib/base/good.c 'int f(int a, int b, int (*g)(int, int), int d, struct err *e,\n      const char *format, ...)\n{\n    if (a)\n    {\n    }\n}\n'
is 'but not one with five, an error and more' "$(parameters "$TMP/tree")" ''
planted lib/base/sound2.h ''
is 'a sound tree has no finding' "$(direction "$TMP/tree")$(circles "$TMP/tree")$(missing "$TMP/tree")" ''
like 'found: no compiler' "$(CC=false && alone .)" 'no compiler: false'

# ---- the tests themselves ----

runnable() { # tests that are not executable
    for f in "$1"/tests/cli/*/*.t; do [ -x "$f" ] || echo "$f"; done
}
is 'each test can be run' "$(runnable .)" ''
planted tests/cli/kvstat/bad.t '#!/bin/sh\n'
finds 'found: a test that cannot be run' runnable 'tests/cli/kvstat/bad.t'

done_testing
