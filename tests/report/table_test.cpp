#include "penstock/report/table.hpp"

#include <doctest/doctest.h>

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

TEST_CASE("box lines enclose the same cells") {
  CHECK(two_rows().text(Border::box) ==
        "┌───────────┬───────────┐\n"
        "│ planner   │ samples/s │\n"
        "├───────────┼───────────┤\n"
        "│ dp        │       9.5 │\n"
        "│ hand-made │     120.0 │\n"
        "└───────────┴───────────┘\n");
}

TEST_CASE("width counts what a terminal shows, not bytes") {
  CHECK(display_width("3 µs") == 4);       // the micro sign is two bytes
  CHECK(display_width("e\u0301") == 1);    // a combining accent takes no cell
  CHECK(display_width("段階") == 4);       // two wide characters
  CHECK(display_width("\xc3") == 1);       // a broken sequence still takes its place
  CHECK(display_width("\xe2\x82z") == 3);  // two stray bytes and a z
}

TEST_CASE("a cell never breaks the line, and a row of the wrong length is our bug") {
  Table table({{"status"}});
  table.add({"two\nlines"});
  CHECK(table.text() == "status\n---------\ntwo lines\n");
  CHECK_THROWS_AS(table.add({"a", "b"}), penstock::core::Error);
}
