#include "penstock/frameworks/megatron_layout.hpp"

#include <doctest/doctest.h>

#include <regex>

#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"

using namespace penstock;
using frameworks::parse_layout;
using frameworks::StageLayers;
using frameworks::to_layout;

namespace {

/// Written out by regular expressions, as Megatron-LM's own reader does, then split at the bars.
std::vector<std::string> slowly_expanded(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ','), text.end());
  for (const auto& pattern : {std::regex(R"(\(([^)]+)\)\*(\d+))"), std::regex(R"((.)\*(\d+))")}) {
    std::string out;
    std::smatch found;
    while (std::regex_search(text, found, pattern)) {
      out += found.prefix();
      for (int i = 0; i < std::stoi(found[2]); ++i) out += found[1];
      text = found.suffix();
    }
    text = out + text;
  }
  std::vector<std::string> stages(1);
  for (const char letter : text)
    if (letter == '|')
      stages.emplace_back();
    else
      stages.back() += letter;
  return stages;
}

std::string letters(const StageLayers& stage) {
  return (stage.embedding ? "E" : "") + std::string(static_cast<std::size_t>(stage.layers), 't') +
         std::string(static_cast<std::size_t>(stage.predictors), 'm') + (stage.loss ? "L" : "");
}

std::vector<std::string> letters(const std::vector<StageLayers>& stages) {
  std::vector<std::string> out;
  for (const StageLayers& stage : stages) out.push_back(letters(stage));
  return out;
}

std::string refusal(const std::string& text) {
  try {
    parse_layout(text);
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "taken";
}

}  // namespace

TEST_CASE("a layout by hand: one embedding, 61 layers, a predictor and the loss on 32 stages") {
  // E and 3 layers; 29 stages of 2; one m; one L: 1 + 29 + 2 = 32 stages, 3 + 58 = 61 layers.
  const auto stages = parse_layout("Et*3|(tt|)*29,m|L");
  REQUIRE(stages.size() == 32);
  CHECK(stages[0] == StageLayers{true, 3, 0, false});
  CHECK(stages[1] == StageLayers{false, 2, 0, false});
  CHECK(stages[29] == StageLayers{false, 2, 0, false});
  CHECK(stages[30] == StageLayers{false, 0, 1, false});
  CHECK(stages[31] == StageLayers{false, 0, 0, true});
}

TEST_CASE("layouts are written as short as they read") {
  const StageLayers first{true, 3, 0, false}, two{false, 2, 0, false}, five{false, 5, 0, false},
      last{false, 1, 0, true};
  CHECK(to_layout({first, two, two, last}) == "Et*3|(tt|)*2,tL");
  CHECK(to_layout({first, two, five, five, five, last}) == "Et*3|tt|(t*5|)*3,tL");
  CHECK(to_layout({{true, 4, 0, true}}) == "Et*4L");
  CHECK(to_layout({{true, 0, 0, false}, two, two, {false, 0, 0, true}}) == "E|(tt|)*2,L");
}

TEST_CASE("a written layout reads back, by the reader and by one of regular expressions") {
  core::Random random(7);
  for (int turn = 0; turn < 500; ++turn) {
    std::vector<StageLayers> stages(static_cast<std::size_t>(random.between(1, 40)));
    for (auto& stage : stages) stage.layers = random.between(0, turn % 2 ? 2 : 12);
    if (stages.size() > 2 && turn % 3 == 0) stages[stages.size() - 2].predictors = 1;
    stages.front().embedding = stages.back().loss = true;
    const std::string text = to_layout(stages);
    CAPTURE(text);
    CHECK(parse_layout(text) == stages);
    CHECK(slowly_expanded(text) == letters(stages));
  }
}

TEST_CASE("texts by other hands read as the regular expressions read them") {
  for (const char* text : {"Ettt|(tt|)*29,m|L", "E,t|t,t|(t*2|)*3,tL", "E(t)*4|t*12|(tt|t|)*2L", "E||tt||L",
                           "Et*10L", "E|t*0|tL"}) {
    CAPTURE(text);
    CHECK(letters(parse_layout(text)) == slowly_expanded(text));
  }
}

TEST_CASE("the last stage has no bar, so it joins no run even without a loss") {
  CHECK(to_layout({{true, 1, 0, false}, {false, 2, 0, false}, {false, 2, 0, false}}) == "Et|tt|tt");
}

TEST_CASE("text that is no layout is refused") {
  CHECK(refusal("Ett|xL") == "layout 'Ett|xL': 'x' is none of E, t, m, L");
  CHECK(refusal("tt|L") == "layout 'tt|L': E must appear once, at the beginning");
  CHECK(refusal("Et|Et|L") == "layout 'Et|Et|L': E must appear once, at the beginning");
  CHECK(refusal("Et|tt") == "layout 'Et|tt': L must appear once, at the end");
  CHECK(refusal("tE|L") == "layout 'tE|L': stage 'tE' is out of the order E, t, m, L");
  CHECK(refusal("E(tt|*3L") == "layout 'E(tt|*3L': a bracket is not closed");
  CHECK(refusal("E(tt|)L") == "layout 'E(tt|)L': expected '*' and a number behind a bracket");
  CHECK(refusal("Et*L") == "layout 'Et*L': expected a number behind '*'");
  CHECK(refusal("Et*99999999999999999999L").find("expected a number") != std::string::npos);
  CHECK(refusal("E(t*60000|)*2L").find("more than 65536 letters") != std::string::npos);
  CHECK(refusal("") != "taken");
}
