#include "report/csv.hpp"

#include <doctest/doctest.h>

#include "report/csv_reader.hpp"

using namespace penstock::report;

namespace {

std::string read_back(const std::string& line) {
  CsvReader reader(line);
  REQUIRE(reader.next());
  REQUIRE(reader.fields().size() == 1);
  return reader.fields()[0];
}

}  // namespace

TEST_CASE("text that a spreadsheet would run gets an apostrophe, and loses it when read") {
  for (const std::string text :
       {"=1+1", "+1 a", "-x", "@sum", "\ttab", "\rreturn", "=\"a\",b", "'=1", "''@"}) {
    CAPTURE(text);
    const std::string cell = csv_cell(text);
    CHECK(cell.find('\'') <= 1);  // before it only a quote
    CHECK(read_back(cell) == text);
  }
  CHECK(csv_cell("=1+1") == "'=1+1");
  CHECK(csv_cell("=a,b") == "\"'=a,b\"");
}

TEST_CASE("numbers, and text that no spreadsheet runs, stay as they are") {
  for (const std::string text : {"", "-", "-0.5", "-1e-05", "graphpipe", "'quoted'", "a=b", "2+2"}) {
    CAPTURE(text);
    CHECK(csv_cell(text) == text);
    CHECK(csv_cell(text) == (text.empty() ? "" : read_back(text)));
  }
  CHECK(csv_cell(-0.5) == "-0.5");
}
