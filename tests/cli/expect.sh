# Code shared by the command-line tests: counting failures. Sourced, before they leave the folder they were called in.
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

# expect CODE TEXT COMMAND...: the exit code, and TEXT somewhere in what was printed.
expect() {
  local code=$1 text=$2 output status
  shift 2
  output=$("$@" 2>&1)
  status=$?
  if ((status != code)) || [[ $output != *"$text"* ]]; then
    fail "$* -> exit $status (expected $code), expected '$text' in:"
    echo "$output"
  fi
}
