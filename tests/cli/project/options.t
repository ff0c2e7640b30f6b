#!/bin/sh
# options.t - the man page of each program lists exactly the options that the program takes: every line of
# --list-options has an .It entry with its short name, and there is no other entry. A bug looked like an option that was
# added to the table and forgotten in the man page, or the reverse.
# builds: plain
. "${0%/*}/../../lib.sh"

# listed PROGRAM: "NAME LETTER" of the options in the table but help and version; LETTER "-": none.
listed() {
    "$BIN/$1" --list-options | awk -F '\t' '
        $1 != "" && $1 != "help" && $1 != "version" && $3 != "heading" { print $1, ($2 == "" ? "-" : $2) }' | sort
}

# documented PROGRAM: "NAME LETTER" of each .It entry that begins with an option.
documented() {
    awk '
        $1 == ".It" && $2 == "Fl" {
            letter = "-"; name = ""
            for (i = 2; i < NF; i++) {
                if ($i != "Fl") continue
                word = $(i + 1)
                gsub(/\\-/, "-", word); gsub(/\\&/, "", word)
                if (word == "Fl") { word = "-" $(i + 2); i++ }
                if (word ~ /^-/) { if (name == "") name = substr(word, 2) }
                else if (letter == "-") letter = word
            }
            if (name != "" && name != "help" && name != "version") print name, letter
        }' "$TOP/man/$1.1" | sort
}

for program in kvgen kvreplay kvstat kvprecond; do
    listed "$program" >"$TMP/listed"
    documented "$program" >"$TMP/documented"
    ok "$program lists its options" test -s "$TMP/listed"
    is "$program: every option stands in the man page" "$(comm -23 "$TMP/listed" "$TMP/documented")" ''
    is "$program: the man page names no other option" "$(comm -13 "$TMP/listed" "$TMP/documented")" ''

    # --help all is for people: each option is in it, with its default. --help fits a screen or two.
    "$BIN/$program" --help all >"$TMP/help" 2>"$TMP/error"
    missing=$(while read -r name letter; do
        grep -Eq -- "--(\[no-\])?$name( |$)" "$TMP/help" || echo "--$name ($letter)"
    done <"$TMP/listed")
    is "$program --help all shows every option" "$missing" ''

    # What the help says is the range can be given as it stands there: each bound, without blanks. A bug looked like
    # "0 to 30000 days" and an option that took no days.
    bounds=$(awk '
        /^  (-., |    )--/ {say(); name = $0; sub(/^ *(-., )?--(\[no-\])?/, "", name); sub(/ .*/, "", name); text = ""}
        {text = text " " $0}
        function say(   range, bound, n, i) {
            while (match(text, /[(;] *[0-9.][^();]* to [0-9.][^();]*[);]|at least [0-9.][^();]*[);]/)) {
                range = substr(text, RSTART + 1, RLENGTH - 2)
                text = substr(text, RSTART + RLENGTH - 1)
                sub(/^.*at least|^t least/, "", range)
                n = split(range, bound, " to ")
                for (i = 1; i <= n; i++) {gsub(/ /, "", bound[i]); print name, bound[i]}
            }
        }
        END {say()}' "$TMP/help")
    case $program in
    kvgen) like "$program: there are ranges" "$bounds" '^duration 30000d$' ;;
    kvstat) is "$program: no option has a range" "$bounds" '' ;;
    *) like "$program: there are ranges" "$bounds" '^[a-z-]+ [0-9]' ;;
    esac
    is "$program: bounds are taken as they are shown" "$(echo "$bounds" | grep . | while read -r name bound; do
        "$BIN/$program" "--$name" "$bound" --help 2>&1 >/dev/null
    done)" ''

    for word in a al; do
        is "$program --help $word is --help all" "$("$BIN/$program" --help $word)" "$(cat "$TMP/help")"
        is "$program --help=$word, too" "$("$BIN/$program" --help=$word)" "$(cat "$TMP/help")"
    done
    exits "$program --help allx" 0 "$BIN/$program" --help allx
    is "$program --help allx is --help" "$(cat "$TMP/stdout")" "$("$BIN/$program" --help)"
    exits "$program --help=" 2 "$BIN/$program" --help=
    exits "$program --help=worth" 2 "$BIN/$program" --help=worth
    stderr_like 'says what --help takes' '^'"$program"': --help: takes nothing or all$'

    "$BIN/$program" --help >"$TMP/brief"
    ok "$program --help has under 60 lines" test "$(lines "$TMP/brief")" -lt 60
    not_ok "$program --help: none is wider than 80 columns" grep -q '.\{81\}' "$TMP/brief"
    like "$program --help has examples" "$(cat "$TMP/brief")" '^Examples:$'
    ok "$program --help has about twenty options" test "$(grep -c '^  .* --' "$TMP/brief")" -lt 30
    not_ok "$program: experts' options are not in it" grep -Eq -- '--(level|frames|threads|spin)\b' "$TMP/brief"
    not_ok "$program: they come last in --help all" \
        sh -c "sed '/^Rarely needed:/,\$d' '$TMP/help' | grep -Eq -- '^ .*--(level|frames|threads|spin) '"

    # Output that cannot be written is an error.
    for option in --help --version --list-options; do
        [ -w /dev/full ] || break
        rc=0
        "$BIN/$program" "$option" >/dev/full 2>"$TMP/error" || rc=$?
        is "$program $option, a full disk: says so" "$rc $(cat "$TMP/error")" \
            "1 $program: standard output: No space left on device"
    done
done

# A name that an option had before does the same, and is shown nowhere.
for pair in 'kvgen num-users=7 users=7' 'kvgen trace-speedup=2 speed=2' 'kvgen gpu-mem-gb=3 gpu-mem=3GiB' \
    'kvgen cpu-mem-gb=0.5 cpu-mem=512MiB' 'kvgen storage-capacity-gb=4 storage-capacity=4GiB' \
    'kvreplay nvme=d target=d' 'kvreplay cache-dir=d target=d' 'kvreplay gpu-mem-gb=1 gpu-mem=1GiB' \
    'kvreplay cpu-mem-gb=1 cpu-mem=1GiB' 'kvreplay storage-capacity-gb=1 storage-capacity=1GiB'; do
    set --
    for word in $pair; do set -- "$@" "$word"; done
    not_ok "$1 --$2: is not shown" sh -c "'$BIN/$1' --help all | grep -q -- '--${2%%=*} '"
    not_ok "$1 --$2: is not listed" sh -c "'$BIN/$1' --list-options | grep -q '^${2%%=*}	'"
    "$BIN/$1" "--$2" "--$3" --help >"$TMP/out" 2>&1
    not_ok "$1 --$2: is an option" grep -q 'unknown option\|an option of' "$TMP/out"
done
told "$BIN/kvgen" --num-users 7 --gpu-mem-gb 3 --cpu-mem-gb 0.5 --storage-capacity-gb 4 -o /dev/null \
    --duration 20 --summary "$TMP/old.json" >/dev/null
told "$BIN/kvgen" --users 7 --gpu-mem 3GiB --cpu-mem 512MiB --storage-capacity 4GiB -o /dev/null --duration 20 \
    --summary "$TMP/new.json" >/dev/null
is 'old and new names give the same trace' "$(json "$TMP/new.json" .trace.digest)" "$(json "$TMP/old.json" .trace.digest)"
is 'sizes without a unit are GiB' "$(told "$BIN/kvgen" --users 7 --gpu-mem 3 --cpu-mem 0.5 --storage-capacity 4 \
    -o /dev/null --duration 20 --summary "$TMP/plain.json"; json "$TMP/plain.json" .trace.digest)" \
    "$(json "$TMP/old.json" .trace.digest)"
done_testing
