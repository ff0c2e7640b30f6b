#!/bin/sh
# completions.t - make completions writes the completions of bash, zsh and fish from each program's table of options:
# every long option, the words of an enum, files after options that take one. A bug looked like an option of the table
# that the shell did not know, or --name=WORD, which is three words to bash, completed as a file.
# builds: plain
. "${0%/*}/../../lib.sh"

command -v bash >/dev/null || skip_all 'bash is not here'

made=$TMP/completions
programs='kvgen kvreplay kvstat kvprecond'
with "$programs" ok 'the completions are made' "$TOP/.ci/packaging/completions" "$BIN" "$made"

# What bash would offer for the words of a command line, the last of which is being typed.
cat >"$TMP/ask" <<'END'
set -u
source "$MADE/bash/$1"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
name=$(complete -p "$1") name=${name#*-F } name=${name%% *}
"$name"
[ ${#COMPREPLY[@]} -eq 0 ] || printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort
END
offers() { (cd "$TMP/folder" && MADE=$made bash "$TMP/ask" "$@" 2>&1); }
mkdir -p "$TMP/folder/some dir"
: >"$TMP/folder/some file"

for program in $programs; do
    "$BIN/$program" --list-options | awk -F '\t' '{ print "--" $1; if ($3 == "flag" && $5 == "on") print "--no-" $1 }' |
        LC_ALL=C sort >"$TMP/options"
    is "$program: all options" "$(offers "$program" --)" "$(cat "$TMP/options")"

    # The words of each enum, after a blank and after an equals sign.
    "$BIN/$program" --list-options | awk -F '\t' '$3 == "enum" { print $1, $4 }' >"$TMP/enums"
    ok "$program: there are enums" test -s "$TMP/enums"
    wrong=$(while read -r name choices; do
        want=$(printf '%s\n' "$choices" | tr '|' '\n' | LC_ALL=C sort)
        [ "$(offers "$program" "--$name" '')" = "$want" ] || echo "--$name: $(offers "$program" "--$name" '')"
        [ "$(offers "$program" "--$name" =)" = "$want" ] || echo "--$name=: $(offers "$program" "--$name" =)"
    done <"$TMP/enums")
    is "$program: the words of every enum" "$wrong" ''
    is "$program: the help has its option" "$(offers "$program" --hel)" --help
done

is 'a word that was begun' "$(offers kvreplay --on-absent s)" skip
is 'behind an equals sign too' "$(offers kvreplay --on-absent = sk)" skip
is 'the words that a text can be' "$(offers kvreplay --gpu '')" "$(printf 'all\nauto\noff\nrequire')"
is 'a file, its name as one word' "$(offers kvreplay --output some)" "$(printf 'some dir\nsome file')"
is 'behind the short name' "$(offers kvreplay -o some)" "$(printf 'some dir\nsome file')"
is 'a folder' "$(offers kvstat --hgrm '')" 'some dir'
is 'a file or a folder' "$(offers kvreplay --target some)" "$(printf 'some dir\nsome file')"
is 'nothing for a number' "$(offers kvreplay --limit '')" ''
is 'an operand' "$(offers kvstat --json some)" "$(printf 'some dir\nsome file')"
is 'an operand behind --' "$(offers kvstat -- --)" ''
is 'none for kvgen' "$(offers kvgen '')" ''

# kvtrace: a command, then its options or files.
ok 'the completions of kvtrace' "$TOP/.ci/packaging/completions" "$BIN" "$made" kvtrace
is 'kvtrace: a command' "$(offers kvtrace us)" users
is 'kvtrace: all of them' "$(offers kvtrace '' | paste -sd ' ' -)" \
    "$("$BIN/kvtrace" --list-commands | cut -f 1 | LC_ALL=C sort | paste -sd ' ' -)"
is 'kvtrace: an option' "$(offers kvtrace suite --x)" --xlsx
is 'kvtrace: of that command only' "$(offers kvtrace drive --x)" ''
is 'kvtrace: a folder' "$(offers kvtrace drive some)" "$(printf 'some dir\nsome file')"

for shell in bash zsh fish; do
    command -v $shell >/dev/null || continue
    for file in "$made/$shell"/*; do ok "${file##*/} is valid $shell" $shell -n "$file"; done
done
if command -v fish >/dev/null; then
    fished() { HOME=$TMP fish --no-config -c "source $made/fish/$1.fish; complete -C '$2'" | cut -f 1 | LC_ALL=C sort; }
    is 'fish: the words of an enum' "$(fished kvreplay 'kvreplay --on-absent ')" "$(printf 'create\nfail\nskip')"
    is 'fish: an option' "$(fished kvgen 'kvgen --list-m')" --list-models
fi
if command -v zsh >/dev/null; then
    # completed WORDS RESULT: an interactive shell of its own, in a terminal, writes RESULT after the tab.
    completed() { HOME=$TMP TERM=dumb timeout 60 zsh -f -c "zmodload zsh/zpty
        zpty shell \"zsh -f -i\"
        zpty -w shell \"fpath=(\$1 \\\$fpath); autoload -U compinit; compinit -u -D; echo RE\"\"ADY\"
        zpty -r shell seen \"*READY*\"
        zpty -n -w shell \"\$2\$4\"
        zpty -r shell seen \"*\$3*\"" zsh "$made/zsh" "$1" "$2" "$(printf '\t')"; }
    ok 'zsh: a word of an enum' completed 'kvreplay --on-absent sk' skip
    ok 'zsh: an option' completed 'kvgen --list-m' --list-models
fi

# A flag that is on by default can be switched off; texts with quotes, colons and brackets stay texts.
mkdir "$TMP/bin"
cat >"$TMP/bin/tool" <<'END'
#!/bin/sh
case $1 in
--help) echo 'Usage: tool [options] FILE' ;;
*) printf "fast\t\tflag\t\ton\tIt's [quick]: a\\\\b.\nname\tn\ttext\tN=a:b|c\t\tIts name. More.\n" ;;
esac
END
chmod +x "$TMP/bin/tool"
ok 'a table with every kind of sign' "$TOP/.ci/packaging/completions" "$TMP/bin" "$made" tool
is 'bash' "$(offers tool --)" "$(printf -- '--fast\n--name\n--no-fast')"
like 'zsh' "$(cat "$made/zsh/_tool")" "'--no-fast\[It'.''s .\[quick.\].: a.b\]'"
like 'fish' "$(cat "$made/fish/tool.fish")" "^complete -c tool -l no-fast -d 'Not: It.'s \[quick\]: a..b'"
exits 'a program that is not there' 1 "$TOP/.ci/packaging/completions" "$TMP/bin" "$made" nothing
done_testing
