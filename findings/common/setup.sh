# Sourced by every finding. Makes a temporary folder $work, which is removed at the end, and offers install and add.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
common=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export PYTHONPATH=$common PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 OMP_NUM_THREADS=1

# install PACKAGE==VERSION...: installs the packages into a virtual environment, sets $python to its interpreter and prints the
# versions. The environment is made in $work, or in $FINDINGS_CACHE and kept there. $PYTHON is the interpreter to start from.
# Exits with 77 if pip cannot install the packages.
install() {
  local venv=$work/venv
  if [[ -n ${FINDINGS_CACHE:-} ]]; then
    venv=$FINDINGS_CACHE/$(printf '%s\n' "$@" | sort | sha256sum | cut -c 1-12)
  fi
  python=$venv/bin/python
  if [[ ! -e $venv/complete ]]; then
    rm -rf "$venv"
    if ! { "${PYTHON:-python3}" -m venv "$venv" && "$venv/bin/pip" install -q "$@"; } > "$work/pip.log" 2>&1; then
      tail -n 5 "$work/pip.log" >&2
      echo "skipped: pip cannot install $*" >&2
      exit 77
    fi
    touch "$venv/complete"
  fi
  echo "versions: $*"
}

# add PACKAGE==VERSION...: installs further packages, without what they require, into $work. They may need torch to be built.
add() {
  if ! "$python" -m pip install -q --no-deps --no-build-isolation --target "$work/site" "$@" > "$work/pip.log" 2>&1; then
    tail -n 5 "$work/pip.log" >&2
    echo "skipped: pip cannot install $*" >&2
    exit 77
  fi
  export PYTHONPATH=$PYTHONPATH:$work/site
  echo "versions: $*"
}
