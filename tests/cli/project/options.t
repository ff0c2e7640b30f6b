#!/bin/sh
# options.t - the man page of each program lists exactly the options that the program takes: every line of
# --list-options has an .It entry with its short name, and there is no other entry. A bug looked like an option that was
# added to the table and forgotten in the man page, or the reverse.
. "$(dirname "$0")/../../lib.sh"
single_threaded

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

    # Output that cannot be written is an error.
    for option in --help --version --list-options; do
        [ -w /dev/full ] || break
        rc=0
        "$BIN/$program" "$option" >/dev/full 2>"$TMP/error" || rc=$?
        is "$program $option, a full disk: says so" "$rc $(cat "$TMP/error")" \
            "1 $program: standard output: No space left on device"
    done
done
done_testing
