#pragma once
// Random attributes of every kind, in the form of a model file.

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "penstock/core/random.hpp"
#include "penstock/graph/attributes.hpp"

namespace penstock::test {

struct KindExtents {
  std::vector<std::string> counts, switches;
  std::vector<std::string> choice = {};  ///< one of them at most
};

/// In the order of docs/formats/model.md.
inline const KindExtents& extents(graph::OpKind kind) {
  static const std::array<KindExtents, 17> kExtents = {
      {{{"elements"}, {}},
       {{"rows", "in", "out"}, {"bias"}, {"relu", "sigmoid", "tanh", "gelu"}},
       {{"queries", "keys", "hidden", "heads", "key_width", "value_width", "inner"},
        {"bias", "rotary", "partial"},
        {"plain", "flash"}},
       {{"lookups", "rows", "width", "first", "table"}, {"sum"}},
       {{"in", "height", "width", "out", "kernel_height", "stride_height", "padding_height", "kernel_width",
         "stride_width", "padding_width"},
        {"bias"}},
       {{"batch", "rows", "inner", "columns"}, {}},
       {{"elements", "channels"}, {}, {"batch", "rms", "gated"}},
       {{"elements"}, {}, {"relu", "sigmoid", "tanh", "gelu", "swiglu"}},
       {{"elements", "terms"}, {"product"}},
       {{"elements", "window", "channels", "height", "width", "kernel_height", "stride_height",
         "padding_height", "kernel_width", "stride_width", "padding_width"},
        {"average"}},
       {{"rows", "width"}, {"loss"}},
       {{"elements", "rows"}, {}},
       {{"elements"}, {}},
       {{}, {}},
       {{"rows", "hidden", "inner", "experts", "chosen"}, {"gated"}},
       {{"rows", "heads", "groups", "key", "value", "chunk"}, {}, {"delta", "channel_delta", "selective"}},
       {{"rows", "channels", "kernel"}, {"bias", "silu"}}}};
  return kExtents[static_cast<std::size_t>(kind)];
}

/// Some extents of the kind, in any order.
inline graph::Shape random_shape(core::Random& random, graph::OpKind kind) {
  const KindExtents& all = extents(kind);
  graph::Shape out;
  const auto say = [&](const std::string& name, std::int64_t value) {
    const auto place = out.begin() + random.between(0, static_cast<int>(out.size()));
    if (random.chance(0.7)) out.insert(place, {name, value});
  };
  for (const auto& name : all.counts)
    say(name, random.chance(0.1) ? 1'000'000'000'000 : random.between(0, 99));
  for (const auto& name : all.switches) say(name, random.between(0, 1));
  if (!all.choice.empty())
    say(all.choice[static_cast<std::size_t>(random.between(0, static_cast<int>(all.choice.size()) - 1))], 1);
  // A row takes no more experts than there are.
  const auto said = [&](const char* name) {
    return std::ranges::find(out, name, &graph::Shape::value_type::first);
  };
  if (const auto chosen = said("chosen"), most = said("experts"); chosen != out.end() && most != out.end())
    chosen->second = std::min(chosen->second, most->second);
  // A scan has chunks and at most 1e15 numbers; groups divide its heads, and a selective one's heads are channels.
  if (kind == graph::OpKind::scan) {
    for (auto& one : out) one.second = std::min<std::int64_t>(one.second, 99);
    std::erase_if(out, [](const auto& one) { return one.first == "chunk"; });
    out.emplace_back("chunk", random.between(1, 99));
    if (const auto groups = said("groups"), heads = said("heads"); groups != out.end() && groups->second > 0)
      groups->second = heads != out.end() && heads->second % groups->second == 0 ? groups->second : 1;
    if (const auto value = said("value"); value != out.end() && said("selective") != out.end())
      value->second = 1;
  }
  if (kind != graph::OpKind::concat) return out;
  const int parts = random.between(0, 4);
  out.emplace_back("parts", parts);
  for (int i = 0; i < parts; ++i) out.emplace_back("part" + std::to_string(i), random.between(0, 9));
  return out;
}

inline graph::Attributes random_attributes(core::Random& random, graph::OpKind kind) {
  return graph::attributes_of(kind, random_shape(random, kind));
}

}  // namespace penstock::test
