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
case $0 in */*) . "${0%/*}/common.sh" ;; *) . ./common.sh ;; esac

base='' new='' form=''
while [ $# -gt 0 ]; do
    case $ended$1 in
    --json) form=--json words=1 ;;
    -?*) option "$@" ;;
    *)
        operand "$1" && words=1
        if [ -z "$base" ]; then base=$text; elif [ -z "$new" ]; then new=$text; else die 2 "$1: a third result (try --help)"; fi
        ;;
    esac
    shift "$words"
done
if [ -z "$new" ]; then die 2 "two results are needed (try --help)"; fi
need kvstat
# holds RESULT: ends the script unless it is a result or a folder of them.
holds() {
    if [ ! -e "$1" ]; then die 2 "$1: no such file or folder"; fi
    if [ ! -d "$1" ]; then return; fi
    for file in "$1"/*.result.csv.zst; do [ -e "$file" ] || die 2 "$1: holds no *.result.csv.zst"; done
}
holds "$base"
holds "$new"
set --
if [ -d "$base" ]; then
    for file in "$base"/*.result.csv.zst; do set -- "$@" --compare "$file"; done
else
    set -- --compare "$base"
fi
if [ -d "$new" ]; then set -- "$@" "$new"/*.result.csv.zst; else set -- "$@" "$new"; fi
if [ -n "$form" ]; then set -- "$form" "$@"; fi
if typed kvstat "$@"; then exit 0; fi
kvstat "$@"
