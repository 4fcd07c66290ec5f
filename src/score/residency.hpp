#pragma once
// What samples hold while the operators behind run: small shares are slow, large ones hold their bytes for
// long.

#include <functional>
#include <span>
#include <vector>

namespace penstock::score {

/// One way to divide an operator: what all devices together have to do, weighed, and how long a sample's
/// forward pass and input gradient take; s.
struct Stay {
  double work, time;
};

/// An operator on a way through the model, with what all samples of a mini-batch keep for its backward pass.
struct Resident {
  const std::vector<Stay>* choices;  ///< ascending by time, less and less work
  double bytes, core_bytes;          ///< beside attention's core, and of it
  double again, core_again;          ///< s, weighed as work: to compute it again instead, or the core alone
  double input_gradient;             ///< s, of one pass at least; zero where none goes on to its producers
};

/// A time that no plan beats whose devices have `left` bytes beside weights: every sample's bytes stay at an
/// operator for as long as the operators behind it on the way take, down and up again, or are computed again.
/// Two times are below the iteration's: all work, `other` included, over all devices; and Little's law, bytes
/// times stay over `left` (Little, Operations Research 1961). So is any mean of them. What an operator's
/// bytes cost depends on how all behind it are divided, so that the least is found by dynamic programming
/// from the first operator on, over the time that is spent behind: a concave function, of which chords are
/// lower bounds. `way`: producers first. `longest`: s, up to which times behind are told apart; a bound for
/// any, sharp where it is about an iteration's. Zero where memory says nothing.
/// `check` may be empty; what it throws ends the work.
double residency(std::span<const Resident> way, double other, double left, double longest,
                 const std::function<void()>& check = {});

}  // namespace penstock::score
