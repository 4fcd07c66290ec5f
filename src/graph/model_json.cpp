#include "model_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "penstock/core/error.hpp"

namespace penstock::graph {
namespace {

using Json = nlohmann::json;

/// Where in the file the parser is: each value belongs to the innermost.
enum class ParseLevel { before, file, operators, one, inputs, shape, after };

/// Takes one event after the other; false ends the parse.
class SaxReader : public Json::json_sax_t {
 public:
  ModelDraft draft;
  bool whole() const {
    return level_ == ParseLevel::after && draft.version >= oldest_ && kind_ && !draft.name.empty() &&
           draft.element_bytes > 0;
  }

  bool null() override { return false; }
  bool boolean(bool) override { return false; }
  bool binary(binary_t&) override { return false; }
  bool number_integer(number_integer_t value) override { return value >= 0 && count(value); }
  bool number_unsigned(number_unsigned_t value) override {
    return value <= static_cast<std::uint64_t>(kMostCount) ? count(static_cast<std::int64_t>(value))
                                                           : work(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return work(value); }
  bool string(string_t& value) override { return !value.empty() && text(value); }

  bool start_object(std::size_t) override {
    if (level_ == ParseLevel::before) return enter(ParseLevel::file);
    if (level_ == ParseLevel::one && key_ == "shape") return enter(ParseLevel::shape);
    if (level_ != ParseLevel::operators) return false;
    draft.operators.emplace_back();
    draft.shapes.emplace_back();
    draft.inputs.emplace_back();
    named_ = typed_ = false;
    seen_op_.clear();
    return enter(ParseLevel::one);
  }
  bool end_object() override {
    if (level_ == ParseLevel::shape) return leave(ParseLevel::one);
    if (level_ == ParseLevel::one) return named_ && typed_ && leave(ParseLevel::operators);
    return level_ == ParseLevel::file && leave(ParseLevel::after);
  }
  bool start_array(std::size_t) override {
    if (level_ == ParseLevel::file && key_ == "operators") return enter(ParseLevel::operators);
    return level_ == ParseLevel::one && key_ == "inputs" && enter(ParseLevel::inputs);
  }
  bool end_array() override {
    return leave(level_ == ParseLevel::inputs ? ParseLevel::one : ParseLevel::file);
  }
  bool key(string_t& value) override {
    key_ = value;
    return fresh(level_ == ParseLevel::file  ? seen_file_
                 : level_ == ParseLevel::one ? seen_op_
                                             : seen_shape_);
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  using Keys = std::vector<std::string>;

  Operator& op() { return draft.operators.back(); }
  bool enter(ParseLevel level) {
    level_ = level;
    seen_shape_.clear();
    return true;
  }
  bool leave(ParseLevel level) {
    level_ = level;
    return true;
  }
  /// No key appears twice.
  bool fresh(Keys& seen) const {
    if (std::find(seen.begin(), seen.end(), key_) != seen.end()) return false;
    seen.push_back(key_);
    return true;
  }

  bool count(std::int64_t value) {
    if (level_ == ParseLevel::shape) {
      draft.shapes.back().emplace_back(key_, value);
      return true;
    }
    if (level_ == ParseLevel::file && key_ == "version")
      return draft.version = value, value <= kNewestVersion;
    if (level_ == ParseLevel::file && key_ == "element_bytes") {
      draft.element_bytes = static_cast<int>(value);
      return value >= 1 && value <= 16;
    }
    if (level_ != ParseLevel::one) return false;
    if (key_ == "parameters") return op().parameters = value, true;
    if (key_ == "frozen_parameters") return op().frozen_parameters = value, oldest_ = 2, true;
    if (key_ == "gathered_parameters") return op().gathered_parameters = value, true;
    if (key_ == "output_bytes") return op().output_bytes = core::Bytes(value), true;
    if (key_ == "kept_bytes") return op().saved_bytes = core::Bytes(value), true;
    return work(static_cast<double>(value));
  }

  bool work(double value) {
    if (level_ != ParseLevel::one || !(value >= 0 && value <= kMostFlops)) return false;
    if (key_ == "forward_flops") return op().forward_flops = core::Flops(value), true;
    if (key_ == "input_gradient_flops") return op().input_gradient_flops = core::Flops(value), true;
    if (key_ == "weight_gradient_flops") return op().weight_gradient_flops = core::Flops(value), true;
    return false;
  }

  bool text(std::string& value) {
    if (level_ == ParseLevel::inputs) return draft.inputs.back().push_back(std::move(value)), true;
    if (level_ == ParseLevel::file && key_ == "penstock") return kind_ = value == "model";
    if (level_ == ParseLevel::file && key_ == "name") return draft.name = std::move(value), true;
    if (level_ != ParseLevel::one) return false;
    if (key_ == "name") return op().name = std::move(value), named_ = true;
    if (key_ == "parameters_of") return op().parameters_of = std::move(value), oldest_ = 2, true;
    return key_ == "kind" && (typed_ = known_kind(value));
  }
  bool known_kind(const std::string& value) {
    try {
      op().kind = op_kind(value);
      return true;
    } catch (const core::BadInput&) {
      return false;
    }
  }

  ParseLevel level_ = ParseLevel::before;
  std::string key_;
  Keys seen_file_, seen_op_, seen_shape_;
  bool kind_ = false;                   ///< of the file, as it must be
  std::int64_t oldest_ = 1;             ///< version that has all keys so far
  bool named_ = false, typed_ = false;  ///< the operator under way
};

}  // namespace

std::optional<ModelDraft> read_model_json(const std::string& text) {
  if (text.find('{') != text.find_first_not_of(" \t\r\n")) return std::nullopt;
  if (text.find("\\u") != text.npos) return std::nullopt;  // YAML reads pairs of them otherwise
  SaxReader reader;
  if (!Json::sax_parse(text, &reader) || !reader.whole()) return std::nullopt;
  return std::move(reader.draft);
}

}  // namespace penstock::graph
