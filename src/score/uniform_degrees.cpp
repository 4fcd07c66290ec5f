#include "uniform_degrees.hpp"

#include <fmt/format.h>

#include <numeric>

namespace penstock::score {
namespace {

std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> out;
  for (std::int64_t d = 1; d <= number; ++d)
    if (number % d == 0) out.push_back(d);
  return out;
}

}  // namespace

std::string written(const UniformDegrees& degrees) {
  std::string out = fmt::format("PP{}", degrees.ranks);
  const auto add = [&](const char* letters, std::int64_t size) {
    if (size > 1) out += fmt::format(" x {}{}", letters, size);
  };
  add("DP", degrees.replicas);
  add("CP", degrees.context);
  add("EP", degrees.expert);
  add("TP", degrees.tensor);
  if (degrees.divides_tokens) out += "+SP";
  if (degrees.whole_experts) out += ", whole experts";
  return out + fmt::format(", mb {}", degrees.micro_batch);
}

std::int64_t least_replicas(const UniformDegrees& degrees) {
  const std::int64_t places = std::int64_t{degrees.context} * (degrees.whole_experts ? degrees.tensor : 1);
  return degrees.expert / std::gcd(std::int64_t{degrees.expert}, places);
}

std::vector<UniformDegrees> replica_degrees(std::int64_t devices, const UniformSpace& space) {
  std::vector<UniformDegrees> out;
  for (const std::int64_t tensor : divisors(space.tensor ? devices : 1)) {
    if (space.allows_tensor && !space.allows_tensor(tensor)) continue;
    for (const std::int64_t context : divisors(space.context.empty() ? 1 : devices / tensor))
      for (const std::int64_t expert : divisors(space.experts ? devices : 1))
        for (const bool whole : {false, true})
          for (const bool tokens : {false, true})
            for (std::size_t e = 0; e < (context > 1 ? space.context.size() : 1); ++e) {
              if (tokens && (tensor == 1 || !space.sequence)) continue;
              if (whole && (!tokens || expert == 1)) continue;
              UniformDegrees degrees{.tensor = static_cast<int>(tensor),
                                     .context = static_cast<int>(context),
                                     .expert = static_cast<int>(expert),
                                     .whole_experts = whole,
                                     .divides_tokens = tokens};
              if (context > 1) degrees.exchange = space.context[e];
              if (devices % (tensor * context * least_replicas(degrees)) == 0) out.push_back(degrees);
            }
  }
  return out;
}

void for_each_completion(const UniformDegrees& degrees, std::int64_t devices, std::int64_t mini_batch,
                         std::int64_t most_ranks, const std::function<void(const UniformDegrees&)>& visit) {
  const std::int64_t groups = devices / (std::int64_t{degrees.tensor} * degrees.context);
  for (const std::int64_t ranks : divisors(groups)) {
    UniformDegrees each = degrees;
    each.ranks = ranks;
    each.replicas = groups / ranks;
    if (ranks > most_ranks || each.replicas % least_replicas(degrees) != 0) continue;
    if (mini_batch % each.replicas != 0) continue;
    for (const std::int64_t micro_batch : divisors(mini_batch / each.replicas)) {
      each.micro_batch = micro_batch;
      visit(each);
    }
  }
}

}  // namespace penstock::score
