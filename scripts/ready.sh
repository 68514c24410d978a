#!/bin/sh
# Makes .venv from the hashed lock, and sees to it that a JDK is there.
# Called by the Makefile; safe to run again at any time.
set -eu

PYTHON=${PYTHON:-python3}

say() { printf '%s\n' "$*" >&2; }
fail() { say "$@"; exit 1; }

# Installs packages where that can be done without asking; says no otherwise.
install_as_root() {
  [ "$(id -u)" = 0 ] || return 1
  if command -v apt-get >/dev/null; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$1"
  elif command -v dnf >/dev/null; then
    dnf install -y -q "$2"
  elif command -v apk >/dev/null; then
    apk add -q "$3"
  else
    return 1
  fi
}

# The JDK's version, of the compiler in the directory given.
jdk_version() { "$1/bin/javac" -version 2>&1 | sed -n 's/^javac \([0-9]*\).*/\1/p'; }

jdk_is_there() {
  on_path=$(command -v javac || true)
  [ -z "$on_path" ] || on_path=$(dirname "$(dirname "$(readlink -f "$on_path")")")
  for home in "${HEADRACE_JAVA_HOME:-}" "${JAVA_HOME:-}" "$on_path" /usr/lib/jvm/* \
    /Library/Java/JavaVirtualMachines/*/Contents/Home; do
    [ -n "$home" ] && [ -x "$home/bin/javac" ] || continue
    version=$(jdk_version "$home")
    [ "${version:-0}" -ge 17 ] && [ "$version" -le 23 ] && return 0
  done
  return 1
}

"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
  fail "headrace needs Python 3.11 or newer; set PYTHON to one: make PYTHON=python3.11"

if ! jdk_is_there; then
  say "no JDK 17 to 23 here; installing one"
  install_as_root openjdk-17-jdk-headless java-17-openjdk-devel openjdk17-jdk >&2 || true
  jdk_is_there || fail "headrace needs a JDK 17 to 23. Install it with one of:
  sudo apt-get install -y openjdk-17-jdk-headless
  sudo dnf install -y java-17-openjdk-devel
  brew install openjdk@17"
fi

# uv makes the environment; without it, pip first brings the locked one.
if command -v uv >/dev/null; then
  uv=uv
  [ -x .venv/bin/python ] || uv venv --quiet --python "$PYTHON" .venv
else
  if [ ! -x .venv/bin/python ]; then
    "$PYTHON" -m venv .venv || {
      install_as_root python3-venv python3 python3 >&2 || true
      rm -rf .venv
      "$PYTHON" -m venv .venv ||
        fail "Python's venv module is missing: sudo apt-get install -y python3-venv"
    }
  fi
  uv=.venv/bin/uv
  if [ ! -x $uv ]; then
    sed -n '/^uv==/,/^    # via/p' requirements.lock > .venv/uv.txt
    .venv/bin/python -m pip install --quiet --require-hashes -r .venv/uv.txt
  fi
fi

say "installing the locked packages into .venv"
progress=--quiet
[ -t 2 ] && progress=
$uv pip sync $progress --python .venv/bin/python --require-hashes requirements.lock
$uv pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation -e .
