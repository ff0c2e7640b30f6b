#!/bin/sh
# install-deps.sh - installs the packages that kvtrace needs and that this machine lacks, and no others.
#
#   ./install-deps.sh              to build: a C compiler, make, pkg-config and the libraries
#   ./install-deps.sh --pictures   and gnuplot, with which kvstat draws
#   ./install-deps.sh --mpi        and for kvreplay-mpi and kvprecond-mpi: Open MPI
#   ./install-deps.sh --tests      and to run tests/run
#   ./install-deps.sh --lint       and for make lint, make fuzz and a build with clang
#   ./install-deps.sh --packaging  and for make deb (Debian and Ubuntu)
#   ./install-deps.sh --cross      and for make arm64 (Debian and Ubuntu)
#   ./install-deps.sh --list       only prints the names of the packages (with --tests, --lint... those too)
#
# Debian and Ubuntu (apt), Fedora (dnf), Arch (pacman). Asks for root through sudo, and only when
# something is missing. Packages that only a part of kvtrace uses (spreadsheets, Redis, S3, pictures, the tests with fio)
# are named and left out where the repositories lack them. Exit status: 0 all is there; 1 could not install;
# 2 usage, or an unknown system.
set -euf # a "?" behind a name is no pattern for files
export LC_ALL=C

die() {
    status=$1
    shift
    echo "install-deps.sh: $*" >&2
    exit "$status"
}

list=no with_pictures=no with_tests=no with_lint=no with_packaging=no with_cross=no with_mpi=no
for arg; do
    case $arg in
    --pictures) with_pictures=yes ;;
    --mpi) with_mpi=yes ;;
    --tests) with_tests=yes ;;
    --lint) with_lint=yes ;;
    --packaging) with_packaging=yes ;;
    --cross) with_cross=yes ;;
    --list) list=yes ;;
    -h | --help)
        sed -n '2,/^set /s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *) die 2 "$arg: unknown option (try --help)" ;;
    esac
done

# A "?" behind a name: kvtrace can do without it.
if command -v apt-get >/dev/null; then
    system=apt
    names="gcc libc6-dev make pkg-config zstd libzstd-dev libcsv-dev libjson-c-dev liburing-dev libyaml-dev
        libxxhash-dev libxlsxwriter-dev? libhiredis-dev? zlib1g-dev?
        libcurl4-openssl-dev? libzmq3-dev? libnvme-dev?"
    for_pictures="gnuplot-nox?"
    for_mpi="mpi-default-dev mpi-default-bin"
    for_tests="libcmocka-dev perl procps mandoc? shellcheck? python3 mawk? gnuplot-nox? jq xxhash fio? redis-server?
        python3-zmq? python3-msgpack? curl? e2fsprogs? iproute2?"
    # Newer releases have libclang-rt-dev as a package of its own, older ones have it in clang.
    for_lint="clang clang-format libclang-rt-dev cppcheck mandoc shellcheck"
    for_packaging="build-essential dpkg-dev debhelper fakeroot lintian"
    for_cross="gcc-aarch64-linux-gnu qemu-user"
elif command -v dnf >/dev/null; then
    system=dnf
    names="gcc make pkgconf-pkg-config diffutils findutils gawk zstd libzstd-devel libcsv-devel json-c-devel
        liburing-devel libyaml-devel xxhash-devel libxlsxwriter-devel? hiredis-devel? libcurl-devel? zlib-devel? zeromq-devel? libnvme-devel?"
    for_pictures="gnuplot?"
    for_mpi="openmpi-devel"
    for_tests="libcmocka-devel perl-Test-Harness procps-ng mandoc? ShellCheck? python3 gnuplot? jq xxhash fio? valkey-compat-redis?
        python3-pyzmq? python3-msgpack? curl? e2fsprogs? iproute? tar gzip libasan libubsan libtsan"
    for_lint="clang clang-tools-extra compiler-rt cppcheck mandoc ShellCheck"
    for_packaging=""
    for_cross=""
elif command -v pacman >/dev/null; then
    system=pacman
    names="gcc make pkgconf diffutils findutils gawk zstd libcsv json-c liburing libyaml xxhash libxlsxwriter? hiredis? curl? zlib? zeromq? libnvme?"
    for_pictures="gnuplot?"
    for_mpi="openmpi"
    # No mandoc: on Arch it would replace man-db. The tests that want it skip themselves.
    for_tests="cmocka perl procps-ng shellcheck? python gnuplot? jq fio? valkey? python-pyzmq? python-msgpack? curl? e2fsprogs? iproute2?"
    for_lint="clang compiler-rt cppcheck shellcheck"
    for_packaging=""
    for_cross=""
else
    die 2 "neither apt, dnf nor pacman here; needed: a C17 compiler, make, pkg-config, zstd, and the" \
        "development files of libzstd, libcsv, json-c, liburing, libyaml, xxHash; for the tests cmocka, prove and jq"
fi
if [ $with_pictures = yes ]; then names="$names $for_pictures"; fi
if [ $with_mpi = yes ]; then names="$names $for_mpi"; fi
if [ $with_tests = yes ]; then
    names="$names $for_tests"
    for name in $for_mpi; do names="$names $name?"; done
fi
if [ $with_lint = yes ]; then names="$names $for_lint"; fi
if [ $with_packaging = yes ]; then names="$names $for_packaging"; fi
if [ $with_cross = yes ]; then names="$names $for_cross"; fi

# has NAME: is the package installed?
has() {
    case $system in
    apt) [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ] ;;
    dnf) rpm -q --whatprovides "$1" >/dev/null 2>&1 ;;
    pacman) pacman -T "$1" >/dev/null 2>&1 ;;
    esac
}

# known NAME: do the configured repositories have it?
known() {
    case $system in
    apt) apt-cache show --no-all-versions "$1" >/dev/null 2>&1 ;;
    dnf) dnf -q info "$1" >/dev/null 2>&1 ;;
    pacman) pacman -Si "$1" >/dev/null 2>&1 ;;
    esac
}

if [ "$list" = yes ]; then
    for name in $names; do printf '%s\n' "${name%[?]}"; done | sort -u
    exit 0
fi

missing=
for name in $names; do
    case " $missing " in *" $name "*) continue ;; esac
    has "${name%[?]}" || missing="${missing:+$missing }$name"
done
[ -n "$missing" ] || exit 0

case $system in
apt) refresh="apt-get -q update" install="apt-get -q install -y --no-install-recommends" ;;
dnf) refresh="" install="dnf -q install -y" ;;
# A partial upgrade (pacman -Sy NAME) is what Arch warns of, so the lists must be fresh or a full upgrade.
pacman) refresh="" install="pacman -S --needed --noconfirm" ;;
esac

root=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die 1 "sudo is not here; run as root: $install $missing"
    if [ -t 0 ]; then root=sudo; else root="sudo -n"; fi
fi

# as_root WORDS: a command and its arguments, with blanks between.
as_root() {
    command=$1
    set --
    for word in $root env DEBIAN_FRONTEND=noninteractive $command; do set -- "$@" "$word"; done
    "$@" || die 1 "\"$command\" failed; run it as root, then start again"
}

if [ -n "$refresh" ]; then as_root "$refresh"; fi

wanted=
for name in $missing; do
    if known "${name%[?]}"; then
        wanted="${wanted:+$wanted }${name%[?]}"
        continue
    fi
    case $system/$name in
    *[?]) echo "install-deps.sh: ${name%[?]} is not in the configured repositories of $system: going without" >&2 ;;
    apt/libclang-rt-dev) ;; # part of clang itself there
    pacman/*)
        die 1 "$name is not in the configured repositories of pacman (run pacman -Sy; else build it from the AUR)"
        ;;
    apt/*) die 1 "$name is not in the configured repositories of apt (on Ubuntu: enable universe)" ;;
    *) die 1 "$name is not in the configured repositories of $system" ;;
    esac
done
[ -n "$wanted" ] || exit 0
echo "install-deps.sh: installing $wanted" >&2
as_root "$install $wanted"
