#include "worker/data_set.hpp"

#include "worker/draw.hpp"

namespace penstock::replay {

template <class Values>
const Lease& DataSet::find(std::map<Key, Lease>& among, core::OpId op, SampleRange samples,
                           const Values& values) {
  Lease& lease = among[{op, samples.first, samples.count}];
  if (lease != nullptr) return lease;
  const kernels::SampleTensor& made = device_.wire(op).made;
  const TensorShard own = device_.shard(op).makes.shard(device_.division.member(), samples.count, made.count);
  device_.samples(op, samples.count);  // at least one
  lease = device_.backend.allocate(made.element, own.count());
  write(device_.backend, *lease, own, values());
  return lease;
}

const Lease& DataSet::input(core::OpId op, SampleRange samples) {
  return find(inputs_, op, samples,
              [&] { return input_values(device_.setup, op, device_.wire(op), samples); });
}

const Lease& DataSet::negative_target(core::OpId op, SampleRange samples) {
  return find(targets_, op, samples,
              [&] { return negative(target_values(device_.setup, op, device_.wire(op), samples)); });
}

}  // namespace penstock::replay
