#include "kernels/cases.hpp"

#include <utility>

#include "models/layers.hpp"

namespace penstock::test {
namespace {

using graph::Operator;
using models::Activation;
using models::Layers;
using models::Shape;
using models::Tensor;

/// The operator that `emit` adds last, to tensors of these shapes.
template <class Emit>
Operator made(const std::vector<Shape>& shapes, const Emit& emit) {
  Layers net("case");
  std::vector<Tensor> inputs;
  for (const Shape& shape : shapes) inputs.push_back(net.input("x" + std::to_string(inputs.size()), shape));
  emit(net, inputs);
  return net.build().operators().back();
}

using Inputs = std::vector<Tensor>;
using Cases = std::vector<Operator>;

void add_products(Cases& cases) {
  const auto dense = [&](const char* name, Shape x, std::int64_t width, models::Dense how) {
    cases.push_back(
        made({std::move(x)}, [&](Layers& net, const Inputs& in) { net.linear(name, in[0], width, how); }));
  };
  dense("dense", {5, 7}, 11, {});
  dense("dense of one", {1}, 1, {.bias = true});
  dense("dense relu", {13}, 17, {.bias = true, .fused = Activation::relu});
  dense("dense sigmoid", {3, 5}, 2, {.bias = true, .fused = Activation::sigmoid});
  dense("dense tanh", {2, 19}, 23, {.fused = Activation::tanh});
  dense("dense gelu", {7, 3}, 5, {.bias = true, .fused = Activation::gelu});
  const auto product = [&](const char* name, models::Product p) {
    cases.push_back(
        made({{p.batch, p.rows, p.inner}, {p.batch, p.inner, p.columns}}, [&](Layers& net, const Inputs& in) {
          net.matmul(name, in[0], in[1], p, {p.batch, p.rows, p.columns});
        }));
  };
  product("product", {3, 5, 7, 2});
  product("outer product", {1, 4, 1, 9});
}

void add_windows(Cases& cases) {
  const auto conv = [&](const char* name, Shape x, std::int64_t channels, models::Window w, bool bias) {
    cases.push_back(made({std::move(x)},
                         [&](Layers& net, const Inputs& in) { net.conv2d(name, in[0], channels, w, bias); }));
  };
  conv("convolution", {3, 8, 7}, 5, {{3, 3}, {1, 1}, {1, 1}}, true);
  conv("wide and strided", {4, 9, 11}, 16, {{1, 7}, {2, 1}, {0, 3}}, false);
  conv("one pixel", {16, 5, 3}, 16, {{1, 1}}, true);
  conv("a column and a row left over", {2, 8, 6}, 3, {{3, 3}, {2, 2}}, true);
  conv("patches", {3, 6, 6}, 7, {{3, 3}, {3, 3}}, false);
  const Shape image = {5, 7, 9};
  const models::Window window{{3, 3}, {2, 2}, {1, 1}};
  cases.push_back(
      made({image}, [&](Layers& net, const Inputs& in) { net.max_pool("largest", in[0], window); }));
  const models::Window loose{{2, 3}, {2, 2}};  // leaves the last row out
  cases.push_back(made({image}, [&](Layers& net, const Inputs& in) { net.max_pool("loose", in[0], loose); }));
  cases.push_back(
      made({image}, [&](Layers& net, const Inputs& in) { net.average_pool("average", in[0], window); }));
  cases.push_back(made({{3, 6, 6}},
                       [](Layers& net, const Inputs& in) { net.adaptive_average_pool("halves", in[0], 2); }));
  cases.push_back(
      made({{17, 7, 5}}, [](Layers& net, const Inputs& in) { net.adaptive_average_pool("all", in[0], 1); }));
}

void add_rows(Cases& cases) {
  cases.push_back(
      made({{5, 13}}, [](Layers& net, const Inputs& in) { net.layer_norm("layer norm", in[0]); }));
  cases.push_back(
      made({{7, 3, 5}}, [](Layers& net, const Inputs& in) { net.batch_norm("batch norm", in[0]); }));
  cases.push_back(made({{3, 17}}, [](Layers& net, const Inputs& in) { net.softmax("softmax", in[0]); }));
  for (const auto& [name, kind] :
       {std::pair{"relu", Activation::relu}, std::pair{"sigmoid", Activation::sigmoid},
        std::pair{"tanh", Activation::tanh}, std::pair{"gelu", Activation::gelu}})
    cases.push_back(made({{101}}, [&](Layers& net, const Inputs& in) { net.activation(name, in[0], kind); }));
  cases.push_back(made({{7, 3}, {7, 3}, {7, 3}}, [](Layers& net, const Inputs& in) { net.add("sum", in); }));
  cases.push_back(cases.back());
  cases.back().name = "product of terms";
  std::get<graph::Elementwise>(cases.back().attributes).product = true;
  cases.push_back(made({{3, 2, 5}, {1, 2, 5}, {4, 2, 5}},
                       [](Layers& net, const Inputs& in) { net.concat("channels", in); }));
  cases.push_back(
      made({{3, 2}, {3, 5}}, [](Layers& net, const Inputs& in) { net.concat("columns", in, 1); }));
  cases.push_back(made({{7}, {1}}, [](Layers& net, const Inputs& in) { net.concat("ends", in); }));
}

void add_tables(Cases& cases) {
  for (const bool sum : {false, true}) {
    Layers net("case");
    net.embedding(sum ? "bag" : "table", net.indices("rows", 11), {7, 5, sum});
    cases.push_back(net.build().operators().back());
    cases.push_back(cases.back());
    cases.back().name = sum ? "bag from part of a table" : "part of a table";
    auto& part = std::get<graph::Embedding>(cases.back().attributes);
    part.first = 4, part.table = 16;
  }
}

void add_attention(Cases& cases) {
  cases.push_back(made({{5, 12}}, [](Layers& net, const Inputs& in) {
    net.attention("self attention", in[0], in[0], in[0], 3, {.bias = true});
  }));
  cases.push_back(made({{3, 8}, {7, 5}, {7, 6}}, [](Layers& net, const Inputs& in) {
    net.attention("cross attention", in[0], in[1], in[2], 2);
  }));
  cases.push_back(made({{5, 12}}, [](Layers& net, const Inputs& in) {
    net.attention("two heads of three", in[0], in[0], in[0], 2, {.bias = true});
  }));
  auto& some = std::get<graph::Attention>(cases.back().attributes);
  some.inner = 8, some.partial = true;
  cases.push_back(made({{1, 1}, {1, 1}}, [](Layers& net, const Inputs& in) {
    net.attention("attention to one", in[0], in[1], in[1], 1, {.bias = true});
  }));
}

void add_experts(Cases& cases) {
  const auto mixture = [&](const char* name, Shape x, std::int64_t experts, models::ExpertForm form) {
    cases.push_back(made({x, {x[0], experts}},
                         [&](Layers& net, const Inputs& in) { net.experts(name, in[0], in[1], form); }));
  };
  mixture("two experts of five", {7, 6}, 5, {.chosen = 2, .inner = 9});
  mixture("experts in turn", {7, 6}, 5, {.chosen = 2, .inner = 9, .in_turn = true});
  mixture("all experts", {3, 4}, 3, {.chosen = 3, .inner = 2});
  mixture("experts that nobody takes", {2, 5}, 16, {.chosen = 1, .inner = 3, .gated = false});
}

}  // namespace

std::vector<Operator> kernel_cases() {
  Cases cases;
  add_products(cases);
  add_windows(cases);
  add_rows(cases);
  add_tables(cases);
  add_attention(cases);
  return cases;
}

std::vector<Operator> host_kernel_cases() {
  Cases cases = kernel_cases();
  add_experts(cases);
  return cases;
}

std::vector<Operator> larger_kernel_cases() {
  using graph::OpKind;
  const auto of = [](const char* name, OpKind kind, const graph::Shape& shape) {
    Operator op;
    op.name = name;
    op.kind = kind;
    op.attributes = graph::attributes_of(kind, shape);
    return op;
  };
  return {of("tiles", OpKind::linear, {{"rows", 64}, {"in", 64}, {"out", 128}, {"bias", 1}, {"relu", 1}}),
          of("tall", OpKind::linear, {{"rows", 150}, {"in", 5}, {"out", 300}, {"bias", 1}, {"gelu", 1}}),
          of("square", OpKind::matmul, {{"batch", 2}, {"rows", 32}, {"inner", 64}, {"columns", 32}}),
          of("3 x 3", OpKind::convolution,
             {{"in", 16},
              {"height", 8},
              {"width", 8},
              {"out", 16},
              {"kernel_height", 3},
              {"kernel_width", 3},
              {"stride_height", 1},
              {"stride_width", 1},
              {"padding_height", 1},
              {"padding_width", 1}}),
          of("long rows", OpKind::norm, {{"elements", 2100}, {"channels", 700}}),
          of("many rows", OpKind::norm, {{"elements", 3000}, {"channels", 10}}),
          of("many pixels", OpKind::norm, {{"elements", 3000}, {"channels", 10}, {"batch", 1}}),
          of("long rows", OpKind::softmax, {{"rows", 3}, {"width", 700}}),
          of("heads", OpKind::attention,
             {{"queries", 16},
              {"keys", 16},
              {"hidden", 32},
              {"heads", 4},
              {"key_width", 32},
              {"value_width", 32},
              {"bias", 1}}),
          of("much looked up", OpKind::embedding, {{"lookups", 300}, {"rows", 7}, {"width", 300}}),
          of("16 terms", OpKind::elementwise, {{"elements", 5}, {"terms", 16}}),
          of("17 terms", OpKind::elementwise, {{"elements", 5}, {"terms", 17}}),
          of("33 factors", OpKind::elementwise, {{"elements", 5}, {"terms", 33}, {"product", 1}})};
}

}  // namespace penstock::test
