#!/bin/sh
# static.t - make static links the objects of a build into programs that need only glibc, and packs them with man pages,
# completions and examples. A bug looked like a program that did not start on the host it was copied to, because it
# needed a library of this one.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TOP" || exit 1
unset MAKEFLAGS MFLAGS MAKELEVEL

cc=${CC:-cc}
for lib in zstd json-c uring yaml xxhash csv; do
    case $($cc -print-file-name="lib$lib.a") in
    /*) ;;
    *) skip_all "lib$lib.a is not here" ;;
    esac
done
case $BIN in "$TOP"/*) build=${BIN#"$TOP"/} ;; *) build=$BIN ;; esac
build=${build%/bin}
[ -e "$build/lib/base/err.o" ] || skip_all "the objects of $build are not here"
! built_with 'fsanitize|coverage' || skip_all 'sanitizers and coverage need libraries of their own'
case $BIN in /*) build_bin=$BIN ;; *) build_bin=$TOP/$BIN ;; esac
cuda=$(sed -n 's|.*-DKVTRACE_CUDA=1 -isystem \([^ ]*\)/include.*|\1|p' "$build/flags")

# A copy of the objects as they are, whatever flags they were made with: nothing is compiled here.
mkdir "$TMP/build"
for part in lib kvgen kvreplay kvstat kvprecond bin libkvtrace.a flags; do
    cp -Rp "$build/$part" "$TMP/build"
done
exits 'make static' 0 make -o "$TMP/build/flags" -o all BUILD="$TMP/build" \
    CUDA_HOME="${cuda:-none}" static
stdout_unlike 'compiles nothing' ' -c -o '
tarball=$(tail -n 1 "$TMP/stdout")
machine=$($cc -dumpmachine)
like 'and names the tarball' "$tarball" "^$TMP/build/static/kvtrace-[0-9.]*-${machine%%-*}\.tar\.gz\$"

mkdir "$TMP/there"
ok 'it unpacks' tar -C "$TMP/there" --strip-components=1 -xzf "$tarball"
cd "$TMP/there" || exit 1
is 'what it holds' "$(printf '%s\n' *)" "$(printf 'LICENSE\nREADME.md\nbin\ncompletions\nexamples\nman')"
is 'the man pages' "$(cd man && printf '%s\n' *)" "$(cd "$TOP/man" && printf '%s\n' *)"
is 'completions' "$(cd completions && printf '%s\n' */*kvgen*)" "$(printf 'bash/kvgen\nfish/kvgen.fish\nzsh/_kvgen')"
ok 'the models among the examples' test -s examples/models.yaml

if command -v readelf >/dev/null; then
    for program in kvgen kvreplay kvstat kvprecond kvtrace-trace; do
        is "$program needs glibc only" "$(readelf -d "bin/$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
            grep -vE '^(libc|libm|libdl|librt|libpthread|ld-linux[a-z0-9_-]*)\.so\.[0-9]$')" ''
    done
fi

# What the tarball lacks beside the build that it is of, its programs say, and the README lists.
lacks() { for program in kvgen kvreplay kvstat kvprecond; do "$1/$program" --version; done | sed -n 's/^built without: //p' | sed 's/, /\n/g' | sort -u; }
lacks "$build_bin" >"$TMP/lacks.build"
lacks bin >"$TMP/lacks.static"
is 'what it lacks' "$(comm -13 "$TMP/lacks.build" "$TMP/lacks.static" | grep -vE '^(spreadsheets|S3|live KV events|wear of NVMe drives) \(')" ''
is 'all of that is said' "$(grep -cE '^(spreadsheets \(libxlsxwriter|S3 \(libcurl|live KV events \(libzmq|wear of NVMe drives \(libnvme)\)$' "$TMP/lacks.static")" 4
listed=$(tr '\n' ' ' <README.md | sed 's/.*The tarball of .make static. lacks //; s/: their libraries need.*//; s/ and /, /; s/, /\n/g' | sort)
is 'and stands in the README' "$listed" "$(grep -E '^(spreadsheets|S3|live|wear)' "$TMP/lacks.static")"

# The four of them at work, a folder as target.
pipeline() {
    bin/kvprecond --size 1M --config file_size=1M "$TMP/filled" >/dev/null &&
        bin/kvgen --model tiny-1b --num-users 2 --duration 2 --gpu-mem-gb 0 --cpu-mem-gb 0 --limit 5 |
        bin/kvreplay --nvme "$TMP/objects" | bin/kvstat >"$TMP/report" && grep -q '^Storage read ' "$TMP/report"
}
ok 'the four programs work' pipeline

exits 'the front door works' 0 bin/kvtrace size -m tiny-1b -u 2 -t 20 -o "$TMP/size"
stdout_like 'and answers' '^(A cache of|Nothing was asked for twice)'

# Spreadsheets are left out of the tarball: CSV comes instead, and that is said.
exits '--xlsx' 0 bin/kvstat --xlsx "$TMP/sheet.xlsx" "$DATA/kvstat_dozen.csv"
stderr_like 'says so' "^kvstat: --xlsx: this build has no libxlsxwriter: $TMP/sheet[.]csv is CSV instead$"
ok 'and writes the CSV' sh -c "bin/kvstat --csv '$DATA/kvstat_dozen.csv' | cmp - '$TMP/sheet.csv'"
not_ok 'not the spreadsheet' test -e "$TMP/sheet.xlsx"
cp "$DATA/kvstat_dozen.csv" "$TMP/own.csv"
exits 'which is never the input' 2 bin/kvstat --xlsx "$TMP/own.xlsx" "$TMP/own.csv"
ok 'that is as it was' cmp "$DATA/kvstat_dozen.csv" "$TMP/own.csv"
done_testing
