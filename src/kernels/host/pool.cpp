// A sliding window over each channel. The maximum of a window saves its position.

#include "geometry.hpp"
#include "host/kernel.hpp"

namespace penstock::kernels::host {
namespace {

using PoolForward = dnnl::pooling_forward;
using PoolBackward = dnnl::pooling_backward;

Dims pool_dims(const std::array<std::int64_t, 2>& axes) {
  return {axes[0], axes[1]};
}

}  // namespace

void build_pool(KernelDraft& draft) {
  const Pool p = pool(draft.op);
  const Window& w = p.window;
  const Desc x({draft.samples, w.channels, w.image[0], w.image[1]}, draft.type, Tag::nhwc);
  const Desc y({draft.samples, w.channels, w.output(0), w.output(1)}, draft.type, Tag::nhwc);
  const auto how = p.average ? dnnl::algorithm::pooling_avg_include_padding : dnnl::algorithm::pooling_max;
  const Dims stride = pool_dims(w.stride), kernel = pool_dims(w.kernel), padding = pool_dims(w.padding);
  const PoolForward::primitive_desc forward(
      PoolForward::desc(dnnl::prop_kind::forward_training, how, x, y, stride, kernel, padding, padding),
      own_scratchpad(), draft.forward.engine());
  const PoolBackward::primitive_desc backward(PoolBackward::desc(how, x, y, stride, kernel, padding, padding),
                                              own_scratchpad(), draft.input_gradient.engine(), forward);
  std::vector<std::pair<int, PlacedTensor>> there = {{DNNL_ARG_SRC, {input(0), x}},
                                                     {DNNL_ARG_DST, {kOutput, y}}};
  std::vector<std::pair<int, PlacedTensor>> back = {{DNNL_ARG_DIFF_DST, {kOutputGradient, y}},
                                                    {DNNL_ARG_DIFF_SRC, {input_gradient(0), x}}};
  if (const Desc places = forward.workspace_desc(); places.get_size() > 0) {
    const auto words = static_cast<std::int64_t>((places.get_size() + 3) / 4);
    draft.slots.saved.push_back({"places", {words}, Element::fp32});  // bytes in the library's own format
    there.push_back({DNNL_ARG_WORKSPACE, {saved(0), places}});
    back.push_back({DNNL_ARG_WORKSPACE, {saved(0), places}});
  }
  draft.forward.primitive(forward, there);
  draft.input_gradient.primitive(backward, back);
}

}  // namespace penstock::kernels::host
