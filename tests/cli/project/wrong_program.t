#!/bin/sh
# wrong_program.t - an option that another of the four programs has is refused with that program's name. A bug looked
# like "unknown option; did you mean --num-gpus?" for an option that is right, but given to the program before in the
# pipe, or an option of one table that the other programs did not know of.
# builds: plain
. "${0%/*}/../../lib.sh"
programs='kvgen kvreplay kvstat kvprecond'

# owners: a line "OPTION PROGRAM" for each option of each program.
for program in $programs; do
    "$BIN/$program" --list-options | awk -F '\t' -v program="$program" '
        $1 != "" && $1 != "help" && $1 != "version" && $3 != "heading" { print $1, program }'
done >"$TMP/owners"

# answers PROGRAM: "OPTION STATUS TEXT" for each option that only others have.
answers() {
    awk -v program="$1" '$2 == program { own[$1] } { all[$1] } END { for (o in all) if (!(o in own)) print o }' \
        "$TMP/owners" | sort | while read -r option; do
        text=$("$BIN/$1" "--$option=1" --no-such-option 2>&1 </dev/null)
        status=$?
        # A key of its own configuration (readers/keys.t) is none of them.
        case $text in *'--no-such-option'*) ;; *) echo "$option $status $text" ;; esac
    done
}
# wrong PROGRAM: the answers that do not name the owners, in the order of the programs. An option of the program's own
# that ends in the other's name may be offered, too.
wrong() {
    awk -v program="$1" '
        NR == FNR { if ($2 == program) own[$1]; else { name[$1, ++owners[$1]] = $2 }; next }
        {
            option = $1
            status = $2
            text = substr($0, length($1 " " $2 " ") + 1)
            want = program ": --" option ": an option of " name[option, 1]
            for (i = 2; i <= owners[option]; i++) want = want (i < owners[option] ? ", " : " and ") name[option, i]
            longer = text
            if (sub(/.*; did you mean --/, "", longer) && sub(/[?]$/, "", longer) && longer in own &&
                substr(longer, length(longer) - length(option)) == "-" option)
                want = want "; did you mean --" longer "?"
            if (status != 2 || text != want) print "status " status ": " text ", wanted " want
        }' "$TMP/owners" "$TMP/answers"
}
for program in $programs; do
    answers "$program" >"$TMP/answers"
    ok "$program was asked about more than 20" test "$(lines "$TMP/answers")" -gt 20
    is "$program names the owner" "$(wrong "$program" | head -n 5)" ''
done
exits 'an old name' 2 "$BIN/kvgen" --cache-dir /tmp
is 'has an owner too' "$(cat "$TMP/stderr")" 'kvgen: --cache-dir: an option of kvreplay'
exits 'the end of an own one' 2 "$BIN/kvreplay" --users 3
is 'is offered' "$(cat "$TMP/stderr")" 'kvreplay: --users: an option of kvgen; did you mean --start-users?'
exits "a key of another's configuration" 2 "$BIN/kvstat" --rings 3
is 'is one' "$(cat "$TMP/stderr")" 'kvstat: --rings: a key of the configuration of kvreplay'
exits "an option that none has" 2 "$BIN/kvgen" --num-user 3
stderr_like 'gets the nearest name' 'unknown option; did you mean --users'
done_testing
