#!/bin/sh
# manpages.t - each man page is clean under mandoc's lint, and its examples work.
#
# In EXAMPLES (and the TUTORIAL of kvtrace.7), a line of a literal display (.Bd -literal, or a .Dl line) that begins
# with "$ " is a command; it continues over lines that end in a backslash. The commands of one page run in their order,
# in a scratch folder where tests and examples are links to the folders of this repository, with the programs on the
# PATH. A display (or .Dl) after the line  .\" not run: WHY  does not run, because a machine may lack what it needs. The
# pages run at the same time. A bug looked like an example with an option that was renamed.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

pages='kvgen.1 kvreplay.1 kvstat.1 kvprecond.1 kvtrace.1 kvtrace-trace.1 kvtrace.5 kvtrace.conf.5 kvtrace.7'

# commands PAGE: a script; each command is preceded by a line that notes it.
commands() {
    awk '
        function plain(s) {
            gsub(/\\\(aq/, "\047", s); gsub(/\\\(dq/, "\"", s); gsub(/\\\(ha/, "^", s); gsub(/\\\(ti/, "~", s)
            gsub(/\\-/, "-", s); gsub(/\\&/, "", s); gsub(/\\e/, "\\", s)
            return s
        }
        function take(s) {
            if (going) { going = (s ~ /\\$/); print s; return }
            if (substr(s, 1, 2) != "$ ") return
            s = substr(s, 3)
            note = s; gsub(/\047/, "\047\\\047\047", note); sub(/\\$/, "...", note)
            print "printf \047%s\\n\047 \047" note "\047 >.last"
            print s
            going = (s ~ /\\$/)
        }
        /^\.Sh/ { inside = ($0 ~ /EXAMPLES|TUTORIAL/); next }
        !inside { next }
        /^\.\\" *not run/ { skip = 1; next }
        /^\.Bd +-literal/ { display = 1; next }
        /^\.Ed/ { display = 0; skip = 0; going = 0; next }
        /^\.Dl/ { if (!skip) { s = $0; sub(/^\.Dl +/, "", s); take(plain(s)) } if (!going) skip = 0; next }
        display && !skip { take(plain($0)) }
    ' "$TOP/man/$1"
}

plan 29
for page in $pages; do
    if command -v mandoc >/dev/null; then
        is "$page is clean" "$(mandoc -Tlint -W warning "$TOP/man/$page" 2>&1)" ''
    else
        ok "$page is there (mandoc is not here) # SKIP" test -s "$TOP/man/$page"
    fi
done

# run_examples PAGE: keeps the output in PAGE.out, and the exit status in PAGE.status.
run_examples() {
    cd "$TMP/$1" || exit 1
    status=0
    # HOME and TMPDIR too, so that nothing lands outside the scratch folder.
    PATH=$BIN:$PATH HOME=$TMP TMPDIR=$TMP sh -eu "$TMP/$1.sh" </dev/null >"$TMP/$1.out" 2>&1 || status=$?
    [ $status -eq 0 ] || echo "failed: $(cat .last)" >>"$TMP/$1.out"
    echo $status >"$TMP/$1.status"
}
for page in $pages; do
    mkdir "$TMP/$page"
    commands "$page" >"$TMP/$page.sh"
    ln -s "$TOP/tests" "$TOP/examples" "$TMP/$page"
    run_examples "$page" &
done
wait
worked() { cat "$TMP/$1.out" && [ "$(cat "$TMP/$1.status")" -eq 0 ]; }
for page in $pages; do ok "the examples of $page work" worked "$page"; done

# A formatter fills a .Dl line like text: one that is too long is broken without a backslash, and cannot be copied.
set --
for page in $pages; do set -- "$@" "$TOP/man/$page"; done
is 'no command is broken by the width of a page' \
    "$(awk '/^\.Dl [$#] / && length($0) > 4 + 78 - 11 { print FILENAME ": " $0 }' "$@")" ''

# kvtrace.conf(5) has every key of the tables, with what it takes as kvgen --print-config says it, and no other.
"$BIN/kvgen" --print-config | awk '
    BEGIN { type = "^(true or false|text|whole number|number|share|size|bandwidth|duration|word|list)(;|$)" }
    /^[a-z_]+:$/ { section = $0; sub(/:/, "", section); own = section ~ /^kv/; name[0] = section; next }
    !section { next }
    match($0, /^ *(# )?([a-z0-9_]+|MY-MODEL):( |$)/) && (!own || last ~ type) {
        line = $0; indent = match(line, /[^ ]/) - 1; sub(/^ *(# )?/, "", line)
        key = line; sub(/:.*/, "", key); value = line; sub(/^[^:]*:? ?/, "", value)
        sub(/MY-MODEL/, "NAME", key)
        name[int(indent / 2)] = key
        if (value == "") next
        path = own ? section "." key : name[0]
        if (!own) for (i = 1; i <= int(indent / 2); i++) path = path "." name[i]
        if (!own) {
            gsub(/[|]/, ", ", last); last = tolower(substr(last, 1, 1)) substr(last, 2)
            last = last (value == "..." ? "; no default" : "; default: " value)
        }
        print path "\t" last; last = ""; next
    }
    { sub(/^ *# /, ""); last = (last ~ type ? last " " : "") $0 }
' | LC_ALL=C sort >"$TMP/keys"
awk '
    /^\.Sh SHARED/ { section = "" } /^\.Sh KEYS OF KV/ { section = tolower($4) "." } /^\.Sh SEE/ { exit }
    /^\.It Va / { if (key) print key "\t" last; key = section $3 }
    { if ($1 == ".Pq") { last = $0; sub(/^\.Pq /, "", last) } }
    END { print key "\t" last }
' "$TOP/man/kvtrace.conf.5" | LC_ALL=C sort >"$TMP/documented"
ok 'there are keys of programs, and of all' grep -q '^kvreplay.rings	whole number; default: 1; 1 to 64$' "$TMP/keys"
is 'kvtrace.conf(5) has all keys, each with its type, range and default' "$(LC_ALL=C comm -23 "$TMP/keys" "$TMP/documented")" ''
is 'and no other' "$(LC_ALL=C comm -13 "$TMP/keys" "$TMP/documented")" ''

for page in kvgen.1 kvreplay.1 kvstat.1 kvprecond.1 kvtrace.1 kvtrace.conf.5 kvtrace.7; do
    ok "$page has examples that run" grep -q '^kv' "$TMP/$page.sh"
done
