#include "penstock/report/validation.hpp"

#include <charconv>
#include <cmath>
#include <string_view>

#include "penstock/core/error.hpp"

namespace penstock::report {
namespace {

constexpr std::string_view kColumns[] = {"plan",        "measured_s", "measured_low_s", "measured_high_s",
                                         "simulated_s", "error"};

/// Takes one field off the front of `rest`, with the comma behind it.
std::string take_field(std::string_view& rest) {
  std::string out;
  bool quoted = false;
  std::size_t i = 0;
  for (; i < rest.size() && (quoted || rest[i] != ','); ++i) {
    const bool quote = rest[i] == '"';
    if (quote && quoted && rest.substr(i + 1).starts_with('"'))
      out += rest[i++];  // "" is one "
    else if (quote)
      quoted = !quoted;
    else
      out += rest[i];
  }
  rest.remove_prefix(std::min(i + 1, rest.size()));
  return out;
}

std::vector<std::string> fields(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::size(kColumns); ++i) out.push_back(take_field(line));
  return out;
}

double number(const std::string& text, const core::Place& place) {
  double out = 0;
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, out);
  if (fault != std::errc() || stop != end || !std::isfinite(out))
    throw core::BadInput(place, "expected a number, not '" + text + "'");
  return out;
}

double seconds(const std::string& text, const core::Place& place) {
  const double out = number(text, place);
  if (out <= 0) throw core::BadInput(place, "expected a time above zero");
  return out;
}

ValidationRow row(std::string_view line, const std::string& file, int number_of_line) {
  const auto cells = fields(line);
  const auto place = [&](std::size_t i) {
    return core::Place{file, number_of_line, std::string(kColumns[i])};
  };
  const auto time = [&](std::size_t i) { return seconds(cells[i], place(i)); };
  return {cells[0], time(1), time(2), time(3), time(4), number(cells[5], place(5))};
}

}  // namespace

std::vector<ValidationRow> parse_validation(const std::string& text, const std::string& file) {
  std::vector<ValidationRow> out;
  std::string_view rest = text;
  for (int line_number = 1; !rest.empty(); ++line_number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line_number > 1 && !line.empty()) out.push_back(row(line, file, line_number));
    if (line_number == 1 &&
        fields(line) != std::vector<std::string>(std::begin(kColumns), std::end(kColumns)))
      throw core::BadInput({file, 1, ""},
                           "expected the header plan,measured_s,measured_low_s,measured_high_s,"
                           "simulated_s,error");
  }
  return out;
}

}  // namespace penstock::report
