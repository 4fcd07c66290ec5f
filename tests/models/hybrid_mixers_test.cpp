// Mixers of hybrid language models against the classes of transformers 5.24.0: their parameters, and FLOPs of
// products as torch counts them (shared/data/hf/README.md).

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "models/delta_net.hpp"
#include "models/selective_scan.hpp"
#include "models/short_convolution.hpp"
#include "models/state_space.hpp"
#include "penstock/graph/canonical.hpp"
#include "penstock/graph/graph_file.hpp"
#include "penstock/graph/scan_work.hpp"
#include "penstock/graph/work.hpp"
#include "support/reference_data.hpp"

using namespace penstock;
using models::Layers;
using models::Tensor;

namespace {

/// A config of transformers, and what its class has.
struct ReleasedModel {
  nlohmann::json config;
  std::int64_t parameters = 0;
  double flops = 0;  ///< of 128 tokens
  std::int64_t at(const char* key) const { return config.at(key).get<std::int64_t>(); }
  std::int64_t width() const { return at("hidden_size"); }
  std::int64_t layers() const { return at("num_hidden_layers"); }
  std::int64_t linear_layers() const {
    std::int64_t out = 0;
    for (const auto& type : config.at("layer_types")) out += type == "linear_attention" ? 1 : 0;
    return out;
  }
  /// Embedding, head of its own, last norm.
  std::int64_t ends() const { return 2 * at("vocab_size") * width() + width(); }
};

constexpr std::int64_t kTokens = 128;

ReleasedModel released(const std::string& type) {
  ReleasedModel out;
  const std::string folder = support::reference_data("hf");
  if (folder.empty()) return out;
  std::ifstream(folder + "/configs/" + type + ".json") >> out.config;
  std::ifstream truth(folder + "/truth.csv");
  for (std::string line; std::getline(truth, line);) {
    std::istringstream fields(line);
    std::string name, skipped, parameters, flops;
    std::getline(fields, name, ','), std::getline(fields, skipped, ',');
    std::getline(fields, parameters, ','), std::getline(fields, flops, ',');
    if (name == type) out.parameters = std::stoll(parameters), out.flops = std::stod(flops);
  }
  REQUIRE(out.parameters > 0);
  return out;
}

template <class Mixer>
graph::OpGraph mixer_graph(std::int64_t width,
                           Tensor (*add)(Layers&, const std::string&, const Tensor&, const Mixer&),
                           const Mixer& mixer, std::int64_t tokens = kTokens) {
  Layers net("mixer", 2);
  add(net, "mixer", net.input("x", {tokens, width}), mixer);
  return net.build();
}

models::DeltaNet delta_net_of(const ReleasedModel& m) {
  return {.key_heads = m.at("linear_num_key_heads"),
          .value_heads = m.at("linear_num_value_heads"),
          .key_width = m.at("linear_key_head_dim"),
          .value_width = m.at("linear_value_head_dim"),
          .kernel = m.at("linear_conv_kernel_dim")};
}

models::StateSpace state_space_of(const ReleasedModel& m) {
  return {.heads = m.at("mamba_n_heads"),
          .head_width = m.at("mamba_d_head"),
          .groups = m.at("mamba_n_groups"),
          .state = m.at("mamba_d_state"),
          .kernel = m.at("mamba_d_conv"),
          .chunk = m.at("mamba_chunk_size")};
}

/// Gate, up and down matrix.
std::int64_t gated_feed_forward(std::int64_t width, std::int64_t inner) {
  return 3 * width * inner;
}

double dense_flops(std::int64_t weights) {
  return 2.0 * static_cast<double>(kTokens * weights);
}

double forward_flops(const graph::OpGraph& graph, graph::OpKind kind) {
  double out = 0;
  for (const graph::Operator& op : graph.operators())
    if (op.kind == kind) out += op.forward_flops.value();
  return out;
}

/// torch pads a causal convolution at both ends.
double padded_convolutions(const graph::OpGraph& graph, std::int64_t kernel) {
  return forward_flops(graph, graph::OpKind::short_convolution) / static_cast<double>(kTokens) *
         static_cast<double>(kTokens + kernel - 1);
}

}  // namespace

TEST_CASE("layers of Qwen3-Next: 36 gated delta nets") {
  const ReleasedModel m = released("qwen3_next");
  if (m.parameters == 0) return;
  const auto mixer = mixer_graph(m.width(), models::delta_net, delta_net_of(m));
  const std::int64_t h = m.width(), query = m.at("num_attention_heads") * m.at("head_dim"),
                     key = m.at("num_key_value_heads") * m.at("head_dim"), count = m.linear_layers(),
                     attention = h * (3 * query + 2 * key),  // queries with a gate each
      experts = m.at("num_experts"), inner = m.at("moe_intermediate_size"),
                     shared = gated_feed_forward(h, m.at("shared_expert_intermediate_size")) + h,
                     mixture = h * experts + experts * gated_feed_forward(h, inner) + shared;
  CHECK(count == 36);
  CHECK(count * mixer.parameters() + (m.layers() - count) * (attention + 2 * m.at("head_dim")) +
            m.layers() * (mixture + 2 * h) + m.ends() ==
        m.parameters);
  const double cores = 4.0 * static_cast<double>(kTokens * kTokens * query);
  CHECK(static_cast<double>(count) *
                (forward_flops(mixer, graph::OpKind::linear) + forward_flops(mixer, graph::OpKind::scan) +
                 padded_convolutions(mixer, m.at("linear_conv_kernel_dim"))) +
            static_cast<double>(m.layers() - count) * (dense_flops(attention) + cores) +
            dense_flops(m.layers() * (h * experts + shared) + m.at("vocab_size") * h) ==
        m.flops);
}

TEST_CASE("layers of OLMo Hybrid: 24 gated delta nets, whose products are torch's") {
  const ReleasedModel m = released("olmo_hybrid");
  if (m.parameters == 0) return;
  const auto mixer = mixer_graph(m.width(), models::delta_net, delta_net_of(m));
  const std::int64_t h = m.width(), count = m.linear_layers(), attention = 4 * h * h,
                     dense = gated_feed_forward(h, m.at("intermediate_size"));
  CHECK(count * mixer.parameters() + (m.layers() - count) * (attention + 2 * h) +
            m.layers() * (dense + 2 * h) + m.ends() ==
        m.parameters);
  const double cores = 4.0 * static_cast<double>(kTokens * kTokens * h);
  CHECK(static_cast<double>(count) *
                (forward_flops(mixer, graph::OpKind::linear) + forward_flops(mixer, graph::OpKind::scan) +
                 padded_convolutions(mixer, m.at("linear_conv_kernel_dim"))) +
            static_cast<double>(m.layers() - count) * (dense_flops(attention) + cores) +
            dense_flops(m.layers() * dense + m.at("vocab_size") * h) ==
        m.flops);
}

TEST_CASE("layers of Kimi Linear: 21 delta nets with a decay per channel, through a latent") {
  const ReleasedModel m = released("kimi_linear");
  if (m.parameters == 0) return;
  const std::int64_t h = m.width(), heads = m.at("linear_num_heads"), head = m.at("linear_head_dim"),
                     count = m.linear_layers(), queries = m.at("num_attention_heads"),
                     key = m.at("qk_nope_head_dim"), value = m.at("v_head_dim"),
                     latent = m.at("kv_lora_rank"), rotary = m.at("qk_rope_head_dim");
  const auto mixer = mixer_graph<models::DeltaNet>(m.width(), models::delta_net,
                                                   {.key_heads = heads,
                                                    .value_heads = heads,
                                                    .key_width = head,
                                                    .value_width = head,
                                                    .kernel = m.at("linear_conv_kernel_dim"),
                                                    .channel_decay = true,
                                                    .latent = head});
  const std::int64_t attention = h * queries * (key + rotary) + h * (latent + rotary) + latent +
                                 latent * queries * (key + value) + queries * value * h,
                     experts = m.at("num_experts"), inner = m.at("moe_intermediate_size"),
                     mixture =
                         h * experts + (experts + m.at("num_shared_experts")) * gated_feed_forward(h, inner),
                     dense = gated_feed_forward(h, m.at("intermediate_size"));
  CHECK(count == 21);
  CHECK(count * mixer.parameters() + (m.layers() - count) * attention + (m.layers() - 1) * mixture + dense +
            m.layers() * 2 * h + m.ends() ==
        m.parameters);
}

TEST_CASE("layers of Bamba and of Granite's hybrid: Mamba-2, whose products are torch's") {
  const ReleasedModel m = released("bamba"), granite = released("granitemoehybrid");
  if (m.parameters == 0) return;
  const auto mixer = mixer_graph(m.width(), models::state_space, state_space_of(m));
  const std::int64_t h = m.width(), dense = gated_feed_forward(h, m.at("intermediate_size"));
  CHECK(m.layers() * (mixer.parameters() + dense + 2 * h) + m.ends() == m.parameters);
  // torch pads the tokens to one chunk. It repeats the one group's keys and queries for each of its heads. Two
  // states reach two chunks by a product.
  const std::int64_t chunk = m.at("mamba_chunk_size"), heads = m.at("mamba_n_heads"),
                     state = m.at("mamba_d_state");
  REQUIRE(chunk == 2 * kTokens);
  const double repeated = 2.0 * static_cast<double>((heads - 1) * chunk * chunk * state),
               handed = 2.0 * static_cast<double>(2 * 2 * heads * m.at("mamba_d_head") * state);
  CHECK(static_cast<double>(m.layers()) *
                (forward_flops(mixer, graph::OpKind::linear) + forward_flops(mixer, graph::OpKind::scan) +
                 repeated + handed + padded_convolutions(mixer, m.at("mamba_d_conv")) + dense_flops(dense)) +
            dense_flops(m.at("vocab_size") * h) ==
        m.flops);
  const std::int64_t experts = granite.at("num_local_experts"),
                     mixture = h * experts +
                               experts * gated_feed_forward(h, granite.at("intermediate_size")) +
                               gated_feed_forward(h, granite.at("shared_intermediate_size"));
  const auto its = mixer_graph(granite.width(), models::state_space, state_space_of(granite));
  CHECK(granite.layers() * (its.parameters() + mixture + 2 * h) + granite.ends() == granite.parameters);
}

TEST_CASE("layers of Falcon-H1: Mamba-2 without norm, beside attention") {
  const ReleasedModel m = released("falcon_h1");
  if (m.parameters == 0) return;
  models::StateSpace space = state_space_of(m);
  space.norm = false;
  const auto mixer = mixer_graph(m.width(), models::state_space, space);
  const std::int64_t h = m.width(), head = h / m.at("num_attention_heads"),
                     attention = 2 * h * h + 2 * h * m.at("num_key_value_heads") * head,
                     dense = gated_feed_forward(h, m.at("intermediate_size"));
  CHECK(m.layers() * (mixer.parameters() + attention + dense + 2 * h) + m.ends() == m.parameters);
  for (const graph::Operator& op : mixer.operators())
    if (op.kind == graph::OpKind::scan) CHECK(graph::as<graph::LinearScan>(op).gated);
}

TEST_CASE("layers of Mamba and of Jamba: selective scans") {
  const ReleasedModel m = released("mamba"), jamba = released("jamba");
  if (m.parameters == 0) return;
  const std::int64_t channels = m.at("intermediate_size"), state = m.at("state_size");
  const auto mixer = mixer_graph<models::SelectiveScan>(
      m.width(), models::selective_scan,
      {.channels = channels, .state = state, .step_rank = m.at("time_step_rank")});
  CHECK(m.layers() * (mixer.parameters() + m.width()) + m.at("vocab_size") * m.width() + m.width() ==
        m.parameters);
  // torch counts only the product of states and queries.
  const double outputs = 2.0 * static_cast<double>(kTokens * channels * state);
  CHECK(static_cast<double>(m.layers()) * (forward_flops(mixer, graph::OpKind::linear) + outputs +
                                           padded_convolutions(mixer, m.at("conv_kernel"))) +
            dense_flops(m.at("vocab_size") * m.width()) ==
        m.flops);
  const std::int64_t h = jamba.width(), layers = jamba.layers(), experts = jamba.at("num_experts"),
                     dense = gated_feed_forward(h, jamba.at("intermediate_size")),
                     attentions = layers / jamba.at("attn_layer_period"),
                     mixtures = layers / jamba.at("expert_layer_period"),
                     head = h / jamba.at("num_attention_heads"),
                     attention = 2 * h * h + 2 * h * jamba.at("num_key_value_heads") * head;
  const auto normed = mixer_graph<models::SelectiveScan>(h, models::selective_scan,
                                                         {.channels = jamba.at("mamba_expand") * h,
                                                          .state = jamba.at("mamba_d_state"),
                                                          .step_rank = jamba.at("mamba_dt_rank"),
                                                          .norms = true});
  CHECK((layers - attentions) * normed.parameters() + attentions * attention +
            mixtures * (h * experts + experts * dense) + (layers - mixtures) * dense + layers * 2 * h +
            jamba.ends() ==
        jamba.parameters);
}

TEST_CASE("the gated convolution of LFM2 by hand") {
  // 5 tokens of width 4: projections 4 x 12 and 4 x 4, a convolution of 3 x 4 weights; with biases 12 + 4 + 4.
  const auto mixer = mixer_graph<models::GatedConvolution>(4, models::gated_convolution, {}, 5);
  CHECK(mixer.parameters() == 48 + 16 + 12);
  CHECK(forward_flops(mixer, graph::OpKind::linear) == 2 * 5 * (48 + 16));
  CHECK(forward_flops(mixer, graph::OpKind::short_convolution) == 2 * 5 * 4 * 3);
  CHECK(forward_flops(mixer, graph::OpKind::elementwise) == 2 * 20);
  CHECK(mixer_graph<models::GatedConvolution>(4, models::gated_convolution, {.bias = true}, 5).parameters() ==
        48 + 16 + 12 + 12 + 4 + 4);
}

TEST_CASE("mixers of Mamba-2, Nemotron-H and LFM2 have the parameters of transformers' classes") {
  // Sums over .parameters() of Mamba2Mixer, NemotronHMamba2Mixer and Lfm2ShortConv, built on the device meta.
  const auto space = [](std::int64_t width, const models::StateSpace& mixer) {
    return mixer_graph(width, models::state_space, mixer, 8).parameters();
  };
  CHECK(space(96,
              {.heads = 12, .head_width = 16, .groups = 2, .state = 8, .in_bias = true, .out_bias = true}) ==
        61392);
  CHECK(space(96, {.heads = 10, .head_width = 16, .groups = 2, .state = 8}) == 51262);
  CHECK(space(4096, {.heads = 128, .head_width = 64, .groups = 8, .state = 128}) == 109635968);
  CHECK(
      mixer_graph<models::GatedConvolution>(96, models::gated_convolution, {.bias = true}, 8).parameters() ==
      37632);
}

TEST_CASE("a mixer's operators, its tokens, and its model file") {
  const auto mixer = mixer_graph<models::StateSpace>(
      8, models::state_space, {.heads = 4, .head_width = 4, .groups = 2, .state = 3, .chunk = 16}, 32);
  std::vector<std::string> names;
  for (const graph::Operator& op : mixer.operators()) names.push_back(op.name);
  CHECK(names == std::vector<std::string>{"x", "mixer.in_proj", "mixer.z", "mixer.xbc", "mixer.dt",
                                          "mixer.conv", "mixer.scan", "mixer.norm", "mixer.out_proj"});
  CHECK(graph::tokens(mixer) == 32);
  const auto delta = mixer_graph<models::DeltaNet>(8, models::delta_net,
                                                   {.key_heads = 2,
                                                    .value_heads = 4,
                                                    .key_width = 2,
                                                    .value_width = 4,
                                                    .channel_decay = true,
                                                    .latent = 3},
                                                   32);
  const auto selective = mixer_graph<models::SelectiveScan>(
      8, models::selective_scan, {.channels = 16, .state = 2, .step_rank = 3, .norms = true}, 32);
  for (const graph::OpGraph* graph : {&mixer, &delta, &selective}) {
    const graph::OpGraph stated = graph::canonical(*graph),
                         again = graph::parse_graph(to_json(stated), "mixer.json");
    const bool same = to_json(again) == to_json(stated);
    CHECK(same);
    for (std::size_t v = 0; v < stated.size(); ++v)
      CHECK(again.op(core::OpId(v)).attributes == stated.op(core::OpId(v)).attributes);
  }
}

TEST_CASE("attention beside a scan counts its tokens once") {
  Layers net("m");
  const Tensor x = net.input("x", {32, 8});
  const Tensor mixed = models::state_space(
      net, "mixer", x, {.heads = 4, .head_width = 4, .groups = 1, .state = 2, .chunk = 8});
  net.add("sum", {mixed, net.attention("attention", x, x, x, 2)});
  CHECK(graph::tokens(net.build()) == 32);
}

TEST_CASE("a scan's gradients, and nothing before the first weights") {
  // The scan's operands come from weights: two gradients per product. A frozen mixer behind inputs has none.
  const auto of = [](bool frozen) {
    Layers net("m", 2);
    net.freeze(frozen);
    models::delta_net(net, "mixer", net.input("x", {128, 8}),
                      {.key_heads = 2, .value_heads = 4, .key_width = 4, .value_width = 4});
    const graph::OpGraph graph = net.build();
    for (const graph::Operator& op : graph.operators())
      if (op.kind == graph::OpKind::scan) return op;
    return graph::Operator();
  };
  const graph::Operator trained = of(false), frozen = of(true);
  CHECK(trained.input_gradient_flops == trained.forward_flops * 2);
  CHECK(trained.parameters == 8);
  CHECK(trained.weight_gradient_flops == core::Flops(2 * 128 * 8));
  CHECK(trained.output_bytes == core::Bytes(2 * 128 * 16));
  CHECK(trained.saved_bytes ==
        trained.output_bytes + graph::scan_bytes(graph::as<graph::LinearScan>(trained), 2));
  CHECK(frozen.input_gradient_flops == core::Flops(0));
  CHECK(frozen.frozen_parameters == 8);
}
