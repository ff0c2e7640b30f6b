#!/bin/sh
# debian.t - Debian's own tools accept the files that .ci/packaging/debian generates: one version and date, the build
# dependencies of install-deps.sh, rules that run. The build itself is make deb. A bug looked like a library that was
# added to install-deps.sh and not to the package.
# builds: plain
. "${0%/*}/../../lib.sh"
cd "$TOP" || exit 1
command -v dpkg-parsechangelog >/dev/null || skip_all 'dpkg-dev is not here'
command -v apt-get >/dev/null || skip_all 'install-deps.sh names the packages of another system'

made=$TMP/debian
DEBFULLNAME='A Name' DEBEMAIL=a@example.org SOURCE_DATE_EPOCH=86400
export DEBFULLNAME DEBEMAIL SOURCE_DATE_EPOCH
ok 'the files are written' .ci/packaging/debian 1.2.3 "$TMP"

field() { dpkg-parsechangelog -l "$made/changelog" -S "$1"; }
is 'the version' "$(field Version)" 1.2.3-1
is 'the maintainer' "$(field Maintainer)" 'A Name <a@example.org>'
is 'the date' "$(field Date)" 'Fri, 02 Jan 1970 00:00:00 +0000'
is 'one maintainer' "$(sed -n 's/^Maintainer: //p' "$made/control")" 'A Name <a@example.org>'

: >"$TMP/substvars"
exits 'dpkg reads the control file' 0 dpkg-gencontrol -pkvtrace -c"$made/control" -l"$made/changelog" \
    -T"$TMP/substvars" -f"$TMP/files" -P"$TMP" -O
stdout_like 'and names the package' '^Package: kvtrace$'
is 'the libraries that it is built with' \
    "$(sed -n 's/^ \([a-z0-9.-]*-dev\),$/\1/p' "$made/control" | sort)" \
    "$(./install-deps.sh --list | grep -e '-dev$' | grep -vx libc6-dev)"
like 'and the package that dpkg-buildpackage always needs' "$(./install-deps.sh --list --packaging)" '^build-essential$'
ok 'make reads the rules' make -n -f "$made/rules" override_dh_auto_test

exits 'a folder is wanted' 2 .ci/packaging/debian 1.2.3
done_testing
