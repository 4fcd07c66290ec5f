#include "penstock/plan/plan.hpp"

#include <array>

#include "penstock/core/error.hpp"
#include "penstock/core/spelling.hpp"

namespace penstock::plan {
namespace {

constexpr std::array<std::string_view, 2> kSchedules = {"1f1b", "fill_drain"};
constexpr std::array<std::string_view, 3> kOptimizers = {"sgd", "momentum", "adam"};

template <class Enum, std::size_t N>
Enum named(std::string_view given, const std::array<std::string_view, N>& names, const char* what) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == given) return static_cast<Enum>(i);
  throw core::BadInput("unknown " + std::string(what) + " '" + std::string(given) + "'; " +
                       core::did_you_mean(given, {names.begin(), names.end()}));
}

}  // namespace

std::string_view name(ScheduleKind kind) { return kSchedules[static_cast<std::size_t>(kind)]; }
std::string_view name(Optimizer optimizer) { return kOptimizers[static_cast<std::size_t>(optimizer)]; }
Optimizer optimizer(std::string_view given) { return named<Optimizer>(given, kOptimizers, "optimizer"); }
ScheduleKind schedule_kind(std::string_view given) { return named<ScheduleKind>(given, kSchedules, "schedule"); }

}  // namespace penstock::plan
