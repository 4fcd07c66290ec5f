#include "penstock/report/table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "penstock/core/error.hpp"

using namespace penstock::report;

namespace {

Table two_rows() {
  Table table({{"planner"}, {"samples/s", Align::right}});
  table.add({"dp", "9.5"});
  table.add({"hand-made", "120.0"});
  return table;
}

}  // namespace

TEST_CASE("columns are as wide as their widest cell and lines end without blanks") {
  CHECK(two_rows().text() ==
        "planner    samples/s\n"
        "---------  ---------\n"
        "dp               9.5\n"
        "hand-made      120.0\n");
  Table left({{"a"}, {"b"}});
  left.add({"x", ""});
  CHECK(left.text() == "a  b\n-  -\nx\n");
}

TEST_CASE("a cell never breaks the line, and a row of the wrong length is our bug") {
  Table table({{"status"}});
  table.add({"two\nlines"});
  CHECK(table.text() == "status\n---------\ntwo lines\n");
  CHECK_THROWS_AS(table.add({"a", "b"}), penstock::core::Error);
}

namespace {

/// Ten cells of names, three numbers of six, words of forty.
Table wide() {
  Table table({{"planner"},
               {.title = "time", .align = Align::right},
               {.title = "depth", .align = Align::right, .leaves = 2},
               {.title = "states", .align = Align::right, .leaves = 1},
               {.title = "what it is", .folds = true}});
  table.add({"first_plan", "123.45", "4", "999999", "words that take a little more than one line"});
  return table;
}

std::size_t widest(const std::string& text) {
  std::size_t out = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out = std::max(out, display_width(line));
  return out;
}

}  // namespace

TEST_CASE("words fold first, then columns leave in their order and are named") {
  CHECK(wide().text({80, "--wide shows them"}) == wide().text());
  CHECK(wide().text({60, ""}) ==
        "planner       time  depth  states  what it is\n"
        "----------  ------  -----  ------  -------------------------\n"
        "first_plan  123.45      4  999999  words that take a little\n"
        "                                   more than one line\n");
  CHECK(wide().text({50, "--wide shows them"}) ==
        "planner       time  depth  what it is\n"
        "----------  ------  -----  -----------------------\n"
        "first_plan  123.45      4  words that take a\n"
        "                           little more than one\n"
        "                           line\n"
        "not shown: states (--wide shows them)\n");
  CHECK(wide().text({25, ""}) ==
        "planner       time\n"
        "----------  ------\n"
        "first_plan  123.45\n"
        "not shown: depth, states,\n"
        "what it is\n");
  CHECK(wide().text({6, ""}) ==
        "planne\n"
        "r\n"
        "------\n"
        "first_\n"
        "plan\n"
        "not\n"
        "shown:\n"
        "time,\n"
        "depth,\n"
        "states\n"
        ", what\n"
        "it is\n");
}

TEST_CASE("a screen that limits the number of columns shows those that would leave last") {
  CHECK(wide().text({0, "--columns all shows them", 4}) ==
        "planner       time  depth  what it is\n"
        "----------  ------  -----  -------------------------------------------\n"
        "first_plan  123.45      4  words that take a little more than one line\n"
        "not shown: states (--columns all shows them)\n");
  CHECK(wide().text({0, "", 5}) == wide().text());
  CHECK(wide().text({25, "", 4}) == wide().text({25, ""}));
}

TEST_CASE("no table is wider than its screen") {
  for (std::size_t width = 1; width < 100; ++width) CHECK(widest(wide().text({width, "--wide"})) <= width);
}
