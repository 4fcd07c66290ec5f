#include "penstock/report/validation.hpp"

#include <charconv>
#include <cmath>
#include <string_view>

#include "csv_reader.hpp"
#include "penstock/core/error.hpp"

namespace penstock::report {
namespace {

constexpr std::string_view kColumns[] = {"plan",        "measured_s", "measured_low_s", "measured_high_s",
                                         "simulated_s", "error"};

/// Fields of our columns; missing ones at the end are empty.
std::vector<std::string> own_fields(std::vector<std::string> fields) {
  fields.resize(std::size(kColumns));
  return fields;
}

double number(const std::string& text, const core::InputPlace& place) {
  double out = 0;
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, out);
  if (fault != std::errc() || stop != end || !std::isfinite(out))
    throw core::BadInput(place, "expected a number, not '" + text + "'");
  return out;
}

double seconds(const std::string& text, const core::InputPlace& place) {
  const double out = number(text, place);
  if (out <= 0) throw core::BadInput(place, "expected a time above zero");
  return out;
}

ValidationRow row(const CsvReader& reader, const std::string& file) {
  const auto cells = own_fields(reader.fields());
  const auto place = [&](std::size_t i) {
    return core::InputPlace{file, reader.line(), std::string(kColumns[i])};
  };
  const auto time = [&](std::size_t i) { return seconds(cells[i], place(i)); };
  return {cells[0], time(1), time(2), time(3), time(4), number(cells[5], place(5))};
}

}  // namespace

std::vector<ValidationRow> parse_validation(const std::string& text, const std::string& file) {
  CsvReader reader(text);
  if (!reader.next() ||
      own_fields(reader.fields()) != std::vector<std::string>(std::begin(kColumns), std::end(kColumns)))
    throw core::BadInput({file, 1, ""},
                         "expected the header plan,measured_s,measured_low_s,measured_high_s,"
                         "simulated_s,error");
  std::vector<ValidationRow> out;
  while (reader.next()) out.push_back(row(reader, file));
  return out;
}

}  // namespace penstock::report
