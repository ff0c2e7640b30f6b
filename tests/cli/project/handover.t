#!/bin/sh
# handover.t - examples/handover.sh: one trace by several clients. sai3-bench is a fake here, a script that checks what it
# is given; fio is the real one where it is installed. A bug looked like a client that got another trace, a folder
# that stayed, or a client that was missing without a word.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1

set --
for tool in sh env sed awk df sort head tail tr cat rm rmdir mkdir mktemp mv dirname grep sleep zstd; do
    set -- "$@" "$(command -v "$tool")"
done
mkdir none
ln -s "$@" "$BIN"/kv* none
handover() { # FOLDER: with the programs in it alone
    PATH=$TMP/$1 "$TOP/examples/handover.sh" -d "drive_$1" -o "out_$1" -m tiny-1b -u 1 -t 1 --storage-capacity-gb 0.1
}

exits 'without other clients' 0 handover none
stdout_like 'without other clients: the figures of kvreplay' '^kvreplay +Write +[1-9][0-9]* +[1-9][0-9]* +[0-9]+\.[0-9]{3} '
stdout_like 'without other clients: fio is missing' '^fio: not installed'
stdout_like 'without other clients: sai3-bench is missing' '^sai3-bench: not installed'
is 'nothing stays' "$(ls drive_none)" ''

cp -R none fake
cat >fake/sai3-bench <<'END'
#!/bin/sh
# A fake: checks the command line and the log, and replays nothing.
[ "$1 $2 $4" = "replay --op-log --target" ] || exit 9
case $5 in file:///*/) [ -d "${5#file://}" ] || exit 8 ;; *) exit 7 ;; esac
echo "fake sai3-bench: $(zstd -dqc "$3" | grep -c '	PUT	') PUT"
END
chmod +x fake/sai3-bench
like 'without other clients: one sentence at the end' "$(tail -n 1 "$TMP/stdout")" '^One trace, by kvreplay a mean read of .*: kvreplay.s figures'
exits 'with a fake sai3-bench' 0 handover fake
stdout_like 'with a fake sai3-bench: its report' '^  fake sai3-bench: [1-9][0-9]* PUT'
stdout_like 'with a fake sai3-bench: what it cannot do' '^sai3-bench: waits for no other operation'
is 'with a fake sai3-bench: nothing stays' "$(ls drive_fake)" ''
printf '#!/bin/sh\necho out of order\nexit 1\n' >fake/sai3-bench
exits 'a client that fails' 3 handover fake
stderr_like 'a client that fails: says so' 'sai3-bench failed: out of order'
is 'a client that fails: nothing stays' "$(ls drive_fake)" ''

if command -v fio >/dev/null; then
    cp -R none fio
    ln -s "$(command -v fio)" fio/fio
    ln -s "$(command -v truncate)" fio/truncate
    exits 'with fio' 0 handover fio
    stdout_like 'with fio: its figures' '^fio +Write +[1-9][0-9]* +[1-9][0-9]* +[0-9]+\.[0-9]{3} '
    is 'with fio: the same bytes are written' "$(awk '$1 == "fio" && $2 == "Write" { print $4 }' "$TMP/stdout")" \
        "$(awk '$1 == "kvreplay" && $2 == "Write" { print $4 }' "$TMP/stdout")"
    stdout_like 'with fio: what it cannot do' '^fio: no objects'
    is 'with fio: nothing stays' "$(ls drive_fio)" ''
else
    diag 'fio is not installed: not tested'
fi
exits 'no folder' 2 "$TOP/examples/handover.sh"
stderr_like 'no folder: says so' '-d DIR is needed'
done_testing
