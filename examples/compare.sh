#!/bin/sh
# compare.sh - What changed between two results, by more than the noise?
#
# Usage: compare.sh [OPTION]... RESULT RESULT
#
#   RESULT       a result of kvreplay (the older or known one first), or a directory of
#                *.result.csv.zst, which are trials
#   --json       kvstat's report as JSON
#   --print      show the command, run nothing
#
# kvstat tests each figure: with one result per side against the noise within each result,
# with several against their spread, which needs three to five trials per side. Its last
# line says what changed. To compare two drives: kvtrace compare-drives.
#
# Example:
#   examples/compare.sh before.csv.zst after.csv.zst
. "$(dirname "$0")/common.sh"

base='' new='' form=''
while [ $# -gt 0 ]; do
    case $1 in
    --json) form=--json words=1 ;;
    -?*) option "$@" ;;
    *)
        if [ -z "$base" ]; then base=$1; elif [ -z "$new" ]; then new=$1; else die 2 "$1: a third result (try --help)"; fi
        words=1
        ;;
    esac
    shift "$words"
done
if [ -z "$new" ]; then die 2 "two results are needed (try --help)"; fi
need kvstat
# results RESULT: the files that it stands for, a line each.
results() {
    if [ ! -d "$1" ]; then
        [ -e "$1" ] || die 2 "$1: no such file or folder"
        printf '%s\n' "$1"
        return
    fi
    for file in "$1"/*.result.csv.zst; do
        [ -e "$file" ] || die 2 "$1: holds no *.result.csv.zst"
        printf '%s\n' "$file"
    done
}
results "$base" >/dev/null
results "$new" >/dev/null
# Names may hold blanks, so each is a word of its own.
set --
while IFS= read -r file; do set -- "$@" --compare "$file"; done <<END
$(results "$base")
END
while IFS= read -r file; do set -- "$@" "$file"; done <<END
$(results "$new")
END
if [ -n "$form" ]; then set -- "$form" "$@"; fi
if typed kvstat "$@"; then exit 0; fi
exec kvstat "$@"
