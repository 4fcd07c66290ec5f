#pragma once
// Bytes that samples hold while the operators behind run: small shares are slow, large shares hold their
// bytes long.

#include <functional>
#include <span>
#include <vector>

namespace penstock::score {

/// One way to divide an operator: weighted work of all devices together, and the time of a sample's forward
/// pass and input gradient, in seconds.
struct Stay {
  double work, time;
};

/// The choices that can be the cheapest for residency(): corners of the lower left hull of (time, work), because a
/// choice's cost is concave in both. A choice that rounding could make the cheapest stays. `choices` and the
/// result ascend by time and descend by work.
std::vector<Stay> corners(const std::vector<Stay>& choices);

/// An operator on a path through the model, with what all samples of a mini-batch save for its backward pass.
struct Resident {
  const std::vector<Stay>* choices;  ///< ascending by time, descending by work
  double bytes, core_bytes;          ///< bytes without attention's core; bytes of the core
  double again, core_again;          ///< weighted s to recompute it instead; to recompute only the core
  double input_gradient;  ///< s, of at least one pass; zero if no gradient goes on to its producers
};

/// Lower bound on the iteration time of all plans whose devices have `left` bytes beside weights. Every
/// sample's bytes stay at an operator for as long as the operators behind it on the path take, down and up
/// again, or are recomputed. Two times are below the iteration's: all work, `other` included, over all
/// devices; and, by Little's law (Operations Research 1961), bytes times duration over `left`. So is any mean
/// of them. The cost of an operator's bytes depends on how all operators behind it are divided. So the
/// minimum is found by dynamic programming from the first operator on, over the time spent behind: a concave
/// function, of which chords are lower bounds.
/// `way`: operators, producers first. `longest`: seconds up to which times behind are distinguished; any
/// value gives a bound, which is sharp for about an iteration's time. Returns zero if memory gives no bound.
/// An exception from `check`, which may be empty, ends the work.
double residency(std::span<const Resident> way, double other, double left, double longest,
                 const std::function<void()>& check = {});

}  // namespace penstock::score
