// CSV of any bytes beside results is read or refused, and a written cell reads back.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/report/results.hpp"
#include "penstock/report/validation.hpp"
#include "report/csv.hpp"
#include "report/csv_reader.hpp"

using namespace penstock;

namespace {

void check_tables(const std::string& text) {
  std::vector<report::CellResult> rows(1);
  try {
    report::add_columns(rows, text, "fuzz");
  } catch (const core::BadInput&) {
  }
  try {
    report::parse_validation(text, "fuzz");
  } catch (const core::BadInput&) {
  }
}

void check_cell(const std::string& text) {
  const std::string line = report::csv_cell(text);
  report::CsvReader reader(line);
  const bool there = reader.next();
  core::require(there != text.empty(), "an empty line is no record");
  if (there) core::require(reader.fields() == std::vector{text}, "a cell reads back the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_tables(text);
  check_cell(text);
  return 0;
}
