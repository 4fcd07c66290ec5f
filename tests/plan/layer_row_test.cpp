#include "penstock/plan/layer_row.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "models/catalogue.hpp"

using namespace penstock;
using plan::LayerRow;

namespace {

using Given = std::map<std::string, std::string>;

LayerRow row(const std::string& model, const Given& given) {
  auto read = plan::layer_row(models::build(model, given));
  REQUIRE(std::holds_alternative<LayerRow>(read));
  return std::get<LayerRow>(read);
}

std::string reason(const std::string& model, const Given& given = {}) {
  const auto read = plan::layer_row(models::build(model, given));
  return std::holds_alternative<std::string>(read) ? std::get<std::string>(read) : "a row";
}

}  // namespace

TEST_CASE("decoders and encoders of the zoo are an embedding, layers and a head") {
  for (const char* model : {"llama", "gpt", "opt", "gpt_neox", "bert", "vit"}) {
    CAPTURE(model);
    const auto graph = models::build(model, {{"layers", "3"}});
    const LayerRow r = row(model, {{"layers", "3"}});
    CHECK(r.layers == 3);
    for (std::size_t v = 0; v < graph.size(); ++v) {
      const std::string& name = graph.op(core::OpId(v)).name;
      CAPTURE(name);
      const bool inside = name.starts_with("layer");
      if (inside)
        CHECK(r.part_of[v] == 1 + (name[5] - '0'));
      else
        CHECK((r.part_of[v] == 0 || r.part_of[v] == r.head()));
    }
    CHECK(r.part_of.front() == 0);
    CHECK(r.part_of.back() == r.head());
    CHECK(std::ranges::is_sorted(r.part_of));
  }
}

TEST_CASE("a chain without head is a row too") {
  const LayerRow r = row("transformer", {{"layers", "2"}});
  CHECK(r.layers == 2);
  CHECK(r.layer_name == "chain.layer");
  CHECK(std::ranges::count(r.part_of, r.head()) == 0);
}

TEST_CASE("branches, and layers that read further back, are no row") {
  CHECK(reason("mmt", {{"layers", "2"}}) ==
        "its layers are no single row, numbered from 0: branch0.layer0 comes behind branch0");
  CHECK(reason("encoder_decoder") ==
        "its layers are no single row, numbered from 0: encoder0 comes behind decoder0");
  CHECK(reason("clip").starts_with("its layers are no single row"));
  CHECK(reason("vgg16") != "a row");
}
