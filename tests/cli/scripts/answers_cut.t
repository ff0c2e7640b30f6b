#!/bin/sh
# answers_cut.t - a signal while a drive is measured, after the measurement is written: the folder for the answer stays usable, and
# an earlier measurement stays. A bug looked like "already exists and was not made by kvtrace", and like a measurement that was gone.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/scripts.sh
. "$TOP/tests/scripts.sh"
export WANT=-

# The last that a measurement does is to remove what it wrote: then the signal comes, to all of the session.
mv "$STUBS/kvreplay" "$STUBS/replays"
cat >"$STUBS/kvreplay" <<'END'
#!/bin/sh
case " $* " in
*' --destroy-data '*)
    : >"$SEEN.cut"
    kill -s TERM 0
    ;;
esac
exec "$STUBS/replays" "$@"
END
chmod +x "$STUBS/kvreplay"
cut_off() { # WHAT OUT: the measurement for an answer in OUT.
    rm -f "$SEEN.cut"
    exits "$1" 143 "$EXAMPLES/drive.sh" -m tiny-1b -t 1s -o "$2" disk/kv
    ok '... after the measurement' test -e "$SEEN.cut"
}
cut_off 'cut off' out
is '... there is none' "$(find out -name drive.json)" ''
cut_off 'the same again' out
mkdir -p earlier
printf '%s\ndrive.json\n' '# Files that kvtrace made in this folder. A later run may write them anew.' >earlier/.kvtrace-results
printf '{\n  "program": "kvtrace model",\n  "mark": 17\n}\n' >earlier/drive.json
cut_off 'with an earlier one' earlier
ok '... it stays' grep -q '"mark": 17' earlier/drive.json

# Where nothing comes between, it is named by the command that one would type.
mv "$STUBS/replays" "$STUBS/kvreplay"
"$EXAMPLES/drive.sh" -m tiny-1b -t 1s -o earlier disk/kv >/dev/null 2>&1
like 'the command names the file' "$(jq -r '.command | join(" ")' earlier/drive.json)" '^kvtrace model --quick .*-o earlier/drive.json -- disk/kv$'
ok 'the earlier one is kept' grep -q '"mark": 17' earlier/.earlier/1/drive.json
done_testing
