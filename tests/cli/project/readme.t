#!/bin/sh
# readme.t - the commands of README.md work as they stand there: they run in their order, in a scratch folder, in a
# shell that ends at the first failure. Only the drive is an empty engine, and the pace of traces is faster. A bug
# looked like an option of an example that was renamed, or a file that no command before had made.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
PATH=$BIN:$PATH
cd "$TMP" || exit 1
ln -s "$TOP/tests" tests

# Not run: reports, commands that build or test everything, and programs of others. benchdata.csv.zst comes from another program.
sed "/^\`\`\`/,/^\`\`\`/d" "$TOP/README.md" | sed -n 's/^    //p' | grep -Ev '^(examples/quickstart.sh|tests/run|kvtrace drive|kvreplay --device-times|sai3-bench|fio) ' |
    sed 's/--target .mnt.nvme.kv/--null/; s/--timing trace/& --speed 10000/' >commands
kvgen --input "$DATA/kvstat_dozen.csv" --format warp -o benchdata.csv.zst 2>/dev/null
ok 'the commands work' sh -ec '. ./commands'
isnt 'some there are' "$(grep -c '^kv' commands)" 0
isnt 'the drive was in some' "$(grep -c 'kvreplay --null\|--null -o' commands)" 0
if command -v gnuplot >/dev/null; then
    sed -n 's/^kvstat --plot \([^ ]*\) .*/\1/p' commands >pictures
    ok 'pictures are among them' test -s pictures
    while read -r picture; do ok "$picture is drawn" test -s "$picture"; done <pictures
fi
# Every script and command in the table exists, and every one that exists is in the table.
sed -n '/^| question/,/^$/p' "$TOP/README.md" | awk -F '`' 'NR > 2 && NF { print $2 "\t" $4 }' >table
is 'each script has its question' "$(cut -f 2 table | sort | paste -sd ' ' -)" \
    "$(cd "$TOP/examples" && for file in *.sh kvbench; do
        case $file in answer.sh | common.sh | quickstart.sh) ;; *) echo "$file" ;; esac
    done | sort | paste -sd ' ' -)"
# Every test that SECURITY.md names exists.
sed -n 's/^| //p' "$TOP/SECURITY.md" | grep -o "\`tests/[^\`]*\`" | tr -d '`' | sort -u >named
is 'tests of promises are named' "$(($(lines named) > 20))" 1
is 'each of them is there' "$(while read -r file; do [ -e "$TOP/$file" ] || echo "$file"; done <named)" ''
is 'each command, in the order of kvtrace' "$(cut -f 1 table | cut -d ' ' -f 1,2)" "$(kvtrace --list-commands | sed 's/^\([^\t]*\).*/kvtrace \1/')"
done_testing
