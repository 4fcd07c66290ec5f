#include "worker/data_set.hpp"

#include "penstock/kernels/values.hpp"
#include "worker/draw.hpp"

namespace penstock::replay {

template <class Values>
const Lease& DataSet::find(std::map<Key, Lease>& among, core::OpId op, Samples samples,
                           const Values& values) {
  Lease& lease = among[{op, samples.first, samples.count}];
  if (lease != nullptr) return lease;
  const kernels::Made& made = device_.wire(op).made;
  const Shard own = device_.shard(op).makes.shard(device_.division.member(), samples.count, made.count);
  device_.samples(op, samples.count);  // one at least
  lease = device_.backend.allocate(made.element, own.count());
  kernels::write_values(device_.backend, *lease, values_of(own, values()));
  return lease;
}

const Lease& DataSet::input(core::OpId op, Samples samples) {
  return find(inputs_, op, samples,
              [&] { return input_values(device_.setup, op, device_.wire(op), samples); });
}

const Lease& DataSet::negative_target(core::OpId op, Samples samples) {
  return find(targets_, op, samples, [&] {
    std::vector<double> values = target_values(device_.setup, op, device_.wire(op), samples);
    for (double& value : values) value = -value;
    return values;
  });
}

}  // namespace penstock::replay
