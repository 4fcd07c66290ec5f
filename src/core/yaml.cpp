#include "penstock/core/yaml.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>

#include "penstock/core/files.hpp"
#include "penstock/core/plain_text.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/core/spelling.hpp"

namespace penstock::core {

struct Yaml::TreeNode {
  YAML::Node yaml;
  std::string file;
  std::string key;  ///< dotted path from the root, "stages[2].devices"
};

namespace {

/// Limit on the text in bytes; a parsed document takes up to 80 times its text in memory.
constexpr std::size_t kMostText = std::size_t{128} << 20;

/// Parses the whole text as one number; nothing may follow it.
template <class Number>
std::optional<Number> whole(const std::string& text) {
  Number number{};
  const auto [rest, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

Yaml::Yaml(std::shared_ptr<const TreeNode> node) : node_(std::move(node)) {}

Yaml Yaml::load(const std::string& path) {
  return parse(read_file(path, kMostText), path);
}

namespace {

/// Event handler that keeps only the position where a document begins.
struct NoContent final : YAML::EventHandler {
  YAML::Mark begin;
  void OnDocumentStart(const YAML::Mark& mark) override { begin = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
  }
  void OnMapEnd() override {}
};

/// Throws if the file has a second document, which a reader of the first would silently drop.
void refuse_second_document(const std::string& text, const std::string& name) {
  std::istringstream in(text);
  YAML::Parser parser(in);
  NoContent nothing;
  if (!parser.HandleNextDocument(nothing)) return;
  int line = 0;
  try {
    if (!parser || !parser.HandleNextDocument(nothing)) return;
    line = nothing.begin.line + 1;
  } catch (const YAML::Exception& e) {
    line = e.mark.line + 1;
  }
  throw BadInput(InputPlace{name, line, ""}, "text comes after the end of the document: a file holds one");
}

}  // namespace

Yaml Yaml::parse(const std::string& text, const std::string& name) {
  if (text.size() > kMostText)
    throw BadInput(InputPlace{name, 0, ""}, fmt::format("is larger than {} MiB", kMostText >> 20));
  check_plain_text(text, name);
  try {
    Yaml out(std::make_shared<const TreeNode>(TreeNode{YAML::Load(text), name, ""}));
    refuse_second_document(text, name);
    return out;
  } catch (const YAML::Exception& e) {
    throw BadInput(InputPlace{name, e.mark.line + 1, ""}, "not valid YAML: " + e.msg);
  }
}

Yaml Yaml::child(const void* yaml_node, std::string key) const {
  return Yaml(std::make_shared<const TreeNode>(
      TreeNode{*static_cast<const YAML::Node*>(yaml_node), node_->file, std::move(key)}));
}

namespace {

/// Copies a value that is not in the file, without line numbers. Expands aliases: at most `left` parts and
/// `levels` levels of nesting, else throws BadInput.
YAML::Node placeless(const YAML::Node& value, int levels, int& left) {
  if (levels == 0 || --left < 0) throw BadInput("too many parts, or an alias inside what it names");
  YAML::Node copy(value.Type());
  if (value.IsScalar()) copy = value.Scalar();
  if (value.IsSequence())
    for (const auto& item : value) copy.push_back(placeless(item, levels - 1, left));
  if (value.IsMap())
    for (const auto& entry : value)
      copy.force_insert(placeless(entry.first, levels - 1, left), placeless(entry.second, levels - 1, left));
  return copy;
}

YAML::Node placeless(const std::string& value) {
  constexpr int kLevels = 100;
  int left = 10'000;
  try {
    return placeless(YAML::Load(value), kLevels, left);
  } catch (const YAML::Exception& e) {
    throw BadInput("not valid YAML: " + e.msg);
  }
}

/// Splits "models.0.name" into "models", "0", "name".
std::vector<std::string> steps_of(std::string_view path) {
  std::vector<std::string> steps;
  for (std::size_t end = 0; end != path.npos; path.remove_prefix(end == path.npos ? 0 : end + 1))
    steps.emplace_back(path.substr(0, end = path.find('.')));
  return steps;
}

}  // namespace

/// Returns the child that one step of a path leads to; throws if there is none.
Yaml Yaml::step(const std::string& step) const {
  if (is_list()) {
    const auto index = whole<std::size_t>(step);
    const auto all = items();
    if (!index || *index >= all.size())
      fail(fmt::format("expected the number of one of {} items, from 0 on, found '{}'", all.size(), step));
    return all[*index];
  }
  if (!is_map()) fail(fmt::format("has no '{}' inside: it is a value", step));
  if (const auto found = find(step)) return *found;
  std::vector<std::string> keys;
  for (const auto& [key, value] : entries()) keys.push_back(key);
  fail(fmt::format("has no '{}'; {}", step, did_you_mean(step, keys)));
}

void Yaml::set(std::string_view path, const std::string& value) {
  const auto steps = steps_of(path);
  const YAML::Node given = placeless(value);
  Yaml at = *this;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) at = at.step(steps[i]);
  if (at.is_map()) {
    YAML::Node parent = at.node_->yaml;
    parent[steps.back()] = given;
  } else {
    YAML::Node item = at.step(steps.back()).node_->yaml;
    item = given;
  }
}

bool Yaml::is_map() const {
  return node_->yaml.IsMap();
}
bool Yaml::is_list() const {
  return node_->yaml.IsSequence();
}
bool Yaml::is_scalar() const {
  return node_->yaml.IsScalar();
}

namespace {

/// Kind of file that has this key at its root, and the command that reads it; empty for other keys.
std::string_view file_of_key(std::string_view key) {
  constexpr std::pair<std::string_view, std::string_view> kFiles[] = {
      {"experiment", "an experiment file, for `penstock run`"},
      {"penstock_plan", "a plan file, for `penstock simulate`"},
      {"penstock_calibration",
       "a calibration, for --costs; `penstock calibrate cluster` makes a cluster file of it"},
      {"penstock_kernel_tables", "a file of kernel tables, for --costs"},
      {"device_types", "a cluster file, for --cluster"},
      {"model_type", "a Hugging Face config, for --model"}};
  for (const auto& [of, kind] : kFiles)
    if (key == of) return kind;
  return {};
}

}  // namespace

std::optional<Yaml> Yaml::find(std::string_view key) const {
  if (!is_map()) fail("expected a mapping");
  const YAML::Node found = node_->yaml[std::string(key)];
  if (!found) return std::nullopt;
  return child(&found, node_->key.empty() ? std::string(key) : fmt::format("{}.{}", node_->key, key));
}

Yaml Yaml::at(std::string_view key) const {
  auto found = find(key);
  if (!found) fail(fmt::format("the key '{}' is missing", key));
  return *found;
}

std::vector<Yaml> Yaml::items() const {
  if (is_scalar() && !node_->yaml.Scalar().empty())
    fail(fmt::format("expected a list, as in [{}]", node_->yaml.Scalar()));
  if (!is_list()) fail("expected a list");
  std::vector<Yaml> out;
  for (const auto& item : node_->yaml)
    out.push_back(child(&item, fmt::format("{}[{}]", node_->key, out.size())));
  return out;
}

std::vector<std::pair<std::string, Yaml>> Yaml::entries() const {
  if (!is_map()) fail("expected a mapping");
  std::vector<std::pair<std::string, Yaml>> out;
  std::set<std::string> seen;
  for (const auto& entry : node_->yaml) {
    if (!entry.first.IsScalar()) fail("expected plain text as key");
    const std::string key = entry.first.Scalar();
    const Yaml value = child(&entry.second, node_->key.empty() ? key : node_->key + "." + key);
    if (!seen.insert(key).second)
      throw BadInput(InputPlace{node_->file, entry.first.Mark().line + 1, value.node_->key},
                     "the key appears twice");
    out.emplace_back(key, value);
  }
  return out;
}

void Yaml::only(std::span<const std::string_view> known) const {
  for (const auto& [key, value] : entries()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    if (node_->key.empty())
      if (const std::string_view kind = file_of_key(key); !kind.empty())
        value.fail(fmt::format("unknown key: this is {}", kind));
    const std::vector<std::string> names(known.begin(), known.end());
    value.fail(fmt::format("unknown key; {}", did_you_mean(key, names)));
  }
}

std::string Yaml::text() const {
  if (!is_scalar() || node_->yaml.Scalar().empty()) fail("expected text");
  return node_->yaml.Scalar();
}

std::string Yaml::scalar() const {
  if (!is_scalar()) fail("expected a value");
  return node_->yaml.Scalar();
}

bool Yaml::plain() const {
  return is_scalar() && node_->yaml.Tag() != "!";
}

namespace {

/// Throws for a quoted number: YAML and JSON read "1024" as text.
void refuse_quotes(const Yaml& node, const char* expected) {
  if (!node.plain())
    node.fail(fmt::format("expected {}, found the text {}: leave out its quotes", expected,
                          core::quoted(node.text())));
}

}  // namespace

std::int64_t Yaml::integer(std::int64_t low, std::int64_t high) const {
  const std::string written = text();
  refuse_quotes(*this, "a whole number");
  const auto value = whole<std::int64_t>(written);
  if (!value || *value < low || *value > high)
    fail(low == high ? fmt::format("expected {}, found '{}'", low, written)
                     : fmt::format("expected a whole number from {} to {}, found '{}'", low, high, written));
  return *value;
}

double Yaml::number() const {
  const std::string written = text();
  refuse_quotes(*this, "a number");
  const auto value = whole<double>(written);
  if (!value || !std::isfinite(*value)) fail(fmt::format("expected a number, found '{}'", written));
  return *value;
}

bool Yaml::flag() const {
  const std::string written = text();
  refuse_quotes(*this, "true or false");
  if (written != "true" && written != "false")
    fail(fmt::format("expected true or false, found '{}'", written));
  return written == "true";
}

namespace {

template <class T>
T unit_or_fail(const Yaml& node, std::optional<T> (*parser)(std::string_view), const char* wanted) {
  const std::string written = node.text();
  if (const auto value = parser(written)) return *value;
  node.fail(fmt::format("expected {}, found '{}'", wanted, written));
}

}  // namespace

Seconds Yaml::seconds() const {
  return unit_or_fail(*this, parse_seconds, "a time with its unit, such as 3us, to 10^7 s");
}
Bytes Yaml::bytes() const {
  return unit_or_fail(*this, parse_bytes, "a size with its unit, such as 16GiB, to 2^60 B");
}
Bandwidth Yaml::bandwidth() const {
  return unit_or_fail(*this, parse_bandwidth, "a bandwidth with its unit, such as 12.5GB/s, to 10^18 B/s");
}
FlopRate Yaml::flop_rate() const {
  return unit_or_fail(*this, parse_flop_rate, "a rate with its unit, such as 15.7TFLOP/s, to 10^18 FLOP/s");
}
double Yaml::share() const {
  return unit_or_fail(*this, parse_share, "a share in percent, such as 10%");
}

InputPlace Yaml::place() const {
  return InputPlace{node_->file, node_->yaml.Mark().line + 1, node_->key};
}
void Yaml::fail(const std::string& message) const {
  throw BadInput(place(), message);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const unsigned char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c < 0x20 || c == 0x7f ? fmt::format("\\x{:02x}", c) : std::string(1, static_cast<char>(c));
  }
  return out + "\"";
}

}  // namespace penstock::core
