#include "frameworks/shell_script.hpp"

#include <doctest/doctest.h>

#include "penstock/core/error.hpp"

using namespace penstock;
using frameworks::shell::Launch;
using frameworks::shell::run_script;

namespace {

std::string joined(const std::vector<frameworks::shell::Field>& fields) {
  std::string out;
  for (const auto& field : fields) out += (out.empty() ? "" : " ") + field.text;
  return out;
}

/// Words of the only command.
std::string launched(const std::string& script) {
  const auto run = run_script(script, "t.sh");
  REQUIRE(run.launches.size() == 1);
  CHECK(run.launches.front().others.empty());
  return joined(run.launches.front().fields);
}

/// Words of the only command if branches go the other way.
std::vector<std::string> otherwise(const std::string& script) {
  const auto run = run_script(script, "t.sh");
  REQUIRE(run.launches.size() == 1);
  std::vector<std::string> out;
  for (const auto& other : run.launches.front().others) out.push_back(joined(other.fields));
  return out;
}

std::string refusal(const std::string& script) {
  try {
    (void)run_script(script, "t.sh");
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "taken";
}

}  // namespace

TEST_CASE("values are put in as bash puts them in") {
  CHECK(launched("A=1 B='two words'\nrun --a $A --b \"$B\" --c $B") ==
        "run --a 1 --b two words --c two words");
  CHECK(launched("A=(--x 1\n  # comment\n  --y 2)\nrun \"${A[@]}\" --n ${#A[@]}") == "run --x 1 --y 2 --n 4");
  CHECK(launched("A=(--x)\nA+=(1 --y)\nB=--z\nB+=3\nrun ${A[@]} $B") == "run --x 1 --y --z3");
  CHECK(launched("run --a ${NONE:-5} --b ${NONE-6}${NONE:+7} --c ${D:=8}") == "run --a 5 --b 6 --c 8");
  CHECK(launched(": ${D:=8}\nrun --d $D") == "run --d 8");
  CHECK(launched("N=4\nrun --a $((N * 8 + 1)) --b $(( (${N} - 1) / 2 % 5 )) --c $((N>3))") ==
        "run --a 33 --b 1 --c 1");
  CHECK(launched("run --a \\\n  1 # --b 2\n") == "run --a 1");
  CHECK(launched("run --a x > log.txt 2>&1 < /dev/null") == "run --a x");
  CHECK(launched("run --a 8 10>log.txt 12>&1") == "run --a 8");
  CHECK(launched("run --a 'a $B \"c\"' --d \"e \\\" f\" \"$@\"") == "run --a a $B \"c\" --d e \" f");
  CHECK(launched("export A=1; readonly B=2\nlocal C=3\nrun --a $A$B$C") == "run --a 123");
  CHECK(launched("A=1 OMP_NUM_THREADS=2 run --a 1") == "run --a 1");
}

TEST_CASE("values that only a shell has stay as they are written") {
  CHECK(launched("run --a $NONE --b $(nproc) --c `hostname` --d ${X%.txt} --e $((NONE + 1))") ==
        "run --a $NONE --b $(nproc) --c `hostname` --d ${X%.txt} --e $((NONE + 1))");
}

TEST_CASE("conditions that the script decides choose one branch") {
  const std::string both = "then A=1; else A=2; fi\nrun --a $A";
  for (const char* holds :
       {"[ $S = small ]", "[[ $S == sm* ]]", "[ \"$S\" != large ]", "test -n \"$S\"", "[ -z \"$NONE\" ]",
        "[ $N -ge 8 ]", "[[ $N -lt 9 && ( $S == x || $N -eq 8 ) ]]", "(( N > 7 ))", "[ ! -z $S ]",
        "[ $# -eq 0 ]", "[ -z \"$1\" ]", "true", "! false"}) {
    CAPTURE(holds);
    CHECK(launched("S=small\nN=8\nif " + std::string(holds) + "; " + both) == "run --a 1");
  }
  for (const char* fails : {"[ $S = large ]", "[ -z \"$S\" ]", "[ $N -gt 8 ]", "(( N < 8 ))", "false"}) {
    CAPTURE(fails);
    CHECK(launched("S=small\nN=8\nif " + std::string(fails) + "; " + both) == "run --a 2");
  }
  CHECK(launched("S=b\nif [ $S = a ]; then A=1\nelif [ $S = b ]; then A=2\nelse A=3; fi\nrun --a $A") ==
        "run --a 2");
  CHECK(launched("S=large\ncase $S in\n small) A=1 ;;\n large|huge) A=2;;\n *) A=3\nesac\nrun --a $A") ==
        "run --a 2");
  CHECK(launched("[ -z \"$TP\" ] && TP=2\n[ $TP = 2 ] || TP=9\nrun --tp $TP") == "run --tp 2");
  CHECK(launched("S=${1:-small}\nif [ $S = small ]; then A=1; else A=2; fi\nrun --a $A") == "run --a 1");
}

TEST_CASE("where nothing decides, both branches count, with their lines") {
  const std::string script = "if [ $HOST = a ]; then\n  A=1\nelse\n  A=2\nfi\nB=x$A\nrun --a $B";
  CHECK(otherwise(script) == std::vector<std::string>{"run --a x2"});
  const auto run = run_script(script, "t.sh");
  const auto& other = run.launches.front().others.front();
  CHECK(other.variable == "A");
  CHECK(other.against == 2);
  CHECK(other.line == 4);
  CHECK(otherwise("A=1\nif grep x y; then A=2; fi\nrun --a $A") == std::vector<std::string>{"run --a 1"});
  CHECK(otherwise("if [ -f x ]; then A=1; exit; fi\nrun --a ${A:-0}").empty());
  CHECK(otherwise("case $HOST in a) A=1;; b) A=2;; *) A=3;; esac\nrun --a $A").size() == 2);
  CHECK(otherwise("for x in 1 2; do run --a $x; done") == std::vector<std::string>{"run --a 2"});
  CHECK(run_script("if [ $HOST = a ]; then run --a 1; else run --a 2; fi", "t.sh").launches.size() == 2);
}

TEST_CASE("functions are run where they are called, with their arguments") {
  CHECK(launched("train() {\n  local A=$1\n  run --a $A --n $# \"${@}\"\n}\ntrain 5 --b") ==
        "run --a 5 --n 2 5 --b");
  CHECK(run_script("never() { run --a 1; }\necho --x", "t.sh").launches.empty());
  CHECK(refusal("f() { f; }\nf") == "t.sh:1: a function calls itself");
}

TEST_CASE("documents are scripts where a shell reads them, else data") {
  CHECK(launched("A=1\nsbatch <<EOF\n#SBATCH --nodes=4\nrun --a $A\nEOF\n") == "run --a 1");
  CHECK(run_script("cat > x <<-'END'\n\trun --a 1\n\tEND\n", "t.sh").launches.empty());
}

TEST_CASE("an array used as a scalar is named") {
  const auto run = run_script("A=(--x 1)\nrun --a $A", "t.sh");
  CHECK(run.launches.front().array_fault ==
        "A is an array, of which $A is the first word: write \"${A[@]}\"");
}

TEST_CASE("a script that is no bash is refused by line") {
  CHECK(refusal("a\necho 'b") == "t.sh:2: a quote is not closed");
  CHECK(refusal("A=(1\n2") == "t.sh:1: the array 'A=(' is not closed");
  CHECK(refusal("if true; then\n  a") == "t.sh:2: expected 'fi' of what begins in line 1");
  CHECK(refusal("a\nfi") == "t.sh:2: 'fi' without its beginning");
  CHECK(refusal("case x in\n a) b\n c) d;; esac") == "t.sh:3: expected ';;' or 'esac' of line 1");
  CHECK(refusal("cat <<EOF\nx") == "t.sh:2: the here-document 'EOF' does not end");
  CHECK(refusal("A=(1)\nA+=2") == "t.sh:2: A: is an array: add words to it by +=(...)");
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "if true; then ";
  CHECK(refusal(deep).find("too deep") != std::string::npos);
  std::string growing = "A=xxxxxxxxxx\n";
  for (int i = 0; i < 30; ++i) growing += "A=$A$A\n";
  CHECK(refusal(growing).find("more than 1 MiB") != std::string::npos);
}

TEST_CASE("words of a text of several lines keep their lines, wherever the text is used") {
  const auto run = run_script("A=\"\n  --a 1 \\\n  --b 2\"\nC=\"run --c \\\n $A\"\neval $C --d", "t.sh");
  REQUIRE(run.launches.size() == 1);
  std::vector<int> lines;
  for (const auto& field : run.launches.front().fields) lines.push_back(field.line);
  // eval, run, --c, --a, 1, --b, 2, --d
  CHECK(lines == std::vector<int>{6, 4, 4, 2, 2, 3, 3, 6});
}

TEST_CASE("a script has the arguments that it is started with") {
  const auto started = [](const std::string& script, const std::string& arguments) {
    const auto run = run_script(script, "t.sh", arguments);
    REQUIRE(run.launches.size() == 1);
    CHECK(run.launches.front().others.empty());
    return joined(run.launches.front().fields);
  };
  CHECK(started("A=$1\nrun --a $A --b ${2} --c ${3:-8} --d $#", "2 'x y'") ==
        "run --a 2 --b x y --c 8 --d 2");
  CHECK(started("run --a \"$@\"", "2 'x y'") == "run --a 2 x y");
  CHECK(started("run --a $*", "2 3") == "run --a 2 3");
  CHECK(started("shift\nrun --a $1 --b ${2:-none} --c $#", "2 3") == "run --a 3 --b none --c 1");
  CHECK(started("shift 2\nrun --a ${1:-none} --c $#", "2 3") == "run --a none --c 0");
  CHECK(started("if [ $# -lt 2 ]; then\nexit\nfi\nrun --a $2", "2 3") == "run --a 3");
  CHECK(started("if [ \"$1\" = big ]; then\nN=9\nelse\nN=1\nfi\nrun --a $N", "big") == "run --a 9");
  CHECK(started("case $1 in\n7b) N=32;;\n*) N=1;;\nesac\nrun --a $N", "7b") == "run --a 32");
  // A function has its own, and the script's are back behind it.
  CHECK(started("f() {\n A=$1\n shift\n B=$1\n}\nf x y\nrun --a $A$B --b $1", "2") == "run --a xy --b 2");
  CHECK(started("run --a ${1:-8}", "") == "run --a 8");
  CHECK(started("run --a $(($1 * 2)) --b $((${2} + $#))", "4 5") == "run --a 8 --b 7");
  CHECK_THROWS_WITH_AS(run_script("run --a", "t.sh", "2; 3"), "--args: expected words, found ';'",
                       core::BadInput);
}
