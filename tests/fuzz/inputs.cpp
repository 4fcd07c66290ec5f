#include "fuzz/inputs.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <utility>

#include "penstock/core/files.hpp"

namespace penstock::fuzz {

namespace {

constexpr std::size_t kLongest = 16'384;  // bytes of an input
constexpr std::size_t kDeepest = 8'192;   // brackets in one another

/// [begin, end) of a text.
struct TextSpan {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};

bool in_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' ||
         c == '-' || c == '+';
}

/// The first word that ends after `from`; an empty one at the end of the text.
TextSpan word_after(const std::string& text, std::size_t from) {
  std::size_t begin = from;
  while (begin < text.size() && !in_word(text[begin])) ++begin;
  while (begin > 0 && begin < text.size() && in_word(text[begin - 1])) --begin;
  std::size_t end = begin;
  while (end < text.size() && in_word(text[end])) ++end;
  return {begin, end};
}

std::vector<std::string> words_of(const std::vector<std::string>& texts) {
  std::set<std::string> words = {"1e308",
                                 "-1",
                                 "0",
                                 "-0",
                                 "9223372036854775807",
                                 "9223372036854775808",
                                 "nan",
                                 "-inf",
                                 "1.5",
                                 "5e-324",
                                 "18446744073709551615",
                                 "null",
                                 "true",
                                 "\"\"",
                                 "~",
                                 "[]",
                                 "{}",
                                 "4294967296"};
  for (const std::string& text : texts)
    for (TextSpan word = word_after(text, 0); word.size() > 0; word = word_after(text, word.end))
      words.insert(text.substr(word.begin, word.size()));
  return {words.begin(), words.end()};
}

TextSpan any_span(const std::string& text, SeededDice& dice) {
  const std::size_t begin = dice.below(text.size() + 1);
  return {begin, begin + dice.below(text.size() - begin + 1)};
}

/// The lines that `span` touches.
TextSpan whole_lines(const std::string& text, TextSpan span) {
  const std::size_t before = span.begin == 0 ? std::string::npos : text.rfind('\n', span.begin - 1);
  const std::size_t after = text.find('\n', span.end);
  return {before == std::string::npos ? 0 : before + 1, after == std::string::npos ? text.size() : after + 1};
}

/// Bytes or lines, mostly few of them: what remains of a file is then still much like one.
TextSpan piece(const std::string& text, SeededDice& dice) {
  TextSpan span = any_span(text, dice);
  if (dice.below(4)) span.end = std::min(span.end, span.begin + 1 + dice.below(8));
  return dice.below(2) ? whole_lines(text, span) : span;
}

void flip_bit(std::string& text, SeededDice& dice) {
  if (text.empty()) return;
  char& c = text[dice.below(text.size())];
  c = static_cast<char>(static_cast<unsigned char>(c) ^ (1U << dice.below(8)));
}

void set_byte(std::string& text, SeededDice& dice) {
  static const std::string telling("\0\xff\x80\x7f\n\r\t \"'\\{}[](),:;-+.#&*!|>%@?~/eE019", 36);
  if (!text.empty()) text[dice.below(text.size())] = telling[dice.below(telling.size())];
}

void truncate(std::string& text, SeededDice& dice) {
  text.resize(dice.below(text.size() + 1));
}

void duplicate(std::string& text, SeededDice& dice) {
  const TextSpan from = piece(text, dice);
  const std::string copy = text.substr(from.begin, from.size());
  const std::size_t to = dice.below(2) ? from.end : dice.below(text.size() + 1);
  for (std::size_t times = 1 + (dice.below(8) ? 0 : dice.below(64)); times > 0 && text.size() < kLongest;
       --times)
    text.insert(to, copy);
}

void erase(std::string& text, SeededDice& dice) {
  const TextSpan gone = piece(text, dice);
  text.erase(gone.begin, gone.size());
}

/// A piece changes places with what follows it.
void swap_neighbours(std::string& text, SeededDice& dice) {
  const TextSpan first = piece(text, dice);
  const std::size_t end = first.end + std::min(first.size(), text.size() - first.end);
  const auto at = [&text](std::size_t place) { return text.begin() + static_cast<std::ptrdiff_t>(place); };
  std::rotate(at(first.begin), at(first.end), at(end));
}

/// Brackets around a piece, many deep; half of the time they are closed.
void nest(std::string& text, SeededDice& dice) {
  static const std::pair<const char*, const char*> brackets[] = {
      {"[", "]"}, {"{", "}"}, {"{a: ", "}"}, {"{\"a\":[", "]}"}, {"- ", ""}, {"? ", ""}, {"(", ")"}};
  const auto& [open, close] = brackets[dice.below(std::size(brackets))];
  const std::size_t depth = std::min(kDeepest, std::size_t{1} << dice.below(14));
  const TextSpan inside = piece(text, dice);
  std::string before, after;
  for (std::size_t d = 0; d < depth; ++d) before += open, after += close;
  if (dice.below(2)) text.insert(inside.end, after);
  text.insert(inside.begin, before);
}

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& file : std::filesystem::directory_iterator(folder)) paths.push_back(file.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const auto& path : paths) texts.push_back(core::read_file(path.string()));
  if (texts.empty()) throw std::runtime_error(folder + " holds no seeds");
  return texts;
}

}  // namespace

SeededDice::SeededDice(const std::string& name, std::size_t number) {
  std::vector<std::uint32_t> numbers(name.begin(), name.end());
  numbers.push_back(static_cast<std::uint32_t>(number));
  std::seed_seq series(numbers.begin(), numbers.end());
  engine_.seed(series);
}

FuzzInputs::FuzzInputs(std::string target, const std::string& folder)
    : target_(std::move(target)), seeds_(files_of(folder)), words_(words_of(seeds_)) {}

std::string FuzzInputs::operator[](std::size_t number) const {
  if (number < seeds_.size()) return seeds_[number];
  SeededDice dice(target_, number);
  std::string text = seeds_[dice.below(seeds_.size())];
  for (std::size_t places = 1 + dice.below(1 + dice.below(8)); places > 0; --places) change(text, dice);
  return text;
}

void FuzzInputs::change(std::string& text, SeededDice& dice) const {
  switch (dice.below(16)) {
    case 0:
      flip_bit(text, dice);
      break;
    case 1:
      set_byte(text, dice);
      break;
    case 2:
      truncate(text, dice);
      break;
    case 3:
    case 4:
      duplicate(text, dice);
      break;
    case 5:
    case 6:
      erase(text, dice);
      break;
    case 7:
    case 8:
      swap_neighbours(text, dice);
      break;
    case 9:
      splice(text, dice);
      break;
    case 10:
      nest(text, dice);
      break;
    default:
      put_word(text, dice);
      break;
  }
  if (text.size() > kLongest) text.resize(kLongest);
}

/// The head of one text and the tail of a seed.
void FuzzInputs::splice(std::string& text, SeededDice& dice) const {
  const std::string& other = seeds_[dice.below(seeds_.size())];
  truncate(text, dice);
  text += other.substr(dice.below(other.size() + 1));
}

/// In the place of a word, mostly; else anywhere.
void FuzzInputs::put_word(std::string& text, SeededDice& dice) const {
  TextSpan place = word_after(text, dice.below(text.size() + 1));
  if (dice.below(8) == 0) place = {place.begin, place.begin};
  text.replace(place.begin, place.size(), words_[dice.below(words_.size())]);
}

}  // namespace penstock::fuzz
