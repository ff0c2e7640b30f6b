#!/bin/sh
# readme.t - the commands of README.md work as they stand there: they are run in their order, in a scratch folder, by a shell
# that ends at the first that fails. Only the drive is an empty engine, and the pace of traces faster. A bug looked like this: an
# option of an example that was renamed, a file that no command before had made.
. "$(dirname "$0")/../../lib.sh"
plain_only
PATH=$BIN:$PATH
cd "$TMP" || exit 1
ln -s "$TOP/tests" tests

# Not run: what builds or tests everything, and programs of others. benchdata.csv.zst is what another program left.
sed -n 's/^    //p' "$TOP/README.md" | grep -Ev '^(examples/quickstart.sh|tests/run|sai3-bench|fio) ' |
    sed 's|--nvme /mnt/nvme/kv|--null|; s/--timing trace/& --speed 10000/' >commands
kvgen --input "$DATA/kvstat_dozen.csv" --format warp -o benchdata.csv.zst 2>/dev/null
ok 'the commands work' sh -ec '. ./commands'
isnt 'some there are' "$(grep -c '^kv' commands)" 0
isnt 'the drive was in some' "$(grep -c 'kvreplay --null\|--null -o' commands)" 0
if command -v gnuplot >/dev/null; then
    # shellcheck disable=SC2013 # names without blanks
    for picture in $(sed -n 's/^kvstat --plot \([^ ]*\) .*/\1/p' commands); do ok "$picture is drawn" test -s "$picture"; done
fi
# Every script that it names is there, and every one that there is is named.
is 'each script has its question' "$(sed -n '/^| question/,/^$/p' "$TOP/README.md" | grep -o '`[^`]*`' | grep -v '`examples`' | tr -d '`' |
    sort | paste -sd ' ' -)" \
    "$(cd "$TOP/examples" && for file in *; do
        case $file in common.sh | quickstart.sh | *.yaml | plots) ;; *) echo "$file" ;; esac
    done | sort | paste -sd ' ' -)"
done_testing
