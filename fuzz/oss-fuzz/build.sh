#!/usr/bin/env bash
# Build every target for OSS-Fuzz: with $CC, $CFLAGS and $LIB_FUZZING_ENGINE,
# into $OUT, with its inputs, its dictionary, its bounds and the libraries that
# it needs. By hand, from the top of the tree:
#
#   CC=clang CFLAGS=-fsanitize=address,fuzzer-no-link \
#   LIB_FUZZING_ENGINE=-fsanitize=fuzzer \
#   OUT=/tmp/out WORK=/tmp/work fuzz/oss-fuzz/build.sh
set -euo pipefail
cd "$(dirname "$0")/../.." 2>/dev/null && [ -f meson_options.txt ] ||
	cd "$SRC/sallyport"
build=$WORK/build
mkdir -p "$OUT/lib"

# The flags come with CFLAGS, to the linker too.
CFLAGS=$CFLAGS LDFLAGS=$CFLAGS meson setup --buildtype plain \
	-Db_lundef=false -Dfuzz=true -Dfuzz_engine="$LIB_FUZZING_ENGINE" \
	"$build"
ninja -C "$build" fuzzers

inputs_of() {
	local at
	for at in "fuzz/corpus/$1" "fuzz/regress/$1"; do
		[ ! -d "$at" ] || find "$at" -type f
	done
}

# Libraries that a machine without our packages may lack.
libraries_of() { ldd "$1" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p'; }

while read -r name max_len dictionary _; do
	target=$OUT/fuzz_$name
	cp "$build/fuzz/fuzz_$name" "$target"
	libraries_of "$target" | xargs -r cp -n -t "$OUT/lib"
	! command -v patchelf >/dev/null ||
		patchelf --set-rpath "\$ORIGIN/lib" "$target"
	for at in "$build/fuzz/$dictionary.dict" "fuzz/dict/$dictionary.dict"; do
		[ ! -f "$at" ] || cp "$at" "$target.dict"
	done
	printf '[libfuzzer]\nmax_len = %s\ntimeout = 25\n' "$max_len" \
		>"$target.options"
	inputs_of "$name" | python3 -c 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as corpus:
    for number, path in enumerate(sys.stdin.read().splitlines()):
        corpus.write(path, str(number))' "${target}_seed_corpus.zip"
done <"$build/fuzz/targets.txt"
rm -f "$OUT"/lib/libc.so.* "$OUT"/lib/ld-linux*
