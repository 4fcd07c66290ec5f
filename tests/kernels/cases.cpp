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
  cases.back().shape.emplace_back("product", 1);
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
  }
}

void add_attention(Cases& cases) {
  cases.push_back(made({{5, 12}}, [](Layers& net, const Inputs& in) {
    net.attention("self attention", in[0], in[0], in[0], 3, true);
  }));
  cases.push_back(made({{3, 8}, {7, 5}, {7, 6}}, [](Layers& net, const Inputs& in) {
    net.attention("cross attention", in[0], in[1], in[2], 2);
  }));
  cases.push_back(made({{1, 1}, {1, 1}}, [](Layers& net, const Inputs& in) {
    net.attention("attention to one", in[0], in[1], in[1], 1, true);
  }));
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

}  // namespace penstock::test
