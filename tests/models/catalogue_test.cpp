#include "models/catalogue.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <set>

#include "models/released.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "support/checkout.hpp"

using namespace penstock;
using models::build;
using Given = std::map<std::string, std::string>;

namespace {

std::string message(std::string_view model, const Given& given) {
  try {
    build(model, given);
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "accepted";
}

/// The row of models/README.md that starts with the model's name.
std::string readme_row(const std::string& model) {
  static const std::string text = core::read_file(support::checkout("/models/README.md"));
  const auto start = text.find("\n| `" + model + "` |");
  REQUIRE_MESSAGE(start != std::string::npos, "models/README.md has no row for ", model);
  return text.substr(start + 1, text.find('\n', start + 1) - start - 1);
}

}  // namespace

TEST_CASE("every model builds with its defaults, given or not") {
  for (const auto& model : models::catalogue()) {
    CAPTURE(model.name);
    Given defaults;
    for (const auto& parameter : model.parameters) defaults[parameter.name] = parameter.default_value;
    const auto g = build(model.name), spelt_out = build(model.name, defaults);
    CHECK(g.name() == model.name);
    CHECK(g.size() == spelt_out.size());
    CHECK(g.parameters() == spelt_out.parameters());
    CHECK_FALSE(model.summary.empty());
    CHECK_FALSE(model.source.empty());
  }
}

TEST_CASE("models/README.md states operators, parameters and FLOPs as built") {
  for (const auto& model : models::catalogue()) {
    const auto g = build(model.name);
    const std::string numbers =
        fmt::format("| {} | {:.1f} M | {:.2f} |", g.size(), static_cast<double>(g.parameters()) / 1e6,
                    g.forward_flops().value() / 1e9);
    const std::string row = readme_row(model.name);
    CHECK_MESSAGE(row.find(numbers) != std::string::npos, row, " should state ", numbers);
  }
}

TEST_CASE("every declared parameter is read") {
  for (const auto& model : models::catalogue())
    for (const auto& parameter : model.parameters) {
      CAPTURE(parameter.name);
      const std::string start = "model " + model.name + ": parameter " + parameter.name + ": expected ";
      CHECK(message(model.name, {{parameter.name, "nonsense"}}).starts_with(start));
    }
}

TEST_CASE("an error is named, with the expected values") {
  CHECK(message("mtm", {}) == "unknown model 'mtm'; did you mean 'mmt'? (penstock models lists all)");
  CHECK(message("mmt", {{"layer", "8"}}) == "model mmt: unknown parameter 'layer'; did you mean 'layers'?");
  CHECK(message("mmt", {{"layers", "8x"}}) ==
        "model mmt: parameter layers: expected an integer from 1 to 1000, not '8x'");
  CHECK(message("mmt", {{"layers", "0"}}) ==
        "model mmt: parameter layers: expected an integer from 1 to 1000, not '0'");
  CHECK(
      message("mmt", {{"layers", "1k"}}) ==
      "model mmt: parameter layers: expected an integer from 1 to 1000 without a suffix (1024 or 1000), not '1k'");
  CHECK(message("mmt", {{"layers", "99999999999999999999"}}).find("expected an integer") !=
        std::string::npos);
  CHECK(message("mmt", {{"heads", "7"}}) ==
        "model mmt: parameter heads: expected a divisor of the hidden width 1024, not '7'");
  CHECK(message("dlrm", {{"bag", "mean"}}) ==
        "model dlrm: parameter bag: expected one of sum, projection, concat, not 'mean'");
  CHECK(message("clip", {{"patch", "300"}}) ==
        "model clip: parameter patch: expected at most the resolution 224, not '300'");
  CHECK(message("clip", {{"text_sequence", "75"}}).find("a multiple of image_hidden") != std::string::npos);
  CHECK(message("inception_v3", {{"resolution", "74"}}).find("from 75") != std::string::npos);
}

TEST_CASE("released networks are sizes of one family each, with names of their own") {
  std::set<std::string> names;
  for (const auto& family : models::catalogue()) names.insert(family.name);
  for (const auto& model : models::released_models()) {
    CHECK_MESSAGE(names.insert(model.name).second, model.name, " names two networks");
    CHECK_NOTHROW(models::build(model.family, {{"size", model.name}, {"layers", "4"}}));
  }
  for (const char* name : {"llama3-8b", "llama3-70b", "llama3-405b", "mixtral-8x7b", "gpt3-175b",
                           "deepseek-v3", "qwen3-30b-a3b"})
    CHECK_MESSAGE(models::released_model(name) != nullptr, name);
  CHECK(models::released_model("base") == nullptr);
  CHECK(models::released_model("llama") == nullptr);
  CHECK(message("llama3-70", {}) ==
        "unknown model 'llama3-70'; did you mean 'llama3-70b'? (penstock models lists all)");
}

TEST_CASE("graphs of the same parameters are equal") {
  const auto a = build("inception_v3"), b = build("inception_v3");
  CHECK(a.dag().edges() == b.dag().edges());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a.op(core::OpId(i)).name == b.op(core::OpId(i)).name);
}

TEST_CASE("the largest sizes stay within 64 bits") {
  // The widest layer, kept bytes 4 x (heads x tokens^2 + ...), times 256 branches of 1000 layers.
  const auto g = build("transformer", {{"layers", "1"},
                                       {"hidden", "65536"},
                                       {"heads", "1024"},
                                       {"sequence", "65536"},
                                       {"feed_forward", "65536"}});
  double saved = 0;
  for (const auto& op : g.operators()) saved += static_cast<double>(op.saved_bytes.value());
  CHECK(saved * 256 * 1000 < 9.2e18);
  CHECK(g.op(core::OpId(1)).saved_bytes > core::Bytes(4LL * 1024 * 65536 * 65536));
}
