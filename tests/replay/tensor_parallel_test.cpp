// Tensor-parallel groups train as one device does.

#include <doctest/doctest.h>

#include "check_training.hpp"
#include "models/catalogue.hpp"
#include "models/layers.hpp"

using namespace penstock;
using replay::test::check_training;
using replay::test::Cut;
using replay::test::cut_model;
using replay::test::CutModel;

namespace {

using Given = std::map<std::string, std::string>;

const std::map<std::string, Given> kSmall = {
    {"transformer", {{"layers", "2"}, {"hidden", "8"}, {"heads", "4"}, {"sequence", "3"}}},
    {"gpt",
     {{"vocabulary", "13"},
      {"layers", "1"},
      {"hidden", "8"},
      {"heads", "4"},
      {"sequence", "4"},
      {"tied_head", "no"}}},
    {"mmt", {{"branches", "2"}, {"layers", "1"}, {"hidden", "8"}, {"heads", "4"}, {"sequence", "3"}}}};

}  // namespace

TEST_CASE("transformers over groups of two and four, in stages, replicated, recomputed, split backwards") {
  const std::vector<Cut> cuts = {
      {.rank = {0}, .tensor_parallel = 2},
      {.rank = {0, 1}, .tensor_parallel = 4, .optimizer = plan::Optimizer::adam},
      {.schedule = "gpipe", .rank = {0, 1}, .replicas = 2, .tensor_parallel = 2, .recompute = true},
      {.schedule = "zb_h1",
       .rank = {0, 1},
       .micro_batch = 1,
       .tensor_parallel = 2,
       .optimizer = plan::Optimizer::sgd},
      {.schedule = "interleaved_1f1b", .rank = {0, 1, 0, 1}, .micro_batch = 1, .tensor_parallel = 2},
  };
  for (const auto& [name, given] : kSmall)
    for (const Cut& cut : cuts) {
      CAPTURE(name);
      CAPTURE(cut.schedule);
      CAPTURE(cut.tensor_parallel);
      check_training(cut_model(models::build(name, given), cut), {cut.mini_batch, 3e-5});
    }
}
