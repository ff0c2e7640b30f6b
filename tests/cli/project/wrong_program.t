#!/bin/sh
# wrong_program.t - an option that another of the four programs has is refused with that program's name. A bug looked like
# this: "unknown option; did you mean --num-gpus?" for an option that is right, given one program too early in the pipe; or an
# option added to a table that the others never hear of.
. "$(dirname "$0")/../../lib.sh"
single_threaded
programs='kvgen kvreplay kvstat kvprecond'

for p in $programs; do
    "$BIN/$p" --list-options | awk -F '\t' '$1 != "" && $1 != "help" && $1 != "version" && $3 != "heading" { print $1 }' | sort >"$TMP/$p"
done

# answers PROGRAM: what it says to each option of the others, against what it should say.
answers() {
    for other in $programs; do comm -13 "$TMP/$1" "$TMP/$other"; done | sort -u | while read -r option; do
        owners=
        for other in $programs; do
            if grep -qx -e "$option" "$TMP/$other"; then owners="${owners:+$owners, }$other"; fi
        done
        want="$1: --$option: an option of $(echo "$owners" | sed 's/\(.*\), /\1 and /')"
        got=$("$BIN/$1" "--$option=1" 2>&1 </dev/null)
        status=$?
        # One of its own with a longer name is offered, too.
        longer=${got#*; did you mean --} longer=${longer%\?}
        if grep -e "-$option\$" "$TMP/$1" | grep -qx -e "$longer"; then want="$want; did you mean --$longer?"; fi
        [ "$status" -eq 2 ] && [ "$got" = "$want" ] || echo "status $status: $got, wanted $want"
        echo counted >>"$TMP/count"
    done
}
for p in $programs; do
    : >"$TMP/count"
    is "$p names the owner" "$(answers "$p" | head -n 5)" ''
    ok "$p was asked about more than 20" test "$(wc -l <"$TMP/count")" -gt 20
done
# The library lists the options of all programs: an option that left its program must leave that list too.
listed=$(sed -n 's/^ *{"\([a-z0-9-]*\)", [A-Z |]*},$/\1/p' "$TOP/lib/opt/owners.c" | sort)
ok 'the library lists options' test "$(echo "$listed" | wc -l)" -gt 100
is 'and no others than the programs have' "$(echo "$listed" | grep -vx cache-dir)" \
    "$(cat "$TMP/kvgen" "$TMP/kvreplay" "$TMP/kvstat" "$TMP/kvprecond" | sort -u)"
exits 'an alias' 2 "$BIN/kvgen" --cache-dir /tmp
is 'has an owner too' "$(cat "$TMP/stderr")" 'kvgen: --cache-dir: an option of kvreplay'
exits 'the end of an own one' 2 "$BIN/kvgen" --users 3
is 'is offered' "$(cat "$TMP/stderr")" 'kvgen: --users: an option of kvreplay; did you mean --num-users?'
exits 'nobody'"'"'s option' 2 "$BIN/kvgen" --num-user 3
like 'gets the nearest name' "$(cat "$TMP/stderr")" 'unknown option; did you mean --num-users'
done_testing
