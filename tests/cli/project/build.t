#!/bin/sh
# build.t - the promises of the Makefile and the scripts around it: one version everywhere, an uninstall that removes
# all that install made, a list of packages. A bug looked like a man page that install forgot, files that uninstall
# left, a link that failed for want of a library that nothing calls, or a start that loaded thirty for one that the run did not.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TOP" || exit 1
unset MAKEFLAGS MFLAGS MAKELEVEL

version=$(sed -n 's/^VERSION := //p' Makefile)
for program in kvgen kvreplay kvstat kvprecond; do
    is "$program has the Makefile's version" "$("$BIN/$program" --version | head -n 1)" "$program $version"
done
like 'the change log knows it' "$(sed -n '/^## /p' CHANGELOG.md | head -n 1)" "^## $version"

# A build folder that holds the programs under test, so that nothing is compiled here.
mkdir "$TMP/build"
ln -s "$BIN" "$TMP/build/bin"
install() { make -s -o all BUILD="$TMP/build" DESTDIR="$TMP/root" PREFIX=/usr "$@" >"$TMP/log" 2>&1 || cat "$TMP/log"; }

is 'install says nothing' "$(install install)" ''
for program in kvgen kvreplay kvstat kvprecond; do
    ok "$program is installed" test -x "$TMP/root/usr/bin/$program"
    ok "with its man page" cmp "man/$program.1" "$TMP/root/usr/share/man/man1/$program.1"
done
ok 'the helper of kvreplay, without a right of root' test -x "$TMP/root/usr/bin/kvtrace-trace"
ok 'with its man page' cmp man/kvtrace-trace.1 "$TMP/root/usr/share/man/man1/kvtrace-trace.1"
if [ "$(id -u)" = 0 ] && command -v getcap >/dev/null && cp "$BIN/kvtrace-trace" "$TMP/capable" && setcap cap_dac_override=ep "$TMP/capable" 2>/dev/null; then
    is 'it has none' "$(getcap "$TMP/root/usr/bin/kvtrace-trace")" ''
    is 'nor does an install with it say anything' "$(install install WITH_SETCAP=1)" ''
    like 'which gives it one' "$(getcap "$TMP/root/usr/bin/kvtrace-trace")" 'cap_dac_override=ep$'
else
    ok 'its capability # SKIP not root, no setcap, or files have none here' true
fi
ok 'the front door, a link into libexec' test -x "$TMP/root/usr/bin/kvtrace"
ok 'with its man page' cmp man/kvtrace.1 "$TMP/root/usr/share/man/man1/kvtrace.1"
exits 'it runs as installed' 0 env PATH=/usr/bin:/bin "$TMP/root/usr/bin/kvtrace" size -m tiny-1b -u 2 -t 20 -o "$TMP/size"
stdout_like 'and answers' '^(A cache of|Nothing was asked for twice)'
ok 'the format' test -s "$TMP/root/usr/share/man/man5/kvtrace.5"
ok 'the overview' test -s "$TMP/root/usr/share/man/man7/kvtrace.7"
ok 'the licence' test -s "$TMP/root/usr/share/doc/kvtrace/LICENSE"
ok 'the examples' test -x "$TMP/root/usr/share/doc/kvtrace/examples/suite.sh"
ok 'but the one that builds from the sources' test ! -e "$TMP/root/usr/share/doc/kvtrace/examples/quickstart.sh"
for file in bash-completion/completions/kvgen zsh/site-functions/_kvgen fish/vendor_completions.d/kvgen.fish \
    bash-completion/completions/kvtrace zsh/site-functions/_kvtrace fish/vendor_completions.d/kvtrace.fish; do
    ok "$file" test -s "$TMP/root/usr/share/$file"
done
is 'nor does an install below the build folder stop make' \
    "$(install install DESTDIR="$TMP/build/below" && install install DESTDIR="$TMP/build/below")" ''
rm -rf "$TMP/build/below"
is 'uninstall says nothing' "$(install uninstall)" ''
is 'and leaves no file' "$(find "$TMP/root" ! -type d)" ''

# Every man page is in the list, and every page in the list exists.
is 'the list of man pages is whole' \
    "$(cd man && for f in *.[1-9]; do echo "$f"; done | sort | tr '\n' ' ')" \
    "$(sed -n 's/^MANPAGES := //p' Makefile | tr ' ' '\n' | sort | tr '\n' ' ')"

# pkg-config is not asked what libxlsxwriter needs itself: without zlib's development files it would refuse.
mkdir "$TMP/bin"
printf '#!/bin/sh\ncase "$*" in *xlsxwriter*) exit 1 ;; esac\n' >"$TMP/bin/pkg-config"
chmod +x "$TMP/bin/pkg-config"
sheets() { make -pn BUILD="$TMP/xlsx" "$@" clean 2>/dev/null | sed -n 's/^XLSX_FLAGS := .*-DKVTRACE_XLSX_FILE=//p'; }
like 'spreadsheets take one library' "$(sheets XLSX=yes)" '^libxlsxwriter[.]so[.][0-9]+$'
is 'whatever pkg-config says' "$(PATH=$TMP/bin:$PATH sheets)" "$(sheets)"

# Libraries that bring many others are no part of the link: a run that needs one loads it, and says so where it is none.
mkdir "$TMP/none" "$TMP/objects"
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n0.0,Write,4096,Tier-2,a,Prefill\n' >"$TMP/t.csv"
# without PART LIBRARY PROGRAM ARGUMENTS...
without() {
    part=$1 library=$2 program=$3
    shift 3
    if ! built_with "KVTRACE_${part}_FILE="; then
        ok "$library # SKIP built without it" true
        return
    fi
    file=$(sed -n "s/.*KVTRACE_${part}_FILE=\([^ ]*\).*/\1/p" "${BIN%/bin}/flags")
    : >"$TMP/none/$file"
    unlike "$program is not linked with $library" "$(ldd "$BIN/$program")" "$library"
    [ $# -gt 0 ] || return 0 # a drive is needed, too
    exits "$program: a run that needs it" 2 env LD_LIBRARY_PATH="$TMP/none" "$BIN/$program" "$@"
    stderr_like 'says so' "^$program: $file: .* need it: .*(too short|invalid)"
}
without S3 libcurl kvreplay --target 's3://bucket/x?endpoint=http://127.0.0.1:1' -o none "$TMP/t.csv"
without ZMQ libzmq kvgen --input tcp://127.0.0.1:1 --duration 1 -o none
without NVME libnvme kvreplay
without XLSX libxlsxwriter kvstat
ok 'kvstat: a spreadsheet without it' env LD_LIBRARY_PATH="$TMP/none" "$BIN/kvstat" --xlsx "$TMP/x.xlsx" "$TMP/t.csv"
ok 'is CSV' test -s "$TMP/x.csv" -a ! -e "$TMP/x.xlsx"
ok 'another run of kvreplay does not' env LD_LIBRARY_PATH="$TMP/none" "$BIN/kvreplay" --target "$TMP/objects" -o "$TMP/r.csv" "$TMP/t.csv"
ok 'nor of kvgen' env LD_LIBRARY_PATH="$TMP/none" "$BIN/kvgen" --input "$TMP/t.csv" -o none
ok 'nor of kvstat' env LD_LIBRARY_PATH="$TMP/none" "$BIN/kvstat" "$TMP/r.csv"

# A liburing that is too old is named at the start, not in the middle of a build.
printf '#!/bin/sh\ncase "$*" in *"liburing >= "*) exit 1 ;; esac\n' >"$TMP/bin/pkg-config"
PATH=$TMP/bin:$PATH exits 'an old liburing' 2 make BUILD="$TMP/old" options
stderr_like 'is named' \
    '^kvtrace: a library is missing or too old .* of liburing 2[.]3 or later[)]; run ./install-deps.sh$'

# Objects are made anew when a flag changes, also a flag of single files.
flags() { make -n BUILD="$TMP/flags" "$@" clean >"$TMP/log" 2>&1 && cksum <"$TMP/flags/flags"; }
before=$(flags)
is 'the same flags' "$(flags)" "$before"
for name in ISA_AVX2 ISA_AVX512 ISA_FETCH; do
    isnt "$name changed" "$(flags $name=-g)" "$before"
done

# The instruction sets of the processor that the compiler writes for.
compiler() { printf '#!/bin/sh\n[ "$*" = -dumpmachine ] && echo %s\n' "$1" >"$TMP/bin/cc-for" &&
    chmod +x "$TMP/bin/cc-for"; }
instruction_sets() { make -pn CC="$TMP/bin/cc-for" BUILD="$TMP/isa" clean 2>/dev/null | sed -n 's/^ISA_AVX2 := //p'; }
compiler x86_64-linux-gnu
is 'vector code for x86-64' "$(instruction_sets)" -mavx2
compiler aarch64-linux-gnu
is 'and for no other processor' "$(instruction_sets)" ''

if command -v apt-get >/dev/null || command -v dnf >/dev/null || command -v pacman >/dev/null; then
    exits 'install-deps.sh lists the packages' 0 ./install-deps.sh --list
    cp "$TMP/stdout" "$TMP/base"
    like 'a library among them' "$(cat "$TMP/base")" '^liburing'
    exits 'and those of the tests' 0 ./install-deps.sh --list --tests
    is 'besides' "$(comm -23 "$TMP/base" "$TMP/stdout")" ''
    ok 'more' test "$(lines "$TMP/stdout")" -gt "$(lines "$TMP/base")"
fi
# A machine with dnf, with nothing installed, whose repositories lack the package $lacks.
mkdir "$TMP/fedora"
for tool in sed tr sort env; do ln -s "$(command -v $tool)" "$TMP/fedora"; done
tool() { printf '#!/bin/sh\n%s\n' "$2" >"$TMP/fedora/$1" && chmod +x "$TMP/fedora/$1"; }
tool id 'echo 0'
tool rpm 'exit 1'
tool dnf "case \"\$*\" in \"-q info \$lacks\") exit 1 ;; \"-q info \"*) ;; *) echo \"\$*\" ;; esac"
installs() { lacks=$1 PATH=$TMP/fedora /bin/sh ./install-deps.sh --tests; }
exits 'on Fedora, but for a part that is not to be had' 0 installs libxlsxwriter-devel
stdout_like 'all else is installed' \
    '^-q install -y gcc make .*libyaml-devel xxhash-devel hiredis-devel libcurl-devel zlib-devel zeromq-devel libnvme-devel libcmocka-devel .*jq xxhash fio '
stdout_unlike 'not that part' 'xlsx|[?]'
stderr_like 'which is said' '^install-deps.sh: libxlsxwriter-devel is not in the .* of dnf: going without$'
exits 'without what is needed' 1 installs liburing-devel
is 'nothing is installed' "$(cat "$TMP/stdout")" ''

exits 'an option that it does not know' 2 ./install-deps.sh --everything
exits 'nor tests/run' 2 tests/run --everything
exits 'a test that is not there' 2 tests/run --built no-such-test

done_testing
