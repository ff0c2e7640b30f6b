#!/bin/sh
# --source strace: the system calls of an engine that keeps blocks in files have the figures that a program of its own
# counted. A file is an object by its last name; its reads in sequence are one. A bug looked like objects named .tmp, like
# writes that threads interrupted and that were lost, or like a salt in a name.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/recordings.sh
. "$TOP/tests/recordings.sh"

in=$DATA/recordings/lmcache-0.5.6-fs.strace
generate() { "$BIN/kvgen" --names "$TMP/key" --summary "$TMP/s.json" "$@"; }
rows() { grep -v '^,Note' "$1"; }
by_op() { json "$TMP/s.json" '[.rows_by[] | .op + .tier[5:] + ":" + (.rows | tostring) + ":" + (.bytes | tostring)] | join(",")'; }
exits "the sample" 0 generate --input "$in" -o "$TMP/out.csv" --capture "$TMP/capture.jsonl"
stderr_like "calls on descriptors that were open before are counted" 'before the recording began are left out: 183$'
is "recognised" "$(json "$TMP/s.json" .source)" strace
is "operations" "$(by_op)" Read2:4:2097152,Write2:14:6559744
is "objects" "$(rows "$TMP/out.csv" | sed 1d | cut -d, -f5 | sort -u | wc -l)" 14
is "objects that are read" "$(grep ,Read, "$TMP/out.csv" | cut -d, -f5 | sort -u | wc -l)" 2
is "the time of the first call" "$(rows "$TMP/out.csv" | sed -n '3p' | cut -d, -f1)" 0.005392
is "all is read that was written" "$(json "$TMP/s.json" '.recording | [.late, .reads_of_unknown_size] | join(",")')" 0,0
is "nothing private is seen" "$(planted "$TMP/out.csv" "$TMP/capture.jsonl" "$TMP/s.json" "$TMP/stderr")" ""
rows "$TMP/out.csv" >"$TMP/a"
same() { # NAME ARGUMENT...: these give the rows of the sample
    exits "$1" 0 generate -o "$TMP/again.csv" --input "$2"
    rows "$TMP/again.csv" >"$TMP/b"
    ok "$1: the same rows" cmp "$TMP/a" "$TMP/b"
}
same "the capture" "$TMP/capture.jsonl"
sed 's/^\([0-9]*\) /[pid \1] /' "$in" >"$TMP/more.strace"
same "pids as strace prints them on a terminal" "$TMP/more.strace"
sed 's/^14301 /14299 /; s/(15,/(15<\/mnt\/kv-store\/x>,/; s/AT_FDCWD/AT_FDCWD<\/root>/; s/ <[0-9.]*>$//' "$in" >"$TMP/more.strace"
same "paths of descriptors, and no durations" "$TMP/more.strace"
awk 'NR % 3 == 0 {print "14064 " $2 " dreamt(1, \"planted\") = 0 <0.1>"; print $1 " " $2 " --- SIGCHLD {si_signo=SIGCHLD} ---"} {print}' \
    "$in" >"$TMP/more.strace"
same "calls that are not known, and signals" "$TMP/more.strace"
stderr_like "they are counted and named" 'not known are left out: 111, the first one "dreamt"'
head -c 20000 "$in" >"$TMP/cut.strace"
exits "cut: status 2" 2 generate --input "$TMP/cut.strace" -o "$TMP/cut.csv"
stderr_like "cut: says so" '^kvgen: .*cut.strace:[0-9]+: cut in the middle of a line; those before it are used'
rows "$TMP/cut.csv" >"$TMP/b"
head -n "$(lines "$TMP/b")" "$TMP/a" >"$TMP/c"
ok "cut: the rows before it are there" cmp "$TMP/b" "$TMP/c"

# Two threads, a write in two calls, a salt, vLLM's names, a file that is read in part, a deletion, one outside the store.
cat >"$TMP/life.strace" <<'END'
7 1795361844.000001 openat(AT_FDCWD, "/kv/aa11_3.tmp", O_WRONLY|O_CREAT) = 5 <0.1>
8 1795361844.000002 openat(AT_FDCWD, "/kv/m@0x00000001@0@bb22@planted-salt.tmp", O_WRONLY|O_CREAT) = 6 <0.1>
7 1795361844.100000 write(5, ""..., 4096 <unfinished ...>
8 1795361844.150000 pwrite64(6, ""..., 100, 0) = 100 <0.1>
7 1795361844.200000 <... write resumed>) = 4096 <0.1>
9 1795361844.300000 write(5, ""..., 1000) = 904 <0.1>
7 1795361844.400000 close(5) = 0 <0.1>
8 1795361844.400001 close(6) = 0 <0.1>
7 1795361844.500000 renameat2(AT_FDCWD, "/kv/aa11_3.tmp", AT_FDCWD, "/kv/aa11.bin", RENAME_NOREPLACE) = 0 <0.1>
8 1795361844.500001 rename("/kv/m@0x00000001@0@bb22@planted-salt.tmp", "/kv/m@0x00000001@0@bb22@planted-salt.data") = 0 <0.1>
8 1795361845.000000 openat(AT_FDCWD, "/kv/m@0x00000001@0@bb22@planted-other.data", O_RDONLY) = 6 <0.1>
8 1795361845.000001 read(6, ""..., 60) = 60 <0.1>
8 1795361845.000002 read(6, ""..., 60) = 40 <0.1>
8 1795361845.000003 read(6, "", 60) = 0 <0.1>
8 1795361845.100000 close(6) = 0 <0.1>
8 1795361845.200000 openat(AT_FDCWD, "/kv/aa11.bin", O_RDONLY) = 6 <0.1>
8 1795361845.200001 read(6, ""..., 1000) = 1000 <0.1>
8 1795361845.200002 lseek(6, 0, SEEK_SET) = 0 <0.1>
8 1795361845.300000 read(6, ""..., 5000) = 5000 <0.1>
8 1795361845.400000 openat(AT_FDCWD, "/proc/meminfo", O_RDONLY) = 9 <0.1>
8 1795361845.400001 read(9, ""..., 5000) = 1400 <0.1>
8 1795361845.400002 openat(AT_FDCWD, "/none", O_RDONLY) = -1 ENOENT (No such file or directory) <0.1>
8 1795361845.500000 unlink("/kv/aa11.bin") = 0 <0.1>
8 1795361846.000000 openat(AT_FDCWD, "/kv/cc33.tmp", O_WRONLY) = 10 <0.1>
8 1795361846.000001 write(10, ""..., 10) = 10 <0.1>
END
exits "a life of two threads" 0 generate --input "$TMP/life.strace" -o "$TMP/out.csv"
is "its rows" "$(rows "$TMP/out.csv" | awk -F, 'NR > 1 {if (!($5 in n)) n[$5] = ++k; printf "%s:%s:%s:%d ", $1, $2, $3, n[$5]}')" \
    "0.000000:Write:5000:1 0.050000:Write:100:2 0.900001:Read:100:2 1.100001:Read:1000:1 1.200000:Read:5000:1 1.400000:Delete:5000:1 1.900001:Write:10:3 "
stderr_like "a file that got no other name is counted" 'files named .tmp that got no other name: 1 '
is "salts are not seen" "$(planted "$TMP/out.csv" "$TMP/s.json" "$TMP/stderr")" ""

bad() { # NAME REGEX TEXT
    { sed 3q "$TMP/life.strace" && printf '%s\n' "$3"; } >"$TMP/bad.strace"
    exits "$1: status 2" 2 "$BIN/kvgen" --source strace --input "$TMP/bad.strace" -o none
    stderr_like "$1: says so" "^kvgen: .*bad.strace:4: $2"
}
bad "another time" 'is no line of strace -f -ttt: it has no time in seconds since 1970' '7 12:30:01 close(5) = 0'
bad "something else" 'is no line of strace -f -ttt' 'INFO: hello'
bad "a call without end" 'is no line of strace -f -ttt' '7 1795361844.200000 close(5'
bad "a long line" 'is too long' "7 1795361844.200000 write(5, \"$(head -c 70000 /dev/zero | tr '\0' x)\", 1) = 1"
done_testing
