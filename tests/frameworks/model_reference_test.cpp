#include "penstock/frameworks/model_reference.hpp"

#include <doctest/doctest.h>

#include "penstock/core/error.hpp"
#include "penstock/frameworks/hf_config.hpp"

using namespace penstock;
using namespace penstock::frameworks;

namespace {

std::string refusal(const std::string& text) {
  try {
    parse_model_reference(text, "m.yaml");
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "taken";
}

}  // namespace

TEST_CASE("a reference reads back as it was written") {
  const plan::ModelRef model{"llama", {{"layers", "2"}, {"rope_scaling", "linear:factor=2"}}, "My: llama"};
  const std::string text = to_yaml({model, "mixed_bf16"}, "a comment");
  CHECK(is_model_reference(text));
  const auto again = parse_model_reference(text, "m.yaml");
  CHECK(again.model.name == model.name);
  CHECK(again.model.parameters == model.parameters);
  CHECK(again.model.label == model.label);
  CHECK(again.precision == "mixed_bf16");
  const auto bare = parse_model_reference(to_yaml({{"bert", {}}}, "c"), "m.yaml");
  CHECK(bare.model.parameters.empty());
  CHECK(bare.model.label.empty());
  CHECK(bare.precision.empty());
}

TEST_CASE("switches that a YAML program has written again are switches") {
  const auto head = [](const std::string& value) {
    return parse_model_reference(
               "penstock: model_reference\nversion: 1\nname: llama\nparameters: {tied_head: " + value + "}\n",
               "m.yaml")
        .model.parameters.at("tied_head");
  };
  CHECK(head("false") == "no");
  CHECK(head("true") == "yes");
  CHECK(head("no") == "no");
  CHECK(head("\"false\"") == "false");  // refused where the model is built
}

TEST_CASE("parameters given go before the file's") {
  const std::string text = to_yaml({{"gpt", {{"layers", "2"}, {"heads", "4"}}}}, "c");
  const auto model = named_by(text, "m.yaml", {"m.yaml", {{"layers", "3"}}});
  CHECK(model.name == "gpt");
  CHECK(model.parameters == std::map<std::string, std::string>{{"heads", "4"}, {"layers", "3"}});
}

TEST_CASE("a plan file names its model, in the numbers of its training") {
  const std::string plan =
      "# of a run\npenstock_plan: 1\nmodel:\n  name: llama\n  parameters: {element_bytes: \"2\", layers: \"3\"}\n"
      "cluster: {name: 8xH100, devices: 8}\nplanner: p\ntraining: {mini_batch: 8, optimizer: adam, precision: mixed_fp16}\n"
      "schedule: 1f1b\nstages: []\n";
  const auto named = named_by(plan, "p.yaml", {"p.yaml", {{"sequence", "64"}}}, kUsualTokens);
  CHECK(named.model.name == "llama");
  CHECK(named.model.parameters == std::map<std::string, std::string>{{"layers", "3"}, {"sequence", "64"}});
  CHECK(named.precision == "mixed_fp16");
  CHECK(named.tokens_stated);
}

TEST_CASE("a config's model ends in the loss, unless the user leaves it out") {
  const std::string config =
      "{\"model_type\": \"llama\", \"hidden_size\": 64, \"intermediate_size\": 128, \"num_hidden_layers\": 2, "
      "\"num_attention_heads\": 4, \"vocab_size\": 100}";
  CHECK(named_by(config, "c.json", {"c.json", {}}).parameters.at("loss") == "yes");
  CHECK(named_by(config, "c.json", {"c.json", {{"loss", "no"}}}).parameters.at("loss") == "no");
}

TEST_CASE("a name that is no reference and no config is handed on") {
  const auto model = named_by("{\"penstock\": \"model\"}", "m.json", {"m.json", {}});
  CHECK(model.name == "m.json");
}

TEST_CASE("a config takes its tokens from the parameters given") {
  const std::string text =
      R"({"model_type": "mistral", "vocab_size": 8, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1,
          "num_key_value_heads": 1, "intermediate_size": 8, "sliding_window": 16})";
  const auto fitting = named_by(text, "c.json", {"c.json", {{"sequence", "16"}}}).parameters,
             longer = named_by(text, "c.json", {"c.json", {{"sequence", "17"}}}).parameters;
  CHECK(fitting.at("sequence") == "16");
  CHECK_FALSE(fitting.contains("window"));
  CHECK(longer.at("sequence") == "17");
  CHECK(longer.at("window") == "16");
}

TEST_CASE("a config of image and text takes its text from the tokens given") {
  // 224 / 32 = 7 patches a side, 49 tokens of an image: of 60, 11 are left for text.
  const std::string text = R"({"model_type": "llava", "vision_config": {}, "text_config": {}})";
  const auto model = named_by(text, "c.json", {"c.json", {{"sequence", "60"}, {"frozen", "towers"}}});
  CHECK(model.parameters.at("text") == "11");
  CHECK(model.parameters.at("frozen") == "towers");
  CHECK_FALSE(model.parameters.contains("sequence"));
  // Text that is no number stays, for the model to refuse.
  CHECK(named_by(text, "c.json", {"c.json", {{"sequence", "many"}}}).parameters.contains("sequence"));
}

TEST_CASE("a config is called by its name on the Hub, its file or its folder, and what is given besides") {
  const std::string rest =
      R"("model_type": "llama", "vocab_size": 8, "hidden_size": 8, "num_hidden_layers": 1,
    "num_attention_heads": 1, "intermediate_size": 8, "max_position_embeddings": 40960, "torch_dtype": "float16"})";
  const auto label = [](const std::string& text, const std::string& file,
                        const std::map<std::string, std::string>& given = {}) {
    return named_by(text, file, {file, given}).label;
  };
  CHECK(label("{" + rest, "a/Llama-8.json") == "Llama-8");
  CHECK(label("{" + rest, "models/Llama-3.1-8B/config.json") == "Llama-3.1-8B");
  CHECK(label(R"({"_name_or_path": "meta-llama/Llama-3.1-8B", )" + rest, "c.json") == "Llama-3.1-8B");
  CHECK(label(R"({"_name_or_path": "./out", )" + rest, "c.json") == "c");
  CHECK(label("{" + rest, "c.json", {{"sequence", "16"}}) == "c sequence=16");
  const auto usual = named_by("{" + rest, "c.json", {"c.json", {}}, 4096);
  CHECK(usual.model.parameters.at("sequence") == "4096");
  CHECK(usual.model.parameters.at("positions") == "40960");
  CHECK_FALSE(usual.tokens_stated);
  CHECK(usual.precision == "mixed_fp16");
  CHECK(named_by("{" + rest, "c.json", {"c.json", {}}).parameters.at("sequence") == "40960");
  CHECK(named_by("{" + rest, "c.json", {"c.json", {{"sequence", "64"}}}, 4096).tokens_stated);
}

TEST_CASE("faults are named by file, line and key") {
  CHECK(refusal("penstock: model_reference\nversion: 2\nname: a\n") ==
        "m.yaml:2: version: expected 1, found '2'");
  CHECK(refusal("penstock: model_reference\nversion: 1\n").find("the key 'name' is missing") !=
        std::string::npos);
  CHECK(refusal("penstock: model_reference\nversion: 1\nname: a\nsize: 3\n")
            .find("m.yaml:4: size: unknown key") == 0);
  CHECK(refusal("penstock: model_reference\nversion: 1\nname: a\nprecision: bf17\n")
            .find("m.yaml:4: precision") == 0);
}
